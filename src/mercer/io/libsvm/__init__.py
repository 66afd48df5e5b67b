"""LIBSVM's files: data, ranges of `svm-scale` and models, so that they move both ways between LIBSVM and Mercer.

Formats and predictions: Chang, Lin, *LIBSVM: a library for support vector machines* (2011), sections 2 and 4.1, and the
README files of LIBSVM 3.37. Numbers are written in the shortest form that reads back exactly, so that a file that
Mercer writes loses nothing (LIBSVM itself rounds support vectors to 8 digits and scaled data to 6).
"""

from .data import load_data, save_data, subset
from .model import load_model, save_model
from .scaling import Range, scale

__all__ = ["Range", "load_data", "load_model", "save_data", "save_model", "scale", "subset"]
