"""What a fitted estimator tells of itself: answers from values, a system, a problem, and its parameters frozen."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyRegressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from tests.methods.test_sklearn import ESTIMATORS

from mercer import (
    SVC,
    SVR,
    KernelInterpolator,
    KernelMachine,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    LinearSVC,
    MarginalTransfer,
    MultipleKernel,
    MultitaskSVC,
    NuSVC,
    OneClassSVM,
    SemiSupervised,
    SmoothingSpline,
    ThinPlateSpline,
)
from mercer.methods.base import NoProblemError, frozen, with_kernel
from mercer.solvers.linear import System, solve

rng = np.random.default_rng(3)
X = rng.uniform(-2, 2, size=(40, 2))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=40)
LABELS = np.where(y > 0, "b", "a")
THREE = np.digitize(y, [-0.4, 0.4])


PAIRS = SVC(decision_function_shape="ovo")
MORE = [
    *(PAIRS, SVC(), SVC(break_ties=True), SVC(multi_class="ovr"), LinearSVC()),
    SVC(calibration="cv", decision_function_shape="ovo"),
    *(SemiSupervised(PAIRS), MarginalTransfer(PAIRS)),
]
PREDICTORS = [e for e in (*ESTIMATORS, *MORE) if hasattr(e, "predict")]


@pytest.mark.parametrize("target", [LABELS, THREE], ids=["two", "three"])
@pytest.mark.filterwarnings("ignore:MarginalTransfer. there is only one sample")
@pytest.mark.parametrize("estimator", PREDICTORS, ids=lambda e: type(e).__name__)
def test_answers_are_decided_from_values(estimator, target) -> None:
    tags = get_tags(estimator)
    if target is THREE and is_classifier(estimator) and not tags.classifier_tags.multi_class:
        pytest.skip("it is for two classes")
    target = target if is_classifier(estimator) else y - y.min()
    data = X @ X.T if tags.input_tags.pairwise else np.abs(X) if tags.input_tags.positive_only else X
    model = clone(estimator).fit(data, target)
    if hasattr(model, "calibration_") and hasattr(model, "decision_function_shape"):
        model.set_params(decision_function_shape="ovo")  # the most probable class does not follow from votes
    values = next(getattr(model, name) for name in ("decision_function", "values", "predict") if hasattr(model, name))
    assert np.array_equal(model.decide(values(data)), model.predict(data))
    form = model.fitted_form()
    if hasattr(form, "decision_function_shape"):
        form.set_params(decision_function_shape="ovo", break_ties=False)  # votes are not values of a function
    if is_classifier(form) and form.decision is not None:
        values = np.asarray(form.decision(form._check_new(data)))
        assert np.array_equal(form.decide(values), model.predict(data))


@pytest.mark.parametrize("ties", [False, True])
def test_votes_of_four_classes_are_decided(ties) -> None:
    Z = np.random.default_rng(1).normal(size=(200, 2))
    model = SVC(C=0.1, break_ties=ties).fit(Z, np.digitize(Z[:, 0] * Z[:, 1], [-0.5, 0, 0.5]))
    values = model.decision_function(Z)
    assert np.array_equal(model.decide(values), model.predict(Z))
    with pytest.raises(ValueError, match=r"values have shape \(1, 6\), expected \(n, 4\) for 4 classes; pass the"):
        model.decide(np.zeros((1, 6)))
    calibrated = SVC(calibration="cv").fit(Z, model.predict(Z))
    with pytest.raises(
        ValueError, match="votes do not determine the most probable class; set decision_function_shape='ovo'"
    ):
        calibrated.decide(calibrated.decision_function(Z))


@pytest.mark.parametrize("model", [c for c in PREDICTORS if is_classifier(c)], ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore:MarginalTransfer. there is only one sample")
def test_values_that_no_decision_function_gives_are_refused(model) -> None:
    model, tags = clone(model), get_tags(model)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        model.decide([0.5])
    many = tags.classifier_tags.multi_class
    model.fit(X @ X.T if tags.input_tags.pairwise else np.abs(X), THREE if many else LABELS)
    for wrong in (np.zeros(3) if many else np.zeros((3, 3)), np.zeros((3, 9)), np.zeros((1, 2, 2)), np.zeros(())):
        with pytest.raises(ValueError, match=r"values have shape \(.*\), expected \(n,"):
            model.decide(wrong)
    with pytest.raises(TypeError, match=r"values hold str\d+, expected numbers"):
        model.decide(["a"])


def test_values_may_be_lists() -> None:
    assert SVC().fit(X, LABELS).decide([0.5, -1]).tolist() == ["b", "a"]
    assert LinearSVC().fit(X, THREE).decide([[0, 2, 1]]) == 1
    assert OneClassSVM().fit(X).decide([0, -1]).tolist() == [1, -1]
    assert KernelRidge().fit(X, y).decide([0.5]).tolist() == [0.5]


def test_a_value_of_zero_is_decided_as_by_predict() -> None:
    flat, target = np.zeros((4, 1)), [0, 0, 1, 1]
    assert LinearSVC(fit_intercept=False).fit(flat, target).decide(np.zeros(1)) == 0  # LIBLINEAR's rule
    assert SVC(kernel="linear").fit(X, LABELS).decide(np.zeros(1)) == "b"


def test_the_fitted_form_is_the_estimator_that_answers() -> None:
    model = MultipleKernel(KernelRidge(), kernels=["linear", "gaussian"]).fit(X, y)
    assert model.fitted_form() is model.estimator_ and model.estimator_.fitted_form() is model.estimator_


def test_labels_of_a_set_of_labels_are_decided_from_values() -> None:
    model = MultitaskSVC().fit(X, np.stack([y > 0, X[:, 1] > 0], axis=1).astype(int))
    answers = model.predict(X)
    assert answers.shape == (40, 2) and np.array_equal(model.decide(model.decision_function(X)), answers)


def test_numbers_are_decided_from_values() -> None:
    counts = np.random.default_rng(0).poisson(np.exp(X[:, 0]))
    model = KernelMachine("poisson").fit(X, counts)
    np.testing.assert_array_equal(model.decide(model.values(X)), np.exp(model.function_(X)))
    ridge = KernelRidge(kernel="rbf").fit(X, y)
    assert np.array_equal(ridge.decide(ridge.function_(X)), ridge.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(0.3, kernel="gaussian"),
        KernelRidge(0.3, kernel="gaussian", fit_intercept=True),
        KernelRidgeCV([0.1, 1.0]),
        ThinPlateSpline(),
        KernelInterpolator(),
        KernelMachine("squared", alpha=0.3, free=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_linear_form_is_the_system_that_was_solved(model) -> None:
    model.fit(X, y)
    form = model.linear_form(X, y)
    found = solve(System(form.gram, form.b, float(form.alphas[0]), form.H, form.weight))
    values = form.gram @ found.coefficients + (0.0 if form.H is None else form.H @ found.free)
    np.testing.assert_allclose(values[:, 0], model.predict(X), atol=1e-8)
    assert form.points(X).shape == X.shape


def test_what_is_not_linear_has_no_linear_form() -> None:
    assert SVC().fit(X, LABELS).linear_form(X, LABELS) is None
    assert KernelMachine("huber").fit(X, y).linear_form(X, y) is None
    assert SmoothingSpline().fit(X[:, 0], y).linear_form(X[:, 0], y) is None  # it is solved by a sweep


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (KernelMachine("huber", alpha=0.1), y),
        (KernelMachine("logistic", alpha=0.1, free=0), LABELS),
        (SVC(tol=1e-8), LABELS),
        (SVC(tol=1e-8, class_weight="balanced", fit_intercept=False, loss="squared_hinge"), LABELS),
        (SVR(tol=1e-8), y),
        (KernelQuantileRegression(quantiles=0.3), y),
    ],
    ids=lambda m: type(m).__name__ if hasattr(m, "fit") else "",
)
def test_the_problem_that_was_solved_has_this_solution(model, target) -> None:
    """No nearby coefficients and offsets have a lower objective: it is convex."""
    found = model.fit(X, target).solved_problem(X, target)
    p, a = found.problem, found.coefficients

    def objective(a, c):
        smooth = p.gram @ a
        return p.total(smooth + p.free_part(c)) + 0.5 * p.alpha * float(a @ smooth)

    c = None if p.H is None else np.linalg.lstsq(p.H, found.values - p.gram @ a, rcond=None)[0]
    least = objective(a, c)
    for _ in range(20):
        da = p.projected(rng.normal(size=a.shape)) * (np.abs(a).max() + 0.1) * 0.1
        dc = None if c is None else c + 0.1 * rng.normal(size=c.shape)
        assert objective(a + da, dc) >= least - 1e-6 * (1 + abs(least))


@pytest.mark.parametrize(
    ("model", "target", "words"),
    [
        (SVC(), THREE, "more than two classes"),
        (SVC(C=np.inf, kernel="rbf", gamma=10), LABELS, "hard margin"),
        (NuSVC(), LABELS, "does not minimise a single loss"),
        (KernelMachine("huber", penalty="norm"), y, "squared penalty"),
    ],
    ids=["classes", "hard", "nu", "penalty"],
)
def test_a_fit_that_is_no_problem_says_why(model, target, words) -> None:
    with pytest.raises(NoProblemError, match=words):
        model.fit(X, target).solved_problem(X, target)


@pytest.mark.parametrize("model", [SVC(), SVR()], ids=["SVC", "SVR"])
def test_a_problem_needs_the_data_of_the_fit(model) -> None:
    target = np.arange(len(X)) % 2
    model.fit(X, target)
    name, n = type(model).__name__, len(X)
    for words, arguments in {
        "X has 3 samples, fewer than the fit; pass the X of the fit": (X[:3], target[:3]),
        f"y has 3 entries for {n} samples; pass those of the fit": (X, target[:3]),
        f"sample_weight has 3 entries for {n} samples; pass those of the fit": (X, target, np.ones(3)),
    }.items():
        with pytest.raises(ValueError, match=f"^{name}: {words}"):
            model.solved_problem(*arguments)
    if name == "SVC":
        with pytest.raises(ValueError, match=r"^SVC: y holds labels other than .*; pass the y of the fit"):
            model.solved_problem(X, target + 1)


@pytest.mark.parametrize("dropped", [0, 1, 2])
def test_a_class_without_weight_is_no_part_of_the_problem(dropped) -> None:
    target = np.arange(len(X)) % 3
    weight = (target != dropped).astype(float)
    problem = SVC().fit(X, target, weight).solved_problem(X, target, weight).problem
    assert np.array_equal(problem.weight == 0, target == dropped)


def test_frozen_parameters_give_the_same_fit() -> None:
    for model, target in [(KernelRidgeCV([0.1, 1.0]), y), (KernelRidgeClassifierCV([0.1, 1.0]), LABELS)]:
        model.fit(X, target)
        again = frozen(model, target).fit(X, target)
        np.testing.assert_allclose(again.function_(X), model.function_(X), atol=1e-10)
    balanced = frozen(SVC(class_weight="balanced").fit(X, LABELS), LABELS)
    assert (
        balanced.class_weight.keys() == {"a", "b"}
        and balanced.gamma == "scale"
        and not isinstance(balanced.kernel, str)
    )
    assert type(frozen(DummyRegressor().fit(X, y), y)) is DummyRegressor
    assert with_kernel(SVC(kernel="poly", degree=2, C=3.0), "gaussian(2.0)").get_params()["degree"] == 3
