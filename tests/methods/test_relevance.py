"""Relevance vector machines: the evidence by its definition, its stationary points, and scikit-learn's ARD."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ARDRegression
from sklearn.multiclass import OneVsRestClassifier

from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Laplace
from mercer.methods.relevance import RelevanceVectorClassifier, RelevanceVectorMachine

rng = np.random.default_rng(3)
X = np.linspace(-10, 10, 100)[:, None]
SINC = np.sinc(X[:, 0] / np.pi)
y = SINC + 0.1 * rng.normal(size=100)
KERNEL = Gaussian(2.0)
POINTS = rng.normal(size=(120, 2))
LABELS = np.where(POINTS[:, 0] * POINTS[:, 1] + 0.3 * rng.normal(size=120) > 0, "same", "other")


def design(model, kernel, sample, at):
    """The columns that remain, in the order of `precision_`."""
    Phi = kernel(at, sample)[:, model.relevance_]
    return np.column_stack([Phi, np.ones(len(at))]) if len(model.precision_) > len(model.relevance_) else Phi


def weights(model):
    kept = len(model.precision_) > len(model.relevance_)
    return np.append(model.dual_coef_, model.intercept_) if kept else model.dual_coef_


@pytest.fixture(scope="module", params=[True, False], ids=["intercept", "none"])
def fitted(request):
    return RelevanceVectorMachine(KERNEL, fit_intercept=request.param, tol=1e-12).fit(X, y)


def log_density(target, C):
    """log N(target; 0, C)."""
    return -(np.linalg.slogdet(2 * np.pi * C)[1] + target @ np.linalg.solve(C, target)) / 2


def dense_evidence(alpha, noise, Phi):
    return log_density(y, noise * np.eye(len(y)) + (Phi / alpha) @ Phi.T)


def test_evidence_is_the_density_of_the_targets(fitted) -> None:
    Phi = design(fitted, KERNEL, X, X)
    assert fitted.log_evidence_ == pytest.approx(
        dense_evidence(fitted.precision_, fitted.noise_variance_, Phi), abs=1e-8
    )


def test_evidence_never_falls(fitted) -> None:
    assert np.diff(fitted.evidence_history_).min() >= -1e-10
    assert len(fitted.evidence_history_) == fitted.n_iter_ + 1


def test_tipping_s_fixed_point(fitted) -> None:
    gamma = 1 - fitted.precision_ * np.diag(fitted.covariance_)
    mu = weights(fitted)
    residual = y - design(fitted, KERNEL, X, X) @ mu
    assert np.allclose(fitted.precision_ * mu**2, gamma, rtol=0, atol=1e-5)
    assert fitted.noise_variance_ == pytest.approx(residual @ residual / (len(y) - gamma.sum()), rel=1e-5)


def test_no_change_of_one_precision_raises_the_dense_evidence(fitted) -> None:
    """Over all columns of the design, in or out, and far from the present value as well."""
    n = len(X)
    Phi = np.column_stack([KERNEL(X, X), np.ones(n)])[:, : n + fitted.fit_intercept]
    alpha = np.full(Phi.shape[1], np.inf)
    places = np.append(fitted.relevance_, n) if len(fitted.precision_) > len(fitted.relevance_) else fitted.relevance_
    alpha[places] = fitted.precision_
    for j in [*places, *range(0, n, 9)]:
        for value in (1e-3, 0.1, 1.0, 10.0, 1e3, np.inf, 0.99 * alpha[j], 1.01 * alpha[j]):
            other = alpha.copy()
            other[j] = value
            assert dense_evidence(other, fitted.noise_variance_, Phi) <= fitted.log_evidence_ + 1e-8


# Sinc and lengthscales at which an ascent alone ends lower than another under its own noise
@pytest.mark.parametrize(("lengthscale", "seed"), [(1.0, 4), (2.0, 6), (3.0, 5), (3.0, 0)])
def test_no_fit_under_the_noise_it_estimates_is_better(lengthscale, seed) -> None:
    target = SINC + 0.1 * np.random.default_rng(seed).normal(size=100)
    model = RelevanceVectorMachine(Gaussian(lengthscale), tol=1e-8).fit(X, target)
    kernel, noise = model.kernel_, model.noise_variance_
    held = clone(model).set_params(noise_variance=noise).fit(X, target)
    for found in (model, held):
        Phi = design(found, kernel, X, X)
        value = log_density(target, noise * np.eye(100) + (Phi / found.precision_) @ Phi.T)
        assert found.log_evidence_ == pytest.approx(value, abs=1e-6)
    assert held.log_evidence_ <= model.log_evidence_ + 1e-8
    # neither it nor its noise can change alone, nor both a little
    Phi = design(model, kernel, X, X)
    for factor in (0.5, 0.99, 1.01, 2.0):
        C = factor * noise * np.eye(100)
        for alpha in (model.precision_, model.precision_ * factor):
            assert log_density(target, C + (Phi / alpha) @ Phi.T) < model.log_evidence_


def test_no_fit_under_the_noise_it_estimates_is_better_on_accelerations(data_dir) -> None:
    values = np.genfromtxt(data_dir / "splines" / "mcycle.csv.gz", delimiter=",", skip_header=1)
    sample, target = values[:, -2:-1], values[:, -1]
    for kernel in (Gaussian(3.0), Gaussian("median")):
        model = RelevanceVectorMachine(kernel).fit(sample, target)
        held = clone(model).set_params(noise_variance=model.noise_variance_).fit(sample, target)
        assert held.log_evidence_ <= model.log_evidence_ + model.tol


def test_little_noise_first_helps_where_it_is_given() -> None:
    """Under wide kernels single columns explain little, and an ascent from none of them ends far lower."""
    target = SINC + 0.1 * np.random.default_rng(0).normal(size=100)
    estimated = RelevanceVectorMachine().fit(X, target)
    given = RelevanceVectorMachine(noise_variance=estimated.noise_variance_).fit(X, target)
    assert given.log_evidence_ == pytest.approx(estimated.log_evidence_, abs=0.1)


def test_posterior_and_standard_deviation(fitted) -> None:
    new = np.array([[-11.0], [0.3], [4.0], [30.0]])
    Phi, at = design(fitted, KERNEL, X, X), design(fitted, KERNEL, X, new)
    Sigma = np.linalg.inv(np.diag(fitted.precision_) + Phi.T @ Phi / fitted.noise_variance_)
    mean, std = fitted.predict(new, return_std=True)
    assert np.allclose(fitted.covariance_, Sigma, rtol=1e-8, atol=1e-12)
    assert np.allclose(mean, at @ Sigma @ Phi.T @ y / fitted.noise_variance_, rtol=1e-8, atol=1e-10)
    assert np.allclose(std**2, fitted.noise_variance_ + np.sum((at @ Sigma) * at, axis=1), rtol=1e-8)
    assert np.array_equal(mean, fitted.predict(new))


def test_sinc_is_sparse_and_close() -> None:
    """Tipping's first experiment: 100 points, noise 0.1; he reports 6 to 9 relevance vectors."""
    counts, errors = [], []
    for seed in range(8):
        target = SINC + 0.1 * np.random.default_rng(seed).normal(size=100)
        model = RelevanceVectorMachine(KERNEL).fit(X, target)
        counts.append(len(model.relevance_))
        errors.append(np.sqrt(np.mean((model.predict(X) - SINC) ** 2)))
        assert model.noise_variance_ == pytest.approx(0.01, rel=0.5)
    assert np.mean(counts) < 10 and min(counts) >= 3
    assert np.mean(errors) < 0.04


