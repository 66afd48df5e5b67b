"""Multitask ridge regression as linear systems: targets of all tasks at all samples, or of some."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._array import host, like
from ..gram import Gram
from ..solvers.linear import System, solve
from ..solvers.multitask import Complete, Scattered, TaskGram
from ..solvers.spectral import Spectral
from ..types import Array

VANISHING = 1e-13  # times the largest eigenvalue of B; smaller ones are raised to this, which fits nothing


@dataclass(eq=False)
class Rotated:
    """Targets Y of all tasks at all samples: one problem per eigenvector of B."""

    gram: Gram
    Y: np.ndarray
    weight: Array

    @cached_property
    def path(self) -> Spectral:
        return Spectral(self.gram, None, self.weight)

    @staticmethod
    def _eigen(B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, vectors = np.linalg.eigh(B)
        return np.maximum(values, VANISHING * values[-1]), vectors

    def left_out(self, B: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Leave-one-out predictions of all tasks at each sample, of shape (n, T, A)."""
        values, V = self._eigen(B)
        Z = like(self.Y @ V, self.gram.like)
        parts = [self.path.leave_one_out(Z[:, [j]], alphas / v)[:, 0, :] for j, v in enumerate(values)]
        return np.einsum("ija,tj->ita", host(np.stack(parts, axis=1)), V)

    def errors(self, B: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Squared leave-one-out errors, averaged over tasks, of shape (n, A)."""
        return np.mean((self.left_out(B, alphas) - self.Y[:, :, None]) ** 2, axis=1)

    def solve(self, B: np.ndarray, alpha: float) -> np.ndarray:
        """The coefficients a of f_t = Σ aᵢₛ B_st k(·, xᵢ), of shape (n, T)."""
        values, V = self._eigen(B)
        Z = like(self.Y @ V, self.gram.like)
        if self.gram.provides:
            c = host(self.path.solve(Z, alpha / values).coefficients)
        else:  # lazy matrices are not decomposed
            systems = (System(self.gram, Z[:, j], alpha / v, weight=self.weight) for j, v in enumerate(values))
            c = np.stack([host(solve(system).coefficients) for system in systems], axis=1)
        return (c / values) @ V.T

    def evidence(self) -> Complete:
        return Complete(self.path, self.Y)


@dataclass(eq=False)
class Entries:
    """Targets at some samples and tasks: a single joint problem."""

    gram: Gram
    rows: np.ndarray
    tasks: np.ndarray
    y: np.ndarray
    weight: Array

    def _gram(self, B: np.ndarray) -> TaskGram:
        return TaskGram(self.gram, self.rows, self.tasks, B)

    def left_out(self, B: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Predictions of each entry by the fit without any entry of its sample, of shape (N, A)."""
        path, b = Spectral(self._gram(B), None, self.weight), self.y[:, None]
        if len(np.unique(self.rows)) == len(self.rows):
            return path.leave_one_out(b, alphas)[:, 0, :]
        order = np.argsort(self.rows, kind="stable")
        groups = np.split(order, np.flatnonzero(np.diff(self.rows[order])) + 1)
        splits = [(np.setdiff1d(order, group), group) for group in groups]
        out = np.empty((len(b), len(alphas)))
        for (_, group), values in zip(splits, path.held_out(b, alphas, splits), strict=True):
            out[group] = values[:, 0, :]
        return out

    def errors(self, B: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Squared errors of `left_out`, of shape (N, A)."""
        return (self.left_out(B, alphas) - self.y[:, None]) ** 2

    def solve(self, B: np.ndarray, alpha: float) -> np.ndarray:
        gram = self._gram(B)
        a = solve(System(gram, self.y, alpha, weight=self.weight)).coefficients
        return gram.spread(host(a))

    def evidence(self) -> Scattered:
        return Scattered(host(self.gram.block(self.rows, self.rows)), self.tasks, self.y[:, None], self.weight)
