r"""
Probabilities of classes
========================

A support vector machine tells on which side of a boundary a point lies. Kernel logistic regression tells how likely
each class is. It fits one function for each of k classes, all together,

.. math:: \min_{f_1, \dots, f_k,\, c}\; \sum_i \Big(\log \sum_j e^{f_j(x_i) + c_j} - f_{y_i}(x_i) - c_{y_i}\Big)
          + \tfrac{\alpha}{2} \sum_j \|f_j\|_H^2, \qquad
          P(y = j \mid x) = \frac{e^{f_j(x) + c_j}}{\sum_l e^{f_l(x) + c_l}},

and its solution has a term for every sample. The import vector machine finds nearly the same probabilities with a
handful of samples.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from mercer import ImportVectorMachine, KernelLogisticRegression

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
COLOURS = (BLUE, ORANGE, GREEN)
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# The data are three overlapping clouds, two of them bent. The colour at each point mixes the class colours by their
# probabilities: pure where a class is nearly certain, and greyish where it is not. On the black lines two classes are
# equally likely; inside the dashed lines a class has 90 %. Far from all samples the kernel part fades and the class
# frequencies remain: the machine knows where it has seen no data.


def draw(n, rng):
    """n points of each of three classes: two crescents and a cloud."""
    angle = rng.uniform(0, np.pi, (2, n))
    first = np.stack([np.cos(angle[0]), np.sin(angle[0])], axis=1)
    second = np.stack([1 - np.cos(angle[1]), 0.4 - np.sin(angle[1])], axis=1)
    third = np.array([2.1, 1.1]) + 0.15 * rng.normal(size=(n, 2))
    points = np.concatenate([first, second, third]) + 0.22 * rng.normal(size=(3 * n, 2))
    return points, np.repeat(["north", "south", "east"], n)


X, y = draw(60, np.random.default_rng(0))
X_new, y_new = draw(2000, np.random.default_rng(1))
model = KernelLogisticRegression("gaussian(lengthscale=0.6)", alpha=0.2).fit(X, y)
classes = model.classes_.tolist()

span = np.array([[-1.9, 3.4], [-1.6, 2.3]])
a, b = np.meshgrid(np.linspace(*span[0], 260), np.linspace(*span[1], 200))
P = model.predict_proba(np.stack([a.ravel(), b.ravel()], axis=1)).reshape(*a.shape, 3)
mixed = P @ np.array([to_rgb(c) for c in COLOURS])

figure, ax = plt.subplots(figsize=(8.4, 5), layout="constrained")
ax.imshow(
    1 - 0.55 * (1 - mixed),
    origin="lower",
    extent=span.ravel(),
    aspect="equal",
    interpolation="bilinear",
)
for j, (name, colour) in enumerate(zip(classes, COLOURS, strict=True)):
    others = np.delete(P, j, axis=2).max(axis=2)
    ax.contour(a, b, P[..., j] - others, levels=[0], colors=INK, linewidths=1.2)
    ax.contour(a, b, P[..., j], levels=[0.9], colors=colour, linewidths=1, linestyles="dashed")
    mine = X[y == name]
    ax.plot(*mine.T, "o", color=colour, markersize=4, markeredgecolor="white", markeredgewidth=0.5)
for name, place in {"north": (-1.6, 1.55), "south": (0.55, -1.42), "east": (2.88, 1.2)}.items():
    ax.text(*place, name, color=COLOURS[classes.index(name)], fontsize=12, weight="bold")
ax.set(xticks=[], yticks=[])
for spine in ax.spines.values():
    spine.set_visible(False)
ax.set_title("Three classes: where each is likely, and how certainly", loc="left", fontsize=11)

# %%
# Are the probabilities calibrated? Among new points that get a class with probability near p, a fraction p should
# belong to that class. This machine is slightly underconfident: its penalty was not chosen for calibration.

p_new = model.predict_proba(X_new)
print(f"accuracy on new points {model.score(X_new, y_new):.3f}")
for low in np.arange(0, 1, 0.2):
    chosen = (p_new >= low) & (p_new < low + 0.2)
    share = (y_new[:, None] == model.classes_)[chosen].mean()
    print(f"at {p_new[chosen].mean():.2f}: {chosen.sum():5d} times, correct in {share:.2f} of them")

# %%
# **Few points are enough.** For two classes, `ImportVectorMachine` starts with none, adds in each round the sample
# whose section lowers the objective most, and stops when another point no longer pays off. Its objective falls quickly
# to that of the full machine, in which all samples have a coefficient.

two = y != "east"
settings = {"kernel": "gaussian(lengthscale=0.6)", "alpha": 0.2}
full = KernelLogisticRegression(**settings).fit(X[two], y[two])
path = ImportVectorMachine(**settings, epsilon=0.0, max_points=25).fit(X[two], y[two])
few = ImportVectorMachine(**settings).fit(X[two], y[two])
count = len(few.import_)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 4.2), width_ratios=[1, 1.25], layout="constrained"
)
left.plot(path.objective_path_, "o-", color=INK, markersize=3.5, linewidth=1.2)
left.axhline(full.solution_.objective, color=GREY, linewidth=1, linestyle=(0, (4, 2)))
left.annotate(
    f"all {two.sum()} samples",
    (25, full.solution_.objective),
    (0, -5),
    textcoords="offset points",
    color="#666666",
    ha="right",
    va="top",
)
left.plot(count, few.objective_path_[-1], "o", color=GREEN, markersize=8, zorder=4)
left.annotate(
    f"the rule stops at {count}",
    (count, few.objective_path_[-1]),
    (12, 24),
    textcoords="offset points",
    color=GREEN,
    arrowprops={"arrowstyle": "-", "color": GREEN, "shrinkB": 5},
)
left.set_title("Objective, after each point", loc="left", fontsize=11)
left.set(xlabel="import vectors", xlim=(-0.5, 25.5), ylim=(0, None))

a, b = np.meshgrid(np.linspace(-1.7, 2.7, 200), np.linspace(-1.4, 1.8, 160))
grid = np.stack([a.ravel(), b.ravel()], axis=1)
for machine, colour, width in ((full, GREY, 3.0), (few, INK, 1.1)):
    p = machine.predict_proba(grid)[:, 1].reshape(a.shape)
    right.contour(a, b, p, levels=[0.1, 0.5, 0.9], colors=colour, linewidths=width)
for name, colour in zip(few.classes_, COLOURS, strict=False):
    right.plot(
        *X[two][y[two] == name].T, "o", color=colour, markersize=3, alpha=0.45, markeredgewidth=0
    )
right.scatter(
    *few.import_vectors_.T, s=70, facecolors="none", edgecolors=GREEN, linewidths=1.6, zorder=4
)
right.set_title(
    "10, 50 and 90 %: all samples (grey), import vectors (black)", loc="left", fontsize=11
)
right.set(xticks=[], yticks=[], aspect="equal")
for spine in right.spines.values():
    spine.set_visible(False)

# %%
# The error of the sparse machine's probabilities, over the whole plot and on new points of the two classes:

difference = np.abs(full.predict_proba(grid) - few.predict_proba(grid)).max()
test = y_new != "east"
print(f"{count} of {two.sum()} samples; probabilities differ by at most {difference:.3f}")
print(
    f"accuracy {full.score(X_new[test], y_new[test]):.3f} with all, {few.score(X_new[test], y_new[test]):.3f} with few"
)
