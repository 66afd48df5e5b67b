"""Criteria of a kernel: explicit centring matrices, explicit features, repeated samples."""

import tracemalloc

import numpy as np
import pytest

from mercer.gram import Dense, LowRank
from mercer.kernels import Callable, Constant, Gaussian, Linear, Precomputed
from mercer.selection.alignment import alignment, class_separability, dependence


def sample(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.integers(0, 3, n), rng


def cosine(K, L, centred=True):
    n = len(K)
    H = np.eye(n) - np.ones((n, n)) / n if centred else np.eye(n)
    K, L = H @ K @ H, H @ L @ H
    return np.sum(K * L) / np.sqrt(np.sum(K * K) * np.sum(L * L))


@pytest.mark.parametrize("centred", [True, False])
def test_alignment_is_the_cosine_of_the_matrices(centred) -> None:
    X, y, rng = sample()
    K, one_hot, targets = Gaussian(1.5)(X), np.eye(3)[y], rng.normal(size=(40, 2))
    options = {"centered": centred}
    assert alignment(Gaussian(1.5), X, y, **options) == pytest.approx(cosine(K, one_hot @ one_hot.T, centred))
    assert alignment(Gaussian(1.5), X, targets, **options) == pytest.approx(cosine(K, targets @ targets.T, centred))
    assert alignment(Gaussian(1.5), X, "linear", **options) == pytest.approx(cosine(K, X @ X.T, centred))
    other = Dense().build(Precomputed(), X @ X.T)
    assert alignment(Dense().build(Gaussian(1.5), X), None, other, **options) == pytest.approx(
        cosine(K, X @ X.T, centred)
    )


def test_two_classes_are_plus_and_minus_one() -> None:
    X, _, rng = sample()
    y = rng.integers(0, 2, 40)
    sign = 2.0 * y - 1
    assert alignment("gaussian", X, y) == pytest.approx(cosine(Gaussian()(X), np.outer(sign, sign)))
    assert alignment("gaussian", X, np.array(["no", "yes"])[y]) == pytest.approx(alignment("gaussian", X, y))


def test_whole_numbers_may_be_targets() -> None:
    X, y, _ = sample()
    counts = y.astype(float)
    expected = cosine(Gaussian()(X), np.outer(counts, counts))
    assert alignment("gaussian", X, y, classes=False) == pytest.approx(expected)
    assert alignment("gaussian", X, y) != pytest.approx(expected)


def test_units_and_constants_do_not_count() -> None:
    X, y, _ = sample()
    plain = alignment(Gaussian(), X, y)
    assert alignment(100 * Gaussian() + Constant(7.0), X, y) == pytest.approx(plain)
    assert alignment(Gaussian() + Constant(7.0), X, y, centered=False) != pytest.approx(plain, rel=0.05)
    assert alignment(Constant(1.0), X, y) == 0.0


@pytest.mark.parametrize("criterion", [alignment, dependence, class_separability])
def test_a_weight_is_a_repeated_sample(criterion) -> None:
    X, y, rng = sample()
    weight = rng.integers(0, 4, 40)
    often = np.repeat(np.arange(40), weight)
    kernel = Gaussian(1.2)
    assert criterion(kernel, X, y, sample_weight=weight) == pytest.approx(criterion(kernel, X[often], y[often]))
    assert criterion(kernel, X, y, sample_weight=np.ones(40)) == pytest.approx(criterion(kernel, X, y))


@pytest.mark.parametrize("criterion", [alignment, dependence, class_separability])
@pytest.mark.parametrize("representation", ["lazy", "packed", "low_rank"])
def test_every_representation_gives_the_same(criterion, representation) -> None:
    X, y, _ = sample()
    assert criterion("linear", X, y, gram=representation) == pytest.approx(criterion("linear", X, y, gram="dense"))


@pytest.mark.parametrize("criterion", [alignment, dependence, class_separability])
def test_no_square_matrix_of_a_factor(criterion) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20_000, 5)), rng.integers(0, 2, 20_000)
    gram = LowRank().build(Linear(), X)
    tracemalloc.start()
    value = criterion(gram, None, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert value >= 0 and peak < 50e6  # the matrix would take 3.2 GB


def test_dependence_is_the_squared_norm_of_the_covariance() -> None:
    X, _, rng = sample()
    targets = rng.normal(size=(40, 2))
    covariance = (X - X.mean(axis=0)).T @ (targets - targets.mean(axis=0)) / 40
    assert dependence(Linear(), X, targets) == pytest.approx(np.sum(covariance**2))


def test_separability_is_the_ratio_of_scatters() -> None:
    X, y, _ = sample()
    means = np.array([X[y == c].mean(axis=0) for c in range(3)])
    within = np.sum((X - means[y]) ** 2)
    between = np.sum((means[y] - X.mean(axis=0)) ** 2)
    assert class_separability(Linear(), X, y) == pytest.approx(between / within)


def test_separability_at_the_ends() -> None:
    assert class_separability(Linear(), [[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]) == np.inf
    assert class_separability(Linear(), [[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1]) == pytest.approx(0, abs=1e-12)
    assert class_separability(Constant(1.0), [[0.0], [1.0]], [0, 1]) == 0.0


def common_letters(x, y):
    return float(len(set(x) & set(y)))


@pytest.mark.parametrize("criterion", [alignment, dependence, class_separability])
def test_words(criterion) -> None:
    words, kinds = ["aab", "abb", "xyz", "xzz"], ["early", "early", "late", "late"]
    assert criterion(Callable(common_letters), words, kinds) > criterion(
        Callable(common_letters), words, ["early", "late", "early", "late"]
    )


def test_data_driven_parameters_are_resolved() -> None:
    X, y, _ = sample()
    kernel = Gaussian("median").resolve(X)
    assert alignment("gaussian(lengthscale='median')", X, y) == pytest.approx(alignment(kernel, X, y))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("linear", None, [0, 1]), "X is None"),
        (("linear", [[0.0], [1.0]], [0, 1, 2]), "y has shape"),
        (("linear", [[0.0], [1.0]], [0.5, np.nan]), "y contains NaN"),
    ],
)
def test_bad_arguments(arguments, words) -> None:
    for criterion in (alignment, dependence, class_separability):
        with pytest.raises((TypeError, ValueError), match=words):
            criterion(*arguments)


def test_bad_weights_and_classes() -> None:
    with pytest.raises(ValueError, match=r"alignment: sample_weight\[1\] = -1 must be a finite number"):
        alignment("linear", [[0.0], [1.0]], [0, 1], sample_weight=[1.0, -1.0])
    with pytest.raises(ValueError, match="one class"):
        class_separability("linear", [[0.0], [1.0]], [0, 0])
    with pytest.raises(ValueError, match="they must agree"):
        alignment("linear", [[0.0], [1.0]], Dense().build("linear", [[0.0], [1.0], [2.0]]))
