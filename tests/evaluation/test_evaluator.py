"""Evaluators: the same numbers as one call of evaluate, exactly symmetric, in tiles on threads or by row blocks."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer import SVC, SVR, KernelMachine, KernelPCA, KernelRidge
from mercer._threads import Workers
from mercer.evaluation import Evaluator, HeldEvaluator, HostEvaluator, WholeEvaluator, _base, _host, backend, bind
from mercer.gram import Lazy
from mercer.kernels import Gaussian, Linear
from mercer.kernels.finite import Callable
from mercer.testing import check_evaluator

rng = np.random.default_rng(6)
X, Y = rng.normal(size=(53, 6)), rng.normal(size=(31, 6))
V = rng.normal(size=(53, 3))


@pytest.fixture
def small(monkeypatch):
    """Tiles of 8 rows from 100 entries on."""
    monkeypatch.setattr(_host, "SMALL", 100)
    monkeypatch.setattr(_host, "TILE", 8)


KERNELS = [Gaussian(2.0), Linear(), Gaussian() + 2 * Linear() ** 2, Gaussian().on([0, 3]).normalized()]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("n_jobs", [1, 2, 5, None])
def test_matrix(small, kernel, n_jobs):
    K = bind(kernel, X).dense(n_jobs)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, kernel.evaluate(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(bind(kernel, X, Y).dense(n_jobs), kernel.evaluate(X, Y), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("n_jobs", [1, 2, None])
@pytest.mark.parametrize("block", [None, 400])
def test_product(small, kernel, n_jobs, block):
    K, C = kernel.evaluate(X), kernel.evaluate(Y, X)
    for W in (V, V[:, 0]):
        np.testing.assert_allclose(bind(kernel, X).product(W, n_jobs, block), K @ W, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(bind(kernel, Y, X).product(W, n_jobs, block), C @ W, rtol=1e-10, atol=1e-10)


def test_single_precision_and_sparse(small):
    single = X.astype("float32")
    K = bind(Gaussian(), single).dense()
    assert K.dtype == np.float32
    assert bind(Gaussian(), single).product(V.astype("float32")).dtype == np.float32
    S = csr_array(np.where(np.abs(X) > 1, X, 0.0))
    np.testing.assert_allclose(bind(Gaussian(), S).dense(), Gaussian().evaluate(S), rtol=1e-10)
    np.testing.assert_allclose(bind(Linear(), S).product(V), S @ (S.T @ V), rtol=1e-10)


def test_pairs_of_collections(small):
    kernel = Gaussian() @ Linear()
    pair = (X, X[:, :2])
    np.testing.assert_allclose(bind(kernel, pair).dense(), kernel.evaluate(pair), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(bind(kernel, pair).product(V), kernel.evaluate(pair) @ V, atol=1e-10)


def common(x, y):
    return float(len(set(x) & set(y)))


def test_lists(small):
    words = ["".join(rng.choice(list("abcdef"), 3)) for _ in range(40)]
    expected = [[common(x, y) for y in words] for x in words]
    np.testing.assert_array_equal(bind(Callable(common), words).dense(), expected)
    np.testing.assert_allclose(bind(Callable(common), words).product(np.ones(40)), np.sum(expected, axis=1))


def test_calling_a_kernel_uses_tiles(small):
    np.testing.assert_allclose(Gaussian()(X), Gaussian().evaluate(X), rtol=1e-13)


def test_other_libraries_take_row_blocks(small, xp):
    A, W = xp.asarray(X), xp.asarray(V)
    for block in (None, 200):
        out = bind(Gaussian(), A).product(W, entries=block)
        assert isinstance(out, type(A))
        np.testing.assert_allclose(np.asarray(out), Gaussian().evaluate(X) @ V, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(np.asarray(bind(Gaussian(), A).dense()), Gaussian().evaluate(X), rtol=1e-9)


def test_an_error_in_a_tile_reaches_the_caller(small):
    def fails(x, y):
        raise RuntimeError("no such pair")

    with pytest.raises(RuntimeError, match="no such pair"):
        bind(Callable(fails), list(range(60)), list(range(60))).dense(2)


def test_a_backend_serves_what_it_suits(monkeypatch):
    monkeypatch.setattr(_base, "BACKENDS", list(_base.BACKENDS))

    @backend
    class Shared(Evaluator):
        """xᵀy by products of the samples."""

        @classmethod
        def suits(cls, kernel, X):
            return type(kernel) is Linear

        def product(self, V, n_jobs=None, entries=None):
            return self.X @ (self.Y.T @ V)

    rng = np.random.default_rng(0)
    X, V = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    assert type(bind(Linear(), X)) is Shared and type(bind(Gaussian(), X)) is HostEvaluator
    assert np.allclose(Lazy().build(Linear(), X) @ V, X @ X.T @ V)


@pytest.mark.parametrize("by_rows", [False, True])
def test_a_backend_reaches_every_consumer(monkeypatch, by_rows):
    """Values three times as large are those of three times the kernel, whatever asks for them."""
    monkeypatch.setattr(_base, "BACKENDS", list(_base.BACKENDS))
    if by_rows:
        monkeypatch.setattr("mercer.solvers.fit.boxes.HELD", 0)
        monkeypatch.setattr("mercer.solvers.fit.boxes.SMALL", 0)
    rng = np.random.default_rng(3)
    X = rng.normal(size=(260, 4))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=260) > 0, 1, -1)
    kernel = Gaussian(2.0) + 0.5 * Linear()
    machines = [SVC(), SVC(gram="dense"), SVC(tol=1e-5), SVR(epsilon=0.5)]
    others = [
        KernelRidge(),
        KernelRidge(gram="lazy"),
        KernelMachine("hinge", alpha=1.0),
        KernelMachine("logistic", alpha=1.0),
        KernelPCA(n_components=2),
        KernelPCA(n_components=2, gram="packed"),
    ]

    def fitted(model, kernel):
        model = clone(model).set_params(kernel=kernel).fit(X, y)
        if hasattr(model, "eigenvalues_"):
            return model.eigenvalues_
        return model.function_(X) - np.mean(model.function_(X))

    models = machines if by_rows else machines + others
    expected = [fitted(model, 3.0 * kernel) for model in models]
    sizes = [fitted(model, kernel).std() for model in models]

    @backend
    class Tripled(Evaluator):
        @classmethod
        def suits(cls, given, X):
            return type(given) is type(kernel)

        def block(self, rows, columns):
            return 3 * super().block(rows, columns)

        def diagonal(self):
            return 3 * super().diagonal()

    for model, right, size in zip(models, expected, sizes, strict=True):
        found = fitted(model, kernel)
        if not hasattr(model, "n_components"):
            found = found * 3  # function_ evaluates the kernel itself
        assert abs(right.std() - size) > 0.02 * size, model
        np.testing.assert_allclose(found, right, rtol=0.02, atol=0.02 * right.std(), err_msg=str(model))


EVALUATORS = {
    "host": lambda: bind(Gaussian(2.0), X),
    "host, two collections": lambda: bind(Gaussian(2.0), Y, X),
    "host, single precision": lambda: bind(Gaussian(2.0), X.astype("float32")),
    "host, sparse": lambda: bind(Gaussian(), csr_array(np.where(np.abs(X) > 1, X, 0.0))),
    "host, composite": lambda: bind(KERNELS[3], X),
    "host, words": lambda: bind(Callable(common), ["abc", "bcd", "cde", "fab", "ccc", "dad"]),
    "part": lambda: bind(Gaussian(2.0), X).take(np.arange(7), np.arange(3, 40)),
    "blocks": lambda: Evaluator(Gaussian(2.0), X),
    "blocks, two collections": lambda: Evaluator(Linear(), Y, X),
    "held": lambda: HeldEvaluator(Gaussian(2.0)(X)),
    "held, part": lambda: HeldEvaluator(Gaussian(2.0)(X)).take(np.arange(20), np.arange(5, 30)),
    "whole": lambda: WholeEvaluator(Callable(dot, pairwise=False), X),
}


def dot(A, B):
    return A @ B.T


def test_what_is_no_evaluator_is_refused():
    with pytest.raises(TypeError, match="check_evaluator: None must be an Evaluator"):
        check_evaluator(None)
    with pytest.raises(ValueError, match="3 rows and 3 columns; use at least five"):
        check_evaluator(bind(Gaussian(), X[:3]))
    with pytest.raises(TypeError, match="backend: 3 must be a subclass of"):
        backend(3)


@pytest.mark.parametrize("name", EVALUATORS)
def test_all_operations_agree(name):
    check_evaluator(EVALUATORS[name](), tol=1e-5)


def test_all_operations_agree_in_other_libraries(xp):
    check_evaluator(bind(Gaussian(), xp.asarray(X)))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("product", "product"), ("rows", "rows"), ("quick", "quick"), ("diagonal", "diagonal"), ("take", "part")],
)
def test_a_wrong_operation_is_found(monkeypatch, name, wrong):
    class Wrong(HostEvaluator):
        pass

    right = getattr(Wrong, name)

    def doubled(self, *args, **options):
        if name == "take":
            return right(self, args[1][:3], args[1])
        result = right(self, *args, **options)
        if name == "rows":
            args[1][:] *= 2
        return result if name == "rows" else 2 * result

    monkeypatch.setattr(Wrong, name, doubled)
    with pytest.raises(AssertionError, match=wrong):
        check_evaluator(Wrong(Gaussian(), X))


@pytest.mark.parametrize("lengthscale", [0.7, "each", "matrix"])
def test_constant_columns_do_not_count_between_points_on_the_right(lengthscale):
    """Columns in which they agree are left out, and only the distance to them is kept for points on the left."""
    rng = np.random.default_rng(0)
    X, new = (rng.normal(size=(n, 6)).astype(np.float32) for n in (90, 20))
    X[:, [1, 4]] = 3.0, -2.0
    scale = {"each": rng.uniform(0.5, 2.0, 6), "matrix": np.eye(6) + 0.1 * rng.normal(size=(6, 6))}
    kernel = Gaussian(scale.get(lengthscale, lengthscale))
    matrix = kernel.lengthscale if lengthscale == "matrix" else np.diag(kernel.lengthscale * np.ones(6))
    for A in (new, X):
        left, right = (Z.astype(float) for Z in (A, X))
        U = (left[:, None] - right[None]) @ np.linalg.inv(matrix).T
        values = kernel.bind(A, X).tile(slice(None))
        assert values.dtype == np.float32
        np.testing.assert_allclose(values, np.exp(-0.5 * np.sum(U**2, axis=2)), atol=2e-6)


@pytest.mark.parametrize("values", [1, 5])
def test_columns_that_are_all_constant(values):
    X = np.full((4, values), 2.0, dtype=np.float32)
    evaluator = Gaussian().bind(X + 1, X)
    np.testing.assert_allclose(evaluator.tile(slice(None)), np.exp(-0.5 * values), rtol=1e-5)


@pytest.mark.parametrize("count", range(1, 30))
def test_rows_do_not_depend_on_those_computed_with_them(count):
    """For numbers of rows that the compiled products split differently, and for two collections together."""
    rng = np.random.default_rng(count)
    X = rng.normal(size=(77, 5)).astype(np.float32)
    whole = Gaussian().bind(X)
    one, two = whole.take(np.arange(40), np.arange(40)), whole.take(np.arange(40, 77), np.arange(40, 77))
    own, cross = np.empty((count, 40), np.float32), np.empty((9, 40), np.float32)
    rows, others, places = rng.permutation(40)[:count], rng.permutation(37)[:4], np.arange(count)[::-1].copy()
    one.fill([(one, rows, own, places), (two, others, cross, np.array([8, 0, 3, 5]))], Workers())
    alone = np.empty((1, 40), np.float32)
    for evaluator, index, out, at in ((one, rows, own, places), (two, others, cross, [8, 0, 3, 5])):
        for i, place in zip(index, at, strict=True):
            one.fill([(evaluator, np.array([i]), alone, np.array([0]))], Workers())
            np.testing.assert_array_equal(out[place], alone[0])
    np.testing.assert_allclose(own[places], Gaussian()(X[rows], X[:40]), atol=2e-6)
