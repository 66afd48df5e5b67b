"""Weights of six views: what do the methods cost and reach, against a random search over weights with scikit-learn?

Six views of handwritten numerals (mfeat, from the folder in MERCER_DATA; otherwise, the quarters of scikit-learn's
digits), a Gaussian kernel at the median distance for each, 20 labelled samples per class, and a support vector machine
with C = 10. The peer draws 50 weight vectors from the simplex, scores each by threefold cross-validation of
scikit-learn's SVC on the combined, precomputed matrices, and fits the best; its matrices are normalised like ours.
Accuracies are means over splits on all other samples, with the standard error of the difference from the sum of the
normalised kernels; times are medians for weights and fit together. Same process, one BLAS thread.
Run: MERCER_DATA=... python benchmarks/multiple_kernels.py [--splits 6] [--labelled 20]
"""

import argparse
import os
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC as Reference
from threadpoolctl import threadpool_limits

from mercer import SVC
from mercer.kernels import Gaussian
from mercer.methods.multiple import MultipleKernel

METHODS = ["uniform", "align", "alignf", "easymkl", "lp", "simplemkl"]


def data():
    folder = os.environ.get("MERCER_DATA")
    if folder:
        stored = np.load(Path(folder) / "mfeat" / "mfeat.npz")
        return {v: stored[v] for v in ("fou", "fac", "kar", "pix", "zer", "mor")}, stored["y"].astype(int)
    print("MERCER_DATA is not set: quarters of scikit-learn's digits")
    images, y = load_digits(return_X_y=True)
    grid = images.reshape(-1, 2, 4, 2, 4)
    return {f"{i}{j}": grid[:, i, :, j].reshape(-1, 16) for i in range(2) for j in range(2)}, y


class RandomSearch:
    """scikit-learn's SVC with the best random weights."""

    def __init__(self, kernels, rng, draws=50):
        self.kernels, self.rng, self.draws = kernels, rng, draws

    def combined(self, weights, matrices):
        return sum(w / s * M for w, s, M in zip(weights, self.scale, matrices, strict=True))

    def fit(self, A, y):
        self.A, self.resolved = A, [k.resolve(A) for k in self.kernels]
        K = [k(A) for k in self.resolved]
        self.scale = [np.mean(np.diagonal(M)) - np.mean(M) for M in K]
        candidates = self.rng.dirichlet(np.ones(len(K)), size=self.draws)
        model = Reference(C=10.0, kernel="precomputed")
        scores = [cross_val_score(model, self.combined(w, K), y, cv=3).mean() for w in candidates]
        self.best = candidates[int(np.argmax(scores))]
        self.model = model.fit(self.combined(self.best, K), y)
        return self

    def predict(self, B):
        return self.model.predict(self.combined(self.best, [k(B, self.A) for k in self.resolved]))


def split(views, kernels, y, X, labelled, seed):
    """Accuracy and seconds of every candidate, for one draw of the labelled samples."""
    rng = np.random.default_rng(seed)
    fit = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:labelled] for c in range(10)])
    test = np.setdiff1d(np.arange(len(y)), fit)
    A, B = X[fit], X[test]
    models = {f"view {name}": SVC(C=10.0, kernel=kernel) for name, kernel in zip(views, kernels, strict=True)}
    models |= {method: MultipleKernel(SVC(C=10.0), kernels, method=method) for method in METHODS}
    models["random search"] = RandomSearch(kernels, rng)
    out = {}
    for name, model in models.items():
        start = perf_counter()
        model.fit(A, y[fit])
        seconds = perf_counter() - start
        out[name] = np.mean(model.predict(B) == y[test]), seconds
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--labelled", type=int, default=20)
    args = parser.parse_args()
    views, y = data()
    X, ends = np.hstack(list(views.values())), np.cumsum([V.shape[1] for V in views.values()])
    kernels = [
        Gaussian("median").on(slice(int(end) - V.shape[1], int(end)))
        for V, end in zip(views.values(), ends, strict=True)
    ]
    results = [split(views, kernels, y, X, args.labelled, seed) for seed in range(args.splits)]
    base = np.array([r["uniform"][0] for r in results])
    peer = np.median([r["random search"][1] for r in results])
    print(f"{'':<14} accuracy   against the sum   seconds   of the random search")
    for name in results[0]:
        values, t = np.array([r[name][0] for r in results]), np.median([r[name][1] for r in results])
        gain = values - base
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        print(f"{name:<14}  {values.mean():.4f}   {gain.mean():+.4f} ± {error:.4f}  {t:8.3f}   {t / peer:8.3f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
