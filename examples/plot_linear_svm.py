r"""
Weights as pictures
===================

A linear machine has one weight per feature and handles any number of samples, because it is solved for the weights,
without a kernel matrix,

.. math:: \min_{w,\, b}\; \tfrac12 \|w\|^2 + C \sum_i \max\bigl(0,\; 1 - y_i (w^\top x_i + b)\bigr)^2 .

If the features are pixels, the weights show what the machine looks for.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from mercer import SVC, KernelFeatureAnalysis, LinearSVC, LinearSVR

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **A three or an eight?** Orange pixels speak for the eight, violet ones against it: ink on the left turns a three into
# an eight. With ``penalty="l1"`` most weights are exactly zero, and a few pixels decide.

images, labels = load_digits(return_X_y=True)
mine = np.isin(labels, (3, 8))
X, y = images[mine] / 16, labels[mine]
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
machines = {
    "squares of the weights": LinearSVC(C=0.1).fit(X_fit, y_fit),
    "absolute values": LinearSVC(C=0.1, penalty="l1").fit(X_fit, y_fit),
}
figure, axes = plt.subplots(1, 4, figsize=(10.5, 3), layout="constrained")
for ax, digit in zip(axes, (3, 8), strict=False):
    ax.imshow(X[y == digit].mean(axis=0).reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
    ax.set_title(f"the mean {digit}", loc="left", fontsize=10)
for ax, (name, machine) in zip(axes[2:], machines.items(), strict=True):
    weights = machine.coef_.reshape(8, 8)
    reach = np.abs(weights).max()
    ax.imshow(weights, cmap="PuOr_r", vmin=-reach, vmax=reach)
    ax.set_title(name, loc="left", fontsize=10)
    right = f"{np.sum(weights != 0)} weights, {machine.score(X_test, y_test):.1%} right"
    ax.set_xlabel(right, loc="left")
for ax in axes:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# **A robust line.** ``LinearSVR`` penalises errors beyond ε linearly, least squares quadratically. A tenth of these
# five hundred values are wrong, all of them on the right and too low.

rng = np.random.default_rng(0)
x = rng.uniform(0, 10, 500)
values = 0.8 * x + 1 + 0.5 * rng.normal(size=500)
late = (x > 5) & (rng.random(500) < 0.2)
values[late] -= 8
ends = np.array([[0.0], [10.0]])
lines = {
    "least squares": (GREY, LinearRegression()),
    "support vectors": (BLUE, LinearSVR(C=10.0, epsilon=0.5, intercept_scaling=np.inf)),
}
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(x, values, ".", color="#b5b5b5", markersize=4)
ax.plot(ends, 0.8 * ends + 1, color=INK, linewidth=1, linestyle=(0, (4, 2)), label="the truth")
for name, (colour, line) in lines.items():
    line.fit(x[:, None], values)
    ax.plot(ends, line.predict(ends), color=colour, linewidth=2, label=name)
ax.set(xlabel="x", xlim=(0, 10))
ax.legend(frameon=False, loc="upper left")

# %%
# **Curved boundaries from few features.** On kernel features a linear machine draws curves. The features come from
# `mercer.KernelFeatureAnalysis`, each of which adds one sample; the dashed line is the machine with the kernel itself,
# on all samples.

X, y = make_moons(600, noise=0.2, random_state=0)
X_new, y_new = make_moons(5000, noise=0.2, random_state=1)
kernel = "gaussian(lengthscale=0.5)"
exact = SVC(kernel=kernel).fit(X, y).score(X_new, y_new)
counts = [1, 2, 3, 5, 8, 12, 20, 30, 50]
scores = [
    make_pipeline(KernelFeatureAnalysis(count, kernel=kernel), LinearSVC())
    .fit(X, y)
    .score(X_new, y_new)
    for count in counts
]
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.axhline(exact, color=GREY, linewidth=1.2, linestyle=(0, (4, 2)))
ax.text(1, exact + 0.004, "SVC with the kernel", color="#666666", va="bottom")
ax.semilogx(counts, scores, "o-", color=BLUE, linewidth=2, markersize=5)
ax.set_xticks(counts, [str(count) for count in counts])
ax.minorticks_off()
ax.set(xlabel="features", ylim=(None, 1.0))
ax.set_title("Accuracy on new points", loc="left", fontsize=11)
