"""Related problems, learnt together, and transferred to a new sample without labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedKFold

from mercer import SVC, MarginalTransfer, MultitaskKernelRidge, MultitaskSVC
from mercer.datasets import load_vowel, make_shifted, make_tasks
from mercer.kernels import Fourier, Gaussian
from mercer.kernels.bandwidth import median
from mercer.selection import KernelSearchCV

from .._palette import BLUE, GREY, INK, ORANGE
from ._base import REPRESENTER_NOTES, Draw, Result, experiment

RELATIONS = (0.0, 0.5, 0.8, 0.95)
COUPLINGS = {"alone": 0.0, "pooled": 1.0, "together": "auto"}
SHARES = [0.0, 0.25, 0.5, 0.75, 1.0]


@experiment("multitask", "Many tasks learnt together", REPRESENTER_NOTES, minutes=0.5)
def multitask(result: Result, quick: bool, draw: Draw) -> None:
    """Regression on functions with a known common part, and the vowels of several speakers."""
    repeats = 2 if quick else 10
    runs = [[learn(relation, r) for r in range(repeats)] for relation in RELATIONS]
    errors = np.array([[run["errors"] for run in row] for row in runs]).mean(axis=1)
    for relation, row, error in zip(RELATIONS, runs, errors, strict=True):
        share = np.mean([run["models"]["together"].share_ for run in row])
        ours = " / ".join(f"{e:.3f}" for e in error)
        remark = f"alone / pooled / together; share found {share:.2f}"
        result.add(f"ρ = {relation:g}: mean square error", "tasks help each other", ours, remark)
    splits = 1 if quick else 3
    try:
        found = np.array([vowels(seed) for seed in range(splits)])
        result.add(
            "vowels of 15 speakers: right",
            "–",
            " / ".join(f"{value:.1%}" for value in found[:, :3].mean(axis=0)),
            f"alone / pooled / together, share {found[:, 3].mean():.2f}; two training utterances per vowel",
        )
    except OSError as missing:  # the rest needs no data
        result.note(f"Skipped: {missing}")
    result.note(
        f"{repeats} draws of eight tasks with 12 points each; functions have correlation ρ, the noise is 0.3. The "
        "kernel has their five frequencies; share and λ are chosen by leave-one-out. The notes cite Evgeniou, "
        "Micchelli and Pontil, whose data are not available. The vowels are real: two of six utterances at random, "
        f"{'once' if quick else f'{splits} times'}; C, ℓ and share by twofold cross-validation on these."
    )
    picture(draw, runs[RELATIONS.index(0.8)][0], errors)


def learn(relation: float, seed: int) -> dict[str, Any]:
    """Eight tasks, each with 12 training points and 60 test points."""
    (X, y), (_, clean) = (make_tasks(72, 8, relatedness=relation, noise=s, random_state=seed) for s in (0.3, 0.0))
    fit = np.arange(len(X)) % 72 < 12
    kernel = Fourier(period=2 * np.pi, decay=1.0, n=5)
    models = {
        name: MultitaskKernelRidge(kernel=kernel, task=1, coupling=coupling).fit(X[fit], y[fit])
        for name, coupling in COUPLINGS.items()
    }
    errors = [np.mean((model.predict(X[~fit]) - clean[~fit]) ** 2) for model in models.values()]
    return {"X": X, "y": y, "clean": clean, "fit": fit, "models": models, "errors": errors}


def vowels(seed: int) -> list[float]:
    """Accuracies with speakers alone, pooled and together, and the share, from two utterances per vowel."""
    data, rng = load_vowel(subset="all"), np.random.default_rng(seed)
    said = data.groups * 11 + data.target
    turn = np.empty(len(said), dtype=int)
    for word in np.unique(said):
        turn[said == word] = rng.permutation(np.sum(said == word))
    fit = turn < 2
    points = (data.data - data.data[fit].mean(axis=0)) / data.data[fit].std(axis=0)
    X, y = np.column_stack([points, data.groups]), data.target
    width = median(points[fit])
    grid = {"C": [10.0, 100.0], "kernel__lengthscale": [width / 2, width, 2 * width], "coupling": SHARES}
    machine = MultitaskSVC(kernel=Gaussian(1.0), task=X.shape[1] - 1)
    splits = list(StratifiedKFold(2).split(X[fit], said[fit]))
    search = KernelSearchCV(machine, grid, cv=splits, refit=False).fit(X[fit], y[fit])
    tried, scores = search.cv_results_["params"], search.cv_results_["mean_test_score"]
    right = []
    for shares in ([0.0], [1.0], SHARES):
        best = max((i for i, p in enumerate(tried) if p["coupling"] in shares), key=lambda i: scores[i])
        right.append(machine.set_params(**tried[best]).fit(X[fit], y[fit]).score(X[~fit], y[~fit]))
    return [*right, tried[best]["coupling"]]


def picture(draw: Draw, run: dict[str, Any], errors: np.ndarray) -> None:
    """Two of the tasks, and the errors over the correlation ρ."""
    X, y, fit, models = run["X"], run["y"], run["fit"], run["models"]
    grid = np.linspace(0, 2 * np.pi, 120)
    with draw("tasks", ncols=3, figsize=(10.8, 3.8)) as (_, axes):
        for t, ax in enumerate(axes[:2]):
            rows = np.flatnonzero(X[:, 1] == t)
            order, mine = rows[np.argsort(X[rows, 0])], rows[fit[rows]]
            ax.plot(X[order, 0], run["clean"][order], color=GREY, linewidth=4, alpha=0.45, label="the function")
            points = np.column_stack([grid, np.full(len(grid), t)])
            ax.plot(grid, models["alone"].predict(points), "--", color=ORANGE, linewidth=1.3, label="alone")
            ax.plot(grid, models["together"].predict(points), color=BLUE, linewidth=1.8, label="together")
            ax.plot(X[mine, 0], y[mine], "o", color=INK, markersize=4)
            ax.set(title=f"Task {t + 1} of 8, $\\rho$ = 0.8", xlabel="x")
        axes[0].legend(frameon=False, fontsize=9)
        for name, values, tint, marker in zip(COUPLINGS, errors.T, (ORANGE, GREY, BLUE), "s^o", strict=True):
            axes[2].plot(RELATIONS, values, f"{marker}-", color=tint, markersize=4, label=name)
        axes[2].set(title="Mean square error", xlabel=r"relation $\rho$ of the tasks", ylim=(0, None))
        axes[2].legend(frameon=False, fontsize=9)


@experiment("transfer", "Classification of a new sample without labels", REPRESENTER_NOTES, minutes=0.2)
def transfer(result: Result, quick: bool, draw: Draw) -> None:
    """Blanchard, Lee and Scott's product kernel of samples and points, against one machine for all."""
    counts = (5, 20) if quick else (5, 10, 20, 40, 80)
    X, y, groups = make_shifted(30, 80, random_state=0)
    new, truth, unseen = make_shifted(30, 30, random_state=1)
    right = np.empty((len(counts), 2))
    for i, n in enumerate(counts):
        few = groups < n
        pooled, carried = machines(X[few], y[few], groups[few])
        right[i] = pooled.score(new, truth), carried.score(new, truth, groups=unseen)
        result.add(
            f"{n} samples to learn from: right on new ones", "–", f"{right[i, 1]:.1%}", f"{right[i, 0]:.1%} pooled"
        )
    try:
        new_speakers(result)
    except OSError as missing:  # the rest needs no data
        result.note(f"Skipped: {missing}")
    result.note(
        "Each simulated sample has its own location, direction and boundary, which the unlabelled points of a new "
        "sample reveal. ℓ and C are chosen for the pooled machine, leaving out whole samples, and kept for the other; "
        "lengthscales between samples are medians. The notes cite Blanchard, Lee and Scott, whose flow-cytometry data "
        "are not available. The vowels are real, but eight speakers are few."
    )
    samples(draw, (new, truth, unseen), (pooled, carried), counts, right)


