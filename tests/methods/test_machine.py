"""KernelMachine: the representer theorem as tests, penalties, representations, losses that couple samples, errors."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PoissonRegressor
from sklearn.model_selection import cross_val_score

from mercer import (
    RKHS,
    KernelInterpolator,
    KernelLogisticRegression,
    KernelMachine,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeCV,
    RobustKernelRegression,
)
from mercer.gram import Centered, Nystrom
from mercer.kernels import Bernoulli, Gaussian, Linear, ThinPlate
from mercer.losses import Custom, Huber, Logistic, Pinball, as_loss
from mercer.methods._loss import concordance

rng = np.random.default_rng(5)
N = 40
X = rng.normal(size=(N, 2))
y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.normal(size=N)
LABEL = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=N) > 0, "yes", "no")
K = Gaussian()(X)
REGRESSION = ["squared", "absolute", "huber", "pinball(quantile=0.8)", "log_cosh", "expectile(level=0.2)", "hampel"]


# ---- the theorem


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "logistic"])
def test_an_orthogonal_part_changes_no_value_and_raises_the_objective(loss) -> None:
    target = LABEL if loss == "logistic" else y
    model = KernelMachine(loss, kernel=Gaussian(), alpha=0.2, tol=1e-9).fit(X, target)
    H = RKHS(Gaussian())
    other = H.function(rng.normal(size=(6, 2)), rng.normal(size=6))
    inside = H.function(X, np.linalg.lstsq(K, other(X), rcond=1e-10)[0])  # its projection on the span of the k(·, xᵢ)
    g = other - inside
    assert g.norm() > 0.1
    assert np.allclose(g(X), 0, atol=1e-6)
    for step in (1.0, -1.0, 0.01):
        moved = model.function_ + step * g
        assert np.allclose(moved(X), model.function_(X), atol=1e-6)
        raised = moved.norm() ** 2 - model.function_.norm() ** 2
        assert raised == pytest.approx(step**2 * g.norm() ** 2, rel=1e-4)


@pytest.mark.parametrize("loss", ["huber", "logistic", "squared_hinge", "poisson"])
@pytest.mark.parametrize("free", [None, 0])
def test_eigen_expansion_is_the_same_problem(loss, free) -> None:
    """f = Σ u_j √λ_j v_j with the penalty Σ u_j², solved by SciPy without a kernel."""
    loss = as_loss(loss)
    target = {"binary": np.where(LABEL == "yes", 1.0, -1.0), "count": np.round(np.exp(y))}.get(loss.task, y)
    values, V = np.linalg.eigh(K)
    Z = np.hstack([V * np.sqrt(values.clip(0)), np.ones((N, 0 if free is None else 1))])

    def value(x):
        f = Z @ x
        gradient = Z.T @ loss.gradient(target, f)
        gradient[:N] += 0.5 * x[:N]
        return float(loss.total(target, f)) + 0.25 * float(x[:N] @ x[:N]), gradient

    x = minimize(value, np.zeros(Z.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 2000}).x
    labels = LABEL if loss.task == "binary" else target
    model = KernelMachine(loss, kernel=Gaussian(), alpha=0.5, free=free, tol=1e-12).fit(X, labels)
    assert np.allclose(model.solution_.values, Z @ x, atol=1e-5)
    assert model.function_.norm() == pytest.approx(np.linalg.norm(x[:N]), abs=1e-5)


def test_first_direction_of_kernel_pca() -> None:
    """The loss −(Σ f(xᵢ)²)^½ in the centred space: no targets, coupled, and not convex, but still a loss of the values.

    For a given norm of f the sum is largest along the first eigenvector of the centred matrix.
    """

    def value(start, f, weight=None):
        return -np.linalg.norm(f)

    def gradient(start, f, weight=None):
        size = np.linalg.norm(f)
        return -start / np.linalg.norm(start) if size == 0 else -f / size

    start = np.random.default_rng(0).normal(size=N)
    P = np.eye(N) - 1 / N
    values, V = np.linalg.eigh(P @ K @ P)
    alpha = np.sqrt(values[-1])  # for which ‖f‖ = 1
    model = KernelMachine(Custom(value, gradient), kernel=Gaussian(), gram=Centered(), alpha=alpha, tol=1e-10)
    f = model.fit(X, start).solution_.values
    assert np.abs(f @ V[:, -1]) == pytest.approx(np.linalg.norm(f), rel=1e-8)
    assert np.sum(f**2) == pytest.approx(values[-1], rel=1e-8)
    assert f @ np.linalg.pinv(P @ K @ P, rcond=1e-12) @ f == pytest.approx(1.0, rel=1e-6)


# ---- weights, representations


@pytest.mark.parametrize("loss", [*REGRESSION, "logistic", "hinge", "multinomial"])
def test_weights_are_repetitions(loss) -> None:
    count = np.random.default_rng(0).integers(0, 4, N)  # the same in any order of the tests
    labels = as_loss(loss).task in ("binary", "multiclass")
    target = LABEL if labels else y
    settings = {"kernel": Gaussian(), "alpha": 0.3, "free": 0, "tol": 1e-10 if as_loss(loss).smooth else 1e-8}
    weighted = KernelMachine(loss, **settings).fit(X, target, count)
    repeated = KernelMachine(loss, **settings).fit(np.repeat(X, count, axis=0), np.repeat(target, count))
    assert weighted.solution_.objective == pytest.approx(repeated.solution_.objective, rel=1e-7)
    assert np.allclose(weighted.values(X), repeated.values(X), atol=1e-4)
    assert np.allclose(weighted.dual_coef_[count == 0], 0, atol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "multinomial", "absolute"])
def test_low_rank_is_the_fit_of_the_approximate_matrix(loss) -> None:
    target = LABEL if as_loss(loss).task in ("binary", "multiclass") else y
    gram = Nystrom(landmarks=np.arange(0, N, 4))
    settings = {"alpha": 0.3, "free": 0, "tol": 1e-9}
    model = KernelMachine(loss, kernel=Gaussian(), gram=gram, **settings).fit(X, target)
    Q = K[:, ::4] @ np.linalg.solve(K[::4, ::4], K[::4])
    exact = KernelMachine(loss, kernel="precomputed", **settings).fit((Q + Q.T) / 2, target)
    assert model.solution_.objective == pytest.approx(exact.solution_.objective, rel=1e-7)
    assert np.allclose(model.solution_.values, exact.solution_.values, atol=1e-4)
    assert len(model.function_) == N // 4
    assert np.allclose(model.values(X), model.solution_.values, atol=1e-8)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "hinge"])
def test_lazy_equals_dense(loss) -> None:
    target = LABEL if as_loss(loss).task == "binary" else y
    settings = {"kernel": Gaussian(), "alpha": 0.5, "free": 0, "tol": 1e-9}
    lazy, dense = (KernelMachine(loss, gram=gram, **settings).fit(X, target) for gram in ("lazy", "dense"))
    assert lazy.solution_.objective == pytest.approx(dense.solution_.objective, rel=1e-8)
    assert np.allclose(lazy.values(X), dense.values(X), atol=1e-5)


def test_squared_is_kernel_ridge() -> None:
    model = KernelMachine(kernel=Gaussian(), alpha=0.7, free=1).fit(X, y)
    ridge = KernelRidge(alpha=0.7, kernel=Gaussian(), free=1).fit(X, y)
    assert model.solution_.method == "direct"
    assert np.allclose(model.predict(X), ridge.predict(X), atol=1e-10)


# ---- penalties


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "logistic"])
@pytest.mark.parametrize("free", [None, 0])
def test_norm_penalty(loss, free) -> None:
    """The solution for α‖f‖ is the one for (μ/2)‖f‖² with μ‖f‖ = α, or f = 0 where α is too large."""
    target = LABEL if loss == "logistic" else y
    settings = {"kernel": Gaussian(), "free": free, "penalty": "norm", "tol": 1e-9}
    model = KernelMachine(loss, alpha=2.0, **settings).fit(X, target)
    norm = model.function_.norm()
    assert norm > 0.1
    assert model.alpha_ * norm == pytest.approx(2.0, rel=1e-3)
    again = KernelMachine(loss, kernel=Gaussian(), free=free, alpha=model.alpha_, tol=1e-9).fit(X, target)
    assert again.function_.norm() == pytest.approx(norm, rel=1e-6)
    nothing = KernelMachine(loss, alpha=1e3, **settings).fit(X, target)
    assert nothing.function_.norm() == 0 and nothing.alpha_ == np.inf


@pytest.mark.parametrize("loss", ["squared", "huber", "absolute", "logistic", "hinge"])
@pytest.mark.parametrize("free", [None, 0])
def test_ball(loss, free) -> None:
    target = LABEL if as_loss(loss).task == "binary" else y
    settings = {"kernel": Gaussian(), "free": free, "tol": 1e-9}
    model = KernelMachine(loss, penalty=("ball", 0.8), **settings).fit(X, target)
    assert model.function_.norm() == pytest.approx(0.8, rel=1e-6) and model.function_.norm() <= 0.8 * (1 + 1e-9)
    code = np.where(LABEL == "yes", 1.0, -1.0) if as_loss(loss).task == "binary" else y
    bound = as_loss(loss).total(code, model.solution_.values)
    for alpha in np.geomspace(1e-2, 1e2, 9):  # no function of the path within the ball has less loss
        other = KernelMachine(loss, alpha=alpha, **settings).fit(X, target)
        if other.function_.norm() <= 0.8:
            assert as_loss(loss).total(code, other.solution_.values) >= bound - 1e-6


def test_ball_of_one_point() -> None:
    model = KernelMachine(kernel=Gaussian(), free=0, penalty=("ball", 0.0)).fit(X, y)
    assert model.function_.norm() < 1e-12
    assert model.free_coef_ == pytest.approx([y.mean()])


def test_far_from_zero_the_gradient_is_still_measured() -> None:
    """Where the intercept explains all slopes at f = 0, there is nothing of them left to compare with."""
    model = KernelMachine("huber", kernel=Gaussian(), free=0).fit(X, y + 1e6)
    assert model.solution_.gradient_norm < 1e-6


def test_ball_that_does_not_bind() -> None:
    """With a free plane that fits all, f = 0 lies within any ball; the least-squares plane is the solution."""
    plane = 1 + X @ np.array([2.0, -1.0])
    model = KernelMachine(kernel=Gaussian(), free=1, penalty=("ball", 5.0)).fit(X, plane)
    assert model.function_.norm() < 1e-4
    assert np.allclose(model.free_coef_, [1, 2, -1], atol=1e-5)


def brute_force(penalty, target):
    """v(r) + Ψ(r) on a fine path of the squared penalty."""
    best = (np.inf, 0.0)
    for alpha in np.geomspace(1e-10, 1e3, 1500):
        a = np.linalg.solve(K + alpha * np.eye(N), target)
        norm = np.sqrt(a @ K @ a)
        best = min(best, (0.5 * np.sum((target - K @ a) ** 2) + penalty(norm), norm))
    return min(best, (0.5 * target @ target + penalty(0.0), 0.0))


@pytest.mark.parametrize(
    "penalty",
    [
        lambda r: 3.0 * (r > 0.9) + 0.5 * r,
        lambda r: 4.0 * min(r, 1.0),
        lambda r: 2.0 * np.sqrt(r),
        lambda r: 0.1 * r**4,
    ],
    ids=["step", "capped", "root", "quartic"],
)
def test_any_increasing_penalty(penalty) -> None:
    """Also where it is not convex: the global minimum, by brute force over a fine path."""
    model = KernelMachine(kernel=Gaussian(), penalty=penalty).fit(X, y)
    least, norm = brute_force(penalty, y)
    found = 0.5 * np.sum((y - model.solution_.values) ** 2) + penalty(model.function_.norm())
    assert found <= least * (1 + 1e-3)
    assert found >= least * (1 - 1e-3)
    assert model.function_.norm() == pytest.approx(norm, rel=0.1, abs=1e-3)


def test_of_ties_the_smallest_norm() -> None:
    """Targets 0: every μ has f = 0, and of all of them the one with μ = ∞ is returned."""
    model = KernelMachine(kernel=Gaussian(), penalty=lambda r: 0.0).fit(X, 0 * y)
    assert model.function_.norm() == 0 and model.alpha_ == np.inf


def test_decreasing_penalty_is_refused() -> None:
    with pytest.raises(ValueError, match="must not decrease"):
        KernelMachine(kernel=Gaussian(), penalty=lambda r: -r).fit(X, y)


def test_l1_is_sparse_and_optimal() -> None:
    model = KernelMachine("huber", kernel=Gaussian(), penalty="l1", alpha=1.0, free=0).fit(X, y)
    pull = K @ Huber().gradient(y, model.solution_.values)
    used = model.dual_coef_ != 0
    assert 0 < used.sum() < N / 2
    assert len(model.function_) == used.sum() and np.allclose(model.predict(X), model.solution_.values, atol=1e-10)
    assert np.abs(pull).max() <= 1 + 1e-4
    assert np.allclose(pull[used], -np.sign(model.dual_coef_[used]), atol=1e-4)
    with pytest.raises(ValueError, match="smooth loss"):
        KernelMachine("absolute", penalty="l1").fit(X, y)


# ---- other losses


def test_custom_loss_equals_its_built_in_twin() -> None:
    def value(y, f, weight=None):
        return float(np.sum((1.0 if weight is None else weight) * np.logaddexp(0, -y * f)))

    def gradient(y, f, weight=None):
        return -(1.0 if weight is None else weight) * y / (1 + np.exp(y * f))

    def hessian(y, f, weight=None):
        p = 1 / (1 + np.exp(-f))
        return (1.0 if weight is None else weight) * p * (1 - p)

    code, weight = np.where(LABEL == "yes", 1.0, -1.0), rng.uniform(0.5, 2, N)
    own = KernelMachine("logistic", kernel=Gaussian(), alpha=0.3, free=0, tol=1e-10).fit(X, code, weight)
    for custom in (Custom(value, gradient, convex=True), Custom(value, gradient, hessian, convex=True)):
        model = KernelMachine(custom, kernel=Gaussian(), alpha=0.3, free=0, tol=1e-9).fit(X, code, weight)
        assert model.solution_.method == ("lbfgs" if custom.hessian is None else "newton_cg")
        assert np.allclose(model.predict(X), own.decision_function(X), atol=1e-6)


def test_equals_a_smoothing_spline_of_gss(oracle) -> None:
    """`gssanova`: the logistic likelihood with a cubic spline on the interval that is 10 % longer than the data's."""
    data = oracle("gssanova_binomial_mtcars")
    x, out = data["inputs"]["x"], data["outputs"]
    U = ((x - x.min()) / np.ptp(x) + 0.05)[:, None] / 1.1
    alpha = 10 ** float(out["nlambda"] - np.ravel(out["theta"])[0])
    model = KernelMachine("logistic", kernel=Bernoulli(2), alpha=alpha, free=1, tol=1e-12).fit(U, data["inputs"]["y"])
    np.testing.assert_allclose(model.decision_function(U), out["link"], atol=1e-9)


