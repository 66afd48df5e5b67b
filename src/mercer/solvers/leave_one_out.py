r"""Leaving samples out of a fit, without fitting again.

At a solution of Σ wᵢ ℓ(yᵢ, fᵢ) + (α/2)‖f‖² with f = Ka + Hc, let g and V be the first and second derivatives of the
loss in f. Moving the gradient by δ moves the solution by −Sδ to first order, with

    S = Φ (ΦᵀVΦ + αD)⁻¹ Φᵀ,    Φ = [Z, Q],

where ZZᵀ = PKP is the matrix off the span Q of the free functions and D penalises Z alone. (K may be replaced by PKP
because Hᵀa = 0, which also serves kernels that are only conditionally positive definite.) To leave sample i out is to
take its gᵢ and Vᵢ away: by the Sherman–Morrison formula one Newton step leads to

    fᵢ⁽⁻ⁱ⁾ = fᵢ + (I − SᵢᵢVᵢ)⁻¹ Sᵢᵢ gᵢ,

and for squares, where the step arrives, this is the leave-one-out lemma with the leverage hᵢᵢ = SᵢᵢVᵢ. Where the loss
is piecewise linear, V is infinite at the samples that sit on a kink and zero elsewhere, and αSᵢᵢ is the variance of
f(xᵢ) given the values at the others: the span of the support vectors.

Craven, Wahba, *Smoothing noisy data with spline functions* (1979), for the lemma; Rad, Maleki, *A scalable estimate of
the extra-sample prediction error via approximate leave-one-out* (2020), for the step; Chapelle, Vapnik, Bousquet,
Mukherjee, *Choosing multiple parameters for support vector machines* (2002), for the span; Cauwenberghs, Poggio,
*Incremental and decremental support vector machine learning* (2001), for the path on which samples meet and leave the
kinks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..gram import Gram
from ..types import Array
from .fit._base import FitProblem
from .linear import LinearSolution, System, solve
from .spectral import DETERMINED, Spectral

__all__ = [
    "FormulaError",
    "Influence",
    "active_set",
    "at_new_points",
    "at_vertex",
    "random_traces",
    "refuse_determined",
    "refuse_inconsistent",
    "span",
]

ROUNDING = DETERMINED * np.finfo(np.float64).eps  # of the room 1 − hᵢᵢ that a sample leaves to the others
SLACK = 1e-2  # of the values: how far these may be on the wrong side of a kink
VERTEX = 1e-6  # of a bound: how near a coefficient counts as at it
RIDGE = 1e-12  # of the largest k(x, x): makes equal samples solvable
FLAT = 1e-10  # of the largest curvature: samples below carry no information, and their value is not divided by it


def refuse_determined(room: np.ndarray) -> None:
    """Raise where the room 1 − hᵢᵢ is nothing but rounding."""
    bad = np.flatnonzero(~(room > ROUNDING))
    if len(bad):
        raise ValueError(
            f"sample {bad[0]} is fitted whatever its value is (its leverage hᵢᵢ is 1), so that no fit without it "
            "predicts it; raise alpha, or remove the free function that it alone determines."
        )


class FormulaError(ValueError):
    """A formula that tells nothing at a solution, which therefore has to be fitted again."""


class Influence:
    """S, the response of the values to the gradient of the loss, at a solution.

    Parameters
    ----------
    problem : FitProblem
        Of a loss with a Hessian that does not couple samples.
    f : array of shape (n,) or (n, k)
        The values at the solution.

    Attributes
    ----------
    gradient, curvature : arrays of shape (n,) and (n,), or (n, k) and (n, k, k)
        g and V, weights included.
    diagonal : array of shape (n,) or (n, k, k)
        Sᵢᵢ.

    Notes
    -----
    O(n³), or O(nr²) for a representation with a factor; k³ times that for k values per sample.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Gaussian
    >>> from mercer.losses import Squared
    >>> gram = Dense().build(Gaussian(), np.array([[0.0], [1.0]]))
    >>> y = np.array([1.0, 3.0])
    >>> K = gram.dense()
    >>> f = K @ np.linalg.solve(K + np.eye(2), y)
    >>> influence = Influence(FitProblem(gram, Squared(), y, 1.0, np.ones(2)), f)
    >>> bool(np.isclose(influence.left_out()[0], K[0, 1] * y[1] / 2))  # the fit to the other sample alone
    True
    """

    def __init__(self, problem: FitProblem, f: np.ndarray):
        loss, y, w = problem.loss, problem.y, problem.weight
        self._loss, self.f, self._used = loss, f, int(np.sum(w > 0))
        self.gradient = np.asarray(loss.gradient(y, f, w))
        self.curvature = np.asarray(loss.hessian(y, f, w))
        path = Spectral(problem.gram, problem.H)
        values = np.maximum(
            np.asarray(path.values, dtype=np.float64), 0.0
        )  # below zero by rounding in single precision
        parts = [np.asarray(path.vectors, dtype=np.float64) * np.sqrt(values)]
        parts += [] if problem.H is None else [np.asarray(path.design.Q)]
        self._features = np.concatenate(parts, axis=1)
        self._penalty = np.concatenate(
            [np.full(parts[0].shape[1], problem.alpha), *(np.zeros(p.shape[1]) for p in parts[1:])]
        )
        if f.ndim == 1:
            self._of_one()
        else:
            self._of_several()

    def _of_one(self) -> None:
        F = self._features
        B = F.T @ (self.curvature[:, None] * F) + np.diag(self._penalty)
        try:
            L = np.linalg.cholesky(B)
        except np.linalg.LinAlgError:
            raise FormulaError(
                f"the loss {type(self._loss).__name__} is straight at so many samples that the others do not determine "
                "the free functions, and has no Newton step"
            ) from None
        self._half = solve_triangular(L, F.T, lower=True)
        self.diagonal = np.sum(self._half**2, axis=0)

    def _of_several(self) -> None:
        F, V = self._features, self.curvature
        (n, r), k = F.shape, V.shape[1]
        B = np.empty((k, r, k, r))
        for j in range(k):
            for m in range(j, k):
                B[j, :, m] = F.T @ (V[:, j, m, None] * F)
                B[m, :, j] = B[j, :, m].T
        B = B.reshape(k * r, k * r) + np.diag(np.tile(self._penalty, k))
        # values that a loss cannot tell apart (softmax: a constant on all classes) leave directions without curvature
        values, vectors = np.linalg.eigh(B)
        kept = values > 1e3 * k * r * np.finfo(np.float64).eps * values[-1]
        root = (vectors[:, kept] / np.sqrt(values[kept])).reshape(k, r, -1)
        half = np.stack([F @ part for part in root], axis=1)  # (n, k, ·)
        self._half = np.moveaxis(half, 2, 0).reshape(-1, n * k)
        self.diagonal = half @ np.swapaxes(half, 1, 2)

    def __matmul__(self, v: np.ndarray) -> np.ndarray:
        """S v, for v of the shape of f."""
        return (self._half.T @ (self._half @ v.ravel())).reshape(v.shape)

    @property
    def degrees_of_freedom(self) -> float:
        """tr(SV)."""
        return float(np.sum(self.diagonal * self.curvature))

    def left_out(self) -> np.ndarray:
        """For each sample the value at it after one Newton step without it, from the solution with it.

        NaN where the leverage is 1: where the sample alone determines a free function, or does so to second order,
        because the loss is straight at the others.
        """
        S, V, g = self.diagonal, self.curvature, self.gradient
        if self.f.ndim == 1:
            room = 1 - S * V
            known = room > ROUNDING
            return np.where(known, self.f + S / np.where(known, room, 1.0) * g, np.nan)
        left = np.eye(V.shape[1]) - S @ V
        known = np.linalg.svd(left, compute_uv=False)[:, -1] > ROUNDING
        left[~known] = np.eye(V.shape[1])
        return np.where(known[:, None], self.f + np.linalg.solve(left, S @ g[:, :, None])[:, :, 0], np.nan)

    def bias(self) -> float:
        r"""The bias of the log-likelihood at its penalised maximum, :math:`\mathrm{tr}(J^{-1} I)` of the GIC.

        J is the Hessian of the objective and I = Σ ψᵢ gᵢφᵢᵀ with the estimating functions ψᵢ = gᵢφᵢ + αDθ/n, n counting
        the samples of positive weight. Since Σψ = 0, the trace is :math:`\sum_i g_i^\top S_{ii} g_i - g^\top S g / n`.
        """
        g = self.gradient
        own = g**2 * self.diagonal if g.ndim == 1 else np.einsum("ij,ijk,ik->i", g, self.diagonal, g)
        return float(np.sum(own) - np.sum(g * (self @ g)) / self._used)


def random_traces(problem: FitProblem, f: np.ndarray, probes: int, rng: np.random.Generator) -> tuple[float, float]:
    """Estimates of tr S and tr SV, over the samples of positive weight, by random signs ε, for which E εᵀSε = tr S: one
    solve of the linear primitive each.

    Hutchinson, *A stochastic estimator of the trace of the influence matrix for Laplacian smoothing splines* (1990).
    """
    v = np.asarray(problem.loss.hessian(problem.y, f, problem.weight))
    v = np.maximum(v, FLAT * float(v.max()))
    E = rng.choice([-1.0, 1.0], size=(len(f), probes)) * (problem.weight > 0)[:, None]
    found = solve(System(problem.gram, E / v[:, None], problem.alpha, problem.H, v))
    response = np.asarray(problem.gram @ found.coefficients) + problem.free_part(found.free)
    return float(np.sum(E * response)) / probes, float(np.sum(v[:, None] * E * response)) / probes


def at_vertex(problem: FitProblem, a: np.ndarray) -> np.ndarray:
    """The samples off the kinks of a piecewise linear loss, whose coefficient is one of its slopes times −w/α."""
    ends = [
        end for part in problem.loss.box(problem.y, problem.weight / problem.alpha) for end in (part.lower, part.upper)
    ]
    vertices = np.stack([np.asarray(end) for end in ends], axis=1)
    scale = np.maximum(np.abs(vertices).max(axis=1), np.finfo(np.float64).tiny)
    return np.min(np.abs(a[:, None] - vertices), axis=1) <= VERTEX * scale


def refuse_inconsistent(problem: FitProblem, a: np.ndarray, f: np.ndarray) -> None:
    """Raise unless each coefficient is a slope of its loss at its value, times −w/α, as far as solvers are exact.

    Equal samples of different targets leave the coefficients of a solution open, and a solver may give others.
    """
    worst, rest = 0.0, np.asarray(a, dtype=np.float64)
    size = float(np.max(np.abs(f), initial=0.0))
    for part in problem.loss.box(problem.y, problem.weight / problem.alpha):
        kink, lower, upper = (np.asarray(part[k], dtype=np.float64) for k in range(3))
        beta, near, slack = np.clip(a, lower, upper), VERTEX * (upper - lower), kink - f
        can_grow, can_fall = beta < upper - near, beta > lower + near
        off = np.where(can_grow, slack, 0.0), np.where(can_fall, -slack, 0.0)
        worst, rest = max(worst, float(np.max(off))), rest - beta
        size = max(size, float(np.max(np.abs(slack))))
    bound = float(np.max(problem.weight)) / problem.alpha
    if worst > SLACK * size or float(np.max(np.abs(rest))) > SLACK * bound:
        raise FormulaError("the coefficients are no slopes of the loss, as happens with equal samples")


def span(gram: Gram, a: np.ndarray, free: np.ndarray, H: np.ndarray | None = None) -> np.ndarray:
    r"""How far leaving each sample out moves the value at it, as long as no other sample meets or leaves a kink.

    .. math:: f_i - f_i^{(-i)} = a_i S_i^2, \qquad S_i^2 = 1 / (M^{-1})_{ii} \text{ or } k_{ii} - v_i^\top M^{-1} v_i,
              \qquad M = \begin{pmatrix} K_{FF} & H_F \\ H_F^\top & 0 \end{pmatrix}

    for a sample among the free ones F and for another, with v = (k(x_F, xᵢ), h(xᵢ)).

    Parameters
    ----------
    gram : Gram
    a : array of shape (n,)
        The coefficients.
    free : bool array of shape (n,)
        F, the samples on a kink.
    H : array of shape (n, p), optional
        The free functions.

    Returns
    -------
    array of shape (n,)
        NaN where the free samples that are left do not determine the free functions.
    """
    n, p = gram.n, 0 if H is None else H.shape[1]
    moved = np.zeros(n)
    inside, held = np.flatnonzero(free & (a != 0)), np.flatnonzero(~free & (a != 0))
    m = len(inside)
    if m < p or (H is not None and np.linalg.matrix_rank(H[inside]) < p):
        return np.where(a != 0, np.nan, 0.0)
    diagonal = np.asarray(gram.diagonal(), dtype=np.float64)
    M = np.zeros((m + p, m + p))
    M[:m, :m] = np.asarray(gram.block(inside, inside), dtype=np.float64)
    M[:m, :m] += RIDGE * float(np.abs(diagonal).max()) * np.eye(m)
    v = np.asarray(gram.block(inside, held), dtype=np.float64)
    if H is not None:
        M[:m, m:], M[m:, :m] = H[inside], H[inside].T
        v = np.concatenate([v, H[held].T])
    inverse = np.linalg.inv(M) if m + p else M
    own = np.diagonal(inverse)[:m]
    alone = own <= 1e-9 / max(float(np.abs(diagonal).max()), np.finfo(np.float64).tiny)
    moved[inside] = a[inside] * np.where(alone, np.nan, 1 / np.where(alone, 1.0, own))
    moved[held] = a[held] * np.maximum(diagonal[held] - np.einsum("ij,ij->j", v, inverse @ v), 0.0)
    return moved


class _Kinks:
    """Variables β between bounds, one for each sample and kink of its loss, of which the free ones sit on the kink."""

    def __init__(self, problem: FitProblem, a: np.ndarray, f: np.ndarray):
        parts = problem.loss.box(problem.y, problem.weight / problem.alpha)
        kink, lower, upper = (np.concatenate([np.asarray(part[k]) for part in parts]) for k in range(3))
        n, copies = len(a), len(parts)
        moving = np.flatnonzero(upper > lower)
        self.owner = np.tile(np.arange(n), copies)[moving]
        self.kink, self.lower, self.upper = kink[moving], lower[moving], upper[moving]
        # two kinks have ranges on both sides of 0, so that the coefficient is that of one of them
        self.beta = np.clip(a[self.owner], self.lower, self.upper)
        near = VERTEX * (self.upper - self.lower)
        self.low, self.high = self.beta <= self.lower + near, self.beta >= self.upper - near
        self.K = np.asarray(problem.gram.dense(), dtype=np.float64)
        self.H = np.zeros((n, 0)) if problem.H is None else problem.H
        self.offset = self.H.shape[1] == 1 and float(np.ptp(self.H)) == 0.0
        self.ridge = RIDGE * float(np.abs(np.diagonal(self.K)).max())
        self.a, self.f = a, f

    def system(self, free: np.ndarray) -> np.ndarray:
        """M of the free variables."""
        rows = self.owner[free]
        m, p = len(free), self.H.shape[1]
        M = np.zeros((m + p, m + p))
        M[:m, :m] = self.K[np.ix_(rows, rows)] + self.ridge * np.eye(m)
        M[:m, m:], M[m:, :m] = self.H[rows], self.H[rows].T
        return M

    def without(self, i: int) -> float:
        """The value at sample i of the fit without it, as its coefficient goes to zero; NaN where the path is lost."""
        others = self.owner != i
        owner, kink = self.owner[others], self.kink[others]
        lower, upper, beta = self.lower[others], self.upper[others], self.beta[others].copy()
        low, high = self.low[others].copy(), self.high[others].copy()
        index, f, p, rest = np.flatnonzero(others), self.f.copy(), self.H.shape[1], 1.0 * (self.a[i] != 0)
        for _ in range(10 * len(owner)):
            if rest <= 0:
                break
            free = np.flatnonzero(~low & ~high)
            slack = kink - f[owner]  # of one at its lower end ≤ 0, at its upper end ≥ 0
            slack = np.where(low, np.minimum(slack, 0.0), np.where(high, np.maximum(slack, 0.0), 0.0))
            if len(free) < p:
                # the offset moves until there is a variable that can take over what i gives up
                able = np.flatnonzero(low if self.a[i] > 0 else high)
                if p > 1 or not len(able):
                    return np.nan
                first = able[np.argmin(np.abs(slack[able]))]
                f += slack[first]
                low[first] = high[first] = False
                continue
            right = self.a[i] * np.concatenate([self.K[owner[free], i], self.H[i]])
            try:
                change = np.linalg.solve(self.system(index[free]), right)
            except np.linalg.LinAlgError:
                return np.nan
            db, dc = change[: len(free)], change[len(free) :]
            df = self.K[:, owner[free]] @ db + self.H @ dc - self.K[:, i] * self.a[i]
            speed = df[owner]
            with np.errstate(divide="ignore", invalid="ignore"):
                meets = np.where((low & (speed < 0)) | (high & (speed > 0)), slack / speed, np.inf)
                ends = np.where(db > 0, upper[free] - beta[free], lower[free] - beta[free]) / db
            meets[free] = np.where(db != 0, np.maximum(ends, 0.0), np.inf)
            first = int(np.argmin(meets)) if len(meets) else -1
            step = min(rest, float(meets[first])) if len(meets) else rest
            f += step * df
            beta[free] += step * db
            rest -= step
            if rest > 0 and (low[first] or high[first]):
                low[first] = high[first] = False
            elif rest > 0:
                high[first] = db[np.searchsorted(free, first)] > 0
                low[first] = not high[first]
        else:
            return np.nan
        return float(f[i]) + self._centred(beta, lower, upper, kink - f[owner])

    def _centred(self, beta: np.ndarray, lower: np.ndarray, upper: np.ndarray, slack: np.ndarray) -> float:
        """What moves the offset to the middle of all that are as good, as the solvers do, where no sample is on a kink;
        NaN where more than an offset is left open.
        """
        near = VERTEX * (upper - lower)
        low, high = beta <= lower + near, beta >= upper - near
        if np.sum(~low & ~high) >= self.H.shape[1]:
            return 0.0
        if not self.offset or not low.any() or not high.any():
            return np.nan
        return float(slack[low].max() + slack[high].min()) / 2


def active_set(problem: FitProblem, a: np.ndarray, f: np.ndarray) -> np.ndarray:
    """For each sample the value at it of the fit without it, for a piecewise linear loss: exact.

    Its coefficient is taken to zero on a path of straight pieces, along which the samples on a kink keep their value
    and the others their coefficient, until one meets or leaves a kink. The first piece is that of `span`.

    Parameters
    ----------
    problem : FitProblem
        Of a loss with a box.
    a, f : arrays of shape (n,)
        The solution: coefficients and values.

    Returns
    -------
    array of shape (n,)
        NaN where the path is lost: equal samples, or several free functions that too few samples determine.
    """
    kinks = _Kinks(problem, a, f)
    return np.array([kinks.without(i) for i in range(len(a))])


def at_new_points(smoother: LinearSolution, cross: Any, h: Any, values: Array, residuals: Any) -> Any:
    r"""The fits of ridge regression without each of the samples, at new points, of shape (m, n).

    .. math:: f^{(-i)}(x) = f(x) - s_i(x)\, r_i^{(-i)}, \qquad f(x) = \sum_i s_i(x)\, y_i

    by the leave-one-out lemma: the fit without sample i is the fit to all in which yᵢ is replaced by fᵢ⁽⁻ⁱ⁾.

    Parameters
    ----------
    smoother : LinearSolution
        Of (K + αW⁻¹)a + Hc = b, Hᵀa = 0 with the identity for b: column i is the answer to yᵢ alone.
    cross, h : arrays of shape (m, n) and (m, p)
        k(x, xⱼ) and the free functions at the new points.
    values : array of shape (m,)
        f(x).
    residuals : array of shape (n,)
        r⁽⁻ⁱ⁾, the leave-one-out residuals.
    """
    weights = cross @ smoother.coefficients
    weights = weights if smoother.free is None else weights + h @ smoother.free
    return values[:, None] - weights * residuals[None, :]
