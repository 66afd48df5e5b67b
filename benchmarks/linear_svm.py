"""How fast are the linear machines against scikit-learn's (LIBLINEAR), and whose objective is lower?

Default tolerances, same process, alternating runs. The last columns are the relative duality gap of ours and how far
scikit-learn's objective lies above ours; * marks a run that reached max_iter = 1000. Where MERCER_DATA names a folder
with libsvm/a9a.gz, a9a is added.
Run: python benchmarks/linear_svm.py [--runs 3] [--C 1.0]
"""

import argparse
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.datasets import load_svmlight_file
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC as ReferenceSVC
from sklearn.svm import LinearSVR as ReferenceSVR

from mercer.methods.linear_svm import LinearSVC, LinearSVR

LOSSES = ["squared_hinge", "hinge", "l1", "epsilon_insensitive", "squared_epsilon_insensitive"]


def dense(n, d, rng):
    X = rng.normal(size=(n, d))
    z = X @ rng.normal(size=d) / np.sqrt(d) + 0.5 * rng.normal(size=n)
    return X, np.where(z > 0, 1, -1), z


def short(X):
    """X with the 32-bit indices that scikit-learn's machines insist on."""
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X


def text(n, d, words, rng):
    """Documents of words with frequencies ~ 1/rank, weighted by rarity and normalised."""
    rows, columns = np.repeat(np.arange(n), words), (d ** rng.random(n * words)).astype(int) - 1
    X = csr_array((np.ones(n * words), (rows, columns)), shape=(n, d))
    rarity = np.log(n / (1 + np.bincount(X.indices, minlength=d))).clip(0) + 1
    X = normalize(X @ diags_array(rarity)).tocsr()
    X = short(X)
    z = X @ (rng.normal(size=d) * (rng.random(d) < 0.2))
    z = z / z.std() + 0.3 * rng.normal(size=n)
    return X, np.where(z > 0, 1, -1), z


def problems(rng):
    yield "dense 20000 x 50", *dense(20_000, 50, rng)
    yield "dense 3000 x 300", *dense(3_000, 300, rng)
    yield "dense 200 x 5000", *dense(200, 5_000, rng)
    yield "text 20000 x 50000", *text(20_000, 50_000, 50, rng)
    a9a = Path(os.environ.get("MERCER_DATA", "")) / "libsvm" / "a9a.gz"
    if a9a.is_file():
        X, y = load_svmlight_file(str(a9a))
        yield "a9a 32561 x 123", short(X), y, y


def objective(loss, w, b, X, y, C, epsilon):
    f = X @ w + b
    xi = np.maximum(0, np.abs(y - f) - epsilon) if "epsilon" in loss else np.maximum(0, 1 - y * f)
    penalty = np.abs(w).sum() + abs(b) if loss == "l1" else 0.5 * (w @ w + b * b)
    return penalty + C * float(np.sum(xi if loss in ("hinge", "epsilon_insensitive") else xi**2))


def models(loss, C):
    if "epsilon" in loss:
        return [cls(loss=loss, epsilon=0.1, C=C, random_state=0) for cls in (LinearSVR, ReferenceSVR)]
    settings = {"penalty": "l1", "dual": False} if loss == "l1" else {"loss": loss}
    return [cls(**settings, C=C, random_state=0) for cls in (LinearSVC, ReferenceSVC)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--C", type=float, default=1.0)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)

    small = text(200, 2_000, 10, np.random.default_rng(1))
    for loss in LOSSES:  # compiled code is built or loaded
        models(loss, 1.0)[0].fit(small[0], small[1])
    print(f"C = {args.C:g}, best of {args.runs}; seconds, and scikit-learn's time over mercer's")
    head = ("problem", "loss", "mercer", "sklearn", "ratio", "objective", "gap", "sklearn above")
    print("{:20s}{:29s}{:>9s}{:>10s}{:>8s}{:>14s}{:>10s}{:>15s}".format(*head))
    for name, X, labels, values in problems(np.random.default_rng(0)):
        for loss in LOSSES:
            y = values if "epsilon" in loss else labels
            pair = models(loss, args.C)
            seconds = [[], []]
            for _ in range(args.runs):
                for model, times in zip(pair, seconds, strict=True):
                    start = perf_counter()
                    model.fit(X, y)
                    times.append(perf_counter() - start)
            ours, theirs = (objective(loss, np.ravel(m.coef_), float(m.intercept_[0]), X, y, args.C, 0.1) for m in pair)
            fast, slow = (min(times) for times in seconds)
            mark = "*" if pair[1].n_iter_ >= 1000 else " "
            print(
                f"{name:20s}{loss:29s}{fast:9.3f}{slow:9.3f}{mark}{slow / fast:8.2f}{ours:14.6g}"
                f"{pair[0].solution_.gap / ours:10.0e}{(theirs - ours) / ours:15.1e}"
            )


if __name__ == "__main__":
    main()
