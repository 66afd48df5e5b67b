"""How kernel values are computed.

A kernel contains only mathematics. ``kernel.bind(X, Y)`` returns an `Evaluator`, which does the rest: tiles on threads,
packed panels and the compiled exponential, row blocks on another device, stored matrices. `backend` registers another
evaluator.
"""

from ._base import BACKENDS, Evaluator, HeldEvaluator, WholeEvaluator, backend, bind
from ._fused import FusedEvaluator
from ._host import TILE, HostEvaluator
from ._points import Points
from ._radial import RadialPoints, radial_points
from ._trace import Pairs, Untraceable

__all__ = [
    "BACKENDS",
    "TILE",
    "Evaluator",
    "FusedEvaluator",
    "HeldEvaluator",
    "HostEvaluator",
    "Pairs",
    "Points",
    "RadialPoints",
    "Untraceable",
    "WholeEvaluator",
    "backend",
    "bind",
    "radial_points",
]
