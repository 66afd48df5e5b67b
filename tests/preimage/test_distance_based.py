"""Points from distances: exact where they are those of a point."""

import numpy as np
import pytest

from mercer import RKHS
from mercer.kernels import (
    Affine,
    Bessel,
    Cauchy,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Wendland,
)
from mercer.preimage import DistanceBased

MATRIX = np.array([[1.0, 0.3, 0.0], [0.0, 0.8, 0.2], [0.0, 0.0, 1.5]])
KERNELS = [
    Gaussian(2.0),
    Gaussian(np.array([1.0, 2.0, 4.0])),
    Gaussian(MATRIX),
    Laplace(2.0),
    Laplace(MATRIX),
    Matern(0.8, 3.0),
    Matern(2.5, 3.0),
    RationalQuadratic(),
    Cauchy(),
    Wendland(0, 20.0),
    Wendland(2, 20.0),
    Linear(),
    Affine(2.0),
    Polynomial(1, 2.0, 0.5),
    Polynomial(3),
    Polynomial(5, 0.2, 2.0),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("k", [4, 12])
def test_images_are_found_again(kernel, k) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = rng.normal(size=(6, 3)) * 0.7
    H = RKHS(kernel)
    target = H.function(np.vstack([X, Y]), np.eye(46)[:, 40:])
    found = DistanceBased(k).find(target)
    assert np.allclose(found.points, Y, atol=1e-6)
    assert not found.fallback.any() and found.message == ""


def test_formula_of_the_neighbours() -> None:
    """One target that is no image, by the formula with the eigenvectors of the neighbours' inner products."""
    rng = np.random.default_rng(1)
    X, g = rng.normal(size=(30, 5)), rng.uniform(size=30) ** 6
    g /= g.sum()
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=-1) / 4)
    in_space = 1 - 2 * K @ g + g @ K @ g
    near = np.argsort(in_space)[:4]
    squares = -8 * np.log(1 - 0.5 * in_space[near])
    centre = X[near].mean(axis=0)
    Z = (X[near] - centre).T
    E, sizes, V = np.linalg.svd(Z, full_matrices=False)
    E, sizes, V = E[:, :3], sizes[:3], V[:3].T
    y = centre + E @ (0.5 / sizes * (V.T @ ((Z**2).sum(axis=0) - squares)))
    found = DistanceBased(4).find(RKHS(Gaussian(2.0)).function(X, g))
    assert np.allclose(found.points[0], y, atol=1e-9)


def test_point_lies_in_the_affine_span_of_the_neighbours() -> None:
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(20, 2)), np.full(20, 7.0)])
    G = rng.uniform(size=(20, 3)) ** 6
    found = DistanceBased(6).find(RKHS(Gaussian(2.0)).function(X, G / G.sum(axis=0)))
    assert np.allclose(found.points[:, 2], 7.0)


def test_distances_that_no_point_has_are_said() -> None:
    X = np.random.default_rng(3).normal(size=(20, 2))
    G = np.column_stack([np.eye(20)[:, 0], np.full(20, -1.0)])  # the second is further from all than infinity
    found = DistanceBased().find(RKHS(Gaussian(1.0)).function(X, G))
    assert found.fallback.tolist() == [False, True] and np.all(np.isfinite(found.points))
    assert found.message == "1 of 2 targets have feature-space distances that no point attains; they were clipped"


def test_equal_points_are_their_own_neighbours() -> None:
    X = np.vstack([np.tile([1.0, 2.0], (12, 1)), [[5.0, 5.0]]])
    found = DistanceBased(10).find(RKHS(Gaussian(1.0)).function(X, np.eye(13)[:, :1]))
    assert np.allclose(found.points, [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("kernel", "said"),
    [
        (Polynomial(2), "profile is not monotone"),
        (Bessel(), "profile is not monotone"),
        (Laplace(norm=1), "not known to be one"),
    ],
    ids=str,
)
def test_kernels_that_hide_the_distance_are_refused(kernel, said) -> None:
    X = np.random.default_rng(4).normal(size=(20, 2)) * 10
    with pytest.raises(TypeError, match=f"DistanceBased.*{said}"):
        DistanceBased().find(RKHS(kernel).function(X, np.eye(20)[:, :1]))
