"""How kernel values are computed.

A kernel holds mathematics only. ``kernel.bind(X, Y)`` returns an `Evaluator`, which does the rest: tiles on threads,
packed panels and the compiled exponential, row blocks on another device, a matrix that is held. `backend` registers
another evaluator.
"""

from ._base import BACKENDS, TILE, DeviceEvaluator, Evaluator, HeldEvaluator, WholeEvaluator, backend, bind
from ._points import Points
from ._radial import RadialPoints, radial_points

__all__ = [
    "BACKENDS",
    "TILE",
    "DeviceEvaluator",
    "Evaluator",
    "HeldEvaluator",
    "Points",
    "RadialPoints",
    "WholeEvaluator",
    "backend",
    "bind",
    "radial_points",
]
