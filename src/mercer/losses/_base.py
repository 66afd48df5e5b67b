"""What error is: a function of targets y and values f of the whole sample, which knows no kernel.

A loss writes `value`, one number per sample, and what it has besides is announced in `provides`: "gradient", "hessian"
(both in f, sample by sample), "prox" and "link_inverse". Objectives are Σ wᵢ ℓ(yᵢ, fᵢ) + (α/2)‖f‖².
"""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

registry: dict[str, type[Loss]] = {}


class Loss(BaseEstimator):
    """ℓ(y, f), for arrays of one shape."""

    provides: ClassVar[frozenset[str]] = frozenset()
    convex: ClassVar[bool] = True

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        registry[cls.__name__.lower()] = cls

    def value(self, y: Any, f: Any) -> Any:
        """ℓ(yᵢ, fᵢ) for each sample."""
        raise NotImplementedError

    def gradient(self, y: Any, f: Any) -> Any:
        """∂ℓ/∂f for each sample."""
        raise NotImplementedError

    def hessian(self, y: Any, f: Any) -> Any:
        """∂²ℓ/∂f² for each sample."""
        raise NotImplementedError

    def prox(self, y: Any, v: Any, step: float) -> Any:
        """argmin_f ℓ(y, f) + (f − v)²/(2·step) for each sample."""
        raise NotImplementedError

    def link_inverse(self, f: Any) -> Any:
        """The mean (or probability) that the value f stands for."""
        raise NotImplementedError

    def targets(self, rng: Any, n: int) -> Any:
        """n valid targets, for the law tests."""
        return rng.normal(size=n)
