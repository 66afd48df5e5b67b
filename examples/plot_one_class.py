r"""
One class, all quantiles
========================

The one-class machine finds the region where a sample lies: the set where a function of the kernel's space is large. It
has two forms. In the ν form at most a fraction ν of the samples lies outside,

.. math:: \min_{h,\, \rho}\; \tfrac12 \lVert h \rVert^2 - \nu n \rho + \sum_i \max\bigl(0,\; \rho - h(x_i)\bigr),

and the hinge form asks for :math:`f \ge 1` on the sample, with penalty C:

.. math:: \min_f\; \tfrac12 \lVert f \rVert^2 + C \sum_i \max\bigl(0,\; 1 - f(x_i)\bigr).

They are the same machine: :math:`f = h / \rho` and :math:`C = 1 / \rho`.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import OneClassSVM
from mercer.selection import one_class_path

INK, BLUE, ORANGE, GREY, PALE = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a", "#e8f0f7"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Two forms of one machine.** The data are eighty numbers around two centres. Left: the machine with ν = 0.3 and its
# threshold ρ. Right: the hinge form with the C that the first machine reports. Only the scale differs. Where the sample
# is dense, the function is a plateau within one per cent of the threshold, shaded; orange samples lie outside it.

rng = np.random.default_rng(3)
x = np.concatenate([rng.normal(-2.2, 0.6, 50), rng.normal(2, 0.8, 30)])[:, None]
grid = np.linspace(-5, 5, 800)[:, None]
nu_form = OneClassSVM(nu=0.3, gamma=2.0, tol=1e-8).fit(x)
hinge_form = OneClassSVM(C=nu_form.C_, gamma=2.0, tol=1e-8).fit(x)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained", sharex=True)
for ax, model, name, level in (
    (axes[0], nu_form, f"ν = {nu_form.nu}", f"ρ = {nu_form.offset_[0]:.2f}"),
    (axes[1], hinge_form, f"C = {hinge_form.C:.3f}, which is ν = {hinge_form.nu_:.3f}", "1"),
):
    values, threshold = model.score_samples(grid), model.offset_[0]
    plateau = values >= 0.99 * threshold
    ax.fill_between(grid[:, 0], 0, values, where=plateau, color=PALE, linewidth=0)
    ax.plot(grid[:, 0], values, color=BLUE, linewidth=2)
    ax.axhline(threshold, color=INK, linewidth=1, linestyle=(0, (4, 2)))
    ax.text(5, threshold, level, va="bottom", ha="right")
    inside = model.score_samples(x) >= 0.99 * threshold
    for mine, colour in ((inside, BLUE), (~inside, ORANGE)):
        ax.plot(
            x[mine, 0], np.full(mine.sum(), -0.05 * values.max()), "|", color=colour, markersize=9
        )
    ax.set(xlim=(-5, 5), yticks=[0], ylim=(-0.1 * values.max(), None))
    ax.set_title(name, loc="left", fontsize=11)

# %%
# **The exact path.** Written with the mean of the losses and a penalty :math:`\lambda \lVert f \rVert^2`, so that
# :math:`C = 1/(2 \lambda n)`, the coefficients :math:`\alpha_i = 2 \lambda n\, a_i \in [0, 1]` of
# :math:`f = \sum_i a_i k(\cdot, x_i)` are piecewise linear in λ: a coefficient is 1 while its sample is outside and 0
# while it is inside, and changes only while the sample is on the boundary (Lee and Scott 2007). ν is their mean, so
# they are piecewise linear in ν as well. `mercer.selection.one_class_path` goes from breakpoint to breakpoint, and a
# single pass gives every machine.
#
# Right: the coefficients of all samples, six of them marked. The coloured lines are the machines whose regions are on
# the left.

X, _ = make_moons(120, noise=0.13, random_state=2)
path = one_class_path(X, gamma=2.0)
nus = (0.5, 0.25, 0.1, 0.02)
shades = plt.colormaps["viridis"](np.linspace(0.88, 0.12, len(nus)))
x0, x1 = np.meshgrid(np.linspace(-1.8, 2.7, 260), np.linspace(-1.2, 1.7, 180))
plane = np.column_stack([x0.ravel(), x1.ravel()])

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 3.9), layout="constrained", width_ratios=[1.35, 1]
)
order = np.argsort(path.alpha.sum(axis=0))
right.plot(path.nu, path.alpha, color="#d4d4d4", linewidth=0.6)
for i, letter in zip(order[np.linspace(6, 113, 6).astype(int)], "abcdef", strict=True):
    right.plot(path.nu, path.alpha[:, i], color=INK, linewidth=1.2)
    right.text(path.nu[path.alpha[:, i] == 1].min(), 1.02, letter, ha="center")
    left.plot(*X[i], "o", markersize=9, markerfacecolor="none", markeredgecolor=INK)
    left.annotate(letter, X[i], (5, 4), textcoords="offset points")
for nu, shade in zip(nus, shades, strict=True):
    machine = path.at_nu(nu)
    values = machine.function(plane).reshape(x0.shape)
    left.contour(x0, x1, values, [1], colors=[shade], linewidths=2)
    right.axvline(nu, color=shade, linewidth=2)
left.plot(*X.T, ".", color=INK, markersize=4)
left.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.6, 2.5), ylim=(-1.0, 1.5))
left.spines[:].set_visible(False)
left.set_title("f = 1 for four ν", loc="left", fontsize=11)
right.set(xlim=(0, 1), ylim=(0, 1), xlabel="ν", yticks=[0, 0.5, 1], xticks=[*nus, 1])
right.xaxis.set_major_formatter("{x:g}")
right.set_title(f"α along ν: {len(path.nu)} breakpoints\n", loc="left", fontsize=11)

# %%
# **How unusual is a new point?** The values themselves say little, and on the sample they are optimistic: a support
# vector supports its own region. With ``calibration="cv"`` each fifth of the sample is scored by a machine fitted to
# the rest, and `p_values` gives the fraction of these held-out scores that are as low as that of x. Among new points
# from the same source, about a fraction t then has a p-value of at most t: the blue curve follows the diagonal. Points
# spread over the whole window gather at the left end.

model = OneClassSVM(nu=0.1, gamma=2.0, calibration="cv").fit(X)
same, _ = make_moons(2000, noise=0.13, random_state=5)
spread = rng.uniform((-1.8, -1.2), (2.7, 1.7), size=(2000, 2))
levels = [0, 0.01, 0.05, 0.2, 0.5, 1]

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 3.9), layout="constrained", width_ratios=[1.65, 1]
)
field = model.p_values(plane).reshape(x0.shape)
tints = ["#ffffff", "#e8f0f7", "#c6dcee", "#93bfe0", "#5b9bd0"]
regions = left.contourf(x0, x1, field, levels, colors=tints)
left.plot(*same[:300].T, ".", color=INK, markersize=3)
left.set(aspect="equal", xticks=[], yticks=[])
left.spines[:].set_visible(False)
left.set_title("p-values, and 300 new points", loc="left", fontsize=11)
bar = figure.colorbar(regions, ax=left, shrink=0.8, ticks=levels)
bar.outline.set_visible(False)
bar.ax.set_yticklabels([f"{level:g}" for level in levels])

t = np.linspace(0, 1, 400)
right.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 2)))
for points, colour, name, at in (
    (same, BLUE, "from the same source", (0.46, 0.36)),
    (spread, ORANGE, "spread over the window", (0.06, 0.65)),
):
    right.plot(t, (model.p_values(points)[:, None] <= t).mean(axis=0), color=colour, linewidth=2)
    right.text(*at, name, color=colour)
right.set(
    xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="t", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1]
)
right.set_title("Fraction with a p-value ≤ t", loc="left", fontsize=11)
