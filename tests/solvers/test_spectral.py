"""One decomposition for all strengths: leave-one-out and folds against refits, criteria against their definitions."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.model_selection import KFold

from mercer import KernelRidge
from mercer._errors import IndefiniteError
from mercer.basis import Polynomials
from mercer.gram import Dense, Lazy, Nystrom
from mercer.kernels import Linear, Matern, Power, ThinPlate
from mercer.solvers.decomposition import Diagonal, Tridiagonal
from mercer.solvers.spectral import Part, Spectral

rng = np.random.default_rng(3)
n = 40
X = rng.normal(size=(n, 2))
B = np.stack([np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=n), X[:, 0] * X[:, 1]], axis=1)
WEIGHT = rng.uniform(0.2, 3, n)
ZERO = np.where(np.arange(n) % 7 == 0, 0.0, WEIGHT)
ALPHAS = np.array([1e-3, 0.1, 5.0])
KERNEL = Matern(nu=1.5, lengthscale=0.8)
FREE = {"none": None, "intercept": 0, "linear": 1}
WEIGHTS = {"equal": None, "weighted": WEIGHT, "some zero": ZERO}
GRAMS = {"dense": Dense(), "lazy": Lazy(), "factor": Nystrom(rank=12)}


def parts(free, weight, gram="dense", kernel=KERNEL):
    H = None if FREE[free] is None else Polynomials(FREE[free])(X)
    return GRAMS[gram].build(kernel, X, np.random.default_rng(0)), H, WEIGHTS[weight]


def refit(K, H, weight, train, test, alpha, b=B):
    """The saddle-point system on some samples, written out, and its values at others."""
    w = np.ones(n) if weight is None else weight
    train = train[w[train] > 0]
    H = np.zeros((n, 0)) if H is None else H
    p = H.shape[1]
    A = np.block([[K[np.ix_(train, train)] + alpha * np.diag(1 / w[train]), H[train]], [H[train].T, np.zeros((p, p))]])
    s = np.linalg.solve(A, np.concatenate([b[train], np.zeros((p, b.shape[1]))]))
    return K[np.ix_(test, train)] @ s[: len(train)] + H[test] @ s[len(train) :]


@pytest.mark.parametrize("gram", GRAMS)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("free", FREE)
def test_solutions_solve_the_system(free, weight, gram):
    g, H, w = parts(free, weight, gram)
    K, everything = g.dense(), np.arange(n)
    for alpha in (0.1, np.array([0.1, 3.0])):
        solution = Spectral(g, H, w).solve(B, alpha)
        values = K @ solution.coefficients + (0 if H is None else H @ solution.free)
        for j, strength in enumerate(np.broadcast_to(alpha, 2)):
            np.testing.assert_allclose(values[:, j], refit(K, H, w, everything, everything, strength)[:, j], atol=1e-10)
        assert solution.residual < 1e-12


@pytest.mark.parametrize("gram", GRAMS)
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("free", FREE)
def test_leave_one_out_equals_refits(free, weight, gram):
    g, H, w = parts(free, weight, gram)
    K = g.dense()
    values = Spectral(g, H, w).leave_one_out(B, ALPHAS)
    for j, alpha in enumerate(ALPHAS):
        for i in range(n):
            expected = refit(K, H, w, np.delete(np.arange(n), i), np.array([i]), alpha)[0]
            np.testing.assert_allclose(values[i, :, j], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("folds", [2, 8], ids=["decomposed again", "from the same factor"])
@pytest.mark.parametrize("gram", ["dense", "factor"])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("free", FREE)
def test_folds_equal_refits(free, weight, gram, folds, monkeypatch):
    g, H, w = parts(free, weight, gram)
    again = []
    original = Spectral._refitted
    monkeypatch.setattr(Spectral, "_refitted", lambda *a: again.append(1) or original(*a))
    splits = list(KFold(folds, shuffle=True, random_state=0).split(X))
    alphas = np.geomspace(1e-3, 5, 30)
    for (train, test), values in zip(splits, Spectral(g, H, w).held_out(B, alphas, splits), strict=True):
        for j in (0, 15, 29):
            expected = refit(g.dense(), H, w, train, test, alphas[j])
            np.testing.assert_allclose(values[:, :, j], expected, rtol=0, atol=1e-8)
    if weight != "some zero" and gram == "dense":
        assert bool(again) == (folds == 2)


def test_splits_that_do_not_cover_or_that_overlap():
    g, H, w = parts("intercept", "weighted")
    splits = [
        (np.arange(0, 20), np.arange(30, 35)),
        (np.arange(30), np.array([39, 2, 31])),
        (np.array([0, 0, 1, 2, 3, 5, 5, 9]), np.array([20])),
    ]
    results = list(Spectral(g, H, w).held_out(B, ALPHAS, splits))
    for (train, test), values in zip(splits[:2], results[:2], strict=True):
        np.testing.assert_allclose(values[:, :, 1], refit(g.dense(), H, w, train, test, 0.1), atol=1e-9)
    model = KernelRidge(0.1, kernel=KERNEL, fit_intercept=True).fit(X[splits[2][0]], B[splits[2][0]], w[splits[2][0]])
    np.testing.assert_allclose(results[2][:, :, 1], model.predict(X[[20]]), atol=1e-9)


@pytest.mark.parametrize("gram", ["dense", "factor"])
@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("free", FREE)
def test_criteria_by_their_definition(free, weight, gram):
    g, H, w = parts(free, weight, gram)
    K, path, everything = g.dense(), Spectral(g, H, w), np.arange(n)
    ww = np.ones(n) if w is None else w
    m = np.sum(ww > 0)
    for j, alpha in enumerate(ALPHAS):
        hat = refit(K, H, w, everything, everything, alpha, np.eye(n))
        leverage = np.where(ww > 0, np.diagonal(hat), 0.0)
        np.testing.assert_allclose(path.leverage(ALPHAS)[:, j], leverage, atol=1e-9)
        assert path.degrees_of_freedom(ALPHAS)[j] == pytest.approx(leverage.sum(), rel=1e-9)
        residual = B - hat @ B
        rss = np.sum(ww[:, None] * residual**2, axis=0)
        np.testing.assert_allclose(path.rss(B, ALPHAS)[:, j], rss, rtol=1e-8)
        np.testing.assert_allclose(path.gcv(B, ALPHAS)[:, j], rss / m / (1 - leverage.sum() / m) ** 2, rtol=1e-8)
        left_out = residual / (1 - leverage)[:, None]
        np.testing.assert_allclose(path.loo(B, ALPHAS)[:, j], np.sum(ww[:, None] * left_out**2, axis=0) / m, rtol=1e-8)


@pytest.mark.parametrize("gram", ["dense", "factor"])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_restricted_likelihood_at_the_best_noise_by_its_definition(weight, gram):
    g, H, w = parts("linear", weight, gram)
    use = np.arange(n) if w is None else np.flatnonzero(w > 0)
    K, h, noise = g.dense()[np.ix_(use, use)], H[use], np.eye(len(use)) if w is None else np.diag(1 / w[use])

    def dense(alpha):
        S = K / alpha + noise
        inverse = np.linalg.inv(S)
        inner = h.T @ inverse @ h
        P = inverse - inverse @ h @ np.linalg.solve(inner, h.T @ inverse)
        fit = np.diagonal(B[use].T @ P @ B[use])
        free = len(use) - 3
        return free * np.log(fit / free) + np.linalg.slogdet(S)[1] + np.linalg.slogdet(inner)[1]

    ours = Spectral(g, H, w).reml(B, ALPHAS)
    np.testing.assert_allclose(ours[:, 0] - ours[:, 2], dense(ALPHAS[0]) - dense(ALPHAS[2]), atol=1e-7)


@pytest.mark.parametrize("gram", ["dense", "factor"])
@pytest.mark.parametrize("weight", ["equal", "weighted"])
def test_likelihood_against_the_normal_density(weight, gram):
    g, _, w = parts("none", weight, gram)
    for j, alpha in enumerate(ALPHAS):
        noise = alpha * np.eye(n) if w is None else alpha * np.diag(1 / w)
        expected = [multivariate_normal(np.zeros(n), g.dense() + noise).logpdf(b) for b in B.T]
        np.testing.assert_allclose(Spectral(g, None, w).log_marginal_likelihood(B, ALPHAS)[:, j], expected, rtol=1e-9)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_restricted_likelihood_is_the_limit_of_a_wide_prior(weight):
    g, H, w = parts("linear", weight)
    use = np.arange(n) if w is None else np.flatnonzero(w > 0)
    noise = np.eye(n) if w is None else np.diag(1 / np.where(w > 0, w, 1))
    wide = 1e7
    S = (g.dense() + 0.1 * noise + wide * H @ H.T)[np.ix_(use, use)]
    constant = np.linalg.slogdet(S)[1] + len(use) * np.log(2 * np.pi) - 3 * np.log(2 * np.pi * wide)
    expected = [-(b[use] @ np.linalg.solve(S, b[use]) + constant) / 2 for b in B.T]
    value = Spectral(g, H, w).log_marginal_likelihood(B, np.array([0.1]))[:, 0]
    np.testing.assert_allclose(value, expected, atol=1e-4)


@pytest.mark.parametrize("gram", ["dense", "factor"])
def test_covariance_of_the_free_part_by_its_definition(gram):
    g, H, w = parts("linear", "weighted", gram)
    S = g.dense() + 0.3 * np.diag(1 / w)
    np.testing.assert_allclose(
        Spectral(g, H, w).free_covariance(0.3), np.linalg.inv(H.T @ np.linalg.solve(S, H)), rtol=1e-9
    )


@pytest.mark.parametrize(("kernel", "free"), [(Power(1.0), "intercept"), (ThinPlate(), "linear")], ids=str)
def test_conditionally_definite_kernels(kernel, free):
    g, H, w = parts(free, "weighted", kernel=kernel)
    values = Spectral(g, H, w).leave_one_out(B, ALPHAS)
    for i in (0, 7):
        expected = refit(g.dense(), H, w, np.delete(np.arange(n), i), np.array([i]), ALPHAS[1])[0]
        np.testing.assert_allclose(values[i, :, 1], expected, atol=1e-8)


def test_zero_strength_is_interpolation():
    g, H, w = parts("intercept", "equal")
    values = Spectral(g, H, w).leave_one_out(B, np.array([0.0]))
    for i in (3, 20):
        expected = refit(g.dense(), H, w, np.delete(np.arange(n), i), np.array([i]), 0.0)[0]
        np.testing.assert_allclose(values[i, :, 0], expected, atol=1e-8)


def test_a_leverage_of_one_is_refused():
    def last(points):
        return (points[:, 0] == X[-1, 0]) * 1.0

    H = np.stack([np.ones(n), last(X)], axis=1)
    with pytest.raises(ValueError, match=r"sample 39 alone determines one of the free functions .*hᵢᵢ is 1"):
        Spectral(Dense().build(KERNEL, X), H).leave_one_out(B, ALPHAS)
    with pytest.raises(ValueError, match="do not determine the free functions"):
        list(Spectral(Dense().build(KERNEL, X), H).held_out(B, ALPHAS, [(np.arange(39), np.array([39]))]))
    with pytest.raises(ValueError, match=r"alpha = 0: the matrix is singular"):
        Spectral(Dense().build(Linear(), X)).leave_one_out(B, np.array([0.0]))


def test_more_free_functions_than_samples_are_refused():
    with pytest.raises(ValueError, match=r"3 functions fit 3 samples exactly"):
        Spectral(Dense().build(KERNEL, X[:3]), Polynomials(1)(X[:3]))


def test_rounding_of_a_matrix_that_is_nearly_constant_is_no_indefiniteness():
    K = 1e8 * np.ones((n, n)) + X @ X.T
    H = np.ones((n, 1))
    values = Spectral(Dense().build("precomputed", K), H).leave_one_out(B, ALPHAS)
    expected = Spectral(Dense().build(Linear(), X), H).leave_one_out(B, ALPHAS)
    np.testing.assert_allclose(values[:, :, 1:], expected[:, :, 1:], atol=1e-4)


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(IndefiniteError, match="not positive definite on these data"):
        Spectral(Dense().build(-1.0 * Linear(), X)).gcv(B, ALPHAS)


def test_a_matrix_that_is_definite_with_alpha_only_is_taken_as_it_is():
    K = KERNEL(X) - 0.1 * np.eye(n)
    assert np.linalg.eigvalsh(K)[0] < -0.05
    values = Spectral(Dense().build("precomputed", K)).leave_one_out(B, np.array([0.5]))
    np.testing.assert_allclose(values, Spectral(Dense().build(KERNEL, X)).leave_one_out(B, np.array([0.4])), atol=1e-8)


def test_a_part_is_the_gram_of_some_samples():
    index = np.array([5, 2, 30])
    for representation in GRAMS.values():
        gram = representation.build(KERNEL, X, np.random.default_rng(0))
        part, K = Part(gram, index), gram.dense()[np.ix_(index, index)]
        np.testing.assert_allclose(part.dense(), K)
        np.testing.assert_allclose(part @ np.eye(3), K)
        np.testing.assert_allclose(part.diagonal(), np.diagonal(K))
        assert part.shape == (3, 3)
        if "factor" in part.provides:
            np.testing.assert_allclose(part.factor() @ part.factor().T, K)


def test_every_array_library(xp):
    A, b, w = xp.asarray(X), xp.asarray(B), xp.asarray(ZERO)
    gram, H = Dense().build(KERNEL, A), xp.asarray(Polynomials(1)(X))
    path, alphas = Spectral(gram, H, w), xp.asarray(ALPHAS)
    reference = Spectral(Dense().build(KERNEL, X), Polynomials(1)(X), ZERO)
    for name in ("leave_one_out", "gcv", "log_marginal_likelihood"):
        ours = getattr(path, name)(b, alphas)
        assert isinstance(ours, type(A))
        np.testing.assert_allclose(np.asarray(ours), getattr(reference, name)(B, ALPHAS), rtol=1e-8)
    splits = list(KFold(4).split(X))
    for ours, theirs in zip(path.held_out(b, alphas, splits), reference.held_out(B, ALPHAS, splits), strict=True):
        np.testing.assert_allclose(np.asarray(ours), theirs, atol=1e-9)


@pytest.mark.parametrize("gram", ["dense", "factor"])
@pytest.mark.parametrize("free", ["none", "linear"])
def test_the_posterior_variance_is_that_of_conditioning(free, gram):
    g, H, w = parts(free, "weighted", gram)
    new, wide = np.random.default_rng(8).normal(size=(6, 2)), 1e6
    h = np.zeros((6, 0)) if H is None else Polynomials(1)(new)
    HH = np.zeros((n, 0)) if H is None else H
    cross = g.cross(new).dense()
    S = g.dense() + 0.2 * np.diag(1 / w) + wide * HH @ HH.T
    k = cross + wide * h @ HH.T
    expected = KERNEL.diag(new) + wide * np.sum(h * h, axis=1) - np.sum(k * np.linalg.solve(S, k.T).T, axis=1)
    variance = Spectral(g, H, w).variance(0.2, cross, KERNEL.diag(new), h)
    np.testing.assert_allclose(variance, expected, rtol=1e-4)


def test_eigenvectors_diagonalise_the_projected_matrix():
    g, H, w = parts("linear", "weighted")
    path = Spectral(g, H, w)
    D = np.sqrt(w)
    P = np.eye(n) - path.design.Q @ path.design.Q.T
    M = P @ (D[:, None] * g.dense() * D) @ P
    np.testing.assert_allclose(path.vectors.T @ path.vectors, np.eye(n - 3), atol=1e-12)
    np.testing.assert_allclose(path.vectors * path.values @ path.vectors.T, M, atol=1e-12)


def test_strengths_of_the_size_of_rounding_are_left_to_the_eigenvalues():
    twice = np.vstack([X, X])  # a matrix of rank n, one half of its order
    b = np.concatenate([B, B + 0.1])
    path = Spectral(Dense().build("precomputed", KERNEL(twice) + 1e-30 * np.eye(2 * n)), np.ones((2 * n, 1)))
    full = Spectral(Dense().build(KERNEL, X))
    assert isinstance(full._core, Tridiagonal) and isinstance(full._at(np.array([-full.values[0]]))[0], Diagonal)
    # of each pair the other half is the prediction, as alpha goes to zero
    np.testing.assert_allclose(path.leave_one_out(b, np.array([1e-9]))[:n, :, 0], B + 0.1, atol=1e-6)


@pytest.mark.parametrize("scale", [1.0, 1e6])
@pytest.mark.parametrize("rows", [3, 8, n])
def test_a_matrix_of_low_rank_is_ridge_regression_on_its_features(rows, scale):
    """Also where alpha is below the rounding of the largest eigenvalue, and with few samples."""
    Z, b, alpha = X[:rows, :1] * scale, B[:rows], 1e-4
    path = Spectral(Dense().build(Linear(), Z))
    slope = Z.T @ b / (Z.T @ Z + alpha)
    solution = path.solve(b, alpha)
    np.testing.assert_allclose(Z @ (Z.T @ solution.coefficients), Z @ slope, atol=1e-12)
    leverage = Z[:, 0] ** 2 / (np.sum(Z**2) + alpha)
    expected = b - (b - Z @ slope) / (1 - leverage)[:, None]
    np.testing.assert_allclose(path.leave_one_out(b, np.array([alpha]))[:, :, 0], expected, atol=1e-10)
    assert solution.residual < 1e-12


def test_coefficients_of_a_low_rank_matrix_have_no_part_that_only_rounds():
    g, H, w = parts("linear", "weighted", "factor")
    solution = Spectral(g, H, w).solve(B, 1e-12)
    values = g.factor() @ (g.factor().T @ solution.coefficients) + H @ solution.free
    D = np.sqrt(w)[:, None]
    least_squares = np.linalg.lstsq(D * np.hstack([g.factor(), H]), D * B, rcond=None)[0]
    np.testing.assert_allclose(values, np.hstack([g.factor(), H]) @ least_squares, atol=1e-7)


def test_a_large_offset_is_left_to_the_free_part():
    g, H, w = parts("intercept", "weighted")
    path, far = Spectral(g, H, w), B + 1e6
    np.testing.assert_allclose(path.gcv(far, ALPHAS), path.gcv(B, ALPHAS), rtol=1e-7)
    np.testing.assert_allclose(
        path.log_marginal_likelihood(far, ALPHAS), path.log_marginal_likelihood(B, ALPHAS), rtol=1e-7
    )
    np.testing.assert_allclose(path.leave_one_out(far, ALPHAS) - 1e6, path.leave_one_out(B, ALPHAS), atol=1e-6)
