r"""
k-means in the space of a kernel
================================

k-means finds a partition whose means are close to their points. In the space of a kernel the means are functions,

.. math:: m_c = \frac{1}{|c|} \sum_{i \in c} k(\cdot, x_i), \qquad
          \lVert \varphi(x) - m_c \rVert^2 = k(x, x) - 2\, m_c(x) + \lVert m_c \rVert^2,

and a cluster is the region where one of them is largest, whatever its shape. With the linear kernel this is ordinary
k-means.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles

from mercer import KernelKMeans
from mercer.gram import Nystrom
from mercer.kernels import Gaussian
from mercer.selection import choose_clusters

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#3a8f5c", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **A disc in a ring.** The same algorithm with two kernels. A straight boundary cannot separate the two, but in the
# space of a Gaussian kernel the ring and the disc are two separate clouds. Lines show where the distances to both means
# are equal. Right: the mean of the disc's cluster, as a function on the plane.

X, _ = make_circles(400, factor=0.25, noise=0.08, random_state=0)
x0, x1 = np.meshgrid(np.linspace(-1.4, 1.4, 200), np.linspace(-1.4, 1.4, 200))
plane = np.column_stack([x0.ravel(), x1.ravel()])
models = {
    "Linear kernel": KernelKMeans(2, kernel="linear", random_state=0).fit(X),
    "Gaussian kernel": KernelKMeans(2, kernel=Gaussian(0.6), random_state=0).fit(X),
}

figure, axes = plt.subplots(1, 3, figsize=(10.5, 4.1), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=False):
    inner = model.predict([[0.0, 0.0]])[0]
    mine = model.labels_ == inner
    distances = model.transform(plane)
    ax.plot(*X[mine].T, ".", color=ORANGE, markersize=4)
    ax.plot(*X[~mine].T, ".", color=BLUE, markersize=4)
    gap = (distances[:, 0] - distances[:, 1]).reshape(x0.shape)
    ax.contour(x0, x1, gap, [0], colors=INK, linewidths=1.2)
    ax.set_title(name, loc="left", fontsize=11)
centre = model.function_[inner]
axes[2].contourf(x0, x1, centre(plane).reshape(x0.shape), 12, cmap="Oranges")
axes[2].plot(*X.T, ".", color=INK, markersize=1.5)
axes[2].set_title("One mean, as a function", loc="left", fontsize=11)
for ax in axes:
    ax.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.4, 1.4), ylim=(-1.4, 1.4))
    ax.spines[:].set_visible(False)

# %%
# **No iteration increases the objective.** Left: ten k-means++ starts in the space, which draw sample points with
# probability proportional to the squared distance to the nearest one drawn before. When the iterations stop, moving a
# single point may still help, because it also moves the means; ``local_search`` makes such moves (orange). Right:
# choosing the number of clusters by the mean silhouette, with distances in the space, and by the agreement of
# clusterings of random subsamples, with one standard error. Both find five groups; only the second also shows its
# uncertainty.

rng = np.random.default_rng(3)
corners = np.array([[0, 0], [3.2, 0.4], [1.4, 2.6], [4.6, 2.8], [-1.6, 2.6]])
groups = np.concatenate([c + rng.normal(scale=0.62, size=(60, 2)) for c in corners])
kernel = Gaussian(1.0)

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 3.7), layout="constrained")
for search, colour, name in ((True, ORANGE, "and single moves"), (False, BLUE, "rounds")):
    for seed in range(10):
        model = KernelKMeans(
            8, kernel=kernel, n_init=1, tol=0, local_search=search, random_state=seed
        ).fit(groups)
        left.plot(model.history_, color=colour, linewidth=1.6, label=name * (seed == 0))
left.set(xlabel="round", ylabel="objective", xlim=(0, None))
left.legend(frameon=False, reverse=True)
left.set_title("Ten starts, eight clusters", loc="left", fontsize=11)

estimator = KernelKMeans(kernel=kernel, n_init=3)
for method, colour, name in (
    ("silhouette", GREEN, "silhouette"),
    ("stability", BLUE, "stability"),
):
    choice = choose_clusters(
        estimator, groups, n_clusters=range(2, 10), method=method, n_resamples=8, random_state=0
    )
    right.plot(choice.candidates, choice.scores, color=colour, linewidth=2)
    if choice.errors is not None:
        low, high = choice.scores - choice.errors, choice.scores + choice.errors
        right.fill_between(choice.candidates, low, high, color=colour, alpha=0.2, linewidth=0)
    right.text(9.2, choice.scores[-1], name, color=colour, va="center")
    best = choice.candidates == choice.n_clusters
    right.plot(choice.n_clusters, choice.scores[best], "o", color=colour, markersize=8)
right.set(xlim=(1.8, 10.6), ylim=(0, 1.05), xlabel="number of clusters", xticks=range(2, 10))
right.set_title("How many?", loc="left", fontsize=11)

# %%
# **Many points.** A low-rank representation turns the same problem into k-means on the rows of a thin factor: exact for
# the approximate kernel, without the matrix, which here would take 3.2 GB.

X, y = make_circles(20_000, factor=0.25, noise=0.08, random_state=0)
model = KernelKMeans(2, kernel=Gaussian(0.6), gram=Nystrom(rank=60), random_state=0).fit(X)
same = model.labels_ == y
print(f"{max(same.mean(), 1 - same.mean()):.2%} as drawn, after {model.n_iter_} rounds")
