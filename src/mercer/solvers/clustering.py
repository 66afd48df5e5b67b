r"""k-means in a kernel's space, by products with K or by its factor Z.

The means m_c = Σ_{i ∈ c} wᵢφ(xᵢ)/s_c with s_c = Σ_{i ∈ c} wᵢ are never stored. With u the indicator of a cluster,
⟨φ(xᵢ), s_c m_c⟩ = (K W u)ᵢ, and the algorithm needs only these n·k numbers:

    ‖φ(xᵢ) − m_c‖² = Kᵢᵢ − 2 (KWu)ᵢ / s_c + uᵀWKWu / s_c²,       J = Σ wᵢKᵢᵢ − Σ_c uᵀWKWu / s_c.

A round (Lloyd) assigns every point to its nearest mean, which cannot raise J. When no assignment changes, a single move
may still lower J, because it also moves the means: from a to b it changes J by wᵢs_b/(s_b + wᵢ)·d²_ib −
wᵢs_a/(s_a − wᵢ)·d²_ia (Hartigan, *Clustering algorithms*, 1975; Dhillon, Guan, Kogan, *Iterative clustering of high
dimensional text data augmented by local search*, 2002). Unlike the rounds, this change is invariant to adding a
multiple of W⁻¹ to K.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..context import Status, current, warn_early
from ._clusters import Clusters, FactorClusters, clusters_of, largest, too_few
from .solution import Solution

__all__ = [
    "Clusters",
    "FactorClusters",
    "Partition",
    "clusters_of",
    "largest",
    "partition",
    "partitions",
    "random_seeds",
    "spread_seeds",
]


@dataclass(frozen=True)
class Partition(Solution):
    """Labels 0, …, k − 1, J at the start and after each round that lowered it, and the status."""

    labels: np.ndarray
    history: np.ndarray
    rose: bool

    @property
    def objective(self) -> float:
        """J for the labels."""
        return float(self.history[-1])


def partition(
    points: Clusters,
    labels: np.ndarray,
    k: int,
    *,
    max_iter: int,
    tol: float,
    local_search: bool = False,
) -> Partition:
    """Lower J from a start until nothing moves. Points of weight 0, which do not affect J, are assigned at the end.

    Parameters
    ----------
    points : Clusters
    labels : array of n integers in 0, …, k − 1
        The start; empty clusters are given members.
    max_iter : int
        Maximum number of rounds.
    tol : float >= 0
        Without local search, stop when a round lowers J by at most this fraction.
    local_search : bool
        Whether to continue with single moves when no point is nearer to another mean.
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
        if value >= history[-1]:  # due to rounding, or because K is indefinite
            status, rose = Status.CONVERGED, value > history[-1] + rounding
            points.start(before, k)
            break
        history.append(value)
        if not local_search and history[-2] - value <= tol * abs(value):
            status = Status.CONVERGED
            break
        if (reason := context({"gap": history[-2] - value, "round": n_iter})) is not None:
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
    """The results of `n_init` starts, the one with the smallest J first; the context may also end the starts."""
    results, context = list[Partition](), current()
    for number in range(n_init):
        if results and (status := context()) is not None:
            if min(results, key=lambda r: r.objective).converged:  # otherwise the estimator warns
                warn_early(context.estimator, f"{number} of {n_init} starts were made", status)
            break
        results.append(partition(points, seeds(points, k, rng), k, **options))
    # the first of those equal up to rounding, since the same clusters may have permuted labels
    rounding = points.noise * float(points.weight.sum())
    first = next(r for r in results if r.objective <= min(r.objective for r in results) + rounding)
    return [first, *sorted((r for r in results if r is not first), key=lambda r: r.objective)]


def spread_seeds(points: Clusters, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels by the nearest of k seeds, drawn from the sample in turn by wᵢD²ᵢ, with D the distance to earlier seeds.

    Each time the best of 2 + log k draws, which lowers the sum most, is kept. Arthur, Vassilvitskii, *k-means++: the
    advantages of careful seeding* (2007), who mention the second step.
    """
    w = points.weight
    first = rng.choice(points.n, p=w / w.sum())
    labels, closest = np.zeros(points.n, dtype=np.intp), points.between(np.array([first]))[0]
    for c in range(1, k):
        mass = np.cumsum(w * closest)
        if mass[-1] <= 0:
            raise too_few(k, c)
        drawn = np.searchsorted(mass, mass[-1] * rng.uniform(size=2 + int(np.log(k))), side="right")
        drawn = np.minimum(drawn, np.searchsorted(mass, mass[-1]))  # the last with positive mass
        D = np.minimum(closest, points.between(drawn))
        best = D[largest(-(D @ w))]
        labels[best < closest - points.noise] = c
        closest = best
    return labels


def random_seeds(points: Clusters, k: int, rng: np.random.Generator) -> np.ndarray:
    """Labels by the nearest of k distinct points of the sample, drawn according to their weights."""
    positive = int(np.sum(points.weight > 0))
    if positive < k:
        raise too_few(k, positive)
    index = rng.choice(points.n, k, replace=False, p=points.weight / points.weight.sum())
    return largest(-points.between(index).T)
