"""The folds of a cross-validation, as scikit-learn makes them."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import check_cv

from ._errors import KindError, where
from .types import Array, Splitter

Split = tuple[np.ndarray, np.ndarray]


def folds(
    owner: object, cv: Splitter, n: int, y: Array = None, labels: bool = False, groups: Array = None
) -> list[Split]:
    """The places (train, test) of n samples that `cv` stands for: a number of folds, a splitter, or such pairs."""
    ways = "give a number of folds, a splitter of scikit-learn, or pairs of places"
    try:
        splits = [(train, test) for train, test in check_cv(cv, y, classifier=labels).split(np.zeros(n), y, groups)]
    except ValueError as error:
        raise ValueError(f"{where(owner)}: cv = {cv!r} makes no folds of {n} samples ({error}); {ways}.") from error
    except TypeError as error:
        raise KindError(f"{where(owner)}: cv = {cv!r} makes no folds; {ways}.") from error
    if not splits or any(np.asarray(part).dtype.kind not in "iub" for split in splits for part in split):
        raise ValueError(f"{where(owner)}: cv = {cv!r} makes no folds; {ways}.")
    return splits
