"""The space of a kernel: reproducing property, independence of the representation, the representer theorem."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mercer import RKHS, Function
from mercer._array import host
from mercer.basis import Functions, Polynomials
from mercer.domains import Indices, Rows
from mercer.kernels import (
    Affine,
    Bessel,
    Callable,
    Constant,
    FiniteDomain,
    Gaussian,
    Laplace,
    Linear,
    Log,
    Matern,
    Polynomial,
    Power,
    Precomputed,
    Sigmoid,
    ThinPlate,
    registry,
)
from mercer.kernels.algebra import ALGEBRA
from mercer.testing import move


def own_dimension(kernel):
    return kernel.domain.dimension(kernel.domain.sample(np.random.default_rng(0), 2))


POSITIVE = [
    pytest.param(k, id=f"{cls.__name__}-{i}")
    for cls in [*registry.values(), *ALGEBRA]
    for i, k in enumerate(cls.examples())
    if not isinstance(k.domain, Rows) and k.definiteness_in(own_dimension(k)).is_pd
]
SMOOTH = [Gaussian(0.9), Gaussian(np.array([0.7, 1.5])), Matern(2.5), Polynomial(3), Affine(0.5) + Gaussian()]
SEEDS = st.integers(0, 2**32 - 1)


def functions(kernel, seed, sizes=(4, 5), outputs=None):
    """Random functions of the kernel's space, on points of its own domain, and more points."""
    rng = np.random.default_rng(seed)
    H, domain = RKHS(kernel), kernel.domain
    pool = domain.check(domain.sample(rng, 12), kernel)

    def some(n):
        return domain.take(pool, rng.permutation(domain.size(pool))[:n])

    shape = () if outputs is None else (outputs,)
    return H, *(H.function(some(n), rng.normal(size=(n, *shape))) for n in sizes), some(6)


def close(a, b, scale=1.0, tol=1e-9):
    a, b = host(a).astype(float), host(b).astype(float)
    np.testing.assert_allclose(a, b, rtol=0, atol=tol * max(scale, 1e-300))


# ---- the laws of the inner product, over the registry


@pytest.mark.parametrize("kernel", POSITIVE)
def test_reproducing_property(kernel):
    H, f, Z = functions(kernel, 0, sizes=(5,))
    values = host(f(Z))
    scale = np.abs(host(H.bound(f, Z))).max()
    for i in range(kernel.domain.size(Z)):
        z = kernel.domain.take(Z, slice(i, i + 1))
        assert H.inner(f, H.evaluation(z)) == pytest.approx(values[i], abs=1e-9 * scale)
    assert np.all(np.abs(values) <= host(H.bound(f, Z)) * (1 + 1e-9) + 1e-9 * scale)


@pytest.mark.parametrize("kernel", POSITIVE)
def test_the_kernel_is_the_inner_product_of_evaluations(kernel):
    H, Z = functions(kernel, 1, sizes=())
    x, y = (kernel.domain.take(Z, slice(i, i + 1)) for i in (0, 1))
    k = host(kernel(x, y))[0, 0]
    assert H.inner(H.evaluation(x), H.evaluation(y)) == pytest.approx(k, abs=1e-12 * max(1, abs(k)))


@pytest.mark.parametrize("kernel", POSITIVE)
def test_values_against_the_definition(kernel):
    _, f, g, Z = functions(kernel, 2)
    expected = host(kernel(Z, f.points)) @ f.coefficients
    scale = np.abs(host(kernel(Z, f.points))).max() * np.abs(f.coefficients).sum()
    close(f(Z), expected, scale, 1e-12)
    K = host(kernel(f.points, g.points))
    assert f.inner(g) == pytest.approx(f.coefficients @ K @ g.coefficients, abs=1e-10 * max(1, np.abs(K).max() * 30))


