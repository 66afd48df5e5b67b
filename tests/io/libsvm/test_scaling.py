"""svm-scale's values and files, from LIBSVM itself (tests/oracles) and from scikit-learn's MinMaxScaler."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.preprocessing import MinMaxScaler

from mercer.io.libsvm import Range, load_data, scale
from mercer.testing import move


@pytest.fixture
def theirs(oracle):
    return oracle("libsvm_iris30")["scale"]


def test_values_of_svm_scale(tmp_path, theirs):
    (tmp_path / "scaled").write_text(theirs["scaled"])
    expected, _ = load_data(tmp_path / "scaled", n_features=5)
    ours, _ = scale(theirs["X"], -1, 2)
    np.testing.assert_allclose(ours, expected.toarray(), rtol=1e-5)  # svm-scale prints 6 digits


def test_file_of_svm_scale(tmp_path, theirs):
    (tmp_path / "theirs").write_text(theirs["range"])
    restored = Range.load(tmp_path / "theirs")
    X = theirs["X"]
    learned = Range.learn(X, -1, 2)
    assert (restored.apply(X) == learned.apply(X)).all()
    learned.save(tmp_path / "ours")
    ours = (tmp_path / "ours").read_text()
    assert [_values(line) for line in ours.splitlines()] == [_values(line) for line in theirs["range"].splitlines()]


def _values(line):
    return line if line == "x" else [float(word) for word in line.split()]


def test_agrees_with_min_max_scaler(xp):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(50, 4)), rng.normal(size=(9, 4))
    scaler = MinMaxScaler((-0.5, 2)).fit(X)
    ours, learned = scale(move(X, xp), -0.5, 2)
    assert type(ours) is type(move(X, xp))
    np.testing.assert_allclose(np.asarray(ours), scaler.transform(X), rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.asarray(learned.apply(move(new, xp))), scaler.transform(new), rtol=0, atol=1e-14)


def test_ends_are_exact_and_constant_features_vanish():
    X = np.random.default_rng(0).normal(size=(1000, 3)) * [0.1, 1e7, 0] + [0, 0, 5]
    scaled, _ = scale(X, 0.1, 0.7)
    assert (scaled[:, :2].min(axis=0) == 0.1).all()
    assert (scaled[:, :2].max(axis=0) == 0.7).all()
    assert (scaled[:, 2] == 0).all()


def test_single_precision_stays():
    scaled, _ = scale(np.array([[1.0], [2.0], [4.0]], dtype=np.float32))
    assert scaled.dtype == np.float32


@pytest.mark.parametrize("lower", [0, -1])
def test_sparse_like_dense(lower):
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, size=(40, 6)) * (rng.uniform(size=(40, 6)) < 0.3)
    expected, _ = scale(X, lower, 1)
    if lower == 0:  # 0 ↦ 0, nothing fills up
        ours, learned = scale(csr_array(X), lower, 1)
        assert ours.nnz == csr_array(X).nnz
    else:
        with pytest.warns(UserWarning, match="use lower=0"):
            ours, learned = scale(csr_array(X), lower, 1)
    assert issparse(ours)
    assert (ours.toarray() == expected).all()
    assert (learned.minimum == 0).all()


def test_features_without_a_range(tmp_path):
    learned = Range(np.array([0.0, 3.0]), np.array([2.0, 3.0]))
    assert learned.apply([[1.0, 3.0, 9.0], [2.0, 3.0, 9.0]]).tolist() == [[0, 0, 0], [1, 0, 0]]
    with pytest.warns(UserWarning, match="2 columns of X, first 1, vary"):
        assert learned.apply([[1.0, 3.0, 9.0], [2.0, 4.0, 8.0]]).tolist() == [[0, 0, 0], [1, 0, 0]]
    with pytest.raises(ValueError, match=r"X has 1 columns, but the range has 2; .* n_features=2"):
        learned.apply([[1.0]])


def test_targets_travel_with_the_file(tmp_path):
    y = np.array([3.0, 5.0, 11.0])
    _, target = scale(y[:, None], 0, 1)
    Range(np.zeros(2), np.array([1.0, 4.0]), target=target).save(tmp_path / "range")
    assert (tmp_path / "range").read_text() == "y\n0 1\n3 11\nx\n-1 1\n1 0 1\n2 0 4\n"
    again = Range.load(tmp_path / "range")
    assert again.target.apply(y[:, None])[:, 0].tolist() == [0, 0.25, 1]
    assert again.apply([[1.0, 2.0]]).tolist() == [[1, 0]]


FAULTS = {
    "empty": ("", r"line 1: a range file needs a line x"),
    "not a range": ("1 1:2\n", r"line 1: a range file needs a line x"),
    "no interval": ("x\n", r"line 1: expected 2 numbers"),
    "reversed": ("x\n1 -1\n", r"line 2: the interval \[1, -1\]"),
    "index": ("x\n-1 1\none 0 1\n", r"line 3: index = 'one'"),
    "huge": ("x\n-1 1\n99999999999 0 1\n", r"line 3: index 99999999999 is larger than 2147483647"),
    "order": ("x\n-1 1\n2 0 1\n2 0 1\n", r"line 4: index 2 after 2"),
    "turned": ("x\n-1 1\n1 2 1\n", r"line 3: the interval \[2, 1\] must start with its lower end"),
    "point": ("x\n1 1\n", r"line 2: the interval \[1, 1\] is a point"),
    "turned target": ("y\n-1 1\n2 1\nx\n-1 1\n", r"line 3: the interval \[2, 1\] must start with its lower end"),
    "wide": ("x\n-1 1\n2147483647 0 1\n", r"line 3: index 2147483647 means .* take 34\.4 GB; number only the features"),
    "short": ("x\n-1 1\n1 0\n", r"line 3: expected 2 numbers, found '0'"),
    "value": ("y\n0 1\n0 nan\nx\n-1 1\n", r"line 3: the value = 'nan'"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_faults_are_placed(tmp_path, text, message):
    (tmp_path / "range").write_text(text)
    with pytest.raises(ValueError, match=message):
        Range.load(tmp_path / "range")


def test_interval_is_checked():
    with pytest.raises(ValueError, match="upper = -1 must be > 1"):
        scale([[1.0]], 1, -1)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_what_floats_cannot_hold_is_refused(tmp_path, kind):
    """Differences of the largest numbers are none."""
    (tmp_path / "range").write_text("x\n-1 1\n1 -1e308 1e308\n")
    for mapping in (Range.load(tmp_path / "range").apply, lambda X: scale(X)[0], lambda X: scale(X, -1e308, 1e308)[0]):
        with pytest.raises(ValueError, match=r"Range: .* divide the data by a power of ten first"):
            mapping(kind([[-1e308], [0.5], [1e308]]))
    ours, _ = scale(kind([[-5e307], [2.5e307], [5e307]]), 0, 1)
    np.testing.assert_array_equal(ours.toarray() if issparse(ours) else ours, [[0.0], [0.75], [1.0]])


@pytest.mark.parametrize(("shape", "what"), [((2, 2**31 - 1), "the ranges of"), ((10**6, 10**4), "the result")])
def test_wide_sparse_matrices_are_refused_before_memory_is_taken(shape, what):
    X = csr_array(([1.0, 2.0], ([0, 1], [0, shape[1] - 1])), shape=shape)
    low = np.full(shape[1], 1.0) if what == "the result" else None
    with pytest.raises(ValueError, match=rf"Range: X has 2 nonzeros, but .* GB are needed for {what}"):
        scale(X) if low is None else Range(-low, 2 * low).apply(X)
