"""Data set loaders, and generators of samples with known distributions."""

from .digits import deskew, load_mnist, load_usps
from .generators import (
    complex_boundary,
    make_circles,
    make_complex,
    make_contaminated,
    make_shifted,
    make_tasks,
    make_toy_cca,
)
from .graphs import load_graphs
from .tables import load_anomaly, load_r_data, load_uci_regression, load_vowel, load_wine
from .text import load_promoters, load_r8, load_reuters40, load_splice
from .tu import load_tu
from .views import load_mfeat, load_wikipedia

__all__ = [
    "complex_boundary",
    "deskew",
    "load_anomaly",
    "load_graphs",
    "load_mfeat",
    "load_mnist",
    "load_promoters",
    "load_r8",
    "load_r_data",
    "load_reuters40",
    "load_splice",
    "load_tu",
    "load_uci_regression",
    "load_usps",
    "load_vowel",
    "load_wikipedia",
    "load_wine",
    "make_circles",
    "make_complex",
    "make_contaminated",
    "make_shifted",
    "make_tasks",
    "make_toy_cca",
]
