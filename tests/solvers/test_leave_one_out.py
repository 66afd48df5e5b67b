"""Formulas for samples that are left out, against the systems that they solve, written out and solved again."""

import numpy as np
import pytest

from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian, Linear, Power
from mercer.losses import (
    Expectile,
    Logistic,
    Multinomial,
    Poisson,
    Squared,
)
from mercer.solvers.fit._base import FitProblem
from mercer.solvers.fit.newton import newton
from mercer.solvers.leave_one_out import Influence, at_new_points, random_traces, refuse_determined
from mercer.solvers.spectral import Spectral

rng = np.random.default_rng(3)
N = 25
X = rng.normal(size=(N, 2))
Y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=N)
WEIGHT = rng.uniform(0.3, 2, N)
ONES = np.ones((N, 1))
AFFINE = np.column_stack([np.ones(N), X])


def saddle(K, H, z, v, alpha):
    """f of the minimiser of Σ vᵢ(zᵢ − fᵢ)²/2 + (α/2)aᵀKa over the samples with v > 0, at all samples."""
    used = v > 0
    H = np.zeros((len(K), 0)) if H is None else H
    m, p = used.sum(), H.shape[1]
    A = np.zeros((m + p, m + p))
    A[:m, :m] = K[np.ix_(used, used)] + alpha * np.diag(1 / v[used])
    A[:m, m:], A[m:, :m] = H[used], H[used].T
    s = np.linalg.solve(A, np.concatenate([z[used], np.zeros(p)]))
    return K[:, used] @ s[:m] + H @ s[m:]


def without(v, i):
    return np.where(np.arange(len(v)) == i, 0.0, v)


@pytest.mark.parametrize(
    ("kernel", "H"), [(Gaussian(), None), (Gaussian(), ONES), (Gaussian(), AFFINE), (Power(1.0), ONES)]
)
@pytest.mark.parametrize("weight", [np.ones(N), WEIGHT], ids=["equal", "weighted"])
def test_squares_are_exact(kernel, H, weight) -> None:
    gram = Dense().build(kernel, X)
    K = gram.dense()
    f = saddle(K, H, Y, weight, 0.1)
    expected = [saddle(K, H, Y, without(weight, i), 0.1)[i] for i in range(N)]
    influence = Influence(FitProblem(gram, Squared(), Y, 0.1, weight, H), f)
    assert np.allclose(influence.left_out(), expected, rtol=0, atol=1e-9)
    response = [saddle(K, H, f + 1.0 * (np.arange(N) == j), weight, 0.1)[j] for j in range(N)]
    at_f = saddle(K, H, f, weight, 0.1)
    assert np.allclose(influence.diagonal * weight, np.array(response) - at_f, atol=1e-9)


@pytest.mark.parametrize("H", [None, ONES], ids=["plain", "offset"])
@pytest.mark.parametrize(
    ("loss", "target"),
    [(Logistic(), np.sign(Y)), (Expectile(0.8), Y), (Poisson(), np.round(np.exp(Y)))],
    ids=["logistic", "expectile", "poisson"],
)
def test_is_one_newton_step(loss, target, H) -> None:
    gram = Dense().build(Gaussian(), X)
    problem = FitProblem(gram, loss, target, 0.5, WEIGHT, H)
    f = newton(problem, "auto", tol=1e-14).values
    g, v = loss.gradient(target, f), loss.hessian(target, f)
    step = [saddle(gram.dense(), H, f - g / v, without(WEIGHT * v, i), 0.5)[i] for i in range(N)]
    assert np.allclose(Influence(problem, f).left_out(), step, rtol=0, atol=1e-6)


def test_several_values_take_a_newton_step_in_all_of_them() -> None:
    labels = np.arange(N) % 3
    Z, alpha = rng.normal(size=(N, 2)), 0.7  # a linear kernel, so that θ can be written out
    loss, k = Multinomial(), 3
    theta = np.zeros((2, k))

    def derivatives(keep, theta):
        f = Z @ theta
        g = keep[:, None] * loss.gradient(labels, f)
        h = keep[:, None, None] * loss.hessian(labels, f)
        gradient = Z.T @ g + alpha * theta
        hessian = np.einsum("ia,ib,ijl->ajbl", Z, Z, h).reshape(2 * k, 2 * k) + alpha * np.eye(2 * k)
        return theta - np.linalg.solve(hessian, gradient.ravel()).reshape(2, k)

    for _ in range(30):
        theta = derivatives(WEIGHT, theta)
    problem = FitProblem(Dense().build(Linear(), Z), loss, labels, alpha, WEIGHT)
    expected = [(Z @ derivatives(without(WEIGHT, i), theta))[i] for i in range(N)]
    assert np.allclose(Influence(problem, Z @ theta).left_out(), expected, rtol=0, atol=1e-9)


