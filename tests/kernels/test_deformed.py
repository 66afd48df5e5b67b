"""The deformed kernel: its definition, the norm that it stands for, and the Laplacian methods that it makes."""

import pickle

import networkx
import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from mercer import RKHS, SVC, Function, KernelLogisticRegression, KernelPCA, KernelRidge, load, save
from mercer.evaluation import _host, bind
from mercer.kernels import (
    PD,
    Affine,
    Callable,
    FiniteDomain,
    Gaussian,
    Linear,
    Log,
    Precomputed,
    Sigmoid,
    as_kernel,
)
from mercer.kernels.deformed import Deformed, deformed
from mercer.kernels.graphs import EdgeHistogram, VertexHistogram
from mercer.kernels.strings import Spectrum
from mercer.testing import check_gram, check_kernel


def cloud(n=15, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def graph_of(n, seed=0):
    """Random weights, a point without links, and two parts."""
    W = np.triu(np.random.default_rng(seed).uniform(size=(n, n)), 1)
    W[W < 0.6] = 0
    W[: n // 2, n // 2 :] = 0
    W[0] = 0
    return W + W.T


def penalty(W, weight, power, laplacian="normalized"):
    """M from its definition."""
    d = W.sum(axis=1)
    L = np.diag(d) - W
    if laplacian == "normalized":
        root = np.sqrt(np.where(d > 0, d, 1))
        L = L / np.outer(root, root)
    return weight * np.linalg.matrix_power(L, power)


def bent(k, P, M, X, Y):
    """The values from their definition."""
    return k(X, Y) - k(X, P) @ np.linalg.solve(np.eye(len(M)) + M @ k(P, P), M @ k(P, Y))


# ---- the definition


@pytest.mark.parametrize("laplacian", ["normalized", "unnormalized"])
@pytest.mark.parametrize("power", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [Gaussian(0.8), Affine(0.5)], ids=str)
def test_values(k, power, laplacian):
    P, X, Y = cloud(), cloud(6, 1), cloud(5, 2)
    W = graph_of(15)
    expected = bent(k, P, penalty(W, 3.0, power, laplacian), X, Y)
    for graph in (W, csr_array(W), W.tolist()):
        values = Deformed(k, P, graph, 3.0, power, laplacian)(X, Y)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-11 * np.abs(k(X, Y)).max())


def test_graphs_of_the_points():
    k, P = Gaussian(0.8), cloud(30)
    X = cloud(6, 1)
    neighbours = kneighbors_graph(P, 4).toarray()  # a Gaussian's metric orders as the Euclidean one
    wide = Gaussian(2.0)
    weights = wide(P) - np.eye(30)
    for graph, W in ((4, np.maximum(neighbours, neighbours.T)), (wide, weights)):
        expected = bent(k, P, penalty(W, 10.0, 1), X, X)
        np.testing.assert_allclose(Deformed(k, P, graph, 10.0)(X), expected, rtol=0, atol=1e-12)
    assert Deformed(k, P, Gaussian("median"), 10.0)(X).shape == (6, 6)
    assert np.all(Deformed(k, P, "connected").diag(X) < k.diag(X))


def test_the_norm_is_the_penalised_one():
    r"""‖f‖² in the deformed space is ‖f‖² in that of k, and f(P)ᵀMf(P)."""
    k, P, Z = Gaussian(0.9), cloud(), cloud(4, 3)
    W, a = graph_of(15), np.array([1.0, -2.0, 0.5, 0.7])
    M = penalty(W, 5.0, 2)
    f = RKHS(Deformed(k, P, W, 5.0, 2)).function(Z, a)
    on_points = -np.linalg.solve(np.eye(15) + M @ k(P), M @ k(P, Z)) @ a
    same = Function(k, np.concatenate([Z, P]), np.concatenate([a, on_points]))
    X = cloud(7, 4)
    np.testing.assert_allclose(f(X), same(X), atol=1e-12)
    assert np.isclose(f.norm() ** 2, same.norm() ** 2 + same(P) @ M @ same(P), rtol=1e-10)


def test_without_weight_it_is_the_kernel():
    k, P, X = Gaussian(0.8), cloud(), cloud(6, 1)
    np.testing.assert_array_equal(Deformed(k, P, 3, weight=0)(X), k(X))
    gaps = [np.abs(Deformed(k, P, 3, weight=w)(X) - k(X)).max() for w in (1e-3, 1e-6)]
    assert 0 < gaps[1] < 2e-3 * gaps[0]


def test_the_order_of_the_points_does_not_matter():
    k, P, X, W = Gaussian(0.8), cloud(), cloud(6, 1), graph_of(15)
    order = np.random.default_rng(1).permutation(15)
    for one, other in ((W, W[np.ix_(order, order)]), (3, 3), ("connected", "connected")):
        np.testing.assert_allclose(Deformed(k, P, one)(X), Deformed(k, P[order], other)(X), atol=1e-12)


def test_strong_weights_make_parts_constant():
    """On a graph of two parts, all that is left of a strictly definite kernel is a value for each."""
    P = np.concatenate([cloud(8), cloud(8, 1) + 20])
    K = Deformed(Gaussian(3.0), P, 4, weight=1e7, laplacian="unnormalized").normalized()(P)
    expected = np.kron(np.eye(2), np.ones((8, 8)))
    np.testing.assert_allclose(K, expected, atol=1e-4)


# ---- the methods that it makes


def test_laplacian_ridge_regression():
    """The closed form of regularised least squares on labelled and unlabelled points."""
    k, P, new = Gaussian(0.8), cloud(20), cloud(5, 1)
    labelled, y, alpha = np.arange(8), np.random.default_rng(2).normal(size=8), 0.3
    W = graph_of(20)
    K, M, J = k(P), penalty(W, 2.0, 1), np.diag((np.arange(20) < 8).astype(float))
    a = np.linalg.solve(J @ K + alpha * (np.eye(20) + M @ K), J @ np.concatenate([y, np.zeros(12)]))
    model = KernelRidge(alpha=alpha, kernel=deformed(k, P, W, weight=2.0)).fit(P[labelled], y)
    np.testing.assert_allclose(model.predict(new), k(new, P) @ a, atol=1e-11)


def test_laplacian_support_vector_machine():
    """The primal problem over all points, by a general solver."""
    k, P, C = Gaussian(0.8), cloud(12), 8.0
    y = np.where(P[:6, 0] + 0.3 * P[:6, 1] > 0, 1.0, -1.0)
    W = graph_of(12, 4)
    K, M = k(P), penalty(W, 3.0, 1)
    # f = Σ aᵢk(·, pᵢ) has ‖f‖² + f(P)ᵀMf(P) = ‖u‖² for u = Rᵀa
    R = np.linalg.cholesky(K + K @ M @ K)
    to_values = np.linalg.solve(R, K).T

    def objective(v):
        return v[:12] @ v[:12] / 2 + C * v[13:].sum(), np.concatenate([v[:12], [0.0], np.full(6, C)])

    margins = np.hstack([y[:, None] * to_values[:6], y[:, None], np.eye(6)])
    constraints = [LinearConstraint(margins, 1, np.inf), LinearConstraint(np.eye(19)[13:], 0, np.inf)]
    start = np.concatenate([np.zeros(13), np.full(6, 2.0)])
    best = minimize(objective, start, jac=True, constraints=constraints, method="SLSQP", options={"ftol": 1e-11})
    a, b = np.linalg.solve(R.T, best.x[:12]), best.x[12]
    model = SVC(C=C, kernel=deformed(k, P, W, weight=3.0), tol=1e-8).fit(P[:6], y)
    new = cloud(9, 5)
    assert best.success
    at_bound = np.isclose(np.abs(model.dual_coef_), C)
    assert at_bound.any() and not at_bound.all()
    np.testing.assert_allclose(model.decision_function(new), k(new, P) @ a + b, atol=1e-6)
    hinge = np.maximum(1 - y * model.decision_function(P[:6]), 0)
    assert np.isclose(model.function_.norm() ** 2 / 2 + C * hinge.sum(), best.fun, rtol=1e-8)


def two_rows():
    t = np.linspace(0, 5, 50)
    X = np.concatenate([np.column_stack([t, 0 * t]), np.column_stack([t, 0 * t + 1])])
    return X, np.repeat([0, 1], 50)


@pytest.mark.parametrize("gram", ["dense", "lazy", "incomplete_cholesky"])
def test_every_representation(gram):
    X, y = two_rows()
    known = [0, 20, 70, 99]
    kernel = deformed("gaussian(lengthscale=0.5)", X, 4)
    model = KernelRidge(alpha=1e-3, kernel=kernel, gram=gram).fit(X[known], y[known])
    exact = KernelRidge(alpha=1e-3, kernel=kernel).fit(X[known], y[known])
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-8)
    check_gram(gram, kernel, X[::9])


