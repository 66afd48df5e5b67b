r"""The marginal likelihood of the Gaussian process behind kernel ridge regression, its gradient and its maximum.

Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006); Patterson, Thompson, *Recovery of inter-block
information when block sizes are unequal* (1971): the likelihood that the free part leaves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize
from sklearn.base import clone

from .. import _threads
from .._array import eye, host, namespace, solve_triangular
from .._errors import IndefiniteError
from ..context import Status, StoppedError, current
from ..gram import Dense
from ..kernels import Kernel
from ..types import Array, Checked
from .design import Design
from .linear.cholesky import factorize

__all__ = ["log_marginal_likelihood", "maximise_likelihood"]

REACH = 1e5  # factor by which the maximum may lie away from its start, in each parameter


def log_marginal_likelihood(
    kernel: Kernel, X: Checked, b: Array, alpha: float, H: Array = None, weight: Array = None
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
    for rows in _threads.slices(design.n, max(1, (1 << 22) // design.n)):
        E = (a[rows, :] @ xp.matrix_transpose(a) - t * (spread[rows, :] @ xp.matrix_transpose(spread))) / 2
        for name, D in kernel.gradient_theta(kernel.domain.take(design.gram.X, rows), design.gram.X).items():
            flat = xp.reshape(D, (int(E.shape[0]) * design.n, -1))
            part = host(xp.reshape(E, (1, -1)) @ flat).reshape(tuple(D.shape[2:]))
            gradient[name] = gradient.get(name, 0.0) + part
    return value, {name: float(g) if np.ndim(g) == 0 else g for name, g in gradient.items()}


def maximise_likelihood(
    kernel: Kernel, X: Checked, b: Array, alpha: float, H: Array = None, weight: Array = None
) -> tuple[Kernel, float, float, Status]:
    """The kernel and the strength with the largest likelihood, its value, and why the search ended.

    L-BFGS-B, started at the given ones, in the logarithms of alpha and of every parameter that is positive there (of
    an array, entry by entry; others as they are), each within a factor of 10⁵ of its start. A local maximum.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> kernel, alpha, value, status = maximise_likelihood(Gaussian(0.3), X, np.sin(X), 0.1)
    >>> bool(1 < kernel.lengthscale < 4), alpha < 1e-3
    (True, True)
    """
    parameters = _Parameters(kernel, X, alpha)
    dimension = kernel.domain.dimension(X)
    known = kernel.definiteness_in(dimension)

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        candidate, strength = parameters.at(u)
        claim = candidate.definiteness_in(dimension)
        if known.is_cpd and not (claim.is_cpd and claim.order <= known.order):
            raise IndefiniteError(f"{candidate} is {claim}.")
        value, gradient = log_marginal_likelihood(candidate, X, b, strength, H, weight)
        return -value, -parameters.slope(u, gradient)

    place, context = parameters.origin, current()
    with context.sheltered():
        lowest = loss(place)[0]  # a search that stops early does not return the best that it has seen
    barrier = 1e6 + 1e3 * abs(lowest)

    def guarded(u: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal lowest, place
        if status := context({"value": -lowest}):
            raise StoppedError(status)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, slope = loss(u)
            if value < lowest:
                lowest, place = value, u.copy()
            return value, slope
        except ValueError:  # a step too far: parameters out of range, or a matrix that is definite no more
            return barrier, np.zeros_like(u)

    try:
        found = optimize.minimize(guarded, place, jac=True, method="L-BFGS-B", bounds=parameters.bounds)
        status = (Status.CONVERGED, Status.MAX_ITER, Status.NO_DESCENT)[found.status]
    except StoppedError as stopped:
        status = stopped.status
    return *parameters.at(place), -lowest, status


class _Parameters:
    """alpha and all that the kernel has derivatives for as one vector, in logarithms where positive at the start."""

    def __init__(self, kernel: Kernel, X: Checked, alpha: float):
        self.kernel, given = kernel, kernel.get_params()
        first = kernel.domain.take(X, slice(0, 1))
        names = kernel.gradient_theta(first, first)
        self.start = {"alpha": np.float64(alpha)} | {name: host(given[name]).astype(np.float64) for name in names}
        flat = np.concatenate([v.ravel() for v in self.start.values()])
        self.positive = flat > 0
        self.origin = np.where(self.positive, np.log(np.where(self.positive, flat, 1.0)), flat)
        reach = np.where(self.positive, np.log(REACH), np.inf)
        self.bounds = np.stack([self.origin - reach, self.origin + reach], axis=1)

    def _values(self, u: np.ndarray) -> np.ndarray:
        return np.where(self.positive, np.exp(np.where(self.positive, u, 0.0)), u)

    def at(self, u: np.ndarray) -> tuple[Kernel, float]:
        """The kernel and alpha."""
        cuts = np.cumsum([v.size for v in self.start.values()])[:-1]
        parts = zip(self.start.items(), np.split(self._values(u), cuts), strict=True)
        filled: dict[str, Any] = {name: p.reshape(v.shape) if v.ndim else float(p[0]) for (name, v), p in parts}
        alpha = filled.pop("alpha")
        return clone(self.kernel).set_params(**filled), alpha

    def slope(self, u: np.ndarray, gradient: dict[str, Any]) -> np.ndarray:
        """The derivatives in the vector, from those in the parameters."""
        slope = np.concatenate([np.ravel(gradient[name]) for name in self.start])
        return np.where(self.positive, self._values(u) * slope, slope)
