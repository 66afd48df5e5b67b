"""Laws over all estimators: a spent time budget is an error or a warning, a large one changes nothing; callbacks."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags
from tests.methods.test_failed_fits import assert_equal_fits
from tests.methods.test_sklearn import ESTIMATORS

from mercer import (
    SVC,
    KernelCCA,
    KernelDensity,
    KernelKMeans,
    KernelMachine,
    KernelPLS,
    KernelRidge,
    KernelRidgeCV,
    LinearSVC,
    LinearSVR,
    MarginalTransfer,
    MultipleKernel,
    RelevanceVectorClassifier,
    RelevanceVectorMachine,
    SemiSupervised,
    SmoothingSpline,
    SpectralClustering,
    context,
)
from mercer.selection import KernelTuner

EVERY = [
    *ESTIMATORS,
    LinearSVC(),
    LinearSVR(),
    SmoothingSpline(),
    SemiSupervised(KernelRidge(kernel="gaussian")),
    SemiSupervised(SVC(kernel="gaussian", tol=1e-9)),
    MarginalTransfer(SVC(tol=1e-9)),
    KernelDensity(bandwidth="cv"),
    KernelCCA(epsilon="spectrum", n_permutations=3),
    KernelPLS("cv", cv=2),
    KernelRidgeCV(kernel="gaussian", cv="marginal_likelihood", optimize=True),
    SpectralClustering(2, assign_labels="discretize"),
]
everywhere = pytest.mark.parametrize("estimator", EVERY, ids=lambda e: " ".join(repr(e).split())[:60])
pytestmark = [
    pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore:.*at the end of the grid"),
    pytest.mark.filterwarnings("ignore:MarginalTransfer. there is one sample"),
]


# fits that may be over before anything asks the time, and why
AT_ONCE = [
    (lambda e: isinstance(e, KernelDensity) and e.bandwidth != "cv", "the samples are kept, and nothing is computed"),
    (lambda e: isinstance(e, MultipleKernel) and is_clusterer(e.estimator), "the weights converge in the first round"),
]


def data(estimator, n=24):
    """A task that the estimator takes, with nothing left to chance."""
    model, tags = clone(estimator), get_tags(estimator).input_tags
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    X = np.random.default_rng(3).normal(size=(n, 2))
    y = 1 * (X[:, 0] > 0) if is_classifier(model) else X[:, 0] + 0.1 * X[:, 1]
    if tags.pairwise:
        X = X @ X.T + np.eye(n)
    elif tags.positive_only:
        X = np.abs(X)
    elif isinstance(model, SmoothingSpline):
        X = X[:, 0]
    return model, X, y


def answers(model, X):
    names = ("predict", "transform", "decision_function", "score_samples")
    return [getattr(model, name)(X) for name in names if hasattr(model, name)]


@everywhere
def test_a_spent_budget_is_an_error_or_a_warning(estimator):
    model, X, y = data(estimator)
    model.set_params(time_budget=1e-9)
    before = vars(model).copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, y)
        except TimeoutError as error:
            name = type(model).__name__
            assert str(error).startswith(f"{name}: the time budget is spent") and "Raise time_budget." in str(error)
            assert vars(model) == before
            return
    if next((why for case, why in AT_ONCE if case(model)), None):
        return
    said = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert any("the time budget is spent" in message and "Raise time_budget." in message for message in said)
    for here, there in zip(answers(model, X), answers(pickle.loads(pickle.dumps(model)), X), strict=True):
        np.testing.assert_array_equal(here, there)


@everywhere
def test_a_large_budget_changes_nothing(estimator):
    model, X, y = data(estimator)
    within = clone(model).set_params(time_budget=1e6).fit(X, y)
    model.fit(X, y)
    within.time_budget = None
    assert_equal_fits(within, model)
    for here, there in zip(answers(within, X), answers(model, X), strict=True):
        np.testing.assert_array_equal(here, there)


class Recorder:
    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X, y):
        self.events.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y):
        self.events.append(f"end {context.task_name}")

    def teardown(self, estimator, context):
        self.events.append("teardown")


@everywhere
def test_callbacks_hear_of_every_fit(estimator):
    model, X, y = data(estimator)
    recorder = Recorder()
    model.set_callbacks(recorder).fit(X, y)
    events = recorder.events
    assert events[:2] == ["setup", "begin fit"] and events[-2:] == ["end fit", "teardown"]
    assert sorted(set(events)) == sorted({e for e in events if events.count(e) == 1 or "fit" not in e})
    assert not [name for name in vars(model) if name.startswith("_callback") or name == "_skl_callbacks_to_teardown"]


class Clock:
    """A clock that stands still until it was asked so often, and then is past every budget."""

    def __init__(self, queries):
        self.left = queries

    def monotonic(self):
        self.left -= 1
        return 0.0 if self.left > 0 else 1e9


SLOW = {
    "norm": (KernelMachine("absolute", kernel="gaussian(1.5)", penalty="norm"), "y"),
    "ball": (KernelMachine("huber", kernel="gaussian(1.5)", penalty=("ball", 0.5)), "y"),
    "relevance": (RelevanceVectorMachine("gaussian(1.0)"), "y"),
    "relevance labels": (RelevanceVectorClassifier("gaussian(1.0)"), "labels"),
    "k-means": (KernelKMeans(4, n_init=30, random_state=0), "y"),
    "tuner": (KernelTuner(SVC(kernel="gaussian(1.0)"), max_iter=3), "labels"),
}


@pytest.mark.parametrize("name", list(SLOW))
@pytest.mark.parametrize("queries", [2, 3, 5, 9, 20, 60])
def test_a_budget_that_is_spent_anywhere_is_told(name, queries, monkeypatch) -> None:
    """Whatever was cut short: a warning and something usable, or an error; else the answer is that without a budget."""
    model, kind = SLOW[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=30)
    target = y if kind == "y" else y > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few steps
        whole = clone(model).fit(X, target)
    monkeypatch.setattr(context, "time", Clock(queries))
    cut = clone(model).set_params(time_budget=1.0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            cut.fit(X, target)
        except TimeoutError as error:
            assert str(error).startswith(type(model).__name__)
            return
    told = any("the time budget is spent" in str(w.message) for w in caught)
    assert told or np.array_equal(cut.predict(X), whole.predict(X))
