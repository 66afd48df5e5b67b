"""The Gaussian kernel: features, universality, products and scales, Fourier transforms, roughness."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, linprog
from scipy.stats import cauchy, norm
from sklearn.model_selection import StratifiedKFold

from mercer import RKHS, SVC, GaussianMeasure, KernelInterpolator, mercer_expansion
from mercer.datasets import make_complex
from mercer.kernels import Gaussian, Kernel, Laplace, Polynomial
from mercer.selection import KernelSearchCV

from .._palette import BLUE, GREEN, GREY, INK, ORANGE
from ._base import THESIS, Draw, Result, experiment


@experiment("gaussian-space", "Feature space of the Gaussian kernel, universality", f"{THESIS}, B.1–B.3", minutes=0.3)
def gaussian_space(result: Result, quick: bool, draw: Draw) -> None:
    """Figure B.1, locality, separability, anisotropy."""
    _feature_space(result, draw)
    _bandwidth(result, 200 if quick else 600, draw)
    _universality(result, draw)
    _separability(result, draw)


@experiment("fourier", "Fourier transforms of Gaussian and Laplace kernels, roughness", f"{THESIS}, B.4", minutes=0.2)
def fourier(result: Result, quick: bool, draw: Draw) -> None:
    """Transforms, norms and roughness."""
    _transforms(result, draw)
    _norm(result)
    _roughness(result, 2_000 if quick else 20_000, draw)


def _feature_space(result: Result, draw: Draw) -> None:
    """The curve x ↦ (√λⱼ ψⱼ(x))ⱼ, and how fast the λⱼ decay under a standard normal measure."""
    points = np.linspace(-1, 1, 12)[:, None]
    ranks = [np.linalg.matrix_rank(kernel(points)) for kernel in (Gaussian(0.3), Polynomial(2, offset=1.0))]
    result.add(
        "dimensions of 12 points, Gaussian", "number of points", ranks[0], f"rank of K; (xᵀy + 1)² has {ranks[1]}"
    )
    widths = (0.5, 1.0, 2.0)
    found = {s: mercer_expansion(Gaussian(s), GaussianMeasure(np.zeros(1)), n=12) for s in widths}
    for s, expansion in found.items():
        falls = expansion.eigenvalues[1:] / expansion.eigenvalues[:-1]
        result.add(f"σ = {s:g}: each eigenvalue over the one before", "–", f"{falls.mean():.4f}", "under N(0, 1)")
    x = np.linspace(-2.5, 2.5, 300)[:, None]
    with draw("features", ncols=3, figsize=(11.0, 3.6)) as (_, axes):
        maps = found[1.0].feature_map(x)
        for j, (tint, dashes) in enumerate(((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (GREY, ":"))):
            axes[0].plot(x, maps[:, j], dashes, color=tint, label=f"$j$ = {j + 1}")
        axes[0].set(title=r"Features $\sqrt{\lambda_j}\,\psi_j(x)$, $\sigma$ = 1", xlabel="$x$")
        axes[0].legend(frameon=False, ncols=2, loc="lower right", fontsize=9)
        shade = axes[1].scatter(maps[:, 1], maps[:, 2], c=x[:, 0], s=9, cmap="viridis")
        axes[1].set(title="The line in features 2 and 3", xlabel="feature 2", ylabel="feature 3")
        axes[1].figure.colorbar(shade, ax=axes[1], label="$x$")
        for (s, expansion), tint in zip(found.items(), (ORANGE, BLUE, GREEN), strict=True):
            axes[2].semilogy(
                range(1, 13), expansion.eigenvalues, "o-", color=tint, markersize=3, label=f"$\\sigma$ = {s:g}"
            )
        axes[2].set(title=r"Eigenvalues $\lambda_j$", xlabel="$j$", xticks=[1, 4, 8, 12])
        axes[2].legend(frameon=False)


def _bandwidth(result: Result, n: int, draw: Draw) -> None:
    """Small σ: low bias and high variance."""
    X, y = make_complex(n, flip=0.1, random_state=0)
    widths = np.geomspace(0.02, 5, 13)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = KernelSearchCV(
        SVC(kernel=Gaussian(1.0), C=10), {"kernel__lengthscale": widths}, cv=folds, return_train_score=True
    ).fit(X, y)
    train, test = (1 - search.cv_results_[f"mean_{part}_score"] for part in ("train", "test"))
    best = search.best_index_
    for i, word in ((0, "overfits"), (best, "–"), (len(widths) - 1, "underfits")):
        result.add(f"σ = {widths[i]:.2g}: error on sample, held out", word, f"{train[i]:.1%}, {test[i]:.1%}")
    with draw("bandwidth", figsize=(6.4, 3.9)) as (_, ax):
        ax.semilogx(widths, 100 * train, "o-", color=GREY, markersize=4, label="on the sample")
        ax.semilogx(widths, 100 * test, "o-", color=BLUE, markersize=4, label="held out")
        ax.set(title="Bandwidth: variance at the left, bias at the right", xlabel=r"$\sigma$", ylabel="error in %")
        ax.set_ylim(0, None)
        ax.legend(frameon=False)


def closest(kernel: Kernel, centres: np.ndarray, x: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The combination of k(·, zᵢ) with the smallest maximum deviation from the target over x."""
    U, s, _ = np.linalg.svd(kernel(x, centres), full_matrices=False)
    basis = U[:, s > 1e-10 * s[0]] * np.sqrt(len(x))
    n, m = basis.shape
    bounds = np.block([[basis, -np.ones((n, 1))], [-basis, -np.ones((n, 1))]])
    found = linprog(np.eye(m + 1)[m], bounds, np.concatenate([target, -target]), bounds=(None, None))
    return basis @ found.x[:m]


