"""The unit of the targets does not matter: y in another one gives the same function in it.

Powers of two change no digit, so that solvers that compare like with like take the same steps.
"""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import (
    AnovaSpline,
    KernelExpectileRegression,
    KernelMachine,
    KernelPLS,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeCV,
    MultipleKernel,
    MultitaskKernelRidge,
    RelevanceVectorMachine,
    RobustKernelRegression,
    SmoothingSpline,
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


SQUARES = [
    RelevanceVectorMachine(kernel="gaussian"),
    *(SmoothingSpline(name) for name in ("gcv", "loo", "reml", 0.1)),
    SmoothingSpline(df=6),
    *(ThinPlateSpline(name) for name in ("gcv", "loo", "reml", 0.1)),
    ThinPlateSpline(df=6),
    *(AnovaSpline(name) for name in ("gcv", "reml", 0.1)),
]


def named(model):
    return f"{type(model).__name__} {getattr(model, 'alpha', '')}"


@pytest.mark.parametrize("model", SQUARES, ids=named)
def test_any_unit_whose_square_is_a_number(model):
    """Variances and criteria of these methods have that square as their unit."""
    sample = X[:, :1] if isinstance(model, SmoothingSpline) else X
    model = clone(model).fit(sample, Y)
    expected, deviation = model.predict(sample, return_std=True)
    noise = model.noise_variance_
    for unit in (*UNITS, 2.0**-470, 2.0**470):
        found, width = model.fit(sample, unit * Y).predict(sample, return_std=True)
        np.testing.assert_array_equal(found / unit, expected)
        np.testing.assert_allclose(width / unit, deviation, rtol=1e-14)
        assert model.noise_variance_ / unit**2 == noise
    for unit in (1e-100, 1e100):
        found = model.fit(sample, unit * Y).predict(sample) / unit
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.ptp(Y))
    for unit in (2.0**-1000, 2.0**1000, 1e300):
        with pytest.raises(ValueError, match=r"y is of size .*, and its square overflows or underflows; divide it"):
            model.fit(sample, unit * Y)


@pytest.mark.parametrize("model", [model for model in SQUARES if isinstance(model, SmoothingSpline)], ids=named)
def test_criteria_change_with_the_unit(model):
    one = clone(model).fit(X[:, :1], Y).criteria_
    unit = 2.0**-20
    other = clone(model).fit(X[:, :1], unit * Y).criteria_
    for name in ("gcv", "loo"):
        assert other[name] / unit**2 == one[name]
    assert other["reml"] == pytest.approx(one["reml"] + 2 * 78 * np.log(unit), rel=1e-13)


@pytest.mark.parametrize("model", [SmoothingSpline(), ThinPlateSpline(), AnovaSpline()], ids=named)
def test_ranges_that_overflow_are_refused(model):
    sample = X[:, :1].copy() if isinstance(model, SmoothingSpline) else X.copy()
    sample[:2, 0] = 1.7e308, -1.7e308
    with pytest.raises(ValueError, match=r"X .*; divide (X|it) by"):
        model.fit(sample, Y)


def test_splines_in_another_unit_of_the_features():
    for model in (SmoothingSpline(), SmoothingSpline("reml"), AnovaSpline(), AnovaSpline("reml")):
        sample = X[:, :1] if isinstance(model, SmoothingSpline) else X
        expected = model.fit(sample, Y).predict(sample)
        for unit in UNITS:
            np.testing.assert_array_equal(model.fit(unit * sample, Y).predict(unit * sample), expected)
    for unit in (1e-150, 1e150, 2.0**500):
        np.testing.assert_allclose(model.fit(unit * X, Y).predict(unit * X), expected, atol=1e-6)
        with pytest.raises(ValueError, match=r"SmoothingSpline: X has the range .* Divide X by"):
            SmoothingSpline().fit(unit * X[:, :1], Y)
        with pytest.raises(ValueError, match=r"ThinPlateSpline: X is of size .* divide X by"):
            ThinPlateSpline().fit(unit * X, Y)


TASKED = np.column_stack([X, np.arange(80) % 3])[:40]
PAIR = np.stack([Y, np.where(np.arange(80) % 4, -2 * Y + X[:, 0], np.nan)], axis=1)[:40]
EXACT = [
    (KernelMachine("squared", kernel="gaussian"), X, Y),
    (KernelExpectileRegression(kernel="gaussian", alpha=0.1), X, Y),
    (RobustKernelRegression("gaussian", alpha=0.1), X, Y),
    *((MultitaskKernelRidge(task=2, kernel="gaussian", coupling=c), TASKED, Y[:40]) for c in ("auto", 0.5, "learned")),
    *((MultitaskKernelRidge(kernel="gaussian", coupling=c), X[:40], PAIR) for c in ("auto", "learned")),
]
METHODS = ("uniform", "align", "alignf", "simplemkl", "lp")
COMBINED = [MultipleKernel(KernelRidge(0.1), ["gaussian", "linear"], method=method) for method in METHODS]


@pytest.mark.parametrize(("model", "sample", "target"), [*EXACT, *((model, X, Y) for model in COMBINED)])
def test_units_far_from_one(model, sample, target):
    expected = clone(model).fit(sample, target).predict(sample)
    for unit in (*UNITS, 2.0**-470, 2.0**470):
        found = clone(model).fit(sample, unit * target).predict(sample)
        np.testing.assert_array_equal(found / unit, expected)
    for unit in (1e-100, 1e100):
        found = clone(model).fit(sample, unit * target).predict(sample) / unit
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.ptp(Y))


@pytest.mark.parametrize(("model", "sample", "target"), [*EXACT, (KernelQuantileRegression(kernel="gaussian"), X, Y)])
def test_units_without_a_square_are_refused(model, sample, target):
    for unit in (2.0**-1000, 2.0**1000, 1e300):
        with pytest.raises(ValueError, match=r"y is of size .*; divide it by"):
            clone(model).fit(sample, unit * target)


@pytest.mark.parametrize("unit", [2.0**-40, 2.0**300])
def test_a_task_matrix_has_the_square_of_the_unit(unit):
    one, other = (
        MultitaskKernelRidge(kernel="gaussian", coupling="learned").fit(X[:40], u * PAIR) for u in (1.0, unit)
    )
    np.testing.assert_array_equal(other.task_matrix_ / unit**2, one.task_matrix_)
    assert other.alpha_ / unit**2 == one.alpha_
    np.testing.assert_array_equal(other.leave_one_out() / unit, one.leave_one_out())
    shift = np.sum(~np.isnan(PAIR)) * np.log(unit)
    assert other.learned_.log_likelihood == pytest.approx(one.learned_.log_likelihood - shift, rel=1e-12)
    np.testing.assert_allclose(other.objective_history_, np.add(one.objective_history_, shift), rtol=1e-12)
