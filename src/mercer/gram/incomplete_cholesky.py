"""Pivoted incomplete Cholesky factors, greedy in the trace of K, or in the trace and the fit to y.

Fine, Scheinberg, *Efficient SVM training using low-rank kernel representations* (2001), and with side information Bach,
Jordan, *Predictive low-rank decomposition for kernel methods* (2005), the algorithm CSI.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import device_of, doubles, host, is_sparse, like, namespace
from .._errors import FROM_ONE, NOT_NEGATIVE, ONE_OR_NONE, SHARE, KindError, check_parameters, shown, where
from ..kernels import Kernel
from ..types import Array, Checked, EstimatorLike, Index
from ._base import Representation
from ._pivoted import PivotedGram, columns, noise


class IncompleteCholesky(Representation):
    r"""K ≈ GGᵀ from the columns of r pivots, each the sample with the largest residual k(xᵢ, xᵢ) − (GGᵀ)ᵢᵢ.

    With `y`, each pivot is instead the one expected to lower

    .. math:: (1 - \kappa) \frac{\operatorname{tr}(K - GG^\top)}{\operatorname{tr} K}
              + \kappa \frac{\min_B \|Y - GB\|_F^2}{\|Y\|_F^2}

    the most (columns of G and Y centred), judged from `delta` columns computed ahead.

    Parameters
    ----------
    rank : int >= 1, optional
        The largest number of columns; None: as many as `tol` requires, up to n.
    tol : float >= 0
        Stop when no residual exceeds ``tol`` times the largest k(x, x); with `y`, when no column is expected to lower
        the objective by more than ``tol``. Raising it gives fewer columns. Rounding errors never become pivots.
    y : array of shape (n,) or (n, p), optional
        Side information: numbers to predict from the factor, or non-numeric labels (encode integer classes as p
        indicator columns).
    delta : int >= 1
        Columns computed ahead. More predict gains better, at O(n·delta²) a step; used only with `y`.
    kappa : float in [0, 1]
        Weight of predicting y against approximating K; used only with `y`.

    Notes
    -----
    The matrix is never formed: r columns (r + `delta` with `y`) are evaluated, in O(nr²) operations and O(nr) memory.
    The Gram has `pivots`, `residual` and `trace_error`, and with `y` also `predicted_gain` and `true_gain`, by how much
    each column lowers the objective. For new points, φ(x) = L⁻¹k(C, x), with C the pivots and L their rows of G.

    With `y`, near-ties go to earlier candidates, as in kernlab's ``csi``: among gains within a tenth of the best, the
    earliest column computed ahead is chosen (its gain is exact, and it is available); among residuals within half a
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

    streams = True

    def __init__(
        self, rank: int | None = None, tol: float = 1e-6, y: Array = None, delta: int = 40, kappa: float = 0.99
    ):
        self.rank, self.tol, self.y, self.delta, self.kappa = rank, tol, y, delta, kappa

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> PivotedGram:
        check_parameters(self, {"tol": NOT_NEGATIVE, "rank": ONE_OR_NONE})
        kernel.require_pd(
            kernel.domain.dimension(X), self, why=", so its matrix has no factor", remedy="use Dense or Lazy"
        )
        n = kernel.domain.size(X)
        rank = n if self.rank is None else min(self.rank, n)
        centres = kernel.domain.centres(X)

        def column(i: int) -> Any:
            return columns(kernel, X, centres, i)[:, 0]

        diagonal = kernel.evaluate_diag(X)
        if self.y is None:
            pivots, G = _greedy(column, diagonal, rank, self.tol)
            return PivotedGram(kernel, X, diagonal, pivots, G)
        check_parameters(self, {"delta": FROM_ONE, "kappa": SHARE})
        search = _Predictive(column, diagonal, _side_information(self.y, n, self), rank, self.delta, self.kappa)
        while len(search.pivots) < rank and search.step(self.tol):
            pass
        gram = PivotedGram(kernel, X, diagonal, search.pivots, namespace(diagonal).matrix_transpose(search.G.rows))
        gram.predicted_gain, gram.true_gain = np.asarray(search.predicted), np.asarray(search.true)
        return gram


