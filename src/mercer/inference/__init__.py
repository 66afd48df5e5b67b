"""Hypothesis tests and prediction intervals."""

from ._result import KernelTestResult
from .conditional import conditional_independence_test
from .hsic import hsic_test
from .jackknife import JackknifePlus
from .mmd import mmd_test
from .stein import SteinKernel, stein_test

__all__ = [
    "JackknifePlus",
    "KernelTestResult",
    "SteinKernel",
    "conditional_independence_test",
    "hsic_test",
    "mmd_test",
    "stein_test",
]
