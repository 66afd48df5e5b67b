"""Mercer expansions: the eigen-equation by quadrature, closed forms against Nyström's method, norms and kernels."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.legendre import leggauss

from mercer import RKHS
from mercer._array import host
from mercer.basis import Polynomials
from mercer.expansion import mercer_expansion
from mercer.gram import Auto
from mercer.kernels import (
    Affine,
    Brownian,
    Callable,
    FiniteDomain,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    Power,
)
from mercer.measures import GaussianMeasure, UniformMeasure
from mercer.space import Function
from mercer.testing import check_kernel


def hermite(n, mean=0.0, std=1.0):
    """Gauss–Hermite nodes and weights of N(mean, std²) from NumPy, one-dimensional."""
    x, w = hermegauss(n)
    return (mean + std * x)[:, None], w / w.sum()


def trapezoid(n, width):
    """The trapezoidal rule for N(0, 1), which converges exponentially for analytic integrands that decay."""
    x = np.linspace(-width, width, n)
    w = np.exp(-(x**2) / 2)
    return x[:, None], w / w.sum()


def legendre(n, upper=1.0, pieces=1):
    """Composite Gauss–Legendre on [0, upper]."""
    x, w = leggauss(n)
    edges = np.linspace(0, upper, pieces + 1)
    nodes = np.concatenate([a + (x + 1) / 2 * (b - a) for a, b in pairwise(edges)])
    return nodes[:, None], np.tile(w, pieces) / (2 * pieces)


def pairs(x, w):
    """The product rule in two dimensions."""
    i, j = np.divmod(np.arange(len(x) ** 2), len(x))
    return np.hstack([x[i], x[j]]), w[i] * w[j]


# ---- the closed form for Gaussian kernel and Gaussian measure


@pytest.mark.parametrize(("lengthscale", "mean", "std"), [(1.0, 0.0, 1.0), (0.5, 2.0, 0.7), (3.0, -1.0, 1.5)])
def test_gaussian_eigen_equation(lengthscale, mean, std):
    kernel = Gaussian(lengthscale)
    expansion = mercer_expansion(kernel, GaussianMeasure(mean, std), n=8)
    nodes, w = hermite(100, mean, std)
    psi = expansion.eigenfunctions(nodes)
    np.testing.assert_allclose(psi.T @ (w[:, None] * psi), np.eye(8), atol=1e-10)
    X = mean + std * np.linspace(-2.5, 2.5, 11)[:, None]
    image = kernel(X, nodes) @ (w[:, None] * psi)
    np.testing.assert_allclose(image, expansion.eigenvalues * expansion.eigenfunctions(X), atol=1e-11)
    assert np.all(np.diff(expansion.eigenvalues) < 0)


@pytest.mark.parametrize(
    ("lengthscale", "std"),
    [
        (0.9, 1.0),
        (np.array([0.6, 1.5]), np.array([1.0, 0.5])),
        (np.array([[1.0, 0.4], [0.0, 0.8]]), np.array([[0.9, 0.0], [0.5, 0.6]])),
    ],
    ids=["number", "per feature", "matrix"],
)
def test_gaussian_in_two_dimensions(lengthscale, std):
    kernel, mean = Gaussian(lengthscale), np.array([0.5, -1.0])
    expansion = mercer_expansion(kernel, GaussianMeasure(mean, std), n=12)
    z, w = pairs(*trapezoid(36, 6.0))
    S = std if np.ndim(std) == 2 else np.diag(np.broadcast_to(std, 2))
    nodes = mean + z @ S.T
    psi = expansion.eigenfunctions(nodes)
    np.testing.assert_allclose(psi.T @ (w[:, None] * psi), np.eye(12), atol=1e-8)
    X = mean + np.random.default_rng(0).normal(size=(9, 2)) @ S.T
    image = kernel(X, nodes) @ (w[:, None] * psi)
    np.testing.assert_allclose(image, expansion.eigenvalues * expansion.eigenfunctions(X), atol=1e-9)
    # these are the largest eigenvalues, none is left out: those of the integral operator on the nodes agree
    root = np.sqrt(w)
    numeric = np.linalg.eigvalsh(root[:, None] * kernel(nodes) * root)[::-1][:12]
    np.testing.assert_allclose(expansion.eigenvalues, numeric, atol=1e-10)


def test_gaussian_trace_and_many_terms():
    """Σ λⱼ = ∫ k(x, x) dμ = 1; fifty terms stay finite and orthonormal."""
    expansion = mercer_expansion(Gaussian(0.3), GaussianMeasure(), n=50)
    psi = expansion.eigenfunctions(np.linspace(-30, 30, 2001)[:, None])
    assert np.all(np.isfinite(psi))
    nodes, w = trapezoid(800, 12.0)
    values = expansion.eigenfunctions(nodes)
    np.testing.assert_allclose(values.T @ (w[:, None] * values), np.eye(50), atol=1e-9)
    assert expansion.trace == 1.0
    assert expansion.trace_error == pytest.approx(1 - expansion.eigenvalues.sum())
    ratio = expansion.eigenvalues[1] / expansion.eigenvalues[0]
    assert expansion.eigenvalues.sum() + expansion.eigenvalues[-1] * ratio / (1 - ratio) == pytest.approx(
        1.0, abs=1e-13
    )
    assert mercer_expansion(Gaussian(0.3), GaussianMeasure(), n=500).trace_error < 1e-12


def test_product_spectrum_is_complete():
    """In three dimensions: the best-first search finds the same products as taking all of a large cube and sorting."""
    lengthscale = np.array([0.5, 1.0, 4.0])
    expansion = mercer_expansion(Gaussian(lengthscale), GaussianMeasure(np.zeros(3)), n=60)
    lines = [mercer_expansion(Gaussian(s), GaussianMeasure(), n=60).eigenvalues for s in lengthscale]
    cube = np.sort(np.einsum("i,j,k->ijk", *lines).ravel())[::-1][:60]
    np.testing.assert_allclose(expansion.eigenvalues, cube, rtol=1e-12)


# ---- the closed form for Brownian motion


@pytest.mark.parametrize("upper", [1.0, 2.5])
def test_brownian_eigen_equation(upper):
    kernel = Brownian()
    expansion = mercer_expansion(kernel, UniformMeasure(0, upper), n=10)
    np.testing.assert_allclose(expansion.eigenvalues, upper / ((np.arange(1, 11) - 0.5) * np.pi) ** 2)
    nodes, w = legendre(20, upper, pieces=16)
    psi = expansion.eigenfunctions(nodes)
    np.testing.assert_allclose(psi, np.sqrt(2) * np.sin((np.arange(1, 11) - 0.5) * np.pi * nodes / upper), atol=1e-12)
    np.testing.assert_allclose(psi.T @ (w[:, None] * psi), np.eye(10), atol=1e-12)
    X = np.linspace(0, upper, 17)[:, None]  # the kink of k(x, ·) lies between pieces of the rule, which is then exact
    np.testing.assert_allclose(
        kernel(X, nodes) @ (w[:, None] * psi), expansion.eigenvalues * expansion.eigenfunctions(X), atol=1e-12
    )
    assert expansion.trace == pytest.approx(w @ kernel.diag(nodes))


def test_brownian_sheet():
    kernel = Brownian()
    expansion = mercer_expansion(kernel, UniformMeasure([0, 0], [1.0, 2.0]), n=9)
    nodes, w = pairs(*legendre(8, 1.0, pieces=5))
    nodes = nodes * np.array([1.0, 2.0])
    psi = expansion.eigenfunctions(nodes)
    np.testing.assert_allclose(psi.T @ (w[:, None] * psi), np.eye(9), atol=1e-10)
    X = np.array([[0.2, 0.4], [0.6, 2.0], [1.0, 1.2]])
    image = kernel(X, nodes) @ (w[:, None] * psi)
    np.testing.assert_allclose(image, expansion.eigenvalues * expansion.eigenfunctions(X), atol=1e-9)
    assert expansion.trace == pytest.approx(w @ kernel.diag(nodes))


# ---- Nyström's method


@pytest.mark.parametrize(
    ("kernel", "measure"), [(Gaussian(0.8), GaussianMeasure(0.5, 1.2)), (Gaussian(2.0), GaussianMeasure(-1.0, 0.5))]
)
def test_nystrom_on_quadrature_nodes_is_the_closed_form(kernel, measure):
    exact = mercer_expansion(kernel, measure, n=6)
    nodes, w = hermite(100, measure.mean, measure.std)
    keep = w > 1e-30  # NumPy's outermost weights underflow to 0
    numeric = mercer_expansion(kernel, nodes[keep], n=6, weights=w[keep])
    np.testing.assert_allclose(numeric.eigenvalues, exact.eigenvalues, atol=1e-8)
    X = measure.mean + measure.std * np.linspace(-2, 2, 9)[:, None]
    a, b = exact.eigenfunctions(X), numeric.eigenfunctions(X)
    np.testing.assert_allclose(b * np.sign(np.sum(a * b, axis=0)), a, atol=1e-8)
    own = measure.quadrature(80)
    np.testing.assert_allclose(
        mercer_expansion(kernel, own[0], n=6, weights=own[1]).eigenvalues, exact.eigenvalues, atol=1e-8
    )


def test_nystrom_converges_with_the_sample():
    exact = mercer_expansion(Gaussian(), GaussianMeasure(), n=4)
    rng = np.random.default_rng(0)
    errors = []
    for m in (50, 450):
        runs = [mercer_expansion(Gaussian(), rng.normal(size=(m, 1)), n=4).eigenvalues for _ in range(20)]
        errors.append(np.sqrt(np.mean((np.array(runs) - exact.eigenvalues) ** 2)))
    assert errors[1] < errors[0] / 2  # Monte Carlo: nine times the sample, a third of the error


def test_nystrom_is_exact_for_the_empirical_measure(xp):
    """∫ ψᵢψⱼ dμ = δ and the eigen-equation hold exactly for μ = Σ wᵢ δ(xᵢ), at every x."""
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(30, 2)), rng.uniform(0.1, 1, size=30)
    kernel = Matern(1.5)
    expansion = mercer_expansion(kernel, xp.asarray(X), n=7, weights=w)
    psi = expansion.eigenfunctions(xp.asarray(X))
    assert isinstance(psi, type(xp.asarray(X))) and isinstance(expansion.eigenvalues, type(psi))
    psi, values = host(psi), host(expansion.eigenvalues)
    np.testing.assert_allclose(psi.T @ (w[:, None] * psi), np.eye(7), atol=1e-10)
    Z = rng.normal(size=(5, 2))
    np.testing.assert_allclose(
        kernel(Z, X) @ (w[:, None] * psi), values * host(expansion.eigenfunctions(xp.asarray(Z))), atol=1e-10
    )
    assert expansion.trace == pytest.approx(np.sum(w))
    assert expansion.trace_error == pytest.approx(np.sum(w) - values.sum())
    assert isinstance(expansion.feature_map(xp.asarray(Z)), type(xp.asarray(Z)))


def test_nystrom_through_every_eigensolver(monkeypatch):
    """Dense, block Krylov (a lazy Gram) and the factor (explicit features) give one expansion."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 3))
    for kernel, memory in ((Gaussian(1.5), 2**40), (Gaussian(1.5), 1000), (Affine(), 1000)):
        monkeypatch.setattr(Auto.__init__, "__defaults__", (memory, *Auto.__init__.__defaults__[1:]))
        expansion = mercer_expansion(kernel, X, n=4)
        expected = np.linalg.eigvalsh(kernel(X) / 600)[::-1][:4]
        np.testing.assert_allclose(expansion.eigenvalues, expected, rtol=1e-7)
        psi = expansion.eigenfunctions(X)
        np.testing.assert_allclose(psi.T @ psi / 600, np.eye(4), atol=1e-6)


