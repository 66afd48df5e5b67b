"""All continuous parameters of a kernel and the strength of its method, by the gradient of a criterion."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from itertools import combinations
from typing import Any, Self

import numpy as np
from scipy import optimize
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._array import host, on_host
from .._errors import check_choice, check_number, where
from .._random import generator
from ..basis import Polynomials, annihilated
from ..context import Context, Status, StoppedError
from ..gram import Dense
from ..kernels import Kernel
from ..methods import SVC, KernelRidge, LeastSquaresSVC
from ..methods._classifier import encode
from ..methods.base import with_kernel
from ..methods.svc import JOINT
from ..solvers.hyper import MARGIN, RIDGE, MarginCriterion, RidgeCriterion, contract
from ..solvers.hyper.margin import Machine
from ..types import Array, Data, EstimatorLike, RandomState

__all__ = ["KernelTuner"]

REACH = 1e5  # factor by which a parameter may move from its start, either way
SPREAD = 10.0  # the same of the starts that are drawn
FLAT = 1e-9  # of the criterion: a step that gains less ends the search
STATIONARY = 1e-3  # derivatives below this are small enough where steps gain nothing more
NEAR = 1e-6  # how near to a bound, in the logarithm of a parameter, counts as at it
NOWHERE = 1e-12  # derivatives below this are those of a criterion that is flat
ENDS = (Status.CONVERGED, Status.MAX_ITER, Status.NO_DESCENT)  # in SciPy's order
TINY = float(np.finfo(np.float64).tiny)


def _delegated(name: str) -> Callable[[Any], bool]:
    """Whether the estimator has a method, which is asked of the fitted one where there is one."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "best_estimator_", self.estimator), name)
        return True

    return check


