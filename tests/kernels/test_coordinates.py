"""Sums and products over coordinates: matrices, diagonals and derivatives from the parts, by double loops."""

import numpy as np
import pytest

from mercer.kernels._coordinates import BLOCK, ProductOverCoordinates, SumOverCoordinates, columns


class _Part:
    abilities = ("gradient_x", "mixed_xy")

    def part(self, x, y, xp):
        return xp.exp(x * y) + x + y

    def part_x(self, x, y, xp):
        return y * xp.exp(x * y) + 1.0

    def part_xy(self, x, y, xp):
        return (1.0 + x * y) * xp.exp(x * y)


class Total(_Part, SumOverCoordinates):
    abilities = ()


class Times(_Part, ProductOverCoordinates):
    pass


@pytest.mark.parametrize(("cls", "fold"), [(Total, np.sum), (Times, np.prod)])
@pytest.mark.parametrize("d", [1, 3])
def test_against_a_double_loop(cls, fold, d, xp):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, d)), rng.normal(size=(4, d))
    expected = [[fold(np.exp(x * y) + x + y) for y in Y] for x in X]
    K = cls()(xp.asarray(X), xp.asarray(Y))
    assert isinstance(K, type(xp.asarray(X)))
    np.testing.assert_allclose(np.asarray(K), expected, rtol=1e-13)
    np.testing.assert_allclose(
        np.asarray(cls().diag(xp.asarray(X))), [fold(np.exp(x * x) + 2 * x) for x in X], rtol=1e-13
    )


def test_derivatives_of_a_product(xp):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(3, 3)), rng.normal(size=(2, 3))
    k, h = Times(), 1e-6
    G, M = (np.asarray(f(xp.asarray(X), xp.asarray(Y))) for f in (k.gradient_x, k.mixed_xy))
    assert G.shape == (3, 2, 3)
    assert M.shape == (3, 2, 3, 3)
    for i, e in enumerate(h * np.eye(3)):
        np.testing.assert_allclose(G[..., i], (k(X + e, Y) - k(X - e, Y)) / (2 * h), rtol=1e-6, atol=1e-6)
        numeric = (k.gradient_x(X, Y + e) - k.gradient_x(X, Y - e)) / (2 * h)
        np.testing.assert_allclose(M[..., i], numeric, rtol=1e-6, atol=1e-6)


def test_columns_broadcast_to_matrices():
    X = np.arange(6.0).reshape(3, 2)
    pairs = columns(X, X[:2])
    assert [(x.shape, y.shape) for x, y in pairs] == [((3, 1), (1, 2))] * 2


def test_inputs_are_not_changed():
    X = np.random.default_rng(2).normal(size=(4, 3))
    before = X.copy()
    Total()(X), Times()(X), Total().diag(X), Times().diag(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("shape", [(300, 400), (5, BLOCK + 1), (BLOCK + 1, 5)])
def test_blocks_of_rows_make_one_matrix(shape):
    rng = np.random.default_rng(3)
    X, Y = (rng.normal(size=(n, 2)).astype(np.float32) for n in shape)
    K = Total().evaluate(X, Y)
    assert K.dtype == np.float32
    expected = sum(np.exp(np.outer(X[:, k], Y[:, k])) + X[:, k][:, None] + Y[:, k] for k in range(2))
    np.testing.assert_allclose(K, expected, rtol=1e-5, atol=1e-5)
