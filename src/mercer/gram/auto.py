"""``gram="auto"``, and names for representations."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from .._array import is_array, is_sparse, namespace
from .._errors import check_number
from ..kernels import Kernel
from ..types import Checked
from ._base import Gram, Representation
from .dense import Dense
from .incomplete_cholesky import IncompleteCholesky
from .lazy import Lazy
from .low_rank import LowRank
from .nystrom import Nystrom
from .packed import Packed
from .random_features import RandomFeatures

GramLike: TypeAlias = Representation | str  # what stands for a representation


class Auto(Representation):
    """Choose an exact representation by a memory budget; the choice and its reason are stored in `Gram.choice`.

    ==========================================================================================  ==========
    condition, the first that holds                                                             choice
    ==========================================================================================  ==========
    the n × n matrix fits into `memory`, and `factor` is not preferred                          `Dense`
    the kernel has fewer explicit features than a quarter of n, and they fit into `memory`      `LowRank`
    the n × n matrix fits into `memory`                                                         `Dense`
    otherwise                                                                                   `Lazy`
    ==========================================================================================  ==========

    None of them approximates. For approximations choose `Nystrom`, `IncompleteCholesky` or `RandomFeatures`.

    Parameters
    ----------
    memory : int
        Bytes that the matrix, or the factor, may take.
    factor : bool
        Whether a thin factor is preferred to a matrix that would fit, as by methods that decompose it (O(nr²), not
        O(n³)).

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Auto(memory=1000).build(Linear(), np.ones((50, 2)), np.random.default_rng(0)).choice
    'LowRank: the 50 × 50 matrix needs 20.0 kB, over the budget of 1.0 kB; the kernel has 2 explicit features'
    """

    def __init__(self, memory: int = 2 * 2**30, factor: bool = False):
        self.memory = memory
        self.factor = factor

    def shared(self, count: int) -> Auto:
        return Auto(max(1, self.memory // count), self.factor)

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> Gram:
        check_number(self, "memory", self.memory, above=0)
        n = kernel.domain.size(X)
        single = (is_array(X) or is_sparse(X)) and X.dtype == namespace(X).float32
        number = 4 if single else 8
        need = n * n * number
        fits = need <= self.memory
        size = f"the {n} × {n} matrix needs {_bytes(need)}, {'within' if fits else 'over'} the budget of "
        size += _bytes(self.memory)
        if (self.factor or not fits) and "feature_map" in kernel.provides:
            width = kernel.feature_count(X)
            if 4 * width <= n and n * width * number <= self.memory:
                gram: Gram = LowRank().build(kernel, X, rng)
                gram.choice = f"LowRank: {size}; the kernel has {width} explicit features"
                return gram
        gram = (Dense() if fits else Lazy()).build(kernel, X, rng)
        gram.choice = f"{'Dense' if fits else 'Lazy'}: {size}"
        return gram


def _bytes(n: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.1f} {unit}"
        n /= 1000
    raise AssertionError


NAMES: dict[str, type[Representation]] = {
    "auto": Auto,
    "dense": Dense,
    "lazy": Lazy,
    "low_rank": LowRank,
    "incomplete_cholesky": IncompleteCholesky,
    "nystrom": Nystrom,
    "packed": Packed,
    "random_features": RandomFeatures,
}


def as_representation(gram: GramLike, factor: bool = False) -> Representation:
    """A representation object or its name → the object; what "auto" prefers is `factor` of `Auto`."""
    if isinstance(gram, Representation):
        return gram
    if isinstance(gram, str) and gram == "auto":
        return Auto(factor=factor)
    if isinstance(gram, str) and gram in NAMES:
        return NAMES[gram]()
    raise ValueError(f"gram = {gram!r} is unknown; give a representation or one of {', '.join(map(repr, NAMES))}.")
