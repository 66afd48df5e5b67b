"""The sum over all alignments, against their enumeration and against a recursion in logarithms."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import GridSearchCV

from mercer import SVC
from mercer.kernels import PD, UNKNOWN
from mercer.kernels._structured import clear_cache
from mercer.kernels.sequences import DynamicTimeWarping, GlobalAlignment

RNG = np.random.default_rng(0)
SERIES = [RNG.normal(size=(n, 2)) for n in (1, 2, 3, 4, 4, 5)]


def alignments(n, m):
    """All paths from (0, 0) to (n − 1, m − 1) with steps (1, 0), (0, 1), (1, 1)."""
    if n == 1 and m == 1:
        return [[(0, 0)]]
    before = [(n - 1, m), (n, m - 1), (n - 1, m - 1)]
    return [[*path, (n - 1, m - 1)] for a, b in before if a > 0 and b > 0 for path in alignments(a, b)]


def local(x, y, kernel):
    g = np.exp(-((x[:, None] - y[None]) ** 2).sum(axis=-1) / (2 * kernel.lengthscale**2))
    if kernel.triangle is not None:
        i, j = np.ogrid[: len(x), : len(y)]
        g = g * np.maximum(1 - abs(i - j) / kernel.triangle, 0)
    return g / (2 - g) if kernel.local == "divisible" else g


def by_enumeration(x, y, kernel):
    K = local(x, y, kernel)
    return sum(np.prod([K[pair] for pair in path]) for path in alignments(len(x), len(y)))


def by_logarithms(x, y, lengthscale):
    s = ((x[:, None] - y[None]) ** 2).sum(axis=-1) / (2 * lengthscale**2)
    logs = -s - np.log(2 - np.exp(-s))
    M = np.full((len(x) + 1, len(y) + 1), -np.inf)
    M[0, 0] = 0
    for i, j in np.ndindex(*logs.shape):
        M[i + 1, j + 1] = logs[i, j] + np.logaddexp.reduce([M[i, j], M[i, j + 1], M[i + 1, j]])
    return M[-1, -1]


@pytest.mark.parametrize("triangle", [None, 1, 2, 4])
@pytest.mark.parametrize("name", ["divisible", "gaussian"])
def test_sum_over_all_alignments(triangle, name) -> None:
    kernel = GlobalAlignment(1.5, triangle=triangle, local=name, normalize=False)
    expected = np.array([[by_enumeration(x, y, kernel) for y in SERIES] for x in SERIES])
    assert np.allclose(kernel(SERIES), expected, rtol=1e-13, atol=0)
    assert np.allclose(kernel.diag(SERIES), np.diagonal(expected), rtol=1e-13, atol=0)
    root = np.sqrt(np.diagonal(expected))
    normalized = GlobalAlignment(1.5, triangle=triangle, local=name)
    assert np.allclose(normalized(SERIES, SERIES[:3]), (expected / np.outer(root, root))[:, :3], rtol=1e-13, atol=0)
    assert np.allclose(kernel.normalized()(SERIES), normalized(SERIES), rtol=1e-13, atol=0)


def test_number_of_alignments_is_that_of_delannoy() -> None:
    value = GlobalAlignment(normalize=False)([np.zeros(4)], [np.zeros(4)])
    assert len(alignments(4, 4)) == 63
    assert np.allclose(value, 63, rtol=1e-14)


@pytest.mark.parametrize("lengthscale", [0.01, 0.05, 1.0, 100.0])
def test_long_series_keep_their_digits(lengthscale) -> None:
    # k(x, x) of 300 points is beyond 1e200 for wide kernels, k(x, y) below 1e-300 for narrow ones
    x, y = RNG.normal(size=(300, 1)), RNG.normal(size=(260, 1))
    kernel = GlobalAlignment(lengthscale)
    form = kernel.forms([x, y], None)
    logs = kernel._log_sums([x], [y])[0, 0], form[0].log_square, form[1].log_square
    expected = [by_logarithms(a, b, lengthscale) for a, b in ((x, y), (x, x), (y, y))]
    assert np.allclose(logs, expected, rtol=1e-12, atol=0)
    value = kernel([x], [y])[0, 0]
    assert np.allclose(value, np.exp(expected[0] - (expected[1] + expected[2]) / 2), rtol=1e-9, atol=0)


def test_normalising_what_is_normalised_changes_nothing() -> None:
    X = [RNG.normal(size=(n, 1)) for n in (500, 480)]
    kernel = GlobalAlignment(0.3)
    assert np.allclose(kernel.normalized()(X), kernel(X), atol=1e-15)
    assert np.array_equal(np.diagonal(kernel(X)), [1, 1])


def test_values_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match=r"GlobalAlignment: k\(x, y\) = exp\(\d+\) overflows; use normalize=True"):
        GlobalAlignment(100.0, normalize=False)([RNG.normal(size=1000)])


@given(st.integers(0, 10_000), st.sampled_from([None, 1, 3]), st.sampled_from([0.1, 1.0, 10.0]))
def test_positive_definite(seed, triangle, lengthscale) -> None:
    rng = np.random.default_rng(seed)
    X = [rng.integers(0, 3, size=(n, 1)).astype(float) for n in rng.integers(1, 7, 12)]
    kernel = GlobalAlignment(lengthscale, triangle=triangle)
    assert kernel.definiteness == PD
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12


def test_condition_for_definiteness() -> None:
    # κ/(1 + κ) is half a Gaussian for the divisible κ; for the Gaussian itself nothing is claimed
    x = RNG.normal(size=(6, 2))
    K = local(x, x, GlobalAlignment())
    g = np.exp(-((x[:, None] - x[None]) ** 2).sum(axis=-1) / 2)
    assert np.allclose(K / (1 + K), g / 2, rtol=1e-14)
    assert GlobalAlignment(local="gaussian").definiteness == UNKNOWN


def test_length_one_is_the_local_kernel() -> None:
    x, y = [[0.3, 1.0]], [[1.0, -1.0]]
    kernel = GlobalAlignment(0.8, normalize=False)
    assert np.allclose(kernel([x], [y]), local(np.array(x), np.array(y), kernel), rtol=1e-14)


def test_single_precision_and_vectors() -> None:
    X = [x.astype(np.float32) for x in SERIES]
    clear_cache()
    K = GlobalAlignment()(X)
    assert K.dtype == np.float64
    assert np.array_equal(K, GlobalAlignment()([x.astype(np.float64) for x in X]))
    assert np.allclose(K, GlobalAlignment()(SERIES), atol=1e-6)
    flat = [x[:, 0] for x in SERIES]
    assert np.array_equal(GlobalAlignment()(flat), GlobalAlignment()([x[:, None] for x in flat]))


def test_blocks_on_threads_are_the_matrix() -> None:
    X = [RNG.normal(size=(n, 1)) for n in RNG.integers(1, 6, 150)]
    kernel = GlobalAlignment()
    pieces = [kernel.evaluate([x], X)[0] for x in X]
    assert np.allclose(kernel(X), pieces, rtol=1e-14, atol=0)


def test_series_pass_through_searches_and_pickling() -> None:
    y = np.arange(30) % 2
    X = [np.sin(np.linspace(0, 6 + 6 * c, n)) + 0.1 * RNG.normal(size=n) for n, c in zip(range(20, 50), y, strict=True)]
    model = SVC(kernel=GlobalAlignment("median"))
    search = GridSearchCV(model, {"C": [0.1, 10.0], "kernel__triangle": [None, 40]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    copy = pickle.loads(pickle.dumps(search))
    assert np.array_equal(copy.decision_function(X[:5]), search.decision_function(X[:5]))


def test_median_lengthscale() -> None:
    X = [np.array([0.0, 1.0, 3.0]), np.array([0.0]), np.array([0.0, 1.0])]
    points = np.concatenate(X)
    d = np.abs(points[:, None] - points[None])[np.triu_indices(6, 1)]
    expected = np.median(d[d > 0]) * np.sqrt(2)
    assert GlobalAlignment("median").resolve(X).lengthscale == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    ("kernel", "X", "message"),
    [
        (GlobalAlignment(-1.0), [[1.0]], "lengthscale = -1.0 must be > 0"),
        (GlobalAlignment("median"), [[1.0]], "depends on the data; call kernel.resolve"),
        (GlobalAlignment(triangle=0), [[1.0]], "triangle = 0 must be >= 1"),
        (GlobalAlignment(local="rbf"), [[1.0]], "choose one of 'divisible', 'gaussian'"),
        (GlobalAlignment(), [[1.0], []], r"X\[1\] has shape"),
        (GlobalAlignment(), [[1.0], [np.nan]], r"X\[1\] contains NaN"),
        (GlobalAlignment(), [[[1.0]], [[1.0, 2.0]]], "columns; they must agree"),
    ],
)
def test_refusals(kernel, X, message) -> None:
    with pytest.raises(ValueError, match=message):
        kernel(X)


def test_other_widths_and_libraries_are_refused() -> None:
    with pytest.raises(ValueError, match="have 1 columns and those in Y 2"):
        GlobalAlignment()([[1.0]], [[[1.0, 2.0]]])
    for kernel in (GlobalAlignment() + GlobalAlignment(), DynamicTimeWarping() * 2 * GlobalAlignment()):
        with pytest.raises(ValueError, match="Series with 2 and 1 columns cannot be compared"):
            kernel([[[1.0, 2.0]]], [[1.0]])
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="pass them as NumPy arrays"):
        GlobalAlignment()([torch.zeros(3, 1)])
