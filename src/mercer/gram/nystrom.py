"""The Nyström approximation K ≈ k(X, C) k(C, C)⁺ k(C, X) on landmarks C, and ways to choose them.

Williams, Seeger, *Using the Nyström method to speed up kernel machines* (2001), equation 8.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from .._array import doubles, eps, host, is_array, is_sparse, like, namespace
from .._errors import check_choice, check_number, where
from ..domains import take
from ..evaluation import bind
from ..kernels import Kernel
from ..types import Array, Checked
from ._base import Representation
from ._pivoted import PivotedGram, columns, noise, trace_left
from .low_rank import LandmarkFeatures, LandmarkGram, inverse_root

RULES = ("uniform", "kmeans", "leverage", "rpcholesky")
DEFAULT_RANK = 1000


class Nystrom(Representation):
    """Project the functions k(x, ·) onto the span of r landmarks' functions: K ≈ k(X, C) k(C, C)⁺ k(C, X).

    =================  =================================================================  ======================
    landmarks          choice                                                             evaluations of k
    =================  =================================================================  ======================
    "uniform"          samples at random                                                  nr
    "kmeans"           centres of k-means clusters (only for vectors)                     nr
    "leverage"         samples by approximate ridge leverage scores, found recursively    about 3nr
    "rpcholesky"       samples by their residual diagonal: randomly pivoted Cholesky      about nr + r²
    array of integers  these samples
    collection         these points, which need not be samples
    =================  =================================================================  ======================

    Parameters
    ----------
    rank : int >= 1, optional
        The number of landmarks, at most n. More give a better approximation, at O(nr²) operations and O(nr) memory.
        None: min(n, 1000), or the number of given landmarks. See `LandmarkGram.rank`.
    landmarks : {"rpcholesky", "uniform", "kmeans", "leverage"}, array of integers, or collection
        "uniform" may miss small clusters, which the other rules find.
    drop : float in [0, 1), optional
        Eigenvalues of k(C, C) up to `drop` times the largest are dropped, which bounds the growth of rounding errors.
        None: r units of round-off. Not used by "rpcholesky", which takes no landmark whose residual is rounding.

    Notes
    -----
    K − K̂ is positive semi-definite; its trace, `trace_error`, is an upper bound on each of its eigenvalues.
    Functions of the approximation are expansions of the kernel on the landmarks only.

    "rpcholesky" draws each landmark with probability proportional to the residual k(xᵢ, xᵢ) − K̂ᵢᵢ, in blocks thinned by
    rejection, which gives the same distribution as drawing one by one. Its expected trace error is at most 1 + ε times
    that of the best approximation of rank s if r ≥ s/ε + s·log(1/(εη)), where η is that best error over tr K.
    "leverage" draws by ℓᵢ = (K(K + λI)⁻¹)ᵢᵢ, where λ is the sum of the eigenvalues after the first s = r / (4 log r),
    divided by s.

    References
    ----------
    Zhang, Tsang, Kwok, *Improved Nyström low-rank approximation and error analysis* (2008): k-means. Musco, Musco,
    *Recursive sampling for the Nyström method* (2017): recursive ridge leverage scores. Chen, Epperly, Tropp, Webber,
    *Randomly pivoted Cholesky: practical approximation of a kernel matrix with few entry evaluations* (2023): the
    algorithm and its bound. Epperly, Tropp, Webber, *Embrace rejection: kernel matrix approximation by accelerated
    randomly pivoted Cholesky* (2024): drawing in blocks.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> gram = Nystrom(rank=50).build(Gaussian(), X, np.random.default_rng(0))
    >>> gram.rank, gram.trace_error < 0.1
    (50, True)
    >>> Nystrom(landmarks=[0, 5, 9]).build(Gaussian(), X, np.random.default_rng(0)).rank
    3
    """

    streams = True

    def __init__(self, rank: int | None = None, landmarks: Checked = "rpcholesky", drop: float | None = None):
        self.rank, self.landmarks, self.drop = rank, landmarks, drop

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> LandmarkGram:
        check_number(self, "drop", self.drop, at_least=0, at_most=1, besides=(None,))
        kernel.require_pd(
            kernel.domain.dimension(X), self, why=", so its matrix has no factor", remedy="use Dense or Lazy"
        )
        n = kernel.domain.size(X)
        if not isinstance(self.landmarks, str):
            return self._on_given(kernel, X, n)
        check_choice(self, "landmarks", self.landmarks, RULES)
        r = min(n, DEFAULT_RANK) if self.rank is None else self.rank
        check_number(self, "rank", r, at_least=1, integer=True)
        if r > n:
            raise ValueError(f"{where(self)}: rank = {r} exceeds the {n} samples; give at most {n}, or None.")
        if self.landmarks == "rpcholesky":
            diagonal = kernel.evaluate_diag(X)
            return PivotedGram(kernel, X, diagonal, *random_pivots(kernel, X, diagonal, r, rng))
        if self.landmarks == "kmeans" and r < n:
            return self._on_points(kernel, X, _cluster_centres(self, kernel, X, r, rng))
        if self.landmarks == "leverage" and r < n:
            p = leverage_scores(kernel, X, r, rng)
            # if fewer than r samples have positive scores, the rest is drawn from the others
            p = p + 1e-12 * (p.sum() or 1.0) / n
            return self._on_samples(kernel, X, rng.choice(n, r, replace=False, p=p / p.sum()))
        return self._on_samples(kernel, X, rng.choice(n, r, replace=False))

    def _on_given(self, kernel: Kernel, X: Checked, n: int) -> LandmarkGram:
        if _are_indices(self.landmarks):
            index = host(self.landmarks)
            if index.size == 0 or index.min() < 0 or index.max() >= n:
                raise ValueError(f"{where(self)}: landmarks must be indices in 0 … {n - 1}, at least one.")
            self._check_size(len(index))
            return self._on_samples(kernel, X, index)
        _, points = kernel.check_arguments(X, self.landmarks)
        self._check_size(kernel.domain.size(points))
        return self._on_points(kernel, X, points)

    def _check_size(self, size: int) -> None:
        if self.rank is not None and self.rank != size:
            raise ValueError(f"{where(self)}: rank = {self.rank}, but {size} landmarks are given; omit rank.")

    def _on_samples(self, kernel: Kernel, X: Checked, index: np.ndarray) -> LandmarkGram:
        domain = kernel.domain
        centres = domain.take(domain.centres(X), index)
        gram = self._project(kernel, X, centres, kernel.evaluate(domain.take(X, index), centres))
        gram.pivots = index  # type: ignore[attr-defined]
        return gram

    def _on_points(self, kernel: Kernel, X: Checked, points: Checked) -> LandmarkGram:
        return self._project(kernel, X, points, kernel.evaluate(points))

    def _project(self, kernel: Kernel, X: Checked, centres: Array, K: Array) -> LandmarkGram:
        drop = K.shape[0] * eps(K) if self.drop is None else self.drop
        features = LandmarkFeatures(kernel, centres, inverse_root(K, drop))
        Z = features(X)
        return LandmarkGram(kernel, X, features, trace_left(kernel.evaluate_diag(X), Z), Z)


def _are_indices(landmarks: Checked) -> bool:
    """Whether landmarks are a vector of integers, the positions of samples."""
    if is_array(landmarks):
        return landmarks.ndim == 1 and namespace(landmarks).isdtype(landmarks.dtype, "integral")
    return isinstance(landmarks, (list, tuple, range)) and all(
        isinstance(i, Integral) and not isinstance(i, bool) for i in landmarks
    )


def _cluster_centres(owner: Nystrom, kernel: Kernel, X: Checked, r: int, rng: np.random.Generator) -> Any:
    if not kernel.domain.vectors:
        raise TypeError(
            f'{where(owner)}: landmarks = "kmeans" needs vectors; {where(kernel)} compares {kernel.domain!r}. '
            'Choose "rpcholesky", "leverage" or "uniform".'
        )
    from sklearn.cluster import MiniBatchKMeans

    clusters = MiniBatchKMeans(r, n_init=1, batch_size=max(1024, 3 * r), random_state=int(rng.integers(2**31 - 1)))
    centres = clusters.fit(X if is_sparse(X) else host(X)).cluster_centers_
    return type(X)(centres.astype(X.dtype)) if is_sparse(X) else like(centres, X)


def random_pivots(
    kernel: Kernel, X: Checked, diagonal: Array, rank: int, rng: np.random.Generator
) -> tuple[np.ndarray, Any]:
    """Pivots drawn by the residual diagonal, and G with K ≈ GGᵀ; fewer if K has lower numerical rank."""
    centres = kernel.domain.centres(X)
    xp = namespace(diagonal)
    floor = noise(diagonal)
    residual = np.array(host(diagonal), dtype=np.float64)
    G = xp.reshape(diagonal, (-1, 1))[:, :0]
    pivots = np.zeros(0, dtype=np.int64)
    while len(pivots) < rank:
        weights = np.where(residual > floor, residual, 0.0)
        weights[pivots] = 0.0
        if not weights.any():
            break
        drawn = rng.choice(len(weights), max(10, rank // 8), p=weights / weights.sum())
        rows = take(G, drawn)
        H = _block(kernel, X, centres, drawn) - doubles(rows @ xp.matrix_transpose(rows))
        kept, L = _reject(H, weights[drawn], floor, rank - len(pivots), rng)
        if not len(kept):
            residual[drawn] = 0.0  # these residuals are rounding errors
            continue
        chosen = drawn[kept]
        B = columns(kernel, X, centres, chosen) - G @ xp.matrix_transpose(take(rows, kept))
        B = B @ like(np.linalg.inv(L).T, G)
        G = xp.concat([G, B], axis=1)
        residual = residual - doubles(xp.sum(B * B, axis=1))
        pivots = np.concatenate([pivots, chosen])
    return pivots, G


def _block(kernel: Kernel, X: Checked, centres: Array, index: np.ndarray) -> np.ndarray:
    """k(xᵢ, xⱼ) for the given samples, on the host in float64."""
    K = kernel.evaluate(kernel.domain.take(X, index), kernel.domain.take(centres, index))
    return doubles(K)


def _reject(
    H: np.ndarray, proposed: np.ndarray, floor: float, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Thin a block of proposals so that those kept are distributed as if drawn one after another."""
    # A proposal i, drawn by the residual before the block, is kept with probability (its residual now) / (its residual
    # before). Returns the kept positions and the Cholesky factor of their residual matrix.
    H = H.copy()
    kept: list[int] = []
    factor = np.zeros((len(H), 0))
    for i in range(len(H)):
        if len(kept) == most:
            break
        if H[i, i] > floor and (not kept or rng.uniform() * proposed[i] < H[i, i]):
            c = H[:, i] / H[i, i] ** 0.5
            H -= np.outer(c, c)
            factor = np.column_stack([factor, c])
            kept.append(i)
    return np.asarray(kept, dtype=np.int64), np.tril(factor[kept])