class KernelTuner(CallbackSupportMixin, MetaEstimatorMixin, BaseEstimator):
    r"""Tunes all continuous parameters of a kernel, and alpha or C, by the exact gradient of a criterion.

    .. math:: \min_{\theta, \alpha}\; T(K_\theta, \alpha), \qquad \frac{\partial T}{\partial \theta} =
              \sum_{ij} \frac{\partial T}{\partial K_{ij}} \frac{\partial k_\theta(x_i, x_j)}{\partial \theta}

    Parameters are those of every part of a composite kernel: the lengthscales of each feature, the weights of a sum,
    the period of one factor. Their number hardly matters, since all derivatives together cost about as much as the
    criterion; a grid has as many axes.

    Parameters
    ----------
    estimator : KernelRidge, LeastSquaresSVC or SVC
        With an exact kernel matrix. Its parameters are where the search starts.
    criterion : str
        For ridge regression and least-squares machines

        =====================  ===================================================================================
        "leave_one_out"        the mean squared error of leaving each sample out ("auto")
        "gcv"                  generalised cross-validation, its form without leverages of single samples
        "marginal_likelihood"  of the Gaussian process with covariance k and noise variance alpha; the most decided,
                               where that model is right
        =====================  ===================================================================================

        and for `SVC`, summed over its pairs of classes (or classes against the rest)

        =====================  ===================================================================================
        "span"                 the fraction of errors when each sample is left out, by the span of the support
                               vectors, smoothed ("auto")
        "radius_margin"        in proportion to a bound of it, by the radius of the data and the margin; smoother, less
                               tight, and only with an offset
        =====================  ===================================================================================
    parameters : list of str, optional
        Which to tune, by their names in `best_estimator_`: "alpha" or "C", "kernel__lengthscale",
        "kernel__0__kernel__lengthscale". None: the strength, and all that the kernel has derivatives for.
    bounds : dict, optional
        (low, high) of some parameters. Others stay within a factor of 10⁵ of their start, if that is positive.
    n_restarts : int >= 0
        Further searches, from starts drawn within a factor of 10 of the given one. Criteria have several minima, of
        which more restarts find better ones.
    max_iter : int > 0
        Iterations of each search.
    tol : float > 0
        The search ends where no derivative in the logarithm of a parameter is larger: of the logarithm of the
        criterion, or of the log marginal likelihood.
    random_state : int, RandomState, Generator or None
        For the restarts.
    time_budget : float > 0, optional
        Seconds after which the best parameters so far are taken, with a warning; Ctrl-C does the same. The last fit
        comes on top.

    Attributes
    ----------
    best_estimator_ : estimator
        Fitted with the parameters found.
    best_params_ : dict
        These, by name.
    best_score_ : float
        The log marginal likelihood, or minus the value of the criterion.
    criterion_ : str
        Which "auto" chose.
    bounds_ : dict
        (low, high) of each parameter.
    history_ : list of arrays
        The score after each iteration of each search.
    converged_ : bool
        Whether `best_params_` are a stationary point: `slope_` is at most `tol`, or 10⁻³ where steps gain nothing more.
        It is False in a corner of the criterion.
    slope_ : float
        The largest derivative that is left there, of those that do not lead out of the bounds.
    message_ : str
        Why the best search ended.
    n_iter_, n_evaluations_ : int
        Iterations of all searches, and evaluations of the criterion.

    See Also
    --------
    KernelSearchCV : any score and any parameter, on a grid.
    KernelRidgeCV : alpha and a list of kernels by closed forms, any representation.

    Notes
    -----
    L-BFGS-B in the logarithms of the parameters that are positive (an array with entries of other signs is taken as it
    is), of the logarithm of the criterion, so that units of targets and inputs do not matter. A local minimum.
    Each evaluation costs O(n³) and a few n × n matrices; d lengthscales add O(n²d) and no matrix. For `SVC` it is a
    fit, started from the last one, and O(m³) for the m support vectors strictly between their bounds.

    With one weight too many, as of ``scale * k`` by leave-one-out, where only scale/alpha matters, parameters are not
    determined one by one, and nothing is lost.

    The span estimate is continuous but has corners, where a sample becomes a support vector or ceases to be one; of a
    search that ends in one, `converged_` is False. With the hinge there are many, so that there is another search from
    where one for the squared hinge, which is smoother, ends; tuning ``SVC(loss="squared_hinge")`` is the safer choice.
    For the hinge the radius–margin bound is that of Chung et al., for the squared hinge the classical one. It is about
    1 for a lengthscale of zero, where each sample is alone; where no better value is near, that is where it leads (with
    a warning). Errors are weighted by `sample_weight` and `class_weight`.

    Leaving out a sample that is there twice tells nothing: remove repeated rows, or use the marginal likelihood.

    The score of what was tuned is too good by what tuning gains: ``cross_val_score(KernelTuner(…), X, y)`` is honest.

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

    def __init__(
        self,
        estimator: EstimatorLike,
        *,
        criterion: str = "auto",
        parameters: Any = None,
        bounds: Any = None,
        n_restarts: int = 0,
        max_iter: int = 200,
        tol: float = 1e-5,
        random_state: RandomState = None,
        time_budget: float | None = None,
    ):
        self.estimator = estimator
        self.criterion = criterion
        self.parameters = parameters
        self.bounds = bounds
        self.n_restarts = n_restarts
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.time_budget = time_budget

    @with_callbacks
    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Tune, and fit the estimator with what was found to samples X and targets y."""
        check_number(self, "n_restarts", self.n_restarts, at_least=0, integer=True)
        check_number(self, "max_iter", self.max_iter, above=0, integer=True)
        check_number(self, "tol", self.tol, above=0)
        if self.time_budget is not None:
            check_number(self, "time_budget", self.time_budget, above=0)
        context = Context(self.time_budget, self)
        context.begin(None, X=X, y=y)
        form = _form(self, X, y, sample_weight, context)
        search = _Search(form, _Coordinates(self, form), context, self.max_iter, self.tol)
        with ThreadPoolExecutor(1) as pool:
            context.run(pool, lambda: search.run(self.n_restarts, generator(self.random_state)))
        self._keep(search)
        self.best_estimator_ = with_kernel(self.estimator, clone(form.kernel)).set_params(**self.best_params_)
        self.best_estimator_.fit(X, y, **({} if sample_weight is None else {"sample_weight": sample_weight}))
        context.close()
        if context.interrupted:
            raise KeyboardInterrupt
        return self

    def _keep(self, search: _Search) -> None:
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
            warnings.warn(
                f"{where(self)}: the search ended where no parameter changes the criterion, at {self.best_params_}: "
                "the kernel sees each sample alone, or all alike, or the targets are fitted whatever it is. Start from "
                "a lengthscale of the size of distances (lengthscale='median'), or use another criterion.",
                ConvergenceWarning,
                stacklevel=3,
            )
        if search.ended_early:
            warnings.warn(
                f"{where(self)}: the search ended early: {self.message_}. "
                f"{search.status.remedy('Raise max_iter or tol.')}",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ---- what the estimator answers

    @available_if(_delegated("predict"))
    def predict(self, X: Data, **params: Any) -> Any:
        """Of `best_estimator_`."""
        check_is_fitted(self)
        return self.best_estimator_.predict(X, **params)

    @available_if(_delegated("predict_proba"))
    def predict_proba(self, X: Data) -> Any:
        """Of `best_estimator_`."""
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_delegated("decision_function"))
    def decision_function(self, X: Data) -> Any:
        """Of `best_estimator_`."""
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    def score(self, X: Data, y: Array, sample_weight: Array = None) -> float:
        """Of `best_estimator_`: R², or the accuracy."""
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y, sample_weight))

    @property
    def classes_(self) -> Any:
        """The labels."""
        return self._of_best("classes_")

    @property
    def n_features_in_(self) -> int:
        """Columns of X in `fit`."""
        return self._of_best("n_features_in_")

    @property
    def feature_names_in_(self) -> Any:
        """Names of the columns of X in `fit`, where it has any."""
        return self._of_best("feature_names_in_")

    def _of_best(self, name: str) -> Any:
        if "best_estimator_" not in vars(self):
            raise AttributeError(f"{where(self)} has no {name}: it is not fitted.")
        return getattr(self.best_estimator_, name)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.target_tags, tags.input_tags = inner.target_tags, inner.input_tags
        return tags


