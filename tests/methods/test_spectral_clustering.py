"""Spectral clustering: the definition, scikit-learn's class, kernlab, and new points."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn.cluster import SpectralClustering as Theirs
from sklearn.cluster._spectral import discretize
from sklearn.datasets import make_blobs, make_moons
from sklearn.manifold import spectral_embedding
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph
from threadpoolctl import threadpool_limits

from mercer.gram import Nystrom
from mercer.kernels import Gaussian
from mercer.methods.spectral_clustering import SpectralClustering


def moons(n=300, noise=0.06):
    return make_moons(n, noise=noise, random_state=0)


def normalised(K):
    """The matrix from its definition."""
    A = K - np.diag(np.diag(K))
    root = np.sqrt(A.sum(axis=1))
    return A / np.outer(root, root)


# ---- its eigenvectors


@pytest.mark.parametrize("gram", ["dense", "lazy", Nystrom(rank=200)], ids=str)
@pytest.mark.parametrize("n", [200, 700])  # dense and Krylov
def test_eigenvectors_are_those_of_scikit_learn(n, gram):
    X, _ = moons(n)
    model = SpectralClustering(2, n_components=4, gamma=2.0, gram=gram, random_state=0).fit(X)
    K = Gaussian.from_gamma(2.0)(X)
    values = np.linalg.eigvalsh(normalised(K))[::-1]
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-8)
    theirs = spectral_embedding(K, n_components=4, drop_first=False, random_state=0)
    signs = np.sign(np.sum(theirs * model.embedding_, axis=0))
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(model.embedding_ * signs, theirs, atol=1e-5 * scale)


@pytest.mark.filterwarnings("ignore:SpectralClustering. the graph is not fully connected")
@pytest.mark.parametrize("parts", [1, 3])
def test_sparse_graphs_by_an_lu_decomposition(parts):
    """Also where an eigenvalue of 1 is repeated, once for each part without links."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 2)) + 10 * (np.arange(600) % parts)[:, None]
    fitted = {
        solver: SpectralClustering(
            2, n_components=5, affinity="nearest_neighbors", eigen_solver=solver, random_state=0
        ).fit(X)
        for solver in (None, "krylov", "dense")
    }
    assert [model.spectrum_.method for model in fitted.values()] == ["shift-invert", "krylov", "dense"]
    values = np.linalg.eigvalsh(normalised(fitted["dense"].affinity_matrix_.toarray()))[::-1]
    for model in fitted.values():
        np.testing.assert_allclose(model.eigenvalues_, values[:5], atol=1e-8)
        assert model.spectrum_.residual < 2e-7


# ---- partitions


@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize(
    "options",
    [
        {"gamma": 20.0},
        {"affinity": "laplacian", "gamma": 8.0},
        {"affinity": "nearest_neighbors", "n_neighbors": 8},
    ],
    ids=lambda o: o.get("affinity", "rbf"),
)
def test_partitions_of_scikit_learn(options, assign_labels):
    X, _ = moons()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs speaks of graphs that are not connected
        theirs = Theirs(2, assign_labels=assign_labels, random_state=0, **options).fit_predict(X)
    ours = SpectralClustering(2, assign_labels=assign_labels, random_state=0, **options).fit(X)
    assert adjusted_rand_score(theirs, ours.labels_) > 0.98
    assert adjusted_rand_score(ours.predict(X), ours.labels_) > 0.98


def test_graphs_of_neighbours_have_the_type_of_scikit_learn():
    X, _ = moons()
    options = {"affinity": "nearest_neighbors", "n_neighbors": 12, "random_state": 0}
    theirs, ours = (cls(2, **options).fit(X).affinity_matrix_ for cls in (Theirs, SpectralClustering))
    assert type(ours) is type(theirs)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())


def test_parameters_of_a_kernel():
    X, _ = moons()
    options = {"affinity": "polynomial", "degree": 4, "gamma": 0.3, "coef0": 2.0, "random_state": 0}
    theirs, ours = Theirs(2, **options).fit(X), SpectralClustering(2, **options).fit(X)
    np.testing.assert_allclose(ours.affinity_matrix_, theirs.affinity_matrix_)
    assert adjusted_rand_score(theirs.labels_, ours.labels_) > 0.98


