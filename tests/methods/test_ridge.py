"""KernelRidge: scikit-learn's results, and what scikit-learn does not have, against brute force."""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge as Reference
from sklearn.model_selection import GridSearchCV

from mercer import IndefiniteKernelWarning, KernelInterpolator, KernelPCA, KernelRidge, KernelRidgeCV, RoundingWarning
from mercer.basis import Polynomials
from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Constant, Gaussian, Laplace, Linear, Polynomial, Power, ThinPlate, Wendland
from mercer.solvers.spectral import Spectral

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 4))
y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=60)
Y = np.stack([y, X[:, 2] ** 2], axis=1)
WEIGHT = rng.uniform(0.1, 2, 60)


def brute_force(K, H, target, alpha, weight):
    """The saddle-point system, written out."""
    n, p = len(K), H.shape[1]
    A = np.block([[K + alpha * np.diag(1 / weight), H], [H.T, np.zeros((p, p))]])
    solution = np.linalg.solve(A, np.concatenate([target, np.zeros((p, *target.shape[1:]))]))
    return solution[:n], solution[n:]


@pytest.mark.parametrize("target", [y, Y], ids=["one", "two"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "linear"},
        {"kernel": "rbf"},
        {"kernel": "rbf", "gamma": 0.3},
        {"kernel": "poly", "degree": 2, "coef0": 0.5},
        {"kernel": "polynomial", "gamma": 0.2},
        {"kernel": "laplacian"},
        {"kernel": "cosine"},
        {"kernel": "chi2", "gamma": 0.7},
        {"kernel": "additive_chi2"},
        {"kernel": "sigmoid", "gamma": 0.1},
    ],
    ids=lambda p: "-".join(map(str, p.values())),
)
@pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
@pytest.mark.filterwarnings("ignore:Singular matrix in solving dual problem")  # scikit-learn's word for indefinite
def test_equals_scikit_learn(parameters, weight, target) -> None:
    data = np.abs(X) if "chi2" in parameters["kernel"] else X
    theirs = Reference(alpha=2.0, **parameters).fit(data, target, weight)
    ours = KernelRidge(alpha=2.0, **parameters).fit(data, target, weight)
    scale = np.abs(theirs.dual_coef_).max()
    assert np.allclose(ours.dual_coef_, theirs.dual_coef_, rtol=0, atol=1e-8 * scale)
    assert np.allclose(ours.predict(data), theirs.predict(data), rtol=0, atol=1e-8 * np.abs(target).max())


def test_defaults_and_signature_equal_scikit_learn() -> None:
    theirs, ours = Reference().get_params(), KernelRidge().get_params()
    assert {name: ours[name] for name in theirs} == theirs
    assert np.allclose(KernelRidge(3.0).fit(X, y).predict(X), Reference(3.0).fit(X, y).predict(X), atol=1e-10)


def test_one_alpha_per_target_equals_scikit_learn() -> None:
    theirs = Reference(alpha=[0.1, 10.0], kernel="rbf").fit(X, Y, WEIGHT)
    ours = KernelRidge(alpha=[0.1, 10.0], kernel="rbf").fit(X, Y, WEIGHT)
    assert np.allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-8)


def test_precomputed_and_callable_equal_scikit_learn() -> None:
    K = Gaussian(1.3)(X)
    theirs = Reference(kernel="precomputed").fit(K, y)
    ours = KernelRidge(kernel="precomputed").fit(K, y)
    assert np.allclose(ours.predict(K[:7]), theirs.predict(K[:7]), atol=1e-10)

    def similarity(a, b, power=1.0):
        return float(np.exp(-(np.abs(a - b).sum() ** power)))

    settings = {"kernel": similarity, "kernel_params": {"power": 0.5}}
    theirs, ours = Reference(**settings).fit(X, y), KernelRidge(**settings).fit(X, y)
    assert np.allclose(ours.predict(X[:7]), theirs.predict(X[:7]), atol=1e-10)


@pytest.mark.parametrize("representation", ["dense", "lazy", Nystrom(rank=60), IncompleteCholesky(tol=1e-14)], ids=str)
@pytest.mark.parametrize("degree", [0, 1])
def test_free_part_against_the_saddle_point_system(representation, degree) -> None:
    K, H = Gaussian(1.3)(X), Polynomials(degree)(X)
    a, c = brute_force(K, H, Y, 0.5, WEIGHT)
    model = KernelRidge(0.5, kernel=Gaussian(1.3), free=degree, gram=representation, random_state=0).fit(X, Y, WEIGHT)
    assert np.allclose(model.free_coef_, c, atol=1e-7)
    assert np.allclose(model.predict(X), K @ a + H @ c, atol=1e-7)
    assert np.allclose(H.T @ model.dual_coef_, 0, atol=1e-8)


