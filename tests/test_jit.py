"""Compiled functions are made on first use, once."""

import subprocess
import sys
from copy import copy

import numpy as np
import pytest

import mercer
from mercer._jit import Deferred, maximum, njit, njit_reordered


@njit
def larger(x, y):
    return maximum(x, y)


@njit_reordered
def largest(values):
    result = values[0]
    for value in values:
        result = larger(result, value)
    return result


def test_compiled_functions_call_each_other_and_intrinsics():
    assert largest(np.array([1.0, 3.0, 2.0])) == 3.0
    assert largest.py_func.__name__ == largest.__name__ == "largest"
    assert len(largest.signatures) == 1 and larger(1.0, 2.0) == 2.0 and larger.signatures


def test_made_once_by_one_of_many_threads():
    code = """
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from mercer._jit import Deferred
from mercer.solvers.fit._coordinate_descent import _shrink

assert "numba" not in sys.modules
start, made = Barrier(8), []
counted = Deferred(lambda: made.append(0) or len)

def work(i):
    start.wait()
    return counted("abc"), _shrink(3.0 + i, 1.0 + i)

with ThreadPoolExecutor(8) as pool:
    assert list(pool.map(work, range(8))) == [(3, 2.0)] * 8
assert made == [0] and len(_shrink.signatures) == 1
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_inspection_makes_nothing():
    deferred = Deferred(list)
    assert not hasattr(deferred, "__wrapped__") and copy(deferred) is not deferred
    assert "made" not in vars(deferred)


def test_a_failure_is_not_kept():
    tries = []

    def make():
        tries.append(0)
        if len(tries) == 1:
            raise ImportError("not yet")
        return len

    deferred = Deferred(make)
    for _ in range(2):
        try:
            result = deferred("ab")
        except ImportError:
            result = None
    assert result == 2 and len(tries) == 2


def test_warmup_tells_its_steps(monkeypatch):
    done, told = [], []
    steps = {"one": lambda: done.append(1), "two": lambda: done.append(2)}
    monkeypatch.setattr("mercer.compilation.steps", lambda: steps)
    found = mercer.warmup(lambda *step: told.append(step))
    assert done == [1, 2] and told == [("one", 0, 2), ("two", 1, 2)] and found.seconds >= 0


def test_an_interrupt_within_numba_stays_one():
    """numba reports one that arrives while it packs a result as a SystemError, which `except Exception` would catch."""

    def packing():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise SystemError("returned a result with an exception set") from interrupt

    def failing():
        raise SystemError("another reason")

    with pytest.raises(KeyboardInterrupt):
        Deferred(lambda: packing)()
    with pytest.raises(SystemError, match="another"):
        Deferred(lambda: failing)()
