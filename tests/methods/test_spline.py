import pickle

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mercer import KernelMachine
from mercer.basis import Polynomials
from mercer.kernels import Sobolev
from mercer.methods.spline import SmoothingSpline

ORACLES = [
    "smoothspline_cars_df5",
    "smoothspline_cars_gcv",
    "smoothspline_mcycle_gcv",
    "smoothspline_mcycle_lambda1e-4",
    "smoothspline_sine_cv_noties",
    "smoothspline_sine_weighted_lambda",
]


def noisy(n=60, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 3, size=n)
    if ties:
        x = np.round(x, 1)
    return x, np.sin(2 * x) + 0.3 * rng.normal(size=n), rng.uniform(0.3, 3, size=n)


def dense(x, w, alpha, order=2):
    """The smoother matrix, and P with yᵀPy the least objective, by dense algebra with the Sobolev kernel."""
    t = (x - x.min())[:, None]
    K, H = Sobolev(order)(t), Polynomials(order - 1)(t)
    inverse = np.linalg.inv(K / alpha + np.diag(1 / w))
    core = H.T @ inverse @ H
    P = inverse - inverse @ H @ np.linalg.solve(core, H.T @ inverse)
    determinants = np.linalg.slogdet(K / alpha + np.diag(1 / w))[1] + np.linalg.slogdet(core)[1]
    return np.eye(len(x)) - P / w[:, None], P, determinants


# ---- R


@pytest.mark.parametrize("name", ORACLES)
def test_agrees_with_r(oracle, name):
    data = oracle(name)
    inputs, out, parameters = data["inputs"], data["outputs"], data["parameters"]
    x, y, w = inputs["x"], inputs["y"], inputs["w"]
    given = {"lam": parameters["lambda"]} if "lambda" in parameters else {}
    given = {"df": parameters["df"]} if "df" in parameters else given
    given = {"alpha": "loo"} if parameters.get("cv") is True else given
    model = SmoothingSpline(**given).fit(x, y, sample_weight=w)
    reach = np.ptp(y)
    np.testing.assert_allclose(model.predict(out["x_unique"]), out["fitted_unique"], rtol=0, atol=2e-5 * reach)
    np.testing.assert_allclose(model.predict(inputs["xnew"]), out["predict_new"], rtol=0, atol=2e-5 * reach)
    first, second = (model.derivative(inputs["xnew"], k) for k in (1, 2))
    np.testing.assert_allclose(first, out["deriv1_new"], rtol=0, atol=1e-3 * np.ptp(out["deriv1_new"]))
    np.testing.assert_allclose(second, out["deriv2_new"], rtol=0, atol=2e-3 * np.ptp(out["deriv2_new"]))
    mean_weight = 1.0 if w is None else np.mean(w)
    criterion = model.criteria_["loo" if given == {"alpha": "loo"} else "gcv"] / mean_weight
    assert criterion == pytest.approx(out["cv_crit"], rel=2e-4)
    assert model.edf_ == pytest.approx(out["df"], abs=4e-3)
    assert model.lam_ == pytest.approx(out["lambda"], rel=1e-3)
    if out["spar"] is not None:
        assert model.spar_ == pytest.approx(out["spar"], abs=3e-4)
        assert SmoothingSpline(spar=model.spar_).fit(x, y).lam_ == pytest.approx(model.lam_)


