"""Laws over all estimators: a refusal is one sentence with the name of the estimator, the argument and its value."""

import datetime
import inspect
import re
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.methods.test_sklearn import ESTIMATORS

import mercer
from mercer import SVC, KernelDensity, LinearSVC, LinearSVR, SmoothingSpline, SpectralClustering, methods
from mercer.context import Context, Status
from mercer.evaluation import Evaluator
from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Gaussian
from mercer.selection import KernelSearchCV, svm_path
from mercer.solvers import decomposition
from mercer.solvers.eigen import direct
from mercer.solvers.fit import working_set
from mercer.solvers.linear import cholesky

rng = np.random.default_rng(5)
X = rng.normal(size=(20, 2))
TARGETS = X[:, 0] + 0.1 * rng.normal(size=20)
LABELS = (X[:, 0] > 0).astype(int)
EVERY = [*ESTIMATORS, LinearSVC(), LinearSVR(), SmoothingSpline()]
# of each class one, of those that are both one of each kind
FIRST = {(type(e), is_classifier(e)): e for e in reversed(EVERY) if getattr(e, "kernel", None) != "precomputed"}


def those(suits):
    chosen = [e for e in FIRST.values() if suits(e)]
    return pytest.mark.parametrize("estimator", chosen, ids=lambda e: type(e).__name__)


def data(estimator):
    if getattr(estimator, "coupling", None) == "learned":
        return X, X  # as many tasks as targets
    x = X[:, 0] if isinstance(estimator, SmoothingSpline) else X
    return x, LABELS if is_classifier(estimator) else TARGETS


def refusal(estimator, X, y, **options):
    """The message of the error of a fit, which starts with the name of the estimator."""
    with pytest.raises((TypeError, ValueError)) as error:
        clone(estimator).fit(X, y, **options)
    message = str(error.value)
    assert message.startswith(f"{type(estimator).__name__}: ") and message.endswith(".") and "\n" not in message
    return message.split(": ", 1)[1]


def test_every_method_is_here():
    made = {getattr(methods, name) for name in methods.__all__}
    every = {cls for cls in made if isinstance(cls, type) and hasattr(cls, "fit")}
    assert every - {type(e) for e in EVERY} == {methods.SemiSupervised}  # which fits the estimator that it is given


REAL = "give real numbers"
MISSING = "a missing value; impute such values, or drop those samples."
BEYOND = "which is beyond the floating-point range;"


def with_one(value, values=TARGETS):
    """The same targets, or rows, as objects, one of which is another value."""
    made = values.astype(object)
    made.ravel()[3] = value
    return made


@those(is_regressor)
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (np.array(["no", "yes"] * 10), f"y holds text, such as 'no'; {REAL}, or use a classifier for labels."),
        (np.array([0.5, "no"] * 10, dtype=object), f"y holds text, such as 'no'; {REAL}, or use a classifier"),
        (np.full(20, "0.5"), f"y holds text, such as '0.5'; {REAL}"),
        (TARGETS + 1j, f"y holds complex128 values; {REAL}."),
        (np.full(20, np.datetime64("2020-01-01")), f"y holds datetime64[D] values; {REAL}."),
        (with_one(None), f"y holds None, {MISSING}"),
        (list(with_one(None)), f"y holds None, {MISSING}"),
        (with_one(np.nan), f"y holds nan, {MISSING}"),
        (with_one(pd.NA), f"y holds <NA>, {MISSING}"),
        (with_one(np.inf), f"y holds inf, {BEYOND}"),
        (with_one(10**400), f"y holds 1{'0' * 79}, {BEYOND}"),
        (with_one(10**5000), f"y holds an integer of thousands of digits, {BEYOND}"),
        (with_one({1}), "y holds {1}, but each entry of this argument must be numeric, not a string or set;"),
        (with_one(np.longdouble("1e4000")).astype(np.longdouble), "Input y contains infinity or a value too large"),
        (csr_array(TARGETS[:, None]), "y is sparse; give an array, y.toarray()."),
        ([[1, 2], [3]] * 10, "y has rows of unequal length;"),
    ],
    ids=[
        *("text", "mixed", "numerals", "complex", "dates", "None", "list", "NaN", "NA", "infinity", "large", "huge"),
        *("set", "long", "sparse", "uneven"),
    ],
)
def test_targets_that_are_no_numbers(estimator, y, words):
    assert refusal(estimator, data(estimator)[0], y).startswith(words)


