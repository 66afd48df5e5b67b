r"""
Robust regression
=================

In least squares, a sample that is far off has the largest influence. A robust loss bounds the influence of each sample,

.. math:: \min_{f \in H,\, c}\; \sum_i s^2 \rho\!\left(\frac{y_i - f(x_i) - c}{s}\right)
          + \tfrac{\alpha}{2} \|f\|_H^2,

where s is the scale of the errors. Huber's ρ is quadratic near zero and linear beyond, and so all outliers pull with
the same small force. Hampel's bends back, and so distant outliers do not pull at all.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, RobustKernelRegression

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# The data are a hundred samples of a sine. On the right, a third of them are wrong, all on the same side: an instrument
# occasionally reads four units too high.

rng = np.random.default_rng(5)
X = np.sort(rng.uniform(0, 6, 100))[:, None]
truth = np.sin(X[:, 0])
y = truth + 0.15 * rng.normal(size=100)
wrong = (X[:, 0] > 2.5) & (rng.random(100) < 0.33)
y[wrong] += 4 + 0.3 * rng.normal(size=wrong.sum())
grid = np.linspace(0, 6, 301)[:, None]

settings = {"kernel": "gaussian(lengthscale=1.0)", "alpha": 0.3}
models = {
    "least squares": KernelRidge(**settings, free=0),
    "Huber": RobustKernelRegression(**settings),
    "Hampel": RobustKernelRegression(**settings, loss="hampel"),
}
for model in models.values():
    model.fit(X, y)

# %%
# The scale is estimated from the data, by the median of the residuals of a robust pilot fit. Left: the three curves;
# the dashed line is the truth. Right: the weight ρ′(r)/r of each sample in the solution, from one (full weight) to zero
# (ignored).

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.2), layout="constrained", gridspec_kw={"width_ratios": [3, 2]}
)
colours = {"least squares": GREY, "Huber": ORANGE, "Hampel": BLUE}
left.plot(X[~wrong], y[~wrong], "o", color=INK, markersize=3, alpha=0.5)
left.plot(X[wrong], y[wrong], "x", color=INK, markersize=5, alpha=0.5)
left.plot(grid, np.sin(grid), "--", color=INK, linewidth=1)
raised = {"least squares": 0.0, "Huber": 0.16, "Hampel": -0.16}  # keep the names apart
for name, model in models.items():
    curve = model.predict(grid)
    left.plot(grid, curve, color=colours[name], linewidth=2)
    place = (6.08, curve[-1] + raised[name])
    left.annotate(name, place, color=colours[name], va="center", annotation_clip=False)
left.annotate("wrong by about four", (4.3, 4.35), color=INK, alpha=0.7, ha="center")
left.set(xlim=(0, 6), ylim=(-1.7, 5.5), xticks=range(7), yticks=[-1, 0, 1, 2, 3, 4, 5], xlabel="x")
left.set_title("a third of the samples right of 2.5 are wrong", loc="left", fontsize=11)

units = np.linspace(0.01, 28, 500)
places = {"Huber": (8.0, 0.23), "Hampel": (4.6, 0.46)}
for name, place in places.items():
    model = models[name]
    r = np.abs(y - model.predict(X)) / model.scale_
    weight = model.loss_.majorizer(model.scale_ * units, 0 * units)
    right.plot(units, weight, color=colours[name], linewidth=1, alpha=0.7)
    right.plot(r, model.robustness_, "o", color=colours[name], markersize=4, alpha=0.6, mew=0)
    right.annotate(name, place, color=colours[name], va="center")
right.set(xlim=(0, 28), ylim=(-0.03, 1.05), yticks=[0, 0.5, 1], xlabel="residual, in units of s")
right.set_title("weight of each sample", loc="left", fontsize=11)

# %%
# The distance of each curve from the truth, and the estimated scale; the true one is 0.15.

for name, model in models.items():
    error = np.sqrt(np.mean((model.predict(grid) - np.sin(grid[:, 0])) ** 2))
    print(f"{name:13s}  root mean squared error {error:.3f}")
print(f"scale: {models['Huber'].scale_:.3f}")
