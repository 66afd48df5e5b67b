import gzip
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from mercer.gram import IncompleteCholesky
from mercer.kernels import Gaussian
from mercer.kernels.tasks import Shared, Tasks
from mercer.methods._multitask import SHARES, preferred
from mercer.methods.multitask import ALPHAS, MultitaskKernelRidge, MultitaskSVC
from mercer.selection import KernelSearchCV

WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


def expected(estimator):
    if isinstance(estimator, MultitaskSVC):
        return dict.fromkeys(WEIGHTS, "the check asks for 1e-7 where tol is 1e-3, and for the median to follow weights")
    median = "median" in estimator.kernel
    return dict.fromkeys(WEIGHTS, "the median distance is of the samples as they stand") if median else {}


def letters(x, y):
    return float(sum(x.count(c) * y.count(c) for c in "ab"))


@pytest.fixture
def sample():
    """Samples of three tasks, 14, 10 and 6 of them, with a function in common."""
    rng = np.random.default_rng(0)
    X, tasks = rng.normal(size=(30, 2)), np.repeat(["ann", "bob", "cid"], [14, 10, 6])
    own = {"ann": 0.3, "bob": -0.2, "cid": 0.5}
    y = np.sin(2 * X[:, 0]) + np.array([own[t] for t in tasks]) * X[:, 1] + 0.1 * rng.normal(size=30)
    order = rng.permutation(30)
    return X[order], tasks[order], y[order]


@pytest.fixture
def outputs():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 2))
    return X, np.sin(X @ rng.normal(size=(2, 3))) + 0.1 * rng.normal(size=(25, 3))


# ---- the limits, and the definition


def test_no_share_is_a_fit_of_each_task(sample):
    X, tasks, y = sample
    model = MultitaskKernelRidge(0.1, kernel=Gaussian(), task="pairs", coupling=0.0).fit((X, tasks), y)
    machine = MultitaskSVC(C=2.0, kernel=Gaussian(), task="pairs", coupling=0.0, tol=1e-11).fit((X, tasks), y > 0)
    new = np.random.default_rng(2).normal(size=(9, 2))
    for task in ("ann", "bob", "cid"):
        mine, points = tasks == task, (new, [task] * 9)
        alone = KernelRidge(0.1, kernel=Gaussian()).fit(X[mine], y[mine])
        np.testing.assert_allclose(model.predict(points), alone.predict(new), atol=1e-8)
        alone = SVC(C=2.0, kernel=Gaussian(), fit_intercept=False, tol=1e-11).fit(X[mine], y[mine] > 0)
        np.testing.assert_allclose(machine.decision_function(points), alone.decision_function(new), atol=1e-8)
    np.testing.assert_array_equal(model.predict((new, ["new"] * 9)), np.zeros(9))


def test_all_shared_is_one_fit(sample):
    X, tasks, y = sample
    new = np.random.default_rng(2).normal(size=(9, 2)), ["ann", "new", "cid"] * 3
    model = MultitaskKernelRidge(0.1, kernel=Gaussian(), task="pairs", coupling=1.0).fit((X, tasks), y)
    pooled = KernelRidge(0.1, kernel=Gaussian()).fit(X, y)
    np.testing.assert_allclose(model.predict(new), pooled.predict(new[0]), atol=1e-8)
    machine = MultitaskSVC(C=2.0, kernel=Gaussian(), task="pairs", coupling=1.0, tol=1e-11).fit((X, tasks), y > 0)
    pooled = SVC(C=2.0, kernel=Gaussian(), fit_intercept=False, tol=1e-11).fit(X, y > 0)
    np.testing.assert_allclose(machine.decision_function(new), pooled.decision_function(new[0]), atol=1e-8)


def test_a_share_between_is_the_product_kernel(sample):
    X, tasks, y = sample
    new = np.random.default_rng(2).normal(size=(9, 2)), ["ann", "new", "cid"] * 3
    model = MultitaskKernelRidge(0.1, kernel=Gaussian(), task="pairs", coupling=0.4).fit((X, tasks), y)
    K = Gaussian()(X) * (0.4 + 0.6 * (tasks[:, None] == tasks))
    cross = Gaussian()(new[0], X) * (0.4 + 0.6 * (np.array(new[1])[:, None] == tasks))
    np.testing.assert_allclose(model.predict(new), cross @ np.linalg.solve(K + 0.1 * np.eye(30), y), atol=1e-10)
    assert model.share_ == 0.4 and model.tasks_.tolist() == ["ann", "bob", "cid"]
    np.testing.assert_allclose(model.task_matrix_, 0.4 + 0.6 * np.eye(3))