def test_cox_on_the_linear_kernel() -> None:
    """Against the partial likelihood written out, in the coefficients of a linear model."""
    time, event = np.ceil(10 * rng.exponential(np.exp(-X[:, 0]))), rng.random(N) < 0.7

    def negative(beta):
        f = X @ beta
        terms = [np.log(np.exp(f[time >= time[i]]).sum()) - f[i] for i in range(N) if event[i]]
        return sum(terms) + 0.5 * 0.3 * beta @ beta

    beta = minimize(negative, np.zeros(2), method="BFGS", options={"gtol": 1e-7}).x
    model = KernelMachine("cox", kernel=Linear(), alpha=0.3).fit(X, np.column_stack([time, event]))
    assert np.allclose(model.function_.weights(), beta, atol=1e-5)
    assert np.allclose(model.predict(X), np.exp(X @ beta), rtol=1e-4)


def test_poisson_with_exposure_equals_scikit_learn() -> None:
    """A count with exposure E is a rate of weight E."""
    exposure = rng.uniform(0.5, 3, N)
    count = rng.poisson(exposure * np.exp(0.4 * X[:, 0] + 0.2))
    model = KernelMachine("poisson", kernel=Linear(), alpha=0.6, free=0, tol=1e-12)
    model.fit(X, np.column_stack([count, exposure]))
    theirs = PoissonRegressor(alpha=0.6 / exposure.sum(), tol=1e-10, max_iter=1000)
    theirs.fit(X, count / exposure, sample_weight=exposure)
    assert np.allclose(model.function_.weights(), theirs.coef_, atol=1e-6)
    assert np.allclose(model.predict(X), theirs.predict(X), rtol=1e-6)
    plain = KernelMachine("poisson", kernel=Linear(), alpha=0.6, free=0, tol=1e-12).fit(X, count)
    theirs.set_params(alpha=0.6 / N).fit(X, count)
    assert np.allclose(plain.predict(X), theirs.predict(X), rtol=1e-6)


