"""Every linear solver against the dense saddle-point system, with weights, free functions, and kernels only CPD."""

import numpy as np
import pytest

from mercer import JitterWarning, RoundingWarning
from mercer._array import host
from mercer.basis import Polynomials
from mercer.gram import Centered, Dense, IncompleteCholesky, Lazy, LowRank
from mercer.kernels import Affine, Gaussian, Laplace, Linear, Log, Multiquadric, Polynomial, Power, Sigmoid, ThinPlate
from mercer.solvers.linear import (
    Cholesky,
    ConjugateGradient,
    PseudoInverse,
    Symmetric,
    System,
    Woodbury,
    linear_solver,
)
from mercer.solvers.linear._base import free_factor
from mercer.testing import move

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
B = RNG.normal(size=(40, 3))
WEIGHT = RNG.uniform(0.2, 3.0, size=40)

# which solver on which representation; each pair solves the same system
PAIRS = {
    "cholesky-dense": (Cholesky(), Dense(), Laplace()),
    "cholesky-lazy": (Cholesky(), Lazy(), Laplace()),
    "symmetric": (Symmetric(), Dense(), Laplace()),
    "pseudo-inverse": (PseudoInverse(), Dense(), Laplace()),
    "woodbury-exact": (Woodbury(), LowRank(), Polynomial(2)),
    "woodbury-approximate": (Woodbury(), IncompleteCholesky(rank=12), Gaussian()),
    "woodbury-centred": (Woodbury(), Centered(LowRank()), Affine()),
    "cholesky-centred": (Cholesky(), Centered("dense"), Gaussian()),
    "cg-lazy": (ConjugateGradient(tol=1e-10), Lazy(), Gaussian()),
    "cg-plain": (ConjugateGradient(tol=1e-10, rank=0), Dense(), Laplace()),
}
CASES = pytest.mark.parametrize(("solver", "representation", "kernel"), PAIRS.values(), ids=PAIRS)


def built(representation, kernel, xp=np, dtype="float64", points=X):
    A = points if xp is np else move(points, xp, dtype)
    return representation.build(kernel, A, np.random.default_rng(0))


def saddle(K, S, b, H=None):
    """a and c of Ka + Sa + Hc = b, Hᵀa = 0, by one dense solve."""
    n, p = len(K), 0 if H is None else H.shape[1]
    M = np.zeros((n + p, n + p))
    M[:n, :n] = K + np.diag(np.broadcast_to(S, n))
    if p:
        M[:n, n:], M[n:, :n] = H, H.T
    z = np.linalg.solve(M, np.concatenate([b, np.zeros((p, *b.shape[1:]))]))
    return z[:n], z[n:]


def close(a, b, tol=1e-8):
    a, b = host(a).astype(float), host(b).astype(float)
    np.testing.assert_allclose(a, b, atol=tol * np.abs(b).max(), rtol=0)


# ---- the plain system


@CASES
@pytest.mark.parametrize("columns", [None, 3])
def test_plain(solver, representation, kernel, columns, xp):
    gram = built(representation, kernel, xp)
    b = B[:, 0] if columns is None else B
    expected, _ = saddle(host(gram.dense()), 0.3, b)
    solution = solver.solve(System(gram, xp.asarray(b), 0.3))
    assert isinstance(solution.coefficients, type(xp.asarray(b))) and solution.coefficients.shape == b.shape
    close(solution.coefficients, expected)
    assert solution.residual < 1e-8 and solution.converged and solution.jitter == 0.0


@CASES
def test_single_precision(solver, representation, kernel, xp):
    gram = built(representation, kernel, xp, "float32")
    expected, _ = saddle(host(gram.dense()).astype(float), 0.5, B)
    solution = solver.solve(System(gram, xp.asarray(B.astype("float32")), 0.5))
    assert solution.coefficients.dtype == xp.float32
    close(solution.coefficients, expected, 2e-4)


# ---- weights and free functions


@CASES
@pytest.mark.parametrize("degree", [None, 0, 1])
@pytest.mark.parametrize("weighted", [False, True])
def test_saddle_point(solver, representation, kernel, degree, weighted, xp):
    gram = built(representation, kernel, xp)
    H = None if degree is None else Polynomials(degree)(X)
    weight = WEIGHT if weighted else np.ones(40)
    expected, free = saddle(host(gram.dense()), 0.3 / weight, B, H)
    solution = solver.solve(
        System(gram, xp.asarray(B), 0.3, None if H is None else xp.asarray(H), xp.asarray(weight) if weighted else None)
    )
    close(solution.coefficients, expected)
    assert solution.residual < 1e-7
    if H is not None:
        close(solution.free, free)
        assert isinstance(solution.free, type(xp.asarray(H)))
        assert np.abs(H.T @ host(solution.coefficients)).max() < 1e-8 * np.abs(expected).sum()


