"""KernelPLS against deflation written out, eigenvectors, scikit-learn's PLSRegression, Krylov spaces and refits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_iris, make_circles
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold

from mercer import KernelRidge
from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Gaussian, Linear, Polynomial, Power, Sigmoid
from mercer.methods.pls import KernelPLS, KernelPLSClassifier

rng = np.random.default_rng(8)
n = 60
X, X_new = rng.normal(size=(n, 4)), rng.normal(size=(15, 4))
TWO = np.column_stack([np.sin(X[:, 0]) + X[:, 1], X[:, 1] * X[:, 2]]) + 0.2 * rng.normal(size=(n, 2))
ONE = TWO[:, 0]
WEIGHT = rng.uniform(0.2, 2, n)
KERNEL = Gaussian(2.0)
TARGETS = pytest.mark.parametrize("y", [ONE, TWO], ids=["one target", "two targets"])


def centred(kernel):
    """The centred matrices of the sample, and of new points against it."""
    K, cross, H = kernel(X), kernel(X_new, X), np.eye(n) - 1 / n
    return H @ K @ H, (cross - K.mean(axis=0)) @ H


def deflation(K, cross, Y, count):
    """Rosipal and Trejo's algorithm as it stands: power iterations, matrices deflated, scores of length one."""
    whole, Y, mean = K, Y - Y.mean(axis=0), Y.mean(axis=0)
    targets, T, U, identity = Y, [], [], np.eye(len(K))
    for _ in range(count):
        u, previous = Y[:, 0], np.inf
        for _ in range(10_000):
            t = K @ u
            t = t / np.linalg.norm(t)
            u = Y @ (Y.T @ t)
            u = u / np.linalg.norm(u)
            if np.max(np.abs(t - previous)) < 1e-15:
                break
            previous = t
        P = identity - np.outer(t, t)
        K, Y = P @ K @ P, P @ Y
        T.append(t)
        U.append(u)
    T, U = np.array(T).T, np.array(U).T
    rotation = U @ np.linalg.inv(T.T @ whole @ U)
    return T, cross @ rotation, mean + cross @ rotation @ (T.T @ targets)


def same_up_to_factors(A, B, atol):
    """Whether columns are multiples of each other."""
    A, B = A / np.linalg.norm(A, axis=0), B / np.linalg.norm(B, axis=0)
    np.testing.assert_allclose(A * np.sign(np.sum(A * B, axis=0)), B, atol=atol)


@TARGETS
def test_the_deflation_form_agrees(y) -> None:
    model = KernelPLS(5, KERNEL).fit(X, y)
    T, T_new, predicted = deflation(*centred(KERNEL), y.reshape(n, -1), 5)
    same_up_to_factors(model.scores_, T, 1e-9)
    same_up_to_factors(model.transform(X_new), T_new, 1e-9)
    np.testing.assert_allclose(model.predict(X_new), predicted.reshape(15, *y.shape[1:]), atol=1e-9)


def test_the_eigenvalue_form_agrees() -> None:
    """Each score is the leading eigenvector of K̃ⱼYⱼYⱼᵀ, a matrix that is not symmetric."""
    K, _ = centred(KERNEL)
    Y = TWO - TWO.mean(axis=0)
    scores = KernelPLS(5, KERNEL).fit(X, TWO).scores_
    for j in range(5):
        values, vectors = np.linalg.eig(K @ Y @ Y.T)
        t = np.real(vectors[:, np.argmax(np.real(values))])
        same_up_to_factors(scores[:, [j]], t[:, None], 1e-8)
        P = np.eye(n) - np.outer(t, t) / (t @ t)
        K, Y = P @ K @ P, P @ Y


@TARGETS
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_linear_kernel_is_plain_partial_least_squares(count, y) -> None:
    model = KernelPLS(count, "linear").fit(X, y)
    theirs = PLSRegression(count, scale=False, tol=1e-14, max_iter=10_000).fit(X, y)
    exact = 1e-10 if y.ndim == 1 else 1e-6  # their iteration stops where squares differ by tol
    np.testing.assert_allclose(model.predict(X_new), theirs.predict(X_new), atol=exact)
    Z = theirs.transform(X_new)
    sign = np.sign(np.sum(Z * model.transform(X_new), axis=0))
    np.testing.assert_allclose(model.transform(X_new), sign * Z, atol=exact)
    np.testing.assert_allclose(model.y_loadings_, sign * theirs.y_loadings_, atol=exact)
    slope = model.prediction_.weights().T.reshape(theirs.coef_.shape)
    np.testing.assert_allclose(slope, theirs.coef_, atol=exact)


