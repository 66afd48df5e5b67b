"""Searches over C and γ for SVC on one CUDA device: all digits of MNIST, and many C for two classes.

    grid    log₂C = −2 … 10 and log₂γ = −14 … −4, five folds, 60,000 digits with pixels on [−1, 1]: 32,175 machines
    many    50 values of C, five folds, the 11,791 digits 4 and 9 with pixels on [0, 1]: 250 machines

Timed after one search on few samples, which compiles, synchronised. The data come from the folder in MERCER_DATA.
Run: python benchmarks/gpu_grid.py [grid many] [--runs 2] [--n 60000]
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
import torch
from sklearn.model_selection import StratifiedKFold
from svm import mnist

from mercer import SVC
from mercer.selection import KernelSearchCV

FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
GRID = {"C": 2.0 ** np.arange(-2, 11), "gamma": 2.0 ** np.arange(-14, -3)}
MANY = {"C": np.logspace(-2, 3, 50), "gamma": [0.02]}


def timed(X, y, grid, runs):
    search = KernelSearchCV(SVC(), grid, cv=FOLDS, refit=False)
    best = float("inf")
    for _ in range(runs):
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
        start = perf_counter()
        search.fit(X, y)
        torch.cuda.synchronize()
        best = min(best, perf_counter() - start)
    return search, best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=["grid", "many"])
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--n", type=int, default=60_000)
    args = parser.parse_args()
    warnings.simplefilter("always")
    print(torch.cuda.get_device_name())
    ((_, X, y, *_),) = mnist(args.n)
    X, y = torch.tensor(X, device="cuda"), torch.tensor(y.astype(np.int64), device="cuda")
    pair = (y == 4) | (y == 9)
    for name in args.names:
        data = (2 * X - 1, y, GRID) if name == "grid" else (X[pair], y[pair], MANY)
        timed(data[0][:1000], data[1][:1000], {"C": [1.0, 2.0], "gamma": [0.01]}, 1)
        search, seconds = timed(*data, args.runs)
        cells = len(search.cv_results_["params"])
        print(
            f"{name}: n = {len(data[0]):,}, {cells} settings, 5 folds: {seconds:.2f} s, best score "
            f"{search.best_score_:.5f} at {search.best_params_}; shared: {search.sharing_}",
            flush=True,
        )


if __name__ == "__main__":
    main()