def test_parts_with_kernels_of_their_own(sample):
    X, tasks, y = sample
    kernel = 0.4 * (Gaussian(2.0) @ Shared(1.0)) + 0.6 * (Gaussian(0.5) @ Shared(0.0))
    model = KernelRidge(0.1, kernel=kernel).fit((X, tasks), y)
    K = 0.4 * Gaussian(2.0)(X) + 0.6 * Gaussian(0.5)(X) * (tasks[:, None] == tasks)
    np.testing.assert_allclose(model.dual_coef_, np.linalg.solve(K + 0.1 * np.eye(30), y), atol=1e-9)


B = np.array([[1.0, 0.6, -0.3], [0.6, 2.0, 0.1], [-0.3, 0.1, 0.5]])


@pytest.mark.parametrize("matrix", [B, np.ones((3, 3)), np.diag([1.0, 2.0, 0.0])])
@pytest.mark.parametrize("gram", ["dense", "lazy", IncompleteCholesky(tol=1e-14)], ids=str)
def test_outputs_are_the_kronecker_system(outputs, matrix, gram):
    X, Y = outputs
    model = MultitaskKernelRidge(0.1, kernel=Gaussian(), coupling=matrix, gram=gram).fit(X, Y)
    K, new = np.kron(matrix, Gaussian()(X)), np.random.default_rng(2).normal(size=(4, 2))
    a = np.linalg.solve(K + 0.1 * np.eye(75), Y.T.ravel())
    expected = (np.kron(matrix, Gaussian()(new, X)) @ a).reshape(3, 4).T
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-5 if gram == "lazy" else 1e-8)
    np.testing.assert_allclose(model.function_(new), model.predict(new))


@pytest.mark.parametrize("gram", ["dense", "lazy", IncompleteCholesky(tol=1e-14)], ids=str)
def test_missing_outputs(outputs, gram):
    X, Y = outputs
    missing = np.random.default_rng(3).random(Y.shape) < 0.4
    missing[4] = True
    seen = ~missing.T.ravel()
    model = MultitaskKernelRidge(0.1, kernel=Gaussian(), coupling=B, gram=gram).fit(X, np.where(missing, np.nan, Y))
    K, new = np.kron(B, Gaussian()(X)), np.random.default_rng(2).normal(size=(4, 2))
    a = np.linalg.solve(K[np.ix_(seen, seen)] + 0.1 * np.eye(seen.sum()), Y.T.ravel()[seen])
    expected = (np.kron(B, Gaussian()(new, X))[:, seen] @ a).reshape(3, 4).T
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-5 if gram == "lazy" else 1e-8)


def test_outputs_and_tasks_are_one_model(outputs):
    X, Y = outputs
    rows, tasks = np.repeat(np.arange(25), 3), np.tile(np.arange(3), 25)
    by_output = MultitaskKernelRidge(0.1, kernel=Gaussian(), coupling=0.3).fit(X, Y)
    by_task = MultitaskKernelRidge(0.1, kernel=Gaussian(), task=2, coupling=0.3).fit(
        np.c_[X[rows], tasks], Y[rows, tasks]
    )
    for t in range(3):
        np.testing.assert_allclose(by_task.predict(np.c_[X, np.full(25, t)]), by_output.predict(X)[:, t], atol=1e-9)


# ---- leave-one-out, and what is chosen by it


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_of_samples(sample, weighted):
    X, tasks, y = sample
    weight = np.random.default_rng(4).uniform(0.5, 2, 30) if weighted else None
    model = MultitaskKernelRidge(0.2, kernel=Gaussian(), task="pairs", coupling=0.4).fit((X, tasks), y, weight)
    for i in (0, 7, 29):
        rest = np.delete(np.arange(30), i)
        part = clone(model).fit((X[rest], tasks[rest]), y[rest], None if weight is None else weight[rest])
        assert part.predict((X[[i]], tasks[[i]]))[0] == pytest.approx(model.leave_one_out()[i], rel=1e-8)


