"""Fourier series, wavelets, PCA and ridge regression as expansions Σ cⱼ ψⱼ."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from mercer import KernelInterpolator, KernelPCA, KernelRidgeCV
from mercer.datasets import load_wine
from mercer.kernels import Fourier, Kernel, Linear, Wavelet

from .._palette import BLUE, GREEN, GREY, INK, ORANGE
from ._base import INTERPOLATION_NOTES, Draw, Result, experiment

HIGHEST = 8
T = np.arange(64)[:, None] / 64
STEPS = np.where(T < 0.3, 1.0, np.where(T < 0.55, -0.6, 0.4))[:, 0]
WAVE = (
    np.sin(2 * np.pi * T) - 0.3 * np.cos(4 * np.pi * T) + 0.5 * np.cos(6 * np.pi * T) + 0.35 * np.sin(10 * np.pi * T)
)[:, 0]

Series = tuple[np.ndarray, np.ndarray, np.ndarray]  # a function, the features, its coefficients


@experiment(
    "expansions", "Fourier, wavelets, PCA and ridge as one expansion", f"{INTERPOLATION_NOTES}, 15", minutes=0.1
)
def expansions(result: Result, quick: bool, draw: Draw) -> None:
    """A kernel with given features Fⱼ: coefficients, norm and fit, by the kernel and by the features."""
    waves = Fourier(n=HIGHEST, decay=1.0)
    found = {
        "Fourier": series(result, "Fourier", waves, WAVE),
        "Haar wavelets": series(result, "Haar wavelets", Wavelet("haar", levels=6, smoothness=0.5), STEPS),
    }
    c = found["Fourier"][2]
    j = np.arange(1, HIGHEST + 1)
    sizes = np.hypot(c[j], c[j + HIGHEST]) / (1 + j)  # amplitudes; the features are (1 + j)⁻¹ times cosine and sine
    gap = np.abs(sizes - 2 * np.abs(np.fft.rfft(WAVE)[j]) / len(T)).max()
    result.add("Fourier: c and the fast transform", "equal", f"{gap:.1e}", "amplitudes of the frequencies 1 to 8")
    noisy = WAVE + 0.4 * np.random.default_rng(0).normal(size=len(T))
    ridge = KernelRidgeCV(np.logspace(-3, 2, 21), kernel=waves, fit_intercept=False).fit(T, noisy)
    F = waves.feature_map(T)
    beta = Ridge(ridge.alpha_, fit_intercept=False).fit(F, noisy).coef_
    gap = np.abs(ridge.predict(T) - F @ beta).max()
    remark = f"λ = {ridge.alpha_:.2g} by leave-one-out"
    result.add("ridge: by the kernel and on the features", "equal", f"{gap:.1e}", remark)
    variance = components(result)
    result.note(
        "Ridge on features Fⱼ and in the space of Σ FⱼFⱼ are the same problem: f = Σ cⱼFⱼ has ‖f‖² = Σ cⱼ². The notes "
        "write the penalty as λ‖β‖, without the square, which has the same solutions for other λ. The functions are "
        "synthetic, the wines are real."
    )
    picture(draw, found, (noisy, ridge.predict(T)), variance)


def series(result: Result, name: str, kernel: Kernel, signal: np.ndarray) -> Series:
    """The interpolant of a function on the grid, expanded in the features of the kernel."""
    F = kernel.feature_map(T)
    model = KernelInterpolator(kernel).fit(T, signal)
    c = model.dual_coef_ @ F
    gap = np.abs(F @ c - signal).max()
    result.add(f"{name}: f(t) and Σ cⱼFⱼ(t)", "equal", f"{gap:.1e}", f"{F.shape[1]} features")
    result.add("  ‖f‖² and Σ cⱼ²", "equal", f"{abs(model.norm_**2 - c @ c):.1e}", f"‖f‖² = {c @ c:.4f}")
    used = int(np.sum(np.abs(c) > 1e-6 * np.abs(c).max()))
    result.add("  coefficients that are not 0", "–", used, f"of {len(c)}")
    return signal, F, c


def components(result: Result) -> np.ndarray:
    """Principal components of the wines by the linear kernel; returns the explained variance ratios."""
    W = StandardScaler().fit_transform(load_wine().data)
    pca, ours = PCA().fit(W), KernelPCA(3, kernel=Linear()).fit(W)
    scores = pca.transform(W)[:, :3]
    gap = np.abs(np.abs(ours.transform(W)) - np.abs(scores)).max()
    result.add("PCA: kernel PCA with the linear kernel", "equal", f"{gap:.1e}", "three components of the wines")
    rebuilt = scores @ pca.components_[:3]
    share = f"{1 - np.sum((W - rebuilt) ** 2) / np.sum(W**2):.1%}"
    remark = f"of the squares; from eigenvalues: {pca.explained_variance_ratio_[:3].sum():.1%}"
    result.add("  Σ cⱼψⱼ of three components", "an expansion", share, remark)
    return pca.explained_variance_ratio_


def picture(draw: Draw, found: dict[str, Series], fit: tuple[np.ndarray, np.ndarray], variance: np.ndarray) -> None:
    """The four expansions."""
    t = T[:, 0]
    with draw("expansions", nrows=2, ncols=2, figsize=(9.8, 6.0)) as (_, axes):
        for ax, (name, (signal, F, c)), tint in zip(axes[0], found.items(), (BLUE, ORANGE), strict=True):
            steps = "steps-post" if "Haar" in name else "default"
            ax.plot(t, signal, color=GREY, linewidth=5, alpha=0.45, label="f", drawstyle=steps)
            order = np.argsort(-np.abs(c) * np.abs(F).max(axis=0))
            for terms, style in ((2, "--"), (6, "-")):
                few = order[:terms]
                ax.plot(t, F[:, few] @ c[few], style, color=tint, lw=1.5, label=f"{terms} terms", drawstyle=steps)
            ax.set_title(name)
            ax.legend(frameon=False, fontsize=9)
        axes[1, 0].plot(t, fit[0], ".", color=INK, markersize=4)
        axes[1, 0].plot(t, WAVE, color=GREY, linewidth=5, alpha=0.45, label="f")
        axes[1, 0].plot(t, fit[1], color=GREEN, label="ridge, Fourier features")
        axes[1, 0].set(title="Ridge regression", xlabel="t")
        axes[1, 0].legend(frameon=False, fontsize=9)
        axes[1, 1].plot(np.arange(1, len(variance) + 1), 100 * np.cumsum(variance), "o-", color=BLUE, markersize=4)
        axes[1, 1].set(title="PCA: % of the wines' variance", xlabel="terms", ylim=(0, 102), xticks=[1, 4, 7, 10, 13])
