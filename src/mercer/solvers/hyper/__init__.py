"""Criteria for the parameters of kernels and machines, with exact gradients."""

from .chain import adjoint, contract
from .margin import MARGIN, MarginCriterion
from .ridge import RIDGE, RidgeCriterion

__all__ = ["MARGIN", "RIDGE", "MarginCriterion", "RidgeCriterion", "adjoint", "contract"]
