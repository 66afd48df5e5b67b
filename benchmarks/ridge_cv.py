"""How fast is a path of 20 alphas by leave-one-out against GridSearchCV(KernelRidge) with five folds and two jobs?

A smooth function of d features with noise, whose best alpha lies inside the grid; Gaussian kernel. In few dimensions
the kernel matrix has low numerical rank, in many it does not: both are shown. `five folds` is KernelRidgeCV with the
splits of the grid search, whose scores must be equal. Each is first fitted to a few samples, which loads compiled code
and starts the processes. The test error is against the noiseless function.
Run: python benchmarks/ridge_cv.py [--quick] [--runs 1]
"""

import argparse
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold

from mercer import KernelRidgeCV
from mercer.kernels import Gaussian

ALPHAS = np.geomspace(1e-5, 1e3, 20)


def data(n, d, seed=0):
    """Samples, noisy targets, new points and their true values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 2000, d))
    f = np.sin(X @ rng.normal(size=d) / d**0.5 * 2) + X[:, 0] * X[:, 1] / 2
    return X[:n], f[:n] + 0.3 * rng.normal(size=n), X[n:], f[n:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 600 instead of 3,000")
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    n = 600 if args.quick else 3000
    for d in (2, 10):
        X, y, X_new, f_new = data(n, d)
        gamma = 0.5 / d
        cv = KFold(5, shuffle=True, random_state=0)
        kernel = Gaussian.from_gamma(gamma)
        contenders = {
            "leave-one-out": KernelRidgeCV(ALPHAS, kernel=kernel, fit_intercept=False),
            "five folds": KernelRidgeCV(ALPHAS, kernel=kernel, fit_intercept=False, cv=cv),
            "GridSearchCV": GridSearchCV(KernelRidge(kernel="rbf", gamma=gamma), {"alpha": ALPHAS}, cv=cv, n_jobs=2),
        }
        seconds = {name: [] for name in contenders}
        for model in contenders.values():
            clone(model).fit(X[:300], y[:300])
        for _ in range(args.runs):
            for name, model in contenders.items():
                start = perf_counter()
                model.fit(X, y)
                seconds[name].append(perf_counter() - start)
        best = {name: min(times) for name, times in seconds.items()}
        print(f"n = {n}, d = {d}, {len(ALPHAS)} alphas, one kernel")
        for name, model in contenders.items():
            alpha = model.alpha_ if name != "GridSearchCV" else model.best_params_["alpha"]
            error = np.sqrt(np.mean((model.predict(X_new) - f_new) ** 2))
            inside = "inside" if ALPHAS[0] < alpha < ALPHAS[-1] else "AT THE EDGE of"
            ratio = best["GridSearchCV"] / best[name]
            print(
                f"{name:>14}: {best[name]:7.2f} s, ratio {ratio:5.1f}; alpha {alpha:.3g} ({inside} the grid), "
                f"test error {error:.4f}"
            )
        mine = contenders["five folds"].scores_[0]
        theirs = contenders["GridSearchCV"].cv_results_["mean_test_score"]
        print(f"{'':>14}  largest difference of the fold scores {np.abs(mine - theirs).max():.1e}")


if __name__ == "__main__":
    main()
