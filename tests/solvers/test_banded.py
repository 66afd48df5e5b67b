from fractions import Fraction
from itertools import product
from math import comb, factorial

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from mercer.basis import Polynomials
from mercer.kernels.sobolev import Sobolev
from mercer.solvers.banded import _compiled, smooth


def rational_fit(x, y, w, alpha, m):
    """Values and residuals of the spline by the representer theorem, in rational numbers: no rounding at all."""
    n = len(x)
    t = [Fraction(v) - Fraction(x[0]) for v in x]

    def k(a, b):
        low, gap = min(a, b), abs(a - b)
        terms = (comb(m - 1, i) * gap ** (m - 1 - i) * low ** (i + m) / (i + m) for i in range(m))
        return sum(terms) / factorial(m - 1) ** 2

    rows = [[k(t[i], t[j]) for j in range(n)] + [t[i] ** p for p in range(m)] + [Fraction(y[i])] for i in range(n)]
    for i in range(n):
        rows[i][i] += Fraction(alpha) / Fraction(w[i])
    rows += [[t[j] ** p for j in range(n)] + [Fraction(0)] * (m + 1) for p in range(m)]
    size = n + m
    for i in range(size):
        pivot = next(r for r in range(i, size) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, size):
            if rows[r][i] != 0:
                factor = rows[r][i] / rows[i][i]
                rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i], strict=True)]
    a = [Fraction(0)] * size
    for i in range(size - 1, -1, -1):
        a[i] = (rows[i][size] - sum(rows[i][c] * a[c] for c in range(i + 1, size))) / rows[i][i]
    residual = [Fraction(alpha) / Fraction(w[i]) * a[i] for i in range(n)]
    return np.array([float(Fraction(y[i]) - residual[i]) for i in range(n)]), np.array([float(r) for r in residual])


def points(kind, rng):
    if kind == "even":
        return np.linspace(0, 1, 12)
    if kind == "clusters":
        return np.sort(np.r_[0, 1e-9, 3e-7, 0.5 + 1e-12 * np.arange(4), rng.uniform(0.6, 0.9, 3), 1 - 1e-10, 1])
    return np.sort(np.r_[1e-10 * np.arange(6), 1 - 1e-10 * np.arange(6)])


@pytest.mark.parametrize("alpha", [1e-10, 1e-4, 1e3])
@pytest.mark.parametrize(
    ("kind", "order"),  # two clusters do not determine a parabola
    [*product(["even", "clusters"], [1, 2, 3]), ("two clusters", 1), ("two clusters", 2)],
)
def test_exact_on_any_spacing(kind, order, alpha):
    rng = np.random.default_rng(0)
    x = points(kind, rng)
    y, w = np.sin(6 * x) + 0.3 * rng.normal(size=12), rng.uniform(0.5, 2, size=12)
    sweep = smooth(np.diff(x), w, y, alpha, order)
    np.testing.assert_allclose(sweep.states[:, 0], rational_fit(x, y, w, alpha, order)[0], rtol=0, atol=1e-11)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("alpha", [1e-60, 1e-25, 1e-9])
def test_residuals_keep_their_digits_close_to_interpolation(order, alpha):
    rng = np.random.default_rng(order)
    x = np.sort(rng.uniform(size=12))
    y, w = rng.normal(size=12), 10.0 ** rng.uniform(-3, 3, size=12)
    sweep = smooth(np.diff(x), w, y, alpha, order)
    values, residual = rational_fit(x, y, w, alpha, order)
    np.testing.assert_allclose(sweep.states[:, 0], values, atol=1e-11)
    np.testing.assert_allclose(sweep.left_out / (1 + w * sweep.variance), residual, rtol=1e-7)


