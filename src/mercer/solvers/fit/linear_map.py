"""The functions f = Xw + b of linear machines."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse


class LinearMap:
    """f = Xw + b with penalty ½‖w‖² + (τ/2)b², X dense or CSR. The unknowns V are (w, b), or w without an intercept."""

    def __init__(self, X: Any, intercept: bool, tau: float):
        self.X, self.intercept = X, intercept
        self.n, self.d = X.shape
        self.penalty = np.ones(self.d + intercept)
        self.penalty[self.d :] = tau

    @cached_property
    def columns(self) -> Any:
        """The matrix of f in the unknowns, by columns."""
        if not issparse(self.X):
            rows = np.ones((len(self.penalty), self.n))
            rows[: self.d] = self.X.T
            return rows.T
        X, ones = self.X.tocsc(), np.ones(self.n)
        if not self.intercept:
            return X
        indices = np.concatenate([X.indices, np.arange(self.n, dtype=X.indices.dtype)])
        indptr = np.append(X.indptr, X.indptr[-1:] + X.indptr.dtype.type(self.n))
        return csc_array((np.concatenate([X.data, ones]), indices, indptr), shape=(self.n, self.d + 1))

    @cached_property
    def occurring(self) -> tuple[np.ndarray, LinearMap]:
        """The features of sparse X that are not zero for all samples, and the map for these alone."""
        counts = np.bincount(self.X.indices, minlength=self.d)
        features, place = np.flatnonzero(counts), np.cumsum(counts > 0) - 1
        place = place.astype(self.X.indices.dtype)
        X = csr_array((self.X.data, place[self.X.indices], self.X.indptr), shape=(self.n, len(features)))
        return features, LinearMap(X, self.intercept, float(self.penalty[-1]))

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
        """The contribution of the gradient G to the gap."""
        if self.intercept and self.penalty[-1] == 0:
            reach = 2 * np.abs(V[-1]) + scale  # from b to the far end of [−|b| − scale, |b| + scale]
            return 0.5 * float(np.sum(G[:-1] ** 2)) + float(np.sum(np.abs(G[-1]) * reach))
        return 0.5 * float(np.sum((G**2).T / self.penalty))
