"""The automatic choice of a pre-image method, and the names of the methods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..space import Function
from ._base import PreImage, PreImages, Targets
from .distance_based import DistanceBased
from .fixed_point import FixedPoint
from .gradient import Gradient
from .learned import Learned


class Auto(PreImage):
    """Choose a method by the kernel's properties; `PreImages.choice` gives the choice and its reason.

    ==========================================================================  ===============
    the kernel (the first row that applies)                                     choice
    ==========================================================================  ===============
    differentiable, a function of the distance                                  `FixedPoint`
    differentiable                                                              `Gradient`
    a function of the distance alone (Laplace, rough Matérn and Wendland)       `DistanceBased`
    other                                                                       `Learned`
    ==========================================================================  ===============

    Parameters
    ----------
    time_budget : float > 0, optional
        As in `FixedPoint`.

    Notes
    -----
    The first two minimise the reported distance. For noisy projections, the nearest point need not be the best
    reconstruction: on digits, `DistanceBased`, which uses a few neighbours, is closer to the clean images (see the
    example of denoised digits).

    Examples
    --------
    >>> from mercer import RKHS
    >>> Auto().find(RKHS("laplace").function([[0.0], [1.0]], [0.5, 0.5])).choice
    'DistanceBased: the kernel is a function of the distance, without a gradient'
    """

    def __init__(self, *, time_budget: float | None = None):
        self.time_budget = time_budget

    def find(self, function: Function, start: Any = None, *, norm: Any = None) -> PreImages:
        """A pre-image of each target by the chosen method; see `PreImage.find`."""
        targets = Targets(self, function)
        smooth = "gradient_x" in function.kernel.provides
        method: PreImage
        if smooth and targets.form == "distance":
            method, reason = FixedPoint(), "the kernel is a differentiable function of the distance"
        elif smooth:
            method, reason = Gradient(), "the kernel is differentiable"
        elif targets.form == "distance":
            method, reason = DistanceBased(), "the kernel is a function of the distance, without a gradient"
        else:
            method, reason = Learned(), "the kernel has no gradient and is not a function of the distance"
        method.time_budget = self.time_budget
        return replace(method.find(function, start, norm=norm), choice=f"{type(method).__name__}: {reason}")


NAMES: dict[str, type[PreImage]] = {
    "auto": Auto,
    "fixed_point": FixedPoint,
    "distance_based": DistanceBased,
    "learned": Learned,
    "gradient": Gradient,
}


def as_preimage(preimage: Any) -> PreImage:
    """The method object for an object or a name.

    Examples
    --------
    >>> as_preimage("fixed_point")
    FixedPoint()
    """
    if isinstance(preimage, PreImage):
        return preimage
    if isinstance(preimage, str) and preimage in NAMES:
        return NAMES[preimage]()
    raise ValueError(
        f"preimage = {preimage!r} is unknown; give a pre-image method or one of {', '.join(map(repr, NAMES))}."
    )
