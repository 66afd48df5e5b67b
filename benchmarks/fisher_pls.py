"""How fast are kernel Fisher discriminants and partial least squares against the eigenproblem, refits and scikit-learn?

Fisher: digits, ten classes, Gaussian kernel. The fit is compared with SciPy's generalised eigenproblem of size n for
nine eigenvectors only; leave-one-out with every twentieth refit, times twenty. Partial least squares: the linear kernel
on wide data with two targets, where scikit-learn's PLSRegression has the same answer; the choice among 1, …, 20
components is compared with GridSearchCV on the same folds. Fits are run once before they are timed.
Run: python benchmarks/fisher_pls.py [--quick] [--runs 3]
"""

import argparse
from time import perf_counter

import numpy as np
from scipy.linalg import eigh
from sklearn.base import clone
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, KFold

from mercer.kernels import Gaussian
from mercer.methods.fisher import KernelFisher
from mercer.methods.pls import KernelPLS

KERNEL, ALPHA = Gaussian(1.5), 0.05


def timed(work, runs):
    """The minimum time of several runs in seconds, and the result."""
    work()
    seconds = []
    for _ in range(runs):
        start = perf_counter()
        result = work()
        seconds.append(perf_counter() - start)
    return min(seconds), result


def eigenproblem(X, y):
    """The discriminants on the sample, by definition: values with unit variance within classes, up to sign."""
    K = KERNEL(X)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    member = (y[:, None] == np.unique(y)).astype(float)
    means = (member / member.sum(axis=0)).T @ K
    between = (means * member.sum(axis=0)[:, None]).T @ means
    within = K @ K - between + ALPHA * K + 1e-10 * np.trace(K) * np.eye(len(K))
    n = len(K)
    _, V = eigh(between, within, subset_by_index=[n - 9, n - 1])
    return K @ V[:, ::-1] * n**0.5


def report(name, ours, theirs, error):
    print(f"{name:>34}: {ours:8.3f} s, peer {theirs:8.3f} s, ratio {theirs / ours:7.1f}; {error}")


def fisher(n, runs):
    X, y = load_digits(return_X_y=True)
    X, y = X[:n] / 16, y[:n]
    model = KernelFisher(KERNEL, alpha=ALPHA)
    ours, Z = timed(lambda: model.fit(X, y).transform(X), runs)
    theirs, reference = timed(lambda: eigenproblem(X, y), runs)
    gap = np.abs(Z - reference * np.sign(np.sum(Z * reference, axis=0))).max() / np.abs(Z).max()
    report("nine discriminants", ours, theirs, f"largest relative difference {gap:.1e}")
    ours, values = timed(model.leave_one_out, runs)
    some = np.arange(0, n, 20)
    start, gap = perf_counter(), 0.0
    for i in some:
        refit = clone(model).fit(np.delete(X, i, axis=0), np.delete(y, i)).decision_function(X[[i]])[0]
        gap = max(gap, np.abs(values[i] - refit).max() / np.abs(refit).max())
    theirs = (perf_counter() - start) * n / len(some)
    report("leave-one-out", ours, theirs, f"largest relative difference {gap:.1e}")


def partial_least_squares(n, d, runs):
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(n + 200, 8))
    X = hidden @ rng.normal(size=(8, d)) + rng.normal(size=(n + 200, d))
    Y = hidden[:, :2] + 0.3 * rng.normal(size=(n + 200, 2))
    X, X_new, Y = X[:n], X[n:], Y[:n]
    count = 10
    ours, A = timed(lambda: KernelPLS(count, "linear").fit(X, Y).predict(X_new), runs)
    plain = PLSRegression(count, scale=False, tol=1e-14, max_iter=10_000)
    theirs, B = timed(lambda: plain.fit(X, Y).predict(X_new), runs)
    report(f"{count} components, {n} × {d}", ours, theirs, f"largest difference {np.abs(A - B).max():.1e}")
    cv = KFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(plain, {"n_components": np.arange(1, 21)}, cv=cv, scoring="neg_mean_squared_error")
    chosen = KernelPLS("cv", "linear", cv=cv)
    ours, _ = timed(lambda: chosen.fit(X, Y), runs)
    start = perf_counter()
    search.fit(X, Y)
    theirs = perf_counter() - start
    gap = np.abs(chosen.cv_errors_ + search.cv_results_["mean_test_score"]).max()
    report("1, …, 20 components by five folds", ours, theirs, f"largest difference of the errors {gap:.1e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller samples")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    fisher(400 if args.quick else 1200, args.runs)
    partial_least_squares(200 if args.quick else 400, 1000 if args.quick else 2000, args.runs)


if __name__ == "__main__":
    main()
