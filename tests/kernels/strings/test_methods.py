"""String kernels in the methods of the library, on real DNA: lists of strings pass through everything."""

import csv
import gzip
import pickle
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score

from mercer import SVC, KernelCCA, KernelKMeans, KernelPCA
from mercer.kernels import parse
from mercer.kernels.strings import (
    BoundedRange,
    ConstantWeight,
    ExponentialDecay,
    Levenshtein,
    LocalAlignment,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
)
from mercer.selection import KernelSearchCV

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def read(folder, name):
    with gzip.open(folder / "strings" / f"{name}.csv.gz", "rt") as file:
        rows = list(csv.DictReader(file))
    return [row["sequence"] for row in rows], np.array([row["label"] for row in rows])


@pytest.fixture(scope="module")
def promoters(data_dir):
    return read(data_dir, "promoters")


PROMOTERS = [
    Spectrum(4),
    BoundedRange(6),
    Mismatch(5, 1),
    Subsequence(6, 0.5),
    ConstantWeight(),
    ExponentialDecay(0.8),
    WeightedDegree(5, shift=2),
]


@pytest.mark.long
@pytest.mark.parametrize("kernel", PROMOTERS, ids=str)
def test_promoters(promoters, kernel) -> None:
    """The composition alone, the spectrum of length 1, is the baseline."""
    X, y = promoters
    plain = cross_val_score(SVC(C=10.0, kernel=Spectrum(1).normalized()), X, y, cv=FOLDS).mean()
    assert cross_val_score(SVC(C=10.0, kernel=kernel.normalized()), X, y, cv=FOLDS).mean() > max(0.84, plain)


@pytest.mark.long
@pytest.mark.parametrize("kernel", [0.1 * Levenshtein(), LocalAlignment(0.5, log=True)], ids=str)
def test_promoters_with_what_is_not_positive_definite(promoters, kernel) -> None:
    X, y = promoters
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the kernel is indefinite
        assert cross_val_score(SVC(C=10.0, kernel=kernel), X, y, cv=FOLDS).mean() > 0.84


def test_searches_agree(promoters) -> None:
    X, y = promoters
    grid = {"kernel__kernel__length": [1, 4], "C": [1.0, 10.0]}
    estimator = SVC(kernel=parse("spectrum(length=3).normalized()"), tol=1e-8)
    ours, theirs = (search(estimator, grid, cv=FOLDS).fit(X, y) for search in (KernelSearchCV, GridSearchCV))
    assert ours.best_params_ == theirs.best_params_ and ours.best_params_["kernel__kernel__length"] == 4
    assert np.allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"])
    assert np.array_equal(ours.predict(X), theirs.predict(X))


def test_without_labels(promoters) -> None:
    """Components and clusters of strings are those of the matrix of the kernel."""
    X, _ = promoters
    kernel = Spectrum(4).normalized()
    K = kernel(X)
    scores = KernelPCA(3, kernel=kernel).fit_transform(X)
    reference = KernelPCA(3, kernel="precomputed").fit_transform(K)
    assert np.allclose(np.abs(scores), np.abs(reference), atol=1e-8)
    labels = KernelKMeans(2, kernel=kernel, random_state=0).fit(X).labels_
    assert np.bincount(labels).min() > 5
    pairs = KernelCCA(1, kernel=kernel, epsilon=0.1).fit(X, [x[::-1] for x in X])
    assert pairs.transform(X).shape == (len(X), 1)


@pytest.mark.parametrize("kernel", ["spectrum(length=4)", "mismatch(length=4)", "subsequence", "local_alignment"])
def test_models_predict_any_string_and_pickle(promoters, kernel) -> None:
    X, y = promoters
    model = SVC(kernel=f"{kernel}.normalized()").fit(X[::4], y[::4])
    new = ["", "a", "ACGT", "żółw", X[0], X[1] + "n"]
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.decision_function(new), model.decision_function(new))
    assert np.all(np.isfinite(model.decision_function(new)))
    assert model.predict(X).shape == y.shape


@pytest.mark.long
def test_splice(data_dir) -> None:
    """What says where a substring lies tells splice sites best."""
    X, y = read(data_dir, "splice")
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:1500], order[1500:]

    def accuracy(kernel):
        model = SVC(C=5.0, kernel=kernel.normalized()).fit([X[i] for i in train], y[train])
        return model.score([X[i] for i in test], y[test])

    composition = accuracy(Spectrum(1))
    without_place = [accuracy(Spectrum(5)), accuracy(Mismatch(5, 1, "ACGT"))]
    assert min(without_place) > composition + 0.05
    assert accuracy(WeightedDegree(5)) > max(0.95, *without_place)
