"""The folds of a cross-validation, as scikit-learn makes them."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, check_cv

from ._errors import KindError, where
from .types import Array, RandomState, Splitter

Split = tuple[np.ndarray, np.ndarray]


def folds(
    owner: object, cv: Splitter, n: int, y: Array = None, labels: bool = False, groups: Array = None
) -> list[Split]:
    """The index pairs (train, test) that `cv` specifies for n samples: a number of folds, a splitter, or such pairs."""
    ways = "pass a number of folds, a scikit-learn splitter, or pairs of index arrays"
    try:
        splits = [(train, test) for train, test in check_cv(cv, y, classifier=labels).split(np.zeros(n), y, groups)]
    except ValueError as error:
        raise ValueError(f"{where(owner)}: cv = {cv!r} gives no folds for {n} samples ({error}); {ways}.") from error
    except TypeError as error:
        raise KindError(f"{where(owner)}: cv = {cv!r} gives no folds; {ways}.") from error
    if not splits or any(np.asarray(part).dtype.kind not in "iub" for split in splits for part in split):
        raise ValueError(f"{where(owner)}: cv = {cv!r} gives no folds; {ways}.")
    return splits


def shuffled(count: int, seed: RandomState, labels: bool = False, grouped: bool = False) -> Splitter:
    """So many folds in random order, stratified by label if there are labels; with `grouped`, groups stay whole."""
    kinds = (GroupKFold, StratifiedGroupKFold) if grouped else (KFold, StratifiedKFold)
    return kinds[labels](count, shuffle=True, random_state=seed)


def drawn(n: int, most: int, order: np.ndarray, labels: np.ndarray | None = None) -> np.ndarray:
    """At most `most` of n samples, the first in a random order; stratified by class, with at least two per class.

    Examples
    --------
    >>> drawn(8, 4, np.arange(8), np.array(list("aaaaabbb"))).tolist()
    [0, 1, 5, 6]
    """
    if n <= most:
        return np.arange(n)
    classes = np.zeros(n, dtype=int) if labels is None else np.unique(labels, return_inverse=True)[1]
    turn = np.empty(n)  # for each sample, the fraction of its class that comes before it
    for label in np.unique(classes):
        own = order[classes[order] == label]
        turn[own] = (np.arange(len(own)) + 0.5) / len(own)
        turn[own[:2]] = 0.0
    return np.sort(np.argsort(turn, kind="stable")[:most])
