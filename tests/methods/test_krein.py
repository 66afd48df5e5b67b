"""Methods in Kreĭn spaces, stationary points of support vector machines, and what each estimator does without right."""

import inspect
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

import mercer
from mercer import (
    SVC,
    SVR,
    IndefiniteKernelWarning,
    KernelLogisticRegression,
    KernelRidge,
    MultipleKernel,
    NuSVC,
    OneClassSVM,
    RoundingWarning,
    SemiSupervised,
)
from mercer.kernels import INDEFINITE, Callable, Gaussian, Power, Sigmoid
from mercer.kernels.corrected import Flipped
from mercer.methods.krein import KreinRidge, KreinSVC

rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))
Y = X[:, 0] + X[:, 1] ** 2
LABELS = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=40) > 0, "yes", "no")
WEIGHT = rng.uniform(0.2, 2.0, 40)
SIGMOID = Sigmoid(0.6, -0.4)
DIFFERENCE = Gaussian(0.7) + -0.9 * Gaussian(2.0)
WORDS = ["kernel", "kernels", "colonel", "lemma", "dilemma", "gamma", "llama", "grammar", "Mercer", "mercy"]


def common_beginning(x: str, y: str) -> float:
    return sum(a == b for a, b in zip(x, y, strict=False)) - 0.4 * abs(len(x) - len(y))


STRINGS = Callable(common_beginning, INDEFINITE)

# ---- ridge regression


@pytest.mark.parametrize("kernel", [SIGMOID, DIFFERENCE], ids=["sigmoid", "difference"])
def test_the_system_without_an_intercept(kernel) -> None:
    model = KreinRidge(kernel, alpha=0.35).fit(X, Y)
    K = kernel(X)
    a = np.linalg.solve(K + 0.35 * np.eye(40), Y)
    assert np.allclose(model.dual_coef_, a)
    assert np.allclose(model.predict(NEW), kernel(NEW, X) @ a)
    assert model.intercept_ == 0.0
    values = np.linalg.eigvalsh(K)
    assert np.allclose(model.eigenvalues_, values[::-1])
    assert model.inertia_ == (np.sum(values > 1e-12), np.sum(values < -1e-12), 0)
    assert model.condition_ == pytest.approx(np.linalg.cond(K + 0.35 * np.eye(40)))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize("targets", [1, 2])
def test_the_bordered_system(weight, targets) -> None:
    y = Y if targets == 1 else np.stack([Y, X[:, 2]], axis=1)
    model = KreinRidge(SIGMOID, alpha=0.35, fit_intercept=True).fit(X, y, weight)
    w = np.ones(40) if weight is None else weight
    M = np.block([[SIGMOID(X) + 0.35 * np.diag(1 / w), np.ones((40, 1))], [np.ones((1, 40)), np.zeros((1, 1))]])
    solution = np.linalg.solve(M, np.concatenate([y, np.zeros((1, *y.shape[1:]))]))
    assert np.allclose(model.dual_coef_, solution[:-1])
    assert np.allclose(model.intercept_, solution[-1])
    assert np.allclose(model.predict(NEW), SIGMOID(NEW, X) @ solution[:-1] + solution[-1])


@pytest.mark.parametrize("alpha", [0.05, 0.5, 5.0])
def test_stationary_and_of_the_curvature_that_is_reported(alpha) -> None:
    """Gradient and Hessian of ½‖y − Ka‖² + ½α aᵀKa, in a."""
    model = KreinRidge(DIFFERENCE, alpha=alpha).fit(X, Y)
    K, a = DIFFERENCE(X), model.dual_coef_
    gradient = K @ (K @ a - Y) + alpha * K @ a
    assert np.abs(gradient).max() < 1e-9
    curvature = np.linalg.eigvalsh(K @ K + alpha * K)
    assert model.n_maximised_ == np.sum(curvature < -1e-9)


