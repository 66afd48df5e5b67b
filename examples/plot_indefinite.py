r"""
Indefinite kernels
==================

Many useful similarities are not inner products: the edit distance between words, the sigmoid of old neural networks,
truncated distances. Their matrices have negative eigenvalues, and

.. math:: K = U \Lambda U^\top, \qquad \lambda_1 \ge \dots \ge \lambda_m \ge 0 > \lambda_{m+1} \ge \dots

gives some vectors a negative squared length. There are three remedies: correct the spectrum, learn in the Kreĭn space
of the kernel, or accept a stationary point of the machine.
"""

# sphinx_gallery_thumbnail_number = 2
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC, IndefiniteKernelWarning, KernelRidge, KreinRidge, KreinSVC
from mercer.kernels import INDEFINITE, Callable, Clipped, Flipped, Gaussian, Shifted, Squared
from mercer.kernels.strings import Levenshtein

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})
warnings.simplefilter("ignore", IndefiniteKernelWarning)  # the topic of this page

# %%
# **The spectrum.** The similarity of two points decreases with their :math:`\ell_1` distance and is zero beyond 2:
# :math:`k(x, y) = \max(0, 2 - \|x - y\|_1)`. Below are the eigenvalues of k on 160 points in descending order, and the
# effect of each correction.


def truncated(A, B):
    """max(0, 2 − ‖x − y‖₁)."""
    return np.maximum(0.0, 2.0 - np.abs(A[:, None] - B[None]).sum(axis=2))


X, y = make_moons(160, noise=0.25, random_state=0)
X_test, y_test = make_moons(2000, noise=0.25, random_state=1)
kernel = Callable(truncated, INDEFINITE, pairwise=False)
corrections = {
    "k itself": kernel,
    "Clipped": Clipped(kernel, X),
    "Flipped": Flipped(kernel, X),
    "Shifted": Shifted(kernel, X),
    "Squared": Squared(kernel, X),
}
values, vectors = np.linalg.eigh(kernel(X))
values, vectors = values[::-1], vectors[:, ::-1]
figure, axes = plt.subplots(1, 5, figsize=(10, 2.6), layout="constrained")
for ax, (name, k) in zip(axes, corrections.items(), strict=True):
    bars = np.einsum("ij,ij->j", vectors, k(X) @ vectors)
    ax.bar(np.arange(len(bars)), bars, color=np.where(values > 0, BLUE, ORANGE), width=1.0)
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.set_yscale("symlog", linthresh=1.0)
    ax.set(xticks=[], yticks=[-1, 0, 1, 10, 100] if name != "Squared" else [0, 1, 100, 10_000])
    ax.set_yticklabels([f"{tick:,}" for tick in ax.get_yticks()])
    ax.set_ylim(-4, 200 if name != "Squared" else 20_000)
    ax.minorticks_off()
    ax.set_title(name, loc="left", fontsize=11)
    ax.spines["bottom"].set_visible(False)
axes[0].text(128, -0.7, "negative", color=ORANGE, ha="right", va="center")
negative = -values[values < 0].sum() / np.abs(values).sum()
print(f"{np.sum(values < 0)} of 160 eigenvalues are negative, with {negative:.0%} of the weight.")

# %%
# **Machines.** `SVC` accepts the kernel as it is, with a warning: it finds a stationary point, of which there may be
# many. A corrected kernel has a single optimum, and is also defined for new points. `KreinSVC` is the machine with the
# flipped spectrum, expressed in k itself. Only a small part of the spectrum is negative, but it matters.

