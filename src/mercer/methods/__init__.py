"""The kernel methods, one a file."""

from ._calibration import Calibration
from .interpolator import KernelInterpolator
from .linear_svm import LinearSVC, LinearSVR
from .machine import KernelMachine
from .mean_classifier import KernelMeanClassifier
from .ridge import KernelRidge
from .svc import SVC, NuSVC
from .svr import SVR, NuSVR, OneClassSVM

__all__ = [
    "SVC",
    "SVR",
    "Calibration",
    "KernelInterpolator",
    "KernelMachine",
    "KernelMeanClassifier",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
