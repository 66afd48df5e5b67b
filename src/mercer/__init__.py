"""Mercer: kernel methods and reproducing kernel Hilbert spaces.

>>> import numpy as np
>>> import mercer
>>> X = np.linspace(0, 1, 20)[:, None]
>>> model = mercer.KernelRidge(alpha=1e-3, kernel="gaussian(lengthscale=0.2)").fit(X, np.sin(6 * X[:, 0]))
>>> model.function_
<Function in the space of gaussian(lengthscale=0.2): 20 points>
"""

from importlib import import_module
from typing import Any

from . import closed_forms, gram, kernels, losses, preimage
from ._errors import IndefiniteKernelWarning, JitterWarning, RoundingWarning
from .expansion import MercerExpansion, mercer_expansion
from .io.model import load, save
from .kernels import deformed
from .measures import GaussianMeasure, UniformMeasure
from .methods import (
    SVC,
    SVR,
    AnovaSpline,
    ImportVectorMachine,
    KernelCCA,
    KernelDensity,
    KernelDimensionReduction,
    KernelExpectileRegression,
    KernelFeatureAnalysis,
    KernelFisher,
    KernelICA,
    KernelInterpolator,
    KernelKMeans,
    KernelLogisticRegression,
    KernelMachine,
    KernelMeanClassifier,
    KernelPCA,
    KernelPLS,
    KernelPLSClassifier,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeClassifierCV,
    KernelRidgeCV,
    KreinRidge,
    KreinSVC,
    LeastSquaresSVC,
    LinearSVC,
    LinearSVR,
    ManifoldRanking,
    MarginalTransfer,
    MultipleKernel,
    MultitaskKernelRidge,
    MultitaskSVC,
    NuSVC,
    NuSVR,
    OneClassSVM,
    OnlineKernelMachine,
    RelevanceVectorClassifier,
    RelevanceVectorMachine,
    RobustKernelDensity,
    RobustKernelRegression,
    SemiSupervised,
    SmoothingSpline,
    SpectralClustering,
    ThinPlateSpline,
    amari_error,
    couple,
)
from .solvers.quadratic import quadratic_program
from .space import RKHS, Function

__all__ = [
    "RKHS",
    "SVC",
    "SVR",
    "AnovaSpline",
    "Function",
    "GaussianMeasure",
    "ImportVectorMachine",
    "IndefiniteKernelWarning",
    "JitterWarning",
    "KernelCCA",
    "KernelDensity",
    "KernelDimensionReduction",
    "KernelExpectileRegression",
    "KernelFeatureAnalysis",
    "KernelFisher",
    "KernelICA",
    "KernelInterpolator",
    "KernelKMeans",
    "KernelLogisticRegression",
    "KernelMachine",
    "KernelMeanClassifier",
    "KernelPCA",
    "KernelPLS",
    "KernelPLSClassifier",
    "KernelQuantileRegression",
    "KernelRidge",
    "KernelRidgeCV",
    "KernelRidgeClassifierCV",
    "KreinRidge",
    "KreinSVC",
    "LeastSquaresSVC",
    "LinearSVC",
    "LinearSVR",
    "ManifoldRanking",
    "MarginalTransfer",
    "MercerExpansion",
    "MultipleKernel",
    "MultitaskKernelRidge",
    "MultitaskSVC",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OnlineKernelMachine",
    "RelevanceVectorClassifier",
    "RelevanceVectorMachine",
    "RobustKernelDensity",
    "RobustKernelRegression",
    "RoundingWarning",
    "SemiSupervised",
    "SmoothingSpline",
    "SpectralClustering",
    "ThinPlateSpline",
    "UniformMeasure",
    "amari_error",
    "closed_forms",
    "couple",
    "deformed",
    "gram",
    "kernels",
    "load",
    "losses",
    "mercer_expansion",
    "preimage",
    "quadratic_program",
    "report",
    "save",
]
__version__ = "0.1.0.dev0"


_ON_DEMAND = {"datasets", "inference", "plot", "reports", "selection", "testing"}  # rarely all wanted, and slow to load


def __getattr__(name: str) -> Any:
    if name == "report":
        return import_module("mercer.reports").report
    if name in _ON_DEMAND:
        return import_module(f"mercer.{name}")
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_ON_DEMAND, "report"})