def test_a_definite_kernel_gives_kernel_ridge() -> None:
    ours = KreinRidge(Gaussian(1.0), alpha=0.2, fit_intercept=True).fit(X, Y, WEIGHT)
    plain = KernelRidge(0.2, kernel=Gaussian(1.0), fit_intercept=True).fit(X, Y, WEIGHT)
    assert np.allclose(ours.predict(NEW), plain.predict(NEW))
    assert np.allclose(ours.leave_one_out(), plain.leave_one_out())
    assert ours.n_maximised_ == 0 and ours.inertia_.negative == 0
    left = ours.leave_one_out()
    assert np.array_equal(ours.set_params(alpha=3.0, fit_intercept=False).leave_one_out(), left)  # of the fit
    conditional = KreinRidge(Power(1.0), alpha=0.2, fit_intercept=True).fit(X, Y)
    assert conditional.inertia_ == (39, 0, 0)  # positive on the complement of the constant
    assert np.allclose(
        conditional.predict(NEW), KernelRidge(0.2, kernel=Power(1.0), fit_intercept=True).fit(X, Y).predict(NEW)
    )


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_leave_one_out_is_refitting(fit_intercept, weight) -> None:
    y = np.stack([Y, X[:, 2]], axis=1)
    model = KreinRidge(SIGMOID, alpha=0.35, fit_intercept=fit_intercept).fit(X, y, weight)
    left = model.leave_one_out()
    for i in range(0, 40, 7):
        others = np.arange(40) != i
        refit = clone(model).fit(X[others], y[others], None if weight is None else weight[others])
        assert np.allclose(left[i], refit.predict(X[[i]])[0])


def test_a_sample_of_weight_zero_is_not_there() -> None:
    weight = np.where(np.arange(40) < 33, WEIGHT, 0.0)
    model = KreinRidge(SIGMOID, alpha=0.35, fit_intercept=True).fit(X, Y, weight)
    without = KreinRidge(SIGMOID, alpha=0.35, fit_intercept=True).fit(X[:33], Y[:33], WEIGHT[:33])
    assert np.allclose(model.predict(NEW), without.predict(NEW))
    assert np.allclose(model.eigenvalues_, without.eigenvalues_) and model.inertia_ == without.inertia_
    assert np.allclose(model.leave_one_out(), np.r_[without.leave_one_out(), without.predict(X[33:])])


def test_without_a_stationary_point() -> None:
    values = np.linalg.eigvalsh(SIGMOID(X))
    with pytest.raises(ValueError, match=r"KreinRidge: .* there is no stationary point; change alpha"):
        KreinRidge(SIGMOID, alpha=-values[2]).fit(X, Y)
    with pytest.warns(IndefiniteKernelWarning, match="its direction dominates the fit"):
        KreinRidge(SIGMOID, alpha=-values[2] * 1.002).fit(X, Y)
    with pytest.raises(ValueError, match="alpha = -1 must be >= 0"):
        KreinRidge(SIGMOID, alpha=-1).fit(X, Y)


def test_interpolation() -> None:
    model = KreinRidge(DIFFERENCE, alpha=0.0).fit(X, Y)
    assert np.allclose(model.predict(X), Y) and model.n_maximised_ == 0


def test_minimising_is_the_flipped_kernel() -> None:
    """½‖y − Ka‖² + ½α aᵀ|K|a has its minimum where `KernelRidge` with the flipped kernel predicts."""
    values, U = np.linalg.eigh(SIGMOID(X))
    a = np.linalg.solve(SIGMOID(X) + 0.35 * (U * np.sign(values)) @ U.T, Y)
    flipped = KernelRidge(0.35, kernel=Flipped(SIGMOID)).fit(X, Y)
    assert np.allclose(flipped.predict(NEW), SIGMOID(NEW, X) @ a)


def test_ridge_on_strings_precomputed_values_and_tensors(xp) -> None:
    y = np.array([len(w) for w in WORDS], dtype=float)
    strings = KreinRidge(STRINGS, alpha=0.3).fit(WORDS, y)
    given = KreinRidge("precomputed", alpha=0.3).fit(STRINGS(WORDS), y)
    assert np.allclose(strings.predict(["merge", "lamb"]), given.predict(STRINGS(["merge", "lamb"], WORDS)))
    model = KreinRidge(SIGMOID, alpha=0.35, fit_intercept=True).fit(xp.asarray(X), xp.asarray(Y))
    plain = KreinRidge(SIGMOID, alpha=0.35, fit_intercept=True).fit(X, Y)
    values = model.predict(xp.asarray(NEW))
    assert isinstance(values, type(xp.asarray(NEW)))
    assert np.allclose(np.asarray(values), plain.predict(NEW))
    assert np.allclose(np.asarray(model.leave_one_out()), plain.leave_one_out())


