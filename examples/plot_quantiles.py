r"""
Quantiles that do not cross
===========================

The mean says little if the noise changes with x. Quantile regression estimates the curve that y stays below with
probability τ,

.. math:: \min_{f \in H,\, c}\; \sum_i \max\{\tau r_i, (\tau - 1) r_i\} + \tfrac{\alpha}{2} \|f\|_H^2,
          \qquad r_i = y_i - f(x_i) - c.

Each level is a separate problem, and nothing prevents the solutions from crossing: the 30 % curve may rise above the 50
% curve, which is impossible for a distribution. Fitted together with the constraint :math:`f_\tau \le f_{\tau'}` for τ
< τ', they cannot cross.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelExpectileRegression, KernelQuantileRegression

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# The data are eighty samples of a sine with noise that grows along x; there are five levels. The penalty is weak, so
# the curves follow single samples, as happens when data are scarce.

rng = np.random.default_rng(1)
X = np.sort(rng.uniform(0, 6, 80))[:, None]
y = np.sin(X[:, 0]) + (0.05 + 0.12 * X[:, 0]) * rng.normal(size=80)
levels = [0.1, 0.3, 0.5, 0.7, 0.9]
grid = np.linspace(0, 6, 301)[:, None]

settings = {"kernel": "gaussian(lengthscale=0.5)", "quantiles": levels, "alpha": 0.05}
apart = KernelQuantileRegression(**settings).fit(X, y)
together = KernelQuantileRegression(**settings, non_crossing=grid).fit(X, y)


def crossings(model):
    """The fraction of the line where a level lies above the next, up to rounding."""
    return np.mean((np.diff(model.predict(grid), axis=1) < -1e-4).any(axis=1))


# %%
# Left: each level alone, with crossings shaded. Right: all levels together, in order at the samples and at 301 further
# points.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
shades = plt.get_cmap("viridis")(np.linspace(0.1, 0.85, len(levels)))
for ax, model, name in zip(axes, (apart, together), ("each alone", "together"), strict=True):
    curves = model.predict(grid)
    crossed = (np.diff(curves, axis=1) < -1e-4).any(axis=1)
    ax.fill_between(grid[:, 0], -4, 4, where=crossed, color="#f3d5c3", linewidth=0)
    ax.plot(X, y, "o", color=GREY, markersize=3)
    for curve, shade in zip(curves.T, shades, strict=True):
        ax.plot(grid, curve, color=shade, linewidth=1.6)
    ax.set(xlim=(0, 6), ylim=(-2.6, 2.6), xticks=range(7), yticks=[-2, -1, 0, 1, 2], xlabel="x")
    ax.set_title(
        f"{name}: crossed on {100 * crossings(model):.0f} % of the line", loc="left", fontsize=11
    )
for level, value, shade in zip(levels, together.predict([[6.0]])[0], shades, strict=True):
    axes[1].annotate(
        f"{level:.0%}", (6.05, value), color=shade, annotation_clip=False, va="center", fontsize=9
    )

# %%
# The constraint costs little: the sum of the objectives rises by a fraction of a per cent. The duality gap certifies
# that no ordered functions have a lower one.

costs = [sum(s.objective for s in model.solution_) for model in (apart, together)]
print(
    f"objective apart {costs[0]:.4f}, in order {costs[1]:.4f}, duality gap {together.solution_[0].gap:.1e}"
)
for level, curve in zip(levels, together.predict(X).T, strict=True):
    print(
        f"level {level:.0%}: {np.mean(y <= curve + 1e-6):.0%} of the samples at or below the curve"
    )

# %%
# **Expectiles** are to the mean what quantiles are to the median: they minimise squares, weighted by τ above the curve
# and by 1 − τ below. They therefore depend on how far the values beyond them lie, and not only on which side. Here all
# values above the highest quantile are moved up to three times their distance from the median curve. The quantiles do
# not change at all. The expectiles follow, which may be right for financial losses and wrong for measurement errors.

few = [0.1, 0.5, 0.9]
methods = {
    "quantiles": KernelQuantileRegression("gaussian(lengthscale=2.0)", quantiles=few, alpha=0.5),
    "expectiles": KernelExpectileRegression("gaussian(lengthscale=2.0)", expectiles=few, alpha=0.5),
}
_, middle, high = methods["quantiles"].fit(X, y).predict(X).T
far = y > high + 1e-3
moved = np.where(far, middle + 3 * (y - middle), y)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, (name, method) in zip(axes, methods.items(), strict=True):
    ax.plot(X, y, "o", color=GREY, markersize=3)
    ax.plot(X[far], moved[far], "o", color=ORANGE, markersize=4, label="moved up")
    for values, label, style in (
        (y, "before", {"color": BLUE, "linewidth": 2.5, "alpha": 0.6}),
        (moved, "after", {"color": ORANGE, "linewidth": 1.4, "linestyle": (0, (4, 2))}),
    ):
        lines = ax.plot(grid, method.fit(X, values).predict(grid), **style)
        lines[0].set_label(label)
    ax.set(xlim=(0, 6), xlabel="x")
    ax.set_title(f"{name} of 10, 50 and 90 %", loc="left", fontsize=11)
axes[0].legend(frameon=False, loc="upper left")
