"""Criteria for tuning kernel and machine parameters, with exact gradients."""

from ...kernels.derivatives import contract
from .descent import Descent, Parameters, descend
from .margin import MARGIN, MarginCriterion
from .objective import Objective
from .ridge import RIDGE, RidgeCriterion

__all__ = [
    "MARGIN",
    "RIDGE",
    "Descent",
    "MarginCriterion",
    "Objective",
    "Parameters",
    "RidgeCriterion",
    "contract",
    "descend",
]
