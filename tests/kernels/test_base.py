"""What every kernel shares: what it says to bad input, types, value semantics, the report of `check`."""

import importlib.util

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone

from mercer.domains import Indices
from mercer.kernels import (
    ANOVA,
    CPD,
    INDEFINITE,
    PD,
    UNKNOWN,
    Affine,
    Constant,
    Counted,
    DotProduct,
    Gaussian,
    Kernel,
    Linear,
    Polynomial,
    Radial,
    Sobolev,
    White,
    register,
    registry,
)
from mercer.kernels._base import Report
from mercer.kernels.finite import Callable

X = np.random.default_rng(2).normal(size=(5, 2))


def holed(value):
    A = X.copy()
    A[3, 1] = value
    return A


# ---- bad input: one sentence that names the argument, the value and the remedy


@pytest.mark.parametrize(
    ("bad", "error", "text"),
    [
        (holed(np.nan), ValueError, "X contains NaN at row 3, column 1; impute or drop those values first"),
        (holed(np.inf), ValueError, "X contains infinity at row 3, column 1; impute or drop"),
        (holed(-np.inf), ValueError, "X contains infinity at row 3, column 1"),
        (X[:, 0], ValueError, r"X has shape \(5,\), expected \(n_samples, n_features\); use X.reshape\(-1, 1\)"),
        (X[None], ValueError, r"X has shape \(1, 5, 2\), expected \(n_samples, n_features\)"),
        (3.0, ValueError, r"X has shape \(\), expected"),
        (X[:0], ValueError, r"X has shape \(0, 2\); give at least one sample and one feature"),
        (X[:, :0], ValueError, r"X has shape \(5, 0\); give at least one sample and one feature"),
        ([], ValueError, r"X has shape \(0,\)"),
        (
            "abc",
            TypeError,
            "X = 'abc', expected numbers; give an array or data frame, one row per sample",
        ),
        ([["a", "b"]], TypeError, "X holds text such as 'a', expected numbers; encode it"),
        (np.array([["a", 1.0]], dtype=object), TypeError, "X holds text such as 'a', expected numbers"),
        (np.array([[None, 1.0]], dtype=object), ValueError, "X contains NaN|X holds None, a missing value"),
        (X + 1j, ValueError, "X is complex; give real numbers, for example real and imaginary columns"),
        ([[1.0, 2.0], [3.0]], ValueError, "X has rows of unequal length; give one row of equal length per sample"),
    ],
)
@pytest.mark.parametrize("kernel", [Gaussian(), Linear()], ids=str)
def test_bad_collections(kernel, bad, error, text):
    name = type(kernel).__name__
    for call in (lambda: kernel(bad), lambda: kernel.diag(bad)):
        with pytest.raises(error, match=f"{name}: ({text})") as caught:
            call()
        assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    with pytest.raises(error, match=f"{name}: ({text.replace('X', 'Y')})"):
        kernel(X, bad)


@pytest.mark.parametrize("kernel", [Gaussian(), Linear(), White(), Gaussian() + Linear(), 2 * Gaussian()], ids=str)
def test_arguments_that_do_not_fit_together(kernel):
    name = type(kernel).__name__ if not isinstance(kernel, type(2 * Gaussian())) else "Gaussian"
    with pytest.raises(TypeError, match=f"{name}: X is float64 and Y is float32; convert one to the other's type"):
        kernel(X, X.astype("float32"))
    with pytest.raises(ValueError, match=f"{name}: X has 2 columns and Y has 3; they must agree"):
        kernel(X, np.ones((4, 3)))


def test_libraries_do_not_mix():
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(
        TypeError, match=r"Gaussian: X is a numpy array and Y a array_api_strict.* array; convert one of them"
    ):
        Gaussian()(X, strict.asarray(X))


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_numpy_and_torch_do_not_mix():
    import torch

    with pytest.raises(TypeError, match="Gaussian: X is a torch array and Y a numpy array; convert one of them"):
        Gaussian()(torch.asarray(X), X)
    with pytest.raises(TypeError, match=r"Y is torch\.float32; convert"):
        Gaussian()(torch.asarray(X), torch.asarray(X, dtype=torch.float32))


