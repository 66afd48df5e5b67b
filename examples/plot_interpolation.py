r"""
Interpolation and its error
===========================

Among all functions of a kernel's space with given values, one has the smallest norm. It is a combination of the
sections at the data,

.. math:: s = \sum_i a_i \, k(\cdot, x_i), \qquad K a = y, \qquad \lVert s \rVert^2 = y^\top K^{-1} y,

and it comes with a guarantee: every other function f of the space with these values satisfies

.. math:: |f(x) - s(x)| \le \sqrt{\lVert f \rVert^2 - \lVert s \rVert^2} \; P(x).

The *power function* P depends only on the kernel and the points. It is zero at the data and grows between them.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np

from mercer import RKHS, KernelInterpolator
from mercer.kernels import Gaussian, Laplace, Matern, ThinPlate

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update({"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY})

# %%
# The kernel decides what happens between the points. With a short lengthscale the function drops to zero between them.
# A long one carries values over, at the cost of a larger norm where neighbours disagree. The function is as smooth as
# the kernel: with Laplace's it has corners, with Matérn's it is twice differentiable, and with the Gaussian it is
# analytic.

nodes = np.array([[0.4], [1.3], [2.1], [3.6], [4.4], [6.0], [6.9]])
values = np.array([0.2, 1.1, 0.3, -0.9, 0.4, 0.6, -0.3])
grid = np.linspace(-0.5, 8, 600)[:, None]
x = grid[:, 0]

families = {
    "One kernel, three lengthscales": {
        "Gaussian, ℓ = 0.15": Gaussian(0.15),
        "Gaussian, ℓ = 0.5": Gaussian(0.5),
        "Gaussian, ℓ = 1.0": Gaussian(1.0),
    },
    "One lengthscale, three kernels": {
        "Laplace": Laplace(1.0),
        "Matérn 5/2": Matern(nu=2.5, lengthscale=1.0),
        "Gaussian": Gaussian(1.0),
    },
}
figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), sharey=True, layout="constrained")
for ax, (title, kernels) in zip(axes, families.items(), strict=True):
    ax.axhline(0, color=GREY, linewidth=0.6, zorder=0)
    for (name, kernel), colour in zip(kernels.items(), (ORANGE, BLUE, GREEN), strict=True):
        s = KernelInterpolator(kernel).fit(nodes, values)
        ax.plot(
            x, s.predict(grid), color=colour, linewidth=1.8, label=f"{name}: norm {s.norm_:.1f}"
        )
    ax.plot(nodes[:, 0], values, "o", color=INK, markersize=6, markeredgecolor="white", zorder=5)
    ax.set(xlim=(-0.5, 8), ylim=(-1.6, 2.5), xlabel="x")
    ax.set_title(title, loc="left", fontsize=11)
    ax.legend(frameon=False, loc="upper right", fontsize=9)

# %%
# **A band that holds.** Let f be a function of known norm B. From seven of its values, the interpolant and the bound
# :math:`\sqrt{B^2 - \lVert s \rVert^2} \, P(x)` enclose it everywhere; no probability is involved. The more of B the
# interpolant uses, the narrower the band.

kernel = Matern(nu=2.5, lengthscale=1.0)
f = RKHS(kernel).function(
    [[0.2], [1.6], [2.9], [4.1], [5.3], [7.2]], [0.6, 1.0, -0.9, -0.7, 1.1, 0.8]
)
s = KernelInterpolator(kernel).fit(nodes, f(nodes))
bound = s.error_bound(grid, norm_bound=f.norm())
error = np.abs(f(grid) - s.predict(grid))
print(
    f"‖f‖ = {f.norm():.3f}, ‖s‖ = {s.norm_:.3f}; the error is at most {np.max(error / (bound + 1e-9)):.0%} of the bound"
)

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(7.5, 5.2), sharex=True, height_ratios=[2, 1], layout="constrained"
)
top.axhline(0, color=GREY, linewidth=0.6, zorder=0)
top.fill_between(
    x, s.predict(grid) - bound, s.predict(grid) + bound, color=BLUE, alpha=0.18, linewidth=0
)
top.plot(x, s.predict(grid), color=BLUE, linewidth=2, label=f"interpolant s, norm {s.norm_:.2f}")
top.plot(
    x,
    f(grid),
    color=INK,
    linewidth=1.4,
    linestyle=(0, (4, 2)),
    label=f"the function f, norm {f.norm():.2f}",
)
top.plot(nodes[:, 0], f(nodes), "o", color=INK, markersize=6, markeredgecolor="white", zorder=5)
top.set_title("The function lies in the band, everywhere", loc="left", fontsize=11)
top.legend(frameon=False, loc="lower left", fontsize=9)
bottom.fill_between(x, bound, color=BLUE, alpha=0.18, linewidth=0, label="bound")
bottom.plot(x, error, color=ORANGE, linewidth=1.8, label="error |f − s|")
bottom.plot(
    nodes[:, 0], np.zeros(len(nodes)), "o", color=INK, markersize=5, clip_on=False, zorder=5
)
bottom.set(xlim=(-0.5, 8), ylim=(0, None), xlabel="x")
bottom.legend(frameon=False, loc="upper left", fontsize=9)

# %%
# **Thin plates.** The kernel :math:`r^2 \log r` is only conditionally positive definite, of order two. It adds the
# affine functions, unpenalised, and its interpolant is the surface through the points that bends least, like an elastic
# plate. There is no lengthscale to choose.


def terrain(X):
    u, v = X[:, 0], X[:, 1]
    return np.sin(3 * u) * np.cos(2 * v) + 0.5 * u + np.exp(-8 * ((u - 1.5) ** 2 + (v - 0.5) ** 2))


rng = np.random.default_rng(2)
sites = rng.uniform((0, 0), (2, 1.5), size=(90, 2))
plate = KernelInterpolator(ThinPlate()).fit(sites, terrain(sites))
print(f"{ThinPlate().definiteness}; unpenalised part: {plate.function_.basis}")

u, v = np.meshgrid(np.linspace(0, 2, 120), np.linspace(0, 1.5, 90))
mesh = np.column_stack([u.ravel(), v.ravel()])
truth, surface = terrain(mesh).reshape(u.shape), plate.predict(mesh).reshape(u.shape)
levels = np.linspace(-1.2, 2.0, 17)
figure, axes = plt.subplots(1, 3, figsize=(11, 3.0), sharey=True, layout="constrained")
for ax, Z, title in zip(
    axes, (truth, surface), ("The terrain", f"Thin plate through {len(sites)} points"), strict=False
):
    shown = ax.contourf(u, v, Z, levels=levels, cmap="cividis")
    ax.set_title(title, loc="left", fontsize=11)
axes[1].plot(*sites.T, ".", color="white", markersize=4)
figure.colorbar(shown, ax=axes[:2], ticks=[-1, 0, 1, 2], pad=0.02, shrink=0.9)
missed = axes[2].contourf(
    u, v, np.abs(surface - truth), levels=np.linspace(0, 0.35, 15), cmap="Greys"
)
axes[2].plot(*sites.T, ".", color=ORANGE, markersize=4)
axes[2].set_title("Absolute error", loc="left", fontsize=11)
figure.colorbar(missed, ax=axes[2], ticks=[0, 0.1, 0.2, 0.3], pad=0.02, shrink=0.9)
for ax in axes:
    ax.set(aspect="equal", xticks=[0, 1, 2], yticks=[0, 1])
    ax.spines[:].set_visible(False)