def test_vector_shift(xp):
    gram = built(Dense(), Laplace(), xp)
    H = Polynomials(1)(X)
    shift = 0.3 / WEIGHT
    for free in (None, H):
        expected, c = saddle(host(gram.dense()), shift, B[:, 0], free)
        solution = Cholesky().solve(
            System(gram, xp.asarray(B[:, 0]), xp.asarray(shift), None if free is None else xp.asarray(free))
        )
        close(solution.coefficients, expected)
        assert free is None or np.allclose(host(solution.free), c)


@pytest.mark.parametrize("solver", [Cholesky(), Symmetric()])
def test_weight_zero_is_absence(solver):
    """A sample of weight 0 gets coefficient 0, and the others solve the system without it."""
    weight = WEIGHT.copy()
    weight[[3, 17]] = 0.0
    present = weight > 0
    for H in (None, Polynomials(1)(X)):
        solution = solver.solve(System(built(Dense(), Laplace()), B[:, 0], 0.3, H, weight))
        K = Laplace()(X[present])
        expected, free = saddle(K, 0.3 / weight[present], B[present, 0], None if H is None else H[present])
        assert np.all(solution.coefficients[~present] == 0)
        close(solution.coefficients[present], expected)
        if H is not None:
            close(solution.free, free)


@pytest.mark.parametrize("shift", [0.0, 1e-3])
@pytest.mark.parametrize(
    ("kernel", "degree"),
    [(Power(1.0), 0), (Log(1.0), 0), (Multiquadric(), 0), (ThinPlate(), 1), (Power(1.5), 1), (Laplace(), 1)],
    ids=str,
)
@pytest.mark.parametrize(
    "solver", [Cholesky(), Symmetric(), ConjugateGradient(tol=1e-10, rank=0, max_iter=5000)], ids=str
)
def test_conditionally_definite(solver, kernel, degree, shift, xp):
    """K is indefinite, but definite on Hᵀa = 0: also interpolation, where the projection leaves a null space."""
    gram = built(Dense(), kernel, xp)
    H = Polynomials(degree)(X)
    expected, free = saddle(kernel(X), shift, B, H)
    solution = solver.solve(System(gram, xp.asarray(B), shift, xp.asarray(H)))
    close(solution.coefficients, expected, 1e-6)
    close(solution.free, free, 1e-6)
    fitted = kernel(X) @ host(solution.coefficients) + H @ host(solution.free)
    close(fitted + shift * host(solution.coefficients), B, 1e-7)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e8])
def test_the_projected_null_space_is_filled_to_scale(size):
    """Interpolation with a kernel of any size: no jitter, whatever the diagonal (here 0) says of that size."""
    kernel = size * Power(1.0)
    H = np.ones((40, 1))
    expected, _ = saddle(kernel(X), 0.0, B, H)
    solution = Cholesky().solve(System(built(Dense(), kernel), B, 0.0, H))
    assert solution.jitter == 0.0
    close(solution.coefficients, expected, 1e-7)


def test_residual_is_that_of_the_whole_system():
    """With a b that lies almost in the span of H, the residual is still measured against b."""
    H = Polynomials(1)(X)
    b = 1e6 * H @ np.array([1.0, 2.0, 3.0]) + B[:, 0]
    gram = built(Dense(), Laplace())
    for solver in (Cholesky(), ConjugateGradient()):
        solution = solver.solve(System(gram, b, 0.1, H))
        r = gram.dense() @ solution.coefficients + 0.1 * solution.coefficients + H @ solution.free - b
        assert solution.residual == pytest.approx(np.linalg.norm(r) / np.linalg.norm(b), rel=1e-6, abs=1e-15)


def test_free_functions_of_any_scale():
    """Columns of very different size are not linearly dependent; equal columns are."""
    H = np.stack([np.ones(40), 1e-9 * X[:, 0], 1e9 * X[:, 1]], axis=1)
    expected, free = saddle(Laplace()(X), 0.1, B[:, 0], np.stack([np.ones(40), X[:, 0], X[:, 1]], axis=1))
    solution = Cholesky().solve(System(built(Dense(), Laplace()), B[:, 0], 0.1, H))
    close(solution.coefficients, expected)
    close(solution.free * np.array([1.0, 1e-9, 1e9]), free, 1e-6)
    for bad in (np.ones((40, 2)), np.stack([X[:, 0], 0 * X[:, 0]], axis=1), np.ones((40, 41))):
        with pytest.raises(ValueError, match="linearly dependent"):
            Cholesky().solve(System(built(Dense(), Laplace()), B[:, 0], 0.1, bad))


# ---- jitter, singular and indefinite matrices: never silent


def test_jitter_is_reported(xp):
    gram = built(Dense(), Gaussian(), xp, points=np.repeat(X[:5], 2, axis=0))
    with pytest.warns(JitterWarning, match="added to its diagonal"):
        solution = Cholesky().solve(System(gram, xp.asarray(np.repeat(B[:5, 0], 2)), 0.0))
    assert 0 < solution.jitter < 1e-9
    close(gram @ solution.coefficients, np.repeat(B[:5, 0], 2), 1e-5)


