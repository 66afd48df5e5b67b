"""Exchange of data, `svm-scale` ranges and models with LIBSVM, in both directions.

Formats and predictions: Chang, Lin, *LIBSVM: a library for support vector machines* (2011), sections 2 and 4.1, and the
README files of LIBSVM 3.37. Numbers are written in the shortest form that reads back exactly, so files lose no
precision (LIBSVM itself rounds support vectors to 8 digits and scaled data to 6).
"""

from .data import load_data, save_data, subset
from .model import load_model, save_model
from .scaling import Range, scale

__all__ = ["Range", "load_data", "load_model", "save_data", "save_model", "scale", "subset"]