def test_intercept_is_the_constant_free_function() -> None:
    model = KernelRidge(1e6, kernel="rbf", fit_intercept=True).fit(X, y + 100)
    assert model.intercept_ == pytest.approx(y.mean() + 100, rel=1e-4)
    shift = np.array([5.0, -3.0])
    assert np.allclose(
        KernelRidge(kernel="rbf", fit_intercept=True).fit(X, Y).intercept_,
        KernelRidge(kernel="rbf", fit_intercept=True).fit(X, Y + shift).intercept_ - shift,
    )


def test_functions_as_free_part() -> None:
    def first(X):
        return X[:, 0]

    model = KernelRidge(0.5, kernel=Gaussian(1.3), free=[first]).fit(X, y)
    a, c = brute_force(Gaussian(1.3)(X), X[:, :1], y, 0.5, np.ones(60))
    assert np.allclose(model.free_coef_, c) and np.allclose(model.dual_coef_, a)


@pytest.mark.parametrize(("kernel", "free"), [(Power(1.0), 0), (ThinPlate(), 1)], ids=str)
def test_conditionally_definite_kernels_with_their_polynomials(kernel, free, recwarn) -> None:
    a, c = brute_force(kernel(X), Polynomials(free)(X), y, 0.5, np.ones(60))
    model = KernelRidge(0.5, kernel=kernel, free=free).fit(X, y)
    assert not recwarn.list
    assert model.solution_.method == "cholesky"
    assert np.allclose(model.dual_coef_, a, atol=1e-8) and np.allclose(model.free_coef_, c, atol=1e-8)


def test_conditionally_definite_without_them_warns_and_says_what_to_do() -> None:
    with pytest.warns(IndefiniteKernelWarning, match=r"fit_intercept=True"):
        model = KernelRidge(0.5, kernel=Power(1.0)).fit(X, y)
    assert np.allclose((Power(1.0)(X) + 0.5 * np.eye(60)) @ model.dual_coef_, y)


def test_zero_alpha_is_the_minimum_norm_least_squares_solution() -> None:
    model = KernelRidge(0, kernel="linear").fit(X, y)
    w, *_ = np.linalg.lstsq(X, y, rcond=None)
    assert np.allclose(model.predict(np.eye(4)), w, atol=1e-9)
    assert model.function_.norm() == pytest.approx(np.linalg.norm(w))


def test_zero_weight_removes_a_sample() -> None:
    weight = np.ones(60)
    weight[:20] = 0
    whole = KernelRidge(0.3, kernel="rbf", gamma=0.2, fit_intercept=True).fit(X, y, weight)
    part = KernelRidge(0.3, kernel="rbf", gamma=0.2, fit_intercept=True).fit(X[20:], y[20:])
    assert np.allclose(whole.predict(X), part.predict(X))
    assert np.all(whole.dual_coef_[:20] == 0)


def test_sparse_input_gives_the_dense_answer() -> None:
    S = np.where(np.abs(X) > 0.7, X, 0.0)
    for kernel in ("rbf", "linear", "laplacian"):
        dense = KernelRidge(kernel=kernel).fit(S, y).predict(S[:9])
        assert np.allclose(KernelRidge(kernel=kernel).fit(csr_array(S), y).predict(csr_array(S)[:9]), dense)


def test_every_array_library(xp) -> None:
    A, b = xp.asarray(X), xp.asarray(y)
    model = KernelRidge(0.5, kernel="rbf", fit_intercept=True).fit(A, b)
    assert isinstance(model.predict(A), type(A))
    expected = KernelRidge(0.5, kernel="rbf", fit_intercept=True).fit(X, y).predict(X)
    assert np.allclose(np.asarray(model.predict(A)), expected, atol=1e-9)


def test_single_precision_stays_single() -> None:
    model = KernelRidge(kernel="rbf").fit(X.astype("f"), y.astype("f"))
    assert model.predict(X).dtype == np.float32
    assert np.allclose(model.predict(X), KernelRidge(kernel="rbf").fit(X, y).predict(X), atol=1e-4)


def test_the_function_is_the_minimiser_of_the_objective() -> None:
    model = KernelRidge(0.7, kernel="gaussian(lengthscale=1.5)").fit(X, y, WEIGHT)

    def objective(f):
        return 0.5 * np.sum(WEIGHT * (y - f(X)) ** 2) + 0.35 * f.norm() ** 2

    best = objective(model.function_)
    for seed in range(20):
        direction = np.random.default_rng(seed).normal(size=60) * 1e-3
        other = type(model.function_)(model.kernel_, X, model.dual_coef_ + direction)
        assert objective(other) > best


