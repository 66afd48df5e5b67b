"""KernelMeanClassifier against the explicit means of the feature vectors."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelMeanClassifier
from mercer.kernels import Gaussian, Linear, Polynomial, Power

X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2)], ids=str)
def test_is_the_nearest_mean_of_the_features(kernel) -> None:
    Z = kernel.feature_map(X)
    Z = Z[:, Z.std(axis=0) > 0]  # the constant feature is the same for all means
    explicit = NearestCentroid().fit(Z, y)
    model = KernelMeanClassifier(kernel).fit(X, y)
    assert np.array_equal(model.predict(X), explicit.predict(Z))
    means = np.stack([kernel.feature_map(X)[y == c].mean(axis=0) for c in range(3)])
    assert np.allclose(model.squared_norms_, np.sum(means**2, axis=1))


def test_two_classes_follow_the_formula() -> None:
    A, b = X[:100], np.array(["plus", "minus"])[y[:100]]  # classes_ sorts "minus" before "plus"
    K = Gaussian(1.0)(A)
    plus, minus = b == "plus", b == "minus"
    alpha = plus / plus.sum() - minus / minus.sum()
    offset = K[np.ix_(minus, minus)].mean() / 2 - K[np.ix_(plus, plus)].mean() / 2
    model = KernelMeanClassifier(Gaussian(1.0)).fit(A, b)
    assert np.allclose(model.dual_coef_, alpha) and model.intercept_ == pytest.approx(offset)
    assert np.allclose(model.decision_function(A), K @ alpha + offset)
    assert model.function_.norm() == pytest.approx(np.sqrt(alpha @ K @ alpha))  # the distance of the means


def test_two_of_three_classes_agree_with_the_differences() -> None:
    three = KernelMeanClassifier(Gaussian(1.0)).fit(X, y).decision_function(X)
    two = KernelMeanClassifier(Gaussian(1.0)).fit(X[y != 2], y[y != 2]).decision_function(X)
    assert np.allclose(three[:, 1] - three[:, 0], two)


def test_weights_are_repetitions() -> None:
    weight = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = KernelMeanClassifier(Gaussian(1.0)).fit(X, y, weight).decision_function(X)
    repeated = KernelMeanClassifier(Gaussian(1.0)).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert np.allclose(weighted, repeated.decision_function(X))


def test_conditionally_definite_kernels_measure_distances_too() -> None:
    model = KernelMeanClassifier(Power(2.0)).fit(X, y)  # −‖x − y‖² is the linear kernel in disguise
    assert np.array_equal(model.predict(X), KernelMeanClassifier("linear").fit(X, y).predict(X))


@pytest.mark.parametrize("representation", ["lazy", "nystrom", "incomplete_cholesky"])
def test_other_representations(representation) -> None:
    dense = KernelMeanClassifier(Gaussian(1.0)).fit(X, y).decision_function(X[:10])
    other = KernelMeanClassifier(Gaussian(1.0), gram=representation, random_state=0).fit(X, y)
    assert np.allclose(other.decision_function(X[:10]), dense, atol=1e-4)


def test_every_array_library(xp) -> None:
    model = KernelMeanClassifier(Gaussian(1.0)).fit(xp.asarray(X), xp.asarray(y))
    assert np.array_equal(model.predict(xp.asarray(X)), KernelMeanClassifier(Gaussian(1.0)).fit(X, y).predict(X))


def test_the_default_is_sensible_on_real_data() -> None:
    wine = load_wine(return_X_y=True)
    assert cross_val_score(make_pipeline(StandardScaler(), KernelMeanClassifier()), *wine, cv=5).mean() > 0.94


def test_refusals() -> None:
    with pytest.raises(ValueError, match="one class"):
        KernelMeanClassifier().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match="CPD"):
        KernelMeanClassifier("thin_plate").fit(X, y)
    with pytest.raises(ValueError, match="one class, 1"):
        KernelMeanClassifier().fit(X, y, (y == 1).astype(float))


def test_labels_come_in_the_library_of_the_data(xp) -> None:
    A, b = xp.asarray(X), xp.asarray(y)
    for few in (slice(0, 100), slice(0, 150)):
        predicted = KernelMeanClassifier(Linear()).fit(A[few, ...], b[few]).predict(A[few, ...])
        assert isinstance(predicted, type(b)) and predicted.dtype == b.dtype
        assert np.array_equal(np.asarray(predicted), KernelMeanClassifier(Linear()).fit(X[few], y[few]).predict(X[few]))
