"""The search against scikit-learn's, which fits every cell on its own."""

import json
import signal
import subprocess
import sys
import threading
import time
import warnings
from functools import partial
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from scipy.stats import loguniform
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    PredefinedSplit,
    RandomizedSearchCV,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, SVR, KernelRidge, LinearSVC, NuSVC, NuSVR, OneClassSVM, _checkpoint
from mercer.gram import Nystrom
from mercer.kernels import Callable, Gaussian, Linear, Log, Matern
from mercer.methods import _paths
from mercer.selection import KernelSearchCV, _sample
from mercer.solvers.fit.many import solve_pairs

rng = np.random.default_rng(0)
X = rng.normal(size=(75, 5))
LABELS = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.05 * rng.normal(size=75)
TIGHT = 1e-9  # so that two solutions of one problem agree far beyond the tolerance of the tests
TIMES = ("mean_fit_time", "std_fit_time", "mean_score_time", "std_score_time")


def assert_same(ours, theirs, exact=False, rtol=1e-6):
    """All of cv_results_ but the times; scores of classes exactly, others up to rounding."""
    assert list(ours.cv_results_) == list(theirs.cv_results_)
    for key, expected in theirs.cv_results_.items():
        found = ours.cv_results_[key]
        if key in TIMES:
            assert found.shape == expected.shape
        elif key == "params":
            assert found == expected
        elif key.startswith("param_"):
            assert found.dtype == expected.dtype
            assert_array_equal(np.ma.getmaskarray(found), np.ma.getmaskarray(expected))
            assert found.tolist() == expected.tolist()
        elif key.startswith("rank_") or exact:
            assert_array_equal(found, expected)
        else:
            assert_allclose(found, expected, rtol=rtol, atol=1e-8)
    assert ours.n_splits_ == theirs.n_splits_
    assert ours.multimetric_ == theirs.multimetric_
    for name in ("best_index_", "best_params_"):
        assert hasattr(ours, name) == hasattr(theirs, name)
        assert getattr(ours, name, None) == getattr(theirs, name, None)
    assert hasattr(ours, "best_score_") == hasattr(theirs, "best_score_")
    assert hasattr(ours, "best_estimator_") == hasattr(theirs, "best_estimator_")


def both(estimator, grid, X, y=None, fit=None, **options):
    fit = fit or {}
    return (
        KernelSearchCV(estimator, grid, **options).fit(X, y, **fit),
        GridSearchCV(estimator, grid, **options).fit(X, y, **fit),
    )


CLASSIFIERS = {
    "rbf": (SVC(tol=TIGHT), {"C": [0.5, 8.0], "gamma": [0.01, 0.2, 1.0]}, 3),
    "scale": (SVC(tol=TIGHT), {"C": [0.5, 8.0], "gamma": ["scale", "auto", 0.2]}, 6),  # "auto" is 1/5 in every fold
    "poly": (SVC(tol=TIGHT, kernel="poly", gamma=0.3), {"C": [1.0, 4.0], "degree": [2, 3], "coef0": [0.0, 1.0]}, 4),
    "kinds": (SVC(tol=TIGHT), [{"kernel": ["linear"], "C": [1, 2]}, {"kernel": ["rbf"], "gamma": [0.1, 0.5]}], 3),
    "weights": (
        SVC(tol=TIGHT, gamma=0.2),
        {"class_weight": [None, "balanced", {0: 2.0}], "decision_function_shape": ["ovo"]},
        1,
    ),
    "nested": (SVC(tol=TIGHT, kernel=Gaussian()), {"C": [1.0, 3.0], "kernel__lengthscale": [0.8, 2.0]}, 2),
    "text": (
        SVC(tol=TIGHT),
        {"C": [1.0, 3.0], "kernel": ["0.5*gaussian(lengthscale=2) + linear", "matern(nu=1.5)"]},
        2,
    ),
    "cpd": (SVC(tol=TIGHT, kernel=Log()), {"C": [1.0, 3.0], "kernel__degree": [1.0, 2.0]}, 2),
    "nu": (NuSVC(gamma=0.2), {"nu": [0.1, 0.3]}, 1),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classification_equals_grid_search(name):
    estimator, grid, matrices = CLASSIFIERS[name]
    ours, theirs = both(estimator, grid, X, LABELS, return_train_score=True)
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_["plain"] == {}
    assert ours.sharing_["matrices"] == matrices
    assert ours.sharing_["fits"] == 5 * len(ours.cv_results_["params"])
    assert_array_equal(ours.predict(X), theirs.predict(X))
    assert_array_equal(ours.decision_function(X), ours.best_estimator_.decision_function(X))
    assert ours.score(X, LABELS) == theirs.score(X, LABELS)
    assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.n_features_in_ == 5


REGRESSORS = {
    "ridge": (KernelRidge(kernel="rbf"), {"alpha": [0.01, 0.1, 1.0], "gamma": [0.05, 0.3]}, 2),
    "ridge linear": (KernelRidge(), {"alpha": [0.1, 1.0], "fit_intercept": [False, True]}, 1),
    "ridge median": (KernelRidge(kernel=Gaussian("median")), {"alpha": [0.1, 1.0]}, 5),
    "ridge expression": (
        KernelRidge(kernel=0.5 * Gaussian() + Linear()),
        {"alpha": [0.1, 1.0], "kernel__kernels": [[Gaussian(2.0), Linear()], [Matern(), Linear()]]},
        2,
    ),
    "ridge anisotropic": (
        KernelRidge(kernel=Gaussian()),
        {"alpha": [0.1, 1.0], "kernel__lengthscale": [np.full(5, 1.5), 1.5]},
        2,
    ),
    "ridge offset": (KernelRidge(kernel=Matern(), free=0), {"alpha": [0.1, 1.0], "kernel__nu": [0.5, 2.5]}, 2),
    "svr": (SVR(tol=TIGHT), {"C": [0.5, 5.0], "epsilon": [0.01, 0.2], "gamma": [0.05, 0.3]}, 2),
    "svr scale": (SVR(tol=TIGHT), {"C": [0.5, 5.0]}, 5),
    "nu svr": (NuSVR(tol=TIGHT, gamma=0.1), {"C": [0.5, 5.0], "nu": [0.3, 0.7]}, 1),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regression_equals_grid_search(name):
    estimator, grid, matrices = REGRESSORS[name]
    if name == "ridge anisotropic":  # lists of arrays do not compare
        ours, theirs = both(estimator, grid, X, Y)
        assert_allclose(ours.cv_results_["mean_test_score"], theirs.cv_results_["mean_test_score"], rtol=1e-9)
    else:
        ours, theirs = both(estimator, grid, X, Y, cv=KFold(5, shuffle=True, random_state=1), return_train_score=True)
        assert_same(ours, theirs)
    assert ours.sharing_["plain"] == {}
    assert ours.sharing_["matrices"] == matrices
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=0, atol=1e-6)


def test_csr_and_float32():
    sparse = csr_matrix(np.where(np.abs(X) > 0.7, X, 0))
    ours, theirs = both(SVC(), {"C": [1.0, 4.0], "gamma": [0.1, "scale"]}, sparse, LABELS)
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_["plain"] == {}
    ours, theirs = both(KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0], "gamma": [0.1]}, X.astype(np.float32), Y)
    assert_same(ours, theirs, rtol=1e-4)
    assert ours.best_estimator_.dual_coef_.dtype == np.float32


