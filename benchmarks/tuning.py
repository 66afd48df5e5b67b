"""How fast is tuning by gradients, against GaussianProcessRegressor by likelihood and GridSearchCV of SVC by folds?

Regression: a smooth function of three of d inputs with noise; one lengthscale per input, a scale and the noise by
marginal likelihood, from the same start without restarts; the optima must agree. Classification: a disc in two of six
inputs; scikit-learn's SVC with one lengthscale, by a 9 × 9 grid and five folds, against `KernelTuner` with six
lengthscales; errors on new samples. BLAS uses one thread for both.
Run: python benchmarks/tuning.py [--quick] [--runs 1]
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from mercer import SVC, KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import KernelTuner


def waves(n, d, seed=0):
    """Samples, noisy targets, new points and their true values."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n + 1000, d))
    f = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2 + 0.3 * X[:, 2]
    return X[:n], f[:n] + 0.2 * rng.normal(size=n), X[n:], f[n:]


def disc(n, seed=0):
    """Samples, labels, new samples and their labels."""
    X = np.random.default_rng(seed).uniform(-2, 2, size=(n + 2000, 6))
    y = X[:, 0] ** 2 + X[:, 1] ** 2 > 2.5
    return X[:n], y[:n], X[n:], y[n:]


def timed(runs, fit):
    """The best time, and the result."""
    seconds = []
    for _ in range(runs):
        start = perf_counter()
        out = fit()
        seconds.append(perf_counter() - start)
    return min(seconds), out


def regression(n, d, runs):
    """Both optima, times and errors."""
    X, y, X_new, f_new = waves(n, d)
    start = KernelRidge(0.1, kernel=1.0 * Gaussian(np.ones(d)))
    process = ConstantKernel(1.0) * RBF(np.ones(d)) + WhiteKernel(0.1)
    ours, tuner = timed(runs, lambda: KernelTuner(start, criterion="marginal_likelihood").fit(X, y))
    theirs, peer = timed(runs, lambda: GaussianProcessRegressor(process, alpha=0.0).fit(X, y))
    print(f"n = {n}, {d} lengthscales, scale and noise by the marginal likelihood")
    likelihoods = tuner.best_score_, peer.log_marginal_likelihood_value_
    for who, seconds, model, value in zip(
        ("mercer", "scikit-learn"), (ours, theirs), (tuner, peer), likelihoods, strict=True
    ):
        error = np.sqrt(np.mean((model.predict(X_new) - f_new) ** 2))
        print(f"{who:>13}: {seconds:7.2f} s, log likelihood {value:.4f}, test error {error:.4f}")
    print(f"{'':>13}  ratio {theirs / ours:.1f}")


def classification(n, runs):
    """Tuned machines against a grid."""
    X, y, X_new, y_new = disc(n)
    grid = {"C": np.geomspace(0.1, 1e3, 9), "gamma": np.geomspace(0.01, 3, 9)}
    contenders = {
        "span": KernelTuner(SVC(kernel=Gaussian(np.full(6, 2.0)), loss="squared_hinge")),
        "span, hinge": KernelTuner(SVC(kernel=Gaussian(np.full(6, 2.0)))),
        "radius–margin": KernelTuner(
            SVC(kernel=Gaussian(np.full(6, 2.0)), loss="squared_hinge"), criterion="radius_margin"
        ),
        "GridSearchCV": GridSearchCV(sklearn.svm.SVC(), grid),
    }
    print(f"n = {n}, six lengthscales and C, or a grid of {len(grid['C'])} × {len(grid['gamma'])} and five folds")
    found = {name: timed(runs, lambda model=model: model.fit(X, y)) for name, model in contenders.items()}
    for name, (seconds, model) in found.items():
        ratio = found["GridSearchCV"][0] / seconds
        print(f"{name:>13}: {seconds:7.2f} s, ratio {ratio:5.1f}, test error {1 - model.score(X_new, y_new):.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="n = 200 and 100")
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # from scikit-learn, for lengthscales at their bounds
    with threadpool_limits(1, user_api="blas"):
        KernelTuner(SVC(), max_iter=1).fit(*disc(50)[:2])  # compilation
        for n, d in ((200, 5),) if args.quick else ((300, 5), (700, 10)):
            regression(n, d, args.runs)
        classification(100 if args.quick else 300, args.runs)


if __name__ == "__main__":
    main()
