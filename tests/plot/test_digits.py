"""The mosaic against the images, and the captions against the labels."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_digits

from mercer.plot import DigitsDisplay


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def test_first_hundred(digits, ax):
    display = DigitsDisplay.from_images(digits.data, ax=ax)
    drawn = display.image_.get_array()
    assert len(display.images) == 100
    covered = np.zeros(drawn.shape, dtype=bool)
    for j in range(100):
        assert (drawn[display.cell(j)] == digits.images[j]).all()
        covered[display.cell(j)] = True
    assert covered.sum() == 100 * 64
    assert np.isnan(display.mosaic[~covered]).all()
    rows, columns = display.cell(57)
    assert rows.start == 5 * display.cell(10)[0].start
    assert columns.start == 7 * display.cell(1)[1].start


def test_shapes_and_captions(ax):
    images = np.arange(24.0).reshape(4, 6)
    display = DigitsDisplay.from_images(images, shape=(2, 3), columns=3, captions="wxyz", ax=ax, n=3)
    assert (display.mosaic[display.cell(2)] == [[12, 13, 14], [15, 16, 17]]).all()
    assert [t.get_text() for t in display.captions_] == ["w", "x", "y"]
    rows, columns = display.cell(1)
    assert display.captions_[1].get_position()[0] == pytest.approx((columns.start + columns.stop - 1) / 2)
    assert display.captions_[1].get_position()[1] < rows.start


def test_versions_of_the_same_digits(digits, ax):
    noisy = digits.data[:12] + 9 * np.random.default_rng(0).normal(size=(12, 64))
    display = DigitsDisplay.from_rows({"original": digits.data[:12], "noisy": noisy}, n=5, ax=ax, text_kw={"size": 20})
    assert (display.mosaic[display.cell(3)] == digits.images[3]).all()
    assert (display.mosaic[display.cell(5 + 3)] == noisy[3].reshape(8, 8).clip(0, 16)).all()
    assert [t.get_text() for t in display.rows_] == ["original", "noisy"]
    assert display.rows_[0].get_fontsize() == 20


def test_misclassified(digits, ax):
    y = digits.target[:50]
    predicted = y.copy()
    predicted[[3, 17, 20]] = [8, 1, 6]
    display = DigitsDisplay.from_predictions(digits.data[:50], y, predicted, n=2, ax=ax)
    assert [t.get_text() for t in display.captions_] == [f"{y[3]} → 8", f"{y[17]} → 1"]
    assert (display.mosaic[display.cell(1)] == digits.images[17]).all()
    assert ax.get_title(loc="left") == "3 of 50 misclassified (6.00%)"


def test_keywords_and_own_figure(digits):
    from matplotlib import pyplot as plt

    plt.switch_backend("agg")
    display = DigitsDisplay.from_images(digits.images, n=4, image_kw={"cmap": "magma"})
    assert display.image_.get_cmap().name == "magma"
    assert display.columns == 4
    display.figure_.draw_without_rendering()
    plt.close(display.figure_)


def test_refuses(digits, ax):
    with pytest.raises(ValueError, match="63 pixels do not form images of 8 × 8"):
        DigitsDisplay.from_images(digits.data[:, :63], ax=ax)
    with pytest.raises(ValueError, match="must be numbers of shape"):
        DigitsDisplay.from_images(np.array(["a"]), ax=ax)
    with pytest.raises(ValueError, match="n = 0 must be >= 1"):
        DigitsDisplay.from_images(digits.data, n=0, ax=ax)
    with pytest.raises(ValueError, match="2 captions for 3 images"):
        DigitsDisplay.from_images(digits.data, n=3, captions="ab", ax=ax)
    with pytest.raises(ValueError, match="equal number and size"):
        DigitsDisplay.from_rows({"a": digits.data[:3], "b": digits.data[:2]}, ax=ax)
    with pytest.raises(ValueError, match="all 1797 predictions are correct"):
        DigitsDisplay.from_predictions(digits.data, digits.target, digits.target, ax=ax)
    with pytest.raises(ValueError, match="they must agree"):
        DigitsDisplay.from_predictions(digits.data, digits.target, digits.target[:3], ax=ax)


def test_long_captions_keep_apart(digits, ax):
    wrong = np.full(10, "twenty-three")
    display = DigitsDisplay.from_predictions(digits.data[:10], np.full(10, "seventy-seven"), wrong, ax=ax)
    ax.figure.draw_without_rendering()
    places = [caption.get_window_extent() for caption in display.captions_]
    assert all(a.x1 < b.x0 for a, b in pairwise(places))


@pytest.mark.parametrize("rows", [None, [np.ones((1, 4))], np.ones((1, 4))], ids=["none", "list", "array"])
def test_rows_have_names(rows):
    with pytest.raises(TypeError, match=r"^DigitsDisplay: rows = .* must be a dict, such as {'original': images}"):
        DigitsDisplay.from_rows(rows)
