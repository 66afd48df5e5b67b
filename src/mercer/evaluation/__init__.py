"""How kernel values are computed.

A kernel holds mathematics only. ``kernel.bind(X, Y)`` gives an `Evaluator`, which knows the rest: tiles on threads,
packed panels and the compiled exponential, row blocks on another device, a matrix that is held.
"""

from ._base import Evaluator, HeldEvaluator, WholeEvaluator, bind
from ._points import Points
from ._radial import RadialPoints, radial_points

__all__ = ["Evaluator", "HeldEvaluator", "Points", "RadialPoints", "WholeEvaluator", "bind", "radial_points"]
