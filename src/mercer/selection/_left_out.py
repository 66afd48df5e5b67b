"""Losses at held-out samples, by formulas and by refits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import stats
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import has_fit_parameter

from .._array import host
from ..context import current
from ..methods.base import frozen, is_kernel_estimator
from ..solvers.kinks import active_set, at_vertex, refuse_inconsistent, span
from ..solvers.leave_one_out import Influence, refuse_determined
from ..solvers.spectral import Spectral
from ._forms import Fitted, weights
from ._judge import WHO, Judge
from ._sample import Sample

MEMORY = 2**31  # bytes for a kernel matrix that folds share

Split = tuple[np.ndarray, np.ndarray]  # training and test indices


def alone(n: int, samples: Iterable[int]) -> list[Split]:
    """Splits that leave single samples out."""
    return [(np.delete(np.arange(n), i), np.array([i])) for i in samples]


def by_formula(fit: Fitted, method: str) -> np.ndarray:
    """Leave-one-out values at each sample, of shape (n,) or (n, k); NaN where the formula fails."""
    if method == "closed_form":
        return fit.left_out()
    found = fit.solved
    assert found is not None
    problem, a = found.problem, found.coefficients
    if problem.H is not None:
        Q = np.linalg.qr(problem.H * (problem.weight > 0)[:, None])[0]
        refuse_determined(1 - np.sum(Q**2, axis=1))
    if method == "newton":
        return Influence(problem, found.values).left_out()
    refuse_inconsistent(problem, a, found.values)
    if method == "active_set":
        return active_set(problem, a, found.values)
    return found.values - span(problem.gram.block, problem.gram.diagonal(), a, ~at_vertex(problem, a), problem.H)


def by_splits(fit: Fitted, judge: Judge, splits: list[Split], refit: bool) -> np.ndarray:
    """The loss at each sample, averaged over the fits without it; NaN for samples that no split leaves out."""
    total, count = np.zeros(fit.n), np.zeros(fit.n)
    shared = fit.linear is not None and not refit and not judge.coupled
    answers = _of_one_decomposition(fit, judge, splits) if shared else _of_refits(fit, judge, splits)
    for (train, test), answer in zip(splits, answers, strict=True):
        if judge.coupled:  # the loss added by the held-out samples, divided equally among them
            total[test] += judge.added(answer, fit.weight, train) / max(float(fit.weight[test].sum()), 1e-300)
        else:
            total[test] += judge.losses(answer, test)
        count[test] += 1
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _of_one_decomposition(fit: Fitted, judge: Judge, splits: list[Split]) -> Iterator[np.ndarray]:
    form = fit.linear
    assert form is not None
    path = Spectral(form.gram, form.H, form.weight)
    t = len(form.alphas)
    parts = [path.held_out(form.b[:, j : j + 1], form.alphas[j : j + 1], splits) for j in range(t)]
    for columns in zip(*parts, strict=True):
        current().insist()
        values = np.concatenate([host(c)[:, :, 0] for c in columns], axis=1)
        yield judge.of_values(values[:, 0] if fit.single else values)


def _of_refits(fit: Fitted, judge: Judge, splits: list[Split]) -> Iterator[np.ndarray]:
    """Refits of the frozen form: on blocks of one kernel matrix, or, where landmarks or free functions depend on the
    samples, on all samples with weight zero for the held-out ones.
    """
    form = frozen(fit.model, fit.y)
    sample = Sample(fit.X, MEMORY, 1, True)
    in_place = is_kernel_estimator(form) and bool(sample.obstacle(form)) and has_fit_parameter(form, "sample_weight")
    for train, left in splits:
        current().insist()
        test = np.arange(fit.n) if judge.coupled else left
        if fit.labels and len(present := np.unique(host(fit.y)[train])) < 2:
            raise ValueError(
                f"{WHO}: without sample {left[0]} only one class is left, {present.tolist()[0]!r}; add samples of the "
                "other class."
            )
        if in_place:
            w = np.zeros_like(fit.weight)
            w[train] = fit.weight[train]
            yield judge.of_model(clone(form).fit(fit.X, fit.y, sample_weight=w), _safe_indexing(fit.X, test))
            continue
        machine, data = sample.machine(form, train)
        X_train, y_train = _safe_split(machine, data, fit.y, train)
        X_test, _ = _safe_split(machine, data, fit.y, test, train)
        given = weights(machine, None if fit.given is None else fit.given[train])
        yield judge.of_model(machine.fit(X_train, y_train, **given), X_test)


def measured(
    fit: Fitted, judge: Judge, values: np.ndarray, moved: np.ndarray, most: int, rng: np.random.Generator
) -> tuple[float, int]:
    """A 99 % confidence bound on the error of the mean of approximate losses, relative to n refits; number of refits.

    Half of the refits leave out the samples where this has `moved` the value most (0: the loss is exact); the other
    half is a random sample of the rest.
    """
    order = np.argsort(-moved, kind="stable")
    order = order[moved[order] > 0]
    top, rest = order[: most // 2], order[most // 2 :]
    drawn = rng.permutation(rest)[: most - len(top)]
    chosen = np.concatenate([top, drawn]).astype(np.int64)
    if not len(chosen):
        return 0.0, 0
    d = fit.weight * (by_splits(fit, judge, alone(fit.n, chosen), refit=True) - values)
    bias, reach = float(np.sum(d[top])), 0.0
    if len(drawn):
        bias += len(rest) * float(np.mean(d[drawn]))
    if 1 < len(drawn) < len(rest):
        missed = 1 - len(drawn) / len(rest)
        error = len(rest) * float(np.sqrt(missed * np.var(d[drawn], ddof=1) / len(drawn)))
        reach = float(stats.t.ppf(0.995, len(drawn) - 1)) * error
    return (abs(bias) + reach) / float(fit.weight.sum()), len(chosen)
