"""Minimum-norm interpolation, with the power function and its error bound."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._array import host, like, namespace
from .._errors import REMEDIES, check_number, where
from ..basis import Polynomials, annihilated
from ..context import current
from ..evaluation import bind
from ..gram import Dense
from ..kernels import KernelLike
from ..solvers.linear import Conditioned, Inverse, free_factor, typical, units
from ..space import Function
from ..types import Array, Data, FreePart
from ._forms import LinearForm
from ._predictors import FunctionRegressor


@dataclass(eq=False, repr=False)
class KernelInterpolator(FunctionRegressor):
    r"""Minimum-norm interpolation of given values.

    .. math:: s = \arg\min \{\|f\|_H : f(x_i) = y_i\} = \sum_i a_i k(\cdot, x_i), \qquad \Theta a = y, \qquad
              \|s\|^2 = y^\top \Theta^{-1} y

    Every f in the space with the same values satisfies :math:`|f(x) - s(x)| \le \sqrt{\|f\|^2 - \|s\|^2}\; P(x)`, with
    the power function :math:`P(x)^2 = k(x, x) - k(x, X)\, \Theta^{-1} k(X, x)`.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Positive definite; or conditionally positive definite of order q, which adds polynomials of degree < q as free
        part.
    free : None, int, list of functions, or basis
        Unpenalised functions, reproduced exactly.
    tol : float > 0
        If Θ is singular, values are consistent if the residual is at most tol times their largest magnitude.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    dual_coef_, free_coef_ : arrays
        a and the coefficients of the free part (None without one).
    function_ : Function
        s.
    norm_ : float, or array of shape (n_targets,)
        ‖s‖.
    rank_ : int
        Numerical rank of Θ (on coefficients orthogonal to the free part); n − p if it is nonsingular.
    kernel_ : Kernel

    Notes
    -----
    O(n³/3), dense. If Θ is numerically singular, the minimum-norm interpolant is returned if the values are consistent
    with it; otherwise an error names the conflicting rows. For noisy values use `KernelRidge`.

    References
    ----------
    Wendland, *Scattered Data Approximation* (2005), theorems 11.4 and 13.2; definition 11.2 for P.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> model = KernelInterpolator("gaussian").fit(X, [0.0, 1.0, 0.0])
    >>> model.predict(X).round(10) + 0.0
    array([0., 1., 0.])
    >>> model.power(X).round(6)
    array([0., 0., 0.])
    >>> bool(np.all(model.error_bound([[0.5]], norm_bound=2.0) > 0))
    True
    """

    kernel: KernelLike = "matern(nu=2.5, lengthscale='median')"
    _: KW_ONLY
    free: FreePart = None
    tol: float = 1e-6
    time_budget: float | None = None

    def linear_form(self, X: Data, y: Array, sample_weight: Array = None) -> LinearForm | None:
        """The linear system; None if it is singular, so that some samples determine others."""
        determined = self.rank_ + (0 if self.free_coef_ is None else len(self.free_coef_))
        if determined < len(self.dual_coef_):
            return None
        gram = Dense().build(self.function_.kernel, self._check_new(X))
        H = None if self._basis is None else like(self._basis(gram.X), gram.like)
        b = like(np.asarray(host(y)), gram.like)
        b = b[:, None] if b.ndim == 1 else b
        return LinearForm(gram, H, None, b, np.zeros(b.shape[1]), self._basis, self._check_new)

    @property
    def system_alpha(self) -> float:
        """0: the fit uses K without a penalty."""
        return 0.0

    def fit(self, X: Data, y: Array) -> Self:
        """Interpolate the values y, of shape (n,) or (n, n_targets), at the samples X."""
        check_number(self, "tol", self.tol, above=0)
        X, y = self._check_fit(X, y, multi_output=True, y_numeric=True)
        claim = self.kernel_.definiteness_in(self.kernel_.domain.dimension(X))
        if claim.kind == "INDEFINITE":
            raise ValueError(
                f"{where(self)}: the kernel {self.kernel_} is INDEFINITE, so it defines no norm to minimise; use a PD "
                f"kernel. {REMEDIES}"
            )
        basis = self._free_basis(X, self.free)
        order = claim.order if claim.is_cpd else 0
        if annihilated(basis) < order:
            if basis is not None:
                raise ValueError(
                    f"{where(self)}: the kernel {self.kernel_} is {claim} and needs free >= {order - 1} (polynomials)."
                )
            basis = Polynomials(order - 1)

        gram = Dense().build(self.kernel_ if basis is None else self.kernel_.about(X), X, np.random.default_rng())
        sample = gram.like
        xp = namespace(sample)
        b = like(y, sample)
        unit = units(b)
        unit = 1.0 if unit is None else unit
        b = b / unit
        if basis is None:
            operator: Any = gram
        else:
            H = like(basis(X), sample)
            Q, R = self._Q, self._R = free_factor(H)
            operator = Conditioned(gram, None, Q, typical(gram))
        current().check()
        self._inverse = Inverse(operator.dense())
        self._basis = basis
        target = b if basis is None else operator.project(b)
        a = self._inverse(target)
        if basis is not None:
            a = operator.project(a)
        self.rank_ = self._inverse.rank - (0 if basis is None else int(Q.shape[1]))
        rest = b - gram @ a
        c = None
        if basis is not None:
            c = like(np.linalg.solve(host(R), host(xp.matrix_transpose(Q) @ rest)), sample)
            rest = rest - H @ c
        self._refuse_conflicts(rest * unit, b * unit)
        norm = xp.sqrt(xp.clip(xp.sum(a * (b if basis is None else gram @ a), axis=0), min=0.0)) * unit
        self.norm_ = float(norm) if norm.ndim == 0 else norm
        a, c = a * unit, None if c is None else c * unit
        self.X_fit_, self.dual_coef_, self.free_coef_ = X, a, self._at_zero(gram, a, c)
        self.function_ = Function(*gram.expansion(a), basis, c)
        return self

    def _refuse_conflicts(self, rest: Any, b: Array) -> None:
        error, scale = np.abs(host(rest)), float(np.abs(host(b)).max()) or 1.0
        error = error if error.ndim == 1 else error.max(axis=1)
        limit = max(self.tol, 1e4 * float(np.finfo(error.dtype).eps)) * scale
        if error.max() <= limit:
            return
        worst = np.argsort(error)[::-1][: int(min(5, (error > limit).sum()))]
        rows = ", ".join(str(i) for i in sorted(int(i) for i in worst))
        raise ValueError(
            f"{where(self)}: the kernel matrix has rank {self._inverse.rank} of {len(error)} and no function takes the "
            f"values y: rows {rows} conflict (residual up to {error.max():.2g}). If nearly equal samples have "
            "different values, merge them, shorten the lengthscale, or use KernelRidge."
        )

    def power(self, X: Data) -> Any:
        """The power function P(x): the largest |f(x)| over f with ‖f‖ ≤ 1 that vanish on the samples."""
        X = self._check_new(X)
        kernel, centres = self.function_.kernel, self.function_.points
        B = namespace(self.dual_coef_).matrix_transpose(bind(kernel, X, centres).dense())  # k(X_fit, x)
        xp = namespace(B)
        d = kernel.evaluate_diag(X)
        if self._basis is None:
            return xp.sqrt(xp.clip(d - xp.sum(B * self._inverse(B), axis=0), min=0.0))
        # the cardinal functions u(x) solve Ku + Hv = k(X, x), Hᵀu = h(x); P² = k(x, x) − 2uᵀk(X, x) + uᵀKu
        h = xp.matrix_transpose(like(self._basis(X), B))
        u0 = self._Q @ like(np.linalg.solve(host(self._R).T, host(h)), B)
        K_u0 = bind(kernel, self.X_fit_).product(u0)
        rhs = B - K_u0
        rhs = rhs - self._Q @ (xp.matrix_transpose(self._Q) @ rhs)
        w = self._inverse(rhs)
        u = u0 + w - self._Q @ (xp.matrix_transpose(self._Q) @ w)
        K_u = bind(kernel, self.X_fit_).product(u)
        return xp.sqrt(xp.clip(d - 2 * xp.sum(u * B, axis=0) + xp.sum(u * K_u, axis=0), min=0.0))

    def error_bound(self, X: Data, norm_bound: float) -> Any:
        """The bound √(B² − ‖s‖²)·P(x) on |f(x) − s(x)| for every f with these values and ‖f‖ ≤ B = `norm_bound`."""
        check_is_fitted(self)
        check_number(self, "norm_bound", norm_bound, at_least=0)
        norms = np.atleast_1d(host(self.norm_) if not isinstance(self.norm_, float) else self.norm_)
        if norm_bound < norms.max() * (1 - 1e-9):
            raise ValueError(
                f"{where(self)}: norm_bound = {norm_bound:g} is below ‖s‖ = {norms.max():g}, the smallest norm of a "
                "function with these values; raise it."
            )
        P = self.power(X)
        slack = np.sqrt(np.maximum(norm_bound**2 - norms**2, 0.0))
        return P * float(slack[0]) if isinstance(self.norm_, float) else P[:, None] * like(slack, P)[None, :]
