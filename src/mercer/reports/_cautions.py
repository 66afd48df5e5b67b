"""What a statistician would say: each warning is a sentence, the number behind it and what to do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from .. import IndefiniteKernelWarning, JitterWarning, KreinRidge, KreinSVC
from .._array import is_sparse
from ..domains.tables import is_missing
from ..kernels import Table
from ._case import TINY, Case, Spectrum
from ._estimate import LINEAR, MEAN, NORMAL, OURS, Estimate

LEVELS = ("serious", "caution", "note")
ALONE = 0.99  # balanced accuracy, or rank correlation, of one column from which it is suspected to know the answer
ORDINARY = 0.9  # and of the next best, below which it stands out
TWINS = 0.05  # share of held-out samples that stand in the training part as well
RATIO = 10.0  # of the largest class to the smallest
FEW = 10  # samples of a class
FEW_ALL = 30  # samples at all
WIDE = {"accuracy": 0.1, "R²": 0.2, "D²": 0.2}  # two standard errors of a score
CONSTANT, IDENTITY = 0.99, 0.7  # mean similarity, and participation ratio over m, from which a kernel tells nothing
ILL = 1e12  # condition number that leaves four digits of sixteen
SCALES = 1e3  # ratio of ranges
FAR = 6.0  # robust standard deviations
GAP = 0.2  # training score above the held-out one
LOOKED_AT = 300  # columns at most, that are tried one by one against y
SAMPLED = 2000  # samples with which they are


@dataclass(frozen=True)
class Caution:
    """One warning.

    Attributes
    ----------
    name : str
        Which kind, such as "leakage" or "imbalance".
    level : {"serious", "caution", "note"}
        "serious": results should not be used before this is cleared up.
    title, text, remedy : str
        What is wrong, the numbers behind it, and what to do.
    """

    name: str
    level: str
    title: str
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.level.upper()} {self.title}. {self.text} {self.remedy}"


def cautions(case: Case, estimate: Estimate) -> list[Caution]:
    """All that apply, the worst first."""
    parts = (_leaks, _columns, _target, _sizes, _scores, _kernel, _tuning, _solver)
    found = [caution for part in parts for caution in part(case, estimate)]
    return sorted(found, key=lambda c: LEVELS.index(c.level))


# ---- leakage


def _leaks(case: Case, estimate: Estimate) -> Iterator[Caution]:
    if case.labelled and np.ndim(case.y) == 1 and case.n >= FEW_ALL and len(case.columns) > 1:
        measure = "balanced accuracy" if case.kind == "classifier" else "rank correlation"
        scores = _alone(case)
        ordinary = sorted(scores.values())[-2] if len(scores) > 1 else 0.0  # one that stands out is the more suspect
        for name, score in scores.items():
            if score < ALONE:
                continue
            yield Caution(
                "leakage", "serious" if ordinary < ORDINARY else "caution",
                f"Column “{name}” alone predicts y almost perfectly",
                f"With this column and nothing else, the {measure} is {score:.3f}.",
                "Ask whether its value is known before the outcome; if it was made from y or after it, drop it.",
            )  # fmt: skip
    if case.identity is None:
        return
    share = twins(case, estimate)
    if share > TWINS:
        yield Caution(
            "duplicates", "serious" if share > 0.2 else "caution", "The same samples are trained on and tested on",
            f"{share:.1%} of the held-out samples have an identical one in the part that was trained on.",
            "If they are copies of one individual, drop them or give groups=; if such rows arise by themselves, the "
            "estimate stands for data of this kind.",
        )  # fmt: skip
    against = contradictions(case)
    if against:
        yield Caution(
            "contradictions", "caution", "Identical samples have different labels",
            f"{against} samples share all their values with one of another class; no method can tell them apart.",
            "Look at them: labels may be wrong, or a column that decides is missing.",
        )  # fmt: skip
    if case.labelled and not case.steps and _standardised(case):
        yield Caution(
            "prepared", "note", "The columns arrive standardised",
            "Every column of X has mean 0 and standard deviation 1 over all samples.",
            "If that was computed here, samples that are held out had a part in it: scale within a pipeline.",
        )  # fmt: skip


def _alone(case: Case) -> dict[str, float]:
    """How well y follows from each column alone; of very many, from those that go along with it best."""
    chosen = _some(case)
    y, found = case.y[chosen], {}
    for name in _promising(case, chosen):
        values = case.columns[name][chosen]
        words = values.dtype.kind != "f"
        codes = np.unique([str(v) for v in values], return_inverse=True)[1] if words else values
        known = np.isfinite(codes)
        if known.mean() < 0.5 or len(np.unique(codes[known])) < 2:
            continue
        if case.kind == "classifier":
            found[name] = _separation(codes[known], y[known], words)
        elif not words:
            found[name] = abs(_rank_correlation(codes[known], y[known]))
    return found


def _some(case: Case) -> np.ndarray:
    """At most `SAMPLED` samples, of each class as many as of any other, as far as it has them."""
    order = np.random.default_rng(case.random_state).permutation(case.n)
    if case.kind != "classifier":
        return order[:SAMPLED]
    members = (order[case.y[order] == label] for label in case.classes[0])
    return np.concatenate([own[: SAMPLED // len(case.classes[0])] for own in members])


def _promising(case: Case, chosen: np.ndarray) -> list[str]:
    """The names of at most `LOOKED_AT` columns: those of which most variance lies between values of y."""
    if len(case.columns) <= LOOKED_AT:
        return list(case.columns)
    numbers = {name: np.nan_to_num(v[chosen]) for name, v in case.columns.items() if v.dtype.kind == "f"}
    A = np.column_stack([v - v.mean() for v in numbers.values()])
    y = case.y[chosen]
    Q = (y[:, None] == np.unique(y)).astype(np.float64) if case.kind == "classifier" else rankdata(y)[:, None]
    Q = Q - Q.mean(axis=0) if case.kind != "classifier" else Q
    share = ((Q / np.linalg.norm(Q, axis=0)).T @ A) ** 2
    share = share.sum(axis=0) / np.maximum((A**2).sum(axis=0), 1e-300)
    words = [name for name in case.columns if name not in numbers]
    order = np.argsort(-share, kind="stable")
    return [*words, *(list(numbers)[j] for j in order)][:LOOKED_AT]


def _separation(x: np.ndarray, y: np.ndarray, words: bool) -> float:
    """The balanced accuracy of a small tree on one column: held out, where it is suspicious, else in the sample."""
    labels, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(labels) < 2 or counts.min() < 5:
        return 0.0
    leaves = None if words else 2 * len(labels)
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, class_weight="balanced", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        column = x.reshape(-1, 1)
        inside = float(balanced_accuracy_score(place, tree.fit(column, place).predict(column)))
        if inside < ALONE:
            return inside
        return float(np.mean(cross_val_score(tree, column, place, cv=5, scoring="balanced_accuracy")))


def _rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(np.corrcoef(rankdata(x), rankdata(y))[0, 1])


def twins(case: Case, estimate: Estimate) -> float:
    """The share of held-out samples whose like stands in the training part."""
    if case.identity is None or not estimate.splits:
        return 0.0
    hits = [np.isin(case.identity[test], case.identity[train]) for train, test in estimate.splits]
    return float(np.mean(np.concatenate(hits)))


def contradictions(case: Case) -> int:
    """How many samples have a twin of another class."""
    if case.identity is None or case.kind != "classifier" or np.ndim(case.y) != 1:
        return 0
    codes = np.unique(case.y, return_inverse=True)[1]
    groups = int(case.identity.max()) + 1
    low, high = np.full(groups, len(codes)), np.full(groups, -1)
    np.minimum.at(low, case.identity, codes)
    np.maximum.at(high, case.identity, codes)
    return int(np.sum((low != high)[case.identity]))


def _standardised(case: Case) -> bool:
    values = list(case.columns.values())
    if len(values) < 2 or case.n < FEW_ALL or any(v.dtype.kind != "f" or np.isnan(v).any() for v in values):
        return False
    A = np.column_stack(values)
    return bool(np.all(np.abs(A.mean(axis=0)) < 1e-8) and np.all(np.abs(A.std(axis=0) - 1) < 1e-6))


# ---- columns


def _columns(case: Case, estimate: Estimate) -> Iterator[Caution]:
    constant, sparse, keys = [], [], []
    for name, column in case.columns.items():
        missing = is_missing(column)
        known = column[~missing]
        distinct = len(np.unique(known)) if column.dtype.kind == "f" else len(set(map(str, known)))
        if distinct < 2:
            constant.append(name)
        elif missing.mean() > 0.5:
            sparse.append(name)
        elif _is_key(column, distinct, case.n):
            keys.append(name)
    if constant and len(constant) < len(case.columns) and case.n > 1:
        yield Caution(
            "constant", "note", "Columns that do not vary",
            f"{_listed(constant)} {'has' if len(constant) == 1 else 'have'} one value throughout.",
            "Drop them, and ask whether something went wrong when they were read.",
        )  # fmt: skip
    if sparse:
        yield Caution(
            "missing", "caution", "Columns that are mostly missing",
            f"More than half of the values of {_listed(sparse)} are missing.",
            "Ask why: values that are missing for a reason are information, or leakage.",
        )  # fmt: skip
    if keys and len(case.columns) > 1:
        yield Caution(
            "identifier", "caution", "Columns that number or name the samples",
            f"{_listed(keys)}: every sample has a value of its own.",
            "Identifiers say nothing of new samples; drop them, or use them as groups=.",
        )  # fmt: skip
    ratio = spread_ratio(case)
    if ratio > SCALES:
        yield Caution(
            "scales", "caution", "Columns of very different scales",
            f"The kernel treats all columns alike, and their ranges differ by a factor of {ratio:.3g}: it does not see "
            "the smallest.",
            "Put StandardScaler before the method in a pipeline, or use a kernel with one lengthscale for each column.",
        )  # fmt: skip


def _is_key(column: np.ndarray, distinct: int, n: int) -> bool:
    if n < FEW_ALL:
        return False
    if column.dtype.kind != "f":
        return distinct > 0.95 * n
    return distinct == n and bool(np.array_equal(np.sort(column), np.arange(n) + column.min()))


def spread_ratio(case: Case) -> float:
    """Of the largest to the smallest range of columns, as the kernel sees them; 1 where it has scales or parts.

    Ranges and not standard deviations, which are small also for what is seldom but of the same unit, as a pixel at the
    rim.
    """
    kernel = getattr(case.model, "kernel_", None)
    Z = case.Z
    if kernel is None or isinstance(kernel, Table) or case.pairwise or is_sparse(Z) or not case.columns:
        return 1.0
    if any(
        name.endswith("columns") or (name.endswith("lengthscale") and np.ndim(v))
        for name, v in kernel.get_params().items()
    ):
        return 1.0
    try:
        ranges = np.ptp(np.asarray(Z, dtype=np.float64), axis=0)
    except (TypeError, ValueError):
        return 1.0
    used = ranges[ranges > 1e-12 * ranges.max(initial=0)]
    return float(used.max() / used.min()) if used.size else 1.0


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"“{name}”" for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


# ---- the target, and how much of it there is


def _target(case: Case, estimate: Estimate) -> Iterator[Caution]:
    if not case.labelled or np.ndim(case.y) != 1:
        return
    if case.kind == "classifier":
        labels, counts = case.classes
        most, least = counts.max(), counts.min()
        if most >= RATIO * least:
            yield Caution(
                "imbalance", "caution", "Classes of very different size",
                f"Class “{labels[counts.argmax()]}” has {most} samples and class “{labels[counts.argmin()]}” {least}: "
                f"{most / least:.0f} to 1. Always answering the first is right in {most / counts.sum():.1%}.",
                "Judge by balanced accuracy and the confusion matrix; class_weight=\"balanced\" weighs errors by "
                "class, where the method has it.",
            )  # fmt: skip
        return
    if case.n > 1 and np.ptp(case.y) == 0:
        yield Caution(
            "constant", "serious", "The target does not vary",
            f"All {case.n} targets are {case.y[0]:.4g}; there is nothing to explain, and R² means nothing.",
            "Check the column that was taken as y.",
        )  # fmt: skip
        return
    far = target_outliers(case.y)
    if far.size and case.n >= FEW:
        worst = case.y[far[np.argmax(np.abs(case.y[far] - np.median(case.y)))]]
        yield Caution(
            "outliers", "caution", "Targets far from all others",
            f"{far.size} of {case.n} targets lie more than {FAR:.0f} robust standard deviations from the median "
            f"{np.median(case.y):.4g}; the farthest is {worst:.4g}.",
            "Squares follow such values: check them, take logarithms if they are one side of a long tail, or use "
            "RobustKernelRegression or SVR.",
        )  # fmt: skip


def target_outliers(y: np.ndarray) -> np.ndarray:
    """Which targets are more than `FAR` robust standard deviations from the median."""
    away = np.abs(y - np.median(y))
    scale = 1.4826 * np.median(away) or 1.2533 * np.mean(away)  # the second where more than half are equal
    return np.flatnonzero(away > FAR * scale)


def _sizes(case: Case, estimate: Estimate) -> Iterator[Caution]:
    if case.kind == "classifier" and np.ndim(case.y) == 1:
        labels, counts = case.classes
        if counts.min() < FEW:
            rare = [str(label) for label in labels[counts < FEW]]
            yield Caution(
                "few", "serious" if counts.min() < 5 else "caution", "Too few samples of a class",
                f"{_listed(rare)}: {counts.min()} samples in the rarest class, and below {FEW} nothing is learnt or "
                "measured reliably.",
                "Collect more, or join classes; read errors of that class as anecdotes.",
            )  # fmt: skip
            return
    if case.n < FEW_ALL:
        yield Caution(
            "few", "caution", "Too few samples",
            f"There are {case.n}. Whatever is estimated from fewer than {FEW_ALL} has errors as large as itself.",
            "Prefer simple kernels and strong penalties, and report leave-one-out with its standard error.",
        )  # fmt: skip


def _scores(case: Case, estimate: Estimate) -> Iterator[Caution]:
    if estimate.failure and case.labelled and not estimate.failure.startswith("cv=None"):
        yield Caution(
            "estimate", "serious", "The error could not be estimated", estimate.failure,
            "Give more samples, or other folds by cv=.",
        )  # fmt: skip
    if estimate.failure:
        return
    yield from _rivals(case, estimate)
    if not case.labelled:
        return
    ours, metric = estimate.mean(), estimate.metric
    if case.kind == "classifier" and metric == "accuracy" and np.ndim(case.y) == 1:
        blind = case.classes[1].max() / case.n
        slack = np.sqrt(blind * (1 - blind) / case.n)
        if ours <= blind + 2 * slack:
            balanced, chance = estimate.scores["balanced accuracy"][OURS].mean(), 1 / len(case.classes[0])
            yield Caution(
                "useless", "serious" if balanced < chance + 0.1 else "caution",
                f"{'No' if ours <= blind else 'Hardly'} better than always giving the largest class",
                f"The accuracy is {ours:.3f}, and that of the largest class {blind:.3f} ± {slack:.3f}. The balanced "
                f"accuracy is {balanced:.3f}, by chance {chance:.3f}.",
                "Scale the columns, tune the kernel, or accept that these columns do not tell the classes apart.",
            )  # fmt: skip
    elif metric in ("R²", "D²") and ours <= 0 and not _beats_the_mean(estimate):
        constant = "the mean of y" if metric == "R²" else "a constant"
        theirs = estimate.mean(MEAN) if metric == "R²" else 0.0
        yield Caution(
            "useless", "serious", f"No better than {constant}",
            f"On held-out samples {metric} is {ours:.3f}; {constant} has {theirs:.3g}.",
            "Scale the columns and y, tune the kernel and the penalty, or accept that these columns do not tell of y.",
        )  # fmt: skip
    if metric in WIDE and 2 * estimate.error > WIDE[metric]:
        folds = estimate.scores[metric][OURS]
        yield Caution(
            "spread", "caution", "The error is known only roughly",
            f"Over {len(folds)} folds {metric} goes from {folds.min():.3f} to {folds.max():.3f}; two standard errors "
            f"of its mean are {2 * estimate.error:.3f}.",
            "Do not choose between methods by smaller differences; collect more samples, or repeat the folds.",
        )  # fmt: skip
    gap = estimate.training.get(metric, np.nan) - max(ours, 0.0)  # below zero there is nothing to lose
    if metric in WIDE and gap > GAP:
        yield Caution(
            "overfitting", "note", "Much better on the samples that it was fitted to",
            f"There {metric} is {estimate.training[metric]:.3f}, on held-out samples {ours:.3f}.",
            "Not wrong by itself for kernels, but try a stronger penalty (larger alpha, smaller C) or a longer "
            "lengthscale.",
        )  # fmt: skip


def _beats_the_mean(estimate: Estimate) -> bool:
    """Whether the mean of y is behind in every fold: R² of few samples is below zero for both."""
    scores = estimate.scores[estimate.metric]
    return MEAN in scores and bool(np.all(scores[OURS] > scores[MEAN]))


def _rivals(case: Case, estimate: Estimate) -> Iterator[Caution]:
    """A linear model, or one Gaussian, that does better by more than chance."""
    metric = estimate.metric
    kinds = {
        LINEAR: ("linear", "A linear model", "Scale the columns and tune the kernel", "the linear model"),
        NORMAL: ("normal", "One Gaussian", "Choose the bandwidth by cross-validation", "the Gaussian"),
    }
    for who, (name, title, remedy, simple) in kinds.items():
        rival = estimate.scores[metric].get(who)
        if rival is None or len(rival) < 3 or metric not in (*WIDE, "mean log density"):
            continue
        ahead = rival - estimate.scores[metric][OURS]
        with np.errstate(invalid="ignore"):  # a density of zero is infinitely far behind
            chance = 2 * ahead.std(ddof=1) / np.sqrt(len(ahead))
        if ahead.mean() > max(0.01, chance):
            yield Caution(
                name, "caution", f"{title} does better",
                f"Its {metric} on the same folds is {rival.mean():.3f}, that of this model {estimate.mean():.3f}.",
                f"{remedy}; if it stays so, use {simple}.",
            )  # fmt: skip


# ---- the kernel, the search, the solver


def _kernel(case: Case, estimate: Estimate) -> Iterator[Caution]:
    found = case.spectrum
    if found is None or len(found.eigenvalues) < 3:
        return
    yield from _bandwidth(case, found)
    if case.alpha is not None and found.condition > ILL:
        matrix, given = ("K + αI", f" with α = {case.alpha:g}") if case.alpha else ("K", "")
        first = "Raise alpha, shorten" if hasattr(case.model, "alpha") else "Shorten"
        yield Caution(
            "conditioning", "caution", "The linear system is ill-conditioned",
            f"The condition number of {matrix} is {found.condition:.2g}{given}: digits that count are lost to "
            "rounding.",
            f"{first} the lengthscale, use a rougher kernel, or drop samples that nearly coincide.",
        )  # fmt: skip
    if not isinstance(case.model, (KreinRidge, KreinSVC)) and _indefinite(case):
        yield Caution(
            "indefinite", "serious", "The kernel is not positive definite",
            f"Negative eigenvalues make {found.negative:.2%} of the spectrum; the least is {found.eigenvalues[-1]:.3g} "
            f"beside the largest {found.eigenvalues[0]:.3g}.",
            "The method's problem need not have a minimum: correct the spectrum (mercer.kernels.Clipped and others), "
            "or use KreinRidge or KreinSVC.",
        )  # fmt: skip


def _bandwidth(case: Case, found: Spectrum) -> Iterator[Caution]:
    m = len(found.eigenvalues)
    if m < FEW:
        return
    name = "bandwidth" if hasattr(case.model, "bandwidth") else "lengthscale (gamma {})"
    known = "bandwidth" in name or any(p.endswith("lengthscale") for p in case.model.kernel_.get_params())
    fitted = "" if "bandwidth" in name else '; lengthscale="median" fits it to the data'
    # where k(x, x) differs, as for a linear kernel, a mean far from zero looks the same and does no harm
    if found.similarity > CONSTANT and found.even:
        yield Caution(
            "bandwidth", "caution", "The kernel is nearly constant on these samples",
            f"Two different samples have similarity {found.similarity:.4f} on average, where 1 is that of equal ones.",
            f"Take a shorter {name.format('larger')}{fitted}." if known else
            "Take a kernel that sees finer differences.",
        )  # fmt: skip
    elif found.participation > IDENTITY * m and found.least > -TINY:
        yield Caution(
            "bandwidth", "caution", "The kernel sees every sample as similar to itself alone",
            f"Its matrix is nearly diagonal: {found.participation:.0f} of {m} directions count alike, and the mean "
            f"similarity of two samples is {found.similarity:.2g}.",
            f"Take a longer {name.format('smaller')}{fitted}." if known else
            "Take a kernel that sees coarser likeness, such as shorter substrings or fewer rounds of refinement.",
        )  # fmt: skip


def _indefinite(case: Case) -> bool:
    found = case.spectrum
    claim = case.model.kernel_.definiteness_in(case.dimension)
    if found is None or claim.is_cpd:
        return False
    largest = np.abs(found.eigenvalues).max(initial=0)
    return bool(found.eigenvalues[-1] < -max(TINY, 1e-14 * len(found.eigenvalues)) * 100 * largest)


def _tuning(case: Case, estimate: Estimate) -> Iterator[Caution]:
    for name, value, ends in edges(case):
        low, high = ends
        yield Caution(
            "edge", "caution", f"The best {name} lies at the end of what was tried",
            f"{value:.4g} was chosen, of values from {low:.4g} to {high:.4g}.",
            f"Go on beyond {value:.4g}: the best may be there.",
        )  # fmt: skip


def edges(case: Case) -> list[tuple[str, float, tuple[float, float]]]:
    """Parameters whose chosen value, the only best, is the least or the largest of three or more that were tried."""
    return [
        (name, v, (min(tried), max(tried)))
        for name, v, tried in tried_values(case)
        if v in (min(tried), max(tried)) and not _is_tie(case.search, name, v)
    ]


def _is_tie(search: Any, name: str, value: float) -> bool:
    """Whether another value of the parameter has the best score as well: then nothing points beyond the grid."""
    results: Any = getattr(search, "cv_results_", {})
    if f"param_{name}" not in results or "mean_test_score" not in results:
        return False
    others = np.array([v != value for v in np.ma.asarray(results[f"param_{name}"]).tolist()])
    scores = np.asarray(results["mean_test_score"], dtype=np.float64)
    return bool(np.nanmax(scores[others], initial=-np.inf) >= np.nanmax(scores) - 1e-12)


def tried_values(case: Case) -> list[tuple[str, float, list[float]]]:
    """Numbers that were searched: the name, the chosen value, and all that were tried, if three or more."""
    found = []
    search, model = case.search, case.model
    results: Any = getattr(search, "cv_results_", {})
    value: Any
    for name, value in getattr(search, "best_params_", {}).items():
        column = [v for v in np.ma.asarray(results.get(f"param_{name}", [])).tolist() if is_number(v)]
        if is_number(value):
            found.append((name, float(value), sorted({float(v) for v in column})))
    for name, chosen, grid in (("alpha", "alpha_", "alphas"), ("bandwidth", "bandwidth_", "cv_bandwidths_")):
        tried: Any = getattr(model, grid + "_", getattr(model, grid, None))
        value = getattr(model, chosen, None)
        if is_number(value) and np.ndim(tried) == 1:
            found.append((name, float(value), sorted({float(v) for v in np.asarray(tried)})))
    return [(name, value, tried) for name, value, tried in found if len(tried) > 2]


def is_number(value: Any) -> bool:
    """Whether a parameter is a number, and no switch."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _solver(case: Case, estimate: Estimate) -> Iterator[Caution]:
    unsolved = [s for s in solutions(case.model) if getattr(s, "converged", True) is False]
    if unsolved:
        gap = max((float(g) for s in unsolved if (g := getattr(s, "gap", None)) is not None), default=np.nan)
        said = f" The largest gap is {gap:.3g}." if np.isfinite(gap) else ""
        yield Caution(
            "convergence", "serious", "The solver stopped before it was done",
            f"{len(unsolved)} of {len(solutions(case.model))} problems ended early, after "
            f"{max(int(s.n_iter) for s in unsolved)} iterations.{said}",
            "Raise max_iter or time_budget, scale the columns, or lower C.",
        )  # fmt: skip
    known = {ConvergenceWarning: "convergence", JitterWarning: "conditioning", IndefiniteKernelWarning: "indefinite"}
    for words, category in case.heard.items():
        name = known.get(category, "fit")
        if (name == "convergence" and unsolved) or (name == "indefinite" and case.K is not None and _indefinite(case)):
            continue
        yield Caution(
            name, "serious" if name == "convergence" else "caution", "The fit gave a warning", words,
            "It is the method's own; its documentation says more.",
        )  # fmt: skip


def solutions(model: Any) -> list[Any]:
    """What solvers reported."""
    found = getattr(model, "solutions_", None) or getattr(model, "solution_", None)
    return list(found) if isinstance(found, (list, tuple)) else [] if found is None else [found]
