"""Ranking quality of similarities: mean reciprocal rank and mean average precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from .._array import doubles, host
from .._errors import speaking


@speaking
def mean_reciprocal_rank(similarity: Any, relevant: Any = None) -> float:
    """The mean over queries of 1/rank of the first relevant candidate.

    Parameters
    ----------
    similarity : array of shape (n_queries, n_candidates)
        Larger is more similar. Tied candidates all get their worst rank, so that a constant similarity gains nothing.
    relevant : boolean array of the same shape, optional
        By default candidate i is the only answer to query i. Queries without an answer are ignored.

    Examples
    --------
    >>> mean_reciprocal_rank([[0.9, 0.1], [0.8, 0.2]])
    0.75
    """
    ranks, relevant = _ranks("mean_reciprocal_rank", similarity, relevant)
    return float(np.mean(1.0 / np.where(relevant, ranks, np.inf).min(axis=1)))


@speaking
def mean_average_precision(similarity: Any, relevant: Any = None) -> float:
    """The mean over queries of the average precision: the mean precision at the ranks of the relevant candidates.

    Parameters are as in `mean_reciprocal_rank`.

    Examples
    --------
    >>> mean_average_precision([[0.9, 0.5, 0.1]], [[True, False, True]])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    ranks, relevant = _ranks("mean_average_precision", similarity, relevant)
    among = rankdata(np.where(relevant, ranks, np.inf), method="max", axis=1)  # the rank among the relevant ones
    precision = np.where(relevant, among / ranks, 0.0)
    return float(np.mean(precision.sum(axis=1) / relevant.sum(axis=1)))


def _ranks(who: str, similarity: Any, relevant: Any) -> tuple[np.ndarray, np.ndarray]:
    """The ranks of the candidates and which are relevant, for the queries with an answer."""
    S = doubles(similarity)
    if S.ndim != 2 or not S.size or np.isnan(S).any():
        raise ValueError(f"{who}: similarity has shape {S.shape}; it must be (n_queries, n_candidates), without NaN.")
    if relevant is None:
        if S.shape[0] != S.shape[1]:
            raise ValueError(f"{who}: similarity of shape {S.shape} is not square; pass relevant.")
        relevant = np.eye(len(S), dtype=bool)
    R = host(relevant).astype(bool)
    if R.shape != S.shape:
        raise ValueError(f"{who}: relevant has shape {R.shape}, but similarity {S.shape}; they must agree.")
    answered = R.any(axis=1)
    if not answered.any():
        raise ValueError(f"{who}: relevant marks no candidate for any query; check how it was computed.")
    return rankdata(-S[answered], method="max", axis=1), R[answered]
