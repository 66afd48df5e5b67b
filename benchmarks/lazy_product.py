"""What does a product K @ v cost when K is never stored? Time, and peak memory beyond the data (target: below 1 GB).

Run: python benchmarks/lazy_product.py [--n 60000] [--d 784]
"""

import argparse
import resource
import sys
from time import perf_counter

import numpy as np

from mercer.gram import Lazy
from mercer.kernels import Gaussian

UNIT = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in kB on Linux


def peak():
    """The peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60_000)
    parser.add_argument("--d", type=int, default=784)
    args = parser.parse_args()
    n, d = args.n, args.d

    rng = np.random.default_rng(0)
    X = np.empty((n, d), dtype=np.float32)
    for row in X:  # row by row, so that the peak before the product is the data alone
        row[:] = rng.random(d, dtype=np.float32)
    v = rng.normal(size=n).astype(np.float32)
    kernel = Gaussian.from_gamma(1.0 / d)
    gram = Lazy().build(kernel, X, rng)
    before = peak()
    start = perf_counter()
    w = gram @ v
    seconds = perf_counter() - start
    used = peak() - before

    rows = rng.choice(n, min(n, 20), replace=False)
    exact = [np.exp(-((X - X[i]).astype(np.float64) ** 2).sum(axis=1) / d) @ v.astype(np.float64) for i in rows]
    error = np.abs(w[rows] - exact).max() / np.abs(exact).max()
    speed = n * n / seconds / 1e6
    print(f"K @ v, Gaussian, n = {n}, d = {d}, float32: {seconds:.1f} s, {speed:.0f} million entries a second")
    print(f"peak memory beyond the data {used / 1e9:.3f} GB (the matrix would take {4 * n * n / 1e9:.1f} GB)")
    print(f"largest relative error on {len(rows)} rows against float64: {error:.1e}")


if __name__ == "__main__":
    main()
