"""Domain generalisation: from several labelled samples to an unlabelled one."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, r2_score

from .._array import host, is_array, like
from .._errors import check_number, is_gap, remedies, warn, where
from .._random import generator
from ..context import current
from ..domains import Bags
from ..kernels import INDEFINITE, Kernel, Linear
from ..kernels import sets as _sets  # noqa: F401  (registers the default kernel)
from ..kernels.expression import as_kernel
from ..types import Array, Data, EstimatorLike, RandomState
from ._base import KernelEstimator, is_kernel_estimator
from ._delegation import Delegating, copy_tags, inner_has
from ._forms import with_kernel

DISTRIBUTIONS = "distribution_gaussian(gaussian(lengthscale='median'), lengthscale='median')"


@dataclass(eq=False, repr=False)
class MarginalTransfer(Delegating, KernelEstimator):
    r"""Marginal transfer learning: a function of a point and of the distribution from which it is drawn.

    .. math:: f(P, x) = \sum_{i,j} a_{ij}\, k_D(P, P_i)\, k(x, x_{ij}), \qquad
              k_D(P, P') = \exp\Bigl(-\frac{\mathrm{MMD}^2(P, P')}{2\ell^2}\Bigr) \text{ by default}

    The training data consist of several samples (of patients, speakers, days, …) whose distributions :math:`P_i`
    differ, and so do the optimal decisions. A new sample has no labels, but shows its distribution, from which the
    decision can be inferred. The estimator is fitted to all samples jointly, with the product kernel.

    Parameters
    ----------
    estimator : estimator of this library
        With a parameter `kernel`, the kernel on points: `SVC`, `KernelRidge`, `KernelLogisticRegression`, …
    distribution_kernel : str or Kernel
        :math:`k_D`, a positive definite kernel on sets, whose inner kernel compares the points. A larger lengthscale
        makes distributions more similar; in the limit all samples are pooled. With a small one, each sample is fitted
        separately, and nothing is learned about new samples.
    n_features : even int >= 2, optional
        Number of random features of the inner kernel, for the mean of each sample, and of the product kernel. N points
        then take O(N · n_features) time, and the estimator uses a linear kernel on the features; give it
        ``gram="low_rank"`` if that saves time. For a `DistributionGaussian` and stationary kernels.
    random_state : int, RandomState, Generator or None
        Seed of the random features.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted to pairs of sample and point.
    groups_ : array
        The labels of the training samples.
    kernel_ : Kernel
        The kernel on points, with data-driven parameters resolved.
    distribution_kernel_ : Kernel
        The kernel on samples, with data-driven parameters resolved.
    classes_ : array
        The labels, for a classifier.

    Notes
    -----
    All points of a sample share its distribution, so :math:`k_D` is computed between samples, never between pairs of
    points: each sample enters as coordinates of :math:`k_D` on the training samples (exact for the values of the
    function, not a Nyström approximation), and the product kernel costs no more than that of the points.

    There is no gain if the optimal decision does not depend on the distribution, or if there are too few samples to
    learn how it does. Compare with the estimator fitted to the pooled samples, on held-out samples.

    Predictions for a point depend on the other points of its sample. ``predict(X)`` takes X as one new sample,
    ``predict(X, groups=…)`` as several, and ``predict(X, sample=…)`` as points from the distribution of another sample.
    To give all samples equal weight whatever their size n, use the sample weights 1/n. A single training sample leaves
    nothing to transfer: the estimator is fitted as it is, with a warning.

    In scikit-learn's cross-validation, a group splitter holds out whole samples, and `fit` must also receive the
    groups: ``cross_val_score(model, X, y, groups=groups, params={"groups": groups}, cv=LeaveOneGroupOut())``. With
    metadata routing enabled, `fit` and `score` request them automatically, and searches work too. Scorers other than
    `score` treat the held-out points as one sample, which is correct for `LeaveOneGroupOut`.

    References
    ----------
    Blanchard, Lee, Scott, *Generalizing from several related classification tasks to a new unlabeled sample* (2011).
    Blanchard, Deshmukh, Dogan, Lee, Scott, *Domain generalization by marginal transfer learning* (2021).

    Examples
    --------
    The target is the deviation from the centre of the sample.

    >>> from mercer import KernelRidge, MarginalTransfer
    >>> rng = np.random.default_rng(0)
    >>> groups = np.repeat(np.arange(10), 40)
    >>> middle = rng.uniform(-5, 5, 12)
    >>> X = rng.normal(size=(400, 1)) + middle[groups][:, None]
    >>> y = X[:, 0] - middle[groups]
    >>> model = MarginalTransfer(KernelRidge(kernel="gaussian(lengthscale=3.0)", alpha=1e-3)).fit(X, y, groups=groups)
    >>> X_new = rng.normal(size=(40, 1)) + 0.7
    >>> error = model.predict(X_new) - (X_new[:, 0] - 0.7)
    >>> bool(np.sqrt(np.mean(error**2)) < 0.5)
    True
    """

    takes_tensors = False

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"groups": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"groups": True}

    estimator: EstimatorLike
    distribution_kernel: Any = DISTRIBUTIONS
    _: KW_ONLY
    n_features: int | None = None
    random_state: RandomState = None
    time_budget: float | None = None

    def _check_parameters(self) -> None:
        if not is_kernel_estimator(self.estimator) or not hasattr(self.estimator, "predict"):
            raise TypeError(
                f"{where(self)}: estimator = {self.estimator!r} must be an estimator of this library that predicts, "
                "for example SVC() or KernelRidge()."
            )
        kernel = as_kernel(self.distribution_kernel, "distribution_kernel")
        if not isinstance(kernel.domain, Bags):
            raise TypeError(
                f"{where(self)}: distribution_kernel = {kernel} is on {kernel.domain!r}; give a kernel on sets, such "
                "as DistributionGaussian or MeanMap."
            )
        check_number(self, "n_features", self.n_features, at_least=2, integer=True, besides=(None,))

    def _kernel(self, n_features: int) -> Kernel:
        return self.estimator._kernel(n_features)

    def _resolved_kernel(self, kernel: Kernel, X: Data, n_features: int) -> Kernel:
        return clone(self.estimator)._resolved_kernel(kernel, X, n_features)

    def fit(self, X: Data, y: Array, sample_weight: Array = None, groups: Array = None) -> Self:
        """Fit to points X with targets y; `groups` holds the sample label of each point."""
        self._check_parameters()
        X, y = self._check_fit(X, y, **({"y_numeric": True, "multi_output": True} if is_regressor(self) else {}))
        if self.kernel_.domain.precomputed:
            raise TypeError(f"{where(self)}: kernel = 'precomputed' does not support samples of points; give a kernel.")
        weight = self._check_weight(sample_weight, X)
        self._forget("_root", "_frequencies", "samples_", "distribution_kernel_")
        self.groups_, which = self._group(X, groups)
        model = clone(self.estimator)
        if len(self.groups_) == 1:
            warn(
                f"{where(self)}: there is only one sample, so nothing can be transferred; pass `groups` to fit (in "
                "cross-validation as params={'groups': groups}, or by metadata routing)."
            )
            pairs = X
        else:
            self._require_products(X)
            bags = self._bags(X, which)
            self.distribution_kernel_ = as_kernel(self.distribution_kernel).resolve(bags)
            pairs = self._learn_samples(X, which, bags)
            kernel = Linear() if self.n_features is not None else Linear() @ self.kernel_
            model = with_kernel(model, kernel)
        current().check()
        self.estimator_ = model.fit(pairs, y, **({} if weight is None else {"sample_weight": weight}))
        current().tell_of(self.estimator_)
        return self

    def _require_products(self, X: Data) -> None:
        """Reject kernels and free functions of points that are invalid for pairs of sample and point."""
        why = ", but its product with a kernel of samples need not be definite"
        self.kernel_.require_pd(self.kernel_.domain.dimension(X), self, "the kernel of the points", why)
        if getattr(self.estimator, "free", None) not in (None, "intercept", 0):
            raise ValueError(
                f"{where(self)}: free = {self.estimator.free!r} of the estimator is on points, but the estimator is "
                "fitted to pairs of sample and point; use None, 0 or 'intercept'."
            )

    def _group(self, X: Data, groups: Array) -> tuple[np.ndarray, np.ndarray]:
        """The labels of the samples, and the index of each point's sample."""
        n = self.kernel_.domain.size(X)
        labels = np.zeros(n, dtype=int) if groups is None else host(groups)
        if labels.shape != (n,):
            raise ValueError(f"{where(self)}: groups has shape {labels.shape}; give one label per point, {n} in all.")
        if labels.dtype.kind in "fO" and any(map(is_gap, labels)):
            raise ValueError(f"{where(self)}: groups contains NaN or None; give every point the label of its sample.")
        try:
            names, which = np.unique(labels, return_inverse=True)
        except TypeError:
            raise TypeError(f"{where(self)}: groups has labels that cannot be sorted; make them strings.") from None
        return names, which

    def _bags(self, X: Data, which: np.ndarray) -> list[Any]:
        take = self.kernel_.domain.take
        return [take(X, np.flatnonzero(which == g)) for g in range(which.max() + 1)]

    # ---- inputs of the estimator: pairs of sample and point

    def _learn_samples(self, X: Data, which: np.ndarray, bags: list[Any]) -> Any:
        """The pairs of the training data; stores what is needed for pairs of new data."""
        distribution: Any = self.distribution_kernel_
        if self.n_features is None:
            if distribution.definiteness == INDEFINITE:
                raise ValueError(
                    f"{where(self)}: distribution_kernel = {distribution} is INDEFINITE; use a positive definite one."
                    f"{remedies(distribution.definiteness)}"
                )
            self.samples_ = bags
            values, vectors = np.linalg.eigh(distribution(bags))
            kept = values > len(bags) * np.finfo(float).eps * values[-1]
            self._root = vectors[:, kept] / np.sqrt(values[kept])
            return self._pairs(X, which, bags)
        if not hasattr(distribution, "feature_frequencies") or "spectral_sample" not in self.kernel_.provides:
            raise TypeError(
                f"{where(self)}: n_features needs a DistributionGaussian and a stationary kernel of the points "
                f"(Gaussian, Laplace, Matern, …), not {distribution} and {self.kernel_}."
            )
        rng = generator(self.random_state)
        distribution.set_params(n_features=self.n_features, random_state=int(rng.integers(2**31)))
        m = self.n_features // 2
        self._frequencies = (
            distribution.feature_frequencies(m, rng).T,
            self.kernel_.spectral_sample(m, X.shape[1], rng).T,
        )
        return self._pairs(X, which, bags)

    def _pairs(self, X: Data, which: np.ndarray, bags: list[Any]) -> Any:
        distribution: Any = self.distribution_kernel_
        if self.n_features is None:
            Z = (distribution(bags, self.samples_) @ self._root)[which]
            return like(Z, X) if is_array(X) else Z, X
        of_samples, of_points = self._frequencies
        distribution.check_arguments(bags)
        angles = X @ like(of_points, X) + like((distribution.mean_features(bags) @ of_samples)[which], X)
        variance = float(self.kernel_.evaluate_diag(self.kernel_.domain.take(X, slice(0, 1)))[0])
        return np.sqrt(variance / angles.shape[1]) * np.concatenate([np.cos(angles), np.sin(angles)], axis=1)

    def _new(self, X: Data, groups: Array, sample: Any) -> Any:
        X = self._check_new(X)
        if sample is not None and groups is not None:
            raise ValueError(f"{where(self)}: sample and groups are mutually exclusive; pass only one.")
        if len(self.groups_) == 1:
            return X
        if sample is not None:
            return self._pairs(X, np.zeros(self.kernel_.domain.size(X), dtype=int), [self._check_new(sample)])
        which = self._group(X, groups)[1]
        return self._pairs(X, which, self._bags(X, which))

    # ---- methods of the fitted estimator

    @property
    def classes_(self) -> Any:
        """The labels, for a classifier."""
        if "estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'classes_' before fit")
        return self.estimator_.classes_

    def predict(self, X: Data, groups: Array = None, sample: Any = None) -> Any:
        """Predictions for the points of one new sample X, or of several with labels `groups`.

        With `sample`, unlabelled points from the same distribution, X need not represent it: one point is enough.
        """
        X = self._new(X, groups, sample)
        return self.estimator_.predict(X)

    @inner_has("decision_function")
    def decision_function(self, X: Data, groups: Array = None, sample: Any = None) -> Any:
        """Values of the decision function for the points of one new sample X, or of several, as in `predict`."""
        X = self._new(X, groups, sample)
        return self.estimator_.decision_function(X)

    @inner_has("predict_proba")
    def predict_proba(self, X: Data, groups: Array = None, sample: Any = None) -> Any:
        """Class probabilities for the points of one new sample X, or of several, as in `predict`."""
        X = self._new(X, groups, sample)
        return self.estimator_.predict_proba(X)

    def score(self, X: Data, y: Array, sample_weight: Array = None, groups: Array = None) -> float:
        """Accuracy for a classifier, otherwise R², of the predictions for one new sample or several."""
        score = accuracy_score if is_classifier(self) else r2_score
        return float(score(host(y), host(self.predict(X, groups)), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        return copy_tags(super().__sklearn_tags__(), self.estimator)
