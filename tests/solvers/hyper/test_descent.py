"""Minimisation over log-parameters: the place, steps too far, and early ends."""

import numpy as np
import pytest

from mercer.context import Status
from mercer.solvers.hyper import Parameters, descend

START = {"alpha": np.array(2.0), "lengthscale": np.array([1.0, 3.0]), "offset": np.array([-1.0, 1.0])}


@pytest.mark.parametrize("whole", [False, True])
def test_parameters_are_logarithms_where_positive(whole):
    parameters = Parameters(START, whole)
    mixed = [-1.0, 1.0] if whole else [-1.0, 0.0]
    np.testing.assert_allclose(parameters.origin, [np.log(2), 0.0, np.log(3), *mixed])
    values = parameters.values(parameters.origin)
    assert values["alpha"] == pytest.approx(2.0)
    np.testing.assert_allclose(values["lengthscale"], [1.0, 3.0])
    np.testing.assert_allclose(values["offset"], [-1.0, 1.0])
    slope = parameters.slope(parameters.origin, {name: np.ones_like(v) for name, v in START.items()})
    np.testing.assert_allclose(slope, [2.0, 1.0, 3.0, 1.0, 1.0])


def test_bounds_are_hit_exactly():
    parameters = Parameters(START)
    parameters.limit(np.array([[0.1, 0.3], [1e-5, 1e5], [3e-5, 3e5], [-np.inf, np.inf], [1e-5, 1e5]]))
    assert parameters.values(parameters.origin)["alpha"] == 0.3  # and not what log and exp make of it


def valley(u):
    return float(np.sum((u - 0.5) ** 2)), 2 * (u - 0.5)


def test_a_step_too_far_is_no_error():
    def walled(u):
        if np.any(u > 0.8):
            raise ValueError("beyond")
        return valley(u)

    found = descend(walled, np.full(3, -9.0), (np.full(3, -10.0), np.full(3, 10.0)))
    np.testing.assert_allclose(found.place, 0.5, atol=1e-5)
    assert found.value == pytest.approx(valley(found.place)[0])
    np.testing.assert_allclose(found.slope, valley(found.place)[1])


@pytest.mark.parametrize("most", [0, 3])
def test_an_early_end_keeps_the_best(most):
    """What is evaluated while the end is asked for does not count."""
    seen = []

    def counted(u):
        seen.append((valley(u)[0], u.copy()))
        return valley(u)[0] ** 2, 2 * valley(u)[0] * valley(u)[1]

    def monitor(state):
        return Status.TIME_BUDGET if len(seen) > most else None

    start = np.array([3.0, -4.0])
    found = descend(counted, start, (np.full(2, -10.0), np.full(2, 10.0)), monitor)
    assert found.status is Status.TIME_BUDGET and len(seen) == most + 1
    best = min(seen[:most], key=lambda pair: pair[0])[1] if most else start
    np.testing.assert_array_equal(found.place, best)


@pytest.mark.parametrize("noise, converged", [(1e-9, True), (1e-3, True), (0.0, False)])
def test_rounding_that_ends_a_search_is_told_from_a_wrong_slope(noise, converged):
    """A noisy value stops every line search; so does a slope that is no derivative, far from the minimum."""
    rng = np.random.default_rng(0)

    def function(u):
        value, slope = valley(u)
        return value + noise * rng.uniform(-1, 1), slope if converged else -slope

    found = descend(function, np.array([3.0, -4.0]), (np.full(2, -10.0), np.full(2, 10.0)))
    assert (found.status is Status.CONVERGED) == converged
    if converged:
        np.testing.assert_allclose(found.place, 0.5, atol=3 * noise**0.5 + 1e-5)
