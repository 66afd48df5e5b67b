"""Sparse Bayesian learning: its steps against the definition, where columns are nearly dependent as well."""

import numpy as np
import pytest
from sklearn.linear_model import ARDRegression

from mercer.context import Status
from mercer.gram import Dense
from mercer.kernels import Gaussian, Laplace
from mercer.solvers.fit.relevance import (
    REFRESH,
    BernoulliEvidence,
    Dictionary,
    GaussianEvidence,
    maximise_gaussian,
)

rng = np.random.default_rng(3)
X = np.linspace(-10, 10, 100)[:, None]
y = np.sinc(X[:, 0] / np.pi) + 0.1 * rng.normal(size=100)
KERNEL = Gaussian(2.0)
WIDE = rng.uniform(-3, 3, size=(80, 1))
WAVE = np.sin(2 * WIDE[:, 0]) + 0.1 * rng.normal(size=80)


def columns(kernel, sample, intercept=True):
    return Dictionary(Dense().build(kernel, sample), intercept)


def log_density(alpha, noise, Phi):
    """log N(y; 0, σ²I + Φ diag(α)⁻¹ Φᵀ)."""
    C = noise * np.eye(len(y)) + (Phi / alpha) @ Phi.T
    return -(np.linalg.slogdet(2 * np.pi * C)[1] + y @ np.linalg.solve(C, y)) / 2


def test_scikit_learn_s_ard_is_the_same_model() -> None:
    """At its solution our posterior is its posterior, and our ascent finds next to nothing to gain."""
    K = KERNEL(X, X)
    theirs = ARDRegression(
        fit_intercept=False, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, threshold_lambda=1e6, tol=1e-8, max_iter=2000
    ).fit(K, y)
    noise, kept = 1 / theirs.alpha_, np.flatnonzero(theirs.lambda_ < 1e6)
    evidence = GaussianEvidence(Dictionary(Dense().build(KERNEL, X), intercept=False), y, noise)
    for j in kept:
        evidence.set_precision(j, theirs.lambda_[j])
    evidence.update()
    start = log_density(theirs.lambda_[kept], noise, K[:, kept])
    assert np.allclose(evidence.mean, theirs.coef_[kept], rtol=1e-4, atol=1e-6)
    assert np.allclose(evidence.root.T @ evidence.root, theirs.sigma_, rtol=1e-4, atol=1e-6)
    before = evidence.value
    assert before == pytest.approx(start, abs=1e-8)
    evidence.maximise(1e-9, 10_000)
    assert before <= evidence.value <= start + 0.05


def by_singular_values(evidence):
    """Weights and log-evidence from the singular values of (Φ/σ; √A), which no product of columns has blurred."""
    sigma, n = np.sqrt(evidence.noise), len(evidence.y)
    stacked = np.concatenate([evidence.columns / sigma, np.diag(np.sqrt(evidence.alpha))])
    target = np.append(evidence.y / sigma, np.zeros(len(evidence.alpha)))
    scale = np.linalg.norm(stacked, axis=0)
    U, d, Vt = np.linalg.svd(stacked / scale, full_matrices=False)
    mean = Vt.T @ (U.T @ target / d) / scale
    determinant = 2 * np.log(d).sum() + 2 * np.log(scale).sum() - np.log(evidence.alpha).sum()
    quadratic = np.sum((target - stacked @ mean) ** 2)
    return mean, -(n * np.log(2 * np.pi * evidence.noise) + determinant + quadratic) / 2


@pytest.mark.parametrize("lengthscale", [0.5, 3.0, 10.0])
@pytest.mark.parametrize("share", [1e-2, 1e-3, 1e-4, 1e-6])
def test_nearly_dependent_columns(lengthscale, share) -> None:
    """Under so little noise columns come in until they are dependent, up to rounding; no digit may be lost by it."""
    noise = share * np.var(WAVE)
    evidence, history, status = maximise_gaussian(columns(Gaussian(lengthscale), WIDE), WAVE, noise, 1e-6, 2000)
    mean, value = by_singular_values(evidence)
    assert status is Status.CONVERGED
    assert np.all(np.diff(history) >= 0)
    assert np.allclose(evidence.columns @ evidence.mean, evidence.columns @ mean, rtol=0, atol=1e-6)
    assert evidence.value == pytest.approx(value, rel=1e-8, abs=1e-6)


def test_steps_of_rank_one_add_up() -> None:
    """S of all columns after columns came, changed and left, against its definition φᵀC⁻¹φ."""
    evidence = GaussianEvidence(columns(Laplace(1.0), X, intercept=True), y, 0.01)
    evidence.update()
    for j, alpha in ((50, 0.5), (20, 0.5), (80, 0.5), (100, 0.5), (20, 1.3), (80, np.inf)):
        evidence.value = -np.inf  # lest a step is refused that lowers the evidence
        assert evidence.step(j, alpha)
    assert evidence.age == 6 < REFRESH
    Phi = np.column_stack([Laplace(1.0)(X, X), np.ones(100)])
    C = 0.01 * np.eye(100) + (evidence.columns / evidence.alpha) @ evidence.columns.T
    expected = np.sum(Phi * np.linalg.solve(C, Phi), axis=0)
    assert sorted(evidence.active) == [20, 50, 100]
    assert np.allclose(evidence.influences()[1], expected, rtol=1e-8)


@pytest.mark.parametrize("kind", ["gaussian", "bernoulli"])
def test_promised_gain_is_the_best_of_all_single_changes(kind) -> None:
    """At B held fixed, which is no restriction for noise that is Gaussian."""
    design = columns(Gaussian(1.0), WIDE)
    evidence = GaussianEvidence(design, WAVE, 0.05) if kind == "gaussian" else BernoulliEvidence(design, np.sign(WAVE))
    evidence.update()
    for _ in range(4):
        j, alpha, _ = evidence.best_step()
        evidence.step(j, alpha)
    j, alpha, gain = evidence.best_step()
    B = np.full(80, 1 / 0.05) if kind == "gaussian" else evidence.curvature
    f = evidence.columns @ evidence.mean
    target = WAVE if kind == "gaussian" else f + evidence.slope / B
    Phi = np.column_stack([Gaussian(1.0)(WIDE, WIDE), np.ones(80)])
    present = np.full(81, np.inf)
    present[evidence.active] = evidence.alpha

    def density(precision):
        C = np.diag(1 / B) + (Phi / precision) @ Phi.T
        return -(np.linalg.slogdet(C)[1] + target @ np.linalg.solve(C, target)) / 2

    def changed(place, value):
        other = present.copy()
        other[place] = value
        return density(other) - density(present)

    assert changed(j, alpha) == pytest.approx(gain, abs=1e-6)
    grid = np.append(np.logspace(-6, 6, 49), np.inf)
    assert max(changed(place, value) for place in range(0, 81, 8) for value in grid) <= gain * 1.001 + 1e-9


def test_the_higher_of_two_maxima_is_kept() -> None:
    for sample, target, kernel in ((X, y, KERNEL), (WIDE, WAVE, Gaussian(3.0))):
        design = columns(kernel, sample)
        eager, patient = GaussianEvidence(design, target, None), GaussianEvidence(design, target, None, 0.01, 0.01)
        found = {evidence.maximise(1e-6, 5000)[0][-1] for evidence in (eager, patient)}
        assert len(found) == 2
        assert maximise_gaussian(design, target, None, 1e-6, 5000)[0].value >= max(found)
