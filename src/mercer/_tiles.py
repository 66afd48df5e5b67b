"""Large kernel matrices and products in tiles that stay in cache, on threads with one BLAS thread each.

A tile costs one call of `kernel.evaluate`; of a symmetric matrix only the upper tiles are computed. Kernels whose
single values are dear say so by a small `tile`, and those with work to do for each member by `prepares`: they see the
collection once, not once a tile. This is all that the library knows about *how* a kernel is evaluated on the host;
other devices take whole row blocks.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from ._array import is_array, is_numpy, namespace
from ._errors import fitting_memory, type_or_value, where

TILE = 1024  # rows and columns: 4 MiB in float32, with temporaries within the last-level cache of a core
SMALL = 1 << 21  # entries below which one call of evaluate is fastest, for kernels whose values are cheap


def n_threads(n_jobs: int | None = None) -> int:
    """Threads to use: `n_jobs` (None: all cores this process may use; negative counts from the end)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    return max(1, cores + 1 + n_jobs) if n_jobs < 0 else max(1, n_jobs)


def check_jobs(owner: object, n_jobs: Any) -> None:
    """Raise unless `n_jobs` is a number of threads, or None."""
    if n_jobs is None or (isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool) and n_jobs != 0):
        return
    raise type_or_value(n_jobs)(
        f"{where(owner)}: n_jobs = {n_jobs!r} must be a number of threads, negative to count from the end, or None."
    )


class OneBlasThread:
    """A context in which BLAS uses one thread; the last thread to leave it restores the number that the first found.

    Most libraries have one number for the whole process: of contexts that each restore what they found, those of
    several threads would leave BLAS at one thread for ever. Under OpenMP each thread has a number of its own.
    """

    def __init__(self) -> None:
        self.lock, self.inside, self.here = threading.Lock(), 0, threading.local()
        self.modules, self.libraries, self.found = 0, list[Any](), list[tuple[Any, int]]()

    def __enter__(self) -> None:
        with self.lock:
            # the search reads the map of the memory; another library can have come with another module only
            if self.inside == 0 and self.modules != len(sys.modules):
                self.modules = len(sys.modules)
                self.libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            if self.inside == 0:
                self.found = _lower([library for library in self.libraries if not _by_thread(library)])
            self.inside += 1
        depth = getattr(self.here, "depth", 0)
        if depth == 0:
            self.here.found = _lower([library for library in self.libraries if _by_thread(library)])
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
    """Set each library to one thread; which number it had."""
    found = [(library, library.get_num_threads()) for library in libraries]
    for library in libraries:
        _set(library, 1)
    return found


def _restore(found: list[tuple[Any, int]]) -> None:
    for library, number in found:
        if library.get_num_threads() == 1:  # otherwise someone else has set it meanwhile
            _set(library, number)


def _set(library: Any, number: int) -> None:
    library.set_num_threads(number)
    # recent versions let one thread alone set the number until it says that it is done
    getattr(library, "clear_controlling_thread", bool)()


one_blas_thread = OneBlasThread()


def on_host(X: Any) -> bool:
    """Whether a collection lies in NumPy arrays, CSR matrices or Python sequences."""
    if isinstance(X, tuple):
        return all(on_host(x) for x in X)
    return not is_array(X) or is_numpy(namespace(X))


