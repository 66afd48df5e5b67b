"""Solvers of the finite problem given by the representer theorem: a loss at the samples plus a norm.

A `FitProblem` goes in, a `FitSolution` comes out. Solvers of box-constrained duals access kernel values through a
`Segment` of samples and a `Block` of rows, which can share memory in an `Arena`; `boxes` has a map of them.
"""

from ._base import FitProblem, FitSolution, finish
from ._rows import Arena, Block, Segment

__all__ = ["Arena", "Block", "FitProblem", "FitSolution", "Segment", "finish"]
