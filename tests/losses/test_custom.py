"""A loss from functions."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import KernelMachine
from mercer.losses import Cox, Custom, Logistic
from mercer.testing import check_loss

rng = np.random.default_rng(0)


def diagonal(y, f, weight=None):
    return np.ones_like(f) if weight is None else weight


def squares(y, f, weight=None):
    return 0.5 * np.sum(diagonal(y, f, weight) * (y - f) ** 2)


def residuals(y, f, weight=None):
    return diagonal(y, f, weight) * (f - y)


def test_methods_of_another_loss() -> None:
    cox = Cox()
    loss = Custom(cox.total, cox.gradient, convex=True)
    y, f = cox.targets(rng, 10), rng.normal(size=10)
    loss.check(y)
    assert loss.total(y, f) == cox.total(y, f)
    assert loss.provides == {"gradient"}


@pytest.mark.parametrize("loss", Custom.examples(), ids=["Hessian", "gradient"])
def test_a_coupled_loss_in_a_machine(loss) -> None:
    """½Σw(r − r̄)² is what is left of weighted squares when the best constant is taken out: ridge with an intercept."""
    X, weight = rng.normal(size=(30, 2)), rng.uniform(0.2, 2.0, 30)
    y = X[:, 0] + rng.normal(size=30)
    settings = {"kernel": "gaussian(lengthscale=1.5)", "alpha": 0.3}
    coupled = KernelMachine(loss, **settings).fit(X, y, sample_weight=weight)
    ridge = KernelMachine("squared", free=0, **settings).fit(X, y, sample_weight=weight)
    assert np.allclose(coupled.dual_coef_, ridge.dual_coef_, atol=1e-5)
    assert coupled.solution_.objective == pytest.approx(ridge.solution_.objective, rel=1e-10)


def test_a_diagonal_hessian() -> None:
    loss = Custom(squares, residuals, diagonal, convex=True)
    check_loss(loss)
    assert loss.provides == {"gradient", "hessian_product"}
    assert clone(loss).hessian is diagonal


def test_a_loss_may_be_negative() -> None:
    check_loss(Custom(waves, slopes_of_waves))


def waves(y, f, weight=None):
    return -np.sum(diagonal(y, f, weight) * np.cos(f))


def slopes_of_waves(y, f, weight=None):
    return diagonal(y, f, weight) * np.sin(f)


def test_functions_are_checked() -> None:
    with pytest.raises(TypeError, match=r"Custom: gradient = .* must be a function gradient\(y, f, weight=None\)"):
        Custom(squares, lambda y, f: f - y).check(np.zeros(1))
    with pytest.raises(TypeError, match=r"Custom: value = 3 must be a function"):
        Custom(3, residuals).check(np.zeros(1))
    with pytest.raises(TypeError, match="hessian"):
        Custom(squares, residuals, Logistic).check(np.zeros(1))
