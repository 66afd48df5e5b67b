"""Spectrum corrections: positive definite kernels from kernels that are not, on a sample and on new points."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._array import eps, host, like, namespace
from .._errors import check_number, where
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
    """Base of the corrections: the kernel, the sample on which its spectrum is known, and what follows from it."""

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
        """What `_derive` makes of the sample, computed once for all tiles of a large matrix."""
        sample = self._sample()
        known, kernel, found = self.__dict__.get("_derived", (None,) * 3)
        if known is not sample or kernel != self.kernel:
            found = self._derive(sample)
            self._derived = sample, clone(self.kernel), found
        return found

    def _derive(self, sample: Any) -> Any:
        raise NotImplementedError

    def _members(self, A: Array) -> Any:
        """A; for training samples given by their numbers (a precomputed matrix), their rows."""
        return self.domain.take(self._sample(), A) if self.domain.precomputed and len(A.shape) == 1 else A

    @classmethod
    def examples(cls) -> list[Kernel]:
        X = np.random.default_rng(5).normal(size=(8, 3))
        return [cls(k, X) for k in (*inner_examples(), Sigmoid(0.5, -0.2), Power(1.0))]


class Projected(Corrected):
    """Corrections that are inner products of explicit features, φ(x) = Wᵀk(S, x): positive definite everywhere."""

    proven = PD
    definiteness_in = Kernel.definiteness_in  # whatever the inner kernel is
    tile = Kernel.tile  # not that of the inner kernel: a block costs a product of features
    prepares = True  # each member needs its row of values over the sample once

    def _weights(self, precision: float) -> np.ndarray | None:
        """W, for values of k of that precision; None for the identity."""
        return None

    def features(self, A: Checked) -> Any:
        """φ(x) = Wᵀk(S, x), with a column for each eigenvalue that counts."""
        A, sample = self._members(A), self._sample()
        centres = self.domain.centres(sample)
        if self.domain.precomputed:
            if A.shape[1] != len(sample):
                raise ValueError(
                    f"{where(self)}: X has {A.shape[1]} columns, but the spectrum is that of {len(sample)} samples; "
                    "give rows of kernel values against these."
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
        # a function of a precomputed kernel keeps the numbers of its points, and numbers have no features
        return frozenset() if self.domain.precomputed else frozenset({"feature_map"})

    def points(self, X: Checked, beside: Any = None) -> Points:
        return _FeaturePoints(self, self.features(X))


class Decomposed(Projected):
    """Corrections that divide by eigenvalues."""

    def __init__(self, kernel: Kernel, X: Checked = None, rank: int | None = None):
        super().__init__(kernel, X)
        self.rank = rank

    def validate(self) -> None:
        super().validate()
        if self.rank is not None:
            check_number(self, "rank", self.rank, at_least=1, integer=True)

    def _derive(self, sample: Any) -> tuple[np.ndarray, np.ndarray, float]:
        K = bind(self.kernel, sample).dense()
        values, vectors = np.linalg.eigh(_symmetric(K))
        return values, vectors, eps(K)

    def _kept(self, values: np.ndarray) -> np.ndarray:
        """Which eigenvalues, among those above rounding, have features."""
        return np.ones_like(values, dtype=bool)

    def _significant(self, precision: float) -> tuple[np.ndarray, np.ndarray]:
        """The eigenvalues with features, for values of k of that precision, and their eigenvectors."""
        values, vectors, own = self._known()
        # values may be more precise than those of the sample, but the spectrum is not
        floor = len(values) * max(precision, own) * np.abs(values).max()
        kept = np.flatnonzero((np.abs(values) > floor) & self._kept(values))
        if not len(kept):
            raise ValueError(
                f"{where(self)}: the eigenvalues of {self.kernel} on the sample lie in [{values[0]:.3g}, "
                f"{values[-1]:.3g}], and none of them remains; use another correction."
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
    """Members held as their features."""

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

    On the sample S the matrix is :math:`U \max(\Lambda, 0) U^\top`, the positive semidefinite one nearest to
    :math:`k(S, S)` in the Frobenius norm.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric one: INDEFINITE, conditionally definite or of unknown definiteness.
    X : collection, optional
        S. Without one it is filled in by `resolve`, which estimators call with their training samples. Fewer samples
        than those for training cost less; see below for `rank` then.
    rank : int >= 1, optional
        How many eigenvalues to keep, the largest; all that are more than rounding otherwise.

    Notes
    -----
    Positive definite everywhere, with one feature for each eigenvalue kept; of a kernel that is positive definite
    already it is the projection onto the functions of S, equal to k on S.

    A feature is :math:`u^\top k(S, x) / \sqrt\lambda`, at most :math:`\sqrt{k(x, x)}` for a positive definite kernel.
    For others nothing bounds it outside S, and small eigenvalues may count most. Between a new point and one of S they
    cancel, so that machines fitted on S do not suffer. Values between two points outside S do: lower `rank` there.

    The spectrum is that of S as it is: weights of samples do not enter, and a sample that is there twice changes it.
    O(m³) once for m samples in S, m values of k for each new point.

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

    On the sample S the matrix is :math:`U |\Lambda| U^\top`: the inner product of the Hilbert space that goes with the
    Kreĭn space of k. `KreinSVC` is the support vector machine in it, written as a function in the space of k.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric one.
    X : collection, optional
        S; as in `Clipped`.
    rank : int >= 1, optional
        How many eigenvalues to keep, the largest in magnitude; all that are more than rounding otherwise.

    Notes
    -----
    Positive definite everywhere; costs, and values outside S, as in `Clipped`. Where negative eigenvalues carry
    structure, and not only noise, this keeps it.

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
    r"""The inner product of the values of a kernel against a sample.

    .. math:: \tilde k(x, y) = \sum_{s \in S} k(x, s)\, k(s, y)

    On the sample S the matrix is :math:`U \Lambda^2 U^\top` for :math:`k(S, S) = U \Lambda U^\top`: values against S
    are taken as the features.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric one.
    X : collection, optional
        S; without one it is filled in by `resolve`. Some of the training samples suffice.

    Notes
    -----
    Positive definite everywhere, and the only correction without a decomposition. Squares widen the spectrum: small
    eigenvalues all but vanish beside large ones.

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
    r"""A kernel with a constant added on its diagonal, which makes it positive definite on a sample.

    .. math:: \tilde k(x, y) = k(x, y) + c\,[x = y], \qquad c = \max(0, -\lambda_{\min}(k(S, S)))

    On the sample S, without repetitions, the matrix is :math:`U (\Lambda + c) U^\top`; values between different points
    stay as they are.

    Parameters
    ----------
    kernel : Kernel
        Any symmetric one.
    X : collection, optional
        S; without one it is filled in by `resolve`.

    Notes
    -----
    Positive definite on S; on other points there is no proof, and the definiteness is UNKNOWN unless k is PD. Points
    are equal by content (numbers, strings, graphs, …). With :math:`P` the matrix that repeats members of S, repeated
    ones have the matrix :math:`P(K + cI)P^\top`, which is positive semidefinite as well; c is that of the different
    ones, so that repetitions change nothing. O(m³) once for m samples in S; a machine that is fitted with c on the
    diagonal is the one of k with c more of ridge (`KernelRidge` with ``alpha + c``).

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
        """c."""
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
