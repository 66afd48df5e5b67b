"""Log: definition, conditional definiteness, and Schoenberg's theorem on it."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from mercer._array import host
from mercer.basis import Polynomials
from mercer.kernels import CPD, INDEFINITE, UNKNOWN
from mercer.kernels.cauchy import Cauchy
from mercer.kernels.log import Log

rng = np.random.default_rng(0)
X = rng.normal(size=(25, 3))


@pytest.mark.parametrize("p", [0.4, 1, 2, 3])
def test_definition(p, xp):
    K = host(Log(p, 0.6)(xp.asarray(X)))
    np.testing.assert_allclose(K, -np.log((cdist(X, X) / 0.6) ** p + 1), rtol=1e-12, atol=1e-14)
    assert not np.any(np.signbit(np.diag(K)))


def test_claims():
    for p in (0.5, 1, 1.5, 2):
        assert Log(p).definiteness == CPD(1) and Log(p).definiteness.strict
    for p in (2.01, 3, 3.9, 7):
        assert Log(p).definiteness == INDEFINITE
    for p in (4, 5, 6, 8):
        assert Log(p).definiteness == UNKNOWN


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2])
def test_strictly_conditionally_definite(p):
    N = np.linalg.svd(np.ones((25, 1)), full_matrices=True)[0][:, 1:]
    assert np.linalg.eigvalsh(N.T @ Log(p)(X) @ N).min() > 1e-6
    assert Log(p).exp().definiteness.is_pd
    assert np.linalg.eigvalsh(Log(p).exp()(X)).min() > 1e-6


@pytest.mark.parametrize("p", [2.5, 3, 3.5])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_indefinite_of_no_order(p, order):
    """Close to each other, points see −‖x − y‖ᵖ, which is strictly negative on the annihilators of affine functions."""
    A = 0.02 * X
    H = Polynomials(order - 1)(A / 0.02)
    N = np.linalg.svd(H, full_matrices=True)[0][:, H.shape[1] :]
    assert np.linalg.eigvalsh(N.T @ Log(p)(A) @ N).min() < 0


@pytest.mark.parametrize("p", [2.5, 4, 5])
def test_not_of_order_one_above_two(p):
    """exp(k) = 1/(1 + rᵖ) is no positive definite function: its matrix at three close points is indefinite."""
    K = Log(p).exp()(np.array([[0.0], [0.1], [0.2]]))
    assert np.linalg.eigvalsh(K).min() < 0


def test_exponential_of_degree_two_is_cauchy():
    np.testing.assert_allclose(Log(2, 1.3).exp()(X), Cauchy(1.3)(X), rtol=1e-12)


def test_provides():
    assert Log(1).provides == {"gradient_theta"}
    assert Log(1.5).provides == {"gradient_theta", "gradient_x"}
    assert Log(2).provides == {"gradient_theta", "gradient_x", "mixed_xy"}


def test_small_distances_keep_their_digits():
    """log1p: 1 + rᵖ rounds to 1 here."""
    assert Log(2)([[0.0]], [[1e-10]])[0, 0] == pytest.approx(-1e-20, rel=1e-12)
