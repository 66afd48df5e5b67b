"""The least-squares support vector machine."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Self

import numpy as np

from .._errors import check_number
from ..basis import Polynomials
from ..context import Monitor
from ..gram import GramLike
from ..kernels import KernelLike
from ..solvers.hyper import RIDGE, Objective
from ..solvers.linear import LinearSolver
from ..types import Array, ClassWeight, Data, RandomState
from ._objective import checked, of_ridge
from ._ridge import RidgeClassifier


@dataclass(eq=False, repr=False)
class LeastSquaresSVC(RidgeClassifier):
    r"""Least-squares support vector machine: an SVM with the squared loss in place of the hinge loss.

    .. math:: \min_{f \in H,\, b}\; \tfrac12 \sum_i w_i (y_i - f(x_i) - b)^2 + \tfrac{\alpha}{2} \|f\|_H^2,
              \qquad y_i = \pm 1

    As :math:`y_i^2 = 1`, the residual equals :math:`1 - y_i(f(x_i) + b)` up to sign. The solution is that of one linear
    system, :math:`(K + \alpha W^{-1})a + b = y`, :math:`\sum a_i = 0`. With more than two classes, one function per
    class is fitted to its indicator, and the largest value wins.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Positive definite, or conditionally so of order 1 (the intercept is free).
    alpha : float > 0
        Regularisation parameter; larger is smoother. Suykens' γ is 1/alpha, kernlab's τ is alpha/n.
    class_weight : dict, "balanced" or None
        Factors on the sample weights of each class; "balanced" gives all classes the same total weight.
    gram, solver, random_state, time_budget
        As in `KernelRidge`.

    Attributes
    ----------
    classes_, class_weight_ : array
        The labels, and their factors.
    dual_coef_ : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        a.
    intercept_ : float, or array of shape (n_classes,)
        b.
    function_ : Function
        f + b.
    kernel_, X_fit_, solution_, gram_choice_
        As in `KernelRidge`.

    Notes
    -----
    The cost is that of `KernelRidge`. The solution is not sparse: every sample is a support vector. `leave_one_out`
    gives the leave-one-out decision values without refitting; `KernelRidgeClassifierCV` uses them to choose alpha and
    the kernel. For two classes, kernlab's scores, which are fitted to 0 and 1, are (1 ± f)/2.

    References
    ----------
    Suykens, Vandewalle, *Least squares support vector machine classifiers* (1999). Cawley, *Leave-one-out
    cross-validation based model selection criteria for weighted LS-SVMs* (2006).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = LeastSquaresSVC("gaussian(lengthscale=2.0)", alpha=0.1).fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[0.5], [4.5]])
    array(['low', 'high'], dtype='<U4')
    >>> (model.leave_one_out() > 0) == (model.classes_[1] == np.array(["low", "low", "high", "high"]))
    array([ True,  True,  True,  True])
    """

    criteria = RIDGE
    minimises_risk = True

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    alpha: float = 1.0
    class_weight: ClassWeight = None
    gram: GramLike = "auto"
    solver: str | LinearSolver = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X with labels y."""
        check_number(self, "alpha", self.alpha, above=0)
        X, y = self._check_fit(X, y)
        target, weight = self._encode(y, self._check_weight(sample_weight, X), low=0.0)
        basis = Polynomials(0)
        self._require_definite(X, 1)
        self._fit_system(X, target, np.array([float(self.alpha)]), weight, basis)
        return self

    def tuning_objective(
        self, criterion: str, X: Data, y: Array, sample_weight: Array = None, monitor: Monitor | None = None
    ) -> Objective:
        """The objective of one of `criteria` on these data."""
        check_number(self, "alpha", self.alpha, above=0)
        X, y = checked(self, X, y)
        target, weight = self._encode(y, self._check_weight(sample_weight, X), low=0.0)
        b = target.reshape(len(target), -1)
        return of_ridge(self, criterion, X, b, weight, Polynomials(0), float(self.alpha))
