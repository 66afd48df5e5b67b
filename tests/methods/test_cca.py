"""KernelCCA: the linear ancestor, the definition, optimality, and what it does with many views and new samples."""

import pickle
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cross_decomposition import CCA
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Delta, Gaussian, Linear, Power, Sigmoid
from mercer.methods.cca import KernelCCA

rng = np.random.default_rng(5)
N = 80
SOURCE = rng.uniform(-1, 1, size=N + 40)
ALL = [np.column_stack([f(3 * SOURCE), rng.normal(size=N + 40)]) for f in (np.sin, np.cos, np.tanh)]
ALL = [X + 0.05 * rng.normal(size=X.shape) for X in ALL]
X, Y, Z = (A[:N] for A in ALL)
X_NEW, Y_NEW, Z_NEW = (A[N:] for A in ALL)
KERNEL = Gaussian(1.0)


def centred(K):
    return K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()


def equal_up_to_sign(A, B, atol):
    signs = np.sign(np.sum(A * B, axis=0))
    return np.allclose(A, B * signs, rtol=0, atol=atol)


# ---- the linear ancestor


@pytest.mark.parametrize("gram", ["dense", "low_rank", "lazy"])
@pytest.mark.parametrize("name", ["cancor_iris", "cancor_lifecycle"])
def test_linear_kernels_without_penalty_equal_cancor(oracle, name, gram) -> None:
    record = oracle(name)
    A, B, theirs = record["inputs"]["X"], record["inputs"]["Y"], record["outputs"]
    model = KernelCCA(9, kernel="linear", epsilon=0, gram=gram).fit(A, B)
    assert np.allclose(
        model.correlations_, theirs["cor"], atol=1e-10
    )  # two, the smaller rank, though nine are asked for
    k = len(theirs["cor"])
    for ours, data, key in zip(model.scores_, (A, B), ("xcoef", "ycoef"), strict=True):
        expected = (data - data.mean(axis=0)) @ theirs[key][:, :k] * np.sqrt(len(data))
        assert equal_up_to_sign(ours, expected, 1e-7)
    weights = model.functions_[0].weights()
    assert equal_up_to_sign(weights, theirs["xcoef"][:, :k] * np.sqrt(len(A)), 1e-7)


def test_linear_kernels_without_penalty_equal_scikit_learn() -> None:
    theirs = CCA(2, scale=False, max_iter=10_000, tol=1e-12).fit(X, Y)
    ours = KernelCCA(kernel="linear", epsilon=0).fit(X, Y)
    expected = [np.corrcoef(a, b)[0, 1] for a, b in zip(*(S.T for S in theirs.transform(X_NEW, Y_NEW)), strict=True)]
    assert np.allclose(ours.correlations(X_NEW, Y_NEW), expected, atol=1e-6)


# ---- the definition


def regularised(a, b, K, L, epsilon):
    """ρ(f, g) of the coefficients of two functions."""
    f, g = K @ a, L @ b
    return f @ g / np.sqrt((f @ f + epsilon[0] * a @ f) * (g @ g + epsilon[1] * b @ g))


def test_components_are_stationary_and_the_first_is_the_best() -> None:
    epsilon = (0.5, 2.0)
    model = KernelCCA(3, kernel=KERNEL, epsilon=epsilon).fit(X, Y)
    K, L = (centred(KERNEL(A)) for A in (X, Y))
    a, b = (f.coefficients for f in model.functions_)
    draw = np.random.default_rng(0)
    for j, rho in enumerate(model.correlations_):
        assert regularised(a[:, j], b[:, j], K, L, epsilon) == pytest.approx(rho, abs=1e-9)
        f, g = K @ a[:, j], L @ b[:, j]
        size = [np.sqrt(v @ v + e * c @ v) for v, c, e in ((f, a[:, j], epsilon[0]), (g, b[:, j], epsilon[1]))]
        # derivative of the logarithm of ρ with respect to a: zero
        gradient = K @ g / (f @ g) - K @ (f + epsilon[0] * a[:, j]) / size[0] ** 2
        assert np.abs(gradient).max() < 1e-8
    for _ in range(50):
        step = 0.1 * draw.normal(size=(2, N)) * np.abs(a[:, 0]).max()
        assert regularised(a[:, 0] + step[0], b[:, 0] + step[1], K, L, epsilon) < model.correlations_[0]


