"""What a test returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..space import Function


@dataclass(frozen=True, eq=False, repr=False)
class KernelTestResult:
    """The outcome of a kernel test.

    Attributes
    ----------
    statistic : float
        Of `kernel`.
    p_value : float
        Corrected for the number of kernels, if there are several.
    null : array
        A sample from the null distribution of the statistic: permutations, weighted chi-squares, or wild bootstrap. For
        a null distribution in closed form, its quantiles at (b − ½)/B.
    method : str
        The statistic and the null distribution, in words.
    kernel : Kernel, or tuple of kernels
        The one that says most, with all its parameters; a tuple where each collection has its own.
    witness : Function or None
        The function in whose direction the samples depart from the hypothesis most.
    kernels : tuple
        All that took part.
    p_values : array
        One for each of them, not corrected.
    """

    statistic: float
    p_value: float
    null: np.ndarray
    method: str
    kernel: Any
    witness: Function | None = None
    kernels: tuple[Any, ...] = ()
    p_values: np.ndarray = field(default_factory=lambda: np.empty(0))

    def __repr__(self) -> str:
        names = self.kernel if isinstance(self.kernel, tuple) else (self.kernel,)
        which = " and ".join(map(str, names))
        several = f", the clearest of {len(self.kernels)}" if len(self.kernels) > 1 else ""
        return f"<{self.method}: {self.statistic:.4g}, p = {self.p_value:.3g}; {which}{several}>"
