"""Tiles: the same numbers as one call of evaluate, exactly symmetric, on threads that stop at the first error."""

from threading import Event, Thread, local

import numpy as np
import pytest
from scipy.sparse import csr_array
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import _tiles
from mercer.kernels import Gaussian, Linear
from mercer.kernels.finite import Callable

rng = np.random.default_rng(6)
X, Y = rng.normal(size=(53, 6)), rng.normal(size=(31, 6))
V = rng.normal(size=(53, 3))


@pytest.fixture
def small(monkeypatch):
    """Tiles of 8 rows from 100 entries on."""
    monkeypatch.setattr(_tiles, "SMALL", 100)
    monkeypatch.setattr(_tiles, "TILE", 8)


KERNELS = [Gaussian(2.0), Linear(), Gaussian() + 2 * Linear() ** 2, Gaussian().on([0, 3]).normalized()]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("n_jobs", [1, 2, 5, None])
def test_matrix(small, kernel, n_jobs):
    K = _tiles.matrix(kernel, X, None, n_jobs)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(K, kernel.evaluate(X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(_tiles.matrix(kernel, X, Y, n_jobs), kernel.evaluate(X, Y), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("n_jobs", [1, 2, None])
@pytest.mark.parametrize("block", [None, 400])
def test_product(small, kernel, n_jobs, block):
    K, C = kernel.evaluate(X), kernel.evaluate(Y, X)
    for W in (V, V[:, 0]):
        np.testing.assert_allclose(_tiles.product(kernel, X, None, W, n_jobs, block), K @ W, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(_tiles.product(kernel, Y, X, W, n_jobs, block), C @ W, rtol=1e-10, atol=1e-10)


def test_single_precision_and_sparse(small):
    single = X.astype("float32")
    K = _tiles.matrix(Gaussian(), single)
    assert K.dtype == np.float32
    assert _tiles.product(Gaussian(), single, None, V.astype("float32")).dtype == np.float32
    S = csr_array(np.where(np.abs(X) > 1, X, 0.0))
    np.testing.assert_allclose(_tiles.matrix(Gaussian(), S), Gaussian().evaluate(S), rtol=1e-10)
    np.testing.assert_allclose(_tiles.product(Linear(), S, None, V), S @ (S.T @ V), rtol=1e-10)


def test_pairs_of_collections(small):
    kernel = Gaussian() @ Linear()
    pair = (X, X[:, :2])
    np.testing.assert_allclose(_tiles.matrix(kernel, pair), kernel.evaluate(pair), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(_tiles.product(kernel, pair, None, V), kernel.evaluate(pair) @ V, atol=1e-10)


def common(x, y):
    return float(len(set(x) & set(y)))


def test_lists(small):
    words = ["".join(rng.choice(list("abcdef"), 3)) for _ in range(40)]
    expected = [[common(x, y) for y in words] for x in words]
    np.testing.assert_array_equal(_tiles.matrix(Callable(common), words), expected)
    np.testing.assert_allclose(_tiles.product(Callable(common), words, None, np.ones(40)), np.sum(expected, axis=1))


def test_calling_a_kernel_uses_tiles(small):
    np.testing.assert_allclose(Gaussian()(X), Gaussian().evaluate(X), rtol=1e-13)


def test_other_libraries_take_row_blocks(small, xp):
    A, W = xp.asarray(X), xp.asarray(V)
    for block in (None, 200):
        out = _tiles.product(Gaussian(), A, None, W, block=block)
        assert isinstance(out, type(A))
        np.testing.assert_allclose(np.asarray(out), Gaussian().evaluate(X) @ V, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(np.asarray(_tiles.matrix(Gaussian(), A)), Gaussian().evaluate(X), rtol=1e-9)


@pytest.mark.parametrize(("n", "size"), [(1, 8), (8, 8), (9, 8), (53, 8), (1000, 7)])
def test_slices(n, size):
    parts = _tiles.slices(n, size)
    assert [i for s in parts for i in range(s.start, s.stop)] == list(range(n))
    lengths = [s.stop - s.start for s in parts]
    assert max(lengths) <= size and max(lengths) - min(lengths) <= 1


def test_thread_counts():
    cores = _tiles.n_threads()
    assert cores >= 1
    assert _tiles.n_threads(3) == 3 and _tiles.n_threads(-1) == cores and _tiles.n_threads(-1000) == 1


def test_an_error_in_a_tile_reaches_the_caller(small):
    def fails(x, y):
        raise RuntimeError("no such pair")

    with pytest.raises(RuntimeError, match="no such pair"):
        _tiles.matrix(Callable(fails), list(range(60)), list(range(60)), 2)


def test_later_jobs_are_cancelled_after_an_error():
    done = []

    def work(i):
        if i == 0:
            raise KeyError("first")
        done.append(i)

    with pytest.raises(KeyError, match="first"):
        _tiles.run(range(10_000), work, 1)
    assert len(done) < 10_000


def blas_threads(number=None):
    """The numbers of threads of the BLAS libraries, all of which are set first where one is given."""
    if number is not None:
        # in a thread that ends: another that lives might keep to itself the right to set them
        setting = Thread(target=threadpool_limits, args=(number, "blas"))
        setting.start()
        setting.join()
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    (before,) = blas_threads()
    blas_threads(2)
    yield
    blas_threads(before)


def test_blas_threads_are_given_back(two_threads):
    _tiles.run(range(3), lambda i: None, 2)
    assert blas_threads() == {2}


def test_blas_threads_are_given_back_by_the_last_of_several_threads(two_threads):
    started, end, seen = [Event(), Event()], [Event(), Event()], []

    def wait(i):
        started[i].set()
        end[i].wait(10)

    threads = [Thread(target=_tiles.run, args=([i], wait, 1)) for i in range(2)]
    for i, thread in enumerate(threads):  # the first comes first and goes first
        thread.start()
        started[i].wait(10)
    for i, thread in enumerate(threads):
        seen.append(blas_threads())
        end[i].set()
        thread.join()
    assert [*seen, blas_threads()] == [{1}, {1}, {2}]


def test_blas_threads_set_by_others_meanwhile_stay(two_threads):
    with _tiles.one_blas_thread:
        blas_threads(3)
    assert blas_threads() == {3}


class OpenMP:
    """A library that has a number of threads for each thread, as those on OpenMP do."""

    threading_layer = "openmp"

    def __init__(self):
        self.here = local()

    def get_num_threads(self):
        return getattr(self.here, "number", 4)

    def set_num_threads(self, number):
        self.here.number = number


def test_blas_on_openmp_has_a_number_for_each_thread():
    limit, library, seen = _tiles.OneBlasThread(), OpenMP(), []
    with limit:  # finds what is loaded, before one more is given
        pass
    limit.libraries = [library]

    def other():
        seen.append(library.get_num_threads())
        with limit:
            seen.append(library.get_num_threads())
        seen.append(library.get_num_threads())

    with limit, limit:
        thread = Thread(target=other)
        thread.start()
        thread.join()
        assert library.get_num_threads() == 1
    assert seen == [4, 1, 4] and library.get_num_threads() == 4


def test_blas_libraries_are_looked_for_when_there_are_new_modules(monkeypatch):
    found = []
    controller = _tiles.ThreadpoolController
    monkeypatch.setattr(_tiles, "ThreadpoolController", lambda: found.append(1) or controller())
    limit = _tiles.OneBlasThread()
    for _ in range(3):
        with limit, limit:
            pass
    assert len(found) == 1
    monkeypatch.setitem(_tiles.sys.modules, "another", _tiles)
    with limit:
        pass
    assert len(found) == 2
