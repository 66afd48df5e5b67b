"""Reading and writing: model files, and the data, ranges and models of LIBSVM."""

from . import libsvm
from .model import ModelError, describe, load, save

__all__ = ["ModelError", "describe", "libsvm", "load", "save"]
