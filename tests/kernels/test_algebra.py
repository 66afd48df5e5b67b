"""The algebra's laws on randomly built kernels: values, structure, parameters, definiteness, derivatives, text."""

import pickle

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.model_selection import GridSearchCV

from mercer.evaluation import Evaluator
from mercer.kernels import (
    CPD,
    INDEFINITE,
    PD,
    STRICTLY_PD,
    UNKNOWN,
    Affine,
    Bessel,
    Constant,
    Gaussian,
    Linear,
    White,
    registry,
)
from mercer.kernels._definiteness import of_exponential, of_product, of_scaled, of_sum
from mercer.kernels.algebra import (
    Exp,
    Normalized,
    PowerOf,
    Product,
    Restricted,
    Scaled,
    Series,
    Sum,
    Tensor,
    Translated,
)
from mercer.kernels.expression import parse
from mercer.kernels.finite import Precomputed
from mercer.testing import check_kernel

rng = np.random.default_rng(11)
X, Y = rng.uniform(-0.8, 0.8, size=(8, 3)), rng.uniform(-0.8, 0.8, size=(5, 3))

# ---- random kernels, and their values by NumPy

sizes = st.sampled_from([0.25, 0.5, 1.0, 1.5])
bases = st.one_of(
    sizes.map(Gaussian),
    st.builds(lambda a, b, c: Gaussian(np.array([a, b, c])), sizes, sizes, sizes),
    st.just(Linear()),
    sizes.map(Affine),
    sizes.map(Constant),
)


def extend(inner):
    several = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        several.map(lambda ks: sum(ks[1:], ks[0])),
        several.map(lambda ks: ks[0] * ks[1] * ks[-1] if len(ks) == 3 else ks[0] * ks[1]),
        several.map(Sum),
        several.map(Product),
        st.builds(lambda c, k: c * k, sizes, inner),
        st.builds(lambda k, c: k + c, inner, sizes),
        st.builds(lambda k, n: k**n, inner, st.integers(0, 3)),
        inner.map(lambda k: k.exp()),
        st.builds(lambda k, a: k.series(a), inner, st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=3)),
        inner.map(lambda k: (k + 0.5).normalized()),
    )


def columned(inner):
    """The operations, and restriction to columns where every lengthscale is a number."""
    return st.one_of(
        extend(inner), st.builds(lambda k, c: k.on(c), narrow, st.sampled_from([0, [2, 0], slice(1, 3), -1]))
    )


narrow = st.recursive(st.one_of(sizes.map(Gaussian), st.just(Linear()), sizes.map(Affine)), extend, max_leaves=3)
kernels = st.recursive(bases, columned, max_leaves=6)


def formula(k, A, B):
    """The value of a composite by its definition, from scratch."""
    if isinstance(k, Gaussian):
        D = (A[:, None, :] - B[None, :, :]) / np.asarray(k.lengthscale)
        return np.exp(-(D**2).sum(axis=-1) / 2)
    if isinstance(k, Linear):
        return A @ B.T
    if isinstance(k, Affine):
        return A @ B.T + k.offset
    if isinstance(k, Constant):
        return np.full((len(A), len(B)), k.value)
    if isinstance(k, Sum):
        return np.sum([formula(p, A, B) for p in k.kernels], axis=0)
    if isinstance(k, Product):
        return np.prod([formula(p, A, B) for p in k.kernels], axis=0)
    if isinstance(k, Restricted):
        keep = np.atleast_1d(np.arange(A.shape[1])[k.columns])
        return formula(k.kernel, A[:, keep], B[:, keep])
    K = formula(k.kernel, A, B)
    if isinstance(k, Scaled):
        return k.scale * K
    if isinstance(k, PowerOf):
        return K**k.exponent
    if isinstance(k, Exp):
        return np.exp(K)
    if isinstance(k, Series):
        return sum(a * K**n for n, a in enumerate(k.coefficients))
    assert isinstance(k, Normalized)
    a, b = np.diagonal(formula(k.kernel, A, A)), np.diagonal(formula(k.kernel, B, B))
    return K / np.sqrt(np.outer(a, b))


