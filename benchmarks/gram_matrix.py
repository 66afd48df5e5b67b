"""How fast is the Gaussian Gram matrix against scikit-learn's rbf_kernel? Same process, same threads, alternating runs.

Both are compared with float64 on a subsample. Run: python benchmarks/gram_matrix.py [--n 20000] [--d 784] [--runs 3]
"""

import argparse
from time import perf_counter

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from mercer.kernels import Gaussian


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--d", type=int, default=784)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    n, d = args.n, args.d

    X = np.random.default_rng(0).uniform(size=(n, d)).astype(np.float32)
    gamma = 1.0 / d
    kernel = Gaussian.from_gamma(gamma)
    contenders = {"mercer": lambda: kernel(X), "scikit-learn": lambda: rbf_kernel(X, gamma=gamma)}

    sample = np.random.default_rng(1).choice(n, min(n, 500), replace=False)
    A = X[sample].astype(np.float64)
    exact = np.exp(-gamma * np.stack([((A - a) ** 2).sum(axis=1) for a in A]))

    kernel(X[:3000])  # start threads and BLAS
    rbf_kernel(X[:3000], gamma=gamma)
    seconds = {name: [] for name in contenders}
    error = {}
    for _ in range(args.runs):
        for name, compute in contenders.items():
            start = perf_counter()
            K = compute()
            seconds[name].append(perf_counter() - start)
            error[name] = float(np.abs(K[np.ix_(sample, sample)] - exact).max())
            del K
    print(f"Gaussian Gram matrix, n = {n}, d = {d}, float32; best of {args.runs}")
    for name, times in seconds.items():
        print(f"{name:14s} {min(times):8.3f} s   largest error {error[name]:.1e}")
    best = {name: min(times) for name, times in seconds.items()}
    print(f"ratio          {best['scikit-learn'] / best['mercer']:8.2f}   scikit-learn's time over mercer's")


if __name__ == "__main__":
    main()
