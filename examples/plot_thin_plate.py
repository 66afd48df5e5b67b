r"""
A surface from scattered points
===============================

A thin metal plate that is bent to pass close to some heights takes the shape of least energy. The *thin-plate spline*
is that surface,

.. math:: \min_f \; \tfrac12 \sum_i \big( y_i - f(x_i) \big)^2
          + \tfrac{\alpha}{2} \int f_{uu}^2 + 2 f_{uv}^2 + f_{vv}^2,

and a kernel method: the energy is a squared norm, planes cost nothing, and the minimiser is a plane plus one radial
function :math:`r^2 \log r` for each point. The points may lie anywhere without a grid, and rotating the axes changes
nothing.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer import ThinPlateSpline

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})


def franke(u, v):
    """Two hills, a knoll and a hollow: the usual landscape for scattered data (Franke, 1979)."""
    u, v = 9 * u, 9 * v
    return (
        0.75 * np.exp(-((u - 2) ** 2 + (v - 2) ** 2) / 4)
        + 0.75 * np.exp(-((u + 1) ** 2) / 49 - (v + 1) / 10)
        + 0.5 * np.exp(-((u - 7) ** 2 + (v - 3) ** 2) / 4)
        - 0.2 * np.exp(-((u - 4) ** 2) - (v - 7) ** 2)
    )


rng = np.random.default_rng(3)
places = rng.uniform(size=(220, 2))
lake = np.hypot(places[:, 0] - 0.72, places[:, 1] - 0.72) < 0.17  # no measurements here
places = places[~lake]
heights = franke(*places.T) + 0.05 * rng.normal(size=len(places))

# %%
# **The surface.** Generalised cross-validation chooses the penalty. The posterior standard deviation shows how well the
# surface is known: it is small near the points, and grows in the empty circle and at the border.

model = ThinPlateSpline().fit(places, heights)
axis = np.linspace(0, 1, 121)
mesh = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
values, deviation = (z.reshape(121, 121) for z in model.predict(mesh, return_std=True))
truth = franke(*np.meshgrid(axis, axis))

figure, panels = plt.subplots(1, 3, figsize=(11.5, 4.6), sharey=True, layout="constrained")
levels = np.linspace(0, 1.3, 14)
for ax, z, title in (
    (panels[0], truth, "the landscape, and its samples"),
    (panels[1], values, f"the spline, {model.edf_:.0f} degrees of freedom"),
):
    shades = ax.contourf(axis, axis, z, levels, cmap="YlGnBu_r", extend="both")
    ax.contour(axis, axis, z, levels, colors="white", linewidths=0.5)
    ax.set_title(title, loc="left", fontsize=11)
dots = {"linestyle": "", "marker": "o", "markeredgecolor": INK, "markeredgewidth": 0.5}
panels[0].plot(*places.T, color="white", markersize=3.4, **dots)
haze = panels[2].contourf(
    axis, axis, deviation, np.linspace(0, 0.1, 11), cmap="Oranges", extend="max"
)
panels[2].plot(*places.T, color="white", markersize=3.4, **dots)
panels[2].set_title("posterior standard deviation", loc="left", fontsize=11)
bar = {"location": "bottom", "pad": 0.02, "aspect": 40, "drawedges": False}
figure.colorbar(shades, ax=panels[:2], shrink=0.6, ticks=np.arange(0, 1.3, 0.3), **bar)
figure.colorbar(haze, ax=panels[2:], ticks=[0, 0.05, 0.1], **{**bar, "aspect": 25})
for ax in panels:
    ax.set(aspect="equal", xlim=(0, 1), ylim=(0, 1), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
print(model.summary())

# %%
# **How stiff a plate?** One eigendecomposition serves every alpha. The criteria see only the noisy heights, yet they
# follow the true error: falling on the left, where the plate is too stiff, and rising on the right, where it fits the
# noise. Their minima are flat; 50 or 70 degrees of freedom make hardly any difference.

counts = np.linspace(4, 150, 60)
fits = [ThinPlateSpline(df=df).fit(places, heights) for df in counts]
error = [np.mean((fit.predict(places) - franke(*places.T)) ** 2) + 0.05**2 for fit in fits]
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), width_ratios=[1.5, 1], layout="constrained"
)
left.plot(
    counts, np.sqrt(error), color=INK, linewidth=1.3, linestyle=(0, (4, 2)), label="true error"
)
for name, label, colour in (("gcv", "GCV", ORANGE), ("loo", "leave-one-out", GREEN)):
    left.plot(
        counts,
        np.sqrt([fit.criteria_[name] for fit in fits]),
        color=colour,
        linewidth=2,
        label=label,
    )
    chosen = ThinPlateSpline(name).fit(places, heights)
    left.plot(chosen.edf_, np.sqrt(chosen.criteria_[name]), "o", color=colour, markersize=7)
left.set(
    xlabel="effective degrees of freedom",
    ylabel="root mean squared error",
    ylim=(0.048, 0.105),
    xlim=(0, 150),
)
left.legend(frameon=False, loc="upper center")
left.set_title("Criteria and what they estimate", loc="left", fontsize=11)

line = np.stack([axis, np.full(121, 0.33)], axis=1)
right.plot(axis, franke(*line.T), color=INK, linewidth=1.3, linestyle=(0, (4, 2)), label="truth")
for df, colour, style in ((8, GREEN, (0, (1, 1))), (140, ORANGE, "-")):
    stiff = ThinPlateSpline(df=df).fit(places, heights)
    right.plot(
        axis,
        stiff.predict(line),
        color=colour,
        linewidth=1.4,
        linestyle=style,
        label=f"{df} degrees",
    )
low, high = model.interval(line, 0.95)
right.fill_between(axis, low, high, color=BLUE, alpha=0.2, linewidth=0)
right.plot(
    axis,
    model.predict(line),
    color=BLUE,
    linewidth=2.2,
    label=f"chosen: {model.edf_:.0f}, and its 95 % band",
)
right.set(xlabel="u", xlim=(0, 1), xticks=[0, 0.5, 1])
right.legend(frameon=False, fontsize=9, loc="upper right")
right.set_title("A walk along v = 0.33", loc="left", fontsize=11)
plt.show()