def tame(k, limit=1e4):
    """Leave out towers of exponentials that overflow."""
    with np.errstate(all="ignore"):
        values = formula(k, np.concatenate([X, Y]), np.concatenate([X, Y]))
        assume(np.all(np.abs(values) < limit))


@given(kernels)
def test_values_are_the_formula_on_the_parts(k):
    tame(k)
    np.testing.assert_allclose(k(X, Y), formula(k, X, Y), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(k(X), formula(k, X, X), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(k.diag(X), np.diagonal(formula(k, X, X)), rtol=1e-9, atol=1e-12)


@given(kernels)
@settings(max_examples=60)
def test_text_returns_the_kernel(k):
    assert parse(str(k)) == k
    assert str(parse(str(k))) == str(k)


@given(kernels)
def test_value_semantics(k):
    assert clone(k) == k and pickle.loads(pickle.dumps(k)) == k
    assert clone(k).set_params(**k.get_params()) == k
    assert k != Scaled(k, 1.0)


@given(kernels)
def test_claims_hold_on_data(k):
    tame(k)
    claim = k.definiteness_in(3)
    assert claim == PD  # all parts are, and all these operations keep it
    assert k.check(X).ok
    if claim.strict:
        assert np.linalg.eigvalsh(formula(k, X, X))[0] > 0


@given(kernels)
@settings(max_examples=15)
def test_laws(k):
    tame(k, 30.0)
    check_kernel(k, X)


@given(bases, bases, bases)
def test_arithmetic_of_values(a, b, c):
    def same(left, right):
        np.testing.assert_allclose(left(X, Y), right(X, Y), rtol=1e-12, atol=1e-13)

    same(a + b, b + a)
    same(a * b, b * a)
    same((a + b) + c, a + (b + c))
    same((a * b) * c, a * (b * c))
    same(a * (b + c), a * b + a * c)
    same(2.0 * (a + b), 2.0 * a + 2.0 * b)
    same(a**2, a * a)
    same((a + b).exp(), a.exp() * b.exp())
    same(a.series([0, 0, 1]), a**2)


def test_addition_and_multiplication_do_not_mix():
    a, b, c = Gaussian(), Affine(), Linear()
    mixed = a + b * c
    assert mixed != a + b + c
    assert np.abs(mixed(X) - (a + b + c)(X)).max() > 0.1
    np.testing.assert_allclose(mixed(X), a(X) + b(X) * c(X), rtol=1e-14)


# ---- structure


def test_flattening():
    a, b, c = Gaussian(), Affine(), Linear()
    assert (a + b) + c == a + (b + c) == Sum([a, b, c])
    assert (a * b) * c == a * (b * c) == Product([a, b, c])
    assert (a @ b) @ c == a @ (b @ c) == Tensor([a, b, c])
    assert (a + b) * c == Product([Sum([a, b]), c])
    assert a + b * c == Sum([a, Product([b, c])])
    assert 2 * (a + b) == Scaled(Sum([a, b]), 2.0)
    assert 2 * a + b == Sum([Scaled(a, 2.0), b])
    assert a + 1 == 1 + a == Sum([a, Constant(1.0)])
    assert a + 0 is a
    assert 3 * a == a * 3 == Scaled(a, 3.0)


def test_constructors_store_what_they_are_given():
    parts = [Sum([Gaussian(), Linear()]), Affine()]
    assert Sum(parts).kernels is parts


@pytest.mark.parametrize("other", ["linear", None, [1.0]])
def test_only_kernels_and_numbers_combine(other):
    for combine in (lambda k: k + other, lambda k: k * other, lambda k: k @ other):
        with pytest.raises(TypeError, match=r"unsupported operand|can't multiply"):
            combine(Linear())


def test_empty_composites():
    with pytest.raises(ValueError, match="Sum: kernels is empty; give at least one kernel"):
        Sum([]).validate()


# ---- parameters


def test_nested_parameters_by_index():
    k = 2.0 * Gaussian(0.5) + Linear() * Affine(3.0)
    params = k.get_params()
    assert params["0__scale"] == 2.0 and params["0__kernel__lengthscale"] == 0.5 and params["1__1__offset"] == 3.0
    k.set_params(**{"0__kernel__lengthscale": 4.0, "1__1__offset": 1.0, "0__scale": 5.0})
    assert k == 5.0 * Gaussian(4.0) + Linear() * Affine(1.0)
    k.set_params(**{"1": Linear(), "0__scale": 1.5})
    assert k == 1.5 * Gaussian(4.0) + Linear()
    with pytest.raises(ValueError, match="Invalid parameter 'width'"):
        k.set_params(width=2)
    with pytest.raises(ValueError, match="Invalid parameter"):
        k.set_params(**{"0__kernel__width": 2})


def test_clones_share_nothing():
    k = Gaussian(0.5) + Linear()
    copy = clone(k)
    copy.set_params(**{"0__lengthscale": 9.0})
    assert k == Gaussian(0.5) + Linear() and copy == Gaussian(9.0) + Linear()


def test_replacing_a_part_leaves_the_original_list_alone():
    parts = [Gaussian(), Linear()]
    k = Sum(parts)
    k.set_params(**{"0": Affine()})
    assert parts == [Gaussian(), Linear()] and k == Affine() + Linear()


class NearestMean(RegressorMixin, BaseEstimator):
    """A method with a kernel parameter: the kernel-weighted mean of y."""

    def __init__(self, kernel):
        self.kernel = kernel

    def fit(self, A, y):
        self.A_, self.y_ = A, y
        return self

    def predict(self, A):
        K = self.kernel(A, self.A_)
        return K @ self.y_ / K.sum(axis=1)


def test_grid_search_over_nested_parameters():
    A = rng.uniform(-3, 3, size=(60, 1))
    search = GridSearchCV(
        NearestMean(Gaussian(1.0) + 0.01 * Constant()),
        {"kernel__0__lengthscale": [0.2, 100.0], "kernel__1__scale": [0.01, 0.02]},
    ).fit(A, np.sin(A[:, 0]))
    assert search.best_params_["kernel__0__lengthscale"] == 0.2
    assert search.best_estimator_.kernel.kernels[0].lengthscale == 0.2


def test_data_driven_values_reach_every_part():
    k = Gaussian("median") + 2.0 * Gaussian("median").on([0]) * Linear()
    with pytest.raises(ValueError, match=r"lengthscale = 'median' depends on the data; call kernel.resolve\(X\)"):
        k(X)
    resolved = k.resolve(X)
    pairs = np.triu_indices(8, 1)
    whole = np.median(np.linalg.norm(X[pairs[0]] - X[pairs[1]], axis=1))
    first = np.median(np.abs(X[pairs[0], 0] - X[pairs[1], 0]))
    assert resolved.kernels[0].lengthscale == pytest.approx(whole)
    assert resolved.kernels[1].kernels[0].kernel.kernel.lengthscale == pytest.approx(first)
    assert k.kernels[0].lengthscale == "median"


# ---- definiteness

CPD1, CPD2 = Precomputed(CPD(1, strict=True)), Precomputed(CPD(2))
STRICT, PLAIN, WRONG, OPEN = Precomputed(STRICTLY_PD), Precomputed(PD), Precomputed(INDEFINITE), Precomputed()

TABLE = [
    # sums: the largest order; strict if a part is; unknown with any part that is not CPD
    (PLAIN + PLAIN, PD, False),
    (STRICT + PLAIN, PD, True),
    (PLAIN + CPD1, CPD(1), True),
    (STRICT + CPD2, CPD(2), True),
    (PLAIN + CPD2, CPD(2), False),
    (PLAIN + WRONG, UNKNOWN, False),
    (STRICT + OPEN, UNKNOWN, False),
    (WRONG + WRONG, UNKNOWN, False),
    # products: Schur, positive definite factors only
    (PLAIN * PLAIN, PD, False),
    (STRICT * PLAIN, PD, False),
    (STRICT * STRICT, PD, True),
    (PLAIN * CPD1, UNKNOWN, False),
    (STRICT * WRONG, UNKNOWN, False),
    (STRICT @ STRICT, PD, True),
    (STRICT @ PLAIN, PD, False),
    (STRICT @ CPD1, UNKNOWN, False),
    # multiples
    (3 * STRICT, PD, True),
    (3 * CPD1, CPD(1), True),
    (3 * WRONG, INDEFINITE, False),
    (0 * WRONG, PD, False),
    (0 * STRICT, PD, False),
    (-1 * STRICT, INDEFINITE, False),
    (-1 * CPD1, INDEFINITE, False),
    (-1 * PLAIN, UNKNOWN, False),
    (-1 * WRONG, UNKNOWN, False),
    (-1 * OPEN, UNKNOWN, False),
    # powers
    (STRICT**2, PD, True),
    (PLAIN**3, PD, False),
    (STRICT**2.0, PD, True),
    (STRICT**0.5, UNKNOWN, False),
    (CPD1**1, CPD(1), True),
    (CPD1**2, UNKNOWN, False),
    (WRONG**0, PD, False),
    (STRICT**0, PD, False),
    (WRONG**2, UNKNOWN, False),
    # exponentials: of CPD(1) too, by Schoenberg
    (PLAIN.exp(), PD, False),
    (STRICT.exp(), PD, True),
    (CPD1.exp(), PD, True),
    (CPD2.exp(), UNKNOWN, False),
    (OPEN.exp(), UNKNOWN, False),
    # series
    (STRICT.series([0, 1]), PD, True),
    (STRICT.series([1.0]), PD, False),
    (STRICT.series([1.0, 0.0]), PD, False),
    (PLAIN.series([1, 1]), PD, False),
    (CPD1.series([0, 1]), UNKNOWN, False),
    # normalisation, warps, columns, centring
    (STRICT.normalized(), PD, True),
    (CPD1.normalized(), UNKNOWN, False),
    (STRICT.warp(np.sin), PD, False),
    (CPD1.warp(np.sin), CPD(1), False),
    (CPD2.warp(np.sin), UNKNOWN, False),
    (WRONG.warp(np.sin), UNKNOWN, False),
    (STRICT.on([0]), PD, False),
    (CPD1.on([0]), CPD(1), False),
    (STRICT.centered(np.eye(2)), PD, False),
    (CPD1.centered(np.eye(2)), PD, False),
    (CPD2.centered(np.eye(2)), UNKNOWN, False),
    (OPEN.centered(np.eye(2)), UNKNOWN, False),
]


@pytest.mark.parametrize(("kernel", "claim", "strict"), TABLE, ids=[str(k) for k, _, _ in TABLE])
def test_derived_definiteness(kernel, claim, strict):
    assert kernel.definiteness == claim
    assert kernel.definiteness.strict == strict


def test_rules_by_themselves():
    assert of_sum([PD, CPD(3)]) == CPD(3)
    assert of_product([PD, INDEFINITE]) == UNKNOWN
    assert of_scaled(UNKNOWN, 2.0) == UNKNOWN
    assert of_exponential(CPD(1)) == PD
    assert [str(d) for d in (PD, STRICTLY_PD, CPD(2), CPD(1, True), INDEFINITE, UNKNOWN)] == [
        "PD",
        "strictly PD",
        "CPD(2)",
        "strictly CPD(1)",
        "INDEFINITE",
        "UNKNOWN",
    ]


def test_negative_white_noise_is_indefinite():
    k = -1 * White()
    assert k.definiteness == INDEFINITE
    assert k.check(X).smallest_eigenvalue == pytest.approx(-1.0)


def conditionally_definite():
    """All registered kernels that claim CPD(1) without being PD, and what the algebra makes of them."""
    for cls in registry.values():
        for k in cls.examples():
            if k.definiteness_in(3) == CPD(1) and k.domain.check.__qualname__.startswith("Vectors"):
                yield k


@pytest.mark.parametrize("k", list(conditionally_definite()), ids=str)
def test_exponentials_and_centring_of_cpd1_are_pd(k):
    A = k.domain.sample(np.random.default_rng(0), 10)
    for derived in (k.exp(), (0.3 * k).exp(), k.centered(A[:6])):
        assert derived.definiteness_in(3) == PD
        assert derived.check(A).ok
    shifted = k + 2.0 * Linear()
    assert shifted.definiteness_in(3) == CPD(1) and shifted.check(A).ok


def test_centring_removes_the_mean():
    weights = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0, 3.0, 1.0])
    k = Gaussian(0.5).centered(X, weights)
    np.testing.assert_allclose(k(X) @ weights, 0.0, atol=1e-12)
    m = weights / weights.sum()
    H = np.eye(8) - np.ones((8, 1)) * m
    np.testing.assert_allclose(k(X), H @ Gaussian(0.5)(X) @ H.T, atol=1e-12)
    with pytest.raises(ValueError, match="CenteredAt: weights must be 8 finite numbers with a positive sum"):
        Gaussian().centered(X, np.zeros(8))(X)