@pytest.mark.parametrize("case", range(6))
def test_agrees_with_mgcv(oracle, case):
    """With as many basis functions as distinct x, `gam` fits the same splines, of orders 1 to 3, by its own route.

    Its search for the restricted likelihood ends within 2e-6 of the maximum; at its own degrees of freedom all agrees.
    """
    data = oracle("gam_tp_cars")
    inputs, theirs = data["inputs"], data["outputs"]["cases"][case]
    x, y, criterion = inputs["x"].astype(float), inputs["y"].astype(float), theirs["method"]
    weight = inputs["w"] if theirs["weighted"] else None
    model = best = SmoothingSpline(criterion, order=theirs["order"]).fit(x, y, sample_weight=weight)
    if criterion == "reml":
        model = SmoothingSpline(df=theirs["edf"]).fit(x, y, sample_weight=weight)
        assert 0 <= model.criteria_["reml"] - best.criteria_["reml"] < 2e-6
    else:
        assert model.criteria_["gcv"] == pytest.approx(theirs["score"], rel=1e-8)
    np.testing.assert_allclose(model.predict(inputs["xnew"]), theirs["predict_new"], rtol=1e-6)
    _, std = model.predict(x[inputs["rows"] - 1], return_std=True)
    np.testing.assert_allclose(std, theirs["se_data"], rtol=1e-6)
    assert model.edf_ == pytest.approx(theirs["edf"], rel=1e-6)
    assert model.noise_variance_ == pytest.approx(theirs["sig2"], rel=1e-6)


def test_leverages_of_r(oracle):
    out = oracle("smoothspline_mcycle_lambda1e-4")
    x, y = out["inputs"]["x"], out["inputs"]["y"]
    model = SmoothingSpline(lam=1e-4).fit(x, y)
    summed = np.array([model.leverage_[x == t].sum() for t in model.x_])
    np.testing.assert_allclose(summed, out["outputs"]["leverage_unique"], atol=5e-4)


def test_cross_validation_with_ties(oracle):
    """R reports leave-one-out over all observations, but minimises it over the means at each x: a straight line."""
    data = oracle("smoothspline_cars_cv")
    x, y, out = data["inputs"]["x"], data["inputs"]["y"], data["outputs"]
    theirs = SmoothingSpline(lam=out["lambda"]).fit(x, y)
    np.testing.assert_allclose(theirs.predict(out["x_unique"]), out["fitted_unique"], atol=2e-5 * np.ptp(y))
    assert theirs.criteria_["loo"] == pytest.approx(out["cv_crit"], rel=2e-4)
    summed = np.bincount(np.searchsorted(theirs.x_, x), theirs.leverage_)
    averaged = theirs.weight_ * ((theirs.y_ - theirs.predict(theirs.x_)) / (1 - summed)) ** 2
    assert averaged.mean() == pytest.approx(out["crit"], rel=2e-4)
    ours = SmoothingSpline("loo").fit(x, y)
    assert ours.criteria_["loo"] < out["cv_crit"]


# ---- the variational problem


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_natural_and_continuous(order):
    x, y, w = noisy()
    model = SmoothingSpline(alpha=0.01, order=order).fit(x, y, sample_weight=w)
    f, ends = model.polynomial_, np.array([model.x_[0], model.x_[-1]])
    size = [np.abs(model.derivative(x, k)).max() for k in range(2 * order)]
    for k in range(order, 2 * order - 1):
        np.testing.assert_allclose(model.derivative(ends, k), 0, atol=1e-9 * size[k])
    beyond = np.array([model.x_[0] - 5.0, model.x_[-1] + 5.0])
    np.testing.assert_allclose(model.derivative(beyond, order), 0, atol=1e-12)
    eps = 1e-9
    for k in range(2 * order - 1):  # from the left and from the right
        np.testing.assert_allclose(
            f(model.x_ - eps, k), f(model.x_ + eps, k), atol=1e-6 * size[k] + 4 * eps * size[k + 1]
        )


@pytest.mark.parametrize("order", [1, 2, 3])
def test_jumps_are_the_residuals(order):
    """The Euler–Lagrange equation: α (−1)^m [f^(2m−1)] = wᵢ (yᵢ − f(xᵢ)) at every knot."""
    x, y, w = noisy()
    model = SmoothingSpline(alpha=0.02, order=order).fit(x, y, sample_weight=w)
    top = model.polynomial_.c[0] * float(np.prod(np.arange(1, 2 * order)))
    jumps = np.diff(top)
    residual = model.weight_ * (model.y_ - model.predict(model.x_))
    np.testing.assert_allclose(model.alpha_ * (-1) ** order * jumps, residual, atol=1e-8 * np.abs(residual).max())
    for k in range(order):
        assert abs(residual @ model.x_**k) < 1e-10