@given(st.sampled_from([p.values[0] for p in POSITIVE]), SEEDS, st.floats(-3, 3), st.floats(-3, 3))
def test_inner_product_is_linear_and_symmetric(kernel, seed, s, t):
    H, f, g, h, _ = functions(kernel, seed, sizes=(3, 4, 5))
    scale = 10 * (f.norm() + g.norm()) * h.norm()
    assert H.inner(s * f + t * g, h) == pytest.approx(s * H.inner(f, h) + t * H.inner(g, h), abs=1e-9 * scale)
    assert H.inner(f, h) == pytest.approx(H.inner(h, f), abs=1e-10 * scale)
    assert H.inner(f, f) >= -1e-10 * f.norm() ** 2
    assert (s * f).norm() == pytest.approx(abs(s) * f.norm(), rel=1e-9, abs=1e-12)


@given(st.sampled_from([p.values[0] for p in POSITIVE]), SEEDS)
def test_distance_is_a_metric(kernel, seed):
    H, f, g, h, Z = functions(kernel, seed, sizes=(3, 4, 5))
    size = f.norm() + g.norm() + h.norm()
    assert f.distance(g) == pytest.approx(g.distance(f), abs=1e-7 * size)
    assert f.distance(h) <= f.distance(g) + g.distance(h) + 1e-7 * size
    assert f.distance(f) <= 1e-7 * size
    assert abs(H.inner(f, g)) <= f.norm() * g.norm() + 1e-9 * size**2
    # Definition 2 of the space: evaluation is Lipschitz, |f(x) − g(x)| ≤ ‖f − g‖ √k(x, x)
    gap = np.abs(host(f(Z)) - host(g(Z)))
    assert np.all(gap <= (f.distance(g) + 1e-7 * size) * np.sqrt(np.maximum(host(kernel.diag(Z)), 0)) + 1e-9 * size)


# ---- the representation does not matter


@given(st.sampled_from([p.values[0] for p in POSITIVE]), SEEDS)
def test_independence_of_the_representation(kernel, seed):
    H, f, g, Z = functions(kernel, seed)
    rng = np.random.default_rng(seed)
    domain, n = kernel.domain, len(f)
    order = rng.permutation(n)
    shares = rng.uniform(-2, 2, size=n)
    permuted = H.function(domain.take(f.points, order), f.coefficients[order])
    split = H.function(domain.join([f.points, f.points]), np.concatenate([shares, f.coefficients - shares]))
    rebuilt = f.restrict(slice(0, 2)) + f.restrict(np.arange(2, n))
    there_and_back = f + g - g
    size = f.norm() + g.norm() + np.abs(shares).sum() * np.sqrt(np.abs(host(kernel.diag(f.points))).max())
    for other in (permuted, split, rebuilt, there_and_back):
        close(other(Z), f(Z), scale=np.abs(host(H.bound(f, Z))).max() + size**2)
        assert other.norm() == pytest.approx(f.norm(), abs=1e-7 * size)
        assert other.inner(g) == pytest.approx(f.inner(g), abs=1e-9 * size**2)
        assert other.distance(f) <= 1e-7 * size


