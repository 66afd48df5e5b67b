"""Estimates of the expected loss without held-out samples: the training loss plus a correction for its bias."""

from __future__ import annotations

import numpy as np

from .._array import doubles, host
from ..methods.base import SolvedProblem
from ..solvers.leave_one_out import Influence, random_traces
from ..solvers.spectral import DETERMINED, Spectral
from ._forms import Fitted
from ._judge import WHO

CRITERIA = {"gcv": "squared", "gacv": "log", "aic": "log", "gic": "log"}  # with the loss that each estimates
PROBES = 20  # random vectors for a trace


def criterion(fit: Fitted, method: str, rng: np.random.Generator) -> tuple[float, str]:
    """The value, and a description of its terms."""
    if method == "gcv" or (method == "aic" and fit.closed):
        return _of_squares(fit, method)
    found = fit.solved
    if found is None or not found.problem.loss.likelihood:
        why = fit.why if found is None else "its loss is not a log-likelihood"
        raise ValueError(f"{WHO}: method = {method!r} is not defined for {type(fit.model).__name__}: {why}.")
    problem, f = found.problem, found.values
    total, loss = float(problem.weight.sum()), problem.total(f)
    if method == "gacv":
        extra, reason = _gacv(found, rng)
        return (loss + extra) / total, reason
    influence = Influence(problem, f)
    bias = influence.degrees_of_freedom if method == "aic" else influence.bias()
    return (loss + bias) / total, f"minus the log-likelihood {loss:.6g}, and its bias {bias:.6g}"


def _gacv(found: SolvedProblem, rng: np.random.Generator) -> tuple[float, str]:
    problem, f = found.problem, found.values
    if f.ndim > 1:
        raise ValueError(f"{WHO}: method = 'gacv' needs one value per sample; use 'newton' for several classes.")
    of_s, of_sv = random_traces(problem, f, PROBES, rng)
    n, w = int(np.sum(problem.weight > 0)), problem.weight
    counts = (problem.y + 1) / 2 if problem.loss.task == "binary" else problem.y.reshape(len(f), -1)[:, 0]
    residual = -np.asarray(problem.loss.gradient(problem.y, f))
    extra = of_s * float(np.sum(w * counts * residual)) / (n - of_sv)
    return extra, f"traces of S and SV {of_s:.4g} and {of_sv:.4g}, from {PROBES} random vectors"


def _of_squares(fit: Fitted, method: str) -> tuple[float, str]:
    """For fits that are linear in the targets, with noise variance σ²/wᵢ."""
    form = fit.linear
    if fit.labels or (form is None and not hasattr(fit.model, "leave_one_out_")):
        raise ValueError(
            f"{WHO}: method = {method!r} is not defined for {type(fit.model).__name__}: its predictions are not linear "
            "in numerical targets y."
        )
    used = fit.weight > 0
    n, w, y = int(used.sum()), fit.weight[used, None], doubles(fit.y)
    if form is None:
        df = np.array([float(fit.model.edf_)])
    else:
        df = np.asarray(host(Spectral(form.gram, form.H, form.weight).degrees_of_freedom(form.alphas)))
    if np.any(df > n - DETERMINED * np.finfo(np.float64).eps * n):
        raise ValueError(
            f"{WHO}: method = {method!r}: the fit interpolates the samples, so all leverages hᵢᵢ are 1 and all "
            "residuals are 0; use alpha > 0."
        )
    fitted = np.asarray(host(fit.model.predict(fit.X)))
    square = w * (y - fitted.reshape(y.shape)).reshape(len(used), -1)[used] ** 2
    reason = f"effective degrees of freedom {' '.join(f'{d:.6g}' for d in df)} of {n} samples"
    if method == "gcv":
        return float(np.mean(np.sum(square, axis=0) / np.sum(w) / (1 - df / n) ** 2)), reason
    scale = np.log(2 * np.pi * np.mean(square, axis=0)) - np.mean(np.log(w))
    return float(np.mean((scale + 1) / 2 + (df + 1) / n)), reason