def test_no_perturbation_lowers_the_objective():
    x, y, w = noisy(25)
    alpha = 0.05
    model = SmoothingSpline(alpha=alpha).fit(x, y, sample_weight=w)

    def objective(values):
        f = CubicSpline(model.x_, values, bc_type="natural")
        bend = f.derivative(2)
        h, v = np.diff(model.x_), bend(model.x_)
        energy = np.sum(h * (v[:-1] ** 2 + v[:-1] * v[1:] + v[1:] ** 2) / 3)
        return np.sum(w * (y - f(x)) ** 2) / 2 + alpha / 2 * energy

    fitted = model.predict(model.x_)
    least = objective(fitted)
    rng = np.random.default_rng(1)
    for _ in range(20):
        step = 1e-3 * rng.normal(size=len(fitted))
        up, down = objective(fitted + step), objective(fitted - step)
        assert min(up, down) > least
        assert abs(up - down) < 1e-6 * (up + down - 2 * least)  # no slope
    assert least == pytest.approx(
        np.sum(w * (y - model.predict(x)) ** 2) / 2 + alpha / 2 * model.function_.norm() ** 2, rel=1e-9
    )


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("n", [10, 200])
def test_equals_the_kernel_machine_with_the_sobolev_kernel(order, n):
    rng = np.random.default_rng(n)
    x = rng.uniform(size=n)
    x[:2] = 0, 1
    y, w = np.sin(7 * x) + 0.2 * rng.normal(size=n), rng.uniform(0.5, 2, size=n)
    new = rng.uniform(size=50)
    for alpha in (1e-6, 1e-4, 1e-2, 1.0):
        spline = SmoothingSpline(alpha=alpha, order=order).fit(x, y, sample_weight=w)
        machine = KernelMachine(kernel=Sobolev(order), loss="squared", alpha=alpha, free=order - 1)
        machine.fit(x[:, None], y, sample_weight=w)
        np.testing.assert_allclose(spline.predict(new), machine.predict(new[:, None]), rtol=0, atol=1e-8)
        if alpha >= 1e-4:  # the expansion in the kernel itself loses digits below
            np.testing.assert_allclose(spline.function_(new[:, None]), spline.predict(new), rtol=0, atol=1e-8)
            assert spline.function_.norm() == pytest.approx(machine.function_.norm(), rel=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_against_dense_algebra(order):
    x, y, w = noisy(40)
    S, _, _ = dense(x, w, 0.03, order)
    model = SmoothingSpline(alpha=0.03, order=order).fit(x, y, sample_weight=w)
    r = y - S @ y
    np.testing.assert_allclose(model.predict(x), S @ y, atol=1e-9)
    np.testing.assert_allclose(model.leverage_, np.diagonal(S), atol=1e-9)
    assert model.edf_ == pytest.approx(np.trace(S), rel=1e-9)
    assert model.noise_variance_ == pytest.approx(np.sum(w * r**2) / (40 - np.trace(S)), rel=1e-9)
    assert model.criteria_["gcv"] == pytest.approx(40 * np.sum(w * r**2) / (40 - np.trace(S)) ** 2, rel=1e-9)


@pytest.mark.parametrize("ties", [False, True])
def test_leave_one_out_equals_refits(ties):
    x, y, w = noisy(30, ties=ties)
    model = SmoothingSpline(alpha=0.02).fit(x, y, sample_weight=w)
    for i in range(30):
        others = np.arange(30) != i
        refit = SmoothingSpline(alpha=0.02).fit(x[others], y[others], sample_weight=w[others])
        assert model.leave_one_out_[i] == pytest.approx(refit.predict(x[i : i + 1])[0], abs=1e-8)
    assert model.criteria_["loo"] == pytest.approx(np.sum(w * (y - model.leave_one_out_) ** 2) / 30)


@pytest.mark.parametrize("name", ["gcv", "loo", "reml"])
@pytest.mark.parametrize("ties", [False, True])
def test_criteria_are_minimised(name, ties):
    """The chosen alpha is the minimiser of the dense formula, ties and weights included."""
    x, y, w = noisy(50, seed=4, ties=ties)
    jitter = 1e-9 * np.arange(50)  # ties, as the dense formula can have them

    def criterion(log_alpha):
        S, P, determinants = dense(x + jitter, w, np.exp(log_alpha))
        r = y - S @ y
        if name == "gcv":
            return 50 * np.sum(w * r**2) / (50 - np.trace(S)) ** 2
        if name == "loo":
            return np.mean(w * (r / (1 - np.diagonal(S))) ** 2)
        return 48 * np.log(y @ P @ y) + determinants

    model = SmoothingSpline(name).fit(x, y, sample_weight=w)
    centre = np.log(model.alpha_)
    found = minimize_scalar(criterion, bounds=(centre - 1, centre + 1), method="bounded", options={"xatol": 1e-6})
    assert found.x == pytest.approx(centre, abs=2e-3)
    scan = [criterion(t) for t in np.linspace(centre - 4, centre + 6, 21)]
    assert min(scan) >= found.fun - 1e-10 * abs(found.fun)


def test_generalised_cross_validation_does_not_interpolate(oracle):
    """On these uneven points it is lowest close to interpolation, where leave-one-out is seventeen times as large."""
    data = oracle("smoothspline_sine_cv_noties")["inputs"]
    chosen = SmoothingSpline().fit(data["x"], data["y"])
    rough = SmoothingSpline(lam=1.5e-10).fit(data["x"], data["y"])
    assert rough.criteria_["gcv"] < chosen.criteria_["gcv"]
    assert rough.criteria_["loo"] > 10 * chosen.criteria_["loo"]


@pytest.mark.parametrize("df", [2.5, 9.0, 40.0])
def test_degrees_of_freedom_are_met(df):
    x, y, w = noisy()
    assert SmoothingSpline(df=df).fit(x, y, sample_weight=w).edf_ == pytest.approx(df, rel=1e-8)


def test_limits():
    x, y, w = noisy(30)
    line = SmoothingSpline(alpha=1e12).fit(x, y, sample_weight=w)
    coefficients = np.polyfit(x, y, 1, w=np.sqrt(w))
    np.testing.assert_allclose(line.predict(x), np.polyval(coefficients, x), atol=1e-8)
    assert line.edf_ == pytest.approx(2, abs=1e-8)
    x = np.linspace(-1, 3, 30)
    curve = SmoothingSpline(alpha=1e-12).fit(x, y)
    natural = CubicSpline(x, y, bc_type="natural")
    grid = np.linspace(-1, 3, 100)
    np.testing.assert_allclose(curve.predict(grid), natural(grid), atol=1e-7)


def test_leave_one_out_of_an_interpolant():
    """As alpha goes to zero: the natural spline through the other points, by SciPy, a line beyond the last of them."""
    rng = np.random.default_rng(0)
    x, y = np.sort(rng.uniform(size=12)), rng.normal(size=12)
    model = SmoothingSpline(alpha=1e-40).fit(x, y)
    for i in range(12):
        others = np.arange(12) != i
        f = CubicSpline(x[others], y[others], bc_type="natural")
        end = min(max(x[i], x[others][0]), x[others][-1])
        expected = f(end) + f(end, 1) * (x[i] - end)
        assert model.leave_one_out_[i] == pytest.approx(float(expected), rel=1e-9)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-12)
    assert model.criteria_["loo"] == pytest.approx(np.mean((y - model.leave_one_out_) ** 2), rel=1e-9)
    near = SmoothingSpline(alpha=1e-14).fit(x, y).criteria_
    for name in ("gcv", "loo", "reml"):
        assert model.criteria_[name] == pytest.approx(near[name], rel=1e-4)


