"""How fast are the linear machines against scikit-learn's (LIBLINEAR), and whose objective is lower?

Default tolerances, same process, alternating runs, minimum times. "equal" is our time at the loosest tolerance whose
objective is not above scikit-learn's. The last columns are our objective at the default tolerance, its relative duality
gap, and scikit-learn's objective, all from the definition; * marks a scikit-learn run that reached
max_iter = 1000. The data are small, medium and large parts of the digits and of a table and, if the folder in
MERCER_DATA has them, of a9a and the Reuters texts.
Run: python benchmarks/linear_svm.py [--seconds 1] [--C 1.0] [--only digits] [--loss l1]
"""

import argparse
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits, load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC as ReferenceSVC
from sklearn.svm import LinearSVR as ReferenceSVR

from mercer import LinearSVC, LinearSVR
from mercer.datasets import load_r8

CLASSIFICATION, REGRESSION = ["squared_hinge", "hinge", "l1"], ["epsilon_insensitive", "squared_epsilon_insensitive"]
MOST = 200  # maximum number of runs
TOLERANCES = (0.9, 0.8, 0.7, 0.5, 0.3, 1e-1, 3e-2, 1e-2, 5e-3, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5)


def dense(n, d, rng):
    X = rng.normal(size=(n, d))
    z = X @ rng.normal(size=d) / np.sqrt(d) + 0.5 * rng.normal(size=n)
    return X, np.where(z > 0, 1, -1), z


def short(X):
    """X with the 32-bit indices that scikit-learn's machines require."""
    X = csr_matrix(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def problems(rng):
    """Name, samples, labels or None, targets or None."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    for n in (100, 300, 1000, 1797):
        yield f"digits {n} x 64", X[:n], y[:n], None
        yield f"digits > 4, {n}", X[:n], (y[:n] > 4).astype(int), None
    X, y = load_diabetes(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    for n in (100, 200, 442):
        yield f"diabetes {n} x 10", X[:n], None, y[:n]
    for n, d in ((3_000, 300), (200, 5_000), (20_000, 50)):
        yield f"dense {n} x {d}", *dense(n, d, rng)
    folder = Path(os.environ.get("MERCER_DATA", ""))
    if (folder / "libsvm" / "a9a.gz").is_file():
        X, y = load_svmlight_file(str(folder / "libsvm" / "a9a.gz"))
        for n in (100, 1000, 5000, 32561):
            yield f"a9a {n} x 123", short(X[:n]), y[:n], y[:n]
    if (folder / "text" / "r8_train.tsv.gz").is_file():
        texts = load_r8()
        X, y = TfidfVectorizer().fit_transform(texts.data), np.asarray(texts.target)
        order = rng.permutation(len(y))
        for n in (100, 500, 2000, len(y)):
            part, labels = short(X[order[:n]]), y[order[:n]]
            acquired = labels == np.unique(y)[0]
            yield f"r8 {n} x {X.shape[1]}", part, labels, None
            yield f"r8 acq, {n}", part, acquired.astype(int), np.where(acquired, 1.0, -1.0)


def objective(model, loss, X, y, C, epsilon):
    """The sum over the machines, from the definition."""
    total, W = 0.0, np.atleast_2d(model.coef_)
    F = X @ W.T + model.intercept_
    for k, w in enumerate(W):
        if "epsilon" in loss:
            xi = np.maximum(0, np.abs(y - F[:, k]) - epsilon)
        else:
            xi = np.maximum(0, 1 - np.where(y == model.classes_[k if len(W) > 1 else 1], 1, -1) * F[:, k])
        b = model.intercept_[k]
        penalty = np.abs(w).sum() + abs(b) if loss == "l1" else 0.5 * (w @ w + b * b)
        total += penalty + C * float(np.sum(xi if loss in ("hinge", "epsilon_insensitive") else xi**2))
    return total


def models(loss, C):
    if "epsilon" in loss:
        return [cls(loss=loss, epsilon=0.1, C=C, random_state=0) for cls in (LinearSVR, ReferenceSVR)]
    settings = {"penalty": "l1", "dual": False} if loss == "l1" else {"loss": loss}
    return [cls(**settings, C=C, random_state=0) for cls in (LinearSVC, ReferenceSVC)]


def least_times(pair, X, y, seconds):
    pair[0].fit(X, y)  # compiled code is built or loaded
    times, begun = [], perf_counter()
    while not times or (perf_counter() - begun < seconds and len(times) < MOST):
        marks = [perf_counter()]
        for model in pair:
            model.fit(X, y)
            marks.append(perf_counter())
        times.append(np.diff(marks))
    return np.min(times, axis=0)


def at_equal_objective(model, loss, X, y, C, other, seconds):
    """The minimum time at the loosest tolerance whose objective is not above `other`; NaN if there is none."""
    for tol in TOLERANCES:
        found = clone(model).set_params(tol=tol).fit(X, y)
        if objective(found, loss, X, y, C, 0.1) <= other * (1 + 1e-9):
            return 1e3 * least_times([found], X, y, seconds / 2)[0]
    return np.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--C", type=float, default=1.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--loss", default="")
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)

    print(f"C = {args.C:g}; milliseconds, and scikit-learn's time over mercer's")
    head = ("problem", "loss", "mercer", "sklearn", "ratio", "equal", "ratio", "objective", "gap", "of sklearn")
    print("{:18s}{:29s}{:>9s}{:>10s}{:>8s}{:>9s}{:>8s}{:>14s}{:>8s}{:>14s}".format(*head))
    for name, X, labels, values in problems(np.random.default_rng(0)):
        if not name.startswith(args.only):
            continue
        for loss in CLASSIFICATION * (labels is not None) + REGRESSION * (values is not None):
            if args.loss not in ("", loss):
                continue
            y = values if "epsilon" in loss else labels
            pair = models(loss, args.C)
            ours, theirs = 1e3 * least_times(pair, X, y, args.seconds)
            value, other = (objective(model, loss, X, y, args.C, 0.1) for model in pair)
            equal = at_equal_objective(pair[0], loss, X, y, args.C, other, args.seconds)
            mark = "*" if np.max(pair[1].n_iter_) >= 1000 else " "
            print(
                f"{name:18s}{loss:29s}{ours:9.2f}{theirs:9.2f}{mark}{theirs / ours:8.2f}"
                f"{equal:9.2f}{theirs / equal:8.2f}{value:14.9g}"
                f"{pair[0].solution_.gap / value:8.0e}{other:14.9g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
