r"""
Learning from strings
=====================

A kernel needs no vectors. String kernels count common substrings, with or without gaps, and so every method accepts a
list of strings.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelPCA
from mercer.kernels.strings import Mismatch, Spectrum, WeightedDegree

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#3a8f5c", "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **Descendants.** Three strings of DNA descend from one, and each has twenty children. Letters were replaced, inserted
# and deleted on the way, so few positions still match and lengths differ. A kernel that compares position by position
# does hardly better than chance. Common substrings of four letters need no alignment: the families appear as blocks of
# the matrix, and as clusters in its first two principal components.

rng = np.random.default_rng(4)


def mutate(x, rate):
    """Replace, insert and delete letters."""
    letters = []
    for letter in x:
        event = rng.random()
        if event < rate:
            letters.append(rng.choice(list("ACGT")))  # instead of the letter
        elif event < 2 * rate:
            letters += [letter, rng.choice(list("ACGT"))]
        elif event > 3 * rate:
            letters.append(letter)
    return "".join(letters)


ancestor = "".join(rng.choice(list("ACGT"), 80))
parents = [mutate(ancestor, 0.05) for _ in range(3)]
X = [mutate(parent, 0.035) for parent in parents for _ in range(20)]
family = np.repeat([0, 1, 2], 20)
by_place, by_content = WeightedDegree(4).normalized(), Spectrum(4).normalized()
Z = KernelPCA(2, kernel=by_content).fit_transform(X)

figure, axes = plt.subplots(1, 3, figsize=(12, 4.1), layout="constrained")
for ax, kernel, name in zip(
    axes,
    (by_place, by_content),
    ("WeightedDegree(4), by place", "Spectrum(4), by content"),
    strict=False,
):
    ax.imshow(kernel(X), cmap="Greys", vmin=0, vmax=1)
    ax.set(xticks=[9.5, 29.5, 49.5], yticks=[9.5, 29.5, 49.5])
    ax.set_xticklabels(["family 1", "family 2", "family 3"])
    ax.set_yticklabels(["family 1", "family 2", "family 3"], rotation=90, va="center")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set_title(name, loc="left", fontsize=11)
for number, (colour, marker) in enumerate(zip((BLUE, ORANGE, GREEN), "osD", strict=True)):
    place = Z[family == number]
    axes[2].plot(*place.T, marker, color=colour, markersize=5)
    axes[2].text(
        *(place.mean(axis=0) * 0.4), f"family {number + 1}", color=colour, ha="center", va="center"
    )
axes[2].set(xticks=[], yticks=[], xlabel="first component", ylabel="second component")
axes[2].set_title("Kernel PCA, by content", loc="left", fontsize=11)

# %%
# **Does the position matter?** Half of these windows of DNA contain a motif of seven letters, two of which are wrong at
# random. Left: it starts in the middle of the window. Right: it starts anywhere. A kernel that knows the positions of
# substrings wins the first task and loses the second. Counts ignore positions, and those that tolerate wrong letters
# are ahead when the motif moves.


def windows(n, moving):
    """Random DNA of 50 letters; in every second window the motif, with two wrong letters."""
    letters = rng.choice(list("ACGT"), (n, 50))
    for row in letters[::2]:
        motif = np.array(list("TATAATG"))
        motif[rng.choice(7, 2, replace=False)] = rng.choice(list("ACGT"), 2)
        start = rng.integers(0, 44) if moving else 22
        row[start : start + 7] = motif
    return ["".join(row) for row in letters], np.arange(n) % 2


kernels = {
    "Spectrum(4)": Spectrum(4),
    "Mismatch(6, 1)": Mismatch(6, 1),
    "WeightedDegree(4)": WeightedDegree(4),
}
sizes = [50, 100, 200, 400, 800]
figure, panels = plt.subplots(1, 2, figsize=(10, 3.9), sharey=True, layout="constrained")
for ax, moving in zip(panels, (False, True), strict=True):
    train, labels = windows(max(sizes), moving)
    test, truth = windows(600, moving)
    for (name, k), colour in zip(kernels.items(), (BLUE, ORANGE, GREEN), strict=True):
        scores = []
        for n in sizes:
            machine = SVC(C=1.0, kernel=k.normalized()).fit(train[:n], labels[:n])
            scores.append(machine.score(test, truth))
        ax.semilogx(sizes, scores, "o-", color=colour, linewidth=2, markersize=5, label=name)
    ax.set_xticks(sizes, [str(n) for n in sizes])
    ax.minorticks_off()
    ax.axhline(0.5, color=GREY, linewidth=0.8)
    ax.set(xlabel="training windows", ylim=(0.45, 1.0))
    ax.set_title(
        "The motif lies anywhere" if moving else "The motif lies in the middle",
        loc="left",
        fontsize=11,
    )
panels[0].set_ylabel("accuracy on new windows")
panels[1].legend(frameon=False, loc="upper left")
