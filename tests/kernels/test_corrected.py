"""Spectrum corrections: the matrix on the sample, the extension to new points, any domain."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer import SVC, KernelRidge, load, save
from mercer.gram import LowRank, Nystrom
from mercer.kernels import (
    INDEFINITE,
    PD,
    UNKNOWN,
    Callable,
    Delta,
    FiniteDomain,
    Gaussian,
    Linear,
    Power,
    Precomputed,
    Sigmoid,
    parse,
)
from mercer.kernels.corrected import Clipped, Flipped, Shifted, Squared
from mercer.testing import check_kernel

rng = np.random.default_rng(3)
X, NEW = rng.normal(size=(30, 2)), rng.normal(size=(20, 2))
RULES = {
    Clipped: lambda v: np.maximum(v, 0),
    Flipped: np.abs,
    Squared: np.square,
    Shifted: lambda v: v + max(0, -v.min()),
}
PROJECTED = (Clipped, Flipped, Squared)
WORDS = ["", "a", "ab", "abc", "bca", "cab", "bbca", "aaaa", "abcabc", "cc"]


def edit_distance(x, y) -> float:
    row = list(range(len(y) + 1))
    for i, a in enumerate(x, 1):
        last, row = row, [i]
        for j, b in enumerate(y, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b)))
    return float(row[-1])


def similarity(x, y) -> float:
    return 1 - edit_distance(x, y) / 3


KERNELS = {
    "sigmoid": (Sigmoid(1.0, -0.5), X),
    "conditionally definite": (Power(1.5), X),
    "unknown": (Gaussian(0.5) + -0.8 * Gaussian(1.5), X),
    "definite": (Gaussian(0.3), X),
    "finite": (FiniteDomain(rng.normal(size=(9, 9)).round(1) + 0.0), np.arange(9)),
    "strings": (Callable(similarity, INDEFINITE), WORDS),
}
A = KERNELS["finite"][0].matrix
KERNELS["finite"][0].matrix = (A + A.T) / 2


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("correction", RULES, ids=lambda c: c.__name__)
def test_the_matrix_of_the_sample(correction, name) -> None:
    kernel, sample = KERNELS[name]
    K = kernel(sample)
    values, U = np.linalg.eigh(K)
    expected = (U * RULES[correction](values)) @ U.T
    corrected = correction(kernel, sample)
    scale = 1e-12 * np.abs(expected).max() * len(K)
    assert np.allclose(corrected(sample), expected, rtol=0, atol=scale)
    assert np.allclose(corrected.diag(sample), np.diagonal(expected), rtol=0, atol=scale)


@pytest.mark.parametrize("correction", PROJECTED, ids=lambda c: c.__name__)
def test_new_points_by_the_definition(correction) -> None:
    kernel = Sigmoid(1.0, -0.5)
    values, U = np.linalg.eigh(kernel(X))
    kept = np.abs(values) > 1e-9
    gain = RULES[correction](values[kept]) / values[kept] ** 2
    expected = kernel(NEW, X) @ (U[:, kept] * gain) @ U[:, kept].T @ kernel(X, NEW[:7])
    if correction is Squared:
        expected = kernel(NEW, X) @ kernel(X, NEW[:7])
    # eigenvalues near rounding, which may count or not, are squares of what is as small
    assert np.allclose(correction(kernel, X)(NEW, NEW[:7]), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ["sigmoid", "conditionally definite", "unknown", "strings"])
@pytest.mark.parametrize("correction", PROJECTED, ids=lambda c: c.__name__)
def test_positive_everywhere(correction, name) -> None:
    kernel, sample = KERNELS[name]
    everything = WORDS if name == "strings" else np.vstack([X, NEW])
    corrected = correction(kernel, sample[: len(sample) // 2])  # the spectrum of some of the points
    assert corrected.definiteness == PD
    report = corrected.check(everything)
    assert report.ok
    assert np.linalg.eigvalsh(kernel(everything))[0] < -1e3 * report.tol  # which the kernel itself is not
    assert corrected.feature_map(everything).shape[1] <= len(sample) // 2


@pytest.mark.parametrize("correction", RULES, ids=lambda c: c.__name__)
def test_laws(correction, xp) -> None:
    for kernel in correction.examples():
        check_kernel(kernel, namespaces=[xp])
    check_kernel(correction(Callable(similarity, INDEFINITE), WORDS[:6]), WORDS)


def test_of_a_definite_kernel_they_project_onto_the_sample() -> None:
    kernel = Gaussian(1.0)
    landmarks = X[:8]
    gram = Nystrom(rank=8, landmarks=np.arange(8)).build(kernel, np.vstack([X, NEW]), 0)
    for correction in (Clipped, Flipped):
        assert np.allclose(correction(kernel, landmarks)(np.vstack([X, NEW])), gram.dense(), atol=1e-10)
    assert np.array_equal(Shifted(kernel, X)(NEW), kernel(NEW))
    assert Shifted(kernel, X).definiteness == PD
    assert Shifted(Power(1.0), X).definiteness == UNKNOWN  # CPD(1), but PD on the sample


def test_eigenvalues_of_rounding_are_no_features() -> None:
    kernel = Linear() + -2.0 * Linear().on([0])  # x₂y₂ − x₁y₁: one positive and one negative eigenvalue
    assert Clipped(kernel, X).feature_map(NEW).shape == (20, 1)
    assert Flipped(kernel, X).feature_map(NEW).shape == (20, 2)
    single = Flipped(kernel, X).feature_map(NEW.astype(np.float32))
    assert single.shape == (20, 2) and single.dtype == np.float32
    with pytest.raises(ValueError, match=r"lie in \[-.*and none of them is kept; use another correction"):
        Clipped(-1.0 * Linear(), X)(NEW)


def test_the_largest_eigenvalues_are_kept() -> None:
    kernel = Sigmoid(1.0, -0.5)
    values, U = np.linalg.eigh(kernel(X))
    kept = np.argsort(-np.abs(values))[:6]
    few = Flipped(kernel, X, rank=6)
    assert np.allclose(few(X), (U[:, kept] * np.abs(values[kept])) @ U[:, kept].T)
    single = few(NEW.astype(np.float32))
    assert np.allclose(single, few(NEW), rtol=0, atol=1e-4)
    assert Clipped(kernel, X, rank=6).feature_map(NEW).shape == (20, 6)
    with pytest.raises(ValueError, match="Clipped: rank = 0 must be >= 1"):
        Clipped(kernel, X, rank=0)(NEW)


def test_functions_of_the_sample_do_not_suffer_from_small_eigenvalues() -> None:
    """k̃(x, s) is ⟨k(S, x), U sign(Λ) Uᵀ e_s⟩, whatever the precision."""
    kernel = Sigmoid(0.3, -0.1)
    values, U = np.linalg.eigh(kernel(X))
    expected = kernel(NEW, X) @ (U * np.sign(values)) @ U.T
    assert np.allclose(Flipped(kernel, X)(NEW, X), expected, atol=1e-7)
    single = Flipped(kernel, X)(NEW.astype(np.float32), X.astype(np.float32))
    assert np.allclose(single, expected, atol=2e-3)  # eigenvalues of 1e-6 are rounding there


# ---- the shift


def test_the_shift_leaves_other_values_as_they_are() -> None:
    kernel = Sigmoid(1.0, -0.5)
    least = np.linalg.eigvalsh(kernel(X))[0]
    shifted = Shifted(kernel, X)
    assert shifted.shift == pytest.approx(-least) and least < 0
    assert np.array_equal(shifted(NEW, X), kernel(NEW, X))
    assert np.allclose(shifted(X[3:9], X) - kernel(X[3:9], X), -least * np.eye(30)[3:9])


@pytest.mark.parametrize("name", ["sigmoid", "strings"])
def test_repeated_samples_are_shifted_as_one(name) -> None:
    kernel, sample = KERNELS[name]
    index = np.r_[np.arange(len(sample)), 0, 0, 3]
    repeated = kernel.domain.take(sample, index)
    shifted = Shifted(kernel, repeated)
    assert shifted.shift == pytest.approx(Shifted(kernel, sample).shift)
    K = shifted(repeated)
    assert np.allclose(K, Shifted(kernel, sample)(sample)[np.ix_(index, index)])
    assert np.linalg.eigvalsh(K)[0] > -1e-10


def test_content_decides_what_is_equal() -> None:
    anything = Callable(similarity).domain
    assert anything.contents(["a", "b", "a"]) == ["a", "b", "a"]
    lists = anything.contents([[1, 2], [1, 3], [1, 2]])
    assert lists[0] == lists[2] != lists[1]
    arrays = anything.contents([np.ones(2), np.ones(3), np.ones(2)])
    assert arrays[0] == arrays[2] != arrays[1]
    vectors = Linear().domain.contents(np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, 2.0]]))
    assert vectors[0] == vectors[1] != vectors[2]
    sparse = csr_array(np.array([[0.0, 1.0], [3.0, 0.0], [0.0, 1.0]]))
    sparse.data[1] = 0.0  # a zero that is stored is a zero
    assert Linear().domain.contents(sparse) == Linear().domain.contents(csr_array(sparse.toarray()))
    pairs = (Linear() @ Delta()).domain.contents((np.array([[1.0], [1.0]]), np.array([["u"], ["v"]])))
    assert pairs[0] != pairs[1]


def test_a_shift_is_a_ridge() -> None:
    kernel, y = Sigmoid(1.0, -0.5), X[:, 0] ** 2
    c = Shifted(kernel, X).shift
    with pytest.warns(match="INDEFINITE"):
        plain = KernelRidge(0.3 + c, kernel=kernel).fit(X, y)
    assert np.allclose(KernelRidge(0.3, kernel=Shifted(kernel)).fit(X, y).predict(NEW), plain.predict(NEW))


# ---- the sample


@pytest.mark.parametrize("correction", RULES, ids=lambda c: c.__name__)
def test_the_sample_is_that_of_resolve(correction) -> None:
    with pytest.raises(ValueError, match=rf"{correction.__name__}: X = None.* give a sample, or call kernel.resolve"):
        correction(Sigmoid())(NEW)
    unresolved = correction(Gaussian("median"))
    resolved = unresolved.resolve(X)
    assert resolved == correction(Gaussian("median").resolve(X), X)
    assert unresolved.X is None
    assert correction(Sigmoid(), X[:5]).resolve(X) == correction(Sigmoid(), X[:5])


def test_machines_take_their_training_samples() -> None:
    y = X[:, 0] > 0
    model = SVC(kernel=Clipped(Sigmoid(1.0, -0.5))).fit(X, y)
    fixed = SVC(kernel=Clipped(Sigmoid(1.0, -0.5), X)).fit(X, y)
    assert np.array_equal(model.decision_function(NEW), fixed.decision_function(NEW))
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.decision_function(NEW), model.decision_function(NEW))


@pytest.mark.parametrize("correction", RULES, ids=lambda c: c.__name__)
def test_precomputed_values_are_corrected_too(correction) -> None:
    kernel, y = Sigmoid(1.0, -0.5), X[:, 0] * X[:, 1]
    direct = KernelRidge(0.1, kernel=correction(kernel)).fit(X, y)
    given = KernelRidge(0.1, kernel=correction(Precomputed())).fit(kernel(X), y)
    rows = kernel(NEW, X)
    assert np.allclose(given.predict(rows), direct.predict(NEW))
    assert np.allclose(given.kernel_(rows, np.arange(4)), direct.kernel_(NEW, X[:4]))
    if correction is not Shifted:
        with pytest.raises(ValueError, match="29 columns, but the spectrum is that of 30 samples"):
            given.kernel_(rows[:, 1:])


def test_the_spectrum_is_computed_once() -> None:
    calls = []

    def counted(A, B):
        calls.append((len(A), len(B)))
        return np.tanh(A @ B.T - 0.5)

    kernel = Flipped(Callable(counted, INDEFINITE, pairwise=False), X)
    kernel(NEW)
    first = calls.count((30, 30))
    for _ in range(3):
        kernel(NEW, NEW[:4])
    assert calls.count((30, 30)) == first == 1
    kernel.X = X[:12]  # another sample has another spectrum
    assert np.allclose(kernel(NEW), Flipped(Sigmoid(1.0, -0.5), X[:12])(NEW))


def test_parameters_of_the_kernel_inside_are_followed() -> None:
    kernel = Flipped(Sigmoid(1.0, -0.5), X)
    kernel(NEW)
    assert np.allclose(kernel.set_params(kernel__scale=0.5)(NEW), Flipped(Sigmoid(0.5, -0.5), X)(NEW))
    assert clone(kernel) == kernel != Flipped(Sigmoid(0.5, -0.5), X[:9])


@pytest.mark.parametrize("correction", RULES, ids=lambda c: c.__name__)
def test_machines_are_written_and_read(correction, tmp_path) -> None:
    model = SVC(kernel=correction(Sigmoid(1.0, -0.5))).fit(X, X[:, 0] > 0)
    save(model, tmp_path / "machine")
    assert np.allclose(load(tmp_path / "machine").decision_function(NEW), model.decision_function(NEW), atol=1e-12)


@pytest.mark.parametrize("correction", [Clipped, Flipped], ids=lambda c: c.__name__)
def test_the_spectrum_is_no_more_precise_than_the_sample(correction) -> None:
    """Machines may compute in double precision with a sample of single precision, whose small eigenvalues are noise."""
    single, y = (X @ X.T).astype(np.float32), X[:, 0] > 0  # of rank 2, which only its own precision shows
    model = SVC(kernel=correction(Precomputed())).fit(single, y)
    assert np.allclose(
        model.decision_function(NEW @ X.T), SVC(kernel=Linear()).fit(X, y).decision_function(NEW), atol=0.01
    )
    assert correction(Linear(), X.astype(np.float32)).feature_map(NEW).shape == (20, 2)


def test_features_are_held_where_asked_for() -> None:
    kernel = Clipped(Sigmoid(1.0, -0.5), X)
    gram = LowRank().build(kernel, NEW)
    assert np.allclose(gram.block(slice(None), slice(None)), kernel(NEW))
    with pytest.raises(ValueError, match="X has 3 columns and Y has 2"):
        kernel(np.ones((4, 3)))
    with pytest.raises(TypeError, match="Clipped: kernel holds 'sigmoid'"):
        Clipped("sigmoid", X)(NEW)


def test_text() -> None:
    assert parse("clipped(sigmoid(scale=0.5))") == Clipped(Sigmoid(0.5))
    assert str(2.0 * Flipped(Sigmoid(0.5), X)) == "2.0*flipped(sigmoid(scale=0.5), <30 samples>)"
    assert str(Shifted(Sigmoid())) == "shifted(sigmoid)"
