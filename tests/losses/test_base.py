"""The contract: weights, refusals, several outputs."""

import numpy as np
import pytest

from mercer.losses import Cox, Hinge, Huber, Multinomial, Squared, register, registry
from mercer.losses._base import Loss, per_sample

rng = np.random.default_rng(0)


def test_what_is_missing_says_what_there_is() -> None:
    with pytest.raises(NotImplementedError, match="Hinge has no hessian; it provides box, conjugate, gradient, prox"):
        Hinge().hessian(np.ones(1), np.zeros(1))
    with pytest.raises(NotImplementedError, match=r"Cox couples the samples .* use total"):
        Cox().value(np.ones((1, 2)), np.zeros(1))
    New = type("New", (Loss,), {"abilities": ("gradient",)})
    for name in ("value", "gradient"):
        with pytest.raises(NotImplementedError, match=f"New has no method {name}, .* implement it"):
            getattr(New(), name)(np.ones(1), np.zeros(1))


def test_several_outputs_are_samples_of_their_own() -> None:
    loss, y, f = Huber(), rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    weight, step = rng.uniform(size=5), rng.uniform(size=5)
    assert loss.outputs(y) == (3,)
    flat = [np.repeat(a, 3) for a in (weight, step)]
    assert loss.total(y, f, weight) == pytest.approx(loss.total(y.ravel(), f.ravel(), flat[0]), rel=1e-14)
    assert np.array_equal(loss.gradient(y, f, weight).ravel(), loss.gradient(y.ravel(), f.ravel(), flat[0]))
    assert np.array_equal(loss.prox(y, f, step).ravel(), loss.prox(y.ravel(), f.ravel(), flat[1]))


def test_numbers_per_sample() -> None:
    f = np.zeros((4, 2, 2))
    assert per_sample(3.0, f) == 3.0
    assert per_sample(np.arange(4), f).shape == (4, 1, 1)
    assert per_sample(f, f) is f


def test_outputs() -> None:
    assert Squared().outputs(np.zeros(3)) == ()
    assert Multinomial().outputs(np.array([0, 2, 1])) == (3,)


def test_register_names_in_snake_case() -> None:
    class TwoWords(Loss):
        pass

    try:
        assert register(TwoWords) is TwoWords and registry["two_words"] is TwoWords and TwoWords.name == "two_words"
    finally:
        registry.pop("two_words")


def test_register_does_not_replace_the_librarys_losses() -> None:
    with pytest.raises(ValueError, match=r"^register: Huber would replace mercer\.losses\.huber\.Huber"):
        register(type("Huber", (Loss,), {}))
    assert registry["huber"] is Huber
