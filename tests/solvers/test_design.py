"""The system without its free part: coordinates, resolvent and variance against dense algebra."""

import numpy as np
import pytest

from mercer.basis import Polynomials
from mercer.gram import Dense, Nystrom
from mercer.kernels import Matern
from mercer.solvers.design import Complement, Design, Resolvent, posterior_variance

rng = np.random.default_rng(3)
n = 40
X = rng.normal(size=(n, 2))
WEIGHT = rng.uniform(0.2, 3, n)
KERNEL = Matern(nu=1.5, lengthscale=0.8)


@pytest.mark.parametrize("p", [1, 3])
def test_the_complement_is_orthonormal_and_orthogonal_to_the_columns(p):
    Q = np.linalg.qr(rng.normal(size=(9, p)))[0]
    complement = Complement(Q)
    Q2 = complement.embed(np.eye(9 - p))
    np.testing.assert_allclose(Q2.T @ Q2, np.eye(9 - p), atol=1e-14)
    np.testing.assert_allclose(Q2.T @ Q, 0, atol=1e-14)
    V, M = rng.normal(size=(9, 2)), rng.normal(size=(9, 9))
    np.testing.assert_allclose(complement.coordinates(V), Q2.T @ V, atol=1e-14)
    np.testing.assert_allclose(complement.restrict(M + M.T), Q2.T @ (M + M.T) @ Q2, atol=1e-13)


@pytest.mark.parametrize("gram", [Dense(), Nystrom(rank=12)], ids=str)
@pytest.mark.parametrize("H", [None, Polynomials(1)(X)], ids=["none", "linear"])
def test_the_resolvent_inverts_on_the_complement(H, gram):
    design = Design(gram.build(KERNEL, X, np.random.default_rng(0)), H, WEIGHT)
    V = rng.normal(size=(n, 2))
    found = Resolvent(design, 0.2)(V)
    D = np.sqrt(WEIGHT)
    Q = np.zeros((n, 0)) if H is None else np.linalg.qr(D[:, None] * H)[0]
    P = np.eye(n) - Q @ Q.T
    M = P @ (D[:, None] * design.gram.dense() * D) @ P + 0.2 * P
    np.testing.assert_allclose(found, np.linalg.pinv(M, rcond=1e-10) @ V, atol=1e-10)
    np.testing.assert_allclose(design.project(V), P @ V, atol=1e-13)


def test_the_variance_where_the_free_part_takes_all_samples():
    """One sample and an intercept: f + c is known there up to noise, and f − f(x₁) is as before elsewhere."""
    design = Design(Dense().build(KERNEL, X[:1]), np.ones((1, 1)))
    cross, diagonal = KERNEL(X[:5], X[:1]), KERNEL.diag(X[:5])
    variance = posterior_variance(design, 0.3, Resolvent(design, 0.3), cross, diagonal, np.ones((5, 1)))
    np.testing.assert_allclose(variance, diagonal + 1.0 - 2 * cross[:, 0] + 0.3)