def test_labels_of_every_kind() -> None:
    model = KernelMachine("hinge", kernel=Gaussian(), alpha=0.1, free=0).fit(X, LABEL)
    assert list(model.classes_) == ["no", "yes"] and set(model.predict(X)) <= {"no", "yes"}
    assert not hasattr(model, "predict_proba") and hasattr(model, "decision_function")
    assert model.score(X, LABEL) > 0.8
    logistic = KernelMachine(Logistic(), kernel=Gaussian(), alpha=0.1, class_weight={"no": 3, "yes": 1}).fit(X, LABEL)
    weight = np.where(LABEL == "no", 3.0, 1.0)
    same = KernelMachine(Logistic(), kernel=Gaussian(), alpha=0.1).fit(X, LABEL, weight)
    assert np.allclose(logistic.predict_proba(X), same.predict_proba(X), atol=1e-8)
    assert np.allclose(logistic.predict_proba(X).sum(axis=1), 1)
    assert not hasattr(KernelMachine("huber"), "decision_function")
    assert cross_val_score(KernelMachine("multinomial", kernel=Gaussian(), alpha=0.1), X, LABEL, cv=3).mean() > 0.5


def test_clones_pickles_and_parameters() -> None:
    model = KernelMachine(Pinball(0.3), kernel=Gaussian(), alpha=0.3).fit(X, y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    other = clone(model).set_params(loss__quantile=0.9).fit(X, y)
    assert np.mean(other.predict(X) > model.predict(X)) > 0.9


# ---- what is refused


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "alpha = 0 must be > 0"),
        ({"tol": -1.0}, "tol = -1.0 must be > 0"),
        ({"solver": "magic"}, "solver = 'magic' is unknown"),
        ({"penalty": "ridge"}, "penalty = 'ridge' is unknown"),
        ({"penalty": ("ball", -1.0)}, "radius = -1.0 must be >= 0"),
        ({"penalty": ("ball", 1.0), "alpha": 2.0}, "alpha = 2.0 does not apply to a ball"),
        ({"max_iter": 0}, "max_iter = 0"),
        ({"time_budget": 0}, "time_budget = 0"),
        ({"class_weight": "balanced"}, "class_weight does not apply to loss"),
        ({"solver": "working_set", "loss": "logistic"}, "does not suit loss = Logistic"),
        ({"solver": "working_set", "loss": "absolute", "free": 1}, "with this free part"),
        ({"loss": "no such loss"}, "no such loss"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_wrong_parameters(parameters, message) -> None:
    target = LABEL if parameters.get("loss") == "logistic" else y
    with pytest.raises(ValueError, match=message):
        KernelMachine(**parameters).fit(X, target)


def test_wrong_targets() -> None:
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        KernelMachine("logistic").fit(X, np.arange(N) % 3)
    with pytest.raises(ValueError, match="greater than one"):
        KernelMachine("logistic").fit(X, np.ones(N))
    with pytest.raises(ValueError, match="counts y must be >= 0"):
        KernelMachine("poisson").fit(X, y)
    with pytest.raises(ValueError, match="time and event"):
        KernelMachine("cox").fit(X, y)
    with pytest.raises(ValueError, match="sample_weight"):
        KernelMachine().fit(X, y, -np.ones(N))


def test_early_end_is_told() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter is reached"):
        model = KernelMachine("logistic", kernel=Gaussian(), alpha=1e-3, max_iter=1, tol=1e-14).fit(X, LABEL)
    assert not model.solution_.converged
    with pytest.warns(ConvergenceWarning, match="time budget"):
        KernelMachine("logistic", kernel=Gaussian(), alpha=1e-3, time_budget=1e-9, tol=1e-14).fit(X, LABEL)


def test_automatic_choices() -> None:
    expected = {
        "squared": "direct",
        "hinge": "working_set",
        "absolute": "working_set",
        "huber": "newton",
        "logistic": "newton",
        "multinomial": "newton_cg",
    }
    for loss, solver in expected.items():
        target = LABEL if as_loss(loss).task in ("binary", "multiclass") else y
        assert KernelMachine(loss, kernel=Gaussian(), free=0).fit(X, target).solution_.method == solver
    assert KernelMachine("absolute", kernel=Gaussian(), free=1).fit(X, y).solution_.method == "interior_point"


# ---- every solver, where kernels are definite only beside the free part


@pytest.mark.parametrize(("kernel", "free"), [("thin_plate", 1), ("log", 0), ("multiquadric", 0), ("gaussian", 2)])
@pytest.mark.parametrize(
    "loss", ["squared", "huber(delta=0.1)", "absolute", "pinball(quantile=0.8)", "logistic", "hinge"]
)
def test_solvers_agree_and_prove_it(kernel, free, loss) -> None:
    """One objective for all, and a duality gap at each: the dual is formed on Hᵀa = 0, where the kernel is definite."""
    target = LABEL if as_loss(loss).task == "binary" else y
    found = {}
    for solver in ("auto", "newton", "newton_cg", "lbfgs", "interior_point", "admm", "working_set"):
        model = KernelMachine(loss, kernel=kernel, free=free, alpha=0.1, solver=solver, tol=1e-8)
        try:
            found[solver] = model.fit(X, target).solution_
        except ValueError as error:
            assert "does not suit" in str(error)
    assert len(found) >= 3
    least = found["auto"].objective
    for s in found.values():
        assert s.objective == pytest.approx(least, rel=1e-6)
        assert s.gap is not None and -1e-9 * least <= s.gap <= 1e-6 * least


def test_kernels_that_need_a_free_part_equal_their_projected_twin() -> None:
    """Brute force on the thin plate: f = QM^½u + Hc with Q of all vectors orthogonal to H."""
    kernel = ThinPlate()
    H = np.column_stack([np.ones(N), X])
    Q = np.linalg.qr(H, mode="complete")[0][:, 3:]
    values, V = np.linalg.eigh(Q.T @ kernel(X) @ Q)
    Z = np.hstack([Q @ V * np.sqrt(values), H])  # PKP = QMQᵀ, whose columns are orthogonal to H
    three = rng.integers(0, 3, N)
    loss = as_loss("multinomial")

    def value(x):
        U = x.reshape(N, 3)
        gradient = Z.T @ loss.gradient(three, Z @ U)
        gradient[: N - 3] += 0.2 * U[: N - 3]
        return float(loss.total(three, Z @ U)) + 0.1 * float(np.sum(U[: N - 3] ** 2)), gradient.ravel()

    least = minimize(value, np.zeros(3 * N), jac=True, method="L-BFGS-B", options={"maxiter": 5000, "gtol": 1e-9}).fun
    model = KernelMachine("multinomial", kernel=kernel, free=1, alpha=0.2, tol=1e-10).fit(X, three)
    assert model.solution_.objective == pytest.approx(least, rel=1e-7)
    assert np.allclose(H.T @ model.dual_coef_, 0, atol=1e-10)


def test_a_penalty_needs_one_decomposition(monkeypatch) -> None:
    """Solutions along the path share the coordinates of the matrix."""
    count = []
    before = np.linalg.eigh
    monkeypatch.setattr(np.linalg, "eigh", lambda A: (count.append(A.shape), before(A))[1])
    KernelMachine("multinomial", kernel=Gaussian(), penalty="norm", alpha=0.5).fit(X, LABEL)
    assert count == [(N, N)]


# ---- scores


def test_times_of_survival_may_be_structured_and_are_scored_by_concordance() -> None:
    time, event = np.ceil(10 * rng.exponential(np.exp(-X[:, 0]))), rng.random(N) < 0.7
    record = np.empty(N, dtype=[("event", bool), ("time", float)])
    record["event"], record["time"] = event, time
    model = KernelMachine("cox", kernel=Gaussian(), alpha=0.3).fit(X, record)
    same = KernelMachine("cox", kernel=Gaussian(), alpha=0.3).fit(X, np.column_stack([time, event]))
    assert np.array_equal(model.predict(X), same.predict(X))
    f, weight = np.log(model.predict(X)).round(1), rng.integers(1, 4, N)
    agree = total = 0.0
    for i in range(N):
        for j in range(N):
            if event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j])):
                total += weight[i] * weight[j]
                agree += weight[i] * weight[j] * (1.0 if f[i] > f[j] else 0.5 if f[i] == f[j] else 0.0)
    assert concordance(np.column_stack([time, event]), f, weight) == pytest.approx(agree / total, rel=1e-12)
    assert 0.5 < model.score(X, record) == same.score(X, np.column_stack([time, event])) <= 1
    assert cross_val_score(model, X, record, cv=3).mean() > 0.5
    assert np.isnan(concordance(np.array([[1.0, 0], [2.0, 0]]), np.zeros(2)))


