"""Errors and coefficients along a path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from mercer.selection import OneClassPath, SVMPath

from .._array import host
from .._palette import BLUE, INK, ORANGE
from .._steps import last
from ..types import Array, Axis, EstimatorLike, FilePath
from ._base import Display, Keywords, colours, dress, plain, style, whole_ticks

NO_PATH = (
    "pass a fitted KernelRidgeCV, KernelRidgeClassifierCV, KernelFisher(alpha='loo'), a density with "
    "bandwidth='loo', KernelPLS(n_components='cv') or KernelCCA(epsilon='cv' or 'spectrum'); results of "
    "svm_path and one_class_path go to from_path"
)


class PathDisplay(Display):
    r"""Curves over the parameter of a path: errors, criteria, and the coefficients of all machines.

    For `svm_path`, the training error, leave-one-out estimates and :math:`\beta_i / C`. For `one_class_path`, ν, the
    fraction of support vectors and :math:`\alpha_i = 2 \lambda n a_i`, which is piecewise linear in λ. For estimators
    that choose a parameter, the selection criterion. Use `from_path` or `from_estimator`.

    Parameters
    ----------
    parameter : array of shape (m,)
        Values of the parameter, in any order.
    curves : dict of str to array of shape (m,)
    name, ylabel : str
        Labels of the parameter and of the curves.
    coefficients : array of shape (m, n_samples), optional
    coefficient_label : str
    best : float, optional
        Value of the parameter to mark.
    log : bool
        Whether the parameter has a logarithmic axis, which omits values that are not positive.

    Attributes
    ----------
    ax_, figure_, axes_
        The first axes, the figure, and all axes: the curves, then the coefficients.
    curves_ : dict of str to Line2D
    coefficients_ : list of Line2D
        One line per sample.
    best_ : list of Line2D
        The mark, in each panel.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from mercer.selection import svm_path
    >>> path = svm_path([[-1.0], [-2.0], [1.0], [2.0]], [0, 0, 1, 1], [0.1, 1.0], kernel="linear")
    >>> display = PathDisplay.from_path(path, ax=Figure().subplots(1, 2))
    >>> list(display.curves_)
    ['training error', 'span estimate', 'ξα bound']
    """

    def __init__(
        self,
        *,
        parameter: Any,
        curves: Mapping[str, Any],
        name: str,
        ylabel: str = "",
        coefficients: Array = None,
        coefficient_label: str = "coefficients",
        best: float | None = None,
        log: bool = True,
    ):
        values = host(parameter).astype(np.float64)
        kept = np.argsort(values, kind="stable")
        kept = kept[values[kept] > 0] if log else kept
        self.parameter = values[kept]
        self.curves = {key: host(curve)[kept] for key, curve in curves.items()}
        self.coefficients = None if coefficients is None else host(coefficients)[kept]
        self.name, self.ylabel, self.coefficient_label = name, ylabel, coefficient_label
        self.best, self.log = best, log

    @classmethod
    def from_path(cls, path: FilePath, *, coefficients: bool = True, ax: Axis = None, **options: Any) -> Self:
        """Draw a result of `mercer.selection.svm_path` or `one_class_path`.

        Parameters
        ----------
        path : SVMPath or OneClassPath
            For an `SVMPath`, the C with the smallest span estimate is marked.
        coefficients : bool
            Whether to draw the coefficients, one line per sample.
        ax, **options
            Passed to `plot`.
        """
        if isinstance(path, SVMPath):
            known = np.isfinite(path.span_estimate)
            display = cls(
                parameter=path.C,
                curves={
                    "training error": path.training_error,
                    "span estimate": path.span_estimate,
                    "ξα bound": path.loo_bound,
                },
                name="C",
                ylabel="fraction in error",
                coefficients=path.dual_coef / path.C[:, None] if coefficients else None,
                coefficient_label="β / C",
                best=float(path.C[known][path.span_estimate[known].argmin()]) if known.any() else None,
            )
        elif isinstance(path, OneClassPath):
            display = cls(
                parameter=path.lambdas,
                curves={"ν": path.nu, "share of support vectors": path.n_support / path.alpha.shape[1]},
                name="λ",
                coefficients=path.alpha if coefficients else None,
                coefficient_label="α = 2λn·a",
                log=False,
            )
        else:
            raise TypeError(
                f"{cls.__name__}.from_path: {type(path).__name__} is not a path; pass a result of svm_path or "
                "one_class_path, or use from_estimator."
            )
        return display.plot(ax=ax, **options)

    @classmethod
    def from_estimator(cls, estimator: EstimatorLike, *, ax: Axis = None, **options: Any) -> Self:
        """Draw the criterion by which a fitted estimator chose its parameter.

        Parameters
        ----------
        estimator : fitted estimator
            `KernelRidgeCV` and `KernelRidgeClassifierCV` (one curve per kernel), `KernelFisher` with ``alpha="loo"``,
            `KernelDensity` and `RobustKernelDensity` with ``bandwidth="loo"``, `KernelPLS` with ``n_components="cv"``,
            `KernelCCA` with ``epsilon="cv"`` or ``"spectrum"``.
        ax, **options
            Passed to `plot`.
        """
        model = last(estimator)
        if hasattr(model, "scores_") and hasattr(model, "kernels_"):
            return cls(**_ridge(model)).plot(ax=ax, **options)
        if hasattr(model, "loo_losses_"):
            name, tried, best = "α", model.alphas_, model.alpha_
            words, curve = "leave-one-out log loss", model.loo_losses_
        elif hasattr(model, "loo_scores_"):
            name, tried, best = "bandwidth", model.bandwidths_, model.bandwidth_
            words, curve = f"cross-validation, {model.criterion.replace('_', ' ')}", model.loo_scores_
        elif hasattr(model, "cv_errors_"):
            name, tried, best = "components", np.arange(1, len(model.cv_errors_) + 1), model.n_components_
            words, curve = "cross-validated error", model.cv_errors_
        elif hasattr(model, "criterion_") and hasattr(model, "epsilons_"):
            name, tried, best = "ε", model.epsilons_[:, 0], model.epsilon_[0]
            words = "held-out correlation" if model.epsilon == "cv" else "distance from random pairings"
            curve = model.criterion_
        else:
            raise TypeError(f"{cls.__name__}: {type(model).__name__} has no path; {NO_PATH}.")
        display = cls(parameter=tried, curves={words: curve}, name=name, best=float(best), log=name != "components")
        return display.plot(ax=ax, **options)

    def plot(
        self, ax: Axis = None, *, line_kw: Keywords = None, coefficient_kw: Keywords = None, legend: bool = True
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes or array of them, optional
            A single axes is divided into panels; None creates a figure.
        line_kw, coefficient_kw : dict, optional
            For ``Axes.plot`` of the curves and of the coefficients.
        legend : bool
        """
        panels = self._panels(ax, 1 if self.coefficients is None else 2, (5.2, 3.8))
        few = {"marker": "o", "markersize": 3} if len(self.parameter) <= 30 else {}
        self.curves_ = {}
        for (label, values), tint in zip(self.curves.items(), colours(len(self.curves)), strict=True):
            look = style(line_kw, color=tint, linewidth=1.6, **few)
            (self.curves_[label],) = panels[0].plot(self.parameter, values, **{"label": plain(label), **look})
        if len(self.curves) == 1:
            dress(panels[0], next(iter(self.curves)).capitalize(), xlabel=self.name, ylabel=self.ylabel)
        else:
            dress(panels[0], xlabel=self.name, ylabel=self.ylabel)
            if legend:
                panels[0].legend(frameon=False)
        self.coefficients_: list[Any] = []
        if self.coefficients is not None:
            tint = [BLUE if mean >= 0 else ORANGE for mean in self.coefficients.mean(axis=0).tolist()]
            for values, own in zip(self.coefficients.T, tint, strict=True):
                look = style(coefficient_kw, color=own, linewidth=0.6, alpha=0.5)
                self.coefficients_ += panels[1].plot(self.parameter, values, **look)
            dress(panels[1], xlabel=self.name, ylabel=self.coefficient_label)
        self.best_ = []
        for panel in panels:
            if self.log:
                panel.set_xscale("log")
            elif (self.parameter == np.round(self.parameter)).all():
                whole_ticks(panel.xaxis)
            if self.best is not None:
                self.best_.append(panel.axvline(self.best, color=INK, linewidth=1.0, linestyle=":"))
        return self


def _ridge(model: EstimatorLike) -> dict[str, Any]:
    """The scores of each kernel, separately for each target if targets have their own alpha."""
    scores = host(model.scores_)
    errors = model._criterion == "loo" and model.scoring is None and not hasattr(model, "classes_")
    best = np.unique(np.atleast_1d(host(model.alpha_)))
    names = [str(kernel) for kernel in model.kernels_]
    curves = {}
    for kernel, table in zip(names, scores, strict=True):
        if table.ndim == 1:
            curves[kernel] = table
        else:
            curves |= {f"{kernel}, target {t}": table[:, t] for t in range(table.shape[1])}
    if len(curves) == 1:
        curves = {"leave-one-out squared error" if errors else "score": next(iter(curves.values()))}
    return {
        "parameter": host(model.alphas),
        "curves": {key: -values if errors else values for key, values in curves.items()},
        "name": "α",
        "ylabel": ("leave-one-out squared error" if errors else "score") if len(curves) > 1 else "",
        "best": float(best[0]) if len(best) == 1 else None,
    }
