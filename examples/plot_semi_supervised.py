r"""
Learning with few labels
========================

Labels are expensive, samples are cheap. If samples lie along curves or in clusters, a good function changes little
along them. A penalty can express this without any label: on a graph that connects nearby samples, with Laplacian
:math:`L`,

.. math:: \|f\|_{\tilde H}^2 = \|f\|_H^2 + \gamma\, f(X)^\top L\, f(X).

This is again the norm of a kernel's space, and `mercer.deformed` derives that kernel from any other. With it, every
method becomes semi-supervised.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from sklearn.datasets import load_digits, make_moons

import mercer
from mercer import SVC, SemiSupervised
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Two moons, one label each.** The plain machine knows two points and draws its boundary half way between them. The
# other also knows where the rest lies. Grey lines are the edges of the graph, from each sample to its six nearest
# neighbours.

X, y = make_moons(240, noise=0.07, random_state=1)
places = np.array([[0.7, 0.7], [1.8, -0.1]])
known = [np.argmin(np.linalg.norm(X - place, axis=1)) for place in places]
kernel = Gaussian(0.35)
machines = {
    "Two labels": SVC(kernel=kernel, C=100),
    "Two labels and 238 samples": SVC(kernel=mercer.deformed(kernel, X), C=100),
}
x0, x1 = np.meshgrid(np.linspace(-1.5, 2.5, 220), np.linspace(-1.05, 1.55, 150))
plane = np.column_stack([x0.ravel(), x1.ravel()])
gaps = np.linalg.norm(X[:, None] - X, axis=2)
near = np.argsort(gaps, axis=1)[:, 1:7]
edges = [X[[i, j]] for i in range(len(X)) for j in near[i]]

figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained")
for ax, (title, machine) in zip(axes, machines.items(), strict=True):
    machine.fit(X[known], y[known])
    values = machine.decision_function(plane).reshape(x0.shape)
    ax.contourf(x0, x1, values > 0, [-0.5, 0.5, 1.5], colors=["#dbe8f4", "#f6e0d3"])
    ax.contour(x0, x1, values, [0], colors=INK, linewidths=1)
    if machine is machines["Two labels and 238 samples"]:
        ax.add_collection(LineCollection(edges, colors=GREY, linewidths=0.5, alpha=0.6))
    colours = np.where(y == 0, BLUE, ORANGE)
    ax.scatter(*X.T, s=9, color=INK, alpha=0.45, linewidths=0)
    ax.scatter(*X[known].T, s=90, color=colours[known], edgecolor="white", linewidth=1.5, zorder=3)
    ax.set_title(f"{title}: {machine.score(X, y):.0%} right", loc="left", fontsize=11)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# **The weight of the graph.** The parameter `weight`, γ, sets how strongly functions follow the graph; 0 gives the
# plain kernel. The function of the machine, blue to red, spreads from each label along its moon.

figure, axes = plt.subplots(1, 3, figsize=(10.5, 2.7), layout="constrained")
for ax, weight in zip(axes, (1.0, 10.0, 100.0), strict=True):
    bent = mercer.deformed(kernel, X, weight=weight)
    machine = SVC(kernel=bent, C=1000).fit(X[known], y[known])
    values = machine.decision_function(plane).reshape(x0.shape)
    ax.contourf(x0, x1, values, np.linspace(-1.2, 1.2, 17), cmap="coolwarm", extend="both")
    ax.contour(x0, x1, values, [0], colors=INK, linewidths=1)
    ax.scatter(*X.T, s=4, color=INK, alpha=0.5, linewidths=0)
    ax.set_title(f"γ = {weight:g}", loc="left", fontsize=11)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# **Digits.** `SemiSupervised` wraps any estimator and takes samples and labels like scikit-learn's `semi_supervised`,
# with −1 for a missing label. `transduction_` contains labels for all samples. The plot shows means over five draws of
# the labelled samples.

data = load_digits()
images, digit = data.data[:600] / 16, data.target[:600]
counts = [1, 2, 3, 5, 10, 20]
svc = SVC(kernel="gaussian(lengthscale='median')", C=100)
plain, graph = (np.empty((5, len(counts))) for _ in range(2))
for seed in range(5):
    rng = np.random.default_rng(seed)
    order = [rng.permutation(np.flatnonzero(digit == c)) for c in range(10)]
    for j, count in enumerate(counts):
        labelled = np.concatenate([members[:count] for members in order])
        marked = np.full(600, -1)
        marked[labelled] = digit[labelled]
        rest = marked < 0
        plain[seed, j] = svc.fit(images[labelled], digit[labelled]).score(images[rest], digit[rest])
        model = SemiSupervised(svc).fit(images, marked)
        graph[seed, j] = np.mean(model.transduction_[rest] == digit[rest])

figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
for values, colour, name in (
    (plain, GREY, "labelled digits alone"),
    (graph, BLUE, "and all others"),
):
    ax.plot(counts, 100 * (1 - values.mean(axis=0)), "o-", color=colour, markersize=5)
    ax.annotate(
        name,
        (counts[0], 100 * (1 - values.mean(axis=0)[0])),
        xytext=(9, 4),
        textcoords="offset points",
        color=colour if colour != GREY else "#666666",
    )
ax.set(xscale="log", xticks=counts, ylim=(0, 40), xlabel="labels of each digit")
ax.set_xticklabels([str(c) for c in counts])
ax.xaxis.set_minor_locator(plt.NullLocator())
ax.set_title("Errors on the digits without a label (%)", loc="left", fontsize=11)
