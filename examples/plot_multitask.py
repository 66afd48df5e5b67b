r"""
Learning many tasks at once
===========================

Six people have one curve each, with few samples per curve. Separate fits have too little data; one fit to all finds
only what they have in common. `MultitaskKernelRidge` combines both: with the kernel

.. math:: K\big((x, s), (x', t)\big) = \bigl(\sigma + (1 - \sigma)\,[s = t]\bigr)\, k(x, x')

each curve is a common part plus an individual part, and the share :math:`\sigma` sets the size of the first.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import MultitaskKernelRidge, MultitaskSVC
from mercer.kernels import Gaussian

GREY, BLUE, RED = "#9a9a9a", "#3b6ea8", "#c0504d"
plt.rcParams.update(
    {"axes.edgecolor": GREY, "xtick.color": GREY, "ytick.color": GREY, "font.size": 10}
)

# %%
# **A share chosen by leave-one-out.** Leave-one-out errors have a closed form, which makes it cheap to try all shares
# and all penalties. The ends of the scale are separate fits and the pooled fit.

rng = np.random.default_rng(7)
kernel, n, people = Gaussian(1.0), 60, 6
grid = np.linspace(0, 10, 200)
x, who = rng.uniform(0, 10, n), np.arange(n) % people
where = np.concatenate([x, grid])[:, None]
root = np.linalg.cholesky(kernel(where) + 1e-9 * np.eye(len(where)))
common = root @ rng.normal(size=(len(where), 1))
curves = np.sqrt(0.8) * common + np.sqrt(0.2) * root @ rng.normal(size=(len(where), people))
y = curves[np.arange(n), who] + 0.2 * rng.normal(size=n)
X = np.stack([x, who], axis=1)

models = {
    name: MultitaskKernelRidge(kernel=kernel, task=1, coupling=coupling).fit(X, y)
    for name, coupling in {"separate": 0.0, "together": "auto", "pooled": 1.0}.items()
}
truth, points = curves[n:], [np.stack([grid, np.full(200, t)], axis=1) for t in range(people)]
found = {
    name: np.stack([model.predict(p) for p in points], axis=1) for name, model in models.items()
}
error = {name: np.mean((values - truth) ** 2) for name, values in found.items()}

figure, axes = plt.subplots(2, 3, figsize=(11, 5.2), layout="constrained", sharex=True, sharey=True)
for t, ax in enumerate(axes.flat):
    ax.plot(grid, truth[:, t], color=GREY, lw=4, alpha=0.5, label="the curve")
    ax.plot(grid, found["separate"][:, t], color=RED, lw=1.2, label="separate")
    ax.plot(grid, found["together"][:, t], color=BLUE, lw=1.8, label="together")
    ax.plot(x[who == t], y[who == t], "o", color="black", ms=4, label="samples")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(f"person {t + 1}", loc="left", fontsize=10)
handles, labels = axes[0, 0].get_legend_handles_labels()
figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
figure.suptitle(
    f"Mean squared error: separate {error['separate']:.2f}, pooled {error['pooled']:.2f}, "
    f"together {error['together']:.2f} (share {models['together'].share_:g})",
    x=0.01,
    ha="left",
    fontsize=11,
)

# %%
# **Labels.** Now only the signs of the same curves are known. ``MultitaskSVC`` is the support vector machine with the
# same kernel. Cross-validation chooses its share from little data: ten signs per person. Each row is a person, each dot
# a sample.

sign = np.where(curves[np.arange(n), who] > 0, 1, -1)
machines = {
    "separate": MultitaskSVC(C=10.0, kernel=kernel, task=1, coupling=0.0),
    "together": MultitaskSVC(C=10.0, kernel=kernel, task=1, random_state=0),
}
answers = {"the signs": np.sign(truth)} | {
    name: np.stack([machine.fit(X, sign).predict(p) for p in points], axis=1)
    for name, machine in machines.items()
}
figure, axes = plt.subplots(1, 3, figsize=(11, 2.9), layout="constrained", sharey=True)
for ax, (name, signs) in zip(axes, answers.items(), strict=True):
    extent = (0, 10, people + 0.5, 0.5)
    ax.imshow(
        signs.T, aspect="auto", extent=extent, cmap="RdBu", vmin=-2, vmax=2, interpolation="nearest"
    )
    for value, colour in ((-1, RED), (1, BLUE)):
        ax.plot(x[sign == value], who[sign == value] + 1, "o", color=colour, mec="white", ms=5)
    right = "" if name == "the signs" else f": {np.mean(signs == np.sign(truth)):.0%} right"
    share = f" (share {machines[name].share_:g})" if name == "together" else ""
    ax.set_title(f"{name}{right}{share}", loc="left", fontsize=10)
    ax.set(yticks=range(1, people + 1), xticks=[0, 5, 10])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
axes[0].set_ylabel("person")

# %%
# **A learned matrix.** A share treats all tasks as equally similar. The marginal likelihood finds more: which tasks are
# similar, which are opposite, and which are unrelated. Here three outputs follow one function, two its negative, and
# one neither.

loadings = np.array([1.0, 1.0, 1.0, -1.0, -1.0, 0.0])
x = np.sort(rng.uniform(0, 10, 60))
root = np.linalg.cholesky(kernel(x[:, None]) + 1e-9 * np.eye(60))
own = np.where(loadings == 0, 1.0, 0.3)
Y = root @ (rng.normal(size=(60, 1)) * loadings + own * rng.normal(size=(60, 6)))
Y += 0.2 * rng.normal(size=Y.shape)
model = MultitaskKernelRidge(kernel=kernel, coupling="learned").fit(x[:, None], Y)

B = model.task_matrix_
size = np.sqrt(np.diagonal(B))
true = np.outer(loadings, loadings) + np.diag(own**2)
root_true = np.sqrt(np.diagonal(true))
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", width_ratios=[1, 1, 1.2])
for ax, matrix, title in (
    (axes[0], true / np.outer(root_true, root_true), "true correlations"),
    (axes[1], B / np.outer(size, size), "learned from 60 samples"),
):
    image = ax.imshow(matrix, vmin=-1, vmax=1, cmap="RdBu")
    ax.set_title(title, loc="left", fontsize=10)
    ax.set(xticks=range(6), yticks=range(6), xticklabels=range(1, 7), yticklabels=range(1, 7))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
figure.colorbar(image, ax=axes[1], shrink=0.85, ticks=[-1, 0, 1]).outline.set_visible(False)
axes[2].plot(model.objective_history_, color=BLUE, lw=1.8)
axes[2].spines[["top", "right"]].set_visible(False)
axes[2].set_title("minus log-likelihood", loc="left", fontsize=10)
axes[2].set_xlabel("step")

# %%
# **No false coupling.** For unrelated functions the common part does not justify its parameters, and the learned matrix
# is diagonal.

Y = root @ rng.normal(size=(60, 6)) + 0.2 * rng.normal(size=(60, 6))
model = MultitaskKernelRidge(kernel=kernel, coupling="learned").fit(x[:, None], Y)
print(np.abs(model.task_matrix_ - np.diag(np.diagonal(model.task_matrix_))).max())
