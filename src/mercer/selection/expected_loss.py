"""The expected loss of an estimator on new samples, by whatever is exact and cheapest for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import has_fit_parameter

from .._array import host
from .._errors import check_choice, check_number
from ..losses import Loss
from ..methods import KernelMachine
from ..methods._base import KernelEstimator
from ..methods._spline import Smoother
from ..solvers.leave_one_out import Influence, active_set, at_vertex, random_traces, refuse_determined, span
from ..solvers.spectral import DETERMINED, Spectral
from ._forms import Linear, Solved, frozen, linear, own_loss, seeded, solved
from ._sample import Sample

__all__ = ["ExpectedLoss", "expected_loss"]

WHO = "expected_loss"
METHODS = ("auto", "closed_form", "newton", "active_set", "span", "refit", "kfold", "gcv", "gacv", "aic", "gic")
NAMES = ("zero_one", "squared", "absolute", "log")
PATHS = 1000  # samples, up to which paths of active sets are followed to their end
FEW = 100  # samples, up to which an estimator without a formula is fitted again for each
WIDE = 4000  # unknowns of a Newton step with several values a sample, beyond which folds are cheaper
MEMORY = 2**31  # bytes for a kernel matrix that folds share
LIKELIHOODS = ("Logistic", "Multinomial", "Poisson")
PROBES = 20  # random vectors of a trace


@dataclass(frozen=True)
class ExpectedLoss:
    """What `expected_loss` found: print it.

    Attributes
    ----------
    estimate : float
        The expected loss on a new sample.
    standard_error : float
        Of the mean of `values`, as if these were independent; NaN for criteria that are no such mean.
    values : array of shape (n,), or None
        The loss at each sample of a fit that had not seen it; NaN for samples that no fold left out.
    method, reason : str
        How it was found, and why so.
    loss : str
        What is measured.
    approximation_error : float
        For "newton" and "span" how far the estimate may be from that of n refits, with 99 % confidence, measured on
        `n_refits` of them: the mean difference, and what it may be off by. 0 for exact methods, NaN for criteria.
    n_refits : int
        Fits besides the first.
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


