"""Kernel density estimation against scikit-learn, quadrature, refits without each sample, and simulation."""

import numpy as np
import pytest
from scipy.stats import kstest, norm
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import KernelDensity as Peer

from mercer.kernels import Cauchy, Gaussian, Laplace, Linear, Matern, RationalQuadratic, Wendland
from mercer.methods.density import KernelDensity

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2)) * (1.0, 0.5)
NAMES = ["gaussian", "tophat", "epanechnikov", "exponential", "linear", "cosine"]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bandwidth", [0.4, "scott", "silverman"])
@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("d", [1, 2, 6])
def test_drop_in(kernel, bandwidth, d, weighted) -> None:
    A, B = rng.normal(size=(80, d)), 2 * rng.normal(size=(30, d))
    weight = rng.uniform(size=80) if weighted else None
    parameters = {"kernel": kernel, "bandwidth": bandwidth}
    ours = KernelDensity(**parameters).fit(A, sample_weight=weight)
    peer = Peer(**parameters).fit(A, sample_weight=weight)
    assert ours.bandwidth_ == peer.bandwidth_
    if kernel == "cosine" and d % 2 == 0:  # where scikit-learn's normaliser lacks a term
        inside = np.isfinite(ours.score_samples(A))
        assert np.ptp((ours.score_samples(A) - peer.score_samples(A))[inside]) < 1e-9
        return
    # scikit-learn's trees leave rounding where the density is zero
    assert np.allclose(np.exp(ours.score_samples(B)), np.exp(peer.score_samples(B)), rtol=1e-9, atol=1e-14)
    if kernel in ("gaussian", "exponential"):
        assert np.allclose(ours.score_samples(B), peer.score_samples(B), rtol=1e-9)
        assert ours.score(B) == pytest.approx(peer.score(B), rel=1e-9)


def test_cosine_in_the_plane_is_a_density() -> None:
    side = np.linspace(-1, 1, 401)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    ours, peer = (
        np.exp(cls(kernel="cosine", bandwidth=0.9).fit([[0.0, 0.0]]).score_samples(plane)).sum() * 0.005**2
        for cls in (KernelDensity, Peer)
    )
    assert ours == pytest.approx(1, rel=1e-3)
    assert peer < 0.5


def test_signature() -> None:
    own = KernelDensity().get_params()
    assert Peer().get_params().items() <= own.items()
    assert set(own) - set(Peer().get_params()) == {"bandwidths", "criterion", "time_budget"}


def test_far_away_the_logarithm_is_finite() -> None:
    far = np.array([[500.0, 0.0]])
    for kernel in ("gaussian", "exponential", "matern(nu=1.5)"):
        model = KernelDensity(kernel=kernel, bandwidth=0.1).fit(X)
        assert model.function_(far) == 0
        assert -np.inf < model.score_samples(far)[0] < -4000
    assert KernelDensity(kernel="tophat").fit(X).score_samples(far)[0] == -np.inf


@pytest.mark.parametrize(
    "kernel",
    ["matern(nu=0.8)", "wendland", Cauchy(0.3), RationalQuadratic(0.5, 0.9), "0.3*gaussian + laplace(lengthscale=2)"],
    ids=str,
)
def test_any_normalised_kernel_gives_a_density(kernel) -> None:
    sample = X[:7, :1]
    model = KernelDensity(kernel=kernel, bandwidth=0.7).fit(sample, sample_weight=np.arange(1.0, 8.0))
    grid = np.sinh(np.linspace(-40, 40, 200_001))  # fine in the middle, and far into the tails
    density = np.exp(model.score_samples(grid[:, None]))
    assert np.trapezoid(density, grid) == pytest.approx(1, rel=1e-5)
    assert np.allclose(model.function_(X[:5, :1]), np.exp(model.score_samples(X[:5, :1])), rtol=1e-12)


def test_function_is_the_mean_in_the_space() -> None:
    model = KernelDensity(bandwidth=0.6).fit(X)
    mass = (2 * np.pi * 0.36) ** (2 / 2)
    assert model.function_.norm() ** 2 == pytest.approx(Gaussian(0.6)(X).mean() / mass**2)
    assert model.kernel_ == Gaussian(0.6)