# ---- the problem that an estimator stands for


class _Form:
    """A criterion of a kernel and a strength, where to start, and perhaps a smoother one that leads near a minimum."""

    def __init__(self, criterion: Any, kernel: Kernel, strength: float, X: Data, guide: Any = None):
        self.criterion, self.kernel, self.strength, self.guide = criterion, kernel, strength, guide
        self.X, self.dimension = X, kernel.domain.dimension(X)
        self.claim = kernel.definiteness_in(self.dimension)

    def kernel_with(self, values: dict[str, Any]) -> Kernel:
        """The kernel with other parameters, refused where it is out of range, or definite no more."""
        kernel = clone(self.kernel).set_params(**values)
        kernel.validate()
        claim = kernel.definiteness_in(self.dimension)
        if self.claim.is_cpd and not (claim.is_cpd and claim.order <= self.claim.order):
            raise ValueError(f"{kernel} is {claim}.")
        return kernel

    def __call__(self, criterion: Any, values: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """A criterion and its derivatives, with some parameters in place of those of the start."""
        inner = {name.removeprefix("kernel__"): v for name, v in values.items() if name.startswith("kernel__")}
        kernel = self.kernel_with(inner)
        strength = values.get(criterion.strength, self.strength)
        value, gradient = criterion(kernel, strength, frozenset(inner))
        own = {criterion.strength: gradient.pop(criterion.strength)}
        return value, own | {f"kernel__{name}": g for name, g in gradient.items()}


def _form(tuner: KernelTuner, X: Data, y: Array, sample_weight: Array, context: Context) -> _Form:
    model = clone(tuner.estimator)
    forms: dict[type, tuple[tuple[str, ...], Any]] = {
        KernelRidge: (RIDGE, _regression),
        LeastSquaresSVC: (RIDGE, _least_squares_machine),
        SVC: (MARGIN, _machines),
    }
    kind = next((cls for cls in forms if isinstance(model, cls)), None)
    if kind is None:
        raise TypeError(
            f"{where(tuner)}: estimator = {tuner.estimator!r} has no criterion with a gradient; give a KernelRidge, "
            "LeastSquaresSVC or SVC, or use KernelSearchCV."
        )
    if not (isinstance(model.gram, Dense) or (isinstance(model.gram, str) and model.gram in ("auto", "dense"))):
        raise ValueError(
            f"{where(tuner)}: gram = {model.gram!r} of the estimator approximates or never holds the matrix, of which "
            "the gradient is taken; use 'auto' or 'dense'."
        )
    names, make = forms[kind]
    check_choice(tuner, "criterion", tuner.criterion, ("auto", *names))
    name = names[0] if tuner.criterion == "auto" else tuner.criterion
    return make(model, name, X, y, sample_weight, context)


def _checked(model: EstimatorLike, X: Data, y: Array, **options: Any) -> tuple[Any, Any]:
    """Samples, in double precision where they are numbers, and targets, as a fit would check them."""
    X, y = model._check_fit(X, y, **options)
    if not on_host(X):
        raise TypeError(f"KernelTuner: X is a {type(X).__module__} array; give NumPy arrays.")
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X, y


def _regression(model: KernelRidge, name: str, X: Data, y: Array, sample_weight: Array, context: Context) -> _Form:
    X, y = _checked(model, X, y, multi_output=True, y_numeric=True)
    b = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    alpha = np.unique(model._check_alpha(b.shape[1]))
    if len(alpha) > 1 or not alpha[0] > 0:
        raise ValueError(
            f"KernelTuner: alpha = {model.alpha!r} of the estimator must be one number > 0, to start from."
        )
    basis = model._free_basis(X, model.free, model.fit_intercept)
    return _ridge(model, name, X, b, model._check_weight(sample_weight, X), basis, float(alpha[0]))


def _least_squares_machine(
    model: LeastSquaresSVC, name: str, X: Data, y: Array, sample_weight: Array, context: Context
) -> _Form:
    check_number(model, "alpha", model.alpha, above=0)
    X, y = _checked(model, X, y)
    target, weight = model._encode(y, model._check_weight(sample_weight, X), low=0.0)
    return _ridge(model, name, X, target.reshape(len(target), -1), weight, Polynomials(0), float(model.alpha))


def _ridge(model: EstimatorLike, name: str, X: Data, b: np.ndarray, weight: Array, basis: Any, alpha: float) -> _Form:
    model._require_definite(X, annihilated(basis))
    H = None if basis is None else np.asarray(basis(X), dtype=np.float64)
    X = model.kernel_.about(X).relative(X) if annihilated(basis) else X
    weight = None if weight is None else np.asarray(weight, dtype=np.float64)
    return _Form(RidgeCriterion(name, X, b, H, weight), model.kernel_, alpha, X)


def _machines(model: SVC, name: str, X: Data, y: Array, sample_weight: Array, context: Context) -> _Form:
    model._check_parameters()
    if np.isinf(model.C) or model.budget is not None or model.multi_class in JOINT:
        raise ValueError(
            "KernelTuner: a hard margin, a budget, or all classes at once have no bound with a gradient; give SVC a "
            "finite C to start from, and multi_class='ovo' or 'ovr'."
        )
    if name == "radius_margin" and not model.fit_intercept:
        raise ValueError("KernelTuner: criterion = 'radius_margin' needs an offset; use 'span' or fit_intercept=True.")
    X, y = _checked(model, X, y)
    model._prepare(X)
    X = model.kernel_.about(X).relative(X) if model.fit_intercept else X
    labels, weight = encode(model, y, model._check_weight(sample_weight, X), by_weight=False)
    used, k = weight > 0, len(model.classes_)
    against_rest = k > 2 and model.multi_class == "ovr"
    pairs = [(c, None) for c in range(k)] if against_rest else list(combinations(range(k), 2))
    machines = []
    for a, b in pairs:
        index = np.flatnonzero(used & ((labels == a) | (b is None) | (labels == b)))
        machines.append(Machine(index, np.where(labels[index] == a, 1.0, -1.0), weight[index]))

    def judged(squared: bool) -> MarginCriterion:
        return MarginCriterion(name, X, list(map(copy, machines)), squared, model.fit_intercept, context)

    squared = model.loss == "squared_hinge"
    # the span of the hinge has many corners, in which a search ends
    guide = judged(True) if name == "span" and not squared else None
    return _Form(judged(squared), model.kernel_, float(model.C), X, guide)


# ---- the search


class _Coordinates:
    """Parameters as one vector, in logarithms where they are positive at the start."""

    def __init__(self, tuner: KernelTuner, form: _Form):
        self.owner = tuner
        self.start = self._starts(form)
        if not self.start:
            raise ValueError(f"{where(tuner)}: parameters = {tuner.parameters!r} names nothing to tune.")
        self.sizes = [v.size for v in self.start.values()]
        flat = np.concatenate([v.ravel() for v in self.start.values()])
        self.positive = np.repeat([bool(np.all(v > 0)) for v in self.start.values()], self.sizes)
        low, high = np.full(flat.shape, -np.inf), np.full(flat.shape, np.inf)
        low[self.positive], high[self.positive] = flat[self.positive] / REACH, flat[self.positive] * REACH
        for name in [name for name, v in self.start.items() if v.ndim == 0 and v == 0 and not self._falls(form, name)]:
            low[self._place(name)] = 0.0
        for name, pair in (tuner.bounds or {}).items():
            place = self._place(name)
            low[place], high[place] = self._pair(name, pair, bool(self.positive[place].all()))
        self.limits = np.stack([low, high], axis=1)
        self.bounds = self._vector(low), self._vector(high)
        self.origin = np.clip(self._vector(flat), *self.bounds)

    def _starts(self, form: _Form) -> dict[str, np.ndarray]:
        """The parameters and their values, refusing those without a derivative."""
        asked, strength = self.owner.parameters, form.criterion.strength
        if isinstance(asked, str):
            raise TypeError(f"{where(self.owner)}: parameters = {asked!r} must be a list of names, or None.")
        wanted = None
        if asked is not None:
            wanted = frozenset(name.removeprefix("kernel__") for name in asked if name.startswith("kernel__"))
        try:
            n = form.kernel.domain.size(form.X)
            found = contract(form.kernel, form.X, np.zeros((n, n)), wanted)
        except AttributeError as error:
            raise ValueError(
                f"{where(self.owner)}: {error} Name the others to tune, as in parameters=[{strength!r}]."
            ) from None
        known = [strength, *(f"kernel__{name}" for name in found)]
        for name in known if asked is None else asked:
            if name not in known:
                raise ValueError(
                    f"{where(self.owner)}: parameters: {name!r} is none of those with a derivative for "
                    f"{form.kernel}; with parameters=None all of them are tuned."
                )
        given = {f"kernel__{name}": v for name, v in form.kernel.get_params().items()} | {strength: form.strength}
        return {n: np.asarray(host(given[n]), dtype=np.float64) for n in known if asked is None or n in asked}

    def _falls(self, form: _Form, name: str) -> bool:
        """Whether a parameter that is zero may be less."""
        try:
            form.kernel_with({name.removeprefix("kernel__"): -1e-6})
        except ValueError:
            return False
        return True

    def _place(self, name: str) -> slice:
        if name not in self.start:
            listed = ", ".join(map(repr, self.start))
            raise ValueError(f"{where(self.owner)}: bounds: {name!r} is not tuned; these are: {listed}.")
        before = sum(self.sizes[: list(self.start).index(name)])
        return slice(before, before + self.start[name].size)

    def _pair(self, name: str, pair: Any, positive: bool) -> tuple[float, float]:
        try:
            low, high = (float(v) for v in pair)
        except (TypeError, ValueError):
            low = high = np.nan
        if not (low < high and (low > 0 or not positive)):
            rule = "0 < low < high" if positive else "low < high"
            raise ValueError(f"{where(self.owner)}: bounds of {name!r} = {pair!r} must be two numbers, {rule}.")
        return low, high

    def _vector(self, flat: np.ndarray) -> np.ndarray:
        return np.where(self.positive, np.log(np.where(self.positive, flat, 1.0)), flat)

    def _flat(self, u: np.ndarray) -> np.ndarray:
        values = np.where(self.positive, np.exp(np.where(self.positive, u, 0.0)), u)
        for limit, bound in zip(self.limits.T, self.bounds, strict=True):
            values = np.where(u == bound, limit, values)  # which the logarithm has rounded
        return values

    def values(self, u: np.ndarray) -> dict[str, Any]:
        """The parameters that a vector stands for, by name."""
        parts = np.split(self._flat(u), np.cumsum(self.sizes)[:-1])
        shapes = zip(self.start.items(), parts, strict=True)
        return {name: part.reshape(v.shape) if v.ndim else float(part[0]) for (name, v), part in shapes}

    def slope(self, u: np.ndarray, gradient: dict[str, Any]) -> np.ndarray:
        """The derivatives in the vector, from those in the parameters."""
        flat = np.concatenate([np.ravel(gradient[name]) for name in self.start])
        return np.where(self.positive, self._flat(u) * flat, flat)

    def drawn(self, rng: np.random.Generator) -> np.ndarray:
        """Another start; what is not positive moves by as much as it is, or by one."""
        move = rng.uniform(-1, 1, size=len(self.origin))
        step = np.where(self.positive, np.log(SPREAD), np.maximum(np.abs(self.origin), 1.0))
        return np.clip(self.origin + move * step, *self.bounds)

    def named_bounds(self) -> dict[str, tuple[Any, Any]]:
        """(low, high) of each parameter."""
        named = {}
        for name, v in self.start.items():
            low, high = self.limits[self._place(name)].T
            named[name] = (low.reshape(v.shape), high.reshape(v.shape)) if v.ndim else (float(low[0]), float(high[0]))
        return named


class _Search:
    """Descents from several starts, and the best place that any of them has seen."""

    def __init__(self, form: _Form, coordinates: _Coordinates, context: Context, max_iter: int, tol: float):
        self.form, self.coordinates, self.context, self.max_iter, self.tol = form, coordinates, context, max_iter, tol
        self.place, self.lowest, self.slope = coordinates.origin, np.inf, np.inf
        self.status, self.flat, self.evaluations = Status.CONVERGED, False, 0
        self.history: list[list[float]] = []

    def score(self, value: Any) -> Any:
        """Of what is minimised, in the units of the criterion."""
        return -np.exp(value) if self.form.criterion.positive else -value

    def run(self, n_restarts: int, rng: np.random.Generator) -> None:
        """Descend from the given start and from drawn ones, and from where the guide leads from each."""
        try:
            self._evaluate(self.form.criterion, self.coordinates.origin)  # where the start is refused, this says why
            for k in range(1 + n_restarts):
                start = self.coordinates.drawn(rng) if k else self.coordinates.origin
                self._descend(self.form.criterion, start)
                if self.form.guide is not None:
                    self._descend(self.form.criterion, self._descend(self.form.guide, start))
        except StoppedError as stopped:
            self.status = stopped.status

    @property
    def ended_early(self) -> bool:
        """Whether more time or steps would have gained more."""
        return self.status not in (Status.CONVERGED, Status.NO_DESCENT)

    def _evaluate(self, criterion: Any, u: np.ndarray) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        refused: ValueError | None = None
        try:
            with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
                value, gradient = self.form(criterion, self.coordinates.values(u))
        except ValueError as error:
            refused = error
        status = self.context({"value": self.lowest})
        if status:  # a solver may have ended early for it, at whatever it had
            raise StoppedError(status)
        if refused is not None:
            raise refused
        slope = self.coordinates.slope(u, gradient)
        if not (np.isfinite(value) and np.all(np.isfinite(slope))):
            raise ValueError("the criterion is not finite.")
        if criterion.positive:
            value, slope = (np.log(value), slope / value) if value > TINY else (np.log(TINY), 0.0 * slope)
        if criterion is self.form.criterion and value < self.lowest:
            low, high = self.coordinates.bounds
            outward = ((u <= low + NEAR) & (slope > 0)) | ((u >= high - NEAR) & (slope < 0))
            self.place, self.lowest, self.flat = u.copy(), float(value), bool(np.abs(slope).max() <= NOWHERE)
            self.slope = float(np.abs(np.where(outward, 0.0, slope)).max())
        return float(value), slope

    def _descend(self, criterion: Any, start: np.ndarray) -> np.ndarray:
        """The best place seen from a start, which may be the start itself, where it is refused."""
        own, before = criterion is self.form.criterion, self.lowest
        best, barrier = (start, np.inf), 0.0
        history: list[float] = []

        def guarded(u: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal best, barrier
            try:
                value, slope = self._evaluate(criterion, u)
            except ValueError:  # a step too far: parameters out of range, or a matrix that is definite no more
                return barrier, np.zeros_like(u)
            if value < best[1]:
                best, barrier = (u.copy(), value), max(barrier, value + 1e3 * (1 + abs(value)))
            return value, slope

        if own:
            self.history.append(history)
        found = optimize.minimize(
            guarded,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=optimize.Bounds(*self.coordinates.bounds),
            callback=lambda intermediate_result: history.append(float(intermediate_result.fun)),
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": FLAT},
        )
        if own and (self.lowest < before or len(self.history) == 1):
            self.status = ENDS[int(found.status)]
        return best[0]
