"""An estimator as a function of its kernel weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor

from .._array import doubles, host
from .._units import power_of_two
from ..context import current
from ..gram import Gram, GramLike
from ..gram.centered import CenteredGram
from ..gram.combined import Combined
from ..kernels import Kernel
from ..kernels.algebra import Scaled, Sum
from ..solvers.multiple import quadratic_forms, shares, target_columns
from ..types import Array, Data, EstimatorLike
from .svc import SVC


@dataclass(eq=False)
class Weighted:
    """The estimator on one sample: its fits, and the quantities that determine the weights."""

    estimator: EstimatorLike
    kernels: list[Kernel]
    grams: list[Gram]
    near: list[Gram]
    scales: np.ndarray
    X: Data
    y: Array
    weight: Array

    @property
    def unit(self) -> float:
        """The unit of the targets, a power of two."""
        return power_of_two(host(self.y)) if is_regressor(self.estimator) else 1.0

    def kernel(self, mu: np.ndarray) -> Kernel:
        """Σ μⱼ kⱼ/sⱼ, without the kernels of weight 0."""
        pairs = zip(self.kernels, mu / self.scales, strict=True)
        terms: list[Kernel] = [Scaled(kernel, float(c)) for kernel, c in pairs if c > 0]
        return terms[0] if len(terms) == 1 else Sum(terms)

    def fitted(self, mu: np.ndarray, representation: GramLike | None, estimator: EstimatorLike = None) -> Any:
        """The estimator fitted with weights μ, on this representation (None: as set by its parameters)."""
        model = clone(self.estimator if estimator is None else estimator)
        own = model.get_params(deep=False).get("gram")
        model.set_params(kernel=self.kernel(mu))
        options = {} if self.weight is None else {"sample_weight": self.weight}
        with current().sheltered():
            if own is None or representation is None:
                return model.fit(self.X, self.y, **options)
            model.set_params(gram=representation).fit(self.X, self.y, **options)
        return model.set_params(gram=own)  # drop the operators

    def combined(self, mu: np.ndarray) -> Combined:
        """The Gram operator with weights μ."""
        return Combined(self.grams, mu / self.scales, None if self.near is self.grams else self.near)

    def coefficients(self, mu: np.ndarray, estimator: EstimatorLike = None) -> tuple[Sequence[Gram], np.ndarray]:
        """The operators, and the coefficients of the fitted functions on the whole sample, one column each."""
        representation = self.combined(mu)
        self.fitted(mu, representation, estimator)
        A = doubles(representation.expanded_)
        return representation.grams_, A.reshape(len(A), -1)

    def forms(self, mu: np.ndarray) -> np.ndarray:
        """aᵀKⱼa for the normalised kernels: minus the derivatives of the objective, up to the factor α/2."""
        grams, A = self.coefficients(mu)
        alpha = np.atleast_1d(np.asarray(getattr(self.estimator, "alpha", 1.0), dtype=np.float64))
        if len(alpha) > 1:  # a penalty for each output
            A = A * np.sqrt(alpha / alpha.max())
        return quadratic_forms(grams, A / self.unit) / self.scales

    def partition(self, mu: np.ndarray) -> np.ndarray:
        """Between-cluster scatter ⟨Kⱼ, P⟩, with P the projection onto the cluster indicators at μ."""
        labels = self.fitted(mu, self.combined(mu)).labels_
        w = shares(len(labels), self.weight)
        member = w[:, None] * target_columns(labels, classes=True)
        member = member[:, member.sum(axis=0) > 0]
        centred = [CenteredGram(gram, w) for gram in self.near]
        return quadratic_forms(centred, member / np.sqrt(member.sum(axis=0))) / self.scales

    def hull_distances(self, lam: float) -> np.ndarray:
        r"""The weights of EasyMKL.

        The problem :math:`\min_\gamma (1 - \Lambda)\, \gamma^\top Y K Y \gamma + \Lambda \lVert \gamma \rVert^2` over
        γ that are distributions on each of two classes is, up to scaling γ, the dual of the squared hinge at
        :math:`C = (1 - \Lambda) / 2 \Lambda`.
        """
        machine = SVC(C=(1 - lam) / (2 * lam), loss="squared_hinge", multi_class="ovr", tol=1e-6)
        grams, A = self.coefficients(np.ones(len(self.grams)), machine)
        gamma = 2 * A / np.abs(A).sum(axis=0)
        forms = quadratic_forms(grams, gamma) / self.scales
        return np.asarray(forms / forms.sum())