# ---- the operations one by one


def test_series_checks_its_radius():
    geometric = Linear().series([1.0] * 60, radius=1.0)
    x = np.array([[0.5], [0.25]])
    np.testing.assert_allclose(geometric(x), 1 / (1 - x * x.T), rtol=1e-15)
    with pytest.raises(ValueError, match=r"\|k\| reaches 4 on these data, outside the radius of convergence 1"):
        geometric([[2.0]])
    with pytest.raises(ValueError, match=r"coefficients\[1\] = -1 must be >= 0"):
        Linear().series([1, -1])(x)
    with pytest.raises(ValueError, match="coefficients is empty"):
        Linear().series([])(x)
    with pytest.raises(ValueError, match="radius = 0 must be > 0"):
        Linear().series([1], radius=0)(x)


def test_series_of_the_exponential_converges_to_it():
    terms = np.cumprod([1.0, *(1 / np.arange(1, 25))])
    np.testing.assert_allclose(Affine().series(terms)(X), Affine().exp()(X), rtol=1e-13)


def test_centring_cuts_off_no_label():
    k = registry["delta"]().centered([["abc"], ["abcdef"]])
    np.testing.assert_allclose(k([["abc"], ["abcdef"], ["x"]]), [[0.5, -0.5, 0.0], [-0.5, 0.5, 0.0], [0.0, 0.0, 1.5]])


