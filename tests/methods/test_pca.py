"""Kernel PCA against scikit-learn, PCA, classical scaling, kernlab and its own definition."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import pairwise_kernels

from mercer import IndefiniteKernelWarning
from mercer._array import host
from mercer.gram import IncompleteCholesky, Nystrom, RandomFeatures
from mercer.gram.packed import Packed
from mercer.kernels import Delta, Gaussian, Polynomial, Power
from mercer.methods.pca import KernelPCA
from mercer.preimage import FixedPoint
from mercer.solvers.eigen import BlockKrylov

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) @ RNG.normal(size=(4, 4))
NEW = RNG.normal(size=(9, 4))
SETTINGS = {
    "linear": {},
    "rbf": {"kernel": "rbf"},
    "rbf gamma": {"kernel": "rbf", "gamma": 0.05},
    "poly": {"kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 0.5},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.001, "coef0": 0.1},
    "cosine": {"kernel": "cosine"},
    "callable": {"kernel": lambda x, y, c=1.0: np.exp(-c * np.sum((x - y) ** 2)), "kernel_params": {"c": 0.1}},
}


def features(K):
    """K̃ = HKH, by its definition."""
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


# ---- scikit-learn


@pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("n_components", [3, None])
@pytest.mark.parametrize("solver", ["auto", "dense", "arpack", "randomized"])
def test_drop_in(name, n_components, solver):
    if n_components is None and solver in ("arpack", "randomized"):
        pytest.skip("scikit-learn's has no such combination")
    if n_components is None and name == "sigmoid":
        pytest.skip("refused by both: test_indefinite_is_refused")
    common = {"n_components": n_components, "eigen_solver": solver, "random_state": 0, **SETTINGS[name]}
    iterated = {"iterated_power": 30} if solver == "randomized" else {}
    theirs, mine = Theirs(**common, **iterated).fit(X), KernelPCA(**common).fit(X)
    largest = theirs.eigenvalues_[0]
    assert mine.eigenvalues_.shape == theirs.eigenvalues_.shape
    np.testing.assert_allclose(mine.eigenvalues_, theirs.eigenvalues_, atol=1e-9 * largest)
    k = min(3, len(mine.eigenvalues_))  # the later vectors of a whole spectrum are those of near-equal eigenvalues
    np.testing.assert_allclose(mine.eigenvectors_[:, :k], theirs.eigenvectors_[:, :k], atol=1e-6)
    np.testing.assert_allclose(mine.transform(NEW)[:, :k], theirs.transform(NEW)[:, :k], atol=1e-6 * np.sqrt(largest))
    np.testing.assert_allclose(clone(mine).fit_transform(X)[:, :k], mine.transform(X)[:, :k], atol=1e-9 * largest**0.5)
    np.testing.assert_array_equal(mine.X_fit_, X)
    assert mine.gamma_ == theirs.gamma_
    assert list(mine.get_feature_names_out()) == list(theirs.get_feature_names_out())


@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "cosine"])
@pytest.mark.parametrize("n_components", [2, None])
def test_drop_in_inverse(name, n_components):
    common = {"n_components": n_components, "fit_inverse_transform": True, "alpha": 0.3, **SETTINGS[name]}
    theirs, mine = Theirs(**common).fit(X), KernelPCA(**common).fit(X)
    np.testing.assert_allclose(np.abs(mine.X_transformed_fit_), np.abs(theirs.X_transformed_fit_), atol=1e-6)
    np.testing.assert_allclose(
        mine.inverse_transform(mine.transform(NEW)), theirs.inverse_transform(theirs.transform(NEW)), atol=1e-7
    )
    assert mine.dual_coef_.shape == theirs.dual_coef_.shape
    if n_components == 2:
        np.testing.assert_allclose(mine.dual_coef_, theirs.dual_coef_, atol=1e-7)


@pytest.mark.parametrize("n_components", [5, None])
@pytest.mark.parametrize("remove_zero_eig", [False, True])
def test_drop_in_directions_without_variance(n_components, remove_zero_eig):
    low = X[:, :2] @ RNG.normal(size=(2, 4))
    common = {"n_components": n_components, "remove_zero_eig": remove_zero_eig}
    theirs, mine = Theirs(**common).fit(low), KernelPCA(**common).fit(low)
    assert mine.transform(NEW).shape == theirs.transform(NEW).shape
    np.testing.assert_allclose(mine.eigenvalues_, theirs.eigenvalues_, atol=1e-9 * theirs.eigenvalues_[0])
    np.testing.assert_allclose(mine.transform(low)[:, 2:], 0)


def test_drop_in_sparse_and_precomputed():
    S = csr_array(np.where(np.abs(X) > 1, X, 0.0))
    for kernel in ("linear", "rbf", "poly"):
        np.testing.assert_allclose(
            KernelPCA(3, kernel=kernel).fit(S).transform(S[:5]),
            Theirs(3, kernel=kernel).fit(S).transform(S[:5]),
            atol=1e-9,
        )
    K, rows = Gaussian()(X), Gaussian()(NEW, X)
    mine = KernelPCA(3, kernel="precomputed").fit(K)
    np.testing.assert_allclose(
        mine.transform(rows), Theirs(3, kernel="precomputed").fit(K.copy()).transform(rows), atol=1e-9
    )
    np.testing.assert_allclose(mine.transform(rows), KernelPCA(3, kernel=Gaussian()).fit(X).transform(NEW), atol=1e-9)


@pytest.mark.parametrize("name", ["laplacian", "chi2", "additive_chi2"])
def test_the_other_pairwise_kernels_of_scikit_learn(name):
    A, B = np.abs(X), np.abs(NEW)
    theirs = Theirs(3, kernel="precomputed").fit(pairwise_kernels(A, metric=name))
    np.testing.assert_allclose(
        KernelPCA(3, kernel=name).fit(A).transform(B), theirs.transform(pairwise_kernels(B, A, metric=name)), atol=1e-8
    )


def test_single_precision_stays_single():
    mine, theirs = (
        KernelPCA(3, kernel="rbf").fit(X.astype(np.float32)),
        Theirs(3, kernel="rbf").fit(X.astype(np.float32)),
    )
    assert mine.transform(NEW.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(mine.eigenvalues_, theirs.eigenvalues_, rtol=1e-5)


# ---- ancestors and other software


@pytest.mark.parametrize("gram", ["dense", "lazy", "low_rank", "auto"])
def test_linear_kernel_is_pca(gram):
    theirs, mine = PCA(3).fit(X), KernelPCA(3, gram=gram).fit(X)
    signs = np.sign(np.sum(theirs.transform(X) * mine.transform(X), axis=0))
    np.testing.assert_allclose(mine.transform(NEW), theirs.transform(NEW) * signs, atol=1e-7)
    np.testing.assert_allclose(mine.explained_variance_, theirs.explained_variance_)
    np.testing.assert_allclose(mine.explained_variance_ratio_, theirs.explained_variance_ratio_)
    assert mine.total_variance_ == pytest.approx(X.var(axis=0, ddof=1).sum())
    rest = NEW - theirs.inverse_transform(theirs.transform(NEW))
    np.testing.assert_allclose(mine.reconstruction_error(NEW), np.sum(rest**2, axis=1), atol=1e-9)


KERNLAB = {
    "kpca_linear_iris22": lambda p: "linear",
    "kpca_poly_iris30": lambda p: Polynomial(degree=p["degree"], scale=p["scale"], offset=p["offset"]),
    "kpca_rbf_iris40": lambda p: Gaussian.from_gamma(p["sigma"]),
}


@pytest.mark.parametrize("name", KERNLAB)
def test_kernlab(oracle, name):
    """Its eigenvalues are λ/n, its components of norm √n, its scores √n times ours."""
    case = oracle(name)
    A, out = case["inputs"]["X"], case["outputs"]
    n, k = len(A), case["parameters"]["features"]
    mine = KernelPCA(k, kernel=KERNLAB[name](case["parameters"])).fit(A)
    np.testing.assert_allclose(mine.eigenvalues_ / n, out["eig"], rtol=1e-9)
    signs = np.sign(np.sum(mine.eigenvectors_ * out["pcv"], axis=0))
    np.testing.assert_allclose(
        mine.eigenvectors_ * signs / np.sqrt(mine.eigenvalues_ / n), out["pcv"], rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(mine.transform(A) * signs * np.sqrt(n), out["rotated"], rtol=1e-7, atol=1e-8)
    if "predict" in out:
        new = case["inputs"]["Xnew"]
        np.testing.assert_allclose(mine.transform(new) * signs * np.sqrt(n), out["predict"], rtol=1e-7, atol=1e-8)


def test_distances_alone_are_classical_scaling():
    """−d²/2 of Euclidean distances gives the principal coordinates, and Gower's formula new points."""
    D, rows = cdist(X, X, "sqeuclidean"), cdist(NEW, X, "sqeuclidean")
    mine, theirs = KernelPCA(3, kernel="precomputed").fit(-D / 2), PCA(3).fit(X)
    signs = np.sign(np.sum(theirs.transform(X) * mine.fit_transform(-D / 2), axis=0))
    np.testing.assert_allclose(mine.transform(-rows / 2), theirs.transform(NEW) * signs, atol=1e-8)
    Y = mine.fit_transform(-D / 2)
    gower = (np.diag(features(-D / 2))[None] - rows) @ Y / mine.eigenvalues_ / 2
    np.testing.assert_allclose(mine.transform(-rows / 2), gower - gower_centre(D, Y, mine), atol=1e-9)
    rest = NEW - theirs.inverse_transform(theirs.transform(NEW))
    np.testing.assert_allclose(
        mine.reconstruction_error(-rows / 2, diagonal=np.zeros(9)), np.sum(rest**2, axis=1), atol=1e-9
    )


