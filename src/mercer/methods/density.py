"""Kernel density estimation."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, Self

import numpy as np

from .._errors import FROM_ONE, NOT_NEGATIVE, KindError, check_choice, check_number, check_parameters, where
from ..kernels import Integrable, Kernel, KernelLike, OfNorm, OnSphere
from ..types import Array, Data
from ._density import DensityEstimator

POWERS: dict[str, Any] = {"manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": inf, "infinity": inf}
POWERS |= dict.fromkeys(("euclidean", "l2", "minkowski", "p", "seuclidean", "mahalanobis"), 2.0)
PARAMETERS = {"minkowski": ("p", "w"), "p": ("p", "w"), "seuclidean": ("V",), "mahalanobis": ("V", "VI")}
SPHERE = "haversine"


@dataclass(kw_only=True, eq=False, repr=False)
class KernelDensity(DensityEstimator):
    r"""Kernel density estimation: the mean of the sample in the kernel's space, as a density.

    .. math:: f(x) = \sum_i w_i \, \frac{k(x / h,\, x_i / h)}{\int k(x / h,\, y / h) \, dy}, \qquad \sum_i w_i = 1

    Parameters
    ----------
    bandwidth : float > 0, or {"scott", "silverman", "loo"}
        h, which multiplies the lengthscale of the kernel; larger is smoother. "scott" and "silverman" are
        scikit-learn's rules n^(−1/(d+4)) and (n(d + 2)/4)^(−1/(d+4)), for columns of unit variance. "loo" chooses
        from `bandwidths` by leave-one-out.
    algorithm : {"auto", "kd_tree", "ball_tree"}
        For scikit-learn compatibility only. Sums over near points, which trees find, are used where they are faster.
    kernel : str or Kernel
        scikit-learn's names ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"), or any kernel
        that provides `log_normalizer`, as an object or an expression ("matern(nu=2.5)", "gaussian + 0.1*laplace").
    metric : str
        Distance of the kernel: "euclidean" ("l2"), "manhattan" ("cityblock", "l1"), "chebyshev" ("infinity"),
        "minkowski" ("p"), "seuclidean", "mahalanobis", or "haversine", the angle between points on the sphere given by
        latitude and longitude in radians. Other metrics do not define a volume, hence no density, and are rejected.
    atol, rtol : float >= 0
        Error tolerances; sums are exact.
    breadth_first, leaf_size
        Options of scikit-learn's trees; ignored.
    metric_params : dict or None
        As in scikit-learn: p >= 1 and w for "minkowski", V for "seuclidean", V or its inverse VI for "mahalanobis".
    bandwidths : array of floats > 0, optional
        Candidates for ``bandwidth="loo"``; default: 25 values around Scott's rule for the spread of the data.
    criterion : {"likelihood", "least_squares"}
        Objective of "loo", to be maximised: Σ wᵢ log f₋ᵢ(xᵢ), where f₋ᵢ is the estimate without sample i, or
        2 Σ wᵢ f₋ᵢ(xᵢ) − ∫ f², which estimates minus the integrated squared error and is less sensitive to outliers. The
        latter needs a kernel with `self_convolution` (Gaussian, Laplace, Matérn), for a closed form of ∫ f².
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    bandwidth_ : float
        h.
    kernel_ : Kernel
        The kernel at that bandwidth.
    log_normalizer_ : float
        log ∫ k(x/h, y/h) dy.
    function_ : Function
        The density as a function of the kernel's space.
    weights_ : array of shape (n_samples,)
        w.
    X_fit_ : array of shape (n_samples, n_features)
        The sample.
    bandwidths_, loo_scores_ : arrays
        The candidates of "loo", and their criterion values.

    See Also
    --------
    RobustKernelDensity : an estimate for contaminated samples.

    Notes
    -----
    `score_samples` is computed from log k(x, xᵢ) and stays finite when the density underflows; `function_` is the
    density itself, which overflows for narrow kernels in hundreds of dimensions. m densities cost O(nmd), in blocks of
    bounded memory. In up to six dimensions, a k-d tree finds the points that count if these are few: those within the
    support of the kernel or, for Gaussian and exponential kernels, those whose terms exceed rounding. "loo"
    costs as much as n densities from one distance matrix, plus one exponential per pair of samples and bandwidth.
    `sample` works with every kernel.

    Densities agree with scikit-learn's where those integrate to one. For "cosine" in even dimensions and for metrics
    other than the Euclidean they do not, since the balls have different volumes; the log densities then differ by a
    constant. With "haversine" the density is with respect to area on the unit sphere.

    References
    ----------
    Silverman, *Density Estimation for Statistics and Data Analysis* (1986). Wand, Jones, *Kernel Smoothing* (1995).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(400, 1))
    >>> model = KernelDensity(bandwidth="loo").fit(X)
    >>> bool(abs(np.exp(model.score_samples([[0.0]])[0]) - 0.399) < 0.05)
    True
    >>> model.sample(3, random_state=0).shape
    (3, 1)
    >>> KernelDensity(kernel="polynomial").fit(X)
    Traceback (most recent call last):
        ...
    ValueError: KernelDensity: the kernel polynomial declares no normaliser, so it does not define a density; ...
    """

    bandwidth: Any = 1.0
    algorithm: str = "auto"
    kernel: KernelLike = "gaussian"
    metric: str = "euclidean"
    atol: float = 0
    rtol: float = 0
    breadth_first: bool = True
    leaf_size: int = 40
    metric_params: dict[str, Any] | None = None
    bandwidths: Any = None
    criterion: str = "likelihood"
    time_budget: float | None = None

    def fit(self, X: Data, y: Array = None, sample_weight: Array = None) -> Self:
        """Fit to samples X; y is ignored."""
        check_choice(self, "algorithm", self.algorithm, ("auto", "kd_tree", "ball_tree"))
        check_parameters(self, {"atol": NOT_NEGATIVE, "rtol": NOT_NEGATIVE, "leaf_size": FROM_ONE})
        self._keep(*self._fit_kernel(X, sample_weight))
        return self

    def _kernel(self, n_features: int) -> Kernel:
        kernel = super()._kernel(n_features)
        check_choice(self, "metric", self.metric, (*POWERS, SPHERE))
        if self.metric_params is not None and not isinstance(self.metric_params, dict):
            raise KindError(f"{where(self)}: metric_params = {self.metric_params!r} must be a dict or None.")
        given = dict(self.metric_params or {})
        unknown = set(given) - set(PARAMETERS.get(self.metric, ()))
        if unknown:
            raise ValueError(
                f"{where(self)}: metric = {self.metric!r} does not take metric_params {sorted(unknown)}; drop them."
            )
        if self.metric in ("seuclidean", "mahalanobis") and len(given) != 1:
            raise ValueError(
                f"{where(self)}: metric = {self.metric!r} needs metric_params = {{'V': …}}, the (co)variances of the "
                f"columns, but it is {self.metric_params!r}."
            )
        if self.metric == SPHERE:
            return OnSphere(self._profile(kernel))
        p = given.get("p", POWERS[self.metric])
        if p != inf:
            check_number(self, "metric_params['p']", p, at_least=1)
        transform = self._transform(given, float(p))
        return kernel if p == 2 and transform is None else OfNorm(self._profile(kernel), float(p), transform)

    def _profile(self, kernel: Kernel) -> Integrable:
        if isinstance(kernel, Integrable) and getattr(kernel, "norm", 2) == 2:
            return kernel
        raise ValueError(
            f"{where(self)}: metric = {self.metric!r} needs a kernel that is a function of the distance, such as "
            f"'gaussian' or 'tophat'; {kernel} is not."
        )

    def _transform(self, given: dict[str, Any], p: float) -> Any:
        """The map T in the distance ‖T(x − y)‖ₚ, or None for the identity."""
        if "w" in given:
            return self._positive(given["w"], "w") ** (1 / p)
        if self.metric == "seuclidean":
            return self._positive(given["V"], "V") ** -0.5
        if self.metric != "mahalanobis":
            return None
        ((name, value),) = given.items()
        try:
            V = np.asarray(value, dtype=np.float64)
            return np.linalg.cholesky(V).T if name == "VI" else np.linalg.inv(np.linalg.cholesky(V))
        except (TypeError, ValueError, np.linalg.LinAlgError):
            raise ValueError(
                f"{where(self)}: metric_params[{name!r}] = {value!r} must be a positive definite matrix."
            ) from None

    def _positive(self, value: Any, name: str) -> np.ndarray:
        values = np.asarray(value)
        if values.ndim != 1 or values.dtype.kind not in "fiu" or not np.all(np.isfinite(values) & (values > 0)):
            raise ValueError(f"{where(self)}: metric_params[{name!r}] = {value!r} must be numbers > 0, one per column.")
        return values.astype(np.float64)
