"""Kernel logistic regression against scikit-learn and kernlab; the import vector machine against its definition."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from mercer import KernelMachine
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Linear
from mercer.methods.logistic import ImportVectorMachine, KernelLogisticRegression

rng = np.random.default_rng(2)
N = 120
X = rng.normal(size=(N, 3))
TWO = np.where(X[:, 0] - X[:, 1] + rng.normal(size=N) > 0, "b", "a")
THREE = np.array(["u", "v", "w"])[np.digitize(X[:, 0] + 0.7 * rng.normal(size=N), [-0.5, 0.5])]
WEIGHT = rng.uniform(0.2, 2, N)


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("intercept", [True, False])
def test_linear_kernel_equals_scikit_learn(labels, weight, intercept) -> None:
    """C = 1/alpha, the softmax for three classes, and an intercept without penalty."""
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000, fit_intercept=intercept, solver="newton-cg")
    theirs.fit(X, labels, weight)
    ours = KernelLogisticRegression(Linear(), alpha=0.5, free=0 if intercept else None).fit(X, labels, weight)
    assert np.array_equal(ours.classes_, theirs.classes_)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)
    assert np.allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), atol=1e-5)
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)
    assert np.mean(ours.predict(X) == theirs.predict(X)) == 1
    assert abs(ours.solution_.gap) <= 1e-8 * ours.solution_.objective
    assert ours.solution_.gradient_norm < 1e-6


def test_class_weight_equals_scikit_learn() -> None:
    for weights in ("balanced", {"u": 3.0, "v": 1.0, "w": 0.5}):
        theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000, class_weight=weights).fit(X, THREE)
        ours = KernelLogisticRegression(Linear(), alpha=0.5, class_weight=weights).fit(X, THREE)
        assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


def test_mode_of_the_gaussian_process_equals_kernlab(oracle) -> None:
    """kernlab's first level is +1, and there is no offset."""
    data = oracle("gausspr_cls_iris2")
    inputs, outputs = data["inputs"], data["outputs"]
    kernel = Gaussian.from_kernlab(data["parameters"]["sigma"])
    labels = np.array(inputs["y"])
    model = KernelLogisticRegression(kernel, free=None, alpha=1.0, tol=1e-12).fit(inputs["X"], labels)
    order = [list(model.classes_).index(level) for level in outputs["levels"]]
    assert np.allclose(model.predict_proba(inputs["Xnew"])[:, order], outputs["prob_new"], atol=1e-6)
    assert np.array_equal(model.predict(inputs["Xnew"]), outputs["predict_new"])
    index = np.asarray(outputs["alphaindex"]).ravel() - 1
    assert np.allclose(np.abs(model.dual_coef_[index]), np.abs(np.asarray(outputs["alpha"]).ravel()), atol=1e-5)


def test_softmax_of_two_classes_is_the_logistic_function() -> None:
    """Of two functions that share the penalty, f₂ = −f₁, each half of the difference: alpha doubles."""
    binary = KernelLogisticRegression(Gaussian(), alpha=0.5, tol=1e-10).fit(X, TWO)
    both = KernelMachine("multinomial", kernel=Gaussian(), alpha=1.0, free=0, tol=1e-10).fit(X, TWO)
    assert np.allclose(binary.predict_proba(X), both.predict_proba(X), atol=1e-7)


def test_functions_of_the_classes_sum_to_zero() -> None:
    model = KernelLogisticRegression(Gaussian(), alpha=0.3).fit(X, THREE)
    assert np.allclose(model.decision_function(X).sum(axis=1), 0, atol=1e-7)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-12)
    assert model.dual_coef_.shape == (N, 3) and model.free_coef_.shape == (1, 3)


def test_log_probabilities_of_what_is_certain() -> None:
    """Where 1 − p is 0 in floating point its logarithm is still known."""
    model = KernelLogisticRegression(Linear(), alpha=1e-3).fit([[-1.0], [1.0]], [0, 1])
    logs = model.predict_log_proba([[300.0]])
    f = model.decision_function([[300.0]])[0]
    assert f > 800 and logs[0, 0] == pytest.approx(-f)


@pytest.mark.parametrize("labels", [TWO, THREE], ids=["two", "three"])
def test_low_rank_of_full_rank_is_exact(labels) -> None:
    exact = KernelLogisticRegression(Gaussian(), alpha=0.5).fit(X, labels)
    gram = Nystrom(landmarks=np.arange(N))
    assert np.allclose(
        KernelLogisticRegression(Gaussian(), alpha=0.5, gram=gram).fit(X, labels).predict_proba(X),
        exact.predict_proba(X),
        atol=1e-6,
    )


def test_logistic_errors() -> None:
    with pytest.raises(ValueError, match="greater than one"):
        KernelLogisticRegression().fit(X, np.ones(N))
    with pytest.raises(ValueError, match="class 'a' has no sample of positive weight"):
        KernelLogisticRegression().fit(X, TWO, (TWO == "b").astype(float))
    with pytest.raises(ValueError, match="alpha = -1"):
        KernelLogisticRegression(alpha=-1).fit(X, TWO)
    with pytest.raises(ValueError, match="does not suit"):
        KernelLogisticRegression(solver="working_set").fit(X, TWO)


