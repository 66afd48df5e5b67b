"""Mercer: kernel methods and reproducing kernel Hilbert spaces.

>>> import numpy as np
>>> import mercer
>>> X = np.linspace(0, 1, 20)[:, None]
>>> model = mercer.KernelRidge(alpha=1e-3, kernel="gaussian(lengthscale=0.2)").fit(X, np.sin(6 * X[:, 0]))
>>> model.function_
<Function in the space of gaussian(lengthscale=0.2): 20 points>
"""

from . import closed_forms, gram, kernels, losses
from ._errors import IndefiniteKernelWarning, JitterWarning
from .expansion import MercerExpansion, mercer_expansion
from .measures import GaussianMeasure, UniformMeasure
from .methods import (
    SVC,
    SVR,
    AnovaSpline,
    ImportVectorMachine,
    KernelExpectileRegression,
    KernelInterpolator,
    KernelLogisticRegression,
    KernelMachine,
    KernelMeanClassifier,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    LeastSquaresSVC,
    LinearSVC,
    LinearSVR,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OnlineKernelMachine,
    RelevanceVectorClassifier,
    RelevanceVectorMachine,
    RobustKernelRegression,
    SmoothingSpline,
    ThinPlateSpline,
)
from .space import RKHS, Function

__all__ = [
    "RobustKernelRegression",
    "KernelQuantileRegression",
    "KernelExpectileRegression",
    "KernelLogisticRegression",
    "ImportVectorMachine",
    "RelevanceVectorMachine",
    "RelevanceVectorClassifier",
    "OnlineKernelMachine",
    "AnovaSpline",
    "ThinPlateSpline",
    "SmoothingSpline",
    "LeastSquaresSVC",
    "KernelRidgeClassifierCV",
    "KernelRidgeCV",
    "RKHS",
    "SVC",
    "SVR",
    "Function",
    "GaussianMeasure",
    "IndefiniteKernelWarning",
    "JitterWarning",
    "KernelInterpolator",
    "KernelMachine",
    "KernelMeanClassifier",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "MercerExpansion",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "UniformMeasure",
    "closed_forms",
    "gram",
    "kernels",
    "losses",
    "mercer_expansion",
]
__version__ = "0.1.0.dev0"
