"""Kernel feature analysis against kernlab's loop, written out, which gives kernlab's numbers with kernlab's slips."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Delta, Gaussian, Linear, Power
from mercer.methods.feature_analysis import KernelFeatureAnalysis

X = load_iris().data[::3]
NEW = load_iris().data[1::10]
KERNEL = Gaussian(1.5)
# what set.seed(5); sample(30) is in R, counted from 0
SHUFFLED = np.fromstring(
    "1 10 24 14 28 27 8 20 6 18 2 5 26 11 15 9 4 25 23 22 17 13 29 7 19 0 21 3 12 16", int, sep=" "
)


def loop(K, order, m, normalize=True, slip=False):
    """Coefficients (a row per feature) and chosen samples: every direction is kept by its coefficients and deflated.

    With `slip` the inner products of the deflation are taken with the samples that stand at the places of the chosen
    ones in the unshuffled order, as kernlab does.
    """
    order = np.asarray(order)
    values = K[order]
    inner = values if slip else values[:, order]
    own, others = np.ones(len(order)), np.zeros((len(order), m))
    features, chosen = np.zeros((m, m)), []
    for i in range(m):
        spread = (own[:, None] * values + others[:, :i] @ values[chosen]).std(axis=1, ddof=1)
        spread[chosen] = -1
        best = int(spread.argmax())
        features[i, :i], features[i, i] = others[best, :i], own[best]
        chosen.append(best)
        a, block = features[i, : i + 1], inner[np.ix_(chosen, chosen)]
        share = (own * (inner[:, chosen] @ a) + others[:, : i + 1] @ block @ a) / (a @ block @ a)
        others[:, : i + 1] -= np.outer(share, a)
        if normalize:
            total = own + np.abs(others).sum(axis=1)
            own, others = own / total, others / total[:, None]
    return features, order[chosen]


def test_kernlab(oracle):
    """The loop with the slip is kernlab's, whose predictions transpose and centre by the batch; without it, ours."""
    case = oracle("kfa_rbf_iris")
    sample, new = case["inputs"]["X"], case["inputs"]["Xnew"]
    kernel = Gaussian.from_kernlab(case["parameters"]["sigma"])
    m = case["parameters"]["features"]
    features, chosen = loop(kernel(sample), SHUFFLED, m, slip=True)
    np.testing.assert_allclose(features, case["outputs"]["alpha"], atol=1e-14)
    np.testing.assert_array_equal(chosen + 1, case["outputs"]["alphaindex"])
    values = kernel(new, sample[chosen]) @ features
    np.testing.assert_allclose(values - values.mean(axis=0), case["outputs"]["predict"], atol=1e-14)

    kfa = KernelFeatureAnalysis(m, kernel=kernel).fit(sample)
    features, chosen = loop(kernel(sample), SHUFFLED, m)
    np.testing.assert_allclose(kfa.dual_coef_, features, atol=1e-13)
    np.testing.assert_array_equal(kfa.support_ + 1, case["outputs"]["alphaindex"])


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("gram", ["dense", "lazy", IncompleteCholesky(tol=0), Nystrom(rank=len(X))], ids=str)
def test_loop(gram, normalize):
    kfa = KernelFeatureAnalysis(6, kernel=KERNEL, normalize=normalize, gram=gram, random_state=0).fit(X)
    features, chosen = loop(KERNEL(X), np.arange(len(X)), 6, normalize)
    np.testing.assert_array_equal(kfa.support_, chosen)
    np.testing.assert_allclose(kfa.dual_coef_, features, atol=1e-6)
    values = KERNEL(NEW, X[chosen]) @ features.T - (KERNEL(X, X[chosen]) @ features.T).mean(axis=0)
    np.testing.assert_allclose(kfa.transform(NEW), values, atol=1e-6)


