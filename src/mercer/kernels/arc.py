"""Kernels of infinitely wide neural networks: arc-cosine and arc-sine."""

from __future__ import annotations

from math import pi
from typing import Any

from .._array import namespace, product_transposed, row_products
from .._errors import NOT_NEGATIVE, POSITIVE
from ..domains import Vectors
from ..types import Array, Checked, Namespace
from ._base import Kernel, register
from ._definiteness import PD, STRICTLY_PD, Definiteness
from ._limits import root
from ._radial import squared_distances
from .cosine import directions


def angles(U: Array, V: Array = None) -> Any:
    """The angles between unit vectors, also accurate near 0 and π; π/2 if a vector is 0.

    θ = 2 atan2(‖u − v‖, ‖u + v‖): Kahan, *How futile are mindless assessments of roundoff* (2006), section 12.
    """
    minus, plus = squared_distances(U, V), squared_distances(U, -(U if V is None else V))
    xp = namespace(minus)
    theta = 2.0 * xp.atan2(root(minus, xp), root(plus, xp))
    return xp.where(minus + plus > 0, theta, xp.full_like(theta, pi / 2))


def angular(order: int, theta: Any, xp: Namespace) -> Any:
    """J₀, J₁, J₂ of Cho and Saul, with Jₙ′(θ) = −n² sin(θ) Jₙ₋₁(θ)."""
    if order == 0:
        return pi - theta
    sin, cos = xp.sin(theta), xp.cos(theta)
    if order == 1:
        return sin + (pi - theta) * cos
    return 3.0 * sin * cos + (pi - theta) * (1.0 + 2.0 * cos**2)


@register
class ArcCosine(Kernel):
    r"""Arc-cosine kernel: the inner product of infinitely many random threshold, ReLU or squared-ReLU units.

    .. math:: k(x, y) = 2\, \mathbb{E}_{w \sim N(0, I)} [(w^\top x)_+^n (w^\top y)_+^n]
              = \frac{1}{\pi} \|x\|^n \|y\|^n J_n(\theta), \qquad \theta = \angle(x, y)

    with :math:`J_0 = \pi - \theta`, :math:`J_1 = \sin\theta + (\pi - \theta)\cos\theta` and
    :math:`J_2 = 3\sin\theta\cos\theta + (\pi - \theta)(1 + 2\cos^2\theta)`.

    Parameters
    ----------
    order : {0, 1, 2}
        n. 0 is the threshold unit, 1 the ReLU, 2 its square; raising it makes functions smoother.

    Notes
    -----
    Positive definite, as an expectation of products; not strictly, as k(cx, y) = cⁿ k(x, y) for c > 0. For a zero
    vector and order 0, Cho and Saul's threshold unit takes the value ½, so k(0, y) = ½, even for y = 0. For order 1,
    the gradient at x = 0, where k has a kink, is the mean of opposite one-sided gradients. Angles are accurate near 0
    and π, where the arc cosine of a cosine loses half of the digits. A matrix costs O(nmd); a CSR matrix stays sparse.

    References
    ----------
    Cho, Saul, *Kernel Methods for Deep Learning* (2009), section 2.

    Examples
    --------
    >>> ArcCosine(order=1)([[1.0, 0.0]], [[2.0, 0.0], [0.0, 1.0]]).round(4)
    array([[2.    , 0.3183]])
    """

    proven = PD
    trials = [(0,), (1,), (2,)]
    domain = Vectors(sparse=True)
    rules = {"order": {"at_least": 0, "at_most": 2, "integer": True}}

    def __init__(self, order: int = 1):
        self.order = order

    @property
    def provides(self) -> frozenset[str]:
        return frozenset({"gradient_theta", "gradient_x"} if self.order > 0 else {"gradient_theta"})

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        n = int(self.order)
        U, a = directions(X)
        V, b = (None, a) if Y is None else directions(Y)
        theta = angles(U, V)
        return (a**n)[:, None] * (b**n)[None, :] * angular(n, theta, namespace(theta)) * (1.0 / pi)

    def evaluate_diag(self, X: Checked) -> Any:
        xp = namespace(X)
        _, a = directions(X)
        if self.order == 0:
            return xp.where(a > 0, xp.ones_like(a), xp.full_like(a, 0.5))
        return a**2 if self.order == 1 else 3.0 * a**4

    def d_x(self, X: Checked, Y: Checked) -> Any:
        """∂k/∂x = ‖x‖ⁿ⁻¹‖y‖ⁿ (n Jₙ u + n² Jₙ₋₁ (v − cos θ u))/π with the directions u and v."""
        xp, n = namespace(X), int(self.order)
        (U, a), (V, b) = directions(X), directions(Y)
        theta = angles(U, V)
        radial = n * angular(n, theta, xp)[..., None] * U[:, None, :]
        turning = V[None, :, :] - xp.cos(theta)[..., None] * U[:, None, :]
        turning = n**2 * angular(n - 1, theta, xp)[..., None] * turning
        return (a ** (n - 1))[:, None, None] * (b**n)[None, :, None] * (radial + turning) * (1.0 / pi)


