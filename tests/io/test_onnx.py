"""ONNX graphs answer as the estimators do, in the runtime that users have, or are refused."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone, is_classifier
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC as PeerSVC
from sklearn.utils.multiclass import _ovr_decision_function
from tests.methods.test_sklearn import ESTIMATORS

from mercer import kernels, methods
from mercer.domains import Vectors
from mercer.io import onnx as ours
from mercer.io import save_onnx, to_onnx
from mercer.io.libsvm import load_model
from mercer.selection import KernelSearchCV
from mercer.space import Function

ndonnx = pytest.importorskip("ndonnx", reason="needs the extra onnx")
runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")

rng = np.random.default_rng(3)
LONG = pytest.mark.long
X, NEW = rng.normal(size=(60, 6)), rng.normal(size=(9, 6))
Y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2
CLASSES = np.array(["few", "more", "many"])[(X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)]
# rounding of a sum over 60 points, whose coefficients are at most some hundreds here
CLOSE = {"rtol": 1e-10, "atol": 1e-12}


def run(graph, X):
    names = [output.name for output in graph.graph.output]
    return dict(zip(names, runtime.InferenceSession(graph.SerializeToString()).run(names, {"X": X}), strict=True))


@pytest.mark.parametrize(
    "model",
    [
        methods.KernelRidge(kernel="gaussian + 0.1*linear", fit_intercept=True),
        methods.KernelRidge(kernel="laplace(norm=1) * affine"),
        methods.SVR(),
        methods.KernelMachine(loss="poisson", kernel="gaussian"),
        *(
            pytest.param(model, marks=LONG)
            for model in (
                methods.KernelRidge(kernel="gaussian", gram="nystrom"),
                methods.KernelRidgeCV(kernel="matern(nu=2.5)"),
                methods.NuSVR(kernel="linear"),
                methods.KernelInterpolator(kernel="polyharmonic(degree=3)", free=1),
                methods.ThinPlateSpline(),
                methods.KernelQuantileRegression(quantiles=[0.2, 0.8]),
            )
        ),
    ],
    ids=lambda model: f"{type(model).__name__}-{model.get_params().get('kernel')}",
)
def test_regressors(model):
    model.fit(X, np.abs(Y))
    np.testing.assert_allclose(run(to_onnx(model), NEW)["variable"], model.predict(NEW), **CLOSE)


@LONG
def test_several_outputs():
    model = methods.KernelRidge(kernel="gaussian", alpha=0.1).fit(X, np.column_stack([Y, X[:, 3]]))
    np.testing.assert_allclose(run(to_onnx(model), NEW)["variable"], model.predict(NEW), **CLOSE)


@pytest.mark.parametrize(
    "model",
    [
        methods.SVC(),
        methods.KernelLogisticRegression(),
        *(
            pytest.param(model, marks=LONG)
            for model in (
                methods.SVC(kernel="poly", decision_function_shape="ovo"),
                methods.SVC(kernel="laplace", break_ties=True),
                methods.SVC(multi_class="ovr"),
                methods.NuSVC(nu=0.2),
                methods.LinearSVC(),
                methods.LeastSquaresSVC(),
                methods.KernelMeanClassifier(),
            )
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("y", [CLASSES, pytest.param(CLASSES == "few", marks=LONG)], ids=["3", "2"])
def test_classifiers(model, y):
    model.fit(X, y)
    found = run(to_onnx(model), NEW)
    assert found["label"].tolist() == model.predict(NEW).tolist()
    np.testing.assert_allclose(found["scores"], model.decision_function(NEW), **CLOSE)
    assert ("probabilities" in found) == isinstance(model, methods.KernelLogisticRegression)
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(NEW), **CLOSE)


def test_ties_of_votes_go_to_the_first_class_or_the_surest():
    values = np.array([[1.0, -2.0, 3.0]])  # each class wins once, the second against the third most clearly
    model = methods.SVC().fit(X, CLASSES)
    first, _ = ours._elected(model, ndonnx.asarray(values), ndonnx)
    surest, _ = ours._elected(model.set_params(break_ties=True), ndonnx.asarray(values), ndonnx)
    assert (first.unwrap_numpy().tolist(), surest.unwrap_numpy().tolist()) == ([0], [1])


@LONG
def test_peer_agrees():
    """The whole way: a machine of LIBSVM, and ours of the same problem in ONNX."""
    settings = {"C": 2.0, "gamma": 0.3, "tol": 1e-8}
    scores = run(to_onnx(methods.SVC(**settings).fit(X, CLASSES)), NEW)["scores"]
    np.testing.assert_allclose(scores, PeerSVC(**settings).fit(X, CLASSES).decision_function(NEW), atol=1e-6)


def test_outliers_and_features():
    inside = methods.OneClassSVM(nu=0.3).fit(X)
    found = run(to_onnx(inside), NEW)
    assert found["label"].tolist() == inside.predict(NEW).tolist() and set(found["label"].tolist()) == {1, -1}
    np.testing.assert_allclose(found["scores"], inside.decision_function(NEW), **CLOSE)
    pca = methods.KernelPCA(n_components=3, kernel="rbf").fit(X)
    np.testing.assert_allclose(run(to_onnx(pca), NEW)["features"], pca.transform(NEW), **CLOSE)


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        make_pipeline(SimpleImputer(), "passthrough", MinMaxScaler((-1, 2))),
        *(
            pytest.param(scaler, marks=LONG)
            for scaler in (
                StandardScaler(with_mean=False),
                StandardScaler(with_std=False),
                MaxAbsScaler(),
                RobustScaler(),
                RobustScaler(with_centering=False),
                RobustScaler(with_scaling=False),
            )
        ),
    ],
    ids=lambda scaler: str(scaler).replace("\n", ""),
)
def test_pipelines(scaler):
    given, new = X * 30 + 7, NEW * 30 + 7
    if hasattr(scaler, "steps"):
        new = np.where(new > 40, np.nan, new)
        assert np.isnan(new).any()
    model = make_pipeline(scaler, methods.SVR(C=10.0)).fit(given, Y)
    np.testing.assert_allclose(run(to_onnx(model), new)["variable"], model.predict(new), **CLOSE)


METHODS = {"scores": "decision_function", "probabilities": "predict_proba", "features": "transform"}


def assert_same(model, X):
    """In the runtime, whatever the outputs are."""
    found = run(to_onnx(model), X)
    for name, values in found.items():
        wanted = np.asarray(getattr(model, METHODS.get(name, "predict"))(X))
        if name == "label":
            assert values.tolist() == wanted.tolist()
        else:
            np.testing.assert_allclose(values, wanted, **CLOSE)
    return set(found)


@LONG
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: " ".join(repr(e).split())[:60])
def test_every_estimator_answers_as_it_does_or_refuses(estimator):
    positive, model = np.abs(X[:40, :3]) + 0.1, clone(estimator)
    A = positive @ positive.T if getattr(model, "kernel", None) == "precomputed" else positive
    labels = np.where(positive[:, 0] > 1, "high", "low")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(A, labels if is_classifier(model) else positive[:, 0])
        except ValueError:  # losses of signs
            model.fit(A, np.where(labels == "high", 1.0, -1.0))
        try:
            to_onnx(model)
        except (ValueError, TypeError) as refused:
            assert str(refused).startswith("to_onnx: ")
            return
        assert_same(model, np.abs(NEW[:, :3]) + 0.1)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"], dtype=object),
        np.array([3, 300], dtype=np.uint16),
        np.array([-1.0, 3.0]),
        pytest.param(np.array([False, True]), marks=LONG),
        pytest.param(np.array(["größe", ""]), marks=LONG),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_any_type(labels):
    assert_same(methods.SVC().fit(X, labels[(X[:, 0] > 0).astype(int)]), NEW)


def test_labels_that_graphs_do_not_know():
    dates = np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]")
    model = methods.SVC().fit(X, X[:, 0] > 0)
    model.classes_ = dates
    with pytest.raises(ValueError, match="labels of type datetime64"):
        to_onnx(model)


def test_calibrated_machines():
    two = methods.SVC(calibration="cv").fit(X, CLASSES == "few")
    assert assert_same(two, NEW) == {"label", "scores", "probabilities"}
    three = methods.SVC(calibration="cv").fit(X, CLASSES)  # predict is by probabilities then, not by votes
    with pytest.raises(ValueError, match="probabilities for several classes need a linear solver"):
        to_onnx(three)


@LONG
def test_searches_and_learned_kernels():
    pipe = make_pipeline(StandardScaler(), methods.SVC())
    assert_same(GridSearchCV(pipe, {"svc__C": [0.1, 10.0]}, cv=2).fit(X, CLASSES), NEW)
    assert_same(KernelSearchCV(methods.SVR(), {"C": [0.1, 10.0]}, cv=2).fit(X, Y), NEW)
    assert_same(methods.MultipleKernel(methods.SVC(), kernels=["gaussian", "linear"]).fit(X, CLASSES), NEW)
    with pytest.raises(TypeError, match="GridSearchCV is not an estimator of"):
        to_onnx(GridSearchCV(methods.SVC(), {"C": [0.1, 10.0]}, cv=2, refit=False).fit(X, CLASSES))


@pytest.mark.parametrize(
    ("model", "outputs"),
    [
        (methods.KernelFisher(), {"label", "scores", "features"}),
        (methods.KernelPLSClassifier(2), {"label", "scores", "features"}),
        (methods.KernelPLS(2), {"variable", "features"}),
        (methods.KernelMachine("multinomial", kernel="gaussian", free=0), {"label", "scores", "probabilities"}),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("classes", [pytest.param(2, marks=LONG), 3])
def test_what_transforms_and_predicts(model, outputs, classes):
    y = CLASSES if classes == 3 else np.where(CLASSES == "few", "a", "b")
    assert assert_same(clone(model).fit(X, y if is_classifier(model) else Y), NEW) == outputs


def test_columns_with_names():
    """A graph has none: no warning of scikit-learn's, and the order is that of the fit."""
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abcdef"))
    model = make_pipeline(StandardScaler(), methods.SVR()).fit(frame, Y)
    new = type(frame)(NEW, columns=frame.columns)
    np.testing.assert_allclose(run(to_onnx(model), NEW)["variable"], model.predict(new), **CLOSE)
    columns = make_pipeline(make_column_transformer((StandardScaler(), ["a", "b"])), methods.SVR()).fit(frame, Y)
    with pytest.raises(ValueError, match=r"ColumnTransformer.*only simple scalers"):
        to_onnx(columns)


