"""The Gram matrix as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.gram import Centered, as_representation
from mercer.kernels.expression import as_kernel

from .._array import host, like
from .._errors import check_number
from .._palette import INK
from ..gram import GramLike
from ..kernels import KernelLike
from ..types import Array, Axis, Data, EstimatorLike, RandomState
from ._base import Display, about_zero, dress, plain, reached, represented

LETTER = 6.0  # points that one takes


class GramDisplay(Display):
    r"""The matrix :math:`K_{ij} = k(x_i, x_j)`, its samples ordered by class or cluster, with lines between these.

    Blocks on the diagonal are what the kernel sees of the classes: an ideal kernel is constant within blocks and zero
    outside of them. Use `from_kernel` or `from_estimator`.

    Parameters
    ----------
    matrix : array of shape (m, m)
        The entries, or the means over blocks.
    edges : array of shape (m + 1,)
        Where the cells begin and end, in numbers of samples.
    bounds : array of int of shape (n_groups + 1,)
        Where the groups begin and end.
    labels : sequence, optional
        Their names.
    order : array of int of shape (n_samples,)
        Which sample stands at which place.
    centred : bool

    Attributes
    ----------
    ax_, figure_
        Where it was drawn.
    mesh_ : QuadMesh
        The cells.
    lines_ : LineCollection or None
        Between the groups.
    colorbar_ : Colorbar or None

    Notes
    -----
    More samples than `max_size` are drawn as means over blocks of neighbours in the order: :math:`S^\top K S` with the
    columns of S the indicators of the blocks over their sizes, for which a matrix-free representation needs no more
    than products with K.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> X = np.array([[0.0], [5.0], [0.1], [5.1]])
    >>> display = GramDisplay.from_kernel("gaussian", X, list("abab"), ax=Figure().subplots())
    >>> display.order, display.matrix.round(2)[0]
    (array([0, 2, 1, 3]), array([1., 1., 0., 0.]))
    """

    def __init__(
        self,
        *,
        matrix: np.ndarray,
        edges: np.ndarray,
        bounds: np.ndarray,
        labels: Sequence[Any] | None = None,
        order: np.ndarray,
        centred: bool = False,
    ):
        self.matrix, self.edges, self.bounds, self.labels = matrix, edges, bounds, labels
        self.order, self.centred = order, centred

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
            Of any kind that the kernel compares.
        y : array of shape (n_samples,), optional
            Labels or clusters; samples of one stand together.
        order : array of int of shape (n_samples,), optional
            A permutation of the samples; with y it is kept within each group.
        centred : bool
            Whether the mean of the sample in the space is subtracted.
        gram : str or Representation
            How the matrix is held or approximated.
        max_size : int >= 2
            Cells a side; with more samples, means over blocks. Raising it shows more and takes longer to draw.
        random_state : int, Generator or None
            For representations that draw.
        ax : matplotlib axes, optional
            None makes a figure.
        **options
            Of `plot`.

        Returns
        -------
        GramDisplay
        """
        who = cls.__name__
        check_number(who, "max_size", max_size, at_least=2, integer=True)
        recipe = as_representation(gram)
        k = as_kernel(kernel)
        X = k.domain.check(X, who, "X")
        operator = (Centered(recipe) if centred else recipe).build(k.resolve(X), X, random_state)
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
        """The matrix of a fitted estimator's kernel on X, ordered by its clusters or by y.

        Parameters
        ----------
        estimator : fitted estimator of this library
            With `kernel_`; where y is None and it has found clusters (`labels_`) of X, these order the samples. In a
            pipeline the matrix is that of X after the steps before it.
        X, y
            As in `from_kernel`.
        **options
            Of `from_kernel` and `plot`.

        Returns
        -------
        GramDisplay
        """
        remedy = "give a fitted estimator of mercer, or use from_kernel"
        model, Z, *_ = reached(cls.__name__, estimator, X, "kernel_", remedy=remedy)
        found = getattr(model, "labels_", None)
        if y is None and found is not None and len(found) == model.kernel_.domain.size(Z):
            y = found
        return cls.from_kernel(model.kernel_, Z, y, **{**represented(model), **options})

    def plot(
        self,
        ax: Axis = None,
        *,
        image_kw: dict[str, Any] | None = None,
        line_kw: dict[str, Any] | None = None,
        colorbar: bool = True,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
        image_kw : dict, optional
            For ``Axes.pcolormesh``.
        line_kw : dict, optional
            For the lines between groups, a LineCollection.
        colorbar : bool

        Returns
        -------
        GramDisplay
        """
        from matplotlib.collections import LineCollection
        from matplotlib.ticker import MaxNLocator

        ax = self._axes(ax, (5.4, 4.6))
        signed = self.matrix.min() < -1e-9 * np.abs(self.matrix).max()
        # k(x, x) is far above all other entries where there are many features, and would leave them pale
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
            # of groups so small that their names would cover each other, the largest keep theirs
            kept = _apart(middle, np.diff(self.bounds), 1.5 * LETTER * n / side)
            shown = [name if keep else "" for name, keep in zip(names, kept, strict=True)]
            ax.set_xticks(middle, shown, **({"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if long else {}))
            ax.set_yticks(middle, shown)
            ax.tick_params(length=0, labelsize="small" if len(names) > 12 else None)
        else:
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_locator(MaxNLocator(integer=True))
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
    """Which places, those of large sizes before others, are at least so far from each other."""
    kept = np.zeros(len(places), dtype=bool)
    for j in np.argsort(-sizes, kind="stable"):
        kept[j] = not kept.any() or np.abs(places[kept] - places[j]).min() >= least
    return kept


def _arranged(who: str, y: Array, order: Any, n: int) -> tuple[np.ndarray, np.ndarray, list[Any] | None]:
    """The samples in their order, the bounds of the groups, and the names of these."""
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
    """About `most` cells of nearly equal size, none of which holds samples of two groups."""
    sizes = np.diff(bounds)
    counts = np.minimum(sizes, np.maximum(1, np.round(most * sizes / sizes.sum()).astype(int)))
    ends = [a + np.round(np.linspace(0, s, c + 1)).astype(int) for a, s, c in zip(bounds, sizes, counts, strict=False)]
    return np.unique(np.concatenate(ends))