def test_finite_rank_has_fewer_terms():
    X = np.random.default_rng(3).normal(size=(20, 2))
    expansion = mercer_expansion("linear", X, n=10)
    assert len(expansion) == 2 and expansion.trace_error == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(expansion.kernel()(X), X @ X.T, atol=1e-10)
    assert len(mercer_expansion(Polynomial(2), X[:, :1], n=10)) == 3
    assert len(mercer_expansion(Gaussian(), np.zeros((5, 1)), n=5)) == 1


def letters(a, b):
    return float(len(set(a) & set(b)))


def test_strings_and_finite_sets():
    words = ["kernel", "space", "norm", "mercer", "point"]
    expansion = mercer_expansion(Callable(letters), words, n=5)
    K = np.array([[letters(a, b) for b in words] for a in words])
    np.testing.assert_allclose(expansion.eigenvalues, np.linalg.eigvalsh(K / 5)[::-1], atol=1e-12)
    np.testing.assert_allclose(expansion.kernel()(words), K, atol=1e-10)
    matrix = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert mercer_expansion(FiniteDomain(matrix), [0, 1], n=2).eigenvalues == pytest.approx([1.5, 0.5])


# ---- the expansion as a space: features, coefficients, the truncated kernel


CASES = {
    "Gaussian": (Gaussian(1.2), GaussianMeasure(0.0, 1.0), 40, np.linspace(-1.5, 1.5, 5)[:, None], 1e-10),
    "Brownian": (Brownian(), UniformMeasure(), 4000, np.array([[0.1], [0.5], [0.9]]), 2e-3),
}


