"""Multiquadric and InverseMultiquadric: definitions, definiteness, relatives."""

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator
from scipy.spatial.distance import cdist

from mercer._array import host
from mercer.kernels import ANOVA, CPD, Matern
from mercer.kernels.multiquadric import InverseMultiquadric, Multiquadric
from mercer.kernels.rational_quadratic import RationalQuadratic

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(20, 3)), rng.normal(size=(5, 3))


def test_definitions(xp):
    q = np.sqrt((cdist(X, Y) / 1.3) ** 2 + 0.7**2)
    A, B = xp.asarray(X), xp.asarray(Y)
    np.testing.assert_allclose(host(Multiquadric(0.7, 1.3)(A, B)), -q, rtol=1e-13)
    np.testing.assert_allclose(host(InverseMultiquadric(0.7, 1.3)(A, B)), 1 / q, rtol=1e-13)


def test_definiteness():
    assert Multiquadric().definiteness == CPD(1) and Multiquadric().definiteness.strict
    assert InverseMultiquadric().definiteness == CPD(0) and InverseMultiquadric().definiteness.strict
    N = np.linalg.svd(np.ones((20, 1)), full_matrices=True)[0][:, 1:]
    K = Multiquadric(0.5)(X)
    assert np.linalg.eigvalsh(N.T @ K @ N).min() > 1e-6
    assert np.linalg.eigvalsh(K).min() < 0
    assert np.linalg.eigvalsh(InverseMultiquadric(0.5)(X)).min() > 1e-6


def test_inverse_is_rational_quadratic():
    expected = RationalQuadratic(0.7 * 1.3, alpha=0.5)(X, Y) / 0.7
    np.testing.assert_allclose(InverseMultiquadric(0.7, 1.3)(X, Y), expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("cls", "name"), [(Multiquadric, "multiquadric"), (InverseMultiquadric, "inverse_multiquadric")]
)
def test_interpolation_as_scipy(cls, name):
    """The same interpolant as SciPy's, a constant added for the order 1 of the multiquadric."""
    values = np.sin(X[:, 0]) + X[:, 1]
    degree = 0 if cls is Multiquadric else -1
    reference = RBFInterpolator(X, values, kernel=name, epsilon=1.0, degree=degree)(Y)
    K, H = cls()(X), np.ones((20, 1))
    if degree < 0:
        found = cls()(Y, X) @ np.linalg.solve(K, values)
    else:
        system = np.block([[K, H], [H.T, np.zeros((1, 1))]])
        solution = np.linalg.solve(system, np.append(values, 0))
        found = cls()(Y, X) @ solution[:20] + solution[20]
    np.testing.assert_allclose(found, reference, rtol=1e-8)


@pytest.mark.parametrize("cls", [Multiquadric, InverseMultiquadric])
@pytest.mark.parametrize("offset", [0.0, -1.0])
def test_bad_offset(cls, offset):
    with pytest.raises(ValueError, match=f"{cls.__name__}: offset = .* must be > 0"):
        cls(offset)(X)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (Multiquadric(offset=1e300), "offset"),
        (InverseMultiquadric(offset=1e-300), "offset"),
        (ANOVA(lengthscale=1e-320), "lengthscale"),
        (RationalQuadratic(alpha=1e-320), "alpha"),
        (Matern(nu=1e-320), "nu"),
    ],
    ids=str,
)
def test_parameters_without_squares_are_refused(kernel, name):
    with pytest.raises(ValueError, match=rf"{type(kernel).__name__}: {name} is of size .*; divide it by"):
        kernel(np.zeros((2, 2)))