@pytest.mark.parametrize("holes", [False, True])
def test_leave_one_out_of_outputs(outputs, holes):
    X, Y = outputs
    Y = np.where(np.random.default_rng(3).random(Y.shape) < 0.3 * holes, np.nan, Y)
    model = MultitaskKernelRidge(0.2, kernel=Gaussian(), coupling=B).fit(X, Y)
    left = model.leave_one_out()
    assert np.array_equal(np.isnan(left), np.isnan(Y))
    for i in (0, 11, 24):
        rest = np.delete(np.arange(25), i)
        part = clone(model).fit(X[rest], Y[rest]).predict(X[[i]])[0]
        np.testing.assert_allclose(left[i], np.where(np.isnan(Y[i]), np.nan, part), rtol=1e-8)


@pytest.mark.parametrize("form", ["samples", "outputs", "holes"])
def test_choice_is_the_least_error_of_leave_one_out(sample, outputs, form):
    X, Y = outputs
    X, y, task = ((sample[0], sample[1]), sample[2], "pairs") if form == "samples" else (X, Y, None)
    y = np.where(np.random.default_rng(3).random(y.shape) < 0.3, np.nan, y) if form == "holes" else y
    model = MultitaskKernelRidge(kernel=Gaussian(), task=task).fit(X, y)
    assert model.errors_.shape == (8, 10)
    mine = model.errors_[SHARES.index(model.share_), ALPHAS.index(model.alpha_)]
    assert mine == pytest.approx(np.nanmean((model.leave_one_out() - y) ** 2), rel=1e-8)
    assert mine == model.errors_.min() or model.share_ == 0
    fixed = clone(model).set_params(alpha=1.0, coupling=0.5).fit(X, y)
    error = np.nanmean((fixed.leave_one_out() - y) ** 2)
    assert model.errors_[3, 6] == pytest.approx(error, rel=1e-8)


def test_alphas_are_what_leave_one_out_chooses_from(outputs):
    X, Y = outputs
    model = MultitaskKernelRidge("loo", alphas=[0.3, 0.03], kernel=Gaussian(), coupling=0.5).fit(X, Y)
    assert model.errors_.shape == (1, 2) and model.alpha_ in (0.3, 0.03)
    for alpha, coupling in (("loo", "learned"), ("marginal_likelihood", 0.5)):
        with pytest.raises(ValueError, match=f"alpha = '{alpha}' does not work with coupling = {coupling!r}"):
            MultitaskKernelRidge(alpha, coupling=coupling).fit(X, Y)


def test_weights_are_repetitions(sample):
    X, tasks, y = sample
    weight = np.random.default_rng(5).integers(0, 3, 30)
    again = np.repeat(np.arange(30), weight)
    for coupling in (0.4, "learned"):
        model = MultitaskKernelRidge(0.2, kernel=Gaussian(), task="pairs", coupling=coupling)
        weighted, repeated = (
            clone(model).fit((X, tasks), y, weight),
            clone(model).fit((X[again], tasks[again]), y[again]),
        )
        tolerance = 1e-9 if coupling == 0.4 else 1e-3
        np.testing.assert_allclose(weighted.predict((X, tasks)), repeated.predict((X, tasks)), atol=tolerance)


# ---- learned relations


def drawn(cover, n, rng, noise=0.3):
    """Functions with the covariance B ⊗ k at samples, and at points to judge by."""
    x = np.concatenate([rng.uniform(0, 8, n), np.linspace(0, 8, 200)])[:, None]
    root = np.linalg.cholesky(Gaussian()(x) + 1e-9 * np.eye(len(x)))
    F = root @ rng.normal(size=(len(x), len(cover))) @ np.linalg.cholesky(cover).T
    return x[:n], F[:n] + noise * rng.normal(size=(n, len(cover))), x[n:], F[n:]


