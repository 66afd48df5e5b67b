"""Manifold ranking: retrieval of samples related to a query."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from .._array import beside, eps, host, is_sparse, like, namespace
from .._errors import ONE_OR_NONE, POSITIVE, SHARE, check_number, check_parameters, where
from .._neighbours import check_rule, check_weights, connecting_length, links, nearest, within
from ..gram import GramLike, Operator
from ..gram.normalized import GraphGram, NormalizedGram
from ..kernels import KernelLike
from ..solvers.laplacian import spread
from ..types import Array, Data, RandomState
from ._base import KernelEstimator, require_fitted, validated


@dataclass(eq=False, repr=False)
class ManifoldRanking(KernelEstimator):
    r"""Manifold ranking: scores spread from query samples along the data and rank all others by proximity.

    .. math:: f = \sum_{t \ge 0} (\alpha S)^t y = (I - \alpha S)^{-1} y, \qquad S = D^{-1/2} A D^{-1/2}

    where A holds the affinities between distinct samples, D its row sums, and y the queries: 1 for positive examples,
    −1 for negative ones, 0 elsewhere.

    Parameters
    ----------
    kernel : Kernel, name, expression or callable
        Affinities >= 0; "precomputed" for a matrix of them, dense or sparse.
    alpha : float in [0, 1)
        How far scores spread: each step along a link multiplies them by α. Near 1, a score reaches the whole connected
        component; with 0, only the queries have scores.
    graph : int >= 1, "connected" or None
        Which affinities to use. k: those of pairs in which one sample is among the k nearest neighbours of the other,
        in the kernel's metric. "connected": those of the closest pairs, up to the distance at which the graph becomes
        connected (kernlab's ``edgegraph``). None: all, or all entries of a sparse matrix.
    max_iter : int >= 1, optional
        Terms of the sum after the first (kernlab's ``iterations``). None computes the limit, by conjugate gradients.
    tol : float > 0
        Residual of the limit, relative to y.
    gram : str or Representation
        How the full affinity matrix is stored or approximated if ``graph=None``.
    random_state, time_budget
        As in `KernelRidge`.

    Attributes
    ----------
    scores_ : array of shape (n_samples,) or (n_samples, n_queries)
        f, if `fit` was given y.
    ranks_ : array of the same shape
        1 for the highest score among samples that are not queries; 0 for the queries.
    affinity_matrix_ : sparse array
        A, if it is a graph.
    solution_ : LinearSolution
        Residual and iterations of `scores_`.
    kernel_, gram_choice_

    Notes
    -----
    The cost is that of matrix products: O(n·graph) each with a neighbour graph, which is built from rows of kernel
    values without the full matrix; O(n²) with all affinities, stored or not. About :math:`12 / \sqrt{1 - \alpha}`
    products reach the default `tol`. Connected components without a query have score 0.

    kernlab's scores for one query q are :math:`f / (\alpha f_q)`, with the same ranks. A new point is scored as a
    sample that does not affect the others: :math:`f(x) = \alpha \sum_j a(x, x_j) f_j / \sqrt{d(x) d_j}`.

    References
    ----------
    Zhou, Weston, Gretton, Bousquet, Schölkopf, *Ranking on data manifolds* (2003).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, moon = make_moons(200, noise=0.05, random_state=0)
    >>> query = np.zeros(200)
    >>> query[np.argmin(X[:, 0])] = 1  # the far end of one moon
    >>> model = ManifoldRanking().fit(X, query)
    >>> same = moon == moon[np.argmin(X[:, 0])]
    >>> bool(model.ranks_[same].max() < model.ranks_[~same].min())
    True
    """

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    alpha: float = 0.99
    graph: Any = 6
    max_iter: int | None = None
    tol: float = 1e-10
    gram: GramLike = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def fit(self, X: Data, y: Array = None) -> Self:
        """Build the graph of samples X (or of an affinity matrix X); score queries y (n,) or (n, n_queries), if any."""
        self._check_parameters()
        self._forget("scores_", "ranks_", "solution_", "affinity_matrix_", "_sample")
        given = self._kernel(1).domain.precomputed
        if given and is_sparse(X):
            base = self._given_graph(X)
        else:
            if y is None:
                X = self._check_sample(X)
            else:
                X, y = self._check_fit(X, y, multi_output=True, y_numeric=True)
            if given:
                self._refuse_negative(host(X))
            base = self._affinities(X)
        self._operator = NormalizedGram(base, self)
        if "sparse" in base.provides:
            self.affinity_matrix_ = base.matrix
            self.gram_choice_ = f"a sparse graph with {base.matrix.nnz} entries"
        if y is not None:
            y = self._check_queries(y)
            self.solution_ = self._spread(y)
            self.scores_ = self._at_home(self.solution_.coefficients)
            self.ranks_ = _ranks(host(self.scores_), host(y) != 0)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self, {"alpha": SHARE, "max_iter": ONE_OR_NONE, "tol": POSITIVE})
        if self.alpha == 1:
            raise ValueError(f"{where(self)}: alpha = 1 must be < 1, or the sum over all steps diverges.")
        if self.graph is not None:
            check_rule(self, "graph", self.graph)

    def _given_graph(self, X: Data) -> Operator:
        X = validated(self, X, accept_sparse="csr", dtype=np.float64)
        if self.graph is not None:
            raise ValueError(
                f"{where(self)}: graph = {self.graph!r} does not apply to a sparse X, which is a graph itself; "
                "use None."
            )
        self._refuse_negative(X.data)
        self.kernel_, self.dtype_ = self._kernel(1), X.dtype
        return GraphGram(check_weights(self, "X", X))

    def _refuse_negative(self, values: np.ndarray) -> None:
        least, noise = values.min(initial=0), 8 * np.finfo(values.dtype).eps * np.abs(values).max(initial=0)
        if least < -noise:
            raise ValueError(
                f"{where(self)}: Negative values in data: X holds {least:g}, but affinities must be >= 0; clip them."
            )

    def _affinities(self, X: Data) -> Operator:
        if self.graph is None:
            return self._build(X)
        self._sample = X
        self._reach = connecting_length(self.kernel_, X) if self.graph == "connected" else 0.0
        return GraphGram(
            check_weights(self, "the graph of kernel values", links(self.kernel_, X, self.graph, self._reach))
        )

    # ---- queries

    def scores(self, y: Array) -> Any:
        """f for other queries y, of shape (n_samples,) or (n_samples, n_queries), over the same samples."""
        require_fitted(self)
        return self._at_home(self._spread(self._check_queries(y)).coefficients)

    def retrieve(self, X: Data, k: int = 10) -> np.ndarray:
        """Indices of the k samples with the highest scores for each query point, best first: shape (n_queries, k).

        Ties keep the order of the samples, as do all samples if a query has no affinity to any.
        """
        check_number(self, "k", k, at_least=1, integer=True)
        scale, cross = self._links_to(X)
        S = scale[:, None] * cross.dense() * self._operator.scale[None, :]
        F = host(self._spread(namespace(S).matrix_transpose(S)).coefficients)
        return np.argsort(-F, axis=0, kind="stable")[:k].T

    def score_samples(self, X: Data) -> Any:
        """f at new points; 0 if a point has no affinity to any sample. For a precomputed matrix pass their rows."""
        require_fitted(self)
        if not hasattr(self, "scores_"):
            raise ValueError(f"{where(self)}: fit was called without y, so there are no scores; pass queries to fit.")
        scale, cross = self._links_to(X)
        scores = self.solution_.coefficients
        F = scores if scores.ndim == 2 else scores[:, None]
        values = self._at_home(float(self.alpha) * scale[:, None] * (cross @ (self._operator.scale[:, None] * F)))
        return values if scores.ndim == 2 else values[:, 0]

    def _check_queries(self, y: Array) -> Any:
        n = self._operator.n
        values = host(y)
        if values.dtype.kind not in "fiub":
            raise TypeError(f"{where(self)}: y holds {values.dtype} values; give numbers, 0 for samples without query.")
        if values.ndim not in (1, 2) or len(values) != n:
            raise ValueError(f"{where(self)}: y has shape {values.shape}, expected ({n},) or ({n}, n_queries).")
        if not np.all(np.isfinite(values)):
            raise ValueError(f"{where(self)}: y contains NaN or infinity; give 0 for samples without query.")
        return like(values, self._operator.like)

    def _spread(self, Y: Data) -> Any:
        return spread(self._operator, Y, float(self.alpha), self.tol, self.max_iter)

    def _at_home(self, F: Array) -> Any:
        """F in the array library of the samples; a sparse graph stays on the host."""
        X = getattr(self, "_sample", None)
        return beside(F, X)

    def _links_to(self, X: Data) -> tuple[Any, Any]:
        """1/√d(x) of new points, and their affinities to the samples as an operator."""
        require_fitted(self)
        base: Any = self._operator.base
        cross: Any = GraphGram(self._new_links(X)) if "sparse" in base.provides else base.cross(self._check_new(X))
        degree = cross @ (0 * self._operator.degrees + 1)
        xp = namespace(degree)
        seen = degree > 8 * eps(degree) * float(xp.max(xp.abs(self._operator.degrees)))
        return xp.where(seen, 1 / xp.sqrt(xp.where(seen, degree, xp.ones_like(degree))), 0 * degree), cross

    def _new_links(self, X: Data) -> csr_array:
        n = self._operator.n
        if self.graph is None:
            return csr_array(validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False))
        X = self._check_new(X)
        shape = self.kernel_.domain.size(X), n
        if self.graph == "connected":
            first, second, values = within(self.kernel_, self._sample, self._reach, X)
        else:
            index, near = nearest(self.kernel_, self._sample, int(self.graph), X)
            first, second, values = np.repeat(np.arange(shape[0]), index.shape[1]), index.ravel(), near.ravel()
        return csr_array((values, (first, second)), shape=shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.input_tags.pairwise:
            tags.input_tags.sparse, tags.input_tags.positive_only = self.graph is None, True
        return tags


def _ranks(scores: np.ndarray, query: np.ndarray) -> np.ndarray:
    """1, 2, … by decreasing score among the samples that are not queries; queries get 0."""
    order = np.argsort(np.where(query, np.inf, -scores), axis=0, kind="stable")
    ranks = np.empty(scores.shape, dtype=np.int64)
    places = np.arange(1, len(scores) + 1)
    np.put_along_axis(ranks, order, places if scores.ndim == 1 else places[:, None], axis=0)
    return np.where(query, 0, ranks)
