"""The lectures whose experiments are here, and the colours of their figures."""

SLIDES = "Fukumizu, Various Kernel Methods, slides (2010)"
CLASSIFIER_NOTES = "Statistical Learning I, notes of a course (2019)"
REPRESENTER_NOTES = "Reproducing Kernel Hilbert Spaces, lecture notes on the representer theorem"
INTERPOLATION_NOTES = "Introduction to Kernel Methods, lecture notes"

INK, BLUE, ORANGE, GREEN, GREY = "#222222", "#1f6fb2", "#d1601f", "#3a8f5c", "#9a9a9a"
