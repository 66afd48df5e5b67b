r"""The smoothing spline in O(n), by orthogonal transformations of a block-bidiagonal least-squares problem.

With the state s(x) = (f, f′, …, f^(m−1)) and a gap h, the function of least ∫ (f^(m))² between two states is a
polynomial of degree 2m − 1, and the integral is ‖v‖² for

    s(x + h) = Φ(h) s(x) + D_h C v,    Φ(h)ⱼₖ = h^(k−j)/(k−j)!,   D_h = diag(h^(m−1/2), …, h^(1/2)),
    CCᵀ = Q,   Qⱼₖ = 1 / ((2m−1−j−k) (m−1−j)! (m−1−k)!).

So the spline minimises Σ wᵢ (yᵢ − sᵢ₀)² + Σ ‖vᵢ‖² over the states, with D_h C / √α in place of D_h C. The sweep keeps
the triangular factor R of all that is known of the present state, (Rs − z)², and at each gap removes vᵢ from

    [      I                0    | 0 ]
    [ −RΦ⁻¹D_hC/√α       RΦ⁻¹    | z ]

by Householder reflections: a square-root information filter. No normal equations are formed (their condition grows like
n^2m), no matrix is inverted that a small gap makes singular, and backwards the covariance of each state is a sum of
positive terms, which gives the trace of the smoother without a subtraction.

Wahba, *Improper priors, spline smoothing and the problem of guarding against model errors in regression* (1978): the
spline as a posterior mean. Bierman, *Factorization Methods for Discrete Sequential Estimation* (1977), chapters V and
VI: the filter. Hutchinson, de Hoog, *Smoothing noisy data with spline functions* (1985): the trace in O(n). De Hoog,
Hutchinson, *An efficient method for calculating smoothing splines using orthogonal transformations* (1986): why
orthogonal transformations.
"""

from __future__ import annotations

from functools import cache
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from .._jit import njit


class Sweep(NamedTuple):
    """What one pass forth and back gives, on n points with gaps h."""

    states: np.ndarray  # (n, m): f and its derivatives at the points
    steps: np.ndarray  # (n − 1, m): D_h⁻¹ (sᵢ₊₁ − Φsᵢ), without cancellation
    leverage: np.ndarray  # (n,): the variances of f(xᵢ) under unit noise; times wᵢ, the diagonal of the smoother
    objective: float  # Σ wᵢ(yᵢ − f(xᵢ))² + α∫(f^(m))²
    log_determinant: float  # log |AᵀA| of the least-squares problem in (v, s_n)


def smooth(gaps: np.ndarray, weight: np.ndarray, y: np.ndarray, alpha: float, order: int) -> Sweep:
    """The spline of the given order at points with these gaps; weights may be zero where no value is known."""
    m = order
    noise = np.array(
        [[1 / ((2 * m - 1 - j - k) * factorial(m - 1 - j) * factorial(m - 1 - k)) for k in range(m)] for j in range(m)]
    )
    C = np.linalg.cholesky(noise) / np.sqrt(alpha)
    return Sweep(*_compiled(m)(gaps, np.sqrt(weight), y, C))


@njit
def _reflect(A: Any, top: int, first: int, last: int, column: int) -> None:
    """Householder: `column` becomes zero in rows `first` … `last` − 1, together with row `top`."""
    square = 0.0
    for i in range(first, last):
        square += A[i, column] * A[i, column]
    if square == 0.0:
        return
    head = A[top, column]
    norm = np.sqrt(head * head + square)
    pivot = head + norm if head > 0 else head - norm
    scale = 1.0 / (norm * abs(pivot))
    for k in range(column + 1, A.shape[1]):
        product = pivot * A[top, k]
        for i in range(first, last):
            product += A[i, column] * A[i, k]
        product *= scale
        A[top, k] -= pivot * product
        for i in range(first, last):
            A[i, k] -= product * A[i, column]
    A[top, column] = -norm if head > 0 else norm
    for i in range(first, last):
        A[i, column] = 0.0


@njit
def _transition(h: float, m: int, F: Any) -> None:
    """F = Φ(h); Φ(−h) is its inverse."""
    term = 1.0
    for d in range(m):
        for j in range(m - d):
            F[j, j + d] = term
        term *= h / (d + 1)


