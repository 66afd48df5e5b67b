"""Methods on NumPy arrays computed on a device, and models moved between devices."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer._device import TWIN

torch = pytest.importorskip("torch")
X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]

no_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=[pytest.mark.cuda, no_cuda])])
def place(request):
    return request.param


def answers(model, names=("predict",)):
    return [getattr(model, name)(X) for name in names]


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (mercer.SVC(tol=1e-6), ("predict", "decision_function")),
        (mercer.KernelLogisticRegression(), ("predict", "predict_proba")),
        (mercer.KernelPCA(2, kernel="rbf"), ("transform",)),
        (mercer.KernelRidgeClassifierCV(), ("predict",)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arrays_go_there_and_come_back(place, model, names):
    here = answers(clone(model).fit(X, y), names)
    with mercer.device(place):
        fitted = clone(model)
        assert fitted.fit(X, y) is fitted
        inside = answers(fitted, names)
    for expected, found, outside in zip(here, inside, answers(fitted, names), strict=True):
        assert type(found) is type(outside) is np.ndarray
        np.testing.assert_allclose(found, expected, atol=1e-4)
        np.testing.assert_allclose(outside, expected, atol=1e-4)


def test_work_is_done_with_tensors(place, monkeypatch):
    """Both the fit and predictions of the model inside the block; those outside have arrays."""
    seen = []
    check = mercer.KernelRidge._check_data
    monkeypatch.setattr(
        mercer.KernelRidge,
        "_check_data",
        lambda self, k, X, *a, **o: seen.append(type(X)) or check(self, k, X, *a, **o),
    )
    with mercer.device(place):
        model = mercer.KernelRidge(kernel="rbf").fit(X, X[:, 0])
        model.predict(X)
    model.predict(X)
    assert seen == [torch.Tensor, torch.Tensor, np.ndarray]


def test_models_are_of_arrays_afterwards(place, tmp_path):
    with mercer.device(place):
        model = mercer.KernelRidge(kernel="rbf").fit(X, X[:, 0])
    expected = model.predict(X)
    assert isinstance(model.dual_coef_, np.ndarray) and model.dtype_ == np.float64
    copied = pickle.loads(pickle.dumps(model))
    assert TWIN in vars(model) and TWIN not in vars(copied)
    np.testing.assert_array_equal(copied.predict(X), expected)
    mercer.save(model, tmp_path / "model.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model.mercer").predict(X), expected)


def test_a_later_fit_elsewhere_is_used(place):
    model = mercer.KernelRidge(kernel="rbf")
    with mercer.device(place):
        model.fit(X, X[:, 0])
    model.fit(X, X[:, 1])
    with mercer.device(place):
        found = model.predict(X)
    np.testing.assert_allclose(found, mercer.KernelRidge(kernel="rbf").fit(X, X[:, 1]).predict(X), rtol=1e-12)


def test_parameters_changed_after_the_fit_count(place):
    with mercer.device(place):
        model = mercer.SVC().fit(X, y).set_params(decision_function_shape="ovo")
        inside = model.decision_function(X)
    np.testing.assert_allclose(
        inside, mercer.SVC(decision_function_shape="ovo").fit(X, y).decision_function(X), atol=1e-2
    )


def test_labels_may_be_text(place):
    with mercer.device(place):
        model = mercer.SVC().fit(X, NAMES)
        found = model.predict(X)
    np.testing.assert_array_equal(found, mercer.SVC().fit(X, NAMES).predict(X))


def test_partial_fits_go_on_there(place):
    model = mercer.OnlineKernelMachine("squared", alpha=0.01)
    with mercer.device(place):
        model.partial_fit(X[:70], X[:70, 0])
        model.partial_fit(X[70:], X[70:, 0])
        assert type(model.predict(X)) is np.ndarray
    plain = mercer.OnlineKernelMachine("squared", alpha=0.01)
    plain.partial_fit(X[:70], X[:70, 0]).partial_fit(X[70:], X[70:, 0])
    np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-9)


def test_partial_fits_of_a_model_of_arrays_go_on_here(place):
    model = mercer.OnlineKernelMachine("squared", alpha=0.01).partial_fit(X[:70], X[:70, 0])
    with mercer.device(place):
        model.partial_fit(X[70:], X[70:, 0])
    model.partial_fit(X, X[:, 0])
    assert TWIN not in vars(model) and type(model.predict(X)) is np.ndarray


def test_a_model_on_another_device_is_used_here(place):
    with mercer.device(place):
        model = mercer.KernelRidge(kernel="rbf").fit(X, X[:, 0])
    vars(model)[TWIN] = (torch.device("cuda", 7), None)  # whose state must not be read
    with mercer.device(place):
        inside = model.predict(X)
    np.testing.assert_array_equal(inside, model.predict(X))


def test_an_error_leaves_the_tensors(place):
    with mercer.device(place):
        model = mercer.KernelRidge(kernel="rbf").fit(X, X[:, 0])
        with pytest.raises(ValueError, match="features"):
            model.predict(X[:, :2])
        assert TWIN in vars(model) and model.predict(X).shape == (150,)


def test_fits_of_a_search_are_there(place, monkeypatch):
    seen, check = set(), mercer.KernelRidge._check_data

    def watched(self, kernel, A, *args, **options):
        seen.add(type(A))
        return check(self, kernel, A, *args, **options)

    monkeypatch.setattr(mercer.KernelRidge, "_check_data", watched)
    grid = {"alpha": [0.1, 1.0]}
    with mercer.device(place):
        there = GridSearchCV(mercer.KernelRidge(kernel="rbf"), grid).fit(X, X[:, 0])
    assert seen == {torch.Tensor}
    here = GridSearchCV(mercer.KernelRidge(kernel="rbf"), grid).fit(X, X[:, 0])
    np.testing.assert_allclose(there.cv_results_["mean_test_score"], here.cv_results_["mean_test_score"], rtol=1e-9)


def test_what_cannot_be_there_is_computed_here(place):
    words = ["abba", "abab", "bbbb", "baba"]
    with mercer.device(place):
        strings = mercer.KernelRidge(kernel="spectrum(length=2)").fit(words, [1.0, 2.0, 3.0, 4.0])
        spline = mercer.SmoothingSpline().fit(np.arange(20.0), np.sin(np.arange(20.0)))
        linear = mercer.LinearSVC().fit(X, y)
        assert strings.predict(words).shape == (4,) and spline.predict([0.5]).shape == (1,)
        assert type(linear.predict(X)) is np.ndarray


def test_pipelines_and_single_results(place):
    with mercer.device(place):
        model = make_pipeline(StandardScaler(), mercer.SVC()).fit(X, y)
        assert model.score(X, y) > 0.95
        views = mercer.KernelCCA(n_components=2, epsilon=1.0).fit(X[:, :2], X[:, 2:])
        first, second = views.transform(X[:, :2], X[:, 2:])
        influence = mercer.RobustKernelDensity(bandwidth=0.5).fit(X).influence(X[:2])
    assert type(first) is type(second) is np.ndarray
    assert influence(X).shape == (150, 2)


def test_failed_fits_change_nothing(place):
    model = mercer.SVC().fit(X, y)
    before = model.predict(X)
    with mercer.device(place), pytest.raises(ValueError, match="C = -1"):
        model.set_params(C=-1.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_blocks_nest_and_end(place):
    with mercer.device(place):
        with pytest.raises(ZeroDivisionError), mercer.device("cpu"):
            raise ZeroDivisionError
        assert mercer.KernelRidge(kernel="rbf").fit(X, X[:, 0]).predict(X).shape == (150,)
    assert TWIN not in vars(mercer.KernelRidge(kernel="rbf").fit(X, X[:, 0]))


def test_unknown_devices_are_named(monkeypatch):
    with pytest.raises(ValueError, match="'gpu' is no device of torch; use 'cuda' or 'cpu'"), mercer.device("gpu"):
        pass
    with pytest.raises(ValueError, match="meta"), mercer.device("meta"):
        pass
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with (
        pytest.raises(ValueError, match=r"finds no CUDA device; (this build|install or update)"),
        mercer.device("cuda"),
    ):
        pass


def test_missing_torch_and_triton_are_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr("mercer._device.find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="device: Triton is missing"), mercer.device("cuda"):
        pass
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="'cuda' needs torch: pip install torch"), mercer.device("cuda"):
        pass


def test_models_move(place):
    tensors = mercer.KernelRidge(kernel="rbf").fit(torch.tensor(X), torch.tensor(X[:, 0]))
    expected = tensors.predict(torch.tensor(X)).numpy()
    there = mercer.moved(tensors, place)
    assert there.dual_coef_.device.type == place
    np.testing.assert_allclose(there.predict(torch.tensor(X, device=place)).cpu().numpy(), expected, atol=1e-9)
    arrays = mercer.moved(there, "numpy")
    assert type(arrays.dual_coef_) is np.ndarray
    np.testing.assert_allclose(arrays.predict(X), expected, atol=1e-9)


def test_what_cannot_be_pickled_cannot_move():
    model = mercer.KernelRidge(kernel=lambda a, b: float(a @ b)).fit(X[:5], X[:5, 0])
    with pytest.raises(TypeError, match="KernelRidge cannot be moved, as it cannot be pickled"):
        mercer.moved(model, "numpy")
