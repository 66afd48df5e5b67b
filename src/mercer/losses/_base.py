"""Losses: functions of the targets y and the function values f on the whole sample, independent of the kernel.

Objectives are L(f) + (α/2)‖f‖² with L(f) = Σ wᵢ ℓ(yᵢ, fᵢ). A loss is separable or `coupled`:

- A separable loss defines `value`, the numbers ℓ(yᵢ, fᵢ), from which `total`, the number L, follows. f has one entry
  per sample, or a row of `outputs(y)` entries. A loss of one variable treats each entry as a sample.
- A coupled loss defines `total`, and has no value for a single sample.

All derivatives are of L with respect to f and include the weights. `weight=None` means unit weights; the derivatives of
a separable loss are then those of ℓ for each sample. `provides` lists which of the following a loss has:

=================  ==================================================================================================
gradient           ∂L/∂f, with the shape of f; at a kink, where `smooth` is False, a subgradient
hessian            the diagonal of ∂²L/∂f², or its blocks of shape (n, k, k) if each row of f is one variable
hessian_product    ∂²L/∂f² V, for V with the shape of f, or with an additional axis of columns
majorizer          in the form of `hessian`, M ≥ 0 and M ≥ ∂²L/∂f²: the curvature of a Newton or reweighting step
prox               argmin_f ℓ(y, f) + ‖f − v‖²/(2·step), per sample, exact; step is one number or one per sample
conjugate          ℓ*(y, u) = sup_f uf − ℓ(y, f), per sample; infinite outside its domain
box                the dual as a quadratic form in a box, see `Box`
link               f for a mean (or probability, or rate); `link_inverse` maps f to the mean, increasing in f
=================  ==================================================================================================

`convex` and `smooth` (a gradient everywhere, Lipschitz on bounded sets, and a Hessian almost everywhere) tell a solver
what it may do; `quadratic` means that the loss is ½(y − f)² and its problems are linear; `task` is the type of the
targets; `likelihood` means that the loss is minus the log-probability of the targets. Targets are checked once, by
`check`, and share f's array library and floating type; no other method validates.

The dual problem. For L = Σ bᵢ ℓ(yᵢ, fᵢ) + ½‖f‖² the minimiser is f = Σ βᵢ k(·, xᵢ) with βᵢ = −bᵢ ℓ'(fᵢ), and β
minimises ½βᵀKβ + Σ bᵢ ℓ*(yᵢ, −βᵢ/bᵢ), with Σβ = 0 if f has a free offset. The two optimal values sum to 0, so their
sum at any f and β is the duality gap.

Rockafellar, *Convex Analysis* (1970), section 12 for conjugates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from sklearn.base import BaseEstimator

from .._array import is_array, namespace
from .._errors import check_free, check_parameters, unwritten, where
from ..types import Array

Task = Literal["regression", "binary", "multiclass", "count", "survival"]
DERIVATIVES = ("gradient", "hessian", "hessian_product", "majorizer")
DUAL = ("prox", "conjugate")
LINK = ("link", "link_inverse")
ABILITIES = (*DERIVATIVES, *DUAL, "box", *LINK)
FAR = 1e300  # stands for no bound: compiled code avoids infinity
registry: dict[str, type[Loss]] = {}
_L = TypeVar("_L", bound="Loss")


class Box(NamedTuple):
    """One copy of the samples in the dual problem: ½β(K + R)β − pβ with lower ≤ β ≤ upper, R = diag(`ridge`)."""

    linear: Any
    lower: Any
    upper: Any
    ridge: Any = None


def register(cls: type[_L]) -> type[_L]:
    """Register a loss under its name in snake case, where `as_loss` and the law tests find it."""
    cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    check_free(registry, cls)
    registry[cls.name] = cls
    return cls


def per_sample(numbers: Any, f: Array) -> Any:
    """One number, or one per sample, in a shape that broadcasts against f."""
    if not is_array(numbers) or numbers.ndim in (0, f.ndim):
        return numbers
    return namespace(numbers).reshape(numbers, (-1, *(1,) * (f.ndim - 1)))


def weighted(values: Array, weight: Array) -> Any:
    """Values (or blocks) multiplied by their sample weights."""
    return values if weight is None else values * per_sample(weight, values)


class Loss(BaseEstimator):
    """The loss Σ wᵢ ℓ(yᵢ, fᵢ), or a loss that couples the samples.

    A subclass defines `value` (or `total`, if `coupled`) and the operations that it lists in `abilities`; `register`
    makes it available by name, and `mercer.testing.check_loss` tests it.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.losses import Squared
    >>> Squared().total(np.array([3.0, 1.0]), np.array([1.0, 1.0]), weight=np.array([2.0, 1.0]))
    np.float64(4.0)
    >>> sorted(Squared().provides)[:4]
    ['box', 'conjugate', 'gradient', 'hessian']
    """

    name: ClassVar[str]
    rules: ClassVar[Mapping[str, Any]] = {}  # rules for the parameters, checked by `validate`
    trials: ClassVar[Sequence[tuple[Any, ...]]] = ((),)  # arguments of the `examples`
    abilities: ClassVar[tuple[str, ...]] = ()
    task: ClassVar[Task] = "regression"
    coupled: ClassVar[bool] = False
    likelihood: ClassVar[bool] = False
    smooth: ClassVar[bool] = True
    quadratic: ClassVar[bool] = False
    floor: ClassVar[float] = 0.0  # a lower bound on `total`
    convex: bool = True

    @property
    def provides(self) -> frozenset[str]:
        """The optional operations that this loss has."""
        return frozenset(self.abilities)

    def validate(self) -> None:
        """Raise unless the parameters are valid."""
        check_parameters(self, self.rules)

    def prepare(self, y: Array) -> Any:
        """Convert the user's targets to the form that the other methods expect."""
        return y

    def check(self, y: Array) -> None:
        """Raise unless the parameters and the targets y are valid."""
        self.validate()

    def outputs(self, y: Array) -> tuple[int, ...]:
        """The shape of f besides the samples: () for one function, (k,) for k of them."""
        return tuple(y.shape[1:])

    # ---- the loss

    def value(self, y: Array, f: Array) -> Any:
        """ℓ(yᵢ, fᵢ) for each sample."""
        if self.coupled:
            raise NotImplementedError(f"{where(self)} couples the samples and has no value per sample; use total.")
        raise self._lacks("value")

    def total(self, y: Array, f: Array, weight: Array = None) -> Any:
        """Σ wᵢ ℓ(yᵢ, fᵢ)."""
        values = weighted(self.value(y, f), weight)
        return namespace(values).sum(values)

    # ---- its derivatives

    def gradient(self, y: Array, f: Array, weight: Array = None) -> Any:
        """∂L/∂f, with the shape of f."""
        raise self._lacks("gradient")

    def hessian(self, y: Array, f: Array, weight: Array = None) -> Any:
        """∂²L/∂f²: its diagonal, or its blocks if each row of f is one variable."""
        raise self._lacks("hessian")

    def hessian_product(self, y: Array, f: Array, V: Array, weight: Array = None) -> Any:
        """∂²L/∂f² V."""
        H = self.hessian(y, f, weight)
        return (H if V.ndim == H.ndim else H[..., None]) * V

    def majorizer(self, y: Array, f: Array, weight: Array = None) -> Any:
        """A non-negative curvature that bounds the Hessian from above; for most convex losses, the Hessian itself."""
        return self.hessian(y, f, weight)

    # ---- its convex dual

    def prox(self, y: Array, v: Array, step: Array) -> Any:
        """argmin_f ℓ(y, f) + ‖f − v‖²/(2·step) for each sample."""
        raise self._lacks("prox")

    def conjugate(self, y: Array, u: Array) -> Any:
        """ℓ*(y, u) = sup_f uf − ℓ(y, f) for each sample."""
        raise self._lacks("conjugate")

    def box(self, y: Array, bound: Any) -> list[Box]:
        """The dual of Σ boundᵢ ℓ(yᵢ, fᵢ) + ½‖f‖², one `Box` per copy of the samples, for arrays in double precision.

        It is the problem of `mercer.solvers.fit.working_set.BoxProblem`, whose variables are those of all copies,
        concatenated; βᵢ is the sum over the copies.
        """
        raise self._lacks("box")

    # ---- the interpretation of f

    def link(self, mean: Array) -> Any:
        """The value f that corresponds to a mean (or probability, or rate)."""
        raise self._lacks("link")

    def link_inverse(self, f: Array) -> Any:
        """The mean (or probability, or rate) that corresponds to f."""
        raise self._lacks("link_inverse")

    # ---- for the law tests

    def targets(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n valid targets, for the law tests."""
        return rng.normal(size=n)

    @classmethod
    def examples(cls) -> list[Any]:
        """Members of the family on which the law tests run."""
        return [cls(*arguments) for arguments in cls.trials]

    def _lacks(self, ability: str) -> NotImplementedError:
        if ability == "value" or ability in self.abilities:
            return unwritten(self, ability)
        has = ", ".join(sorted(self.provides)) or "nothing else"
        return NotImplementedError(f"{where(self)} has no {ability}; it provides {has}.")
