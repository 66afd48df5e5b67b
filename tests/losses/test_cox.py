"""Cox's loss against the partial likelihood written out, with ties, weights and any range of f."""

import numpy as np
import pytest

from mercer.losses import Cox

rng = np.random.default_rng(0)
N = 25
F = rng.normal(size=N)
TIED = np.column_stack([rng.integers(1, 7, N), rng.uniform(size=N) < 0.6]).astype(float)
DISTINCT = np.column_stack([rng.permutation(N) + 1.0, rng.uniform(size=N) < 0.6]).astype(float)
LOSS = Cox()


def partial_likelihood(y, f, w):
    """L, its gradient and its Hessian, event by event."""
    total, gradient, hessian = 0.0, np.zeros(len(f)), np.zeros((len(f), len(f)))
    for i in range(len(f)):
        if y[i, 1] == 0:
            continue
        risk = y[:, 0] >= y[i, 0]
        p = np.where(risk, w * np.exp(f), 0.0)
        total += w[i] * (np.log(p.sum()) - f[i])
        p /= p.sum()
        gradient += w[i] * p
        gradient[i] -= w[i]
        hessian += w[i] * (np.diag(p) - np.outer(p, p))
    return total, gradient, hessian


@pytest.mark.parametrize("y", [TIED, DISTINCT], ids=["ties", "no ties"])
@pytest.mark.parametrize("weight", [None, rng.uniform(0.2, 3.0, N), np.where(np.arange(N) % 4, 1.0, 0.0)])
def test_partial_likelihood(y, weight) -> None:
    w = np.ones(N) if weight is None else weight
    total, gradient, hessian = partial_likelihood(y, F, w)
    assert LOSS.total(y, F, weight) == pytest.approx(total, rel=1e-13)
    assert np.allclose(LOSS.gradient(y, F, weight), gradient, rtol=1e-12, atol=1e-13)
    assert np.allclose(LOSS.hessian_product(y, F, np.eye(N), weight), hessian, rtol=1e-11, atol=1e-13)
    V = rng.normal(size=N)
    assert np.allclose(LOSS.hessian_product(y, F, V, weight), hessian @ V, rtol=1e-11, atol=1e-12)
    assert np.linalg.eigvalsh(np.diag(LOSS.majorizer(y, F, weight)) - hessian)[0] >= -1e-13


def test_without_ties_it_is_the_probability_of_the_order() -> None:
    """P(order) = Π exp(fᵢ)/Σ_{j not yet}: by hand for three samples."""
    y, f = np.array([[2.0, 1], [1.0, 1], [3.0, 1]]), np.log([2.0, 3.0, 5.0])
    assert np.exp(-LOSS.total(y, f)) == pytest.approx(3 / 10 * 2 / 7, rel=1e-14)


def test_whole_weights_are_copies() -> None:
    times = rng.integers(1, 4, N)
    y, f = np.repeat(TIED, times, axis=0), np.repeat(F, times)
    weight = times.astype(float)
    assert LOSS.total(TIED, F, weight) == pytest.approx(LOSS.total(y, f), rel=1e-13)
    sums = np.add.reduceat(LOSS.gradient(y, f), np.concatenate([[0], np.cumsum(times)[:-1]]))
    assert np.allclose(LOSS.gradient(TIED, F, weight), sums, rtol=1e-11, atol=1e-13)


def test_a_shift_changes_nothing() -> None:
    assert LOSS.total(TIED, F + 50) == pytest.approx(LOSS.total(TIED, F), rel=1e-12)
    assert np.abs(LOSS.hessian_product(TIED, F, np.ones(N))).max() <= 1e-13
    assert abs(LOSS.gradient(TIED, F).sum()) <= 1e-12


def test_any_range_of_values() -> None:
    """A risk set of small values after one of large values: plain sums of exponentials would underflow to log 0."""
    y = np.array([[1.0, 1], [2.0, 1], [3.0, 1]])
    f = np.array([2000.0, -2000.0, -2001.0])
    expected = np.log1p(np.exp(-1.0))
    assert LOSS.total(y, f) == pytest.approx(expected, rel=1e-12)
    p = np.exp(-1.0) / (1 + np.exp(-1.0))
    assert np.allclose(LOSS.gradient(y, f), [0, -p, p], atol=1e-12)
    H = p * (1 - p) * np.array([[0, 0, 0], [0, 1, -1], [0, -1, 1.0]])
    assert np.allclose(LOSS.hessian_product(y, f, np.eye(3)), H, atol=1e-12)


def test_structured_targets() -> None:
    for names in (("event", "time"), ("cens", "days")):
        y = np.empty(N, dtype=[(names[0], bool), (names[1], float)])
        y[names[0]], y[names[1]] = TIED[:, 1] == 1, TIED[:, 0]
        assert np.array_equal(LOSS.prepare(y), TIED)


def test_no_event_is_no_loss() -> None:
    y = TIED * [1.0, 0.0]
    assert LOSS.total(y, F) == 0 and not LOSS.gradient(y, F).any()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.ones(3), "must have two columns, time and event"),
        (TIED[:, ::-1], "events, the second column of y, must be 0 or 1; times come first"),
        (np.zeros(3, dtype=[("a", float), ("b", float)]), "fields a, b must have"),
        (np.zeros(3, dtype=[("event", bool), ("time", "U8")]), "fields event, time must have"),
        (np.zeros(3, dtype=[("event", bool), ("time", float), ("id", int)]), "fields event, time, id must have"),
    ],
)
def test_targets_are_checked(y, message) -> None:
    with pytest.raises(ValueError, match=message):
        LOSS.check(LOSS.prepare(y))
