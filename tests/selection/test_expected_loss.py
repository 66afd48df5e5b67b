"""Expected losses against n refits, written out here, and criteria against their definitions."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneGroupOut, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, SVR, KernelInterpolator, KernelMachine, KernelRidge
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Power
from mercer.losses import EpsilonInsensitive, Expectile, Hampel, Hinge, Huber, Logistic, Pinball, as_loss
from mercer.methods.logistic import KernelLogisticRegression
from mercer.methods.lssvc import LeastSquaresSVC
from mercer.methods.quantile import KernelQuantileRegression
from mercer.methods.ridge_cv import KernelRidgeClassifierCV, KernelRidgeCV
from mercer.methods.robust import RobustKernelRegression
from mercer.methods.spline import SmoothingSpline
from mercer.methods.thin_plate import ThinPlateSpline
from mercer.selection import expected_loss
from mercer.solvers.leave_one_out import Influence

rng = np.random.default_rng(5)
N = 36
X = rng.normal(size=(N, 2))
y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)
Y = np.stack([y, X[:, 0] ** 2], axis=1)
WEIGHT = rng.uniform(0.3, 2, N)
LABELS = np.where(y > 0, "up", "down")
THREE = np.digitize(y, [-0.5, 0.7])
COUNTS = np.round(np.exp(y / 2))
K = Gaussian(1.2)


def brute(estimator, data, target, weight=None, answer="predict"):
    """What fits to all samples but one say of that one."""
    out = []
    for i in range(len(target)):
        kept = np.arange(len(target)) != i
        given = {} if weight is None else {"sample_weight": weight[kept]}
        model = clone(estimator).fit(data[kept], target[kept], **given)
        out.append(getattr(model, answer)(data[i : i + 1])[0])
    return np.array(out)


CLOSED = [
    (KernelRidge(alpha=0.1, kernel=K), y),
    (KernelRidge(alpha=0.1, kernel=K, fit_intercept=True), y),
    (KernelRidge(alpha=0.3, kernel=K, free=1), Y),
    (KernelRidge(alpha=[0.1, 2.0], kernel=K, free=0), Y),
    (KernelRidge(alpha=0.1, kernel=Power(1.0), free=0), y),
    (KernelMachine("squared", kernel=K, alpha=0.2, free=0), y),
    (ThinPlateSpline(alpha=0.1), y),
]


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize(("estimator", "target"), CLOSED)
def test_closed_forms_equal_refits(estimator, target, weight) -> None:
    found = expected_loss(estimator, X, target, sample_weight=weight)
    assert found.method == "closed_form" and found.approximation_error == 0 and found.n_refits == 0
    left = brute(estimator, X, target, weight)
    values = (target - left) ** 2
    values = values if values.ndim == 1 else values.mean(axis=1)
    assert np.allclose(found.values, values, rtol=1e-8, atol=1e-8)
    assert found.estimate == pytest.approx(np.average(values, weights=weight), rel=1e-8)


@pytest.mark.parametrize("target", [LABELS, THREE], ids=["two", "three"])
def test_least_squares_machines_equal_refits(target) -> None:
    estimator = LeastSquaresSVC(K, alpha=0.5)
    found = expected_loss(estimator, X, target)
    assert found.method == "closed_form" and found.loss == "zero_one"
    assert np.array_equal(found.values, brute(estimator, X, target) != target)
    values = brute(estimator, X, target, answer="decision_function")
    if target is LABELS:
        hinge = expected_loss(estimator, X, target, loss=Logistic())
        signs = np.where(target == "up", 1.0, -1.0)
        assert np.allclose(hinge.values, np.log1p(np.exp(-signs * values)), atol=1e-8)


@pytest.mark.parametrize("free", [None, 1])
def test_interpolation_equals_refits(free) -> None:
    estimator = KernelInterpolator(Gaussian(0.4), free=free)
    found = expected_loss(estimator, X, y, loss="absolute")
    assert found.method == "closed_form"
    assert np.allclose(found.values, np.abs(y - brute(estimator, X, y)), atol=1e-8)


def test_the_smoothing_spline_equals_refits() -> None:
    x = np.sort(rng.uniform(size=30))
    x[4] = x[5]  # equal samples are merged in the fit, and left out one by one
    target = np.sin(6 * x) + 0.2 * rng.normal(size=30)
    model = SmoothingSpline(alpha=1e-3)
    found = expected_loss(model, x, target)
    assert np.allclose(found.values, (target - brute(model, x, target)) ** 2, atol=1e-8)
    chosen = expected_loss(SmoothingSpline(), x, target)  # alpha is chosen once, on all samples
    frozen = SmoothingSpline(alpha=SmoothingSpline().fit(x, target).alpha_)
    assert np.allclose(chosen.values, (target - brute(frozen, x, target)) ** 2, atol=1e-8)


def test_kernel_parameters_and_landmarks_are_frozen() -> None:
    estimator = KernelRidge(alpha=0.1, kernel="gaussian(lengthscale='median')")
    fixed = KernelRidge(alpha=0.1, kernel=clone(estimator).fit(X, y).kernel_)
    assert np.allclose(expected_loss(estimator, X, y).values, (y - brute(fixed, X, y)) ** 2, atol=1e-8)
    low = KernelRidge(alpha=0.1, kernel=K, gram=Nystrom(rank=9), random_state=0)
    values = []
    for i in range(N):  # weight zero keeps the draw of the landmarks
        model = clone(low).fit(X, y, np.where(np.arange(N) == i, 0.0, 1.0))
        values.append((y[i] - model.predict(X[i : i + 1])[0]) ** 2)
    assert np.allclose(expected_loss(low, X, y).values, values, atol=1e-8)


APPROXIMATE = [
    (KernelMachine("logistic", kernel=K, alpha=0.3, free=0), LABELS, "newton"),
    (KernelMachine("multinomial", kernel=K, alpha=0.3, free=0), THREE, "newton"),
    (KernelMachine("poisson", kernel=K, alpha=0.5, free=0), COUNTS, "newton"),
    (KernelMachine(Huber(0.3), kernel=K, alpha=0.2, free=1), y, "newton"),
    (KernelMachine(Expectile(0.8), kernel=K, alpha=0.2), y, "newton"),
    (KernelMachine("squared_hinge", kernel=K, alpha=0.3, free=0), LABELS, "newton"),
    (SVC(kernel=K, C=2.0, loss="squared_hinge", tol=1e-6), LABELS, "newton"),
    (KernelMachine("hinge", kernel=K, alpha=0.3, free=0), LABELS, "active_set"),
    (KernelMachine(Pinball(0.7), kernel=K, alpha=0.3, free=0), y, "active_set"),
    (KernelMachine(EpsilonInsensitive(0.1), kernel=K, alpha=0.3), y, "active_set"),
    (SVC(kernel=K, C=2.0, tol=1e-6), LABELS, "active_set"),
    (SVR(kernel=K, C=2.0, tol=1e-6), y, "active_set"),
]


@pytest.mark.parametrize(("estimator", "target", "method"), APPROXIMATE)
def test_approximations_stay_within_what_they_report(estimator, target, method) -> None:
    machine = isinstance(estimator, SVC) or getattr(estimator, "loss", None) in ("hinge", "squared_hinge")
    loss = as_loss(estimator.loss) if machine else "absolute" if target is y else None
    found = expected_loss(estimator, X, target, loss=loss)
    exact = expected_loss(estimator, X, target, "refit", loss=loss)
    assert exact.method == "refit" and exact.n_refits == N
    assert found.method == method
    if method == "active_set":
        assert np.allclose(found.values, exact.values, rtol=0, atol=1e-4)  # tol is 1e-6
        assert found.approximation_error == 0 and found.n_refits < N / 4
        found = expected_loss(estimator, X, target, "span", loss)
    assert 10 < found.n_refits <= 20  # samples without a coefficient need none
    assert abs(found.estimate - exact.estimate) <= found.approximation_error + 1e-6


def test_refits_are_refits() -> None:
    model = KernelMachine("logistic", kernel=K, alpha=0.3, free=0)
    p = brute(model, X, LABELS, answer="predict_proba")
    expected = -np.log(p[np.arange(N), (LABELS == "up").astype(int)])
    assert np.allclose(expected_loss(model, X, LABELS, "refit", "log").values, expected, atol=1e-6)
    machine = SVR(kernel=K, C=2.0, tol=1e-8)
    assert np.allclose(expected_loss(machine, X, y, "refit").values, (y - brute(machine, X, y)) ** 2, atol=1e-6)


def test_newton_is_close_where_the_loss_is_nearly_a_parabola() -> None:
    model = KernelMachine("logistic", kernel=K, alpha=3.0, free=0)
    found = expected_loss(model, X, LABELS, loss="log")
    exact = expected_loss(model, X, LABELS, "refit", "log")
    inside = expected_loss(model, X, LABELS, "aic")  # its training loss is below all of them
    assert abs(found.estimate - exact.estimate) < 0.05 * exact.estimate
    assert inside.estimate > 0 and found.approximation_error < 0.05 * exact.estimate


def test_a_loss_that_is_not_convex_is_fitted_again() -> None:
    model = KernelMachine(Hampel(0.5, 1.0, 2.0), kernel=K, alpha=0.3, free=0)
    found = expected_loss(model, X, y)
    assert found.method == "refit" and "not convex" in found.reason
    left = brute(model, X, y)
    assert np.allclose(found.values, Hampel(0.5, 1.0, 2.0).value(y, left), atol=1e-6)


def test_estimators_of_other_libraries_are_fitted_again() -> None:
    found = expected_loss(LinearRegression(), X, y, sample_weight=WEIGHT)
    left = brute(LinearRegression(), X, y, WEIGHT)
    assert found.method == "refit"
    assert found.estimate == pytest.approx(np.average((y - left) ** 2, weights=WEIGHT))
    many = expected_loss(LogisticRegression(), np.tile(X, (4, 1)), np.tile(LABELS, 4), loss="log")
    assert many.method == "kfold" and many.n_refits == 10


@pytest.mark.parametrize(
    "estimator",
    [KernelRidge(alpha=0.1, kernel=K, free=0), KernelMachine("huber", kernel=K, alpha=0.1, free=0), LinearRegression()],
)
def test_folds_equal_cross_validation(estimator) -> None:
    splitter = KFold(4, shuffle=True, random_state=1)
    found = expected_loss(estimator, X, y, "kfold", "squared", cv=splitter)
    assert np.allclose(found.values, (y - cross_val_predict(estimator, X, y, cv=splitter)) ** 2, atol=1e-7)


def test_folds_of_classifiers_are_stratified() -> None:
    estimator = SVC(kernel=K, C=2.0)
    found = expected_loss(estimator, X, THREE, "kfold", cv=3, random_state=2)
    splitter = StratifiedKFold(3, shuffle=True, random_state=2)
    assert np.array_equal(found.values, cross_val_predict(estimator, X, THREE, cv=splitter) != THREE)
    assert expected_loss(estimator, X, THREE).method == "refit"  # pairs of classes have no common span


def hat(alpha, weight):
    G = K(X)
    H = np.ones((N, 1))
    S = np.linalg.inv(G + alpha * np.diag(1 / weight))
    P = S - S @ H @ np.linalg.solve(H.T @ S @ H, H.T @ S)
    return np.eye(N) - alpha * P / weight[:, None]


def test_criteria_of_squares() -> None:
    A = hat(0.4, WEIGHT)
    df, residual = np.trace(A), y - A @ y
    for model in (KernelRidge(alpha=0.4, kernel=K, free=0), KernelMachine("squared", kernel=K, alpha=0.4, free=0)):
        gcv = expected_loss(model, X, y, "gcv", sample_weight=WEIGHT)
        assert gcv.estimate == pytest.approx(np.average(residual**2, weights=WEIGHT) / (1 - df / N) ** 2)
        aic = expected_loss(model, X, y, "aic", sample_weight=WEIGHT)
        variance = np.sum(WEIGHT * residual**2) / N
        likelihood = stats.norm(A @ y, np.sqrt(variance / WEIGHT)).logpdf(y).sum()
        assert aic.estimate == pytest.approx((df + 1 - likelihood) / N)  # σ² is a parameter, too
    spline = ThinPlateSpline(alpha=0.1)
    assert expected_loss(spline, X, y, "gcv").estimate == pytest.approx(clone(spline).fit(X, y).criteria_["gcv"])


def test_criteria_of_likelihoods() -> None:
    model = KernelMachine("logistic", kernel=K, alpha=0.3, free=0, tol=1e-12)
    problem, _ = clone(model)._problem(X, LABELS, None)
    f = clone(model).fit(X, LABELS).decision_function(X)
    influence = Influence(problem, f)
    loss = np.log1p(np.exp(-problem.y * f))
    aic = expected_loss(model, X, LABELS, "aic")
    assert aic.estimate == pytest.approx((loss.sum() + influence.degrees_of_freedom) / N, rel=1e-6)
    gic = expected_loss(model, X, LABELS, "gic")
    assert gic.estimate == pytest.approx((loss.sum() + influence.bias()) / N, rel=1e-6)
    ones, p = (problem.y + 1) / 2, 1 / (1 + np.exp(-f))
    correction = influence.diagonal.sum() / N * np.sum(ones * (ones - p)) / (N - influence.degrees_of_freedom)
    drawn = [expected_loss(model, X, LABELS, "gacv", random_state=s).estimate for s in range(12)]
    assert abs(np.mean(drawn) - (loss.mean() + correction)) < 4 * np.std(drawn, ddof=1) / np.sqrt(12)


def test_losses() -> None:
    model = KernelRidge(alpha=0.1, kernel=K)
    left = brute(model, X, y)
    assert np.allclose(expected_loss(model, X, y, loss="absolute").values, np.abs(y - left), atol=1e-8)
    assert np.allclose(expected_loss(model, X, y, loss=Huber(0.2)).values, Huber(0.2).value(y, left), atol=1e-8)
    cubic = expected_loss(model, X, y, loss=lambda t, f: np.abs(t - f) ** 3)
    assert np.allclose(cubic.values, np.abs(y - left) ** 3, atol=1e-8)
    assert "± " in str(cubic) and "closed_form" in str(cubic)


def test_the_own_loss_of_quantiles_is_that_of_their_levels() -> None:
    one = KernelQuantileRegression(K, quantiles=0.8, alpha=0.3)
    found = expected_loss(one, X, y)
    assert found.method == "active_set"
    assert np.allclose(found.values, Pinball(0.8).value(y, brute(one, X, y)), atol=1e-5)
    two = KernelQuantileRegression(K, quantiles=[0.2, 0.8], alpha=0.3)
    found = expected_loss(two, X, y)
    left = brute(two, X, y)
    values = (Pinball(0.2).value(y, left[:, 0]) + Pinball(0.8).value(y, left[:, 1])) / 2
    assert found.method == "refit" and np.allclose(found.values, values, atol=1e-5)


def test_descendants_are_their_machines() -> None:
    mine = expected_loss(KernelLogisticRegression(K, alpha=0.3, class_weight="balanced"), X, LABELS, loss="log")
    counts = {label: N / (2 * np.sum(label == LABELS)) for label in np.unique(LABELS)}
    machine = KernelMachine("logistic", kernel=K, alpha=0.3, free=0, class_weight=counts)
    assert np.allclose(mine.values, expected_loss(machine, X, LABELS, loss="log").values, atol=1e-6)
    robust = RobustKernelRegression(kernel=K, alpha=0.3)
    scale = clone(robust).fit(X, y).loss_  # found once, on all samples
    machine = KernelMachine(scale, kernel=K, alpha=0.3, free=robust.free)
    assert np.allclose(expected_loss(robust, X, y).values, expected_loss(machine, X, y).values, atol=1e-6)
    chosen = KernelRidgeCV(kernel=K, alphas=[0.1, 1.0])
    fixed = KernelRidge(alpha=clone(chosen).fit(X, y).alpha_, kernel=K, fit_intercept=chosen.fit_intercept)
    assert np.allclose(expected_loss(chosen, X, y).values, (y - brute(fixed, X, y)) ** 2, atol=1e-8)


def test_the_standard_error_is_that_of_a_mean() -> None:
    found = expected_loss(KernelRidge(alpha=0.1, kernel=K), X, y)
    assert found.standard_error == pytest.approx(found.values.std(ddof=1) / np.sqrt(N))


def test_samples_of_weight_zero_count_for_nothing() -> None:
    weight = np.where(np.arange(N) < 5, 0.0, 1.0)
    for model in (KernelRidge(alpha=0.1, kernel=K, free=0), KernelMachine("huber", kernel=K, alpha=0.1, free=0)):
        with_them = expected_loss(model, X, y, loss="squared", sample_weight=weight)
        without = expected_loss(model, X[5:], y[5:], loss="squared")
        assert with_them.estimate == pytest.approx(without.estimate, abs=1e-7)
        assert with_them.standard_error == pytest.approx(without.standard_error, abs=1e-7)


def test_refusals() -> None:
    def spike(Z):
        return (np.abs(Z - X[3]).sum(axis=1) == 0).astype(float)

    with pytest.raises(ValueError, match="leverage hᵢᵢ is 1"):
        expected_loss(KernelRidge(alpha=0.1, kernel=K, free=[spike]), X, y)
    with pytest.raises(ValueError, match="use alpha > 0"):
        expected_loss(KernelRidge(alpha=0.0, kernel="linear"), X, y)
    with pytest.raises(ValueError, match="does not suit KernelRidge; use 'closed_form'"):
        expected_loss(KernelRidge(), X, y, "newton")
    with pytest.raises(ValueError, match="does not apply to KernelRidge"):
        expected_loss(KernelRidge(), X, y, loss="zero_one")
    with pytest.raises(ValueError, match="needs probabilities"):
        expected_loss(SVC(), X, LABELS, loss="log")
    with pytest.raises(ValueError, match="needs predict_proba"):
        expected_loss(SVC(), X, LABELS, "kfold", "log")
    with pytest.raises(ValueError, match="the fit interpolates the samples"):
        expected_loss(KernelInterpolator(Gaussian(0.4)), X, y, "gcv")
    with pytest.raises(ValueError, match="estimates loss = 'squared'"):
        expected_loss(KernelRidge(), X, y, "gcv", "absolute")
    with pytest.raises(ValueError, match="its loss is not a log-likelihood"):
        expected_loss(KernelMachine("huber"), X, y, "gic")
    with pytest.raises(ValueError, match="method = 'loo' is unknown"):
        expected_loss(KernelRidge(), X, y, "loo")
    with pytest.raises(ValueError, match="couples samples"):
        expected_loss(KernelRidge(), X, y, loss=as_loss("cox"))
    with pytest.raises(ValueError, match="do not apply to method = 'closed_form'"):
        expected_loss(KernelRidge(), X, y, "closed_form", cv=3)
    with pytest.raises(ValueError, match="X has one sample"):
        expected_loss(KernelRidge(), X[:1], y[:1])
    with pytest.raises(ValueError, match="needs targets and predictions of the same shape"):
        expected_loss(KernelMachine("poisson", kernel=K), X, np.column_stack([COUNTS, np.ones(N)]), loss="squared")


@pytest.mark.parametrize("method", ["active_set", "span"])
def test_a_sample_that_determines_a_free_function_is_refused_on_kinks(method) -> None:
    def spike(Z):
        return (np.abs(Z - X[3]).sum(axis=1) == 0).astype(float)

    with pytest.raises(ValueError, match=r"sample 3 .* leverage hᵢᵢ is 1"):
        expected_loss(KernelMachine("absolute", kernel=K, free=[spike]), X, y, method)


def test_an_estimator_announces_its_closed_form() -> None:
    class Mean(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.y_ = y
            return self

        def predict(self, X):
            return np.full(len(X), self.y_.mean())

        def leave_one_out(self):
            return (self.y_.sum() - self.y_) / (len(self.y_) - 1)

    found = expected_loss(Mean(), X, y)
    assert found.method == "closed_form" and found.n_refits == 0
    exact = expected_loss(Mean(), X, y, "refit")
    assert exact.n_refits == N and np.allclose(found.values, exact.values, atol=1e-12)


def test_asked_for_refits_are_fits() -> None:
    estimator = KernelRidge(alpha=0.1, kernel=K)
    with patch.object(KernelRidge, "fit", autospec=True, side_effect=KernelRidge.fit) as fit:
        closed = expected_loss(estimator, X, y)
        assert fit.call_count == 1
        folds = expected_loss(estimator, X, y, "kfold")  # from the same decomposition
        assert fit.call_count == 2 and folds.n_refits == 0
        exact = expected_loss(estimator, X, y, "refit")
        assert fit.call_count == 3 + N and exact.n_refits == N
    assert np.allclose(closed.values, exact.values, atol=1e-10)


@pytest.mark.parametrize(
    ("chosen", "target"),
    [
        (KernelRidgeCV(kernel=K, alphas=np.logspace(-3, 2, 12), alpha_per_target=True), Y),
        (KernelRidgeClassifierCV(kernel=K, alphas=np.logspace(-3, 2, 12)), THREE),
    ],
    ids=["regression", "labels"],
)
def test_refits_do_not_choose_again(chosen, target) -> None:
    found, exact = expected_loss(chosen, X, target), expected_loss(chosen, X, target, "refit")
    assert np.allclose(found.values, exact.values, atol=1e-9)


@pytest.mark.parametrize("alpha", [1e-12, 1e-15])
def test_the_closed_form_keeps_its_digits_where_leverages_are_nearly_one(alpha) -> None:
    estimator = ThinPlateSpline(alpha=alpha)
    found = expected_loss(estimator, X, y)
    assert np.allclose(found.values, (y - brute(estimator, X, y)) ** 2, rtol=1e-8, atol=1e-10)


def test_interpolation_of_equal_samples_is_fitted_again() -> None:
    Z, target = np.repeat(X[:15], 2, axis=0), np.repeat(y[:15], 2)
    found = expected_loss(KernelInterpolator(Gaussian(0.4)), Z, target)
    assert found.method == "refit" and np.allclose(found.values, 0, atol=1e-10)  # the twin knows the value


def test_groups_are_left_out_together() -> None:
    groups = np.arange(N) // 4
    for estimator, target in ((KernelRidge(alpha=0.1, kernel=K), y), (SVC(kernel=K), LABELS)):
        found = expected_loss(estimator, X, target, groups=groups, cv=LeaveOneGroupOut())
        left = cross_val_predict(estimator, X, target, groups=groups, cv=LeaveOneGroupOut())
        assert found.method == "kfold"
        assert np.allclose(found.values, left != target if target is LABELS else (y - left) ** 2, atol=1e-9)
    few = expected_loss(LinearRegression(), X, y, groups=np.arange(N) // 12)
    assert few.n_refits == 3  # as many folds as groups


def test_pipelines_pass_weights_to_their_last_step() -> None:
    model = make_pipeline(StandardScaler(), Ridge(0.1))
    found = expected_loss(model, X, y, sample_weight=WEIGHT)
    left = []
    for i in range(N):
        kept = np.arange(N) != i
        left.append(clone(model).fit(X[kept], y[kept], ridge__sample_weight=WEIGHT[kept]).predict(X[i : i + 1])[0])
    assert found.estimate == pytest.approx(np.average((y - left) ** 2, weights=WEIGHT))


def test_a_class_that_folds_may_miss() -> None:
    rare = np.where(np.arange(N) == 7, "odd", LABELS)
    for estimator in (LogisticRegression(), KernelLogisticRegression(K, alpha=0.3)):
        with pytest.raises(ValueError, match="class 'odd' has no samples left in one of the fits"):
            expected_loss(estimator, X, rare, "refit", "log")
        assert expected_loss(estimator, X, rare, "refit").values[7] == 1
    with pytest.raises(ValueError, match="without sample 7 only one class is left, 'many'"):
        expected_loss(KernelLogisticRegression(K), X, np.where(np.arange(N) == 7, "one", "many"))


def test_a_column_of_targets_is_a_vector() -> None:
    for estimator in (SVR(kernel=K), LinearRegression(), KernelRidge(alpha=0.1, kernel=K)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataConversionWarning)
            column = expected_loss(estimator, X, y[:, None])
        assert column.estimate == pytest.approx(expected_loss(estimator, X, y).estimate, rel=1e-9)


@pytest.mark.parametrize("method", ["aic", "gic", "gacv"])
def test_criteria_do_not_count_samples_of_weight_zero(method) -> None:
    weight = np.where(np.arange(N) < 5, 0.0, 1.0)
    model = KernelMachine("logistic", kernel=K, alpha=0.3, free=0, tol=1e-12)
    seeds = range(30 if method == "gacv" else 1)
    with_them, without = (
        [expected_loss(model, Z, t, method, sample_weight=w, random_state=s).estimate for s in seeds]
        for Z, t, w in ((X, LABELS, weight), (X[5:], LABELS[5:], None))
    )
    error = 4 * np.hypot(np.std(with_them), np.std(without)) / np.sqrt(len(seeds))
    assert np.mean(with_them) == pytest.approx(np.mean(without), abs=1e-8 + error)


def test_the_scale_of_weights_has_no_meaning_for_squares() -> None:
    for method in ("gcv", "aic", "closed_form"):
        one = expected_loss(KernelRidge(alpha=0.4, kernel=K), X, y, method, sample_weight=WEIGHT)
        two = expected_loss(KernelRidge(alpha=4.0, kernel=K), X, y, method, sample_weight=10 * WEIGHT)
        assert one.estimate == pytest.approx(two.estimate, rel=1e-9)


def test_the_newton_step_of_several_values_is_counted_in_the_rank() -> None:
    Z = np.tile(X, (40, 1)) + 0.01 * np.random.default_rng(1).normal(size=(40 * N, 2))
    estimator = KernelLogisticRegression(K, gram=Nystrom(9), random_state=0)
    low = expected_loss(estimator, Z, np.tile(THREE, 40), loss="log")
    assert low.method == "newton" and low.n_refits == 20


@pytest.mark.long
@pytest.mark.parametrize("free", [0, 1])
def test_samples_that_a_newton_step_does_not_tell_are_fitted_again(free) -> None:
    model = KernelMachine(Huber(1e-3), kernel=K, alpha=10.0, free=free)  # straight at nearly all samples
    found, exact = expected_loss(model, X, y), expected_loss(model, X, y, "refit")
    assert abs(found.estimate - exact.estimate) <= found.approximation_error + 1e-9
    if found.method == "refit":
        assert "has no curvature at so many samples" in found.reason
        with pytest.raises(ValueError, match="use 'refit' or 'kfold'"):
            expected_loss(model, X, y, "newton")


def test_single_precision() -> None:
    for model in (KernelMachine("huber", kernel=K, free=0), KernelRidge(alpha=0.1, kernel=K), SVR(kernel=K)):
        single = expected_loss(model, X.astype(np.float32), y)
        assert single.estimate == pytest.approx(expected_loss(model, X, y).estimate, rel=1e-3)


def test_a_span_without_samples_on_kinks_gives_way_to_folds() -> None:
    Z = np.random.default_rng(2).normal(size=(1100, 2))
    found = expected_loss(SVC(kernel=K, C=1e-6), Z, np.arange(1100) % 2)  # all coefficients at their bounds
    assert found.method == "kfold" and found.n_refits == 10 and "the formula fails" in found.reason


def test_equal_samples_on_kinks() -> None:
    draw = np.random.default_rng(6)
    Z = np.round(draw.normal(size=(26, 2)))
    labels = np.where(np.sin(2 * Z[:, 0]) + Z[:, 1] + 0.3 * draw.normal(size=26) > 0.2, "up", "down")
    signs = np.where(labels == "up", 1.0, -1.0)
    for estimator in (KernelMachine("hinge", kernel=K, alpha=0.3, free=1), SVC(kernel=K, tol=1e-8)):
        found = expected_loss(estimator, Z, labels, loss=Hinge())
        left = brute(estimator, Z, labels, answer="decision_function")
        assert np.allclose(found.values, np.maximum(0, 1 - signs * left), atol=1e-3)


def test_cross_validated_partial_likelihood() -> None:
    """What the samples of a fold add to the partial likelihood of the others, written out."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    time, event = np.ceil(10 * rng.exponential(np.exp(-X[:, 0]))), rng.random(30) < 0.7

    def likelihood(rows, f):
        terms = [np.log(np.exp(f[rows][time[rows] >= time[i]]).sum()) - f[i] for i in rows if event[i]]
        return sum(terms)

    y, total = np.column_stack([time, event]), 0.0
    machine = KernelMachine("cox", kernel=Gaussian(), alpha=0.5, tol=1e-10)
    folds = KFold(5)
    for train, _ in folds.split(X):
        f = np.log(clone(machine).fit(X[train], y[train]).predict(X))
        total += likelihood(np.arange(30), f) - likelihood(train, f)
    found = expected_loss(machine, X, y, cv=folds)
    assert found.method == "kfold" and found.loss == "cox" and found.n_refits == 5
    assert found.estimate == pytest.approx(total / 30, rel=1e-8)
    with pytest.raises(ValueError, match="use 'refit'"):
        expected_loss(machine, X, y, "newton")
