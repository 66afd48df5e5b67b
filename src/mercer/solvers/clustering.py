r"""Clusters in a kernel's space: k-means by products with K, or by the factor Z where there is one.

The means m_c = Σ_{i ∈ c} wᵢφ(xᵢ)/s_c with s_c = Σ_{i ∈ c} wᵢ are never held. With u the indicator of a cluster,
⟨φ(xᵢ), s_c m_c⟩ = (K W u)ᵢ, and all that the algorithm needs are these n·k numbers:

    ‖φ(xᵢ) − m_c‖² = Kᵢᵢ − 2 (KWu)ᵢ / s_c + uᵀWKWu / s_c²,       J = Σ wᵢKᵢᵢ − Σ_c uᵀWKWu / s_c.

A round (Lloyd) takes every point to its nearest mean, which cannot raise J. Where no point wants to move, a single move
may still lower J, because it moves the means too: from a to b it changes J by wᵢs_b/(s_b + wᵢ)·d²_ib −
wᵢs_a/(s_a − wᵢ)·d²_ia (Hartigan, *Clustering algorithms*, 1975; Dhillon, Guan, Kogan, *Iterative clustering of high
dimensional text data augmented by local search*, 2002). That number, unlike the rounds, does not depend on a multiple
of W⁻¹ added to K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from .._array import eps, host, like
from .._threads import slices
from ..context import Status, current, warn_early
from ..gram import Gram
from ..types import Index
from .solution import Solution

__all__ = [
    "Clusters",
    "Partition",
    "clusters_of",
    "largest",
    "partition",
    "partitions",
    "random_seeds",
    "spread_seeds",
]

ROUNDING = 1e-10  # part of a value that is not told from it
ENTRIES = 1 << 21  # of the blocks of a kernel matrix or factor that are looked at together
FAR = 100.0  # times their variance: where the mean of the points is farther off, distances are taken from there


@dataclass(frozen=True)
class Partition(Solution):
    """Labels 0, …, k − 1, J after each round that lowered it (the first is that of the start), and how it ended."""

    labels: np.ndarray
    history: np.ndarray
    rose: bool

    @property
    def objective(self) -> float:
        """J of the labels."""
        return float(self.history[-1])


class Clusters:
    """A partition of weighted points in the space, that changes by moves: what both ways of computing share."""

    labels: np.ndarray
    sizes: np.ndarray
    squares: np.ndarray  # ‖φ(xᵢ)‖², from an origin that each way chooses
    noise: float  # squared distances below it are rounding

    def __init__(self, weight: np.ndarray):
        self.weight, self.n = weight, len(weight)

    def start(self, labels: np.ndarray, k: int) -> None:
        """Begin with these labels."""
        self.labels, self.k = np.array(labels, dtype=np.intp), k
        self._count()
        self._restart()

    def _count(self) -> None:
        self.sizes = np.bincount(self.labels, self.weight, self.k)  # anew each time, so that empty is exactly 0

    def _membership(self, index: np.ndarray, weight: np.ndarray) -> csr_array:
        """The (k, m) matrix that sums the given points by cluster."""
        m = len(index)
        return csr_array((weight, (self.labels[index], np.arange(m))), shape=(self.k, m))

    def move(self, index: np.ndarray, target: np.ndarray) -> None:
        """Take points to other clusters."""
        leaving = self._membership(index, self.weight[index])
        self.labels[index] = target
        self._count()
        self._add(index, self._membership(index, self.weight[index]) - leaving)

    def objective(self) -> float:
        """J."""
        return float(self.weight @ self.squares - self._means_squared() @ self.sizes)

    def distances(self) -> np.ndarray:
        """‖φ(xᵢ) − m_c‖² of shape (k, n), and infinity for an empty cluster."""
        D = self._inner()
        D *= -2
        D += self._means_squared()[:, None]
        D += self.squares
        D[self.sizes == 0] = np.inf
        return D

    def nearest(self) -> np.ndarray:
        """The cluster with the nearest mean, for each point; its own in a tie."""
        D = self.distances()
        least = D.min(axis=0) + self.noise
        best = (least >= D).argmax(axis=0)
        return np.where(least < D[self.labels, np.arange(self.n)], best, self.labels)

    def fill(self) -> None:
        """Give each empty cluster the point that costs most where it is: J falls by that much or more."""
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
                raise _too_few(self.k, int(np.sum(self.sizes > 0)))
            cost[i] = 0
            self.move(np.array([i]), np.array([c]))

    def best_move(self) -> tuple[np.ndarray, np.ndarray] | None:
        """The single move that lowers J most, or None."""
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
        """‖φ(xᵢ) − φ(xⱼ)‖² of all points i to the points j in `index`, of shape (len(index), n)."""
        raise NotImplementedError

    def _restart(self) -> None:
        """Compute what depends on the labels."""
        raise NotImplementedError

    def _add(self, index: np.ndarray, change: csr_array) -> None:
        """Follow a move; `change` has the weights that come and go, (k, m)."""
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
    """By products with K: O(n²k) for the start, then n numbers of K for each point that moves."""

    def __init__(self, gram: Gram, weight: np.ndarray):
        super().__init__(weight)
        self.gram, self.like = gram, gram.like
        self.squares = host(gram.diagonal()).astype(np.float64)
        self.noise = 64 * eps(self.like) * float(np.abs(self.squares).max())

    def _restart(self) -> None:
        member = self._membership(np.arange(self.n), self.weight).toarray()
        self.sums = np.ascontiguousarray(host(self.gram @ like(member.T, self.like)).T, dtype=np.float64)

    def _add(self, index: np.ndarray, change: csr_array) -> None:
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
    """By the rows of Z, K̂ = ZZᵀ, less their mean where that is far off: O(nrk) a round at most, and exact for K̂.

    Points that cannot change their cluster are not looked at: `upper` bounds the distance to the own mean from above,
    `lower` those to all others from below, and both follow from how far the means moved (Hamerly, *Making k-means even
    faster*, 2010).
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
        self.seen: np.ndarray | None = None  # the means that the bounds are for
        self.bounded = self.labels  # and the labels

    def _add(self, index: np.ndarray, change: csr_array) -> None:
        for part in self._parts(len(index)):
            self.sums += change[:, part] @ self._rows(index[part] if len(index) < self.n else part)

    def _inner(self) -> np.ndarray:
        means = self._over_sizes(self.sums).astype(self.Z.dtype)
        return np.concatenate([means @ self._rows(part).T for part in self._parts(self.n)], axis=1).astype(np.float64)

    def _means_squared(self) -> np.ndarray:
        means = self._over_sizes(self.sums)
        return np.einsum("ij,ij->i", means, means)

    def between(self, index: np.ndarray) -> np.ndarray:
        B = -2 * self._rows(index).T
        D = np.concatenate([self._rows(part) @ B for part in self._parts(self.n)]).T
        D = D + self.squares + self.squares[index, None]
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
        if self.seen is not None:  # a point that was moved by `fill` has bounds for another cluster
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


