"""A density estimate that outliers pull less."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import KernelDensity, RobustKernelDensity
from mercer.datasets import make_contaminated

from ._base import Result, experiment
from ._lectures import BLUE, GREY, INK, ORANGE, REPRESENTER_NOTES

WIDTH = 1.06 * 200**-0.2  # Silverman's rule for the truth
FAR = np.array([[6.0]])  # where there is noise only


@experiment("robust-density", "Robust density estimates of contaminated samples", REPRESENTER_NOTES, minutes=0.2)
def robust_density(result: Result, quick: bool, draw: Any) -> None:
    """Kim and Scott's M-estimate of the mean in the space, on a normal sample with uniform noise."""
    grid = np.linspace(-12, 12, 1201)[:, None]
    truth = np.exp(-(grid[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi)
    repeats = 8 if quick else 40
    shares = (0.0, 0.1, 0.2, 0.3)
    names = ("plain", "huber", "hampel")
    errors = np.empty((len(shares), repeats, 3))
    for i, share in enumerate(shares):
        for r in range(repeats):
            X, _ = make_contaminated(200, contamination=share, random_state=r)
            errors[i, r] = [_integral((np.exp(m.score_samples(grid)) - truth) ** 2) for m in _fits(X).values()]
    mean = errors.mean(axis=1)
    for i, share in enumerate(shares):
        spread = (errors[i, :, 1] - errors[i, :, 0]).std() / np.sqrt(repeats)
        result.add(
            f"{share:.0%} noise: integrated squared error, ×10³",
            "–",
            " / ".join(f"{1e3 * e:.2f}" for e in mean[i]),
            f"plain / Huber / Hampel; Huber − plain {1e3 * (mean[i, 1] - mean[i, 0]):+.2f} ± {1e3 * spread:.2f}",
        )
    X, outlier = make_contaminated(200, contamination=0.2, random_state=1)
    fits = _fits(X)
    plain = fits["plain"]
    bump = plain.kernel_(grid, FAR)[:, 0] / np.exp(plain.log_normalizer_) - plain.function_(grid)
    pull = np.sqrt(_integral(bump**2))
    for name in names[1:]:
        model = fits[name]
        share = model.weights_[outlier == 1].sum()
        result.add(
            f"20 % noise, {name.capitalize()}: weight of the outliers",
            "less than 20 %",
            f"{share:.1%}",
            f"Σw = {model.weights_.sum():.6f}",
        )
        size = np.sqrt(_integral(model.influence(FAR)(grid)[:, 0] ** 2))
        result.add("  influence of a point at 6, over that on the plain one", "bounded, small", f"{size / pull:.3f}")
    result.note(
        f"{repeats} samples of 200; the truth is normal, the noise uniform on [−10, 10]; all estimates have the same "
        f"bandwidth, {WIDTH:.2f}. The notes cite Kim and Scott, whose tables are on other data. Hampel's function also "
        "drops the tails of a clean sample, and pays where much is noise."
    )
    tints = dict(zip(names, (GREY, BLUE, ORANGE), strict=True))
    with draw("densities", ncols=2, figsize=(10.0, 3.9), width_ratios=[1.5, 1]) as (_, (left, right)):
        left.fill_between(grid[:, 0], truth, color="#e8f0f7", linewidth=0, label="truth")
        for name, model in fits.items():
            left.plot(grid[:, 0], np.exp(model.score_samples(grid)), color=tints[name], label=name.capitalize())
        left.plot(X[:, 0], np.full(len(X), -0.015), "|", color=INK, markersize=5, markeredgewidth=0.5)
        left.set(title="20 % of the sample is noise", xlim=(-8, 8), ylim=(-0.03, None), yticks=[])
        left.spines["left"].set_visible(False)
        left.legend(frameon=False)
        for k, name in enumerate(names):
            bar = 1e3 * errors[:, :, k].std(axis=1) / np.sqrt(repeats)
            right.errorbar(np.array(shares) * 100, 1e3 * mean[:, k], bar, color=tints[name], capsize=3)
        right.set(title="Integrated squared error × 10³", xlabel="% noise", ylim=(0, None))


def _fits(X: np.ndarray) -> dict[str, Any]:
    robust = {loss: RobustKernelDensity(bandwidth=WIDTH, loss=loss, tol=1e-6).fit(X) for loss in ("huber", "hampel")}
    return {"plain": KernelDensity(bandwidth=WIDTH).fit(X), **robust}


def _integral(values: np.ndarray) -> float:
    return float(np.sum(values) * 24 / (len(values) - 1))
