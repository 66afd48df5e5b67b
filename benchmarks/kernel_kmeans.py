"""Kernel k-means of 100,000 points, low-rank: how fast against KMeans on Nystroem features, at the same objective?

Both cluster the same points in the same approximate space: Gaussian kernel, scikit-learn's uniform landmarks. First
from the same start until no point moves, so that both reach the same minimum; then each with its own k-means++, whose
draws differ from run to run, and its default tolerance. Every time includes the features. The objective is computed
from the labels and scikit-learn's features in double precision; the output shows the mean over runs with its standard
error, and the minimum time. Same process, alternating runs, one BLAS thread; `--cpu` uses processor time, for shared
machines. Memory is the growth of the maximum resident size in our first fit (the matrix itself would take 80 GB, the
factor takes 0.16).
Run: python benchmarks/kernel_kmeans.py [--n 100000] [--rank 200] [--clusters 20] [--runs 6] [--cpu]
"""

import argparse
import resource
from time import perf_counter, process_time

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.kernel_approximation import Nystroem
from threadpoolctl import threadpool_limits

from mercer.gram import Nystrom
from mercer.kernels import Gaussian
from mercer.methods.kmeans import KernelKMeans

GAMMA = 0.02


def objective(Z, labels, k):
    member = np.eye(k)[labels]
    means = (member.T @ Z) / member.sum(axis=0)[:, None]
    return float(np.sum((Z - means[labels]) ** 2))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--rank", type=int, default=200)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    k = args.clusters
    clock = process_time if args.cpu else perf_counter
    X, _ = make_blobs(args.n, 10, centers=k, cluster_std=3.0, random_state=0)

    def features():
        return Nystroem(kernel="rbf", gamma=GAMMA, n_components=args.rank, random_state=0)

    index = features().fit(X).component_indices_

    def ours(seed, **options):
        kernel, gram = Gaussian.from_gamma(GAMMA), Nystrom(landmarks=index)
        return KernelKMeans(k, kernel=kernel, gram=gram, random_state=seed, **options)

    before = peak()
    start = clock()
    ours(0, n_init=1).fit(X)
    first, memory = clock() - start, peak() - before
    print(f"mercer, n = {args.n}, first fit: {first:.2f} s, {memory:.2f} GB more at its peak")

    Z = features().fit_transform(X)
    rng = np.random.default_rng(1)
    labels = ((X[:, None, :] - X[None, rng.choice(args.n, k, replace=False), :]) ** 2).sum(axis=2).argmin(axis=1)
    means = np.array([Z[labels == c].mean(axis=0) for c in range(k)])

    def report(name, theirs, mine):
        """Fit both for each seed; the minimum time, and the mean objective."""
        times, values, rounds = np.zeros((2, args.runs)), np.zeros((2, args.runs)), [0, 0]
        for seed in range(args.runs):
            for j, fit in enumerate((theirs, mine)):
                begin = clock()
                model = fit(seed)
                times[j, seed] = clock() - begin
                values[j, seed], rounds[j] = objective(Z, model.labels_, k), model.n_iter_
        print(name)
        for j, who in enumerate(("scikit-learn", "mercer")):
            value, error = values[j].mean(), values[j].std(ddof=1) / args.runs**0.5
            print(f"  {who:>12}: {times[j].min():6.2f} s   {rounds[j]:3d} rounds   objective {value:.6f} ± {error:.6f}")
        print(f"  ratio {times[0].min() / times[1].min():.2f}")

    report(
        "same start, until no point moves",
        lambda seed: KMeans(k, init=means, n_init=1, tol=0, max_iter=2000).fit(features().fit_transform(X)),
        lambda seed: ours(seed, init=labels, tol=0, max_iter=2000).fit(X),
    )
    report(
        "one start by k-means++, default tolerances",
        lambda seed: KMeans(k, n_init=1, random_state=seed).fit(features().fit_transform(X)),
        lambda seed: ours(seed, n_init=1).fit(X),
    )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
