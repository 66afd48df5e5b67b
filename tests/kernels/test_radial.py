"""Radial kernels: distances against extended precision, every form of lengthscale against brute force, CSR, resolve."""

import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix, random_array
from sklearn.base import clone

from mercer._array import host
from mercer.kernels import bandwidth, parse
from mercer.kernels._radial import squared_distances
from mercer.kernels.gaussian import Gaussian
from mercer.kernels.laplace import Laplace
from mercer.kernels.log import Log
from mercer.kernels.matern import Matern
from mercer.kernels.polyharmonic import Polyharmonic
from mercer.kernels.power import Power
from mercer.kernels.thin_plate import ThinPlate
from mercer.methods import KernelRidge

FULL = np.array([[1.0, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 1.5]])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def exact(X, Y):
    D = X[:, None, :].astype(np.longdouble) - Y[None, :, :].astype(np.longdouble)
    return np.sum(D * D, axis=-1)


def relative_error(found, expected):
    return float(np.max(np.abs(found - expected) / np.where(expected > 0, expected, 1)))


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("gap", [1e-1, 1e-2, 1e-3, 1e-5])
@pytest.mark.parametrize("d", [2, 10])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_half_of_the_digits_always(dtype, d, gap, offset, xp, rng):
    """Whatever the gap between points of a pair, and the distance from the origin, half of the digits are right."""
    X = (rng.normal(size=(30, d)) + offset).astype(dtype)
    Y = (X[::-1] + gap * rng.normal(size=X.shape)).astype(dtype)
    found = host(squared_distances(xp.asarray(X), xp.asarray(Y)))
    assert found.dtype == dtype
    assert relative_error(found, exact(X, Y)) < np.sqrt(np.finfo(dtype).eps)


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_digits_of_very_close_pairs(dtype, offset, xp, rng):
    gap = float(np.finfo(dtype).eps) ** 0.6
    X = (rng.normal(size=(30, 10)) + offset).astype(dtype)
    Y = (X + gap * rng.normal(size=X.shape)).astype(dtype)
    pairs = np.arange(30), np.arange(30)
    found = host(squared_distances(xp.asarray(X), xp.asarray(Y)))[pairs]
    assert relative_error(found, exact(X, Y)[pairs]) < 10 * np.finfo(dtype).eps


@pytest.mark.parametrize("d", [3, 10])
def test_symmetric_with_zero_diagonal(d, xp, rng):
    X = xp.asarray(rng.normal(size=(12, d)) + 100.0)
    S = host(squared_distances(X))
    assert np.all(np.diag(S) == 0) and np.all(S >= 0)
    np.testing.assert_array_equal(S, S.T)
    np.testing.assert_allclose(S, exact(host(X), host(X)).astype(float), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scale", [0.3, np.array([0.3, 0.5, 2.0]), 0.3 * FULL], ids=["number", "vector", "matrix"])
def test_kernel_far_from_the_origin(dtype, scale, rng):
    """Scaling must not round away what centring would have saved."""
    X = (rng.normal(size=(20, 3)) + 1e4).astype(dtype)
    D = X[:, None, :].astype(np.longdouble) - X[None, :, :].astype(np.longdouble)
    inverse = np.linalg.inv(scale) if np.ndim(scale) == 2 else np.diag(np.broadcast_to(1 / np.asarray(scale), 3))
    expected = np.exp(-np.sum((D @ inverse.T) ** 2, axis=-1) / 2)
    np.testing.assert_allclose(Gaussian(scale)(X), expected, rtol=0, atol=50 * np.finfo(dtype).eps)


@pytest.mark.parametrize("sparse", [csr_array, csr_matrix])
def test_sparse_against_dense(sparse, rng):
    X = np.where(rng.random((8, 15)) < 0.3, rng.normal(size=(8, 15)), 0.0)
    Y = np.concatenate([X[:3] + 1e-9 * (X[:3] != 0), X[3:6]])
    expected = exact(X, Y).astype(float)
    for A, B in ((sparse(X), sparse(Y)), (sparse(X), Y), (X, sparse(Y))):
        np.testing.assert_allclose(-Power(2.0)(A, B), expected, rtol=1e-7, atol=1e-30)
    np.testing.assert_allclose(-Power(2.0)(sparse(X)), exact(X, X).astype(float), atol=1e-13)


@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), Matern(2.5, 2.0), Laplace(2.0, norm=1)], ids=lambda k: type(k).__name__
)
def test_sparse_is_never_made_dense(kernel, rng):
    """Thirty rows of two million columns would take 480 MB."""
    X = csr_array(random_array((30, 2_000_000), density=1e-5, rng=rng, format="csr"))
    tracemalloc.start()
    K = kernel(X, X[:10])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
    used = np.unique(X.indices)
    np.testing.assert_allclose(K, kernel(X[:, used].toarray(), X[:10][:, used].toarray()), atol=1e-12)


