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
    """Labels 0, …, k − 1, J after each round that lowered it (the first is that of the start), and how it ended."""

    labels: np.ndarray
    history: np.ndarray
    rose: bool

    @property
    def objective(self) -> float:
        """J of the labels."""
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
            raise too_few(k, c)
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
        raise too_few(k, positive)
    index = rng.choice(points.n, k, replace=False, p=points.weight / points.weight.sum())
    return largest(-points.between(index).T)
