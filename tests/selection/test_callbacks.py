"""Callbacks of searches: they hear of the search, and of each of its steps, and may end it."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.methods.test_budgets import Recorder

from mercer import KernelRidge
from mercer.selection import KernelSearchCV, KernelTuner

rng = np.random.default_rng(0)
X = rng.normal(size=(24, 2))
y = np.sin(X[:, 0])
SEARCHES = {
    "search": lambda: KernelSearchCV(KernelRidge(kernel="gaussian"), {"alpha": [0.1, 1.0, 10.0]}, cv=2),
    "tuner": lambda: KernelTuner(KernelRidge(kernel="gaussian(lengthscale=1.0)")),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_callbacks_hear_of_a_search(name):
    recorder, plain = Recorder(), SEARCHES[name]().fit(X, y)
    watched = SEARCHES[name]().set_callbacks(recorder).fit(X, y)
    events = recorder.events
    assert events[:2] == ["setup", "begin fit"] and events[-2:] == ["end fit", "teardown"]
    assert events.count("begin fit") == events.count("setup") == events.count("teardown") == 1
    assert events.count("begin round") == events.count("end round") > 1
    assert watched.best_params_ == plain.best_params_


class Ending(Recorder):
    """Ends the work after so many rounds."""

    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def on_fit_task_end(self, estimator, context, *, X, y):
        super().on_fit_task_end(estimator, context, X=X, y=y)
        return self.events.count("end round") >= self.rounds


def test_a_callback_ends_a_search():
    search = SEARCHES["search"]().set_params(n_jobs=1).set_callbacks(Ending(1))
    with pytest.raises(TimeoutError, match="KernelSearchCV: a callback asked to stop before any setting was tried"):
        search.fit(X, y)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")  # those of fits that were left out
def test_a_search_keeps_what_was_tried_before_a_callback_ended_it():
    search = SEARCHES["search"]().set_params(n_jobs=1).set_callbacks(Ending(2))  # both folds of the first setting
    with pytest.warns(UserWarning, match="KernelSearchCV: a callback asked to stop before 4 of 6 fits"):
        search.fit(X, y)
    assert search.best_params_ == {"alpha": 0.1}


def test_a_callback_ends_a_tuner():
    tuner = SEARCHES["tuner"]().set_callbacks(Ending(2))
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        tuner.fit(X, y)
    assert tuner.n_evaluations_ == 2 and np.isfinite(tuner.predict(X)).all()


class Failing(Recorder):
    """Raises at the end of the search, which has its result by then."""

    def on_fit_task_end(self, estimator, context, *, X, y):
        if context.task_name == "fit":
            raise RuntimeError("of the callback")


@pytest.mark.parametrize("name", SEARCHES)
def test_a_callback_that_fails_leaves_the_earlier_search(name):
    search = SEARCHES[name]().fit(X, y)
    before = dict(vars(search))
    search.set_callbacks(Failing())
    with pytest.raises(RuntimeError, match="of the callback"):
        search.fit(X[:12], y[:12])
    assert {name: value for name, value in vars(search).items() if "callback" not in name} == before
