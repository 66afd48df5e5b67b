"""Spectral clustering by the leading eigenvectors of the normalised affinities."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.csgraph import connected_components
from sklearn.base import ClusterMixin, clone
from sklearn.neighbors import NearestNeighbors

from .._array import asymmetry, eps, host, is_sparse, like, namespace
from .._errors import FROM_ONE, check_choice, check_number, check_parameters, warn, where
from .._random import generator
from .._units import lengths, power_of_two
from ..context import Status, current, warn_early
from ..gram import GramLike, Operator
from ..gram.normalized import GraphGram, NormalizedGram
from ..kernels import Kernel
from ..kernels.sklearn_names import SKLEARN, from_sklearn
from ..solvers.clustering import FactorClusters, largest, partitions, spread_seeds
from ..solvers.eigen import Eigenproblem, Spectrum, canonical, check_eigen_solver, degenerate, eigen_solver
from ..solvers.eigen.shift_invert import ResolventGram
from ..space import Function
from ..types import Array, Data, RandomState
from ._base import KernelEstimator, require_fitted, validated

GRAPHS = ("nearest_neighbors", "precomputed_nearest_neighbors")
SOLVERS = (None, "auto", "arpack", "lobpcg", "amg", "dense", "krylov")
NORMALIZATIONS = ("shi-malik", "ng-jordan-weiss")
MANY = 64  # eigenvectors sought for a repeated eigenvalue
ISOLATED = -1


@dataclass(eq=False, repr=False)
class SpectralClustering(ClusterMixin, KernelEstimator):
    r"""Spectral clustering: the relaxed normalised cut, by leading eigenvectors of the normalised affinities.

    .. math:: \min_{c}\; \sum_c \frac{\operatorname{links}(c, \bar c)}{\operatorname{degree}(c)} \;\to\;
              D^{-1/2} A D^{-1/2} u_j = \lambda_j u_j, \qquad
              x_i \mapsto e_i = \frac{(u_{i1}, \dots, u_{ik})}{\sqrt{d_i}}
              \quad\text{or}\quad \frac{(u_{i1}, \dots, u_{ik})}{\|(u_{i1}, \dots, u_{ik})\|}

    where A holds the affinities of distinct points, :math:`A_{ii} = 0`, and D = diag(d) its row sums.

    Parameters
    ----------
    n_clusters : int >= 1
        k.
    eigen_solver : {None, "arpack", "lobpcg", "amg", "dense", "krylov"} or EigenSolver
        scikit-learn's names choose automatically: dense up to 200 samples, ARPACK up to 3,000 with a stored matrix,
        else block Krylov iteration, by products or, for sparse graphs, an LU decomposition; "krylov" always uses
        products.
    n_components : int >= 1, optional
        Eigenvectors; None means n_clusters.
    random_state : int, RandomState, Generator or None
        Seed of the starts of the eigensolver and of the clustering, and of randomised representations.
    n_init : int >= 1
        Starts of k-means or of the rotation; the best is kept.
    gamma, degree, coef0, kernel_params
        As in scikit-learn, for its names and callables; an error with a Kernel.
    affinity : str, Kernel or callable
        A kernel with values >= 0: scikit-learn's names, any registered name or expression, a Kernel, or a function of
        two samples; "precomputed": a dense or sparse matrix; "nearest_neighbors": the neighbour graph, with weight 1
        for mutual neighbours and 1/2 for one-sided ones; "precomputed_nearest_neighbors": the neighbour graph of a
        sparse graph of distances.
    n_neighbors : int >= 1
        Number of neighbours in that graph, including the sample itself.
    eigen_tol : float >= 0 or "auto"
        Residual of the Krylov solver, relative to the largest eigenvalue; "auto" and 0 mean 1e-7.
    assign_labels : {"kmeans", "discretize", "cluster_qr"}
        How labels are found in the embedding: k-means; the rotation closest to a partition (Yu, Shi); a pivoted QR
        decomposition, without starts (Damle, Minden, Ying).
    n_jobs : int, optional
        Jobs for the neighbour search.
    verbose : bool
        Whether to print how labels are assigned, and the sums of squares of each k-means start, best first.
    normalization : {"shi-malik", "ng-jordan-weiss"}
        u/√d, the eigenvectors of the random walk, as in scikit-learn; or rows of u at unit length, as in kernlab.
    gram : str or Representation
        How the kernel matrix is stored or approximated.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    labels_ : array of shape (n_samples,)
        Cluster labels; −1 for samples without affinity to any other.
    eigenvalues_ : array of shape (n_components,)
        λ, descending from 1; k eigenvalues of 1 mean k connected components.
    embedding_ : array of shape (n_samples, n_components)
        e; 0 for samples without affinity.
    function_ : Function
        For kernels: the degree d(·) = Σ k(·, xⱼ) and the sums Σ eⱼ k(·, xⱼ) / λ of u/√d, which extend e to new points.
    affinity_matrix_ : array or sparse array
        A, if it is stored.
    spectrum_, kernel_, gram_choice_

    Notes
    -----
    New points are embedded by the Nyström extension, e(x) = Σⱼ k(x, xⱼ) eⱼ / (λ d(x)), the affinity-weighted mean of
    the samples' rows, and assigned to the corresponding cluster. This includes the affinity of a point to itself, so
    `predict` on the training sample may differ from `labels_` near a boundary.

    Only products with the matrix are needed: O(n²) each with a stored matrix or without (``gram="lazy"``), O(nr) with a
    low-rank one. Negative entries of a stored matrix are refused, otherwise negative row sums; those caused by an
    approximation are accepted.

    References
    ----------
    Shi, Malik, *Normalized cuts and image segmentation* (2000). Ng, Jordan, Weiss, *On spectral clustering: analysis
    and an algorithm* (2001). Yu, Shi, *Multiclass spectral clustering* (2003). Bengio et al., *Out-of-sample extensions
    for LLE, Isomap, MDS, eigenmaps, and spectral clustering* (2003). Damle, Minden, Ying, *Simple, direct, and
    efficient multi-way spectral clustering* (2019).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> model = SpectralClustering(2, gamma=20.0, random_state=0).fit(X)
    >>> same = model.labels_ == y
    >>> bool(same.all() or not same.any())
    True
    >>> bool(model.predict([[0.0, 1.0]]) == model.labels_[y == 0][0])
    True
    """

    takes_tensors = False

    kernel_parameter = "affinity"

    n_clusters: int = 8
    _: KW_ONLY
    eigen_solver: Any = None
    n_components: int | None = None
    random_state: RandomState = None
    n_init: int = 10
    gamma: float = 1.0
    affinity: Any = "rbf"
    n_neighbors: int = 10
    eigen_tol: Any = "auto"
    assign_labels: str = "kmeans"
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    n_jobs: int | None = None
    verbose: bool = False
    normalization: str = "shi-malik"
    gram: GramLike = "auto"
    time_budget: float | None = None

    def _kernel(self, n_features: int) -> Kernel:
        names = {"nearest_neighbors": "linear", "precomputed_nearest_neighbors": "precomputed"}
        affinity = names.get(self.affinity, self.affinity) if isinstance(self.affinity, str) else self.affinity
        carries_its_own = not (isinstance(affinity, str) and affinity in SKLEARN)
        return from_sklearn(
            affinity,
            gamma=None if carries_its_own and isinstance(self.gamma, Real) and self.gamma == 1.0 else self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
            n_features=n_features,
            owner=self,
            name="affinity",
        )

    # ---- fitting

    def fit(self, X: Data, y: Array = None) -> Self:
        """Cluster the sample X, or the nodes of a graph given by its matrix; y is ignored."""
        self._check_parameters()
        rng = generator(self.random_state)
        base = self._affinities(X)
        n, k = base.n, self.n_clusters
        if n < k:
            raise ValueError(f"{where(self)}: n_samples={n} should be >= n_clusters={k}; use fewer clusters.")
        operator = NormalizedGram(base, self)
        connected = ~operator.isolated
        if k > 1 and connected.sum() < k:
            raise ValueError(
                f"{where(self)}: only {connected.sum()} of {n} samples have affinity to any other, fewer than "
                f"n_clusters = {k}; widen the kernel or raise n_neighbors."
            )
        if self.n_components is not None and self.n_components > n:
            raise ValueError(
                f"{where(self)}: n_components = {self.n_components} exceeds the {n} samples; give at most {n}, or None."
            )
        self.spectrum_ = self.leading(operator, k if self.n_components is None else self.n_components, rng)
        self.eigenvalues_ = self.spectrum_.values
        vectors = self.spectrum_.vectors * like(connected, self.spectrum_.vectors)[:, None]
        walk = vectors / operator.roots[:, None]
        self.embedding_ = self._normalised(walk)
        self.labels_ = np.full(n, ISOLATED, dtype=np.int32)
        self._rule: tuple[str, np.ndarray] = ("nearest", np.zeros((k, self.embedding_.shape[1])))  # if all are isolated
        self._unit = 1.0
        if connected.any():
            self.labels_[connected] = self._read_off(host(self.embedding_)[connected].astype(np.float64), rng)
        if operator.isolated.any():
            warn(
                f"{where(self)}: {operator.isolated.sum()} samples have no affinity to any other; they are labelled "
                f"{ISOLATED}. Widen the kernel or raise n_neighbors to place them."
            )
        self._warn_of_parts(base, connected)
        self._keep(base, operator, walk)
        return self

    def _check_parameters(self) -> None:
        check_parameters(self, {"n_clusters": FROM_ONE, "n_init": FROM_ONE, "n_neighbors": FROM_ONE})
        check_number(self, "n_components", self.n_components, at_least=1, integer=True, besides=(None,))
        check_choice(self, "assign_labels", self.assign_labels, ("kmeans", "discretize", "cluster_qr"))
        if self.assign_labels != "kmeans" and self.n_components not in (None, self.n_clusters):
            raise ValueError(
                f"{where(self)}: n_components = {self.n_components} must be n_clusters = {self.n_clusters} with "
                f"assign_labels = {self.assign_labels!r}, which gives one cluster per component."
            )
        check_choice(self, "normalization", self.normalization, NORMALIZATIONS)
        check_eigen_solver(self, self.eigen_solver, SOLVERS)
        check_number(self, "eigen_tol", self.eigen_tol, at_least=0, besides=("auto",))

    def affinity_form(self, X: Data) -> Operator:
        """The affinities of these samples, as a fit would compute them: a kernel matrix or a graph."""
        return clone(self)._affinities(X)

    def _affinities(self, X: Data) -> Operator:
        """The affinities of the sample as an operator."""
        graph = isinstance(self.affinity, str) and self.affinity in GRAPHS
        precomputed = isinstance(self.affinity, str) and self.affinity == "precomputed"
        if not graph and not (precomputed and is_sparse(X)):
            X = self._check_sample(X)
            return self._build(self._both_ways(X) if precomputed and X.shape[0] == X.shape[1] else X)
        X = validated(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        if graph:
            metric = "precomputed" if self.affinity == "precomputed_nearest_neighbors" else "minkowski"
            if self.n_neighbors > X.shape[0]:
                raise ValueError(
                    f"{where(self)}: n_neighbors = {self.n_neighbors} exceeds the {X.shape[0]} samples; give fewer."
                )
            self._neighbours = NearestNeighbors(n_neighbors=self.n_neighbors, metric=metric, n_jobs=self.n_jobs)
            self._size = power_of_two(X)  # squared distances may overflow or underflow
            directed = self._neighbours.fit(X / self._size).kneighbors_graph(X / self._size)
            matrix = csr_array(0.5 * (directed + directed.T))
        else:
            matrix = csr_array(X)
            if matrix.shape[0] != matrix.shape[1]:
                raise ValueError(f"{where(self)}: the affinity matrix has shape {matrix.shape}; it must be square.")
            matrix = csr_array(self._both_ways(matrix))
        self.gram_choice_ = f"a sparse graph with {matrix.nnz} entries"
        return GraphGram(matrix)

    def _both_ways(self, A: Array) -> Any:
        """Symmetric affinities; nearest-neighbour links, for example, are not."""
        if asymmetry(A) != "large" or float(A.min() if is_sparse(A) else namespace(A).min(A)) < 0:
            return A  # negative entries must not vanish in a mean: they are refused later
        warn(
            f"{where(self)}: the affinity matrix is not symmetric; the mean of it and its transpose is used. Pass "
            "(A + A.T) / 2 to avoid this warning."
        )
        return (A + A.T) / 2

    def _warn_of_parts(self, base: Operator, connected: np.ndarray) -> None:
        """Warn if stored affinities form several connected components."""
        if len(self.eigenvalues_) > 1 and float(self.eigenvalues_[1]) < 1 - 1e-5:
            return  # each component has an eigenvalue of 1
        if "sparse" in base.provides:
            links: Any = base.matrix[connected][:, connected]
        elif "dense" in base.provides:
            links = csr_array(host(base.dense())[np.ix_(connected, connected)] > 0)
        else:
            return
        parts = connected_components(links, directed=False, return_labels=False)
        if parts > 1:
            warn(
                f"{where(self)}: the graph is not fully connected: it has {parts} connected components, which are "
                "separated before any other clusters. Widen the kernel or raise n_neighbors to link them."
            )

    def leading(self, operator: NormalizedGram, count: int, rng: np.random.Generator) -> Spectrum:
        """The largest eigenvalues of normalised affinities, with eigenvectors that do not depend on rounding."""
        # all eigenvectors of an eigenvalue repeated beyond `count` are needed; iterative solvers seek a limited number
        most = operator.factor().shape[1] if "factor" in operator.provides else operator.n
        wanted = min(count + 1, most)
        found = self._solve(operator, wanted, rng)
        while degenerate(found, count) and wanted < (most if found.method == "dense" else min(most, MANY + count)):
            wanted = min(4 * wanted, most)
            found = self._solve(operator, wanted, rng)
        return canonical(found, count)

    def _solve(self, operator: NormalizedGram, count: int, rng: np.random.Generator) -> Spectrum:
        """The largest eigenvalues by the chosen solver."""
        given, base = self.eigen_solver, operator.base
        name = "auto" if given in SOLVERS and given not in ("dense", "krylov") else given
        tol = 1e-7 if self.eigen_tol in ("auto", 0) else self.eigen_tol
        current().check()
        problem = Eigenproblem(operator, count, rng)
        solver = eigen_solver(name, problem, tol=tol, oversample=max(8, count), max_iter=1000, width=12)
        if name == "auto" and solver.by_products and "sparse" in base.provides:
            return ResolventGram(operator, base.matrix).leading(count, tol, rng)
        return solver.solve(problem)

    def _normalised(self, walk: Any) -> Any:
        """u/√d, or its rows at unit length, which equal those of u."""
        if self.normalization == "shi-malik":
            return walk
        xp = namespace(walk)
        length = lengths(xp.matrix_transpose(walk))
        return walk / xp.where(length > 0, length, xp.ones_like(length))[:, None]

    def _read_off(self, E: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Labels of the rows of the embedding; sets the rule for new rows."""
        self._unit = power_of_two(E)
        E = E / self._unit
        k, report = self.n_clusters, print if self.verbose else (lambda line: None)
        report(f"Computing label assignment using {self.assign_labels}")
        if self.assign_labels == "kmeans":
            points = FactorClusters(E, np.ones(len(E)))
            found = partitions(points, k, spread_seeds, self.n_init, rng, max_iter=300, tol=0.0)
            for run in found:
                report("Initialization complete")
                for step, inertia in enumerate(run.history):
                    report(f"Iteration {step}, inertia {inertia * self._unit * self._unit:.6g}.")
            best = found[0]
            if best.status is not Status.CONVERGED:
                warn_early(self, "k-means on the embedding has not converged", best.status, "Lower n_clusters.")
            member = np.eye(k)[best.labels]
            self._rule = ("nearest", (member.T @ E) / member.sum(axis=0)[:, None])
            return best.labels
        if self.assign_labels == "discretize":
            runs = [_discretize(E, rng) for _ in current().draws(self.n_init)]
            self._rule = ("largest", runs[largest(-np.array([distance for distance, _ in runs]))][1])
        else:
            self._rule = ("largest size", _cluster_qr(E))
        return self._apply_rule(E)

    def _apply_rule(self, E: np.ndarray) -> np.ndarray:
        """Labels of rows in units of the embedding."""
        kind, M = self._rule
        if kind == "nearest":
            return largest(2 * E @ M.T - np.sum(M * M, axis=1))
        return largest(E @ M if kind == "largest" else np.abs(E @ M))

    def _keep(self, base: Operator, operator: NormalizedGram, walk: Any) -> None:
        xp = namespace(walk)
        values = self.eigenvalues_
        usable = values > 1e-8  # other directions have no extension
        walk = walk * xp.where(usable, 1 / xp.where(usable, values, xp.ones_like(values)), 0 * values)
        self._floor = 8 * eps(walk) * float(xp.max(xp.abs(operator.self_affinity)))
        self._sums = xp.concat([xp.ones_like(walk[:, :1]), walk], axis=1)
        self._forget("function_", "affinity_matrix_")
        if "sparse" in base.provides:
            given = isinstance(self.affinity, str) and self.affinity == "precomputed"
            self.affinity_matrix_: Any = base.matrix if given else csr_matrix(base.matrix)  # as in scikit-learn
            return
        if "dense" in base.provides:
            self.affinity_matrix_ = base.dense()
        self.function_: Function = self._function(base, self._sums)  # type: ignore[arg-type]

    # ---- new points

    def predict(self, X: Data) -> np.ndarray:
        """Clusters of new points; −1 without affinity to any sample. For a precomputed matrix pass their rows."""
        require_fitted(self)
        sums = host(self._extend(X)).astype(np.float64)
        degree = sums[:, 0]
        labels = np.full(len(sums), ISOLATED, dtype=np.int32)
        seen = degree > self._floor
        if seen.any():
            labels[seen] = self._apply_rule(self._normalised(sums[seen, 1:] / degree[seen, None]) / self._unit)
        return labels

    def _extend(self, X: Data) -> Any:
        """Degree and weighted sums of the samples' rows at new points."""
        if hasattr(self, "function_"):
            return self.function_(self._check_new(X))
        X = validated(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        return (X if self.affinity == "precomputed" else self._neighbours.kneighbors_graph(X / self._size)) @ self._sums

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.sparse or tags.input_tags.pairwise
        return tags


def _discretize(E: np.ndarray, rng: np.random.Generator, max_iter: int = 100) -> tuple[float, np.ndarray]:
    """M with clusters argmax(E M): scales the columns of E to equal length, and rotates its rows towards the axes.

    Alternates between the nearest partition for a rotation and the nearest rotation for a partition (Procrustes),
    starting from a random row and others as orthogonal to each other as possible. Also returns the squared distance, at
    a local minimum. Zero rows, of components without an eigenvector, are ignored.
    """
    k = E.shape[1]
    length = np.linalg.norm(E, axis=0)
    scale = len(E) ** 0.5 / np.where(length > 0, length, 1.0)
    rows = E[E.any(axis=1)] * scale
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    n = len(rows)
    R = np.zeros((k, k))
    R[:, 0] = rows[rng.integers(n)]
    overlap = np.zeros(n)
    for j in range(1, k):
        overlap += np.abs(rows @ R[:, j - 1])
        R[:, j] = rows[largest(-overlap)]
    last = np.inf
    for _ in range(max_iter):
        U, s, Vh = np.linalg.svd(np.eye(k)[largest(rows @ R)].T @ rows)
        R = (U @ Vh).T
        distance = 2 * (n - s.sum())
        if last - distance <= 1e-12 * n:
            break
        last = distance
    return distance, scale[:, None] * R


def _cluster_qr(E: np.ndarray) -> np.ndarray:
    """M with clusters argmax |E M|: the rotation nearest to the k rows selected by a pivoted QR decomposition."""
    rest, pivots = E.copy(), []
    for _ in range(E.shape[1]):  # project all rows off the longest one (the first in a tie)
        pivots.append(int(largest(np.sum(rest**2, axis=1))))
        longest = rest[pivots[-1]]
        rest -= np.outer(rest @ longest, longest) / max(float(longest @ longest), np.finfo(E.dtype).tiny)
    U, _, Vh = np.linalg.svd(E[pivots].T)
    return U @ Vh
