"""Wendland's polynomials against the integral operator that defines them, in exact rational arithmetic."""

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist

from mercer._array import host
from mercer.kernels.wendland import Wendland


def by_recursion(d, k):
    """Coefficients in r of φ_{d,k} = Iᵏ φ_l on [0, 1], (Iφ)(r) = ∫_r^1 t φ(t) dt, divided by the value at 0."""
    l = d // 2 + k + 1  # noqa: E741
    a = [Fraction((-1) ** i * comb(l, i)) for i in range(l + 1)]
    for _ in range(k):
        primitive = [Fraction(0), Fraction(0)] + [c / (i + 2) for i, c in enumerate(a)]
        a = [-c for c in primitive]
        a[0] += sum(primitive)
    return [c / a[0] for c in a]


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8])
def test_integral_operator(d, k):
    a = by_recursion(d, k)
    radii = [Fraction(i, 16) for i in range(21)]
    expected = [float(sum(c * r**i for i, c in enumerate(a))) if r < 1 else 0.0 for r in radii]
    X = np.zeros((len(radii), d))
    X[:, -1] = [2.5 * float(r) for r in radii]
    np.testing.assert_allclose(Wendland(k, 2.5)(X, X[:1])[:, 0], expected, rtol=1e-12, atol=1e-14)


def test_printed_examples():
    """φ_{3,1} = (1 − r)⁴(4r + 1) and φ_{3,2} = (1 − r)⁶(35r² + 18r + 3)/3, the best known of them."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(9, 3))
    r = cdist(X, X) / 1.2
    inside = np.clip(1 - r, 0, None)
    np.testing.assert_allclose(Wendland(1, 1.2)(X), inside**4 * (4 * r + 1), atol=1e-14)
    np.testing.assert_allclose(Wendland(2, 1.2)(X), inside**6 * (35 * r**2 + 18 * r + 3) / 3, atol=1e-14)


@pytest.mark.parametrize("k", range(4))
@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_definite_in_every_dimension(k, d, xp):
    rng = np.random.default_rng(d)
    X = rng.uniform(size=(40, d))
    kernel = Wendland(k, 1.5)
    assert kernel.definiteness_in(d).strict
    assert np.linalg.eigvalsh(host(kernel(xp.asarray(X)))).min() > 0


def test_too_small_an_exponent_is_indefinite():
    """Why l comes from the dimension: (1 − r)₊ is positive definite on the line, not in the plane."""
    grid = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0)), axis=-1).reshape(-1, 2)
    r = cdist(grid, grid) / np.sqrt(2)
    assert np.linalg.eigvalsh(np.clip(1 - r, 0, None)).min() < -0.01
    assert np.linalg.eigvalsh(Wendland(0, np.sqrt(2))(grid)).min() > 0


def test_compact_support():
    X = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 3.9]])
    for k in range(4):
        K = Wendland(k, 5.0)(X)
        assert K[0, 1] == 0 and K[0, 2] > 0
        assert np.all(Wendland(k, 5.0).gradient_theta(X)["lengthscale"][0, 1] == 0)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("k", range(4))
def test_derivatives_in_other_dimensions(d, k):
    rng = np.random.default_rng(1)
    X, Y, h = rng.uniform(size=(4, d)), rng.uniform(size=(3, d)), 1e-6
    kernel = Wendland(k, 1.1)
    up, down = Wendland(k, 1.1 + h)(X, Y), Wendland(k, 1.1 - h)(X, Y)
    np.testing.assert_allclose(kernel.gradient_theta(X, Y)["lengthscale"], (up - down) / (2 * h), atol=1e-7)
    if k == 0:
        assert kernel.provides == {"gradient_theta", "log_normalizer"}
        return
    G, M = kernel.gradient_x(X, Y), kernel.mixed_xy(X, Y)
    for j, e in enumerate(h * np.eye(d)):
        np.testing.assert_allclose(G[..., j], (kernel(X + e, Y) - kernel(X - e, Y)) / (2 * h), atol=1e-6)
        numeric = (kernel.gradient_x(X, Y + e) - kernel.gradient_x(X, Y - e)) / (2 * h)
        np.testing.assert_allclose(M[..., j], numeric, atol=1e-6)
    on_diagonal = kernel.mixed_xy(X)[0, 0]
    np.testing.assert_allclose(on_diagonal, on_diagonal[0, 0] * np.eye(d), atol=1e-12)


def test_sparse():
    X = np.eye(5)[[0, 1, 1, 3]] * 0.3
    np.testing.assert_allclose(Wendland(2)(csr_array(X)), Wendland(2)(X), atol=1e-14)


def test_on_columns_uses_their_number():
    X = np.random.default_rng(0).uniform(size=(6, 5))
    np.testing.assert_array_equal(Wendland(1).on([1, 3])(X), Wendland(1)(X[:, [1, 3]]))


@pytest.mark.parametrize("k", [4, -1, 1.5, "2"])
def test_bad_smoothness(k):
    with pytest.raises(ValueError, match=r"Wendland: smoothness = .* is unknown; choose one of 0, 1, 2, 3"):
        Wendland(k)([[0.0]])


def test_message_names_the_kernel():
    with pytest.raises(ValueError, match="Wendland: lengthscale has 2 entries, but X has 3 columns"):
        Wendland(1, np.ones(2))(np.zeros((2, 3)))