def test_nested_parameters_in_a_grid_search() -> None:
    model = KernelRidge(kernel=Gaussian() + Linear())
    search = GridSearchCV(model, {"kernel__0__lengthscale": [0.5, 2.0], "alpha": [0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_estimator_.kernel.kernels[0].lengthscale == search.best_params_["kernel__0__lengthscale"]
    assert model.kernel.kernels[0].lengthscale == 1.0


def test_data_driven_lengthscale_is_stored() -> None:
    model = KernelRidge(kernel="gaussian(lengthscale='median')").fit(X, y)
    distances = np.linalg.norm(X[:, None] - X[None], axis=-1)
    assert model.kernel_.lengthscale == pytest.approx(np.median(distances[np.triu_indices(60, 1)]))
    assert model.kernel == "gaussian(lengthscale='median')"


def test_auto_stores_what_it_chose() -> None:
    assert KernelRidge().fit(X, y).gram_choice_.startswith("Dense: the 60 × 60 matrix needs")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -1.0}, "alpha = -1.0 must be finite and >= 0"),
        ({"alpha": np.inf}, "alpha = inf must be finite and >= 0"),
        ({"alpha": [1.0, 2.0, 3.0]}, "alpha has 3 entries, but y has 1 target"),
        ({"kernel": Gaussian(), "gamma": 2.0}, "gamma"),
        ({"kernel": "gausian"}, "gaussian"),
        ({"kernel": Gaussian(-1.0)}, r"Gaussian: lengthscale = -1.0 must be > 0"),
        ({"gram": "denser"}, "gram = 'denser' is unknown"),
        ({"solver": "lu"}, "solver = 'lu' is unknown"),
        ({"fit_intercept": True, "free": 1}, "fit_intercept=True and free=1 are mutually exclusive"),
        ({"free": "slope"}, "free = 'slope' must be"),
    ],
    ids=str,
)
def test_bad_parameters(settings, message) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        KernelRidge(**settings).fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"), [(-WEIGHT, "sample_weight"), (0 * WEIGHT, "zero for all"), (WEIGHT[:5], "sample_weight")]
)
def test_bad_weights(weight, message) -> None:
    with pytest.raises(ValueError, match=message):
        KernelRidge().fit(X, y, weight)


def test_bad_data() -> None:
    for data, message in [
        (np.where(X > 2, np.nan, X), "NaN"),
        (X[:0], "0 sample"),
        (X[:, :0], "0 feature"),
        (X[:, 0], "Reshape your data|reshape"),
        (X[:5], "inconsistent numbers of samples"),
    ]:
        with pytest.raises(ValueError, match=message):
            KernelRidge().fit(data, y)
    with pytest.raises(ValueError, match="features"):
        KernelRidge().fit(X, y).predict(X[:, :2])
    with pytest.raises(ValueError, match="not symmetric"):
        KernelRidge(kernel="precomputed").fit(np.arange(9.0).reshape(3, 3), y[:3])
    with pytest.raises(ValueError, match="square"):
        KernelRidge(kernel="precomputed").fit(X, y)


def test_mixed_libraries_are_refused() -> None:
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="convert y"):
        KernelRidge().fit(torch.asarray(X), list(y))
    model = KernelRidge(kernel="rbf").fit(torch.asarray(X), torch.asarray(y))
    with pytest.raises(TypeError, match="convert one"):
        model.predict(X)


def test_one_sample() -> None:
    assert KernelRidge(1.0, kernel="rbf").fit(X[:1], y[:1]).predict(X[:1])[0] == pytest.approx(y[0] / 2)
    mean, std = KernelRidge(0.3, kernel="rbf", fit_intercept=True).fit(X[:1], y[:1]).predict(X[:1], return_std=True)
    assert mean[0] == pytest.approx(y[0]) and std[0] ** 2 == pytest.approx(0.3)  # all of it is the noise


def test_new_labels_are_not_cut_to_the_length_of_known_ones():
    model = KernelRidge(alpha=1e-9, kernel="delta").fit(np.array([["red"], ["blue"]]), [1.0, 2.0])
    np.testing.assert_allclose(model.predict(np.array([["redder"], ["blue"]])), [0, 2], atol=1e-8)
    model = KernelRidge(alpha=1e-9, kernel="delta").fit(np.array([[1], [2]]), [1.0, 2.0])
    np.testing.assert_allclose(model.predict(np.array([[1.5], [2.0]])), [0, 2], atol=1e-8)