def test_counts_are_scored_by_explained_deviance() -> None:
    exposure = rng.uniform(0.5, 3, N)
    count = rng.poisson(exposure * np.exp(0.4 * X[:, 0] + 0.2))
    model = KernelMachine("poisson", kernel=Linear(), alpha=0.6, free=0, tol=1e-12)
    theirs = PoissonRegressor(alpha=0.6 / N, tol=1e-10, max_iter=1000).fit(X, count)
    weight = rng.uniform(0.5, 2, N)
    assert model.fit(X, count).score(X, count, weight) == pytest.approx(theirs.score(X, count, weight), rel=1e-5)
    theirs.set_params(alpha=0.6 / exposure.sum()).fit(X, count / exposure, exposure)
    both = np.column_stack([count, exposure])
    expected = theirs.score(X, count / exposure, exposure * weight)
    assert model.fit(X, both).score(X, both, weight) == pytest.approx(expected, rel=1e-5)


# ---- numbers beyond the floats


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (KernelQuantileRegression("1e-320*linear"), "the kernel .* has values of size .*; scale"),
        (KernelQuantileRegression("1e300*gaussian", free=2), "the kernel .* has values of size .*; scale"),
        (KernelMachine(alpha=1e-300), "alpha = 1e-300 .* raise alpha, or scale y"),
        (KernelMachine("absolute", alpha=1e-310), "alpha = 1e-310 .* raise alpha, or scale y"),
        (RobustKernelRegression(alpha=1e-300), "alpha = 1e-300 .* raise alpha, or scale y"),
        (KernelLogisticRegression(alpha=1e-300), "alpha = 1e-300 .* raise alpha\\."),
    ],
    ids=str,
)
def test_sizes_without_squares_are_refused(model, words):
    A = np.random.default_rng(0).normal(size=(20, 2))
    target = A[:, 0] > 0 if isinstance(model, KernelLogisticRegression) else A[:, 0]
    with pytest.raises(ValueError, match=f"^{type(model).__name__}: {words}"):
        model.fit(A, target)


