"""From decision values to probabilities: monotone maps fitted to held-out values, and pairwise coupling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, log_expit

FOLDS = 5
CLIP = 1e-7  # distance of pairwise probabilities from 0 and 1, so that they determine the class probabilities


@dataclass(frozen=True)
class Calibration:
    r"""The map from decision values of a classifier to probabilities, and its quality.

    For each machine, :math:`p = 1 / (1 + e^{-a_\pm f})`, with one slope for positive and one for negative f, fitted to
    held-out values. The map is monotone, with p = ½ at f = 0.

    Attributes
    ----------
    slopes : array of shape (n_machines, 2)
        a₋ and a₊ of each machine.
    brier : float
        Mean over samples of Σ over classes of (p − 1[class])², from machines fitted without the sample.
    log_loss : float
        Mean of −log p of the true class, likewise.
    n_samples : int
        Number of samples in the two means.
    """

    slopes: np.ndarray
    brier: float
    log_loss: float
    n_samples: int


def slopes(values: np.ndarray, y: np.ndarray) -> np.ndarray:
    """a₋ and a₊ ≥ 0 of the maximum-likelihood map from held-out values to labels ±1.

    Labels are smoothed as by Platt, to (n₊ + 1)/(n₊ + 2) and 1/(n₋ + 2), so that slopes stay finite for separable
    values.
    """
    positive, negative = int(np.sum(y > 0)), int(np.sum(y < 0))
    target = np.where(y > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    scale = float(np.abs(values).mean()) or 1.0
    parts = np.stack([np.minimum(values, 0.0), np.maximum(values, 0.0)], axis=1) / scale

    def loss(a: np.ndarray) -> tuple[float, np.ndarray]:
        t = parts @ a
        value = -(target * log_expit(t) + (1 - target) * log_expit(-t)).sum()
        return float(value), parts.T @ (expit(t) - target)

    result = minimize(loss, np.ones(2), jac=True, method="L-BFGS-B", bounds=[(1e-6, None)] * 2, options={"ftol": 1e-15})
    return result.x / scale


def probability(values: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Apply the map with slopes a = (a₋, a₊); machines are the last axis of `values` and the rows of a."""
    return expit(np.where(values < 0, a[..., 0], a[..., 1]) * values)


def couple(r: np.ndarray) -> np.ndarray:
    r"""Class probabilities p from r[:, i, j] ≈ P(i | i or j): :math:`\min \sum_{i \ne j} (r_{ji} p_i - r_{ij} p_j)^2`.

    With Σp = 1 this is one linear system per sample, with a non-negative solution.

    Parameters
    ----------
    r : array of shape (n, k, k)
        Pairwise probabilities in [0, 1], r[:, i, j] + r[:, j, i] = 1; the diagonal is ignored.

    Returns
    -------
    array of shape (n, k)

    References
    ----------
    Wu, Lin, Weng, *Probability estimates for multi-class classification by pairwise coupling* (2004), section 4, second
    approach.

    Examples
    --------
    Pairs consistent with p = (½, ⅓, ⅙) recover it:

    >>> p = np.array([[1 / 2, 1 / 3, 1 / 6]])
    >>> couple(p[:, :, None] / (p[:, :, None] + p[:, None, :])).round(6)
    array([[0.5     , 0.333333, 0.166667]])
    """
    try:
        r = np.asarray(r, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"couple: r must hold numbers, a (k, k) matrix for each sample ({error}).") from None
    if r.ndim != 3 or r.shape[1] != r.shape[2] or r.shape[1] < 2:
        raise ValueError(f"couple: r has shape {r.shape}; expected (n, k, k), a (k, k) matrix for each sample.")
    n, k, _ = r.shape
    off = ~np.eye(k, dtype=bool)
    r = np.where(off, r, 0.5)
    other = np.swapaxes(r, 1, 2)
    wrong = ~((r >= 0) & (r <= 1) & np.isclose(r + other, 1.0))
    if wrong.any():
        s, i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"couple: r[{s}, {i}, {j}] = {r[s, i, j]:g} and r[{s}, {j}, {i}] = {r[s, j, i]:g} must be probabilities "
            "that sum to 1."
        )
    system = np.zeros((n, k + 1, k + 1))
    system[:, :k, :k] = -other * r * off
    system[:, range(k), range(k)] = (other**2 * off).sum(axis=2)
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)  # rounding may give −1e-17
    return p / p.sum(axis=1, keepdims=True)


def quality(p: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Brier score and log loss of class probabilities, for labels 0, 1, …"""
    hit = p[np.arange(len(p)), labels]
    brier = np.mean((p**2).sum(axis=1) - 2 * hit + 1)
    return float(brier), float(-np.mean(np.log(np.maximum(hit, np.finfo(float).tiny))))


def folds(members: list[np.ndarray], n: int, rng: np.random.Generator) -> np.ndarray:
    """Stratified folds: the fold of each of n samples, 0 … FOLDS − 1 or fewer."""
    out = np.zeros(n, dtype=np.int64)
    count = min([FOLDS, *(len(mine) for mine in members if len(mine) > 1)])
    for mine in members:
        out[rng.permutation(mine)] = np.arange(len(mine)) % count
    return out
