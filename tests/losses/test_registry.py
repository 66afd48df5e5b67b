"""Every loss obeys the laws on every array library and for any f, and the laws find mistakes."""

import warnings

import numpy as np
import pytest

from mercer._array import host
from mercer.losses import Box, Cox, EpsilonInsensitive, Hampel, Huber, Logistic, Multinomial, Squared, registry
from mercer.testing import check_loss, move

EXAMPLES = [pytest.param(e, id=f"{name}-{k}") for name, cls in registry.items() for k, e in enumerate(cls.examples())]


@pytest.mark.parametrize("loss", EXAMPLES)
def test_laws(loss, xp) -> None:
    check_loss(loss, namespaces=[xp])


@pytest.mark.parametrize("loss", EXAMPLES)
def test_laws_on_other_samples(loss) -> None:
    for seed in (1, 2, 3):
        check_loss(loss, seed=seed)


def everything(loss, y, f, weight):
    """Each number that the loss can say of y and f, under its name."""
    yield "total", loss.total(y, f, weight)
    if not loss.coupled:
        yield "value", loss.value(y, f)
    for name in sorted(loss.provides & {"gradient", "hessian", "majorizer"}):
        yield name, getattr(loss, name)(y, f, weight)
    if "hessian_product" in loss.provides:
        yield "hessian_product", loss.hessian_product(y, f, 0 * f + 1, weight)
    if "prox" in loss.provides:
        for step in (1e-3, 1.0, 1e3):
            yield f"prox, step {step:g}", loss.prox(y, f, step)
    if "link_inverse" in loss.provides:
        yield "link_inverse", loss.link_inverse(f)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("loss", EXAMPLES)
def test_far_values_give_numbers(loss, dtype, xp) -> None:
    """No overflow, no inf − inf, no 0·inf, no warning: f far on either side, some weights zero."""
    rng = np.random.default_rng(0)
    y = loss.targets(rng, 24)
    weight = np.where(np.arange(24) % 3, rng.uniform(0.5, 2.0, 24), 0.0)
    f = 1e3 * rng.choice([-1.0, 1.0], (24, *loss.outputs(y)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name, number in everything(loss, *(move(a, xp, dtype) for a in (y, f, weight))):
            assert np.isfinite(host(number)).all(), name
        if "conjugate" in loss.provides:
            assert not np.isnan(host(loss.conjugate(move(y, xp, dtype), move(f, xp, dtype)))).any()


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


class _UnknownTask(Squared):
    task = "ranking"


class _Infinite(Cox):
    def total(self, y, f, weight=None):
        return np.inf


class _OneNumber(Squared):
    def value(self, y, f):
        return np.sum(super().value(y, f))


class _Negative(Logistic):
    def profile(self, t, xp):
        return super().profile(t, xp) - 1


class _Mean(Squared):
    def total(self, y, f, weight=None):
        return super().total(y, f, weight) / len(f)


class _Unweighted(Squared):
    def total(self, y, f, weight=None):
        return super().total(y, f)


class _AnotherWithoutWeights(Cox):
    def total(self, y, f, weight=None):
        return super().total(y, f, weight) + (weight is None)


class _Altered(Squared):
    def __getstate__(self):
        return super().__getstate__() | {"scale": 2.0}

    def profile(self, t, xp):
        return getattr(self, "scale", 1.0) * super().profile(t, xp)


class _GradientWithoutWeights(Squared):
    def gradient(self, y, f, weight=None):
        return super().gradient(y, f, weight) * (2 if weight is None else 1)


class _OnlyVectors(Cox):
    def hessian_product(self, y, f, V, weight=None):
        product = super().hessian_product(y, f, V, weight)
        return product if V.ndim == 1 else product[..., :1] + 0 * product


class _OnlyMatrices(Multinomial):
    def hessian_product(self, y, f, V, weight=None):
        return super().hessian_product(y, f, V, weight) * (1 if V.ndim == 3 else 2)


class _ProductWithoutWeights(Cox):
    def hessian_product(self, y, f, V, weight=None):
        return super().hessian_product(y, f, V, weight) * (2 if weight is None else 1)


class _NegativeMajorizer(Hampel):
    def __init__(self, a=0.5, b=0.5, c=2.0):
        super().__init__(a, b, c)

    def majorizer(self, y, f, weight=None):
        return self.hessian(y, f, weight)


class _FlatProx(Squared):
    def prox(self, y, v, step):
        return super().prox(y, v, step)[:, None]


class _FarProx(Squared):
    def shrink(self, t, step, xp):
        return super().shrink(t, step, xp) + 0.01


class _SmallConjugate(Huber):
    def dual(self, s, xp):
        return xp.where(xp.abs(s) <= self.delta, super().dual(s, xp), 0.0)


class _BoxWithoutZero(Squared):
    def box(self, y, bound):
        return [Box(b.linear, np.full_like(y, 0.1), b.upper, b.ridge) for b in super().box(y, bound)]


class _IdleBox(EpsilonInsensitive):
    def box(self, y, bound):
        return super().box(y, np.where(bound > 0, bound, 1.0))


class _LinkOfAnotherShape(Squared):
    def link_inverse(self, f):
        return f[..., None]


class _WrongInSingle(Squared):
    def slope(self, t, xp):
        return super().slope(t, xp) * (1.0 if t.dtype == xp.float64 else 1.001)


class _Host(Squared):
    def gradient(self, y, f, weight=None):
        return host(super().gradient(y, f, weight))


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
        (_NarrowBox, "is not that of the domain"),
        (_WrongLink, "link of link_inverse"),
        (_FallingLink, "monotone"),
        (_Silent, "box is not in `provides`"),
        (_DoublePrecision, "float64"),
        (_UnknownTask, "task 'ranking'"),
        (_Infinite, "total is inf"),
        (_OneNumber, "value has shape"),
        (_Negative, "must not be negative"),
        (_Mean, "total"),
        (_Unweighted, "weighted total"),
        (_AnotherWithoutWeights, "weights of one"),
        (_Altered, "pickled copy"),
        (_GradientWithoutWeights, "gradient with weights of one"),
        (_OnlyVectors, "hessian_product"),
        (_OnlyMatrices, "hessian_product"),
        (_ProductWithoutWeights, "hessian_product with weights of one"),
        (_NegativeMajorizer, "majorizer is less than 0"),
        (_FlatProx, "prox has shape"),
        (_FarProx, "prox is not a minimum"),
        (_SmallConjugate, "Fenchel's inequality"),
        (_BoxWithoutZero, "does not contain 0"),
        (_IdleBox, "a box of weight zero"),
        (_LinkOfAnotherShape, "link_inverse has shape"),
        (_WrongInSingle, "gradient on .* float32"),
    ],
)
def test_a_mistake_is_found(cls, message) -> None:
    import array_api_compat.numpy as xp

    with pytest.raises(AssertionError, match=message):
        check_loss(cls(), namespaces=[xp])


@pytest.mark.filterwarnings("ignore:You are comparing")
def test_a_move_to_the_host_is_found() -> None:
    import array_api_strict as xp

    with pytest.raises(AssertionError, match="gradient of float64 gave float64"):
        check_loss(_Host(), namespaces=[xp])
