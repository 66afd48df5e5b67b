"""Newton equations of linear machines: by a factorisation, or by conjugate gradients if the Hessian is large."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..linear.conjugate_gradient import truncated
from .linear_map import LinearMap

CHUNK = 1 << 21  # numbers in a block of rows while the Hessian is summed


def _curvature(design: LinearMap, pieces: Any, moving: np.ndarray, h: float) -> np.ndarray:
    """The penalties, with curvature added for an unpenalised intercept, which has none if no sample moves."""
    penalty = design.penalty.copy()
    if design.intercept and penalty[-1] == 0:
        penalty[-1] = float(pieces.cost.sum()) / h * (1e-12 if moving.any() else 1.0)
    return penalty


class Factored:
    """Newton equations by Cholesky factorisation; the sum over active samples is updated as they change."""

    iterated = False

    def __init__(self, design: LinearMap, pieces: Any):
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
        rows, d, cost = np.flatnonzero(chosen), self.design.d, self.pieces.cost
        step = max(1, CHUNK // self.size)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            Y, c = self.design.X[part] if len(part) < len(chosen) else self.design.X, sign * cost[part]
            alike = bool(np.all(c == c[0]))
            if self.design.intercept:
                self.sum[:d, d] += Y.T @ c
                self.sum[d, d] += c.sum()
            if not alike:
                root = np.sqrt(np.abs(c))[:, None]
                Y = Y.multiply(root).tocsr() if sparse.issparse(Y) else Y * root
            product = _dense(Y.T @ Y)
            product *= c[0] if alike else sign
            self.sum[:d, :d] += product
        self.sum[d:, :d] = self.sum[:d, d:].T

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


class Iterated:
    """Newton equations by conjugate gradients, preconditioned with the diagonal of the Hessian."""

    iterated = True

    def __init__(self, design: LinearMap, pieces: Any):
        self.design, self.pieces = design, pieces

    def __call__(self, G: np.ndarray, active: np.ndarray, h: float, accuracy: float) -> np.ndarray:
        """−H⁻¹G, to an accuracy relative to ‖G‖."""
        moving = self.pieces.moving(active)
        rows = np.flatnonzero(moving)
        part = LinearMap(self.design.X[rows], self.design.intercept, 0.0)
        part.penalty = _curvature(self.design, self.pieces, moving, h)
        stiffness, active = self.pieces.cost[rows] / h, active[rows]

        def hessian(V: np.ndarray) -> np.ndarray:
            return part.penalised(V) + part.moment(self.pieces.vary(active, part.values(V), stiffness))

        squares = part.X.multiply(part.X) if sparse.issparse(part.X) else part.X**2
        diagonal = part.penalty + LinearMap(squares, part.intercept, 0.0).moment(stiffness.reshape(-1))
        return truncated(hessian, -G, diagonal.reshape(-1, *[1] * (G.ndim - 1)), accuracy, 2 * G.size)


def _dense(A: Any) -> np.ndarray:
    return A.toarray() if sparse.issparse(A) else A
