"""The inner product of the mean feature vectors of two sets."""

from __future__ import annotations

from typing import Any

from .._base import Kernel, register
from .._definiteness import CPD, INDEFINITE, PD, UNKNOWN, Definiteness
from ._base import OnSets


@register
class MeanMap(OnSets):
    r"""Mean of a kernel over all pairs of members of two sets.

    .. math:: k(A, B) = \frac{1}{|A|\,|B|} \sum_{a \in A} \sum_{b \in B} \kappa(a, b)
              = \langle \mu_A, \mu_B \rangle, \qquad \mu_A = \frac{1}{|A|} \sum_{a \in A} \kappa(\cdot, a)

    A set, or a sample from a distribution, is represented by the mean of the features of its members. Their order does
    not matter; repeated members count as often as they occur.

    Parameters
    ----------
    kernel : Kernel
        κ, on the members: vectors, strings, graphs, …. ``lengthscale="median"`` is taken over the members of all sets
        together.
    n_features : even int >= 2, optional
        The number of random features that replace κ; each set stores their mean. For N members in all sets the time is
        O(N · n_features) instead of O(N²), and the error falls like 1/√n_features. For kernels with `spectral_sample`
        (Gaussian, Laplace, Matern, …).
    random_state : int >= 0
        The seed of the random features.

    Notes
    -----
    Positive definite for κ PD. Not strictly: {a} and {a, a} have the same mean. Functions in its space are means:
    f(A) is the mean of g(a) over A for some g in the space of κ. For other functions of a set use
    `DistributionGaussian`. κ is computed on blocks of members of many sets at once.

    References
    ----------
    Gärtner, Flach, Kowalczyk, Smola, *Multi-instance kernels* (2002). Smola, Gretton, Song, Schölkopf, *A Hilbert space
    embedding for distributions* (2007).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.kernels.sets import MeanMap
    >>> MeanMap(Linear())([[[1.0], [3.0]]], [[[5.0]], [[1.0], [2.0], [0.0]]])
    array([[10.,  2.]])
    """

    def __init__(self, kernel: Kernel, n_features: int | None = None, random_state: int = 0):
        self.kernel, self.n_features, self.random_state = kernel, n_features, random_state

    def evaluate(self, X: Any, Y: Any = None) -> Any:
        return self.means(X, Y)

    def evaluate_diag(self, X: Any) -> Any:
        return self.squared_lengths(X)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness_in(dimension)
        if self.n_features is not None:
            return PD
        if inner.is_cpd and inner.order <= 1:  # coefficients that sum to zero over sets also do so over members
            return CPD(inner.order)
        return INDEFINITE if inner == INDEFINITE else UNKNOWN  # on sets of one member it is κ
