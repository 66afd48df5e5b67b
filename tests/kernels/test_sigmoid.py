import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import sigmoid_kernel

from mercer.kernels import INDEFINITE, PD
from mercer.kernels.sigmoid import Sigmoid


@pytest.mark.parametrize("name", ["kernel_tanhdot_A", "kernel_tanhdot_iris"])
def test_kernlab(oracle, name):
    o = oracle(name)
    p, X, Y = o["parameters"], o["inputs"]["X"], o["inputs"]["Y"]
    k = Sigmoid(p["scale"], p["offset"])
    np.testing.assert_allclose(k(X), o["outputs"]["K_XX"], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(k(X, Y), o["outputs"]["K_XY"], rtol=1e-12, atol=1e-15)


def test_scikit_learn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 4)), rng.normal(size=(5, 4))
    expected = sigmoid_kernel(X, Y, gamma=0.3, coef0=0.7)
    np.testing.assert_allclose(Sigmoid(0.3, 0.7)(X, Y), expected, rtol=1e-12)
    np.testing.assert_allclose(Sigmoid(0.3, 0.7)(csr_array(X), csr_array(Y)), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("scale", "offset"), [(1.0, 1.0), (1.0, 0.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, 0.0), (0.0, -1.0)]
)
@pytest.mark.parametrize("d", [1, 3])
def test_indefinite_everywhere(scale, offset, d):
    k = Sigmoid(scale, offset)
    assert k.definiteness == k.definiteness_in(d) == INDEFINITE
    assert np.linalg.eigvalsh(k(np.random.default_rng(1).normal(size=(12, d))))[0] < -1e-6


def test_a_constant_is_positive_definite():
    assert Sigmoid(0.0, 1.0).definiteness == PD


def test_refusal():
    with pytest.raises(TypeError, match="Sigmoid: scale = 'auto' must be a finite number"):
        Sigmoid(scale="auto")([[1.0]])