@pytest.mark.parametrize(
    "bad", [np.array([["1"], ["2"]]), np.array([["1"], [2]], dtype=object), [["a"], ["b"]]], ids=str
)
def test_text_is_not_read_as_numbers(bad):
    with pytest.raises(TypeError, match=r"KernelRidge: X holds text such as '[1a]', expected numbers"):
        KernelRidge().fit(bad, [1.0, 2.0])


@pytest.mark.parametrize("kernel", ["linear", "delta"])
def test_masked_entries_are_refused(kernel):
    mask = np.ma.masked_array(X, X > 2)
    with pytest.raises(ValueError, match="KernelRidge: X has masked entries"):
        KernelRidge(kernel=kernel).fit(mask, y)
    with pytest.raises(ValueError, match="KernelRidge: y has masked entries"):
        KernelRidge(kernel=kernel).fit(X, np.ma.masked_array(y, y > 0))


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.ones((60, 2, 2)), r"y has shape \(60, 2, 2\); expected \(60,\) or \(60, n_targets\)"),
        (np.float64(1.0), r"y has shape \(\)"),
        (y + 1j, "y holds complex128 values; give real numbers"),
        (["a"] * 60, "y holds text, such as 'a'; give real numbers"),
        (y[:5], "X has 60 samples and y has 5"),
    ],
    ids=["3d", "0d", "complex", "text", "short"],
)
def test_bad_targets_of_any_domain(target, message):
    with pytest.raises((TypeError, ValueError), match=message):
        KernelRidge(kernel="delta").fit(X, target)


@pytest.mark.parametrize("alpha", ["1", None, 1j, True, [1.0, "x"]], ids=str)
def test_alpha_is_a_number(alpha):
    with pytest.raises(TypeError, match=r"KernelRidge: alpha = .* must be a number >= 0"):
        KernelRidge(alpha=alpha).fit(X, y)


def test_weights_are_numbers():
    with pytest.raises(TypeError, match="KernelRidge: sample_weight holds"):
        KernelRidge().fit(X, y, sample_weight=["1"] * 60)


def test_a_grid_may_hold_numpy_integers():
    grid = {"free": np.arange(2), "kernel__smoothness": np.arange(1, 3)}
    search = GridSearchCV(KernelRidge(kernel=Wendland(1, 3.0)), grid, cv=3).fit(X, y)
    assert search.cv_results_["mean_test_score"].shape == (4,)


# ---- the Gaussian process behind it


NEW = rng.normal(size=(9, 4))


@pytest.mark.parametrize("target", [y, Y], ids=["one", "two"])
@pytest.mark.parametrize("noise", [1e-3, 0.5])
def test_standard_deviation_equals_that_of_scikit_learns_gaussian_process(noise, target) -> None:
    lengths = np.array([0.8, 1.2, 2.0, 0.5])
    theirs = GaussianProcessRegressor(1.7 * RBF(lengths), alpha=noise, optimizer=None).fit(X, target)
    ours = KernelRidge(noise, kernel=1.7 * Gaussian(lengths)).fit(X, target)
    for a, b in zip(ours.predict(NEW, return_std=True), theirs.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-8)
    at = 1.7 * Gaussian(lengths * 1.3)
    value = ours.log_marginal_likelihood({"kernel__lengthscale": lengths * 1.3})
    theirs = GaussianProcessRegressor(1.7 * RBF(lengths * 1.3), alpha=noise, optimizer=None).fit(X, target)
    assert value == pytest.approx(theirs.log_marginal_likelihood_value_, rel=1e-9)
    assert KernelRidge(noise, kernel=at).fit(X, target).log_marginal_likelihood() == pytest.approx(value, rel=1e-12)


def test_weights_divide_the_noise() -> None:
    theirs = GaussianProcessRegressor(RBF(1.3), alpha=0.2 / WEIGHT, optimizer=None).fit(X, y)
    ours = KernelRidge(0.2, kernel=Gaussian(1.3)).fit(X, y, WEIGHT)
    np.testing.assert_allclose(
        ours.predict(NEW, return_std=True)[1], theirs.predict(NEW, return_std=True)[1], atol=1e-8
    )


