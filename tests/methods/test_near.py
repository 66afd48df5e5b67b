"""Sums over near points agree with sums over all points, and are used only where near points are few."""

import numpy as np
import pytest

from mercer import KernelDensity, RobustKernelDensity
from mercer.kernels import Gaussian, Wendland
from mercer.methods import _near

rng = np.random.default_rng(0)
KERNELS = [
    "gaussian",
    "laplace(lengthscale=0.2)",
    "tophat",
    "epanechnikov",
    "linear",
    "cosine",
    Wendland(2),
    Gaussian([0.5, 2.0]),
]


@pytest.fixture
def used(monkeypatch):
    """Trees for any number of points; the list tells for each call whether they were used."""
    found = []
    original = _near.log_sums

    def log_sums(*arguments):
        found.append((values := original(*arguments)) is not None)
        return values

    monkeypatch.setattr("mercer.methods._density.log_sums", log_sums)
    monkeypatch.setattr(_near, "WORTH", 0)
    return found


def both(model, Y, monkeypatch):
    near = model.score_samples(Y)
    with monkeypatch.context() as patch:
        patch.setattr(_near, "DIMENSION", 0)
        return near, model.score_samples(Y)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("pairs", [50, 1 << 20])
def test_near_points_decide(kernel, pairs, used, monkeypatch) -> None:
    monkeypatch.setattr(_near, "PAIRS", pairs)
    X = np.concatenate([rng.normal(size=(900, 2)), np.full((100, 2), 0.25)])  # with copies
    Y = np.concatenate([rng.normal(size=(200, 2)), X[-3:], [[40.0, -3.0], [1e3, 1e3]]])
    weight = rng.uniform(size=1000) * (rng.uniform(size=1000) < 0.7)
    model = KernelDensity(kernel=kernel, bandwidth=0.02).fit(X + 7, sample_weight=weight)
    near, every = both(model, Y + 7, monkeypatch)
    assert used == [True, False]
    np.testing.assert_array_equal(np.isfinite(near), np.isfinite(every))
    inside = np.isfinite(near)
    np.testing.assert_allclose(near[inside], every[inside], rtol=1e-10, atol=1e-10)


def test_single_precision_stays(used, monkeypatch) -> None:
    X = rng.normal(size=(500, 1)).astype(np.float32)
    near, every = both(KernelDensity(bandwidth=0.002).fit(X), X[:50], monkeypatch)
    assert used == [True, False] and near.dtype == np.float32
    np.testing.assert_allclose(near, every, atol=1e-4)  # coordinates of 1,500 bandwidths


def test_robust_densities_use_them(used, monkeypatch) -> None:
    X = rng.normal(size=(300, 1))
    near, every = both(RobustKernelDensity(bandwidth=0.003).fit(X), X[:40], monkeypatch)
    assert used == [True, False]
    np.testing.assert_allclose(near, every, rtol=1e-9)


@pytest.mark.parametrize(
    "options",
    [{"bandwidth": 1.0}, {"kernel": "matern(nu=1.5)", "bandwidth": 0.01}, {"metric": "manhattan", "bandwidth": 0.01}],
    ids=["most points are near", "no formula for the reach", "another distance"],
)
def test_otherwise_all_pairs(options, used) -> None:
    KernelDensity(**options).fit(rng.normal(size=(300, 2))).score_samples(rng.normal(size=(20, 2)))
    assert used == [False]


def test_blocks_have_one_radius_and_bounded_work(monkeypatch) -> None:
    monkeypatch.setattr(_near, "PAIRS", 100)
    radii, counts = rng.choice([1.0, 2.0], 200), rng.integers(0, 30, 200)
    blocks = _near._blocks(radii, counts)
    assert sorted(np.concatenate(blocks)) == list(range(200))
    for rows in blocks:
        assert len(set(radii[rows])) == 1 and counts[rows].sum() < 100 + 30
