"""The unit of the targets does not matter: y in another one gives the same function in it.

Powers of two change no digit, so that solvers that compare like with like take the same steps.
"""

import numpy as np
import pytest

from mercer import (
    KernelExpectileRegression,
    KernelMachine,
    KernelPLS,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeCV,
    RelevanceVectorMachine,
    RobustKernelRegression,
    ThinPlateSpline,
)

rng = np.random.default_rng(1)
X = rng.normal(size=(80, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_t(2, size=80)
UNITS = [2.0**-30, 2.0**30]


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(0.1, kernel="gaussian"),
        KernelRidgeCV(kernel="gaussian"),
        *(RobustKernelRegression("gaussian", alpha=alpha) for alpha in (10.0, 1.0, 1e-3)),
        RobustKernelRegression("gaussian", loss="hampel", alpha=0.1),
        KernelExpectileRegression(kernel="gaussian", alpha=0.1),
        RelevanceVectorMachine(kernel="gaussian"),
        ThinPlateSpline(),
        KernelPLS(3, kernel="gaussian"),
    ],
    ids=lambda thing: f"{type(thing).__name__} {getattr(thing, 'alpha', '')}" if hasattr(thing, "fit") else None,
)
def test_squared_errors(model, unit):
    expected = model.fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.fit(X, unit * Y).predict(X) / unit, expected)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("alpha", [1.0, 1e-3])
def test_absolute_errors(unit, alpha):
    """Their sum has the unit of y, and ‖f‖² that of its square: alpha takes the difference."""
    for model in (KernelQuantileRegression(kernel="gaussian"), KernelMachine("absolute", kernel="gaussian")):
        expected = model.set_params(alpha=alpha).fit(X, Y).predict(X)
        found = model.set_params(alpha=alpha / unit).fit(X, unit * Y).predict(X) / unit
        np.testing.assert_allclose(found, expected, atol=1e-5 * np.ptp(Y))
