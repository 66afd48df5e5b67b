"""The kernel methods, one a file."""

from .interpolator import KernelInterpolator
from .mean_classifier import KernelMeanClassifier
from .ridge import KernelRidge

__all__ = ["KernelInterpolator", "KernelMeanClassifier", "KernelRidge"]
