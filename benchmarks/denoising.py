"""How well do kernel PCA and a pre-image restore noisy digits, against linear PCA and scikit-learn's KernelPCA?

USPS digits with Gaussian noise (σ = 0.5 on pixels in [0, 1]) and with speckle (four in ten pixels black or white). Each
method is fitted to the same clean digits. Its setting (components; lengthscale; scikit-learn's ridge) is the best one
on one part of the noisy digits; its error, the mean squared difference from the clean digits, is measured on the rest.
Seconds are for the pre-images of all noisy digits at that setting. Needs the folder in MERCER_DATA.
Run: python benchmarks/denoising.py [--n 1500] [--quick]
"""

import argparse
import os
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as TheirKernelPCA

from mercer import KernelPCA
from mercer.kernels import Gaussian
from mercer.preimage import DistanceBased, FixedPoint, Learned
from mercer.space import Function

LENGTHSCALES = (5.0, 8.0, 12.0)
COMPONENTS = (32, 64, 128, 256)
WAYS = {"fixed point": FixedPoint(tol=1e-3, max_iter=100), "distances": DistanceBased(), "learned": Learned()}


def digits(n):
    """Clean training digits, and other digits, clean and with both kinds of noise."""
    if "MERCER_DATA" not in os.environ:
        raise SystemExit("This benchmark needs the USPS digits in the folder MERCER_DATA.")
    data, rng = np.load(Path(os.environ["MERCER_DATA"]) / "usps" / "usps.npz"), np.random.default_rng(0)
    X = data["X_train"].astype(float)[rng.permutation(7291)[:n]]
    clean = data["X_test"].astype(float)[rng.permutation(2007)[:300]]
    u = rng.uniform(size=clean.shape)
    noisy = {
        "Gaussian noise": clean + 0.5 * rng.normal(size=clean.shape),
        "speckle": np.where(u < 0.2, 0.0, np.where(u > 0.8, 1.0, clean)),
    }
    return X, clean, noisy


def leading(pca, X, q):
    """The projections of X onto the first q components, as elements of the space."""
    Z = pca.transform(X)[:, :q]
    f, mean = pca.function_, pca.mean_
    return Function(f.kernel, f.points, mean.coefficients[:, None] + f.coefficients[:, :q] @ Z.T)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1500, help="number of training digits")
    parser.add_argument("--quick", action="store_true", help="n = 400")
    args = parser.parse_args()
    X, clean, noises = digits(400 if args.quick else args.n)
    results = {noise: {} for noise in noises}  # method → setting → (points, seconds)

    def note(noise, method, setting, find):
        start = perf_counter()
        points = find()
        results[noise].setdefault(method, {})[setting] = points, perf_counter() - start

    linear = PCA(max(COMPONENTS)).fit(X)
    for noise, noisy in noises.items():
        for q in (4, 8, 16, 24, *COMPONENTS):
            V = linear.components_[:q]
            note(noise, "linear", q, lambda V=V, N=noisy: linear.mean_ + (N - linear.mean_) @ V.T @ V)
    for scale in LENGTHSCALES:
        pca = KernelPCA(min(max(COMPONENTS), len(X) - 1), kernel=Gaussian(scale), eigen_solver="dense").fit(X)
        for noise, noisy in noises.items():
            for q in COMPONENTS:
                target = leading(pca, noisy, q)
                for name, way in WAYS.items():
                    note(noise, name, (scale, q), lambda w=way, t=target, N=noisy: w.find(t, N).points)
        for q, alpha in product(COMPONENTS[::2], (0.01, 0.1)):
            gamma = 0.5 / scale**2
            theirs = TheirKernelPCA(
                q, kernel="rbf", gamma=gamma, fit_inverse_transform=True, alpha=alpha, eigen_solver="randomized"
            ).fit(X)
            for noise, noisy in noises.items():
                setting = scale, q, alpha
                note(noise, "scikit-learn", setting, lambda p=theirs, N=noisy: p.inverse_transform(p.transform(N)))

    for noise, noisy in noises.items():
        print(f"{noise}: {np.mean((noisy - clean) ** 2):.4f} before; {len(X)} training digits, {len(clean)} noisy")
        reference = None
        for method, tried in results[noise].items():
            first = {setting: np.mean((P - clean)[:100] ** 2) for setting, (P, _) in tried.items()}
            setting = min(first, key=first.get)
            points, seconds = tried[setting]
            error = np.mean((points - clean)[100:] ** 2)
            reference = error if reference is None else reference
            print(f"{method:>14}: error {error:.4f}, {error / reference:.2f} of linear; {setting}, {seconds:.2f} s")


if __name__ == "__main__":
    main()
