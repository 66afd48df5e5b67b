"""Machines on a matrix against SVC with the same kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC, NuSVC
from mercer.kernels import PD, Gaussian
from mercer.selection import _pairs
from mercer.selection._pairs import SVCOnMatrix

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
SCORE = X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=150)
TRAIN, TEST = np.arange(100)[::-1], np.arange(100, 150)
KERNEL = Gaussian(1.3)


@pytest.mark.parametrize("y", [SCORE > 0, np.digitize(SCORE, [-0.5, 0.2, 0.9])], ids=["two classes", "four classes"])
@pytest.mark.parametrize("steps", [1 << 20, 50])  # with few steps a call, solutions go on where they were
@pytest.mark.parametrize(
    "params", [{}, {"C": 50.0}, {"class_weight": "balanced"}, {"decision_function_shape": "ovo"}, {"break_ties": True}]
)
def test_answers_are_those_of_svc(monkeypatch, y, steps, params):
    monkeypatch.setattr(_pairs, "STEPS", steps)
    model = SVC(kernel=KERNEL, tol=1e-9, **params)
    weight = np.linspace(0, 2, 100)  # one sample has no weight
    machine = SVCOnMatrix.of(model, PD, KERNEL(X)).fit(TRAIN, y[TRAIN], weight)
    model.fit(X[TRAIN], y[TRAIN], weight)
    assert_allclose(machine.decision_function(TEST), model.decision_function(X[TEST]), rtol=0, atol=1e-6)
    assert_array_equal(machine.predict(TEST), model.predict(X[TEST]))
    assert machine.score(TEST, y[TEST]) == model.score(X[TEST], y[TEST])
    assert_allclose(machine.intercept_, model.intercept_, rtol=0, atol=1e-6)


def test_a_tolerance_beyond_double_precision_ends_with_a_warning(monkeypatch):
    monkeypatch.setattr(_pairs, "STEPS", 1000)
    machine = SVCOnMatrix.of(SVC(C=1e3, tol=1e-30), PD, KERNEL(X))
    with pytest.warns(ConvergenceWarning, match="was not reached in 64000 steps"):
        machine.fit(TRAIN, SCORE[TRAIN] > 0)
    expected = SVC(C=1e3, kernel=KERNEL, tol=1e-9).fit(X[TRAIN], SCORE[TRAIN] > 0)
    assert_allclose(machine.decision_function(TEST), expected.decision_function(X[TEST]), rtol=0, atol=1e-5)


def test_what_it_stands_for():
    assert SVCOnMatrix.suits(SVC(), 100)
    others = [SVC(C=np.inf), SVC(fit_intercept=False), SVC(time_budget=1.0), SVC(max_iter=10), NuSVC()]
    assert not any(SVCOnMatrix.suits(estimator, 100) for estimator in others)
    assert not SVCOnMatrix.suits(SVC(), 100_000)
