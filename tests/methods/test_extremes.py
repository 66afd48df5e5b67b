"""Data of any size: every estimator answers with finite numbers, or refuses with what to do; nothing is silently NaN.

Where powers of two can be taken out, the answers are those of ordinary data, to the last digits.
"""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor

import mercer
from mercer import (
    KernelCCA,
    KernelDensity,
    KernelFeatureAnalysis,
    KernelFisher,
    KernelInterpolator,
    KernelKMeans,
    KernelMeanClassifier,
    KernelPCA,
    KernelPLS,
    KernelRidge,
    KernelRidgeCV,
    KreinRidge,
    KreinSVC,
    RobustKernelDensity,
)
from mercer.kernels import Gaussian, Laplace, Matern, registry
from mercer.kernels._radial import Radial

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=30)
LABELS = (y > 0).astype(int)
CASES = {
    "X·1e200": (X * 1e200, y),
    "X·1e30 in float32": ((X * 1e30).astype(np.float32), y),
    "X·1e-200": (X * 1e-200, y),
    "X·1e-30 in float32": ((X * 1e-30).astype(np.float32), y),
    "y·1e300": (X, y * 1e300),
    "y·1e-300": (X, y * 1e-300),
}
KERNELS = ["linear", "gaussian", "gaussian(lengthscale='median')", "polynomial(degree=3)", "laplace(norm=1)"]


def estimators():
    """Every estimator of vectors that needs no more than samples and targets, with a few kernels."""
    for name in sorted(mercer.__all__):
        cls = getattr(mercer, name)
        if not (isinstance(cls, type) and hasattr(cls, "fit") and hasattr(cls, "get_params")):
            continue
        try:
            model = cls()
        except TypeError:
            continue  # it is made of another one
        if name in ("SmoothingSpline", "ManifoldRanking"):  # of one feature; of queries
            continue
        yield model
        if isinstance(model.get_params().get("kernel"), str) and "Density" not in name and name != "KernelICA":
            smooth = name == "KernelDimensionReduction"  # which needs derivatives
            yield from (cls(kernel=kernel) for kernel in (KERNELS[:-1] if smooth else KERNELS))


def answers(model, A, target):
    """Everything that a fitted model tells of the sample, one array each."""
    model = clone(model).fit(A, LABELS if is_classifier(model) else target)
    for method in ("predict", "transform", "decision_function", "predict_proba", "score_samples"):
        if hasattr(model, method):
            found = getattr(model, method)(A)
            yield method, np.asarray(found[0] if isinstance(found, tuple) else found)
    for name, value in vars(model).items():
        if name.endswith("_") and isinstance(value, (float, np.ndarray)):
            yield name, np.asarray(value)


def check_extreme(model, case):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            found = list(answers(model, *CASES[case]))
        except ValueError as error:
            assert len(str(error).split(" ")) > 8, error  # a sentence, by this library
            assert "array must not contain" not in str(error) and "Input contains" not in str(error)
            return
    for name, values in found:
        assert values.dtype.kind not in "fc" or np.isfinite(values).all(), name


QUICK = [
    KernelRidgeCV(),
    KernelPCA(),
    KernelDensity(),
    RobustKernelDensity(),
    KreinSVC(),
    KernelFisher(),
    KernelFisher(kernel="linear"),
    KernelPLS(),
    KernelPLS(kernel="linear"),
    KernelMeanClassifier(kernel="linear"),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", QUICK, ids=str)
def test_finite_or_refused(model, case):
    check_extreme(model, case)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("model", list(estimators()), ids=str)
def test_every_estimator_is_finite_or_refuses(model, case):
    if case.startswith("y") and not is_regressor(model):
        pytest.skip("no targets")
    check_extreme(model, case)


# ---- what is representable is right


@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660, 2.0**1000])
@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(),
        Gaussian(np.array([1.0, 2.0, 0.5])),
        Gaussian(np.eye(3) + 0.3),
        Matern(1.5),
        Laplace(),
        Laplace(norm=1),
    ],
    ids=str,
)
def test_lengthscales_have_the_unit_of_the_data(kernel, unit):
    other = clone(kernel).set_params(lengthscale=np.asarray(kernel.lengthscale) * unit)
    other.lengthscale = other.lengthscale if np.ndim(kernel.lengthscale) else float(other.lengthscale)
    np.testing.assert_allclose(other(unit * X), kernel(X), rtol=1e-12)
    np.testing.assert_allclose(other(unit * X[:7], unit * X[7:]), kernel(X[:7], X[7:]), rtol=1e-12)