def test_bandwidth_multiplies_the_lengthscale() -> None:
    each = np.array([0.5, 0.2])
    a = KernelDensity(kernel=Gaussian(each), bandwidth=2.0).fit(X)
    b = KernelDensity(kernel=Gaussian(2 * each)).fit(X)
    by_hand = norm.pdf((X[:3, None] - X[None]) / (2 * each)).prod(axis=2).mean(axis=1) / np.prod(2 * each)
    assert np.allclose(np.exp(a.score_samples(X[:3])), by_hand)
    assert np.array_equal(a.score_samples(X), b.score_samples(X))
    full = np.array([[0.5, 0.3], [0.0, 0.4]])
    turned = KernelDensity(kernel=Gaussian(full)).fit(X)
    plain = KernelDensity().fit(X @ np.linalg.inv(full).T)
    shift = np.log(np.linalg.det(full))
    assert np.allclose(turned.score_samples(X), plain.score_samples(X @ np.linalg.inv(full).T) - shift)


# ---- cross-validation

GRID = [0.05, 0.1, 0.2, 0.4, 0.8]


def refitted(model, weight) -> np.ndarray:
    """log f₋ᵢ(xᵢ) from n fits."""
    out = []
    for i in range(len(X)):
        keep = np.arange(len(X)) != i
        out.append(clone(model).fit(X[keep], sample_weight=weight[keep]).score_samples(X[i : i + 1])[0])
    return np.array(out)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "laplace(norm=1)", "matern", "gaussian + laplace"])
def test_likelihood_without_each_sample(kernel) -> None:
    weight = rng.uniform(0.5, 2.0, size=len(X))
    grid = [0.3, 1.0, 1.5] if kernel == "epanechnikov" else GRID
    model = KernelDensity(kernel=kernel, bandwidth="loo", bandwidths=grid)
    model.fit(X, sample_weight=weight)
    for h, score in zip(grid, model.loo_scores_, strict=True):
        left_out = refitted(KernelDensity(kernel=kernel, bandwidth=h), weight)
        assert score == pytest.approx(weight @ left_out / weight.sum(), rel=1e-9)
    assert model.bandwidth_ == grid[np.argmax(model.loo_scores_)]


@pytest.mark.parametrize("kernel", [Gaussian(), Laplace(), Matern(1.5)], ids=str)
def test_least_squares_without_each_sample(kernel) -> None:
    """∫ f² by the trapezoidal rule on a fine grid of the plane."""
    weight = rng.uniform(0.5, 2.0, size=len(X))
    grid = [0.2, 0.4, 0.8]
    model = KernelDensity(kernel=kernel, bandwidth="loo", bandwidths=grid, criterion="least_squares")
    model.fit(X, sample_weight=weight)
    side = np.linspace(-11, 11, 451)
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for h, score in zip(grid, model.loo_scores_, strict=True):
        one = KernelDensity(kernel=kernel, bandwidth=h)
        left_out = weight @ np.exp(refitted(one, weight)) / weight.sum()
        square = np.sum(one.fit(X, sample_weight=weight).function_(plane) ** 2) * (side[1] - side[0]) ** 2
        assert score == pytest.approx(2 * left_out - square, rel=2e-3)


def test_default_grid_finds_the_scale() -> None:
    """Other units give other bandwidths and the same fit; the chosen one is near the best for the true density."""
    sample = np.random.default_rng(3).normal(size=(400, 1))
    for criterion in ("likelihood", "least_squares"):
        model = KernelDensity(bandwidth="loo", criterion=criterion)
        draws = np.random.default_rng(3).normal(size=(9, 400, 1))
        chosen = np.median([model.fit(draw).bandwidth_ for draw in draws])
        assert 0.2 < chosen < 0.45  # 1.06 n^(−1/5) = 0.32 is best for a normal density
    one, other = (KernelDensity(bandwidth="loo").fit(c * sample).bandwidth_ for c in (1, 1000))
    assert other == pytest.approx(1000 * one)
    wide = KernelDensity(kernel=Matern(2.5, 50.0), bandwidth="loo").fit(sample)
    assert 0.1 < 50 * wide.bandwidth_ < 1.0


def test_a_zero_weight_is_no_sample() -> None:
    weight = np.r_[np.ones(50), np.zeros(10)]
    a = KernelDensity(bandwidth="loo", bandwidths=GRID).fit(X, sample_weight=weight)
    b = KernelDensity(bandwidth="loo", bandwidths=GRID).fit(X[:50])
    assert np.allclose(a.loo_scores_, b.loo_scores_)
    assert np.allclose(a.score_samples(X), b.score_samples(X))
    a, b = KernelDensity(bandwidth="loo").fit(X, sample_weight=weight), KernelDensity(bandwidth="loo").fit(X[:50])
    assert np.allclose(a.bandwidths_, b.bandwidths_)


