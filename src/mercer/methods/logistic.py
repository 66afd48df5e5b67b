"""Logistic regression in the space of a kernel, and its sparse version."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin

from .._array import beside, host
from .._errors import FROM_ONE, NOT_NEGATIVE, ONE_OR_NONE, check_parameters
from ..gram import GramLike
from ..kernels import KernelLike
from ..losses import Logistic, Loss, Multinomial
from ..solvers.fit import FitSolution
from ..solvers.fit.import_vectors import import_vectors
from ..types import Array, ClassWeight, Data, FreePart, RandomState
from .machine import Machine


@dataclass(eq=False, repr=False)
class LogisticMethod(ClassifierMixin, Machine):
    """Base: the logistic loss for two classes, the multinomial loss for more."""

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    alpha: float = 1.0
    free: FreePart = 0
    class_weight: ClassWeight = None
    tol: float = 1e-8
    max_iter: int | None = None
    time_budget: float | None = None

    @property
    def loss(self) -> str:
        """Name of the loss in messages."""
        return "logistic"

    def _loss(self) -> Loss:
        return Multinomial()

    def _targets(self, y: Array, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        labels, weight = super()._targets(y, weight)
        if len(self.classes_) > 2:
            return labels, weight
        self.loss_ = Logistic()
        return np.where(labels == 1, 1.0, -1.0), weight

    def predict_log_proba(self, X: Data) -> Any:
        """Log probabilities, accurate even if the probabilities underflow."""
        values = self.values(X)
        f = host(values)
        logs = log_softmax(f, axis=1) if f.ndim == 2 else np.stack([log_expit(-f), log_expit(f)], axis=1)
        return beside(logs, values)


@dataclass(kw_only=True, eq=False, repr=False)
class KernelLogisticRegression(LogisticMethod):
    r"""Logistic regression in the space of a kernel, for two classes or, with the softmax, any number.

    .. math:: \min_{f \in H,\, c}\; \sum_i w_i \log\big(1 + e^{-y_i (f(x_i) + c)}\big) + \tfrac{\alpha}{2} \|f\|_H^2,
              \qquad y_i = \pm 1

    With k > 2 classes there is a function for each,

    .. math:: \min_{f_1, \dots, f_k,\, c}\; \sum_i w_i \Big(\log \sum_j e^{f_j(x_i) + c_j} - f_{y_i}(x_i) - c_{y_i}\Big)
              + \tfrac{\alpha}{2} \sum_j \|f_j\|_H^2,

    all fitted jointly; they sum to zero, and the probability of class j is proportional to
    :math:`e^{f_j(x) + c_j}`.

    Parameters
    ----------
    kernel : str, Kernel or expression
    alpha : float > 0
        Regularisation parameter; larger is smoother, with probabilities closer to the class frequencies. Equals 1/C in
        scikit-learn.
    free : None, int, list of functions, or basis
        Unpenalised part; 0 is the intercept.
    class_weight : dict, "balanced" or None
        Multiplies the sample weights of each class; "balanced" gives all classes the same total weight.
    gram : str or Representation
        How the kernel matrix is held or approximated; ``Nystrom(rank=500)`` for many samples.
    solver : {"auto", "newton", "newton_cg", "lbfgs", "admm"}
        As in `KernelMachine`: "auto" is Newton's method with direct linear solvers for two classes, and with conjugate
        gradients for more.
    tol : float > 0
        Tolerance: for two classes on the Newton decrement relative to the objective; for more on the gradient norm
        relative to that at f = 0, where 1e-3 suffices for prediction.
    max_iter, time_budget, random_state
        As in `KernelMachine`.

    Attributes
    ----------
    classes_, class_weight_ : array
        The labels, and their weights.
    function_ : Function
        f + c: one function, positive for the second class, or one per class.
    dual_coef_ : array of shape (n_samples,), or (n_samples, n_classes)
    free_coef_ : array of shape (p,), or (p, n_classes)
    solution_, n_iter_, loss_, kernel_, gram_choice_
        As in `KernelMachine`.

    Notes
    -----
    f is the posterior mode of a Gaussian process with covariance k/α and the logistic likelihood, as in the Laplace
    approximation. With a linear kernel it is scikit-learn's LogisticRegression.

    Dense: O(n³/3) per Newton step with two classes; with more, one eigendecomposition and steps of O(n²k). Low rank r:
    O(nr²) once and steps of O(nrk).

    References
    ----------
    Green, Yandell, *Semi-parametric generalized linear models* (1985). Zhu, Hastie, *Kernel logistic regression and the
    import vector machine*, Journal of Computational and Graphical Statistics (2005).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = KernelLogisticRegression("gaussian(lengthscale=2.0)", alpha=0.1).fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[0.5], [4.5]])
    array(['low', 'high'], dtype='<U4')
    >>> model.predict_proba([[2.5]]).round(3)
    array([[0.5, 0.5]])
    """

    @property
    def documented_problem(self) -> int:
        """The second equation of the docstring for more than two classes."""
        return int(len(self.classes_) > 2)

    gram: GramLike = "auto"
    solver: str = "auto"
    random_state: RandomState = None


@dataclass(kw_only=True, eq=False, repr=False)
class ImportVectorMachine(LogisticMethod):
    r"""Sparse kernel logistic regression on a few samples, chosen one by one.

    .. math:: \min_{a,\, c}\; \sum_i w_i \log\big(1 + e^{-y_i (f(x_i) + c)}\big) + \tfrac{\alpha}{2} \|f\|_H^2,
              \qquad f = \sum_{j \in S} a_j k(\cdot, x_j)

    Each round adds to S the point whose function lowers the objective most in one Newton step, and then solves the
    problem on S, until the improvement is small. With more than two classes the objective is that of the softmax, and
    all classes share the same points.

    Parameters
    ----------
    kernel : str, Kernel or expression
        Positive definite.
    alpha : float > 0
        Regularisation parameter; larger is smoother and needs fewer points.
    epsilon : float >= 0
        Stop when the last `lag` points have lowered the objective H by at most this fraction, |H − H_before| ≤ ε|H|.
        Smaller uses more points; 0 adds points as long as H decreases beyond rounding.
    lag : int >= 1
        Number of points over which the decrease is measured.
    max_points : int >= 1, optional
        Maximum number of points.
    free, class_weight
        As in `KernelLogisticRegression`.
    tol, max_iter, time_budget
        As in `KernelMachine`, for each problem on S.

    Attributes
    ----------
    import_ : array of integers
        Indices of the samples in S, in order of selection.
    import_vectors_ : collection
        The samples themselves.
    dual_coef_ : array of shape (n_import,), or (n_import, n_classes)
    function_ : Function
        f + c, on the import vectors.
    objective_path_ : array
        The objective before the first point, and after each.
    classes_, class_weight_, free_coef_, solution_, n_iter_, loss_, kernel_
        As in `KernelLogisticRegression`.

    Notes
    -----
    Unlike support vectors, the points hardly increase with the sample size; the probabilities are those of
    `KernelLogisticRegression` up to ε. The matrix is stored dense; evaluating all candidates with q points in S costs
    O(n²q) per round, or O(n²qk²) with k > 2 classes. Samples of weight 0 are never chosen.

    References
    ----------
    Zhu, Hastie, *Kernel logistic regression and the import vector machine*, Journal of Computational and Graphical
    Statistics (2005).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> model = ImportVectorMachine("gaussian", alpha=0.5).fit(X, X[:, 0] * X[:, 1] > 0)
    >>> len(model.import_) < 20, model.score(X, X[:, 0] * X[:, 1] > 0) > 0.9
    (True, True)
    """

    minimises_risk = False  # only over functions on the chosen points
    gram = "dense"

    epsilon: float = 1e-3
    lag: int = 1
    max_points: int | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_parameters(self, {"epsilon": NOT_NEGATIVE, "lag": FROM_ONE, "max_points": ONE_OR_NONE})

    def _constant_is_free(self, basis: Any) -> bool:
        return False  # the coefficients of the chosen points do not sum to zero

    def _is_plain(self) -> bool:
        return False  # points are chosen

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X with labels y."""
        problem, basis = self._problem(X, y, sample_weight)
        self.kernel_.require_pd(
            self.kernel_.domain.dimension(problem.gram.X),
            self,
            why=" and defines no function for a single point",
            remedy="choose a positive definite one, or KernelLogisticRegression",
        )
        most = problem.gram.n if self.max_points is None else self.max_points
        chosen, solution, path = import_vectors(problem, self.epsilon, self.lag, most, self.tol, self.max_iter or 100)
        self.solution_: FitSolution = replace(solution, coefficients=solution.coefficients[chosen])
        self.import_, self.objective_path_ = chosen, path
        self._keep(problem, basis, [solution])
        self.dual_coef_ = self.solution_.coefficients
        self.import_vectors_ = self.kernel_.domain.take(problem.gram.centres, chosen)
        return self