def errors(couplings, cover, seeds=range(8), n=60):
    """Mean squared errors, where each sample is of one of the tasks, and the matrices."""
    found, matrices = np.zeros((len(couplings), len(seeds))), []
    for j, seed in enumerate(seeds):
        x, Y, grid, F = drawn(cover, n, np.random.default_rng(seed))
        T = len(cover)
        task = np.arange(n) % T
        for i, coupling in enumerate(couplings):
            model = MultitaskKernelRidge(kernel=Gaussian(), task=1, coupling=coupling)
            model.fit(np.c_[x, task], Y[np.arange(n), task])
            values = [model.predict(np.c_[grid, np.full(200, t)]) for t in range(T)]
            found[i, j] = np.mean((np.stack(values, axis=1) - F) ** 2)
            matrices.append(model.task_matrix_)
    return found.mean(axis=1), np.reshape(matrices, (len(seeds), len(couplings), T, T))


COUPLINGS = [0.0, 1.0, "auto", "learned"]


@pytest.mark.long
def test_related_tasks_gain():
    (separate, pooled, auto, learned), _ = errors(COUPLINGS, 0.9 * np.ones((4, 4)) + 0.1 * np.eye(4))
    assert auto < 0.8 * min(separate, pooled)
    assert learned < 0.95 * min(separate, pooled)


@pytest.mark.long
def test_unrelated_tasks_lose_nothing():
    (separate, pooled, auto, learned), matrices = errors(COUPLINGS, np.eye(4), n=120)
    assert pooled > 2 * separate
    assert auto < 1.05 * separate
    # no coupling at all; the strengths are by likelihood, and not by leave-one-out as those of the separate fits
    assert np.all(matrices[:, 3] == matrices[:, 3] * np.eye(4))
    assert learned < 1.1 * separate


@pytest.mark.long
def test_opposite_tasks_gain_by_a_learned_matrix_alone():
    loadings = np.array([1.0, 1.0, -1.0, -1.0])
    (separate, pooled, auto, learned), _ = errors(
        COUPLINGS, 0.9 * np.outer(loadings, loadings) + 0.1 * np.eye(4), n=100
    )
    assert learned < 0.8 * min(separate, pooled, auto)


def test_learned_outputs_with_holes(outputs):
    X, _ = outputs
    f = np.sin(X[:, 0])
    Y = np.stack([f, -2 * f, f**3], axis=1) + 0.05 * np.random.default_rng(0).normal(size=(25, 3))
    Y[:19, 1] = np.nan
    model = MultitaskKernelRidge(kernel=Gaussian(), coupling="learned").fit(X, Y)
    assert model.learned_.converged and np.all(np.diff(model.objective_history_) <= 0)
    assert model.task_matrix_[0, 1] < 0 and model.alpha_ == model.learned_.alpha
    alone = MultitaskKernelRidge(kernel=Gaussian(), coupling=0.0).fit(X, Y)
    mine, theirs = (np.mean((m.predict(X)[:19, 1] + 2 * f[:19]) ** 2) for m in (model, alone))
    assert mine < 0.25 * theirs
    assert not hasattr(model.set_params(coupling=0.5).fit(X, Y), "learned_")


# ---- forms of data


def test_forms_of_tasks_agree(sample):
    X, tasks, y = sample
    codes = np.searchsorted(["ann", "bob", "cid"], tasks)
    frame = pd.DataFrame({"a": X[:, 0], "who": tasks, "b": X[:, 1]})
    forms = {
        "pairs": (list(zip(X, tasks, strict=True)), "pairs"),
        "collections": ((X, tasks), "pairs"),
        "frame": (frame, "who"),
        "frame by index": (frame, 1),
        "array": (np.c_[X, codes], -1),
        "objects": (np.c_[X.astype(object), tasks], 2),
        "list": ([[*x, t] for x, t in zip(X.tolist(), tasks, strict=True)], 2),
        "sparse": (csr_array(np.c_[X, codes]), 2),
    }
    for estimator, target in ((MultitaskKernelRidge(0.1), y), (MultitaskSVC(coupling=0.4), y > 0)):
        answers = []
        for data, task in forms.values():
            model = clone(estimator).set_params(task=task, kernel="gaussian").fit(data, target)
            answers.append(model.predict(data))
            restored = pickle.loads(pickle.dumps(model))
            np.testing.assert_array_equal(restored.predict(data), answers[-1])
        for other in answers[1:]:
            np.testing.assert_allclose(other, answers[0], atol=1e-8)


