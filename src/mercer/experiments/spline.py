"""The cubic smoothing spline, from interpolation to the straight line."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import make_smoothing_spline

from mercer import SmoothingSpline
from mercer.datasets import load_r_data

from ._base import Result, experiment
from ._lectures import BLUE, GREEN, GREY, INK, ORANGE, REPRESENTER_NOTES


def bending(model: SmoothingSpline) -> float:
    """∫ f″², exactly: f″ is linear between the knots, and so is a square of it quadratic."""
    pieces = model.polynomial_
    start, stop = pieces.x[:-1], pieces.x[1:]
    middle = (start + stop) / 2
    first, last, between = (pieces.derivative(2)(t) ** 2 for t in (start, np.nextafter(stop, start), middle))
    return float(np.sum((stop - start) * (first + 4 * between + last) / 6))


@experiment("spline", "Cubic smoothing spline over λ", REPRESENTER_NOTES, minutes=0.1)
def spline(result: Result, quick: bool, draw: Any) -> None:
    """min Σ (yᵢ − f(xᵢ))² + λ ∫ f″² on the acceleration of a head in a crash (mcycle)."""
    data = load_r_data("mcycle")
    x, y = data.data[:, 0], data.target
    chosen = SmoothingSpline("gcv").fit(x, y)
    lams = (1e-6, 1e-2, float(f"{chosen.alpha_:.3g}"), 1e3, 1e8)
    distinct = np.unique(x)
    means = np.array([y[x == t].mean() for t in distinct])
    counts = np.array([np.sum(x == t) for t in distinct], dtype=float)
    models = {}
    for lam in lams:
        model = models[lam] = SmoothingSpline(alpha=lam).fit(x, y)
        theirs = make_smoothing_spline(distinct, means, w=counts, lam=lam)
        gap = np.abs(model.predict(distinct) - theirs(distinct)).max()
        result.add(
            f"λ = {lam:g}: degrees of freedom",
            "a picture",
            f"{model.edf_:.2f}",
            f"Σ(y − f)² = {np.sum((y - model.predict(x)) ** 2):.4g}, "
            f"∫f″² = {bending(model):.3g}; {gap:.0e} off SciPy's",
        )
    straight = np.polynomial.Polynomial.fit(x, y, 1)
    result.add(
        "λ = 1e+08: distance from the straight line",
        "→ 0",
        f"{np.abs(models[1e8].predict(x) - straight(x)).max():.1e}",
        f"values spread over {np.ptp(y):.0f}",
    )
    result.add(
        "λ = 1e-06: distance from the means at each x",
        "→ 0",
        f"{np.abs(models[1e-6].predict(distinct) - means).max():.1e}",
        f"{len(x) - len(distinct)} of {len(x)} times occur again",
    )
    knots = models[lams[2]].polynomial_.x[1:-1]  # those at the ends bound the lines on which it continues
    result.add(
        "knots", "at the xᵢ", len(knots), f"off by {np.abs(knots - distinct).max():g}; {len(distinct)} distinct xᵢ"
    )
    result.note(
        f"Generalised cross-validation takes λ = {chosen.alpha_:.3g}. The notes have a picture of unknown points."
    )
    grid = np.linspace(x.min(), x.max(), 600)
    with draw("lambda", ncols=2, figsize=(10.2, 4.0), width_ratios=[1.7, 1]) as (_, (left, right)):
        left.plot(x, y, ".", color=GREY, markersize=5)
        for lam, tint, width in ((1e-2, ORANGE, 1.2), (lams[2], BLUE, 2.2), (1e3, GREEN, 1.6), (1e8, INK, 1.2)):
            words = f"{lam:g}, chosen" if lam == lams[2] else f"{lam:g}"
            left.plot(grid, models[lam].predict(grid), color=tint, linewidth=width, label=rf"$\lambda$ = {words}")
        left.set(title="Acceleration in g", xlabel="milliseconds")
        left.legend(frameon=False, loc="lower right")
        strengths = np.logspace(-3, 5, 50)
        fits = [SmoothingSpline(alpha=lam).fit(x, y) for lam in strengths]
        right.semilogx(strengths, [np.sqrt(m.criteria_["gcv"]) for m in fits], color=BLUE, label="GCV")
        right.semilogx(strengths, [np.sqrt(m.criteria_["loo"]) for m in fits], color=ORANGE, label="leave-one-out")
        right.axvline(chosen.alpha_, color=GREY, linewidth=1)
        right.set(title="Estimated error, root mean square", xlabel=r"$\lambda$")
        right.legend(frameon=False)
