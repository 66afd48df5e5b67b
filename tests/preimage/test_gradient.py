"""Minima of the distance under any differentiable kernel."""

import numpy as np
import pytest
from scipy.optimize import minimize

from mercer import RKHS
from mercer.kernels import (
    Affine,
    ArcSine,
    Cosine,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Spline,
)
from mercer.preimage import FixedPoint, Gradient

KERNELS = [
    Gaussian(1.0),
    Gaussian(np.array([[1.0, 0.4], [0.0, 0.7]])),
    Matern(1.5, np.array([1.0, 2.0])),
    RationalQuadratic(),
    Linear(),
    Affine(),
    Polynomial(3, 0.5, 1.0),
    ArcSine(),
    Periodic(4.0),
    2 * Gaussian(0.7) + 0.1 * Linear(),
    Gaussian(1.0) * Polynomial(2),
]


def mixtures(n=40, m=6, d=2, seed=0):
    rng = np.random.default_rng(seed)
    G = rng.uniform(size=(n, m)) ** 10
    return rng.normal(size=(n, d)), G / G.sum(axis=0)


def square_distance(kernel, X, g, Y):
    return kernel.diag(Y) - 2 * kernel(Y, X) @ g + g @ kernel(X) @ g


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_images_are_found_again(kernel) -> None:
    X, _ = mixtures()
    Y = np.random.default_rng(1).uniform(-1, 1, size=(5, 2))
    target = RKHS(kernel).function(np.vstack([X, Y]), np.eye(45)[:, 40:])
    found = Gradient(tol=1e-9, n_init=0).find(target, start=Y + 0.1)
    assert np.allclose(found.points, Y, atol=1e-5)
    assert np.all(found.distance < 1e-5)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_ends_are_stationary_and_as_low_as_scipys(kernel) -> None:
    X, G = mixtures()
    found = Gradient(tol=1e-8).find(RKHS(kernel).function(X, G))
    assert not found.fallback.any() and found.message == ""
    h = 1e-5
    for y, g, distance in zip(found.points, G.T, found.distance, strict=True):
        up0, up1, down0, down1 = square_distance(kernel, X, g, y + h * np.vstack([np.eye(2), -np.eye(2)]))
        assert np.allclose([(up0 - down0) / (2 * h), (up1 - down1) / (2 * h)], 0, atol=2e-6 * kernel.diag(X).max())
        begin = X[np.argsort(square_distance(kernel, X, g, X))[:3]]
        theirs = [minimize(lambda v, g=g: square_distance(kernel, X, g, v[None])[0], x, tol=1e-10).fun for x in begin]
        # a line search may end in another valley than ours, so that theirs is compared with some room
        assert distance <= np.sqrt(max(min(theirs), 0)) * 1.02 + 1e-6


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Polynomial(2), 0.5 * Gaussian(0.5) + 0.2 * Linear()], ids=str)
def test_against_a_grid_in_two_dimensions(kernel) -> None:
    rng = np.random.default_rng(2)
    X, G = rng.normal(size=(10, 2)), rng.uniform(size=(10, 4)) / 5
    found = Gradient(tol=1e-8, n_init=10).find(RKHS(kernel).function(X, G))
    side = np.linspace(-3, 3, 301)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for g, distance in zip(G.T, found.distance, strict=True):
        lowest = np.sqrt(square_distance(kernel, X, g, grid).min())
        assert lowest - 2e-3 < distance <= lowest + 1e-9


def test_linear_kernel_gives_the_vector_itself() -> None:
    X, G = mixtures(d=7)
    found = Gradient(tol=1e-10).find(RKHS(Linear()).function(X, G))
    assert np.allclose(found.points, G.T @ X, atol=1e-7)


def test_agrees_with_the_fixed_point() -> None:
    X, G = mixtures()
    target = RKHS(Gaussian(2.0)).function(X, G)
    ours, theirs = Gradient(tol=1e-9).find(target), FixedPoint(tol=1e-9).find(target)
    assert np.allclose(ours.points, theirs.points, atol=1e-6)


