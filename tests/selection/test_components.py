"""Choosing kernel and number of components: each criterion by its definition elsewhere, and planted answers."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import load_iris, make_circles
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit, cross_val_score
from sklearn.pipeline import make_pipeline

from mercer.gram import Nystrom, RandomFeatures
from mercer.kernels import Delta
from mercer.methods.pca import KernelPCA
from mercer.selection.components import choose_components

RNG = np.random.default_rng(0)
FACTORS = RNG.normal(size=(150, 3)) @ RNG.normal(size=(3, 10)) + 0.5 * RNG.normal(size=(150, 10))
CIRCLES = make_circles(160, factor=0.3, noise=0.05, random_state=0)


def test_reconstruction_is_the_share_of_variance_held_out():
    cv = KFold(3)
    found = choose_components(KernelPCA(), FACTORS, n_components=[1, 2, 5], cv=cv)
    for s, (train, test) in enumerate(cv.split(FACTORS)):
        for j, k in enumerate([1, 2, 5]):
            pca = PCA(k).fit(FACTORS[train])
            rest = FACTORS[test] - pca.inverse_transform(pca.transform(FACTORS[test]))
            share = 1 - np.sum(rest**2) / np.sum((FACTORS[test] - pca.mean_) ** 2)
            assert found.values[0, j, s] == pytest.approx(share, abs=1e-9)


def test_the_share_alone_only_rises():
    """Which is why it is compared with a null."""
    found = choose_components(KernelPCA(), FACTORS, n_components=10)
    assert np.all(np.diff(found.values, axis=1) >= 0) and np.allclose(found.values[0, -1], 1)
    assert found.best_n_components < 10


def test_stability_is_the_mean_squared_cosine_of_principal_angles():
    cv = ShuffleSplit(3, test_size=0.5, random_state=1)
    found = choose_components(KernelPCA(), FACTORS, n_components=4, criterion="stability", cv=cv)
    for s, halves in enumerate(cv.split(FACTORS)):
        A, B = (PCA(4).fit(FACTORS[part]).components_.T for part in halves)
        for k in range(1, 5):
            expected = np.mean(np.cos(subspace_angles(A[:, :k], B[:, :k])) ** 2)
            assert found.values[0, k - 1, s] == pytest.approx(expected, abs=1e-7)


def test_downstream_is_the_cross_validation_of_a_pipeline():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000)
    found = choose_components(
        KernelPCA(), X, y, kernels=["rbf", "linear"], n_components=[1, 3], criterion="downstream", downstream=model
    )
    for i, kernel in enumerate(["rbf", "linear"]):
        for j, k in enumerate([1, 3]):
            expected = cross_val_score(make_pipeline(Theirs(k, kernel=kernel), model), X, y, cv=5)
            np.testing.assert_allclose(found.scores[i, j], expected)
    assert found.null is None


@pytest.mark.parametrize("criterion", ["reconstruction", "stability"])
def test_finds_planted_factors(criterion):
    assert choose_components(KernelPCA(), FACTORS, criterion=criterion, n_components=8).best_n_components == 3


@pytest.mark.parametrize("criterion", ["reconstruction", "stability"])
def test_finds_nothing_in_noise(criterion):
    """Data that are like their own null score zero on average, for every kernel and number."""
    kernels = ["linear", "gaussian(lengthscale=3.0)"]
    scores = []
    for seed in range(12):
        noise = np.random.default_rng(seed).normal(size=(80, 5))
        found = choose_components(
            KernelPCA(), noise, kernels=kernels, criterion=criterion, cv=3, n_components=4, random_state=seed
        )
        scores.append(found.scores.mean(axis=2))
    t = np.mean(scores, axis=0) / (np.std(scores, axis=0, ddof=1) / np.sqrt(12))
    assert np.abs(t).max() < 4


@pytest.mark.parametrize("gram", ["auto", Nystrom(rank=60)], ids=str)
def test_bandwidth_between_the_extremes(gram):
    widths = [0.01, 0.5, 100.0]
    kernels = [f"gaussian(lengthscale={w})" for w in widths]
    found = choose_components(KernelPCA(gram=gram), CIRCLES[0], kernels=kernels, n_components=6)
    assert found.best_kernel.lengthscale == 0.5
    assert found.values[2, -1].mean() > found.values[1, -1].mean()  # the share alone would take the widest


def test_table_and_words():
    found = choose_components(KernelPCA(), CIRCLES[0], kernels=["gaussian", "linear"], n_components=2, cv=3)
    table = found.to_dict()
    assert {len(column) for column in table.values()} == {4}
    assert table["n_components"] == [1, 2, 1, 2]
    np.testing.assert_allclose(np.array(table["value"]) - table["null"], table["score"], atol=1e-12)
    assert str(found.best_kernel) in str(found) and "<- chosen" in str(found)
    assert "median" not in str(found)  # resolved once, on all samples


def test_lists_and_same_seed():
    one, two = (choose_components(KernelPCA(kernel="rbf"), CIRCLES[0].tolist(), n_components=2) for _ in range(2))
    np.testing.assert_array_equal(one.scores, two.scores)


def test_more_components_than_there_are():
    found = choose_components(KernelPCA(), CIRCLES[0], n_components=4)
    np.testing.assert_allclose(found.values[0, 1:], 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"criterion": "likelihood"}, "criterion = 'likelihood' is unknown"),
        ({"n_components": 0}, "n_components = 0"),
        ({"n_components": []}, "is empty"),
        ({"kernels": []}, "is empty"),
        ({"cv": 1}, "cv = 1"),
        ({"criterion": "downstream"}, "needs y and downstream"),
        ({"kernels": ["precomputed"]}, "has no samples; pass samples X"),
        ({"kernels": [Delta()]}, "shuffles columns and needs a NumPy array"),
        ({"X": CIRCLES[0][:, :1]}, "at least two"),
    ],
)
def test_refusals(settings, message):
    settings = {"X": CIRCLES[0], **settings}
    with pytest.raises(ValueError, match=message):
        choose_components(KernelPCA(), **settings)


def test_wrong_estimators():
    with pytest.raises(TypeError, match="must be a KernelPCA"):
        choose_components(PCA(), CIRCLES[0])
    with pytest.raises(ValueError, match="a different space for each half"):
        choose_components(KernelPCA(gram=RandomFeatures(20)), CIRCLES[0], kernels=["gaussian"], criterion="stability")
