"""Losses from text."""

import pytest

from mercer.losses import Custom, Huber, Pinball, Squared, as_loss, registry


@pytest.mark.parametrize("name", sorted(set(registry) - {"custom"}))
def test_every_name(name) -> None:
    assert type(as_loss(name)) is registry[name]


def test_parameters() -> None:
    assert as_loss("pinball(quantile=0.3)").quantile == 0.3
    assert as_loss(" huber( 2 ) ").delta == 2
    assert repr(as_loss("hampel(1, b=2, c=3)")) == "Hampel(a=1, b=2, c=3)"
    assert as_loss("huber(delta=1e-3)").delta == 1e-3


def test_instances_and_classes() -> None:
    loss = Huber(3.0)
    assert as_loss(loss) is loss
    assert isinstance(as_loss(Squared), Squared)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pinbal", "did you mean 'pinball'"),
        ("zzz", "choose one of absolute, cox"),
        ("huber(", "write a name"),
        ("huber + squared", "write a name"),
        ("", "write a name"),
        ("a.b(1)", "write a name"),
        ("huber(**{'delta': 1})", "write a name"),
        ("huber(delta=__import__('os'))", "not a number or other literal"),
        ("huber(width=1)", "its parameters are delta"),
        ("squared(1)", "its parameters are none"),
        ("custom", "its parameters are value, gradient, hessian, convex"),
        ("huber(delta=-1)", "Huber: delta = -1 must be > 0"),
    ],
)
def test_errors_name_the_remedy(text, message) -> None:
    with pytest.raises(ValueError, match=message):
        as_loss(text)


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match="loss = 3 must be a Loss or a string"):
        as_loss(3)
    with pytest.raises(ValueError, match=r"Pinball: quantile = 1\.5 must be >= 0 and <= 1"):
        as_loss(Pinball(1.5))
    with pytest.raises(ValueError, match="its parameters are value, gradient"):
        as_loss(Custom)