def test_pipelines_searches_and_splitters(sample):
    X, tasks, y = sample
    frame = pd.DataFrame({"a": X[:, 0], "who": tasks, "b": X[:, 1]})
    scaled = make_column_transformer((StandardScaler(), ["a", "b"]), remainder="passthrough")
    pipeline = make_pipeline(scaled, MultitaskKernelRidge(0.1, task=2, kernel="gaussian"))
    search = GridSearchCV(pipeline, {"multitaskkernelridge__coupling": [0.0, 0.5, 1.0]}, cv=3).fit(frame, y)
    direct = MultitaskKernelRidge(0.1, task="pairs", kernel="gaussian", coupling=search.best_estimator_[-1].coupling)
    Z = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(search.predict(frame), direct.fit((Z, tasks), y).predict((Z, tasks)), atol=1e-10)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    pairs = list(zip(X, tasks, strict=True))
    assert cross_val_score(MultitaskSVC(task="pairs", coupling=0.5), pairs, y > 0, cv=3).mean() > 0.7


@pytest.mark.parametrize("estimator", [MultitaskKernelRidge(0.1), MultitaskSVC()])
@pytest.mark.parametrize("form", ["column", "pairs", "outputs"])
def test_a_search_that_shares_matrices_finds_the_same(sample, estimator, form):
    X, tasks, y = sample
    data = {"column": np.c_[X, np.unique(tasks, return_inverse=True)[1]], "pairs": list(zip(X, tasks, strict=True))}
    target = y if isinstance(estimator, MultitaskKernelRidge) else (y > 0).astype(int)
    X, target = (data[form], target) if form in data else (X, np.stack([target, 1 - target], axis=1))
    model = clone(estimator).set_params(kernel="gaussian", task={"column": -1, "pairs": "pairs"}.get(form))
    plain, sharing = (
        search(model, {"coupling": [0.0, 0.5]}, cv=3).fit(X, target) for search in (GridSearchCV, KernelSearchCV)
    )
    np.testing.assert_allclose(plain.cv_results_["mean_test_score"], sharing.cv_results_["mean_test_score"], atol=1e-8)
    np.testing.assert_allclose(plain.predict(X), sharing.predict(X), atol=1e-8)


def test_samples_of_any_kind():
    words = ["aab", "aba", "bab", "bba", "abb", "baa", "aaab", "abbb"]
    X = [(word, t) for word in words for t in ("one", "two")]
    y = np.array([word.count("a") * (1.0 if t == "one" else 1.2) for word, t in X])
    model = MultitaskKernelRidge(0.01, kernel=letters, task="pairs").fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 0.2
    assert 2.5 < model.predict([("aaa", "new")])[0] < 4
    machine = MultitaskSVC(kernel=letters, task="pairs", coupling="auto", cv=2).fit(X, y > 1.5)
    assert machine.score(X, y > 1.5) > 0.8 and len(machine.scores_) == 8


def test_a_new_task_has_the_mean_function(sample):
    X, tasks, y = sample
    model = MultitaskKernelRidge(0.1, kernel=Gaussian(), task="pairs", coupling=B).fit((X, tasks), y)
    every = np.mean([model.predict((X, [t] * 30)) for t in model.tasks_], axis=0)
    np.testing.assert_allclose(model.predict((X, ["new"] * 30)), every, atol=1e-12)
    kernel = Tasks(B, ["ann", "bob", "cid"])
    given = MultitaskKernelRidge(0.1, kernel=Gaussian(), task="pairs", coupling=kernel).fit((X, tasks), y)
    np.testing.assert_allclose(given.predict((X, tasks)), model.predict((X, tasks)), atol=1e-12)


# ---- classification


def test_labels_without_share_are_machines_of_their_own(outputs):
    X, Y = outputs
    labels = (Y > 0).astype(int)
    model = MultitaskSVC(kernel=Gaussian(), coupling=0.0, tol=1e-11).fit(X, labels)
    for t in range(3):
        alone = SVC(kernel=Gaussian(), fit_intercept=False, tol=1e-11).fit(X, labels[:, t])
        np.testing.assert_allclose(model.decision_function(X)[:, t], alone.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)


