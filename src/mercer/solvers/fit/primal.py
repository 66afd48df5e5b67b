"""Linear machines in the primal, on X itself: Newton's method for piecewise quadratic objectives.

    minimise P = ½‖w‖² + (τ/2)b² + Σᵢ max over β in Bᵢ of { ⟨β, pᵢ − fᵢ⟩ − ε|β| − (γᵢ/2)β² },     f = Xw + b.

The squared losses have γ = 1/2c: P is piecewise quadratic with a continuous gradient, so that Newton's method with an
exact search along each step ends after finitely many (Mangasarian, *A finite Newton method for classification*, 2002;
Chapelle, *Training a support vector machine in the primal*, 2007, section 4). Where the Hessian is too large to form,
products with it are enough (Lin, Weng, Keerthi, *Trust region Newton method for logistic regression*, 2008, section 2).

The losses with a kink have γ = 0. The method of multipliers adds (h/2cᵢ)(β − β₀)², which makes the problem one of the
first kind, and moves β₀ to the β found (Rockafellar, *Augmented Lagrangians and applications of the proximal point
algorithm*, 1976, section 4). Unlike a smoothed loss this leaves no error, and for a quadratic program it ends after
finitely many rounds, whatever h. It also leads the squared losses through hard cases in fewer steps.

With β attaining the maxima at any f, and G = (w − Xᵀβ, τb − Σβ), the duality gap is

    P − D = Σᵢ { what βᵢ leaves of its maximum at fᵢ } + ½‖w − Xᵀβ‖² + (τb − Σβ)²/2τ,

a sum of non-negative terms, which no cancellation blurs. It bounds P − P* and ½‖w − w*‖².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ...context import Status, current
from ...types import Array
from ..solution import Certificate, Solution
from ._coordinates import descend

__all__ = ["Box", "Design", "PrimalSolution", "Simplices", "minimise"]

DIRECT, DIRECT_SPARSE = 3000, 1000  # unknowns, at most, for which the Hessian is formed
CHUNK = 1 << 21  # numbers in a block of rows while the Hessian is summed
WIDTH = 10.0  # the first h, in units of the targets; larger costs a round or two, smaller many steps in hard cases
NARROWING = 0.4  # of h, from round to round
INNER = 0.01  # of the gap: how far a round is solved
ROUND = 200  # steps in a round, at most
PATIENCE = 25  # rounds without halving the gap
FLOOR = 1e-13  # of the objective: no smaller gap is aimed at
ROUNDING = 1e-6  # of the objective: a gap that is good enough where rounding allows no better
NOTHING = 1e-15  # of the objective: a decrease that is none
BIG = 1e300  # no bound; compiled code knows no infinity
PASSES = 300  # of coordinate descent before Newton's method takes over


@dataclass(frozen=True)
class PrimalSolution(Solution):
    """A linear machine, its dual β, and how good they are.

    `gap` is the duality gap: the objective exceeds its minimum by no more. Where the intercept is not penalised, what
    rounding leaves of Σβ counts for intercepts that exceed the one found by at most the mean absolute target.
    """

    weights: np.ndarray  # w, or a column for each class
    intercept: Any
    dual: np.ndarray
    objective: float
    gap: float

    @property
    def certificate(self) -> Certificate:
        return Certificate("duality gap", self.gap)


class Design:
    """f = Xw + b with penalty ½‖w‖² + (τ/2)b², X dense or CSR. The unknowns V are (w, b), or w without an intercept."""

    def __init__(self, X: Any, intercept: bool, tau: float):
        self.X, self.intercept = X, intercept
        self.n, self.d = X.shape
        self.penalty = np.append(np.ones(self.d), [tau] * intercept)

    def penalised(self, V: np.ndarray) -> np.ndarray:
        """The gradient of the penalty."""
        return (self.penalty * V.T).T

    def values(self, V: np.ndarray) -> np.ndarray:
        """f at the samples."""
        return self.X @ V[: self.d] + V[self.d] if self.intercept else self.X @ V

    def moment(self, beta: np.ndarray) -> np.ndarray:
        """(Xᵀβ, Σβ)."""
        M = self.X.T @ beta
        return np.concatenate([M, beta.sum(axis=0)[None]]) if self.intercept else M

    def remainder(self, G: np.ndarray, V: np.ndarray, scale: float) -> float:
        """What the gradient G adds to the gap."""
        if self.intercept and self.penalty[-1] == 0:
            reach = 2 * np.abs(V[-1]) + scale  # from b to the far end of [−|b| − scale, |b| + scale]
            return 0.5 * float(np.sum(G[:-1] ** 2)) + float(np.sum(np.abs(G[-1]) * reach))
        return 0.5 * float(np.sum((G**2).T / self.penalty))


class Box:
    """One β in [lower, upper] ∋ 0 for each sample: the hinge, the ε-insensitive loss, and their squares.

    Parameters
    ----------
    target, cost : arrays of shape (n,)
        p and c > 0.
    lower, upper : bool or arrays of bool
        Whether β may be negative, positive.
    epsilon : float >= 0
    squared : bool
        Whether the loss is c·(·)² and β unbounded, instead of c·(·) and |β| ≤ c.
    """

    def __init__(self, target: np.ndarray, cost: np.ndarray, lower: Array, upper: Array, epsilon: float, squared: bool):
        self.target, self.cost, self.epsilon = target, cost, epsilon
        self.own = 0.5 if squared else 0.0  # γ = own/c
        bound = np.full_like(cost, BIG) if squared else cost
        self.lower, self.upper = np.where(lower, -bound, 0.0), np.where(upper, bound, 0.0)
        self.shape = target.shape
        self.scale = float(np.mean(np.abs(target))) or 1.0

    @classmethod
    def classification(cls, sign: np.ndarray, cost: np.ndarray, squared: bool) -> Box:
        """c·max(0, 1 − yf), or c·max(0, 1 − yf)²."""
        return cls(sign, cost, sign < 0, sign > 0, 0.0, squared)

    @classmethod
    def regression(cls, y: np.ndarray, cost: np.ndarray, epsilon: float, squared: bool) -> Box:
        """c·max(0, |y − f| − ε), or c·max(0, |y − f| − ε)²."""
        return cls(y, cost, True, True, epsilon, squared)

    def value(self, beta: np.ndarray, F: np.ndarray) -> np.ndarray:
        """What each sample's β makes of its maximum, which is the loss."""
        quadratic = self.own / (2 * self.cost) * beta * beta if self.own else 0.0
        return beta * (self.target - F) - self.epsilon * np.abs(beta) - quadratic

    def attain(self, F: np.ndarray) -> np.ndarray:
        """The β of the maxima."""
        if self.own:
            return self.respond(F, 0.0, np.zeros(1))[0]
        r = self.target - F
        return np.where(r > self.epsilon, self.upper, np.where(r < -self.epsilon, self.lower, 0.0))

    def respond(self, F: np.ndarray, h: float, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The β of the maxima with (h/2c)(β − centre)² subtracted, and where it varies with f."""
        a = centre * (h / self.cost) + (self.target - F)
        inside = a - np.clip(a, -self.epsilon, self.epsilon) if self.epsilon else a
        beta = np.clip(inside * (self.cost / (h + self.own)), self.lower, self.upper)
        return beta, (beta > self.lower) & (beta < self.upper) & (inside != 0)

    def vary(self, active: np.ndarray, D: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        """How β falls as f moves along D."""
        return np.where(active, stiffness * D, 0.0)

    def moving(self, active: np.ndarray) -> np.ndarray:
        """The samples that vary."""
        return active

    def balance(self, beta: np.ndarray) -> np.ndarray:
        """β with sum 0, by less of the sign that has more."""
        plus, minus = float(beta[beta > 0].sum()), -float(beta[beta < 0].sum())
        least = min(plus, minus)
        return beta * np.where(beta > 0, least / (plus or 1.0), least / (minus or 1.0))


class Simplices:
    """A row of β for each sample, with sum 0, β ≤ c in its own class and ≤ 0 in the others.

    The loss of Crammer and Singer, *On the algorithmic implementation of multiclass kernel-based vector machines*
    (2001), equation 5: c·max over m of (1 − δ_{my} + f_m − f_y) is the maximum of Σ β_m(δ_{my} − f_m) over such rows.
    """

    own = 0.0
    scale = 1.0

    def __init__(self, label: np.ndarray, classes: int, cost: np.ndarray):
        self.target = (label[:, None] == np.arange(classes)).astype(np.float64)
        self.cost = cost[:, None]
        self.shape = self.target.shape

    def value(self, beta: np.ndarray, F: np.ndarray) -> np.ndarray:
        """What each sample's β makes of its maximum, which is the loss."""
        return np.sum(beta * (self.target - F), axis=1)

    def attain(self, F: np.ndarray) -> np.ndarray:
        """The β of the maxima."""
        rival = (self.target - F).argmin(axis=1)
        return self.cost * (self.target - (rival[:, None] == np.arange(self.shape[1])))

    def respond(self, F: np.ndarray, h: float, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The β of the maxima with (h/2c)‖β − centre‖² subtracted, and which entries vary with f.

        β = c(target − s) with s the nearest point of the simplex: Held, Wolfe, Crowder, *Validation of subgradient
        optimization* (1974), section 3.
        """
        z = self.target - centre / self.cost - (self.target - F) / h
        ordered = -np.sort(-z, axis=1)
        level = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, z.shape[1] + 1)
        last = np.count_nonzero(ordered > level, axis=1) - 1
        s = np.maximum(z - np.take_along_axis(level, last[:, None], axis=1), 0.0)
        return self.cost * (self.target - s), s > 0

    def vary(self, active: np.ndarray, D: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        """How β falls as f moves along D: each row's mean over its active entries does not count."""
        mean = np.sum(active * D, axis=1, keepdims=True) / np.sum(active, axis=1, keepdims=True)
        return np.where(active, stiffness * (D - mean), 0.0)

    def moving(self, active: np.ndarray) -> np.ndarray:
        """The samples that vary."""
        return np.count_nonzero(active, axis=1) > 1

    def balance(self, beta: np.ndarray) -> np.ndarray:
        """β as it is: its columns have sum 0 but for rounding, and there is no simple way to mend that."""
        return beta


def minimise(
    design: Design,
    pieces: Box | Simplices,
    tol: float,
    max_iter: int,
    *,
    seed: int = 0,
    report: Callable[[str], None] | None = None,
) -> PrimalSolution:
    """Minimise until the duality gap is at most tol²·P, so that ‖w − w*‖ ≤ tol·√(2P).

    Parameters
    ----------
    design : Design
    pieces : Box or Simplices
        The loss.
    tol : float > 0
    max_iter : int
        Steps of Newton's method, and passes of coordinate descent, at most.
    seed : int
        Of the order of coordinate descent; the minimiser is the same for all.
    report : callable, optional
        Takes a line of text after each round.
    """
    if not sparse.issparse(design.X) and design.d > design.n:
        # w lies in the span of the samples: with Xᵀ = QR, w = Qv and X w = Rᵀv
        Q, R = linalg.qr(design.X.T, mode="economic", check_finite=False)
        tau = float(design.penalty[-1]) if design.intercept else 0.0
        inner = minimise(Design(R.T, design.intercept, tau), pieces, tol, max_iter, seed=seed, report=report)
        return replace(inner, weights=Q @ inner.weights)
    return _Newton(design, pieces, max(tol * tol, FLOOR), max_iter, report).run(seed)


class _Newton:
    """The state of one minimisation: V, f, β and the gradient G, kept together by `refresh`."""

    def __init__(self, design: Design, pieces: Any, aim: float, most: int, report: Any):
        self.design, self.pieces, self.aim, self.most, self.report = design, pieces, aim, most, report
        outputs = pieces.shape[1:]
        size = len(design.penalty) * int(np.prod(outputs))
        direct = size <= (DIRECT_SPARSE if sparse.issparse(design.X) else DIRECT)
        self.equations: Any = (_Factored if direct else _Iterated)(design, pieces)
        self.V = np.zeros((len(design.penalty), *outputs))
        self.centre = np.zeros(pieces.shape)
        easy = pieces.own and design.n > 4 * design.d
        self.h = 0.0 if easy else WIDTH * (1.0 if pieces.own else pieces.scale)
        self.steps = 0
        self.F, self.G = self.centre, np.zeros_like(self.V)
        self.certify(self.centre)

    def run(self, seed: int) -> PrimalSolution:
        if self.equations.iterated and _has_rows(self.design, self.pieces):
            self.descend(seed)
        best, waited = (self.V, self.beta, self.objective, self.gap), 0
        status, context = Status.PRECISION, current()
        while not self.done() and waited < PATIENCE:
            early = Status.MAX_ITER if self.steps >= self.most else context({"gap": self.gap, "round": self.steps})
            if early:
                status = early
                break
            solved = self.solve_round()
            waited = waited + 1 if self.gap > 0.5 * best[-1] else 0
            if self.gap < best[-1]:
                best = (self.V, self.beta, self.objective, self.gap)
            # rounding hurts most where h is small, and the rounds end for any h
            self.h *= NARROWING if solved else 1 / NARROWING
            self.V, self.centre = (self.V, self.beta) if solved else best[:2]
        V, beta, objective, gap = best
        b = V[-1] if self.design.intercept else np.zeros(V.shape[1:])
        if gap <= (ROUNDING if status is Status.PRECISION else self.aim) * objective:
            status = Status.CONVERGED
        parts = V[: self.design.d], b, beta, objective, gap
        return PrimalSolution(*parts, status=status, n_iter=self.steps, method="newton")

    def done(self) -> bool:
        return self.gap <= self.aim * self.objective

    def refresh(self) -> None:
        """f, β and G at V."""
        self.F = self.design.values(self.V)
        self.beta, self.active = self.pieces.respond(self.F, self.h, self.centre)
        self.G = self.design.penalised(self.V) - self.design.moment(self.beta)

    def certify(self, beta: np.ndarray) -> None:
        """Objective and gap at V and β."""
        if self.design.intercept and self.design.penalty[-1] == 0:
            beta = self.pieces.balance(beta)
            self.G = self.design.penalised(self.V) - self.design.moment(beta)
        self.beta = beta
        losses = self.pieces.value(self.pieces.attain(self.F), self.F)
        self.objective = 0.5 * float(np.vdot(self.V, self.design.penalised(self.V))) + float(losses.sum())
        left = float(np.sum(losses - self.pieces.value(beta, self.F)))
        self.gap = max(left, 0.0) + self.design.remainder(self.G, self.V, self.pieces.scale)
        if self.report:
            self.report(f"step {self.steps}: objective {self.objective:.10g}, gap {self.gap:.2e}")

    def descend(self, seed: int) -> None:
        """Coordinate descent in the dual, as far as it is quick."""
        design, pieces = self.design, self.pieces
        X = design.X
        inverse = 1 / design.penalty[-1] if design.intercept else 0.0
        own = pieces.own / pieces.cost
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        diagonal = np.maximum(squares + inverse + own, 1e-12)  # the β of an empty sample goes to an end at once
        w = np.zeros(design.d + 1)
        beta, tol = np.zeros(design.n), 0.1 * pieces.scale
        limit = min(PASSES, self.most)
        while self.steps < limit and not self.done() and not current()():
            self.steps += descend(
                X.indptr, X.indices, X.data, pieces.target, pieces.epsilon, pieces.lower, pieces.upper, own, inverse,
                diagonal, beta, w, seed, tol, limit - self.steps,
            )  # fmt: skip
            self.V = np.append(w[:-1], inverse * w[-1:]) if design.intercept else w[:-1].copy()
            self.F = design.values(self.V)
            self.G = design.penalised(self.V) - design.moment(beta)
            self.certify(beta)
            tol *= 0.1
        self.centre = beta
        self.h *= float(np.clip(np.sqrt(self.gap / max(self.objective, 1e-300)), 1e-3, 1.0))

    def solve_round(self) -> bool:
        """Newton's method with the present centre, until G adds little to the gap; whether it came so far."""
        self.refresh()
        goal = INNER * (self.gap if self.h else self.aim * self.objective)
        left, idle = self.design.remainder(self.G, self.V, self.pieces.scale), 0
        for _ in range(min(ROUND, self.most - self.steps)):
            decrease = self.step(float(np.clip(0.3 * np.sqrt(goal / max(left, goal)), 1e-4, 0.1)))
            before, left = left, self.design.remainder(self.G, self.V, self.pieces.scale)
            idle = 0 if left < 0.5 * before else idle + 1
            if left <= goal or decrease <= 0 or (idle > 3 and decrease < NOTHING * self.objective):
                break
        self.certify(self.beta)
        return left <= goal

    def step(self, accuracy: float) -> float:
        """One step. Returns the decrease that it promised, 0 where rounding leaves none."""
        design, pieces, h = self.design, self.pieces, self.h + self.pieces.own
        try:
            S = self.equations(self.G, self.active, h, accuracy)
        except linalg.LinAlgError:
            return 0.0
        start = float(np.vdot(self.G, S))
        if not start < 0:
            return 0.0
        D = design.values(S)
        PS = design.penalised(S)
        linear, square = float(np.vdot(self.V, PS)), float(np.vdot(S, PS))

        def slope(t: float) -> tuple[float, float]:
            beta, active = pieces.respond(self.F + t * D, self.h, self.centre)
            curvature = float(np.vdot(D, pieces.vary(active, D, pieces.cost / h)))
            return linear + t * square - float(np.vdot(beta, D)), square + curvature

        self.V = self.V + search(slope, start) * S
        self.steps += 1
        self.refresh()
        return -start


def search(slope: Callable[[float], tuple[float, float]], start: float) -> float:
    """The t > 0 where a convex function's slope vanishes (to 1 % of its value at 0): Newton's method in a bracket."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(50):
        value, curvature = slope(t)
        if abs(value) <= 0.01 * abs(start):
            break
        low, high = (t, high) if value < 0 else (low, t)
        guess = t - value / curvature if curvature > 0 else low
        t = guess if low < guess < high else 2 * t if np.isinf(high) else 0.5 * (low + high)
    return t


def _has_rows(design: Design, pieces: Any) -> bool:
    """Whether coordinate descent applies: sparse samples, one β each, and no equality from a free intercept."""
    return sparse.issparse(design.X) and len(pieces.shape) == 1 and not (design.intercept and design.penalty[-1] == 0)


def _curvature(design: Design, pieces: Any, moving: np.ndarray, h: float) -> np.ndarray:
    """The penalties, and curvature lent to a free intercept, which has none of its own where no sample moves."""
    penalty = design.penalty.copy()
    if design.intercept and penalty[-1] == 0:
        penalty[-1] = float(pieces.cost.sum()) / h * (1e-12 if moving.any() else 1.0)
    return penalty


class _Factored:
    """Newton's equations by Cholesky's factorisation; the sum over active samples follows their changes."""

    iterated = False

    def __init__(self, design: Design, pieces: Any):
        self.design, self.pieces = design, pieces
        self.size = len(design.penalty)
        self.sum = np.zeros((self.size, self.size))
        self.active = np.zeros(design.n, dtype=bool)

    def __call__(self, G: np.ndarray, active: np.ndarray, h: float, accuracy: float) -> np.ndarray:
        """−H⁻¹G."""
        penalty = _curvature(self.design, self.pieces, self.pieces.moving(active), h)
        H = (self.follow(active) if G.ndim == 1 else self.blocks(active)) / h
        H[np.diag_indices_from(H)] += np.tile(penalty, G[0].size)
        factor = linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        return -linalg.cho_solve(factor, G.T.ravel(), check_finite=False).reshape(G.T.shape).T

    def follow(self, active: np.ndarray) -> np.ndarray:
        """Σ c x xᵀ over the active samples."""
        if np.count_nonzero(active != self.active) > np.count_nonzero(active):
            self.sum[:] = 0
            self.active = np.zeros_like(active)
        self.add(active & ~self.active, 1.0)
        self.add(self.active & ~active, -1.0)
        self.active = active
        return self.sum

    def add(self, chosen: np.ndarray, sign: float) -> None:
        rows = np.flatnonzero(chosen)
        step = max(1, CHUNK // self.size)
        for start in range(0, len(rows), step):
            Y = self.scaled(rows[start : start + step])
            self.sum += sign * _dense(Y.T @ Y)

    def scaled(self, rows: np.ndarray) -> Any:
        """Rows of (X, 1) times √c."""
        X, root = self.design.X[rows], np.sqrt(self.pieces.cost[rows]).reshape(-1, 1)
        ones = [root] * self.design.intercept
        if sparse.issparse(X):
            return sparse.hstack([X.multiply(root), *ones], format="csr")
        return np.concatenate([X * root, *ones], axis=1)

    def blocks(self, active: np.ndarray) -> np.ndarray:
        """Σ c (diag(a) − aaᵀ/|a|) ⊗ x xᵀ over the samples, with a their active classes."""
        rows = np.flatnonzero(self.pieces.moving(active))
        a = active[rows].astype(np.float64)
        share = a / np.sqrt(a.sum(axis=1, keepdims=True))
        Y, (k, classes) = self.scaled(rows), (self.size, a.shape[1])
        H = np.zeros((classes, k, classes, k))
        for m in range(classes):
            for other in range(m, classes):
                weight = (m == other) * a[:, m] - share[:, m] * share[:, other]
                H[m, :, other] = H[other, :, m] = _dense(Y.T @ (sparse.diags_array(weight) @ Y))
        return H.reshape(classes * k, classes * k)


class _Iterated:
    """Newton's equations by conjugate gradients, preconditioned with the Hessian's diagonal."""

    iterated = True

    def __init__(self, design: Design, pieces: Any):
        self.design, self.pieces = design, pieces

    def __call__(self, G: np.ndarray, active: np.ndarray, h: float, accuracy: float) -> np.ndarray:
        """−H⁻¹G, to an accuracy relative to ‖G‖."""
        moving = self.pieces.moving(active)
        rows = np.flatnonzero(moving)
        part = Design(self.design.X[rows], self.design.intercept, 0.0)
        part.penalty = _curvature(self.design, self.pieces, moving, h)
        stiffness, active = self.pieces.cost[rows] / h, active[rows]

        def hessian(V: np.ndarray) -> np.ndarray:
            return part.penalised(V) + part.moment(self.pieces.vary(active, part.values(V), stiffness))

        squares = part.X.multiply(part.X) if sparse.issparse(part.X) else part.X**2
        diagonal = part.penalty + Design(squares, part.intercept, 0.0).moment(stiffness.reshape(-1))
        return conjugate_gradients(hessian, -G, diagonal.reshape(-1, *[1] * (G.ndim - 1)), accuracy)


def conjugate_gradients(apply: Callable[[Any], Any], b: Array, diagonal: Array, accuracy: float) -> Any:
    """x with ‖Hx − b‖ ≤ accuracy·‖b‖, in the norm of the inverse diagonal."""
    x, r = np.zeros_like(b), b
    z = r / diagonal
    p, rho = z, float(np.vdot(r, z))
    end = accuracy**2 * rho
    for _ in range(2 * b.size):
        if rho <= end:
            break
        q = apply(p)
        step = rho / float(np.vdot(p, q))
        x, r = x + step * p, r - step * q
        z = r / diagonal
        before, rho = rho, float(np.vdot(r, z))
        p = z + (rho / before) * p
    return x


def _dense(A: Any) -> np.ndarray:
    return A.toarray() if sparse.issparse(A) else A
