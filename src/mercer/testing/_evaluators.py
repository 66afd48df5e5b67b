"""Laws that an evaluator of kernel values must satisfy."""

from __future__ import annotations

import pickle

import numpy as np

from .._array import host, is_sparse, like
from .._threads import Workers
from ..evaluation import Evaluator
from ._arrays import close


def check_evaluator(evaluator: Evaluator, *, tol: float = 1e-6) -> None:
    """Assert that all operations of an evaluator agree with its blocks.

    These are the whole matrix, products, rows, tiles, parts and, if rows and columns are the same members, the diagonal
    and symmetry.

    Parameters
    ----------
    evaluator : Evaluator
        Of at least five rows and five columns.
    tol : float > 0
        Largest difference, relative to the largest value. Rows may be less accurate for close pairs than blocks.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> check_evaluator(Gaussian().bind(np.random.default_rng(0).normal(size=(9, 2))))
    """
    if not isinstance(evaluator, Evaluator):
        raise TypeError(f"check_evaluator: {evaluator!r} must be an Evaluator, such as kernel.bind(X).")
    n, m = evaluator.shape
    if min(n, m) < 5:
        raise ValueError(f"check_evaluator: the evaluator has {n} rows and {m} columns; use at least five of each.")
    every, rows, columns = slice(None), np.array([3, 0, 4]), np.array([1, 1, 4, 0])
    K = host(evaluator.block(every, every)).astype(float)
    assert K.shape == (n, m), f"{evaluator!r}: shape {evaluator.shape}, block of {K.shape}"
    numpy = not is_sparse(evaluator.like) and isinstance(evaluator.like, np.ndarray)

    def same(found: object, expected: np.ndarray, what: str) -> None:
        close(found, expected, tol, what, evaluator)

    same(evaluator.block(rows, columns), K[np.ix_(rows, columns)], "block")
    same(evaluator.block(slice(1, 4), columns), K[1:4][:, columns], "block")
    same(evaluator.dense(2), K, "dense")
    same(evaluator.quick(2), K, "quick")
    same(evaluator.tile(slice(1, 4)), K[1:4], "tile")
    same(evaluator.take(rows, columns).dense(), K[np.ix_(rows, columns)], "part")
    same(evaluator.exact(rows, columns), K[np.ix_(rows, columns)], "exact")
    V = np.random.default_rng(0).normal(size=(m, 3))
    for W in (V, V[:, 0]):
        own = like(W, evaluator.like)
        same(evaluator.product(own), K @ W, "product")
        same(evaluator.product(own, entries=2 * m), K @ W, "product with a memory limit")
        if numpy:
            same(evaluator.quick_product(own), K @ W, "quick product")
    if numpy:
        out = np.zeros((5, m), evaluator.like.dtype)
        evaluator.rows(rows, out, np.array([4, 1, 2]), Workers())
        same(out[[4, 1, 2]], K[rows], "rows")
    if evaluator.symmetric:
        same(evaluator.diagonal(), np.diagonal(K), "diagonal")
        same(K.T, K, "symmetry")
    same(pickle.loads(pickle.dumps(evaluator)).dense(), K, "pickled copy")
