"""Multinomial loss against scikit-learn, the binary case, and a general solver for its proximal map."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.metrics import log_loss

from mercer.losses import Logistic, Multinomial

rng = np.random.default_rng(0)
F = 2 * rng.normal(size=(30, 4))
Y = rng.permutation(np.arange(30) % 4)
LOSS = Multinomial()


def test_log_loss_of_scikit_learn() -> None:
    weight = rng.uniform(size=30)
    expected = log_loss(Y, softmax(F, axis=1), sample_weight=weight)
    assert LOSS.total(Y, F, weight) / weight.sum() == pytest.approx(expected, rel=1e-12)
    assert np.allclose(LOSS.link_inverse(F), softmax(F, axis=1), rtol=1e-14)


def test_two_classes_are_the_logistic_loss() -> None:
    y, f = np.where(Y > 1, 1, 0), F[:, :2]
    difference = f[:, 1] - f[:, 0]
    assert np.allclose(LOSS.value(y, f), Logistic().value(2.0 * y - 1, difference), rtol=1e-13)


def test_hessian_products_are_those_of_the_blocks() -> None:
    weight, V = rng.uniform(size=30), rng.normal(size=(30, 4, 2))
    p = softmax(F, axis=1)
    for i in range(30):
        block = weight[i] * (np.diag(p[i]) - np.outer(p[i], p[i]))
        assert np.allclose(LOSS.hessian(Y, F, weight)[i], block, rtol=1e-12, atol=1e-16)
        assert np.allclose(LOSS.hessian_product(Y, F, V, weight)[i], block @ V[i], rtol=1e-11, atol=1e-15)
        assert np.allclose(LOSS.hessian_product(Y, F, V[..., 0], weight)[i], block @ V[i, :, 0], rtol=1e-11, atol=1e-15)


def test_link_of_an_impossible_class() -> None:
    f = LOSS.link(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]]))
    assert np.array_equal(f, [[0.0, 0.0, -np.inf], [0.0, -np.inf, -np.inf]])
    assert np.array_equal(LOSS.link_inverse(f), [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])


def test_extreme_values() -> None:
    f = np.array([[1000.0, 0.0, -1000.0]])
    assert np.array_equal(LOSS.value(np.array([1]), f), [1000.0])
    assert np.array_equal(LOSS.gradient(np.array([0]), f), [[0.0, 0.0, 0.0]])


@pytest.mark.parametrize("step", [0.01, 1.0, 100.0])
def test_prox_by_a_general_solver(step) -> None:
    p = LOSS.prox(Y, F, step)
    for i in range(5):
        y = Y[i : i + 1]

        def objective(z, y=y, i=i):
            f = z[None, :]
            return step * LOSS.value(y, f)[0] + 0.5 * np.sum((z - F[i]) ** 2), step * LOSS.gradient(y, f)[0] + z - F[i]

        found = minimize(objective, F[i], jac=True, method="BFGS", options={"gtol": 1e-10}).x
        assert np.allclose(p[i], found, atol=1e-6)


@pytest.mark.parametrize("step", [1e-6, 1.0, 1e6])
def test_prox_by_its_equation(step) -> None:
    """F − p is step times the gradient at p, also for far values and many classes."""
    f, y = 30 * rng.normal(size=(20, 50)), np.arange(20)
    p = LOSS.prox(y, f, step)
    residual = p - f + step * LOSS.gradient(y, p)
    assert np.abs(residual).max() <= 1e-12 * (step + np.abs(f).max())


def test_conjugate_by_a_general_solver() -> None:
    u = LOSS.gradient(Y, rng.normal(size=F.shape))
    found = LOSS.conjugate(Y, u)
    for i in range(5):
        y = Y[i : i + 1]
        best = minimize(
            lambda z, y=y, i=i: (LOSS.value(y, z[None, :])[0] - u[i] @ z, LOSS.gradient(y, z[None, :])[0] - u[i]),
            np.zeros(4),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-9},
        )
        assert found[i] == pytest.approx(-best.fun, abs=1e-8)
    assert np.all(LOSS.conjugate(Y, u + 0.1) == np.inf)


def test_labels_are_checked() -> None:
    LOSS.check(Y)
    for wrong in (Y.astype(float), Y - 1, Y[:, None]):
        with pytest.raises(ValueError, match="Multinomial: labels y must be integers 0, 1"):
            LOSS.check(wrong)
