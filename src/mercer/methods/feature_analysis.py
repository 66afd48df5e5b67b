"""Kernel feature analysis: sparse features, chosen greedily."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy import linalg

from .. import _threads
from .._array import doubles, eps, host, like
from .._errors import ONE_OR_NONE, SWITCH, check_parameters, where
from .._random import generator
from .._units import power_of_two
from ..context import current, warn_early
from ..domains import take
from ..gram import Gram, GramLike
from ..kernels import KernelLike
from ..space import Function
from ..types import Array, Data, RandomState
from ._transformer import KernelTransformer

SLAB = 1 << 22  # matrix entries processed at once


@dataclass(eq=False, repr=False)
class KernelFeatureAnalysis(KernelTransformer):
    r"""Kernel feature analysis: features on few samples, each with maximal variance and orthogonal to earlier ones.

    With S the samples chosen so far, each other sample i gives the candidate direction

    .. math:: f_i = \frac{1}{s_i} \Big(k(\cdot, x_i) - \sum_{j \in S} c_{ij}\, k(\cdot, x_j)\Big), \qquad
              c_i = K_{SS}^{-1} K_{Si}, \qquad s_i = 1 + \|c_i\|_1,

    which is orthogonal to the earlier features and whose coefficients have absolute sum one. The direction with the
    largest variance on the sample is chosen. The first feature has coefficient 1, the j-th uses j samples.

    Parameters
    ----------
    n_components : int >= 1, optional
        Number of features; fewer if no direction is left. None: as many as possible.
    kernel : Kernel, name or expression
        Positive definite.
    normalize : bool
        Whether coefficients have an absolute sum of one. Otherwise s = 1, which favours features on points far from the
        rest.
    candidates : int >= 1, optional
        Number of random samples to choose from; None: all. With probability 95 %, the best of 59 is among the best 5 %
        of all.
    gram : str or Representation
        How the kernel matrix is held or approximated. With a low-rank one, features use all landmarks.
    random_state : int, RandomState, Generator or None
        For `candidates` and random representations.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    support_ : array of shape (n_components,)
        Indices of the chosen samples, in order of selection.
    dual_coef_ : array of shape (n_components, n_components)
        Coefficients of the features on these samples, lower triangular with one row per feature.
    spread_ : array of shape (n_components,)
        Standard deviation of each feature on the sample (n − 1 in the denominator).
    function_ : Function
        The features, orthogonal in the kernel's space.
    offset_ : array of shape (n_components,)
        Their sample means, which `transform` subtracts.
    kernel_, gram_choice_

    Notes
    -----
    The directions are never formed. With G the Cholesky factor of the chosen columns, each feature g reduces row i of
    the residual matrix K − GGᵀ by gᵢg, and its variance by 2gᵢ cov(row i, g) − gᵢ² var(g). This takes one pass for the
    variances and one matrix-vector product per feature, O(n²) each, or O(nc) for c candidates if the matrix is not
    stored (``gram="lazy"``).

    kernlab's ``kfa`` uses the same rule, but its deflation confuses samples with their positions in the random subset,
    and its ``predict`` uses the transposed coefficients and centres new points with their own means.

    References
    ----------
    Smola, Mangasarian, Schölkopf, *Sparse kernel feature analysis* (1999).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> kfa = KernelFeatureAnalysis(3, kernel="gaussian(lengthscale=2.0)").fit(X)
    >>> kfa.transform(X[:2]).shape, len(kfa.function_)
    ((2, 3), 3)
    >>> kfa.support_[0] == np.argmax(kfa.kernel_(X).std(axis=0))
    np.True_
    >>> bool(np.allclose(np.abs(kfa.dual_coef_).sum(axis=1), 1))
    True
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: KernelLike = "gaussian"
    normalize: bool = True
    candidates: int | None = None
    gram: GramLike = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def fit(self, X: Data, y: Array = None) -> Self:
        """Choose the features of the sample X; y is ignored."""
        check_parameters(self, {"normalize": SWITCH, "n_components": ONE_OR_NONE, "candidates": ONE_OR_NONE})
        X = self._check_sample(X)
        self.kernel_.require_pd(self.kernel_.domain.dimension(X), self)
        gram = self._build(X)
        if gram.n < 2:
            raise ValueError(f"{where(self)}: X has n_samples = 1; a variance needs two or more.")
        most = gram.n if self.n_components is None else min(self.n_components, gram.n)
        few = self.candidates is not None and self.candidates < gram.n
        chosen = generator(self.random_state).choice(gram.n, self.candidates, replace=False) if few else None
        search = _Search(gram, chosen, self.normalize)
        context = current()
        while len(search.pivots) < most and search.step():
            if len(search.pivots) < most and (status := context({"spread": search.spreads[-1]})):
                warn_early(self, f"{len(search.pivots)} of {most} features were chosen", status)
                break
        if not search.pivots:
            raise ValueError(
                f"{where(self)}: all {gram.n} samples are equal under {self.kernel_}, so there is no feature."
            )
        self.support_, self.dual_coef_ = np.array(search.pivots), search.coefficients()
        self.spread_ = np.array(search.spreads)
        self._keep_sparse(gram)
        return self

    def _keep_sparse(self, gram: Gram) -> None:
        """Store the features as functions on their support points."""
        A = np.zeros((gram.n, len(self.support_)))
        A[self.support_] = self.dual_coef_.T
        A = like(A, gram.like)
        kernel, points, coefficients = gram.expansion(A)
        used = np.flatnonzero(host(coefficients).any(axis=1))
        self.function_ = Function(kernel, kernel.domain.take(points, used), take(coefficients, used))
        self.offset_ = gram.xp.mean(gram @ A, axis=0)
        self._n_features_out = len(self.support_)


