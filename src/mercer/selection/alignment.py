"""Measures of how well a kernel matches targets, or another kernel, without a fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from .._array import doubles, host, like
from .._errors import check_choice, speaking
from .._targets import check_weight
from ..gram import Gram, GramLike, as_representation
from ..kernels import Kernel, KernelLike
from ..kernels.expression import as_kernel
from ..solvers.multiple import inner_products, normalised, shares, target_columns, variance
from ..types import Array, Data, RandomState


@speaking
def alignment(
    kernel: KernelLike,
    X: Data,
    y: Array,
    *,
    classes: bool | None = None,
    centered: bool = True,
    sample_weight: Array = None,
    gram: GramLike = "auto",
    random_state: RandomState = None,
) -> float:
    r"""The (centred) alignment of a kernel with targets, or with another kernel: the cosine between two matrices.

    .. math:: \rho(K, L) = \frac{\langle HKH, HLH \rangle_F}{\lVert HKH \rVert_F \lVert HLH \rVert_F}, \qquad
              H = I - \tfrac1n 1 1^\top

    with :math:`L = YY^\top` for targets. For positive definite kernels it lies between 0 and 1. It is invariant to
    scaling a kernel and, if centred, to adding a constant to it.

    Parameters
    ----------
    kernel : Kernel, text, or Gram
        The first matrix; a `mercer.gram.Gram` is used as it is.
    X : collection
        The samples; None with Grams.
    y : array of shape (n,) or (n, n_targets), Kernel, or Gram
        Classes, numbers, or the second matrix. Each class is an indicator column of Y.
    classes : bool, optional
        Whether y contains classes. None: integers, booleans and strings are classes, other numbers are not.
    centered : bool
        Whether to centre feature vectors and targets; otherwise a constant part of the kernel counts as agreement.
    sample_weight : array of shape (n,), optional
        Weights of the samples; a weight of 2 counts a sample twice.
    gram : Representation or name
        Representation of the matrices. Low-rank ones cost O(nr²) and need no (n, n) matrix; lazy ones are computed in
        blocks of rows.
    random_state : int, Generator or None
        For random representations.

    Returns
    -------
    float
        0 if one of the matrices is zero.

    References
    ----------
    Cortes, Mohri, Rostamizadeh, *Algorithms for learning kernels based on centered alignment* (2012); for the uncentred
    version, Cristianini, Shawe-Taylor, Elisseeff, Kandola, *On kernel-target alignment* (2001).

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> y = X[:, 0] > 0
    >>> bool(alignment("linear", X[:, :1], y) > 3 * alignment("linear", X[:, 1:], y))
    True
    >>> round(alignment("linear", X, "5*linear + 1"), 12)
    1.0
    """
    check_choice("alignment", "centered", centered, (True, False))
    K = _gram("alignment", kernel, X, gram, random_state)
    L = _second("alignment", y, classes, K, gram, random_state)
    weight = _weight("alignment", sample_weight, K.n)
    return float(normalised(inner_products([K, L], weight, centered))[0, 1])


@speaking
def dependence(
    kernel: KernelLike,
    X: Data,
    y: Array,
    *,
    classes: bool | None = None,
    sample_weight: Array = None,
    gram: GramLike = "auto",
    random_state: RandomState = None,
) -> float:
    r"""The Hilbert–Schmidt independence criterion (HSIC) between samples and targets.

    .. math:: \frac{1}{n^2} \operatorname{tr} (HKH)\, L, \qquad L = YY^\top

    is the squared norm of the cross-covariance of feature vectors and targets, and 0 if they are uncorrelated in the
    space. Unlike `alignment` it scales with the kernel; `mercer.inference.hsic` turns it into a test of independence.
    Parameters are as in `alignment`.

    References
    ----------
    Gretton, Bousquet, Smola, Schölkopf, *Measuring statistical dependence with Hilbert–Schmidt norms* (2005).

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0]])
    >>> round(dependence("linear", X, [-0.5, 0.5]), 12)  # the squared covariance
    0.25
    """
    K = _gram("dependence", kernel, X, gram, random_state)
    L = _second("dependence", y, classes, K, gram, random_state)
    return float(inner_products([K, L], _weight("dependence", sample_weight, K.n))[0, 1])


@speaking
def class_separability(
    kernel: KernelLike,
    X: Data,
    y: Array,
    *,
    sample_weight: Array = None,
    gram: GramLike = "auto",
    random_state: RandomState = None,
) -> float:
    r"""The ratio of between-class to within-class scatter in the space of a kernel.

    .. math:: \frac{\operatorname{tr} S_B}{\operatorname{tr} S_W}
              = \frac{\sum_c n_c \lVert \mu_c - \mu \rVert^2}
                     {\sum_c \sum_{i \in c} \lVert \varphi(x_i) - \mu_c \rVert^2}

    It is infinite if each class is a single point in the space. It needs one product with the matrix.
    Parameters are as in `alignment`; y contains classes.

    References
    ----------
    Wang, *Feature selection with kernel class separability* (2008).

    Examples
    --------
    >>> X = np.array([[-1.0], [-3.0], [1.0], [3.0]])
    >>> class_separability("linear", X, ["a", "a", "b", "b"])  # means ±2, of total 0; each point is 1 away from its own
    4.0
    """
    K = _gram("class_separability", kernel, X, gram, random_state)
    weight = _weight("class_separability", sample_weight, K.n)
    Y = target_columns(_targets("class_separability", y, K.n), classes=True)
    if Y.shape[1] < 2:
        raise ValueError("class_separability: y has one class; pass two or more.")
    w = shares(K.n, weight)
    member = w[:, None] * Y
    member = member[:, member.sum(axis=0) > 0]
    means = member / member.sum(axis=0)
    towards = doubles(K @ like(np.column_stack([means, w]), K.like))
    squared = np.einsum("ic,ic->c", np.column_stack([means, w]), towards)  # ‖μ_c‖², and ‖μ‖² at the end
    between = max(0.0, float(member.sum(axis=0) @ squared[:-1]) - float(squared[-1]))
    within = variance(K, weight) - between
    return between / within if within > 1e-14 * between else float("inf") if between > 0 else 0.0


# ---- arguments


def _gram(who: str, kernel: Any, X: Any, gram: Any, random_state: Any) -> Gram:
    if isinstance(kernel, Gram):
        return kernel
    if X is None:
        raise TypeError(f"{who}: X is None; pass the samples for the kernel {kernel!r}.")
    kernel = as_kernel(kernel)
    return as_representation(gram).build(kernel.resolve(kernel.domain.check(X, kernel, "X")), X, random_state)


def _second(who: str, y: Any, classes: bool | None, K: Gram, gram: Any, random_state: Any) -> Any:
    """The second operator: a Gram, or Y with L = YYᵀ."""
    if isinstance(y, (Gram, Kernel, str)):
        L = _gram(who, y, K.X, gram, random_state)
        if L.n != K.n:
            raise ValueError(f"{who}: y is a Gram of {L.n} samples, but the kernel has {K.n}; they must agree.")
        return L
    y = _targets(who, y, K.n)
    check_choice(who, "classes", classes, (None, True, False))
    if classes is None:
        classes = not type_of_target(y).startswith("continuous")
    return target_columns(y, classes)


def _targets(who: str, y: Array, n: int) -> np.ndarray:
    values = host(y)
    if values.ndim not in (1, 2) or len(values) != n:
        raise ValueError(f"{who}: y has shape {values.shape}, expected ({n},) or ({n}, n_targets), a row per sample.")
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise ValueError(f"{who}: y contains NaN or infinity; drop those samples.")
    return values


def _weight(who: str, sample_weight: Array, n: int) -> np.ndarray | None:
    return None if sample_weight is None else check_weight(who, sample_weight, n).astype(np.float64)
