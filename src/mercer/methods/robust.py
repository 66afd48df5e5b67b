"""Robust regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from .._errors import check_choice, check_number, where
from ..gram import GramLike
from ..kernels import KernelLike
from ..losses import Hampel, Huber, Loss
from ..solvers.fit import FitProblem
from ..types import Array, Data, FreePart, RandomState
from .machine import Machine

NORMAL = 0.6744897501960817  # the upper quartile of the normal distribution: the median of |z|
NEARLY = 0.1  # times the spread of y: threshold of the pilot fit's Huber loss, which is nearly absolute
EXACT = 1e-8  # times the spread of y: the smallest scale, for an exact fit


@dataclass(eq=False, repr=False)
class RobustKernelRegression(RegressorMixin, Machine):
    r"""Robust kernel regression, which limits the influence of outliers, with a robust scale.

    .. math:: \min_{f \in H,\, c}\; \sum_i w_i\, s^2 \rho\!\left(\frac{y_i - f(x_i) - c}{s}\right)
              + \tfrac{\alpha}{2} \|f\|_H^2

    where ρ is Huber's or Hampel's function, and s the scale of the errors. Residuals within the tuning constant have
    the loss ½r² of kernel ridge regression, so alpha means the same.

    Parameters
    ----------
    kernel : str, Kernel or expression
    loss : {"huber", "hampel"}
        "huber" is convex and bounds the influence of a sample. "hampel" reduces it to zero for far outliers, but is not
        convex: the fit is a stationary point, found from the "huber" solution.
    alpha : float > 0
        Regularisation parameter; larger is smoother.
    tuning : float or (a, b, c), optional
        In units of s: δ of `Huber`, by default 1.345 (95 % efficiency for normal errors), or a ≤ b < c of `Hampel`, by
        default 2, 4, 8. Smaller trusts fewer samples.
    scale : "mad" or float > 0
        s. "mad" estimates it once: the median absolute residual of a pilot fit, over 0.6745.
    free : None, int, list of functions, or basis
        Unpenalised part; 0 is the intercept.
    gram, solver, tol, max_iter, time_budget, random_state
        As in `KernelMachine`.

    Attributes
    ----------
    scale_ : float
        s.
    loss_ : Loss
        The loss, in units of y.
    robustness_ : array of shape (n_samples,)
        Weights ℓ'(r)/r: 1 for samples that count fully, 0 for those that are ignored.
    function_, dual_coef_, free_coef_, solution_, kernel_, n_iter_, gram_choice_
        As in `KernelMachine`.

    Notes
    -----
    The pilot fit uses a nearly absolute loss: Huber's, quadratic up to a tenth of the median deviation of y, with ten
    times the weight. With the absolute loss, f would interpolate one sample per coefficient strictly within its bounds
    (all, if f is flexible) and leave no residuals. The method is robust to outliers in y, not in x.

    References
    ----------
    Huber, *Robust Statistics* (1981). Maronna, Martin, Yohai, *Robust Statistics: Theory and Methods* (2006), for
    scales from a pilot fit. Hampel, *The influence curve and its role in robust estimation* (1974).

    Examples
    --------
    >>> X = np.linspace(0, 3, 40)[:, None]
    >>> y = np.sin(X[:, 0]) + np.tile([-0.05, 0.02, 0.05, -0.02], 10)
    >>> y[::8] = 50.0
    >>> model = RobustKernelRegression("gaussian", loss="hampel", alpha=0.01).fit(X, y)
    >>> bool(np.abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.1), model.robustness_[::8]
    (True, array([0., 0., 0., 0., 0.]))
    """

    minimises_risk = False  # the loss need not be convex

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    loss: str = "huber"
    alpha: float = 1.0
    tuning: Any = None
    scale: Any = "mad"
    free: FreePart = 0
    gram: GramLike = "auto"
    solver: str = "auto"
    tol: float = 1e-8
    max_iter: int | None = None
    time_budget: float | None = None
    random_state: RandomState = None

    def _check_parameters(self) -> None:
        check_choice(self, "loss", self.loss, ("huber", "hampel"))
        super()._check_parameters()
        check_number(self, "scale", self.scale, above=0, besides=("mad",))

    def _loss(self, scale: float = 1.0) -> Loss:
        if self.loss == "huber":
            delta = 1.345 if self.tuning is None else self.tuning
            check_number(self, "tuning", delta, above=0)
            return Huber(scale * delta)
        constants = (2.0, 4.0, 8.0) if self.tuning is None else self.tuning
        if np.shape(constants) != (3,):
            raise ValueError(f"{where(self)}: tuning = {self.tuning!r} must be three numbers a ≤ b < c for 'hampel'.")
        return Hampel(*(scale * float(constant) for constant in constants))

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X and targets y."""
        problem, basis = self._problem(X, y, sample_weight)
        self.scale_ = self._pilot_scale(problem) if self.scale == "mad" else float(self.scale)
        self.loss_ = self._loss(self.scale_)
        problem = replace(problem, loss=self.loss_)
        near = None
        if not self.loss_.convex:
            convex = replace(problem, loss=Huber(self.loss_.a))
            near = self._solve(convex, solver="newton")
        self.solution_ = self._solve(problem, near)
        self._keep(problem, basis, [self.solution_])
        self.robustness_ = np.asarray(self.loss_.majorizer(problem.y, self.solution_.values))
        return self

    def _pilot_scale(self, problem: FitProblem) -> float:
        y, w = problem.y, problem.weight
        from_median = np.abs(y - _median(y, w))
        spread = _median(from_median, w) / NORMAL or float(np.average(from_median, weights=w))
        if spread == 0:  # y is constant, and so is f with an intercept, whatever the scale
            return _median(np.abs(y), w) or 1.0
        pilot = replace(problem, loss=Huber(NEARLY * spread), weight=w / NEARLY)
        solution = self._solve(pilot, solver="newton")
        return max(_median(np.abs(y - solution.values), w) / NORMAL, EXACT * spread)


def _median(values: np.ndarray, weight: np.ndarray) -> float:
    """The weighted median, averaging two middle values; weights act as repetitions."""
    order = np.argsort(values[weight > 0])
    v, total = values[weight > 0][order], np.cumsum(weight[weight > 0][order])
    half = 0.5 * total[-1]
    low = np.searchsorted(total, half * (1 - 1e-12))
    high = np.searchsorted(total, half * (1 + 1e-12), side="right")
    return 0.5 * float(v[low] + v[min(high, len(v) - 1)])
