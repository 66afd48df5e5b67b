"""How good are indefinite kernels, and what does correcting them cost against doing it by hand?

The doubly centred negative edit distance of promoters (106 DNA strings) and of distinct splice junctions, and the
sigmoid kernel on sonar. Errors are means over repeated stratified folds, with C (or 1/alpha) chosen by three folds
within each training part. The peer is scikit-learn's SVC on matrices corrected with NumPy, with
k(x, S)·U·sign(Λ)·Uᵀ and the like for new samples: one fit and one prediction of 700 splice junctions each.
Needs MERCER_DATA.
Run: MERCER_DATA=/path python benchmarks/indefinite.py [--quick]
"""

import argparse
import csv
import gzip
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from sklearn.svm import SVC as Reference

from mercer import SVC, IndefiniteKernelWarning, KreinRidge, KreinSVC
from mercer.kernels import INDEFINITE, Clipped, Flipped, Precomputed, Shifted, Sigmoid, Squared
from mercer.kernels.strings import Levenshtein

STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
METHODS = {
    "as it is (stationary point)": lambda C: SVC(kernel=Precomputed(INDEFINITE), C=C, tol=1e-6),
    "Clipped": lambda C: SVC(kernel=Clipped(Precomputed()), C=C, tol=1e-6),
    "Flipped": lambda C: SVC(kernel=Flipped(Precomputed()), C=C, tol=1e-6),
    "Shifted": lambda C: SVC(kernel=Shifted(Precomputed()), C=C, tol=1e-6),
    "Squared": lambda C: SVC(kernel=Squared(Precomputed()), C=C, tol=1e-6),
    "KreinSVC": lambda C: KreinSVC("precomputed", C=C, tol=1e-6),
    "KreinRidge on labels ±1": lambda C: _Labels(KreinRidge("precomputed", alpha=1 / C, fit_intercept=True)),
}


class _Labels:
    """A classifier by the sign of a regression."""

    def __init__(self, regression):
        self.regression = regression

    def fit(self, K, y):
        self.regression.fit(K, y)
        return self

    def decision_function(self, K):
        return self.regression.predict(K)


def by_hand(name):
    """k(S, S) → the corrected matrix and the map of rows k(x, S), by NumPy."""

    def correct(K):
        values, U = np.linalg.eigh(K)
        kept = np.abs(values) > len(K) * np.finfo(float).eps * np.abs(values).max()
        if name == "Shifted":
            c = max(0.0, -values[0])
            return K + c * np.eye(len(K)), None
        rule = {
            "Clipped": np.where(kept & (values > 0), 1.0, 0.0),
            "Flipped": np.where(kept, np.sign(values), 0.0),
            "Squared": values,
        }[name]
        return (U * (rule * values)) @ U.T, (U * rule) @ U.T

    return correct


def read(path, label, text):
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    return [r[text] for r in rows], np.array([r[label] for r in rows])


def junctions(folder, count):
    """The centred similarity of distinct splice junctions, and their class, one of two."""
    words, label = read(folder / "strings" / "splice.csv.gz", "label", "sequence")
    different = np.unique(words, return_index=True)[1]
    different = different[np.isin(label[different], ["EI", "IE"])]
    chosen = np.random.default_rng(0).permutation(different)[:count]
    return centred(Levenshtein()([words[i] for i in chosen])), np.where(label[chosen] == "EI", 1, -1)


def load(folder, quick):
    words, label = read(folder / "strings" / "promoters.csv.gz", "label", "sequence")
    yield "promoters, −edit distance", centred(Levenshtein()(words)), np.where(label == "+", 1, -1)
    yield "splice junctions, −edit distance", *junctions(folder, 200 if quick else 500)
    with gzip.open(folder / "classic" / "sonar.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    X = np.array([r[:60] for r in rows], dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    yield "sonar, sigmoid", Sigmoid(1 / 60, -0.5)(X), np.where(np.array([r[60] for r in rows]) == "M", 1, -1)


def centred(K):
    """Move the origin to the mean of all strings; a fixed change of k that does not use labels."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def errors(make, K, y, folds):
    """The error rate in each fold, with nested choice of C, and the seconds of all fits."""
    wrong, start = [], perf_counter()
    for train, test in folds:
        inner = list(StratifiedKFold(3).split(train, y[train]))
        losses = []
        for C in STRENGTHS:
            held = [(train[a], train[b]) for a, b in inner]
            losses.append(np.mean([mistakes(make(C), K, y, a, b) for a, b in held]))
        wrong.append(mistakes(make(STRENGTHS[int(np.argmin(losses))]), K, y, train, test))
    return np.array(wrong), perf_counter() - start


def mistakes(model, K, y, train, test):
    try:
        model.fit(K[np.ix_(train, train)], y[train])
    except ValueError:  # KreinRidge: −alpha is an eigenvalue
        return 1.0
    return np.mean(np.where(model.decision_function(K[np.ix_(test, train)]) >= 0, 1, -1) != y[test])


def against_hand(K, y):
    """Time and decision values of one fit and prediction, by Mercer and by hand."""
    half = len(y) // 2
    order = np.random.default_rng(1).permutation(len(y))
    train, test = order[:half], order[half:]
    A, B = K[np.ix_(train, train)], K[np.ix_(test, train)]
    for name in ("Clipped", "Flipped", "Shifted", "Squared"):
        C = 1.0 if name != "Squared" else 0.01
        make, correct = METHODS[name], by_hand(name)

        def ours(make=make, C=C):
            return make(C).fit(A, y[train]).decision_function(B)

        def theirs(correct=correct, C=C):
            matrix, to_rows = correct(A)
            model = Reference(kernel="precomputed", C=C, tol=1e-6).fit(matrix, y[train])
            return model.decision_function(B if to_rows is None else B @ to_rows)

        timed = []
        for work in (ours, theirs):
            work()
            seconds = []
            for _ in range(3):
                start = perf_counter()
                values = work()
                seconds.append(perf_counter() - start)
            timed.append((min(seconds), values))
        (a, f), (b, g) = timed
        print(f"    {name:10s} {1e3 * a:7.1f} ms, by hand {1e3 * b:7.1f} ms ({b / a:.2f} ×), "
              f"decisions differ by {np.abs(f - g).max():.1e} of {np.abs(g).max():.1f}")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer samples and folds")
    args = parser.parse_args()
    warnings.simplefilter("ignore", IndefiniteKernelWarning)
    if "MERCER_DATA" not in os.environ:
        raise SystemExit("MERCER_DATA is not set; give the folder of the data sets.")
    folder = Path(os.environ["MERCER_DATA"])
    for name, K, y in load(folder, args.quick):
        values = np.linalg.eigvalsh(K)
        share = -values[values < 0].sum() / np.abs(values).sum()
        print(f"{name}: {len(y)} samples, {share:.0%} of the spectrum's weight is negative")
        repeats = 1 if args.quick or len(y) > 150 else 2
        folds = list(RepeatedStratifiedKFold(n_splits=5, n_repeats=repeats, random_state=0).split(K, y))
        for method, make in METHODS.items():
            wrong, seconds = errors(make, K, y, folds)
            spread = wrong.std() / np.sqrt(len(wrong))
            print(f"    {method:28s} {wrong.mean():6.1%} ± {spread:.1%} wrong  ({seconds:.1f} s)")
    print("one machine, fit and prediction")
    against_hand(*junctions(folder, 400 if args.quick else 1400))


if __name__ == "__main__":
    main()
