import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from mercer.gram import IncompleteCholesky
from mercer.kernels import PD, Gaussian, Linear
from mercer.kernels.finite import Callable, Precomputed
from mercer.kernels.sigmoid import Sigmoid


def build(representation, kernel, X):
    return representation.build(kernel, X, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["inchol_rbf_iris30", "inchol_rbf_blobs"])
def test_kernlab_inchol(oracle, name):
    o = oracle(name)
    p, expected = o["parameters"], o["outputs"]
    gram = build(IncompleteCholesky(p["maxiter"], p["tol"]), Gaussian.from_kernlab(p["sigma"]), o["inputs"]["X"])
    np.testing.assert_array_equal(gram.pivots + 1, expected["pivots"])
    np.testing.assert_allclose(gram.factor(), expected["G"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(gram.residual, expected["diagresidues"], rtol=0, atol=1e-12)
    assert gram.trace_error == pytest.approx(expected["trace_error"], abs=1e-12)


def test_kernlab_csi(oracle):
    o = oracle("csi_iris30")
    p, expected = o["parameters"], o["outputs"]
    r = p["rank"]
    representation = IncompleteCholesky(rank=r, y=o["inputs"]["y"], delta=p["delta"], kappa=p["kappa"])
    X = o["inputs"]["X"]
    gram = build(representation, Gaussian.from_kernlab(p["sigma"]), X)
    np.testing.assert_array_equal(gram.pivots + 1, expected["pivot_order"][:r])
    G = gram.factor()
    np.testing.assert_allclose(G, expected["G"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(gram.predicted_gain, expected["predgain"][:r], rtol=1e-9)
    np.testing.assert_allclose(gram.true_gain, expected["truegain"][:r], rtol=1e-9)
    left = [1 - (G[:, :k] ** 2).sum() / len(X) for k in range(r + 1)]
    np.testing.assert_allclose(left, expected["diagresidues"], rtol=0, atol=1e-12)
    Q, R = np.linalg.qr(G - G.mean(axis=0))
    signs = np.sign(np.diagonal(R))
    np.testing.assert_allclose(Q * signs, expected["Q"], rtol=0, atol=1e-11)
    np.testing.assert_allclose(signs[:, None] * R, expected["R"], rtol=0, atol=1e-11)


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(60, 2))


def test_is_greedy_on_the_residual_matrix(X):
    gram = build(IncompleteCholesky(rank=15), Gaussian(0.6), X)
    residual = Gaussian(0.6)(X)
    for i in gram.pivots:
        assert residual[i, i] == pytest.approx(np.diagonal(residual).max(), abs=1e-12)
        residual = residual - np.outer(residual[:, i], residual[i]) / residual[i, i]
    np.testing.assert_allclose(gram.dense(), Gaussian(0.6)(X) - residual, atol=1e-10)
    np.testing.assert_allclose(gram.residual, np.diagonal(residual), atol=1e-10)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_tolerance_is_relative_to_the_largest_value(X, scale):
    gram = build(IncompleteCholesky(tol=1e-3), scale * Gaussian(), X)
    assert gram.residual.max() <= 1e-3 * scale
    before = build(IncompleteCholesky(rank=gram.rank - 1, tol=0.0), scale * Gaussian(), X)
    assert before.residual.max() > 1e-3 * scale


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("y", [None, np.arange(60.0)])
def test_stops_at_the_rank_of_the_matrix(X, dtype, y):
    gram = build(IncompleteCholesky(tol=0.0, y=y, delta=4), Linear(), X.astype(dtype))
    assert gram.rank == 2
    np.testing.assert_allclose(gram.dense(), X @ X.T, atol=1e-5 if dtype == "float32" else 1e-13)


def test_grows_beyond_its_first_columns():
    X = np.random.default_rng(0).normal(size=(150, 5))
    gram = build(IncompleteCholesky(tol=1e-10), Gaussian(0.5), X)
    assert gram.rank > 128
    np.testing.assert_allclose(gram.dense(), Gaussian(0.5)(X), atol=1e-8)


def test_zero_matrix_has_rank_zero():
    gram = build(IncompleteCholesky(), Linear(), np.zeros((4, 2)))
    assert gram.rank == 0
    np.testing.assert_array_equal(gram @ np.ones(4), np.zeros(4))
    np.testing.assert_array_equal(gram.cross(np.ones((3, 2))).dense(), np.zeros((3, 4)))


def test_never_asks_for_the_whole_matrix():
    asked = []

    def values(X, Y):
        asked.append(len(X) * len(Y))
        return np.exp(-((X[:, None, 0] - Y[None, :, 0]) ** 2))

    X = np.linspace(0, 3, 80)[:, None]
    build(IncompleteCholesky(rank=5), Callable(values, definiteness=PD, pairwise=False), X)
    assert sum(asked) == 5 * 80 + 80  # five columns and the diagonal


def test_precomputed_csr_and_vectors_agree(X):
    K = Gaussian()(X)
    S = random_array((60, 30), density=0.2, format="csr", rng=np.random.default_rng(0))
    for kernel, A, B in ((Gaussian(), X, None), (Gaussian(), S, S.toarray())):
        one = build(IncompleteCholesky(rank=8), kernel, A)
        two = build(IncompleteCholesky(rank=8), *((Precomputed(), K) if B is None else (kernel, B)))
        np.testing.assert_array_equal(one.pivots, two.pivots)
        np.testing.assert_allclose(one.factor(), two.factor(), atol=1e-10)


# ---- side information


def objective(K, G, Y, kappa):
    """The definition, with G and Y centred by columns."""
    Y = Y - Y.mean(axis=0)
    G0 = G - G.mean(axis=0)
    rest = Y - G0 @ np.linalg.lstsq(G0, Y, rcond=None)[0]
    return (1 - kappa) * np.trace(K - G @ G.T) / np.trace(K) + kappa * (rest**2).sum() / (Y**2).sum()


@pytest.mark.parametrize("kappa", [0.0, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("outputs", [1, 3])
def test_true_gain_is_the_decrease_of_the_objective(X, kappa, outputs):
    Y = np.stack([np.sin((j + 1) * X[:, 0]) for j in range(outputs)], axis=1)
    K = Gaussian()(X)
    gram = build(IncompleteCholesky(rank=8, y=Y, delta=6, kappa=kappa, tol=0.0), Gaussian(), X)
    values = [objective(K, gram.Z[:, :k], Y, kappa) for k in range(gram.rank + 1)]
    np.testing.assert_allclose(gram.true_gain, -np.diff(values), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(
        gram.dense(),
        K[:, gram.pivots] @ np.linalg.solve(K[np.ix_(gram.pivots, gram.pivots)], K[gram.pivots]),
        atol=1e-8,
    )


def test_looking_all_the_way_ahead_predicts_gains_exactly(X):
    y = np.sin(3 * X[:, 0])
    gram = build(IncompleteCholesky(rank=10, y=y, delta=60), Gaussian(2.0), X)
    np.testing.assert_allclose(gram.predicted_gain, gram.true_gain, rtol=1e-5)


def test_side_information_predicts_y_with_fewer_columns():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(300, 4))
    y = np.sin(2 * X[:, 0])
    kernel = Gaussian(np.array([0.7, 3.0, 3.0, 3.0]))
    plain, informed = (build(IncompleteCholesky(rank=20, y=side), kernel, X).Z for side in (None, y))
    explained = [objective(np.eye(300), Z, y[:, None], 1.0) for Z in (plain, informed)]
    assert explained[1] < 0.5 * explained[0]


def test_labels_are_indicators(X):
    labels = np.where(X[:, 0] > 0, "right", "left")
    one = build(IncompleteCholesky(rank=5, y=labels), Gaussian(), X)
    two = build(IncompleteCholesky(rank=5, y=np.stack([X[:, 0] <= 0, X[:, 0] > 0], axis=1)), Gaussian(), X)
    np.testing.assert_array_equal(one.pivots, two.pivots)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"rank": 0}, "IncompleteCholesky: rank = 0 must be >= 1"),
        ({"rank": 2.5}, "rank = 2.5 must be an integer"),
        ({"tol": -1.0}, "tol = -1.0 must be >= 0"),
        ({"y": np.ones(60)}, "y must be finite and not constant"),
        ({"y": np.arange(3.0)}, "y has 3 entries for 60 samples"),
        ({"y": []}, "y has 0 entries for 60 samples"),
        ({"y": -1}, "IncompleteCholesky: y = -1 must be an array of numbers or labels, one row per sample"),
        ({"y": "a"}, "y = 'a' must be an array"),
        ({"y": {}}, "y = {} must be an array"),
        ({"y": csr_array(np.ones((60, 1)))}, "must be an array of numbers or labels"),
        ({"y": np.arange(60.0), "kappa": 2.0}, "kappa = 2.0 must be"),
        ({"y": np.arange(60.0), "delta": 0}, "delta = 0 must be >= 1"),
    ],
)
def test_bad_parameters(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        build(IncompleteCholesky(**parameters), Gaussian(), X)


def test_indefinite_kernels_are_refused(X):
    with pytest.raises(ValueError, match="is INDEFINITE, so its matrix has no factor; use Dense or Lazy"):
        build(IncompleteCholesky(), Sigmoid(), X)
