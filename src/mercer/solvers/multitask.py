"""Several related functions, coupled by a matrix B over the tasks: B_st k(x, y).

If every task has a target at every sample, B = VMVᵀ rotates the targets into separate single-task problems,
(K + (α/μⱼ)I) cⱼ = Yvⱼ: one decomposition of K serves them all, and all α (`mercer.solvers.spectral`). If targets are
missing, or each sample belongs to one task, `TaskGram` is the matrix of the observed entries.

B = WWᵀ + diag(v) is learned by maximum marginal likelihood, with the rank of W chosen by BIC.
Bonilla, Chai, Williams, *Multi-task Gaussian process prediction* (2008); Álvarez, Rosasco, Lawrence, *Kernels for
vector-valued functions: a review* (2012).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.linalg import cho_solve

from .._array import host
from ..context import Context, Status, current
from ..gram import Gram, Operator
from ..types import Array, Index
from .hyper.descent import REACH, Descent, descend
from .linear.cholesky import factorize
from .solution import Solution
from .spectral import Spectral

LEAST = 1e-6  # lower bound of v while B is learned, relative to the scale of B
LARGEST = 1e2  # upper bound of loadings, relative to the root of the scale
NOISE = 0.1  # start of the search for alpha, relative to the scale
SLOPE = 1e-6  # tolerance for the gradient of the log-likelihood per target
STARTS = ((0.7, 0.5), (0.1, 1.0))  # starting values of loadings and v: half shared, nearly separate


class TaskGram(Operator):
    """The matrix k(xᵢ, xⱼ) B_st for entries (i, s) and (j, t), with any Gram operator of the samples."""

    def __init__(self, base: Gram, rows: np.ndarray, tasks: np.ndarray, matrix: np.ndarray):
        self.base, self.rows, self.tasks, self.matrix = base, rows, tasks, matrix
        self.trace_error = base.trace_error
        self.provides = base.provides
        if "factor" in base.provides and len(matrix) * base.factor().shape[1] >= len(rows):
            self.provides = frozenset({"dense"})

    @property
    def n(self) -> int:
        return len(self.rows)

    def spread(self, V: np.ndarray) -> np.ndarray:
        """Coefficients of the entries as an (n, T) array over samples and tasks."""
        out = np.zeros((self.base.n, len(self.matrix)), dtype=V.dtype)
        out[self.rows, self.tasks] = V
        return out

    def __matmul__(self, V: Array) -> Any:
        if "dense" in self.provides:
            return self._held @ V
        columns = V[:, None] if V.ndim == 1 else V
        wide = np.stack([self.spread(v) @ self.matrix for v in columns.T], axis=2)
        n, T, t = wide.shape
        values = np.asarray(self.base @ wide.reshape(n, T * t)).reshape(n, T, t)[self.rows, self.tasks]
        return values.reshape(V.shape)

    def diagonal(self) -> Any:
        return host(self.base.diagonal())[self.rows] * np.diagonal(self.matrix)[self.tasks]

    def block(self, rows: Index, columns: Index) -> Any:
        K = host(self.base.block(self.rows[rows], self.rows[columns]))
        return K * self.matrix[np.ix_(self.tasks[rows], self.tasks[columns])]

    @cached_property
    def _held(self) -> np.ndarray:
        return self.block(slice(None), slice(None))

    def dense(self) -> Any:
        return self._held if "dense" in self.provides else self.block(slice(None), slice(None))

    def _products(self, Z: np.ndarray) -> np.ndarray:
        """Products of sample features and task features."""
        values, vectors = np.linalg.eigh(self.matrix)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return (Z[self.rows][:, :, None] * root[self.tasks][:, None, :]).reshape(self.n, -1)

    def factor(self) -> Any:
        return self._products(host(self.base.factor()))

    def sketch(self, rank: int) -> Any:
        Z = self.base.sketch(max(1, rank // len(self.matrix)))
        return None if Z is None else self._products(host(Z))


class Evidence(Protocol):
    """The marginal likelihood of targets as a function of B and the variance α of the noise."""

    size: int
    scale: float

    def __call__(self, matrix: np.ndarray, alpha: float) -> tuple[float, np.ndarray, float]:
        """log p, and its derivatives in B (treating its entries as independent) and in α."""
        ...


class Complete:
    """Evidence of fully observed targets Y of shape (n, T): O(nT² + T³) after a decomposition of K; no free part."""

    def __init__(self, path: Spectral, Y: np.ndarray):
        target = np.asarray(path.design.scaled(Y))
        self.values = np.maximum(host(path.values), 0.0)
        self.Z = host(path.vectors).T @ target
        self.outside = 0.0 if path.full else float(np.sum((target - host(path.vectors) @ self.Z) ** 2))
        self.rest = path.rest * Y.shape[1]
        self.size = path.design.effective * Y.shape[1]
        self.constant = self.size * float(np.log(2 * np.pi)) + Y.shape[1] * float(path.design.log_volume)
        self.scale = float(np.sum(target**2)) / (Y.shape[1] * float(np.sum(self.values)) or 1.0)

    def __call__(self, matrix: np.ndarray, alpha: float) -> tuple[float, np.ndarray, float]:
        mu, V = np.linalg.eigh(matrix)
        S = self.values[:, None] * np.maximum(mu, 0.0)[None, :] + alpha
        rotated = self.Z @ V
        Q = rotated / S
        value = float(np.sum(rotated * Q) + np.sum(np.log(S))) + self.outside / alpha + self.rest * np.log(alpha)
        inner = (Q * self.values[:, None]).T @ Q - np.diag(np.sum(self.values[:, None] / S, axis=0))
        slope = float(np.sum(Q * Q) - np.sum(1 / S)) + self.outside / alpha**2 - self.rest / alpha
        return -(value + self.constant) / 2, V @ inner @ V.T / 2, slope / 2


class Scattered:
    """Evidence of targets observed at some entries (i, t): O(N³) for each B.

    Columns of y are independent draws with the same B. The noise has variances α/w; entries of weight 0 are ignored.
    """

    def __init__(self, K: np.ndarray, tasks: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None):
        used = np.arange(len(y)) if weight is None else np.flatnonzero(weight)
        root = np.ones(len(y)) if weight is None else np.sqrt(weight[used])
        K, y = K[np.ix_(used, used)].astype(np.float64), y[used]
        self.K, self.y, self.tasks = K * root[:, None] * root[None, :], y * root[:, None], tasks[used]
        self.size = y.size
        self.constant = self.size * float(np.log(2 * np.pi)) - 2 * y.shape[1] * float(np.sum(np.log(root)))
        self.scale = float(np.sum(self.y**2)) / (y.shape[1] * float(np.trace(self.K)) or 1.0)

    def __call__(self, matrix: np.ndarray, alpha: float) -> tuple[float, np.ndarray, float]:
        draws, mine = self.y.shape[1], np.eye(len(matrix))[self.tasks]
        L, _ = factorize(self.K * matrix[np.ix_(self.tasks, self.tasks)], alpha)
        inverse = cho_solve((L, True), np.eye(len(self.y)))
        a = inverse @ self.y
        value = float(np.sum(self.y * a)) + 2 * draws * float(np.sum(np.log(np.diagonal(L))))
        E = (a @ a.T - draws * inverse) / 2
        return -(value + self.constant) / 2, mine.T @ ((E * self.K) @ mine), float(np.trace(E))


@dataclass(frozen=True)
class Coregionalisation(Solution):
    """The learned matrix, and the course of the search."""

    measure = ("gradient norm", "slope")
    loadings: np.ndarray  # W, of shape (T, rank); without columns if separate tasks are better
    own: np.ndarray  # v, of shape (T,)
    alpha: float
    log_likelihood: float
    criterion: list[float]  # −2 log p + p log N for the ranks 0, 1, … tried
    slope: float  # the largest remaining derivative of the log-likelihood per target
    history: list[float]  # negative log-likelihood after each step, non-increasing

    @property
    def matrix(self) -> np.ndarray:
        """B = WWᵀ + diag(v)."""
        return self.loadings @ self.loadings.T + np.diag(self.own)

    def in_unit(self, unit: float, targets: int) -> Coregionalisation:
        """Rescale to targets multiplied by a power of two; `targets` is their number."""
        shift = targets * float(np.log(unit))
        return replace(
            self,
            loadings=unit * self.loadings,
            own=unit**2 * self.own,
            alpha=unit**2 * self.alpha,
            log_likelihood=self.log_likelihood - shift,
            criterion=[value + 2 * shift for value in self.criterion],
            history=[value + shift for value in self.history],
        )


def learn(evidence: Evidence, n_tasks: int, rank: int, alpha: float | None = None) -> Coregionalisation:
    r"""The matrix B = WWᵀ + diag(v) of maximum marginal likelihood, and α, unless it is given.

    The number of columns of W, at most `rank`, is selected by the Bayesian information criterion (BIC), so that
    unrelated tasks stay independent: each column is a function shared by all tasks, with a loading for each.

    L-BFGS-B in W, log v and log α, from one start with half-shared and one with nearly separate tasks. The better
    result is returned: a stationary point to within `slope`, not always the global maximum.

    References
    ----------
    Schwarz, *Estimating the dimension of a model* (1978).

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> Y = np.sin(X) * [1.0, -2.0] + 0.1 * np.random.default_rng(0).normal(size=(40, 2))
    >>> found = learn(Complete(Spectral(Dense().build(Gaussian(), X)), Y), 2, rank=1)
    >>> B = found.matrix
    >>> round(float(B[0, 1] / np.sqrt(B[0, 0] * B[1, 1])), 2), found.loadings.shape[1], found.converged
    (-1.0, 1, True)
    """
    stop = current()
    best = _Search(evidence, n_tasks, 0, alpha, stop).run(0.0, 1.0)
    criterion, ended = [best.schwarz], stop()
    for r in range(1, rank + 1):
        if ended:
            break
        searches = [_Search(evidence, n_tasks, r, alpha, stop).run(*start) for start in STARTS]
        found, ended = min(searches, key=lambda search: search.lowest), stop()
        criterion.append(found.schwarz)
        if found.schwarz >= best.schwarz:
            break
        best = found
    return best.result(criterion, ended)


class _Search:
    """The search for one rank: W and log v in units of the scale of B (its root for W), log α relative to its start."""

    def __init__(self, evidence: Evidence, n_tasks: int, rank: int, alpha: float | None, stop: Context):
        self.evidence, self.shape, self.given, self.stop = evidence, (n_tasks, rank), alpha, stop
        self.scale = evidence.scale or 1.0
        self.history: list[float] = []

    def _unpacked(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        (T, r), scale = self.shape, self.scale
        W, v = u[: T * r].reshape(T, r) * np.sqrt(scale), np.exp(u[T * r : T * r + T]) * scale
        return W, v, NOISE * scale * float(np.exp(u[-1])) if self.given is None else self.given

    def _loss(self, u: np.ndarray) -> tuple[float, np.ndarray]:
        W, v, alpha = self._unpacked(u)
        value, G, slope = self.evidence(W @ W.T + np.diag(v), alpha)
        parts = [2 * np.sqrt(self.scale) * (G @ W).ravel(), np.diagonal(G) * v]
        parts += [[slope * alpha]] if self.given is None else []
        return -value / self.evidence.size, -np.concatenate(parts) / self.evidence.size

    def run(self, loading: float, own: float) -> _Search:
        T, r = self.shape
        # columns of a cosine transform: distinct directions, the first shared by all tasks
        W = loading * np.cos(np.pi * np.outer(np.arange(T) + 0.5, np.arange(r)) / T)
        noise = [np.zeros(1)] if self.given is None else []
        start = np.concatenate([W.ravel(), np.full(T, np.log(own)), *noise])
        bounds = np.repeat([[-LARGEST, LARGEST]], len(start), axis=0)
        bounds[T * r : T * r + T] = np.log(LEAST), 2 * np.log(LARGEST)
        bounds[T * r + T :] = -np.log(REACH), np.log(REACH)
        first = Descent(start, *self._loss(start))
        options = {"gtol": SLOPE, "ftol": 1e-14, "maxiter": 1000, "maxfun": 3000}
        found = descend(self._loss, start, bounds.T, self.stop, **options)
        self.history = [value * self.evidence.size for value in (first.value, *found.history)]
        self.found = found = min(first, found, key=lambda each: each.value)
        g, u = found.slope, found.place
        held = ((u <= bounds[:, 0]) & (g > 0)) | ((u >= bounds[:, 1]) & (g < 0))
        self.slope = float(np.max(np.abs(np.where(held, 0.0, g))))
        return self

    @property
    def lowest(self) -> float:
        return self.found.value * self.evidence.size

    @property
    def schwarz(self) -> float:
        T, r = self.shape
        # parameters of W in the off-diagonal of B: those not lost to rotations, at most the number of task pairs
        parameters = min(T * r - r * (r - 1) // 2, T * (T - 1) // 2)
        return 2 * self.lowest + parameters * float(np.log(self.evidence.size))

    def result(self, criterion: list[float], ended: Status | None) -> Coregionalisation:
        W, v, alpha = self._unpacked(self.found.place)
        status = ended or (Status.CONVERGED if self.slope <= 100 * SLOPE else Status.NO_DESCENT)
        parts = W, v, alpha, -self.lowest, criterion, self.slope, self.history
        return Coregionalisation(*parts, status=status, n_iter=len(self.history) - 1, method="L-BFGS-B")
