"""The witness function of two samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.inference import KernelTestResult

from .._array import host
from .._palette import BLUE, GREY, INK, ORANGE
from ..types import Axis
from ._base import Display, Keywords, about_zero, around, check_grid, contours, dense, dress, plain, style


@dataclass(kw_only=True, eq=False, repr=False)
class WitnessDisplay(Display):
    r"""The witness of the maximum mean discrepancy: positive where the first sample is denser.

    .. math:: f = \mu_P - \mu_Q = \frac1m \sum_i k(\cdot, x_i) - \frac1n \sum_j k(\cdot, y_j), \qquad
              \|f\|^2 = \mathrm{MMD}^2

    the difference of the kernel mean embeddings, drawn as a curve in one dimension and as a surface in two. For other
    data (more columns, strings, graphs), the plot shows histograms of f at the samples. Use `from_test`.

    Parameters
    ----------
    X, Y : arrays of shape (m, d) and (n, d), or None
        The samples, if they are vectors with one or two columns.
    values_X, values_Y : arrays of shape (m,) and (n,)
        f at the samples.
    grid : tuple of arrays
        (x,) or (xx0, xx1); empty for other data.
    values : array, optional
        f on the grid.
    labels : pair of str
        Names of the samples.
    title : str

    Attributes
    ----------
    ax_, figure_
        The axes and the figure.
    line_ : Line2D or None
        The curve.
    surface_ : QuadContourSet or None
    points_ : list
        The two samples: Line2D (rug), PathCollection, or StepPatch (histogram of values).

    References
    ----------
    Gretton, Borgwardt, Rasch, Schölkopf, Smola, *A kernel two-sample test* (2012).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer.inference import mmd_test
    >>> X, Y = np.linspace(0, 1, 20)[:, None], np.linspace(2, 3, 20)[:, None]
    >>> display = WitnessDisplay.from_test(mmd_test(X, Y, random_state=0), ax=Figure().subplots())
    >>> bool(display.values_X.min() > 0 > display.values_Y.max())
    True
    """

    X: np.ndarray | None
    Y: np.ndarray | None
    values_X: np.ndarray
    values_Y: np.ndarray
    grid: tuple[np.ndarray, ...] = ()
    values: np.ndarray | None = None
    labels: tuple[str, str] = ("X", "Y")
    title: str = ""

    @classmethod
    def from_test(
        cls,
        result: KernelTestResult,
        *,
        labels: tuple[str, str] = ("X", "Y"),
        resolution: int = 200,
        padding: float = 0.15,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Draw the witness of a `mercer.inference.mmd_test`.

        Parameters
        ----------
        result : KernelTestResult
            Result of `mmd_test`, which contains both samples.
        labels : pair of str
            Names of the samples.
        resolution, padding
            Grid settings, as in `DecisionDisplay`.
        ax, **options
            Passed to `plot`.
        """
        who = cls.__name__
        check_grid(who, resolution, padding)
        if len(labels) != 2:
            raise ValueError(f"{who}: labels = {labels!r} must be two names.")
        if not isinstance(result, KernelTestResult):
            raise TypeError(f"{who}: {type(result).__name__} is not a test result; pass a result of mmd_test.")
        if "MMD" not in result.method or result.witness is None:
            raise TypeError(f"{who}: {result.method!r} has no witness of two samples; pass a result of mmd_test.")
        f = result.witness
        first = host(f.coefficients) > 0
        domain, at = f.kernel.domain, host(f(f.points))
        drawn: dict[str, Any] = {"X": None, "Y": None}
        if domain.vectors and domain.dimension(f.points) in (1, 2):
            A = dense(f.points)
            grid, mesh = around(A, resolution, padding)
            drawn = {"X": A[first], "Y": A[~first], "grid": grid, "values": host(f(mesh)).reshape(grid[0].shape)}
        title = f"Witness: MMD² = {result.statistic:.3g}, p = {result.p_value:.3g}"
        display = cls(values_X=at[first], values_Y=at[~first], labels=labels, title=title, **drawn)
        return display.plot(ax=ax, **options)

    def plot(
        self, ax: Axis = None, *, line_kw: Keywords = None, scatter_kw: Keywords = None, legend: bool = True
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            None creates a figure.
        line_kw : dict, optional
            For ``Axes.plot`` of the curve, in one dimension.
        scatter_kw : dict, optional
            For ``Axes.scatter`` of the samples, in two dimensions.
        legend : bool
        """
        ax = self._axes(ax, (6.0, 4.2))
        self.line_: Any = None
        self.surface_: Any = None
        self.points_: list[Any] = []
        draw = {1: self._curve, 2: self._surface, 0: self._histograms}[len(self.grid)]
        draw(ax, line_kw, scatter_kw)
        if legend:
            place = {"loc": "best"} if self.grid else {"loc": "upper right", "ncols": 2}
            ax.legend(frameon=len(self.grid) == 2, handletextpad=0.4, **place)
        return self

    def _curve(self, ax: Any, line_kw: Any, scatter_kw: Any) -> None:
        (x,), f = self.grid, self.values
        for sign, tint in ((f > 0, BLUE), (f < 0, ORANGE)):  # type: ignore[operator]
            ax.fill_between(x, f, 0, where=sign, interpolate=True, color=tint, alpha=0.15, linewidth=0)
        (self.line_,) = ax.plot(x, f, **style(line_kw, color=INK, linewidth=1.6))
        ax.axhline(0, color=GREY, linewidth=0.8)
        step = 0.06 * float(np.ptp(f))  # type: ignore[arg-type]
        floor = float(np.min(f)) - step  # type: ignore[arg-type]
        for row, (points, label, tint) in enumerate(self._samples()):
            y = np.full(len(points), floor - row * step)
            self.points_ += ax.plot(
                points[:, 0], y, "|", color=tint, markersize=8, markeredgewidth=0.8, alpha=0.8, label=label
            )
        dress(ax, self.title, xlabel="x", ylabel="f(x)")

    def _surface(self, ax: Axis, line_kw: Any, scatter_kw: Any) -> None:
        xx0, xx1 = self.grid
        self.surface_ = ax.contourf(xx0, xx1, self.values, levels=21, **about_zero(self.values, pale=1.6))
        contours(ax.contour, xx0, xx1, self.values, levels=[0.0], colors=[INK], linewidths=1.0)
        for (points, label, tint), marker in zip(self._samples(), "os", strict=True):
            look = style(scatter_kw, s=14, edgecolor="white", linewidth=0.4)
            self.points_.append(ax.scatter(*points.T, **{"color": tint, "marker": marker, "label": label, **look}))
        self.figure_.colorbar(self.surface_, ax=ax, shrink=0.85, label="f(x)")
        dress(ax, self.title)

    def _histograms(self, ax: Axis, line_kw: Any, scatter_kw: Any) -> None:
        edges = np.histogram_bin_edges(np.concatenate([self.values_X, self.values_Y]), "auto")
        for values, label, tint in zip((self.values_X, self.values_Y), self.labels, (BLUE, ORANGE), strict=True):
            share = np.histogram(values, edges)[0] / len(values)
            self.points_.append(ax.stairs(share, edges, fill=True, color=tint, alpha=0.5, label=plain(label)))
        ax.axvline(0, color=GREY, linewidth=0.8)
        ax.margins(y=0.15)
        dress(ax, self.title, xlabel="f at the samples", ylabel="share of the sample")

    def _samples(self) -> list[tuple[Any, str, str]]:
        return [(self.X, plain(self.labels[0]), BLUE), (self.Y, plain(self.labels[1]), ORANGE)]
