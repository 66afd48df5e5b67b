from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from mercer.basis import Polynomials
from mercer.kernels import Power, ThinPlate
from mercer.kernels.polyharmonic import Polyharmonic, Reduced, anchors_of, duchon
from mercer.testing import check_kernel


@pytest.mark.parametrize("kernel", Polyharmonic.examples(), ids=str)
def test_laws(kernel):
    check_kernel(kernel)


def test_known_members():
    X = np.random.default_rng(0).normal(size=(7, 3))
    np.testing.assert_allclose(Polyharmonic(2)(X), ThinPlate()(X), atol=1e-14)
    np.testing.assert_allclose(Polyharmonic(1)(X), Power(1)(X), atol=1e-14)
    np.testing.assert_allclose(Polyharmonic(3)(X), -Power(3)(X), atol=1e-13)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_seminorm_in_one_dimension_is_the_integral(order):
    """f = Σ aᵢ k(·, xᵢ) with Σ aᵢ xᵢᵖ = 0: aᵀKa = ∫ (f^(m))², which vanishes outside the points."""
    rng = np.random.default_rng(order)
    x = np.sort(rng.uniform(size=6))
    H = Polynomials(order - 1)(x[:, None])
    a = np.linalg.svd(H)[0][:, order:] @ rng.normal(size=6 - order)
    kernel = duchon(order, 1)
    # the m-th derivative of |t|^(2m−1) (−1)^m / (2 (2m−1)!) is (−1)^m sgn(t)^m |t|^(m−1) / (2 (m−1)!)
    factorial = float(np.prod(np.arange(1, order)))

    def derivative(t):
        d = t - x
        return np.sum(a * (-1) ** order * np.sign(d) ** order * np.abs(d) ** (order - 1)) / (2 * factorial)

    energy = sum(quad(lambda t: derivative(t) ** 2, low, high)[0] for low, high in pairwise(x))
    np.testing.assert_allclose(a @ kernel(x[:, None]) @ a, energy, rtol=1e-9)


def test_constants_of_duchon():
    r = np.array([[2.0]])
    zero = np.zeros((1, 1))
    assert duchon(2, 1)(zero, r)[0, 0] == pytest.approx(8 / 12)
    zero, r = np.zeros((1, 2)), np.array([[2.0, 0.0]])
    assert duchon(2, 2)(zero, r)[0, 0] == pytest.approx(4 * np.log(2) / (8 * np.pi))  # fields::Rad.cov
    assert duchon(3, 2)(zero, r)[0, 0] == pytest.approx(-16 * np.log(2) / (128 * np.pi))
    zero, r = np.zeros((1, 3)), np.array([[2.0, 0.0, 0.0]])
    assert duchon(2, 3)(zero, r)[0, 0] == pytest.approx(-2 / (8 * np.pi))  # Green's function of the bilaplacian


@pytest.mark.parametrize(
    ("order", "dimension", "words"),
    [(None, 1, "order = None must be an integer > 0.5"), (1, 2, "order = 1 must be > 1"), (2, 0, "dimension = 0")],
)
def test_duchon_refuses(order, dimension, words):
    with pytest.raises(ValueError, match=f"^duchon: {words}"):
        duchon(order, dimension)


def test_reduced_is_positive_definite_and_keeps_the_quadratic_form():
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(20, 2)), rng.normal(size=(5, 2))
    plain = duchon(3, 2)
    kernel = Reduced(plain, anchors_of(X, 2), 2)
    assert kernel.definiteness.is_pd and kernel.check(X).ok
    np.testing.assert_allclose(kernel.diag(X), np.diagonal(kernel(X)), atol=1e-12)
    np.testing.assert_allclose(kernel(kernel.anchors, X), 0, atol=1e-10)
    a = np.linalg.svd(Polynomials(2)(X))[0][:, 6:] @ rng.normal(size=14)
    np.testing.assert_allclose(a @ kernel(X) @ a, a @ plain(X) @ a, rtol=1e-9)
    b = rng.normal(size=20)
    points, coefficients, polynomial = kernel.expand(X, b)
    np.testing.assert_allclose(Polynomials(2)(points).T @ coefficients, 0, atol=1e-10)
    values = plain(new, points) @ coefficients + Polynomials(2)(new) @ polynomial
    np.testing.assert_allclose(values, kernel(new, X) @ b, atol=1e-9)


def test_anchors_need_points_in_general_position():
    line = np.arange(10.0)[:, None] * np.array([[1.0, 2.0]])
    with pytest.raises(ValueError, match="do not determine the 3 polynomials"):
        anchors_of(line, 1)
