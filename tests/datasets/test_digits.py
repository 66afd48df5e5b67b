"""MNIST, USPS and the deskewing of digits."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from mercer.datasets import deskew, digits, load_mnist, load_usps
from mercer.datasets._source import Part

# the numbers of digits 0 to 9, as published
MNIST_TRAIN = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
MNIST_TEST = [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
USPS_TRAIN = [1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644]
USPS_TEST = [359, 264, 198, 166, 200, 160, 170, 147, 166, 177]


def write_idx(path, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    head = bytes([0, 0, 8, values.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in values.shape)
    path.write_bytes(gzip.compress(head + values.astype(np.uint8).tobytes()))


@pytest.fixture
def small(tmp_path, monkeypatch):
    """Three training digits and two for tests, 4 × 4."""
    rng = np.random.default_rng(0)
    for part, n in (("train", 3), ("t10k", 2)):
        write_idx(tmp_path / f"mnist/{part}-images-idx3-ubyte.gz", rng.integers(0, 256, (n, 4, 4)))
        write_idx(tmp_path / f"mnist/{part}-labels-idx1-ubyte.gz", np.arange(n) + 5)
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    return tmp_path


def test_the_scales_of_mnist_and_its_parts(small):
    raw = load_mnist(scale="raw", subset="all")
    assert raw.data.dtype == np.uint8 and raw.data.shape == (5, 16)
    assert raw.target.tolist() == [5, 6, 7, 5, 6]
    assert np.allclose(load_mnist(subset="all").data * 255, raw.data)
    assert np.allclose((load_mnist(subset="all", scale="signed").data + 1) * 127.5, raw.data)
    train, test = (load_mnist(subset=part, scale="raw", return_X_y=True) for part in ("train", "test"))
    assert np.array_equal(np.concatenate([train[0], test[0]]), raw.data)
    assert np.array_equal(np.concatenate([train[1], test[1]]), raw.target)
    assert np.array_equal(raw.images.reshape(5, 16), raw.data) and raw.images.shape == (5, 4, 4)
    assert raw.feature_names[5] == "pixel_1_1" and len(raw.filename) == 4
    assert "Licence" in raw.DESCR and "Source" in raw.DESCR


def test_unknown_parts_and_scales(small):
    with pytest.raises(ValueError, match="load_mnist: subset = 'validation' is unknown"):
        load_mnist(subset="validation")
    with pytest.raises(ValueError, match="load_usps: scale = 'raw' is unknown"):
        load_usps(scale="raw")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no gzip", id="not compressed"),
        pytest.param(gzip.compress(b"\0\0\x0d\3"), id="another type"),
        pytest.param(gzip.compress(b"\0\0\x08\1\0\0\0\7ab"), id="too short"),
    ],
)
def test_a_damaged_idx_file_is_named(small, content):
    (small / "mnist/train-labels-idx1-ubyte.gz").write_bytes(content)
    with pytest.raises(ValueError, match=r"load_mnist: .*train-labels-idx1-ubyte\.gz is damaged"):
        load_mnist()


def test_images_and_labels_of_other_numbers(small):
    write_idx(small / "mnist/train-labels-idx1-ubyte.gz", np.arange(2))
    with pytest.raises(ValueError, match="3 images and 2 labels"):
        load_mnist()


def test_mnist_has_its_digits(data_dir):
    for subset, counts in (("train", MNIST_TRAIN), ("test", MNIST_TEST)):
        X, y = load_mnist(subset=subset, scale="raw", return_X_y=True)
        assert np.bincount(y).tolist() == counts
        assert X.shape == (sum(counts), 784) and X.min() == 0 and X.max() == 255


def test_usps_has_its_digits(data_dir):
    train, test = (load_usps(subset=subset) for subset in ("train", "test"))
    assert np.bincount(train.target).tolist() == USPS_TRAIN
    assert np.bincount(test.target).tolist() == USPS_TEST
    assert train.data.min() == 0 and train.data.max() == 1 and train.images.shape == (7291, 16, 16)
    X, y = load_usps(subset="all", scale="signed", return_X_y=True)
    assert np.allclose((X + 1) / 2, np.concatenate([train.data, test.data]), atol=1e-7)
    assert np.array_equal(y, np.concatenate([train.target, test.target]))


@pytest.mark.long
def test_usps_from_the_files_of_its_publisher(data_dir, tmp_path, monkeypatch):
    parts = [load_usps(subset=subset, scale="signed") for subset in ("train", "test")]
    tables = [np.column_stack([part.target, part.data]) for part in parts]
    for name, table in zip(("a", "b"), tables, strict=True):
        np.savetxt(tmp_path / name, table, fmt="%.4f")
    monkeypatch.delenv("MERCER_DATA")
    local = tuple(Part(f"file://localhost{tmp_path / name}") for name in ("a", "b"))
    monkeypatch.setattr(digits, "USPS", replace(digits.USPS, parts=local))
    for part, subset in zip(parts, ("train", "test"), strict=True):
        again = load_usps(subset=subset, scale="signed", data_home=tmp_path / "home")
        assert np.allclose(again.data, part.data, atol=1e-6) and np.array_equal(again.target, part.target)
    tables[1][7, 100] += 0.01
    np.savetxt(tmp_path / "b", tables[1], fmt="%.4f")
    with pytest.raises(OSError, match="the digits do not match the checksum"):
        load_usps(data_home=tmp_path / "other")


def moments(X):
    """Mean row and column from the middle, their covariance and the mass, by definition."""
    side = int(np.sqrt(X.shape[1]))
    V = X.reshape(-1, side, side)
    r, c = np.mgrid[:side, :side] - (side - 1) / 2
    mass = V.sum(axis=(1, 2))
    mean_r, mean_c = (V * r).sum(axis=(1, 2)) / mass, (V * c).sum(axis=(1, 2)) / mass
    dr, dc = r - mean_r[:, None, None], c - mean_c[:, None, None]
    return mean_r, mean_c, (V * dr * dc).sum(axis=(1, 2)) / mass, (V * dr**2).sum(axis=(1, 2)) / mass


@pytest.fixture
def blobs():
    """Random ink in the middle of images, far enough from the border that no shear reaches it."""
    V = np.zeros((20, 41, 41))
    V[:, 15:25, 14:25] = np.random.default_rng(0).uniform(size=(20, 10, 11)) ** 4
    return V.reshape(20, -1)


def test_deskewed_ink_is_in_the_middle_and_upright(blobs):
    """All is exact but what interpolation adds to the variance of rows: φ(1 − φ), with the fraction φ of the shift."""
    r, _, covariance, variance = moments(blobs)
    upright = deskew(blobs)
    new_r, new_c, new_covariance, new_variance = moments(upright)
    added = (r % 1) * (1 - r % 1)
    assert np.allclose(upright.sum(axis=1), blobs.sum(axis=1))
    assert np.allclose([new_r, new_c], 0, atol=1e-12)
    assert np.allclose(new_variance, variance + added)
    assert np.allclose(new_covariance, -covariance / variance * added)


def test_deskewing_undoes_a_shear_and_a_shift():
    r, c = np.mgrid[:41, :41] - 20.0
    stroke = np.exp(-(r**2) / 50 - c**2 / 8)
    leaning = np.exp(-((r - 2) ** 2) / 50 - (c + 1 - 0.5 * (r - 2)) ** 2 / 8)
    assert np.abs(leaning - stroke).max() > 0.5
    # linear interpolation between columns errs by an eighth of the second derivative at most, here 1/4
    assert np.abs(deskew(leaning.reshape(1, -1)) - stroke.reshape(1, -1)).max() <= 1 / 32


def test_types_and_empty_images():
    X = np.zeros((3, 25), np.uint8)
    X[1, 12] = X[2, 10] = 200  # a point has no direction; the other is left of the middle
    out = deskew(X)
    assert out.dtype == np.float32 and deskew(X.astype(float)).dtype == np.float64
    assert np.array_equal(out[0], np.zeros(25))
    assert np.array_equal(out[1], out[2]) and out[1, 12] == 200 and out[1].sum() == 200


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros((2, 24)), "square image"),
        (np.zeros((2, 5, 5)), "square image"),
        (-np.ones((2, 25)), "nonnegative"),
        (np.full((2, 25), np.nan), "nonnegative"),
    ],
)
def test_what_cannot_be_deskewed(X, message):
    with pytest.raises(ValueError, match=f"deskew: .*{message}"):
        deskew(X)
