r"""
A report and its warnings
=========================

``mercer.report`` writes one HTML file about an estimator and its data: the optimisation problem, the error compared
with simple baselines, diagnostics, and the warnings a statistician would give. Here it describes a model of 178 wines,
first on the raw data and then after following its advice.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.reports import report

INK = "#222222"
X, y = load_wine(return_X_y=True, as_frame=True)

# %%
# **Raw data.** The column proline has values in the hundreds, others in tenths, and a kernel with a single lengthscale
# sees only proline.

before = report(SVC(), X, y, title="Wines, unscaled")
print(before)

# %%
# **With scaling in a pipeline**, where each fold computes its own, no warnings remain.

scaled = make_pipeline(StandardScaler(), SVC())
after = report(scaled, X, y, title="Wines, scaled")
print(after)

# %%
# The kernel matrices, which both reports show, explain why: samples are ordered by class, and only scaling reveals
# three blocks.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
raw = SVC().fit(X, y).kernel_(X.to_numpy())
blocks = scaled.fit(X, y)[-1].kernel_(scaled[:-1].transform(X))
for ax, K, found in zip(axes, (raw, blocks), (before, after), strict=True):
    image = ax.imshow(K, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    ends = [0, *y.value_counts(sort=False).cumsum()]
    middles = [(a + b) / 2 for a, b in pairwise(ends)]
    ax.set_yticks(middles, [f"class {k}" for k in range(3)], color=INK)
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    count = len(found.warnings)
    ax.set_title(f"{found.title}: {count or 'no'} warnings", loc="left", fontsize=11, color=INK)
bar = figure.colorbar(image, ax=axes, shrink=0.8, label="similarity")
bar.outline.set_visible(False)

# %%
# The page itself. ``after.save("wine.html")`` writes a file that needs no network.

after
