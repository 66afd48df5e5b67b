"""The thesis's experiments, quickly: what they find against what is known otherwise."""

import re
import warnings

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn import svm
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from mercer.datasets import load_mnist
from mercer.experiments import EXPERIMENTS, circles, complex_boundary, gaussian_space, margins, mnist_table, network
from mercer.experiments._base import standard_error
from mercer.io.libsvm import subset
from mercer.kernels import Gaussian, Laplace, Polynomial

FREE = ["circles", "circles-pca", "complex-boundary", "margins", "svm-kernels", "gaussian-space", "fourier"]
FIGURES = {"circles": 2, "complex-boundary": 2, "gaussian-space": 4, "fourier": 2, "mnist": 3}


class Table:
    """Rows of a quick run by their names, and the numbers in them. A warning is an error: users would see it."""

    def __init__(self, name, folder):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
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


def test_a_figure_is_kept_only_if_nothing_went_wrong(tmp_path):
    def broken(result, quick, draw):
        with draw("whole", figsize=(1, 1)):
            pass
        with draw("half"):
            raise ZeroDivisionError

    result_of = EXPERIMENTS["circles"].__class__("broken", "", "", 0.0, broken)
    with pytest.raises(ZeroDivisionError):
        result_of.run(out=tmp_path / "new")
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["broken_whole.png"]


def test_the_standard_error_of_a_search():
    X, y = margins.clouds(2.5)
    search = GridSearchCV(svm.SVC(kernel="linear"), {"C": [1.0]}, cv=5).fit(X, y)
    scores = cross_val_score(svm.SVC(kernel="linear", C=1.0), X, y, cv=5)
    assert standard_error(search) == pytest.approx(np.std(scores, ddof=1) / np.sqrt(5))


@pytest.mark.long
def test_five_features_find_the_circle(tables):
    table = tables("circles")
    # beyond a line that leaves out the inner circle are arccos(1/2)/π = 1/3 of the outer one: 67 % right
    assert table["a line: right on new points"] < 70
    for name in ("five features", "X₁², X₂², X₂"):
        assert table[f"{name}: right on new points"] > 99
        assert all(1 < axis < 2 for axis in table.numbers(f"{name}: half-axes of the boundary"))  # between the radii
        assert np.allclose(table.numbers(f"{name}: its centre"), [0, 2], atol=0.2)
    assert table["weighted features against (xᵀy + 1)²"] < 1e-5


def test_the_circles_are_those_of_the_thesis_s_program():
    X, y = circles.rings(4000, seed=0)
    for label, radius in ((0, 2), (1, 1)):
        length = np.linalg.norm(X[y == label], axis=1)
        assert length.mean() == pytest.approx(radius, abs=0.02) and length.std() == pytest.approx(0.1, abs=0.01)
        exact = radius * np.exp(1j * np.linspace(0, 2 * np.pi, 2000))  # its angles are equal, not drawn
        spread = X[y == label] - np.column_stack([exact.real, exact.imag])
        assert spread.std() == pytest.approx(0.1, abs=0.005)


def test_the_conic_of_known_coefficients():
    # (x₁ − 1)² + 4(x₂ − 1)² − 4
    centre, axes = circles.conic(np.array([-2.0, -8.0, 1.0, 0.0, 4.0]), 1.0)
    assert np.allclose(centre, 1) and np.allclose(sorted(axes), [1, 2])
    # turned by 45°: (x₁ + x₂)²/2 + 4(x₁ − x₂)²/2 − 1
    centre, axes = circles.conic(np.array([0.0, 0.0, 2.5, -3.0, 2.5]), -1.0)
    assert np.allclose(centre, 0) and np.allclose(sorted(axes), [0.5, 1])