# ---- the machine


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kernel", [SIGMOID, DIFFERENCE, -1.0 * Gaussian(1.0)], ids=["sigmoid", "difference", "minus"])
def test_the_machine_solves_its_problem(kernel, fit_intercept) -> None:
    """Values by k itself meet the conditions of optimality with β, and no gap is left between primal and dual."""
    C = 3.0
    model = KreinSVC(kernel, C=C, fit_intercept=fit_intercept, tol=1e-8).fit(X, LABELS)
    y = np.where(LABELS == "yes", 1.0, -1.0)
    beta = np.zeros(40)
    beta[model.support_] = model.dual_coef_[0]
    margin = y * model.decision_function(X)
    assert np.all(beta * y >= 0) and np.all(beta * y <= C * (1 + 1e-12))
    inside = (beta * y > 1e-6) & (beta * y < C - 1e-6)
    assert np.allclose(margin[inside], 1, atol=1e-6)
    assert np.all(margin[beta == 0] >= 1 - 1e-6) and np.all(margin[np.isclose(beta * y, C)] <= 1 + 1e-6)
    if fit_intercept:
        assert abs(beta.sum()) < 1e-9
    values, U = np.linalg.eigh(kernel(X))
    squared_norm = beta @ ((U * np.abs(values)) @ U.T) @ beta
    primal = squared_norm / 2 + C * np.maximum(0, 1 - margin).sum()
    assert primal == pytest.approx(y @ beta - squared_norm / 2, rel=1e-6)
    a = (U * np.sign(values)) @ U.T @ beta
    assert np.allclose(model.decision_function(NEW), kernel(NEW, X) @ a + model.intercept_, atol=1e-6)
    assert np.allclose(model.eigenvalues_, values[::-1])


def test_a_definite_kernel_gives_the_usual_machine() -> None:
    kernel = Gaussian(1.0)
    for y, options in ((LABELS, {}), ([*load_iris().target[::4][:38].tolist(), 0, 1], {"multi_class": "ovr"})):
        ours = KreinSVC(kernel, C=2.0, class_weight="balanced", tol=1e-8, **options).fit(X, y, WEIGHT)
        plain = SVC(kernel=kernel, C=2.0, class_weight="balanced", tol=1e-8, **options).fit(X, y, WEIGHT)
        assert np.allclose(ours.decision_function(NEW), plain.decision_function(NEW), atol=1e-6)
        assert np.array_equal(ours.support_, plain.support_)
        assert ours.inertia_ == (40, 0, 0)
        assert len(ours.function_) == len(ours.support_) < 40


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_the_flipped_kernel_decides_alike(multi_class) -> None:
    Z, y = load_iris(return_X_y=True)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    options = {"multi_class": multi_class, "class_weight": {0: 2.0}, "tol": 1e-8}
    krein = KreinSVC(SIGMOID, **options).fit(Z[train], y[train])
    flipped = SVC(kernel=Flipped(SIGMOID), **options).fit(Z[train], y[train])
    assert np.allclose(krein.decision_function(Z[test]), flipped.decision_function(Z[test]), atol=1e-5)
    assert np.array_equal(krein.predict(Z[test]), flipped.predict(Z[test]))
    assert krein.score(Z[test], y[test]) > 0.9
    assert krein.inertia_.negative > 0
    assert len(krein.function_) == 75  # all samples, and not the support vectors alone
    assert all(s.converged for s in krein.solutions_)