def test_ard_with_few_columns_is_the_same_maximum() -> None:
    """On well separated centres the maximum is unique, and both find it."""
    few = np.arange(6.0)[:, None] * 3
    kernel = Gaussian(1.0)
    target = np.array([1.0, -2.0, 0.0, 1.5, 0.7, -1.0])
    theirs = ARDRegression(
        fit_intercept=False, alpha_1=1e12, alpha_2=1e12 * 0.04, lambda_1=0, lambda_2=0, tol=1e-13, max_iter=3000
    ).fit(kernel(few, few), target)
    ours = RelevanceVectorMachine(kernel, noise_variance=0.04, fit_intercept=False, tol=1e-14).fit(few, target)
    assert 1 / theirs.alpha_ == pytest.approx(0.04, rel=1e-9)
    assert np.array_equal(ours.relevance_, np.flatnonzero(theirs.lambda_ < 1e4))
    assert np.allclose(ours.precision_, theirs.lambda_[ours.relevance_], rtol=1e-5)
    assert np.allclose(ours.dual_coef_, theirs.coef_[ours.relevance_], rtol=1e-6)
    assert np.allclose(ours.covariance_, theirs.sigma_, rtol=1e-4, atol=1e-12)


@pytest.mark.parametrize("name", ["rvm_rbf_sine", "rvm_laplace_mcycle"])
def test_kernlab_ends_at_a_fixed_point_of_less_evidence(oracle, name) -> None:
    """kernlab records weights μ, and the precisions follow from them: Aμ = Φᵀ(y − Φμ)/σ²."""
    reference = oracle(name)
    sample, target, theirs = reference["inputs"]["X"], reference["inputs"]["y"], reference["outputs"]
    kernel = Gaussian(np.sqrt(0.5)) if "rbf" in name else Laplace(1.0)
    kept = np.abs(theirs["alpha"]) > 1e-3  # the others it would have dropped in a few more steps
    mu, noise = theirs["alpha"][kept], theirs["nvar"]
    Phi = kernel(sample, sample[theirs["RVindex"] - 1][kept])
    residual = target - Phi @ mu
    assert np.allclose(Phi @ mu, theirs["fitted"], rtol=0, atol=1e-6)
    alpha = Phi.T @ residual / (noise * mu)
    gamma = 1 - alpha * np.diag(np.linalg.inv(np.diag(alpha) + Phi.T @ Phi / noise))
    assert np.allclose(alpha * mu**2, gamma, rtol=0, atol=1e-3)
    assert residual @ residual / (len(target) - gamma.sum()) == pytest.approx(noise, rel=1e-4)
    ours = RelevanceVectorMachine(kernel, noise_variance=noise, fit_intercept=False).fit(sample, target)
    assert ours.log_evidence_ > log_density(target, noise * np.eye(len(target)) + (Phi / alpha) @ Phi.T)
    estimated = RelevanceVectorMachine(kernel, fit_intercept=False).fit(sample, target)
    assert estimated.log_evidence_ > ours.log_evidence_


