import numpy as np
import pytest

from mercer._units import lengths, power_of_two, unit_of_squares


@pytest.mark.parametrize("largest", [1.0, 1.999, 3e-7, 1e300, np.finfo(float).max, np.finfo(float).tiny, 5e-324])
def test_power_of_two(xp, largest):
    values = xp.asarray([0.25 * largest, -largest, 0.0], dtype=xp.float64)
    unit = power_of_two(values)
    assert isinstance(unit, float) and np.frexp(unit)[0] == 0.5
    scaled = values / unit
    assert 1 <= float(xp.max(xp.abs(scaled))) < 2
    np.testing.assert_array_equal(np.asarray(unit * scaled), np.asarray(values))


def test_power_of_two_of_single_precision():
    values = np.array([np.finfo(np.float32).max, 1e30], dtype=np.float32)
    scaled = values / power_of_two(values)
    assert scaled.dtype == np.float32 and 1 <= scaled.max() < 2


@pytest.mark.parametrize("values", [np.zeros(3), np.empty((0, 2))])
def test_nothing_has_the_unit_one(values):
    assert power_of_two(values) == 1.0


def test_squares_have_to_be_numbers():
    assert unit_of_squares(object(), "y", np.array([3e100, 1.0])) == power_of_two(np.array([3e100]))
    for size in (1e-200, 1e200):
        with pytest.raises(ValueError, match=r"y is of size .*; divide it by"):
            unit_of_squares(object(), "y", np.array([size]))


@pytest.mark.parametrize("e", [0, -900, 1000])
def test_lengths(xp, e):
    V = np.random.default_rng(0).normal(size=(9, 3)) * [1.0, 1e-9, 0.0]
    found = lengths(xp.asarray(np.ldexp(V, e), dtype=xp.float64))
    np.testing.assert_allclose(np.ldexp(np.asarray(found), -e), np.linalg.norm(V, axis=0), rtol=1e-15)
