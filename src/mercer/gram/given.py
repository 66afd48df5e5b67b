"""An existing Gram operator in place of a representation."""

from __future__ import annotations

from copy import copy

import numpy as np

from .._errors import where
from .._same import same
from ..kernels import Kernel
from ..types import Checked
from ._base import Gram, Representation


class Given(Representation):
    """``gram=operator``: reuse an operator built with the kernel and sample of the fit.

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
                f"gram was built with the kernel {self.operator.kernel}, but the kernel of the fit is {kernel}; "
                "give kernel=gram.kernel."
            )
        gram = copy(self.operator)  # it owns its X, which is never modified
        gram.kernel = kernel if gram.kernel == kernel else kernel.at_zero  # the same object, for tests with `is`
        gram.choice = gram.choice or f"{where(gram)} as given"
        return gram


def refuse_other_sample(X: Checked, operator: Gram) -> None:
    """Raise if X is not the sample of an operator."""
    if not (X is operator.X or (X.equals(operator.X) if hasattr(X, "equals") else same(X, operator.X))):
        raise ValueError(
            "gram was built on another sample than X; build it on X. Methods that change their samples, or use "
            "several, cannot take an operator."
        )
