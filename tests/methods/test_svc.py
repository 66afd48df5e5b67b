"""SVC and NuSVC against LIBSVM: scikit-learn's, e1071's and kernlab's numbers, and the optimality conditions."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.datasets import load_iris, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning

from mercer import SVC, IndefiniteKernelWarning, NuSVC, OneClassSVM
from mercer.gram import Centered, Nystrom
from mercer.kernels import Gaussian, Laplace, Log, Polynomial, Power

X, y = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
NOISY = X + 0.5 * rng.normal(size=X.shape)
WEIGHT = rng.uniform(0.1, 2, len(X))
EXACT = 1e-9
TIGHT = {"ftol": 0.0, "gtol": 1e-10, "maxiter": 50_000, "maxfun": 50_000}


def same_machine(ours, theirs, data, rtol=1e-3) -> None:
    """Equal up to the single precision in which LIBSVM holds kernel values (the gap of ours is tested elsewhere)."""
    close = {"rtol": 0, "atol": rtol}
    assert np.array_equal(ours.predict(data), theirs.predict(data))
    assert np.array_equal(ours.support_, theirs.support_)
    assert np.array_equal(ours.n_support_, theirs.n_support_)
    assert np.array_equal(ours.support_vectors_, theirs.support_vectors_)
    scale = np.abs(theirs.dual_coef_).max()
    assert np.allclose(ours.dual_coef_ / scale, theirs.dual_coef_ / scale, **close)
    assert np.allclose(ours.intercept_, theirs.intercept_, **close)
    assert ours.decision_function(data).shape == theirs.decision_function(data).shape
    ours.decision_function_shape = theirs.decision_function_shape = "ovo"
    a, b = ours.decision_function(data), theirs.decision_function(data)
    assert np.allclose(a / np.abs(b).max(), b / np.abs(b).max(), **close)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"C": 10.0, "gamma": 0.05},
        {"gamma": "auto", "class_weight": "balanced"},
        {"kernel": "linear", "class_weight": {0: 2.0, 1: 0.5}},
        {"kernel": "poly", "degree": 2, "coef0": 1.0},
        {"decision_function_shape": "ovo"},
        {"break_ties": True},
    ],
    ids=str,
)
def test_equals_scikit_learn(settings, weight, classes) -> None:
    few = y < classes
    weight = None if weight is None else weight[few]
    ours = SVC(tol=EXACT, **settings).fit(NOISY[few], y[few], weight)
    theirs = svm.SVC(tol=EXACT, **settings).fit(NOISY[few], y[few], weight)
    same_machine(ours, theirs, NOISY)


@pytest.mark.parametrize("nu", [0.3, 0.4])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_nu_equals_scikit_learn(nu, weight) -> None:
    ours = NuSVC(nu=nu, tol=EXACT).fit(NOISY, y, weight)
    theirs = svm.NuSVC(nu=nu, tol=EXACT).fit(NOISY, y, weight)
    same_machine(ours, theirs, NOISY, rtol=5e-3)  # division by ρ magnifies LIBSVM's rounding


def test_nu_satisfies_its_optimality_conditions() -> None:
    two = y < 2
    A, b = NOISY[two], 2.0 * y[two] - 1
    model = NuSVC(nu=0.2, kernel=Gaussian(1.0), tol=EXACT).fit(A, b)
    beta = np.zeros(len(b))
    beta[model.support_] = model.dual_coef_[0]
    margin, bound = b * model.decision_function(A), np.abs(beta).max()
    free = (np.abs(beta) > 1e-9 * bound) & (np.abs(beta) < bound * (1 - 1e-9))
    assert np.allclose(margin[free], 1.0, atol=1e-5)
    assert np.all(margin[beta == 0] >= 1 - 1e-5)
    assert abs(beta.sum()) < 1e-8 * bound and np.abs(beta).sum() == pytest.approx(0.2 * len(b) * bound)


def test_signatures_and_defaults_equal_scikit_learn() -> None:
    for ours, theirs in [(SVC(), svm.SVC()), (NuSVC(), svm.NuSVC())]:
        # deprecated there, and memory for rows, which changes no result
        expected = {k: v for k, v in theirs.get_params().items() if k not in ("probability", "cache_size")}
        assert {k: ours.get_params()[k] for k in expected} == expected


@pytest.mark.parametrize(
    "name",
    [
        "libsvm_csvc_radial_ripley",
        "libsvm_csvc_poly_ripley",
        "libsvm_csvc_weights_ripley",
        "libsvm_csvc_linear_iris2",
        "libsvm_csvc_multi_iris",
        "libsvm_nusvc_radial_ripley",
    ],
)
def test_values_of_e1071(oracle, name) -> None:
    data = oracle(name)
    given, found = data["parameters"], data["outputs"]
    names = {"radial": "rbf", "polynomial": "poly", "linear": "linear"}
    settings = {"kernel": names[given["kernel"]], "tol": 1e-9, "gamma": given.get("gamma", "scale")}
    settings |= {k: given[k] for k in ("degree", "coef0") if k in given}
    labels = np.asarray(data["inputs"]["y"]).astype(int)
    if "class.weights" in given:
        settings["class_weight"] = {int(k): v for k, v in given["class.weights"].items()}
    if "nu" in given:
        model = NuSVC(nu=given["nu"], **settings)
    else:
        model = SVC(C=given["cost"], decision_function_shape="ovo", **settings)
    model.fit(np.asarray(data["inputs"]["X"], dtype=float), labels)
    values = model.decision_function(np.asarray(data["inputs"]["Xnew"], dtype=float))
    expected = np.asarray(found["decision_new"], dtype=float)
    for column, pair in enumerate(found["decision_columns"]):
        first = int(str(pair).split("/")[0])
        mine = values if values.ndim == 1 else values[:, column]
        # ours is positive for the second class of two, and for the first class of each pair of more
        sign = -1.0 if values.ndim == 1 and first == model.classes_[0] else 1.0
        assert np.allclose(sign * mine, expected[:, column], atol=2e-5)
    assert np.array_equal(np.sort(model.support_), np.sort(np.asarray(found["SV_index"])) - 1)


def test_values_of_kernlab(oracle) -> None:
    data = oracle("ksvm_csvc_rbf_ripley")
    A, labels = np.asarray(data["inputs"]["X"], dtype=float), np.asarray(data["inputs"]["y"]).astype(str)
    model = SVC(C=1.0, kernel=Gaussian.from_kernlab(data["parameters"]["sigma"]), tol=1e-9).fit(A, labels)
    assert model.solutions_[0].objective == pytest.approx(float(np.ravel(data["outputs"]["obj"])[0]), rel=1e-8)


def test_without_offset_is_kernlabs_bound_constrained_form_of_k_plus_one(oracle) -> None:
    data = oracle("ksvm_cbsvc_rbf_ripley")
    A, labels = np.asarray(data["inputs"]["X"], dtype=float), np.asarray(data["inputs"]["y"]).astype(str)
    kernel = Gaussian.from_kernlab(data["parameters"]["sigma"]) + 1
    model = SVC(C=1.0, kernel=kernel, fit_intercept=False, tol=1e-9).fit(A, labels)
    assert model.solutions_[0].objective == pytest.approx(float(np.ravel(data["outputs"]["obj"])[0]), rel=1e-6)
    new = np.asarray(data["inputs"]["Xnew"], dtype=float)
    expected = np.ravel(np.asarray(data["outputs"]["decision_new"], dtype=float))
    assert np.allclose(np.abs(model.decision_function(new)), np.abs(expected), atol=1e-4)


@pytest.mark.parametrize("C", [1.0, 100.0, 1000.0])
def test_single_precision_rows_reach_the_true_gap(C) -> None:
    A, b = make_classification(1500, 10, n_informative=8, n_redundant=0, flip_y=0.1, random_state=1)
    model = SVC(C=C, gamma=0.1).fit(A, b)
    theirs = svm.SVC(C=C, gamma=0.1).fit(A, b)
    K, sign = Gaussian.from_gamma(0.1)(A), 2.0 * b - 1
    beta, other = np.zeros(len(b)), np.zeros(len(b))
    beta[model.support_], other[theirs.support_] = model.dual_coef_[0], theirs.dual_coef_[0]

    def objective(v):
        return 0.5 * v @ K @ v - sign @ v

    f = sign - K @ beta
    low, high = np.where(sign > 0, 0, -C), np.where(sign > 0, C, 0)
    assert f[beta < high].max() - f[beta > low].min() <= 1.05e-3
    assert objective(beta) <= objective(other) + 1e-5 * abs(objective(other))
    away = np.abs(theirs.decision_function(A)) > 1e-3
    assert np.array_equal(model.predict(A)[away], theirs.predict(A)[away])


def test_a_cache_of_one_percent_gives_the_same_optimum() -> None:
    A, b = make_classification(2500, 10, n_informative=8, n_redundant=0, flip_y=0.1, random_state=2)
    whole = SVC(C=10.0, gamma=0.1).fit(A, b)
    tiny = SVC(C=10.0, gamma=0.1, cache_size=0.01 * 4 * 2500**2 / 2**20).fit(A, b)
    assert tiny.solutions_[0].objective == pytest.approx(whole.solutions_[0].objective, rel=1e-5)
    assert tiny.solutions_[0].converged


def test_a_centred_gram_is_refused() -> None:
    with pytest.raises(ValueError, match=r"gram = Centered\(.*\) is not supported, since centring"):
        SVC(gram=Centered()).fit(NOISY, y)


def test_a_negative_gamma_is_refused_by_its_own_name() -> None:
    with pytest.raises(ValueError, match=r"SVC: gamma = -1.0 must be >= 0"):
        SVC(gamma=-1.0).fit(NOISY, y)


def test_sparse_equals_dense() -> None:
    S = np.where(np.abs(NOISY) > 1.5, NOISY, 0.0)
    dense, sparse = SVC(tol=EXACT).fit(S, y), SVC(tol=EXACT).fit(csr_array(S), y)
    assert np.allclose(dense.decision_function(S), sparse.decision_function(csr_array(S)), atol=1e-6)
    linear = SVC(kernel="linear").fit(csr_array(S), y)
    theirs = svm.SVC(kernel="linear").fit(csr_array(S), y)
    assert linear.coef_.shape == theirs.coef_.shape
    for name in ("coef_", "dual_coef_", "support_vectors_"):
        assert type(getattr(linear, name)) is type(getattr(theirs, name))


def test_coef_of_the_linear_kernel() -> None:
    for few in (y < 2, y < 3):
        ours = SVC(kernel="linear", tol=EXACT).fit(NOISY[few], y[few])
        theirs = svm.SVC(kernel="linear", tol=EXACT).fit(NOISY[few], y[few])
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-3)
    with pytest.raises(AttributeError, match="linear kernel"):
        SVC().fit(X, y).coef_


def test_precomputed_touches_only_the_support() -> None:
    K = Gaussian(1.0)(NOISY)
    model = SVC(kernel="precomputed", tol=EXACT).fit(K, y)
    vectors = SVC(kernel=Gaussian(1.0), tol=EXACT).fit(NOISY, y)
    assert np.allclose(model.decision_function(K), vectors.decision_function(NOISY), atol=1e-6)
    new = np.full_like(K, 1e9)
    new[:, model.support_] = K[:, model.support_]
    assert np.array_equal(model.predict(new), model.predict(K))


def test_callable_as_in_scikit_learn() -> None:
    def linear(A, B):
        return A @ B.T

    same = SVC(kernel=linear).fit(X, y).predict(X) == svm.SVC(kernel=linear).fit(X, y).predict(X)
    assert same.all()


@pytest.mark.parametrize("kernel", [Laplace(1.0), Polynomial(2), Log(1.0), Power(1.0)], ids=str)
def test_our_kernels_and_conditional_ones_with_the_offset(kernel) -> None:
    two = y < 2
    A, b = NOISY[two], 2.0 * y[two] - 1
    model = SVC(kernel=kernel, tol=EXACT).fit(A, b)
    beta = np.zeros(len(b))
    beta[model.support_] = model.dual_coef_[0]
    f = b - kernel(A) @ beta - model.intercept_[0]  # the slack of each margin, times the label
    slack = b * f
    at_zero, at_C = beta == 0, np.isclose(np.abs(beta), 1.0)
    assert abs(beta.sum()) < 1e-9
    assert np.all(slack[at_zero] <= 1e-6) and np.all(slack[at_C] >= -1e-6)
    assert np.all(np.abs(slack[~at_zero & ~at_C]) <= 1e-6)


def test_conditional_kernels_are_refused_where_they_are_not_valid() -> None:
    with pytest.raises(ValueError, match=r"CPD\(1\); set fit_intercept=True"):
        SVC(kernel="power", fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="KernelMachine"):
        SVC(kernel="thin_plate").fit(X, y)


def test_indefinite_kernels_warn() -> None:
    with pytest.warns(IndefiniteKernelWarning):
        SVC(kernel="sigmoid", gamma=0.01).fit(X, y)


def test_low_rank_equals_exact_at_full_rank() -> None:
    exact = SVC(kernel=Gaussian(1.0), tol=EXACT).fit(NOISY, y)
    model = SVC(kernel=Gaussian(1.0), tol=EXACT, gram=Nystrom(rank=150)).fit(NOISY, y)
    assert np.allclose(model.decision_function(X), exact.decision_function(X), atol=1e-4)
    # of lower rank it is the machine of the approximate matrix
    gram = Nystrom(rank=10).build(Gaussian(1.0), NOISY, 3)
    rough = SVC(kernel=Gaussian(1.0), tol=EXACT, gram=Nystrom(landmarks=gram.pivots)).fit(NOISY, y)
    matrix = SVC(kernel="precomputed", tol=EXACT).fit(gram.dense(), y)
    assert len(rough.function_) == 10
    assert np.allclose(rough.decision_function(NOISY), matrix.decision_function(gram.dense()), atol=1e-4)


def test_the_function_has_the_margin() -> None:
    model = SVC(kernel="linear", C=1e3, tol=EXACT).fit(X[y < 2], y[y < 2])
    assert 2 / model.function_.norm() == pytest.approx(2 / np.linalg.norm(model.coef_), rel=1e-6)
    other = SVC(kernel="linear", C=1e-2, tol=EXACT).fit(X[y < 2], y[y < 2])
    assert model.function_.distance(other.function_) == pytest.approx(
        np.linalg.norm(model.coef_ - other.coef_), rel=1e-6
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_stops_and_says_so() -> None:
    model = SVC(max_iter=3).fit(NOISY, y)
    assert model.fit_status_ == 1 and np.all(model.n_iter_ <= 3)
    with pytest.warns(Warning, match="stopped early"):
        SVC(max_iter=3).fit(NOISY, y)


def test_awkward_data() -> None:
    assert SVC().fit([[0.0], [1.0]], [0, 1]).predict([[0.9]])[0] == 1
    constant = np.c_[NOISY, np.ones(len(X))]
    assert np.array_equal(
        SVC(gamma=0.2).fit(constant, y).predict(constant), SVC(gamma=0.2).fit(NOISY, y).predict(NOISY)
    )
    twice = SVC(gamma=0.2, C=1.0, tol=EXACT).fit(np.r_[NOISY, NOISY], np.r_[y, y])
    double = SVC(gamma=0.2, C=2.0, tol=EXACT).fit(NOISY, y)
    assert np.allclose(twice.decision_function(X), double.decision_function(X), atol=1e-5)
    wide = rng.normal(size=(20, 500))
    assert SVC(kernel="linear").fit(wide, np.arange(20) % 2).score(wide, np.arange(20) % 2) == 1.0


def test_unscaled_data_do_not_fool_single_precision() -> None:
    wine, labels = load_wine(return_X_y=True)  # one column reaches 1,680
    ours, theirs = SVC(kernel="linear").fit(wine, labels), svm.SVC(kernel="linear").fit(wine, labels)
    assert ours.fit_status_ == 0
    assert np.mean(ours.predict(wine) == theirs.predict(wine)) == 1.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": -1.0}, "C = -1.0 must be > 0"),
        ({"gamma": "median"}, "gamma = 'median' must be a finite number >= 0, or 'scale', or 'auto'"),
        ({"kernel": Gaussian(), "gamma": 1.0}, "gamma = 1.0 does not apply to kernel"),
        ({"tol": 0.0}, "tol = 0.0 must be > 0"),
        ({"cache_size": 0}, "cache_size = 0 must be > 0"),
        ({"decision_function_shape": "both"}, "decision_function_shape = 'both' is unknown"),
    ],
    ids=str,
)
def test_bad_parameters(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        SVC(**settings).fit(X, y)


def test_infeasible_nu_and_missing_classes() -> None:
    with pytest.raises(ValueError, match="infeasible"):
        NuSVC(nu=0.9).fit(np.r_[X[:50], X[50:55]], np.r_[y[:50], y[50:55]])
    with pytest.raises(ValueError, match="number of classes"):
        SVC().fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"number of classes.*positive weight belong to 1 of 3"):
        SVC().fit(X, y, (y == 1).astype(float))


def test_hard_margin() -> None:
    two = y < 2
    hard, soft = SVC(kernel="linear", C=np.inf, tol=EXACT), SVC(kernel="linear", C=1e5, tol=EXACT)
    hard.fit(X[two], y[two])
    soft.fit(X[two], y[two])
    sign = 2.0 * y[two] - 1
    assert (sign * hard.decision_function(X[two])).min() == pytest.approx(1.0, abs=1e-6)
    assert hard.function_.norm() == pytest.approx(soft.function_.norm(), rel=1e-6)
    with pytest.raises(ValueError, match="1 against 2 is not separable"):
        SVC(kernel="linear", C=np.inf).fit(NOISY, y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_time_budget_ends_with_a_usable_machine() -> None:
    A, b = make_classification(4000, 10, n_informative=8, n_redundant=0, flip_y=0.2, random_state=2)
    model = SVC(C=1e3, gamma=0.1, time_budget=0.05).fit(A, b)
    assert model.fit_status_ == 1 and "time budget" in model.solutions_[0].message
    assert model.predict(A).shape == (4000,)
    with pytest.warns(Warning, match="time budget is spent"):
        SVC(C=1e3, gamma=0.1, time_budget=0.05).fit(A, b)


# ---- other losses, a budget, other ways with many classes

TWO = y > 0
A2, S2, W2 = NOISY[TWO], np.where(y[TWO] == 2, 1.0, -1.0), WEIGHT[TWO]


@pytest.mark.parametrize("weight", [None, W2], ids=["equal", "weighted"])
def test_squared_hinge_equals_liblinear(weight) -> None:
    ours = SVC(kernel="linear", loss="squared_hinge", C=0.7, fit_intercept=False, tol=EXACT).fit(A2, S2, weight)
    theirs = svm.LinearSVC(loss="squared_hinge", C=0.7, fit_intercept=False, dual=False, tol=1e-12, max_iter=10_000)
    theirs.fit(A2, S2, weight)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ours.function_.basis is None and np.array_equal(ours.intercept_, [0.0])


@pytest.mark.parametrize("weight", [np.ones(50), W2[::2]], ids=["equal", "weighted"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_hinge_is_the_least_of_the_primal(fit_intercept, weight) -> None:
    """Over f = Lu on the samples with K = LLᵀ, so that ‖f‖ = ‖u‖, and b."""
    kernel, C, A, s = Gaussian(1.0), 3.0, A2[::2], S2[::2]
    L = np.linalg.cholesky(kernel(A) + 1e-10 * np.eye(50))

    def primal(v):
        rest = np.maximum(0.0, 1 - s * (L @ v[:-1] + fit_intercept * v[-1]))
        slope = -2 * C * weight * rest * s
        return 0.5 * v[:-1] @ v[:-1] + C * weight @ rest**2, np.r_[v[:-1] + L.T @ slope, fit_intercept * slope.sum()]

    least = minimize(primal, np.zeros(51), jac=True, method="L-BFGS-B", options=TIGHT)
    model = SVC(kernel=kernel, loss="squared_hinge", C=C, fit_intercept=fit_intercept, tol=EXACT).fit(A, s, weight)
    assert -model.solutions_[0].objective == pytest.approx(least.fun, rel=1e-7)
    assert np.allclose(model.decision_function(A), L @ least.x[:-1] + fit_intercept * least.x[-1], atol=1e-5)


def test_squared_hinge_in_single_precision_and_of_many_classes() -> None:
    exact = SVC(loss="squared_hinge", tol=EXACT, decision_function_shape="ovo").fit(NOISY, y, WEIGHT)
    coarse = SVC(loss="squared_hinge", decision_function_shape="ovo").fit(NOISY, y, WEIGHT)
    assert np.allclose(exact.decision_function(NOISY), coarse.decision_function(NOISY), atol=2e-3)
    pair = SVC(loss="squared_hinge", gamma=exact._gamma, tol=EXACT).fit(A2, y[TWO], W2)
    assert np.allclose(exact.decision_function(NOISY)[:, 2], -pair.decision_function(NOISY), atol=1e-6)


def losses(model, data, signs, weight, power=1):
    return float(weight @ np.maximum(0.0, 1 - signs * model.decision_function(data)) ** power)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("budget", [15.0, 25.0, 31.0])
def test_budget_is_spent_with_the_least_norm(loss, fit_intercept, budget) -> None:
    power = 1 if loss == "hinge" else 2
    settings = {"kernel": Gaussian(1.0), "loss": loss, "fit_intercept": fit_intercept, "tol": EXACT}
    model = SVC(budget=budget, **settings).fit(A2, S2, W2)
    assert (1 - 1e-3) * budget <= losses(model, A2, S2, W2, power) <= budget
    same = SVC(C=model.C_[0], **settings).fit(A2, S2, W2)
    assert model.function_.norm() == pytest.approx(same.function_.norm(), rel=1e-6)
    assert np.allclose(model.decision_function(A2), same.decision_function(A2), atol=1e-6)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_budget_equals_a_general_method(loss) -> None:
    """Minimise ‖u‖² over f = Lu, b and slacks ξ ≥ 0, ξ ≥ 1 − y(f + b) with Σ wξ (or Σ wξ²) at most the budget."""
    few = np.r_[0:12, 60:72]
    A, s, w, n = A2[few], S2[few], W2[few], 24
    power, budget = (1, 6.0) if loss == "hinge" else (2, 6.0)
    kernel = Gaussian(1.5)
    L = np.linalg.cholesky(kernel(A) + 1e-10 * np.eye(n))
    margins = np.hstack([s[:, None] * L, s[:, None], np.eye(n)])
    result = minimize(
        lambda v: 0.5 * v[:n] @ v[:n],
        np.r_[np.zeros(n + 1), np.ones(n)],
        jac=lambda v: np.r_[v[:n], np.zeros(n + 1)],
        bounds=[(None, None)] * (n + 1) + [(0, None)] * n,
        constraints=[
            {"type": "ineq", "fun": lambda v: margins @ v - 1, "jac": lambda v: margins},
            {
                "type": "ineq",
                "fun": lambda v: budget - w @ v[n + 1 :] ** power,
                "jac": lambda v: np.r_[np.zeros(n + 1), -power * w * v[n + 1 :] ** (power - 1)],
            },
        ],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 2000},
    )
    assert result.success
    model = SVC(budget=budget, loss=loss, kernel=kernel, tol=EXACT).fit(A, s, w)
    assert losses(model, A, s, w, power) <= budget
    assert model.function_.norm() == pytest.approx(np.linalg.norm(result.x[:n]), rel=2e-4)


def test_budget_of_many_classes_is_that_of_each_pair() -> None:
    model = SVC(budget=10.0, gamma=0.2, tol=1e-6).fit(NOISY, y)
    assert model.C_.shape == (3,)
    for k, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        pair = (y == a) | (y == b)
        alone = SVC(budget=10.0, gamma=0.2, tol=1e-6).fit(NOISY[pair], y[pair])
        assert alone.C_[0] == pytest.approx(model.C_[k], rel=1e-3)
    versus = SVC(budget=20.0, gamma=0.2, tol=1e-6, multi_class="ovr").fit(NOISY, y)
    values = versus.decision_function(NOISY)
    for c in range(3):
        signs = np.where(y == c, 1.0, -1.0)
        assert 19.98 <= np.maximum(0.0, 1 - signs * values[:, c]).sum() <= 20.0


@pytest.mark.long
def test_budget_of_zero_is_the_hard_margin() -> None:
    first = y < 2
    budget = SVC(budget=0, kernel="linear", tol=EXACT).fit(X[first], y[first])
    hard = SVC(C=np.inf, kernel="linear", tol=EXACT).fit(X[first], y[first])
    assert np.array_equal(budget.dual_coef_, hard.dual_coef_)
    assert np.array_equal(budget.C_, [np.inf])
    with pytest.raises(ValueError, match="budget = 0 requires a hard margin, but 1 against 2 is not separable"):
        SVC(budget=0, kernel="linear").fit(NOISY, y)


def test_budgets_that_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"budget = 100 is met for 1 against 2 by a constant, .* sum to 100; lower it"):
        SVC(budget=100).fit(A2, y[TWO])
    light, heavy = W2[S2 < 0].sum(), W2[S2 > 0].sum()
    ends = [
        ({}, 2 * min(light, heavy)),
        ({"fit_intercept": False}, light + heavy),
        ({"loss": "squared_hinge"}, 4 * light * heavy / (light + heavy)),
        ({"loss": "squared_hinge", "fit_intercept": False}, light + heavy),
    ]
    for settings, end in ends:
        power = 2 if "loss" in settings else 1
        with pytest.raises(ValueError, match=r"is met for .* by a constant"):
            SVC(budget=1.0001 * end, **settings).fit(A2, S2, W2)
        model = SVC(budget=0.999 * end, tol=1e-6, **settings).fit(A2, S2, W2)
        assert losses(model, A2, S2, W2, power) <= 0.999 * end
    clash = np.r_[A2, A2[:1]], np.r_[y[TWO], 3 - y[TWO][0]]  # a point in both classes costs 2
    with pytest.raises(ValueError, match=r"budget = 1.9 is not met for 1 against 2: at .* raise it"):
        SVC(budget=1.9, gamma=10.0).fit(*clash)
    assert SVC(budget=2.1, gamma=10.0).fit(*clash).C_[0] > 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("settings", [{"budget": 30.0}, {"C": np.inf, "gamma": 1.0}], ids=str)
def test_a_search_for_C_that_is_stopped_ends_with_a_machine(settings) -> None:
    model = SVC(max_iter=5, **settings).fit(A2, y[TWO])
    assert model.fit_status_ == 1 and model.predict(A2).shape == (100,)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_nu_that_is_stopped_at_once_is_not_upside_down() -> None:
    A, b = make_classification(400, 6, n_informative=6, n_redundant=0, class_sep=2.0, random_state=0)
    model = NuSVC(nu=0.3, max_iter=0).fit(A, b)
    K, beta = np.asarray(model.kernel_(A)), model.solutions_[0].beta
    order = np.r_[np.flatnonzero(b == 0), np.flatnonzero(b == 1)]
    assert np.corrcoef(model.decision_function(A), -K[:, order] @ beta)[0, 1] == pytest.approx(1.0)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("settings", [{}, {"loss": "squared_hinge"}, {"fit_intercept": False}], ids=str)
def test_one_against_the_rest_is_that_many_binary_machines(settings, weight) -> None:
    model = SVC(multi_class="ovr", tol=EXACT, **settings).fit(NOISY, y, weight)
    values = model.decision_function(NOISY)
    assert values.shape == (150, 3) and model.dual_coef_.shape == (3, len(model.support_))
    assert model.intercept_.shape == (3,) and model.n_support_.sum() == len(model.support_)
    assert np.allclose(model.function_(NOISY), values)
    assert np.array_equal(model.predict(NOISY), values.argmax(axis=1))
    for c in range(3):
        alone = SVC(tol=EXACT, **settings).fit(NOISY, y == c, weight)
        assert np.allclose(values[:, c], alone.decision_function(NOISY), atol=1e-6)
        dense = np.zeros(150)
        dense[alone.support_] = alone.dual_coef_[0]
        assert np.allclose(model.dual_coef_[c], dense[model.support_], atol=1e-5)
    model.decision_function_shape = "ovo"
    assert np.array_equal(model.decision_function(NOISY), values)


def test_crammer_and_singer_equal_liblinear() -> None:
    ours = SVC(kernel="linear", multi_class="crammer_singer", C=0.5, fit_intercept=False, tol=EXACT)
    ours.fit(NOISY, y, WEIGHT)
    theirs = svm.LinearSVC(multi_class="crammer_singer", C=0.5, fit_intercept=False, tol=1e-10, max_iter=1_000_000)
    theirs.set_params(random_state=0).fit(NOISY, y, WEIGHT)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert np.allclose(ours.decision_function(NOISY), theirs.decision_function(NOISY), atol=1e-4)
    assert np.array_equal(ours.predict(NOISY), theirs.predict(NOISY))
    # with the offset, it is a feature that is always 1
    ours.set_params(fit_intercept=True).fit(NOISY, y, WEIGHT)
    theirs.fit(np.c_[NOISY, np.ones(150)], y, WEIGHT)
    assert np.allclose(np.c_[ours.coef_, ours.intercept_], theirs.coef_, atol=1e-5)


def test_the_objective_of_kernlabs_nu_machine(oracle) -> None:
    """It is that of the coefficients after their division by the margin r, ours that of those within their bounds."""
    data = oracle("ksvm_nusvc_rbf_ripley")
    kernel = Gaussian.from_kernlab(data["parameters"]["sigma"])
    model = NuSVC(kernel=kernel, nu=data["parameters"]["nu"], tol=EXACT).fit(data["inputs"]["X"], data["inputs"]["y"])
    margin = 1 / np.abs(model.dual_coef_).max()
    assert model.solutions_[0].objective / margin**2 == pytest.approx(data["outputs"]["obj"][0], rel=1e-5)


def test_kbb_equals_kernlab() -> None:
    path = Path(__file__).parents[1] / "oracles" / "ksvm_kbbsvc_iris.json"  # its lists of indices are ragged
    data = json.loads(path.read_text(encoding="utf-8"))
    A, labels = np.array(data["inputs"]["X"]), np.array(data["inputs"]["y"])
    kernel = Gaussian.from_kernlab(data["parameters"]["sigma"])
    model = SVC(kernel=kernel, C=float(data["parameters"]["C"]), multi_class="kbb", tol=EXACT).fit(A, labels)
    alpha = np.reshape(data["outputs"]["alpha"], (2, 50)).T
    beta = np.array([np.insert(-a, int(c) - 1, a.sum()) for a, c in zip(alpha, labels, strict=True)])
    dense = np.zeros((50, 3))
    dense[model.support_] = model.dual_coef_.T
    assert np.allclose(dense, beta, atol=1e-4)  # kernlab's are good to four digits
    for points, expected in ((A, "predict_train"), (np.array(data["inputs"]["Xnew"]), "predict_new")):
        assert np.allclose(model.decision_function(points), (kernel(points, A) + 1.0) @ beta, atol=1e-4)
        assert np.array_equal(model.predict(points), np.array(data["outputs"][expected]))


def test_crammer_singer_without_offset_equals_kernlabs_spoc(oracle) -> None:
    data = oracle("ksvm_spocsvc_iris")
    A, labels, new, alpha = *data["inputs"].values(), data["outputs"]["alpha"]
    kernel = Gaussian.from_kernlab(data["parameters"]["sigma"])
    C = float(data["parameters"]["C"])
    model = SVC(C=C, kernel=kernel, multi_class="crammer_singer", fit_intercept=False, tol=EXACT).fit(A, labels)
    dense = np.zeros_like(alpha)
    dense[model.support_] = model.dual_coef_.T
    assert np.allclose(dense, alpha, atol=1e-5)
    assert np.allclose(model.decision_function(new), kernel(new, A) @ alpha, atol=1e-6)
    assert np.array_equal(model.predict(new), data["outputs"]["predict_new"])


@pytest.mark.parametrize("form", ["crammer_singer", "kbb"])
def test_all_classes_at_once_has_scikit_learns_attributes(form) -> None:
    labels = np.array(["c", "a", "b"])[y]
    model = SVC(multi_class=form, decision_function_shape="ovo").fit(NOISY, labels)
    values = model.decision_function(NOISY)
    assert values.shape == (150, 3) and model.dual_coef_.shape == (3, len(model.support_))
    assert np.allclose(model.dual_coef_.sum(axis=0), 0.0, atol=1e-9)
    assert np.allclose(model.function_(NOISY), values)
    assert np.array_equal(model.predict(NOISY), np.array(["a", "b", "c"])[values.argmax(axis=1)])
    assert np.allclose(model.dual_coef_.sum(axis=1), model.intercept_, atol=1e-9)
    assert [int((labels[model.support_] == c).sum()) for c in "abc"] == model.n_support_.tolist()
    sparse = SVC(multi_class=form, decision_function_shape="ovo").fit(csr_array(NOISY), labels)
    assert np.allclose(sparse.decision_function(csr_array(NOISY)), values, atol=2e-2)


@pytest.mark.parametrize(("form", "C", "times"), [("crammer_singer", 2.0, 1.0), ("kbb", 1.0, 2.0)])
def test_all_of_two_classes_at_once_is_the_binary_machine(form, C, times) -> None:
    model = SVC(multi_class=form, fit_intercept=False, tol=EXACT).fit(A2, y[TWO])
    binary = SVC(C=C, fit_intercept=False, tol=EXACT).fit(A2, y[TWO])
    assert model.decision_function(A2).shape == (100,)
    assert np.allclose(model.decision_function(A2), times * binary.decision_function(A2), atol=1e-5)
    assert np.array_equal(model.predict(A2), binary.predict(A2))
    assert model.dual_coef_.shape == (1, len(model.support_)) and model.intercept_.shape == (1,)


def test_one_against_the_rest_of_two_classes_is_the_binary_machine() -> None:
    versus, pair = SVC(multi_class="ovr").fit(A2, y[TWO]), SVC().fit(A2, y[TWO])
    assert np.array_equal(versus.dual_coef_, pair.dual_coef_)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "log"}, "loss = 'log' is unknown; choose one of 'hinge', 'squared_hinge'"),
        ({"multi_class": "all"}, "multi_class = 'all' is unknown"),
        ({"budget": -1.0}, "budget = -1.0 must be >= 0"),
        ({"budget": np.inf}, "budget = inf must be a finite number >= 0"),
        ({"budget": 1.0, "C": 2.0}, "C = 2.0 does not apply with budget; omit it"),
        ({"budget": 1.0, "checkpoint": "file"}, "checkpoint = 'file' does not apply with budget"),
        ({"C": np.inf, "loss": "squared_hinge"}, "C = inf, a hard margin, has no loss; leave loss at 'hinge'"),
        ({"budget": 0.0, "loss": "squared_hinge"}, "budget = 0, a hard margin, has no loss; leave loss at 'hinge'"),
        ({"multi_class": "kbb", "loss": "squared_hinge"}, "'kbb' does not support loss; use 'ovo' or 'ovr'"),
        ({"multi_class": "kbb", "budget": 3.0}, "multi_class = 'kbb' does not support budget"),
        ({"multi_class": "crammer_singer", "calibration": "cv"}, "'crammer_singer' does not support calibration"),
        ({"multi_class": "crammer_singer", "probability": True}, "'crammer_singer' does not support calibration"),
        ({"multi_class": "kbb", "C": np.inf}, "C = inf needs multi_class='ovo' or 'ovr'"),
        ({"multi_class": "kbb", "kernel": Power(1.0)}, r"CPD\(1\), but with .* = 'kbb' the offset is penalised"),
        ({"calibration": "platt"}, "calibration = 'platt' is unknown; choose one of None, 'cv'"),
        ({"time_budget": 0.0}, "time_budget = 0.0 must be > 0"),
    ],
    ids=str,
)
def test_combinations_that_are_refused(settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        SVC(**settings).fit(X, y)


def test_a_checkpoint_is_a_path() -> None:
    with pytest.raises(TypeError, match="checkpoint = 3 must be the path of a file"):
        SVC(checkpoint=3).fit(X, y)


def test_a_hard_margin_far_from_the_origin() -> None:
    """The machine does not depend on where the origin is."""
    for shift in (0.0, 1000.0):
        model = SVC(kernel="linear", C=np.inf, tol=1e-6).fit([[shift], [shift + 1.0]], [0, 1])
        assert model.function_.norm() == pytest.approx(2.0, rel=1e-4)  # the margin is the distance of the two, 2/‖f‖


def test_a_vanishing_margin_is_said() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    with pytest.warns(ConvergenceWarning, match="nu = 1e-08 is so small that the margin ρ vanishes"):
        NuSVC(nu=1e-8, gamma=0.001).fit(X, y)


def test_an_early_end_reports_what_is_true() -> None:
    """The gap of a run that was stopped is that of its coefficients in double precision."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 3)), rng.integers(2, size=900)
    with pytest.warns(ConvergenceWarning):
        model = SVC(C=1e4, gamma=0.5, max_iter=20_000).fit(X, y)
    beta = np.zeros(900)
    beta[model.support_] = -model.dual_coef_[0]
    sign = np.where(y == 0, 1.0, -1.0)
    f = sign - model.kernel_(X) @ beta
    up, low = f[beta < np.where(sign > 0, 1e4, 0.0)], f[beta > np.where(sign > 0, 0.0, -1e4)]
    assert model.solutions_[0].gap == pytest.approx(up.max() - low.min(), rel=1e-6)


def test_support_vectors_are_held_once():
    """Half of the memory, and of the model file."""
    model = SVC().fit(X, y)
    assert model.function_.points is model.support_vectors_


@pytest.mark.parametrize("model", [SVC(max_iter=1), NuSVC(max_iter=1), OneClassSVM(max_iter=1)], ids=str)
def test_only_machines_with_a_C_are_told_to_lower_it(model) -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.warns(ConvergenceWarning, match="mean 0 and variance 1, (lower C, )?or raise max_iter") as record:
        model.fit(X, np.arange(40) % 2)
    assert ("lower C" in str(record[0].message)) == isinstance(model, SVC)


def test_a_function_may_return_lists() -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    listed, plain = (SVC(kernel=k).fit(X, y) for k in (lambda A, B: (A @ B.T).tolist(), "linear"))
    assert np.allclose(listed.decision_function(X), plain.decision_function(X), atol=1e-3)