@pytest.mark.parametrize("gram", ["dense", "lazy", IncompleteCholesky(rank=N, tol=1e-14), Nystrom(rank=N)])
def test_features_of_new_samples_are_centred_by_the_sample(gram) -> None:
    model = KernelCCA(3, kernel=KERNEL, epsilon=1.0, gram=gram, random_state=0).fit(X, Y)
    a = KernelCCA(3, kernel=KERNEL, epsilon=1.0, gram="dense").fit(X, Y).functions_[1].coefficients
    K = KERNEL(Y_NEW, Y)
    expected = (K - K.mean(axis=1)[:, None] - KERNEL(Y).mean(axis=0) + KERNEL(Y).mean()) @ a
    assert np.allclose(model.transform(Y_NEW, view=1), expected, atol=1e-5)
    assert np.allclose(model.transform(X, Y)[1], model.scores_[1], atol=1e-6)


def test_few_features_are_decomposed_instead_of_the_matrix() -> None:
    thin, dense = (KernelCCA(2, kernel="linear", epsilon=1.0, gram=gram).fit(X, Y) for gram in ("auto", "dense"))
    assert thin.views_[0].gram_choice_.startswith("LowRank") and thin.functions_[0].kernel == Linear()
    assert np.allclose(thin.correlations_, dense.correlations_, atol=1e-12)
    assert equal_up_to_sign(thin.transform(X_NEW), dense.transform(X_NEW), atol=1e-10)
    assert np.allclose(thin.functions_[1].norm(), dense.functions_[1].norm(), atol=1e-12)


def test_scores_have_mean_zero_variance_one_and_the_penalised_correlation() -> None:
    model = KernelCCA(4, kernel=KERNEL, epsilon=0.7).fit(X, Y)
    for S in model.scores_:
        assert np.allclose(S.mean(axis=0), 0, atol=1e-10)
        assert np.allclose(S.std(axis=0), 1)
    norms = [f.norm() for f in model.functions_]
    factor = np.sqrt(np.prod([1 + 0.7 * norm**2 / N for norm in norms], axis=0))
    assert np.allclose(model.correlations(X, Y) / factor, model.correlations_, atol=1e-9)


def test_scaling_a_kernel_scales_epsilon() -> None:
    plain = KernelCCA(kernel=KERNEL, epsilon=[0.5, 2.0]).fit(X, Y)
    scaled = KernelCCA(kernel=[7.0 * KERNEL, KERNEL], epsilon=[3.5, 2.0]).fit(X, Y)
    assert np.allclose(plain.correlations_, scaled.correlations_, atol=1e-12)
    assert np.allclose(plain.transform(X_NEW), scaled.transform(X_NEW), atol=1e-8)
    default, other = (KernelCCA(kernel=k).fit(X, Y) for k in (KERNEL, 7.0 * KERNEL))
    assert np.allclose(default.correlations_, other.correlations_, atol=1e-12)
    assert np.allclose(7 * default.epsilon_, other.epsilon_)


def test_default_epsilon_shrinks_with_the_sample() -> None:
    double = KernelCCA(kernel=KERNEL).fit(np.tile(X, (2, 1)), np.tile(Y, (2, 1)))
    single = KernelCCA(kernel=KERNEL).fit(X, Y)
    assert np.allclose(double.epsilon_ / (2 * N), single.epsilon_ / N * 2**-0.25)
    assert single.epsilon_[0] == pytest.approx(0.1 * N**-0.25 * np.trace(centred(KERNEL(X))))


def test_without_penalty_every_correlation_is_one() -> None:
    """Any pairing at all is explained by strictly definite kernels, and nothing of it holds elsewhere."""
    draw = np.random.default_rng(0)
    A, B = draw.normal(size=(2, 60, 8))
    model = KernelCCA(5, kernel=Gaussian(2.0), epsilon=0).fit(A[:30], B[:30])
    assert np.allclose(model.correlations_, 1, atol=1e-9)
    assert model.score(A[:30], B[:30]) == pytest.approx(1, abs=1e-6)
    assert abs(model.score(A[30:], B[30:])) < 0.3


def test_finds_what_linear_correlation_does_not() -> None:
    draw = np.random.default_rng(1)
    angle = draw.uniform(0, 2 * np.pi, 300)
    A, B = (f(angle)[:, None] + 0.05 * draw.normal(size=(300, 1)) for f in (np.cos, np.sin))
    fit, new = slice(0, 200), slice(200, None)
    assert KernelCCA(1, kernel="linear").fit(A[fit], B[fit]).score(A[new], B[new]) < 0.2
    assert KernelCCA(1).fit(A[fit], B[fit]).score(A[new], B[new]) > 0.9