@pytest.mark.parametrize("unit", [2.0**-400, 2.0**400])
def test_units_of_what_is_reported(unit) -> None:
    """The evidence is a density of y, variances have the square of its unit and precisions its inverse."""
    one = RelevanceVectorMachine(KERNEL).fit(X, y)
    other = RelevanceVectorMachine(KERNEL).fit(X, unit * y)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_ - 100 * np.log(unit), rel=1e-14)
    assert other.noise_variance_ / unit**2 == one.noise_variance_
    assert np.array_equal(other.precision_ * unit**2, one.precision_)
    assert np.array_equal(other.covariance_ / unit**2, one.covariance_)
    assert np.array_equal(np.divide(other.predict(X, return_std=True), unit), one.predict(X, return_std=True))


def test_sizes_without_a_square_are_refused() -> None:
    with pytest.raises(ValueError, match=r"y is of size .e\+299, and its square .* divide it by"):
        RelevanceVectorMachine(KERNEL).fit(X, 1e300 * y)
    with pytest.raises(ValueError, match=r"kernel matrix is of size .e-1"):
        RelevanceVectorMachine("linear").fit(1e-100 * X, y)
    with pytest.raises(ValueError, match=r"noise_variance = 1\.0 is out of range for y"):
        RelevanceVectorMachine(KERNEL, noise_variance=1.0).fit(X, 1e100 * y)


# ---- classification


@pytest.fixture(scope="module")
def classifier():
    return RelevanceVectorClassifier(Gaussian(1.0), tol=1e-12).fit(POINTS, LABELS)


def laplace_evidence(alpha, Phi, t):
    """log ∫ P(t | w) N(w; 0, 1/α) dw by Laplace's method, with a general minimiser and finite differences."""

    def energy(w):
        prior = alpha @ w**2 / 2 - np.log(alpha / (2 * np.pi)).sum() / 2
        return np.logaddexp(0, -t * (Phi @ w)).sum() + prior

    def gradient(w):
        return -Phi.T @ (t / (1 + np.exp(t * (Phi @ w)))) + alpha * w

    mode = minimize(energy, np.zeros(len(alpha)), jac=gradient, method="BFGS", options={"gtol": 1e-10}).x
    h = 1e-4 / np.sqrt(alpha)
    hessian = np.array([(gradient(mode + d) - gradient(mode - d)) / (2 * d.max()) for d in np.diag(h)])
    return -energy(mode) + len(alpha) / 2 * np.log(2 * np.pi) - np.linalg.slogdet(hessian)[1] / 2, mode


def test_laplace_s_evidence_by_brute_force(classifier) -> None:
    Phi = design(classifier, Gaussian(1.0), POINTS, POINTS)
    t = np.where(LABELS == "same", 1.0, -1.0)
    expected, mode = laplace_evidence(classifier.precision_, Phi, t)
    assert classifier.log_evidence_ == pytest.approx(expected, abs=1e-5)
    assert np.allclose(weights(classifier), mode, rtol=1e-4, atol=1e-4)


