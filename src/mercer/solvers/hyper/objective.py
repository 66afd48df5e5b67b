"""A criterion as a function of the tuned parameters, and the start of the search."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from ...kernels import Kernel
from ...types import Checked


class Objective:
    """The objective of a `KernelTuner`: a criterion, with the kernel and the strength (alpha or C) to start from.

    X are the samples of the criterion; the minimum of `guide`, a smoother criterion, is a second start.
    """

    def __init__(self, criterion: Any, kernel: Kernel, strength: float, X: Checked, guide: Any = None):
        self.criterion, self.kernel, self.strength, self.guide = criterion, kernel, strength, guide
        self.X, self.dimension = X, kernel.domain.dimension(X)
        self.claim = kernel.definiteness_in(self.dimension)

    def kernel_with(self, values: dict[str, Any]) -> Kernel:
        """The kernel with other parameters; raise if they are out of range or the kernel is no longer definite."""
        kernel = clone(self.kernel).set_params(**values)
        kernel.validate()
        claim = kernel.definiteness_in(self.dimension)
        if self.claim.is_cpd and not (claim.is_cpd and claim.order <= self.claim.order):
            raise ValueError(f"{kernel} is {claim}.")
        return kernel

    def __call__(self, criterion: Any, values: dict[str, Any]) -> tuple[float, dict[str, Any]]:
        """A criterion and its derivatives at these parameters, with all others as at the start."""
        inner = {name.removeprefix("kernel__"): v for name, v in values.items() if name.startswith("kernel__")}
        kernel = self.kernel_with(inner)
        strength = values.get(criterion.strength, self.strength)
        value, gradient = criterion(kernel, strength, frozenset(inner))
        own = {criterion.strength: gradient.pop(criterion.strength)}
        return value, own | {f"kernel__{name}": g for name, g in gradient.items()}
