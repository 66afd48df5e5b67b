"""Lists of strings, trees, sets and sequences: what is accepted, what is refused and how, and what is the same."""

import numpy as np
import pytest

from mercer.domains import Bags, Sequences, Strings, Trees, Vectors


@pytest.mark.parametrize("form", [list, tuple, np.array, lambda x: np.array(x, dtype=object)])
def test_strings_in_any_sequence(form):
    assert Strings().check(form(["ab", "", "ü"]), "test") == ["ab", "", "ü"]


def test_a_column_of_strings():
    pd = pytest.importorskip("pandas")
    assert Strings().check(pd.Series(["ab", "c"], index=[7, 9]), "test") == ["ab", "c"]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("abc", "X is a str; give a sequence with one string per sample"),
        ([], "X is empty"),
        (["a", None], r"X\[1\] is None, expected a string; fill in missing values"),
        (["a", float("nan")], r"X\[1\] is nan, expected a string; fill in missing values"),
        ([b"a"], r"X\[0\] is bytes, expected a string; convert"),
        ([3.5], r"X\[0\] is 3.5, expected a string; convert"),
        (7, "X is a int"),
    ],
)
def test_refused_strings(X, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Strings().check(X, "test")


@pytest.mark.parametrize("domain", [Strings(), Trees()], ids=repr)
def test_samples_are_distinct_and_accepted(domain):
    X = domain.sample(np.random.default_rng(0), 30)
    assert len({domain.key(x) for x in X}) == 30
    assert domain.check(X, "test") == X


def test_bags():
    X = [np.zeros((2, 3)), np.ones((1, 3))]
    checked = Bags(Vectors()).check(X, "test")
    assert [x.shape for x in checked] == [(2, 3), (1, 3)] and Bags(Vectors()).dimension(checked) == 3
    assert Bags(Strings()).check([["a", "b"], ["c"]], "test") == [["a", "b"], ["c"]]
    with pytest.raises(ValueError, match=r"the samples of X have \['2', '3'\] columns"):
        Bags(Vectors()).check([np.zeros((2, 3)), np.ones((1, 2))], "test")
    with pytest.raises(ValueError, match=r"X\[1\] has shape \(0, 3\)"):
        Bags(Vectors()).check([np.zeros((2, 3)), np.ones((0, 3))], "test")
    with pytest.raises(TypeError, match="sparse"):
        from scipy.sparse import csr_array

        Bags(Vectors()).check(csr_array(np.eye(2)), "test")


def test_sequences_of_numbers_are_columns():
    checked = Sequences().check([[1.0, 2.0, 3.0], np.array([4.0])], "test")
    assert [x.shape for x in checked] == [(3, 1), (1, 1)]
    assert [x.shape for x in Sequences().check(np.zeros((2, 5, 3)), "test")] == [(5, 3)] * 2
    assert [x.shape for x in Sequences().check(np.zeros((2, 5)), "test")] == [(5, 1)] * 2
    with pytest.raises(ValueError, match=r"X\[1\] contains NaN"):
        Sequences().check([[1.0], [np.nan]], "test")


def test_content():
    bags = Bags(Vectors())
    A = np.arange(6.0).reshape(3, 2)
    assert bags.key(A) == bags.key(A.copy()) != bags.key(A.reshape(2, 3))
    assert bags.key(A) != bags.key(A.astype("float32")) and bags.key(A[:, ::-1]) != bags.key(A)
    assert bags.key(np.asfortranarray(A)) == bags.key(A)
    assert Bags(Strings()).key(["a", "b"]) == ("a", "b")


@pytest.mark.parametrize("domain", [Strings(), Trees(), Sequences(), Bags(Strings())], ids=repr)
def test_a_table_is_no_sequence(domain):
    """As a list it would be the names of its columns."""
    pd = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="X is a table; give one column"):
        domain.check(pd.DataFrame({"text": ["a", "b"]}), "test")


def test_a_column_with_gaps_or_more_than_one():
    pd = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match=r"X\[1\] is <NA>, expected a string; fill in missing values"):
        Strings().check(pd.Series(["a", None], dtype="string"), "test")
    with pytest.raises(TypeError, match=r"X\[0\] is \['a'\], expected a string; give one column"):
        Strings().check(np.array([["a"], ["b"]]), "test")


def test_trees_are_known_by_their_content_however_deep():
    key = Trees().key
    assert len({key(t) for t in ["a", ("a",), ("a", "b"), ("a", ("b",)), ("a", "b", "b"), ("a", ("b", "b"))]}) == 6
    assert key(("a", ("b", "c"), "d")) != key(("a", ("b", "c", "d")))
    one, other = "x", "x"
    for _ in range(5000):
        one, other = ("A", one), ("A", other)
    assert key(one) == key(other)


def test_equal_objects_have_the_same_content_as_one_twice():
    word = "".join(["a", "b"])
    A, B = (np.array([word, other], dtype=object) for other in (word, "".join(["a", "b"])))
    assert Bags(Strings()).key(A) == Bags(Strings()).key(B)
