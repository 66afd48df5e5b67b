"""Kernels deformed along a point cloud, which make any method semi-supervised."""

from __future__ import annotations

from threading import RLock
from typing import Any, Self

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.sparse import csgraph, csr_array
from sklearn.base import clone

from .._array import host, is_array, is_numpy, is_sparse, like, namespace
from .._errors import FROM_ONE, NOT_NEGATIVE, REMEDIES, IndefiniteError, where
from .._neighbours import check_rule, check_weights, links
from .._same import same
from ..domains import take
from ..evaluation import Points, bind
from ..types import Array, Checked, Evaluable, Index
from ._base import Kernel, is_kernel, register
from ._parts import Unary, in_type_of, inner_examples
from .expression import KernelLike, as_kernel

_ONCE = RLock()  # one thread computes the factor, the others wait


@register
class Deformed(Unary):
    r"""The kernel of the space with an extra penalty on variation along a graph on a point cloud.

    .. math:: \|f\|_{\tilde H}^2 = \|f\|_H^2 + f(P)^\top M f(P), \quad M = \gamma L^p
              \qquad\Longrightarrow\qquad
              \tilde k(x, z) = k(x, z) - k(x, P) (I + M K_{PP})^{-1} M\, k(P, z)

    where P are the points, labelled or not, and L is the Laplacian of a graph that links nearby points. The space
    contains the same functions, but those that change between linked points have a larger norm. Any method with this
    kernel gains the penalty: `KernelRidge` becomes Laplacian ridge regression, `SVC` the Laplacian support vector
    machine.

    Parameters
    ----------
    kernel : Kernel
        k, positive definite.
    X : collection, optional
        The points P. None: the samples passed to `fit`.
    graph : int >= 1, "connected", Kernel, or array or sparse array of shape (n_points, n_points)
        A number of neighbours: points are linked with weight 1 if one is among the nearest of the other, in the
        kernel's metric. "connected": all links up to the shortest length that connects the graph. A Kernel with
        values >= 0: weights between all points. A matrix: symmetric weights >= 0.
    weight : float >= 0
        γ, in units of 1 / k(x, x). Larger makes functions follow the graph more closely; 0 gives k.
    power : int >= 1
        p. Larger penalises slow variation along the graph less, and fast variation more.
    laplacian : {"normalized", "unnormalized"}
        L: :math:`I - D^{-1/2} W D^{-1/2}`, with eigenvalues in [0, 2] for any weights W, or D − W.

    Notes
    -----
    The factor of :math:`(I + M K)^{-1} M = G^\top G` is computed once, O(n³) for n points; each value then costs O(n)
    and each new point O(n²). With M = BBᵀ, G = C⁻¹Bᵀ and CCᵀ = I + BᵀKB, which is symmetric and never singular,
    although M is: L has a null vector for each connected component of the graph. For even p, B is a power of L; for
    odd p, a power of L times a pivoted Cholesky factor of L.

    k − k̃ is positive definite: k̃(x, x) shrinks as γ grows, most at points with many links, so regularise less (larger
    C, smaller alpha) than with k. With few labels and an intercept, prefer ``Deformed(…).normalized()``: an intercept
    half way between two labels is biased to one side if their k̃(x, x) differ greatly.

    References
    ----------
    Sindhwani, Niyogi, Belkin, *Beyond the point cloud: from transductive to semi-supervised learning* (2005). Belkin,
    Niyogi, Sindhwani, *Manifold regularization: a geometric framework for learning from labeled and unlabeled examples*
    (2006).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> cloud = np.array([[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]])
    >>> k = Deformed(Gaussian(2.0), cloud, graph=2, weight=100.0)
    >>> Gaussian(2.0)([[0.0]], [[2.0], [7.0]]).round(2)
    array([[0.61, 0.  ]])
    >>> k.normalized()([[0.0]], [[2.0], [7.0]]).round(2)  # linked points have become alike
    array([[0.99, 0.06]])
    """

    tile = Kernel.tile  # not the inner kernel's: a block costs a product with the factor
    prepares = True  # each member needs its row of values against the points once
    rules = {"weight": NOT_NEGATIVE, "power": FROM_ONE, "laplacian": ("normalized", "unnormalized")}

    def __init__(
        self,
        kernel: Kernel,
        X: Checked = None,
        graph: Any = 6,
        weight: float = 100.0,
        power: int = 1,
        laplacian: str = "normalized",
    ):
        self.kernel, self.X, self.graph = kernel, X, graph
        self.weight, self.power, self.laplacian = weight, power, laplacian

    def validate(self) -> None:
        super().validate()
        if self.kernel.domain.precomputed:
            raise TypeError(
                f"{where(self)}: the points of {self.kernel} are only indices; use FiniteDomain(K), on 0, …, n − 1."
            )
        if self.X is None:
            raise ValueError(f"{where(self)}: X = None is filled in by fit; elsewhere give the points.")
        if not is_kernel(self.graph) and not _is_matrix(self.graph):
            check_rule(self, "graph", self.graph)

    def resolve(self, X: Checked) -> Self:
        """A clone with X as points if there are none, and data-driven parameters of k set on the points."""
        points = self.domain.check(X if self.X is None else self.X, self)
        copy = type(self)(**self.get_params(deep=False) | {"kernel": self.kernel.resolve(points), "X": points})
        if self.X is not None and copy.kernel == self.kernel:
            self.validate()
            copy._known = copy._sources(), *self._cloud()  # also kept on self, for further fits with this kernel
        return copy

    # ---- the point cloud

    def _cloud(self) -> tuple[Any, np.ndarray]:
        """The checked points and G, computed once for all tiles of a matrix."""
        if not self._is_known():
            with _ONCE:
                if not self._is_known():
                    points = self.domain.check(self.X, self, "points")
                    self._known = self._sources(), points, self._factor(points)
        return self._known[1:]

    def _sources(self) -> dict[str, Any]:
        """The parameters that determine the factor; kernels are copied, as they may change later."""
        given = self.get_params(deep=False)
        return {name: clone(value) if is_kernel(value) else value for name, value in given.items()}

    def _is_known(self) -> bool:
        if not hasattr(self, "_known"):
            return False
        known, now = self._known[0], self.get_params(deep=False)
        return all(now[name] is known[name] or same(now[name], known[name]) for name in now)

    def _factor(self, points: Checked) -> np.ndarray:
        self.kernel.require_pd(self.domain.dimension(points), self, why=", so it defines no norm")
        L = csgraph.laplacian(self._weights(points), normed=self.laplacian == "normalized")
        B: Any = None if self.power % 2 == 0 else _semidefinite_factor(L.toarray() if is_sparse(L) else L)
        for _ in range(self.power // 2):
            B = L if B is None else L @ B
        B = np.sqrt(float(self.weight)) * (B.toarray() if is_sparse(B) else B)
        K = host(bind(self.kernel, points).dense())
        largest, precision = float(np.abs(K).max()), np.finfo(K.dtype).eps
        # k̃(x, x) may be as small as 1 / Mₓₓ, and is a difference of values as large as k(x, x)
        if largest * np.sum(B * B, axis=1).max() * precision > 0.01:
            raise ValueError(
                f"{where(self)}: weight = {self.weight:g} with values of {self.kernel} up to {largest:.3g} leaves no "
                f"accuracy in {K.dtype}; lower weight, use kernel.normalized(), or give points in double precision."
            )
        C = B.T @ (K.astype(np.float64) @ B)
        C[np.diag_indices_from(C)] += 1
        try:
            root = cholesky((C + C.T) / 2, lower=True, overwrite_a=True)
        except LinAlgError:
            raise IndefiniteError(
                f"{where(self)}: {self.kernel} is not positive definite on the points, so it defines no norm. "
                f"{REMEDIES}"
            ) from None
        return solve_triangular(root, B.T, lower=True)

    def _weights(self, points: Checked) -> Any:
        """The matrix of link weights, sparse unless given for all pairs."""
        if not is_kernel(self.graph) and not _is_matrix(self.graph):
            W = links(self.kernel, points, self.graph)
            W.data = np.ones_like(W.data)
            return W
        W = self.graph.resolve(points)(points) if is_kernel(self.graph) else self.graph
        W = check_weights(self, "graph", W)
        n = self.domain.size(points)
        if W.shape != (n, n):
            raise ValueError(f"{where(self)}: graph has shape {W.shape}, but there are {n} points; give ({n}, {n}).")
        return W

    # ---- values

    def _image(self, A: Array) -> Any:
        """k(A, P)Gᵀ, whose inner products are subtracted from k."""
        points, G = self._cloud()
        K = self.kernel.evaluate(A, in_type_of(A, points))
        xp = namespace(K)
        # `like` would copy, which is slow with few points
        return K @ xp.matrix_transpose(np.asarray(G, dtype=K.dtype) if is_numpy(xp) else like(G, K))

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        F = self._image(X)
        E = F if Y is None else self._image(Y)
        return self.kernel.evaluate(X, Y) - F @ namespace(F).matrix_transpose(E)

    def evaluate_diag(self, X: Checked) -> Any:
        F = self._image(X)
        return self.kernel.evaluate_diag(X) - namespace(F).sum(F * F, axis=1)

    def points(self, X: Checked, beside: Any = None) -> Points:
        inner = self.kernel.points(X, None if beside is None else beside.inner)
        return _Held(self, inner, self._image(X))

    @classmethod
    def examples(cls) -> list[Kernel]:
        P = np.random.default_rng(5).normal(size=(7, 3))
        ring = np.roll(np.eye(7), 1, axis=0)
        gaussian, affine = inner_examples()
        return [
            cls(gaussian, P, 3),
            cls(gaussian, P, csr_array(ring + ring.T), 0.5, 2, "unnormalized"),
            cls(affine, P, gaussian, 2.0, 3),
            cls(affine, P, "connected"),
        ]


class _Held(Points):
    """A collection with its images, so that a value costs one more inner product than in k."""

    def __init__(self, kernel: Evaluable, inner: Points, image: Any):
        self.kernel, self.inner, self.image, self.batch = kernel, inner, image, inner.batch

    def __len__(self) -> int:
        return len(self.inner)

    def take(self, index: Index) -> _Held:
        return _Held(self.kernel, self.inner.take(index), take(self.image, index))

    def matrix(self, other: Any) -> Any:
        return self.inner.matrix(other.inner) - self.image @ namespace(self.image).matrix_transpose(other.image)


def deformed(
    kernel: KernelLike,
    X_unlabelled: Any = None,
    graph: Any = 6,
    *,
    weight: float = 100.0,
    power: int = 1,
    laplacian: str = "normalized",
) -> Deformed:
    """Deform a kernel along a cloud of points, labelled or not: any method with it is semi-supervised.

    Parameters
    ----------
    kernel : Kernel, name or expression
    X_unlabelled : collection, optional
        The points, including those with labels. None: the samples passed to `fit`.
    graph, weight, power, laplacian
        As in `mercer.kernels.Deformed`.

    Examples
    --------
    Two rows of points, and one label in each:

    >>> from mercer import SVC
    >>> t = np.linspace(0, 5, 50)
    >>> X = np.concatenate([np.column_stack([t, 0 * t]), np.column_stack([t, 0 * t + 1])])
    >>> y, known = np.repeat(["low", "high"], 50), [0, 99]
    >>> plain = SVC(kernel="gaussian(lengthscale=0.5)").fit(X[known], y[known])
    >>> bent = SVC(kernel=deformed("gaussian(lengthscale=0.5)", X, 4)).fit(X[known], y[known])
    >>> plain.score(X, y), bent.score(X, y)
    (0.52, 1.0)
    """
    kernel = as_kernel(kernel)
    points = None
    if X_unlabelled is not None:
        points = kernel.domain.check(X_unlabelled, "deformed", "X_unlabelled")
        points = kernel.domain.keep(points, X_unlabelled)  # the kernel must not change with the caller's array
    return Deformed(kernel, points, graph, weight, power, laplacian)


def _is_matrix(graph: Any) -> bool:
    return is_sparse(graph) or isinstance(graph, (list, tuple)) or (is_array(graph) and graph.ndim > 0)


def _semidefinite_factor(L: np.ndarray) -> np.ndarray:
    """B with L = BBᵀ, with as many columns as the rank of L."""
    factor, pivots, rank, _ = dpstrf(L, lower=1)
    B = np.zeros((len(L), rank))
    B[pivots - 1] = np.tril(factor)[:, :rank]
    return B
