r"""Ridge regression for all strengths of the penalty at once, from one eigendecomposition.

With weights W = D² and free functions DH = QR, kernel ridge regression is a system on the complement of Q,

    (M + αI) x = Q₂ᵀ D b,    M = Q₂ᵀ D K D Q₂,    a = D Q₂ x,

and M = VΛVᵀ gives the solution, its leverages and every criterion for any α in O(n²). With ã = Q₂x and
G = Q₂(M + αI)⁻¹Q₂ᵀ, the residuals are D(b − f̂) = αã, and those of a fit without the samples F are G_FF⁻¹ ã_F: exactly,
the free part included. One sample gives leave-one-out, ãᵢ / Gᵢᵢ, with the leverage hᵢᵢ = 1 − αGᵢᵢ.

Golub, Heath, Wahba, *Generalized cross-validation as a method for choosing a good ridge parameter* (1979); Wahba,
*Spline Models for Observational Data* (1990), sections 4.2 and 4.3; Rasmussen, Williams, *Gaussian Processes for
Machine Learning* (2006), equations 2.42, 2.45 and 5.9 for the likelihood.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import linalg, optimize
from sklearn.base import clone

from .. import _tiles
from .._array import eps, eye, host, is_numpy, like, namespace, solve_triangular
from .._errors import IndefiniteError
from ..domains import take
from ..gram import Dense, Gram
from ..kernels import Kernel
from .linear import Inverse, LinearSolution
from .linear._base import free_factor
from .linear.cholesky import factorize
from .linear.woodbury import LowRankInverse

__all__ = ["Complement", "Design", "Part", "Posterior", "Spectral", "log_marginal_likelihood", "maximise_likelihood"]

MANY = 256  # samples, from which on it pays to ask whether the matrix is numerically of low rank
DETERMINED = 1e3  # units of round-off of 1 − hᵢᵢ, below which a sample counts as fitted by the free part alone
REACH = 1e5  # factor by which the likelihood's maximum may lie away from its start, in each parameter


class Complement:
    """The orthogonal complement of the columns of an orthonormal Q, as the last coordinates of a reflection.

    With the polar form Q₁ = OS of the first p rows of Q and Y = Q + [O; 0], the symmetric orthogonal matrix
    F = I − Y(I + S)⁻¹Yᵀ maps Q to [−O; 0], so that its last n − p columns Q₂ span the complement. I + S is
    as well conditioned as can be, and F is applied in O(np).
    """

    def __init__(self, Q: Any):
        p = self.p = int(Q.shape[1])
        xp = namespace(Q)
        left, s, right = np.linalg.svd(host(Q)[:p])
        self.Y = xp.concat([Q[:p, :] + like(left @ right, Q), Q[p:, :]], axis=0)
        self.T = like(np.linalg.inv(np.eye(p) + (right.T * s) @ right), Q)

    def _reflect(self, V: Any) -> Any:
        return V - self.Y @ (self.T @ (namespace(V).matrix_transpose(self.Y) @ V))

    def coordinates(self, V: Any) -> Any:
        """Q₂ᵀ V."""
        return self._reflect(V)[self.p :, ...]

    def embed(self, V: Any) -> Any:
        """Q₂ V."""
        xp = namespace(V)
        top = self.T @ (xp.matrix_transpose(self.Y[self.p :, :]) @ V)
        return xp.concat([-(self.Y[: self.p, :] @ top), V - self.Y[self.p :, :] @ top], axis=0)

    def restrict(self, M: Any) -> Any:
        """Q₂ᵀ M Q₂ of a symmetric M."""
        xp, p = namespace(M), self.p
        N = M @ (self.Y @ self.T)
        L = N - self.Y @ (self.T @ (xp.matrix_transpose(self.Y) @ N)) / 2  # FMF = M − LYᵀ − YLᵀ
        L, Y = L[p:, :], self.Y[p:, :]
        S = L @ xp.matrix_transpose(Y)
        return M[p:, p:] - S - xp.matrix_transpose(S)


class Design:
    """A Gram operator with weights W = D² and free functions H, taken to the coordinates that the penalty sees.

    Parameters
    ----------
    gram : Gram
    H : array of shape (n, p), optional
        Values of the free functions.
    weight : array of shape (n,), >= 0, optional

    Attributes
    ----------
    n, p : int
        Samples and free functions.
    effective : int
        Samples of positive weight.
    scale, Q, R : D, and DH = QR.
    """

    def __init__(self, gram: Gram, H: Any = None, weight: Any = None):
        self.gram, self.H, self.weight = gram, H, weight
        self.n, self.p = gram.n, 0 if H is None else int(H.shape[1])
        xp = gram.xp
        self.scale: Any = None if weight is None else xp.sqrt(weight)
        self.effective = self.n if weight is None else int(np.sum(host(weight) > 0))
        if H is not None:
            self.Q, self.R = free_factor(self.scaled(H))
            self.complement = Complement(self.Q)
            self.image = self.scaled(gram @ self.scaled(self.Q))  # DKDQ

    def scaled(self, V: Any) -> Any:
        """D V."""
        return V if self.scale is None else V * (self.scale if V.ndim == 1 else self.scale[:, None])

    def matrix(self) -> Any:
        """M = Q₂ᵀDKDQ₂."""
        K = self.gram.dense()
        K = K if self.scale is None else K * self.scale[:, None] * self.scale[None, :]
        return K if self.H is None else self.complement.restrict(K)

    def factor(self) -> Any:
        """Q₂ᵀDZ, for K = ZZᵀ."""
        return self.coordinates(self.gram.factor())

    def coordinates(self, V: Any) -> Any:
        """Q₂ᵀDV."""
        return self.scaled(V) if self.H is None else self.complement.coordinates(self.scaled(V))

    def embed(self, V: Any) -> Any:
        """Q₂V."""
        return V if self.H is None else self.complement.embed(V)

    def free(self, b: Any, scaled: Any) -> Any:
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


class Part(Gram):
    """The Gram operator of some of the samples, on what its base holds."""

    def __init__(self, base: Gram, index: np.ndarray):
        domain = base.kernel.domain
        self.base, self.index, self.kernel = base, index, base.kernel
        self.X, self.centres = domain.take(base.X, index), domain.take(base.centres, index)
        self.provides = base.provides  # type: ignore[misc]

    @property
    def n(self) -> int:
        return len(self.index)

    def __matmul__(self, V: Any) -> Any:
        return self.values(self.index, V)

    def values(self, rows: np.ndarray, V: Any) -> Any:
        """k(x, ·)V at other samples of the base."""
        if "factor" in self.provides:
            Z = self.base.factor()
            return take(Z, rows) @ (namespace(V).matrix_transpose(take(Z, self.index)) @ V)
        return self.base.block(rows, self.index) @ V

    def diagonal(self) -> Any:
        return take(self.base.diagonal(), self.index)

    def block(self, rows: Any, columns: Any) -> Any:
        return self.base.block(self.index[rows], self.index[columns])

    def factor(self) -> Any:
        return take(self.base.factor(), self.index)


class Spectral:
    """Kernel ridge regression for every strength of the penalty.

    Parameters
    ----------
    gram : Gram
        Decomposed through its factor where it has one, O(nr²), else as a dense matrix, O(n³).
    H : array of shape (n, p), optional
        Values of the free functions.
    weight : array of shape (n,), >= 0, optional

    Attributes
    ----------
    values : array of shape (r,)
        Λ, without what is zero by the rank of the factor.
    vectors : array of shape (n, r)
        Q₂V, orthonormal, and orthogonal to Q.

    Notes
    -----
    Targets b are of shape (n, t), strengths of shape (A,), and results have the strengths last. A dense matrix of low
    numerical rank is recognised by pivoted Cholesky factorisation, whose rest is of the size of LAPACK's own
    rounding; it then costs no more than its rank.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X, b = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [2.0], [0.0]])
    >>> path = Spectral(Dense().build(Gaussian(), X), H=np.ones((3, 1)))
    >>> path.leave_one_out(b, np.array([1e9]))[:, 0, 0].round(4)  # the means of the others
    array([1. , 0.5, 1.5])
    >>> path.degrees_of_freedom(np.array([1e-9, 1e9])).round(4)  # all, and the intercept alone
    array([3., 1.])
    """

    def __init__(self, gram: Gram, H: Any = None, weight: Any = None):
        self.design = design = Design(gram, H, weight)
        if design.effective <= design.p:
            raise ValueError(
                f"free: {design.p} functions pass through {design.effective} sample{'s' * (design.effective != 1)} "
                "exactly, and nothing is left to choose by; use fewer functions or more samples."
            )
        diagonal = host(design.scaled(design.scaled(gram.diagonal())))
        self._size = float(np.abs(diagonal).max())  # rounding in M is relative to K, of which M may be a small part
        if "factor" in gram.provides:
            self.values, V = _of_factor(design.factor())
        else:
            self.values, V = _of_matrix(design.matrix(), self._size)
        self.vectors = design.embed(V)
        r = int(self.values.shape[0])
        self.full = r == design.n - design.p
        # dimensions of eigenvalue zero beside these; a sample of weight zero brings one that does not count
        self.rest = design.n - design.p - r - (design.n - design.effective)

    # ---- solutions

    def _strengths(self, alphas: Any) -> Any:
        lowest = float(np.min(host(alphas)))
        values = host(self.values)
        if values.min(initial=0.0) + lowest < 0:
            raise IndefiniteError(
                f"alpha = {lowest:g}: the kernel matrix is not positive definite on these data (smallest eigenvalue "
                f"{values.min():.2g}), so that there is no minimum; use a larger alpha or a positive definite kernel."
            )
        floor = self.design.n * eps(self.values) * max(self._size, values.max(initial=0.0))
        regular = self.full and values.min() > floor
        if lowest < 0 or (lowest == 0 and not regular):
            raise ValueError(
                f"alpha = {lowest:g}: the matrix is singular, so that every leverage hᵢᵢ may be 1 and nothing is left "
                "to predict a sample from the others; use alpha > 0."
            )
        return like(alphas, self.values)

    def _scaled(self, b: Any, alphas: Any) -> Any:
        """ã of shape (n, t, A), for strengths of shape (A,), or (t, 1) for one of each target."""
        xp = namespace(b)
        z = xp.matrix_transpose(self.vectors) @ self.design.scaled(b)
        x = z[:, :, None] / (self.values[:, None, None] + alphas)
        r, t, A = x.shape
        out = xp.reshape(self.vectors @ xp.reshape(x, (r, t * A)), (-1, t, A))
        if self.full:
            return out
        outside = self.design.embed(self.design.coordinates(b)) - self.vectors @ z
        return out + outside[:, :, None] / alphas

    def solve(self, b: Any, alpha: Any) -> LinearSolution:
        """The coefficients for one strength, or one for each target."""
        design = self.design
        alpha = self._strengths(np.full(b.shape[1], host(alpha), dtype=np.float64))
        scaled = self._scaled(b, alpha[:, None])[:, :, 0]
        a = design.scaled(scaled)
        c = None if design.H is None else design.free(b, scaled)
        rest = b - design.gram @ a - (0.0 if c is None else design.H @ c)
        error = design.scaled(rest) - alpha * scaled
        xp = namespace(b)
        size = float(xp.max(xp.sum(design.scaled(b) ** 2, axis=0))) or 1.0
        residual = float(xp.max(xp.sum(error * error, axis=0)) / size) ** 0.5
        return LinearSolution(a, c, residual, method="spectral")

    # ---- criteria

    def _inverse_trace(self, alphas: Any) -> Any:
        """tr G, over the samples of positive weight."""
        xp = namespace(alphas)
        trace = xp.sum(1 / (self.values[:, None] + alphas), axis=0)
        return trace + self.rest / alphas if self.rest else trace

    def degrees_of_freedom(self, alphas: Any) -> Any:
        """The trace of the matrix that takes b to the fitted values, of shape (A,)."""
        alphas = self._strengths(alphas)
        return self.design.effective - alphas * self._inverse_trace(alphas)

    def gcv(self, b: Any, alphas: Any) -> Any:
        """Generalised cross-validation, (1/n) Σ wᵢrᵢ² / (1 − tr(A)/n)², of shape (t, A)."""
        alphas = self._strengths(alphas)
        scaled = self._scaled(b, alphas)
        return self.design.effective * namespace(b).sum(scaled**2, axis=0) / self._inverse_trace(alphas) ** 2

    def log_marginal_likelihood(self, b: Any, alphas: Any) -> Any:
        """log p(b) of the Gaussian process with covariance K, noise αW⁻¹ and a flat prior on c, of shape (t, A)."""
        alphas = self._strengths(alphas)
        xp, design = namespace(b), self.design
        logs = xp.sum(xp.log(self.values[:, None] + alphas), axis=0)
        logs = logs + self.rest * xp.log(alphas) if self.rest else logs
        constant = (design.effective - design.p) * float(np.log(2 * np.pi)) + design.log_volume
        fit = xp.sum(design.scaled(b)[:, :, None] * self._scaled(b, alphas), axis=0)
        return -(fit + logs + constant) / 2

    def free_covariance(self, alpha: float) -> np.ndarray:
        """(Hᵀ(K + αW⁻¹)⁻¹H)⁻¹: the covariance of c under the same prior, of shape (p, p)."""
        design = self.design
        xp = namespace(self.vectors)
        C = xp.matrix_transpose(self.vectors) @ design.image
        explained = xp.matrix_transpose(C) @ (C / (self.values[:, None] + alpha))
        if not self.full:
            # what is outside of the vectors M does not see, but DKDQ may
            outside = design.image - design.Q @ (xp.matrix_transpose(design.Q) @ design.image) - self.vectors @ C
            explained = explained + xp.matrix_transpose(outside) @ outside / alpha
        S = host(xp.matrix_transpose(design.Q) @ design.image - explained) + alpha * np.eye(design.p)
        root = np.linalg.inv(host(design.R))
        return root @ ((S + S.T) / 2) @ root.T

    # ---- samples left out

    def leave_one_out(self, b: Any, alphas: Any) -> Any:
        """For each sample the prediction of the fit without it, of shape (n, t, A).

        A sample of weight zero takes no part in the fit, and gets its value.
        """
        alphas = self._strengths(alphas)
        xp, design = namespace(b), self.design
        squares = self.vectors**2
        G = squares @ (1 / (self.values[:, None] + alphas))
        room = xp.ones_like(b[:, 0]) if design.H is None else 1 - xp.sum(design.Q**2, axis=1)
        if not self.full:
            left = room - xp.sum(squares, axis=1)
            G = G + xp.where(left > 0, left, xp.zeros_like(left))[:, None] / alphas
        self._refuse_determined(host(room))
        scaled = self._scaled(b, alphas)
        return b[:, :, None] - self._unscaled(scaled / G[:, None, :], b, scaled, alphas)

    def _unscaled(self, residual: Any, b: Any, scaled: Any, alphas: Any) -> Any:
        """D⁻¹ of residuals; the plain residual where D is zero."""
        design = self.design
        if design.effective == design.n:
            return residual if design.scale is None else residual / design.scale[:, None, None]
        xp = namespace(b)
        n, t, A = scaled.shape
        used = (design.scale > 0)[:, None, None]
        safe = xp.where(used, design.scale[:, None, None], xp.ones_like(residual))
        flat = xp.reshape(scaled, (n, t * A))
        values = design.gram @ design.scaled(flat)
        if design.H is not None:
            repeated = xp.reshape(xp.broadcast_to(b[:, :, None], (n, t, A)), (n, t * A))
            values = values + design.H @ design.free(repeated, flat)
        return xp.where(used, residual / safe, b[:, :, None] - xp.reshape(values, (n, t, A)))

    def _refuse_determined(self, room: np.ndarray) -> None:
        used = np.ones(len(room), bool) if self.design.weight is None else host(self.design.weight) > 0
        bad = np.flatnonzero(used & (room <= DETERMINED * eps(self.values)))
        if len(bad):
            raise ValueError(
                f"free: sample {bad[0]} alone determines one of the free functions (its leverage hᵢᵢ is 1), so that "
                "no fit without it exists; remove that function, or add samples."
            )

    def held_out(self, b: Any, alphas: Any, splits: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
        """For each split into (train, test) indices the predictions at test of the fit on train, (m, t, A) each.

        From this decomposition, by solving with G_FF, where few samples are left out; by a decomposition of the rest
        where that is cheaper. Both are exact.
        """
        alphas = self._strengths(alphas)
        scaled = self._scaled(b, alphas)
        n, r = self.design.n, int(self.values.shape[0])
        for train, test in splits:
            train, test = host(train), host(test)
            out = np.setdiff1d(np.arange(n), train)
            here = int(alphas.shape[0]) * len(out) ** 2 * (r + len(out) / 3)
            again = 10 * len(train) * min(len(train), r) ** 2
            weightless = self.design.weight is not None and bool(np.any(host(take(self.design.weight, out)) == 0))
            repeated = len(np.unique(train)) < len(train)
            if here > again or weightless or repeated or not np.all(np.isin(test, out)):
                yield self._refitted(b, alphas, train, test)
                continue
            try:
                yield take(self._removed(b, alphas, scaled, out), np.searchsorted(out, test))
            except (np.linalg.LinAlgError, RuntimeError):  # G_FF singular by rounding
                yield self._refitted(b, alphas, train, test)

    def _refitted(self, b: Any, alphas: Any, train: np.ndarray, test: np.ndarray) -> Any:
        design, xp = self.design, namespace(b)
        H, weight = (None if v is None else take(v, train) for v in (design.H, design.weight))
        part = Part(design.gram, train)
        path = Spectral(part, H, weight)
        some = take(b, train)
        scaled = path._scaled(some, path._strengths(alphas))
        k, t, A = scaled.shape
        flat = xp.reshape(scaled, (k, t * A))
        values = part.values(test, path.design.scaled(flat))
        if H is not None:
            repeated = xp.reshape(xp.broadcast_to(some[:, :, None], (k, t, A)), (k, t * A))
            values = values + take(design.H, test) @ path.design.free(repeated, flat)
        return xp.reshape(values, (len(test), t, A))

    def _removed(self, b: Any, alphas: Any, scaled: Any, out: np.ndarray) -> Any:
        xp, design = namespace(b), self.design
        U, a = take(self.vectors, out), take(scaled, out)
        inside = None if self.full else eye(len(out), b)
        if design.H is not None:
            Q = take(design.Q, out)
            left = np.linalg.eigvalsh(np.eye(design.p) - host(xp.matrix_transpose(Q) @ Q))
            if left[0] <= DETERMINED * eps(Q):
                raise ValueError(
                    f"free: the {design.n - len(out)} samples of a fold do not determine the free functions; use "
                    "fewer functions or more folds."
                )
            inside = None if inside is None else inside - Q @ xp.matrix_transpose(Q)
        residuals = []
        for j in range(int(alphas.shape[0])):
            if inside is None:
                B = U / xp.sqrt(self.values + alphas[j])
                G = B @ xp.matrix_transpose(B)
            else:
                B = U * xp.sqrt(self.values / (self.values + alphas[j]))
                G = (inside - B @ xp.matrix_transpose(B)) / alphas[j]
            residuals.append(xp.linalg.solve(G, a[:, :, j]))
        residual = xp.stack(residuals, axis=2)
        scale = 1.0 if design.scale is None else take(design.scale, out)[:, None, None]
        return take(b, out)[:, :, None] - residual / scale


def _of_factor(Z: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of ZZᵀ, as many as Z has columns (or rows, if these are fewer)."""
    U, s, _ = namespace(Z).linalg.svd(Z, full_matrices=False)
    return s**2, U