@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e6])
def test_weights_of_very_different_size(alpha):
    rng = np.random.default_rng(5)
    x = np.sort(rng.uniform(size=12))
    y, w = rng.normal(size=12), 10.0 ** rng.uniform(-8, 8, size=12)
    for order in (1, 2, 3, 4):
        values, _ = rational_fit(x, y, w, alpha, order)
        sweep = smooth(np.diff(x), w, y, alpha, order)
        np.testing.assert_allclose(sweep.states[:, 0], values, rtol=0, atol=1e-12 * np.ptp(values))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_moments_against_dense_algebra(order):
    rng = np.random.default_rng(order)
    n, alpha = 30, 0.02
    x = np.sort(rng.uniform(size=n))
    x -= x[0]
    y, w = rng.normal(size=n), rng.uniform(0.5, 2, size=n)
    K, H = Sobolev(order)(x[:, None]), Polynomials(order - 1)(x[:, None])
    M = K / alpha + np.diag(1 / w)
    inverse = np.linalg.inv(M)
    core = H.T @ inverse @ H
    P = inverse - inverse @ H @ np.linalg.solve(core, H.T @ inverse)
    smoother = np.eye(n) - P / w[:, None]
    sweep = smooth(np.diff(x), w, y, alpha, order)
    np.testing.assert_allclose(sweep.states[:, 0], smoother @ y, atol=1e-9)
    share = 1 / (1 + w * sweep.variance)
    np.testing.assert_allclose(share, 1 - np.diagonal(smoother), atol=1e-9)
    np.testing.assert_allclose(share * sweep.left_out, y - smoother @ y, atol=1e-9)
    np.testing.assert_allclose(sweep.objective, y @ P @ y, rtol=1e-9)
    # |M| |HᵀM⁻¹H| up to what does not depend on alpha
    expected = np.linalg.slogdet(M)[1] + np.linalg.slogdet(core)[1]
    other = smooth(np.diff(x), w, y, 7.0, order).log_determinant
    M7 = K / 7.0 + np.diag(1 / w)
    at7 = np.linalg.slogdet(M7)[1] + np.linalg.slogdet(H.T @ np.linalg.solve(M7, H))[1]
    np.testing.assert_allclose(sweep.log_determinant - other, expected - at7, atol=1e-8)


def test_restricted_likelihood_is_that_of_contrasts():
    rng = np.random.default_rng(3)
    n = 12
    x = np.sort(rng.uniform(size=n))
    x -= x[0]
    y = rng.normal(size=n)
    K, H = Sobolev(2)(x[:, None]), Polynomials(1)(x[:, None])
    Z = np.linalg.svd(H)[0][:, 2:]

    def ours(alpha):
        sweep = smooth(np.diff(x), np.ones(n), y, alpha, 2)
        return -(sweep.objective + sweep.log_determinant) / 2

    def theirs(alpha):
        return multivariate_normal(cov=Z.T @ (K / alpha + np.eye(n)) @ Z).logpdf(Z.T @ y)

    np.testing.assert_allclose(ours(0.1) - ours(3.0), theirs(0.1) - theirs(3.0), atol=1e-9)


def test_weight_zero_is_no_observation():
    rng = np.random.default_rng(1)
    x, y = np.sort(rng.uniform(size=15)), rng.normal(size=15)
    kept = np.ones(15, dtype=bool)
    kept[[0, 6, 7, 14]] = False
    some = smooth(np.diff(x), kept.astype(float), y, 1e-2, 2)
    alone = smooth(np.diff(x[kept]), np.ones(11), y[kept], 1e-2, 2)
    np.testing.assert_allclose(some.states[kept], alone.states, atol=1e-12)
    np.testing.assert_allclose(some.variance[kept], alone.variance, rtol=1e-11)
    np.testing.assert_allclose(some.left_out[kept], alone.left_out, rtol=1e-11)
    np.testing.assert_allclose(some.objective, alone.objective)


def test_residuals_of_a_large_sample_are_orthogonal_to_lines():
    rng = np.random.default_rng(2)
    n = 200_000
    x = np.sort(rng.uniform(size=n) ** 3)
    y = np.sin(9 * x) + rng.normal(size=n)
    for alpha in (1e-8, 1e-2, 1e4):
        r = y - smooth(np.diff(x), np.ones(n), y, alpha, 2).states[:, 0]
        assert abs(r.sum()) < 1e-10 * np.abs(r).sum()
        assert abs(r @ x) < 1e-10 * np.abs(r).sum()


def test_machine_code_of_each_order_has_its_name():
    """Caches of processes that compiled one order each would else hold two functions of one name, linked as one."""
    names = {_compiled(order).py_func.__qualname__ for order in (1, 2, 3, 4)}
    assert len(names) == 4
