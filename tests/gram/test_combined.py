"""Combined operators are those of the combined kernel."""

import pickle

import numpy as np
import pytest

from mercer.gram import Dense, LowRank, Nystrom
from mercer.gram.combined import Combined
from mercer.kernels import Gaussian, Linear, Polynomial
from mercer.space import Function

X = np.random.default_rng(0).normal(size=(30, 3))
NEW = np.random.default_rng(1).normal(size=(7, 3))


def combined(kernels, coefficients, representation):
    grams = [representation.build(k, X, 0) for k in kernels]
    recipe = Combined(grams, coefficients)
    kernel = sum((c * k for k, c in zip(kernels[1:], coefficients[1:], strict=True)), coefficients[0] * kernels[0])
    return recipe, recipe.build(kernel, X), kernel


@pytest.mark.parametrize(
    ("kernels", "representation"),
    [
        ([Gaussian(1.0), Linear()], Dense()),
        ([Linear(), Polynomial(2)], LowRank()),
        ([Gaussian(1.0), Gaussian(3.0)], Nystrom(rank=30)),
    ],
    ids=["dense", "features", "nystrom"],
)
def test_operations_are_those_of_the_sum(kernels, representation) -> None:
    recipe, gram, kernel = combined(kernels, [0.5, 2.0], representation)
    K, a = kernel(X), np.random.default_rng(2).normal(size=30)
    a[::3] = 0
    assert np.allclose(gram.dense(), K, atol=1e-6) and np.allclose(gram @ a, K @ a, atol=1e-6)
    assert np.allclose(gram.diagonal(), np.diagonal(K), atol=1e-6)
    assert np.allclose(gram.block(slice(3), np.array([4, 1])), K[:3][:, [4, 1]], atol=1e-6)
    assert np.allclose(gram.cross(NEW) @ a, kernel(NEW, X) @ a, atol=1e-6)
    f = Function(*gram.expansion(a))
    assert np.allclose(f(NEW), kernel(NEW, X) @ a, atol=1e-6)
    assert np.allclose(pickle.loads(pickle.dumps(f))(NEW), f(NEW))
    assert np.array_equal(recipe.expanded_, a)
    rows, columns = np.array([3, 1]), np.array([0, 2])
    assert np.allclose(gram.evaluator.take(rows, columns).quick(), K[np.ix_(rows, columns)], atol=1e-6)


def test_factors_stay_factors_and_matrices_keep_the_points_in_use() -> None:
    _, thin, _ = combined([Linear(), Polynomial(2)], [0.5, 2.0], LowRank())
    assert thin.provides == {"factor"} and thin.factor().shape[0] == 30 and thin.trace_error == 0
    _, coarse, _ = combined([Gaussian(0.5), Gaussian(1.0)], [0.5, 2.0], Nystrom(rank=5))
    grams = [Nystrom(rank=5).build(k, X, 0) for k in (Gaussian(0.5), Gaussian(1.0))]
    assert coarse.factor().shape == (30, 10)
    assert coarse.trace_error == pytest.approx(0.5 * grams[0].trace_error + 2 * grams[1].trace_error, rel=0.5)
    _, dense, kernel = combined([Gaussian(1.0), Linear()], [0.5, 2.0], Dense())
    a = np.zeros(30)
    a[[4, 9]] = 1.0
    found, points, coefficients = dense.expansion(a)
    assert found == kernel and np.array_equal(points, X[[4, 9]]) and np.array_equal(coefficients, [1, 1])
    assert len(dense.expansion(np.zeros(30))[1]) == 30


def test_kernels_without_weight_have_no_part_in_it() -> None:
    grams = [LowRank().build(Linear(), X), Dense().build(Gaussian(), X)]
    gram = Combined(grams, [3.0, 0.0]).build(3 * Linear(), X)
    assert gram.provides == {"factor"} and np.allclose(gram.dense(), 3 * X @ X.T)


def test_another_sample_is_refused() -> None:
    grams = [Dense().build(Linear(), X)]
    with pytest.raises(ValueError, match="another sample than X"):
        Combined(grams, [1.0]).build(Linear(), X + 1)
