"""Types for signatures: arrays and collections, random numbers, files.

A collection has three states. `Data` is the user's input: an array of any library, a table, a list of strings or
graphs. A domain checks it and returns `Checked`, with which kernels compute. Bound to a kernel it is an `Evaluator`
(`kernel.bind`).

Arrays may come from any library; to a type checker they have NumPy's attributes. `mercer.kernels.KernelLike`,
`mercer.gram.GramLike` and `mercer.losses.LossLike` are the accepted forms of a kernel, a representation and a loss.
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
EstimatorLike: TypeAlias = Any  # an object with scikit-learn's methods
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
ClassWeight: TypeAlias = Mapping[Any, float] | str | None
FilePath: TypeAlias = str | PathLike[str]
FreePart: TypeAlias = int | Any  # a degree, functions, or a basis
Splitter: TypeAlias = int | Any  # a number of folds, splits, or a scikit-learn splitter
Axis: TypeAlias = "Axes | Any"


class Evaluable(Protocol):
    """The part of a kernel's interface needed to compute values; see `mercer.kernels.Kernel`."""

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
    def formula(self, pairs: Any) -> Any: ...
    def points(self, X: Checked, beside: Any = None) -> Any: ...


class EvaluableRadial(Evaluable, Protocol):
    """The additional interface needed for rows of a radial kernel; see `mercer.kernels.Radial`."""

    gaussian: bool

    def scaled(self, X: Checked) -> Any: ...
    def have_squares(self, *scaled: Any) -> bool: ...
    def profile(self, s: Array, xp: Namespace) -> Any: ...
