"""Tests of samples far from the origin, and of samples of any size."""

import numpy as np
import pytest

from mercer.inference import hsic_test, mmd_test

rng = np.random.default_rng(0)
X = np.round(rng.normal(size=(40, 2)) * 2.0**10) / 2.0**10  # so that a shift by whole numbers changes no digit
Y = np.round((X**2 + rng.normal(size=(40, 2)) + 0.5) * 2.0**10) / 2.0**10


@pytest.mark.parametrize("options", [{}, {"statistic": "block", "block_size": 10}, {"null": "gamma"}], ids=str)
def test_means_of_samples_far_from_the_origin(options):
    near, far = (mmd_test(X + s, Y + s, kernel="linear", random_state=0, **options) for s in (0.0, 2.0**30))
    assert far.statistic == pytest.approx(near.statistic, rel=1e-9)
    assert far.p_value == pytest.approx(near.p_value, rel=1e-9)


def test_dependence_of_samples_far_from_the_origin():
    near, far = (hsic_test(X + s, Y - s, kernel="linear", kernel_y="linear", random_state=0) for s in (0.0, 2.0**30))
    assert far.statistic == pytest.approx(near.statistic, rel=1e-9)
    assert far.p_value == near.p_value


@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660])
@pytest.mark.parametrize("kernel", ["gaussian(lengthscale='median')", "laplace(lengthscale='median')"])
def test_samples_of_any_size(kernel, unit):
    for test, other in ((mmd_test, {}), (hsic_test, {"kernel_y": kernel})):
        one, two = (test(u * X, u * Y, kernel=kernel, random_state=0, **other) for u in (1.0, unit))
        assert two.statistic == pytest.approx(one.statistic, rel=1e-9)
        assert two.p_value == one.p_value


@pytest.mark.parametrize("test", [mmd_test, hsic_test])
def test_samples_too_large_for_their_kernel_are_refused(test):
    with pytest.raises(ValueError, match=r"_test: the squared length of sample 0 is beyond .*; scale the data"):
        test(1e200 * X, Y, kernel="linear")