class _Columns:
    """Vectors of length n as rows of a growing buffer: each is contiguous, and products need no copy."""

    def __init__(self, model: EstimatorLike, most: int):
        self.xp, self.most, self.size = namespace(model), most, 0
        self.place = {"dtype": model.dtype, "device": device_of(model)}
        self.buffer = self.xp.empty((min(most, 64), model.shape[0]), **self.place)

    @property
    def rows(self) -> Any:
        return self.buffer[: self.size, :]

    def append(self, v: Array) -> None:
        if self.size == self.buffer.shape[0]:
            more = min(self.size, self.most - self.size)
            self.buffer = self.xp.concat([self.buffer, self.xp.empty((more, v.shape[0]), **self.place)], axis=0)
        self.buffer[self.size, :] = v
        self.size += 1


def _combined(rows: Index, weights: Array) -> Any:
    """Σⱼ weightsⱼ rowsⱼ."""
    return namespace(rows).matrix_transpose(rows) @ weights


def _greedy(column: Any, diagonal: Any, rank: int, tol: float) -> tuple[list[int], Any]:
    """Pivots of largest residual, and the factor's columns, up to `rank` or a residual ≤ tol · max k(x, x)."""
    xp = namespace(diagonal)
    stop = max(tol * float(xp.max(diagonal)), noise(diagonal))
    G, residual = _Columns(diagonal, rank), diagonal
    pivots: list[int] = []
    while len(pivots) < rank:
        i = int(xp.argmax(residual))
        if float(residual[i]) <= stop:
            break
        g = (column(i) - _combined(G.rows, G.rows[:, i])) / float(residual[i]) ** 0.5
        G.append(g)
        residual = residual - g * g
        pivots.append(i)
    return pivots, xp.matrix_transpose(G.rows)


