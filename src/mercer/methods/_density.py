"""Common parts of density estimators: kernel and bandwidth, stable logarithms, closed-form cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _threads
from .._array import host, is_sparse, like, namespace, on_host
from .._errors import check_grid, check_number, check_parameters, is_one_of, warn, where
from .._random import generator
from .._units import power_of_two
from ..context import current
from ..kernels import CosineBump, Gaussian, Kernel, Laplace, Triangular
from ..kernels.expression import as_kernel
from ..space import Function
from ..types import Array, Data, Namespace, RandomState
from ._base import KernelEstimator
from ._near import log_sums

SKLEARN: dict[str, type[Kernel]] = {
    "gaussian": Gaussian,
    "exponential": Laplace,
    "linear": Triangular,
    "cosine": CosineBump,
}
BLOCK = 1 << 17  # entries in a block of log k(x, xᵢ): a few blocks per thread stay in its cache
RULES = ("scott", "silverman", "loo")
CRITERIA = ("likelihood", "least_squares")


class DensityEstimator(KernelEstimator):
    """Base of the estimates Σ wᵢ k(·, xᵢ) / ∫ k with Σ wᵢ = 1; subclasses determine the weights."""

    bandwidth: Any
    bandwidths: Any
    criterion: str
    function_: Function
    bandwidth_: float
    _former = {"cv_bandwidths_": "bandwidths_", "cv_scores_": "loo_scores_"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state | ({"bandwidth": "loo"} if is_one_of(state.get("bandwidth"), ("cv",)) else {}))

    # ---- the kernel and its bandwidth

    def _kernel(self, n_features: int) -> Kernel:
        if isinstance(self.kernel, str) and self.kernel in SKLEARN:
            return SKLEARN[self.kernel]()
        return as_kernel(self.kernel)

    def _fit_kernel(self, X: Data, sample_weight: Array) -> tuple[Any, np.ndarray]:
        """Check X and normalise the weights; set `kernel_` at its bandwidth and `log_normalizer_`."""
        check_parameters(self, {"bandwidth": {"above": 0, "besides": RULES}, "criterion": CRITERIA})
        self._forget("bandwidths_", "loo_scores_")
        X = self._check_sample(X)
        weight = self._weights(sample_weight, X)
        weight = weight / weight.sum()
        self._require_density(self.kernel_.domain.dimension(X))
        self.bandwidth_ = self._bandwidth(X, weight)
        self.kernel_ = self.kernel_.dilated(self.bandwidth_)
        self.log_normalizer_ = self.kernel_.log_normalizer(X.shape[1])
        self._require_float(self.log_normalizer_, self.bandwidth_, namespace(X).finfo(X.dtype))
        return X, weight

    def _require_float(self, log_normalizer: float, bandwidth: float, numbers: Any) -> None:
        """Reject a bandwidth at which the density may overflow this floating type."""
        if -log_normalizer > np.log(float(numbers.max)):
            raise ValueError(
                f"{where(self)}: with bandwidth {bandwidth:g} the density reaches e^{-log_normalizer:.0f}, which "
                f"overflows in {numbers.bits} bits; scale the data, or raise the bandwidth."
            )

    def _require_density(self, dimension: int | None) -> None:
        if "log_normalizer" not in self.kernel_.provides or dimension is None:
            raise ValueError(
                f"{where(self)}: the kernel {self.kernel_} declares no normaliser, so it does not define a "
                'density; use one with log_normalizer, such as "gaussian", "laplace", "matern" or "wendland".'
            )
        if self.kernel_.log_normalizer(dimension) == np.inf:
            raise ValueError(
                f"{where(self)}: the integral of the kernel {self.kernel_} is infinite in dimension {dimension}, so "
                "it does not define a density; use one with lighter tails."
            )

    def _bandwidth(self, X: Data, weight: np.ndarray) -> float:
        n, d = X.shape
        if self.bandwidth == "scott":
            return float(n ** (-1 / (d + 4)))
        if self.bandwidth == "silverman":
            return float((n * (d + 2) / 4) ** (-1 / (d + 4)))
        if self.bandwidth != "loo":
            return float(self.bandwidth)
        if np.sum(weight > 0) < 2:
            raise ValueError(f"{where(self)}: bandwidth = 'loo' needs more than 1 sample; give a number.")
        self.bandwidths_ = self._grid(X, weight)
        current().check()
        self.loo_scores_ = self._scores(X, weight, self.bandwidths_)
        best = int(np.argmax(self.loo_scores_))
        if self.loo_scores_[best] == -np.inf:
            raise ValueError(
                f"{where(self)}: for every bandwidth up to {self.bandwidths_.max():g} some left-out sample has density "
                "zero; use larger bandwidths, a kernel with unbounded support, or drop the outlier."
            )
        order = np.argsort(self.bandwidths_)
        if len(order) > 2 and best in (order[0], order[-1]):
            warn(
                f"{where(self)}: the best bandwidth {self.bandwidths_[best]:g} is at the end of the grid; extend "
                "bandwidths. (Samples with repeated values favour ever smaller ones.)"
            )
        return float(self.bandwidths_[best])

    def _grid(self, X: Data, weight: np.ndarray) -> np.ndarray:
        """Candidate bandwidths: those given, or a range around Scott's rule for the spread of the data."""
        # the kernel's width is that of the Gaussian kernel with the same integral
        if self.bandwidths is not None:
            return check_grid(self, "bandwidths", self.bandwidths)
        n, d = int(np.sum(weight > 0)), X.shape[1]
        A = X.toarray() if is_sparse(X) else host(X)
        unit = power_of_two(A)
        A = A / unit
        spread = float(np.sqrt(np.mean(weight @ (A - weight @ A) ** 2))) * unit
        width = np.exp(self.kernel_.log_normalizer(d) / d) / np.sqrt(2 * np.pi)
        with np.errstate(over="ignore"):
            grid = (spread or 1.0) / width * n ** (-1 / (d + 4)) * np.geomspace(0.05, 3.0, 25)
        limit = np.finfo(np.float64)
        if (
            not 1e3 * limit.tiny < (spread or 1.0) < 1e-3 * limit.max
            or not limit.tiny < grid[0] <= grid[-1] < limit.max
        ):
            raise ValueError(
                f"{where(self)}: X varies by {spread:.0e}, so the bandwidth would overflow or underflow; divide "
                f"X by {unit:.0e}."
            )
        return grid

    def _scores(self, X: Data, weight: np.ndarray, grid: np.ndarray) -> np.ndarray:
        """The leave-one-out score of each bandwidth; larger is better."""
        X = X if is_sparse(X) else host(X)
        d = X.shape[1]
        normalizers = [self.kernel_.dilated(h).log_normalizer(d) for h in grid]
        squared = self.criterion == "least_squares"
        if squared:
            if "self_convolution" not in self.kernel_.provides:
                raise ValueError(
                    f"{where(self)}: criterion = 'least_squares' needs a kernel with a self_convolution (gaussian, "
                    f"matern, laplace), not {self.kernel_}; use criterion='likelihood'."
                )
            twice = self.kernel_.self_convolution(d)
            squares = [twice.dilated(h).log_normalizer(d) for h in grid]
            self._require_float(min(normalizers + squares), float(grid.min()), np.finfo(np.float64))
        log_weight = _log(weight)
        rest = np.log1p(-weight)

        def work(rows: slice) -> np.ndarray:
            part = self.kernel_.domain.take(X, rows)
            own = np.arange(rows.start, rows.stop)
            found = np.zeros(len(grid))
            for j, L in enumerate(_with(log_weight, self.kernel_.log_dilated(part, X, grid))):
                L[np.arange(len(own)), own] = -np.inf
                left_out = _log_sums(L, np) - rest[own] - normalizers[j]
                with np.errstate(invalid="ignore"):  # 0 · −∞ counts as 0
                    terms = weight[own] * (2 * np.exp(left_out) if squared else left_out)
                found[j] = np.sum(terms[weight[own] > 0])
            if squared:
                for j, L in enumerate(_with(log_weight, twice.log_dilated(part, X, grid))):
                    found[j] -= weight[own] @ np.exp(_log_sums(L, np).astype(np.float64) - squares[j])
            return found

        return sum(_strips(work, X.shape[0], X.shape[0]), start=np.zeros(len(grid)))

    # ---- the density

    def _keep(self, X: Data, weight: np.ndarray) -> None:
        """Set `function_` from the weights."""
        self.weights_ = weight
        self.X_fit_ = X
        coefficients = weight * np.exp(-self.log_normalizer_)
        self.function_ = Function(self.kernel_, X, like(coefficients, X))

    def score_samples(self, X: Data) -> Any:
        """The log density at each sample."""
        X = self._check_new(X)
        xp, f = namespace(X), self.function_
        near = log_sums(self.kernel_, f.points, _log(self.weights_), X)
        if near is not None:
            return near - self.log_normalizer_
        log_weight = like(_log(self.weights_), X)

        def work(rows: slice) -> Any:
            (L,) = _with(log_weight, [f.log_terms(self.kernel_.domain.take(X, rows))])
            return _log_sums(L, xp) - self.log_normalizer_

        n, m = X.shape[0], len(f)
        return xp.concat(_strips(work, n, m) if on_host(X) else list(map(work, _rows(n, m))))

    def score(self, X: Data, y: Array = None) -> float:
        """The total log density of the samples."""
        return float(host(self.score_samples(X)).sum())

    def sample(self, n_samples: int = 1, random_state: RandomState = None) -> Any:
        """Draw samples from the density, of shape (n_samples, n_features)."""
        check_is_fitted(self)
        check_number(self, "n_samples", n_samples, at_least=1, integer=True)
        rng = generator(random_state)
        index = rng.choice(len(self.weights_), size=n_samples, p=self.weights_)
        centres = self.kernel_.domain.take(self.X_fit_, index)
        centres = centres.toarray() if is_sparse(centres) else centres
        steps = self.kernel_.density_sample(n_samples, self.X_fit_.shape[1], rng)
        return self.kernel_.moved(centres, steps)


def _log(weight: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(weight)


def _with(log_weight: Any, matrices: Iterable[Any]) -> Iterator[Any]:
    for L in matrices:
        L += log_weight
        yield L


def _log_sums(L: Array, xp: Namespace) -> Any:
    """log Σⱼ exp(Lᵢⱼ) for each row, overwriting L."""
    top = xp.max(L, axis=1)
    top = xp.where(xp.isfinite(top), top, 0.0)
    L -= top[:, None]
    with np.errstate(divide="ignore"):
        return top + xp.log(xp.sum(xp.exp(L), axis=1))


def _rows(n: int, m: int) -> list[slice]:
    return _threads.slices(n, max(1, BLOCK // m))


def _strips(work: Callable[[slice], Any], n: int, m: int) -> list[Any]:
    """The results of work on row blocks of an (n, m) matrix, on threads."""
    rows = _rows(n, m)
    return _threads.collect(len(rows), lambda i: work(rows[i]))
