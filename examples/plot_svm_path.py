r"""
All machines from wide to narrow
================================

How large should C be? `mercer.selection.svm_path` fits machines for a whole range of C, each from the previous solution
and on shared kernel rows. For each it reports what is known without a test set:

- the *training error*, which is always optimistic;
- the ξα *bound* of Joachims: leaving out sample i can cause an error only if
  :math:`2 \alpha_i R^2 + \xi_i \ge 1`, with :math:`R^2 = \max k - \min k`;
- the *span estimate* of Vapnik and Chapelle: leaving out a support vector p causes an error if
  :math:`\alpha_p S_p^2 \ge y_p f(x_p)`, with :math:`S_p` the distance of :math:`k(\cdot, x_p)` from the affine span of
  the other support vectors that are strictly between their bounds.

The bound counts too many, and the estimate equals the leave-one-out error as long as no other sample reaches or leaves
a bound. They cost one pass over the kernel matrix, and one inverse of the size of the free support vectors.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from mercer import SVC
from mercer.plot import DecisionDisplay
from mercer.selection import svm_path

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#2f8f5b", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# The machines see three hundred points of two noisy moons; twenty thousand others measure the true error.

X, y = make_moons(300, noise=0.3, random_state=0)
X_new, y_new = make_moons(20_000, noise=0.3, random_state=4)
kernel = "gaussian(lengthscale=0.5)"
path = svm_path(X, y, np.logspace(-2, 4, 61), kernel=kernel)
true_error = np.array([np.mean((f(X_new) > 0) != y_new) for f in path.functions])
print(f"{len(path.C)} machines from {path.n_rows} kernel rows of {len(X)} samples")

# %%
# **Errors.** The training error is smallest at the end, long after the true error has turned: a larger C then fits
# noise. The span estimate follows the true error, with the noise of three hundred samples, and its minimum, at the
# dotted line, is a good choice. It does not exist where all coefficients are at their bound. The leave-one-out bound is
# far above, but it is proven.
#
# **Support vectors.** With a small C nearly all coefficients are at their bound C: the machine is close to the
# difference of the class means. As C grows, fewer samples lie within the margin, and more of the support vectors are
# free.

best = path.C[np.nanargmin(path.span_estimate)]
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8.5, 6), sharex=True, layout="constrained", height_ratios=[1.7, 1]
)
for values, colour, width, name, shift in (
    (path.loo_bound, "#777777", 1.5, "ξα bound", 0),
    (path.span_estimate, BLUE, 1.5, "span estimate", 6),
    (true_error, ORANGE, 2.2, "true error", -6),
    (path.training_error, GREEN, 1.5, "training error", 0),
):
    top.semilogx(path.C, values, color=colour, linewidth=width)
    style = {"textcoords": "offset points", "color": colour, "va": "center"}
    top.annotate(name, (path.C[-1], values[-1]), (5, shift), **style)
top.set(ylim=(0, 0.3), yticks=[0, 0.1, 0.2, 0.3])
top.set_title("Fraction in error", loc="left", fontsize=11)

bottom.stackplot(
    path.C, path.n_bound, path.n_support - path.n_bound, colors=["#d9d9d9", "#9ec5e3"], linewidth=0
)
bottom.text(0.03, 60, "at the bound C", color="#666666")
bottom.text(300, 30, "free", color=INK)
bottom.set(xlim=(path.C[0], path.C[-1]), ylim=(0, len(X)), xlabel="C")
bottom.set_title("Support vectors", loc="left", fontsize=11)
for ax in (top, bottom):
    ax.axvline(best, color=INK, linewidth=1, linestyle=":")

# %%
# **Three machines of the path:** a wide margin that nearly all samples violate, the machine chosen by the span
# estimate, and one that bends around single points.

figure, axes = plt.subplots(
    1, 3, figsize=(11, 3.2), layout="constrained", subplot_kw={"aspect": "equal"}
)
for ax, C in zip(axes, (0.03, best, 1e4), strict=True):
    k = int(np.argmin(np.abs(np.log(path.C / C))))
    model = SVC(C=path.C[k], kernel=kernel).fit(X, y)
    DecisionDisplay.from_estimator(model, X, y, ax=ax, legend=False)
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    ax.set_title(
        f"C = {path.C[k]:.2g}: margin {2 / path.functions[k].norm():.2g}, {path.n_support[k]} support vectors\n"
        f"error {path.training_error[k]:.1%} in training, {true_error[k]:.1%} in truth",
        loc="left",
        fontsize=9.5,
    )
