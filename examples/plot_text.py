r"""
Learning from documents
=======================

Pass a list of documents to any method. The kernel splits them into words and weights these by rarity,

.. math:: k(x, y) = \sum_w \operatorname{idf}_w^2 \operatorname{tf}_w(x)\, \operatorname{tf}_w(y),

normalised to the cosine of the angle between documents. The frequencies come from the training documents.
"""

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC, KernelPCA
from mercer.datasets import load_r8
from mercer.kernels.text import BagOfWords, NGram, TfIdf

COLOURS = ["#1f6fb2", "#d1601f", "#3a8f5c", "#8c4fa3", "#222222"]
GREY = "#9a9a9a"
plt.rcParams.update(
    {"axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": GREY, "font.size": 10}
)

# %%
# **News.** If `mercer.datasets.load_r8` finds the data, these are news agency reports on five of the topics of
# Reuters-21578; otherwise they are sentences made up of the topics' words.

rng = np.random.default_rng(0)
topics = ["acq", "crude", "grain", "interest", "ship"]
try:
    news = load_r8(download_if_missing=False)
    topic = news.target_names[news.target]
    chosen = np.concatenate([np.flatnonzero(topic == t)[:100] for t in topics])
    labels, documents = topic[chosen], [news.data[i] for i in chosen]
except FileNotFoundError:
    print("The news are not available; made-up sentences replace them.")
    words = {
        "acq": "shares acquire merger stake company offer board",
        "crude": "oil barrel opec crude output prices energy",
        "grain": "wheat corn tonnes harvest crop export grain",
        "interest": "rate bank discount lending prime bills market",
        "ship": "vessel port cargo tanker strike gulf seamen",
    }
    common = ["said", "today", "year", "new", "would", "government", "pct", "mln"]
    labels = np.repeat(topics, 60)
    documents = [
        " ".join([*rng.choice(words[t].split(), 2), *rng.choice(common, 8)]) for t in labels
    ]

# %%
# **A map.** Kernel principal components in the space of the words.

kernel = TfIdf(sublinear_tf=True, stop_words="english").normalized()
scores = KernelPCA(4, kernel=kernel).fit_transform(documents)
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, (i, j) in zip(axes, [(0, 1), (2, 3)], strict=True):
    for colour, marker, topic in zip(COLOURS, "osD^v", topics, strict=True):
        mine = labels == topic
        ax.plot(
            scores[mine, i],
            scores[mine, j],
            marker,
            color=colour,
            markersize=4,
            alpha=0.7,
            markeredgewidth=0,
            label=topic,
        )
    ax.set(xlabel=f"component {i + 1}", ylabel=f"component {j + 1}", xticks=[], yticks=[])
axes[0].legend(frameon=False, markerscale=1.5, loc="best")

# %%
# **A classifier** from few labels: weighting words by rarity needs fewer documents than counting them.

order = rng.permutation(len(documents))
held, pool = order[: len(order) // 3], order[len(order) // 3 :]
kernels = {
    "rare words count more": TfIdf(sublinear_tf=True),
    "words": BagOfWords(),
    "letters, three to five": NGram((3, 5), "char_wb"),
}
sizes = [10, 20, 40, 80, 160]
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for colour, (name, k) in zip(COLOURS, kernels.items(), strict=False):
    accuracy = []
    for size in sizes:
        scores = []
        for seed in range(5):
            some = np.random.default_rng(seed).permutation(pool)[:size]
            if len(set(labels[some])) == len(topics):
                model = SVC(kernel=k.normalized(), C=10).fit(
                    [documents[i] for i in some], labels[some]
                )
                scores.append(model.score([documents[i] for i in held], labels[held]))
        accuracy.append(np.mean(scores) if scores else np.nan)
    ax.plot(sizes, accuracy, color=colour, marker="o", markersize=4, linewidth=2, label=name)
ax.set(xscale="log", xlabel="labelled documents", ylabel="accuracy on a held-out third")
ax.legend(frameon=False, loc="lower right")
ax.set_xticks(sizes, [str(s) for s in sizes])
ax.minorticks_off()
