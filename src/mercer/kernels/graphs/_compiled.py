"""Compiled searches and walks in graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._jit import njit, njit_reordered
from ...types import Array

ACCURACY = 1e-15  # of values of the random-walk kernel, relative to the walks of length 0
POWERS = 100  # steps of the power method


@njit
def steps(indptr: Any, indices: Any) -> Any:
    """The number of arcs on the shortest path between all pairs of nodes, by breadth-first search; −1 for no path."""
    n = len(indptr) - 1
    D = np.full((n, n), -1.0)
    queue = np.empty(n, dtype=np.int64)
    for start in range(n):
        row = D[start]
        row[start] = 0.0
        queue[0] = start
        head, tail = 0, 1
        while head < tail:
            u = queue[head]
            head += 1
            for p in range(indptr[u], indptr[u + 1]):
                v = indices[p]
                if row[v] < 0.0:
                    row[v] = row[u] + 1.0
                    queue[tail] = v
                    tail += 1
    return D


@njit
def cliques(indptr: Any, indices: Any) -> Any:
    """For each node, the number of 4-cliques in which it is the smallest; undirected graph, sorted neighbours."""
    n = len(indptr) - 1
    count = np.zeros(n)
    mark = np.zeros(n, dtype=np.int64)  # when a node was last seen as a neighbour of u, or of u and v
    both = np.empty(n, dtype=np.int64)
    stamp = 0
    for u in range(n):
        stamp += 1
        base = stamp
        for p in range(indptr[u], indptr[u + 1]):
            mark[indices[p]] = base
        for p in range(indptr[u], indptr[u + 1]):
            v = indices[p]
            if v <= u:
                continue
            size = 0
            for q in range(indptr[v], indptr[v + 1]):
                w = indices[q]
                if w > v and mark[w] >= base:
                    both[size] = w
                    size += 1
            stamp += 1
            for k in range(size):
                mark[both[k]] = stamp
            for k in range(size):
                w = both[k]
                for q in range(indptr[w], indptr[w + 1]):
                    if indices[q] > w and mark[indices[q]] == stamp:
                        count[u] += 1.0
    return count


@njit
def spread(V: Array, arcs: Any, others: Any, T: Array, out: Array) -> None:
    """out = Σ_l A_l V B_lᵀ over the labels l of the arcs, which are sorted by label; T is workspace."""
    # the arcs of each graph are four arrays: their sources, targets, labels and weights
    (sa, ta, la, wa), (sb, tb, lb, wb) = arcs, others
    n, m = V.shape
    out[:] = 0.0
    a = b = 0
    while a < len(la) and b < len(lb):
        if la[a] != lb[b]:
            if la[a] < lb[b]:
                a += 1
            else:
                b += 1
            continue
        label, first = la[a], b
        while b < len(lb) and lb[b] == label:
            b += 1
        T[:] = 0.0
        for i in range(n):
            for q in range(first, b):
                T[i, sb[q]] += wb[q] * V[i, tb[q]]
        while a < len(la) and la[a] == label:
            for j in range(m):
                out[sa[a], j] += wa[a] * T[ta[a], j]
            a += 1


@njit
def alike(a: Array, b: Array, similarity: Any, shift: int) -> Any:
    """The matrix S of node similarities: equality of labels times the columns of `similarity` from `shift` on."""
    S = np.zeros((len(a), len(b)))
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                S[i, j] = similarity[i, shift + j] if similarity.size else 1.0
    return S


@njit
def radius(labels: Array, arcs: Any, similarity: Any) -> float:
    """A tight upper bound on the spectral radius of V ↦ S ∘ Σ_l A_l V A_lᵀ."""
    # For every positive V, the largest ratio of the image to V is an upper bound (Collatz and Wielandt). The power
    # method lowers it; adding half the bound times V to the image makes this work for bipartite graphs as well.
    S = alike(labels, labels, similarity, 0)
    n = len(labels)
    V, W, T = np.ones((n, n)), np.empty((n, n)), np.empty((n, n))
    best = 1e300
    for _ in range(POWERS):
        spread(V, arcs, arcs, T, W)
        W *= S
        bound = 0.0
        for i in range(n):
            for j in range(n):
                bound = max(bound, W[i, j] / V[i, j])  # V falls at most to a third in one step
        if bound == 0.0:
            return 0.0
        best = min(best, bound)
        V = W + bound / 2 * V
        V /= V.max()
    return best


@njit_reordered
def conjugate_gradients(S: Array, arcs: Any, others: Any, decay: float, rate: float) -> float:
    """sᵀ(I − λ D(A ⊗ B)D)⁻¹s for undirected graphs, with s = S^½ and D its diagonal matrix."""
    n, m = S.shape
    root = np.sqrt(S)
    r, p, U = root.copy(), root.copy(), S.copy()  # the residual, the direction, and D times the direction
    T, Q = np.empty((n, m)), np.empty((n, m))
    rr = start = S.sum()
    total = 0.0
    for _ in range(10 * n * m + 10):
        if rr <= ACCURACY * (1.0 - rate) * start:
            break
        spread(U, arcs, others, T, Q)
        pq = 0.0
        for i in range(n):
            for j in range(m):
                Q[i, j] = p[i, j] - decay * root[i, j] * Q[i, j]
                pq += p[i, j] * Q[i, j]
        step, before = rr / pq, rr
        total += step * rr  # the increase of the quadratic form: Hestenes and Stiefel
        rr = 0.0
        for i in range(n):
            for j in range(m):
                r[i, j] -= step * Q[i, j]
                rr += r[i, j] * r[i, j]
        for i in range(n):
            for j in range(m):
                p[i, j] = r[i, j] + rr / before * p[i, j]
                U[i, j] = root[i, j] * p[i, j]
    return total


@njit
def series(S: Array, arcs: Any, others: Any, decay: float) -> float:
    """The sum of the entries of F = S + λ S ∘ Σ_l A_l F B_lᵀ, term by term."""
    # A walk of length n + 1 + m consists of a walk of length n, an arc, and a walk of length m. So with the largest
    # weights a and b, the terms after t_n sum to at most λab t_n times the whole sum, whatever the earlier terms.
    V, T, W = S.copy(), np.empty_like(S), np.empty_like(S)
    term = total = S.sum()
    if len(arcs[3]) == 0 or len(others[3]) == 0:
        return total
    link = decay * arcs[3].max() * others[3].max()
    while link * term > ACCURACY:
        spread(V, arcs, others, T, W)
        V = decay * S * W
        term = V.sum()
        total += term
    return total


@njit
def walks(
    graph: Any, many: Any, similarity: Any, directed: Any, decay: float, rate: Any, first: int, out: Array
) -> None:
    """out[j] = the random-walk kernel of a graph with the j-th of many, stored one after another, from `first` on."""
    (labels, arcs), (nodes, ends, all_labels, all_arcs) = graph, many
    source, target, arc, weights = all_arcs
    for j in range(first, len(nodes) - 1):
        inside, part = slice(nodes[j], nodes[j + 1]), slice(ends[j], ends[j + 1])
        S = alike(labels, all_labels[inside], similarity, nodes[j])
        others = source[part], target[part], arc[part], weights[part]
        if directed[j]:
            out[j] = series(S, arcs, others, decay)
        else:
            out[j] = conjugate_gradients(S, arcs, others, decay, rate[j])