@pytest.mark.long
def test_kernel_pca_of_circles(tables):
    table = tables("circles-pca")
    assert table["xᵀy + 1 against PCA"] < 1e-10
    # (xᵀy + 1)² has five features besides the constant, and of those the radius varies least
    assert table["polynomial: components until a line separates"] == 5
    assert table.rows["linear: components until a line separates"].ours == "never: it has 2"
    for name in ("Gaussian", "linear", "polynomial"):
        assert table.numbers(f"{name}: a line in components 1 and 2")[0] < 70
    X, y = circles.rings(400, seed=0)
    K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2))
    H = np.eye(len(X)) - 1 / len(X)
    values, vectors = np.linalg.eigh(H @ K @ H)
    scores = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0))
    fits = [svm.SVC(kernel="linear", C=1e4).fit(scores[:, :q], y).score(scores[:, :q], y) for q in range(1, 9)]
    assert table["Gaussian: components until a line separates"] == 1 + fits.index(1)


@pytest.mark.long
def test_more_features_help_until_they_do_not(tables):
    table = tables("complex-boundary")
    errors = {d: table[f"degree {d}: cross-validated error"] for d in (1, 2, 3, 5, 7, 9, 12)}
    assert errors[1] > 15 > errors[3] > errors[5]
    assert errors[int(table["degree that cross-validation chooses"])] == min(errors.values())
    assert len(table.numbers("degrees within a standard error of it")) > 1


def test_how_many_monomials_there_are():
    for degree in (1, 2, 5):
        listed = [(i, j) for i in range(degree + 1) for j in range(degree + 1) if 0 < i + j <= degree]
        assert complex_boundary.monomials(degree) == len(listed)


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
    for C in (0.05, 0.5, 100.0):
        reference = svm.SVC(kernel="linear", C=C, tol=1e-6).fit(X, y)
        slack = np.maximum(0, 1 - y * reference.decision_function(X)).sum()
        width = 2 / np.linalg.norm(reference.coef_)
        assert table.numbers(f"C = {C:g}: margin, Σ ξ") == pytest.approx([width, slack], abs=0.006)
    primal, dual = table.numbers("objective (3.17) and its dual (3.22)")[-2:]
    assert primal == pytest.approx(dual, abs=1e-4)


@pytest.mark.long
def test_three_kernels_against_libsvm(tables):
    table = tables("svm-kernels")
    X, y = margins.overlapping()
    d = np.linalg.norm(X[:, None] - X[None], axis=-1)
    matrices = {
        "Linear": X @ X.T,
        "Gaussian": np.exp(-(d**2) / (2 * 0.1**2)),
        "Log": -np.log(d**0.5 + 1),
        "Log of the program": -np.log((d**2) ** 0.5 + 1),
    }
    for name, K in matrices.items():
        reference = svm.SVC(kernel="precomputed", C=1).fit(K, y)
        wrong = 100 * (1 - reference.score(K, y))
        assert table[f"{name}: error on the sample"] == pytest.approx(wrong, abs=0.55)  # one point of 211
        assert table.numbers(f"{name}: error on the sample", "remark")[0] == pytest.approx(
            len(reference.support_), abs=2
        )
        assert table[f"{name}: error on new points"] >= 10
    errors = {name: table[f"{name}: error on new points"] for name in matrices}
    assert errors["Gaussian"] < errors["Log"] < errors["Linear"]


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
    assert table.numbers("largest deviation from |x|: (xᵀy + 1)³") == [0.125] * 5
    for name in ("Gaussian", "Laplace"):
        deviations = table.numbers(f"largest deviation from |x|: {name}")
        assert deviations == sorted(deviations, reverse=True) and deviations[-1] < 0.01


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
    from_matrix, from_integral = table.numbers("‖f‖² from K, and by (2.37)")
    places, weights = np.array([0, 0.4, 1.5]), np.array([1, -0.7, 0.4])
    norm = weights @ np.exp(-2 * (places[:, None] - places) ** 2) @ weights  # σ = 0.5
    assert from_matrix == from_integral == pytest.approx(norm, abs=1e-6)
    assert table["Gaussian: (f(x + h) − f(x))² ∝ h^p, p"] == pytest.approx(2, abs=0.05)
    assert table["Laplace: (f(x + h) − f(x))² ∝ h^p, p"] == pytest.approx(1, abs=0.05)


