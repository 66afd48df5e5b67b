r"""
Dependence without correlation
==============================

Two measurements are independent if no function of one is correlated with any function of the other. The Hilbert–Schmidt
independence criterion is the squared norm of the covariance of all features at once. Permuting the pairs gives its null
distribution.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer.inference import conditional_independence_test, hsic_test

INK, BLUE, ORANGE, GREY, PALE = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a", "#d9e7f3"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Four samples of 200 pairs, all nearly uncorrelated.** The background is the witness of the test, a function of
# pairs: orange where pairs are more frequent than under independence, violet where they are less frequent. Only the
# last sample is independent.

rng = np.random.default_rng(1)
n = 200
angle, noise = rng.uniform(0, 2 * np.pi, n), rng.normal(size=(2, n))
u = rng.uniform(-1, 1, n)
samples = {
    "circle": (np.cos(angle) + 0.12 * noise[0], np.sin(angle) + 0.12 * noise[1]),
    "parabola": (u, u**2 + 0.12 * noise[0]),
    "fast sine": (u, np.sin(4 * np.pi * u) + 0.3 * noise[0]),
    "independent": (u, noise[0]),
}
figure, axes = plt.subplots(1, 4, figsize=(11, 3.3), layout="constrained")
for ax, (name, (x, y)) in zip(axes, samples.items(), strict=True):
    test = hsic_test(x[:, None], y[:, None], random_state=0)
    gx, gy = np.meshgrid(*(np.linspace(v.min() - 0.2, v.max() + 0.2, 70) for v in (x, y)))
    f = test.witness((gx.reshape(-1, 1), gy.reshape(-1, 1))).reshape(gx.shape)
    top = np.abs(f).max() * 1.4
    ax.contourf(gx, gy, f, np.linspace(-top, top, 16), cmap="PuOr_r", alpha=0.75)
    ax.plot(x, y, ".", color=INK, markersize=2.5)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(
        f"{name}\ncorrelation {np.corrcoef(x, y)[0, 1]:.2f}, p = {test.p_value:.3f}",
        loc="left",
        fontsize=10,
    )

# %%
# **Where the null distribution comes from.** Permutations are exact at every sample size. The gamma distribution
# matches their mean and variance in closed form, and the spectrum gives the limit for many samples. Neither needs
# permutations.

x, y = (v[:40, None] for v in samples["independent"])
kernel = "gaussian(lengthscale='median')"
figure, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for null, colour in (("permutation", GREY), ("gamma", ORANGE), ("spectrum", BLUE)):
    test = hsic_test(
        x, y, kernel=kernel, statistic="biased", null=null, n_draws=4999, random_state=0
    )
    if null == "permutation":
        values, edges, _ = ax.hist(1e3 * test.null, 40, density=True, color=PALE)
        ax.text(edges[11], values.max() * 0.95, "permutations of 40 pairs", color=GREY)
    else:
        height, edges = np.histogram(1e3 * test.null, edges, density=True)
        ax.plot((edges[1:] + edges[:-1]) / 2, height, color=colour, linewidth=1.8)
        ax.text(edges[11], values.max() * (0.83 if null == "gamma" else 0.71), null, color=colour)
ax.set(yticks=[], xlabel="HSIC · 1000", ylim=(0, None))
ax.spines["left"].set_visible(False)

# %%
# **What a third variable explains.** Ice and drownings depend on each other through the weather: given the temperature
# they are independent. The test on the residuals of a regression on temperature confirms this, and with a direct link
# it rejects.

temperature = rng.normal(size=(300, 1))
ice = np.tanh(temperature) + 0.3 * rng.normal(size=(300, 1))
drownings = temperature**2 / 3 + temperature + 0.5 * rng.normal(size=(300, 1))
linked = drownings + 0.5 * ice
for name, y in (("through the weather", drownings), ("with a direct link", linked)):
    alone = hsic_test(ice, y, random_state=0).p_value
    given = conditional_independence_test(ice, y, temperature, random_state=0).p_value
    print(f"{name}: p = {alone:.3f} alone, {given:.3f} given the temperature")
