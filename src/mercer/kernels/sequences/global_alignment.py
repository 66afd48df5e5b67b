"""The sum over all alignments of two time series."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from ..._errors import ONE_OR_NONE, SWITCH
from ...types import Checked
from .. import bandwidth
from .._base import register
from .._definiteness import PD, UNKNOWN, Definiteness
from .._structured import Store
from ._base import OnSeries, Series, both, stack
from ._compiled import log_sums


@register
class GlobalAlignment(OnSeries):
    r"""Global alignment kernel of two time series of any lengths: the sum over all their alignments.

    .. math:: k(x, y) = \sum_{\pi} \prod_{(i, j) \in \pi} \kappa(x_i, y_j), \qquad
              \kappa = \frac{g}{2 - g}, \quad g(x_i, y_j) = e^{-\|x_i - y_j\|^2 / 2\ell^2}

    An alignment π is a path of time pairs from (1, 1) to (n, m) with steps (1, 0), (0, 1) and (1, 1). By default the
    value is :math:`k(x, y) / \sqrt{k(x, x)\, k(y, y)}`.

    Parameters
    ----------
    lengthscale : float > 0 or "median"
        ℓ. Raising it makes more alignments count. "median" is the median distance between the points of all series,
        times the square root of the median length.
    triangle : int >= 1, optional
        T: g is multiplied by (1 − |i − j|/T)₊, so times T or more apart are not aligned, and the cost falls from nm to
        (n + m)T. The value is 0 for series whose lengths differ by T or more.
    local : {"divisible", "gaussian"}
        κ = g/(2 − g), or κ = g.
    normalize : bool
        Whether to normalise series to unit length in feature space. Without it, values for long series overflow (there
        are about 5.8ⁿ alignments) and raise an error.

    Notes
    -----
    Positive definite if κ/(1 + κ) is. For the "divisible" κ this is g/2, with or without the triangle; no proof is
    known for the Gaussian itself, so its definiteness is UNKNOWN. Sums use numbers of unlimited range, so values of
    long or distant series neither overflow nor underflow before they are normalised. For small ℓ the matrix is close to
    the identity; then raise ℓ. For large ℓ it depends only on the lengths, through the number of alignments; resample
    series whose lengths differ by more than a factor of two. Each pair costs O(nm), in compiled and multithreaded code.

    References
    ----------
    Cuturi, Vert, Birkenes, Matsui, *A kernel for time series based on global alignments* (2007). Cuturi, *Fast global
    alignment kernels* (2011).

    Examples
    --------
    >>> from mercer.kernels.sequences import GlobalAlignment
    >>> GlobalAlignment(normalize=False)([[0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0, 0.0]])  # Delannoy's numbers
    array([[3., 5.]])
    >>> GlobalAlignment()([[0.0, 1.0, 0.0]], [[0.0, 1.0, 1.0, 0.0], [1.0, 0.0]]).round(4)
    array([[0.7449, 0.4228]])
    """

    trials = [(), (0.5, 3), (2.0, None, "divisible", False), (2.0, None, "gaussian")]
    form_parameters: ClassVar[tuple[str, ...]] = ("lengthscale", "triangle", "local")
    rules = {"local": ("divisible", "gaussian"), "normalize": SWITCH, "triangle": ONE_OR_NONE}

    def __init__(
        self,
        lengthscale: Any = 1.0,
        triangle: int | None = None,
        local: str = "divisible",
        normalize: bool = True,
    ):
        self.lengthscale, self.triangle, self.local, self.normalize = lengthscale, triangle, local, normalize

    def resolve(self, X: Checked) -> Self:
        kernel = super().resolve(X)
        if isinstance(self.lengthscale, str) and self.lengthscale == "median":
            points, starts = stack(self.arrays(self.domain.check(X, self)))
            kernel.lengthscale = bandwidth.median(points) * float(np.sqrt(np.median(np.diff(starts))))
        return kernel

    def _log_sums(self, A: list[np.ndarray], B: list[np.ndarray], diagonal: bool = False) -> np.ndarray:
        out = np.empty((len(A), 1 if diagonal else len(B)))
        gamma = 0.5 / float(self.lengthscale) ** 2
        log_sums(*both(A, B), gamma, int(self.triangle or 0), self.local == "divisible", diagonal, out)
        return out

    def forms(self, members: list[Any], store: Store) -> list[Series]:
        values = self.arrays(members)
        return list(map(Series, values, self._log_sums(values, values, diagonal=True)[:, 0].tolist()))

    def compare(self, A: list[Series], B: list[Series] | None) -> np.ndarray:
        B = A if B is None else B
        logs = self._log_sums([a.values for a in A], [b.values for b in B])
        if self.normalize:
            logs -= 0.5 * np.array([a.log_square for a in A])[:, None]
            logs -= 0.5 * np.array([b.log_square for b in B])[None, :]
        return self._exp(logs)

    def squares(self, A: list[Series]) -> np.ndarray:
        return np.ones(len(A)) if self.normalize else self._exp(np.array([a.log_square for a in A]))

    def _exp(self, logs: np.ndarray) -> np.ndarray:
        if logs.max() > 709:
            raise ValueError(f"GlobalAlignment: k(x, y) = exp({logs.max():.0f}) overflows; use normalize=True.")
        return np.exp(logs)

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD if self.local == "divisible" else UNKNOWN