def test_only_the_columns_that_the_kernel_sees_move() -> None:
    X, G = mixtures(d=3)
    start = np.random.default_rng(5).normal(size=(6, 3))
    found = Gradient(n_init=0).find(RKHS(Gaussian(2.0).on([0, 2])).function(X, G), start=start)
    assert np.array_equal(found.points[:, 1], start[:, 1]) and np.all(found.points[:, 0] != start[:, 0])


def test_bounds_of_the_domain_hold() -> None:
    X = np.array([[0.5], [1.0], [2.0]])
    kernel = Spline()
    G = np.array([[-1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])  # the first is lowest at the edge 0 of the domain
    found = Gradient().find(RKHS(kernel).function(X, G))
    grid = np.linspace(0, 4, 4001)[:, None]
    for j, g in enumerate(G.T):
        assert found.points[j] == pytest.approx(grid[square_distance(kernel, X, g, grid).argmin()], abs=1e-3)
    assert found.points[0, 0] == 0 and not found.fallback.any()


def test_bounded_descents_end_as_low_as_scipys() -> None:
    rng = np.random.default_rng(1)
    X, G, start, kernel = rng.uniform(size=(8, 2)), rng.normal(size=(8, 10)), rng.uniform(size=(10, 2)), Spline()
    found = Gradient(n_init=0, tol=1e-8).find(RKHS(kernel).function(X, G), start=start)
    assert not found.fallback.any() and np.all(found.points >= 0) and np.any(found.points == 0)
    for g, x, distance in zip(G.T, start, found.distance, strict=True):
        theirs = minimize(
            lambda v, g=g: square_distance(kernel, X, g, v[None])[0], x, method="L-BFGS-B", bounds=[(0, None)] * 2
        )
        assert distance == pytest.approx(np.sqrt(theirs.fun), rel=1e-4)


def test_more_starts_find_the_lower_valley() -> None:
    # the sample point nearest in the space stands alone, at 0; the lowest point is between two others
    X, g, kernel = np.array([[0.0], [4.0], [4.9]]), np.array([0.5, 0.35, 0.35]), Gaussian(0.6)
    target = RKHS(kernel).function(X, g)
    one, all_ = Gradient(n_init=1).find(target), Gradient(n_init=3).find(target)
    assert one.points[0, 0] == pytest.approx(0, abs=1e-3) and all_.points[0, 0] == pytest.approx(4.45, abs=1e-3)
    given = Gradient(n_init=1).find(target, start=[[4.2]])  # is tried besides
    assert given.points[0, 0] == pytest.approx(4.45, abs=1e-3)
    grid = np.linspace(-2, 8, 10001)[:, None]
    assert all_.distance[0] == pytest.approx(np.sqrt(square_distance(kernel, X, g, grid).min()), abs=1e-6)


def test_what_has_not_settled_is_said() -> None:
    X, G = mixtures()
    found = Gradient(max_iter=2).find(RKHS(Gaussian(0.5)).function(X, G))
    assert found.fallback.any()
    assert found.message.startswith(f"{found.fallback.sum()} of 6 descents did not converge")


@pytest.mark.parametrize("kernel", [Laplace(), Matern(0.5)], ids=str)
def test_kernels_without_gradient_are_refused(kernel) -> None:
    X, G = mixtures()
    with pytest.raises(TypeError, match=r"Gradient needs a kernel that provides gradient_x.*Try DistanceBased"):
        Gradient().find(RKHS(kernel).function(X, G))


def test_cosine_is_found_up_to_length() -> None:
    X, _ = mixtures()
    found = Gradient(tol=1e-9).find(RKHS(Cosine()).function(X, np.eye(40)[:, :3]), start=X[:3] + 0.1)
    cosines = (
        np.sum(found.points * X[:3], axis=1) / np.linalg.norm(found.points, axis=1) / np.linalg.norm(X[:3], axis=1)
    )
    assert np.allclose(cosines, 1, atol=1e-9)


def test_states_of_earlier_versions():
    found = Gradient.__new__(Gradient)
    found.__setstate__({"starts": 5, "max_iter": 500, "tol": 1e-6, "memory": 8, "time_budget": None})
    assert found.get_params() == Gradient(n_init=5, max_iter=500).get_params()
