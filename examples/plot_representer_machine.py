r"""
One machine for any loss
========================

For any loss and any increasing penalty Ψ, the best function of the space is a sum over the samples:

.. math:: \min_{f \in H,\, c}\; \sum_i w_i\, \ell\Big(y_i,\, f(x_i) + \sum_b c_b h_b(x_i)\Big)
          + \alpha\, \Psi(\|f\|_H) \quad\Longrightarrow\quad f = \sum_i a_i\, k(\cdot, x_i).

`mercer.KernelMachine` is this theorem as an estimator. With one sample and one kernel, we vary each of the three
choices in turn, and then look at the theorem itself.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import RKHS, KernelMachine
from mercer.kernels import Gaussian

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#1b8a6b", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

rng = np.random.default_rng(4)
X = np.sort(rng.uniform(0, 6, 60))[:, None]
y = np.sin(1.5 * X[:, 0]) + 0.4 * X[:, 0] + 0.3 * rng.normal(size=60)
y[[18, 20, 23]] += 4
kernel = Gaussian(lengthscale=0.8)
grid = np.linspace(-1.5, 7.5, 400)[:, None]

# %%
# **The loss** decides how to treat three outliers. The squared loss follows them, Huber's loss feels a constant pull,
# Hampel's none at all. The pinball loss fits a different curve: the one with a tenth of the samples below it.
#
# **The unpenalised part** decides where f goes without data: to zero, to a constant, to a line.
#
# **The penalty** limits the norm, here with Huber's loss. The squared norm is the usual choice. The norm itself may
# give exactly f = 0. A ball is a budget.

choices = {
    "loss": [
        ("squares", ORANGE, "-", {"loss": "squared", "alpha": 0.3}),
        ("Huber", BLUE, "-", {"loss": "huber(delta=0.2)", "alpha": 0.1}),
        ("Hampel", GREEN, (0, (4, 2)), {"loss": "hampel(a=0.2, b=0.4, c=1)", "alpha": 0.1}),
        ("pinball, 10 %", GREY, "-", {"loss": "pinball(quantile=0.1)", "alpha": 0.1}),
    ],
    "unpenalised part": [
        ("none", ORANGE, "-", {"free": None}),
        ("constant", GREEN, "-", {"free": 0}),
        ("line", BLUE, "-", {"free": 1}),
    ],
    "penalty": [
        ("‖f‖²/2", BLUE, "-", {}),
        ("‖f‖", GREEN, "-", {"penalty": "norm", "alpha": 1.5}),
        ("‖f‖ ≤ ½", ORANGE, "-", {"penalty": ("ball", 0.5), "alpha": 1.0}),
    ],
}
figure, axes = plt.subplots(1, 3, figsize=(11.5, 4), sharey=True, layout="constrained")
for ax, (choice, cases) in zip(axes, choices.items(), strict=True):
    ax.axvspan(0, 6, color="#f4f4f4", zorder=0)
    ax.plot(X[:, 0], y, "o", color=INK, markersize=2.5, zorder=3)
    for name, colour, style, changes in cases:
        settings = {
            "loss": "huber(delta=0.2)",
            "kernel": kernel,
            "alpha": 0.1,
            "free": 1,
            **changes,
        }
        model = KernelMachine(**settings).fit(X, y)
        ax.plot(grid, model.predict(grid), color=colour, linestyle=style, linewidth=1.8, label=name)
        print(
            f"{choice:9s}  {name:14s} {model.solution_.method:12s} ‖f‖ = {model.function_.norm():.2f}"
        )
    ax.set_title(f"the {choice}", loc="left", fontsize=11)
    ax.set(xlim=(-1.5, 7.5), ylim=(-1.6, 6.6), xticks=range(0, 7, 2), xlabel="x")
    ax.legend(frameon=False, loc="upper left", fontsize=9, handlelength=1.8)

# %%
# **The theorem.** Take any function of the space, for example the section at a point between the samples, and subtract
# its projection onto the sections at the samples. The remainder g is orthogonal to all of these, and hence zero at
# every sample. f and f + tg have the same loss but different norms:
#
# .. math:: J(f + t g) = J(f) + \tfrac{\alpha}{2} t^2 \|g\|^2.

few = np.array([[0.3], [1.2], [2.1], [3.9], [4.8], [5.6]])
targets = np.array([0.5, 1.6, 0.9, 1.1, 2.4, 3.2])
alpha = 0.3
H = RKHS(kernel)
section = H.evaluation(np.array([3.0])) + H.evaluation(np.array([6.5]))
g = section - H.project(section, few)
g = g / g.norm()
print(f"largest |g| at a sample: {np.abs(g(few)).max():.1e}")


def objective(loss, f):
    return loss.total(targets, f(few)) + alpha / 2 * f.norm() ** 2


# %%
# Left: f for Huber's loss and the functions f + tg, which all pass through the same points. Right: the objectives of
# three losses along t. The three problems have different solutions f, but the objectives rise equally.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 4), width_ratios=[1.35, 1], layout="constrained"
)
inside = np.linspace(-0.5, 6.9, 400)[:, None]
steps = np.linspace(-2.5, 2.5, 41)
for name, colour in (("absolute", GREEN), ("squared", ORANGE), ("huber(delta=0.2)", BLUE)):
    model = KernelMachine(name, kernel=kernel, alpha=alpha).fit(few, targets)
    f, loss = model.function_, model.loss_
    values = [objective(loss, f + t * g) for t in steps]
    right.plot(steps, values, color=colour, linewidth=1.8)
    right.plot(0, objective(loss, f), "o", color=colour, markersize=6)
    right.annotate(
        name,
        (0, objective(loss, f)),
        (0, -9),
        textcoords="offset points",
        color=colour,
        ha="center",
        va="top",
    )
    rise = objective(loss, f + g) - objective(loss, f)
    print(f"{name:17s} J(f) = {objective(loss, f):.4f}   J(f + g) − J(f) = {rise:.6f}")
right.set_title("J(f + tg) is least at t = 0", loc="left", fontsize=11)
right.set(xlabel="t", xticks=range(-2, 3), ylim=(0, None))

for t in (-2, -1, 1, 2):
    curve = (f + t * g)(inside)
    left.plot(inside, curve, color=GREY, linewidth=1)
    left.annotate(
        f"t = {t}".replace("-", "−"),
        (6.95, curve[-1]),
        color="#666666",
        va="center",
        annotation_clip=False,
    )
left.plot(inside, f(inside), color=BLUE, linewidth=2.2)
left.plot(few[:, 0], f(few), "o", color=BLUE, markersize=6, zorder=4)
left.plot(few[:, 0], targets, "o", color=INK, markersize=3.5, zorder=4)
left.text(1.3, 1.66, "y", color=INK, style="italic")
left.set_title("f and f + tg have the same values at the samples", loc="left", fontsize=11)
left.set(xlim=(-0.5, 6.9), xticks=range(7), xlabel="x")