def test_labels_follow_the_points():
    X, y = two_rows()
    known = [0, 99]
    kernel = deformed("gaussian(lengthscale=0.5)", X, 4)
    for model in (SVC(kernel=kernel), KernelLogisticRegression(kernel=kernel)):
        assert model.fit(X[known], y[known]).score(X, y) == 1
        assert clone(model).set_params(kernel=kernel.kernel).fit(X[known], y[known]).score(X, y) < 0.7


def common_letters(x, y):
    return float(len(set(x) & set(y)))


def test_strings():
    words = ["abc", "abd", "bcd", "xyz", "wxy", "wz", "abcd", "xz"]
    k = Callable(common_letters, PD)
    W = (k(words) > 1) - np.eye(8)
    kernel = deformed(common_letters, words, W, weight=2.0)
    check_kernel(Deformed(k, words, 2), words)
    np.testing.assert_allclose(kernel(words[:4]), bent(k, words, penalty(W, 2.0, 1), words[:4], words[:4]), atol=1e-12)
    model = SVC(kernel=kernel).fit(["abc", "xyz"], [0, 1])
    assert model.predict(["abd", "wxy", "ab", "xy"]).tolist() == [0, 1, 0, 1]


def test_a_finite_domain_takes_a_matrix():
    P = cloud()
    K = Gaussian(0.8)(P)
    on_numbers = Deformed(FiniteDomain(K), np.arange(15), 3)
    np.testing.assert_allclose(on_numbers([0, 5, 7]), Deformed(Gaussian(0.8), P, 3)(P[[0, 5, 7]]), atol=1e-12)


