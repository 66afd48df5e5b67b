"""Every loss obeys the laws on every array library."""

import numpy as np
import pytest

from mercer.losses import Logistic, registry
from mercer.testing import check_loss


@pytest.mark.parametrize("cls", registry.values(), ids=registry)
def test_laws(cls, xp) -> None:
    check_loss(cls(), namespaces=[xp])


@pytest.mark.parametrize("cls", registry.values(), ids=registry)
def test_documentation(cls) -> None:
    assert ".. math::" in cls.__doc__ and ">>>" in cls.__doc__


def test_a_wrong_gradient_is_found() -> None:
    class Wrong(Logistic):
        def gradient(self, y, f):
            return 1.01 * super().gradient(y, f)

    registry.pop("wrong")
    with pytest.raises(AssertionError, match="gradient"):
        check_loss(Wrong())


def test_logistic_at_the_ends() -> None:
    y, f = np.array([1.0, 1.0]), np.array([-800.0, 800.0])
    assert np.array_equal(Logistic().value(y, f), [800.0, 0.0])
    assert np.allclose(Logistic().link_inverse(np.array([-50.0])), np.exp(-50.0), rtol=1e-12)
