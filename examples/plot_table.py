r"""
A table with missing values
===========================

`mercer.kernels.Table` builds one kernel for a data frame with numbers, categories and missing values. It does not
impute missing values. Their feature vector is the mean of those of the observed values,

.. math:: \varphi(\text{missing}) = \frac1n \sum_{i=1}^n k(\cdot, x_i),

so a missing value is as similar to a value as the observed values are on average, and the matrix stays positive
definite.
"""

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from mercer import KernelRidge
from mercer.kernels import Gaussian, Table

INK, BLUE, ORANGE, GREY = "#222222", "#1f6fb2", "#d1601f", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **What a missing value is similar to.** With a Gaussian kernel, the similarity of a missing value to an observed value
# t is the mean of the bumps on the sample, a density estimate up to scale. An imputed mean would lie in the gap between
# the two groups, where there are no samples.

rng = np.random.default_rng(0)
heights = np.concatenate([rng.normal(110, 6, 60), rng.normal(172, 8, 60)])
column = {"height": heights}
kernel = Table({"height": Gaussian(6.0)}, combine="sum").resolve(column)
t = np.linspace(85, 205, 400)
missing = kernel({"height": [None]}, {"height": t})[0]
imputed = kernel({"height": [heights.mean()]}, {"height": t})[0]

figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
ax.plot(t, imputed, color=GREY, label="the mean value, 141 cm")
ax.plot(t, missing, color=BLUE, linewidth=2, label="a missing value")
ax.plot(heights, np.full(len(heights), -0.02), "|", color=INK, markersize=6)
ax.set(xlabel="height (cm)", ylabel="similarity", ylim=(-0.05, 1.05))
ax.legend(frameon=False)

# %%
# **More and more missing values.** A response depends on two numbers and a category. Values are removed at random, and
# cross-validation compares ridge regression with the automatic kernel on the table as it is, and after imputing means
# and most frequent categories.

n = 300
table = pd.DataFrame(
    {
        "age": np.where(rng.random(n) < 0.5, rng.normal(10, 2, n), rng.normal(45, 8, n)),
        "income": rng.gamma(4, 10, n),
        "city": rng.choice(["Bern", "Oslo", "Rome"], n),
    }
)
level = table["city"].map({"Bern": 0.0, "Oslo": 1.0, "Rome": -1.0})
y = np.sin(table["age"] / 8) + level * (table["income"] > 40) + 0.2 * rng.normal(size=n)
folds = KFold(5, shuffle=True, random_state=0)

filled = make_column_transformer(
    (SimpleImputer(), ["age", "income"]),
    (
        make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(sparse_output=False)),
        ["city"],
    ),
)
models = {
    "impute, then scale": make_pipeline(
        filled, StandardScaler(), KernelRidge(kernel="rbf", alpha=0.1, fit_intercept=True)
    ),
    "Table, gaps and all": KernelRidge(kernel=Table(), alpha=0.1, fit_intercept=True),
}
shares = np.linspace(0, 0.5, 6)
masks = [np.random.default_rng(1).random(table.shape) < share for share in shares]
scores = {
    name: [cross_val_score(model, table.mask(mask), y, cv=folds) for mask in masks]
    for name, model in models.items()
}

figure, ax = plt.subplots(figsize=(7, 3.8), layout="constrained")
for (name, values), colour in zip(scores.items(), (GREY, BLUE), strict=True):
    mean, error = np.mean(values, axis=1), np.std(values, axis=1) / np.sqrt(5)
    ax.plot(shares, mean, color=colour, linewidth=2, marker="o", markersize=4)
    ax.fill_between(shares, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
    ax.annotate(
        name,
        (shares[-1], mean[-1]),
        xytext=(8, 0),
        textcoords="offset points",
        color=colour,
        va="center",
    )
ax.set(
    xlabel="fraction of missing values",
    ylabel="R² on held-out folds",
    xlim=(-0.01, 0.66),
)
ax.set_xticks(shares, [f"{s:.0%}" for s in shares])

# %%
# **The fitted kernel** shows what was chosen.

fitted = models["Table, gaps and all"].fit(table, y)
for name, k in fitted.kernel_.kernels.items():
    print(f"{name:8s} {k}")
