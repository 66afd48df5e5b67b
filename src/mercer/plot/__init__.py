"""Plots of fitted models, in scikit-learn's style: ``SomeDisplay.from_…(…)`` computes and draws.

They need matplotlib (``pip install "mercer[plot]"``), which is imported when the first plot is drawn.
"""

from .bias_variance import BiasVarianceDisplay
from .canonical import CanonicalDisplay
from .components import ComponentsDisplay
from .decision import DecisionDisplay
from .density import DensityDisplay
from .digits import DigitsDisplay
from .gram import GramDisplay
from .grid import GridDisplay
from .history import HistoryDisplay
from .path import PathDisplay
from .spectrum import SpectrumDisplay
from .spline import SplineDisplay
from .weights import WeightsDisplay
from .witness import WitnessDisplay

__all__ = [
    "BiasVarianceDisplay",
    "CanonicalDisplay",
    "ComponentsDisplay",
    "DecisionDisplay",
    "DensityDisplay",
    "DigitsDisplay",
    "GramDisplay",
    "GridDisplay",
    "HistoryDisplay",
    "PathDisplay",
    "SpectrumDisplay",
    "SplineDisplay",
    "WeightsDisplay",
    "WitnessDisplay",
]
