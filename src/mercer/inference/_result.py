"""Test results."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels import Kernel
from ..space import Function


@dataclass(frozen=True, eq=False, repr=False)
class KernelTestResult:
    """The outcome of a kernel test.

    Attributes
    ----------
    statistic : float
        The statistic for `kernel`.
    p_value : float
        Corrected for multiple testing if there are several kernels.
    null : array
        A sample from the null distribution of the statistic: permutations, weighted chi-squares, or wild bootstrap. For
        a null distribution in closed form, its quantiles at (b − ½)/B.
    method : str
        The names of the statistic and the null distribution.
    kernel : Kernel, or tuple of kernels
        The most significant kernel, with all its parameters; a tuple if each collection has its own.
    witness : Function or None
        The function with the largest deviation from the null hypothesis.
    kernels : tuple
        All tested kernels.
    p_values : array
        One uncorrected p-value per kernel.
    """

    statistic: float
    p_value: float
    null: np.ndarray
    method: str
    kernel: Kernel | tuple[Kernel, ...]
    witness: Function | None = None
    kernels: tuple[Any, ...] = ()
    p_values: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __repr__(self) -> str:
        names = self.kernel if isinstance(self.kernel, tuple) else (self.kernel,)
        which = " and ".join(map(str, names))
        several = f", the most significant of {len(self.kernels)}" if len(self.kernels) > 1 else ""
        return f"<{self.method}: {self.statistic:.4g}, p = {self.p_value:.3g}; {which}{several}>"