def test_normalisation_leaves_zero_at_zero_and_refuses_negative_squares():
    np.testing.assert_array_equal(Linear().normalized()([[-2.0], [0.0]]), [[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(Linear().normalized().diag([[-2.0], [0.0]]), [1.0, 0.0])
    with pytest.raises(ValueError, match=r"Normalized: k\(x, x\) = -4 at sample 1 must be >= 0; drop it"):
        (-1 * Linear()).normalized()([[0.0], [2.0]])
    with pytest.raises(ValueError, match="at sample 0"):
        (-1 * Linear()).normalized()([[0.0]], [[2.0]])


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Linear() ** -1, "PowerOf: exponent = -1 must be >= 0"),
        (float("nan") * Linear(), "Scaled: scale = nan must be a finite number"),
        (Linear() ** 0.5, "exponent = 0.5 is not an integer, but the kernel takes negative values"),
        (Linear().on(7), "columns = 7 do not index the 3 columns of X"),
        (Linear().on([]), r"columns = \[\] selects no column"),
        (Linear().on("a"), "columns = 'a' do not index"),
        (Linear().on(slice(5, 9)), "selects no column"),
        (Linear() + Gaussian(-1.0), "Gaussian: lengthscale = -1.0 must be > 0"),
    ],
)
def test_bad_operations(kernel, text):
    with pytest.raises(ValueError, match=text):
        kernel(X)


