"""Several related problems: learnt together, and carried over to a new sample without labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import LeaveOneGroupOut

from mercer import SVC, MarginalTransfer, MultitaskKernelRidge, MultitaskSVC
from mercer.datasets import load_vowel, make_shifted, make_tasks
from mercer.kernels import Fourier, Gaussian
from mercer.kernels.sets import DistributionGaussian
from mercer.selection import KernelSearchCV

from ._base import Result, experiment
from ._lectures import BLUE, GREY, INK, ORANGE, REPRESENTER_NOTES


@experiment("multitask", "Many tasks learnt together", REPRESENTER_NOTES, minutes=0.1)
def multitask(result: Result, quick: bool, draw: Any) -> None:
    """Regression on functions with a known part in common: alone, pooled, and coupled."""
    repeats = 2 if quick else 10
    relations = (0.0, 0.5, 0.8, 0.95)
    kernel = Fourier(period=2 * np.pi, decay=1.0, n=5)
    couplings = {"alone": 0.0, "pooled": 1.0, "together": "auto"}
    errors = np.empty((len(relations), repeats, len(couplings)))
    shares = np.empty((len(relations), repeats))
    grid = np.linspace(0, 2 * np.pi, 120)
    shown: Any = None
    for i, relation in enumerate(relations):
        for r in range(repeats):
            (X, y), (_, clean) = (
                make_tasks(72, 8, relatedness=relation, noise=noise, random_state=r) for noise in (0.3, 0.0)
            )
            new = np.arange(len(X)) % 72 >= 12
            models = {
                name: MultitaskKernelRidge(kernel=kernel, task=1, coupling=c).fit(X[~new], y[~new])
                for name, c in couplings.items()
            }
            errors[i, r] = [np.mean((m.predict(X[new]) - clean[new]) ** 2) for m in models.values()]
            shares[i, r] = models["together"].share_
            if relation == 0.8 and r == 0:
                shown = X, y, models, clean, new
    mean = errors.mean(axis=1)
    for i, relation in enumerate(relations):
        result.add(
            f"ρ = {relation:g}: mean square error",
            "tasks help each other",
            " / ".join(f"{e:.3f}" for e in mean[i]),
            f"alone / pooled / together; share found {shares[i].mean():.2f}",
        )
    right = np.mean([_vowels(r) for r in range(2 if quick else 5)], axis=0)
    result.add(
        "vowels of 15 speakers: right",
        "–",
        " / ".join(f"{value:.1%}" for value in right),
        "alone / pooled / a share of ½; one utterance each of 11 vowels to learn from",
    )
    result.note(
        f"{repeats} draws of eight tasks with 12 points each, functions of correlation ρ, noise of 0.3; the "
        "share is chosen by leave-one-out. The notes cite Evgeniou, Micchelli and Pontil, whose data are not "
        "at hand; the vowels are real. "
        "Their C, ℓ and share of ½ are fixed by hand, after a look at one of the splits."
    )
    X, y, models, clean, new = shown
    with draw("tasks", ncols=3, figsize=(10.8, 3.8)) as (_, axes):
        for t, ax in enumerate(axes[:2]):
            rows = np.flatnonzero(X[:, 1] == t)
            order, mine = rows[np.argsort(X[rows, 0])], rows[~new[rows]]
            ax.plot(X[order, 0], clean[order], color=GREY, linewidth=4, alpha=0.45, label="the function")
            points = np.column_stack([grid, np.full(len(grid), t)])
            ax.plot(grid, models["alone"].predict(points), color=ORANGE, linewidth=1.3, label="alone")
            ax.plot(grid, models["together"].predict(points), color=BLUE, linewidth=1.8, label="together")
            ax.plot(X[mine, 0], y[mine], "o", color=INK, markersize=4)
            ax.set(title=f"Task {t + 1} of 8, $\\rho$ = 0.8", xlabel="x")
        axes[0].legend(frameon=False, fontsize=9)
        for name, values, tint in zip(couplings, mean.T, (ORANGE, GREY, BLUE), strict=True):
            axes[2].plot(relations, values, "o-", color=tint, markersize=4, label=name)
        axes[2].set(title="Mean square error", xlabel=r"relation $\rho$ of the tasks", ylim=(0, None))
        axes[2].legend(frameon=False, fontsize=9)


def _vowels(seed: int) -> list[float]:
    """Accuracy of speakers alone, pooled and coupled, from one utterance of each vowel."""
    data, rng = load_vowel(subset="all"), np.random.default_rng(seed)
    X = np.column_stack([(data.data - data.data.mean(axis=0)) / data.data.std(axis=0), data.groups])
    order = rng.permutation(len(X))
    _, first = np.unique(np.stack([data.groups, data.target])[:, order], axis=1, return_index=True)
    new = np.delete(order, first)
    fit = order[first]
    machines = [MultitaskSVC(C=10.0, kernel=Gaussian(1.5), task=X.shape[1] - 1, coupling=c) for c in (0.0, 1.0, 0.5)]
    return [machine.fit(X[fit], data.target[fit]).score(X[new], data.target[new]) for machine in machines]


@experiment("transfer", "Classification of a new sample without labels", REPRESENTER_NOTES, minutes=0.1)
def transfer(result: Result, quick: bool, draw: Any) -> None:
    """Blanchard, Lee and Scott's product kernel of samples and points, against one machine for all."""
    counts = (5, 20) if quick else (5, 10, 20, 40, 80)
    X, y, groups = make_shifted(30, counts[-1], random_state=0)
    new, truth, unseen = make_shifted(30, 30, random_state=1)
    machine = SVC(kernel=Gaussian(2.0), C=10.0)
    distributions = DistributionGaussian(Gaussian(2.0), lengthscale="median")
    right = np.empty((len(counts), 2))
    for i, n in enumerate(counts):
        few = groups < n
        pooled = SVC(kernel=Gaussian(2.0), C=10.0).fit(X[few], y[few])
        carried = MarginalTransfer(machine, distributions).fit(X[few], y[few], groups=groups[few])
        right[i] = pooled.score(new, truth), carried.score(new, truth, groups=unseen)
        result.add(
            f"{n} samples to learn from: right on new ones", "–", f"{right[i, 1]:.1%}", f"{right[i, 0]:.1%} pooled"
        )
    old, other = load_vowel(), load_vowel(subset="test")
    centre, size = old.data.mean(axis=0), old.data.std(axis=0)
    speech, later = (old.data - centre) / size, (other.data - centre) / size
    search = KernelSearchCV(
        SVC(kernel=Gaussian(1.0), C=10.0), {"kernel__lengthscale": [1.0, 2.0, 3.0]}, cv=LeaveOneGroupOut()
    )
    search.fit(speech, old.target, groups=old.groups)
    voices = MarginalTransfer(search.best_estimator_, DistributionGaussian(Gaussian(2.0), lengthscale="median"))
    voices.fit(speech, old.target, groups=old.groups)
    result.add(
        "vowels of 7 new speakers: right",
        "–",
        f"{voices.score(later, other.target, groups=other.groups):.1%}",
        f"{search.score(later, other.target):.1%} pooled; 8 speakers to learn from",
    )
    result.note(
        "Each simulated sample has a place, a direction and a boundary of its own, which the unlabelled "
        "points of a new one show. The notes cite Blanchard, Lee and Scott, whose flow-cytometry data are not "
        "at hand; the vowels are real."
    )
    with draw("samples", ncols=3, figsize=(10.8, 3.7)) as (_, axes):
        grid = np.stack(np.meshgrid(*2 * [np.linspace(-5, 5, 80)]), axis=-1).reshape(-1, 2)
        for ax, g in zip(axes[:2], (1, 12), strict=True):
            mine = unseen == g
            field = carried.decision_function(grid, sample=new[mine]).reshape(80, 80)
            ax.contourf(field, [-1e9, 0, 1e9], colors=[BLUE, ORANGE], alpha=0.13, extent=(-5, 5, -5, 5))
            other = pooled.decision_function(grid).reshape(80, 80)
            ax.contour(other, [0], colors=GREY, linewidths=0.9, linestyles="--", extent=(-5, 5, -5, 5))
            ax.contour(field, [0], colors=INK, linewidths=1.2, extent=(-5, 5, -5, 5))
            for label, tint, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
                ax.plot(
                    *new[mine & (truth == label)].T,
                    marker,
                    color=tint,
                    markersize=5,
                    markeredgecolor="white",
                    markeredgewidth=0.5,
                )
            good = np.mean(carried.predict(new[mine]) == truth[mine])
            ax.set(title=f"A new sample: {good:.0%} right", aspect="equal", xticks=[], yticks=[])
        axes[1].plot([], [], color=INK, label="transfer")
        axes[1].plot([], [], color=GREY, linestyle="--", label="pooled")
        axes[1].legend(frameon=False, fontsize=9, loc="lower right")
        for column, tint, name in ((0, ORANGE, "pooled"), (1, BLUE, "transfer")):
            axes[2].plot(counts, 100 * right[:, column], "o-", color=tint, markersize=4, label=name)
        axes[2].set(title="% right on new samples", xlabel="samples to learn from", ylim=(50, 100))
        axes[2].legend(frameon=False, loc="center right")
