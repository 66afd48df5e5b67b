r"""
Probabilities from a support vector machine
===========================================

The value :math:`f(x)` of a machine gives the class and, in arbitrary units, how clear the decision is. A calibrated
machine turns it into a probability by the most likely map of the form

.. math:: P(y = 1 \mid x) = \frac{1}{1 + e^{-a f(x)}}, \qquad a = a_+ \text{ where } f > 0,\; a_- \text{ where } f < 0.

The map is monotone and maps 0 to ½, so the more probable class is the predicted one. Its two slopes must not come from
training points, which the machine itself has pushed out of the margin: each fifth of the sample is held out in turn and
scored by a machine fitted to the rest.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb

from mercer import SVC

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#2f8f5b", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)


# %%
# **Two classes** with known densities, one narrow and one wide: the correct answer is known everywhere.


class Mixture:
    """Classes with normal densities around their centres, and their fractions of the samples."""

    def __init__(self, centres, widths, shares):
        self.centres, self.widths = np.array(centres, dtype=float), np.array(widths)
        self.shares = np.array(shares)

    def draw(self, n, rng):
        y = rng.choice(len(self.shares), n, p=self.shares)
        return self.centres[y] + self.widths[y, None] * rng.normal(size=(n, 2)), y

    def probabilities(self, X):
        squared = ((X[:, None] - self.centres) ** 2).sum(axis=2)
        density = self.shares * np.exp(-squared / (2 * self.widths**2)) / self.widths**2
        return density / density.sum(axis=1, keepdims=True)


def brier(p, y):
    return np.mean(np.sum((p - np.eye(p.shape[1])[y]) ** 2, axis=1))


rng = np.random.default_rng(0)
two = Mixture([(0, 0), (2.1, 0)], [1.6, 0.8], [0.6, 0.4])
X, y = two.draw(1000, rng)
X_new, y_new = two.draw(6000, rng)
model = SVC(C=1, gamma=0.1, calibration="cv").fit(X, y)
f, p = model.decision_function(X_new), model.predict_proba(X_new)[:, 1]

# %%
# We count on 6,000 new points. Left: how often the second class has a value near f, with two standard deviations, and
# the map that was fitted without them; below, the number of points. The two slopes differ: among the points of the
# narrow class there are always some of the wide one, and the machine cannot be as sure of it. Right: the same against
# the predicted probability. Where the machine's boundary is slightly off the true one, no map that maps 0 to ½ can
# correct it: the price of probabilities that never contradict the prediction.


def counted(by, edges):
    """In each bin the mean of `by`, the fraction of the second class, and two standard deviations."""
    bins = np.digitize(by, edges[1:-1])
    n = np.bincount(bins)
    share = np.bincount(bins, weights=y_new) / n
    return np.bincount(bins, weights=by) / n, share, 2 * np.sqrt(share * (1 - share) / n)


figure, (left, right) = plt.subplots(
    1, 2, figsize=(10, 4.4), layout="constrained", width_ratios=[1.35, 1]
)
grid = np.linspace(-3, 2, 400)
minus, plus = model.calibration_.slopes[0]
bins, weights = np.linspace(-3, 2, 64), [np.full(np.sum(y_new == c), 1 / 1500) for c in (0, 1)]
values, tints = [f[y_new == 0], f[y_new == 1]], ["#c9dcec", "#f3d5c3"]
left.hist(values, bins, weights=weights, stacked=True, color=tints)
left.plot(grid, 1 / (1 + np.exp(-np.where(grid < 0, minus, plus) * grid)), color=INK, linewidth=2)
dots = {"fmt": "o", "color": GREEN, "markersize": 4.5, "linewidth": 1}
left.errorbar(*counted(f, np.quantile(f, np.linspace(0, 1, 21))), **dots)
left.plot([-3, 0, 0], [0.5, 0.5, 0], color=GREY, linewidth=1, linestyle=(0, (4, 2)))
left.text(-2.9, 0.53, "f = 0  ↦  ½", color="#777777")
left.text(-0.62, 0.30, f"$a_-$ = {minus:.2f}", color=INK, ha="right")
left.text(0.62, 0.88, f"$a_+$ = {plus:.2f}", color=INK, ha="right")
left.set(xlim=(-3, 2), ylim=(0, 1), xlabel="value f of the machine")
left.set(xticks=[-3, -2, -1, 0, 1, 2], yticks=[0, 0.5, 1])
left.set_title("Fraction of the second class, and the map", loc="left", fontsize=11)

right.plot([0, 1], [0, 1], color=GREY, linewidth=1, linestyle=(0, (4, 2)))
right.errorbar(*counted(p, np.linspace(0, 1, 11)), **dots)
right.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="predicted probability")
right.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1])
right.set_title("Observed", loc="left", fontsize=11)

# %%
# The Brier score is the mean of :math:`\sum_c (p_c - [y = c])^2`. The machine estimates its own from the held-out
# samples; no probabilities are better than the true ones.

scores = {
    "told by the machine": model.calibration_.brier,
    "on new points": brier(model.predict_proba(X_new), y_new),
    "of the true probabilities": brier(two.probabilities(X_new), y_new),
}
for name, score in scores.items():
    print(f"Brier score {name:<26} {score:.3f}")

# %%
# **Three classes.** Each pair has its own machine and its own two slopes, which give
# :math:`r_{ij} \approx P(i \mid i \text{ or } j)`. The probabilities of the classes are those that agree best with all
# pairs (Wu, Lin and Weng 2004),
#
# .. math:: \min_{p}\; \sum_{i \ne j} (r_{ji} p_i - r_{ij} p_j)^2, \qquad \sum_i p_i = 1.
#
# The colour at each point mixes the class colours by their probabilities; on the lines the most probable class has 60,
# 80 and 95 per cent. Far from all samples the machine falls back on its intercepts and is less certain than the normal
# densities, which extrapolate to any distance.

three = Mixture([(-1.3, -0.6), (1.4, -0.8), (0.1, 1.3)], [0.9, 0.7, 0.8], [0.4, 0.3, 0.3])
rng = np.random.default_rng(1)
X, y = three.draw(450, rng)
model = SVC(C=1, gamma=0.35, calibration="cv").fit(X, y)
window = (-3.6, 3.4, -3, 3.6)
x0, x1 = np.meshgrid(np.linspace(*window[:2], 280), np.linspace(*window[2:], 264))
plane = np.column_stack([x0.ravel(), x1.ravel()])
palette = np.array([to_rgb(colour) for colour in (BLUE, ORANGE, GREEN)])

figure, axes = plt.subplots(1, 2, figsize=(10, 5.1), layout="constrained", sharex=True, sharey=True)
answers = {"the machine": model.predict_proba, "the truth": three.probabilities}
X_new, y_new = three.draw(6000, rng)
for ax, (name, answer) in zip(axes, answers.items(), strict=True):
    field = answer(plane).reshape(*x0.shape, 3)
    colours = 0.25 + 0.75 * field @ palette
    ax.imshow(colours, origin="lower", extent=window, interpolation="bilinear", alpha=0.75)
    lines = {"colors": "white", "linewidths": [0.8, 1.1, 1.6]}
    ax.contour(x0, x1, field.max(axis=2), [0.6, 0.8, 0.95], **lines)
    for c, marker in enumerate("osD"):
        edge = {"markeredgecolor": "white", "markeredgewidth": 0.5}
        ax.plot(*X[y == c].T, marker, color=palette[c], markersize=4, **edge)
    score = brier(answer(X_new), y_new)
    ax.set(xticks=[], yticks=[], xlim=window[:2], ylim=window[2:], aspect="equal")
    ax.spines[:].set_visible(False)
    ax.set_title(f"{name}: Brier score {score:.3f} on new points", loc="left", fontsize=11)
told = model.calibration_
print(f"held out: Brier score {told.brier:.3f}, log-loss {told.log_loss:.3f}")
