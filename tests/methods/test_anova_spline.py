import pickle

import numpy as np
import pytest
from scipy.integrate import simpson

from mercer.methods.anova_spline import AnovaSpline
from mercer.methods.spline import SmoothingSpline


def sample(n=80, d=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 2, size=(n, d))
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=n)
    return X, y, rng.uniform(0.3, 3, size=n)


def table(frame, names):
    return np.array([frame[name] for name in names], dtype=float).T


@pytest.mark.parametrize(
    ("name", "columns", "terms"),
    [
        ("ssanova_sine", ["x"], None),
        ("ssanova_trees_additive", ["a", "b"], None),
        ("ssanova_interaction", ["a", "b"], [0, 1, (0, 1)]),
    ],
)
def test_agrees_with_gss(oracle, name, columns, terms):
    data = oracle(name)
    X, y, out = table(data["inputs"]["data"], columns), data["inputs"]["data"]["y"].astype(float), data["outputs"]
    new = table(data["inputs"]["newdata"], columns)
    model = AnovaSpline(terms=terms).fit(X, y)
    np.testing.assert_allclose(model.predict(X), out["fitted"], atol=1e-4 * np.ptp(y))
    weights = 10 ** (out["theta"] - out["theta"].max())
    np.testing.assert_allclose(model.theta_, weights, rtol=0.01, atol=1e-6)
    values, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(values, out["predict_new"], rtol=1e-3)
    assert model.criteria_["gcv"] <= out["score"]
    assert model.criteria_["gcv"] == pytest.approx(out["score"], rel=1e-6)
    # gss ends its search earlier: near a minimum, what varies is as exact as the root of the criterion's excess
    rel = max(1e-4, np.sqrt(out["score"] / model.criteria_["gcv"] - 1))
    assert model.noise_variance_ == pytest.approx(out["varht"], rel=rel)
    # gss leaves out the variance that the prior has beyond the span of the data's representers
    U, V = model.scale(X), model.scale(new)
    K, cross = model.kernel_(U), model.kernel_(U, V)
    spanned = np.sum(cross * (np.linalg.pinv(K, rcond=1e-12) @ cross), axis=0)
    basis = model.function_.basis
    variance = model._path.variance(model.alpha_, cross.T, spanned, basis(V)) / model.alpha_
    np.testing.assert_allclose(np.sqrt(model.noise_variance_ * variance), out["se_new"], rtol=2e-3)
    assert (std >= out["se_new"] * (1 - 1e-3)).all()


def test_generalised_cross_validation_does_not_interpolate(oracle):
    """Depths of earthquakes: it falls by two orders of magnitude towards 49 degrees of freedom, and misleads there."""
    data = oracle("tps_quakes_gcv")["inputs"]
    X, y = data["X"], data["y"]
    model = AnovaSpline().fit(X, y)
    rough = AnovaSpline(1e-4 * model.alpha_, theta=model.theta_).fit(X, y)
    assert rough.criteria_["gcv"] < model.criteria_["gcv"]
    assert rough.criteria_["loo"] > 2 * model.criteria_["loo"]
    assert model.edf_ < 50 / 1.4
    assert model.criteria_["loo"] < 1.2 * AnovaSpline("reml").fit(X, y).criteria_["loo"]
    for terms in (None, [0, 1, (0, 1)]):
        folds = np.arange(50) % 10
        held = [
            AnovaSpline(terms=terms).fit(X[folds != k], y[folds != k]).predict(X[folds == k]) - y[folds == k]
            for k in range(10)
        ]
        assert np.sqrt(np.mean(np.concatenate(held) ** 2)) < np.std(y)


@pytest.mark.parametrize("terms", [None, [0, 1, (0, 1)]])
def test_depths_of_earthquakes(data_dir, terms):
    """By place: as far as leave-one-out can tell, no worse than the likelihood's choice."""
    values = np.genfromtxt(data_dir / "splines" / "quakes.csv.gz", delimiter=",", skip_header=1)
    for rows in (slice(0, 50), slice(50, 100), slice(100, 200)):
        X, y = values[rows, :2], values[rows, 2]
        chosen, likely = (AnovaSpline(name, terms=terms).fit(X, y).criteria_ for name in ("gcv", "reml"))
        assert chosen["loo"] < 1.5 * likely["loo"]


