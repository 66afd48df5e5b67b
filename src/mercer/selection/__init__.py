"""Choosing parameters by cross-validation that shares its work."""

from .search import KernelSearchCV

__all__ = ["KernelSearchCV"]
