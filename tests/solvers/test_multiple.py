"""Weights of kernels: explicit centring matrices, generic optimisers, closed forms of ridge regression."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer.context import Context, Status
from mercer.gram import Dense, Lazy, LowRank
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.solvers.multiple import (
    _alignment,
    align,
    alignf,
    alternating,
    blockwise,
    consensus,
    inner_products,
    normalised,
    on_simplex,
    quadratic_forms,
    target_columns,
    variance,
)
from mercer.solvers.multiple._descent import relative_gap

KERNELS = [Gaussian(0.7), Gaussian(3.0), Linear(), Polynomial(2)]


def sample(n=25, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=n), rng


def centred(K, w):
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), w)
    return np.diag(np.sqrt(w)) @ H @ K @ H.T @ np.diag(np.sqrt(w))


# ---- inner products


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("few_rows", [False, True])
def test_inner_products_are_those_of_explicitly_centred_matrices(weighted, few_rows, monkeypatch) -> None:
    if few_rows:
        monkeypatch.setattr(_alignment, "BLOCK", 300)
    X, y, rng = sample()
    weight = rng.uniform(size=len(X)) if weighted else None
    w = np.full(len(X), 1 / len(X)) if weight is None else weight / weight.sum()
    grams = [Dense().build(KERNELS[0], X), Lazy().build(KERNELS[1], X), LowRank().build(KERNELS[2], X)]
    matrices = [k(X) for k in KERNELS[:3]] + [np.outer(y, y)]
    direct = np.array([[np.sum(centred(K, w) * centred(L, w)) for L in matrices] for K in matrices])
    assert np.allclose(inner_products([*grams, y[:, None]], weight), direct, rtol=1e-10)


def test_factors_give_the_same_without_the_matrix() -> None:
    X, y, _ = sample()
    dense = inner_products([Dense().build(k, X) for k in KERNELS[2:]] + [y[:, None]])
    assert np.allclose(inner_products([LowRank().build(k, X) for k in KERNELS[2:]] + [y[:, None]]), dense, rtol=1e-10)
    raw = inner_products([LowRank().build(k, X) for k in KERNELS[2:]], centered=False)
    assert np.allclose(raw, inner_products([Dense().build(k, X) for k in KERNELS[2:]], centered=False), rtol=1e-10)


def test_variance_is_the_mean_squared_distance_from_the_mean() -> None:
    X, _, rng = sample()
    w = rng.uniform(size=len(X))
    mean = w @ X / w.sum()
    direct = w @ np.sum((X - mean) ** 2, axis=1) / w.sum()
    assert variance(Dense().build(Linear(), X), w) == pytest.approx(direct, rel=1e-12)
    assert variance(Dense().build(Linear(), np.full((5, 2), 0.3))) == 0.0


def test_quadratic_forms_sum_over_columns() -> None:
    X, _, rng = sample()
    A = rng.normal(size=(len(X), 2))
    direct = [np.trace(A.T @ k(X) @ A) for k in KERNELS]
    assert np.allclose(quadratic_forms([Dense().build(k, X) for k in KERNELS], A), direct)


def test_target_columns() -> None:
    assert np.array_equal(target_columns(["b", "a", "b"], True), [[0, 1], [1, 0], [0, 1]])
    assert np.array_equal(target_columns([[0, 5], [1, 7]], True), [[1, 0, 1, 0], [0, 1, 0, 1]])
    assert np.array_equal(target_columns([1, 3], False), [[1.0], [3.0]])


# ---- closed forms


def moments(seed):
    X, y, _ = sample(seed=seed)
    M = inner_products([Dense().build(k, X) for k in KERNELS] + [y[:, None]])
    return M[:-1, :-1], M[:-1, -1]


@pytest.mark.parametrize("seed", range(6))
def test_alignf_maximises_the_alignment_of_the_combination(seed) -> None:
    M, a = moments(seed)
    d = np.sqrt(np.diagonal(M))  # the generic optimiser works on kernels of norm one, ours on the raw ones

    def minus_alignment(v):
        return -(v @ (a / d)) / np.sqrt(v @ (M / np.outer(d, d)) @ v)

    starts = np.random.default_rng(0).uniform(0.1, 1, size=(5, len(a)))
    runs = [minimize(minus_alignment, v, bounds=[(0, None)] * len(a), method="L-BFGS-B", tol=1e-14) for v in starts]
    best = min(runs, key=lambda r: r.fun)
    mu = alignf(M, a)
    assert mu.sum() == pytest.approx(1) and (mu >= 0).all()
    assert minus_alignment(mu * d) <= best.fun + 1e-10
    assert np.allclose(mu * d / np.linalg.norm(mu * d), best.x / np.linalg.norm(best.x), atol=2e-4)


def test_alignf_of_the_same_kernel_twice_and_of_nothing() -> None:
    M, a = moments(0)
    twice = np.ix_([0, 1, 1], [0, 1, 1])
    mu, one = alignf(M[twice], a[[0, 1, 1]]), alignf(M[:2, :2], a[:2])
    assert np.allclose([mu[0], mu[1] + mu[2]], one)
    padded = np.zeros((3, 3))
    padded[:2, :2] = M[:2, :2]
    assert np.allclose(alignf(padded, np.append(a[:2], 0.0)), np.append(one, 0.0))
    assert np.array_equal(alignf(np.zeros((2, 2)), np.zeros(2)), [0.5, 0.5])


def test_align_is_proportional() -> None:
    assert np.allclose(align(np.diag([4.0, 1.0]), np.array([0.2, 0.3])), [0.25, 0.75])
    assert np.allclose(align(np.zeros((4, 4)), np.zeros(4)), 0.25)


def test_consensus_has_the_largest_sum_of_squared_alignments() -> None:
    """STATIS: the compromise Σ uᵢKᵢ/‖Kᵢ‖, ‖u‖ = 1, with the largest Σⱼ ⟨compromise, Kⱼ/‖Kⱼ‖⟩²."""
    M, _ = moments(1)
    R, norms = normalised(M), np.sqrt(np.diagonal(M))
    u = consensus(M) * norms
    value = np.sum((R @ u / np.linalg.norm(u)) ** 2)
    others = np.random.default_rng(0).normal(size=(2000, len(M)))
    others /= np.linalg.norm(others, axis=1, keepdims=True)
    assert (u > 0).all()
    assert value >= np.sum((others @ R) ** 2, axis=1).max()


# ---- weights by the objective, of ridge regression, where it is known: ½α yᵀ(K + αI)⁻¹y


class Ridge:
    def __init__(self, kernels=KERNELS, alpha=0.5, n=25):
        X, self.y, _ = sample(n)
        self.K = [k(X) for k in kernels]
        self.K = [K / np.trace(K) * n for K in self.K]
        self.alpha, self.calls = alpha, 0

    def solve(self, mu):
        K = sum(m * K for m, K in zip(mu, self.K, strict=True))
        return np.linalg.solve(K + self.alpha * np.eye(len(K)), self.y)

    def value(self, mu):
        return self.alpha / 2 * self.y @ self.solve(mu)

    def forms(self, mu):
        self.calls += 1
        a = self.solve(mu)
        return np.array([a @ K @ a for K in self.K])

    def best(self, p):
        m = len(self.K)
        runs = minimize(
            self.value,
            np.full(m, m ** (-1 / p)),
            jac=lambda mu: -self.alpha / 2 * self.forms(mu),
            bounds=[(1e-12, None)] * m,
            constraints={"type": "ineq", "fun": lambda mu: 1 - np.sum(mu**p)},
            options={"ftol": 1e-15, "maxiter": 500},
        )
        return runs.x, runs.fun


def never():
    return None


def test_the_derivative_is_the_quadratic_form() -> None:
    ridge, mu, h = Ridge(), np.array([0.4, 0.3, 0.2, 0.1]), 1e-6
    steps = h * np.eye(4)
    numeric = [(ridge.value(mu + s) - ridge.value(mu - s)) / (2 * h) for s in steps]
    assert np.allclose(numeric, -ridge.alpha / 2 * ridge.forms(mu), rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.02, 0.5, 20.0])
def test_on_simplex_finds_the_minimum(alpha) -> None:
    ridge = Ridge(alpha=alpha)
    found = on_simplex(ridge.forms, 4, 1e-9, 300)
    best, value = ridge.best(1)
    assert found.converged and found.gap <= 1e-9 and found.weights.sum() == pytest.approx(1)
    assert ridge.value(found.weights) <= value * (1 + 1e-9)
    assert np.allclose(found.weights, best, atol=1e-3)
    q = ridge.forms(found.weights)
    active = found.weights > 0
    assert np.ptp(q[active]) <= 1e-6 * q.max()
    assert (q[~active] <= q[active].max() * (1 + 1e-9)).all()


def test_steps_are_few_and_never_raise_the_objective() -> None:
    kernels = [Gaussian(s) for s in np.geomspace(0.2, 10, 12)]
    ridge = Ridge(kernels, alpha=0.05, n=60)
    values, inner = [], ridge.forms

    def forms(mu):
        values.append(ridge.value(mu))
        return inner(mu)

    found = on_simplex(forms, 12, 1e-4, 200)
    assert found.converged and len(values) < 60
    assert ridge.value(found.weights) <= min(values) * (1 + 1e-6)


@pytest.mark.parametrize("p", [1.0, 1.2, 2.0, 5.0])
def test_blockwise_finds_the_minimum(p) -> None:
    ridge = Ridge()
    found = blockwise(ridge.forms, 4, p, 1e-7, 20000)
    best, value = ridge.best(p)
    assert found.converged and np.linalg.norm(found.weights, p) == pytest.approx(1)
    assert ridge.value(found.weights) == pytest.approx(value, rel=1e-6)
    assert np.allclose(found.weights, best, atol=2e-3)


def test_blockwise_at_infinity_weighs_all_alike() -> None:
    found = blockwise(Ridge().forms, 4, np.inf, 1e-9, 5)
    assert found.converged and np.array_equal(found.weights, np.ones(4))


@pytest.mark.parametrize("p", [1.0, 1.5, 3.0])
def test_the_gap_bounds_the_distance_from_the_minimum(p) -> None:
    ridge, rng = Ridge(), np.random.default_rng(0)
    _, least = ridge.best(p)
    for _ in range(20):
        mu = rng.uniform(size=4)
        mu /= np.linalg.norm(mu, p)
        q = ridge.forms(mu)
        assert ridge.value(mu) - least <= ridge.alpha / 2 * (mu @ q) * relative_gap(mu, q, p) + 1e-9


def test_gap_without_overflow_and_of_nothing() -> None:
    assert np.isfinite(relative_gap(np.array([0.5, 0.5]), np.array([1e200, 1e200]), 1.001))
    assert relative_gap(np.ones(2), np.zeros(2), 1) == 0
    assert relative_gap(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 1) == np.inf


@pytest.mark.parametrize("method", ["simplex", "blockwise"])
def test_why_it_stopped(method) -> None:
    def run(max_iter):
        forms = Ridge().forms
        if method == "simplex":
            return on_simplex(forms, 4, 1e-12, max_iter)
        return blockwise(forms, 4, 1.5, 1e-12, max_iter)

    early = run(1)
    assert early.status is Status.MAX_ITER and early.n_iter == 1
    assert len(early.history) == 2
    with Context().active() as context:
        context.interrupt()
        assert run(50).status is Status.INTERRUPTED


def test_a_noisy_oracle_ends_the_descent() -> None:
    """Quadratic forms that contradict each other, as of an estimator with a coarse tolerance."""
    forms = iter([np.array([1.0, 2.0]), *[np.array([3.0, 1.0])] * 200])
    found = on_simplex(lambda mu: next(forms), 2, 1e-6, 10)
    assert not found.converged


def test_alternating_finds_the_best_of_all_partitions_and_weights() -> None:
    """Six points and two clusters: all partitions, each with its best weights, by enumeration."""
    rng = np.random.default_rng(1)
    H = np.eye(6) - 1 / 6
    views = [np.r_[rng.normal(-2, 1, 3), rng.normal(2, 1, 3)], np.r_[rng.normal(-1, 1, 3), rng.normal(2, 1, 3)]]
    K = [H @ np.outer(v, v) @ H / np.var(v) for v in views] + [H @ np.diag(rng.uniform(size=6)) @ H]
    M = np.array([[np.sum(A * B) for B in K] for A in K])
    subsets = [np.array([1, *map(int, f"{code:05b}")]) for code in range(31)]

    def scatter(labels):
        Z = np.column_stack([labels, 1 - labels]).astype(float)
        Z /= np.sqrt(Z.sum(axis=0))
        return np.array([np.trace(Z.T @ A @ Z) for A in K])

    def value(mu, a):
        return mu @ a / np.sqrt(mu @ M @ mu)

    forms = [scatter(labels) for labels in subsets]

    def partition(mu):
        return max(forms, key=lambda a: mu @ a)

    found = alternating(partition, M, 1e-10, 50)
    assert found.converged and (np.diff(found.history) > 0).all()
    assert found.history[-1] == pytest.approx(max(value(alignf(M, a), a) for a in forms))
    assert value(found.weights, partition(found.weights)) == pytest.approx(found.history[-1])


def test_alternating_keeps_what_was_better() -> None:
    """A method that finds a worse partition the second time."""
    forms = iter([np.array([2.0, 1.0]), np.array([0.1, 0.1])])
    found = alternating(lambda mu: next(forms), np.eye(2), 1e-3, 10)
    assert found.converged and np.array_equal(found.weights, [0.5, 0.5]) and len(found.history) == 1
