"""LIBSVM's data format, against scikit-learn's and LIBSVM's own readers; subsets against their definition."""

import gzip
import os
import tracemalloc

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from mercer.io.libsvm import Range, load_data, load_model, save_data, subset


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 7)) * 10.0 ** rng.integers(-200, 200, size=(40, 7))
    X[rng.uniform(size=X.shape) < 0.5] = 0.0
    X[:, 6] = 1 / 3  # so that the last column shows up
    return X, rng.normal(size=40)


@pytest.mark.parametrize("name", ["data.txt", "data.gz", "data.bz2"])
@pytest.mark.parametrize("container", [np.asarray, csr_array, csr_matrix])
def test_round_trip_is_exact(tmp_path, data, name, container):
    X, y = data
    save_data(container(X), y, tmp_path / name)
    again, targets = load_data(tmp_path / name)
    assert (again.toarray() == X).all()
    assert (targets == y).all()


def test_reads_what_scikit_learn_writes_and_writes_what_it_reads(tmp_path, data):
    X, _ = data
    y = np.arange(40) % 3
    dump_svmlight_file(X, y, str(tmp_path / "theirs"), zero_based=False)
    ours, labels = load_data(tmp_path / "theirs")
    np.testing.assert_allclose(ours.toarray(), X, rtol=1e-15)
    assert (labels == y).all()
    save_data(X, y, tmp_path / "ours")
    theirs, labels = load_svmlight_file(str(tmp_path / "ours"))
    assert (theirs.toarray() == X).all()
    assert (labels == y).all()


def test_libsvm_reads_it(tmp_path, data):
    svmutil = pytest.importorskip("libsvm.svmutil", reason="libsvm-official is not installed")
    X, y = data
    save_data(X, y, tmp_path / "data")
    targets, rows = svmutil.svm_read_problem(str(tmp_path / "data"))
    assert list(targets) == y.tolist()
    assert [dict(row) for row in rows] == [{j + 1: v for j, v in enumerate(row) if v} for row in X.tolist()]


def test_stored_zeros_and_unsorted_columns(tmp_path):
    X = csr_array((np.array([2.0, 0.0, 1.0]), np.array([2, 1, 0]), np.array([0, 3])), shape=(1, 3))
    save_data(X, [1], tmp_path / "data")
    assert (tmp_path / "data").read_text() == "1 1:1 3:2\n"
    assert X.indices.tolist() == [2, 1, 0]


def test_width_and_type(tmp_path):
    (tmp_path / "data").write_text("1 2:0.5  # a comment\n\n-1\n")
    X, y = load_data(tmp_path / "data", n_features=5, dtype=np.float32)
    assert X.shape == (2, 5)
    assert X.dtype == np.float32
    assert y.tolist() == [1, -1]


FAULTS = {
    "target": ("1 1:1\nred 1:2\n", r"line 2: the target = 'red' must be a finite number"),
    "no colon": ("1 1:1 2\n", r"line 1: '2' must have the form index:value"),
    "index": ("1 a:1\n", r"line 1: index = 'a' must be an integer"),
    "index 0": ("1 1:1\n1 0:1\n", r"line 2: index 0 after 0; indices must start at 1"),
    "not ascending": ("1 3:1 2:1\n", r"line 1: index 2 after 3"),
    "twice": ("# head\n\n1 3:1 3:1\n", r"line 3: index 3 after 3"),
    "value": ("1 1:1\n1 1:1\n1 4:x\n", r"line 3: the value of feature 4 = 'x'"),
    "wide": ("1 1:1\n1 9:1\n", r"line 2: index 9 exceeds n_features = 8"),
    "huge index": ("1 1:1\n1 99999999999:1\n", r"line 2: index 99999999999 is larger than 2147483647, the maximum"),
    "endless index": (f"1 {'9' * 400}:1\n", r"line 1: index 9+ is larger"),
    "other digits": ("1 1:\u0663\n", r"line 1: the value of feature 1 = '\u0663' must be a finite number"),
    "zeros": ("1 1:1\n\0\0", "contains zero bytes; it is not text"),
    "empty": ("", "contains no samples"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_faults_are_placed(tmp_path, text, message):
    (tmp_path / "data").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_data(tmp_path / "data", n_features=8)


def test_a_compressed_file_that_breaks_off(tmp_path):
    content = gzip.compress(b"1 1:1\n" * 1000)
    changed = content[:20] + b"?" + content[21:]
    for name, broken in {"cut.gz": content[:-12], "changed.gz": changed, "not.gz": b"1 1:1"}.items():
        (tmp_path / name).write_bytes(broken)
        with pytest.raises(ValueError, match=f"{name}: is not a complete compressed file"):
            load_data(tmp_path / name)


def test_a_large_file_of_zeros_is_not_read_into_memory(tmp_path):
    path = tmp_path / "zeros"
    for start in ("", "1 1:1\n"):
        path.write_text(start)
        os.truncate(path, 1 << 26)
        for read in (load_data, load_model, Range.load):
            tracemalloc.start()
            try:
                with pytest.raises(ValueError, match=r"zero bytes|not belong in a LIBSVM model|a range file"):
                    read(path)
                assert tracemalloc.get_traced_memory()[1] < 1 << 24
            finally:
                tracemalloc.stop()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0], [2.0]], [1], "y has shape"),
        ([[1.0]], ["red"], "LabelEncoder"),
        ([[1.0]], [np.nan], "finite"),
        ([[np.nan]], [1], "NaN"),
    ],
)
def test_save_refuses(tmp_path, X, y, message):
    with pytest.raises(ValueError, match=message):
        save_data(X, y, tmp_path / "data")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("sizes", [[50, 30, 20], [90, 7, 3], [97, 1, 1, 1], [25, 25, 25, 25]])
