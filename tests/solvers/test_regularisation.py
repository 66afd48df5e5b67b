"""Choosing alpha: a minimum is a minimum, and degrees of freedom are met."""

import numpy as np
import pytest

from mercer.basis import Polynomials
from mercer.gram import Dense, Nystrom
from mercer.kernels import Gaussian
from mercer.solvers.regularisation import alpha_with_edf, best_alpha, criterion, interval, minimiser
from mercer.solvers.spectral import Spectral


@pytest.fixture(params=["full", "low rank"])
def case(request):
    rng = np.random.default_rng(0)
    n = 40
    X = rng.uniform(size=(n, 2))
    y, w = np.sin(5 * X[:, 0]) + 0.2 * rng.normal(size=n), rng.uniform(0.3, 3, size=n)
    representation = Dense() if request.param == "full" else Nystrom(landmarks=list(range(9)))
    return Spectral(representation.build(Gaussian(0.4), X, rng), Polynomials(1)(X), w), y[:, None]


@pytest.mark.parametrize("name", ["gcv", "loo", "reml"])
def test_best_is_a_minimum(case, name):
    path, b = case
    alpha = best_alpha(path, b, name)
    low, high = np.exp(interval(path))
    assert low < alpha < high
    value = criterion(path, b, name, alpha)
    assert value <= min(criterion(path, b, name, alpha * f) for f in (0.5, 0.99, 1.01, 2.0))
    assert value <= criterion(path, b, name, high)


def test_edf_is_met(case):
    path, _ = case
    np.testing.assert_allclose(path.degrees_of_freedom(np.array([alpha_with_edf(path, 7.5)])), 7.5, rtol=1e-9)


def test_without_a_penalised_part_any_alpha_will_do():
    H = Polynomials(1)(np.arange(4.0)[:, None])
    path = Spectral(Dense().build("precomputed", H @ H.T), H)  # M = 0
    assert 0 < best_alpha(path, np.arange(4.0)[:, None] ** 2, "gcv") < np.inf


def test_leave_one_out_neither_chooses_nor_judges_where_it_does_not_exist():
    X = np.c_[np.linspace(0, 1, 12), np.zeros(12)]
    X[-1] = [0.5, 1.0]  # without it, the slope along the second axis is not determined
    b = np.sin(4 * X[:, :1])
    path = Spectral(Dense().build(Gaussian(0.4), X), Polynomials(1)(X))
    assert criterion(path, b, "loo", 0.1) == np.inf
    assert np.isfinite(criterion(path, b, "gcv", best_alpha(path, b, "gcv")))
    with pytest.raises(ValueError, match="sample 11 alone determines one of the free functions"):
        best_alpha(path, b, "loo")


def test_the_safer_criterion_decides_between_minima():
    def two_wells(t):
        return min((t + 3) ** 2 - 0.5, (t - 3.21) ** 2)

    grid = np.linspace(-8, 8, 33).tolist()
    assert minimiser(lambda t: (two_wells(t), two_wells(t)), grid) == pytest.approx(-3, abs=1e-5)
    assert minimiser(lambda t: (two_wells(t), -t), grid) == pytest.approx(3.21, abs=1e-5)
    assert minimiser(lambda t: (-t, -t), grid) == pytest.approx(8, abs=1e-5)
