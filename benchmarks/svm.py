"""How fast is SVC against scikit-learn's (LIBSVM)? Same process and data, tol 1e-3, cache 2,000 MB; ours on all cores.

The sum of the dual objectives of both is computed in float64. Run: python benchmarks/svm.py [--n 10000] [--hard]
MNIST (pixels on [0, 1], C = 2, γ = 0.0156) comes from the folder in MERCER_DATA, else scikit-learn's digits are used;
--hard is low-dimensional noisy data at C = 1, 100, 1,000. scikit-learn takes minutes at n = 60,000.
"""

import argparse
import gzip
import os
from itertools import combinations
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn import svm
from sklearn.datasets import load_digits, make_classification

from mercer import SVC
from mercer.kernels import Gaussian


def digits(n):
    folder = os.environ.get("MERCER_DATA")
    if folder is None:
        X, y = load_digits(return_X_y=True)
        return "digits", (X / 16).astype(np.float32), y
    parts = []
    for kind, skip in (("images-idx3", 16), ("labels-idx1", 8)):
        with gzip.open(Path(folder) / "mnist" / f"train-{kind}-ubyte.gz") as file:
            parts.append(np.frombuffer(file.read(), np.uint8)[skip:])
    chosen = np.random.default_rng(0).permutation(60_000)[:n]
    return "MNIST", parts[0].reshape(-1, 784)[chosen].astype(np.float32) / 255, parts[1][chosen]


def objective(model, X, y, gamma):
    """The sum over pairs of ½βᵀKβ − yᵀβ, in float64, from the attributes that both machines have."""
    kernel, edges = Gaussian.from_gamma(gamma), np.cumsum([0, *model.n_support_])
    S, dual = X[model.support_].astype(float), np.asarray(model.dual_coef_)
    total = 0.0
    for a, b in combinations(range(len(model.classes_)), 2):
        A, B = slice(edges[a], edges[a + 1]), slice(edges[b], edges[b + 1])
        beta = np.concatenate([dual[b - 1, A], dual[a, B]])
        beta, points = beta[beta != 0], np.concatenate([S[A], S[B]])[beta != 0]
        total += 0.5 * beta @ (kernel(points) @ beta) - np.abs(beta).sum()
    return total


def compare(name, X, y, C, gamma):
    times, machines = {}, {}
    for who, machine in {"mercer": SVC, "scikit-learn": svm.SVC}.items():
        start = perf_counter()
        machines[who] = machine(C=C, gamma=gamma, cache_size=2000).fit(X, y)
        middle = perf_counter()
        machines[who].predict(X[:2000])
        times[who] = middle - start, perf_counter() - middle
    print(f"{name}, n = {len(X)}, d = {X.shape[1]}, C = {C:g}, gamma = {gamma:g}")
    for who, (fit, predict) in times.items():
        value, count = objective(machines[who], X, y, gamma), len(machines[who].support_)
        print(
            f"  {who:14s} fit {fit:8.2f} s   predict 2,000 {predict:7.3f} s   objective {value:.6f}   {count} vectors"
        )
    ratios = [theirs / ours for theirs, ours in zip(times["scikit-learn"], times["mercer"], strict=True)]
    print(f"  ratio          fit {ratios[0]:8.1f}     predict       {ratios[1]:7.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--hard", action="store_true")
    args = parser.parse_args()
    SVC().fit(np.random.default_rng(0).normal(size=(60, 3)).astype("f"), np.arange(60) % 2)  # compiles
    if not args.hard:
        name, X, y = digits(args.n)
        compare(name, X, y, 2.0, 0.0156)
        return
    X, y = make_classification(args.n, 10, n_informative=8, n_redundant=0, flip_y=0.1, random_state=0)
    for C in (1.0, 100.0, 1000.0):
        compare("noisy classes", X, y, C, 0.1)


if __name__ == "__main__":
    main()
