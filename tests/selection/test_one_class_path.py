"""The one-class path against its optimality conditions, OneClassSVM, LIBSVM, and a general solver of the primal."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import LinearConstraint, minimize
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import OneClassSVM as Reference

from mercer import OneClassSVM
from mercer.kernels import Gaussian, Log, Polynomial
from mercer.selection import one_class_path

MODULE = sys.modules["mercer.selection.one_class_path"]  # the name itself is the function's

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2))
GRID = np.array([[i, j] for i in range(6) for j in range(6)], dtype=float)  # its symmetries make many events coincide
CUBE = rng.integers(0, 2, size=(50, 4)).astype(float)

SAMPLES = {
    "gaussian": (X, {"gamma": 0.5}),
    "smooth": (X, {"gamma": 1e-3}),
    "sharp": (X, {"gamma": 50.0}),
    "linear": (X + np.array([3.0, 0.0]), {"kernel": "linear"}),
    "linear, not separable from 0": (X + np.array([0.3, 0.0]), {"kernel": "linear"}),
    "polynomial": (X, {"kernel": Polynomial(3)}),
    "grid": (GRID, {"gamma": 0.5}),
    "smooth grid": (GRID, {"gamma": 0.01}),
    "few values": (CUBE, {"gamma": 0.3}),
    "twice": (np.repeat(X[:20], 2, axis=0), {"gamma": 0.5}),
    "unequally often": (np.repeat(X[:10], np.arange(1, 11), axis=0), {"gamma": 0.5}),
    "almost twice": (np.concatenate([X[:20], X[:20] + 1e-7]), {"gamma": 0.5}),
    "all the same": (np.ones((5, 2)), {"gamma": 1.0}),
}


def violation(K, alpha, level):
    """Of α = 1 where Kα < ℓ and α = 0 where Kα > ℓ, relative to ℓ."""
    h = K @ alpha - level
    return max((-h[alpha < 1 - 1e-13]).max(initial=0), h[alpha > 1e-13].max(initial=0)) / level


@pytest.fixture(params=SAMPLES, name="sample")
def _sample(request):
    S, params = SAMPLES[request.param]
    path = one_class_path(S, **params)
    return path, path.kernel(S)


def test_breakpoints_are_optimal(sample):
    path, K = sample
    assert (np.diff(path.lambdas) < 0).all()
    assert path.lambdas[-1] == 0
    assert path.alpha.min() >= 0
    assert path.alpha.max() <= 1
    for lam, alpha in zip(path.lambdas[:-1], path.alpha, strict=False):
        assert violation(K, alpha, 2 * lam * len(K)) < 1e-9
    assert path.residual.max() < 1e-10
    assert_array_equal(path.n_support, (path.alpha > 0).sum(axis=1))


def test_between_breakpoints_it_is_optimal(sample):
    path, K = sample
    draws = np.random.default_rng(1).uniform(0, 1, size=(30, 2))
    for lam in [*(path.lambdas[0] * draws[:, 0]), *(path.lambdas[0] * 10 ** (-3 * draws[:, 1])), 2 * path.lambdas[0]]:
        machine = path.at(lam)
        assert violation(K, machine.coefficients * machine.rho, machine.rho) < 1e-9
        assert_allclose(machine.rho, 2 * lam * len(K))


def test_objective_is_the_primal_and_falls_with_lambda(sample):
    path, K = sample
    for lam, alpha, objective in zip(path.lambdas[:-1], path.alpha, path.objective, strict=False):
        f = K @ alpha / (2 * lam * len(K))
        squared_norm = f @ alpha / (2 * lam * len(K))
        assert_allclose(objective, np.maximum(0, 1 - f).mean() + lam * squared_norm, rtol=1e-7, atol=1e-10)
    assert (np.diff(path.objective) <= 1e-10).all()


def test_events_lead_from_piece_to_piece(sample):
    path, K = sample
    elbow = set()
    for k, events in enumerate(path.events[:-1]):
        for i, kind in events:
            assert (i in elbow) == (kind != "elbow")
            elbow ^= {i}
            if kind != "elbow":
                assert path.alpha[k, i] == {"bound": 1, "zero": 0}[kind]
        middle = (path.alpha[k] + path.alpha[k + 1]) / 2
        level = (path.lambdas[k] + path.lambdas[k + 1]) * len(K)
        moved = np.flatnonzero(path.alpha[k] != path.alpha[k + 1])
        assert set(moved) <= elbow
        assert_allclose((K @ middle)[sorted(elbow)], level, rtol=1e-8)
    assert path.events[-1] == ()


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.35, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("name", ["gaussian", "linear", "polynomial", "few values", "twice"])
def test_equals_one_class_svm(name, nu):
    S, params = SAMPLES[name]
    path = one_class_path(S, **params)
    machine = path.at_nu(nu)
    assert_allclose(machine.nu, nu, rtol=1e-12)
    ours = OneClassSVM(nu=nu, tol=1e-10, **params).fit(S)
    scale = np.abs(ours.score_samples(S)).max()
    assert_allclose(machine.rho * machine.function(S), ours.score_samples(S), rtol=0, atol=1e-8 * scale)
    free = (ours.dual_coef_ > 1e-9) & (ours.dual_coef_ < 1 - 1e-9)
    if free.any():
        assert_allclose(machine.rho, ours.offset_[0], rtol=0, atol=1e-8 * scale)
    else:  # ρ lies anywhere between the values of the support vectors and of the others
        K = path.kernel(S)
        assert violation(K, machine.coefficients * machine.rho, machine.rho) < 1e-9


@pytest.mark.parametrize("lam", [0.004, 0.02, 0.1, 0.5])
@pytest.mark.parametrize("name", ["gaussian", "linear", "polynomial", "few values", "twice"])
def test_equals_the_hinge_form(name, lam):
    S, params = SAMPLES[name]
    machine = one_class_path(S, **params).at(lam)
    model = OneClassSVM(C=1 / (2 * lam * len(S)), tol=1e-10, **params).fit(S)
    assert_allclose(machine.function(S), model.score_samples(S), rtol=0, atol=1e-8)
    assert_allclose(machine.nu, model.nu_, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.15, 0.5])
def test_equals_libsvm(nu):
    theirs = Reference(nu=nu, gamma=0.5, tol=1e-9).fit(X)
    machine = one_class_path(X, gamma=0.5).at_nu(nu)
    assert_allclose(machine.rho * (machine.function(X) - 1), theirs.decision_function(X), rtol=0, atol=1e-6)


@pytest.mark.parametrize("lam", [0.003, 0.03, 0.1, 0.2, 0.4])
def test_equals_a_general_solver_of_the_primal(lam):
    S = X[:12]
    path = one_class_path(S, gamma=0.7)
    K, n = Gaussian.from_gamma(0.7)(S), len(S)
    # variables (a, ξ): ξ ≥ 0, ξ ≥ 1 − Ka
    rules = LinearConstraint(np.block([[K, np.eye(n)], [np.zeros((n, n)), np.eye(n)]]), np.repeat([1.0, 0.0], n))
    result = minimize(
        lambda v: v[n:].mean() + lam * v[:n] @ K @ v[:n],
        np.concatenate([np.zeros(n), np.ones(n)]),
        jac=lambda v: np.concatenate([2 * lam * K @ v[:n], np.full(n, 1 / n)]),
        constraints=rules,
        method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )
    machine = path.at(lam)
    f = machine.function(S)
    objective = np.maximum(0, 1 - f).mean() + lam * machine.function.norm() ** 2
    assert_allclose(objective, result.fun, rtol=1e-9)
    assert_allclose(f, K @ result.x[:n], atol=1e-5)


def test_two_samples_by_hand():
    # k = exp(−1) between them: both reach f = 1 at 2λn = 1 + k and stay there
    path = one_class_path([[0.0], [1.0]], gamma=1.0)
    k = np.exp(-1)
    assert_allclose(path.lambdas, [(1 + k) / 4, 0])
    assert_allclose(path.alpha, [[1, 1], [0, 0]])
    assert path.events == [((0, "elbow"), (1, "elbow")), ()]
    assert_allclose(path.at(1.0).coefficients, 0.25)
    assert_allclose(path.at(0.01).coefficients, 1 / (1 + k))
    # unequal ones: with the linear kernel on 1 and 2, the second reaches f = 1 at 2λn = 6 and 0 at 2λn = 2
    path = one_class_path([[1.0], [2.0]], kernel="linear")
    assert_allclose(path.lambdas, [6 / 4, 2 / 4, 1 / 4, 0])
    assert_allclose(path.alpha, [[1, 1], [1, 0], [1, 0], [0, 0]])
    assert path.events == [((1, "elbow"),), ((1, "zero"),), ((0, "elbow"),), ()]
    assert path.at_nu(0.5).rho == pytest.approx(1.5)  # nothing on the elbow: the middle of 1 and 2


def test_one_sample():
    path = one_class_path([[2.0]], kernel="linear")
    assert_allclose(path.lambdas, [2, 0])
    assert_allclose(path.at(0.5).coefficients, [0.25])


def test_samples_around_zero_have_the_zero_machine():
    path = one_class_path([[-1.0], [1.0]], kernel="linear")
    assert_array_equal(path.lambdas, [0])
    assert_allclose(path.at(0.3).function([[5.0]]), 0)
    assert_allclose(path.objective, 1)
    with pytest.raises(ValueError, match=r"at_nu: nu = 0.5 must be > 1, below which the machine is 0"):
        path.at_nu(0.5)


def test_lambda_min_cuts_the_path():
    whole = one_class_path(X, gamma=0.5)
    least = float(whole.lambdas[20:22].mean())
    part = one_class_path(X, gamma=0.5, lambda_min=least)
    assert_allclose(part.lambdas, [*whole.lambdas[:21], least], rtol=1e-12)
    assert_allclose(part.at(least).coefficients, whole.at(least).coefficients, rtol=1e-9)
    with pytest.raises(ValueError, match=r"lam = .* must be > 0 and >="):
        part.at(least / 2)
    with pytest.raises(ValueError, match="the path ends; lower lambda_min"):
        part.at_nu(0.01)
    above = one_class_path(X, gamma=0.5, lambda_min=2 * float(whole.lambdas[0]))
    assert_array_equal(above.alpha, np.ones((1, len(X))))


def test_precomputed_matrix_and_kernel_objects():
    path = one_class_path(X, kernel=Gaussian(1.0))
    same = one_class_path(Gaussian(1.0)(X), kernel="precomputed")
    assert_allclose(path.lambdas, same.lambdas, rtol=1e-9)
    new = rng.normal(size=(4, 2))
    assert_allclose(path.at(0.01).function(new), same.at(0.01).function(Gaussian(1.0)(new, X)), rtol=1e-7)


def test_sparse_and_single_precision_samples():
    path = one_class_path(X, gamma=0.5)
    sparse = one_class_path(csr_array(X), gamma=0.5)
    assert_allclose(sparse.lambdas, path.lambdas, rtol=1e-9)
    assert_allclose(sparse.at(0.05).function(csr_array(X)), path.at(0.05).function(X), rtol=1e-9)
    single, rounded = X.astype(np.float32), X.astype(np.float32).astype(np.float64)
    assert_array_equal(one_class_path(single, gamma=0.5).alpha, one_class_path(rounded, gamma=0.5).alpha)


def test_the_solver_repairs_a_state_that_is_not_optimal():
    K = Gaussian(1.0)(X)
    walk = MODULE._Walk(K, 0.0)
    walk.level, walk.alpha = 5.0, rng.uniform(size=len(X))
    walk.g = K @ walk.alpha
    assert walk.violation() > 1
    walk.repair(1e-9)
    assert violation(K, walk.alpha, 5.0) <= 1e-9
    assert_allclose(walk.alpha, one_class_path(X, kernel=Gaussian(1.0)).at(5.0 / 120).coefficients * 5.0, atol=1e-5)


def test_a_path_that_is_too_long_is_left_with_a_warning(monkeypatch):
    monkeypatch.setattr(MODULE, "LONGEST", 0.1)
    with pytest.warns(ConvergenceWarning, match="the path stopped at lambda"):
        part = one_class_path(X, gamma=0.5)
    monkeypatch.undo()
    whole = one_class_path(X, gamma=0.5)
    assert_allclose(part.lambdas, whole.lambdas[: len(part.lambdas)])
    assert part.lambdas[-1] > 0
    with pytest.raises(ValueError, match="must be > 0 and >="):
        part.at(part.lambdas[-1] / 2)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": Log()}, "without an offset it must be positive definite"),
        ({"lambda_min": -1}, "lambda_min = -1 must be >= 0"),
        ({"gamma": "wide"}, "gamma = 'wide' must be a finite number >= 0, or 'scale', or 'auto'"),
    ],
)
def test_refusals(params, message):
    with pytest.raises(ValueError, match=message):
        one_class_path(X, **params)


def test_points_outside_the_path():
    path = one_class_path(X, gamma=0.5)
    with pytest.raises(ValueError, match="lam = 0 must be > 0"):
        path.at(0)
    with pytest.raises(ValueError, match=r"nu = 1.5 must be"):
        path.at_nu(1.5)
