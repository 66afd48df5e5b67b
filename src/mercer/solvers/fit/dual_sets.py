"""Losses of linear machines, as maxima over the sets of their dual variables β."""

from __future__ import annotations

from copy import copy

import numpy as np

from ...types import Array

BIG = 1e300  # stands for no bound, since compiled code has no infinity


class Intervals:
    """One β in [lower, upper] ∋ 0 for each sample: the hinge, the ε-insensitive loss, and their squares.

    Parameters
    ----------
    target, cost : arrays of shape (n,)
        p and c > 0; or of shape (machines, n), for `minimise_all`.
    lower, upper : bool or arrays of bool
        Whether β may be negative, and positive.
    epsilon : float >= 0
    squared : bool
        Whether the loss is c·(·)² with unbounded β, instead of c·(·) with |β| ≤ c.
    """

    def __init__(self, target: np.ndarray, cost: np.ndarray, lower: Array, upper: Array, epsilon: float, squared: bool):
        self.target, self.cost, self.epsilon = target, cost, epsilon
        self.own = 0.5 if squared else 0.0  # γ = own/c
        bound = np.full_like(cost, BIG) if squared else cost
        self.lower, self.upper = np.where(lower, -bound, 0.0), np.where(upper, bound, 0.0)
        self.shape = target.shape
        self.scale = float(np.mean(np.abs(target))) or 1.0

    @classmethod
    def classification(cls, sign: np.ndarray, cost: np.ndarray, squared: bool) -> Intervals:
        """c·max(0, 1 − yf), or c·max(0, 1 − yf)²."""
        return cls(sign, cost, sign < 0, sign > 0, 0.0, squared)

    @classmethod
    def regression(cls, y: np.ndarray, cost: np.ndarray, epsilon: float, squared: bool) -> Intervals:
        """c·max(0, |y − f| − ε), or c·max(0, |y − f| − ε)²."""
        return cls(y, cost, True, True, epsilon, squared)

    def __getitem__(self, k: int | None) -> Intervals:
        """The intervals of machine k; with None, a single machine as the first of one."""
        part = copy(self)
        part.target, part.cost, part.lower, part.upper = (
            a[k] for a in (self.target, self.cost, self.lower, self.upper)
        )
        part.shape = part.target.shape
        return part

    def value(self, beta: np.ndarray, F: np.ndarray) -> np.ndarray:
        """What each sample's β makes of its maximum, which is the loss."""
        quadratic = self.own / (2 * self.cost) * beta * beta if self.own else 0.0
        return beta * (self.target - F) - self.epsilon * np.abs(beta) - quadratic

    def attain(self, F: np.ndarray) -> np.ndarray:
        """The β of the maxima."""
        if self.own:
            return self.respond(F, 0.0, np.zeros(1))[0]
        r = self.target - F
        return np.where(r > self.epsilon, self.upper, np.where(r < -self.epsilon, self.lower, 0.0))

    def respond(self, F: np.ndarray, h: float, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The β of the maxima with (h/2c)(β − centre)² subtracted, and where it varies with f."""
        a = centre * (h / self.cost) + (self.target - F)
        inside = a - np.clip(a, -self.epsilon, self.epsilon) if self.epsilon else a
        beta = np.clip(inside * (self.cost / (h + self.own)), self.lower, self.upper)
        return beta, (beta > self.lower) & (beta < self.upper) & (inside != 0)

    def vary(self, active: np.ndarray, D: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        """The rate of decrease of β as f moves along D."""
        return np.where(active, stiffness * D, 0.0)

    def moving(self, active: np.ndarray) -> np.ndarray:
        """The samples that vary."""
        return active

    def balance(self, beta: np.ndarray) -> np.ndarray:
        """β with sum 0, by shrinking the sign that dominates."""
        plus, minus = float(beta[beta > 0].sum()), -float(beta[beta < 0].sum())
        least = min(plus, minus)
        return beta * np.where(beta > 0, least / (plus or 1.0), least / (minus or 1.0))


class Simplices:
    """A row of β for each sample, with sum 0, β ≤ c in its own class and ≤ 0 in the others.

    The loss of Crammer and Singer, *On the algorithmic implementation of multiclass kernel-based vector machines*
    (2001), equation 5: c·max over m of (1 − δ_{my} + f_m − f_y) is the maximum of Σ β_m(δ_{my} − f_m) over such rows.
    """

    own = 0.0
    scale = 1.0

    def __init__(self, label: np.ndarray, classes: int, cost: np.ndarray):
        self.target = (label[:, None] == np.arange(classes)).astype(np.float64)
        self.cost = cost[:, None]
        self.shape = self.target.shape

    def value(self, beta: np.ndarray, F: np.ndarray) -> np.ndarray:
        """What each sample's β makes of its maximum, which is the loss."""
        return np.sum(beta * (self.target - F), axis=1)

    def attain(self, F: np.ndarray) -> np.ndarray:
        """The β of the maxima."""
        rival = (self.target - F).argmin(axis=1)
        return self.cost * (self.target - (rival[:, None] == np.arange(self.shape[1])))

    def respond(self, F: np.ndarray, h: float, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The β of the maxima with (h/2c)‖β − centre‖² subtracted, and which entries vary with f.

        β = c(target − s) with s the nearest point of the simplex: Held, Wolfe, Crowder, *Validation of subgradient
        optimization* (1974), section 3.
        """
        z = self.target - centre / self.cost - (self.target - F) / h
        ordered = -np.sort(-z, axis=1)
        level = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, z.shape[1] + 1)
        last = np.count_nonzero(ordered > level, axis=1) - 1
        s = np.maximum(z - np.take_along_axis(level, last[:, None], axis=1), 0.0)
        return self.cost * (self.target - s), s > 0

    def vary(self, active: np.ndarray, D: np.ndarray, stiffness: np.ndarray) -> np.ndarray:
        """The rate of decrease of β as f moves along D, with each row centred over its active entries."""
        mean = np.sum(active * D, axis=1, keepdims=True) / np.sum(active, axis=1, keepdims=True)
        return np.where(active, stiffness * (D - mean), 0.0)

    def moving(self, active: np.ndarray) -> np.ndarray:
        """The samples that vary."""
        return np.count_nonzero(active, axis=1) > 1

    def balance(self, beta: np.ndarray) -> np.ndarray:
        """β unchanged: its columns sum to 0 up to rounding, which has no simple correction."""
        return beta
