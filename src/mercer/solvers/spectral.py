r"""Kernel ridge regression for all regularisation parameters at once, from one decomposition.

In the coordinates orthogonal to the free part, M = VTVᵀ (`mercer.solvers.decomposition`) gives G = Q₂(M + αI)⁻¹Q₂ᵀ for
any α, and from it the solution, its leverages and every criterion. With ã = GDb the residuals are D(b − f̂) = αã, and
the residuals of a fit without the samples F are exactly G_FF⁻¹ ã_F, including the free part. For a single sample this
is leave-one-out, ãᵢ / Gᵢᵢ, with the leverage hᵢᵢ = 1 − αGᵢᵢ.

Golub, Heath, Wahba, *Generalized cross-validation as a method for choosing a good ridge parameter* (1979); Wahba,
*Spline Models for Observational Data* (1990), whose generalised maximum likelihood is `reml`; Rasmussen, Williams,
*Gaussian Processes for Machine Learning* (2006).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import Any, Generic

import numpy as np

from .._array import device_of, eps, eye, host, like, namespace
from .._errors import IndefiniteError
from .._units import lengths
from ..domains import take
from ..types import Array
from ._part import Part
from .decomposition import Diagonal, Tridiagonal, of_factor, of_matrix
from .design import Design, M, posterior_variance
from .linear import LinearSolution

ROUNDING = 8  # units of round-off, in a sum of squares up to 1 and in the residual of a projection
DETERMINED = 1e3  # units of round-off; below this 1 − hᵢᵢ, a sample counts as fitted by the free part alone


class Spectral(Generic[M]):
    """Kernel ridge regression for every alpha, with values H of free functions and with weights.

    The Gram operator is decomposed through its factor if it has one, O(nr²), otherwise as a dense matrix, O(n³);
    `values` are the eigenvalues of M, without those that are zero due to the rank of the factor. Targets b have shape
    (n, t), alphas shape (A,), and alphas are the last axis of results.

    Examples
    --------
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Gaussian
    >>> X, b = np.array([[0.0], [1.0], [3.0]]), np.array([[1.0], [2.0], [0.0]])
    >>> path = Spectral(Dense().build(Gaussian(), X), H=np.ones((3, 1)))
    >>> path.leave_one_out(b, np.array([1e9]))[:, 0, 0].round(4)  # the means of the others
    array([1. , 0.5, 1.5])
    >>> path.degrees_of_freedom(np.array([1e-9, 1e9])).round(4)  # all, and the intercept alone
    array([3., 1.])
    """

    def __init__(self, gram: M, H: Array = None, weight: Array = None):
        self.design = design = Design(gram, H, weight)
        if design.effective <= design.p:
            raise ValueError(
                f"free: {design.p} functions fit {design.effective} sample{'s' * (design.effective != 1)} exactly, "
                "and no residuals are left to choose by; use fewer functions or more samples."
            )
        diagonal = host(design.scaled(design.scaled(gram.diagonal())))
        self._size = float(np.abs(diagonal).max())  # rounding in M is relative to K, and M may be much smaller
        self._core: Diagonal | Tridiagonal
        thin = "factor" in gram.provides
        self._core, V = of_factor(design.factor()) if thin else of_matrix(design.matrix(), self._size)
        self._basis = design.embed(V)
        r = self._core.rank
        self.full = r == design.n - design.p
        # number of further zero eigenvalues, not counting one for each sample of weight zero
        self.rest = design.n - design.p - r - (design.n - design.effective)

    @property
    def values(self) -> Any:
        """The eigenvalues of M, without those that are zero due to the rank of the factor."""
        return self._core.values

    @cached_property
    def vectors(self) -> Any:
        """The eigenvectors Q₂V of the projected matrix, orthonormal and orthogonal to Q, of shape (n, r)."""
        return self._core.lift(self._basis)

    # ---- solutions

    def _strengths(self, alphas: Array) -> Any:
        lowest = float(np.min(host(alphas)))
        least, largest = self._core.extremes
        if least + lowest < 0:
            raise IndefiniteError(
                f"alpha = {lowest:g}: the kernel matrix is not positive definite on these data (smallest eigenvalue "
                f"{least:.2g}), so there is no minimum; use a larger alpha or a positive definite kernel."
            )
        floor = self.design.n * eps(self._basis) * max(self._size, largest)
        regular = self.full and least > floor
        if lowest < 0 or (lowest == 0 and not regular):
            raise ValueError(
                f"alpha = {lowest:g}: the matrix is singular, so every leverage hᵢᵢ may be 1 and a sample cannot be "
                "predicted from the others; use alpha > 0."
            )
        dtype = host(self._basis[:1, :1]).dtype
        limit, most = np.finfo(dtype), max(float(np.max(host(alphas))), lowest)
        if 0 < lowest < self.design.n * limit.tiny or most > limit.max / self.design.n:
            raise ValueError(
                f"alpha = {lowest if lowest < 1 else most:g}: its reciprocal or a multiple overflows in {dtype}; "
                "scale the kernel, and alpha with it."
            )
        return like(alphas, self._basis)

    def _at(self, alphas: Array) -> tuple[Diagonal | Tridiagonal, Any]:
        """T and V for these alphas: diagonal if one is as small as the rounding in T."""
        if self._core.holds(float(np.min(host(alphas)))):
            return self._core, self._basis
        return Diagonal(self.values), self.vectors

    def _coordinates(self, V: Array, basis: Any) -> tuple[Any, Any]:
        """The coordinates of Q₂Q₂ᵀV in the basis, and the remainder outside of it (0 if the basis is full)."""
        z = namespace(V).matrix_transpose(basis) @ V
        if self.full:
            return z, 0.0
        xp, outside = namespace(V), self.design.project(V) - basis @ z
        noise = ROUNDING * eps(V) * lengths(V)[None, :]  # a small α would amplify it
        return z, xp.where(xp.abs(outside) > noise, outside, xp.zeros_like(outside))

    @cached_property
    def _left(self) -> Any:
        """The squared length of each unit vector outside the free part and the basis; 0 up to rounding."""
        xp = namespace(self._basis)
        left = self._room() - xp.sum(self._basis**2, axis=1)
        return xp.where(left > ROUNDING * eps(self._basis), left, xp.zeros_like(left))

    def _resolved(self, V: Array, alphas: Array, everywhere: bool = True) -> Any:
        """GV, or its part within the basis, of shape (n, t, A), for alphas of shape (A,), or (t, 1), one per column."""
        core, basis = self._at(alphas)
        z, outside = self._coordinates(V, basis)
        x = core.solve(z, alphas)
        xp, (r, t, A) = namespace(V), x.shape
        out = xp.reshape(basis @ xp.reshape(x, (r, t * A)), (-1, t, A))
        return out + outside[:, :, None] / alphas if everywhere and not self.full else out

    def resolvent(self, V: Array, alpha: float) -> Any:
        """GV for one alpha, of the shape of V."""
        return self._resolved(V, self._strengths([alpha]))[:, :, 0]

    def _within(self, b: Array, alphas: Array) -> tuple[Any, Any, Any]:
        """The coordinates z of Db, (T + αI)⁻¹z, and the squared length outside the basis, None if it is full."""
        core, basis = self._at(alphas)
        z, outside = self._coordinates(self.design.scaled(b), basis)
        return z, core.solve(z, alphas), None if self.full else namespace(b).sum(outside**2, axis=0)[:, None]

    def _energy(self, b: Array, alphas: Array) -> Any:
        """bᵀDGDb, of shape (t, A)."""
        z, x, rest = self._within(b, alphas)
        energy = namespace(b).sum(z[:, :, None] * x, axis=0)
        return energy if rest is None else energy + rest / alphas

    def _square(self, b: Array, alphas: Array, scale: Any) -> Any:
        """‖GDb‖²s², of shape (t, A), with factors s of shape (A,) near 1/‖G‖ to avoid overflow."""
        _, x, rest = self._within(b, alphas)
        square = namespace(b).sum((x * scale) ** 2, axis=0)
        return square if rest is None else square + rest * (scale / alphas) ** 2

    def solve(self, b: Array, alpha: Any) -> LinearSolution:
        """The coefficients for one alpha, or one for each target.

        For a matrix of low rank, the shortest a with these values: the component of a outside the range of the matrix
        is the residual over α, which adds only rounding errors to the function.
        """
        design, xp = self.design, namespace(b)
        alpha = self._strengths(np.full(b.shape[1], host(alpha), dtype=np.float64))
        target = design.scaled(b)
        scaled = self._resolved(target, alpha[:, None], everywhere=False)
        a, c = self._coefficients(b, scaled)
        rest = b - design.gram @ a - (0.0 if c is None else design.H @ c)
        error = xp.matrix_transpose(self._basis) @ (design.scaled(rest) - alpha * scaled[:, :, 0])
        size = float(xp.max(xp.sum(target**2, axis=0))) or 1.0
        residual = float(xp.max(xp.sum(error * error, axis=0)) / size) ** 0.5
        return LinearSolution(a, c, residual, method="spectral")

    # ---- criteria

    def _inverse_trace(self, alphas: Array) -> Any:
        """tr G, over the samples of positive weight."""
        trace = namespace(alphas).sum(1 / (self.values[:, None] + alphas), axis=0)
        return trace + self.rest / alphas if self.rest else trace

    def degrees_of_freedom(self, alphas: Array) -> Any:
        """The trace of the smoother matrix, which maps b to the fitted values, of shape (A,)."""
        alphas = self._strengths(alphas)
        return self.design.effective - alphas * self._inverse_trace(alphas)

    def leverage(self, alphas: Array) -> Any:
        """The diagonal hᵢᵢ of the smoother matrix, of shape (n, A)."""
        return 1 - self.room(alphas)

    def room(self, alphas: Array) -> Any:
        """1 − hᵢᵢ, without cancellation if the leverage is nearly 1, of shape (n, A)."""
        alphas = self._strengths(alphas)
        return alphas * self._resolvent_diagonal(alphas)

    def _resolvent_diagonal(self, alphas: Array) -> Any:
        """Gᵢᵢ, of shape (n, A)."""
        core, basis = self._at(alphas)
        G = core.quadratic(basis, alphas)
        return G if self.full else G + self._left[:, None] / alphas

    def _room(self) -> Any:
        """1 − hᵢᵢ for the fit by the free part alone."""
        xp, design = namespace(self._basis), self.design
        if design.H is None:
            return xp.ones(self._basis.shape[0], dtype=self._basis.dtype, device=device_of(self._basis))
        return 1 - xp.sum(design.Q**2, axis=1)

    def rss(self, b: Array, alphas: Array) -> Any:
        """Σ wᵢrᵢ², of shape (t, A)."""
        alphas = self._strengths(alphas)
        return self._square(b, alphas, alphas)

    def gcv(self, b: Array, alphas: Array) -> Any:
        """Generalised cross-validation, (1/n) Σ wᵢrᵢ² / (1 − tr(A)/n)², of shape (t, A)."""
        alphas = self._strengths(alphas)
        return self.design.effective * self._square(b, alphas, 1 / self._inverse_trace(alphas))

    def residual_variance(self, b: Array, alphas: Array) -> Any:
        """Σ wᵢrᵢ² / (n − tr(A)), of shape (t, A), without cancellation if A is nearly the identity."""
        alphas = self._strengths(alphas)
        trace = self._inverse_trace(alphas)
        return self._square(b, alphas, 1 / trace) * (alphas * trace)

    def loo(self, b: Array, alphas: Array) -> Any:
        """The leave-one-out error (1/n) Σ wᵢrᵢ² / (1 − hᵢᵢ)²; infinite if a sample alone determines a free function."""
        alphas = self._strengths(alphas)
        if len(self._determined()):
            return namespace(b).full_like(b[0, :, None] + alphas, np.inf)
        residuals = self._resolved(self.design.scaled(b), alphas) / self._resolvent_diagonal(alphas)[:, None, :]
        return namespace(b).sum(residuals**2, axis=0) / self.design.effective

    def _log_determinant(self, alphas: Array) -> Any:
        """log|M + αI|, over the samples of positive weight."""
        xp = namespace(alphas)
        logs = xp.sum(xp.log(self.values[:, None] + alphas), axis=0)
        return logs + self.rest * xp.log(alphas) if self.rest else logs

    def log_marginal_likelihood(self, b: Array, alphas: Array) -> Any:
        """log p(b) of the Gaussian process with covariance K, noise αW⁻¹ and a flat prior on c, of shape (t, A)."""
        alphas, design = self._strengths(alphas), self.design
        constant = (design.effective - design.p) * float(np.log(2 * np.pi)) + design.log_volume
        return -(self._energy(b, alphas) + self._log_determinant(alphas) + constant) / 2

    def reml(self, b: Array, alphas: Array) -> Any:
        """Minus twice the restricted log-likelihood with covariance (σ²/α)K and noise σ²W⁻¹, of shape (t, A).

        At the best σ², and up to a constant: N log(bᵀDGDb α/N) + log|I + M/α| with N = n − p.
        """
        alphas = self._strengths(alphas)
        xp, N = namespace(b), self.design.effective - self.design.p
        objective = xp.clip(alphas * self._energy(b, alphas), min=float(np.finfo(np.float64).tiny))
        return N * xp.log(objective / N) + self._log_determinant(alphas) - N * xp.log(alphas)

    def free_covariance(self, alpha: float) -> np.ndarray:
        """(Hᵀ(K + αW⁻¹)⁻¹H)⁻¹: the covariance of c under the same prior, of shape (p, p)."""
        design = self.design
        image = design.image
        inner = namespace(image).matrix_transpose(design.Q) @ image
        explained = namespace(image).matrix_transpose(image) @ self.resolvent(image, alpha)
        S = host(inner - explained) + alpha * np.eye(design.p)
        root = np.linalg.inv(host(design.R))
        return root @ ((S + S.T) / 2) @ root.T

    def variance(self, alpha: float, cross: Any, diagonal: Array, h: Any = None) -> Any:
        """The posterior variance at new points under the same prior, as in `posterior_variance`."""
        return posterior_variance(self.design, alpha, partial(self.resolvent, alpha=alpha), cross, diagonal, h)

    # ---- held-out samples

    def leave_one_out(self, b: Array, alphas: Array) -> Any:
        """For each sample the prediction of the fit without it, of shape (n, t, A).

        A sample of weight zero does not affect the fit and gets the fitted value.
        """
        self.refuse_determined()
        return self.left_out(b, alphas)

    def left_out(self, b: Array, alphas: Array) -> Any:
        """Like `leave_one_out`, with NaN for a sample that alone determines a free function."""
        alphas, xp = self._strengths(alphas), namespace(b)
        scaled = self._resolved(self.design.scaled(b), alphas)
        share = self._resolvent_diagonal(alphas)
        determined = like(np.isin(np.arange(self.design.n), self._determined()), share, dtype=xp.bool)[:, None]
        share = xp.where(determined, xp.full_like(share, np.nan), share)
        return b[:, :, None] - self._unscaled(scaled / share[:, None, :], b, scaled)

    def _unscaled(self, residual: Any, b: Array, scaled: Any) -> Any:
        """Residuals times D⁻¹; the plain residual where D is zero."""
        design = self.design
        if design.effective == design.n:
            return residual if design.scale is None else residual / design.scale[:, None, None]
        xp = namespace(b)
        used = (design.scale > 0)[:, None, None]
        safe = xp.where(used, design.scale[:, None, None], xp.ones_like(residual))
        a, c = self._coefficients(b, scaled)
        values = design.gram @ a + (0.0 if c is None else design.H @ c)
        return xp.where(used, residual / safe, b[:, :, None] - xp.reshape(values, residual.shape))

    def _coefficients(self, b: Array, scaled: Any) -> tuple[Any, Any]:
        """a and c from ã of shape (n, t, A), of shapes (n, tA) and (p, tA)."""
        xp, design = namespace(b), self.design
        n, t, A = scaled.shape
        flat = xp.reshape(scaled, (n, t * A))
        if design.H is None:
            return design.scaled(flat), None
        repeated = xp.reshape(xp.broadcast_to(b[:, :, None], (n, t, A)), (n, t * A))
        return design.scaled(flat), design.free(repeated, flat)

    def _determined(self) -> np.ndarray:
        """The samples that alone determine a free function."""
        room = host(self._room())
        used = np.ones(len(room), bool) if self.design.weight is None else host(self.design.weight) > 0
        return np.flatnonzero(used & (room <= DETERMINED * eps(self._basis)))

    def refuse_determined(self) -> None:
        """Raise if the fit without one of the samples does not exist."""
        if len(bad := self._determined()):
            raise ValueError(
                f"free: sample {bad[0]} alone determines one of the free functions (its leverage hᵢᵢ is 1), so there "
                "is no fit without it; remove that function, or add samples."
            )

    def held_out(self, b: Array, alphas: Array, splits: Iterable[tuple[Any, Any]]) -> Iterator[Any]:
        """For each split into (train, test) indices the predictions at test of the fit on train, (m, t, A) each.

        If few samples are left out, they follow from this decomposition by solves with G_FF; otherwise, if cheaper,
        from a decomposition of the remaining samples. Both are exact.
        """
        alphas = self._strengths(alphas)
        scaled = self._resolved(self.design.scaled(b), alphas)
        n, r = self.design.n, self._core.rank
        for train, test in splits:
            train, test = host(train), host(test)
            out = np.setdiff1d(np.arange(n), train)
            # operation counts: a symmetric product and an elimination for each alpha, or another decomposition
            here = int(alphas.shape[0]) * len(out) ** 2 * (r + len(out) / 3)
            again = 4 * len(train) * min(len(train), r) ** 2
            weightless = self.design.weight is not None and bool(np.any(host(take(self.design.weight, out)) == 0))
            repeated = len(np.unique(train)) < len(train)
            if here > again or weightless or repeated or not np.all(np.isin(test, out)):
                yield self._refitted(b, alphas, train, test)
                continue
            try:
                yield take(self._removed(b, alphas, scaled, out), np.searchsorted(out, test))
            except (np.linalg.LinAlgError, RuntimeError):  # G_FF singular by rounding
                yield self._refitted(b, alphas, train, test)

    def _refitted(self, b: Array, alphas: Array, train: np.ndarray, test: np.ndarray) -> Any:
        design = self.design
        H, weight = (None if v is None else take(v, train) for v in (design.H, design.weight))
        part = Part(design.gram, train)
        path, some = Spectral(part, H, weight), take(b, train)
        scaled = path._resolved(path.design.scaled(some), path._strengths(alphas))
        a, c = path._coefficients(some, scaled)
        values = part.values(test, a) + (0.0 if c is None else take(design.H, test) @ c)
        return namespace(b).reshape(values, (len(test), *scaled.shape[1:]))

    def _removed(self, b: Array, alphas: Array, scaled: Any, out: np.ndarray) -> Any:
        xp, design = namespace(b), self.design
        core, basis = self._at(alphas)
        V, a = take(basis, out), take(scaled, out)
        inside = None if self.full else eye(len(out), b)
        if design.H is not None:
            Q = take(design.Q, out)
            left = np.linalg.eigvalsh(np.eye(design.p) - host(xp.matrix_transpose(Q) @ Q))
            if left[0] <= DETERMINED * eps(Q):
                raise ValueError(
                    f"free: the {design.n - len(out)} training samples of a fold do not determine the free functions; "
                    "use fewer functions or more folds."
                )
            inside = None if inside is None else inside - Q @ xp.matrix_transpose(Q)
        residuals = []
        for j in range(int(alphas.shape[0])):
            if inside is None:
                B = core.half(V, alphas[j])
                G = xp.matrix_transpose(B) @ B
            else:
                B = V * xp.sqrt(self.values / (self.values + alphas[j]))
                G = (inside - B @ xp.matrix_transpose(B)) / alphas[j]
            residuals.append(xp.linalg.solve(G, a[:, :, j]))
        residual = xp.stack(residuals, axis=2)
        scale = 1.0 if design.scale is None else take(design.scale, out)[:, None, None]
        return take(b, out)[:, :, None] - residual / scale