def new_speakers(result: Result) -> None:
    """Vowels of new speakers, without their labels."""
    old, later = load_vowel(), load_vowel(subset="test")
    centre, size = old.data.mean(axis=0), old.data.std(axis=0)
    pooled, carried = machines((old.data - centre) / size, old.target, old.groups)
    speech = (later.data - centre) / size
    ours = f"{carried.score(speech, later.target, groups=later.groups):.1%}"
    remark = f"{pooled.score(speech, later.target):.1%} pooled; 8 training speakers"
    result.add("vowels of 7 new speakers: right", "–", ours, remark)


def machines(X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> tuple[SVC, MarginalTransfer]:
    """A pooled machine, tuned on left-out samples, and a transfer machine with the same settings."""
    width = median(X)
    grid = {"C": [1.0, 10.0, 100.0], "kernel__lengthscale": [width / 4, width / 2, width]}
    search = KernelSearchCV(SVC(kernel=Gaussian(1.0)), grid, cv=GroupKFold(5)).fit(X, y, groups=groups)
    return search.best_estimator_, MarginalTransfer(search.best_estimator_).fit(X, y, groups=groups)


def samples(draw: Draw, sample: Any, fitted: Any, counts: tuple[int, ...], right: np.ndarray) -> None:
    """Two new samples with both boundaries, and the accuracies."""
    new, truth, unseen = sample
    pooled, carried = fitted
    square, extent = np.stack(np.meshgrid(*2 * [np.linspace(-5, 5, 80)]), axis=-1).reshape(-1, 2), (-5, 5, -5, 5)
    with draw("samples", ncols=3, figsize=(10.8, 3.7)) as (_, axes):
        for ax, g in zip(axes[:2], (0, 1), strict=True):
            mine = unseen == g
            field = carried.decision_function(square, sample=new[mine]).reshape(80, 80)
            ax.contourf(field, [-1e9, 0, 1e9], colors=[BLUE, ORANGE], alpha=0.13, extent=extent)
            other = pooled.decision_function(square).reshape(80, 80)
            ax.contour(other, [0], colors=GREY, linewidths=0.9, linestyles="--", extent=extent)
            ax.contour(field, [0], colors=INK, linewidths=1.2, extent=extent)
            for label, tint, marker in ((0, BLUE, "o"), (1, ORANGE, "s")):
                points = new[mine & (truth == label)]
                ax.plot(*points.T, marker, color=tint, markersize=5, markeredgecolor="white", markeredgewidth=0.5)
            good = np.mean(carried.predict(new[mine]) == truth[mine])
            ax.set(title=f"A new sample: {good:.0%} right", aspect="equal", xticks=[], yticks=[])
        axes[1].plot([], [], color=INK, label="transfer")
        axes[1].plot([], [], color=GREY, linestyle="--", label="pooled")
        axes[1].legend(frameon=False, fontsize=9, loc="upper right")
        for column, tint, marker, name in ((0, ORANGE, "s", "pooled"), (1, BLUE, "o", "transfer")):
            axes[2].plot(counts, 100 * right[:, column], f"{marker}-", color=tint, markersize=4, label=name)
        axes[2].set(title="% right on new samples", xlabel="samples to learn from", ylim=(50, 100), xscale="log")
        axes[2].set_xticks(counts, [str(n) for n in counts])
        axes[2].minorticks_off()
        axes[2].legend(frameon=False, loc="center right")
