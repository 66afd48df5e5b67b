"""Kernels on time series, which need not have the same length."""

from .dynamic_time_warping import DynamicTimeWarping
from .global_alignment import GlobalAlignment

__all__ = ["DynamicTimeWarping", "GlobalAlignment"]
