"""Products on a device by compiled programs: their formulas, their numbers in Triton's interpreter and on CUDA."""

import json
import os
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from mercer import KernelPCA, KernelRidge
from mercer.evaluation import FusedEvaluator, _fused, bind
from mercer.evaluation._trace import SYMBOLS, Printed, Symbol, sampled, trace
from mercer.kernels import (
    Affine,
    Cauchy,
    Gaussian,
    InverseMultiquadric,
    Laplace,
    Linear,
    Log,
    Matern,
    Periodic,
    Polyharmonic,
    Polynomial,
    Power,
    RationalQuadratic,
    Sigmoid,
    Wendland,
    registry,
)
from mercer.kernels.finite import Callable
from mercer.testing import check_evaluator

rng = np.random.default_rng(4)
X, Y = rng.normal(size=(43, 7)), rng.normal(size=(60, 7))
V = rng.normal(size=(60, 3))

ELEMENTARY = [
    Gaussian(0.9),
    Gaussian(rng.uniform(0.5, 2, 7)),
    Laplace(1.1),
    Matern(0.5),
    Matern(1.5, np.eye(7) + 0.1),
    Matern(2.5),
    Matern(np.inf),
    RationalQuadratic(),
    RationalQuadratic(alpha=0.7),
    RationalQuadratic(alpha=1e5),
    Cauchy(2.0),
    InverseMultiquadric(0.5),
    Log(),
    Power(1.5),
    Polyharmonic(2),
    Periodic(3.0),
    Wendland(1, 4.0),
    Linear(),
    Affine(2.0),
    Polynomial(3, 0.3, 1.0),
    Sigmoid(0.01),
    Sigmoid(0.5),
    2.5 * Gaussian() + Laplace(2.0) + 0.5,
    Gaussian(2.0) * Linear(),
    (Gaussian() + 0.1) ** 3,
    (0.1 * Linear()).exp(),
    Gaussian().on([0, 2]) + Matern(1.5).on(slice(1, 7)),
]
OTHER = [
    Laplace(norm=1),
    Matern(0.8),
    Polynomial(2.5, 0.01, 9.0),
    Gaussian().normalized(),
    Callable(min),
    Gaussian() @ Linear(),
]


class Doubled(Gaussian):
    """Its evaluate is not what its profile says."""

    def evaluate(self, X, Y=None):
        return 2 * super().evaluate(X, Y)


@pytest.mark.parametrize("kernel", ELEMENTARY, ids=str)
def test_a_formula_gives_the_values_of_its_kernel(kernel):
    _, geometries = trace(kernel, X[:1], np.float64)
    x, y = X[:1], Y[:1]
    values = []
    for geometry in geometries:
        a, b = geometry.image(x), geometry.image(y)
        centre = b.mean(axis=0)
        a, b = (a - centre, b - centre) if geometry.distances else (a, b)
        a, b = (a, b) if geometry.scale is None else (geometry.scale(a), geometry.scale(b))
        values.append(np.sum((a - b) ** 2) if geometry.distances else np.sum(a * b))
    np.testing.assert_allclose(sampled(kernel, x, values), kernel.evaluate(x, y)[0, 0], rtol=1e-12)


@pytest.mark.parametrize("kernel", [*OTHER, Doubled()], ids=str)
def test_other_kernels_have_no_program(kernel):
    assert trace(kernel, X[:1], np.float64) is None


def test_most_registered_kernels_of_vectors_have_a_formula():
    found = {name for name, cls in registry.items() if any(trace(k, X[:1, :3], np.float32) for k in cls.examples())}
    assert found == {
        "affine", "cauchy", "epanechnikov", "gaussian", "inverse_multiquadric", "laplace", "linear", "log", "matern",
        "multiquadric", "periodic", "polyharmonic", "polynomial", "power", "rational_quadratic", "sigmoid",
        "thin_plate", "tophat", "triangular", "wendland",
    }  # fmt: skip


def test_kernels_of_one_distance_share_it():
    assert len(trace(Gaussian(2.0) + Laplace(0.3) * Matern(1.5), X[:1], np.float32)[1]) == 1
    assert len(trace(Gaussian(2.0) + Linear(), X[:1], np.float32)[1]) == 2
    assert len(trace(Gaussian().on(0) + Gaussian().on(1), X[:1], np.float32)[1]) == 2


