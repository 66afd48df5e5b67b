r"""
Densities of contaminated samples
=================================

A kernel density estimate is a mean in the kernel's space, and outliers pull a mean. The robust estimate is an
M-estimate of the same mean,

.. math:: f = \arg\min_{g \in H} \sum_i \rho\bigl(\lVert k(\cdot, x_i) - g \rVert\bigr)
          = \sum_i w_i\, k(\cdot, x_i),

with Huber's or Hampel's function ρ instead of a square (Kim and Scott 2012). A sample far from all others is far from f
in the space, and gets less weight.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDensity, RobustKernelDensity

INK, BLUE, ORANGE, GREY, PALE = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a", "#e8f0f7"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)
grid = np.linspace(-10, 10, 1001)[:, None]
step = grid[1, 0] - grid[0, 0]
truth = np.exp(-(grid[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi)


def contaminated(seed, share, n=200):
    """A normal sample, with a fraction of points spread evenly over the line."""
    rng = np.random.default_rng(seed)
    bad = int(share * n)
    return np.concatenate([rng.normal(size=(n - bad, 1)), rng.uniform(-10, 10, size=(bad, 1))])


# %%
# **A fifth of the sample is noise.** The truth is shaded. All three estimates have the same bandwidth, chosen for the
# plain one by least-squares cross-validation. Right: the weights, in units of 1/n. Huber's decrease gently; Hampel's
# drop to zero outside the dense part, which also cuts off the tails of the truth.

x = contaminated(1, 0.2)
plain = KernelDensity(bandwidth="loo", criterion="least_squares").fit(x)
robust = {
    name: RobustKernelDensity(bandwidth=plain.bandwidth_, loss=name).fit(x)
    for name in ("huber", "hampel")
}
styles = {"plain": (GREY, 2.5), "huber": (BLUE, 2), "hampel": (ORANGE, 2)}
figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 3.6), layout="constrained", width_ratios=[1.3, 1]
)
left.fill_between(grid[:, 0], truth, color=PALE, linewidth=0)
for name, model in {"plain": plain, **robust}.items():
    colour, width = styles[name]
    left.plot(
        grid[:, 0], np.exp(model.score_samples(grid)), color=colour, linewidth=width, label=name
    )
    if name != "plain":
        order = np.argsort(x[:, 0])
        right.plot(
            x[order, 0], 200 * model.weights_[order], "o-", color=colour, markersize=2.5, lw=0.8
        )
left.plot(x[:, 0], np.full(len(x), -0.015), "|", color=INK, markersize=5, markeredgewidth=0.5)
left.set(xlim=(-8, 8), ylim=(-0.03, None), yticks=[])
left.spines["left"].set_visible(False)
left.legend(frameon=False, loc="upper right")
left.set_title(f"Densities, h = {plain.bandwidth_:.2f}", loc="left", fontsize=11)
right.axhline(1, color=GREY, linewidth=1, linestyle=(0, (4, 2)))
right.set(xlim=(-8, 8), ylim=(0, None))
right.set_title("Weights n·wᵢ", loc="left", fontsize=11)

# %%
# **Influence curves.** What does one more sample at x′ do to the density? The first-order change per unit of its mass
# is the influence curve, itself a function in the space; `influence` gives it in closed form for any x′. The plain
# estimate gets a bump at x′ of the same size wherever x′ lies. Huber's bump is smaller far away, and Hampel's is zero
# there. Right: the norm of the curve for every x′.

at = np.array([[0.5], [6.0]])
others = np.linspace(-8, 8, 321)[:, None]
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
mass = np.exp(plain.log_normalizer_)
for j, ax in enumerate(axes[:2]):
    bump = plain.kernel_(grid, at[j : j + 1])[:, 0] / mass - plain.function_(grid)
    ax.plot(grid[:, 0], bump, color=GREY, linewidth=2.5, label="plain")
    for name, model in robust.items():
        ax.plot(
            grid[:, 0],
            model.influence(at[j : j + 1])(grid)[:, 0],
            color=styles[name][0],
            label=name,
        )
    ax.axhline(0, color=GREY, linewidth=0.6)
    ax.axvline(at[j, 0], color=INK, linewidth=0.8, linestyle=(0, (4, 2)))
    ax.set(xlim=(-5, 9), ylim=(-0.75, 1.75))
    ax.set_title(f"Influence of x′ = {at[j, 0]:g}", loc="left", fontsize=11)
axes[0].legend(frameon=False, loc="upper right")
bumps = plain.kernel_(grid, others) / mass - plain.function_(grid)[:, None]
curves = {"plain": bumps, **{name: model.influence(others)(grid) for name, model in robust.items()}}
for name, values in curves.items():
    size = np.sqrt(np.sum(values**2, axis=0) * step)
    axes[2].plot(others[:, 0], size, color=styles[name][0], linewidth=styles[name][1])
axes[2].set(xlim=(-8, 8), ylim=(0, None), xlabel="x′")
axes[2].set_title("Size of the curve (L₂)", loc="left", fontsize=11)

# %%
# **Measured.** The plot shows the mean integrated squared error and its standard error over forty samples for each
# fraction of contamination, with the same bandwidth for all three. Huber's estimate is never worse. Hampel's, with the
# default constants, also drops the tails of a clean sample, and pays off only if much of the sample is noise.

shares = [0.0, 0.1, 0.2, 0.3]
errors = np.empty((len(shares), 40, 3))
for i, share in enumerate(shares):
    for seed in range(40):
        sample = contaminated(seed, share)
        first = KernelDensity(bandwidth="loo", criterion="least_squares").fit(sample)
        fits = [first] + [
            RobustKernelDensity(bandwidth=first.bandwidth_, loss=name, tol=1e-6).fit(sample)
            for name in ("huber", "hampel")
        ]
        densities = [np.exp(model.score_samples(grid)) for model in fits]
        errors[i, seed] = [np.sum((density - truth) ** 2) * step for density in densities]

figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for k, (name, (colour, width)) in enumerate(styles.items()):
    mean = errors[:, :, k].mean(axis=1)
    ax.errorbar(
        shares,
        mean,
        errors[:, :, k].std(axis=1) / np.sqrt(40),
        color=colour,
        linewidth=width,
        capsize=3,
    )
    ax.text(0.305, mean[-1], name, color=colour, va="center")
ax.set(xlim=(-0.01, 0.34), ylim=(0, None), xticks=shares, xlabel="fraction of noise")
ax.xaxis.set_major_formatter("{x:.0%}")
ax.set_title("Mean integrated squared error", loc="left", fontsize=11)
