"""Solvers of the problem that the representer theorem leaves: a loss at the samples and a norm.

A `FitProblem` goes in, a `FitSolution` comes out. Solvers of box-constrained duals see kernel values as a `Segment` of
samples and a `Block` of rows, whose memory several may share as an `Arena`.
"""

from ._base import FitProblem, FitSolution, finish
from ._rows import Arena, Block, Segment

__all__ = ["Arena", "Block", "FitProblem", "FitSolution", "Segment", "finish"]
