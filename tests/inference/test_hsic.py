"""The test of independence against definitions, exhaustive permutation, R, and its promises of level and power."""

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import gamma as gamma_distribution

from mercer.gram import IncompleteCholesky, Nystrom
from mercer.inference._kernels import centred
from mercer.inference.hsic import Cycle, Shuffles, Side, group, hsic_test, permuted
from mercer.kernels import Delta, Gaussian, Laplace, Power, Sigmoid

rng = np.random.default_rng(3)
N = 20
X = rng.normal(size=(N, 2))
Y = X[:, :1] ** 2 + 0.5 * rng.normal(size=(N, 1))
PAIRS = [(Gaussian(0.9), Gaussian(1.2)), (Power(1.0), Power(1.0)), (Gaussian(0.9), Laplace(0.7))]


def biased(K, L):
    """tr(KHLH)/n²."""
    n = len(K)
    H = np.eye(n) - 1 / n
    return np.trace(K @ H @ L @ H) / n**2


def unbiased(K, L):
    """The U-statistic: means over pairs, quadruples and triples of different indices."""
    n = len(K)
    index = range(n)
    pairs = np.mean([K[i, j] * L[i, j] for i, j in permutations(index, 2)])
    quadruples = np.mean([K[i, j] * L[q, r] for i, j, q, r in permutations(index, 4)])
    triples = np.mean([K[i, j] * L[i, q] for i, j, q in permutations(index, 3)])
    return pairs + quadruples - 2 * triples


@pytest.mark.parametrize(("k", "h"), PAIRS, ids=str)
def test_the_biased_statistic(k, h):
    test = hsic_test(X, Y, kernel=k, kernel_y=h, statistic="biased", n_draws=3, random_state=0)
    assert np.isclose(test.statistic, biased(k(X), h(Y)), rtol=1e-10)


@pytest.mark.parametrize(("k", "h"), PAIRS, ids=str)
def test_the_unbiased_statistic_is_its_u_statistic(k, h):
    A, B = X[:7], Y[:7]
    test = hsic_test(A, B, kernel=k, kernel_y=h, n_draws=3, random_state=0)
    assert np.isclose(test.statistic, unbiased(k(A), h(B)), rtol=1e-10)


@pytest.mark.parametrize("name", ["dcor_iris", "dcor_indep"])
def test_distance_covariance_of_r(oracle, name):
    reference = oracle(name)
    A, B, out = reference["inputs"]["X"], reference["inputs"]["Y"], reference["outputs"]
    B = B.reshape(len(A), -1)
    for pair, v, u in (((A, B), "dCov", "dcovU"), ((A, A), "dVarX", "dVarXU"), ((B, B), "dVarY", "dVarYU")):
        v_test = hsic_test(*pair, kernel="power", statistic="biased", random_state=0)
        u_test = hsic_test(*pair, kernel="power", random_state=0)
        assert np.isclose(v_test.statistic**0.5, out[v], rtol=1e-10)
        assert np.isclose(u_test.statistic, out[u], rtol=1e-9)


@pytest.mark.parametrize("gram", ["dense", Nystrom(rank=N), IncompleteCholesky(tol=1e-14)], ids=str)
def test_every_representation_gives_the_same_test(gram):
    options = {"kernel": Gaussian(0.9), "n_draws": 50, "random_state": 0}
    a, b = (hsic_test(X, Y, gram=g, **options) for g in ("dense", gram))
    assert np.allclose(a.null, b.null, atol=1e-9) and a.p_value == b.p_value


def definition(K, L, p, statistic):
    """The statistic after a permutation, the unbiased one by double centring without the diagonal (Székely, Rizzo)."""
    L, n = L[np.ix_(p, p)], len(K)
    if statistic == "biased":
        return biased(K, L)
    off = ~np.eye(n, dtype=bool)

    def centre(M):
        M = M * off
        r = M.sum(axis=0)
        return (M - r[:, None] / (n - 2) - r[None, :] / (n - 2) + r.sum() / ((n - 1) * (n - 2))) * off

    return np.sum(centre(K) * centre(L)) / (n * (n - 3))


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
@pytest.mark.parametrize("gram", ["dense", IncompleteCholesky(tol=1e-14)], ids=str)
@pytest.mark.parametrize("n", [11, 12])
def test_permuted_statistics_are_the_statistics_of_permuted_data(statistic, gram, n):
    k, h = PAIRS[0]
    draw = np.random.default_rng(0)
    a, b = Side(centred(k, X[:n], gram, draw), "X"), Side(centred(h, Y[:n], gram, draw), "Y")
    scale = n**2 if statistic == "biased" else n * (n - 3)
    order = draw.permutation(n)
    shifts = np.empty((n, n), dtype=int)
    for step in range(n):
        shifts[step, order] = np.roll(order, -step)
    random = np.stack([draw.permutation(n) for _ in range(9)])
    for permutation, rows in ((Cycle(order), shifts), (Shuffles(random), random)):
        expected = [definition(k(X[:n]), h(Y[:n]), p, statistic) for p in rows]
        found = permuted(a, b, permutation, statistic == "biased") / scale
        assert np.allclose(found, expected, atol=1e-9 if gram != "dense" else 1e-13)
    composed = {tuple(p[q]) for p in shifts for q in shifts}
    assert composed == {tuple(p) for p in shifts}  # a group, as the exact level requires


