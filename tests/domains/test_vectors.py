"""Domains: check, size, take, join, centres, dimension, sample."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse

from mercer.domains import Anything, Categories, Domain, Indices, Product, Rows, Vectors, take

rng = np.random.default_rng(0)
WHO = "Someone"


@pytest.mark.parametrize("index", [slice(1, 3), np.array([1, 2]), [1, 2]])
def test_take_from_anything(index, xp):
    A = np.arange(12.0).reshape(4, 3)
    np.testing.assert_array_equal(np.asarray(take(xp.asarray(A), index)), A[1:3])
    np.testing.assert_array_equal(take(csr_array(A), index).toarray(), A[1:3])
    assert take(list("abcd"), index) == ["b", "c"]
    frame = pd.DataFrame(A, index=[9, 8, 7, 6])
    np.testing.assert_array_equal(take(frame, index).to_numpy(), A[1:3])
    np.testing.assert_array_equal(np.asarray(take(xp.asarray(A[:, 0]), index)), A[1:3, 0])


DOMAINS = [
    Anything(),
    Vectors(),
    Vectors(lower=0.0),
    Vectors(0.0, 1.0),
    Vectors(columns=2),
    Categories(),
    Indices(20),
    Product([Vectors(), Indices(20)]),
]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_samples_pass_the_check_and_split(domain):
    X = domain.check(domain.sample(rng, 9), WHO)
    assert domain.size(X) == 9
    joined = domain.join([domain.take(X, slice(0, 4)), domain.take(X, np.arange(4, 9))])
    for a, b in zip(joined, X, strict=True) if isinstance(X, tuple) else [(joined, X)]:
        np.testing.assert_array_equal(a, b)
    assert domain.centres(X) is X


def test_value_semantics():
    assert Vectors(0.0) == Vectors(lower=0.0) != Vectors() and Indices(3) != Indices(4) and Vectors() != Anything()
    assert Product([Vectors(), Rows()]) == Product([Vectors(), Rows()])
    assert repr(Vectors(lower=0.0, columns=2)) == "Vectors(lower=0.0, sparse=False, columns=2)"
    with pytest.raises(TypeError, match="unhashable"):
        hash(Vectors())


def test_a_domain_must_be_written():
    for call in (lambda: Domain().check([1], WHO), lambda: Domain().sample(rng, 1)):
        with pytest.raises(NotImplementedError):
            call()
    assert Domain().size([1, 2]) == 2 and Domain().join([[1], [2, 3]]) == [1, 2, 3] and Domain().dimension([1]) is None


# ---- Anything


def test_anything():
    words = ["a", "b"]
    assert Anything().check(words, WHO) is words
    assert Anything().join([words, ("c",)]) == ["a", "b", "c"]
    assert Anything().dimension(np.ones((2, 5))) == 5 and Anything().dimension(words) is None


@pytest.mark.parametrize("bad", ["abc", b"abc", 3, None, np.array(1.0)])
def test_anything_needs_a_sequence(bad):
    with pytest.raises(TypeError, match=r"Someone: X is a \w+; give a sequence with one entry per sample"):
        Anything().check(bad, WHO)


def test_anything_is_not_empty():
    with pytest.raises(ValueError, match="Someone: W is empty; give at least one sample"):
        Anything().check([], WHO, "W")


# ---- Vectors


def test_vectors_keep_library_and_type(xp):
    for dtype in (xp.float32, xp.float64):
        A = xp.asarray([[1.0, 2.0]], dtype=dtype)
        B = Vectors().check(A, WHO)
        assert type(B) is type(A) and B.dtype == dtype
    assert Vectors().check(xp.asarray([[1, 2]]), WHO).dtype == xp.float64
    with pytest.raises(ValueError, match="Someone: X contains NaN at row 0, column 1"):
        Vectors().check(xp.asarray([[1.0, float("nan")]]), WHO)
    with pytest.raises(ValueError, match=r"Someone: X has shape \(2,\)"):
        Vectors().check(xp.asarray([1.0, 2.0]), WHO)
    with pytest.raises(ValueError, match="Someone: X is complex"):
        Vectors().check(xp.asarray([[1j]]), WHO)


def test_vectors_whose_sum_overflows_are_finite():
    big = np.full((2, 2), 1e308)
    with np.errstate(over="ignore"):
        assert Vectors().check(big, WHO) is big


@pytest.mark.parametrize(
    ("domain", "bad", "text"),
    [
        (
            Vectors(lower=0.0),
            [[1.0], [-2.0]],
            "Someone: .*X holds -2, but must be >= 0; shift or rescale the data first",
        ),
        (Vectors(upper=1.0), [[1.0], [2.5]], "Someone: X holds 2.5, but must be <= 1; shift or rescale"),
        (Vectors(columns=2), [[1.0]], r"Someone: X has 1 columns, expected 2; select with .on\(columns\)"),
        (Vectors(lower=0.0, sparse=True), csr_array([[0.0, -1.0]]), "X holds -1, but must be >= 0"),
    ],
)
def test_vectors_within_bounds(domain, bad, text):
    with pytest.raises(ValueError, match=text):
        domain.check(bad, WHO)


def test_sparse_vectors():
    S = csr_array([[0, 1], [2, 0]])
    checked = Vectors(sparse=True).check(S, WHO)
    assert issparse(checked) and checked.dtype == np.float64 and checked.format == "csr"
    joined = Vectors(sparse=True).join([checked, checked[:1]])
    assert joined.shape == (3, 2) and joined.format == "csr"
    with pytest.raises(TypeError, match=r"Someone: X is sparse, .* call X.toarray\(\) first"):
        Vectors().check(S, WHO)
    empty = Vectors(lower=0.0, sparse=True).check(csr_array((2, 3)), WHO)
    assert empty.shape == (2, 3)


def test_numbers_in_object_arrays():
    assert Vectors().check(np.array([[1, 2.5]], dtype=object), WHO).dtype == np.float64


# ---- Categories


def test_categories():
    assert Categories().check(["a", "b"], WHO).shape == (2, 1)
    assert Categories().check([["a", "x"], ["b", "y"]], WHO).shape == (2, 2)
    assert Categories().dimension(np.array([["a", "x"]])) == 2


@pytest.mark.parametrize("bad", ["abc", 3, csr_array(np.eye(2))])
def test_categories_are_arrays_of_labels(bad):
    with pytest.raises(TypeError, match=r"Someone: X is a .*; give an array of labels, one row per sample"):
        Categories().check(bad, WHO)


@pytest.mark.parametrize("bad", [[], np.ones((2, 2, 2)), np.ones((2, 0))])
def test_shapes_of_categories(bad):
    with pytest.raises(ValueError, match=r"Someone: X has shape .*, expected"):
        Categories().check(bad, WHO)


@pytest.mark.parametrize(
    "bad", [[1.0, np.nan], np.array(["a", None], dtype=object), np.array([["a", np.nan]], dtype=object)]
)
def test_missing_labels(bad):
    with pytest.raises(ValueError, match="Someone: X contains missing labels; name them"):
        Categories().check(bad, WHO)


# ---- Indices and Rows


def test_indices(xp):
    i = xp.asarray([2, 0, 2])
    assert Indices(3).check(i, WHO) is i
    assert Indices(3).check([[1], [2]], WHO).shape == (2,)
    with pytest.raises(ValueError, match="Someone: X holds 3, outside the domain 0 … 2"):
        Indices(3).check(xp.asarray([3]), WHO)
    for bad in (xp.asarray([1.0]), xp.asarray([[0, 1]]), np.zeros(0, dtype=int), "ab"):
        with pytest.raises(TypeError, match="Someone: X must be a non-empty vector of integers in 0 … 2"):
            Indices(3).check(bad, WHO)


def test_rows(xp):
    K = Rows().check(xp.asarray(Rows().sample(rng, 4)), WHO)
    np.testing.assert_array_equal(np.asarray(Rows().centres(K)), np.arange(4))
    assert Rows().dimension(K) is None
    assert Rows().join([K, K[:1, :]]).shape == (5, 4)
    with pytest.raises(ValueError, match=r"Precomputed: the training matrix has shape \(3, 4\); it must be square"):
        Rows().centres(K[:3, :])
    with pytest.raises(ValueError, match="Precomputed: the training matrix is not symmetric"):
        Rows().centres(xp.asarray([[1.0, 2.0], [3.0, 1.0]]))


# ---- Product


def test_products():
    domain = Product([Vectors(), Categories()])
    A, B = domain.check([([1.0, 2.0], "a"), ([3.0, 4.0], "b")], WHO)
    np.testing.assert_array_equal(A, [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(B, [["a"], ["b"]])
    assert domain.size((A, B)) == 2


@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (
            np.ones((2, 2)),
            TypeError,
            "Someone: X must be a tuple of 2 collections or a list of tuples of 2 entries",
        ),
        ([], TypeError, "X must be a tuple of 2 collections"),
        ([(1, 2, 3)], TypeError, "X must be a tuple of 2 collections"),
        ((np.ones((2, 1)),), ValueError, "X has 1 collections, expected 2"),
        ((np.ones((2, 1)), [0]), ValueError, r"the collections of X have sizes \[2, 1\]; they must be equal"),
        ((np.ones(2), [0, 1]), ValueError, r"Someone: X\[0\] has shape \(2,\)"),
    ],
)
def test_products_of_the_wrong_form(bad, error, text):
    with pytest.raises(error, match=text):
        Product([Vectors(), Indices(3)]).check(bad, WHO)


def test_centres_of_products():
    domain = Product([Vectors(), Rows()])
    X = (np.ones((2, 1)), np.eye(2))
    C = domain.centres(X)
    assert C[0] is X[0]
    np.testing.assert_array_equal(C[1], [0, 1])


@pytest.mark.parametrize(
    ("dtype", "form"), [(np.longdouble, np.asarray), (">f8", np.asarray), (np.longdouble, csr_array)]
)
def test_wide_types_become_double(dtype, form):
    A = np.arange(6.0).reshape(3, 2) + 1 / 3
    checked = Vectors(sparse=True).check(form(A.astype(dtype)), WHO)
    assert checked.dtype == np.float64 and checked.dtype.isnative
    np.testing.assert_array_equal(checked.toarray() if issparse(checked) else checked, A)


@pytest.mark.parametrize("dtype", [np.float16, ">f4", ">f2"])
def test_narrow_types_become_single(dtype):
    assert Vectors().check(np.ones((2, 2), dtype=dtype), WHO).dtype == np.float32


@pytest.mark.parametrize("domain", [Vectors(), Categories(), Rows()], ids=repr)
def test_masked_entries_are_refused(domain):
    A = np.ma.masked_array(np.eye(2), mask=[[False, True], [False, False]])
    with pytest.raises(ValueError, match=f"{WHO}: X has masked entries"):
        domain.check(A, WHO)
    np.testing.assert_array_equal(domain.check(np.ma.masked_array(np.eye(2)), WHO), np.eye(2))


@pytest.mark.parametrize("dtype", ["timedelta64[s]", "datetime64[s]", [("a", float)]])
def test_times_and_records_are_no_numbers(dtype):
    with pytest.raises(
        TypeError,
        match=r"expected numbers; (divide them by a unit|convert them to elapsed time|give one column for each field)",
    ):
        Vectors().check(np.ones((2, 2)).astype("int64").astype(dtype), WHO)


def test_categories_of_unequal_length():
    with pytest.raises(ValueError, match=f"{WHO}: X has rows of unequal length"):
        Categories().check([["a", "b"], ["c"]], WHO)


def test_a_sparse_matrix_with_repeated_entries_is_left_as_it_is():
    data, columns, starts = np.array([1.0, 2.0, 3.0]), np.array([1, 1, 0]), np.array([0, 2, 3])
    X = csr_array((data.copy(), columns.copy(), starts.copy()), shape=(2, 2))
    checked = Vectors(sparse=True).check(X, WHO)
    assert checked.has_canonical_format and checked.data.tolist() == [3.0, 3.0]
    for mine, before in ((X.data, data), (X.indices, columns), (X.indptr, starts)):
        np.testing.assert_array_equal(mine, before)


def test_sparse_rows_in_any_order_have_distinct_columns():
    X = csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 0]), np.array([0, 2, 3])), shape=(2, 2))
    loose, strict = Vectors(sparse=True), Vectors(sparse=True)
    loose.ordered = False
    assert loose.check(X, WHO).indices.tolist() == [1, 0, 0] and strict.check(X, WHO).indices.tolist() == [0, 1, 0]
    X.indices[1] = 1
    assert loose.check(X, WHO).toarray().tolist() == [[0.0, 3.0], [3.0, 0.0]] and X.data.tolist() == [1.0, 2.0, 3.0]


def test_values_near_the_largest_number_are_values():
    X = np.finfo(float).max * np.array([[1.0, 0.9], [-1.0, 0.8]])
    for sample in (X, np.abs(X)):
        assert Vectors().check(sample, "test") is sample
