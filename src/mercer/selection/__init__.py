"""Choosing parameters by cross-validation that shares its work, and machines over a range of C or of λ."""

from .one_class_path import OneClassMachine, OneClassPath, one_class_path
from .path import SVMPath, svm_path
from .search import KernelSearchCV

__all__ = [
    "KernelSearchCV",
    "OneClassMachine",
    "OneClassPath",
    "SVMPath",
    "one_class_path",
    "svm_path",
]
