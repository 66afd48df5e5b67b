r"""
Do two samples differ, and where?
=================================

The mean of a distribution in the space, :math:`\mu_P = \mathbb{E}\, k(\cdot, x)`, determines it if the kernel is rich
enough. The distance between two means is a test statistic. Permuting the assignment of points to samples gives its null
distribution, and the difference of the means, the witness, shows where the samples differ.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer.inference import mmd_test, stein_test
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREY, PALE = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a", "#d9e7f3"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Same mean, same variance.** A normal sample and a bimodal one, with 300 points each. The witness is positive where
# the first sample is denser.

rng = np.random.default_rng(3)
X = rng.normal(size=(300, 1))
Y = rng.choice([-0.85, 0.85], size=(300, 1)) + 0.53 * rng.normal(size=(300, 1))
test = mmd_test(X, Y, random_state=0)
print(test)

grid = np.linspace(-4, 4, 400)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.4), layout="constrained")
bins = np.linspace(-4, 4, 41)
for sample, colour, name in ((X, BLUE, "normal"), (Y, ORANGE, "two bumps")):
    axes[0].hist(sample[:, 0], bins, density=True, histtype="step", color=colour, linewidth=1.2)
    axes[0].text(2.1, 0.5 if name == "normal" else 0.43, name, color=colour)
witness = test.witness(grid)
axes[0].plot(grid[:, 0], 0.2 * witness / np.abs(witness).max() - 0.25, color=INK, linewidth=2)
axes[0].axhline(-0.25, color=GREY, linewidth=0.8)
axes[0].text(-3.9, -0.19, "witness", color=INK)
axes[0].set(yticks=[], xlim=(-4, 4))
axes[0].spines["left"].set_visible(False)
axes[0].set_title("Two samples and the direction in which they differ", loc="left", fontsize=11)
axes[1].hist(1e3 * test.null, 40, color=PALE)
axes[1].axvline(1e3 * test.statistic, color=ORANGE, linewidth=2)
axes[1].set(yticks=[], xlabel="squared distance of the means · 1000")
axes[1].spines["left"].set_visible(False)
axes[1].set_title(
    f"Statistic and 999 permutations, p = {test.p_value:.3f}", loc="left", fontsize=11
)

# %%
# **No lengthscale suits all differences.** Long lengthscales detect a shift, short ones a fine comb. The aggregated
# test compares the smallest p-value over its ten kernels with the distribution of that minimum under the same
# permutations. Its level is exact, and using many scales costs less power than using a wrong one.

lengthscales = np.geomspace(0.004, 4, 7)
differences = {
    "a shift": lambda: rng.uniform(size=(80, 1)) + 0.15,
    "a comb": lambda: (rng.integers(0, 12, size=(80, 1)) + 0.5 * rng.uniform(size=(80, 1))) / 12,
}
repetitions = 15
figure, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for (name, draw), colour in zip(differences.items(), (BLUE, ORANGE), strict=True):
    pairs = [(rng.uniform(size=(80, 1)), draw()) for _ in range(repetitions)]
    power = [
        np.mean(
            [
                mmd_test(*p, kernel=Gaussian(s), n_draws=99, random_state=0).p_value <= 0.05
                for p in pairs
            ]
        )
        for s in lengthscales
    ]
    together = np.mean([mmd_test(*p, n_draws=99, random_state=0).p_value <= 0.05 for p in pairs])
    ax.semilogx(lengthscales, power, "o-", color=colour, markersize=4)
    ax.axhline(together, color=colour, linewidth=1, linestyle=(0, (4, 2)))
    shift = name == "a shift"
    ax.text(0.1, together + (0.03 if shift else -0.07), "aggregated", color=colour, fontsize=9)
    ax.text(
        lengthscales[-1 if shift else 0],
        power[-1 if shift else 0] + 0.05,
        name,
        color=colour,
        ha="center",
    )
ax.set(xlabel="lengthscale of a single kernel", ylim=(0, 1.08), yticks=[0, 0.5, 1])
ax.set_title("Rejection rate at level 5 %", loc="left", fontsize=11)

# %%
# **A sample and a formula.** If one distribution is known by its score, the gradient of its log-density, no second
# sample is needed: in the space of the Stein kernel that distribution has mean zero. Here we test the score of the
# standard normal distribution, −x, against draws from it and from a wider one.

draws = {"normal": rng.normal(size=(200, 1)), "1.4 times as wide": 1.4 * rng.normal(size=(200, 1))}
for name, sample in draws.items():
    print(f"{name}: p = {stein_test(sample, np.negative, random_state=0).p_value:.3f}")
