"""Kernel k-means."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from mercer import KernelKMeans
from mercer.datasets import load_wine, make_circles
from mercer.kernels import Gaussian, Linear

from ._base import Result, experiment
from ._lectures import BLUE, GREY, INK, ORANGE, SLIDES


@experiment("kmeans", "Kernel k-means finds a ring and what it encloses", f"{SLIDES}, 5", minutes=0.1)
def kmeans(result: Result, quick: bool, draw: Any) -> None:
    """Means in the space of a kernel, which k-means in the plane cannot have."""
    X, ring = make_circles(400, random_state=0)
    kernels = {"linear": Linear(), "Gaussian": Gaussian(0.4)}
    models = {name: KernelKMeans(2, kernel=kernel, random_state=0).fit(X) for name, kernel in kernels.items()}
    for name, model in models.items():
        result.add(
            f"ring, {name} kernel: agreement with the classes",
            "a picture",
            f"{adjusted_rand_score(ring, model.labels_):.3f}",
            "adjusted Rand index",
        )
    wide = KernelKMeans(2, kernel=Gaussian(0.8), random_state=0).fit(X)
    result.add(
        "  ℓ = 0.8 instead of 0.4",
        "–",
        f"{adjusted_rand_score(ring, wide.labels_):.3f}",
        "a wide kernel cuts the ring, as the linear one",
    )
    model = models["Gaussian"]
    K, member = model.kernel_(X), np.eye(2)[model.labels_]
    share = member / member.sum(axis=0)
    direct = np.trace(K) - np.trace(share.T @ K @ member)
    result.add("Σ_k Σ_{i in k} ‖Φ(Xᵢ) − m_k‖²", "the objective", f"{model.inertia_:.6f}", f"{direct:.6f} by hand")
    rises = int(np.sum(np.diff(model.history_) > 1e-9))
    result.add("rounds in which the objective rises", "iterative algorithm", rises, f"{model.n_iter_} rounds")
    W, grower = load_wine(return_X_y=True)
    W = StandardScaler().fit_transform(W)
    for name, kernel in {"linear": Linear(), "Gaussian": Gaussian("median")}.items():
        found = KernelKMeans(3, kernel=kernel, random_state=0).fit(W).labels_
        result.add(
            f"wine, {name} kernel: agreement with the growers",
            "–",
            f"{adjusted_rand_score(grower, found):.3f}",
            f"{max(np.bincount(found))} wines in the largest cluster",
        )
    result.note("The slides state the method and show one picture, of unknown points. The wines are standardised.")
    result.note(
        "ℓ = 0.4 was chosen with the classes in view: of nine ℓ from 0.2 to 0.8, those from 0.25 to 0.5 find the ring. "
        "At 0.6 the ring has the lower objective, but twenty starts missed it."
    )
    x0, x1 = np.meshgrid(*2 * [np.linspace(-1.5, 1.5, 200)])
    plane = np.column_stack([x0.ravel(), x1.ravel()])
    with draw("clusters", ncols=3, figsize=(10.4, 3.7)) as (_, axes):
        for ax, (name, model) in zip(axes, models.items(), strict=False):
            inner = int(model.predict([[0.0, 0.0]])[0])
            distance = model.transform(plane)
            for mine, tint in ((model.labels_ == inner, ORANGE), (model.labels_ != inner, BLUE)):
                ax.plot(*X[mine].T, ".", color=tint, markersize=4)
            ax.contour(x0, x1, (distance[:, 0] - distance[:, 1]).reshape(x0.shape), [0], colors=INK, linewidths=1.2)
            ax.set_title(f"{name[0].upper()}{name[1:]} kernel")
        axes[2].contourf(x0, x1, model.function_[inner](plane).reshape(x0.shape), 12, cmap="Oranges")
        axes[2].plot(*X.T, ".", color=GREY, markersize=1.5)
        axes[2].set_title("The mean inside, as a function")
        for ax in axes:
            ax.set(aspect="equal", xticks=[], yticks=[], xlim=(-1.5, 1.5), ylim=(-1.5, 1.5))
            ax.spines[:].set_visible(False)
