"""The warnings a statistician would give: each is a sentence, the evidence and a remedy."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from .. import IndefiniteKernelWarning, JitterWarning
from .._array import is_sparse
from ..domains.tables import is_missing
from ..kernels import Table
from ..types import EstimatorLike
from ._case import TINY, Case, SampledSpectrum
from ._estimate import LINEAR, MEAN, NORMAL, OURS, Estimate

LEVELS = ("serious", "caution", "note")
ALONE = 0.99  # a single column with this balanced accuracy, or rank correlation, suggests leakage
ORDINARY = 0.9  # if the next best column is below this, the best one stands out
TWINS = 0.05  # fraction of held-out samples that are also in the training set
RATIO = 10.0  # size ratio of the largest class to the smallest
FEW = 10  # samples per class
FEW_ALL = 30  # samples in total
WIDE = {"accuracy": 0.1, "R²": 0.2, "D²": 0.2}  # two standard errors of a score
CONSTANT, IDENTITY = 0.99, 0.7  # an uninformative kernel: mean similarity, and participation ratio over m
ILL = 1e12  # condition number that leaves four of sixteen digits
SCALES = 1e3  # ratio of column ranges
FAR = 6.0  # robust standard deviations
GAP = 0.2  # training score minus held-out score
LOOKED_AT = 300  # maximum number of columns tested individually against y
SAMPLED = 2000  # maximum number of samples for these tests


@dataclass(frozen=True)
class Caution:
    """One warning.

    Attributes
    ----------
    name : str
        The kind of warning, such as "leakage" or "imbalance".
    level : {"serious", "caution", "note"}
        "serious": do not use the results before this is resolved.
    title, text, remedy : str
        What is wrong, the evidence, and what to do.
    """

    name: str
    level: str
    title: str
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.level.upper()} {self.title}. {self.text} {self.remedy}"


def cautions(case: Case, estimate: Estimate) -> list[Caution]:
    """All warnings that apply, the most serious first."""
    parts = (_leaks, _columns, _target, _sizes, _scores, _kernel, _tuning, _solver)
    found = [caution for part in parts for caution in part(case, estimate)]
    return sorted(found, key=lambda c: LEVELS.index(c.level))


# ---- leakage


def _leaks(case: Case, estimate: Estimate) -> Iterator[Caution]:
    if case.labelled and np.ndim(case.y) == 1 and case.n >= FEW_ALL and len(case.columns) > 1:
        measure = "balanced accuracy" if case.kind == "classifier" else "rank correlation"
        scores = _alone(case)
        ordinary = sorted(scores.values())[-2] if len(scores) > 1 else 0.0  # one that stands out is more suspicious
        for name, score in scores.items():
            if score < ALONE:
                continue
            yield Caution(
                "leakage", "serious" if ordinary < ORDINARY else "caution",
                f"Column “{name}” alone predicts y almost perfectly",
                f"With this column alone, the {measure} is {score:.3f}.",
                "Check that its value is known before the outcome; drop it if it was derived from y or recorded later.",
            )  # fmt: skip
    if case.identity is None:
        return
    share = twins(case, estimate)
    if share > TWINS:
        yield Caution(
            "duplicates", "serious" if share > 0.2 else "caution", "The same samples are in the training and test sets",
            f"{share:.1%} of the held-out samples have an identical one in the training set.",
            "If they are copies of one individual, drop them or pass groups=; if such rows occur naturally, the "
            "estimate is valid for data of this kind.",
        )  # fmt: skip
    against = contradictions(case)
    if against:
        yield Caution(
            "contradictions", "caution", "Identical samples have different labels",
            f"{against} samples have the same values as one of another class; no method can separate them.",
            "Check them: labels may be wrong, or a decisive column is missing.",
        )  # fmt: skip
    if case.labelled and not case.steps and _standardised(case):
        yield Caution(
            "prepared", "note", "The columns are already standardised",
            "Every column of X has mean 0 and standard deviation 1 over all samples.",
            "If this was done on the same data, held-out samples influenced it: scale within a pipeline.",
        )  # fmt: skip


def _alone(case: Case) -> dict[str, float]:
    """How well each column alone predicts y; with very many columns, only those most related to y."""
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
    """At most `SAMPLED` samples, balanced over the classes as far as possible."""
    order = np.random.default_rng(case.random_state).permutation(case.n)
    if case.kind != "classifier":
        return order[:SAMPLED]
    members = (order[case.y[order] == label] for label in case.classes[0])
    return np.concatenate([own[: SAMPLED // len(case.classes[0])] for own in members])


def _promising(case: Case, chosen: np.ndarray) -> list[str]:
    """The names of at most `LOOKED_AT` columns, those whose variance y explains best."""
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
    """The balanced accuracy of a small tree on one column: cross-validated if suspicious, otherwise on the sample."""
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
    """The fraction of held-out samples with an identical one in the training set."""
    if case.identity is None or not estimate.splits:
        return 0.0
    hits = [np.isin(case.identity[test], case.identity[train]) for train, test in estimate.splits]
    return float(np.mean(np.concatenate(hits)))


def contradictions(case: Case) -> int:
    """The number of samples with an identical one of another class."""
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
            "constant", "note", "Constant columns",
            f"{_listed(constant)} {'has' if len(constant) == 1 else 'have'} a single value.",
            "Drop them, and check that they were read correctly.",
        )  # fmt: skip
    if sparse:
        yield Caution(
            "missing", "caution", "Columns that are mostly missing",
            f"More than half of the values of {_listed(sparse)} are missing.",
            "Find out why: values missing for a reason carry information, or leak it.",
        )  # fmt: skip
    if keys and len(case.columns) > 1:
        yield Caution(
            "identifier", "caution", "Columns that number or name the samples",
            f"{_listed(keys)}: every sample has its own value.",
            "Identifiers say nothing about new samples; drop them, or use them as groups=.",
        )  # fmt: skip
    ratio = spread_ratio(case)
    if ratio > SCALES:
        yield Caution(
            "scales", "caution", "Columns of very different scales",
            f"The kernel treats all columns alike, but their ranges differ by a factor of {ratio:.3g}: it ignores the "
            "smallest.",
            "Put StandardScaler before the method in a pipeline, or use a kernel with one lengthscale for each column.",
        )  # fmt: skip


def _is_key(column: np.ndarray, distinct: int, n: int) -> bool:
    if n < FEW_ALL:
        return False
    if column.dtype.kind != "f":
        return distinct > 0.95 * n
    return distinct == n and bool(np.array_equal(np.sort(column), np.arange(n) + column.min()))


def spread_ratio(case: Case) -> float:
    """Ratio of the largest to the smallest range of the kernel's input columns; 1 if it has its own scales."""
    kernel = getattr(case.model, "kernel_", None)
    Z = case.Z
    if kernel is None or isinstance(kernel, Table) or case.pairwise or is_sparse(Z) or not case.columns:
        return 1.0
    params = kernel.get_params().items()
    if any(name.endswith("columns") or (name.endswith("lengthscale") and np.ndim(v)) for name, v in params):
        return 1.0
    try:  # ranges, because standard deviations are also small for rare values, such as border pixels
        ranges = np.ptp(np.asarray(Z, dtype=np.float64), axis=0)
    except (TypeError, ValueError):
        return 1.0
    used = ranges[ranges > 1e-12 * ranges.max(initial=0)]
    return float(used.max() / used.min()) if used.size else 1.0


