"""Bias and variance as functions of an estimator's parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from mercer.domains import take

from .._array import host
from .._errors import check_number
from .._palette import BLUE, GREEN, INK, ORANGE
from .._random import generator
from ..types import Array, Axis, Data, EstimatorLike, RandomState
from ._base import Display, Keywords, dress, plain, star, style

PARTS = {"bias": ("Bias²", BLUE), "variance": ("Variance", ORANGE), "error": ("Expected error", GREEN)}


@dataclass(kw_only=True, eq=False, repr=False)
class BiasVarianceDisplay(Display):
    r"""Squared bias, variance and expected squared error of a regression over one or two of its parameters.

    .. math:: \underbrace{\mathbb{E}\big(y - \hat f(x)\big)^2}_{\text{error}}
              = \underbrace{\big(\mathbb{E} \hat f(x) - f(x)\big)^2}_{\text{bias}^2}
              + \underbrace{\mathbb{E}\big(\hat f(x) - \mathbb{E} \hat f(x)\big)^2}_{\text{variance}}
              + \underbrace{\mathbb{E}\big(y - f(x)\big)^2}_{\text{noise}}

    averaged over x; expectations of :math:`\hat f` are over training samples. A wide kernel or strong regularisation
    causes bias, a narrow kernel or weak regularisation causes variance. Use `from_simulation` if the true function is
    known, and `from_bootstrap` otherwise.

    Parameters
    ----------
    values : dict of str to array
        One or two parameters and their values.
    bias, variance, error : arrays of shape (n_values,) or (n_first, n_second)
    noise : float, optional
        The part of the error other than bias² and variance; None if unknown and included in bias².

    Attributes
    ----------
    ax_, figure_, axes_
        The first axes, the figure, and all axes.
    lines_ : dict of str to Line2D
        "bias", "variance" and "error" over one parameter.
    images_ : dict of str to QuadMesh
        "bias", "variance" and "error" over two parameters, the first upwards and the second to the right.
    best_ : list of Line2D
        Marks of the smallest error.

    References
    ----------
    Geman, Bienenstock, Doursat, *Neural networks and the bias/variance dilemma* (1992).

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer import KernelRidge
    >>> def draw(rng):
    ...     X = rng.uniform(0, 1, (20, 1))
    ...     return X, np.sin(6 * X[:, 0]) + 0.3 * rng.normal(size=20)
    >>> X_new = np.linspace(0, 1, 30)[:, None]
    >>> display = BiasVarianceDisplay.from_simulation(
    ...     KernelRidge(kernel="rbf", gamma=10),
    ...     draw,
    ...     X_new,
    ...     np.sin(6 * X_new[:, 0]),
    ...     values={"alpha": [1e-3, 1.0, 100.0]},
    ...     n_repeats=20,
    ...     random_state=0,
    ...     ax=Figure().subplots(),
    ... )
    >>> bool(np.all(np.diff(display.bias) > 0)), bool(np.all(np.diff(display.variance) < 0))
    (True, True)
    """

    values: Mapping[str, Any]
    bias: np.ndarray
    variance: np.ndarray
    error: np.ndarray
    noise: float | None = 0.0

    def __post_init__(self) -> None:
        self.values = {name: np.asarray(v) for name, v in self.values.items()}

    @classmethod
    def from_simulation(
        cls,
        estimator: EstimatorLike,
        draw: Callable[[np.random.Generator], tuple[Any, Any]],
        X: Data,
        truth: Any,
        *,
        values: Mapping[str, Any],
        n_repeats: int = 50,
        noise: float = 0.0,
        random_state: RandomState = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Fit to many simulated samples, and compare with the true function.

        Parameters
        ----------
        estimator : regressor
            Any regressor; clones are fitted.
        draw : function of a Generator
            Returns a sample (X, y). All parameter values use the same samples.
        X : samples
            Points at which predictions are compared.
        truth : array of shape (n_new,)
            E(y | x) at X.
        values : dict of one or two str to lists
            Parameters (``"alpha"``, ``"kernel__lengthscale"``) and their values.
        n_repeats : int >= 2
            Number of samples. More samples make the estimates more precise. Both are unbiased: variances have
            n_repeats − 1 in the denominator, and their contribution to bias² is subtracted.
        noise : float >= 0
            The variance of y given x, which is added to the error.
        random_state : int, Generator or None
        ax, **options
            Passed to `plot`.
        """
        who = cls.__name__
        grid = _grid(who, values)
        check_number(who, "n_repeats", n_repeats, at_least=2, integer=True)
        check_number(who, "noise", noise, at_least=0)
        rng, target = generator(random_state), host(truth).astype(np.float64)
        samples = [draw(rng) for _ in range(n_repeats)]
        bias, variance = [], []
        for setting in _settings(grid):
            predicted = np.array([_prediction(who, estimator, setting, A, b, X, target) for A, b in samples])
            spread = predicted.var(axis=0, ddof=1)
            variance.append(spread.mean())
            bias.append(np.mean((predicted.mean(axis=0) - target) ** 2 - spread / n_repeats))
        shape = [len(v) for v in grid.values()]
        b, v = np.reshape(bias, shape), np.reshape(variance, shape)
        display = cls(values=grid, bias=b, variance=v, error=b + v + noise, noise=float(noise))
        return display.plot(ax=ax, **options)

    @classmethod
    def from_bootstrap(
        cls,
        estimator: EstimatorLike,
        X: Data,
        y: Array,
        *,
        values: Mapping[str, Any],
        n_repeats: int = 50,
        random_state: RandomState = None,
        ax: Axis = None,
        **options: Any,
    ) -> Self:
        """Fit to bootstrap samples, and compare with the targets that each of them leaves out.

        Without the true function, noise cannot be separated from bias, so bias² includes it.

        Parameters
        ----------
        estimator : regressor
            Any regressor; clones are fitted.
        X, y : samples and targets
        values, random_state, ax, **options
            As in `from_simulation`.
        n_repeats : int >= 2
            Number of bootstrap samples. Each leaves out about 37 % of the data; samples left out fewer than
            two times do not count.
        """
        who = cls.__name__
        grid = _grid(who, values)
        check_number(who, "n_repeats", n_repeats, at_least=2, integer=True)
        rng, target = generator(random_state), host(y).astype(np.float64)
        n = len(target)
        draws = [np.sort(rng.integers(n, size=n)) for _ in range(n_repeats)]
        left = [np.setdiff1d(np.arange(n), drawn) for drawn in draws]
        counted = np.bincount(np.concatenate(left), minlength=n) >= 2
        if not counted.any():
            raise ValueError(f"{who}: no sample is left out twice; raise n_repeats = {n_repeats}.")
        bias, variance = [], []
        for setting in _settings(grid):
            predicted = np.full((n_repeats, n), np.nan)
            for row, inside, outside in zip(predicted, draws, left, strict=True):
                A, new = take(X, inside), take(X, outside)
                row[outside] = _prediction(who, estimator, setting, A, target[inside], new, target[outside])
            known = predicted[:, counted]
            mean = np.nanmean(known, axis=0)
            bias.append(np.mean((mean - target[counted]) ** 2))
            variance.append(np.mean(np.nanvar(known, axis=0)))
        shape = [len(v) for v in grid.values()]
        b, v = np.reshape(bias, shape), np.reshape(variance, shape)
        return cls(values=grid, bias=b, variance=v, error=b + v, noise=None).plot(ax=ax, **options)

    def plot(self, ax: Axis = None, *, line_kw: Keywords = None, image_kw: Keywords = None, log: bool = True) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or array of them, optional
            A single axes is divided into panels; None creates a figure.
        line_kw, image_kw : dict, optional
            For ``Axes.plot`` over one parameter, ``Axes.pcolormesh`` over two.
        log : bool
            Whether errors and positive numerical parameters have logarithmic scales.
        """
        self.lines_: dict[str, Any] = {}
        self.images_: dict[str, Any] = {}
        self.best_: list[Any] = []
        if len(self.values) == 1:
            self._curves(self._axes(ax, (6.0, 4.2)), line_kw, log)
        else:
            self._maps(self._panels(ax, 3, (4.3, 3.6)), image_kw, log)
        return self

    def _title(self, key: str) -> str:
        return "Bias² + noise" if key == "bias" and self.noise is None else PARTS[key][0]

    def _curves(self, ax: Axis, line_kw: Any, log: bool) -> None:
        (name, values), *_ = self.values.items()
        x = _places(values)
        for key, (_, tint) in PARTS.items():
            look = style(line_kw, color=tint, linewidth=1.8, marker="o", markersize=3.5)
            (self.lines_[key],) = ax.plot(x, getattr(self, key), **{"label": self._title(key), **look})
        best = int(np.nanargmin(self.error))
        self.best_ = [ax.axvline(x[best], color=INK, linewidth=1.0, linestyle=":")]
        if log:
            ax.set_yscale("log", nonpositive="mask")
        _scale(ax, "x", values, log)
        ax.legend(frameon=False)
        dress(ax, "Bias and variance", xlabel=_short(name))

    def _maps(self, panels: list[Any], image_kw: Any, log: bool) -> None:
        from matplotlib.colors import LogNorm, Normalize

        (first, rows), (second, columns) = self.values.items()
        y, x = _places(rows), _places(columns)
        every = np.concatenate([getattr(self, key).ravel() for key in PARTS])
        positive = every[every > 0]
        # one scale for all three, for comparison; it covers at most three decades
        low, high = max(positive.min(), positive.max() * 1e-3), positive.max()
        scale = LogNorm(low, high) if log else Normalize(0, high)
        best = np.unravel_index(int(np.nanargmin(self.error)), self.error.shape)
        for panel, key in zip(panels, PARTS, strict=True):
            shown = np.maximum(getattr(self, key), low if log else 0.0)
            edges = (_edges(x, columns, log), _edges(y, rows, log))
            self.images_[key] = panel.pcolormesh(
                *edges, shown, **{"norm": scale, "cmap": "viridis_r", **(image_kw or {})}
            )
            _scale(panel, "x", columns, log)
            _scale(panel, "y", rows, log)
            self.best_ += star(panel, x[best[1]], y[best[0]], markersize=13, markeredgewidth=0.9)
            dress(panel, self._title(key), xlabel=_short(second))
        panels[0].set_ylabel(_short(first))
        self.figure_.colorbar(self.images_["error"], ax=panels, shrink=0.9)


def _grid(who: str, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
    if not isinstance(values, Mapping) or len(values) not in (1, 2) or not all(len(v) for v in values.values()):
        raise ValueError(f"{who}: values must be a dict of one or two parameters and lists of their values.")
    return {name: np.asarray(v) for name, v in values.items()}


def _settings(grid: Mapping[str, np.ndarray]) -> Iterable[dict[str, Any]]:
    return (dict(zip(grid, point, strict=True)) for point in product(*(v.tolist() for v in grid.values())))


def _prediction(
    who: str, estimator: EstimatorLike, setting: dict[str, Any], A: Array, b: Array, X: Data, target: Array
) -> np.ndarray:
    """Predictions at X after a fit to (A, b)."""
    found = host(clone(estimator).set_params(**setting).fit(A, b).predict(X))
    if found.shape != target.shape or found.dtype.kind not in "fiu":
        raise ValueError(
            f"{who}: {type(estimator).__name__} predicts {found.dtype} values of shape {found.shape} for targets of "
            f"shape {target.shape}; pass a regressor with one target."
        )
    return found


def _positive(values: np.ndarray, log: bool) -> bool:
    return log and values.dtype.kind in "fiu" and bool((values > 0).all())


def _places(values: np.ndarray) -> np.ndarray:
    """Positions on the axis: numbers at their values, other values at 0, 1, …"""
    return values.astype(np.float64) if values.dtype.kind in "fiu" else np.arange(float(len(values)))


def _scale(ax: Axis, side: str, values: np.ndarray, log: bool) -> None:
    if _positive(values, log):
        ax.set(**{f"{side}scale": "log"})
    elif values.dtype.kind not in "fiu":
        getattr(ax, f"set_{side}ticks")(np.arange(len(values)), [plain(v) for v in values])


def _edges(x: np.ndarray, values: np.ndarray, log: bool) -> np.ndarray:
    """Edges of cells, halfway between their positions on the scale of the axis."""
    u = np.log(x) if _positive(values, log) else x
    if len(u) == 1:
        edges = np.array([u[0] - 0.5, u[0] + 0.5])
    else:
        middle = (u[1:] + u[:-1]) / 2
        edges = np.concatenate([[1.5 * u[0] - 0.5 * u[1]], middle, [1.5 * u[-1] - 0.5 * u[-2]]])
    return np.exp(edges) if _positive(values, log) else edges


def _short(name: str) -> str:
    """The last part of a nested parameter name."""
    return name.split("__")[-1]
