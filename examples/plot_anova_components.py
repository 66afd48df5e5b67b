r"""
One curve for each variable
===========================

You cannot draw a function of several variables, but you can read a sum term by term. *Smoothing-spline analysis of
variance* splits the fitted function,

.. math:: f(x) = \mu + \sum_j f_j(x_j) + \sum_{j < k} f_{jk}(x_j, x_k),

into components of mean zero, which makes the parts unique, and gives each its own penalty. All penalties are chosen
together, and each component has its own confidence band.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from mercer import AnovaSpline

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

# %%
# **Main effects.** The data describe how a disease progressed in a year, given four measurements at its beginning. Dots
# are partial residuals: the observations minus all other components. The effect of blood pressure is almost linear, the
# effect of the body mass index grows steeper, the effect of the serum measurement s5 levels off at both ends, and age
# hardly matters. Bands widen where there are few samples.

data = load_diabetes(scaled=False, as_frame=True)
names = {"bmi": "body mass index", "bp": "blood pressure", "s5": "serum measure s5", "age": "age"}
X, progression = data.data[list(names)].to_numpy(), data.target.to_numpy()
model = AnovaSpline("reml").fit(X, progression)
residual = progression - model.predict(X)
effects = model.components(X)

figure, panels = plt.subplots(1, 4, figsize=(12, 3.6), sharey=True, layout="constrained")
for j, (ax, name) in enumerate(zip(panels, names.values(), strict=True)):
    line = np.tile(X.mean(axis=0), (200, 1))
    line[:, j] = np.linspace(X[:, j].min(), X[:, j].max(), 200)
    curves, deviations = model.components(line, return_std=True)
    curve, width = curves[(j,)], 1.96 * deviations[(j,)]
    ax.axhline(0, color=GREY, linewidth=0.7)
    ax.plot(X[:, j], effects[(j,)] + residual, ".", color=GREY, markersize=3, alpha=0.6)
    ax.fill_between(line[:, j], curve - width, curve + width, color=BLUE, alpha=0.25, linewidth=0)
    ax.plot(line[:, j], curve, color=BLUE, linewidth=2.2)
    ax.set(xlabel=name, ylim=(-150, 180))
panels[0].set_ylabel("effect on progression")
print(f"{model.edf_:.1f} degrees of freedom, R² = {model.score(X, progression):.2f}")

# %%
# **An interaction** is a component of two variables whose average over each of them is zero. Here the truth is known:
# two curves, and a saddle that neither of them can represent.

rng = np.random.default_rng(1)
U = rng.uniform(size=(300, 2))


def first(u):
    return np.sin(2 * np.pi * u)


def second(v):
    return 3 * ((v - 0.5) ** 2 - 1 / 12)


def both(u, v):
    return 3 * np.cos(np.pi * u) * (v - 0.5)


y = 1 + first(U[:, 0]) + second(U[:, 1]) + both(*U.T) + 0.3 * rng.normal(size=300)
model = AnovaSpline("reml", terms=[0, 1, (0, 1)]).fit(U, y)
axis = np.linspace(0, 1, 81)
curves, deviations = model.components(np.stack([axis, axis], axis=1), return_std=True)

figure, panels = plt.subplots(1, 4, figsize=(12.5, 3.5), layout="constrained")
for j, (ax, truth, name) in enumerate(zip(panels, (first, second), "uv", strict=False)):
    curve, width = curves[(j,)], 1.96 * deviations[(j,)]
    ax.axhline(0, color=GREY, linewidth=0.7)
    ax.fill_between(axis, curve - width, curve + width, color=BLUE, alpha=0.25, linewidth=0)
    ax.plot(axis, curve, color=BLUE, linewidth=2.2, label="estimate")
    ax.plot(axis, truth(axis), color=INK, linewidth=1.2, linestyle=(0, (4, 2)), label="truth")
    ax.set(xlabel=name, xlim=(0, 1), ylim=(-1.3, 1.3), xticks=[0, 0.5, 1], yticks=[-1, 0, 1])
    ax.set_box_aspect(1)
    ax.set_title(f"main effect of {name}", loc="left", fontsize=11)
panels[0].legend(frameon=False, fontsize=9)
mesh = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
estimate = model.components(mesh)[(0, 1)].reshape(81, 81)
levels = np.linspace(-1.6, 1.6, 17)
for ax, z, title in (
    (panels[2], estimate, "interaction, estimate"),
    (panels[3], both(*np.meshgrid(axis, axis)), "interaction, truth"),
):
    shades = ax.contourf(axis, axis, z, levels, cmap="RdBu_r", extend="both")
    ax.set(aspect="equal", xlabel="u", ylabel="v", xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
    ax.set_title(title, loc="left", fontsize=11)
figure.colorbar(shades, ax=panels[2:], ticks=[-1, 0, 1], shrink=0.8)
strength = {term: float(np.std(values)) for term, values in model.components(U).items()}
print("standard deviation of each component:", {t: round(s, 2) for t, s in strength.items()})
plt.show()