def _listed(names: list[str]) -> str:
    shown = ", ".join(f"“{name}”" for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


# ---- the target and the sample sizes


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
                f"{most / least:.0f} to 1. Always predicting the first is right in {most / counts.sum():.1%} of cases.",
                "Use balanced accuracy and the confusion matrix; class_weight=\"balanced\", if the method has it, "
                "weights errors by class.",
            )  # fmt: skip
        return
    if case.n > 1 and np.ptp(case.y) == 0:
        yield Caution(
            "constant", "serious", "The target does not vary",
            f"All {case.n} targets are {case.y[0]:.4g}; there is nothing to explain, and R² is meaningless.",
            "Check the column that was used as y.",
        )  # fmt: skip
        return
    far = target_outliers(case.y)
    if far.size and case.n >= FEW:
        worst = case.y[far[np.argmax(np.abs(case.y[far] - np.median(case.y)))]]
        yield Caution(
            "outliers", "caution", "Targets far from all others",
            f"{far.size} of {case.n} targets lie more than {FAR:.0f} robust standard deviations from the median "
            f"{np.median(case.y):.4g}; the farthest is {worst:.4g}.",
            "Squared loss is sensitive to such values: check them, take logarithms if y has a long tail, or use "
            "RobustKernelRegression or SVR.",
        )  # fmt: skip


def target_outliers(y: np.ndarray) -> np.ndarray:
    """Which targets are more than `FAR` robust standard deviations from the median."""
    away = np.abs(y - np.median(y))
    scale = 1.4826 * np.median(away) or 1.2533 * np.mean(away)  # the latter if more than half are equal
    return np.flatnonzero(away > FAR * scale)


