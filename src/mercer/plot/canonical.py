"""Canonical variables of two views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer import KernelCCA
from mercer.domains import take

from .._array import host
from .._errors import check_number
from .._palette import BLUE, GREY, INK, ORANGE
from .._random import generator
from .._steps import last
from ..types import Array, Axis, Data, EstimatorLike, RandomState
from ._base import Display, Keywords, dress, style


@dataclass(kw_only=True, eq=False, repr=False)
class CanonicalDisplay(Display):
    r"""Canonical variables against each other, and the correlations against those of permuted pairings.

    Each panel shows :math:`f_j(x_i) - \bar f_j` against :math:`g_j(y_i) - \bar g_j`, and their correlation. The last
    panel shows the regularised correlations ρ₁ ≥ ρ₂ ≥ …, and those of the pairs (xᵢ, y_π(i)) under random permutations
    π, which arise by chance. Use `from_estimator`.

    Parameters
    ----------
    scores : pair of arrays of shape (n_samples, n_components)
    correlations : array of shape (n_components,)
        ρ.
    permuted : array of shape (n_permutations, n_components), optional
        Correlations of permuted pairings.
    components : sequence of int
        Components to draw.
    y : array of shape (n_samples,), optional
        Numbers or label codes, for the colours.

    Attributes
    ----------
    ax_, figure_, axes_
        The first axes, the figure, and all axes.
    points_ : list of PathCollection
        One per component drawn.
    correlations_ : Line2D
    permuted_ : Line2D or None
        The mean over permutations.
    band_ : PolyCollection or None
        From the smallest to the largest correlation.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import KernelCCA
    >>> t = np.linspace(0, 6, 50)[:, None]
    >>> model = KernelCCA(1).fit(np.cos(t), np.sin(t))
    >>> display = CanonicalDisplay.from_estimator(
    ...     model, np.cos(t), np.sin(t), n_permutations=3, ax=Figure().subplots(), random_state=0
    ... )
    >>> display.permuted.shape, bool(display.correlations[0] > display.permuted.max())
    ((3, 1), True)
    """

    scores: tuple[np.ndarray, np.ndarray]
    correlations: np.ndarray
    permuted: np.ndarray | None = None
    components: Sequence[int] = (0,)
    y: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: Data = None,
        y: Array = None,
        *,
        components: Sequence[int] = (0,),
        n_permutations: int = 0,
        random_state: RandomState = None,
        colour: Any = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Draw the variables of the training sample, or of new pairs.

        Parameters
        ----------
        estimator : fitted KernelCCA
            Fitted to two views.
        X, y : samples of the two views, optional
            None draws the training sample.
        components : sequence of int
            Components to draw, counted from 0.
        n_permutations : int >= 0
            Number of fits to permuted pairings, with the same ε; X and y must be the training sample. With 0, the
            random pairings used by ``epsilon="spectrum"`` are drawn, if there are any.
        random_state : int, Generator or None
            For the permutations.
        colour : array of shape (n_samples,), optional
            Numbers, for the colours of the points.
        ax, **options
            Passed to `plot`.
        """
        who, model = cls.__name__, last(estimator)
        if not isinstance(model, KernelCCA) or not hasattr(model, "scores_"):
            raise TypeError(f"{who}: {type(model).__name__} has no canonical variables; pass a fitted KernelCCA.")
        if len(model.scores_) != 2:
            raise ValueError(f"{who}: the model has {len(model.scores_)} views; it must have exactly two.")
        for j in components:
            check_number(who, "components", j, at_least=0, at_most=len(model.correlations_) - 1, integer=True)
        check_number(who, "n_permutations", n_permutations, at_least=0, integer=True)
        if (X is None) != (y is None):
            raise ValueError(f"{who}: pass both views, X and y, or neither.")
        pair = model.scores_ if X is None else [model.transform(A, view=j) for j, A in enumerate((X, y))]
        permuted = None
        if n_permutations:
            if X is None:
                raise ValueError(f"{who}: n_permutations = {n_permutations} needs the training sample, X and y.")
            permuted = _permuted(model, X, y, n_permutations, generator(random_state))
        elif hasattr(model, "random_spectra_"):
            chosen = int(host(model.criterion_).argmax())
            permuted = host(model.random_spectra_)[:, chosen, : len(model.correlations_)]
        shades = None if colour is None else host(colour)
        if shades is not None and (shades.shape != (len(pair[0]),) or shades.dtype.kind not in "fiub"):
            raise ValueError(
                f"{who}: colour has shape {shades.shape} and type {shades.dtype}; pass a number for each of "
                f"{len(pair[0])} samples, such as label codes."
            )
        display = cls(
            scores=(host(pair[0]), host(pair[1])),
            correlations=host(model.correlations_),
            permuted=permuted,
            components=components,
            y=shades,
        )
        return display.plot(ax=ax, **options)

    def plot(self, ax: Axis = None, *, scatter_kw: Keywords = None, line_kw: Keywords = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or array of them, optional
            A single axes is divided into panels; None creates a figure.
        scatter_kw, line_kw : dict, optional
            For ``Axes.scatter`` of the variables, and ``Axes.plot`` of the correlations.
        """
        panels = self._panels(ax, len(self.components) + 1, (4.2, 3.6), 4)
        self.points_ = []
        size = float(np.clip(5000 / len(self.scores[0]), 8, 26))
        paint = {"color": BLUE} if self.y is None else {"c": self.y, "cmap": "viridis"}
        for panel, j in zip(panels, self.components, strict=False):
            f, g = self.scores[0][:, j], self.scores[1][:, j]
            look = style(scatter_kw, s=size, edgecolor="white", linewidth=0.4)
            self.points_.append(panel.scatter(f, g, **({} if "color" in look else paint), **look))
            r = np.corrcoef(f, g)[0, 1]
            dress(panel, f"Component {j + 1}: correlation {r:.2f}", xlabel="first view", ylabel="second view")
        panel, place = panels[-1], np.arange(1, len(self.correlations) + 1)
        self.permuted_: Any = None
        self.band_: Any = None
        if self.permuted is not None:
            low, high = self.permuted.min(axis=0), self.permuted.max(axis=0)
            self.band_ = panel.fill_between(place, low, high, color=ORANGE, alpha=0.2, linewidth=0)
            if len(place) == 1:
                panel.vlines(place, low, high, color=ORANGE, alpha=0.4, linewidth=6)
            mean = self.permuted.mean(axis=0)
            (self.permuted_,) = panel.plot(
                place, mean, color=ORANGE, marker="s", markersize=4, label=f"{len(self.permuted)} permuted pairings"
            )
        look = style(line_kw, color=BLUE, marker="o", markersize=5)
        (self.correlations_,) = panel.plot(place, self.correlations, **{"label": "pairs", **look})
        if self.permuted is not None:
            panel.legend(edgecolor="none", labelcolor=INK)  # opaque, to hide the line at 1
        panel.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        panel.set_xticks(place if len(place) <= 12 else place[:: -(-len(place) // 10)])
        dress(panel, "Penalised correlations", xlabel="component", ylim=(0, 1.05), xlim=(0.5, len(place) + 0.5))
        return self


def _permuted(model: KernelCCA, X: Data, y: Array, count: int, rng: np.random.Generator) -> np.ndarray:
    """Correlations of the same model for permuted pairings, padded with zeros."""
    again = clone(model).set_params(epsilon=host(model.epsilon_).tolist(), n_permutations=0)
    found = np.zeros((count, len(model.correlations_)))
    for row in found:
        pairing = rng.permutation(len(model.scores_[1]))
        values = host(again.fit(X, take(y, pairing)).correlations_)
        row[: len(values)] = values
    return found
