"""Lengthscales from data: kernlab's sigest with its own pairs, scikit-learn's "scale", the median by brute force."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import pdist
from sklearn.datasets import load_iris
from sklearn.svm import SVC

from mercer.kernels import bandwidth
from mercer.kernels.gaussian import Gaussian

seeded = np.random.default_rng(0)
X = seeded.normal(size=(40, 3)) * np.array([1.0, 2.0, 0.5]) + 7


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("name", ["sigest_iris", "sigest_iris_scaled"])
def test_kernlab(oracle, name):
    o = oracle(name)
    pairs = tuple(np.asarray(o["inputs"][key]) - 1 for key in ("pairs_i", "pairs_j"))
    found = bandwidth.sigest(o["inputs"]["X"], pairs=pairs, scaled=o["parameters"]["scaled"])
    np.testing.assert_allclose(found, o["outputs"]["srange"], rtol=1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_scale_is_scikit_learns_gamma(sparse):
    A, y = load_iris(return_X_y=True)
    A = csr_array(A) if sparse else A
    gamma = SVC(gamma="scale").fit(A, y)._gamma
    assert Gaussian("scale").resolve(A).lengthscale == pytest.approx(Gaussian.from_gamma(gamma).lengthscale, rel=1e-12)


def test_median(xp):
    expected = np.median(pdist(X))
    assert bandwidth.median(xp.asarray(X)) == pytest.approx(expected)
    assert bandwidth.median(csr_array(X)) == pytest.approx(expected)
    # repeated rows add zero distances, which do not count
    assert bandwidth.median(np.array([[0.0], [0.0], [0.0], [2.0]])) == 2.0


def test_sigest_over_all_pairs():
    expected = 1 / np.quantile(pdist(X) ** 2, [0.9, 0.5, 0.1])
    np.testing.assert_allclose(bandwidth.sigest(X), expected)
    standard = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(bandwidth.sigest(X, scaled=True), 1 / np.quantile(pdist(standard) ** 2, [0.9, 0.5, 0.1]))


def test_sigest_takes_lists_and_frames():
    expected = bandwidth.sigest(X)
    for A in (X.tolist(), pd.DataFrame(X), csr_array(X)):
        np.testing.assert_allclose(bandwidth.sigest(A), expected)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"X": None}, "X = None, expected numbers"),
        ({"X": X[:, 0]}, "X has shape \\(40,\\)"),
        ({"X": np.where(X[2, 1] == X, np.nan, X)}, "X contains NaN at row 2, column 1"),
        ({"quantiles": "high"}, "quantiles = 'high' must be a sequence of numbers from 0 to 1"),
        ({"quantiles": (0.5, -1)}, "quantiles = \\(0.5, -1\\) must be"),
        ({"pairs": -1}, "pairs = -1 must be two sequences"),
        ({"pairs": ([0, 1], [2, 40])}, "indices of the 40 rows of X"),
        ({"X": csr_array(X), "scaled": True}, "pass X.toarray\\(\\), or scaled=False"),
    ],
)
def test_sigest_refuses(arguments, words):
    with pytest.raises((ValueError, TypeError), match=f"^sigest: .*({words})"):
        bandwidth.sigest(**{"X": X, **arguments})


def test_sigest_rule_is_the_middle_of_the_range():
    low, _, high = bandwidth.sigest(X)
    expected = Gaussian.from_kernlab((low + high) / 2).lengthscale
    assert Gaussian("sigest").resolve(X).lengthscale == pytest.approx(expected, rel=1e-14)


def test_large_samples_are_drawn_repeatably(rng):
    A = rng.normal(size=(3000, 2))
    assert bandwidth.median(A) == bandwidth.median(A)
    # the median of 499,500 pairs of 1,000 rows is within a few per cent of that of all pairs
    assert bandwidth.median(A) == pytest.approx(np.median(pdist(A)), rel=0.05)


@pytest.mark.parametrize(("rule", "value"), [("median", 1.0), ("scale", 1 / np.sqrt(2)), ("sigest", 1 / np.sqrt(2))])
def test_constant_data(rule, value):
    """No distance to learn from: ℓ = 1, or σ = 1."""
    assert bandwidth.RULES[rule](np.ones((5, 2))) == pytest.approx(value)


def test_wide_data_take_little_memory(rng):
    X = rng.normal(size=(300, 20_000))
    tracemalloc.start()
    found = bandwidth.median(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5 * X.nbytes
    assert found == pytest.approx(np.median(pdist(X)), rel=1e-12)
