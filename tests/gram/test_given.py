"""A Gram operator that exists already is a representation: fits agree with their own, and evaluate nothing."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import SVC, SVR, KernelKMeans, KernelMachine, KernelPCA, KernelRidge
from mercer.gram import Dense, Lazy, Nystrom
from mercer.kernels import Gaussian, Linear

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3)) + 5.0
y = X[:, 0] * X[:, 1]
labels = (y > np.median(y)).astype(int)

ESTIMATORS = {
    "ridge": (KernelRidge(0.1), y),
    "ridge with intercept": (KernelRidge(0.1, fit_intercept=True), y),
    "SVC": (SVC(), labels),
    "SVR": (SVR(), y),
    "huber": (KernelMachine("huber"), y),
    "PCA": (KernelPCA(3), None),
    "k-means": (KernelKMeans(2, random_state=0), None),
}


def answers(model):
    return (model.predict if hasattr(model, "predict") else model.transform)(X[:7] + 0.1)


class Counting(Gaussian):
    """A kernel that counts its evaluations at more than a point."""

    calls = 0

    def evaluate(self, A, B=None):
        Counting.calls += 1
        return super().evaluate(A, B)


@pytest.mark.parametrize(
    ("representation", "kernel"),
    [(Dense(), Gaussian(2.0)), (Lazy(), Gaussian(2.0)), (Nystrom(rank=10), Gaussian(2.0)), (Dense(), Linear())],
    ids=str,
)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_is_that_of_the_representation(name, representation, kernel):
    model, target = ESTIMATORS[name]
    operator = representation.build(kernel, X, 0)
    given = clone(model).set_params(kernel=kernel, gram=operator).fit(X, target)
    assert given.gram_choice_ == f"{type(operator).__name__} as given"
    own = clone(model).set_params(kernel=kernel, gram=representation)
    if "random_state" in own.get_params():
        own.set_params(random_state=0)
    if name == "PCA":
        assert np.allclose(np.abs(answers(given)), np.abs(answers(own.fit(X))), atol=1e-6)
    else:
        assert np.allclose(answers(given), answers(own.fit(X, target)), atol=2e-3 if name[0] == "S" else 1e-6)


def test_nothing_is_evaluated():
    kernel = Counting(2.0)
    operator = Dense().build(kernel, X)
    before = Counting.calls
    models = [KernelRidge(alpha, kernel=kernel, gram=operator).fit(X, y) for alpha in (0.1, 1.0, 10.0)]
    assert Counting.calls == before
    K = operator.dense()
    for model in models:
        assert np.allclose(model.dual_coef_, np.linalg.solve(K + model.alpha * np.eye(len(K)), y))


@pytest.mark.parametrize("representation", [Dense(), Lazy(), Nystrom(rank=10)], ids=str)
def test_the_operator_keeps_a_sample_of_its_own(representation):
    Z = X.copy()
    operator = representation.build(Gaussian(2.0), Z, 0)
    model = KernelRidge(0.1, kernel=Gaussian(2.0), gram=operator).fit(Z, y)
    before = model.predict(X)
    Z *= 3
    assert np.array_equal(model.predict(X), before)
    with pytest.raises(ValueError, match="another sample than X"):
        KernelRidge(0.1, kernel=Gaussian(2.0), gram=operator).fit(Z, y)
    assert np.array_equal(KernelRidge(0.1, kernel=Gaussian(2.0), gram=operator).fit(X, y).predict(X), before)


def test_clones_share_the_operator():
    operator = Dense().build(Gaussian(2.0), X)
    assert clone(KernelRidge(gram=operator)).gram is operator


def test_another_sample_is_refused():
    operator = Dense().build(Gaussian(2.0), X)
    with pytest.raises(ValueError, match="KernelRidge: gram was built on another sample than X; build it on X"):
        KernelRidge(kernel=Gaussian(2.0), gram=operator).fit(X + 1, y)


def test_another_kernel_is_refused():
    operator = Dense().build(Gaussian(2.0), X)
    with pytest.raises(ValueError, match=r"the kernel of the fit is gaussian; give kernel=gram.kernel"):
        KernelRidge(kernel=Gaussian(1.0), gram=operator).fit(X, y)


def test_a_model_with_its_operator_is_saved_or_refused(tmp_path):
    model = KernelRidge(0.1, kernel=Gaussian(2.0), gram=Dense().build(Gaussian(2.0), X)).fit(X, y)
    mercer.io.save(model, tmp_path / "model.mercer")
    assert np.array_equal(mercer.io.load(tmp_path / "model.mercer").predict(X), model.predict(X))