def test_the_polynomial_kernel_is_partial_least_squares_on_monomials() -> None:
    def monomials(X):
        i, j = np.triu_indices(X.shape[1], 1)
        return np.hstack([2**0.5 * X, X**2, 2**0.5 * X[:, i] * X[:, j]])

    model = KernelPLS(6, Polynomial(degree=2, scale=1.0, offset=1.0)).fit(X, ONE)
    theirs = PLSRegression(6, scale=False).fit(monomials(X), ONE)
    np.testing.assert_allclose(model.predict(X_new), theirs.predict(monomials(X_new)), atol=1e-9)


def test_one_target_is_least_squares_in_a_krylov_space() -> None:
    K, _ = centred(KERNEL)
    y = ONE - ONE.mean()
    powers = [y]
    for count in range(1, 5):
        powers.append(K @ powers[-1])
        basis, _ = np.linalg.qr(np.array(powers[1:]).T)
        fitted = KernelPLS(count, KERNEL).fit(X, ONE).predict(X) - ONE.mean()
        np.testing.assert_allclose(fitted, basis @ (basis.T @ y), atol=1e-9)


def test_all_components_are_least_squares() -> None:
    """Of a kernel with four features nothing is left after four components."""
    with pytest.warns(UserWarning, match="KernelPLS: n_components = 9, but nothing .* is left after 4"):
        model = KernelPLS(9, "linear").fit(X, TWO)
    assert model.n_components_ == 4
    A = np.column_stack([np.ones(n), X])
    expected = np.column_stack([np.ones(15), X_new]) @ np.linalg.lstsq(A, TWO, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X_new), expected, atol=1e-10)


def test_a_target_in_the_span_of_one_score_ends_the_search() -> None:
    """The first score function of y as target: of the linear kernel on uncorrelated columns it is fitted at once."""
    A = np.linalg.qr(X - X.mean(axis=0))[0]
    y = A @ np.array([1.0, -2.0, 0.5, 3.0])
    with pytest.warns(UserWarning, match="nothing of y .* is left after 1"):
        model = KernelPLS(3, "linear").fit(A, y)
    np.testing.assert_allclose(model.predict(A), y, atol=1e-12)


@TARGETS
def test_functions_scores_and_loadings(y) -> None:
    model = KernelPLS(4, KERNEL).fit(X, y, WEIGHT)
    S = model.scores_
    np.testing.assert_allclose(model.transform(X), S, atol=1e-9)
    np.testing.assert_allclose(WEIGHT @ S, 0, atol=1e-9)
    products = S.T @ (S * WEIGHT[:, None])
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-9)
    assert model.function_[0].norm() == pytest.approx(1)
    Y = y.reshape(n, -1)
    mean = WEIGHT @ Y / WEIGHT.sum()
    expected = (model.transform(X_new) @ model.y_loadings_.T + mean).reshape(15, *y.shape[1:])
    np.testing.assert_allclose(model.predict(X_new), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X_new), model.prediction_(X_new))
    largest = np.abs(model.y_loadings_).argmax(axis=0)
    assert (model.y_loadings_[largest, np.arange(4)] > 0).all()
    left = np.sum(WEIGHT[:, None] * (Y - model.predict(X).reshape(n, -1)) ** 2)
    whole = np.sum(WEIGHT[:, None] * (Y - mean) ** 2)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1 - left / whole)


@TARGETS
def test_weights_are_repetitions(y) -> None:
    times = rng.integers(0, 3, n)
    weighted = KernelPLS(4, KERNEL).fit(X, y, times)
    repeated = KernelPLS(4, KERNEL).fit(np.repeat(X, times, axis=0), np.repeat(y, times, axis=0))
    np.testing.assert_allclose(weighted.predict(X_new), repeated.predict(X_new), atol=1e-9)
    np.testing.assert_allclose(weighted.transform(X_new), repeated.transform(X_new), atol=1e-9)


