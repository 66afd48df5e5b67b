"""Choices under a time budget: complete, or a TimeoutError, whatever part of the work it expires in."""

import itertools
import time

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from mercer import SVC, KernelKMeans, KernelMachine, KernelPCA, KernelRidge
from mercer.selection import choose_clusters, choose_components, compare, expected_loss, one_class_path

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 0, 1, -1)

CHOICES = {
    "clusters": lambda **o: choose_clusters(KernelKMeans(), X, n_clusters=[2, 3], random_state=0, **o).scores,
    "components": lambda **o: choose_components(KernelPCA(), X, n_components=2, cv=3, **o).values,
    "refits": lambda **o: expected_loss(SVC(), X, y, "refit", **o).estimate,
    "closed form": lambda **o: expected_loss(KernelRidge(kernel="gaussian"), X, X[:, 0], "closed_form", **o).estimate,
    "newton": lambda **o: expected_loss(KernelMachine("logistic"), X, y, "newton", **o).estimate,
    "one-class path": lambda **o: one_class_path(X, **o).alpha,
}


@pytest.mark.filterwarnings("ignore:.*stopped early:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*time budget is spent:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_is_complete_or_a_timeout(monkeypatch, name):
    """The clock jumps at one look after another: no result rests on a fit that was cut short."""
    expected, looks, clock = CHOICES[name](), itertools.count(), time.monotonic
    jump = [10**9]
    monkeypatch.setattr("mercer.context.time.monotonic", lambda: clock() + 1e6 * (next(looks) >= jump[0]))
    np.testing.assert_allclose(CHOICES[name](time_budget=1e4), expected, rtol=1e-9)
    total = next(looks)
    assert total > 1
    for at in np.unique(np.linspace(1, total - 1, 12).astype(int)):
        looks, jump[0] = itertools.count(), at
        with pytest.raises(TimeoutError, match="time budget is spent, and there is no result yet"):
            CHOICES[name](time_budget=1e4)


@pytest.mark.parametrize(("method", "folds"), [("refit", None), ("kfold", 60)])
def test_no_fit_begins_when_the_time_is_spent(method, folds):
    fits = []

    class Counted(DummyRegressor):
        def fit(self, X, y, sample_weight=None):
            fits.append(time.sleep(0.02))
            return super().fit(X, y, sample_weight)

    with pytest.raises(TimeoutError, match="time budget is spent"):
        expected_loss(Counted(), X, X[:, 0], method, cv=folds, time_budget=0.2)
    assert 0 < len(fits) < 30


def test_a_comparison_cuts_long_fits_short():
    class Slow(KernelRidge):
        def fit(self, X, y, sample_weight=None):
            time.sleep(0.05)
            return super().fit(X, y, sample_weight)

    start = time.monotonic()
    found = compare({"a": Slow(), "b": KernelRidge(2.0)}, X, X[:, 0], cv=40, time_budget=1.0)
    assert 2 <= len(found.scores["a"]) < 40 and time.monotonic() - start < 4
