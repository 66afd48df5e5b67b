"""Means over all pairs of members, against double loops."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from mercer.kernels import (
    CPD,
    INDEFINITE,
    PD,
    UNKNOWN,
    Delta,
    Gaussian,
    Laplace,
    Linear,
    Polyharmonic,
    Power,
    Sigmoid,
    Table,
)
from mercer.kernels import Callable as CallableKernel
from mercer.kernels.sets import MeanMap

RNG = np.random.default_rng(0)
SETS = [RNG.normal(size=(n, 2)) for n in (1, 4, 2, 7)]


def by_loops(kernel, X, Y):
    return np.array([[np.mean([[kernel([a], [b])[0, 0] for b in y] for a in x]) for y in Y] for x in X])


@pytest.mark.parametrize("kernel", [Gaussian(0.8), Linear(), Laplace(2.0), Power(1.0)], ids=str)
def test_mean_over_all_pairs(kernel) -> None:
    expected = by_loops(kernel, SETS, SETS)
    assert np.allclose(MeanMap(kernel)(SETS), expected, rtol=1e-12)
    assert np.allclose(MeanMap(kernel)(SETS, SETS[:2]), expected[:, :2], rtol=1e-12)
    assert np.allclose(MeanMap(kernel).diag(SETS), np.diagonal(expected), rtol=1e-12)


def test_members_of_one_set_in_several_blocks(monkeypatch) -> None:
    monkeypatch.setattr("mercer.kernels.sets._base.ROWS", 3)
    X, Y = [RNG.normal(size=(n, 2)) for n in (8, 1, 1, 3, 5)], SETS
    assert np.allclose(MeanMap(Gaussian())(X, Y), by_loops(Gaussian(), X, Y), rtol=1e-12)
    assert np.allclose(MeanMap(Gaussian())(X), by_loops(Gaussian(), X, X), rtol=1e-12)
    assert np.allclose(MeanMap(Gaussian()).diag(X), np.diagonal(by_loops(Gaussian(), X, X)), rtol=1e-12)


def test_threads_add_in_one_order() -> None:
    X = [np.random.default_rng(0).normal(size=(n, 2)) for n in (3000, 10, 2500)]
    K = MeanMap(Gaussian())(X)
    assert all(np.array_equal(MeanMap(Gaussian())(X), K) for _ in range(3))
    assert np.allclose(K[0, 1], Gaussian()(X[0], X[1]).mean(), rtol=1e-12)


def shared(a: str, b: str) -> float:
    return float(len(set(a) & set(b)))


def test_sets_of_other_things() -> None:
    words = [["red", "green"], ["blue"], ["red", "red", "ox"]]
    kernel = MeanMap(CallableKernel(shared))
    expected = [[np.mean([[shared(a, b) for b in y] for a in x]) for y in words] for x in words]
    assert np.allclose(kernel(words), expected, rtol=1e-14)
    labels = MeanMap(Delta())([np.array(["a", "b"], dtype=object), np.array(["b"], dtype=object)])
    assert np.allclose(labels, [[0.5, 0.5], [0.5, 1.0]])


def test_sets_of_pairs_and_of_rows_of_tables() -> None:
    pairs = Gaussian(0.8) @ Delta()
    X = [[(x, c) for x, c in zip(members, "abba", strict=False)] for members in SETS[:3]]
    assert np.allclose(MeanMap(pairs).diag(X), [pairs(x).mean() for x in X], rtol=1e-13)
    assert np.allclose(MeanMap(pairs)(X), [[pairs(x, y).mean() for y in X] for x in X], rtol=1e-13)
    rows = Table({"u": Gaussian(0.8), "c": Delta()})
    frames = [pd.DataFrame({"u": x[:, 0], "c": list("abbabab")[: len(x)]}) for x in SETS]
    assert np.allclose(MeanMap(rows).diag(frames), [rows(x).mean() for x in frames], rtol=1e-13)


def test_symmetric_to_the_last_digit() -> None:
    K = MeanMap(Linear())([1e6 + x for x in SETS])
    assert np.array_equal(K, K.T)


def test_sparse_members() -> None:
    X = [csr_array(np.where(x > 0, x, 0.0)) for x in SETS]
    assert np.allclose(MeanMap(Gaussian())(X), MeanMap(Gaussian())([x.toarray() for x in X]), rtol=1e-12)
    assert np.allclose(MeanMap(Gaussian()).diag(X), MeanMap(Gaussian()).diag([x.toarray() for x in X]), rtol=1e-12)


@given(st.integers(0, 10_000))
def test_order_of_members_does_not_matter(seed) -> None:
    rng = np.random.default_rng(seed)
    X = [rng.normal(size=(n, 2)) for n in rng.integers(1, 9, 6)]
    mixed = [rng.permutation(x) for x in X]
    kernel = MeanMap(Gaussian())
    assert np.allclose(kernel(mixed), kernel(X), rtol=1e-13)
    assert np.linalg.eigvalsh(kernel(X)).min() > -1e-14


def test_random_features_are_unbiased_and_close() -> None:
    exact = MeanMap(Gaussian(0.8))(SETS)
    few = np.mean([MeanMap(Gaussian(0.8), n_features=20, random_state=s)(SETS) for s in range(400)], axis=0)
    assert np.abs(few - exact).max() < 6 / np.sqrt(400 * 10)
    many = MeanMap(Gaussian(0.8), n_features=20_000)
    assert np.abs(many(SETS) - exact).max() < 6 / np.sqrt(10_000)
    assert np.allclose(many.diag(SETS), np.diagonal(many(SETS)), rtol=1e-12)
    Z = many.mean_features(SETS)
    assert Z.shape == (4, 20_000)
    assert np.allclose(Z[1], many.mean_features([x[None] for x in SETS[1]]).mean(axis=0), atol=1e-14)


def test_lengthscale_from_all_members() -> None:
    resolved = MeanMap(Gaussian("median")).resolve(SETS)
    assert resolved.kernel == Gaussian("median").resolve(np.concatenate(SETS))


CALLS: list[tuple[str, str]] = []


def noted(a: str, b: str) -> float:
    CALLS.append((a, b))
    return shared(a, b)


def test_self_terms_are_computed_once() -> None:
    X = [["a", "bc"], ["d"]]
    CALLS.clear()
    first = MeanMap(CallableKernel(noted)).diag(X)
    assert len(CALLS) > 0
    CALLS.clear()
    assert np.array_equal(MeanMap(CallableKernel(noted)).diag(X[::-1]), first[::-1])
    assert CALLS == []


def test_labels_are_known_by_value_and_not_by_address() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        letters = np.array(["".join(rng.choice(list("ab"), 2)) for _ in range(4)], dtype=object)
        expected = np.mean(letters[:, None] == letters[None])
        assert MeanMap(Delta()).diag([letters])[0] == pytest.approx(expected, rel=1e-14)


class Unhashable:
    __hash__ = None

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Unhashable) and self.value == other.value

    def __call__(self, a, b):
        return self.value


@pytest.mark.parametrize("make", [lambda c: lambda a, b: c, Unhashable], ids=["lambda", "unhashable"])
def test_functions_of_one_name_are_not_confused(make) -> None:
    assert [MeanMap(CallableKernel(make(c))).diag([["a"]])[0] for c in (1.0, 2.0)] == [1.0, 2.0]


def test_definiteness() -> None:
    assert MeanMap(Gaussian()).definiteness == PD
    assert not MeanMap(Gaussian()).definiteness.strict
    assert MeanMap(Power(1.0)).definiteness == CPD(1)
    assert MeanMap(Polyharmonic(3)).definiteness == UNKNOWN
    assert MeanMap(Sigmoid()).definiteness in (INDEFINITE, UNKNOWN)


@pytest.mark.parametrize(
    ("kernel", "X", "error", "message"),
    [
        (MeanMap(Gaussian()), [SETS[0], np.empty((0, 2))], ValueError, r"X\[1\] has shape \(0, 2\)"),
        (MeanMap(CallableKernel(shared)), [["a"], []], ValueError, r"X\[1\] is empty"),
        (MeanMap(Gaussian()), [SETS[0], np.ones((2, 3))], ValueError, "columns; they must agree"),
        (MeanMap("gaussian"), SETS, TypeError, "give Kernel objects"),
        (MeanMap(Gaussian(), n_features=7), SETS, ValueError, "n_features = 7 must be even"),
        (MeanMap(Linear(), n_features=8), SETS, TypeError, "Linear has none"),
        (MeanMap(Gaussian(), random_state=None), SETS, TypeError, "random_state = None must be an integer"),
        (MeanMap(Gaussian()), [SETS[0], SETS[1].astype("float32")], TypeError, "different types"),
    ],
)
def test_refusals(kernel, X, error, message) -> None:
    with pytest.raises(error, match=message):
        kernel(X)


def test_other_libraries_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="pass their members as NumPy arrays"):
        MeanMap(Gaussian())([torch.zeros(3, 1)])
