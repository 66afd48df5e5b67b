"""LinearSVC and LinearSVR: scikit-learn's machines, their objectives at or below it, and certificates that hold."""

import warnings

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC, SVR
from sklearn.svm import LinearSVC as ReferenceSVC
from sklearn.svm import LinearSVR as ReferenceSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer.methods.linear_svm import LinearSVC, LinearSVR
from mercer.solvers.fit import primal

CLASSIFICATION = [
    {"loss": "squared_hinge"},
    {"loss": "hinge"},
    {"penalty": "l1"},
]
REGRESSION = [
    {"loss": "epsilon_insensitive"},
    {"loss": "epsilon_insensitive", "epsilon": 0.3},
    {"loss": "squared_epsilon_insensitive", "epsilon": 0.3},
]


def problem(n, d, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) / np.sqrt(d) + 0.3 + noise * rng.normal(size=n)
    return X, y, np.where(y > 0.3, "yes", "no"), rng.uniform(0.2, 2.0, n)


def losses(model, f, y):
    """Loss of each sample, from its definition."""
    if "hinge" in model.loss:
        sign = np.where(y == model.classes_[1], 1, -1)
        xi = np.maximum(0, 1 - sign * f)
    else:
        xi = np.maximum(0, np.abs(y - f) - model.epsilon)
    return xi**2 if model.loss.startswith("squared") else xi


def objective(model, w, b, X, y, cost):
    """The objective from its definition, at any w and b."""
    scale = model.intercept_scaling
    if getattr(model, "penalty", "l2") == "l1":
        penalty = np.abs(w).sum() + np.abs(b) / scale
    else:
        penalty = 0.5 * w @ w + 0.5 * (b / scale) ** 2
    return penalty + np.sum(cost * losses(model, X @ w + b, y))


