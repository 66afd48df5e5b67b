"""Choose the number of clusters: eigengap, stability under resampling, or silhouette in the kernel's space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import get_tags

from .._array import host
from .._errors import check_choice, check_number, speaking
from .._random import generator
from .._threads import slices
from ..context import complete, current
from ..gram import GramLike, Operator, as_representation
from ..gram.normalized import NormalizedGram
from ..kernels import KernelLike
from ..kernels.expression import as_kernel
from ..methods import SpectralClustering
from ..methods.base import with_kernel
from ..types import Array, Data, EstimatorLike, RandomState

ME = "choose_clusters"
ENTRIES = 1 << 21  # per block of distances


@dataclass(frozen=True)
class ClusterChoice:
    """Result of `choose_clusters`.

    Attributes
    ----------
    n_clusters : int
        The chosen number of clusters.
    method : str
    candidates : array of shape (m,)
        The numbers tried.
    scores : array of shape (m,)
        Larger is better: the gap λ_k − λ_{k+1}, the mean adjusted Rand index, or the mean silhouette.
    errors : array of shape (m,) or None
        Standard errors of the scores, for "stability".
    partitions : array of shape (m, n_samples) or None
        Cluster labels of the whole sample for each candidate, for "silhouette".
    eigenvalues : array or None
        The leading eigenvalues of the normalised affinities, one more than the largest candidate, for "eigengap".
    """

    n_clusters: int
    method: str
    candidates: np.ndarray
    scores: np.ndarray
    errors: np.ndarray | None = None
    partitions: np.ndarray | None = None
    eigenvalues: np.ndarray | None = None


@speaking
@complete
def choose_clusters(
    estimator: EstimatorLike,
    X: Data,
    *,
    n_clusters: Sequence[int] = range(2, 11),
    method: str = "silhouette",
    n_resamples: int = 20,
    fraction: float = 0.8,
    random_state: RandomState = None,
    time_budget: float | None = None,
) -> ClusterChoice:
    r"""Choose the number of clusters of a sample.

    Parameters
    ----------
    estimator : KernelKMeans or SpectralClustering
        Provides all parameters except `n_clusters`; it is not changed.
    X : collection
        The sample, or its matrix if the estimator takes one.
    n_clusters : sequence of int
        Candidates; 1 is allowed for "eigengap".
    method : {"eigengap", "stability", "silhouette"}
        "eigengap": the k with the largest λ_k − λ_{k+1}, λ the eigenvalues of D^{-1/2}AD^{-1/2}; for k disconnected
        groups, k eigenvalues are 1. "stability": cluster pairs of random subsamples and compare them on their overlap
        by the adjusted Rand index, which is 1 for equal partitions and 0 on average for random ones; take the largest k
        within one standard error of the best, since few clusters are often as stable as the right number. "silhouette":
        the largest mean of (b − a)/max(a, b), where a and b are a point's mean distances, in the space, to its own and
        to the nearest other cluster.
    n_resamples : int >= 2
        Pairs of subsamples for "stability"; more pairs lower the standard errors.
    fraction : float in (0.5, 1)
        Their relative size; larger subsamples differ less.
    random_state : int, RandomState, Generator or None
        For subsamples, starts, and random representations; the estimator's own is not used.
    time_budget : float > 0, optional
        Time limit in seconds. When it expires, a TimeoutError is raised.

    Notes
    -----
    "eigengap" costs one eigenvalue problem; "silhouette" one fit per candidate, and all distances once, in blocks;
    "stability" ``2 * n_resamples`` fits per candidate. Kernel matrices are shared by all candidates. Data-driven
    lengthscales are estimated on the whole sample.

    References
    ----------
    von Luxburg, *A tutorial on spectral clustering* (2007): the eigengap. Ben-Hur, Elisseeff, Guyon, *A stability based
    method for discovering structure in clustered data* (2002). Hubert, Arabie, *Comparing partitions* (1985).
    Rousseeuw, *Silhouettes: a graphical aid to the interpretation and validation of cluster analysis* (1987).

    Examples
    --------
    >>> from mercer import KernelKMeans
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(150, centers=4, cluster_std=0.6, random_state=1)
    >>> choice = choose_clusters(SpectralClustering(gamma=0.5), X, method="eigengap")
    >>> choice.n_clusters
    4
    >>> choose_clusters(KernelKMeans(), X, method="silhouette", random_state=0).n_clusters
    4
    """
    if not hasattr(estimator, "affinity_form"):
        raise TypeError(f"{ME}: estimator is a {type(estimator).__name__}; pass KernelKMeans or SpectralClustering.")
    check_choice(ME, "method", method, ("eigengap", "stability", "silhouette"))
    candidates = _candidates(n_clusters, 1 if method == "eigengap" else 2)
    rng = generator(random_state)
    estimator = clone(estimator).set_params(random_state=_seed(rng))
    if method == "stability":
        check_number(ME, "n_resamples", n_resamples, at_least=2, integer=True)
        check_number(ME, "fraction", fraction, above=0.5)
        if fraction >= 1:
            raise ValueError(f"{ME}: fraction = {fraction!r} must be < 1.")
        return _by_stability(estimator, X, candidates, n_resamples, fraction, rng)
    return (_by_gap if method == "eigengap" else _by_silhouette)(estimator, X, candidates, rng)


@speaking
def silhouette(X: Data, labels: Array, *, kernel: KernelLike, gram: GramLike = "auto") -> np.ndarray:
    r"""Silhouette of each sample, with distances in the space of a kernel.

    .. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}, \qquad d(x, y)^2 = k(x, x) - 2 k(x, y) + k(y, y)

    with a the mean distance to the other points of the same cluster and b the smallest mean distance to another
    cluster. It is 0 for a cluster of one point, and for points labelled −1, which belong to no cluster.

    Parameters
    ----------
    X : collection
        The samples.
    labels : array of n integers >= -1
        At least two clusters.
    kernel : Kernel, name or expression
        Data-driven parameters are estimated on X.
    gram : str, Representation or Gram
        Representation of its matrix, which is read in blocks.

    Examples
    --------
    >>> silhouette([[0.0], [1.0], [10.0]], [0, 0, 1], kernel="linear").round(4)
    array([0.9   , 0.8889, 0.    ])
    """
    kernel = as_kernel(kernel)
    X = kernel.domain.check(X, "silhouette", "X")
    operator = as_representation(gram).build(kernel.resolve(X), X, np.random.default_rng(0))
    return _silhouettes(operator, _checked_labels(labels, operator.n)[None, :])[0]


def _checked_labels(labels: Array, n: int) -> np.ndarray:
    values = host(labels)
    if values.shape != (n,) or values.dtype.kind not in "iu" or values.min() < -1:
        raise ValueError(f"silhouette: labels must be {n} integers >= -1; got {values.dtype} of shape {values.shape}.")
    if len(np.unique(values[values >= 0])) < 2:
        raise ValueError("silhouette: labels contain fewer than two clusters; pass at least two.")
    return np.where(values < 0, -1, np.unique(values, return_inverse=True)[1] - int((values < 0).any()))


def _candidates(n_clusters: Any, least: int) -> np.ndarray:
    values = [n_clusters] if np.ndim(n_clusters) == 0 else list(n_clusters)
    if not values:
        raise ValueError(f"{ME}: n_clusters is empty; pass at least one number.")
    for k in values:
        check_number(ME, "n_clusters", k, at_least=least, integer=True)
    return np.array(sorted(set(values)))


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _clustered(
    estimator: EstimatorLike, operator: Any, X: Data, candidates: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """The clusters of X for each candidate, with affinities `operator`."""
    shared = {} if "sparse" in operator.provides else {"gram": operator}
    found = []
    for k in candidates:
        current().insist()
        found.append(clone(estimator).set_params(n_clusters=int(k), random_state=_seed(rng), **shared).fit_predict(X))
    return found


def _by_gap(estimator: EstimatorLike, X: Data, candidates: np.ndarray, rng: np.random.Generator) -> ClusterChoice:
    operator = NormalizedGram(estimator.affinity_form(X), ME)
    most = int(candidates[-1])
    if most >= operator.n:
        raise ValueError(f"{ME}: n_clusters goes up to {most}; it must be less than the {operator.n} samples.")
    solver = estimator if hasattr(estimator, "leading") else SpectralClustering()
    values = host(solver.leading(operator, most + 1, rng).values)
    gaps = values[candidates - 1] - values[candidates]
    return ClusterChoice(int(candidates[gaps.argmax()]), "eigengap", candidates, gaps, eigenvalues=values)


def _by_silhouette(
    estimator: EstimatorLike, X: Data, candidates: np.ndarray, rng: np.random.Generator
) -> ClusterChoice:
    operator = estimator.affinity_form(X)
    if "sparse" in operator.provides:
        raise TypeError(
            f'{ME}: method = "silhouette" needs the distances of a kernel, but the affinity is a graph; use "eigengap" '
            'or "stability".'
        )
    partitions = np.array(_clustered(estimator, operator, X, candidates, rng))
    scores = _silhouettes(operator, partitions).mean(axis=1)
    best = int(candidates[scores.argmax()])
    return ClusterChoice(best, "silhouette", candidates, scores, partitions=partitions)


def _silhouettes(gram: Operator, partitions: np.ndarray) -> np.ndarray:
    """Silhouettes for several partitions, in one pass over the distances."""
    n, counts = gram.n, partitions.max(axis=1) + 1
    member = np.concatenate([np.eye(k + 1)[p][:, :k] for p, k in zip(partitions, counts, strict=True)], axis=1)
    edges = np.concatenate([[0], np.cumsum(counts)])
    squares = host(gram.diagonal()).astype(np.float64)
    sums = np.empty((n, member.shape[1]))
    for rows in slices(n, max(1, ENTRIES // n)):
        D = squares[rows, None] + squares - 2 * host(gram.block(rows, slice(None)))
        D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = 0
        sums[rows] = np.sqrt(np.maximum(D, 0)) @ member
    return np.array([_from_sums(sums[:, a:b], p) for p, a, b in zip(partitions, edges[:-1], edges[1:], strict=True)])


def _from_sums(sums: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Silhouettes from the sums of distances to each cluster."""
    every, sizes = np.arange(len(labels)), np.bincount(labels[labels >= 0], minlength=sums.shape[1])
    own = np.maximum(labels, 0)
    within = sums[every, own] / np.maximum(sizes[own] - 1, 1)
    others = np.where(sizes > 0, sums / np.maximum(sizes, 1), np.inf)
    others[every, own] = np.inf
    without = others.min(axis=1)
    larger = np.maximum(within, without)
    defined = (labels >= 0) & (sizes[own] > 1) & np.isfinite(without) & (larger > 0)
    return np.where(defined, (without - within) / np.where(defined, larger, 1.0), 0.0)


