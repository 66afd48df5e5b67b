"""A list of kernels as a parameter: names, columns and nested parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator

from .._errors import where
from ..kernels import Kernel, KernelLike, Table, is_kernel
from ..kernels.algebra import Sum
from ..kernels.expression import as_kernel


class NamedKernels(BaseEstimator):
    """Base: a parameter `kernels`, a list or a dict of kernels with nested parameters."""

    kernels: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params = super().get_params(deep)
        if deep and isinstance(self.kernels, (Mapping, list, tuple)) and len(self.kernels):
            for name, given in self._named().items():
                kernel = params[f"kernels__{name}"] = given[0] if isinstance(given, tuple) and given else given
                if is_kernel(kernel):
                    params |= {f"kernels__{name}__{key}": value for key, value in kernel.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        inner = {key: params.pop(key) for key in sorted(params) if key.startswith("kernels__")}
        super().set_params(**params)
        for key, value in inner.items():  # a kernel before its parameters
            name, _, rest = key.removeprefix("kernels__").partition("__")
            kernels: Any = dict(self.kernels) if isinstance(self.kernels, Mapping) else list(self.kernels)
            places = dict(
                zip(self._named(), kernels if isinstance(kernels, dict) else range(len(kernels)), strict=True)
            )
            if name not in places:
                raise ValueError(f"{where(self)}: unknown parameter {key!r}; the kernels are {', '.join(places)}.")
            given = kernels[place := places[name]]
            kernel, *columns = given if isinstance(given, tuple) else (given,)
            kernel = as_kernel(kernel).set_params(**{rest: value}) if rest else value
            kernels[place] = (kernel, *columns) if columns else kernel
            self.kernels = kernels
        return self

    def _kernel(self, n_features: int) -> Kernel:
        return Sum([_base_kernel(self, k) for k in self._named().values()])

    def _named(self) -> dict[str, Any]:
        """The kernels by name, in order."""
        if isinstance(self.kernels, Mapping):
            named = {str(name): kernel for name, kernel in self.kernels.items()}
        elif isinstance(self.kernels, (list, tuple)):
            named = {str(i): kernel for i, kernel in enumerate(self.kernels)}
        else:
            raise TypeError(f"{where(self)}: kernels = {self.kernels!r} must be a list, or a dict of named kernels.")
        if not named:
            raise ValueError(f"{where(self)}: kernels is empty; give at least one kernel.")
        return named


def _base_kernel(owner: object, kernel: KernelLike) -> Kernel:
    """The kernel for a kernel, an expression, or a pair with columns: indices in an array or names in a table."""
    if not isinstance(kernel, tuple):
        return as_kernel(kernel, "kernels")
    if len(kernel) != 2:
        raise TypeError(f"{where(owner)}: kernels holds {kernel!r}; expected a pair (kernel, columns).")
    inner, columns = as_kernel(kernel[0], "kernels"), kernel[1]
    names = [columns] if isinstance(columns, str) else list(columns) if isinstance(columns, (list, tuple)) else []
    if names and all(isinstance(name, str) for name in names):
        return Table({tuple(names) if len(names) > 1 else names[0]: inner}, combine="sum")
    return inner.on(columns)