@register
class ArcSine(Kernel):
    r"""Arc-sine (neural network) kernel: the inner product of infinitely many random error-function units.

    .. math:: k(x, y) = \frac{2}{\pi} \arcsin \frac{2 s(x, y)}{\sqrt{(1 + 2 s(x, x))(1 + 2 s(y, y))}},
              \qquad s(x, y) = \sigma_b^2 + \sigma_w^2 \, x^\top y

    Parameters
    ----------
    weight_variance : float > 0
        σ_w², of the weights from inputs to units. Raising it lets functions vary faster.
    bias_variance : float >= 0
        σ_b², of the biases. Raising it spreads the variation of functions away from the origin.

    Notes
    -----
    The expectation of erf(w₀ + wᵀx) erf(w₀ + wᵀy), w₀ ~ N(0, σ_b²), w ~ N(0, σ_w² I). Strictly positive definite for
    σ_b² > 0: k = (2/π) arcsin(zᵀz′) with z ∝ (σ_b, σ_w x), and all odd coefficients of the power series are positive.
    If the quadratic form vanishes, Σ cᵢ(vᵀzᵢ)ⁿ = 0 for all v and odd n; with v such that the |vᵀzᵢ| are distinct and
    not 0 (no zᵢ is 0 or ± another), n → ∞ gives c = 0. For σ_b² = 0, k is not strict: k(0, ·) = 0. A matrix costs
    O(nmd); a CSR matrix stays sparse.

    References
    ----------
    Williams, *Computation with Infinite Neural Networks* (1998); Rasmussen, Williams, *Gaussian Processes for Machine
    Learning* (2006), equation 4.29.

    Examples
    --------
    >>> ArcSine()([[0.0]], [[0.0], [1.0]]).round(4)
    array([[0.4646, 0.3455]])
    """

    trials = [(), (0.5, 2.0), (2.0, 0.1)]
    domain = Vectors(sparse=True)
    abilities = ("gradient_x", "gradient_theta")
    rules = {"weight_variance": POSITIVE, "bias_variance": NOT_NEGATIVE}

    def __init__(self, weight_variance: float = 1.0, bias_variance: float = 1.0):
        self.weight_variance, self.bias_variance = weight_variance, bias_variance

    def _covariance(self, t: Array) -> Any:
        """2 s, from xᵀy."""
        return 2.0 * float(self.weight_variance) * t + 2.0 * float(self.bias_variance)

    def _sine(self, X: Checked, Y: Checked) -> tuple[Any, Any, Any]:
        """sin(πk/2), and the square roots of 1 + 2s(x, x) and 1 + 2s(y, y)."""
        t = product_transposed(X, X if Y is None else Y)
        xp = namespace(t)
        a = xp.sqrt(1.0 + self._covariance(row_products(X, X)))
        b = a if Y is None else xp.sqrt(1.0 + self._covariance(row_products(Y, Y)))
        return xp.clip(self._covariance(t) / a[:, None] / b[None, :], -1.0, 1.0), a, b

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        sine = self._sine(X, Y)[0]
        return namespace(sine).asin(sine) * (2.0 / pi)

    def evaluate_diag(self, X: Checked) -> Any:
        s = self._covariance(row_products(X, X))
        return namespace(s).asin(s / (1.0 + s)) * (2.0 / pi)

    def _pieces(self, X: Checked, Y: Checked) -> tuple[Any, ...]:
        """The output of `_sine` as matrices, and ∂k/∂sine."""
        sine, a, b = self._sine(X, Y)
        return sine, a[:, None], b[None, :], 2.0 / pi / (1.0 - sine**2) ** 0.5

    def d_x(self, X: Checked, Y: Checked) -> Any:
        sine, a, b, outer = self._pieces(X, Y)
        inner = Y[None, :, :] / (a * b)[..., None] - (sine / a**2)[..., None] * X[:, None, :]
        return 2.0 * float(self.weight_variance) * outer[..., None] * inner

    def d_theta(self, X: Checked, Y: Checked) -> dict[str, Any]:
        sine, a, b, outer = self._pieces(X, Y)
        x2, y2 = row_products(X, X)[:, None], row_products(Y, Y)[None, :]
        return {
            "weight_variance": outer * (2.0 * product_transposed(X, Y) / (a * b) - sine * (x2 / a**2 + y2 / b**2)),
            "bias_variance": outer * (2.0 / (a * b) - sine * (1.0 / a**2 + 1.0 / b**2)),
        }

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return STRICTLY_PD if self.bias_variance > 0 else PD
