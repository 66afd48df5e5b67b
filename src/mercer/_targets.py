"""Checks of targets, labels and sample weights."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from ._array import host, is_sparse
from ._errors import SQUARED, KindError, as_numbers, is_gap, shown, type_or_value, where


def check_targets(owner: object, y: Any) -> Any:
    """`y` as finite real numbers: text, times, complex numbers and missing values are rejected, not converted."""
    values = _array_of(owner, y)
    some = values.ravel() if values.dtype.kind in "OSU" else ()
    text = next((str(value) for value in some if isinstance(value, (str, bytes))), None)
    if text is not None:
        raise KindError(
            f"{where(owner)}: y holds text, such as {text!r}; give real numbers, or use a classifier for labels."
        )
    if values.dtype.kind in "cMmV":
        message = f"{where(owner)}: y holds {values.dtype} values; give real numbers."
        # scikit-learn's checks require this class and sentence
        raise ValueError(f"{message} Complex data not supported.") if values.dtype.kind == "c" else TypeError(message)
    if values.dtype.kind == "O":
        return as_numbers(owner, "y", values)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # infinite values are rejected next
            return values.astype(np.float64)
    return y


def check_labels(owner: object, y: Any) -> Any:
    """Return `y`; raise if labels are missing."""
    values = _array_of(owner, y)
    gap = next((value for value in values.ravel() if is_gap(value)), ...) if values.dtype.kind == "O" else ...
    if gap is not ...:
        raise ValueError(f"{where(owner)}: y holds {gap!r}, a missing label; set a label, or drop those samples.")
    return y


def _array_of(owner: object, y: Any) -> np.ndarray:
    if is_sparse(y):
        raise KindError(f"{where(owner)}: y is sparse; give an array, y.toarray().")
    try:
        return host(y)
    except ValueError:
        raise KindError(
            f"{where(owner)}: y has rows of unequal length; give the same number of targets for each sample."
        ) from None


def check_weight(owner: object, sample_weight: Any, n: int) -> np.ndarray:
    """The weights of `n` samples: finite, non-negative, not all zero. One number applies to all samples."""
    try:
        weight = host(sample_weight)
    except ValueError:
        weight = np.full(1, None)  # of unequal length
    if weight.dtype.kind == "O" and all(isinstance(value, Real) for value in weight.ravel()):
        weight = weight.astype(np.float64)  # numbers, from a frame of mixed columns
    if weight.dtype.kind not in "fiub":
        raise KindError(f"{where(owner)}: sample_weight holds {weight.dtype} values; give {n} numbers >= 0.")
    weight = np.full(n, weight) if weight.ndim == 0 else weight
    if weight.shape != (n,):
        raise ValueError(
            f"{where(owner)}: sample_weight has shape {weight.shape}, expected ({n},): give one number per sample."
        )
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ValueError(
            f"{where(owner)}: sample_weight[{bad[0]}] = {weight[bad[0]]:g} must be a finite number >= 0; "
            "a weight of 0 omits the sample."
        )
    if not (weight > 0).any():
        raise ValueError(f"{where(owner)}: sample_weight is zero for all {n} samples; at least one must be positive.")
    largest = float(weight.max())
    if not 2.0**-SQUARED <= largest <= 2.0**SQUARED:
        raise ValueError(
            f"{where(owner)}: sample_weight goes up to {largest:.0e}, whose square overflows or underflows; "
            f"divide the weights by {largest:.0e}, and any penalty as well."
        )
    return weight


def check_class_weight(owner: Any) -> None:
    """Raise unless `class_weight` is None, "balanced" or a dict of finite numbers >= 0."""
    if not isinstance(owner.class_weight, dict):
        given = owner.class_weight
        if not (given is None or (isinstance(given, str) and given == "balanced")):
            raise ValueError(
                f"{where(owner)}: class_weight = {shown(given)} is unknown; choose None, 'balanced' or a dict of "
                "weights."
            )
        return
    for name, value in owner.class_weight.items():
        if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise type_or_value(value)(
                f"{where(owner)}: class_weight[{name!r}] = {shown(value)} must be a finite number >= 0; it multiplies "
                "the weights of the samples in this class."
            )