def test_the_group_is_taken_by_what_the_matrices_allow():
    draw = np.random.default_rng(0)
    A = draw.normal(size=(400, 1))
    thin, dense = (Side(centred(k, A, "auto", draw), "X") for k in (Gaussian(1.0), Laplace(0.1)))
    assert thin.factor is not None and dense.factor is None
    assert isinstance(group([thin, thin], 400, 99, draw), Shuffles)
    assert isinstance(group([thin, dense], 400, 99, draw), Cycle)
    few = group([thin, dense], 400, 999, draw)
    assert isinstance(few, Shuffles) and np.array_equal(few.rows[0], np.arange(400))
    test = hsic_test(A, np.sin(3 * A), kernel=Laplace(0.1), n_draws=99, random_state=0)
    assert len(test.null) == 399 and test.p_value == 1 / 400
    other = hsic_test(A, draw.normal(size=(400, 1)), kernel=Laplace(0.1), n_draws=99, random_state=0)
    more = hsic_test(A, other.witness.points[1], kernel=Laplace(0.1), n_draws=999, random_state=0)
    assert np.isclose(other.statistic, more.statistic) and abs(other.p_value - more.p_value) < 0.12
    assert abs(other.null.std() / more.null.std() - 1) < 0.2


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
def test_gamma_has_the_moments_over_all_permutations(statistic):
    k, h = Gaussian(0.9), Power(1.0)
    A, B = X[:6], Y[:6]
    every = [definition(k(A), h(B), p, statistic) for p in permutations(range(6))]
    mean, variance = np.mean(every), np.var(every)
    shift = 0.0
    if statistic == "unbiased":
        assert np.isclose(mean, 0, atol=1e-12)
        mean = shift = np.mean([definition(k(A), h(B), p, "biased") for p in permutations(range(6))]) * 36 / 18
    test = hsic_test(A, B, kernel=k, kernel_y=h, statistic=statistic, null="gamma", n_draws=9)
    expected = gamma_distribution(mean**2 / variance, scale=variance / mean)
    assert np.isclose(test.p_value, expected.sf(test.statistic + shift), rtol=1e-8)


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
def test_the_null_distributions_agree_in_large_samples(statistic):
    A, B = rng.normal(size=(150, 2)), rng.normal(size=(150, 1))
    tests = [
        hsic_test(A, B, kernel=Gaussian(1.0), statistic=statistic, null=null, n_draws=5000, random_state=0)
        for null in ("permutation", "gamma", "spectrum")
    ]
    exact = tests[0].null
    for other in tests[1:]:
        assert abs(other.null.mean() - exact.mean()) < 0.1 * exact.std()
        for q in (0.9, 0.95, 0.99):
            assert abs(np.mean(exact <= np.quantile(other.null, q)) - q) < 0.02
        assert abs(other.p_value - tests[0].p_value) < 0.05


def test_a_single_odd_member_says_nothing():
    """The centred matrix without diagonal is then zero, and so is every permuted unbiased statistic."""
    odd = np.eye(30)[:, :1]
    assert hsic_test(odd, rng.normal(size=(30, 1)), random_state=0).p_value == 1
    assert hsic_test(odd, rng.normal(size=(30, 1)), kernel=Gaussian(1.0), null="gamma").p_value == 1


# ---- the result


@pytest.mark.parametrize(("k", "h"), PAIRS, ids=str)
def test_the_witness_is_the_covariance(k, h):
    test = hsic_test(X, Y, kernel=k, kernel_y=h, statistic="biased", n_draws=9, random_state=0)
    assert np.isclose(test.witness.norm() ** 2, test.statistic, rtol=1e-8)
    x, y = rng.normal(size=(4, 2)), rng.normal(size=(4, 1))
    covariance = [np.cov(k(x, X)[i], h(y, Y)[i], bias=True)[0, 1] for i in range(4)]
    # values of a centred function: its mean over x, over y and over both are taken away
    left = [np.mean([np.cov(k(x, X)[i], row, bias=True)[0, 1] for row in h(Y)]) for i in range(4)]
    right = [np.mean([np.cov(row, h(y, Y)[i], bias=True)[0, 1] for row in k(X)]) for i in range(4)]
    both = np.mean([[np.cov(p, q, bias=True)[0, 1] for p in k(X)] for q in h(Y)])
    assert np.allclose(test.witness((x, y)), np.array(covariance) - left - right + both, atol=1e-10)


