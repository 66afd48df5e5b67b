"""Every loss obeys the laws on every array library, and the laws find mistakes."""

import numpy as np
import pytest

from mercer.losses import Box, Cox, EpsilonInsensitive, Hampel, Huber, Logistic, Multinomial, Squared, registry
from mercer.testing import check_loss

EXAMPLES = [pytest.param(e, id=f"{name}-{k}") for name, cls in registry.items() for k, e in enumerate(cls.examples())]


@pytest.mark.parametrize("loss", EXAMPLES)
def test_laws(loss, xp) -> None:
    check_loss(loss, namespaces=[xp])


@pytest.mark.parametrize("loss", EXAMPLES)
def test_laws_on_other_samples(loss) -> None:
    for seed in (1, 2, 3):
        check_loss(loss, seed=seed)


@pytest.mark.parametrize("cls", registry.values(), ids=registry)
def test_documentation(cls) -> None:
    assert ".. math::" in cls.__doc__ and ">>>" in cls.__doc__


def test_names() -> None:
    assert len(registry) == 18
    assert {"squared_epsilon_insensitive", "log_cosh", "smoothed_hinge"} <= set(registry)


class _WrongGradient(Logistic):
    def slope(self, t, xp):
        return 1.01 * super().slope(t, xp)


class _UnweightedGradient(Cox):
    def gradient(self, y, f, weight=None):
        return super().gradient(y, f)


class _WrongBlocks(Multinomial):
    def hessian(self, y, f, weight=None):
        H = super().hessian(y, f, weight)
        return H + 1e-3 * np.ones((4, 4))


class _WrongProduct(Cox):
    def hessian_product(self, y, f, V, weight=None):
        pi = self.majorizer(y, f, weight)
        return (pi if V.ndim == 1 else pi[:, None]) * V


class _SmallMajorizer(Hampel):
    def majorizer(self, y, f, weight=None):
        return 0.5 * super().majorizer(y, f, weight)


class _NotConvex(Hampel):
    convex = True


class _WrongProx(Huber):
    def shrink(self, t, step, xp):
        return super().shrink(t, step, xp) * (1 + 1e-6)


class _ProxOfOneStep(Squared):
    def shrink(self, t, step, xp):
        return super().shrink(t, np.max(step), xp)


class _WrongConjugate(Logistic):
    def dual(self, s, xp):
        return super().dual(s, xp) + 1e-6


class _LargeConjugate(Squared):
    def conjugate(self, y, u):
        return y * u + u**2


class _WrongBox(EpsilonInsensitive):
    def box(self, y, bound):
        return [Box(b.linear, b.lower, 2 * b.upper, b.ridge) for b in super().box(y, bound)]


class _NarrowBox(EpsilonInsensitive):
    def box(self, y, bound):
        return [Box(b.linear, b.lower / 2, b.upper / 2, b.ridge) for b in super().box(y, bound)]


class _WrongLink(Logistic):
    def link(self, mean):
        return 2 * super().link(mean)


class _FallingLink(Logistic):
    def link_inverse(self, f):
        return super().link_inverse(f) if np.ndim(f) and f.shape[0] == 24 else super().link_inverse(-f)


class _Silent(Squared):
    abilities = tuple(a for a in Squared.abilities if a != "box")


class _DoublePrecision(Squared):
    def value(self, y, f):
        return super().value(y, f) * np.float64(1.0)


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (_WrongGradient, "gradient"),
        (_UnweightedGradient, "gradient"),
        (_WrongBlocks, "hessian"),
        (_WrongProduct, "hessian_product"),
        (_SmallMajorizer, "majorizer is less than the Hessian"),
        (_NotConvex, "not convex"),
        (_WrongProx, "prox is off"),
        (_ProxOfOneStep, "prox"),
        (_WrongConjugate, "equality at the gradient"),
        (_LargeConjugate, "equality at the gradient"),
        (_WrongBox, "against the conjugate"),
        (_NarrowBox, "is not the domain's"),
        (_WrongLink, "link of link_inverse"),
        (_FallingLink, "monotone"),
        (_Silent, "box is not announced"),
        (_DoublePrecision, "float64"),
    ],
)
def test_a_mistake_is_found(cls, message) -> None:
    import array_api_compat.numpy as xp

    with pytest.raises(AssertionError, match=message):
        check_loss(cls(), namespaces=[xp])
