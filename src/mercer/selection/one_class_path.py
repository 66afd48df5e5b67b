r"""The full regularisation path of the one-class machine: its coefficients are piecewise linear in λ.

With ℓ = 2λn and α = ℓa, the hinge form is the parametric problem min ½αᵀKα − ℓ Σα over 0 ≤ α ≤ 1. With g = Kα, its
solution has α = 1 where g < ℓ, α = 0 where g > ℓ, and any α in [0, 1] on the elbow g = ℓ. Per unit decrease of ℓ, α on
the elbow moves by the d that solves K d = −1 there, until α reaches a bound or another g reaches ℓ.

Lee, Scott, *The one-class support vector machine solution path* (2007). At a breakpoint, all samples with g = ℓ are
treated at once: d minimises ½dᵀKd + Σd under the signs that the bounds allow (the directional derivative of the
problem). Simultaneous events, as with equal samples, therefore need no order.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpstrf
from sklearn.exceptions import ConvergenceWarning

from .._array import doubles, is_array
from .._errors import check_number, speaking
from ..context import complete, current
from ..evaluation import bind
from ..kernels import Kernel, KernelLike
from ..methods import OneClassSVM
from ..solvers.fit.boxes import Samples, WorkingSet
from ..solvers.fit.working_set import BoxProblem
from ..space import Function
from ..types import Data

EPS = float(np.finfo(np.float64).eps)
RIDGE = 8 * EPS  # times max k(x, x), the rounding error of K: added to its diagonal to make it positive definite
TIE = 32 * EPS  # times max k(x, x) Σα, a bound on g: values of g within this of ℓ are on the elbow
NOISE = 128 * EPS  # relative to the terms of a slope: smaller slopes count as zero
END = 1e-10  # times max k(x, x) Σα: the path ends below this ℓ, where rounding dominates
VIOLATED = 1e-8  # relative to ℓ: a larger violation of the optimality conditions is repaired by the solver
SOLVER_STEPS = 10**5  # maximum number of steps of that solver
LONGEST = 200  # maximum number of pieces per sample, far more than usual; a solver call counts as n pieces


@dataclass(frozen=True)
class OneClassMachine:
    """The machine at one point of a path.

    Attributes
    ----------
    lam, nu, rho : float
        λ of the hinge form; ν and ρ = 2λn of the equivalent `OneClassSVM`, whose function is ρ times this one.
    coefficients : array of shape (n_samples,)
        a, with 0 ≤ a ≤ 1/(2λn).
    function : Function
        f = Σ aᵢ k(·, xᵢ); f(x) ≥ 1 where `OneClassSVM` with this ν has f(x) ≥ ρ.
    """

    lam: float
    nu: float
    rho: float
    coefficients: np.ndarray
    function: Function


@dataclass(frozen=True)
class OneClassPath:
    """Result of `one_class_path`: the breakpoints, between which α = 2λn·a is linear in λ.

    Attributes
    ----------
    lambdas : array of shape (m,)
        Breakpoints, decreasing. Above the first, α = 1 for all samples; the last is usually ``lambda_min``.
    alpha : array of shape (m, n_samples)
        2λn times the coefficients; their limit at λ = 0.
    events : list of m tuples of (sample, kind)
        Changes at each breakpoint as λ decreases: a sample joins the "elbow" f = 1, or leaves it for the "bound" α = 1
        with f < 1, or for "zero" with f > 1.
    nu : array of shape (m,)
        The mean of α, which is the ν of the equivalent `OneClassSVM`.
    n_support : array of shape (m,)
        Number of nonzero coefficients.
    objective : array of shape (m,)
        (1/n) Σ max(0, 1 − f(xᵢ)) + λ‖f‖².
    residual : array of shape (m,)
        Largest violation of the optimality conditions of 2λn·f, relative to its largest value at the first breakpoint.
    kernel, points
        The resolved kernel and the training samples.
    """

    lambdas: np.ndarray
    alpha: np.ndarray
    events: list[tuple[tuple[int, str], ...]]
    nu: np.ndarray
    n_support: np.ndarray
    objective: np.ndarray
    residual: np.ndarray
    kernel: Kernel
    points: Any

    def at(self, lam: float) -> OneClassMachine:
        """The machine for any λ > 0 not below the end of the path."""
        check_number("OneClassPath.at", "lam", lam, above=0, at_least=float(self.lambdas[-1]))
        alpha = self.alpha[0]
        if lam < self.lambdas[0]:
            k = int(np.searchsorted(-self.lambdas, -lam))  # lambdas[k] <= lam < lambdas[k - 1]
            share = (lam - self.lambdas[k]) / (self.lambdas[k - 1] - self.lambdas[k])
            alpha = self.alpha[k] + share * (self.alpha[k - 1] - self.alpha[k])  # bounds stay exact
        rho = 2 * lam * len(alpha)
        a, kept = alpha / rho, np.flatnonzero(alpha)
        f = Function(self.kernel, self.kernel.domain.take(self.points, kept), a[kept])
        return OneClassMachine(float(lam), float(alpha.mean()), float(rho), a, f)

    def at_nu(self, nu: float) -> OneClassMachine:
        """The machine of `OneClassSVM` with this ν, divided by its ρ.

        Where several λ have the same ν, no sample is on the elbow, and ρ is the midpoint of its range, as there.
        """
        check_number("OneClassPath.at_nu", "nu", nu, above=0, at_most=1)
        least = float(self.nu[-1])
        if nu < least or (nu == least and self.lambdas[-1] == 0):
            why = "the machine is 0" if self.lambdas[-1] == 0 else "the path ends; lower lambda_min"
            raise ValueError(f"OneClassPath.at_nu: nu = {nu} must be > {least:g}, below which {why}.")
        nus, lambdas = self.nu[::-1], self.lambdas[::-1]  # ν is non-decreasing in λ
        ends = []
        for k in (np.searchsorted(nus, nu - 4 * EPS, "left"), np.searchsorted(nus, nu + 4 * EPS, "right")):
            k = np.clip(k, 1, len(nus) - 1)
            share = (nu - nus[k - 1]) / (nus[k] - nus[k - 1])
            ends.append(lambdas[k - 1] + np.clip(share, 0, 1) * (lambdas[k] - lambdas[k - 1]))
        return self.at(float(np.mean(ends)))


@speaking
@complete
def one_class_path(
    X: Data,
    *,
    kernel: KernelLike = "rbf",
    gamma: Any = "scale",
    degree: int = 3,
    coef0: float = 0.0,
    lambda_min: float = 0.0,
    time_budget: float | None = None,
) -> OneClassPath:
    r"""The exact regularisation path of the one-class machine, for all λ.

    .. math:: \min_{f \in H}\; \frac1n \sum_i \max\big(0, 1 - f(x_i)\big) + \lambda \|f\|_H^2

    the hinge form of `OneClassSVM` with C = 1/(2λn). A point is an inlier where f(x) ≥ δ.

    Parameters
    ----------
    X
        Samples, or with ``kernel="precomputed"`` their matrix. Arrays are converted to double precision.
    kernel, gamma, degree, coef0
        As in `OneClassSVM`. The kernel must be positive definite, since there is no offset. For an indefinite kernel of
        unknown definiteness, the path consists of stationary points.
    lambda_min : float >= 0
        The smallest λ. A larger one skips the last breakpoints, which have the fewest support vectors. The path ends
        earlier if 2λn falls below 1e-10 max k(x, x) Σα, where rounding dominates.
    time_budget : float > 0, optional
        Time limit in seconds. When it expires, a TimeoutError is raised.

    Returns
    -------
    OneClassPath

    Notes
    -----
    The solution is :math:`f = \sum a_i k(\cdot, x_i)` with :math:`0 \le a_i \le 1/(2 \lambda n)`. In the ν form of
    `OneClassSVM`, :math:`\min \tfrac12\|h\|^2 - \nu n \rho + \sum_i (\rho - h(x_i))_+`, the coefficients lie in [0, 1]
    and sum to νn. Divided by ρ, they satisfy the conditions of the hinge form with 1/(2λn) = 1/ρ. So
    :math:`\alpha = 2 \lambda n a` are the coefficients of the ν form, ν is their mean and ρ = 2λn.

    Once no sample has f(x) < 1, f no longer changes, and α decreases to 0 in proportion to λ. If the samples cannot be
    separated from 0 in the space, some have f(x) < 1 down to λ = 0.

    Memory is 8n² bytes for the matrix and 8n bytes for each breakpoint, commonly 2n to 5n. A piece costs a
    factorisation of the matrix of the elbow, with the rounding error of K, 2e-15 max k(x, x), added to the diagonal, so
    that samples may be equal or dependent. If rounding still violates optimality by more than 1e-8 of 2λn,
    `mercer.solvers.fit.working_set` solves the problem at that λ; `residual` has the remaining violation.

    References
    ----------
    Lee, Scott, *The one-class support vector machine solution path* (2007).
    Schölkopf, Platt, Shawe-Taylor, Smola, Williamson, *Estimating the support of a high-dimensional distribution*
    (2001), for the ν form.

    Examples
    --------
    >>> path = one_class_path([[0.0], [1.0], [3.0]], gamma=0.5)
    >>> path.lambdas.round(3), path.n_support
    (array([0.29 , 0.238, 0.179, 0.   ]), array([3, 3, 3, 0]))
    >>> machine = path.at(0.1)
    >>> machine.function([[0.0], [1.0], [3.0]]).round(6), round(machine.function.norm(), 3)
    (array([1., 1., 1.]), 1.447)
    """
    check_number("one_class_path", "lambda_min", lambda_min, at_least=0)
    model = OneClassSVM(kernel=kernel, gamma=gamma, degree=degree, coef0=coef0)
    X = model._check_sample(X)
    if is_array(X) and not isinstance(X, np.ndarray):
        raise TypeError(f"one_class_path: X is a {type(X).__module__} array; pass a NumPy array or a CSR matrix.")
    X = X.astype(np.float64) if hasattr(X, "astype") else X
    resolved, domain = model.kernel_, model.kernel_.domain
    why = ", and without an offset it must be positive definite"
    resolved.require_pd(domain.dimension(X), "one_class_path", why=why, remedy="use OneClassSVM")
    K = doubles(bind(resolved, X).dense())
    n = len(K)
    walk = _Walk(K + RIDGE * K.diagonal().max() * np.eye(n), 2 * n * lambda_min)
    alpha, levels = np.array(walk.alphas), np.array(walk.levels)
    values = alpha @ K
    violation = np.maximum(
        np.where(alpha < 1, levels[:, None] - values, 0.0).max(axis=1),
        np.where(alpha > 0, values - levels[:, None], 0.0).max(axis=1),
    )
    # ½‖f‖² of the ν form over ℓ, whose limit for ℓ → 0 is 0
    energy = np.einsum("ki,ki->k", alpha, values)
    energy = np.divide(energy, 2 * n * levels, out=np.zeros_like(energy), where=levels > 0)
    return OneClassPath(
        lambdas=levels / (2 * n),
        alpha=alpha,
        events=[tuple(events) for events in walk.events],
        nu=alpha.mean(axis=1),
        n_support=np.count_nonzero(alpha, axis=1),
        objective=alpha.mean(axis=1) - energy,
        residual=violation / max(walk.levels[0], float(K.diagonal().max())),
        kernel=resolved,
        points=domain.centres(X),
    )


class _Walk:
    """Follow the path from large ℓ down to `end`, breakpoint by breakpoint."""

    def __init__(self, K: np.ndarray, end: float):
        n = len(K)
        self.K, self.end, self.largest = K, end, float(K.diagonal().max())
        self.alpha, self.g = np.ones(n), K.sum(axis=1)
        self.level = max(float(self.g.max()), end)
        self.elbow = np.empty(0, dtype=np.int64)
        self.levels: list[float] = []
        self.alphas: list[np.ndarray] = []
        self.events: list[list[tuple[int, str]]] = []
        self.record()
        self.spent = 0
        while self.level > max(end, END * self.tie / TIE):
            current().check()
            if self.spent > LONGEST * n:
                warnings.warn(
                    f"one_class_path: the path stopped at lambda = {self.level / (2 * n):.3g} after "
                    f"{len(self.levels)} pieces, because the kernel matrix is not positive definite or is nearly "
                    "singular. Remove near-duplicate samples, or scale the data.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
                return
            self.advance()
        if end < self.level <= 8 * self.tie:
            self.levels[-1] = end  # reached, up to rounding

    @property
    def tie(self) -> float:
        """The largest |g − ℓ| that counts as on the elbow."""
        return TIE * self.largest * float(self.alpha.sum())

    def record(self) -> None:
        """Record a breakpoint; replace the last one if ℓ has changed only by rounding."""
        if self.levels and self.level >= self.levels[-1] * (1 - 4 * EPS):
            self.alphas[-1] = self.alpha
            return
        self.levels.append(self.level)
        self.alphas.append(self.alpha)
        self.events.append([])

    def advance(self) -> None:
        """Follow one linear piece."""
        self.spent += 1
        if self.spent % 32 == 0:
            self.g = self.K @ self.alpha
        tie = self.tie
        allowed = VIOLATED * self.level + 4 * tie
        if self.violation() > allowed:
            self.repair(0.01 * allowed)
        h, below, above = self.g - self.level, self.alpha == 1, self.alpha == 0
        if (below & (h < -tie)).any():
            sign = (above & (h <= tie)) * 1.0 - (below & (h >= -tie))
            inside = np.flatnonzero(~(below | above))
            d, rate, stuck = self.direction(inside, sign)
            meets = ~stuck & np.where(below, rate > 0, above & (rate < 0))
            self.turn(np.union1d(inside, np.flatnonzero(d)))
        else:  # no sample has f < 1: f does not change any more
            d, rate, meets = -self.alpha / self.level, 1 - self.g / self.level, np.zeros(len(h), dtype=bool)
            self.turn(np.flatnonzero(~above))
        moves = d != 0
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(d > 0, (1 - self.alpha) / d, -self.alpha / d)
            steps = np.where(moves, room, np.where(meets, np.maximum(-h / rate, 0.0), np.inf))
        left = self.level - self.end
        step = float(steps.min())
        step = left if step >= left * (1 - 1e-12) else step
        taken = step if step > 4 * EPS * self.level else 0.0  # 0: only samples at a bound move
        self.alpha = np.clip(self.alpha + taken * d, 0.0, 1.0)
        reached = moves & (steps <= step * (1 + 1e-12))
        self.alpha[reached] = d[reached] > 0
        self.g = self.g + taken * (rate - 1)
        self.level = self.level - taken
        self.record()

    def direction(self, inside: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The d that minimises ½dᵀKd + Σd, the slope (g − ℓ)′ = Kd + 1, and where the slope counts as 0.

        The samples `inside` may move either way, the others in the direction of `sign` (0: not at all). This is an
        active-set method like that of Lawson and Hanson for non-negative least squares: samples join according to their
        slope and leave if they would move in the wrong direction. A linearly dependent sample does not join.
        """
        shut = sign == 0
        moving, d = self.solve(inside)
        for last in (*[False] * (3 * len(d)), True):  # rounding may make it cycle
            rate = 1.0 + d[moving] @ self.K[moving]
            noise = NOISE * (1.0 + self.largest * np.abs(d).sum())
            push = np.where(shut, 0.0, -sign * rate)
            push[moving] = 0.0
            best = int(push.argmax())
            if push[best] <= noise or last:
                break
            joined, target = self.solve(np.append(moving, best))
            if len(joined) <= len(moving):
                shut[best] = True
                continue
            while (wrong := joined[sign[joined] * target[joined] < 0]).size:
                share = d[wrong] / (d[wrong] - target[wrong])
                d = d + share.min() * (target - d)
                leave = wrong[share <= share.min()]
                d[leave] = 0.0
                joined, target = self.solve(np.setdiff1d(joined, leave))
            shut[best] |= best not in joined
            moving, d = joined, target
        return d, rate, (np.abs(rate) <= noise) | (shut & (sign != 0))

    def solve(self, samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve K d = −1 on the samples; linearly dependent ones are dropped and keep d = 0."""
        d = np.zeros(len(self.K))
        if not len(samples):
            return samples, d
        factor, pivots, rank, _ = dpstrf(self.K[np.ix_(samples, samples)], lower=1, tol=EPS * self.largest)
        samples = samples[pivots[:rank] - 1]
        d[samples] = cho_solve((factor[:rank, :rank], True), -np.ones(rank), check_finite=False)
        return samples, d

    def turn(self, elbow: np.ndarray) -> None:
        """Record which samples join or leave the elbow at the last breakpoint."""
        left = np.setdiff1d(self.elbow, elbow).tolist()
        self.events[-1] += [(i, "elbow") for i in np.setdiff1d(elbow, self.elbow).tolist()]
        self.events[-1] += [(i, "bound" if self.alpha[i] == 1 else "zero") for i in left]
        self.elbow = elbow

    def violation(self) -> float:
        """The largest violation of the optimality conditions."""
        h = self.g - self.level
        return max(float(h[self.alpha > 0].max(initial=0.0)), -float(h[self.alpha < 1].min(initial=0.0)))

    def repair(self, tol: float) -> None:
        """Correct accumulated rounding: solve the box-constrained problem at this ℓ from the current point."""
        n = len(self.g)
        self.spent += n
        problem = BoxProblem(np.full(n, self.level), np.zeros(n), np.ones(n), None, self.alpha)
        solver = WorkingSet(tol, SOLVER_STEPS, double=True).on(Samples.of(self.K))
        self.alpha = self.alphas[-1] = solver.solve(problem).beta
        self.g = self.K @ self.alpha