# ---- import vectors

SMALL = X[:25]
SIGN = np.where(SMALL[:, 0] * SMALL[:, 1] + 0.3 * rng.normal(size=25) > 0, 1.0, -1.0)
KERNEL = Gaussian(1.5)
K = KERNEL(SMALL)


def reduced(S, a, c, weight=1.0):
    f = K[:, S] @ a + c
    return float(np.sum(weight * np.logaddexp(0, -SIGN * f))) + 0.15 * float(a @ K[np.ix_(S, S)] @ a)


def one_step(S, a, c):
    """One Newton step of the problem on S from (a, c), in the coefficients themselves."""
    B = np.column_stack([K[:, S], np.ones(25)])
    P = np.zeros((len(S) + 1,) * 2)
    P[:-1, :-1] = 0.3 * K[np.ix_(S, S)]
    x = np.append(a, c)
    p = 1 / (1 + np.exp(-(B @ x)))
    gradient = B.T @ (p - (SIGN > 0)) + P @ x
    x = x - np.linalg.solve(B.T @ ((p * (1 - p))[:, None] * B) + P, gradient)
    return reduced(S, x[:-1], x[-1])


def test_each_choice_is_that_of_brute_force() -> None:
    """Of all candidates the one after whose Newton step the objective is least, and the solution on the points."""
    full = ImportVectorMachine(KERNEL, alpha=0.3, max_points=5, epsilon=0, tol=1e-10).fit(SMALL, SIGN)
    S, a, c = [], np.zeros(0), np.log((SIGN > 0).sum() / (SIGN < 0).sum())
    for k in range(5):
        scores = {i: one_step([*S, i], np.append(a, 0.0), c) for i in range(25) if i not in S}
        best = min(scores, key=scores.get)
        assert full.import_[k] == best
        S.append(best)
        start = np.concatenate([a, [0.0, c]])
        found = minimize(lambda x: reduced(S, x[:-1], x[-1]), start, method="BFGS", options={"gtol": 1e-8})
        a, c = found.x[:-1], found.x[-1]
        assert full.objective_path_[k + 1] == pytest.approx(found.fun, rel=1e-8)
    assert np.allclose(full.dual_coef_, a, atol=1e-3)
    assert np.allclose(full.decision_function(SMALL), K[:, S] @ a + c, atol=1e-4)


def test_the_first_choice_is_that_of_full_minimisation() -> None:
    """The paper's first algorithm solves the problem for each candidate; its first choice is the same here."""
    machine = ImportVectorMachine(KERNEL, alpha=0.3, max_points=1).fit(SMALL, SIGN)
    fun = [minimize(lambda x, i=i: reduced([i], x[:1], x[1]), np.zeros(2), method="BFGS").fun for i in range(25)]
    assert machine.import_[0] == int(np.argmin(fun))
    assert machine.objective_path_[1] == pytest.approx(min(fun), rel=1e-7)


@pytest.mark.parametrize("weight", [None, WEIGHT[:25]], ids=["equal", "weighted"])
@pytest.mark.parametrize("free", [None, 0, 1])
def test_with_all_points_it_is_kernel_logistic_regression(free, weight) -> None:
    machine = ImportVectorMachine(KERNEL, alpha=0.3, free=free, epsilon=0).fit(SMALL, SIGN, weight)
    whole = KernelLogisticRegression(KERNEL, alpha=0.3, free=free, tol=1e-12).fit(SMALL, SIGN, weight)
    assert np.all(np.diff(machine.objective_path_) < 0)
    assert machine.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)
    assert np.allclose(machine.predict_proba(SMALL), whole.predict_proba(SMALL), atol=1e-5)


def test_stopping_rule() -> None:
    """It stops at the first point after which |H − H_before| ≤ ε|H|, and not before."""
    for lag in (1, 3):
        machine = ImportVectorMachine(KERNEL, alpha=0.3, epsilon=0.01, lag=lag).fit(SMALL, SIGN)
        H = machine.objective_path_
        ratio = (H[:-lag] - H[lag:]) / H[lag:]
        assert ratio[-1] <= 0.01 and np.all(ratio[:-1] > 0.01)
        assert len(machine.import_) == len(H) - 1 == len(machine.function_)
    fewer = ImportVectorMachine(KERNEL, alpha=0.3, epsilon=0.1).fit(SMALL, SIGN)
    assert len(fewer.import_) < len(machine.import_)
    assert np.array_equal(fewer.import_vectors_, SMALL[fewer.import_])


def test_a_sample_given_twice_is_taken_once() -> None:
    doubled, labels = np.vstack([SMALL, SMALL]), np.append(SIGN, SIGN)
    machine = ImportVectorMachine(KERNEL, alpha=0.3, epsilon=0).fit(doubled, labels)
    assert len(np.unique(machine.import_ % 25)) == len(machine.import_) <= 25


def test_import_errors() -> None:
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        ImportVectorMachine().fit(X, THREE)
    for parameters in ({"epsilon": -1}, {"lag": 0}, {"max_points": 0}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            ImportVectorMachine(**parameters).fit(SMALL, SIGN)
