r"""
Choosing C and γ
================

A machine with the Gaussian kernel has two parameters: C, the penalty of an error, and γ, which in :math:`k(x, y) =
\exp(-\gamma \lVert x - y \rVert^2)` sets how far the influence of a point reaches (:math:`\gamma = 1 / 2\ell^2` for the
lengthscale ℓ). Only their orders of magnitude matter, so we search powers of two and plot the cross-validated score, as
LIBSVM's grid.py does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC
from mercer.plot import GridDisplay

plt.rcParams.update({"font.size": 10})

X, y = load_breast_cancer(return_X_y=True)
X_fit, X_test, y_fit, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
folds = StratifiedKFold(5, shuffle=True, random_state=0)


def search(log_C, log_gamma):
    model = make_pipeline(StandardScaler(), SVC())
    grid = {"svc__C": 2.0 ** np.array(log_C), "svc__gamma": 2.0 ** np.array(log_gamma)}
    return GridSearchCV(model, grid, cv=folds).fit(X_fit, y_fit)


# %%
# **A coarse grid** shows the overall shape: a ridge that runs down to the right. A smoother kernel (small γ) needs a
# larger C for the same boundary. Far above the ridge no two points are similar to the kernel; below it, the machine is
# nearly constant and predicts the larger class.

coarse = search(np.arange(-5, 16, 2), np.arange(-15, 4, 2))
display = GridDisplay.from_cv_results(coarse.cv_results_)

# %%
# **A fine grid** around the best point seldom finds much: near the top the score is flat, and differences of half a per
# cent are two patients in four hundred. The highest score of a search is optimistic, because it was selected for being
# high; measure the machine on data that the search did not use.

a, b = np.log2([coarse.best_params_["svc__C"], coarse.best_params_["svc__gamma"]])
fine = search(np.arange(a - 2, a + 3), np.arange(b - 2, b + 3))
display = GridDisplay.from_cv_results(fine.cv_results_)

for name, chosen in (("coarse", coarse), ("fine", fine)):
    print(
        f"{name:>6}: {chosen.best_score_:.3f} in cross-validation, {chosen.score(X_test, y_test):.3f} on the test data"
    )