def _by_stability(
    estimator: EstimatorLike,
    X: Data,
    candidates: np.ndarray,
    n_resamples: int,
    fraction: float,
    rng: np.random.Generator,
) -> ClusterChoice:
    estimator, domain, n = _settle(estimator, X)
    pairwise = get_tags(estimator).input_tags.pairwise
    size = round(fraction * n)
    if size <= candidates[-1]:
        raise ValueError(
            f"{ME}: n_clusters goes up to {candidates[-1]}, too many for subsamples of {size} of {n} samples; lower it."
        )

    def clustered(index: np.ndarray) -> list[np.ndarray]:
        part = domain.take(X, index)
        part = part[:, index] if pairwise else part
        return _clustered(estimator, estimator.affinity_form(part), part, candidates, rng)

    agreement = np.empty((len(candidates), n_resamples))
    for r in range(n_resamples):
        first, second = (np.sort(rng.permutation(n)[:size]) for _ in range(2))
        _, i, j = np.intersect1d(first, second, assume_unique=True, return_indices=True)
        for c, (a, b) in enumerate(zip(clustered(first), clustered(second), strict=True)):
            agreement[c, r] = adjusted_rand_score(a[i], b[j])
    scores, errors = agreement.mean(axis=1), agreement.std(axis=1, ddof=1) / n_resamples**0.5
    best = int(scores.argmax())
    stable = candidates[scores >= scores[best] - errors[best]]
    return ClusterChoice(int(stable[-1]), "stability", candidates, scores, errors)


def _settle(estimator: EstimatorLike, X: Data) -> tuple[Any, Any, int]:
    """The estimator with kernel parameters fixed on the whole sample, the domain, and the sample size."""
    operator: Any = estimator.affinity_form(X)
    domain = clone(estimator)._kernel(1).domain
    if "sparse" not in operator.provides and not domain.precomputed:
        estimator = with_kernel(estimator, operator.kernel)
    return estimator, domain, operator.n
