"""The compiled inner loops end, inside their arrays and the box, whatever numbers they are given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer import SVC
from mercer._units import exponent
from mercer.solvers.fit._multiclass import descend
from mercer.solvers.fit._smo import CHUNK, _find, _pair, smo, smo_groups, smo_single

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


# ---- without an equality


def test_a_pair_is_where_no_point_of_the_box_is_better() -> None:
    """Against all points of a fine grid over the box, its corners among them; also where the curvature is singular."""
    rng = np.random.default_rng(2)
    for k in range(300):
        M = rng.normal(size=(2, 1 if k % 3 == 0 else 2))
        (a, b), (_, c) = M @ M.T
        g, h = rng.normal(size=2)
        left, low = -rng.random(2)
        right, high = rng.random(2) * (k % 5 > 0)  # or at a bound
        x, y = _pair(g, h, a, b, c, left, right, low, high)
        assert left <= x <= right and low <= y <= high
        U, V = np.meshgrid(np.linspace(left, right, 101), np.linspace(low, high, 101))
        values = [g * u + h * v - 0.5 * (a * u * u + 2 * b * u * v + c * v * v) for u, v in ((U, V), (x, y))]
        assert values[1] >= values[0].max() - 1e-12


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("C", [1.0, 1e4])
def test_equal_samples_of_two_classes_need_no_more_steps_for_wider_bounds(dtype, C) -> None:
    """(β₁ + β₂)²/2 − β₁ + β₂ is least at (C, −C); one variable at a time would take C/2 steps."""
    K, f, beta = np.ones((2, 2), dtype), np.array([1.0, -1.0]), np.zeros(2)
    lower, upper = np.array([0.0, -C]), np.array([C, 0.0])
    assert smo_single(K, f, beta, lower, upper, np.ones(2, dtype), 1e-3, 1000) <= 2
    np.testing.assert_array_equal(beta, [C, -C])


@pytest.mark.parametrize("C", [0.1, 10.0, np.inf])
def test_no_variable_may_improve_at_the_end(C) -> None:
    """The conditions of Karush, Kuhn and Tucker, from β itself."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 2)), np.where(rng.random(80) < 0.5, 1.0, -1.0)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2) + 1e-2 * np.eye(80)
    beta, lower, upper = np.zeros(80), np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    count = smo_single(K, y.copy(), beta, lower, upper, np.diagonal(K).copy(), 1e-6, 100_000)
    f = y - K @ beta
    assert count < 100_000 and np.all((beta >= lower) & (beta <= upper))
    assert np.all((f <= 2e-6) | (beta == upper)) and np.all((f >= -2e-6) | (beta == lower))


def test_machines_without_an_offset_take_about_as_many_steps() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + X[:, 1] ** 2 + 0.7 * rng.normal(size=60) > 0.5
    plain, without = (int(SVC(C=1e4, fit_intercept=b).fit(X, y).n_iter_.max()) for b in (True, False))
    assert without <= 3 * plain
