"""The two-sample test against double sums, exhaustive permutation, R, and its promises of level and power."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import gamma as gamma_distribution
from scipy.stats import t as student

from mercer.gram import IncompleteCholesky, Nystrom
from mercer.inference.mmd import _block_statistics, _blocks, mmd_test
from mercer.kernels import Delta, FiniteDomain, Gaussian, Laplace, Power, Precomputed, Sigmoid

rng = np.random.default_rng(2)
X, Y = rng.normal(size=(14, 2)), rng.normal(size=(11, 2)) + 0.4
KERNELS = [Gaussian(0.9), Laplace(1.3), Power(1.0), Power(0.5)]


def definition(kernel, A, B, statistic="unbiased"):
    """The double sums."""
    m, n = len(A), len(B)
    k = kernel(np.vstack([A, B]))
    same = statistic == "biased"
    xx = [k[i, j] for i in range(m) for j in range(m) if same or i != j]
    yy = [k[i, j] for i in range(m, m + n) for j in range(m, m + n) if same or i != j]
    xy = [k[i, j] for i in range(m) for j in range(m, m + n)]
    return np.mean(xx) + np.mean(yy) - 2 * np.mean(xy)


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_statistic_is_its_double_sum(kernel, statistic):
    found = mmd_test(X, Y, kernel=kernel, statistic=statistic, n_draws=3, random_state=0).statistic
    assert np.isclose(found, definition(kernel, X, Y, statistic), rtol=1e-10)


@pytest.mark.parametrize("gram", ["dense", "lazy", Nystrom(rank=25), IncompleteCholesky(tol=1e-14)], ids=str)
def test_every_representation_gives_the_same_test(gram):
    a, b = (mmd_test(X, Y, kernel=Gaussian(0.9), gram=g, n_draws=50, random_state=0) for g in ("dense", gram))
    assert np.allclose(a.null, b.null, atol=1e-9) and a.p_value == b.p_value


def test_a_thin_factor_gives_the_same_test():
    A, B = rng.normal(size=(150, 1)), rng.normal(size=(130, 1))
    dense = mmd_test(A, B, kernel=Gaussian(1.0), gram="dense", n_draws=40, random_state=0)
    thin = mmd_test(A, B, kernel=Gaussian(1.0), n_draws=40, random_state=0)
    assert np.allclose(dense.null, thin.null, rtol=1e-5, atol=1e-8) and dense.p_value == thin.p_value


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
def test_permutations_are_all_the_splits(statistic):
    A, B = X[:3], Y[:4]
    both = np.vstack([A, B])
    every = []
    for chosen in combinations(range(7), 3):
        rest = np.setdiff1d(range(7), chosen)
        every.append(definition(Gaussian(0.9), both[list(chosen)], both[rest], statistic))
    test = mmd_test(A, B, kernel=Gaussian(0.9), statistic=statistic, n_draws=2000, random_state=0)
    assert np.allclose(np.unique(test.null.round(10)), np.unique(np.round(every, 10)))
    p = np.mean(np.array(every) >= test.statistic - 1e-12)
    assert abs(test.p_value - p) <= 4 * (p * (1 - p) / 2000) ** 0.5 + 1e-3


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
@pytest.mark.parametrize("kernel", [Gaussian(0.9), Power(1.0)], ids=str)
def test_gamma_has_the_moments_over_all_splits(kernel, statistic):
    A, B = X[:3], Y[:4]
    both = np.vstack([A, B])
    splits = [(list(c), np.setdiff1d(range(7), c)) for c in combinations(range(7), 3)]
    T = np.array([definition(kernel, both[c], both[r], statistic) for c, r in splits])
    shift = 0.0
    if statistic == "unbiased":
        assert np.isclose(T.mean(), 0, atol=1e-12)
        shift = np.mean([definition(kernel, both[c], both[r], "biased") for c, r in splits])
    mean = T.mean() + shift
    test = mmd_test(A, B, kernel=kernel, statistic=statistic, null="gamma", n_draws=9)
    expected = gamma_distribution(mean**2 / T.var(), scale=T.var() / mean)
    assert np.isclose(test.p_value, expected.sf(test.statistic + shift), rtol=1e-8)
    assert np.allclose(test.null, expected.ppf((np.arange(9) + 0.5) / 9) - shift)


@pytest.mark.parametrize("statistic", ["biased", "unbiased"])
def test_the_null_distributions_agree_in_large_samples(statistic):
    A, B = rng.normal(size=(120, 2)), rng.normal(size=(150, 2))
    tests = [
        mmd_test(A, B, kernel=Gaussian(1.0), statistic=statistic, null=null, n_draws=10000, random_state=0)
        for null in ("permutation", "gamma", "spectrum")
    ]
    exact = tests[0].null
    for other in tests[1:]:
        assert abs(other.null.mean() - exact.mean()) < 0.1 * exact.std()
        for q in (0.9, 0.95, 0.99):
            assert abs(np.mean(exact <= np.quantile(other.null, q)) - q) < 0.015
        assert abs(other.p_value - tests[0].p_value) < 0.05


def test_blocks():
    blocks = _blocks(14, 11, 3, np.random.default_rng(0))
    assert len(blocks) == 3
    for members, whole in ((0, range(14)), (1, range(14, 25))):
        assert sorted(np.concatenate([b[members] for b in blocks])) == list(whole)
    both = np.vstack([X, Y])
    T, _ = _block_statistics(Gaussian(0.9), both, blocks, 5, np.random.default_rng(1))
    assert np.allclose(T[:, 0], [definition(Gaussian(0.9), both[x], both[y]) for x, y in blocks])
    for (x, y), row in zip(blocks, T, strict=True):
        members = np.concatenate([x, y])
        every = [
            definition(Gaussian(0.9), both[list(c)], both[np.setdiff1d(members, c)])
            for c in combinations(members, len(x))
        ]
        assert np.all(np.min(np.abs(row[:, None] - np.array(every)[None, :]), axis=1) < 1e-12)


def test_blocks_by_students_t():
    test = mmd_test(
        X, Y, kernel=Gaussian(0.9), statistic="block", null="normal", block_size=2, n_draws=9, random_state=0
    )
    same = mmd_test(X, Y, kernel=Gaussian(0.9), statistic="block", block_size=2, n_draws=9, random_state=0)
    assert np.isclose(test.statistic, same.statistic, rtol=1e-12)
    ratio = test.null[-1] / student(4).ppf(17 / 18)  # five blocks
    assert np.isclose(test.p_value, student(4).sf(test.statistic / ratio))


@pytest.mark.parametrize("options", [{}, {"kernel": Gaussian(1.0), "null": "gamma"}, {"statistic": "block"}], ids=str)
def test_a_single_odd_member_says_nothing(options):
    """Wherever it falls the unbiased statistic is 1 − 2c/m + 1 − 2(1 − c/m) = 0, with c = 1 − k."""
    odd = np.vstack([np.zeros((30, 1)), [[1.0]]])
    for pair in ((odd, np.zeros((40, 1))), (np.zeros((40, 1)), odd)):
        assert mmd_test(*pair, random_state=0, **options).p_value == 1


def test_blocks_of_equal_members():
    A, B = np.array([[0.0]] * 16 + [[1.0]] * 4), np.zeros((20, 1))
    options = {"kernel": Gaussian(1.0), "statistic": "block", "block_size": 2}
    assert 0 < mmd_test(A, B, random_state=0, **options).p_value < 1
    with pytest.raises(ValueError, match="no standard error; use null='permutation'"):
        mmd_test(A[:17], B, null="normal", random_state=0, **options)
    with pytest.raises(ValueError, match="are equal under gaussian"):
        mmd_test(A[:16], B, random_state=0, **options)


# ---- other people's numbers


def test_energy_statistic_of_r(oracle):
    reference = oracle("energytest_shift")
    A, B = reference["inputs"]["X"], reference["inputs"]["Y"]
    m, n = len(A), len(B)
    test = mmd_test(A, B, kernel="power", statistic="biased", random_state=0)
    assert np.isclose(m * n / (m + n) * test.statistic, reference["outputs"]["statistic"], rtol=1e-10)
    assert test.p_value <= 0.005


@pytest.mark.parametrize("name", ["kmmd_same", "kmmd_shift"])
def test_kernlabs_kmmd(oracle, name):
    reference = oracle(name)
    A, B = reference["inputs"]["X"], reference["inputs"]["Y"]
    k = Gaussian.from_kernlab(reference["parameters"]["sigma"])
    biased = mmd_test(A, B, kernel=k, statistic="biased", random_state=0)
    assert np.isclose(biased.statistic**0.5, reference["outputs"]["mmd_biased_sqrt"], rtol=1e-10)
    M = min(len(A), len(B))
    unbiased = mmd_test(A[:M], B[:M], kernel=k, random_state=0)
    cross = k(A[:M], B[:M])  # kernlab leaves out k(xᵢ, yᵢ)
    without = unbiased.statistic + 2 * cross.mean() - 2 * (cross.sum() - np.trace(cross)) / (M * (M - 1))
    assert np.isclose(without, reference["outputs"]["mmd_u_third_order"], rtol=1e-10)
    assert (unbiased.p_value < 0.05) == reference["outputs"]["asym_rejected"]


# ---- the result


@pytest.mark.parametrize("kernel", [Gaussian(0.9), Power(1.0)], ids=str)
def test_the_witness_is_the_difference_of_means(kernel):
    test = mmd_test(X, Y, kernel=kernel, statistic="biased", n_draws=9, random_state=0)
    new = rng.normal(size=(5, 2))
    assert np.allclose(test.witness(new), kernel(new, X).mean(axis=1) - kernel(new, Y).mean(axis=1))
    assert np.isclose(test.witness.norm() ** 2, test.statistic)


def test_aggregation_reports_what_took_part():
    test = mmd_test(X, Y, n_draws=99, random_state=0)
    assert len(test.kernels) == len(test.p_values) == 10
    assert test.kernel in test.kernels and test.p_values[test.kernels.index(test.kernel)] == test.p_values.min()
    assert test.p_value >= test.p_values.min() and len(test.null) == 99
    alone = mmd_test(X, Y, kernel=test.kernel, n_draws=99, random_state=0)
    assert np.isclose(alone.statistic, test.statistic) and np.isclose(alone.p_value, test.p_values.min())
    assert "the most significant of 10" in repr(test) and "the most significant" not in repr(alone)


def test_it_does_not_matter_how_many_times_a_kernel_is_listed():
    tests = [mmd_test(X, Y, kernel=k, n_draws=99, random_state=0) for k in (Gaussian(0.9), [Gaussian(0.9)] * 4)]
    assert tests[0].p_value == tests[1].p_value


def test_members_of_any_kind():
    A, B = np.array(["a", "b", "a", "a", "a", "b"] * 6)[:, None], np.array(["b", "c", "b"] * 10)[:, None]
    test = mmd_test(A, B, kernel=Delta(), random_state=0)
    assert test.p_value < 0.01
    frequencies = lambda S: np.array([np.mean(v == S) for v in "abc"])  # noqa: E731
    biased = mmd_test(A, B, kernel=Delta(), statistic="biased", n_draws=9, random_state=0).statistic
    assert np.isclose(biased, np.sum((frequencies(A) - frequencies(B)) ** 2))
    K = Gaussian(0.9)(np.vstack([X, Y]))
    by_number = mmd_test(np.arange(14), np.arange(14, 25), kernel=FiniteDomain(K), n_draws=99, random_state=0)
    assert np.isclose(by_number.statistic, definition(Gaussian(0.9), X, Y))


def test_strings_by_a_function_of_two():
    A, B = ["kernel", "colonel", "merger", "mercer"], ["hilbert", "gilbert", "space"]
    letters = lambda a, b: len(set(a) & set(b))  # noqa: E731
    test = mmd_test(A, B, kernel=letters, statistic="biased", random_state=0)
    alphabet = sorted(set("".join(A + B)))
    means = [np.mean([[c in word for c in alphabet] for word in words], axis=0) for words in (A, B)]
    assert np.isclose(test.statistic, np.sum((means[0] - means[1]) ** 2))
    features = means[0] - means[1]
    assert np.allclose(test.witness(["merz"]), sum(features[alphabet.index(c)] for c in "mer"))


def test_other_array_libraries(xp):
    A, B = xp.asarray(X), xp.asarray(Y)
    found, plain = (mmd_test(*pair, kernel=Gaussian(0.9), n_draws=60, random_state=0) for pair in ((A, B), (X, Y)))
    assert np.allclose(found.null, plain.null) and found.p_value == plain.p_value


def test_single_precision():
    pair = X.astype(np.float32), Y.astype(np.float32)
    found, plain = (mmd_test(*p, kernel=Gaussian(0.9), n_draws=60, random_state=0) for p in (pair, (X, Y)))
    assert np.allclose(found.null, plain.null, atol=1e-5) and found.p_value == plain.p_value


# ---- level and power


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"kernel": "power"}, {"statistic": "block", "kernel": Gaussian(1.0)}], ids=str)
def test_the_level_is_exact_in_small_samples(options):
    draw, repetitions = np.random.default_rng(7), 400
    p = np.array(
        [
            mmd_test(
                draw.exponential(size=(9, 2)), draw.exponential(size=(7, 2)), n_draws=99, random_state=i, **options
            ).p_value
            for i in range(repetitions)
        ]
    )
    for level in (0.05, 0.2):
        sigma = (level * (1 - level) / repetitions) ** 0.5
        assert np.mean(p <= level) <= level + 3 * sigma
    assert np.mean(p <= 0.2) >= 0.2 - 3 * (0.16 / repetitions) ** 0.5 - 0.04  # ties make it a little smaller


@pytest.mark.long
@pytest.mark.parametrize("null", ["gamma", "spectrum"])
def test_approximate_nulls_keep_the_level(null):
    draw, repetitions = np.random.default_rng(8), 400
    p = np.array(
        [
            mmd_test(
                draw.normal(size=(30, 2)), draw.normal(size=(25, 2)), kernel=Gaussian(1.0), null=null, random_state=i
            ).p_value
            for i in range(repetitions)
        ]
    )
    assert abs(np.mean(p <= 0.1) - 0.1) <= 3 * (0.09 / repetitions) ** 0.5


@pytest.mark.long
def test_aggregation_has_power_where_a_single_lengthscale_has_none():
    """Against a shift, which long lengthscales see, and a fine comb, which short ones see."""
    draw = np.random.default_rng(9)
    power = {name: [] for name in ("aggregate", "short", "long")}
    for i in range(25):
        base = draw.uniform(0, 1, size=(150, 1))
        shifted = draw.uniform(0, 1, size=(150, 1)) + 0.15
        comb = (draw.integers(0, 12, size=(150, 1)) + 0.5 * draw.uniform(size=(150, 1))) / 12
        for name, kernel in (("aggregate", "aggregate"), ("short", Gaussian(0.005)), ("long", Gaussian(1.0))):
            tests = (mmd_test(base, other, kernel=kernel, n_draws=199, random_state=i) for other in (shifted, comb))
            power[name].append([test.p_value <= 0.05 for test in tests])
    shift, comb = np.mean(power["aggregate"], axis=0)
    assert shift > 0.8 and comb > 0.8
    assert np.mean(power["short"], axis=0)[0] < shift - 0.2
    assert np.mean(power["long"], axis=0)[1] < 0.3


# ---- bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"statistic": "v"}, "statistic = 'v' is unknown"),
        ({"null": "normal", "kernel": "power"}, "null = 'normal' is unknown"),
        ({"null": "gamma"}, "null = 'gamma' requires one kernel"),
        ({"n_draws": 0}, "n_draws = 0 must be >= 1"),
        ({"kernel": []}, "empty list"),
        ({"kernel": Sigmoid()}, "is INDEFINITE"),
        ({"kernel": Power(3.0)}, "is INDEFINITE"),
        ({"statistic": "block", "block_size": 9}, "leaves 1 block"),
        ({"statistic": "block", "block_size": 1}, "block_size = 1 must be >= 2"),
    ],
    ids=str,
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        mmd_test(X, Y, **arguments)


def test_bad_samples():
    with pytest.raises(ValueError, match="2 columns and Y has 3"):
        mmd_test(X, np.ones((5, 3)))
    with pytest.raises(ValueError, match="at least two of each"):
        mmd_test(X, Y[:1])
    with pytest.raises(ValueError, match="Y contains NaN"):
        mmd_test(X, Y * np.nan)
    with pytest.raises(ValueError, match="are equal under gaussian"):
        mmd_test(np.ones((5, 2)), np.ones((6, 2)))
    with pytest.raises(TypeError, match="FiniteDomain"):
        mmd_test(np.eye(4), np.eye(4), kernel=Precomputed())
    with pytest.raises(TypeError, match=r"X holds text such as .a., expected numbers"):
        mmd_test(np.array([["a"], ["b"]]), np.array([["a"], ["b"]]))