def test_features():
    """Orthogonal, sparse, centred by the sample, and of the spread that was found."""
    kfa = KernelFeatureAnalysis(5, kernel=KERNEL).fit(X)
    assert len(kfa.function_) == 5
    K = KERNEL(X[kfa.support_])
    products = kfa.dual_coef_ @ K @ kfa.dual_coef_.T
    np.testing.assert_allclose(products, np.diag(np.diag(products)), atol=1e-12)
    np.testing.assert_allclose(np.abs(kfa.dual_coef_).sum(axis=1), 1)
    Z = kfa.transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(Z.std(axis=0, ddof=1), kfa.spread_, rtol=1e-10)
    np.testing.assert_allclose(kfa.transform(NEW)[:1], kfa.transform(NEW[:1]))
    assert kfa.get_feature_names_out()[4] == "kernelfeatureanalysis4"


def test_candidates():
    """The same choice among the drawn samples, on the spread over all."""
    kfa = KernelFeatureAnalysis(4, kernel=KERNEL, candidates=20, random_state=3).fit(X)
    again = KernelFeatureAnalysis(4, kernel=KERNEL, candidates=20, random_state=3).fit(X)
    np.testing.assert_array_equal(kfa.support_, again.support_)
    every = KernelFeatureAnalysis(kernel=KERNEL, candidates=20, random_state=3).fit(X)
    features, chosen = loop(KERNEL(X), every.support_, 4)
    np.testing.assert_array_equal(kfa.support_, chosen)
    np.testing.assert_allclose(kfa.dual_coef_, features, atol=1e-12)
    assert len(every.support_) == 20


def test_low_rank_has_an_end():
    """A linear kernel in four dimensions has four features, whatever is asked for."""
    kfa = KernelFeatureAnalysis(20, kernel=Linear()).fit(X)
    assert len(kfa.support_) == 4
    assert kfa.transform(X).shape == (len(X), 4)


def test_offset():
    """Far from the origin the linear kernel's first feature takes nearly all; the others are found nonetheless."""
    far = X + 1e3
    kfa = KernelFeatureAnalysis(kernel=Linear()).fit(far)
    features, chosen = loop(far @ far.T, np.arange(len(X)), 4)
    np.testing.assert_array_equal(kfa.support_, chosen)
    np.testing.assert_allclose(kfa.dual_coef_, features, atol=1e-6)
    np.testing.assert_allclose(kfa.transform(far).std(axis=0, ddof=1), kfa.spread_, rtol=1e-8)


def test_labels():
    """Any domain: the indicator of the label with the largest variance comes first."""
    labels = ["a"] * 6 + ["b"] * 3 + ["c"]
    kfa = KernelFeatureAnalysis(kernel=Delta()).fit(labels)
    assert labels[kfa.support_[0]] == "a"
    assert sorted(labels[i] for i in kfa.support_) == ["a", "b", "c"]


def test_single_precision_and_torch():
    torch = pytest.importorskip("torch")
    double = KernelFeatureAnalysis(3, kernel=KERNEL).fit(X)
    for sample in (X.astype(np.float32), torch.asarray(X)):
        kfa = KernelFeatureAnalysis(3, kernel=KERNEL).fit(sample)
        np.testing.assert_array_equal(kfa.support_, double.support_)
        Z = kfa.transform(sample)
        assert Z.dtype == sample.dtype
        np.testing.assert_allclose(np.asarray(Z), double.transform(X), atol=1e-5)


def test_bad_input():
    with pytest.raises(ValueError, match="samples are equal"):
        KernelFeatureAnalysis().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="samples are equal"):
        KernelFeatureAnalysis(kernel=Linear()).fit(np.full((10, 2), 0.1))
    with pytest.raises(ValueError, match="n_samples = 1"):
        KernelFeatureAnalysis().fit(X[:1])
    with pytest.raises(ValueError, match="positive definite"):
        KernelFeatureAnalysis(kernel=Power(1.0)).fit(X)
    for name in ("n_components", "candidates"):
        with pytest.raises(ValueError, match=f"{name} = 0 must be >= 1"):
            KernelFeatureAnalysis(**{name: 0}).fit(X)
