r"""Sums of kernel values over near points only, which k-d trees find in few dimensions.

If φ has bounded support, all other terms are zero. Otherwise, with s₀ the squared scaled distance of the nearest point
and w₀ its weight, the terms at all s with φ(s) ≤ ε w₀ φ(s₀) sum to at most ε times the first one, since Σw = 1: with
ε = 2⁻⁵³, less than rounding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from .. import _threads
from ..kernels import Kernel, Radial
from ..types import Checked

WORTH = 1 << 22  # pairs of points from which trees may be faster
DIMENSION = 6  # most columns in which they are
SHARE = 1 / 8  # of all pairs, above which computing every pair is faster
TRIED = 256  # points by which that share is estimated
PAIRS = 1 << 20  # near pairs per block
EPS = 2.0**-53
SLACK = 1 + 2.0**-40  # of radii, so that rounding loses no pair
STEPS = 8  # radii per power of two


def log_sums(kernel: Kernel, points: Checked, log_weight: np.ndarray, X: Checked) -> np.ndarray | None:
    """log Σ wⱼ k(x, xⱼ) for each row of X, with Σw = 1; None if computing every pair is faster, or no tree applies."""
    m, n = len(log_weight), X.shape[0]
    if not (type(X) is type(points) is np.ndarray and n * m >= WORTH and X.shape[1] <= DIMENSION):
        return None
    if not np.isfinite(kernel.reach(np.float64(-1.0))):
        return None
    radial: Any = kernel.in_dimension_of(X)
    used = np.flatnonzero(log_weight > -np.inf)
    new, old = radial.centred([Z.astype(np.float64, copy=False) for Z in (X, points[used])])
    if not radial.have_squares(new, old):
        return None
    near = _Near(radial, old, log_weight[used])
    return near.log_sums(new).astype(X.dtype, copy=False) if near.few(new) else None


class _Near:
    """The near points of others, and sums over them; all points are in units of the lengthscale."""

    def __init__(self, kernel: Radial, points: np.ndarray, log_weight: np.ndarray):
        self.kernel, self.log_weight = kernel, log_weight
        self.tree = cKDTree(points, balanced_tree=False)
        self.bounded = bool(np.isfinite(kernel.reach(np.float64(-np.inf))))

    def search(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A radius around each point beyond which no term counts, and log k of its nearest one or of itself."""
        if self.bounded:
            return np.full(len(X), SLACK * np.sqrt(self.kernel.reach(np.float64(-np.inf)))), np.zeros(len(X))
        distance, index = self.tree.query(X, workers=_threads.n_threads())
        top = self.kernel.log_profile(distance**2, np)
        radius = np.sqrt(self.kernel.reach(top + self.log_weight[index] + np.log(EPS)))
        return 2 ** (np.ceil(STEPS * np.log2(SLACK * radius)) / STEPS), top  # few different ones

    def few(self, X: np.ndarray) -> bool:
        """Whether near pairs are few, by a sample of points."""
        some = X[:: -(-len(X) // TRIED)]
        return float(np.mean(self.counts(some, self.search(some)[0]))) <= SHARE * self.tree.n

    def counts(self, X: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """The number of near points of each."""
        return self.tree.query_ball_point(X, radii, return_length=True, workers=_threads.n_threads())

    def log_sums(self, X: np.ndarray) -> np.ndarray:
        sums = np.empty(len(X))
        radii, top = self.search(X)
        counts = self.counts(X, radii)

        def work(rows: np.ndarray) -> None:
            pairs = cKDTree(X[rows]).sparse_distance_matrix(self.tree, radii[rows[0]], output_type="ndarray")
            i, j = pairs["i"], pairs["j"]
            with np.errstate(divide="ignore"):
                terms = self.kernel.log_profile(pairs["v"] ** 2, np) + self.log_weight[j] - top[rows][i]
                sums[rows] = np.log(np.bincount(i, np.exp(terms), len(rows))) + top[rows]

        _threads.run(_blocks(radii, counts), work)
        return sums


def _blocks(radii: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Points of one radius, with as many near points as fit into a block."""
    order = np.argsort(radii, kind="stable")
    full = np.cumsum(counts[order]) // PAIRS
    ends = np.flatnonzero((np.diff(radii[order]) > 0) | (np.diff(full) > 0)) + 1
    return np.split(order, ends)
