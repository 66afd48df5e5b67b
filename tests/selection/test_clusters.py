"""The number of clusters: silhouettes, gaps and stability against their definitions."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples

from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian
from mercer.methods.kmeans import KernelKMeans
from mercer.methods.spectral_clustering import SpectralClustering
from mercer.selection.clusters import choose_clusters, silhouette


def blobs(n=160, k=4):
    return make_blobs(n, centers=[[0, 0], [5, 0], [0, 5], [5, 5]][:k], cluster_std=0.7, random_state=1)[0]


def distances(K):
    d = np.diag(K)
    D = np.sqrt(np.maximum(d[:, None] + d - 2 * K, 0))
    np.fill_diagonal(D, 0)
    return D


# ---- silhouettes


@pytest.mark.parametrize("gram", ["dense", "lazy", Nystrom(rank=100)], ids=str)
def test_silhouettes_are_those_of_the_distances(gram, monkeypatch):
    from mercer.selection import clusters

    monkeypatch.setattr(clusters, "ENTRIES", 1000)  # several blocks
    X = blobs(100)
    labels = np.random.default_rng(0).integers(0, 5, 100)
    labels[3] = 7  # a cluster of one point, and a number left out
    K = Gaussian(2.0)(X)
    expected = silhouette_samples(distances(K), labels, metric="precomputed")
    np.testing.assert_allclose(silhouette(X, labels, kernel=Gaussian(2.0), gram=gram), expected, atol=1e-5)


def test_silhouettes_of_the_linear_kernel_are_euclidean():
    X = blobs(80)
    labels = KernelKMeans(4, kernel="linear", random_state=0).fit_predict(X)
    np.testing.assert_allclose(silhouette(X, labels, kernel="linear"), silhouette_samples(X, labels), atol=1e-6)


def test_points_of_no_cluster_do_not_count():
    X = blobs(60)
    labels = np.arange(60) % 3
    labels[50:] = -1
    values = silhouette(X, labels, kernel="linear")
    np.testing.assert_allclose(values[:50], silhouette_samples(X[:50], labels[:50]), atol=1e-8)
    assert (values[50:] == 0).all()


@pytest.mark.parametrize("labels", [np.zeros(60, dtype=int), np.zeros(60), np.arange(5)])
def test_bad_labels(labels):
    with pytest.raises(ValueError, match="silhouette: labels"):
        silhouette(blobs(60), labels, kernel="linear")


# ---- choices


def test_silhouette():
    X = blobs()
    choice = choose_clusters(KernelKMeans(kernel=Gaussian(2.0)), X, n_clusters=range(2, 8), random_state=0)
    assert choice.n_clusters == 4 and choice.method == "silhouette"
    D = distances(Gaussian(2.0)(X))
    scores = [silhouette_samples(D, p, metric="precomputed").mean() for p in choice.partitions]
    np.testing.assert_allclose(choice.scores, scores, atol=1e-6)
    assert [len(np.unique(p)) for p in choice.partitions] == list(choice.candidates)


@pytest.mark.parametrize(
    "estimator",
    [SpectralClustering(gamma=0.5), KernelKMeans(kernel=Gaussian(1.0)), SpectralClustering(gamma=0.5, gram="lazy")],
    ids=["spectral", "k-means", "lazy"],
)
def test_eigengap(estimator):
    X = blobs()
    choice = choose_clusters(estimator, X, n_clusters=[1, 2, 3, 4, 5, 6], method="eigengap")
    A = Gaussian(1.0)(X) - np.eye(len(X))
    root = np.sqrt(A.sum(axis=1))
    values = np.linalg.eigvalsh(A / np.outer(root, root))[::-1]
    np.testing.assert_allclose(choice.eigenvalues, values[:7], atol=1e-8)
    np.testing.assert_allclose(choice.scores, values[:6] - values[1:7], atol=1e-8)
    assert choice.n_clusters == 4


def test_eigengap_of_a_graph():
    X = blobs()
    estimator = SpectralClustering(affinity="nearest_neighbors", n_neighbors=10)
    assert choose_clusters(estimator, X, n_clusters=range(1, 7), method="eigengap").n_clusters == 4
    with pytest.raises(TypeError, match=r"needs the distances of a kernel.*eigengap"):
        choose_clusters(estimator, X)


@pytest.mark.parametrize("given", ["points", "matrix"])
def test_stability(given):
    X = blobs(120)
    estimator = KernelKMeans(kernel=Gaussian(2.0), n_init=3)
    if given == "matrix":
        X, estimator = Gaussian(2.0)(X), KernelKMeans(kernel="precomputed", n_init=3)
    choice = choose_clusters(estimator, X, n_clusters=range(2, 7), method="stability", n_resamples=6, random_state=0)
    assert choice.n_clusters == 4
    assert choice.scores[2] == pytest.approx(1) and choice.errors[2] == pytest.approx(0, abs=1e-12)
    assert (choice.scores[3:] < 0.95).all()
    assert choice.errors.shape == choice.scores.shape == (5,)


def test_stability_of_noise_is_low():
    X = np.random.default_rng(0).uniform(size=(80, 6))
    estimator = KernelKMeans(kernel="gaussian(lengthscale='median')", n_init=1)
    choice = choose_clusters(estimator, X, n_clusters=[4, 5, 6], method="stability", n_resamples=6, random_state=0)
    assert choice.scores.max() < 0.7
    assert estimator.kernel == "gaussian(lengthscale='median')"  # the caller's estimator is not changed


def test_choices_repeat():
    X = blobs(80)
    first, second = (
        choose_clusters(KernelKMeans(n_init=1), X, n_clusters=[2, 5], method="stability", n_resamples=3, random_state=1)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.scores, second.scores)


@pytest.mark.parametrize("method", ["eigengap", "silhouette"])
def test_representations_that_draw_repeat(method):
    options = {"n_clusters": [2, 3], "method": method, "random_state": 0}
    first, second = (choose_clusters(KernelKMeans(gram=Nystrom(rank=5)), blobs(80), **options) for _ in range(2))
    np.testing.assert_array_equal(first.scores, second.scores)


@pytest.mark.parametrize("estimator", [KernelKMeans(n_init=1), SpectralClustering(gamma=0.5, n_init=1)], ids=str)
def test_the_matrix_is_built_once_for_all_candidates(estimator, monkeypatch):
    built, original = [], Dense._build
    monkeypatch.setattr(Dense, "_build", lambda self, kernel, X, rng: built.append(X) or original(self, kernel, X, rng))
    estimator = clone(estimator).set_params(gram="dense")
    choose_clusters(estimator, blobs(60), n_clusters=[2, 3, 4])
    assert len(built) == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "guess"}, ValueError, "method = 'guess' is unknown"),
        ({"n_clusters": [1, 2]}, ValueError, "n_clusters = 1 must be >= 2"),
        ({"n_clusters": []}, ValueError, "n_clusters is empty; pass at least one number"),
        ({"n_clusters": [3, None]}, TypeError, "n_clusters = None must be an integer"),
        ({"n_clusters": range(2, 41), "method": "eigengap"}, ValueError, "goes up to 40"),
        ({"n_clusters": range(2, 40), "method": "stability"}, ValueError, "too many for subsamples of 32 of 40"),
        ({"method": "stability", "n_resamples": 1}, ValueError, "n_resamples = 1 must be >= 2"),
        ({"method": "stability", "fraction": 1.0}, ValueError, "fraction = 1.0 must be < 1"),
        ({"method": "stability", "fraction": 0.3}, ValueError, "fraction = 0.3 must be > 0.5"),
    ],
)
def test_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        choose_clusters(KernelKMeans(), blobs(40), **options)


def test_only_our_estimators():
    with pytest.raises(TypeError, match="estimator is a str"):
        choose_clusters("k-means", blobs(20))
