"""Kernel density estimation: how fast against scikit-learn's trees, and cross-validation against its grid search?

Densities: the Gaussian kernel in d dimensions, n samples, m queries, exact sums on both sides (scikit-learn's default
tolerances are zero). Cross-validation: leave-one-out over a grid, ours in closed form, scikit-learn's by refits.
Same process, one thread each, processor time. The largest difference between the results is printed; for
cross-validation, that of each from direct sums.
Run: python benchmarks/density.py [--n 20000] [--m 2000]
"""

import argparse
from functools import partial
from time import process_time

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.model_selection import GridSearchCV, LeaveOneOut
from sklearn.neighbors import KernelDensity as Peer
from threadpoolctl import threadpool_limits

from mercer import _threads
from mercer.methods.density import KernelDensity


def timed(work):
    start = process_time()
    return work(), process_time() - start


def densities(model, X, Y):
    return model.fit(X).score_samples(Y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=20_000)
    parser.add_argument("--m", type=int, default=2_000)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    _threads.n_threads = lambda n_jobs=None: 1
    with threadpool_limits(1):
        KernelDensity().fit(rng.normal(size=(9, 2))).score_samples(rng.normal(size=(9, 2)))
        cases = (2, "gaussian", 0.2, 1), (10, "gaussian", 0.8, 1), (2, "epanechnikov", 0.4, 1)
        for d, kernel, h, more in (*cases, (2, "gaussian", 0.05, 5), (3, "tophat", 0.3, 5)):
            n = more * options.n
            X, Y = rng.normal(size=(n, d)), rng.normal(size=(options.m, d))
            ours, own = timed(partial(densities, KernelDensity(kernel=kernel, bandwidth=h), X, Y))
            theirs, peer = timed(partial(densities, Peer(kernel=kernel, bandwidth=h), X, Y))
            inside = ours > -30
            error = np.abs(ours[inside] - theirs[inside]).max()
            print(f"{kernel}, h = {h}, n = {n}, d = {d}: ours {own:.2f} s, scikit-learn {peer:.2f} s, ", end="")
            print(f"ratio {peer / own:.1f}, error {error:.1e}")
        X = rng.normal(size=(400, 2))
        grid = np.geomspace(0.1, 1.0, 10)
        ours, own = timed(lambda: KernelDensity(bandwidth="loo", bandwidths=grid).fit(X))
        search = GridSearchCV(Peer(), {"bandwidth": grid}, cv=LeaveOneOut())
        _, peer = timed(lambda: search.fit(X))
        squared = cdist(X, X, "sqeuclidean") + np.diag(np.full(400, np.inf))
        exact = [np.mean(logsumexp(-squared / (2 * h * h), axis=1)) - np.log(399 * 2 * np.pi * h * h) for h in grid]
        errors = [np.abs(v - exact).max() for v in (ours.loo_scores_, search.cv_results_["mean_test_score"])]
        print(f"leave-one-out, n = 400, 10 bandwidths: ours {own:.3f} s, scikit-learn {peer:.2f} s, ", end="")
        print(f"ratio {peer / own:.0f}, errors {errors[0]:.1e} and {errors[1]:.1e}")


if __name__ == "__main__":
    main()
