"""The index of the gallery by theme; sphinx-gallery has the cards in one row, in the order of their length."""

import re

THEMES = {
    "Spaces and kernels": [
        "first_fit",
        "functions_in_the_space",
        "kernel_algebra",
        "mercer_expansion",
        "interpolation",
        "low_rank",
        "indefinite",
    ],
    "Regression": [
        "ridge_alpha_path",
        "ridge_free_part",
        "support_vector_regression",
        "quantiles",
        "robust_regression",
        "relevance_vectors",
        "smoothing_spline",
        "thin_plate",
        "anova_components",
    ],
    "Classification": [
        "mean_classifier",
        "svm_margins",
        "svm_grid",
        "svm_path",
        "svm_probabilities",
        "linear_svm",
        "least_squares_classification",
        "logistic",
        "kernel_fisher",
        "one_class",
    ],
    "Any loss": ["representer_machine", "survival", "online"],
    "Structure": [
        "kernel_pca_circles",
        "kernel_pca_wine",
        "preimages",
        "usps_denoising",
        "feature_analysis",
        "kernel_ica",
        "kernel_kmeans",
        "spectral_clustering",
        "density",
        "robust_density",
    ],
    "Several views, tasks, samples, kernels": [
        "kernel_cca",
        "retrieval",
        "kernel_pls",
        "dimension_reduction",
        "multiple_kernels",
        "multitask",
        "transfer",
        "semi_supervised",
        "ranking",
    ],
    "Any data": ["table", "text", "strings", "graphs", "sequences"],
    "Uncertainty and evaluation": [
        "two_sample_test",
        "independence_test",
        "jackknife_plus",
        "expected_loss",
        "compare",
        "tuning",
    ],
    "Plots and reports": ["displays", "report"],
}
CARD = re.compile(
    r'\.\. raw:: html\n\n    <div class="sphx-glr-thumbcontainer".*?<div class="sphx-glr-thumbnail-title">.*?</div>\n'
    r"    </div>\n",
    re.DOTALL,
)
OPEN = '.. raw:: html\n\n    <div class="sphx-glr-thumbnails">'
CLOSE = ".. raw:: html\n\n    </div>"


def grouped(index):
    """The index that sphinx-gallery wrote, with a heading for each theme."""
    head = index[: index.index(".. raw:: html")]
    cards = {re.search(r":doc:`/auto_examples/plot_(\w+)`", card)[1]: card for card in CARD.findall(index)}
    left = set(cards).difference(*THEMES.values())
    if left:
        raise ValueError(f"docs/gallery.py: name a theme for {', '.join(sorted(left))}.")
    parts = [head.strip()]
    for theme, names in THEMES.items():
        links = "\n".join(f"   /auto_examples/plot_{name}" for name in names)
        toctree = f".. toctree::\n   :hidden:\n   :caption: {theme}\n\n{links}"
        parts += [f"{theme}\n{'-' * len(theme)}", OPEN, *(cards[name] for name in names), CLOSE, toctree]
    return "\n\n".join(parts) + "\n"
