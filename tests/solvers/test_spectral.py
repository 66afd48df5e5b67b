"""One eigendecomposition for all strengths: leave-one-out and folds against refits, likelihood against SciPy's."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold

from mercer import KernelRidge
from mercer._errors import IndefiniteError
from mercer.basis import Polynomials
from mercer.gram import Dense, Lazy, Nystrom
from mercer.kernels import (
    Constant,
    Gaussian,
    Linear,
    Log,
    Matern,
    Periodic,
    Polynomial,
    Power,
    RationalQuadratic,
    ThinPlate,
)
from mercer.solvers import spectral
from mercer.solvers.spectral import (
    Complement,
    Design,
    Part,
    Posterior,
    Spectral,
    log_marginal_likelihood,
    maximise_likelihood,
)

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
def test_degrees_of_freedom_and_gcv_by_their_definition(free, weight, gram):
    g, H, w = parts(free, weight, gram)
    K, path, everything = g.dense(), Spectral(g, H, w), np.arange(n)
    positive = np.ones(n) if w is None else (w > 0).astype(float)
    ww = np.ones(n) if w is None else w
    for j, alpha in enumerate(ALPHAS):
        hat = refit(K, H, w, everything, everything, alpha, np.eye(n))
        trace = np.sum(np.diagonal(hat) * positive)
        assert path.degrees_of_freedom(ALPHAS)[j] == pytest.approx(trace, rel=1e-9)
        m = positive.sum()
        expected = np.sum(ww[:, None] * (B - hat @ B) ** 2, axis=0) / m / (1 - trace / m) ** 2
        np.testing.assert_allclose(path.gcv(B, ALPHAS)[:, j], expected, rtol=1e-8)


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
    with pytest.raises(ValueError, match=r"3 functions pass through 3 samples exactly"):
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


def test_a_matrix_of_low_numerical_rank_is_decomposed_through_its_factor():
    m = 400
    Z = np.sort(rng.uniform(0, 3, size=(m, 1)), axis=0)
    b = np.sin(3 * Z) + 0.1 * rng.normal(size=(m, 1))
    gram, H = Dense().build(Gaussian(0.5), Z), np.ones((m, 1))
    thin, alphas = Spectral(gram, H), np.array([1e-6, 1e-2])
    assert len(thin.values) < 60
    values, vectors = np.linalg.eigh(Design(gram, H).matrix())
    whole = Spectral.__new__(Spectral)
    whole.design, whole.values, whole.full, whole.rest = thin.design, np.maximum(values, 0), True, 0
    whole.vectors, whole._size = thin.design.embed(vectors), 1.0
    np.testing.assert_allclose(thin.leave_one_out(b, alphas), whole.leave_one_out(b, alphas), atol=1e-8)
    np.testing.assert_allclose(
        thin.log_marginal_likelihood(b, alphas), whole.log_marginal_likelihood(b, alphas), rtol=1e-7
    )
    assert spectral._thin_factor(Gaussian(0.01)(Z), 1.0) is None
    off = np.kron(np.eye(200), [[0.0, 1.0], [1.0, 0.0]])
    off[0, 0] = 1.0
    assert spectral._thin_factor(off, 1.0) is None  # its rest has no diagonal, but is not zero


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


KERNELS = [
    Gaussian(0.9),
    Gaussian(np.array([0.7, 1.4])),
    Gaussian(np.array([[1.0, 0.3], [-0.2, 0.8]])),
    2.0 * Matern(nu=2.5, lengthscale=np.array([0.7, 1.4])) + 0.5 * Linear(),
    RationalQuadratic(lengthscale=1.1, alpha=0.7) * Constant(1.5),
    Polynomial(2, scale=0.5, offset=1.0),
    Gaussian(0.8).on([0]) + Periodic().on([1]),
]


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("free", ["none", "linear"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_gradients_of_the_likelihood_by_differences(kernel, free, weight):
    _, H, w = parts(free, weight)
    value, gradient = log_marginal_likelihood(kernel, X, B, 0.3, H, w)
    path = Spectral(Dense().build(kernel, X), H, w)
    assert value == pytest.approx(float(path.log_marginal_likelihood(B, np.array([0.3])).sum()), rel=1e-9)

    def at(name, step):
        if name == "alpha":
            return log_marginal_likelihood(kernel, X, B, 0.3 + step, H, w)[0]
        moved = clone(kernel).set_params(**{name: kernel.get_params()[name] + step})
        return log_marginal_likelihood(moved, X, B, 0.3, H, w)[0]

    assert len(gradient) > 1
    for name, slope in gradient.items():
        shape = np.shape(slope)
        for place in np.ndindex(*shape):
            step = np.zeros(shape)
            step[place] = 1e-5
            difference = (at(name, step if shape else 1e-5) - at(name, -step if shape else -1e-5)) / 2e-5
            assert np.asarray(slope)[place] == pytest.approx(difference, rel=2e-5, abs=1e-5), name


def test_the_maximum_of_the_likelihood_has_no_slope_and_equals_that_of_scikit_learn():
    b = B[:, :1]
    kernel, alpha, value, converged = maximise_likelihood(1.0 * Gaussian(np.ones(2)), X, b, 0.1)
    assert converged
    _, gradient = log_marginal_likelihood(kernel, X, b, alpha)
    slopes = [gradient["alpha"] * alpha, gradient["scale"] * kernel.scale]
    slopes += list(gradient["kernel__lengthscale"] * kernel.kernel.lengthscale)
    assert np.abs(slopes).max() < 1e-2
    theirs = GaussianProcessRegressor(ConstantKernel() * RBF(np.ones(2)) + WhiteKernel(0.1)).fit(X, b[:, 0])
    assert value == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-5)
    np.testing.assert_allclose(kernel.kernel.lengthscale, theirs.kernel_.k1.k2.length_scale, rtol=1e-2)
    assert alpha == pytest.approx(theirs.kernel_.k2.noise_level, rel=1e-2)


def test_the_search_stays_where_the_kernel_is_definite():
    x = rng.uniform(0, 5, size=(60, 1))
    b = x**2 + 0.1 * rng.normal(size=(60, 1))
    H = np.ones((60, 1))
    for start in (Power(1.0), Log(1.0)):  # both are definite for degrees up to 2 only
        before = log_marginal_likelihood(start, x, b, 0.1, H)[0]
        kernel, alpha, value, _ = maximise_likelihood(start, x, b, 0.1, H)
        assert kernel.definiteness == start.definiteness and value > before + 10
        assert value == pytest.approx(log_marginal_likelihood(kernel, x, b, alpha, H)[0])


def test_the_posterior_variance_is_that_of_conditioning():
    g, H, w = parts("linear", "weighted")
    new = rng.normal(size=(6, 2))
    wide = 1e6
    h = Polynomials(1)(new)
    S = g.dense() + 0.2 * np.diag(1 / w) + wide * H @ H.T
    k = KERNEL(new, X) + wide * h @ H.T
    expected = np.diagonal(KERNEL(new) + wide * h @ h.T - k @ np.linalg.solve(S, k.T))
    variance = Posterior(Design(g, H, w), 0.2).variance(KERNEL(new, X), KERNEL.diag(new), h)
    np.testing.assert_allclose(variance, expected, rtol=1e-4)


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
    value, gradient = log_marginal_likelihood(KERNEL, A, b, 0.3, H, w)
    expected = log_marginal_likelihood(KERNEL, X, B, 0.3, Polynomials(1)(X), ZERO)
    assert value == pytest.approx(expected[0])
    assert gradient["lengthscale"] == pytest.approx(expected[1]["lengthscale"])
