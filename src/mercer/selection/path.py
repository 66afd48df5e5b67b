"""A support vector machine over a range of C, each solution the start of the next, on one cache of kernel rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from .. import _tiles
from .._errors import check_number
from .._progress import Deadline
from ..methods import SVC
from ..methods._svm import SINGLE
from ..solvers.fit._rows import Block, Segment
from ..solvers.fit.working_set import COARSE, BoxProblem, BoxSolution, minimise
from ..space import Function

__all__ = ["SVMPath", "svm_path"]


@dataclass(frozen=True)
class SVMPath:
    """What `svm_path` returns: for each value of C the machine, and what is known of it.

    Attributes
    ----------
    C : array of shape (m,)
        As given.
    classes : array of shape (2,)
        Positive values mean the second.
    dual_coef : array of shape (m, n_samples)
        β, signed as the classes.
    intercept : array of shape (m,)
    objective, gap : array of shape (m,)
        ½βᵀKβ − yᵀβ, and max{f : β can grow} − min{f : β can fall}, the criterion that ``tol`` bounds.
    n_support, n_bound : array of shape (m,)
        How many β are not zero, and how many of them at their bound.
    training_error, loo_bound : array of shape (m,)
        Fraction of the samples in error, and a bound on the fraction that would be if each were left out.
    n_rows : int
        Rows of the kernel matrix that were computed for all of it.
    functions : list of Function
        The machines.
    """

    C: np.ndarray
    classes: np.ndarray
    dual_coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    gap: np.ndarray
    n_support: np.ndarray
    n_bound: np.ndarray
    training_error: np.ndarray
    loo_bound: np.ndarray
    n_rows: int
    functions: list[Function]


def svm_path(X: Any, y: Any, C: Any, *, sample_weight: Any = None, **params: Any) -> SVMPath:
    r"""The machines of `SVC` for two classes, over many values of C.

    Parameters
    ----------
    X, y
        Samples, and labels of two classes.
    C : array of numbers > 0
        In any order; they are solved from the smallest to the largest.
    sample_weight : array, optional
        Multiplies C for each sample.
    **params
        ``kernel``, ``gamma``, ``degree``, ``coef0``, ``class_weight``, ``tol``, ``cache_size``, ``max_iter``, ``gram``,
        ``n_jobs`` and ``time_budget`` (for the whole path) of `SVC`.

    Returns
    -------
    SVMPath

    Notes
    -----
    From β at C to C′ > C: sβ is feasible for 0 ≤ s ≤ C′/C, and the best s is yᵀβ/βᵀKβ cut to that interval.

    The bound of Joachims counts the samples with :math:`2 \alpha_i R^2 + \xi_i \ge 1`, where
    :math:`R^2 = \max k - \min k` over the sample, which costs one pass over the matrix. It holds for positive definite
    kernels where some coefficient is strictly between its bounds.

    References
    ----------
    Joachims, *Estimating the generalization performance of an SVM efficiently* (2000), theorem 1.

    Examples
    --------
    >>> X = np.array([[-2.0], [-1.0], [0.2], [-0.2], [1.0], [2.0]])
    >>> path = svm_path(X, [0, 0, 0, 1, 1, 1], [0.1, 1.0, 10.0], kernel="linear")
    >>> path.n_support, path.training_error.round(2)
    (array([6, 4, 4]), array([0.33, 0.33, 0.33]))
    """
    model = SVC(**params)
    model._check_parameters()
    strengths = np.array(C, dtype=np.float64)
    if strengths.ndim != 1 or not len(strengths):
        raise ValueError(f"svm_path: C of shape {strengths.shape} must be a list of numbers > 0.")
    for value in strengths.tolist():
        check_number("svm_path", "C", value, above=0)
    if not model.fit_intercept:
        raise ValueError("svm_path: fit_intercept = False is not among the machines of the path; leave it at True.")
    X, y = model._check_fit(X, y)
    check_classification_targets(y)
    model._prepare(X)
    classes, labels = np.unique(np.asarray(y), return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"svm_path: y holds {len(classes)} classes; the path is of two.")
    weight = model._check_weight(sample_weight, X)
    weight = np.ones(len(labels)) if weight is None else weight.astype(np.float64)
    weight = weight * compute_class_weight(model.class_weight, classes=classes, y=np.asarray(y))[labels]
    signs = np.where(labels == 1, 1.0, -1.0)

    order = np.argsort(strengths, kind="stable")
    solutions, n_rows, spread = _solve(model, X, signs, weight, strengths[order])
    solutions = [solutions[i] for i in np.argsort(order)]
    model._report(solutions)

    beta = np.array([s.beta for s in solutions])
    intercept = np.array([s.offsets[0] for s in solutions])
    margin = signs * (signs - np.array([s.f for s in solutions]) + intercept[:, None])
    bound = np.abs(beta) >= strengths[:, None] * weight
    doubtful = 2 * np.abs(beta) * spread + np.maximum(0.0, 1.0 - margin) >= 1
    gram, functions = model._gram, []
    for b, c in zip(beta, intercept, strict=True):
        model._gram = gram  # which each machine gives up
        functions.append(model._machine(X, np.flatnonzero(b), b[b != 0], c))
    return SVMPath(
        C=strengths,
        classes=classes,
        dual_coef=beta,
        intercept=intercept,
        objective=np.array([s.objective for s in solutions]),
        gap=np.array([s.gap for s in solutions]),
        n_support=(beta != 0).sum(axis=1),
        n_bound=(bound & (beta != 0)).sum(axis=1),
        training_error=np.mean(np.where(signs > 0, margin < 0, margin <= 0), axis=1),
        loo_bound=doubtful.mean(axis=1),
        n_rows=n_rows,
        functions=functions,
    )


def _solve(
    model: SVC, X: Any, signs: np.ndarray, weight: np.ndarray, strengths: np.ndarray
) -> tuple[list[BoxSolution], int, float]:
    """The solutions for growing C, how many kernel rows they took, and max k − min k."""
    solutions: list[BoxSolution] = []
    n_rows, deadline = 0, Deadline(model.time_budget)
    with model._threads() as workers:
        segment, block = _rows(model, X, np.float32 if model.tol >= SINGLE else np.float64)
        for k, value in enumerate(strengths):
            bound = value * weight
            problem = BoxProblem(
                signs, np.where(signs > 0, 0.0, -bound), np.where(signs > 0, bound, 0.0), np.zeros(len(signs), np.int64)
            )
            if solutions:
                problem.start = _start(solutions[-1], signs, problem, value / strengths[k - 1])
            block.stamp[:] = -1  # the clock of a run starts at 0: what earlier runs left is older
            solution = minimise([segment], [[block]], problem, model.tol, workers, model.max_iter, deadline)
            if solution.message == COARSE and block.K.dtype != np.float64:
                n_rows += block.computed
                segment, block = _rows(model, X, np.float64)
                problem.start = solution.beta
                solution = minimise([segment], [[block]], problem, model.tol, workers, model.max_iter, deadline)
            solutions.append(solution)
        spread = _spread(segment)
    return solutions, n_rows + block.computed, spread


def _rows(model: SVC, X: Any, dtype: Any) -> tuple[Segment, Block]:
    segment = model._segment(X, dtype)
    return segment, Block(segment, segment, model._capacity(segment.n, dtype), dtype)


def _start(last: BoxSolution, signs: np.ndarray, problem: BoxProblem, ratio: float) -> np.ndarray:
    """The multiple of the last solution that is best among the feasible ones."""
    squared_norm = float(last.beta @ (signs - last.f))
    scale = min(ratio, float(signs @ last.beta) / squared_norm) if squared_norm > 0 else 1.0
    start = np.clip(scale * last.beta, problem.lower, problem.upper)
    ends = np.where(last.beta > 0, problem.upper, problem.lower)
    # multiplied, bounds may miss the new ones by a rounding, and would count as free
    return np.where(np.isclose(start, ends, rtol=1e-14, atol=0), ends, start)


def _spread(segment: Segment) -> float:
    every = np.arange(segment.n)
    low, high = np.inf, -np.inf
    for rows in _tiles.slices(segment.n, 256):
        K = np.asarray(segment.exact(every[rows], segment.index))
        low, high = min(low, float(K.min())), max(high, float(K.max()))
    return high - low