def test_sparse_where_the_kernel_cannot():
    with pytest.raises(TypeError, match=r"White: X is sparse, which this kernel cannot use; call X.toarray\(\) first"):
        White()(csr_array(X))
    with pytest.raises(TypeError, match="Sum: X is sparse"):
        (Gaussian() + White())(csr_array(X))
    with pytest.raises(ValueError, match="Gaussian: X contains NaN"):
        Gaussian()(csr_array(holed(np.nan)))


def test_sparse_formats():
    expected = Gaussian()(X)
    for S in (coo_array(X), csr_array(X), csr_array(X).tocsc()):
        np.testing.assert_allclose(Gaussian()(S), expected, rtol=1e-9)
    np.testing.assert_allclose(Gaussian()(csr_array(X), X), expected, rtol=1e-9)
    np.testing.assert_allclose(Linear()(X, csr_array(X)), X @ X.T, rtol=1e-12)


@pytest.mark.parametrize(
    ("kernel", "error", "text"),
    [
        (Gaussian(0), ValueError, "Gaussian: lengthscale = 0 must be > 0."),
        (Gaussian(-1.5), ValueError, "Gaussian: lengthscale = -1.5 must be > 0."),
        (Gaussian(np.nan), ValueError, "Gaussian: lengthscale = nan must be a finite number > 0."),
        (Gaussian(np.inf), ValueError, "Gaussian: lengthscale = inf must be a finite number > 0."),
        (Gaussian(None), TypeError, "Gaussian: lengthscale = None must be a finite number > 0."),
        (Gaussian(True), ValueError, "Gaussian: lengthscale = True must be a finite number > 0."),
        (Gaussian("mean"), ValueError, "Gaussian: lengthscale = 'mean' is unknown; give a number or one of 'median'"),
        (
            Gaussian("median"),
            ValueError,
            "Gaussian: lengthscale = 'median' depends on the data; call kernel.resolve(X)",
        ),
        (Gaussian(np.array([1.0, -1.0])), ValueError, "lengthscale of shape (2,) must be a number > 0, one number > 0"),
        (Gaussian(np.ones((2, 2))), ValueError, "or an invertible square matrix"),
        (Affine(-1), ValueError, "Affine: offset = -1 must be >= 0."),
        (Constant("1"), TypeError, "Constant: value = '1' must be a finite number >= 0."),
        (White(0.0), ValueError, "White: variance = 0.0 must be > 0."),
    ],
)
def test_parameters_out_of_range(kernel, error, text):
    with pytest.raises(error) as caught:
        kernel(X)
    assert text in str(caught.value)
    with pytest.raises(error):
        (kernel + Linear()).diag(X)


def test_lengthscales_of_another_dimension():
    with pytest.raises(ValueError, match="Gaussian: lengthscale has 3 entries, but X has 2 columns"):
        Gaussian(np.ones(3))(X)


@pytest.mark.parametrize("make", [Gaussian.from_gamma, Gaussian.from_width, Gaussian.from_kernlab])
def test_conversions_check_too(make):
    with pytest.raises(ValueError, match=r"Gaussian: .* = -1 must be > 0"):
        make(-1)


# ---- types


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "bool"])
def test_integers_become_float64(dtype):
    A = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
    K = Gaussian()(A)
    assert K.dtype == np.float64
    np.testing.assert_array_equal(K, Gaussian()(A.astype(float)))
    np.testing.assert_array_equal(Gaussian()(A, A.astype(float)), K)
    np.testing.assert_array_equal(Linear()(csr_array(A)), Linear()(A.astype(float)))


