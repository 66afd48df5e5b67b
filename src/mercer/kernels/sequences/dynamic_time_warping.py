"""A Gaussian kernel of the dynamic time warping distance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from ..._errors import FROM_ZERO
from ...types import Checked
from .._base import register
from .._definiteness import INDEFINITE, PD, Definiteness
from .._structured import Store
from ..bandwidth import drawn_rows
from ._base import OnSeries, Series, both
from ._compiled import FAR, least_costs

SAMPLE = 200  # maximum number of series for the median distance, drawn with a fixed seed


@register
class DynamicTimeWarping(OnSeries):
    r"""Gaussian of the dynamic time warping distance between two time series of any lengths.

    .. math:: k(x, y) = \exp\Bigl(-\frac{\mathrm{dtw}^2(x, y)}{2\ell^2}\Bigr), \qquad
              \mathrm{dtw}^2(x, y) = \min_\pi \sum_{(i, j) \in \pi} \|x_i - y_j\|^2

    over the alignments π: paths of time pairs from (1, 1) to (n, m) with steps (1, 0), (0, 1) and (1, 1).

    Parameters
    ----------
    lengthscale : float > 0 or "median"
        ℓ, in the units of dtw. Raising it makes functions smoother. "median" is the median distance between different
        series (of at most 200, drawn with a fixed seed).
    band : int >= 0, optional
        Times are aligned only if \|i − j\| ≤ band, which lowers the cost from nm to (n + m)·band and prevents extreme
        warping. The value is 0 for series whose lengths differ by more.

    Notes
    -----
    INDEFINITE: x = (0, 1) and y = (0, 0, 1) have distance 0, but distances √0.5 and √0.75 from z = (0.5, 0.5), which
    is impossible for three vectors; by scaling this holds for every ℓ, and with any band ≥ 1. With ``band=0`` it is the
    Gaussian kernel on the series of each length. Methods for definite kernels reject it or warn; use
    `GlobalAlignment`, a corrected spectrum, or a method for indefinite kernels. Each pair costs O(nm), in compiled and
    multithreaded code.

    References
    ----------
    Sakoe, Chiba, *Dynamic programming algorithm optimization for spoken word recognition* (1978): the distance and the
    band. Lei, Sun, *A study on the dynamic time warping in kernel machines* (2007): definiteness.

    Examples
    --------
    >>> from mercer.kernels.sequences import DynamicTimeWarping
    >>> DynamicTimeWarping()([[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0]]).round(4)
    array([[1.    , 0.6065]])
    """

    trials = [(), (2.0, 2), (1.0, 0)]
    rules = {"band": {**FROM_ZERO, "besides": (None,)}}

    def __init__(self, lengthscale: Any = 1.0, band: int | None = None):
        self.lengthscale, self.band = lengthscale, band

    def resolve(self, X: Checked) -> Self:
        kernel = super().resolve(X)
        if isinstance(self.lengthscale, str) and self.lengthscale == "median":
            series = self.arrays(self.domain.check(X, self))
            rows = drawn_rows(len(series), SAMPLE)
            chosen = [series[i] for i in rows]
            d2 = self.squared_distances(chosen, chosen)[np.triu_indices(len(rows), 1)]
            d2 = d2[(d2 > 0) & np.isfinite(d2)]
            kernel.lengthscale = float(np.median(np.sqrt(d2))) if len(d2) else 1.0
        return kernel

    def squared_distances(self, A: list[np.ndarray], B: list[np.ndarray]) -> np.ndarray:
        """dtw² between (length, d) arrays; infinite if the band allows no alignment."""
        out = np.empty((len(A), len(B)))
        least_costs(*both(A, B), -1 if self.band is None else int(self.band), out)
        out[out >= FAR] = np.inf
        return out

    def forms(self, members: list[Any], store: Store) -> list[Series]:
        return [Series(x, 0.0) for x in self.arrays(members)]

    def compare(self, A: list[Series], B: list[Series] | None) -> np.ndarray:
        d2 = self.squared_distances([a.values for a in A], [b.values for b in (A if B is None else B)])
        return np.exp(d2 / (-2 * float(self.lengthscale) ** 2))

    def squares(self, A: list[Series]) -> np.ndarray:
        return np.ones(len(A))

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        return PD if self.band is not None and self.band == 0 else INDEFINITE