def test_warp_needs_a_function():
    with pytest.raises(TypeError, match="Warped: function = 3 must be callable"):
        Linear().warp(3)(X)
    with pytest.raises(ValueError, match=r"Linear: f\(X\) contains NaN"):
        Linear().warp(lambda A: A * np.nan)(X)
    with pytest.raises(ValueError, match=f"Warped: function returned 1 samples for {len(X)}"):
        Linear().warp(lambda A: A[:1])(X)


def test_fractional_powers_of_positive_kernels():
    np.testing.assert_allclose((Gaussian() ** 0.5)(X), Gaussian(np.sqrt(2.0))(X), rtol=1e-12)


@pytest.mark.parametrize("columns", [1, [2, 0], slice(1, None), np.array([0, 1]), -1, (0, 2)])
def test_restriction(columns):
    part = np.atleast_2d(X[:, list(columns) if isinstance(columns, tuple) else columns].T).T
    np.testing.assert_allclose(Gaussian().on(columns)(X), Gaussian()(part), rtol=1e-12)
    S = csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
    np.testing.assert_allclose(Linear().on(columns)(S), Linear().on(columns)(S.toarray()), rtol=1e-12)


def test_restriction_knows_the_dimension_inside():
    wendland = registry["wendland"](1, lengthscale=2.0)
    assert wendland.on([0, 1]).definiteness_in(50) == wendland.definiteness_in(2)
    bessel = registry["bessel"](order=0)  # positive definite up to dimension 2
    assert bessel.on([0, 2]).definiteness_in(3) == PD
    assert bessel.on(slice(0, 2)).definiteness_in(3) == PD