def test_precomputed_input_is_sliced():
    K = Gaussian(1.5)(X)
    ours, theirs = both(SVC(kernel="precomputed"), {"C": [1.0, 4.0]}, K, LABELS)
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_ == {"fits": 10, "matrices": 0, "distances": 0, "plain": {}}
    assert_array_equal(ours.predict(K[:7]), theirs.predict(K[:7]))


@pytest.mark.parametrize(
    "cv",
    [
        GroupKFold(4),
        TimeSeriesSplit(3),
        ShuffleSplit(3, random_state=2),
        PredefinedSplit(np.arange(75) % 3),
        3,
        [(np.arange(40), np.arange(40, 75)), (np.arange(30, 75), np.arange(30))],
    ],
    ids=lambda cv: type(cv).__name__,
)
def test_splitters_and_paths(cv):
    fit = {"groups": np.arange(75) // 6} if isinstance(cv, GroupKFold) else {}
    ours, theirs = both(SVC(), {"C": [1.0, 4.0], "gamma": [0.1, "scale"]}, X, LABELS, fit, cv=cv)
    assert_same(ours, theirs, exact=True)


def test_splits_of_a_generator_are_used_once():
    splits = ((np.arange(40), np.arange(40, 75)) for _ in range(2))
    assert KernelSearchCV(SVC(), {"C": [1, 2]}, cv=splits).fit(X, LABELS).n_splits_ == 2


def test_sample_weights_go_to_fit_and_score():
    weight = np.linspace(0.1, 3, 75)
    ours, theirs = both(KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0]}, X, Y, {"sample_weight": weight})
    assert_same(ours, theirs)
    unweighted = KernelSearchCV(KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0]}).fit(X, Y)
    assert not np.allclose(ours.cv_results_["mean_test_score"], unweighted.cv_results_["mean_test_score"])
    scoring = {"r2": "r2", "error": make_scorer(mean_absolute_error, greater_is_better=False)}
    options = {"scoring": scoring, "refit": "error"}
    ours, theirs = both(KernelRidge(kernel="rbf"), {"alpha": [0.1, 1.0]}, X, Y, {"sample_weight": weight}, **options)
    assert_same(ours, theirs)


def broken(y_true, y_pred):
    raise ArithmeticError("no score")


