r"""Weights that minimise the optimal value J of a regularised problem in the space of :math:`\sum \mu_k k_k`.

The dual of :math:`\min_f \sum_i \ell(y_i, f(x_i)) + \tfrac{\alpha}{2} \lVert f \rVert^2` depends on the kernel only
through :math:`\tfrac{\alpha}{2} a^\top K a`. So :math:`J(\mu)` is convex with the derivatives
:math:`-\tfrac{\alpha}{2} q_k`, :math:`q_k = a^\top K_k a`, where a is the solution for μ. Both methods use only q,
whatever the loss. They stop by the duality gap of the joint problem:

.. math:: J(\mu) - \min J \le \tfrac{\alpha}{2} \Big( \max_{\lVert \nu \rVert_p \le 1} \nu^\top q - \mu^\top q \Big)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls

from ...context import Status, current
from ..solution import Solution
from ._alignment import alignf

Oracle = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Descent(Solution):
    """Weights, the relative gap (J(μ) − min J is at most this times α/2 ‖f‖²), and the history."""

    measure = ("duality gap", "gap")
    weights: np.ndarray
    gap: float
    history: list[float] = field(default_factory=list)


def relative_gap(mu: np.ndarray, q: np.ndarray, p: float) -> float:
    """(‖q‖_{p*} − μᵀq) / μᵀq, where ‖q‖_{p*} is the largest νᵀq for ‖ν‖_p <= 1."""
    value = float(mu @ q)
    if value <= 0:
        return 0.0 if not q.any() else np.inf
    largest = float(q.max())  # to divide by, because high powers overflow
    dual = np.inf if p == 1 else 1.0 if np.isinf(p) else p / (p - 1)
    return max(0.0, largest * float(np.linalg.norm(q / largest, dual)) / value - 1.0)


def on_simplex(oracle: Oracle, m: int, tol: float, max_iter: int) -> Descent:
    """Minimise J over the simplex, from its centre.

    Each step minimises a quadratic model over the simplex, with a matrix updated by BFGS that starts from the curvature
    for fixed functions, qₖ/μₖ. If J is rising at the end of a step, the step is shortened to a nearly zero slope,
    bracketed by the slopes at both ends; J itself is never needed, and never rises.
    """
    mu = np.full(m, 1.0 / m)
    q = oracle(mu)
    B = np.diag(np.maximum(q, 1e-3 * q.max()) / mu)
    history: list[float] = []
    context = current()
    for n_iter in range(max_iter + 1):
        gap = relative_gap(mu, q, 1)
        history.append(gap)
        status = Status.CONVERGED if gap <= tol else context() or (Status.MAX_ITER if n_iter == max_iter else None)
        if status:
            break
        ahead = _model_minimum(B, mu, q)
        d = ahead - mu
        if d @ q <= 0:
            status = Status.NO_DESCENT
            break
        last, q_last = mu, q
        mu, q = ahead, oracle(ahead)
        if d @ q < 0:
            mu, q = _zero_of_slope(oracle, last, ahead, q_last, q)
        B = _updated(B, mu - last, (q_last - q) / 2)
    return Descent(mu, gap, history, status=status or Status.MAX_ITER, n_iter=n_iter, method="simplex")


def _model_minimum(B: np.ndarray, mu: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The ν on the simplex that minimises −½qᵀ(ν − μ) + ½(ν − μ)ᵀB(ν − μ)."""
    L = np.linalg.cholesky(B).T
    heavy = 1e5 * np.linalg.norm(L)  # so that Σν = 1 holds nearly, and exactly after division
    target = L @ mu + np.linalg.solve(L.T, q / 2)
    nu = nnls(np.vstack([L, np.full(len(mu), heavy)]), np.append(target, heavy))[0]
    return np.asarray(nu / nu.sum())


def _updated(B: np.ndarray, step: np.ndarray, change: np.ndarray) -> np.ndarray:
    """B updated by a step and its change of the gradient; unchanged if rounding hides the curvature."""
    Bs = B @ step
    curvature, before = float(step @ change), float(step @ Bs)
    if curvature <= 1e-8 * before:
        return B
    return B - np.outer(Bs, Bs) / before + np.outer(change, change) / curvature


