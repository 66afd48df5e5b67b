"""Learning a combination of kernels, around any estimator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_clusterer, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._array import host, namespace
from .._errors import INSTEAD, check_choice, check_number, warn, where
from .._random import generator_of
from .._units import power_of_two
from ..context import current
from ..gram import Gram, as_representation
from ..gram.centered import CenteredGram
from ..gram.combined import Combined
from ..kernels import Kernel, KernelLike, Table, is_kernel
from ..kernels.algebra import Scaled, Sum, Translated
from ..kernels.expression import as_kernel
from ..solvers.multiple import (
    Descent,
    align,
    alignf,
    alignments,
    alternating,
    blockwise,
    consensus,
    inner_products,
    on_simplex,
    quadratic_forms,
    shares,
    target_columns,
    variance,
)
from ..types import Array, Data, EstimatorLike
from ._base import KernelEstimator, classes_of
from ._multitask import Multitask
from .cca import KernelCCA
from .dimension_reduction import KernelDimensionReduction
from .ica import KernelICA
from .logistic import ImportVectorMachine
from .lssvc import LeastSquaresSVC
from .machine import KernelMachine
from .ridge import KernelRidge
from .robust import RobustKernelRegression
from .svc import SVC
from .svr import SVR, NuSVR, OneClassSVM

METHODS = ("auto", "uniform", "align", "alignf", "consensus", "alternate", "simplemkl", "lp", "easymkl")
BY_TARGETS = ("align", "alignf", "easymkl")
BY_OBJECTIVE = ("simplemkl", "lp")
BY_FITS = (*BY_OBJECTIVE, "easymkl", "alternate")
# what minimises Σ wℓ + α/2 ‖f‖² for a convex loss and a fixed α (or C)
MINIMISERS = (
    SVC,
    SVR,
    NuSVR,
    OneClassSVM,
    KernelRidge,
    LeastSquaresSVC,
    KernelMachine,
)
BUT = (RobustKernelRegression, ImportVectorMachine)  # machines of losses that are not convex, and on chosen points only
ELSEWHERE = {  # what the kernel of a method compares, where that is not the samples
    KernelCCA: "samples of each of its views. Learn a kernel for each, as "
    "MultipleKernel(KernelPCA(), kernels).fit(view).kernel_, and list them",
    KernelICA: "values of its components; give it one kernel",
    KernelDimensionReduction: "projections of the samples; give it one kernel",
    Multitask: "samples apart from their tasks; use task=None, or give it one kernel",
}


def _inner_has(name: str) -> Any:
    """Whether the estimator has a method, fitted or not."""

    def check(self: MultipleKernel) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    return available_if(check)


class MultipleKernel(KernelEstimator):
    r"""A method in the space of a combination of kernels, whose weights are learned.

    .. math:: k = \sum_{j=1}^m \mu_j\, \frac{k_j}{s_j}, \qquad \mu_j \ge 0,
              \qquad s_j = \frac1n \sum_i \lVert \varphi_j(x_i) - \bar\varphi_j \rVert^2

    Each kernel is divided by the variance of the sample in its space, so that weights of kernels in different units can
    be compared, and a kernel multiplied by a number changes nothing.

    Parameters
    ----------
    estimator : estimator with a parameter `kernel`
        The method, with all its parameters but the kernel, which is replaced by the combination.
    kernels : list or dict
        The kernels kⱼ: Kernel objects, names, expressions, or pairs ``(kernel, columns)``: of places in an array, or of
        names in a DataFrame, of numbers, text or labels as the kernel takes them. A dict gives them names. Parameters
        of the objects are nested, ``kernels__0__lengthscale`` or, by names, ``kernels__colour__lengthscale``.
        Data-driven parameters are resolved on the training sample.
    method : {"auto", "uniform", "align", "alignf", "consensus", "alternate", "simplemkl", "lp", "easymkl"}
        How μ is found; see the table below. "auto" is "alignf" where the estimator has targets, "alternate" where it
        finds clusters, and "consensus" otherwise.
    p : float >= 1, or inf
        The norm of "lp": μ is sparse for 1, as of "simplemkl", and goes to 1 for all kernels as p grows.
    lam : float between 0 and 1
        The regularisation Λ of "easymkl": larger compares class means, smaller the nearest points of the classes.
    normalize : bool
        Whether kernels are divided by their variances; otherwise all sⱼ are 1.
    tol : float > 0
        "simplemkl" and "lp" stop at this duality gap, relative to ½‖f‖² (which is below the objective), and "alternate"
        where other weights would raise the alignment by no more than this part of it.
    max_iter : int >= 1
        Rounds at most of these three.
    time_budget : float > 0, optional
        Seconds after which they begin no other round.

    Attributes
    ----------
    weights_ : array of shape (m,)
        μ, free of the kernels' units: of sum 1, and of p-norm 1 for "lp".
    scales_ : array of shape (m,)
        s.
    alignments_ : array of shape (m,)
        The centred alignment of each kernel with the targets; without targets, with the combination.
    kernel_ : Kernel
        The combination, without the kernels of weight 0.
    estimator_ : estimator
        The method, fitted with it.
    method_ : str
        The method that was used.
    names_ : list of str
        Of the kernels.
    descent_ : Descent
        Gap, rounds and message of "simplemkl", "lp" and "alternate".
    n_iter_ : int
        The rounds; 1 for the other methods.

    Notes
    -----
    ============  ======================================================================================================
    uniform       all weights equal
    align         μⱼ proportional to the centred alignment ρ(kⱼ, YYᵀ) with the targets, each kernel for itself
    alignf        the μ >= 0 with the largest ρ(k, YYᵀ), which sees what kernels have in common: a quadratic program of
                  m variables
    consensus     without targets: the compromise of STATIS, Kⱼ/‖Kⱼ‖ weighted by the leading eigenvector of all
                  ρ(kᵢ, kⱼ), so that a kernel counts as far as the others agree with it
    alternate     of clusters: "alignf" with the clusters found so far for targets, from equal weights, until it no
                  longer raises the alignment of k with its own clusters
    simplemkl     the μ of sum 1 for which the estimator's own objective is least: the problem of SimpleMKL, by
                  quasi-Newton steps instead of reduced gradients, which takes fewer fits
    lp            the same for ‖μ‖_p = 1, in rounds of closed-form updates
    easymkl       μⱼ proportional to the squared distance in the space of kⱼ between the two points of the classes'
                  (reduced) hulls that are nearest in the sum of all; the sum over classes against the rest
    ============  ======================================================================================================

    Targets Y are a column for each class, or the numbers themselves. "simplemkl" and "lp" need a method that minimises
    Σ wℓ + ½α‖f‖² for a convex loss, as support vector machines, ridge, quantile and logistic regression do; with
    several machines (pairs of classes, outputs) the sum of their objectives is minimised.

    What the fitted estimator has learned (`classes_`, `labels_`, `support_`, …) are attributes as well.

    The m matrices are computed once and combined; with a low-rank `gram` of the estimator so are the factors, side by
    side, and no n × n matrix is made. The weights by alignment cost O(m²n²), or O(m²nr²), and read matrices that do not
    fit into memory by rows; the others cost a fit of the estimator a round and need what they combine in memory.

    References
    ----------
    Cortes, Mohri, Rostamizadeh, *Algorithms for learning kernels based on centered alignment* (2012); Rakotomamonjy,
    Bach, Canu, Grandvalet, *SimpleMKL* (2008); Kloft, Brefeld, Sonnenburg, Zien, *lp-norm multiple kernel learning*
    (2011); Aiolli, Donini, *EasyMKL: a scalable multiple kernel learning algorithm* (2015); Lavit, Escoufier, Sabatier,
    Traissac, *The ACT (STATIS method)* (1994).

    Examples
    --------
    >>> from mercer import SVC
    >>> X = np.random.default_rng(0).normal(size=(80, 3))
    >>> y = X[:, 0] ** 2 > 0.5  # the second and third columns are noise
    >>> model = MultipleKernel(SVC(C=10.0), {"signal": ("gaussian", [0]), "noise": ("gaussian", [1, 2])}).fit(X, y)
    >>> bool(model.weights_[0] > 0.9), model.score(X, y) > 0.9
    (True, True)
    """

    def __init__(
        self,
        estimator: EstimatorLike,
        kernels: Any,
        *,
        method: str = "auto",
        p: float = 2.0,
        lam: float = 0.1,
        normalize: bool = True,
        tol: float = 1e-3,
        max_iter: int = 200,
        time_budget: float | None = None,
    ):
        self.estimator = estimator
        self.kernels = kernels
        self.method = method
        self.p = p
        self.lam = lam
        self.normalize = normalize
        self.tol = tol
        self.max_iter = max_iter
        self.time_budget = time_budget

    # ---- parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params = super().get_params(deep)
        if deep and isinstance(self.kernels, (Mapping, list, tuple)) and len(self.kernels):
            for name, given in self._named().items():
                kernel = params[f"kernels__{name}"] = given[0] if isinstance(given, tuple) and given else given
                if is_kernel(kernel):
                    params |= {f"kernels__{name}__{key}": value for key, value in kernel.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        inner = {key: params.pop(key) for key in sorted(params) if key.startswith("kernels__")}
        super().set_params(**params)
        for key, value in inner.items():  # a whole kernel before its parameters
            name, _, rest = key.removeprefix("kernels__").partition("__")
            kernels: Any = dict(self.kernels) if isinstance(self.kernels, Mapping) else list(self.kernels)
            places = dict(
                zip(self._named(), kernels if isinstance(kernels, dict) else range(len(kernels)), strict=True)
            )
            if name not in places:
                raise ValueError(f"{where(self)}: {key!r} is no parameter; the kernels are {', '.join(places)}.")
            given = kernels[place := places[name]]
            kernel, *columns = given if isinstance(given, tuple) else (given,)
            kernel = as_kernel(kernel).set_params(**{rest: value}) if rest else value
            kernels[place] = (kernel, *columns) if columns else kernel
            self.kernels = kernels
        return self

    def _kernel(self, n_features: int) -> Kernel:
        return Sum([_base_kernel(self, k) for k in self._named().values()])

    def _named(self) -> dict[str, Any]:
        """The kernels under their names, in order."""
        if isinstance(self.kernels, Mapping):
            named = {str(name): kernel for name, kernel in self.kernels.items()}
        elif isinstance(self.kernels, (list, tuple)):
            named = {str(i): kernel for i, kernel in enumerate(self.kernels)}
        else:
            raise TypeError(f"{where(self)}: kernels = {self.kernels!r} must be a list of kernels, or a dict of names.")
        if not named:
            raise ValueError(f"{where(self)}: kernels is empty; give at least one kernel.")
        return named

    def _check_parameters(self) -> None:
        check_choice(self, "method", self.method, METHODS)
        check_choice(self, "normalize", self.normalize, (True, False))
        check_number(self, "p", self.p, at_least=1, besides=(np.inf,))
        check_number(self, "lam", self.lam, above=0)
        if self.lam >= 1:
            raise ValueError(f"{where(self)}: lam = {self.lam!r} must be between 0 and 1.")
        check_number(self, "tol", self.tol, above=0)
        check_number(self, "max_iter", self.max_iter, at_least=1, integer=True)
        if not isinstance(self.estimator, BaseEstimator) or "kernel" not in self.estimator.get_params(deep=False):
            raise TypeError(
                f"{where(self)}: estimator = {self.estimator!r} must be an estimator with a parameter `kernel`."
            )
        for cls, what in ELSEWHERE.items():
            if isinstance(self.estimator, cls) and getattr(self.estimator, "task", "") is not None:
                raise TypeError(f"{where(self)}: the kernel of {where(self.estimator)} compares {what}.")

    def _chosen_method(self, y: Array) -> str:
        method: str = self.method
        if method == "auto":
            supervised = is_classifier(self.estimator) or is_regressor(self.estimator)
            supervised = supervised or get_tags(self.estimator).target_tags.required
            method = "alignf" if supervised else "alternate" if is_clusterer(self.estimator) else "consensus"
        if method in BY_TARGETS and y is None:
            raise ValueError(
                f"{where(self)} requires y to be passed, but the target y is None: method = {method!r} compares "
                "kernels with targets. Without any, use 'consensus' or 'uniform'."
            )
        if method == "easymkl" and not self._labelled(y):
            raise ValueError(f"{where(self)}: method = 'easymkl' is for classes, and y holds numbers; use 'alignf'.")
        if method == "alternate" and not is_clusterer(self.estimator):
            raise ValueError(
                f"{where(self)}: method = 'alternate' is for estimators that find clusters, and "
                f"{where(self.estimator)} finds none; use 'alignf', or 'consensus' without y."
            )
        indefinite = [k for k in self.kernel_.kernels if k.definiteness.kind == "INDEFINITE"]
        if method in (*BY_OBJECTIVE, "easymkl") and indefinite:
            raise ValueError(
                f"{where(self)}: method = {method!r} compares norms, which under {indefinite[0]} need not be positive. "
                f"Instead, {INSTEAD}, or use 'alignf'."
            )
        if method in BY_OBJECTIVE and not self._minimises():
            raise ValueError(
                f"{where(self)}: method = {method!r} lowers the regularised risk that an estimator minimises; "
                f"{where(self.estimator)} minimises none of fixed strength. Use 'alignf', or 'consensus' without y."
            )
        return method

    def _minimises(self) -> bool:
        fixed = getattr(self.estimator, "penalty", "squared") == "squared"
        return fixed and isinstance(self.estimator, MINIMISERS) and not isinstance(self.estimator, BUT)

    def _labelled(self, y: Array) -> bool:
        if is_classifier(self.estimator) or is_regressor(self.estimator):
            return is_classifier(self.estimator)
        return not type_of_target(y).startswith("continuous")

    # ---- fitting

    def fit(self, X: Data, y: Array = None, sample_weight: Array = None) -> Self:
        """Learn the weights of the kernels from X (and targets y), and fit the estimator with the combination."""
        self._check_parameters()
        checked, target = self._checked(X, y)
        method = self.method_ = self._chosen_method(target)
        weight = self._check_weight(sample_weight, checked)
        if weight is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise TypeError(f"{where(self)}: {where(self.estimator)} has no use for sample_weight; leave it out.")
        kernels, self.names_ = list(self.kernel_.kernels), list(self._named())
        grams = self._grams(kernels, checked)
        near = self._near(kernels, grams, checked)
        held = all(gram.provides for gram in grams)
        if method in BY_FITS and not held:
            raise ValueError(self._too_large(len(grams), grams[0].n))
        scales = [variance(gram, weight) if self.normalize else 1.0 for gram in near]
        self.scales_ = np.array([s or 1.0 for s in scales])  # a kernel that is constant on the sample stays as it is
        problem = _Problem(self, kernels, grams, near, self.scales_, X, y, weight)
        M, a = self._inner_products(near, target, weight)
        self.weights_ = self._learn(method, M, a, problem)
        if a is None:
            a = M @ self.weights_ / np.sqrt(self.weights_ @ M @ self.weights_ or 1.0)
        self.alignments_ = alignments(M, a)
        self.kernel_ = problem.kernel(self.weights_)
        if method not in BY_FITS:
            current().check()
        self.estimator_ = problem.fitted(self.weights_, problem.combined(self.weights_) if held else None)
        return self

    def _checked(self, X: Data, y: Array) -> tuple[Any, Any]:
        """X and y checked; y is None where the estimator has no use for it and the method neither."""
        required = get_tags(self.estimator).target_tags.required
        if y is None and required:
            raise ValueError(f"{where(self)} requires y to be passed, but the target y is None.")
        if y is None or not (required or self.method in BY_TARGETS):
            return self._check_sample(X), None
        classifier = is_classifier(self.estimator)
        X, y = self._check_fit(X, y, multi_output=not classifier, y_numeric=is_regressor(self.estimator))
        if classifier:
            if len(classes_of(self, y)[0]) < 2:
                raise ValueError(f"{where(self)}: y holds one class; the number of classes has to be greater than one.")
        return X, y

    def _grams(self, kernels: list[Kernel], X: Data) -> list[Gram]:
        """The operators of the kernels, as the estimator would hold that of one; they share the memory of "auto"."""
        preferred = getattr(self.estimator, "_prefers_factor", False)
        representation = as_representation(getattr(self.estimator, "gram", "auto"), factor=preferred)
        representation, rng = representation.shared(len(kernels)), generator_of(self.estimator)
        return [representation.build(kernel, X, rng) for kernel in kernels]

    def _near(self, kernels: list[Kernel], grams: list[Gram], X: Data) -> list[Gram]:
        """The operators where constants are free: about the mean of X, if a kernel loses digits far from it."""
        if all(kernel.about(X) is kernel for kernel in kernels):
            return grams
        origin = host(namespace(X).mean(X, axis=0))
        slopes = [kernel.drift(origin) for kernel in kernels]
        moved = [i for i, slope in enumerate(slopes) if slope is not None and slope.any()]
        built = dict(zip(moved, self._grams([Translated(kernels[i], origin) for i in moved], X), strict=True))
        return [built.get(i, gram) for i, gram in enumerate(grams)]

    def _too_large(self, m: int, n: int) -> str:
        return (
            f"{where(self)}: method = {self.method_!r} combines {m} matrices of {n} × {n} again and again, and needs "
            f"them in memory ({8e-9 * m * n * n:.2g} GB). Give the estimator a low-rank representation "
            "(gram='nystrom') or a larger budget (gram=mercer.gram.Auto(memory=...)), or use a method that reads them "
            "once: 'alignf', or 'consensus' without y."
        )

    def _inner_products(self, grams: list[Gram], target: Array, weight: Array) -> tuple[np.ndarray, np.ndarray | None]:
        """⟨Kᵢ, Kⱼ⟩ of the kernels divided by their scales, and ⟨Kᵢ, YYᵀ⟩/‖YYᵀ‖ if there are targets."""
        targets = []
        if target is not None:
            Y = target_columns(target, self._labelled(target))
            targets.append(Y / power_of_two(Y))  # whose unit cancels
        with np.errstate(over="ignore", invalid="ignore"):
            M = inner_products([*grams, *targets], weight, scales=[*self.scales_, *(1.0 for _ in targets)])
        if not np.isfinite(M).all():
            raise ValueError(
                f"{where(self)}: the squares of kernel values are beyond the largest floating-point number; scale the "
                "data to mean 0 and variance 1, or use normalize=True."
            )
        m = len(grams)
        return M[:m, :m], None if target is None else M[:m, m] / (np.sqrt(M[m, m]) or 1.0)

    def _learn(self, method: str, M: np.ndarray, a: Array, problem: _Problem) -> np.ndarray:
        m, self.n_iter_ = len(M), 1
        self._forget("descent_")
        if method == "uniform":
            return np.full(m, 1.0 / m)
        if method == "consensus":
            return consensus(M)
        if method == "align":
            return align(M, a)
        if method == "alignf":
            return alignf(M, a)
        if method == "easymkl":
            return problem.hull_distances(self.lam)
        if method == "simplemkl":
            self.descent_ = on_simplex(problem.forms, m, self.tol, self.max_iter)
        elif method == "alternate":
            self.descent_ = alternating(problem.partition, M, self.tol, self.max_iter)
        else:
            self.descent_ = blockwise(problem.forms, m, float(self.p), self.tol, self.max_iter)
        self.n_iter_ = max(1, self.descent_.n_iter)
        self._report_descent(self.descent_)
        return self.descent_.weights

    def _report_descent(self, descent: Descent) -> None:
        if not descent.converged:
            advice = descent.status.remedy("Raise max_iter or tol, or lower the tolerance of the estimator.")
            warn(
                f"{where(self)}: the weights were left at a relative gap of {descent.gap:.2g} (tol = {self.tol:g}): "
                f"{descent.status}. {advice}",
                ConvergenceWarning,
            )

    # ---- what the fitted estimator does

    def report(self) -> str:
        """A table of the kernels: weight, alignment and scale."""
        check_is_fitted(self)
        width = max(len("kernel"), *map(len, self.names_))
        lines = [f"{'kernel':<{width}}  weight  alignment      scale"]
        for name, mu, rho, s in zip(self.names_, self.weights_, self.alignments_, self.scales_, strict=True):
            lines.append(f"{name:<{width}}  {mu:6.3f}  {rho:9.3f}  {s:9.3g}")
        return "\n".join(lines)

    def __getattr__(self, name: str) -> Any:
        """What the fitted estimator has learned: `classes_`, `labels_`, `support_`, …"""
        if name.endswith("_") and not name.startswith("_") and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _delegate(self, name: str, *args: Any, **options: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, name)(*args, **options)

    @_inner_has("predict")
    def predict(self, X: Data) -> Any:
        """What the estimator predicts."""
        return self._delegate("predict", X)

    @_inner_has("decision_function")
    def decision_function(self, X: Data) -> Any:
        """The decision function of the estimator."""
        return self._delegate("decision_function", X)

    @_inner_has("predict_proba")
    def predict_proba(self, X: Data) -> Any:
        """The probabilities of the estimator."""
        return self._delegate("predict_proba", X)

    @_inner_has("predict_log_proba")
    def predict_log_proba(self, X: Data) -> Any:
        """Their logarithms."""
        return self._delegate("predict_log_proba", X)

    @_inner_has("score_samples")
    def score_samples(self, X: Data) -> Any:
        """The scores of single samples."""
        return self._delegate("score_samples", X)

    @_inner_has("transform")
    def transform(self, X: Data) -> Any:
        """The features of the estimator."""
        return self._delegate("transform", X)

    @_inner_has("inverse_transform")
    def inverse_transform(self, X: Data) -> Any:
        """Back from features to samples, as the estimator does it."""
        return self._delegate("inverse_transform", X)

    @_inner_has("score")
    def score(self, X: Data, y: Array = None, sample_weight: Array = None) -> float:
        """The score of the estimator."""
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self._delegate("score", X, y, **options))

    @_inner_has("fit_transform")
    def fit_transform(self, X: Data, y: Array = None, sample_weight: Array = None) -> Any:
        """The features of the sample itself."""
        return self.fit(X, y, sample_weight).transform(X)

    @_inner_has("fit_predict")
    def fit_predict(self, X: Data, y: Array = None, sample_weight: Array = None) -> Any:
        """The labels of the sample itself."""
        fitted = self.fit(X, y, sample_weight).estimator_
        return fitted.labels_ if hasattr(fitted, "labels_") else fitted.predict(X)

    @_inner_has("get_feature_names_out")
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the features of the estimator."""
        return self._delegate("get_feature_names_out", input_features)

    @_inner_has("set_output")
    def set_output(self, *, transform: str | None = None) -> Self:
        """The container of the features, as scikit-learn's "default", "pandas" or "polars"."""
        for estimator in [self.estimator, *([self.estimator_] if hasattr(self, "estimator_") else [])]:
            estimator.set_output(transform=transform)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        for name in ("estimator_type", "target_tags", "transformer_tags", "classifier_tags", "regressor_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.non_deterministic = inner.non_deterministic
        return tags


class _Problem:
    """The estimator on one sample, as a function of the weights."""

    def __init__(
        self,
        model: MultipleKernel,
        kernels: list[Kernel],
        grams: list[Gram],
        near: list[Gram],
        scales: np.ndarray,
        X: Data,
        y: Array,
        weight: Array,
    ):
        self.model, self.kernels, self.grams, self.near, self.scales = model, kernels, grams, near, scales
        self.X, self.y = X, y
        self.unit = power_of_two(host(y)) if is_regressor(model.estimator) else 1.0
        self.weight, self.options = weight, {} if weight is None else {"sample_weight": weight}

    def kernel(self, mu: np.ndarray) -> Kernel:
        """Σ μⱼ kⱼ/sⱼ, without the kernels of weight 0."""
        pairs = zip(self.kernels, mu / self.scales, strict=True)
        terms: list[Kernel] = [Scaled(kernel, float(c)) for kernel, c in pairs if c > 0]
        return terms[0] if len(terms) == 1 else Sum(terms)

    def fitted(self, mu: np.ndarray, representation: Any, estimator: EstimatorLike = None) -> Any:
        """The estimator fitted with weights μ, from operators that are there (None: as its parameters say)."""
        model = clone(self.model.estimator if estimator is None else estimator)
        own = model.get_params(deep=False).get("gram")
        model.set_params(kernel=self.kernel(mu))
        with current().sheltered():
            if own is None or representation is None:
                return model.fit(self.X, self.y, **self.options)
            model.set_params(gram=representation).fit(self.X, self.y, **self.options)
        return model.set_params(gram=own)  # the operators are not kept

    def combined(self, mu: np.ndarray) -> Combined:
        """The operator with weights μ."""
        return Combined(self.grams, mu / self.scales, None if self.near is self.grams else self.near)

    def coefficients(self, mu: np.ndarray, estimator: EstimatorLike = None) -> tuple[Sequence[Gram], np.ndarray]:
        """Those of the fitted functions, on the whole sample: a column for each; and the operators used for them."""
        representation = self.combined(mu)
        self.fitted(mu, representation, estimator)
        A = np.asarray(host(representation.expanded_), dtype=np.float64)
        return representation.grams_, A.reshape(len(A), -1)

    def forms(self, mu: np.ndarray) -> np.ndarray:
        """aᵀKⱼa for the normalised kernels: minus the derivatives of the objective, but for the factor α/2."""
        grams, A = self.coefficients(mu)
        alpha = np.atleast_1d(np.asarray(getattr(self.model.estimator, "alpha", 1.0), dtype=np.float64))
        if len(alpha) > 1:  # a penalty for each output
            A = A * np.sqrt(alpha / alpha.max())
        return quadratic_forms(grams, A / self.unit) / self.scales

    def partition(self, mu: np.ndarray) -> np.ndarray:
        """⟨Kⱼ, P⟩ for the projection P onto the indicators of the clusters at μ: the scatter between them."""
        labels = self.fitted(mu, self.combined(mu)).labels_
        w = shares(len(labels), self.weight)
        member = w[:, None] * target_columns(labels, classes=True)
        member = member[:, member.sum(axis=0) > 0]
        centred = [CenteredGram(gram, w) for gram in self.near]
        return quadratic_forms(centred, member / np.sqrt(member.sum(axis=0))) / self.scales

    def hull_distances(self, lam: float) -> np.ndarray:
        r"""The weights of EasyMKL.

        The problem :math:`\min_\gamma (1 - \Lambda)\, \gamma^\top Y K Y \gamma + \Lambda \lVert \gamma \rVert^2` over
        distributions γ on each of two classes is, up to a factor of γ, the dual of the squared hinge at
        :math:`C = (1 - \Lambda) / 2 \Lambda`.
        """
        machine = SVC(C=(1 - lam) / (2 * lam), loss="squared_hinge", multi_class="ovr", tol=1e-6)
        grams, A = self.coefficients(np.ones(len(self.grams)), machine)
        gamma = 2 * A / np.abs(A).sum(axis=0)
        forms = quadratic_forms(grams, gamma) / self.scales
        return np.asarray(forms / forms.sum())


def _base_kernel(owner: object, kernel: KernelLike) -> Kernel:
    """A kernel, its text, or a pair of it and columns: places in an array, or names in a table."""
    if not isinstance(kernel, tuple):
        return as_kernel(kernel, "kernels")
    if len(kernel) != 2:
        raise TypeError(f"{where(owner)}: kernels holds {kernel!r}; a pair is (kernel, columns).")
    inner, columns = as_kernel(kernel[0], "kernels"), kernel[1]
    names = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, (list, tuple)) else []
    if names and all(isinstance(name, str) for name in names):
        return Table({tuple(names) if len(names) > 1 else names[0]: inner}, combine="sum")
    return inner.on(columns)