def _sizes(case: Case, estimate: Estimate) -> Iterator[Caution]:
    if case.kind == "classifier" and np.ndim(case.y) == 1:
        labels, counts = case.classes
        if counts.min() < FEW:
            rare = [str(label) for label in labels[counts < FEW]]
            yield Caution(
                "few", "serious" if counts.min() < 5 else "caution", "Too few samples of a class",
                f"{_listed(rare)}: {counts.min()} samples in the rarest class; with fewer than {FEW}, neither learning "
                "nor testing is reliable.",
                "Collect more, or merge classes; treat errors in that class as anecdotal.",
            )  # fmt: skip
            return
    if case.n < FEW_ALL:
        yield Caution(
            "few", "caution", "Too few samples",
            f"There are {case.n}. With fewer than {FEW_ALL}, estimates have errors as large as themselves.",
            "Prefer simple kernels and strong penalties, and report leave-one-out with its standard error.",
        )  # fmt: skip


def _scores(case: Case, estimate: Estimate) -> Iterator[Caution]:
    if estimate.failure and case.labelled and estimate.wanted:
        yield Caution(
            "estimate", "serious", "The error could not be estimated", estimate.failure,
            "Provide more samples, or other folds with cv=.",
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
                f"{'No' if ours <= blind else 'Hardly'} better than always predicting the largest class",
                f"The accuracy is {ours:.3f}; the largest class gives {blind:.3f} ± {slack:.3f}. The balanced "
                f"accuracy is {balanced:.3f}; chance gives {chance:.3f}.",
                "Scale the columns, tune the kernel, or accept that these columns do not separate the classes.",
            )  # fmt: skip
    elif metric in ("R²", "D²") and ours <= 0 and not _beats_the_mean(estimate):
        constant = "the mean of y" if metric == "R²" else "a constant"
        theirs = estimate.mean(MEAN) if metric == "R²" else 0.0
        yield Caution(
            "useless", "serious", f"No better than {constant}",
            f"On held-out samples {metric} is {ours:.3f}; {constant} has {theirs:.3g}.",
            "Scale the columns and y, tune the kernel and the penalty, or accept that these columns do not predict y.",
        )  # fmt: skip
    if metric in WIDE and 2 * estimate.error > WIDE[metric]:
        folds = estimate.scores[metric][OURS]
        yield Caution(
            "spread", "caution", "The error is known only roughly",
            f"Over {len(folds)} folds {metric} ranges from {folds.min():.3f} to {folds.max():.3f}; two standard errors "
            f"of its mean are {2 * estimate.error:.3f}.",
            "Do not choose between methods by smaller differences; collect more samples, or repeat the folds.",
        )  # fmt: skip
    gap = estimate.training.get(metric, np.nan) - max(ours, 0.0)  # a negative score counts as zero
    if metric in WIDE and gap > GAP:
        yield Caution(
            "overfitting", "note", "Much better on the training samples",
            f"On them {metric} is {estimate.training[metric]:.3f}, on held-out samples {ours:.3f}.",
            "For kernels this is no flaw in itself, but try a stronger penalty (larger alpha, smaller C) or a longer "
            "lengthscale.",
        )  # fmt: skip


def _beats_the_mean(estimate: Estimate) -> bool:
    """Whether the model beats the mean of y in every fold; with few samples, R² can be negative for both."""
    scores = estimate.scores[estimate.metric]
    return MEAN in scores and bool(np.all(scores[OURS] > scores[MEAN]))


def _rivals(case: Case, estimate: Estimate) -> Iterator[Caution]:
    """A linear model, or one Gaussian, that is significantly better."""
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
        with np.errstate(invalid="ignore"):  # a density of zero is infinitely worse
            chance = 2 * ahead.std(ddof=1) / np.sqrt(len(ahead))
        if ahead.mean() > max(0.01, chance):
            yield Caution(
                name, "caution", f"{title} does better",
                f"Its {metric} on the same folds is {rival.mean():.3f}, that of this model {estimate.mean():.3f}.",
                f"{remedy}; if that does not help, use {simple}.",
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
            f"The condition number of {matrix} is {found.condition:.2g}{given}: significant digits are lost to "
            "rounding.",
            f"{first} the lengthscale, use a rougher kernel, or drop samples that nearly coincide.",
        )  # fmt: skip
    if not getattr(case.model, "takes_indefinite", False) and _indefinite(case):
        yield Caution(
            "indefinite", "serious", "The kernel is not positive definite",
            f"Negative eigenvalues make up {found.negative:.2%} of the spectrum; the smallest is "
            f"{found.eigenvalues[-1]:.3g}, the largest {found.eigenvalues[0]:.3g}.",
            "The problem may have no minimum: correct the spectrum (mercer.kernels.Clipped and others), "
            "or use KreinRidge or KreinSVC.",
        )  # fmt: skip


