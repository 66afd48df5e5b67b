"""Every method gives the same numbers for NumPy arrays and for tensors, on any device, to the digits stated here.

Tensors of the host run everywhere; those marked `cuda` need a device.
"""

from dataclasses import dataclass, field
from inspect import isclass

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import mercer
from mercer.gram import Nystrom
from mercer.inference import conditional_independence_test, hsic_test, mmd_test

torch = pytest.importorskip("torch")

rng = np.random.default_rng(0)
FLOWERS, KINDS = load_iris(return_X_y=True)
TABLE, NUMBERS = load_diabetes(return_X_y=True)
TABLE, NUMBERS = 10 * TABLE[:120], NUMBERS[:120] / 50
FEW = np.where(np.arange(150) % 5 == 0, KINDS, -1)  # labels of a fifth of the flowers
QUERY = np.where(np.arange(150) < 3, 1.0, 0.0)
MIXED = rng.uniform(-1, 1, size=(500, 3)) @ rng.normal(size=(3, 3))
PAIR = FLOWERS[50:], KINDS[50:]
ALL = FLOWERS, KINDS
TARGETS = TABLE, NUMBERS
COUNTS = TABLE, np.round(NUMBERS)
ROWS = TABLE, None
LABELS, VALUES = ("predict", "decision_function"), ("predict",)
TIGHT = {"tol": 1e-6}


@dataclass
class Case:
    """A method on data, the answers that must agree, and how closely."""

    model: object
    data: tuple
    answers: tuple = VALUES
    atol: float = 1e-8
    attributes: tuple = field(default=())