@pytest.mark.parametrize(("kernel", "measure", "n", "X", "tol"), CASES.values(), ids=CASES)
def test_truncated_kernel_and_norms(kernel, measure, n, X, tol):
    a = np.linspace(1.0, -2.0, len(X))
    f = RKHS(kernel).function(X, a)
    errors, norms = [], []
    for terms in (n // 8, n // 4, n):
        expansion = mercer_expansion(kernel, measure, n=terms)
        Z = expansion.feature_map(X)
        np.testing.assert_allclose(Z @ Z.T, expansion.kernel()(X), atol=1e-12)
        errors.append(np.abs(expansion.kernel()(X) - kernel(X)).max())
        c = expansion.coefficients(f)
        np.testing.assert_allclose(expansion.eigenfunctions(X) @ c, expansion.kernel()(X) @ a, atol=1e-12)
        norms.append(np.sum(c**2 / expansion.eigenvalues))
    assert errors[0] >= errors[1] >= errors[2] and errors[2] <= tol
    assert norms[0] <= norms[1] <= norms[2] <= f.norm() ** 2 * (1 + 1e-12)  # Bessel's inequality
    assert norms[2] == pytest.approx(f.norm() ** 2, rel=10 * tol)


def test_coefficients_are_integrals():
    measure, kernel = GaussianMeasure(0.3, 0.8), Gaussian(0.9)
    f = RKHS(kernel).function([[0.0], [1.0], [-0.5]], [[1.0, 0.0], [2.0, 1.0], [0.5, -1.0]])
    expansion = mercer_expansion(kernel, measure, n=6)
    nodes, w = hermite(100, 0.3, 0.8)
    expected = expansion.eigenfunctions(nodes).T @ (w[:, None] * f(nodes))
    np.testing.assert_allclose(expansion.coefficients(f), expected, atol=1e-12)
    np.testing.assert_allclose(expansion.coefficients(f[1]), expected[:, 1], atol=1e-12)


def test_nystrom_coefficients_give_the_norm_of_the_projection():
    """On a sample, Σ cⱼ²/λⱼ over all terms is the squared norm of the projection of f onto the sample's span."""
    rng = np.random.default_rng(4)
    kernel, X = Laplace(), rng.normal(size=(12, 2))
    H = RKHS(kernel)
    f = H.function(rng.normal(size=(4, 2)), rng.normal(size=4))
    expansion = mercer_expansion(kernel, X, n=12)
    c = expansion.coefficients(f)
    np.testing.assert_allclose(c, expansion.eigenfunctions(X).T @ f(X) / 12, atol=1e-12)
    assert np.sum(c**2 / expansion.eigenvalues) == pytest.approx(H.project(f, X).norm() ** 2)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_libraries(xp, dtype):
    X = np.random.default_rng(5).uniform(size=(6, 1))
    A = xp.asarray(X.astype(dtype))
    tol = 1e-12 if dtype == "float64" else 1e-4
    for kernel, measure in ((Gaussian(), GaussianMeasure()), (Brownian(), UniformMeasure())):
        expansion = mercer_expansion(kernel, measure, n=5)
        for name in ("eigenfunctions", "feature_map"):
            value = getattr(expansion, name)(A)
            assert isinstance(value, type(A)) and value.dtype == A.dtype
            np.testing.assert_allclose(host(value), getattr(expansion, name)(X), atol=tol)
        f = RKHS(kernel).function(A, np.ones(6))
        assert isinstance(expansion.coefficients(f), type(A))


def test_truncated_kernel_is_a_kernel(xp):
    X = np.linspace(-1, 1, 6)[:, None]
    check_kernel(mercer_expansion(Gaussian(), GaussianMeasure(), n=5).kernel(), X, namespaces=[xp])
    check_kernel(mercer_expansion(Gaussian(), X, n=4).kernel(), X)
    expansion = mercer_expansion(Gaussian(), GaussianMeasure(), n=5)
    assert np.array_equal(pickle.loads(pickle.dumps(expansion)).eigenfunctions(X), expansion.eigenfunctions(X))
    assert repr(expansion).startswith("<MercerExpansion of gaussian: 5 terms, 0.00")


# ---- refusals


def test_refusals():
    with pytest.raises(
        ValueError, match=r"Laplace under GaussianMeasure.*Gaussian under GaussianMeasure, Brownian under U"
    ):
        mercer_expansion(Laplace(), GaussianMeasure())
    with pytest.raises(ValueError, match="Brownian has a closed form only for lower = 0"):
        mercer_expansion(Brownian(), UniformMeasure(0.5, 1.0))
    with pytest.raises(ValueError, match="lengthscale has 3 entries, but the measure has dimension 1"):
        mercer_expansion(Gaussian(np.ones(3)), GaussianMeasure())
    with pytest.raises(ValueError, match="weights apply to a sample"):
        mercer_expansion(Gaussian(), GaussianMeasure(), weights=[1.0])
    with pytest.raises(ValueError, match=r"n = 0 must be >= 1"):
        mercer_expansion(Gaussian(), GaussianMeasure(), n=0)
    with pytest.raises(ValueError, match="4 finite numbers > 0"):
        mercer_expansion(Gaussian(), np.ones((4, 1)), weights=[1.0, 1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match=r"CPD\(1\)"):
        mercer_expansion(Power(1.0), np.ones((4, 1)))
    with pytest.raises(ValueError, match="not positive definite"):
        mercer_expansion(Callable(letters_minus), ["ab", "cd", "a"], n=3)
    with pytest.raises(ValueError, match="zero on this sample"):
        mercer_expansion(Linear(), np.zeros((3, 1)))
    expansion = mercer_expansion(Gaussian(), GaussianMeasure())
    with pytest.raises(ValueError, match="2 columns, but the measure has 1"):
        expansion.eigenfunctions(np.ones((3, 2)))
    with pytest.raises(ValueError, match="f is in the space of linear"):
        expansion.coefficients(RKHS(Linear()).function([[1.0]], [1.0]))
    with pytest.raises(ValueError, match="unpenalised part"):
        expansion.coefficients(Function(Gaussian(), np.ones((1, 1)), np.ones(1), Polynomials(0), np.ones(1)))


def letters_minus(a, b):
    return letters(a, b) - 2.0


def test_data_driven_lengthscale_is_resolved_on_the_sample():
    for X in (np.array([[0.0], [1.0], [3.0]]), [[0], [1], [3]]):
        assert mercer_expansion("gaussian(lengthscale='median')", X).source == Gaussian(2.0)