def test_vector_space_operations(xp):
    H = RKHS(Gaussian(0.8))
    X = xp.asarray(np.array([[0.0], [1.0], [2.5]]))
    f, g = H.function(X, [1.0, -2.0, 0.5]), H.function(X[:2, :], [3.0, 1.0])
    Z = xp.asarray(np.linspace(-1, 3, 7)[:, None])
    for h, expected in [
        (f + g, host(f(Z)) + host(g(Z))),
        (f - g, host(f(Z)) - host(g(Z))),
        (-f, -host(f(Z))),
        (2 * f, 2 * host(f(Z))),
        (f * 2, 2 * host(f(Z))),
        (np.float64(2.0) * f, 2 * host(f(Z))),
        (f * np.float32(2.0), 2 * host(f(Z))),
        (f / 4, host(f(Z)) / 4),
    ]:
        assert isinstance(h, Function) and isinstance(h(Z), type(Z))
        close(h(Z), expected)
    assert len(f + g) == 5


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), Polynomial(2), Laplace()], ids=str)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_libraries_and_types(kernel, dtype, xp):
    H, f, g, Z = functions(kernel, 3, sizes=(6, 7), outputs=2)
    tol = 1e-10 if dtype == "float64" else 1e-5
    ours = [H.function(move(h.points, xp, dtype), h.coefficients) for h in (f, g)]
    z = move(Z, xp, dtype)
    scale = max(1.0, np.abs(host(f(Z))).max(), f.norm().max() * g.norm().max(), f.norm().max() ** 2)
    first = ours[0]
    for value, expected in [
        (first(z), f(Z)),
        (first.inner(ours[1]), f.inner(g)),
        (first.norm(), f.norm()),
        ((first + ours[1])(z), (f + g)(Z)),
        (first.restrict([0, 3])(z), f.restrict([0, 3])(Z)),
        (H.bound(first, z), H.bound(f, Z)),
        (H.mean(z)(z), H.mean(Z)(Z)),
    ]:
        assert isinstance(value, type(z)) and value.dtype == z.dtype
        close(value, expected, scale * 10, tol)
    projected = H.project(first, z)
    assert projected(z).dtype == z.dtype
    close(projected(z), f(Z), scale * 10, 1e-7 if dtype == "float64" else 2e-3)
    small, lost = first.compress(2)
    assert small(z).dtype == z.dtype and lost.dtype == z.dtype
    close(small(z), f.compress(2)[0](Z), scale * 10, tol * 100)


# ---- vector-valued functions


def test_vector_valued():
    H = RKHS(Gaussian())
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(5, 2)), rng.normal(size=(5, 3))
    f, Z = H.function(X, A), rng.normal(size=(4, 2))
    assert f(Z).shape == (4, 3) and f.derivative(Z).shape == (4, 2, 3) and f.norm().shape == (3,)
    assert H.bound(f, Z).shape == (4, 3)
    for j in range(3):
        one = H.function(X, A[:, j])
        close(f[j](Z), one(Z))
        close(f(Z)[:, j], one(Z))
        close(f.derivative(Z)[:, :, j], one.derivative(Z))
        assert f.norm()[j] == pytest.approx(one.norm())
        assert f.distance(2 * f)[j] == pytest.approx(one.norm())
        assert H.project(f, Z)[j].norm() == pytest.approx(H.project(one, Z).norm())
    with pytest.raises(TypeError, match="one output"):
        one[0]
    with pytest.raises(ValueError, match=r"f has 3 outputs and g one output"):
        f + one


# ---- derivatives


@pytest.mark.parametrize("kernel", SMOOTH, ids=str)
@pytest.mark.parametrize("degree", [None, 0, 1, 3])
def test_derivative_against_differences(kernel, degree, xp):
    rng = np.random.default_rng(4)
    X, Z, a = rng.normal(size=(6, 2)), rng.normal(size=(5, 2)), rng.normal(size=6)
    basis = None if degree is None else Polynomials(degree)
    free = None if basis is None else rng.normal(size=basis(X).shape[1])
    f = Function(kernel, X, a, basis, free)
    h = 1e-5
    expected = np.stack([(f(Z + e) - f(Z - e)) / (2 * h) for e in h * np.eye(2)], axis=1)
    g = Function(kernel, xp.asarray(X), xp.asarray(a), basis, None if free is None else xp.asarray(free))
    assert isinstance(g.derivative(xp.asarray(Z)), type(g.points))
    close(g.derivative(xp.asarray(Z)), expected, np.abs(expected).max(), 1e-8)