@pytest.mark.long
def test_the_machines_for_digits_are_libsvm_s(data_dir, tables):
    table = tables("mnist")
    assert len(table.result.figures) == 3
    train, test = (load_mnist(subset=part, scale="signed") for part in ("train", "test"))
    for name, reference in (("linear", svm.SVC(kernel="linear", C=2)), ("Gaussian", svm.SVC(C=2, gamma=0.0039))):
        right = reference.fit(train.data[:1000], train.target[:1000]).score(test.data[:1000], test.target[:1000])
        assert table[f"{name} machine: accuracy"] == pytest.approx(100 * right, abs=0.11)  # one digit
    assert np.log2(table["grid search: γ"]) == pytest.approx(table.numbers("grid search: γ", "remark")[1], abs=1e-3)
    won = []
    for seed in (1, 2):
        (X, y), _ = subset(train.data, train.target, 500, random_state=seed)
        folds = StratifiedKFold(3, shuffle=True, random_state=seed)
        search = GridSearchCV(svm.SVC(C=2), {"gamma": [2.0**k for k in range(-10, -5)]}, cv=folds).fit(X, y)
        won.append(round(np.log2(search.best_params_["gamma"])))
    told = ", ".join(f"2^{power}: {won.count(power)}" for power in sorted(set(won)))
    assert table.rows["γ that wins in 2 other draws, C = 2"].ours == told


@pytest.mark.long
def test_gaussians_at_means_are_told_apart_in_double_precision(data_dir):
    """A hundred for each digit are so alike that least squares of single precision is ill-conditioned."""
    X, y = load_mnist(return_X_y=True)
    features = mnist_table.bumps(X[:2000], y[:2000], 100)(X[:2000])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RidgeClassifier(1e-3).fit(features, y[:2000])
        with pytest.raises(Warning, match="ill-conditioned"):
            RidgeClassifier(1e-3).fit(features.astype(np.float32), y[:2000])


@pytest.mark.long
def test_fine_tuning_helps_the_network(data_dir, tables):
    table = tables("network")
    before, after = (table[f"network {word} fine-tuning: accuracy"] for word in ("without", "with"))
    assert after > before + 5 and after > 75
    X, y = load_mnist(return_X_y=True)
    K = np.tanh(0.01 * X[:300].astype(float) @ X[:300].T.astype(float) - 1)
    values = np.linalg.eigvalsh(K)
    assert table["sigmoid kernel: negative eigenvalues of K"] == np.sum(values < -1e-10 * values[-1])
    new, truth = load_mnist(subset="test", return_X_y=True)
    reference = svm.SVC(kernel="sigmoid", gamma=0.01, coef0=-1, C=10).fit(X[:1000], y[:1000])
    right = 100 * reference.score(new[:1000], truth[:1000])
    assert table["support vector machine, 1,000 digits: accuracy"] == pytest.approx(right, abs=0.11)  # one digit


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
    deep = [network.Layer.drawn(*shape, rng) for shape in ((5, 4), (4, 2), (2, 3))]
    _check(network.network_cost(X, y, 0.1), deep, rng)
    deep[-1] = network.Layer(deep[-1].weights, np.zeros(0))
    _check(network.network_cost(X, y, 0.1), deep, rng)


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


def test_cost_of_a_network_by_its_definition(small):
    X, y, rng = small
    first, last = network.Layer.drawn(5, 4, rng), network.Layer(rng.normal(size=(4, 3)), np.zeros(0))
    total = 0.0
    for x, label in zip(X, y, strict=True):
        scores = np.exp(1 / (1 + np.exp(-(x @ first.weights + first.bias))) @ last.weights)
        total -= np.log(scores[label] / scores.sum()) / 7
    total += 0.02 / 2 * (np.sum(first.weights**2) + np.sum(last.weights**2))
    assert network.network_cost(X, y, 0.02)([first, last])[0] == pytest.approx(total)