@pytest.mark.parametrize("far", [3.0, 30.0, 1e4])
@pytest.mark.parametrize("name", ["gcv", "reml"])
def test_one_distant_x_does_not_hide_the_minimum(far, name):
    rng = np.random.default_rng(0)
    x = np.r_[np.linspace(0, 1, 100), far]
    y = np.sin(20 * x) + 0.1 * rng.normal(size=101)
    model = SmoothingSpline(name).fit(x, y)
    scan = [SmoothingSpline(alpha=a).fit(x, y) for a in np.logspace(-10, 4, 40)]
    lowest = min(m.criteria_[name] for m in scan if name == "reml" or m.edf_ < 101 / 1.4)
    assert model.criteria_[name] <= lowest + 1e-9 * abs(lowest)
    assert 12 < model.edf_ < 50


def test_oscillations_without_noise_are_kept():
    """Close to a line lies another minimum, to which a price of 1.4 for a degree of freedom alone would lead."""
    x = np.linspace(0, 1, 60)
    y = np.sin(25 * x)
    model = SmoothingSpline().fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-2)


def test_x_far_from_zero():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4096, size=40) / 4096
    y, grid = np.sin(6 * x) + 0.1 * rng.normal(size=40), np.linspace(-64, 192, 65) / 128
    for order in (1, 2, 3, 4):
        near = SmoothingSpline(alpha=1e-3, order=order).fit(x, y)
        shifted = SmoothingSpline(alpha=1e-3, order=order).fit(x + 2.0**30, y)
        for ours, theirs in zip(
            shifted.predict(grid + 2.0**30, return_std=True), near.predict(grid, return_std=True), strict=True
        ):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    with pytest.raises(ValueError, match="function_ expands polynomials in powers of x"):
        _ = shifted.function_


