"""Many small machines on one kernel matrix: all pairs of classes of a fit in one compiled call, in double precision."""

from __future__ import annotations

import warnings
from inspect import signature
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import column_or_1d

from .._jit import njit
from ..kernels import Definiteness, Precomputed
from ..methods import SVC
from ..solvers.fit._smo import CHUNK, smo
from ..solvers.fit.working_set import BoxSolution

LARGEST = 2048  # training samples, up to which the block of a pair stays in cache
STEPS = 1 << 20  # of one compiled call for a pair: Ctrl-C is heard between calls
CALLS = 64  # after which a tolerance is beyond double precision
OBEYED = {
    *("C", "break_ties", "cache_size", "class_weight", "coef0", "decision_function_shape", "degree", "gamma", "gram"),
    *("kernel", "n_jobs", "random_state", "shrinking", "tol", "verbose"),
}
AT_DEFAULT = {name: p.default for name, p in signature(SVC).parameters.items() if name not in OBEYED}


class SVCOnMatrix(SVC):
    """`SVC` whose samples are indices into a kernel matrix of all samples, for what it answers alone."""

    matrix_: np.ndarray

    @classmethod
    def suits(cls, estimator: Any, n_train: int) -> bool:
        """Whether this class can stand for the estimator."""
        plain = type(estimator) is SVC and n_train <= LARGEST and np.inf != estimator.C
        return plain and all(getattr(estimator, name) == default for name, default in AT_DEFAULT.items())

    @classmethod
    def of(cls, estimator: SVC, claim: Definiteness, K: np.ndarray) -> SVCOnMatrix:
        """The same machine on K, of whose kernel `claim` is proven."""
        params = estimator.get_params(deep=False) | {"kernel": Precomputed(claim), "gram": "auto"}
        machine = cls(**params)
        machine.matrix_ = K
        return machine

    def _check_fit(self, X: Any, y: Any, **options: Any) -> tuple[Any, Any]:
        self.kernel_ = self.kernel
        return X, column_or_1d(y, warn=True)

    def _solve_pairs(self, X: Any, members: list[np.ndarray], weight: np.ndarray) -> list[BoxSolution]:
        order = np.concatenate(members)
        edges = np.cumsum([0] + [len(m) for m in members])
        pairs = np.array(list(combinations(range(len(members)), 2)))
        beta, offsets = np.zeros((len(pairs), len(order))), np.zeros(len(pairs))
        bound = self.C * weight[order]
        left = np.arange(len(pairs))
        for _ in range(CALLS):
            counts = solve(self.matrix_, X[order], edges, pairs, bound, beta, offsets, left, self.tol, STEPS)
            left = left[counts == STEPS]
            if not len(left):
                break
        else:
            message = f"SVC: tol = {self.tol:g} was not reached in {CALLS * STEPS} steps; scale the data, or lower C."
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        sign = -1.0 if len(pairs) == 1 else 1.0  # of two classes, positive means the second
        self.train_, self.coefficients_, self.intercept_ = X[order], sign * beta.T, sign * offsets
        return []

    def _report(self, solutions: list[BoxSolution]) -> None:
        """What there was to say has been said."""

    def _collect(self, X: Any, members: list[np.ndarray], solutions: list[BoxSolution]) -> None:
        """What answers need is there."""

    def _decisions(self, X: Any) -> np.ndarray:
        values = self.matrix_[np.ix_(X, self.train_)] @ self.coefficients_ + self.intercept_
        return values[:, 0] if len(self.intercept_) == 1 else values


@njit
def solve(
    K: Any, order: Any, edges: Any, pairs: Any, bound: Any, beta: Any, offsets: Any, which: Any, tol: float, most: int
) -> Any:
    """Pairs of classes from β, which is changed: one row a pair, samples class after class. The steps of each."""
    counts = np.zeros(len(which), np.int64)
    S = np.empty((len(order), len(order)))  # class by class, so that blocks of pairs are read in order
    for i in range(len(order)):
        row = K[order[i]]
        for j in range(len(order)):
            S[i, j] = row[order[j]]
    for number in range(len(which)):
        k = which[number]
        a, b = pairs[k]
        A, B = slice(edges[a], edges[a + 1]), slice(edges[b], edges[b + 1])
        first, n = edges[a + 1] - edges[a], edges[a + 1] - edges[a] + edges[b + 1] - edges[b]
        width = -(-n // CHUNK) * CHUNK
        Q = np.zeros((width, width))
        Q[:first, :first], Q[:first, first:n] = S[A, A], S[A, B]
        Q[first:n, :first], Q[first:n, first:n] = S[B, A], S[B, B]
        x, diagonal, lower, upper = np.zeros(width), np.ones(width), np.zeros(width), np.zeros(width)
        x[:first], x[first:n] = beta[k, A], beta[k, B]
        upper[:first], lower[first:n] = bound[A], -bound[B]
        for i in range(n):
            diagonal[i] = Q[i, i]
        f = _gradient(Q, x, first, n)
        counts[number] = smo(Q, f, x, lower, upper, diagonal, tol, most)
        f = _gradient(Q, x, first, n)
        beta[k, A], beta[k, B] = x[:first], x[first:n]
        top, bottom, total, free = -1e300, 1e300, 0.0, 0
        for i in range(n):
            if x[i] < upper[i]:
                top = max(top, f[i])
            if x[i] > lower[i]:
                bottom = min(bottom, f[i])
            if lower[i] < x[i] < upper[i]:
                total += f[i]
                free += 1
        # without a free variable any offset between the ends is optimal: the middle
        offsets[k] = total / free if free else 0.5 * (top + bottom)
    return counts


@njit
def _gradient(Q: Any, x: Any, first: int, n: int) -> Any:
    """y − Qx, for y = 1 on the first variables and −1 on the others."""
    f = np.zeros(len(x))
    f[:first], f[first:n] = 1.0, -1.0
    for j in range(n):
        if x[j] != 0:
            row, weight = Q[j], x[j]
            for t in range(len(f)):
                f[t] -= weight * row[t]
    return f
