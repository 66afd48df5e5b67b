"""Pre-images by a regression learned from the sample."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import namespace
from .._errors import check_number
from ..gram import Auto
from ..gram.remote import reachable
from ..kernels import PD, Definiteness, Kernel
from ..solvers.linear import System, solve
from ..types import Data
from ._base import PreImage, Targets

PROBE = 1000  # number of points for the median distance


class Learned(PreImage):
    r"""Pre-images by ridge regression from the feature space to the inputs (Bakır, Weston and Schölkopf).

    The inputs are learned as functions on the feature space from the pairs :math:`(\phi(x_i), x_i)`, with a Gaussian
    kernel of the feature-space distance:

    .. math:: y = \bar x + \sum_i \kappa(t, \phi(x_i))\, b_i, \quad
              \kappa(t, t') = \exp\left(-\frac{\|t - t'\|^2}{2 w^2 m}\right), \quad
              (\kappa(\phi(x_i), \phi(x_j)))\, B + \alpha B = X - \bar x

    m is the median of the squared distances between images of the sample.

    Parameters
    ----------
    alpha : float > 0
        α. Larger values shrink the points to the sample mean, smaller ones fit the sample more closely.
    width : float > 0, optional
        w. Larger values use more of the sample for each target. None uses κ = :math:`\langle t, t' \rangle`: every
        coordinate of y is then linear in t, :math:`y \to \bar x + \sum_i \gamma_i (x_i - \bar x)` as α → 0.

    Notes
    -----
    The method needs no derivatives or special form of the kernel, and has no local minima. It does not minimise the
    feature-space distance; `Gradient` with these points as `start` does. It solves one linear system with d right-hand
    sides: O(n³) if the matrix of κ fits into memory, conjugate gradients otherwise.

    References
    ----------
    Bakır, Weston, Schölkopf, *Learning to find pre-images* (2004).

    Examples
    --------
    >>> from mercer import RKHS
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> target = RKHS("gaussian").function(X, np.eye(50)[:, :1])  # the image of the first point
    >>> bool(np.allclose(Learned(alpha=1e-6).find(target).points, X[:1], atol=1e-3))
    True
    """

    def __init__(self, alpha: float = 0.1, width: float | None = 0.5):
        self.alpha, self.width = alpha, width

    def _find(self, targets: Targets) -> tuple[np.ndarray, np.ndarray, str]:
        check_number(self, "alpha", self.alpha, above=0)
        kernel, cross = targets.native, targets.values.T
        if self.width is not None:
            check_number(self, "width", self.width, above=0)
            square = float(self.width) ** 2 * _median_square(targets)
            kernel = _OfImages(kernel, square)
            cross = np.exp(np.minimum(2 * cross - targets.diagonal - targets.square[:, None], 0.0) / (2 * square))
        gram = reachable(Auto().build(kernel, targets.points))  # exact, whatever it chooses
        centre = np.mean(targets.X, axis=0)
        solution = solve(System(gram, targets.X - centre, float(self.alpha)))
        said = "" if solution.converged else f"the residual of the ridge system is {solution.residual:.1g}"
        return centre + cross @ solution.coefficients, np.zeros(targets.m, dtype=bool), said


class _OfImages(Kernel):
    """exp(−‖φ(x) − φ(y)‖²/2σ²), with φ the feature map of a kernel."""

    def __init__(self, kernel: Kernel, square: float):
        self.kernel, self.square = kernel, square
        self.domain = kernel.domain

    def evaluate(self, X: Data, Y: Data = None) -> Any:
        K = self.kernel.evaluate(X, Y)
        a = self.kernel.evaluate_diag(X)
        b = a if Y is None else self.kernel.evaluate_diag(Y)
        xp = namespace(K)
        return xp.exp(xp.clip(2 * K - a[:, None] - b[None, :], max=0.0) / (2 * self.square))

    def evaluate_diag(self, X: Data) -> Any:
        return namespace(X).ones_like(X[:, 0])

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD


def _median_square(targets: Targets) -> float:
    """The median of ‖φ(xᵢ) − φ(xⱼ)‖² over pairs of the sample, or of at most `PROBE` of its points."""
    every = -(-len(targets.X) // PROBE)
    K, k = targets.kernel.evaluate(targets.X[::every]), targets.diagonal[::every]
    pairs = np.triu_indices(len(k), 1)
    squares = (k[:, None] + k[None, :] - 2 * K)[pairs]
    return float(np.median(squares)) if squares.size and np.median(squares) > 0 else 1.0
