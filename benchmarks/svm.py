"""How fast is SVC against scikit-learn's (LIBSVM on one core), LIBSVM with OpenMP, and scikit-learn-intelex?

One process, same data, C, γ, tol = 1e-3 and cache; Mercer and every peer that can use all cores. For each run, the dual
objective is computed in float64 from the fitted coefficients, and the error on new points. Times are the best of at
least `--repeat` runs, and of all within three seconds.

Run: python benchmarks/svm.py [mnist10 mnist20 mnist60 usps a9a hard] [--peers sklearn libsvm sklearnex] [--repeat 2]

MNIST (pixels on [0, 1], C = 2, γ = 0.0156), USPS and a9a (CSR) come from the folder in MERCER_DATA; "hard" is
low-dimensional noisy data (d = 8, 14, 20; C = 1, 100, 1,000). libsvm-official and scikit-learn-intelex are optional.
Double-precision machines that would convert float32 themselves receive float64 data. Times are for the fit and for
predicting up to 10,000 new points.
"""

import argparse
import gzip
import os
import warnings
from itertools import combinations
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace

import numpy as np
from scipy.sparse import csr_matrix, issparse
from sklearn import svm
from sklearn.datasets import load_svmlight_file, make_classification

from mercer import SVC
from mercer.kernels import Gaussian

CACHE = 4000
TOL = 1e-3
SECONDS = 3.0


def libsvm(C, gamma):
    from libsvm.svm import svm_parameter, svm_problem
    from libsvm.svmutil import svm_predict, svm_train

    class Machine:
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            option = svm_parameter(f"-t 2 -c {C} -g {gamma!r} -e {TOL} -m {CACHE} -q")
            self.model = svm_train(svm_problem(y.astype(float), csr_matrix(X)), option)
            return self

        def predict(self, X):
            return np.array(svm_predict([], csr_matrix(X), self.model, "-q")[0])

        def attributes(self):
            """Sort LIBSVM's classes, which are in the order of their first sample."""
            labels, sizes = np.array(self.model.get_labels()), self.model.nSV[: self.model.nr_class]
            edges, order = np.cumsum([0, *sizes]), np.argsort(labels)
            coef = np.array(self.model.get_sv_coef()).T
            index = np.array(self.model.get_sv_indices()) - 1
            pieces = [slice(edges[a], edges[a + 1]) for a in order]
            dual = np.zeros((len(order) - 1, len(index)))
            n_support = np.array(sizes)[order]
            starts = np.cumsum([0, *n_support])
            for new, a in enumerate(order):  # a coefficient's row is that of the other class, without its own
                for other, b in enumerate(order):
                    if a != b:
                        old_row, row = b - (b > a), other - (other > new)
                        dual[row, starts[new] : starts[new + 1]] = coef[old_row, pieces[new]]
            return SimpleNamespace(
                support_=np.concatenate([index[p] for p in pieces]),
                dual_coef_=dual,
                n_support_=n_support,
                classes_=self.classes_,
            )

    return Machine()


def intelex(C, gamma):
    from sklearnex.svm import SVC as Machine

    return Machine(C=C, gamma=gamma, cache_size=CACHE, tol=TOL)


MACHINES = {
    "mercer": lambda C, gamma: SVC(C=C, gamma=gamma, cache_size=CACHE, tol=TOL),
    "sklearn": lambda C, gamma: svm.SVC(C=C, gamma=gamma, cache_size=CACHE, tol=TOL),
    "libsvm": libsvm,
    "sklearnex": intelex,
}


def folder():
    if "MERCER_DATA" not in os.environ:
        raise SystemExit("This data set needs the folder in MERCER_DATA.")
    return Path(os.environ["MERCER_DATA"])


def mnist(n):
    parts = []
    for part in ("train", "t10k"):
        for kind, skip in (("images-idx3", 16), ("labels-idx1", 8)):
            with gzip.open(folder() / "mnist" / f"{part}-{kind}-ubyte.gz") as file:
                parts.append(np.frombuffer(file.read(), np.uint8)[skip:])
    X, y, X_new, y_new = parts
    chosen = np.random.default_rng(0).permutation(60_000)[:n] if n < 60_000 else np.arange(60_000)
    scale = [Z.reshape(-1, 784).astype(np.float32) / 255 for Z in (X, X_new)]
    yield f"MNIST {n:,}", scale[0][chosen], y[chosen], scale[1], y_new, 2.0, 0.0156


