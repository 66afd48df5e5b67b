"""A fit that fails in the middle leaves an object as good as new; fits of one object do not share their state."""

import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from tests.methods.test_sklearn import ESTIMATORS

import mercer
from mercer import (
    SVC,
    KernelCCA,
    KernelMachine,
    KernelPCA,
    KernelRidgeCV,
    LinearSVC,
    LinearSVR,
    MultipleKernel,
    SmoothingSpline,
)
from mercer.context import Context
from mercer.methods import _base

rng = np.random.default_rng(7)
X = rng.normal(size=(16, 2))
PLACES = tuple(str(Path(mercer.__file__).parent / name) for name in ("gram", "kernels", "methods", "solvers"))
FIRST = {(type(e), is_classifier(e)): e for e in reversed([*ESTIMATORS, LinearSVC(), LinearSVR(), SmoothingSpline()])}


class InjectedError(Exception):
    pass


class Injection:
    """Counts the calls of Python functions below `PLACES`, on all threads, and fails at the one of this number."""

    def __init__(self, at=None):
        self.at, self.calls = at, 0

    def __call__(self, frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(PLACES):
            self.calls += 1
            if self.calls == self.at:
                raise InjectedError

    def __enter__(self):
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)
        threading.setprofile(None)


def task(estimator):
    model = clone(estimator)
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    x = X[:, 0] if isinstance(model, SmoothingSpline) else X
    return model, x, (X[:, 0] > 0).astype(int) if is_classifier(model) else X[:, 0] + 0.1 * X[:, 1]


def arrays(model):
    return {name: value for name, value in vars(model).items() if isinstance(value, np.ndarray)}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("estimator", FIRST.values(), ids=lambda e: type(e).__name__)
def test_a_failed_fit_leaves_nothing_behind(estimator):
    fresh, x, y = task(estimator)
    with Injection() as whole:
        fresh.fit(x, y)
    failed = 0
    for share in (0.3, 0.6, 0.9):
        model, x, y = task(estimator)
        with Injection(round(share * whole.calls)):
            try:
                model.fit(x, y)
            except InjectedError:
                failed += 1
        assert set(vars(model)) <= set(vars(fresh))
        pickle.loads(pickle.dumps(model))
        clone(model)
        model.fit(x, y)
        assert set(vars(model)) == set(vars(fresh))
        for name, value in arrays(fresh).items():
            np.testing.assert_array_equal(arrays(model)[name], value)
    assert failed


SEVERAL = {
    **FIRST,
    "cv": KernelCCA(epsilon="cv"),
    "spectrum": KernelCCA(epsilon="spectrum", n_permutations=3),
    "simplemkl": MultipleKernel(SVC(), ["gaussian", "linear"], method="simplemkl"),
    "several kernels": KernelRidgeCV(kernel=["gaussian", "linear"]),
}.values()


def assert_equal_fits(model, fresh):
    assert set(vars(model)) == set(vars(fresh))
    for name, value in arrays(fresh).items():
        np.testing.assert_array_equal(arrays(model)[name], value, err_msg=name)


@pytest.mark.filterwarnings("ignore:MarginalTransfer")
@pytest.mark.parametrize("estimator", SEVERAL, ids=lambda e: str(e)[:60])
def test_a_fit_in_the_middle_of_which_another_begins(estimator):
    """The other one ends, or fails on its way."""
    model, x, y = task(estimator)
    counted = Injection()
    sys.setprofile(counted)  # on this thread alone
    try:
        fresh = clone(model).fit(x, y)
    finally:
        sys.setprofile(None)

    class Pause(Injection):
        def __call__(self, frame, event, argument):
            try:
                super().__call__(frame, event, argument)
            except InjectedError:
                other.start()
                other.join(1.0)  # unless it waits for what this fit has begun to compute

    places = [(first * counted.calls // 8, second * counted.calls // 8) for first in (2, 4, 7) for second in (1, 5, 16)]
    for first, second in places:

        def begin(second=second):
            sys.setprofile(Injection(second))
            with suppress(InjectedError):
                model.fit(x, y)

        other = threading.Thread(target=begin)
        sys.setprofile(Pause(first))
        try:
            model.fit(x, y)
        finally:
            sys.setprofile(None)
        other.join()
        assert_equal_fits(model, fresh)


@pytest.mark.filterwarnings("ignore:MarginalTransfer")
@pytest.mark.parametrize("estimator", SEVERAL, ids=lambda e: str(e)[:60])
def test_refits_of_one_object_on_several_threads(estimator):
    model, x, y = task(estimator)
    fresh = clone(model).fit(x, y)
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(model.fit, x, y) for _ in range(4)]:
            assert future.result() is model
    assert_equal_fits(model, fresh)


def test_a_failed_fit_leaves_the_earlier_one():
    model = KernelPCA(2).fit(X)
    before = vars(model).copy()
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.nan * X)
    assert vars(model) == before


def test_a_matrix_that_is_not_definite_is_reported_by_the_estimator():
    K = np.diag([1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match=r"^KernelMachine: The matrix K"):
        KernelMachine(alpha=0.1, kernel="precomputed").fit(K, [1.0, 2.0, 3.0])


def test_fits_of_one_object_have_deadlines_of_their_own(monkeypatch):
    """Both are in their solvers at the same time."""
    together = threading.Barrier(2)

    class Waiting(Context):
        waited = False

        def __call__(self, state=None):
            if not self.waited:
                self.waited = True
                together.wait(10)
            return super().__call__(state)

    monkeypatch.setattr(_base, "Context", Waiting)
    model, errors = KernelMachine("huber", kernel="gaussian"), []

    def fit():
        try:
            model.fit(X, X[:, 0])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_a_fit_of_a_subclass_of_the_user_runs_on_the_object_itself():
    class Counting(SVC):
        __slots__ = ("note",)

        def __init__(self, C=1.0, scaling=True):
            super().__init__(C=C)
            self.scaling = scaling  # theirs, so that text is no error

        def fit(self, X, y):
            self.note, self.calls_ = self, getattr(self, "calls_", 0) + 1
            super().fit(X, y)
            return {"score": self.score(X, y)}

    y = np.arange(len(X)) % 2
    model = Counting(scaling="robust")
    assert model.fit(X, y) == {"score": SVC().fit(X, y).score(X, y)} and model.note is model
    with pytest.raises(ValueError, match=r"Counting: C = -1 must be > 0"):
        model.set_params(C=-1).fit(X[:, :1], y)
    assert model.calls_ == 2 and model.n_features_in_ == 2


def test_errors_that_a_subclass_of_the_user_raises_keep_their_words():
    class Refusing(SVC):
        def predict(self, X):
            raise ValueError("code 7")

    with pytest.raises(ValueError, match=r"^code 7$"):
        Refusing().predict(X)
