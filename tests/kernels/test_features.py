"""Explicit features against closed forms: Dirichlet's kernel, Brownian motion, Haar's projection, the db2 values."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from mercer.kernels import PD
from mercer.kernels import features as module
from mercer.kernels.features import Features, Fourier, MercerSeries, Wavelet
from mercer.testing import check_kernel

rng = np.random.default_rng(3)
X = rng.normal(size=(7, 2))


def pairs(A):
    return np.stack([A[:, 0] * A[:, 1], A[:, 0] ** 2], axis=1)


def test_features_are_inner_products():
    k = Features(pairs)
    expected = [[pairs(X)[i] @ pairs(X)[j] for j in range(7)] for i in range(7)]
    np.testing.assert_allclose(k(X), expected, rtol=1e-14)
    np.testing.assert_array_equal(k.feature_map(X), pairs(X))
    assert k.definiteness == PD and not k.definiteness.strict
    assert pickle.loads(pickle.dumps(k)) == k


def test_features_of_strings_may_be_sparse():
    words = ["a rose is a rose", "is a kernel", "kernel"]
    counts = CountVectorizer(token_pattern=r"\w+").fit(words)
    k = Features(counts.transform)
    # counts of (a, is, kernel, rose): (2,1,0,2), (1,1,1,0), (0,0,1,0)
    np.testing.assert_array_equal(k(words), [[9, 3, 0], [3, 3, 1], [0, 1, 1]])
    np.testing.assert_array_equal(k.diag(words), [9, 3, 1])
    assert k.feature_map(words).shape == (3, 4)


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda A: A[:, 0], ValueError, r"returned shape \(7,\) for 7 samples; expected \(7, p\)"),
        (lambda A: A[:3], ValueError, r"returned shape \(3, 2\) for 7 samples"),
        (lambda A: A[:, :0], ValueError, r"returned shape \(7, 0\)"),
        (lambda A: A.tolist(), TypeError, "returned type list; it must return an array"),
        (lambda A: A * np.nan, ValueError, "returned NaN or infinity"),
        (lambda A: A + 1j, ValueError, "returned complex values"),
    ],
)
def test_features_say_what_a_function_did_wrong(function, error, text):
    with pytest.raises(error, match=text):
        Features(function)(X)


def test_features_need_a_function():
    with pytest.raises(TypeError, match="function = 3 must be callable"):
        Features(3)(X)


def test_integer_features_become_floating():
    K = Features(lambda A: np.ones((len(A), 1), dtype=int))(X)
    assert K.dtype == np.float64 and np.all(K == 1)


def brownian(n):
    """The Karhunen–Loève expansion of Brownian motion on [0, 1]."""
    frequency = (np.arange(1, n + 1) - 0.5) * np.pi
    return 1 / frequency**2, lambda x: np.sqrt(2) * np.sin(x[:, :1] * frequency)


def test_mercer_series_of_brownian_motion():
    eigenvalues, functions = brownian(2000)
    x = np.linspace(0.0, 1.0, 11)[:, None]
    tail = 2 / (np.pi**2 * 1999.5)  # Σ_{j>n} 2λⱼ, bounded by an integral
    np.testing.assert_allclose(MercerSeries(eigenvalues, functions)(x), np.minimum(x, x.T), atol=tail)


def test_mercer_series_of_a_list_of_functions():
    k = MercerSeries([2.0, 0.5], [lambda A: A[:, 0], lambda A: A[:, :1] ** 2])
    a, b = X[:, 0], X[:, 0] ** 2
    np.testing.assert_allclose(k(X), 2 * np.outer(a, a) + 0.5 * np.outer(b, b), rtol=1e-14)
    np.testing.assert_allclose(k.feature_map(X), np.stack([np.sqrt(2) * a, np.sqrt(0.5) * b], axis=1), rtol=1e-15)


@pytest.mark.parametrize(
    ("eigenvalues", "functions", "error", "text"),
    [
        ([1.0, -0.1], pairs, ValueError, r"eigenvalues\[1\] = -0.1 must be >= 0"),
        ([1.0, np.inf], pairs, ValueError, r"eigenvalues\[1\] = inf must be a finite number"),
        ([], pairs, ValueError, "eigenvalues is empty"),
        (2.5, pairs, ValueError, r"eigenvalues = 2\.5 must be a sequence"),
        ([1.0], pairs, ValueError, "1 eigenvalues, but eigenfunctions returned 2 columns"),
        ([1.0], [np.sin, np.cos], ValueError, "1 eigenvalues and 2 eigenfunctions"),
        ([1.0], [pairs], ValueError, r"pairs returned shape \(7, 2\); expected 7 values"),
        ([1.0], 5, TypeError, "eigenfunctions = 5 must be a function"),
    ],
)
def test_mercer_series_refuses(eigenvalues, functions, error, text):
    with pytest.raises(error, match=text):
        MercerSeries(eigenvalues, functions)(X)


@pytest.mark.parametrize(("period", "decay", "n"), [(1.0, 1.0, 0), (2.5, 0.7, 4), (0.3, 2.0, 9)])
def test_fourier_by_definition(period, decay, n):
    D = X[:, None, :] - X[None, :, :]
    expected = np.prod(
        [sum((1 + j) ** (-2 * decay) * np.cos(2 * np.pi * j * D / period) for j in range(n + 1))], axis=0
    )
    np.testing.assert_allclose(Fourier(period, decay, n)(X), expected.prod(axis=-1), atol=1e-12)


def test_fourier_without_decay_is_dirichlets_kernel():
    x, n = rng.uniform(-3, 3, size=(20, 1)), 6
    angle = 2 * np.pi * x
    dirichlet = np.sin((n + 0.5) * angle) / np.sin(angle / 2)  # 1 + 2 Σ cos jθ
    np.testing.assert_allclose(Fourier(1.0, 0.0, n)(x, np.zeros((1, 1))), (1 + dirichlet) / 2, atol=1e-10)


def test_fourier_norm_of_one_mode():
    k, x = Fourier(period=2.0, decay=1.5, n=3), np.linspace(0, 2, 7, endpoint=False)[:, None]
    f = 0.7 * np.cos(np.pi * 2 * x[:, 0])  # frequency j = 2
    assert f @ np.linalg.solve(k(x), f) == pytest.approx(0.7**2 * 3 ** (2 * 1.5), rel=1e-10)


def test_fourier_is_periodic_far_away():
    x = np.array([[0.25], [1e6 + 0.25]])
    np.testing.assert_allclose(Fourier(1.0, 0.0, 8)(x), 9.0, atol=1e-6)


def test_features_are_counted_without_computing_them():
    assert Fourier(n=4).feature_count(np.ones((2, 20))) == 9**20
    assert (
        Wavelet("haar", 3).feature_count(np.ones((2, 2)))
        == 64
        == Wavelet("haar", 3).feature_map(np.ones((2, 2))).shape[1]
    )


def test_haar_without_damping_projects_onto_step_functions():
    x = rng.uniform(size=(30, 1))
    x[:3, 0] = 0.0, 0.5, 1.0
    cell = np.minimum(np.floor(8 * x), 7)
    np.testing.assert_allclose(Wavelet("haar", 3, 0.0)(x), 8.0 * (cell == cell.T), atol=1e-12)


def test_haar_features_are_orthogonal():
    middle = (np.arange(16)[:, None] + 0.5) / 16
    Z = Wavelet("haar", 3, 0.8).feature_map(middle)
    scales = [1.0, *np.repeat(2.0 ** (-2 * 0.8 * np.arange(3)), [1, 2, 4])]
    np.testing.assert_allclose(Z.T @ Z / 16, np.diag(scales), atol=1e-14)


def test_db1_is_haar():
    x = rng.uniform(size=(6, 2))
    np.testing.assert_array_equal(Wavelet("db1", 3)(x), Wavelet("haar", 3)(x))


def test_db2_values_at_the_integers():
    phi, psi = module._tabulated("db2")
    root = np.sqrt(3)
    np.testing.assert_allclose(phi[::1024], [0, (1 + root) / 2, (1 - root) / 2, 0], atol=1e-12)
    # Daubechies, table 6.1: √2 h = (1+√3, 3+√3, 3−√3, 1−√3)/4, and ψ(1/2) = √2 Σ g_k φ(1 − k) = √2 g_0 φ(1)
    assert abs(psi[512]) == pytest.approx((root - 1) / 4 * (1 + root) / 2, abs=1e-12)


@pytest.mark.parametrize("family", ["db2", "db4", "sym4", "coif1"])
def test_wavelets_are_orthonormal_and_sum_to_one(family):
    phi, psi = module._tabulated(family)
    one = 2**module.DEPTH
    for a in (phi, psi):
        for shift in range(len(phi) // one):
            inner = np.sum(a[: len(a) - shift * one] * a[shift * one :]) / one
            assert inner == pytest.approx(float(shift == 0), abs=1e-3)  # a Riemann sum of Hölder functions
    assert np.sum(phi * psi) / one == pytest.approx(0, abs=1e-3)
    folded = sum(phi[i * one : (i + 1) * one] for i in range(len(phi) // one))
    np.testing.assert_allclose(folded, 1.0, atol=1e-9)


@pytest.mark.parametrize("family", ["db2", "sym4"])
def test_other_families_obey_the_laws(family, xp):
    check_kernel(Wavelet(family, 2), namespaces=[xp])


def test_wavelet_features_by_definition():
    x = np.array([[0.0], [0.25], [0.5], [1.0]])
    phi, psi = module._tabulated("db2")

    def at(table, t):
        return table[round(t * 1024)] if 0 <= t <= 3 else 0.0

    s = 0.6
    expected = [
        [at(phi, t - k) for k in (-2, -1, 0)]
        + [2 ** (j * (0.5 - s)) * at(psi, 2**j * t - k) for j in (0, 1) for k in range(-2, 2**j)]
        for t in x[:, 0]
    ]
    np.testing.assert_allclose(Wavelet("db2", 2, s).feature_map(x), expected, atol=1e-14)


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Fourier(period=0), "period = 0 must be > 0"),
        (Fourier(decay=-1), "decay = -1 must be >= 0"),
        (Fourier(n=2.5), "n = 2.5 must be an integer"),
        (Wavelet(levels=-1), "levels = -1 must be >= 0"),
        (Wavelet(smoothness=-1), "smoothness = -1 must be >= 0"),
        (Wavelet("bior2.2"), "family = 'bior2.2' is unknown; choose haar"),
        (Wavelet("morl"), "family = 'morl' is unknown"),
    ],
)
def test_parameters(kernel, text):
    with pytest.raises(ValueError, match=text):
        kernel(np.full((2, 1), 0.5))


def test_wavelets_live_on_the_unit_cube():
    with pytest.raises(ValueError, match=r"X holds 1\.5, but must be <= 1"):
        Wavelet()([[1.5]])


def test_wavelets_without_pywavelets(monkeypatch):
    module._filter.cache_clear()
    monkeypatch.setitem(sys.modules, "pywt", None)
    Wavelet("haar")([[0.5]])
    with pytest.raises(ImportError, match=r'needs pywt: pip install "mercer\[wavelets\]"'):
        Wavelet("db2")([[0.5]])


@pytest.mark.parametrize("family", [2, None, ["haar"], np.array(["haar", "db2"])], ids=str)
def test_a_wavelet_family_is_a_name(family):
    with pytest.raises(TypeError, match=r"Wavelet: family = .* must be a name"):
        Wavelet(family)([[0.5]])
