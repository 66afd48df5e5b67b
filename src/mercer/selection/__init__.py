"""Choosing parameters and judging the choice: shared-work cross-validation, paths, expected losses, comparisons."""

from .comparison import Comparison, Difference, compare, subspace_agreement
from .expected_loss import ExpectedLoss, expected_loss
from .one_class_path import OneClassMachine, OneClassPath, one_class_path
from .path import SVMPath, svm_path
from .search import KernelSearchCV

__all__ = [
    "Comparison",
    "Difference",
    "ExpectedLoss",
    "KernelSearchCV",
    "OneClassMachine",
    "OneClassPath",
    "SVMPath",
    "compare",
    "expected_loss",
    "one_class_path",
    "subspace_agreement",
    "svm_path",
]
