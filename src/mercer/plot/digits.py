"""Grids of small images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from .._array import host
from .._errors import check_number, shown
from .._palette import INK
from ..types import Array, Axis
from ._base import Display, Keywords, plain, style

GAP = 0.14  # space between images, as a fraction of an image
CAPTION = 0.42  # space above images with a caption, as a fraction of an image


class DigitsDisplay(Display):
    """A grid of small images: the first hundred, versions of the same digits, or the misclassified.

    Use `from_images`, `from_rows` or `from_predictions`.

    Parameters
    ----------
    images : array of shape (n_images, height, width)
    columns : int >= 1
    captions : sequence of str, optional
        Drawn above each image.
    rows : sequence of str, optional
        Names of the rows.
    title : str

    Attributes
    ----------
    ax_, figure_
        The axes and the figure.
    mosaic : array
        All images in one array, with NaN between them; `cell` gives the position of an image.
    image_ : AxesImage
        The mosaic.
    captions_ : list of Text
    rows_ : list of Text

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from sklearn.datasets import load_digits
    >>> display = DigitsDisplay.from_images(load_digits().data, n=20, ax=Figure().subplots())
    >>> bool((display.mosaic[display.cell(11)] == load_digits().images[11]).all())
    True
    """

    def __init__(
        self,
        *,
        images: np.ndarray,
        columns: int = 10,
        captions: Sequence[str] | None = None,
        rows: Sequence[str] | None = None,
        title: str = "",
    ):
        self.images, self.columns, self.captions, self.rows, self.title = images, columns, captions, rows, title
        h, w = images.shape[1:]
        gap = max(1, round(GAP * max(h, w)))
        self._above = max(2, round(CAPTION * h)) if captions is not None else 0
        self._step = (h + gap + self._above, w + gap)
        count = -(-len(images) // columns)
        self.mosaic = np.full((count * self._step[0] - gap, columns * self._step[1] - gap), np.nan)
        for j, image in enumerate(images):
            self.mosaic[self.cell(j)] = image

    def cell(self, j: int) -> tuple[slice, slice]:
        """The position of image j in the mosaic."""
        (down, right), (h, w) = self._step, self.images.shape[1:]
        top, left = (j // self.columns) * down + self._above, (j % self.columns) * right
        return slice(top, top + h), slice(left, left + w)

    @classmethod
    def from_images(
        cls,
        images: Any,
        *,
        n: int = 100,
        columns: int = 10,
        shape: tuple[int, int] | None = None,
        captions: Any = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Draw the first images of a collection.

        Parameters
        ----------
        images : array of shape (n_images, n_pixels) or (n_images, height, width)
        n : int >= 1
            Maximum number of images.
        columns : int >= 1
        shape : (height, width), optional
            For images given as rows; square by default.
        captions : sequence, optional
            A caption for each image, such as its label.
        ax, **options
            Passed to `plot`.
        """
        check_number(cls.__name__, "n", n, at_least=1, integer=True)
        check_number(cls.__name__, "columns", columns, at_least=1, integer=True)
        A = _images(images, shape)[:n]
        words = None if captions is None else [str(c) for c in list(captions)[:n]]
        if words is not None and len(words) != len(A):
            raise ValueError(f"{cls.__name__}: {len(words)} captions for {len(A)} images.")
        return cls(images=A, columns=min(columns, len(A)), captions=words).plot(ax=ax, **options)

    @classmethod
    def from_rows(
        cls,
        rows: Mapping[str, Any],
        *,
        n: int = 10,
        shape: tuple[int, int] | None = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Draw several versions of the same images in rows: original, noisy, denoised.

        Parameters
        ----------
        rows : dict of str to images
            As in `from_images`, of equal length. Values are clipped to the range of the first row, so that all rows
            have the same grey scale.
        n : int >= 1
            Maximum number of images per row.
        shape, ax, **options
            As in `from_images`.
        """
        check_number(cls.__name__, "n", n, at_least=1, integer=True)
        if not isinstance(rows, Mapping):
            raise TypeError(f"{cls.__name__}: rows = {shown(rows)} must be a dict, such as {{'original': images}}.")
        stacks = [_images(images, shape) for images in rows.values()]
        if not stacks or len({stack.shape for stack in stacks}) > 1:
            shapes = ", ".join(f"{name} {stack.shape}" for name, stack in zip(rows, stacks, strict=True)) or "none"
            raise ValueError(f"{cls.__name__}: the rows must have images of equal number and size, not {shapes}.")
        low, high = stacks[0].min(), stacks[0].max()
        images = np.concatenate([stack[:n].clip(low, high) for stack in stacks])
        return cls(images=images, columns=min(n, len(stacks[0])), rows=list(rows)).plot(ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        images: Any,
        y_true: Array,
        y_pred: Array,
        *,
        n: int = 40,
        columns: int = 10,
        shape: tuple[int, int] | None = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Draw the misclassified images with their true and predicted labels.

        Parameters
        ----------
        images
            As in `from_images`.
        y_true, y_pred : arrays of shape (n_images,)
        n : int >= 1
            Maximum number of images; the title gives the total.
        columns, shape, ax, **options
            As in `from_images`.
        """
        check_number(cls.__name__, "n", n, at_least=1, integer=True)
        check_number(cls.__name__, "columns", columns, at_least=1, integer=True)
        A, truth, found = _images(images, shape), host(y_true), host(y_pred)
        if truth.shape != (len(A),) or found.shape != (len(A),):
            raise ValueError(
                f"{cls.__name__}: {len(A)} images, y_true of shape {truth.shape} and y_pred of shape {found.shape}; "
                "they must agree."
            )
        wrong = np.flatnonzero(truth != found)
        if not len(wrong):
            raise ValueError(f"{cls.__name__}: all {len(A)} predictions are correct; there is nothing to draw.")
        title = f"{len(wrong)} of {len(A)} misclassified ({len(wrong) / len(A):.2%})"
        wrong = wrong[:n]
        captions = [f"{truth[i]} → {found[i]}" for i in wrong]
        display = cls(images=A[wrong], columns=min(columns, len(wrong)), captions=captions, title=title)
        return display.plot(ax=ax, **options)

    def plot(self, ax: Axis = None, *, image_kw: Keywords = None, text_kw: Keywords = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None creates a figure.
        image_kw, text_kw : dict, optional
            For ``Axes.imshow`` of the mosaic, and ``Axes.text`` of captions and row names.
        """
        height, width = self.mosaic.shape
        longest = max((len(caption) for caption in self.captions or []), default=0)
        size = max(0.62, 0.085 * longest) * self.columns
        ax = self._axes(ax, (max(3.0, size + (0.9 if self.rows else 0.2)), size * height / width + 0.4))
        self.image_ = ax.imshow(self.mosaic, **{"cmap": "gray_r", "interpolation": "nearest", **(image_kw or {})})
        room = 72 * ax.bbox.width / ax.figure.dpi / self.columns  # points above an image; a letter is 0.6 of its size
        small = min(8.0, room / (0.6 * longest)) if longest else 8.0
        words = style(text_kw, color=INK, fontsize=small, horizontalalignment="center", verticalalignment="bottom")
        self.captions_ = []
        for j, caption in enumerate(self.captions or []):
            rows, columns = self.cell(j)
            middle = (columns.start + columns.stop - 1) / 2
            self.captions_.append(ax.text(middle, rows.start - 0.8, plain(caption), **words))
        words = style(text_kw, color=INK, fontsize=9, horizontalalignment="right", verticalalignment="center")
        self.rows_ = []
        for j, name in enumerate(self.rows or []):
            rows, _ = self.cell(j * self.columns)
            middle = (rows.start + rows.stop - 1) / 2
            self.rows_.append(ax.text(-1.5, middle, plain(name), **words))
        if self.title:
            ax.set_title(self.title, loc="left", fontsize=11)
        ax.set_axis_off()
        return self


def _images(images: Any, shape: tuple[int, int] | None) -> np.ndarray:
    """Images as an array of shape (n_images, height, width)."""
    A = host(images)
    if A.dtype.kind not in "fiub" or A.ndim not in (2, 3) or not A.size:
        raise ValueError(
            f"DigitsDisplay: images of shape {A.shape} and type {A.dtype} must be numbers of shape (n_images, "
            "n_pixels) or (n_images, height, width)."
        )
    A = A.astype(np.float64)
    if A.ndim == 3:
        return A
    side = round(A.shape[1] ** 0.5)
    shape = (side, side) if shape is None else shape
    if shape[0] * shape[1] != A.shape[1]:
        raise ValueError(
            f"DigitsDisplay: {A.shape[1]} pixels do not form images of {shape[0]} × {shape[1]}; pass shape."
        )
    return A.reshape(-1, *shape)
