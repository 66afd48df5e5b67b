"""Support vector machines on torch tensors: the numbers of NumPy, in tensors."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import mercer
from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.selection import KernelSearchCV, svm_path

torch = pytest.importorskip("torch")
X, y = load_iris(return_X_y=True)
D, t = load_diabetes(return_X_y=True)
D, t = 10 * D[:120], t[:120] / 50
TOL = 1e-6

CLASSIFIERS = {
    "pairs": SVC(tol=TOL),
    "class against the rest": SVC(tol=TOL, multi_class="ovr"),
    "all classes at once": SVC(tol=TOL, multi_class="crammer_singer"),
    "squared hinge, no offset": SVC(tol=TOL, loss="squared_hinge", fit_intercept=False),
    "linear": SVC(tol=TOL, kernel="linear"),
    "polynomial": SVC(tol=TOL, kernel="poly", degree=2),
    "weights": SVC(tol=TOL, class_weight={0: 2.0, 1: 1.0, 2: 0.5}),
    "ties": SVC(tol=TOL, break_ties=True),
    "calibrated": SVC(tol=TOL, calibration="cv"),
    "dense": SVC(tol=TOL, gram="dense"),
    "nu": NuSVC(tol=TOL, nu=0.3),
}


no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=[pytest.mark.cuda, no_cuda])])
def tensor(request):
    """Values as a tensor on a device; labels keep their type."""

    def make(values, dtype=torch.float64):
        kind = None if np.asarray(values).dtype.kind == "i" else dtype
        return torch.tensor(values, dtype=kind, device=request.param)

    return make


def close(found, expected, atol=1e-4):
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.cpu().numpy(), expected, atol=atol)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_agree(tensor, name, classes):
    A, labels = (X, y) if classes == 3 else (X[50:], y[50:])
    reference, found = clone(CLASSIFIERS[name]), clone(CLASSIFIERS[name])
    if name == "weights" and classes == 2:
        for model in (reference, found):
            model.set_params(class_weight={1: 2.0, 2: 0.5})
    reference.fit(A, labels)
    found.fit(tensor(A), tensor(labels))
    close(found.decision_function(tensor(A)), reference.decision_function(A))
    predicted = found.predict(tensor(A))
    assert predicted.dtype == torch.int64
    np.testing.assert_array_equal(predicted.cpu().numpy(), reference.predict(A))
    if name != "calibrated":  # votes do not determine the most probable class
        again = found.decide(found.decision_function(tensor(A)))
        np.testing.assert_array_equal(again.cpu().numpy(), predicted.cpu().numpy())
    if name == "calibrated":
        close(found.predict_proba(tensor(A)), reference.predict_proba(A), 1e-3)
        close(found.predict_log_proba(tensor(A)).exp(), reference.predict_proba(A), 1e-3)


@pytest.mark.parametrize("model", [SVR(tol=TOL, C=10.0), NuSVR(tol=TOL, C=5.0)], ids=repr)
def test_regressors_agree(tensor, model):
    reference, found = clone(model), clone(model)
    reference.fit(D, t)
    close(found.fit(tensor(D), tensor(t)).predict(tensor(D)), reference.predict(D))


def test_one_class_agrees(tensor):
    reference, found = (OneClassSVM(nu=0.2, tol=TOL, calibration="cv") for _ in range(2))
    reference.fit(D)
    found.fit(tensor(D))
    for name in ("decision_function", "score_samples"):
        close(getattr(found, name)(tensor(D)), getattr(reference, name)(D))
    sure = np.abs(reference.decision_function(D)) > 1e-4
    np.testing.assert_array_equal(found.predict(tensor(D)).cpu().numpy()[sure], reference.predict(D)[sure])
    assert np.mean(np.abs(found.p_values(tensor(D)) - reference.p_values(D)) > 0.02) < 0.05


def test_single_precision_stays_single(tensor):
    model = SVC().fit(tensor(X, torch.float32), tensor(y))
    values = model.decision_function(tensor(X, torch.float32))
    assert values.dtype == torch.float32 and model.support_vectors_.dtype == torch.float32
    reference = SVC(tol=1e-6).fit(X, y)
    assert np.mean(model.predict(tensor(X, torch.float32)).cpu().numpy() == reference.predict(X)) > 0.98
    assert max(s.gap for s in model.solutions_) <= model.tol


def test_many_samples_need_working_sets(tensor):
    """The same solution as on the host, from rows in single precision, with a gap in double precision."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(1500, 4))
    labels = (A[:, 0] + A[:, 1] ** 2 + 0.3 * rng.normal(size=1500) > 1).astype(int)
    found, reference = SVC(C=10.0).fit(tensor(A), tensor(labels)), SVC(C=10.0).fit(A, labels)
    for model in (found, reference):
        assert model.solutions_[0].converged and model.solutions_[0].gap <= 1e-3
    assert found.solutions_[0].objective == pytest.approx(reference.solutions_[0].objective, rel=1e-5)
    close(found.decision_function(tensor(A)), reference.decision_function(A), 5e-3)


def test_fitted_machines_can_be_stored(tensor, tmp_path):
    model = SVC().fit(tensor(X), tensor(y))
    mercer.save(model, tmp_path / "model.mercer")
    values = model.decision_function(tensor(X)).cpu().numpy()
    close(pickle.loads(pickle.dumps(model)).decision_function(tensor(X)), values, 0.0)
    close(mercer.load(tmp_path / "model.mercer").decision_function(torch.tensor(X)), values, 1e-9)  # in main memory


def test_points_of_another_library_are_refused(tensor):
    with pytest.raises(TypeError, match="SVC: X and the training data belong to different array libraries"):
        SVC().fit(tensor(X), tensor(y)).predict(X)


def test_searches_take_tensors(tensor):
    """The same scores as from arrays; on a device each fit computes its own matrix."""
    grid = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
    found = KernelSearchCV(SVC(), grid).fit(tensor(X), tensor(y))
    reference = KernelSearchCV(SVC(), grid).fit(X, y)
    np.testing.assert_allclose(
        found.cv_results_["mean_test_score"], reference.cv_results_["mean_test_score"], atol=1.01 / len(X)
    )
    assert isinstance(found.predict(tensor(X)), torch.Tensor)


def test_paths_take_tensors(tensor):
    A, b = X[50:], y[50:]
    found, reference = (
        svm_path(*pair, [0.1, 1.0, 10.0], gamma=0.1, tol=TOL) for pair in ((tensor(A), tensor(b)), (A, b))
    )
    for name in ("dual_coef", "intercept", "objective"):
        np.testing.assert_allclose(getattr(found, name), getattr(reference, name), atol=1e-3)
    for name in ("n_bound", "training_error", "loo_bound"):
        np.testing.assert_allclose(getattr(found, name), getattr(reference, name), atol=0.03)
    close(found.functions[1](tensor(A)), reference.functions[1](A))
