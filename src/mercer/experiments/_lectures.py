"""The lectures whose experiments are here, and the colours of their figures."""

from .._palette import BLUE, GREEN, GREY, INK, ORANGE

THESIS = "Cao, Useful Applications in Statistical Learning with RKHS (2016)"
SLIDES = "Fukumizu, Various Kernel Methods, slides (2010)"
CLASSIFIER_NOTES = "Statistical Learning I, notes of a course (2019)"
REPRESENTER_NOTES = "Reproducing Kernel Hilbert Spaces, lecture notes on the representer theorem"
INTERPOLATION_NOTES = "Introduction to Kernel Methods, lecture notes"

__all__ = [
    "BLUE",
    "CLASSIFIER_NOTES",
    "GREEN",
    "GREY",
    "INK",
    "INTERPOLATION_NOTES",
    "ORANGE",
    "REPRESENTER_NOTES",
    "SLIDES",
    "THESIS",
]
