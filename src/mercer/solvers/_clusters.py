"""Weighted points in a kernel's space and their clusters, by products with K or by its factor Z."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._array import eps, host, like
from .._threads import slices
from ..gram import Gram
from ..types import Index

ROUNDING = 1e-10  # relative differences below this count as rounding
SMALL = 1 << 16  # entries up to which a membership matrix, mostly 0, is faster as an array than as a sparse matrix
ENTRIES = 1 << 21  # per block of a kernel matrix or factor
FAR = 100.0  # times the variance: if the squared mean is larger, it is subtracted from the points first


class Clusters:
    """Base class for a partition of weighted points in the space that changes by moves."""

    labels: np.ndarray
    sizes: np.ndarray
    squares: np.ndarray  # ‖φ(xᵢ)‖², from an origin chosen by the subclass
    noise: float  # squared distances below it are rounding

    def __init__(self, weight: np.ndarray):
        self.weight, self.n = weight, len(weight)

    def start(self, labels: np.ndarray, k: int) -> None:
        """Start with these labels."""
        self.labels, self.k = np.array(labels, dtype=np.intp), k
        self._count()
        self._restart()

    def _count(self) -> None:
        self.sizes = np.bincount(self.labels, self.weight, self.k)  # recomputed, so that empty clusters are exactly 0

    def _membership(self, index: np.ndarray, weight: np.ndarray) -> Any:
        """The (k, m) matrix that sums the given points by cluster."""
        m = len(index)
        if self.k * m > SMALL:
            return csr_array((weight, (self.labels[index], np.arange(m))), shape=(self.k, m))
        member = np.zeros((self.k, m))
        member[self.labels[index], np.arange(m)] = weight
        return member

    def move(self, index: np.ndarray, target: np.ndarray) -> None:
        """Move points to other clusters."""
        leaving = self._membership(index, self.weight[index])
        self.labels[index] = target
        self._count()
        self._add(index, self._membership(index, self.weight[index]) - leaving)

    def objective(self) -> float:
        """J."""
        return float(self.weight @ self.squares - self._means_squared() @ self.sizes)

    def distances(self) -> np.ndarray:
        """‖φ(xᵢ) − m_c‖², of shape (k, n); infinite for an empty cluster."""
        D = self._inner()
        D *= -2
        D += self._means_squared()[:, None]
        D += self.squares
        D[self.sizes == 0] = np.inf
        return D

    def nearest(self) -> np.ndarray:
        """The cluster with the nearest mean for each point; its current one in a tie."""
        D = self.distances()
        least = D.min(axis=0) + self.noise
        best = (least >= D).argmax(axis=0)
        return np.where(least < D[self.labels, np.arange(self.n)], best, self.labels)

    def fill(self) -> None:
        """Give each empty cluster the point with the largest cost, which lowers J by at least that cost."""
        empty = np.flatnonzero(self.sizes == 0)
        if not len(empty):
            return
        own = self.distances()[self.labels, np.arange(self.n)]
        cost = self.weight * np.where((own > self.noise) & (self.weight > 0), own, 0.0)
        for c in empty:
            members = np.bincount(self.labels[self.weight > 0], minlength=self.k)
            spare = np.where(members[self.labels] > 1, cost, 0.0)
            i = int(largest(spare))
            if spare[i] == 0:
                raise too_few(self.k, int(np.sum(self.sizes > 0)))
            cost[i] = 0
            self.move(np.array([i]), np.array([c]))

    def best_move(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The single move that lowers J the most, or None."""
        D, w, every = self.distances(), self.weight, np.arange(self.n)
        rest = self.sizes[self.labels] - w
        alone = rest <= 0
        leave = w * self.sizes[self.labels] / np.where(alone, 1.0, rest) * D[self.labels, every]
        D *= w * self.sizes[:, None] / (self.sizes[:, None] + w)
        D[self.labels, every] = np.inf
        target = D.argmin(axis=0)
        gain = np.where(alone | (w == 0), 0.0, leave - D[target, every])
        i = int(largest(gain))
        return (np.array([i]), target[[i]]) if gain[i] > self.noise * w[i] else None

    def between(self, index: np.ndarray) -> np.ndarray:
        """‖φ(xᵢ) − φ(xⱼ)‖² between all points i and the points j in `index`, of shape (len(index), n)."""
        raise NotImplementedError

    def _restart(self) -> None:
        """Recompute everything that depends on the labels."""
        raise NotImplementedError

    def _add(self, index: np.ndarray, change: Any) -> None:
        """Update after a move; `change` has the weights added and removed, of shape (k, m)."""
        raise NotImplementedError

    def _inner(self) -> np.ndarray:
        """⟨φ(xᵢ), m_c⟩, of shape (k, n); 0 for an empty cluster."""
        raise NotImplementedError

    def _means_squared(self) -> np.ndarray:
        """‖m_c‖²; 0 for an empty cluster."""
        raise NotImplementedError

    def _over_sizes(self, values: np.ndarray) -> np.ndarray:
        return values / np.where(self.sizes > 0, self.sizes, 1.0).reshape(-1, *[1] * (values.ndim - 1))