def test_derivative_refusals():
    H = RKHS(Laplace())
    with pytest.raises(AttributeError, match="gradient_x"):
        H.function([[0.0]], [1.0]).derivative([[1.0]])
    f = Function(Gaussian(), np.zeros((1, 1)), np.ones(1), Functions([np.ravel]), np.ones(1))
    with pytest.raises(TypeError, match="without known derivatives"):
        f.derivative([[1.0]])


def test_free_part():
    X, Z = np.array([[0.0], [1.0]]), np.array([[0.5], [3.0]])
    f = Function(Gaussian(), X, np.array([1.0, 2.0]), Polynomials(1), np.array([5.0, -1.0]))
    kernel_part = Function(Gaussian(), X, np.array([1.0, 2.0]))
    close(f(Z), kernel_part(Z) + 5 - Z[:, 0])
    close((f + kernel_part)(Z), f(Z) + kernel_part(Z))
    close((kernel_part - f)(Z), Z[:, 0] - 5)
    close((f + 2 * f)(Z), 3 * f(Z))
    close(f.restrict([True, False])(Z), kernel_part.restrict([0])(Z) + 5 - Z[:, 0])
    assert f.norm() == kernel_part.norm()
    H = RKHS(Gaussian())
    close(H.project(f, Z)(Z), f(Z))
    with pytest.raises(ValueError, match="free parts differ"):
        f + Function(Gaussian(), X, np.ones(2), Polynomials(0), np.ones(1))
    with pytest.raises(ValueError, match="unpenalised part"):
        H.bound(f, Z)


# ---- restrict, compress


def test_restrict():
    f = RKHS(Gaussian()).function(np.arange(5.0)[:, None], np.arange(5.0))
    mask = np.array([False, True, False, False, True])
    for index in (mask, mask.tolist(), [1, 4], [1, -1], slice(1, 5, 3)):
        assert f.restrict(index).coefficients.tolist() == [1.0, 4.0]
        assert f.restrict(index).points.ravel().tolist() == [1.0, 4.0]
    with pytest.raises(ValueError, match="index selects no points"):
        f.restrict([False] * 5)
    with pytest.raises(IndexError):
        f.restrict([7])


@pytest.mark.parametrize("outputs", [None, 2])
@pytest.mark.parametrize("kernel", [Gaussian(1.5), Laplace(), Linear(), Polynomial(2), Affine() @ Gaussian()], ids=str)
def test_compress(kernel, outputs):
    _, f, _ = functions(kernel, 6, sizes=(9,), outputs=outputs)
    size = np.max(f.norm())
    last = np.inf
    for rank in range(1, 10):
        g, lost = f.compress(rank)
        assert len(g) <= rank and g.coefficients.ndim == f.coefficients.ndim
        close(lost, f.distance(g), size, 1e-6)
        # best on its points: the rest is orthogonal to them
        close((f - g)(g.points), 0 * f(g.points), size, 1e-7)
        total = np.sqrt(np.sum(np.square(lost)))
        assert total <= last + 1e-7 * size
        last = total
    assert last <= 1e-6 * size


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Polynomial(4)], ids=str)
def test_each_step_of_compress_is_the_best(kernel):
    """Against trying every point; k(x, x) is not constant for the polynomial kernel."""
    H, f, _ = functions(kernel, 7, sizes=(8,))
    chosen = []
    for _ in range(3):
        tries = [(f.distance(H.project(f, f.points[[*chosen, i]])), i) for i in range(8) if i not in chosen]
        best, i = min(tries)
        chosen.append(i)
        g, lost = f.compress(len(chosen))
        assert lost == pytest.approx(best, rel=1e-6)
        np.testing.assert_array_equal(g.points, f.points[chosen])


