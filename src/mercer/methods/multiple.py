"""Learning a combination of kernels for any estimator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_clusterer, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._array import host, namespace
from .._errors import INSTEAD, ONE_OR_NONE, POSITIVE, SWITCH, check_parameters, require_classes, require_target, where
from .._random import generator_of
from .._units import power_of_two
from ..context import current, warn_early
from ..gram import Gram, as_representation
from ..kernels import Kernel, KernelLike
from ..kernels.algebra import Translated
from ..solvers.multiple import (
    align,
    alignf,
    alignments,
    alternating,
    blockwise,
    consensus,
    inner_products,
    on_simplex,
    target_columns,
    variance,
)
from ..types import Array, Data, EstimatorLike
from ._base import KernelEstimator, classes_of
from ._delegation import Delegating, copy_tags, delegated, inner_has
from ._named_kernels import NamedKernels
from ._weighted import Weighted

ROUNDS = 200  # the default maximum
METHODS = ("auto", "uniform", "align", "alignf", "consensus", "alternate", "simplemkl", "lp", "easymkl")
BY_TARGETS = ("align", "alignf", "easymkl")
BY_OBJECTIVE = ("simplemkl", "lp")
BY_FITS = (*BY_OBJECTIVE, "easymkl", "alternate")


@dataclass(eq=False, repr=False)
class MultipleKernel(NamedKernels, Delegating, KernelEstimator):
    r"""Multiple kernel learning: an estimator with a learned sum of kernels.

    .. math:: k = \sum_{j=1}^m \mu_j\, \frac{k_j}{s_j}, \qquad \mu_j \ge 0,
              \qquad s_j = \frac1n \sum_i \lVert \varphi_j(x_i) - \bar\varphi_j \rVert^2

    Each kernel is divided by the variance of the sample in its feature space, so that weights of kernels in different
    units are comparable and rescaling a kernel has no effect.

    Parameters
    ----------
    estimator : estimator with a parameter `kernel`
        The method; its kernel is replaced by the combination.
    kernels : list or dict
        The kernels kⱼ: Kernel objects, names, expressions, or pairs ``(kernel, columns)``, where columns are indices
        into an array or names in a DataFrame, holding whatever the kernel accepts (numbers, text, labels). A dict names
        the kernels. Parameters are nested: ``kernels__0__lengthscale`` or, with names,
        ``kernels__colour__lengthscale``. Data-driven parameters are resolved on the training sample.
    method : {"auto", "uniform", "align", "alignf", "consensus", "alternate", "simplemkl", "lp", "easymkl"}
        How μ is chosen; see the table below. "auto" is "alignf" if the estimator uses targets, "alternate" if it
        clusters, and "consensus" otherwise.
    p : float >= 1, or inf
        The norm of "lp": for p = 1, μ is sparse, as with "simplemkl"; as p grows, all weights tend to 1.
    lam : float between 0 and 1
        The regularisation Λ of "easymkl": larger compares class means, smaller the nearest points of the classes.
    normalize : bool
        Whether to divide kernels by their variances; otherwise all sⱼ are 1.
    tol : float > 0
        "simplemkl" and "lp" stop at this duality gap, relative to ½‖f‖² (which is below the objective), and "alternate"
        when other weights would raise the alignment by at most this fraction.
    max_iter : int >= 1, optional
        Maximum number of rounds of these three; None means 200.
    time_budget : float > 0, optional
        Time limit in seconds; on expiry they start no further round.

    Attributes
    ----------
    weights_ : array of shape (m,)
        μ, independent of the kernels' units: of sum 1, or of p-norm 1 for "lp".
    scales_ : array of shape (m,)
        s.
    alignments_ : array of shape (m,)
        The centred alignment of each kernel with the targets; without targets, with the combination.
    kernel_ : Kernel
        The combination, without the kernels of weight 0.
    estimator_ : estimator
        The estimator, fitted with this kernel.
    method_ : str
        The method that was used.
    names_ : list of str
        Names of the kernels.
    descent_ : Descent
        Gap, rounds and message of "simplemkl", "lp" and "alternate".
    n_iter_ : int
        Number of rounds; 1 for the other methods.

    Notes
    -----
    ============  ======================================================================================================
    uniform       all weights equal
    align         μⱼ proportional to the centred alignment ρ(kⱼ, YYᵀ) with the targets, for each kernel separately
    alignf        the μ >= 0 that maximises ρ(k, YYᵀ), which allows for redundant kernels: a quadratic program in m
                  variables
    consensus     without targets: the compromise of STATIS, Kⱼ/‖Kⱼ‖ weighted by the leading eigenvector of all
                  ρ(kᵢ, kⱼ), so that a kernel's weight grows with its agreement with the others
    alternate     for clustering: "alignf" with the current clusters as targets, from equal weights, until it no longer
                  raises the alignment of k with its own clusters
    simplemkl     the μ of sum 1 that minimises the estimator's own objective: the problem of SimpleMKL, solved by
                  quasi-Newton steps instead of reduced gradients, which needs fewer fits
    lp            the same with ‖μ‖_p = 1, in rounds of closed-form updates
    easymkl       μⱼ proportional to the squared distance in the space of kⱼ between the nearest points of the classes'
                  (reduced) convex hulls in the sum of all kernels; summed over classes, one against the rest
    ============  ======================================================================================================

    Targets Y are one column per class, or the numbers themselves. "simplemkl" and "lp" need an estimator that minimises
    Σ wℓ + ½α‖f‖² for a convex loss, such as support vector machines, ridge, quantile and logistic regression; for
    several machines (pairs of classes, outputs) they minimise the sum of the objectives.

    Fitted attributes of the estimator (`classes_`, `labels_`, `support_`, …) are available here.

    The m matrices are computed once and combined. If the estimator's `gram` is low-rank, the factors are combined side
    by side, and no (n, n) matrix is formed. Alignment-based weights cost O(m²n²), or O(m²nr²), and read matrices that
    exceed memory by rows; the other methods cost one fit per round and keep all matrices (or factors) in memory.

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

    estimator: EstimatorLike
    kernels: Sequence[KernelLike]
    _: KW_ONLY
    method: str = "auto"
    p: float = 2.0
    lam: float = 0.1
    normalize: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    time_budget: float | None = None

    def _check_parameters(self) -> None:
        check_parameters(self, {"method": METHODS, "normalize": SWITCH, "lam": POSITIVE})
        check_parameters(self, {"p": {"at_least": 1, "besides": (np.inf,)}, "tol": POSITIVE, "max_iter": ONE_OR_NONE})
        if self.lam >= 1:
            raise ValueError(f"{where(self)}: lam = {self.lam!r} must be between 0 and 1.")
        if not isinstance(self.estimator, BaseEstimator) or "kernel" not in self.estimator.get_params(deep=False):
            raise TypeError(
                f"{where(self)}: estimator = {self.estimator!r} must be an estimator with a parameter `kernel`."
            )
        compares = getattr(self.estimator, "kernel_compares", "")
        if compares and getattr(self.estimator, "task", "") is not None:
            raise TypeError(f"{where(self)}: the kernel of {where(self.estimator)} compares {compares}.")

    def _chosen_method(self, y: Array) -> str:
        method: str = self.method
        if method == "auto":
            supervised = is_classifier(self.estimator) or is_regressor(self.estimator)
            supervised = supervised or get_tags(self.estimator).target_tags.required
            method = "alignf" if supervised else "alternate" if is_clusterer(self.estimator) else "consensus"
        if method in BY_TARGETS and y is None:
            raise ValueError(
                f"{where(self)} requires y to be passed, but the target y is None: method = {method!r} compares "
                "kernels with targets. Without targets, use 'consensus' or 'uniform'."
            )
        if method == "easymkl" and not self._labelled(y):
            raise ValueError(f"{where(self)}: method = 'easymkl' needs class labels, not a numeric y; use 'alignf'.")
        if method == "alternate" and not is_clusterer(self.estimator):
            raise ValueError(
                f"{where(self)}: method = 'alternate' needs a clustering estimator, and {where(self.estimator)} is not "
                "one; use 'alignf', or 'consensus' without y."
            )
        indefinite = [k for k in self.kernel_.kernels if k.definiteness.kind == "INDEFINITE"]
        if method in (*BY_OBJECTIVE, "easymkl") and indefinite:
            raise ValueError(
                f"{where(self)}: method = {method!r} compares norms, whose squares may be negative under the "
                f"indefinite kernel {indefinite[0]}. Instead, {INSTEAD}, or use 'alignf'."
            )
        if method in BY_OBJECTIVE and not self._minimises():
            raise ValueError(
                f"{where(self)}: method = {method!r} needs an estimator that minimises a regularised risk with a fixed "
                f"squared penalty; {where(self.estimator)} does not. Use 'alignf', or 'consensus' without y."
            )
        return method

    def _minimises(self) -> bool:
        fixed = getattr(self.estimator, "penalty", "squared") == "squared"
        return fixed and getattr(self.estimator, "minimises_risk", False)

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
            raise TypeError(f"{where(self)}: {where(self.estimator)} does not accept sample_weight; omit it.")
        kernels, self.names_ = list(self.kernel_.kernels), list(self._named())
        grams = self._grams(kernels, checked)
        near = self._near(kernels, grams, checked)
        held = all(gram.provides for gram in grams)
        if method in BY_FITS and not held:
            raise ValueError(self._too_large(len(grams), grams[0].n))
        scales = [variance(gram, weight) if self.normalize else 1.0 for gram in near]
        self.scales_ = np.array([s or 1.0 for s in scales])  # a kernel that is constant on the sample stays as it is
        problem = Weighted(self.estimator, kernels, grams, near, self.scales_, X, y, weight)
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
        """X and y checked; y is None if neither the estimator nor the method uses it."""
        required = get_tags(self.estimator).target_tags.required
        if required:
            require_target(self, y)
        if y is None or not (required or self.method in BY_TARGETS):
            return self._check_sample(X), None
        classifier = is_classifier(self.estimator)
        X, y = self._check_fit(X, y, multi_output=not classifier, y_numeric=is_regressor(self.estimator))
        if classifier:
            require_classes(self, classes_of(self, y)[0])
        return X, y

    def _grams(self, kernels: list[Kernel], X: Data) -> list[Gram]:
        """The kernels' Gram operators, represented as the estimator would; they share the memory of "auto"."""
        needs = "factor" if self.estimator._needs(self.kernel_.domain.size(X)) == "factor" else "matrix"
        representation = as_representation(getattr(self.estimator, "gram", "auto"), needs)
        representation, rng = representation.shared(len(kernels), X), generator_of(self.estimator)
        return [representation._build(kernel, X, rng) for kernel in kernels]

    def _near(self, kernels: list[Kernel], grams: list[Gram], X: Data) -> list[Gram]:
        """The Gram operators for free constants: about the mean of X if a kernel loses digits far from its origin."""
        if all(kernel.about(X) is kernel for kernel in kernels):
            return grams
        origin = host(namespace(X).mean(X, axis=0))
        slopes = [kernel.drift(origin) for kernel in kernels]
        moved = [i for i, slope in enumerate(slopes) if slope is not None and slope.any()]
        built = dict(zip(moved, self._grams([Translated(kernels[i], origin) for i in moved], X), strict=True))
        return [built.get(i, gram) for i, gram in enumerate(grams)]

    def _too_large(self, m: int, n: int) -> str:
        return (
            f"{where(self)}: method = {self.method_!r} combines {m} matrices of {n} × {n} repeatedly and needs them in "
            f"memory ({8e-9 * m * n * n:.2g} GB). Give the estimator a low-rank representation (gram='nystrom') or a "
            "larger budget (gram=mercer.gram.Auto(memory=...)), or use a method that reads them once: 'alignf', or "
            "'consensus' without y."
        )

    def _inner_products(self, grams: list[Gram], target: Array, weight: Array) -> tuple[np.ndarray, np.ndarray | None]:
        """⟨Kᵢ, Kⱼ⟩ of the scaled kernels and, if there are targets, ⟨Kᵢ, YYᵀ⟩/‖YYᵀ‖."""
        targets = []
        if target is not None:
            Y = target_columns(target, self._labelled(target))
            targets.append(Y / power_of_two(Y))  # whose unit cancels
        with np.errstate(over="ignore", invalid="ignore"):
            M = inner_products([*grams, *targets], weight, scales=[*self.scales_, *(1.0 for _ in targets)])
        if not np.isfinite(M).all():
            raise ValueError(
                f"{where(self)}: the squares of kernel values overflow; scale the data to mean 0 and variance 1, or "
                "use normalize=True."
            )
        m = len(grams)
        return M[:m, :m], None if target is None else M[:m, m] / (np.sqrt(M[m, m]) or 1.0)

    def _learn(self, method: str, M: np.ndarray, a: Array, problem: Weighted) -> np.ndarray:
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
            self.descent_ = on_simplex(problem.forms, m, self.tol, self.max_iter or ROUNDS)
        elif method == "alternate":
            self.descent_ = alternating(problem.partition, M, self.tol, self.max_iter or ROUNDS)
        else:
            self.descent_ = blockwise(problem.forms, m, float(self.p), self.tol, self.max_iter or ROUNDS)
        self.n_iter_ = max(1, self.descent_.n_iter)
        if not self.descent_.converged:
            left = f"the weights stopped at a relative duality gap of {self.descent_.gap:.2g} (tol = {self.tol:g})"
            advice = "Raise max_iter or tol, or lower the tolerance of the estimator."
            warn_early(self, left, self.descent_.status, advice)
        return self.descent_.weights

    # ---- methods of the fitted estimator

    def report(self) -> str:
        """A table of the kernels: weight, alignment and scale."""
        check_is_fitted(self)
        width = max(len("kernel"), *map(len, self.names_))
        lines = [f"{'kernel':<{width}}  weight  alignment      scale"]
        for name, mu, rho, s in zip(self.names_, self.weights_, self.alignments_, self.scales_, strict=True):
            lines.append(f"{name:<{width}}  {mu:6.3f}  {rho:9.3f}  {s:9.3g}")
        return "\n".join(lines)

    def __getattr__(self, name: str) -> Any:
        """Attributes of the fitted estimator: `classes_`, `labels_`, `support_`, …"""
        if name.endswith("_") and not name.startswith("_") and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fitted_form(self) -> Any:
        """The estimator with the learned kernel."""
        return self.estimator_

    predict = delegated("predict", "The predictions of the estimator.")
    decision_function = delegated("decision_function", "The decision function of the estimator.")
    predict_proba = delegated("predict_proba", "The probabilities of the estimator.")
    predict_log_proba = delegated("predict_log_proba", "The logarithms of the probabilities.")
    score_samples = delegated("score_samples", "The score of each sample.")
    transform = delegated("transform", "The features of the estimator.")
    inverse_transform = delegated("inverse_transform", "Samples from features, by the estimator's inverse transform.")

    @inner_has("score")
    def score(self, X: Data, y: Array = None, sample_weight: Array = None) -> float:
        """The score of the estimator."""
        check_is_fitted(self)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(self.estimator_.score(X, y, **options))

    @inner_has("fit_transform")
    def fit_transform(self, X: Data, y: Array = None, sample_weight: Array = None) -> Any:
        """Fit, and return the features of the training sample."""
        return self.fit(X, y, sample_weight).transform(X)

    @inner_has("fit_predict")
    def fit_predict(self, X: Data, y: Array = None, sample_weight: Array = None) -> Any:
        """Fit, and return the labels of the training sample."""
        fitted = self.fit(X, y, sample_weight).estimator_
        return fitted.labels_ if hasattr(fitted, "labels_") else fitted.predict(X)

    @inner_has("get_feature_names_out")
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the features of the estimator."""
        check_is_fitted(self)
        return self.estimator_.get_feature_names_out(input_features)

    @inner_has("set_output")
    def set_output(self, *, transform: str | None = None) -> Self:
        """Set the container of the features, as in scikit-learn: "default", "pandas" or "polars"."""
        for estimator in [self.estimator, *([self.estimator_] if hasattr(self, "estimator_") else [])]:
            estimator.set_output(transform=transform)
        return self

    def __sklearn_tags__(self) -> Any:
        return copy_tags(super().__sklearn_tags__(), self.estimator, "transformer_tags", "non_deterministic")
