"""Proximal maps and conjugates of one variable by their definitions: a grid, then a bounded search around its best."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from mercer.losses import registry

GRID = np.linspace(-60.0, 60.0, 4801)


def able(ability):
    """The losses of one variable that have it."""
    return [
        pytest.param(loss, id=f"{name}-{k}")
        for name, cls in registry.items()
        for k, loss in enumerate(cls.examples())
        if ability in loss.provides and not loss.coupled and name != "multinomial"
    ]


def smallest(function):
    values = function(GRID)
    i = int(np.argmin(values))
    ends = GRID[max(i - 1, 0)], GRID[min(i + 1, len(GRID) - 1)]
    found = minimize_scalar(
        lambda t: function(np.array([t]))[0], bounds=ends, method="bounded", options={"xatol": 1e-12}
    )
    return min(float(found.fun), float(values[i]))


def of_one_sample(loss, y):
    return lambda t: loss.value(np.repeat(y, len(t), axis=0), t)


@pytest.mark.parametrize("loss", able("prox"))
def test_prox(loss) -> None:
    rng = np.random.default_rng(5)
    for step in 10 ** rng.uniform(-2, 1.5, 8):
        y, v = loss.targets(rng, 1), 4 * rng.normal(size=1)
        value = of_one_sample(loss, y)

        def envelope(t, v=v, value=value, step=step):
            return value(t) + (t - v) ** 2 / (2 * step)

        best, found = smallest(envelope), envelope(loss.prox(y, v, step))[0]
        assert found <= best + 1e-12 * (1 + best)


@pytest.mark.parametrize("loss", able("conjugate"))
def test_conjugate(loss) -> None:
    rng = np.random.default_rng(6)
    for share in rng.uniform(0.05, 1.0, 8):
        y = loss.targets(rng, 1)
        u = share * loss.gradient(y, rng.normal(size=1))
        value = of_one_sample(loss, y)
        best = -smallest(lambda t, u=u, value=value: value(t) - u * t)
        # the supremum is nowhere above the conjugate; at a kink the search misses it by slope × its own tolerance
        assert best - 1e-12 * (1 + abs(best)) <= loss.conjugate(y, u)[0] <= best + 1e-7


@pytest.mark.parametrize("loss", able("link"))
def test_link_is_inverted_also_at_its_ends(loss) -> None:
    mean = loss.link_inverse(np.array([-1e3, -2.0, 0.5, 30.0]))
    assert np.allclose(loss.link_inverse(loss.link(mean)), mean, rtol=1e-12, atol=0)
