r"""
A new patient, without a label
==============================

Each patient's measurements form a cloud, and the boundary between ill and healthy cells depends on where the cloud
lies. A new patient has no labels. Pooling all patients finds one boundary for everyone, but the cloud of the new
patient is observed and determines which boundary to use. Marginal transfer learning fits a function of both,

.. math:: f(P, x) = \sum_{i,j} a_{ij}\, k_D(P, P_i)\, k(x, x_{ij}),

with a kernel :math:`k_D` between the samples :math:`P`, a Gaussian of their maximum mean discrepancy.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, MarginalTransfer
from mercer.kernels import Gaussian
from mercer.kernels.sets import DistributionGaussian

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})


# %%
# Every patient has a location and a direction. The boundary runs through the middle of the cloud, perpendicular to the
# direction. The cloud is elongated along it, so the unlabelled points reveal both.
def patients(n, size, rng):
    clouds = []
    for _ in range(n):
        angle, centre = rng.uniform(0, np.pi / 2), rng.uniform(-2.5, 2.5, 2)
        along, across = (
            np.array([np.cos(angle), np.sin(angle)]),
            np.array([-np.sin(angle), np.cos(angle)]),
        )
        s, t = 1.2 * rng.normal(size=size), 0.35 * rng.normal(size=size)
        clouds.append((centre + s[:, None] * along + t[:, None] * across, (s > 0).astype(int)))
    X, y = (np.concatenate(column) for column in zip(*clouds, strict=True))
    return X, y, np.repeat(np.arange(n), size)


rng = np.random.default_rng(3)
X, y, groups = patients(60, 30, rng)
X_new, y_new, groups_new = patients(30, 30, rng)

machine = SVC(kernel=Gaussian(2.0), C=10.0)
pooled = SVC(kernel=Gaussian(2.0), C=10.0).fit(X, y)
distributions = DistributionGaussian(Gaussian(2.0), lengthscale="median")
transfer = MarginalTransfer(machine, distributions).fit(X, y, groups=groups)

# %%
# Three new patients. The plots show the decision for *that* patient's cloud: the same fitted function, with a different
# sample as its first argument.
grid = np.stack(np.meshgrid(np.linspace(-5, 5, 90), np.linspace(-5, 5, 90)), axis=-1).reshape(-1, 2)
figure, axes = plt.subplots(2, 3, figsize=(9, 6.2), sharex=True, sharey=True, layout="constrained")

for column, patient in enumerate((1, 6, 12)):
    mine = groups_new == patient
    cloud, labels = X_new[mine], y_new[mine]
    rows = (
        ("pooled", pooled.decision_function(grid), pooled.predict(cloud)),
        ("transfer", transfer.decision_function(grid, sample=cloud), transfer.predict(cloud)),
    )
    for ax, (name, values, predicted) in zip(axes[:, column], rows, strict=True):
        field = values.reshape(90, 90)
        ax.contourf(field, [-1e9, 0, 1e9], colors=[BLUE, ORANGE], alpha=0.13, extent=(-5, 5, -5, 5))
        ax.contour(field, [0], colors=INK, linewidths=1.0, extent=(-5, 5, -5, 5))
        for label, colour, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
            ax.plot(
                *cloud[labels == label].T,
                marker,
                color=colour,
                markersize=5,
                markeredgecolor="white",
                markeredgewidth=0.5,
            )
        ax.set_title(
            f"{name}: {np.mean(predicted == labels):.0%} right", fontsize=10, color=INK, loc="left"
        )
        ax.set(aspect="equal", xlim=(-5, 5), ylim=(-5, 5), xticks=[], yticks=[])
    axes[1, column].set_xlabel(f"new patient {column + 1}", color=INK)

# %%
# The gain depends on the lengthscale of the kernel on distributions. If it is large, all patients are alike, which is
# pooling; if it is small, each patient is isolated, and little is known about new ones. The median discrepancy lies
# between. More patients help; pooling does not benefit from them.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
median = transfer.distribution_kernel_.lengthscale
factors = np.geomspace(0.1, 100, 10)


def accuracy(lengthscale, n):
    kernel = DistributionGaussian(Gaussian(2.0), lengthscale=lengthscale)
    model = MarginalTransfer(machine, kernel).fit(
        X[groups < n], y[groups < n], groups=groups[groups < n]
    )
    return model.score(X_new, y_new, groups=groups_new)


left.semilogx(factors, [accuracy(c * median, 60) for c in factors], "o-", color=BLUE, markersize=4)
left.axhline(pooled.score(X_new, y_new), color=ORANGE, linewidth=1.2)
left.text(0.1, pooled.score(X_new, y_new) - 0.015, "pooled", color=ORANGE, va="top")
left.text(0.6, 0.93, "transfer", color=BLUE, ha="right")
left.set(
    xlabel="lengthscale / median discrepancy", ylabel="accuracy on new patients", ylim=(0.5, 1)
)

counts = np.array([4, 8, 15, 30, 60])
alone = [
    SVC(kernel=Gaussian(2.0), C=10.0).fit(X[groups < n], y[groups < n]).score(X_new, y_new)
    for n in counts
]
right.plot(counts, [accuracy("median", n) for n in counts], "o-", color=BLUE, markersize=4)
right.plot(counts, alone, "s-", color=ORANGE, markersize=4)
right.set(xlabel="training patients", xticks=counts)
plt.show()