def gower_centre(D, Y, mine):
    """Σᵢ bᵢᵢ yᵢ is the only term of Gower's formula that is the same for all points; 0 as columns of Y sum to 0."""
    return np.full(len(D), np.diag(features(-D / 2)).mean()) @ Y / mine.eigenvalues_ / 2


def test_conditionally_positive_kernel_of_points():
    """−‖x − y‖ is the kernel of a metric space of negative type: features reproduce √distances."""
    kernel = Power(1.0)
    pca = KernelPCA(kernel=kernel).fit(X)
    Y = pca.transform(X)
    factor = -kernel(np.zeros((1, 4)), np.eye(4)[:1])[0, 0]
    np.testing.assert_allclose(cdist(Y, Y, "sqeuclidean") / 2, factor * cdist(X, X), atol=1e-6)
    np.testing.assert_allclose(pca.function_.norm(), 1, atol=1e-6)
    np.testing.assert_allclose(pca.reconstruction_error(X), 0, atol=1e-8)


# ---- the definition

REPRESENTATIONS = {
    "dense": "dense",
    "lazy": "lazy",
    "packed": Packed(),
    "nystrom": Nystrom(rank=30),
    "cholesky": IncompleteCholesky(rank=25),
}


@pytest.mark.parametrize("gram", REPRESENTATIONS.values(), ids=REPRESENTATIONS)
def test_components_are_orthonormal_functions_of_largest_variance(gram):
    pca = KernelPCA(4, kernel=Gaussian(2.0), gram=gram, random_state=0).fit(X)
    f = pca.function_
    G = f.coefficients.T @ f.kernel(f.points) @ f.coefficients
    np.testing.assert_allclose(G, np.eye(4), atol=1e-6)
    Z = pca.transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-8)
    np.testing.assert_allclose(Z.T @ Z, np.diag(pca.eigenvalues_), atol=1e-6)
    np.testing.assert_allclose(pca.offset_, [pca.mean_.inner(f[j]) for j in range(4)], atol=1e-9)


