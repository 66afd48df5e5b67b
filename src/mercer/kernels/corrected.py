"""Spectrum corrections: positive definite kernels from others, on a sample and on new points."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._array import eps, host, like, namespace
from .._errors import ONE_OR_NONE, where
from .._same import same
from ..evaluation import Points, bind
from ..types import Array, Checked, Index
from ._base import Kernel, register
from ._definiteness import PD
from ._parts import Unary, in_type_of, inner_examples
from .power import Power
from .sigmoid import Sigmoid


def _symmetric(K: Array) -> np.ndarray:
    K = host(K).astype(np.float64)
    return (K + K.T) / 2


class Corrected(Unary):
    """Base class of the corrections: a kernel, the sample that gives its spectrum, and quantities derived from it."""

    def __init__(self, kernel: Kernel, X: Checked = None):
        self.kernel, self.X = kernel, X

    def resolve(self, X: Checked) -> Self:
        copy = super().resolve(X)
        copy.X = X if copy.X is None else copy.X
        return copy

    def check_arguments(self, X: Checked, Y: Checked = None) -> tuple[Any, Any]:
        self.validate()
        return self.kernel.check_arguments(X, Y)

    def _sample(self) -> Any:
        """X, checked once."""
        if self.X is None:
            raise ValueError(
                f"{where(self)}: X = None leaves no spectrum to correct; give a sample, or call "
                "kernel.resolve(X), as estimators do with their training samples."
            )
        given, sample = self.__dict__.get("_checked", (None, None))
        if given is not self.X:
            sample = self.kernel.domain.check(self.X, self, "X")
            self._checked = self.X, sample
        return sample

    def _known(self) -> Any:
        """The result of `_derive`, computed once for all tiles of a large matrix."""
        sample = self._sample()
        known, kernel, found = self.__dict__.get("_derived", (None,) * 3)
        if known is not sample or kernel != self.kernel:
            found = self._derive(sample)
            self._derived = sample, clone(self.kernel), found
        return found

    def _derive(self, sample: Any) -> Any:
        raise NotImplementedError

    def _members(self, A: Array) -> Any:
        """A; for training samples given by index (a precomputed matrix), their rows."""
        return self.domain.take(self._sample(), A) if self.domain.precomputed and len(A.shape) == 1 else A

    @classmethod
    def examples(cls) -> list[Kernel]:
        X = np.random.default_rng(5).normal(size=(8, 3))
        return [cls(k, X) for k in (*inner_examples(), Sigmoid(0.5, -0.2), Power(1.0))]


class Projected(Corrected):
    """Corrections that are inner products of explicit features, φ(x) = Wᵀk(S, x): positive definite everywhere."""

    proven = PD
    definiteness_in = Kernel.definiteness_in  # whatever the inner kernel is
    tile = Kernel.tile  # not the inner kernel's: a block costs a product of features
    prepares = True  # each member needs its row of values against the sample once

    def _weights(self, precision: float) -> np.ndarray | None:
        """W for kernel values of this precision; None for the identity."""
        return None

    def features(self, A: Checked) -> Any:
        """φ(x) = Wᵀk(S, x) for each row; a column per eigenvalue kept."""
        A, sample = self._members(A), self._sample()
        centres = self.domain.centres(sample)
        if self.domain.precomputed:
            if A.shape[1] != len(sample):
                raise ValueError(
                    f"{where(self)}: X has {A.shape[1]} columns, but the spectrum is that of {len(sample)} samples; "
                    "give rows of kernel values against those samples."
                )
        else:
            centres = in_type_of(A, centres)
            self.kernel._check_together(A, centres)
        K = bind(self.kernel, A, centres).dense()
        W = self._weights(eps(K))
        return K if W is None else K @ like(W, K)

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        Z = self.features(X)
        return Z @ namespace(Z).matrix_transpose(Z if Y is None else self.features(Y))

    def evaluate_diag(self, X: Checked) -> Any:
        Z = self.features(X)
        return namespace(Z).sum(Z * Z, axis=1)

    @property
    def provides(self) -> frozenset[str]:
        # a function of a precomputed kernel keeps the indices of its points, and indices have no features
        return frozenset() if self.domain.precomputed else frozenset({"feature_map"})

    def points(self, X: Checked, beside: Any = None) -> Points:
        return _FeaturePoints(self, self.features(X))


class Decomposed(Projected):
    """Corrections that divide by eigenvalues."""

    rules = {"rank": ONE_OR_NONE}

    def __init__(self, kernel: Kernel, X: Checked = None, rank: int | None = None):
        super().__init__(kernel, X)
        self.rank = rank

    def _derive(self, sample: Any) -> tuple[np.ndarray, np.ndarray, float]:
        K = bind(self.kernel, sample).dense()
        values, vectors = np.linalg.eigh(_symmetric(K))
        return values, vectors, eps(K)

    def _kept(self, values: np.ndarray) -> np.ndarray:
        """Mask of the eigenvalues to keep, apart from rounding errors."""
        return np.ones_like(values, dtype=bool)

    def _significant(self, precision: float) -> tuple[np.ndarray, np.ndarray]:
        """The eigenvalues kept, for kernel values of this precision, and their eigenvectors."""
        values, vectors, own = self._known()
        # values may be more precise than those on the sample, but the spectrum is not
        floor = len(values) * max(precision, own) * np.abs(values).max()
        kept = np.flatnonzero((np.abs(values) > floor) & self._kept(values))
        if not len(kept):
            raise ValueError(
                f"{where(self)}: the eigenvalues of {self.kernel} on the sample lie in [{values[0]:.3g}, "
                f"{values[-1]:.3g}], and none of them is kept; use another correction."
            )
        kept = kept[np.argsort(-np.abs(values[kept]))][: self.rank]
        return values[kept], vectors[:, kept]

    def _weights(self, precision: float) -> np.ndarray:
        values, vectors = self._significant(precision)
        return vectors / np.sqrt(np.abs(values))

    def features(self, A: Checked) -> Any:
        A = self._members(A)
        if not same(A, self._sample()):
            return super().features(A)
        one = self.kernel.evaluate_diag(self.domain.take(A, slice(0, 1))) if not self.domain.precomputed else A
        values, vectors = self._significant(eps(one))  # UΛ/√|Λ|, up to signs, needs no value of k
        return like(vectors * (np.sign(values) * np.sqrt(np.abs(values))), one)


class _FeaturePoints(Points):
    """Members stored as their features."""

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, index: Index) -> Points:
        return _FeaturePoints(self.kernel, self.X[index])

    def matrix(self, other: Points) -> Any:
        return self.X @ namespace(self.X).matrix_transpose(other.X)


@register
class Clipped(Decomposed):
    r"""A kernel without the negative part of its spectrum.

    .. math:: \tilde k(x, y) = k(x, S)\, U_+ \Lambda_+^{-1} U_+^\top k(S, y), \qquad k(S, S) = U \Lambda U^\top

    On the sample S, the matrix is :math:`U \max(\Lambda, 0) U^\top`, the positive semidefinite matrix nearest to
    :math:`k(S, S)` in the Frobenius norm.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric kernel: INDEFINITE, conditionally definite or of unknown definiteness.
    X : collection, optional
        S. If omitted, `resolve` fills it in; estimators call that with their training samples. A subset of the training
        samples costs less; then see the Notes on `rank`.
    rank : int >= 1, optional
        Number of largest eigenvalues to keep; by default, all those above rounding error.

    Notes
    -----
    Positive definite everywhere, with one feature per eigenvalue kept. If k is already positive definite, the result is
    its projection onto the span of k(s, ·), s in S, and equals k on S.

    A feature is :math:`u^\top k(S, x) / \sqrt\lambda`, at most :math:`\sqrt{k(x, x)}` for a positive definite kernel.
    For other kernels it is unbounded outside S, and small eigenvalues may dominate. They cancel between a new point
    and a point of S, so machines fitted on S are unaffected. For values between two points outside S, lower `rank`.

    The spectrum is that of S as given: sample weights do not enter, and repeated samples change it. Costs O(m³) once
    for m samples in S, and m values of k per new point.

    References
    ----------
    Chen, Garcia, Gupta, Rahimi, Cazzanti, *Similarity-based classification: concepts and algorithms* (2009); Wu, Chang,
    Zhang, *An analysis of transformation on non-positive semidefinite similarity matrix for kernel machines* (2005).

    Examples
    --------
    >>> from mercer.kernels import FiniteDomain
    >>> k = FiniteDomain([[0.0, 2.0], [2.0, 0.0]])  # eigenvalues 2 and -2
    >>> Clipped(k, [0, 1])([0, 1]).round(12)
    array([[1., 1.],
           [1., 1.]])
    """

    def _kept(self, values: np.ndarray) -> np.ndarray:
        return values > 0


@register
class Flipped(Decomposed):
    r"""A kernel with the absolute values of its spectrum.

    .. math:: \tilde k(x, y) = k(x, S)\, U |\Lambda|^{-1} U^\top k(S, y), \qquad k(S, S) = U \Lambda U^\top

    On the sample S, the matrix is :math:`U |\Lambda| U^\top`: the inner product of the Hilbert space associated with
    the Kreĭn space of k. `KreinSVC` is the support vector machine there, written as a function in the space of k.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric kernel.
    X : collection, optional
        S; as in `Clipped`.
    rank : int >= 1, optional
        Number of eigenvalues of largest magnitude to keep; by default, all those above rounding error.

    Notes
    -----
    Positive definite everywhere; costs, and values outside S, as in `Clipped`. Use it if negative eigenvalues carry
    structure and not only noise.

    References
    ----------
    Graepel, Herbrich, Bollmann-Sdorra, Obermayer, *Classification on pairwise proximity data* (1999); Loosli, Canu,
    Ong, *Learning SVM in Kreĭn spaces* (2016).

    Examples
    --------
    >>> from mercer.kernels import FiniteDomain
    >>> k = FiniteDomain([[0.0, 2.0], [2.0, 0.0]])
    >>> Flipped(k, [0, 1])([0, 1]).round(12) + 0.0
    array([[2., 0.],
           [0., 2.]])
    """


@register
class Squared(Projected):
    r"""The inner product of a kernel's values against a sample.

    .. math:: \tilde k(x, y) = \sum_{s \in S} k(x, s)\, k(s, y)

    On the sample S, the matrix is :math:`U \Lambda^2 U^\top` for :math:`k(S, S) = U \Lambda U^\top`: values against S
    serve as features.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric kernel.
    X : collection, optional
        S; if omitted, `resolve` fills it in. A subset of the training samples is enough.

    Notes
    -----
    Positive definite everywhere, and the only correction without an eigendecomposition. Squaring widens the spectrum:
    small eigenvalues all but vanish.

    References
    ----------
    Graepel, Herbrich, Bollmann-Sdorra, Obermayer, *Classification on pairwise proximity data* (1999); Chen, Garcia,
    Gupta, Rahimi, Cazzanti, *Similarity-based classification: concepts and algorithms* (2009).

    Examples
    --------
    >>> from mercer.kernels import FiniteDomain
    >>> k = FiniteDomain([[1.0, 2.0], [2.0, 0.0]])
    >>> Squared(k, [0, 1])([0, 1])
    array([[5., 2.],
           [2., 4.]])
    """


@register
class Shifted(Corrected):
    r"""A kernel with a constant added to its diagonal to make it positive definite on a sample.

    .. math:: \tilde k(x, y) = k(x, y) + c\,[x = y], \qquad c = \max(0, -\lambda_{\min}(k(S, S)))

    On the sample S, without repetitions, the matrix is :math:`U (\Lambda + c) U^\top`; values between distinct points
    do not change.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric kernel.
    X : collection, optional
        S; if omitted, `resolve` fills it in.

    Notes
    -----
    Positive definite on S; elsewhere nothing is proven, and the definiteness is UNKNOWN unless k is PD. Points are
    equal if their content is (numbers, strings, graphs, …). If :math:`P` repeats members of S, their matrix is
    :math:`P(K + cI)P^\top`, which is also positive semidefinite; c depends only on the distinct members, so that
    repetitions change nothing. Costs O(m³) once for m samples in S. A machine fitted with c on the diagonal equals that
    of k with a ridge larger by c (`KernelRidge` with ``alpha + c``).

    References
    ----------
    Roth, Laub, Kawanabe, Buhmann, *Optimal cluster preserving embedding of nonmetric proximity data* (2003); Chen,
    Garcia, Gupta, Rahimi, Cazzanti, *Similarity-based classification: concepts and algorithms* (2009).

    Examples
    --------
    >>> from mercer.kernels import FiniteDomain
    >>> k = FiniteDomain([[0.0, 2.0], [2.0, 0.0]])
    >>> Shifted(k, [0, 1])([0, 1])
    array([[2., 2.],
           [2., 2.]])
    """

    @property
    def shift(self) -> float:
        """The constant c."""
        return self._known()

    def _derive(self, sample: Any) -> float:
        first: dict[Hashable, int] = {}
        for i, key in enumerate(self.domain.contents(sample)):
            first.setdefault(key, i)
        index = np.array(list(first.values()))
        centres = self.domain.take(self.domain.centres(sample), index)
        K = bind(self.kernel, self.domain.take(sample, index), centres).dense()
        return max(0.0, -float(np.linalg.eigvalsh(_symmetric(K))[0]))

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        K, numbers = self.kernel.evaluate(X, Y), dict[Hashable, int]()
        rows, columns = (
            np.array([numbers.setdefault(key, len(numbers)) for key in self.domain.contents(self._members(Z))])
            for Z in (X, X if Y is None else Y)
        )
        return K + self.shift * like(rows[:, None] == columns[None, :], K)

    def evaluate_diag(self, X: Checked) -> Any:
        return self.kernel.evaluate_diag(X) + self.shift