def test_jitter_is_no_larger_than_needed():
    gram = built(Dense(), Gaussian(), points=np.repeat(X[:5], 2, axis=0))
    with pytest.warns(JitterWarning):
        jitter = Cholesky().solve(System(gram, np.ones(10), 0.0)).jitter
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(gram.dense() + jitter / 10 * np.eye(10))


def test_jitter_of_the_low_rank_core_is_reported():
    Z = np.hstack([X, X[:, :1]]) * 1e9  # ZᵀZ + shift is singular in float64
    gram = LowRank().build(Linear(), Z, np.random.default_rng(0))
    with pytest.warns(JitterWarning):
        assert Woodbury().solve(System(gram, B[:, 0], 1.0)).jitter > 0


def test_indefinite_is_an_error_for_cholesky(xp):
    gram = built(Dense(), Sigmoid(scale=1.0, offset=-2.0), xp)
    b = xp.asarray(B[:, 0])
    with pytest.raises(ValueError, match="not positive definite"):
        Cholesky().solve(System(gram, b, 0.1))
    expected, _ = saddle(host(gram.dense()), 0.1, B[:, 0])
    close(Symmetric().solve(System(gram, b, 0.1)).coefficients, expected)
    assert Symmetric().solve(System(gram, b, 0.1)).residual < 1e-10


def test_singular_is_an_error_for_symmetric(xp):
    gram = built(Dense(), Linear(), xp, points=np.zeros((3, 1)))
    with pytest.raises(ValueError, match="singular"):
        Symmetric().solve(System(gram, xp.asarray(np.ones(3)), 0.0))


def test_nearly_singular_warns_for_symmetric():
    points = np.array([[0.0], [1e-9], [1.0]])
    with pytest.warns(RoundingWarning, match="singular up to rounding"):
        Symmetric().solve(System(built(Dense(), Gaussian(), points=points), np.ones(3), 0.0))


def test_pseudo_inverse_of_singular_systems(xp):
    gram = built(Dense(), Linear(), xp)
    b = X @ np.array([1.0, -2.0])
    solution = PseudoInverse().solve(System(gram, xp.asarray(b)))
    close(solution.coefficients, np.linalg.pinv(X @ X.T) @ b)
    assert solution.residual < 1e-10
    outside = PseudoInverse().solve(System(gram, xp.asarray(B[:, 0])))
    close(outside.coefficients, np.linalg.pinv(X @ X.T, rcond=1e-10) @ B[:, 0])


# ---- choice and refusals


def test_choice():
    dense, lazy, factor = (built(r, Affine()) for r in (Dense(), Lazy(), LowRank()))
    assert isinstance(linear_solver("auto", System(dense, B[:, 0])), Cholesky)
    assert isinstance(linear_solver("auto", System(lazy, B[:, 0])), ConjugateGradient)
    assert isinstance(linear_solver("auto", System(factor, B[:, 0])), Woodbury)
    assert isinstance(linear_solver("auto", System(dense, B[:, 0], definite=False)), Symmetric)
    assert isinstance(linear_solver("cg", System(dense, B[:, 0])), ConjugateGradient)
    mine = ConjugateGradient(tol=1e-3)
    assert linear_solver(mine, System(dense, B[:, 0])) is mine
    with pytest.raises(ValueError, match=r"solver = 'lu' is unknown; .*'cholesky'"):
        linear_solver("lu", System(dense, B[:, 0]))


def test_refusals():
    with pytest.raises(
        TypeError, match=r"Woodbury needs a Gram operator that provides factor; DenseGram provides dense"
    ):
        Woodbury().solve(System(built(Dense(), Gaussian()), B[:, 0], 1.0))
    with pytest.raises(ValueError, match="use alpha > 0"):
        Woodbury().solve(System(built(LowRank(), Linear()), B[:, 0], 0.0))
    for bad in (ConjugateGradient(tol=0.0), ConjugateGradient(max_iter=0), ConjugateGradient(rank=-1)):
        with pytest.raises(ValueError, match="ConjugateGradient"):
            bad.solve(System(built(Dense(), Gaussian()), B[:, 0], 1.0))


@pytest.mark.parametrize("exponent", [-900, 300, 900])
def test_free_functions_of_any_unit(exponent):
    """Those whose squares are no floats span the same."""
    H, unit = np.stack([np.ones(8), np.arange(8.0) ** 2], axis=1), np.array([1.0, 2.0**exponent])
    Q, R = free_factor(H)
    P, S = free_factor(H * unit)
    np.testing.assert_allclose(P, Q, atol=1e-15)
    np.testing.assert_allclose(S / unit, R, rtol=1e-14)
    with pytest.raises(ValueError, match="linearly dependent"):
        free_factor(np.ones((8, 2)) * unit)
