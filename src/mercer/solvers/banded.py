r"""The smoothing spline in O(n), by orthogonal transformations of a block-bidiagonal least-squares problem.

With the state s(x) = (f, f′, …, f^(m−1)) and a gap h, the minimiser of ∫ (f^(m))² between two states is a polynomial of
degree 2m − 1, and the integral is ‖v‖² for

    s(x + h) = Φ(h) s(x) + D_h C v,    Φ(h)ⱼₖ = h^(k−j)/(k−j)!,   D_h = diag(h^(m−1/2), …, h^(1/2)),
    CCᵀ = Q,   Qⱼₖ = 1 / ((2m−1−j−k) (m−1−j)! (m−1−k)!).

So the spline minimises Σ wᵢ (yᵢ − sᵢ₀)² + Σ ‖vᵢ‖² over the states, with D_h C / √α in place of D_h C. The sweep keeps
the information on the current state as (Rs − z)² with a triangular R, and at each gap eliminates vᵢ from

    [      I                0    | 0 ]
    [ −RΦ⁻¹D_hC/√α       RΦ⁻¹    | z ]

by Householder reflections: a square-root information filter. It forms no normal equations (their condition number grows
like n^2m) and inverts no matrix that is singular for a small gap. Each reflection starts from the largest row, so that
rows of very different sizes, as with a small alpha, keep their accuracy. Backwards, each state follows from the next.

A second filter, from the other end, holds the information on a state from later points. Together with that from earlier
points it gives the mean and the variance V of f(xᵢ) given all other observations. With eᵢ = yᵢ − f⁽⁻ⁱ⁾(xᵢ), the
smoother has the diagonal wV/(1 + wV) and the residual eᵢ/(1 + wV), both without loss of accuracy close to
interpolation.

Wahba, *Improper priors, spline smoothing and the problem of guarding against model errors in regression* (1978): the
spline as a posterior mean. Bierman, *Factorization Methods for Discrete Sequential Estimation* (1977): the filter.
Fraser, Potter, *The optimum linear smoother as a combination of two optimum linear filters* (1969). Hutchinson, de
Hoog, *Smoothing noisy data with spline functions* (1985): the trace in O(n). De Hoog, Hutchinson, *An efficient method
for calculating smoothing splines using orthogonal transformations* (1986): why orthogonal transformations. Cox, Higham,
*Stability of Householder QR factorization for weighted least squares problems* (1998): why the largest row.
"""

from __future__ import annotations

from functools import cache
from math import factorial
from typing import Any, NamedTuple

import numpy as np

from .._jit import njit
from ..types import Array


class Sweep(NamedTuple):
    """Result of one forward and backward pass, on n points with gaps h."""

    states: np.ndarray  # (n, m): f and its derivatives at the points
    steps: np.ndarray  # (n − 1, m): D_h⁻¹ (sᵢ₊₁ − Φsᵢ), without cancellation
    left_out: np.ndarray  # (n,): yᵢ − f⁽⁻ⁱ⁾(xᵢ), for the spline through all other points
    variance: np.ndarray  # (n,): of f⁽⁻ⁱ⁾(xᵢ), under unit noise
    objective: float  # Σ wᵢ(yᵢ − f(xᵢ))² + α∫(f^(m))²
    log_determinant: float  # log |AᵀA| of the least-squares problem in (v, s_n)


def smooth(gaps: np.ndarray, weight: np.ndarray, y: np.ndarray, alpha: float, order: int) -> Sweep:
    """The spline of the given order at points with these gaps; weights are zero where there is no value."""
    m = order
    noise = np.array(
        [[1 / ((2 * m - 1 - j - k) * factorial(m - 1 - j) * factorial(m - 1 - k)) for k in range(m)] for j in range(m)]
    )
    C = np.linalg.cholesky(noise) / np.sqrt(alpha)
    return Sweep(*_compiled(m)(gaps, np.sqrt(weight), y, C))


@njit
def _reflect(A: Array, top: int, first: int, last: int, column: int) -> None:
    """Zero `column` in rows `first` … `last` − 1 by a Householder reflection with row `top`."""
    largest = top  # rows of very different sizes keep their accuracy if the reflection starts from the largest
    for i in range(first, last):
        if abs(A[i, column]) > abs(A[largest, column]):
            largest = i
    if largest != top:
        for k in range(column, A.shape[1]):
            A[top, k], A[largest, k] = A[largest, k], A[top, k]
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
def _transition(h: float, m: int, F: Array) -> None:
    """F = Φ(h); Φ(−h) is its inverse."""
    term = 1.0
    for d in range(m):
        for j in range(m - d):
            F[j, j + d] = term
        term *= h / (d + 1)


