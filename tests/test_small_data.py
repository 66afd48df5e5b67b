"""What small fits and answers for one row do beside the mathematics: counted, since times depend on the machine."""

import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils import validation

from mercer import (
    SVC,
    SVR,
    KernelDensity,
    KernelFisher,
    KernelKMeans,
    KernelLogisticRegression,
    KernelMeanClassifier,
    KernelPCA,
    KernelPLS,
    KernelRidge,
    KernelRidgeCV,
    LeastSquaresSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    SpectralClustering,
)
from mercer.context import Context
from mercer.kernels._radial import Radial

pytestmark = pytest.mark.long
N = 200
X = np.random.default_rng(0).normal(size=(N, 8))
Y = (X[:, 0] > 0) + 0
NEW = np.random.default_rng(1).normal(size=(1, 8))
ANSWERS = ("predict", "transform", "decision_function", "predict_proba", "score_samples")
MODELS = [
    *(SVC(), NuSVC(nu=0.2), SVR(), NuSVR(), OneClassSVM(nu=0.1), KernelRidge(kernel="rbf"), KernelPCA(3, kernel="rbf")),
    *(KernelDensity(), SpectralClustering(2), KernelRidgeCV(), KernelKMeans(2), KernelFisher(), KernelPLS(2)),
    *(KernelLogisticRegression(), LeastSquaresSVC(), KernelMeanClassifier()),
]
models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@pytest.fixture
def counts(monkeypatch):
    """How often a call evaluates the kernel on collections, checks arrays by scikit-learn, makes pools and contexts."""
    found = Counter()

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*args, **options):
            found[name if name != "__init__" else owner.__name__] += 1
            return original(*args, **options)

        monkeypatch.setattr(owner, name, counted)

    for owner, name in (
        (Radial, "evaluate"),
        (Radial, "distances_to"),
        (validation, "check_array"),
        (ThreadPoolExecutor, "__init__"),
        (Context, "__init__"),
    ):
        count(owner, name)
    return found


def target(model):
    return Y if is_classifier(model) else X[:, 0]


@models
def test_a_fit_evaluates_the_kernel_once_and_does_nothing_twice(model, counts):
    model.fit(X, target(model))
    by_rows = (SVC, NuSVC, SVR, NuSVR, OneClassSVM)  # whose solvers compute rows; a density keeps the samples alone
    evaluations = {} if isinstance(model, (*by_rows, KernelDensity)) else {"evaluate": 1}
    assert counts == {"Context": 1, **evaluations}


@models
def test_answers_for_one_row_prepare_the_samples_once(model, counts):
    model.fit(X, target(model))
    for name in ANSWERS:
        if hasattr(model, name):
            counts.clear()
            first = getattr(model, name)(NEW)
            assert set(counts) <= {"distances_to"} and counts["distances_to"] <= 1
            counts.clear()
            np.testing.assert_array_equal(getattr(model, name)(NEW), first)
            assert counts == {}


@models
def test_what_is_no_plain_array_is_checked_once(model, counts):
    model.fit(X, target(model))
    counts.clear()
    for name in ANSWERS:
        if hasattr(model, name):
            np.testing.assert_allclose(getattr(model, name)(NEW.tolist()), getattr(model, name)(NEW))
            assert counts["check_array"] == 1
            counts.clear()


@models
def test_what_is_held_for_answers_is_not_saved(model):
    def size():
        return len(pickle.dumps(model))

    model.fit(X, target(model))
    before = size()
    answers = [getattr(model, name)(NEW) for name in ANSWERS if hasattr(model, name)]
    assert size() == pytest.approx(before, abs=200)
    again = pickle.loads(pickle.dumps(model))
    for name, answer in zip((name for name in ANSWERS if hasattr(model, name)), answers, strict=True):
        np.testing.assert_array_equal(getattr(again, name)(NEW), answer)
