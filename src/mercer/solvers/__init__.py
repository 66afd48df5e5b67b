"""Solvers, such as for linear systems and eigenvalues of Gram operators."""
