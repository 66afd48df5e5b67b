"""What all support vector machines have: the same digits every time, whole callables, far data, read-only weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_regression
from threadpoolctl import threadpool_limits

from mercer import SVC, SVR, KreinSVC, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM
from mercer._threads import Workers
from mercer.kernels import Gaussian, Laplace, Polynomial
from mercer.selection import svm_path
from mercer.solvers.fit._rows import Block, Segment

X, y = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
WEIGHTS = [0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.1]
MACHINES = [SVC(), NuSVC(), SVR(), NuSVR(), OneClassSVM(), SVC(multi_class="crammer_singer")]


# ---- the same digits


@pytest.mark.parametrize("kernel", ["rbf", "poly", "laplace(lengthscale=5)"])
@pytest.mark.parametrize("cache_size", [200, 2])
def test_many_classes_give_the_same_digits_whatever_the_threads(kernel: str, cache_size: float) -> None:
    # classes of some 90 and 220 samples: pairs are solved on threads that share rows
    A, b = make_classification(1100, 12, n_informative=9, n_classes=7, weights=WEIGHTS, random_state=0)
    fits = [SVC(kernel=kernel, C=3.0, cache_size=cache_size, n_jobs=jobs).fit(A, b) for jobs in (1, 2, 2, 3, 5)]
    for other in fits[1:]:
        assert np.array_equal(other.n_iter_, fits[0].n_iter_)
        assert np.array_equal(other.dual_coef_, fits[0].dual_coef_)
        assert np.array_equal(other.intercept_, fits[0].intercept_)


@pytest.mark.parametrize("model", [SVC(C=10.0), SVR(kernel="poly", coef0=1.0), OneClassSVM(kernel="sigmoid")], ids=str)
@pytest.mark.filterwarnings("ignore::mercer._errors.IndefiniteKernelWarning")
def test_one_machine_gives_the_same_digits_whatever_the_threads(model: Any) -> None:
    A, b = make_classification(1700, 8, n_informative=6, random_state=1)
    fits = [clone(model).set_params(n_jobs=jobs).fit(A, b) for jobs in (1, 2, 3)]
    assert all(np.array_equal(other.dual_coef_, fits[0].dual_coef_) for other in fits)
    assert all(other.n_iter_ == fits[0].n_iter_ for other in fits)


@pytest.mark.parametrize(
    "model",
    [
        KreinSVC("sigmoid(scale=1.0, offset=-1.0)", C=100.0),
        KreinSVC("linear"),
        SVC(gram="nystrom", kernel="gaussian", C=100.0, random_state=0),
        SVR(gram="random_features", kernel="gaussian", C=100.0),
    ],
    ids=str,
)
def test_decompositions_give_the_same_machine_whatever_the_threads_of_blas(model: Any) -> None:
    A = np.random.default_rng(0).normal(size=(400, 4))
    values = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            fitted = clone(model).fit(A, (A[:, 0] * A[:, 1] > 0).astype(int))
        values.append(fitted.dual_coef_)
    np.testing.assert_array_equal(*values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", [Gaussian(3.0), Polynomial(3), Laplace(2.0), Polynomial(2).normalized()], ids=str)
def test_rows_that_are_shared_do_not_depend_on_the_order_of_requests(kernel: Any, dtype: Any) -> None:
    A = rng.normal(size=(300, 37)).astype(dtype)
    segment = Segment(kernel.bind(A), dtype)

    def rows(parts: list[np.ndarray]) -> np.ndarray:
        block = Block(segment, segment, 300, dtype, shared=True)
        for part in parts:
            block.require(part, 0, Workers())
        return block.K[block.require(np.arange(300), 1, Workers())]

    order = rng.permutation(300)
    assert np.array_equal(rows([np.arange(300)]), rows(np.split(order, np.cumsum([1, 1, 2, 3, 5, 8, 13, 100]))))


# ---- sparse data


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid"])
@pytest.mark.parametrize("model", MACHINES, ids=str)
@pytest.mark.filterwarnings(
    "ignore::mercer._errors.IndefiniteKernelWarning", "ignore::sklearn.exceptions.ConvergenceWarning"
)
def test_sparse_and_dense_end_at_the_same_point(model: Any, kernel: str) -> None:
    A = np.where(rng.random(X.shape) < 0.3, 0.0, X)
    dense, sparse = (clone(model).set_params(kernel=kernel).fit(data, y) for data in (A, csr_array(A)))
    assert np.array_equal(sparse.dual_coef_.toarray(), dense.dual_coef_)
    assert np.array_equal(sparse.intercept_, dense.intercept_)


# ---- functions of whole collections


@pytest.mark.parametrize("form", [np.asarray, np.asmatrix, csr_array], ids=["array", "matrix", "sparse"])
@pytest.mark.parametrize("model", MACHINES, ids=str)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_a_callable_is_called_on_whole_collections(model: Any, form: Any) -> None:
    shapes = []

    def kernel(A: Any, B: Any) -> Any:
        shapes.append((len(A), len(B)))
        return form(np.asarray(A) @ np.asarray(B).T)

    model = clone(model).set_params(kernel=kernel, tol=1e-8).fit(X, y)
    values = model.predict(X[:7].tolist())
    assert shapes == [(150, 150), (7, 150)]
    linear = clone(model).set_params(kernel="linear").fit(X, y)
    assert np.allclose(values, linear.predict(X[:7]), atol=1e-5)


# ---- far from the origin


@pytest.mark.parametrize("model", [SVR(kernel="linear", C=10.0), NuSVR(kernel="linear", C=10.0)], ids=str)
@pytest.mark.parametrize("far", [1e4, 1e8, -1e8])
def test_a_linear_regression_far_from_the_origin(model: Any, far: float) -> None:
    A = np.round(rng.normal(size=(200, 3)), 3)
    b = A @ [1.0, -2.0, 0.5] + 0.05 * rng.normal(size=200)
    near, away = clone(model).fit(A, b), clone(model).fit(A + far, b)
    assert away.fit_status_ == 0
    assert np.allclose(away.predict(A + far), near.predict(A), atol=5e-3)
    assert np.allclose(away.coef_, near.coef_, atol=5e-3)
    assert np.allclose(((A + far) @ away.coef_.T)[:, 0] + away.intercept_, away.predict(A + far), atol=1e-6)


@pytest.mark.parametrize(
    "model", [SVC(kernel="linear"), SVC(kernel="linear", multi_class="ovr"), NuSVC(kernel="linear")], ids=str
)
def test_a_linear_classifier_far_from_the_origin(model: Any) -> None:
    near, away = clone(model).fit(X, y), clone(model).fit(X + 1e8, y)
    assert away.fit_status_ == 0
    assert np.mean(away.predict(X + 1e8) == near.predict(X)) > 0.98
    decisions = ((X + 1e8) @ away.coef_.T) + away.intercept_
    assert np.allclose(decisions, away._decisions(X + 1e8), atol=1e-5)


# ---- no errors allowed, and what is read only


def test_regression_without_errors_above_epsilon() -> None:
    A, b = make_regression(40, 5, random_state=0)
    hard, large = (SVR(C=C, gamma=0.1, tol=1e-6).fit(A, b) for C in (np.inf, 1e10))
    assert np.abs(hard.predict(A) - b).max() <= 0.1 + 1e-5
    assert np.allclose(hard.predict(A), large.predict(A), atol=1e-5)
    with pytest.raises(ValueError, match=r"SVR: C = inf allows no error above epsilon = 0\.1.*give a finite C"):
        SVR(C=np.inf).fit([[0.0], [0.0], [1.0]], [0.0, 1.0, 0.0])


@pytest.mark.parametrize("data", [X, csr_array(X)], ids=["dense", "sparse"])
@pytest.mark.parametrize("model", [SVC(kernel="linear"), SVR(kernel="linear"), OneClassSVM(kernel="linear")], ids=str)
def test_weights_of_features_are_read_only(model: Any, data: Any) -> None:
    weights = clone(model).fit(data, y).coef_
    theirs = getattr(svm, type(model).__name__)(kernel="linear").fit(data, y).coef_
    assert weights.shape == theirs.shape
    assert not (weights.data if data is not X else weights).flags.writeable


@pytest.mark.parametrize("model", [SVC(), NuSVC(nu=0.3), SVR(), NuSVR(), OneClassSVM()], ids=lambda m: type(m).__name__)
def test_the_order_in_memory_does_not_matter(model: Any) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=300), [-0.5, 0.5])
    values = []
    for order in "CF":
        fitted = clone(model).fit(np.array(X, order=order), y)
        values.append(getattr(fitted, "decision_function", fitted.predict)(np.array(X, order=order)))
    assert np.array_equal(*values)


# ---- one object, several threads


@pytest.mark.parametrize(
    "model",
    [
        SVC(gram="dense", tol=1e-6),
        SVC(kernel=lambda A, B: A @ B.T, tol=1e-6),
        SVR(gram="nystrom"),
        KreinSVC("gaussian"),
    ],
    ids=["dense", "callable", "nystrom", "krein"],
)
def test_refits_of_one_object_on_several_threads(model: Any) -> None:
    model = clone(model)
    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(model.fit, X, y) for _ in range(12)]:
            future.result()
    alone = clone(model).fit(X, y)
    assert np.allclose(model.predict(X), alone.predict(X), atol=1e-2)
    assert not {"_gram", "_fold"} & vars(model).keys()


def test_a_path_far_from_the_origin_has_the_offsets_of_the_kernel() -> None:
    A = X[y < 2] + 1e6
    path = svm_path(A, y[y < 2], [0.1, 1.0], kernel="linear")
    for k in range(2):
        weights = path.dual_coef[k] @ (A - A.mean(axis=0))
        assert np.allclose(A @ weights + path.intercept[k], path.functions[k](A), atol=1e-6)


def test_samples_near_the_largest_number_are_fitted_as_in_any_other_unit():
    """scikit-learn's refuses them, since LIBSVM's sums overflow; the guide says so."""
    generator = np.random.default_rng(42)
    Z, labels = generator.uniform(size=(10, 2)), np.arange(10) % 2
    near, plain = SVC(tol=1e-9).fit(2.0**1023 * Z, labels), SVC(tol=1e-9).fit(Z, labels)
    np.testing.assert_allclose(near.dual_coef_, plain.dual_coef_, rtol=1e-7)
    np.testing.assert_allclose(near.decision_function(2.0**1023 * Z), plain.decision_function(Z), rtol=1e-7)


# ---- parameters


@pytest.mark.parametrize("kind", [Fraction, np.longdouble, np.float32])
@pytest.mark.parametrize(
    "model",
    [
        SVC(),
        SVC(loss="squared_hinge"),
        SVC(multi_class="crammer_singer"),
        SVR(epsilon=0.25),
        NuSVC(nu=0.25),
        OneClassSVM(nu=0.25),
        LinearSVC(),
        LinearSVR(epsilon=0.25),
    ],
    ids=str,
)
def test_any_real_number_is_a_parameter(model: Any, kind: Any) -> None:
    """Compiled code has doubles alone."""
    names = [name for name in ("C", "epsilon", "nu") if isinstance(model.get_params().get(name), float)]
    plain, other = ({name: kind_of(1) / 4 for name in names} for kind_of in (float, kind))
    known, found = (clone(model).set_params(**given).fit(X, y) for given in (plain, other))
    np.testing.assert_allclose(found.predict(X), known.predict(X))


# ---- costs beyond the range of numbers

OF_COST = [SVC(), SVC(loss="squared_hinge"), SVR(), NuSVR(), OneClassSVM(C=1.0), KreinSVC(), LinearSVC(), LinearSVR()]


@pytest.mark.parametrize("C, size", [(1e300, 1e10), (1e-300, 1e-10)])
@pytest.mark.parametrize("model", [*OF_COST, SVC(multi_class="crammer_singer")], ids=str)
def test_costs_that_overflow_are_refused(model: Any, C: float, size: float) -> None:
    model = clone(model).set_params(C=C)
    with pytest.raises(ValueError, match=f"{type(model).__name__}: C = 1e.300 times the sample weights .* nearer to 1"):
        model.fit(X, y, sample_weight=np.full(len(y), size))


def test_a_cost_without_bound_in_the_units_of_small_targets() -> None:
    model = SVR(kernel="linear", loss="squared_epsilon_insensitive", epsilon=0.0, tol=1e-8)
    expected = clone(model).fit(X, y).predict(X)
    found = model.set_params(tol=1e-8 * 2.0**-300).fit(X, 2.0**-300 * y).predict(X)
    np.testing.assert_allclose(2.0**300 * found, expected, atol=1e-6)