def usps():
    data = np.load(folder() / "usps" / "usps.npz")
    yield "USPS", data["X_train"], data["y_train"], data["X_test"], data["y_test"], 10.0, 0.03


def a9a():
    X, y = load_svmlight_file(str(folder() / "libsvm" / "a9a.gz"), n_features=123)
    X_new, y_new = load_svmlight_file(str(folder() / "libsvm" / "a9a.t.gz"), n_features=123)
    X_new = X_new[:10_000]
    for Z in (X, X_new):  # scikit-learn's machine accepts only 32-bit indices
        Z.indices, Z.indptr = Z.indices.astype(np.int32), Z.indptr.astype(np.int32)
    yield "a9a (CSR)", X, y, X_new, y_new[:10_000], 1.0, 0.03


def hard(n=10_000):
    for d in (8, 14, 20):
        X, y = make_classification(
            n + 2000, d, n_informative=d - 2, n_redundant=0, n_clusters_per_class=4, flip_y=0.1, random_state=d
        )
        for C in (1.0, 100.0, 1000.0):
            yield f"noisy, d = {d}", X[:n], y[:n], X[n:], y[n:], C, 1.0 / d


DATA = {
    "mnist10": lambda: mnist(10_000),
    "mnist20": lambda: mnist(20_000),
    "mnist60": lambda: mnist(60_000),
    "usps": usps,
    "a9a": a9a,
    "hard": hard,
}


def objective(model, X, gamma):
    """The sum over pairs of ½βᵀKβ − yᵀβ, in float64, from attributes that all machines have."""
    model = model.attributes() if hasattr(model, "attributes") else model
    kernel, edges = Gaussian.from_gamma(gamma), np.cumsum([0, *model.n_support_])
    S, dual = X[model.support_].astype(np.float64), model.dual_coef_
    dual = dual.toarray() if issparse(dual) else np.asarray(dual)
    total = 0.0
    for a, b in combinations(range(len(model.classes_)), 2):
        members = np.r_[edges[a] : edges[a + 1], edges[b] : edges[b + 1]]
        beta = np.concatenate([dual[b - 1, edges[a] : edges[a + 1]], dual[a, edges[b] : edges[b + 1]]])
        moving = np.flatnonzero(beta)
        points, beta = S[members[moving]], beta[moving]
        for rows in np.array_split(np.arange(len(beta)), -(-len(beta) // 2000)):
            total += 0.5 * beta[rows] @ (kernel(points[rows], points) @ beta)
        total -= np.abs(beta).sum()
    return total


def compare(peers, repeat, name, X, y, X_new, y_new, C, gamma):
    print(f"{name}: n = {X.shape[0]:,}, d = {X.shape[1]}, C = {C:g}, gamma = {gamma:g}", flush=True)
    times = {}
    for who in ("mercer", *peers):
        best, runs, end = [np.inf, np.inf], 0, perf_counter() + SECONDS
        while runs < repeat or perf_counter() < end:
            runs, start = runs + 1, perf_counter()
            model = MACHINES[who](C, gamma).fit(X, y)
            middle = perf_counter()
            error = 100 * np.mean(model.predict(X_new) != y_new)
            best = np.minimum(best, [middle - start, perf_counter() - middle])
        times[who] = best
        ratios = times[who] / times["mercer"]
        print(
            f"  {who:10s} fit {best[0]:8.2f} s ({ratios[0]:5.1f} ×)   predict {X_new.shape[0]:6,d}: {best[1]:7.3f} s "
            f"({ratios[1]:5.1f} ×)   objective {objective(model, X, gamma):.5f}   error {error:.2f} %",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="*", default=["mnist10"], help=", ".join(DATA))
    parser.add_argument("--peers", nargs="*", default=["sklearn"], choices=list(MACHINES)[1:])
    parser.add_argument("--repeat", type=int, default=2)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    rng = np.random.default_rng(0)
    for classes in (2, 3):
        SVC().fit(rng.normal(size=(60, 3)).astype("f"), np.arange(60) % classes)  # compiles
    for key in args.data:
        for case in DATA[key]():
            compare(args.peers, args.repeat, *case)


if __name__ == "__main__":
    main()
