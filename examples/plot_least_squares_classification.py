r"""
Least-squares classification
============================

Ridge regression on labels ±1 is a classifier. Because :math:`y_i^2 = 1`, its errors are margin errors,

.. math:: \tfrac12 \sum_i \bigl(1 - y_i (f(x_i) + b)\bigr)^2 + \tfrac{\alpha}{2} \|f\|_H^2,

as in a support vector machine, but squared and two-sided: a point far on the correct side also pays. In return, the
solution is one linear system, and leave-one-out needs no refit.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC, KernelRidgeClassifierCV, LeastSquaresSVC
from mercer.plot import DecisionDisplay

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

X, y = make_moons(200, noise=0.25, random_state=3)
X_new, y_new = make_moons(20_000, noise=0.25, random_state=4)

# %%
# **Every parameter by leave-one-out.** `mercer.KernelRidgeClassifierCV` decomposes each kernel once, which gives the
# leave-one-out values of all samples for all alphas. The lines show the leave-one-out accuracy for five lengthscales;
# the ring marks the choice, which is then tested on 20,000 new points.

lengthscales = (0.1, 0.3, 0.6, 1.2, 4.0)
model = KernelRidgeClassifierCV(
    np.logspace(-4, 3, 36), kernel=[f"gaussian(lengthscale={s})" for s in lengthscales]
).fit(X, y)
shades = plt.get_cmap("viridis")(np.linspace(0.05, 0.85, len(lengthscales)))
figure, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
for lengthscale, scores, shade in zip(lengthscales, model.scores_, shades, strict=True):
    ax.semilogx(model.alphas, scores, color=shade, linewidth=2, label=f"ℓ = {lengthscale}")
ax.plot(model.alpha_, model.best_score_, "o", color=INK, markersize=10, fillstyle="none")
ax.set(xlabel="α", ylim=(0.78, 0.98), yticks=[0.8, 0.85, 0.9, 0.95])
ax.yaxis.set_major_formatter("{x:.0%}")
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title(
    f"Right when left out; the choice has {model.score(X_new, y_new):.1%} on new points",
    loc="left",
    fontsize=11,
)

# %%
# **Compared with a support vector machine** with the same kernel and C = 1. Both are equally good, but the function of
# the least-squares machine uses all samples, and that of the other only the ringed ones. Right: the magnitudes of the
# coefficients, in descending order.

machines = {
    "least squares": LeastSquaresSVC(model.kernel_, alpha=model.alpha_).fit(X, y),
    "support vectors": SVC(C=1.0, kernel=model.kernel_).fit(X, y),
}
colours = {"least squares": ORANGE, "support vectors": BLUE}
figure, axes = plt.subplots(1, 3, figsize=(11, 3.1), layout="constrained")
for ax, (name, machine) in zip(axes, machines.items(), strict=False):
    DecisionDisplay.from_estimator(machine, X, y, ax=ax, legend=False, margins=False)
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[], aspect="equal")
    ax.set_title(f"{name}: {machine.score(X_new, y_new):.1%}", loc="left", fontsize=11)
    sizes = np.zeros(len(X))
    coefficients = np.abs(np.ravel(machine.dual_coef_))
    sizes[: len(coefficients)] = np.sort(coefficients / coefficients.max())[::-1]
    axes[2].plot(np.arange(1, 201), sizes, color=colours[name], linewidth=2, label=name)
axes[2].set(xlabel="sample", xlim=(1, 200), ylim=(-0.02, 1.05), yticks=[0, 1], box_aspect=0.62)
axes[2].legend(frameon=False, loc="upper right")
axes[2].set_title("Coefficients, relative to the largest", loc="left", fontsize=11)

# %%
# **Training values are optimistic.** On the training data a flexible machine is right because it has seen the answer.
# The leave-one-out value at a sample tells more and costs nothing. Here the lengthscale is too short, and every
# training sample seems to be right.

flexible = LeastSquaresSVC("gaussian(lengthscale=0.08)", alpha=0.02).fit(X, y)
sign = 2 * y - 1
seen, unseen = sign * flexible.decision_function(X), sign * flexible.leave_one_out()
figure, ax = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
bins = np.linspace(-1.25, 2.25, 36)
ax.hist(seen, bins, color="#d4d4d4")
ax.hist(unseen, bins, histtype="step", color=BLUE, linewidth=1.8)
ax.axvline(0, color=INK, linewidth=1)
ax.text(1.12, 120, f"seen: {np.mean(seen < 0):.0%} wrong", color="#666666")
ax.text(-0.08, 24, f"left out: {np.mean(unseen < 0):.0%} wrong", color=BLUE, ha="right")
ax.set(xlabel="margin y f(x)", yticks=[])
ax.spines["left"].set_visible(False)
ax.set_title(
    f"Of new points {1 - flexible.score(X_new, y_new):.0%} are wrong", loc="left", fontsize=11
)
