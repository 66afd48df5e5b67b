"""Weights for several kernels: by alignment with targets, by mutual agreement, or by the objective of a method."""

from ._alignment import (
    align,
    alignf,
    alignments,
    consensus,
    inner_products,
    normalised,
    quadratic_forms,
    shares,
    target_columns,
    variance,
)
from ._descent import Descent, alternating, blockwise, on_simplex

__all__ = [
    "Descent",
    "align",
    "alignf",
    "alignments",
    "alternating",
    "blockwise",
    "consensus",
    "inner_products",
    "normalised",
    "on_simplex",
    "quadratic_forms",
    "shares",
    "target_columns",
    "variance",
]
