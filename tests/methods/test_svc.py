"""SVC and NuSVC against LIBSVM: scikit-learn's, e1071's and kernlab's numbers, and the optimality conditions."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.datasets import load_iris, load_wine, make_classification

from mercer import SVC, IndefiniteKernelWarning, NuSVC
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Laplace, Log, Polynomial, Power

X, y = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
NOISY = X + 0.5 * rng.normal(size=X.shape)
WEIGHT = rng.uniform(0.1, 2, len(X))
EXACT = 1e-9


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
        expected = {k: v for k, v in theirs.get_params().items() if k != "probability"}
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


def test_sparse_equals_dense() -> None:
    S = np.where(np.abs(NOISY) > 1.5, NOISY, 0.0)
    dense, sparse = SVC(tol=EXACT).fit(S, y), SVC(tol=EXACT).fit(csr_array(S), y)
    assert np.allclose(dense.decision_function(S), sparse.decision_function(csr_array(S)), atol=1e-6)
    linear = SVC(kernel="linear").fit(csr_array(S), y)
    theirs = svm.SVC(kernel="linear").fit(csr_array(S), y)
    assert linear.coef_.shape == theirs.coef_.shape and type(linear.coef_) is type(theirs.coef_)


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
        ({"gamma": "median"}, "gamma = 'median' is unknown"),
        ({"kernel": Gaussian(), "gamma": 1.0}, "gamma = 1.0 has no meaning"),
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
    with pytest.raises(ValueError, match="no sample of positive weight"):
        SVC().fit(X, y, (y != 1).astype(float))


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
    with pytest.warns(Warning, match="time budget of 0.05 s is spent"):
        SVC(C=1e3, gamma=0.1, time_budget=0.05).fit(A, b)


@pytest.mark.parametrize("classes", [2, 3])
def test_interrupt_ends_with_a_usable_machine(classes) -> None:
    code = f"""
import os, signal, threading, warnings
import numpy as np
from sklearn.datasets import make_classification
from mercer import SVC
A, b = make_classification(6000, 10, n_informative=8, n_redundant=0, n_classes={classes}, flip_y=0.3, random_state=2)
SVC().fit(A[:50], b[:50])  # compiles, so that the signal comes in the middle of the work
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    model = SVC(C=1e6, gamma=0.1).fit(A, b)
assert any("interrupted" in str(w.message) for w in caught), [str(w.message) for w in caught]
print(model.predict(A[:5]).shape, model.fit_status_)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert result.stdout.split() == ["(5,)", "1"], result.stderr