@those(is_classifier)
@pytest.mark.parametrize(
    ("y", "words"),
    [
        (with_one(None, LABELS), "y holds None, a missing label; set a label, or drop those samples."),
        (with_one(None, np.where(LABELS, "a", "b")), "y holds None, a missing label;"),
        (with_one(pd.NA, np.where(LABELS, "a", "b")), "y holds <NA>, a missing label;"),
        (with_one(1, np.where(LABELS, "a", "b")), "y holds labels that are neither all text nor all numbers,"),
        (np.where(LABELS, b"a", b"b"), "y holds labels that are neither all text nor all numbers, np.bytes_(b'"),
        ([[1, 2], [3]] * 10, "y has rows of unequal length;"),
    ],
    ids=["None", "None beside text", "NA", "mixed", "bytes", "uneven"],
)
def test_labels_that_are_none(estimator, y, words):
    assert refusal(estimator, data(estimator)[0], y).startswith(words)


@those(lambda e: not isinstance(e, methods.KernelCCA))
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (with_one(None, X), f"X holds None, {MISSING}"),
        (with_one(pd.NA, X), f"X holds <NA>, {MISSING}"),
        (with_one(10**400, X), f"X holds 1{'0' * 79}, {BEYOND}"),
        ([[1, 2], [3]] * 10, "X has rows of unequal length; give one row of equal length per sample."),
        ([{1, 2}, {2}] * 10, "X holds {1, 2}, but each entry of this argument must be numeric, not a string or set"),
    ],
    ids=["None", "NA", "large", "uneven", "sets"],
)
def test_samples_that_are_no_numbers(estimator, bad, words):
    assert refusal(estimator, bad, data(estimator)[1]).startswith(words)


@those(lambda e: "sample_weight" in inspect.signature(e.fit).parameters)
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.where(np.arange(20) == 3, -1.0, 1), "sample_weight[3] = -1 must be a finite number >= 0;"),
        (np.where(np.arange(20) == 3, np.nan, 1), "sample_weight[3] = nan must be a finite number >= 0;"),
        (np.where(np.arange(20) == 3, np.inf, 1), "sample_weight[3] = inf must be a finite number >= 0;"),
        (np.ones(5), "sample_weight has shape (5,), expected (20,): give one number per sample."),
        (np.ones((20, 1)), "sample_weight has shape (20, 1), expected (20,)"),
        (np.zeros(20), "sample_weight is zero for all 20 samples; at least one must be positive."),
        (np.full(20, 1e200), "sample_weight goes up to 1e+200, whose square overflows or underflows; divide"),
        (np.full(20, 1e-320), "sample_weight goes up to 1e-320, whose square overflows or underflows; divide"),
        (np.full(20, "a"), "sample_weight holds <U1 values; give 20 numbers >= 0."),
        ([[1, 2], [3]], "sample_weight holds object values; give 20 numbers >= 0."),
    ],
    ids=["negative", "nan", "infinite", "short", "column", "zero", "large", "small", "text", "ragged"],
)
def test_weights(estimator, weight, words):
    assert refusal(estimator, *data(estimator), sample_weight=weight).startswith(words)


def test_weights_of_a_frame_of_mixed_columns_are_numbers():
    weight = np.linspace(0.5, 2.0, 20)
    given, plain = (SVC().fit(X, LABELS, sample_weight=w) for w in (weight.astype(object), weight))
    np.testing.assert_array_equal(given.dual_coef_, plain.dual_coef_)


def switches(estimator):
    parameters = inspect.signature(type(estimator)).parameters.values()
    return [p.name for p in parameters if isinstance(p.default, bool)]