def _bandwidth(case: Case, found: SampledSpectrum) -> Iterator[Caution]:
    m = len(found.eigenvalues)
    if m < FEW:
        return
    name = "bandwidth" if hasattr(case.model, "bandwidth") else "lengthscale (gamma {})"
    known = "bandwidth" in name or any(p.endswith("lengthscale") for p in case.model.kernel_.get_params())
    fitted = "" if "bandwidth" in name else '; lengthscale="median" fits it to the data'
    # if k(x, x) varies, as for a linear kernel, a mean far from zero has the same effect and is harmless
    if found.similarity > CONSTANT and found.even:
        yield Caution(
            "bandwidth", "caution", "The kernel is nearly constant on these samples",
            f"Two different samples have similarity {found.similarity:.4f} on average; equal ones have 1.",
            f"Use a shorter {name.format('larger')}{fitted}." if known else
            "Use a kernel that is sensitive to finer differences.",
        )  # fmt: skip
    elif found.participation > IDENTITY * m and found.least > -TINY:
        yield Caution(
            "bandwidth", "caution", "Under the kernel, every sample is similar only to itself",
            f"Its matrix is nearly diagonal: {found.participation:.0f} of {m} directions have equal weight, and the "
            f"mean similarity of two samples is {found.similarity:.2g}.",
            f"Use a longer {name.format('smaller')}{fitted}." if known else
            "Use a coarser kernel, for example with shorter substrings or fewer refinement iterations.",
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
            "edge", "caution", f"The best {name} is at the edge of the grid",
            f"{value:.4g} was chosen from values between {low:.4g} and {high:.4g}.",
            f"Extend the grid beyond {value:.4g}: the best value may be there.",
        )  # fmt: skip


def edges(case: Case) -> list[tuple[str, float, tuple[float, float]]]:
    """Parameters whose unique best value is the smallest or largest of three or more values tried."""
    return [
        (name, v, (min(tried), max(tried)))
        for name, v, tried in tried_values(case)
        if v in (min(tried), max(tried)) and not _is_tie(case.search, name, v)
    ]


def _is_tie(search: Any, name: str, value: float) -> bool:
    """Whether another value of the parameter has the same best score, so that nothing points beyond the grid."""
    results: Any = getattr(search, "cv_results_", {})
    if f"param_{name}" not in results or "mean_test_score" not in results:
        return False
    others = np.array([v != value for v in np.ma.asarray(results[f"param_{name}"]).tolist()])
    scores = np.asarray(results["mean_test_score"], dtype=np.float64)
    return bool(np.nanmax(scores[others], initial=-np.inf) >= np.nanmax(scores) - 1e-12)


def tried_values(case: Case) -> list[tuple[str, float, list[float]]]:
    """Numeric parameters that were searched: name, chosen value, and all values tried, if three or more."""
    found = []
    search, model = case.search, case.model
    results: Any = getattr(search, "cv_results_", {})
    value: Any
    for name, value in getattr(search, "best_params_", {}).items():
        column = [v for v in np.ma.asarray(results.get(f"param_{name}", [])).tolist() if is_number(v)]
        if is_number(value):
            found.append((name, float(value), sorted({float(v) for v in column})))
    for name, chosen, grid in (("alpha", "alpha_", "alphas"), ("bandwidth", "bandwidth_", "bandwidths_")):
        tried: Any = getattr(model, grid + "_", getattr(model, grid, None))
        value = getattr(model, chosen, None)
        if is_number(value) and np.ndim(tried) == 1:
            found.append((name, float(value), sorted({float(v) for v in np.asarray(tried)})))
    return [(name, value, tried) for name, value, tried in found if len(tried) > 2]


def is_number(value: Any) -> bool:
    """Whether a parameter is a number and not a boolean."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _solver(case: Case, estimate: Estimate) -> Iterator[Caution]:
    unsolved = [s for s in solutions(case.model) if getattr(s, "converged", True) is False]
    if unsolved:
        gap = max((float(g) for s in unsolved if (g := getattr(s, "gap", None)) is not None), default=np.nan)
        said = f" The largest gap is {gap:.3g}." if np.isfinite(gap) else ""
        yield Caution(
            "convergence", "serious", "The solver stopped before convergence",
            f"{len(unsolved)} of {len(solutions(case.model))} problems stopped early, after "
            f"{max(int(s.n_iter) for s in unsolved)} iterations.{said}",
            "Raise max_iter or time_budget, scale the columns, or lower C.",
        )  # fmt: skip
    known = {ConvergenceWarning: "convergence", JitterWarning: "conditioning", IndefiniteKernelWarning: "indefinite"}
    for words, category in case.heard.items():
        name = known.get(category, "fit")
        if (name == "convergence" and unsolved) or (name == "indefinite" and case.K is not None and _indefinite(case)):
            continue
        yield Caution(
            name, "serious" if name == "convergence" else "caution", "The fit raised a warning", words,
            "See the documentation of the method.",
        )  # fmt: skip


def solutions(model: EstimatorLike) -> list[Any]:
    """The solutions reported by the solvers."""
    found = getattr(model, "solutions_", None) or getattr(model, "solution_", None)
    return list(found) if isinstance(found, Sequence) else [] if found is None else [found]