@pytest.mark.parametrize("gram", REPRESENTATIONS.values(), ids=REPRESENTATIONS)
def test_reconstruction_error_by_brute_force(gram):
    """‖φ(x) − μ − Σ zⱼ fⱼ‖², expanded over all points; the projection has these coefficients."""
    pca = KernelPCA(3, kernel=Gaussian(2.0), gram=gram, random_state=0).fit(X)
    projection = pca.project(NEW)
    P, C = projection.points, projection.coefficients
    K = pca.kernel_
    brute = [K(x[None])[0, 0] - 2 * (K(x[None], P) @ C[:, i])[0] + C[:, i] @ K(P) @ C[:, i] for i, x in enumerate(NEW)]
    np.testing.assert_allclose(pca.reconstruction_error(NEW), brute, atol=1e-7)


def test_variance_adds_up():
    pca = KernelPCA(kernel="rbf").fit(X)
    trace = np.trace(features(np.exp(-cdist(X, X, "sqeuclidean") / 4)))
    assert pca.total_variance_ == pytest.approx(trace / 59)
    assert pca.explained_variance_ratio_.sum() == pytest.approx(1)
    few = KernelPCA(3, kernel="rbf").fit(X)
    np.testing.assert_allclose(few.explained_variance_, pca.explained_variance_[:3])
    left = pca.total_variance_ - few.explained_variance_.sum()
    assert few.reconstruction_error(X).sum() / 59 == pytest.approx(left)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_many_samples_go_by_products(dtype):
    A = np.random.default_rng(1).normal(size=(1100, 5)).astype(dtype)
    pca = KernelPCA(4, kernel=Gaussian(2.0), eigen_solver="krylov", random_state=0).fit(A)
    assert pca.gram_choice_.startswith("Packed") and pca.spectrum_.method == "krylov"
    values = np.linalg.eigvalsh(features(np.exp(-cdist(A, A, "sqeuclidean").astype(float) / 8)))[::-1][:4]
    np.testing.assert_allclose(pca.eigenvalues_, values, rtol=1e-9 if dtype is np.float64 else 1e-5)
    np.testing.assert_allclose(
        pca.transform(A[:7]), pca.fit_transform(A)[:7], atol=1e-6 if dtype is np.float64 else 1e-3
    )


