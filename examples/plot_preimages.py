r"""
Back from the space
===================

A projection onto principal components, a mean, or the midpoint of two functions is an element :math:`t = \sum_i
\gamma_i k(\cdot, x_i)` of the space, but usually not the image of any point. A *pre-image* is a point whose image is as
close to it as possible,

.. math:: \min_y\; \|k(\cdot, y) - t\|^2 = k(y, y) - 2\, t(y) + \|t\|^2 .

`mercer.preimage` has four methods.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import RKHS, KernelPCA
from mercer.preimage import DistanceBased, FixedPoint, Gradient, Learned

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Denoising a curve.** Kernel PCA learns a spiral from clean points. Noisy points are projected onto its components,
# and lines connect them to their pre-images. The fixed-point iteration and gradient descent look for the same minimum
# and find it. The other two need no derivatives. One uses the distances to the nearest neighbours in the space; here
# these lie along a line and say little about the direction across it. The other has learned a map from the space to the
# plane. The numbers are root mean squares of the distance to the spiral, and of the distance in the space.


def spiral(t):
    radius = 0.3 + 0.7 * t
    return np.column_stack([radius * np.cos(5 * t), radius * np.sin(5 * t)])


rng = np.random.default_rng(0)
clean = spiral(rng.uniform(0, 1.6, 400))
noisy = spiral(rng.uniform(0.05, 1.55, 60)) + 0.1 * rng.normal(size=(60, 2))
curve = spiral(np.linspace(0, 1.6, 2000))
pca = KernelPCA(25, kernel="gaussian(lengthscale=0.3)").fit(clean)
targets = pca.project(noisy)


def off(points):
    """The root mean square of the distance to the spiral."""
    gaps = np.linalg.norm(points[:, None] - curve, axis=2).min(axis=1)
    return np.sqrt(np.mean(gaps**2))


figure, axes = plt.subplots(1, 4, figsize=(11.5, 3.5), layout="constrained")
for ax, method in zip(axes, (FixedPoint(), Gradient(), DistanceBased(), Learned()), strict=True):
    found = method.find(targets, start=noisy)
    for start, end in zip(noisy, found.points, strict=True):
        ax.plot(*zip(start, end, strict=True), color=GREY, linewidth=0.8)
    ax.plot(*curve.T, color=INK, linewidth=0.8)
    ax.plot(*noisy.T, "o", color=ORANGE, markersize=3)
    ax.plot(*found.points.T, "o", color=BLUE, markersize=4)
    in_space = np.sqrt(np.mean(found.distance**2))
    ax.set_title(
        f"{found.method}\noff the spiral {off(found.points):.3f}, in the space {in_space:.3f}",
        loc="left",
        fontsize=9,
    )
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
print(f"noisy points lie {off(noisy):.3f} off the spiral")

# %%
# **The distance tells how far to trust a pre-image.** The midpoint between the images of two points is not itself an
# image. If the two are close to each other, it is nearly one. If they are more than two lengthscales apart, the
# midpoint has two bumps, the nearest image is that of one of the two or close to it, and the distance is large.

H = RKHS("gaussian(lengthscale=1)")
gaps = np.linspace(0.1, 4, 60)
results = [Gradient().find(H.function([[-g / 2], [g / 2]], [0.5, 0.5])) for g in gaps]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.2), layout="constrained", sharex=True)
left.plot(gaps, [np.abs(r.points[0, 0]) for r in results], color=BLUE, linewidth=2)
left.plot(gaps, gaps / 2, color=GREY, linewidth=1, linestyle=(0, (4, 2)))
left.text(1.9, 1.2, "one of the two points", color="#666666", ha="right")
left.set(xlabel="distance of the two points, in lengthscales", ylim=(-0.05, 2.1), xlim=(0, 4))
left.set_title("Pre-image: its distance from the middle", loc="left", fontsize=11)
right.plot(gaps, [r.distance[0] for r in results], color=ORANGE, linewidth=2)
right.set(xlabel="distance of the two points, in lengthscales", ylim=(0, 0.75))
right.set_title("Distance in the space, where images have norm 1", loc="left", fontsize=11)
