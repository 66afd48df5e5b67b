"""Representations of the Gram matrix: dense, recomputed in tiles, or as a thin factor, exact or approximate."""

from ._base import Cross, Gram, Operator, Representation, Wrapped
from .auto import Auto, GramLike, as_representation
from .centered import Centered
from .dense import Dense
from .incomplete_cholesky import IncompleteCholesky
from .lazy import Lazy
from .low_rank import LowRank
from .nystrom import Nystrom
from .packed import Packed
from .random_features import RandomFeatures

__all__ = [
    "Auto",
    "Centered",
    "Cross",
    "Dense",
    "Gram",
    "GramLike",
    "IncompleteCholesky",
    "Lazy",
    "LowRank",
    "Nystrom",
    "Operator",
    "Packed",
    "RandomFeatures",
    "Representation",
    "Wrapped",
    "as_representation",
]
