"""Conditional quantiles and expectiles."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from .._array import doubles, host
from .._errors import where
from ..gram import GramLike
from ..gram.remote import reachable
from ..kernels import KernelLike
from ..losses import Expectile, Loss, Pinball
from ..solvers.fit import FitProblem, FitSolution
from ..solvers.fit.ordered import ordered
from ..types import Array, Data, FreePart, RandomState
from .machine import Machine


@dataclass(eq=False, repr=False)
class LevelMethod(RegressorMixin, Machine):
    """Base of regression with one function per level, fitted separately or without crossing."""

    or_points = ("non_crossing",)
    level_name: ClassVar[str]

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    alpha: float = 1.0
    free: FreePart = 0
    non_crossing: Any = False
    gram: GramLike = "auto"
    solver: str = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    time_budget: float | None = None
    random_state: RandomState = None

    def _at(self, level: float) -> Loss:
        """The loss for a level."""
        raise NotImplementedError

    @property
    def loss(self) -> str:
        """The name of the loss in messages."""
        return type(self._at(0.5)).__name__.lower()

    def _loss(self) -> Loss:
        return self._at(0.5)

    def _levels(self) -> np.ndarray:
        name, given = self.level_name, getattr(self, self.level_name)
        levels = np.asarray(given)
        if levels.dtype.kind not in "fi" or levels.ndim > 1 or levels.size == 0:
            raise TypeError(f"{where(self)}: {name} = {given!r} must be a number in (0, 1), or a list of them.")
        if not np.all((levels > 0) & (levels < 1)):
            raise ValueError(f"{where(self)}: {name} = {given!r} must lie in (0, 1).")
        if self._ordered() and np.any(np.diff(np.atleast_1d(levels)) <= 0):
            raise ValueError(f"{where(self)}: {name} = {given!r} must increase if non_crossing is set.")
        return levels

    def _is_plain(self) -> bool:
        return self._levels().ndim == 0

    @property
    def fitted_loss(self) -> Any:
        """The loss of the level; for several levels, a function giving their mean loss."""
        levels = self._levels()
        if levels.ndim == 0:
            return self._at(float(levels))
        losses = [self._at(float(level)) for level in levels]

        def mean_over_levels(y: np.ndarray, f: np.ndarray) -> np.ndarray:
            return np.mean([loss.value(y, f[:, j]) for j, loss in enumerate(losses)], axis=0)

        return mean_over_levels

    def _ordered(self) -> bool:
        return bool(self.non_crossing) if isinstance(self.non_crossing, (bool, np.bool_)) else True

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X and targets y."""
        levels = self._levels()
        losses = [self._at(float(level)) for level in np.atleast_1d(levels)]
        problem, basis = self._problem(X, y, sample_weight)
        if self._ordered() and len(losses) > 1:
            problem = self._with_points(problem, basis)
            solutions = ordered(problem, losses, max(self.tol, 1e-10), self.max_iter or 200)
        else:
            solutions = self._apart(problem, losses)
        self.solution_ = solutions[0] if levels.ndim == 0 else solutions  # type: ignore[assignment]
        self._keep(problem, basis, solutions, many=levels.ndim == 1)
        return self

    def _apart(self, problem: FitProblem, losses: list[Loss]) -> list[FitSolution]:
        solutions: list[FitSolution] = []
        for loss in losses:
            own = replace(problem, loss=loss)
            near = solutions[-1] if solutions else None
            solutions.append(self._solve(own, near))
        return solutions

    def _with_points(self, problem: FitProblem, basis: Any) -> FitProblem:
        """The problem extended by the points of `non_crossing`, which have no targets."""
        if isinstance(self.non_crossing, (bool, np.bool_)):
            return problem
        domain = self.kernel_.domain
        extra = self._check_new(self.non_crossing)
        X = domain.join([problem.gram.X, extra])
        none = np.zeros(domain.size(extra))
        return replace(
            problem,
            gram=reachable(self._build(X, self._constant_is_free(basis))),
            y=np.concatenate([problem.y, none]),
            weight=np.concatenate([problem.weight, none]),
            H=None if basis is None else doubles(basis(X)),
            shared={},
        )

    def predict(self, X: Data) -> np.ndarray:
        """Predictions of shape (n,), or (n, n_levels) for a list of levels."""
        return self.values(X)

    def score(self, X: Data, y: Array, sample_weight: Array = None) -> float:
        """1 − loss / loss of the best constant, averaged over levels: 1 is perfect, 0 no better than a constant.

        The constant is the quantile (expectile) of y itself (Koenker, Machado, *Goodness of fit and related inference
        processes for quantile regression*, 1999). If a constant is perfect, any other function scores 0.
        """
        y = doubles(y)
        w = np.ones(len(y)) if sample_weight is None else doubles(sample_weight)
        values = host(self.predict(X)).reshape(len(y), -1)
        scores = []
        for level, f in zip(np.atleast_1d(self._levels()), values.T, strict=True):
            loss = self._at(float(level))
            ours, constant = (float(loss.total(y, g, w)) for g in (f, self._constant(y, w, level)))
            scores.append(1 - ours / constant if constant > 0 else float(ours == 0))
        return float(np.mean(scores))

    def _constant(self, y: np.ndarray, w: np.ndarray, level: float) -> np.ndarray:
        raise NotImplementedError


