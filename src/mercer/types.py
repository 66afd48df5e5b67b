"""The types of signatures: arrays and collections, random numbers, files.

A collection goes through three states. `Data` is what a user has: an array of any library, a table, a list of strings
or graphs. A domain checks it, and it becomes `Checked`: what kernels compute with. Bound to a kernel it is an
`Evaluator` (`kernel.bind`).

Arrays may come from any library; to a type checker they have NumPy's attributes. `mercer.kernels.KernelLike`,
`mercer.gram.GramLike` and `mercer.losses.LossLike` are what users may give for a kernel, a representation and a loss.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

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
    "Evaluable",
    "EvaluableRadial",
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
EstimatorLike: TypeAlias = Any  # an object with the methods of scikit-learn
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
ClassWeight: TypeAlias = Mapping[Any, float] | str | None
FilePath: TypeAlias = str | PathLike[str]
FreePart: TypeAlias = int | Any  # a degree, functions, or a basis
Splitter: TypeAlias = int | Any  # a number of folds, splits, or a splitter of scikit-learn
Axis: TypeAlias = "Axes | Any"


class Evaluable(Protocol):
    """What computing values needs of a kernel: `mercer.kernels.Kernel` documents each."""

    @property
    def domain(self) -> Any: ...
    @property
    def tile(self) -> int: ...
    @property
    def whole(self) -> bool: ...
    @property
    def prepares(self) -> bool: ...

    def evaluate(self, X: Checked, Y: Checked = None) -> Any: ...
    def evaluate_diag(self, X: Checked) -> Any: ...
    def points(self, X: Checked, beside: Any = None) -> Any: ...


class EvaluableRadial(Evaluable, Protocol):
    """What rows of a radial kernel need besides: `mercer.kernels.Radial` documents each."""

    gaussian: bool

    def scaled(self, X: Checked) -> Any: ...
    def have_squares(self, *scaled: Any) -> bool: ...
    def profile(self, s: Array, xp: Namespace) -> Any: ...