@cache
def _compiled(m: int) -> Any:
    """The sweep for one order, whose loops the compiler unrolls. (Only a plain number is closed over: it caches.)"""

    @njit
    def sweep(gaps: Any, root: Any, y: Any, C: Any) -> Any:
        n, width = y.shape[0], 2 * m + 1
        kept = np.empty((n - 1, m, width))
        A = np.zeros((width, width))
        F, G, B = np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m))
        objective, logarithm = 0.0, 0.0
        # rows 0 … m−1: removed steps; m … 2m−1: R and z of the state; 2m: the next value
        A[m, m], A[m, 2 * m] = root[0], root[0] * y[0]
        for i in range(n - 1):
            h = gaps[i]
            _transition(-h, m, F)
            scale = np.sqrt(h)
            for j in range(m - 1, -1, -1):
                for k in range(m):
                    G[j, k] = scale * C[j, k]
                scale *= h
            for a in range(m):  # RΦ⁻¹, in place from the right
                for k in range(m - 1, -1, -1):
                    total = 0.0
                    for j in range(k + 1):
                        total += A[m + a, m + j] * F[j, k]
                    A[m + a, m + k] = total
            for a in range(m):
                for k in range(m):
                    total = 0.0
                    for j in range(m):
                        total -= A[m + a, m + j] * G[j, k]
                    A[m + a, k] = total
                for k in range(width):
                    A[a, k] = 0.0
                A[a, a] = 1.0
            for k in range(m):
                _reflect(A, k, m, 2 * m, k)
                logarithm += np.log(abs(A[k, k]))
            for a in range(m):
                for k in range(width):
                    kept[i, a, k] = A[a, k]
            for k in range(width):
                A[2 * m, k] = 0.0
            A[2 * m, m], A[2 * m, 2 * m] = root[i + 1], root[i + 1] * y[i + 1]
            for k in range(m):
                _reflect(A, m + k, m + k + 1, width, m + k)
            objective += A[2 * m, 2 * m] * A[2 * m, 2 * m]

        states, steps, variance = np.empty((n, m)), np.empty((n - 1, m)), np.empty(n)
        V, N, T = np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m))
        for k in range(m - 1, -1, -1):
            logarithm += np.log(abs(A[m + k, m + k]))
            total = A[m + k, 2 * m]
            for j in range(k + 1, m):
                total -= A[m + k, m + j] * states[n - 1, j]
            states[n - 1, k] = total / A[m + k, m + k]
            for c in range(m):
                total = 1.0 if c == k else 0.0
                for j in range(k + 1, m):
                    total -= A[m + k, m + j] * N[j, c]
                N[k, c] = total / A[m + k, m + k]
        for a in range(m):
            for b in range(m):
                total = 0.0
                for c in range(m):
                    total += N[a, c] * N[b, c]
                V[a, b] = total
        variance[n - 1] = V[0, 0]

        for i in range(n - 2, -1, -1):
            h = gaps[i]
            _transition(-h, m, F)
            # v = t − T s for the next state s; N is what v keeps of unit noise
            for k in range(m - 1, -1, -1):
                for c in range(width):
                    total = (1.0 if c == k else 0.0) if c < m else kept[i, k, c]
                    for j in range(k + 1, m):
                        total -= kept[i, k, j] * (N[j, c] if c < m else (T[j, c - m] if c < 2 * m else steps[i, j]))
                    total /= kept[i, k, k]
                    if c < m:
                        N[k, c] = total
                    elif c < 2 * m:
                        T[k, c - m] = total
                    else:
                        steps[i, k] = total
            for k in range(m):
                for j in range(m):
                    steps[i, k] -= T[k, j] * states[i + 1, j]
            scale = np.sqrt(h)
            for j in range(m - 1, -1, -1):
                for k in range(m):
                    G[j, k] = scale * C[j, k]
                scale *= h
            # sᵢ = Φ⁻¹ (s − Gv): its mean, and its covariance Φ⁻¹ ((I + GT) V (I + GT)ᵀ + (GN)(GN)ᵀ) Φ⁻ᵀ
            for a in range(m):
                for b in range(m):
                    total = 1.0 if a == b else 0.0
                    other = 0.0
                    for k in range(m):
                        total += G[a, k] * T[k, b]
                        other += G[a, k] * N[k, b]
                    A[a, b], A[a, m + b] = total, other
            for a in range(m):
                total = states[i + 1, a]
                for k in range(m):
                    total -= G[a, k] * steps[i, k]
                A[a, 2 * m] = total
            for a in range(m):
                for c in range(width):
                    total = 0.0
                    for j in range(a, m):
                        total += F[a, j] * A[j, c]
                    A[a, c] = total
                states[i, a] = A[a, 2 * m]
            for a in range(m):
                for b in range(m):
                    total = 0.0
                    for k in range(m):
                        total += A[a, k] * V[k, b]
                    B[a, b] = total
            for a in range(m):
                for b in range(m):
                    total = 0.0
                    for k in range(m):
                        total += B[a, k] * A[b, k] + A[a, m + k] * A[b, m + k]
                    V[a, b] = total
            variance[i] = V[0, 0]
            for a in range(m - 1, -1, -1):  # Cv
                total = 0.0
                for k in range(a + 1):
                    total += C[a, k] * steps[i, k]
                steps[i, a] = total
        return states, steps, variance, objective, 2 * logarithm

    return sweep
