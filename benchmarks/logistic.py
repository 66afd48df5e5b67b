"""Multinomial kernel logistic regression on MNIST, low-rank: how fast against Nystroem + LogisticRegression?

Both solve the same problem: the Gaussian kernel with γ = 0.02 on pixels in [0, 1], the same landmarks (scikit-learn's
uniform ones), α = 0.05, and an unpenalised intercept. Every time includes the landmark factor. The objective
Σ log-loss + (α/2)‖f‖² and the norm of its gradient in the coordinates of the factor, relative to that at f = 0, are
computed in double precision from the fitted coefficients. scikit-learn is run with its default tolerance and with
tighter ones, because at the default it stops far from the minimum. Same process, alternating runs; `--cpu` uses the
processor time of one thread, for shared machines.
Run: python benchmarks/logistic.py [--n 60000] [--rank 500] [--runs 1] (MNIST comes from the folder in MERCER_DATA)
"""

import argparse
import gzip
import os
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np
from scipy.special import log_softmax
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

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


class Judge:
    """The objective and its relative gradient for decision values f and coordinates u in the factor Z."""

    def __init__(self, Z, y):
        self.Z, self.y, self.first = Z.astype(np.float64), y, 1.0
        self.first = self(np.zeros((len(y), 10)), np.zeros((Z.shape[1], 10)))[1]

    def __call__(self, f, u):
        logs = log_softmax(f, axis=1)
        slope = np.exp(logs)
        slope[np.arange(len(f)), self.y] -= 1
        gradient = np.vstack([self.Z.T @ slope + ALPHA * u, slope.sum(axis=0)])
        value = -logs[np.arange(len(f)), self.y].sum() + 0.5 * ALPHA * np.sum(u**2)
        return value, np.linalg.norm(gradient) / self.first


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=60_000)
    parser.add_argument("--rank", type=int, default=500)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--cpu", action="store_true")
    args = parser.parse_args()
    X, y, X_new, y_new = load(os.environ["MERCER_DATA"])
    order = np.random.default_rng(0).permutation(len(X))[: args.n]
    X, y, X_new = (X[order] / 255).astype(np.float32), y[order], (X_new / 255).astype(np.float32)

    features = Nystroem(kernel="rbf", gamma=GAMMA, n_components=args.rank, random_state=0).fit(X)
    gram, landmarks = Nystrom(landmarks=features.component_indices_), features.components_
    judge = Judge(features.transform(X), y)
    root = np.linalg.inv(features.normalization_.astype(np.float64))

    def ours(tol):
        return KernelLogisticRegression(Gaussian.from_gamma(GAMMA), alpha=ALPHA, gram=gram, tol=tol, random_state=0)

    def theirs(tol):
        factor = Nystroem(kernel="rbf", gamma=GAMMA, n_components=args.rank, random_state=0)
        return make_pipeline(factor, LogisticRegression(C=1 / ALPHA, tol=tol, max_iter=2000))

    def coordinates(model):
        """u and the intercepts; for our function Σ a k(·, landmark), u is the root of the landmark matrix times a."""
        if isinstance(model, KernelLogisticRegression):
            function = model.function_
            assert np.array_equal(function.points, landmarks)
            return root.T @ function.coefficients, model.free_coef_[0]
        return model[-1].coef_.T.astype(np.float64), model[-1].intercept_.astype(np.float64)

    models = {
        "scikit-learn, tol 1e-4": theirs(1e-4),
        "mercer, tol 1e-3": ours(1e-3),
        "scikit-learn, tol 1e-5": theirs(1e-5),
        "mercer, tol 1e-4": ours(1e-4),
        "scikit-learn, tol 1e-6": theirs(1e-6),
        "mercer, tol 1e-5": ours(1e-5),
    }
    clock = thread_time if args.cpu else perf_counter
    print(f"{args.n} digits, rank {args.rank}")
    with threadpool_limits(1 if args.cpu else None):
        for _ in range(args.runs):
            for name, model in models.items():
                start = clock()
                model.fit(X, y)
                fit = clock() - start
                u, c = coordinates(model)
                value, gradient = judge(judge.Z @ u + c, u)
                p = model.predict_proba(X_new)
                right, loss = 100 * np.mean(p.argmax(axis=1) == y_new), log_loss(y_new, p)
                print(
                    f"{name:22s}  fit {fit:6.2f} s   objective {value:10.3f}   gradient {gradient:.1e}   "
                    f"test accuracy {right:.2f} %   log-loss {loss:.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
