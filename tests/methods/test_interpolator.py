"""KernelInterpolator: interpolation, minimal norm, the power function and its bound, singular matrices."""

import numpy as np
import pytest
from sklearn.base import clone

from mercer import RKHS, KernelInterpolator, KernelRidge
from mercer.basis import Polynomials
from mercer.kernels import Gaussian, Matern, Polynomial, Power, ThinPlate

rng = np.random.default_rng(3)
X = rng.uniform(-2, 2, size=(15, 2))
y = np.cos(X[:, 0]) * X[:, 1]
NEW = rng.uniform(-2, 2, size=(40, 2))


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Matern(1.5), Power(1.0), ThinPlate()], ids=str)
def test_interpolates(kernel, xp) -> None:
    model = KernelInterpolator(kernel).fit(xp.asarray(X), xp.asarray(y))
    assert np.allclose(np.asarray(model.predict(xp.asarray(X))), y, atol=1e-8)
    assert np.all(np.asarray(model.power(xp.asarray(X))) < 1e-6)


def test_norm_is_the_quadratic_form_and_minimal() -> None:
    model = KernelInterpolator(Matern(1.5)).fit(X, y)
    K = Matern(1.5)(X)
    assert model.norm_ == pytest.approx(np.sqrt(y @ np.linalg.solve(K, y)))
    assert model.norm_ == pytest.approx(model.function_.norm())
    # any other function through the values is the interpolant plus something that vanishes on X, hence longer
    H = RKHS(Matern(1.5))
    other = H.function(NEW[:5], rng.normal(size=5))
    vanishing = other - H.project(other, X)
    assert (model.function_ + vanishing).norm() > model.norm_


def test_power_function_is_the_norm_of_the_worst_case() -> None:
    model = KernelInterpolator(Matern(2.5)).fit(X, y)
    H = RKHS(Matern(2.5))
    for x in NEW[:5]:
        k = H.evaluation(x)
        assert model.power(x[None])[0] == pytest.approx((k - H.project(k, X)).norm(), rel=1e-5)


def test_the_error_bound_holds_and_is_reached() -> None:
    H = RKHS(Matern(1.5))
    truth = H.function(NEW[:8], rng.normal(size=8))
    model = KernelInterpolator(Matern(1.5)).fit(X, truth(X))
    bound = model.error_bound(NEW, norm_bound=truth.norm())
    assert np.all(np.abs(truth(NEW) - model.predict(NEW)) <= bound + 1e-9)
    # the worst function at x: the interpolant plus a multiple of k(·, x) − its projection
    x = NEW[20:21]
    k = H.evaluation(x)
    worst = k - H.project(k, X)
    room = np.sqrt(truth.norm() ** 2 - model.norm_**2)
    extreme = model.function_ + worst * (room / worst.norm())
    assert extreme.norm() == pytest.approx(truth.norm())
    reached = model.error_bound(x, norm_bound=truth.norm())[0]
    assert (extreme(x) - model.predict(x))[0] == pytest.approx(reached, rel=1e-6)


@pytest.mark.parametrize(("kernel", "degree"), [(Power(1.0), 0), (ThinPlate(), 1)], ids=str)
def test_conditional_kernels_reproduce_their_polynomials(kernel, degree) -> None:
    p = Polynomials(degree)(X) @ np.arange(1.0, 1 + Polynomials(degree)(X).shape[1])
    model = KernelInterpolator(kernel).fit(X, p)
    assert np.allclose(
        model.predict(NEW), Polynomials(degree)(NEW) @ np.arange(1.0, 1 + len(model.free_coef_)), atol=1e-8
    )
    assert model.norm_ == pytest.approx(0, abs=1e-6)


def test_power_function_of_a_conditional_kernel_against_the_saddle_point_system() -> None:
    kernel, n = ThinPlate(), len(X)
    H = Polynomials(1)(X)
    A = np.block([[kernel(X), H], [H.T, np.zeros((3, 3))]])
    right = np.concatenate([kernel(X, NEW), Polynomials(1)(NEW).T])
    expected = kernel.diag(NEW) - np.sum(right * np.linalg.solve(A, right), axis=0)
    assert n == 15
    assert np.allclose(KernelInterpolator(kernel).fit(X, y).power(NEW) ** 2, expected, atol=1e-9)


def test_several_targets() -> None:
    model = KernelInterpolator(Matern(1.5)).fit(X, np.stack([y, 2 * y], axis=1))
    assert np.allclose(model.norm_[1], 2 * model.norm_[0])
    assert model.error_bound(NEW, norm_bound=100.0).shape == (40, 2)


def test_singular_but_consistent_values_are_interpolated_with_the_smallest_norm() -> None:
    kernel = Polynomial(degree=1)  # rank 3 in the plane
    model = KernelInterpolator(kernel).fit(X, 1 + X @ [2.0, -1.0])
    assert model.rank_ == 3
    assert np.allclose(model.predict(NEW), 1 + NEW @ [2.0, -1.0])
    assert model.norm_ == pytest.approx(np.sqrt(1 + 4 + 1))
    twice = KernelInterpolator(Gaussian()).fit(np.r_[X, X[:2]], np.r_[y, y[:2]])
    assert np.allclose(twice.predict(NEW), KernelInterpolator(Gaussian()).fit(X, y).predict(NEW), atol=1e-5)


def test_conflicting_values_name_their_rows() -> None:
    with pytest.raises(ValueError, match=r"rows 4, 15 conflict.*merge them"):
        KernelInterpolator(Matern(1.5)).fit(np.r_[X, X[4:5]], np.r_[y, y[4] + 1])


def test_refusals() -> None:
    model = KernelInterpolator(Matern(1.5)).fit(X, y)
    with pytest.raises(ValueError, match=r"norm_bound = 0.1 is below"):
        model.error_bound(X, norm_bound=0.1)
    with pytest.raises(ValueError, match="INDEFINITE"):
        KernelInterpolator("sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="tol"):
        KernelInterpolator(tol=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="dependent"):
        KernelInterpolator(ThinPlate()).fit(X[:2], y[:2])


@pytest.mark.parametrize("exponent", [-100, -20, 100])
@pytest.mark.parametrize(("kernel", "free"), [("power", 0), ("thin_plate", 1), ("polyharmonic(degree=3)", 1)])
def test_kernels_of_distances_in_any_unit(kernel, free, exponent):
    """A factor of X only scales the norm, and leaves what interpolates with the least alone."""
    rng = np.random.default_rng(0)
    X, new, unit = rng.uniform(size=(25, 2)), rng.uniform(size=(9, 2)), 2.0**exponent
    y = np.sin(5 * X[:, 0]) + X[:, 1]
    for model in (KernelInterpolator(kernel), KernelRidge(0.0, kernel=kernel, free=free)):
        expected = clone(model).fit(X, y).predict(new)
        np.testing.assert_allclose(clone(model).fit(X * unit, y).predict(new * unit), expected, atol=1e-8)