@those(switches)
def test_switches_are_no_text(estimator):
    for name in switches(estimator):
        message = refusal(clone(estimator).set_params(**{name: "False"}), *data(estimator))
        assert message.startswith(f"{name} = 'False' ") and "True" in message


@those(lambda e: "random_state" in e.get_params())
@pytest.mark.parametrize("value", ["a", -1, 1.5], ids=str)
def test_seeds(estimator, value):
    message = refusal(clone(estimator).set_params(random_state=value), *data(estimator))
    assert message.startswith(f"random_state = {value!r} must be None, an integer from 0 to 2**32 - 1")


@those(lambda e: True)
def test_a_value_of_the_wrong_kind_is_a_value_error_too(estimator):
    """As in scikit-learn, whose callers catch ValueError."""
    x, y = data(estimator)
    with pytest.raises(ValueError, match=r"X holds text such as 'a', expected numbers") as error:
        clone(estimator).fit(np.full(x.shape, "a"), y)
    assert isinstance(error.value, TypeError)


FRAME = pd.DataFrame({"a": rng.normal(size=20), "b": 0})


@those(lambda e: "kernel" in e.get_params() or isinstance(e, (SmoothingSpline, LinearSVC, SpectralClustering)))
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (
            FRAME.assign(b=pd.date_range("2020", periods=20)),
            "column 'b' of X holds dates, expected numbers; convert them",
        ),
        (FRAME.assign(b=pd.to_timedelta(np.arange(20), "h")), "column 'b' of X holds durations, expected numbers; div"),
        (FRAME.assign(b="Rome"), "column 'b' of X holds text such as 'Rome', expected numbers; encode it"),
        (FRAME.astype({"b": str}), "column 'b' of X holds text such as '0', expected numbers; convert it"),
        (np.full((20, 2), datetime.date(2020, 1, 1)), "X holds dates, expected numbers; convert them to elapsed time"),
        (None, "X = None, expected numbers; give an array or data frame"),
        ("data.csv", "X = 'data.csv', expected numbers; give an array or data frame"),
        ({"a": [1.0]}, "X is a dict, expected numbers; give an array or data frame"),
    ],
    ids=lambda v: v[:30] if isinstance(v, str) else "",
)
def test_what_is_no_table_of_numbers_is_named_with_its_own_remedy(estimator, bad, words):
    with pytest.raises(ValueError, match=rf"^{type(estimator).__name__}(, X)?: {re.escape(words)}"):
        clone(estimator).fit(bad, data(estimator)[1])


@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
def test_text_is_no_affinity(affinity):
    with pytest.raises(ValueError, match=r"SpectralClustering: X holds text such as '1'"):
        SpectralClustering(2, affinity=affinity).fit(np.full((20, 2), "1"))


@pytest.mark.parametrize("estimator", [methods.KernelMachine(), methods.OnlineKernelMachine()], ids=str)
def test_scores_before_a_fit(estimator):
    with pytest.raises(NotFittedError):
        estimator.score(X, TARGETS)


@those(lambda e: {"C", "tol"} <= set(e.get_params()))
@pytest.mark.parametrize("name", ["C", "tol"])
def test_positive_numbers(estimator, name):
    message = refusal(clone(estimator).set_params(**{name: "a"}), *data(estimator))
    assert re.fullmatch(rf"{name} = 'a' must be a finite number > 0(, or inf)?\.", message)


def test_what_class_weights_may_be():
    for value in ("a", 3, np.ones(2)):
        message = refusal(SVC(class_weight=value), X, LABELS)
        assert message == f"class_weight = {value!r} is unknown; choose None, 'balanced' or a dict of weights."


def test_parameters_of_a_metric():
    assert refusal(KernelDensity(metric_params=3), X, None) == "metric_params = 3 must be a dict or None."


def test_more_eigenvectors_than_samples():
    model = SpectralClustering(2, n_components=21)
    assert refusal(model, X, None) == "n_components = 21 exceeds the 20 samples; give at most 20, or None."