def test_coupled_labels_are_the_product_kernel(outputs):
    X, Y = outputs
    labels = (Y > 0).astype(int)
    model = MultitaskSVC(kernel=Gaussian(), coupling=B, tol=1e-11).fit(X, labels)
    K = np.kron(Gaussian()(X), B)
    alone = SVC(kernel="precomputed", fit_intercept=False, tol=1e-11).fit(K, labels.ravel())
    np.testing.assert_allclose(model.decision_function(X).ravel(), alone.decision_function(K), atol=1e-8)


@pytest.mark.parametrize("coupling", ["auto", "learned"])
def test_choice_of_classifiers(outputs, coupling):
    X, _ = outputs
    rng = np.random.default_rng(0)
    X = np.concatenate([X, rng.normal(size=(35, 2))])
    same = (X[:, 0] + 0.1 * rng.normal(size=60) > 0).astype(int)
    labels = np.stack([same, same, rng.integers(0, 2, 60)], axis=1)
    model = MultitaskSVC(kernel=Gaussian(), coupling=coupling).fit(X, labels)
    if coupling == "auto":
        assert model.scores_.shape == (8,)
    else:
        M = model.task_matrix_
        assert np.trace(M) == pytest.approx(3)
        assert M[0, 1] > 0.8 > 0.4 > np.abs(M[:2, 2]).max()
    assert model.score(X, labels) > 0.4


def test_unrelated_classification_is_not_coupled():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(160, 2)), np.arange(160) % 2
    y = np.where(task == 0, X[:, 0] > 0, X[:, 0] < 0)
    model = MultitaskSVC(kernel="gaussian + 1", task=2).fit(np.c_[X, task], y)
    assert model.share_ <= 0.25
    learned = MultitaskSVC(kernel="gaussian + 1", task=2, coupling="learned").fit(np.c_[X, task], y)
    assert learned.task_matrix_[0, 1] < -0.5
    new, other = rng.normal(size=(400, 2)), np.arange(400) % 2
    truth = np.where(other == 0, new[:, 0] > 0, new[:, 0] < 0)
    pooled = clone(model).set_params(coupling=1.0).fit(np.c_[X, task], y).score(np.c_[new, other], truth)
    assert pooled < 0.7 < 0.9 < min(m.score(np.c_[new, other], truth) for m in (model, learned))


def test_classes_that_are_rare_everywhere_make_no_tasks_alike():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(90, 2)), np.arange(90) % 3
    y = rng.permutation(np.arange(90) < 12)
    model = MultitaskSVC(kernel="gaussian + 1", task=2, coupling="learned").fit(np.c_[X, task], y)
    assert model.learned_.loadings.shape == (3, 0)


def test_classes_with_one_sample_in_each_task_are_not_judged():
    X, task, y = np.random.default_rng(0).normal(size=(6, 2)), np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    with pytest.warns(UserWarning, match="no class has two samples in a task; the tasks are treated as"):
        model = MultitaskSVC(kernel="gaussian", task=2).fit(np.c_[X, task], y)
    assert model.share_ == 0 and not hasattr(model, "scores_")
    # two samples of a class are dealt to two folds, and one that is alone is in none
    X, task, y = np.tile(X, (2, 1)), np.tile(task, 2), np.tile(y, 2)
    y[-1] = 3
    model.fit(np.c_[X, task], y)
    fold = model._folds(np.arange(12), task, y)
    assert np.all(fold[:5] != fold[6:11]) and np.all(fold[:5] >= 0) and fold[5] == fold[11] == -1


def test_a_share_is_preferred_that_is_better_by_a_standard_error():
    rng = np.random.default_rng(0)
    first = rng.exponential(size=400)
    noise = rng.normal(size=400)
    noise -= noise.mean()
    for gain, expected in ((0.5, 0), (1.5, 2)):  # in standard errors
        better = first - noise - gain * np.std(noise) / 20
        assert preferred(np.stack([first, first + 1, better]), None) == expected
    # a weight is a repetition: of the mean, and here of two halves that tell different things
    losses = np.stack([np.r_[np.ones(5), np.zeros(5)], np.r_[np.zeros(5), np.ones(5)]])
    assert preferred(losses, np.r_[np.ones(5), np.zeros(5)]) == 1
    assert preferred(losses, np.r_[np.zeros(5), np.ones(5)]) == 0