def accurate(reference, X, y, weight=None):
    """scikit-learn, as exact as it can be made."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return reference.set_params(tol=1e-10, max_iter=1_000_000, random_state=0).fit(X, y, weight)


def machines(settings, X, y, labels, weight=None, **common):
    """Ours, scikit-learn's at the same tolerance, and scikit-learn's to high accuracy."""
    ours, theirs = (LinearSVC, ReferenceSVC) if "epsilon" not in settings.get("loss", "") else (LinearSVR, ReferenceSVR)
    target = labels if ours is LinearSVC else y
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        quick = theirs(**settings, **common, random_state=0).fit(X, target, weight)
    exact = accurate(theirs(**settings, **common), X, target, weight)
    return ours(**settings, **common).fit(X, target, weight), quick, exact, target


@pytest.mark.parametrize("settings", CLASSIFICATION + REGRESSION, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize(("n", "d", "C"), [(300, 4, 1.0), (120, 10, 20.0), (40, 80, 0.1)])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
def test_objective_and_weights_equal_scikit_learn(settings, n, d, C, weighted) -> None:
    X, y, labels, weight = problem(n, d)
    weight = weight if weighted else None
    common = {"C": C, "intercept_scaling": 2.0}
    ours, quick, exact, target = machines(settings, X, y, labels, weight, **common)
    cost = C * (np.ones(n) if weight is None else weight)
    value, at_same_tol, best = (
        objective(ours, np.ravel(m.coef_), float(m.intercept_[0]), X, target, cost) for m in (ours, quick, exact)
    )
    assert ours.solution_.objective == pytest.approx(value, rel=1e-12)
    assert ours.solution_.converged and 0 <= ours.solution_.gap <= 1e-8 * value
    assert value <= at_same_tol * (1 + 1e-8)
    assert value <= best * (1 + 1e-8)  # the certificate: no point is lower by more than the gap
    assert best >= value - ours.solution_.gap - 1e-13 * value
    assert best == pytest.approx(value, rel=1e-6)
    assert np.allclose(ours.coef_, exact.coef_, rtol=0, atol=1e-3 * np.abs(exact.coef_).max())
    scores = [m.predict(X) if target is y else m.decision_function(X) for m in (ours, exact)]
    assert np.allclose(*scores, rtol=0, atol=1e-3 * np.abs(y).max())
    assert ours.coef_.shape == exact.coef_.shape and ours.intercept_.shape == exact.intercept_.shape


@pytest.mark.parametrize("settings", CLASSIFICATION[:2] + REGRESSION, ids=lambda s: "-".join(map(str, s.values())))
def test_optimality_conditions(settings) -> None:
    X, y, labels, weight = problem(150, 6, seed=3)
    ours = (LinearSVC if "hinge" in settings["loss"] else LinearSVR)(**settings, C=2.0, tol=1e-7)
    target = labels if "hinge" in settings["loss"] else y
    ours.fit(X, target, weight)
    beta = np.ravel(ours.solution_.dual)
    w, b = np.ravel(ours.coef_), float(ours.intercept_[0])
    assert np.allclose(X.T @ beta, w, atol=1e-6) and np.allclose(beta.sum(), b, atol=1e-6)  # stationarity
    f, cost = X @ w + b, 2.0 * weight
    p = np.where(labels == "yes", 1.0, -1.0) if "hinge" in settings["loss"] else y
    epsilon = settings.get("epsilon", 0.0)
    excess = (p - f) * np.sign(p) if "hinge" in settings["loss"] else np.abs(p - f) - epsilon
    size = np.abs(beta)
    if ours.loss.startswith("squared"):
        assert np.allclose(size, 2 * cost * np.maximum(excess, 0), atol=1e-6)
    else:  # complementary slackness
        assert np.all(size <= cost * (1 + 1e-12))
        assert np.allclose(size[excess > 1e-6], cost[excess > 1e-6], atol=1e-6)
        assert np.allclose(size[excess < -1e-6], 0, atol=1e-6)


def test_l1_optimality_conditions_and_exact_zeros() -> None:
    X, _, labels, weight = problem(200, 30, seed=5)
    model = LinearSVC("l1", C=0.05, tol=1e-6).fit(X, labels, weight)
    w, b = model.coef_[0], float(model.intercept_[0])
    sign = np.where(labels == "yes", 1.0, -1.0)
    g = -2 * X.T @ (0.05 * weight * sign * np.maximum(0, 1 - sign * (X @ w + b)))
    assert 0 < np.count_nonzero(w) < 30
    assert np.allclose(g[w != 0], -np.sign(w[w != 0]), atol=1e-6)
    assert np.all(np.abs(g[w == 0]) <= 1 + 1e-6)


@pytest.mark.parametrize("settings", CLASSIFICATION + REGRESSION, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize("intercept", [1.0, np.inf, None], ids=["penalised", "free", "none"])
def test_sparse_input_gives_the_dense_answer(settings, intercept) -> None:
    X, y, labels, weight = problem(90, 12, seed=1)
    S = np.where(np.abs(X) > 0.8, X, 0.0)
    common = {"fit_intercept": False} if intercept is None else {"intercept_scaling": intercept}
    cls, target = (LinearSVC, labels) if "epsilon" not in settings.get("loss", "") else (LinearSVR, y)
    dense = cls(**settings, **common, tol=1e-6).fit(S, target, weight)
    sparse = cls(**settings, **common, tol=1e-6).fit(csr_array(S), target, weight)
    assert sparse.solution_.objective == pytest.approx(dense.solution_.objective, rel=1e-10)
    assert np.allclose(sparse.coef_, dense.coef_, atol=1e-5)
    assert np.array_equal(sparse.predict(csr_array(S)) == target, dense.predict(S) == target)


@pytest.mark.parametrize("settings", CLASSIFICATION + REGRESSION, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize("d", [20, 1200])  # by Newton's method and by coordinate descent
def test_sparse_rows_in_any_order_give_the_dense_answer(settings, d) -> None:
    rng = np.random.default_rng(7)
    X, columns = rng.normal(size=(60, 15)), np.stack([rng.permutation(d)[:15] for _ in range(60)])
    shuffled = csr_array((X.ravel(), columns.ravel(), np.arange(0, 901, 15)), shape=(60, d))
    dense, y = shuffled.toarray(), X[:, 0] + 0.1 * rng.normal(size=60)
    cls = LinearSVR if "epsilon" in settings.get("loss", "") else LinearSVC
    target = y if cls is LinearSVR else y > 0
    sparse, other = (cls(**settings, tol=1e-6, random_state=0).fit(Z, target) for Z in (shuffled, dense))
    assert not shuffled.has_sorted_indices
    assert sparse.solution_.objective == pytest.approx(other.solution_.objective, rel=1e-10)
    assert np.allclose(sparse.predict(shuffled), other.predict(dense), atol=1e-4)


@pytest.mark.parametrize("settings", CLASSIFICATION[:2] + REGRESSION, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize("intercept", [1.0, np.inf])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_conjugate_gradients_and_coordinate_descent_reach_the_same_minimum(settings, intercept, sparse, monkeypatch):
    X, y, labels, weight = problem(80, 15, seed=2)
    cls, target = (LinearSVC, labels) if "hinge" in settings["loss"] else (LinearSVR, y)
    model = cls(**settings, intercept_scaling=intercept, C=3.0, random_state=0)
    direct = model.fit(X, target, weight).solution_
    monkeypatch.setattr(primal, "DIRECT", 0)
    monkeypatch.setattr(primal, "DIRECT_SPARSE", 0)
    for passes in (300, 2):  # descent to the end, and descent that hands over to Newton's method
        monkeypatch.setattr(primal, "PASSES", passes)
        other = model.fit(csr_array(X) if sparse else X, target, weight).solution_
        assert other.converged
        assert other.objective == pytest.approx(direct.objective, rel=2e-8)


@pytest.mark.parametrize("C", [0.05, 2.0])
def test_free_intercept_equals_the_kernel_machines(C) -> None:
    X, y, labels, weight = problem(120, 5, seed=4)
    theirs = SVC(kernel="linear", C=C, tol=1e-8).fit(X, labels, weight)
    ours = LinearSVC(loss="hinge", C=C, intercept_scaling=np.inf).fit(X, labels, weight)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-3)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    dual = np.ravel(ours.solution_.dual)
    assert dual.sum() == pytest.approx(0, abs=1e-10)
    theirs = SVR(kernel="linear", C=C, epsilon=0.2, tol=1e-8).fit(X, y + 1000, weight)
    ours = LinearSVR(C=C, epsilon=0.2, intercept_scaling=np.inf).fit(X, y + 1000, weight)
    assert np.allclose(ours.coef_, theirs.coef_[0], atol=1e-3)
    assert np.allclose(ours.intercept_, theirs.intercept_, atol=1e-3)


def test_free_intercept_of_the_squared_losses_against_scipy() -> None:
    X, y, labels, weight = problem(60, 3, seed=6)
    sign = np.where(labels == "yes", 1.0, -1.0)
    for model, target in [
        (LinearSVC(intercept_scaling=np.inf, tol=1e-7), labels),
        (LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.2, intercept_scaling=np.inf, tol=1e-7), y),
    ]:
        ours = model.fit(X, target, weight)

        def value(v, model=model, target=target):
            xi = losses(model, X @ v[:3] + v[3], target) if model.loss != "squared_hinge" else None
            xi = np.maximum(0, 1 - sign * (X @ v[:3] + v[3])) ** 2 if xi is None else xi
            return 0.5 * v[:3] @ v[:3] + weight @ xi

        best = minimize(value, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
        assert ours.solution_.objective <= best.fun * (1 + 1e-10)
        assert np.allclose([*np.ravel(ours.coef_), float(ours.intercept_[0])], best.x, atol=1e-5)


def test_large_intercept_scaling_tends_to_the_free_intercept() -> None:
    X, _, labels, _ = problem(100, 4, seed=7)
    free = LinearSVC(intercept_scaling=np.inf).fit(X, labels)
    near = LinearSVC(intercept_scaling=1e5).fit(X, labels)
    assert np.allclose(near.intercept_, free.intercept_, atol=1e-6) and np.allclose(near.coef_, free.coef_, atol=1e-6)


def test_l1_with_a_free_intercept_does_not_pay_for_it() -> None:
    _, _, labels, _ = problem(50, 2)
    share = np.mean(labels == "yes")
    model = LinearSVC("l1", intercept_scaling=np.inf).fit(np.zeros((50, 2)), labels)
    assert model.intercept_[0] == pytest.approx(2 * share - 1)  # the mean of ±1 minimises the squared hinge
    assert not model.coef_.any() and model.solution_.gap <= 1e-8 * model.solution_.objective


def test_least_absolute_deviations_against_linear_programming() -> None:
    X, y, _, _ = problem(40, 2, seed=8)
    model = LinearSVR(C=1e7, intercept_scaling=np.inf).fit(X, y)
    A = np.hstack([X, np.ones((40, 1))])
    costs = np.concatenate([np.zeros(3), np.ones(80)])
    lp = linprog(
        costs, A_eq=np.hstack([A, np.eye(40), -np.eye(40)]), b_eq=y, bounds=[(None, None)] * 3 + [(0, None)] * 80
    )
    assert np.allclose([*model.coef_, float(model.intercept_[0])], lp.x[:3], atol=1e-5)


def crammer_singer(W, b, X, index, cost, scale=1.0):
    F = X @ W.T + b
    rows = np.arange(len(X))
    margin = 1 + F - F[rows, index][:, None]
    margin[rows, index] = 0
    return 0.5 * np.sum(W**2) + 0.5 * np.sum((b / scale) ** 2) + cost @ margin.max(axis=1)


@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
@pytest.mark.parametrize("class_weight", [None, {0: 3.0, 1: 0.5}, "balanced"], ids=str)
def test_crammer_singer_equals_scikit_learn(C, class_weight) -> None:
    X, index = load_iris(return_X_y=True)
    X, index = X[20:], index[20:]
    weight = np.random.default_rng(0).uniform(0.5, 2, len(X))
    settings = {"multi_class": "crammer_singer", "C": C, "class_weight": class_weight}
    theirs = accurate(ReferenceSVC(**settings), X, index, weight)
    ours = LinearSVC(**settings).fit(X, index, weight)
    own = {None: np.ones(3), "balanced": weight.sum() / (3 * np.bincount(index, weight))}.get(
        class_weight if not isinstance(class_weight, dict) else 0, np.array([3.0, 0.5, 1.0])
    )
    cost = C * weight * own[index]
    mine, best = (crammer_singer(m.coef_, m.intercept_, X, index, cost) for m in (ours, theirs))
    assert ours.solution_.converged and mine == pytest.approx(ours.solution_.objective, rel=1e-10)
    assert mine <= best * (1 + 1e-8) and best == pytest.approx(mine, rel=1e-4)
    assert ours.coef_.shape == (3, 4) and ours.intercept_.shape == (3,)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.97


def test_crammer_singer_of_two_classes_and_without_direct_hessians(monkeypatch) -> None:
    X, _, labels, weight = problem(80, 5, seed=9)
    theirs = accurate(ReferenceSVC(multi_class="crammer_singer"), X, labels, weight)
    ours = LinearSVC(multi_class="crammer_singer").fit(X, labels, weight)
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-3) and ours.intercept_.shape == (1,)
    free = LinearSVC(multi_class="crammer_singer", intercept_scaling=np.inf).fit(X, labels, weight)
    assert free.solution_.converged and free.solution_.objective < ours.solution_.objective
    monkeypatch.setattr(primal, "DIRECT", 0)
    iterated = LinearSVC(multi_class="crammer_singer").fit(X, labels, weight)
    assert iterated.solution_.objective == pytest.approx(ours.solution_.objective, rel=2e-8)


@pytest.mark.parametrize("settings", CLASSIFICATION, ids=lambda s: "-".join(s.values()))
@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 4.0, 2: 0.3}], ids=str)
def test_one_against_the_rest_equals_scikit_learn(settings, class_weight) -> None:
    X, y = load_iris(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), y
    X, y = X[30:], y[30:]
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    theirs = accurate(ReferenceSVC(**settings, class_weight=class_weight), X, y, weight)
    ours = LinearSVC(**settings, class_weight=class_weight).fit(X, y, weight)
    assert ours.coef_.shape == (3, 4) and ours.intercept_.shape == (3,)
    assert np.allclose(ours.coef_, theirs.coef_, atol=2e-3 * np.abs(theirs.coef_).max())
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=0.02)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98


def test_class_weight_of_two_classes_equals_scikit_learn() -> None:
    X, _, labels, weight = problem(150, 3, seed=10)
    for class_weight in ("balanced", {"yes": 5.0}):
        theirs = accurate(ReferenceSVC(class_weight=class_weight), X, labels, weight)
        ours = LinearSVC(class_weight=class_weight).fit(X, labels, weight)
        assert np.allclose(ours.coef_, theirs.coef_, atol=1e-6)


def test_signatures_equal_scikit_learn_but_for_the_time_budget() -> None:
    assert LinearSVC().get_params() == {**ReferenceSVC().get_params(), "time_budget": None}
    assert LinearSVR().get_params() == {**ReferenceSVR().get_params(), "time_budget": None}


def test_dual_changes_nothing() -> None:
    X, y, labels, _ = problem(60, 4)
    for dual in (True, False):
        assert np.array_equal(LinearSVC(dual=dual).fit(X, labels).coef_, LinearSVC().fit(X, labels).coef_)
        assert np.array_equal(LinearSVR(dual=dual).fit(X, y).coef_, LinearSVR().fit(X, y).coef_)


def test_without_intercept() -> None:
    X, y, labels, _ = problem(60, 4)
    model = LinearSVC(fit_intercept=False).fit(X, labels)
    assert model.intercept_ == 0.0
    assert np.allclose(model.coef_, accurate(ReferenceSVC(fit_intercept=False), X, labels).coef_, atol=1e-6)
    assert LinearSVR(fit_intercept=False).fit(X, y).predict(np.zeros((1, 4))) == 0


@pytest.mark.parametrize("settings", CLASSIFICATION + REGRESSION, ids=lambda s: "-".join(map(str, s.values())))
@pytest.mark.parametrize("intercept", [1.0, np.inf])
def test_constant_features_duplicates_and_zero_weights(settings, intercept) -> None:
    X, y, labels, _ = problem(40, 5, seed=11)
    X[:, 2], X[:, 4] = 0.0, 7.0
    cls, target = (LinearSVC, labels) if "epsilon" not in settings.get("loss", "") else (LinearSVR, y)
    model = cls(**settings, intercept_scaling=intercept, tol=1e-6)
    twice = model.fit(np.vstack([X, X]), np.concatenate([target, target])).solution_
    double = model.fit(X, target, np.full(40, 2.0)).solution_
    assert twice.converged and twice.objective == pytest.approx(double.objective, rel=1e-9)
    assert np.ravel(model.coef_)[2] == 0
    with_zeros = model.fit(np.vstack([X, 5 * X]), np.concatenate([target, target]), np.repeat([1.0, 0.0], 40)).solution_
    assert with_zeros.objective == pytest.approx(model.fit(X, target).solution_.objective, rel=1e-9)
    assert len(with_zeros.dual) == 80 and not np.any(with_zeros.dual[40:])


def test_the_function_is_the_machine() -> None:
    X, y, labels, _ = problem(60, 4)
    model = LinearSVC().fit(X, labels)
    assert np.allclose(model.function_(X), model.decision_function(X))
    assert model.function_.norm() == pytest.approx(np.linalg.norm(model.coef_))
    model = LinearSVR().fit(X, y)
    assert np.allclose(model.function_(X), model.predict(X))
    model = LinearSVC(fit_intercept=False).fit(X, np.arange(60) % 3)
    assert np.allclose(model.function_(X), model.decision_function(X))
    assert np.allclose(model.function_.norm(), np.linalg.norm(model.coef_, axis=1))


def test_every_array_library_and_precision(xp) -> None:
    X, y, labels, _ = problem(60, 4)
    A = xp.asarray(X, dtype=xp.float32)
    model = LinearSVR(epsilon=0.1).fit(A, xp.asarray(y, dtype=xp.float32))
    assert isinstance(model.predict(A), type(A)) and model.predict(A).dtype == xp.float32
    assert np.allclose(np.asarray(model.coef_), LinearSVR(epsilon=0.1).fit(X, y).coef_, atol=1e-4)
    index = (labels == "yes").astype(int)
    model = LinearSVC().fit(A, xp.asarray(index))
    assert isinstance(model.decision_function(A), type(A)) and model.coef_.dtype == xp.float32
    assert np.array_equal(model.predict(A), LinearSVC().fit(X, index).predict(X))


def test_empty_samples_and_constant_targets_in_many_sparse_features() -> None:
    X = np.zeros((30, 1500))
    X[:20] = np.random.default_rng(0).normal(size=(20, 1500))
    y = np.arange(30) % 2
    for settings in CLASSIFICATION[:2]:
        model = LinearSVC(**settings, fit_intercept=False)
        dense, sparse = (model.fit(data, y).solution_ for data in (X, csr_array(X)))
        assert sparse.converged and sparse.objective == pytest.approx(dense.objective, rel=2e-8)
    for data in (X, csr_array(X)):
        assert not LinearSVR().fit(data, np.zeros(30)).coef_.any()
        assert LinearSVR(intercept_scaling=np.inf).fit(data, np.full(30, 1e9)).intercept_ == 1e9


def test_separable_data_with_large_C_give_the_widest_margin() -> None:
    X = np.array([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0], [4.0, 3.0], [9.0, 9.0]])
    model = LinearSVC(loss="hinge", C=1e6, intercept_scaling=np.inf).fit(X, [0, 0, 1, 1, 1])
    assert 2 / model.function_.norm() == pytest.approx(3 * np.sqrt(2), rel=1e-6)
    assert np.allclose(model.decision_function(X[:4]), [-1, -1, 1, 1], atol=1e-5)


def test_sparsify() -> None:
    X, _, labels, _ = problem(100, 20)
    model = LinearSVC("l1", C=0.05).fit(X, labels)
    dense, scores = model.coef_.copy(), model.decision_function(X)
    assert model.sparsify().coef_.nnz < 20
    assert np.allclose(model.decision_function(X), scores)
    assert np.array_equal(model.densify().coef_, dense)


def test_max_iter_warns_and_says_what_to_try() -> None:
    X, y, labels, _ = problem(60, 4)
    for model, target in [(LinearSVR(max_iter=1), y), (LinearSVC("l1", C=10.0, max_iter=1), labels)]:
        with pytest.warns(ConvergenceWarning, match=r"max_iter = 1\) left a duality gap of .* raise tol or max_iter"):
            model.fit(X, target)
        assert not model.solution_.converged and model.n_iter_ == 1
    with pytest.warns(ConvergenceWarning):
        assert not LinearSVC(max_iter=0).fit(X, labels).coef_.any()
    with pytest.warns(ConvergenceWarning, match=r"; 1 step \(max_iter = 1\) left"):
        LinearSVR(max_iter=1).fit(X, y)


def test_max_iter_may_be_left_to_the_solver() -> None:
    X, y, labels, _ = problem(60, 4)
    for model, target in [(LinearSVC(), labels), (LinearSVC("l1"), labels), (LinearSVR(), y)]:
        coef = model.fit(X, target).coef_.copy()
        assert np.array_equal(model.set_params(max_iter=None).fit(X, target).coef_, coef)


def test_verbose_prints_the_gap(capsys) -> None:
    X, _, labels, _ = problem(60, 4)
    LinearSVC(verbose=1).fit(X, labels)
    assert "gap" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinearSVC(C=0), "LinearSVC: C = 0 must be > 0"),
        (LinearSVC(tol=0.0), "tol = 0.0 must be > 0"),
        (LinearSVC(max_iter=-1), "max_iter = -1 must be >= 0"),
        (LinearSVC("l0"), "penalty = 'l0' is unknown"),
        (LinearSVC(loss="logistic"), "loss = 'logistic' is unknown"),
        (LinearSVC("l1", "hinge"), "penalty = 'l1' needs loss = 'squared_hinge'"),
        (LinearSVC(multi_class="ovo"), "multi_class = 'ovo' is unknown"),
        (LinearSVC(dual="primal"), "dual = 'primal' is unknown"),
        (LinearSVC(intercept_scaling=0), "intercept_scaling = 0 must be > 0"),
        (LinearSVR(epsilon=-0.1), "LinearSVR: epsilon = -0.1 must be >= 0"),
        (LinearSVR(loss="hinge"), "loss = 'hinge' is unknown"),
    ],
    ids=str,
)
def test_bad_parameters(model, message) -> None:
    X, y, labels, _ = problem(20, 2)
    with pytest.raises(ValueError, match=message):
        model.fit(X, labels if isinstance(model, LinearSVC) else y)


def test_one_class_is_refused() -> None:
    with pytest.raises(ValueError, match="one class"):
        LinearSVC().fit(np.eye(3), [1, 1, 1])


@pytest.mark.parametrize("size", [1.7e308, 1e250, 1e-250, 1e-318])
def test_targets_without_squares_are_refused(size):
    X = np.arange(12.0)[:, None]
    with pytest.raises(ValueError, match=r"LinearSVR: y is of size .*; divide it by"):
        LinearSVR().fit(X, np.full(12, size))


@parametrize_with_checks(
    [
        LinearSVC(),
        LinearSVC(loss="hinge"),
        LinearSVC(penalty="l1"),
        LinearSVC(multi_class="crammer_singer"),
        LinearSVC(loss="hinge", intercept_scaling=np.inf),
        LinearSVR(),
        LinearSVR(loss="squared_epsilon_insensitive", epsilon=0.1, intercept_scaling=np.inf),
    ]
)
@pytest.mark.filterwarnings("ignore:.*SCIPY_ARRAY_API:sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check) -> None:
    check(estimator)