def test_compress_duplicates_and_zero():
    H = RKHS(Gaussian())
    X = np.repeat(np.array([[0.0], [1.0], [2.0]]), 4, axis=0)
    g, lost = H.function(X, np.ones(12)).compress(12)
    assert len(g) == 3 and lost <= 1e-7
    close(np.sort(g.coefficients), np.full(3, 4.0))
    zero, lost = (0 * H.function(X, np.ones(12))).compress(2)
    assert lost == 0 and zero.norm() == 0
    pairs = RKHS(Gaussian() @ Linear())
    zero, lost = (0 * pairs.function((X, X), np.ones(12))).compress(2)
    assert lost == 0 and len(zero) == 1 and zero((X, X)).tolist() == [0.0] * 12
    with pytest.raises(ValueError, match=r"compress: rank = 0 must be >= 1"):
        zero.compress(0)


# ---- projection, and the representer theorem


@pytest.mark.parametrize("kernel", POSITIVE)
def test_projection(kernel):
    H, f, Z = functions(kernel, 8, sizes=(4,))
    p = H.project(f, Z)
    size = f.norm() + 1e-12
    close(p(Z), f(Z), np.abs(host(H.bound(f, Z))).max(), 1e-6)
    rest = f - p
    for i in range(kernel.domain.size(Z)):
        z = kernel.domain.take(Z, slice(i, i + 1))
        assert (
            abs(H.inner(rest, H.evaluation(z))) <= 1e-6 * size * np.sqrt(float(host(kernel.diag(z))[0])) + 1e-9 * size
        )
    assert p.norm() ** 2 + rest.norm() ** 2 == pytest.approx(f.norm() ** 2, abs=1e-6 * size**2)
    assert p.norm() <= f.norm() + 1e-6 * size
    assert H.project(p, Z).distance(p) <= 1e-5 * size


def losses():
    return {
        "squares": lambda y, v: float(np.sum((y - v) ** 2)),
        "absolute": lambda y, v: float(np.sum(np.abs(y - v))),
        "worst": lambda y, v: float(np.max(np.abs(y - v))),
        "pairwise": lambda y, v: float(np.sum(np.maximum(0, 1 - np.subtract.outer(y, y) * np.subtract.outer(v, v)))),
    }


@pytest.mark.parametrize("loss", losses().values(), ids=losses().keys())
@given(SEEDS, st.sampled_from([Gaussian(), Laplace(), Matern(1.5), Polynomial(6)]))
def test_representer_theorem(loss, seed, kernel):
    """f = f∥ + f⊥ with f∥ in the span of the k(·, xᵢ): the loss sees f∥ alone, and f⊥ only raises the norm."""
    rng = np.random.default_rng(seed)
    H, X, y = RKHS(kernel), rng.normal(size=(5, 2)), rng.normal(size=5)
    wild = H.function(rng.normal(size=(12, 2)), rng.normal(size=12))
    inside = H.project(wild, X)
    orthogonal = wild - inside
    for t in (0.5, 1.0, 3.0):
        f = inside + t * orthogonal
        assert loss(y, f(X)) == pytest.approx(loss(y, inside(X)), rel=1e-5, abs=1e-5)
        assert f.norm() ** 2 == pytest.approx(inside.norm() ** 2 + t**2 * orthogonal.norm() ** 2, rel=1e-5, abs=1e-6)
        assert f.norm() >= inside.norm() - 1e-6


def test_projection_is_minimum_norm_interpolation():
    """‖Pf‖² = yᵀΘ⁻¹y for the values y at the points."""
    H, rng = RKHS(Laplace(0.7)), np.random.default_rng(9)
    f, Z = H.function(rng.normal(size=(10, 2)), rng.normal(size=10)), rng.normal(size=(4, 2))
    y = f(Z)
    assert H.project(f, Z).norm() ** 2 == pytest.approx(y @ np.linalg.solve(H.kernel(Z), y))


# ---- means and evaluations


@given(st.sampled_from([p.values[0] for p in POSITIVE]), SEEDS)
def test_mean_element(kernel, seed):
    H, f, Z = functions(kernel, seed, sizes=(4,))
    values = host(f(Z))
    n = len(values)
    scale = np.abs(host(H.bound(f, Z))).max()
    assert H.inner(f, H.mean(Z)) == pytest.approx(values.mean(), abs=1e-9 * scale)
    w = np.random.default_rng(seed).uniform(size=n)
    assert H.inner(f, H.mean(Z, w)) == pytest.approx(w @ values, abs=1e-9 * n * scale)


