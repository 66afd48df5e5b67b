"""The Gram matrix as an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.gram import as_representation

from .._array import host, like
from .._errors import check_number
from .._palette import INK
from ..gram import GramLike
from ..kernels import KernelLike
from ..types import Array, Axis, Data, EstimatorLike, RandomState
from ._base import Display, Keywords, about_zero, built, dress, plain, reached, represented, whole_ticks

LETTER = 6.0  # width of a character, in points


@dataclass(kw_only=True, eq=False, repr=False)
class GramDisplay(Display):
    r"""The matrix :math:`K_{ij} = k(x_i, x_j)`, ordered by class or cluster, with lines between the groups.

    Classes that the kernel separates appear as blocks on the diagonal: an ideal kernel is constant within blocks and
    zero outside. Use `from_kernel` or `from_estimator`.

    Parameters
    ----------
    matrix : array of shape (m, m)
        The entries, or the means over blocks.
    edges : array of shape (m + 1,)
        Edges of the cells, in numbers of samples.
    bounds : array of int of shape (n_groups + 1,)
        Edges of the groups.
    labels : sequence, optional
        Names of the groups.
    order : array of int of shape (n_samples,)
        The sample at each position.
    centred : bool

    Attributes
    ----------
    ax_, figure_
        The axes and the figure.
    mesh_ : QuadMesh
        The cells.
    lines_ : LineCollection or None
        The lines between the groups.
    colorbar_ : Colorbar or None

    Notes
    -----
    With more than `max_size` samples, the plot shows means over blocks of adjacent samples, :math:`S^\top K S`, where a
    column of S is the indicator of a block divided by its size. This needs only products with K.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> X = np.array([[0.0], [5.0], [0.1], [5.1]])
    >>> display = GramDisplay.from_kernel("gaussian", X, list("abab"), ax=Figure().subplots())
    >>> display.order, display.matrix.round(2)[0]
    (array([0, 2, 1, 3]), array([1., 1., 0., 0.]))
    """

    matrix: np.ndarray
    edges: np.ndarray
    bounds: np.ndarray
    labels: Sequence[Any] | None = None
    order: np.ndarray
    centred: bool = False

    @classmethod
    def from_kernel(
        cls,
        kernel: KernelLike,
        X: Data,
        y: Array = None,
        *,
        order: Any = None,
        centred: bool = False,
        gram: GramLike = "auto",
        max_size: int = 500,
        random_state: RandomState = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Compute the matrix of a sample, and draw it.

        Parameters
        ----------
        kernel : Kernel, name or expression
            With ``"precomputed"`` X is the matrix.
        X : samples
            Any data that the kernel accepts.
        y : array of shape (n_samples,), optional
            Labels or clusters, by which samples are grouped.
        order : array of int of shape (n_samples,), optional
            A permutation of the samples; with y, their order within each group.
        centred : bool
            Whether to subtract the mean of the sample in feature space.
        gram : str or Representation
            How the matrix is stored or approximated.
        max_size : int >= 2
            Maximum number of cells per side; beyond it, means over blocks are drawn. Larger values show more detail and
            take longer.
        random_state : int, Generator or None
            For randomised representations.
        ax, **options
            Passed to `plot`.
        """
        who = cls.__name__
        check_number(who, "max_size", max_size, at_least=2, integer=True)
        operator = built(who, kernel, X, as_representation(gram), centred, random_state)
        n = operator.n
        places, bounds, labels = _arranged(who, y, order, n)
        if n <= max_size:
            edges = np.arange(n + 1)
            matrix = host(operator.dense())[np.ix_(places, places)]
        else:
            edges = _cells(bounds, max_size)
            cell = np.empty(n, dtype=np.int64)
            cell[places] = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
            S = (cell[:, None] == np.arange(len(edges) - 1)) / np.diff(edges)
            matrix = S.T @ host(operator @ like(S, operator.like))
        display = cls(matrix=matrix, edges=edges, bounds=bounds, labels=labels, order=places, centred=centred)
        return display.plot(ax=ax, **options)

    @classmethod
    def from_estimator(cls, estimator: EstimatorLike, X: Data, y: Array = None, **options: Any) -> Self:
        """Draw the matrix of a fitted estimator's kernel on X, ordered by its clusters or by y.

        Parameters
        ----------
        estimator : fitted estimator of this library
            With `kernel_`. If y is None, its clusters (`labels_`), if any, order the samples. In a pipeline, X passes
            through the other steps first.
        X, y
            As in `from_kernel`.
        **options
            Passed to `from_kernel` and `plot`.
        """
        remedy = "pass a fitted estimator of mercer, or use from_kernel"
        model, Z, *_ = reached(cls.__name__, estimator, X, "kernel_", remedy=remedy)
        found = getattr(model, "labels_", None)
        if y is None and found is not None and len(found) == model.kernel_.domain.size(Z):
            y = found
        return cls.from_kernel(model.kernel_, Z, y, **{**represented(model), **options})

    def plot(
        self, ax: Axis = None, *, image_kw: Keywords = None, line_kw: Keywords = None, colorbar: bool = True
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None creates a figure.
        image_kw : dict, optional
            For ``Axes.pcolormesh``.
        line_kw : dict, optional
            For the lines between groups, a LineCollection.
        colorbar : bool
        """
        from matplotlib.collections import LineCollection

        ax = self._axes(ax, (5.4, 4.6))
        signed = self.matrix.min() < -1e-9 * np.abs(self.matrix).max()
        # with many features, k(x, x) is far above all other entries, which would look pale
        others = self.matrix[~np.eye(len(self.matrix), dtype=bool)]
        scale = about_zero(others) if signed else {"cmap": "Blues", "vmax": np.max(others, initial=self.matrix.min())}
        look = {**scale, "rasterized": True, **(image_kw or {})}
        self.mesh_ = ax.pcolormesh(self.edges, self.edges, self.matrix, **look)
        n, inner = self.edges[-1], self.bounds[1:-1]
        self.lines_: Any = None
        if len(inner):
            segments = [[(b, 0), (b, n)] for b in inner] + [[(0, b), (n, b)] for b in inner]
            self.lines_ = ax.add_collection(
                LineCollection(segments, **{"colors": INK, "linewidths": 0.8, **(line_kw or {})})
            )
        if self.labels is not None:
            middle = (self.bounds[1:] + self.bounds[:-1]) / 2
            names = [plain(label) for label in self.labels]
            side = 72 * ax.bbox.width / ax.figure.dpi
            long = max(map(len, names)) * LETTER > side / len(names)
            # if names would overlap, only the largest groups keep theirs
            kept = _apart(middle, np.diff(self.bounds), 1.5 * LETTER * n / side)
            shown = [name if keep else "" for name, keep in zip(names, kept, strict=True)]
            ax.set_xticks(middle, shown, **({"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}))
            ax.set_yticks(middle, shown)
            ax.tick_params(length=0, labelsize="small" if len(names) > 12 else None)
        else:
            whole_ticks(ax.xaxis, ax.yaxis)
        ax.set(xlim=(0, n), ylim=(n, 0), aspect="equal")
        self.colorbar_ = None
        if colorbar:
            beyond = "max" if self.matrix.max() > self.mesh_.norm.vmax else "neither"
            self.colorbar_ = ax.figure.colorbar(self.mesh_, ax=ax, shrink=0.85, extend=beyond)
            self.colorbar_.outline.set_visible(False)
        dress(ax, "Centred kernel matrix" if self.centred else "Kernel matrix")
        ax.spines[["left", "bottom"]].set_visible(False)
        return self


def _apart(places: np.ndarray, sizes: np.ndarray, least: float) -> np.ndarray:
    """Places at least `least` apart, chosen in order of decreasing size, as a mask."""
    kept = np.zeros(len(places), dtype=bool)
    for j in np.argsort(-sizes, kind="stable"):
        kept[j] = not kept.any() or np.abs(places[kept] - places[j]).min() >= least
    return kept


def _arranged(who: str, y: Array, order: Any, n: int) -> tuple[np.ndarray, np.ndarray, list[Any] | None]:
    """The samples in order, the edges of the groups, and their names."""
    places = np.arange(n) if order is None else host(order)
    if places.shape != (n,) or places.dtype.kind not in "iu" or (np.sort(places) != np.arange(n)).any():
        raise ValueError(f"{who}: order must be a permutation of 0, …, {n - 1}.")
    if y is None:
        return places, np.array([0, n]), None
    values = host(y)
    if values.shape != (n,):
        raise ValueError(f"{who}: y has shape {values.shape}; expected ({n},).")
    labels, index = np.unique(values, return_inverse=True)
    places = places[np.argsort(index[places], kind="stable")]
    return places, np.concatenate([[0], np.cumsum(np.bincount(index))]), labels.tolist()


def _cells(bounds: np.ndarray, most: int) -> np.ndarray:
    """Edges of about `most` cells of similar size, each within one group."""
    sizes = np.diff(bounds)
    counts = np.minimum(sizes, np.maximum(1, np.round(most * sizes / sizes.sum()).astype(int)))
    ends = [a + np.round(np.linspace(0, s, c + 1)).astype(int) for a, s, c in zip(bounds, sizes, counts, strict=False)]
    return np.unique(np.concatenate(ends))