@pytest.mark.parametrize("gram", ["dense", "lazy", Nystrom(landmarks=X[:20])], ids=str)
def test_array_libraries(xp, gram):
    if isinstance(gram, Nystrom):
        gram = Nystrom(landmarks=xp.asarray(X[:20]))
    A, B = xp.asarray(X), xp.asarray(NEW)
    pca = KernelPCA(3, kernel=Gaussian(2.0), gram=gram).fit(A)
    assert isinstance(pca.transform(B), type(A)) and isinstance(pca.eigenvalues_, type(A))
    numpy = KernelPCA(3, kernel=Gaussian(2.0), gram=gram if isinstance(gram, str) else Nystrom(landmarks=X[:20])).fit(X)
    np.testing.assert_allclose(host(pca.transform(B)), numpy.transform(NEW), atol=1e-8)
    np.testing.assert_allclose(host(pca.reconstruction_error(B)), numpy.reconstruction_error(NEW), atol=1e-8)


def test_solver_object_is_taken_as_it_is():
    assert KernelPCA(2, eigen_solver=BlockKrylov(oversample=1)).fit(X).spectrum_.method == "krylov"


def test_any_domain():
    pca = KernelPCA(2, kernel=Delta()).fit([["a"], ["b"], ["a"], ["c"], ["b"], ["a"]])
    Z = pca.transform([["a"], ["c"]])
    assert Z.shape == (2, 2) and pca.total_variance_ == pytest.approx(1 / 5 * (6 - (9 + 4 + 1) / 6))


# ---- back to the inputs


def test_denoise_is_the_preimage_of_the_projection():
    t = np.random.default_rng(3).uniform(0, 2 * np.pi, 200)
    circle = np.stack([np.cos(t), np.sin(t)], axis=1)
    noisy = circle + 0.15 * np.random.default_rng(4).normal(size=circle.shape)
    pca = KernelPCA(4, kernel=Gaussian(1.0)).fit(noisy)
    clean = pca.denoise(noisy)
    radius = [np.abs(np.linalg.norm(A, axis=1) - 1).mean() for A in (noisy, clean)]
    assert radius[1] < 0.5 * radius[0]
    found = FixedPoint().find(pca.project(noisy), noisy)
    np.testing.assert_allclose(pca.denoise(noisy, FixedPoint()), found.points, atol=1e-8)
    low = KernelPCA(4, kernel=Gaussian(1.0), gram=Nystrom(rank=100), random_state=0).fit(noisy)
    np.testing.assert_allclose(low.denoise(noisy), clean, atol=1e-2)


# ---- streams


