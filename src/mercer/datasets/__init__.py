"""Collections of data in the formats in which they are published."""

from .tu import load_tu

__all__ = ["load_tu"]
