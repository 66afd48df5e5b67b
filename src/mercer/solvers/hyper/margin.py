r"""Bounds on the leave-one-out error of support vector machines, with derivatives in the kernel matrix and in C.

*Radius and margin.* A held-out sample is misclassified only if a_p S_p² >= 1 (see below), and S_p is at most the
diameter 2R of the samples. A machine with the squared hinge has a hard margin for K̃ = K + diag(1/2Cw), where the |a_p|
sum to ‖f‖²: it makes at most 4R²‖f‖² errors in n cases, with R the radius of the smallest ball around the samples in
the space of K̃. The criterion omits the factor 4, which does not move the minimum. For the hinge, a sample is
misclassified only if a_p S_p² + ξ_p >= 1, and the sum of these terms is again below four times

.. math:: \Big(R^2 + \frac{1}{C}\Big) \Big(\|f\|^2 + 2C \sum_i w_i \xi_i\Big),

the modified bound of Chung et al., since the |a_p| sum to ‖f‖² + CΣwξ. Both are about 1 per sample if no two samples
are similar, as with a lengthscale of zero.

The second factor is twice the optimum of the machine and the first the optimum for the ball. By the envelope theorem
their derivatives are those of the objectives: −ββᵀ, and diag(γ) − γγᵀ with γ the weights of the ball.

*Span.* Leaving sample p out changes its value from f(x_p) to f(x_p) − a_p S_p² as long as no other sample meets or
leaves its bounds, with S_p the distance of x_p from the span of the others (`mercer.solvers.kinks.span`). The estimate
jumps where one does. To make it continuous, errors are counted by a sigmoid, and the weight λ of a sample i in the span
of another is penalised by η λ²/(αᵢ(1 − αᵢ/Cwᵢ)), so that samples near a bound of α do not contribute. For the squared
hinge, without an upper bound, this is the regularised span of Chapelle et al.

Vapnik, Chapelle, *Bounds on error expectation for support vector machines* (2000); Chapelle, Vapnik, Bousquet,
Mukherjee, *Choosing multiple parameters for support vector machines* (2002); Chung, Kao, Sun, Wang, Lin, *Radius margin
bounds for support vector machines with the RBF kernel* (2003), for the hinge.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit

from ...context import Monitor
from ...gram import Dense
from ...kernels import Kernel
from ...kernels.derivatives import Names, contract
from ...losses import Hinge, SquaredHinge
from ...types import Checked
from ..fit.boxes import Samples, WorkingSet
from ..fit.working_set import BoxProblem
from ..kinks import kink_system
from ..leave_one_out import FormulaError

MARGIN = ("span", "radius_margin")
TOLERANCES = (1e-3, 1e-5, 1e-7)  # of a solver, in units of the margin or k(x, x), tried until the sets are right
EXACT = 1e-9  # tolerance, in the same units, of an optimum found by elimination for given sets
STEEPNESS = 5.0  # of the sigmoid that counts errors
SMOOTHING = 0.1  # η
BOUND = 1e-8  # relative to the largest coefficient or to the bound: a coefficient this near counts as at its bound


@dataclass
class Machine:
    """The samples of two classes, their labels y = ±1 and weights, and the previous solution: β and C, and γ."""

    index: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    last: tuple[np.ndarray, float] | None = field(default=None, repr=False)
    ball: np.ndarray | None = field(default=None, repr=False)


class MarginCriterion:
    """A criterion of support vector machines, as a function of the kernel and C; smaller is better.

    "span" estimates the leave-one-out error (a weighted fraction of the samples), and "radius_margin" is a fourth of a
    bound on it. The criteria of the machines are summed: one machine for two classes, otherwise one for each pair or
    each class. Numerical X must be float64. With `squared` the loss is the squared hinge. The monitor is called in
    every round of a solver and stops it by returning a status other than None.

    Each pair requires one machine, and for "radius_margin" also one ball; "span" adds O(m³) for m coefficients strictly
    between their bounds. Memory is a few (n, n) matrices.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> machine = Machine(np.arange(6), np.array([1.0, 1.0, -1.0, 1.0, -1.0, -1.0]), np.ones(6))
    >>> criterion = MarginCriterion("radius_margin", X, [machine], squared=True)
    >>> value, gradient = criterion(Gaussian(1.0), 1.0)
    >>> near = criterion(Gaussian(1.0 + 1e-5), 1.0)[0]
    >>> bool(np.isclose((near - value) / 1e-5, gradient["lengthscale"], rtol=1e-3)), sorted(gradient)
    (True, ['C', 'lengthscale'])
    """

    strength: ClassVar[str] = "C"
    positive: ClassVar[bool] = True

    def __init__(
        self,
        name: str,
        X: Checked,
        machines: list[Machine],
        squared: bool = False,
        intercept: bool = True,
        monitor: Monitor | None = None,
    ):
        self.name, self.X, self.machines = name, X, machines
        self.loss: Any = SquaredHinge() if squared else Hinge()
        self.squared, self.intercept, self.monitor = squared, intercept, monitor
        weights: dict[int, float] = {}
        for machine in machines:
            weights |= dict(zip(machine.index.tolist(), machine.weight.tolist(), strict=True))
        self.total = sum(weights.values())  # of all samples used

    def __call__(self, kernel: Kernel, C: float, wanted: Names = None) -> tuple[float, dict[str, Any]]:
        """The value, and its derivatives in C and in all or the `wanted` kernel parameters."""
        gram = Dense().build(kernel, self.X)
        K = np.asarray(gram.dense(), dtype=np.float64)
        E, value, slope = np.zeros_like(K), 0.0, 0.0
        judge = self._span if self.name == "span" else self._radius_margin
        for machine in self.machines:
            block = np.ix_(machine.index, machine.index)
            part, of_matrix, of_strength = judge(self._solved(machine, K[block], C))
            E[block] += of_matrix
            value, slope = value + part, slope + of_strength
        gradient: dict[str, Any] = {"C": slope / self.total}
        if wanted is None or wanted:
            gradient |= contract(kernel, gram.X, E / self.total, wanted, K)
        return value / self.total, gradient

    def _solved(self, machine: Machine, K: np.ndarray, C: float) -> _SolvedMachine:
        """The machine on K̃, starting from its previous solution."""
        box = self.loss.box(machine.y, C * machine.weight)[0]
        ridge = np.zeros(len(K)) if box.ridge is None else box.ridge
        K[np.diag_indices_from(K)] += ridge
        group = np.zeros(len(K), dtype=np.int64) if self.intercept else None
        problem = BoxProblem(box.linear, box.lower, box.upper, group)
        guess = None
        if machine.last is not None:
            beta, before = machine.last
            guess = beta if self.squared else beta * (C / before)  # coefficients at bounds stay there
            problem.start = np.clip(_shortened(guess, K, machine.y, self.squared), box.lower, box.upper)
        best = _minimise(K, problem, 1.0, self.monitor, guess)
        machine.last = best.beta, C
        bound = np.full(len(K), np.inf) if self.squared else C * machine.weight
        return _SolvedMachine(machine, K, C, bound, ridge, best, self.intercept)

    # ---- criteria: each returns its value, its derivatives in the matrix, and its derivative in C

    def _radius_margin(self, found: _SolvedMachine) -> tuple[float, np.ndarray, float]:
        K, C, beta = found.K, found.C, found.best.beta
        norm = -2 * found.best.objective
        R2, gamma = radius(K, self.monitor, found.machine.ball)
        found.machine.ball = gamma
        size = R2 if self.squared else R2 + 1 / C
        E = -size * np.outer(beta, beta) + norm * (np.diag(gamma) - np.outer(gamma, gamma))
        if self.squared:
            return size * norm, E, found.through_ridge(E)
        slack = np.maximum(0.0, 1 - found.machine.y * (K @ beta + found.best.offset))
        return size * norm, E, 2 * size * float(found.machine.weight @ slack) - norm / C**2

    def _span(self, found: _SolvedMachine) -> tuple[float, np.ndarray, float]:
        span = Span(found, SMOOTHING)
        y, w = found.machine.y, found.machine.weight
        errors = expit(-STEEPNESS * y * span.left_out)
        E, slope = span.backwards(-STEEPNESS * w * y * errors * (1 - errors))
        return float(w @ errors), E, slope + (found.through_ridge(E) if self.squared else 0.0)


@dataclass
class _SolvedMachine:
    """A machine on its own matrix K̃."""

    machine: Machine
    K: np.ndarray
    C: float
    bound: np.ndarray
    ridge: np.ndarray
    best: _Optimum
    intercept: bool

    def through_ridge(self, E: np.ndarray) -> float:
        """The part of the derivative in C that comes from K̃ = K + diag(1/2Cw)."""
        return -float(np.diagonal(E) @ self.ridge) / self.C


class Span:
    r"""Leave-one-out values estimated by the span, and the chain rule from derivatives in them to K̃ and C.

    .. math:: g_p = f_p - a_p S_p^2, \quad S_p^2 = 1 / (M^{-1})_{pp} - D_p \text{ or } k_{pp} - v_p^\top M^{-1} v_p,
              \quad M = \begin{pmatrix} K_{FF} + D & 1 \\ 1^\top & 0 \end{pmatrix}, \quad
              D_i = \frac{\eta}{\alpha_i (1 - \alpha_i / C w_i)}

    for p among the free samples F, or at its bound, with :math:`v_p = (k(x_F, x_p), 1)`. The coefficients of F are
    determined by those at bounds through the system of M with D = 0, which also gives their derivatives.
    """

    def __init__(self, found: _SolvedMachine, eta: float):
        K, bound, a = found.K, found.bound, found.best.beta
        size = np.abs(a)
        self.found, self.a = found, a
        self.free = F = np.flatnonzero((size > BOUND * size.max()) & (size < (1 - BOUND) * bound))
        self.held = B = np.flatnonzero(size >= (1 - BOUND) * bound)
        m, p = len(F), int(found.intercept)
        if m <= p:
            raise FormulaError(
                "nearly all coefficients are 0 or at their bound, so the span is undefined; start from another C, or "
                "use criterion='radius_margin'"
            )
        self.system = _system(K, F, p)
        size = np.abs(a[F])
        self.D = eta / (size * (1 - size / bound[F]))
        regular = self.system.copy()
        regular[np.arange(m), np.arange(m)] += self.D
        self.N = np.linalg.inv(regular)
        self.own = np.diagonal(self.N)[:m]
        self.U = self.N @ np.concatenate([K[np.ix_(F, B)], np.ones((p, len(B)))])
        self.squares = np.zeros(len(a))
        self.squares[F] = 1 / self.own - self.D
        self.squares[B] = np.diagonal(K)[B] - np.sum(K[np.ix_(F, B)] * self.U[:m], axis=0) - np.sum(self.U[m:], axis=0)
        self.left_out = K @ a + found.best.offset - a * self.squares

    def backwards(self, slope: np.ndarray) -> tuple[np.ndarray, float]:
        """Derivatives in K̃ and in C (through the bounds only), from those in the leave-one-out values."""
        found, F, B, D, N, U, a = self.found, self.free, self.held, self.D, self.N, self.U, self.a
        K, y, bound, m, p = found.K, found.machine.y, found.bound, len(F), int(found.intercept)
        E = np.outer(slope, a)
        # through the squares, of F and of those at bounds
        s = -slope * a
        columns = N[:, :m] * (s[F] / self.own**2) @ N[:m] + U * s[B] @ U.T
        E[np.ix_(F, F)] += columns[:m, :m]
        E[np.ix_(F, B)] -= 2 * U[:m] * s[B]
        E[B, B] += s[B]
        of_D = D * (np.diagonal(columns)[:m] - s[F])
        # through the coefficients: those of F by their system, the others by C
        size, room = np.abs(a[F]), bound[F] - np.abs(a[F])
        of_a = K @ slope - slope * self.squares
        of_a[F] += y[F] * of_D * (1 / room - 1 / size)
        z = np.linalg.solve(self.system, np.append(of_a[F], np.full(p, np.sum(slope))))
        E[F] -= np.outer(z[:m], a)
        if found.ridge.any():
            return E, 0.0
        through = of_a[B] - K[np.ix_(B, F)] @ z[:m] - np.sum(z[m:])
        return E, float(through @ a[B] - of_D @ (size / room)) / found.C


def radius(K: np.ndarray, monitor: Monitor | None = None, guess: np.ndarray | None = None) -> tuple[float, np.ndarray]:
    r"""The squared radius of the smallest ball around the samples in the space of K, and the weights of its centre.

    .. math:: R^2 = \max_\gamma\; \sum_i \gamma_i K_{ii} - \gamma^\top K \gamma, \qquad \gamma \ge 0, \;
              \sum_i \gamma_i = 1

    Examples
    --------
    >>> x = np.array([0.0, 1.0, 4.0])
    >>> R2, gamma = radius(np.outer(x, x))
    >>> round(R2, 6), gamma.round(6)
    (4.0, array([0.5, 0. , 0.5]))
    """
    n = len(K)
    start = np.full(n, 1 / n)
    problem = BoxProblem(np.diagonal(K) / 2, np.zeros(n), np.ones(n), np.zeros(n, dtype=np.int64), start)
    best = _minimise(K, problem, float(np.abs(np.diagonal(K)).max()), monitor, guess)
    return -2 * best.objective, best.beta


def _shortened(beta: np.ndarray, K: np.ndarray, y: np.ndarray, squared: bool) -> np.ndarray:
    """The best multiple, within the box, of coefficients from another kernel."""
    energy = float(beta @ K @ beta)
    best = max(0.0, float(y @ beta) / energy) if energy > 0 else 1.0
    return beta * (best if squared else min(best, 1.0))


@dataclass
class _Optimum:
    """β, the offset, and ½βᵀKβ − pᵀβ."""

    beta: np.ndarray
    offset: float
    objective: float


def _minimise(
    K: np.ndarray, problem: BoxProblem, unit: float, monitor: Monitor | None, guess: np.ndarray | None = None
) -> _Optimum:
    """The optimum on a dense matrix; `unit` is the size of the linear part."""
    # The solver stops as soon as it has the right variables at bounds, and is skipped if `guess` has them; the others
    # then follow by elimination, which removes the error of its tolerance.
    exact = None if guess is None else _eliminated(K, problem, guess, unit)
    if exact is not None:
        return _Optimum(*exact, _objective(K, problem, exact[0]))
    solver, solution = WorkingSet(unit, double=True).on(Samples.of(K)), None
    for tol in TOLERANCES:
        solution = solver.solve(problem, solution, tol, monitor)
        beta, offset = solution.beta, float(solution.offsets[0]) if problem.groups else 0.0
        exact = _eliminated(K, problem, beta, unit)
        if exact is not None:
            beta, offset = exact
            break
    return _Optimum(beta, offset, _objective(K, problem, beta))


def _objective(K: np.ndarray, problem: BoxProblem, beta: np.ndarray) -> float:
    return float(beta @ (K @ beta) / 2 - problem.linear @ beta)


def _eliminated(K: np.ndarray, problem: BoxProblem, beta: np.ndarray, unit: float) -> tuple[np.ndarray, float] | None:
    """The optimum with the variables at bounds fixed, and its offset; None unless it is the overall optimum."""
    low, high = (np.abs(beta - end) <= BOUND * np.abs(beta).max() for end in (problem.lower, problem.upper))
    F, p = np.flatnonzero(~low & ~high), problem.groups
    if len(F) <= p:
        return None
    fixed = np.where(low, problem.lower, np.where(high, problem.upper, 0.0))
    total = np.full(p, np.sum(beta) - np.sum(fixed))
    x = np.linalg.solve(_system(K, F, p), np.append(problem.linear[F] - (K @ fixed)[F], total))
    fixed[F], offset = x[: len(F)], float(np.sum(x[len(F) :]))
    rest, slack = problem.linear - K @ fixed - offset, EXACT * unit
    inside = np.all((fixed[F] > problem.lower[F]) & (fixed[F] < problem.upper[F]))
    return (fixed, offset) if inside and np.all(rest[low] <= slack) and np.all(rest[high] >= -slack) else None


def _system(K: np.ndarray, free: np.ndarray, equalities: int) -> np.ndarray:
    """The matrix of the conditions on free variables and on the offset, if any."""
    return kink_system(K[np.ix_(free, free)], np.ones((len(free), equalities)), float(np.abs(np.diagonal(K)).max()))
