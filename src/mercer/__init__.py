"""Mercer: kernel methods and reproducing kernel Hilbert spaces.

>>> import numpy as np
>>> import mercer
>>> X = np.linspace(0, 1, 20)[:, None]
>>> model = mercer.KernelRidge(alpha=1e-3, kernel="gaussian(lengthscale=0.2)").fit(X, np.sin(6 * X[:, 0]))
>>> model.function_
<Function in the space of gaussian(lengthscale=0.2): 20 points>
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import closed_forms, gram, kernels, losses, methods, preimage
from ._errors import IndefiniteKernelWarning, JitterWarning, RoundingWarning
from .expansion import MercerExpansion, mercer_expansion
from .kernels import deformed
from .measures import GaussianMeasure, UniformMeasure
from .solvers.quadratic import quadratic_program
from .space import RKHS, Function

if TYPE_CHECKING:
    from ._device import device, moved
    from .compilation import warmup
    from .io.model import load, save
    from .methods import *  # noqa: F403
    from .reports import report

__all__ = [
    *methods.__all__,
    "RKHS",
    "Function",
    "GaussianMeasure",
    "IndefiniteKernelWarning",
    "JitterWarning",
    "MercerExpansion",
    "RoundingWarning",
    "UniformMeasure",
    "closed_forms",
    "deformed",
    "device",
    "gram",
    "kernels",
    "load",
    "losses",
    "mercer_expansion",
    "moved",
    "preimage",
    "quadratic_program",
    "report",
    "save",
    "warmup",
]
__version__ = "0.1.0.dev0"


# loaded on first use because they are slow to import: packages, and single names with their modules
_PACKAGES = {"arrays", "datasets", "inference", "io", "plot", "reports", "selection", "testing"}
_HOMES = dict.fromkeys(methods.__all__, "methods") | {"load": "io.model", "report": "reports", "save": "io.model"}
_HOMES |= {"device": "_device", "moved": "_device", "warmup": "compilation"}


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return import_module(f"mercer.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'mercer' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"mercer.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
