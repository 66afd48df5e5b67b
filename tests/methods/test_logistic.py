"""Kernel logistic regression against scikit-learn, kernlab and SciPy; import vectors against their definition."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from mercer import KernelMachine
from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Linear, Power, ThinPlate
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


def test_balanced_counts_weights_as_scikit_learn() -> None:
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000, class_weight="balanced").fit(X, THREE, WEIGHT)
    ours = KernelLogisticRegression(Linear(), alpha=0.5, class_weight="balanced").fit(X, THREE, WEIGHT)
    assert np.allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    totals = np.array([WEIGHT[c == THREE].sum() for c in "uvw"])
    assert np.allclose(ours.class_weight_ * totals, totals.sum() / 3)


@pytest.mark.parametrize(
    ("labels", "solver"),
    [(THREE, "newton_cg"), (THREE, "lbfgs"), (TWO, "newton"), (TWO, "newton_cg"), (TWO, "lbfgs"), (TWO, "admm")],
)
@pytest.mark.parametrize(("kernel", "free"), [(Power(1.0), 0), (ThinPlate(), 1)], ids=["power", "thin plate"])
def test_conditionally_definite_kernels(kernel, free, labels, solver) -> None:
    """SciPy on the quotient by the free functions, in which the kernel is definite."""
    A, y = X[:40, :2], labels[:40]
    M, H = kernel(A), np.column_stack([np.ones(40), A])[:, : 1 if free == 0 else 3]
    N_ = np.linalg.qr(H, mode="complete")[0][:, H.shape[1] :]
    values, V = np.linalg.eigh(N_.T @ M @ N_)
    B, r = np.hstack([M @ N_ @ (V / np.sqrt(values)), H]), len(values)
    onehot = (y[:, None] == np.unique(y)).astype(float)
    sign = 2 * onehot[:, 1] - 1
    k = 1 if len(np.unique(y)) == 2 else 3

    def objective(x):
        U = x.reshape(-1, k)
        f = B @ U
        if k == 1:
            loss, s = np.logaddexp(0, -sign * f[:, 0]).sum(), -(sign * expit(-sign * f[:, 0]))[:, None]
        else:
            loss, s = (logsumexp(f, axis=1) - np.sum(onehot * f, axis=1)).sum(), softmax(f, axis=1) - onehot
        gradient = B.T @ s
        gradient[:r] += 0.3 * U[:r]
        return loss + 0.15 * np.sum(U[:r] ** 2), gradient.ravel()

    options = {"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-8}
    least = minimize(objective, np.zeros(B.shape[1] * k), jac=True, method="L-BFGS-B", options=options).fun
    model = KernelLogisticRegression(kernel, alpha=0.3, free=free, solver=solver).fit(A, y)
    assert model.solution_.objective == pytest.approx(least, rel=1e-6)
    assert np.allclose(H.T @ model.dual_coef_, 0, atol=1e-9)
    assert model.solution_.gradient_norm < 1e-3
    f = M @ model.dual_coef_ + H @ model.free_coef_
    assert np.allclose(model.decision_function(A), f, atol=1e-9) and np.allclose(f, model.solution_.values, atol=1e-8)


def test_what_is_reported_is_what_was_found() -> None:
    """Far from the minimum too, in single precision: the objective of the function is that of the last step."""
    A = X.astype(np.float32)
    gram = Nystrom(rank=30)
    with pytest.warns(ConvergenceWarning, match="max_iter is reached"):
        model = KernelLogisticRegression(Gaussian(), alpha=0.01, gram=gram, max_iter=3, random_state=0).fit(A, THREE)
    logs = model.predict_log_proba(A)[np.arange(N), np.searchsorted(model.classes_, THREE)]
    value = -logs.sum() + 0.005 * sum(model.function_[j].norm() ** 2 for j in range(3))
    assert value == pytest.approx(model.solution_.objective, rel=1e-4)
    assert value <= model.solution_.history[-1]["objective"]


def test_admm_of_few_steps() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter is reached"):
        model = KernelLogisticRegression(Gaussian(), solver="admm", max_iter=3).fit(X, TWO)
    assert model.solution_.n_iter == 3


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
    with pytest.raises(ValueError, match=r"number of classes.*positive weight belong to 1 of 2"):
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


KINDS = rng.permutation(np.arange(25) % 3)
MASS = rng.uniform(0.3, 2, 25)


def softmax_objective(S, x):
    """Of coefficients x of shape (points + 1, 3), the last row the constants; its gradient and Hessian."""
    B, P = np.column_stack([K[:, S], np.ones(25)]), np.zeros((len(S) + 1,) * 2)
    P[:-1, :-1] = 0.3 * K[np.ix_(S, S)]
    f = B @ x
    p = softmax(f, axis=1)
    value = MASS @ (logsumexp(f, axis=1) - f[np.arange(25), KINDS]) + 0.5 * np.sum(x * (P @ x))
    W = MASS[:, None, None] * (p[:, :, None] * np.eye(3) - p[:, :, None] * p[:, None, :])
    hessian = np.einsum("ia,ijk,ib->ajbk", B, W, B) + np.einsum("ab,jk->ajbk", P, np.eye(3))
    return value, B.T @ (MASS[:, None] * (p - np.eye(3)[KINDS])) + P @ x, hessian.reshape(x.size, x.size)


def softmax_step(S, x):
    """One Newton step; a constant added to all classes changes nothing, hence the pseudo-inverse."""
    _, gradient, hessian = softmax_objective(S, x)
    return x - (np.linalg.pinv(hessian, rcond=1e-11, hermitian=True) @ gradient.ravel()).reshape(x.shape)


def test_each_choice_is_that_of_brute_force_with_three_classes() -> None:
    machine = ImportVectorMachine(KERNEL, alpha=0.3, max_points=4, epsilon=0).fit(SMALL, KINDS, MASS)
    S, x = [], np.zeros((1, 3))
    for k in range(5):
        for _ in range(12):
            x = softmax_step(S, x)
        assert machine.objective_path_[k] == pytest.approx(softmax_objective(S, x)[0], rel=1e-9)
        if k < 4:
            starts = {i: np.insert(x, len(S), 0.0, axis=0) for i in range(25) if i not in S}
            scores = {i: softmax_objective([*S, i], softmax_step([*S, i], start))[0] for i, start in starts.items()}
            S.append(min(scores, key=scores.get))
            x = starts[S[-1]]
            assert machine.import_[k] == S[-1]
    assert np.allclose(machine.dual_coef_, x[:-1], atol=1e-6)
    assert machine.dual_coef_.shape == (4, 3) and machine.free_coef_.shape == (1, 3)
    assert np.allclose(machine.decision_function(SMALL), K[:, S] @ x[:-1] + x[-1] - x[-1].mean(), atol=1e-6)


def test_the_first_choice_is_that_of_full_minimisation() -> None:
    """The paper's first algorithm solves the problem for each candidate; its first choice is the same here."""
    machine = ImportVectorMachine(KERNEL, alpha=0.3, max_points=1).fit(SMALL, SIGN)
    fun = [minimize(lambda x, i=i: reduced([i], x[:1], x[1]), np.zeros(2), method="BFGS").fun for i in range(25)]
    assert machine.import_[0] == int(np.argmin(fun))
    assert machine.objective_path_[1] == pytest.approx(min(fun), rel=1e-7)


