"""Kernel PCA of wines with several bandwidths, and denoising of digits."""

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

from .._palette import BLUE, GREEN, ORANGE
from ._base import SLIDES, Draw, Result, experiment

WIDE = 60  # a bandwidth far above the distances between wines


@experiment("wine", "Kernel PCA of wines under several σ", f"{SLIDES}, 2", minutes=0.1)
def wine(result: Result, quick: bool, draw: Draw) -> None:
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
        pictures[name] = Z * np.sign(np.sum(Z * linear, axis=0))  # signs are arbitrary: match the first picture
        shares[name] = pca.explained_variance_ratio_.sum()
    for name, Z in pictures.items():
        reported = "a picture" if name == "linear PCA" else "depends much on σ"
        told = f"{cross_val_score(LinearDiscriminantAnalysis(), Z, grower, cv=10).mean():.1%}"
        result.add(f"{name}: growers from 2 components", reported, told, f"{shares[name]:.0%} of the variance")
    alike = min(np.corrcoef(z, w)[0, 1] for z, w in zip(pictures[f"σ = {WIDE}"].T, linear.T, strict=True))
    result.add(f"σ = {WIDE}: correlation with linear PCA", "–", f"{alike:.4f}", "equal in the limit")
    result.note(
        "Growers are classified by linear discriminants with tenfold cross-validation; the components do not use "
        "them. Measurements are standardised. The slides show pictures for some σ and give no numbers."
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


CHOOSE, JUDGE = slice(0, 80), slice(80, None)  # of the test digits


@experiment("denoising", "USPS digits freed of noise by kernel PCA", f"{SLIDES}, 2", minutes=0.7)
def denoising(result: Result, quick: bool, draw: Draw) -> None:
    """Pre-images of projections onto the leading components of noisy digits, and of clean ones."""
    rng = np.random.default_rng(0)
    train, test = load_usps(), load_usps(subset="test")
    n, lengthscales = (600, (8.0, 12.0)) if quick else (2500, (5.0, 8.0, 12.0))
    few, many = ((16, 32), (32, 128)) if quick else ((16, 32, 64), (32, 64, 128, 256))
    X = train.data[rng.permutation(len(train.data))[:n]].astype(float)
    rows = rng.permutation(len(test.data))[:200]
    clean, digit = test.data[rows].astype(float), test.target[rows]
    shown = [JUDGE.start + int(np.flatnonzero(digit[JUDGE] == d)[1]) for d in range(10)]
    result.add("digits", "7,191", f"{len(train.data):,}", f"a slip in the slides; {n:,} of them are used here")
    u = rng.uniform(size=clean.shape)
    spoilt = {
        "Gaussian": clean + 0.5 * rng.normal(size=clean.shape),
        "speckle": np.where(u < 0.2, 0.0, np.where(u > 0.8, 1.0, clean)),
    }
    noisy = spoilt["Gaussian"]
    result.add("Gaussian noise", "a picture", f"{_error(noisy, clean, JUDGE):.4f}", "per pixel")
    spoilt_X = X + 0.5 * rng.normal(size=X.shape)
    ways = {
        "linear PCA": _flat(spoilt_X, noisy),
        "kernel PCA": {
            setting: pca.denoise(noisy, FixedPoint(tol=1e-3))
            for setting, pca in _curved(spoilt_X, lengthscales, few).items()
        },
    }
    best = {
        name: _best(result, f"  fitted to noisy digits: {name}", "a picture", found, clean)
        for name, found in ways.items()
    }
    with draw("slides", figsize=(7.2, 2.9)) as (_, ax):
        pictures = {"original": clean, "noisy": noisy, **best}
        DigitsDisplay.from_rows({name: images[shown] for name, images in pictures.items()}, ax=ax)
        ax.set_title("Gaussian noise, components of noisy digits")
    smooth = _curved(X, lengthscales, many)
    for noise, noisy in spoilt.items():
        if noise == "speckle":
            result.add("Speckle noise", "–", f"{_error(noisy, clean, JUDGE):.4f}", "per pixel")
        ways = {
            "linear PCA": _flat(X, noisy),
            "kernel PCA, by distances": {s: pca.denoise(noisy, DistanceBased()) for s, pca in smooth.items()},
            "kernel PCA, nearest image": {s: pca.denoise(noisy, FixedPoint(tol=1e-3)) for s, pca in smooth.items()},
        }
        best = {
            name: _best(result, f"  fitted to clean digits: {name}", "–", found, clean) for name, found in ways.items()
        }
        with draw(noise.lower(), figsize=(7.2, 3.05)) as (_, ax):
            pictures = {"original": clean, "noisy": noisy, **best}
            DigitsDisplay.from_rows({name: images[shown] for name, images in pictures.items()}, ax=ax)
            ax.set_title(f"{noise[0].upper()}{noise[1:]} noise, components of clean digits")
    result.note(
        "Numbers are mean squared errors per pixel, on [0, 1]. Settings are the best of a few on 80 test digits, and "
        "are evaluated on 120 others. Gaussian noise has a standard deviation of 0.5; speckle replaces four in ten "
        "pixels by black or white. The slides' digits come from a Matlab toolbox; noise and settings are not given."
    )
    result.note(
        "The slides do not use the originals: components come from noisy digits, and y is the digit whose image is "
        "nearest to the projection. It is a combination of many noisy digits, whose noise averages out."
    )
    result.note(
        "With clean digits, distances to the nearest of them give a better y than the nearest image. The image of a "
        "noisy digit is far from those of clean ones, and its scores are smaller by about exp(−‖noise‖²/2ℓ²), 0.6 for "
        "ℓ = 8: a narrow kernel gives nearly the mean digit, a wide one the result of linear PCA with as many "
        "components. The distance method uses only differences of distances, so a common factor does not matter."
    )


def _error(images: np.ndarray, clean: np.ndarray, part: slice) -> float:
    return float(np.mean((images - clean)[part] ** 2))


def _flat(X: np.ndarray, noisy: np.ndarray) -> dict[Any, np.ndarray]:
    """Linear reconstructions by the leading components of X, by their number."""
    fitted = {m: PCA(m, random_state=0).fit(X) for m in (4, 8, 12, 16, 24, 32, 48)}
    return {m: pca.inverse_transform(pca.transform(noisy)) for m, pca in fitted.items()}


def _curved(X: np.ndarray, lengthscales: tuple[float, ...], numbers: tuple[int, ...]) -> dict[Any, KernelPCA]:
    """Kernel PCA of X, by lengthscale and number of components."""
    return {
        (ell, m): KernelPCA(m, kernel=Gaussian(ell), eigen_solver="dense").fit(X)
        for ell in lengthscales
        for m in numbers
    }


def _best(result: Result, name: str, reported: str, found: dict[Any, np.ndarray], clean: np.ndarray) -> np.ndarray:
    """The digits of the best setting on the part CHOOSE; adds a row with its error on the part JUDGE."""
    setting = min(found, key=lambda s: _error(found[s], clean, CHOOSE))
    words = f"{setting}" if isinstance(setting, int) else f"ℓ = {setting[0]:g}, {setting[1]}"
    result.add(name, reported, f"{_error(found[setting], clean, JUDGE):.4f}", f"{words} components")
    return found[setting]