@those(lambda e: "class_weight" in e.get_params() and is_classifier(e))
@pytest.mark.parametrize("value", [-1, -1e-300, np.nan, np.inf, "a", None], ids=str)
def test_class_weights(estimator, value):
    message = refusal(clone(estimator).set_params(class_weight={0: 1.0, 1: value}), X, LABELS)
    assert message.startswith(f"class_weight[1] = {value!r} must be a finite number >= 0")


def test_class_weights_of_paths_and_searches():
    with pytest.raises(ValueError, match=r"SVC: class_weight\[1\] = -1 must be"):
        svm_path(X, LABELS, [1.0], class_weight={1: -1})
    for value in (-1, np.nan, np.inf):
        search = KernelSearchCV(methods.SVC(class_weight={1: value}), {"C": [0.5, 1.0]}, cv=2, error_score="raise")
        with pytest.raises(ValueError, match=r"SVC: class_weight\[1\] = .* must be a finite number >= 0"):
            search.fit(X, LABELS)


@those(lambda e: "n_jobs" in e.get_params())
@pytest.mark.parametrize("value", ["a", 0, 1.5, True], ids=str)
def test_numbers_of_threads(estimator, value):
    message = refusal(clone(estimator).set_params(n_jobs=value), *data(estimator))
    assert message == f"n_jobs = {value!r} must be a number of threads (negative: counted from the end) or None."


# ---- every argument of every estimator

ANYTHING = {
    "array": np.ones(3),
    "object": object(),
    "text": "a",
    "None": None,
    "nan": float("nan"),
    "inf": float("inf"),
    "-1": -1,
    "0": 0,
    "2.5": 2.5,
    "True": True,
    "matrix": np.ones((2, 2)),
    "empty": [],
    "list": [1, 2],
    "dict": {},
    "class": object,
    "10**400": 10**400,
    "complex": 1j,
    "bytes": b"a",
}
# sentences of Python and NumPy
FOREIGN = re.compile(
    "truth value|takes no arg|not iterable|unpack|not convert|no attribute|argument must|unsupported op"
)


def check_argument(estimator, name, value):
    """A fit with this value works, and predicts numbers, or the refusal names the estimator and the argument."""
    model = clone(estimator).set_params(**{name: value})
    x, y = data(estimator)
    try:
        model.fit(x, y)
    except (TypeError, ValueError) as error:
        message = str(error)
        assert re.match(rf"{type(model).__name__}\b", message) and re.search(rf"\b{name}", message), message
        assert not FOREIGN.search(message), message
        return
    for answer in ("predict", "transform", "score_samples"):
        if hasattr(model, answer):
            values = np.concatenate([np.ravel(part) for part in getattr(model, answer)(x)])
            assert values.dtype.kind not in "fc" or not np.isnan(values).any(), (name, value)


def check_arguments(estimator, some):
    for name in inspect.signature(type(estimator)).parameters:
        for word in some:
            check_argument(estimator, name, ANYTHING[word])


