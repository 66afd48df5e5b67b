"""Kernel k-means: the definition, scikit-learn's KMeans, kernlab, and normalised cuts."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from mercer._errors import IndefiniteKernelWarning
from mercer.gram import IncompleteCholesky, Nystrom, RandomFeatures
from mercer.kernels import Gaussian, Power, Precomputed
from mercer.methods.kmeans import KernelKMeans
from mercer.methods.spectral_clustering import SpectralClustering

DRAWS = "starts are drawn, and the default lengthscale is the median distance of the samples as they stand"
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


def blobs(n=300, k=5, spread=2.5, d=4):
    return make_blobs(n, d, centers=k, cluster_std=spread, random_state=1)[0]


def brute_force(K, labels, weight=None):
    """Σ wᵢ‖φ(xᵢ) − m‖², term by term from the matrix."""
    weight = np.ones(len(K)) if weight is None else weight
    total = 0.0
    for i in range(len(K)):
        a = np.where(labels == labels[i], weight, 0.0)
        a /= a.sum()
        total += weight[i] * (K[i, i] - 2 * K[i] @ a + a @ K @ a)
    return total


# ---- the ancestor


@pytest.mark.parametrize("gram", ["dense", "lazy", "low_rank"])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_kernel_is_k_means_from_the_same_start(gram, weighted):
    X = blobs()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 5, 300)
        weight = rng.integers(1, 5, 300).astype(float) if weighted else np.ones(300)
        means = np.array([np.average(X[labels == c], axis=0, weights=weight[labels == c]) for c in range(5)])
        theirs = KMeans(5, init=means, n_init=1, tol=0, max_iter=1000).fit(X, sample_weight=weight)
        for init in (labels, means):
            ours = KernelKMeans(5, kernel="linear", init=init, tol=0, gram=gram)
            ours.fit(X, sample_weight=weight if weighted else None)
            np.testing.assert_array_equal(ours.labels_, theirs.labels_)
            assert ours.n_iter_ == theirs.n_iter_ - (init is means)  # whose labels are the first round
            assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-10)
            np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-6)
            assert ours.score(X) == pytest.approx(theirs.score(X))


def test_offsets_do_not_matter_to_explicit_features():
    X, start = blobs(), np.arange(300) % 5
    moved = X + 1e7  # squares of 1e14, and distances of 1
    theirs = KMeans(5, init=np.array([moved[start == c].mean(axis=0) for c in range(5)]), n_init=1, tol=0).fit(moved)
    ours = KernelKMeans(5, kernel="linear", init=start, tol=0).fit(moved)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-7)


def test_sparse_rows_are_the_same():
    X = np.round(blobs())
    start = np.arange(300) % 5
    dense = KernelKMeans(5, kernel="linear", init=start).fit(X)
    sparse = KernelKMeans(5, kernel="linear", init=start).fit(csr_array(X))
    np.testing.assert_array_equal(dense.labels_, sparse.labels_)
    np.testing.assert_array_equal(sparse.predict(csr_array(X)), sparse.labels_)
    from_points = [
        KernelKMeans(5, kernel="linear", init=init).fit(data).labels_
        for init in (X[:5], csr_array(X[:5]))
        for data in (X, csr_array(X))
    ]
    for labels in from_points:
        np.testing.assert_array_equal(labels, from_points[0])


# ---- the definition


@pytest.mark.parametrize(
    "gram", ["dense", "lazy", Nystrom(rank=40), IncompleteCholesky(rank=40), RandomFeatures(100)], ids=str
)
def test_inertia_is_the_definition_for_the_matrix_as_represented(gram):
    X = blobs(120)
    weight = np.random.default_rng(0).uniform(0.2, 3, 120)
    model = KernelKMeans(4, kernel=Gaussian(4.0), gram=gram, random_state=0).fit(X, sample_weight=weight)
    built = model._build(X) if isinstance(gram, str) else gram.build(Gaussian(4.0), X, _same_draws())
    assert model.inertia_ == pytest.approx(brute_force(built.dense(), model.labels_, weight), rel=1e-9)
    assert model.inertia_ == min(model.inertias_) and len(model.inertias_) == 10


def _same_draws():
    from mercer._random import generator

    return generator(0)


@pytest.mark.parametrize("gram", ["dense", "lazy", "nystrom"])
def test_objective_never_rises(gram):
    """J after every round is the definition of the labels that the round ends with."""
    X = blobs(200, 6)
    start = np.random.default_rng(3).integers(0, 6, 200)
    model = KernelKMeans(6, kernel=Gaussian(3.0), init=start, tol=0, gram=gram, random_state=0).fit(X)
    assert len(model.history_) == model.n_iter_ > 5
    assert (np.diff(model.history_) < 0).all()
    K = model._build(X).dense()
    assert model.history_[0] == pytest.approx(brute_force(K, start))
    for rounds in range(1, model.n_iter_):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            part = KernelKMeans(
                6, kernel=Gaussian(3.0), init=start, tol=0, max_iter=rounds, gram=gram, random_state=0
            ).fit(X)
        assert model.history_[rounds] == pytest.approx(brute_force(K, part.labels_), rel=1e-9)


def test_centres_are_functions():
    X = blobs(80, 3)
    model = KernelKMeans(3, kernel=Gaussian(3.0), random_state=0).fit(X)
    K, new = Gaussian(3.0)(X), X[:7] + 0.3
    for c in range(3):
        own = model.labels_ == c
        centre = model.function_[c]
        np.testing.assert_allclose(centre(new), Gaussian(3.0)(new, X[own]).mean(axis=1), atol=1e-12)
        assert centre.norm() ** 2 == pytest.approx(K[np.ix_(own, own)].mean())
        distance = (Gaussian(3.0).diag(new) - 2 * centre(new) + centre.norm() ** 2) ** 0.5
        np.testing.assert_allclose(model.transform(new)[:, c], distance, atol=1e-10)
    np.testing.assert_array_equal(model.predict(new), model.transform(new).argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert list(model.get_feature_names_out()) == ["kernelkmeans0", "kernelkmeans1", "kernelkmeans2"]


def test_transform_of_landmarks_is_a_distance_in_the_kernels_space():
    X = blobs(200, 3)
    model = KernelKMeans(3, kernel=Gaussian(3.0), gram=Nystrom(rank=60), random_state=0).fit(X)
    squared = model.transform(X)[np.arange(200), model.labels_] ** 2
    error = Nystrom(rank=60).build(Gaussian(3.0), X, _same_draws()).trace_error
    assert squared.sum() == pytest.approx(model.inertia_ + error, rel=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_equals_kernlab(oracle):
    data = oracle("kkmeans_blobs3_rbf")
    kernel = Gaussian.from_gamma(data["parameters"]["sigma"])
    model = KernelKMeans(3, kernel=kernel, random_state=0).fit(data["inputs"]["X"])
    assert adjusted_rand_score(model.labels_, data["outputs"]["partition"]) == 1
    assert model.inertia_ == pytest.approx(data["outputs"]["total_within"], rel=1e-12)


def test_weights_are_repetitions():
    X = blobs(60, 3)
    times = np.random.default_rng(0).integers(0, 4, 60)
    start = np.arange(60) % 3
    weighted = KernelKMeans(3, kernel=Gaussian(3.0), init=start, tol=0).fit(X, sample_weight=times)
    repeated = KernelKMeans(3, kernel=Gaussian(3.0), init=np.repeat(start, times), tol=0).fit(
        np.repeat(X, times, axis=0)
    )
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    np.testing.assert_array_equal(weighted.labels_[times > 0].repeat(times[times > 0]), repeated.labels_)
    np.testing.assert_array_equal(weighted.predict(X), weighted.labels_)  # also those of weight 0


@pytest.mark.parametrize("gram", ["dense", Nystrom(rank=20)], ids=str)
def test_samples_of_weight_zero_follow_the_nearest_mean(gram):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, weight = rng.normal(size=(60, 2)), rng.integers(0, 2, 60) * rng.uniform(size=60)
        model = KernelKMeans(4, init="random", n_init=1, gram=gram, tol=0, random_state=seed)
        model.fit(X, sample_weight=weight)
        np.testing.assert_array_equal(model.labels_, model.transform(X).argmin(axis=1))


def test_a_start_whose_cluster_has_no_weight():
    X, weight = blobs(30, 3), np.ones(30)
    weight[[4, 9]] = 0
    start = np.arange(30) % 2
    start[[4, 9]] = 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelKMeans(3, init=start).fit(X, sample_weight=weight)
    assert (np.bincount(model.labels_, weight, 3) > 0).all()


# ---- normalised cuts


def normalised_cut(A, labels):
    return sum(A[np.ix_(labels == c, labels != c)].sum() / A[labels == c].sum() for c in np.unique(labels))


def graph(seed, n=60, k=3, inside=0.35, outside=0.1):
    """A random graph with planted groups that are hard to see."""
    rng = np.random.default_rng(seed)
    same = np.arange(n)[:, None] % k == np.arange(n) % k
    A = np.triu(rng.uniform(size=(n, n)) < np.where(same, inside, outside), 1) * rng.uniform(0.5, 1.5, (n, n))
    return A + A.T + np.diag(rng.uniform(0, 1, n))


def cut_kernel(A, sigma):
    d = A.sum(axis=1)
    return np.diag(sigma / d) + A / np.outer(d, d), d


@pytest.mark.parametrize("sigma", [0.0, 1.0, 3.0])
def test_weighted_objective_is_the_normalised_cut(sigma):
    from mercer.gram import Dense
    from mercer.solvers.clustering import clusters_of

    A = graph(0)
    K, d = cut_kernel(A, sigma)
    state = clusters_of(Dense().build(Precomputed(), K), d)
    constant = sigma * (60 - 4) + np.sum(np.diag(A) / d) - 4
    for seed in range(5):
        labels = np.random.default_rng(seed).integers(0, 4, 60)
        state.start(labels, 4)
        assert state.objective() == pytest.approx(constant + normalised_cut(A, labels), rel=1e-12)


def test_local_search_improves_a_spectral_start():
    gains = []
    for seed in range(4):
        A = graph(seed)
        K, d = cut_kernel(A, 1.0)
        start = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(A)
        model = KernelKMeans(3, kernel="precomputed", init=start, local_search=True).fit(K, sample_weight=d)
        best = normalised_cut(A, model.labels_)
        gains.append(normalised_cut(A, start) - best)
        for i, c in product(range(60), range(3)):
            other = model.labels_.copy()
            other[i] = c
            if len(np.unique(other)) == 3:
                assert normalised_cut(A, other) >= best - 1e-12
    assert min(gains) >= 0 and max(gains) > 1e-3


# ---- starts


def test_starts_with_empty_clusters():
    X = blobs(50, 4)
    for init in (np.zeros(50, dtype=int), np.repeat(X[:1], 4, axis=0)):
        model = KernelKMeans(4, kernel=Gaussian(3.0), init=init).fit(X)
        assert (np.bincount(model.labels_, minlength=4) > 0).all()
        assert (np.diff(model.history_) < 0).all()


def test_all_points_their_own_cluster_and_one_cluster_for_all():
    X = blobs(12, 3)
    assert KernelKMeans(12, kernel=Gaussian(3.0), random_state=0).fit(X).inertia_ == pytest.approx(0, abs=1e-12)
    one = KernelKMeans(1, kernel=Gaussian(3.0)).fit(X)
    K = Gaussian(3.0)(X)
    assert one.inertia_ == pytest.approx(np.trace(K) - K.mean() * 12)
    assert (one.labels_ == 0).all() and (one.predict(X) == 0).all()


def test_random_state_repeats_and_more_starts_are_not_worse():
    X = blobs(200, 8)
    few, many = (KernelKMeans(8, kernel=Gaussian(3.0), init="random", n_init=m, random_state=4) for m in (1, 8))
    assert many.fit(X).inertia_ <= few.fit(X).inertia_
    again = KernelKMeans(8, kernel=Gaussian(3.0), init="random", n_init=8, random_state=4).fit(X)
    np.testing.assert_array_equal(many.labels_, again.labels_)


# ---- other kernels and domains


def test_conditionally_definite_kernel():
    """−‖x − y‖ differs from the definite kernel centred at a point by terms that distances do not see."""
    X = blobs(80, 3)
    start = np.arange(80) % 3
    power = Power(1.0)
    plain = KernelKMeans(3, kernel=power, init=start).fit(X)
    centred = KernelKMeans(3, kernel=power.centered(X), init=start).fit(X)
    np.testing.assert_array_equal(plain.labels_, centred.labels_)
    assert plain.inertia_ == pytest.approx(centred.inertia_, rel=1e-8)


def _common(x, y):
    return float(len(set(x) & set(y)))


def test_words():
    words = ["abc", "abd", "bcd", "xyz", "xyw", "wzy"]
    model = KernelKMeans(2, kernel=_common, random_state=0).fit(words)
    assert adjusted_rand_score(model.labels_, [0, 0, 0, 1, 1, 1]) == 1
    assert model.predict(["acd"])[0] == model.labels_[0]


def test_precomputed():
    X = blobs(90, 3)
    K = Gaussian(3.0)(X)
    direct = KernelKMeans(3, kernel=Gaussian(3.0), random_state=0).fit(X)
    given = KernelKMeans(3, kernel="precomputed", random_state=0).fit(K)
    np.testing.assert_array_equal(direct.labels_, given.labels_)
    np.testing.assert_array_equal(given.predict(Gaussian(3.0)(X[:5] + 0.1, X)), direct.predict(X[:5] + 0.1))


def test_single_precision():
    X = blobs(200, 4)
    double, single = (KernelKMeans(4, kernel=Gaussian(3.0), init=np.arange(200) % 4).fit(A) for A in (X, np.float32(X)))
    assert adjusted_rand_score(double.labels_, single.labels_) > 0.95
    assert single.transform(X).dtype == np.float32
    low = KernelKMeans(4, kernel=Gaussian(3.0), init=np.arange(200) % 4, gram="nystrom").fit(np.float32(X))
    assert low.inertia_ == pytest.approx(single.inertia_, rel=1e-2)


@pytest.mark.parametrize("gram", ["dense", "lazy", "nystrom"])
def test_torch(gram):
    torch = pytest.importorskip("torch")
    X = blobs(100, 3)
    start = np.arange(100) % 3
    ours = KernelKMeans(3, kernel=Gaussian(3.0), init=start, gram=gram, random_state=0).fit(X)
    theirs = KernelKMeans(3, kernel=Gaussian(3.0), init=start, gram=gram, random_state=0).fit(torch.asarray(X))
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    assert isinstance(theirs.transform(torch.asarray(X)), torch.Tensor)
    np.testing.assert_array_equal(theirs.predict(torch.asarray(X)).numpy(), ours.labels_)


# ---- bad input


def test_indefinite_kernels():
    X = blobs(30, 2)
    with pytest.raises(ValueError, match=r"is INDEFINITE.*a CPD\(1\) one"):
        KernelKMeans(2, kernel=-1 * Gaussian()).fit(X)
    with pytest.raises(ValueError, match=r"CPD\(2\)"):
        KernelKMeans(2, kernel="thin_plate").fit(X)


def test_unknown_kernel_that_turns_out_indefinite():
    """Rounds may raise J then; the labels before are kept, and said so."""
    A = graph(2, n=40)
    K, d = cut_kernel(A, -0.9)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelKMeans(3, kernel="precomputed", init=np.arange(40) % 3).fit(K, sample_weight=d)
    assert any(issubclass(w.category, IndefiniteKernelWarning) for w in caught)
    assert (np.diff(model.history_) < 0).all()
    assert model.inertia_ == pytest.approx(brute_force(K, model.labels_, d), rel=1e-10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters = 0 must be >= 1"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
        ({"n_init": 0}, "n_init = 0 must be >= 1"),
        ({"max_iter": 0}, "max_iter = 0 must be >= 1"),
        ({"tol": -1.0}, "tol = -1.0 must be >= 0"),
        ({"init": "best"}, "init = 'best' is unknown"),
        ({"init": np.arange(30)}, r"labels 0 to 29; they must be 0 … 2"),
        ({"init": np.zeros((2, 2))}, r"init holds 2 points; give n_clusters = 3 points, or 30 integer labels"),
        ({"init": None}, "init must be one of 'k-means\\+\\+', 'random', an integer label .* got a NoneType"),
        ({"init": lambda X, k: X[:k]}, "init must be one of .* got a function"),
        ({"init": np.zeros(30)}, "init must be one of .* got a ndarray"),
        ({"init": [0, 1]}, "init must be one of .* got a list"),
        ({"time_budget": 0}, "time_budget = 0 must be > 0"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**{"n_clusters": 3, **options}).fit(np.random.default_rng(0).normal(size=(30, 2)))


def test_more_clusters_than_distinct_points():
    X = np.repeat([[0.0], [1.0], [5.0]], 5, axis=0)
    KernelKMeans(3, kernel=Gaussian()).fit(X)
    for init in ("k-means++", "random", np.arange(15) % 4):
        with pytest.raises(ValueError, match="n_clusters = 4 exceeds the number of distinct points"):
            KernelKMeans(4, kernel=Gaussian(), init=init).fit(X)
    with pytest.raises(ValueError, match="precomputed"):
        KernelKMeans(2, kernel="precomputed", init=np.zeros((2, 3))).fit(np.eye(4))


def test_time_budget():
    X = blobs(400, 10, spread=6.0)
    with pytest.warns(ConvergenceWarning, match="time budget"):
        model = KernelKMeans(10, kernel=Gaussian(3.0), tol=0, time_budget=1e-9, random_state=0).fit(X)
    assert model.n_iter_ == 1 and len(model.inertias_) == 1


@pytest.mark.long
def test_hundred_thousand_points():
    X, y = make_blobs(100_000, 3, centers=6, cluster_std=0.5, random_state=2)
    model = KernelKMeans(6, kernel=Gaussian(2.0), gram=Nystrom(rank=60), n_init=2, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.99
    assert (np.diff(model.history_) < 0).all()


def test_max_iter_may_be_left_to_the_solver():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = KernelKMeans(3, random_state=0).fit(X)
    assert np.array_equal(KernelKMeans(3, max_iter=None, random_state=0).fit(X).labels_, model.labels_)
