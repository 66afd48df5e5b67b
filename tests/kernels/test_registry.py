"""Every registered kernel and every operation of the algebra obeys the laws, on every array library."""

import pytest

from mercer.kernels import Kernel, registry
from mercer.kernels.algebra import ALGEBRA
from mercer.testing import check_kernel

CLASSES = [*registry.values(), *ALGEBRA]
EXAMPLES = [pytest.param(k, id=f"{cls.__name__}-{i}") for cls in CLASSES for i, k in enumerate(cls.examples())]


@pytest.mark.parametrize("kernel", EXAMPLES)
def test_laws(kernel: Kernel, xp) -> None:
    check_kernel(kernel, namespaces=[xp])


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_documentation(cls: type[Kernel]) -> None:
    assert cls.__doc__ and ">>>" in cls.__doc__, f"{cls.__name__} has no example"
    if cls in registry.values():
        assert ".. math::" in cls.__doc__, f"{cls.__name__} has no equation"
        assert "References" in cls.__doc__, f"{cls.__name__} has no reference"