@pytest.mark.parametrize("gram", ["lazy", Nystrom(rank=n), IncompleteCholesky(tol=1e-13)], ids=str)
def test_every_representation(gram) -> None:
    exact = KernelPLS(4, KERNEL).fit(X, TWO)
    model = KernelPLS(4, KERNEL, gram=gram, random_state=0).fit(X, TWO)
    np.testing.assert_allclose(model.predict(X_new), exact.predict(X_new), atol=1e-6)
    np.testing.assert_allclose(model.transform(X_new), exact.transform(X_new), atol=1e-6)


# ---- the number of components


@TARGETS
@pytest.mark.parametrize("cv", [KFold(4), LeaveOneOut()], ids=["folds", "leave-one-out"])
def test_errors_of_all_counts_are_those_of_refits(cv, y) -> None:
    model = KernelPLS("cv", KERNEL, max_components=6, cv=cv).fit(X, y)
    errors = np.zeros(6)
    for train, test in cv.split(X):
        for count in range(6):
            part = KernelPLS(count + 1, KERNEL).fit(X[train], y[train])
            errors[count] += len(test) * mean_squared_error(y[test], part.predict(X[test])) / n
    np.testing.assert_allclose(model.cv_errors_, errors, rtol=1e-8)
    assert model.n_components_ == errors.argmin() + 1
    np.testing.assert_array_equal(model.predict(X_new), KernelPLS(model.n_components_, KERNEL).fit(X, y).predict(X_new))


def test_fold_errors_of_labels_are_shares_of_wrong_ones() -> None:
    A, labels = load_iris(return_X_y=True)
    A, labels = A[::3], np.array(["a", "b", "c"])[labels][::3]
    for y in (labels, labels == "b"):
        cv = StratifiedKFold(3)
        model = KernelPLSClassifier("cv", KERNEL, max_components=4, cv=cv).fit(A, y)
        wrong = np.zeros(4)
        for train, test in cv.split(A, y):
            for count in range(4):
                part = KernelPLSClassifier(count + 1, KERNEL).fit(A[train], y[train])
                wrong[count] += np.sum(part.predict(A[test]) != y[test]) / len(y)
        np.testing.assert_allclose(model.cv_errors_, wrong, atol=1e-12)
        assert model.n_components_ == wrong.argmin() + 1


def test_folds_are_shuffled_and_can_be_repeated() -> None:
    """Samples in order: folds of neighbours would have to extrapolate."""
    x = np.linspace(0, 6, n)[:, None]
    y = np.sin(2 * x[:, 0])
    model = KernelPLS("cv", Gaussian(0.7)).fit(x, y)
    assert model.score(x, y) > 0.999
    np.testing.assert_array_equal(model.cv_errors_, clone(model).fit(x, y).cv_errors_)
    other = KernelPLS("cv", Gaussian(0.7), random_state=1).fit(x, y)
    assert not np.array_equal(model.cv_errors_, other.cv_errors_)


# ---- labels


def test_labels_are_targets() -> None:
    A, labels = load_iris(return_X_y=True)
    A, labels = A[::3], labels[::3]
    model = KernelPLSClassifier(3, KERNEL).fit(A, np.array(["x", "y", "z"])[labels])
    regression = KernelPLS(3, KERNEL).fit(A, np.eye(3)[labels])
    np.testing.assert_allclose(model.decision_function(A), regression.predict(A), atol=1e-12)
    np.testing.assert_array_equal(model.predict(A), np.array(["x", "y", "z"])[regression.predict(A).argmax(axis=1)])
    two = KernelPLSClassifier(3, KERNEL).fit(A, labels == 1)
    both = KernelPLS(3, KERNEL).fit(A, np.eye(2)[(labels == 1).astype(int)]).predict(A)
    np.testing.assert_allclose(two.decision_function(A), both[:, 1] - both[:, 0], atol=1e-9)
    np.testing.assert_array_equal(two.predict(A), both.argmax(axis=1) == 1)


def test_class_weights_are_sample_weights() -> None:
    A, labels = make_circles(60, factor=0.4, noise=0.1, random_state=0)
    A, labels = A[labels.argsort()][:40], np.sort(labels)[:40]  # 30 and 10
    model = KernelPLSClassifier(3, KERNEL, class_weight={0: 0.5, 1: 3.0}).fit(A, labels)
    weighted = KernelPLSClassifier(3, KERNEL).fit(A, labels, np.where(labels == 0, 0.5, 3.0))
    np.testing.assert_allclose(model.decision_function(A), weighted.decision_function(A), atol=1e-12)