def test_data_without_noise():
    x = np.sort(np.random.default_rng(0).uniform(size=40))
    for criterion in ("gcv", "loo", "reml"):
        flat = SmoothingSpline(criterion).fit(x, np.zeros(40))
        np.testing.assert_array_equal(flat.predict(x), 0)
        assert flat.edf_ == pytest.approx(2, abs=0.1)
        np.testing.assert_allclose(SmoothingSpline(criterion).fit(x, 2 - 3 * x).predict([5.0]), -13, rtol=1e-6)
        exact = SmoothingSpline(criterion).fit(x, np.sin(6 * x))
        np.testing.assert_allclose(exact.predict(x), np.sin(6 * x), atol=1e-3)


# ---- invariances


def test_gaps_of_rounding_size_are_ties():
    x = np.array([0.0, 1e-300, 1.0, 2.0, 2.0 + 4e-16])
    y = np.array([1.0, 3.0, 0.0, 4.0, 2.0])
    model = SmoothingSpline(alpha=0.5).fit(x, y)
    merged = SmoothingSpline(alpha=0.5).fit(np.array([0.0, 0.0, 1.0, 2.0, 2.0]), y)
    np.testing.assert_allclose(model.predict(x), merged.predict(x), atol=1e-12)
    np.testing.assert_allclose(model.leverage_, merged.leverage_, atol=1e-12)


def test_ties_weights_and_repetition():
    x, y, _ = noisy(40, ties=True)
    counts = np.random.default_rng(1).integers(0, 4, size=40)
    weighted = SmoothingSpline(alpha=0.1).fit(x, y, sample_weight=counts)
    repeated = SmoothingSpline(alpha=0.1).fit(np.repeat(x, counts), np.repeat(y, counts))
    grid = np.linspace(-2, 4, 30)
    np.testing.assert_allclose(weighted.predict(grid), repeated.predict(grid), atol=1e-10)
    assert (weighted.leverage_[counts == 0] == 0).all()
    np.testing.assert_allclose(weighted.leave_one_out_[counts == 0], weighted.predict(x[counts == 0]))