def distance_to_a_rotation(E, labels):
    """min_R ‖(rows of E at unit length) R − indicators of the labels‖²."""
    rows = E / np.linalg.norm(E, axis=0)
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    member = np.eye(E.shape[1])[labels]
    return 2 * (len(E) - np.linalg.svd(member.T @ rows, compute_uv=False).sum())


@pytest.mark.parametrize("k", [2, 3])
def test_best_of_several_rotations(k):
    """The minimum depends on the row that a search starts from, as in scikit-learn; the best start counts."""
    X, _ = moons()
    options = {"affinity": "polynomial", "degree": 4, "gamma": 0.3, "coef0": 2.0, "assign_labels": "discretize"}
    model = SpectralClustering(k, n_init=40, random_state=0, **options).fit(X)
    E = np.array(model.embedding_)
    theirs = [distance_to_a_rotation(E, discretize(E.copy(), random_state=seed)) for seed in range(20)]
    assert max(theirs) > min(theirs) + 0.01
    assert distance_to_a_rotation(E, model.labels_) == pytest.approx(min(theirs))


@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr"])
def test_more_clusters(assign_labels):
    X, _ = make_blobs(400, centers=6, cluster_std=0.7, random_state=5)
    theirs = Theirs(6, assign_labels=assign_labels, random_state=0).fit_predict(X)
    ours = SpectralClustering(6, assign_labels=assign_labels, random_state=0).fit(X)
    assert adjusted_rand_score(theirs, ours.labels_) > 0.98
    assert adjusted_rand_score(ours.labels_, ours.predict(X)) > 0.98


@pytest.mark.parametrize("normalization", ["shi-malik", "ng-jordan-weiss"])
@pytest.mark.parametrize("name", ["specc_blobs3", "specc_rings2"])
def test_equals_kernlab(oracle, name, normalization):
    data = oracle(name)
    model = SpectralClustering(
        data["parameters"]["centers"], gamma=data["parameters"]["sigma"], normalization=normalization, random_state=0
    ).fit(data["inputs"]["X"])
    assert adjusted_rand_score(model.labels_, data["outputs"]["partition"]) == 1


def test_rows_of_unit_length():
    X, _ = moons()
    model = SpectralClustering(2, gamma=5.0, normalization="ng-jordan-weiss", random_state=0).fit(X)
    np.testing.assert_allclose(np.linalg.norm(model.embedding_, axis=1), 1)
    u = np.linalg.eigh(normalised(Gaussian.from_gamma(5.0)(X)))[1][:, :-3:-1]
    rows = u / np.linalg.norm(u, axis=1)[:, None]
    np.testing.assert_allclose(np.abs(model.embedding_), np.abs(rows), atol=1e-8)


@pytest.mark.parametrize("gram", ["dense", "lazy", Nystrom(rank=300)], ids=str)
def test_representations_agree(gram):
    X, y = moons(800)
    model = SpectralClustering(2, gamma=20.0, gram=gram, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, y) > 0.99
    assert adjusted_rand_score(model.predict(X), y) > 0.99


def test_parts_without_links_are_the_clusters():
    A = np.kron(np.eye(3), np.ones((4, 4)))
    for assign_labels in ("kmeans", "discretize", "cluster_qr"):
        model = SpectralClustering(3, affinity="precomputed", assign_labels=assign_labels, random_state=0)
        with pytest.warns(UserWarning, match="not fully connected: it has 3 connected components"):
            model.fit(A)
        assert adjusted_rand_score(model.labels_, np.repeat(range(3), 4)) == 1
        np.testing.assert_allclose(model.eigenvalues_, 1)


@pytest.mark.filterwarnings("ignore:SpectralClustering. the graph is not fully connected")
@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_more_parts_than_clusters(form, assign_labels):
    """Eigenvectors of 1 may be 0 on whole parts; parts are never torn."""
    A = form(np.kron(np.eye(4), np.ones((5, 5))))
    labels = SpectralClustering(2, affinity="precomputed", assign_labels=assign_labels, random_state=0).fit_predict(A)
    assert set(labels) == {0, 1}
    assert (labels.reshape(4, 5) == labels.reshape(4, 5)[:, :1]).all()