@pytest.mark.parametrize("e", [-1000, -300, 40, 300, 1000])
@pytest.mark.parametrize("kernel", [Gaussian(0.75), Matern(1.5, 0.75), Laplace(0.75, norm=1)], ids=str)
def test_powers_of_two_change_no_digit(kernel, e):
    other = clone(kernel).set_params(lengthscale=np.ldexp(0.75, e))
    np.testing.assert_array_equal(other(np.ldexp(X, e)), kernel(X))


@pytest.mark.parametrize("rule", ["median", "scale", "sigest"])
@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660])
def test_rules_of_lengthscales_have_the_unit_of_the_data(rule, unit):
    assert Gaussian(rule).resolve(unit * X).lengthscale == unit * Gaussian(rule).resolve(X).lengthscale


@pytest.mark.parametrize("far", [X * 1e200, (X * 1e30).astype(np.float32)], ids=["float64", "float32"])
@pytest.mark.parametrize(
    "kernel", [k for cls in registry.values() for k in cls.examples() if isinstance(k, Radial)], ids=str
)
def test_radial_kernels_of_points_far_apart(kernel, far):
    if "period" in kernel.get_params():
        pytest.skip("there is no far on a circle")
    if not kernel.vanishes:
        with pytest.raises(ValueError, match="scale the data"):
            kernel(far)
        return
    np.testing.assert_array_equal(kernel(far), np.eye(30))
    np.testing.assert_array_equal(kernel(far[:3], far[3:]), np.zeros((3, 27)))


def test_a_lengthscale_without_a_reciprocal():
    np.testing.assert_array_equal(Gaussian(1e-320)(X), np.eye(30))


@pytest.mark.parametrize("unit", [2.0**990, 2.0**-1000])
@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(0.5, kernel="gaussian"),
        KernelRidge(0.5, kernel="linear", fit_intercept=True),
        KernelRidge(0.5, kernel="gaussian", gram="lazy"),
        KreinRidge(kernel="gaussian"),
        KernelInterpolator("gaussian"),
        KernelInterpolator("gaussian", free=0),
        KernelPLS(2, kernel="gaussian"),
    ],
    ids=str,
)
def test_targets_of_any_size(model, unit):
    expected = clone(model).fit(X, y).predict(X)
    np.testing.assert_allclose(clone(model).fit(X, unit * y).predict(X) / unit, expected, rtol=1e-9)


def test_targets_of_two_sizes():
    both = np.stack([2.0**990 * y, 2.0**-990 * y], axis=1)
    found = KernelRidge(0.5, kernel="gaussian", fit_intercept=True).fit(X, both).predict(X)
    np.testing.assert_allclose(found[:, 0] / 2.0**990, found[:, 1] * 2.0**990, rtol=1e-9)


def test_errors_whose_squares_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match=r"KernelRidgeCV: y is of size .*; divide it by"):
        KernelRidgeCV(kernel="gaussian").fit(X, 1e300 * y)


def test_new_points_too_large_for_the_kernel_are_refused():
    model = KernelRidge(kernel="polynomial(degree=3)").fit(X, y)
    with pytest.raises(ValueError, match="overflows in float64; scale the data"):
        model.predict(1e154 * X)
    clusters = KernelKMeans(2, kernel="linear", random_state=0).fit(X)
    with pytest.raises(ValueError, match="KernelKMeans: the squared length of sample 0 is beyond"):
        clusters.transform(1e200 * X)


@pytest.mark.parametrize("unit", [2.0**500, 2.0**-400])
@pytest.mark.parametrize("gram", ["auto", "nystrom"])
def test_kernels_whose_values_have_no_squares_are_combined(gram, unit):
    inner = KernelRidge(0.1, fit_intercept=True, gram=gram, random_state=0)
    model = mercer.MultipleKernel(inner, [Gaussian("median"), "linear"])
    near, far = clone(model).fit(X, y), clone(model).fit(unit * X, y)
    np.testing.assert_allclose(far.weights_, near.weights_, rtol=1e-9)
    np.testing.assert_allclose(far.predict(unit * X), near.predict(X), rtol=1e-7)
    with pytest.raises(ValueError, match=r"MultipleKernel: the squares of kernel values overflow; .* normalize=True"):
        model.set_params(normalize=False).fit(2.0**500 * X, y)


