"""Kernel ridge regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .._array import host
from .._errors import where
from ..context import Monitor
from ..gram import GramLike
from ..kernels import Kernel, KernelLike
from ..solvers.hyper import RIDGE, Objective
from ..solvers.linear import LinearSolver
from ..types import Array, Data, FreePart, RandomState
from ._objective import checked, of_ridge
from ._ridge import RidgeRegressor


@dataclass(eq=False, repr=False)
class KernelRidge(RidgeRegressor):
    r"""Kernel ridge regression: least squares with a penalty on the RKHS norm.

    .. math:: \min_{f \in H,\, c}\; \tfrac12 \sum_i w_i \Big(y_i - f(x_i) - \sum_b c_b h_b(x_i)\Big)^2
              + \tfrac{\alpha}{2} \|f\|_H^2

    By the representer theorem :math:`f = \sum_i a_i k(\cdot, x_i)` with :math:`(K + \alpha W^{-1})a + Hc = y` and
    :math:`H^\top a = 0`.

    Parameters
    ----------
    alpha : float >= 0, or array of shape (n_targets,)
        Regularisation parameter; larger is smoother. 0 gives the minimum-norm least-squares solution.
    kernel : str, Kernel or callable
        scikit-learn's names ("linear", "rbf", "poly", "laplacian", "sigmoid", "cosine", "chi2", "additive_chi2",
        "precomputed"), any registered name or expression ("0.5*gaussian(lengthscale=2) + linear"), a Kernel, or a
        function of two samples.
    gamma, degree, coef0, kernel_params
        As in scikit-learn, for its names and callables; an error with a Kernel.
    fit_intercept : bool
        Whether to add an unpenalised constant. (False by default because scikit-learn has none.)
    free : None, int, list of functions, or basis
        Unpenalised part: a polynomial degree (which includes the intercept) or functions X → (n,).
    gram : str or Representation
        How the kernel matrix is stored or approximated: "auto", "dense", "lazy", ``Nystrom(rank=500)``, …
    solver : str or LinearSolver
        "auto" (`mercer.solvers.linear.linear_solver`), "cholesky", "woodbury", "cg", "symmetric", "pseudo_inverse".
    random_state : int, RandomState, Generator or None
        Seed of randomised representations.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_targets)
        a.
    free_coef_ : array or None
        c; the intercept alone is also `intercept_`.
    function_ : Function
        f with its free part: values, norm, distances, derivatives.
    X_fit_ : collection
        The training samples.
    kernel_ : Kernel
        The kernel with data-driven parameters resolved.
    solution_ : LinearSolution
        Method, residual, jitter, iterations (of the first target's system if alphas differ).
    gram_choice_ : str
        How the matrix was stored, and why.
    edf_, gcv_, noise_variance_ : float or array of shape (n_targets,)
        From `summary`: effective degrees of freedom, generalised cross-validation score and noise variance, computed on
        first access.

    See Also
    --------
    KernelRidgeCV : selects alpha and the kernel in closed form.

    Notes
    -----
    The fitted function is also the posterior mean of a Gaussian process with covariance k, noise variance α/wᵢ and a
    flat prior on c. ``predict(…, return_std=True)`` also returns the posterior standard deviation.

    Dense: O(n³/3) for the fit, O(nm) to predict m points. Rank r: O(nr²). Lazy: iterations of O(n²d), O(n) memory.
    A kernel that is not positive definite is accepted as in scikit-learn, with an `IndefiniteKernelWarning`.

    References
    ----------
    Saunders, Gammerman, Vovk, *Ridge regression learning algorithm in dual variables* (1998); for the free part, Wahba,
    *Spline Models for Observational Data* (1990).

    Examples
    --------
    >>> X = np.linspace(0, 3, 7)[:, None]
    >>> model = KernelRidge(alpha=1e-3, kernel="gaussian(lengthscale=1.0)").fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.7]])[0] - np.sin(1.7)) < 0.01)
    True
    >>> round(model.function_.norm(), 2)
    1.26
    >>> bool(model.predict([[1.7]], return_std=True)[1] < model.predict([[9.0]], return_std=True)[1])
    True
    >>> bool(1 < model.edf_ < 7)
    True
    """

    criteria = RIDGE
    minimises_risk = True

    alpha: Any = 1
    _: KW_ONLY
    kernel: KernelLike = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    fit_intercept: bool = False
    free: FreePart = None
    gram: GramLike = "auto"
    solver: str | LinearSolver = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def _kernel(self, n_features: int) -> Kernel:
        return self._sklearn_kernel(n_features)

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X and targets y of shape (n,) or (n, n_targets)."""
        X, y = self._check_fit(X, y, multi_output=True, y_numeric=True)
        weight = self._check_weight(sample_weight, X)
        basis = self._free_basis(X, self.free, self.fit_intercept)
        alpha = self._check_alpha(1 if y.ndim == 1 else y.shape[1])
        self._fit_system(X, y, alpha, weight, basis)
        return self

    def tuning_objective(
        self, criterion: str, X: Data, y: Array, sample_weight: Array = None, monitor: Monitor | None = None
    ) -> Objective:
        """The objective of one of `criteria` on these data."""
        X, y = checked(self, X, y, multi_output=True, y_numeric=True)
        b = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        alpha = np.unique(self._check_alpha(b.shape[1]))
        if len(alpha) > 1 or not alpha[0] > 0:
            raise ValueError(f"{where(self)}: alpha = {self.alpha!r} must be a single starting value > 0.")
        basis = self._free_basis(X, self.free, self.fit_intercept)
        return of_ridge(self, criterion, X, b, self._check_weight(sample_weight, X), basis, float(alpha[0]))

    def _check_alpha(self, n_targets: int) -> np.ndarray:
        alpha = np.atleast_1d(host(self.alpha))
        if alpha.dtype.kind not in "fiu":
            raise TypeError(f"{where(self)}: alpha = {self.alpha!r} must be a number >= 0, or one per target.")
        if alpha.ndim != 1 or not np.all(np.isfinite(alpha)) or (alpha < 0).any():
            raise ValueError(
                f"{where(self)}: alpha = {self.alpha!r} must be finite and >= 0, one number or one per target."
            )
        if len(alpha) not in (1, n_targets):
            raise ValueError(f"{where(self)}: alpha has {len(alpha)} entries, but y has {n_targets} target(s).")
        return alpha
