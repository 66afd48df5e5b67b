"""How many clusters: the gap in the spectrum, stability under resampling, the silhouette in the kernel's space."""

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
from ..gram import GramLike, Operator, as_representation
from ..gram.normalized import NormalizedGram
from ..kernels import KernelLike
from ..kernels.expression import as_kernel
from ..kernels.sklearn_names import SKLEARN
from ..methods.kmeans import KernelKMeans
from ..methods.spectral_clustering import GRAPHS, SpectralClustering
from ..types import Array, Data, EstimatorLike, RandomState

ME = "choose_clusters"
ENTRIES = 1 << 21  # of the blocks of distances that are looked at together


@dataclass(frozen=True)
class ClusterChoice:
    """What `choose_clusters` returns.

    Attributes
    ----------
    n_clusters : int
        The choice.
    method : str
    candidates : array of shape (m,)
        The numbers that were tried.
    scores : array of shape (m,)
        Larger is better: the gap λ_k − λ_{k+1}, the mean adjusted Rand index, or the mean silhouette.
    errors : array of shape (m,) or None
        Standard errors of the scores, for "stability".
    partitions : array of shape (m, n_samples) or None
        The clusters of the whole sample for each candidate, for "silhouette".
    eigenvalues : array or None
        λ₁, …, one more than the largest candidate, of the normalised affinities, for "eigengap".
    """

    n_clusters: int
    method: str
    candidates: np.ndarray
    scores: np.ndarray
    errors: np.ndarray | None = None
    partitions: np.ndarray | None = None
    eigenvalues: np.ndarray | None = None


