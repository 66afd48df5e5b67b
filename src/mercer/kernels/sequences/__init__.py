"""Kernels on time series, possibly of different lengths."""

from .dynamic_time_warping import DynamicTimeWarping
from .global_alignment import GlobalAlignment

__all__ = ["DynamicTimeWarping", "GlobalAlignment"]