# ---- draws


@pytest.mark.parametrize("kernel", [*NAMES, "matern(nu=0.7)", "wendland", "cauchy", "gaussian + laplace"])
def test_draws_have_the_distribution_of_the_estimate(kernel) -> None:
    sample = np.array([[-1.0], [0.0], [2.0]])
    model = KernelDensity(kernel=kernel, bandwidth=0.6).fit(sample, sample_weight=[1, 2, 3])
    draws = model.sample(4000, random_state=0)
    grid = np.sinh(np.linspace(-11, 11, 40001))
    values = np.exp(model.score_samples(grid[:, None]))
    cumulative = np.concatenate([[0], np.cumsum(np.diff(grid) * (values[1:] + values[:-1]) / 2)])
    assert draws.shape == (4000, 1)
    assert kstest(draws[:, 0], lambda x: np.interp(x, grid, cumulative)).pvalue > 1e-3
    assert np.array_equal(draws, model.sample(4000, random_state=0))


# ---- data and errors


def test_blocks_agree(monkeypatch) -> None:
    whole = KernelDensity(bandwidth="loo", bandwidths=GRID).fit(X)
    expected = whole.score_samples(X)
    monkeypatch.setattr("mercer.methods._density.BLOCK", 300)
    parts = KernelDensity(bandwidth="loo", bandwidths=GRID).fit(X)
    assert np.allclose(parts.loo_scores_, whole.loo_scores_, rtol=1e-12)
    assert np.allclose(parts.score_samples(X), expected, rtol=1e-12)


def test_sparse_and_single_precision() -> None:
    from scipy.sparse import csr_array

    dense = np.where(np.abs(X) > 0.3, X, 0.0)
    a, b = KernelDensity(bandwidth="loo").fit(dense), KernelDensity(bandwidth="loo").fit(csr_array(dense))
    assert np.allclose(a.score_samples(dense), b.score_samples(csr_array(dense)))
    assert b.sample(3, random_state=0).shape == (3, 2)
    single = KernelDensity(bandwidth=0.3).fit(X.astype("float32")).score_samples(X.astype("float32"))
    assert single.dtype == np.float32
    assert np.allclose(single, KernelDensity(bandwidth=0.3).fit(X).score_samples(X), atol=1e-4)


def test_array_libraries(xp) -> None:
    A = xp.asarray(X)
    model = KernelDensity(kernel="matern(nu=1.5)", bandwidth="loo").fit(A)
    values = model.score_samples(A)
    assert isinstance(values, type(A))
    assert np.allclose(
        np.asarray(values), KernelDensity(kernel="matern(nu=1.5)", bandwidth="loo").fit(X).score_samples(X)
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": Linear()}, "the kernel linear declares no normaliser"),
        ({"kernel": Gaussian().on(0)}, "declares no normaliser"),
        ({"kernel": Cauchy()}, "infinite in dimension 2"),
        ({"bandwidth": 0}, "bandwidth = 0 must be > 0"),
        ({"bandwidth": "best"}, "bandwidth = 'best' must be a finite number > 0, or 'scott'"),
        ({"algorithm": "brute"}, "algorithm = 'brute' is unknown"),
        ({"rtol": -1}, "rtol = -1 must be >= 0"),
        ({"bandwidth": "loo", "bandwidths": [1.0, -1.0]}, "must be numbers > 0"),
        ({"bandwidth": "loo", "bandwidths": "scott"}, "bandwidths = 'scott' must be numbers > 0"),
        ({"bandwidth": "loo", "criterion": "aic"}, "criterion = 'aic' is unknown"),
        (
            {"bandwidth": "loo", "criterion": "least_squares", "kernel": Wendland()},
            "needs a kernel with a self_convolution",
        ),
        ({"bandwidth": "loo", "bandwidths": [1e-9, 2e-9], "kernel": "tophat"}, "some left-out sample has density zero"),
    ],
)
def test_refusals(parameters, message) -> None:
    with pytest.raises(ValueError, match=message):
        KernelDensity(**parameters).fit(X)


def test_one_sample_has_no_cross_validation() -> None:
    assert KernelDensity().fit(X[:1]).score_samples(X[:1])[0] == pytest.approx(-np.log(2 * np.pi))
    with pytest.raises(ValueError, match="more than 1 sample"):
        KernelDensity(bandwidth="loo").fit(X[:1])


