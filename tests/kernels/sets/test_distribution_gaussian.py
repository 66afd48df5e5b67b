"""A Gaussian of the discrepancy, against its definition and closed forms."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

from mercer import SVC, KernelRidge
from mercer.kernels import PD, UNKNOWN, Gaussian, Linear, Power, Sigmoid
from mercer.kernels.sets import DistributionGaussian

RNG = np.random.default_rng(2)
SETS = [RNG.normal(size=(n, 2)) + n for n in (1, 4, 2, 7)]


def discrepancy(kernel, x, y):
    return kernel(x).mean() + kernel(y).mean() - 2 * kernel(x, y).mean()


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Power(1.0), Linear()], ids=str)
def test_definition(kernel) -> None:
    d2 = np.array([[discrepancy(kernel, x, y) for y in SETS] for x in SETS])
    ours = DistributionGaussian(kernel, 0.7)
    assert np.allclose(ours(SETS), np.exp(-d2 / (2 * 0.49)), rtol=1e-10, atol=1e-15)
    assert np.allclose(ours(SETS[:1], SETS), np.exp(-d2[:1] / (2 * 0.49)), rtol=1e-10, atol=1e-15)
    assert np.array_equal(ours.diag(SETS), np.ones(4))


def test_linear_inner_kernel_is_a_gaussian_of_the_means() -> None:
    means = np.array([x.mean(axis=0) for x in SETS])
    assert np.allclose(DistributionGaussian(Linear(), 2.0)(SETS), Gaussian(2.0)(means), rtol=1e-12)


@given(st.integers(0, 10_000))
def test_order_and_repetition_of_members_do_not_matter(seed) -> None:
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 2)) for n in rng.integers(1, 9, 6)]
    kernel = DistributionGaussian(Gaussian(), 0.3)
    K = kernel(X)
    assert np.allclose(kernel([rng.permutation(x) for x in X]), K, rtol=1e-12)
    assert np.allclose(kernel([np.concatenate([x, x]) for x in X]), K, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-13


def test_random_features() -> None:
    exact = DistributionGaussian(Gaussian(0.8), 0.7)
    approximate = DistributionGaussian(Gaussian(0.8), 0.7, n_features=20_000)
    assert np.abs(approximate(SETS) - exact(SETS)).max() < 0.05
    again = DistributionGaussian(Gaussian(0.8), 0.7, n_features=20_000)
    assert np.array_equal(approximate(SETS[:2], SETS), again(SETS[:2], SETS))
    assert not np.array_equal(approximate(SETS), again.set_params(random_state=1)(SETS))


def test_median_lengthscale() -> None:
    inner = Gaussian("median").resolve(np.concatenate(SETS))
    d = [np.sqrt(discrepancy(inner, x, y)) for i, x in enumerate(SETS) for y in SETS[i + 1 :]]
    resolved = DistributionGaussian(Gaussian("median"), "median").resolve([*SETS, SETS[0][::-1]])
    repeated = [np.sqrt(discrepancy(resolved.kernel, SETS[0], y)) for y in SETS[1:]]
    everything = [
        np.sqrt(discrepancy(resolved.kernel, x, y)) for i, x in enumerate(SETS) for y in SETS[i + 1 :]
    ] + repeated
    assert resolved.lengthscale == pytest.approx(np.median(everything), rel=1e-10)
    alone = DistributionGaussian(Gaussian("median"), "median").resolve(SETS)
    assert alone.kernel == inner
    assert alone.lengthscale == pytest.approx(np.median(d), rel=1e-10)
    assert DistributionGaussian(Gaussian(), "median").resolve([SETS[1], SETS[1][::-1]]).lengthscale == 1.0


def test_median_lengthscale_of_sets_that_repeat() -> None:
    """With a kernel whose means are not positive, and after a set of which the mean is zero."""
    for kernel, first in ((Power(1.0), SETS[1]), (Linear(), np.zeros((3, 2)))):
        X = [first, *[SETS[1]] * 3, first[::-1], SETS[3]]
        d = [np.sqrt(max(discrepancy(kernel, x, y), 0.0)) for i, x in enumerate(X) for y in X[i + 1 :]]
        expected = np.median([v for v in d if v > 1e-6])
        assert DistributionGaussian(kernel, "median").resolve(X).lengthscale == pytest.approx(expected, rel=1e-10)


def test_definiteness() -> None:
    assert DistributionGaussian(Gaussian()).definiteness == PD
    assert DistributionGaussian(Power(1.0)).definiteness == PD
    assert DistributionGaussian(Sigmoid()).definiteness == UNKNOWN


def test_refusals() -> None:
    with pytest.raises(ValueError, match="lengthscale = 'median' depends on the data"):
        DistributionGaussian(Gaussian(), "median")(SETS)
    with pytest.raises(ValueError, match="lengthscale = 'mean' is unknown"):
        DistributionGaussian(Gaussian(), "mean")(SETS)
    with pytest.raises(ValueError, match="lengthscale = 0 must be > 0"):
        DistributionGaussian(Gaussian(), 0)(SETS)


def test_regression_on_distributions() -> None:
    """The variance of a sample is no mean of a function of its members once the mean varies too."""
    rng = np.random.default_rng(0)
    spread = rng.uniform(0.5, 2.0, 120)
    X = [s * rng.normal(size=(60, 1)) + rng.normal() for s in spread]
    kernel = DistributionGaussian(Gaussian("median"), "median")
    model = KernelRidge(alpha=1e-3, kernel=kernel).fit(X[:80], spread[:80])
    error = np.sqrt(np.mean((model.predict(X[80:]) - spread[80:]) ** 2))
    assert error < 0.5 * spread[80:].std()


def test_classification_of_sets() -> None:
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 1)) * (1 + 3 * (i % 2)) for i, n in enumerate(rng.integers(20, 40, 40))]
    y = np.arange(40) % 2
    model = SVC(kernel=DistributionGaussian(Gaussian("median"), "median"))
    search = GridSearchCV(model, {"C": [1.0, 10.0]}, cv=3).fit(X[:20], y[:20])
    assert search.score(X[20:], y[20:]) > 0.9
    copy = pickle.loads(pickle.dumps(search))
    assert np.array_equal(copy.decision_function(X[20:]), search.decision_function(X[20:]))
