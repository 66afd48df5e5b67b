"""The cubic smoothing spline, from interpolation to the straight line."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import make_smoothing_spline

from mercer import SmoothingSpline
from mercer.datasets import load_r_data

from .._palette import BLUE, GREEN, GREY, INK, ORANGE
from ._base import REPRESENTER_NOTES, Draw, Result, experiment

LEAST, MOST = 1e-6, 1e8


def bending(model: SmoothingSpline) -> float:
    """∫ f″², exactly: f″ is linear between the knots."""
    knots = model.polynomial_.x
    value = model.polynomial_.derivative(2)(knots)
    a, b = value[:-1], value[1:]
    return float(np.sum(np.diff(knots) * (a * a + a * b + b * b)) / 3)


@experiment("spline", "Cubic smoothing spline over λ", REPRESENTER_NOTES, minutes=0.1)
def spline(result: Result, quick: bool, draw: Draw) -> None:
    """min Σ (yᵢ − f(xᵢ))² + λ ∫ f″² on the acceleration of a head in a crash test (mcycle)."""
    data = load_r_data("mcycle")
    x, y = data.data[:, 0], data.target
    chosen = SmoothingSpline("gcv").fit(x, y)
    distinct, counts = np.unique(x, return_counts=True)
    means = np.array([y[x == t].mean() for t in distinct])
    models = {lam: SmoothingSpline(alpha=lam).fit(x, y) for lam in (LEAST, 1e-2, chosen.alpha_, 1e3, MOST)}
    for lam, model in models.items():
        theirs = make_smoothing_spline(distinct, means, w=counts.astype(float), lam=lam)
        gap = np.abs(model.predict(distinct) - theirs(distinct)).max()
        rest = np.sum((y - model.predict(x)) ** 2)
        remark = f"Σ(y − f)² = {rest:.4g}, ∫f″² = {bending(model):.3g}; {gap:.0e} off SciPy's"
        result.add(f"λ = {lam:.3g}: degrees of freedom", "a picture", f"{model.edf_:.2f}", remark)
    straight = np.polynomial.Polynomial.fit(x, y, 1)
    ours = f"{np.abs(models[MOST].predict(x) - straight(x)).max():.1e}"
    remark = f"values spread over {np.ptp(y):.0f}"
    result.add(f"λ = {MOST:g}: distance from the straight line", "→ 0", ours, remark)
    ours = f"{np.abs(models[LEAST].predict(distinct) - means).max():.1e}"
    remark = f"{len(x) - len(distinct)} of {len(x)} times are repeated"
    result.add(f"λ = {LEAST:g}: distance from the means at each x", "→ 0", ours, remark)
    knots = chosen.polynomial_.x[1:-1]  # outer knots only mark the linear continuations
    result.add(
        "knots", "at the xᵢ", len(knots), f"off by {np.abs(knots - distinct).max():g}; {len(distinct)} distinct xᵢ"
    )
    result.note(
        f"Generalised cross-validation chooses λ = {chosen.alpha_:.3g}. The notes show a picture of unpublished points."
    )
    picture(draw, x, y, models, chosen.alpha_)


def picture(draw: Draw, x: np.ndarray, y: np.ndarray, models: dict[float, SmoothingSpline], chosen: float) -> None:
    """Four of the splines, and the criteria for λ."""
    grid = np.linspace(x.min(), x.max(), 600)
    with draw("lambda", ncols=2, figsize=(10.2, 4.0), width_ratios=[1.7, 1]) as (_, (left, right)):
        left.plot(x, y, ".", color=GREY, markersize=5)
        for lam, tint, style in ((1e-2, ORANGE, "-"), (chosen, BLUE, "-"), (1e3, GREEN, "--"), (MOST, INK, ":")):
            words = f"{lam:.3g}, chosen" if lam == chosen else f"{lam:g}"
            width = 2.2 if lam == chosen else 1.4
            left.plot(grid, models[lam].predict(grid), style, color=tint, lw=width, label=rf"$\lambda$ = {words}")
        left.set(title="Acceleration in g", xlabel="milliseconds")
        left.legend(frameon=False, loc="lower right")
        strengths = np.logspace(-3, 5, 50)
        fits = [SmoothingSpline(alpha=lam).fit(x, y) for lam in strengths]
        for name, words, tint, style in (("gcv", "GCV", BLUE, "-"), ("loo", "leave-one-out", ORANGE, "--")):
            right.semilogx(strengths, [np.sqrt(m.criteria_[name]) for m in fits], style, color=tint, label=words)
        right.axvline(chosen, color=GREY, linewidth=1)
        right.set(title="Estimated error, root mean square", xlabel=r"$\lambda$")
        right.legend(frameon=False)
