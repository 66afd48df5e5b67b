"""Fourier series, wavelets, PCA and ridge regression as one kind of expansion, Σ cⱼ ψⱼ."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge

from mercer import KernelInterpolator, KernelPCA, KernelRidge
from mercer.datasets import load_wine
from mercer.kernels import Fourier, Linear, Wavelet

from ._base import Result, experiment
from ._lectures import BLUE, GREEN, GREY, INK, INTERPOLATION_NOTES, ORANGE

ALPHA = 0.05


@experiment(
    "expansions", "Fourier, wavelets, PCA and ridge as one expansion", f"{INTERPOLATION_NOTES}, 15", minutes=0.1
)
def expansions(result: Result, quick: bool, draw: Any) -> None:
    """A kernel of prescribed features Fⱼ: coefficients, norm and fit by the kernel and by the features."""
    n = 64
    t = np.arange(n) / n
    wave = (
        np.sin(2 * np.pi * t)
        + 0.5 * np.cos(6 * np.pi * t)
        + 0.35 * np.sin(10 * np.pi * t)
        - 0.3 * np.cos(4 * np.pi * t)
    )
    steps = np.where(t < 0.3, 1.0, np.where(t < 0.55, -0.6, 0.4))
    found = {}
    for name, kernel, signal in (
        ("Fourier", Fourier(n=8, decay=1.0), wave),
        ("Haar wavelets", Wavelet("haar", levels=6, smoothness=0.5), steps),
    ):
        F = kernel.feature_map(t[:, None])
        model = KernelInterpolator(kernel).fit(t[:, None], signal)
        c = model.dual_coef_ @ F
        found[name] = signal, F, c
        result.add(
            f"{name}: f(t) and Σ cⱼFⱼ(t)", "equal", f"{np.abs(F @ c - signal).max():.1e}", f"{F.shape[1]} features"
        )
        result.add("  ‖f‖² and Σ cⱼ²", "equal", f"{abs(model.norm_**2 - c @ c):.1e}", f"‖f‖² = {c @ c:.4f}")
        used = int(np.sum(np.abs(c) > 1e-6 * np.abs(c).max()))
        result.add("  coefficients that are not 0", "–", used, f"of {len(c)}")
    spectrum = np.fft.rfft(wave) / n
    c, F = found["Fourier"][2], found["Fourier"][1]
    modes = np.abs(F.T @ np.exp(-2j * np.pi * np.outer(t, [1, 3]))) > 1e-6
    size = [np.abs(F[:, m] @ c[m]).max() for m in modes.T]
    result.add(
        "Fourier: size of the parts of frequency 1 and 3",
        "1 and 0.5",
        ", ".join(f"{s:.4f}" for s in size),
        f"{2 * abs(spectrum[1]):.4f}, {2 * abs(spectrum[3]):.4f} by the fast transform",
    )
    rng = np.random.default_rng(0)
    noisy = wave + 0.4 * rng.normal(size=n)
    kernel = Fourier(n=8, decay=1.0)
    smooth = KernelRidge(alpha=ALPHA, kernel=kernel).fit(t[:, None], noisy)
    weights = Ridge(ALPHA, fit_intercept=False).fit(F, noisy).coef_
    gap = np.abs(smooth.predict(t[:, None]) - F @ weights).max()
    result.add("ridge: by the kernel and on the features", "equal", f"{gap:.1e}", "β̂ = argmin ‖Y − Fβ‖² + λ‖β‖²")
    W = load_wine().data
    W = (W - W.mean(axis=0)) / W.std(axis=0)
    theirs, ours = PCA(3).fit(W), KernelPCA(3, kernel=Linear()).fit(W)
    components = np.abs(ours.transform(W)) - np.abs(theirs.transform(W))
    result.add(
        "PCA: kernel PCA with the linear kernel",
        "equal",
        f"{np.abs(components).max():.1e}",
        "three components of the wines",
    )
    Z = theirs.transform(W)
    rebuilt = theirs.mean_ + Z @ theirs.components_
    result.add(
        "  Σ cⱼψⱼ of three components",
        "an expansion",
        f"{1 - np.sum((W - rebuilt) ** 2) / np.sum(W**2):.1%}",
        f"of the squares; eigenvalues say {theirs.explained_variance_ratio_.sum():.1%}",
    )
    result.note("Ridge on features Fⱼ and in the space of Σ FⱼFⱼ are the same problem: f = Σ cⱼFⱼ has ‖f‖² = Σ cⱼ².")
    with draw("expansions", nrows=2, ncols=2, figsize=(9.8, 6.0)) as (_, axes):
        for ax, name, tint in ((axes[0, 0], "Fourier", BLUE), (axes[0, 1], "Haar wavelets", ORANGE)):
            signal, F, c = found[name]
            ax.plot(t, signal, color=GREY, linewidth=5, alpha=0.45, label="f")
            order = np.argsort(-np.abs(c) * np.abs(F).max(axis=0))
            for terms, alpha in ((2, 0.55), (6, 1.0)):
                ax.plot(
                    t,
                    F[:, order[:terms]] @ c[order[:terms]],
                    color=tint,
                    alpha=alpha,
                    linewidth=1.5,
                    label=f"{terms} terms",
                    drawstyle="steps-post" if "Haar" in name else "default",
                )
            ax.set_title(name)
            ax.legend(frameon=False, fontsize=9)
        axes[1, 0].plot(t, noisy, ".", color=INK, markersize=4)
        axes[1, 0].plot(t, wave, color=GREY, linewidth=5, alpha=0.45, label="f")
        axes[1, 0].plot(t, smooth.predict(t[:, None]), color=GREEN, label="ridge, the kernel's features")
        axes[1, 0].set(title="Ridge regression", xlabel="t")
        axes[1, 0].legend(frameon=False, fontsize=9)
        share = np.cumsum(PCA().fit(W).explained_variance_ratio_)
        axes[1, 1].plot(np.arange(1, 14), 100 * share, "o-", color=BLUE, markersize=4)
        axes[1, 1].set(title="PCA: % of the wines' variance", xlabel="terms", ylim=(0, 102), xticks=[1, 4, 7, 10, 13])
