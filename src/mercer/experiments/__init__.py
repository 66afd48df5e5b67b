"""The experiments of the lectures and the thesis, on real data where available: ``mercer reproduce``."""

from importlib import import_module
from pkgutil import iter_modules

from ._base import EXPERIMENTS, Experiment, Result, Row

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Row"]

for module in iter_modules(__path__):  # each module registers its experiments
    import_module(f"{__name__}.{module.name}")