@pytest.mark.parametrize(("seed", "n", "noise"), [(6, 31, 0.1), (60, 25, 0.1)])
def test_clustered_points_do_not_draw_it_to_interpolation(seed, n, noise):
    """A dozen points that share their first coordinate but for a thousandth; the truth is known."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    X[:12, 0] = 0.5 + 1e-3 * X[:12, 0]
    U = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    truth = np.sin(5 * U[:, 0]) + 2 * (U[:, 1] - 0.5) ** 2
    model = AnovaSpline().fit(X, truth + noise * rng.normal(size=n))
    assert model.edf_ < n / 2
    assert np.sqrt(np.mean((model.predict(X) - truth) ** 2)) < 0.7 * noise


def test_additive_functions_without_noise_are_kept():
    U = np.random.default_rng(2).uniform(size=(60, 2))
    y = np.sin(12 * U[:, 0]) + np.cos(9 * U[:, 1])
    model = AnovaSpline().fit(U, y)
    np.testing.assert_allclose(model.predict(U), y, atol=1e-3)


def test_one_column_is_the_smoothing_spline():
    X, y, w = sample(d=2)
    x = X[:, :1]
    for criterion in ("gcv", "reml"):
        anova, spline = AnovaSpline(criterion).fit(x, y, w), SmoothingSpline(criterion).fit(x, y, w)
        grid = np.linspace(-2, 3, 50)[:, None]
        ours, std = anova.predict(grid, return_std=True)
        theirs, other = spline.predict(grid, return_std=True)
        np.testing.assert_allclose(ours, theirs, atol=1e-4)
        np.testing.assert_allclose(std, other, rtol=1e-3)
        assert anova.edf_ == pytest.approx(spline.edf_, rel=1e-4)


@pytest.mark.parametrize("criterion", ["gcv", "reml"])
def test_weights_of_the_terms_are_a_stationary_point(criterion):
    X, y, w = sample()
    model = AnovaSpline(criterion, terms=[0, 1, (0, 1)]).fit(X, y, w)
    assert model.parts_[2:] == [((0, 1), (0,)), ((0, 1), (1,)), ((0, 1), (0, 1))]

    def value(log_ratio):
        theta = np.exp(log_ratio)
        return AnovaSpline(1.0, terms=[0, 1, (0, 1)], theta=theta).fit(X, y, w).criteria_[criterion]

    centre = np.log(model.theta_ / model.alpha_)
    assert value(centre) == pytest.approx(model.criteria_[criterion], rel=1e-9)
    for t in range(5):
        step = np.where(np.arange(5) == t, 1e-2, 0.0)
        up, down = value(centre + step), value(centre - step)
        size = 1.0 if criterion == "reml" else value(centre)
        assert abs(up - down) / 2e-2 < 1e-4 * size
        assert min(value(centre + 20 * step), value(centre - 20 * step)) >= value(centre) - 1e-8 * size


@pytest.mark.parametrize("theta", [[1.0, 0.2, 3.0], [1.0, 0.2, 3.0, 0.7, 2.0]])
def test_against_dense_algebra(theta):
    X, y, w = sample(50)
    alpha = 0.01
    model = AnovaSpline(alpha, terms=[0, 1, (0, 1)], theta=theta).fit(X, y, w)
    U = model.scale(X)

    def k1(x):
        return x - 0.5

    def k2(x):
        return (k1(x) ** 2 - 1 / 12) / 2

    def k4(x):
        return (k1(x) ** 4 - k1(x) ** 2 / 2 + 7 / 240) / 24

    def smooth(j):
        u = U[:, j]
        return np.outer(k2(u), k2(u)) - k4(np.abs(u[:, None] - u[None, :]))

    def line(j):
        return np.outer(k1(U[:, j]), k1(U[:, j]))

    R, L = [smooth(0), smooth(1)], [line(0), line(1)]
    joint = theta[2:] if len(theta) == 5 else theta[2:] * 3
    K = theta[0] * R[0] + theta[1] * R[1] + joint[0] * R[0] * L[1] + joint[1] * L[0] * R[1] + joint[2] * R[0] * R[1]
    u, v = k1(U[:, 0]), k1(U[:, 1])
    H = np.stack([np.ones(50), u, v, u * v], axis=1)
    system = np.block([[K + alpha * np.diag(1 / w), H], [H.T, np.zeros((4, 4))]])
    solution = np.linalg.solve(system, np.r_[y, np.zeros(4)])
    np.testing.assert_allclose(model.predict(X), K @ solution[:50] + H @ solution[50:], atol=1e-9)
    curves = model.components(X)
    first = theta[0] * R[0] @ solution[:50] + solution[51] * u
    np.testing.assert_allclose(curves[(0,)], first, atol=1e-9)


def test_components_add_up_and_have_mean_zero():
    X, y, _ = sample()
    model = AnovaSpline("reml", terms=[0, 1, (0, 1)]).fit(X, y)
    grid = np.random.default_rng(1).uniform(-1, 2, size=(20, 2))
    curves = model.components(grid)
    assert set(curves) == {(0,), (1,), (0, 1)}
    np.testing.assert_allclose(model.intercept_ + sum(curves.values()), model.predict(grid), atol=1e-10)
    for j in (0, 1):
        line = np.tile([0.3, 0.4], (4001, 1))
        line[:, j] = np.linspace(model.lower_[j], model.upper_[j], 4001)
        for term, values in model.components(line).items():
            if j in term:
                assert simpson(values, line[:, j]) == pytest.approx(0, abs=1e-7)


def test_deviations_of_the_components():
    """Against the posterior by dense algebra, under a nearly flat prior on the free functions."""
    X, y, w = sample(40)
    terms = [0, 1, (0, 1)]
    model = AnovaSpline(0.02, terms=terms, theta=[1.0, 0.3, 2.0, 0.5, 1.5]).fit(X, y, w)
    new = np.random.default_rng(3).uniform(-1.2, 2.2, size=(15, 2))
    curves, deviations = model.components(new, return_std=True)
    np.testing.assert_array_equal(curves[(0,)], model.components(new)[(0,)])
    U, V = model.scale(X), model.scale(new)
    columns = [(), *model.terms_]

    def prior(t, A, B):
        k1 = [np.outer(A[:, j] - 0.5, B[:, j] - 0.5) for j in range(2)]
        free = np.prod([k1[j] for j in t], axis=0) if t else np.ones((len(A), len(B)))
        if not t:
            return 1e6 * free
        parts = zip(model.theta_, model.parts_, strict=True)
        return 1e6 * free + sum(theta * model._part_kernel(*part)(A, B) for theta, part in parts if part[0] == t) / 0.02

    total = sum(prior(t, U, U) for t in columns) + np.diag(1 / w)
    for t in model.terms_:
        cross = prior(t, U, V)
        variance = np.diagonal(prior(t, V, V) - cross.T @ np.linalg.solve(total, cross))
        np.testing.assert_allclose(deviations[t], np.sqrt(model.noise_variance_ * variance), rtol=2e-4)
        np.testing.assert_allclose(curves[t], cross.T @ np.linalg.solve(total, y), atol=1e-4)


def test_columns_of_two_values():
    """The free part explains them, so that their penalty does not matter."""
    X, y, _ = sample()
    two = (X > 0.5).astype(float)
    plain = np.stack([np.ones(80), *two.T], axis=1)
    expected = plain @ np.linalg.lstsq(plain, y, rcond=None)[0]
    for criterion in ("gcv", "reml"):
        np.testing.assert_allclose(AnovaSpline(criterion).fit(two, y).predict(two), expected, atol=1e-9)
        mixed = AnovaSpline(criterion).fit(np.stack([X[:, 0], two[:, 1]], axis=1), y)
        assert 4 < mixed.edf_ < 20


def test_finds_the_parts():
    X, y, _ = sample(200, d=3)
    model = AnovaSpline().fit(X, y)
    curves = model.components(X)
    truth = {(0,): np.sin(3 * X[:, 0]), (1,): 0.5 * X[:, 1] ** 2}
    for term, values in truth.items():
        assert np.corrcoef(curves[term], values)[0, 1] > 0.98
    assert np.std(curves[(2,)]) < 0.1 * np.std(curves[(0,)])


def test_leave_one_out_equals_refits():
    X, y, w = sample(25)
    model = AnovaSpline(0.01).fit(X, y, w)
    for i in range(1, 25):
        others = np.arange(25) != i
        refit = AnovaSpline(0.01)
        if np.any((X[i] == X.min(axis=0)) | (X[i] == X.max(axis=0))):
            continue  # then the refit has other intervals
        refit.fit(X[others], y[others], w[others])
        assert model.leave_one_out_[i] == pytest.approx(refit.predict(X[i : i + 1])[0], abs=1e-8)


def test_continues_main_effects_as_lines():
    X, y, _ = sample()
    model = AnovaSpline().fit(X, y)
    beyond = np.stack([np.linspace(3, 6, 7), np.full(7, 0.5)], axis=1)
    np.testing.assert_allclose(np.diff(model.predict(beyond), 2), 0, atol=1e-8)


def test_pickles_and_reports():
    X, y, _ = sample()
    model = AnovaSpline().fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    summary = copy.summary()
    assert summary.degrees_of_freedom == model.edf_
    assert summary.free_coef[0] == model.intercept_ and (summary.free_std_error > 0).all()
    assert len(str(summary).splitlines()) == 6 + 1 + 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"terms": [0, 5]}, "must be distinct columns"),
        ({"terms": [0, (0, 1), (1, 0)]}, "must be distinct columns"),
        ({"terms": [True, False]}, "must be distinct columns"),
        ({"alpha": "loo"}, "alpha = 'loo' must be a finite number > 0, or"),
        ({"theta": [1, 1]}, "theta is given"),
        ({"alpha": 1.0, "theta": [1, 0]}, "must be 2 finite numbers > 0"),
        ({"order": 0}, "order = 0"),
    ],
)
def test_refusals(parameters, message):
    X, y, _ = sample(30)
    with pytest.raises(ValueError, match=message):
        AnovaSpline(**parameters).fit(X, y)


def test_data_that_the_free_part_explains():
    X, _, _ = sample(30)
    for criterion in ("gcv", "reml"):
        np.testing.assert_allclose(
            AnovaSpline(criterion).fit(X, X @ [2.0, -1.0] + 3).predict([[5.0, 5.0]]), 8, rtol=1e-8
        )
        np.testing.assert_array_equal(AnovaSpline(criterion).fit(X, np.zeros(30)).predict(X), 0)


def test_refuses_constant_columns():
    X, y, _ = sample(30)
    X[:, 1] = 2.0
    with pytest.raises(ValueError, match=r"column\(s\) \[1\] of X are constant"):
        AnovaSpline().fit(X, y)
    AnovaSpline(terms=[0]).fit(X, y)