@pytest.mark.filterwarnings("ignore::UserWarning")
@those(lambda e: True)
def test_no_argument_leads_to_a_foreign_sentence(estimator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check_arguments(estimator, ["array", "object"])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@those(lambda e: True)
def test_any_value_of_any_argument_is_taken_or_refused_in_a_sentence(estimator, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a text is a place to write to
    check_arguments(estimator, list(ANYTHING)[2:])


def test_a_kernel_that_is_none_is_called_by_the_name_of_its_parameter():
    assert refusal(SpectralClustering(affinity=3), X, None).startswith("affinity = 3 must be a Kernel")
    with pytest.raises(ValueError, match=r"^SpectralClustering: affinity = 'a': unknown name 'a'"):
        SpectralClustering(affinity="a").fit(X)
    model = methods.MarginalTransfer(methods.KernelRidge(), 3)
    assert refusal(model, X, TARGETS).startswith("distribution_kernel = 3 must be a Kernel")
    assert refusal(methods.KernelRidge(kernel=object), X, TARGETS).startswith("kernel = object is a class; pass an")


def test_errors_of_parts_name_the_estimator():
    """Whatever part refuses, the message starts with the estimator that was asked."""
    twice = [lambda A: A[:, 0], lambda A: 2 * A[:, 0]]
    for model, words in {
        methods.KernelRidge(kernel="gaussian", free=twice): "free: its 2 functions are linearly dependent",
        methods.KernelRidge(kernel="gaussian", free=[lambda A: np.nan * A[:, 0]]): "free: .* returned NaN or infinity",
        methods.KernelKMeans(2, kernel="constant(value=1)"): "n_clusters = 2 exceeds",
        methods.KernelRidge(kernel=lambda a, b: np.nan): "returned nan for one pair",
        methods.KernelRidge(kernel="gaussian(lengthscale=-1)"): "lengthscale = -1 must be > 0",
        SVC(class_weight={5: 1.0}): "class_weight",
    }.items():
        with pytest.raises(ValueError, match=rf"^{type(model).__name__}(, \w+)*: .*{words}"):
            model.fit(X, LABELS)


@pytest.mark.filterwarnings("ignore:KernelRidge. alpha")
def test_warnings_of_parts_name_the_estimator_and_the_line_that_called_it():
    model = methods.KernelRidge(1e-18, kernel="gaussian(lengthscale=30.0)", solver="cholesky")
    with pytest.warns(UserWarning, match=r"^KernelRidge: The matrix K \+ shift is not positive definite") as caught:
        model.fit(X, TARGETS)
    assert {w.filename for w in caught} == {__file__}


@pytest.mark.parametrize(
    "call",
    [
        lambda: SVC(max_iter=1).fit(X, LABELS),
        lambda: make_pipeline(StandardScaler(), SVC(max_iter=1)).fit(X, LABELS),
        lambda: GridSearchCV(SVC(max_iter=1), {"C": [1.0]}, cv=2).fit(X, LABELS),
        lambda: methods.KernelPCA(1, kernel="sigmoid", gamma=1e-3, coef0=-1.0).fit_transform(X),
        lambda: methods.SpectralClustering(2, affinity="precomputed").fit_predict(np.kron(np.eye(2), np.ones((3, 3)))),
    ],
)
def test_warnings_point_to_the_line_of_the_user_also_through_scikit_learn(call):
    with pytest.warns(UserWarning) as caught:
        call()
    assert {w.filename for w in caught} == {__file__}


PUBLIC = ("predict_proba", "decision_function", "score", "denoise", "project", "retrieve", "influence")
POSSIBLE = [
    (model, name)
    for model in (
        SVC(calibration="cv"),
        methods.KernelLogisticRegression(),
        methods.KernelKMeans(2),
        methods.KernelPCA(kernel="rbf"),
        methods.ManifoldRanking(),
        methods.KernelMachine(),
    )
    for name in PUBLIC
    if hasattr(model, name)
]


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("model", "name"), POSSIBLE, ids=str)
def test_errors_of_every_public_method_name_the_estimator(model, name):
    method = getattr(clone(model).fit(X, LABELS), name)
    required = [p for p in inspect.signature(method).parameters.values() if p.default is p.empty]
    with pytest.raises(ValueError, match=rf"^{type(model).__name__}\b.*NaN"):
        method(*[np.full_like(X, np.nan), LABELS][: len(required)])


# ---- the kernel 0, whose space holds the function 0 alone, and whose factors have no columns


@pytest.mark.parametrize("gram", ["dense", "lazy", Nystrom(), IncompleteCholesky()], ids=str)
def test_no_function_is_left_of_the_zero_kernel(gram):
    ridge = methods.KernelRidge(kernel="0*linear", gram=gram)
    np.testing.assert_array_equal(ridge.fit(X, TARGETS).predict(X), 0.0)
    ridge = ridge.set_params(fit_intercept=True)
    np.testing.assert_allclose(ridge.fit(X, TARGETS).predict(X), TARGETS.mean(), rtol=1e-12)


REFUSE = methods.KernelInterpolator, methods.KernelFisher, methods.KernelPLS, methods.KernelPLSClassifier
ZERO = "0*linear + 0*gaussian(lengthscale=2.0)"


@pytest.mark.filterwarnings("ignore:.*the margin ρ vanishes")
@those(lambda e: "kernel" in e.get_params() and (is_regressor(e) or is_classifier(e)))
@pytest.mark.parametrize("gram", ["auto", "nystrom"])
def test_predictions_of_the_zero_kernel_are_constant(estimator, gram):
    model = clone(estimator).set_params(kernel=ZERO)
    if "gram" not in model.get_params() and gram != "auto":
        return
    model = model.set_params(gram=gram) if "gram" in model.get_params() else model
    if isinstance(model, REFUSE):
        words = "no function|there is no component|separates them"
        with pytest.raises(ValueError, match=rf"{type(model).__name__}: .*({words})"):
            model.fit(*data(model))
    else:
        assert len(np.unique(model.fit(*data(model)).predict(X))) == 1


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (methods.KernelPCA(2, kernel=ZERO, gram=Nystrom()), "zero on all samples, so there is no component"),
        (methods.KernelICA(2, kernel=ZERO), r"KernelICA: kernel = 0.* is zero on all samples; choose another\."),
        (methods.KernelDimensionReduction(1, kernel=ZERO), "is zero on all samples; choose another"),
        (methods.KernelCCA(kernel=ZERO, gram=Nystrom()), "the view is constant"),
    ],
    ids=lambda thing: type(thing).__name__ if hasattr(thing, "fit") else "",
)
def test_no_component_is_left_of_the_zero_kernel(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, TARGETS)