class ProductClusters(Clusters):
    """Clusters by products with K: O(n²k) for the start, then one row of K for each point that moves."""

    def __init__(self, gram: Gram, weight: np.ndarray):
        super().__init__(weight)
        self.gram, self.like = gram, gram.like
        self.squares = host(gram.diagonal()).astype(np.float64)
        self.noise = 64 * eps(self.like) * float(np.abs(self.squares).max())

    def _restart(self) -> None:
        member = self._membership(np.arange(self.n), self.weight)
        member = member if isinstance(member, np.ndarray) else member.toarray()
        self.sums = np.ascontiguousarray(host(self.gram @ like(member.T, self.like)).T, dtype=np.float64)

    def _add(self, index: np.ndarray, change: Any) -> None:
        if 4 * len(index) > self.n:  # a product is symmetric and threaded
            self._restart()
            return
        for part in slices(len(index), max(1, ENTRIES // self.n)):
            self.sums += change[:, part] @ self._rows(index[part])

    def _rows(self, index: np.ndarray) -> np.ndarray:
        return host(self.gram.block(index, slice(None))).astype(np.float64, copy=False)

    def _inner(self) -> np.ndarray:
        return self._over_sizes(self.sums)

    def _means_squared(self) -> np.ndarray:
        own = self.weight * self.sums[self.labels, np.arange(self.n)]
        return self._over_sizes(self._over_sizes(np.bincount(self.labels, own, self.k)))

    def between(self, index: np.ndarray) -> np.ndarray:
        D = self.squares + self.squares[index, None] - 2 * self._rows(index)
        return np.where(self.noise < D, D, 0.0)


class FactorClusters(Clusters):
    """Clusters by the rows of Z, K̂ = ZZᵀ, centred if the mean is large: at most O(nrk) a round, exact for K̂.

    Points that cannot change their cluster are skipped: `upper` bounds the distance to their own mean from above,
    `lower` the distances to all others from below, and both are updated by how far the means moved (Hamerly, *Making
    k-means even faster*, 2010).
    """

    def __init__(self, Z: np.ndarray, weight: np.ndarray):
        super().__init__(weight)
        self.Z = Z
        mean = ((weight / weight.sum()) @ Z).astype(Z.dtype)
        spread = float(np.einsum("ij,ij,i->", Z, Z, weight)) / float(weight.sum()) - float(mean @ mean)
        self.origin = mean if float(mean @ mean) > FAR * spread else None
        rows = map(self._rows, self._parts(self.n))
        self.squares = np.concatenate([np.einsum("ij,ij->i", B, B, dtype=np.float64) for B in rows])
        self.noise = 64 * eps(Z) * float(self.squares.max())

    def _parts(self, n: int) -> list[slice]:
        return slices(n, max(1, ENTRIES // (8 * max(1, self.Z.shape[1]))))

    def _rows(self, index: Index) -> np.ndarray:
        return self.Z[index] if self.origin is None else self.Z[index] - self.origin

    def _restart(self) -> None:
        self.sums = np.zeros((self.k, self.Z.shape[1]))
        every = np.arange(self.n)
        self._add(every, self._membership(every, self.weight))
        self.seen: np.ndarray | None = None  # the means for which the bounds hold
        self.bounded = self.labels  # and the labels

    def _add(self, index: np.ndarray, change: Any) -> None:
        for part in self._parts(len(index)):
            self.sums += change[:, part] @ self._rows(index[part] if len(index) < self.n else part)

    def _inner(self) -> np.ndarray:
        means = self._over_sizes(self.sums).astype(self.Z.dtype)
        return _joined([means @ self._rows(part).T for part in self._parts(self.n)]).astype(np.float64)

    def _means_squared(self) -> np.ndarray:
        means = self._over_sizes(self.sums)
        return np.einsum("ij,ij->i", means, means)

    def between(self, index: np.ndarray) -> np.ndarray:
        B = -2 * self._rows(index)
        D = _joined([B @ self._rows(part).T for part in self._parts(self.n)]) + self.squares
        D += self.squares[index, None]
        return np.where(self.noise < D, D, 0.0)

    def nearest(self) -> np.ndarray:
        if np.any(self.sizes == 0) or self.k == 1:
            return super().nearest()
        means, squared, labels = self._over_sizes(self.sums), self._means_squared(), self.labels.copy()
        if self.seen is None:
            self.upper, self.lower = np.full(self.n, np.inf), np.zeros(self.n)
        else:
            drift = np.sqrt(np.sum((means - self.seen) ** 2, axis=1))
            self.upper += drift[self.bounded]
            self.lower -= drift.max()
        apart = squared[:, None] + squared - 2 * (means @ means.T)
        np.fill_diagonal(apart, np.inf)
        safe = np.maximum(self.lower, np.sqrt(np.maximum(apart.min(axis=1), 0))[labels] / 2)
        if self.seen is not None:  # the bounds of a point moved by `fill` are for another cluster
            self.upper[self.bounded != labels] = np.inf
        doubtful = np.flatnonzero(self.upper >= safe - np.sqrt(self.noise))
        whole = 2 * len(doubtful) > self.n
        directions = (-2 * means.T).astype(self.Z.dtype)
        for part in self._parts(self.n if whole else len(doubtful)):
            index = np.arange(part.start, part.stop) if whole else doubtful[part]
            D = self._rows(part if whole else index) @ directions + squared
            rows = np.arange(len(index))
            own = D[rows, labels[index]]
            least = D.min(axis=1)
            best = ((least + self.noise)[:, None] >= D).argmax(axis=1)
            best = np.where(least + self.noise < own, best, labels[index])
            least = D[rows, best]
            D[rows, best] = np.inf
            labels[index] = best
            self.upper[index] = np.sqrt(np.maximum(least + self.squares[index], 0))
            self.lower[index] = np.sqrt(np.maximum(D.min(axis=1) + self.squares[index], 0))
        self.seen, self.bounded = means, labels.copy()
        return labels


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)


def clusters_of(gram: Gram, weight: np.ndarray) -> Clusters:
    """The points of a Gram operator, by its factor if it has one."""
    return FactorClusters(host(gram.factor()), weight) if "factor" in gram.provides else ProductClusters(gram, weight)


def largest(values: np.ndarray) -> np.ndarray:
    """The first index of the largest value along the last axis, up to rounding, so that ties do not depend on it."""
    size = np.abs(values).max(axis=-1, keepdims=True)
    return (values >= values.max(axis=-1, keepdims=True) - ROUNDING * size).argmax(axis=-1)


def too_few(k: int, distinct: int) -> ValueError:
    """The error for more clusters than distinct points."""
    return ValueError(
        f"n_clusters = {k} exceeds the number of distinct points of positive weight in the kernel's space, at most "
        f"{distinct}; use fewer clusters, or a kernel that separates more points. Points equal up to rounding count as "
        "one: remove large offsets from the data, or use double precision."
    )
