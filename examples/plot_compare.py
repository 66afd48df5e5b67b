r"""
Which differences are a ranking?
================================

`mercer.selection.compare` fits all methods to the same splits and tests the differences of their scores with the
corrected resampled t test. Splits overlap, and a test that treats them as independent finds winners among equals. Two
methods whose interval contains zero are not ranked, however different their means look.

The data are ten measurements of 442 patients and the progression of their diabetes a year later.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV, LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVR, KernelRidgeCV
from mercer.selection import compare

INK, GREY, BLUE = "#222222", "#8a8a8a", "#1f6fb2"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

X, y = load_diabetes(return_X_y=True)
network = MLPRegressor(
    hidden_layer_sizes=(8, 8), solver="lbfgs", alpha=30.0, max_iter=3000, random_state=0
)
methods = {
    "kernel ridge": KernelRidgeCV(kernel="gaussian(lengthscale='median')"),
    "support vectors": SVR(C=50.0, epsilon=10.0, gamma=10.0),
    "least squares": LinearRegression(),
    "lasso": LassoCV(),
    "15 neighbours": KNeighborsRegressor(15),
    "two-layer network": TransformedTargetRegressor(
        make_pipeline(StandardScaler(), network), transformer=StandardScaler()
    ),
}

# %%
# Ten folds, repeated three times, the same for all methods.

found = compare(methods, X, y)
print(found)

# %%
# Left: the scores. Each dot is a split, and the splits differ far more than the methods. Right: the differences on the
# same splits with their 95 % intervals, each for its pair alone. Blue pairs are ranked after Holm's adjustment for
# fifteen comparisons; for the grey pairs neither method is shown to be better.

order = sorted(found.scores, key=lambda name: found.scores[name].mean())
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 4.6), layout="constrained", width_ratios=[1, 1.25]
)
for row, name in enumerate(order):
    values = found.scores[name]
    left.plot(
        values,
        np.full(len(values), row),
        ".",
        color=GREY,
        alpha=0.45,
        markersize=7,
        markeredgewidth=0,
    )
    left.plot(values.mean(), row, "o", color=INK, markersize=6)
    left.text(0.83, row, f"{values.mean():.3f}", va="center", ha="right", fontsize=9)
left.set(
    yticks=range(len(order)),
    yticklabels=order,
    xlabel="R² of 30 splits, and their mean",
    xlim=(0.15, 0.83),
)
left.tick_params(axis="y", length=0)
left.spines["left"].set_visible(False)

pairs = sorted(found.differences, key=lambda d: d.difference)
right.axvline(0, color=INK, linewidth=0.8)
for row, d in enumerate(pairs):
    colour = BLUE if d in found.ranked else GREY
    right.plot([d.low, d.high], [row, row], color=colour, linewidth=2.2, solid_capstyle="round")
    right.plot(d.difference, row, "o", color=colour, markersize=5)
right.set(yticks=range(len(pairs)), xlabel="difference of R²")
right.set_yticklabels([f"{d.first} − {d.second}" for d in pairs], fontsize=9)
right.tick_params(axis="y", length=0)
right.spines["left"].set_visible(False)
right.text(1, 0.1, "ranked", color=BLUE, fontweight="bold", ha="right", transform=right.transAxes)
right.text(
    1, 0.04, "not a ranking", color=GREY, fontweight="bold", ha="right", transform=right.transAxes
)

# %%
# Wilcoxon's test treats the thirty splits as thirty independent samples. Of the same pairs it would rank

sure = [d for d in found.differences if d.wilcoxon_pvalue < 0.05]
print(f"{len(sure)} of {len(pairs)}, instead of {len(found.ranked)}")
plt.show()
