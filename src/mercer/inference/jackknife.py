"""Prediction intervals from leave-one-out fits."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import ceil, floor
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, RegressorMixin, clone, is_classifier
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .. import _threads
from .._array import doubles, eye, host, like
from .._errors import check_number, require_target, where
from .._folds import folds, shuffled
from ..context import StoppedError, current
from ..methods.base import Estimator
from ..solvers.leave_one_out import at_new_points, refuse_determined
from ..solvers.spectral import Spectral
from ..types import Array, Data, EstimatorLike, Splitter

CELLS = 1 << 22  # predictions per batch, (new points) × (fits)


def _require_whole() -> None:
    """Raise if a fit was stopped early, because its residuals give no guarantee."""
    if status := current()({}):
        raise StoppedError(status)


@dataclass(eq=False, repr=False)
class JackknifePlus(MetaEstimatorMixin, RegressorMixin, Estimator):
    r"""Prediction intervals for any regression, by the jackknife+ or CV+.

    .. math:: \Big[\, q^-_{\alpha}\big\{f^{(-i)}(x) - |r_i|\big\},\; q^+_{\alpha}\big\{f^{(-i)}(x) + |r_i|\big\} \Big],
              \qquad r_i = y_i - f^{(-i)}(x_i)

    with :math:`f^{(-i)}` the fit without sample i, :math:`\alpha = 1 - \mathrm{level}`, :math:`q^-_\alpha` the
    ⌊α(n + 1)⌋-th smallest of n values, and :math:`q^+_\alpha` the ⌈(1 − α)(n + 1)⌉-th. If the samples and the new one
    are exchangeable and the fit does not depend on their order,

    .. math:: P\big(y \in \text{interval at } x\big) \ge 1 - 2\alpha

    for every distribution, sample size and estimator; usually it is close to 1 − α. The guarantee is marginal, not
    conditional on x.

    Parameters
    ----------
    estimator : regressor
        From this library, or any with scikit-learn's interface.
    level : float in (0, 1)
        1 − α. Larger levels give wider intervals; above n/(n + 1) they are infinite.
    cv : int, splitter or None
        None leaves out one sample at a time. Otherwise each sample's f⁽⁻ⁱ⁾ is the fit without its fold (CV+): K fits
        instead of n, with a guarantee of 1 − 2α − min(2(1 − 1/K)/(n/K + 1), (1 − K/n)/(K + 1)).
    refit : bool
        True refits for each sample, including all data-driven choices (lengthscales, alpha, landmarks); the guarantee
        holds exactly. False uses the closed form if the estimator is linear in y, making these choices once, on all
        samples; nothing is lost if they are fixed, or do not depend on y and hardly on any one sample. Estimators
        without a closed form are refitted.
    time_budget : float > 0, optional
        Time limit in seconds; on expiry an error is raised.

    Attributes
    ----------
    estimator_ : estimator
        The estimator, fitted to all samples.
    residuals_ : array of shape (n_samples,)
        r.
    method_ : {"closed_form", "refit"}

    Notes
    -----
    For ridge regression, interpolation and splines, leave-one-out fits follow from the lemma
    :math:`f^{(-i)}(x) = f(x) - s_i(x) r_i` with :math:`f(x) = \sum s_i(x) y_i`: one decomposition, and for a
    `SmoothingSpline` one O(n) sweep per new point.

    References
    ----------
    Barber, Candès, Ramdas, Tibshirani, *Predictive inference with the jackknife+* (2021).

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(60, 1))
    >>> y = np.sin(X[:, 0]) + 0.2 * rng.normal(size=60)
    >>> model = JackknifePlus(KernelRidge(alpha=0.1, kernel="gaussian"), level=0.9).fit(X, y)
    >>> low, high = model.interval([[1.0], [3.0]])
    >>> bool(np.all((low < np.sin([1.0, 3.0])) & (np.sin([1.0, 3.0]) < high))), model.method_
    (True, 'closed_form')
    """

    estimator: EstimatorLike
    _: KW_ONLY
    level: float = 0.9
    cv: Splitter = None
    refit: bool = False
    time_budget: float | None = None

    def fit(self, X: Data, y: Array) -> Self:
        """Fit to samples X and targets y of shape (n,)."""
        check_number(self, "level", self.level, above=0)
        if self.level >= 1:
            raise ValueError(f"{where(self)}: level = {self.level!r} must be < 1.")
        if is_classifier(self.estimator):
            raise TypeError(f"{where(self)}: {where(self.estimator)} predicts labels; intervals need a regressor.")
        require_target(self, y)
        X, y = indexable(X, y)
        if np.ndim(y) == 2 and np.shape(y)[1] > 1:
            raise ValueError(f"{where(self)}: y has shape {np.shape(y)}; fit one target at a time.")
        y = column_or_1d(y, warn=True) if np.ndim(y) == 2 else y
        current().check()
        self.estimator_ = clone(self.estimator).fit(X, y)
        _require_whole()
        target = doubles(y)
        if np.ndim(self.estimator_.predict(_safe_indexing(X, [0]))) > 1:
            raise ValueError(f"{where(self)}: {where(self.estimator)} predicts several numbers; it must predict one.")
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        self._form: Any = None
        self._samples: Any = None  # where the estimator itself evaluates its leave-one-out fits at new points
        model = self.estimator_
        if self.cv is None and not self.refit:
            self._form = model.linear_form(X, y) if hasattr(model, "linear_form") else None
            self._samples = X if self._form is None and hasattr(model, "left_out_at") else None
        self.method_ = "refit" if self._form is None and self._samples is None else "closed_form"
        if self.method_ == "refit":
            self._fit_again(X, y, target)
        elif self._form is not None:
            form = self._form
            path = Spectral(form.gram, form.H, form.weight)
            self.residuals_ = target - host(path.leave_one_out(form.b, form.alphas))[:, 0, 0]
            self._smoother = path.solve(eye(form.gram.n, form.b), form.alphas[0])
        else:
            self.residuals_ = target - model.leave_one_out_
            refuse_determined(np.where(np.isnan(self.residuals_), 0.0, 1.0))
            self._samples = np.array(X, dtype=np.float64).reshape(-1)
        return self

    def _fit_again(self, X: Data, y: Array, target: np.ndarray) -> None:
        n = len(target)
        if self.cv is None:
            splits = [(np.delete(np.arange(n), i), np.array([i])) for i in range(n)]
        else:
            cv = shuffled(int(self.cv), 0) if isinstance(self.cv, Integral) else self.cv
            splits = folds(self, cv, n, target)
        self._fits, self._own = [], np.full(n, -1)
        self.residuals_ = np.empty(n)
        for k, (train, test) in enumerate(splits):
            model = clone(self.estimator)
            model.fit(*_safe_split(model, X, y, train))
            _require_whole()
            self._fits.append((model, train))
            self._own[test] = k
            self.residuals_[test] = target[test] - host(model.predict(_safe_split(model, X, y, test, train)[0]))
        if np.any(self._own < 0):
            raise ValueError(f"{where(self)}: cv holds out {np.sum(self._own >= 0)} of {n} samples; hold out each.")

    def predict(self, X: Data) -> Any:
        """The predictions of the fit to all samples."""
        check_is_fitted(self)
        return self.estimator_.predict(X)

    def interval(self, X: Data) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper ends of the intervals at X."""
        check_is_fitted(self)
        size = np.abs(self.residuals_)
        n, alpha = len(size), 1 - self.level
        # rounding must not move products such as 0.1·(n + 1) across an integer
        low, high = floor(alpha * (n + 1) + 1e-9), ceil((1 - alpha) * (n + 1) - 1e-9)
        m = X.shape[0] if hasattr(X, "shape") else len(X)
        lower, upper = np.full(m, -np.inf), np.full(m, np.inf)
        for rows in _threads.slices(m, max(1, CELLS // n)):
            values = self._left_out(_safe_indexing(X, np.arange(m)[rows]))
            if low >= 1:
                lower[rows] = np.partition(values - size, low - 1, axis=1)[:, low - 1]
            if high <= n:
                upper[rows] = np.partition(values + size, high - 1, axis=1)[:, high - 1]
        return lower, upper

    def _left_out(self, X: Data) -> np.ndarray:
        """f⁽⁻ⁱ⁾(x), of shape (m, n)."""
        form = self._form
        if self._samples is not None:
            left_out: np.ndarray = self.estimator_.left_out_at(X, self._samples, self.residuals_)
            return left_out
        if form is None:
            pairwise = get_tags(self.estimator).input_tags.pairwise
            found = [host(model.predict(X[:, train] if pairwise else X)) for model, train in self._fits]
            return np.stack(found, axis=1)[:, self._own]
        points = form.points(X)
        cross = form.gram.cross(points).dense()
        h = None if form.basis is None else like(form.basis(points), cross)
        values, residuals = like(host(self.estimator_.predict(X)), cross), like(self.residuals_, cross)
        return host(at_new_points(self._smoother, cross, h, values, residuals))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.target_tags.required = True
        return tags
