"""A Gaussian kernel of the distance between the mean feature vectors of two sets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ...types import Checked
from .._base import Kernel, register
from .._definiteness import PD, UNKNOWN, Definiteness
from ..bandwidth import check_median, drawn_rows
from ..gaussian import Gaussian
from ._base import OnSets


@register
class DistributionGaussian(OnSets):
    r"""Gaussian kernel of the maximum mean discrepancy between two sets or two samples from distributions.

    .. math:: k(A, B) = \exp\Bigl(-\frac{\mathrm{MMD}^2(A, B)}{2\ell^2}\Bigr), \qquad
              \mathrm{MMD}^2(A, B) = \|\mu_A - \mu_B\|^2
              = \overline{\kappa(a, a')} + \overline{\kappa(b, b')} - 2\, \overline{\kappa(a, b)}

    with means over all pairs, including each member with itself. The order of the members does not matter.

    Parameters
    ----------
    kernel : Kernel
        κ, on the members; ``lengthscale="median"`` is taken over the members of all sets together.
    lengthscale : float > 0 or "median"
        ℓ, in units of the discrepancy, which is at most √2 for κ in [0, 1]. Raising it makes functions smoother.
        "median" is the median discrepancy between different sets (of at most 1,000, drawn with a fixed seed).
    n_features, random_state
        As in `MeanMap`.

    Notes
    -----
    Positive definite for κ PD or CPD(1); ``Power(1.0)`` gives the energy distance. If κ is characteristic (as the
    Gaussian is), its space approximates every continuous function of a distribution on a compact set, not only means.
    ‖μ_A‖² is cached for each set and never computed twice.

    References
    ----------
    Christmann, Steinwart, *Universal kernels on non-standard input spaces* (2010). Muandet, Fukumizu, Dinuzzo,
    Schölkopf, *Learning from distributions via support measure machines* (2012).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> from mercer.kernels.sets import DistributionGaussian
    >>> k = DistributionGaussian(Linear(), lengthscale=2.0)  # the distance of the means
    >>> k([[[1.0], [3.0]]], [[[5.0]], [[4.0], [0.0]]]).round(4)
    array([[0.3247, 1.    ]])
    """

    def __init__(self, kernel: Kernel, lengthscale: Any = 1.0, n_features: int | None = None, random_state: int = 0):
        self.kernel, self.lengthscale = kernel, lengthscale
        self.n_features, self.random_state = n_features, random_state

    def validate(self) -> None:
        super().validate()
        check_median(self)

    def resolve(self, X: Checked) -> Self:
        kernel = super().resolve(X)
        if isinstance(self.lengthscale, str) and self.lengthscale == "median":
            X = kernel.domain.check(X, kernel)
            rows = drawn_rows(len(X))
            d2 = kernel.squared_discrepancies([X[i] for i in rows])[np.triu_indices(len(rows), 1)]
            # sets with the same members differ only by rounding
            different = d2[d2 > 1e-14 * np.abs(kernel.squared_lengths(X)).max()]
            kernel.lengthscale = float(np.median(np.sqrt(different))) if len(different) else 1.0
        return kernel

    def squared_discrepancies(self, X: Any, Y: Any = None) -> np.ndarray:
        """MMD² between the sets in X and those in Y."""
        a = self.squared_lengths(X)
        b = a if Y is None else self.squared_lengths(Y)
        D = np.maximum(a[:, None] + b[None, :] - 2 * self.means(X, Y), 0.0)
        if Y is None:
            np.fill_diagonal(D, 0.0)
        return D

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return np.exp(self.squared_discrepancies(X, Y) / (-2 * float(self.lengthscale) ** 2))

    def evaluate_diag(self, X: Checked) -> Any:
        return np.ones(len(X))

    def feature_frequencies(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """n frequencies of random features of this kernel, as functions of the `mean_features` of sets."""
        return Gaussian(self.lengthscale).spectral_sample(n, int(self.n_features or 0), rng)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        inner = self.kernel.definiteness_in(dimension)
        return PD if self.n_features is not None or (inner.is_cpd and inner.order <= 1) else UNKNOWN
