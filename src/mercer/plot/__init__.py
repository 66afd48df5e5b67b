"""Pictures of fitted models, in scikit-learn's form: ``SomeDisplay.from_…(…)`` computes and draws.

They need matplotlib (``pip install "mercer[plot]"``), which is imported when the first one is drawn.
"""

from .decision import DecisionDisplay
from .grid import GridDisplay

__all__ = ["DecisionDisplay", "GridDisplay"]