def largest(values: np.ndarray) -> np.ndarray:
    """The first place along the last axis with the largest value, but for rounding: ties do not hang on it."""
    size = np.abs(values).max(axis=-1, keepdims=True)
    return (values >= values.max(axis=-1, keepdims=True) - ROUNDING * size).argmax(axis=-1)


def clusters_of(gram: Gram, weight: np.ndarray) -> Clusters:
    """The points of a Gram operator, by its factor where it holds one."""
    return FactorClusters(host(gram.factor()), weight) if "factor" in gram.provides else ProductClusters(gram, weight)


def partition(
    points: Clusters,
    labels: np.ndarray,
    k: int,
    *,
    max_iter: int,
    tol: float,
    local_search: bool = False,
) -> Partition:
    """Lower J from a start, until nothing moves. Points of weight 0, which change no J, follow at the end.

    Parameters
    ----------
    points : Clusters
    labels : array of n integers in 0, …, k − 1
        The start; clusters without members are given some.
    max_iter : int
        Rounds at most.
    tol : float >= 0
        Stop when a round lowers J by less than this part of J.
    local_search : bool
        Whether to go on with single moves where no point is nearer to another mean.
    """
    points.start(labels, k)
    points.fill()
    history = [points.objective()]
    rounding = points.noise * float(points.weight.sum())
    status, rose, n_iter, context = Status.MAX_ITER, False, 0, current()
    while n_iter < max_iter:
        n_iter += 1
        before, target = points.labels.copy(), points.nearest()
        moved = np.flatnonzero((target != before) & (points.weight > 0))
        single = points.best_move() if local_search and not len(moved) else None
        if not len(moved) and single is None:
            status = Status.CONVERGED
            break
        points.move(*(single or (moved, target[moved])))
        points.fill()
        value = points.objective()
        if value >= history[-1]:  # by rounding, or because K is indefinite
            status, rose = Status.CONVERGED, value > history[-1] + rounding
            points.start(before, k)
            break
        history.append(value)
        if not local_search and history[-2] - value <= tol * abs(value):
            status = Status.CONVERGED
            break
        if (reason := context()) is not None:
            status = reason
            break
    labels, silent = points.labels.copy(), points.weight == 0
    if silent.any():
        labels[silent] = points.nearest()[silent]
    return Partition(labels, np.array(history), rose, status=status, n_iter=n_iter, method="k-means")


