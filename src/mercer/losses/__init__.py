"""Losses: what error is."""

from ._base import Loss, registry
from .absolute import Absolute
from .logistic import Logistic
from .squared import Squared

__all__ = ["Absolute", "Logistic", "Loss", "Squared", "registry"]
