"""Marginal transfer learning, against the product kernel written out, and against pooling."""

import csv
import gzip
import pickle

import numpy as np
import pytest
import sklearn
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_val_score
from sklearn.svm import SVC as ReferenceSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import SVC, SVR, KernelLogisticRegression, KernelRidge, LeastSquaresSVC
from mercer.kernels import Callable as CallableKernel
from mercer.kernels import Gaussian, InverseMultiquadric, Linear, Power
from mercer.kernels.sets import DistributionGaussian, MeanMap
from mercer.methods.transfer import MarginalTransfer

MEDIAN = DistributionGaussian(Gaussian("median"), "median")
FIXED = DistributionGaussian(Gaussian(1.2), 0.3)


def shifted(n_samples, size, seed):
    """The classes lie left and right of the middle of their sample, which is another for each."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-4, 4, n_samples)
    groups = np.repeat(np.arange(n_samples), size)
    X = rng.normal(size=(len(groups), 1)) + middle[groups][:, None]
    return X, (X[:, 0] > middle[groups]).astype(int), groups


def ordinary(seed=0):
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "c", "d"], 60)
    X = rng.normal(size=(60, 2)) + 0.5 * (groups == "a")[:, None]
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + (groups == "b"), groups


def as_pairs(X, groups):
    return [X[groups == g] for g in groups], X


@pytest.mark.parametrize("lengthscale", [0.05, 0.3, 2.0])
def test_ridge_is_that_of_the_product_kernel(lengthscale) -> None:
    X, y, groups = ordinary()
    X_new, _, groups_new = ordinary(1)
    distributions = DistributionGaussian(Gaussian(1.2), lengthscale)
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1), distributions).fit(X, y, groups=groups)

    def product(A, a, B, b):
        return distributions(as_pairs(A, a)[0], as_pairs(B, b)[0]) * Gaussian(0.9)(A, B)

    coefficients = np.linalg.solve(product(X, groups, X, groups) + 0.1 * np.eye(60), y)
    expected = product(X_new, groups_new, X, groups) @ coefficients
    assert np.allclose(model.predict(X_new, groups=groups_new), expected, atol=1e-7)
    assert model.groups_.tolist() == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "estimator",
    [SVC(kernel=Gaussian(0.9), C=3.0, tol=1e-8), LeastSquaresSVC(Gaussian(0.9)), KernelLogisticRegression(Gaussian())],
    ids=lambda e: type(e).__name__,
)
def test_classifiers_are_those_of_the_kernel_on_pairs(estimator) -> None:
    X, y, groups = ordinary()
    y = np.where(y > 0, "up", "down")
    X_new, _, groups_new = ordinary(1)
    model = MarginalTransfer(estimator, FIXED).fit(X, y, groups=groups)
    reference = clone(estimator).set_params(kernel=FIXED @ estimator.kernel).fit(as_pairs(X, groups), y)
    values = model.decision_function(X_new, groups=groups_new)
    assert np.allclose(values, reference.decision_function(as_pairs(X_new, groups_new)), atol=1e-5)
    assert np.array_equal(model.predict(X_new, groups_new), reference.predict(as_pairs(X_new, groups_new)))
    assert model.classes_.tolist() == ["down", "up"]
    assert is_classifier(model)


def test_names_of_kernels_as_in_scikit_learn() -> None:
    X, y, groups = ordinary()
    named = MarginalTransfer(SVR(kernel="rbf", gamma=0.7, C=2.0), FIXED).fit(X, y, groups=groups)
    given = MarginalTransfer(SVR(kernel=Gaussian.from_gamma(0.7), C=2.0), FIXED).fit(X, y, groups=groups)
    assert np.allclose(named.predict(X, groups), given.predict(X, groups), atol=1e-12)
    assert named.kernel_ == Gaussian.from_gamma(0.7)
    assert is_regressor(named)


def test_samples_that_are_all_alike_are_pooled() -> None:
    X, y, groups = ordinary()
    pooled = KernelRidge(kernel=Gaussian(0.9), alpha=0.1).fit(X, y)
    model = MarginalTransfer(clone(pooled), DistributionGaussian(Gaussian(), 1e6)).fit(X, y, groups=groups)
    assert np.allclose(model.predict(X[:9]), pooled.predict(X[:9]), atol=1e-8)


def test_samples_that_have_nothing_in_common_are_fitted_alone() -> None:
    X, y, groups = ordinary()
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1), DistributionGaussian(Gaussian(), 0.01))
    model.fit(X, y, groups=groups)
    for g in "abcd":
        mine = groups == g
        alone = KernelRidge(kernel=Gaussian(0.9), alpha=0.1).fit(X[mine], y[mine])
        assert np.allclose(model.predict(X[mine]), alone.predict(X[mine]), atol=1e-8)


@pytest.mark.parametrize("n_features", [None, 300])
def test_wins_over_pooling_where_the_boundary_follows_the_distribution(n_features) -> None:
    X, y, groups = shifted(20, 40, 0)
    X_new, y_new, groups_new = shifted(10, 40, 1)
    machine = SVC(kernel=Gaussian(2.0), C=10.0)
    pooled = clone(machine).fit(X, y).score(X_new, y_new)
    model = MarginalTransfer(machine, MEDIAN, n_features=n_features, random_state=0).fit(X, y, groups=groups)
    assert pooled < 0.75
    assert model.score(X_new, y_new, groups=groups_new) > 0.9


def test_random_features_approximate_the_product_kernel() -> None:
    X, y, groups = ordinary()
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1), FIXED, n_features=2000, random_state=0)
    model.fit(X, y, groups=groups)
    exact = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1), FIXED).fit(X, y, groups=groups)
    which = model._group(X, groups)[1]
    Z = model._pairs(X, which, model._bags(X, which))
    K = FIXED(as_pairs(X, groups)[0]) * Gaussian(0.9)(X)
    # random features of the features of the samples: errors of both layers, of order 1/√1000 each
    assert np.abs(Z @ Z.T - K).max() < 0.2
    assert np.corrcoef(model.predict(X, groups), exact.predict(X, groups))[0, 1] > 0.99
    again = clone(model).fit(X, y, groups=groups)
    assert np.array_equal(again.predict(X, groups), model.predict(X, groups))


def test_variance_of_the_kernel_of_points_is_kept_by_random_features() -> None:
    X, y, groups = ordinary()
    model = MarginalTransfer(KernelRidge(kernel=InverseMultiquadric(0.5)), FIXED, n_features=100, random_state=0)
    model.fit(X, y, groups=groups)
    which = model._group(X, groups)[1]
    Z = model._pairs(X, which, model._bags(X, which))
    assert np.allclose((Z**2).sum(axis=1), 2.0)  # k(x, x) = 1/0.5


def test_order_of_points_and_names_of_samples_do_not_matter() -> None:
    X, y, groups = ordinary()
    X_new = ordinary(1)[0]
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1), MEDIAN).fit(X, y, groups=groups)
    order = np.random.default_rng(0).permutation(60)
    numbers = np.array([{"a": 7, "b": 3, "c": 5, "d": 0}[g] for g in groups])
    other = clone(model).fit(X[order], y[order], groups=numbers[order])
    assert np.allclose(other.predict(X_new), model.predict(X_new), atol=1e-8)
    assert np.allclose(model.predict(X_new[order]), model.predict(X_new)[order], atol=1e-12)


def test_several_new_samples_are_predicted_one_by_one() -> None:
    X, y, groups = ordinary()
    X_new, _, groups_new = ordinary(1)
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9)), MEDIAN).fit(X, y, groups=groups)
    together = model.predict(X_new, groups=groups_new)
    for g in "abcd":
        assert np.allclose(together[groups_new == g], model.predict(X_new[groups_new == g]), atol=1e-12)
    assert not np.allclose(together, model.predict(X_new), atol=1e-3)


def test_points_of_a_sample_that_is_given_beside() -> None:
    X, y, groups = ordinary()
    X_new = ordinary(1)[0]
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9)), MEDIAN).fit(X, y, groups=groups)
    whole = model.predict(X_new)
    assert np.allclose([model.predict(x[None], sample=X_new)[0] for x in X_new[:5]], whole[:5], atol=1e-12)
    with pytest.raises(ValueError, match="sample and groups are mutually exclusive; pass only one"):
        model.predict(X_new, groups=np.zeros(60), sample=X_new)


def overlap(a: str, b: str) -> float:
    return len(set(a) & set(b)) / np.sqrt(len(set(a)) * len(set(b)))


def test_points_that_are_strings() -> None:
    words = ["abc", "abd", "bce", "xyz", "xya", "yzb", "cde", "zzx"]
    y = np.array([0, 0, 0, 1, 1, 1, 0, 1])
    groups = np.array([0, 1, 1, 0, 1, 0, 0, 1])
    kernel = CallableKernel(overlap)
    distributions = DistributionGaussian(kernel, 0.5)
    model = MarginalTransfer(SVC(kernel=kernel, tol=1e-8), distributions).fit(words, y, groups=groups)
    bags = [[w for w, g in zip(words, groups, strict=True) if g == h] for h in (0, 1)]
    pairs = [bags[g] for g in groups], words
    reference = SVC(kernel=distributions @ kernel, tol=1e-8).fit(pairs, y)
    new = ["abe", "xzz"]
    expected = reference.decision_function(([new, new], new))
    assert np.allclose(model.decision_function(new), expected, atol=1e-6)


def test_sparse_and_single_precision() -> None:
    X, y, groups = ordinary()
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1), FIXED)
    expected = clone(model).fit(X, y, groups=groups).predict(X, groups)
    sparse = clone(model).fit(csr_array(X), y, groups=groups).predict(csr_array(X), groups)
    assert np.allclose(sparse, expected, atol=1e-8)
    single = clone(model).fit(X.astype(np.float32), y, groups=groups).predict(X.astype(np.float32), groups)
    assert single.dtype == np.float32
    assert np.allclose(single, expected, atol=1e-3)


def test_low_rank_and_weights() -> None:
    X, y, groups = ordinary()
    weight = np.random.default_rng(0).integers(1, 3, 60).astype(float)
    dense = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1), FIXED)
    nystrom = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1, gram="nystrom", random_state=0), FIXED)
    a, b = (m.fit(X, y, sample_weight=weight, groups=groups).predict(X, groups) for m in (dense, nystrom))
    assert np.allclose(a, b, atol=1e-4)
    assert not np.allclose(a, dense.fit(X, y, groups=groups).predict(X, groups), atol=1e-3)


def test_mean_map_as_kernel_of_distributions() -> None:
    X, y, groups = ordinary()
    distributions = MeanMap(Gaussian(1.2))
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9), alpha=0.1), distributions).fit(X, y, groups=groups)
    reference = KernelRidge(kernel=distributions @ Gaussian(0.9), alpha=0.1).fit(as_pairs(X, groups), y)
    assert np.allclose(model.predict(X, groups), reference.predict(as_pairs(X, groups)), atol=1e-7)


def test_pickle_file_clone_and_refit(tmp_path) -> None:
    X, y, groups = ordinary()
    model = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9)), MEDIAN, n_features=20, random_state=0)
    model.fit(X, y, groups=groups)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(X), model.predict(X))
    mercer.save(model, tmp_path / "model")
    assert np.array_equal(mercer.load(tmp_path / "model").predict(X, groups), model.predict(X, groups))
    before = model.estimator
    refitted = model.set_params(n_features=None).fit(X, y, groups=groups)
    fresh = MarginalTransfer(KernelRidge(kernel=Gaussian(0.9)), MEDIAN).fit(X, y, groups=groups)
    assert np.array_equal(refitted.predict(X), fresh.predict(X))
    assert model.estimator is before
    assert not hasattr(before, "kernel_")


def test_cross_validation_leaves_samples_out() -> None:
    X, y, groups = shifted(8, 20, 0)
    model = MarginalTransfer(LeastSquaresSVC(Gaussian(2.0), alpha=0.1), MEDIAN)
    plain = cross_val_score(model, X, y, groups=groups, params={"groups": groups}, cv=LeaveOneGroupOut())
    by_hand = []
    for g in range(8):
        fit = groups != g
        by_hand.append(clone(model).fit(X[fit], y[fit], groups=groups[fit]).score(X[~fit], y[~fit]))
    assert np.allclose(plain, by_hand)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = cross_val_score(model, X, y, params={"groups": groups}, cv=LeaveOneGroupOut())
        search = GridSearchCV(model, {"distribution_kernel__lengthscale": [0.2, 100.0]}, cv=LeaveOneGroupOut())
        search.fit(X, y, groups=groups)
    assert np.allclose(routed, plain)
    assert search.best_params_ == {"distribution_kernel__lengthscale": 0.2}
    assert len(search.best_estimator_.groups_) == 8


def test_one_sample_is_fitted_as_it_is() -> None:
    X, y, _ = ordinary()
    with pytest.warns(UserWarning, match="there is only one sample, so nothing can be transferred"):
        model = MarginalTransfer(SVR(gamma=0.7)).fit(X, y)
    assert np.array_equal(model.predict(X[:5]), SVR(gamma=0.7).fit(X, y).predict(X[:5]))


@pytest.mark.parametrize(
    ("model", "groups", "error", "message"),
    [
        (MarginalTransfer(ReferenceSVC()), "right", TypeError, "must be an estimator of this library"),
        (MarginalTransfer(SVC(kernel="precomputed")), "square", TypeError, "does not support samples of points"),
        (MarginalTransfer(SVC()), np.zeros(3), ValueError, r"shape \(3,\); give one label per point, 60 in all"),
        (MarginalTransfer(SVC()), np.full(60, np.nan), ValueError, "groups contains NaN"),
        (MarginalTransfer(SVC()), [None] * 30 + ["a"] * 30, ValueError, "groups contains NaN or None"),
        (
            MarginalTransfer(SVC()),
            np.array([1] * 30 + ["a"] * 30, dtype=object),
            TypeError,
            "cannot be sorted; make th",
        ),
        (MarginalTransfer(SVC(kernel=Power(1.0))), "right", ValueError, r"is strictly CPD\(1\), but its product"),
        (MarginalTransfer(KernelRidge(free=1)), "right", ValueError, "free = 1 of the estimator"),
        (MarginalTransfer(SVC(), n_features=3), "right", ValueError, "n_features = 3 must be even"),
        (MarginalTransfer(SVC(kernel="linear"), n_features=4), "right", TypeError, "stationary kernel of the points"),
        (MarginalTransfer(SVC(), MeanMap(Gaussian()), n_features=4), "right", TypeError, "needs a DistributionGauss"),
        (MarginalTransfer(SVC(), "gaussian"), "right", TypeError, "give a kernel on sets"),
        (MarginalTransfer(SVC(), MeanMap(-1.0 * Gaussian())), "right", ValueError, "is INDEFINITE"),
    ],
)
def test_refusals(model, groups, error, message) -> None:
    X, y, right = ordinary()
    X = X @ X.T if isinstance(groups, str) and groups == "square" else X
    with pytest.raises(error, match=message):
        model.fit(X, y > 0, groups=right if isinstance(groups, str) else groups)


SCALE = "the median distance and gamma='scale' are of the samples as they stand, weights or not"
CHECKS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


@pytest.mark.filterwarnings("ignore:MarginalTransfer. there is only one sample")
@pytest.mark.long
@parametrize_with_checks(
    [
        MarginalTransfer(KernelRidge(kernel=Linear())),
        MarginalTransfer(LeastSquaresSVC("gaussian")),
        MarginalTransfer(SVC()),
    ],
    expected_failed_checks=lambda e: dict.fromkeys(CHECKS, SCALE) if isinstance(e.estimator, SVC) else {},
)
def test_scikit_learn(estimator, check) -> None:
    check(estimator)


@pytest.mark.long
def test_speakers_left_out(data_dir) -> None:
    """Fifteen speakers, each in turn a new unlabelled sample; whether that gains anything is for the benchmark."""
    with gzip.open(data_dir / "classic" / "vowel.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    groups, y = np.array([row[0] for row in rows]), np.array([row[-1] for row in rows])
    X = np.array([row[1:-1] for row in rows], dtype=float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    machine = LeastSquaresSVC(Gaussian(2.0), alpha=0.1)
    pooled = cross_val_score(machine, X, y, groups=groups, cv=LeaveOneGroupOut())
    options = {"groups": groups, "params": {"groups": groups}, "cv": LeaveOneGroupOut()}
    alike = cross_val_score(MarginalTransfer(machine, DistributionGaussian(Gaussian(), 1e6)), X, y, **options)
    assert len(pooled) == 15 and np.allclose(alike, pooled)
    assert cross_val_score(MarginalTransfer(machine, MEDIAN), X, y, **options).mean() > 0.3  # guessing has 1/11