@pytest.mark.parametrize(
    "options",
    [
        {"scoring": "balanced_accuracy"},
        {"scoring": ["accuracy", "f1_macro"], "refit": "f1_macro"},
        {"scoring": {"a": "accuracy", "b": make_scorer(broken)}, "refit": False, "error_score": 0.0},
        {"scoring": {"a": "accuracy", "b": "f1_macro"}, "refit": lambda results: int(results["mean_test_b"].argmin())},
        {"refit": False},
        {"refit": lambda results: 2},
    ],
    ids=["name", "list", "failing scorer", "callable refit", "no refit", "constant refit"],
)
@pytest.mark.filterwarnings("ignore:Scoring failed")
def test_scorers_and_refit(options):
    ours, theirs = both(SVC(), {"C": [0.1, 1.0, 9.0], "gamma": [0.1]}, X, LABELS, **options)
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_["plain"] == {}
    assert set(np.atleast_1d(list(vars(theirs)))) - set(vars(ours)) <= {"verbose", "pre_dispatch", "_checked_cv_orig"}
    if theirs.refit and not callable(theirs.refit):
        assert ours.best_score_ == theirs.best_score_
        assert ours.score(X, LABELS) == theirs.score(X, LABELS)


def test_scoring_functions_see_the_samples():
    def close(estimator, X, y):
        assert X.shape[1] == 5 and estimator.kernel == "rbf"
        return {"hits": np.mean(estimator.predict(X) == y), "sv": -len(estimator.support_)}

    ours, theirs = both(SVC(), {"C": [1.0, 5.0]}, X, LABELS, scoring=close, refit="hits")
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_["plain"] == {"scoring is a function, which may look at the samples": 10}


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_failing_settings_get_the_error_score():
    grid = {"C": [1.0, -1.0], "gamma": [0.1, -3.0]}
    with pytest.warns(FitFailedWarning, match="15 fits failed"):
        ours = KernelSearchCV(SVC(), grid).fit(X, LABELS)
    with pytest.warns(FitFailedWarning, match="15 fits failed"):
        theirs = GridSearchCV(SVC(), grid).fit(X, LABELS)
    assert_same(ours, theirs, exact=True)
    assert np.isnan(ours.cv_results_["mean_test_score"]).sum() == 3
    assert ours.sharing_["fits"] == 10
    assert list(ours.sharing_["plain"].values()) == [10]
    with pytest.raises(ValueError, match="must be > 0"):
        KernelSearchCV(SVC(), grid, error_score="raise").fit(X, LABELS)
    with pytest.raises(ValueError, match="All the 5 fits failed"):
        KernelSearchCV(SVC(), {"gamma": [-1.0]}).fit(X, LABELS)


def test_a_sample_that_is_refused_fails_in_its_folds_only():
    broken = X.copy()
    broken[3, 2] = np.nan
    cv = [(np.arange(10, 60), np.arange(60, 75)), (np.arange(0, 60), np.arange(60, 75))]
    options = {"cv": cv, "error_score": -1.0, "refit": False}
    with pytest.warns(FitFailedWarning, match="1 fits failed"):
        ours = KernelSearchCV(SVC(gamma=0.1), {"C": [1.0]}, **options).fit(broken, LABELS)
    with pytest.warns(FitFailedWarning, match="1 fits failed"):
        theirs = GridSearchCV(SVC(gamma=0.1), {"C": [1.0]}, **options).fit(broken, LABELS)
    assert_same(ours, theirs, exact=True)
    assert sum(ours.sharing_["plain"].values()) == 2


def test_refusals_are_those_of_the_kernel():
    grid = {"fit_intercept": [True, False]}  # Log is conditionally definite and needs the offset
    options = {"error_score": -1.0}
    with pytest.warns(FitFailedWarning, match="5 fits failed"):
        ours = KernelSearchCV(SVC(kernel=Log()), grid, **options).fit(X, LABELS)
    assert_array_equal(ours.cv_results_["split0_test_score"] == -1, [False, True])


def test_random_search_equals_scikit_learns():
    distributions = {"C": loguniform(0.1, 100), "gamma": [0.05, 0.2, 0.5]}
    ours = KernelSearchCV(SVC(), distributions, n_iter=8, random_state=3).fit(X, LABELS)
    theirs = RandomizedSearchCV(SVC(), distributions, n_iter=8, random_state=3).fit(X, LABELS)
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_["matrices"] == len(set(ours.cv_results_["param_gamma"]))
    with pytest.raises(ValueError, match="n_iter = 0 must be >= 1"):
        KernelSearchCV(SVC(), distributions, n_iter=0).fit(X, LABELS)


def common_letters(x, y):
    return float(len(set(x) & set(y)))


def test_lists_of_strings():
    words = ["".join(rng.choice(list("abcdefgh"), 5)) for _ in range(40)]
    y = np.array(["a" in w for w in words])
    ours, theirs = both(SVC(kernel=Callable(common_letters)), {"C": [0.1, 1.0, 10.0]}, words, y)
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_ == {"fits": 15, "matrices": 1, "distances": 0, "plain": {}}


