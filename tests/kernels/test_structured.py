"""Forms are computed once by content, whoever asks; sparse products agree with their definition."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from threading import Event, Thread

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import mercer
from mercer.domains import Strings
from mercer.kernels import PD, _structured
from mercer.kernels._structured import Counted, Counts, clear_cache, frozen, inner, numbered

rng = np.random.default_rng(3)
FEW, MANY = "abcd", [chr(300 + i) for i in range(2000)]


def words(alphabet, n):
    return ["".join(rng.choice(list(alphabet), rng.integers(0, 30))) for _ in range(n)]


class Letters(Counted):
    """Counts of letters, each to a power that does not belong to the form."""

    domain = Strings()
    seen: list = []

    def __init__(self, power=1.0):
        self.power = power

    def forms(self, members, store):
        self.seen.extend(members)
        return [Counts.of([store.number(c) for c in x]) for x in members]

    def weigh(self, forms, store):
        return [Counts(f, v**self.power) for f, v in forms]

    def definiteness_in(self, dimension):
        return PD


@pytest.fixture(autouse=True)
def fresh():
    clear_cache()
    Letters.seen.clear()


def brute(X, Y, of=lambda a, b: a * b):
    A, B = [Counter(x) for x in X], [Counter(y) for y in Y]
    return np.array([[sum(of(a[c], b[c]) for c in a) for b in B] for a in A], dtype=float)


@pytest.mark.parametrize("alphabet", [FEW, MANY], ids=["dense", "sparse"])
def test_products_and_minima(alphabet):
    X, Y = words(alphabet, 40), words(alphabet, 30)
    A, B = ([Counts.of([ord(c) for c in x]) for x in Z] for Z in (X, Y))
    np.testing.assert_array_equal(inner(A, B), brute(X, Y))
    np.testing.assert_array_equal(inner(A, B, minimum=True), brute(X, Y, min))
    np.testing.assert_array_equal(Letters()(X, Y), brute(X, Y))
    np.testing.assert_array_equal(Letters().diag(X), np.diagonal(brute(X, X)))


def test_nothing_in_common():
    empty = Counts.of([])
    np.testing.assert_array_equal(inner([empty, Counts.of([1])], [empty]), [[0.0], [0.0]])
    np.testing.assert_array_equal(inner([Counts.of([1, 1])], [Counts.of([2]), Counts.of([1])]), [[0.0, 2.0]])


@pytest.mark.parametrize("values", [[], [5], [7, -2, 7, 0], [3, 10**12, -(10**12), 3]])
def test_numbers_in_a_narrow_and_in_a_wide_range(values):
    values = np.array(values, dtype=np.int64)
    for found, expected in zip(numbered(values), np.unique(values, return_inverse=True), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_values_of_repeated_features_are_summed():
    form = Counts.of([5, 2, 5], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(form.features, [2, 5])
    np.testing.assert_array_equal(form.values, [2.0, 4.0])


def test_each_content_is_seen_once_by_all_copies_of_a_kernel():
    X = ["ab", "ba", "abc"]
    k = Letters()
    k(X), clone(k)(X[:2], ["c", "ab"]), clone(k).diag(X), k.set_params(power=2.0)(X)
    assert sorted(Letters.seen) == ["ab", "abc", "ba", "c"]


def test_folds_compute_nothing_twice():
    X = sorted(set(words(FEW, 60)))
    y = np.arange(len(X)) % 2
    cross_val_score(mercer.SVC(kernel=Letters().normalized()), X, y, cv=4)
    assert sorted(Letters.seen) == X


def test_the_squares_know_the_parameters():
    assert Letters(1.0).diag(["aab"]) == 5.0
    assert Letters(2.0).diag(["aab"]) == 17.0


def test_a_full_store_is_replaced_and_values_stay(monkeypatch):
    monkeypatch.setattr(_structured, "ROOM", 2000)
    X = words(FEW, 50)
    K = brute(X, X)
    for _ in range(3):
        np.testing.assert_array_equal(Letters()(X), K)
    assert len(Letters.seen) > len(set(X))  # there was no room to keep them
    assert sum(store.bytes for store in _structured._stores.values()) < 100_000


def test_old_stores_go_first(monkeypatch):
    class Others(Letters):
        form_parameters = ("power",)

    monkeypatch.setattr(_structured, "ROOM", 3000)
    for power in range(1, 30):
        Others(float(power))(["ab", "b"])
    assert sum(store.bytes for store in _structured._stores.values()) <= 3000 + 1000
    assert any(key[-1] == 29.0 for key in _structured._stores) and not any(
        key[-1] == 1.0 for key in _structured._stores
    )


def test_threads_share_a_store():
    X = [words(MANY, 30) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        matrices = list(pool.map(Letters(), X))
    for words_, K in zip(X, matrices, strict=True):
        np.testing.assert_array_equal(K, brute(words_, words_))


def test_parameters_of_any_kind_can_be_looked_up():
    a, b = np.arange(3.0), [1, [2, {"x": {3}}]]
    assert frozen(a) == frozen(np.arange(3.0)) != frozen(np.arange(3))
    assert hash(frozen(b)) == hash(frozen([1, [2, {"x": {3}}]]))


def test_dictionaries_with_names_of_any_type():
    a, b = {"age": 1, ("city", "job"): [2]}, {("city", "job"): [2], "age": 1}
    assert frozen(a) == frozen(b) != frozen({"age": 1})


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_does_not_wait_for_its_parents_threads():
    Letters()(["ab"])
    held, done = Event(), Event()

    def hold():
        store = _structured._store(Letters()._kept())
        with _structured._lock, store.lock:
            held.set()
            done.wait()

    holder = Thread(target=hold)
    holder.start()
    held.wait()
    child = get_context("fork").Process(target=Letters(), args=(["ab", "c"],))
    child.start()
    child.join(20)
    done.set()
    holder.join()
    if child.is_alive():
        child.kill()
    assert child.exitcode == 0
