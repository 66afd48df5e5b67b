"""Spreading over a graph, against the inverse matrix and the series."""

import numpy as np
import pytest

from mercer.gram import as_representation
from mercer.gram.normalized import NormalizedGram
from mercer.kernels import Gaussian
from mercer.solvers.laplacian import spread


@pytest.mark.parametrize("alpha", [0.0, 0.6, 0.999])
@pytest.mark.parametrize("gram", ["dense", "lazy", "incomplete_cholesky"])
def test_limit(gram, alpha):
    X = np.random.default_rng(0).normal(size=(40, 2))
    operator = NormalizedGram(as_representation(gram).build(Gaussian(0.7), X, np.random.default_rng(0)))
    Y = np.eye(40)[:, [3, 7]] - np.eye(40)[:, [1, 2]]
    solution = spread(operator, Y, alpha, 1e-12)
    expected = np.linalg.solve(np.eye(40) - alpha * operator.dense(), Y)
    assert solution.converged and solution.residual < 1e-11
    np.testing.assert_allclose(solution.coefficients, expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(spread(operator, Y[:, 0], alpha, 1e-12).coefficients, expected[:, 0], atol=1e-8)


def test_series():
    X = np.random.default_rng(0).normal(size=(20, 2))
    operator = NormalizedGram(as_representation("dense").build(Gaussian(0.7), X))
    y = np.eye(20)[4]
    S = 0.9 * operator.dense()
    expected = sum(np.linalg.matrix_power(S, t) @ y for t in range(6))
    np.testing.assert_allclose(spread(operator, y, 0.9, 1e-10, max_iter=5).coefficients, expected, atol=1e-14)
