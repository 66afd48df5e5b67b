"""Learning from a stream: one sample, one step."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._array import host
from .._errors import POSITIVE, SHARE, check_number, check_parameters, remedies, where
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

BLOCK = 1 << 20  # kernel values that are computed at once
DIVERGED = 1e6  # times the steepest slope at f = 0: a slope that is not met where steps are short enough


@dataclass(eq=False, repr=False)
class OnlineKernelMachine(LossEstimator):
    r"""Stochastic gradient descent in the space of a kernel (NORMA), for any loss with a gradient.

    .. math:: f_{t+1} = (1 - \eta_t \alpha)\, f_t - \eta_t\, \ell'\big(y_t, f_t(x_t)\big)\, k(\cdot, x_t), \qquad
              \eta_t = \eta_0\, t^{-p}

    is the gradient step of :math:`\ell(y_t, f(x_t)) + (\alpha/2) \|f\|^2`, the objective of one sample, from f₁ = 0.
    Old samples fade by the factor :math:`1 - \eta_t \alpha` a step, so that the oldest terms may be dropped when there
    are more than `budget`.

    Parameters
    ----------
    loss : str or Loss
        A name ("squared", "huber", "logistic", "hinge", "multinomial", "pinball(quantile=0.9)", …) or a Loss of
        `mercer.losses` that has a gradient and does not couple samples.
    kernel : str, Kernel or expression
        Positive definite. Values that depend on data, as the median lengthscale, come from the first batch.
    alpha : float > 0
        Weight of the penalty beside the loss of *one* sample; `KernelMachine` with n samples has n times this one.
        Larger is smoother, and forgets faster.
    eta0 : float > 0
        The first step, at most 1/alpha. Larger learns faster and is noisier; for a loss with curvature at most c, steps
        beyond 2/(c·k(x, x)) diverge, which is an error.
    power_t : float in [0, 1]
        p: 0 keeps the step, which follows a changing target; 1/2 has the smallest regret; 1 with eta0 = 1/alpha
        averages, and approaches a fixed target fastest.
    budget : int, optional
        Terms at most; None keeps all, at O(t) a step.
    fit_intercept : bool
        Whether an offset, which is not penalised, takes the same steps.
    time_budget : float > 0, optional
        Seconds after which the fit ends: with the best so far and a warning, or, if there is none yet, with an error.

    Attributes
    ----------
    function_ : Function
        The present f, with its offset.
    points_, dual_coef_ : collection, and array of shape (m,) or (m, n_classes)
        Its terms, the oldest first.
    intercept_ : float, or array of shape (n_classes,)
    t_ : int
        Samples seen.
    truncation_error_ : float, or array of shape (n_classes,)
        A bound on the norm of all that was dropped, :math:`\sum_i |a_i| \sqrt{k(x_i, x_i)}` with faded coefficients: by
        so much at most, times :math:`\sqrt{k(x, x)}`, the dropped terms would change f(x).
    classes_ : array
        The labels, for losses of labels.
    loss_, kernel_

    See Also
    --------
    KernelMachine : the minimum over all samples at once.

    Notes
    -----
    A loss with slopes up to L has :math:`\|f_t\| \le U = L\kappa/\alpha`, κ² the largest k(x, x), and with a constant
    step truncation loses at most :math:`(1 - \eta\alpha)^{budget}\, U`: choose budget·η·α ≥ 5 or so. With p = 1/2, and
    neither truncation nor offset, the mean of the objectives along the stream, of any m samples in any order, exceeds
    that of the best fixed function by at most :math:`(2U^2/\eta_0 + 4 \eta_0 L^2 \kappa^2)/\sqrt m`.

    A batch is a sequence: ``partial_fit`` of many samples equals many calls, and only computes kernel values in larger
    blocks. Between calls alpha, eta0, power_t and budget may change. A sample with slope 0 (a margin beyond that of the
    hinge) leaves no term. Samples are taken in their order; shuffle data that are sorted.

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
        """One pass over samples X and targets y, from the beginning."""
        self._check_parameters()
        X, y = self._check_fit(X, y, **self._target_options())
        self._start(X, classes_of(self, y)[0] if self._is_classifier() else None)
        return self._pass(X, self.kernel_.domain.centres(X), y)

    def partial_fit(self, X: Data, y: Array, classes: Any = None) -> Self:
        """Go on with samples X and targets y; the first call of a classifier names all `classes`."""
        self._check_parameters()
        if self._kernel(1).domain.precomputed:
            raise TypeError(f"{where(self)}: a precomputed matrix is no stream; use fit, or a kernel on the samples.")
        if classes is not None and not self._is_classifier():
            raise ValueError(f"{where(self)}: classes has no meaning for loss = {self.loss!r}; leave it out.")
        if hasattr(self, "t_"):
            if self._given != (self.loss, self.kernel, self.fit_intercept):
                raise ValueError(
                    f"{where(self)}: loss, kernel or fit_intercept differ from those of the first call; a function of "
                    "another kind cannot go on from this one. Use fit, or a clone."
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
        check_parameters(self, {"alpha": POSITIVE, "eta0": POSITIVE, "power_t": SHARE})
        if self.eta0 * self.alpha > 1:
            raise ValueError(f"{where(self)}: eta0 = {self.eta0!r} must be at most 1/alpha = {1 / self.alpha:g}.")
        if self.budget is not None:
            check_number(self, "budget", self.budget, at_least=1, integer=True)

    def _target_options(self) -> dict[str, Any]:
        return {"y_numeric": not self._is_classifier()}

    def _start(self, X: Data, classes: np.ndarray | None) -> None:
        """f = 0, with one output or one for each class."""
        loss = self.loss_ = self._loss()
        self._given = tuple(clone(value, safe=False) for value in (self.loss, self.kernel, self.fit_intercept))
        if loss.coupled or "gradient" not in loss.provides:
            raise ValueError(f"{where(self)}: loss = {self.loss!r} has no gradient for a single sample; use another.")
        claim = self.kernel_.definiteness_in(self.kernel_.domain.dimension(X))
        if not claim.is_pd and claim.kind != "UNKNOWN":
            raise ValueError(
                f"{where(self)}: the kernel {self.kernel_} is {claim}; use a positive definite one.{remedies(claim)}"
            )
        shape: tuple[int, ...] = ()
        if classes is not None:
            if len(classes) < 2:
                raise ValueError(
                    f"{where(self)}: the number of classes has to be greater than one; there is one class, "
                    f"{classes.tolist()[0]!r}."
                )
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
        """Targets as the loss wants them."""
        if not self._is_classifier():
            return np.asarray(host(y), dtype=np.float64)
        labels = host(y)
        place = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        unknown = labels[self.classes_[place] != labels]
        if len(unknown):
            raise ValueError(f"{where(self)}: y holds {unknown.tolist()[0]!r}, which is not among classes.")
        return place if self.loss_.task == "multiclass" else np.where(place == 1, 1.0, -1.0)

    def _pass(self, X: Data, centres: Array, y: Array) -> Self:
        """Take the samples one by one; `centres` are what f keeps of them."""
        self._require_numpy(X)
        y = self._encode(y)
        self.loss_.check(y)
        take, n, start, context = self.kernel_.domain.take, self.kernel_.domain.size(X), 0, current()
        context.check()
        try:
            while start < n:
                # of a block far longer than the budget, most values are of terms that are dropped before their turn
                size = min(1024, BLOCK // (len(self.dual_coef_) + 1) + 1)
                size = size if self.budget is None else min(size, max(64, self.budget))
                rows = slice(start, min(start + size, n))
                with np.errstate(over="ignore", invalid="ignore"):  # _check_slopes says it better
                    self._advance(take(X, rows), take(centres, rows), y[rows])
                start = rows.stop
                if start < n and (status := context({"round": start})) is not None:
                    warn_early(self, f"{start} of {n} samples were taken in", status)
                    break
        finally:  # f is that of the terms also where a later block was refused
            points, coefficients = self.points_, self.dual_coef_
            if len(coefficients) == 0:
                points, coefficients = take(centres, slice(0, 1)), np.zeros((1, *coefficients.shape[1:]))
            basis = Polynomials(0) if self.fit_intercept else None
            free = np.asarray(self.intercept_)[None] if self.fit_intercept else None
            self.function_ = Function(self.kernel_, points, coefficients, basis, free)
        return self

    def _advance(self, X: Data, centres: Array, y: np.ndarray) -> None:
        """The steps of one block, from one matrix of kernel values between it and all terms."""
        old, size = len(self.dual_coef_), len(y)
        points = self.kernel_.domain.join([self.points_, centres]) if old else centres
        K = np.asarray(bind(self.kernel_, X, points).dense(), dtype=np.float64)
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
        """Raise where slopes grow as only those of too long steps do."""
        self._steepest = max(self._steepest, float(np.abs(self.loss_.gradient(y, np.zeros_like(slopes))).max()))
        if not np.all(np.abs(slopes) <= DIVERGED * self._steepest):
            raise ValueError(
                f"{where(self)}: the stream diverges, and its last samples are not taken in. Lower eta0 = "
                f"{self.eta0!r}: k(x, x) is up to {np.max(lengths) ** 2:.3g}."
            )