def test_one_class_without_targets():
    def mean_score(y_true, y_pred):
        return float(np.mean(y_pred))

    grid = {"nu": [0.2, 0.5], "gamma": [0.1, 0.5]}
    ours, theirs = both(OneClassSVM(), grid, X, np.ones(75), scoring=make_scorer(mean_score))
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_["plain"] == {}
    assert_array_equal(ours.score_samples(X), ours.best_estimator_.score_samples(X))
    plain = KernelSearchCV(OneClassSVM(), grid, scoring=lambda model, X: model.predict(X).mean()).fit(X)
    expected = GridSearchCV(OneClassSVM(), grid, scoring=lambda model, X: model.predict(X).mean()).fit(X)
    assert_same(plain, expected, exact=True)


PLAIN = {
    "Pipeline has no precomputed form": (make_pipeline(StandardScaler(), SVC()), {"svc__C": [1.0, 5.0]}),
    "LinearSVC has no precomputed form": (LinearSVC(), {"C": [1.0, 5.0]}),
    "gram is neither 'auto' nor 'dense'": (SVC(gram=Nystrom(rank=20), random_state=0), {"C": [1.0, 5.0]}),
    "the free part is a function of the samples": (KernelRidge(kernel="rbf", free=1), {"alpha": [0.1, 1.0]}),
}


@pytest.mark.parametrize("reason", PLAIN)
def test_where_nothing_can_be_shared(reason):
    estimator, grid = PLAIN[reason]
    ours, theirs = both(estimator, grid, X, LABELS)
    assert_same(ours, theirs)
    assert ours.sharing_ == {"fits": 0, "matrices": 0, "distances": 0, "plain": {reason: 10}}


def test_memory_bounds_what_is_held():
    one = 8 * 75**2
    grid = {"C": [1.0, 5.0], "gamma": [0.05, 0.1, "scale"]}
    theirs = GridSearchCV(SVC(), grid).fit(X, LABELS)
    tight = KernelSearchCV(SVC(), grid, memory=2 * one).fit(X, LABELS)
    assert_same(tight, theirs, exact=True)
    assert tight.sharing_["fits"] == 0
    single = KernelSearchCV(SVC(), {"C": [1.0, 5.0], "gamma": [0.05, 0.1]}, memory=3 * one).fit(X, LABELS)
    assert single.sharing_ == {"fits": 20, "matrices": 2, "distances": 1, "plain": {}}
    with pytest.raises(ValueError, match="memory = 0 must be > 0"):
        KernelSearchCV(SVC(), grid, memory=0).fit(X, LABELS)


class Counting(Gaussian):
    """Counts the entries whose exponential is taken, and those of matrices evaluated as a whole."""

    entries: list[int] = []

    def profile(self, s, xp):
        self.entries.append(s.size)
        return super().profile(s, xp)


def test_each_matrix_and_the_distances_are_computed_once(monkeypatch):
    distances = []
    monkeypatch.setattr(
        _sample._SquaredDistance, "profile", lambda self, s, xp: distances.append(s.shape) or s, raising=True
    )
    monkeypatch.setattr(Counting, "entries", [])
    grid = {"C": [0.1, 1.0, 10.0, 100.0], "kernel__lengthscale": [0.5, 1.0, 2.0]}
    found = KernelSearchCV(SVC(kernel=Counting()), grid, refit=False).fit(X, LABELS)
    assert distances == [(75, 75)]
    assert Counting.entries == 3 * [75 * 75]
    assert found.sharing_ == {"fits": 60, "matrices": 3, "distances": 1, "plain": {}}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_threads_change_nothing(n_jobs):
    grid = {"C": [0.5, 1.0, 8.0], "gamma": [0.01, 0.2, "scale"]}
    ours = KernelSearchCV(SVC(n_jobs=1), grid, n_jobs=n_jobs).fit(X, LABELS)
    assert_same(ours, GridSearchCV(SVC(n_jobs=1), grid).fit(X, LABELS), exact=True)
    assert ours.sharing_ == {"fits": 45, "matrices": 7, "distances": 1, "plain": {}}


def test_interruption_leaves_the_search_unfitted():
    calls = []

    def interrupted(x, y):
        calls.append(threading.get_ident())
        if len(calls) == 100:
            raise KeyboardInterrupt
        return float(x @ y)

    found = KernelSearchCV(SVC(kernel=Callable(interrupted)), {"C": [1.0, 2.0]})
    before = set(vars(found))
    with pytest.raises(KeyboardInterrupt):
        found.fit(X, LABELS)
    assert set(vars(found)) == before


def test_an_interrupted_search_without_refit_keeps_what_was_tried():
    def score(y, prediction):
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt
        return float(np.mean(y == prediction))

    calls = []
    grid = {"kernel__lengthscale": [0.5, 1.0, 2.0]}
    found = KernelSearchCV(SVC(kernel=Gaussian()), grid, cv=3, scoring=make_scorer(score), refit=False)
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="non-finite"):
        found.fit(X, LABELS)
    tried = [np.isfinite(found.cv_results_[f"split{s}_test_score"]).tolist() for s in range(3)]
    assert tried == [[True, True, False]] * 3 and not hasattr(found, "best_estimator_")