def _of_matrix(M: Any, size: float) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a positive semi-definite M, those of rounding left out where that is cheaper.

    `size` is that of the entries from which M was computed.
    """
    xp = namespace(M)
    Z = _thin_factor(M, size) if is_numpy(xp) and M.shape[0] >= MANY else None
    if Z is not None:
        return _of_factor(Z)
    values, vectors = xp.linalg.eigh(M)
    rounding = 50 * M.shape[0] * eps(M) * max(size, float(xp.max(xp.abs(values))))
    return xp.where(xp.abs(values) > rounding, values, xp.clip(values, min=0.0)), vectors


def _thin_factor(M: np.ndarray, size: float) -> np.ndarray | None:
    """Z with M = ZZᵀ up to rounding and at most half as many columns as rows, or None.

    A quarter of the samples shows at a 64th of the cost whether the whole may be of low rank.
    """
    if _pivoted(M[::4, ::4], size)[1] > 0.8 * len(M[::4]):
        return None
    Z, rank = _pivoted(M, size)
    if rank > len(M) / 2:
        return None
    v = np.random.default_rng(0).normal(size=len(M)).astype(M.dtype)
    image = M @ v
    # an indefinite matrix may have a rest without a diagonal
    noise = eps(M) * max(float(np.linalg.norm(image)), size * len(M))
    close = np.linalg.norm(image - Z @ (Z.T @ v)) <= 1e2 * noise
    return Z if close else None


def _pivoted(M: np.ndarray, size: float) -> tuple[np.ndarray, int]:
    """Cholesky's factor with complete pivoting, up to a diagonal of rounding, and its rank."""
    (pstrf,) = linalg.get_lapack_funcs(("pstrf",), (M,))
    C, pivots, rank, _ = pstrf(np.array(M, order="F"), tol=10 * eps(M) * size, lower=1, overwrite_a=1)
    Z = np.zeros((len(M), rank), dtype=M.dtype)
    Z[pivots - 1] = np.tril(C[:, :rank])
    return Z, int(rank)


