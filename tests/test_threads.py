"""Threads: how many, how work is split, and BLAS beside them."""

from threading import Event, Thread, local

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from mercer import _threads


@pytest.mark.parametrize(("n", "size"), [(1, 8), (8, 8), (9, 8), (53, 8), (1000, 7)])
def test_slices(n, size):
    parts = _threads.slices(n, size)
    assert [i for s in parts for i in range(s.start, s.stop)] == list(range(n))
    lengths = [s.stop - s.start for s in parts]
    assert max(lengths) <= size and max(lengths) - min(lengths) <= 1


def test_thread_counts():
    cores = _threads.n_threads()
    assert cores >= 1
    assert _threads.n_threads(3) == 3 and _threads.n_threads(-1) == cores and _threads.n_threads(-1000) == 1


def test_later_jobs_are_cancelled_after_an_error():
    done = []

    def work(i):
        if i == 0:
            raise KeyError("first")
        done.append(i)

    with pytest.raises(KeyError, match="first"):
        _threads.run(range(10_000), work, 1)
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
    _threads.run(range(3), lambda i: None, 2)
    assert blas_threads() == {2}


def test_blas_threads_are_given_back_by_the_last_of_several_threads(two_threads):
    started, end, seen = [Event(), Event()], [Event(), Event()], []

    def wait(i):
        started[i].set()
        end[i].wait(10)

    threads = [Thread(target=_threads.run, args=([i], wait, 1)) for i in range(2)]
    for i, thread in enumerate(threads):  # the first comes first and goes first
        thread.start()
        started[i].wait(10)
    for i, thread in enumerate(threads):
        seen.append(blas_threads())
        end[i].set()
        thread.join()
    assert [*seen, blas_threads()] == [{1}, {1}, {2}]


def test_blas_threads_set_by_others_meanwhile_stay(two_threads):
    with _threads.one_blas_thread:
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
    limit, library, seen = _threads.OneBlasThread(), OpenMP(), []
    with limit:  # finds what is loaded, before one more is given
        pass
    limit.of_process, limit.by_thread = [], [library]

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
    controller = _threads.ThreadpoolController
    monkeypatch.setattr(_threads, "ThreadpoolController", lambda: found.append(1) or controller())
    limit = _threads.OneBlasThread()
    for _ in range(3):
        with limit, limit:
            pass
    assert len(found) == 1
    monkeypatch.setitem(_threads.sys.modules, "another", _threads)
    with limit:
        pass
    assert len(found) == 2
