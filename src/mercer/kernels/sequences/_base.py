"""Shared code of kernels on time series, which are stored one after another in one array."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..._array import host, on_host
from ..._errors import where
from ...domains import Domain, Sequences
from ...types import Checked
from .._structured import Structured
from ..bandwidth import check_median


class Series(NamedTuple):
    """A time series x as a (length, d) array, and log k(x, x)."""

    values: np.ndarray
    log_square: float

    @property
    def nbytes(self) -> int:
        return self.values.nbytes


def stack(members: Any) -> tuple[np.ndarray, np.ndarray]:
    """The (length, d) arrays stacked, and the start of each; the last entry is the end of the last."""
    return np.concatenate(members), np.cumsum([0, *map(len, members)])


def both(A: list[np.ndarray], B: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Two collections in the form for compiled code, which relies on equal numbers of columns."""
    if A[0].shape[1] != B[0].shape[1]:
        raise ValueError(
            f"Series with {A[0].shape[1]} and {B[0].shape[1]} columns cannot be compared; use the same columns."
        )
    return *stack(A), *stack(B)


class OnSeries(Structured):
    """Base class of kernels on time series."""

    domain: Domain = Sequences()
    tile = 64
    lengthscale: Any

    def validate(self) -> None:
        super().validate()
        check_median(self)

    def arrays(self, members: list[Any]) -> list[np.ndarray]:
        """The series in double precision."""
        if not all(on_host(x) for x in members):
            raise TypeError(f"{where(self)}: series are compared on the host; pass them as NumPy arrays.")
        return [np.ascontiguousarray(host(x), dtype=np.float64) for x in members]

    def _check_together(self, X: Checked, Y: Checked) -> None:
        widths = [self.domain.dimension(Z) for Z in (X, Y)]
        if widths[0] != widths[1]:
            raise ValueError(
                f"{where(self)}: the series in X have {widths[0]} columns and those in Y {widths[1]}; they must agree."
            )