def test_lists_and_tables_are_arrays():
    pd = pytest.importorskip("pandas")
    np.testing.assert_array_equal(Gaussian()(X.tolist()), Gaussian()(X))
    np.testing.assert_array_equal(Gaussian()(pd.DataFrame(X)), Gaussian()(X))
    np.testing.assert_array_equal(Linear()([[1, 2.5]]), [[7.25]])


def test_half_precision_is_computed_in_single():
    assert Gaussian()(X.astype("float16")).dtype == np.float32


def test_arguments_are_left_alone():
    before = X.copy()
    Gaussian(0.3)(X, X[:2])
    (Gaussian(0.3) + Linear()).gradient_x(X)
    np.testing.assert_array_equal(X, before)


def test_one_sample():
    assert Gaussian()(X[:1]).shape == (1, 1)
    assert Gaussian()(X[:1], X).shape == (1, 5)


# ---- value semantics


def test_equality_is_by_value():
    assert Gaussian(1.0) == Gaussian(1) == Gaussian(np.float64(1.0))
    assert Gaussian(1.0) != Gaussian(2.0) and Gaussian() != Linear() and Gaussian() != 1.0
    assert Gaussian(np.array([1.0, 2.0])) == Gaussian(np.array([1.0, 2.0]))
    assert Gaussian(np.array([1.0, 2.0])) != Gaussian([1.0, 2.0])
    assert Gaussian(np.array([1.0, 2.0])) != Gaussian(np.array([1.0, 2.0, 3.0]))
    assert (
        Gaussian().centered(csr_array(X)) == Gaussian().centered(csr_array(X)) != Gaussian().centered(csr_array(2 * X))
    )
    with pytest.raises(TypeError, match="unhashable"):
        hash(Gaussian())


def test_parameters_are_stored_unchanged():
    scale = np.array([1.0, 2.0])
    k = Gaussian(scale)
    assert k.lengthscale is scale
    k.resolve(X)(X)
    assert k.lengthscale is scale and k.get_params() == {"lengthscale": scale}


def test_resolve_returns_a_clone():
    k = Gaussian("median")
    resolved = k.resolve(X)
    i, j = np.triu_indices(5, 1)
    assert resolved.lengthscale == pytest.approx(np.median(np.linalg.norm(X[i] - X[j], axis=1)))
    assert k.lengthscale == "median" and clone(k) == k


def test_a_new_kernel_is_a_few_lines():
    class Twice(Kernel):
        def evaluate(self, X, Y=None):
            return 2 * X @ (X if Y is None else Y).T

    k = Twice()
    np.testing.assert_allclose(k.diag(X), 2 * (X**2).sum(axis=1))
    assert k.definiteness == UNKNOWN and k.provides == frozenset() and Twice.examples() == [k]
    assert (k + Linear()).definiteness == UNKNOWN
    with pytest.raises(AttributeError, match="Twice does not provide gradient_x; it provides evaluation only"):
        k.gradient_x(X)
    with pytest.raises(NotImplementedError, match="Kernel has no method evaluate, which its base class requires"):
        Kernel()(X)


@pytest.mark.parametrize(
    "values", [np.ones(3), [[1.0]], "text", np.ones((1, 1), dtype=int), None], ids=lambda v: type(v).__name__
)
def test_a_new_kernel_must_return_a_matrix_of_numbers(values):
    class Wrong(Kernel):
        def evaluate(self, X, Y=None):
            return values

    with pytest.raises(TypeError, match=r"^Wrong: evaluate returned .* here of shape \(1, 1\)\."):
        Wrong().diag(X)


@pytest.mark.parametrize(("base", "method"), [(Radial, "profile"), (DotProduct, "profile"), (Counted, "form")])
def test_a_new_kernel_without_its_method(base, method):
    New, members = type("New", (base,), {}), X
    if base is Counted:
        New.domain, members = Indices(2), [0, 1]
    with pytest.raises(NotImplementedError, match=f"New has no method {method}, .* implement it"):
        New()(members)


