"""Kernels on strings over any alphabet: common substrings, subsequences, mismatches, positions, alignments, edits."""

from .alignment import LocalAlignment
from .degree import WeightedDegree
from .levenshtein import Levenshtein
from .mismatch import Mismatch
from .subsequence import Subsequence
from .substrings import BoundedRange, ExactLength, FullString, Spectrum
from .suffixes import ConstantWeight, ExponentialDecay

__all__ = [
    "BoundedRange",
    "ConstantWeight",
    "ExactLength",
    "ExponentialDecay",
    "FullString",
    "Levenshtein",
    "LocalAlignment",
    "Mismatch",
    "Spectrum",
    "Subsequence",
    "WeightedDegree",
]
