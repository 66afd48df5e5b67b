"""Reading and writing: the data, ranges and models of LIBSVM."""

from . import libsvm

__all__ = ["libsvm"]