def test_bias_is_the_trace_of_the_criterion() -> None:
    Z, alpha, y = rng.normal(size=(N, 3)), 0.4, np.sign(Y)
    loss, theta = Logistic(), np.zeros(3)
    for _ in range(40):
        g, v = loss.gradient(y, Z @ theta), loss.hessian(y, Z @ theta)
        J = Z.T @ (v[:, None] * Z) + alpha * np.eye(3)
        theta = theta - np.linalg.solve(J, Z.T @ g + alpha * theta)
    g = loss.gradient(y, Z @ theta)
    scores = g[:, None] * Z + alpha * theta / N
    trace = np.trace(np.linalg.solve(J, scores.T @ (g[:, None] * Z)))
    problem = FitProblem(Dense().build(Linear(), Z), loss, y, alpha, np.ones(N))
    influence = Influence(problem, Z @ theta)
    assert influence.bias() == pytest.approx(trace, abs=1e-9)
    assert influence.degrees_of_freedom == pytest.approx(np.trace(np.linalg.solve(J, J - alpha * np.eye(3))), abs=1e-9)


def test_random_traces_are_unbiased() -> None:
    y = np.sign(Y)
    gram = Dense().build(Gaussian(), X)
    problem = FitProblem(gram, Logistic(), y, 0.5, np.ones(N), ONES)
    f = newton(problem, "auto").values
    exact = Influence(problem, f)
    found = np.array([random_traces(problem, f, 10, np.random.default_rng(s)) for s in range(60)])
    error = found.std(axis=0, ddof=1) / np.sqrt(60)
    assert np.all(np.abs(found.mean(axis=0) - [exact.diagonal.sum(), exact.degrees_of_freedom]) < 4 * error)


@pytest.mark.parametrize("representation", [Dense(), Nystrom(rank=8)], ids=["dense", "nystrom"])
@pytest.mark.parametrize("H", [None, AFFINE], ids=["plain", "affine"])
def test_fits_without_a_sample_at_new_points(representation, H) -> None:
    new = rng.normal(size=(4, 2))
    gram = representation.build(Gaussian(), X, 0)
    K, cross = gram.dense(), gram.cross(new).dense()
    h = np.column_stack([np.ones(4), new])
    everything = np.block([[K, cross.T], [cross, np.zeros((4, 4))]])
    tall = None if H is None else np.concatenate([H, h])

    def fit(v):
        return saddle(everything, tall, np.concatenate([Y, np.zeros(4)]), np.concatenate([v, np.zeros(4)]), 0.2)

    residuals = np.array([Y[i] - fit(without(WEIGHT, i))[i] for i in range(N)])
    expected = np.stack([fit(without(WEIGHT, i))[N:] for i in range(N)], axis=1)
    found = at_new_points(Spectral(gram, H, WEIGHT).solve(np.eye(N), 0.2), cross, h, fit(WEIGHT)[N:], residuals)
    assert np.allclose(found, expected, rtol=0, atol=1e-8)


def test_a_leverage_of_one_is_not_divided_by() -> None:
    spike = np.column_stack([np.ones(N), np.arange(N) == 4]).astype(float)
    gram = Dense().build(Gaussian(), X)
    f = saddle(gram.dense(), spike, Y, np.ones(N), 0.1)
    found = Influence(FitProblem(gram, Squared(), Y, 0.1, np.ones(N), spike), f).left_out()
    assert np.flatnonzero(np.isnan(found)).tolist() == [4]
    with pytest.raises(ValueError, match=r"sample 4 .* leverage hᵢᵢ is 1"):
        refuse_determined(np.where(np.arange(N) == 4, 1e-15, 0.5))
