"""The thesis's experiments, quickly: what they find against what is known otherwise."""

import re

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn import svm

from mercer.datasets import load_mnist, make_complex
from mercer.experiments import EXPERIMENTS, circles, gaussian_space, margins, network
from mercer.kernels import Gaussian, Laplace, Polynomial

FREE = ["circles", "circles-pca", "complex-boundary", "margins", "svm-kernels", "gaussian-space", "fourier"]
FIGURES = {"circles": 2, "complex-boundary": 2, "gaussian-space": 4, "fourier": 2, "mnist": 3}


class Table:
    """Rows of a quick run by their names, and the numbers in them."""

    def __init__(self, name, folder):
        self.result = EXPERIMENTS[name].run(quick=True, out=folder)
        self.rows = {row.quantity.strip(): row for row in self.result.rows}
        assert len(self.rows) == len(self.result.rows)

    def numbers(self, quantity, column="ours"):
        text = getattr(self.rows[quantity], column)
        return [float(word) for word in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text.replace("%", ""))]

    def __getitem__(self, quantity):
        return self.numbers(quantity)[0]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Every experiment is run once."""
    folder, found = tmp_path_factory.mktemp("figures"), {}

    def table(name):
        if name not in found:
            found[name] = Table(name, folder)
        return found[name]

    return table


@pytest.mark.long
@pytest.mark.parametrize("name", FREE)
def test_every_experiment_has_a_table_and_figures(tables, name):
    result = tables(name).result
    assert len(result.figures) == FIGURES.get(name, 1)
    assert all(path.stat().st_size > 10_000 for path in result.figures)
    assert all(row.quantity and row.reported and row.ours for row in result.rows)


@pytest.mark.long
def test_five_features_find_the_circle(tables):
    table = tables("circles")
    # beyond a line that leaves out the inner circle are arccos(0.3)/π = 40 % of the outer one: 70 % right
    assert table["a line: right on new points"] < 75
    assert table["five features: right on new points"] > 99
    assert table["X₁², X₂², X₂: right on new points"] > 99
    assert all(0.3 < axis < 1 for axis in table.numbers("half-axes of the boundary"))  # between the two radii
    assert table["weighted features against (xᵀy + 1)²"] < 1e-5


def test_the_conic_of_known_coefficients():
    class Model:
        coef_ = np.array([[-2.0, -8.0, 1.0, 0.0, 4.0]])  # (x₁ − 1)² + 4(x₂ − 1)² − 4
        intercept_ = np.array([1.0])

    centre, axes = circles.conic([Model()])
    assert np.allclose(centre, 1) and np.allclose(sorted(axes), [1, 2])


def test_the_best_threshold_by_trying_all():
    rng = np.random.default_rng(0)
    score, y = rng.normal(size=30), rng.integers(0, 2, 30)
    tried = [np.mean((score > t) == (y == c)) for t in [-9, *score] for c in (0, 1)]
    assert circles._threshold(score, y) == pytest.approx(max(tried))


@pytest.mark.long
def test_kernel_pca_of_circles(tables):
    table = tables("circles-pca")
    assert table["xᵀy + 1 against PCA"] < 1e-10
    assert table["Gaussian: the best single component"] > 95
    assert table["polynomial: the best single component"] > 90
    assert table["linear: the best single component"] < 75  # as of any line


@pytest.mark.long
def test_more_features_help_until_they_do_not(tables):
    table = tables("complex-boundary")
    errors = {d: table[f"degree {d}: cross-validated error"] for d in (1, 2, 3, 5, 7, 9, 12)}
    assert errors[1] > 15 > errors[3] > errors[5]
    assert errors[int(table["degree that cross-validation chooses"])] == min(errors.values())
    assert len(table.numbers("degrees within a standard error of it")) > 1
    # 2, 5, 9, … monomials in two variables besides the constant
    assert [table.numbers(f"degree {d}: cross-validated error", "remark")[0] for d in (1, 2, 3)] == [2, 5, 9]


def _to_segments(point, ends):
    """The least distance to a segment between two of the points: in the plane, that to an edge of their hull."""
    a, step = ends[:, None], ends[None] - ends[:, None]
    length = np.maximum((step**2).sum(axis=-1), 1e-300)
    t = np.clip(((point - a) * step).sum(axis=-1) / length, 0, 1)
    return np.linalg.norm(a + t[..., None] * step - point, axis=-1).min()


@pytest.mark.long
def test_the_margin_is_the_distance_of_the_convex_hulls(tables):
    table = tables("margins")
    X, y = margins.clouds(7.0)
    sides = X[y == 1], X[y == -1]
    hulls = min(_to_segments(point, other) for own, other in (sides, sides[::-1]) for point in own)
    assert table["separable: width of the margin, 2/‖β‖"] == pytest.approx(hulls, abs=1e-4)
    assert table["twice the smallest distance"] == table["separable: width of the margin, 2/‖β‖"]


@pytest.mark.long
def test_slack_equals_libsvm_s(tables):
    table = tables("margins")
    X, y = margins.clouds(2.5)
    for C in (0.05, 1.0, 100.0):
        reference = svm.SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
        slack = np.maximum(0, 1 - y * reference.decision_function(X)).sum()
        width = 2 / np.linalg.norm(reference.coef_)
        assert table.numbers(f"C = {C:g}: margin, Σ ξ") == pytest.approx([width, slack], abs=0.006)
    primal, dual = table.numbers("objective (3.17) and its dual (3.22)")[-2:]
    assert primal == pytest.approx(dual, abs=1e-4)


@pytest.mark.long
def test_three_kernels_against_libsvm(tables):
    table = tables("svm-kernels")
    X, y = make_complex(300, flip=margins.FLIP, random_state=0)
    d = np.linalg.norm(X[:, None] - X[None], axis=-1)
    matrices = {"Linear": X @ X.T, "Gaussian": np.exp(-(d**2) / 0.02), "Log": -np.log(d**0.5 + 1)}
    for name, K in matrices.items():
        wrong = 1 - svm.SVC(kernel="precomputed", C=10).fit(K, y).score(K, y)
        assert table[f"{name}: error on the sample"] == pytest.approx(100 * wrong, abs=0.4)  # one point of 300
        assert table[f"{name}: error on new points"] >= 10
    assert table["Log: error on new points"] < table["Linear: error on new points"]


@pytest.mark.long
def test_features_of_the_gaussian_kernel(tables):
    table = tables("gaussian-space")
    assert table["dimensions of 12 points, Gaussian"] == 12
    for width in (0.5, 1.0, 2.0):
        # Rasmussen, Williams (2006), 4.3.1: λⱼ ∝ Bʲ under N(0, 1)
        a, b = 1 / 4, 1 / (2 * width**2)
        ratio = b / (a + b + np.sqrt(a**2 + 2 * a * b))
        assert table[f"σ = {width:g}: each eigenvalue over the one before"] == pytest.approx(ratio, abs=1e-4)
    (small,), (large,) = (
        [table.numbers(key) for key in table.rows if key.startswith(start)] for start in ("σ = 0.02:", "σ = 5:")
    )
    assert small[0] == 0 and small[1] > 30  # by heart
    assert large[1] - large[0] < small[1] - small[0]
    assert table["k(x, y) against k₁(x₁, y₁) k₂(x₂, y₂)"] < 1e-14


def test_uniform_approximation_of_a_corner():
    x = np.linspace(-1, 1, 201)[:, None]
    target = np.abs(x[:, 0])
    centres = np.linspace(-1, 1, 9)[:, None]
    cubic = gaussian_space.closest(Polynomial(3, offset=1.0), centres, x, target)
    assert np.allclose(cubic, x[:, 0] ** 2 + 1 / 8, atol=1e-7)  # Chebyshev's alternation: five equal deviations
    for kernel in (Gaussian(0.3), Laplace(0.3)):
        few, many = (
            np.abs(gaussian_space.closest(kernel, np.linspace(-1, 1, m)[:, None], x, target) - target).max()
            for m in (9, 33)
        )
        assert many < few / 2 and many < 0.02


@pytest.mark.long
def test_fourier_transforms_and_roughness(tables):
    table = tables("fourier")
    assert table["transform of Gaussian: quadrature − formula"] < 1e-8
    assert table["transform of Laplace: quadrature − formula"] < 1e-8
    assert table["Gaussian, σ = 0.5: width in frequency"] == pytest.approx(2, abs=1e-3)
    assert table["Gaussian, σ = 2: width in frequency"] == pytest.approx(0.5, abs=1e-3)
    assert table["Gaussian: (f(x + h) − f(x))² ∝ h^p, p"] == pytest.approx(2, abs=0.05)
    assert table["Laplace: (f(x + h) − f(x))² ∝ h^p, p"] == pytest.approx(1, abs=0.05)


@pytest.mark.long
def test_the_machines_for_digits_are_libsvm_s(data_dir, tables):
    table = tables("mnist")
    assert len(table.result.figures) == 3
    train, test = (load_mnist(subset=part, scale="signed") for part in ("train", "test"))
    for name, reference in (("linear", svm.SVC(kernel="linear")), ("Gaussian", svm.SVC(C=2, gamma=0.0039))):
        right = reference.fit(train.data[:1000], train.target[:1000]).score(test.data[:1000], test.target[:1000])
        assert table[f"{name} machine: accuracy"] == pytest.approx(100 * right, abs=0.21)  # two digits
    assert np.log2(table["grid search: γ"]) == pytest.approx(table.numbers("grid search: γ", "remark")[1], abs=1e-3)


@pytest.mark.long
def test_fine_tuning_helps_the_network(data_dir, tables):
    table = tables("network")
    before, after = (table[f"network {word} fine-tuning: accuracy"] for word in ("without", "with"))
    assert after > before + 5 and after > 75
    assert table["sigmoid kernel: negative eigenvalues of K"] > 0


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    return rng.uniform(0.1, 0.9, (7, 5)), rng.integers(0, 3, 7), rng


def _check(cost, layers, rng):
    shapes = [part.shape for layer in layers for part in layer]
    ends = np.cumsum([np.prod(shape) for shape in shapes])[:-1]

    def split(theta):
        parts = [part.reshape(shape) for part, shape in zip(np.split(theta, ends), shapes, strict=True)]
        return [network.Layer(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]

    def slope(theta):
        return np.concatenate([part.ravel() for layer in cost(split(theta))[1] for part in layer])

    theta = rng.normal(size=sum(np.prod(shape) for shape in shapes))
    assert check_grad(lambda t: cost(split(t))[0], slope, theta) < 1e-5 * max(1, np.linalg.norm(slope(theta)))


def test_gradients_of_the_networks(small, monkeypatch):
    X, y, rng = small
    monkeypatch.setattr(network, "ROWS", 3)
    _check(network.autoencoder_cost(X), [network.Layer.drawn(5, 4, rng), network.Layer.drawn(4, 5, rng)], rng)
    _check(network.network_cost(X, y), [network.Layer.drawn(*shape, rng) for shape in ((5, 4), (4, 2), (2, 3))], rng)


def test_cost_of_an_autoencoder_by_its_definition(small):
    X, _, rng = small
    encode, decode = network.Layer.drawn(5, 4, rng), network.Layer.drawn(4, 5, rng)
    total, mean = 0.0, np.zeros(4)
    for x in X:
        h = 1 / (1 + np.exp(-(x @ encode.weights + encode.bias)))
        mean += h / 7
        total += np.sum((1 / (1 + np.exp(-(h @ decode.weights + decode.bias))) - x) ** 2) / 14
    total += 0.003 / 2 * (np.sum(encode.weights**2) + np.sum(decode.weights**2))
    total += 3 * np.sum(0.1 * np.log(0.1 / mean) + 0.9 * np.log(0.9 / (1 - mean)))
    assert network.autoencoder_cost(X)([encode, decode])[0] == pytest.approx(total)
