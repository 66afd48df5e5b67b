"""The least cost over all alignments, against their enumeration."""

import numpy as np
import pytest

from mercer.kernels import INDEFINITE, PD
from mercer.kernels.sequences import DynamicTimeWarping

RNG = np.random.default_rng(1)
SERIES = [RNG.normal(size=(n, 2)) for n in (1, 2, 3, 4, 4, 5)]


def alignments(n, m):
    """All paths from (0, 0) to (n − 1, m − 1) with steps (1, 0), (0, 1), (1, 1)."""
    if n == 1 and m == 1:
        return [[(0, 0)]]
    before = [(n - 1, m), (n, m - 1), (n - 1, m - 1)]
    return [[*path, (n - 1, m - 1)] for a, b in before if a > 0 and b > 0 for path in alignments(a, b)]


def least(x, y, band):
    paths = [p for p in alignments(len(x), len(y)) if band is None or all(abs(i - j) <= band for i, j in p)]
    return min((sum(((x[i] - y[j]) ** 2).sum() for i, j in p) for p in paths), default=np.inf)


@pytest.mark.parametrize("band", [None, 0, 1, 3])
def test_least_cost_of_all_alignments(band) -> None:
    d2 = np.array([[least(x, y, band) for y in SERIES] for x in SERIES])
    kernel = DynamicTimeWarping(1.5, band=band)
    assert np.allclose(kernel(SERIES), np.exp(-d2 / 4.5), rtol=1e-13, atol=0)
    assert np.allclose(kernel(SERIES[:2], SERIES[2:]), np.exp(-d2[:2, 2:] / 4.5), rtol=1e-13, atol=0)
    assert np.array_equal(kernel.diag(SERIES), np.ones(6))


@pytest.mark.parametrize("lengthscale", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("band", [None, 1, 5])
def test_indefinite_whatever_the_parameters(lengthscale, band) -> None:
    kernel = DynamicTimeWarping(lengthscale, band=band)
    X = [lengthscale * np.array(x) for x in ([0.0, 1.0], [0.0, 0.0, 1.0], [0.5, 0.5])]
    assert kernel.definiteness == INDEFINITE
    assert np.linalg.eigvalsh(kernel(X)).min() < -1e-3


def test_band_zero_is_a_gaussian_on_each_length() -> None:
    X = RNG.normal(size=(8, 5))
    kernel = DynamicTimeWarping(2.0, band=0)
    expected = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / 8)
    assert np.allclose(kernel(X), expected, rtol=1e-13)
    assert kernel.definiteness == PD
    assert np.array_equal(kernel(X, [[1.0, 2.0]]), np.zeros((8, 1)))


def test_single_precision() -> None:
    X = [x.astype(np.float32) for x in SERIES]
    assert DynamicTimeWarping()(X).dtype == np.float64
    assert np.allclose(DynamicTimeWarping()(X), DynamicTimeWarping()(SERIES), atol=1e-5)


def test_median_lengthscale() -> None:
    d2 = [least(x, y, None) for i, x in enumerate(SERIES) for y in SERIES[i + 1 :]]
    resolved = DynamicTimeWarping("median").resolve(SERIES)
    assert resolved.lengthscale == pytest.approx(np.median(np.sqrt(d2)), rel=1e-13)
    assert DynamicTimeWarping("median").resolve([[0.0], [0.0, 0.0]]).lengthscale == 1.0


def test_refusals() -> None:
    with pytest.raises(ValueError, match="band = -1 must be >= 0"):
        DynamicTimeWarping(band=-1)(SERIES)
    with pytest.raises(ValueError, match="lengthscale = 'mean' is unknown"):
        DynamicTimeWarping("mean")(SERIES)