@pytest.mark.filterwarnings("ignore:.*SVC. the solver stopped early")
def test_a_budget_is_that_of_the_whole_choice():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(60, 2)), np.arange(60) % 3
    y = X[:, 0] > 0
    options = {"kernel": "gaussian + 1", "task": 2, "time_budget": 1e-9}
    with pytest.warns(ConvergenceWarning, match="the shares 0, 0.1, 0.25, 0.5, .*, 0.97, 1 were not evaluated"):
        model = MultitaskSVC(**options).fit(np.c_[X, task], y)
    assert model.share_ == 0 and not hasattr(model, "scores_")
    for estimator, target in ((MultitaskSVC, y), (MultitaskKernelRidge, X[:, 0])):
        with pytest.warns(ConvergenceWarning, match="learning the task matrix ended .*: the time budget is spent"):
            learned = estimator(**options, coupling="learned").fit(np.c_[X, task], target)
        assert not learned.learned_.converged and len(learned.objective_history_) == 1
        assert learned.task_matrix_.shape == (3, 3)


def test_sparse_indicators(outputs):
    X, Y = outputs
    labels = (Y > 0).astype(int)
    dense, sparse = (MultitaskSVC(coupling=0.5).fit(X, y).predict(X) for y in (labels, csr_array(labels)))
    np.testing.assert_array_equal(sparse, dense)


# ---- refusals


@pytest.mark.parametrize("estimator", [MultitaskKernelRidge(), MultitaskSVC()])
def test_refusals(estimator):
    X, y = np.random.default_rng(0).normal(size=(6, 3)), np.array([0, 1, 0, 1, 1, 0])
    name = type(estimator).__name__

    def refused(error, match, data=X, target=y, **params):
        with pytest.raises(error, match=f"{name}: {match}"):
            clone(estimator).set_params(**params).fit(data, target)

    refused(ValueError, "coupling = 2 must be >= 0 and <= 1", coupling=2)
    refused(ValueError, "coupling = 'some' is unknown", coupling="some")
    refused(ValueError, r"coupling has shape .*, expected \(6, 6\)", coupling=np.eye(2), task=0)
    refused(ValueError, "coupling is not positive semidefinite", coupling=-np.eye(6), task=0)
    refused(ValueError, "rank = 0 must be >= 1", rank=0)
    refused(ValueError, "task = 7 is not one of the 3 columns of X", task=7)
    refused(ValueError, "task = 'who' is not one of the 3 columns", task="who")
    refused(TypeError, r"task = 'pairs' needs X as a list of \(sample, task\) pairs", task="pairs")
    refused(ValueError, "the tasks contains missing labels", (X, [None] * 6), task="pairs")
    refused(ValueError, "X has 6 samples and 5 tasks", (X, list("abcde")), task="pairs")
    refused(
        TypeError, "the tasks have labels of several types", (X, np.array([1, "a"] * 3, dtype=object)), task="pairs"
    )
    refused(
        ValueError, "y .*; task = 0 requires one (label|target) per sample", X, np.stack([y, 1 - y], axis=1), task=0
    )
    refused(
        ValueError, "kernel = 'precomputed' does not support tasks", np.c_[np.eye(6), y], task=-1, kernel="precomputed"
    )
    refused(ValueError, "the kernel .* choose a positive definite one", kernel="power(1.0)")


def test_more_refusals():
    X = np.zeros((2, 1))
    with pytest.raises(ValueError, match="alpha = 0 must be > 0"):
        MultitaskKernelRidge(0).fit(X, [0, 1])
    with pytest.raises(ValueError, match="all entries of y are NaN"):
        MultitaskKernelRidge().fit(X, np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="cv = 1 must be >= 2"):
        MultitaskSVC(cv=1).fit(X, [0, 1])


# ---- vowels of fifteen speakers


