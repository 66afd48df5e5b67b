"""What a method of one's own inherits from: the bases of the estimators of this library."""

from ._base import KernelEstimator, is_kernel_estimator
from ._loss import LossEstimator
from ._svm import SupportVectorMachine
from ._transformer import KernelTransformer

__all__ = ["KernelEstimator", "KernelTransformer", "LossEstimator", "SupportVectorMachine", "is_kernel_estimator"]
