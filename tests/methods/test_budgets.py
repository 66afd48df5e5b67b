"""Laws over all estimators: a spent time budget is an error or a warning, a large one changes nothing; callbacks."""

import pickle
import warnings
from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_clusterer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils import get_tags
from tests.methods.test_failed_fits import assert_equal_fits
from tests.methods.test_sklearn import ESTIMATORS

from mercer import (
    SVC,
    KernelCCA,
    KernelDensity,
    KernelDimensionReduction,
    KernelICA,
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
    RobustKernelDensity,
    SemiSupervised,
    SmoothingSpline,
    SpectralClustering,
    context,
)
from mercer.inference import JackknifePlus
from mercer.selection import KernelTuner

EVERY = [
    *ESTIMATORS,
    LinearSVC(),
    LinearSVR(),
    SmoothingSpline(),
    SemiSupervised(KernelRidge(kernel="gaussian")),
    SemiSupervised(SVC(kernel="gaussian", tol=1e-9)),
    MarginalTransfer(SVC(tol=1e-9)),
    KernelDensity(bandwidth="loo"),
    KernelCCA(epsilon="spectrum", n_permutations=3),
    KernelPLS("cv", cv=2),
    KernelRidgeCV(kernel="gaussian", alpha="marginal_likelihood", optimize=True),
    SpectralClustering(2, assign_labels="discretize"),
]
everywhere = pytest.mark.parametrize("estimator", EVERY, ids=lambda e: " ".join(repr(e).split())[:60])
pytestmark = [
    pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning"),
    pytest.mark.filterwarnings("ignore:.*at the end of the grid"),
    pytest.mark.filterwarnings("ignore:MarginalTransfer. there is only one sample"),
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


class Stopping(Recorder):
    """Asks for an end as soon as a round has ended."""

    def on_fit_task_end(self, estimator, context, *, X, y):
        super().on_fit_task_end(estimator, context, X=X, y=y)
        return context.task_name == "round"


@pytest.mark.parametrize(
    "model",
    [
        KernelKMeans(5, n_init=1, random_state=0),
        RelevanceVectorMachine(),
        RelevanceVectorClassifier(),
        KernelICA(random_state=0),
        KernelDimensionReduction(random_state=0),
        RobustKernelDensity(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_callbacks_hear_of_the_rounds_of_iterations_and_may_end_them(model):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(60, 3))
    y = np.where(is_classifier(model), X[:, 0] * X[:, 1] > 0, np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=60))
    recorder = Recorder()
    clone(model).set_callbacks(recorder).fit(X, y)
    assert recorder.events.count("end round") > 1
    stopping = Stopping()
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        clone(model).set_callbacks(stopping).fit(X, y)
    assert stopping.events.count("end round") < recorder.events.count("end round")


class Asking(Recorder):
    """Asks the estimator, and a copy of it, for answers at every event."""

    def on_fit_task_begin(self, estimator, context, *, X, y):
        self.ask(estimator, f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, X, y):
        self.ask(estimator, f"end {context.task_name}")

    def ask(self, estimator, event):
        for one in (estimator, deepcopy(estimator)):
            try:
                answers(one, self.X)
                self.events.append(event)
            except NotFittedError:
                assert event != "end fit"


@everywhere
def test_a_fit_that_goes_on_is_none_for_others(estimator):
    """Neither of the object nor of its copies, and be there an earlier one: its attributes would be mixed with new."""
    model, X, y = data(estimator)
    asking = Asking()
    asking.X = X
    model.fit(X, y).set_callbacks(asking).fit(X, y)
    asked = 0 if answers(model, X) == [] else 2
    assert [event for event in asking.events if " " in event and asked] == ["end fit"] * asked


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


@pytest.mark.parametrize("queries", [2, 10, 40, 100, 200])
@pytest.mark.parametrize(
    "model",
    [
        KernelDimensionReduction([1, 2], cv=3),
        JackknifePlus(GridSearchCV(KernelRidge(kernel="gaussian"), {"alpha": [0.1, 1.0]}, cv=2), cv=5),
    ],
    ids=lambda m: type(m).__name__,
)
def test_cross_validation_takes_a_spent_budget_for_no_failed_fit(model, queries, monkeypatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    monkeypatch.setattr(context, "time", Clock(queries))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            clone(model).set_params(time_budget=1.0).fit(X, np.sin(X[:, 0]))
        except TimeoutError as error:
            assert str(error).startswith(type(model).__name__)
    assert not [str(w.message) for w in caught if "failed" in str(w.message) or "non-finite" in str(w.message)]


def test_callbacks_are_set_up_once_beside_cross_validation() -> None:
    recorder = Recorder()
    X = np.random.default_rng(0).normal(size=(20, 3))
    KernelDimensionReduction([1, 2], cv=3).set_callbacks(recorder).fit(X, X[:, 0])
    assert [recorder.events.count(event) for event in ("setup", "begin fit", "end fit", "teardown")] == [1] * 4