def test_evidence_is_near_the_integral() -> None:
    """One column: the integral over its weight by a fine sum, which Laplace's method meets within a few per cent."""
    points, labels = np.zeros((14, 1)), np.array([1] * 11 + [-1] * 3)
    with pytest.warns(ConvergenceWarning):
        model = RelevanceVectorClassifier(Gaussian(1.0), fit_intercept=False, max_iter=1).fit(points, labels)
    assert len(model.relevance_) == 1
    w = np.linspace(-60, 60, 200_001)
    alpha = model.precision_[0]
    density = np.sqrt(alpha / (2 * np.pi)) * np.exp(-alpha * w**2 / 2)
    likelihood = np.exp(-11 * np.logaddexp(0, -w) - 3 * np.logaddexp(0, w))
    integral = np.sum(density * likelihood) * (w[1] - w[0])
    assert model.log_evidence_ == pytest.approx(np.log(integral), abs=0.05)


def test_fixed_point_of_the_classifier(classifier) -> None:
    gamma = 1 - classifier.precision_ * np.diag(classifier.covariance_)
    assert np.allclose(classifier.precision_ * weights(classifier) ** 2, gamma, rtol=0, atol=1e-5)
    assert len(classifier.relevance_) < 15
    assert classifier.score(POINTS, np.where(POINTS.prod(axis=1) > 0, "same", "other")) > 0.85


def test_probabilities_are_averaged_over_the_weights(classifier) -> None:
    new = rng.normal(size=(20, 2))
    at = design(classifier, Gaussian(1.0), POINTS, new)
    f, v = at @ weights(classifier), np.sum((at @ classifier.covariance_) * at, axis=1)
    p = classifier.predict_proba(new)
    assert np.allclose(p[:, 1], 1 / (1 + np.exp(-f / np.sqrt(1 + np.pi * v / 8))), rtol=1e-9)
    assert np.array_equal(classifier.predict(new), classifier.classes_[(p[:, 1] > 0.5).astype(int)])


# ---- representations and edges


@pytest.mark.parametrize("gram", ["lazy", Nystrom(rank=100)], ids=["lazy", "full-rank"])
def test_representations_agree(gram) -> None:
    dense = RelevanceVectorMachine(Laplace(2.0)).fit(X, y)
    other = RelevanceVectorMachine(Laplace(2.0), gram=gram, random_state=0).fit(X, y)
    assert other.log_evidence_ == pytest.approx(dense.log_evidence_, abs=1e-5)
    for ours, theirs in zip(other.predict(X, return_std=True), dense.predict(X, return_std=True), strict=True):
        assert np.allclose(ours, theirs, rtol=0, atol=1e-4)


def test_low_rank_predicts_by_its_own_columns() -> None:
    model = RelevanceVectorMachine(KERNEL, gram=Nystrom(rank=8), random_state=0, fit_intercept=False).fit(X, y)
    Phi = Nystrom(rank=8).build(KERNEL, X, 0).dense()[:, model.relevance_]
    assert np.allclose(model.predict(X), Phi @ model.dual_coef_, rtol=0, atol=1e-6)


def test_sparse_and_precomputed_input() -> None:
    dense = RelevanceVectorMachine(KERNEL).fit(X, y)
    for model, data in (
        (RelevanceVectorMachine(KERNEL), csr_array(X)),
        (RelevanceVectorMachine("precomputed"), KERNEL(X, X)),
    ):
        model.fit(data, y)
        assert np.array_equal(model.relevance_, dense.relevance_)
        assert np.allclose(model.predict(data), dense.predict(X), rtol=0, atol=1e-8)
    assert len(dense.function_) == len(dense.relevance_)
    assert np.array_equal(dense.relevance_vectors_, X[dense.relevance_])


def test_indefinite_kernels_are_columns_too() -> None:
    model = RelevanceVectorMachine("sigmoid").fit(X / 10, y)
    assert np.isfinite(model.log_evidence_)


def test_columns_that_explain_only_together_are_found() -> None:
    """A single column of this width explains a tenth of the sine; σ² that explains the rest ends the ascent."""
    points = np.random.default_rng(0).uniform(-3, 3, size=(80, 1))
    wave = np.sin(2 * points[:, 0])
    model = RelevanceVectorMachine("gaussian(lengthscale='median')")
    model.fit(points, wave + 0.1 * np.random.default_rng(1).normal(size=80))
    assert model.score(points, wave) > 0.95
    assert model.noise_variance_ < 0.03


