"""Tests of hypotheses whose time budget is spent: the draws so far decide, and without any there is an error."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import SVR, KernelRidge, context
from mercer.inference import JackknifePlus, _nulls, conditional_independence_test, hsic_test, mmd_test, stein_test

rng = np.random.default_rng(4)
X, Y, Z = rng.normal(size=(3, 40, 1))
TESTS = {
    "mmd_test": lambda **options: mmd_test(X, Y + 0.5, random_state=0, **options),
    "hsic_test": lambda **options: hsic_test(X, X + Y, random_state=0, **options),
    "stein_test": lambda **options: stein_test(X + 0.3, np.negative, random_state=0, **options),
    "conditional_independence_test": lambda **options: conditional_independence_test(
        X, Y, Z, random_state=0, **options
    ),
}
MORE = {
    **TESTS,
    "block": lambda **options: mmd_test(X, Y, statistic="block", random_state=0, **options),
    "gamma": lambda **options: mmd_test(X, Y, kernel="gaussian", null="gamma", random_state=0, **options),
    "cycle": lambda **options: hsic_test(X, Y, n_draws=20, random_state=0, gram="dense", **options),
    "dense": lambda **options: hsic_test(X, Y, random_state=0, gram="dense", **options),
}


@pytest.mark.parametrize("name", MORE)
def test_nothing_is_said_on_no_draws(name):
    with pytest.raises(TimeoutError, match=r"^\w+_test: the time budget is spent, .* Raise time_budget\.$"):
        MORE[name](time_budget=1e-9)


@pytest.mark.parametrize("name", MORE)
def test_a_large_budget_changes_nothing(name):
    within, without = MORE[name](time_budget=1e6), MORE[name]()
    assert within.p_value == without.p_value
    np.testing.assert_array_equal(within.null, without.null)


@pytest.mark.parametrize(
    ("name", "kernel", "budget"),
    [
        ("mmd_test", "gaussian", 9.0),
        ("mmd_test", "aggregate", 150.0),
        ("hsic_test", "gaussian", 150.0),
        ("hsic_test", "aggregate", 1000.0),
        ("stein_test", "gaussian", 9.0),
        ("stein_test", "aggregate", 80.0),
    ],
)
def test_the_draws_so_far_decide(name, kernel, budget, monkeypatch):
    """With a clock that a look at it moves on."""
    ticks = iter(range(10**9))
    options = {"kernel": kernel, "gram": "incomplete_cholesky" if name == "hsic_test" else "dense"}
    monkeypatch.setattr(_nulls, "WORK", 1)
    monkeypatch.setattr(_nulls, "CELLS", 1 << 12)
    whole = TESTS[name](**options)
    monkeypatch.setattr(context, "time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    said = rf"^{name}: the p-value is based on \d+ of 999 draws: the time budget is spent\. Raise"
    with pytest.warns(ConvergenceWarning, match=said):
        found = TESTS[name](time_budget=budget, **options)
    done = len(found.null)
    assert 1 <= done < 999
    if kernel == "gaussian":
        np.testing.assert_array_equal(found.null, whole.null[:done])
        assert found.p_value == (1 + np.sum(found.null >= found.statistic)) / (1 + done)
    else:
        assert (1 + done) * found.p_value == pytest.approx(round((1 + done) * found.p_value))


@pytest.mark.parametrize("name", TESTS)
def test_budgets_that_are_none_are_refused(name):
    with pytest.raises(ValueError, match=f"^{name}: time_budget = 0 must be > 0"):
        TESTS[name](time_budget=0)


@pytest.mark.parametrize("estimator", [KernelRidge(), SVR(tol=1e-9)], ids=["direct", "iterative"])
def test_intervals_come_of_whole_fits_alone(estimator):
    y = X[:, 0] ** 2
    for options in ({}, {"refit": True}, {"cv": 3}):
        model = JackknifePlus(estimator, time_budget=1e-9, **options)
        with pytest.raises(TimeoutError, match=r"^JackknifePlus: the time budget is spent"):
            model.fit(X, y)
        assert not hasattr(model, "estimator_")
        within, without = model.set_params(time_budget=1e6).fit(X, y), JackknifePlus(estimator, **options).fit(X, y)
        np.testing.assert_array_equal(within.interval(X), without.interval(X))