def test_precomputed_dense_sparse_and_neighbours():
    X, _ = moons()
    K = Gaussian.from_gamma(20.0)(X)
    K[K < 1e-3] = 0
    direct = SpectralClustering(2, affinity="precomputed", random_state=0).fit(K)
    sparse = SpectralClustering(2, affinity="precomputed", random_state=0).fit(csr_array(K))
    assert adjusted_rand_score(direct.labels_, sparse.labels_) == 1
    rows = K[::7] + 0.0
    np.testing.assert_array_equal(direct.predict(rows), direct.labels_[::7])
    np.testing.assert_array_equal(sparse.predict(csr_array(rows)), sparse.labels_[::7])
    graph = kneighbors_graph(X, 8, mode="distance", include_self=True)
    given = SpectralClustering(2, affinity="precomputed_nearest_neighbors", n_neighbors=8, random_state=0).fit(graph)
    found = SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=8, random_state=0).fit(X)
    assert adjusted_rand_score(given.labels_, found.labels_) == 1


def test_links_to_the_nearest_neighbours_count_both_ways():
    X, _ = moons()
    directed = kneighbors_graph(X, 8, include_self=True)
    expected = SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=8, random_state=0).fit(X)
    for A in (directed, directed.toarray(), directed.toarray().tolist()):
        with pytest.warns(UserWarning, match="not symmetric; the mean of it and its transpose is used"):
            model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(A)
        assert adjusted_rand_score(model.labels_, expected.labels_) == 1
        np.testing.assert_allclose(model.eigenvalues_, expected.eigenvalues_, atol=1e-6)
        affinity = model.affinity_matrix_.toarray() if issparse(A) else model.affinity_matrix_
        np.testing.assert_array_equal(affinity, expected.affinity_matrix_.toarray())


def test_verbose(capsys):
    X, _ = moons(40)
    SpectralClustering(2, random_state=0).fit(X)
    assert capsys.readouterr().out == ""
    model = SpectralClustering(2, random_state=0, n_init=3, verbose=True).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Computing label assignment using kmeans"
    assert lines.count("Initialization complete") == 3
    E, labels = model.embedding_, model.labels_
    inertia = sum(((E[labels == c] - E[labels == c].mean(axis=0)) ** 2).sum() for c in range(2))
    best = lines[1 : lines.index("Initialization complete", 2)]
    assert float(best[-1].partition("inertia ")[2].rstrip(".")) == pytest.approx(inertia, rel=1e-5)


def test_kernels_and_expressions():
    X, _ = moons()
    name = SpectralClustering(2, gamma=20.0, random_state=0).fit(X)
    for affinity in (Gaussian.from_gamma(20.0), f"gaussian(lengthscale={40**-0.5})"):
        model = SpectralClustering(2, affinity=affinity, random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, name.labels_)
    with pytest.raises(ValueError, match="gamma = 3"):
        SpectralClustering(2, affinity=Gaussian(), gamma=3.0).fit(X)


# ---- new points


