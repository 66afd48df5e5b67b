r"""
Spectral clustering, and how many clusters
==========================================

Samples are the vertices of a graph with edge weights A, the affinities, and degrees d. Good clusters cut few edges
relative to the degrees of the parts. The best such cut is hard to find, but the leading eigenvectors of

.. math:: D^{-1/2} A D^{-1/2} u_j = \lambda_j u_j

solve its continuous relaxation. The multiplicity of the eigenvalue 1 is the number of connected components.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import KernelKMeans, SpectralClustering
from mercer.selection import choose_clusters

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#3a8f5c", "#9a9a9a"
COLOURS = np.array([BLUE, ORANGE, GREEN, "#8a5fa8", "#b8902a", "#4aa3a8"])
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)


def bare(ax, title):
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(title, loc="left", fontsize=11)


# %%
# **Two moons.** The second eigenvector separates them. The affinity-weighted mean of the samples' values extends it to
# the plane, so new points get labels without a new fit. White means that no sample is near.

X, _ = make_moons(300, noise=0.07, random_state=0)
model = SpectralClustering(2, gamma=25.0, random_state=0).fit(X)
x0, x1 = np.meshgrid(np.linspace(-1.6, 2.6, 260), np.linspace(-1.1, 1.6, 180))
plane = np.column_stack([x0.ravel(), x1.ravel()])

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained")
left.scatter(*X.T, c=model.embedding_[:, 1], cmap="coolwarm", s=14)
bare(left, "Second eigenvector")
left.set(xlim=(-1.6, 2.6), ylim=(-1.1, 1.6))
labels = model.predict(plane).reshape(x0.shape)
near = model.function_(plane)[:, 0].reshape(x0.shape) > 0.5
right.contourf(
    x0, x1, np.where(near, labels, np.nan), [-0.5, 0.5, 1.5], colors=["#dbe8f4", "#f6e0d3"]
)
right.scatter(*X.T, c=COLOURS[model.labels_], s=14)
bare(right, "Clusters, and those of new points")

# %%
# **The eigengap.** Six groups move closer and closer together. As long as they hardly touch, six eigenvalues are near
# 1, and the gap after the sixth is the largest: this is the rule of `choose_clusters`. When the groups merge, the gap
# disappears, and with it the answer.

rng = np.random.default_rng(0)
angles = np.arange(6) * np.pi / 3
wheel = np.column_stack([np.cos(angles), np.sin(angles)])
noise = rng.normal(size=(6, 50, 2))

figure, axes = plt.subplots(
    2, 3, figsize=(10.5, 5.8), layout="constrained", height_ratios=[1.15, 1]
)
for (top, bottom), spread in zip(axes.T, (0.14, 0.22, 0.36), strict=True):
    groups = (wheel[:, None, :] + spread * noise).reshape(-1, 2)
    estimator = SpectralClustering(gamma=12.0, random_state=0)
    choice = choose_clusters(estimator, groups, n_clusters=range(2, 11), method="eigengap")
    found = estimator.set_params(n_clusters=6).fit(groups)
    top.scatter(*groups.T, c=COLOURS[found.labels_], s=8)
    bare(top, f"spread {spread}")
    top.set(xlim=(-2.1, 2.1), ylim=(-2.1, 2.1))
    values, k = choice.eigenvalues, choice.n_clusters
    bottom.plot(range(1, len(values) + 1), values, "o", color=BLUE, markersize=5)
    bottom.plot([k, k + 1], values[k - 1 : k + 1], color=ORANGE, linewidth=2)
    bottom.set_title(f"Largest gap after {k}", loc="left", fontsize=10, color=ORANGE)
    bottom.set(
        xlim=(0.5, 11.5), ylim=(0, 1.05), xticks=range(1, 12), yticks=[0, 0.5, 1], xlabel="j"
    )
axes[1, 0].set_ylabel("λⱼ")

# %%
# **From the relaxed cut to a cut.** The normalised cut is, up to a constant, the objective of kernel k-means with the
# degrees as weights and the matrix σD⁻¹ + D⁻¹AD⁻¹ (Dhillon, Guan, Kulis, 2004). So k-means with single moves can start
# from the spectral solution and lower the cut itself. On thirty random graphs with three planted groups:


def normalised_cut(A, labels):
    return sum(A[labels == c][:, labels != c].sum() / A[labels == c].sum() for c in range(3))


cuts = []
for seed in range(30):
    rng = np.random.default_rng(seed)
    same = np.arange(90)[:, None] % 3 == np.arange(90) % 3
    edges = np.triu(rng.uniform(size=(90, 90)) < np.where(same, 0.25, 0.1), 1)
    A = (edges + edges.T).astype(float)
    d = A.sum(axis=1)
    start = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(A)
    moved = KernelKMeans(3, kernel="precomputed", init=start, local_search=True)
    moved.fit(np.diag(1 / d) + A / np.outer(d, d), sample_weight=d)
    cuts.append([normalised_cut(A, start), normalised_cut(A, moved.labels_)])
cuts = np.array(cuts)

figure, ax = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
low, high = cuts.min() - 0.01, cuts.max() + 0.01
ax.plot([low, high], [low, high], color=GREY, linewidth=1, linestyle=(0, (4, 2)))
ax.plot(*cuts.T, "o", color=BLUE, markersize=5)
ax.set(aspect="equal", xlim=(low, high), ylim=(low, high))
ax.set(xlabel="cut of spectral clustering", ylabel="cut after single moves")
ax.set_title(f"Lower in {np.sum(cuts[:, 1] < cuts[:, 0] - 1e-9)} of 30", loc="left", fontsize=11)
