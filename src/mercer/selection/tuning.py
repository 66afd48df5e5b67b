"""Tuning of continuous kernel parameters and of the regularisation by the gradient of a criterion."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .._errors import check_choice, check_number, is_one_of, warn, where
from .._random import generator
from ..context import Context, kept, warn_early
from ..methods._delegation import copy_tags, delegated, inner_has
from ..methods.base import with_kernel
from ..solvers.hyper import Objective
from ..types import Array, Data, EstimatorLike, RandomState
from ._descent import Coordinates, Search

STATIONARY = 1e-3  # derivatives below this count as zero if no step improves the criterion


@dataclass(eq=False, repr=False)
class KernelTuner(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Tunes all continuous parameters of a kernel, and alpha or C, by the exact gradient of a criterion.

    .. math:: \min_{\theta, \alpha}\; T(K_\theta, \alpha), \qquad \frac{\partial T}{\partial \theta} =
              \sum_{ij} \frac{\partial T}{\partial K_{ij}} \frac{\partial k_\theta(x_i, x_j)}{\partial \theta}

    It tunes the parameters of every part of a composite kernel: the lengthscale of each feature, the weights of a sum,
    the period of a factor. Their number hardly matters, since all derivatives together cost about as much as the
    criterion, whereas a grid needs one axis for each.

    Parameters
    ----------
    estimator : KernelRidge, LeastSquaresSVC or SVC
        Must use an exact kernel matrix. The search starts from its parameters.
    criterion : str
        For ridge regression and least-squares machines

        =====================  ===================================================================================
        "loo"                  the mean squared leave-one-out error ("auto")
        "gcv"                  generalised cross-validation, "loo" with the mean leverage
        "marginal_likelihood"  of the Gaussian process with covariance k and noise variance alpha; the sharpest
                               criterion if that model is correct
        =====================  ===================================================================================

        and for `SVC`, summed over its pairs of classes (or classes against the rest)

        =====================  ===================================================================================
        "span"                 the fraction of leave-one-out errors, estimated by the span of the support vectors and
                               smoothed ("auto")
        "radius_margin"        proportional to a bound on it, from the radius of the data and the margin; smoother,
                               less tight, and only with an offset
        =====================  ===================================================================================
    parameters : list of str, optional
        Parameters to tune, by their names in `best_estimator_`: "alpha" or "C", "kernel__lengthscale",
        "kernel__0__kernel__lengthscale". None: alpha or C, and every kernel parameter with a derivative.
    bounds : dict, optional
        (low, high) for some parameters. Others stay within a factor of 10⁵ of their start, if it is positive.
    n_init : int >= 1
        Number of searches: the first from the given start, the others from random starts within a factor of 10 of it.
        Criteria have several minima, and more searches find better ones.
    max_iter : int >= 1, optional
        Maximum number of iterations of each search; None means 200.
    tol : float > 0
        A search converges when no derivative in the logarithm of a parameter is larger: of the logarithm of the
        criterion, or of the log marginal likelihood.
    random_state : int, RandomState, Generator or None
        For the random starts.
    time_budget : float > 0, optional
        Time limit in seconds. When it expires, or on Ctrl-C, the best parameters so far are used, with a warning. The
        final fit is not included.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted with the best parameters.
    best_params_ : dict
        The best parameters, by name.
    best_score_ : float
        The log marginal likelihood, or minus the value of the criterion.
    criterion_ : str
        The criterion, with "auto" resolved.
    bounds_ : dict
        (low, high) for each parameter.
    history_ : list of arrays
        The score after each iteration of each search.
    converged_ : bool
        Whether `best_params_` is a stationary point: `slope_` is at most `tol`, or 10⁻³ if no step improves the
        criterion. It is False at a kink of the criterion.
    slope_ : float
        The largest remaining derivative, ignoring those that point out of the bounds.
    message_ : str
        Why the best search ended.
    n_iter_, n_evaluations_ : int
        Total numbers of iterations and of criterion evaluations.

    See Also
    --------
    KernelSearchCV : Any score and any parameter, on a grid.
    KernelRidgeCV : alpha and a list of kernels by closed forms, with any representation.

    Notes
    -----
    L-BFGS-B minimises the logarithm of the criterion over the logarithms of the positive parameters (arrays with
    entries of other signs are not transformed), so that the units of targets and inputs do not matter. It finds a
    local minimum. Each evaluation costs O(n³) and a few (n, n) matrices; d lengthscales add O(n²d) and no matrix. For
    `SVC` an evaluation is a fit with a warm start, plus O(m³) for the m support vectors strictly between their bounds.

    Redundant parameters are harmless: with "loo", ``scale * k`` and alpha matter only through scale/alpha, so the
    search determines their ratio but not each of them.

    The span estimate is continuous but has kinks, where a sample becomes a support vector or stops being one. A
    search that ends at a kink has `converged_` False. The hinge has many kinks, so a second search starts from the
    minimum for the squared hinge, which is smoother; tuning ``SVC(loss="squared_hinge")`` is the safer choice. The
    radius–margin bound is that of Chung et al. for the hinge and the classical one for the squared hinge. It is about 1
    at a lengthscale of zero, where each sample is similar only to itself; without a better value nearby, the search
    ends there, with a warning. `sample_weight` and `class_weight` weight the errors.

    If a row occurs twice, leaving one out leaves the other, and the leave-one-out error is too low: remove repeated
    rows, or use the marginal likelihood.

    The score of the tuned parameters is optimistic; ``cross_val_score(KernelTuner(…), X, y)`` is not.

    References
    ----------
    Chapelle, Vapnik, Bousquet, Mukherjee, *Choosing multiple parameters for support vector machines* (2002). Chung,
    Kao, Sun, Wang, Lin, *Radius margin bounds for support vector machines with the RBF kernel* (2003). Sundararajan,
    Keerthi, *Predictive approaches for choosing hyperparameters in Gaussian processes* (2001). Rasmussen, Williams,
    *Gaussian Processes for Machine Learning* (2006). Zhu, Byrd, Lu, Nocedal, *L-BFGS-B* (1997).

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.kernels import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-2, 2, size=(80, 3))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> tuner = KernelTuner(KernelRidge(0.1, kernel=Gaussian(np.ones(3)))).fit(X, y)
    >>> length = tuner.best_params_["kernel__lengthscale"]
    >>> bool(length[0] < 3), bool(length[1:].min() > 10)  # the others do not matter
    (True, True)
    >>> bool(abs(tuner.predict([[0.5, 0.0, 0.0]])[0] - np.sin(1)) < 0.1)
    True
    """

    estimator: EstimatorLike
    _: KW_ONLY
    criterion: str = "auto"
    parameters: Any = None
    bounds: Any = None
    n_init: int = 1
    max_iter: int | None = None
    tol: float = 1e-5
    random_state: RandomState = None
    time_budget: float | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Also accept earlier versions, which had n_restarts = n_init − 1 and spelt "loo" as "leave_one_out"."""
        state = dict(state)
        if "n_restarts" in state:
            state["n_init"] = 1 + state.pop("n_restarts")
        if is_one_of(state.get("criterion"), ("leave_one_out",)):
            state["criterion"] = "loo"
        super().__setstate__(state)

    @kept
    @with_callbacks
    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Tune the parameters on samples X and targets y, and refit the estimator with the best."""
        check_number(self, "n_init", self.n_init, at_least=1, integer=True)
        check_number(self, "max_iter", self.max_iter, at_least=1, integer=True, besides=(None,))
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "time_budget", self.time_budget, above=0, besides=(None,))
        context = Context(self.time_budget, self)
        context.begin(None, X=X, y=y)
        form = self._objective(X, y, sample_weight, context)
        search = Search(form, Coordinates(self, form), context, self.max_iter or 200, self.tol)
        with ThreadPoolExecutor(1) as pool:
            context.run(pool, lambda: search.run(self.n_init, generator(self.random_state)))
        self._keep(search)
        self.best_estimator_ = with_kernel(self.estimator, clone(form.kernel)).set_params(**self.best_params_)
        self.best_estimator_.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        context.close()
        if context.interrupted:
            raise KeyboardInterrupt
        return self

    def _objective(self, X: Data, y: Array, sample_weight: Array, context: Context) -> Objective:
        names = getattr(self.estimator, "criteria", ())
        if not names:
            raise TypeError(
                f"{where(self)}: estimator = {self.estimator!r} has no criterion with a gradient; pass a KernelRidge, "
                "LeastSquaresSVC or SVC, or use KernelSearchCV."
            )
        check_choice(self, "criterion", self.criterion, ("auto", *names))
        name = names[0] if self.criterion == "auto" else self.criterion
        return clone(self.estimator).tuning_objective(name, X, y, sample_weight, context)

    def _keep(self, search: Search) -> None:
        coordinates = search.coordinates
        self.criterion_ = search.form.criterion.name
        self.best_params_ = coordinates.values(search.place)
        self.best_score_ = search.score(search.lowest)
        self.bounds_ = coordinates.named_bounds()
        self.history_ = [search.score(np.array(values)) for values in search.history]
        self.slope_, self.message_ = search.slope, str(search.status)
        self.converged_ = self.slope_ <= (self.tol if search.ended_early else max(self.tol, STATIONARY))
        self.n_iter_, self.n_evaluations_ = sum(map(len, search.history)), search.evaluations
        if search.flat:
            warn(
                f"{where(self)}: the search ended where no parameter changes the criterion, at {self.best_params_}: "
                "with this kernel no two samples are similar, or all are, or any kernel fits the targets. Start from a "
                "lengthscale comparable to the distances (lengthscale='median'), or use another criterion.",
                ConvergenceWarning,
            )
        if search.ended_early:
            warn_early(self, "the search ended early", search.status, "Raise max_iter or tol.")

    # ---- methods of the best estimator

    @inner_has("predict", "best_estimator_")
    def predict(self, X: Data, **params: Any) -> Any:
        """Predictions of `best_estimator_`."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, **params)

    predict_proba = delegated("predict_proba", "Class probabilities of `best_estimator_`.", "best_estimator_")
    decision_function = delegated("decision_function", "Decision values of `best_estimator_`.", "best_estimator_")

    def score(self, X: Data, y: Array, sample_weight: Array = None) -> float:
        """The score of `best_estimator_`: R² or accuracy."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, sample_weight))

    @property
    def classes_(self) -> Any:
        """The class labels."""
        return self._of_best("classes_")

    @property
    def n_features_in_(self) -> int:
        """Number of columns of X in `fit`."""
        return self._of_best("n_features_in_")

    @property
    def feature_names_in_(self) -> Any:
        """Column names of X in `fit`, if any."""
        return self._of_best("feature_names_in_")

    def _of_best(self, name: str) -> Any:
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"{where(self)} has no {name}: it is not fitted.")
        return getattr(self.best_estimator_, name)

    def __sklearn_tags__(self) -> Any:
        return copy_tags(super().__sklearn_tags__(), self.estimator, "input_tags")