@pytest.mark.parametrize(
    "weight", [None, WEIGHT, np.where(WEIGHT < 0.5, 0.0, WEIGHT)], ids=["equal", "weighted", "zero"]
)
def test_with_a_free_part_it_is_the_limit_of_a_wide_prior(weight) -> None:
    wide = 1e7
    ours = KernelRidge(0.2, kernel=Gaussian(1.3), free=1).fit(X, y, weight)
    limit = KernelRidge(0.2, kernel=Gaussian(1.3) + wide * (Linear() + Constant(1.0))).fit(X, y, weight)
    mean, std = ours.predict(NEW, return_std=True)
    np.testing.assert_allclose(mean, limit.predict(NEW), atol=1e-4)
    np.testing.assert_allclose(std, limit.predict(NEW, return_std=True)[1], rtol=1e-4)


def test_an_interpolant_is_certain_at_its_points_and_has_the_power_function() -> None:
    std = KernelRidge(0.0, kernel=Gaussian(1.0), free=0).fit(X, y).predict(np.vstack([X[:3], NEW]), return_std=True)[1]
    np.testing.assert_allclose(std[:3], 0, atol=1e-6)
    np.testing.assert_allclose(std[3:], KernelInterpolator(Gaussian(1.0), free=0).fit(X, y).power(NEW), atol=1e-6)


@pytest.mark.parametrize("free", [None, 1])
def test_standard_deviation_of_every_representation(free) -> None:
    kernel = Gaussian(1.3)
    exact = KernelRidge(0.2, kernel=kernel, free=free).fit(X, y, WEIGHT).predict(NEW, return_std=True)[1]
    for gram in ("lazy", IncompleteCholesky(tol=1e-13)):
        model = KernelRidge(0.2, kernel=kernel, free=free, gram=gram).fit(X, y, WEIGHT)
        np.testing.assert_allclose(model.predict(NEW, return_std=True)[1], exact, rtol=1e-6)
    far = KernelRidge(0.2, kernel=kernel, gram=Nystrom(rank=5), random_state=0).fit(X, y)
    np.testing.assert_allclose(far.predict(NEW + 100, return_std=True)[1], 1.0)


