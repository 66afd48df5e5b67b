"""Pivoted incomplete Cholesky factors, greedy in the trace of K, or in the trace and what predicts y.

Fine, Scheinberg, *Efficient SVM training using low-rank kernel representations* (2001), and with side information Bach,
Jordan, *Predictive low-rank decomposition for kernel methods* (2005), the algorithm CSI.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import device_of, host, like, namespace
from .._errors import check_number, where
from ..kernels import Kernel
from ._base import Representation
from ._pivoted import PivotedGram, columns, noise, require_pd


class IncompleteCholesky(Representation):
    r"""K ≈ GGᵀ from the columns of r pivots, each the sample with the largest residual k(xᵢ, xᵢ) − (GGᵀ)ᵢᵢ.

    With `y` given, each pivot is instead the one that is expected to lower

    .. math:: (1 - \kappa) \frac{\operatorname{tr}(K - GG^\top)}{\operatorname{tr} K}
              + \kappa \frac{\min_B \|Y - GB\|_F^2}{\|Y\|_F^2}

    the most (G and Y centred by columns), judged from `delta` columns computed ahead.

    Parameters
    ----------
    rank : int >= 1, optional
        The largest number of columns; None: as many as `tol` asks for, up to n.
    tol : float >= 0
        Stop when no residual exceeds ``tol`` times the largest k(x, x); with `y`, when no column is expected to lower
        the objective by more than ``tol``. Raising it gives fewer columns. Rounding never becomes a pivot.
    y : array of shape (n,) or (n, p), optional
        Side information: numbers to predict from the factor, or labels that are no numbers (encode integer classes as p
        indicator columns).
    delta : int >= 1
        Columns computed ahead. More of them predict gains better, at O(n·delta²) a step; used with `y` only.
    kappa : float in [0, 1]
        Weight of predicting y against approximating K; used with `y` only.

    Notes
    -----
    The matrix is never formed: r columns (r + `delta` with `y`) are evaluated, in O(nr²) operations and O(nr) memory.
    The Gram has `pivots`, `residual` and `trace_error`, and with `y` also `predicted_gain` and `true_gain`, by how much
    each column lowers the objective. For new points φ(x) = L⁻¹k(C, x), with C the pivots and L their rows of G.

    With `y`, near-ties are broken by order, so that rounding does not decide: among gains within a tenth of the best,
    the earliest column computed ahead is taken (its gain is exact, and it is at hand); among residuals within half a
    percent of the largest, the first sample is computed ahead.

    References
    ----------
    Fine, Scheinberg, *Efficient SVM training using low-rank kernel representations* (2001): incomplete Cholesky with
    symmetric pivoting. Bach, Jordan, *Predictive low-rank decomposition for kernel methods* (2005): CSI, look-ahead.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> gram = IncompleteCholesky(tol=1e-3).build(Gaussian(), X, np.random.default_rng(0))
    >>> gram.pivots
    array([ 0, 49, 25])
    >>> gram.trace_error < 50 * 1e-3
    True
    """

    def __init__(self, rank: int | None = None, tol: float = 1e-6, y: Any = None, delta: int = 40, kappa: float = 0.99):
        self.rank, self.tol, self.y, self.delta, self.kappa = rank, tol, y, delta, kappa

    def build(self, kernel: Kernel, X: Any, rng: np.random.Generator) -> PivotedGram:
        check_number(self, "tol", self.tol, at_least=0)
        if self.rank is not None:
            check_number(self, "rank", self.rank, at_least=1, integer=True)
        require_pd(self, kernel, X)
        n = kernel.domain.size(X)
        rank = n if self.rank is None else min(self.rank, n)
        centres = kernel.domain.centres(X)

        def column(i: int) -> Any:
            return columns(kernel, X, centres, i)[:, 0]

        diagonal = kernel.evaluate_diag(X)
        if self.y is None:
            pivots, G = _greedy(column, diagonal, rank, self.tol)
            return PivotedGram(kernel, X, pivots, G)
        check_number(self, "delta", self.delta, at_least=1, integer=True)
        check_number(self, "kappa", self.kappa, at_least=0, at_most=1)
        search = _Predictive(column, diagonal, _side_information(self.y, n, self), self.delta, self.kappa)
        while len(search.pivots) < rank and search.step(self.tol):
            pass
        gram = PivotedGram(kernel, X, search.pivots, search.G)
        gram.predicted_gain, gram.true_gain = np.asarray(search.predicted), np.asarray(search.true)
        return gram


def _greedy(column: Any, diagonal: Any, rank: int, tol: float) -> tuple[list[int], Any]:
    """Pivots of largest residual and the factor's columns, until `rank` or a residual ≤ tol · max k(x, x)."""
    xp = namespace(diagonal)
    n = diagonal.shape[0]
    stop = max(tol * float(xp.max(diagonal)), noise(diagonal))
    place = {"dtype": diagonal.dtype, "device": device_of(diagonal)}
    rows = xp.empty((min(rank, 64), n), **place)  # Gᵀ, so that each new column is contiguous
    residual = diagonal
    pivots: list[int] = []
    while (k := len(pivots)) < rank:
        i = int(xp.argmax(residual))
        if float(residual[i]) <= stop:
            break
        if k == rows.shape[0]:
            rows = xp.concat([rows, xp.empty((min(k, rank - k), n), **place)], axis=0)
        g = column(i) - xp.matrix_transpose(rows[:k, :]) @ rows[:k, i] if k else column(i)
        g = g / float(residual[i]) ** 0.5
        rows[k, :] = g
        residual = residual - g * g
        pivots.append(i)
    return pivots, xp.matrix_transpose(rows[: len(pivots), :])


