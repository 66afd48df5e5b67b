"""Learned combinations of kernels: joint problems by brute force, definitions by generic solvers, any estimator."""

import pickle
import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC as Reference
from sklearn.svm import SVR as ReferenceSVR

from mercer import (
    SVC,
    SVR,
    ImportVectorMachine,
    KernelCCA,
    KernelDimensionReduction,
    KernelFisher,
    KernelICA,
    KernelKMeans,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelPLS,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeCV,
    LeastSquaresSVC,
    LinearSVC,
    MultitaskSVC,
    NuSVC,
    OneClassSVM,
)
from mercer.gram import Auto, LowRank, Nystrom
from mercer.kernels import Callable, Constant, FiniteDomain, Gaussian, Linear
from mercer.kernels.text import BagOfWords
from mercer.methods.multiple import MultipleKernel
from mercer.selection.alignment import alignment

TWO = [Gaussian(1.0).on([0]), Gaussian(1.0).on([1])]
METHODS = ["uniform", "align", "alignf", "consensus", "simplemkl", "lp", "easymkl"]


def sample(n=60, seed=0):
    """Labels and numbers that the first column says most of, the second a little, and the third nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = X[:, 0] ** 2 - 1 + 0.5 * np.sin(2 * X[:, 1])
    return X, f + 0.2 * rng.normal(size=n) > 0, f + 0.2 * rng.normal(size=n)


def normalised_matrices(X, kernels=TWO):
    """Gram matrices divided by the variance of the sample in the space, by definition."""
    H = np.eye(len(X)) - 1 / len(X)
    return [k(X) / (np.trace(H @ k(X) @ H) / len(X)) for k in kernels]


def least_over_weights(objective):
    """The weight t of the first of two kernels, 1 − t of the second, with the least objective."""
    found = minimize_scalar(objective, bounds=(0, 1), method="bounded", options={"xatol": 1e-7})
    return found.x, found.fun


# ---- SimpleMKL: the least of the estimator's objective over the simplex


def svc_dual(K, y, C):
    model = Reference(C=C, kernel="precomputed", tol=1e-8).fit(K, y)
    b = model.dual_coef_[0]
    return np.abs(b).sum() - b @ K[np.ix_(model.support_, model.support_)] @ b / 2


def svr_dual(K, y, C):
    model = ReferenceSVR(C=C, kernel="precomputed", tol=1e-8, epsilon=0.1).fit(K, y)
    b = model.dual_coef_[0]
    value = y[model.support_] @ b - 0.1 * np.abs(b).sum()
    return value - b @ K[np.ix_(model.support_, model.support_)] @ b / 2


def ridge_objective(K, y, alpha):
    return alpha / 2 * y @ np.linalg.solve(K + alpha * np.eye(len(K)), y)


def logistic_objective(K, y, C):
    """½‖f‖² + C Σ log(1 + exp(−y(f + b))), in coefficients of an orthonormal basis of the space."""
    values, V = np.linalg.eigh(K)
    Z = V[:, values > 1e-12] * np.sqrt(values[values > 1e-12])
    Z, s = np.column_stack([Z, np.ones(len(y))]), np.where(y, 1.0, -1.0)

    def loss(w):
        margin = s * (Z @ w)
        g = -C * Z.T @ (s * expit(-margin))
        return w[:-1] @ w[:-1] / 2 + C * np.logaddexp(0, -margin).sum(), g + np.append(w[:-1], 0)

    return minimize(loss, np.zeros(Z.shape[1]), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}).fun


@pytest.mark.parametrize(
    ("estimator", "objective", "classes"),
    [
        (SVC(C=2.0, tol=1e-7), lambda K, y: svc_dual(K, y, 2.0), True),
        (SVR(C=2.0, epsilon=0.1, tol=1e-7), lambda K, y: svr_dual(K, y, 2.0), False),
        (KernelRidge(alpha=0.3), lambda K, y: ridge_objective(K, y, 0.3), False),
        (KernelLogisticRegression(alpha=0.5), lambda K, y: logistic_objective(K, y, 2.0), True),
    ],
    ids=["SVC", "SVR", "ridge", "logistic"],
)
def test_simplemkl_minimises_the_objective_of_the_estimator(estimator, objective, classes) -> None:
    X, labels, numbers = sample()
    y = labels if classes else numbers
    A, B = normalised_matrices(X)
    best, value = least_over_weights(lambda t: objective(t * A + (1 - t) * B, y))
    model = MultipleKernel(estimator, TWO, method="simplemkl", tol=1e-6).fit(X, y)
    t = model.weights_[0]
    assert 0.05 < best < 0.95  # neither kernel alone is the answer here
    assert objective(t * A + (1 - t) * B, y) <= value * (1 + 2e-6)
    assert t == pytest.approx(best, abs=5e-3)
    assert model.descent_.converged and model.descent_.gap <= 1e-6


def test_squared_norms_of_the_parts_show_the_optimum() -> None:
    """Kernels in use have equal aᵀKa, those of weight 0 no larger one."""
    X, y, _ = sample(120)
    kernels = [Gaussian(s).on([j]) for j in range(3) for s in (0.5, 2.0)]
    model = MultipleKernel(SVC(C=1.0, tol=1e-7), kernels, method="simplemkl", tol=1e-5).fit(X, y)
    a = np.zeros(len(X))
    a[model.estimator_.support_] = model.estimator_.dual_coef_[0]
    q = np.array([a @ K @ a for K in normalised_matrices(X, kernels)])
    active = model.weights_ > 0
    assert 1 < active.sum() < 6
    assert np.allclose(q[active], q.max(), rtol=1e-3)
    assert (q[~active] <= q.max() * (1 + 1e-4)).all()


def test_several_machines_share_the_weights() -> None:
    """With three classes the sum of the duals of all pairs is least."""
    X, _, numbers = sample(75)
    y = np.digitize(numbers, np.quantile(numbers, [1 / 3, 2 / 3]))
    A, B = normalised_matrices(X)

    def objective(t):
        total = 0.0
        for pair in ([0, 1], [0, 2], [1, 2]):
            rows = np.flatnonzero(np.isin(y, pair))
            total += svc_dual((t * A + (1 - t) * B)[np.ix_(rows, rows)], y[rows], 1.0)
        return total

    best, _ = least_over_weights(objective)
    model = MultipleKernel(SVC(tol=1e-7), TWO, method="simplemkl", tol=1e-6).fit(X, y)
    assert model.weights_[0] == pytest.approx(best, abs=5e-3)


def test_outputs_with_penalties_of_their_own() -> None:
    X, _, numbers = sample()
    Y, alpha = np.column_stack([numbers, np.sin(2 * X[:, 1])]), [0.1, 3.0]
    A, B = normalised_matrices(X)

    def objective(t):
        return sum(ridge_objective(t * A + (1 - t) * B, Y[:, j], alpha[j]) for j in range(2))

    best, _ = least_over_weights(objective)
    model = MultipleKernel(KernelRidge(alpha=alpha), TWO, method="simplemkl", tol=1e-7).fit(X, Y)
    assert model.weights_[0] == pytest.approx(best, abs=2e-3)


# ---- lp norms


@pytest.mark.parametrize("p", [1.3, 2.0, 4.0])
def test_lp_minimises_over_the_ball(p) -> None:
    X, _, y = sample()
    A, B = normalised_matrices(X)

    def weights(t):
        return t, (1 - t**p) ** (1 / p)

    best, _ = least_over_weights(lambda t: ridge_objective(weights(t)[0] * A + weights(t)[1] * B, y, 0.3))
    model = MultipleKernel(KernelRidge(alpha=0.3), TWO, method="lp", p=p, tol=1e-8).fit(X, y)
    assert np.allclose(model.weights_, weights(best), atol=2e-3)
    assert np.linalg.norm(model.weights_, p) == pytest.approx(1)


def test_lp_at_both_ends() -> None:
    X, y, _ = sample()
    simple = MultipleKernel(SVC(tol=1e-6), TWO, method="simplemkl", tol=1e-5).fit(X, y)
    near = MultipleKernel(SVC(tol=1e-6), TWO, method="lp", p=1.0, tol=1e-5, max_iter=2000).fit(X, y)
    assert np.allclose(near.weights_, simple.weights_, atol=1e-2)
    far = MultipleKernel(SVC(), TWO, method="lp", p=np.inf).fit(X, y)
    assert np.array_equal(far.weights_, [1, 1])


# ---- alignment and EasyMKL


def test_alignf_and_align_by_definition() -> None:
    X, y, _ = sample()
    kernels = [*TWO, Linear()]
    H, sign = np.eye(60) - 1 / 60, np.where(y, 1.0, -1.0)
    centred = [H @ K @ H for K in normalised_matrices(X, kernels)]
    T = H @ np.outer(sign, sign) @ H

    def minus_alignment(v):
        K = sum(c * K for c, K in zip(v, centred, strict=True))
        return -np.sum(K * T) / np.linalg.norm(K) / np.linalg.norm(T)

    best = minimize(minus_alignment, np.ones(3), bounds=[(0, None)] * 3, tol=1e-14).x
    model = MultipleKernel(SVC(), kernels, method="alignf").fit(X, y)
    assert np.allclose(model.weights_, best / best.sum(), atol=1e-4)
    direct = [-minus_alignment(e) for e in np.eye(3)]
    assert np.allclose(model.alignments_, direct)
    assert np.allclose(MultipleKernel(SVC(), kernels, method="align").fit(X, y).weights_, direct / np.sum(direct))
    assert alignment(model.kernel_, X, y) >= max(model.alignments_)
    assert model.alignments_[1] == pytest.approx(alignment(kernels[1], X, y))


@pytest.mark.parametrize("lam", [0.05, 0.5])
def test_easymkl_by_definition(lam) -> None:
    X, y, _ = sample(30)
    sign, matrices = np.where(y, 1.0, -1.0), normalised_matrices(X)
    Q = np.outer(sign, sign) * sum(matrices)

    def objective(g):
        return (1 - lam) * g @ Q @ g + lam * g @ g, 2 * (1 - lam) * Q @ g + 2 * lam * g

    gamma = minimize(
        objective,
        np.where(y, 1 / y.sum(), 1 / (~y).sum()),
        jac=True,
        bounds=[(0, 1)] * 30,
        constraints=[{"type": "eq", "fun": lambda g, part=part: g[part].sum() - 1} for part in (y, ~y)],
        options={"ftol": 1e-15, "maxiter": 1000},
    ).x
    distances = np.array([(gamma * sign) @ K @ (gamma * sign) for K in matrices])
    model = MultipleKernel(SVC(), TWO, method="easymkl", lam=lam).fit(X, y)
    assert np.allclose(model.weights_, distances / distances.sum(), atol=1e-4)


def test_easymkl_of_more_classes_sums_over_each_against_the_rest() -> None:
    X, _, numbers = sample()
    y = np.digitize(numbers, np.quantile(numbers, [1 / 3, 2 / 3]))
    total = np.zeros(2)
    for c in range(3):
        model = MultipleKernel(SVC(), TWO, method="easymkl").fit(X, y == c)
        K = normalised_matrices(X)
        sign = np.where(y == c, 1.0, -1.0)
        a = SVC(C=0.9 / 0.2, loss="squared_hinge", kernel="precomputed", tol=1e-6).fit(K[0] + K[1], sign)
        g = np.zeros(60)
        g[a.support_] = 2 * a.dual_coef_[0] / np.abs(a.dual_coef_).sum()
        distances = np.array([g @ M @ g for M in K])
        assert np.allclose(model.weights_, distances / distances.sum(), atol=1e-4)
        total += distances
    assert np.allclose(MultipleKernel(SVC(), TWO, method="easymkl").fit(X, y).weights_, total / total.sum(), atol=1e-4)


# ---- what all methods have in common


@pytest.mark.parametrize("method", METHODS)
def test_units_of_kernels_do_not_count(method) -> None:
    X, y, _ = sample()
    plain = MultipleKernel(SVC(tol=1e-6), TWO, method=method).fit(X, y)
    scaled = MultipleKernel(SVC(tol=1e-6), [100 * TWO[0], TWO[1]], method=method).fit(X, y)
    assert np.allclose(plain.weights_, scaled.weights_, atol=1e-6)
    assert np.allclose(plain.alignments_, scaled.alignments_)
    assert np.allclose(scaled.scales_, plain.scales_ * [100, 1])
    assert np.allclose(plain.decision_function(X), scaled.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("method", ["alignf", "simplemkl"])
def test_noise_has_next_to_no_weight(method) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    model = MultipleKernel(KernelRidge(alpha=1.0), TWO, method=method).fit(X, np.sin(2 * X[:, 0]))
    assert model.weights_[1] < 0.02
    assert model.alignments_[1] < 0.1 * model.alignments_[0]


@pytest.mark.parametrize("method", METHODS)
def test_the_estimator_is_the_one_of_the_learned_kernel(method) -> None:
    X, y, _ = sample()
    model = MultipleKernel(SVC(C=3.0, tol=1e-7), [*TWO, "linear"], method=method).fit(X, y)
    own = SVC(C=3.0, tol=1e-7, kernel=model.kernel_).fit(X, y)
    assert np.allclose(model.decision_function(X), own.decision_function(X), atol=1e-5)
    assert np.array_equal(np.flatnonzero(model.support_), np.flatnonzero(own.support_))
    expected = sum(c * K for c, K in zip(model.weights_, normalised_matrices(X, [*TWO, Linear()]), strict=True))
    assert np.allclose(model.kernel_(X), expected)
    assert model.estimator_.gram == "auto" and model.estimator_.kernel == model.kernel_
    assert len(model.estimator_.function_) == len(model.support_)


@pytest.mark.parametrize("method", METHODS)
def test_kernels_are_evaluated_once(method) -> None:
    calls = []

    def linear(A, B):
        calls.append((len(A), len(B)))
        return A @ B.T

    X, y, _ = sample()
    MultipleKernel(SVC(), [Callable(linear, pairwise=False), "gaussian"], method=method).fit(X, y)
    assert sum(a * b for a, b in calls) <= 60 * 60 + 60  # the matrix, and its diagonal at most


def test_without_normalisation() -> None:
    X, y, _ = sample()
    model = MultipleKernel(SVC(), [TWO[0], 5 * TWO[1]], method="uniform", normalize=False).fit(X, y)
    assert np.array_equal(model.scales_, [1, 1])
    assert np.allclose(model.kernel_(X), (TWO[0](X) + 5 * TWO[1](X)) / 2)


def test_a_constant_kernel_has_no_weight() -> None:
    X, y, _ = sample()
    model = MultipleKernel(SVC(), [Gaussian(), Constant(3.0)]).fit(X, y)
    assert np.array_equal(model.weights_, [1, 0]) and model.alignments_[1] == 0


@pytest.mark.parametrize("method", ["alignf", "uniform", "simplemkl"])
def test_weights_are_repeated_samples(method) -> None:
    X, _, y = sample()
    weight = np.random.default_rng(1).integers(0, 3, 60)
    often = np.repeat(np.arange(60), weight)
    model = MultipleKernel(KernelRidge(alpha=0.5), TWO, method=method, tol=1e-8)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X[often], y[often])
    assert np.allclose(weighted.weights_, repeated.weights_, atol=1e-5)
    assert np.allclose(weighted.alignments_, repeated.alignments_)
    assert np.allclose(weighted.predict(X), repeated.predict(X), atol=1e-4)


# ---- kernels in other forms, and other domains


def test_forms_of_kernels() -> None:
    X, y, _ = sample()
    a = MultipleKernel(SVC(), {"first": ("gaussian(lengthscale=1.0)", [0]), "rest": "linear"}).fit(X, y)
    b = MultipleKernel(SVC(), [Gaussian(1.0).on([0]), Linear()]).fit(X, y)
    assert np.array_equal(a.weights_, b.weights_)
    assert a.names_ == ["first", "rest"] and b.names_ == ["0", "1"]
    assert "first" in a.report() and f"{a.weights_[0]:.3f}" in a.report()
    assert MultipleKernel(SVC(), ["gaussian(lengthscale='median')"]).fit(X, y).kernel_.kernel.lengthscale > 0


def common_letters(x, y):
    return float(len(set(x) & set(y)))


def length(x, y):
    return float(len(x) * len(y))


@pytest.mark.parametrize("method", METHODS)
def test_words(method) -> None:
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abcde" if i % 2 else "vwxyz"), 6)) for i in range(30)]
    words = [w + "m" * int(rng.integers(4)) for w in words]
    kinds = np.where(np.arange(30) % 2, "early", "late")
    model = MultipleKernel(SVC(), [Callable(common_letters), Callable(length)], method=method).fit(words, kinds)
    assert model.predict(["abba", "zyx"]).tolist() == ["early", "late"]
    if method == "alignf":
        assert model.weights_[0] > 0.95
        assert cross_val_score(model, words, kinds, cv=3).mean() > 0.9


@pytest.mark.parametrize("method", ["alignf", "simplemkl"])
def test_frames_sparse_matrices_and_tensors(method) -> None:
    X, y, numbers = sample()
    model = MultipleKernel(SVC(), ["gaussian", "linear"], method=method)
    plain = clone(model).fit(X, y)
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abc"))
    named = clone(model).fit(frame, y)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.array_equal(named.predict(frame), plain.predict(X))
    assert np.allclose(clone(model).fit(csr_array(X), y).weights_, plain.weights_)
    torch = pytest.importorskip("torch")
    T, t = torch.tensor(X), torch.tensor(numbers)
    ridge = MultipleKernel(KernelRidge(), ["gaussian", "linear"], method=method)
    there = clone(ridge).fit(T, t)
    assert isinstance(there.predict(T), torch.Tensor)
    assert np.allclose(there.predict(T).numpy(), clone(ridge).fit(X, numbers).predict(X))


@pytest.mark.parametrize("method", ["alignf", "simplemkl"])
def test_columns_of_a_frame_by_name(method) -> None:
    """Text beside numbers, one of them missing, as the kernels of the columns themselves."""
    pandas = pytest.importorskip("pandas")
    X, y, _ = sample()
    words = np.where(y, "good and nice", "bad or worse").astype(object)
    words[::5] = "nothing said"
    frame = pandas.DataFrame({"text": words, "a": X[:, 0], "b": X[:, 1]})
    model = MultipleKernel(SVC(), {"text": ("bag_of_words", "text"), "ab": ("gaussian", ["a", "b"])}, method=method)
    fitted = clone(model).fit(frame, y)
    K = [BagOfWords()(list(words)), Gaussian()(X[:, :2])]
    H = np.eye(60) - 1 / 60
    K = [M / (np.trace(H @ M @ H) / 60) for M in K]
    assert np.allclose(fitted.kernel_(frame), sum(c * M for c, M in zip(fitted.weights_, K, strict=True)))
    assert np.array_equal(
        fitted.predict(frame), SVC(kernel="precomputed").fit(M := fitted.kernel_(frame), y).predict(M)
    )
    frame.loc[3, "a"] = np.nan
    assert cross_val_score(model, frame, y, cv=3).mean() > 0.8
    assert pickle.loads(pickle.dumps(fitted)).predict(frame[:3]).tolist() == fitted.predict(frame[:3]).tolist()


def test_matrices_that_are_there() -> None:
    X, y, _ = sample()
    matrices = [k(X) for k in TWO]
    model = MultipleKernel(SVC(), [FiniteDomain(K) for K in matrices], method="simplemkl").fit(np.arange(60), y)
    assert np.allclose(model.weights_, MultipleKernel(SVC(), TWO, method="simplemkl").fit(X, y).weights_)


# ---- any estimator


@pytest.mark.parametrize(
    "estimator",
    [
        SVC(gram="dense"),
        NuSVC(nu=0.3),
        KernelLogisticRegression(),
        KernelFisher(),
        LeastSquaresSVC(),
        KernelMachine("hinge", free=0),
        KernelRidge(),
        KernelRidgeCV(),
        SVR(),
        KernelPLS(2),
        KernelQuantileRegression(),
    ],
    ids=lambda e: type(e).__name__,
)
def test_supervised_estimators_equal_those_of_the_learned_kernel(estimator) -> None:
    X, labels, numbers = sample()
    y = labels if is_classifier(estimator) else numbers
    model = MultipleKernel(estimator, TWO).fit(X, y)
    own = clone(estimator).set_params(kernel=model.kernel_).fit(X, y)
    assert model.method_ == "alignf"
    if is_classifier(estimator):
        assert np.array_equal(model.predict(X), own.predict(X))
    else:
        assert np.allclose(model.predict(X), own.predict(X), atol=2e-3)


@pytest.mark.parametrize("estimator", [KernelPCA(3), OneClassSVM()], ids=["PCA", "one class"])
def test_unsupervised_estimators(estimator) -> None:
    X, y, _ = sample()
    model = MultipleKernel(estimator, [*TWO, Gaussian(2.0)]).fit(X)
    own = clone(estimator).set_params(kernel=model.kernel_).fit(X)
    name = "transform" if hasattr(estimator, "transform") else "decision_function"
    assert model.method_ == "consensus"
    assert np.allclose(getattr(model, name)(X), getattr(own, name)(X), atol=1e-3)
    K = normalised_matrices(X, [*TWO, Gaussian(2.0)])
    combined = sum(c * M for c, M in zip(model.weights_, K, strict=True))
    H = np.eye(60) - 1 / 60
    A, B = H @ K[0] @ H, H @ combined @ H
    assert model.alignments_[0] == pytest.approx(np.sum(A * B) / np.linalg.norm(A) / np.linalg.norm(B))
    assert np.array_equal(MultipleKernel(estimator, [*TWO, Gaussian(2.0)]).fit(X, y).weights_, model.weights_)


def test_targets_may_guide_a_method_without_any() -> None:
    X, y, _ = sample()
    guided = MultipleKernel(KernelPCA(2), TWO, method="alignf").fit(X, y)
    assert np.array_equal(guided.weights_, MultipleKernel(SVC(), TWO, method="alignf").fit(X, y).weights_)


def three_views():
    """Two views see the same groups, a third is noise."""
    rng = np.random.default_rng(0)
    truth = np.arange(150) % 3
    centres = rng.normal(scale=4, size=(2, 3, 2))
    X = np.hstack([*(centres[v][truth] + rng.normal(size=(150, 2)) for v in range(2)), rng.normal(size=(150, 2))])
    return X, truth, [("gaussian(lengthscale='median')", slice(2 * v, 2 * v + 2)) for v in range(3)]


@pytest.mark.parametrize("method", ["consensus", "alternate"])
def test_noise_counts_least_without_targets(method) -> None:
    X, truth, kernels = three_views()
    model = MultipleKernel(KernelKMeans(3, n_init=5, random_state=0), kernels, method=method).fit(X)
    assert model.weights_[2] < 0.5 * model.weights_[:2].min()
    assert adjusted_rand_score(truth, model.labels_) > 0.95


def test_clusters_are_their_own_targets() -> None:
    X, _, kernels = three_views()
    clusters = KernelKMeans(3, n_init=5, random_state=0)
    model = MultipleKernel(clusters, kernels, tol=1e-6).fit(X)
    assert model.method_ == "alternate" and model.descent_.converged
    H = np.eye(150) - 1 / 150
    K = [H @ M @ H for M in normalised_matrices(X, [Gaussian("median").on(part).resolve(X) for _, part in kernels])]
    member = np.eye(3)[model.labels_]
    P = H @ (member / member.sum(axis=0)) @ member.T @ H

    def minus_alignment(v):
        C = sum(c * M for c, M in zip(v, K, strict=True))
        return -np.sum(C * P) / np.linalg.norm(C)

    best = minimize(minus_alignment, np.ones(3), bounds=[(0, None)] * 3, tol=1e-14).x
    assert minus_alignment(model.weights_) <= minus_alignment(best) * (1 - 1e-5)
    own = clone(clusters).set_params(kernel=model.kernel_).fit(X)
    assert np.array_equal(own.labels_, model.labels_)
    assert np.allclose(own.transform(X), model.transform(X))
    weighted = MultipleKernel(clusters, kernels).fit(X, sample_weight=np.ones(150))
    assert np.allclose(weighted.weights_, MultipleKernel(clusters, kernels).fit(X).weights_)


# ---- low rank


def test_factors_side_by_side_are_exact_where_they_are() -> None:
    X, _, numbers = sample()
    kernels = [Linear().on([0]), Linear().on([1, 2])]
    for method in ("alignf", "simplemkl", "lp"):
        dense = MultipleKernel(KernelRidge(alpha=0.1, gram="dense"), kernels, method=method, tol=1e-8).fit(X, numbers)
        thin = MultipleKernel(KernelRidge(alpha=0.1, gram=LowRank()), kernels, method=method, tol=1e-8).fit(X, numbers)
        assert np.allclose(dense.weights_, thin.weights_, atol=1e-4)
        assert np.allclose(dense.predict(X), thin.predict(X), atol=1e-4)


@pytest.mark.parametrize("method", METHODS)
def test_nystrom_with_all_landmarks_is_exact(method) -> None:
    X, y, _ = sample()
    dense = MultipleKernel(SVC(tol=1e-6), TWO, method=method, tol=1e-5).fit(X, y)
    thin = MultipleKernel(SVC(tol=1e-6, gram=Nystrom(rank=60), random_state=0), TWO, method=method, tol=1e-5).fit(X, y)
    assert np.allclose(dense.weights_, thin.weights_, atol=2e-3)
    assert np.allclose(dense.decision_function(X), thin.decision_function(X), atol=2e-2)
    assert pickle.loads(pickle.dumps(thin)).predict(X).tolist() == thin.predict(X).tolist()


def test_no_square_matrix_of_low_rank() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 2))
    y = np.sin(2 * X[:, 0])
    tracemalloc.start()
    model = MultipleKernel(KernelRidge(alpha=1.0, gram=Nystrom(rank=40), random_state=0), TWO, method="simplemkl").fit(
        X, y
    )
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * 8000**2
    assert model.weights_[0] > 0.95 and model.score(X, y) > 0.95


def test_matrices_over_the_budget() -> None:
    X, _, y = sample()
    small = KernelRidge(alpha=0.3, gram=Auto(memory=60 * 60 * 8))
    for method in ("alignf", "align", "uniform", "consensus"):
        read = MultipleKernel(small, TWO, method=method).fit(X, y)
        assert np.allclose(read.weights_, MultipleKernel(KernelRidge(alpha=0.3), TWO, method=method).fit(X, y).weights_)
    for method in ("simplemkl", "lp"):
        with pytest.raises(ValueError, match=r"2 matrices of 60 × 60 .* \(gram='nystrom'\)"):
            MultipleKernel(small, TWO, method=method).fit(X, y)


# ---- scikit-learn


def test_parameters_searches_pipelines_and_copies() -> None:
    X, y, _ = sample()
    model = MultipleKernel(SVC(C=2.0), TWO)
    assert model.get_params()["estimator__C"] == 2.0
    assert clone(model.set_params(estimator__C=3.0)).estimator.C == 3.0
    grid = GridSearchCV(model, {"estimator__C": [0.1, 10.0], "method": ["uniform", "alignf"]}, cv=3).fit(X, y)
    assert grid.best_score_ > 0.7
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    again = pickle.loads(pickle.dumps(pipeline))
    assert np.array_equal(again.predict(X), pipeline.predict(X)) and pipeline.classes_.tolist() == [False, True]
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.7
    assert model.estimator.kernel == "rbf"  # what was given is left alone


def test_parameters_of_kernels_are_nested() -> None:
    X, y, _ = sample()
    model = MultipleKernel(SVC(), {"near": Gaussian(0.1), "text": "gaussian", "first": (Gaussian(3.0), [0])})
    params = model.get_params()
    assert params["kernels__near__lengthscale"] == 0.1 and params["kernels__first__lengthscale"] == 3.0
    copy = clone(model).set_params(
        kernels__near__lengthscale=2.0, kernels__text__lengthscale=5.0, kernels__first="linear"
    )
    assert copy.kernels == {"near": Gaussian(2.0), "text": Gaussian(5.0), "first": ("linear", [0])}
    assert model.kernels["near"].lengthscale == 0.1 and model.kernels["text"] == "gaussian"
    listed = MultipleKernel(SVC(), [Gaussian(1.0), Linear()]).set_params(
        kernels__0=Gaussian(), kernels__0__lengthscale=4.0
    )
    assert listed.kernels == [Gaussian(4.0), Linear()]
    grid = GridSearchCV(MultipleKernel(SVC(), TWO), {"kernels__0__kernel__lengthscale": [1e-3, 1.0]}, cv=3).fit(X, y)
    assert grid.best_params_["kernels__0__kernel__lengthscale"] == 1.0
    with pytest.raises(ValueError, match="unknown parameter 'kernels__2__scale'; the kernels are 0, 1"):
        listed.set_params(kernels__2__scale=1.0)


def test_methods_are_those_of_the_estimator() -> None:
    X, y, _ = sample()
    model = MultipleKernel(SVC(), TWO)
    assert (
        hasattr(model, "decision_function") and not hasattr(model, "transform") and not hasattr(model, "predict_proba")
    )
    assert not hasattr(model, "classes_")
    with pytest.raises(NotFittedError):
        model.predict(X)
    logistic = MultipleKernel(KernelLogisticRegression(), TWO).fit(X, y)
    assert np.allclose(logistic.predict_proba(X).sum(axis=1), 1)
    assert MultipleKernel(KernelKMeans(2, random_state=0), TWO).fit_predict(X).shape == (60,)
    pytest.importorskip("pandas")
    features = MultipleKernel(KernelPCA(2), TWO).set_output(transform="pandas").fit_transform(X)
    assert list(features.columns) == ["kernelpca0", "kernelpca1"]


def test_stopping_early_is_told() -> None:
    X, y, _ = sample()
    with pytest.warns(ConvergenceWarning, match="max_iter is reached"):
        MultipleKernel(SVC(tol=1e-7), TWO, method="lp", p=1.1, tol=1e-9, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="time budget"):
        MultipleKernel(SVC(tol=1e-7), TWO, method="simplemkl", tol=1e-12, time_budget=1e-9).fit(X, y)
    model = MultipleKernel(SVC(), TWO, method="simplemkl").fit(X, y)
    assert hasattr(model, "descent_")
    assert not hasattr(model.set_params(method="alignf").fit(X, y), "descent_")


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"estimator": LinearSVC()}, "an estimator with a parameter `kernel`"),
        ({"kernels": []}, "kernels is empty"),
        ({"kernels": "gaussian"}, "must be a list, or a dict of named kernels"),
        ({"kernels": [("gaussian", 0, 1)]}, r"expected a pair \(kernel, columns\)"),
        ({"method": "mkl"}, "method = 'mkl' is unknown"),
        ({"p": 0.5}, "p = 0.5 must be >= 1"),
        ({"lam": 1.0}, "lam = 1.0 must be between"),
        ({"tol": 0.0}, "tol = 0.0 must be > 0"),
        ({"max_iter": 0}, "max_iter = 0 must be >= 1"),
        ({"estimator": KernelFisher(), "method": "simplemkl"}, "a fixed squared penalty; KernelFisher does not"),
        ({"estimator": KernelMachine(penalty="norm"), "method": "lp"}, "squared penalty; KernelMachine does not"),
        ({"estimator": ImportVectorMachine(), "method": "lp"}, "a fixed squared penalty; ImportVectorMachine does not"),
        ({"estimator": KernelRidge(), "method": "easymkl"}, "'easymkl' needs class labels"),
        ({"method": "alternate"}, "'alternate' needs a clustering estimator"),
        *(({"kernels": ["sigmoid", "gaussian"], "method": m}, r"sigmoid\. .* KreinSVC") for m in ("lp", "easymkl")),
        ({"estimator": KernelCCA()}, r"samples of each of its views\. Learn a kernel for each"),
        ({"estimator": KernelICA()}, "values of its components; give it one kernel"),
        ({"estimator": KernelDimensionReduction()}, "projections of the samples"),
        ({"estimator": MultitaskSVC(task=0)}, "samples without their tasks; use task=None"),
    ],
)
def test_bad_parameters(parameters, words) -> None:
    X, labels, numbers = sample()
    model = MultipleKernel(SVC(), TWO).set_params(**parameters)
    y = numbers if isinstance(model.estimator, KernelRidge) or type(model.estimator) is KernelMachine else labels
    with pytest.raises((TypeError, ValueError), match=words):
        model.fit(X, y)


def test_missing_targets_and_useless_weights() -> None:
    X, _, _ = sample()
    with pytest.raises(ValueError, match="requires y"):
        MultipleKernel(SVC(), TWO).fit(X)
    with pytest.raises(ValueError, match="requires y"):
        MultipleKernel(KernelPCA(2), TWO, method="alignf").fit(X)
    with pytest.raises(TypeError, match="KernelPCA does not accept sample_weight"):
        MultipleKernel(KernelPCA(2), TWO).fit(X, sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="one class"):
        MultipleKernel(SVC(), TWO).fit(X, np.zeros(60))


# ---- real data


@pytest.mark.long
def test_six_views_of_digits(data_dir) -> None:
    """20 labelled samples a class: alignf above each view, above the plain sum and the sum of normalised kernels."""
    data = np.load(data_dir / "mfeat" / "mfeat.npz")
    names, y = ["fou", "fac", "kar", "pix", "zer", "mor"], data["y"].astype(int)
    X, ends = np.hstack([data[v] for v in names]), np.cumsum([data[v].shape[1] for v in names])
    kernels = {
        v: ("gaussian(lengthscale='median')", slice(e - data[v].shape[1], e)) for v, e in zip(names, ends, strict=True)
    }
    models = {v: MultipleKernel(SVC(C=10.0), [k], method="uniform") for v, k in kernels.items()}
    models["sum"] = MultipleKernel(SVC(C=10.0), kernels, method="uniform", normalize=False)
    models["uniform"] = MultipleKernel(SVC(C=10.0), kernels, method="uniform")
    models["learned"] = MultipleKernel(SVC(C=10.0), kernels)
    scores = {name: [] for name in models}
    for seed in range(10):
        rng = np.random.default_rng(100 + seed)
        fit = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:20] for c in range(10)])
        test = np.setdiff1d(np.arange(len(y)), fit)
        for name, model in models.items():
            scores[name].append(model.fit(X[fit], y[fit]).score(X[test], y[test]))
    learned = np.array(scores.pop("learned"))
    for other in scores.values():
        gain = learned - other
        assert gain.mean() > 2 * gain.std(ddof=1) / np.sqrt(len(gain))