def near_and_far(model, e):
    """Fits with a kernel, and with 2ᵉ times it; fits with the linear kernel on X, and on 2^(e/2) X."""
    yield tuple(clone(model).set_params(kernel=2.0**k * Gaussian()).fit(X, y) for k in (0, e)), X, X
    samples = X, 2.0 ** (e // 2) * X
    yield tuple(clone(model).set_params(kernel="linear").fit(A, y) for A in samples), *samples


@pytest.mark.parametrize("e", [960, -960])
@pytest.mark.parametrize("solver", ["dense", "krylov"])
def test_components_have_the_unit_of_the_kernel(solver, e):
    for (near, far), A, B in near_and_far(KernelPCA(2, eigen_solver=solver, random_state=0), e):
        np.testing.assert_allclose(np.ldexp(far.eigenvalues_, -e), near.eigenvalues_, rtol=1e-9)
        np.testing.assert_allclose(np.ldexp(far.transform(B), -e // 2), near.transform(A), atol=1e-9)
        assert far.spectrum_.residual < 1e-9


@pytest.mark.parametrize("e", [960, -960])
def test_partial_least_squares_has_the_unit_of_the_kernel(e):
    for (near, far), A, B in near_and_far(KernelPLS(3), e):
        np.testing.assert_allclose(far.predict(B), near.predict(A), rtol=1e-9)
        np.testing.assert_allclose(np.ldexp(far.transform(B), -e // 2), near.transform(A), atol=1e-9)
        np.testing.assert_allclose(np.ldexp(far.y_loadings_, e // 2), near.y_loadings_, rtol=1e-9)


@pytest.mark.parametrize("e", [960, -960])
@pytest.mark.parametrize("epsilon", ["auto", "cv", "spectrum"])
def test_canonical_functions_have_no_unit(epsilon, e):
    for (near, far), A, B in near_and_far(KernelCCA(2, epsilon=epsilon, n_permutations=5, random_state=0), e):
        np.testing.assert_allclose(far.correlations_, near.correlations_, rtol=1e-9)
        np.testing.assert_allclose(far.transform(B), near.transform(A), atol=1e-9)
        np.testing.assert_array_equal(far.p_values_, near.p_values_)


def test_canonical_functions_under_any_penalty():
    """Correlations fall with 1/ε, where ε is far above all eigenvalues, and the functions stay the same."""
    near, far = (KernelCCA(2, kernel="gaussian", epsilon=2.0**k, n_permutations=5).fit(X, y) for k in (200, 1020))
    np.testing.assert_allclose(np.ldexp(far.correlations_, 820), near.correlations_, rtol=1e-9)
    np.testing.assert_allclose(far.transform(X), near.transform(X), atol=1e-9)
    tiny = KernelCCA(2, kernel=2.0**-900 * Gaussian(), epsilon=2.0**1000, n_permutations=5).fit(X, y)
    np.testing.assert_allclose(tiny.transform(X), near.transform(X), atol=1e-9)
    np.testing.assert_allclose(tiny.scores_[0].var(axis=0), 1.0)
    np.testing.assert_array_equal(tiny.correlations_, 0.0)  # about 2⁻¹⁹⁰⁰, which is no float


@pytest.mark.parametrize("e", [960, -960])
@pytest.mark.parametrize("candidates", [None, 10])
def test_sparse_features_have_the_unit_of_the_kernel(candidates, e):
    for (near, far), A, B in near_and_far(KernelFeatureAnalysis(2, candidates=candidates, random_state=0), e):
        np.testing.assert_array_equal(far.support_, near.support_)
        np.testing.assert_allclose(np.ldexp(far.spread_, -e), near.spread_, rtol=1e-9)
        np.testing.assert_allclose(np.ldexp(far.transform(B), -e), near.transform(A), atol=1e-9)


@pytest.mark.parametrize("e", [960, -960])
@pytest.mark.parametrize("gram", ["dense", "nystrom"])
def test_discriminants_have_no_unit(gram, e):
    for alpha in ("loo", 0.1):
        near, far = (
            KernelFisher(
                unit * Gaussian(),
                alpha=alpha if isinstance(alpha, str) else alpha * unit,
                calibration="loo",
                gram=gram,
                random_state=0,
            ).fit(X, LABELS)
            for unit in (1.0, 2.0**e)
        )
        assert np.ldexp(far.alpha_, -e) == pytest.approx(near.alpha_, rel=1e-12)
        np.testing.assert_allclose(far.decision_function(X), near.decision_function(X), atol=1e-7)
        np.testing.assert_allclose(far.leave_one_out(), near.leave_one_out(), atol=1e-7)


def test_discriminants_of_hardly_a_penalty():
    """αC⁻¹ has a limit as α falls: decisions grow with 1/α, in ratios that do not change."""
    near, far = (KernelFisher("gaussian(lengthscale=0.3)", alpha=alpha).fit(X, LABELS) for alpha in (1e-20, 1e-290))
    found, expected = (model.alpha_ * model.leave_one_out() for model in (far, near))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_penalties_beyond_single_precision_are_refused():
    for alpha in (1e-300, 1e300):
        with pytest.raises(ValueError, match=f"alpha = {alpha:g} or .* out of range for float32".replace("+", "[+]")):
            KernelFisher("gaussian", alpha=alpha).fit(X.astype(np.float32), LABELS)
        with pytest.raises(ValueError, match=f"alpha = {alpha:g} or .* out of range for float32".replace("+", "[+]")):
            KernelPCA(2, kernel="rbf", fit_inverse_transform=True, alpha=alpha).fit(X.astype(np.float32))


@pytest.mark.parametrize("size", [1.7e308, 1e-307])
def test_bandwidths_beyond_the_numbers_are_refused(size):
    for model in (KernelDensity(bandwidth="loo"), RobustKernelDensity()):
        with pytest.raises(ValueError, match=r"Density: X varies by .*; divide X by"):
            model.fit(X / np.abs(X).max() * size)


def test_directions_of_vectors_whose_length_is_no_number():
    far = np.sign(X) * 1.7e308
    np.testing.assert_allclose(mercer.kernels.Cosine()(far), mercer.kernels.Cosine()(np.sign(X)))


def test_coefficients_beyond_the_largest_number_are_refused():
    with pytest.raises(ValueError, match=r"KernelCCA, [Xy]: the kernel .* scale the kernel or the data"):
        KernelCCA(kernel="1e-306 * gaussian", epsilon=0.0).fit(X, y)
    with pytest.raises(ValueError, match=r"KernelPLS: y is of size .* closer to 1"):
        KernelPLS(kernel="1e-200 * gaussian").fit(X, 1e200 * y)


def test_sums_beyond_the_largest_number_are_no_nan():
    far = np.concatenate([X, -X]) / np.abs(X).max() * 1.7e308
    assert np.isfinite(KernelPCA(2, kernel=Gaussian(1e308)).fit_transform(far)).all()


def test_each_kernel_of_a_list_is_refused_where_it_has_no_values():
    for cv in (None, 3):
        model = KernelRidgeCV(kernel=["gaussian", "linear"], cv=cv)
        with pytest.raises(ValueError, match=r"KernelRidgeCV: .*(scale the data|divide X by)"):
            model.fit(1e300 * X, y)


def test_means_beyond_the_largest_number_are_not_needed():
    far = np.abs(X) / np.abs(X).max() * 1.7e308
    model = KernelRidge(0.5, kernel="gaussian", fit_intercept=True)
    expected = y.mean() + (y - y.mean()) / 1.5  # by the identity, as all are far apart
    np.testing.assert_allclose(model.fit(far, y).predict(far), expected, rtol=1e-12)


@pytest.mark.parametrize(
    "model",
    [KernelRidge(kernel="gaussian"), KernelRidgeCV(), KernelInterpolator(), KreinRidge(), KernelPLS(), mercer.SVR()],
    ids=str,
)
def test_targets_beyond_the_type_of_the_samples_are_refused(model):
    with pytest.raises(ValueError, match=r": y goes up to .*e\+50, which overflows float32, the type of X; convert X"):
        clone(model).fit(X.astype(np.float32), 1e50 * y)


@pytest.mark.parametrize("columns", [3, 70])  # above 64, medians of distances are those of sparse rows
@pytest.mark.parametrize("unit", [2.0**-1030, 2.0**-1060])
@pytest.mark.parametrize(
    "model",
    [
        KernelRidge(kernel="gaussian(lengthscale='median')"),
        KernelRidge(kernel="laplace(lengthscale='median', norm=1)"),
        KernelRidge(kernel=Matern(1.5, 2.0**-1030)),
        mercer.SVR(),
    ],
    ids=str,
)
def test_sparse_samples_of_the_smallest_numbers(model, unit, columns):
    A = unit * np.rint(8 * np.random.default_rng(1).normal(size=(30, columns)))
    expected = clone(model).fit(A, y).predict(A)
    found = clone(model).fit(csr_array(A), y).predict(csr_array(A))
    np.testing.assert_allclose(found, expected, atol=1e-9)
    assert np.ptp(expected) > 0


@pytest.mark.parametrize("size", [1e100, 1e-100])
@pytest.mark.parametrize("model", [KernelRidge(kernel="gaussian"), KernelRidgeCV(), KreinRidge()], ids=str)
def test_weights_beyond_the_type_of_the_samples_are_refused(model, size):
    with pytest.raises(
        ValueError, match=r": sample_weight goes up to 1e.100, whose square .* in float32, the type of X"
    ):
        clone(model).fit(X.astype(np.float32), y, sample_weight=np.full(30, size))