# ---- input


def test_every_array_library(xp) -> None:
    model = KernelPLS(3, KERNEL).fit(xp.asarray(X), xp.asarray(TWO))
    exact = KernelPLS(3, KERNEL).fit(X, TWO)
    np.testing.assert_allclose(np.asarray(model.predict(xp.asarray(X_new))), exact.predict(X_new), atol=1e-9)
    np.testing.assert_allclose(np.asarray(model.transform(xp.asarray(X_new))), exact.transform(X_new), atol=1e-9)
    labels = (ONE > 0).astype(int)
    classifier = KernelPLSClassifier("cv", KERNEL, max_components=3).fit(xp.asarray(X), xp.asarray(labels))
    expected = KernelPLSClassifier("cv", KERNEL, max_components=3).fit(X, labels)
    np.testing.assert_array_equal(np.asarray(classifier.predict(xp.asarray(X_new))), expected.predict(X_new))


def test_precomputed_matrices_and_names() -> None:
    exact = KernelPLS(3, KERNEL).fit(X, TWO)
    model = KernelPLS(3, "precomputed").fit(KERNEL(X), TWO)
    np.testing.assert_allclose(model.predict(KERNEL(X_new, X)), exact.predict(X_new), atol=1e-9)
    assert list(exact.get_feature_names_out()) == ["kernelpls0", "kernelpls1", "kernelpls2"]


def test_kernels_that_centring_makes_definite() -> None:
    """−‖x − y‖² is centred to twice the linear kernel."""
    model, linear = KernelPLS(2, Power(2.0)).fit(X, ONE), KernelPLS(2, Linear()).fit(X, ONE)
    np.testing.assert_allclose(model.predict(X_new), linear.predict(X_new), atol=1e-9)
    with pytest.raises(ValueError, match=r"KernelPLS: the kernel .* INDEFINITE in dimension 4.* or a CPD\(1\) one"):
        KernelPLS(2, Sigmoid()).fit(X, ONE)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components = 0 must be >= 1"),
        ({"n_components": "auto"}, "n_components = 'auto' must be an integer >= 1, or 'cv'"),
        ({"n_components": np.ones(2)}, "n_components = .* must be an integer"),
        ({"n_components": "cv", "max_components": 0}, "max_components = 0 must be >= 1"),
        ({"n_components": "cv", "cv": 1}, "cv = 1 must be >= 2"),
        ({"n_components": "cv", "cv": n + 1}, f"cv = {n + 1} must be >= 2 and <= {n}"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    with pytest.raises((ValueError, TypeError), match=f"KernelPLS: {message}"):
        KernelPLS(kernel=KERNEL, **parameters).fit(X, ONE)


@pytest.mark.parametrize("count", [2, "cv"])
def test_bad_data(count) -> None:
    with pytest.raises(ValueError, match=r"KernelPLS: .* component; are all samples equal"):
        KernelPLS(count, KERNEL).fit(np.ones((n, 2)), ONE)
    with pytest.raises(ValueError, match=r"KernelPLS: .* component"):
        KernelPLS(count, KERNEL).fit(X, np.full(n, 0.1))
    with pytest.raises(ValueError, match="y holds one class"):
        KernelPLSClassifier(count, KERNEL).fit(X, np.ones(n))


def test_the_chosen_number_predicts_nearly_as_well_as_ridge_regression() -> None:
    """At its best alpha, of which the choice here knows nothing."""
    f = np.sin(X_new[:, 0]) + X_new[:, 1]
    chosen = KernelPLS("cv", KERNEL).fit(X, ONE)
    best = min(
        np.mean((KernelRidge(a, kernel=KERNEL).fit(X, ONE).predict(X_new) - f) ** 2) for a in np.logspace(-3, 1, 9)
    )
    assert np.mean((chosen.predict(X_new) - f) ** 2) < 2 * best


def test_no_more_components_than_directions():
    X = np.random.default_rng(0).normal(size=(3, 1))
    with pytest.warns(UserWarning, match="use fewer"):
        model = KernelPLS(10**6, kernel="gaussian").fit(X, X[:, 0])
    assert model.n_components_ <= 2
