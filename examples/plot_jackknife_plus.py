r"""
Three prediction bands and their guarantees
===========================================

A band of level 0.9 should contain nine of ten new values. Three methods make different assumptions:

- the **Gaussian process** behind ridge regression, ``predict(X, return_std=True)``: correct if its model is, with one
  noise variance everywhere;
- **jackknife+** (`mercer.inference.JackknifePlus`): proven coverage of :math:`1 - 2\alpha` for any distribution, on
  average over x;
- **quantile regression** (`mercer.KernelQuantileRegression`): fits the ends of the band, whose width can therefore
  vary. Nothing is proven.

The noise of these data grows tenfold from left to right. All coverages are measured on 40 000 new samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegression, KernelRidgeCV
from mercer.inference import JackknifePlus

INK, GREY, BLUE, ORANGE, GREEN = "#222222", "#8a8a8a", "#1f6fb2", "#d1601f", "#2b8a57"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)


def draw(n, rng):
    x = rng.uniform(0, 6, n)
    return x[:, None], np.sin(x) + noise(x) * rng.normal(size=n)


def noise(x):
    return 0.07 + 0.63 * x / 6


X, y = draw(200, np.random.default_rng(4))
X_new, y_new = draw(40_000, np.random.default_rng(5))
grid = np.linspace(0, 6, 300)[:, None]

# %%
# Ridge regression chooses its lengthscale, scale and noise by the marginal likelihood. The Gaussian process adds the
# noise variance to that of the function; jackknife+ needs no model, and here no refits either.

ridge = KernelRidgeCV(
    kernel="1.0*gaussian(lengthscale=1.0)", alpha="marginal_likelihood", optimize=True
).fit(X, y)
jackknife = JackknifePlus(ridge, level=0.9).fit(X, y)
quantiles = KernelQuantileRegression(
    "gaussian(lengthscale=2.0)", quantiles=[0.05, 0.95], alpha=0.3
).fit(X, y)


def process_band(points):
    values, std = ridge.predict(points, return_std=True)
    reach = 1.645 * np.sqrt(std**2 + ridge.alpha_)
    return values - reach, values + reach


bands = {
    "Gaussian process": (GREEN, process_band),
    "jackknife+": (BLUE, jackknife.interval),
    "quantile regression": (ORANGE, lambda points: quantiles.predict(points).T),
}

# %%
# The dotted curves are the true quantiles. The first two bands have nearly constant width; the third follows the noise.

inside, width = {}, {}
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.6), layout="constrained", sharey=True)
for ax, (name, (colour, band)) in zip(axes, bands.items(), strict=True):
    low, high = band(X_new)
    inside[name], width[name] = (low <= y_new) & (y_new <= high), np.mean(high - low)
    ax.plot(X[:, 0], y, ".", color=INK, markersize=3.5, alpha=0.7)
    ax.fill_between(grid[:, 0], *band(grid), color=colour, alpha=0.22, linewidth=0)
    for sign in (-1, 1):
        truth = np.sin(grid[:, 0]) + sign * 1.645 * noise(grid[:, 0])
        ax.plot(grid[:, 0], truth, color=INK, linewidth=1, linestyle=(0, (1, 2)))
    ax.set_title(name, loc="left", fontsize=11, color=colour, fontweight="bold")
    ax.text(
        0.03,
        0.03,
        f"{inside[name].mean():.1%} inside, mean width {width[name]:.2f}",
        transform=ax.transAxes,
    )
    ax.set(xlabel="x", xlim=(0, 6), ylim=(-3.3, 2.6))
axes[0].set_ylabel("y")

# %%
# On average all three have about the requested coverage. At a given x they do not: a band of constant width contains
# nearly everything where the noise is small, and too little where it is large. The guarantee of jackknife+ holds on
# average over x and does not exclude this. The quantiles err less, but without any guarantee.

cells = np.linspace(0, 6, 25)
place = np.digitize(X_new[:, 0], cells) - 1
figure, ax = plt.subplots(figsize=(8.5, 3.4), layout="constrained")
ax.axhline(0.9, color=GREY, linewidth=1)
ax.axhline(0.8, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
for name, (colour, _) in bands.items():
    share = np.array([inside[name][place == c].mean() for c in range(24)])
    ax.plot((cells[:-1] + cells[1:]) / 2, share, color=colour, linewidth=2, label=name)
ax.text(5.96, 0.905, "requested", color=GREY, fontsize=9, ha="right")
ax.text(0.04, 0.805, "guaranteed for jackknife+, on average over x", color=GREY, fontsize=9)
ax.set(xlabel="x", xlim=(0, 6), ylim=(0.6, 1.01))
ax.yaxis.set_major_formatter("{x:.0%}")
ax.set_title("Fraction of new values inside the band, along x", loc="left", fontsize=11)
ax.legend(frameon=False, loc="lower left", ncols=3)
plt.show()
