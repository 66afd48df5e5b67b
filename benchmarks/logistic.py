"""Multinomial kernel logistic regression on MNIST, low-rank: how fast against Nystroem + LogisticRegression?

The same kernel, rank and penalty: Gaussian, γ = 0.02 on pixels in [0, 1], 500 landmarks. scikit-learn draws its own
uniformly; ours are drawn so too for the comparison, and by pivoted Cholesky beside it. Same process, alternating runs.
Run: python benchmarks/logistic.py [--n 60000] [--rank 500] [--runs 1] (MNIST comes from the folder in MERCER_DATA)
"""

import argparse
import gzip
import os
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

from mercer.gram import Nystrom
from mercer.kernels import Gaussian
from mercer.methods.logistic import KernelLogisticRegression

GAMMA, ALPHA = 0.02, 0.05


def load(folder):
    parts = []
    for part in ("train", "t10k"):
        for kind, skip in (("images-idx3", 16), ("labels-idx1", 8)):
            with gzip.open(Path(folder) / "mnist" / f"{part}-{kind}-ubyte.gz") as file:
                parts.append(np.frombuffer(file.read(), np.uint8)[skip:])
    return parts[0].reshape(-1, 784), parts[1], parts[2].reshape(-1, 784), parts[3]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60_000)
    parser.add_argument("--rank", type=int, default=500)
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    X, y, X_new, y_new = load(os.environ["MERCER_DATA"])
    order = np.random.default_rng(0).permutation(len(X))[: args.n]
    X, y, X_new = (X[order] / 255).astype(np.float32), y[order], (X_new / 255).astype(np.float32)

    def ours(landmarks):
        gram = Nystrom(rank=args.rank, landmarks=landmarks)
        return KernelLogisticRegression(Gaussian.from_gamma(GAMMA), alpha=ALPHA, gram=gram, tol=1e-4, random_state=0)

    features = Nystroem(kernel="rbf", gamma=GAMMA, n_components=args.rank, random_state=0)
    models = {
        "mercer, uniform": ours("uniform"),
        "mercer, pivoted": ours("rpcholesky"),
        "scikit-learn": make_pipeline(features, LogisticRegression(C=1 / ALPHA, max_iter=1000)),
    }
    print(f"{args.n} digits, rank {args.rank}")
    for _ in range(args.runs):
        for name, model in models.items():
            start = perf_counter()
            model.fit(X, y)
            fit = perf_counter() - start
            p = model.predict_proba(X_new)
            right, loss = 100 * np.mean(p.argmax(axis=1) == y_new), log_loss(y_new, p)
            print(f"{name:18s} fit {fit:7.2f} s   test accuracy {right:.2f} %   log-loss {loss:.4f}", flush=True)


if __name__ == "__main__":
    main()