def _universality(result: Result, draw: Draw) -> None:
    """Uniform approximation of |x|: arbitrarily close with Gaussian and Laplace kernels, 1/8 at best with cubics."""
    counts = (5, 9, 17, 33, 65)
    x = np.linspace(-1, 1, 201)[:, None]
    target = np.abs(x[:, 0])
    kernels = {"Gaussian": Gaussian(0.15), "Laplace": Laplace(0.15), "(xᵀy + 1)³": Polynomial(3, offset=1.0)}
    curves = {
        name: {m: closest(kernel, np.linspace(-1, 1, m)[:, None], x, target) for m in counts}
        for name, kernel in kernels.items()
    }
    errors = {name: [np.abs(g - target).max() for g in fits.values()] for name, fits in curves.items()}
    for name, found in errors.items():
        claim, remark = ("→ 0: universal", "σ = 0.15")
        if name == "(xᵀy + 1)³":
            claim, remark = ("not universal", "no cubic is closer than 1/8")
        result.add(f"largest deviation from |x|: {name}", claim, ", ".join(f"{e:.4f}" for e in found), remark)
    result.note(
        f"Deviations are for {', '.join(map(str, counts))} centres. Universality allows any coefficients; in double "
        "precision, sections of the Gaussian kernel soon become dependent up to rounding, so that more centres no "
        "longer help; a smaller σ would."
    )
    with draw("universality", ncols=2, figsize=(9.2, 3.9)) as (_, axes):
        axes[0].plot(x, target, color=INK, linewidth=1, linestyle=":", label="$|x|$")
        for (name, fits), tint in zip(curves.items(), (BLUE, ORANGE, GREEN), strict=True):
            axes[0].plot(x, fits[9], color=tint, linewidth=1.3)
            label = name.replace("ᵀ", "$^T$").replace("³", "$^3$")
            axes[1].loglog(counts, errors[name], "o-", color=tint, markersize=4, label=label)
        axes[0].set(title="Closest functions with nine centres", xlabel="$x$", xticks=[-1, -0.5, 0, 0.5, 1])
        axes[1].set(title="Largest deviation", xlabel="centres")
        axes[1].set_xticks(counts, [str(m) for m in counts])
        axes[1].minorticks_off()
        axes[1].legend(frameon=False)