def test_machines_of_strings_and_of_precomputed_values() -> None:
    y = ["k", "k", "k", "a", "a", "a", "a", "a", "m", "m"]
    model = KreinSVC(STRINGS, C=10.0).fit(WORDS, y)
    assert model.score(WORDS, y) == 1.0
    assert model.predict(["kernelled"]).tolist() == ["k"]
    given = KreinSVC("precomputed", C=10.0).fit(STRINGS(WORDS), y)
    rows = STRINGS(["merge", "lamb"], WORDS)
    assert np.allclose(given.decision_function(rows), model.decision_function(["merge", "lamb"]))
    assert np.allclose(pickle.loads(pickle.dumps(model)).decision_function(WORDS), model.decision_function(WORDS))


def test_machines_in_single_precision_and_in_a_search() -> None:
    double = KreinSVC(SIGMOID, tol=1e-5).fit(X, LABELS)
    single = KreinSVC(SIGMOID, tol=1e-5).fit(X.astype(np.float32), LABELS)
    values = single.decision_function(NEW.astype(np.float32))
    assert values.dtype == np.float32
    assert np.allclose(values, double.decision_function(NEW), atol=2e-2)  # eigenvalues of 1e-6 are rounding there
    search = GridSearchCV(KreinSVC(SIGMOID), {"C": [0.1, 1.0], "kernel__offset": [-0.4, 0.1]}, cv=3).fit(X, LABELS)
    assert 0.5 < search.best_score_ <= 1


def test_refusals_of_the_machine() -> None:
    with pytest.raises(ValueError, match="KreinSVC: C = 0 must be > 0"):
        KreinSVC(SIGMOID, C=0).fit(X, LABELS)
    with pytest.raises(ValueError, match="KreinSVC: multi_class = 'kbb' is unknown"):
        KreinSVC(SIGMOID, multi_class="kbb").fit(X, LABELS)


# ---- stationary points of the usual machines


def test_the_stationary_point_of_e1071(oracle) -> None:
    data = oracle("libsvm_csvc_sigmoid_ripley")
    Z, y, parameters = data["inputs"]["X"], np.asarray(data["inputs"]["y"]), data["parameters"]
    with pytest.warns(IndefiniteKernelWarning):
        model = SVC(
            kernel="sigmoid", gamma=parameters["gamma"], coef0=parameters["coef0"], C=parameters["cost"], tol=1e-10
        ).fit(Z, y)
    expected = data["outputs"]  # there positive means the first label, -1
    assert np.array_equal(np.sort(model.support_) + 1, expected["SV_index"])
    assert np.allclose(model.decision_function(data["inputs"]["Xnew"]), -expected["decision_new"][:, 0], atol=1e-6)