class Posterior:
    """The variance of f + hᵀc at new points, for the Gaussian process with covariance K and noise αW⁻¹.

    With a free part, c has a flat prior: the variance of universal kriging,

        v(x) = k(x, x) − sᵀk(X, x) − μᵀh(x),   (K + αW⁻¹)s + Hμ = k(X, x),   Hᵀs = h(x).

    Parameters
    ----------
    design : Design
    alpha : float >= 0

    References
    ----------
    Wackernagel, *Multivariate Geostatistics* (2003), chapter 38; Rasmussen, Williams, *Gaussian Processes for Machine
    Learning* (2006), equations 2.26 and 2.42.
    """

    def __init__(self, design: Design, alpha: float):
        self.design, self.alpha = design, alpha
        if "factor" in design.gram.provides and alpha > 0:
            self.inverse: Any = LowRankInverse(design.factor(), alpha)
        else:
            M = design.matrix()
            self.inverse = Inverse(M + alpha * eye(M.shape[0], M) if alpha else M)

    def variance(self, cross: Any, diagonal: Any, h: Any = None) -> Any:
        """v(x) from k(x, X) of shape (m, n), k(x, x) and h(x) of shape (m, p)."""
        design, xp = self.design, namespace(cross)
        B = design.scaled(xp.matrix_transpose(cross))
        if design.H is None:
            v = diagonal - xp.sum(B * self.inverse(B), axis=0)
        else:
            g = like(np.linalg.solve(host(design.R).T, host(h).T), B)
            rest = B - design.image @ g
            s = design.Q @ g + design.embed(self.inverse(design.complement.coordinates(rest)))
            image = xp.matrix_transpose(design.image)
            mu = xp.matrix_transpose(design.Q) @ B - image @ s - self.alpha * g
            v = diagonal - xp.sum(s * B, axis=0) - xp.sum(g * mu, axis=0)
        return xp.where(v > 0, v, xp.zeros_like(v))


