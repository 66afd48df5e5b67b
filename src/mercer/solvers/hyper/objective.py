"""A criterion as a function of the parameters that are tuned, and where the search for them starts."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ...kernels import Kernel
from ...types import Checked


class Objective:
    """What a `KernelTuner` minimises: a criterion of a kernel and a strength, alpha or C, from where the search starts.

    X are the samples of the criterion; the minimum of `guide`, a smoother criterion, is a second start.
    """

    def __init__(self, criterion: Any, kernel: Kernel, strength: float, X: Checked, guide: Any = None):
        self.criterion, self.kernel, self.strength, self.guide = criterion, kernel, strength, guide
        self.X, self.dimension = X, kernel.domain.dimension(X)
        self.claim = kernel.definiteness_in(self.dimension)

    def kernel_with(self, values: dict[str, Any]) -> Kernel:
        """The kernel with other parameters; raises where they are out of range, or the kernel loses definiteness."""
        kernel = clone(self.kernel).set_params(**values)
        kernel.validate()
        claim = kernel.definiteness_in(self.dimension)
        if self.claim.is_cpd and not (claim.is_cpd and claim.order <= self.claim.order):
            raise ValueError(f"{kernel} is {claim}.")
        return kernel

    def __call__(self, criterion: Any, values: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """A criterion and its derivatives, at the start but for these parameters."""
        inner = {name.removeprefix("kernel__"): v for name, v in values.items() if name.startswith("kernel__")}
        kernel = self.kernel_with(inner)
        strength = values.get(criterion.strength, self.strength)
        value, gradient = criterion(kernel, strength, frozenset(inner))
        own = {criterion.strength: gradient.pop(criterion.strength)}
        return value, own | {f"kernel__{name}": g for name, g in gradient.items()}
