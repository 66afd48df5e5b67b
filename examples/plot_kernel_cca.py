r"""
Correlation of functions
========================

Two variables can be dependent and yet uncorrelated. Kernel canonical correlation finds functions f and g with a large
correlation,

.. math:: \rho = \max_{f, g} \frac{\sum_i \tilde f(x_i)\, \tilde g(y_i)}
          {\sqrt{\sum_i \tilde f(x_i)^2 + \varepsilon \|f\|^2}\,\sqrt{\sum_i \tilde g(y_i)^2 + \varepsilon \|g\|^2}},

and the penalty is essential: without it, any pairing of distinct points has functions that correlate perfectly.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelCCA

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

# %%
# The data are two coordinates of noisy points on a closed curve. A straight line shows nothing.

rng = np.random.default_rng(0)
angle = rng.uniform(0, 2 * np.pi, 400)
noise = 0.12 * rng.normal(size=(2, 400))
x = (np.sin(angle) + noise[0])[:, None]
y = (np.cos(2 * angle) + 0.4 * np.cos(angle) + noise[1])[:, None]
fit, new = slice(0, 200), slice(200, 400)
linear = np.corrcoef(x[:, 0], y[:, 0])[0, 1]
print(f"correlation of x and y: {linear:.2f}")

# %%
# **How strong a penalty?** Each penalty gives a spectrum of correlations, one for each pair of functions. Random
# pairings of the same points have a spectrum too, which shows what functions find in noise. The best penalty is the one
# where the two spectra differ most.

kernel = "gaussian(lengthscale=0.1)"
model = KernelCCA(
    2,
    kernel=kernel,
    epsilon="spectrum",
    epsilons=np.logspace(-4, 3, 22),
    n_pairings=10,
    random_state=0,
)
model.fit(x[fit], y[fit])
grid, chosen = model.epsilons_[:, 0], model.epsilon_[0]
held_out = [
    KernelCCA(1, kernel=kernel, epsilon=e).fit(x[fit], y[fit]).score(x[new], y[new]) for e in grid
]

figure, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8), layout="constrained")
place = int(np.argmin(np.abs(grid - chosen)))
order = np.arange(1, 26)
for row, shade, style in ((0, 0.4, "--"), (place, 1.0, "-")):
    left.plot(order, model.spectra_[row, :25], style, color=BLUE, alpha=shade)
    left.plot(
        order, model.random_spectra_[:, row, :25].mean(axis=0), style, color=ORANGE, alpha=shade
    )
left.fill_between(
    order,
    model.random_spectra_[:, place, :25].min(axis=0),
    model.random_spectra_[:, place, :25].max(axis=0),
    color=ORANGE,
    alpha=0.2,
    linewidth=0,
)
left.set(xlabel="component", ylim=(0, 1.05), xlim=(0, 25.5))
left.set_title(
    rf"Spectra for ε = {grid[0]:g} (dashed) and ε = {chosen:.2g}", loc="left", fontsize=11
)

lines = (
    (model.spectra_[:, 0], BLUE, "pairs"),
    (model.random_spectra_[:, :, 0].mean(axis=0), ORANGE, "random pairs"),
    (np.array(held_out), INK, "pairs held out (without penalty)"),
)
for values, colour, name in lines:
    right.semilogx(grid, values, color=colour, label=name)
right.axvline(chosen, color=GREY, linewidth=1, zorder=0)
right.text(chosen * 0.8, 0.04, "chosen ε", color="#6a6a6a", ha="right")
right.set(xlabel="penalty ε", ylim=(0, 1.05))
right.set_title("Correlation of the first component", loc="left", fontsize=11)
right.legend(frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 0.12))

# %%
# **The functions.** At the chosen penalty, f and g show how the coordinates are related, and the new points on the
# right, which were not used in the fit, agree. Both functions have mean 0 and variance 1 on the sample.

f, g = model.transform(x[new], y[new])
line = np.linspace(-1.25, 1.25, 200)[:, None], np.linspace(-1.45, 1.65, 200)[:, None]
figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained")
axes[0].plot(x, y, ".", color=BLUE, markersize=4)
axes[0].set(xlabel="x", ylabel="y")
axes[0].set_title(f"correlation {abs(linear):.2f}", loc="left", fontsize=11)
for ax, points, j, name in ((axes[1], line[0], 0, "f(x)"), (axes[2], line[1], 1, "g(y)")):
    ax.plot(points, model.transform(points, view=j)[:, 0], color=INK)
    ax.set(xlabel="xy"[j], ylim=(-2.2, 2.2))
    ax.set_title(name, loc="left", fontsize=11)
axes[3].plot(f[:, 0], g[:, 0], ".", color=ORANGE, markersize=4)
axes[3].set(xlabel="f(x)", ylabel="g(y)", xlim=(-2.2, 2.2), ylim=(-2.2, 2.2))
axes[3].set_title(
    f"new points: {model.correlations(x[new], y[new])[0]:.2f}", loc="left", fontsize=11
)

# %%
# **Without a penalty** the correlation of any sample is 1, even for random pairs, and on new points nothing remains.

shuffled = rng.permutation(y)
for name, other in (("pairs", y), ("random pairs", shuffled)):
    free = KernelCCA(1, epsilon=0, kernel="laplace(lengthscale=1.0)").fit(x[fit], other[fit])
    print(
        f"{name:>12}: ρ = {free.correlations_[0]:.6f}, on new points {free.score(x[new], other[new]):.2f}"
    )

# %%
# **How many components are real?** Permutations of the pairs give the answer; each component is tested given the
# previous ones.

test = KernelCCA(6, kernel=kernel, epsilon=chosen, n_permutations=199, random_state=0).fit(
    x[fit], y[fit]
)
for j, (rho, p, out) in enumerate(
    zip(test.correlations_, test.p_values_, test.correlations(x[new], y[new]), strict=True), start=1
):
    print(f"component {j}: ρ = {rho:.2f}, p = {p:.3f}, on new points {out:.2f}")
