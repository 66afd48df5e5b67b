"""Measures: Gauss's rules integrate polynomials exactly; parameters out of range are refused."""

import numpy as np
import pytest

from mercer.measures import GaussianMeasure, UniformMeasure


def test_gaussian_moments():
    """Odd moments vanish, E z² = σ², E z⁴ = 3σ⁴, E z⁶ = 15σ⁶."""
    nodes, w = GaussianMeasure(2.0, 1.5).quadrature(4)
    assert nodes.shape == (4, 1) and w.sum() == pytest.approx(1.0)
    z = nodes[:, 0] - 2.0
    for power, moment in ((1, 0.0), (2, 1.5**2), (3, 0.0), (4, 3 * 1.5**4), (5, 0.0), (6, 15 * 1.5**6)):
        assert w @ z**power == pytest.approx(moment, abs=1e-10)


def test_gaussian_covariance():
    S = np.array([[1.0, 0.0], [1.0, 2.0]])
    measure = GaussianMeasure([1.0, -1.0], S)
    nodes, w = measure.quadrature(6)
    assert measure.dimension == 2 and nodes.shape == (36, 2)
    np.testing.assert_allclose(w @ nodes, [1.0, -1.0], atol=1e-12)
    centred = nodes - np.array([1.0, -1.0])
    np.testing.assert_allclose(centred.T @ (w[:, None] * centred), S @ S.T, atol=1e-12)
    np.testing.assert_array_equal(GaussianMeasure(np.zeros(2), 3.0).parts()[1], 3.0 * np.eye(2))


def test_uniform_moments():
    measure = UniformMeasure(-1.0, [1.0, 3.0])
    nodes, w = measure.quadrature(3)
    assert measure.dimension == 2 and w.sum() == pytest.approx(1.0)
    assert w @ (nodes[:, 0] ** 4 * nodes[:, 1] ** 2) == pytest.approx((1 / 5) * (28 / 12))
    assert UniformMeasure().dimension == 1 and repr(UniformMeasure(0, 2)) == "UniformMeasure(lower=0, upper=2)"


@pytest.mark.parametrize(
    "bad",
    [{"std": 0.0}, {"std": [1.0, -1.0]}, {"std": np.ones((2, 2))}, {"std": np.ones((2, 3))}, {"mean": np.nan}],
    ids=["zero", "negative", "singular", "not square", "mean"],
)
def test_gaussian_refusals(bad):
    with pytest.raises(ValueError, match="GaussianMeasure"):
        GaussianMeasure(**bad)


def test_other_refusals():
    with pytest.raises(ValueError, match=r"mean of shape \(3,\) and std of shape \(2,\) do not agree"):
        GaussianMeasure([0.0, 0.0, 0.0], [1.0, 1.0])
    for lower, upper in ((1.0, 1.0), (2.0, 1.0), (0.0, np.inf)):
        with pytest.raises(ValueError, match="must be less than upper"):
            UniformMeasure(lower, upper)
    with pytest.raises(ValueError, match="n = 0 must be >= 1"):
        UniformMeasure().quadrature(0)
