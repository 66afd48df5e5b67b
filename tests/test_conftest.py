"""The fixtures themselves: a mistake here would hide behind every other test."""

import array_api_compat
import numpy as np
import pytest


def test_xp_is_the_namespace_of_its_arrays(xp):
    assert array_api_compat.array_namespace(xp.asarray([1.0, 2.0])) is xp


def test_oracle_gives_arrays(oracle):
    reference = oracle("kernel_rbfdot_A")
    X, Y = reference["inputs"]["X"], reference["inputs"]["Y"]
    assert X.dtype == np.float64
    assert reference["outputs"]["K_XY"].shape == (len(X), len(Y))
    assert reference["parameters"] == {"kernel": "rbfdot", "sigma": 0.5}


def test_oracle_gaussian_is_what_it_says(oracle):
    reference = oracle("kernel_rbfdot_A")
    X, Y = reference["inputs"]["X"], reference["inputs"]["Y"]
    d2 = ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2)
    np.testing.assert_allclose(reference["outputs"]["K_XY"], np.exp(-0.5 * d2), rtol=1e-13)


def test_oracle_unknown_name(oracle):
    with pytest.raises(FileNotFoundError):
        oracle("no_such_oracle")