def test_units():
    """Stretching x by s multiplies alpha by s³; a factor on the weights multiplies it too; R's lambda stays."""
    x, y, w = noisy()
    plain = SmoothingSpline().fit(x, y, sample_weight=w)
    other = SmoothingSpline().fit(1e6 + 10 * x, y, sample_weight=7 * w)
    assert other.lam_ == pytest.approx(plain.lam_, rel=1e-4)
    assert other.alpha_ == pytest.approx(7e3 * plain.alpha_, rel=1e-4)
    assert other.edf_ == pytest.approx(plain.edf_, rel=1e-5)
    np.testing.assert_allclose(other.predict(1e6 + 10 * x), plain.predict(x), atol=1e-5)
    np.testing.assert_allclose(
        other.predict(1e6 + 10 * x, return_std=True)[1], plain.predict(x, return_std=True)[1], rtol=1e-4
    )


# ---- uncertainty, derivatives


def test_standard_deviations():
    x, y, w = noisy(40)
    model = SmoothingSpline(alpha=0.03).fit(x, y, sample_weight=w)
    _, std = model.predict(x, return_std=True)
    np.testing.assert_allclose(w * std**2 / model.noise_variance_, model.leverage_, rtol=1e-9)
    # elsewhere: the posterior under a nearly flat prior on the line
    new, t = np.array([-1.5, 0.123, 2.2, 4.0]), x[:, None] + 2
    big = 1e7

    def prior(a, b):
        return Sobolev(2)(a, b) / 0.03 + big * (1 + a @ b.T)

    s = new[:, None] + 2
    gain = np.linalg.solve(prior(t, t) + np.diag(1 / w), prior(t, s))
    variance = np.diagonal(prior(s, s) - prior(s, t) @ gain)
    np.testing.assert_allclose(
        model.predict(new, return_std=True)[1], np.sqrt(model.noise_variance_ * variance), rtol=1e-4
    )


def test_bands_cover_on_average():
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(size=150))
    truth = np.sin(2 * np.pi * x) + x
    covered = []
    for _ in range(60):
        model = SmoothingSpline("reml").fit(x, truth + 0.3 * rng.normal(size=150))
        low, high = model.interval(x, 0.9)
        covered.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.85 < np.mean(covered) < 0.96


@pytest.mark.parametrize("order", [2, 3])
def test_derivatives_by_differences(order):
    x, y, _ = noisy()
    model = SmoothingSpline(order=order).fit(x, y)
    grid, h = np.linspace(-1.5, 3.5, 41), 1e-5
    for k in (1, 2):
        numeric = (model.derivative(grid + h, k - 1) - model.derivative(grid - h, k - 1)) / (2 * h)
        np.testing.assert_allclose(model.derivative(grid, k), numeric, atol=2e-4 * np.abs(numeric).max())
    gradient = model.function_.derivative(grid[:, None])[:, 0]
    np.testing.assert_allclose(model.derivative(grid), gradient, atol=1e-7)


# ---- the estimator


