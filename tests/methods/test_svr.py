"""SVR, NuSVR and OneClassSVM against LIBSVM: scikit-learn's and e1071's numbers, and the optimality conditions."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import kstest
from sklearn import svm
from sklearn.base import clone

from mercer import SVR, KernelRidge, MultipleKernel, NuSVR, OneClassSVM
from mercer.gram import Nystrom, RandomFeatures
from mercer.kernels import Gaussian, Power
from mercer.methods._calibration import folds

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
WEIGHT = rng.uniform(0.1, 2, 120)
EXACT = 1e-8
TIGHT = {"ftol": 0.0, "gtol": 1e-10, "maxiter": 50_000, "maxfun": 50_000}


@pytest.mark.parametrize(
    "weight", [None, WEIGHT, np.where(WEIGHT < 0.5, 0, WEIGHT)], ids=["equal", "weighted", "zeros"]
)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("SVR", {}),
        ("SVR", {"C": 10.0, "epsilon": 0.01}),
        ("SVR", {"kernel": "linear", "epsilon": 0.0}),
        ("SVR", {"kernel": "poly", "degree": 2, "coef0": 1.0}),
        ("NuSVR", {}),
        ("NuSVR", {"nu": 0.2, "C": 5.0}),
        ("OneClassSVM", {}),
        ("OneClassSVM", {"nu": 0.1}),
    ],
    ids=str,
)
def test_equals_scikit_learn(name, settings, weight) -> None:
    ours = {"SVR": SVR, "NuSVR": NuSVR, "OneClassSVM": OneClassSVM}[name](tol=EXACT, **settings)
    theirs = getattr(svm, name)(tol=EXACT, **settings)
    data = (X,) if name == "OneClassSVM" else (X, y)
    ours.fit(*data, sample_weight=weight)
    theirs.fit(*data, sample_weight=weight)
    values = "decision_function" if name == "OneClassSVM" else "predict"
    assert np.allclose(getattr(ours, values)(X), getattr(theirs, values)(X), rtol=0, atol=2e-5)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=2e-5)
    if weight is None or (weight > 0).all():  # scikit-learn counts among the samples that have weight
        assert np.array_equal(ours.support_, theirs.support_)
        assert ours.dual_coef_.shape == theirs.dual_coef_.shape
    if name == "OneClassSVM":
        assert np.allclose(ours.score_samples(X), theirs.score_samples(X), atol=2e-5)
        assert np.allclose(ours.offset_, theirs.offset_, atol=2e-5)


def test_signatures_and_defaults_equal_scikit_learn() -> None:
    for ours, theirs in [(SVR(), svm.SVR()), (NuSVR(), svm.NuSVR()), (OneClassSVM(), svm.OneClassSVM())]:
        expected = {k: v for k, v in theirs.get_params().items() if k != "cache_size"}  # which changes no result
        assert {k: ours.get_params()[k] for k in expected} == expected


@pytest.mark.parametrize(
    "name",
    [
        "libsvm_epsreg_radial_sine",
        "libsvm_epsreg_poly_cars",
        "libsvm_nureg_radial_sine",
        "libsvm_oneclass_radial_ripley",
        "libsvm_oneclass_linear_iris",
    ],
)
def test_values_of_e1071(oracle, name) -> None:
    data = oracle(name)
    given, found = data["parameters"], data["outputs"]
    names = {"radial": "rbf", "polynomial": "poly", "linear": "linear"}
    settings = {"kernel": names[given["kernel"]], "gamma": given.get("gamma", "scale"), "tol": 1e-9}
    settings |= {k: given[k] for k in ("degree", "coef0", "epsilon", "nu") if k in given}
    if "one" in given["type"]:
        model, values, key = OneClassSVM(**settings), "decision_function", "decision_new"
    elif "nu" in given["type"]:
        model, values, key = NuSVR(C=given["cost"], **settings), "predict", "predict_new"
    else:
        model, values, key = SVR(C=given["cost"], **settings), "predict", "predict_new"
    model.fit(np.asarray(data["inputs"]["X"], dtype=float), None if "one" in given["type"] else data["inputs"]["y"])
    expected = np.ravel(np.asarray(found[key], dtype=float))
    new = np.asarray(data["inputs"]["Xnew"], dtype=float)
    assert np.allclose(getattr(model, values)(new), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_optimality_of_regression(fit_intercept) -> None:
    model = SVR(C=2.0, epsilon=0.1, kernel=Gaussian(1.0), fit_intercept=fit_intercept, tol=EXACT).fit(X, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    rest = y - model.predict(X)
    free = (np.abs(beta) > 1e-9) & (np.abs(beta) < 2.0 - 1e-9)
    assert np.allclose(rest[free], 0.1 * np.sign(beta[free]), atol=1e-6)
    assert np.all(np.abs(rest[beta == 0]) <= 0.1 + 1e-6)
    outside = np.abs(beta) >= 2.0 - 1e-9
    assert np.all(rest[outside] * np.sign(beta[outside]) >= 0.1 - 1e-6)
    assert not fit_intercept or abs(beta.sum()) < 1e-8


def test_the_meaning_of_nu() -> None:
    model = OneClassSVM(nu=0.2, tol=EXACT).fit(X)
    outside = np.mean(model.decision_function(X) < -1e-7)
    assert outside <= 0.2 <= len(model.support_) / len(X)
    regression = NuSVR(nu=0.3, C=10.0, tol=EXACT).fit(X, y)
    beyond = np.mean(np.abs(y - regression.predict(X)) > regression.epsilon_ + 1e-6)
    assert beyond <= 0.3 <= len(regression.support_) / len(X)


# ---- the squared loss


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_loss_without_a_tube_is_kernel_ridge(fit_intercept, weight) -> None:
    kernel, C = Gaussian(1.0), 2.0
    model = SVR(
        loss="squared_epsilon_insensitive", epsilon=0.0, C=C, kernel=kernel, fit_intercept=fit_intercept, tol=EXACT
    ).fit(X, y, weight)
    ridge = KernelRidge(1 / (2 * C), kernel=kernel, fit_intercept=fit_intercept).fit(X, y, weight)
    assert np.allclose(model.predict(X), ridge.predict(X), atol=1e-6)
    # by hand: (K + R)β + b = y, Σβ = 0
    border = float(fit_intercept) * np.ones((120, 1))
    R = np.diag(1 / (2 * C * (np.ones(120) if weight is None else weight)))
    system = np.block([[kernel(X) + R, border], [border.T, np.array([[1.0 - fit_intercept]])]])
    solution = np.linalg.solve(system, np.r_[y, 0.0])
    assert np.allclose(model.predict(X), kernel(X) @ solution[:-1] + solution[-1], atol=1e-6)
    assert np.allclose(model.dual_coef_[0], solution[:-1][model.support_], atol=1e-6)


@pytest.mark.parametrize("epsilon", [0.05, 0.3])
@pytest.mark.parametrize("weight", [np.ones(60), WEIGHT[:60]], ids=["equal", "weighted"])
def test_squared_loss_is_the_least_of_the_primal(weight, epsilon) -> None:
    kernel, C, A, target = Gaussian(1.0), 3.0, X[:60], y[:60]
    L = np.linalg.cholesky(kernel(A) + 1e-10 * np.eye(60))

    def primal(v):
        rest = target - L @ v[:-1] - v[-1]
        beyond = np.maximum(np.abs(rest) - epsilon, 0.0)
        slope = -2 * C * weight * beyond * np.sign(rest)
        return 0.5 * v[:-1] @ v[:-1] + C * weight @ beyond**2, np.r_[v[:-1] + L.T @ slope, slope.sum()]

    least = minimize(primal, np.zeros(61), jac=True, method="L-BFGS-B", options=TIGHT)
    model = SVR(loss="squared_epsilon_insensitive", C=C, epsilon=epsilon, kernel=kernel, tol=EXACT)
    model.fit(A, target, weight)
    assert -model.solutions_[0].objective == pytest.approx(least.fun, rel=1e-7)
    assert np.allclose(model.predict(A), L @ least.x[:-1] + least.x[-1], atol=1e-5)
    inside = np.abs(target - model.predict(A)) < epsilon - 1e-6
    assert not np.isin(np.flatnonzero(inside), model.support_).any() and inside.any()


def test_a_wide_tube_leaves_a_constant() -> None:
    for data in (X, X.astype(np.float32)):
        model = SVR(epsilon=100.0).fit(data, y)
        assert len(model.support_) == 0 and model.dual_coef_.shape == (1, 0)
        assert np.allclose(model.predict(data), model.intercept_) and model.function_.norm() == 0.0
    assert np.array_equal(SVR(epsilon=100.0, kernel="linear").fit(X, y).coef_, np.zeros((1, 3)))


def test_losses_that_are_unknown() -> None:
    with pytest.raises(ValueError, match="loss = 'huber' is unknown"):
        SVR(loss="huber").fit(X, y)


# ---- the one-class machine in its two forms


@pytest.mark.parametrize("weight", [np.ones(60), WEIGHT[:60]], ids=["equal", "weighted"])
@pytest.mark.parametrize("C", [0.05, 0.5, 20.0])
def test_hinge_form_equals_a_general_method(C, weight) -> None:
    K = Gaussian(1.0)(X[:60])
    result = minimize(
        lambda a: (0.5 * a @ K @ a - a.sum(), K @ a - 1),
        np.zeros(60),
        jac=True,
        bounds=[(0, C * w) for w in weight],
        method="L-BFGS-B",
        options=TIGHT,
    )
    model = OneClassSVM(kernel=Gaussian(1.0), C=C, delta=0.8, tol=EXACT).fit(X[:60], sample_weight=weight)
    assert model.solutions_[0].objective == pytest.approx(result.fun, rel=1e-9)
    assert np.allclose(model.score_samples(X), Gaussian(1.0)(X, X[:60]) @ result.x, atol=1e-5)
    assert np.allclose(model.decision_function(X), model.score_samples(X) - 0.8)
    assert np.array_equal(model.predict(X), np.where(model.score_samples(X) >= 0.8, 1, -1))
    assert model.offset_ == 0.8 and model.C_ == C


@pytest.mark.parametrize("weight", [np.ones(120), WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("nu", [0.1, 0.35, 0.8])
def test_the_two_forms_are_one_machine(nu, weight) -> None:
    settings = {"kernel": Gaussian(1.0), "tol": EXACT}
    form = OneClassSVM(nu=nu, **settings).fit(X, sample_weight=weight)
    hinge = OneClassSVM(C=form.C_, **settings).fit(X, sample_weight=weight)
    rho = form.offset_[0]
    assert np.allclose(hinge.decision_function(X), form.decision_function(X) / rho, atol=1e-6)
    assert hinge.nu_ == pytest.approx(nu, rel=1e-6) and form.nu_ == nu
    back = OneClassSVM(nu=hinge.nu_, **settings).fit(X, sample_weight=weight)
    assert np.isclose(back.C_, form.C_, rtol=1e-5, atol=0)
    assert np.allclose(back.decision_function(X), form.decision_function(X), atol=1e-5 * rho)


def test_without_a_positive_threshold_there_is_no_hinge_form() -> None:
    model = OneClassSVM(kernel="linear", nu=0.9).fit(np.array([[1.0], [-1.0], [0.5], [-0.5]]))
    assert model.offset_[0] <= 1e-9 and (np.isnan(model.C_) or model.C_ > 1e9)


@pytest.mark.parametrize("settings", [{"nu": 0.2}, {"C": 0.2}], ids=str)
def test_p_values_of_the_same_distribution_are_uniform(settings) -> None:
    rng = np.random.default_rng(3)
    model = OneClassSVM(calibration="cv", gamma=0.5, **settings).fit(rng.normal(size=(1000, 2)))
    p = model.p_values(rng.normal(size=(2000, 2)))
    assert np.all((p > 0) & (p <= 1))
    # the scores of folds are of 800 samples: three standard deviations of both samples, and a little for that
    assert kstest(p, "uniform").statistic < 3 * 0.5 * np.sqrt(1 / 1000 + 1 / 2000) + 0.015
    for level in (0.01, 0.05, 0.2):
        deviation = np.sqrt(level * (1 - level) * (1 / 1000 + 1 / 2000))
        assert np.mean(p <= level) == pytest.approx(level, abs=3 * deviation + 0.005)
    far = model.p_values(np.array([[9.0, 9.0]]))
    assert far[0] <= 5 / 1001


@pytest.mark.parametrize("settings", [{"nu": 0.3}, {"C": 0.2}], ids=str)
def test_held_out_scores_are_those_of_machines_without_the_fold(settings) -> None:
    model = OneClassSVM(calibration="cv", kernel=Gaussian(1.0), tol=EXACT, **settings).fit(X)
    fold = folds([np.arange(120)], 120, np.random.default_rng(0))
    scores = np.empty(120)
    for k in range(5):
        weight = np.full(96, 120 / 96)  # as much in all as the whole sample
        part = OneClassSVM(kernel=Gaussian(1.0), tol=EXACT, **settings).fit(X[fold != k], sample_weight=weight)
        scores[fold == k] = part.decision_function(X[fold == k]) / part.dual_coef_.sum()
    assert np.allclose(model._held_out, np.sort(scores), atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 1.0, "nu": 0.2}, "nu = 0.2 and C = 1.0 are mutually exclusive; pass only one"),
        ({"delta": 0.9}, "delta = 0.9 applies to the hinge form only; pass C too"),
        ({"C": -1.0}, "C = -1.0 must be > 0"),
        ({"calibration": "platt"}, "calibration = 'platt' is unknown; choose one of None, 'cv'"),
        ({"C": 1.0, "kernel": Power(1.0)}, r"CPD\(1\); omit C, to use the ν form"),
    ],
    ids=str,
)
def test_bad_parameters_of_the_one_class_machine(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        OneClassSVM(**settings).fit(X)


def test_p_values_need_calibration_and_two_samples() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'p_values'"):
        OneClassSVM().fit(X).p_values(X)
    with pytest.raises(ValueError, match="needs at least two samples, but there is one"):
        OneClassSVM(calibration="cv").fit(X[:1])
    assert OneClassSVM(calibration="cv").fit(X[:2]).p_values(X[:2]).shape == (2,)


# ---- kernel values of any size

SMALL_X = np.random.default_rng(0).normal(size=(60, 3))
BOUNDED = {"max_iter": 20_000}  # such problems are not solved by steps of two variables; they must end


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "scale"),
    [
        (SVR(kernel="polynomial(degree=50)", **BOUNDED), 1.0),
        (SVR(kernel="poly", degree=20, gamma=1, coef0=1, **BOUNDED), 100.0),
        (SVR(kernel="linear", tol=1e-7, **BOUNDED), 1e150),
        (SVR(kernel="polynomial(degree=50)", fit_intercept=False, **BOUNDED), 1.0),
        (NuSVR(kernel="polynomial(degree=50)", **BOUNDED), 1.0),
        (OneClassSVM(kernel="polynomial(degree=50)", **BOUNDED), 1.0),
    ],
    ids=str,
)
def test_kernel_values_beyond_1e30(model: Any, scale: float) -> None:
    A = scale * SMALL_X
    model.fit(A, SMALL_X[:, 0])
    assert model.fit_status_ == int(model.solutions_[0].gap > model.tol)
    assert np.isfinite(model.predict(A)).all() and np.isfinite(model.dual_coef_).all()


@pytest.mark.parametrize("factor", [2.0**-300, 2.0**-60, 2.0**60, 2.0**300])
def test_units_of_kernel_and_targets_give_the_same_machine(factor: float) -> None:
    # k·s² and C/s² have the same machine, and so have y, ε, tol and C times s
    y = np.sin(SMALL_X[:, 0])
    plain = SVR(kernel="linear", C=2.0).fit(SMALL_X, y)
    wide = SVR(kernel="linear", C=2.0 / factor**2).fit(factor * SMALL_X, y)
    tall = SVR(kernel="linear", C=2.0 * factor, epsilon=0.1 * factor, tol=1e-3 * factor).fit(SMALL_X, factor * y)
    assert np.array_equal(wide.predict(factor * SMALL_X), plain.predict(SMALL_X))
    assert np.array_equal(tall.predict(SMALL_X), factor * plain.predict(SMALL_X))
    assert wide.n_iter_ == tall.n_iter_ == plain.n_iter_


@pytest.mark.parametrize("model", [SVR(kernel="linear"), OneClassSVM(kernel="poly"), NuSVR(kernel="linear")], ids=str)
def test_kernel_values_that_overflow_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=f"{type(model).__name__}: .*scale the data"):
        model.fit(1e200 * SMALL_X, SMALL_X[:, 0])


@pytest.mark.parametrize("factor", [2.0**600, 2.0**-520, 2.0**-900])
def test_gamma_scale_in_any_unit(factor: float) -> None:
    """The lengthscale is a number where gamma is none; as a factor of products, gamma must be one."""
    plain, other = SVR().fit(SMALL_X, SMALL_X[:, 0]), SVR().fit(factor * SMALL_X, SMALL_X[:, 0])
    assert np.allclose(other.predict(factor * SMALL_X), plain.predict(SMALL_X), rtol=1e-6)
    with pytest.raises(ValueError, match=r"SVR: gamma = 'scale' overflows or underflows, .*scale the data"):
        SVR(kernel="sigmoid").fit(factor * SMALL_X, SMALL_X[:, 0])


def test_gamma_scale_in_single_precision() -> None:
    y = np.sin(SMALL_X[:, 0])
    plain, large = SVR().fit(SMALL_X.astype(np.float32), y), SVR().fit((SMALL_X * 2.0**100).astype(np.float32), y)
    assert np.allclose(
        large.predict((SMALL_X * 2.0**100).astype(np.float32)), plain.predict(SMALL_X.astype(np.float32)), atol=1e-5
    )


@pytest.mark.parametrize(
    ("model", "scale", "words"),
    [
        (SVR(kernel="poly"), 2.0**-520, "SVR: gamma = 'scale' overflows or underflows"),
        (NuSVR(kernel="1e-320*linear"), 1.0, r"NuSVR: the kernel .* has values up to .*e-3.*; scale"),
    ],
    ids=["variance", "kernel"],
)
def test_values_that_lose_digits_are_refused(model: Any, scale: float, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        model.fit(scale * SMALL_X, SMALL_X[:, 0])


@pytest.mark.parametrize("gram", [Nystrom(rank=10), RandomFeatures(rank=10)], ids=lambda gram: type(gram).__name__)
@pytest.mark.parametrize("model", [SVR(), NuSVR(), OneClassSVM(), MultipleKernel(SVR(), ["gaussian"])], ids=str)
def test_representations_that_draw_are_repeatable_where_there_is_no_random_state(model: Any, gram: Any) -> None:
    model = clone(model).set_params(**{"estimator__gram" if hasattr(model, "estimator") else "gram": gram})
    first, second = (clone(model).fit(SMALL_X, SMALL_X[:, 0]).predict(SMALL_X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("C", [1e3, 6e3, 1e5])
def test_nu_machines_of_large_kernel_values(C):
    """β⁺ and β⁻ of size C cancel; times kernel values of 1e15 what is left must be the function that was solved for."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3, 5)) * 5e3, rng.normal(size=3)
    model = NuSVR(kernel="polynomial(degree=2)", C=C, nu=0.45, tol=1e-6).fit(X, y)
    assert model.fit_status_ == 0
    np.testing.assert_allclose(model.predict(X), y, atol=1e-5)  # so large a C interpolates