CASES = {
    "AnovaSpline": Case(mercer.AnovaSpline(), (TABLE[:, :3], NUMBERS)),
    "ImportVectorMachine": Case(mercer.ImportVectorMachine(), ALL, (*LABELS, "predict_proba")),
    "KernelCCA": Case(mercer.KernelCCA(epsilon=1.0), (TABLE, TABLE[:, :2]), ("transform",)),
    "KernelDensity": Case(mercer.KernelDensity(bandwidth=0.5), ROWS, ("score_samples",)),
    "KernelDimensionReduction": Case(mercer.KernelDimensionReduction(1, random_state=0), TARGETS, ("transform",), 1e-6),
    "KernelDimensionReduction by gradients": Case(
        mercer.KernelDimensionReduction(2, method="gkdr"), TARGETS, ("transform",)
    ),
    "KernelExpectileRegression": Case(mercer.KernelExpectileRegression(expectiles=0.8), TARGETS),
    "KernelFeatureAnalysis": Case(mercer.KernelFeatureAnalysis(3), ROWS, ("transform",)),
    "KernelFisher": Case(mercer.KernelFisher(), ALL, ("predict", "transform")),
    "KernelICA": Case(mercer.KernelICA(random_state=0), (MIXED, None), ("transform",), 1e-6),
    "KernelICA by correlations": Case(
        mercer.KernelICA(contrast="kcca", random_state=0), (MIXED, None), ("transform",), 1e-4
    ),
    "KernelInterpolator": Case(mercer.KernelInterpolator(kernel="gaussian(lengthscale=0.5)"), TARGETS, VALUES, 1e-6),
    "KernelKMeans": Case(mercer.KernelKMeans(3, random_state=0), (FLOWERS, None), ("predict", "transform")),
    "KernelLogisticRegression": Case(
        mercer.KernelLogisticRegression(), PAIR, (*LABELS, "predict_proba", "predict_log_proba")
    ),
    "KernelLogisticRegression, 3 classes": Case(
        mercer.KernelLogisticRegression(), ALL, (*LABELS, "predict_proba", "predict_log_proba")
    ),
    "KernelLogisticRegression, low rank": Case(
        mercer.KernelLogisticRegression(gram=Nystrom(rank=30), random_state=0), PAIR, (*LABELS, "predict_proba")
    ),
    "KernelLogisticRegression, no matrix": Case(
        mercer.KernelLogisticRegression(gram="lazy"), PAIR, (*LABELS, "predict_proba"), 1e-6
    ),
    "KernelMachine, absolute": Case(mercer.KernelMachine("absolute", **TIGHT), TARGETS, VALUES, 1e-4),
    "KernelMachine, admm": Case(
        mercer.KernelMachine("pinball(quantile=0.9)", solver="admm", **TIGHT), TARGETS, VALUES, 1e-6
    ),
    "KernelMachine, hinge": Case(mercer.KernelMachine("hinge", free=0, **TIGHT), PAIR, LABELS, 1e-4),
    "KernelMachine, huber": Case(mercer.KernelMachine("huber", free=1), TARGETS),
    "KernelMachine, lbfgs": Case(mercer.KernelMachine("logistic", solver="lbfgs"), PAIR, LABELS, 1e-6),
    "KernelMachine, multinomial": Case(mercer.KernelMachine("multinomial", free=0), ALL, LABELS, 1e-6),
    "KernelMachine, norm": Case(mercer.KernelMachine("logistic", penalty="norm"), PAIR, LABELS, 1e-6),
    "KernelMachine, poisson": Case(mercer.KernelMachine("poisson"), COUNTS),
    "KernelMachine, sparse": Case(mercer.KernelMachine("logistic", penalty="l1", alpha=0.1), PAIR, LABELS, 1e-6),
    "KernelMachine, squared": Case(mercer.KernelMachine("squared", free=0), TARGETS),
    "KernelMeanClassifier": Case(mercer.KernelMeanClassifier(), ALL),
    "KernelPCA": Case(mercer.KernelPCA(3, kernel="rbf"), ROWS, ("transform",)),
    "KernelPLS": Case(mercer.KernelPLS(3), TARGETS, ("predict", "transform")),
    "KernelPLSClassifier": Case(mercer.KernelPLSClassifier(3), ALL),
    "KernelQuantileRegression": Case(mercer.KernelQuantileRegression(quantiles=0.3, **TIGHT), TARGETS, VALUES, 1e-4),
    "KernelQuantileRegression without crossing": Case(
        mercer.KernelQuantileRegression(quantiles=[0.1, 0.5, 0.9], non_crossing=True), TARGETS, VALUES, 1e-6
    ),
    "KernelRidge": Case(mercer.KernelRidge(kernel="rbf"), TARGETS),
    "KernelRidgeCV": Case(mercer.KernelRidgeCV(), TARGETS),
    "KernelRidgeClassifierCV": Case(mercer.KernelRidgeClassifierCV(), ALL, LABELS),
    "KreinRidge": Case(mercer.KreinRidge("sigmoid(scale=0.05, offset=-1.0)"), TARGETS),
    "KreinSVC": Case(mercer.KreinSVC("sigmoid(scale=0.05, offset=-1.0)", **TIGHT), ALL, LABELS, 1e-4),
    "LeastSquaresSVC": Case(mercer.LeastSquaresSVC(), ALL, LABELS),
    "ManifoldRanking": Case(mercer.ManifoldRanking(), (FLOWERS, QUERY), ("score_samples",)),
    "MultipleKernel": Case(mercer.MultipleKernel(mercer.KernelRidge(), ["gaussian", "linear"]), TARGETS, VALUES, 1e-6),
    "NuSVC": Case(mercer.NuSVC(nu=0.3, **TIGHT), ALL, LABELS, 1e-4),
    "NuSVR": Case(mercer.NuSVR(C=5.0, **TIGHT), TARGETS, VALUES, 1e-4),
    "OneClassSVM": Case(mercer.OneClassSVM(nu=0.2, **TIGHT), ROWS, ("score_samples",), 1e-4),
    "OnlineKernelMachine": Case(mercer.OnlineKernelMachine("hinge", alpha=0.01), PAIR, LABELS),
    "OnlineKernelMachine, regression": Case(mercer.OnlineKernelMachine("squared", alpha=0.01, budget=30), TARGETS),
    "RelevanceVectorClassifier": Case(
        mercer.RelevanceVectorClassifier(), PAIR, (*LABELS, "predict_proba"), 1e-6, ("relevance_",)
    ),
    "RelevanceVectorMachine": Case(mercer.RelevanceVectorMachine(), TARGETS, VALUES, 1e-6, ("relevance_",)),
    "RobustKernelDensity": Case(mercer.RobustKernelDensity(bandwidth=0.5), ROWS, ("score_samples",)),
    "RobustKernelRegression": Case(mercer.RobustKernelRegression(), TARGETS, VALUES, 1e-6),
    "RobustKernelRegression, hampel": Case(mercer.RobustKernelRegression(loss="hampel"), TARGETS, VALUES, 1e-6),
    "SemiSupervised": Case(mercer.SemiSupervised(mercer.SVC(**TIGHT)), (FLOWERS, FEW), LABELS, 1e-4),
    "SVC": Case(mercer.SVC(**TIGHT), ALL, LABELS, 1e-4),
    "SVR": Case(mercer.SVR(C=10.0, **TIGHT), TARGETS, VALUES, 1e-4),
    "ThinPlateSpline": Case(mercer.ThinPlateSpline(alpha=1.0), (TABLE[:, :2], NUMBERS)),
}
# methods that refuse tensors, in a sentence that says so
REFUSED = {
    "MarginalTransfer": (mercer.MarginalTransfer(mercer.KernelRidge()), TARGETS, np.arange(120) % 4),
    "MultitaskKernelRidge": (mercer.MultitaskKernelRidge(task=0), TARGETS),
    "MultitaskSVC": (mercer.MultitaskSVC(task=0), PAIR),
    "SmoothingSpline": (mercer.SmoothingSpline(), (TABLE[:, 0], NUMBERS)),
}
ON_THE_HOST = {"LinearSVC", "LinearSVR", "SpectralClustering"}  # these take tensors, and return arrays
NO_METHODS = {"Calibration"}

