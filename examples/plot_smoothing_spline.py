r"""
Smoothing splines
=================

The smoothing spline is the best trade-off between fidelity and curvature among all functions,

.. math:: \min_f \; \tfrac12 \sum_i \big( y_i - f(x_i) \big)^2 + \tfrac{\alpha}{2} \int f''(u)^2 \, du.

It is the oldest kernel method: the penalty is a squared norm whose kernel is a spline, straight lines are unpenalised,
and the minimiser is a cubic between neighbouring points. Its cost is linear in their number.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer import SmoothingSpline

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

rng = np.random.default_rng(7)
x = np.sort(np.concatenate([rng.uniform(0, 10, 70), rng.normal(3, 0.2, 30)]))


def truth(t):
    return np.sin(t) + 2 * np.exp(-8 * (t - 6) ** 2)


y = truth(x) + 0.35 * rng.normal(size=len(x))
grid = np.linspace(-0.7, 10.7, 600)

# %%
# **How smooth?** The penalty decides, and the *effective degrees of freedom* interpret it: 2 is a straight line, one
# per point is interpolation. Cross-validation and the restricted likelihood choose it from the data; both are cheap,
# because the trace of the smoother and every leave-one-out error come with the fit.

model = SmoothingSpline("reml").fit(x, y)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4.2), width_ratios=[1.6, 1], layout="constrained"
)
left.plot(x, y, ".", color=GREY, markersize=6)
for df, colour, style in ((4, ORANGE, (0, (4, 2))), (45, GREEN, (0, (1, 1)))):
    rough = SmoothingSpline(df=df).fit(x, y)
    left.plot(
        grid,
        rough.predict(grid),
        color=colour,
        linewidth=1.5,
        linestyle=style,
        label=f"{df} degrees of freedom",
    )
left.plot(grid, model.predict(grid), color=BLUE, linewidth=2.4, label=f"chosen: {model.edf_:.1f}")
left.set(xlim=(-0.7, 10.7), ylim=(-2.2, 3.4), xlabel="x")
left.legend(frameon=False, loc="upper right", fontsize=9)
left.set_title("One sample, three penalties", loc="left", fontsize=11)

strengths = np.logspace(-5, 2, 60)
fits = [SmoothingSpline(alpha=a).fit(x, y) for a in strengths]
edf = [m.edf_ for m in fits]
error = [np.mean((m.predict(x) - truth(x)) ** 2) + 0.35**2 for m in fits]
right.plot(edf, error, color=INK, linewidth=1.2, label="true error")
for name, colour in (("gcv", ORANGE), ("loo", GREEN)):
    values = [m.criteria_[name] for m in fits]
    right.plot(
        edf, values, color=colour, linewidth=1.8, label={"gcv": "GCV", "loo": "leave-one-out"}[name]
    )
    best = int(np.argmin(values))
    right.plot(edf[best], values[best], "o", color=colour, markersize=6)
right.set(xscale="log", xlim=(2, 60), ylim=(0.1, 0.6), xlabel="effective degrees of freedom")
right.set_xticks([2, 5, 10, 20, 50], ["2", "5", "10", "20", "50"])
right.minorticks_off()
right.legend(frameon=False, fontsize=9, loc="upper left")
right.set_title("Criteria and what they estimate", loc="left", fontsize=11)
print(model.summary())

# %%
# **Bands and derivatives.** The spline is a posterior mean, and the posterior standard deviations give a band with the
# right coverage on average over x: narrow where points are dense, wide where they are sparse, and open beyond them,
# where the spline is a straight line. The band misses part of the narrow peak, because one penalty serves the whole
# axis. Derivatives are exact.

low, high = model.interval(grid, 0.95)
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8.5, 5.4), sharex=True, height_ratios=[1.8, 1], layout="constrained"
)
top.fill_between(grid, low, high, color=BLUE, alpha=0.18, linewidth=0, label="95 % band")
top.plot(x, y, ".", color=GREY, markersize=5)
top.plot(grid, truth(grid), color=INK, linewidth=1.1, linestyle=(0, (4, 2)), label="truth")
top.plot(grid, model.predict(grid), color=BLUE, linewidth=2.2, label="spline")
top.set(xlim=(-0.7, 10.7), ylim=(-2.6, 3.4))
top.legend(frameon=False, loc="upper left", ncols=3, fontsize=9)
slope = np.cos(grid) - 32 * (grid - 6) * np.exp(-8 * (grid - 6) ** 2)
bottom.axhline(0, color=GREY, linewidth=0.6)
bottom.plot(grid, slope, color=INK, linewidth=1.1, linestyle=(0, (4, 2)))
bottom.plot(grid, model.derivative(grid), color=ORANGE, linewidth=2)
bottom.set(xlabel="x", ylabel="slope", ylim=(-6.5, 6.5))
inside = (low <= truth(grid)) & (truth(grid) <= high) & (grid >= x[0]) & (grid <= x[-1])
print(
    f"the band covers the truth on {inside.sum() / np.sum((grid >= x[0]) & (grid <= x[-1])):.0%} of the axis"
)

# %%
# For surfaces see `mercer.ThinPlateSpline`, and for sums of curves of several variables `mercer.AnovaSpline`; each has
# its own example.

plt.show()
