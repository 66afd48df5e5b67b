r"""Many small support vector machines on one kernel matrix: all pairs of classes, over a range of C.

.. math:: \min_\beta \tfrac12 \beta^\top K \beta - y^\top \beta \quad\text{with}\quad 0 \le y_i \beta_i \le C w_i,
    \; \sum_i \beta_i = 0

for each pair of classes, y = 1 on the first and −1 on the second, and each C in increasing order. From β at C to
C′ > C: sβ is feasible for 0 ≤ s ≤ C′/C, and yᵀβ/βᵀKβ is the s with the lowest objective; the next solution starts
there, or at C′/C if that is close. Everything is in double precision, in compiled code that releases the GIL, so that
calls for other matrices or other samples run on other threads.

References
----------
Fan, Chen, Lin, *Working set selection using second order information for training SVM* (2005), WSS 2, for the steps.
DeCoste, Wagstaff, *Alpha seeding for support vector machines* (2000), for warm starts from a smaller C.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations
from threading import local
from typing import Any

import numpy as np
from sklearn.utils.multiclass import _ovr_decision_function

from ..._array import host, like, namespace
from ..._units import exponent
from ._many import solve
from ._smo import LANES
from .rounds import STEPS

__all__ = ["LARGEST", "PairPath", "solve_pairs", "vote"]

LARGEST = 2048  # samples of a pair up to which its whole matrix is cheaper than a working set
KEPT = 1 << 21  # numbers of memory that a thread keeps
_held = local()


@dataclass(frozen=True)
class PairPath:
    """Machines for k classes, one for each pair of classes and each of m values of C.

    Attributes
    ----------
    order, edges : array of int
        The samples sorted by class: those of class c are ``order[edges[c]:edges[c + 1]]``.
    coefficients : array of shape (m, k − 1, n)
        β of each sample in the pairs of its class with the others, in class order, as in LIBSVM's models.
    offsets, gaps : array of shape (m, pairs)
        Offsets, and the stopping criterion max{f : β can increase} − min{f : β can decrease} ≤ ``tol``, f = y − Kβ.
    steps : array of shape (m, pairs)
        Number of two-variable steps.
    """

    order: np.ndarray
    edges: np.ndarray
    coefficients: np.ndarray
    offsets: np.ndarray
    gaps: np.ndarray
    steps: np.ndarray

    def decisions(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Values at the samples of some rows of K, of shape (m, rows, pairs); positive for a pair's first class."""
        moved, last = self._moves()
        others, columns = self.coefficients.shape[1], K[rows][:, self.order]
        place = {pair: k for k, pair in enumerate(combinations(range(others + 1), 2))}
        values = np.zeros((len(place), len(moved), len(rows)))
        for c in range(others + 1):  # class by class: in a pair, all others have zero coefficients
            part = slice(self.edges[c], self.edges[c + 1])
            coefficients = self.coefficients[moved, :, part].transpose(1, 0, 2).reshape(others * len(moved), -1)
            products = (coefficients @ columns[:, part].T).reshape(others, len(moved), -1)
            for o, product in zip((o for o in range(others + 1) if o != c), products, strict=True):
                values[place[min(c, o), max(c, o)]] += product
        return values.transpose(1, 2, 0)[last] + self.offsets[:, None]

    def _moves(self) -> tuple[np.ndarray, np.ndarray]:
        """The values of C with coefficients of their own, and for each value the place of the last such one."""
        moves = np.ones(len(self.coefficients), bool)
        moves[1:] = (self.coefficients[1:] != self.coefficients[:-1]).any(axis=(1, 2))
        return np.flatnonzero(moves), np.cumsum(moves) - 1


def solve_pairs(
    K: np.ndarray,
    members: list[np.ndarray],
    weight: np.ndarray,
    strengths: np.ndarray,
    tol: float,
    stop: np.ndarray | None = None,
    most: int = STEPS,
) -> PairPath:
    """The machines of all pairs of classes, for each C.

    Parameters
    ----------
    K : array of shape (N, N), float64
        Kernel values of all samples, symmetric and finite.
    members : list of arrays of int
        The training samples of each class; at least two classes, none empty.
    weight : array of shape (N,)
        Multiplies C for each sample; > 0 for the training samples.
    strengths : array of numbers > 0
        The values of C, increasing.
    tol : float > 0
        Tolerance of the criterion, evaluated in double precision; smaller values take more steps.
    stop : array of one number, optional
        Work ends soon after another thread sets it to a nonzero value; the result is then incomplete.
    most : int
        Maximum number of steps per problem, after which its gap may exceed `tol`.

    Examples
    --------
    >>> x = np.array([-2.0, -1.0, 1.0, 2.0])
    >>> members = [np.array([0, 1]), np.array([2, 3])]
    >>> path = solve_pairs(np.outer(x, x), members, np.ones(4), np.array([0.1, 10.0]), 1e-6)
    >>> path.coefficients[:, 0].round(3).tolist()  # from the first class (y = 1) to the second
    [[0.075, 0.1, -0.1, -0.075], [0.0, 0.5, -0.5, 0.0]]
    """
    edges = np.cumsum([0] + [len(m) for m in members])
    order = np.concatenate(members)
    pairs = len(members) * (len(members) - 1) // 2
    shape = len(strengths), pairs
    coefficients = np.zeros((len(strengths), len(members) - 1, len(order)))
    offsets, gaps, steps = np.zeros(shape), np.zeros(shape), np.zeros(shape, np.int64)
    flag = np.zeros(1) if stop is None else stop
    e = exponent(K[order, order])  # K/2ᵉ and 2ᵉC have 2ᵉβ: the same machines, whatever the unit of K
    settings = np.ldexp(1.0, -e), order, edges, weight[order], np.ldexp(strengths, e), float(tol), most, flag
    largest = -(-int(np.sort(np.diff(edges))[-2:].sum()) // LANES) * LANES
    solve(K, *settings, _scratch(len(order) ** 2 + largest**2), coefficients, offsets, gaps, steps)
    return PairPath(order, edges, np.ldexp(coefficients, -e), offsets, gaps, steps)


def _scratch(size: int) -> np.ndarray:
    """Memory with arbitrary contents; a thread keeps a few megabytes, since the first touch of fresh memory is slow."""
    held = getattr(_held, "memory", None)
    if held is None or len(held) < size:
        held = np.empty(size)
        if size <= KEPT:
            _held.memory = held
    return held[:size]


def vote(values: Any, classes: int, break_ties: bool = False) -> np.ndarray:
    """The index of the class with most votes, from values of the pairs (last axis), positive for the first of a pair.

    Ties go to the first class or, with `break_ties`, to the most confident one.

    Examples
    --------
    >>> vote(np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, 2.0]]), 3)  # pairs (0, 1), (0, 2), (1, 2)
    array([0, 1])
    """
    if break_ties and classes > 2:
        values = host(values)
        flat = values.reshape(-1, values.shape[-1])
        return _ovr_decision_function(flat < 0, -flat, classes).argmax(axis=1).reshape(values.shape[:-1])
    xp, (exchange, seconds) = namespace(values), _ballot(classes)
    first: Any = xp.astype(values > 0, xp.float32)  # each pair has one vote for its second class besides
    return host(xp.argmax(first @ like(exchange, first) + like(seconds, first), axis=-1))


@cache
def _ballot(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """The votes that each pair moves from its second class to its first, and the votes for second classes."""
    first, second = np.array(list(combinations(range(classes), 2))).T
    every = np.arange(classes)
    exchange = (first[:, None] == every).astype(np.float32) - (second[:, None] == every)
    return exchange, np.bincount(second, minlength=classes)
