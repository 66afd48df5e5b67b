import pickle

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.optimize import minimize_scalar

from mercer import KernelRidge
from mercer.basis import Polynomials
from mercer.gram import Nystrom
from mercer.kernels import ThinPlate
from mercer.kernels.polyharmonic import duchon
from mercer.methods.spline import SmoothingSpline
from mercer.methods.thin_plate import ThinPlateSpline


def surface(n=60, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.sin(3 * X[:, 0]) + X[:, -1] ** 2 + 0.2 * rng.normal(size=n), rng.uniform(0.3, 3, size=n)


def dense(X, w, alpha, m=2):
    K, H = duchon(m, X.shape[1])(X), Polynomials(m - 1)(X)
    system = np.block([[K + alpha * np.diag(1 / w), H], [H.T, np.zeros((H.shape[1],) * 2)]])
    n = len(X)
    inverse = np.linalg.inv(system)[:n, :n]
    return np.eye(n) - alpha * inverse / w[:, None]


def test_fixed_lambda_of_fields(oracle):
    data = oracle("tps_quakes_lam0.01")
    X, y, out = data["inputs"]["X"], data["inputs"]["y"], data["outputs"]
    model = ThinPlateSpline(alpha=0.01).fit(X, y)
    np.testing.assert_allclose(model.predict(X), out["fitted"], atol=1e-10)
    np.testing.assert_allclose(model.predict(data["inputs"]["Xnew"].astype(float)), out["predict_new"], atol=1e-10)
    assert model.edf_ == pytest.approx(out["eff_df"], rel=1e-10)


@pytest.mark.parametrize("case", [0, 1])
def test_agrees_with_mgcv(oracle, case):
    """Duchon's norm in four variables, where second derivatives alone give no kernel, and order 3 in three."""
    data = oracle("gam_duchon_iris")
    inputs, theirs = data["inputs"], data["outputs"]["cases"][case]
    d = theirs["columns"]
    model = ThinPlateSpline(order=theirs["order"]).fit(inputs["X"][:, :d], inputs["y"])
    np.testing.assert_allclose(model.predict(inputs["Xnew"][:, :d]), theirs["predict_new"], rtol=1e-6)
    assert model.edf_ == pytest.approx(theirs["edf"], rel=1e-6)
    assert model.criteria_["gcv"] == pytest.approx(theirs["gcv"], rel=1e-9)


def test_cross_validation_of_fields(oracle):
    """fields' search stops a little early: our value of its criterion is lower, and the fits agree to 1e-4."""
    data = oracle("tps_quakes_gcv")
    X, y, out = data["inputs"]["X"], data["inputs"]["y"], data["outputs"]
    at_theirs = ThinPlateSpline(alpha=out["lambda"]).fit(X, y)
    np.testing.assert_allclose(at_theirs.predict(X), out["fitted"], atol=1e-9)
    assert at_theirs.criteria_["gcv"] == pytest.approx(out["gcv_table"][0][2], rel=1e-9)
    model = ThinPlateSpline().fit(X, y)
    assert model.criteria_["gcv"] <= at_theirs.criteria_["gcv"]
    assert model.alpha_ == pytest.approx(out["lambda"], rel=5e-3)
    np.testing.assert_allclose(model.predict(X), out["fitted"], atol=1e-4 * np.ptp(y))
    np.testing.assert_allclose(
        ThinPlateSpline(df=out["eff_df"]).fit(X, y).predict(X), out["fitted"], atol=1e-6 * np.ptp(y)
    )


@pytest.mark.parametrize(("d", "order"), [(1, 1), (1, 2), (2, 2), (2, 3), (3, 2), (3, 3)])
def test_against_dense_algebra(d, order):
    X, y, w = surface(d=d)
    for alpha in (1e-3, 0.1, 10.0):
        S = dense(X, w, alpha, order)
        model = ThinPlateSpline(alpha=alpha, order=order).fit(X, y, sample_weight=w)
        np.testing.assert_allclose(model.predict(X), S @ y, atol=1e-8)
        np.testing.assert_allclose(model.leverage_, np.diagonal(S), atol=1e-8)
        np.testing.assert_allclose(model.function_(X), S @ y, atol=1e-8)


def test_optimality():
    """α aᵢ = wᵢ (yᵢ − f(xᵢ)) with a the coefficients in the kernel, and these annihilate the affine functions."""
    X, y, w = surface()
    model = ThinPlateSpline(alpha=0.05).fit(X, y, sample_weight=w)
    a = model.function_.coefficients[:60]
    np.testing.assert_allclose(0.05 * a, w * (y - model.predict(X)), atol=1e-10)
    np.testing.assert_allclose(Polynomials(1)(X).T @ a, 0, atol=1e-10)
    energy = a @ duchon(2, 2)(X) @ a
    assert model.function_.norm() ** 2 == pytest.approx(energy, rel=1e-9)


def test_in_one_dimension_it_is_the_smoothing_spline():
    X, y, w = surface(d=1)
    for order in (1, 2, 3):
        spline = SmoothingSpline(alpha=0.02, order=order).fit(X, y, sample_weight=w)
        plate = ThinPlateSpline(alpha=0.02, order=order).fit(X, y, sample_weight=w)
        grid = np.linspace(-1.5, 1.5, 40)[:, None]
        ours, deviation = plate.predict(grid, return_std=True)
        theirs, other = spline.predict(grid, return_std=True)
        np.testing.assert_allclose(ours, theirs, atol=1e-8)
        np.testing.assert_allclose(deviation, other, atol=1e-6)
        for name in ("gcv", "loo"):
            assert plate.criteria_[name] == pytest.approx(spline.criteria_[name], rel=1e-8)
    chosen = {name: ThinPlateSpline(name).fit(X, y).alpha_ for name in ("gcv", "loo", "reml")}
    for name, alpha in chosen.items():
        assert alpha == pytest.approx(SmoothingSpline(name).fit(X, y).alpha_, rel=1e-3)


def test_equals_kernel_ridge_with_the_thin_plate_kernel():
    X, y, w = surface()
    plate = ThinPlateSpline(alpha=0.01).fit(X, y, sample_weight=w)
    ridge = KernelRidge(0.01 * 8 * np.pi, kernel=ThinPlate(), free=1).fit(X, y, sample_weight=w)
    new = np.random.default_rng(1).uniform(-1, 1, size=(30, 2))
    np.testing.assert_allclose(plate.predict(new), ridge.predict(new), atol=1e-8)


def test_small_alpha_interpolates_as_scipy():
    X, y, _ = surface(30)
    new = np.random.default_rng(1).uniform(-1, 1, size=(30, 2))
    theirs = RBFInterpolator(X, y, kernel="thin_plate_spline", degree=1)(new)
    np.testing.assert_allclose(ThinPlateSpline(alpha=1e-11).fit(X, y).predict(new), theirs, atol=1e-6)


@pytest.mark.parametrize("name", ["gcv", "loo", "reml"])
def test_criteria_are_minimised(name):
    X, y, w = surface()
    H = Polynomials(1)(X)
    K = duchon(2, 2)(X)

    def criterion(log_alpha):
        alpha = np.exp(log_alpha)
        S = dense(X, w, alpha)
        r = y - S @ y
        if name == "gcv":
            return 60 * np.sum(w * r**2) / (60 - np.trace(S)) ** 2
        if name == "loo":
            return np.mean(w * (r / (1 - np.diagonal(S))) ** 2)
        Z = np.linalg.svd(H)[0][:, 3:]
        V = Z.T @ (K / alpha + np.diag(1 / w)) @ Z
        q = Z.T @ y
        return 57 * np.log(q @ np.linalg.solve(V, q)) + np.linalg.slogdet(V)[1]

    model = ThinPlateSpline(name).fit(X, y, sample_weight=w)
    centre = np.log(model.alpha_)
    found = minimize_scalar(criterion, bounds=(centre - 1, centre + 1), method="bounded", options={"xatol": 1e-6})
    assert found.x == pytest.approx(centre, abs=1e-3)


def generalised(X, y, alphas):
    """GCV by eigenvalues of the kernel on what the affine functions leave, from its definition."""
    Z = np.linalg.svd(Polynomials(1)(X))[0][:, X.shape[1] + 1 :]
    values, V = np.linalg.eigh(Z.T @ duchon(2, X.shape[1])(X) @ Z)
    shrunk = alphas / (values[:, None] + alphas)
    return len(y) * np.sum((shrunk * (V.T @ Z.T @ y)[:, None]) ** 2, axis=0) / np.sum(shrunk, axis=0) ** 2


@pytest.mark.parametrize(("d", "noise"), [(1, 0.3), (2, 0.0), (2, 1e-3), (2, 0.3), (2, 10.0), (3, 10.0)])
def test_no_alpha_of_a_dense_grid_is_better(d, noise):
    """Between interpolation, where there is no noise, and the affine functions, where there is little else."""
    rng = np.random.default_rng(4)
    X = rng.uniform(size=(60, d))
    y = np.sin(6 * X[:, 0]) * X[:, -1] + noise * rng.normal(size=60)
    grid = np.logspace(-11, 15, 1000)
    assert ThinPlateSpline().fit(X, y).criteria_["gcv"] <= generalised(X, y, grid).min() * (1 + 1e-6)


def test_a_plane_is_found_where_there_is_nothing_more():
    """The noise is the roughest that these points can carry, of which each alpha leaves most."""
    X, _, _ = surface()
    H = Polynomials(1)(X)
    Z = np.linalg.svd(H)[0][:, 3:]
    plane, rough = H @ [1.0, 2.0, -1.0], Z @ np.linalg.eigh(Z.T @ duchon(2, 2)(X) @ Z)[1][:, 0]
    model = ThinPlateSpline().fit(X, plane + rough)
    np.testing.assert_allclose(model.predict(X), plane, atol=1e-6)
    assert model.edf_ == pytest.approx(3, abs=1e-6)


def test_leave_one_out_equals_refits():
    X, y, w = surface(25)
    model = ThinPlateSpline(alpha=0.03).fit(X, y, sample_weight=w)
    for i in range(25):
        others = np.arange(25) != i
        refit = ThinPlateSpline(alpha=0.03).fit(X[others], y[others], sample_weight=w[others])
        assert model.leave_one_out_[i] == pytest.approx(refit.predict(X[i : i + 1])[0], abs=1e-8)


def test_landmarks():
    """All samples as landmarks are exact; given ones are the spline on that basis, by its normal equations."""
    X, y, w = surface(80)
    exact = ThinPlateSpline(alpha=0.05).fit(X, y, sample_weight=w)
    everyone = ThinPlateSpline(alpha=0.05, gram=Nystrom(landmarks=list(range(80)))).fit(X, y, sample_weight=w)
    np.testing.assert_allclose(everyone.predict(X), exact.predict(X), atol=1e-6)

    chosen = list(range(20))
    few = ThinPlateSpline(alpha=0.05, gram=Nystrom(landmarks=chosen)).fit(X, y, sample_weight=w)
    # the kernel's landmarks and its anchors span the basis
    knots = np.unique(np.vstack([X[chosen], few.kernel_.anchors]), axis=0)
    E, H = duchon(2, 2), Polynomials(1)
    Z = np.linalg.svd(H(knots))[0][:, 3:]
    A = np.hstack([E(X, knots) @ Z, H(X)])
    penalty = np.zeros((A.shape[1],) * 2)
    penalty[: Z.shape[1], : Z.shape[1]] = Z.T @ E(knots) @ Z
    theta = np.linalg.solve(A.T @ (w[:, None] * A) + 0.05 * penalty, A.T @ (w * y))
    np.testing.assert_allclose(few.predict(X), A @ theta, atol=1e-7)
    assert len(few.function_) < 80


def test_bands_and_standard_deviations():
    X, y, w = surface()
    model = ThinPlateSpline("reml").fit(X, y, sample_weight=w)
    values, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(w * std**2 / model.noise_variance_, model.leverage_, rtol=1e-6)
    low, high = model.interval(X, 0.5)
    np.testing.assert_allclose(high - low, 2 * 0.6744897501960817 * std, rtol=1e-12)
    np.testing.assert_allclose((high + low) / 2, values)


def test_gradient_by_differences():
    X, y, _ = surface()
    f = ThinPlateSpline().fit(X, y).function_
    new = np.random.default_rng(2).uniform(-1, 1, size=(10, 2))
    h = 1e-5
    steps = np.stack([(f(new + h * e) - f(new - h * e)) / (2 * h) for e in np.eye(2)], axis=1)
    np.testing.assert_allclose(f.derivative(new), steps, atol=1e-5 * np.abs(steps).max())


def test_rotations_and_shifts_do_not_matter():
    X, y, _ = surface()
    c, s = np.cos(0.7), np.sin(0.7)
    turned = X @ np.array([[c, -s], [s, c]]) + 5
    np.testing.assert_allclose(
        ThinPlateSpline(alpha=0.1).fit(turned, y).predict(turned),
        ThinPlateSpline(alpha=0.1).fit(X, y).predict(X),
        atol=1e-8,
    )


def test_weights_are_repetitions():
    X, y, _ = surface()
    counts = np.random.default_rng(0).integers(0, 3, size=60)
    weighted = ThinPlateSpline(alpha=0.1).fit(X, y, sample_weight=counts)
    repeated = ThinPlateSpline(alpha=0.1).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-8)
    left = counts == 0
    np.testing.assert_allclose(weighted.leave_one_out_[left], weighted.predict(X[left]), atol=1e-10)


