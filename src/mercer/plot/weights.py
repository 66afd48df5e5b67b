"""The weights of several kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from mercer.kernels.expression import as_kernel

from .._array import host
from .._palette import BLUE, GREY, INK
from ..types import Array, Axis, EstimatorLike
from ._base import Display, Keywords, dress, fitted, legend, plain, style

LONGEST = 32  # maximum length of a name


class WeightsDisplay(Display):
    r"""The weights of several kernels in their combination, and the alignment of each with the targets.

    .. math:: k = \sum_j \mu_j\, \frac{k_j}{s_j}, \qquad
              \rho(k_j, yy^\top) = \frac{\langle \tilde K_j, yy^\top \rangle}{\|\tilde K_j\|\, \|yy^\top\|}

    A well-aligned kernel can have zero weight if others contain the same information. Use `from_estimator`.

    Parameters
    ----------
    weights : array of shape (m,)
        μ.
    names : sequence of str
    alignments : array of shape (m,), optional
        ρ.

    Attributes
    ----------
    ax_, figure_
        The axes and the figure.
    bars_ : BarContainer
        The weights, the first kernel on top.
    alignments_ : Line2D or None
        The alignments, as points.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = WeightsDisplay(weights=[0.75, 0.25], names=["rbf", "linear"]).plot(ax=Figure().subplots())
    >>> [float(bar.get_width()) for bar in display.bars_]
    [0.75, 0.25]
    """

    def __init__(self, *, weights: Array, names: Sequence[str], alignments: Any = None):
        self.weights, self.names = host(weights), list(names)
        self.alignments = None if alignments is None else host(alignments)
        if self.weights.shape != (len(self.names),):
            raise ValueError(f"WeightsDisplay: {len(self.names)} names for weights of shape {self.weights.shape}.")

    @classmethod
    def from_estimator(cls, estimator: EstimatorLike, *, sort: bool = False, ax: Axis = None, **options: Any) -> Self:
        """Draw the weights of a fitted `MultipleKernel`.

        Parameters
        ----------
        estimator : fitted MultipleKernel
            Or a pipeline or search that ends in one.
        sort : bool
            Whether to sort by weight, the largest first.
        ax, **options
            Passed to `plot`.
        """
        model = fitted(
            cls.__name__, estimator, "weights_", "alignments_", "names_", remedy="pass a fitted MultipleKernel"
        )
        order = np.argsort(-host(model.weights_), kind="stable") if sort else np.arange(len(model.names_))
        display = cls(
            weights=host(model.weights_)[order],
            names=[kernel_names(model)[j] for j in order],
            alignments=host(model.alignments_)[order],
        )
        return display.plot(ax=ax, **options)

    def plot(self, ax: Axis = None, *, bar_kw: Keywords = None, scatter_kw: Keywords = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None creates a figure.
        bar_kw : dict, optional
            For ``Axes.barh``.
        scatter_kw : dict, optional
            For ``Axes.plot`` of the alignments.
        """
        m = len(self.weights)
        ax = self._axes(ax, (6.0, 1.2 + 0.34 * m))
        place = np.arange(m)
        self.bars_ = ax.barh(
            place, self.weights, **{"color": BLUE, "height": 0.62, "label": "weight", **(bar_kw or {})}
        )
        self.alignments_: Any = None
        if self.alignments is not None:
            look = style(
                scatter_kw, color="white", marker="D", markersize=5, markeredgecolor=INK, linestyle="none", zorder=3
            )
            (self.alignments_,) = ax.plot(self.alignments, place, **{"label": "alignment", **look})
            legend(ax)
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.set_yticks(place, [plain(name) for name in self.names])
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        dress(ax, "Weights of the kernels")
        ax.spines["left"].set_visible(False)
        return self


def kernel_names(model: EstimatorLike) -> list[str]:
    """Names of the kernels of a fitted `MultipleKernel`: the keys of a dict, otherwise number and kernel."""
    if isinstance(model.kernels, Mapping):
        return list(model.names_)
    given = [k[0] if isinstance(k, tuple) else k for k in model.kernels]
    words = [f"{name}: {as_kernel(k)}" for name, k in zip(model.names_, given, strict=True)]
    return [w if len(w) <= LONGEST else f"{w[: LONGEST - 1]}…" for w in words]