def test_evaluation_takes_a_point_or_a_collection_of_one(xp):
    H = RKHS(Gaussian())
    f = H.function(xp.asarray(np.array([[0.0, 1.0], [2.0, 2.0]])), [1.0, 3.0])
    x = xp.asarray(np.array([0.5, 0.5]))
    for form in (x, x[None, :]):
        assert H.inner(f, H.evaluation(form)) == pytest.approx(float(f(x[None, :])[0]))
    assert H.evaluation([0.5, 0.5]).points.tolist() == [[0.5, 0.5]]
    with pytest.raises(ValueError, match="neither one point nor a collection of one"):
        H.evaluation(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="contains NaN"):
        H.evaluation([np.nan, 0.0])
    assert RKHS(FiniteDomain(np.eye(3))).evaluation(2)([0, 1, 2]).tolist() == [0.0, 0.0, 1.0]


# ---- other data


def common_letters(a, b):
    return float(len(set(a) & set(b)))


def test_functions_of_strings():
    """A kernel of Python objects: |A ∩ B| on sets of letters is the linear kernel of 26 indicators."""
    H = RKHS(Callable(common_letters))
    words = ["kernel", "space", "norm", "mercer", "point"]
    f = H.function(words, [1.0, -1.0, 2.0, 0.5, 1.5])
    indicator = np.array([[float(c in w) for c in "abcdefghijklmnopqrstuvwxyz"] for w in words])
    w = indicator.T @ f.coefficients
    assert f.norm() == pytest.approx(np.linalg.norm(w))
    assert f(["rank"])[0] == pytest.approx(sum(w["abcdefghijklmnopqrstuvwxyz".index(c)] for c in "rank"))
    assert H.inner(f, H.evaluation("rank")) == pytest.approx(f(["rank"])[0])
    assert H.inner(f, H.evaluation(["rank"])) == pytest.approx(f(["rank"])[0])
    assert (f + f.restrict([0])).points == [*words, "kernel"]
    g, lost = f.compress(2)
    assert len(g) == 2 and set(g.points) <= set(words) and lost == pytest.approx(f.distance(g))
    assert f.compress(5)[1] == pytest.approx(0.0, abs=1e-7)
    assert H.project(f, ["rank", "norm"])(["rank", "norm"]) == pytest.approx(f(["rank", "norm"]))
    assert H.mean(words)(["space"])[0] == pytest.approx(np.mean([common_letters(v, "space") for v in words]))


def test_functions_of_pairs(xp):
    """The tensor product: ⟨f₁⊗f₂, g₁⊗g₂⟩ = ⟨f₁, g₁⟩⟨f₂, g₂⟩."""
    k1, k2 = Gaussian(), Affine()
    H = RKHS(k1 @ k2)
    A, B = xp.asarray(np.array([[0.0], [1.0]])), xp.asarray(np.array([[1.0, 2.0], [0.0, -1.0]]))
    f, g = (H.function((A[i : i + 1, :], B[i : i + 1, :]), [1.0]) for i in (0, 1))
    expected = float(k1(A)[0, 1]) * float(k2(B)[0, 1])
    assert H.inner(f, g) == pytest.approx(expected)
    h = f + g
    close(h((A, B)), np.diag(host(k1(A)) * host(k2(B))) + expected)
    assert h.norm() ** 2 == pytest.approx(f.norm() ** 2 + g.norm() ** 2 + 2 * expected)
    as_list = [(np.array([0.0]), np.array([1.0, 2.0]))]
    assert RKHS(k1 @ k2).evaluation(as_list).norm() == pytest.approx(f.norm())
    assert RKHS(k1 @ k2).evaluation(as_list[0]).norm() == pytest.approx(f.norm())
    assert h.restrict([1])((A, B)).shape == (2,)