# ---- why a fit ended early, and what helps

ROUNDS = (
    *(methods.SVC, methods.NuSVC, methods.SVR, methods.NuSVR, methods.OneClassSVM, methods.KreinSVC),
    *(methods.KernelLogisticRegression, methods.ImportVectorMachine, methods.KernelQuantileRegression),
    *(methods.KernelExpectileRegression, methods.RobustKernelRegression, methods.RobustKernelDensity),
    *(methods.RelevanceVectorMachine, methods.RelevanceVectorClassifier, methods.KernelDimensionReduction),
    *(methods.KernelICA, methods.KernelKMeans, methods.KernelPLS, methods.KernelPLSClassifier, methods.AnovaSpline),
    methods.KernelFeatureAnalysis,
)
LONG = [
    *(e for e in FIRST.values() if isinstance(e, ROUNDS)),
    # of those whose defaults are closed forms, or fits of other estimators
    methods.KernelRidgeCV(kernel="gaussian", alpha="marginal_likelihood", optimize=True),
    methods.KernelMachine("huber", kernel="gaussian"),
    methods.KernelMachine("hinge", kernel="gaussian", solver="working_set"),
    methods.MultipleKernel(methods.KernelRidge(), ["gaussian", "linear"], method="simplemkl"),
    methods.MultitaskKernelRidge(1.0, kernel="gaussian", coupling="learned"),
]


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (Status.INTERRUPTED, "The best so far is kept; fit again to finish."),
        (Status.TIME_BUDGET, "Raise time_budget."),
        (Status.STOPPED, "The best so far is kept; let the callback stop later."),
    ],
)
@pytest.mark.parametrize("estimator", LONG, ids=lambda e: type(e).__name__)
def test_the_remedy_suits_the_reason(estimator, status, advice, monkeypatch):
    monkeypatch.setattr(Context, "__call__", lambda self, state=None: status)
    monkeypatch.setattr(Context, "check", lambda self: None)  # also where a direct part would have nothing to keep
    monkeypatch.setattr(Context, "called_off", False)
    monkeypatch.setattr(working_set, "SMALL", 0)  # several rounds, of which the deadline is asked
    values = {"tol": 1e-12, "random_state": 0}
    model = clone(estimator).set_params(**{k: v for k, v in values.items() if k in estimator.get_params()})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(*data(model))
    messages = [str(w.message) for w in caught if str(status) in str(w.message)]
    assert messages
    for message in messages:
        assert message.startswith(type(estimator).__name__) and advice in message
        assert not any(word in message for word in ("cale the", "ower C", "max_iter"))


# ---- memory that runs out


def exhausted(*args, **options):
    raise MemoryError


