"""Semi-supervised learning with any estimator of the library."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from .._array import compact, host, is_array
from .._errors import check_choice, is_gap, require_target, where
from ..context import current
from ..domains import take
from ..kernels import Kernel
from ..kernels.deformed import Deformed
from ..kernels.expression import as_kernel
from ..types import Array, Data, EstimatorLike
from ._base import Estimator, is_kernel_estimator
from ._delegation import Delegating, copy_tags, delegated, inner_has
from ._forms import instead_of_named


@dataclass(eq=False, repr=False)
class SemiSupervised(Delegating, MetaEstimatorMixin, Estimator):
    r"""Semi-supervised estimator: fits the labelled samples with a kernel deformed along all of them.

    .. math:: \min_f\; \sum_{i \text{ labelled}} \ell(y_i, f(x_i))
              + \tfrac{\alpha}{2} \Big(\|f\|_H^2 + \gamma\, f(X)^\top L^p f(X)\Big)

    with the loss and α of the estimator, and L the Laplacian of a graph on all samples.

    Parameters
    ----------
    estimator : classifier or regressor with a parameter `kernel`
        `SVC`, `KernelRidge`, `KernelLogisticRegression`, …, with any kernel but "precomputed". `gamma` and the like
        keep their meaning; data-driven parameters are resolved on all samples.
    graph, weight, power, laplacian
        The graph, γ, p and L: see `mercer.kernels.Deformed`.
    normalized : bool
        Whether to normalise the deformed kernel by the roots of k̃(x, x). These differ greatly between samples with many
        links and with few, which distorts the intercept if labels are few, and shrink as γ grows, so that C or alpha
        would need adjusting. False gives the penalty above.
    unlabelled : object
        Marks a missing label for a classifier: −1 as in scikit-learn, "-1" among text labels. NaN and None always mark
        a missing label; for a regressor they are the only marks.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator; `kernel_` is its kernel.
    labelled_ : array of shape (n_samples,)
        Whether each sample is labelled.
    transduction_ : array of shape (n_samples,)
        The given labels or values, and predictions elsewhere.
    classes_ : array
        The labels, for a classifier.

    Notes
    -----
    Equivalent to the estimator with ``kernel=mercer.deformed(kernel, X, …).normalized()`` on the labelled samples, or
    with ``normalized=False`` to ``kernel=mercer.deformed(kernel, X, …)``: then `KernelRidge` is Laplacian ridge
    regression, and `SVC` the Laplacian support vector machine.

    If the labels do not follow the graph, the default γ is harmful, especially with few labels. Compare it with other
    values, including 0, as in ``GridSearchCV(model, {"weight": [0, 1, 10, 100]})``. `score` ignores unlabelled samples,
    so y may contain missing labels.

    References
    ----------
    Belkin, Niyogi, Sindhwani, *Manifold regularization: a geometric framework for learning from labeled and unlabeled
    examples* (2006).

    Examples
    --------
    >>> from mercer import SVC
    >>> t = np.linspace(0, 5, 50)
    >>> X = np.concatenate([np.column_stack([t, 0 * t]), np.column_stack([t, 0 * t + 1])])
    >>> y = np.full(100, -1)
    >>> y[[0, 99]] = 0, 1  # one label in each of two rows of points
    >>> model = SemiSupervised(SVC(), graph=4).fit(X, y)
    >>> np.bincount(model.transduction_[:50]), np.bincount(model.transduction_[50:])
    (array([50]), array([ 0, 50]))
    """

    estimator: EstimatorLike
    _: KW_ONLY
    graph: Any = 6
    weight: float = 100.0
    power: int = 1
    laplacian: str = "normalized"
    normalized: bool = True
    unlabelled: Any = -1
    time_budget: float | None = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X, some of them labelled by y; weights of unlabelled samples are ignored."""
        inner = self._copy()
        check_choice(self, "normalized", self.normalized, (True, False))
        require_target(self, y)
        checked = inner._check_sample(X)
        n = inner.kernel_.domain.size(checked)
        self.labelled_ = self._has_label(y, n)
        known = np.flatnonzero(self.labelled_)
        checked = compact(inner.kernel_.domain.keep(checked, X))  # kept; in dense form if small
        inner.set_params(**self._bent(inner, checked))
        # keep a data frame as it is, so that the estimator sees its column names
        X = X if hasattr(X, "iloc") else checked
        labels = self._labels(y, known)
        weight = inner._check_weight(sample_weight, checked)
        routed = {} if weight is None else {"sample_weight": weight[known]}
        current().check()
        self.estimator_ = inner.fit(inner.kernel_.domain.take(X, known), labels, **routed)
        current().tell_of(self.estimator_)
        self.kernel_ = inner.kernel_
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        self.transduction_ = self._transduce(X, host(labels))
        return self

    @staticmethod
    def _labels(y: Array, known: np.ndarray) -> Any:
        values = host(y)
        return (
            np.array(values[known].tolist()) if values.dtype.kind == "O" else take(y if is_array(y) else values, known)
        )

    def _copy(self) -> Any:
        """An unfitted copy of the estimator; raises if its kernel cannot be replaced."""
        ours = is_kernel_estimator(self.estimator) and "kernel" in self.estimator.get_params(deep=False)
        if not ours or not (is_classifier(self.estimator) or is_regressor(self.estimator)):
            raise TypeError(
                f"{where(self)}: estimator = {self.estimator!r} must be a classifier or regressor of this library with "
                "a parameter `kernel`, such as SVC() or KernelRidge(); for others use the kernel mercer.deformed(…)."
            )
        return clone(self.estimator)

    def _bent(self, inner: Any, X: Any) -> dict[str, Any]:
        """Parameters that replace the kernel, or each of several, by its deformed version."""

        def bend(kernel: Kernel) -> Kernel:
            bent = Deformed(kernel, X, self.graph, self.weight, self.power, self.laplacian)
            return bent.normalized() if self.normalized else bent

        several = isinstance(inner.kernel, (list, tuple))
        kernel = [bend(as_kernel(k).resolve(X)) for k in inner.kernel] if several else bend(inner.kernel_)
        return instead_of_named(inner, kernel)

    def _has_label(self, y: Array, n: int) -> np.ndarray:
        values = host(y)
        if values.ndim not in (1, 2) or len(values) != n:
            raise ValueError(f"{where(self)}: X has {n} samples and y has shape {values.shape}; they must agree.")
        there = ~self._gaps(values)
        if not there.any():
            raise ValueError(f"{where(self)}: y holds no label; label at least some samples.")
        if is_classifier(self.estimator) and not there.all() and len(set(values[there].ravel().tolist())) == 1:
            raise ValueError(
                f"{where(self)}: all labelled samples belong to class {values[there].ravel().tolist()[0]!r}; label "
                f"others too, or if {self.unlabelled!r} is a class and not a missing label, change `unlabelled`."
            )
        return there

    def _gaps(self, values: np.ndarray) -> np.ndarray:
        """Which samples lack a label, or one of several."""
        classes, mark = is_classifier(self.estimator), self.unlabelled
        if values.dtype.kind == "U" and mark is not None:
            mark = str(mark)  # NumPy converts it to text in an array of text
        rows = values.reshape(len(values), -1)
        return np.array([any(is_gap(v) or (classes and v == mark) for v in row) for row in rows], dtype=bool)

    def _transduce(self, X: Data, labels: np.ndarray) -> np.ndarray:
        known, unknown = np.flatnonzero(self.labelled_), np.flatnonzero(~self.labelled_)
        if not len(unknown):
            return labels
        found = host(self.estimator_.predict(self.kernel_.domain.take(X, unknown)))
        both = np.concatenate([labels.reshape(len(known), *found.shape[1:]), found])
        return both[np.argsort(np.concatenate([known, unknown]))]

    # ---- methods of the estimator

    predict = delegated("predict", "The estimator's predictions at new points.")
    decision_function = delegated("decision_function", "The estimator's decision values at new points.")
    predict_proba = delegated("predict_proba", "The estimator's class probabilities at new points.")

    @inner_has("score")
    def score(self, X: Data, y: Array, sample_weight: Array = None) -> float:
        """The estimator's score, accuracy or R², on the labelled samples."""
        check_is_fitted(self)
        model, values = self.estimator_, host(y)
        known = np.flatnonzero(~self._gaps(values))
        if len(known) == len(values):
            return model.score(X, y, sample_weight)
        if not len(known):
            raise ValueError(f"{where(self)}: y holds no label to compare predictions with.")
        weight = None if sample_weight is None else host(sample_weight)[known]
        checked = X if hasattr(X, "iloc") else model._check_new(X)
        return model.score(model.kernel_.domain.take(checked, known), self._labels(y, known), weight)

    def __sklearn_tags__(self) -> Any:
        return copy_tags(super().__sklearn_tags__(), self.estimator, "input_tags")
