r"""
Choosing alpha without refitting
================================

How strong should the penalty be? Leave each sample out in turn and see how well the others predict it. Kernel ridge
regression needs no refits for this: with the leverages :math:`h_{ii}(\alpha)`, the diagonal of the matrix that maps
:math:`y` to the fitted values,

.. math:: y_i - f^{(-i)}(x_i) = \frac{y_i - f(x_i)}{1 - h_{ii}(\alpha)}

holds exactly, and one eigendecomposition of the kernel matrix gives it for every :math:`\alpha`.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidgeCV
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

rng = np.random.default_rng(4)
X = np.sort(rng.uniform(0, 10, size=(80, 1)), axis=0)


def truth(x):
    """The true function: slow waves and one fast part."""
    return np.sin(x) + 0.8 * np.exp(-((x - 6) ** 2) * 4)


y = truth(X[:, 0]) + 0.25 * rng.normal(size=80)
grid = np.linspace(0, 10, 600)[:, None]
alphas = np.geomspace(1e-4, 1e3, 120)

# %%
# **The path.** 120 penalties cost hardly more than one. The training error always falls with a smaller penalty; the
# leave-one-out error has a minimum close to that of the true error, which is known in this simulation.

kernel = Gaussian(lengthscale=0.6)
model = KernelRidgeCV(alphas, kernel=kernel).fit(X, y)
fits = {a: KernelRidgeCV([a], kernel=kernel).fit(X, y) for a in alphas[::4]}
on_data = [np.mean((y - m.predict(X)) ** 2) for m in fits.values()]
true_error = [np.mean((truth(grid[:, 0]) - m.predict(grid)) ** 2) + 0.25**2 for m in fits.values()]

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), width_ratios=[1, 1.4], layout="constrained"
)
left.semilogx(alphas, -model.scores_[0], color=BLUE, linewidth=2, label="leave-one-out")
left.semilogx(
    alphas[::4], true_error, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), label="true"
)
left.semilogx(alphas[::4], on_data, color=GREY, linewidth=1.5, label="on the data")
left.plot(model.alpha_, -model.best_score_, "o", color=BLUE, markersize=7)
left.set(xlabel=r"$\alpha$", ylim=(0, 0.4))
left.legend(frameon=False)
left.set_title("Mean squared error", loc="left", fontsize=11)
right.plot(X[:, 0], y, ".", color=INK, markersize=5)
for a, colour in ((alphas[0], ORANGE), (model.alpha_, BLUE), (alphas[-20], GREEN)):
    fit = KernelRidgeCV([a], kernel=kernel).fit(X, y)
    right.plot(grid[:, 0], fit.predict(grid), color=colour, linewidth=1.8, label=f"α = {a:.2g}")
right.set(xlabel="x", ylim=(-2, 2.3))
right.legend(frameon=False, loc="lower left")
right.set_title("Too weak, chosen, too strong", loc="left", fontsize=11)

# %%
# **Alpha and the kernel together.** A list of kernels costs one eigendecomposition each. All three criteria without
# refits agree on the region; the marginal likelihood has the sharpest optimum.

lengths = np.geomspace(0.1, 5, 25)
kernels = [Gaussian(lengthscale=s) for s in lengths]
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True, layout="constrained")
criteria = {
    "leave-one-out": "loo",
    "generalised cross-validation": "gcv",
    "marginal likelihood": "marginal_likelihood",
}
for ax, (name, alpha) in zip(axes, criteria.items(), strict=True):
    search = KernelRidgeCV(alphas[::4], kernel=kernels, alpha=alpha).fit(X, y)
    S = search.scores_
    ax.contourf(
        alphas[::4], lengths, S, levels=np.quantile(S, np.linspace(0.3, 1, 14)), cmap="Blues"
    )
    ax.plot(search.alpha_, search.kernel_.lengthscale, "o", color=ORANGE, markersize=7)
    ax.set(xscale="log", yscale="log", xlabel=r"$\alpha$")
    ax.set_title(name, loc="left", fontsize=11)
axes[0].set_ylabel("lengthscale")

# %%
# **Uncertainty.** With :math:`\alpha` as the noise variance, the fit is the mean of a Gaussian process. Starting from
# the grid, its likelihood is maximised over :math:`\alpha`, the scale of the kernel and its lengthscale. The band is
# twice the standard deviation of the function, which is wide where there are no samples.

gap = (X[:, 0] < 3.2) | (X[:, 0] > 5)
process = KernelRidgeCV(
    alphas[::8], kernel=1.0 * kernel, alpha="marginal_likelihood", optimize=True
)
process.fit(X[gap], y[gap])
mean, std = process.predict(grid, return_std=True)
print(process.summary())

figure, ax = plt.subplots(figsize=(11, 3.8), layout="constrained")
ax.fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color=BLUE, alpha=0.18, linewidth=0)
ax.plot(
    grid[:, 0], truth(grid[:, 0]), color=INK, linewidth=1.2, linestyle=(0, (4, 2)), label="truth"
)
ax.plot(grid[:, 0], mean, color=BLUE, linewidth=2, label="fit")
ax.plot(X[gap, 0], y[gap], ".", color=INK, markersize=5)
ax.set(xlabel="x", xlim=(0, 10))
ax.legend(frameon=False, loc="lower left")
length = process.kernel_.kernel.lengthscale
ax.set_title(f"lengthscale {length:.2f}, noise {process.alpha_**0.5:.2f}", loc="left", fontsize=11)