def too_large(size):
    return (
        rf"not enough memory for a matrix of shape \(20, 20\), {size} GB; use fewer samples, a low-rank representation "
        r"\(gram=mercer\.gram\.Nystrom\(rank=500\)\), or gram='lazy', which recomputes the matrix for each product\."
    )


@pytest.mark.parametrize(("dtype", "size"), [("float64", "3.2e-06"), ("float32", "1.6e-06")])
def test_matrices_that_memory_does_not_hold(monkeypatch, dtype, size):
    monkeypatch.setattr(Evaluator, "_dense", exhausted)
    with pytest.raises(MemoryError, match=f"^KernelRidge, Gaussian: {too_large(size)}$"):
        methods.KernelRidge(kernel="gaussian").fit(X.astype(dtype), TARGETS)
    with pytest.raises(MemoryError, match=f"^Gaussian: {too_large(size)}$"):
        Gaussian()(X.astype(dtype))


@pytest.mark.parametrize(
    ("model", "place", "name", "owner"),
    [
        (methods.KernelRidge(kernel="gaussian"), cholesky, "lower_factor", "Cholesky"),
        (methods.KernelRidgeCV(kernel="gaussian", fit_intercept=False), decomposition, "_of_matrix", "Spectral"),
        (methods.KernelPCA(2, kernel="gaussian"), direct, "eigh_part", "DenseEigen"),
        (methods.KernelRidge(kernel="gaussian", gram="lazy", solver="cholesky"), Gaussian, "evaluate", "Gaussian"),
    ],
    ids=["system", "decomposition", "spectrum", "matrix anew"],
)
def test_factors_that_memory_does_not_hold(monkeypatch, model, place, name, owner):
    plain = getattr(place, name)
    large = (lambda *args: exhausted() if len(args[1]) == 20 else plain(*args)) if place is Gaussian else exhausted
    monkeypatch.setattr(place, name, large)
    with pytest.raises(MemoryError, match=f"^{type(model).__name__}, {owner}: {too_large('3.2e-06')}$"):
        model.fit(X, TARGETS)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (SVC(), "use fewer samples, a low-rank representation .*, or a smaller cache_size"),
        (LinearSVC(), "use fewer samples"),
        (methods.ThinPlateSpline(), "use fewer samples"),
        (methods.KernelPCA(1), "use fewer samples, a low-rank representation"),
    ],
    ids=lambda thing: type(thing).__name__ if hasattr(thing, "fit") else "",
)
def test_memory_that_runs_out_anywhere(monkeypatch, model, words):
    fitted = clone(model).fit(X, LABELS)
    monkeypatch.setattr(type(model), "_check_data", exhausted)
    with pytest.raises(MemoryError, match=rf"^{type(model).__name__}: memory ran out; {words}.*\.$") as error:
        clone(model).fit(X, LABELS)
    assert "gram" not in str(error.value) or "gram" in model.get_params()
    for answer in ("predict", "score_samples"):
        if hasattr(model, answer):
            with pytest.raises(MemoryError, match=r"memory ran out; pass fewer rows at a time\.$"):
                getattr(fitted, answer)(X)


STARVED = """
import resource
import numpy as np
from mercer import KernelRidge
X = np.random.default_rng(0).normal(size=(20_000, 2))
KernelRidge(kernel="gaussian").fit(X[:3000], X[:3000, 0])  # threads and compiled code are there
with open("/proc/self/statm") as file:
    held = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + 2**30, -1))
try:
    KernelRidge(kernel="gaussian", gram="dense").fit(X, X[:, 0])
except MemoryError as error:
    print(error)
"""


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's")
def test_a_process_with_little_memory():
    result = subprocess.run([sys.executable, "-c", STARVED], capture_output=True, text=True, timeout=200, check=True)
    assert result.stdout.startswith(
        "KernelRidge, Gaussian: not enough memory for a matrix of shape (20000, 20000), 3.2 GB"
    )


# ---- numbers at the ends of their ranges


@pytest.mark.parametrize("C", [1e-320, 1e300])
def test_costs_without_squares(C):
    for model in (LinearSVC(C=C), LinearSVR(C=C)):
        assert refusal(model, *data(model)).startswith(f"C = {C:g} times the sample weights is")


