"""Mercer: kernel methods and reproducing kernel Hilbert spaces.

>>> import numpy as np
>>> import mercer
>>> X = np.linspace(0, 1, 20)[:, None]
>>> model = mercer.KernelRidge(alpha=1e-3, kernel="gaussian(lengthscale=0.2)").fit(X, np.sin(6 * X[:, 0]))
>>> model.function_
<Function in the space of gaussian(lengthscale=0.2): 20 points>
"""

from . import gram, kernels
from ._errors import IndefiniteKernelWarning, JitterWarning
from .methods import KernelInterpolator, KernelMeanClassifier, KernelRidge
from .space import RKHS, Function

__all__ = [
    "RKHS",
    "Function",
    "IndefiniteKernelWarning",
    "JitterWarning",
    "KernelInterpolator",
    "KernelMeanClassifier",
    "KernelRidge",
    "gram",
    "kernels",
]
__version__ = "0.1.0.dev0"
