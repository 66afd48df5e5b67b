r"""The penalised system without its free part.

With weights W = D² and free functions DH = QR, kernel ridge regression is a system on the complement Q₂ of Q,

    (M + αI) x = Q₂ᵀ D b,    M = Q₂ᵀ D K D Q₂,    a = D Q₂ x.

It is positive definite for positive definite kernels, and for those that are so only on Hᵀa = 0. The resolvent
G = Q₂(M + αI)⁻¹Q₂ᵀ maps Db to ã with a = Dã, and every closed form can be written in G.

Wahba, *Spline Models for Observational Data* (1990); Wackernagel, *Multivariate Geostatistics* (2003): the variance.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import numpy as np

from .._array import eye, host, like, namespace
from ..gram import Operator
from ..types import Array
from .linear import Inverse
from .linear._base import free_factor
from .linear.woodbury import LowRankInverse

M = TypeVar("M", bound=Operator)


class Complement:
    """The orthogonal complement of the columns of an orthonormal Q, as the last coordinates of a reflection.

    With the polar form Q₁ = OS of the first p rows of Q and Y = Q + [O; 0], the symmetric orthogonal matrix
    F = I − Y(I + S)⁻¹Yᵀ maps Q to [−O; 0], so that its last n − p columns Q₂ span the complement. I + S is
    optimally conditioned, and F is applied in O(np).
    """

    def __init__(self, Q: Array):
        p = self.p = int(Q.shape[1])
        xp = namespace(Q)
        left, s, right = np.linalg.svd(host(Q)[:p])
        self.Y = xp.concat([Q[:p, :] + like(left @ right, Q), Q[p:, :]], axis=0)
        self.T = like(np.linalg.inv(np.eye(p) + (right.T * s) @ right), Q)

    def coordinates(self, V: Array) -> Any:
        """Q₂ᵀ V."""
        return (V - self.Y @ (self.T @ (namespace(V).matrix_transpose(self.Y) @ V)))[self.p :, ...]

    def embed(self, V: Array) -> Any:
        """Q₂ V."""
        xp = namespace(V)
        top = self.T @ (xp.matrix_transpose(self.Y[self.p :, :]) @ V)
        return xp.concat([-(self.Y[: self.p, :] @ top), V - self.Y[self.p :, :] @ top], axis=0)

    def restrict(self, M: Array) -> Any:
        """Q₂ᵀ M Q₂ for a symmetric M."""
        xp, p = namespace(M), self.p
        N = M @ (self.Y @ self.T)
        L = N - self.Y @ (self.T @ (xp.matrix_transpose(self.Y) @ N)) / 2  # FMF = M − LYᵀ − YLᵀ
        L, Y = L[p:, :], self.Y[p:, :]
        S = L @ xp.matrix_transpose(Y)
        return M[p:, p:] - S - xp.matrix_transpose(S)


class Design(Generic[M]):
    """A Gram operator with weights W = D² and free functions H, in the penalised coordinates.

    There are n samples, `effective` of them with positive weight, and p free functions; `scale` is D, and DH = QR.
    """

    def __init__(self, gram: M, H: Array = None, weight: Array = None):
        self.gram, self.H, self.weight = gram, H, weight
        self.n, self.p = gram.n, 0 if H is None else int(H.shape[1])
        xp = gram.xp
        self.scale: Any = None if weight is None else xp.sqrt(weight)
        self.effective = self.n if weight is None else int(np.sum(host(weight) > 0))
        if H is not None:
            self.Q, self.R = free_factor(self.scaled(H))
            self.complement = Complement(self.Q)
            self.image = self.scaled(gram @ self.scaled(self.Q))  # DKDQ

    def scaled(self, V: Array) -> Any:
        """D V."""
        return V if self.scale is None else V * (self.scale if V.ndim == 1 else self.scale[:, None])

    def matrix(self) -> Any:
        """M = Q₂ᵀDKDQ₂."""
        K = self.gram.dense()
        K = K if self.scale is None else K * self.scale[:, None] * self.scale[None, :]
        return K if self.H is None else self.complement.restrict(K)

    def factor(self) -> Any:
        """Q₂ᵀDZ for K = ZZᵀ."""
        return self.coordinates(self.gram.factor())

    def coordinates(self, V: Array) -> Any:
        """Q₂ᵀDV."""
        return self.scaled(V) if self.H is None else self.complement.coordinates(self.scaled(V))

    def embed(self, V: Array) -> Any:
        """Q₂V."""
        return V if self.H is None else self.complement.embed(V)

    def project(self, V: Array) -> Any:
        """Q₂Q₂ᵀV."""
        return V if self.H is None else self.complement.embed(self.complement.coordinates(V))

    def free(self, b: Array, scaled: Any) -> Any:
        """The coefficients c of the free functions, from the targets and ã."""
        xp = namespace(b)
        rest = xp.matrix_transpose(self.Q) @ self.scaled(b) - xp.matrix_transpose(self.image) @ scaled
        return like(np.linalg.solve(host(self.R), host(rest)), b)

    @property
    def log_volume(self) -> float:
        """log|RᵀR| − log|W|, over the samples of positive weight."""
        volume = 0.0 if self.H is None else 2 * float(np.sum(np.log(np.abs(np.diagonal(host(self.R))))))
        if self.weight is None:
            return volume
        w = host(self.weight)
        return volume - float(np.sum(np.log(w[w > 0])))


class Resolvent:
    """V ↦ GV of a design for one alpha, factorised once: O(n³/3), or O(nr²) through the factor of the Gram.

    Parameters
    ----------
    design : Design
    alpha : float >= 0
    """

    def __init__(self, design: Design, alpha: float):
        self.design = design
        self.inverse: Any = None
        if "factor" in design.gram.provides and alpha > 0:
            self.inverse = LowRankInverse(design.factor(), alpha)
        elif design.n > design.p:
            M = design.matrix()
            self.inverse = Inverse(M + alpha * eye(M.shape[0], M) if alpha else M)

    def __call__(self, V: Array) -> Any:
        if self.inverse is None:  # there is only the free part
            return namespace(V).zeros_like(V)
        design = self.design
        return self.inverse(V) if design.H is None else design.embed(self.inverse(design.complement.coordinates(V)))


def posterior_variance(
    design: Design, alpha: float, resolvent: Callable[[Any], Any], cross: Any, diagonal: Array, h: Any = None
) -> Any:
    """The variance of f + hᵀc at new points, for the Gaussian process with covariance K and noise αW⁻¹.

    With a free part, c has a flat prior, and the result is the variance of universal kriging,

        v(x) = k(x, x) − sᵀk(X, x) − μᵀh(x),   (K + αW⁻¹)s + Hμ = k(X, x),   Hᵀs = h(x).

    `resolvent` is V ↦ GV at this alpha, `cross` and `diagonal` are k(x, X) and k(x, x), and h the free functions at x.
    """
    xp = namespace(cross)
    B = design.scaled(xp.matrix_transpose(cross))
    if design.H is None:
        v = diagonal - xp.sum(B * resolvent(B), axis=0)
    else:
        g = like(np.linalg.solve(host(design.R).T, host(h).T), B)
        s = design.Q @ g + resolvent(B - design.image @ g)
        mu = xp.matrix_transpose(design.Q) @ B - xp.matrix_transpose(design.image) @ s - alpha * g
        v = diagonal - xp.sum(s * B, axis=0) - xp.sum(g * mu, axis=0)
    return xp.where(v > 0, v, xp.zeros_like(v))
