"""The words of signatures: arrays and collections, random numbers, files.

A collection goes through three states. It comes as `Data`, whatever a user has: an array of any library, a table, a
list of strings or graphs. A domain checks it, and from then on it is `Checked`: what kernels compute with. Bound to a
kernel it is an `Evaluator` (`kernel.bind`).

Arrays are those of any library; to a type checker they have NumPy's attributes. What stands for a kernel, a
representation or a loss is a `mercer.kernels.KernelLike`, a `mercer.gram.GramLike`, a `mercer.losses.LossLike`.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "Array",
    "Axis",
    "Checked",
    "ClassWeight",
    "DType",
    "Data",
    "EstimatorLike",
    "FilePath",
    "FreePart",
    "Index",
    "Namespace",
    "RandomState",
    "Splitter",
]

Array: TypeAlias = np.ndarray[Any, Any] | Any
Data: TypeAlias = np.ndarray[Any, Any] | Any
Checked: TypeAlias = np.ndarray[Any, Any] | Any
Index: TypeAlias = np.ndarray[Any, Any] | slice | Any
Namespace: TypeAlias = ModuleType  # an array library
DType: TypeAlias = np.dtype[Any] | Any
EstimatorLike: TypeAlias = Any  # an object with the methods of scikit-learn: what it has besides is its own
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
ClassWeight: TypeAlias = Mapping[Any, float] | str | None
FilePath: TypeAlias = str | PathLike[str]
FreePart: TypeAlias = int | Any  # a degree, functions, or a basis
Splitter: TypeAlias = int | Any  # a number of folds, splits, or a splitter of scikit-learn
Axis: TypeAlias = "Axes | Any"