def vowels(folder):
    with gzip.open(folder / "classic" / "vowel.csv.gz", "rt") as file:
        rows = [line.strip().split(",") for line in file][1:]
    X = np.array([row[:10] for row in rows], dtype=float)
    X[:, 1:] = (X[:, 1:] - X[:, 1:].mean(axis=0)) / X[:, 1:].std(axis=0)
    return X, np.array([row[10] for row in rows])


@pytest.mark.long
@pytest.mark.parametrize(("utterances", "coupling"), [(1, 0.5), (2, "auto")])
def test_speakers_learn_from_each_other(data_dir, utterances, coupling):
    X, y = vowels(data_dir)
    who = pd.DataFrame({"who": X[:, 0], "vowel": y}).groupby(["who", "vowel"])
    wrong = []
    for seed in range(3):
        train = who.sample(utterances, random_state=seed).index
        test = np.setdiff1d(np.arange(len(y)), train)
        model = MultitaskSVC(C=10, kernel="gaussian(lengthscale=2.0)", task=0)
        fits = [clone(model).set_params(coupling=c).fit(X[train], y[train]) for c in (coupling, 0.0, 1.0)]
        wrong.append([1 - fit.score(X[test], y[test]) for fit in fits])
    together, separate, pooled = np.mean(wrong, axis=0)
    assert together < 0.8 * min(separate, pooled)


@pytest.mark.long
def test_nothing_is_invented_between_speakers_with_names_of_their_own(data_dir):
    X, y = vowels(data_dir)
    rng = np.random.default_rng(0)
    names = np.stack([rng.permutation(11) for _ in range(15)])
    y = names[X[:, 0].astype(int), np.unique(y, return_inverse=True)[1]]
    train = pd.DataFrame({"who": X[:, 0], "vowel": y}).groupby(["who", "vowel"]).sample(1, random_state=0).index
    model = MultitaskSVC(C=10, kernel="gaussian(lengthscale=2.0)", task=0, coupling="learned").fit(X[train], y[train])
    assert model.learned_.converged
    np.testing.assert_array_equal(model.task_matrix_, model.task_matrix_ * np.eye(15))


def test_a_kernel_of_zeros_learns_no_coupling_and_predicts_zero() -> None:
    A = np.random.default_rng(0).normal(size=(8, 2))
    model = MultitaskKernelRidge(kernel="0*linear", coupling="learned", alpha=1e15).fit(A, A)
    assert not model.predict(A).any()


@pytest.mark.parametrize("model", [MultitaskKernelRidge(kernel="linear"), MultitaskSVC(kernel="linear")])
def test_tables_of_any_form(model):
    """The same whole numbers, whatever holds them, and in either precision."""
    rng = np.random.default_rng(3)
    A = np.c_[rng.integers(-3, 4, size=(24, 2)), np.arange(24) % 2].astype(float)
    y = (A[:, 0] > 0).astype(int)
    names = list("abt")
    arrays = [A, A.astype(np.float32), csr_array(A), *(csr_array(A).asformat(form) for form in ("coo", "bsr", "dia"))]
    frames = [pd.DataFrame(A, columns=names), pd.DataFrame(A.astype(np.float32), columns=names)]
    polars = pytest.importorskip("polars")
    frames += [polars.DataFrame(A, schema=names)]
    first = clone(model).set_params(task=2).fit(A, y).predict(A)
    for task, forms in ((2, arrays), ("t", frames)):
        for sample in forms:
            fitted = clone(model).set_params(task=task).fit(sample, y)
            for new in forms:
                np.testing.assert_allclose(fitted.predict(new), first, atol=1e-4)
    with pytest.raises(TypeError, match=f"^{type(model).__name__}: X is a LazyFrame without values; collect it"):
        clone(model).set_params(task="t").fit(frames[-1].lazy(), y)


def test_advice_names_parameters_that_there_are(monkeypatch):
    made = MultitaskSVC._machine
    monkeypatch.setattr(MultitaskSVC, "_machine", lambda self, kernel: made(self, kernel).set_params(max_iter=1))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(2, size=40)
    with pytest.warns(ConvergenceWarning, match=r"stopped early.* lower C, or raise tol\.$"):
        MultitaskSVC().fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"stopped early.* lower C, or raise max_iter\.$"):
        SVC(max_iter=1).fit(X, y)
