"""Machines on one matrix against LIBSVM's, and against the conditions of optimality."""

from itertools import combinations

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose, assert_array_equal

from mercer.kernels import Gaussian, Log
from mercer.solvers.fit.many import solve_pairs, vote

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 4))
SCORE = X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=150)
LABELS = {"two": (SCORE > 0).astype(int), "four": np.digitize(SCORE, [-0.5, 0.2, 0.9])}
TRAIN, TEST = rng.permutation(150)[:100], np.arange(150)
K = Gaussian(1.3)(X).astype(np.float32).astype(np.float64)  # LIBSVM rounds its matrix to single precision
STRENGTHS = np.array([0.01, 0.3, 1.0, 1.7, 50.0])


def members(y):
    return [TRAIN[y[TRAIN] == c] for c in np.unique(y)]


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("weight", [np.ones(150), np.linspace(0.1, 2, 150)], ids=["equal", "weighted"])
def test_machines_are_libsvms(name, weight):
    y = LABELS[name]
    path = solve_pairs(K, members(y), weight, STRENGTHS, 1e-9)
    values = path.decisions(K, TEST)
    for k, C in enumerate(STRENGTHS):
        theirs = sklearn.svm.SVC(C=C, kernel="precomputed", tol=1e-9, decision_function_shape="ovo")
        theirs.fit(K[np.ix_(TRAIN, TRAIN)], y[TRAIN], weight[TRAIN])
        sign = -1 if name == "two" else 1
        expected = sign * theirs.decision_function(K[np.ix_(TEST, TRAIN)]).reshape(len(TEST), -1)
        assert_allclose(values[k], expected, rtol=0, atol=1e-6)
        dual = np.zeros_like(path.coefficients[k])
        dual[:, np.argsort(path.order)[np.argsort(np.argsort(TRAIN))[theirs.support_]]] = sign * theirs.dual_coef_
        assert_allclose(path.coefficients[k], dual, rtol=0, atol=1e-5 * C)
        assert_array_equal(np.unique(y)[vote(values[k], len(np.unique(y)))], theirs.predict(K[np.ix_(TEST, TRAIN)]))


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Gaussian(4.0), Log()], ids=["narrow", "wide", "conditional"])
@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-8])
def test_criterion_holds_in_double_precision(kernel, tol):
    matrix, weight = kernel(X), np.linspace(0.5, 2, 150)
    path = solve_pairs(matrix, members(LABELS["four"]), weight, STRENGTHS, tol)
    for pair, (a, b) in enumerate(combinations(range(4), 2)):
        A, B = slice(path.edges[a], path.edges[a + 1]), slice(path.edges[b], path.edges[b + 1])
        index = np.concatenate([path.order[A], path.order[B]])
        y = np.concatenate([np.ones(A.stop - A.start), -np.ones(B.stop - B.start)])
        for k, C in enumerate(STRENGTHS):
            beta = np.concatenate([path.coefficients[k, b - 1, A], path.coefficients[k, a, B]])
            assert (y * beta >= 0).all() and (y * beta <= C * weight[index]).all()
            assert abs(beta.sum()) < 1e-10 * C
            f = y - matrix[np.ix_(index, index)] @ beta
            grows = np.where(y > 0, beta < C * weight[index], beta < 0)
            falls = np.where(y > 0, beta > 0, beta > -C * weight[index])
            assert_allclose(path.gaps[k, pair], f[grows].max() - f[falls].min(), rtol=0, atol=1e-10)
            assert path.gaps[k, pair] <= tol
            free = grows & falls
            if free.any():
                assert_allclose(path.offsets[k, pair], f[free].mean(), rtol=0, atol=1e-10)


def test_offset_is_the_middle_where_no_variable_is_free():
    x = np.array([-3.0, 1.0])
    path = solve_pairs(np.outer(x, x), [np.array([0]), np.array([1])], np.ones(2), np.array([0.01]), 1e-9)
    assert_allclose(path.coefficients.ravel(), [0.01, -0.01])
    # w = −0.04: 1 − y(wx + b) ≥ 0 at both points for b between −1.04 + 0.08 … : the ends are 1 − 0.12 and −1 + 0.04
    assert_allclose(path.offsets, [[(0.88 - 0.96) / 2]])


def test_solutions_start_from_those_of_smaller_C():
    y, strengths = LABELS["four"], 2.0 ** np.arange(-2, 11)
    together = solve_pairs(K, members(y), np.ones(150), strengths, 1e-3)
    alone = [solve_pairs(K, members(y), np.ones(150), np.array([C]), 1e-3) for C in strengths]
    assert_array_equal(together.steps[0], alone[0].steps[0])
    assert together.steps.sum() < 0.7 * sum(path.steps.sum() for path in alone)
    # without a variable at its bound, a larger C changes nothing
    far = solve_pairs(K, members(y), np.ones(150), np.array([1e6, 1e7]), 1e-6)
    assert far.steps[0].sum() > 0 and far.steps[1].sum() == 0
    assert_array_equal(far.coefficients[0], far.coefficients[1])


def test_it_ends_when_asked_or_after_the_last_step():
    stop = np.ones(1)
    path = solve_pairs(K, members(LABELS["four"]), np.ones(150), STRENGTHS, 1e-3, stop)
    assert path.steps.sum() == 0
    limited = solve_pairs(K, members(LABELS["two"]), np.ones(150), np.array([1e3]), 1e-30, most=1)
    assert limited.gaps[0, 0] > 1e-30
    assert limited.steps[0, 0] > 0


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_votes_are_counted(classes):
    pairs = list(combinations(range(classes), 2))
    values = rng.choice([-1.5, 0.0, 0.5, 1.0], size=(2, 200, len(pairs)))  # with ties
    expected = np.zeros((2, 200), int)
    for at in np.ndindex(2, 200):
        votes = [0] * classes
        for (a, b), value in zip(pairs, values[at], strict=True):
            votes[a if value > 0 else b] += 1
        expected[at] = votes.index(max(votes))
    assert_array_equal(vote(values, classes), expected)


@pytest.mark.parametrize("name", LABELS)
def test_ties_are_broken_as_by_scikit_learn(name):
    y = LABELS[name]
    path = solve_pairs(K, members(y), np.ones(150), np.array([0.05, 1.0]), 1e-9)
    found = vote(path.decisions(K, TEST), len(path.edges) - 1, break_ties=True)
    for k, C in enumerate([0.05, 1.0]):
        theirs = sklearn.svm.SVC(C=C, kernel="precomputed", tol=1e-9, break_ties=True)
        theirs.fit(K[np.ix_(TRAIN, TRAIN)], y[TRAIN])
        assert_array_equal(found[k], theirs.predict(K[np.ix_(TEST, TRAIN)]))
