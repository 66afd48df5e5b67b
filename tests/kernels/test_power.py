"""Power: definition, the exact order of conditional definiteness, and the energy distance."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import energy_distance

from mercer._array import host
from mercer.basis import Polynomials
from mercer.kernels import CPD, INDEFINITE
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.power import Power

seeded = np.random.default_rng(0)
X = seeded.normal(size=(30, 2))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def form(K, order, X):
    """Eigenvalues of K on the coefficients that annihilate polynomials of degree < order."""
    H = Polynomials(order - 1)(X) if order else np.zeros((len(X), 1))
    U, s, _ = np.linalg.svd(H, full_matrices=True)
    N = U[:, int(np.sum(s > 1e-10)) :]
    return np.linalg.eigvalsh(N.T @ K @ N)


@pytest.mark.parametrize("p", [0.3, 1, 1.7, 2, 4.5])
def test_definition(p, xp):
    K = host(Power(p, 1.4)(xp.asarray(X)))
    np.testing.assert_allclose(K, -((cdist(X, X) / 1.4) ** p), rtol=1e-12, atol=1e-14)
    assert not np.any(np.signbit(np.diag(K)))


@pytest.mark.parametrize(
    ("p", "claim", "strict"),
    [
        (0.5, CPD(1), True),
        (1, CPD(1), True),
        (1.99, CPD(1), True),
        (2, CPD(1), False),
        (2.5, INDEFINITE, False),
        (3, INDEFINITE, False),
        (4, CPD(3), False),
        (4.5, CPD(3), True),
        (5, CPD(3), True),
        (6, CPD(3), False),
        (7, INDEFINITE, False),
        (8, CPD(5), False),
        (9, CPD(5), True),
    ],
)
def test_claims(p, claim, strict):
    found = Power(p).definiteness
    assert found == claim and found.strict == strict


@pytest.mark.parametrize("p", [0.5, 1, 1.5, 2, 2.5, 3, 4, 4.5, 5, 6])
@pytest.mark.parametrize("n", [12, 30])
def test_claims_hold_on_data(p, n):
    A = X[:n]
    K = Power(p)(A)
    claim = Power(p).definiteness
    rounding = 1e-12 * np.abs(K).max()
    if claim == INDEFINITE:
        # negative on every subspace that is small enough for −K to be definite
        assert form(K, int(np.ceil(p / 2)), A).max() < 0
    else:
        smallest = form(K, claim.order, A).min()
        assert smallest > rounding if claim.strict else smallest > -rounding
        assert form(K, claim.order - 1, A).min() < -rounding


def test_fourth_power_is_negative_on_order_two():
    """−‖x − y‖⁴ on coefficients that annihilate affine functions is −4‖Σcxxᵀ‖² − 2(Σc‖x‖²)²."""
    A = X[:6]
    N = np.linalg.svd(Polynomials(1)(A), full_matrices=True)[0][:, 3:]
    for c in N.T:
        moments = np.einsum("i,ij,ik->jk", c, A, A)
        expected = -4 * np.sum(moments**2) - 2 * np.trace(moments) ** 2
        assert c @ Power(4)(A) @ c == pytest.approx(expected, rel=1e-10)


def test_energy_distance(rng):
    """ΣΣ c c k of two weighted samples is the square of SciPy's energy distance."""
    a, b = rng.normal(size=8), rng.normal(size=11) + 1
    c = np.concatenate([np.full(8, 1 / 8), np.full(11, -1 / 11)])
    K = Power(1.0)(np.concatenate([a, b])[:, None])
    assert c @ K @ c == pytest.approx(energy_distance(a, b) ** 2)


def test_exponential_of_degree_two_is_gaussian():
    np.testing.assert_allclose((0.5 * Power(2, 1.3)).exp()(X), Gaussian(1.3)(X), rtol=1e-13)


def test_provides():
    assert Power(1).provides == {"gradient_theta"}
    assert Power(1.1).provides == {"gradient_theta", "gradient_x"}
    assert Power(2).provides == {"gradient_theta", "gradient_x", "mixed_xy"}


@pytest.mark.parametrize("p", [1.2, 2, 2.5, 4])
def test_derivatives_at_equal_points(p):
    assert np.all(Power(p).gradient_x(X[:3])[np.arange(3), np.arange(3)] == 0)
    if p >= 2:
        M = Power(p).mixed_xy(X[:3])[np.arange(3), np.arange(3)]
        np.testing.assert_array_equal(M, np.broadcast_to((2.0 if p == 2 else 0.0) * np.eye(2), (3, 2, 2)))


def test_resolve():
    kernel = Power(1.0, "median").resolve(X)
    assert kernel.lengthscale == pytest.approx(np.median(cdist(X, X)[np.triu_indices(30, 1)]))
    assert np.median(-kernel(X)[np.triu_indices(30, 1)]) == pytest.approx(1.0)


@pytest.mark.parametrize("p", [0, -1.0, float("nan")])
def test_bad_degree(p):
    with pytest.raises(ValueError, match="Power: degree = "):
        Power(p)(X)
