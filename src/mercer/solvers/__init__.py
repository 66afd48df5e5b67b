"""How problems are solved: linear systems and eigenvalues of Gram operators."""
