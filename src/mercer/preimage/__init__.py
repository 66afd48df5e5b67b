"""Pre-images: points whose images are close to a given element of the feature space."""

from ._base import PreImage, PreImages
from .auto import Auto, as_preimage
from .distance_based import DistanceBased
from .fixed_point import FixedPoint
from .gradient import Gradient
from .learned import Learned

__all__ = [
    "Auto",
    "DistanceBased",
    "FixedPoint",
    "Gradient",
    "Learned",
    "PreImage",
    "PreImages",
    "as_preimage",
]