def test_penalties_far_from_the_unit_of_the_targets():
    model = methods.MultitaskKernelRidge(1.0, kernel="gaussian", coupling="learned")
    for unit in (1e100, 1e-100):
        assert "choose an alpha nearer to" in refusal(model, X, unit * X)


def test_variations_without_a_reciprocal():
    assert "divide X by" in refusal(methods.KernelICA(), 1e-320 * X, None)


def test_parameters_of_a_name_are_refused() -> None:
    """scikit-learn's own sentence is that a str has no attribute 'set_params'."""
    with pytest.raises(ValueError, match="SVC: cannot set kernel__lengthscale, since kernel = 'rbf' is not an object"):
        SVC().set_params(kernel__lengthscale=2.0)
    assert SVC().set_params(kernel=Gaussian(), kernel__lengthscale=2.0).kernel.lengthscale == 2.0


@pytest.mark.parametrize("X", [[[1j], [2.0]], np.array([[1j], [2.0]])], ids=["list", "array"])
def test_complex_samples_are_refused(X) -> None:
    with pytest.raises(ValueError, match=r"SVC: X is complex; give real numbers.* Complex data not supported\."):
        SVC().fit(X, [0, 1])


def test_numbers_of_other_types_are_numbers() -> None:
    """Of NumPy's single and half precision, and fractions: as the same float."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    y, labels = X[:, 0] + X[:, 1] ** 2, (X[:, 0] > 0).astype(int)
    quarter = [np.float32(0.25), np.float16(0.25), Fraction(1, 4)]
    for make, target, attribute in (
        (lambda v: mercer.KernelDimensionReduction(epsilon=v, random_state=0), y, "components_"),
        (lambda v: mercer.LinearSVC(tol=v, C=v), labels, "coef_"),
        (lambda v: mercer.LinearSVR(tol=v, C=v), y, "coef_"),
        (lambda v: mercer.ManifoldRanking(alpha=v), (np.arange(40) < 2).astype(float), "scores_"),
    ):
        expected = getattr(make(0.25).fit(X, target), attribute)
        for value in quarter:
            np.testing.assert_allclose(getattr(make(value).fit(X, target), attribute), expected, atol=1e-6)
    x = X[:, :1]
    smooth = mercer.SmoothingSpline(spar=0.5).fit(x, y).predict(x)
    for half in (np.float32(0.5), np.float16(0.5), Fraction(1, 2)):
        np.testing.assert_allclose(mercer.SmoothingSpline(spar=half).fit(x, y).predict(x), smooth)


def test_large_numbers_are_no_labels() -> None:
    X = np.random.default_rng(1).normal(size=(30, 2))
    for model in (mercer.SVC(), mercer.KernelRidgeClassifierCV()):
        with pytest.raises(ValueError, match="Unknown label type: continuous"):
            model.fit(X, X[:, 0] * 1e19)
    with pytest.raises(TypeError, match="KernelDimensionReduction: y holds labels that are neither all text nor all"):
        mercer.KernelDimensionReduction().fit(X, np.array(["a", 1] * 15, dtype=object))


@pytest.mark.parametrize("name", ["SVC", "SVR", "KernelQuantileRegression", "RelevanceVectorMachine", "KernelFisher"])
def test_columns_of_targets_for_any_kind_of_data(name):
    """As for vectors: one column is a vector, with scikit-learn's warning, and two are refused."""
    words, target = ["abc", "abd", "xyz", "xya", "bca", "cab", "zzz", "aab"], np.arange(8) % 2
    model = getattr(methods, name)(kernel="spectrum(length=2)")
    with pytest.warns(DataConversionWarning):
        predicted = clone(model).fit(words, target[:, None]).predict(words)
    np.testing.assert_array_equal(predicted, clone(model).fit(words, target).predict(words))
    with pytest.raises(ValueError, match=rf"{name}: y has shape \(8, 2\); expected one target per sample"):
        model.fit(words, np.c_[target, target])