@pytest.mark.filterwarnings("ignore:.*SCIPY_ARRAY_API:sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks([KernelSearchCV(KernelRidge(), {"alpha": [0.1, 1]}, error_score="raise")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---- cells of SVC that are solved together

WEIGHT = np.linspace(0.1, 3, 75)
TOGETHER = {
    "unsorted": ({"C": [8, 0.5, 1.0, 64.0], "gamma": [0.2, 0.05]}, LABELS, {}),
    "two classes": ({"C": [0.5, 1.0, 64.0], "gamma": [0.2, 0.05]}, LABELS > 0, {}),
    "words": ({"C": [0.5, 8.0], "gamma": [0.2]}, np.array(["no", "perhaps", "yes"])[LABELS], {}),
    "class weights": ({"C": [0.5, 8.0], "class_weight": ["balanced", {0: 3.0}]}, LABELS, {}),
    "weights": ({"C": [0.5, 8.0], "gamma": [0.2]}, LABELS, {"sample_weight": WEIGHT}),
    "both": ({"C": [0.5, 8.0], "class_weight": ["balanced", None]}, LABELS, {"sample_weight": WEIGHT}),
    "some without weight": ({"C": [0.5, 8.0]}, LABELS, {"sample_weight": np.arange(75) % 4}),
    "ties": ({"C": [0.05, 8.0], "break_ties": [True, False]}, LABELS, {}),
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("scoring", [None, "accuracy", "f1_macro", ["accuracy", "balanced_accuracy"]], ids=str)
def test_settings_solved_together_equal_single_fits(name, scoring):
    grid, y, fit = TOGETHER[name]
    options = {"scoring": scoring, "refit": False, "return_train_score": True}
    ours, theirs = both(SVC(tol=TIGHT), grid, X, y, fit, **options)
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_["plain"] == {}
    assert ours.sharing_["fits"] == 5 * len(ours.cv_results_["params"])


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_scorers_of_decision_values(shape):
    estimator = SVC(tol=TIGHT, decision_function_shape=shape)
    two, theirs = both(estimator, {"C": [0.5, 8.0]}, X, LABELS > 0, scoring="roc_auc", refit=False)
    assert_same(two, theirs)
    assert np.isfinite(two.cv_results_["mean_test_score"]).all()


def test_a_class_that_is_missing_in_a_fold():
    y = np.where(np.arange(75) < 10, 3, LABELS)
    for cv in (KFold(5), TimeSeriesSplit(4), [(np.arange(10, 75), np.arange(10)), (np.arange(60), np.arange(60, 75))]):
        ours, theirs = both(SVC(tol=TIGHT), {"C": [0.5, 8.0, 90.0], "gamma": [0.1, 0.4]}, X, y, cv=cv)
        assert_same(ours, theirs, exact=True)
        assert ours.sharing_["plain"] == {}


def test_a_fold_with_one_class_fails_as_always():
    y = (np.arange(75) >= 40).astype(int)
    options = {"cv": [(np.arange(30), np.arange(30, 60)), (np.arange(20, 75), np.arange(20))], "refit": False}
    with pytest.warns(FitFailedWarning, match="2 fits failed"), pytest.warns(UserWarning, match="non-finite"):
        ours = KernelSearchCV(SVC(), {"C": [1.0, 4.0]}, **options).fit(X, y)
    with pytest.warns(FitFailedWarning, match="2 fits failed"), pytest.warns(UserWarning, match="non-finite"):
        theirs = GridSearchCV(SVC(), {"C": [1.0, 4.0]}, **options).fit(X, y)
    assert_same(ours, theirs, exact=True)


@pytest.mark.filterwarnings("ignore:Scoring failed", "ignore:One or more of the", "ignore:\\n2 fits failed")
@pytest.mark.parametrize(
    "weight", [np.where(np.arange(75) < 35, 1.0, 0.0), np.where(LABELS == 1, np.arange(75) < 35, 1.0)]
)
def test_weights_of_zero_in_a_fold(weight):
    """No weight to score with, or no sample of a class to learn from."""
    options = {"cv": [(np.arange(35), np.arange(35, 75)), (np.arange(35, 75), np.arange(35))], "refit": False}
    ours, theirs = both(SVC(tol=TIGHT), {"C": [1.0, 4.0]}, X, LABELS, {"sample_weight": weight}, **options)
    assert_same(ours, theirs, exact=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precomputed_matrices_are_solved_together(dtype):
    K = Gaussian(1.5)(X).astype(dtype)
    ours, theirs = both(SVC(kernel="precomputed", tol=1e-6), {"C": [1.0, 4.0, 80.0]}, K, LABELS, scoring="f1_macro")
    assert_same(ours, theirs, exact=True)
    assert ours.sharing_["fits"] == 15
    rectangular = K[:, :60]
    with pytest.raises(ValueError, match="fits failed"):
        KernelSearchCV(SVC(kernel="precomputed"), {"C": [1.0, 4.0]}).fit(rectangular, LABELS)


@pytest.mark.filterwarnings("ignore::mercer._errors.IndefiniteKernelWarning")
def test_what_is_fitted_one_by_one():
    """An indefinite kernel has many stationary points; parameters that the common solution does not know."""
    cases = [
        (SVC(kernel="sigmoid", gamma=0.1, coef0=-1.0), {"C": [1.0, 4.0]}),
        (SVC(fit_intercept=False), {"C": [1.0, 4.0]}),
        (SVC(), {"C": [1.0, np.inf], "gamma": [20.0]}),
    ]
    for estimator, grid in cases:
        ours, theirs = both(estimator, grid, X, LABELS, refit=False)
        assert_same(ours, theirs, exact=True)
        assert ours.sharing_["fits"] == 10


def test_large_pairs_of_classes_are_left_to_the_working_set(monkeypatch):
    monkeypatch.setattr(_paths, "LARGEST", 45)  # the first fold has more than that in two classes, the second has not
    monkeypatch.setattr(_paths, "solve_pairs", Mock(side_effect=solve_pairs))
    cv = [(np.arange(60), np.arange(60, 75)), (np.arange(60, 75), np.arange(60))]
    ours, theirs = both(SVC(tol=TIGHT), {"C": [0.5, 1.0, 8.0]}, X, LABELS, cv=cv, refit=False)
    assert_same(ours, theirs, exact=True)
    sizes = [sum(map(len, call.args[1])) for call in _paths.solve_pairs.call_args_list]
    assert sizes == [2, 15]  # one problem to load the code, and all of the second fold
    assert ours.sharing_["fits"] == 6


def test_a_tolerance_beyond_double_precision_is_reported(monkeypatch):
    monkeypatch.setattr(_paths, "solve_pairs", partial(solve_pairs, most=1))
    with pytest.warns(ConvergenceWarning, match="tol = 1e-30 was not reached in"):
        KernelSearchCV(SVC(tol=1e-30), {"C": [1.0]}, refit=False).fit(X, LABELS)


# ---- ending early


class Waiting(ClassifierMixin, BaseEstimator):
    """Fits at once, or too late."""

    def __init__(self, late=False):
        self.late = late

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        time.sleep(2.5 if self.late else 0)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("scoring", [None, ["accuracy", "f1_macro"]])
def test_a_spent_time_budget_leaves_cells_without_score(n_jobs, scoring):
    options = {"n_jobs": n_jobs, "scoring": scoring, "refit": scoring and "accuracy"} if scoring else {"n_jobs": n_jobs}
    found = KernelSearchCV(Waiting(), {"late": [False, True]}, cv=3, time_budget=2.0, **options)
    with (
        pytest.warns(UserWarning, match="time budget of 2 s was spent before 3 of 6 fits, whose score is NaN"),
        pytest.warns(UserWarning, match="non-finite"),
    ):
        found.fit(X, LABELS)
    scores = [value for key, value in found.cv_results_.items() if "_test_" in key and "rank" not in key]
    assert all(np.isfinite(score[0]) and np.isnan(score[1]) for score in scores)
    assert found.best_params_ == {"late": False}
    assert not [thread for thread in threading.enumerate() if thread.name.endswith("(loop)")]


def test_no_time_for_any_setting():
    found = KernelSearchCV(Waiting(), {"late": [True]}, cv=3, time_budget=0.3)
    with pytest.raises(TimeoutError, match="any setting was tried"):
        found.fit(X, LABELS)
    with pytest.raises(ValueError, match="time_budget = 0 must be > 0"):
        KernelSearchCV(SVC(), {"C": [1.0]}, time_budget=0).fit(X, LABELS)


def test_the_time_ends_settings_that_are_solved_together():
    noise = np.random.default_rng(0).normal(size=(1500, 3))
    y = np.random.default_rng(1).integers(2, size=1500)
    found = KernelSearchCV(SVC(tol=1e-13), {"C": [1e-3, 1e8]}, cv=2, time_budget=0.5, refit=False)
    with pytest.warns(UserWarning, match="spent before 4 of 4 fits"), pytest.warns(UserWarning, match="non-finite"):
        found.fit(noise, y)


SCRIPT = """
import signal, sys, time
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job would ignore it
from mercer import SVC
from mercer.kernels import Gaussian
from mercer.selection import KernelSearchCV

class Slow(Gaussian):
    def profile(self, s, xp):
        time.sleep(PAUSE)
        return super().profile(s, xp)

PAUSE = float(sys.argv[3])
rng = np.random.default_rng(0)
if sys.argv[1] == "grid":
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] > 0) + (X[:, 1] > 0.3)
    grid = {"C": [0.5, 4.0, 30.0], "kernel__lengthscale": [0.3, 0.5, 1.0, 1.5, 2.0, 3.0]}
    search = KernelSearchCV(SVC(kernel=Slow()), grid, cv=3, checkpoint=sys.argv[2] or None, n_jobs=2)
else:  # noise, which would take minutes: as one problem of many, or by the working set
    n = 1500 if sys.argv[1] == "together" else 6000
    X, y = rng.normal(size=(n, 3)), rng.integers(2, size=n)
    search = KernelSearchCV(SVC(tol=1e-13), {"C": [1e8]}, cv=2, checkpoint=sys.argv[2] or None)
try:
    print("started", flush=True)
    search.fit(X, y)
    scores = [search.cv_results_[f"split{s}_test_score"].tolist() for s in range(search.n_splits_)]
    print(search.sharing_["fits"], scores)
except KeyboardInterrupt:
    print("interrupted", "cv_results_" in vars(search), flush=True)
"""


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finish(process):
    try:
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()  # where it did not end, it would work on beside all other tests
    assert not errors, errors
    return output.splitlines()


def cells(path):
    """The finished cells in a checkpoint."""
    if not path.exists():
        return []
    with np.load(path) as file:
        return json.loads(str(file["cells/json"]))


def wait_for_cells(path, count, process):
    for _ in range(1200):
        if len(cells(path)) >= count:
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError("no cell was finished")


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("how", ["together", "working set"])
def test_ctrl_c_ends_the_search_and_not_a_fit(how, tmp_path):
    process = start(how, tmp_path / "cells", 0)
    assert process.stdout.readline() == "started\n"
    time.sleep(3)  # the end is the same whenever the signal comes; now it comes in the middle of a fit
    process.send_signal(signal.SIGINT)
    assert finish(process) == ["interrupted False"]


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("how", ["SIGINT", "SIGKILL"])
def test_an_ended_search_goes_on_from_its_checkpoint(how, tmp_path):
    path = tmp_path / "cells"
    process = start("grid", path, 1.0)
    wait_for_cells(path, 9, process)
    process.send_signal(getattr(signal, how))
    output = finish(process)
    assert output == ["started"] if how == "SIGKILL" else ["started", "interrupted False"]
    known = len(cells(path))
    assert 9 <= known < 54
    resumed, whole = finish(start("grid", path, 0.0)), finish(start("grid", "", 0.0))
    fits, scores = resumed[1].split(" ", 1)
    assert int(fits) == 54 - known
    assert [f"54 {scores}"] == whole[1:]


def test_a_complete_checkpoint_is_all_that_is_needed(tmp_path):
    options = {"scoring": {"a": "accuracy", "b": make_scorer(broken)}, "refit": "a", "return_train_score": True}
    grid = {"C": [1.0, -1.0], "gamma": [0.1, "scale"]}

    def search():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return KernelSearchCV(SVC(), grid, checkpoint=tmp_path / "cells", **options).fit(X, LABELS)

    first, second = search(), search()
    assert second.sharing_ == {"fits": 0, "matrices": 0, "distances": 0, "plain": {}}
    for key, value in first.cv_results_.items():
        if key != "params":
            assert_array_equal(second.cv_results_[key], value)
    assert [file.name for file in tmp_path.iterdir()] == ["cells"]


RESULT = {"fit_error": None, "test_scores": 0.5, "n_test_samples": 3, "fit_time": 0.1, "score_time": 0.1}


@pytest.mark.parametrize(
    "cells",
    [
        [[7, 0, RESULT]],
        [[0, 0, RESULT | {"test_scores": "high"}]],
        [[0, 0, {"test_scores": 1.0}]],
        [[0, 0, RESULT | {"fit_error": 1}]],
        [[0, 0, RESULT | {"test_scores": {"accuracy": 1.0}}]],
        [[0, 0, RESULT | {"test_scores": 10**400}]],
        [[0, 0, RESULT | {"fit_time": 10**400}]],
        [[0, 0, RESULT | {"estimator": None}]],
        [[0, RESULT]],
        {"a": 1},
        7,
        "[" * 100_000,
    ],
    ids=lambda cells: str(cells)[:80],
)
def test_results_of_no_cell_are_refused(cells, tmp_path):
    path = tmp_path / "cells"
    KernelSearchCV(SVC(), {"C": [1.0]}, cv=2, checkpoint=path).fit(X, LABELS)
    with np.load(path) as file:
        content = {
            "marks": file["marks"],
            "cells/json": np.array(cells if isinstance(cells, str) else json.dumps(cells)),
        }
    with path.open("wb") as stream:
        np.savez(stream, digest=_checkpoint._digest(content), **content)
    with pytest.raises(ValueError, match=r"KernelSearchCV: checkpoint = .* holds results of a different search"):
        KernelSearchCV(SVC(), {"C": [1.0]}, cv=2, checkpoint=path).fit(X, LABELS)


@pytest.mark.parametrize("scores", [1.0, {"accuracy": 1.0}, {"accuracy": 1.0, "f1": 1.0, "more": 1.0}], ids=str)
def test_results_of_other_scores_are_refused(scores, tmp_path):
    path = tmp_path / "cells"

    def search():
        return KernelSearchCV(SVC(), {"C": [1.0]}, cv=2, scoring=["accuracy", "f1"], refit=False, checkpoint=path)

    y = np.arange(len(X)) % 2
    first, again = (search().fit(X, y).cv_results_ for _ in range(2))  # the second from the file
    assert first["mean_test_f1"].tolist() == again["mean_test_f1"].tolist()
    with np.load(path) as file:
        marks, cells = file["marks"], json.loads(str(file["cells/json"]))
    cells[0][2]["test_scores"] = scores
    content = {"marks": marks, "cells/json": np.array(json.dumps(cells))}
    with path.open("wb") as stream:
        np.savez(stream, digest=_checkpoint._digest(content), **content)
    with pytest.raises(ValueError, match=r"KernelSearchCV: checkpoint = .* holds results of a different search"):
        search().fit(X, y)


def test_a_disk_that_fills_up_does_not_end_the_search(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    search = KernelSearchCV(SVC(), {"C": [1.0, 4.0]}, cv=2)
    expected = clone(search).fit(X, LABELS)
    monkeypatch.setattr(_checkpoint.np, "savez", full)
    with pytest.warns(UserWarning, match="KernelSearchCV: checkpoint = .* could not be written .*No space") as caught:
        search.set_params(checkpoint=tmp_path / "cells").fit(X, LABELS)
    assert len(caught) == 1 and search.best_params_ == expected.best_params_
    assert_array_equal(search.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])


def test_the_checkpoint_of_another_search_is_refused(tmp_path):
    path = tmp_path / "cells"
    grid, cv = {"C": [1.0, 4.0]}, KFold(3)

    def fit(X=X, y=LABELS, estimator=None, grid=grid, cv=cv, fit=None, **options):
        search = KernelSearchCV(estimator or SVC(), grid, cv=cv, checkpoint=path, **options)
        return search.fit(X, y, **(fit or {}))

    fit()
    moved = X.copy()
    moved[3, 2] += 1e-9
    for message, options in {
        "the samples differ": {"X": moved},
        "the targets differ": {"y": LABELS + 1},
        "the estimator's parameters differ": {"estimator": SVC(tol=1e-4)},
        "the settings differ": {"grid": {"C": [1.0, 5.0]}},
        "the splits differ": {"cv": KFold(3, shuffle=True, random_state=0)},
        "the scores differ": {"scoring": "f1_macro"},
        "the parameters of fit differ": {"fit": {"sample_weight": WEIGHT}},
        "the samples, the settings differ": {"X": moved, "grid": {"C": [1.0]}},
    }.items():
        with pytest.raises(ValueError, match=f"was written by a different run: {message}. Delete it"):
            fit(**options)
    assert fit().sharing_["fits"] == 0
    path.write_text("something else")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        fit()
    assert path.read_text() == "something else"


def test_checkpoints_that_cannot_be(tmp_path):
    with pytest.raises(ValueError, match="must recognise the scores"):
        KernelSearchCV(SVC(), {"C": [1.0]}, scoring=lambda m, X, y: 0.0, checkpoint=tmp_path / "c").fit(X, LABELS)
    with pytest.raises(ValueError, match="is in a folder that does not exist"):
        KernelSearchCV(SVC(), {"C": [1.0]}, checkpoint=tmp_path / "no" / "c").fit(X, LABELS)
    for options in ({"time_budget": 1.0}, {"checkpoint": tmp_path / "c"}):
        with (
            config_context(enable_metadata_routing=True),
            pytest.raises(ValueError, match="has no effect while metadata"),
        ):
            KernelSearchCV(SVC(), {"C": [1.0]}, **options).fit(X, LABELS)


def test_max_samples_tries_settings_on_a_stratified_part_and_fits_all():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(300, 2))
    rare = np.where(np.arange(300) < 290, (points[:, 0] > 0).astype(int), 2)
    seen = []

    def score(estimator, X, y, sample_weight=None):
        seen.append(np.unique(y, return_counts=True))
        return estimator.score(X, y)

    weight = np.ones(300)
    options = {"cv": 2, "max_samples": 60, "random_state": 0}
    search = KernelSearchCV(SVC(), {"C": [1.0, 10.0]}, scoring=score, **options).fit(points, rare, sample_weight=weight)
    assert all(counts.sum() == 30 and set(labels) == {0, 1, 2} for labels, counts in seen)
    assert search.best_estimator_.shape_fit_ == (300, 2)
    K = np.exp(-((points[:, None] - points[None]) ** 2).sum(axis=2))
    found = [
        KernelSearchCV(SVC(kernel=kernel), {"C": [1.0, 10.0]}, **options).fit(data, rare).cv_results_["mean_test_score"]
        for kernel, data in (("precomputed", K), ("gaussian(lengthscale=0.7071067811865476)", points))
    ]
    np.testing.assert_allclose(*found)


def test_max_samples_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match="max_samples = 1 must be >= 2"):
        KernelSearchCV(SVC(), {"C": [1.0]}, max_samples=1).fit(X, LABELS)
    places = [(np.arange(10), np.arange(10, 20))]
    with pytest.raises(ValueError, match="pass a splitter"):
        KernelSearchCV(SVC(), {"C": [1.0]}, cv=places, max_samples=10).fit(X, LABELS)
