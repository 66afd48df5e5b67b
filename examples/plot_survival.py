r"""
Survival times
==============

How long until an event, if for many samples it had not happened by the end of the study? Cox's loss compares each
sample with an event to all samples still at risk at that time, and needs no model of time itself:

.. math:: L(f) = \sum_{i : \text{event}} \Big( \log \sum_{j : t_j \ge t_i} e^{f(x_j)} - f(x_i) \Big).

The factor :math:`e^{f(x)}` multiplies the hazard, whatever its value at each time. The loss couples all samples, which
the representer theorem allows: it only requires that the loss depends on f through its values at the samples.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelMachine

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# The data are three hundred samples. The hazard is highest in the middle: a straight line in x, the usual model, would
# find nothing. Four in ten are censored: they left the study at a random time before their event.

rng = np.random.default_rng(2)
n = 300
X = rng.uniform(-3, 3, (n, 1))


def log_hazard(x):
    return 2 * np.exp(-(x**2)) - 1


event = rng.exponential(np.exp(-log_hazard(X[:, 0])))
leave = rng.exponential(2.5, n)
y = np.column_stack([np.minimum(event, leave), event <= leave])
print(f"{100 * np.mean(y[:, 1] == 0):.0f} % are censored")

# %%
# Targets are two columns, time and event. f is defined up to a constant, because a factor on all hazards cancels. No
# unpenalised part is needed, and in the plot both curves have mean 0 over the samples.

kernel = "gaussian(lengthscale=1)"
model = KernelMachine("cox", kernel=kernel, alpha=1.0).fit(X, y)
line = KernelMachine("cox", kernel="linear", alpha=1e-6).fit(X, y)
f = model.function_(X)

grid = np.linspace(-3, 3, 300)[:, None]
_, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
truth = log_hazard(grid[:, 0]) - log_hazard(X[:, 0]).mean()
axes.plot(grid, truth, color=GREY, linewidth=3, label="true")
axes.plot(grid, model.function_(grid) - f.mean(), color=BLUE, linewidth=2, label="Gaussian kernel")
axes.plot(
    grid,
    line.function_(grid) - line.function_(X).mean(),
    color=ORANGE,
    linewidth=1.5,
    label="linear",
)
for happened, height in ((1, -1.25), (0, -1.35)):
    axes.plot(
        X[y[:, 1] == happened, 0],
        np.full(int(np.sum(y[:, 1] == happened)), height),
        "|",
        color=INK if happened else GREY,
        markersize=6,
    )
axes.text(3.05, -1.25, "events", color=INK, fontsize=8, va="center")
axes.text(3.05, -1.35, "censored", color=GREY, fontsize=8, va="center")
axes.set_title("Logarithm of the relative hazard", loc="left", fontsize=11)
axes.set(xlabel="x", xlim=(-3, 3), ylim=(-1.42, 1.6))
axes.legend(frameon=False, loc="upper right")

# %%
# The sums over the risk sets give the common cumulative hazard, with a step at each event (Breslow),
#
# .. math:: \Lambda(t) = \sum_{i : \text{event}, t_i \le t} \Big( \sum_{j : t_j \ge t_i} e^{f(x_j)} \Big)^{-1},
#
# and with it the probability of no event until time t, :math:`S(t \mid x) = \exp(-\Lambda(t)\, e^{f(x)})`. The plot
# shows it for three values of x, with the truth behind.

_, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
times = np.sort(y[y[:, 1] == 1, 0])
at_risk = (y[:, 0][None, :] >= times[:, None]) @ model.predict(X)
cumulative = np.cumsum(1 / at_risk)
for x, colour in ((0.0, ORANGE), (1.0, BLUE), (2.5, INK)):
    survival = np.exp(-cumulative * model.predict([[x]])[0])
    axes.plot(times, np.exp(-times * np.exp(log_hazard(x))), color=colour, alpha=0.3, linewidth=3)
    axes.step(times, survival, color=colour, linewidth=1.5, where="post")
    k = np.searchsorted(times, 1.0)
    axes.annotate(
        f"x = {x:g}", (times[k], survival[k]), (6, 6), textcoords="offset points", color=colour
    )
axes.set_title("Probability of no event until t (pale: true)", loc="left", fontsize=11)
axes.set(xlabel="t", xlim=(0, 3), ylim=(0, 1.02))

# %%
# How often does the sample with the higher f have its event first? `score` is the fraction over all pairs with known
# order, here for new samples; guessing gives 0.5.

X_new = rng.uniform(-3, 3, (2000, 1))
event = rng.exponential(np.exp(-log_hazard(X_new[:, 0])))
y_new = np.column_stack([event, np.ones(2000)])
for name, machine in (("Gaussian kernel", model), ("linear", line)):
    print(f"{name:16s} {machine.score(X_new, y_new):.2f}")
