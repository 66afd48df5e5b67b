r"""
Fisher's discriminant with kernels
==================================

Fisher's discriminant is the direction in which classes are far apart and each of them is narrow. In the space of a
kernel the direction is a function f, and the problem

.. math:: \max_f \frac{\text{scatter of } f \text{ between classes}}
          {\text{scatter of } f \text{ within classes} + \alpha \|f\|^2}

has one solution fewer than there are classes. Together they map the data so that classes become round clouds.
"""

# sphinx_gallery_thumbnail_number = 3
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from mercer import KernelFisher
from mercer.selection import expected_loss

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

# %%
# **Two classes** have one discriminant. Its contours follow the shape of the classes, which no straight line separates.
# ``alpha="loo"`` chooses the penalty that maximises the likelihood of each label under the fit without that sample.

X, y = make_moons(200, noise=0.25, random_state=1)
low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
u, v = np.meshgrid(np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200))
mesh = np.column_stack([u.ravel(), v.ravel()])
models = {
    "linear": KernelFisher("linear", alpha="loo").fit(X, y),
    "Gaussian, ℓ = 0.5": KernelFisher("gaussian(lengthscale=0.5)", alpha="loo").fit(X, y),
}
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3.6), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    f = model.transform(mesh).reshape(u.shape)
    g = model.decision_function(mesh).reshape(u.shape)
    reach = np.abs(f).max()
    ax.contourf(u, v, f, levels=np.linspace(-reach, reach, 21), cmap="RdBu_r", alpha=0.35)
    ax.contour(u, v, g, levels=[0], colors=INK, linewidths=1.6)
    for label, colour, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
        ax.plot(*X[y == label].T, marker, color=colour, markersize=5, markeredgecolor="white")
    wrong = np.mean((model.leave_one_out() >= 0) != y)
    ax.set_title(f"{name}: leave-one-out error {wrong:.1%}", loc="left", fontsize=11)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# **Training values are optimistic.** If alpha is small, the values of the training samples gather around their class
# means, but the values of unseen samples do not. Leave-one-out shows this without refitting: it is exact, with means
# and scatter of the other samples, and costs one decomposition for all alphas.

alphas = np.logspace(-7, 1, 25)
path = KernelFisher("gaussian(lengthscale=0.5)", alpha="loo", alphas=alphas).fit(X, y)
figure, axes = plt.subplots(
    1, 3, figsize=(9.5, 3.1), layout="constrained", width_ratios=(1, 1, 1.1)
)
for ax, alpha in zip(axes, (1e-5, path.alpha_), strict=False):
    model = KernelFisher("gaussian(lengthscale=0.5)", alpha=alpha).fit(X, y)
    values = {"fitted": model.decision_function(X), "left out": model.leave_one_out()}
    for row, f in enumerate(values.values()):
        jitter = np.random.default_rng(0).uniform(-0.28, 0.28, len(y))
        for label, colour in ((0, BLUE), (1, ORANGE)):
            ax.plot(
                f[y == label],
                1 - row + jitter[y == label],
                "o",
                color=colour,
                markersize=3,
                alpha=0.6,
            )
    ax.axvline(0, color=INK, linewidth=1)
    ax.set(yticks=[1, 0], yticklabels=values, xlabel="decision value", ylim=(-0.5, 1.5))
    ax.set_title(f"α = {alpha:.1g}" + " (chosen)" * (alpha == path.alpha_), loc="left", fontsize=11)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
ax = axes[2]
ax.semilogx(alphas, path.loo_losses_, "o-", color=INK, markersize=4)
ax.plot(path.alpha_, path.loo_losses_.min(), "o", color=ORANGE, markersize=9)
ax.set(xlabel="α", ylim=(0, None))
ax.set_title("loss of samples left out, −log p", loc="left", fontsize=11)

# %%
# **Ten classes** have nine discriminants. The plot shows the first two for digits that were not in the sample. Each
# further discriminant separates more digits from the crowd in the middle; with all nine, few are misclassified.

X, y = load_digits(return_X_y=True)
X = X / 16
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
kernel = KernelFisher("gaussian(lengthscale=1.5)", alpha="loo").fit(X_train, y_train)
linear = LinearDiscriminantAnalysis(solver="eigen", shrinkage="auto").fit(X_train, y_train)
figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
for ax, (name, model) in zip(axes, {"linear": linear, "kernel": kernel}.items(), strict=True):
    Z = model.transform(X_test)[:, :2]
    for digit, colour in enumerate(plt.colormaps["tab10"].colors):
        some = Z[y_test == digit]
        ax.plot(*some.T, "o", color=colour, markersize=3.5, alpha=0.5, markeredgewidth=0)
        ax.text(
            *np.median(some, axis=0),
            digit,
            color=INK,
            fontsize=13,
            weight="bold",
            ha="center",
            va="center",
            bbox={
                "boxstyle": "circle",
                "facecolor": "white",
                "edgecolor": colour,
                "alpha": 0.9,
                "pad": 0.2,
            },
        )
    ax.set(xticks=[], yticks=[], xlabel="first discriminant")
    ax.set_title(
        f"{name}: {1 - model.score(X_test, y_test):.1%} wrong by all nine", loc="left", fontsize=11
    )
axes[0].set_ylabel("second discriminant")

# %%
# Leave-one-out estimates the error before the test data are used.

model = KernelFisher("gaussian(lengthscale=1.5)", alpha=kernel.alpha_)
print(expected_loss(model, X_train, y_train))
print(f"on the test data: {1 - kernel.score(X_test, y_test):.4f}")
