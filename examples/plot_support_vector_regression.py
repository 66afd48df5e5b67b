r"""
A tube around the data
======================

Support vector regression ignores errors below ε and penalises the excess of the others,

.. math:: \min_{f \in H,\, b}\; \tfrac12 \|f\|_H^2
          + C \sum_i \max\bigl(0,\; |y_i - f(x_i) - b| - \varepsilon\bigr).

A sample inside the tube costs nothing and has no coefficient in :math:`f`. The function uses only the samples on the
edge of the tube and beyond, the support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVR, KernelRidge, NuSVR

INK, BLUE, ORANGE, GREY, PALE = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a", "#dbe8f4"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

rng = np.random.default_rng(2)
X = np.sort(rng.uniform(0, 8, 80))[:, None]
y = np.sin(1.5 * X[:, 0]) + 0.2 * rng.normal(size=80)
grid = np.linspace(0, 8, 400)[:, None]
kernel = "gaussian(lengthscale=0.8)"

# %%
# **How wide?** A wide tube gives few support vectors (ringed), and a function that may be off by ε. A narrow one
# follows more of the noise and uses nearly all samples.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.3), layout="constrained", sharey=True)
for ax, epsilon in zip(axes, (0.6, 0.25, 0.02), strict=True):
    model = SVR(C=10.0, epsilon=epsilon, kernel=kernel).fit(X, y)
    values, on = model.predict(grid), model.support_
    ax.fill_between(grid[:, 0], values - epsilon, values + epsilon, color=PALE, linewidth=0)
    ax.plot(grid[:, 0], values, color=BLUE, linewidth=2)
    ax.plot(X[:, 0], y, ".", color=INK, markersize=4)
    ax.plot(X[on, 0], y[on], "o", color=ORANGE, markersize=7, fillstyle="none")
    ax.set(xlim=(0, 8), ylim=(-1.9, 1.9), xlabel="x")
    ax.set_title(f"ε = {epsilon}: {len(on)} of 80 are support vectors", loc="left", fontsize=10)

# %%
# **A fraction instead of a width.** ε is in the units of y and hard to choose. ``NuSVR`` takes a fraction ν instead and
# finds the width itself: at most a fraction ν of the samples lies outside the tube, and at least a fraction ν are
# support vectors. Both fractions stay on their side of the diagonal.

shares = np.linspace(0.05, 1.0, 20)
machines = [NuSVR(nu=nu, C=10.0, kernel=kernel, tol=1e-6).fit(X, y) for nu in shares]
outside = [np.mean(np.abs(m.predict(X) - y) > m.epsilon_ + 1e-4) for m in machines]
support = [len(m.support_) / 80 for m in machines]

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
left.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 2)))
left.plot(shares, support, "o-", color=ORANGE, markersize=4)
left.plot(shares, outside, "s-", color=BLUE, markersize=4)
left.text(0.3, 0.55, "support vectors", color=ORANGE, ha="right")
left.text(0.62, 0.4, "outside the tube", color=BLUE)
left.set(xlabel="ν", xlim=(0, 1), ylim=(0, 1.03), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
left.set_title("Fraction of the samples", loc="left", fontsize=11)
right.plot(shares, [m.epsilon_ for m in machines], "o-", color=INK, markersize=4)
right.axhline(0.2, color=GREY, linewidth=1, linestyle=(0, (4, 2)))
right.text(1, 0.21, "noise standard deviation", color="#666666", ha="right", va="bottom")
right.set(xlabel="ν", xlim=(0, 1), ylim=(0, None), xticks=[0, 0.5, 1])
right.set_title("Half-width ε of the tube", loc="left", fontsize=11)

# %%
# **Linear, not squared, errors.** Beyond the tube the penalty is proportional to the error, and not to its square as in
# ridge regression: four values with large errors pull no harder than four with small errors.

wrong = y.copy()
wrong[[15, 30, 45, 60]] += 8.0
fits = {
    "ridge regression": (GREY, KernelRidge(alpha=0.1, kernel=kernel, fit_intercept=True)),
    "support vectors": (BLUE, SVR(C=10.0, epsilon=0.25, kernel=kernel)),
}
figure, ax = plt.subplots(figsize=(7.5, 3.4), layout="constrained")
ax.plot(grid[:, 0], np.sin(1.5 * grid[:, 0]), color=INK, linewidth=1, linestyle=(0, (4, 2)))
ax.plot(X[:, 0], wrong, ".", color=INK, markersize=5)
for name, (colour, model) in fits.items():
    ax.plot(grid[:, 0], model.fit(X, wrong).predict(grid), color=colour, linewidth=2, label=name)
ax.set(xlim=(0, 8), xlabel="x", ylim=(-2, 10))
ax.legend(frameon=False, loc="center left", bbox_to_anchor=(0.02, 0.55))
ax.set_title("Four of eighty values are wrong", loc="left", fontsize=11)
