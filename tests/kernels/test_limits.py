"""The limits at the origin are finite, also for subnormal numbers, and exact elsewhere."""

import numpy as np
import pytest

from mercer._array import host
from mercer.kernels._limits import at_origin, power, power_log, root

TINY32 = float(np.finfo(np.float32).smallest_subnormal)


@pytest.mark.parametrize("exponent", [-1, -0.5, 0, 0.3, 1])
def test_power(exponent, xp):
    s = xp.asarray([0.0, TINY32, 0.25, 4.0], dtype=xp.float32)
    value = power(s, exponent, xp)
    assert value.dtype == xp.float32
    assert np.all(np.isfinite(host(value)))
    assert host(value)[2:] == pytest.approx([0.25**exponent, 4.0**exponent], rel=1e-6)
    assert host(value)[0] == (1 if exponent == 0 else 0)


@pytest.mark.parametrize("exponent", [0, 0.5, 1])
def test_power_log(exponent, xp):
    s = xp.asarray([0.0, TINY32, 0.25, 4.0], dtype=xp.float32)
    value = host(power_log(s, exponent, xp))
    assert value[:2].tolist() == [0, 0]
    assert value[2:] == pytest.approx([0.25**exponent * np.log(0.25), 4.0**exponent * np.log(4.0)], rel=1e-6)


def test_at_origin(xp):
    s = xp.asarray([0.0, TINY32, 1e-30], dtype=xp.float32)
    assert host(at_origin(s, xp)).tolist() == [True, True, False]


def test_root(xp):
    s = xp.asarray([0.0, 0.25, 4.0], dtype=xp.float32)
    assert root(s, xp).dtype == xp.float32
    assert host(root(s, xp)).tolist() == [0, 0.5, 2]


@pytest.mark.parametrize("function", [root, lambda s, xp: power(s, 0.3, xp)])
def test_differentiation_at_the_origin(function):
    torch = pytest.importorskip("torch")
    s = torch.tensor([0.0, 4.0], requires_grad=True)
    function(s, torch).sum().backward()
    slope = 0.5 * 4**-0.5 if function is root else 0.3 * 4**-0.7
    assert s.grad.tolist() == pytest.approx([0, slope])
