"""Comparisons against SciPy, the formulas by hand, and what a test must do under the null hypothesis."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit, cross_val_score
from sklearn.neighbors import KernelDensity, KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from mercer.selection import compare, subspace_agreement
from mercer.selection.comparison import corrected_t, holm

rng = np.random.default_rng(2)
X = rng.normal(size=(90, 3))
y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=90)
LABELS = np.where(X[:, 0] ** 2 + X[:, 1] ** 2 > 1.5, "far", "near")
CV = KFold(6, shuffle=True, random_state=0)


def test_the_corrected_statistic() -> None:
    d = rng.normal(0.3, 1.0, 12)
    plain = stats.ttest_1samp(d, 0.0)
    t, p, error = corrected_t(d, 0.0)
    assert t == pytest.approx(plain.statistic) and p == pytest.approx(plain.pvalue)
    t, p, error = corrected_t(d, 1 / 5)
    by_hand = d.mean() / np.sqrt((1 / 12 + 1 / 5) * d.var(ddof=1))
    assert t == pytest.approx(by_hand) and error == pytest.approx(d.mean() / by_hand)
    assert p == pytest.approx(2 * stats.t.cdf(-abs(by_hand), 11))
    assert corrected_t(np.zeros(5), 0.2)[:2] == (0.0, 1.0)
    assert corrected_t(np.ones(5), 0.2)[:2] == (np.inf, 0.0)


def test_holm_is_the_closed_test_of_bonferroni() -> None:
    p = rng.uniform(size=5) ** 2
    everything = [s for k in range(1, 6) for s in combinations(range(5), k)]
    closed = [max(min(1.0, len(s) * p[list(s)].min()) for s in everything if i in s) for i in range(5)]
    assert np.allclose(holm(p), closed)


def test_scores_and_differences() -> None:
    models = {"ridge": KernelRidge(alpha=0.3, kernel="rbf"), "line": LinearRegression()}
    found = compare(models, X, y, cv=CV, level=0.9)
    for name, model in models.items():
        assert np.allclose(found.scores[name], cross_val_score(model, X, y, cv=CV))
    (d,) = found.differences
    difference = found.scores[d.first] - found.scores[d.second]
    assert d.first == "ridge" and d.difference == pytest.approx(difference.mean())
    assert d.wilcoxon_pvalue == pytest.approx(stats.wilcoxon(difference).pvalue)
    half = stats.t.ppf(0.95, 5) * np.sqrt((1 / 6 + 15 / 75) * difference.var(ddof=1))
    assert (d.low, d.high) == pytest.approx((difference.mean() - half, difference.mean() + half))
    assert d.t_pvalue == d.adjusted_pvalue  # there is one pair
    assert found.to_dict()["first"] == ["ridge"]


def test_three_estimators_of_two_libraries() -> None:
    models = [SVC(), LogisticRegression(), KNeighborsClassifier(), SVC(C=1.1)]
    found = compare(models, X, LABELS)
    assert list(found.scores) == ["SVC", "LogisticRegression", "KNeighborsClassifier", "SVC 2"]
    assert len(found.scores["SVC"]) == 30 and len(found.differences) == 6
    assert np.allclose([d.adjusted_pvalue for d in found.differences], holm(np.array(found.to_dict()["t_pvalue"])))
    pairs = {frozenset((d.first, d.second)): d for d in found.differences}
    assert pairs[frozenset(("SVC", "SVC 2"))] in found.not_ranked
    assert pairs[frozenset(("SVC", "LogisticRegression"))] in found.ranked
    assert len(found.ranked) + len(found.not_ranked) == 6
    table = str(found).splitlines()
    assert sum("not a ranking" in line for line in table) == len(found.not_ranked)


class Columns(RegressorMixin, BaseEstimator):
    """Least squares on some of the columns."""

    def __init__(self, columns=(0,)):
        self.columns = columns

    def fit(self, X, y):
        self.coef_ = np.linalg.lstsq(X[:, self.columns], y, rcond=None)[0]
        return self

    def predict(self, X):
        return X[:, self.columns] @ self.coef_


def negative_square(model, X, y):
    return -np.mean((y - model.predict(X)) ** 2)


@pytest.mark.long
def test_the_level_holds_where_the_plain_test_fails() -> None:
    draw = np.random.default_rng(11)
    models = {"left": Columns([0, 1, 2]), "right": Columns([3, 4, 5])}
    cv = ShuffleSplit(25, test_size=0.2, random_state=0)
    corrected = plain = 0
    trials = 200
    for _ in range(trials):
        Z, target = draw.normal(size=(40, 6)), draw.normal(size=40)  # neither knows anything, by symmetry equally
        found = compare(models, Z, target, cv=cv, scoring=negative_square)
        corrected += found.differences[0].t_pvalue < 0.05
        plain += stats.ttest_1samp(found.scores["left"] - found.scores["right"], 0.0).pvalue < 0.05
    assert corrected / trials < 0.05 + 3 * np.sqrt(0.05 * 0.95 / trials)
    assert plain / trials > 0.2


def test_clusterings_by_stability() -> None:
    Z = np.concatenate([rng.normal(size=(40, 2)) + 8 * c for c in range(3)])
    models = {"three": KMeans(3, n_init=3, random_state=0), "seven": KMeans(7, n_init=1, random_state=0)}
    found = compare(models, Z, cv=CV, scoring="stability")
    assert np.allclose(found.scores["three"], 1.0) and found.scores["seven"].mean() < 0.95
    trees = {"three": AgglomerativeClustering(3), "six": AgglomerativeClustering(6)}
    found = compare(trees, Z, cv=CV, scoring="stability")
    assert np.allclose(found.scores["three"], 1.0) and found.scores["six"].mean() < 1.0


def test_subspaces_by_stability_and_reconstruction() -> None:
    Z = rng.normal(size=(80, 6)) * [5, 4, 1, 1, 1, 1]
    models = {"two": PCA(2), "three": PCA(3)}  # the third direction is arbitrary
    found = compare(models, Z, cv=CV, scoring="stability")
    assert found.scores["two"].mean() > 0.98 > found.scores["three"].mean()
    found = compare(models, Z, cv=CV, scoring="reconstruction")
    train, test = next(iter(CV.split(Z)))
    model = PCA(2).fit(Z[train])
    rest = Z[test] - model.inverse_transform(model.transform(Z[test]))
    assert found.scores["two"][0] == pytest.approx(-np.mean(np.sum(rest**2, axis=1)))


def test_densities_by_likelihood() -> None:
    Z = np.concatenate([rng.normal(size=(60, 1)) - 4, rng.normal(size=(60, 1)) + 4])
    models = {"one": GaussianMixture(1), "two": GaussianMixture(2, random_state=0)}
    found = compare(models, Z, cv=CV, scoring="likelihood")
    assert [d.first for d in found.ranked] == ["two"]
    train, test = next(iter(CV.split(Z)))
    one = stats.norm(Z[train].mean(), Z[train].std()).logpdf(Z[test]).mean()
    assert found.scores["one"][0] == pytest.approx(one, abs=1e-4)


def test_subspace_agreement_counts_angles() -> None:
    t = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    A = np.stack([np.cos(t), np.sin(t)], axis=1)
    B = np.stack([np.cos(t), np.sin(2 * t)], axis=1)
    assert subspace_agreement(A, B) == pytest.approx(0.5)
    mixed = np.stack([np.cos(0.3) * np.cos(t) + np.sin(0.3) * np.cos(3 * t)], axis=1)
    assert subspace_agreement(A[:, :1], mixed) == pytest.approx(np.cos(0.3) ** 2)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="pass at least two"):
        compare([LinearRegression()], X, y)
    with pytest.raises(ValueError, match="pass scoring"):
        compare([LinearRegression(), SVC()], X, LABELS)
    with pytest.raises(ValueError, match="level = 1"):
        compare([LinearRegression(), LinearRegression()], X, y, level=1)
    with pytest.raises(TypeError, match="must be a dict or a list"):
        compare(3, X, y)
    with pytest.raises(TypeError, match="'tuple' has no fit"):
        compare([("line", LinearRegression()), ("same", LinearRegression())], X, y)
    with pytest.raises(TypeError, match="needs predict, labels_ or transform"):
        compare([KernelDensity(), KernelDensity()], X, scoring="stability")
    with pytest.raises(ValueError, match="cv gives 1 split"):
        compare([LinearRegression(), LinearRegression()], X, y, cv=ShuffleSplit(1))
    with pytest.raises(ValueError, match=r"some scores of .* are not finite"), pytest.warns(UndefinedMetricWarning):
        compare([LinearRegression(), LinearRegression()], X, y, cv=LeaveOneOut())  # R² of one sample


def test_groups_stay_together_and_a_downstream_score_is_that_of_a_pipeline() -> None:
    groups = np.arange(90) // 6
    models = {k: make_pipeline(StandardScaler(), PCA(k), LogisticRegression()) for k in (1, 3)}
    found = compare(models, X, LABELS, cv=GroupKFold(5), groups=groups)
    assert found.scoring == "accuracy"
    for k, model in models.items():
        assert np.allclose(found.scores[str(k)], cross_val_score(model, X, LABELS, cv=GroupKFold(5), groups=groups))


def test_sparse_samples_are_reconstructed() -> None:
    models = {"one": TruncatedSVD(1, random_state=0), "two": TruncatedSVD(2, random_state=0)}
    dense, sparse = (compare(models, Z, cv=CV, scoring="reconstruction") for Z in (X, csr_matrix(X)))
    assert np.allclose(dense.scores["two"], sparse.scores["two"])


def test_a_time_budget_ends_after_whole_splits():
    from time import sleep

    from sklearn.dummy import DummyRegressor

    class Slow(DummyRegressor):
        def fit(self, X, y):
            sleep(0.1)
            return super().fit(X, y)

    X, y = np.zeros((40, 1)), np.arange(40.0)
    found = compare({"a": Slow(), "b": Slow(strategy="median")}, X, y, cv=20, time_budget=1.5, scoring="r2")
    assert 2 <= len(found.scores["a"]) == len(found.scores["b"]) < 10
    with pytest.raises(TimeoutError, match="before two splits"):
        compare({"a": Slow(), "b": Slow()}, X, y, cv=5, time_budget=0.1)