class _Search:
    """The candidates' rows of the residual matrix K − GGᵀ, represented by their variances and G."""

    def __init__(self, gram: Gram, candidates: np.ndarray | None, normalize: bool):
        self.gram, self.normalize = gram, normalize
        self.unit = power_of_two(gram.diagonal())  # of the matrix, whose squares may overflow
        self.candidates = np.arange(gram.n) if candidates is None else candidates
        self.rows = None if candidates is None else self._host(gram.block(candidates, slice(None)))
        self.variance = np.concatenate([block.var(axis=1, ddof=1) for block in self._blocks()])
        self.left = self._host(gram.diagonal())[self.candidates]
        rounding = 64 * eps(gram.like)
        least = rounding * self.left.max()
        self.floors = least, max(rounding * self.variance.max(), least**2)
        self.pivots: list[int] = []
        self.places: list[int] = []
        self.spreads: list[float] = []
        self.G = np.zeros((0, gram.n))

    def _host(self, A: Array) -> np.ndarray:
        return doubles(A) / self.unit

    def _blocks(self) -> Any:
        if self.rows is not None:
            yield self.rows
            return
        for part in _threads.slices(self.gram.n, max(1, SLAB // self.gram.n)):
            yield self._host(self.gram.block(part, slice(None)))

    def _times(self, v: np.ndarray) -> np.ndarray:
        return self.rows @ v if self.rows is not None else self._host(self.gram @ like(v, self.gram.like))

    def _sums(self) -> np.ndarray:
        """‖c_i‖₁ for the candidates, c = K_SS⁻¹ K_Si = L⁻ᵀ Gᵢ."""
        if not self.pivots or not self.normalize:
            return np.zeros(len(self.candidates))
        C = linalg.solve_triangular(self.G[:, self.pivots], self.G[:, self.candidates], check_finite=False)
        return np.asarray(np.abs(C).sum(axis=0))

    def step(self) -> bool:
        """Choose one more sample; False if the residual is only rounding."""
        sums = 1 + self._sums()
        spread = np.sqrt(np.maximum(self.variance, 0.0)) / sums
        remains = (self.left > self.floors[0]) & (self.variance > self.floors[1])
        remains[self.places] = False
        if not remains.any():
            return False
        place = int(np.argmax(np.where(remains, spread, -1.0)))
        i = int(self.candidates[place])
        column = self._host(self.gram.block(slice(None), np.array([i])))[:, 0]
        length = np.sqrt(self.left[place])
        g = (column - self.G[:, i] @ self.G) / length
        tilde = g - g.mean()
        tilde -= tilde.mean()  # otherwise the rounding error of the sum is multiplied by row means
        covariance = (self._times(tilde) - (self.G @ tilde) @ self.G[:, self.candidates]) / (self.gram.n - 1)
        mine = g[self.candidates]
        self.variance = self.variance - mine * (2 * covariance - mine * g.var(ddof=1))
        self.left = self.left - mine**2
        self.G = np.vstack([self.G, g])
        self.pivots.append(i)
        self.places.append(place)
        self.spreads.append(float(g.std(ddof=1) * length / sums[place]) * self.unit)
        return True

    def coefficients(self) -> np.ndarray:
        """One row per feature: L⁻¹, whose rows are the orthogonal directions, scaled as in the choice."""
        L = np.tril(self.G[:, self.pivots].T)
        A = linalg.solve_triangular(L, np.eye(len(L)), lower=True)
        A = A / np.diag(A)[:, None]
        return np.asarray(A / np.abs(A).sum(axis=1, keepdims=True) if self.normalize else A)
