"""The expected loss of an estimator on new samples, by the cheapest suitable method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .._errors import check_choice, check_instance, check_number, speaking
from .._folds import folds, shuffled
from ..context import complete
from ..losses import Loss
from ..solvers.leave_one_out import FormulaError
from ..types import Array, Data, EstimatorLike, RandomState, Splitter
from ._criteria import CRITERIA, criterion
from ._forms import Fitted, fitted
from ._judge import WHO, Judge
from ._left_out import Split, alone, by_formula, by_splits, measured

METHODS = ("auto", "closed_form", "newton", "active_set", "span", "refit", "kfold", *CRITERIA)
PATHS = 1000  # maximum number of samples for following active-set paths to their end
FEW = 100  # maximum number of samples for a refit without each, if there is no formula
WIDE = 4000  # maximum number of unknowns of a Newton step with several values per sample; beyond, folds are cheaper
FOLDS = 10


@dataclass(frozen=True)
class ExpectedLoss:
    """Result of `expected_loss`, which can be printed.

    Attributes
    ----------
    estimate : float
        The expected loss on a new sample.
    standard_error : float
        Standard error of the mean of `values`, treated as independent; NaN for criteria, which are not such a mean.
    values : array of shape (n,), or None
        The held-out loss at each sample; NaN for samples that no fold left out.
    method, reason : str
        The method, and why it was chosen.
    loss : str
        Name of the loss.
    approximation_error : float
        For "newton" and "span": a 99 % confidence bound on the deviation from n refits, measured on `n_refits` of them:
        the mean difference plus a t interval, which is unreliable for the 0–1 loss, since most differences are 0. It is
        0 for exact methods and NaN for criteria.
    n_refits : int
        Number of fits besides the first.
    """

    estimate: float
    standard_error: float
    values: np.ndarray | None
    method: str
    reason: str
    loss: str
    approximation_error: float
    n_refits: int

    def __str__(self) -> str:
        lines = [f"expected loss ({self.loss})  {self.estimate:.6g}"]
        if not np.isnan(self.standard_error):
            lines[0] += f" ± {self.standard_error:.2g}"
        lines.append(f"method  {self.method}: {self.reason}")
        if self.method in ("newton", "span"):
            lines.append(f"error of the approximation  {self.approximation_error:.2g}, from {self.n_refits} refits")
        return "\n".join(lines)


@speaking
@complete
def expected_loss(
    estimator: EstimatorLike,
    X: Data,
    y: Array,
    method: str = "auto",
    loss: Loss | str | Callable[..., Any] | None = None,
    *,
    sample_weight: Array = None,
    cv: Splitter = None,
    groups: Array = None,
    n_refits: int = 20,
    random_state: int = 0,
    time_budget: float | None = None,
) -> ExpectedLoss:
    r"""The expected loss of an estimator on a new sample, without refits where there is a formula.

    .. math:: \frac{1}{\sum_i w_i} \sum_i w_i\, L\big(y_i,\, f^{(-i)}(x_i)\big)

    with :math:`f^{(-i)}` the fit without sample i. Quantities estimated from all samples before the fit (kernel
    parameters such as a median lengthscale, landmarks, a chosen alpha, class weights, the scale of a robust loss) are
    held fixed. If the procedure *chooses* these from the data, the estimate is optimistic; use ``cross_val_score`` on
    the whole procedure.

    Parameters
    ----------
    estimator : estimator
        Any estimator of this library or with scikit-learn's interface. A clone is fitted.
    X, y : samples and targets
    method : str
        "auto": the first row that applies. Or one of

        ================  ==========================================================================================
        "closed_form"     exact leave-one-out: ridge regression and its classifiers, interpolation, least-squares
                          support vector machines, splines, `KernelMachine` with squares, and estimators with a method
                          ``leave_one_out()``
        "newton"          leave-one-out by one Newton step from the solution: smooth convex losses
        "active_set"      exact leave-one-out along the path on which samples reach and leave the kinks of the loss
                          ("auto": up to 1000 samples): hinge, pinball, absolute and ε-insensitive losses
        "span"            leave-one-out on the first piece of that path, by the span of the support vectors
        "refit"           leave-one-out by n refits ("auto": up to 100 samples), for all else, such as Hampel's loss
        "kfold"           folds that share one kernel matrix ("auto": for more samples, or if `cv` or `groups` are
                          given)
        "gcv"             generalised cross-validation, for estimators with a closed form
        "gacv"            generalised approximate cross-validation with randomised traces: logistic and Poisson losses
        "aic", "gic"      Akaike's criterion with effective degrees of freedom, and the generalised criterion, which is
                          also valid for a misspecified model, each divided by 2n: a mean negative log-likelihood
        ================  ==========================================================================================
    loss : str, Loss, callable or None
        L: "zero_one", "squared" :math:`(y - f)^2`, "absolute", "log" (the negative log-probability), a loss of
        `mercer.losses` (of decision values), or a function of targets and predictions, with a number for each sample.
        None: "zero_one" for classifiers, the loss of a `KernelMachine` if it is not squared, else "squared". Several
        targets are averaged. A loss that couples samples (`Cox`) is estimated by refits, as the increase of the total
        loss when the held-out samples are added: the cross-validated partial likelihood.
    sample_weight : array of shape (n,), optional
        Weights for the fit and for the mean. In a pipeline they go to the last step.
    cv : int, splitter, iterable of splits or None
        For "kfold". An integer means shuffled folds, stratified for labels, which keep groups together. None: 10 folds,
        or fewer if there are fewer samples or groups.
    groups : array of shape (n,), optional
        Samples of a group, such as a patient, are left out together.
    n_refits : int >= 4
        Refits that measure the error of "newton" and "span": half for the samples whose value changes most when left
        out, half at random. More make `approximation_error` more reliable.
    random_state : int
        For these refits, folds, randomised traces, and random representations.
    time_budget : float > 0, optional
        Time limit in seconds. When it expires, a TimeoutError is raised.

    Returns
    -------
    ExpectedLoss

    Notes
    -----
    With S the response of the values to the gradient of the loss (`mercer.solvers.leave_one_out`), g and v its first
    and second derivatives, one Newton step gives :math:`f_i^{(-i)} \approx f_i + S_{ii} g_i / (1 - S_{ii} v_i)`; for
    the squared loss it is exact. A sample with leverage :math:`h_{ii} = S_{ii} v_i = 1` raises an error, since there is
    no fit without it. The closed forms cost one eigendecomposition, O(n³), or O(nr²) for a factor of rank r. For losses
    with kinks, the accuracy of the values is limited by the ``tol`` of the solver.

    The values of different i come from nearly the same fit, so `standard_error` covers the variation of test samples,
    not of the training set (Bengio, Grandvalet, 2004).

    GCV is :math:`\sum w_i r_i^2 / \sum w_i` over :math:`(1 - \mathrm{df}/n)^2`; GACV is
    :math:`\bar\ell + \frac{\mathrm{tr} S}{n} \cdot \frac{\sum y_i (y_i - \mu_i)}{n - \mathrm{tr} SV}` with y counts or
    labels 0 and 1.

    References
    ----------
    Golub, Heath, Wahba, *Generalized cross-validation as a method for choosing a good ridge parameter* (1979). Xiang,
    Wahba, *A generalized approximate cross validation for smoothing splines with non-Gaussian data* (1996); Lin, Wahba,
    Xiang, Gao, Klein, Klein, *Smoothing spline ANOVA models for large data sets with Bernoulli observations and the
    randomized GACV* (2000). Konishi, Kitagawa, *Generalised information criteria in model selection* (1996).
    Cauwenberghs, Poggio, *Incremental and decremental support vector machine learning* (2001). Rad, Maleki, *A scalable
    estimate of the extra-sample prediction error via approximate leave-one-out* (2020). Bengio, Grandvalet, *No
    unbiased estimator of the variance of K-fold cross-validation* (2004). Verweij, van Houwelingen, *Cross-validation
    in survival analysis* (1993), for coupled samples.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 3, 30)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=30)
    >>> found = expected_loss(KernelRidge(alpha=0.1, kernel="gaussian"), X, y)
    >>> found.method, bool(0.005 < found.estimate < 0.02)
    ('closed_form', True)
    """
    check_choice(WHO, "method", method, METHODS)
    check_number(WHO, "n_refits", n_refits, at_least=4, integer=True)
    check_instance(WHO, "estimator", estimator)
    fit = fitted(estimator, X, y, sample_weight, random_state)
    if fit.n < 2:
        raise ValueError(f"{WHO}: X has one sample, so leave-one-out has nothing to fit; pass at least two.")
    chosen, reason = method == "auto", "as requested"
    if chosen:
        split = cv is not None or groups is not None
        method, reason = ("kfold", "cv or groups are given") if split else _choice(fit)
    elif method != "kfold" and not (cv is None and groups is None):
        raise ValueError(f"{WHO}: cv and groups do not apply to method = {method!r}; use 'kfold'.")
    if method in CRITERIA:
        if loss is not None and loss != CRITERIA[method]:
            raise ValueError(
                f"{WHO}: method = {method!r} estimates loss = {CRITERIA[method]!r}, not {loss!r}; omit loss."
            )
        value, reason = criterion(fit, method, np.random.default_rng(random_state))
        return ExpectedLoss(value, np.nan, None, method, reason, CRITERIA[method], np.nan, 0)
    judge = Judge(fit.model, fit.y, loss)
    try:
        values, error, fits = _losses(fit, judge, method, n_refits, cv, groups, random_state)
    except FormulaError as untold:
        if not chosen:
            raise ValueError(f"{WHO}: method = {method!r}: {untold}; use 'refit' or 'kfold'.") from None
        method, reason = _again(fit, str(untold))
        values, error, fits = _losses(fit, judge, method, n_refits, cv, groups, random_state)
    return ExpectedLoss(*_mean(values, fit.weight), values, method, reason, judge.name, error, fits)


def _choice(fit: Fitted) -> tuple[str, str]:
    """The method for an estimator, and why."""
    who, n, why, found = type(fit.model).__name__, fit.n, fit.why, fit.solved
    if fit.closed:
        return "closed_form", f"leave-one-out has a closed form for {who}, which is exact"
    if found is not None:
        name = type(found.problem.loss).__name__
        if _suits(fit, "newton"):
            return "newton", f"the loss {name} is smooth, and leaving a sample out is nearly one Newton step"
        if _suits(fit, "active_set"):
            straight = f"the loss {name} is piecewise linear"
            if n <= PATHS:
                return "active_set", f"{straight}, and leaving a sample out follows a path from kink to kink"
            return "span", f"{straight}, and there are too many samples to follow each path"
        flaw = "has no formula" if found.values.ndim == 1 else "has many values, which makes a Newton step expensive"
        why = f"the loss {name} {flaw if found.problem.loss.convex else 'is not convex'}"
    return _again(fit, why)


def _again(fit: Fitted, why: str) -> tuple[str, str]:
    """The method of refitting if there is no formula."""
    if fit.n <= FEW:
        return "refit", f"{why}, and there are only {fit.n} samples"
    return "kfold", f"{why}, and {fit.n} samples are too many to refit without each"


def _suits(fit: Fitted, method: str) -> bool:
    """Whether a formula holds for a fit."""
    if method == "closed_form":
        return fit.closed
    if fit.solved is None:
        return False
    loss, f = fit.solved.problem.loss, fit.solved.values
    if method == "newton":
        gram = fit.solved.problem.gram
        rank = int(gram.factor().shape[1]) if "factor" in gram.provides else fit.n
        narrow = f.ndim == 1 or rank * f.shape[1] <= WIDE
        return loss.smooth and loss.convex and "hessian" in loss.provides and narrow
    return not loss.smooth and "box" in loss.provides


def _losses(
    fit: Fitted, judge: Judge, method: str, n_refits: int, cv: Splitter, groups: Array, random_state: RandomState
) -> tuple[np.ndarray, float, int]:
    """The held-out losses, a bound on the approximation error of their mean, and the number of refits."""
    if method in ("refit", "kfold"):
        splits = alone(fit.n, range(fit.n)) if method == "refit" else _folds(fit, cv, groups, random_state)
        shared = fit.linear is not None and method == "kfold" and not judge.coupled
        return by_splits(fit, judge, splits, not shared), 0.0, 0 if shared else len(splits)
    if not _suits(fit, method):
        other, why = _choice(fit)
        raise ValueError(f"{WHO}: method = {method!r} does not suit {type(fit.model).__name__}; use {other!r}: {why}.")
    if judge.coupled:
        raise ValueError(f"{WHO}: the loss {judge.name} couples samples; use method = 'kfold' or 'refit'.")
    left = by_formula(fit, method)
    unknown = np.isnan(left) if left.ndim == 1 else np.isnan(left).any(axis=1)
    values = judge.losses(judge.of_values(np.where(np.isnan(left), 0.0, left)))
    lost = np.flatnonzero(unknown)  # the others do not determine the free part, or the path is lost
    if len(lost) > FEW:
        raise FormulaError(f"the formula fails for {len(lost)} samples")
    if len(lost):
        values[lost] = by_splits(fit, judge, alone(fit.n, lost), refit=True)[lost]
    if method in ("closed_form", "active_set"):
        return values, 0.0, len(lost)
    assert fit.solved is not None
    moved = np.abs(left - fit.solved.values).reshape(fit.n, -1).max(axis=1)
    moved = np.where((fit.weight > 0) & ~unknown, moved, 0.0)
    error, fits = measured(fit, judge, values, moved, n_refits, np.random.default_rng(random_state))
    return values, error, fits + len(lost)


def _folds(fit: Fitted, cv: Splitter, groups: Array, random_state: RandomState) -> list[Split]:
    cv = min(FOLDS, fit.n if groups is None else len(np.unique(np.asarray(groups)))) if cv is None else cv
    if isinstance(cv, Integral):
        check_number(WHO, "cv", cv, at_least=2, integer=True)
        cv = shuffled(int(cv), random_state, fit.labels, groups is not None)
    return folds(WHO, cv, fit.n, fit.y, fit.labels, groups)


def _mean(values: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """The mean of the non-NaN values, and its standard error."""
    used = ~np.isnan(values)
    w, v = weight[used], values[used]
    mean = float(np.sum(w * v) / np.sum(w))
    n = max(int(np.sum(w > 0)), 2)
    return mean, float(np.sqrt(np.sum((w * (v - mean)) ** 2) * n / (n - 1)) / np.sum(w))
