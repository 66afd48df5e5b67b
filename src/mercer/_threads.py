"""Threads: how many, BLAS threads next to them, and work split over them."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ._errors import type_or_value, where
from .context import current

SMALL = 768  # samples up to which linear algebra on their matrix is faster on one thread
WIDE = 1024  # columns up to which products of these samples are faster on one thread, too
ALIGN = 64  # parts of work start at multiples of this: whole cache lines and whole panels of packed columns


def n_threads(n_jobs: int | None = None) -> int:
    """The number of threads for `n_jobs` (None: all cores available to this process; negative: from the end)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


def check_jobs(owner: object, n_jobs: Any) -> None:
    """Raise unless `n_jobs` is a number of threads or None."""
    if n_jobs is None or (isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs != 0):
        return
    raise type_or_value(n_jobs)(
        f"{where(owner)}: n_jobs = {n_jobs!r} must be a number of threads (negative: counted from the end) or None."
    )


class OneBlasThread:
    """A context in which BLAS uses one thread; the last thread to leave restores the number that the first found.

    Most libraries have one number for the whole process: if each context restored the number it found, several threads
    could leave BLAS at one thread for ever. Under OpenMP each thread has its own number.
    """

    def __init__(self) -> None:
        self.lock, self.inside, self.here = threading.Lock(), 0, threading.local()
        self.modules, self.found = 0, list[tuple[Any, int]]()
        self.of_process, self.by_thread = list[Any](), list[Any]()  # the libraries

    def __enter__(self) -> None:
        with self.lock:
            # the search is slow, and only a new module can load a new library
            if self.inside == 0 and self.modules != len(sys.modules):
                self.modules = len(sys.modules)
                libraries = ThreadpoolController().select(user_api="blas").lib_controllers
                self.by_thread = [library for library in libraries if _by_thread(library)]
                self.of_process = [library for library in libraries if library not in self.by_thread]
            if self.inside == 0:
                self.found = _lower(self.of_process)
            self.inside += 1
        depth = getattr(self.here, "depth", 0)
        if depth == 0:
            self.here.found = _lower(self.by_thread)
        self.here.depth = depth + 1

    def __exit__(self, *error: object) -> None:
        self.here.depth -= 1
        if self.here.depth == 0:
            _restore(self.here.found)
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                _restore(self.found)


def _by_thread(library: Any) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _lower(libraries: list[Any]) -> list[tuple[Any, int]]:
    """Set each library with more threads to one, and return the previous numbers."""
    found = [(library, number) for library in libraries if (number := library.get_num_threads()) != 1]
    for library, _ in found:
        _set(library, 1)
    return found


def _restore(found: list[tuple[Any, int]]) -> None:
    for library, number in found:
        if library.get_num_threads() == 1:  # otherwise other code has changed it
            _set(library, number)


def _set(library: Any, number: int) -> None:
    library.set_num_threads(number)
    # in recent versions, only one thread can set the number until it releases control
    getattr(library, "clear_controlling_thread", bool)()


one_blas_thread = OneBlasThread()


def blas_for(n: int, alone: int = SMALL) -> AbstractContextManager[None]:
    """A context for linear algebra on an (n, n) matrix: one BLAS thread up to n = `alone`, where that is faster."""
    return one_blas_thread if n <= alone else nullcontext()


def blas_beside(X: Any) -> AbstractContextManager[None]:
    """A context for a fit to samples X: one BLAS thread if they are few and narrow, since others would mostly wait."""
    few = type(X) is np.ndarray and X.ndim == 2 and len(X) <= SMALL and X.shape[1] <= WIDE
    return one_blas_thread if few else nullcontext()


def slices(n: int, size: int) -> list[slice]:
    """Split 0 … n into nearly equal slices of at most `size`."""
    if 0 < n <= size:
        return [slice(0, n)]
    edges = np.linspace(0, n, -(-n // size) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def run(jobs: Iterable[Any], work: Callable[[Any], None], n_jobs: int | None = None) -> None:
    """Run `work` over `jobs` on threads, each with one BLAS thread; the first exception or Ctrl-C stops the rest.

    The context can also stop them, before a job starts. A single job runs on this thread.
    """
    threads, context, jobs = n_threads(n_jobs), current(), list(jobs)

    def unless_stopped(job: Any) -> None:
        context.check()
        work(job)

    if len(jobs) == 1:
        with one_blas_thread:
            unless_stopped(jobs[0])
        return
    with one_blas_thread, ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(copy_context().run, unless_stopped, job) for job in jobs]  # keeps NumPy's error handling
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def collect(count: int, work: Callable[[int], Any]) -> list[Any]:
    """The results of `work` for 0 … count − 1, in order; on threads if there are several."""
    if count == 1:
        return [work(0)]
    found: list[Any] = [None] * count
    run(range(count), lambda i: found.__setitem__(i, work(i)))
    return found


class Workers:
    """Run ``work(start, stop)`` over 0 … n on threads, or inline without a pool."""

    def __init__(self, pool: ThreadPoolExecutor | None = None, parts: int = 1):
        self.pool, self.parts = pool, parts

    def __call__(self, work: Callable[[int, int], None], n: int, grain: int = 1, align: int = ALIGN) -> None:
        if self.pool is None or n < 2 * grain:
            work(0, n)
            return
        edges = np.minimum(np.linspace(0, -(-n // align), self.parts + 1).astype(int) * align, n).tolist()
        futures = [self.pool.submit(work, a, b) for a, b in pairwise(edges[1:])]
        work(*edges[:2])
        for future in futures:
            future.result()
