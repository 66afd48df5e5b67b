"""Robust kernel density estimation."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import KernelDensity, RobustKernelDensity
from mercer.datasets import make_contaminated

from .._palette import BLUE, GREY, INK, ORANGE
from ..types import EstimatorLike
from ._base import REPRESENTER_NOTES, Draw, Result, experiment

FAR = np.array([[6.0]])  # a point with nothing but noise around it
GRID = np.linspace(-12, 12, 1201)[:, None]
TRUTH = np.exp(-(GRID[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi)
LOSSES = ("plain", "huber", "hampel")
SHARES = (0.0, 0.1, 0.2, 0.3)


@experiment("robust-density", "Robust density estimates of contaminated samples", REPRESENTER_NOTES, minutes=0.2)
def robust_density(result: Result, quick: bool, draw: Draw) -> None:
    """Kim and Scott's M-estimate of the kernel mean, on a normal sample with uniform noise."""
    repeats = 8 if quick else 40
    errors = np.empty((len(SHARES), repeats, len(LOSSES)))
    for i, share in enumerate(SHARES):
        for r in range(repeats):
            models = fits(make_contaminated(200, contamination=share, random_state=r)[0])
            errors[i, r] = [integral((density(model) - TRUTH) ** 2) for model in models.values()]
    for i, share in enumerate(SHARES):
        gain = 1e3 * (errors[i, :, 1] - errors[i, :, 0])
        ours = " / ".join(f"{1e3 * e:.2f}" for e in errors[i].mean(axis=0))
        remark = f"plain / Huber / Hampel; Huber − plain {gain.mean():+.2f} ± {gain.std(ddof=1) / repeats**0.5:.2f}"
        result.add(f"{share:.0%} noise: integrated squared error, ×10³", "–", ours, remark)
    X, outlier = make_contaminated(200, contamination=0.2, random_state=1)
    models = fits(X)
    plain = models["plain"]
    pull = plain.kernel_(GRID, FAR)[:, 0] / np.exp(plain.log_normalizer_) - density(plain)
    for loss in LOSSES[1:]:
        model = models[loss]
        ours = f"{model.weights_[outlier == 1].sum():.1%}"
        remark = f"Σw = {model.weights_.sum():.6f}"
        result.add(f"20 % noise, {loss.capitalize()}: weight of the outliers", "less than 20 %", ours, remark)
        size = np.sqrt(integral(model.influence(FAR)(GRID)[:, 0] ** 2) / integral(pull**2))
        result.add("  influence of a point at 6, over that on the plain one", "bounded, small", f"{size:.3f}")
    result.note(
        f"{repeats} samples of 200; the truth is normal, the noise uniform on [−10, 10]. All three estimates use the "
        "bandwidth of least-squares cross-validation on each sample. The notes cite Kim and Scott, whose tables are on "
        "other data. Hampel's function also drops the tails of a clean sample, and pays off only with much noise."
    )
    picture(draw, X, models, errors)


def fits(X: np.ndarray) -> dict[str, Any]:
    """The plain estimate with its chosen bandwidth, and the robust ones with the same bandwidth."""
    plain = KernelDensity(bandwidth="loo", criterion="least_squares").fit(X)
    robust = [RobustKernelDensity(bandwidth=plain.bandwidth_, loss=loss, tol=1e-6).fit(X) for loss in LOSSES[1:]]
    return dict(zip(LOSSES, [plain, *robust], strict=True))


def density(model: EstimatorLike) -> np.ndarray:
    """The density on the grid."""
    return np.exp(model.score_samples(GRID))


def integral(values: np.ndarray) -> float:
    """The integral of a function that vanishes at the ends of the grid."""
    return float(np.sum(values) * (GRID[1, 0] - GRID[0, 0]))


def picture(draw: Draw, X: np.ndarray, models: dict[str, Any], errors: np.ndarray) -> None:
    """One sample with its estimates, and the errors of all."""
    with draw("densities", ncols=2, figsize=(10.0, 3.9), width_ratios=[1.5, 1]) as (_, (left, right)):
        left.fill_between(GRID[:, 0], TRUTH, color="#e8f0f7", linewidth=0, label="truth")
        for k, (loss, tint, style) in enumerate(zip(LOSSES, (GREY, BLUE, ORANGE), ("-", "-", "--"), strict=True)):
            left.plot(GRID[:, 0], density(models[loss]), style, color=tint, label=loss.capitalize())
            bar = errors[:, :, k].std(axis=1, ddof=1) / errors.shape[1] ** 0.5
            right.errorbar(
                100 * np.array(SHARES), 1e3 * errors[:, :, k].mean(axis=1), 1e3 * bar, color=tint, ls=style, capsize=3
            )
        left.plot(X[:, 0], np.full(len(X), -0.015), "|", color=INK, markersize=5, markeredgewidth=0.5)
        left.set(title="20 % of the sample is noise", xlim=(-8, 8), ylim=(-0.03, None), yticks=[])
        left.spines["left"].set_visible(False)
        left.legend(frameon=False)
        right.set(title="Integrated squared error × 10³", xlabel="% noise", yscale="log")
