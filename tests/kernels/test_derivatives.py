"""The chain rule backwards, against the derivatives themselves and against differences."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer.kernels import Callable, Delta, Gaussian, Kernel, Matern, Table, registry
from mercer.kernels._abilities import Abilities
from mercer.kernels.algebra import Exp, PowerOf, Product, Restricted, Scaled, Series, Sum, Translated
from mercer.kernels.derivatives import contract

KERNELS = [
    k
    for cls in [*registry.values(), Sum, Product, Scaled, PowerOf, Exp, Series, Restricted, Translated]
    for k in cls.examples()
    if "gradient_theta" in k.provides
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_contraction_is_that_of_the_derivatives(kernel, monkeypatch):
    monkeypatch.setattr("mercer.kernels.derivatives.BLOCK", 20)  # several blocks of rows
    rng = np.random.default_rng(0)
    X = kernel.domain.check(kernel.domain.sample(rng, 7), kernel)
    E = rng.normal(size=(7, 7))
    expected = {name: np.tensordot(E, D, axes=2) for name, D in kernel.gradient_theta(X).items()}
    for K in (None, kernel(X)):
        found = contract(kernel, X, E, K=K)
        assert found.keys() == expected.keys()
        for name in expected:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-7, atol=1e-9)


def test_contraction_of_lengthscales_forms_no_derivatives(monkeypatch):
    def refuse(self, *arguments):
        raise AssertionError("n × n × d derivatives")

    rng = np.random.default_rng(1)
    X, E = rng.normal(size=(20, 4)), rng.normal(size=(20, 20))
    kernel = 0.5 * Gaussian(np.ones(4)) * Matern(2.5, lengthscale=np.full(4, 2.0)) + Gaussian(1.0).on([0, 1])
    expected = kernel.gradient_theta(X)
    for cls in (Sum, Product, Scaled, Restricted):
        monkeypatch.setattr(cls, "gradient_theta", refuse)
    monkeypatch.setattr(Abilities, "adjoint", refuse)
    found = contract(kernel, X, E)
    for name, D in expected.items():
        np.testing.assert_allclose(found[name], np.tensordot(E, D, axes=2), rtol=1e-9)


def test_only_what_is_wanted_needs_derivatives():
    def product(x, y):
        return float(x @ y)

    kernel = 2.0 * Callable(product) + Gaussian(1.5)
    X, E = np.arange(6.0).reshape(3, 2), np.ones((3, 3))
    found = contract(kernel, X, E, frozenset({"0__scale"}))
    np.testing.assert_allclose(found["0__scale"], (X @ X.T).sum())
    assert found.keys() == {"0__scale"}
    with pytest.raises(AttributeError, match="Damped does not provide gradient_theta"):
        contract(_Damped() + Gaussian(1.5), X, E)


@pytest.mark.parametrize("combine", ["sum", "product", "interactions"])
@pytest.mark.parametrize("missing", ["mean", "match"])
def test_contraction_through_tables(combine, missing, monkeypatch):
    """Against differences, with gaps, and with rows that miss all of a column together in a block."""
    monkeypatch.setattr("mercer.kernels.derivatives.BLOCK", 20)
    rng = np.random.default_rng(2)
    rows = {"age": rng.normal(size=8), "size": rng.normal(size=8), "city": list("uvuvuvuv")}
    rows["age"][:4], rows["city"][5] = np.nan, None
    parts = {"age": Gaussian(0.8), ("age", "size"): Matern(2.5, lengthscale=1.3), "city": 0.7 * Delta()}
    kernel = Table(parts, combine, missing).resolve(rows)
    X, E = kernel.domain.check(rows, kernel), rng.normal(size=(8, 8))
    found, start = contract(kernel, X, E), kernel.get_params()
    assert found.keys() == {"age__lengthscale", "age,size__lengthscale", "city__scale"}
    for name, value in found.items():
        up, down = (clone(kernel).set_params(**{name: start[name] * (1 + h)}) for h in (1e-6, -1e-6))
        numeric = np.sum(E * (up(rows) - down(rows))) / (2e-6 * start[name])
        assert value == pytest.approx(numeric, rel=1e-6, abs=1e-8)


def test_contraction_through_a_map():
    rng = np.random.default_rng(0)
    X, E = rng.normal(size=(9, 2)), rng.normal(size=(9, 9))
    found = contract(Gaussian(np.array([1.0, 2.0])).warp(np.tanh), X, E)
    expected = contract(Gaussian(np.array([1.0, 2.0])), np.tanh(X), E)
    np.testing.assert_allclose(found["kernel__lengthscale"], expected["lengthscale"])


class _Damped(Kernel):
    """A kernel with a number that it has no derivative for."""

    def __init__(self, rate: float = 0.5):
        self.rate = rate