def test_standard_deviation_with_one_alpha_per_target_and_after_pickling() -> None:
    model = KernelRidge([0.1, 2.0], kernel="rbf", fit_intercept=True).fit(X, Y)
    std = model.predict(NEW, return_std=True)[1]
    for j, alpha in enumerate([0.1, 2.0]):
        one = KernelRidge(alpha, kernel="rbf", fit_intercept=True).fit(X, Y[:, j])
        np.testing.assert_allclose(std[:, j], one.predict(NEW, return_std=True)[1], rtol=1e-10)
    assert len(pickle.dumps(model)) < 1.2 * len(pickle.dumps(clone(model).fit(X, Y)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(NEW, return_std=True)[1], std)


@pytest.mark.parametrize("name", ["gausspr_reg_rbf_sine", "gausspr_reg_laplace_cars", "gausspr_reg_poly_cars"])
def test_values_of_kernlabs_gausspr(name, oracle) -> None:
    o = oracle(name)
    p = o["parameters"]
    kernel = {
        "rbfdot": lambda: Gaussian.from_kernlab(p["sigma"]),
        "laplacedot": lambda: Laplace.from_kernlab(p["sigma"]),
        "polydot": lambda: Polynomial(p["degree"], scale=p["scale"], offset=p["offset"]),
    }[p["kernel"]]()
    model = KernelRidge(p["var"], kernel=kernel).fit(o["inputs"]["X"], o["inputs"]["y"])
    tol = 1e-7 if p["kernel"] == "laplacedot" else 1e-9  # kernlab rounds its distances there
    mean, std = model.predict(o["inputs"]["Xnew"], return_std=True)
    np.testing.assert_allclose(mean, np.ravel(o["outputs"]["predict_new"]), atol=tol)
    np.testing.assert_allclose(std**2, np.ravel(o["outputs"]["variance_new"]), atol=tol)
    if p["kernel"] != "polydot":  # of low rank: kernlab's coefficients are not determined to so many digits
        np.testing.assert_allclose(model.dual_coef_, np.ravel(o["outputs"]["alpha"]), atol=100 * tol)


def test_gradient_of_the_likelihood_is_offered_by_name() -> None:
    kernel = 1.5 * Gaussian(np.array([0.8, 1.2, 2.0, 0.5]))
    model = KernelRidge(0.3, kernel=kernel, fit_intercept=True).fit(X, Y, WEIGHT)
    value, gradient = model.log_marginal_likelihood(gradient=True)
    assert set(gradient) == {"alpha", "scale", "kernel__lengthscale"}
    assert value == pytest.approx(model.log_marginal_likelihood())
    step = 1e-5
    up, down = (model.log_marginal_likelihood({"scale": 1.5 + s, "alpha": 0.3}) for s in (step, -step))
    assert gradient["scale"] == pytest.approx((up - down) / (2 * step), rel=1e-5)
    up, down = (model.log_marginal_likelihood({"alpha": 0.3 + s}) for s in (step, -step))
    assert gradient["alpha"] == pytest.approx((up - down) / (2 * step), rel=1e-5)
    with pytest.raises(TypeError, match="needs the exact kernel matrix"):
        KernelRidge(kernel="rbf", gram=Nystrom(rank=5)).fit(X, y).log_marginal_likelihood(gradient=True)
    with pytest.raises(ValueError, match=r"one alpha > 0 for all targets; got \[1.0, 2.0\]"):
        KernelRidge([1.0, 2.0], kernel="rbf").fit(X, Y).log_marginal_likelihood(gradient=True)
    with pytest.raises(ValueError, match=r"one alpha > 0 for all targets; got \[0.0\]"):
        KernelRidge(0.0, kernel="rbf").fit(X, y).log_marginal_likelihood(gradient=True)


def test_the_likelihood_of_a_drawn_factor_draws_as_the_fit_did() -> None:
    model = KernelRidge(0.3, kernel=Gaussian(1.3), gram=Nystrom(rank=5), random_state=7).fit(X, y)
    assert model.log_marginal_likelihood({"lengthscale": 1.3}) == pytest.approx(model.log_marginal_likelihood())


@pytest.mark.parametrize("gram", ["auto", Nystrom(rank=20)], ids=["dense", "low rank"])
def test_leave_one_out_equals_refits(gram) -> None:
    weight = np.where(WEIGHT < 0.4, 0.0, WEIGHT)
    model = KernelRidge([0.2, 3.0], kernel=Gaussian(1.3), free=1, gram=gram, random_state=0).fit(X, Y, weight)
    values = model.leave_one_out()
    assert values.shape == Y.shape and (weight == 0).any()
    for i in range(0, 60, 3):
        without = weight.copy()
        without[i] = 0
        other = clone(model).fit(X, Y, without)
        np.testing.assert_allclose(values[i], other.predict(X[[i]])[0], rtol=0, atol=1e-8)


def test_summary_by_definition() -> None:
    alpha, H, K = 0.5, Polynomials(1)(X), Gaussian(1.3)(X)
    model = KernelRidge(alpha, kernel=Gaussian(1.3), free=1).fit(X, y, WEIGHT)
    told = model.summary()
    hat = np.column_stack(
        [KernelRidge(alpha, kernel=Gaussian(1.3), free=1).fit(X, e, WEIGHT).predict(X) for e in np.eye(60)]
    )
    degrees = np.trace(hat)
    residual = y - hat @ y
    assert told.degrees_of_freedom == pytest.approx(degrees)
    variance = np.sum(WEIGHT * residual**2) / (60 - degrees)
    assert told.residual_variance == pytest.approx(variance)
    S = K + alpha * np.diag(1 / WEIGHT)
    covariance = variance / alpha * np.linalg.inv(H.T @ np.linalg.solve(S, H))
    np.testing.assert_allclose(told.free_std_error, np.sqrt(np.diagonal(covariance)))
    np.testing.assert_array_equal(told.free_coef, model.free_coef_)
    left_out = residual / (1 - np.diagonal(hat))
    assert told.leave_one_out == pytest.approx(np.average(left_out**2, weights=WEIGHT))
    assert told.gcv == pytest.approx(np.mean(WEIGHT * residual**2) / (1 - degrees / 60) ** 2)
    assert told.log_marginal_likelihood == pytest.approx(model.log_marginal_likelihood())
    assert told.n_samples == 60 and "60 samples, kernel gaussian(lengthscale=1.3), alpha 0.5" in str(told)
    assert str(told).count("(") >= 5


def test_summary_of_several_targets() -> None:
    told = KernelRidge([0.5, 2.0], kernel="rbf", fit_intercept=True).fit(X, Y).summary()
    for j, alpha in enumerate([0.5, 2.0]):
        one = KernelRidge(alpha, kernel="rbf", fit_intercept=True).fit(X, Y[:, j]).summary()
        for name in ("degrees_of_freedom", "residual_variance", "gcv", "leave_one_out", "log_marginal_likelihood"):
            assert getattr(told, name)[j] == pytest.approx(getattr(one, name))
        assert told.free_std_error[0, j] == pytest.approx(one.free_std_error[0])
    assert KernelRidge(kernel="rbf").fit(X, y).summary().free_std_error is None
    with pytest.raises(ValueError, match="alpha = 0 leaves no residuals"):
        KernelRidge(0, kernel="rbf").fit(X, y).summary()


def test_standard_deviation_is_refused_where_there_is_none() -> None:
    with pytest.warns(IndefiniteKernelWarning):
        model = KernelRidge(kernel="sigmoid").fit(X, y)
    with pytest.raises(ValueError, match="return_std needs a positive definite kernel"):
        model.predict(X, return_std=True)
    K = Gaussian(1.3)(X)
    with pytest.raises(TypeError, match=r"return_std needs k\(x, x\)"):
        KernelRidge(kernel="precomputed").fit(K, y).predict(K, return_std=True)


def test_standard_deviation_in_every_array_library(xp) -> None:
    model = KernelRidge(0.5, kernel="rbf", fit_intercept=True).fit(xp.asarray(X), xp.asarray(y))
    _, std = model.predict(xp.asarray(NEW), return_std=True)
    expected = KernelRidge(0.5, kernel="rbf", fit_intercept=True).fit(X, y).predict(NEW, return_std=True)[1]
    np.testing.assert_allclose(np.asarray(std), expected, rtol=1e-9)
    np.testing.assert_allclose(
        np.asarray(model.leave_one_out()), KernelRidge(0.5, kernel="rbf", fit_intercept=True).fit(X, y).leave_one_out()
    )


def test_standard_errors_that_rounding_outweighs_are_refused(monkeypatch) -> None:
    model = KernelRidge(1.0, kernel="linear", fit_intercept=True).fit(X, y)
    monkeypatch.setattr(Spectral, "free_covariance", lambda *_: np.array([[-1e-9]]))  # as a matrix of 1e15 leaves it
    with pytest.raises(ValueError, match="alpha = 1 is so small relative to the kernel matrix that rounding errors"):
        model.summary()


@pytest.mark.parametrize(
    "model", [KernelRidge(gram="low_rank"), KernelRidge(gram="dense"), KernelRidgeCV(kernel="linear")]
)
def test_matrices_without_squares_are_refused(model) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(ValueError, match=r": the kernel linear has values up to .*; scale the data or the kernel"):
        model.fit(2.0**300 * X, X[:, 0])


@pytest.mark.parametrize("model", [KernelRidge(0.5, free=1), KernelRidgeCV(free=1)], ids=str)
@pytest.mark.parametrize("exponent", [-900, 900])
def test_free_polynomials_in_any_unit(model, exponent) -> None:
    X, unit = np.random.default_rng(0).normal(size=(30, 2)), 2.0**exponent
    model.set_params(kernel="gaussian(lengthscale='median')")
    expected = model.fit(X, X[:, 0] ** 2).predict(X)
    np.testing.assert_allclose(model.fit(X * unit, X[:, 0] ** 2).predict(X * unit), expected, atol=1e-10)


@pytest.mark.parametrize(
    "model", [KernelRidge(kernel="linear"), KernelRidgeCV(kernel="linear", alphas=[1.0], fit_intercept=False)], ids=str
)
@pytest.mark.filterwarnings("ignore::mercer.JitterWarning", "ignore::mercer.IndefiniteKernelWarning")
def test_strengths_below_the_rounding_of_the_matrix_are_warned_of(model) -> None:
    """Of linear data far from 0 without an intercept, an alpha of 1 is nothing; near 0 it is all that it should be."""
    X = np.random.default_rng(3).normal(size=(40, 2))
    y = X @ [1.0, -2.0]
    with pytest.warns(RoundingWarning, match="alpha = 1 is below the rounding errors of the kernel matrix, about"):
        clone(model).fit(X + 1e8, y)
    clone(model).fit(X, y)
    clone(model).set_params(fit_intercept=True).fit(X + 1e8, y)


@pytest.mark.parametrize("gram", ["dense", "lazy", "low_rank"])
@pytest.mark.parametrize(("dtype", "far", "alpha"), [("f8", 100.0, 1e-9), ("f4", 100.0, 0.1)])
def test_rounding_that_moves_the_values_is_warned_of(gram, dtype, far, alpha) -> None:
    """By the residual: alpha is larger than the rounding of k, and the values were off by their own size."""
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(130, 2)).astype(dtype), rng.normal(size=130)
    model = KernelRidge(alpha, kernel="linear", gram=gram)
    with pytest.warns(RoundingWarning, match="KernelRidge: alpha = .* rounding errors change the fitted values by"):
        model.fit(X + np.array(far, dtype), y)
    with pytest.warns(RoundingWarning, match="rounding errors change the fitted values"):
        clone(model).set_params(alpha=[1e3, alpha]).fit(X + np.array(far, dtype), np.stack([y, y], axis=1))
    clone(model).set_params(fit_intercept=True).fit(X + np.array(far, dtype), y)


