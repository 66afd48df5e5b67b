"""Compare estimators on the same folds, and mark differences that are not significant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from time import perf_counter
from typing import Any

import numpy as np
from scipy import linalg, stats
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import adjusted_rand_score, check_scoring
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import _safe_split

from .._array import host
from .._errors import check_number, speaking
from .._folds import folds
from ..context import StoppedError, current, limited
from ..types import Array, Data, EstimatorLike, Splitter

WHO = "compare"
UNSUPERVISED = ("reconstruction", "likelihood", "stability")


@dataclass(frozen=True)
class Difference:
    """Comparison of two estimators: the mean difference of their scores, its confidence interval and p-values.

    Attributes
    ----------
    first, second : str
    difference : float
        Mean score of the first minus that of the second.
    low, high : float
        The confidence interval from the corrected t statistic, for this pair alone.
    t_statistic, t_pvalue : float
        The corrected resampled t test.
    wilcoxon_pvalue : float
        Wilcoxon's signed-rank test on the fold scores. It assumes that they are independent, which they are not, and
        rejects too often with repeated folds.
    adjusted_pvalue : float
        The p-value of the corrected t test, adjusted for all pairs by Holm's method.
    """

    first: str
    second: str
    difference: float
    low: float
    high: float
    t_statistic: float
    t_pvalue: float
    wilcoxon_pvalue: float
    adjusted_pvalue: float


@dataclass(frozen=True)
class Comparison:
    """Result of `compare`: print it, or pass `to_dict` to pandas.

    Attributes
    ----------
    scores : dict
        The scores of each estimator on the folds, of shape (n_splits,); larger is better.
    differences : list of Difference
        All pairs, with the better mean first.
    scoring : str
    level : float
        Of the intervals; pairs with an adjusted p-value above 1 − level are not ranked.
    n_train, n_test : float
        Mean sizes of the training and test parts.
    """

    scores: dict[str, np.ndarray]
    differences: list[Difference]
    scoring: str
    level: float
    n_train: float
    n_test: float

    @property
    def ranked(self) -> list[Difference]:
        """The pairs whose order is significant."""
        return [d for d in self.differences if d.adjusted_pvalue <= 1 - self.level]

    @property
    def not_ranked(self) -> list[Difference]:
        """The pairs in which neither is significantly better."""
        return [d for d in self.differences if not d.adjusted_pvalue <= 1 - self.level]

    def to_dict(self) -> dict[str, list[Any]]:
        """The table of differences as columns for ``pandas.DataFrame``."""
        names = list(Difference.__dataclass_fields__)
        return {name: [getattr(d, name) for d in self.differences] for name in names}

    def __str__(self) -> str:
        wide = max(len(name) for name in self.scores)
        lines = [
            f"{self.scoring}, {len(next(iter(self.scores.values())))} splits: mean (standard deviation over splits)"
        ]
        for name, values in self.scores.items():
            lines.append(f"  {name:<{wide}}  {values.mean(): .4f} ({values.std(ddof=1):.4f})")
        lines.append(f"differences: {self.level:.0%} interval, corrected t (Holm), Wilcoxon")
        for d in self.differences:
            verdict = "" if d in self.ranked else "  not a ranking"
            lines.append(
                f"  {d.first:<{wide}} − {d.second:<{wide}}  {d.difference: .4f} [{d.low: .4f}, {d.high: .4f}]  "
                f"p = {d.t_pvalue:.3f} ({d.adjusted_pvalue:.3f}), {d.wilcoxon_pvalue:.3f}{verdict}"
            )
        return "\n".join(lines)


@speaking
@limited
def compare(
    estimators: Any,
    X: Data,
    y: Array = None,
    *,
    cv: Splitter = None,
    scoring: Any = None,
    groups: Array = None,
    level: float = 0.95,
    random_state: int = 0,
    time_budget: float | None = None,
) -> Comparison:
    r"""Compare estimators on the same splits, with tests that account for overlapping splits.

    For J splits with n₁ training and n₂ test samples, and differences d of the scores with mean m and variance s²,

    .. math:: t = \frac{m}{\sqrt{\big(\tfrac1J + \tfrac{n_2}{n_1}\big)\, s^2}}, \qquad J - 1 \text{ degrees of freedom,}

    has about its nominal level. Without :math:`n_2/n_1` it finds differences in noise, because fits to overlapping
    samples have correlated errors. The table marks differences that do not support a ranking.

    Parameters
    ----------
    estimators : dict, or list of estimators
        At least two, of this library, scikit-learn, or pipelines of both. Dict keys are their names.
    X, y : samples and targets
        y is None for unsupervised methods.
    cv : int, splitter, iterable of splits or None
        Splits, the same for all estimators. None: 10 folds, repeated three times, stratified for labels.
    scoring : str, callable or None
        As in scikit-learn: larger is better. None: accuracy for classifiers, else R². For unsupervised methods also

        - "reconstruction": minus the mean of ‖x − x̂‖² over the held-out samples, by ``inverse_transform``;
        - "likelihood": their mean log-likelihood, by ``score_samples``;
        - "stability": agreement of the fit to a part with the fit to all samples. Labels are compared by the adjusted
          Rand index, on the held-out samples if there is a ``predict``, otherwise on the training part; coordinates
          from ``transform`` by their subspaces on the held-out samples (`subspace_agreement`).

        For a downstream score, compare pipelines: ``make_pipeline(KernelPCA(10), LogisticRegression())``.
    groups : array of shape (n,), optional
        For splitters that use groups.
    level : float in (0, 1)
        Confidence level.
    random_state : int
        Seed of the default splits.
    time_budget : float > 0, optional
        Time limit in seconds. A split starts only if likely to finish in time; fewer than two raise a TimeoutError.

    Returns
    -------
    Comparison

    Notes
    -----
    Holm's method adjusts the p-values of all pairs, so that the probability of any false ranking stays below 1 − level.

    References
    ----------
    Nadeau, Bengio, *Inference for the generalization error* (2003). Wilcoxon, *Individual comparisons by
    ranking methods* (1945). Holm, *A simple sequentially rejective multiple test procedure* (1979). Demšar,
    *Statistical comparisons of classifiers over multiple data sets* (2006).

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from mercer import KernelRidge
    >>> X = np.linspace(0, 6, 80)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=80)
    >>> smooth = KernelRidge(alpha=0.1, kernel="gaussian(lengthscale=1.0)")
    >>> stiff = KernelRidge(alpha=0.1, kernel="gaussian(lengthscale=1.1)")
    >>> found = compare({"line": LinearRegression(), "smooth": smooth, "stiff": stiff}, X, y)
    >>> [sorted((d.first, d.second)) for d in found.not_ranked]
    [['smooth', 'stiff']]
    """
    check_number(WHO, "level", level, above=0)
    if level >= 1:
        raise ValueError(f"{WHO}: level = {level!r} must be < 1.")
    named = _named(estimators)
    X, y, groups = indexable(X, y, groups)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    splits = _splits(cv, list(named.values()), n, y, groups, random_state)
    judges = _judges(named, scoring)
    splits, scores = _all_scores(named, judges, X, y, splits, time_budget)
    bad = [name for name, values in scores.items() if not np.all(np.isfinite(values))]
    if bad:
        raise ValueError(f"{WHO}: some scores of {bad[0]!r} are not finite; choose another scoring or fewer folds.")
    train, test = (float(np.mean([len(s[k]) for s in splits])) for k in (0, 1))
    order = sorted(scores, key=lambda name: -scores[name].mean())
    found = [_difference(a, b, scores[a] - scores[b], test / train, level) for a, b in combinations(order, 2)]
    adjusted = holm(np.array([d.t_pvalue for d in found]))
    found = [Difference(**{**vars(d), "adjusted_pvalue": float(p)}) for d, p in zip(found, adjusted, strict=True)]
    return Comparison(scores, found, _name(scoring, list(named.values())), level, train, test)


def corrected_t(d: np.ndarray, ratio: float) -> tuple[float, float, float]:
    """The statistic, its two-sided p-value and its standard error, for differences on splits with n₂/n₁ = ratio.

    Examples
    --------
    >>> t, p, error = corrected_t(np.array([0.1, 0.2, 0.3]), 0.5)
    >>> round(error**2, 6)  # (1/3 + 1/2) · 0.01
    0.008333
    """
    error = float(np.sqrt((1 / len(d) + ratio) * np.var(d, ddof=1)))
    mean = float(np.mean(d))
    if error == 0:
        return (0.0, 1.0, 0.0) if mean == 0 else (float(np.sign(mean)) * np.inf, 0.0, 0.0)
    return mean / error, float(2 * stats.t.sf(abs(mean / error), len(d) - 1)), error


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's adjusted p-values, which control the probability of any false rejection.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03])).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    out = np.empty(len(p))
    out[order] = np.minimum(np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p)))), 1.0)
    return out


@speaking
def subspace_agreement(A: np.ndarray, B: np.ndarray) -> float:
    r"""The mean squared cosine of the principal angles between the spans of the centred columns.

    It is 1 for equal and 0 for orthogonal spans, and invariant to rotations, signs and scales of the coordinates.

    Examples
    --------
    >>> A = np.random.default_rng(0).normal(size=(9, 2))
    >>> round(subspace_agreement(A, A @ np.array([[0.0, 2.0], [1.0, 1.0]]) + 3.0), 12)
    1.0
    """
    Q, R = (linalg.orth(M - M.mean(axis=0)) for M in (np.asarray(A, float), np.asarray(B, float)))
    return float(np.sum((Q.T @ R) ** 2) / max(Q.shape[1], R.shape[1], 1))


def _named(estimators: Any) -> dict[str, Any]:
    if isinstance(estimators, Mapping):
        named = {str(name): model for name, model in estimators.items()}
    elif isinstance(estimators, Iterable):
        named = {}
        for model in estimators:
            name, k = type(model).__name__, 2
            while name in named:
                name, k = f"{type(model).__name__} {k}", k + 1
            named[name] = model
    else:
        raise TypeError(f"{WHO}: estimators = {estimators!r} must be a dict or a list of estimators.")
    bad = [name for name, model in named.items() if not hasattr(model, "fit")]
    if bad:
        raise TypeError(f"{WHO}: estimators: {bad[0]!r} has no fit; pass a dict of names and estimators, or a list.")
    if len(named) < 2:
        raise ValueError(f"{WHO}: estimators has {len(named)}; pass at least two to compare.")
    return named


def _splits(cv: Splitter, models: list[Any], n: int, y: Array, groups: Array, random_state: int) -> list[Any]:
    labels = y is not None and all(is_classifier(m) for m in models)
    if cv is None:
        cv = (RepeatedStratifiedKFold if labels else RepeatedKFold)(n_splits=10, n_repeats=3, random_state=random_state)
    splits = folds(WHO, cv, n, y, labels, groups)
    if len(splits) < 2:
        raise ValueError(f"{WHO}: cv gives {len(splits)} split; the variance needs at least two.")
    return splits


def _name(scoring: Any, models: list[Any]) -> str:
    if scoring is not None:
        return scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    return "accuracy" if all(map(is_classifier, models)) else "R²" if all(map(is_regressor, models)) else "score"


def _judges(named: dict[str, Any], scoring: Any) -> dict[str, Any]:
    """A scorer for each estimator, or the name of an unsupervised score."""
    if isinstance(scoring, str) and scoring in UNSUPERVISED:
        return dict.fromkeys(named, scoring)
    if scoring is None and len({is_classifier(m) for m in named.values()}) > 1:
        raise ValueError(f"{WHO}: classifiers and other estimators have no common default score; pass scoring.")
    return {name: check_scoring(model, scoring=scoring) for name, model in named.items()}


def _all_scores(
    named: dict[str, Any], judges: dict[str, Any], X: Data, y: Array, splits: list[Any], time_budget: float | None
) -> tuple[list[Any], dict[str, np.ndarray]]:
    """The splits completed in time, and the scores of all models on them."""
    started = perf_counter()
    whole = {name: clone(model).fit(X) for name, model in named.items() if judges[name] == "stability"}
    found: list[list[float]] = []
    for split in splits:
        spent = perf_counter() - started
        if time_budget is not None and spent + spent / max(len(found), 1) > time_budget:
            break
        try:
            row = [_score(model, judges[name], X, y, split, whole.get(name)) for name, model in named.items()]
        except StoppedError:
            break
        if current().heard:  # a fit kept its best so far
            break
        found.append(row)
    if len(found) < 2:
        raise TimeoutError(f"{WHO}: time_budget = {time_budget} was spent before two splits; raise it.")
    return splits[: len(found)], dict(zip(named, np.array(found, dtype=np.float64).T, strict=True))


def _score(estimator: EstimatorLike, judge: Any, X: Data, y: Array, split: Any, whole: Any) -> float:
    """The score on a split."""
    (train, test), model = split, clone(estimator)
    X_train, y_train = _safe_split(model, X, y, train)
    X_test, y_test = _safe_split(model, X, y, test, train)
    model.fit(X_train, *(() if y is None else (y_train,)))
    if whole is not None:
        return _agreement(whole, model, X_test, train)
    if judge == "likelihood":
        return float(np.mean(host(model.score_samples(X_test))))
    if judge == "reconstruction":
        rest = _numbers(X_test) - _numbers(model.inverse_transform(model.transform(X_test)))
        return -float(np.mean(np.sum(rest**2, axis=1)))
    return float(judge(model, X_test) if y is None else judge(model, X_test, y_test))


def _numbers(X: Data) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else host(X))


def _agreement(whole: Any, part: Any, X_test: Any, train: np.ndarray) -> float:
    """Agreement of the fit to a part with the fit to all samples."""
    if hasattr(part, "predict"):
        return float(adjusted_rand_score(host(whole.predict(X_test)), host(part.predict(X_test))))
    if hasattr(part, "labels_"):
        return float(adjusted_rand_score(_safe_indexing(whole.labels_, train), part.labels_))
    if hasattr(part, "transform"):
        return subspace_agreement(_numbers(whole.transform(X_test)), _numbers(part.transform(X_test)))
    raise TypeError(
        f"{WHO}: scoring = 'stability' needs predict, labels_ or transform; {type(part).__name__} has none."
    )


def _difference(a: str, b: str, d: np.ndarray, ratio: float, level: float) -> Difference:
    t, p, error = corrected_t(d, ratio)
    reach = float(stats.t.ppf((1 + level) / 2, len(d) - 1)) * error
    rank = float(stats.wilcoxon(d).pvalue) if np.any(d != 0) else 1.0
    mean = float(np.mean(d))
    return Difference(a, b, mean, mean - reach, mean + reach, t, p, rank, p)
