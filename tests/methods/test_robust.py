"""Robust kernel regression: the scale, the units of the constants, and how much contamination it bears."""

import numpy as np
import pytest

from mercer import KernelMachine, KernelRidge
from mercer.kernels import Gaussian, Laplace, Matern
from mercer.losses import Hampel, Huber
from mercer.methods.robust import RobustKernelRegression, _median

rng = np.random.default_rng(1)
N = 100
X = np.linspace(-3, 3, N)[:, None]
CURVE = np.sin(X[:, 0])
y = CURVE + 0.1 * rng.normal(size=N)
SETTINGS = {"kernel": Gaussian(), "alpha": 0.1}


def contaminated(share, far=1e4):
    z = y.copy()
    z[np.random.default_rng(7).choice(N, int(share * N), replace=False)] = far
    return z


@pytest.mark.parametrize("loss", ["huber", "hampel"])
def test_constants_are_in_units_of_the_scale(loss) -> None:
    """With the scale that was found it is the generic machine with that loss, in units of y."""
    model = RobustKernelRegression(loss=loss, **SETTINGS).fit(X, contaminated(0.1))
    s = model.scale_
    twin = Huber(1.345 * s) if loss == "huber" else Hampel(2 * s, 4 * s, 8 * s)
    own = KernelMachine(twin, free=0, **SETTINGS).fit(X, contaminated(0.1))
    assert model.solution_.objective <= own.solution_.objective * (1 + 1e-8)
    if loss == "huber":
        assert np.allclose(model.predict(X), own.predict(X), atol=1e-5)
    fixed = RobustKernelRegression(loss=loss, scale=s, **SETTINGS).fit(X, contaminated(0.1))
    assert np.allclose(fixed.predict(X), model.predict(X), atol=1e-8)


@pytest.mark.parametrize("loss", ["huber", "hampel"])
def test_equivariance(loss) -> None:
    """Units of y do not matter, nor does its origin."""
    model = RobustKernelRegression(loss=loss, tol=1e-12, **SETTINGS).fit(X, contaminated(0.1, 5.0))
    other = RobustKernelRegression(loss=loss, tol=1e-12, **SETTINGS).fit(X, 100 * contaminated(0.1, 5.0) - 7)
    assert other.scale_ == pytest.approx(100 * model.scale_, rel=1e-2)
    assert np.allclose(other.predict(X), 100 * model.predict(X) - 7, atol=0.2)


def test_scale_estimates_the_noise() -> None:
    draws = []
    for seed in range(10):
        noise = np.random.default_rng(seed).normal(size=N)
        draws.append(RobustKernelRegression(**SETTINGS).fit(X, CURVE + 0.1 * noise).scale_)
    assert 0.08 < np.mean(draws) < 0.12


def test_breakdown() -> None:
    """A fifth of the samples at 10⁴: least squares is carried away, Huber little, Hampel not at all."""
    z = contaminated(0.2)
    errors = {
        "ridge": KernelRidge(0.1, kernel=Gaussian(), free=0).fit(X, z).predict(X),
        "huber": RobustKernelRegression(**SETTINGS).fit(X, z).predict(X),
        "hampel": RobustKernelRegression(loss="hampel", **SETTINGS).fit(X, z).predict(X),
    }
    errors = {name: np.abs(f - CURVE).max() for name, f in errors.items()}
    assert errors["ridge"] > 1000
    assert errors["huber"] < 0.3
    assert errors["hampel"] < 0.15


def test_how_far_an_outlier_lies_does_not_matter() -> None:
    for loss in ("huber", "hampel"):
        near, far = (
            RobustKernelRegression(loss=loss, tol=1e-13, **SETTINGS).fit(X, contaminated(0.1, d)) for d in (50, 5e4)
        )
        assert np.allclose(near.predict(X), far.predict(X), atol=1e-4)
    outliers = contaminated(0.1) > 100
    assert np.all(far.robustness_[outliers] == 0) and np.mean(far.robustness_[~outliers]) > 0.9


def test_without_outliers_it_is_nearly_ridge() -> None:
    ridge = KernelRidge(0.1, kernel=Gaussian(), free=0).fit(X, y).predict(X)
    for loss in ("huber", "hampel"):
        assert np.abs(RobustKernelRegression(loss=loss, **SETTINGS).fit(X, y).predict(X) - ridge).max() < 0.05
    wide = RobustKernelRegression(tuning=1e3, **SETTINGS).fit(X, y)
    assert np.allclose(wide.predict(X), ridge, atol=1e-8) and np.all(wide.robustness_ == 1)