def partitions(
    points: Clusters,
    k: int,
    seeds: Callable[[Clusters, int, np.random.Generator], np.ndarray],
    n_init: int,
    rng: np.random.Generator,
    **options: Any,
) -> list[Partition]:
    """The results of `n_init` starts, the one of least J first; the context ends also the starts."""
    results, context = list[Partition](), current()
    for number in range(n_init):
        if results and (status := context()) is not None:
            if min(results, key=lambda r: r.objective).converged:  # otherwise the owner tells
                warn_early(context.estimator, f"{number} of {n_init} starts were made", status)
            break
        results.append(partition(points, seeds(points, k, rng), k, **options))
    # of equal ones, but for rounding, the first: the same clusters may have other numbers
    rounding = points.noise * float(points.weight.sum())
    first = next(r for r in results if r.objective <= min(r.objective for r in results) + rounding)
    return [first, *sorted((r for r in results if r is not first), key=lambda r: r.objective)]


def spread_seeds(points: Clusters, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels by the nearest of k points of the sample, drawn one after the other by wᵢD²ᵢ, D to the nearest before.

    Of 2 + log k such draws the one that lowers the sum most is kept. Arthur, Vassilvitskii, *k-means++: the advantages
    of careful seeding* (2007), who mention the second step.
    """
    w = points.weight
    first = rng.choice(points.n, p=w / w.sum())
    labels, closest = np.zeros(points.n, dtype=np.intp), points.between(np.array([first]))[0]
    for c in range(1, k):
        mass = np.cumsum(w * closest)
        if mass[-1] <= 0:
            raise _too_few(k, c)
        drawn = np.searchsorted(mass, mass[-1] * rng.uniform(size=2 + int(np.log(k))), side="right")
        drawn = np.minimum(drawn, np.searchsorted(mass, mass[-1]))  # the last of positive mass
        D = np.minimum(closest, points.between(drawn))
        best = D[largest(-(D @ w))]
        labels[best < closest - points.noise] = c
        closest = best
    return labels


def random_seeds(points: Clusters, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels by the nearest of k different points of the sample, drawn by their weights."""
    positive = int(np.sum(points.weight > 0))
    if positive < k:
        raise _too_few(k, positive)
    index = rng.choice(points.n, k, replace=False, p=points.weight / points.weight.sum())
    return largest(-points.between(index).T)


def _too_few(k: int, distinct: int) -> ValueError:
    return ValueError(
        f"n_clusters = {k} exceeds the number of distinct points of positive weight in the kernel's space, at most "
        f"{distinct}; ask for fewer clusters, or use a kernel that tells more points apart. Points as near as rounding "
        "count as one: large offsets are better removed, and single precision may be too little."
    )
