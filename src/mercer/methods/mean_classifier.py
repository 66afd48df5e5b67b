"""The simplest kernel classifier: the nearest class mean in feature space."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from .._array import host, is_numpy, like, namespace
from .._errors import where
from ..context import current
from ..gram import GramLike
from ..kernels import KernelLike
from ..types import Array, Data, RandomState
from ._base import KernelEstimator, classes_of


class KernelMeanClassifier(ClassifierMixin, KernelEstimator):
    r"""Nearest class mean in feature space.

    .. math:: g(x) = \langle \mu_+ - \mu_-,\, \varphi(x) - \tfrac12(\mu_+ + \mu_-) \rangle
              = \sum_i \alpha_i k(x_i, x) + b, \qquad \alpha_i = \pm 1/n_\pm,\quad
              b = \tfrac12 (\|\mu_-\|^2 - \|\mu_+\|^2)

    With more classes, :math:`g_c(x) = \langle \mu_c, \varphi(x) \rangle - \tfrac12 \|\mu_c\|^2` and the largest wins.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Positive definite, or conditionally so of order 1 (distances to means need no more).
    gram : str or Representation
        How the kernel matrix is held or approximated.
    random_state : int, RandomState, Generator or None
        For representations that draw.
    time_budget : float > 0, optional
        Seconds after which the fit ends: with the best so far and a warning, or, if there is none yet, with an error.

    Attributes
    ----------
    classes_ : array
    dual_coef_ : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        α.
    intercept_ : float, or array of shape (n_classes,)
        b.
    function_ : Function
        Σ αᵢ k(xᵢ, ·), the difference of the means for two classes; far from the origin of the kernel about the sample
        (`Kernel.about`), as b then is.
    kernel_, gram_choice_
        As in `KernelRidge`.

    Notes
    -----
    No training beyond ‖μ_c‖², O(n²) once (``gram="lazy"`` holds no matrix); nothing to tune but the kernel. A baseline
    that a tuned method should beat.

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), section 1.2.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [4.0], [5.0]])
    >>> model = KernelMeanClassifier(kernel="linear").fit(X, ["low", "low", "high", "high"])
    >>> model.predict([[2.0], [3.5]])
    array(['low', 'high'], dtype='<U4')
    """

    def __init__(
        self,
        kernel: KernelLike = "gaussian(lengthscale='median')",
        *,
        gram: GramLike = "auto",
        random_state: RandomState = None,
        time_budget: float | None = None,
    ):
        self.kernel = kernel
        self.gram = gram
        self.random_state = random_state
        self.time_budget = time_budget

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X with labels y; weights weigh the means."""
        X, y = self._check_fit(X, y)
        classes, labels = classes_of(self, y)
        weight = self._check_weight(sample_weight, X)
        self._require_definite(X, 1)
        present = np.bincount(labels, weight) > 0
        self.classes_ = classes[present]
        if len(self.classes_) < 2:
            raise ValueError(
                f"{where(self)}: y holds one class, {self.classes_.tolist()[0]!r}; a classifier needs at least two."
            )
        member = (labels[:, None] == np.flatnonzero(present)).astype(np.float64)
        if weight is not None:
            member *= weight[:, None]
        totals = member.sum(axis=0)
        gram = self._build(X, constants=True)
        A = like(member / totals, gram.like)
        xp = namespace(A)
        current().check()
        self.squared_norms_ = xp.sum(A * (gram @ A), axis=0)
        b = -self.squared_norms_ / 2
        if len(self.classes_) == 2:
            A, b = A[:, 1] - A[:, 0], float(b[1] - b[0])
        self.dual_coef_, self.intercept_ = A, b
        self.function_ = self._function(gram, A)
        return self

    def decision_function(self, X: Data) -> Any:
        """g(x): one value for two classes (positive for ``classes_[1]``), else one per class."""
        X = self._check_new(X)
        return self.function_(X) + self.intercept_

    def predict(self, X: Data) -> Any:
        """The label of the nearest mean."""
        values = self.decision_function(X)
        g, xp = host(values), namespace(values)
        labels = self.classes_[(g >= 0).astype(int) if g.ndim == 1 else g.argmax(axis=1)]
        return labels if is_numpy(xp) else like(labels, values, dtype=getattr(xp, labels.dtype.name))
