"""Online learning: one gradient step per sample."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._array import beside, doubles, host
from .._errors import ONE_OR_NONE, POSITIVE, SHARE, check_parameters, require_classes, where
from .._targets import check_labels
from ..basis import Polynomials
from ..context import current, warn_early
from ..evaluation import bind
from ..kernels import KernelLike
from ..losses import LossLike
from ..space import Function
from ..types import Array, Data
from ._base import classes_of
from ._loss import LossEstimator

BLOCK = 1 << 20  # kernel values computed at once
DIVERGED = 1e6  # times the steepest slope at f = 0: not reached unless the steps are too long


@dataclass(eq=False, repr=False)
class OnlineKernelMachine(LossEstimator):
    r"""Stochastic gradient descent in the RKHS (NORMA), for any loss with a gradient.

    .. math:: f_{t+1} = (1 - \eta_t \alpha)\, f_t - \eta_t\, \ell'\big(y_t, f_t(x_t)\big)\, k(\cdot, x_t), \qquad
              \eta_t = \eta_0\, t^{-p}

    with f₁ = 0: gradient steps on the one-sample objective :math:`\ell(y_t, f(x_t)) + (\alpha/2) \|f\|^2`. Old
    coefficients decay by a factor :math:`1 - \eta_t \alpha` per step, so that the oldest terms can be dropped when
    there are more than `budget`.

    Parameters
    ----------
    loss : str or Loss
        A name ("squared", "huber", "logistic", "hinge", "multinomial", "pinball(quantile=0.9)", …) or a Loss of
        `mercer.losses` that has a gradient and does not couple samples.
    kernel : str, Kernel or expression
        Positive definite. Data-driven parameters, such as the median lengthscale, are set by the first batch.
    alpha : float > 0
        Regularisation parameter, relative to the loss of *one* sample; for `KernelMachine` with n samples, use n times
        this value. Larger is smoother, and forgets faster.
    eta0 : float > 0
        Initial step size, at most 1/alpha. Larger learns faster but is noisier; for a loss with curvature at most c,
        steps beyond 2/(c·k(x, x)) diverge, which raises an error.
    power_t : float in [0, 1]
        p: 0 keeps the step constant, to track a changing target; 1/2 has the smallest regret; 1 with eta0 = 1/alpha
        averages, and approaches a fixed target fastest.
    budget : int, optional
        Maximum number of terms; None keeps all, at a cost of O(t) per step.
    fit_intercept : bool
        Whether to fit an unpenalised intercept by the same steps.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    function_ : Function
        The current f, with its intercept.
    points_, dual_coef_ : collection, and array of shape (m,) or (m, n_classes)
        Its terms, oldest first.
    intercept_ : float, or array of shape (n_classes,)
    t_ : int
        Number of samples seen.
    truncation_error_ : float, or array of shape (n_classes,)
        Bound on the norm of the dropped terms, :math:`\sum_i |a_i| \sqrt{k(x_i, x_i)}` with decayed coefficients. They
        would change f(x) by at most this bound times :math:`\sqrt{k(x, x)}`.
    classes_ : array
        The labels, for classification losses.
    loss_, kernel_

    See Also
    --------
    KernelMachine : the exact minimiser over all samples.

    Notes
    -----
    If the slopes of the loss are at most L, then :math:`\|f_t\| \le U = L\kappa/\alpha`, where κ² is the largest
    k(x, x). With a constant step, truncation loses at most :math:`(1 - \eta\alpha)^{budget}\, U`: choose budget·η·α ≥ 5
    or so. With p = 1/2, and no truncation or intercept, the mean objective along any stream of m samples exceeds that
    of the best fixed function by at most :math:`(2U^2/\eta_0 + 4 \eta_0 L^2 \kappa^2)/\sqrt m`.

    Passing a batch to ``partial_fit`` equals passing its samples one by one, but computes kernel values in larger
    blocks. alpha, eta0, power_t and budget may change between calls. A sample with slope 0 (beyond the margin of the
    hinge) adds no term. Samples are processed in order; shuffle sorted data.

    References
    ----------
    Kivinen, Smola, Williamson, *Online learning with kernels*, IEEE Transactions on Signal Processing 52 (2004).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(500, 1))
    >>> model = OnlineKernelMachine("squared", kernel="gaussian(lengthscale=1.0)", power_t=0, eta0=0.5)
    >>> for batch in np.split(X, 10):
    ...     model = model.partial_fit(batch, np.sin(batch[:, 0]))
    >>> model.t_, bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.1)
    (500, True)
    """

    loss: LossLike = "squared"
    _: KW_ONLY
    kernel: KernelLike = "gaussian(lengthscale='median')"
    alpha: float = 1e-3
    eta0: float = 1.0
    power_t: float = 0.5
    budget: int | None = None
    fit_intercept: bool = False
    time_budget: float | None = None

    # ---- the stream

    def fit(self, X: Data, y: Array) -> Self:
        """Fit from scratch in one pass over samples X and targets y."""
        self._check_parameters()
        X, y = self._check_fit(X, y, **self._target_options())
        self._start(X, classes_of(self, y)[0] if self._is_classifier() else None)
        return self._pass(X, self.kernel_.domain.centres(X), y)

    def partial_fit(self, X: Data, y: Array, classes: Any = None) -> Self:
        """Continue with samples X and targets y; the first call of a classifier needs all `classes`."""
        self._check_parameters()
        if self._kernel(1).domain.precomputed:
            raise TypeError(
                f"{where(self)}: partial_fit does not accept a precomputed matrix; use fit, or a kernel on the samples."
            )
        if classes is not None and not self._is_classifier():
            raise ValueError(f"{where(self)}: classes does not apply to loss = {self.loss!r}; omit it.")
        if hasattr(self, "t_"):
            if self._given != (self.loss, self.kernel, self.fit_intercept):
                raise ValueError(
                    f"{where(self)}: loss, kernel or fit_intercept differ from those of the first call, and cannot "
                    "change between calls of partial_fit. Use fit, or a clone."
                )
            X, y = self._check_data(self.kernel_, X, y, reset=False, **self._target_options())
            X = self._check_new(X)
            if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
                raise ValueError(f"{where(self)}: classes = {classes!r} differ from those of the first call.")
        else:
            if self._is_classifier() and classes is None:
                raise ValueError(f"{where(self)}: classes must be passed on the first call to partial_fit.")
            X, y = self._check_fit(X, y, **self._target_options())
            self._start(X, None if classes is None else classes_of(self, check_labels(self, classes))[0])
        return self._pass(X, X, y)

    def _check_parameters(self) -> None:
        check_parameters(self, {"alpha": POSITIVE, "eta0": POSITIVE, "power_t": SHARE, "budget": ONE_OR_NONE})
        if self.eta0 * self.alpha > 1:
            raise ValueError(f"{where(self)}: eta0 = {self.eta0!r} must be at most 1/alpha = {1 / self.alpha:g}.")

    def _target_options(self) -> dict[str, Any]:
        return {"y_numeric": not self._is_classifier()}

    def _start(self, X: Data, classes: np.ndarray | None) -> None:
        """Set f = 0, with one output, or one per class."""
        loss = self.loss_ = self._loss()
        self._given = tuple(clone(value, safe=False) for value in (self.loss, self.kernel, self.fit_intercept))
        if loss.coupled or "gradient" not in loss.provides:
            raise ValueError(f"{where(self)}: loss = {self.loss!r} has no gradient for a single sample; use another.")
        self.kernel_.require_pd(self.kernel_.domain.dimension(X), self)
        shape: tuple[int, ...] = ()
        if classes is not None:
            require_classes(self, classes)
            if loss.task == "binary" and len(classes) > 2:
                raise ValueError(
                    f"{where(self)}: Only binary classification is supported by loss = {self.loss!r}; there are "
                    f"{len(classes)} classes. Use loss='multinomial'."
                )
            self.classes_ = classes
            shape = (len(classes),) if loss.task == "multiclass" else ()
        self.t_, self._steepest = 0, 0.0
        self._lengths = np.zeros(0)  # the roots of k(xᵢ, xᵢ) of the terms
        self.points_ = self.kernel_.domain.take(self.kernel_.domain.centres(X), slice(0, 0))
        self.dual_coef_ = np.zeros((0, *shape))
        self.intercept_: Any = np.zeros(shape)
        self.truncation_error_: Any = np.zeros(shape)

    def _encode(self, y: Array) -> np.ndarray:
        """Targets in the form the loss expects."""
        if not self._is_classifier():
            return doubles(y)
        labels = host(y)
        place = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        unknown = labels[self.classes_[place] != labels]
        if len(unknown):
            raise ValueError(f"{where(self)}: y holds {unknown.tolist()[0]!r}, which is not among classes.")
        return place if self.loss_.task == "multiclass" else np.where(place == 1, 1.0, -1.0)

    def _pass(self, X: Data, centres: Array, y: Array) -> Self:
        """Process the samples one by one; `centres` is the form in which f stores them."""
        y = self._encode(y)
        self.loss_.check(y)
        take, n, start, context = self.kernel_.domain.take, self.kernel_.domain.size(X), 0, current()
        context.check()
        try:
            while start < n:
                # in a block far longer than the budget, most terms are dropped before their values are used
                size = min(1024, BLOCK // (len(self.dual_coef_) + 1) + 1)
                size = size if self.budget is None else min(size, max(64, self.budget))
                rows = slice(start, min(start + size, n))
                with np.errstate(over="ignore", invalid="ignore"):  # _check_slopes gives a better error
                    self._advance(take(X, rows), take(centres, rows), y[rows])
                start = rows.stop
                if start < n and (status := context({"round": start})) is not None:
                    warn_early(self, f"{start} of {n} samples were processed", status)
                    break
        finally:  # keep f consistent with the terms even if a later block is refused
            points, coefficients = self.points_, self.dual_coef_
            if len(coefficients) == 0:
                points, coefficients = take(centres, slice(0, 1)), np.zeros((1, *coefficients.shape[1:]))
            basis = Polynomials(0) if self.fit_intercept else None
            free = np.asarray(self.intercept_)[None] if self.fit_intercept else None
            free = None if free is None else beside(free, X)
            self.function_ = Function(self.kernel_, points, beside(coefficients, X), basis, free)
        return self

    def _advance(self, X: Data, centres: Array, y: np.ndarray) -> None:
        """Take the steps of one block, using one matrix of kernel values between it and all terms."""
        old, size = len(self.dual_coef_), len(y)
        points = self.kernel_.domain.join([self.points_, centres]) if old else centres
        K = doubles(bind(self.kernel_, X, points).dense())
        lengths = np.sqrt(np.maximum(np.diagonal(K, old), 0.0))
        lengths = np.concatenate([self._lengths, lengths])
        a = np.concatenate([self.dual_coef_, np.zeros((size, *self.dual_coef_.shape[1:]))])
        is_term = np.arange(old + size) < old
        b, error = np.asarray(self.intercept_), np.asarray(self.truncation_error_)
        first, count, most = 0, old, np.inf if self.budget is None else self.budget
        slopes = np.zeros((size, *b.shape))
        for i in range(size):
            eta = self.eta0 * (self.t_ + i + 1) ** -self.power_t
            terms = slice(first, old + i)
            f = K[i, terms] @ a[terms] + b
            slope = slopes[i] = self.loss_.gradient(y[i : i + 1], f[None])[0]
            a[terms] *= 1 - eta * self.alpha
            error = error * (1 - eta * self.alpha)
            if self.fit_intercept:
                b = b - eta * slope
            if np.any(slope):
                a[old + i] = -eta * slope
                is_term[old + i] = True
                count += 1
            while count > most:
                first += int(is_term[first:].argmax())
                error = error + np.abs(a[first]) * lengths[first]
                first, count = first + 1, count - 1
        self._check_slopes(y, slopes, lengths)
        kept = first + np.flatnonzero(is_term[first:])
        self.points_, self.dual_coef_ = self.kernel_.domain.take(points, kept), a[kept]
        self._lengths = lengths[kept]
        self.t_ += size
        self.intercept_, self.truncation_error_ = (v if v.ndim else float(v) for v in (b, error))

    def _check_slopes(self, y: np.ndarray, slopes: np.ndarray, lengths: np.ndarray) -> None:
        """Raise if the slopes grow so large that the steps must be too long."""
        self._steepest = max(self._steepest, float(np.abs(self.loss_.gradient(y, np.zeros_like(slopes))).max()))
        if not np.all(np.abs(slopes) <= DIVERGED * self._steepest):
            raise ValueError(
                f"{where(self)}: the steps diverge; the last samples are ignored. Lower eta0 = {self.eta0!r}: k(x, x) "
                f"is up to {np.max(lengths) ** 2:.3g}."
            )