@dataclass(kw_only=True, eq=False, repr=False)
class KernelQuantileRegression(LevelMethod):
    r"""Kernel quantile regression: the conditional τ-quantile of y given x.

    .. math:: \min_{f \in H,\, c}\; \sum_i w_i \max\{\tau r_i, (\tau - 1) r_i\} + \tfrac{\alpha}{2} \|f\|_H^2,
              \qquad r_i = y_i - f(x_i) - c

    Parameters
    ----------
    kernel : str, Kernel or expression
    quantiles : float in (0, 1), or list of them
        The level τ, or several.
    alpha : float > 0
        Regularisation parameter; larger is smoother. kernlab's C is 1/alpha.
    free : None, int, list of functions, or basis
        Unpenalised part; 0 is the intercept.
    non_crossing : bool or collection of points
        Whether to fit several levels jointly, with :math:`f_\tau \le f_{\tau'}` for τ < τ' at the samples and at any
        further points given. Levels fitted separately may cross where data are sparse.
    gram : str or Representation
        How the kernel matrix is stored or approximated.
    solver : {"auto", "working_set", "interior_point", "admm"}
        For levels fitted separately, as in `KernelMachine`. "auto" is "working_set" with an intercept or no free part,
        otherwise "interior_point", which is also better for a tiny alpha.
    tol : float > 0
        Relative duality gap; for "working_set" the stopping criterion of the support vector machines, in units of the
        interquartile range of y, and at least 1e-3 for single-precision data.
    max_iter, time_budget, random_state
        As in `KernelMachine`.

    Attributes
    ----------
    function_ : Function
        f + c, with one column per level if a list was given.
    dual_coef_, free_coef_ : array
        a and c, with a column per level; the coefficients of any `non_crossing` points come last in a.
    solution_ : FitSolution, or list of them
        Objective and duality gap; for non-crossing levels, each holds the joint gap.
    kernel_, n_iter_, gram_choice_

    Notes
    -----
    With an intercept, at most nτ residuals are negative and at most n(1 − τ) positive; the others, one for each
    coefficient strictly within its bounds, are zero.

    Non-crossing levels are fitted by an interior-point method, in O(q(n + r)·r²) per step for q levels, n points and
    rank r. The order holds at the points only; where functions come close between samples, pass points there, which
    then also become expansion points of f.

    References
    ----------
    Takeuchi, Le, Sears, Smola, *Nonparametric quantile estimation* (2006). Koenker, *Quantile Regression* (2005), for
    the counts of the residuals.

    Examples
    --------
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + np.tile([-0.3, -0.1, 0.1, 0.3], 10)
    >>> model = KernelQuantileRegression("gaussian", quantiles=[0.25, 0.75], alpha=0.1, non_crossing=True).fit(X, y)
    >>> model.predict([[1.5]]).shape
    (1, 2)
    >>> bool((np.diff(model.predict(X), axis=1) >= -1e-6).all())
    True
    """

    level_name = "quantiles"

    quantiles: Any = 0.5
    tol: float = 1e-6

    def _at(self, level: float) -> Loss:
        return Pinball(level)

    def _constant(self, y: np.ndarray, w: np.ndarray, level: float) -> np.ndarray:
        return np.full_like(y, np.quantile(y, level, weights=w, method="inverted_cdf"))


@dataclass(kw_only=True, eq=False, repr=False)
class KernelExpectileRegression(LevelMethod):
    r"""Kernel expectile regression: asymmetric least squares.

    .. math:: \min_{f \in H,\, c}\; \sum_i w_i |\tau - [r_i \le 0]|\, r_i^2 + \tfrac{\alpha}{2} \|f\|_H^2,
              \qquad r_i = y_i - f(x_i) - c

    Expectiles generalise the mean as quantiles do the median: τ = ½ is kernel ridge regression. They depend on how far
    values lie beyond them, not only on how many.

    Parameters
    ----------
    kernel : str, Kernel or expression
    expectiles : float in (0, 1), or list of them
        The level τ, or several.
    alpha : float > 0
        Regularisation parameter; larger is smoother.
    free : None, int, list of functions, or basis
        Unpenalised part; 0 is the intercept.
    non_crossing : bool or collection of points
        As in `KernelQuantileRegression`.
    gram : str or Representation
        How the kernel matrix is stored or approximated.
    solver : {"auto", "newton", "newton_cg", "lbfgs", "interior_point", "admm", "working_set"}
        As in `KernelMachine`, for separate fits.
    tol, max_iter, time_budget, random_state
        As in `KernelMachine`.

    Attributes
    ----------
    function_, dual_coef_, free_coef_, solution_, kernel_, n_iter_, gram_choice_
        As in `KernelQuantileRegression`.

    References
    ----------
    Newey, Powell, *Asymmetric least squares estimation and testing* (1987). Farooq, Steinwart, *An SVM-like approach
    for expectile regression* (2017), for kernels.

    Examples
    --------
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + np.tile([-0.3, -0.1, 0.1, 0.3], 10)
    >>> model = KernelExpectileRegression("gaussian", expectiles=[0.1, 0.5, 0.9], alpha=0.1).fit(X, y)
    >>> bool((np.diff(model.predict(X), axis=1) > 0).all())
    True
    """

    level_name = "expectiles"

    expectiles: Any = 0.5

    def _at(self, level: float) -> Loss:
        return Expectile(level)

    def _constant(self, y: np.ndarray, w: np.ndarray, level: float) -> np.ndarray:
        c = np.average(y, weights=w)
        for _ in range(100):  # reweighted means converge to the expectile once the signs no longer change
            sides = w * np.where(y > c, level, 1 - level)
            before, c = c, np.average(y, weights=sides)
            if c == before:
                break
        return np.full_like(y, c)
