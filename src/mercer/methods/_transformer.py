"""Methods that send samples to the values of a few functions: centred Gram operators, and features of new points."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from ..gram.centered import CenteredGram
from ..types import Array, Data
from ._base import KernelEstimator


class KernelTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    r"""Base of the transformers: x ↦ f(x) − f̄ for functions f = Σ aᵢ (k(·, xᵢ) − μ), one per component.

    `function_` holds them, and `offset_` their means f̄ on the sample, so that features of the sample have mean zero and
    those of new points are centred by the sample, not by themselves.
    """

    offset_: Any

    def _keep(self, gram: CenteredGram, coefficients: Array) -> None:
        """Set `function_` and `offset_` from a column of coefficients per component."""
        self.function_ = self._function(gram, coefficients)
        self.offset_ = gram.offset(coefficients)
        self._n_features_out = int(coefficients.shape[1])

    def transform(self, X: Data) -> Any:
        """The features of X, of shape (n, n_components)."""
        X = self._check_new(X)
        return self.function_.values(X) - self.offset_
