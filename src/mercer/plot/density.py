"""A density estimate, the weights of its samples, and the influence of an additional sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from .._array import host
from .._palette import BLUE, GREY, INK, ORANGE
from ..types import Axis, EstimatorLike
from ._base import (
    Display,
    Keywords,
    about_zero,
    around,
    check_grid,
    colours,
    contours,
    dense,
    dress,
    fitted,
    style,
    unnamed,
)

EVEN = 1e-6  # relative differences of weights that count as zero


@dataclass(kw_only=True, eq=False, repr=False)
class DensityDisplay(Display):
    r"""A kernel density in one or two dimensions, with the weights of its samples and influence curves.

    .. math:: f = \sum_i w_i \frac{k(\cdot, x_i)}{\int k}, \qquad
              \mathrm{IF}(\cdot, x') = \frac{d}{d\varepsilon}\,
              f\big[(1 - \varepsilon) P + \varepsilon \delta_{x'}\big] \Big|_{\varepsilon = 0}

    For `KernelDensity`, the influence of a sample at x′ is k(·, x′)/∫k − f, a bump of the same size for every x′;
    `RobustKernelDensity` bounds the influence. Weights are drawn in units of 1/n if they differ. Use `from_estimator`.

    Parameters
    ----------
    X : array of shape (n_samples, d), d <= 2
        The training sample.
    weights : array of shape (n_samples,)
        w.
    grid : tuple of arrays
        (x,) or (xx0, xx1).
    density : array
        f on the grid.
    at : array of shape (p, d), optional
        Points x′.
    influence : array of the shape of the grid and (p,), optional
        IF on the grid, for each x′.

    Attributes
    ----------
    ax_, figure_, axes_
        The first axes, the figure, and all axes: the density, in one dimension the weights, and the influences.
    line_ : Line2D or None
        The density, in one dimension.
    surface_ : QuadContourSet or None
        The density, in two dimensions.
    points_ : Line2D or PathCollection
        The sample: a rug, or points whose areas are proportional to their weights.
    dropped_ : Line2D or None
        In two dimensions, crosses for samples with a weight below 10⁻³/n.
    weights_ : Line2D or None
        n·w against x, in one dimension.
    influence_ : list of Line2D or of QuadContourSet
        One per x′.

    References
    ----------
    Kim, Scott, *Robust kernel density estimation* (2012).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import RobustKernelDensity
    >>> X = np.append(np.linspace(-1, 1, 30), 8.0)[:, None]
    >>> model = RobustKernelDensity(bandwidth=0.5).fit(X)
    >>> display = DensityDisplay.from_estimator(model, influence=[[8.0]], ax=Figure().subplots(1, 3))
    >>> bool(display.weights_.get_ydata()[-1] < 1)
    True
    """

    X: np.ndarray
    weights: np.ndarray
    grid: tuple[np.ndarray, ...]
    density: np.ndarray
    at: np.ndarray | None = None
    influence: np.ndarray | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        *,
        influence: Any = None,
        resolution: int = 200,
        padding: float = 0.15,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Draw a fitted density.

        Parameters
        ----------
        estimator : fitted KernelDensity or RobustKernelDensity
            Fitted to one or two columns, after the other steps of a pipeline.
        influence : array of shape (p, d), optional
            Points x′, for influence curves.
        resolution, padding
            Grid settings, as in `DecisionDisplay`.
        ax, **options
            Passed to `plot`.
        """
        who = cls.__name__
        check_grid(who, resolution, padding)
        names = ("weights_", "X_fit_", "score_samples", "log_normalizer_")
        model = fitted(who, estimator, *names, remedy="pass a fitted KernelDensity or RobustKernelDensity")
        X = dense(model.X_fit_)
        d = X.shape[1]
        if d > 2:
            raise ValueError(f"{who}: the density has {d} dimensions; only one or two can be drawn.")
        at = None if influence is None else np.asarray(influence, dtype=X.dtype)
        if at is not None and (at.ndim != 2 or at.shape[1] != d or not len(at)):
            raise ValueError(f"{who}: influence has shape {at.shape}; expected points of shape (p, {d}).")
        grid, mesh = around(X if at is None else np.concatenate([X, at]), resolution, padding)
        shape = grid[0].shape
        curves = None
        with unnamed():
            density = np.exp(host(model.score_samples(mesh))).reshape(shape)
            if at is not None and hasattr(model, "influence"):
                curves = host(model.influence(at)(mesh)).reshape(*shape, len(at))
            elif at is not None:
                values = host(model.kernel_(mesh, at)) * np.exp(-model.log_normalizer_) - density.reshape(-1, 1)
                curves = values.reshape(*shape, len(at))
        display = cls(X=X, weights=host(model.weights_), grid=grid, density=density, at=at, influence=curves)
        return display.plot(ax=ax, **options)

    def plot(self, ax: Axis = None, *, line_kw: Keywords = None, scatter_kw: Keywords = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or array of them, optional
            A single axes is divided into panels; None creates a figure.
        line_kw : dict, optional
            For ``Axes.plot`` of the density, in one dimension.
        scatter_kw : dict, optional
            For ``Axes.scatter`` of the sample, in two dimensions.
        """
        self.line_: Any = None
        self.surface_: Any = None
        self.weights_: Any = None
        self.dropped_: Any = None
        self.influence_: list[Any] = []
        if len(self.grid) == 1:
            self._on_line(ax, line_kw)
        else:
            self._on_plane(ax, scatter_kw)
        return self

    def _on_line(self, ax: Axis, line_kw: Any) -> None:
        (x,), n = self.grid, len(self.X)
        uneven = np.ptp(self.weights) > EVEN * self.weights.max()
        panels = self._panels(ax, 1 + uneven + (self.at is not None), (4.6, 3.4))
        top = panels[0]
        top.fill_between(x, self.density, color=BLUE, alpha=0.12, linewidth=0)
        (self.line_,) = top.plot(x, self.density, **style(line_kw, color=BLUE, linewidth=1.8))
        rug = np.full(n, -0.05 * self.density.max())
        (self.points_,) = top.plot(self.X[:, 0], rug, "|", color=INK, markersize=7, markeredgewidth=0.7, alpha=0.7)
        dress(top, "Density", xlabel="x")
        if uneven:
            order = np.argsort(self.X[:, 0])
            (self.weights_,) = panels[1].plot(
                self.X[order, 0], n * self.weights[order], "o-", color=ORANGE, markersize=3, linewidth=0.8
            )
            panels[1].axhline(1, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
            dress(panels[1], "Weights n·w", xlabel="x", ylim=(0, None))
        for panel in panels:
            panel.set_xlim(x[0], x[-1])
        if self.at is not None and self.influence is not None:
            for point, curve, tint in zip(self.at[:, 0], self.influence.T, colours(len(self.at)), strict=True):
                self.influence_ += panels[-1].plot(x, curve, color=tint, linewidth=1.5, label=f"x′ = {point:g}")
                panels[-1].axvline(point, color=tint, linewidth=0.8, linestyle=":")
            panels[-1].axhline(0, color=GREY, linewidth=0.8)
            panels[-1].legend(frameon=False)
            dress(panels[-1], "Influence of a sample at x′", xlabel="x")

    def _on_plane(self, ax: Axis, scatter_kw: Any) -> None:
        xx0, xx1 = self.grid
        count = 0 if self.at is None else len(self.at)
        panels = self._panels(ax, 1 + count, (4.6, 3.9), 3)
        self.surface_ = panels[0].contourf(xx0, xx1, self.density, levels=12, cmap="Blues")
        contours(panels[0].contour, xx0, xx1, self.density, levels=12, colors="white", linewidths=0.4)
        sizes = 18 * len(self.X) * self.weights
        look = style(scatter_kw, s=sizes, color=INK, alpha=0.55, linewidth=0)
        self.points_ = panels[0].scatter(*self.X.T, **look)
        even = np.ptp(self.weights) <= EVEN * self.weights.max()
        none = self.weights < 1e-3 / len(self.X)
        if none.any():
            (self.dropped_,) = panels[0].plot(*self.X[none].T, "x", color=ORANGE, markersize=4, markeredgewidth=0.9)
        nothing = ", crosses none" if none.any() else ""
        dress(panels[0], "Density" if even else f"Density; areas are weights{nothing}")
        if not count:
            return
        from matplotlib.ticker import MaxNLocator

        # one scale for all, for comparison
        scale = about_zero(self.influence)
        levels = MaxNLocator(20, symmetric=True).tick_values(scale["vmin"], scale["vmax"])
        for j in range(count):
            surface = self.influence[..., j]  # type: ignore[index]
            self.influence_.append(panels[1 + j].contourf(xx0, xx1, surface, levels=levels, **scale))
            point = self.at[j]  # type: ignore[index]
            panels[1 + j].plot(*point, "x", color=INK, markersize=8, markeredgewidth=1.6)
            dress(panels[1 + j], f"Influence of ({point[0]:.3g}, {point[1]:.3g})")
        self.figure_.colorbar(self.influence_[-1], ax=panels[1:], shrink=0.85)