# ---- points and parameters


def test_points_and_lengths_come_from_the_data():
    X, y = two_rows()
    text = as_kernel("deformed(gaussian(lengthscale='median'), graph=4)")
    resolved = text.resolve(X)
    assert resolved == Deformed(Gaussian("median").resolve(X), X, 4)
    model = SVC(kernel="deformed(gaussian(lengthscale='median'), graph=4)").fit(X, y)
    assert model.kernel_ == resolved
    cloud_given = Deformed(Gaussian("median"), X, 4).resolve(X[:5])
    assert cloud_given == resolved  # the lengthscale is that of all points, not of the few with labels
    assert KernelPCA(2, kernel=text).fit(X).kernel_ == resolved


def test_the_factor_is_found_once(monkeypatch):
    P, X = cloud(30), cloud(80, 1)
    monkeypatch.setattr(_host, "SMALL", 100)
    monkeypatch.setattr(_host, "TILE", 16)
    calls = []
    factor = Deformed._factor
    monkeypatch.setattr(Deformed, "_factor", lambda self, points: calls.append(1) or factor(self, points))
    kernel = Deformed(Gaussian(0.8), P, 4)
    K = kernel(X)
    np.testing.assert_allclose(bind(clone(kernel), X, P).product(np.eye(30)), kernel(X, P), atol=1e-12)
    assert len(calls) == 2  # once for the kernel, once for its clone
    for C in (1.0, 10.0):
        model = SVC(kernel=kernel, C=C).fit(X, X[:, 0] > 0)
        assert model.kernel_ is not kernel and model.score(X, X[:, 0] > 0) > 0.5
    assert len(calls) == 2
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel))(X), K)
    assert len(calls) == 2
    changes = (
        {"kernel__lengthscale": 1.1},
        {"weight": 7.0},
        {"graph": 5},
        {"power": 2},
        {"X": P[:20]},
        {"laplacian": "unnormalized"},
        {"graph": Gaussian(2.0)},
        {"graph__lengthscale": 1.0},
    )
    for count, change in enumerate(changes, 3):
        last, K = K, kernel.set_params(**change)(X)
        assert len(calls) == count and np.abs(K - last).max() > 1e-6


