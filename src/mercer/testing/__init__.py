"""Tests of the laws that every kernel, Gram operator and loss must obey, for use on your own."""

from ._arrays import move
from ._evaluators import check_evaluator
from ._grams import check_gram
from ._kernels import check_kernel
from ._losses import check_loss

__all__ = ["check_evaluator", "check_gram", "check_kernel", "check_loss", "move"]
