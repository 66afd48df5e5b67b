"""What do fits of small data and predictions for one row cost, for every class that scikit-learn also has?

Digits (64 pixels on [0, 1]) in one process, Mercer and scikit-learn in turn. Each figure is the minimum of many runs,
and the ratio is scikit-learn's time over ours. Both models are evaluated on all 1,797 digits: classifiers and
regressions by their error, KernelPCA by its explained variance, KernelDensity by the mean log-density, OneClassSVM
by the fraction of outliers, SpectralClustering by the adjusted Rand index.

Run: python benchmarks/small_data.py [SVC KernelPCA …] [--n 30 100 300 1000 1797] [--seconds 1.0]
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
from sklearn import cluster, decomposition, kernel_ridge, neighbors, svm
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import mercer

ROWS = (30, 100, 300, 1000, 1797)
MOST = 300  # maximum number of runs per figure


def wrong(model, X, y):
    return "error %", 100 * np.mean(model.predict(X) != y)


def deviation(model, X, y):
    return "mean error", np.mean(np.abs(model.predict(X) - y))


def outliers(model, X, y):
    return "outliers %", 100 * np.mean(model.predict(X) < 0)


def variance(model, X, y):
    return "eigenvalues", float(np.sum(model.eigenvalues_))


def density(model, X, y):
    return "log-density", float(np.mean(model.score_samples(X)))


def agreement(model, X, y):
    return "Rand index", adjusted_rand_score(y[: len(model.labels_)], model.labels_)


# name: scikit-learn's module, parameters, the method for one row, and the measure of quality
CLASSES = {
    "SVC": (svm, {}, "predict", wrong),
    "SVC, 2 classes": (svm, {}, "predict", wrong),
    "NuSVC": (svm, {"nu": 0.05}, "predict", wrong),
    "SVR": (svm, {}, "predict", deviation),
    "NuSVR": (svm, {}, "predict", deviation),
    "OneClassSVM": (svm, {"nu": 0.1}, "predict", outliers),
    "LinearSVC": (svm, {}, "predict", wrong),
    "LinearSVR": (svm, {}, "predict", deviation),
    "KernelRidge": (kernel_ridge, {"kernel": "rbf"}, "predict", deviation),
    "KernelPCA": (decomposition, {"n_components": 5, "kernel": "rbf"}, "transform", variance),
    "KernelDensity": (neighbors, {}, "score_samples", density),
    "SpectralClustering": (cluster, {"n_clusters": 10, "random_state": 0}, None, agreement),
}


def least(calls, seconds):
    """The minimum time of each call, run in turn for this many seconds."""
    best, end, runs = np.full(len(calls), np.inf), perf_counter() + seconds, 0
    while runs < 3 or (runs < MOST and perf_counter() < end):
        for i, call in enumerate(calls):
            start = perf_counter()
            call()
            best[i] = min(best[i], perf_counter() - start)
        runs += 1
    return best


def compare(name, n, X, y, seconds):
    module, parameters, answer, judge = CLASSES[name]
    makers = [getattr(library, name.partition(",")[0]) for library in (mercer, module)]
    target = y.astype(float) if judge is deviation else (y > 4).astype(int) if "2 classes" in name else y
    models = [maker(**parameters).fit(X[:n], target[:n]) for maker in makers]
    fits = least([lambda maker=maker: maker(**parameters).fit(X[:n], target[:n]) for maker in makers], seconds)
    line = f"{name:18s} n = {n:5d}: fit {1e3 * fits[0]:8.2f} ms ({fits[1] / fits[0]:5.2f} ×)"
    if answer is not None:
        rows = least([lambda model=model: getattr(model, answer)(X[:1]) for model in models], seconds / 4)
        line += f", one row {1e3 * rows[0]:6.3f} ms ({rows[1] / rows[0]:5.2f} ×)"
    (kind, ours), (_, theirs) = (judge(model, X, target) for model in models)
    print(f"{line}; {kind} {ours:.4f}, scikit-learn's {theirs:.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(CLASSES), help=", ".join(CLASSES))
    parser.add_argument("--n", type=int, nargs="*", default=ROWS)
    parser.add_argument("--seconds", type=float, default=1.0, help="time for measuring a fit")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    X = np.ascontiguousarray(X / 16)
    for name in args.names:
        for n in args.n:
            compare(name, n, X, y, args.seconds)


if __name__ == "__main__":
    main()
