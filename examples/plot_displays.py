r"""
Pictures of everything
======================

Every fitted model can be plotted. The classes of `mercer.plot` follow scikit-learn's display API: a class method
``from_…`` computes and draws, ``ax=`` sets the axes, and the display keeps its numbers and matplotlib objects.
`mercer.plot.DecisionDisplay` and `mercer.plot.GridDisplay` have their own pages; here are the others.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, load_wine, make_circles, make_moons
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    AnovaSpline,
    KernelCCA,
    KernelPCA,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeCV,
    MultipleKernel,
    RobustKernelDensity,
    SmoothingSpline,
)
from mercer.inference import mmd_test
from mercer.kernels import Gaussian
from mercer.plot import (
    BiasVarianceDisplay,
    CanonicalDisplay,
    ComponentsDisplay,
    DensityDisplay,
    DigitsDisplay,
    GramDisplay,
    HistoryDisplay,
    PathDisplay,
    SpectrumDisplay,
    SplineDisplay,
    WeightsDisplay,
    WitnessDisplay,
)
from mercer.selection import one_class_path, svm_path

rng = np.random.default_rng(0)
wine = load_wine()
X_wine, y_wine = StandardScaler().fit_transform(wine.data), wine.target

# %%
# **The kernel matrix,** ordered by class, shows how the kernel sees the classes before anything is fitted.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
GramDisplay.from_kernel("gaussian(lengthscale=3.0)", X_wine, wine.target_names[y_wine], ax=axes[0])
GramDisplay.from_kernel(
    "gaussian(lengthscale=3.0)", X_wine, wine.target_names[y_wine], centred=True, ax=axes[1]
)

# %%
# **Components,** here of kernel PCA: the plane of the first two and, for data in the plane, the components as
# functions.

X_ring, y_ring = make_circles(200, factor=0.35, noise=0.07, random_state=0)
model = KernelPCA(n_components=2, kernel="gaussian(lengthscale=0.5)").fit(X_ring)
ComponentsDisplay.from_estimator(model, X_ring, y_ring, contours=True)

# %%
# **The spectrum,** the share of the first components, and the effective dimension d(α): the degrees of freedom that a
# ridge penalty α leaves.

ridge = KernelRidge(alpha=0.5, kernel="gaussian(lengthscale=3.0)").fit(X_wine, y_wine)
SpectrumDisplay.from_estimator(ridge, X_wine)

# %%
# A kernel that is not positive definite shows its negative eigenvalues.

SpectrumDisplay.from_kernel("sigmoid(scale=0.1, offset=-1)", X_wine)

# %%
# **Paths.** Support vector machines over C, with their errors and all coefficients.

X_moon, y_moon = make_moons(120, noise=0.3, random_state=0)
path = svm_path(X_moon, y_moon, np.logspace(-2, 3, 41), kernel="gaussian(lengthscale=0.5)")
PathDisplay.from_path(path)

# %%
# The one-class machine over λ, whose coefficients are piecewise linear.

PathDisplay.from_path(one_class_path(X_moon[:60], kernel="gaussian(lengthscale=0.5)"))

# %%
# The leave-one-out error of ridge regression, for several kernels.

x = np.sort(rng.uniform(0, 10, 80))
y = np.sin(x) + 0.5 * np.sin(3 * x) * (x > 5) + 0.25 * rng.normal(size=80)
kernels = [f"gaussian(lengthscale={s})" for s in (0.2, 0.6, 2.0)]
PathDisplay.from_estimator(KernelRidgeCV(np.logspace(-4, 2, 40), kernel=kernels).fit(x[:, None], y))

# %%
# **Solver history:** what the solver of a support vector machine did in each iteration.

X_digits, y_digits = load_digits(return_X_y=True)
X_large, y_large = make_moons(4000, noise=0.25, random_state=0)
HistoryDisplay.from_estimator(SVC(C=100.0, gamma=2.0).fit(X_large, y_large))

# %%
# **Canonical variables** of two views of a point on a curve, next to the values of the same functions on permuted
# pairs.

angle = rng.uniform(0, 2 * np.pi, 200)
first = np.column_stack([np.sin(angle), rng.normal(size=200)]) + 0.1 * rng.normal(size=(200, 2))
second = (np.cos(2 * angle) + 0.1 * rng.normal(size=200))[:, None]
model = KernelCCA(4, kernel="gaussian(lengthscale=0.5)").fit(first, second)
CanonicalDisplay.from_estimator(
    model, first, second, components=(0, 1), n_permutations=10, random_state=0
)

# %%
# **Witness.** Where do two samples differ? In one dimension, and in two.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
test = mmd_test(rng.normal(size=(150, 1)), 1.8 * rng.normal(size=(150, 1)), random_state=0)
WitnessDisplay.from_test(test, labels=("narrow", "wide"), ax=axes[0])
test = mmd_test(X_moon, X_moon[rng.permutation(120)] @ [[0, 1], [1, 0]], random_state=0)
WitnessDisplay.from_test(test, labels=("moons", "mirrored"), ax=axes[1])

# %%
# **Densities** with the weights of their samples, and the influence of an additional sample.

contaminated = np.concatenate([rng.normal(size=(90, 1)), rng.uniform(-8, 8, size=(10, 1))])
DensityDisplay.from_estimator(
    RobustKernelDensity(bandwidth=0.5).fit(contaminated), influence=[[0.5], [6.0]]
)

# %%
# In the plane.

cloud = np.concatenate([rng.normal(size=(90, 2)), rng.uniform(-5, 5, size=(25, 2))])
DensityDisplay.from_estimator(
    RobustKernelDensity(bandwidth=0.6, loss="hampel").fit(cloud),
    influence=[[-1.0, 0.8]],
    resolution=100,
)

# %%
# **Splines** with Wahba's band, and quantiles.

figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
SplineDisplay.from_estimator(SmoothingSpline().fit(x, y), ax=axes[0])
spread = np.sin(x) + (0.1 + 0.08 * x) * rng.normal(size=80)
levels = KernelQuantileRegression(
    "gaussian(lengthscale=2.0)",
    quantiles=[0.1, 0.25, 0.5, 0.75, 0.9],
    alpha=0.3,
    non_crossing=np.linspace(-0.5, 10.5, 45)[:, None],  # beyond the samples, as far as is drawn
)
SplineDisplay.from_estimator(levels.fit(x[:, None], spread), x[:, None], spread, ax=axes[1])

# %%
# The components of an analysis of variance, with partial residuals.

U = rng.uniform(size=(150, 3))
v = np.sin(6 * U[:, 0]) + 2 * U[:, 1] ** 2 + 3 * (U[:, 0] - 0.5) * (U[:, 2] - 0.5)
v += 0.2 * rng.normal(size=150)
SplineDisplay.from_estimator(AnovaSpline(terms=[0, 1, 2, (0, 2)]).fit(U, v), U, v)

# %%
# **Digits:** the first hundred.

DigitsDisplay.from_images(X_digits)

# %%
# Noisy digits before and after denoising by kernel PCA.

clean, noisy = X_digits[1000:1010], X_digits[1000:1010] + 4 * rng.normal(size=(10, 64))
pca = KernelPCA(n_components=40, kernel="gaussian(lengthscale=25.0)").fit(X_digits[:1000])
DigitsDisplay.from_rows({"original": clean, "noisy": noisy, "denoised": pca.denoise(noisy)})

# %%
# Misclassified digits.

machine = SVC(gamma=0.001).fit(X_digits[:300], y_digits[:300])
DigitsDisplay.from_predictions(X_digits[300:], y_digits[300:], machine.predict(X_digits[300:]))

# %%
# **Kernel weights.** One kernel for each of thirteen measurements of a wine: which ones matter?

columns = {name: ("gaussian", [j]) for j, name in enumerate(wine.feature_names)}
WeightsDisplay.from_estimator(MultipleKernel(SVC(), columns).fit(X_wine, y_wine), sort=True)


# %%
# **Bias and variance** of kernel ridge regression over σ and λ, from thirty new samples.


def draw(generator):
    """Forty noisy values of a sine."""
    points = generator.uniform(0, 1, (40, 1))
    return points, np.sin(8 * points[:, 0]) + 0.3 * generator.normal(size=40)


new = np.linspace(0, 1, 50)[:, None]
ridge = KernelRidge(kernel=Gaussian(0.2))
BiasVarianceDisplay.from_simulation(
    ridge,
    draw,
    new,
    np.sin(8 * new[:, 0]),
    values={"kernel__lengthscale": np.geomspace(0.02, 2, 9), "alpha": np.geomspace(1e-4, 10, 9)},
    n_repeats=30,
    random_state=0,
)

# %%
# Over λ alone, from bootstrap samples of a single sample.

BiasVarianceDisplay.from_bootstrap(
    ridge, *draw(rng), values={"alpha": np.geomspace(1e-4, 10, 11)}, random_state=0
)
