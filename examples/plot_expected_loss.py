r"""
How well will it do on new data?
================================

`mercer.selection.expected_loss` estimates the leave-one-out loss, without refitting if there is a formula: exactly for
every method that is linear in y and for losses with kinks, by one Newton step for smooth losses. It measures the error
of the approximation on twenty refits and reports it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLogisticRegression, KernelMachine, KernelRidge
from mercer.selection import expected_loss

INK, GREY, BLUE, ORANGE = "#222222", "#8a8a8a", "#1f6fb2", "#d1601f"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)


def draw(n, rng):
    x = rng.uniform(0, 6, n)
    return x[:, None], np.sin(x) + 0.25 * rng.standard_t(4, n)


X, y = draw(80, np.random.default_rng(0))
X_new, y_new = draw(20_000, np.random.default_rng(1))
kernel = "gaussian(lengthscale=0.3)"

# %%
# **Three losses over alpha.** The training error falls with alpha and is uninformative; the leave-one-out error has its
# minimum where the true error has. Blue bands are one standard error wide. Dots are n refits: they lie on the curve
# where the formula is exact, and near it where the formula is one Newton step, whose own error grows as alpha falls.

alphas = np.logspace(-2, 1.5, 16)
panels = {
    "squares: closed form": lambda a: KernelRidge(alpha=a, kernel=kernel, fit_intercept=True),
    "Huber: one Newton step": lambda a: KernelMachine(
        "huber(delta=0.3)", kernel=kernel, alpha=a, free=0
    ),
    "absolute: path of kinks": lambda a: KernelMachine("absolute", kernel=kernel, alpha=a, free=0),
}
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.5), layout="constrained", sharey=True)
for ax, (name, make) in zip(axes, panels.items(), strict=True):
    models = [make(a).fit(X, y) for a in alphas]
    found = [expected_loss(m, X, y, loss="absolute") for m in models]
    left_out, error = np.array([(f.estimate, f.standard_error) for f in found]).T
    ax.fill_between(alphas, left_out - error, left_out + error, color=BLUE, alpha=0.15, linewidth=0)
    ax.semilogx(alphas, left_out, color=BLUE, linewidth=2, label="left out")
    few = slice(0, None, 3)
    refits = [expected_loss(m, X, y, "refit", "absolute").estimate for m in models[few]]
    ax.plot(alphas[few], refits, "o", color=BLUE, markersize=4.5, label="n refits")
    truth = [np.mean(np.abs(y_new - m.predict(X_new))) for m in models]
    ax.plot(alphas, truth, color=ORANGE, linewidth=2, label="20 000 new samples")
    training = [np.mean(np.abs(y - m.predict(X))) for m in models]
    ax.plot(alphas, training, color=GREY, linewidth=1.5, label="training")
    ax.set_title(name, loc="left", fontsize=11)
    ax.set(xlabel="alpha", ylim=(0.1, 0.6))
    worst = max(f.approximation_error for f in found)
    print(f"{name}, found as {found[0].method!r}; error of the approximation at most {worst:.2g}")
axes[0].set_ylabel("mean absolute error")
axes[0].legend(frameon=False, loc="upper left")

# %%
# **Several estimates of one number.** The log-likelihood of a logistic machine on new samples, by all methods that are
# defined for it. Criteria that add a bias term to the training loss have no standard error.

rng = np.random.default_rng(3)


def label(Z):
    return np.where(
        rng.uniform(size=len(Z)) < 1 / (1 + np.exp(-4 * np.sin(2 * Z[:, 0]) - Z[:, 1])), "yes", "no"
    )


Z, Z_new = rng.normal(size=(90, 2)), rng.normal(size=(20_000, 2))
labels, labels_new = label(Z), label(Z_new)
machine = KernelLogisticRegression("gaussian(lengthscale=1.0)", alpha=0.5).fit(Z, labels)


def log_loss(points, targets):
    p = machine.predict_proba(points)[np.arange(len(points)), (targets == "yes").astype(int)]
    return -np.mean(np.log(p))


names = {
    "newton": "one Newton step",
    "refit": "n refits",
    "kfold": "ten folds",
    "gacv": "GACV, random traces",
    "aic": "AIC",
    "gic": "GIC",
}
figure, ax = plt.subplots(figsize=(8.5, 3.2), layout="constrained")
for row, method in enumerate(reversed(names)):
    found = expected_loss(machine, Z, labels, method, "log")
    ax.errorbar(
        found.estimate,
        row,
        xerr=found.standard_error,
        fmt="o",
        color=BLUE,
        markersize=6,
        linewidth=2,
    )
ax.axvline(log_loss(Z_new, labels_new), color=ORANGE, linewidth=2)
ax.axvline(log_loss(Z, labels), color=GREY, linewidth=1.5)
for value, text, colour in (
    (log_loss(Z_new, labels_new), "20 000 new samples", ORANGE),
    (log_loss(Z, labels), "training", GREY),
):
    ax.text(value + 0.001, len(names) - 0.45, text, color=colour, fontsize=9)
ax.set(
    yticks=range(len(names)), yticklabels=list(names.values())[::-1], ylim=(-0.5, len(names) - 0.1)
)
ax.set(xlabel="minus log-likelihood of a sample, with its standard error")
ax.tick_params(axis="y", length=0)
ax.spines["left"].set_visible(False)
print(expected_loss(machine, Z, labels, loss="log"))
plt.show()
