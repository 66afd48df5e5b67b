"""The experiments that the lectures and the thesis report, on the real data: ``mercer reproduce``."""

from ._base import EXPERIMENTS, Experiment, Result, Row

__all__ = ["EXPERIMENTS", "Experiment", "Result", "Row"]
