"""Kernels on sets of anything that has a kernel, and on samples from distributions."""

from .distribution_gaussian import DistributionGaussian
from .mean_map import MeanMap

__all__ = ["DistributionGaussian", "MeanMap"]
