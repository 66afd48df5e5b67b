"""Targets, results and base class of the pre-image methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .. import _threads
from .._array import doubles, host, is_array, like, namespace, on_host, precise, row_products
from .._device import NUMPY, moved
from .._errors import check_number, where
from ..context import Context, StoppedError, warn_early
from ..kernels import Kernel
from ..space import Function
from ..types import Index

BLOCK = 1 << 21  # entries of one block of kernel values: 16 MiB


@dataclass(frozen=True)
class PreImages:
    """Points of the input space whose images are close to given targets.

    Attributes
    ----------
    points : array of shape (m, d)
    distance : array of shape (m,)
        ‖φ(y) − t‖; because of rounding, a distance of 0 is about 1e-8 √k(y, y).
    fallback : boolean array of shape (m,)
        Whether the method failed and used a fallback, described in `message`.
    message : str
        Problems, if any.
    method : str
        Name of the class that found the points.
    choice : str or None
        Why "auto" chose that class.
    """

    points: np.ndarray
    distance: np.ndarray
    fallback: np.ndarray
    message: str
    method: str
    choice: str | None = None


class PreImage(BaseEstimator):
    """Base class of methods that find y with φ(y) ≈ t; subclasses implement `_find`."""

    time_budget: float | None = None

    def find(self, function: Function, start: Any = None, *, norm: Any = None) -> PreImages:
        """A pre-image of each target.

        Parameters
        ----------
        function : Function
            The targets t = Σ aᵢ k(·, xᵢ), one per column of its coefficients. Its kernel must be positive definite, its
            points a dense array, and it must have no unpenalised part. On a device, kernel values stay there.
        start : array of shape (m, d), optional
            Starting points of iterative methods; in denoising, the noisy points. The default is the point of
            `function.points` nearest to the target in feature space.
        norm : array of shape (m,), optional
            ‖t‖ if known; otherwise computing it takes O(n²) kernel values.

        Returns
        -------
        PreImages
        """
        check_number(self, "time_budget", self.time_budget, above=0, besides=(None,))
        with Context(self.time_budget, self).active() as context:
            try:
                targets = Targets(self, function, start, norm)
                points, fallback, message = self._find(targets)
            except StoppedError as stopped:
                raise context.unfinished(stopped.status) from None
            if message and (status := context.heard):
                warn_early(self, message, status)
        points = targets.inside(points)
        square = targets.square - targets.height(points)
        distance = np.sqrt(np.maximum(square, 0.0))
        points, distance = like(points, function.points), like(distance, function.points)
        return PreImages(points, distance, fallback, message, type(self).__name__)

    def _find(self, targets: Targets) -> tuple[np.ndarray, np.ndarray, str]:
        """The points, whether each is a fallback, and a message."""
        raise NotImplementedError


class Targets:
    """Targets t_j = Σᵢ Gᵢⱼ k(·, xᵢ) in double precision, checked on behalf of `owner`.

    `kernel`, `X` and `G` are on the host; `native`, `points` and `coefficients` are the same in the library and on the
    device of the function, where matrices of kernel values are computed and used.
    """

    def __init__(self, owner: PreImage, function: Function, start: Any = None, norm: Any = None):
        self.owner = owner
        self._check(function)
        self.points, G = precise(function.points), precise(function.coefficients)
        self.coefficients = G if G.ndim == 2 else G[:, None]
        self.X, self.G = host(self.points), host(self.coefficients)
        self.m, self.d = self.G.shape[1], self.X.shape[1]
        self.native = function.kernel.in_dimension_of(self.points)
        self.kernel: Kernel = self.native if on_host(self.points) else moved(self.native, NUMPY)
        self.form = form(self.kernel, self.d)
        self.start = None if start is None else self._checked("start", start, (self.m, self.d))
        if norm is not None:
            self.square = self._checked("norm", norm, (self.m,)) ** 2

    def _check(self, function: Function) -> None:
        who, kernel = where(self.owner), function.kernel
        if function.basis is not None:
            raise ValueError(f"{who}: the target has an unpenalised part, which lies outside the space; omit it.")
        points = function.points
        dense = is_array(points) and points.ndim == 2 and namespace(points).isdtype(points.dtype, "real floating")
        if not dense or kernel.domain.precomputed:
            raise TypeError(
                f"{who}: pre-images are real vectors, but the points of the target are not a dense array of numbers "
                f"({type(points).__name__} of {kernel}); convert them if they are vectors."
            )
        why = ", and distances to a target are undefined"
        remedy = "use a positive definite kernel, for example kernel.centered(X)"
        kernel.require_pd(points.shape[1], who, why=why, remedy=remedy)

    def _checked(self, name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
        array = doubles(value)
        if array.shape != shape or not np.all(np.isfinite(array)):
            raise ValueError(
                f"{where(self.owner)}: {name} of shape {array.shape} must be finite, of shape {shape}: "
                f"one {'row' if len(shape) == 2 else 'value'} per target."
            )
        return array

    # ---- in feature space

    def sent(self, Y: np.ndarray) -> Any:
        """Points in the library and on the device of those of the targets."""
        return like(Y, self.points)

    @cached_property
    def values(self) -> np.ndarray:
        """t_j(xᵢ), of shape (n, m)."""
        return host(Function(self.native, self.points, self.coefficients)(self.points))

    @cached_property
    def square(self) -> np.ndarray:
        """‖t_j‖²."""
        return np.maximum(np.sum(self.G * self.values, axis=0), 0.0)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(xᵢ, xᵢ)."""
        return self.kernel.evaluate_diag(self.X)

    def height(self, Y: np.ndarray) -> np.ndarray:
        """2 t_j(y_j) − k(y_j, y_j) = ‖t_j‖² − ‖φ(y_j) − t_j‖², which a pre-image maximises."""
        out = -self.kernel.evaluate_diag(Y)
        for rows in self.blocks(self.m):
            K = self.native.evaluate(self.sent(Y[rows]), self.points)
            out[rows] += 2 * host(namespace(K).einsum("ji,ij->j", K, self.coefficients[:, rows]))
        return out

    def ascent(self, Y: np.ndarray, G: Any) -> tuple[np.ndarray, np.ndarray]:
        """t_j(y_j) and its gradient, for targets with some of the `coefficients` as rows G, of shape (len(Y), n)."""
        kernel, X, there, xp = self.native, self.points, self.sent(Y), namespace(G)
        if self.form is None:
            value = xp.einsum("ji,ji->j", kernel.evaluate(there, X), G)
            return host(value), host(xp.einsum("jid,ji->jd", kernel.gradient_x(there, X), G))
        u = kernel.scaled_distances(there, X) if self.form == "distance" else there @ X.T
        weights = kernel.slope(u, xp) * G
        value, pull = host(xp.einsum("ji,ji->j", kernel.profile(u, xp), G)), host(weights @ X)
        if self.form == "distance":
            pull = 2 * (host(xp.sum(weights, axis=1))[:, None] * Y - pull) @ self.metric
        return value, pull

    def own_ascent(self, Y: np.ndarray) -> np.ndarray:
        """Half of the gradient of k(y, y)."""
        if self.form == "distance":
            return np.zeros_like(Y)
        if self.form == "product":
            return self.kernel.slope(row_products(Y, Y), np)[:, None] * Y
        out = np.empty_like(Y)
        for rows in _threads.slices(len(Y), 16):  # only the diagonals of these small blocks are needed
            out[rows] = np.einsum("jjd->jd", self.kernel.gradient_x(Y[rows], Y[rows]))
        return out

    @cached_property
    def metric(self) -> np.ndarray:
        """Λ⁻ᵀΛ⁻¹, for a kernel of the distance."""
        A = self.kernel.scaled(np.eye(self.d))
        return A @ A.T

    def blocks(self, rows: int, width: int = 1) -> list[slice]:
        """Slices of the rows, such that arrays of shape (rows, n, width) stay small."""
        return _threads.slices(rows, max(1, BLOCK // (self.X.shape[0] * width))) if rows else []

    def nearest(self, rows: Index, count: int) -> np.ndarray:
        """Indices of the `count` points nearest to each target in feature space, nearest first: (rows, count)."""
        height = (2 * self.values[:, rows] - self.diagonal[:, None]).T
        count = min(count, height.shape[1])
        found = np.argpartition(-height, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(height, found, axis=1), axis=1, kind="stable")
        return np.take_along_axis(found, order, axis=1)

    def inside(self, Y: np.ndarray) -> np.ndarray:
        """Y, with every coordinate clipped to the kernel's domain."""
        lower, upper = (getattr(self.kernel.domain, name, None) for name in ("lower", "upper"))
        return Y if lower is None and upper is None else np.clip(Y, lower, upper)


def form(kernel: Kernel, d: int) -> str | None:
    """The argument of a kernel: "distance" for k = φ(‖Λ⁻¹(x − y)‖²), "product" for k = φ(xᵀy), None otherwise."""
    if not hasattr(kernel, "profile"):
        return None
    # a profile does not determine its argument: compare it with the kernel at three points
    P = np.zeros((3, d))
    P[1, 0], P[2] = 1.0, d**-0.5
    if not hasattr(kernel, "scaled"):
        return "product" if np.allclose(kernel.evaluate(P), kernel.profile(P @ P.T, np)) else None
    P /= max(float(np.linalg.norm(kernel.scaled(P[1:2]) - kernel.scaled(P[:1]))), 1e-300)
    A = kernel.scaled(P)
    if A.shape != P.shape:
        return None
    s = np.sum((A[:, None] - A[None, :]) ** 2, axis=-1)
    return "distance" if np.allclose(kernel.evaluate(P), kernel.profile(s, np)) else None
