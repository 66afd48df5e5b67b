"""Quantiles and expectiles: kernlab, the counts of residuals, order where plain fits cross."""

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.metrics import d2_pinball_score
from sklearn.model_selection import GridSearchCV, KFold

from mercer import KernelRidge
from mercer.gram import Nystrom
from mercer.kernels import Gaussian
from mercer.methods.quantile import KernelExpectileRegression, KernelQuantileRegression

rng = np.random.default_rng(0)
N = 60
X = np.sort(rng.uniform(-3, 3, N))[:, None]
y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=N)
LEVELS = [0.1, 0.3, 0.5, 0.7, 0.9]
WIGGLY = {"kernel": Gaussian(0.4), "alpha": 0.05}
GRID = np.linspace(-3, 3, 241)[:, None]


@pytest.mark.parametrize("index", [0, 1, 2])
def test_equals_kernlab(oracle, index) -> None:
    """Its interior-point method stops at a gap of 2e-6."""
    data = oracle("kqr_rbf_sine")
    inputs, theirs = data["inputs"], data["outputs"]["by_tau"][index]
    kernel = Gaussian.from_kernlab(data["parameters"]["sigma"])
    model = KernelQuantileRegression(kernel, quantiles=theirs["tau"], alpha=1 / data["parameters"]["C"], tol=1e-8)
    model.fit(inputs["X"], inputs["y"])
    assert np.allclose(model.predict(inputs["Xnew"]), theirs["predict_new"], atol=1e-4)
    assert np.allclose(model.predict(inputs["X"]), theirs["fitted"], atol=1e-4)
    assert model.free_coef_[0] == pytest.approx(-float(np.ravel(theirs["b"])[0]), abs=1e-4)
    assert 0 <= model.solution_.gap <= 1e-6 * model.solution_.objective


@pytest.mark.parametrize("level", [0.1, 0.35, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.05, 1.0, 30.0])
def test_counts_of_the_residuals(level, alpha) -> None:
    """At most nτ samples lie below the function, and at most n(1 − τ) above."""
    model = KernelQuantileRegression(Gaussian(), quantiles=level, alpha=alpha, tol=1e-8).fit(X, y)
    r = y - model.predict(X)
    assert np.sum(r < -1e-6) <= N * level + 1e-9
    assert np.sum(r > 1e-6) <= N * (1 - level) + 1e-9


@pytest.mark.parametrize("alpha", [1e-8, 1e-4])
def test_tiny_penalties(alpha) -> None:
    """The working set would need millions of steps; the counts hold, and the gap is closed."""
    for free in (0, 2):
        model = KernelQuantileRegression(Gaussian(), quantiles=[0.2, 0.5], alpha=alpha, free=free).fit(X, y)
        for level, s, f in zip([0.2, 0.5], model.solution_, model.predict(X).T, strict=True):
            assert s.converged and abs(s.gap) <= 1e-5 * s.objective
            assert np.sum(y - f < -1e-3) <= N * level and np.sum(y - f > 1e-3) <= N * (1 - level)


@pytest.mark.parametrize("non_crossing", [False, True])
def test_origin_of_the_targets(non_crossing) -> None:
    """A large offset goes to the free part, also where it is a plane."""
    for free in (0, 1):
        settings = {"quantiles": [0.2, 0.8], "free": free, "non_crossing": non_crossing, "tol": 1e-7, **WIGGLY}
        near, far = (KernelQuantileRegression(**settings).fit(X, y + c) for c in (0.0, 1e6))
        assert all(s.converged for s in far.solution_)
        assert np.allclose(far.predict(X) - 1e6, near.predict(X), atol=1e-3)


@pytest.mark.parametrize("unit", [1e-9, 1e6])
def test_units_of_the_targets(unit) -> None:
    """With y the objective is scaled by a unit if alpha is divided by it."""
    for non_crossing in (False, True):
        settings = {"kernel": Gaussian(), "quantiles": [0.2, 0.8], "non_crossing": non_crossing}
        plain = KernelQuantileRegression(alpha=0.1, **settings).fit(X, y)
        scaled = KernelQuantileRegression(alpha=0.1 / unit, **settings).fit(X, unit * y)
        assert np.allclose(scaled.predict(GRID) / unit, plain.predict(GRID), atol=1e-2)
        for a, b in zip(plain.solution_, scaled.solution_, strict=True):
            assert b.converged and b.objective == pytest.approx(unit * a.objective, rel=1e-5)


def test_order_by_a_flag_of_numpy() -> None:
    """As a grid search brings it."""
    model = KernelQuantileRegression(quantiles=LEVELS, non_crossing=np.bool_(True), **WIGGLY).fit(X, y)
    assert model.solution_[0].method == "ordered"