def slices(n: int, size: int) -> list[slice]:
    """0 … n in nearly equal slices of at most `size`."""
    edges = np.linspace(0, n, -(-n // size) + 1).astype(int)
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def run(jobs: Iterable[Any], work: Callable[[Any], None], n_jobs: int | None = None) -> None:
    """Run `work` over `jobs` on threads, each with one BLAS thread; the first exception or Ctrl-C stops the rest."""
    threads = n_threads(n_jobs)
    with one_blas_thread, ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(copy_context().run, work, job) for job in jobs]  # with NumPy's treatment of errors
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _small(kernel: Any) -> int:
    """Entries below which one call of evaluate is fastest."""
    return sys.maxsize if kernel.whole else min(SMALL, 2 * kernel.tile**2)


def _blocks(kernel: Any, X: Any, Y: Any = None) -> Callable[[slice, slice], Any]:
    """A function of rows and columns that gives their values; kernels that ask for it see each member once."""
    take = kernel.domain.take
    if kernel.prepares:
        A = kernel.prepare(X)
        B = A if Y is None else kernel.prepare(Y, A)
        return lambda r, c: A.take(r).matrix(B.take(c))
    if Y is None:
        return lambda r, c: kernel.evaluate(take(X, r)) if r == c else kernel.evaluate(take(X, r), take(X, c))
    return lambda r, c: kernel.evaluate(take(X, r), take(Y, c))


def _pairs(rows: list[slice], columns: list[slice], symmetric: bool) -> Iterator[tuple[slice, slice]]:
    return ((r, c) for i, r in enumerate(rows) for c in (columns[i:] if symmetric else columns))


def matrix(kernel: Any, X: Any, Y: Any = None, n_jobs: int | None = None) -> Any:
    """The dense matrix k(xᵢ, yⱼ) of checked collections."""
    size = kernel.domain.size
    with fitting_memory(kernel, size(X), size(X if Y is None else Y), getattr(X, "dtype", None)):
        return _matrix(kernel, X, Y, n_jobs)


def _matrix(kernel: Any, X: Any, Y: Any, n_jobs: int | None) -> Any:
    domain = kernel.domain
    n = domain.size(X)
    m = n if Y is None else domain.size(Y)
    symmetric = Y is None
    if n * m <= _small(kernel) or not on_host(X) or (symmetric and domain.centres(X) is not X):
        return kernel.evaluate(X, Y)
    size = min(TILE, kernel.tile)
    rows = slices(n, size)
    columns = rows if symmetric else slices(m, size)
    first = kernel.evaluate(domain.take(X, slice(0, 1)))
    out = np.empty((n, m), dtype=first.dtype)

    values = _blocks(kernel, X, Y)

    def work(tile: tuple[slice, slice]) -> None:
        r, c = tile
        block = values(r, c)
        if symmetric and r == c:
            # mirrored, because a + b + c and a + c + b may differ in the last digit
            out[r, c] = np.triu(block) + np.triu(block, 1).T
            return
        out[r, c] = block
        if symmetric:
            out[c, r] = block.T

    run(_pairs(rows, columns, symmetric), work, n_jobs)
    return out


def product(kernel: Any, X: Any, Y: Any, V: Any, n_jobs: int | None = None, block: int | None = None) -> Any:
    """The product k(X, Y) V (Y = None: Y = X) without ever holding more than a tile per thread.

    On the host the tiles of a symmetric matrix are computed once and used twice. On another device whole blocks of
    `block` rows are computed at a time.
    """
    domain = kernel.domain
    n = domain.size(X)
    symmetric = Y is None
    centres = domain.centres(X) if symmetric else Y
    m = domain.size(centres)
    if not on_host(X):
        xp = namespace(V)
        size = max(1, (block or 1 << 26) // max(m, 1))
        return xp.concat([kernel.evaluate(domain.take(X, r), centres) @ V for r in slices(n, size)], axis=0)
    if n * m <= _small(kernel):
        return kernel.evaluate(X, None if centres is X else centres) @ V
    size = min(TILE, kernel.tile)
    size = size if block is None else max(16, min(size, int(np.sqrt(block))))
    rows, columns = slices(n, size), slices(m, size)
    out = np.zeros((n, *V.shape[1:]), dtype=V.dtype)
    if symmetric and centres is X:
        threads = n_threads(n_jobs)
        partial = [np.zeros_like(out) for _ in range(threads)]

        values = _blocks(kernel, X)

        def work(job: tuple[np.ndarray, list[tuple[slice, slice]]]) -> None:
            mine, tiles = job
            for r, c in tiles:
                K = values(r, c)
                mine[r] += K @ V[c]
                if r != c:
                    mine[c] += K.T @ V[r]

        tiles = list(_pairs(rows, rows, True))
        run([(partial[t], tiles[t::threads]) for t in range(threads)], work, n_jobs)
        return sum(partial)

    values = _blocks(kernel, X, centres)

    def strip(r: slice) -> None:
        for c in columns:
            out[r] += values(r, c) @ V[c]

    run(rows, strip, n_jobs)
    return out
