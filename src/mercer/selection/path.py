"""A support vector machine over a range of C, with warm starts and one cache of kernel rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from .. import _threads
from .._array import host, on_host
from .._errors import check_number, speaking
from .._targets import check_class_weight
from ..context import Context
from ..evaluation import Evaluator
from ..methods import SVC
from ..methods._base import classes_of
from ..methods._svm import Sample, rescaled
from ..solvers.fit.boxes import Device, Samples, WorkingSet
from ..solvers.fit.working_set import BoxSolution
from ..solvers.kinks import span
from ..space import Function
from ..types import Array, Data


@dataclass(frozen=True)
class SVMPath:
    """Result of `svm_path`: the machine for each value of C, and its statistics.

    Attributes
    ----------
    C : array of shape (m,)
        As given.
    classes : array of shape (2,)
        Positive values mean the second class.
    dual_coef : array of shape (m, n_samples)
        β, with the sign of the class.
    intercept : array of shape (m,)
    objective, gap : array of shape (m,)
        ½βᵀKβ − yᵀβ, and the stopping criterion max{f : β can increase} − min{f : β can decrease} ≤ ``tol``.
    n_support, n_bound : array of shape (m,)
        Number of nonzero β, and of those at their bound.
    training_error : array of shape (m,)
        Fraction of misclassified training samples.
    loo_bound, span_estimate : array of shape (m,)
        A bound (Joachims) and an estimate (Vapnik and Chapelle) of the leave-one-out error; the estimate is NaN where
        all coefficients are at bounds.
    n_rows : int
        Kernel matrix rows computed for the whole path, in the precision required.
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
    span_estimate: np.ndarray
    n_rows: int
    functions: list[Function]