# ---- new points as the sample, whatever holds them


@pytest.mark.parametrize("kernel", ["constant", np.dot, "delta", "hamming", "gaussian"], ids=str)
@pytest.mark.parametrize("model", [KernelRidge(), KernelPCA(n_components=1), KernelInterpolator(tol=1.0)])
def test_samples_and_new_points_may_be_held_differently(kernel, model):
    """Lists, frames and arrays of either precision hold the same whole numbers."""
    A, target = rng.integers(0, 3, size=(20, 2)) * 1.0, np.zeros(20)
    forms = [A, A.astype(np.float32), A.tolist(), pd.DataFrame(A)]

    def values(fitted, new):
        return fitted.transform(new) if isinstance(fitted, KernelPCA) else fitted.predict(new)

    for sample in forms:
        fitted = clone(model).set_params(kernel=kernel).fit(sample, target)
        first = values(fitted, sample)
        for new in forms:
            np.testing.assert_allclose(values(fitted, new), first, atol=2e-6)


def test_the_number_of_columns_is_that_of_the_last_fit():
    model = KernelRidge(kernel="constant").fit(np.zeros((4, 3)), np.ones(4))
    assert model.n_features_in_ == 3
    assert model.fit(pd.DataFrame(np.zeros((4, 2))), np.ones(4)).n_features_in_ == 2
    with pytest.raises(ValueError, match="KernelRidge: X has 3 features, but was fitted with 2"):
        model.predict(np.zeros((1, 3)))
    model.fit([[0.0, 1.0], [1.0, 2.0]], np.ones(2))
    assert not hasattr(model, "n_features_in_")


