"""Uncertainty of what was estimated."""

from .jackknife import JackknifePlus

__all__ = ["JackknifePlus"]
