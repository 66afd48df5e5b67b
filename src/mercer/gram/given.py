"""A Gram operator that exists already, in the place of a recipe for one."""

from __future__ import annotations

from copy import copy

import numpy as np

from .._errors import where
from .._same import same
from ..kernels import Kernel
from ..types import Checked
from ._base import Gram, Representation


class Given(Representation):
    """What ``gram=operator`` stands for, of the kernel and the sample of a fit: nothing is evaluated.

    Examples
    --------
    >>> from mercer import KernelRidge
    >>> from mercer.gram import Dense
    >>> from mercer.kernels import Gaussian
    >>> X, kernel = np.linspace(0, 1, 5)[:, None], Gaussian(0.5)
    >>> operator = Dense().build(kernel, X)
    >>> [KernelRidge(alpha, kernel=kernel, gram=operator).fit(X, X[:, 0]).gram_choice_ for alpha in (0.1, 1.0)]
    ['DenseGram as given', 'DenseGram as given']
    """

    draws = False

    def __init__(self, operator: Gram):
        self.operator = operator

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> Gram:
        refuse_other_sample(X, self.operator)
        if self.operator.kernel not in (kernel, kernel.at_zero):
            raise ValueError(
                f"gram is the operator of the kernel {self.operator.kernel}, and the kernel of the fit is {kernel}; "
                "give kernel=gram.kernel."
            )
        gram = copy(self.operator)  # its X is its own, and nobody changes it
        gram.kernel = kernel if gram.kernel == kernel else kernel.at_zero  # equal is not enough where `is` is asked
        gram.choice = gram.choice or f"{where(gram)} as given"
        return gram


def refuse_other_sample(X: Checked, operator: Gram) -> None:
    """Raise if X is not the sample of an operator."""
    if not (X is operator.X or (X.equals(operator.X) if hasattr(X, "equals") else same(X, operator.X))):
        raise ValueError(
            "gram is the operator of another sample than X; build it on X. A method that changes its samples, or has "
            "several, cannot use one."
        )
