"""Input and output: model files, LIBSVM's data, range and model files, and ONNX."""

from . import libsvm
from .model import ModelError, describe, load, save
from .onnx import save_onnx, to_onnx

__all__ = ["ModelError", "describe", "libsvm", "load", "save", "save_onnx", "to_onnx"]