@LONG
def test_undecided_points():
    """LinearSVC gives the first class where its value is 0, all others the second, and so does each graph."""
    origin = np.zeros((1, 6))
    y = CLASSES == "few"
    for model in (methods.LinearSVC(fit_intercept=False), methods.KernelMachine("hinge", kernel="linear")):
        assert model.fit(X, y).decision_function(origin).tolist() == [0.0]
        assert_same(model, origin)
    svc = methods.SVC().fit(X, CLASSES)
    values = np.array([[0.0, 0.0, 0.0], [0.0, -1.0, 1.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    for model in (svc.set_params(break_ties=False), clone(svc).set_params(break_ties=True).fit(X, CLASSES)):
        winner, scores = ours._elected(model, ndonnx.asarray(values), ndonnx)
        assert winner.unwrap_numpy().tolist() == model._chosen(values).tolist()
        np.testing.assert_allclose(scores.unwrap_numpy(), _ovr_decision_function(values < 0, -values, 3))


@LONG
def test_points_half_way_between_classes_are_no_reason_to_refuse():
    corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]) - 1 / 3
    for model in (methods.SVC(C=100.0), methods.LeastSquaresSVC("gaussian"), methods.SVC(kernel="poly", degree=2)):
        to_onnx(model.fit(corners, [0, 0, 1, 1]))


@LONG
def test_constant_and_single_point_functions():
    flat = methods.SVR(epsilon=100.0).fit(X, Y)
    assert not flat.support_.size
    assert_same(flat, NEW)
    one = methods.KernelInterpolator(kernel="gaussian").fit(X[:1], Y[:1])
    assert_same(one, NEW)


def test_far_and_missing_values():
    svc = methods.SVC().fit(X, CLASSES == "few")
    graph = to_onnx(svc)
    assert_same(svc, np.full((1, 6), 1e100))
    assert np.isnan(run(graph, np.full((1, 6), np.nan))["scores"]).all()


def test_the_extra_is_asked_for_when_it_is_needed(monkeypatch):
    model = methods.KernelRidge(kernel="gaussian").fit(X, Y)
    monkeypatch.setitem(sys.modules, "ndonnx", None)
    with pytest.raises(ImportError, match=r'to_onnx needs ndonnx: pip install "mercer\[onnx\]"'):
        to_onnx(model)


@LONG
def test_importing_the_library_leaves_the_extra_alone():
    code = "import sys, mercer, mercer.io; sys.exit(bool({'ndonnx', 'onnx', 'onnxruntime'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@LONG
def test_single_precision_and_sparse_samples():
    single = methods.SVC().fit(X.astype(np.float32), CLASSES)
    found = run(to_onnx(single), NEW.astype(np.float32))["scores"]
    np.testing.assert_allclose(found, single.decision_function(NEW.astype(np.float32)), atol=1e-5)
    assert found.dtype == np.float32
    means = methods.KernelMeanClassifier().fit(X.astype(np.float32), CLASSES != "few")
    assert run(to_onnx(means), NEW.astype(np.float32))["scores"].dtype == np.float32
    sparse = methods.SVC().fit(csr_array(X * (X > 0)), CLASSES)
    np.testing.assert_allclose(run(to_onnx(sparse), NEW)["scores"], sparse.decision_function(csr_array(NEW)), **CLOSE)


@LONG
@pytest.mark.parametrize(
    "kernel", ["laplace(lengthscale=1e-5)", "gaussian(lengthscale=2e-6)", "gaussian(lengthscale=1e-7)"]
)
def test_distances_in_many_dimensions_keep_their_digits(kernel):
    """Where ‖x‖² + ‖y‖² − 2xᵀy would lose half of them."""
    points = rng.normal(size=(12, 100)) * 1e-6 + 1.0
    model = methods.KernelInterpolator(kernel=kernel).fit(points, np.arange(12.0))
    np.testing.assert_allclose(run(to_onnx(model), points)["variable"], np.arange(12.0), atol=1e-6)


# special functions, sines in double precision, answers that depend on the values of the data; the last two in part
REFUSED = {
    *("arc_cosine", "arc_sine", "bernoulli", "bessel", "clipped", "cosine", "cosine_bump", "flipped", "fourier"),
    *("jensen_shannon", "periodic", "shifted", "squared"),
}
IN_PART = {
    "matern": lambda kernel: np.isfinite(kernel.nu) and kernel.nu % 1 != 0.5,
    "polynomial": lambda kernel: kernel.degree % 1 != 0,
}


def vector_kernels():
    for name, made in sorted(kernels.registry.items()):
        for i, kernel in enumerate(made.examples()):
            if isinstance(kernel.domain, Vectors) and name != "ordinal":
                yield pytest.param(name, kernel, id=f"{name}-{i}")


@LONG
@pytest.mark.parametrize("name, kernel", list(vector_kernels()))
def test_kernels_export_by_existing(name, kernel):
    """Any kernel of vectors gives the values of its function, or refuses; few may."""
    refused = name in REFUSED or IN_PART.get(name, lambda kernel: False)(kernel)
    points, new = rng.uniform(0.1, 0.9, size=(7, 3)), rng.uniform(0.1, 0.9, size=(5, 3))
    f = Function(kernel, points, rng.normal(size=7))
    x = ndonnx.argument(shape=("n", 3), dtype=ndonnx.float64)
    try:
        values = ours._values(f, f, x, ndonnx)  # warnings are errors here
    except Exception:
        assert refused
        return
    assert not refused
    graph = ndonnx.build({"X": x}, {"f": values})
    np.testing.assert_allclose(run(graph, new)["f"], f(new), rtol=1e-12, atol=1e-13 * np.abs(kernel(new, points)).max())


def test_refusals(tmp_path):
    text = methods.SVC(kernel="spectrum").fit(["abab", "bbbb", "aaaa"], [0, 1, 1])
    wave = methods.KernelRidge(kernel="periodic").fit(X, Y)
    with pytest.raises(ValueError, match=r"spectrum.*vectors in NumPy arrays.*mercer.save"):
        to_onnx(text)
    with pytest.raises(ValueError, match=r"periodic.*float32"):
        to_onnx(wave)
    with pytest.raises(ValueError, match="neither predictions nor features"):
        to_onnx(methods.KernelKMeans(2, random_state=0).fit(X))
    with pytest.raises(ValueError, match=r"PolynomialFeatures.*only simple scalers"):
        to_onnx(make_pipeline(PolynomialFeatures(), methods.SVR()).fit(X, Y))
    with pytest.raises(TypeError, match="not an estimator of this library"):
        to_onnx(PeerSVC().fit(X, CLASSES))
    with pytest.raises(NotFittedError):
        to_onnx(methods.SVC())
    path = tmp_path / "machine.onnx"
    path.write_bytes(b"before")
    with pytest.raises(ValueError, match="periodic"):
        save_onnx(wave, path)
    assert path.read_bytes() == b"before"


@pytest.mark.parametrize("kernel", ["linear", "rbf\ngamma 1"])
def test_graphs_larger_than_any_file_are_refused_at_once(tmp_path, kernel):
    """Two support vectors of LIBSVM, and as many columns as their largest index."""
    text = f"svm_type nu_svr\nkernel_type {kernel}\nnr_class 2\ntotal_sv 2\nrho 0\nSV\n1 1:1\n1 250000000:1\n"
    (tmp_path / "wide.model").write_text(text)
    model = load_model(tmp_path / "wide.model")
    with pytest.raises(
        ValueError, match=r"to_onnx: a graph of this NuSVR needs a dense \(64, 250000000\) array.*fewer columns"
    ):
        to_onnx(model)


@pytest.mark.parametrize(
    "changes",
    [
        {"dtype_": None},
        {"dtype_": np.dtype("U3")},
        {"classes_": None},
        {"classes_": np.array([0, 1])},
        {"kernel_": None},
        {"kernel_": "gaussian"},
        {"function_": None},
        {"n_features_in_": None},
        {"n_features_in_": 2},
        {"n_features_in_": "six"},
    ],
    ids=str,
)
def test_models_that_were_changed(changes):
    model = methods.SVC().fit(X, CLASSES)
    for name, value in changes.items():
        setattr(model, name, value)
    with pytest.raises(ValueError, match=r"to_onnx"):
        to_onnx(model)
    for name in changes:
        delattr(model, name)
    with pytest.raises(ValueError, match=r"to_onnx"):
        to_onnx(model)


def test_graph_that_answers_otherwise_is_refused(monkeypatch):
    model = methods.KernelRidge(kernel="gaussian").fit(X, Y)
    monkeypatch.setattr(type(model), "predict", lambda self, X: self.function_(X) + 1e-6)
    with pytest.raises(ValueError, match="predict differs from its function_"):
        to_onnx(model)


def test_saved_file_runs(tmp_path):
    model = methods.KernelRidge(kernel="gaussian").fit(X, Y)
    save_onnx(model, tmp_path / "ridge.onnx")
    found = runtime.InferenceSession(tmp_path / "ridge.onnx").run(None, {"X": NEW})[0]
    np.testing.assert_allclose(found, model.predict(NEW), **CLOSE)
    assert [path.name for path in tmp_path.iterdir()] == ["ridge.onnx"]
