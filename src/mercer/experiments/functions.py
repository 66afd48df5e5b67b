"""Functions Σ αᵢ k(·, zᵢ): properties proved in the notes, and least-norm interpolation."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import RKHS, KernelInterpolator
from mercer.kernels import Gaussian, Kernel, Linear, Polynomial

from .._palette import BLUE, GREEN, GREY, INK, ORANGE
from ._base import CLASSIFIER_NOTES, INTERPOLATION_NOTES, REPRESENTER_NOTES, Draw, Result, experiment


@experiment(
    "functions",
    "Functions Σ αᵢ k(·, zᵢ), their inner product and bound",
    f"{CLASSIFIER_NOTES}, 1.2–1.5; {REPRESENTER_NOTES}",
    minutes=0.1,
)
def functions(result: Result, quick: bool, draw: Draw) -> None:
    """Representations, the reproducing property, Cauchy–Schwarz, and spaces known in closed form."""
    H = RKHS(Gaussian(0.7))
    z = np.array([[0.6], [1.5], [2.9], [3.7], [5.2]])
    f = H.function(z, [0.9, -1.5, 1.2, 0.8, -1.0])
    g = H.function([[1.0], [4.0]], [1.0, -0.5])
    again = H.function(np.concatenate([z, z[:2], z[:2]]), [*f.coefficients, 0.4, 2.0, -0.4, -2.0])
    gap = abs(f.inner(g) - again.inner(g))
    result.add("⟨f, g⟩ with f written in two ways", "equal", f"{gap:.1e}", f"5 and {len(again)} points")
    by_values = f.coefficients @ g(z)
    result.add("⟨f, g⟩ and Σ αᵢ g(zᵢ)", "equal", f"{abs(f.inner(g) - by_values):.1e}")
    grid = np.linspace(-1, 7, 400)[:, None]
    reproduced = [f.inner(H.evaluation(x)) for x in grid]
    result.add("⟨f, k(·, x)⟩ and f(x), 400 points", "equal", f"{np.abs(reproduced - f(grid)).max():.1e}")
    ratio = np.abs(f(grid)) / (f.norm() * np.sqrt(H.kernel.diag(grid)))
    result.add("|f(x)| over ‖f‖ k(x, x)^½", "≤ 1", f"{ratio.max():.4f}", "at most, over 400 points")
    known_spaces(result)
    result.note(
        "Differences are due to rounding. S is symmetric: any other matrix of the same function has a larger norm."
    )
    with draw("bumps", ncols=2, figsize=(9.6, 3.8), sharey=True) as (_, (left, right)):
        for i in range(len(f)):
            bump = f.restrict([i])(grid)
            left.fill_between(grid[:, 0], bump, color=BLUE, alpha=0.15, linewidth=0)
            left.plot(grid[:, 0], bump, color=BLUE, alpha=0.6, linewidth=1)
        left.plot(grid, f(grid), color=INK, linewidth=2)
        left.set(title=r"$f = \sum_i \alpha_i k(\cdot, z_i)$, Gaussian kernel", xlabel="x")
        bound = H.bound(f, grid)
        right.fill_between(grid[:, 0], -bound, bound, color=GREY, alpha=0.16, linewidth=0)
        right.plot(grid, f(grid), color=INK, linewidth=2, label="f")
        right.plot(grid, (2 * g)(grid), "--", color=ORANGE, label="2g")
        right.plot(grid, (f + 2 * g)(grid), color=BLUE, label="f + 2g")
        right.set(title=r"Sums stay in the space; $|f(x)| \leq \|f\|\sqrt{k(x, x)}$ is shaded", xlabel="x")
        right.legend(frameon=False, ncols=3, loc="lower left")
        for ax in (left, right):
            ax.axhline(0, color=GREY, linewidth=0.6, zorder=0)


def known_spaces(result: Result) -> None:
    """Inner products that the notes give in closed form: a finite domain, linear, affine and quadratic functions."""
    rng = np.random.default_rng(0)
    sites = rng.normal(size=(6, 2))
    u, v = rng.normal(size=(2, 6))
    K = Gaussian(1.0)(sites)
    p, q = (RKHS(Gaussian(1.0)).function(sites, np.linalg.solve(K, w)) for w in (u, v))
    result.add("finite domain: ⟨f, g⟩ and fᵀK⁻¹g", "equal", f"{abs(p.inner(q) - u @ np.linalg.solve(K, v)):.1e}")
    x, a = rng.normal(size=(8, 3)), rng.normal(size=8)
    w = a @ x
    line = RKHS(Linear()).function(x, a)
    result.add("linear kernel: ‖f‖² and ‖w‖²", "equal", f"{abs(line.norm() ** 2 - w @ w):.1e}")
    c = 2.0
    affine = RKHS(Linear() + c).function(x, a)
    gap = abs(affine.norm() ** 2 - w @ w - (c * a.sum()) ** 2 / c)
    result.add("xᵀy + c: ‖f‖² and ‖w‖² + w₀²/c", "equal", f"{gap:.1e}")
    square = RKHS(Polynomial(2, offset=0.0)).function(x, a)
    S = np.einsum("i,ij,ik->jk", a, x, x)
    new = rng.normal(size=(5, 3))
    result.add("(xᵀy)²: f(x) and xᵀSx", "check it", f"{np.abs(square(new) - np.sum(new @ S * new, axis=1)).max():.1e}")
    result.add("  ‖f‖² and ‖S‖² (Frobenius)", "check it", f"{abs(square.norm() ** 2 - np.sum(S**2)):.1e}")


@experiment("interpolation", "Least-norm interpolation under several σ", f"{INTERPOLATION_NOTES}, 15.1", minutes=0.1)
def interpolation(result: Result, quick: bool, draw: Draw) -> None:
    """k(x, x′) = exp(−‖x − x′‖²/σ²) through ten values of a smooth function."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 1, 10))[:, None]
    y = truth(x[:, 0])
    grid = np.linspace(0, 1, 500)[:, None]
    inside = (grid >= x.min()) & (grid <= x.max())
    sigmas = (0.03, 0.1, 0.2, 0.3)
    models = {}
    for sigma in sigmas:
        kernel = Gaussian.from_gamma(1 / sigma**2)
        model = models[sigma] = KernelInterpolator(kernel).fit(x, y)
        theta = kernel(x)
        error = np.abs(model.predict(grid) - truth(grid[:, 0]))[inside[:, 0]].max()
        remark = f"yᵀΘ⁻¹y = {y @ np.linalg.solve(theta, y):.6g}; largest error between points {error:.2g}"
        result.add(f"σ = {sigma:g}: ‖f‖²", "yᵀΘ⁻¹y", f"{model.norm_**2:.6g}", remark)
        miss = np.abs(model.predict(x) - y).max()
        result.add("  f(xⱼ) − yⱼ", "0", f"{miss:.1e}", f"condition number of Θ {np.linalg.cond(theta):.0e}")
    longer = models[0.1].function_ + bystander(x, models[0.1].kernel_)
    remark = f"off by {np.abs(longer(x) - y).max():.0e} at the points"
    result.add("σ = 0.1: another function through the points", "a larger norm", f"{longer.norm() ** 2:.6g}", remark)
    result.note(
        "A narrow kernel drops to 0 between points; a wide one does not, but its matrix is nearly singular. "
        "The points in the notes are not given."
    )
    with draw("bandwidths", figsize=(7.4, 4.2)) as (_, ax):
        ax.plot(grid, truth(grid[:, 0]), color=GREY, linewidth=5, alpha=0.35, label="the function")
        for sigma, tint, style in ((0.03, ORANGE, "--"), (0.1, GREEN, "-."), (0.3, BLUE, "-")):
            ax.plot(grid, models[sigma].predict(grid), style, color=tint, lw=1.5, label=rf"$\sigma$ = {sigma:g}")
        ax.plot(x, y, "o", color=INK, markersize=6, markeredgecolor="white", zorder=5)
        ax.set(title="Interpolants of least norm", xlabel="x")
        ax.legend(frameon=False)


def truth(x: np.ndarray) -> np.ndarray:
    """The function that generates the values."""
    return np.sin(2 * np.pi * x) + 0.4 * np.cos(6 * np.pi * x)


def bystander(x: np.ndarray, kernel: Kernel) -> Any:
    """A function that vanishes at x: a section in the widest gap, minus its projection onto the sections at x."""
    H, widest = RKHS(kernel), int(np.argmax(np.diff(x[:, 0])))
    section = H.evaluation((x[widest] + x[widest + 1]) / 2)
    return section - H.project(section, x)
