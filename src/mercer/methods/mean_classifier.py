"""The simplest kernel classifier: the nearest class mean in feature space."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from .._array import host, like, namespace
from .._errors import require_classes
from ..basis import Polynomials
from ..context import current
from ..gram import GramLike
from ..kernels import KernelLike
from ..space import Function
from ..types import Array, Data, RandomState
from ._base import classes_of
from ._predictors import DecisionClassifier


@dataclass(eq=False, repr=False)
class KernelMeanClassifier(DecisionClassifier):
    r"""Nearest class mean in feature space.

    .. math:: g(x) = \langle \mu_+ - \mu_-,\, \varphi(x) - \tfrac12(\mu_+ + \mu_-) \rangle
              = \sum_i \alpha_i k(x_i, x) + b, \qquad \alpha_i = \pm 1/n_\pm,\quad
              b = \tfrac12 (\|\mu_-\|^2 - \|\mu_+\|^2)

    With more than two classes, the largest :math:`g_c(x) = \langle \mu_c, \varphi(x) \rangle - \tfrac12 \|\mu_c\|^2`
    wins.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Positive definite, or conditionally so of order 1 (enough for distances to means).
    gram, random_state, time_budget
        As in `KernelRidge`.

    Attributes
    ----------
    classes_ : array
    dual_coef_ : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
        α.
    intercept_ : float, or array of shape (n_classes,)
        b.
    function_ : Function
        Σ αᵢ k(xᵢ, ·), for two classes the difference of the means. For data far from the origin, this and b use the
        kernel about the sample (`Kernel.about`).
    kernel_, gram_choice_
        As in `KernelRidge`.

    Notes
    -----
    Training computes ‖μ_c‖², in O(n²) (``gram="lazy"`` stores no matrix); only the kernel is tuned. A baseline that a
    tuned method should beat.

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

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    gram: GramLike = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X with labels y; the class means are weighted by `sample_weight`."""
        X, y = self._check_fit(X, y)
        classes, labels = classes_of(self, y)
        weight = self._check_weight(sample_weight, X)
        self._require_definite(X, 1)
        present = np.bincount(labels, weight) > 0
        self.classes_ = classes[present]
        require_classes(self, self.classes_)
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
        return self.function_.values(X) + self.intercept_

    @property
    def decision(self) -> Function:
        """g: `function_` with the constant `intercept_`."""
        f = self.function_
        b = like(np.asarray(host(self.intercept_))[None, ...], f.coefficients)
        return Function(f.kernel, f.points, f.coefficients, Polynomials(0), b)