@speaking
def svm_path(X: Data, y: Array, C: Any, *, sample_weight: Array = None, **params: Any) -> SVMPath:
    r"""The two-class machines of `SVC` over many values of C.

    Parameters
    ----------
    X, y
        Samples, and labels of two classes.
    C : array of numbers > 0
        In any order; the solver goes from the smallest to the largest.
    sample_weight : array, optional
        Multiplies C for each sample.
    **params
        ``kernel``, ``gamma``, ``degree``, ``coef0``, ``class_weight``, ``tol``, ``cache_size``, ``max_iter``, ``gram``,
        ``n_jobs``, ``time_budget`` and ``checkpoint`` (for the whole path) of `SVC`. Those that only affect
        predictions, such as ``calibration``, are accepted and ignored.

    Returns
    -------
    SVMPath

    Notes
    -----
    From the solution β at C, the start for C′ > C is sβ, feasible for 0 ≤ s ≤ C′/C, with the best s, yᵀβ/βᵀKβ clipped.

    The bound of Joachims counts the samples with :math:`2 \alpha_i R^2 + \xi_i \ge 1`, where
    :math:`R^2 = \max k - \min k` over the sample, which costs one pass over the matrix. It holds for positive definite
    kernels if some coefficient is strictly between its bounds, and is often far above the error.

    The estimate of Vapnik and Chapelle counts the support vectors with :math:`\alpha_p S_p^2 \ge y_p f(x_p)`, where
    :math:`S_p` is the distance of :math:`k(\cdot, x_p)` from the affine span of the other support vectors that are free
    (strictly between their bounds). It equals the leave-one-out error if leaving a sample out moves no other sample to
    or from a bound. With :math:`M = \begin{pmatrix} K & 1 \\ 1^\top & 0 \end{pmatrix}` over the free ones,
    :math:`S_p^2 = 1 / (M^{-1})_{pp}` if p is free, and :math:`k(x_p, x_p) - v^\top M^{-1} v` with
    :math:`v = (k(x_i, x_p), 1)` if it is at its bound.

    References
    ----------
    Joachims, *Estimating the generalization performance of an SVM efficiently* (2000), theorem 1.
    Vapnik, Chapelle, *Bounds on error expectation for support vector machines* (2000), the span rule; Chapelle, Vapnik,
    Bousquet, Mukherjee, *Choosing multiple parameters for support vector machines* (2002), the form with the inverse.

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
    others = {"fit_intercept": True, "loss": "hinge", "budget": None, "multi_class": "ovo"}
    for name, value in others.items():
        given = getattr(model, name)
        if given != value:
            raise ValueError(f"svm_path: {name} = {given!r} is not supported by the path; leave it at {value!r}.")
    X, y = model._check_fit(X, y)
    sample = model._prepare(X)
    classes, labels = classes_of(model, y)
    if len(classes) != 2:
        raise ValueError(f"svm_path: y has {len(classes)} classes; the path needs exactly two.")
    check_class_weight(model)
    weight = (
        model._weights(sample_weight, X) * compute_class_weight(model.class_weight, classes=classes, y=host(y))[labels]
    )
    signs = np.where(labels == 1, 1.0, -1.0)

    order = np.argsort(strengths, kind="stable")
    solutions, n_rows = _solve(model, sample, y, signs, weight, strengths[order])
    solutions = [solutions[i] for i in np.argsort(order)]
    model._report(solutions)

    beta = np.array([s.beta for s in solutions])
    intercept = np.array([s.offsets[0] for s in solutions])
    evaluator = sample.gram.evaluator
    margin = signs * (np.array([s.values for s in solutions]) + intercept[:, None])
    bound = np.abs(beta) >= strengths[:, None] * weight
    doubtful = 2 * np.abs(beta) * _spread(evaluator, len(signs)) + np.maximum(0.0, 1.0 - margin) >= 1
    estimates = [_span_estimate(evaluator, *one) for one in zip(beta, bound, margin, strict=True)]
    functions = [model._machine(sample, np.flatnonzero(b), b[b != 0], c) for b, c in zip(beta, intercept, strict=True)]
    intercept = np.array([model._offset_of(f, c) for f, c in zip(functions, intercept, strict=True)])
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
        span_estimate=np.array(estimates),
        n_rows=n_rows,
        functions=functions,
    )


def _solve(
    model: SVC, sample: Sample, y: Array, signs: np.ndarray, weight: np.ndarray, strengths: np.ndarray
) -> tuple[list[BoxSolution], int]:
    """The solutions for increasing C, and the number of kernel rows computed."""
    with model._refusing_overflow(), Context(model.time_budget, model).active() as context:
        model._begin(len(strengths), sample.X, y, weight)
        samples = Samples(sample.gram, np.arange(len(signs)), 1, model.cache_size, model.n_jobs, context)
        kind = WorkingSet if on_host(sample.X) else Device
        solver = kind(model.tol, -1 if model.max_iter is None else model.max_iter).on(samples)
        model._check_diagonal(sample, solver.diagonal)

        def work() -> list[BoxSolution]:
            solutions: list[BoxSolution] = []
            for k, value in enumerate(strengths.tolist()):
                problem = model._task_problem(signs, weight, value)
                if solutions:
                    last = solutions[-1]
                    problem.start = rescaled(last, problem, value / strengths[k - 1])
                    problem.near = (last.beta, last.values)
                solutions.append(solver.perform(problem, f"C = {value!r}"))
            return solutions

        solutions = solver.run(work)
        context.close()
    return solutions, solver.computed


def _spread(evaluator: Evaluator, n: int) -> float:
    every = np.arange(n)
    low, high = np.inf, -np.inf
    for rows in _threads.slices(n, 256):
        K = host(evaluator.exact(every[rows], every))
        low, high = min(low, float(K.min())), max(high, float(K.max()))
    return high - low


def _span_estimate(evaluator: Evaluator, beta: np.ndarray, bound: np.ndarray, margin: np.ndarray) -> float:
    """The fraction of samples with α S² ≥ y f(x), or NaN where no support vector is free."""
    if not np.any((beta != 0) & ~bound):
        return np.nan
    diagonal = host(evaluator.diagonal()).astype(np.float64)

    def exact(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        return host(evaluator.exact(rows, columns))

    moved = np.abs(span(exact, diagonal, beta, ~bound, np.ones((len(beta), 1))))
    return float(np.mean((beta != 0) & ~(moved < margin)))  # NaN counts as an error: no other vector is free
