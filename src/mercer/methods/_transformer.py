"""Base of transformers that map samples to the values of a few functions of the kernel's space."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..gram.centered import CenteredGram
from ..types import Array, Data
from ._base import KernelEstimator


class KernelTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Base of the transformers: x ↦ f(x) − f̄ for functions f = Σ aᵢ (k(·, xᵢ) − μ), one per component.

    `function_` holds them, and `offset_` their means f̄ on the training sample. Features of the sample therefore have
    mean zero, and new points are centred with the training means.
    """

    offset_: Any

    def _keep(self, gram: CenteredGram, coefficients: Array) -> None:
        """Set `function_` and `offset_` from coefficients, one column per component."""
        self.function_ = self._function(gram, coefficients)
        self.offset_ = gram.offset(coefficients)
        self._n_features_out = int(coefficients.shape[1])

    def transform(self, X: Data) -> Any:
        """The features of X, of shape (n, n_components)."""
        X = self._check_new(X)
        return self.function_.values(X) - self.offset_