class _Predictive:
    """The state of the search with side information.

    W is the set of columns evaluated so far, S ⊂ W the pivots chosen. With K̂_W and K̂_S the approximations of K on
    them, G Gᵀ = K̂_S and A Aᵀ = K̂_W − K̂_S: A stands for what is known of the residual K − GGᵀ. Choosing a pivot from W
    moves one direction from A to G, by a reflection. Q is an orthonormal basis of the centred columns of G, and `rest`
    what is left of Y after its projection.
    """

    def __init__(self, column: Any, diagonal: Any, Y: np.ndarray, delta: int, kappa: float):
        self.column, self.diagonal, self.xp = column, diagonal, namespace(diagonal)
        self.n, self.floor = diagonal.shape[0], noise(diagonal)
        self.rest = like(Y, diagonal)
        self.weights = (1 - kappa) / (float(self.xp.sum(diagonal)) or 1.0), kappa / float((Y**2).sum())
        self.G = self.A = self.Q = self.xp.zeros((self.n, 0), dtype=diagonal.dtype, device=device_of(diagonal))
        self.ahead: list[int] = []
        self.pivots: list[int] = []
        self.predicted: list[float] = []
        self.true: list[float] = []
        for _ in range(delta):
            self.look_ahead()

    def look_ahead(self, i: int | None = None) -> None:
        """Evaluate one more column: i, or the first whose residual after W is near the largest."""
        xp = self.xp
        known = xp.concat([self.G, self.A], axis=1)
        if i is None:
            residual = host(self.diagonal - xp.sum(known * known, axis=1))
            if residual.max() <= self.floor:
                return
            i = int(np.argmax(residual >= 0.995 * residual.max()))
        c = self.column(i) - known @ known[i, :]
        self.A = xp.concat([self.A, (c / c[i] ** 0.5)[:, None]], axis=1)
        self.ahead.append(i)

    def project(self, V: Any) -> Any:
        """Columns of V, centred and orthogonal to those of G."""
        V = V - self.xp.mean(V, axis=0)
        for _ in range(2):  # once more, for orthogonality to rounding
            V = V - self.Q @ (self.xp.matrix_transpose(self.Q) @ V)
        return V

    def gains(self) -> np.ndarray:
        """The expected decrease of the objective by each sample as next pivot; −1 for what W spans already.

        The residual's column i is taken as A aᵢ, except for its diagonal entry, which is known.
        """
        xp, A, B = self.xp, self.A, self.project(self.A)

        def size(M: Any) -> np.ndarray:
            return np.asarray(host(xp.sum((A @ M) ** 2, axis=1)), dtype=np.float64)

        # ‖M aᵢ‖ = ‖R aᵢ‖ with M = QR, so that n × delta products suffice
        norm, projected = (size(xp.matrix_transpose(xp.linalg.qr(M)[1])) for M in (A, B))
        explained = size(xp.matrix_transpose(B) @ self.rest)
        seen = np.asarray(host(xp.sum(A * A, axis=1)), dtype=np.float64)
        left = np.asarray(host(self.diagonal - xp.sum(self.G * self.G, axis=1)), dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = self.weights[0] * (norm + left**2 - seen**2) / left
            gain += self.weights[1] * np.where(projected > self.floor * seen, explained / projected, 0.0)
        choosable = left - seen > self.floor
        choosable[self.ahead] = True
        return np.where(choosable, gain, -1.0)

    def step(self, tol: float) -> bool:
        """Choose one pivot; False when none is expected to gain more than `tol`."""
        xp = self.xp
        if not self.ahead:
            return False
        gain = self.gains()
        best = int(np.argmax(gain))
        i = next((w for w in self.ahead if gain[w] >= 0.9 * gain[best]), best)
        if gain[best] <= max(tol, 0.0):
            return False
        known = i in self.ahead
        if not known:
            self.look_ahead(i)
        self._move(i)
        if known:
            self.look_ahead()
        q = self.project(self.G[:, -1:])
        fit = xp.matrix_transpose(q) @ self.rest
        length = float(xp.sum(q * q))
        explained = float(xp.sum(fit * fit)) / length if length > self.floor else 0.0
        self.predicted.append(float(gain[i]))
        self.true.append(self.weights[0] * float(xp.sum(self.G[:, -1] ** 2)) + self.weights[1] * explained)
        if length > self.floor:
            self.Q = xp.concat([self.Q, q / length**0.5], axis=1)
            self.rest = self.rest - q @ (fit / length)
        return True

    def _move(self, i: int) -> None:
        """Reflect A so that row i has a single entry; that column is the new column of G."""
        v = self.A[i, :]
        size = float(self.xp.sum(v * v)) ** 0.5
        sign = -1.0 if float(v[0]) >= 0 else 1.0
        first = like(np.eye(1, v.shape[0])[0], v)
        v = v - sign * size * first
        A = self.A - (self.A @ v)[:, None] * (2.0 * v / self.xp.sum(v * v))[None, :]
        self.G = self.xp.concat([self.G, sign * A[:, :1]], axis=1)
        self.A = A[:, 1:]
        self.ahead.remove(i)
        self.pivots.append(i)


def _side_information(y: Any, n: int, owner: object) -> np.ndarray:
    """y as centred columns of numbers; labels become indicators."""
    Y = host(y)
    if Y.ndim == 1 and Y.dtype.kind not in "fiub":
        Y = Y[:, None] == np.unique(Y)[None, :]
    Y = Y.astype(np.float64).reshape(len(Y), -1)
    if len(Y) != n:
        raise ValueError(f"{where(owner)}: y has {len(Y)} entries for {n} samples; give one for each.")
    Y = Y - Y.mean(axis=0)
    if not np.all(np.isfinite(Y)) or not Y.any():
        raise ValueError(f"{where(owner)}: y must be finite and not constant; leave it out to approximate K alone.")
    return Y
