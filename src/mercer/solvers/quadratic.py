r"""Convex quadratic programs by a primal-dual interior-point method.

.. math:: \min_x\; c^\top x + \tfrac12 x^\top H x \qquad\text{with}\quad l \le x \le u, \quad b \le Ax \le b + r

Rows of A with r > 0 get an extra variable s = Ax, so that only bounds and equalities remain. Each step solves the
Newton equations of the optimality conditions twice with one factorisation: a predictor, which determines the centring,
and the centred corrector.

Mehrotra, *On the implementation of a primal-dual interior point method* (1992). Vanderbei, *LOQO: an interior point
code for quadratic programming* (1999), whose problem form is also that of kernlab's ``ipop``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from .._errors import check_number
from ..context import Status, current
from ..types import Array
from .solution import Solution

__all__ = ["QuadraticSolution", "quadratic_program"]

WHO = "quadratic_program"
DIMENSIONS = {1: "one dimension", 2: "two dimensions, rows and columns"}
SHORT = 0.995  # fraction of the way to the nearest bound
TINY = float(np.finfo(np.float64).smallest_normal)


@dataclass(frozen=True)
class QuadraticSolution(Solution):
    """The solution of a quadratic program.

    Attributes
    ----------
    x : array of shape (n,)
    multipliers : array of shape (m,)
        Multipliers y of the rows of A: Hx + c + Aᵀy is nonzero only where x is at a bound.
    objective : float
    gap : float
        The duality gap, which bounds the excess of the objective, up to `infeasibility`.
    infeasibility : float
        The largest violation of a constraint, in units of the data.
    """

    measure = ("duality gap", "gap")
    x: np.ndarray
    multipliers: np.ndarray
    objective: float
    gap: float
    infeasibility: float


def quadratic_program(
    c: Array,
    H: Array,
    A: Array = None,
    b: Array = None,
    lower: Array = -np.inf,
    upper: Array = np.inf,
    r: Array = 0.0,
    *,
    tol: float = 1e-8,
    max_iter: int | None = None,
) -> QuadraticSolution:
    """Minimise cᵀx + ½xᵀHx with lower ≤ x ≤ upper and b ≤ Ax ≤ b + r.

    Parameters
    ----------
    c : array of shape (n,)
    H : array of shape (n, n)
        Symmetric, positive semidefinite.
    A : array of shape (m, n), optional
    b : array of shape (m,) or float
        Required with A.
    lower, upper : arrays of shape (n,) or floats
        Infinite for no bound.
    r : array of shape (m,) or float, >= 0
        0 makes the rows equalities; infinity leaves Ax without an upper bound.
    tol : float > 0
        For the gap, relative to the objective and its terms, and for the constraints, relative to the data.
    max_iter : int, optional
        Maximum number of steps; None means 100.

    Notes
    -----
    O((n + m)³) per step, and some twenty steps. A program without a feasible point or without a minimum does not
    converge: `status` reports this, and `infeasibility` shows which of the two it is.

    Examples
    --------
    The point of the simplex nearest to (1, ½, −1), which is (¾, ¼, 0):

    >>> found = quadratic_program([-1.0, -0.5, 1.0], np.eye(3), np.ones((1, 3)), 1.0, lower=0.0)
    >>> (found.x.round(4) + 0.0).tolist(), found.converged
    ([0.75, 0.25, 0.0], True)
    """
    check_number(WHO, "tol", tol, above=0)
    check_number(WHO, "max_iter", max_iter, at_least=1, integer=True, besides=(None,))
    c, H = _array("c", c, 1), _array("H", H, 2)
    n = len(c)
    if H.shape != (n, n):
        raise ValueError(f"{WHO}: H has shape {H.shape}, but c has {n} entries; H must have shape ({n}, {n}).")
    if not np.allclose(H, H.T, rtol=1e-8, atol=1e-12 * float(np.abs(H).max(initial=0.0))):
        raise ValueError(f"{WHO}: H is not symmetric; use (H + H.T) / 2, which has the same xᵀHx.")
    if (A is None) != (b is None) or (A is None and np.any(r)):
        raise ValueError(f"{WHO}: A, b and r belong together; pass A and b, or none of the three.")
    A = np.zeros((0, n)) if A is None else _array("A", A, 2)
    if A.shape[1] != n:
        raise ValueError(f"{WHO}: A has shape {A.shape}; it needs a column for each of the {n} variables.")
    low, high = _filled("lower", lower, n), _filled("upper", upper, n)
    b, r = _filled("b", 0.0 if b is None else b, len(A)), _filled("r", r, len(A))
    if np.any(empty := (low > high) | (low == np.inf) | (high == -np.inf)):
        i = int(np.flatnonzero(empty)[0])
        raise ValueError(
            f"{WHO}: no number lies between lower[{i}] = {low[i]:g} and upper[{i}] = {high[i]:g}; use lower <= upper."
        )
    if np.any(r < 0):
        raise ValueError(f"{WHO}: r = {r.min():g} must be >= 0.")
    if not np.all(np.isfinite(b)):
        raise ValueError(f"{WHO}: b must be finite; omit rows without a bound.")
    least, size = (float(np.linalg.eigvalsh(H)[0]) if n else 0.0), float(np.abs(H).max(initial=0.0))
    if least < -1e-10 * n * size:
        raise ValueError(f"{WHO}: H has the eigenvalue {least:.2g}; it must be positive semidefinite.")
    # tol is relative to the units, or to larger numbers: the unit t of x is the smallest scale in the data, so that a
    # distant bound does not loosen tol, and the unit of the objective makes its numbers about 1
    unit = np.abs(A).max(axis=1, initial=0.0)
    unit[unit == 0] = 1.0
    slope, curvature = float(np.abs(c).max(initial=0.0)), size
    boxes, ends = np.maximum(np.abs(low), np.abs(high)), np.minimum(np.abs(low), np.abs(high))
    newton = [slope / curvature] if curvature else []
    t = _least(np.concatenate([boxes, np.abs(b) / unit, newton])) or _least(ends) or 1.0
    bend = t * curvature / slope if slope else 1.0
    with np.errstate(over="ignore", under="ignore"):
        scaled = A / unit[:, None], b / unit / t, low / t, high / t, r / unit / t
        found = _solved(
            c / (slope or 1.0), bend * (H / (curvature or 1.0)), *scaled, tol, 100 if max_iter is None else max_iter
        )
        x, s = t * found.x, t * slope if slope else t * (t * curvature or 1.0)
        objective = float(c @ x + 0.5 * x @ H @ x)
        return replace(found, x=x, multipliers=s / t * found.multipliers / unit, objective=objective, gap=s * found.gap)


def _solved(
    c: np.ndarray,
    H: np.ndarray,
    A: np.ndarray,
    b: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    r: np.ndarray,
    tol: float,
    max_iter: int,
) -> QuadraticSolution:
    """The solution of a program scaled to numbers about 1."""
    n = len(c)
    wide = np.flatnonzero(r > 0)
    # x, and a variable s for each inequality row, with Ax − s = 0
    G = np.hstack([A, np.zeros((len(A), len(wide)))])
    G[wide, n + np.arange(len(wide))] = -1.0
    g = np.where(r > 0, 0.0, b)
    Q = linalg.block_diag(H, np.zeros((len(wide), len(wide))))
    p = np.concatenate([c, np.zeros(len(wide))])
    low, high = np.concatenate([low, b[wide]]), np.concatenate([high, (b + r)[wide]])
    fixed = low == high
    if fixed.any():
        held = np.where(fixed, low, 0.0)
        free = ~fixed
        state = _Point(Q[np.ix_(free, free)], (p + Q @ held)[free], G[:, free], g - G @ held, low[free], high[free])
        status, n_iter = state.run(tol, max_iter)
        held[free] = state.x
        x = held[:n]
    else:
        state = _Point(Q, p, G, g, low, high)
        status, n_iter = state.run(tol, max_iter)
        x = state.x[:n]
    objective = float(c @ x + 0.5 * x @ H @ x)
    parts = x, state.y, objective, state.gap(), state.infeasibility()
    return QuadraticSolution(*parts, status=status, n_iter=n_iter, method="interior_point")


def _least(sizes: np.ndarray) -> float:
    """The smallest finite nonzero size; 0 if there is none."""
    left = sizes[np.isfinite(sizes) & (sizes >= TINY)]
    return float(left.min()) if len(left) else 0.0


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{WHO}: {name} must contain real numbers ({error}).") from None


def _array(name: str, values: Any, ndim: int) -> np.ndarray:
    made = _numbers(name, values)
    if made.ndim != ndim or not np.all(np.isfinite(made)):
        raise ValueError(f"{WHO}: {name} has shape {made.shape}, expected finite numbers in {DIMENSIONS[ndim]}.")
    return made


def _filled(name: str, values: Any, n: int) -> np.ndarray:
    made = _numbers(name, values)
    if made.shape not in ((), (n,)) or np.any(np.isnan(made)):
        raise ValueError(f"{WHO}: {name} has shape {made.shape}; pass one number, or {n} numbers.")
    return np.broadcast_to(made, (n,)).copy()


class _Point:
    """x, the multipliers y of Gx = g, and those of the bounds: the conditions are Qx + p + Gᵀy − zl + zh = 0."""

    def __init__(self, Q: np.ndarray, p: np.ndarray, G: np.ndarray, g: np.ndarray, low: np.ndarray, high: np.ndarray):
        self.Q, self.p, self.G, self.g = Q, p, G, g
        self.low, self.high, self.has_low, self.has_high = low, high, np.isfinite(low), np.isfinite(high)
        inside = np.minimum(1.0, 0.5 * (high - low))
        self.x = np.clip(0.0, low + inside, high - inside)
        # distances from the bounds, 1 without a bound; computed from x they would lose accuracy for large bounds
        self.dl, self.dh = np.where(self.has_low, self.x - low, 1.0), np.where(self.has_high, high - self.x, 1.0)
        self.y = np.zeros(len(g))
        slope = max(float(np.abs(part).max(initial=0.0)) for part in (p, Q)) or 1.0
        self.zl = np.where(self.has_low, slope / np.maximum(self.dl, 1.0), 0.0)
        self.zh = np.where(self.has_high, slope / np.maximum(self.dh, 1.0), 0.0)
        self.unit = 1.0 + max(float(np.abs(part).max(initial=0.0)) for part in (p, g))

    def run(self, tol: float, max_iter: int) -> tuple[Status, int]:
        context, best, idle = current(), np.inf, 0
        for k in range(max_iter):
            objective = abs(float(self.p @ self.x + 0.5 * self.x @ self.Q @ self.x))
            gap, slope = self.gap(), float(np.abs(self.slope()).max(initial=0.0))
            error = max(gap / (1.0 + objective), self.infeasibility(), slope / self.unit)
            if error <= tol:
                return Status.CONVERGED, k
            idle = 0 if error < 0.9 * best else idle + 1
            best = min(best, error)
            if status := context({"gap": gap, "round": k}):
                return status, k
            if idle > 15 or not self.step():
                return Status.PRECISION, k
        return Status.MAX_ITER, max_iter

    def gap(self) -> float:
        """The sum of products of multipliers and distances, which is the duality gap of a feasible point."""
        return float(self.zl @ self.dl + self.zh @ self.dh)

    def slope(self) -> np.ndarray:
        return np.asarray(self.Q @ self.x + self.p + self.G.T @ self.y - self.zl + self.zh)

    def infeasibility(self) -> float:
        return float(np.abs(self.G @ self.x - self.g).max(initial=0.0)) / self.unit

    def step(self) -> bool:
        """Predictor, centred corrector, and a move as far as the bounds permit; return whether there was a step."""
        dl, dh = self.dl, self.dh
        theta = self.zl / dl + self.zh / dh
        n, m = len(self.x), len(self.g)
        K = np.zeros((n + m, n + m))
        K[:n, :n] = self.Q + np.diag(theta)
        K[:n, n:], K[n:, :n] = self.G.T, self.G
        # a little regularisation, for a semidefinite Q without bounds and for dependent rows
        K[np.arange(n), np.arange(n)] += 1e-13 * (1.0 + float(np.abs(np.diagonal(self.Q)).max(initial=0.0)))
        K[np.arange(n, n + m), np.arange(n, n + m)] -= 1e-13
        try:
            factor = linalg.lu_factor(K, check_finite=False)
        except (linalg.LinAlgError, ValueError):
            return False
        slope, rest = self.slope(), self.g - self.G @ self.x

        def towards(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, ...]:
            """The step that aims at these products of multipliers and distances."""
            right = np.concatenate([-slope + low / dl - self.zl - high / dh + self.zh, rest])
            d = linalg.lu_solve(factor, right, check_finite=False)
            dx, dy = d[:n], d[n:]
            dzl = np.where(self.has_low, (low - self.zl * dx) / dl - self.zl, 0.0)
            dzh = np.where(self.has_high, (high + self.zh * dx) / dh - self.zh, 0.0)
            return dx, dy, dzl, dzh

        with np.errstate(all="ignore"):
            bounds = max(int(self.has_low.sum() + self.has_high.sum()), 1)
            mu = self.gap() / bounds
            none = np.zeros(n)
            dx, _, dzl, dzh = towards(none, none)
            t = min(self._reach(dx, dl, dh), self._multiplier_reach(dzl, dzh))
            after = (self.zl + t * dzl) @ np.where(self.has_low, dl + t * dx, 0.0)
            after += (self.zh + t * dzh) @ np.where(self.has_high, dh - t * dx, 0.0)
            centre = mu * (float(after) / bounds / mu) ** 3 if mu > 0 else 0.0
            dx, dy, dzl, dzh = towards(
                np.where(self.has_low, centre - dx * dzl, 0.0), np.where(self.has_high, centre + dx * dzh, 0.0)
            )
            # the same length for primal and dual variables, since Q couples them
            t = SHORT * min(self._reach(dx, dl, dh), self._multiplier_reach(dzl, dzh))
        moved = self.x + t * dx, self.y + t * dy, self.zl + t * dzl, self.zh + t * dzh
        if not all(np.all(np.isfinite(part)) for part in moved) or t < 1e-12:
            return False
        self.x, self.y, self.zl, self.zh = moved
        self.dl, self.dh = np.where(self.has_low, dl + t * dx, 1.0), np.where(self.has_high, dh - t * dx, 1.0)
        return True

    def _reach(self, dx: np.ndarray, dl: np.ndarray, dh: np.ndarray) -> float:
        """The largest step, at most about 1, that stays within the bounds."""
        toward_low, toward_high = self.has_low & (dx < 0), self.has_high & (dx > 0)
        reach = [float(np.min(-dl[toward_low] / dx[toward_low], initial=np.inf))]
        reach.append(float(np.min(dh[toward_high] / dx[toward_high], initial=np.inf)))
        return min(1.0 / SHORT, *reach)

    def _multiplier_reach(self, *steps: np.ndarray) -> float:
        pairs = zip((self.zl, self.zh), steps, strict=True)
        return min(1.0 / SHORT, *(float(np.min(-z[d < 0] / d[d < 0], initial=np.inf)) for z, d in pairs))
