"""Kernel density estimation."""

from __future__ import annotations

from typing import Any, Self

from .._errors import check_choice, check_number, where
from ._density import DensityEstimator

EUCLIDEAN = ("euclidean", "l2", "minkowski", "p")


class KernelDensity(DensityEstimator):
    r"""Kernel density estimation: the mean of the sample in the kernel's space, as a density.

    .. math:: f(x) = \sum_i w_i \, \frac{k(x / h,\, x_i / h)}{\int k(x / h,\, y / h) \, dy}, \qquad \sum_i w_i = 1

    Parameters
    ----------
    bandwidth : float > 0, or {"scott", "silverman", "cv"}
        h, which multiplies the lengthscale of the kernel; larger is smoother. "scott" and "silverman" are the
        rules n^(−1/(d+4)) and (n(d + 2)/4)^(−1/(d+4)) of scikit-learn, for columns of unit variance. "cv" is
        the best of `bandwidths`.
    algorithm : {"auto", "kd_tree", "ball_tree"}
        Accepted for scikit-learn's sake: sums are computed in blocks, without trees, and to rounding.
    kernel : str or Kernel
        scikit-learn's names ("gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"), or any kernel
        that provides `log_normalizer`, as an object or an expression ("matern(nu=2.5)", "gaussian + 0.1*laplace").
    metric : {"euclidean", "l2", "minkowski", "p"}
        Distance of the kernel. Others are refused, as scikit-learn's normaliser is wrong for them; give a kernel of
        that distance, such as ``Laplace(norm=1)`` or one of lengthscale (d,) or (d, d).
    atol, rtol : float >= 0
        Tolerances, which exact sums meet.
    breadth_first, leaf_size
        Of scikit-learn's trees; without effect.
    metric_params : dict or None
        None, or ``{"p": 2}``.
    bandwidths : array of floats > 0, optional
        What ``bandwidth="cv"`` tries; by default 25 values about Scott's rule for the spread of the data.
    criterion : {"likelihood", "least_squares"}
        What it maximises: Σ wᵢ log f₋ᵢ(xᵢ), where f₋ᵢ is the estimate without sample i, or
        2 Σ wᵢ f₋ᵢ(xᵢ) − ∫ f², which estimates the integrated squared error and minds outliers less. The latter needs a
        kernel with `self_convolution` (Gaussian, Laplace, Matérn), of which ∫ f² is known in closed form.

    Attributes
    ----------
    bandwidth_ : float
        h.
    kernel_ : Kernel
        The kernel of that bandwidth.
    log_normalizer_ : float
        log ∫ k(x/h, y/h) dy.
    function_ : Function
        The density as a function of the kernel's space.
    weights_ : array of shape (n_samples,)
        w.
    X_fit_ : array of shape (n_samples, n_features)
        The sample.
    cv_bandwidths_, cv_scores_ : arrays
        What "cv" tried, and the criterion for it.

    See Also
    --------
    RobustKernelDensity : the same for contaminated samples.

    Notes
    -----
    `score_samples` is computed from log k(x, xᵢ), so that it stays finite where the density underflows; `function_`
    gives the density itself, which overflows for narrow kernels in hundreds of dimensions. m densities cost O(nmd), in
    blocks of bounded memory. "cv" costs as much as n of them, and an exponential per pair of samples and bandwidth
    besides, from one matrix of distances. `sample` draws from every kernel.

    Densities agree with scikit-learn's, but for "cosine" in an even number of dimensions, where those do not integrate
    to one.

    References
    ----------
    Silverman, *Density Estimation for Statistics and Data Analysis* (1986). Wand, Jones, *Kernel Smoothing* (1995).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(400, 1))
    >>> model = KernelDensity(bandwidth="cv").fit(X)
    >>> bool(abs(np.exp(model.score_samples([[0.0]])[0]) - 0.399) < 0.05)
    True
    >>> model.sample(3, random_state=0).shape
    (3, 1)
    >>> KernelDensity(kernel="polynomial").fit(X)
    Traceback (most recent call last):
        ...
    ValueError: KernelDensity: the kernel polynomial declares no normaliser, so that no density can be made of it; ...
    """

    def __init__(
        self,
        *,
        bandwidth: Any = 1.0,
        algorithm: str = "auto",
        kernel: Any = "gaussian",
        metric: str = "euclidean",
        atol: float = 0,
        rtol: float = 0,
        breadth_first: bool = True,
        leaf_size: int = 40,
        metric_params: dict[str, Any] | None = None,
        bandwidths: Any = None,
        criterion: str = "likelihood",
    ):
        self.bandwidth = bandwidth
        self.algorithm = algorithm
        self.kernel = kernel
        self.metric = metric
        self.atol = atol
        self.rtol = rtol
        self.breadth_first = breadth_first
        self.leaf_size = leaf_size
        self.metric_params = metric_params
        self.bandwidths = bandwidths
        self.criterion = criterion

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to samples X; y is ignored."""
        check_choice(self, "algorithm", self.algorithm, ("auto", "kd_tree", "ball_tree"))
        check_number(self, "atol", self.atol, at_least=0)
        check_number(self, "rtol", self.rtol, at_least=0)
        check_number(self, "leaf_size", self.leaf_size, at_least=1, integer=True)
        self._check_metric()
        self._keep(*self._fit_kernel(X, sample_weight))
        return self

    def _check_metric(self) -> None:
        if self.metric in EUCLIDEAN and (self.metric_params or {}) in ({}, {"p": 2}):
            return
        raise ValueError(
            f"{where(self)}: metric = {self.metric!r} with metric_params = {self.metric_params!r} is not Euclidean, "
            "and the normaliser is not known for it; give a kernel of that distance, such as Laplace(norm=1), or of a "
            "matrix lengthscale."
        )