def _separability(result: Result, draw: Draw) -> None:
    """Products over coordinates, with one scale each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    one, two = Gaussian(0.5), Gaussian(1.5)
    product = one.on([0]) * two.on([1])
    gap = np.abs(Gaussian(np.array([0.5, 1.5]))(X) - product(X)).max()
    result.add("k(x, y) against k₁(x₁, y₁) k₂(x₂, y₂)", "equal (B.2)", f"{gap:.1e}", "σ = 0.5 and 1.5")
    density = [lambda t, s=s: np.exp(-(t**2) / (2 * s**2)) / np.sqrt(2 * np.pi) / s for s in (0.5, 1.5, np.sqrt(2.5))]
    both = quad(lambda t: density[0](t) * density[1](0.7 - t), -8, 8)[0]
    result.add(
        "densities N(0, σ₁²) ∗ N(0, σ₂²) at 0.7", "σ₁² + σ₂²", f"{both:.6f}", f"N(0, 2.5): {density[2](0.7):.6f}"
    )
    result.note(
        "B.2 lacks 1/2σ² in the exponent; its σ₁² + σ₂² belongs to the convolution of two Gaussians, not to their "
        "product f(x; σ₁²) f(y; σ₂²), which keeps both variances."
    )
    side = np.linspace(-3, 3, 121)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    with draw("anisotropy", ncols=2, figsize=(8.6, 4.0)) as (_, axes):
        for ax, kernel, title in (
            (axes[0], Gaussian(1.0), r"Isotropic, $\sigma$ = 1"),
            (axes[1], Gaussian(np.array([0.5, 1.2])), r"Anisotropic, $\sigma$ = (0.5, 1.2)"),
        ):
            values = kernel(grid, np.zeros((1, 2))).reshape(len(side), -1)
            ax.contourf(side, side, values, levels=10, cmap="Blues")
            ax.contour(side, side, values, levels=10, colors=[INK], linewidths=0.4)
            ax.set(title=title, xlabel="$x_1$", ylabel="$x_2$", aspect="equal")


def transform(kernel: Kernel, frequency: float) -> float:
    """(2π)^(−1/2) ∫ k(x, 0) cos ωx dx, by quadrature."""

    def half(x: float) -> float:
        return float(kernel([[x]], [[0.0]])[0, 0])

    if frequency == 0:
        return 2 * float(quad(half, 0, np.inf)[0]) / np.sqrt(2 * np.pi)
    return 2 * float(quad(half, 0, np.inf, weight="cos", wvar=frequency)[0]) / np.sqrt(2 * np.pi)


def _transforms(result: Result, draw: Draw) -> None:
    """σ exp(−σ²ω²/2), and √(2/π) σ/(1 + σ²ω²)."""
    w = np.linspace(0, 12, 7)
    closed = {
        "Gaussian": (Gaussian, lambda s, w: s * np.exp(-((s * w) ** 2) / 2)),
        "Laplace": (Laplace, lambda s, w: np.sqrt(2 / np.pi) * s / (1 + (s * w) ** 2)),
    }
    for name, (kernel, formula) in closed.items():
        gap = max(abs(transform(kernel(0.5), omega) - formula(0.5, omega)) for omega in w)
        word = "Gaussian again" if name == "Gaussian" else "Cauchy"
        result.add(f"transform of {name}: quadrature − formula", word, f"{gap:.1e}", "largest difference, σ = 0.5")
    for s in (0.5, 2.0):
        level = transform(Gaussian(s), 0) * np.exp(-0.5)  # of a Gaussian, one standard deviation from its centre
        width = brentq(lambda w, s=s, level=level: transform(Gaussian(s), w) - level, 0.1, 10, xtol=1e-4)
        words = "smaller here, wider there"
        result.add(f"Gaussian, σ = {s:g}: width in frequency", words, f"{width:.3f}", f"1/σ = {1 / s:g}")
    beyond = {"Gaussian": 2 * norm.sf(3), "Laplace": 2 * cauchy.sf(3)}
    rng = np.random.default_rng(0)
    for name, kernel in (("Gaussian", Gaussian(1.0)), ("Laplace", Laplace(1.0))):
        share = np.mean(np.abs(kernel.spectral_sample(100_000, 1, rng)) > 3)
        result.add(f"{name}: spectrum beyond ω = 3/σ", "drops slower", f"{share:.2%}", f"exactly {beyond[name]:.2%}")
    with draw("fourier", ncols=2, figsize=(9.2, 3.8)) as (_, axes):
        t, wide = np.linspace(-4, 4, 401), np.linspace(-12, 12, 401)
        for name, tint in (("Gaussian", BLUE), ("Laplace", ORANGE)):
            kernel, formula = closed[name]
            for s, dashes in ((0.5, "--"), (1.0, "-")):
                label = f"{name}, $\\sigma$ = {s:g}"
                axes[0].plot(t, kernel(s)(t[:, None], np.zeros((1, 1))), color=tint, linestyle=dashes, label=label)
                axes[1].semilogy(wide, formula(s, wide), color=tint, linestyle=dashes)
        axes[0].set(title="Kernels $k(x, 0)$", xlabel="$x$")
        axes[0].legend(frameon=False, fontsize=8, loc="upper right", handlelength=1.6)
        axes[1].set(title="Their Fourier transforms", xlabel=r"$\omega$", ylim=(1e-5, 2))


def _norm(result: Result) -> None:
    """‖f‖² from the kernel matrix, and as the integral (2.37) over f̂(ω) = ∫ f(t) e^{−iωt} dt."""
    sigma, places, weights = 0.5, np.array([0.0, 0.4, 1.5]), np.array([1.0, -0.7, 0.4])
    exact = RKHS(Gaussian(sigma)).function(places[:, None], weights).norm() ** 2
    factor = np.sqrt(2 * np.pi) * sigma  # k̂(ω) = factor · exp(−σ²ω²/2)

    def integrand(w: float) -> float:
        return float(factor**2 * np.exp(-((sigma * w) ** 2) / 2) * np.abs(weights @ np.exp(-1j * w * places)) ** 2)

    printed = quad(integrand, -np.inf, np.inf)[0] / (2 * np.pi)
    remark = f"{printed:.6f} as printed"
    result.add("‖f‖² from K, and by (2.37)", "equal", f"{exact:.6f}, {printed / factor:.6f}", remark)
    result.note("(2.37) lacks the factor 1/(√(2π)σ)ᵈ of the kernel's transform, and its 2πᵈ means (2π)ᵈ.")


def exponent(kernel: Kernel, count: int) -> float:
    """The slope of log E(f(x + h) − f(x))² in log h, for functions drawn with covariance k."""
    rng = np.random.default_rng(0)
    steps = np.array([0.01, 0.02, 0.04])
    x = np.concatenate([[0.0], steps])[:, None]
    root = np.linalg.cholesky(kernel(x) + 1e-12 * np.eye(len(x)))
    f = root @ rng.normal(size=(len(x), count))
    moments = ((f[1:] - f[0]) ** 2).mean(axis=1)
    return float(np.polyfit(np.log(steps), np.log(moments), 1)[0])


def _roughness(result: Result, count: int, draw: Draw) -> None:
    """Random functions, and functions through the same points."""
    kernels = {"Gaussian": Gaussian(0.5), "Laplace": Laplace(0.5)}
    for name, kernel in kernels.items():
        limit = 2 if name == "Gaussian" else 1
        slope = exponent(kernel, count)
        result.add(f"{name}: (f(x + h) − f(x))² ∝ h^p, p", "Laplace rougher", f"{slope:.2f}", f"{limit} in theory")
    x = np.linspace(0, 4, 400)[:, None]
    places = np.array([0.2, 0.7, 1.3, 1.9, 2.4, 3.1, 3.7])[:, None]
    values = np.sin(2 * places[:, 0]) + 0.3 * np.cos(5 * places[:, 0])
    noise = np.random.default_rng(1).normal(size=(len(x), 2))
    with draw("roughness", ncols=2, figsize=(9.4, 3.8)) as (_, axes):
        for (name, kernel), tint in zip(kernels.items(), (BLUE, ORANGE), strict=True):
            root = np.linalg.cholesky(kernel(x) + 1e-8 * np.eye(len(x)))
            shift = 2 if name == "Gaussian" else -2
            axes[0].plot(x, root @ noise[:, :1] + shift, color=tint, linewidth=1, label=name)
            axes[1].plot(
                x, KernelInterpolator(kernel).fit(places, values).predict(x), color=tint, linewidth=1.3, label=name
            )
        axes[0].set(title="Random functions with these covariances (shifted)", xlabel="$x$", yticks=[])
        axes[1].plot(places, values, "o", color=INK, markersize=4)
        axes[1].set(title="Through the same points", xlabel="$x$")
        axes[1].legend(frameon=False)
