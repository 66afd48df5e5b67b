import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.sparse import csr_array
from scipy.special import erf

from mercer.kernels import PD, STRICTLY_PD
from mercer.kernels.arc import ArcCosine, ArcSine


def integral(order, x, y):
    """2 E[(wᵀx)₊ⁿ (wᵀy)₊ⁿ] for x, y in the plane, by quadrature in polar coordinates w = r(cos t, sin t)."""
    radial = 2**order * math.factorial(order)  # ∫ r^{2n+1} e^{−r²/2} dr
    units = lambda t, z: z[0] * math.cos(t) + z[1] * math.sin(t)  # noqa: E731
    inside = lambda t: (units(t, x) * units(t, y)) ** order * (units(t, x) > 0) * (units(t, y) > 0)  # noqa: E731
    kinks = sorted((math.atan2(z[1], z[0]) + s * math.pi / 2) % (2 * math.pi) for z in (x, y) for s in (1, -1))
    edges = [0.0, *kinks, 2 * math.pi]
    total = sum(quad(inside, a, b)[0] for a, b in pairwise(edges))
    return 2 * radial * total / (2 * math.pi)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_arc_cosine_is_its_integral(order):
    rng = np.random.default_rng(order)
    X, Y = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    expected = [[integral(order, x, y) for y in Y] for x in X]
    np.testing.assert_allclose(ArcCosine(order)(X, Y), expected, rtol=1e-9)
    np.testing.assert_allclose(ArcCosine(order)(csr_array(X), csr_array(Y)), expected, rtol=1e-9)
    np.testing.assert_allclose(ArcCosine(order).diag(X), [integral(order, x, x) for x in X], rtol=1e-9)


# A plain arc cosine is off by 1e-8. Sparse rows go through ‖u‖² + ‖v‖² − 2uᵀv, computed again from differences below
# √eps: its rounding 4 eps in θ² ≥ √eps leaves 2 eps / eps^¼ ≈ 4e-12 in θ.
@pytest.mark.parametrize(("form", "error"), [(np.asarray, 1e-15), (csr_array, 4e-12)])
def test_angles_keep_their_digits(form, error):
    for angle in (1e-3, 1e-6, 1e-9):
        y = form(np.array([[math.cos(angle), math.sin(angle)]]))
        for x, expected in (([[1.0, 0.0]], 1 - angle / math.pi), ([[-1.0, 0.0]], angle / math.pi)):
            value = float(ArcCosine(0)(form(np.array(x)), y)[0, 0])
            assert value == pytest.approx(expected, abs=error)


@pytest.mark.parametrize(("order", "cross", "own"), [(0, 0.5, 0.5), (1, 0.0, 0.0), (2, 0.0, 0.0)])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_zero_vector(order, cross, own, form):
    # by the threshold unit's value ½ at 0: 2 · ½ · E[Θ(wᵀy)] = ½ and 2 · ½ · ½ = ½
    X = form(np.array([[0.0, 0.0], [3.0, 4.0]]))
    K = ArcCosine(order)(X)
    np.testing.assert_allclose(K[0], [own, cross], atol=1e-15)
    np.testing.assert_allclose(ArcCosine(order).diag(X), np.diagonal(K), rtol=1e-14)


def test_gradient_at_the_kink_is_the_central_difference():
    y, h = np.array([[3.0, -4.0]]), 1e-6
    steps = h * np.eye(2)
    central = (ArcCosine(1)(steps, y) - ArcCosine(1)(-steps, y)) / (2 * h)
    np.testing.assert_allclose(ArcCosine(1).gradient_x(np.zeros((1, 2)), y)[0, 0], central[:, 0], rtol=1e-9)


def test_arc_cosine_definiteness_and_refusals():
    assert ArcCosine().definiteness == PD
    assert not ArcCosine().definiteness.strict
    np.testing.assert_allclose(ArcCosine(2)([[2.0, 4.0]], [[1.0, 0.0]]), 4 * ArcCosine(2)([[1.0, 2.0]], [[1.0, 0.0]]))
    with pytest.raises(ValueError, match=r"ArcCosine: order = 3 must be >= 0 and <= 2"):
        ArcCosine(3)([[1.0]])
    with pytest.raises(AttributeError, match="does not provide gradient_x"):
        ArcCosine(0).gradient_x([[1.0]])


@pytest.mark.parametrize(("weight", "bias"), [(1.0, 1.0), (0.5, 2.0), (2.0, 0.0)])
def test_arc_sine_is_its_expectation(weight, bias):
    """E[erf(w₀ + wx) erf(w₀ + wy)] by Gauss–Hermite quadrature over (w₀, w)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    weights = weights / weights.sum()
    rng = np.random.default_rng(0)
    X, Y = rng.uniform(-1, 1, size=(4, 1)), rng.uniform(-1, 1, size=(3, 1))
    unit = lambda x: erf(math.sqrt(bias) * nodes[:, None] + math.sqrt(weight) * nodes[None, :] * x)  # noqa: E731
    expected = [[weights @ (unit(x) * unit(y)) @ weights for y in Y[:, 0]] for x in X[:, 0]]
    k = ArcSine(weight, bias)
    np.testing.assert_allclose(k(X, Y), expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(k(csr_array(X), csr_array(Y)), expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(k.diag(X), np.diagonal(k(X)), rtol=1e-14)


def test_arc_sine_is_strict_with_a_bias_only():
    X = np.linspace(-2, 2, 7)[:, None]
    assert ArcSine(1.0, 0.5).definiteness == STRICTLY_PD
    assert ArcSine(1.0, 0.5).definiteness.strict
    assert np.linalg.eigvalsh(ArcSine(1.0, 0.5)(X))[0] > 0
    assert not ArcSine(1.0, 0.0).definiteness.strict
    assert abs(np.linalg.eigvalsh(ArcSine(1.0, 0.0)(X))[0]) < 1e-14


@pytest.mark.parametrize(("name", "value"), [("weight_variance", 0.0), ("bias_variance", -1.0)])
def test_arc_sine_refusals(name, value):
    with pytest.raises(ValueError, match=f"ArcSine: {name} = "):
        ArcSine(**{name: value})([[1.0]])
