"""Pre-images whose time budget is spent are the points so far."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import RKHS
from mercer.preimage import Auto, DistanceBased, FixedPoint, Gradient, Learned

rng = np.random.default_rng(1)
POINTS = rng.normal(size=(12, 2))
TARGET = RKHS("gaussian(lengthscale=2.0)").function(POINTS, rng.dirichlet(np.ones(12), size=3).T)


@pytest.mark.parametrize("method", [FixedPoint, Gradient, Auto])
def test_the_points_so_far_are_taken(method):
    with pytest.warns(ConvergenceWarning, match=r"not converge.*: the time budget is spent\. Raise time_budget\."):
        found = method(time_budget=1e-9).find(TARGET)
    assert np.isfinite(found.points).all() and "not converge" in found.message and "max_iter" not in found.message
    whole = method().find(TARGET)
    assert np.all(found.distance >= whole.distance - 1e-9)


@pytest.mark.parametrize("method", [FixedPoint, Gradient, Auto])
def test_a_large_budget_changes_nothing(method):
    within, without = method(time_budget=1e6).find(TARGET), method().find(TARGET)
    np.testing.assert_array_equal(within.points, without.points)
    assert within.message == without.message == ""


def test_budgets_that_are_none_are_refused():
    with pytest.raises(ValueError, match="FixedPoint: time_budget = 0 must be > 0"):
        FixedPoint(time_budget=0).find(TARGET)


@pytest.mark.parametrize("method", [DistanceBased, Learned])
def test_direct_methods_have_no_budget(method):
    assert "time_budget" not in method().get_params()