def test_median_of_a_constant() -> None:
    """With a strong penalty only the intercept is left: the quantile, or expectile, of the sample."""
    q = KernelQuantileRegression(Gaussian(), quantiles=[0.25, 0.5], alpha=1e9).fit(X, y)
    assert np.all((np.sort(y)[14] - 1e-6 <= q.predict(X)[:, 0]) & (q.predict(X)[:, 0] <= np.sort(y)[15] + 1e-6))
    e = KernelExpectileRegression(Gaussian(), expectiles=0.8, alpha=1e9).fit(X, y)
    root = brentq(lambda m: 0.8 * np.maximum(y - m, 0).sum() - 0.2 * np.maximum(m - y, 0).sum(), y.min(), y.max())
    assert np.allclose(e.predict(X), root, atol=1e-6)


def test_middle_expectile_is_kernel_ridge() -> None:
    """½r² with the whole weight is the loss of level ½ there: τ r² = ½ r²."""
    model = KernelExpectileRegression(Gaussian(), alpha=0.3).fit(X, y)
    ridge = KernelRidge(alpha=0.3, kernel=Gaussian(), free=0).fit(X, y)
    assert np.allclose(model.predict(GRID), ridge.predict(GRID), atol=1e-8)


def test_expectiles_balance_the_residuals() -> None:
    model = KernelExpectileRegression(Gaussian(), expectiles=[0.1, 0.7], alpha=0.3, tol=1e-12).fit(X, y)
    for level, f in zip([0.1, 0.7], model.predict(X).T, strict=True):
        above, below = np.maximum(y - f, 0).sum(), np.maximum(f - y, 0).sum()
        assert level * above == pytest.approx((1 - level) * below, rel=1e-6)


def test_several_levels_are_those_of_each() -> None:
    for cls, name in ((KernelQuantileRegression, "quantiles"), (KernelExpectileRegression, "expectiles")):
        many = cls(**{name: [0.2, 0.6]}, tol=1e-9, **WIGGLY).fit(X, y)
        assert many.predict(GRID).shape == (len(GRID), 2) and many.dual_coef_.shape == (N, 2)
        for j, level in enumerate([0.2, 0.6]):
            one = cls(**{name: level}, tol=1e-9, **WIGGLY).fit(X, y)
            assert one.predict(GRID).shape == (len(GRID),)
            assert np.allclose(many.predict(GRID)[:, j], one.predict(GRID), atol=1e-4)
        assert cls(**{name: [0.6]}, **WIGGLY).fit(X, y).predict(GRID).shape == (len(GRID), 1)


@pytest.mark.parametrize("free", [None, 0, 1])
def test_non_crossing_where_the_plain_fit_crosses(free) -> None:
    plain = KernelQuantileRegression(quantiles=LEVELS, free=free, **WIGGLY).fit(X, y)
    assert np.diff(plain.predict(X), axis=1).min() < -0.05
    model = KernelQuantileRegression(quantiles=LEVELS, free=free, non_crossing=True, tol=1e-8, **WIGGLY).fit(X, y)
    assert np.diff(model.predict(X), axis=1).min() >= -1e-6
    price = sum(s.objective for s in model.solution_) / sum(s.objective for s in plain.solution_)
    assert 1 < price < 1.01
    assert abs(model.solution_[0].gap) <= 1e-6 * sum(s.objective for s in model.solution_)


@pytest.mark.parametrize(
    ("cls", "name"), [(KernelQuantileRegression, "quantiles"), (KernelExpectileRegression, "expectiles")]
)
def test_non_crossing_between_the_samples(cls, name) -> None:
    """At further points the order holds too, and costs more; the plain fit, and that at the samples, cross there."""
    settings = {name: LEVELS, "kernel": Gaussian(0.4), "alpha": 0.005}
    plain = cls(**settings).fit(X, y)
    at_samples = cls(non_crossing=True, **settings).fit(X, y)
    everywhere = cls(non_crossing=GRID, **settings).fit(X, y)
    assert np.diff(plain.predict(GRID), axis=1).min() < -1e-3
    assert np.diff(at_samples.predict(GRID), axis=1).min() < -1e-3
    assert np.diff(at_samples.predict(X), axis=1).min() >= -1e-6
    assert np.diff(everywhere.predict(GRID), axis=1).min() >= -1e-6
    costs = [sum(s.objective for s in m.solution_) for m in (plain, at_samples, everywhere)]
    assert costs[0] * (1 - 1e-6) <= costs[1] <= costs[2] * (1 + 1e-6)
    assert len(everywhere.function_) == N + len(GRID)