def test_finite_domain(xp):
    K = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]])
    H = RKHS(FiniteDomain(K))
    f = H.function(xp.asarray([0, 2, 1]), [1.0, -1.0, 2.0])
    g = H.function(xp.asarray([1]), [1.0])
    everywhere = xp.asarray([0, 1, 2])
    values, other = host(f(everywhere)), host(g(everywhere))
    close(values, K @ np.array([1.0, 2.0, -1.0]))
    assert f.inner(g) == pytest.approx(values @ np.linalg.solve(K, other))
    assert f.norm() ** 2 == pytest.approx(values @ np.linalg.solve(K, values))
    assert isinstance(H.kernel.domain, Indices)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), Polynomial(2), Affine()], ids=str)
def test_sparse_points(kernel):
    rng = np.random.default_rng(10)
    X = np.where(rng.uniform(size=(9, 4)) < 0.5, rng.normal(size=(9, 4)), 0.0)
    H, a = RKHS(kernel), rng.normal(size=9)
    f, s = H.function(X, a), H.function(csr_array(X), a)
    close(s(csr_array(X)), f(X))
    close(s(X), f(X))
    close(f(csr_array(X)), f(X))
    assert s.norm() == pytest.approx(f.norm()) and (s + s).norm() == pytest.approx(2 * f.norm())
    assert s.compress(3)[1] == pytest.approx(f.compress(3)[1], abs=1e-7)
    close(H.project(s, csr_array(X[:3]))(X), H.project(f, X[:3])(X))


def test_explicit_features_are_the_same_function():
    """Many points of a kernel with few features are summed in feature space; the values must not tell."""
    rng = np.random.default_rng(11)
    X, Z, a = rng.normal(size=(50, 2)), rng.normal(size=(7, 2)), rng.normal(size=50)
    for kernel in (Linear(), Affine(), Polynomial(2), Constant(2.0)):
        f = RKHS(kernel).function(X, a)
        close(f(Z), kernel(Z, X) @ a, 50.0)
        assert f.norm() ** 2 == pytest.approx(a @ kernel(X) @ a, rel=1e-9)
        few = f.restrict([0])
        assert f.inner(few) == pytest.approx(a @ kernel(X, X[:1])[:, 0] * a[0])
        assert np.linalg.norm(f.weights()) == pytest.approx(f.norm())
    with pytest.raises(AttributeError, match="feature_map"):
        RKHS(Gaussian()).function(X, a).weights()


def test_pickle_and_text():
    f = RKHS("gaussian(lengthscale=2.0)").function([[0.0], [1.0]], [1.0, 2.0])
    copy = pickle.loads(pickle.dumps(f))
    assert copy.distance(f) == 0 and copy([[0.5]]) == f([[0.5]])
    assert repr(f) == "<Function in the space of gaussian(lengthscale=2.0): 2 points>"
    assert repr(RKHS("gaussian(lengthscale=2.0)")) == "RKHS(gaussian(lengthscale=2.0))"
    assert RKHS("linear") == RKHS(Linear()) != RKHS(Affine())


# ---- refusals


@pytest.mark.parametrize("kernel", [Power(1.5), Log(1.0)], ids=str)
def test_conditionally_definite_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match=r"CPD\(1\).*centered"):
        RKHS(kernel)
    X = np.random.default_rng(0).normal(size=(4, 2))
    assert RKHS(kernel.centered(X)).function(X, np.ones(4)).norm() >= 0


@pytest.mark.parametrize(
    "kernel", [Sigmoid(), Polynomial(3, offset=-1.0), FiniteDomain([[0.0, 2.0], [2.0, 0.0]])], ids=str
)
def test_indefinite_kernels_are_refused(kernel):
    with pytest.raises(ValueError, match="no reproducing kernel Hilbert space"):
        RKHS(kernel).function([[1.0]], [1.0])


