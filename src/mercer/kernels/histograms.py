"""Kernels between histograms: non-negative vectors, which are not normalised here.

All but Hellinger's rest on one fact: for x, y ≥ 0, 1/(x + y) = ∫₀^∞ e^{−tx} e^{−ty} dt is positive definite, and
(x + y) log(x + y) = ∫₀^∞ (e^{−tx} e^{−ty} − 1 + (x + y)(1 − e^{−t})) t⁻² dt is conditionally so, of order 1. Squared
distances D² with −D² conditionally positive definite of order 1 embed in a Hilbert space (Schoenberg), where
exp(−γD²) is a Gaussian kernel, which is strictly positive definite if D(x, y) = 0 only for x = y.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from .._array import is_sparse, namespace
from .._errors import POSITIVE
from ..domains import Vectors
from ..types import Array, Checked, Namespace
from ._base import register
from ._coordinates import SumOverCoordinates
from ._definiteness import CPD, PD, STRICTLY_PD, Definiteness
from .features import Explicit


def _ratio(a: Array, b: Array, xp: Namespace) -> Any:
    """a/b for b ≥ 0, with 0/0 = 0."""
    return a / xp.clip(b, min=xp.finfo(b.dtype).smallest_normal)


def _chi_squared(x: Array, y: Array, xp: Namespace) -> Any:
    return _ratio((x - y) ** 2, x + y, xp)


def _jensen_shannon(x: Array, y: Array, xp: Namespace) -> Any:
    """½ (x log(2x/(x + y)) + y log(2y/(x + y))) = (x + y)/4 · (2r atanh r + log(1 − r²)), r = (x − y)/(x + y)."""
    # the second form stays accurate for x ≈ y
    s = x + y
    r = _ratio(x - y, s, xp)
    inside = xp.where(xp.abs(r) < 1, r, xp.zeros_like(r))
    entropy = 2.0 * inside * xp.atanh(inside) + xp.log1p(-(inside**2))
    return 0.25 * s * xp.where(xp.abs(r) < 1, entropy, xp.full_like(r, 2.0 * log(2.0)))


class _ExponentialOf(SumOverCoordinates):
    """exp(−γ Σ_k part(x_k, y_k)), where the parts are a squared distance of negative type."""

    proven = STRICTLY_PD
    trials = [(), (0.3,)]
    domain = Vectors(lower=0.0)
    rules = {"gamma": POSITIVE}

    def __init__(self, gamma: float = 1.0):
        self.gamma = gamma

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return namespace(X).exp(-float(self.gamma) * super().evaluate(X, Y))

    def evaluate_diag(self, X: Checked) -> Any:
        return namespace(X).ones_like(X[:, 0])

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        D = super().evaluate(X, Y)
        return {"gamma": -D * namespace(X).exp(-float(self.gamma) * D)}


@register
class ChiSquared(_ExponentialOf):
    r"""Exponential chi-squared kernel, on non-negative inputs.

    .. math:: k(x, y) = \exp\left( -\gamma \sum_{k=1}^d \frac{(x_k - y_k)^2}{x_k + y_k} \right), \qquad 0/0 = 0

    Parameters
    ----------
    gamma : float > 0
        Raising it makes functions vary faster.

    Notes
    -----
    Same as scikit-learn's ``chi2_kernel``. (x − y)²/(x + y) = x + y − 4xy/(x + y) is of negative type, because
    xy/(x + y) is positive definite, and is 0 only for x = y; so k is strictly positive definite. A matrix costs O(nmd).

    References
    ----------
    Zhang, Marszałek, Lazebnik, Schmid, *Local features and kernels for classification of texture and object
    categories* (2007); Hein, Bousquet, *Hilbertian metrics and positive definite kernels on probability
    measures* (2005).

    Examples
    --------
    >>> ChiSquared(gamma=0.5)([[0.5, 0.5]], [[1.0, 0.0]]).round(4)
    array([[0.7165]])
    """

    part = staticmethod(_chi_squared)


@register
class JensenShannon(_ExponentialOf):
    r"""Exponential Jensen–Shannon kernel, on non-negative inputs.

    .. math:: k(x, y) = \exp(-\gamma \, \mathrm{JSD}(x, y)), \qquad
              \mathrm{JSD}(x, y) = \frac12 \sum_{k=1}^d \left( x_k \log \frac{2 x_k}{x_k + y_k}
              + y_k \log \frac{2 y_k}{x_k + y_k} \right)

    Parameters
    ----------
    gamma : float > 0
        Raising it makes functions vary faster. For probability vectors, JSD lies in [0, log 2].

    Notes
    -----
    Histograms are used as they are, as measures of any mass; to compare shapes only, first divide each row by its sum.
    JSD is ½ Σ (φ(x) + φ(y) − 2φ((x + y)/2)) with φ(s) = s log s. It is of negative type on all non-negative vectors,
    because (x + y) log(x + y) is conditionally positive definite of order 1 and the rest depends on one argument only;
    φ is strictly convex, so JSD = 0 only for x = y, and k is strictly positive definite. A matrix costs O(nmd).

    References
    ----------
    Fuglede, Topsøe, *Jensen–Shannon divergence and Hilbert space embedding* (2004); Hein, Bousquet, *Hilbertian metrics
    and positive definite kernels on probability measures* (2005).

    Examples
    --------
    >>> JensenShannon()([[1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    array([[0.5, 1. ]])
    """

    part = staticmethod(_jensen_shannon)


@register
class AdditiveChiSquared(SumOverCoordinates):
    r"""Additive chi-squared kernel, on non-negative inputs.

    .. math:: k(x, y) = \sum_{k=1}^d \frac{2 x_k y_k}{x_k + y_k}
              \qquad\text{or, with } \texttt{negative},\qquad
              k(x, y) = -\sum_{k=1}^d \frac{(x_k - y_k)^2}{x_k + y_k}, \qquad 0/0 = 0

    Parameters
    ----------
    negative : bool
        Whether to use minus the chi-squared distance, as in scikit-learn's ``additive_chi2_kernel``.

    Notes
    -----
    The positive form is positive definite, because xy/(x + y) = xy ∫₀^∞ e^{−t(x+y)} dt, but not strictly, because
    k(0, ·) = 0. The negative form is twice the positive one minus Σ(x + y): conditionally positive definite of order 1,
    strictly for d = 1. A matrix costs O(nmd).

    References
    ----------
    Vedaldi, Zisserman, *Efficient additive kernels via explicit feature maps* (2012), table 1.

    Examples
    --------
    >>> AdditiveChiSquared()([[0.5, 0.5]], [[1.0, 0.0]]).round(4)
    array([[0.6667]])
    >>> AdditiveChiSquared(negative=True)([[0.5, 0.5]], [[1.0, 0.0]]).round(4)
    array([[-0.6667]])
    """

    trials = [(), (True,)]
    domain = Vectors(lower=0.0)
    rules = {"negative": (False, True)}

    def __init__(self, negative: bool = False):
        self.negative = negative

    def part(self, x: Array, y: Array, xp: Namespace) -> Any:
        return -_chi_squared(x, y, xp) if self.negative else _ratio(2.0 * x * y, x + y, xp)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return CPD(1, strict=dimension == 1) if self.negative else PD


@register
class Intersection(SumOverCoordinates):
    r"""Histogram intersection kernel, on non-negative inputs.

    .. math:: k(x, y) = \sum_{k=1}^d \min(x_k, y_k)

    Notes
    -----
    Positive definite, as min(x, y) = ∫₀^∞ [u < x][u < y] du; not strictly, as k(0, ·) = 0. A matrix costs O(nmd).

    References
    ----------
    Maji, Berg, Malik, *Classification using intersection kernel support vector machines is efficient* (2008).

    Examples
    --------
    >>> Intersection()([[0.5, 0.5]], [[1.0, 0.0]])
    array([[0.5]])
    """

    proven = PD
    domain = Vectors(lower=0.0)

    def part(self, x: Array, y: Array, xp: Namespace) -> Any:
        return xp.minimum(x, y)


@register
class Hellinger(Explicit):
    r"""Hellinger (Bhattacharyya) kernel, on non-negative inputs.

    .. math:: k(x, y) = \sum_{k=1}^d \sqrt{x_k y_k}

    Notes
    -----
    The linear kernel of √x: positive definite, not strictly (rank at most d). For probability vectors
    k(x, x) + k(y, y) − 2k(x, y) is twice the squared Hellinger distance. A matrix costs one matrix product, O(nmd); a
    CSR matrix stays sparse.

    References
    ----------
    Jebara, Kondor, Howard, *Probability Product Kernels* (2004), with ρ = ½.

    Examples
    --------
    >>> Hellinger()([[0.5, 0.5]], [[1.0, 0.0]]).round(4)
    array([[0.7071]])
    """

    domain = Vectors(lower=0.0, sparse=True)
    abilities = ("gradient_theta", "feature_map")

    def evaluate_diag(self, X: Checked) -> Any:
        return np.asarray(X.sum(axis=1)).ravel() if is_sparse(X) else namespace(X).sum(X, axis=1)

    def features(self, X: Checked) -> Any:
        return X.sqrt() if is_sparse(X) else namespace(X).sqrt(X)
