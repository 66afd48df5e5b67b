"""KernelRidgeCV and KernelRidgeClassifierCV against refits, GridSearchCV, RidgeCV and a Gaussian process."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge as Reference
from sklearn.linear_model import RidgeClassifierCV, RidgeCV
from sklearn.metrics import balanced_accuracy_score, make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    StratifiedKFold,
    cross_val_predict,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelRidge
from mercer.gram import IncompleteCholesky, Nystrom, RandomFeatures
from mercer.kernels import Gaussian, Linear, Matern, Power, Sigmoid
from mercer.methods.ridge_cv import KernelRidgeClassifierCV, KernelRidgeCV

rng = np.random.default_rng(11)
n = 50
X = rng.normal(size=(n, 3))
y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n)
Y = np.stack([y, rng.normal(size=n)], axis=1)
WEIGHT = rng.uniform(0.2, 2, n)
SCALES = np.geomspace(1e-4, 1e4, 2000)
ALPHAS = np.geomspace(1e-3, 1e2, 11)
KERNEL = Gaussian(1.3)


def refits(alpha, target, weight, kernel=KERNEL, **settings):
    """The prediction at each sample of a fit without it."""
    out = []
    for i in range(n):
        some = np.delete(np.arange(n), i)
        model = KernelRidge(alpha, kernel=kernel, **settings)
        out.append(model.fit(X[some], target[some], None if weight is None else weight[some]).predict(X[[i]])[0])
    return np.array(out)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("settings", [{"fit_intercept": False}, {"fit_intercept": True}, {"free": 1}], ids=str)
@pytest.mark.parametrize("target", [y, Y], ids=["one", "two"])
def test_leave_one_out_errors_equal_refits(target, settings, weight) -> None:
    model = KernelRidgeCV(ALPHAS, kernel=KERNEL, store_cv_results=True, **settings).fit(X, target, weight)
    for j in (0, 4, 10):
        plain = {"fit_intercept": settings.get("fit_intercept", "free" not in settings), **settings}
        errors = (target - refits(ALPHAS[j], target, weight, **plain)) ** 2
        np.testing.assert_allclose(model.cv_results_[..., j], errors, rtol=0, atol=1e-8)
        assert model.scores_[0, j] == pytest.approx(-np.average(errors, axis=0, weights=weight).mean())
    assert model.best_score_ == model.scores_.max() == model.scores_[0, list(ALPHAS).index(model.alpha_)]
    plain = KernelRidge(model.alpha_, kernel=KERNEL, **plain).fit(X, target, weight)
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-9)
    np.testing.assert_allclose(model.dual_coef_, plain.dual_coef_, atol=1e-8)
    np.testing.assert_allclose(
        model.leave_one_out(), refits(model.alpha_, target, weight, **settings_of(plain)), atol=1e-8
    )
    np.testing.assert_allclose(model.predict(X, return_std=True)[1], plain.predict(X, return_std=True)[1], atol=1e-9)


def settings_of(model):
    return {"fit_intercept": model.fit_intercept, "free": model.free}


@pytest.mark.parametrize("per_target", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_a_linear_kernel_is_ridgecv(scoring, intercept, per_target) -> None:
    settings = {"scoring": scoring, "fit_intercept": intercept, "store_cv_results": True}
    settings["alpha_per_target"] = per_target
    theirs = RidgeCV(ALPHAS, **settings).fit(X, Y)
    ours = KernelRidgeCV(ALPHAS, kernel="linear", **settings).fit(X, Y)
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_)
    if scoring is None:
        np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, atol=1e-9)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)
    if intercept:
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 5.0])
@pytest.mark.parametrize("intercept", [False, True])
def test_a_linear_kernel_is_ridgecv_in_any_unit(intercept, offset) -> None:
    """Where alpha is below the rounding of the kernel matrix, too."""
    far = (X + offset) * 1e6
    theirs = RidgeCV(ALPHAS, fit_intercept=intercept, store_cv_results=True).fit(far, y)
    ours = KernelRidgeCV(ALPHAS, kernel="linear", fit_intercept=intercept, store_cv_results=True).fit(far, y)
    np.testing.assert_allclose(ours.cv_results_, theirs.cv_results_, atol=1e-9)
    np.testing.assert_allclose(ours.predict(far), theirs.predict(far), atol=1e-9)


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error", make_scorer(mean_absolute_error)], ids=str)
@pytest.mark.parametrize("cv", [4, KFold(12, shuffle=True, random_state=0)], ids=["four", "twelve"])
def test_folds_equal_a_grid_search(cv, scoring) -> None:
    kernels = [Gaussian.from_gamma(g) for g in (0.05, 0.3)]
    ours = KernelRidgeCV(ALPHAS, kernel=kernels, cv=cv, scoring=scoring, fit_intercept=False).fit(X, y)
    grid = {"gamma": [0.05, 0.3], "alpha": ALPHAS}
    theirs = GridSearchCV(Reference(kernel="rbf"), grid, cv=cv, scoring=scoring or "r2").fit(X, y)
    table = theirs.cv_results_
    for mean, parameters in zip(table["mean_test_score"], table["params"], strict=True):
        i, j = (0.05, 0.3).index(parameters["gamma"]), list(ALPHAS).index(parameters["alpha"])
        assert ours.scores_[i, j] == pytest.approx(mean, abs=1e-9)
    assert ours.alpha_ == theirs.best_params_["alpha"]
    assert ours.kernel_ == Gaussian.from_gamma(theirs.best_params_["gamma"])
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-9)


def test_leave_one_out_as_a_splitter_is_the_closed_form() -> None:
    closed = KernelRidgeCV(ALPHAS, kernel=KERNEL, scoring="neg_mean_squared_error").fit(X, y)
    split = KernelRidgeCV(ALPHAS, kernel=KERNEL, scoring="neg_mean_squared_error", cv=LeaveOneOut()).fit(X, y)
    pairs = list(LeaveOneOut().split(X))
    listed = KernelRidgeCV(ALPHAS, kernel=KERNEL, scoring="neg_mean_squared_error", cv=pairs).fit(X, y)
    np.testing.assert_allclose(split.scores_, closed.scores_, rtol=1e-9)
    np.testing.assert_array_equal(split.scores_, listed.scores_)


def test_weighted_folds_equal_weighted_refits() -> None:
    splits = list(KFold(5).split(X))
    model = KernelRidgeCV([0.3], kernel=KERNEL, cv=splits, scoring="neg_mean_squared_error").fit(X, y, WEIGHT)
    errors = []
    for train, test in splits:
        part = KernelRidge(0.3, kernel=KERNEL, fit_intercept=True).fit(X[train], y[train], WEIGHT[train])
        errors.append(np.average((y[test] - part.predict(X[test])) ** 2, weights=WEIGHT[test]))
    assert model.best_score_ == pytest.approx(-np.mean(errors))


def test_a_function_that_takes_no_weights_scores_without_them() -> None:
    def worst(estimator, values, target):
        return -np.abs(estimator.predict(values) - target).max()

    model = KernelRidgeCV([0.3], kernel=KERNEL, scoring=worst).fit(X, y, WEIGHT)
    assert model.best_score_ == pytest.approx(-np.abs(y - refits(0.3, y, WEIGHT, fit_intercept=True)).max())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_scores_that_are_not_defined_choose_nothing() -> None:
    with pytest.raises(ValueError, match=r"scoring = None is not defined for alpha = 0.001 \(R² needs two samples"):
        KernelRidgeCV(ALPHAS, kernel=KERNEL, cv=LeaveOneOut()).fit(X, y)


def test_groups_stay_together() -> None:
    groups = np.arange(n) // 5
    model = KernelRidgeCV(ALPHAS, kernel=KERNEL, cv=LeaveOneGroupOut()).fit(X, y, groups=groups)
    listed = list(LeaveOneGroupOut().split(X, y, groups))
    np.testing.assert_array_equal(model.scores_, KernelRidgeCV(ALPHAS, kernel=KERNEL, cv=listed).fit(X, y).scores_)
    assert len(listed) == 10


@pytest.mark.parametrize("alpha", ["loo", "gcv", "reml", "marginal_likelihood", "cv"])
def test_one_alpha_of_each_target_is_one_model_of_each(alpha) -> None:
    both = KernelRidgeCV(ALPHAS, kernel=KERNEL, alpha=alpha, alpha_per_target=True).fit(X, Y)
    assert both.scores_.shape == (1, len(ALPHAS), 2)
    for j in range(2):
        one = KernelRidgeCV(ALPHAS, kernel=KERNEL, alpha=alpha).fit(X, Y[:, j])
        assert both.alpha_[j] == one.alpha_
        assert both.best_score_[j] == pytest.approx(one.best_score_)
        np.testing.assert_allclose(both.predict(X)[:, j], one.predict(X), atol=1e-9)
    assert both.alpha_[0] != both.alpha_[1]


def test_gcv_by_its_definition() -> None:
    model = KernelRidgeCV(ALPHAS, kernel=KERNEL, alpha="gcv").fit(X, y)
    for j in (0, 6):
        hat = KernelRidge(ALPHAS[j], kernel=KERNEL, fit_intercept=True).fit(X, np.eye(n)).predict(X)
        gcv = np.mean((y - hat @ y) ** 2) / (1 - np.trace(hat) / n) ** 2
        assert model.scores_[0, j] == pytest.approx(-gcv)


def test_likelihood_of_the_grid_is_that_of_a_gaussian_process() -> None:
    kernels = [1.5 * Gaussian(s) for s in (0.5, 1.5)]
    model = KernelRidgeCV(ALPHAS, kernel=kernels, alpha="marginal_likelihood", fit_intercept=False).fit(X, Y)
    for i, s in enumerate((0.5, 1.5)):
        for j in (0, 5, 10):
            gp = GaussianProcessRegressor(1.5 * RBF(s), alpha=ALPHAS[j], optimizer=None).fit(X, Y)
            assert model.scores_[i, j] == pytest.approx(gp.log_marginal_likelihood_value_, rel=1e-9)


def test_restricted_likelihood_is_the_largest_over_all_scales_of_the_kernel() -> None:
    model = KernelRidgeCV(ALPHAS, kernel=[Gaussian(s) for s in (0.5, 1.5)], alpha="reml").fit(X, y, WEIGHT)
    rest = []
    for i, s in enumerate((0.5, 1.5)):
        for j in (2, 8):
            fits = (KernelRidge(c * ALPHAS[j], kernel=c * Gaussian(s), fit_intercept=True) for c in SCALES)
            best = max(fit.fit(X, y, WEIGHT).log_marginal_likelihood() for fit in fits)
            rest.append(model.scores_[i, j] - 2 * best)
    np.testing.assert_allclose(rest, rest[0], atol=1e-3)  # up to a constant, and the steps between scales


def test_a_criterion_of_an_earlier_version_is_found_under_its_new_name() -> None:
    model = KernelRidgeCV(ALPHAS, kernel=KERNEL, alpha="gcv").fit(X, y)
    state = {**model.__getstate__(), "cv": "gcv"}
    del state["alpha"]
    old = KernelRidgeCV.__new__(KernelRidgeCV)
    old.__setstate__(state)
    assert old.get_params() == model.get_params()
    np.testing.assert_array_equal(clone(old).fit(X, y).scores_, model.scores_)


def test_the_largest_likelihood_is_found_from_the_grid() -> None:
    start = 1.0 * Gaussian(np.full(3, 1.0))
    settings = {"kernel": start, "alpha": "marginal_likelihood", "fit_intercept": False}
    model = KernelRidgeCV(ALPHAS, optimize=True, **settings).fit(X, y)
    grid = KernelRidgeCV(ALPHAS, **settings).fit(X, y)
    gp = GaussianProcessRegressor(ConstantKernel() * RBF(np.ones(3)) + WhiteKernel(grid.alpha_)).fit(X, y)
    assert model.best_score_ > grid.best_score_
    assert model.best_score_ == pytest.approx(gp.log_marginal_likelihood_value_, abs=1e-3)
    assert model.best_score_ == pytest.approx(model.log_marginal_likelihood())
    assert model.alpha_ == pytest.approx(gp.kernel_.k2.noise_level, rel=2e-2)
    np.testing.assert_allclose(model.predict(X), gp.predict(X), atol=2e-2)
    assert start == 1.0 * Gaussian(np.full(3, 1.0))
    restricted = KernelRidgeCV(ALPHAS, kernel=start, alpha="marginal_likelihood", optimize=True).fit(X, y + 50, WEIGHT)
    _, gradient = restricted.log_marginal_likelihood(gradient=True)
    assert abs(gradient["alpha"] * restricted.alpha_) < 1e-2
    assert np.abs(gradient["kernel__lengthscale"] * restricted.kernel_.kernel.lengthscale).max() < 5e-2


def test_the_best_of_a_list_of_kernels_is_kept() -> None:
    kernels = ["gaussian(lengthscale='median')", Matern(nu=1.5), "linear", 0.5 * Gaussian(0.3) + Linear()]
    model = KernelRidgeCV(ALPHAS, kernel=kernels).fit(X, y)
    alone = [KernelRidgeCV(ALPHAS, kernel=k).fit(X, y) for k in kernels]
    np.testing.assert_allclose(model.scores_, np.concatenate([m.scores_ for m in alone]))
    best = max(alone, key=lambda m: m.best_score_)
    assert model.kernel_ == best.kernel_ and model.alpha_ == best.alpha_
    assert model.kernels_ == [m.kernel_ for m in alone]
    np.testing.assert_allclose(model.predict(X), best.predict(X))


@pytest.mark.parametrize("gram", [Nystrom(rank=15), IncompleteCholesky(rank=15), RandomFeatures(rank=30)], ids=str)
def test_low_rank_path_equals_refits_on_the_same_factor(gram) -> None:
    model = KernelRidgeCV(ALPHAS, kernel=KERNEL, gram=gram, random_state=0, store_cv_results=True).fit(X, y, WEIGHT)
    for i in (0, 13, 49):
        without = WEIGHT.copy()
        without[i] = 0
        other = KernelRidge(ALPHAS[4], kernel=KERNEL, gram=gram, fit_intercept=True, random_state=0)
        expected = other.fit(X, y, without).predict(X[[i]])[0]
        assert model.cv_results_[i, 4] == pytest.approx((y[i] - expected) ** 2, abs=1e-8)


def test_sample_weights_are_repetitions_and_zeros_removals() -> None:
    times = rng.integers(0, 3, n)
    settings = {"kernel": KERNEL, "alpha": "marginal_likelihood"}
    some = KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(X, y, (times > 0) * 1.0)
    part = KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(X[times > 0], y[times > 0])
    np.testing.assert_allclose(some.scores_, part.scores_)
    np.testing.assert_allclose(some.predict(X), part.predict(X), atol=1e-9)
    some = KernelRidgeCV(ALPHAS, **settings).fit(X, y, (times > 0) * 1.0)
    part = KernelRidgeCV(ALPHAS, **settings).fit(X[times > 0], y[times > 0])
    np.testing.assert_allclose(some.scores_, part.scores_)
    twice = KernelRidgeCV([0.3], kernel=KERNEL).fit(X, y, times)
    repeated = KernelRidge(0.3, kernel=KERNEL, fit_intercept=True).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(twice.predict(X), repeated.predict(X), atol=1e-9)


def test_conditionally_definite_kernels_need_their_free_part() -> None:
    model = KernelRidgeCV(ALPHAS, kernel=Power(1.0), store_cv_results=True).fit(X, y)
    errors = (y - refits(ALPHAS[3], y, None, kernel=Power(1.0), fit_intercept=True)) ** 2
    np.testing.assert_allclose(model.cv_results_[:, 3], errors, atol=1e-8)
    with pytest.raises(ValueError, match=r"KernelRidgeCV: the kernel power.* is .*CPD\(1\).*free=0"):
        KernelRidgeCV(ALPHAS, kernel=Power(1.0), fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match=r"INDEFINITE.*choose a positive definite one"):
        KernelRidgeCV(ALPHAS, kernel=Sigmoid()).fit(X, y)


def test_precomputed_sparse_and_pipelines() -> None:
    expected = KernelRidgeCV(ALPHAS, kernel=KERNEL, cv=5).fit(X, y)
    K = KERNEL(X)
    given = KernelRidgeCV(ALPHAS, kernel="precomputed", cv=5).fit(K, y)
    np.testing.assert_allclose(given.scores_, expected.scores_)
    np.testing.assert_allclose(given.predict(K[:5]), expected.predict(X[:5]))
    thin = np.where(np.abs(X) > 0.7, X, 0.0)
    sparse = KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(csr_array(thin), y)
    np.testing.assert_allclose(sparse.predict(thin), KernelRidgeCV(ALPHAS, kernel=KERNEL).fit(thin, y).predict(thin))
    model = make_pipeline(StandardScaler(), KernelRidgeCV(ALPHAS))
    assert cross_val_predict(model, X, y, cv=3).shape == (n,)
    assert clone(model).get_params()["kernelridgecv__alphas"] is not ALPHAS


def test_every_array_library(xp) -> None:
    for alpha in ("loo", "gcv", "reml", "marginal_likelihood", "cv"):
        model = KernelRidgeCV(ALPHAS, kernel=KERNEL, alpha=alpha).fit(xp.asarray(X), xp.asarray(Y))
        expected = KernelRidgeCV(ALPHAS, kernel=KERNEL, alpha=alpha).fit(X, Y)
        assert model.alpha_ == expected.alpha_
        np.testing.assert_allclose(np.asarray(model.predict(xp.asarray(X))), expected.predict(X), atol=1e-9)


def test_single_precision_stays_single() -> None:
    model = KernelRidgeCV(kernel=KERNEL).fit(X.astype("f"), y.astype("f"))
    assert model.predict(X).dtype == np.float32
    np.testing.assert_allclose(model.scores_[0, 4:], KernelRidgeCV(kernel=KERNEL).fit(X, y).scores_[0, 4:], rtol=1e-3)


def test_a_leverage_of_one_is_refused() -> None:
    def spike(points):
        return (points[:, 0] == X[7, 0]) * 1.0

    with pytest.raises(ValueError, match=r"sample 7 alone determines .*hᵢᵢ is 1"):
        KernelRidgeCV(kernel=KERNEL, free=[spike]).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alphas": [0.0, 1.0]}, r"alphas = \[0.0, 1.0\] must be numbers > 0"),
        ({"alphas": []}, "at least one"),
        ({"alphas": ["a"]}, "must be numbers > 0"),
        ({"alpha": 0.1}, "alpha = 0.1"),
        ({"cv": "gcv"}, "cv = 'gcv' gives no folds"),
        ({"alpha": "gcv", "scoring": "r2"}, "scoring does not apply to alpha = 'gcv'; omit it"),
        ({"alpha": "reml", "cv": 3}, "cv does not apply to alpha = 'reml'; omit it"),
        ({"optimize": True}, "optimize=True follows the gradient"),
        ({"cv": 3, "store_cv_results": True}, "store_cv_results=True needs alpha='loo' and cv=None"),
        ({"alpha": "marginal_likelihood", "optimize": True, "gram": Nystrom(rank=5)}, "needs the exact kernel matrix"),
        ({"kernel": []}, "kernel"),
    ],
    ids=str,
)
def test_bad_parameters(settings, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        KernelRidgeCV(**settings).fit(X, y)


# ---- labels

FLOWERS, SPECIES = load_iris(return_X_y=True)
FLOWERS = FLOWERS + 0.02 * rng.normal(size=FLOWERS.shape)  # no equal rows
NAMES = np.array(["setosa", "versicolor", "virginica"])[SPECIES]


@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_accuracy_equals_refits(classes) -> None:
    use = np.flatnonzero(3 - classes <= SPECIES)[::3]
    A, labels = FLOWERS[use], NAMES[use]
    model = KernelRidgeClassifierCV(ALPHAS, kernel=KERNEL, store_cv_results=True).fit(A, labels)
    for j in (0, 9):
        right = []
        for i in range(len(A)):
            some = np.delete(np.arange(len(A)), i)
            other = KernelRidgeClassifierCV([ALPHAS[j]], kernel=KERNEL).fit(A[some], labels[some])
            np.testing.assert_allclose(model.cv_results_[i, ..., j], other.decision_function(A[[i]])[0], atol=1e-8)
            right.append(other.predict(A[[i]])[0] == labels[i])
        assert model.scores_[0, j] == pytest.approx(np.mean(right))
    assert model.decision_function(A).shape == ((len(A),) if classes == 2 else (len(A), 3))
    assert list(model.classes_) == sorted(set(labels))
    assert model.score(A, labels) > 0.85


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 5.0, 2: 0.3}], ids=str)
def test_a_linear_kernel_is_ridgeclassifiercv(class_weight) -> None:
    some = np.r_[0:50, 60:90, 100:110]
    for alpha in (0.1, 10.0):
        theirs = RidgeClassifierCV([alpha], class_weight=class_weight).fit(FLOWERS[some], SPECIES[some])
        ours = KernelRidgeClassifierCV([alpha], kernel="linear", class_weight=class_weight)
        ours.fit(FLOWERS[some], SPECIES[some])
        np.testing.assert_allclose(ours.decision_function(FLOWERS), theirs.decision_function(FLOWERS), atol=1e-8)
        np.testing.assert_array_equal(ours.predict(FLOWERS), theirs.predict(FLOWERS))


def test_any_scorer_and_folds_of_labels() -> None:
    A, labels = FLOWERS[50:], SPECIES[50:]
    model = KernelRidgeClassifierCV(ALPHAS, kernel=KERNEL, scoring="roc_auc", store_cv_results=True).fit(A, labels)
    order = np.argsort(model.cv_results_[:, 3])
    ranks = np.empty(100)
    ranks[order] = np.arange(1, 101)
    auc = (ranks[labels == 2].sum() - 50 * 51 / 2) / 2500
    assert model.scores_[0, 3] == pytest.approx(auc)
    folds = KernelRidgeClassifierCV([0.1], kernel=KERNEL, cv=5, scoring="balanced_accuracy").fit(A, labels)
    scores = []
    for train, test in StratifiedKFold(5).split(A, labels):
        part = KernelRidgeClassifierCV([0.1], kernel=KERNEL).fit(A[train], labels[train])
        scores.append(balanced_accuracy_score(labels[test], part.predict(A[test])))
    assert folds.best_score_ == pytest.approx(np.mean(scores))
    for alpha in ("gcv", "marginal_likelihood"):
        model = KernelRidgeClassifierCV(ALPHAS, kernel=KERNEL, alpha=alpha).fit(FLOWERS, NAMES)
        assert model.score(FLOWERS, NAMES) > 0.95


def test_bad_labels() -> None:
    with pytest.raises(ValueError, match="one class"):
        KernelRidgeClassifierCV().fit(X, np.zeros(n))
    with pytest.raises(ValueError, match=r"number of classes.*positive weight belong to 1 of 2"):
        KernelRidgeClassifierCV().fit(X, np.arange(n) % 2, (np.arange(n) % 2 == 0) * 1.0)
    with pytest.raises(ValueError, match="Unknown label type"):
        KernelRidgeClassifierCV().fit(X, y)


@pytest.mark.long
def test_sixty_thousand_rows_of_low_rank() -> None:
    A = rng.uniform(-2, 2, size=(60_000, 2)).astype(np.float64)
    b = np.sin(2 * A[:, 0]) * A[:, 1] + 0.1 * rng.normal(size=60_000)
    model = KernelRidgeCV(np.geomspace(1e-4, 1e2, 20), kernel=Gaussian(0.5), gram=Nystrom(rank=500), random_state=0)
    model.fit(A, b)
    assert -model.best_score_ == pytest.approx(0.01, rel=0.03)
    assert model.alpha_ in np.geomspace(1e-4, 1e2, 20)[1:-1]


def test_a_candidate_with_the_identity_as_its_matrix_is_one_among_others() -> None:
    X = np.random.default_rng(0).normal(size=(100, 3))
    model = KernelRidgeCV(kernel=["gaussian(lengthscale=0.01)", "gaussian"]).fit(X, X[:, 0])
    assert str(model.kernel_) == "gaussian"
    alone = KernelRidgeCV(kernel="delta", fit_intercept=True).fit(np.arange(64)[:, None], np.sin(np.arange(64)))
    y, n = np.sin(np.arange(64)), 64
    left_out = (n * np.mean(y) - y) / (n - 1)  # without a sample, f at it is the mean of the others
    np.testing.assert_allclose(alone.leave_one_out(), left_out, atol=1e-10)