def violation(f: np.ndarray, beta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """How far from stationary ½βᵀKβ − pᵀβ is in its box under Σβ = const, for f = p − Kβ."""
    return np.where(beta < upper, f, -np.inf).max() - np.where(beta > lower, f, np.inf).min()


def fourth_power(A, B):
    return -(np.sum((A[:, None] - B[None]) ** 2, axis=2) ** 2)


BAD = {
    "sigmoid": SIGMOID,
    "sigmoid with a negative diagonal": Sigmoid(2.0, -1.0),
    "negative definite": -1.0 * Gaussian(1.0),
    "difference": DIFFERENCE,
    "fourth power of the distance": Callable(fourth_power, INDEFINITE, pairwise=False),
}


@pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
@pytest.mark.parametrize("copies", [1, 30], ids=["small", "beyond a working set"])
@pytest.mark.parametrize("C", [1.0, 100.0])
@pytest.mark.parametrize("name", BAD)
def test_classification_ends_in_a_stationary_point(name, C, copies) -> None:
    kernel, Z = BAD[name], np.concatenate([X + 0.01 * i for i in range(copies)])
    y = np.tile(np.where(LABELS == "yes", 1.0, -1.0), copies)
    model = SVC(kernel=kernel, C=C).fit(Z, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    f = y - kernel(Z) @ beta
    lower, upper = np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0)
    assert abs(beta.sum()) < 1e-9 * C * len(y) and np.all(beta >= lower) and np.all(beta <= upper)
    assert model.fit_status_ == 0
    assert violation(f, beta, lower, upper) <= 1.1e-3
    # along every pair that may move, the objective falls no further than tol allows
    assert -0.5 * beta @ (f + y) <= 0


@pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
@pytest.mark.filterwarnings("ignore:NuSVC. nu = 0.6 is so small")
@pytest.mark.parametrize("name", BAD)
def test_the_other_machines_end_in_a_stationary_point(name) -> None:
    kernel = BAD[name]
    K = kernel(X)
    alone = SVC(kernel=kernel, fit_intercept=False).fit(X, LABELS)
    y, beta = np.where(LABELS == "yes", 1.0, -1.0), np.zeros(40)
    beta[alone.support_] = alone.dual_coef_[0]
    f = y - K @ beta
    assert np.all(f[beta * y < 1] * y[beta * y < 1] <= 1.1e-3) and np.all(f[beta != 0] * y[beta != 0] >= -1.1e-3)

    regression = SVR(kernel=kernel, epsilon=0.1).fit(X, Y)
    beta = np.zeros(40)
    beta[regression.support_] = regression.dual_coef_[0]
    residual = Y - regression.predict(X)
    assert np.all(residual[beta < 1 - 1e-9] <= 0.1 + 2e-3) and np.all(residual[beta > 1e-9] >= 0.1 - 2e-3)
    assert np.all(residual[beta > -1 + 1e-9] >= -0.1 - 2e-3) and np.all(residual[beta < -1e-9] <= -0.1 + 2e-3)

    one = OneClassSVM(kernel=kernel, nu=0.3).fit(X)
    beta = np.zeros(40)
    beta[one.support_] = one.dual_coef_[0]
    assert beta.sum() == pytest.approx(12)
    assert violation(-K @ beta, beta, np.zeros(40), np.ones(40)) <= 1.1e-3

    classes = NuSVC(kernel=kernel, nu=0.6).fit(X, LABELS).solutions_[0]
    order = np.concatenate([np.flatnonzero(c == LABELS) for c in ("no", "yes")])
    f, sign = -K[np.ix_(order, order)] @ classes.beta, np.where(LABELS[order] == "no", 1.0, -1.0)
    for s in (1.0, -1.0):
        mine = sign == s
        lower, upper = min(s, 0.0) * np.ones(mine.sum()), max(s, 0.0) * np.ones(mine.sum())
        assert s * classes.beta[mine].sum() == pytest.approx(0.6 * 40 / 2)
        assert violation(f[mine], classes.beta[mine], lower, upper) <= 1.1e-3


@pytest.mark.parametrize("model", [SVC(loss="squared_hinge"), SVR(loss="squared_epsilon_insensitive")])
def test_squared_losses_have_no_stationary_point_to_stop_at(model) -> None:
    with pytest.raises(ValueError, match=r"no upper bound, so the dual has no minimum; .* KreinSVC"):
        model.set_params(kernel=SIGMOID).fit(X, LABELS if is_classifier(model) else Y)


# ---- every estimator: refuse, warn, or have the right

RIGHT = {"KreinRidge", "KreinSVC"}
COLUMNS = {"RelevanceVectorClassifier", "RelevanceVectorMachine"}  # where kernels are features, and no norms
DROP_INS = {"KernelPCA", "KernelRidge", "NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR"}
OTHER_NEEDS = {
    "KernelDensity",
    "ManifoldRanking",
    "RobustKernelDensity",
    "SpectralClustering",
}  # integrals, values >= 0
WITHOUT_KERNEL = {"AnovaSpline", "LinearSVC", "LinearSVR", "SmoothingSpline", "ThinPlateSpline"}
AROUND_OTHERS = {"MarginalTransfer", "MultipleKernel", "SemiSupervised"}
ESTIMATORS = {
    name: cls
    for name, cls in ((name, getattr(mercer, name)) for name in mercer.__all__)
    if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and hasattr(cls, "fit")
}


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_who_takes_an_indefinite_kernel(name) -> None:
    cls = ESTIMATORS[name]
    parameters = inspect.signature(cls).parameters
    argument = {"kernel", "affinity"} & set(parameters)
    if not argument:
        assert name in WITHOUT_KERNEL | AROUND_OTHERS
        return
    model = cls(**{argument.pop(): Sigmoid(1.0, -0.5)})
    if name == "KernelPCA":
        model.set_params(n_components=2)
    target = LABELS if is_classifier(model) else X[:, :2] if name == "KernelCCA" else Y
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(X, target)
            refusal = None
        except ValueError as error:
            refusal = str(error)
    warned = [str(w.message) for w in caught if issubclass(w.category, IndefiniteKernelWarning)]
    if name in RIGHT | COLUMNS:
        assert refusal is None and not warned
    elif name in DROP_INS:
        assert refusal is None and len(warned) == 1
        assert all(word in warned[0] for word in (name, "INDEFINITE", "Flipped", "KreinSVC"))
    else:
        assert refusal is not None and refusal.startswith(name), refusal
        if name not in OTHER_NEEDS:
            assert all(word in refusal for word in ("INDEFINITE", "Flipped", "KreinSVC", "SVC, which")), refusal


def test_several_kernels_have_the_right_that_the_estimator_has() -> None:
    kernel = Sigmoid(1.0, -0.5)
    assert MultipleKernel(KreinSVC(), [kernel]).fit(X, LABELS).score(X, LABELS) > 0.5
    with pytest.warns(IndefiniteKernelWarning, match="SVC: the kernel .* is INDEFINITE"):
        MultipleKernel(SVC(), [kernel]).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"KernelLogisticRegression: .* INDEFINITE.* Flipped.* KreinSVC.* SVC, which"):
        MultipleKernel(KernelLogisticRegression(), [kernel]).fit(X, LABELS)
    with pytest.raises(ValueError, match=r"MultipleKernel: .* compares norms.* Flipped.* KreinSVC"):
        MultipleKernel(SVC(), [kernel, Gaussian(1.0)], method="simplemkl").fit(X, LABELS)


