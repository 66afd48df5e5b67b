"""Kernel PCA of wines under several bandwidths, and of digits to take noise away."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA
from mercer.datasets import load_usps, load_wine
from mercer.kernels import Gaussian
from mercer.plot import DigitsDisplay
from mercer.preimage import DistanceBased, FixedPoint

from ._base import Result, experiment
from ._lectures import BLUE, GREEN, ORANGE, SLIDES

WIDE = 60  # a bandwidth far beyond the distances of wines


@experiment("wine", "Kernel PCA of wines under several σ", f"{SLIDES}, 2", minutes=0.1)
def wine(result: Result, quick: bool, draw: Any) -> None:
    """k(x, y) = exp(−‖x − y‖²/σ²) on 178 wines with 13 measurements."""
    X, grower = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    plain = PCA(2).fit(X)
    linear = plain.transform(X)
    pictures, shares = {"linear PCA": linear}, {"linear PCA": plain.explained_variance_ratio_.sum()}
    for sigma in (1, 2, 3, 5, WIDE):
        pca = KernelPCA(2, kernel=Gaussian.from_width(sigma)).fit(X)
        Z = pca.transform(X)
        name = f"σ = {sigma}"
        pictures[name] = Z * np.sign(np.sum(Z * linear, axis=0))  # signs carry no meaning: as in the first picture
        shares[name] = pca.explained_variance_ratio_.sum()
    for name, Z in pictures.items():
        reported = "a picture" if name == "linear PCA" else "depends much on σ"
        told = f"{_told_apart(Z, grower):.1%}"
        result.add(f"{name}: growers from 2 components", reported, told, f"{shares[name]:.0%} of the variance")
    alike = min(np.corrcoef(z, w)[0, 1] for z, w in zip(pictures[f"σ = {WIDE}"].T, linear.T, strict=True))
    result.add(f"σ = {WIDE}: correlation with linear PCA", "–", f"{alike:.4f}", "in the limit they are the same")
    result.note(
        "Growers are told apart by linear discriminants, cross-validated on ten folds; components have not "
        "seen them. Measurements are standardised. The slides show pictures for some σ and give no numbers."
    )
    with draw("components", nrows=2, ncols=3, figsize=(9.6, 6.2)) as (figure, axes):
        for ax, (name, Z) in zip(axes.flat, pictures.items(), strict=True):
            for k, (tint, marker) in enumerate(zip((BLUE, ORANGE, GREEN), "osD", strict=True)):
                label = f"grower {k + 1}"
                ax.scatter(*Z[grower == k].T, color=tint, marker=marker, s=13, linewidths=0, label=label)
            ax.set(title=name, xticks=[], yticks=[])
        figure.supxlabel("component 1", fontsize=10)
        figure.supylabel("component 2", fontsize=10)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, ncols=3, loc="outside upper right", handletextpad=0.1)


def _told_apart(Z: np.ndarray, classes: np.ndarray) -> float:
    return cross_val_score(LinearDiscriminantAnalysis(), Z, classes, cv=10).mean()


@experiment("denoising", "USPS digits freed of noise by kernel PCA", f"{SLIDES}, 2", minutes=0.4)
def denoising(result: Result, quick: bool, draw: Any) -> None:
    """Projections onto the leading components of clean digits, and their pre-images."""
    rng = np.random.default_rng(0)
    train, test = load_usps(), load_usps(subset="test")
    n, q = (600, (32, 128)) if quick else (2500, (64, 128, 256))
    sigmas = (8.0,) if quick else (5.0, 8.0, 12.0)
    X = train.data[rng.permutation(len(train.data))[:n]].astype(float)
    rows = rng.permutation(len(test.data))[:200]
    clean, digit = test.data[rows].astype(float), test.target[rows]
    choose, judge = slice(0, 80), slice(80, None)
    linear = {m: PCA(m).fit(X) for m in (4, 8, 12, 16, 24, 32, 48)}
    curved = {(s, m): KernelPCA(m, kernel=Gaussian(s), eigen_solver="dense").fit(X) for s in sigmas for m in q}
    result.add("digits", "7,191", f"{len(train.data):,}", f"a slip in the slides; {n:,} of them are fitted to here")
    u = rng.uniform(size=clean.shape)
    spoilt = {
        "Gaussian": clean + 0.5 * rng.normal(size=clean.shape),
        "speckle": np.where(u < 0.2, 0.0, np.where(u > 0.8, 1.0, clean)),
    }
    for noise, noisy in spoilt.items():
        ways: dict[str, dict[Any, np.ndarray]] = {
            "linear PCA": {m: pca.inverse_transform(pca.transform(noisy)) for m, pca in linear.items()},
            "kernel PCA": {s: pca.denoise(noisy, DistanceBased()) for s, pca in curved.items()},
            "kernel PCA, iterated": {s: pca.denoise(noisy, FixedPoint(tol=1e-3)) for s, pca in curved.items()},
        }
        shown = {"original": clean, "noisy": noisy}
        result.add(f"{noise} noise: noisy", "a picture", f"{np.mean((noisy - clean)[judge] ** 2):.4f}", "per pixel")
        for name, found in ways.items():
            setting = min(found, key=lambda s: float(np.mean((found[s] - clean)[choose] ** 2)))
            shown[name] = found[setting]
            error = np.mean((found[setting] - clean)[judge] ** 2)
            words = f"{setting}" if isinstance(setting, int) else f"ℓ = {setting[0]:g}, {setting[1]}"
            result.add(f"{noise} noise: {name}", "a picture", f"{error:.4f}", f"{words} components")
        first = [80 + int(np.flatnonzero(digit[judge] == d)[1]) for d in range(10)]
        with draw(noise.lower(), figsize=(7.2, 3.4)) as (_, ax):
            DigitsDisplay.from_rows({name: images[first] for name, images in shown.items()}, ax=ax)
            ax.set_title(f"{noise[0].upper()}{noise[1:]} noise")
    result.note(
        "Numbers are mean square errors of a pixel on [0, 1]. Settings are the best of a few on 80 test digits, and "
        "judged on 120 others. The pre-image is found from distances to the nearest clean digits, or by iterating to "
        "the y of the slides, whose image is nearest to the projection. The slides show digits of a Matlab toolbox "
        "without its settings; noise here has σ = 0.5, and speckle replaces four pixels in ten by black or white."
    )