# ---- more than two views


def test_a_list_of_two_is_the_pair() -> None:
    pair, listed = KernelCCA(kernel=KERNEL).fit(X, Y), KernelCCA(kernel=KERNEL).fit([X, Y])
    assert np.array_equal(pair.correlations_, listed.correlations_)
    for a, b in zip(pair.transform(X_NEW, Y_NEW), listed.transform([X_NEW, Y_NEW]), strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(pair.fit_transform(X, Y), pair.transform(X))
    assert len(listed.fit_transform([X, Y])) == 2
    assert pair.score(X_NEW, Y_NEW) == listed.score([X_NEW, Y_NEW])


def test_three_views_without_penalty_are_the_eigenvalues_of_their_correlations() -> None:
    """With one variable a view the eigenvalues are those of the correlation matrix."""
    columns = [A[:, :1] for A in (X, Y, Z)]
    R = np.corrcoef(np.hstack(columns).T)
    model = KernelCCA(1, kernel="linear", epsilon=0).fit(columns)
    assert model.correlations_[0] == pytest.approx((np.linalg.eigvalsh(R)[-1] - 1) / 2, abs=1e-10)
    strengths = [0.1, 1.0, 3.0]
    shrink = np.sqrt([(n := A.var() * N) / (n + e) for A, e in zip(columns, strengths, strict=True)])
    M = np.outer(shrink, shrink) * R - np.diag(shrink**2)
    penalised = KernelCCA(1, kernel="linear", epsilon=strengths).fit(columns)
    assert penalised.correlations_[0] == pytest.approx(np.linalg.eigvalsh(M)[-1] / 2, abs=1e-10)


def test_three_views_do_not_depend_on_their_order() -> None:
    model = KernelCCA(2, kernel=KERNEL).fit([X, Y, Z])
    other = KernelCCA(2, kernel=KERNEL).fit([Z, X, Y])
    assert np.allclose(model.correlations_, other.correlations_, atol=1e-10)
    assert np.allclose(np.abs(model.transform(X_NEW, view=0)), np.abs(other.transform(X_NEW, view=1)), atol=1e-6)
    scores = model.transform([X_NEW, Y_NEW, Z_NEW])
    expected = [np.mean([np.corrcoef(a[:, j], b[:, j])[0, 1] for a, b in combinations(scores, 2)]) for j in range(2)]
    assert np.allclose(model.correlations([X_NEW, Y_NEW, Z_NEW]), expected)


def test_three_views_share_one_source() -> None:
    draw = np.random.default_rng(4)
    s = draw.uniform(-1, 1, size=(150, 1))
    views = [f(s) + 0.05 * draw.normal(size=s.shape) for f in (np.positive, np.square, np.exp)]
    model = KernelCCA(2).fit([A[:100] for A in views])
    assert model.correlations([A[100:] for A in views])[0] > 0.9
    first = model.transform([A[100:] for A in views])[0][:, 0]
    assert abs(np.corrcoef(first, s[100:, 0] ** 2)[0, 1]) > 0.9  # all that the second view knows of the source


def test_views_of_other_kinds() -> None:
    labels = np.where(SOURCE > 0.3, "high", np.where(SOURCE < -0.3, "low", "middle"))
    model = KernelCCA(3, kernel=[KERNEL, Delta()]).fit(X, labels[:N])
    assert len(model.correlations_) == 2  # three labels differ in two ways
    assert model.score(X_NEW, labels[N:]) > 0.6
    target = KernelCCA(1, kernel=[KERNEL, "linear"]).fit(X, SOURCE[:N])  # one number per sample is a column
    assert np.allclose(
        target.correlations_, KernelCCA(1, kernel=[KERNEL, "linear"]).fit(X, SOURCE[:N, None]).correlations_
    )
    sparse = KernelCCA(kernel=KERNEL).fit(csr_array(X), Y)
    dense = KernelCCA(kernel=KERNEL).fit(X, Y)
    assert np.allclose(sparse.transform(csr_array(X_NEW)), dense.transform(X_NEW), atol=1e-9)
    known = KernelCCA(kernel=["precomputed", KERNEL]).fit(KERNEL(X), Y)
    assert np.allclose(known.transform(KERNEL(X_NEW, X)), dense.transform(X_NEW), atol=1e-9)


def test_conditionally_definite_kernels_are_centred_into_definite_ones() -> None:
    """−‖x − y‖² is twice the linear kernel once it is centred."""
    squared = KernelCCA(kernel=Power(2.0), epsilon=2.0).fit(X, Y)
    linear = KernelCCA(kernel="linear", epsilon=1.0).fit(X, Y)
    assert np.allclose(squared.correlations_, linear.correlations_, atol=1e-9)
    assert np.allclose(squared.transform(X_NEW), linear.transform(X_NEW), atol=1e-7)


def test_torch_views_stay_in_torch() -> None:
    torch = pytest.importorskip("torch")
    ours = KernelCCA(kernel=KERNEL, epsilon=1.0).fit(torch.asarray(X), torch.asarray(Y))
    plain = KernelCCA(kernel=KERNEL, epsilon=1.0).fit(X, Y)
    features = ours.transform(torch.asarray(X_NEW))
    assert isinstance(features, torch.Tensor)
    assert np.allclose(features.numpy(), plain.transform(X_NEW), atol=1e-8)
    assert np.allclose(ours.similarity(torch.asarray(X_NEW)), plain.similarity(X_NEW), atol=1e-7)


def test_single_precision() -> None:
    single = KernelCCA(kernel=KERNEL, epsilon=1.0).fit(X.astype(np.float32), Y.astype(np.float32))
    assert np.allclose(single.correlations_, KernelCCA(kernel=KERNEL, epsilon=1.0).fit(X, Y).correlations_, atol=1e-4)
    assert single.transform(X_NEW.astype(np.float32)).dtype == np.float32


# ---- the strength of the penalty


@pytest.mark.parametrize("gram", ["dense", "low_rank"])
def test_cross_validation_equals_fits_of_the_folds(gram) -> None:
    kernel, grid = (KERNEL, [0.01, 0.3, 10.0]) if gram == "dense" else (Linear(), [0.0, 0.5, 50.0])
    folds = KFold(4, shuffle=True, random_state=0)
    model = KernelCCA(2, kernel=kernel, epsilon="cv", epsilons=grid, cv=folds, gram=gram).fit(X, Y)
    expected = [
        np.mean(
            [
                KernelCCA(2, kernel=kernel, epsilon=epsilon).fit(X[fit], Y[fit]).score(X[new], Y[new])
                for fit, new in folds.split(X)
            ]
        )
        for epsilon in grid
    ]
    assert np.allclose(model.criterion_, expected, atol=1e-6)
    assert np.array_equal(model.epsilon_, [grid[np.argmax(expected)]] * 2)
    direct = KernelCCA(2, kernel=kernel, epsilon=model.epsilon_, gram=gram).fit(X, Y)
    assert np.allclose(model.correlations_, direct.correlations_)


def test_spectrum_against_random_pairs() -> None:
    model = KernelCCA(1, kernel=KERNEL, epsilon="spectrum", n_pairings=4, random_state=0).fit(X, Y)
    assert model.random_spectra_.shape == (4, *model.spectra_.shape)
    traces = [np.trace(centred(KERNEL(A))) for A in (X, Y)]
    assert np.allclose(model.epsilons_, np.outer(np.logspace(-5, 1, 7), traces))
    for epsilon, spectrum in zip(model.epsilons_, model.spectra_, strict=True):
        every = KernelCCA(N, kernel=KERNEL, epsilon=epsilon).fit(X, Y)
        assert np.allclose(spectrum, every.correlations_, atol=1e-7)
    distances = np.linalg.norm(model.spectra_ - model.random_spectra_.mean(axis=0), axis=1)
    assert np.array_equal(model.epsilon_, model.epsilons_[distances.argmax()])
    # a weak penalty explains any pairing, and a strong one none
    assert 0 < distances.argmax() < 6
    assert np.all(np.diff(model.spectra_, axis=0)[:, 0] < 0) and np.all(
        np.diff(model.random_spectra_, axis=1)[..., 0] < 0
    )
    assert model.random_spectra_[:, 0, 0].min() > 0.5 > 0.05 > model.random_spectra_[:, -1, 0].max()
    other = KernelCCA(1, kernel=KERNEL, epsilon="spectrum", epsilons=model.epsilons_, random_state=0).fit(X, Y)
    assert np.allclose(other.spectra_, model.spectra_)


def test_a_second_fit_forgets_the_first() -> None:
    model = KernelCCA(kernel=KERNEL, epsilon="spectrum", n_permutations=1, random_state=0).fit(X, Y)
    model.set_params(epsilon=1.0, n_permutations=0).fit(X, Y)
    assert not any(hasattr(model, name) for name in ("p_values_", "criterion_", "spectra_"))


def test_random_spectra_are_those_of_random_pairs() -> None:
    """Their mean lies within the sampling error of fits to pairs that this test draws."""
    model = KernelCCA(1, kernel=KERNEL, epsilon="spectrum", epsilons=[1.0], n_pairings=60, random_state=0).fit(X, Y)
    drawn = [
        KernelCCA(1, kernel=KERNEL, epsilon=1.0).fit(X, Y[np.random.default_rng(s).permutation(N)]).correlations_[0]
        for s in range(60)
    ]
    found = model.random_spectra_[:, 0, 0]
    assert abs(found.mean() - np.mean(drawn)) < 4 * np.sqrt((found.var() + np.var(drawn)) / 60)


def test_p_values() -> None:
    model = KernelCCA(3, kernel=KERNEL, epsilon=1.0, n_permutations=99, random_state=0).fit(X, Y)
    assert model.p_values_[0] == 0.01
    assert all(p <= q for p, q in pairwise(model.p_values_))
    noise = np.random.default_rng(8).normal(size=(2, 50, 3))
    assert KernelCCA(1, kernel=KERNEL, epsilon=1.0, n_permutations=99, random_state=0).fit(*noise).p_values_[0] > 0.05
    three = KernelCCA(2, kernel=KERNEL, n_permutations=19, random_state=0).fit([X, Y, Z])
    assert three.p_values_[0] == 0.05
    assert not hasattr(KernelCCA(1).fit(X, Y), "p_values_")


# ---- retrieval


def test_retrieval_by_the_weighted_inner_product() -> None:
    model = KernelCCA(3, kernel=KERNEL).fit(X, Y)
    F, G = model.transform(X_NEW, Y_NEW)
    expected = F @ np.diag(model.correlations_) @ G.T
    assert np.allclose(model.similarity(X_NEW, Y_NEW), expected)
    assert np.allclose(model.similarity(Y_NEW, X_NEW, view=1), expected.T)
    best = model.retrieve(Y_NEW, 5, candidates=X_NEW, view=1)
    assert best.shape == (40, 5)
    for i, row in enumerate(best):
        assert np.allclose(expected[row, i], np.sort(expected[:, i])[::-1][:5])
    known = model.retrieve(X_NEW, 3)  # among the fitted samples of the other view
    assert np.array_equal(known, np.argsort(-model.similarity(X_NEW, Y), axis=1)[:, :3])
    assert model.retrieve(X_NEW, 1000).shape == (40, N)


def test_retrieval_among_three_views() -> None:
    model = KernelCCA(2, kernel=KERNEL).fit([X, Y, Z])
    S = model.similarity(Z_NEW, Y_NEW, view=2, target=1)
    G, H = model.transform([X_NEW, Y_NEW, Z_NEW])[1:]
    assert np.allclose(S, (H * model.correlations_) @ G.T)
    assert np.allclose(model.similarity(Y_NEW, X_NEW, view=1), model.similarity(Y_NEW, X_NEW, view=1, target=0))


def test_what_belongs_together_is_found() -> None:
    draw = np.random.default_rng(2)
    A = draw.normal(size=(260, 4))
    B = np.tanh(A) @ draw.normal(size=(4, 4)) + 0.02 * draw.normal(size=(260, 4))
    model = KernelCCA(4, kernel=Gaussian(3.0), epsilon=0.1).fit(A[:200], B[:200])
    found = model.retrieve(A[200:], 3, candidates=B[200:])
    assert np.mean(np.any(found == np.arange(60)[:, None], axis=1)) > 0.25  # 0.05 by chance


# ---- as an estimator


def test_in_a_pipeline_a_search_and_a_frame() -> None:
    pd = pytest.importorskip("pandas")
    search = GridSearchCV(KernelCCA(1, kernel=KERNEL), {"epsilon": [1e-3, 0.5, 100.0]}, cv=3).fit(X, Y)
    folds = KernelCCA(1, kernel=KERNEL, epsilon="cv", epsilons=[1e-3, 0.5, 100.0], cv=3).fit(X, Y)
    assert np.allclose(folds.criterion_, search.cv_results_["mean_test_score"], atol=1e-6)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = make_pipeline(KernelCCA(kernel=KERNEL)).set_output(transform="pandas")
    table = model.fit_transform(frame, Y)
    assert list(table.columns) == ["kernelcca0", "kernelcca1"]
    assert list(model[0].feature_names_in_) == ["a", "b"]


def test_pickles() -> None:
    model = KernelCCA(kernel=KERNEL, gram="nystrom", random_state=0).fit(X, Y)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(X_NEW), model.transform(X_NEW))