@pytest.mark.parametrize("scale", [0.7, np.array([0.5, 1.0, 2.0]), FULL], ids=["number", "vector", "matrix"])
@pytest.mark.parametrize("kernel", [Gaussian(), Laplace(), Matern(1.5)], ids=lambda k: type(k).__name__)
def test_lengthscale(kernel, scale, xp, rng):
    """k(x, y) with Λ is k(Λ⁻¹x, Λ⁻¹y) with 1, point by point; as an array of X's own library too."""
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    inverse = np.linalg.inv(scale) if np.ndim(scale) == 2 else np.diag(np.broadcast_to(1 / np.asarray(scale), 3))
    expected = [[kernel([inverse @ x], [inverse @ y])[0, 0] for y in Y] for x in X]
    for value in (scale, xp.asarray(scale)) if np.ndim(scale) else (scale,):
        scaled = type(kernel)(**{**kernel.get_params(), "lengthscale": value})
        np.testing.assert_allclose(host(scaled(xp.asarray(X), xp.asarray(Y))), expected, rtol=1e-11)


def test_lengthscale_on_sparse(rng):
    X = np.where(rng.random((6, 3)) < 0.6, rng.normal(size=(6, 3)), 0.0)
    for scale in (0.7, np.array([0.5, 1.0, 2.0]), FULL):
        np.testing.assert_allclose(Gaussian(scale)(csr_array(X)), Gaussian(scale)(X), atol=1e-14)


@pytest.mark.parametrize("rule", bandwidth.RULES)
@pytest.mark.parametrize("kernel", [Gaussian(), Laplace(), Matern(2.5)], ids=lambda k: type(k).__name__)
def test_resolve(rule, kernel, rng):
    X = rng.normal(size=(20, 3))
    waiting = type(kernel)(**{**kernel.get_params(), "lengthscale": rule})
    resolved = waiting.resolve(X)
    assert waiting.lengthscale == rule
    assert resolved.lengthscale == bandwidth.RULES[rule](X)
    assert resolved.resolve(X) == resolved
    with pytest.raises(ValueError, match=r"depends on the data; call kernel.resolve\(X\) first"):
        waiting(X)


@pytest.mark.parametrize(
    ("scale", "message"),
    [
        (0.0, "Gaussian: lengthscale = 0.0 must be > 0"),
        (float("nan"), "Gaussian: lengthscale = nan must be a finite number > 0"),
        ("mean", "Gaussian: lengthscale = 'mean' is unknown"),
        (np.array([1.0, 0.0, 1.0]), r"Gaussian: lengthscale of shape \(3,\) must be"),
        (np.ones((3, 3)), r"Gaussian: lengthscale of shape \(3, 3\) must be .* invertible"),
        (np.ones((3, 2)), r"Gaussian: lengthscale of shape \(3, 2\) must be"),
        (np.ones(2), "Gaussian: lengthscale has 2 entries, but X has 3 columns"),
    ],
)
def test_bad_lengthscale(scale, message):
    with pytest.raises(ValueError, match=message):
        Gaussian(scale)(np.zeros((2, 3)))


@pytest.mark.parametrize("scale", [0.7, np.array([0.5, 1.0, 2.0]), FULL], ids=["number", "vector", "matrix"])
def test_gradient_in_y_is_minus_gradient_in_x(scale, rng):
    """Stationary kernels: ∂k/∂y = −∂k/∂x, and the mixed derivative is symmetric and −∂²k/∂x∂xᵀ."""
    X, Y, h = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), 1e-6
    kernel = Matern(2.5, scale)
    G, M = kernel.gradient_x(X, Y), kernel.mixed_xy(X, Y)
    np.testing.assert_allclose(G, -np.swapaxes(kernel.gradient_x(Y, X), 0, 1), atol=1e-14)
    np.testing.assert_allclose(M, np.swapaxes(M, -1, -2), atol=1e-14)
    for j, e in enumerate(h * np.eye(3)):
        numeric = (kernel.gradient_x(X + e, Y) - kernel.gradient_x(X - e, Y)) / (2 * h)
        np.testing.assert_allclose(-M[..., j], numeric, atol=1e-7)


