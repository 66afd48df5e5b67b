"""The ridge map against its definition."""

import numpy as np
import pytest

from mercer import RKHS
from mercer import KernelRidge as Ridge
from mercer.kernels import Gaussian, Laplace, Linear, Polynomial
from mercer.preimage import Learned


def sample(n=50, d=3, m=4):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.normal(size=(n, m)) / n


@pytest.mark.parametrize("kernel", [Gaussian(2.0), Laplace(norm=1), Polynomial(2)], ids=str)
def test_gaussian_of_the_distance_in_the_space(kernel) -> None:
    X, G = sample()
    K = kernel(X)
    d = np.diag(K)
    between = d[:, None] + d - 2 * K
    square = 0.7**2 * np.median(between[np.triu_indices(50, 1)])
    to_targets = np.array([[d[i] - 2 * K[i] @ g + g @ K @ g for i in range(50)] for g in G.T])
    B = np.linalg.solve(np.exp(-between / (2 * square)) + 0.2 * np.eye(50), X - X.mean(axis=0))
    found = Learned(alpha=0.2, width=0.7).find(RKHS(kernel).function(X, G))
    assert np.allclose(found.points, X.mean(axis=0) + np.exp(-to_targets / (2 * square)) @ B, atol=1e-9)
    assert not found.fallback.any() and found.message == "" and found.method == "Learned"


def test_linear_map_is_an_inner_product_with_ridge_functions() -> None:
    X, G = sample()
    kernel = Gaussian(2.0)
    target = RKHS(kernel).function(X, G)
    found = Learned(alpha=0.3, width=None).find(target)
    centre = X.mean(axis=0)
    for c in range(3):
        f = Ridge(alpha=0.3, kernel=kernel).fit(X, X[:, c] - centre[c]).function_
        assert np.allclose(found.points[:, c], [centre[c] + f.inner(target[j]) for j in range(4)], atol=1e-9)


def test_images_of_the_sample_are_met_as_the_ridge_falls() -> None:
    X, _ = sample()
    target = RKHS(Laplace(2.0)).function(X, np.eye(50)[:, :5])
    assert np.allclose(Learned(alpha=1e-10).find(target).points, X[:5], atol=1e-6)
    assert np.allclose(Learned(alpha=1e-10, width=None).find(target).points, X[:5], atol=1e-6)


def test_without_ridge_the_linear_map_mixes_the_points() -> None:
    X, G = sample()
    G = G / G.sum(axis=0)
    found = Learned(alpha=1e-9, width=None).find(RKHS(Laplace(2.0)).function(X, G))
    assert np.allclose(found.points, G.T @ X, atol=1e-5)


def test_linear_kernel_and_map_give_the_vector_itself() -> None:
    X, G = sample()
    X = X - X.mean(axis=0)
    found = Learned(alpha=1e-8, width=None).find(RKHS(Linear()).function(X, G))
    assert np.allclose(found.points, G.T @ X, atol=1e-8) and np.all(found.distance < 1e-6)


@pytest.mark.parametrize("width", [0.5, None])
def test_new_points_of_a_smooth_sample(width) -> None:
    rng = np.random.default_rng(1)
    X, Y = rng.uniform(-1, 1, size=(200, 2)), rng.uniform(-0.8, 0.8, size=(5, 2))
    kernel = Gaussian(1.0)
    # the images of new points, as far as the sample spans them
    target = RKHS(kernel).function(X, np.linalg.lstsq(kernel(X), kernel(X, Y), rcond=1e-10)[0])
    assert np.allclose(Learned(alpha=1e-6, width=width).find(target).points, Y, atol=1e-2)


def test_more_points_than_the_median_is_taken_of(monkeypatch) -> None:
    monkeypatch.setattr("mercer.preimage.learned.PROBE", 10)
    X, _ = sample()
    target = RKHS(Gaussian(2.0)).function(X, np.eye(50)[:, :5])
    assert np.allclose(Learned(alpha=1e-10).find(target).points, X[:5], atol=1e-5)


def test_equal_points_are_returned() -> None:
    X = np.tile([[1.0, 2.0]], (5, 1))
    assert np.allclose(Learned().find(RKHS(Gaussian()).function(X, np.full((5, 1), 0.2))).points, [[1.0, 2.0]])