def test_models_are_written_and_read_with_the_factor(tmp_path, monkeypatch):
    """Also where points are lists, which a file does not know to be the same; and networks, which it does not know."""
    words = ["abc", "abd", "bcd", "xyz", "wxy", "wz", "abcd", "xz"]
    networks = [networkx.path_graph(n) for n in (2, 3, 4)] + [networkx.cycle_graph(n) for n in (3, 4, 5)]
    for k, points in ((Spectrum(1), words), (VertexHistogram() + EdgeHistogram(), networks)):
        model = SVC(kernel=deformed(k, points, "connected")).fit([points[0], points[-1]], [0, 1])
        save(model, tmp_path / "model")
        monkeypatch.setattr(Deformed, "_factor", None)
        same = load(tmp_path / "model")
        np.testing.assert_allclose(same.decision_function(points), model.decision_function(points), atol=1e-12)
        monkeypatch.undo()


def test_inside_the_algebra_and_itself():
    P, X = cloud(), cloud(6, 1)
    k = Deformed(Gaussian(0.8), P, 3)
    np.testing.assert_allclose((2 * k + Linear())(X), 2 * k(X) + Linear()(X), atol=1e-12)
    twice = Deformed(k, P, graph_of(15), 2.0)
    np.testing.assert_allclose(twice(X), bent(k, P, penalty(graph_of(15), 2.0, 1), X, X), atol=1e-11)
    assert twice.definiteness.is_pd and twice.definiteness.strict
    assert not Deformed(Linear(), P).definiteness.strict


def test_sparse_points():
    P, X = cloud(), cloud(6, 1)
    k = Deformed(Gaussian(0.8), P, 3)
    values = Deformed(Gaussian(0.8), csr_array(P), 3)(csr_array(X))
    np.testing.assert_allclose(values, k(X), atol=1e-12)
    single = Deformed(Gaussian(0.8), csr_array(P), 3)(X.astype("float32"))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, k(X), atol=1e-5)


def minus_product(x, y):
    return -float(x @ y)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": None}, ValueError, "X = None is filled in by fit"),
        ({"weight": -1}, ValueError, "weight = -1 must be >= 0"),
        ({"power": 1.5}, ValueError, "power = 1.5 must be an integer"),
        ({"laplacian": "sparse"}, ValueError, "laplacian = 'sparse' is unknown"),
        ({"graph": 0}, ValueError, "graph = 0 must be >= 1"),
        ({"graph": "near"}, ValueError, "graph = 'near' is unknown"),
        ({"graph": np.ones((3, 3))}, ValueError, r"shape \(3, 3\), but there are 15 points"),
        ({"graph": -np.ones((15, 15))}, ValueError, "graph holds -1"),
        ({"graph": np.triu(np.ones((15, 15)))}, ValueError, "not symmetric"),
        ({"graph": Linear()}, ValueError, "weights must be >= 0"),
        ({"kernel": Log()}, ValueError, "so it defines no norm"),
        ({"kernel": Sigmoid(1.0, -1.0)}, ValueError, "so it defines no norm.* Flipped.* KreinSVC.* SVC, which finds"),
        ({"kernel": 1e20 * Gaussian()}, ValueError, "up to 1e.20 leaves no accuracy in float64; lower weight"),
        (
            {"weight": 1e6, "X": cloud().astype("f4")},
            ValueError,
            "no accuracy in float32; .* points in double precision",
        ),
        ({"kernel": Callable(minus_product)}, ValueError, "not positive definite on the points.* KreinSVC"),
        ({"kernel": Precomputed()}, TypeError, "FiniteDomain"),
        ({"kernel": "gaussian"}, TypeError, "give Kernel objects"),
    ],
)
def test_errors(change, error, message):
    kernel = Deformed(**({"kernel": Gaussian(), "X": cloud()} | change))
    with pytest.raises(error, match=message):
        kernel(cloud(4))