def test_order_that_holds_anyway_changes_nothing() -> None:
    for cls, name in ((KernelQuantileRegression, "quantiles"), (KernelExpectileRegression, "expectiles")):
        settings = {name: [0.1, 0.9], "kernel": Gaussian(1.0), "alpha": 1.0, "tol": 1e-9}
        apart, together = cls(**settings).fit(X, y), cls(non_crossing=True, **settings).fit(X, y)
        assert np.diff(apart.predict(X), axis=1).min() > 0
        assert np.allclose(apart.predict(GRID), together.predict(GRID), atol=1e-4)


def test_weights_are_repetitions() -> None:
    count = rng.integers(0, 3, N)
    for non_crossing in (False, True):
        settings = {"quantiles": [0.3, 0.5, 0.7], "non_crossing": non_crossing, "tol": 1e-9, **WIGGLY}
        weighted = KernelQuantileRegression(**settings).fit(X, y, count)
        repeated = KernelQuantileRegression(**settings).fit(np.repeat(X, count, axis=0), np.repeat(y, count))
        ours, theirs = (sum(s.objective for s in m.solution_) for m in (weighted, repeated))
        if not non_crossing:  # else the order holds at samples of weight 0 too
            assert ours == pytest.approx(theirs, rel=1e-7)
        assert ours >= theirs * (1 - 1e-7)


def test_low_rank() -> None:
    gram = Nystrom(landmarks=np.arange(N))
    for non_crossing in (False, True):
        settings = {"quantiles": LEVELS, "non_crossing": non_crossing, "tol": 1e-8, **WIGGLY}
        exact, low = (KernelQuantileRegression(gram=g, **settings).fit(X, y) for g in ("dense", gram))
        assert np.allclose(exact.predict(X), low.predict(X), atol=1e-3)
        few = KernelQuantileRegression(gram=Nystrom(rank=12), random_state=0, **settings).fit(X, y)
        assert len(few.function_) == 12


def test_score() -> None:
    """The mean over levels of the share of the pinball loss that is explained, as scikit-learn has it."""
    model = KernelQuantileRegression(quantiles=[0.25, 0.8], **WIGGLY).fit(X, y)
    weight = rng.uniform(0.5, 1, N)
    f = model.predict(X)
    expected = np.mean([d2_pinball_score(y, f[:, j], alpha=level) for j, level in enumerate([0.25, 0.8])])
    assert model.score(X, y) == pytest.approx(expected, abs=1e-3)
    weighted = [d2_pinball_score(y, f[:, j], alpha=t, sample_weight=weight) for j, t in enumerate([0.25, 0.8])]
    assert model.score(X, y, weight) == pytest.approx(np.mean(weighted), abs=1e-2)
    middle = KernelExpectileRegression(**WIGGLY).fit(X, y)
    assert middle.score(X, y) == pytest.approx(KernelRidge(0.05, kernel=Gaussian(0.4), free=0).fit(X, y).score(X, y))
    constant = KernelQuantileRegression(**WIGGLY).fit(X, y)
    assert constant.score(X, np.ones(N)) == 0  # a constant is perfect there, and this is none
    folds = KFold(3, shuffle=True, random_state=0)
    search = GridSearchCV(KernelQuantileRegression(Gaussian(), quantiles=0.9), {"alpha": [0.1, 1e6]}, cv=folds).fit(
        X, y
    )
    assert search.best_params_ == {"alpha": 0.1}


def test_one_sample_and_equal_targets() -> None:
    for target in (3.0, 0.0):
        one = KernelQuantileRegression(Gaussian(), quantiles=[0.2, 0.8], non_crossing=True).fit([[1.0]], [target])
        assert np.allclose(one.predict([[0.0]]), target, atol=1e-4)
        same = KernelQuantileRegression(Gaussian(), quantiles=[0.2, 0.8], non_crossing=True).fit(X, np.full(N, target))
        assert np.allclose(same.predict(GRID), target, atol=1e-4)
        expectile = KernelExpectileRegression(Gaussian(), expectiles=0.8).fit(X, np.full(N, target))
        assert expectile.solution_.converged and np.allclose(expectile.predict(GRID), target)


def test_errors() -> None:
    for cls, name in ((KernelQuantileRegression, "quantiles"), (KernelExpectileRegression, "expectiles")):
        for wrong in (0.0, 1.0, [0.5, 1.2], -0.1):
            with pytest.raises(ValueError, match=r"must lie in \(0, 1\)"):
                cls(**{name: wrong}).fit(X, y)
        for wrong in ("median", [], [[0.5]]):
            with pytest.raises(TypeError, match=name):
                cls(**{name: wrong}).fit(X, y)
        with pytest.raises(ValueError, match="must increase"):
            cls(**{name: [0.7, 0.3]}, non_crossing=True).fit(X, y)
        with pytest.raises(ValueError, match="alpha"):
            cls(alpha=0).fit(X, y)
