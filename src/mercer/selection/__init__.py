"""Choosing parameters by cross-validation that shares its work, and machines over a range of C."""

from .path import SVMPath, svm_path
from .search import KernelSearchCV

__all__ = ["KernelSearchCV", "SVMPath", "svm_path"]
