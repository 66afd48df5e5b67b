"""LeastSquaresSVC against kernlab's lssvm, the system written out, and refits."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import RidgeClassifier

from mercer.gram import Nystrom
from mercer.kernels import Gaussian, Laplace, Power, Sigmoid
from mercer.methods.lssvc import LeastSquaresSVC

rng = np.random.default_rng(5)
X, SPECIES = load_iris(return_X_y=True)
X = (X + 0.02 * rng.normal(size=X.shape))[::2]
y = np.array(["setosa", "versicolor", "virginica"])[SPECIES][::2]
n = len(X)
KERNEL = Gaussian(1.2)


def test_values_of_kernlabs_lssvm(oracle) -> None:
    o = oracle("lssvm_iris2")
    labels, parameters = np.array(o["inputs"]["y"]), o["parameters"]
    kernel = Laplace.from_kernlab(parameters["sigma"])
    model = LeastSquaresSVC(kernel, alpha=len(labels) * parameters["tau"]).fit(o["inputs"]["X"], labels)
    assert list(model.classes_) == o["outputs"]["levels"]
    scores = np.stack([-1.0, 1.0])[None, :] * model.decision_function(o["inputs"]["Xnew"])[:, None] / 2 + 0.5
    np.testing.assert_allclose(scores, o["outputs"]["scores_new"], atol=1e-7)
    np.testing.assert_allclose(model.dual_coef_ / 2, o["outputs"]["alpha"][:, 1], atol=1e-6)
    assert (1 + model.intercept_) / 2 == pytest.approx(o["outputs"]["b"][1], abs=1e-7)
    assert list(model.predict(o["inputs"]["Xnew"])) == o["outputs"]["predict_new"]
    assert 1 - model.score(o["inputs"]["X"], labels) == pytest.approx(o["outputs"]["train_error"])


@pytest.mark.parametrize("weight", [None, rng.uniform(0.1, 2, n)], ids=["equal", "weighted"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_system_written_out(classes, weight) -> None:
    use = np.flatnonzero(y != "setosa") if classes == 2 else np.arange(n)
    A, labels, w = X[use], y[use], None if weight is None else weight[use]
    model = LeastSquaresSVC(KERNEL, alpha=0.4).fit(A, labels, w)
    m = len(A)
    target = labels[:, None] == np.unique(labels)[None, :]
    target = np.where(target[:, 1], 1.0, -1.0) if classes == 2 else target.astype(float)
    noise = 0.4 * np.diag(np.ones(m) if w is None else 1 / w)
    system = np.block([[KERNEL(A) + noise, np.ones((m, 1))], [np.ones((1, m)), np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.concatenate([target, np.zeros((1, *target.shape[1:]))]))
    np.testing.assert_allclose(model.dual_coef_, solution[:m], atol=1e-9)
    np.testing.assert_allclose(model.intercept_, solution[m], atol=1e-9)
    if classes == 3:
        np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 1.0)


@pytest.mark.parametrize("gram", ["auto", Nystrom(rank=20)], ids=["dense", "low rank"])
@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_equals_refits(classes, gram) -> None:
    use = np.flatnonzero(y != "setosa") if classes == 2 else np.arange(n)
    A, labels = X[use], y[use]
    model = LeastSquaresSVC(KERNEL, alpha=0.4, gram=gram, random_state=0).fit(A, labels)
    values = model.leave_one_out()
    for i in range(0, len(A), 4):
        weight = np.ones(len(A))
        weight[i] = 0
        np.testing.assert_allclose(
            values[i], clone(model).fit(A, labels, weight).decision_function(A[[i]])[0], atol=1e-8
        )


def test_class_weights_are_sample_weights() -> None:
    some = np.r_[0:25, 25:35, 50:60]
    balanced = LeastSquaresSVC(KERNEL, class_weight="balanced").fit(X[some], y[some])
    weight = np.repeat([45 / (3 * 25), 1.5, 1.5], [25, 10, 10])
    weighted = LeastSquaresSVC(KERNEL).fit(X[some], y[some], weight)
    np.testing.assert_allclose(balanced.decision_function(X), weighted.decision_function(X), atol=1e-10)


def test_balanced_classes_weigh_the_same_in_total() -> None:
    """Samples of weight 0 count for nothing, here as everywhere."""
    weight = rng.uniform(0.1, 2, n)
    weight[::3] = 0
    totals = np.array([weight[y == c].sum() for c in np.unique(y)])
    model = LeastSquaresSVC(KERNEL, class_weight="balanced").fit(X, y, weight)
    np.testing.assert_allclose(model.class_weight_, totals.sum() / (3 * totals))
    used = weight > 0
    without = LeastSquaresSVC(KERNEL, class_weight="balanced").fit(X[used], y[used], weight[used])
    np.testing.assert_allclose(model.decision_function(X), without.decision_function(X), atol=1e-10)
    with pytest.raises(ValueError, match=r"LeastSquaresSVC: class_weight = 'balance' is unknown; .* None, 'balanced'"):
        LeastSquaresSVC(KERNEL, class_weight="balance").fit(X, y)


def test_shapes_are_those_of_scikit_learn() -> None:
    for labels in (y, y == "setosa"):
        theirs = RidgeClassifier().fit(X, labels)
        ours = LeastSquaresSVC(KERNEL).fit(X, labels)
        for rows in (X, X[:1]):
            assert ours.decision_function(rows).shape == theirs.decision_function(rows).shape
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)


def test_conditionally_definite_kernels_of_order_one_are_allowed() -> None:
    assert LeastSquaresSVC(Power(1.0), alpha=0.1).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match="INDEFINITE"):
        LeastSquaresSVC(Sigmoid()).fit(X, y)


def test_every_array_library(xp) -> None:
    labels = (y == "setosa").astype(int)
    model = LeastSquaresSVC(KERNEL).fit(xp.asarray(X), xp.asarray(labels))
    expected = LeastSquaresSVC(KERNEL).fit(X, labels)
    np.testing.assert_allclose(np.asarray(model.decision_function(xp.asarray(X))), expected.decision_function(X))
    np.testing.assert_array_equal(np.asarray(model.predict(xp.asarray(X))), expected.predict(X))


@pytest.mark.parametrize("alpha", [0.0, -1.0, "1", None], ids=str)
def test_bad_alpha(alpha) -> None:
    with pytest.raises((ValueError, TypeError), match=r"LeastSquaresSVC: alpha = .* must be"):
        LeastSquaresSVC(KERNEL, alpha=alpha).fit(X, y)
