"""Stationary points of the distance, found by iteration."""

import numpy as np
import pytest

from mercer import RKHS
from mercer.kernels import (
    Cauchy,
    Gaussian,
    InverseMultiquadric,
    Laplace,
    Matern,
    Polynomial,
    RationalQuadratic,
    Wendland,
)
from mercer.preimage import FixedPoint

MATRIX = np.array([[1.0, 0.4], [0.0, 0.7]])
KERNELS = [
    Gaussian(1.2),
    Gaussian(np.array([0.8, 2.0])),
    Gaussian(MATRIX),
    Matern(1.5, 1.5),
    Matern(2.5, MATRIX),
    Matern(3.3, 1.5),
    RationalQuadratic(0.7, 1.3),
    Cauchy(1.5),
    InverseMultiquadric(),
    Wendland(2, 6.0),
]


def bumps(n=60, m=8, seed=0):
    """Points around a circle, and kernel PCA's kind of coefficients: positive near a point, some negative."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.normal(size=(n, 2))
    G = np.exp(3 * np.cos(angle[:, None] - np.linspace(0, 6, m))) + rng.normal(size=(n, m))
    return X, G / G.sum(axis=0)


def square_distance(kernel, X, g, Y):
    return kernel.diag(Y) - 2 * kernel(Y, X) @ g + g @ kernel(X) @ g


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_images_are_found_again(kernel) -> None:
    X, _ = bumps()
    Y = np.random.default_rng(1).uniform(-1, 1, size=(5, 2))
    points = np.vstack([X, Y])
    target = RKHS(kernel).function(points, np.eye(65)[:, 60:])
    found = FixedPoint(tol=1e-10).find(target, start=Y + 0.2)
    assert np.allclose(found.points, Y, atol=1e-6) and not found.fallback.any() and found.message == ""
    assert np.all(found.distance < 1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_ends_are_stationary_and_no_worse_than_the_sample(kernel) -> None:
    X, G = bumps()
    found = FixedPoint(tol=1e-10, max_iter=5000).find(RKHS(kernel).function(X, G))
    assert found.message == ""
    h = 1e-5
    for y, g, distance in zip(found.points, G.T, found.distance, strict=True):
        steps = h * np.vstack([np.eye(2), -np.eye(2)])
        up0, up1, down0, down1 = square_distance(kernel, X, g, y + steps)
        assert np.allclose([(up0 - down0) / (2 * h), (up1 - down1) / (2 * h)], 0, atol=1e-7)
        assert distance**2 <= square_distance(kernel, X, g, X).min() + 1e-12


def test_gaussian_iteration_is_that_of_the_definition() -> None:
    X, G = bumps()
    kernel, G = Gaussian(1.2), np.abs(bumps()[1])  # with positive weights no step is ever halved
    Y = X[:8]
    for _ in range(7):
        W = kernel(Y, X) * G.T
        Y = W @ X / W.sum(axis=1, keepdims=True)
    found = FixedPoint(max_iter=7, tol=1e-14).find(RKHS(kernel).function(X, G), start=X[:8])
    assert np.allclose(found.points, Y, atol=1e-12)
    assert found.message == "8 of 8 did not converge after 7 steps; raise max_iter"


def test_distance_never_rises_where_the_plain_iteration_overshoots() -> None:
    rng = np.random.default_rng(2)
    X, g, kernel, start = rng.normal(size=(6, 1)), rng.normal(size=6), Gaussian(1.0), np.array([[-1.7]])
    weights = kernel(start, X) * g
    plain = weights @ X / weights.sum()
    distances = [square_distance(kernel, X, g, start)[0] ** 0.5]
    assert square_distance(kernel, X, g, plain)[0] ** 0.5 > distances[0] + 1e-3
    for steps in range(1, 30):
        found = FixedPoint(max_iter=steps).find(RKHS(kernel).function(X, g), start=start)
        assert "left the data" not in found.message
        distances.append(found.distance[0])
    assert np.all(np.diff(distances) <= 1e-12) and distances[-1] < distances[0] - 1e-3


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Matern(1.5, 1.0), Cauchy(1.0)], ids=str)
def test_against_a_grid_in_one_dimension(kernel) -> None:
    rng = np.random.default_rng(3)
    X, G = rng.normal(size=(12, 1)), rng.uniform(size=(12, 5))
    found = FixedPoint(tol=1e-9).find(RKHS(kernel).function(X, G))
    grid = np.linspace(-4, 4, 8001)[:, None]
    for g, distance in zip(G.T, found.distance, strict=True):
        assert distance == pytest.approx(np.sqrt(square_distance(kernel, X, g, grid).min()), abs=1e-6)


def test_start_far_from_the_data_begins_again() -> None:
    X, G = bumps()
    target = RKHS(Gaussian(0.5)).function(X, G)
    near = FixedPoint().find(target)
    far = FixedPoint().find(target, start=np.full((8, 2), 1e3))
    assert np.allclose(far.points, near.points) and not far.fallback.any()
    assert far.message == "8 of 8 iterations left the data and were restarted at the nearest sample points"


def test_target_opposite_to_all_images_falls_back() -> None:
    X, G = bumps()
    G = np.column_stack([G[:, 0], np.full(60, -1.0)])  # t < 0 everywhere: infinity is nearer than any point
    kernel = Gaussian(0.5)
    found = FixedPoint().find(RKHS(kernel).function(X, G))
    assert found.fallback.tolist() == [False, True]
    assert "for 1 that failed too, and the nearest sample point is returned" in found.message
    nearest = square_distance(kernel, X, G[:, 1], X)
    assert np.array_equal(found.points[1], X[nearest.argmin()])
    assert found.distance[1] == pytest.approx(np.sqrt(nearest.min()))


@pytest.mark.parametrize("kernel", [Polynomial(), Laplace(), 2 * Gaussian()], ids=str)
def test_other_kernels_are_refused(kernel) -> None:
    X, G = bumps()
    with pytest.raises(TypeError, match=r"FixedPoint needs a differentiable kernel of the Euclidean distance.*Try"):
        FixedPoint().find(RKHS(kernel).function(X, G))


def test_states_of_earlier_versions():
    found = FixedPoint.__new__(FixedPoint)
    found.__setstate__({"max_iter": 500, "tol": 1e-6, "restarts": 5, "time_budget": None})
    assert found.get_params() == FixedPoint(max_iter=500, n_init=6).get_params()
