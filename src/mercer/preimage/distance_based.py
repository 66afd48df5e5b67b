"""Pre-images from distances to neighbours."""

from __future__ import annotations

import numpy as np

from .._array import row_products
from .._errors import check_number, where
from ._base import PreImage, Targets

GRID = 1000  # points at which a profile is checked for monotonicity
BISECTIONS = 100
FLAT = 1e-7  # directions with a smaller relative spread of the neighbours are not resolved


class DistanceBased(PreImage):
    r"""Pre-images from feature-space distances, by multidimensional scaling on the neighbours (Kwok and Tsang).

    The distances :math:`\|\phi(x_i) - t\|^2 = k(x_i, x_i) - 2 t(x_i) + \|t\|^2` are known. If t is the image of a
    point y, and the kernel an invertible function of the distance or of the inner product, they determine
    :math:`d_i^2 = \|y - x_i\|^2`. With neighbours :math:`x_i` of mean :math:`\bar x`, y follows from

    .. math:: (x_i - \bar x)^\top (y - \bar x) = \tfrac12 \big(\|x_i - \bar x\|^2 - d_i^2\big) + \text{const}

    by least squares: no iteration, no derivatives, no local minima.

    Parameters
    ----------
    n_neighbors : int >= 2
        Number of nearest points in feature space. y lies in their affine span: more points cover more directions, but
        distant ones are less informative.

    Notes
    -----
    Exact for t = φ(y) if the neighbours span the space. Distances are scaled by the kernel's lengthscales. Profiles are
    inverted by bisection. Values outside the kernel's range, on up to twice the extent of the data, are clipped, and
    `fallback` is set.

    O(n²m) for the distances, O(mk²d) for k neighbours.

    References
    ----------
    Kwok, Tsang, *The pre-image problem in kernel methods* (2004).

    Examples
    --------
    >>> from mercer import RKHS
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> y = np.array([[0.5, -0.3]])
    >>> target = RKHS("polynomial(degree=3)").function(np.vstack([X, y]), np.eye(21)[:, 20:])  # the image of y
    >>> bool(np.allclose(DistanceBased().find(target).points, y))
    True
    """

    def __init__(self, n_neighbors: int = 10):
        self.n_neighbors = n_neighbors

    def _find(self, targets: Targets) -> tuple[np.ndarray, np.ndarray, str]:
        check_number(self, "n_neighbors", self.n_neighbors, at_least=2, integer=True)
        if targets.form is None:
            raise TypeError(
                f"{where(self)} needs a kernel that is a function of the Euclidean distance or of the inner product; "
                f"{targets.kernel} is not known to be one. Try Gradient or Learned."
            )
        found = targets.nearest(slice(None), self.n_neighbors)
        asked = np.take_along_axis(targets.values.T, found, axis=1)
        A = targets.kernel.scaled(targets.X) if targets.form == "distance" else targets.X
        if targets.form == "distance":
            squares, cut = self._from_distances(targets, A, asked)
        else:
            squares, cut = self._from_products(targets, asked, found)
        Y = np.empty((targets.m, targets.d))
        for rows in targets.blocks(targets.m, -(-found.shape[1] * targets.d // len(A))):
            Y[rows] = _place(targets.X, A, found[rows], squares[rows])
        fell = int(np.sum(cut))
        said = f"{fell} of {targets.m} targets have feature-space distances that no point attains; they were clipped"
        return Y, cut, said if fell else ""

    def _from_distances(self, targets: Targets, A: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """s from φ(s) = φ(0) − ‖φ(xᵢ) − t‖²/2."""
        centred = A - np.mean(A, axis=0)
        reach = 16 * float(np.max(row_products(centred, centred))) or 1.0
        values = asked + 0.5 * (targets.diagonal[0] - targets.square)[:, None]
        s, cut = self._invert(targets, -values, 0.0, reach, -1.0)
        return s, np.any(cut, axis=1)

    def _from_products(self, targets: Targets, asked: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """‖xᵢ‖² + ‖y‖² − 2xᵢᵀy from φ(xᵢᵀy) = t(xᵢ) and φ(‖y‖²) = ‖t‖²."""
        lengths = row_products(targets.X, targets.X)
        reach = 4 * float(np.max(lengths)) or 1.0
        products, cut = self._invert(targets, asked, -reach, reach, 1.0)
        own, cut_too = self._invert(targets, targets.square, -reach, reach, 1.0)
        return lengths[found] + own[:, None] - 2 * products, np.any(cut, axis=1) | cut_too

    def _invert(
        self, targets: Targets, values: np.ndarray, low: float, high: float, sign: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The smallest u in [low, high] with sign·φ(u) ≥ value, and whether there is none."""
        profile = targets.kernel.profile
        grid = sign * profile(np.linspace(low, high, GRID), np)
        rounding = 1e-9 * float(np.max(np.abs(grid)))
        if np.any(np.diff(grid) < -rounding):
            raise TypeError(
                f"{where(self)}: {targets.kernel} does not determine the distance of two points of these data: its "
                "profile is not monotone. Try Gradient or Learned."
            )
        cut = (values < grid[0] - rounding) | (values >= grid[-1])
        values = np.clip(values, grid[0], grid[-1])
        left, right = np.full(values.shape, low), np.full(values.shape, high)
        for _ in range(BISECTIONS):
            middle = (left + right) / 2
            enough = sign * profile(middle, np) >= values
            left, right = np.where(enough, left, middle), np.where(enough, middle, right)
        return right, cut


def _place(X: np.ndarray, A: np.ndarray, found: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """The points whose squared distances to the neighbours, measured in A, are nearest to `squares`."""
    near, scaled = X[found], A[found]
    centre = np.mean(near, axis=1)
    near, scaled = near - centre[:, None], scaled - np.mean(scaled, axis=1, keepdims=True)
    right = 0.5 * (np.sum(scaled**2, axis=2) - squares)
    U, sizes, _ = np.linalg.svd(scaled, full_matrices=False)
    resolved = sizes > FLAT * sizes[:, :1]
    inverse = np.where(resolved, 1.0 / np.where(resolved, sizes, 1.0) ** 2, 0.0)
    weights = np.einsum("jir,jr->ji", U, inverse * np.einsum("jir,ji->jr", U, right))
    return centre + np.einsum("ji,jid->jd", weights, near)