# ---- bad input


@pytest.mark.parametrize(
    ("parameters", "views", "message"),
    [
        ({}, (X, Y[:-1]), "X has 80, y has 79 samples"),
        ({}, ([X, Y, Z[:9]],), r"views\[2\] has 9"),
        ({}, (X, np.ones((N, 2))), "y: the view is constant"),
        ({}, ([np.ones((N, 2)), X],), r"views\[0\]: the view is constant"),
        ({"kernel": "linear"}, (np.full((N, 3), 0.1), Y), "X: the view is constant"),
        ({}, (X[:1], Y[:1]), "n_samples = 1"),
        ({}, (X,), "requires y"),
        ({}, ([X],), "1 view; give two"),
        ({"kernel": [KERNEL]}, (X, Y), "1 kernels for 2 views"),
        ({"kernel": Sigmoid()}, (X, Y), "KernelCCA, X: the kernel .* INDEFINITE"),
        ({"epsilon": "best"}, (X, Y), "epsilon = 'best' is unknown"),
        ({"epsilon": -1.0}, (X, Y), "epsilon = -1.0 must be numbers >= 0"),
        ({"epsilon": [1, 2, 3]}, (X, Y), "one or 2 for 2 views"),
        ({"epsilon": "cv", "epsilons": []}, (X, Y), "epsilons"),
        ({"epsilon": "cv", "cv": N}, (X, Y), "use fewer folds"),
        ({"n_components": 0}, (X, Y), "n_components = 0"),
        ({"n_permutations": -1}, (X, Y), "n_permutations = -1"),
        ({}, (X, np.full(N, np.nan)), "KernelCCA, y: .*NaN"),
    ],
)
def test_bad_input_is_explained(parameters, views, message) -> None:
    with pytest.raises(ValueError, match=message):
        KernelCCA(**parameters).fit(*views)


