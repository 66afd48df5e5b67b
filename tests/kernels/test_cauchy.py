"""Cauchy against its definition."""

import numpy as np
from scipy.spatial.distance import cdist

from mercer._array import host
from mercer.kernels.cauchy import Cauchy


def test_definition(xp):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(7, 6)), rng.normal(size=(5, 6))
    K = Cauchy(1.7)(xp.asarray(X), xp.asarray(Y))
    np.testing.assert_allclose(host(K), 1 / (1 + cdist(X, Y) ** 2 / 1.7**2), rtol=1e-12)
    assert Cauchy().definiteness.is_pd and Cauchy().definiteness.strict