@pytest.mark.parametrize("estimator", [SVC(), KreinSVC(), KernelLogisticRegression()], ids=lambda e: type(e).__name__)
def test_a_penalty_along_a_graph_needs_a_norm_to_add_to(estimator) -> None:
    with pytest.raises(ValueError, match=r"Deformed: .* INDEFINITE.* Flipped.* KreinSVC.* SVC, which"):
        SemiSupervised(estimator.set_params(kernel=Sigmoid(1.0, -0.5))).fit(X, LABELS)
    corrected = SemiSupervised(estimator.set_params(kernel=Flipped(Sigmoid(1.0, -0.5)))).fit(X, LABELS)
    assert corrected.score(X, LABELS) > 0.5


def test_matrices_that_are_nearly_singular_are_warned_of_by_name():
    X = np.column_stack([1.7e9 + 1e4 * np.arange(20.0), np.sin(np.arange(20.0))])
    with pytest.warns(RoundingWarning, match="^KreinRidge: The matrix K"):
        model = KreinRidge("gaussian*linear", alpha=9.0, fit_intercept=True).fit(X, X[:, 1])
    np.testing.assert_allclose(model.predict(X), X[:, 1], atol=1e-6)  # alpha is nothing beside values of 3e18


@pytest.mark.parametrize("model", [KreinSVC(kernel="precomputed"), KreinRidge(kernel="precomputed")], ids=str)
def test_a_matrix_that_is_not_square_is_refused(model):
    with pytest.raises(ValueError, match=r"^Krein\w+, Precomputed: the training matrix has shape \(4, 6\)"):
        model.fit(np.ones((4, 6)), [0, 1, 0, 1])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_samples_are_our_own(dtype) -> None:
    """An indefinite kernel's function is written with all samples, which the caller may overwrite."""
    data = np.random.default_rng(1)
    X = data.normal(size=(40, 2)).astype(dtype)
    y, given = X[:, 0] > 0, X.copy()
    model = KreinSVC("sigmoid(scale=1.0, offset=-1.0)").fit(given, y)
    before = model.decision_function(X)
    assert model.inertia_.negative > 0
    given[:] = 7
    np.testing.assert_array_equal(model.decision_function(X), before)
