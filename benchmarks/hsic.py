"""How fast are 1,000 permutations of HSIC at n = 5,000 against a plain NumPy loop, and against hyppo if installed?

Gaussian kernels with the median lengthscale. In one dimension their matrices have thin factors; in ten they do not, and
the permutations are the n shifts of a random cycle. `compiled` is the loop over permutations in compiled code, for
comparison. Loops are timed on a few permutations and extrapolated; statistics and null distributions are compared.
Run: python benchmarks/hsic.py [--quick]
"""

import argparse
from time import perf_counter

import numpy as np

from mercer.inference import hsic_test
from mercer.inference.hsic import Shuffles
from mercer.kernels import Gaussian
from mercer.kernels.bandwidth import median

DRAWS = 1000


def centred(K):
    """HKH."""
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def numpy_loop(K, L, permutations):
    """The biased statistic under each permutation."""
    K, L = centred(K), centred(L)
    return np.array([np.sum(K * L[np.ix_(p, p)]) for p in permutations]) / len(K) ** 2


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 1,500 instead of 5,000")
    n = 1500 if parser.parse_args().quick else 5000
    try:
        from hyppo.independence import Hsic
    except ImportError:
        Hsic = None
    few = 10
    Shuffles(np.arange(4, dtype=np.int32)[None, :])._dense(np.eye(4), np.eye(4))  # compiles
    for d in (1, 10):
        rng = np.random.default_rng(d)
        X = rng.normal(size=(n, d))
        Y = rng.normal(size=(n, d)) + 0.05 * X**2
        k, h = Gaussian(median(X)), Gaussian(median(Y))
        hsic_test(X[:200], Y[:200], kernel=k, kernel_y=h, random_state=0)
        start = perf_counter()
        ours = hsic_test(X, Y, kernel=k, kernel_y=h, statistic="biased", n_draws=DRAWS, random_state=0)
        seconds = {"mercer": perf_counter() - start}

        start = perf_counter()
        K, L = k(X), h(Y)
        matrices = perf_counter() - start
        rows = np.stack([np.arange(n), *(rng.permutation(n) for _ in range(few - 1))]).astype(np.int32)
        start = perf_counter()
        loop = numpy_loop(K, L, rows)
        seconds["NumPy loop"] = matrices + (perf_counter() - start) * DRAWS / few
        start = perf_counter()
        compiled = Shuffles(rows)._dense(centred(K), centred(L)) / n**2
        seconds["compiled"] = matrices + (perf_counter() - start) * DRAWS / few
        if Hsic is not None:
            test = Hsic(compute_kernel=None)
            start = perf_counter()
            theirs = test.test(1 - K, 1 - L, reps=few, workers=1, auto=False)  # takes precomputed distances
            seconds["hyppo"] = matrices + (perf_counter() - start) * DRAWS / few

        print(f"n = {n}, d = {d}: p = {ours.p_value:.3g} from {len(ours.null)} permutations")
        for name, time in seconds.items():
            print(f"{name:>12}: {time:8.1f} s, ratio {time / seconds['mercer']:6.1f}")
        print(f"{'':>12}  relative error of the statistic {abs(ours.statistic / loop[0] - 1):.1e}", end=", ")
        print(f"largest difference between the loops {np.abs(compiled / loop - 1).max():.1e}")
        print(f"{'':>12}  null mean {ours.null.mean():.3e}, exact {exact_mean(K, L):.3e}", end="")
        print(f"; hyppo's statistic {theirs[0]:.4f}, its p {theirs[1]:.3g}" if Hsic is not None else "")


def exact_mean(K, L):
    """The mean of the biased statistic over all permutations."""
    n = len(K)
    return np.trace(centred(K)) * np.trace(centred(L)) / (n - 1) / n**2


if __name__ == "__main__":
    main()
