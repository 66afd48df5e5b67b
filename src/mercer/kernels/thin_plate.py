"""The thin-plate spline kernel."""

from __future__ import annotations

from typing import Any

from ._base import register
from ._radial import EACH
from .polyharmonic import Polyharmonic


@register
class ThinPlate(Polyharmonic):
    r"""Thin-plate spline kernel, conditionally positive definite of order 2.

    .. math:: k(x, y) = r^2 \log r, \qquad r = \frac{\|x - y\|}{\ell}, \qquad k(x, x) = 0

    Parameters
    ----------
    lengthscale : float > 0, array of shape (d,), array of shape (d, d), or {"median", "scale", "sigest"}
        ℓ. A single number only rescales the quadratic form on coefficients that annihilate the affine functions; one
        per feature or a matrix changes the geometry. A string is replaced by its value on the training data.

    Notes
    -----
    Strictly CPD(2) in every dimension; interpolation with an affine part is unique unless the points lie on a
    hyperplane. In the plane the interpolant minimises the bending energy ∫ f_xx² + 2f_xy² + f_yy². `gradient_x`
    exists, but second derivatives are infinite at x = y. A matrix costs O(nmd).

    References
    ----------
    Duchon, *Splines minimizing rotation-invariant semi-norms in Sobolev spaces* (1977). Wendland, *Scattered Data
    Approximation* (2005), section 8.3.

    Examples
    --------
    >>> import numpy as np
    >>> ThinPlate()([[0.0], [1.0], [np.e]]).round(4)[0]
    array([0.    , 0.    , 7.3891])
    """

    trials = [(1.5,), (EACH,)]
    degree = 2

    def __init__(self, lengthscale: Any = 1.0):
        self.lengthscale = lengthscale
