"""Kernel dimension reduction: both forms by their definitions, gradients, and known central subspaces."""

import pickle

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

from mercer.gram import IncompleteCholesky
from mercer.kernels import Delta, Gaussian, Laplace, Linear, Multiquadric, Power
from mercer.methods.dimension_reduction import KernelDimensionReduction, Unexplained
from mercer.solvers.orthogonal import random_frame

RNG = np.random.default_rng(0)


def centred(K):
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def regression(n, seed):
    """One direction of six, through a sine."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, np.sin(1.5 * (X[:, 0] - X[:, 2])) + 0.1 * rng.normal(size=n), (np.eye(6)[:, [0]] - np.eye(6)[:, [2]])


def classes(n, seed):
    """Two directions of six: labels within and without a circle, of which no linear method sees anything."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, np.where(X[:, 1] ** 2 + X[:, 4] ** 2 > 1.4, "outside", "inside"), np.eye(6)[:, [1, 4]]


def noise(n, seed):
    """One direction of six that changes the spread of y alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    return X, np.abs(X[:, 3]) * rng.normal(size=n), np.eye(6)[:, [3]]


def angle(model, B):
    return np.degrees(subspace_angles(model.components_.T, B).max())


X, y, B0 = regression(80, 0)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_objective(d):
    """The fraction is nε tr[K̃_y(K̃_z + nε)⁻¹]/tr K̃_y; its gradient by finite differences."""
    n, epsilon = 40, 1e-2
    Z, labels = RNG.normal(size=(n, 4)), RNG.integers(0, 3, n)
    K_y = centred(Delta()(labels))
    targets = np.eye(3)[labels] - np.eye(3)[labels].mean(axis=0)
    np.testing.assert_allclose(targets @ targets.T, K_y, atol=1e-14)
    objective = Unexplained(Z, targets, Gaussian(1.0), epsilon)
    objective.tol = 1e-13
    B = random_frame(4, d, RNG)
    N = np.linalg.inv(centred(Gaussian(1.0)(Z @ B)) + n * epsilon * np.eye(n))
    value, G = objective(B)
    assert value == pytest.approx(n * epsilon * np.trace(K_y @ N) / np.trace(K_y), rel=1e-8)
    objective.tol, step = 1e-4, 1e-6
    objective.pivots = None
    G = objective(B)[1]
    for i, j in ((0, 0), (3, d - 1), (1, d // 2)):
        E = np.zeros_like(B)
        E[i, j] = step
        assert G[i, j] == pytest.approx((objective(B + E)[0] - objective(B - E)[0]) / (2 * step), abs=1e-8)


@pytest.mark.parametrize("gram", ["dense", "lazy", IncompleteCholesky(tol=0)], ids=str)
@pytest.mark.parametrize("kind", ["numbers", "labels"])
def test_gradients_by_definition(gram, kind):
    """M = (1/n) Σᵢ DᵢᵀN K̃_y N Dᵢ with the derivatives Dᵢ of all (centred) sections at xᵢ."""
    n, epsilon = 30, 1e-2
    Z = RNG.normal(size=(n, 4))
    values = Z[:, 0] + 0.2 * RNG.normal(size=n)
    t = values if kind == "numbers" else np.digitize(values, [-0.4, 0.5])
    kernel, kernel_y = Gaussian(1.3), Gaussian(0.8) if kind == "numbers" else Delta()
    model = KernelDimensionReduction(
        2, method="gkdr", kernel=kernel, kernel_y=kernel_y, epsilon=epsilon, gram=gram, random_state=0
    ).fit(Z, t)
    K_y = centred(kernel_y(t[:, None]))
    N = np.linalg.inv(centred(kernel(Z)) + n * epsilon * np.eye(n))
    M = np.zeros((4, 4))
    for x in Z:
        k = np.exp(-np.sum((Z - x) ** 2, axis=1) / (2 * 1.3**2))
        D = k[:, None] * (Z - x) / 1.3**2
        D = D - D.mean(axis=0)
        M += D.T @ N @ K_y @ N @ D / n
    lam, V = np.linalg.eigh(M)
    np.testing.assert_allclose(model.eigenvalues_, lam[::-1], rtol=1e-5)
    assert subspace_angles(model.components_.T, V[:, -2:]).max() < 1e-5


@pytest.mark.parametrize("method", ["kdr", "gkdr"])
@pytest.mark.parametrize("case", [regression, classes, noise])
def test_central_subspace(case, method):
    """Found within a few degrees at n = 300, where a random frame of six dimensions is at about 65 or more."""
    X, y, B = case(300, 1)
    model = KernelDimensionReduction(B.shape[1], method=method, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(B.shape[1]), atol=1e-12)
    assert angle(model, B) < (10 if method == "kdr" else 20)


@pytest.mark.long
@pytest.mark.parametrize("case", [regression, classes, noise])
def test_objective_sharpens_the_gradients(case):
    """Over five samples the search has a smaller median angle than the gradients that it starts from."""
    angles = {"kdr": [], "gkdr": []}
    for seed in range(5):
        X, y, B = case(200, seed)
        for method, found in angles.items():
            found.append(angle(KernelDimensionReduction(B.shape[1], method=method, random_state=0).fit(X, y), B))
    assert np.median(angles["kdr"]) < np.median(angles["gkdr"])
    assert np.median(angles["kdr"]) < 10


def test_descent():
    model = KernelDimensionReduction(1, random_state=0).fit(X, y)
    assert np.all(np.diff(model.solution_.history) < 0)
    assert model.solution_.converged
    assert model.unexplained_ == model.solution_.history[-1]
    assert 0 < model.unexplained_ < 0.5
    np.testing.assert_allclose(model.transform(X), X @ model.components_.T)
    assert model.kernel_y_.lengthscale == pytest.approx(np.median(np.abs(y[:, None] - y)[np.triu_indices(80, 1)]))


@pytest.mark.parametrize("method", ["kdr", "gkdr"])
def test_invariance(method):
    """Rotating X rotates the directions; shifting it, renaming labels and scaling y with its kernel change nothing."""
    settings = {"method": method, "random_state": 0, "tol": 1e-6, "n_init": 1}
    model = KernelDimensionReduction(1, **settings).fit(X, y)
    Q = random_frame(6, 6, RNG)
    turned = KernelDimensionReduction(1, **settings).fit(X @ Q + 3.0, y)
    assert np.degrees(subspace_angles(Q @ turned.components_.T, model.components_.T).max()) < 0.1
    scaled = KernelDimensionReduction(1, **settings).fit(X, 100 * y - 7)
    assert np.degrees(subspace_angles(scaled.components_.T, model.components_.T).max()) < 0.1
    labels = (y > 0).astype(int)
    first, second = (
        KernelDimensionReduction(1, **settings).fit(X, names[labels]).components_
        for names in (np.array(["no", "yes"]), np.array([7, 3]))
    )
    assert np.degrees(subspace_angles(first.T, second.T).max()) < 1e-3


def test_number_of_directions():
    """One for the sine, two for the circle, judged by neighbours; and by an estimator that is given."""
    X, y, _ = regression(200, 2)
    model = KernelDimensionReduction([1, 2, 4], method="gkdr").fit(X, y)
    assert model.n_components_ == 1
    assert model.components_.shape == (1, 6)
    assert set(model.scores_) == {1, 2, 4}
    assert model.scores_[1] == max(model.scores_.values())
    X, y, _ = classes(300, 2)
    assert KernelDimensionReduction(range(1, 5), method="gkdr").fit(X, y).n_components_ == 2
    X = RNG.normal(size=(100, 4))
    linear = KernelDimensionReduction(
        [1, 4], method="gkdr", kernel=Gaussian(0.3), estimator=Ridge(), cv=3, epsilon=1.0
    ).fit(X, X @ [1.0, 2.0, -1.0, 0.5])
    assert linear.scores_[4] > linear.scores_[1]
    assert linear.n_components_ == 4


def test_number_of_directions_for_counts():
    """Whole numbers under a kernel on numbers are judged as such: by the coefficient of determination."""
    X, y, _ = regression(100, 2)
    counts = np.round(10 * y)
    model = KernelDimensionReduction([1, 3], method="gkdr", kernel_y=Gaussian(5.0)).fit(X, counts)
    one = KernelDimensionReduction(1, method="gkdr", kernel_y=Gaussian(5.0))
    expected = cross_val_score(make_pipeline(one, KNeighborsRegressor()), X, counts).mean()
    assert model.scores_[1] == pytest.approx(expected)


def test_strong_penalty():
    """For ε → ∞ the fraction is 1 − tr(K̃_y K̃_z)/(nε tr K̃_y), however large ε is."""
    Z, targets, epsilon = RNG.normal(size=(40, 3)), RNG.normal(size=(40, 1)), 1e5
    targets -= targets.mean()
    B = random_frame(3, 1, RNG)
    value = Unexplained(Z, targets, Gaussian(1.0), epsilon)(B)[0]
    explained = np.sum(targets * (Gaussian(1.0)(Z @ B) @ targets)) / (40 * epsilon * np.sum(targets**2))
    assert 1 - value == pytest.approx(explained, rel=1e-2)


def test_several_targets():
    """Rows of numbers: two targets, two directions."""
    X = RNG.normal(size=(200, 5))
    Y = np.stack([X[:, 0] ** 2, np.sin(2 * X[:, 3])], axis=1)
    model = KernelDimensionReduction(2, random_state=0).fit(X, Y)
    assert angle(model, np.eye(5)[:, [0, 3]]) < 8


def test_linear_kernel_of_y():
    """With linear kernels on both the objective is ridge regression's, whose direction is that of its coefficients."""
    X = RNG.normal(size=(100, 4))
    X -= X.mean(axis=0)
    X = np.linalg.qr(X)[0] * 10
    y = X @ [1.0, 2.0, -1.0, 0.5] + 0.1 * RNG.normal(size=100)
    model = KernelDimensionReduction(1, kernel=Linear(), kernel_y=Linear(), tol=1e-8, random_state=0).fit(X, y)
    coefficients = Ridge(alpha=100 * 1e-3).fit(X, y).coef_
    assert np.degrees(subspace_angles(model.components_.T, coefficients[:, None]).max()) < 1e-3


