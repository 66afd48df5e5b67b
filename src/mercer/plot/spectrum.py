"""Eigenvalues of the Gram matrix, their cumulative share, and the effective dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from mercer.gram import as_representation

from .._array import host
from .._errors import check_choice
from .._palette import BLUE, GREY, INK, ORANGE
from ..gram import GramLike
from ..kernels import KernelLike
from ..types import Array, Axis, Data, EstimatorLike, RandomState
from ._base import Display, Keywords, built, dress, reached, represented, style, whole_ticks

PANELS = ("eigenvalues", "cumulative", "dimension")
OFFSET: Any = {"textcoords": "offset points"}


class SpectrumDisplay(Display):
    r"""The eigenvalues of the kernel matrix, their cumulative share, and the effective dimension.

    .. math:: d(\alpha) = \sum_j \frac{\lambda_j}{\lambda_j + \alpha} = \mathrm{tr}\, K (K + \alpha I)^{-1}

    d(α) is the number of degrees of freedom of ridge regression. Use `from_kernel`, `from_estimator`, or pass the
    eigenvalues.

    Parameters
    ----------
    eigenvalues : array of shape (r,)
        Eigenvalues of the matrix, in any order. Negative ones (from an indefinite kernel) are drawn by absolute value
        in another colour; d(α) omits them.
    alphas : array of numbers > 0, optional
        Values of α for d(α); by default, 200 values from below the smallest positive eigenvalue to above the largest,
        a range that includes `alpha`.
    alpha : float > 0, optional
        A regularisation parameter to mark: ridge regression shrinks directions with eigenvalues below it.

    Attributes
    ----------
    ax_, figure_, axes_
        The first axes, the figure, and all axes.
    eigenvalues : array
        In descending order.
    alphas, dimension : arrays
        α and d(α).
    share : array of shape (n_positive,)
        (λ₁ + … + λ_j) / Σ |λ|, over the positive eigenvalues.
    positive_, negative_ : Line2D or None
    share_, dimension_ : Line2D or None
    line_ : Line2D or None
        The line at alpha.
    mark_ : PathCollection or None
        The point (alpha, d(alpha)).

    Notes
    -----
    Eigenvalues below n·ε·max |λ|, with ε the machine epsilon, count as zero. The cost is O(n³), or O(nr²) for a
    representation of rank r.

    References
    ----------
    Zhang, *Learning bounds for kernel regression using effective data dimensionality* (2005).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = SpectrumDisplay(eigenvalues=[1.0, 3.0], alphas=[1.0]).plot(ax=Figure().subplots(1, 3))
    >>> display.dimension, display.share
    (array([1.25]), array([0.75, 1. ]))
    """

    def __init__(self, *, eigenvalues: Any, alphas: Array = None, alpha: float | None = None):
        values = np.sort(host(eigenvalues).astype(np.float64))[::-1]
        if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or not values.any():
            raise ValueError(
                "SpectrumDisplay: eigenvalues must be finite and not all zero; they are zero if all samples are equal."
            )
        small = np.abs(values) <= len(values) * np.finfo(np.float64).eps * np.abs(values).max()
        self.eigenvalues = np.where(small, 0.0, values)
        positive = self.eigenvalues[self.eigenvalues > 0]
        if alphas is None:
            low, high = (positive[-1], positive[0]) if len(positive) else (1e-3, 1.0)
            low, high = max(low / 10, high * 1e-12), high * 10
            if alpha is not None and alpha > 0:
                low, high = min(low, alpha), max(high, alpha)
            alphas = np.geomspace(low, high, 200)
        self.alphas, self.alpha = np.asarray(alphas, dtype=np.float64), alpha
        if self.alphas.ndim != 1 or not (self.alphas > 0).all() or (alpha is not None and not alpha > 0):
            raise ValueError("SpectrumDisplay: alphas and alpha must be numbers > 0.")
        self.dimension = self._dimension(self.alphas)
        self.share = np.cumsum(positive) / np.abs(self.eigenvalues).sum()

    def _dimension(self, alphas: np.ndarray) -> np.ndarray:
        positive = self.eigenvalues[self.eigenvalues > 0]
        return np.array([np.sum(positive / (positive + a)) for a in alphas.tolist()])

    @classmethod
    def from_kernel(
        cls,
        kernel: KernelLike,
        X: Data,
        *,
        centred: bool = True,
        alphas: Array = None,
        alpha: float | None = None,
        gram: GramLike = "auto",
        random_state: RandomState = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Compute the eigenvalues on a sample, and draw them.

        Parameters
        ----------
        kernel : Kernel, name or expression
            With ``"precomputed"`` X is the matrix.
        X : samples
            Any data that the kernel accepts.
        centred : bool
            Whether to subtract the mean of the sample in feature space, as in kernel PCA.
        alphas, alpha
            As in the class.
        gram : str or Representation
            ``"nystrom"`` or ``"incomplete_cholesky"`` for large samples; the number of eigenvalues is then the rank.
        random_state : int, Generator or None
            For randomised representations.
        ax, **options
            Passed to `plot`.
        """
        operator = built(cls.__name__, kernel, X, as_representation(gram, "factor"), centred, random_state)
        if "factor" in operator.provides:
            Z = host(operator.factor()).astype(np.float64)
            values = np.linalg.eigvalsh(Z.T @ Z)
        else:
            values = np.linalg.eigvalsh(host(operator.dense()).astype(np.float64))
        return cls(eigenvalues=values, alphas=alphas, alpha=alpha).plot(ax=ax, **options)

    @classmethod
    def from_estimator(cls, estimator: EstimatorLike, X: Data, **options: Any) -> Self:
        """Draw the eigenvalues of a fitted estimator's kernel on X, and mark its `alpha_` or `alpha`.

        Parameters
        ----------
        estimator : fitted estimator of this library
        X : samples
            In a pipeline, X passes through the other steps first.
        **options
            Passed to `from_kernel` and `plot`. With a parameter alpha, the matrix is not centred by default.
        """
        remedy = "pass a fitted estimator of mercer, or use from_kernel"
        model, Z, *_ = reached(cls.__name__, estimator, X, "kernel_", remedy=remedy)
        alpha = getattr(model, "alpha_", getattr(model, "alpha", None))
        if isinstance(alpha, (int, float)) and alpha > 0 and "eigenvalues_" not in vars(model):
            options = {"alpha": float(alpha), "centred": False, **options}
        return cls.from_kernel(model.kernel_, Z, **{**represented(model), **options})

    def plot(self, ax: Axis = None, *, panels: Sequence[str] = PANELS, line_kw: Keywords = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or array of them, optional
            A single axes is divided into panels; None creates a figure.
        panels : sequence of {"eigenvalues", "cumulative", "dimension"}
        line_kw : dict, optional
            For ``Axes.plot``.
        """
        for name in panels:
            check_choice(type(self).__name__, "panels", name, PANELS)
        axes = self._panels(ax, len(panels), (4.2, 3.4))
        self.positive_: Any = None
        self.negative_: Any = None
        self.share_: Any = None
        self.dimension_: Any = None
        self.line_: Any = None
        self.mark_: Any = None
        for panel, name in zip(axes, panels, strict=True):
            getattr(self, f"_draw_{name}")(panel, line_kw)
        return self

    def _draw_eigenvalues(self, ax: Axis, given: Any) -> None:
        positive = self.eigenvalues[self.eigenvalues > 0]
        negative = -self.eigenvalues[self.eigenvalues < 0][::-1]
        look = style(given, color=BLUE, linewidth=1.2, marker="o", markersize=3)
        (self.positive_,) = ax.plot(np.arange(1, len(positive) + 1), positive, **{"label": "λ > 0", **look})
        if len(negative):
            look = {**look, "color": ORANGE, "markerfacecolor": "white"}
            (self.negative_,) = ax.plot(np.arange(1, len(negative) + 1), negative, **{"label": "|λ|, λ < 0", **look})
            ax.legend(frameon=False)
        ax.set_yscale("log")
        if self.alpha is not None:
            self.line_ = ax.axhline(self.alpha, color=INK, linewidth=1.0, linestyle=":")
            mark = ax.annotate("α", (1, self.alpha), (-3, 2), xycoords=("axes fraction", "data"), ha="right", **OFFSET)
            mark.set_in_layout(False)
        whole_ticks(ax.xaxis)
        dress(ax, "Eigenvalues", xlabel="number")

    def _draw_cumulative(self, ax: Axis, given: Any) -> None:
        look = style(given, color=BLUE, linewidth=1.6)
        (self.share_,) = ax.plot(np.arange(1, len(self.share) + 1), self.share, **look)
        ax.axhline(1.0, color=GREY, linewidth=0.8, linestyle=(0, (4, 2)))
        whole_ticks(ax.xaxis)
        dress(ax, "Cumulative share", xlabel="number", ylim=(0, 1.05))

    def _draw_dimension(self, ax: Axis, given: Any) -> None:
        (self.dimension_,) = ax.semilogx(self.alphas, self.dimension, **style(given, color=BLUE, linewidth=1.6))
        if self.alpha is not None:
            d = float(self._dimension(np.array([self.alpha]))[0])
            self.mark_ = ax.scatter([self.alpha], [d], s=30, color=INK, zorder=3)
            ax.annotate(f"α = {self.alpha:.3g}\nd = {d:.3g}", (self.alpha, d), (7, 4), **OFFSET)
        dress(ax, "Effective dimension d(α)", xlabel="α", ylim=(0, None))