def printed(function, x):
    """The value of a function of one geometry, from its program, with NumPy in place of Triton."""
    out = Printed(["s"])
    result = out(function(Symbol("geometry", value=0, dtype=np.dtype(x.dtype))))
    names = ("exp", "exp2", "log", "log2", "sqrt", "where", "maximum", "minimum", "abs")
    tl = SimpleNamespace(rsqrt=lambda t: 1 / np.sqrt(t), **{name: getattr(np, name) for name in names})
    space = {"tl": tl, "s": x, **{f"c{i}": x.dtype.type(c) for i, c in enumerate(out.constants)}}
    with np.errstate(all="ignore"):
        exec("\n".join(out.lines), space)
    return space[result]


FUNCTIONS = {
    "exp": lambda x, xp: xp.exp(-0.3 * x),
    "log": lambda x, xp: xp.log(2 + x),
    "log1p": lambda x, xp: xp.log1p(x),
    "power of 1 + x": lambda x, xp: xp.exp(-1.5 * xp.log1p(x / 3)),
    "high power of 1 + x": lambda x, xp: xp.exp(-1e6 * xp.log1p(x / 1e6)),
    "tanh": lambda x, xp: xp.tanh(x),
    "tanh of negative": lambda x, xp: xp.tanh(-2 * x),
    "roots": lambda x, xp: x**0.5 + x**1.5 / xp.sqrt(1 + x),
    "powers": lambda x, xp: (1 + x) ** -3 + x**7 * 1e-12 + (2 + x) ** 0.3,
    "where": lambda x, xp: xp.where(x > 1, 2.0, xp.where(x <= 0.1, 1.0, x)),
    "clip": lambda x, xp: xp.clip(1 - x, 0.0, None) + xp.maximum(x, 2.0) + xp.minimum(x, 3.0),
    "arithmetic": lambda x, xp: 2 + (3 * x + 1) / (4 + abs(x - 5)) - (-1 / (1 + x) - 0.0) * 3,
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_keep_the_digits_of_functions(name, dtype):
    x = np.append(0.0, np.logspace(-9, 1.5, 200)).astype(dtype)
    expected = FUNCTIONS[name](x.astype(np.float64), np)
    found = printed(lambda s: FUNCTIONS[name](s, SYMBOLS), x)
    np.testing.assert_allclose(found, expected, rtol=40 * np.finfo(dtype).eps, atol=0)


def test_long_recurrences_are_traced_once_or_not_at_all():
    out = Printed(["s"])
    out(trace(Matern(20.5), X[:1], np.float64)[0])
    assert len(out.lines) < 120
    assert trace(Matern(500.5), X[:1], np.float64) is None


def test_symbols_have_no_values():
    s = Symbol("geometry", value=0, dtype=np.dtype("float32"))
    for use in (
        bool,
        float,
        int,
        len,
        iter,
        np.asarray,
        np.exp,
        lambda t: t[0],
        lambda t: np.float64(2) * t if t else 0,
    ):
        with pytest.raises((AttributeError, TypeError)):
            use(s)
    assert type(np.float64(2) * s) is Symbol
    assert s + 0 is s and 1 * s is s


@pytest.mark.parametrize("far", [1.0, 30.0])
def test_half_precision_columns_give_the_distances(far):
    torch = pytest.importorskip("torch")
    A = torch.asarray(X * far, dtype=torch.float32)
    B = A + 1e-4 * torch.asarray(Y[:43], dtype=torch.float32)  # close pairs
    kernel = Gaussian()
    geometry = trace(kernel, A[:1], np.float32)[1][0]
    points = _fused.Points(geometry, A, B)
    left, right = (_fused._prepared([points], side, slice(0, 43), True).double() for side in (True, False))
    found = (left @ right.T * points.square).numpy()[:43, :43]
    exact = ((A[:, None].double() - B[None].double()) ** 2).sum(dim=-1).numpy()
    resolution = max(points.lengths) * 2.0**-23  # of coordinates
    assert np.abs(np.sqrt(np.abs(found)) - np.sqrt(exact)).max() < 4 * resolution
    leading = _fused._triton.parts(7)[0]
    whole = (left[:, :leading] @ right[:, :leading].T).numpy()[:43, :43]
    assert np.array_equal(whole, np.rint(whole)) and whole.min() >= 0 and whole.max() < 2**24


def test_collections_on_the_host_are_left_to_others():
    assert not FusedEvaluator.suits(Gaussian(), X)
    torch = pytest.importorskip("torch")
    assert not FusedEvaluator.suits(Gaussian(), torch.asarray(X))
    assert not FusedEvaluator.suits(Callable(min), ["a"])


# ---- in Triton's interpreter, which must be chosen before Triton is imported

INTERPRETED = """
import json, sys
import numpy as np, torch
from mercer.evaluation import FusedEvaluator, _fused
sys.path.insert(0, sys.argv[1])
import test_fused as cases
_fused.SMALL = 0
found = {}
def case(label, kernel, X, Y, V, dtype):
    A, B, W = (None if Z is None else torch.asarray(Z, dtype=dtype) for Z in (X, Y, V))
    out = FusedEvaluator(kernel, A, B)._fused(W)
    found[label] = None if out is None else cases.error(kernel, A, A if B is None else B, W, out)
cases.run(case, torch, sys.argv[2])
print(json.dumps(found))
"""


def error(kernel, A, B, W, out):
    """The largest error of an entry of K V, relative to the sum of |kᵢⱼ vⱼ|, with kᵢⱼ of at least a percent of kᵢᵢ.

    Near the edge of their support, kernels such as 1 − r have few digits in any arithmetic.
    """
    A, B, W, out = (Z.double().cpu().numpy() for Z in (A, B, W, out))
    K = kernel(A, B)
    sizes = np.maximum(np.abs(K), 0.01 * np.abs(kernel.diag(A))[:, None]) @ np.abs(W)
    return float(np.max(np.abs(out - K @ W)[sizes > 0] / sizes[sizes > 0]))


def run(case, torch, which):
    """Call case(label, kernel, X, Y, V, type) for some or all kernels."""
    if which == "few":
        for kernel in (Gaussian(0.9), Matern(1.5), Polynomial(3, 0.3), Gaussian().on([0, 2]) + Laplace(2.0)):
            case(f"{kernel} float32", kernel, X, Y, V, torch.float32)
        case("gaussian float64", Gaussian(), X, Y, V, torch.float64)
        case("laplace, one collection", Laplace(), Y, None, V, torch.float32)
        case("one vector", Gaussian(), X, Y, V[:, 0], torch.float32)
        case("many columns", Gaussian(), X, Y, np.tile(V, 30), torch.float32)
        case("wide", Gaussian(3.0), np.tile(X, 12), np.tile(Y, 12), V, torch.float32)
        case("very wide", Polynomial(2, 0.01), np.tile(X, 50), np.tile(Y, 50), V, torch.float32)
        case(
            "long and short vectors",
            Polynomial(6),
            *(Z * np.logspace(-2, 1, len(Z))[:, None] for Z in (X, Y)),
            V,
            torch.float32,
        )
        case("far from 0", Gaussian(), 1e3 + X, 1e3 + Y, V, torch.float32)
        case("far apart", RationalQuadratic(0.005), X, Y, V, torch.float32)
        return
    narrow = [k for cls in registry.values() for k in cls.examples()]
    for kernel in [k for k in narrow if trace(k, X[:1, :3], np.float32)]:
        for dtype in (torch.float32, torch.float64):
            case(f"{kernel} {dtype}", kernel, X[:, :3], Y[:, :3], V, dtype)
            case(f"{kernel} {dtype}, one collection", kernel, Y[:, :3], None, V, dtype)
    for kernel in ELEMENTARY:
        case(f"{kernel}, seven columns", kernel, X, Y, V, torch.float32)
        case(f"{kernel}, seven columns, one collection", kernel, Y, None, V, torch.float32)


def interpreted(which):
    pytest.importorskip("torch")
    pytest.importorskip("triton", minversion="3.9" if np.lib.NumpyVersion(np.__version__) >= "2.4.0" else None)
    result = subprocess.run(
        [sys.executable, "-c", INTERPRETED, os.path.dirname(__file__), which],
        env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def good(found):
    assert found
    bad = {k: e for k, e in found.items() if e is None or not e < (1e-13 if "float64" in k else 4e-6)}
    assert not bad


def test_programs_give_the_product():
    good(interpreted("few"))


@pytest.mark.long
def test_programs_of_all_kernels_give_the_product():
    good(interpreted("all"))


# ---- on a device


@pytest.fixture
def cuda(monkeypatch):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    pytest.importorskip("triton")
    monkeypatch.setattr(_fused, "SMALL", 0)
    return torch


def on(torch, A, dtype="float32"):
    return torch.asarray(A, dtype=getattr(torch, dtype), device="cuda")


@pytest.mark.cuda
@pytest.mark.parametrize("which", ["few", "all"])
def test_all_kernels_on_a_device(cuda, which):
    found = {}

    def case(label, kernel, X, Y, V, dtype):
        A, B, W = (None if Z is None else cuda.asarray(Z, dtype=dtype, device="cuda") for Z in (X, Y, V))
        out = FusedEvaluator(kernel, A, B)._fused(W)
        found[label] = None if out is None else error(kernel, A, A if B is None else B, W, out)

    run(case, cuda, which)
    good(found)


@pytest.mark.cuda
@pytest.mark.parametrize("kernel", [Gaussian(2.0), Gaussian() + 0.3 * Linear(), Matern(0.8), Laplace(norm=1)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_all_operations_agree_on_a_device(cuda, kernel, dtype):
    values = bind(kernel, on(cuda, X, dtype))
    assert type(values) is FusedEvaluator
    check_evaluator(values, tol=1e-5)
    check_evaluator(bind(kernel, on(cuda, X, dtype), on(cuda, Y, dtype)), tol=1e-5)


@pytest.mark.cuda
@pytest.mark.parametrize("sign", [np.abs, np.asarray], ids=["positive", "both signs"])
def test_long_sums_keep_their_digits(cuda, sign):
    A, W = rng.normal(size=(150_000, 6)), sign(rng.normal(size=(150_000, 2)))
    out = bind(Gaussian(), on(cuda, A[:300]), on(cuda, A)).product(on(cuda, W)).double().cpu().numpy()
    exact = Gaussian()(A[:300], A) @ W
    assert np.linalg.norm(out - exact) < 4e-6 * np.linalg.norm(exact)


@pytest.mark.cuda
def test_equal_points_have_distance_zero(cuda):
    A = rng.normal(size=(512, 20))
    W = np.eye(512)[:, :40]
    out = bind(Laplace(0.1), on(cuda, np.tile(A, (3, 1)) + 1e3), on(cuda, A + 1e3)).product(on(cuda, W)).cpu().numpy()
    for k in range(3):
        np.testing.assert_allclose(np.diagonal(out[512 * k :][:40]), 1.0, rtol=1e-6)


@pytest.mark.cuda
def test_gradients_are_left_to_torch(cuda):
    A = on(cuda, X).requires_grad_()
    out = bind(Gaussian(), A, on(cuda, Y)).product(on(cuda, V))
    out.sum().backward()
    assert A.grad is not None


@pytest.mark.cuda
def test_estimators_use_programs(cuda, monkeypatch):
    count = []
    original = FusedEvaluator._fused

    def counted(self, W):
        out = original(self, W)
        count.append(out is not None)
        return out

    monkeypatch.setattr(FusedEvaluator, "_fused", counted)
    A = rng.normal(size=(400, 5))
    y = np.sin(A[:, 0])
    model = KernelRidge(1e-2, kernel=Gaussian(1.5), gram="lazy").fit(on(cuda, A), on(cuda, y))
    exact = KernelRidge(1e-2, kernel=Gaussian(1.5), gram="dense").fit(A, y)
    assert count and all(count)
    count.clear()
    np.testing.assert_allclose(model.predict(on(cuda, A + 0.1)).cpu().numpy(), exact.predict(A + 0.1), atol=2e-3)
    assert count and all(count)
    count.clear()
    components = KernelPCA(3, kernel=Gaussian(1.5), gram="lazy").fit(on(cuda, A)).eigenvalues_
    np.testing.assert_allclose(
        np.asarray(components.cpu()), KernelPCA(3, kernel=Gaussian(1.5)).fit(A).eigenvalues_, rtol=1e-3
    )
    assert count and all(count)


def test_failures_of_a_program_are_told_once(monkeypatch):
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton")
    monkeypatch.setattr(_fused, "SMALL", 0)

    def fail(*args):
        raise RuntimeError("no compiler\nat all")

    monkeypatch.setattr(FusedEvaluator, "_fused", fail)
    values = FusedEvaluator(Gaussian(), torch.tensor(X))
    V = torch.ones((len(X), 1), dtype=torch.float64)
    with pytest.warns(UserWarning, match="in blocks, more slowly, as their program failed: RuntimeError: no compiler$"):
        found = values.product(V)
    np.testing.assert_allclose(found.numpy(), Gaussian()(X) @ V.numpy(), rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        values.product(V)
