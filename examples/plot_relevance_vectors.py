r"""
Relevance vectors
=================

The relevance vector machine gives every weight of :math:`f = w_0 + \sum_j w_j\, k(\cdot, x_j)` its own precision,
:math:`w_j \sim N(0, 1/\alpha_j)`, and maximises the evidence: most precisions become infinite, and their weights zero.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC, SVR, RelevanceVectorClassifier, RelevanceVectorMachine
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREY, PALE = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a", "#d9e7f3"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Regression.** The data are a hundred noisy values of sin(x)/x. Orange rings mark the terms that each machine keeps.
# The band is two standard deviations of a new value, noise included, and the noise is estimated. The support vector
# machine keeps the samples on or outside its tube, the relevance vector machine the terms that make the data most
# probable.

rng = np.random.default_rng(0)
x = np.linspace(-10, 10, 100)[:, None]
y = np.sinc(x[:, 0] / np.pi) + 0.1 * rng.normal(size=100)
grid = np.linspace(-12, 12, 500)[:, None]
kernel = Gaussian(2.0)
relevance = RelevanceVectorMachine(kernel).fit(x, y)
support = SVR(kernel=kernel, C=1.0, epsilon=0.1).fit(x, y)
mean, std = relevance.predict(grid, return_std=True)

figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.4), layout="constrained", sharey=True)
axes[0].fill_between(grid[:, 0], mean - 2 * std, mean + 2 * std, color=PALE, linewidth=0)
for ax, values, kept, name in (
    (axes[0], mean, relevance.relevance_, "relevance vectors"),
    (axes[1], support.predict(grid), support.support_, "support vectors"),
):
    ax.plot(grid[:, 0], np.sinc(grid[:, 0] / np.pi), color=GREY, linewidth=1, linestyle=(0, (4, 2)))
    ax.plot(grid[:, 0], values, color=BLUE, linewidth=2)
    ax.plot(x[:, 0], y, ".", color=INK, markersize=4)
    ax.plot(x[kept, 0], y[kept], "o", markersize=9, markerfacecolor="none", markeredgecolor=ORANGE)
    ax.set(xlim=(-12, 12), yticks=[0, 1], xticks=[-10, 0, 10])
    ax.set_title(f"{len(kept)} {name}", loc="left", fontsize=11)

# %%
# **The course of the evidence.** Each step changes the precision that gains most: early steps add columns, later ones
# exchange them, and the evidence never decreases. The noise variance is kept low at first, which lets in columns that
# explain much together and little alone. Once they have settled it is estimated too, which is the cliff. At the end
# :math:`\alpha_j \mu_j^2 = 1 - \alpha_j \Sigma_{jj}` for all remaining columns, and no change of a single precision
# helps.

gamma = 1 - relevance.precision_ * np.diag(relevance.covariance_)
gap = relevance.log_evidence_ - relevance.evidence_history_[:-1]
figure, ax = plt.subplots(figsize=(6.5, 3.0), layout="constrained")
ax.semilogy(gap, color=BLUE, linewidth=2)
cliff = np.argmin(np.diff(np.log(gap[:-10])))
ax.text(cliff + 2, gap[cliff] / 3, "the noise joins", color=ORANGE)
ax.set(xlabel="step", xlim=(0, len(gap)), ylim=(1e-6, None))
ax.set_title("Log-evidence still to gain", loc="left", fontsize=11)
print("well-determined weights, γ:", gamma.round(3))
print(f"noise: {np.sqrt(relevance.noise_variance_):.3f}, drawn with 0.1")

# %%
# **Classification.** Relevance vectors lie away from the boundary, like prototypes; support vectors lie along it.

X, labels = make_moons(200, noise=0.25, random_state=1)
x0, x1 = np.meshgrid(np.linspace(-2, 3, 220), np.linspace(-1.6, 2.1, 160))
plane = np.column_stack([x0.ravel(), x1.ravel()])
bayes = RelevanceVectorClassifier(Gaussian(0.7)).fit(X, labels)
margin = SVC(kernel=Gaussian(0.7)).fit(X, labels)

figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.9), layout="constrained")
levels = [0.05, 0.25, 0.75, 0.95]
axes[0].contour(
    x0, x1, bayes.predict_proba(plane)[:, 1].reshape(x0.shape), levels, colors=GREY, linewidths=1
)
for ax, model, kept, name in (
    (axes[0], bayes, bayes.relevance_, "relevance vectors; probabilities 5, 25, 75, 95 %"),
    (axes[1], margin, margin.support_, "support vectors"),
):
    ax.contour(
        x0, x1, model.decision_function(plane).reshape(x0.shape), [0], colors=INK, linewidths=2
    )
    for label, colour in ((0, BLUE), (1, ORANGE)):
        ax.plot(*X[labels == label].T, ".", color=colour, markersize=5)
    ax.plot(*X[kept].T, "o", markersize=9, markerfacecolor="none", markeredgecolor=INK)
    ax.set(aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    ax.set_title(f"{len(kept)} {name}", loc="left", fontsize=11)