no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=[pytest.mark.cuda, no_cuda])])
def tensor(request):
    """Values as a tensor on a device; labels keep their type."""

    def make(values):
        return None if values is None else torch.tensor(values, device=request.param)

    return make


def test_every_method_is_here():
    methods = {name for name in mercer.methods.__all__ if isclass(getattr(mercer, name))}
    here = {name.split(",")[0].split(" ")[0] for name in CASES}
    assert methods - NO_METHODS == here | {*REFUSED} | ON_THE_HOST


@pytest.mark.parametrize("name", CASES)
def test_tensors_and_arrays_agree(tensor, name):
    case = CASES[name]
    X, y = case.data
    here, there = clone(case.model).fit(X, y), clone(case.model).fit(tensor(X), tensor(y))
    for answer in case.answers:
        expected, found = getattr(here, answer)(X), getattr(there, answer)(tensor(X))
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for ours, theirs in pairs:
            assert isinstance(ours, torch.Tensor) and ours.device.type == tensor(X).device.type
            np.testing.assert_allclose(ours.cpu().numpy(), theirs, rtol=case.atol, atol=case.atol)
    for attribute in case.attributes:
        np.testing.assert_array_equal(getattr(there, attribute), getattr(here, attribute))


@pytest.mark.parametrize("null", ["permutation", "spectrum", "gamma"])
def test_hypothesis_tests_agree(tensor, null):
    A, B, C = TABLE[:60, :3], TABLE[:60, 3:5], TABLE[60:110, :3]
    options = {"null": null, "random_state": 0} | ({} if null == "permutation" else {"kernel": "gaussian('median')"})
    results = [(mmd_test(to(A), to(C), **options), hsic_test(to(A), to(B), **options)) for to in (tensor, np.asarray)]
    if null != "permutation":
        for found, to in zip(results, (tensor, np.asarray), strict=True):
            found += (conditional_independence_test(to(A), to(B), to(TABLE[:60, 5:6]), null=null, random_state=0),)
    for found, expected in zip(*results, strict=True):
        assert found.statistic == pytest.approx(expected.statistic, rel=1e-6, abs=1e-12)
        assert found.p_value == pytest.approx(expected.p_value, abs=0.02)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_what_to_do(tensor, name):
    model, (X, y), *groups = REFUSED[name]
    options = {"groups": groups[0]} if groups else {}
    with pytest.raises(TypeError, match=rf"^{name}\b.*(give|as) NumPy arrays"):
        clone(model).fit(tensor(X), tensor(y), **options)