@pytest.mark.parametrize("gram", [Nystrom(rank=12), IncompleteCholesky(rank=12)], ids=str)
@pytest.mark.parametrize("cuts", [[20], [20, 21, 40], [30, 59]], ids=str)
@pytest.mark.parametrize("n_components", [3, None])
def test_batches_are_one_fit_with_the_same_landmarks(gram, cuts, n_components):
    stream = KernelPCA(n_components, kernel=Gaussian(2.0), gram=gram, random_state=0)
    for batch in np.split(X, cuts):
        stream.partial_fit(batch)
    whole = KernelPCA(n_components, kernel=Gaussian(2.0), gram=Nystrom(landmarks=stream.function_.points)).fit(X)
    np.testing.assert_allclose(stream.eigenvalues_, whole.eigenvalues_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(stream.explained_variance_ratio_, whole.explained_variance_ratio_, atol=1e-10)
    assert stream.total_variance_ == pytest.approx(whole.total_variance_, rel=1e-10)
    assert stream.n_samples_seen_ == 60 and not hasattr(stream, "eigenvectors_")
    A, B = stream.transform(NEW)[:, :3], whole.transform(NEW)[:, :3]
    np.testing.assert_allclose(A * np.sign(np.sum(A * B, axis=0)), B, atol=1e-10)
    np.testing.assert_allclose(stream.reconstruction_error(NEW), whole.reconstruction_error(NEW), atol=1e-10)
    if n_components:
        np.testing.assert_allclose(stream.denoise(NEW, FixedPoint()), whole.denoise(NEW, FixedPoint()), atol=1e-5)


def test_stream_goes_on_from_a_fit():
    gram = Nystrom(landmarks=X[:15])
    one = KernelPCA(3, kernel=Gaussian(2.0), gram=gram).fit(X)
    two = KernelPCA(3, kernel=Gaussian(2.0), gram=gram).fit(X[:25]).partial_fit(X[25:])
    np.testing.assert_allclose(two.eigenvalues_, one.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(two.fit(X).eigenvalues_, one.eigenvalues_)  # a fit starts anew
    assert two.n_samples_seen_ == 60


def test_memory_of_a_stream_does_not_grow():
    stream = KernelPCA(3, kernel=Gaussian(2.0), gram=Nystrom(rank=10), random_state=0)
    sizes = [len(pickle.dumps(stream.partial_fit(RNG.normal(size=(500, 4))))) for _ in range(6)]
    assert max(sizes) - min(sizes) < 64
    assert max(sizes) < 8 * (3 * 10**2 + 10 * 4 + 10 * 8) + 4000


def test_who_has_no_stream():
    for gram in ("auto", "dense", "lazy", RandomFeatures()):
        assert not hasattr(KernelPCA(2, gram=gram), "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        KernelPCA(2).partial_fit(X)
    assert "Use Nystrom or IncompleteCholesky" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match="needs all samples at once"):
        KernelPCA(2, gram="nystrom", fit_inverse_transform=True).partial_fit(X)


# ---- bad input


def test_indefinite_is_refused():
    K = np.diag(np.r_[np.ones(10), -np.ones(10)])
    with pytest.raises(ValueError, match="it is indefinite"):
        KernelPCA(kernel="precomputed").fit(K)
    with pytest.raises(ValueError, match="it is indefinite"):
        KernelPCA(3, kernel="precomputed").fit(-features(Gaussian()(X)))
    warned = pytest.warns(IndefiniteKernelWarning, match="do not lie in a feature space")
    with warned, pytest.raises(ValueError, match="indefinite"):
        KernelPCA(kernel="sigmoid", gamma=1.0).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 0}, "n_components = 0"),
        ({"alpha": -1.0}, "alpha = -1.0"),
        ({"tol": -1.0}, "tol = -1.0"),
        ({"max_iter": 0}, "max_iter = 0"),
        ({"eigen_solver": "lanczos"}, "eigen_solver = 'lanczos'"),
        ({"iterated_power": -1}, "iterated_power = -1 must be >= 0, or 'auto'"),
        ({"iterated_power": "a"}, "iterated_power = 'a' must be an integer >= 0, or 'auto'"),
        ({"kernel": Gaussian(), "gamma": 2.0}, "gamma = 2.0 does not apply to kernel"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(**parameters).fit(X)


def test_no_way_back():
    with pytest.raises(NotFittedError, match="denoise"):
        KernelPCA(2).fit(X).inverse_transform(np.ones((1, 2)))
    with pytest.raises(ValueError, match="needs samples that are vectors"):
        KernelPCA(2, kernel="precomputed", fit_inverse_transform=True).fit(X @ X.T)
    with pytest.raises(NotImplementedError, match="toarray"):
        KernelPCA(2, fit_inverse_transform=True).fit(csr_array(X))
    with pytest.raises(ValueError, match="diagonal = None"):
        KernelPCA(2, kernel="precomputed").fit(X @ X.T).reconstruction_error(NEW @ X.T)


def test_constants_of_rows_and_columns_do_not_matter():
    """Centring takes them away from the sample and from new points, as in scikit-learn; other asymmetry is refused."""
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(12, 3)), rng.normal(size=(5, 3))
    rows, columns, of_new = rng.normal(size=12), rng.normal(size=12), rng.normal(size=5)
    K, K_new = Gaussian()(X) + rows[:, None] + columns, Gaussian()(new, X) + of_new[:, None] + columns
    mine, theirs = (cls(3, kernel="precomputed").fit(K) for cls in (KernelPCA, Theirs))
    np.testing.assert_allclose(mine.eigenvalues_, theirs.eigenvalues_)
    np.testing.assert_allclose(mine.transform(K), theirs.transform(K), atol=1e-12)
    np.testing.assert_allclose(mine.transform(K_new), theirs.transform(K_new), atol=1e-12)
    np.testing.assert_allclose(mine.transform(K_new), KernelPCA(3, kernel=Gaussian()).fit(X).transform(new), atol=1e-12)
    with pytest.raises(ValueError, match="the training matrix is not symmetric"):
        KernelPCA(3, kernel="precomputed").fit(K + 0.1 * rng.normal(size=K.shape))