def test_the_end_of_the_grid_is_reported() -> None:
    with pytest.warns(UserWarning, match="at the end of the grid"):
        KernelDensity(bandwidth="loo").fit(np.repeat(X[:10], 3, axis=0))


W, S = np.array([0.5, 2.0]), np.array([[1.0, 0.6], [0.6, 2.0]])
NORMS = [
    ("manhattan", None),
    ("chebyshev", None),
    ("minkowski", {"p": 3}),
    ("minkowski", {"p": 1.5, "w": W}),
    ("seuclidean", {"V": W}),
    ("mahalanobis", {"V": S}),
    ("mahalanobis", {"VI": np.linalg.inv(S)}),
]


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize(("metric", "parameters"), NORMS, ids=str)
def test_other_metrics(metric, parameters, kernel) -> None:
    """The shape is scikit-learn's; the constant makes the integral one."""
    options = {"metric": metric, "metric_params": parameters, "kernel": kernel, "bandwidth": 0.7}
    ours, peer = KernelDensity(**options).fit(X), Peer(**options).fit(X)
    inside = np.isfinite(ours.score_samples(X))
    assert inside.all() and np.ptp(ours.score_samples(X) - peer.score_samples(X)) < 1e-9
    reach = {"gaussian": 8.0, "exponential": 20.0}.get(kernel, 1.47)
    side = reach * (2 * np.arange(400) - 399) / 400
    plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    one = KernelDensity(**options).fit([[0.0, 0.0]])
    assert np.exp(one.score_samples(plane)).mean() * (2 * reach) ** 2 == pytest.approx(1, abs=6e-3)
    assert one.function_([[0.2, 0.1]]) == pytest.approx(np.exp(one.score_samples([[0.2, 0.1]])), rel=1e-12)


@pytest.mark.parametrize(("metric", "parameters"), NORMS, ids=str)
def test_samples_of_other_metrics(metric, parameters) -> None:
    """A fifth of the mass lies in each fifth of the balls."""
    for kernel in ("gaussian", "tophat"):
        model = KernelDensity(metric=metric, metric_params=parameters, kernel=kernel, bandwidth=0.7).fit([[1.0, -2.0]])
        drawn = model.sample(2000, random_state=0) - [1.0, -2.0]
        delta = DistanceMetric.get_metric(metric, **(parameters or {})).pairwise(drawn, np.zeros((1, 2)))[:, 0]
        law = (lambda r: 1 - np.exp(-((r / 0.7) ** 2) / 2)) if kernel == "gaussian" else (lambda r: (r / 0.7) ** 2)
        assert kstest(delta, law).pvalue > 0.01
        assert np.abs(drawn.mean(axis=0)).max() < 0.08  # a ball is symmetric


def test_sample_in_the_ball_of_a_norm_is_uniform() -> None:
    drawn = KernelDensity(metric="chebyshev", kernel="tophat").fit([[0.0, 0.0]]).sample(2000, random_state=0)
    assert kstest(drawn[:, 0], "uniform", (-1, 2)).pvalue > 0.01
    drawn = KernelDensity(metric="manhattan", kernel="tophat").fit([[0.0, 0.0]]).sample(2000, random_state=0)
    assert kstest(drawn.sum(axis=1), "uniform", (-1, 2)).pvalue > 0.01  # the ball is a square that stands on a corner


@pytest.mark.parametrize("bandwidth", [0.02, 0.5, 3.0])
@pytest.mark.parametrize("kernel", NAMES)
def test_density_on_the_sphere(kernel, bandwidth) -> None:
    place = np.array([[0.9, 2.0]])
    model = KernelDensity(metric="haversine", kernel=kernel, bandwidth=bandwidth).fit(place)
    peer = Peer(metric="haversine", kernel=kernel, bandwidth=bandwidth).fit(place)
    near = place + bandwidth * rng.uniform(-0.3, 0.3, size=(20, 2))
    assert np.ptp(model.score_samples(near) - peer.score_samples(near)) < 1e-9
    # the integral over the sphere, by circles about the place
    angle = np.linspace(0, np.pi, 200_001)
    circle = np.stack([0.9 + angle, np.full_like(angle, 2.0)], axis=1)
    density = np.exp(model.score_samples(circle)) * 2 * np.pi * np.sin(angle)
    assert np.trapezoid(density, angle) == pytest.approx(1, rel=2e-3)
    drawn = model.sample(1000, random_state=0)
    assert np.abs(drawn[:, 0]).max() <= np.pi / 2
    law = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2 * np.diff(angle))])
    distance = DistanceMetric.get_metric("haversine").pairwise(drawn, place)[:, 0]
    assert kstest(distance, lambda r: np.interp(r, angle, law / law[-1])).pvalue > 0.01
    east = np.sin(drawn[:, 1] - 2.0) > 0
    assert abs(east.mean() - 0.5) < 0.06