def _zero_of_slope(
    oracle: Oracle, left: np.ndarray, right: np.ndarray, q_left: np.ndarray, q_right: np.ndarray, rounds: int = 12
) -> tuple[np.ndarray, np.ndarray]:
    """A zero of the slope of J between two points, falling at the first and rising at the second (Illinois method)."""
    d = right - left
    a, b, low, high = 0.0, 1.0, float(d @ q_left), float(d @ q_right)
    start, side, best, at_best = low, 0, left, q_left
    for _ in range(rounds):
        t = (a * high - b * low) / (high - low)
        mu = left + t * d
        q = oracle(mu)
        slope = float(d @ q)
        if slope >= 0:  # J still falls here, so it is lower than before
            best, at_best = mu, q
            a, low = t, slope
            high = high / 2 if side == 1 else high
            side = 1
            if slope <= 0.5 * start:
                break
        else:
            b, high = t, slope
            low = low / 2 if side == -1 else low
            side = -1
    return best, at_best


def blockwise(oracle: Oracle, m: int, p: float, tol: float, max_iter: int) -> Descent:
    r"""Minimise J over :math:`\lVert \mu \rVert_p \le 1` by alternation; for fixed :math:`f_k` the best weights are

    :math:`\mu_k \propto \lVert f_k \rVert^{2/(p+1)}`, :math:`\lVert f_k \rVert^2 = \mu_k^2 q_k`. Each round lowers J.
    """
    mu = np.full(m, m ** (-1.0 / p))
    history: list[float] = []
    context = current()
    for n_iter in range(max_iter + 1):
        q = oracle(mu)
        gap = relative_gap(mu, q, p)
        history.append(gap)
        status = Status.CONVERGED if gap <= tol else context() or (Status.MAX_ITER if n_iter == max_iter else None)
        if status:
            break
        norms = mu * np.sqrt(np.clip(q, 0.0, None))
        mu = (norms / norms.max()) ** (2.0 / (p + 1.0))
        mu /= np.linalg.norm(mu, p)
    return Descent(mu, gap, history, status=status or Status.MAX_ITER, n_iter=n_iter, method="blockwise")


def alternating(partition: Oracle, M: np.ndarray, tol: float, max_iter: int) -> Descent:
    r"""Maximise the alignment of a combination with the partition found in its space, starting from equal weights.

    `partition` returns :math:`a_k = \langle K_k, P \rangle` for the projection P onto the cluster indicators at μ, and
    M contains all :math:`\langle K_k, K_l \rangle`. The best partition for μ maximises :math:`\mu^\top a`; for a given
    partition, `alignf` maximises :math:`\mu^\top a / \sqrt{\mu^\top M \mu}`. So neither step lowers the alignment,
    whose values are in `history` (times the norm of P, which all partitions share). The gap is the fraction by which
    other weights would raise it for this partition.
    """
    mu = np.full(len(M), 1.0 / len(M))
    best, kept, gap, status = -np.inf, mu, np.inf, None
    history: list[float] = []
    context = current()
    for n_iter in range(max_iter + 1):
        a = partition(mu)
        value = _cosine(mu, M, a)
        if value <= best:
            status = Status.CONVERGED  # no better partition exists
            break
        history.append(value)
        better = alignf(M, a)
        best, kept, gap = value, mu, max(0.0, _cosine(better, M, a) / value - 1.0) if value > 0 else 0.0
        status = Status.CONVERGED if gap <= tol else context() or (Status.MAX_ITER if n_iter == max_iter else None)
        if status:
            break
        mu = better
    return Descent(kept, gap, history, status=status or Status.MAX_ITER, n_iter=n_iter, method="alternating")


def _cosine(mu: np.ndarray, M: np.ndarray, a: np.ndarray) -> float:
    return float(mu @ a / np.sqrt(mu @ M @ mu or 1.0))