def test_definiteness_in_the_dimension_of_the_points():
    """J₁ is positive definite up to dimension 4 only."""
    H = RKHS(Bessel(order=1))
    assert H.function(np.zeros((1, 2)), [1.0]).norm() > 0
    with pytest.raises(ValueError, match="INDEFINITE in dimension 8"):
        H.function(np.zeros((1, 8)), [1.0])


def test_other_refusals():
    with pytest.raises(ValueError, match="no reproducing kernel Hilbert space"):
        RKHS(ThinPlate())
    for kernel in (Precomputed(), 2.0 * Precomputed()):
        with pytest.raises(TypeError, match="FiniteDomain"):
            RKHS(kernel)
    f, g = (RKHS(k).function([[1.0]], [1.0]) for k in (Gaussian(), Gaussian(2.0)))
    for operation in (lambda: f + g, lambda: f.inner(g), lambda: f.distance(g)):
        with pytest.raises(ValueError, match="different spaces"):
            operation()
    for operation in (lambda: RKHS(Gaussian()).bound(g, [[0.0]]), lambda: RKHS(Gaussian()).project(g, [[0.0]])):
        with pytest.raises(ValueError, match=r"f is in the space of .*, not of"):
            operation()
    with pytest.raises(ValueError, match=r"f is in the space of .*, not of"):
        RKHS(Gaussian()).inner(g, g)
    with pytest.raises(TypeError):
        f * g
    with pytest.raises(TypeError):
        f + 1.0


def test_bad_coefficients_and_points():
    H = RKHS(Gaussian())
    with pytest.raises(ValueError, match=r"shape \(3,\); expected \(2,\) or \(2, t\)"):
        H.function([[0.0], [1.0]], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="NaN or infinity"):
        H.function([[0.0]], [np.inf])
    with pytest.raises(ValueError, match=r"reshape\(-1, 1\)"):
        H.function([0.0, 1.0], [1.0, 2.0])
    f = H.function(np.zeros((1, 1)), [1.0])
    with pytest.raises(TypeError, match="float32"):
        f + H.function(np.zeros((1, 1), dtype="float32"), [1.0])
    with pytest.raises(ValueError, match="columns"):
        f.inner(H.function(np.zeros((1, 2)), [1.0]))
    with pytest.raises(ValueError, match=r"resolve\(X\)"):
        RKHS("gaussian(lengthscale='median')").function([[0.0]], [1.0])


def test_libraries_do_not_mix(xp):
    other = (
        np.zeros((1, 1)) if xp.__name__ != "array_api_compat.numpy" else __import__("array_api_strict").zeros((1, 1))
    )
    f = RKHS(Gaussian()).function(xp.zeros((1, 1), dtype=xp.float64), [1.0])
    with pytest.raises(TypeError, match="convert one"):
        f(other)


def test_functions_of_a_precomputed_matrix_have_no_inner_product():
    K = np.array([[2.0, 1.0], [1.0, 2.0]])
    f = Function(Precomputed(), np.arange(2), np.array([1.0, -1.0]))
    close(f(K), K @ f.coefficients)
    for operation in (f.norm, lambda: f.compress(1)):
        with pytest.raises(TypeError, match="FiniteDomain"):
            operation()


@pytest.mark.parametrize("other", [3, None, "g", np.ones(3)], ids=["number", "None", "text", "array"])
def test_what_is_no_function_has_no_distance_from_one(other):
    space = RKHS(Gaussian())
    f = space.function([[0.0], [1.0]], [1.0, 2.0])
    for call in (f.distance, f.inner, lambda g: space.inner(g, f)):
        with pytest.raises(TypeError, match=f"expected a Function, .* not a {type(other).__name__}"):
            call(other)
    with pytest.raises(TypeError):
        f - other