@njit
def _noise(h: float, m: int, C: Any, G: Array) -> None:
    """G = D_h C."""
    scale = np.sqrt(h)
    for j in range(m - 1, -1, -1):
        for k in range(m):
            G[j, k] = scale * C[j, k]
        scale *= h


@cache
def _compiled(m: int) -> Any:
    """The sweep for one order, with loops unrolled by the compiler. (Closing only over a number allows caching.)"""

    def sweep(gaps: Any, root: Any, y: Array, C: Any) -> Any:
        n, width = y.shape[0], 2 * m + 1
        kept, known = np.empty((n - 1, m, width)), np.empty((n, m, m + 1))
        states, steps, left_out, variance = np.empty((n, m)), np.empty((n - 1, m)), np.empty(n), np.empty(n)
        A, B = np.zeros((width, width)), np.zeros((2 * m, m + 1))
        F, G, u = np.zeros((m, m)), np.zeros((m, m)), np.zeros(m)
        objective, logarithm = 0.0, 0.0
        # backwards first, since the means start from the last state of the forward pass
        for forth in (False, True):
            A[:] = 0.0  # rows 0 … m−1: removed steps; m … 2m−1: R and z of the state; 2m: the next value
            for t in range(n):
                i = t if forth else n - 1 - t
                if forth:
                    for a in range(m):
                        for k in range(m + 1):
                            B[a, k], B[m + a, k] = A[m + a, m + k], known[i, a, k]
                    for k in range(m):
                        _reflect(B, k, k + 1, 2 * m, k)
                    left_out[i], variance[i] = y[i], 0.0
                    for k in range(m):  # with Bᵀu = (1, 0, …), the variance is ‖u‖² and the mean uᵀz
                        total = 1.0 if k == 0 else 0.0
                        for j in range(k):
                            total -= B[j, k] * u[j]
                        u[k] = total / B[k, k]
                        left_out[i] -= u[k] * B[k, m]
                        variance[i] += u[k] * u[k]
                else:
                    for a in range(m):
                        for k in range(m + 1):  # seen from the other end, odd derivatives change sign
                            known[i, a, k] = -A[m + a, m + k] if k < m and k % 2 else A[m + a, m + k]
                for k in range(width):
                    A[2 * m, k] = 0.0
                A[2 * m, m], A[2 * m, 2 * m] = root[i], root[i] * y[i]
                for k in range(m):
                    _reflect(A, m + k, m + k + 1, width, m + k)
                if forth:
                    objective += A[2 * m, 2 * m] * A[2 * m, 2 * m]
                if t == n - 1:
                    break
                h = gaps[i] if forth else gaps[i - 1]
                _transition(-h, m, F)
                _noise(h, m, C, G)
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
                if forth:
                    for a in range(m):
                        logarithm += np.log(abs(A[a, a]))
                        for k in range(width):
                            kept[i, a, k] = A[a, k]

        for k in range(m - 1, -1, -1):
            logarithm += np.log(abs(A[m + k, m + k]))
            total = A[m + k, 2 * m]
            for j in range(k + 1, m):
                total -= A[m + k, m + j] * states[n - 1, j]
            states[n - 1, k] = total / A[m + k, m + k]
        for i in range(n - 2, -1, -1):
            _transition(-gaps[i], m, F)
            _noise(gaps[i], m, C, G)
            for k in range(m - 1, -1, -1):  # the step v to the next state
                total = kept[i, k, 2 * m]
                for j in range(m):
                    total -= kept[i, k, m + j] * states[i + 1, j]
                for j in range(k + 1, m):
                    total -= kept[i, k, j] * steps[i, j]
                steps[i, k] = total / kept[i, k, k]
            for a in range(m):
                u[a] = states[i + 1, a]
                for k in range(m):
                    u[a] -= G[a, k] * steps[i, k]
            for a in range(m):  # Φ⁻¹(s − Gv)
                total = 0.0
                for j in range(a, m):
                    total += F[a, j] * u[j]
                states[i, a] = total
            for a in range(m - 1, -1, -1):  # Cv
                total = 0.0
                for k in range(a + 1):
                    total += C[a, k] * steps[i, k]
                steps[i, a] = total
        return states, steps, left_out, variance, objective, 2 * logarithm

    sweep.__qualname__ += f"_{m}"  # names the machine code, so that the cache keeps the orders apart
    return njit(sweep)
