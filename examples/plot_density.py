r"""
Densities from any kernel
=========================

The mean of a sample in the kernel's space, divided by the kernel's integral, is a probability density:

.. math:: f(x) = \frac1n \sum_i \frac{k(x / h,\, x_i / h)}{\int k(x / h,\, y / h)\, dy}.

`mercer.KernelDensity` accepts scikit-learn's kernel names and every kernel with a known integral.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import KernelDensity
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREY, PALE = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a", "#e8f0f7"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **One sample, six kernels.** The bandwidth multiplies the kernel's lengthscale; here each kernel has the bandwidth
# with the largest leave-one-out likelihood. The choice of the kernel matters less than that of the bandwidth: smooth
# kernels give smooth densities, the tophat kernel a staircase, and the Cauchy kernel heavy tails like its own.

rng = np.random.default_rng(4)
x = np.concatenate([rng.normal(-2, 0.6, 60), rng.normal(1.5, 1.2, 90)])[:, None]
grid = np.linspace(-6, 7, 800)[:, None]


def normal(t, mean, scale):
    return np.exp(-(((t - mean) / scale) ** 2) / 2) / (scale * np.sqrt(2 * np.pi))


truth = 0.4 * normal(grid[:, 0], -2, 0.6) + 0.6 * normal(grid[:, 0], 1.5, 1.2)
names = ["gaussian", "matern(nu=0.8)", "epanechnikov", "tophat", "wendland", "cauchy"]
figure, axes = plt.subplots(
    2, 3, figsize=(10.5, 4.6), layout="constrained", sharex=True, sharey=True
)
for ax, name in zip(axes.ravel(), names, strict=True):
    model = KernelDensity(kernel=name, bandwidth="loo").fit(x)
    ax.fill_between(grid[:, 0], truth, color=PALE, linewidth=0)
    ax.plot(grid[:, 0], np.exp(model.score_samples(grid)), color=BLUE, linewidth=1.6)
    ax.plot(x[:, 0], np.full(len(x), -0.012), "|", color=INK, markersize=4, markeredgewidth=0.5)
    ax.set(yticks=[], xlim=(-6, 7), ylim=(-0.025, None))
    ax.spines["left"].set_visible(False)
    ax.set_title(f"{name}, h = {model.bandwidth_:.2f}", loc="left", fontsize=10)
axes[0, 0].text(2.9, 0.17, "the truth, shaded", color=GREY, fontsize=9)

# %%
# **How wide?** Leaving each sample out in turn needs no refit: its own term is removed from the sum. The likelihood
# :math:`\sum_i \log f_{-i}(x_i)` and the estimate :math:`2 \sum_i f_{-i}(x_i)/n - \int f^2` of the integrated squared
# error (up to a constant) come from one matrix of distances for all bandwidths; for the Gaussian kernel, as for every
# Matérn kernel, :math:`\int f^2` is known in closed form. The dashed line is the error itself, which needs the truth.

bandwidths = np.geomspace(0.06, 2.0, 60)
figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.2), layout="constrained", sharex=True)
step = grid[1, 0] - grid[0, 0]
errors = []
for h in bandwidths:
    density = np.exp(KernelDensity(bandwidth=h).fit(x).score_samples(grid))
    errors.append(np.sum((density - truth) ** 2) * step)
errors = np.array(errors)
for ax, criterion, title in (
    (axes[0], "likelihood", "Mean log-likelihood, left out"),
    (axes[1], "least_squares", "Estimated squared error"),
):
    model = KernelDensity(bandwidth="loo", bandwidths=bandwidths, criterion=criterion).fit(x)
    values = model.loo_scores_ if criterion == "likelihood" else -model.loo_scores_
    ax.plot(bandwidths, values, color=BLUE, linewidth=2)
    ax.axvline(model.bandwidth_, color=ORANGE, linewidth=1.2)
    low, high = ax.get_ylim()
    at = low + (0.1 if criterion == "likelihood" else 0.85) * (high - low)
    ax.text(model.bandwidth_ * 1.04, at, f"h = {model.bandwidth_:.2f}", color=ORANGE)
    ax.set(xscale="log", xlabel="bandwidth h")
    ax.set_xticks([0.1, 0.2, 0.5, 1, 2], ["0.1", "0.2", "0.5", "1", "2"])
    ax.minorticks_off()
    ax.set_title(title, loc="left", fontsize=11)
shift = -np.sum(truth**2) * step
axes[1].plot(bandwidths, errors + shift, color=INK, linewidth=1, linestyle=(0, (4, 2)))
axes[1].text(1.12, errors[-10] + shift - 0.004, "true error", fontsize=9)

# %%
# **A matrix as lengthscale.** The lengthscale may be one number per column, or a matrix Λ, which lets the kernel follow
# oblique data; the integral grows by :math:`\lvert\det\Lambda\rvert`. The numbers are mean log-likelihoods of held-out
# samples. Right: draws from the estimate. `sample` works for every kernel.

moons, _ = make_moons(300, noise=0.08, random_state=1)
shear = np.array([[1.0, 0.0], [0.9, 0.5]])
X = moons @ shear.T
root = np.linalg.cholesky(np.cov(X.T))
x0, x1 = np.meshgrid(np.linspace(-1.6, 2.7, 240), np.linspace(-1.5, 2.6, 200))
plane = np.column_stack([x0.ravel(), x1.ravel()])
figure, axes = plt.subplots(1, 3, figsize=(10.5, 4), layout="constrained", sharex=True, sharey=True)
models = {
    "one number": KernelDensity(bandwidth="loo").fit(X),
    "a matrix": KernelDensity(kernel=Gaussian(root), bandwidth="loo").fit(X),
}
top = max(np.exp(model.score_samples(plane)).max() for model in models.values())
for ax, (name, model) in zip(axes, models.items(), strict=False):
    density = np.exp(model.score_samples(plane)).reshape(x0.shape)
    ax.contourf(x0, x1, density, np.linspace(0.02, 1, 9) * top, cmap="Blues")
    ax.plot(*X.T, ".", color=INK, markersize=2)
    best = model.loo_scores_.max()
    ax.set_title(f"{name}: −{-best:.2f}", loc="left", fontsize=11)
axes[2].plot(*models["a matrix"].sample(300, random_state=0).T, ".", color=ORANGE, markersize=3)
axes[2].set_title("300 draws from it", loc="left", fontsize=11)
for ax in axes:
    ax.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.4, 2.4), ylim=(-1.3, 2.3))
    ax.spines[:].set_visible(False)