def test_statistics_are_those_of_the_hat_matrix() -> None:
    """edf is the trace of S = K(K + αI)⁻¹, and the others follow from it and the residuals."""
    X = np.random.default_rng(4).normal(size=(25, 2))
    y = np.sin(X[:, 0]) + X[:, 1]
    model = KernelRidge(0.3, kernel="gaussian(1.5)").fit(X, y)
    K = model.kernel_(X)
    S = K @ np.linalg.inv(K + 0.3 * np.eye(25))
    r, edf = y - S @ y, np.trace(S)
    assert model.edf_ == pytest.approx(edf, rel=1e-9)
    assert model.noise_variance_ == pytest.approx(r @ r / (25 - edf), rel=1e-9)
    assert model.gcv_ == pytest.approx(r @ r / 25 / (1 - edf / 25) ** 2, rel=1e-9)
    assert model.set_params(alpha=3.0).fit(X, y).edf_ < edf
    several = KernelRidge([0.3, 3.0], kernel="gaussian(1.5)").fit(X, np.stack([y, y], axis=1))
    assert several.edf_.shape == (2,) and several.edf_[0] == pytest.approx(edf, rel=1e-9)
    assert pickle.loads(pickle.dumps(several)).gcv_ == pytest.approx(several.gcv_)


@pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
def test_statistics_that_an_indefinite_kernel_lacks_are_no_attributes():
    model = KernelRidge(0.1, kernel="thin_plate").fit(X, y)
    assert not hasattr(model, "edf_") and "predict" in dir(model)
    with pytest.raises(AttributeError, match="not positive definite on these data"):
        _ = model.gcv_


def test_statistics_that_a_fit_leaves_undefined_are_no_attributes():
    """So that ``hasattr`` and ``inspect.getmembers`` can ask for them."""
    exact = KernelRidge(0.0, kernel="gaussian").fit(X, y)
    single = KernelRidge(kernel="gaussian", fit_intercept=True).fit(X[:1], y[:1])
    for model, reason in ((exact, "alpha = 0 leaves no residuals"), (single, "no residuals are left to choose by")):
        assert dict(inspect.getmembers(model))["n_features_in_"] == X.shape[1] and not hasattr(model, "edf_")
        with pytest.raises(AttributeError, match=f"KernelRidge: .*{reason}"):
            _ = model.noise_variance_


def test_a_fit_lost_in_rounding_has_not_converged():
    with pytest.warns(RoundingWarning, match="below the rounding errors"):
        model = KernelRidge(1e-20, kernel="gaussian", gram="nystrom", random_state=0).fit(X, X[:, 0])
    assert model.solution_.residual > 1 and not model.solution_.converged