def test_labels_that_columns_explain_only_together() -> None:
    """Two circles under a kernel wider than both: no single column tells them from each other, a difference does."""
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, size=100)
    circles = np.repeat([0.5, 1.0], 50)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    labels = np.repeat(["inner", "outer"], 50)
    model = RelevanceVectorClassifier(Gaussian(2.0)).fit(circles, labels)
    assert model.score(circles, labels) == 1.0
    assert model.log_evidence_ > 100 * np.log(0.5) + 50


@pytest.mark.parametrize("offset", [1e3, 1e6])
def test_a_large_offset_is_the_constant_s(offset) -> None:
    model = RelevanceVectorMachine(KERNEL).fit(X, y + offset)
    assert np.sqrt(np.mean((model.predict(X) - offset - SINC) ** 2)) < 0.05
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.5)


def test_constant_targets() -> None:
    """All of y is the constant's, also where its variance is rounding."""
    for value in (0.1, 5.0, 1e6):
        model = RelevanceVectorMachine(KERNEL).fit(X, np.full(100, value))
        assert len(model.relevance_) == 0
        assert model.intercept_ == pytest.approx(value, rel=1e-9)
        assert model.predict(X[:1], return_std=True)[1] < 1e-8 * value


def test_copies_of_a_row_are_one_relevance_vector() -> None:
    places = np.repeat(np.arange(0, 100, 5), 4)
    target = SINC[places] + 0.1 * np.random.default_rng(2).normal(size=80)
    model = RelevanceVectorMachine(KERNEL, fit_intercept=False).fit(X[places], target)
    kept = model.relevance_vectors_[:, 0]
    assert len(kept) == len(np.unique(kept)) > 2
    points, labels = np.ones((20, 1)), np.arange(20) < 15
    assert len(RelevanceVectorClassifier(KERNEL, fit_intercept=False).fit(points, labels).relevance_) == 1


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("intercept", [True, False])
def test_very_small_samples(n, intercept) -> None:
    model = RelevanceVectorMachine(KERNEL, fit_intercept=intercept).fit(X[:n], 1 + y[:n])
    mean, std = model.predict(X[: n + 1], return_std=True)
    assert np.all(np.isfinite(mean)) and np.all(np.isfinite(std))
    Phi = design(model, KERNEL, X[:n], X[:n])
    C = model.noise_variance_ * np.eye(n) + (Phi / model.precision_) @ Phi.T
    assert model.log_evidence_ == pytest.approx(log_density(1 + y[:n], C), abs=1e-6)


def test_more_classes_by_one_against_the_rest() -> None:
    generator = np.random.default_rng(6)
    points = np.concatenate([generator.normal(size=(30, 2)) + centre for centre in ([0, 0], [4, 0], [0, 4])])
    labels = np.repeat(["a", "b", "c"], 30)
    model = OneVsRestClassifier(RelevanceVectorClassifier(Gaussian(2.0))).fit(points, labels)
    assert model.score(points, labels) > 0.9
    assert np.allclose(model.predict_proba(points).sum(axis=1), 1)


def test_nothing_is_relevant_to_nothing() -> None:
    model = RelevanceVectorMachine(KERNEL).fit(X, np.zeros(100))
    assert len(model.relevance_) == 0
    mean, std = model.predict(X[:3], return_std=True)
    assert np.array_equal(mean, np.zeros(3)) and np.all(np.isfinite(std))


def test_targets_scale_with_everything() -> None:
    """y → cy takes α → α/c², σ² → c²σ², and nothing else."""
    one = RelevanceVectorMachine(KERNEL).fit(X, y)
    other = RelevanceVectorMachine(KERNEL).fit(X, 1e4 * y)
    assert np.array_equal(one.relevance_, other.relevance_)
    assert other.noise_variance_ == pytest.approx(1e8 * one.noise_variance_, rel=1e-6)
    assert np.allclose(other.predict(X), 1e4 * one.predict(X), rtol=1e-6, atol=1e-3)


def test_messages() -> None:
    with pytest.raises(ValueError, match="noise_variance = 0 must be > 0"):
        RelevanceVectorMachine(noise_variance=0).fit(X, y)
    with pytest.raises(ValueError, match="Only binary classification is supported; y holds 3 classes"):
        RelevanceVectorClassifier().fit(X, np.arange(100) % 3)
    with pytest.warns(ConvergenceWarning, match="max_iter is reached"):
        RelevanceVectorMachine(KERNEL, max_iter=2).fit(X, y)
    assert clone(RelevanceVectorMachine(noise_variance=2.0)).noise_variance == 2.0