def log_marginal_likelihood(
    kernel: Kernel, X: Any, b: Any, alpha: float, H: Any = None, weight: Any = None
) -> tuple[float, dict[str, Any]]:
    r"""log p(b), summed over the targets, and its derivatives in "alpha" and in every parameter of the kernel.

    .. math:: \log p = -\tfrac12 \big(b^\top P b + \log|\Sigma| + \log|H^\top\Sigma^{-1}H| + (n - p)\log 2\pi\big),
              \qquad \Sigma = K_\theta + \alpha W^{-1}, \qquad
              \frac{\partial \log p}{\partial \theta} = \tfrac12\, a^\top \frac{\partial K}{\partial \theta}\, a
              - \tfrac12\, \mathrm{tr}\Big(P\, \frac{\partial K}{\partial \theta}\Big)

    with :math:`P = \Sigma^{-1} - \Sigma^{-1}H(H^\top\Sigma^{-1}H)^{-1}H^\top\Sigma^{-1}` and a = Pb. With free
    functions it is the restricted likelihood, in which they have a flat prior.

    Parameters
    ----------
    kernel : Kernel
        The covariance; must provide gradient_theta.
    X : collection
    b : array of shape (n, t)
    alpha : float > 0
        The variance of the noise.
    H, weight
        As in `Spectral`.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> value, gradient = log_marginal_likelihood(Gaussian(), np.zeros((1, 1)), np.array([[2.0]]), 1.0)
    >>> bool(np.isclose(value, -(4 / 2 + np.log(2) + np.log(2 * np.pi)) / 2)), sorted(gradient)
    (True, ['alpha', 'lengthscale'])
    """
    kernel.require("gradient_theta")
    design = Design(Dense().build(kernel, X), H, weight)
    M, z = design.matrix(), design.coordinates(b)
    xp = namespace(M)
    L, _ = factorize(M, alpha)
    root = solve_triangular(L, eye(M.shape[0], M))
    half = root @ z
    x = xp.matrix_transpose(root) @ half
    idle, t = design.n - design.effective, int(b.shape[1])
    logs = 2 * float(xp.sum(xp.log(xp.linalg.diagonal(L)))) - idle * float(np.log(alpha))
    constant = (design.effective - design.p) * float(np.log(2 * np.pi)) + design.log_volume
    value = -(float(xp.sum(half * half)) + t * (logs + constant)) / 2

    spread = design.scaled(design.embed(xp.matrix_transpose(root)))
    a = design.scaled(design.embed(x))
    trace = float(xp.sum(root * root)) - idle / alpha
    gradient: dict[str, Any] = {"alpha": (float(xp.sum(x * x)) - t * trace) / 2}
    for rows in _tiles.slices(design.n, max(1, (1 << 22) // design.n)):
        E = (a[rows, :] @ xp.matrix_transpose(a) - t * (spread[rows, :] @ xp.matrix_transpose(spread))) / 2
        for name, D in kernel.gradient_theta(kernel.domain.take(design.gram.X, rows), design.gram.X).items():
            flat = xp.reshape(D, (int(E.shape[0]) * design.n, -1))
            part = host(xp.reshape(E, (1, -1)) @ flat).reshape(tuple(D.shape[2:]))
            gradient[name] = gradient.get(name, 0.0) + part
    return value, {name: float(g) if np.ndim(g) == 0 else g for name, g in gradient.items()}


def maximise_likelihood(
    kernel: Kernel, X: Any, b: Any, alpha: float, H: Any = None, weight: Any = None
) -> tuple[Kernel, float, float, bool]:
    """The kernel and the strength with the largest likelihood, its value, and whether the search converged.

    L-BFGS-B, started at the given ones, in the logarithms of alpha and of every parameter that is positive there (of
    an array, entry by entry; others as they are), each within a factor of 10⁵ of its start. A local maximum.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> kernel, alpha, value, converged = maximise_likelihood(Gaussian(0.3), X, np.sin(X), 0.1)
    >>> bool(1 < kernel.lengthscale < 4), alpha < 1e-3
    (True, True)
    """
    dimension = kernel.domain.dimension(X)
    values, known = kernel.get_params(), kernel.definiteness_in(dimension)
    first = kernel.domain.take(X, slice(0, 1))
    names = list(kernel.gradient_theta(first, first))
    start = {"alpha": np.float64(alpha)} | {name: host(values[name]).astype(np.float64) for name in names}
    flat = np.concatenate([v.ravel() for v in start.values()])
    positive = flat > 0
    origin = np.where(positive, np.log(np.where(positive, flat, 1.0)), flat)
    reach = np.where(positive, np.log(REACH), np.inf)

    def unpack(u: np.ndarray) -> tuple[Kernel, float, np.ndarray]:
        v = np.where(positive, np.exp(np.where(positive, u, 0.0)), u)
        cuts = np.cumsum([x.size for x in start.values()])[:-1]
        parts = [p.reshape(x.shape) for p, x in zip(np.split(v, cuts), start.values(), strict=True)]
        filled = {name: float(p) if p.ndim == 0 else p for name, p in zip(names, parts[1:], strict=True)}
        return clone(kernel).set_params(**filled), float(parts[0]), v

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        candidate, strength, v = unpack(u)
        claim = candidate.definiteness_in(dimension)
        if known.is_cpd and not (claim.is_cpd and claim.order <= known.order):
            raise IndefiniteError(f"{candidate} is {claim}.")
        value, gradient = log_marginal_likelihood(candidate, X, b, strength, H, weight)
        slope = np.concatenate([np.ravel(gradient[name]) for name in start])
        return -value, -np.where(positive, v * slope, slope)

    lowest, place = loss(origin)[0], origin  # a search that stops early does not return the best that it has seen
    barrier = 1e6 + 1e3 * abs(lowest)

    def guarded(u: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal lowest, place
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, slope = loss(u)
            if value < lowest:
                lowest, place = value, u.copy()
            return value, slope
        except ValueError:  # a step too far: parameters out of range, or a matrix that is definite no more
            return barrier, np.zeros_like(u)

    found = optimize.minimize(
        guarded, origin, jac=True, method="L-BFGS-B", bounds=np.stack([origin - reach, origin + reach], axis=1)
    )
    best, strength, _ = unpack(place)
    return best, strength, -lowest, bool(found.success)
