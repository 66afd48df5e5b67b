"""Robust density estimation: the optimum, the paper's constants, influence curves, and contaminated samples."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Epanechnikov, Gaussian, Laplace, Matern
from mercer.losses import Hampel, Huber
from mercer.methods.density import KernelDensity
from mercer.methods.robust_density import RobustKernelDensity, _quantile

rng = np.random.default_rng(2)
X = np.concatenate([rng.normal(size=(70, 2)), rng.uniform(-8, 8, size=(10, 2))])
LOSSES = ["huber", "hampel"]


def distances(K, w) -> np.ndarray:
    return np.sqrt(np.diagonal(K) - 2 * K @ w + w @ K @ w)


@pytest.mark.parametrize("kernel", [Gaussian(), Laplace(), Matern(2.5)], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_stationary_and_the_objective_never_rises(loss, kernel) -> None:
    p = rng.uniform(0.5, 2.0, size=len(X))
    model = RobustKernelDensity(kernel, bandwidth=0.7, loss=loss, tol=1e-12).fit(X, sample_weight=p)
    w, r = model.weights_, distances(kernel.dilated(0.7)(X), model.weights_)
    assert np.all(w >= 0) and w.sum() == pytest.approx(1, abs=1e-14)
    assert np.allclose(r, model.distances_, atol=1e-12)
    if loss == "huber":
        phi = np.minimum(1, model.loss_.delta / r)
        rho = np.where(r <= model.loss_.delta, r**2 / 2, model.loss_.delta * (r - model.loss_.delta / 2))
    else:
        a, b, c = model.loss_.a, model.loss_.b, model.loss_.c
        phi = np.minimum(r, a) * np.clip((c - r) / (c - b), 0, 1) / r
        rho = model.loss_.value(r, np.zeros_like(r))
    # Σ pᵢ φ(rᵢ) (k(·, xᵢ) − f) = 0, of which w = pφ/Σpφ is the solution
    assert np.allclose(w, p * phi / (p @ phi), atol=1e-10)
    assert np.all(np.diff(model.history_) <= 1e-14)
    assert model.history_[-1] == pytest.approx(p @ rho / p.sum())
    assert len(model.history_) == model.n_iter_ > 3


def test_huber_is_the_minimum_over_all_coefficients() -> None:
    """Also over negative ones, and those of another sum: the representer theorem of the paper."""
    A = X[50:75]
    model = RobustKernelDensity(bandwidth=1.0, tol=1e-13).fit(A)
    K, delta = Gaussian()(A), model.loss_.delta

    def objective(c) -> tuple[float, np.ndarray]:
        r = distances(K, c)
        slope = np.minimum(1, delta / r)
        value = np.where(r <= delta, r**2 / 2, delta * (r - delta / 2)).mean()
        return value, (slope.mean() * (K @ c) - K @ slope / len(A))

    found = minimize(objective, np.zeros(len(A)), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert model.history_[-1] <= found.fun + 1e-12
    assert np.allclose(K @ found.x, K @ model.weights_, atol=1e-6)


def test_constants_are_quantiles_of_the_distances_from_the_median() -> None:
    """The estimate with absolute loss, by its own fixed point w ∝ 1/r."""
    K = Gaussian(0.7)(X)
    w = np.full(len(X), 1 / len(X))
    for _ in range(2000):
        w = 1 / distances(K, w)
        w /= w.sum()
    a, b, c = np.quantile(distances(K, w), (0.5, 0.75, 0.95), method="inverted_cdf")
    model = RobustKernelDensity(bandwidth=0.7, loss="hampel", tol=1e-12).fit(X)
    assert (model.loss_.a, model.loss_.b, model.loss_.c) == pytest.approx((a, b, c), rel=1e-9)
    assert RobustKernelDensity(bandwidth=0.7, tol=1e-12).fit(X).loss_.delta == pytest.approx(a, rel=1e-9)


def test_a_large_constant_gives_the_plain_estimate() -> None:
    model = RobustKernelDensity(bandwidth=0.7, tuning=10.0).fit(X)
    plain = KernelDensity(bandwidth=0.7).fit(X)
    assert np.allclose(model.weights_, 1 / len(X), atol=1e-14)
    assert np.allclose(model.score_samples(X), plain.score_samples(X))
    new = np.array([[5.0, 5.0], [0.0, 0.3]])
    expected = Gaussian(0.7)(X, new) / np.exp(plain.log_normalizer_) - plain.function_(X)[:, None]
    assert np.allclose(model.influence(new)(X), expected, atol=1e-12)


@pytest.mark.parametrize("gram", ["dense", "lazy", IncompleteCholesky(tol=1e-13), Nystrom(rank=79)], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_influence_is_the_derivative_in_contamination(loss, gram) -> None:
    """Against central differences of refits whose mass at x is ±ε."""
    parameters = {"bandwidth": 0.9, "loss": loss, "tol": 1e-14, "max_iter": 20_000}
    first = RobustKernelDensity(**parameters).fit(X)
    tuning = first.loss_.delta if loss == "huber" else (first.loss_.a, first.loss_.b, first.loss_.c)
    p = rng.uniform(0.5, 1.5, size=len(X))
    p /= p.sum()
    base = RobustKernelDensity(tuning=tuning, gram=gram, random_state=0, **parameters).fit(X, sample_weight=p)
    for x in ([0.5, -0.5], [1.5, 1.0], [6.5, -7.0]):
        curve = base.influence([x])(X)[:, 0]
        one = RobustKernelDensity(tuning=tuning, **parameters)
        # points of mass 2ε and 0 about the base of mass ε keep all weights positive
        eps = 2e-5
        both = np.vstack([X, [x]])
        values = [one.fit(both, sample_weight=np.r_[(1 - e) * p, e]).function_(X) for e in (0.0, eps, 2 * eps)]
        slope = (-3 * values[0] + 4 * values[1] - values[2]) / (2 * eps)
        assert np.abs(curve - slope).max() < 2e-4 * max(np.abs(curve).max(), 0.01)
    if loss == "hampel":  # whoever lies beyond c has no influence at all
        assert np.abs(base.influence([[6.5, -7.0]])(X)).max() < 1e-12


def test_influence_preserves_the_mass() -> None:
    """The density stays one: the coefficients of its derivative add up to zero."""
    for loss in LOSSES:
        curve = RobustKernelDensity(bandwidth=0.9, loss=loss, tol=1e-12).fit(X).influence([[0.0, 0.0], [3.0, 3.0]])
        assert np.allclose(curve.coefficients.sum(axis=0), 0, atol=1e-9)


def test_outliers_lose_their_weight() -> None:
    huber, hampel = (RobustKernelDensity(bandwidth=0.7, loss=loss).fit(X).weights_ * len(X) for loss in LOSSES)
    assert huber[70:].max() < np.median(huber[:70])
    assert hampel[70:].mean() < 0.5 * hampel[:70].mean()


@pytest.mark.parametrize("gram", ["lazy", "nystrom", IncompleteCholesky(tol=1e-10)], ids=str)
def test_representations(gram) -> None:
    dense = RobustKernelDensity(bandwidth=1.0).fit(X)
    other = RobustKernelDensity(bandwidth=1.0, gram=gram, random_state=0).fit(X)
    assert np.abs(dense.weights_ - other.weights_).sum() < 1e-5
    assert np.allclose(dense.score_samples(X), other.score_samples(X), atol=1e-5)


def test_draws_follow_the_weights() -> None:
    model = RobustKernelDensity(bandwidth=0.5, loss="hampel").fit(X)
    draws = model.sample(5000, random_state=0)
    centre = model.weights_ @ X
    spread = np.sqrt((model.weights_ @ (X - centre) ** 2 + 0.25) / 5000)
    assert np.all(np.abs(draws.mean(axis=0) - centre) < 5 * spread)


def simulate(seed, share, n=200):
    """A normal sample of which a share is uniform on (−10, 10)."""
    g = np.random.default_rng(seed)
    bad = int(share * n)
    return np.concatenate([g.normal(size=(n - bad, 1)), g.uniform(-10, 10, size=(bad, 1))])


@pytest.mark.long
@pytest.mark.parametrize(("loss", "share"), [("huber", 0.1), ("huber", 0.2), ("huber", 0.3), ("hampel", 0.3)])
def test_closer_to_the_truth_under_contamination(loss, share) -> None:
    """Over 40 samples, with the bandwidth of the plain estimate: integrated squared error and relative entropy.

    Of Hampel's loss the former alone, as it takes samples of the tails for outliers.
    """
    grid = np.linspace(-12, 12, 1501)[:, None]
    step = grid[1, 0] - grid[0, 0]
    truth = np.exp(-(grid[:, 0] ** 2) / 2) / np.sqrt(2 * np.pi)
    squared, entropy = [], []
    for seed in range(40):
        sample = simulate(seed, share)
        plain = KernelDensity(bandwidth="loo", criterion="least_squares").fit(sample)
        robust = RobustKernelDensity(bandwidth=plain.bandwidth_, loss=loss).fit(sample)
        logs = np.stack([plain.score_samples(grid), robust.score_samples(grid)])
        squared.append(np.sum((np.exp(logs) - truth) ** 2, axis=1) * step)
        entropy.append(np.sum(truth * (np.log(truth) - logs), axis=1) * step)
    for error in map(np.array, (squared, entropy) if loss == "huber" else (squared,)):
        assert np.mean(error[:, 1] < error[:, 0]) >= 0.8
        assert error[:, 1].mean() < 0.9 * error[:, 0].mean()


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"kernel": Epanechnikov()}, ValueError, "INDEFINITE in dimension 2"),
        ({"kernel": "linear", "bandwidth": 1.0}, ValueError, "INDEFINITE in dimension 2"),
        ({"kernel": "polynomial"}, ValueError, "declares no normaliser"),
        ({"loss": "absolute"}, ValueError, "loss = 'absolute' is unknown"),
        ({"tuning": (1, 2, 3)}, ValueError, "must be one number for 'huber'"),
        ({"tuning": 1.0, "loss": "hampel"}, ValueError, "must be three numbers"),
        ({"tuning": (3, 2, 1), "loss": "hampel"}, ValueError, "Hampel: b = 2.0 must be >= 3"),
        ({"tuning": (0.1, 0.2, 0.3), "loss": "hampel"}, ValueError, "gives every sample weight zero"),
        ({"tol": 0}, ValueError, "tol = 0 must be > 0"),
        ({"max_iter": 0}, ValueError, "max_iter = 0"),
    ],
)
def test_refusals(parameters, error, message) -> None:
    with pytest.raises(error, match=message):
        RobustKernelDensity(**{"bandwidth": 1.0, **parameters}).fit(X)


def test_equal_samples_and_one_sample() -> None:
    for sample in (np.zeros((5, 2)), X[:1], np.concatenate([np.zeros((6, 2)), X[:2]])):
        for loss in LOSSES:
            model = RobustKernelDensity(bandwidth=1.0, loss=loss).fit(sample)
            assert model.weights_.sum() == pytest.approx(1)
            assert np.all(np.isfinite(model.score_samples(sample)))


def test_unfinished_work_is_reported() -> None:
    with pytest.warns(ConvergenceWarning, match="max_iter is reached"):
        RobustKernelDensity(bandwidth=0.7, max_iter=2).fit(X)
    with pytest.warns(ConvergenceWarning, match="time budget"):
        RobustKernelDensity(bandwidth=0.7, time_budget=1e-9).fit(X)


def test_losses_are_the_librarys() -> None:
    assert isinstance(RobustKernelDensity(bandwidth=1.0).fit(X).loss_, Huber)
    assert isinstance(RobustKernelDensity(bandwidth=1.0, loss="hampel").fit(X).loss_, Hampel)


@pytest.mark.parametrize("loss", ["huber", "hampel"])
@pytest.mark.parametrize("seed", range(2, 6))
def test_weights_count_as_repetitions(loss, seed) -> None:
    """Also where half of the samples, or another of the shares, lies exactly at a sample."""
    draw = np.random.default_rng(seed)
    A, w = draw.poisson(2.0, size=(12, 2)) * 1.0, draw.integers(1, 4, 12)
    repeated = RobustKernelDensity(bandwidth=1.0, loss=loss, tol=1e-10).fit(np.repeat(A, w, axis=0))
    for unit in (1.0, 0.1, 3.0):
        weighted = RobustKernelDensity(bandwidth=1.0, loss=loss, tol=1e-10).fit(A, sample_weight=unit * w)
        for name, value in vars(repeated.loss_).items():
            assert getattr(weighted.loss_, name) == pytest.approx(value, rel=1e-6)
        np.testing.assert_allclose(weighted.score_samples(A), repeated.score_samples(A), rtol=1e-6)


def test_quantiles_are_the_least_values_with_so_large_a_share() -> None:
    """Of n samples of equal weight the one of number ⌈qn⌉, in whole numbers."""
    for n in range(1, 400):
        for percent in (50, 75, 95):
            place = -(-n * percent // 100) - 1
            for p in (np.full(n, 1 / n), np.full(n, 0.1), np.ones(n)):
                assert _quantile(np.arange(n, dtype=float)[::-1], p, percent / 100) == place