def test_weights_are_repetitions() -> None:
    count = rng.integers(0, 3, N)
    z = contaminated(0.1)
    weighted = RobustKernelRegression(**SETTINGS).fit(X, z, count)
    repeated = RobustKernelRegression(**SETTINGS).fit(np.repeat(X, count, axis=0), np.repeat(z, count))
    assert weighted.scale_ == pytest.approx(repeated.scale_, rel=1e-2)
    assert np.allclose(weighted.predict(X), repeated.predict(X), atol=1e-2)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Laplace(), Matern(nu=1.5)], ids=["gaussian", "laplace", "matern"])
@pytest.mark.parametrize("far", [1e3, 1e6])
@pytest.mark.parametrize("alpha", [1e-6, 1e-8, 1e-10])
def test_far_outliers_and_tiny_penalties(kernel, far, alpha) -> None:
    """Where Newton's steps alone crawl. The bound: with αa = −ℓ′ within ±δ, the dual value α(aᵀz − aᵀKa/2 − αaᵀa/2)."""
    delta = 0.2
    model = RobustKernelRegression(kernel, scale=delta / 1.345, alpha=alpha, tol=1e-10).fit(X, contaminated(0.1, far))
    assert model.solution_.converged
    z, value = contaminated(0.1, far), model.solution_.objective
    a = model.dual_coef_ * min(1.0, delta / alpha / np.abs(model.dual_coef_).max())  # within the bounds, and Σa = 0
    assert abs(a.sum()) < 1e-9 * np.abs(a).sum()
    dual = alpha * (a @ z - 0.5 * a @ kernel(X) @ a - 0.5 * alpha * a @ a)
    assert value * (1 - 1e-5) <= dual <= value * (1 + 1e-8)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_hampel_is_stationary(share) -> None:
    """αa = −ℓ′ at the samples, and no worse than its start, the solution for Huber's loss with the same a."""
    z = contaminated(share, 3.0)
    model = RobustKernelRegression(loss="hampel", tol=1e-14, **SETTINGS).fit(X, z)
    pull = model.loss_.gradient(z, model.predict(X))
    assert np.allclose(0.1 * model.dual_coef_, -pull, atol=1e-6 * np.abs(pull).max()) and abs(pull.sum()) < 1e-6
    start = KernelMachine(Huber(model.loss_.a), free=0, **SETTINGS).fit(X, z)
    f = start.predict(X)
    norm = float(start.dual_coef_ @ Gaussian()(X) @ start.dual_coef_)
    assert model.solution_.objective <= model.loss_.total(z, f) + 0.05 * norm


def test_samples_of_weight_zero_have_no_say_in_the_scale() -> None:
    """Also where more than half of the targets are equal, so that their median deviation is zero."""
    z = np.where(np.arange(N) % 3 == 0, y, 1.0)
    weight = (np.arange(N) % 10 > 0).astype(float)
    near = RobustKernelRegression(**SETTINGS).fit(X, z, weight)
    far = RobustKernelRegression(**SETTINGS).fit(X, np.where(weight > 0, z, 1e9), weight)
    assert far.scale_ == pytest.approx(near.scale_, rel=1e-9)


def test_constant_targets_without_an_intercept() -> None:
    """Their size is the only scale there is, so that units of y do not matter."""
    one, many = (RobustKernelRegression(free=None, **SETTINGS).fit(X, np.full(N, c)).predict(X) for c in (1.0, 1e6))
    assert np.allclose(1e6 * one, many, rtol=1e-6)


def test_weighted_median() -> None:
    for seed in range(20):
        g = np.random.default_rng(seed)
        v, w = g.normal(size=9), g.integers(0, 4, 9)
        w[0] = 1
        assert _median(v, w) == pytest.approx(np.median(np.repeat(v, w)))


def test_free_planes_and_constant_targets() -> None:
    model = RobustKernelRegression(free=1, **SETTINGS).fit(X, contaminated(0.1) + 3 * X[:, 0])
    assert np.abs(model.predict(X) - CURVE - 3 * X[:, 0]).max() < 0.3
    assert np.allclose(RobustKernelRegression(**SETTINGS).fit(X, np.full(N, 2.0)).predict(X), 2)
    exact = RobustKernelRegression(free=1, **SETTINGS).fit(X, 1 + 2 * X[:, 0])
    assert np.allclose(exact.predict(X), 1 + 2 * X[:, 0], atol=1e-6)
    flexible = RobustKernelRegression(Gaussian(0.01), alpha=1.0).fit(X, y)  # a function that could pass through all
    assert 0 < flexible.scale_ < np.std(y)


def test_errors() -> None:
    for parameters, message in [
        ({"loss": "tukey"}, "loss = 'tukey' is unknown"),
        ({"scale": 0}, "scale = 0 must be > 0"),
        ({"tuning": -1}, "tuning = -1 must be > 0"),
        ({"loss": "hampel", "tuning": 2.0}, "three numbers"),
        ({"loss": "hampel", "tuning": (3, 2, 1)}, "must be >= 3"),
    ]:
        with pytest.raises(ValueError, match=message):
            RobustKernelRegression(**parameters).fit(X, y)