@pytest.mark.parametrize("weight", [None, WEIGHT[:25]], ids=["equal", "weighted"])
@pytest.mark.parametrize("free", [None, 0, 1])
@pytest.mark.parametrize("labels", [SIGN, KINDS], ids=["two", "three"])
def test_with_all_points_it_is_kernel_logistic_regression(labels, free, weight) -> None:
    machine = ImportVectorMachine(KERNEL, alpha=0.3, free=free, epsilon=0).fit(SMALL, labels, weight)
    whole = KernelLogisticRegression(KERNEL, alpha=0.3, free=free, tol=1e-12).fit(SMALL, labels, weight)
    assert np.all(np.diff(machine.objective_path_) < 0)
    assert machine.solution_.objective == pytest.approx(whole.solution_.objective, rel=1e-9)
    assert np.allclose(machine.predict_proba(SMALL), whole.predict_proba(SMALL), atol=1e-5)


@pytest.mark.parametrize("labels", [SIGN, KINDS], ids=["two", "three"])
def test_stopping_rule(labels) -> None:
    """It stops at the first point after which |H − H_before| ≤ ε|H|, and not before."""
    for lag in (1, 3):
        machine = ImportVectorMachine(KERNEL, alpha=0.3, epsilon=0.01, lag=lag).fit(SMALL, labels)
        H = machine.objective_path_
        ratio = (H[:-lag] - H[lag:]) / H[lag:]
        assert ratio[-1] <= 0.01 and np.all(ratio[:-1] > 0.01)
        assert len(machine.import_) == len(H) - 1 == len(machine.function_)
    fewer = ImportVectorMachine(KERNEL, alpha=0.3, epsilon=0.1).fit(SMALL, labels)
    assert len(fewer.import_) < len(machine.import_)
    assert np.array_equal(fewer.import_vectors_, SMALL[fewer.import_])