class _Predictive:
    """The state of the search with side information."""

    # W is the set of columns evaluated so far, S ⊂ W the pivots chosen. With K̂_W and K̂_S the approximations of K on
    # them, GᵀG = K̂_S and AᵀA = K̂_W − K̂_S (vectors of length n are rows here): A represents the known part of the
    # residual. Choosing a pivot from W moves one direction from A to G by a reflection. Q is an orthonormal basis of
    # the centred rows of G; B and `rest` are the residuals of the centred A and of Y after projection on Q. A step
    # costs O(n(delta² + r)).

    def __init__(self, column: Any, diagonal: Any, Y: np.ndarray, rank: int, delta: int, kappa: float):
        self.column, self.xp, self.floor = column, namespace(diagonal), noise(diagonal)
        self.left = self.unseen = diagonal  # the residual diagonals after S and after W
        self.rest = like(Y, diagonal)
        self.weights = (1 - kappa) / (float(self.xp.sum(diagonal)) or 1.0), kappa / float((Y**2).sum())
        self.G, self.Q = _Columns(diagonal, rank), _Columns(diagonal, rank)
        self.A = self.B = self.G.rows
        self.ahead: list[int] = []
        self.pivots: list[int] = []
        self.predicted: list[float] = []
        self.true: list[float] = []
        for _ in range(delta):
            self.look_ahead()

    def look_ahead(self, i: int | None = None) -> None:
        """Evaluate one more column: i, or the first whose residual after W is near the largest."""
        xp = self.xp
        if i is None:
            unseen = host(self.unseen)
            if unseen.max() <= self.floor:
                return
            i = int(np.argmax(unseen >= 0.995 * unseen.max()))
        c = self.column(i) - _combined(self.G.rows, self.G.rows[:, i]) - _combined(self.A, self.A[:, i])
        a = c / c[i] ** 0.5
        b = self.project(self.project(a - xp.mean(a)))  # twice, for orthogonality to rounding
        self.A = xp.concat([self.A, a[None, :]], axis=0)
        self.B = xp.concat([self.B, b[None, :]], axis=0)
        self.unseen = self.unseen - a * a
        self.ahead.append(i)

    def project(self, v: Array) -> Any:
        return v - _combined(self.Q.rows, self.Q.rows @ v)

    def gains(self) -> np.ndarray:
        """The expected decrease of the objective with each sample as next pivot; −1 if W already spans it."""
        # the residual's column i is taken as Aᵀaᵢ, except for its diagonal entry, which is known
        xp, A, B = self.xp, self.A, self.B
        T = xp.matrix_transpose
        norm, projected, explained, seen, left = (
            doubles(v)
            for v in (
                xp.sum(A * ((A @ T(A)) @ A), axis=0),
                xp.sum(A * ((B @ T(B)) @ A), axis=0),
                xp.sum((T(B @ self.rest) @ A) ** 2, axis=0),
                xp.sum(A * A, axis=0),
                self.left,
            )
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = self.weights[0] * (norm + left**2 - seen**2) / left
            gain += self.weights[1] * np.where(projected > self.floor * seen, explained / projected, 0.0)
        choosable = host(self.unseen) > self.floor
        choosable[self.ahead] = True
        return np.where(choosable, gain, -1.0)

    def step(self, tol: float) -> bool:
        """Choose one pivot; False when none is expected to gain more than `tol`."""
        if not self.ahead:
            return False
        gain = self.gains()
        best = int(np.argmax(gain))
        if gain[best] <= tol:
            return False
        i = next((w for w in self.ahead if gain[w] >= 0.9 * gain[best]), best)
        known = i in self.ahead
        if not known:
            self.look_ahead(i)
        self.predicted.append(float(gain[i]))
        self.true.append(self._move(i))
        if known:
            self.look_ahead()
        return True

    def _move(self, i: int) -> float:
        """Move sample i from W to S, and return the gain in the objective."""
        xp = self.xp
        v = self.A[:, i]
        sign = -1.0 if float(v[0]) >= 0 else 1.0
        v = v - sign * float(xp.sum(v * v)) ** 0.5 * like(np.eye(1, v.shape[0])[0], v)
        # the reflection I − 2vvᵀ/vᵀv leaves only the first entry in column i of A
        A, B = (M - v[:, None] * (2.0 / xp.sum(v * v) * (v @ M))[None, :] for M in (self.A, self.B))
        g, q = sign * A[0, :], self.project(sign * B[0, :])
        self.A, self.B = A[1:, :], B[1:, :]
        self.left = self.left - g * g
        self.G.append(g)
        self.ahead.remove(i)
        self.pivots.append(i)
        gain = self.weights[0] * float(xp.sum(g * g))
        length = float(xp.sum(q * q)) ** 0.5
        if length**2 > self.floor:
            q = q / length
            fit = q @ self.rest
            self.Q.append(q)
            self.B = self.B - (self.B @ q)[:, None] * q[None, :]
            self.rest = self.rest - q[:, None] * fit[None, :]
            gain += self.weights[1] * float(xp.sum(fit * fit))
        return gain


def _side_information(y: Array, n: int, owner: object) -> np.ndarray:
    """y as centred columns of numbers; labels become indicators."""
    Y = np.array(None) if is_sparse(y) else host(y)
    if Y.ndim not in (1, 2) or (Y.ndim == 2 and Y.dtype.kind not in "fiub"):
        raise KindError(f"{where(owner)}: y = {shown(y)} must be an array of numbers or labels, one row per sample.")
    if Y.ndim == 1 and Y.dtype.kind not in "fiub":
        Y = Y[:, None] == np.unique(Y)[None, :]
    if len(Y) != n:
        raise ValueError(f"{where(owner)}: y has {len(Y)} entries for {n} samples; give one for each.")
    Y = Y.astype(np.float64).reshape(n, -1)
    Y = Y - Y.mean(axis=0)
    if not np.all(np.isfinite(Y)) or not Y.any():
        raise ValueError(f"{where(owner)}: y must be finite and not constant; omit it to approximate K alone.")
    return Y
