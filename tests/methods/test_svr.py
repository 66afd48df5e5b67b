"""SVR, NuSVR and OneClassSVM against LIBSVM: scikit-learn's and e1071's numbers, and the optimality conditions."""

import numpy as np
import pytest
from sklearn import svm

from mercer import SVR, NuSVR, OneClassSVM
from mercer.kernels import Gaussian

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=120)
WEIGHT = rng.uniform(0.1, 2, 120)
EXACT = 1e-8


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
        expected = theirs.get_params()
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
