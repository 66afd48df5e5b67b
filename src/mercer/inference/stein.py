"""The kernel Stein discrepancy, a test of goodness of fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _threads
from .._array import host, like, namespace
from .._errors import check_number, speaking, where
from .._random import generator
from ..context import current, limited
from ..domains import Domain
from ..gram import Gram, GramLike, as_representation
from ..kernels import PD, UNKNOWN, Definiteness, InverseMultiquadric, Kernel, KernelLike
from ..space import Function
from ..types import Array, Data, RandomState
from ._kernels import collection
from ._nulls import aggregate, digits_of, in_common, quadratics
from ._result import KernelTestResult

NAME = "stein_test"
CELLS = 1 << 21  # second derivatives per batch


class SteinKernel(Kernel):
    r"""The Stein kernel of a density p, given by its score :math:`s = \nabla \log p`.

    .. math:: h(x, y) = s(x)^\top s(y)\, k(x, y) + s(x)^\top \nabla_y k(x, y) + s(y)^\top \nabla_x k(x, y)
              + \operatorname{tr} \nabla_x \nabla_y^\top k(x, y)

    Every function in its RKHS has mean 0 under p (if k and p decay fast enough), so the kernel mean of p is 0. The
    normalisation of p does not matter.

    Parameters
    ----------
    kernel : Kernel
        Must provide gradient_x and mixed_xy.
    score : callable
        (n, d) array → ∇ log p at its rows, (n, d).

    Notes
    -----
    A matrix costs O(nmd²).

    References
    ----------
    Oates, Girolami, Chopin, *Control functionals for Monte Carlo integration* (2017). Chwialkowski, Strathmann,
    Gretton, *A kernel test of goodness of fit* (2016). Liu, Lee, Jordan, *A kernelized Stein discrepancy for
    goodness-of-fit tests* (2016).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> h = SteinKernel(Gaussian(), np.negative)  # the score of the standard normal distribution
    >>> h([[0.0], [1.0]]).round(4)
    array([[ 1.    , -0.6065],
           [-0.6065,  2.    ]])
    """

    def __init__(self, kernel: Kernel, score: Callable[[Any], Any]):
        self.kernel, self.score = kernel, score

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        return self.kernel.domain

    def validate(self) -> None:
        self.kernel.validate()
        for ability in ("gradient_x", "mixed_xy"):
            self.kernel.require(ability)
        if not callable(self.score):
            raise TypeError(f"{where(self)}: score = {self.score!r} must be a function of an (n, d) array.")

    def _score(self, X: Data) -> Any:
        S = like(self.score(X), X)
        xp = namespace(S)
        if tuple(S.shape) != tuple(X.shape):
            raise ValueError(f"{where(self)}: score gives shape {tuple(S.shape)} for points of shape {tuple(X.shape)}.")
        if not bool(xp.all(xp.isfinite(S))):
            raise ValueError(f"{where(self)}: score is NaN or infinite at some points; the density must be > 0 there.")
        return S

    def evaluate(self, X: Data, Y: Data = None) -> Any:
        Y = X if Y is None else Y
        n, m, d = X.shape[0], Y.shape[0], X.shape[1]
        rows = _threads.slices(n, max(1, CELLS // (m * d * d)))
        s, t = self._score(X), self._score(Y)
        return namespace(X).concat([self._rows(X[r, :], Y, s[r, :], t) for r in rows], axis=0)

    def _rows(self, X: Data, Y: Data, s: Array, t: Array) -> Any:
        xp, k = namespace(X), self.kernel
        forward, backward = k.gradient_x(X, Y), xp.permute_dims(k.gradient_x(Y, X), (1, 0, 2))
        crossed = xp.linalg.trace(k.mixed_xy(X, Y))
        along = xp.sum(forward * t[None, :, :] + backward * s[:, None, :], axis=2)
        return (s @ xp.matrix_transpose(t)) * k.evaluate(X, Y) + along + crossed

    def evaluate_diag(self, X: Data) -> Any:
        s, xp = self._score(X), namespace(X)
        parts = ((X[r, :], s[r, :]) for r in _threads.slices(X.shape[0], 16))  # only their diagonals are needed
        return xp.concat([xp.linalg.diagonal(self._rows(A, A, t, t)) for A, t in parts])

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD if self.kernel.definiteness_in(dimension).is_pd else UNKNOWN

    def __str__(self) -> str:
        return f"stein({self.kernel})"


@speaking
@limited
def stein_test(
    X: Data,
    score: Callable[[Any], Any],
    *,
    kernel: KernelLike = "aggregate",
    flip: float = 0.5,
    n_draws: int = 999,
    gram: GramLike = "auto",
    random_state: RandomState = None,
    time_budget: float | None = None,
) -> KernelTestResult:
    r"""Goodness-of-fit test of a sample X and the density p with the score :math:`\nabla \log p`.

    .. math:: \widehat{\mathrm{KSD}}^2 = \frac{1}{n^2} \sum_{ij} h(x_i, x_j)

    with the Stein kernel h of p (`SteinKernel`), is the squared norm of the sample mean in the RKHS of h, where the
    mean of p is 0. The test needs neither draws from p nor its normalisation.

    Parameters
    ----------
    X : array of shape (n, d)
    score : callable
        (n, d) array → ∇ log p at its rows, (n, d).
    kernel : Kernel, name or expression, list of them, or "aggregate"
        Positive definite, with gradient_x and mixed_xy. Several kernels are tested together, as in `mmd_test`.
        "aggregate" is five inverse multiquadrics, with lengthscales from half the 5 % quantile of the distances to
        twice the 95 % quantile. (Gaussians miss samples that are too narrow, in many dimensions.)
    flip : float in (0, 0.5]
        Probability that the bootstrap sign changes from one row to the next. Use ½ for independent rows, and less for a
        Markov chain, so that signs persist as long as the chain is correlated.
    n_draws : int >= 1
        Draws of the wild bootstrap. More draws give finer p-values.
    gram, random_state, time_budget
        As in `mmd_test`.

    Returns
    -------
    KernelTestResult
        Its `witness` is the mean (1/n) Σ h(xᵢ, ·), positive where the sample is too dense. Its squared norm is the
        statistic.

    Notes
    -----
    The null distribution is that of :math:`n^{-2} \sum_{ij} w_i w_j h(x_i, x_j)` with random signs w; the level is
    asymptotic. The unbiased statistic, without i = j, differs by a constant that does not depend on the signs, and has
    the same p-value. B draws take one product with a matrix of B columns, O(n²B), after O(n²d²) for the matrix.

    The test has little power against wrong proportions of distant modes, because the score does not depend on them, and
    against heavy tails, whose few members contribute large terms whatever the signs.

    References
    ----------
    Chwialkowski, Strathmann, Gretton, *A kernel test of goodness of fit* (2016). Liu, Lee, Jordan, *A kernelized Stein
    discrepancy for goodness-of-fit tests* (2016). Gorham, Mackey, *Measuring sample quality with kernels* (2017):
    inverse multiquadrics. Schrab, Guedj, Gretton, *KSD aggregated goodness-of-fit test* (2022).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> stein_test(X, np.negative, random_state=0).p_value > 0.05
    True
    >>> stein_test(X + 0.5, np.negative, random_state=0)
    <KSD², 999 wild bootstraps: ..., p = 0.001; inverse_multiquadric(lengthscale=...), the most significant of 5>
    """
    check_number(NAME, "n_draws", n_draws, at_least=1, integer=True)
    check_number(NAME, "flip", flip, above=0, at_most=0.5)
    rng = generator(random_state)
    found = collection(NAME, kernel, lambda k: k.domain.check(X, NAME, "X"), (InverseMultiquadric,), 5)
    for k, _ in found:
        if not k.domain.vectors:
            raise TypeError(f"{NAME}: {k} does not compare vectors; give a kernel with gradients.")
        k.require_pd(k.domain.dimension(found[0][1]), NAME)
    n = found[0][0].domain.size(found[0][1])
    if n < 2:
        raise ValueError(f"{NAME}: X has one row; give at least two.")
    seed = int(rng.integers(2**63))  # all kernels use the same signs
    steins = [SteinKernel(k, score) for k, _ in found]
    rows, sizes = [], []
    for number, (h, (_, A)) in enumerate(zip(steins, found, strict=True)):
        with current().sharing(len(steins) - number):
            G = as_representation(gram).build(h, A, rng)
            rows.append(_statistics(G, flip, n_draws, np.random.default_rng(seed)))
        sizes.append(float(host(G.diagonal()).sum()) / n**2)  # the mean over independent signs
    T = in_common(NAME, rows, n_draws)
    p, p_values, best = aggregate(T, sizes, digits_of(A))
    kernels = tuple(k for k, _ in found)
    witness = Function(steins[best], found[best][1], like(np.full(n, 1 / n), A))
    words = f"KSD², {T.shape[1] - 1} wild bootstraps"
    return KernelTestResult(float(T[best, 0]), p, T[best, 1:], words, kernels[best], witness, kernels, p_values)


def _statistics(matrix: Gram, flip: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    """wᵀHw/n² for w = 1, and for `draws` chains of signs."""
    n = matrix.n

    def signs(count: int, first: bool) -> np.ndarray:
        W = np.cumprod(np.where(rng.random((n, count)) < flip, -1.0, 1.0), axis=0)
        W[:, : int(first)] = 1.0
        return W

    found = [values.astype(np.float64) for values, _ in quadratics(matrix, draws, signs)]
    return np.concatenate(found) / n**2 if found else np.zeros(0)
