"""Kernel methods at work on data that ships with scikit-learn: ``python -m mercer.demo``.

Interpolates a function with a guaranteed error, predicts the progression of diabetes and reads handwritten digits, with
several kernels each. Prints a table and writes ``mercer_demo.png`` to the current directory.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import StandardScaler

from mercer import RKHS, SVC, Function, KernelInterpolator, KernelMeanClassifier, KernelRidge
from mercer._errors import optional
from mercer.kernels import Constant, Gaussian, Laplace, Linear, Matern, Polynomial

PICTURE = "mercer_demo.png"


class Result(NamedTuple):
    """One row of the table."""

    data: str
    method: str
    kernel: str
    error: float
    unit: str
    seconds: float


NODES = np.array([0.0, 1.5, 2.5, 4.2, 5.0, 7.5, 9.0, 10.0])[:, None]


def truth() -> Function:
    """The function to be interpolated: a member of the Gaussian kernel's space, so that its norm is known."""
    centres = np.array([[0.5], [2.5], [4.0], [7.0], [9.0]])
    return RKHS(Gaussian(lengthscale=1.0)).function(centres, np.array([1.0, -1.2, 1.0, 0.8, -1.0]))


def interpolation() -> Iterator[tuple[str, str, Any]]:
    """Jobs: (method, kernel, what to call for the error and its unit)."""
    f, kernel, grid = truth(), Gaussian(lengthscale=1.0), np.linspace(0, 10, 401)[:, None]

    def run() -> tuple[float, str]:
        model = KernelInterpolator(kernel=kernel).fit(NODES, f(NODES))
        return float(np.abs(model.predict(grid) - f(grid)).max()), "max. error"

    yield "KernelInterpolator", str(kernel), run


def diabetes() -> Iterator[tuple[str, str, Any]]:
    """Ridge regression, alpha by cross-validation, root mean squared error on the half left out."""
    X, y = load_diabetes(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
    for kernel in [
        Constant(),  # the best that ignores the patient: the mean
        Linear(),
        Gaussian(lengthscale="median"),
        Matern(lengthscale="median", nu=1.5),
        Laplace(lengthscale="median"),
        Linear() + 10 * Gaussian(lengthscale="median"),
    ]:

        def run(kernel: Any = kernel) -> tuple[float, str]:
            model = KernelRidge(kernel=kernel, fit_intercept=True)
            search = GridSearchCV(model, {"alpha": np.logspace(-2, 3, 11)}, scoring="neg_mean_squared_error")
            residual = search.fit(X_fit, y_fit).predict(X_test) - y_test
            return float(np.sqrt(np.mean(residual**2))), "RMSE"

        yield "KernelRidge", str(kernel), run


def digits() -> Iterator[tuple[str, str, Any]]:
    """Three classifiers for handwritten digits; the share of errors on the half left out."""
    X, y = load_digits(return_X_y=True)
    X_fit, X_test, y_fit, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=0, stratify=y)
    for kernel in [Linear(), Polynomial(degree=4, offset=1.0), Gaussian(lengthscale=0.8)]:

        def means(kernel: Any = kernel) -> tuple[float, str]:
            model = KernelMeanClassifier(kernel=kernel).fit(X_fit, y_fit)
            return 100 * float(np.mean(model.predict(X_test) != y_test)), "% wrong"

        yield "KernelMeanClassifier", str(kernel), means
    for kernel in [Linear(), Polynomial(degree=4, offset=1.0), Gaussian(lengthscale=1.5)]:

        def ridge(kernel: Any = kernel) -> tuple[float, str]:
            indicators = (y_fit[:, None] == np.arange(10)).astype(float)
            model = KernelRidge(alpha=0.1, kernel=kernel, fit_intercept=True).fit(X_fit, indicators)
            return 100 * float(np.mean(model.predict(X_test).argmax(axis=1) != y_test)), "% wrong"

        yield "KernelRidge", str(kernel), ridge
    for kernel in [Linear(), Gaussian(lengthscale=1.5)]:

        def machine(kernel: Any = kernel) -> tuple[float, str]:
            model = SVC(C=10.0, kernel=kernel).fit(X_fit, y_fit)
            return 100 * float(np.mean(model.predict(X_test) != y_test)), "% wrong"

        yield "SVC", str(kernel), machine


def run_all() -> list[Result]:
    """Run every job, with a line of progress."""
    sources = {"a function of x": interpolation, "diabetes": diabetes, "digits": digits}
    jobs = [(data, *job) for data, source in sources.items() for job in source()]
    results = []
    for number, (data, method, kernel, job) in enumerate(jobs, 1):
        progress(f"[{number:2d}/{len(jobs)}] {data}: {method}, {kernel}")
        start = perf_counter()
        error, unit = job()
        results.append(Result(data, method, kernel, error, unit, perf_counter() - start))
    progress("")
    return results


def progress(text: str) -> None:
    """Show `text` in place of the line before it on a terminal; as a line of its own elsewhere."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
    elif text:
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def table(results: list[Result]) -> str:
    """The results as text."""
    head = ("data", "method", "kernel", "error", "time")
    rows = [(r.data, r.method, r.kernel, f"{r.error:.3g} {r.unit}", f"{r.seconds:.2f} s") for r in results]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in [head, *rows]]
    return "\n".join(line.rstrip() for line in [lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def draw(results: list[Result], path: Path) -> None:
    """Write the picture: the interpolant with its guarantee, and the errors of the other two tasks."""
    optional("matplotlib", "plot", "The demo's picture")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 4.2), layout="constrained")
    left, middle, right = figure.subplots(1, 3, width_ratios=[1.6, 1, 1])

    f, grid = truth(), np.linspace(-0.5, 10.5, 500)[:, None]
    model = KernelInterpolator(kernel=Gaussian(lengthscale=1.0)).fit(NODES, f(NODES))
    centre, bound = model.predict(grid), model.error_bound(grid, norm_bound=f.norm())
    x = grid[:, 0]
    left.fill_between(x, centre - bound, centre + bound, alpha=0.25, label="guaranteed error")
    left.plot(x, centre, label="interpolant of least norm")
    left.plot(x, f(grid), "k--", linewidth=1, label="truth")
    left.plot(NODES[:, 0], f(NODES), "ko", markersize=5, label="values given")
    left.set(title="Interpolation", xlabel="x", ylim=(-1.1, 1.75))
    left.legend(fontsize=8, ncols=2, loc="upper center")

    colours = {"KernelMeanClassifier": "#56B4E9", "KernelRidge": "#E69F00", "SVC": "#0072B2"}
    for axes, data, title in [(middle, "diabetes", "Diabetes progression"), (right, "digits", "Handwritten digits")]:
        chosen = [r for r in results if r.data == data][::-1]
        bars = axes.barh(range(len(chosen)), [r.error for r in chosen], color=[colours[r.method] for r in chosen])
        axes.bar_label(bars, fmt="%.3g", padding=3, fontsize=8)
        axes.set_yticks(range(len(chosen)), [label(r) for r in chosen], fontsize=7)
        axes.set(title=title, xlabel=f"{chosen[0].unit} on the half left out")
        axes.margins(x=0.15)
    figure.savefig(path, dpi=130)


def label(result: Result) -> str:
    """Method and kernel, a sum on a line for each term."""
    return f"{result.method}\n" + result.kernel.replace(" + ", " +\n")


def main() -> None:
    """Run the demo."""
    results = run_all()
    print(table(results))
    path = Path(PICTURE).resolve()
    draw(results, path)
    print(f"\nPicture: {path}")


if __name__ == "__main__":
    main()
