"""The compiled inner loops end, inside their arrays and the box, whatever numbers they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer._units import exponent
from mercer.solvers.fit._multiclass import descend
from mercer.solvers.fit._smo import CHUNK, _find, smo, smo_groups, smo_single

N = 2 * CHUNK
HOSTILE = {
    "nan": lambda A, rng: np.where(rng.random(A.shape) < 0.1, np.nan, A),
    "all nan": lambda A, rng: np.full_like(A, np.nan),
    "inf": lambda A, rng: np.where(rng.random(A.shape) < 0.1, np.inf, A),
    "both inf": lambda A, rng: np.where(rng.random(A.shape) < 0.5, np.inf, -np.inf),
    "huge": lambda A, rng: A * 1e35,
    "largest": lambda A, rng: np.sign(A) * np.finfo(A.dtype).max,
    "least": lambda A, rng: A * np.finfo(A.dtype).tiny,
}


def block(dtype: Any) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    return (X @ X.T).astype(dtype), rng.normal(size=N), np.zeros(N), np.full(N, -1.0), np.ones(N)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", ["K", "f"])
@pytest.mark.parametrize("case", HOSTILE)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_loops_end_for_any_numbers(case: str, which: str, dtype: Any) -> None:
    rng = np.random.default_rng(1)
    K, f, beta, lower, upper = block(dtype)
    K = HOSTILE[case](K, rng) if which == "K" else K
    f = HOSTILE[case](f.astype(dtype), rng) if which == "f" else f.astype(dtype)
    diagonal = np.ascontiguousarray(np.diagonal(K))
    group = np.repeat([0, 1], CHUNK)
    with np.errstate(all="ignore"):
        for count in (
            smo(K, f, beta.copy(), lower, upper, diagonal, dtype(1e-3), 500),
            smo_single(K, f.astype(np.float64), beta.copy(), lower, upper, diagonal, 1e-3, 500),
            smo_groups(K, f.astype(np.float64), beta.copy(), lower, upper, diagonal, group, 2, 1e-3, 500),
            descend(
                K,
                np.stack([f, -f]).astype(np.float64),
                *np.zeros((1, 2, N)),
                -np.ones((2, N)),
                np.ones((2, N)),
                1e-3,
                50,
            ),
        ):
            assert 0 <= count <= 500


def test_the_search_for_a_maximum_stays_in_its_array() -> None:
    values = np.arange(float(N))
    assert _find(values, values[-1]) == N - 1
    assert _find(values, 1e9) == 0  # no value equals it


def test_exponent() -> None:
    assert [exponent(np.array(v)) for v in ([1.0, -3.9], [0.5], [0.0], [], [np.inf], [5e-324], [1.7e308])] == [
        1,
        -1,
        0,
        0,
        0,
        -1074,
        1023,
    ]
