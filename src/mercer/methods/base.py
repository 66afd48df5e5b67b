"""Base classes of the estimators of this library, for writing your own methods."""

from ._base import Estimator, KernelEstimator, is_kernel_estimator
from ._forms import LinearForm, NoProblemError, SolvedProblem, chosen, frozen, with_kernel
from ._loss import LossEstimator
from ._svm import SupportVectorMachine
from ._transformer import KernelTransformer

__all__ = [
    "Estimator",
    "KernelEstimator",
    "KernelTransformer",
    "LinearForm",
    "LossEstimator",
    "NoProblemError",
    "SolvedProblem",
    "SupportVectorMachine",
    "chosen",
    "frozen",
    "is_kernel_estimator",
    "with_kernel",
]