def test_indefinite_matrices_are_refused() -> None:
    S = rng.normal(size=(N, N))
    with pytest.raises(ValueError, match=r"KernelCCA, X: .* indefinite"):
        KernelCCA(kernel=["precomputed", KERNEL]).fit(S + S.T, Y)


def test_bad_calls_are_explained() -> None:
    pair, listed = KernelCCA(kernel=KERNEL).fit(X, Y), KernelCCA(kernel=KERNEL).fit([X, Y, Z])
    with pytest.raises(ValueError, match="give both views"):
        pair.correlations(X)
    with pytest.raises(ValueError, match="list of 3 views"):
        listed.transform([X, Y])
    with pytest.raises(ValueError, match="view = 2 must be"):
        pair.transform(X, view=2)
    with pytest.raises(ValueError, match="y has 40 samples"):
        pair.score(X, Y_NEW)
    with pytest.raises(ValueError, match="k = 0"):
        pair.retrieve(X, 0)
    with pytest.raises(ValueError, match="KernelCCA, y: X has 1 features"):
        pair.transform(X_NEW, Y_NEW[:, :1])
    with pytest.raises(TypeError, match="must be numbers"):
        KernelCCA(epsilon=[None, 1.0]).fit(X, Y)


def test_rounding_does_not_choose_the_penalty():
    """Three samples of a fold determine the components whatever the penalty, so that the criterion is flat."""
    flat = 0
    for seed in range(12):
        some = np.random.default_rng(seed)
        A, B = some.normal(size=(5, 2)), some.normal(size=(5, 1))
        model = KernelCCA(2, kernel=KERNEL, epsilon="cv", cv=2).fit(A, B)
        if np.ptp(model.criterion_) < 1e-12:
            flat += 1
            np.testing.assert_array_equal(model.epsilon_, model.epsilons_[0])
    assert flat > 3


def test_a_vector_in_place_of_a_matrix():
    with pytest.raises(ValueError, match=r"KernelCCA, y: X has shape \(80,\)") as error:
        KernelCCA(kernel="precomputed").fit(KERNEL(X), Y[:, 0])
    assert len(str(error.value)) < 300
