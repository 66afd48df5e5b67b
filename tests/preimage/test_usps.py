"""Denoised digits: kernel PCA by hand and the ways back from it, against linear PCA, each at its best setting."""

import numpy as np
import pytest

from mercer.kernels import Gaussian
from mercer.preimage import DistanceBased, FixedPoint
from mercer.space import Function

pytestmark = pytest.mark.long

COMPONENTS = (4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
LENGTHSCALES = (5.0, 8.0, 12.0)


def gaussian_noise(X, rng):
    return X + 0.5 * rng.normal(size=X.shape)


def speckle(X, rng):
    """Four in ten pixels black or white, whatever was there."""
    u = rng.uniform(size=X.shape)
    return np.where(u < 0.2, 0.0, np.where(u > 0.8, 1.0, X))


def linear_pca(X, noisy):
    centre = X.mean(axis=0)
    V = np.linalg.svd(X - centre, full_matrices=False)[2]
    return {q: centre + (noisy - centre) @ V[:q].T @ V[:q] for q in COMPONENTS}


def kernel_targets(X, noisy):
    """μ + Σⱼ ⟨fⱼ, φ(x) − μ⟩ fⱼ as coefficients on X, for each lengthscale and number of components."""
    n = len(X)
    for scale in LENGTHSCALES:
        kernel = Gaussian(scale)
        K, C = kernel(X), kernel(noisy, X)
        values, V = np.linalg.eigh(K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean())
        values, V = values[::-1], V[:, ::-1]
        C = C - C.mean(axis=1)[:, None] - K.mean(axis=0) + K.mean()
        for q in COMPONENTS[3:]:
            G = (V[:, :q] / values[:q]) @ (V[:, :q].T @ C.T)
            yield (scale, q), Function(kernel, X, G - G.mean(axis=0) + 1 / n)


@pytest.mark.parametrize("noise", [gaussian_noise, speckle])
def test_kernel_pca_beats_linear_pca(data_dir, noise) -> None:
    data, rng = np.load(data_dir / "usps" / "usps.npz"), np.random.default_rng(0)
    X = data["X_train"].astype(float)[rng.permutation(7291)[:1000]]
    clean = data["X_test"].astype(float)[rng.permutation(2007)[:160]]
    noisy = noise(clean, rng)

    def at_best(points):
        """The error on one half at the setting that is best on the other."""
        first = {setting: np.mean((P - clean)[:80] ** 2) for setting, P in points.items()}
        return np.mean((points[min(first, key=first.get)] - clean)[80:] ** 2)

    linear = at_best(linear_pca(X, noisy))
    iterated, scaled = {}, {}
    for setting, target in kernel_targets(X, noisy):
        if noise is gaussian_noise:
            iterated[setting] = FixedPoint(tol=1e-3, max_iter=100).find(target, start=noisy).points
        scaled[setting] = DistanceBased().find(target).points
    assert linear < 0.5 * np.mean((noisy - clean) ** 2)
    assert at_best(scaled) < 0.9 * linear
    if noise is gaussian_noise:
        assert at_best(iterated) < 0.95 * linear
