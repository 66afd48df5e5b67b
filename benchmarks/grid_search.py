"""How fast is a grid over C and γ against GridSearchCV with scikit-learn's SVC? Same splits, both with two jobs.

log₂C = −2 … 10 and log₂γ = −14 … −4, five folds, on 1,000 MNIST digits with pixels on [−1, 1] (from the folder in
MERCER_DATA; otherwise on 1,000 of scikit-learn's small digits). The time is the minimum over runs of at least a second.
Run: python benchmarks/grid_search.py [--quick] [--runs 2]
"""

import argparse
import gzip
import os
from pathlib import Path
from time import perf_counter

import numpy as np
import sklearn.svm
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from mercer import SVC
from mercer.selection import KernelSearchCV

N = 1000


def digits():
    """1,000 digits with pixels on [−1, 1], their labels, and the name of the data."""
    folder = os.environ.get("MERCER_DATA")
    if not folder:
        X, y = load_digits(return_X_y=True)
        return X[:N] / 8 - 1, y[:N], "scikit-learn's digits"
    names = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz")
    images, labels = (gzip.decompress((Path(folder) / "mnist" / name).read_bytes()) for name in names)
    X = np.frombuffer(images, np.uint8, offset=16).reshape(-1, 784)
    return X[:N] / 127.5 - 1, np.frombuffer(labels, np.uint8, offset=8)[:N], "MNIST"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a grid of 4 × 4")
    parser.add_argument("--runs", type=int, default=2)
    args = parser.parse_args()
    X, y, name = digits()
    step = 4 if args.quick else 1
    grid = {"C": 2.0 ** np.arange(-2, 11, step), "gamma": 2.0 ** np.arange(-14, -3, 3 if args.quick else 1)}
    cv = StratifiedKFold(5, shuffle=True, random_state=0)
    contenders = {
        "mercer": KernelSearchCV(SVC(n_jobs=1), grid, cv=cv, n_jobs=2, refit=False),
        "scikit-learn": GridSearchCV(sklearn.svm.SVC(), grid, cv=cv, n_jobs=2, refit=False),
    }
    KernelSearchCV(SVC(), {"C": [1.0]}, refit=False).fit(X[:100], y[:100])  # compilation
    seconds = {name: [] for name in contenders}
    for _ in range(args.runs):
        for who, search in contenders.items():
            end = perf_counter() + 1.0
            while (start := perf_counter()) < end:
                search.fit(X, y)
                seconds[who].append(perf_counter() - start)
    best = {who: min(times) for who, times in seconds.items()}
    cells = len(grid["C"]) * len(grid["gamma"])
    print(f"{name}: {N} samples, {len(grid['C'])} × {len(grid['gamma'])} settings, 5 folds, 2 jobs")
    for who, search in contenders.items():
        print(f"{who:>13}: {best[who]:7.2f} s, best score {search.best_score_:.4f} at {search.best_params_}")
    scores = [search.cv_results_["mean_test_score"] for search in contenders.values()]
    equal = int((np.abs(scores[0] - scores[1]) < 1e-12).sum())
    print(f"ratio {best['scikit-learn'] / best['mercer']:.1f}; {equal} of {cells} cells equal", end=", ")
    print(f"largest difference {np.abs(scores[0] - scores[1]).max() * N:.0f} of {N} samples")
    print(f"shared: {contenders['mercer'].sharing_}")


if __name__ == "__main__":
    main()