def test_register_does_not_replace_the_librarys_kernels():
    with pytest.raises(ValueError, match=r"^register: Gaussian would replace mercer\.kernels\.gaussian\.Gaussian"):
        register(type("Gaussian", (Kernel,), {}))
    assert registry["gaussian"] is Gaussian


def test_register_names_in_snake_case():
    @register
    class ForThisTestOnly(Kernel):
        pass

    try:
        assert registry["for_this_test_only"] is ForThisTestOnly and ForThisTestOnly.name == "for_this_test_only"
    finally:
        del registry["for_this_test_only"]
    assert all(cls.name == name for name, cls in registry.items())


# ---- check


def test_report():
    report = Linear().check(X)
    assert report.ok and report.symmetric and report.claim == PD
    assert report.largest == pytest.approx(np.linalg.norm(X, 2) ** 2)
    assert abs(report.smallest_eigenvalue) < 1e-14
    assert "consistent with PD" in repr(report)


def test_report_contradicts_a_false_claim():
    report = Callable(lambda x, y: -float(x @ y), PD).check(X)
    assert not report.ok
    assert report.smallest_eigenvalue == pytest.approx(-(np.linalg.norm(X, 2) ** 2))
    assert "contradicts PD" in repr(report)


def test_report_makes_no_fuss_where_nothing_is_claimed():
    assert Report(UNKNOWN, -1.0, 1.0, 1e-12, True).ok
    assert Report(INDEFINITE, -1.0, 1.0, 1e-12, True).ok
    assert not Report(UNKNOWN, -1.0, 1.0, 1e-12, False).ok
    assert "not symmetric" in repr(Report(UNKNOWN, -1.0, 1.0, 1e-12, False))


def minus_square(x, y):
    return -float(np.sum((x - y) ** 2))


def test_conditional_claims_are_tested_on_their_subspace():
    assert not Callable(minus_square, PD).check(X).ok
    report = Callable(minus_square, CPD(1)).check(X)
    assert report.ok and report.smallest_eigenvalue > -report.tol
    # on c with Σ cᵢ = 0 and Σ cᵢ xᵢ = 0 the form −Σ cᵢcⱼ‖xᵢ − xⱼ‖² = 2‖Σ cᵢ xᵢ‖² vanishes
    assert abs(Callable(minus_square, CPD(2)).check(X).smallest_eigenvalue) < 1e-12


def test_tolerance_of_the_check_may_be_given():
    k = Callable(lambda x, y: float(x[0] * y[0]) - 1e-9, PD)
    assert not k.check(X).ok and k.check(X, tol=1e-6).ok


def test_single_precision_is_checked_at_its_own_rounding():
    assert Gaussian(3.0).check(X.astype("float32")).ok


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(), Sobolev(), ANOVA(degree=400)], ids=str)
def test_values_beyond_the_largest_number_are_refused(kernel):
    """On threads as well, as for 3000 samples."""
    for n in (3, 3000):
        X = np.full((n, 20), 1e200 if kernel != ANOVA(degree=400) else 1.0)
        with pytest.raises(ValueError, match=f"{type(kernel).__name__}: values of the kernel .*; scale the data"):
            kernel(X)
        with pytest.raises(ValueError, match=f"{type(kernel).__name__}: values of the kernel .*; scale the data"):
            kernel.diag(X)


def test_check_sees_asymmetry_beyond_rounding():
    K = np.eye(3)
    K[0, 1] = 1e-6
    assert not FiniteDomainLike(K).check(np.arange(3)).symmetric


class FiniteDomainLike(Kernel):
    """A matrix that nobody has checked."""

    domain = Indices(3)

    def __init__(self, K):
        self.K = K

    def evaluate(self, X, Y=None):
        return self.K[np.ix_(X, X if Y is None else Y)]