def test_many_dimensions_have_an_affine_free_part():
    X, y, _ = surface(120, d=6)
    model = ThinPlateSpline("reml").fit(X, y)
    assert model.order_ == 2 and model.function_.free.shape == (7,)
    ridge = KernelRidge(model.alpha_, kernel="power(degree=1)", free=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-8)


def test_data_that_the_free_part_explains():
    X, _, _ = surface()
    for criterion in ("gcv", "loo", "reml"):
        model = ThinPlateSpline(criterion).fit(X, X @ [2.0, -1.0] + 3)
        np.testing.assert_allclose(model.predict([[5.0, 5.0]]), 8, rtol=1e-6)
        np.testing.assert_array_equal(ThinPlateSpline(criterion).fit(X, np.zeros(60)).predict(X), 0)


def test_single_precision_is_computed_in_double():
    X, y, w = surface()
    X = X.astype(np.float32)
    single = ThinPlateSpline().fit(X, y, w)
    double = ThinPlateSpline().fit(X.astype(np.float64), y, w)
    assert single.edf_ == double.edf_
    np.testing.assert_array_equal(single.predict(X), double.predict(X))


def test_pickles():
    X, y, _ = surface()
    model = ThinPlateSpline().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    assert copy.summary() == model.summary()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"order": 1}, "order = 1 must be >= 2"),
        ({"alpha": -1.0}, "alpha = -1.0 must be > 0"),
        ({"alpha": "reml", "df": 9}, "are mutually exclusive"),
        ({"df": 2.0}, "df = 2.0 must lie between the 3 free polynomials"),
        ({"order": 9}, "needs at least 46 samples"),
    ],
)
def test_refusals(parameters, message):
    X, y, _ = surface(40)
    with pytest.raises(ValueError, match=message):
        ThinPlateSpline(**parameters).fit(X, y)