def test_kept():
    model = KernelDimensionReduction(2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(X), model.transform(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).components_, model.components_)
    assert model.get_feature_names_out().tolist() == ["kerneldimensionreduction0", "kerneldimensionreduction1"]
    assert model.set_output(transform="pandas").transform(X).shape == (80, 2)


def test_budget():
    with pytest.warns(ConvergenceWarning, match="time budget"):
        KernelDimensionReduction(1, time_budget=1e-9).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"n_components": 7}, ValueError, "n_components = 7 must be <= n_features = 6"),
        ({"n_components": [1, 0]}, ValueError, "n_components = 0 must be >= 1"),
        ({"n_components": []}, ValueError, "n_components"),
        ({"n_components": "two"}, TypeError, "n_components = 'two' must be an integer"),
        ({"n_components": 1.5}, ValueError, r"n_components = 1\.5 must be an integer"),
        ({"method": "sir"}, ValueError, "method = 'sir' is unknown"),
        ({"epsilon": 0}, ValueError, "epsilon = 0 must be > 0"),
        ({"kernel": Laplace(1.0)}, ValueError, "has no derivatives"),
        ({"gram": "random_features"}, ValueError, "KernelDimensionReduction: gram = .* features without derivatives"),
        ({"kernel": Multiquadric(1.0)}, ValueError, r"kernel = multiquadric.* positive definite"),
        ({"kernel_y": Power(1.0)}, ValueError, r"kernel_y = power.* positive definite"),
    ],
)
def test_bad_parameters(settings, error, match):
    with pytest.raises(error, match=match):
        KernelDimensionReduction(**settings).fit(X, y)


def test_bad_input():
    with pytest.raises(ValueError, match="y is constant"):
        KernelDimensionReduction(1).fit(X, np.ones(80))
    with pytest.raises(ValueError, match="y is constant"):
        KernelDimensionReduction(1).fit(X, ["only"] * 80)
    with pytest.raises(ValueError, match="in the latter case centre and scale y"):
        KernelDimensionReduction(1, kernel_y=Linear()).fit(X, y + 1e7)
    with pytest.raises(ValueError, match="requires y"):
        KernelDimensionReduction(1).fit(X, None)
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="different array libraries or devices"):
        KernelDimensionReduction(1).fit(torch.asarray(X), y)


@pytest.mark.parametrize("kernel", ["gaussian(lengthscale=1e-320)", "gaussian(lengthscale=1e-200)", "1e-300*gaussian"])
@pytest.mark.parametrize("method", ["kdr", "gkdr"])
def test_derivatives_that_tell_of_no_direction_are_refused(method, kernel):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = KernelDimensionReduction(1, method=method, kernel=kernel, random_state=0)
    with pytest.raises(ValueError, match=r"KernelDimensionReduction: the squared derivatives .* use a lengthscale"):
        model.fit(X, X[:, 0] ** 2)
