r"""
Denoising digits
================

Kernel PCA projects the image :math:`\varphi(x)` of a noisy digit onto the leading components of clean ones. Only the
part of the noise that looks like a digit remains. The projection lies in the kernel's space; its *pre-image* is a digit
whose own image is as close to it as possible.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from mercer import KernelPCA
from mercer.datasets import load_usps
from mercer.kernels import Gaussian
from mercer.preimage import DistanceBased, FixedPoint

INK, BLUE, GREY = "#222222", "#1f6fb2", "#9a9a9a"

# %%
# **The digits.** If `mercer.datasets.load_usps` finds the data, these are the USPS digits, 16 × 16; otherwise they are
# scikit-learn's, 8 × 8. Both methods are fitted to clean digits only. Some of the other digits choose their settings,
# and the rest measure the error.

rng = np.random.default_rng(0)
try:
    X, labels = load_usps(return_X_y=True, download_if_missing=False)
    X = X.astype(float)
    lengthscales, components = (8.0, 12.0), (32, 64, 128, 256)
except FileNotFoundError:
    print("The USPS digits are not available; scikit-learn's 8 × 8 digits replace them.")
    X, labels = load_digits(return_X_y=True)
    X = X / 16
    lengthscales, components = (2.0, 4.0), (32, 64, 128)
order = rng.permutation(len(X))
train, rest = X[order[:1000]], order[1000:1300]
clean, labels = X[rest], labels[rest]
chosen = slice(0, 100)
measured = slice(100, 300)


def gaussian(X):
    """Add normal noise to every pixel."""
    return X + 0.5 * rng.normal(size=X.shape)


def speckle(X):
    """Set four in ten pixels to black or white."""
    u = rng.uniform(size=X.shape)
    return np.where(u < 0.2, 0.0, np.where(u > 0.8, 1.0, X))


def error(P, part):
    """The mean squared error per pixel."""
    return np.mean((P - clean)[part] ** 2)


def best(restored):
    """The digits restored with the setting that is best on the tuning part."""
    return restored[min(restored, key=lambda setting: error(restored[setting], chosen))]


# %%
# **Restored digits.** In linear PCA the projection is already a digit. In kernel PCA the pre-image comes from the
# distances to the nearest clean digits (`DistanceBased`), or from a fixed-point iteration (`FixedPoint`, "auto" for
# this kernel). The first uses a few neighbours and gives sharper images; the second averages over the whole sample.

linear = {q: PCA(q, random_state=0).fit(train) for q in (4, 8, 12, 16, 24, 32, 48)}
kernel = {
    (scale, q): KernelPCA(q, kernel=Gaussian(scale), eigen_solver="dense").fit(train)
    for scale in lengthscales
    for q in components
}
rows = {}
for noise in (gaussian, speckle):
    noisy = noise(clean)
    straight = best({q: pca.inverse_transform(pca.transform(noisy)) for q, pca in linear.items()})
    curved = best({s: pca.denoise(noisy, DistanceBased()) for s, pca in kernel.items()})
    iterated = best({s: pca.denoise(noisy, FixedPoint(tol=1e-3)) for s, pca in kernel.items()})
    rows[noise.__name__] = {"original": clean, "noisy": noisy, "linear": straight, "kernel": curved}
    errors = [error(P, measured) for P in (noisy, straight, curved, iterated)]
    print(
        f"{noise.__name__:>8}: noisy {errors[0]:.4f}, linear {errors[1]:.4f}, "
        f"kernel {errors[2]:.4f} by distances, {errors[3]:.4f} by iteration"
    )

# %%
# One digit of each class from the test set, with each kind of noise. The numbers are mean squared errors over all two
# hundred test digits.

shown = [100 + int(np.flatnonzero(labels[measured] == digit)[0]) for digit in range(10)]
side = int(X.shape[1] ** 0.5)
gap = side // 8
frame = ((0, gap), (0, gap))
figure, axes = plt.subplots(1, 2, figsize=(11, 2.7), layout="constrained")
for ax, (noise, title) in zip(
    axes, {"gaussian": "Gaussian noise", "speckle": "Speckle"}.items(), strict=True
):
    picture = np.block(
        [
            [np.pad(P[i].reshape(side, side), frame, constant_values=np.nan) for i in shown]
            for P in rows[noise].values()
        ]
    )
    ax.imshow(picture, cmap="gray_r", vmin=0, vmax=1, interpolation="nearest")
    ax.set_title(title, loc="left", fontsize=11, color=INK)
    ax.spines[:].set_visible(False)
    places = np.arange(4) * (side + gap) + side / 2 - 0.5
    ax.set_xticks([])
    ax.set_yticks(places, list(rows[noise]) if noise == "gaussian" else [""] * 4)
    ax.tick_params(length=0)
    ax.text(picture.shape[1] + gap, places[0], "error", va="center", color=GREY)
    for (row, P), place in list(zip(rows[noise].items(), places, strict=True))[1:]:
        win = row == "kernel"
        ax.text(
            picture.shape[1] + gap,
            place,
            f"{error(P, measured):.3f}",
            va="center",
            color=BLUE if win else GREY,
            fontweight="bold" if win else "normal",
        )