def test_tensor_on_pairs():
    k = Gaussian(0.5) @ Linear()
    A, B = X, Y[:, :1]
    B8 = rng.normal(size=(8, 2))
    np.testing.assert_allclose(k((A, B8)), Gaussian(0.5)(A) * (B8 @ B8.T), rtol=1e-12)
    listed = [(list(a), list(b)) for a, b in zip(A, B8, strict=True)]
    np.testing.assert_allclose(k(listed), k((A, B8)), rtol=1e-12)
    np.testing.assert_allclose(k(listed, (A[:2], B8[:2])), k((A, B8))[:, :2], rtol=1e-12)
    with pytest.raises(ValueError, match=r"collections of X have sizes \[8, 5\]; they must be equal"):
        k((A, B))
    with pytest.raises(ValueError, match=r"X\[1\] has 2 columns and Y has 1|X has 2 columns and Y has 1"):
        k((A, B8), (A[:5], B))
    with pytest.raises(TypeError, match="X must be a tuple of 2 collections or a list of tuples of 2 entries"):
        k(A)


def test_tensor_resolves_each_part():
    k = (Gaussian("median") @ Linear()).resolve((X, Y[:, :1].repeat(2, 0)[:8]))
    assert isinstance(k.kernels[0].lengthscale, float)


def test_kernels_on_different_domains():
    with pytest.raises(TypeError, match=r"different domains, .*; use @ for pairs"):
        (Gaussian() + registry["delta"]())(X)
    with pytest.raises(TypeError, match=r"different domains, (?P<one>.*) and (?!(?P=one);).*; use @ for pairs"):
        (Gaussian() + registry["delta"]() + Gaussian(2.0))(X)


def test_domains_meet():
    k = registry["brownian"]() + registry["wavelet"]()
    assert k.domain.lower == 0 and k.domain.upper == 1
    with pytest.raises(ValueError, match=r"Sum: .*X holds -0\.\d+, but must be >= 0"):
        k(X)


def test_abilities_are_those_of_all_parts():
    assert "gradient_x" in (Gaussian() + Linear()).provides
    assert "gradient_x" not in (Gaussian() * Constant()).provides
    assert "feature_map" in (Linear() + 2 * Affine()).provides
    assert "feature_map" not in (Linear() + -1 * Affine()).provides
    with pytest.raises(AttributeError, match="Product does not provide gradient_x; it provides gradient_theta"):
        (Gaussian() * Constant()).gradient_x(X)
    with pytest.raises(AttributeError, match="has no attribute 'gradient_z'"):
        Linear().gradient_z


def test_restriction_to_repeated_columns_claims_nothing_negative():
    k = Bessel(order=0.5)  # PD up to dimension 3
    assert k.on([0, 1, 2, 3]).definiteness == k.on([0, 1, 2, 3]).definiteness_in(5) == INDEFINITE
    assert k.on([0, 0, 0, 0]).definiteness == k.on([0, 0, 0, 0]).definiteness_in(2) == UNKNOWN
    assert k.on([0, 1, 2, -1]).definiteness_in(3) == UNKNOWN
    assert k.on([0, 1, 2, -1]).definiteness_in(4) == INDEFINITE
    assert k.on([True, True, False, False]).definiteness == k.on([True, True, False, False]).definiteness_in(4) == PD
    X = np.random.default_rng(0).normal(size=(30, 1)) * 4
    assert np.linalg.eigvalsh(k.on([0, 0, 0, 0])(X))[0] > -1e-12