@pytest.mark.parametrize("normalization", ["shi-malik", "ng-jordan-weiss"])
def test_extension_is_nystroms(normalization):
    X, _ = moons()
    new = X[:20] + 0.05
    kernel = Gaussian.from_gamma(10.0)
    model = SpectralClustering(3, gamma=10.0, normalization=normalization, random_state=0).fit(X)
    K, A = kernel(new, X), kernel(X) - np.eye(len(X))
    d, values = A.sum(axis=1), np.array(model.eigenvalues_)
    u = np.linalg.eigh(normalised(kernel(X)))[1][:, :-4:-1]
    extended = (K / np.sqrt(np.outer(K.sum(axis=1), d))) @ u / values
    rows = extended / np.sqrt(K.sum(axis=1))[:, None]
    if normalization == "ng-jordan-weiss":
        rows = extended / np.linalg.norm(extended, axis=1)[:, None]
        embedding = u / np.linalg.norm(u, axis=1)[:, None]
    else:
        embedding = u / np.sqrt(d)[:, None]
    centres = np.array([embedding[model.labels_ == c].mean(axis=0) for c in range(3)])
    nearest = ((rows[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
    np.testing.assert_array_equal(model.predict(new), nearest)


def test_extension_without_the_point_itself_is_its_row():
    """Σ_{j ≠ i} k(xᵢ, xⱼ)eⱼ / (λdᵢ) = eᵢ: the sums of `function_` less their own term."""
    X, _ = moons(150)
    model = SpectralClustering(3, gamma=5.0, random_state=0).fit(X)
    sums = model.function_(X)
    own = np.column_stack([np.ones(150), model.embedding_ / model.eigenvalues_])
    rest = sums - own  # k(x, x) = 1
    np.testing.assert_allclose(rest[:, 1:] / rest[:, :1], model.embedding_, atol=1e-10)


def test_fitted_again_with_another_affinity():
    X, _ = moons()
    model = SpectralClustering(2, gamma=20.0, random_state=0).fit(X)
    model.set_params(gram="lazy").fit(X[::2])
    assert not hasattr(model, "affinity_matrix_")
    model.set_params(affinity="nearest_neighbors", n_neighbors=8).fit(X)
    fresh = SpectralClustering(2, gamma=20.0, affinity="nearest_neighbors", n_neighbors=8, random_state=0).fit(X)
    assert not hasattr(model, "function_")
    np.testing.assert_array_equal(model.predict(X + 0.02), fresh.predict(X + 0.02))


# ---- points without affinity


def test_isolated_points():
    X, y = moons()
    X = np.vstack([X, [[1e3, 1e3], [-1e3, 1e3]]])
    with pytest.warns(UserWarning, match="2 samples have no affinity to any other"):
        model = SpectralClustering(2, gamma=20.0, random_state=0).fit(X)
    assert (model.labels_[-2:] == -1).all() and (model.embedding_[-2:] == 0).all()
    assert adjusted_rand_score(model.labels_[:-2], y) > 0.98
    np.testing.assert_array_equal(model.predict([[5e3, 0.0], X[0]]), [-1, model.labels_[0]])


def test_isolated_vertices_of_a_sparse_graph():
    A = np.zeros((9, 9))
    A[:4, :4] = A[4:8, 4:8] = 1
    with pytest.warns(UserWarning, match="1 samples"), pytest.warns(UserWarning, match="not fully.* 2 connected"):
        labels = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(csr_array(A))
    assert labels[8] == -1 and adjusted_rand_score(labels[:8], np.repeat([0, 1], 4)) == 1
    with pytest.raises(ValueError, match="only 0 of 5 samples have affinity"):
        SpectralClustering(2, affinity="precomputed").fit(np.eye(5))


def test_one_cluster():
    X, _ = moons(60)
    model = SpectralClustering(1).fit(X)
    assert (model.labels_ == 0).all() and (model.predict(X) == 0).all()


# ---- bad input


@pytest.mark.parametrize("gram", ["dense", "lazy", "low_rank"])
def test_negative_affinities(gram):
    X = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(ValueError, match="affinities must be >= 0"):
        SpectralClustering(2, affinity="linear", gram=gram).fit(X)


def test_negative_precomputed():
    A = np.ones((6, 6))
    A[0, 1] = A[1, 0] = -0.5
    for matrix in (A, csr_array(A)):
        with pytest.raises(ValueError, match=r"an affinity or a row sum is -0.5"):
            SpectralClustering(2, affinity="precomputed").fit(matrix)
    A[0, 1] = 0.5
    for matrix in (A, csr_array(A)):  # the mean of both entries would be 0
        with pytest.raises(ValueError, match=r"not symmetric|an affinity or a row sum is -0.5"):
            SpectralClustering(2, affinity="precomputed").fit(matrix)
    for matrix in (A[:4], csr_array(A[:4])):
        with pytest.raises(ValueError, match=r"has shape \(4, 6\); it must be square"):
            SpectralClustering(2, affinity="precomputed").fit(matrix)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_clusters": 0}, "n_clusters = 0 must be >= 1"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
        ({"n_init": 0}, "n_init = 0 must be >= 1"),
        ({"n_components": 0}, "n_components = 0 must be >= 1"),
        ({"n_components": 3, "assign_labels": "discretize"}, "n_components = 3 must be n_clusters = 2"),
        ({"assign_labels": "guess"}, "assign_labels = 'guess' is unknown"),
        ({"eigen_solver": "magic"}, "eigen_solver = 'magic' is unknown"),
        ({"normalization": "none"}, "normalization = 'none' is unknown"),
        ({"eigen_tol": -1.0}, "eigen_tol = -1.0 must be >= 0"),
        ({"affinity": "nearest_neighbors", "n_neighbors": 40}, "n_neighbors = 40 exceeds the 30 samples"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        SpectralClustering(**{"n_clusters": 2, **options}).fit(np.random.default_rng(0).normal(size=(30, 2)))


def test_parameters_and_defaults_are_scikit_learns():
    theirs = Theirs().get_params()
    ours = SpectralClustering().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert set(ours) - set(theirs) == {"normalization", "gram", "time_budget"}


# ---- rounding does not choose


def path(n):
    return np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)


def ring(n):
    return path(n) + np.eye(n, k=n - 1) + np.eye(n, k=1 - n)


REPEATED = {
    "grid": np.kron(np.eye(12), path(12)) + np.kron(path(12), np.eye(12)),
    "torus": np.kron(np.eye(12), ring(12)) + np.kron(ring(12), np.eye(12)),
    "ring": ring(90),
    "cliques": np.kron(np.eye(8), np.ones((12, 12))),
    "complete": np.ones((70, 70)),
}


@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("graph", REPEATED)
@pytest.mark.filterwarnings("ignore:.*not fully connected")
def test_rounding_does_not_choose_among_equal_eigenvectors(graph, assign_labels):
    A, noise = REPEATED[graph], np.random.default_rng(1)
    assert np.array_equal(A, A.T)
    model = SpectralClustering(5, affinity="precomputed", assign_labels=assign_labels, random_state=0, n_init=3)
    expected = model.fit(A).labels_
    for _ in range(3):
        change = np.triu(noise.integers(-1, 2, size=A.shape))
        found = model.fit(A * (1 + 2.0**-52 * (change + change.T))).labels_
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr"])
def test_labels_do_not_depend_on_the_threads_of_blas(assign_labels):
    A = np.kron(np.eye(18), path(18)) + np.kron(path(18), np.eye(18))
    model = SpectralClustering(5, affinity="precomputed", assign_labels=assign_labels, random_state=0)
    labels = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            labels.append(model.fit(A).labels_)
    np.testing.assert_array_equal(*labels)


def test_one_cluster_of_samples_without_affinity() -> None:
    with pytest.warns(UserWarning, match="have no affinity to any other"):
        model = SpectralClustering(1, affinity=Gaussian(1e-3)).fit(np.arange(5.0)[:, None])
    assert model.predict(np.array([[100.0]])).shape == (1,)


@pytest.mark.parametrize("e", [-1000, 990])
@pytest.mark.parametrize("assign_labels", ["kmeans", "discretize", "cluster_qr"])
@pytest.mark.parametrize("normalization", ["shi-malik", "ng-jordan-weiss"])
def test_affinities_in_any_unit(normalization, assign_labels, e):
    X, _ = moons(80)
    near, far = (
        SpectralClustering(
            3, affinity=unit * Gaussian(0.2), assign_labels=assign_labels, normalization=normalization, random_state=0
        ).fit(X)
        for unit in (1.0, 2.0**e)
    )
    np.testing.assert_array_equal(far.labels_, near.labels_)
    np.testing.assert_array_equal(far.predict(X + 0.01), near.predict(X + 0.01))
    scale = -e // 2 if normalization == "shi-malik" else 0
    np.testing.assert_allclose(np.ldexp(far.embedding_, -scale), near.embedding_, atol=1e-9)


@pytest.mark.parametrize("e", [-600, 1000])
def test_neighbours_of_points_in_any_unit(e):
    X, _ = moons(80)
    near, far = (
        SpectralClustering(2, affinity="nearest_neighbors", random_state=0).fit(np.ldexp(X, k)) for k in (0, e)
    )
    np.testing.assert_array_equal(far.labels_, near.labels_)
    np.testing.assert_array_equal(far.predict(np.ldexp(X + 0.01, e)), near.predict(X + 0.01))
    assert (far.affinity_matrix_ != near.affinity_matrix_).nnz == 0
