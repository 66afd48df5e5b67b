r"""
Which inputs matter: tuning by gradients
========================================

A Gaussian kernel with one lengthscale for each input can switch inputs off: :math:`\ell_j \to \infty` and the function
no longer depends on :math:`x_j`. Ten lengthscales and a penalty are too many for a grid, but leave-one-out and the
marginal likelihood have gradients, and `KernelTuner` follows them. The data are Friedman's: ten inputs, of which the
last five are noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from mercer import SVC, KernelRidge
from mercer.kernels import Gaussian
from mercer.selection import KernelSearchCV, KernelTuner

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

X, y = make_friedman1(200, n_features=10, noise=1.0, random_state=0)
X_new, f_new = make_friedman1(2000, n_features=10, noise=0.0, random_state=1)

# %%
# **One lengthscale, by a grid.** Five folds over alpha and the lengthscale, on one matrix of distances.

grid = {
    "kernel__kernel__lengthscale": np.geomspace(0.1, 30, 25),
    "alpha": np.geomspace(1e-4, 10, 16),
}
isotropic = 100.0 * Gaussian(1.0)
search = KernelSearchCV(
    KernelRidge(kernel=isotropic, fit_intercept=True), grid, scoring="neg_mean_squared_error"
).fit(X, y)

# %%
# **Ten lengthscales, by gradients.** Leave-one-out uses only the errors. The marginal likelihood assumes a Gaussian
# process with noise variance alpha, which is correct here, and separates all five inputs from the noise. The function
# is linear in inputs 4 and 5, for which a long lengthscale is enough; leave-one-out is less decisive and gives input 8
# a shorter one.

start = KernelRidge(1.0, kernel=100.0 * Gaussian(np.ones(10)), fit_intercept=True)
criteria = {
    "leave-one-out": ("loo", BLUE),
    "marginal likelihood": ("marginal_likelihood", ORANGE),
}
tuners = {
    name: KernelTuner(start, criterion=criterion).fit(X, y)
    for name, (criterion, _) in criteria.items()
}


def error(model):
    """Root mean squared error against the function without noise."""
    return np.sqrt(np.mean((model.predict(X_new) - f_new) ** 2))


figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), width_ratios=[1.5, 1], layout="constrained"
)
left.axvspan(5.5, 10.5, color=GREY, alpha=0.12, linewidth=0)
for shift, (name, tuner) in zip((-0.12, 0.12), tuners.items(), strict=True):
    length = tuner.best_params_["kernel__kernel__lengthscale"]
    place, colour = np.arange(1, 11) + shift, criteria[name][1]
    left.vlines(place, 1e-6, 1 / length, color=colour, linewidth=2)
    left.plot(place, 1 / length, "o", color=colour, markersize=6, label=name)
left.set(xlabel="input", xticks=range(1, 11), xlim=(0.5, 10.5), yscale="log", ylim=(4e-6, 3))
left.text(8, 1.5, "noise", ha="center", va="center", color=INK)
left.legend(frameon=False, loc="upper left", bbox_to_anchor=(0.56, 0.92))
left.set_title("1 / lengthscale of each input", loc="left", fontsize=11)

models = {"one lengthscale, grid": (search, GREY)} | {
    f"ten, {name}": (tuner, criteria[name][1]) for name, tuner in tuners.items()
}
for place, (model, colour) in enumerate(models.values()):
    right.barh(place, error(model), color=colour, height=0.6)
    right.text(error(model) + 0.03, place, f"{error(model):.2f}", va="center", color=INK)
right.set(yticks=range(3), yticklabels=list(models), xlabel="error on new samples")
right.set_xlim(right=1.15 * max(error(model) for model, _ in models.values()))
right.invert_yaxis()
right.set_title("Test error", loc="left", fontsize=11)

# %%
# **Support vector machines.** The leave-one-out errors of a support vector machine have no gradient, but the span of
# its support vectors gives a smooth estimate. The class is a disc in two of six inputs; the search starts with the same
# lengthscale for all six.

rng = np.random.default_rng(0)
Z = rng.uniform(-2, 2, size=(1150, 6))
label = np.where(Z[:, 0] ** 2 + Z[:, 1] ** 2 > 2.5, "outside", "inside")
Z, label, Z_new, label_new = Z[:150], label[:150], Z[150:], label[150:]
machine = KernelTuner(SVC(kernel=Gaussian(np.full(6, 2.0)), loss="squared_hinge")).fit(Z, label)
one = KernelSearchCV(
    SVC(), {"C": np.geomspace(0.1, 1e3, 9), "gamma": np.geomspace(0.01, 3, 9)}
).fit(Z, label)

figure, (left, right) = plt.subplots(
    1, 2, figsize=(11, 4), width_ratios=[1.3, 1], layout="constrained"
)
left.plot(-machine.history_[0], color=BLUE, linewidth=2)
left.axhline(1 - one.score(Z_new, label_new), color=GREY, linewidth=1.5, linestyle=(0, (4, 2)))
left.axhline(1 - machine.score(Z_new, label_new), color=GREEN, linewidth=1.5, linestyle=(0, (4, 2)))
end = len(machine.history_[0]) - 1
left.text(
    end, 1.03 * (1 - one.score(Z_new, label_new)), "new samples, grid", ha="right", va="bottom"
)
left.text(
    end,
    1.05 * (1 - machine.score(Z_new, label_new)),
    "new samples, tuned",
    ha="right",
    va="bottom",
    color=GREEN,
)
left.set(xlabel="iteration", yscale="log")
left.set_title("Errors: the span estimate on its way down", loc="left", fontsize=11)
side = np.linspace(-2, 2, 120)
plane = np.zeros((side.size**2, 6))
plane[:, 0], plane[:, 1] = (v.ravel() for v in np.meshgrid(side, side))
for model, colour in ((one, GREY), (machine, GREEN)):
    values = model.decision_function(plane).reshape(side.size, side.size)
    right.contour(side, side, values, levels=[0.0], colors=[colour], linewidths=2)
for name, colour in (("inside", ORANGE), ("outside", BLUE)):
    right.plot(*Z[label == name, :2].T, ".", color=colour, markersize=6)
right.add_patch(plt.Circle((0, 0), 2.5**0.5, fill=False, color=INK, linestyle=(0, (4, 2))))
right.set(xlabel="input 1", ylabel="input 2", aspect="equal")
right.set_title("Truth (dashed), grid (grey), tuned (green)", loc="left", fontsize=11)
