"""One self-contained HTML file about an estimator and its data."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass, field
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

from .._errors import check_number, optional
from .._files import replacing
from ..types import Array, Data, EstimatorLike, FilePath, Splitter
from ._case import Case
from ._cautions import Caution, cautions
from ._data import data
from ._estimate import estimated
from ._findings import diagnostics, error
from ._html import SIGNS, nameless, page, paragraph, table, text
from ._method import method, tuning

PACKAGES = ("mercer", "numpy", "scipy", "scikit-learn", "numba", "matplotlib")


@dataclass(frozen=True)
class Report:
    """The result of `report`, which displays itself in a notebook.

    Attributes
    ----------
    title : str
    html : str
        Content of the file.
    warnings : list of Caution
        Each with `name`, `level` ("serious", "caution" or "note"), `title`, `text` and `remedy`; worst first.
    sections : dict
        Maps the anchors in the file ("warnings", "data", "method", "tuning", "error", "diagnostics", "making") to the
        HTML of the sections.
    """

    title: str
    html: str = field(repr=False)
    warnings: list[Caution]
    sections: dict[str, str] = field(repr=False)

    def save(self, path: FilePath) -> Path:
        """Write the file, completely or not at all, and return its path."""
        target = Path(os.fsdecode(os.path.realpath(path)))
        if not target.parent.is_dir():
            raise FileNotFoundError(f"report: the folder of {target} does not exist; create it first.")
        with replacing(target) as stream:
            stream.write(self.html.encode())
        return target

    def __str__(self) -> str:
        return "\n".join([self.title, *map(str, self.warnings)])

    def _repr_html_(self) -> str:
        # A separate frame isolates the styles of the report from those of the notebook.
        frame = 'width="100%" height="700" style="border: 0"'
        return f'<iframe title="{text(self.title)}" {frame} srcdoc="{escape(self.html)}"></iframe>'


def report(
    estimator: EstimatorLike,
    X: Data,
    y: Array = None,
    *,
    title: str | None = None,
    cv: Splitter = 5,
    groups: Array = None,
    random_state: int = 0,
) -> Report:
    """A report on an estimator and its data: one HTML file that needs no network.

    It summarises the data, states the problem that the method solves, shows how parameters were chosen, compares the
    error with simple baselines, plots the fit, and lists the warnings that a statistician would give.

    Parameters
    ----------
    estimator : estimator
        Any estimator with scikit-learn's interface: a classifier, regressor, transformer, clusterer, density or
        outlier detector, a pipeline or a search. A fitted estimator is described as is, and X and y should be its
        training data; otherwise, a clone is fitted.
    X, y : samples and targets
        Any data that the estimator accepts: matrices, data frames, strings, graphs, kernel matrices.
    title : str, optional
        The title of the page; None uses the name of the method.
    cv : int >= 2, splitter, iterable of splits or None
        Folds of the error estimate. An integer means shuffled folds, stratified by class, which keep groups together.
        Each fold costs one fit or, for a search, the whole search. None omits the estimate.
    groups : array of shape (n,), optional
        Samples of the same group, such as a patient, are held out together.
    random_state : int >= 0
        Seed of the folds, and of the subsample in the kernel matrix if there are more than 500 samples.

    Returns
    -------
    Report
        With `html`, `save(path)`, `warnings` and `sections`.

    Notes
    -----
    The warnings and their thresholds:

    ================  ==========================================================================================
    leakage           one of several columns alone predicts y: balanced accuracy, or rank correlation, >= 0.99; with
                      more than 300 columns, only those most related to y are tested
    duplicates        more than 5 % of held-out samples have an identical one in the training set
    contradictions    identical samples of different classes
    prepared          columns whose mean is exactly 0 and standard deviation exactly 1
    imbalance         the largest class has at least ten times the samples of the smallest
    few               fewer than 10 samples of a class, or 30 in total
    useless           accuracy within two standard errors of the largest class's share, or R² (D² for levels) <= 0
                      without beating the mean of y in every fold
    linear, normal    a linear model, or one Gaussian, better by 0.01 and by two standard errors over the folds
    spread            two standard errors of the score over folds above 0.1 (accuracy) or 0.2 (R²)
    overfitting       a training score more than 0.2 above the held-out score (or above 0, if that is negative)
    bandwidth         mean similarity of two samples > 0.99 if all k(x, x) are equal, or a kernel matrix whose
                      participation ratio is > 0.7 n
    conditioning      K + αI with a condition number > 10¹², or a jitter
    indefinite        negative eigenvalues of a kernel that is not proven to be (conditionally) definite
    edge              a chosen parameter at the edge of the grid, unless another value is as good
    convergence       a solver that stopped early
    scales            column ranges that differ by a factor of more than 1000, with a single-scale kernel
    constant          columns or targets with a single value
    missing           columns with more than half their values missing
    identifier        one of several columns with a different value for each sample
    outliers          targets more than six robust standard deviations from the median
    ================  ==========================================================================================

    The report cannot see whether columns were selected or scaled using samples that are now held out, or whether
    samples are independent.

    The time is that of the fits in the folds, plus O(m³) for the kernel matrix of m <= 500 samples. Leave-one-out is
    added if there is a formula and n <= 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from mercer import SVC
    >>> from mercer.reports import report
    >>> found = report(SVC(), *load_iris(return_X_y=True), title="Three kinds of iris")
    >>> list(found.sections)
    ['warnings', 'data', 'method', 'error', 'diagnostics', 'making']
    >>> found.warnings
    []
    >>> path = found.save("iris.html")  # doctest: +SKIP
    """
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"report: estimator = {estimator!r:.80} must be an estimator, such as mercer.SVC().")
    check_number("report", "random_state", random_state, at_least=0, integer=True)
    optional("matplotlib", "plot", "report")
    started = perf_counter()
    case = Case(estimator, X, y, int(random_state), groups)
    estimate = estimated(case, cv)
    found = cautions(case, estimate)
    bodies = {
        "warnings": ("Warnings", _warnings(found)),
        "data": ("Data", data(case, estimate)),
        "method": ("Method", method(case, estimate)),
        "tuning": ("Tuning", tuning(case, estimate)),
        "error": ("Error estimate", error(case, estimate)),
        "diagnostics": ("Diagnostics", diagnostics(case, estimate)),
    }
    bodies["making"] = ("How this was made", _making(case, cv, perf_counter() - started))
    shown = {key: part for key, part in bodies.items() if part[1]}
    heading = title or f"{case.name}: a report"
    subtitle = f"{text(case.name)} on {case.n} samples · {_verdict(found)}"
    html = page(heading, subtitle, shown, paragraph("Made with Mercer. This file needs no network.", "quiet"))
    return Report(heading, html, found, {key: body for key, (_, body) in shown.items()})


def _verdict(found: list[Caution]) -> str:
    counts = {level: sum(c.level == level for c in found) for level in SIGNS}
    plural = {"serious": "serious", "caution": "cautions", "note": "notes"}
    said = [f"{n} {level if n == 1 else plural[level]}" for level, n in counts.items() if n]
    return f"warnings: {', '.join(said)}" if said else "no warnings"


def _warnings(found: list[Caution]) -> str:
    if not found:
        return paragraph(
            '<span class="good">✓</span> None of the checks found a problem. They cannot detect what the data do '
            "not show, such as dependent samples, or columns selected using held-out samples."
        )
    items = "".join(
        f'<li class="{c.level}"><span class="level">{SIGNS[c.level]} {c.level}</span>'
        f"<p><strong>{text(c.title)}.</strong> {text(c.text, 700)}</p><p>{text(c.remedy, 500)}</p></li>"
        for c in found
    )
    return f'<ul class="warnings">{items}</ul>'


def _making(case: Case, cv: Splitter, seconds: float) -> str:
    origin = "the fitted estimator that was passed" if case.was_fitted else "a clone, fitted to all samples"
    rows = [
        ["date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")],
        ["time taken", f"{seconds:.1f} s"],
        ["described fit", origin],
        ["random state", str(case.random_state)],
        ["Python", text(platform.python_version())],
        *([name, text(_version(name))] for name in PACKAGES),
    ]
    long = {"N_CHAR_MAX": 4000} if hasattr(case.estimator, "get_params") else {}  # scikit-learn's default cuts at 700
    described = nameless(case.estimator.__repr__(**long))
    folds = repr(cv) if isinstance(cv, (int, str)) or cv is None or hasattr(cv, "split") else "cv"
    more = ", groups=groups" if case.groups is not None else ""
    target = "" if case.y is None else ", y"
    options = f"cv={folds}{more}, random_state={case.random_state}"
    command = f'mercer.report(\n    {described},\n    X{target}, {options},\n).save("report.html")'
    again = f"<h3>To reproduce it</h3><pre><code>{text(command, 6000)}</code></pre>"
    return table(["", "value"], rows, plain=(1,)) + again


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "–"
