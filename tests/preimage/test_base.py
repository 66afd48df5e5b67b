"""What every method has in common: the targets, the distances that are reported, errors."""

import numpy as np
import pytest
import scipy.sparse as sp

from mercer import RKHS, KernelRidge
from mercer.gram import Nystrom, RandomFeatures
from mercer.kernels import (
    Affine,
    Cosine,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Power,
    RationalQuadratic,
    Wendland,
)
from mercer.preimage import Auto, DistanceBased, FixedPoint, Gradient, Learned, PreImage, as_preimage
from mercer.preimage._base import Targets, form
from mercer.space import Function

METHODS = [FixedPoint(), DistanceBased(), Learned(), Gradient(), Auto()]


def sample(n=40, d=3, m=6, seed=0):
    rng = np.random.default_rng(seed)
    G = rng.uniform(size=(n, m)) ** 8  # mixtures of a few points each
    return rng.normal(size=(n, d)), G / G.sum(axis=0)


def brute_distance(kernel, X, G, Y):
    K, C, D = kernel(X), kernel(Y, X), kernel(Y)
    return np.array([np.sqrt(max(D[j, j] - 2 * C[j] @ g + g @ K @ g, 0)) for j, g in enumerate(G.T)])


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize(
    "kernel", [Gaussian(2.0), RationalQuadratic(), Matern(2.5, np.array([1.0, 2.0, 3.0]))], ids=str
)
def test_distance_is_that_of_the_definition(method, kernel) -> None:
    X, G = sample()
    found = method.find(RKHS(kernel).function(X, G))
    assert found.points.shape == (6, 3) and found.fallback.shape == (6,) and found.fallback.dtype == bool
    assert np.allclose(found.distance, brute_distance(kernel, X, G, found.points), rtol=1e-6, atol=1e-7)
    assert found.method in {"FixedPoint", "DistanceBased", "Learned", "Gradient"}


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_small_blocks_change_nothing(method, monkeypatch) -> None:
    X, G = sample()
    target = RKHS(Gaussian(2.0)).function(X, G)
    whole = method.find(target)
    monkeypatch.setattr("mercer.preimage._base.BLOCK", 100)
    parts = method.find(target)
    assert np.allclose(parts.points, whole.points, rtol=0, atol=1e-5)
    assert np.allclose(parts.distance, whole.distance, rtol=0, atol=1e-7)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_known_norm_gives_the_same(method) -> None:
    X, G = sample()
    target = RKHS(Gaussian(2.0)).function(X, G)
    ours, told = method.find(target), method.find(target, norm=target.norm())
    assert np.allclose(told.points, ours.points, atol=1e-9) and np.allclose(told.distance, ours.distance, atol=1e-8)


def test_single_precision_comes_back() -> None:
    X, G = sample()
    single = RKHS(Gaussian(2.0)).function(X.astype(np.float32), G.astype(np.float32))
    found, exact = FixedPoint().find(single), FixedPoint().find(RKHS(Gaussian(2.0)).function(X, G))
    assert found.points.dtype == np.float32 and found.distance.dtype == np.float32
    assert np.allclose(found.points, exact.points, atol=1e-4)


def test_one_column_is_one_target() -> None:
    X, G = sample()
    found = FixedPoint().find(RKHS(Gaussian(2.0)).function(X, G[:, 0]))
    assert found.points.shape == (1, 3) and found.distance.shape == (1,)


def test_form_is_what_the_kernel_is_a_function_of() -> None:
    matrix = np.array([[1.0, 0.3, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.5]])
    for kernel in (Gaussian(1e-3), Gaussian(matrix), Matern(1.5, np.array([1.0, 5.0, 0.1])), Laplace()):
        assert form(kernel, 3) == "distance"
    for kernel in (Linear(), Affine(), Polynomial(3)):
        assert form(kernel, 3) == "product"
    for kernel in (Laplace(norm=1), Periodic(), Cosine(), 2 * Gaussian()):
        assert form(kernel, 3) is None
    assert form(Laplace(norm=1), 1) == "distance"


@pytest.mark.parametrize(
    "kernel",
    [Gaussian(np.array([[1.0, 0.3], [0.0, 0.8]])), Polynomial(3), Matern(1.5), Gaussian(0.7) * Linear(), Cosine()],
    ids=str,
)
def test_derivatives_by_differences(kernel) -> None:
    X, G = sample(d=2)
    targets = Targets(Gradient(), RKHS(kernel).function(X, G))
    Y, h = np.random.default_rng(1).normal(size=(6, 2)), 1e-6
    value, pull = targets.ascent(Y, G.T)
    assert np.allclose(value, np.sum(kernel(Y, X) * G.T, axis=1))
    for c in range(2):
        up, down = Y + h * np.eye(2)[c], Y - h * np.eye(2)[c]
        t = [np.sum(kernel(P, X) * G.T, axis=1) for P in (up, down)]
        assert np.allclose(pull[:, c], (t[0] - t[1]) / (2 * h), atol=1e-7)
        own = (kernel.diag(up) - kernel.diag(down)) / (4 * h)
        assert np.allclose(targets.own_ascent(Y)[:, c], own, atol=1e-6)