def test_aggregation_reports_what_took_part():
    test = hsic_test(X, Y, n_draws=99, random_state=0)
    assert len(test.kernels) == len(test.p_values) == 9
    assert test.p_values[test.kernels.index(test.kernel)] == test.p_values.min() <= test.p_value
    k, h = test.kernel
    alone = hsic_test(X, Y, kernel=k, kernel_y=h, n_draws=99, random_state=0)
    assert np.isclose(alone.statistic, test.statistic)
    assert "the most significant of 9" in repr(test) and str(k) in repr(test)


def test_pairs_of_different_kinds():
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 3, size=60)
    A = draw.normal(size=(60, 1)) + labels[:, None]
    words = np.array(["red", "green", "blue"])[labels]
    options = {"kernel_y": Delta(), "random_state": 0}
    assert hsic_test(A, words, **options).p_value < 0.01
    assert hsic_test(draw.normal(size=(60, 1)), words, **options).p_value > 0.05


# ---- level and power


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"kernel": "power"}, {"kernel": Laplace(0.5), "n_draws": 11}], ids=str)
def test_the_level_is_exact_in_small_samples(options):
    draw, repetitions = np.random.default_rng(7), 400
    options = {"n_draws": 99, **options}
    p = np.array(
        [
            hsic_test(draw.exponential(size=(12, 1)), draw.normal(size=(12, 2)), random_state=i, **options).p_value
            for i in range(repetitions)
        ]
    )
    for level in (0.05, 0.2):
        assert np.mean(p <= level) <= level + 3 * (level * (1 - level) / repetitions) ** 0.5
    assert np.mean(p <= 0.2) >= 0.2 - 3 * (0.16 / repetitions) ** 0.5 - 0.04  # p-values are discrete


@pytest.mark.long
@pytest.mark.parametrize("null", ["gamma", "spectrum"])
def test_approximate_nulls_keep_the_level(null):
    draw, repetitions = np.random.default_rng(8), 400
    options = {"kernel": Gaussian(1.0), "null": null}
    p = np.array(
        [
            hsic_test(draw.normal(size=(40, 2)), draw.normal(size=(40, 1)), random_state=i, **options).p_value
            for i in range(repetitions)
        ]
    )
    assert abs(np.mean(p <= 0.1) - 0.1) <= 3 * (0.09 / repetitions) ** 0.5


@pytest.mark.long
def test_aggregation_has_power_where_the_median_lengthscale_has_none():
    """Against a coarse dependence and one through a fast sine, of no correlation."""
    draw = np.random.default_rng(9)
    found = {name: [] for name in ("aggregate", "gaussian(lengthscale='median')")}
    for i in range(25):
        A, noise = draw.uniform(-1, 1, size=(150, 1)), draw.normal(size=(150, 1))
        for name in found:
            tests = (
                hsic_test(A, B, kernel=name, n_draws=199, random_state=i)
                for B in (A**2 + 0.3 * noise, np.sin(9 * np.pi * A) + 0.1 * noise)
            )
            found[name].append([test.p_value <= 0.05 for test in tests])
    power = {name: np.mean(values, axis=0) for name, values in found.items()}
    assert np.all(power["aggregate"] > 0.8)
    assert power["gaussian(lengthscale='median')"][1] < 0.3


# ---- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"statistic": "block"}, "statistic = 'block' is unknown"),
        ({"null": "normal"}, "null = 'normal' is unknown"),
        ({"null": "gamma"}, "null = 'gamma' requires one kernel"),
        ({"null": "gamma", "kernel": "power", "kernel_y": ["power"]}, "requires one kernel per side"),
        ({"n_draws": 2.5}, "n_draws = 2.5 must be an integer"),
        ({"kernel": Sigmoid()}, "is INDEFINITE"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        hsic_test(X, Y, **arguments)


def test_bad_samples():
    with pytest.raises(ValueError, match="X has 20 members and Y 19"):
        hsic_test(X, Y[1:])
    with pytest.raises(ValueError, match="3 pairs are too few"):
        hsic_test(X[:3], Y[:3])
    with pytest.raises(ValueError, match="Y is constant"):
        hsic_test(X, np.ones((N, 1)))
    with pytest.raises(ValueError, match="X is constant"):
        hsic_test(np.ones((N, 1)), Y, kernel="power")
    with pytest.raises(TypeError, match="use gram='dense'"):
        hsic_test(X, Y, gram="lazy")
