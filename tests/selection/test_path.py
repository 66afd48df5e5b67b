"""The path against separate fits, and its bound against leaving out every sample."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.svm import SVC as Reference

from mercer import SVC
from mercer.kernels import Gaussian, Log
from mercer.selection import svm_path

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3))
Y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=120) > 0, "yes", "no")
STRENGTHS = 2.0 ** np.arange(-4, 7)


@pytest.mark.parametrize(
    "params",
    [
        {"gamma": 0.5},
        {"kernel": "linear"},
        {"gamma": 0.5, "class_weight": "balanced"},
        {"kernel": Gaussian("median")},
        {"kernel": Log()},
        {"gamma": 0.5, "cache_size": 0.005},
    ],
    ids=str,
)
def test_equals_separate_fits(params):
    path = svm_path(X, Y, STRENGTHS, tol=1e-7, **params)
    for k, C in enumerate(STRENGTHS):
        alone = SVC(C=C, tol=1e-7, **params).fit(X, Y)
        assert_allclose(path.objective[k], alone.solutions_[0].objective, rtol=1e-8)
        assert path.gap[k] <= 1e-7
        assert_allclose(path.functions[k](X), alone.decision_function(X), rtol=0, atol=1e-4)
        assert path.training_error[k] == np.mean(alone.predict(X) != Y)
        assert_allclose(path.dual_coef[k].sum(), 0, atol=1e-10 * C * len(X))
        assert path.n_support[k] == np.count_nonzero(path.dual_coef[k])


def test_default_tolerance_agrees_with_libsvm():
    path = svm_path(X, Y, STRENGTHS, gamma=0.5)
    assert (path.gap <= 1e-3).all()
    for k, C in enumerate(STRENGTHS):
        theirs = Reference(C=C, gamma=0.5, tol=1e-7).fit(X, Y)
        beta = theirs.dual_coef_[0]
        K = Gaussian.from_gamma(0.5)(X[theirs.support_])
        best = 0.5 * beta @ K @ beta - np.abs(beta).sum()
        assert path.objective[k] <= best + 1e-5 * abs(best)
    assert_array_equal(path.classes, ["no", "yes"])


def test_rows_are_shared_along_the_path():
    path = svm_path(X, Y, STRENGTHS, gamma=0.5)
    assert path.n_rows <= len(X)


def test_order_of_c_does_not_matter():
    shuffled = rng.permutation(len(STRENGTHS))
    first, second = svm_path(X, Y, STRENGTHS, gamma=0.5), svm_path(X, Y, STRENGTHS[shuffled], gamma=0.5)
    assert_array_equal(first.objective[shuffled], second.objective)
    assert_array_equal(second.C, STRENGTHS[shuffled])


@pytest.mark.parametrize("gamma", [0.05, 0.5])
def test_bound_holds_for_leaving_one_out(gamma):
    A, b = X[:60], Y[:60]
    path = svm_path(A, b, STRENGTHS[::2], gamma=gamma, tol=1e-7)
    stable = np.flatnonzero(path.n_support > path.n_bound)  # the condition of the theorem
    assert len(stable) >= 3
    for k, C in zip(stable, path.C[stable], strict=True):
        errors = 1 - cross_val_score(Reference(C=C, gamma=gamma, tol=1e-7), A, b, cv=LeaveOneOut()).mean()
        assert path.training_error[k] <= path.loo_bound[k] + 1e-12
        assert errors <= path.loo_bound[k] + 1e-12
    assert path.loo_bound.min() < 1


def test_bound_equals_its_definition():
    path = svm_path(X, Y, [0.01, 0.1, 1.0], gamma=0.5, tol=1e-8)
    K = np.exp(-0.5 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    signs = np.where(Y == "yes", 1, -1)
    for k in range(3):
        slack = np.maximum(0, 1 - signs * (K @ path.dual_coef[k] + path.intercept[k]))
        score = 2 * np.abs(path.dual_coef[k]) * (1 - K.min()) + slack
        assert_allclose(path.loo_bound[k], np.mean(score >= 1))


def squared_span(Z, p, others):
    """The least ‖z_p − Σ λᵢ zᵢ‖² with Σ λᵢ = 1; infinite without others."""
    if not len(others):
        return np.inf
    A, b = (Z[others[1:]] - Z[others[0]]).T, Z[p] - Z[others[0]]
    return np.sum((b - A @ np.linalg.lstsq(A, b, rcond=1e-10)[0]) ** 2)


def left_out(K, signs, path, k):
    """For each sample what the span rule says of its value after it is left out, from the definition."""
    alpha, margin = np.abs(path.dual_coef[k]), signs * (K @ path.dual_coef[k] + path.intercept[k])
    free = np.flatnonzero((alpha > 0) & (alpha < path.C[k]))
    values, vectors = np.linalg.eigh(K)
    Z = vectors * np.sqrt(np.maximum(values, 0))
    spans = [squared_span(Z, p, free[free != p]) if alpha[p] else 0.0 for p in range(len(K))]
    return margin - alpha * np.array(spans)


@pytest.mark.parametrize("gamma", [0.05, 0.5, 5.0])
def test_span_estimate_equals_its_definition(gamma):
    A, b = X[:80], Y[:80]
    path = svm_path(A, b, STRENGTHS[::2], gamma=gamma, tol=1e-8)
    K = np.exp(-gamma * ((A[:, None] - A[None]) ** 2).sum(axis=2))
    signs = np.where(b == "yes", 1, -1)
    for k in range(len(path.C)):
        if path.n_support[k] == path.n_bound[k]:
            assert np.isnan(path.span_estimate[k])
        else:
            assert_allclose(path.span_estimate[k], np.mean(left_out(K, signs, path, k) <= 0))
    assert (path.n_bound[-1] > 0) == (gamma < 1)  # both kinds of support vectors were met, and free ones alone
    assert np.isfinite(path.span_estimate).sum() >= 4


def test_span_rule_is_exact_where_leaving_out_moves_no_other_bound():
    A, b = X[:40], Y[:40]
    path = svm_path(A, b, [2.0], gamma=4.0, tol=1e-9)
    K, signs = Gaussian.from_gamma(4.0)(A), np.where(b == "yes", 1, -1)
    expected = left_out(K, signs, path, 0)
    status = np.sign(np.abs(path.dual_coef[0])) + (np.abs(path.dual_coef[0]) >= 2.0)
    unchanged = 0
    for p in np.flatnonzero(path.dual_coef[0]):
        rest = np.delete(np.arange(40), p)
        model = SVC(C=2.0, gamma=4.0, tol=1e-9).fit(A[rest], b[rest])
        beta = np.zeros(39)
        beta[model.support_] = np.abs(model.dual_coef_[0])
        if (np.sign(beta) + (beta >= 2.0) == status[rest]).all():
            assert_allclose(signs[p] * model.decision_function(A[[p]])[0], expected[p], atol=1e-6)
            unchanged += 1
    assert unchanged >= 5


def test_span_estimate_is_close_to_leaving_one_out():
    A, b = X[:60], Y[:60]
    path = svm_path(A, b, [0.5, 2.0, 8.0], gamma=0.5, tol=1e-7)
    for k, C in enumerate(path.C):
        errors = 1 - cross_val_score(Reference(C=C, gamma=0.5, tol=1e-7), A, b, cv=LeaveOneOut()).mean()
        assert abs(path.span_estimate[k] - errors) <= 3 / 60
        assert path.span_estimate[k] <= path.loo_bound[k]


def test_span_estimate_of_equal_samples():
    A, b = np.repeat(X[:30], 2, axis=0), np.repeat(Y[:30], 2)
    path = svm_path(A, b, [1.0], gamma=0.5, tol=1e-8)
    K, signs = Gaussian.from_gamma(0.5)(A), np.where(b == "yes", 1, -1)
    assert_allclose(path.span_estimate[0], np.mean(left_out(K, signs, path, 0) <= 0))


def test_checkpoint_and_parameters_of_answers(tmp_path):
    plain = svm_path(X, Y, STRENGTHS, gamma=0.5, tol=1e-7)
    params = {"gamma": 0.5, "tol": 1e-7, "checkpoint": tmp_path / "path", "calibration": "cv"}
    first = svm_path(X, Y, STRENGTHS[:6], **params)
    again = svm_path(X, Y, STRENGTHS, **params)
    assert_array_equal(first.objective, plain.objective[:6])
    assert_allclose(again.objective, plain.objective, rtol=1e-8)
    assert_array_equal(again.dual_coef[:6], first.dual_coef)  # from the file, where they were at the optimum


def test_weights_and_precomputed_matrices():
    weight = np.linspace(0.2, 2, 120)
    K = Gaussian(1.0)(X)
    path = svm_path(K, Y, [0.5, 4.0], kernel="precomputed", sample_weight=weight, tol=1e-7)
    for k, C in enumerate(path.C):
        alone = SVC(C=C, kernel="precomputed", tol=1e-7).fit(K, Y, weight)
        assert_allclose(path.objective[k], alone.solutions_[0].objective, rtol=1e-8)
        assert (np.abs(path.dual_coef[k]) <= C * weight * (1 + 1e-12)).all()


@pytest.mark.parametrize(
    ("y", "C", "params", "message"),
    [
        (Y, [1.0, -2.0], {}, "C = -2.0 must be > 0"),
        (Y, 1.0, {}, "must be a list of numbers"),
        (np.arange(120) % 3, [1.0], {}, "y has 3 classes; the path needs exactly two"),
        (Y, [1.0], {"fit_intercept": False}, "fit_intercept = False"),
        (Y, [1.0], {"loss": "squared_hinge"}, "loss = 'squared_hinge' is not supported by the path"),
        (Y, [1.0], {"budget": 3.0}, "budget = 3.0 is not supported by the path"),
        (Y, [1.0], {"multi_class": "kbb"}, "multi_class = 'kbb' is not supported by the path"),
    ],
)
def test_refusals(y, C, params, message):
    with pytest.raises(ValueError, match=message):
        svm_path(X, y, C, **params)
