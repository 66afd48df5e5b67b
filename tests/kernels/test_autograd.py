"""torch differentiates kernels in their arguments, or is told that it cannot."""

import numpy as np
import pytest

from mercer.domains import Vectors
from mercer.kernels import ANOVA, Bessel, Kernel, Matern, Wavelet, registry
from mercer.kernels.algebra import ALGEBRA

torch = pytest.importorskip("torch")

EXAMPLES = [
    pytest.param(k, id=f"{cls.__name__}-{i}")
    for cls in [*registry.values(), *ALGEBRA]
    for i, k in enumerate(cls.examples())
    if "gradient_x" in k.provides and type(k.domain) is Vectors
]


@pytest.mark.parametrize("kernel", EXAMPLES)
def test_the_gradient_is_that_of_the_kernel(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    A, B = kernel.domain.sample(rng, 5), kernel.domain.sample(rng, 4)
    X = torch.tensor(A, requires_grad=True)
    try:
        kernel(X, torch.tensor(B)).sum().backward()
    except TypeError as error:
        assert isinstance(kernel, (Bessel, Matern)) and "on the host" in str(error)
        return
    np.testing.assert_allclose(X.grad.numpy(), kernel.gradient_x(A, B).sum(axis=1), atol=1e-9)
    X.grad = None
    kernel(X).sum().backward()
    assert bool(torch.all(torch.isfinite(X.grad)))


@pytest.mark.parametrize("cls", registry.values(), ids=lambda c: c.__name__)
def test_no_kernel_gives_nan_where_points_coincide(cls: type[Kernel]) -> None:
    for kernel in cls.examples():
        if type(kernel.domain) is not Vectors:
            continue
        X = torch.tensor(kernel.domain.sample(np.random.default_rng(0), 5), requires_grad=True)
        try:
            K = kernel(X)
        except TypeError as error:
            assert "on the host" in str(error)
            continue
        if K.requires_grad:
            K.sum().backward()
            assert bool(torch.all(torch.isfinite(X.grad))), str(kernel)


@pytest.mark.parametrize("kernel", [Matern(0.8), Bessel(1.0), Matern(0.8) + ANOVA(1)], ids=str)
def test_what_is_computed_on_the_host_says_so(kernel: Kernel) -> None:
    X = torch.ones((2, 2), requires_grad=True)
    with pytest.raises(TypeError, match=r"computed on the host, without torch's autograd; call it with X\.detach"):
        kernel(X)
    assert kernel(X.detach()).shape == (2, 2)


def test_steps_have_no_slope() -> None:
    assert not Wavelet()(torch.tensor([[0.2], [0.7]], requires_grad=True)).requires_grad
