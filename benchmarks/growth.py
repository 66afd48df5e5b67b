"""How do fits grow from 30 to 100,000 rows, ours and scikit-learn's?

Noisy labels and targets with 20 columns, in one process, in turn; each figure is the minimum of several runs. A library
drops out of a comparison once a fit takes longer than --seconds. Draws docs/_static/growth.png.

Run: python benchmarks/growth.py [--seconds 2] [--largest 100000]
"""

import argparse
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn import decomposition, kernel_ridge, svm
from sklearn.datasets import make_classification

import mercer

ROWS = (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000)
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "_static" / "growth.png"
DENSE = 10_000  # up to this many rows, the matrix of all pairs fits into memory in both libraries

LABELS = ("Mercer", "C0", 7, "left"), ("scikit-learn", "0.45", -7, "right")  # text, colour and place

# name: scikit-learn's class, ours, parameters, target, and maximum number of rows
CLASSES = {
    "SVC": (svm.SVC, mercer.SVC, {"C": 1.0}, "labels", ROWS[-1]),
    "SVR": (svm.SVR, mercer.SVR, {"C": 1.0}, "targets", ROWS[-1]),
    "OneClassSVM": (svm.OneClassSVM, mercer.OneClassSVM, {"nu": 0.1}, None, ROWS[-1]),
    "LinearSVC": (svm.LinearSVC, mercer.LinearSVC, {}, "labels", ROWS[-1]),
    "KernelRidge": (kernel_ridge.KernelRidge, mercer.KernelRidge, {"kernel": "rbf", "alpha": 0.1}, "targets", DENSE),
    "KernelPCA": (decomposition.KernelPCA, mercer.KernelPCA, {"n_components": 5, "kernel": "rbf"}, None, DENSE),
}


def least(make, data, seconds):
    """The minimum time of at least two fits, in seconds; the first one may wait for fresh memory."""
    times, started = [], perf_counter()
    while len(times) < 2 or perf_counter() - started < min(0.5, seconds):
        start = perf_counter()
        make().fit(*data)
        times.append(perf_counter() - start)
    return min(times)


def measured(rows, seconds):
    """The times of both libraries for each class; NaN after a library has dropped out."""
    X, labels = make_classification(rows[-1], 20, n_informative=12, flip_y=0.05, random_state=0)
    X = X / X.std(axis=0)
    targets = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * np.random.default_rng(0).normal(size=len(X))
    found = {}
    for name, (theirs, ours, parameters, what, most) in CLASSES.items():
        ours(**parameters).fit(X[:300], *([] if what is None else [{"labels": labels, "targets": targets}[what][:300]]))
        times, running = np.full((2, len(rows)), np.nan), [True, True]
        for k, n in enumerate(rows):
            data = [X[:n]] + ([] if what is None else [{"labels": labels, "targets": targets}[what][:n]])
            for side, cls in enumerate((ours, theirs)):
                if running[side] and n <= most:
                    times[side, k] = least(lambda cls=cls, p=parameters: cls(**p), data, seconds)
                    running[side] = times[side, k] < seconds
            mine, peer = 1e3 * times[:, k]
            print(f"{name:12} n = {n:7,}: ours {mine:10.2f} ms, scikit-learn {peer:10.2f} ms, ratio {peer / mine:6.1f}")
        found[name] = times
    return found


def draw(rows, found):
    """Both curves of each class on logarithmic axes."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(11, 6.2), sharex=True, sharey=True, layout="constrained")
    for ax, (name, (ours, theirs)) in zip(axes.flat, found.items(), strict=True):
        ax.loglog(rows, theirs, "s--", color="0.55", markersize=4, linewidth=1.4)
        ax.loglog(rows, ours, "o-", color="C0", markersize=4.5, linewidth=2)
        ax.set_title(name, fontsize=11, loc="left")
        ax.grid(which="major", color="0.92", linewidth=0.8)
        ax.set_axisbelow(True)
        ax.spines[["top", "right"]].set_visible(False)
        for values, (text, color, shift, side) in zip((ours, theirs), LABELS, strict=True):
            last = np.flatnonzero(np.isfinite(values))[-1]
            at = rows[last], values[last]
            ax.annotate(text, at, (shift, 0), textcoords="offset points", ha=side, va="center", fontsize=9, color=color)
        ax.set_xlim(right=12 * rows[-1])
    for ax in axes[-1]:
        ax.set_xlabel("rows")
    for ax in axes[:, 0]:
        ax.set_ylabel("seconds of a fit")
    figure.savefig(PICTURE, dpi=130)
    print(f"picture: {PICTURE.relative_to(PICTURE.parents[2])}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0, help="a library drops out after a fit that takes longer")
    parser.add_argument("--largest", type=int, default=ROWS[-1])
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [n for n in ROWS if n <= args.largest]
    draw(rows, measured(rows, args.seconds))


if __name__ == "__main__":
    main()