def test_nearest_is_the_nearest_in_the_space() -> None:
    X, G = sample()
    kernel = Polynomial(2)
    targets = Targets(Learned(), RKHS(kernel).function(X, G))
    each = np.stack([brute_distance(kernel, X, np.tile(g[:, None], 40), X) for g in G.T])
    assert np.array_equal(targets.nearest(slice(None), 40), np.argsort(each, axis=1))
    assert np.array_equal(targets.nearest(slice(None), 4), np.argsort(each, axis=1)[:, :4])


@pytest.mark.parametrize("representation", [Nystrom(rank=30), RandomFeatures(rank=200)], ids=lambda r: type(r).__name__)
def test_functions_of_low_rank_models(representation) -> None:
    """What a method has kept of an approximated kernel is a function as well: its features have no derivative."""
    X, _ = sample(60)
    gram = representation.build(Gaussian(3.0), X, np.random.default_rng(0))
    target = Function(*gram.expansion(np.eye(60)[:, :5]))
    found = Auto().find(target)
    assert found.method == ("FixedPoint" if isinstance(representation, Nystrom) else "Learned")
    assert np.all(np.linalg.norm(found.points - X[:5], axis=1) < 0.5 * np.linalg.norm(X[:5], axis=1))


# ---- names and errors


@pytest.mark.parametrize(
    ("name", "cls"),
    [("fixed_point", FixedPoint), ("distance_based", DistanceBased), ("learned", Learned), ("gradient", Gradient)],
)
def test_names(name, cls) -> None:
    assert type(as_preimage(name)) is cls


def test_object_is_kept_and_unknown_refused() -> None:
    method = FixedPoint(tol=1e-3)
    assert as_preimage(method) is method and isinstance(as_preimage("auto"), PreImage)
    with pytest.raises(ValueError, match=r"preimage = 'mika' is unknown.*'fixed_point'"):
        as_preimage("mika")


@pytest.mark.parametrize(
    ("kernel", "method"),
    [
        (Gaussian(), "FixedPoint"),
        (Matern(0.5), "DistanceBased"),
        (Laplace(), "DistanceBased"),
        (Laplace(norm=1), "Learned"),
        (Polynomial(2), "Gradient"),
        (2 * Gaussian() + Linear(), "Gradient"),
        (Wendland(0, 3.0), "DistanceBased"),
        (Wendland(1, 3.0), "FixedPoint"),
    ],
    ids=str,
)
def test_auto_goes_by_the_kernel(kernel, method) -> None:
    X, G = sample()
    found = Auto().find(RKHS(kernel).function(X, G))
    assert found.method == method and found.choice.startswith(f"{method}: ")


def test_refusals() -> None:
    X, G = sample()
    target = RKHS(Gaussian()).function(X, G)
    with pytest.raises(ValueError, match=r"FixedPoint: start of shape \(6, 2\).*\(6, 3\)"):
        FixedPoint().find(target, start=np.zeros((6, 2)))
    with pytest.raises(ValueError, match=r"Gradient: start .* finite"):
        Gradient().find(target, start=np.full((6, 3), np.nan))
    with pytest.raises(ValueError, match=r"norm of shape \(1,\)"):
        Learned().find(target, norm=[1.0])
    with pytest.raises(ValueError, match=r"Learned: .* is strictly CPD.*centered"):
        Learned().find(Function(Power(1.0), X, G))
    with pytest.raises(ValueError, match="unpenalised part"):
        ridge = KernelRidge(kernel="rbf", fit_intercept=True).fit(X, X[:, 0])
        Learned().find(ridge.function_)
    with pytest.raises(TypeError, match="not a dense array"):
        FixedPoint().find(RKHS(Gaussian()).function(sp.csr_array(X), G))
    with pytest.raises(TypeError, match="not a dense array"):
        Learned().find(Function(RKHS("linear").kernel, ["a", "b"], np.ones((2, 1))))


@pytest.mark.parametrize(
    ("method", "centred"),  # a centred kernel has no gradient, and is no function of the distance
    [*((m, False) for m in METHODS[:-1]), (Learned(width=None), False), (Learned(), True), (Learned(width=None), True)],
    ids=str,
)
def test_tensors_stay_tensors(method, centred) -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    X, G = rng.normal(size=(30, 2)), np.eye(30)[:, :4] + 0.1 * rng.uniform(size=(30, 4))
    found = []
    for points, coefficients in ((X, G), (torch.tensor(X), torch.tensor(G))):
        kernel = Gaussian(2.0).centered(points) if centred else Gaussian(2.0)
        found.append(method.find(Function(kernel, points, coefficients)))
    here, there = found
    assert isinstance(there.points, torch.Tensor) and isinstance(there.distance, torch.Tensor)
    assert np.allclose(there.points.numpy(), here.points, atol=1e-6)
    assert np.allclose(there.distance.numpy(), here.distance, atol=1e-6)
    assert np.array_equal(there.fallback, here.fallback)


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (FixedPoint(max_iter=0), "max_iter = 0"),
        (FixedPoint(tol=0.0), "tol = 0.0"),
        (FixedPoint(n_init=0), "n_init = 0"),
        (DistanceBased(1), "n_neighbors = 1"),
        (Learned(0.0), "alpha = 0.0"),
        (Learned(width=0), "width = 0"),
        (Gradient(n_init=0), "n_init = 0"),
        (Gradient(memory=0), "memory = 0"),
    ],
)
def test_parameters_out_of_range(method, said) -> None:
    X, G = sample()
    with pytest.raises(ValueError, match=said):
        method.find(RKHS(Gaussian()).function(X, G))