def leverage_scores(kernel: Kernel, X: Checked, rank: int, rng: np.random.Generator) -> np.ndarray:
    """Approximate ridge leverage scores of all samples, for a Nyström approximation of the given rank.

    Recursive, down to `rank` samples: the scores of a random half select the sample that gives the scores of all.
    """
    n = kernel.domain.size(X)
    centres = kernel.domain.centres(X)
    diagonal = doubles(kernel.evaluate_diag(X))
    oversampling = max(1.0, np.log(rank))
    dimension = max(1, int(rank / (4 * oversampling)))
    order = rng.permutation(n)
    sizes = [n]
    while sizes[-1] > rank:
        sizes.append(-(-sizes[-1] // 2))
    sample = order[: sizes.pop()]
    weights = np.ones(len(sample))
    while True:
        level = order[: sizes.pop()]
        K = _block(kernel, X, centres, sample)
        ridge = _tail(K * np.sqrt(np.outer(weights, weights)), dimension)
        block = bind(kernel, kernel.domain.take(X, level), kernel.domain.take(centres, sample)).dense()
        scores = ridge_leverage(block, diagonal[level], K, weights, ridge)
        if not sizes:
            result = np.empty(n)
            result[order] = scores
            return result
        p = np.minimum(1.0, oversampling * scores)
        keep = rng.uniform(size=len(p)) < p
        keep[np.argmax(p)] = True
        sample, weights = level[keep], 1.0 / p[keep]


def _tail(K: np.ndarray, dimension: int) -> float:
    """The sum of the eigenvalues after the first `dimension`, over `dimension`; always positive."""
    values = np.linalg.eigvalsh(K)[::-1]
    return float(max(values[dimension:].sum() / dimension, 1e-12 * values.sum(), 1e-300))


def ridge_leverage(block: Any, diagonal: np.ndarray, K: np.ndarray, weights: np.ndarray, ridge: float) -> np.ndarray:
    """(K − KS(SᵀKS + λI)⁻¹SᵀK)ᵢᵢ / λ for a weighted sample S; for S = I these are the scores (K(K + λI)⁻¹)ᵢᵢ.

    `block` and `diagonal` are k(X, S) and k(xᵢ, xᵢ) for the samples to score, `K` is k(S, S), and `ridge` is λ > 0.
    """
    M = block @ like(inverse_root(K + np.diag(ridge / weights), 0.0), block)
    explained = doubles(namespace(M).sum(M * M, axis=1))
    return np.clip((diagonal - explained) / ridge, 0.0, 1.0)
