from itertools import combinations

import numpy as np
import pytest

from mercer.kernels.anova import ANOVA
from mercer.kernels.gaussian import Gaussian


@pytest.mark.parametrize("name", ["kernel_anovadot_A", "kernel_anovadot_iris"])
def test_kernlab(oracle, name):
    o = oracle(name)
    p, X, Y = o["parameters"], o["inputs"]["X"], o["inputs"]["Y"]
    k = ANOVA.from_kernlab(p["sigma"], p["degree"])
    np.testing.assert_allclose(k(X), o["outputs"]["K_XX"], rtol=1e-12)
    np.testing.assert_allclose(k(X, Y), o["outputs"]["K_XY"], rtol=1e-12)


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_elementary_form_by_brute_force(degree, xp):
    rng = np.random.default_rng(degree)
    X, Y = rng.normal(size=(4, 5)), rng.normal(size=(3, 5))

    def k(x, y):
        parts = np.exp(-((x - y) ** 2) / (2 * 0.7**2))
        return sum(np.prod(parts[list(subset)]) for subset in combinations(range(5), degree))

    K = ANOVA(degree, 0.7, "elementary")(xp.asarray(X), xp.asarray(Y))
    np.testing.assert_allclose(np.asarray(K), [[k(x, y) for y in Y] for x in X], rtol=1e-13)


def test_all_features_at_once_is_gaussian():
    X = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(ANOVA(3, 0.8, "elementary")(X), Gaussian(0.8)(X), rtol=1e-13)


@pytest.mark.parametrize("form", ["sum", "elementary"])
@pytest.mark.parametrize(("degree", "d"), [(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3)])
def test_strict_exactly_if_all_coordinates_interact(form, degree, d):
    k = ANOVA(degree, 0.5, form)
    box = np.stack(np.meshgrid(*[[0.0, 1.0]] * d), axis=-1).reshape(-1, d)
    smallest = np.linalg.eigvalsh(k(box))[0]
    assert k.definiteness_in(d).is_pd
    assert k.definiteness_in(d).strict == (degree >= d)
    assert smallest > 1e-3 if degree >= d else abs(smallest) < 1e-14 * 10**degree
    assert not k.definiteness.strict


def test_refusals():
    with pytest.raises(ValueError, match=r"degree = 4 must be <= 3, the number of columns, with form='elementary'"):
        ANOVA(4, form="elementary")(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"degree = 4 must be <= 3"):
        (ANOVA(4, form="elementary") + Gaussian())(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"ANOVA: form = 'product' is unknown"):
        ANOVA(form="product")([[1.0]])
    with pytest.raises(ValueError, match=r"ANOVA: degree = 1.5 must be an integer"):
        ANOVA(1.5)([[1.0]])
    with pytest.raises(ValueError, match=r"ANOVA: lengthscale = 0.0 must be > 0"):
        ANOVA(lengthscale=0.0)([[1.0]])
