"""Common parts of the methods that solve the ridge regression system."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted

from .. import _threads
from .._array import eps, host, like, namespace
from .._errors import IndefiniteError, RoundingWarning, is_one_of, warn, where
from .._random import generator_of
from .._units import out_of_squares, power_of_two
from ..basis import annihilated
from ..context import Status, current
from ..gram import Gram, as_representation
from ..kernels import Kernel
from ..solvers.design import Design, Resolvent, posterior_variance
from ..solvers.likelihood import log_marginal_likelihood
from ..solvers.linear import MOVED, LinearSolution, PseudoInverse, Symmetric, System, solve
from ..solvers.spectral import Spectral
from ..types import Array, Data
from ._base import UNFOUNDED, KernelEstimator
from ._classifier import encode
from ._forms import LinearForm
from ._predictors import DecisionClassifier


@dataclass(frozen=True)
class RidgeSummary:
    """Result of `summary`; with several targets each entry is an array with one value (or column) per target.

    Attributes
    ----------
    n_samples : int
        Samples of positive weight.
    alpha : float
    kernel : str
    free_coef, free_std_error : arrays of shape (p,) or (p, n_targets), or None
        c of `function_`, and the square roots of the diagonal of (σ²/α)(Hᵀ(K + αW⁻¹)⁻¹H)⁻¹.
    degrees_of_freedom : float
        Trace of the matrix that maps y to the fitted values.
    residual_variance : float
        σ² = Σ wᵢrᵢ² / (n − degrees of freedom).
    gcv, leave_one_out : float
        Generalised cross-validation, and the weighted mean of the squared leave-one-out residuals.
    log_marginal_likelihood : float
        For the Gaussian process with covariance k and noise variance α (restricted if there is a free part).
    """

    n_samples: int
    alpha: Any
    kernel: str
    free_coef: Any
    free_std_error: Any
    degrees_of_freedom: Any
    residual_variance: Any
    gcv: Any
    leave_one_out: Any
    log_marginal_likelihood: Any

    def __str__(self) -> str:
        def text(v: Array) -> str:
            return " ".join(f"{x:.6g}" for x in np.atleast_1d(v))

        lines = [
            f"{self.n_samples} samples, kernel {self.kernel}, alpha {text(self.alpha)}",
            f"effective degrees of freedom  {text(self.degrees_of_freedom)}",
            f"residual variance             {text(self.residual_variance)}",
            f"generalised cross-validation  {text(self.gcv)}",
            f"leave-one-out squared error   {text(self.leave_one_out)}",
            f"log marginal likelihood       {text(self.log_marginal_likelihood)}",
        ]
        if self.free_coef is not None:
            lines.append("free part: coefficient (standard error)")
            for c, e in zip(np.atleast_1d(self.free_coef), np.atleast_1d(self.free_std_error), strict=True):
                pairs = zip(np.atleast_1d(c), np.atleast_1d(e), strict=True)
                lines.append("  " + "  ".join(f"{x:.6g} ({s:.2g})" for x, s in pairs))
        return "\n".join(lines)


class RidgeMethod(KernelEstimator):
    """Solver of Ka + αW⁻¹a + Hc = y, Hᵀa = 0: values, their variance, leave-one-out, likelihood, summary."""

    solver: Any = "auto"
    _solves_system = True

    def _fit_system(self, X: Data, y: Array, alpha: np.ndarray, weight: Array, basis: Any) -> None:
        """Solve for targets y of shape (n,) or (n, t), with one alpha or one per target."""
        self._definite = definite = self._is_definite(X, basis)
        gram = self._matrix(X, basis)
        sample = gram.like
        b = like(y, sample)
        H = None if basis is None else like(basis(X), sample)
        weight = None if weight is None else like(weight, sample)
        if len(np.unique(alpha)) == 1:
            solution = self._solve(gram, b, float(alpha[0]), definite, H, weight)
            a, c = solution.coefficients, solution.free
        else:
            xp = namespace(b)
            parts = [self._solve(gram, b[:, j], float(s), definite, H, weight) for j, s in enumerate(alpha)]
            solution = replace(parts[0], residual=max(part.residual for part in parts))
            a = xp.stack([part.coefficients for part in parts], axis=1)
            c = None if H is None else xp.stack([part.free for part in parts], axis=1)
        self._keep(gram, b, alpha, weight, basis, solution, a, c)

    def _matrix(self, X: Data, basis: Any) -> Gram:
        """The Gram operator, given the free part; an error if its products would overflow."""
        gram = self._build(X, annihilated(basis) > 0)
        with np.errstate(over="ignore"):
            diagonal = gram.diagonal()
        if out_of_squares(diagonal) > 0:
            raise ValueError(
                f"{where(self)}: the kernel {self.kernel_} has values up to {power_of_two(diagonal):.0e}, whose "
                "squares overflow; scale the data or the kernel."
            )
        return gram

    def _keep(
        self,
        gram: Gram,
        b: Array,
        alpha: np.ndarray,
        weight: Array,
        basis: Any,
        solution: LinearSolution,
        a: Array,
        c: Array,
    ) -> None:
        self._warn_of_rounding(gram, alpha, annihilated(basis) > 0, solution)
        self.X_fit_ = gram.X
        self.dual_coef_, self.free_coef_, self.solution_ = a, self._at_zero(gram, a, c), solution
        if annihilated(basis) == 1:
            self.intercept_ = float(self.free_coef_[0]) if c.ndim == 1 else self.free_coef_[0, :]
        self.function_ = self._function(gram, a, basis, c)
        self._strength, self._target, self._weight, self._basis = alpha, b, weight, basis
        # a factor may be random, and is small: keep it; a full matrix is recomputed when needed
        self._factored = gram if "factor" in gram.provides else None
        self._resolvents: dict[float, Resolvent] = {}
        self._told: RidgeSummary | None = None

    def _warn_of_rounding(self, gram: Gram, alpha: np.ndarray, constants: bool, solution: LinearSolution) -> None:
        """Warn if rounding errors of the kernel exceed alpha, or change the fitted values; alpha = 0 is exempt.

        With a residual r the fitted values are off by K(K + α)⁻¹r, whose norm is at most that of r.
        """
        rounding = eps(gram.like) * float(np.abs(host(gram.diagonal())).max())
        lost = alpha[(alpha > 0) & (alpha < rounding)]
        told = solution.jitter > 0 or solution.status not in (Status.CONVERGED, Status.PRECISION)  # by the solver
        if len(lost):
            finding = f"alpha = {lost.min():g} is below the rounding errors of the kernel matrix, about "
            finding += f"{rounding:.1g}, which therefore dominate the fit"
        elif alpha.all() and solution.residual > MOVED and not told:
            finding = f"alpha = {alpha.min():g} is so small relative to the kernel matrix that rounding errors change "
            finding += f"the fitted values by up to {solution.residual:.1g} of the targets"
        else:
            return
        remedies = "" if constants else "fit_intercept=True, "
        remedies += "float64 data, " if eps(gram.like) > 1e-10 else ""
        warn(
            f"{where(self)}: {finding}. Standardise the data, or use {remedies}a larger alpha, or a smaller kernel.",
            RoundingWarning,
        )

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        return {**state, "_resolvents": {}, "_told": None} if "_resolvents" in state else state

    def _solve(
        self, gram: Gram, b: Array, alpha: float, definite: bool | None, H: Array, weight: Array
    ) -> LinearSolution:
        current().check()
        system = System(gram, b, alpha, H, weight, definite is not False)
        try:
            return solve(system, PseudoInverse() if is_one_of(self.solver, ("auto",)) and alpha == 0 else self.solver)
        except IndefiniteError:
            if self.solver != "auto":
                raise
            self._warn_indefinite(f"not positive definite on these data; {UNFOUNDED}")
            self._definite = False
            return Symmetric().solve(system)

    # ---- results derived from the system

    def _system(self) -> tuple[Gram, Any, Any]:
        """The Gram operator of the training samples, and the values of the free functions."""
        check_is_fitted(self)
        constants = annihilated(self._basis) > 0
        gram = self._build(self.X_fit_, constants) if self._factored is None else self._factored
        H = None if self._basis is None else like(self._basis(self.X_fit_), gram.like)
        return gram, H, self._weight

    def linear_form(self, X: Data, y: Array, sample_weight: Array = None) -> LinearForm:
        """The linear system."""
        return LinearForm(*self._system(), *self._columns(), self._basis, self._check_new)

    def _columns(self) -> tuple[Any, np.ndarray]:
        """The targets as a matrix, and the alpha of each column."""
        b = self._target if self._target.ndim == 2 else self._target[:, None]
        return b, np.broadcast_to(self._strength, (int(b.shape[1]),)).astype(np.float64)

    def _std(self, X: Data) -> Any:
        """The posterior standard deviation at checked new points, of shape (n,) or (n, n_targets)."""
        if self._definite is False:
            raise ValueError(
                f"{where(self)}: return_std needs a positive definite kernel; {self.kernel_} is not a covariance here."
            )
        _, alphas = self._columns()
        missing = [float(a) for a in np.unique(alphas) if float(a) not in self._resolvents]
        if missing:
            design = Design(*self._system())
            self._resolvents |= {a: Resolvent(design, a) for a in missing}
        design = self._resolvents[float(alphas[0])].design
        domain = self.kernel_.domain
        blocks = []
        for rows in _threads.slices(domain.size(X), max(1, (1 << 23) // design.n)):
            some = domain.take(X, rows)
            cross, diagonal = design.gram.cross(some).dense(), self._prior_variance(design.gram.kernel, some)
            h = None if self._basis is None else like(self._basis(some), cross)
            variance = {a: posterior_variance(design, a, G, cross, diagonal, h) for a, G in self._resolvents.items()}
            xp = namespace(cross)
            blocks.append(xp.sqrt(xp.stack([variance[float(a)] for a in alphas], axis=1)))
        std = namespace(blocks[0]).concat(blocks, axis=0)
        return std[:, 0] if self._target.ndim == 1 else std

    def _prior_variance(self, kernel: Kernel, X: Data) -> Any:
        if self.kernel_.domain.precomputed:
            raise TypeError(
                f"{where(self)}: return_std needs k(x, x) at the new points, which a precomputed matrix does not "
                "contain; give the kernel itself."
            )
        return kernel.evaluate_diag(X)

    def leave_one_out(self) -> Any:
        r"""Leave-one-out predictions at the training samples, in closed form.

        .. math:: f^{(-i)}(x_i) = y_i - \frac{r_i}{1 - h_{ii}}

        Kernel parameters, landmarks and alpha are kept fixed. Equal to n refits, including free part and weights;
        a sample of weight 0 has no influence and gets the value of the fit itself.
        """
        path = Spectral(*self._system())
        b, alphas = self._columns()
        columns = [path.leave_one_out(b[:, j : j + 1], alphas[j : j + 1])[:, 0, 0] for j in range(len(alphas))]
        return columns[0] if self._target.ndim == 1 else namespace(b).stack(columns, axis=1)

    def log_marginal_likelihood(self, theta: dict[str, Any] | None = None, gradient: bool = False) -> Any:
        """log p(y) of the Gaussian process with covariance k and noise variance alpha, summed over the targets.

        Parameters
        ----------
        theta : dict, optional
            Values of "alpha" and of kernel parameters by name (``{"lengthscale": 2.0}``); the others stay as fitted.
            With a changed kernel, random representations are drawn anew.
        gradient : bool
            Whether to return (value, {name: derivative}), with derivatives in "alpha" and in every kernel parameter
            that supports them. Needs one alpha for all targets and the exact matrix.
        """
        theta = dict(theta or {})
        gram, H, weight = self._system()
        b, alphas = self._columns()
        alphas = np.broadcast_to(theta.pop("alpha", alphas), alphas.shape).astype(np.float64)
        kernel = clone(self.kernel_).set_params(**theta)
        if not gradient:
            if theta:
                kernel = kernel.about(gram.X) if annihilated(self._basis) else kernel
                gram = as_representation(self.gram)._build(kernel, gram.X, generator_of(self))
            path = Spectral(gram, H, weight)
            return float(
                sum(
                    float(path.log_marginal_likelihood(b[:, j : j + 1], alphas[j : j + 1])[0, 0])
                    for j in range(len(alphas))
                )
            )
        if len(np.unique(alphas)) > 1 or alphas[0] <= 0:
            raise ValueError(
                f"{where(self)}: gradient=True needs one alpha > 0 for all targets; got {np.unique(alphas).tolist()}."
            )
        if gram.trace_error:
            raise TypeError(
                f"{where(self)}: gradient=True needs the exact kernel matrix, not {where(gram)}; use gram='dense'."
            )
        X = kernel.about(gram.X).relative(gram.X) if annihilated(self._basis) else gram.X
        return log_marginal_likelihood(kernel, X, b, float(alphas[0]), H, weight)

    def summary(self) -> RidgeSummary:
        """A printable summary: free part with standard errors, degrees of freedom, variance and criteria.

        Takes one decomposition of the kernel matrix. Standard errors are those of the Bayesian model y = Hc + f + noise
        with a flat prior on c, covariance (σ²/α)k of f and noise variance σ²/wᵢ (Wahba, *Improper priors, spline
        smoothing and the problem of guarding against model errors in regression*, 1978); σ² is estimated.
        """
        path = Spectral(*self._system())
        b, alphas = self._columns()
        if not alphas.all():
            raise ValueError(f"{where(self)}: alpha = 0 leaves no residuals to summarise; use alpha > 0.")
        design, xp = path.design, namespace(b)
        total = float(design.n if design.weight is None else xp.sum(design.weight))
        rows = []
        for j, alpha in enumerate(alphas):
            target, strength = b[:, j : j + 1], alphas[j : j + 1]
            degrees = float(path.degrees_of_freedom(strength)[0])
            gcv = float(path.gcv(target, strength)[0, 0])
            variance = float(path.residual_variance(target, strength)[0, 0])
            errors = design.scaled(target[:, 0] - path.leave_one_out(target, strength)[:, 0, 0])
            likelihood = float(path.log_marginal_likelihood(target, strength)[0, 0])
            free = None
            if design.H is not None:
                free = np.diagonal(path.free_covariance(alpha)) * variance / alpha
                if not np.all(free >= 0) and self._definite:
                    raise ValueError(
                        f"{where(self)}: alpha = {alpha:g} is so small relative to the kernel matrix that rounding "
                        "errors exceed the standard errors of the free part; raise it, or scale the data."
                    )
                free = np.sqrt(free)
            rows.append((degrees, variance, gcv, float(xp.sum(errors**2)) / total, likelihood, free))
        *numbers, free = zip(*rows, strict=True)
        single = self._target.ndim == 1
        values = [column[0] if single else np.array(column) for column in numbers]
        errors = None if design.H is None else free[0] if single else np.stack(free, axis=1)
        coefficients = None if self.free_coef_ is None else host(self.function_.free)
        alpha = float(alphas[0]) if len(np.unique(alphas)) == 1 else alphas
        return RidgeSummary(design.effective, alpha, str(self.kernel_), coefficients, errors, *values)


class RidgeRegressor(MultiOutputMixin, RegressorMixin, RidgeMethod):
    """Predictions and their standard deviation."""

    def _statistics(self) -> RidgeSummary:
        """The summary, computed once."""
        if self.__dict__.get("_told") is None:
            try:
                self._told = self.summary()
            except ValueError as error:  # makes hasattr return False
                raise AttributeError(str(error)) from error
        assert self._told is not None
        return self._told

    @property
    def edf_(self) -> Any:
        """Effective degrees of freedom: the trace of the matrix that maps y to the fitted values."""
        return self._statistics().degrees_of_freedom

    @property
    def gcv_(self) -> Any:
        """Generalised cross-validation."""
        return self._statistics().gcv

    @property
    def noise_variance_(self) -> Any:
        """σ² = Σ wᵢrᵢ² / (n − edf)."""
        return self._statistics().residual_variance

    def predict(self, X: Data, return_std: bool = False) -> Any:
        r"""The values of `function_` at X, of shape (n,) or (n, n_targets).

        With ``return_std`` also the posterior standard deviation of the function, without noise, of the same shape:

        .. math:: \sigma^2(x) = k(x, x) - k(x, X)(K + \alpha W^{-1})^{-1} k(X, x),

        plus the uncertainty of the free part (universal kriging). This assumes that alpha is the noise variance and k
        the covariance, including its scale. O(n³) once and O(n²) per point; a lazy matrix is formed. Low-rank
        approximations still use the exact k(x, x), so that the deviation grows away from the samples
        (Quiñonero-Candela, Rasmussen, *A unifying view of sparse approximate Gaussian process regression*, 2005).
        """
        X = self._check_new(X)
        values = self.function_.values(X)
        return (values, self._std(X)) if return_std else values


class RidgeClassifier(DecisionClassifier, RidgeMethod):
    """Least squares on labels: one function for two classes; else one per class, and the largest value wins."""

    class_weight: Any

    def _encode(self, y: Array, weight: Array, low: float) -> tuple[np.ndarray, Any]:
        """The weights, and targets ±1 of shape (n,) for two classes, else `low` or 1 of shape (n, n_classes)."""
        plain = weight is None and self.class_weight is None
        index, weight = encode(self, y, weight)
        weight = None if plain else weight
        if len(self.classes_) == 2:
            return np.where(index == 1, 1.0, -1.0), weight
        return np.where(index[:, None] == np.arange(len(self.classes_))[None, :], 1.0, low), weight
