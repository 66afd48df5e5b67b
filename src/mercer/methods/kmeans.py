"""k-means in the space of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin, clone

from .._array import host, is_numpy, is_sparse, like, namespace
from .._errors import (
    FROM_ONE,
    ONE_OR_NONE,
    IndefiniteKernelWarning,
    check_choice,
    check_number,
    check_parameters,
    warn,
    where,
)
from .._random import generator
from ..context import warn_early
from ..evaluation import bind
from ..gram import Gram, GramLike
from ..kernels import KernelLike
from ..solvers.clustering import Clusters, Partition, clusters_of, partitions, random_seeds, spread_seeds
from ..space import Function
from ..types import Array, Data, RandomState
from ._base import KernelEstimator

ROUNDS = 300  # default maximum per start
SEEDS = {"k-means++": spread_seeds, "random": random_seeds}


@dataclass(eq=False, repr=False)
class KernelKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, KernelEstimator):
    r"""k-means in the space of a kernel: the partition that minimises distances of points to their means.

    .. math:: \min_{c}\; J = \sum_i w_i\, \|\varphi(x_i) - m_{c(i)}\|^2, \qquad
              m_c = \frac{\sum_{c(i) = c} w_i\, \varphi(x_i)}{\sum_{c(i) = c} w_i}

    Parameters
    ----------
    n_clusters : int >= 1
        k; at most the number of distinct points.
    kernel : str, Kernel or callable
        Positive definite, or conditionally positive definite of order 1 (which suffices for distances to means).
    init : {"k-means++", "random"}, array of n integers, or collection of k points
        "k-means++" draws sample points one by one with probability proportional to the squared distance in the space to
        the nearest earlier one, "random" by weight alone; integers are labels, points are means.
    n_init : int >= 1
        Number of starts, of which the best is kept; 1 if `init` is given. More find lower minima.
    max_iter : int >= 1, or None
        Maximum number of rounds per start; None is 300.
    tol : float >= 0
        A start ends when a round lowers J by less than this fraction; 0 continues until no point moves.
    local_search : bool
        Whether to continue, once no point is nearer to another mean, with single moves that lower J because the means
        move as well, until none is left. Slower, but never worse.
    random_state : int, RandomState, Generator or None
        For the starts and random representations.
    gram : str or Representation
        How the kernel matrix is held or approximated.
    time_budget : float, optional
        Time limit in seconds. No round or start begins after it; the best result is kept, with a warning.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
    inertia_ : float
        J, for the kernel matrix as represented.
    function_ : Function
        The means m, one per column: ``function_[c]`` is the centre of cluster c, a function in the space.
    squared_norms_ : array of shape (n_clusters,)
        ‖m_c‖².
    history_ : array
        J of the best start, initially and after each round that lowered it; non-increasing.
    n_iter_ : int
        Its number of rounds, including the last, in which no point moved.
    inertias_ : array
        J of all starts, in ascending order.
    kernel_, gram_choice_
        As in `KernelRidge`.

    Notes
    -----
    A start costs one product with the kernel matrix, O(n²k), and then n kernel values for each point that moves,
    whether the matrix is stored or not (``gram="lazy"``). With a low-rank representation of rank r, all computations
    use the (n, r) factor, O(nrk) per round and less as points settle: exact k-means for the approximate kernel, or for
    the kernel itself if it has few explicit features (linear, polynomial). `transform` returns distances to the means
    in the space of ``function_.kernel``. An empty cluster gets the point that costs most elsewhere.

    **Graph cuts** are the weighted case: with the degrees d of an affinity matrix A as weights and the kernel
    ``"precomputed"`` with K = σD⁻¹ + D⁻¹AD⁻¹, J is the normalised cut plus the constant σ(n − k) + Σ Aᵢᵢ/dᵢ − k. A
    large enough σ makes K definite, but larger values let fewer points move per round; single moves (`local_search`)
    do not depend on it. `SpectralClustering` gives a start.

    References
    ----------
    Dhillon, Guan, Kulis, *Kernel k-means, spectral clustering and normalized cuts* (2004). Arthur, Vassilvitskii,
    *k-means++: the advantages of careful seeding* (2007). Hamerly, *Making k-means even faster* (2010).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> model = KernelKMeans(2, kernel="gaussian(lengthscale=0.5)", random_state=0).fit(X)
    >>> inside = model.predict([[0.0, 0.0]])[0]
    >>> bool(np.array_equal(model.labels_ == inside, y == 1))
    True
    >>> centre = model.function_[inside]
    >>> bool(centre([[0.0, 0.0]])[0] > centre([[1.0, 0.0]])[0])
    True
    """

    n_clusters: int = 8
    _: KW_ONLY
    kernel: KernelLike = "gaussian(lengthscale='median')"
    init: Any = "k-means++"
    n_init: int = 10
    max_iter: int | None = 300
    tol: float = 1e-6
    local_search: bool = False
    random_state: RandomState = None
    gram: GramLike = "auto"
    time_budget: float | None = None

    # ---- fitting

    def _needs(self, n: int) -> str:
        return "factor"

    def affinity_form(self, X: Data) -> Gram:
        """The kernel matrix of these samples, as a fit would represent it."""
        model = clone(self)
        return model._build(model._check_sample(X), constants=True)

    def fit(self, X: Data, y: Array = None, sample_weight: Array = None) -> Self:
        """Find clusters of the sample X; y is ignored. Samples of weight 0 are only labelled."""
        self._check_parameters()
        X = self._check_sample(X)
        n = self.kernel_.domain.size(X)
        if n < self.n_clusters:
            raise ValueError(f"{where(self)}: n_samples={n} should be >= n_clusters={self.n_clusters}; ask for fewer.")
        self._require_definite(X, 1)
        weight = self._weights(sample_weight, X)
        gram = self._build(X, constants=True)
        best = self._best(clusters_of(gram, weight), X)
        self._report(best)
        self.labels_, self.inertia_ = best.labels.astype(np.int32), best.objective
        self.history_, self.n_iter_ = best.history, best.n_iter
        self._keep(gram, weight)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self, {"n_clusters": FROM_ONE, "n_init": FROM_ONE, "max_iter": ONE_OR_NONE})
        check_number(self, "tol", self.tol, at_least=0)
        check_choice(self, "local_search", self.local_search, (True, False))
        if isinstance(self.init, str):
            check_choice(self, "init", self.init, tuple(SEEDS))

    def _best(self, points: Clusters, X: Data) -> Partition:
        seeds = SEEDS[self.init] if isinstance(self.init, str) else self._given_seeds(points, X)
        results = partitions(
            points,
            self.n_clusters,
            seeds,
            self.n_init if isinstance(self.init, str) else 1,
            generator(self.random_state),
            max_iter=self.max_iter or ROUNDS,
            tol=self.tol,
            local_search=self.local_search,
        )
        self.inertias_ = np.array([r.objective for r in results])
        return results[0]

    def _given_seeds(self, points: Clusters, X: Data) -> Callable[..., np.ndarray]:
        labels = self._given_labels(points, X)
        return lambda *_: labels

    def _given_labels(self, points: Clusters, X: Data) -> np.ndarray:
        """The labels given by `init`, or by the nearest of its points."""
        k, n = self.n_clusters, points.n
        if _is_vector_of_integers(self.init) and len(self.init) == n:
            labels = host(self.init)
            if labels.min() < 0 or labels.max() >= k:
                raise ValueError(
                    f"{where(self)}: init holds labels {labels.min()} to {labels.max()}; they must be 0 … {k - 1}."
                )
            return labels
        if self.kernel_.domain.precomputed:
            raise ValueError(f"{where(self)}: init must be {n} integer labels if the kernel is precomputed.")
        centres = self._given_points(X)
        if self.kernel_.domain.size(centres) != k:
            raise ValueError(
                f"{where(self)}: init holds {self.kernel_.domain.size(centres)} points; give n_clusters = {k} points, "
                f"or {n} integer labels."
            )
        kernel = self.kernel_.about(X)
        K = host(bind(kernel, X, centres).dense())
        return (host(kernel.evaluate_diag(centres)) - 2 * K).argmin(axis=1)

    def _given_points(self, X: Data) -> Any:
        """The points of `init`, converted to the floating type of X."""
        centres = self.init
        if self.kernel_.domain.vectors and len(getattr(centres, "shape", np.shape(centres))) != 2:
            raise ValueError(
                f"{where(self)}: init must be one of {', '.join(map(repr, SEEDS))}, an integer label for each sample, "
                f"or n_clusters = {self.n_clusters} points; got a {type(centres).__name__}."
            )
        if isinstance(X, np.ndarray) and X.dtype.kind == "f" and not is_sparse(centres):
            centres = np.asarray(centres, dtype=X.dtype)
        return self.kernel_.check_arguments(X, self.kernel_.domain.check(centres, self, "init"))[1]

    def _report(self, best: Partition) -> None:
        if best.rose:
            warn(
                f"{where(self)}: a round raised the objective, so {self.kernel_} is not (conditionally) positive "
                "definite on these samples; the previous partition is kept. Add White to the kernel, or a multiple of "
                "the inverse weights to the diagonal of a precomputed matrix.",
                IndefiniteKernelWarning,
            )
        if not best.converged:
            warn_early(self, "points still move between clusters", best.status, "Raise max_iter, or tol.")

    def _keep(self, gram: Gram, weight: np.ndarray) -> None:
        n, k = gram.n, self.n_clusters
        member = np.zeros((n, k))
        member[np.arange(n), self.labels_] = weight
        A = like(member / member.sum(axis=0), gram.like)
        self.function_: Function = self._function(gram, A)
        self.squared_norms_ = namespace(A).sum(A * (gram @ A), axis=0)
        self._n_features_out = k

    # ---- new points

    def _relative(self, X: Data) -> Any:
        """‖φ(x) − m‖² − ‖φ(x)‖²; the latter is the same for all means."""
        return self.squared_norms_ - 2 * self.function_.values(X)

    def predict(self, X: Data) -> Any:
        """The cluster with the nearest mean."""
        values = self._relative(self._check_new(X))
        labels, xp = host(values).argmin(axis=1).astype(np.int32), namespace(values)
        return labels if is_numpy(xp) else like(labels, values, dtype=xp.int32)

    def transform(self, X: Data) -> Any:
        """The distances ‖φ(x) − m‖ to all means, of shape (n, n_clusters).

        They need k(x, x), which a precomputed matrix contains only for the sample itself.
        """
        D = self._squared(self._check_new(X))
        xp = namespace(D)
        return xp.sqrt(xp.where(D > 0, D, xp.zeros_like(D)))

    def _squared(self, X: Data) -> Any:
        self.function_.kernel.check_values(X, self)
        return self._relative(X) + self.function_.kernel.evaluate_diag(X)[:, None]

    def score(self, X: Data, y: Array = None, sample_weight: Array = None) -> float:
        """Minus the sum of squared distances to the nearest means: −J for the sample itself."""
        X = self._check_new(X)
        weight = self._check_weight(sample_weight, X)
        nearest = host(self._squared(X)).min(axis=1)
        return -float(nearest.sum() if weight is None else nearest @ weight)


def _is_vector_of_integers(values: Array) -> bool:
    if hasattr(values, "dtype"):
        return len(values.shape) == 1 and host(values).dtype.kind in "iu"
    return isinstance(values, (list, tuple)) and all(
        isinstance(v, Integral) and not isinstance(v, bool) for v in values
    )
