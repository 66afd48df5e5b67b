"""Kernel canonical correlation of two dependent coordinates, and retrieval of images by text."""

from __future__ import annotations

import numpy as np

from mercer import KernelCCA
from mercer.datasets import load_wikipedia, make_toy_cca
from mercer.kernels import ChiSquared, Linear
from mercer.selection import mean_average_precision, mean_reciprocal_rank

from .._palette import BLUE, GREY, INK, ORANGE
from ._base import SLIDES, Draw, Result, experiment

COMPONENTS = (1, 2, 3, 5, 7, 9)


@experiment("toy-cca", "Functions that correlate where the variables do not", f"{SLIDES}, 3", minutes=0.1)
def toy_cca(result: Result, quick: bool, draw: Draw) -> None:
    """Gaussian kernels on the two coordinates of a noisy circle."""
    X, Y = make_toy_cca(300, random_state=0)
    new_X, new_Y = make_toy_cca(2000, random_state=1)
    model = KernelCCA(3, epsilon="spectrum", n_pairings=3 if quick else 10, random_state=0).fit(X, Y)
    held_out = model.correlations(new_X, new_Y)
    linear = abs(np.corrcoef(X[:, 0], Y[:, 0])[0, 1])
    result.add("correlation of x and y", "–", f"{linear:.3f}")
    result.add("ε by random pairings", "argmax ‖ρ(ε) − ρ_R(ε)‖", f"{model.epsilon_[0]:.3g}")
    remark = f"{model.correlations_[0]:.3f} on the sample, with the penalty"
    result.add("first canonical correlation on new points", "a picture", f"{held_out[0]:.3f}", remark)
    circle = np.corrcoef(2 * new_X[:, 0] ** 2 - 1, 1 - 2 * new_Y[:, 0] ** 2)[0, 1]
    result.add("  of 2x² − 1 and 1 − 2y²", "–", f"{circle:.3f}", "equal functions of a circle without noise")
    result.add("second and third on new points", "also obtained", ", ".join(f"{rho:.3f}" for rho in held_out[1:]))
    free = KernelCCA(1, kernel="laplace(lengthscale=1.0)", epsilon=0).fit(X, np.random.default_rng(0).permutation(Y))
    remark = f"{free.score(new_X, np.random.default_rng(1).permutation(new_Y)):.2f} on new ones"
    result.add("random pairs, ε = 0", "ill-posed: 1", f"{free.correlations_[0]:.6f}", remark)
    result.note(
        "The regulariser is ε times the centred matrix (uncentred in the slides); ℓ is the median distance. Random "
        "pairs use Laplace kernels, whose matrix is numerically regular. The slides' points are not given."
    )
    with draw("functions", ncols=3, figsize=(10.4, 3.6)) as (_, (points, functions, scores)):
        points.plot(X, Y, ".", color=BLUE, markersize=4)
        points.set(title=f"Correlation {linear:.2f}", xlabel="x", ylabel="y", aspect="equal")
        line = np.linspace(-1.2, 1.2, 300)[:, None]
        for j, (tint, style, name) in enumerate(((BLUE, "-", "f(x)"), (ORANGE, "--", "g(y)"))):
            functions.plot(line, model.transform(line, view=j)[:, 0], style, color=tint, label=name)
        functions.set(title="The first pair of functions", xlabel="x, y")
        functions.legend(frameon=False, loc="center")
        f, g = model.transform(new_X[:500], new_Y[:500])
        scores.plot(f[:, 0], g[:, 0], ".", color=INK, markersize=3, alpha=0.6)
        scores.set(title=f"New points: {held_out[0]:.2f}", xlabel="f(x)", ylabel="g(y)")


@experiment("retrieval", "Images that a text calls for, by kernel CCA", f"{SLIDES}, 3", minutes=0.5)
def retrieval(result: Result, quick: bool, draw: Draw) -> None:
    """Image–text pairs from Wikipedia; each test text ranks all test images."""
    train, test = load_wikipedia(), load_wikipedia(subset="test")
    rows = np.random.default_rng(0).permutation(len(train.target))[: 300 if quick else None]
    image, text = train.data["image"][rows], train.data["text"][rows]
    same = test.target[:, None] == test.target
    count = len(test.target)
    chance = np.mean(1 / np.arange(1, count + 1))
    result.add("chance: class, own image", "–", f"{same.mean():.3f}, {chance:.4f}")
    curves = {}
    for name, kernel in (("linear", Linear()), ("χ²", ChiSquared(1.0))):
        model = KernelCCA(9, kernel=kernel, epsilon="spectrum", n_pairings=1 if quick else 3, random_state=0)
        model.fit(image, text)
        F, G = model.transform(test.data["image"], test.data["text"])
        similar = {m: G[:, :m] @ F[:, :m].T for m in COMPONENTS}
        curves[name] = [mean_average_precision(S, same) for S in similar.values()]
        ours = f"{curves[name][-1]:.3f}, {mean_reciprocal_rank(similar[9]):.4f}"
        remark = f"9 components, ε = {model.epsilon_[0]:.2g} by random pairings"
        result.add(f"{name} kernel: class, own image", "an example", ours, remark)
    result.note(
        f"Among {count} images: mean average precision for images of the query's category, and mean reciprocal "
        "rank of its own image. The slides use pairs from web pages (Hardoon, Szedmak, Shawe-Taylor), which are not "
        f"available; these are {len(text):,} Wikipedia articles, with an image as a histogram of visual words and a "
        "text as topic proportions, so that χ² (γ = 1) replaces the bag-of-words kernel. The images themselves are "
        "not in the data."
    )
    with draw("precision", ncols=2, figsize=(10.2, 4.0), width_ratios=[1, 1.25]) as (_, (left, right)):
        for (name, values), tint, marker in zip(curves.items(), (ORANGE, BLUE), "so", strict=True):
            left.plot(COMPONENTS, values, f"{marker}-", color=tint, markersize=4, label=f"{name} kernel")
        left.axhline(same.mean(), color=GREY, linewidth=1, linestyle="--", label="chance")
        left.set(title="Images by texts: mean average precision", xlabel="components", ylim=(0, None))
        left.legend(frameon=False)
        first = np.argsort(-similar[9], axis=1)[:, :5]
        found = np.stack([np.bincount(test.target[first[test.target == c]].ravel(), minlength=10) for c in range(10)])
        right.imshow(found / found.sum(axis=1, keepdims=True), cmap="Blues", vmin=0)
        right.set_xticks(range(10), test.target_names, rotation=60, ha="right", fontsize=8)
        right.set_yticks(range(10), test.target_names, fontsize=8)
        right.set(title="χ² kernel: categories of the first five images", ylabel="category of the text")
        right.spines[:].set_visible(False)
        right.tick_params(length=0)