def test_a_sample_given_twice_is_taken_once() -> None:
    doubled, labels = np.vstack([SMALL, SMALL]), np.append(SIGN, SIGN)
    machine = ImportVectorMachine(KERNEL, alpha=0.3, epsilon=0).fit(doubled, labels)
    assert len(np.unique(machine.import_ % 25)) == len(machine.import_) <= 25


@pytest.mark.parametrize("labels", [SIGN, KINDS], ids=["two", "three"])
def test_samples_of_weight_zero_are_not_taken(labels) -> None:
    """The sample without labels that would help most is left alone, and the machine is the one without it."""
    weight = np.where(np.arange(25) % 3 == 0, 0.0, MASS)
    machine = ImportVectorMachine(KERNEL, alpha=0.3).fit(SMALL, labels, weight)
    used = np.flatnonzero(weight)
    without = ImportVectorMachine(KERNEL, alpha=0.3).fit(SMALL[used], labels[used], weight[used])
    assert np.array_equal(machine.import_, used[without.import_])
    assert np.allclose(machine.decision_function(SMALL), without.decision_function(SMALL), atol=1e-8)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_that_the_free_part_separates(classes) -> None:
    """The objective has no minimum but 0 at infinity: it ends near it, with finite values."""
    labels = np.digitize(SMALL[:, 0], [-0.4, 0.4][: classes - 1])
    with np.errstate(all="raise", under="ignore"):
        machine = ImportVectorMachine(KERNEL, free=1).fit(SMALL, labels)
    assert machine.score(SMALL, labels) == 1 and len(machine.import_) == 1
    assert 0 <= machine.objective_path_[-1] < 1e-12 and np.isfinite(machine.decision_function(SMALL)).all()


@pytest.mark.parametrize("method", [KernelLogisticRegression, ImportVectorMachine])
@pytest.mark.parametrize("labels", [SIGN, KINDS], ids=["two", "three"])
def test_units_of_the_inputs_do_not_matter(labels, method) -> None:
    """With a quadratic free part of numbers of size 1e9, whose squares dwarf the constant."""
    options = {"epsilon": 0} if method is ImportVectorMachine else {}
    near = method(Gaussian(1.5), free=2, alpha=0.3, **options).fit(SMALL[:, :1], labels)
    far = method(Gaussian(1.5e9), free=2, alpha=0.3, **options).fit(1e9 * SMALL[:, :1], labels)
    assert far.solution_.objective == pytest.approx(near.solution_.objective, rel=1e-7)
    assert np.allclose(far.predict_proba(1e9 * SMALL[:, :1]), near.predict_proba(SMALL[:, :1]), atol=1e-5)


def test_import_vectors_of_data_far_from_zero() -> None:
    """Beside a free constant the functions of a linear kernel are judged without theirs, which hid the rest."""
    near = KernelLogisticRegression(Linear()).fit(X, TWO).decision_function(X)
    far = ImportVectorMachine(Linear(), epsilon=1e-9).fit(X + 2.0**12, TWO)
    np.testing.assert_allclose(far.decision_function(X + 2.0**12), near, rtol=1e-5, atol=1e-5)
    with pytest.warns(ConvergenceWarning, match="ImportVectorMachine: .*floating-point precision is insufficient"):
        ImportVectorMachine(Linear()).fit(X + 2.0**27, TWO)


def test_import_errors() -> None:
    with pytest.raises(ValueError, match=r"power is strictly CPD\(1\) and defines no function for a single point"):
        ImportVectorMachine(Power(1.0)).fit(SMALL, SIGN)
    for parameters in ({"epsilon": -1}, {"lag": 0}, {"max_points": 0}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            ImportVectorMachine(**parameters).fit(SMALL, SIGN)
