"""Ridge regression, kernel PCA and logistic regression on one CUDA device, with the accuracy of what they found.

Times are the best of `--runs` fits after one on few rows, which compiles, synchronised. Regression: 16 standard normal
features, 4 of them with an effect; the duality gap of the ridge problem is relative to its objective. Kernel PCA: MNIST
digits from the folder in MERCER_DATA, with pixels on [0, 1].

Run: python benchmarks/gpu_methods.py [ridge pca logistic] [--n N] [--runs 2]
"""

import argparse
from functools import partial
from time import perf_counter

import torch
from svm import mnist

from mercer import KernelLogisticRegression, KernelPCA, KernelRidge
from mercer.gram import Nystrom

RIDGE, LOGISTIC, DIGITS = (100_000, 1_000_000), (100_000, 1_000_000), (10_000, 60_000)


def fitted(make, X, y, runs):
    """A fitted model, and the best time of a fit."""
    make().fit(X[:3000], y[:3000])
    best = float("inf")
    for _ in range(runs):
        model = None  # the memory of the last fit
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
        start = perf_counter()
        model = make().fit(X, y)
        torch.cuda.synchronize()
        best = min(best, perf_counter() - start)
    return model, best


def report(name, n, seconds, text):
    print(f"{name} n = {n:,}: {seconds:.2f} s, {torch.cuda.max_memory_allocated() / 1e9:.1f} GB; {text}", flush=True)


def data(n):
    generator = torch.Generator(device="cuda").manual_seed(0)
    X = torch.randn((n, 16), device="cuda", generator=generator)
    signal = torch.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + X[:, 3]
    return X, signal + 0.1 * torch.randn(n, device="cuda", generator=generator), signal


def ridge(n, runs):
    X, y, signal = data(n)
    model, seconds = fitted(lambda: KernelRidge(alpha=1.0, kernel="rbf", gamma=1 / 16), X, y, runs)
    a, values = model.dual_coef_.double(), model.predict(X).double()
    norm, errors = a @ values, y.double() - values
    primal = 0.5 * (errors @ errors) + 0.5 * norm
    gap = primal - (a @ y.double() - 0.5 * (a @ a) - 0.5 * norm)
    how = f"{model.solution_.method}, {model.solution_.n_iter} iterations, {model.gram_choice_}"
    error = float((values - signal).square().mean() ** 0.5)
    report("ridge", n, seconds, f"relative gap {float(gap / primal):.1e}, error {error:.4f}; {how}")


def pca(n, runs):
    ((_, X, *_),) = mnist(n)
    X = torch.tensor(X, device="cuda")
    model, seconds = fitted(lambda: KernelPCA(10, kernel="rbf", gamma=0.0156), X, X, runs)
    report("kernel PCA", n, seconds, f"eigenvalues {model.eigenvalues_[:3].tolist()}")


def logistic(n, runs):
    X, y, _ = data(n)
    labels = (y > 0).to(torch.int64)
    gram = Nystrom(rank=min(10_000, n // 10))
    model, seconds = fitted(partial(KernelLogisticRegression, gamma=1 / 16, gram=gram, random_state=0), X, labels, runs)
    wrong = 100 * float((model.predict(X[:100_000]) != labels[:100_000]).double().mean())
    report("logistic", n, seconds, f"error {wrong:.2f} %; {model.solution_.n_iter} iterations")


WORK = {"ridge": (ridge, RIDGE), "pca": (pca, DIGITS), "logistic": (logistic, LOGISTIC)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(WORK), help=", ".join(WORK))
    parser.add_argument("--n", type=int, nargs="*")
    parser.add_argument("--runs", type=int, default=2)
    args = parser.parse_args()
    print(torch.cuda.get_device_name())
    for name in args.names:
        work, sizes = WORK[name]
        for n in args.n or sizes:
            work(n, args.runs)


if __name__ == "__main__":
    main()
