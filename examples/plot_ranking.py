r"""
Ranking along the data
======================

Which samples are similar to a given one? The nearest are one answer. Another follows the data: a query passes its score
to its neighbours, these to theirs, with a factor :math:`\alpha` per step,

.. math:: f = y + \alpha S y + (\alpha S)^2 y + \dots = (I - \alpha S)^{-1} y,

where :math:`S` contains the affinities of neighbours, divided by the square roots of their sums.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons

from mercer import ManifoldRanking

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Two moons.** Darker samples rank higher. By distance, half of the other moon comes before the far end of the query's
# own moon; along the data, the whole of its own moon comes first. A second query marked as unwanted (−1) lowers the
# scores near it.

X, moon = make_moons(300, noise=0.06, random_state=0)
query = int(np.argmin(X[:, 0]))
unwanted = int(np.flatnonzero(moon == 0)[np.argmax(X[moon == 0, 0])])
y = np.zeros(300)
y[query] = 1
along = ManifoldRanking().fit(X, y)
feedback = along.scores(y - np.eye(300)[unwanted])
distance = -np.linalg.norm(X - X[query], axis=1)

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.1), layout="constrained")
titles = "By distance", "Along the data", "With an unwanted sample"
for ax, scores, title in zip(axes, (distance, along.scores_, feedback), titles, strict=True):
    rank = np.argsort(np.argsort(-scores))
    ax.scatter(*X.T, c=rank, cmap="Blues_r", vmin=0, vmax=380, s=16, linewidths=0)
    ax.scatter(*X[query], s=130, marker="*", color=ORANGE, zorder=3)
    if title == titles[2]:
        ax.scatter(*X[unwanted], s=70, marker="X", color=INK, zorder=3)
    ax.set_title(title, loc="left", fontsize=11)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# **Digits.** Each of 150 digits searches for its own class among a thousand. Precision is the fraction of correct
# answers among the first k. The graph is built once; the queries are right-hand sides of one system, here solved
# together.

data = load_digits()
images, digit = data.data[:1000] / 16, data.target[:1000]
asked = np.arange(150)
model = ManifoldRanking().fit(images)
spread = model.scores(np.eye(1000)[:, asked])
near = -np.linalg.norm(images[:, None] - images[asked], axis=2)
depth = np.arange(1, 91)

figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
for scores, colour, name in ((near, GREY, "by distance"), (spread, BLUE, "along the data")):
    scores = scores.copy()
    scores[asked, np.arange(len(asked))] = -np.inf
    answers = np.argsort(-scores, axis=0)[:90]
    precision = np.mean(np.cumsum(digit[answers] == digit[asked], axis=0) / depth[:, None], axis=1)
    ax.plot(depth, precision, color=colour, linewidth=2)
    ax.text(91.5, precision[-1], name, color=colour if colour != GREY else "#666666", va="center")
    print(f"{name:>15}: mean precision of the first 90 answers {precision[-1]:.3f}")
ax.set(xlim=(1, 116), ylim=(0.5, 1.01), xlabel="answers", xticks=[1, 30, 60, 90])
ax.set_title("Precision", loc="left", fontsize=11)

# %%
# **New digits.** A query need not be one of the samples. Of 300 digits that the model has never seen, these three gain
# most. The plot shows their answers 41 to 50, by distance and along the data, with wrong ones in red.

new, kind = data.data[1000:1300] / 16, data.target[1000:1300]
by_distance = np.argsort(np.linalg.norm(images - new[:, None], axis=2), axis=1)[:, :50]
followed = model.retrieve(new, 50)
right = [np.sum(digit[found] == kind[:, None], axis=1) for found in (by_distance, followed)]
chosen = np.argsort(right[0] - right[1], kind="stable")[:3]

figure, axes = plt.subplots(
    3,
    23,
    figsize=(10.5, 1.9),
    layout="constrained",
    width_ratios=[1.3, 0.5, *[1] * 10, 0.5, *[1] * 10],
)
for row, i in zip(axes, chosen, strict=True):
    row[0].imshow(new[i].reshape(8, 8), cmap="Blues")
    for start, found in ((2, by_distance[i, 40:]), (13, followed[i, 40:])):
        for ax, j in zip(row[start : start + 10], found, strict=True):
            ax.imshow(images[j].reshape(8, 8), cmap="Greys" if digit[j] == kind[i] else "Reds")
for place, title in ((0, "query"), (2, "by distance"), (13, "along the data")):
    axes[0, place].set_title(title, loc="left", fontsize=10)
for ax in axes.flat:
    ax.set_axis_off()