@pytest.mark.parametrize("n", [4, 10, 33, 100])
def test_each_class_keeps_its_share(sizes, n):
    y = np.random.default_rng(1).permutation(np.repeat(np.arange(len(sizes)), sizes))
    (_, chosen), (_, rest) = subset(np.arange(100), y, n, random_state=0)
    count = np.bincount(chosen, minlength=len(sizes))
    exact = n * np.array(sizes) / 100
    assert count.sum() == n
    assert (count >= 1).all()
    assert (count <= np.maximum(1, np.ceil(exact))).all()
    if (exact >= 1).all():  # no class had to be lifted to one sample
        assert (count >= np.floor(exact)).all()
    assert len(rest) == 100 - n


@pytest.mark.parametrize("stratified", [True, False])
def test_subset_and_rest_share_the_data(stratified):
    X, y = np.arange(30.0)[:, None], np.arange(30) % 3
    (a, ya), (b, yb) = subset(X, y, 12, random_state=3, stratified=stratified)
    assert sorted([*a[:, 0], *b[:, 0]]) == list(range(30))
    for part, labels in ((a, ya), (b, yb)):
        assert (np.diff(part[:, 0]) > 0).all()
        assert (labels == part[:, 0] % 3).all()
    (again, _), _ = subset(X, y, 12, random_state=3, stratified=stratified)
    assert (again == a).all()


def test_random_subsets_of_regression_data_and_sparse_rows():
    X, y = csr_array(np.eye(10)), np.linspace(0, 1, 10)
    (a, ya), (b, _) = subset(X, y, 4, random_state=0, stratified=False)
    assert a.shape == (4, 10)
    assert b.shape == (6, 10)
    assert (a.toarray() @ y == ya).all()


def test_subset_refuses():
    with pytest.raises(ValueError, match="number of classes, 3"):
        subset(np.zeros(9), np.arange(9) % 3, 2)
    with pytest.raises(ValueError, match="n = 10 must be >= 1 and <= 9"):
        subset(np.zeros(9), np.arange(9) % 3, 10)


@pytest.mark.parametrize(
    "line", ["1_0 1:2", "nan 1:2", "inf 1:2", "1 1:1_0", "1 1_0:1", "1 1:nan", "1 1:-inf", "1 1:1e999"]
)
def test_numbers_that_libsvm_does_not_read_are_refused(line, tmp_path):
    (tmp_path / "data").write_text(f"1 1:2 # a_comment\n{line}\n")
    with pytest.raises(ValueError, match=r"data, line 2: .* must be (a finite number|an integer)\."):
        load_data(tmp_path / "data")
    (tmp_path / "data").write_text("1 1:2 # a_comment\n")
    assert load_data(tmp_path / "data")[1].tolist() == [1.0]
    (tmp_path / "data").write_text("1 1:1e300\n")
    with pytest.raises(ValueError, match="contains numbers that overflow in float32; read it as float64"):
        load_data(tmp_path / "data", dtype=np.float32)