@pytest.mark.parametrize("radius", ["1", None, True, 0, -1.0, float("nan")])
def test_series_radius_out_of_range(radius):
    with pytest.raises((TypeError, ValueError), match=r"Series: radius = .* must be"):
        Linear().series([1.0], radius=radius)([[0.5]])


def test_numpy_numbers_multiply_kernels_and_arrays_do_not():
    assert np.float64(2.0) * Linear() == 2.0 * Linear() == Linear() * np.float32(2.0)
    with pytest.raises(TypeError):
        np.ones(2) * Linear()


def test_centred_norm_is_computed_once_and_follows_the_parameters(monkeypatch):
    X = np.random.default_rng(0).normal(size=(20, 2))
    k = Gaussian().centered(X)
    k(X[:3])
    calls = []
    product = Evaluator.product
    monkeypatch.setattr(Evaluator, "product", lambda *a, **b: calls.append(1) or product(*a, **b))
    k(X[:3], X[2:6])
    assert not calls
    k.kernel.lengthscale = 3.0
    np.testing.assert_array_equal(k(X), Gaussian(3.0).centered(X)(X))
    k.set_params(X=X[:5])
    np.testing.assert_array_equal(k(X), Gaussian(3.0).centered(X[:5])(X))
    k.set_params(weights=np.arange(1.0, 6.0))
    np.testing.assert_array_equal(k(X), Gaussian(3.0).centered(X[:5], np.arange(1.0, 6.0))(X))
    assert k(X.astype("float32")).dtype == np.float32
    assert pickle.loads(pickle.dumps(k)) == k


# ---- another origin


@pytest.mark.parametrize(
    "k",
    [
        k
        for k in [*(k for cls in registry.values() for k in cls.examples()), 2.0 * Linear() + Gaussian(0.7) + 1.0]
        if k.drift(np.zeros(3)) is not None
    ]
    + [Linear().on([2, 0, 2]) + Affine(0.5).on(1), 0.5 * (Linear() + White())],
    ids=str,
)
def test_a_shift_changes_a_kernel_by_its_drift(k):
    origin = np.array([0.5, -1.0, 2.0])
    slope = k.drift(origin)
    difference = k(X, Y) - k(X - origin, Y - origin) - (X @ slope)[:, None] - (Y @ slope)[None, :]
    np.testing.assert_allclose(difference, difference[0, 0], atol=1e-12)


def test_far_from_zero_a_linear_part_is_computed_about_the_mean():
    spread = rng.normal(size=(20, 2))
    near, far = Linear().about(spread), Linear().about(spread + 1e8)
    assert near == Linear()
    assert isinstance(far, Translated)
    centred = spread + 1e8 - (spread + 1e8).mean(axis=0)
    np.testing.assert_allclose(far(spread + 1e8), centred @ centred.T, rtol=1e-12, atol=1e-12)
    for k in (Gaussian(), Linear() * Gaussian(), Linear() ** 2):
        assert k.about(spread + 1e8) is k
    assert Linear().about(csr_array(spread + 1e8)) == Linear()


def test_coefficients_that_sum_to_zero_see_a_constant_of_the_shift():
    k, points = 2.0 * Linear() + Gaussian(), rng.normal(size=(6, 2)) + 50.0
    a = rng.normal(size=(6, 2))
    a -= a.mean(axis=0)
    near, new = k.about(points), rng.normal(size=(4, 2))
    assert isinstance(near, Translated)
    np.testing.assert_allclose(k(new, points) @ a, near(new, points) @ a + near.missing_constant(points, a), rtol=1e-9)
    np.testing.assert_allclose(np.sum(a * (k(points) @ a)), np.sum(a * (near(points) @ a)), rtol=1e-9)