@speaking
def choose_clusters(
    estimator: KernelKMeans | SpectralClustering,
    X: Data,
    *,
    n_clusters: Sequence[int] = range(2, 11),
    method: str = "silhouette",
    n_resamples: int = 20,
    fraction: float = 0.8,
    random_state: RandomState = None,
) -> ClusterChoice:
    r"""The number of clusters of a sample.

    Parameters
    ----------
    estimator : KernelKMeans or SpectralClustering
        All but `n_clusters` is taken from it; it is not changed.
    X : collection
        The sample, or the matrix where the estimator takes one.
    n_clusters : sequence of int
        Candidates; 1 is allowed for "eigengap".
    method : {"eigengap", "stability", "silhouette"}
        "eigengap": the k with the largest λ_k − λ_{k+1}, λ the eigenvalues of D^{-1/2}AD^{-1/2}; for k groups without
        links, k eigenvalues are 1. "stability": cluster pairs of random parts of the sample and compare them on their
        overlap by the adjusted Rand index, which is 1 for equal partitions and 0 on average for random ones; take the
        largest k within one standard error of the best, since few clusters are often as stable as the right number.
        "silhouette": the largest mean of (b − a)/max(a, b), a and b being the mean distances, in the space, of a point
        to its own and to the nearest other cluster.
    n_resamples : int >= 2
        Pairs of parts for "stability"; more pairs lower the standard errors.
    fraction : float in (0.5, 1)
        The size of these parts; larger parts differ less.
    random_state : int, RandomState, Generator or None
        For the parts, all starts, and representations that draw; the estimator's own is not used.

    Notes
    -----
    "eigengap" costs one eigenvalue problem; "silhouette" a fit per candidate and all distances once, in blocks;
    "stability" ``2 * n_resamples`` fits per candidate. The kernel matrix is built once for all candidates. Data-driven
    lengthscales are estimated on the whole sample.

    References
    ----------
    von Luxburg, *A tutorial on spectral clustering* (2007): the eigengap. Ben-Hur, Elisseeff, Guyon, *A stability based
    method for discovering structure in clustered data* (2002). Hubert, Arabie, *Comparing partitions* (1985).
    Rousseeuw, *Silhouettes: a graphical aid to the interpretation and validation of cluster analysis* (1987).

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> X, _ = make_blobs(150, centers=4, cluster_std=0.6, random_state=1)
    >>> choice = choose_clusters(SpectralClustering(gamma=0.5), X, method="eigengap")
    >>> choice.n_clusters
    4
    >>> choose_clusters(KernelKMeans(), X, method="silhouette", random_state=0).n_clusters
    4
    """
    if not isinstance(estimator, (KernelKMeans, SpectralClustering)):
        raise TypeError(f"{ME}: estimator is a {type(estimator).__name__}; give KernelKMeans or SpectralClustering.")
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
    r"""The silhouettes of samples, with distances in the space of a kernel.

    .. math:: s_i = \frac{b_i - a_i}{\max(a_i, b_i)}, \qquad d(x, y)^2 = k(x, x) - 2 k(x, y) + k(y, y)

    with a the mean distance to the other points of the same cluster and b the smallest mean distance to another
    cluster; 0 for a cluster of one point, and for points labelled −1, which belong to no cluster.

    Parameters
    ----------
    X : collection
        The samples.
    labels : array of n integers >= -1
        At least two clusters.
    kernel : Kernel, name or expression
        Data-driven values are resolved on X.
    gram : str, Representation or Gram
        How its matrix is held; it is read in blocks.

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
        raise ValueError("silhouette: labels hold fewer than two clusters; give at least two.")
    return np.where(values < 0, -1, np.unique(values, return_inverse=True)[1] - int((values < 0).any()))


def _candidates(n_clusters: Any, least: int) -> np.ndarray:
    values = sorted(set([n_clusters] if np.ndim(n_clusters) == 0 else n_clusters))
    for k in values or [None]:
        check_number(ME, "n_clusters", k, at_least=least, integer=True)
    return np.array(values)


def _operator(estimator: KernelKMeans | SpectralClustering, X: Data) -> Operator:
    """The affinities that the estimator would use."""
    if isinstance(estimator, SpectralClustering):
        return estimator._affinities(X)
    return estimator._build(estimator._check_sample(X), constants=True)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31 - 1))


def _clustered(
    estimator: EstimatorLike, operator: Any, X: Data, candidates: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """The clusters of X, whose affinities are `operator`, for each candidate."""
    shared = {} if "sparse" in operator.provides else {"gram": operator}
    return [
        clone(estimator).set_params(n_clusters=int(k), random_state=_seed(rng), **shared).fit_predict(X)
        for k in candidates
    ]


def _by_gap(estimator: EstimatorLike, X: Data, candidates: np.ndarray, rng: np.random.Generator) -> ClusterChoice:
    operator = NormalizedGram(_operator(estimator, X), ME)
    most = int(candidates[-1])
    if most >= operator.n:
        raise ValueError(f"{ME}: n_clusters goes up to {most}; for the {operator.n} samples it must be less.")
    solver = estimator if isinstance(estimator, SpectralClustering) else SpectralClustering()
    values = host(solver._leading(operator, most + 1, rng).values)
    gaps = values[candidates - 1] - values[candidates]
    return ClusterChoice(int(candidates[gaps.argmax()]), "eigengap", candidates, gaps, eigenvalues=values)


def _by_silhouette(
    estimator: EstimatorLike, X: Data, candidates: np.ndarray, rng: np.random.Generator
) -> ClusterChoice:
    operator = _operator(estimator, X)
    if "sparse" in operator.provides:
        raise TypeError(
            f'{ME}: method = "silhouette" needs the distances of a kernel, and the affinity is a graph; choose '
            '"eigengap" or "stability".'
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
    domain, n = _settle(estimator, X)
    pairwise = get_tags(estimator).input_tags.pairwise
    size = round(fraction * n)
    if size <= candidates[-1]:
        raise ValueError(
            f"{ME}: n_clusters goes up to {candidates[-1]}, too many for parts of {size} of {n} samples; ask for fewer."
        )

    def clustered(index: np.ndarray) -> list[np.ndarray]:
        part = domain.take(X, index)
        part = part[:, index] if pairwise else part
        return _clustered(estimator, _operator(clone(estimator), part), part, candidates, rng)

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


def _settle(estimator: EstimatorLike, X: Data) -> tuple[Any, int]:
    """Fix data-driven values of the kernel by the whole sample; its domain, and the size of the sample."""
    operator: Any = _operator(clone(estimator), X)
    name = "kernel" if isinstance(estimator, KernelKMeans) else "affinity"
    value = getattr(estimator, name)
    if not (isinstance(value, str) and (value in GRAPHS or value in SKLEARN)) and "sparse" not in operator.provides:
        estimator.set_params(**{name: operator.kernel})
    return estimator._kernel(1).domain, operator.n