def test_is_an_estimator():
    x, y, w = noisy()
    model = SmoothingSpline(df=8).fit(x[:, None], y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(x), model.predict(x[:, None]))
    assert clone(model).get_params() == model.get_params()
    assert model.n_features_in_ == 1
    assert cross_val_score(SmoothingSpline(), x[:, None], y).mean() > 0.5
    order = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(
        SmoothingSpline(df=8).fit(x[order], y[order], sample_weight=w[order]).predict(x),
        SmoothingSpline(df=8).fit(x, y, sample_weight=w).predict(x),
        atol=1e-9,
    )
    summary = model.summary()
    assert (summary.degrees_of_freedom, summary.gcv) == (model.edf_, model.criteria_["gcv"])
    assert str(summary).startswith(f"60 samples, alpha {model.alpha_:.6g}\neffective degrees of freedom  8\n")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "alpha = 0 must be > 0"),
        ({"alpha": "aic"}, "alpha = 'aic' must be a finite number > 0, or 'gcv'"),
        ({"alpha": 1.0, "df": 5}, "are mutually exclusive"),
        ({"df": 1.5}, "df = 1.5 must lie between order = 2 and the 60 distinct x"),
        ({"alpha": 1e-200}, "must be >= 1e-100, which interpolates"),
        ({"order": 0}, "order = 0"),
        ({"spar": 0.5, "order": 3}, "spar is defined for order = 2"),
        ({"spar": 3.7e9}, "spar = 3700000000.0 stands for lambda = .* must be .* <= "),
        ({"spar": -3.7e9}, "spar = -3700000000.0 stands for lambda = 0, .* must be >= "),
        ({"lam": 1e308}, "lambda = 1e[+]308, .* must be .* <= "),
    ],
)
def test_refusals(parameters, message):
    x, y, _ = noisy()
    with pytest.raises(ValueError, match=message):
        SmoothingSpline(**parameters).fit(x, y)


def test_refuses_data_that_it_cannot_use():
    x, y, _ = noisy()
    with pytest.raises(ValueError, match="X has 2 columns"):
        SmoothingSpline().fit(np.stack([x, x], axis=1), y)
    with pytest.raises(ValueError, match="order = 2 needs at least 3"):
        SmoothingSpline().fit([0.0, 1.0, 1.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"sample_weight\[0\] = -1 must be a finite number"):
        SmoothingSpline().fit(x, y, sample_weight=-np.ones(60))
    with pytest.raises(TypeError, match="sample_weight holds <U1 values"):
        SmoothingSpline().fit(x, y, sample_weight=["a"] * 60)
    with pytest.raises(ValueError, match="requires y"):
        SmoothingSpline().fit(x, None)
    with pytest.raises(ValueError, match="X has masked entries"):
        SmoothingSpline().fit(np.ma.masked_array(x, mask=x > 0), y)
    for pair in ((x.astype(str), y), (x, y.astype(str))):
        with pytest.raises(TypeError, match=r"expected numbers|give real numbers"):
            SmoothingSpline().fit(*pair)
    with pytest.raises(TypeError, match=r"alpha = array\(\[1., 2.\]\) must be a finite number"):
        SmoothingSpline(np.array([1.0, 2.0])).fit(x, y)


def test_refuses_other_array_libraries():
    torch = pytest.importorskip("torch")
    x, y, _ = noisy()
    for pair in ((torch.tensor(x), torch.tensor(y)), (x, torch.tensor(y))):
        with pytest.raises(TypeError, match="is a torch array"):
            SmoothingSpline().fit(*pair)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_far_points(order):
    x, y, _ = noisy()
    model = SmoothingSpline(0.1, order=order).fit(x, y)
    far = np.array([1e90, -1e90])  # where x² is a number, but not x⁵
    expected = model.derivative([x.max() + 1, x.min() - 1], order - 1) / (1, 1, 2)[order - 1]
    np.testing.assert_allclose(model.predict(far), expected * far ** (order - 1), rtol=1e-6)
    weight = np.ones(61)
    weight[60] = 0.0
    model.fit(np.append(x, 1e90), np.append(y, 0.0), weight)
    np.testing.assert_allclose(model.leave_one_out_[60], model.predict(1e90 * np.ones(1))[0])
    if order > 1:
        with pytest.raises(ValueError, match="SmoothingSpline: X holds 1e\\+308, so far from the samples"):
            SmoothingSpline(0.1, order=order).fit(x, 10 * x**2).predict([1e308])