def expected_loss(
    estimator: Any,
    X: Any,
    y: Any,
    method: str = "auto",
    loss: Any = None,
    *,
    sample_weight: Any = None,
    cv: Any = 10,
    n_refits: int = 20,
    random_state: int = 0,
) -> ExpectedLoss:
    r"""The expected loss of an estimator on a new sample, without refits where there is a formula.

    .. math:: \frac{1}{\sum_i w_i} \sum_i w_i\, L\big(y_i,\, f^{(-i)}(x_i)\big)

    with :math:`f^{(-i)}` the fit without sample i. What a fit takes from all samples before it solves its problem
    (kernel parameters such as a median lengthscale, landmarks, a chosen alpha, class weights, the scale of a robust
    loss) is frozen: found once on all samples. An estimate for a procedure that *chooses* these from the data is too
    small by what the choice gains; ``cross_val_score`` of the whole procedure is the honest one.

    Parameters
    ----------
    estimator : estimator
        Of this library, or any of scikit-learn's interface. A clone is fitted.
    X, y : samples and targets
    method : str
        "auto": the first of the table that applies. Or one of

        ================  ==========================================================================================
        "closed_form"     leave-one-out, exact: ridge regression and its classifiers, interpolation, least-squares
                          support vector machines, splines, `KernelMachine` with squares
        "newton"          leave-one-out by one Newton step from the solution: smooth convex losses
        "active_set"      leave-one-out, exact, on the path along which samples meet and leave the kinks ("auto": up to
                          1000 samples): hinge, pinball, absolute and ε-insensitive losses
        "span"            leave-one-out on the first piece of that path, the span of the support vectors
        "refit"           leave-one-out by n refits ("auto": up to 100 samples), for everything else, Hampel's loss
        "kfold"           folds, with one kernel matrix for all ("auto": more samples than that)
        "gcv"             generalised cross-validation, for what has a closed form
        "gacv"            generalised approximate cross-validation with randomised traces: logistic and Poisson losses
        "aic", "gic"      Akaike's criterion with effective degrees of freedom, and the generalised criterion that
                          stands when the model is wrong, each divided by 2n: a mean negative log-likelihood
        ================  ==========================================================================================
    loss : str, Loss, callable or None
        L: "zero_one", "squared" :math:`(y - f)^2`, "absolute", "log" (minus the logarithm of the probability), a loss
        of `mercer.losses` (of decision values), or a function of targets and predictions, with a number for each
        sample. None: "zero_one" for classifiers, the loss that a `KernelMachine` minimises if it is not the square,
        else "squared". Several targets are averaged.
    sample_weight : array of shape (n,), optional
        Weights of the fit, and of the mean.
    cv : int or splitter
        For "kfold"; a number stands for shuffled folds, stratified for labels.
    n_refits : int >= 4
        Refits on which the approximations "newton" and "span" are measured: half of them where leaving out moves the
        value most, half at random. More make `approximation_error` more certain.
    random_state : int
        For these, for folds, for traces, and for representations that draw.

    Returns
    -------
    ExpectedLoss

    Notes
    -----
    With S the response of the values to the gradient of the loss (`mercer.solvers.leave_one_out`), g and v its first
    and second derivatives, one Newton step gives :math:`f_i^{(-i)} \approx f_i + S_{ii} g_i / (1 - S_{ii} v_i)`; for
    squares it is exact. A sample with leverage :math:`h_{ii} = S_{ii} v_i = 1` has no fit without it and is refused.
    The closed forms cost one eigendecomposition, O(n³), or O(nr²) for a factor of rank r. On kinks values are as exact
    as the ``tol`` of the solver.

    The values of different i come from nearly the same fit, so that `standard_error` tells of the sample, not of the
    choice of the training set (Bengio, Grandvalet, 2004).

    GCV is :math:`\sum w_i r_i^2 / \sum w_i` over :math:`(1 - \mathrm{df}/n)^2`; GACV is
    :math:`\bar\ell + \frac{\mathrm{tr} S}{n} \cdot \frac{\sum y_i (y_i - \mu_i)}{n - \mathrm{tr} SV}` with y counts or
    labels 0 and 1.

    References
    ----------
    Golub, Heath, Wahba, *Generalized cross-validation as a method for choosing a good ridge parameter* (1979). Xiang,
    Wahba, *A generalized approximate cross validation for smoothing splines with non-Gaussian data* (1996), equation
    2.10; Lin, Wahba, Xiang, Gao, Klein, Klein, *Smoothing spline ANOVA models for large data sets with Bernoulli
    observations and the randomized GACV* (2000). Konishi, Kitagawa, *Generalised information criteria in model
    selection* (1996), section 3. Cauwenberghs, Poggio, *Incremental and decremental support vector machine learning*
    (2001). Rad, Maleki, *A scalable estimate of the extra-sample prediction error via approximate
    leave-one-out* (2020). Bengio, Grandvalet, *No unbiased estimator of the variance of K-fold cross-validation*
    (2004).

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
    X, y, sample_weight = indexable(X, y, sample_weight)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    fit_weight = {} if sample_weight is None else {"sample_weight": weight}
    model = seeded(estimator, random_state).fit(X, y, **fit_weight)
    work = _Work(model, X, y, weight, sample_weight is not None, cv, n_refits, random_state)
    if method in ("gcv", "gacv", "aic", "gic"):
        return work.criterion(method, loss)
    judge = _Judge(model, y, loss)
    reason = "as asked for"
    if method == "auto":
        method, reason = work.choice()
    return work.leave_out(method, reason, judge)


class _Judge:
    """What a loss asks a model for, and the loss of the answer at each sample."""

    def __init__(self, model: Any, y: Any, loss: Any):
        self.model, self.y, self.labels = model, np.asarray(host(y)), is_classifier(model)
        own = own_loss(model) if isinstance(model, KernelMachine) else None
        if loss is None:
            squares = own is None or type(own).__name__ == "Squared"
            loss = "zero_one" if self.labels else "squared" if squares else own
        self.name = loss if isinstance(loss, str) else getattr(loss, "name", getattr(loss, "__name__", "own"))
        if self.name == "log" and type(own).__name__ in LIKELIHOODS:
            loss = own  # the same, exact also where the probability is 0 in floating point
        self.loss = loss
        if isinstance(loss, str):
            check_choice(WHO, "loss", loss, NAMES)
            if (loss in ("zero_one", "log")) != self.labels:
                right = "'zero_one' or 'log'" if self.labels else "'squared' or 'absolute'"
                raise ValueError(f"{WHO}: loss = {loss!r} is not one for {type(model).__name__}; use {right}.")
            self.need = "probability" if loss == "log" else "prediction"
        elif isinstance(loss, Loss):
            if loss.coupled:
                raise ValueError(
                    f"{WHO}: the loss {type(loss).__name__} couples samples, and has no value for one alone; "
                    "give another loss, or a function of targets and predictions."
                )
            self.need = "value"
        elif callable(loss):
            self.need = "prediction"
        else:
            raise TypeError(f"{WHO}: loss = {loss!r} must be one of {NAMES}, a Loss, or a function.")

    def of_model(self, model: Any, X: Any) -> np.ndarray:
        """The answers of a model that was fitted to others."""
        if self.need == "probability":
            return np.asarray(model.predict_proba(X))
        if self.need == "prediction":
            return np.asarray(host(model.predict(X)))
        if isinstance(model, KernelMachine):
            return model._values(X)
        return np.asarray(host((model.decision_function if self.labels else model.predict)(X)))

    def of_values(self, f: np.ndarray) -> np.ndarray:
        """The answers that values of the function stand for."""
        own = getattr(self.model, "loss_", None)
        if self.need == "value":
            return f
        if self.need == "probability":
            if own is None or "link_inverse" not in own.provides:
                raise ValueError(
                    f"{WHO}: loss = 'log' needs probabilities, which this method has not of "
                    f"{type(self.model).__name__}; use method='kfold'."
                )
            p = np.asarray(own.link_inverse(f))
            return p if p.ndim == 2 else np.stack([1 - p, p], axis=1)
        if self.labels:
            return self.model.classes_[(f >= 0).astype(int) if f.ndim == 1 else f.argmax(axis=1)]
        return np.asarray(own.link_inverse(f)) if own is not None and "link_inverse" in own.provides else f

    def losses(self, answers: np.ndarray, index: Any = slice(None)) -> np.ndarray:
        """L at some samples, all unless told."""
        y, loss = self.y[index], self.loss
        if isinstance(loss, Loss):
            values = loss.value(self._encoded(y), answers)
        elif not isinstance(loss, str):
            values = loss(y, answers)
        elif loss == "zero_one":
            values = (answers != y).astype(np.float64)
        elif loss == "log":
            p = answers[np.arange(len(y)), np.searchsorted(self.model.classes_, y)]
            with np.errstate(divide="ignore"):
                values = -np.log(p)
        else:
            values = (y - answers) ** 2 if loss == "squared" else np.abs(y - answers)
        values = np.asarray(values, dtype=np.float64)
        if values.shape[:1] != y.shape[:1]:
            raise ValueError(
                f"{WHO}: loss gave values of shape {values.shape} for {len(y)} samples; give one for each."
            )
        return values if values.ndim == 1 else values.mean(axis=1)

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        if self.loss.task not in ("binary", "multiclass"):
            return y.astype(np.float64)
        place = np.searchsorted(self.model.classes_, y)
        return place if self.loss.task == "multiclass" else np.where(place == 1, 1.0, -1.0)


class _Work:
    """A fitted model, its samples, and the ways to leave some of them out."""

    def __init__(
        self, model: Any, X: Any, y: Any, weight: np.ndarray, weighted: bool, cv: Any, n_refits: int, random_state: int
    ):
        self.model, self.X, self.y, self.weight, self.weighted = model, X, y, weight, weighted
        self.cv, self.n_refits, self.random_state = cv, n_refits, random_state
        self.rng = np.random.default_rng(random_state)
        given = weight if weighted else None
        self.linear: Linear | None = linear(model, X, y, given)
        self.solved: Solved | str = "it has a closed form" if self.closed else solved(model, X, y, given)

    @property
    def closed(self) -> bool:
        """Whether there is a closed form."""
        return self.linear is not None or isinstance(self.model, Smoother)

    def choice(self) -> tuple[str, str]:
        """The method for the estimator, and why."""
        n, who = len(self.weight), type(self.model).__name__
        if self.closed:
            return "closed_form", f"{who} is linear in its targets, and leave-one-out is exact"
        rest = self.solved
        if isinstance(rest, Solved):
            loss = rest.problem.loss
            name = type(loss).__name__
            if self._smooth(rest):
                return "newton", f"the loss {name} is smooth, and leaving out is nearly one Newton step"
            if not loss.smooth and "box" in loss.provides:
                straight = f"the loss {name} is piecewise linear"
                if n <= PATHS:
                    return "active_set", f"{straight}, and leaving out follows a path from kink to kink"
                return "span", f"{straight}, and samples are many to follow from kink to kink"
            rest = f"the loss {name} is not convex" if not loss.convex else f"the loss {name} has no formula"
        return ("refit", f"{rest}, and {n} samples are few") if n <= FEW else ("kfold", f"{rest}, and samples are many")

    @staticmethod
    def _smooth(found: Solved) -> bool:
        loss, f = found.problem.loss, found.values
        narrow = f.ndim == 1 or min(len(f), WIDE) * f.shape[1] <= WIDE
        return loss.smooth and loss.convex and "hessian" in loss.provides and narrow

    # ---- leaving out

    def leave_out(self, method: str, reason: str, judge: _Judge) -> ExpectedLoss:
        """The mean over samples that were left out."""
        error, fits = 0.0, 0
        if method == "closed_form":
            values = judge.losses(judge.of_values(self._closed()))
        elif method in ("newton", "active_set", "span"):
            left = self._newton() if method == "newton" else self._kinks(method)
            values = judge.losses(judge.of_values(np.where(np.isnan(left), 0.0, left)))
            lost = np.flatnonzero(np.isnan(left) if left.ndim == 1 else np.isnan(left).any(axis=1))
            if len(lost):  # where the others do not determine the offset, or the path is lost
                values[lost] = self._refits(judge, ((i,) for i in lost))[lost]
            error, fits = (0.0, 0) if method == "active_set" else self._measured(judge, values, left, lost)
            fits += len(lost)
        else:
            splits = [(i,) for i in range(len(self.weight))] if method == "refit" else self._folds()
            values = self._refits(judge, splits)
            fits = len(splits)
        used = ~np.isnan(values)
        w = self.weight[used]
        mean = float(np.sum(w * values[used]) / np.sum(w))
        n = max(int(np.sum(w > 0)), 2)
        spread = float(np.sqrt(np.sum((w * (values[used] - mean)) ** 2) * n / (n - 1)) / np.sum(w))
        return ExpectedLoss(mean, spread, values, method, reason, judge.name, error, fits)

    def _closed(self) -> np.ndarray:
        if isinstance(self.model, Smoother):
            model: Any = self.model
            refuse_determined(np.where(self.weight > 0, 1 - np.asarray(host(model.leverage_), dtype=np.float64), 1.0))
            return np.asarray(host(model.leave_one_out_))
        if self.linear is None:
            raise self._unsuited("closed_form")
        form = self.linear
        path = Spectral(form.gram, form.H, form.weight)
        t = range(len(form.alphas))
        columns = [host(path.leave_one_out(form.b[:, j : j + 1], form.alphas[j : j + 1]))[:, 0, 0] for j in t]
        return columns[0] if self._single else np.stack(columns, axis=1)

    @property
    def _single(self) -> bool:
        """Whether the function has one value."""
        return self.linear is not None and len(self.linear.alphas) == 1 and np.ndim(host(self.y)) == 1

    def _newton(self) -> np.ndarray:
        if not isinstance(self.solved, Solved) or not self._smooth(self.solved):
            raise self._unsuited("newton")
        return Influence(self.solved.problem, self.solved.values).left_out()

    def _kinks(self, method: str) -> np.ndarray:
        found = self.solved
        if not isinstance(found, Solved) or found.problem.loss.smooth or "box" not in found.problem.loss.provides:
            raise self._unsuited(method)
        problem, a = found.problem, found.coefficients
        if method == "active_set":
            return active_set(problem, a, found.values)
        return found.values - span(problem.gram, a, ~at_vertex(problem, a), problem.H)

    def _unsuited(self, method: str) -> ValueError:
        other, why = self.choice()
        return ValueError(
            f"{WHO}: method = {method!r} does not suit {type(self.model).__name__}; use {other!r}: {why}."
        )

    def _folds(self) -> list[np.ndarray]:
        labels = is_classifier(self.model)
        cv = self.cv
        if isinstance(cv, Integral):
            check_number(WHO, "cv", cv, at_least=2, integer=True)
            cv = (StratifiedKFold if labels else KFold)(int(cv), shuffle=True, random_state=self.random_state)
        splitter = check_cv(cv, self.y, classifier=labels)
        return list(splitter.split(np.zeros(len(self.weight)), self.y))

    def _refits(self, judge: _Judge, splits: Iterable[Any]) -> np.ndarray:
        """The loss at each sample of fits without it, the mean over these; NaN where there is none.

        A split is (train, test), or (i,) for all samples but one.
        """
        n = len(self.weight)
        total, count = np.zeros(n), np.zeros(n)
        everything = np.arange(n)
        pairs = [(np.delete(everything, s[0]), np.array([s[0]])) if len(s) == 1 else s for s in splits]
        answers = self._ridge_folds(judge, pairs) if self.linear is not None else self._fitted_folds(judge, pairs)
        for (_, test), answer in zip(pairs, answers, strict=True):
            total[test] += judge.losses(answer, test)
            count[test] += 1
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)

    def _ridge_folds(self, judge: _Judge, pairs: list[Any]) -> Iterable[np.ndarray]:
        assert self.linear is not None
        form = self.linear
        path = Spectral(form.gram, form.H, form.weight)
        t = len(form.alphas)
        parts = [path.held_out(form.b[:, j : j + 1], form.alphas[j : j + 1], pairs) for j in range(t)]
        for columns in zip(*parts, strict=True):
            values = np.concatenate([host(c)[:, :, 0] for c in columns], axis=1)
            yield judge.of_values(values[:, 0] if self._single else values)

    def _fitted_folds(self, judge: _Judge, pairs: list[Any]) -> Iterable[np.ndarray]:
        """Refits of the frozen form: on blocks of one kernel matrix, or where landmarks or free functions belong to the
        samples, on all of them with weight zero for those that are left out.
        """
        form = frozen(self.model, self.y)
        sample = Sample(self.X, MEMORY, 1, True)
        in_place = (
            isinstance(form, KernelEstimator)
            and bool(sample.obstacle(form))
            and has_fit_parameter(form, "sample_weight")
        )
        for train, test in pairs:
            if in_place:
                w = np.zeros_like(self.weight)
                w[train] = self.weight[train]
                yield judge.of_model(clone(form).fit(self.X, self.y, sample_weight=w), _safe_indexing(self.X, test))
                continue
            machine, data = sample.machine(form, train)
            X_train, y_train = _safe_split(machine, data, self.y, train)
            X_test, _ = _safe_split(machine, data, self.y, test, train)
            given = {"sample_weight": self.weight[train]} if self.weighted else {}
            yield judge.of_model(machine.fit(X_train, y_train, **given), X_test)

    def _measured(self, judge: _Judge, values: np.ndarray, left: np.ndarray, lost: np.ndarray) -> tuple[float, int]:
        """The difference to the mean of exact refits, as far as it may be, from some of them; and their number."""
        assert isinstance(self.solved, Solved)
        moved = np.abs(left - self.solved.values)
        moved = moved if moved.ndim == 1 else moved.max(axis=1)
        moved = np.where(self.weight > 0, moved, 0.0)
        moved[lost] = 0.0
        order = np.argsort(-moved, kind="stable")
        order = order[moved[order] > 0]
        top, rest = order[: self.n_refits // 2], order[self.n_refits // 2 :]
        drawn = self.rng.permutation(rest)[: self.n_refits - len(top)]
        chosen = np.concatenate([top, drawn]).astype(np.int64)
        if not len(chosen):
            return 0.0, 0
        exact = self._refits(judge, ((int(i),) for i in chosen))
        d = self.weight * (exact - values)
        bias, reach = float(np.sum(d[top])), 0.0
        if len(drawn) > 1:
            bias += len(rest) * float(np.mean(d[drawn]))
            missed = 1 - len(drawn) / len(rest)
            error = len(rest) * float(np.sqrt(missed * np.var(d[drawn], ddof=1) / len(drawn)))
            reach = float(stats.t.ppf(0.995, len(drawn) - 1)) * error
        elif len(drawn):
            bias += float(d[drawn[0]])
        return (abs(bias) + reach) / float(self.weight.sum()), len(chosen)

    # ---- criteria

    def criterion(self, method: str, loss: Any) -> ExpectedLoss:
        """Estimates that leave nothing out."""
        expected = "squared" if method == "gcv" else "log"
        if loss is not None and loss != expected:
            raise ValueError(f"{WHO}: method = {method!r} is of loss = {expected!r}, not {loss!r}; leave loss out.")
        if method == "gcv" or (method == "aic" and self.closed):
            return self._of_squares(method)
        found = self.solved
        if not isinstance(found, Solved) or type(found.problem.loss).__name__ not in LIKELIHOODS:
            why = found if isinstance(found, str) else "its loss is no log-likelihood"
            raise ValueError(f"{WHO}: method = {method!r} is not defined for {type(self.model).__name__}: {why}.")
        problem, f = found.problem, found.values
        total, fit = float(problem.weight.sum()), problem.total(f)
        if method == "gacv":
            return self._gacv(found, fit / total)
        influence = Influence(problem, f)
        bias = influence.degrees_of_freedom if method == "aic" else influence.bias()
        reason = f"minus the log-likelihood {fit:.6g}, and its bias {bias:.6g}"
        return ExpectedLoss((fit + bias) / total, np.nan, None, method, reason, "log", np.nan, 0)

    def _gacv(self, found: Solved, mean: float) -> ExpectedLoss:
        problem, f = found.problem, found.values
        if f.ndim > 1:
            raise ValueError(f"{WHO}: method = 'gacv' has one value a sample; use 'newton' for several classes.")
        of_s, of_sv = random_traces(problem, f, PROBES, self.rng)
        n, w = len(f), problem.weight
        counts = (problem.y + 1) / 2 if type(problem.loss).__name__ == "Logistic" else problem.y.reshape(n, -1)[:, 0]
        residual = -np.asarray(problem.loss.gradient(problem.y, f))
        extra = of_s / n * float(np.sum(w * counts * residual)) / (n - of_sv) * n / float(w.sum())
        reason = f"traces of S and SV {of_s:.4g} and {of_sv:.4g}, from {PROBES} random vectors"
        return ExpectedLoss(mean + extra, np.nan, None, "gacv", reason, "log", np.nan, 0)

    def _of_squares(self, method: str) -> ExpectedLoss:
        if is_classifier(self.model) or (self.linear is None and not isinstance(self.model, Smoother)):
            raise ValueError(
                f"{WHO}: method = {method!r} is not defined for {type(self.model).__name__}, whose predictions are not "
                "linear in numbers y."
            )
        w, y = self.weight, np.asarray(host(self.y), dtype=np.float64)
        n = int(np.sum(w > 0))
        if isinstance(self.model, Smoother):
            df = np.array([float(self.model.edf_)])
        else:
            assert self.linear is not None
            path = Spectral(self.linear.gram, self.linear.H, self.linear.weight)
            df = np.array(
                [
                    float(path.degrees_of_freedom(self.linear.alphas[j : j + 1])[0])
                    for j in range(len(self.linear.alphas))
                ]
            )
        if np.any(df > n - DETERMINED * np.finfo(np.float64).eps * n):
            raise ValueError(
                f"{WHO}: method = {method!r}: the fit goes through all samples, so that all leverages hᵢᵢ are 1 and no "
                "residual is left to judge by; use alpha > 0."
            )
        residual = (y - np.asarray(host(self.model.predict(self.X)))).reshape(len(w), -1)
        reason = f"effective degrees of freedom {' '.join(f'{d:.6g}' for d in df)} of {n} samples"
        if method == "aic":
            variance = np.sum(w[:, None] * residual**2, axis=0) / n
            value = float(np.mean(0.5 * np.log(2 * np.pi * variance) + 0.5 + (df + 1) / n))
            return ExpectedLoss(value, np.nan, None, method, reason, "log", np.nan, 0)
        values = np.mean((residual / (1 - df / n)) ** 2, axis=1)
        mean = float(np.sum(w * values) / np.sum(w))
        return ExpectedLoss(mean, np.nan, None, method, reason, "squared", np.nan, 0)