def test_no_directions_without_variance(xp):
    """Of equal samples nothing is kept, as in scikit-learn, unless components are asked for by number."""
    equal = xp.asarray(np.full((5, 2), 7.0))
    for options in ({}, {"n_components": 2, "remove_zero_eig": True}, {"gram": Nystrom(rank=2), "random_state": 0}):
        pca = KernelPCA(kernel="rbf", **options)
        assert tuple(pca.fit_transform(equal).shape) == tuple(pca.transform(equal).shape) == (5, 0)
        assert host(pca.eigenvalues_).shape == (0,) and len(pca.get_feature_names_out()) == 0
        np.testing.assert_allclose(host(pca.reconstruction_error(equal)), 0, atol=1e-12)
    with pytest.raises(ValueError, match="the samples are all equal"):
        KernelPCA(fit_inverse_transform=True).fit(np.ones((4, 2)))


@pytest.mark.parametrize("n_samples", [1, 2, 5, 300, 600])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "power"])
@pytest.mark.filterwarnings("ignore:.*BlockKrylov stopped")
def test_samples_that_are_all_equal(n_samples, dtype, name):
    """No variance is found, and none that rounding has made negative is refused."""
    equal = np.full((n_samples, 2), 7.3, dtype)
    pca = KernelPCA(2, kernel=name, random_state=0).fit(equal)
    size = n_samples**1.5 * np.finfo(dtype).eps * np.abs(pca.kernel_(equal)).max()
    np.testing.assert_allclose(pca.eigenvalues_, 0, atol=4 * size)
    assert 0 <= pca.total_variance_ <= 4 * size


def test_trace_of_samples_far_from_the_origin():
    """The factor is centred before it is squared, so that shares of the variance keep their digits."""
    shares = KernelPCA(2, gram="low_rank").fit(X).explained_variance_ratio_
    np.testing.assert_allclose(KernelPCA(2, gram="low_rank").fit(X + 1e6).explained_variance_ratio_, shares, rtol=1e-8)


@pytest.mark.filterwarnings("ignore:.*BlockKrylov stopped")  # what is left is rounding
def test_products_of_samples_without_variance():
    model = KernelPCA(2, kernel="gaussian", gram="lazy", eigen_solver="krylov", random_state=0)
    np.testing.assert_allclose(model.fit_transform(np.zeros((30, 2))), 0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (np.ones((3, 1)), "X has 1 features, but 2 components were found"),
        (np.full((3, 2), np.nan), "X contains NaN at row 0, column 0"),
        (np.ones(2), r"X has shape \(2,\), expected"),
        ("data.csv", "X = 'data.csv', expected numbers"),
    ],
    ids=str,
)
def test_features_that_have_no_inverse(features, words):
    model = KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(np.random.default_rng(0).normal(size=(9, 3)))
    with pytest.raises(ValueError, match=f"^KernelPCA: {words}"):
        model.inverse_transform(features)
