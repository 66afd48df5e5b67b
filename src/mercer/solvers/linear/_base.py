"""The linear system (K + diag(shift)) a = b, with an optional unpenalised part.

With free functions H = (h_b(xᵢ)) the system is

    K a + S a + H c = b,    Hᵀ a = 0.

With S = αW⁻¹, scaled by D = W^{1/2} and projected off the columns of DH by P = I − QQᵀ, it is (PDKDP + αI) ã = PDb
with a = Dã: a plain system, positive definite for PD kernels and for kernels that are so only on Hᵀa = 0.
Wahba, *Spline Models for Observational Data* (1990), section 1.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log2
from numbers import Real
from typing import Any

import numpy as np

from ..._array import eps, eye, host, like, namespace
from ..._errors import unwritten
from ..._units import power_of_two, squarable
from ...context import Status
from ...domains import take
from ...gram import Operator, Wrapped
from ...types import Array, Index
from ..protocol import Solver
from ..solution import Solution

MOVED = 0.01  # fraction of the targets by which rounding may change the fitted values of a converged solution


@dataclass(frozen=True)
class LinearSolution(Solution):
    """The coefficients a and c, and how well they solve the system."""

    measure = ("residual", "residual")
    coefficients: Any
    free: Any = None
    residual: float = 0.0  # ‖Ka + Sa + Hc − b‖ / ‖b‖ in the norm of the weights, the maximum over the right-hand sides
    jitter: float = 0.0  # the amount added to the diagonal


@dataclass(frozen=True)
class System:
    """Ka + Sa + Hc = b with Hᵀa = 0, for a vector b or the columns of a matrix.

    Parameters
    ----------
    operator : Operator
        K.
    b : array of shape (n,) or (n, t)
    shift : float >= 0, or array of shape (n,), > 0
        S; an array is equivalent to shift = 1 with weight = 1/shift.
    H : array of shape (n, p), optional
        Values of the free functions; the columns must be linearly independent.
    weight : array of shape (n,), >= 0, optional
        W, for S = shift·W⁻¹: the normal equations of weighted least squares. Weight 0 gives coefficient 0.
    definite : bool
        Whether to assume that K is positive definite on Hᵀa = 0.
    """

    operator: Operator
    b: Any
    shift: Any = 0.0
    H: Any = None
    weight: Any = None
    definite: bool = True


class LinearSolver(Solver[System, LinearSolution]):
    """Solves a `System` by reducing free parts and weights to (K + shift·I) a = b, which subclasses solve."""

    def _solve(self, problem: System, start: LinearSolution | None = None) -> LinearSolution:
        gram, b, shift, H, weight = problem.operator, problem.b, problem.shift, problem.H, problem.weight
        if isinstance(shift, Real):
            shift = float(shift)  # also a NumPy scalar, whose type would decide that of the result
        else:
            weight, shift = 1.0 / shift, 1.0
        found = _in_units(b, lambda b: self._reduced(gram, b, shift, H, weight))
        if not bool(namespace(b).all(namespace(b).isfinite(found.coefficients))):
            raise ValueError(
                f"alpha = {shift:g} is so small relative to the kernel matrix, or the matrix relative to the targets, "
                "that the coefficients overflow; raise alpha, or scale the kernel or the targets."
            )
        lost = shift > 0 and found.converged and not found.residual <= MOVED
        return replace(found, status=Status.PRECISION) if lost else found

    def _reduced(self, gram: Operator, b: Array, shift: float, H: Array, weight: Array) -> LinearSolution:
        """The solution, by way of a plain system."""
        xp = namespace(b)
        if H is None and weight is None:
            return self._checked(gram, b, shift)
        scale = None if weight is None else xp.sqrt(weight)
        if H is None:
            operator = Conditioned(gram, scale)
            inner = self._checked(operator, operator.scaled(b), shift)
            return replace(inner, coefficients=operator.scaled(inner.coefficients))
        Q, R = free_factor(H if scale is None else H * scale[:, None])
        operator = Conditioned(gram, scale, Q, 0.0 if shift > 0 else typical(gram))
        inner = self._checked(operator, operator.project(operator.scaled(b)), shift)
        unscaled = operator.project(inner.coefficients)
        a = operator.scaled(unscaled)
        rest = operator.scaled(b - gram @ a) - shift * unscaled
        c = like(np.linalg.solve(host(R), host(xp.matrix_transpose(Q) @ rest)), H)
        residual = _ratio(operator.project(rest), operator.scaled(b))
        return replace(inner, coefficients=a, free=c, residual=residual)

    def _checked(self, gram: Operator, b: Array, shift: float) -> LinearSolution:
        limit = namespace(b).finfo(b.dtype)
        if shift and not float(limit.smallest_normal) <= shift <= float(limit.max) / gram.n:
            raise ValueError(f"alpha = {shift:g} or a multiple of it is out of range for {b.dtype}; use another value.")
        with np.errstate(over="ignore", invalid="ignore"):  # overflow shows in the coefficients
            return _in_units(b, lambda b: self._plain(gram, b, shift))  # weights may have changed the size of b

    def _plain(self, gram: Operator, b: Array, shift: float) -> LinearSolution:
        """a of (K + shift·I) a = b."""
        raise unwritten(self, "_plain")


class Conditioned(Wrapped):
    """PDKDP + τQQᵀ for D = diag(scale) and P = I − QQᵀ, with the structure of the wrapped Operator."""

    def __init__(self, base: Operator, scale: Any = None, Q: Array = None, fill: float = 0.0):
        self.base, self.scale, self.Q, self.fill = base, scale, Q, fill
        self.provides = base.provides if fill == 0 else base.provides - {"factor"}
        if Q is not None:
            MQ = self.scaled(base @ self.scaled(Q))
            xp = namespace(Q)
            core = xp.matrix_transpose(Q) @ MQ
            # PMP + τQQᵀ = M − (MQ)Qᵀ − Q(MQ)ᵀ + Q(QᵀMQ + τI)Qᵀ = M − LQᵀ − QLᵀ
            half = (core + fill * eye(Q.shape[1], Q)) / 2
            self.L = MQ - Q @ half

    def scaled(self, V: Array) -> Any:
        """D V."""
        if self.scale is None:
            return V
        return V * (self.scale if V.ndim == 1 else self.scale[:, None])

    def project(self, V: Array) -> Any:
        """P V."""
        return V if self.Q is None else V - self.Q @ (namespace(V).matrix_transpose(self.Q) @ V)

    def __matmul__(self, V: Array) -> Any:
        out = self.scaled(self.base @ self.scaled(V))
        if self.Q is None:
            return out
        xp = namespace(V)
        return out - self.L @ (xp.matrix_transpose(self.Q) @ V) - self.Q @ (xp.matrix_transpose(self.L) @ V)

    def diagonal(self) -> Any:
        d = self.scaled(self.scaled(self.base.diagonal()))
        return d if self.Q is None else d - 2 * namespace(d).sum(self.L * self.Q, axis=1)

    def block(self, rows: Index, columns: Index) -> Any:
        B = self.base.block(rows, columns)
        xp = namespace(B)
        if self.scale is not None:
            B = B * take(self.scale, rows)[:, None] * take(self.scale, columns)[None, :]
        if self.Q is None:
            return B
        Lr, Lc, Qr, Qc = (take(M, i) for M in (self.L, self.Q) for i in (rows, columns))
        return B - Lr @ xp.matrix_transpose(Qc) - Qr @ xp.matrix_transpose(Lc)

    def factor(self) -> Any:
        return self.project(self.scaled(self.base.factor()))

    def sketch(self, rank: int) -> Any:
        Z = self.base.sketch(rank)
        return None if Z is None else self.project(self.scaled(Z))


def units(b: Array) -> Any:
    """Powers of two, one per right-hand side, to scale those whose squares would overflow; None if not needed.

    Solutions are linear in b, so they can be computed in these units without loss of accuracy.
    """
    sizes = [power_of_two(b)] if b.ndim == 1 else [power_of_two(b[:, j]) for j in range(int(b.shape[1]))]
    sizes = [size if abs(log2(size)) > squarable(b) else 1.0 for size in sizes]
    if all(size == 1.0 for size in sizes):
        return None
    return sizes[0] if b.ndim == 1 else like(np.array(sizes), b)


def _in_units(b: Array, solve: Callable[[Any], LinearSolution]) -> LinearSolution:
    """The solution for b, computed in the units of b."""
    unit = units(b)
    if unit is None:
        return solve(b)
    found = solve(b / unit)
    free = None if found.free is None else found.free * unit
    return replace(found, coefficients=found.coefficients * unit, free=free)


def typical(gram: Operator) -> float:
    """The typical size of kernel values, also for a kernel with zero diagonal, such as minus the distance."""
    xp = namespace(gram.like)
    largest = float(xp.max(xp.abs(gram.block(slice(0, 1), slice(None)))))
    return float(xp.mean(xp.abs(gram.diagonal()))) or largest or 1.0


def free_factor(H: Array) -> tuple[Any, Any]:
    """Q and R with H = QR; raise if the free functions are linearly dependent on the samples."""
    Q, R = namespace(H).linalg.qr(H)
    parts = np.abs(host(R))
    parts = parts / np.where(parts.any(axis=0), parts.max(axis=0), 1.0)  # scaled to safe squares
    left = np.diagonal(parts)  # the part of each column not explained by earlier ones
    if H.shape[0] < H.shape[1] or np.any(left <= 1e3 * eps(H) * np.linalg.norm(parts, axis=0)):
        raise ValueError(
            f"free: its {H.shape[1]} functions are linearly dependent on these {H.shape[0]} samples; "
            "remove some, or add samples."
        )
    return Q, R


def relative_residual(gram: Operator, a: Array, b: Array, shift: float) -> float:
    """‖(K + shift)a − b‖ / ‖b‖, the maximum over the right-hand sides."""
    return _ratio(gram @ a + shift * a - b, b)


def _ratio(r: Array, b: Array) -> float:
    """max_j ‖r_j‖ / ‖b_j‖ over the columns, with ‖r_j‖ itself if b_j = 0."""
    xp = namespace(b)
    top, bottom = xp.sum(r * r, axis=0), xp.sum(b * b, axis=0)
    return float(xp.max(xp.sqrt(top / xp.where(bottom > 0, bottom, xp.ones_like(bottom)))))
