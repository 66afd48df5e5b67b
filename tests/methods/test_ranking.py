"""Manifold ranking: the definition, kernlab, graphs, new points."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import make_moons
from sklearn.neighbors import kneighbors_graph
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import _neighbours
from mercer.gram import Nystrom
from mercer.kernels import Callable, Gaussian, Linear
from mercer.methods.ranking import ManifoldRanking


def spread(A, y, alpha):
    """The scores from their definition."""
    A = A - np.diag(np.diag(A))
    d = A.sum(axis=1)
    root = np.sqrt(np.where(d > 0, d, 1))
    return np.linalg.solve(np.eye(len(A)) - alpha * A / np.outer(root, root), y)


def moons(n=120):
    X, moon = make_moons(n, noise=0.05, random_state=0)
    y = np.zeros(n)
    y[3], y[8] = 1, -1
    return X, y, moon


def neighbours(X, k):
    D = kneighbors_graph(X, k).toarray()
    return np.maximum(D, D.T)


@pytest.mark.parametrize("iterations", [None, 600])
def test_kernlab(oracle, iterations):
    case = oracle("ranking_rings")
    X, p = case["inputs"]["X"], case["parameters"]
    table = case["outputs"]["rank_table"]
    q = p["query"] - 1
    y = np.eye(len(X))[q]
    kernel = Gaussian.from_kernlab(p["sigma"])
    model = ManifoldRanking(kernel, alpha=p["alpha"], graph=None, max_iter=iterations, tol=1e-13).fit(X, y)
    others = np.arange(len(X)) != q
    expected = np.array([[score, rank] for (_, score, rank), other in zip(table, others, strict=True) if other])
    scores = model.scores_ / (p["alpha"] * model.scores_[q])
    np.testing.assert_allclose(scores[others], expected[:, 0], atol=1e-11)
    np.testing.assert_array_equal(model.ranks_[others], expected[:, 1])
    assert model.ranks_[q] == 0


@pytest.mark.parametrize("gram", ["dense", "lazy", Nystrom(rank=100)], ids=str)
def test_all_affinities(gram):
    X, y, _ = moons()
    model = ManifoldRanking(Gaussian(0.3), alpha=0.9, graph=None, gram=gram, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.scores_, spread(Gaussian(0.3)(X), y, 0.9), atol=1e-7)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.99])
def test_neighbours(alpha):
    X, y, _ = moons()
    A = neighbours(X, 5) * Gaussian(0.3)(X)
    model = ManifoldRanking(Gaussian(0.3), alpha=alpha, graph=5).fit(X, y)
    np.testing.assert_allclose(model.affinity_matrix_.toarray(), A, atol=1e-14)
    np.testing.assert_allclose(model.scores_, spread(A, y, alpha), atol=1e-8)
    # a graph given as a matrix, dense or sparse
    for matrix in (A, csr_array(A)):
        given = ManifoldRanking("precomputed", alpha=alpha, graph=None).fit(matrix, y)
        np.testing.assert_allclose(given.scores_, model.scores_, atol=1e-8)


def test_the_shortest_links_that_connect():
    X, y, _ = moons(60)
    model = ManifoldRanking(Gaussian(0.5), graph="connected").fit(X, y)
    np.testing.assert_allclose(model.scores_, spread(model.affinity_matrix_.toarray(), y, 0.99), atol=1e-7)
    assert np.all(model.scores_ != 0)


def test_several_queries_and_feedback():
    X, y, moon = moons()
    model = ManifoldRanking().fit(X)
    assert not hasattr(model, "scores_")
    Y = np.column_stack([y > 0, y < 0]).astype(float)
    both = model.scores(Y)
    for j in range(2):
        np.testing.assert_allclose(both[:, j], model.scores(Y[:, j]), atol=1e-8)
    model.fit(X, y)
    np.testing.assert_allclose(model.scores_, both[:, 0] - both[:, 1], atol=1e-7)
    assert np.all(np.sort(model.ranks_) == [0, 0, *range(1, 119)])
    assert np.all(np.diff(model.scores_[np.argsort(model.ranks_)][2:]) <= 0)
    many = ManifoldRanking().fit(X, Y)
    np.testing.assert_array_equal(many.ranks_[:, 0], ManifoldRanking().fit(X, Y[:, 0]).ranks_)
    # scores follow the moon of the query, which the distances do not
    first = Y[:, 0] > 0
    assert np.all(moon[many.ranks_[:, 0] <= 59] == moon[first])
    assert np.any(moon[np.argsort(np.linalg.norm(X - X[first], axis=1))[:59]] != moon[first])


def extension(model, C, alpha):
    """Scores of new points with affinities C to the sample, as if each were one more sample that changes no other."""
    d, new = model._operator.degrees, C.sum(axis=1)
    return alpha * (C / np.sqrt(np.outer(np.where(new > 0, new, 1), d))) @ model.scores_


def test_new_points():
    X, y, _ = moons()
    new = np.array([[0.5, 0.4], [1.9, 0.2], [50.0, 0.0]])
    k = Gaussian(0.3)
    for graph in (None, 5, "connected"):
        model = ManifoldRanking(k, graph=graph).fit(X, y)
        C = k(new, X)
        if graph == 5:
            gap = np.linalg.norm(new[:, None] - X, axis=2)
            C = np.where(gap <= np.sort(gap, axis=1)[:, 4:5], C, 0)
        elif graph == "connected":
            least = k(X)[model.affinity_matrix_.toarray() > 0].min()
            C = np.where(least - 1e-14 <= C, C, 0)
        np.testing.assert_allclose(model.score_samples(new), extension(model, C, 0.99), atol=1e-10)
        assert model.score_samples(new)[2] == 0
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).score_samples(new), model.score_samples(new))
    given = ManifoldRanking("precomputed", graph=None).fit(csr_array(k(X)), y)
    full = ManifoldRanking(k, graph=None).fit(X, y)
    np.testing.assert_allclose(given.score_samples(csr_array(k(new, X))), full.score_samples(new), atol=1e-8)


def test_retrieval():
    """A query that is inserted among the samples finds the same, up to the degrees that it would change."""
    X, _, moon = moons(200)
    model = ManifoldRanking(Gaussian(0.2), graph=6).fit(X)
    queries = np.array([[-0.9, 0.4], [1.9, 0.1]])
    found = model.retrieve(queries, 80)
    assert found.shape == (2, 80)
    assert np.all(moon[found[0]] == 0) and np.all(moon[found[1]] == 1)
    C = np.zeros((2, 200))
    D = np.linalg.norm(queries[:, None] - X, axis=2)
    near = np.argsort(D, axis=1)[:, :6]
    np.put_along_axis(C, near, np.take_along_axis(Gaussian(0.2)(queries, X), near, axis=1), axis=1)
    starts = (C / np.sqrt(model._operator.degrees)).T
    scores = spread(model.affinity_matrix_.toarray(), starts, 0.99)
    np.testing.assert_array_equal(found, np.argsort(-scores, axis=0)[:80].T)


def common_letters(x, y):
    return float(len(set(x) & set(y)))


def test_strings():
    words = ["abc", "bcd", "cde", "def", "xyz", "wxy"]
    model = ManifoldRanking(Callable(common_letters), graph=2).fit(words, [1, 0, 0, 0, 0, 0])
    assert model.ranks_.tolist()[:4] == [0, 1, 2, 3]
    assert model.score_samples(["ab", "w"])[0] > model.score_samples(["ab", "w"])[1] == 0


@pytest.mark.long
def test_large_samples_need_no_matrix(monkeypatch):
    """A graph of ten thousand samples from rows of kernel values alone."""
    sizes = []
    values = _neighbours._values

    def counted(*arguments):
        rows = values(*arguments)

        def block(index):
            K = rows(index)
            sizes.append(K.size)
            return K

        return block

    monkeypatch.setattr(_neighbours, "_values", counted)
    X, moon = make_moons(10_000, noise=0.03, random_state=0)
    model = ManifoldRanking(Gaussian(0.3), graph=6).fit(X, np.eye(10_000)[0])
    assert sum(sizes) == 10_000**2 and max(sizes) <= 1 << 22
    assert np.all(moon[model.ranks_ <= 4000] == moon[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": 1}, "alpha = 1 must be < 1"),
        ({"alpha": -0.1}, "alpha = -0.1 must be >= 0"),
        ({"graph": 0}, "graph = 0 must be >= 1"),
        ({"graph": "near"}, "graph = 'near' is unknown"),
        ({"max_iter": 0}, "max_iter = 0 must be >= 1"),
        ({"tol": 0}, "tol = 0 must be > 0"),
        ({"kernel": Linear()}, "weights must be >= 0"),
        ({"kernel": Linear(), "graph": None}, "affinities must be >= 0"),
    ],
)
def test_errors(change, message):
    X, y, _ = moons()
    with pytest.raises(ValueError, match=message):
        ManifoldRanking().set_params(**change).fit(X - 5 * (y != 0)[:, None], y)


@pytest.mark.long
@parametrize_with_checks([ManifoldRanking("precomputed"), ManifoldRanking("precomputed", graph=None)])
def test_scikit_learn_checks_of_a_matrix(estimator, check):
    check(estimator)


@pytest.mark.parametrize("graph", [None, 5, "connected"])
def test_tensors(graph):
    torch = pytest.importorskip("torch")
    X, y, _ = moons(40)
    there, here = (
        ManifoldRanking(Gaussian(0.3), graph=graph).fit(convert(X), convert(y))
        for convert in (torch.asarray, np.asarray)
    )
    for found, expected in (
        (there.scores_, here.scores_),
        (there.scores(torch.asarray(y)), here.scores_),
        (there.score_samples(torch.asarray(X[:3] + 0.01)), here.score_samples(X[:3] + 0.01)),
    ):
        assert isinstance(found, torch.Tensor)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-8)


def test_another_graph_leaves_nothing_of_the_last():
    X, y, _ = moons(40)
    model = ManifoldRanking().fit(X, y).set_params(graph=None).fit(X)
    assert not hasattr(model, "affinity_matrix_") and not hasattr(model, "scores_")


def test_queries_that_make_no_sense():
    X, _, _ = moons()
    model = ManifoldRanking().fit(X)
    with pytest.raises(ValueError, match=r"y has shape \(3,\), expected \(120,\)"):
        model.scores([1, 0, 0])
    with pytest.raises(ValueError, match="NaN or infinity"):
        model.scores(np.full(120, np.nan))
    with pytest.raises(TypeError, match="give numbers"):
        model.scores(["a"] * 120)
    with pytest.raises(ValueError, match="graph = 3 does not apply to a sparse X, which is a graph itself; use None"):
        ManifoldRanking("precomputed", graph=3).fit(csr_array(np.ones((4, 4))))


def test_scores_of_new_points_need_queries():
    model = ManifoldRanking().fit(np.eye(8))
    with pytest.raises(ValueError, match="ManifoldRanking: fit was called without y, so there are no scores"):
        model.score_samples(np.eye(8))
