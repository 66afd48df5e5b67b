r"""
Kernel PCA of concentric circles
================================

The data are three concentric rings. Linear PCA can only rotate the plane. In the space of a kernel the rings may be
separated along some direction, depending on the kernel,

.. math:: e^{-\|x - y\|^2}, \qquad x^\top y + 1, \qquad (x^\top y + 1)^2 .
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA
from mercer.kernels import Gaussian, Polynomial

INK, GREY = "#222222", "#8a8a8a"
COLOURS = np.array(["#1f6fb2", "#d1601f", "#1b8a6b"])
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

rng = np.random.default_rng(0)
ring = np.repeat([0, 1, 2], 100)
radius = np.array([0.4, 1.3, 2.2])[ring] + rng.normal(0, 0.07, 300)
angle = np.tile(np.linspace(0, 2 * np.pi, 100, endpoint=False), 3) + rng.normal(0, 0.02, 300)
X = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)

kernels = {
    r"$e^{-\|x-y\|^2}$": Gaussian.from_gamma(1.0),
    r"$x^\top y + 1$": Polynomial(degree=1, offset=1.0),
    r"$(x^\top y + 1)^2$": Polynomial(degree=2, offset=1.0),
}
fits = {
    name: KernelPCA(5, kernel=kernel, remove_zero_eig=True).fit(X)
    for name, kernel in kernels.items()
}

# %%
# The features of the sample. The affine kernel reproduces the plane: its constant vanishes in centring. The quadratic
# kernel has five directions: two of the plane and three of the products :math:`x_1^2, x_1 x_2, x_2^2`. One of them,
# here the fifth, is :math:`x_1^2 + x_2^2`, the squared radius, which separates the rings. With the Gaussian kernel the
# first component is already a function of the radius.

shown = [(0, 1), (0, 1), (0, 4)]
figure, axes = plt.subplots(1, 4, figsize=(11, 3.1), layout="constrained")
axes[0].scatter(*X.T, c=COLOURS[ring], s=9, linewidths=0)
axes[0].set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
axes[0].set_title("the sample", loc="left", fontsize=11)
for ax, (name, pca), (i, j) in zip(axes[1:], fits.items(), shown, strict=True):
    Z = pca.transform(X)
    share = pca.explained_variance_ratio_
    ax.scatter(Z[:, i], Z[:, j], c=COLOURS[ring], s=9, linewidths=0)
    ax.set_title(name, loc="left", fontsize=11)
    ax.set(
        xlabel=f"component {i + 1} ({share[i]:.0%})", ylabel=f"component {j + 1} ({share[j]:.0%})"
    )

# %%
# Each component is a function on the plane with norm one in the space, and can be drawn: along a contour line, all
# points have the same value. Components with circular contours separate the rings.

side = np.linspace(-2.8, 2.8, 121)
grid = np.stack(np.meshgrid(side, side), axis=-1)
figure, axes = plt.subplots(
    3, 3, figsize=(8.4, 8.6), sharex=True, sharey=True, layout="constrained"
)
for row, (name, pca), order in zip(
    axes, fits.items(), [(0, 1, 2), (0, 1, 2), (0, 2, 4)], strict=True
):
    values = pca.transform(grid.reshape(-1, 2)).reshape(121, 121, -1)
    for j, ax in zip(order, row, strict=True):
        ax.set(aspect="equal", xticks=[], yticks=[])
        if j >= values.shape[-1]:
            ax.text(
                0.5,
                0.5,
                "no third direction:\nthe space is a plane",
                color=GREY,
                ha="center",
                transform=ax.transAxes,
            )
            ax.spines[:].set_visible(False)
            continue
        reach = np.abs(values[..., j]).max()
        ax.contourf(
            side, side, values[..., j], 15, cmap="RdBu_r", vmin=-reach, vmax=reach, alpha=0.75
        )
        ax.contour(side, side, values[..., j], 15, colors="white", linewidths=0.5)
        ax.scatter(*X.T, c=INK, s=2, linewidths=0)
        ax.set_title(f"component {j + 1}", loc="left", fontsize=10)
    row[0].set_ylabel(name, fontsize=12)

plt.show()