@pytest.mark.parametrize("alpha", [1e-14, 1e-100, 1e-290])
def test_hardly_a_degree_of_freedom_is_left(alpha):
    """With G the matrix that takes y to the coefficients of the interpolant: σ²/α = yᵀG²y/tr G, residuals (Gy)ᵢ/Gᵢᵢ."""
    X, y, _ = surface(12)
    K, H = duchon(2, 2)(X), Polynomials(1)(X)
    G = np.linalg.inv(np.block([[K, H], [H.T, np.zeros((3, 3))]]))[:12, :12]
    model = ThinPlateSpline(alpha).fit(X, y)
    assert model.noise_variance_ / alpha == pytest.approx(y @ G @ G @ y / np.trace(G), rel=1e-9)
    np.testing.assert_allclose(model.leave_one_out_, y - G @ y / np.diagonal(G), rtol=1e-8)
    assert model.criteria_["gcv"] == pytest.approx(12 * y @ G @ G @ y / np.trace(G) ** 2, rel=1e-9)
    assert np.isfinite(model.predict(X[:3] + 0.1, return_std=True)[1]).all()


def test_repeated_samples_and_hardly_a_penalty():
    """Equal samples predict each other; the interpolant of all but one predicts that one."""
    X, y, _ = surface(12)
    X = np.concatenate([X, X[:3]])
    y = np.concatenate([y, y[:3] + np.array([0.1, -0.2, 0.3])])
    model = ThinPlateSpline(1e-250).fit(X, y)
    np.testing.assert_allclose(model.leave_one_out_[[0, 1, 2, 12, 13, 14]], y[[12, 13, 14, 0, 1, 2]], rtol=1e-9)
    y[12:] = y[:3] = (y[12:] + y[:3]) / 2
    part = np.r_[:5, 6:15]
    expected = ThinPlateSpline(1e-250).fit(X[part], y[part]).predict(X[5:6])
    np.testing.assert_allclose(model.leave_one_out_[5:6], expected, rtol=1e-8)


def test_no_fit_without_a_sample():
    x, y = np.array([[0.0], [0.0], [0.0], [1.0]]), np.array([1.0, 2.0, 4.0, 3.0])
    model = ThinPlateSpline(0.1).fit(x, y)
    np.testing.assert_allclose(model.leave_one_out_, [3.0, 2.5, 1.5, np.nan])  # the means of the others at 0
    assert model.criteria_["loo"] == np.inf
    with pytest.raises(ValueError, match=r"df = 2.5 must be below 2"):
        ThinPlateSpline(df=2.5).fit(x, y)
