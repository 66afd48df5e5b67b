"""Samples against the formulas of their distributions."""

import numpy as np
import pytest

from mercer.datasets import (
    complex_boundary,
    make_circles,
    make_complex,
    make_contaminated,
    make_shifted,
    make_tasks,
    make_toy_cca,
)

ALL = [make_circles, make_complex, make_toy_cca, make_contaminated, make_tasks, make_shifted]


def near(values, mean, deviations=5):
    """The mean of a sample within five of its standard errors, by columns."""
    values = np.asarray(values, dtype=float)
    error = values.std(axis=0) / np.sqrt(len(values))
    return np.all(np.abs(values.mean(axis=0) - mean) <= deviations * error + 1e-12)


@pytest.mark.parametrize("make", ALL)
def test_the_same_seed_gives_the_same_sample(make):
    first, again, other = make(random_state=0), make(random_state=0), make(random_state=1)
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not np.array_equal(first[0], other[0])
    assert np.array_equal(
        make(random_state=np.random.default_rng(3))[0], make(random_state=np.random.default_rng(3))[0]
    )


def test_circles_without_noise_lie_on_circles():
    X, y = make_circles((30, 20), noise=None, factor=0.25, random_state=0)
    assert np.bincount(y).tolist() == [30, 20]
    assert np.allclose(np.hypot(*X.T), np.where(y == 1, 0.25, 1.0))


def test_moments_of_circles():
    """E x = 0, E ‖x‖² = R² + 2σ², E xᵢ² = R²/2 + σ², E x₁x₂ = 0."""
    X, y = make_circles(20_001, noise=0.2, factor=0.5, random_state=0)
    assert np.bincount(y).tolist() == [10_000, 10_001]
    for label, radius in ((0, 1.0), (1, 0.5)):
        Z = X[y == label]
        assert near(Z, 0) and near((Z**2).sum(axis=1), radius**2 + 2 * 0.2**2)
        assert near(Z**2, radius**2 / 2 + 0.2**2) and near(Z[:, 0] * Z[:, 1], 0)


def test_order_of_circles():
    _, y = make_circles(10, shuffle=False)
    assert y.tolist() == [0] * 5 + [1] * 5
    _, mixed = make_circles(100, random_state=0)
    assert not np.array_equal(mixed, np.sort(mixed))


def test_the_complex_boundary_and_its_margin():
    X, y = make_complex(2000, margin=0.3, random_state=0)
    g = X[:, 1] + np.sin(3 * X[:, 0] + 2 * np.sin(3 * X[:, 1]))
    assert X.shape == (2000, 2) and np.abs(X).max() <= 1
    assert np.allclose(complex_boundary(X), g)
    assert np.abs(g).min() >= 0.3 and np.array_equal(y, (g > 0).astype(int))


def test_complex_classes_are_equally_likely_and_points_uniform():
    X, y = make_complex(40_000, random_state=0)
    assert near(y, 0.5) and near(X, 0) and near(X**2, 1 / 3)
    assert np.allclose(complex_boundary(-X), -complex_boundary(X))


def test_no_classifier_beats_the_share_of_wrong_labels():
    X, y = make_complex(40_000, flip=0.2, random_state=0)
    assert near(y != (complex_boundary(X) > 0), 0.2)


def test_few_polynomial_features_do_not_describe_the_boundary():
    """Least squares on all monomials: a line, a cubic and degree nine."""
    X, y = make_complex(4000, random_state=0)
    errors = []
    for degree in (1, 3, 9):
        Z = np.stack([X[:, 0] ** i * X[:, 1] ** j for i in range(degree + 1) for j in range(degree + 1 - i)], axis=1)
        fitted = Z @ np.linalg.lstsq(Z, 2.0 * y - 1, rcond=None)[0]
        errors.append(np.mean((fitted > 0) != y))
    assert errors[0] > 0.2 and errors[1] > 0.05 and errors[2] < 0.05


def test_toy_pairs_depend_on_each_other_without_correlation():
    X, Y = make_toy_cca(20_000, noise=0, random_state=0)
    assert X.shape == Y.shape == (20_000, 1)
    assert np.allclose(X**2 + Y**2, 1) and near(X * Y, 0)
    chebyshev = np.polynomial.Chebyshev.basis
    for k in (1, 2, 3):
        assert np.allclose(chebyshev(2 * k)(X), (-1) ** k * chebyshev(2 * k)(Y))


def test_moments_of_noisy_pairs():
    """E x² = 1/2 + σ², E x²y² = E c²s² + σ²/2 + σ²/2 + σ⁴ with E c²s² = 1/8."""
    X, Y = make_toy_cca(50_000, noise=0.3, random_state=0)
    assert near(X, 0) and near(Y, 0) and near(X**2, 0.5 + 0.09) and near(Y**2, 0.5 + 0.09)
    assert near(X**2 * Y**2, 1 / 8 + 0.09 + 0.09**2)


