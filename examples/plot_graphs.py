r"""
What a kernel sees of a graph
=============================

A graph kernel compares counts of labels, neighbourhoods, paths, walks or small subgraphs. Each count discards
information that no method can recover. The data are molecules of a made-up chemistry: branched chains, some of them
closed to a ring of four atoms and some to a ring of six. The task is to learn the type from the graph; the atoms
themselves are random and carry no information.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelFisher, KernelPCA
from mercer.domains import Graph
from mercer.kernels.graphs import (
    Graphlet,
    OptimalAssignment,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)
from mercer.selection import KernelSearchCV

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#3a8f4d", "#9a9a9a"
COLOURS = {"no ring": ORANGE, "ring of four": BLUE, "ring of six": GREEN}
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})


def molecule(kind, rng):
    """A chain of six atoms with branches, closed or not; atoms have three bonds at most."""
    edges = [(i, i + 1) for i in range(5)]
    if kind == "ring of four":
        edges.append((0, 3))
    elif kind == "ring of six":
        edges.append((0, 5))
    for new in range(6, rng.integers(10, 14)):
        degree = np.bincount(np.ravel(edges), minlength=new)
        edges.append((int(rng.choice(np.flatnonzero(degree[:new] < 3))), new))
    n = new + 1
    labels = rng.choice(["C", "N", "O"], n, p=[0.7, 0.15, 0.15])
    return Graph(n, edges, labels).relabelled(rng.permutation(n))


rng = np.random.default_rng(0)
kinds = np.repeat(list(COLOURS), 60)
graphs = [molecule(kind, rng) for kind in kinds]

# %%
# A kernel can also draw a graph in the plane: minus half the squared shortest-path lengths, centred, are approximately
# inner products of points at these distances. The first two components give starting positions, which are then moved
# until their distances fit best.


def positions(graph):
    """Two coordinates of each node, by classical scaling and majorisation of the stress."""
    steps = np.full((graph.n, graph.n), np.inf)
    np.fill_diagonal(steps, 0)
    steps[graph.adjacency.nonzero()] = 1
    for k in range(graph.n):
        steps = np.minimum(steps, steps[:, [k]] + steps[[k]])
    at = KernelPCA(2, kernel="precomputed").fit_transform(-(steps**2) / 2)
    at += 0.1 * np.random.default_rng(0).normal(size=at.shape)  # some nodes fell on one another
    for _ in range(300):
        apart = np.linalg.norm(at[:, None] - at, axis=2) + np.eye(graph.n)
        pull = -steps / apart
        np.fill_diagonal(pull, -pull.sum(axis=1))
        at = pull @ at / graph.n
    return at


figure, axes = plt.subplots(3, 5, figsize=(9, 5.6), layout="constrained")
for row, kind in zip(axes, COLOURS, strict=True):
    for ax, graph in zip(row, np.array(graphs, dtype=object)[kinds == kind], strict=False):
        at = positions(graph)
        for edge in graph.edges:
            ax.plot(*at[edge].T, color=COLOURS[kind], linewidth=1.5, zorder=1)
        ax.scatter(*at.T, s=130, color="white", zorder=2)
        for (x, y), label in zip(at, graph.labels, strict=True):
            ax.text(x, y, label, ha="center", va="center", fontsize=9, color=INK)
        ax.set_axis_off()
        ax.set_aspect("equal")
        ax.margins(0.12)
    row[0].set_title(kind, loc="left", fontsize=11, color=COLOURS[kind])

# %%
# Each kernel goes into a support vector machine, normalised to remove the effect of size, with and without the labels
# of the atoms. A list of graphs replaces the array of features; the features of each graph are cached, and no fold
# recomputes them. The labels of the atoms alone are no better than guessing, and they also spoil all other counts: a
# labelled neighbourhood hardly ever occurs twice. Subgraphs of four nodes contain the ring of four itself, and
# distinguish the other two types by the number of ends.
#
# The discriminants on the left were fitted on one half of the graphs and are shown for the other half.

bare = [Graph(g.n, g.edges) for g in graphs]
kernels = {
    "vertex histogram": VertexHistogram(),
    "optimal assignment": OptimalAssignment(3),
    "Weisfeiler–Lehman": WeisfeilerLehman(3),
    "shortest paths": ShortestPath(),
    "random walks": RandomWalk(0.08),
    "graphlets of four nodes": Graphlet(4),
}


def accuracy(kernel, X):
    """The accuracy over five folds, for the best of three C."""
    search = KernelSearchCV(SVC(kernel=kernel.normalized()), {"C": [1, 100, 10000]}, cv=5)
    return search.fit(X, kinds).best_score_


shares = {
    name: (accuracy(kernel, graphs), accuracy(kernel, bare)) for name, kernel in kernels.items()
}
for name, (labelled, plain) in shares.items():
    print(f"{name:>24}: {labelled:.2f} with labels, {plain:.2f} without")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
fisher = KernelFisher(WeisfeilerLehman(3).normalized(), alpha="loo").fit(bare[::2], kinds[::2])
Z = fisher.transform(bare[1::2])
for kind, colour in COLOURS.items():
    left.scatter(*Z[kinds[1::2] == kind].T, s=22, color=colour, alpha=0.8, linewidths=0, label=kind)
left.legend(frameon=False, labelcolor="linecolor", handletextpad=0.1, loc="best")
left.set(xticks=[], yticks=[], xlabel="first discriminant", ylabel="second")
left.set_title("New graphs, Weisfeiler–Lehman without labels", loc="left", fontsize=11)
for row, (labelled, plain) in enumerate(shares.values()):
    right.plot([labelled, plain], [row, row], color=GREY, linewidth=1.5, zorder=1)
    right.scatter(labelled, row, s=50, color="white", edgecolors=BLUE, linewidths=1.8, zorder=2)
    right.scatter(plain, row, s=50, color=BLUE, zorder=3)
right.axvline(1 / 3, color=GREY, linewidth=1, linestyle=":")
right.set(yticks=range(len(shares)), yticklabels=shares, xlim=(0.25, 1.03), ylim=(-0.6, 5.6))
right.tick_params(axis="y", length=0)
right.spines["left"].set_visible(False)
right.set_xlabel("accuracy; dotted: guessing")
right.set_title("With labels (open) and without (full)", loc="left", fontsize=11)