machines = {
    "SVC, k itself": SVC(kernel=kernel),
    "SVC, Clipped": SVC(kernel=Clipped(kernel)),
    "KreinSVC": KreinSVC(kernel),
    "SVC, Shifted": SVC(kernel=Shifted(kernel)),
    "SVC, Squared": SVC(kernel=Squared(kernel), C=0.01),
    "SVC, Gaussian kernel": SVC(),
}
low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
u, v = np.meshgrid(np.linspace(low[0], high[0], 120), np.linspace(low[1], high[1], 90))
mesh = np.column_stack([u.ravel(), v.ravel()])
figure, axes = plt.subplots(2, 3, figsize=(10, 5.4), layout="constrained")
for ax, (name, model) in zip(axes.flat, machines.items(), strict=True):
    f = model.fit(X, y).decision_function(mesh).reshape(u.shape)
    reach = np.abs(f).max()
    ax.contourf(u, v, f, levels=np.linspace(-reach, reach, 21), cmap="RdBu_r", alpha=0.35)
    ax.contour(u, v, f, levels=[0], colors=INK, linewidths=1.6)
    for label, colour, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
        ax.plot(*X[y == label].T, marker, color=colour, markersize=3.5, markeredgewidth=0)
    ax.set_title(f"{name}: {1 - model.score(X_test, y_test):.1%} wrong", loc="left", fontsize=11)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# **Regression.** `KreinRidge` solves :math:`(K + \alpha I)a = y`, the condition of a stationary point. There is none if
# −α is an eigenvalue, and near such an α the direction of that eigenvalue dominates. The leave-one-out errors, known in
# closed form, therefore have poles: at the eigenvalues of the matrices without one sample, which lie between those of
# K. Ridge regression with the flipped kernel is a minimisation and has no poles. The kernel is the difference of a
# narrow and a wide Gaussian.

t = np.sort(np.random.default_rng(3).uniform(0, 6, 60))[:, None]
target = np.sin(2 * t[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=60)
bells = Gaussian(0.5) + -0.6 * Gaussian(2.0)
alphas = np.logspace(-2.5, 1.5, 500)
models = {
    "KreinRidge": (ORANGE, lambda alpha: KreinRidge(bells, alpha=alpha)),
    "KernelRidge, Flipped": (BLUE, lambda alpha: KernelRidge(alpha, kernel=Flipped(bells, t))),
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
poles = -np.linalg.eigvalsh(bells(t))
poles = poles[(poles > alphas[0]) & (poles < alphas[-1])]
for pole in poles:
    axes[0].axvline(pole, color=GREY, linewidth=0.8, zorder=0)
grid = np.linspace(0, 6, 300)[:, None]
axes[1].plot(t[:, 0], target, "o", color=GREY, markersize=3.5)
for row, (name, (colour, make)) in enumerate(models.items()):
    fits = [make(alpha).fit(t, target) for alpha in alphas]
    loss = [np.mean((model.leave_one_out() - target) ** 2) for model in fits]
    axes[0].loglog(alphas, loss, color=colour, linewidth=1.6)
    best = fits[int(np.argmin(loss))]
    axes[1].plot(grid[:, 0], best.predict(grid), color=colour, linewidth=1.8)
    label = f"{name}, α = {best.alpha:.2g}"
    axes[1].text(0.03, 0.03 + 0.09 * row, label, color=colour, transform=axes[1].transAxes)
axes[0].set(xlabel="α", ylim=(0.05, 10))
axes[0].set_title(
    "squared error, each left out once; grey: −α is an eigenvalue", loc="left", fontsize=11
)
axes[1].set_title("with the best α of each", loc="left", fontsize=11)
axes[1].set(xlabel="t", ylim=(-2, 1.7))

# %%
# **Any data.** The negative edit distance compares words. The machine learns from the words themselves to which of two
# languages a word belongs.

english = [
    "water",
    "mother",
    "brother",
    "house",
    "winter",
    "summer",
    "friend",
    "night",
    "bread",
    "stone",
]
italian = [
    "acqua",
    "madre",
    "fratello",
    "casa",
    "inverno",
    "estate",
    "amico",
    "notte",
    "pane",
    "pietra",
]
words, language = english + italian, ["English"] * 10 + ["Italian"] * 10
model = KreinSVC(Levenshtein(), C=0.1).fit(words, language)
print(model.inertia_)
new = ["sister", "bright", "thunder", "sorella", "brillante", "montagna"]
print(dict(zip(new, model.predict(new).tolist(), strict=True)))