def test_contamination():
    X, y = make_contaminated(50_000, 2, contamination=0.3, spread=4.0, random_state=0)
    good, bad = X[y == 0], X[y == 1]
    assert y.sum() == 15_000
    assert near(good, 0) and near(good**2, 1) and near(good**4, 3) and near(good[:, 0] * good[:, 1], 0)
    assert np.abs(bad).max() <= 4 and near(bad, 0) and near(bad**2, 16 / 3) and near(bad**4, 4**4 / 5)
    assert near(y[:10_000], 0.3)  # outliers are spread over the sample


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.25, 10), (1.0, 40)])
def test_the_number_of_outliers_is_exact(share, count):
    assert make_contaminated(40, contamination=share)[1].sum() == count


def test_tasks_that_are_one():
    """With ρ = 1 and no noise all tasks are one trigonometric polynomial of degree 5: 10 coefficients explain all."""
    X, y = make_tasks(8, 4, relatedness=1, noise=0, random_state=0)
    assert X.shape == (32, 2) and X[:, 1].tolist() == sorted([0, 1, 2, 3] * 8)
    assert X[:, 0].min() >= 0 and X[:, 0].max() < 2 * np.pi
    m = np.outer(X[:, 0], np.arange(1, 6))
    Z = np.concatenate([np.cos(m), np.sin(m)], axis=1)
    assert np.allclose(Z @ np.linalg.lstsq(Z, y, rcond=None)[0], y)
    _, other = make_tasks(8, 4, relatedness=0.5, noise=0, random_state=0)
    assert not np.allclose(Z @ np.linalg.lstsq(Z, other, rcond=None)[0], other, atol=0.1)


def test_covariance_of_tasks():
    """Over many draws, E f_s(x) f_t(x') = (ρ + (1 − ρ)[s = t]) Σ w_m cos m(x − x')."""
    w = 1 / np.arange(1, 6) ** 2
    rng = np.random.default_rng(0)
    products, expected = [], []
    for _ in range(3000):
        X, y = make_tasks(2, 2, relatedness=0.6, noise=0, random_state=rng)
        x, task = X.T
        kernel = np.cos(np.subtract.outer(x, x)[..., None] * np.arange(1, 6)) @ w / w.sum()
        products.append(np.outer(y, y))
        expected.append(np.where(np.equal.outer(task, task), 1.0, 0.6) * kernel)
    products, expected = (np.array(values).reshape(3000, 16) for values in (products, expected))
    assert near(products - expected, 0)
    assert near(products * expected, (expected**2).mean(axis=0))


def test_noise_of_tasks_is_added_to_the_same_functions():
    X, y = make_tasks(500, noise=0.5, random_state=0)
    X_same, clean = make_tasks(500, noise=0, random_state=0)
    assert np.array_equal(X, X_same) and near(y - clean, 0) and near((y - clean) ** 2, 0.25)


def test_groups_show_their_boundary_in_their_own_axes():
    """In each group, the long principal axis is u within sampling error, and y the sign along it from the centre."""
    X, y, groups = make_shifted(4000, 3, shift=2.0, random_state=0)
    assert np.bincount(groups).tolist() == [4000] * 3 and set(y) == {0, 1} and near(y, 0.5)
    for group in range(3):
        Z = X[groups == group]
        values, vectors = np.linalg.eigh(np.cov(Z.T))
        assert np.allclose(np.sqrt(values), [0.35, 1.2], rtol=0.06)
        axis = vectors[:, 1] * np.sign(vectors[:, 1].sum())  # an angle between 0 and 90° has a positive sum
        assert (axis > -0.05).all() and np.abs(Z.mean(axis=0)).max() < 2.1
        assert np.mean(((Z - Z.mean(axis=0)) @ axis > 0) == y[groups == group]) > 0.97


def test_places_and_directions_of_groups():
    """One point a group: E x = 0 and E xᵢ² = r²/3 + (1.2² + 0.35²)/2, because E cos²φ = E sin²φ = 1/2."""
    X, _, _ = make_shifted(1, 40_000, shift=1.5, random_state=0)
    assert near(X, 0) and near(X**2, 1.5**2 / 3 + (1.2**2 + 0.35**2) / 2)
    assert near(X[:, 0] * X[:, 1], (1.2**2 - 0.35**2) / np.pi)  # E cos φ sin φ = 1/π


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (make_circles, {"factor": 1.0}),
        (make_circles, {"noise": -1}),
        (make_circles, {"n_samples": 2.5}),
        (make_circles, {"n_samples": (1, 2, 3)}),
        (make_complex, {"n_samples": 0}),
        (make_complex, {"flip": 0.6}),
        (make_complex, {"margin": 1.5}),
        (make_toy_cca, {"noise": -0.1}),
        (make_contaminated, {"contamination": 1.1}),
        (make_contaminated, {"spread": 0}),
        (make_contaminated, {"n_features": 0}),
        (make_tasks, {"relatedness": -0.1}),
        (make_tasks, {"n_tasks": 0}),
        (make_shifted, {"shift": -1}),
        (make_shifted, {"n_groups": 0}),
    ],
)
def test_arguments_out_of_range_are_named(make, arguments):
    name = next(iter(arguments))
    with pytest.raises((ValueError, TypeError), match=rf"{make.__name__}: {name} = "):
        make(**arguments)