@pytest.mark.parametrize("seed", range(10))
def test_derivatives_with_an_ill_conditioned_matrix(seed):
    """‖Λ⁻¹(x − y)‖² is never negative, whatever the conditioning of Λ."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    scale = Q @ np.diag([1e-6, 1.0, 1e6]) @ Q.T
    X = rng.normal(size=(10, 1)) * Q[:, 2]  # along the longest axis only
    for kernel in (Laplace(scale), Matern(1.5, scale)):
        assert np.all(np.isfinite(kernel.gradient_theta(X)["lengthscale"]))
    assert np.all(np.isfinite(Matern(1.5, scale).gradient_x(X)))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize(("dtype", "size"), [("float32", 1e20), ("float64", 1e200)])
def test_squares_that_overflow(dtype, size, rng):
    X = (size * (1 + 0.1 * rng.normal(size=(5, 8)))).astype(dtype)
    expected = np.exp(-exact(X / np.asarray(size, dtype), X / np.asarray(size, dtype)) / 2)
    np.testing.assert_allclose(Gaussian(size)(X), expected.astype(dtype), rtol=1e-5)
    S = squared_distances(np.concatenate([X, -X]))
    assert not np.any(np.isnan(S))


@pytest.mark.parametrize(("dtype", "tiny"), [("float32", 2.0**-80), ("float64", 2.0**-600)])
@pytest.mark.parametrize("kernel", [Power(1.0), Log(0.5), ThinPlate(), Polyharmonic(3)], ids=str)
def test_squares_that_vanish(kernel, dtype, tiny, rng):
    """Where φ(0) = 0, k would be lost with the squares of distances; a lengthscale of their size keeps all digits."""
    X = rng.normal(size=(9, 3)).astype(dtype)
    with pytest.raises(ValueError, match=f"{type(kernel).__name__}: X holds points so close.*lower the lengthscale"):
        kernel(X * tiny)
    with pytest.raises(ValueError, match=f"KernelRidge, {type(kernel).__name__}: X holds points so close"):
        KernelRidge(kernel=kernel, free=1).fit(X * tiny, X[:, 0])
    np.testing.assert_array_equal(clone(kernel).set_params(lengthscale=tiny)(X * tiny), kernel(X))
    np.testing.assert_array_equal(kernel(X[:1] * tiny, X[:1] * tiny), [[0.0]])
    np.testing.assert_array_equal(Gaussian()(X * tiny), np.ones((9, 9)))


@pytest.mark.parametrize("lengthscale", [np.array(["a", "b"]), np.array([True, True]), [1j, 2.0]], ids=str)
def test_lengthscales_are_numbers(lengthscale):
    with pytest.raises(ValueError, match=r"Gaussian: lengthscale of shape \(2,\) must be"):
        Gaussian(lengthscale)(np.ones((2, 2)))


@pytest.mark.parametrize("d", [1, 7, 33])
@pytest.mark.parametrize("m", [1, 2, 3, 5, 11, 23, 200])
def test_compiled_gaussian_rows_equal_the_definition(m, d) -> None:
    rng = np.random.default_rng(m + d)
    X = rng.normal(size=(201, d)).astype(np.float32)
    kernel = Gaussian(np.sqrt(d))
    points, places = kernel.points(X), rng.permutation(m)
    out = np.full((m, 201), np.nan, dtype=np.float32)
    points.take(places).fill(out, places, points, 0, 64)
    assert np.isnan(out[:, 64:]).all()
    points.take(places).fill(out, places, points, 64, 201)
    difference = X.astype(float)[:m, None] - X.astype(float)
    np.testing.assert_allclose(out, np.exp(-(difference**2).sum(-1) / (2 * d)), rtol=3e-6, atol=1e-7)


def test_a_gaussian_far_away_is_zero() -> None:
    # compiled exponentials stop at the least normal number, and must not stay there
    X = np.random.default_rng(0).normal(size=(200, 5))
    points = Gaussian(1e-3).points(X)
    K = points.matrix(points)
    assert (K[~np.eye(200, dtype=bool)] == 0).all() and (np.diagonal(K) > 0).all()


@pytest.mark.parametrize("text", ["gaussian", "laplace", "matern(nu=1.5)", "rational_quadratic", "cauchy"])
@pytest.mark.parametrize(("dtype", "spread"), [(np.float32, 2e3), (np.float64, 1e6), (np.float64, 1e100)])
def test_points_many_lengthscales_apart(text, dtype, spread):
    """A point is at distance 0 from itself, and 1 from its neighbour, however far away the others are."""
    kernel, rng = parse(text), np.random.default_rng(0)
    X = np.round(rng.normal(size=(20, 6)) * spread).astype(dtype)
    X[1::2] = X[::2]
    X[1::2, 0] += dtype(1)
    points = kernel.points(X)
    K = kernel.points(X, points).matrix(points)
    apart = (np.abs(np.subtract.outer(X[:, 0], X[:, 0])) > 0).astype(float)
    pairs = np.kron(np.eye(10), np.ones((2, 2))) > 0
    at = np.array([kernel([[0.0]], [[d]])[0, 0] for d in (0.0, 1.0)])
    np.testing.assert_allclose(K[pairs], at[apart[pairs].astype(int)], rtol=1e-6)