@pytest.mark.parametrize("loss", [*REGRESSION, "epsilon_insensitive", "hinge", "logistic", "multinomial"])
@pytest.mark.parametrize("weighted", [False, True])
def test_dependent_free_functions_are_refused_whatever_the_loss(loss, weighted):
    """Their coefficients are not determined: one may be moved to another without a change of any value."""
    A, weight = np.c_[X, np.full(N, 2.5)], np.ones(N)
    if weighted:  # the third column varies on samples that do not count alone
        A[:9, 2], weight[:9] = rng.normal(size=9), 0.0
    target = LABEL if loss in ("hinge", "logistic", "multinomial") else y
    with pytest.raises(ValueError, match=f"^KernelMachine: free: its 4 functions .* on these {N - 9 * weighted} samp"):
        KernelMachine(loss, kernel="gaussian", free=1).fit(A, target, weight)


def test_dependent_free_functions_are_refused_by_each_method():
    for model in (KernelQuantileRegression("gaussian", free=2), RobustKernelRegression("gaussian", free=1)):
        with pytest.raises(ValueError, match=f"^{type(model).__name__}: free: its . functions are linearly dependent"):
            model.fit(np.zeros((5, 2)), [1.0, 5.0, 2.0, 8.0, 3.0])


@pytest.mark.parametrize(
    "model",
    [KernelMachine("absolute"), KernelQuantileRegression(), KernelRidge(), KernelRidgeCV(), KernelInterpolator()],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize(
    "kernel, sample",
    [("precomputed", K), ("spectrum(length=1)", ["ab", "b"] * (N // 2)), ("delta", LABEL), ("constant", X.tolist())],
    ids=["precomputed", "strings", "labels", "anything"],
)
def test_polynomials_need_coordinates(model, kernel, sample):
    """Kernel values are none, and neither are strings, labels or lists of anything."""
    model = clone(model).set_params(kernel=kernel, free=1)
    with pytest.raises(ValueError, match=f"^{type(model).__name__}: free = 1 means polynomials in the coordinates"):
        model.fit(sample, y)


def test_interior_points_end_where_floats_resolve_no_more():
    A = np.random.default_rng(0).normal(size=(20, 2))
    model = KernelMachine("absolute", kernel="multiquadric", tol=1e-320, free=0, solver="interior_point")
    with pytest.warns(ConvergenceWarning, match="precision is insufficient"):
        model.fit(A, A[:, 0])
    assert abs(model.solution_.gap) <= 1e-9


def test_the_sparse_penalty_heeds_its_time_budget():
    A = np.random.default_rng(0).normal(size=(50, 2))
    with pytest.warns(ConvergenceWarning, match="Raise time_budget"):
        KernelMachine(kernel="gaussian", penalty="l1", alpha=1e-3, time_budget=1e-9).fit(A, A[:, 0])


def test_l1_steps_of_any_size_do_not_overflow():
    X, y = np.array([[1, 1, 0], [1, 1, 0], [1, 1, 1.0]]), np.array([1150.87261848, 1150.69459154, 1152.41332472])
    model = KernelMachine("log_cosh", kernel="gaussian*linear", alpha=0.0152800453853, tol=1e-10, penalty="l1")
    with pytest.warns(ConvergenceWarning, match="KernelMachine: the solver stopped early") as found:
        model.fit(X, y)
    assert len(found) == 1 and np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
@pytest.mark.parametrize("alpha", [1e-16, 1e-20])
def test_a_system_singular_to_rounding_has_not_converged(loss, alpha):
    target = X[:, 0] > 0 if loss == "logistic" else X[:, 0]
    with pytest.warns(UserWarning) as caught:
        model = KernelMachine(loss, kernel="gaussian", alpha=alpha, gram="nystrom", random_state=0).fit(X, target)
    assert any("KernelMachine: the solver stopped early: the floating-point" in str(w.message) for w in caught)
    assert not model.solution_.converged