def test_bandwidth_of_other_metrics_by_cross_validation() -> None:
    model = KernelDensity(metric="manhattan", bandwidth="loo", bandwidths=[0.2, 0.5, 1.0]).fit(X)
    for h, score in zip(model.bandwidths_, model.loo_scores_, strict=True):
        single = KernelDensity(metric="manhattan", bandwidth=h)
        held_out = [single.fit(np.delete(X, i, axis=0)).score_samples(X[i : i + 1])[0] for i in range(len(X))]
        assert score == pytest.approx(np.mean(held_out), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"metric": "hamming"}, "metric = 'hamming'"),
        ({"metric": "manhattan", "metric_params": {"q": 1}}, "does not take metric_params"),
        ({"metric": "minkowski", "metric_params": {"p": 0.5}}, "must be >= 1"),
        ({"metric": "minkowski", "metric_params": {"p": 3, "w": [1.0, -1.0]}}, "must be numbers > 0"),
        ({"metric": "minkowski", "metric_params": {"p": 3, "w": [1.0, 1.0, 1.0]}}, "are for 3 columns, and X has 2"),
        ({"metric": "seuclidean"}, "needs metric_params"),
        ({"metric": "mahalanobis", "metric_params": {"V": -np.eye(2)}}, "must be a positive definite matrix"),
        ({"metric": "manhattan", "kernel": Laplace(norm=1)}, "needs a kernel that is a function of the distance"),
        ({"metric": "manhattan", "kernel": Gaussian([1.0, 2.0])}, "several lengthscales"),
    ],
)
def test_metrics_that_make_no_density(options, words) -> None:
    with pytest.raises(ValueError, match=words):
        KernelDensity(**options).fit(X).score_samples(X)


def test_sample_before_fit() -> None:
    with pytest.raises(NotFittedError):
        KernelDensity().sample(3)


@pytest.mark.parametrize(
    "kernel", ["gaussian", "matern(nu=2.5)", "epanechnikov", "rational_quadratic(alpha=3.0)", "wendland"]
)
@pytest.mark.parametrize(("metric", "parameters"), [("manhattan", None), ("chebyshev", None), ("minkowski", {"p": 3})])
@pytest.mark.parametrize("exponent", [-400, 500])
def test_other_metrics_in_any_unit(exponent, metric, parameters, kernel) -> None:
    """The density of uX with the bandwidth u is that of X by uᵈ; samples far apart in that unit are alone."""
    model = KernelDensity(metric=metric, metric_params=parameters, kernel=kernel)
    unit, A, new = 2.0**exponent, X[:40, :1], X[40:50, :1]
    found = clone(model).set_params(bandwidth=unit).fit(A * unit).score_samples(new * unit)
    np.testing.assert_allclose(found + exponent * np.log(2), clone(model).fit(A).score_samples(new), atol=1e-9)
    if not kernel.startswith("rational"):
        alone = clone(model).fit(np.array([[0.0], [2.0**900]])).score_samples([[0.0]])
        np.testing.assert_allclose(alone, clone(model).fit([[0.0]]).score_samples([[0.0]]) - np.log(2))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_bandwidths_that_make_no_lengthscale_are_refused(metric) -> None:
    for size in (1e-200, 1e200):
        model = KernelDensity(metric=metric, kernel=Gaussian(size), bandwidth=size)
        with pytest.raises(ValueError, match=r"times the bandwidth .* overflows or underflows"):
            model.fit(X)


def test_a_state_of_an_earlier_version_has_the_names_of_today():
    model = KernelDensity(bandwidth="loo", bandwidths=GRID).fit(X)
    state = model.__getstate__() | {"bandwidth": "cv"}
    state["cv_bandwidths_"], state["cv_scores_"] = state.pop("bandwidths_"), state.pop("loo_scores_")
    del state["time_budget"]
    old = KernelDensity.__new__(KernelDensity)
    old.__setstate__(state)
    assert old.get_params() == model.get_params()
    assert np.array_equal(old.bandwidths_, GRID) and np.array_equal(old.loo_scores_, model.loo_scores_)
