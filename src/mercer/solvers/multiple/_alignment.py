r"""Inner products of centred Gram operators, and kernel weights derived from them.

.. math:: \langle K, L \rangle = \sum_{ij} w_i w_j\, \tilde K_{ij} \tilde L_{ij}, \qquad \tilde K = H K H^\top,\quad
          H = I - 1 w^\top, \quad \sum w_i = 1

is computed from factors as :math:`\lVert Z_K^\top Z_L \rVert^2` if all have one, and otherwise by blocks of rows, so
that no full matrix is stored. A weight of 2 is equivalent to repeating a sample.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import nnls

from ... import _threads
from ..._array import doubles, host, is_array, like
from ...gram import Gram
from ...gram.centered import CenteredGram
from ...types import Array

BLOCK = 1 << 23  # total entries of the blocks of rows in memory at once: 64 MiB
ROUNDING = 1e-12  # relative squared length below which the result of centring counts as zero


def target_columns(y: Array, classes: bool) -> np.ndarray:
    """Y with K_Y = YYᵀ: the targets, or an indicator column for each class (of each column of y)."""
    y = host(y)
    y = y.reshape(len(y), -1)
    if not classes:
        return y.astype(np.float64)
    labels = [np.unique(column, return_inverse=True)[1] for column in y.T]
    return np.hstack([np.eye(inverse.max() + 1)[inverse] for inverse in labels])


def shares(n: int, weight: Array) -> np.ndarray:
    """Weights normalised to sum to one; equal weights for None."""
    return np.full(n, 1.0 / n) if weight is None else doubles(weight) / host(weight).sum()


def inner_products(
    operators: Sequence[Any], weight: Array = None, centered: bool = True, scales: Any = None
) -> np.ndarray:
    """All ⟨K, L⟩, as a symmetric matrix; an operator is a `Gram`, or an array Y of n rows for K = YYᵀ.

    For a constant operator, products are exactly 0. With `scales` s they are the products of K/s, whose squares do not
    overflow even if those of K do.
    """
    n = int(operators[0].shape[0])
    w = shares(n, weight)
    scales = np.ones(len(operators)) if scales is None else scales
    parts = [_Operator(op, w, centered, float(s)) for op, s in zip(operators, scales, strict=True)]
    M = np.zeros((len(parts), len(parts)))
    if all(part.Z is not None for part in parts):
        for i, a in enumerate(parts):
            for j, b in enumerate(parts[: i + 1]):
                M[i, j] = M[j, i] = np.sum((a.Z.T @ b.Z) ** 2)
    else:
        for rows in _threads.slices(n, max(1, BLOCK // (n * len(parts)))):
            B = np.stack([part.block(rows).ravel() for part in parts])
            M += B @ B.T
    nothing = np.sqrt(np.diagonal(M)) <= [ROUNDING * part.mean_square for part in parts]
    M[nothing], M[:, nothing] = 0.0, 0.0
    return M


class _Operator:
    """A centred and weighted operator, by its factor if it has one, otherwise by blocks of rows."""

    def __init__(self, operator: Any, w: np.ndarray, centered: bool, scale: float):
        self.root, self.scale = np.sqrt(w), scale
        self.Z: Any = None
        self.mean_square = 0.0  # ‖μ‖²: centring leaves rounding errors of this size
        given = is_array(operator)
        if not given and "factor" not in operator.provides:
            self.gram = operator
            if centered:
                self.gram = CenteredGram(operator, w)
                self.mean_square = float(self.gram.total) / scale
            return
        Z = doubles(operator if given else operator.factor()) / math.sqrt(scale)
        if centered:
            mean = w @ Z
            Z, self.mean_square = Z - mean, float(mean @ mean)
        self.Z = self.root[:, None] * Z

    def block(self, rows: slice) -> np.ndarray:
        if self.Z is not None:
            return np.asarray(self.Z[rows] @ self.Z.T)
        B = doubles(self.gram.block(rows, slice(None)))
        return self.root[rows, None] * (B / self.scale) * self.root


def normalised(M: np.ndarray) -> np.ndarray:
    """⟨K, L⟩ / ‖K‖‖L‖; 0 if one of them is 0."""
    norm = np.sqrt(np.clip(np.diagonal(M), 0, None))
    norm = np.where(norm > 0, norm, np.inf)
    return M / np.outer(norm, norm)


def variance(gram: Gram, weight: Array = None) -> float:
    """The mean squared distance Σ wᵢ ‖φ(xᵢ) − μ‖² of the samples from their mean; 0 up to rounding."""
    w = shares(gram.n, weight)
    diagonal = float(doubles(gram.diagonal()) @ w)
    spread = diagonal - float(w @ doubles(gram @ like(w, gram.like)))
    return spread if spread > ROUNDING * abs(diagonal) else 0.0


def quadratic_forms(grams: Sequence[Gram], coefficients: Array) -> np.ndarray:
    """tr AᵀKA for each operator K: the squared norms of Σ aᵢ k(·, xᵢ), summed over the columns of A."""
    A = like(coefficients, grams[0].like)
    return np.array([float(np.sum(host(A) * host(gram @ A), dtype=np.float64)) for gram in grams])


# ---- weights on the simplex from inner products


def alignments(M: np.ndarray, a: np.ndarray) -> np.ndarray:
    """⟨Kₖ, L⟩ / ‖Kₖ‖ from all ⟨Kₖ, Kₗ⟩ and the ⟨Kₖ, L⟩ with an L of norm one; 0 for a zero matrix."""
    norm = np.sqrt(np.diagonal(M))
    return np.divide(a, norm, out=np.zeros_like(norm), where=norm > 0)


def align(M: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Weights proportional to the alignment of each kernel with the target, ignoring the others."""
    return _on_simplex(alignments(M, a))


def alignf(M: np.ndarray, a: np.ndarray) -> np.ndarray:
    r"""The non-negative weights whose combination has the largest alignment with the target.

    :math:`\max_{\mu \ge 0} \mu^\top a / \sqrt{\mu^\top M \mu}` is attained in the direction of
    :math:`\arg\min_{v \ge 0} v^\top M v - 2 v^\top a`, a least-squares problem with a square root of M.
    """
    scale = np.sqrt(np.diagonal(M))
    scale = np.where(scale > 0, scale, np.inf)
    values, V = np.linalg.eigh(M / np.outer(scale, scale))  # with unit diagonal, so that nnls treats columns equally
    keep = values > len(M) * np.finfo(float).eps * max(values[-1], 0.0)
    if not keep.any():
        return _on_simplex(np.zeros(len(M)))
    root = np.sqrt(values[keep])
    v, _ = nnls(root[:, None] * V[:, keep].T, (V[:, keep].T @ (a / scale)) / root)
    return _on_simplex(v / scale)


def consensus(M: np.ndarray) -> np.ndarray:
    """The weights of the STATIS compromise: the leading eigenvector of all alignments, each kernel with norm one."""
    R = normalised(M)
    leading = np.abs(np.linalg.eigh(R)[1][:, -1])  # one sign, since no entry is negative
    return _on_simplex(alignments(M, leading))


def _on_simplex(v: np.ndarray) -> np.ndarray:
    v = np.clip(v, 0.0, None)
    return v / v.sum() if v.sum() > 0 else np.full(len(v), 1.0 / len(v))
