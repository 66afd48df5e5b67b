"""Model files: everything comes back, nothing runs, and no damaged file gets through."""

import contextlib
import io
import json
import os
import tracemalloc
import warnings
import zipfile
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix
from scipy.special import expit
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import (
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from tests.methods.test_sklearn import ESTIMATORS

import mercer
from mercer import methods
from mercer.cli._model import FileModel
from mercer.domains import Graph, Vectors
from mercer.inference import JackknifePlus, mmd_test
from mercer.io._allowed import find
from mercer.io._checks import DEEPEST
from mercer.io._decoder import Decoder
from mercer.io._encoder import Encoder
from mercer.io.model import ModelError, describe, load, save
from mercer.kernels import Callable, Features, Gaussian, Linear, Table, registry
from mercer.kernels.algebra import ALGEBRA
from mercer.kernels.expression import as_kernel
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.kernels.text import TfIdf
from mercer.selection import KernelSearchCV, svm_path

COMPILED = {RandomForestClassifier, KNeighborsClassifier}  # parts of which are supplied
rng = np.random.default_rng(0)
X = rng.uniform(0.1, 2, size=(40, 3))
LABELS = np.where(X[:, 0] + X[:, 1] > 2, "high", "low")
TARGETS = np.sin(X[:, 0]) + X[:, 1]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.mercer"


def again(thing, path, **options):
    save(thing, path)
    return load(path, **options)


def compiled(path):
    """The compiled classes of scikit-learn that a file needs."""
    return {name: find(*name.split(":")) for name in describe(path)["needs"]}


# ---- every estimator, every kernel


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: " ".join(repr(e).split())[:60])
def test_every_estimator_comes_back(estimator, path):
    model = clone(estimator)
    A = X @ X.T if getattr(model, "kernel", None) == "precomputed" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(A, LABELS if is_classifier(model) else TARGETS)
        except ValueError:  # losses of signs
            model.fit(A, np.where(LABELS == "high", 1.0, -1.0))
    copy = again(model, path)
    tried = 0
    for name in ("predict", "predict_proba", "decision_function", "transform", "score_samples"):
        if hasattr(model, name):
            try:
                expected = getattr(model, name)(A[:7])
            except ValueError:  # a map that needs both views
                continue
            np.testing.assert_array_equal(getattr(copy, name)(A[:7]), expected)
            tried += 1
    assert tried or hasattr(model, "labels_")
    assert repr(copy) == repr(model)


MORE = [mercer.SmoothingSpline(), mercer.LinearSVC(), mercer.LinearSVR(), mercer.SemiSupervised(mercer.SVC())]


@pytest.mark.parametrize("model", MORE, ids=lambda model: type(model).__name__)
def test_the_other_estimators_come_back(model, path):
    A = X[:, :1] if isinstance(model, mercer.SmoothingSpline) else X
    model.fit(A, LABELS if is_classifier(model) else TARGETS)
    np.testing.assert_array_equal(again(model, path).predict(A), model.predict(A))


def test_no_estimator_is_forgotten():
    made = (getattr(methods, name) for name in methods.__all__)
    every = {cls for cls in made if isinstance(cls, type) and issubclass(cls, BaseEstimator)}
    assert every <= {type(estimator) for estimator in [*ESTIMATORS, *MORE]}


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(k, id=f"{cls.__name__}-{i}")
        for cls in [*registry.values(), *ALGEBRA]
        for i, k in enumerate(cls.examples())
    ],
)
def test_every_kernel_comes_back(kernel, path):
    sample = kernel.domain.sample(np.random.default_rng(1), 5)
    copy = again(kernel, path)
    assert copy == kernel and copy is not kernel
    np.testing.assert_array_equal(copy(sample), kernel(sample))


STRUCTURED = [
    pytest.param(cls.examples()[0], id=name)
    for name, cls in registry.items()
    if not isinstance(cls.examples()[0].domain, Vectors)
]


@pytest.mark.parametrize("kernel", STRUCTURED)
def test_machines_on_other_data_than_vectors_come_back(kernel, path):
    """Strings, sequences, sets, trees, graphs, tables: with the samples that the machine holds."""
    train, new = (kernel.domain.sample(np.random.default_rng(seed), 8) for seed in (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kernels that are not positive definite
        model = mercer.KernelRidge(kernel=kernel, alpha=1.0).fit(train, np.arange(float(len(kernel.diag(train)))))
    np.testing.assert_array_equal(again(model, path).predict(new), model.predict(new))


@pytest.mark.parametrize("function", [np.tanh, np.sqrt])
def test_functions_of_numpy_need_no_help(function, path):
    kernel = Linear().warp(function)
    np.testing.assert_array_equal(again(kernel, path)(X), kernel(X))


def test_structured_data(path):
    words = ["the cat", "a dog", "the dog", "cat and dog"]
    model = mercer.SVC(kernel=TfIdf().normalized()).fit(words, [0, 1, 1, 0])
    np.testing.assert_array_equal(again(model, path).decision_function(words), model.decision_function(words))
    graphs = [Graph(3, [(0, 1), (1, 2)], "CCO", [1, 2]), Graph(2, [(0, 1)], "CN", attributes=[[1.0], [2.0]])]
    assert again(graphs, path) == graphs
    machine = mercer.SVC(kernel=WeisfeilerLehman(2)).fit(graphs, [0, 1])
    np.testing.assert_array_equal(again(machine, path).decision_function(graphs), machine.decision_function(graphs))
    table = {"age": [30.0, None, 50.0, 60.0], "city": ["a", "b", None, "a"]}
    ridge = mercer.KernelRidge(kernel=Table()).fit(table, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(again(ridge, path).predict(table), ridge.predict(table))


def test_pipelines_of_scikit_learn(path):
    model = make_pipeline(StandardScaler(), mercer.KernelRidge(kernel="rbf"))
    model = TransformedTargetRegressor(model, transformer=StandardScaler()).fit(X, TARGETS)
    np.testing.assert_array_equal(again(model, path).predict(X), model.predict(X))


@pytest.mark.parametrize(
    "model",
    [
        GridSearchCV(mercer.SVC(), [{"C": [1, 2]}, {"kernel": ["linear"]}], cv=2),
        KernelSearchCV(mercer.SVC(), {"C": [1, 2], "kernel": ["gaussian", "linear"]}, cv=2),
        CalibratedClassifierCV(mercer.SVC(), cv=2),
        VotingClassifier([("svc", mercer.SVC())]),
        RandomForestClassifier(2, random_state=0),
        KNeighborsClassifier(),
        mercer.MultipleKernel(mercer.SVC(), kernels=["gaussian", "linear"]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_searches_and_other_wrappers(model, path):
    save(model.fit(X, LABELS), path)
    assert type(model) in COMPILED or not describe(path)["needs"]
    copy = load(path, functions=compiled(path))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    for name, values in getattr(model, "cv_results_", {}).items():
        np.testing.assert_array_equal(copy.cv_results_[name], values)
        assert type(copy.cv_results_[name]) is type(values)


def test_data_frames(path):
    frame = pytest.importorskip("pandas").DataFrame({"size": X[:, 0], "größe <b>": ["u", "v"] * 20})
    columns = make_column_transformer((StandardScaler(), ["size"]), (OneHotEncoder(), ["größe <b>"]))
    model = make_pipeline(columns, mercer.SVC()).fit(frame, LABELS)
    np.testing.assert_array_equal(again(model, path).decision_function(frame), model.decision_function(frame))


def test_results_and_functions(path):
    result = mmd_test(X[:20], X[20:])
    assert again(result, path).p_value == result.p_value
    f = mercer.KernelRidge(kernel="gaussian").fit(X, TARGETS).function_
    copy = again(f, path)
    np.testing.assert_array_equal(copy.coefficients, f.coefficients)
    np.testing.assert_array_equal(copy.points, f.points)
    np.testing.assert_array_equal(copy(X), f(X))
    intervals = JackknifePlus(mercer.KernelRidge(kernel="gaussian")).fit(X, TARGETS)  # holds a method of itself
    np.testing.assert_array_equal(again(intervals, path).predict(X), intervals.predict(X))
    machines = svm_path(X, LABELS, C=[0.1, 10.0])
    assert repr(again(machines, path)) == repr(machines)


def test_torch_models_come_back_as_torch(path):
    torch = pytest.importorskip("torch")
    A = torch.asarray(X)
    model = mercer.KernelRidge(kernel="gaussian").fit(A, torch.asarray(TARGETS))
    copy = again(model, path)
    assert torch.equal(copy.predict(A), model.predict(A))


# ---- values

VALUES = [
    *(None, True, 3, -0.0, 1e-308, 10**40, "ü\ud800"[:1], "", b"\x00\xff", 2 + 3j, slice(1, None, 2), range(3)),
    *([1, [2, (3,)]], (), {"a": 1, 2: (1, 2)}, {1, 2}, frozenset("ab"), {(1, "x"): [None]}),
    *(np.float32(0.1), np.int8(3), np.str_("x"), np.bool_(True), np.datetime64("2020-01-01"), np.dtype("float32")),
    *(np.float64, int, set, bytes, partial(np.add, 1), Path("folder") / "checkpoint"),
]


@pytest.mark.parametrize("value", VALUES, ids=[f"{type(v).__name__}-{i}" for i, v in enumerate(VALUES)])
def test_plain_values(value, path):
    copy = again(value, path)
    assert type(copy) is type(value)
    if isinstance(value, partial):
        assert copy(2) == 3
    else:
        assert copy == value and repr(copy) == repr(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), np.float64("nan")])
def test_numbers_that_json_does_not_know(value, path):
    assert repr(again(value, path)) == repr(value)


@pytest.mark.parametrize(
    "A",
    [
        rng.normal(size=(3, 4)),
        np.asfortranarray(rng.normal(size=(3, 4))),
        rng.normal(size=(6, 4))[::2, ::-1],
        np.array(["a", "bcd"]),
        np.array([1, None, "x", (2, 3)], dtype=object),
        np.zeros((0, 2)),
        np.array(5.0),
        np.array([(1, 2.5)], dtype=[("time", "i4"), ("event", "f8")]),
        np.array(["2020-01-01"], dtype="M8[D]"),
    ],
    ids=lambda A: f"{A.dtype}{A.shape}",
)
def test_arrays(A, path):
    copy = again(A, path)
    np.testing.assert_array_equal(copy, A)
    assert copy.dtype == A.dtype and copy.shape == A.shape


@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_sparse(kind, path):
    S = kind(np.eye(3))
    copy = again(S, path)
    assert type(copy) is kind and (copy != S).nnz == 0


@pytest.mark.parametrize("kind", [coo_array, csc_matrix])
def test_other_sparse_formats_keep_their_entries(kind, path):
    assert (again(kind(np.eye(3)), path) != kind(np.eye(3))).nnz == 0


@pytest.mark.parametrize("data", [np.array([1.0, 2.0, 3.0]), np.array([1, "b", None], dtype=object)], ids=str)
def test_masked_arrays(data, path):
    A = np.ma.MaskedArray(data, [True, False, False], fill_value=data[1])
    copy = again(A, path)
    assert type(copy) is type(A) and copy.fill_value == A.fill_value
    np.testing.assert_array_equal(copy.mask, A.mask)
    np.testing.assert_array_equal(copy.data, A.data)


def test_mapped_arrays(path, tmp_path):
    A = np.memmap(tmp_path / "values", dtype=float, mode="w+", shape=(3,))
    np.testing.assert_array_equal(again(A, path), np.zeros(3))


@pytest.mark.parametrize(
    "generator", [np.random.default_rng(3), np.random.RandomState(3)], ids=["Generator", "RandomState"]
)
def test_random_generators_go_on_where_they_were(generator, path):
    generator.normal(size=3)
    copy = again(generator, path)
    np.testing.assert_array_equal(copy.normal(size=5), generator.normal(size=5))


def test_what_is_one_object_stays_one(path):
    A = np.ones(3)
    a, b, (c,) = again([A, A, (A,)], path)
    assert a is b is c
    model = again(mercer.SVC().fit(X, LABELS), path)
    assert model.function_.kernel is model.kernel_


@pytest.mark.parametrize(
    "model",
    [
        mercer.SVC(),
        RandomForestClassifier(2, random_state=0),  # its nodes are records with gaps
        KernelSearchCV(mercer.SVC(), {"C": [1, 2], "kernel": ["gaussian", "linear"]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_same_model_gives_the_same_bytes(model, tmp_path):
    one, two = tmp_path / "1.mercer", tmp_path / "2.mercer"
    save(model.fit(X, LABELS), one)
    save(load(one, functions=compiled(one)), two)
    assert one.read_bytes() == two.read_bytes()


def test_gaps_in_records_are_empty(path):
    """Otherwise a file would tell what else was in memory."""
    kind = np.dtype({"names": ["a", "b"], "formats": ["u1", "f8"], "offsets": [0, 8], "itemsize": 16})
    A = np.frombuffer(b"secret! " * 4, dtype=kind)
    np.testing.assert_array_equal(again(A, path), A)
    assert b"ecret" not in path.read_bytes().replace(A["b"].tobytes()[:8], b"")


def test_arrays_are_not_held_twice(path):
    """The memory that saving and loading take besides the model is that of a buffer."""
    A = np.ones(8_000_000)
    tracemalloc.start()
    try:
        save([A], path)
        saving = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        (copy,) = load(path)
        loading = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_array_equal(copy, A)
    assert saving < 0.6 * A.nbytes and loading < 1.4 * A.nbytes


# ---- functions and classes of the user


def double(A):
    return 2 * A


class Own(Gaussian):
    """A user's kernel."""


def test_functions_are_saved_by_name_and_supplied(path):
    model = mercer.KernelRidge(kernel=Features(double)).fit(X, TARGETS)
    save(model, path)
    assert describe(path)["needs"] == ["double"]
    with pytest.raises(ModelError, match=r"model.mercer: it needs 'double', .* load\(path, functions={'double': …}\)"):
        load(path)
    np.testing.assert_array_equal(load(path, functions={"double": double}).predict(X), model.predict(X))


def test_classes_too(path):
    save(mercer.KernelRidge(kernel=Own(2.0)), path)
    with pytest.raises(ModelError, match="'Own'"):
        load(path)
    assert load(path, functions={"Own": Own}).kernel == Own(2.0)


def test_compiled_classes_are_supplied(path):
    """They trust the state that they are given, and a forged one would crash the program."""
    model = KNeighborsClassifier(algorithm="kd_tree").fit(X, LABELS)
    save(model, path)
    needed = compiled(path)
    assert "sklearn.neighbors._kd_tree:KDTree" in needed
    for name in needed:
        with pytest.raises(ModelError, match=f"it needs '{name}', .* functions="):
            load(path, functions={other: made for other, made in needed.items() if other != name})
    np.testing.assert_array_equal(load(path, functions=compiled(path)).predict(X), model.predict(X))


def test_what_has_no_name_is_refused(path):
    with pytest.raises(ModelError, match="save: a lambda has no name"):
        save(Callable(lambda x, y: 1.0), path)
    with pytest.raises(ModelError, match=r"save: .*digits"):
        save(10**5000, path)
    itself = []
    itself.append(itself)
    with pytest.raises(ModelError, match="nested too deeply, or contains itself"):
        save(itself, path)
    tree = "leaf"
    for _ in range(DEEPEST):
        tree = (tree,)
    with pytest.raises(ModelError, match="nested too deeply"):
        save(tree, path)
    with pytest.raises(ModelError, match=r"the type .*'a'.* cannot be saved outside an array"):
        save(np.dtype([("a", "f8")]), path)
    with pytest.raises(ModelError, match="cannot be saved"):
        save([zip([1], [2], strict=True)], path)
    with pytest.raises(ModelError, match="a Figure of matplotlib cannot be part of a model; use savefig"):
        save([Figure()], path)
    assert not path.exists()


@pytest.mark.parametrize("function", [np.sinc, expit], ids=["sinc", "expit"])
def test_compiled_functions_are_saved_by_name_too(function, path):
    name = function.__name__
    save(Linear().warp(function), path)
    assert describe(path)["needs"] == [name]
    np.testing.assert_array_equal(load(path, functions={name: function})(X), Linear().warp(function)(X))


def test_other_classes_of_numpy_are_saved_by_name(path):
    assert again(np.ndarray, path, functions={"ndarray": np.ndarray}) is np.ndarray


def test_two_functions_of_one_name_are_refused(path):
    def other():
        def double(A):
            return A

        return double

    with pytest.raises(ModelError, match=r"two functions or classes .* name 'double'; rename one"):
        save([Linear().warp(double), Linear().warp(other())], path)


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"Own": 3}, r"functions\['Own'\] = 3 is neither a function nor a class"),
        ({"Own": double}, r"functions\['Own'\] = <function double.* must be a class"),
        ([Own], r"load: functions = \[.* must be a dict"),
    ],
)
def test_functions_of_wrong_kinds(functions, message, path):
    save(Own(2.0), path)
    with pytest.raises(ModelError, match=message):
        load(path, functions=functions)


def test_functions_that_write_files_are_supplied(path):
    """A model calls its functions when it is used: one that is named in a file must not write another."""
    save(FunctionTransformer(save, kw_args={"path": "elsewhere"}), path)
    assert describe(path)["needs"] == ["save"]
    with pytest.raises(ModelError, match="it needs 'save'"):
        load(path)
    scorer = GridSearchCV(mercer.SVC(), {"C": [1]}, scoring=make_scorer(accuracy_score))
    assert again(scorer, path).scoring._score_func is accuracy_score


def test_what_the_command_line_saves_needs_no_help(path):
    model = FileModel(mercer.SVC().fit(X, LABELS), "classification", "level", n_features=3)
    np.testing.assert_array_equal(again(model, path).predict(X), model.predict(X))


def test_a_pipeline_with_a_function(path):
    model = make_pipeline(FunctionTransformer(double), mercer.KernelRidge(kernel="rbf")).fit(X, TARGETS)
    copy = again(model, path, functions={"double": double})
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


# ---- files


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    save(1, path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    for place, name in ((os, "fsync"), (np.lib.format, "write_array")):
        with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
            patch.setattr(place, name, fail)
            save(np.ones(2), path)
        assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]


def test_missing_places(tmp_path):
    with pytest.raises(FileNotFoundError, match="its folder does not exist; create it first"):
        save(1, tmp_path / "none" / "m.mercer")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m.mercer")
    os.mkfifo(tmp_path / "pipe")  # which would never answer
    for place in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(ModelError, match="not a model file, but a folder, a device or a pipe"):
            load(place)


def test_what_no_file_replaces(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(OSError, match="is a folder or a device, which a file cannot replace"):
            save(1, place)
    assert os.listdir(tmp_path) == ["pipe"]


def test_a_private_file_stays_private(path):
    save(1, path)
    path.chmod(0o600)
    save(2, path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_paths_of_every_kind(tmp_path):
    target, link = tmp_path / ("größe " + "x" * 240), tmp_path / "link"
    link.symlink_to(target)
    save(1, os.fsencode(link))
    assert link.is_symlink() and load(str(target)) == load(os.fsencode(target)) == 1
    assert sorted(os.listdir(tmp_path)) == sorted([target.name, link.name])


def rewritten(path, change, structure=None):
    """The archive with its header or structure changed, and the digest made to fit."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members = {name: json.loads(c) if name.endswith("json") else c for name, c in members.items()}
    change(members)
    members = {name: json.dumps(c).encode() if name.endswith("json") else c for name, c in members.items()}
    if structure is not None:
        members["structure.json"] = structure
    header = json.loads(members["header.json"])
    if isinstance(header.get("sha256"), dict):
        header["sha256"] = {n: sha256(c).hexdigest() for n, c in members.items() if n != "header.json"}
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


NO_PART = "is not among those that are safe with any content; if you trust the file, use load"


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        ({"object": "os:system", "shared": 0, "new": False, "arguments": ["true"]}, NO_PART),
        ({"function": "os:system"}, NO_PART),
        ({"function": "subprocess:run"}, NO_PART),
        ({"function": "sklearn.utils._testing:assert_run_python_script_without_output"}, NO_PART),
        ({"function": "sklearn.datasets._base:fetch_file"}, NO_PART),
        ({"function": "sklearn.externals.array_api_extra._lib._helpers:pickle_unflatten"}, NO_PART),
        ({"function": "sklearn.tree._export:export_graphviz"}, NO_PART),
        ({"function": "mercer.io.model:save"}, NO_PART),
        ({"function": "mercer.evaluation._panels:pack"}, NO_PART),
        ({"function": "mercer.kernels._sparse:_tanh"}, "does not have"),
        ({"function": "mercer.kernels._transformed:Warped.evaluate"}, NO_PART),
        ({"function": "sklearn.pipeline:Pipeline.fit_transform"}, NO_PART),
        ({"function": "sklearn.metrics._dist_metrics:accuracy_score"}, "does not have"),
        ({"class": "mercer.kernels.gaussian:Gaussian"}, "unknown entry 'class'"),
        ({"shared": 0, "object": "mercer.reports._report:Report"}, NO_PART),
        ({"shared": 0, "object": "mercer.cli.app:_Commands"}, NO_PART),
        ({"shared": 0, "object": "mercer._checkpoint:Checkpoint"}, NO_PART),
        ({"shared": 0, "object": "mercer.evaluation._panels:GaussianPoints"}, NO_PART),
        (
            {"shared": 0, "object": "mercer.kernels._transformed:NormalizedPoints"},
            "not a class that files may name",
        ),
        ({"shared": 0, "object": "mercer.kernels.strings._letters:Joined"}, NO_PART),
        ({"shared": 0, "object": "sklearn.svm._classes:SVC"}, NO_PART),
        ({"shared": 0, "object": "sklearn.utils.parallel:Parallel"}, NO_PART),
        ({"shared": 0, "object": "sklearn.callback._transport:Any"}, NO_PART),
        ({"function": "mercer.kernels.features:np.fromfile"}, NO_PART),
        ({"shared": 0, "object": "mercer.kernels.gaussian:np.memmap"}, "does not have"),
        ({"shared": 0, "object": "mercer.kernels.gaussian:np"}, "not a class"),
        ({"shared": 0, "object": "mercer.kernels.matern:Radial"}, "does not have|no class"),  # of another module
        ({"shared": 0, "object": "mercer.kernels.gaussian:Gaussian", "new": False}, "from invalid arguments"),
        ({"shared": 0, "object": "mercer.kernels.gaussian:Gaussian", "arguments": [1]}, "from invalid arguments"),
        ({"shared": 0, "object": "mercer.domains.graphs:Graph", "state": None}, "from invalid arguments"),
        ({"shared": 0, "object": "mercer.kernels.gaussian:Gaussian", "pairs": [[0, 1]]}, "which is not a dictionary"),
        ({"ufunc": "frompyfunc"}, "not a NumPy function"),
        ({"partial": [{"ufunc": "add"}, [1, 2], {"dict": []}]}, "writes into an array"),
        ({"partial": [{"ufunc": "sqrt"}, [], {"dict": [["out", 1]]}]}, "writes into an array"),
        ([{"shared": 0, "array": 0}, {"shared": 1, "array": 0}], "damaged model file"),
        ({"shared": 0, "object": "sklearn.tree._tree:Tree"}, NO_PART),
        ({"ufunc": "load"}, "not a NumPy function"),
        ({"builtin": "eval"}, "builtin 'eval'"),
        ({"shared": 0, "object": "mercer.none:X"}, NO_PART),
        ({"shared": 0, "object": "mercer.kernels.none:X"}, "this installation does not have"),
        ({"shared": 0, "sparse": ["eval", [1, 1], 0, 0, 0]}, "unknown kind 'eval'"),
        ({"shared": 0, "random": ["seed", "PCG64", {}]}, "unknown random generator"),
        ({"same": 7}, "refers to the object 7"),
        ({"magic": 1}, "unknown entry 'magic'"),
        ({"a": 1, "b": 2}, "unknown entry"),
        ({"shared": 0, "array": 12}, "damaged model file"),
        ({"tuple": 3}, "damaged model file"),
        ({"float": "1.0"}, "damaged model file"),
        ({"scalar": ["V1000000000", 1000000000]}, "unknown type 'V1000000000'"),  # a gigabyte
    ],
)
def test_nothing_of_a_forged_file_runs(structure, message, path):
    save(np.ones(2), path)
    rewritten(path, lambda members: members.update({"structure.json": structure}))
    with pytest.raises(ModelError, match=message):
        load(path)


@pytest.mark.parametrize(
    ("indices", "ends"), [([0, 10**6], [0, 1, 2]), ([0, -5], [0, 1, 2]), ([0, 1], [0, 10**6, 2])], ids=str
)
def test_indices_of_sparse_matrices_are_checked(indices, ends, path):
    """Compiled code would read and write wherever they point."""
    arrays = np.ones(2), np.array(indices, dtype=np.int32), np.array(ends, dtype=np.int32)
    structure = {"shared": 0, "sparse": ["csr_array", [2, 3], 0, 1, 2]}
    save([np.ones(k) for k in range(3)], path)

    def change(members):
        members["structure.json"] = structure
        for k, A in enumerate(arrays):
            buffer = io.BytesIO()
            np.save(buffer, A)
            members[f"arrays/{k}.npy"] = buffer.getvalue()

    rewritten(path, change)
    with pytest.raises(ModelError, match="damaged model file"):
        load(path)


@pytest.mark.parametrize(
    ("generator", "name"),
    [(np.random.RandomState(0), "pos"), (np.random.Generator(np.random.Philox(0)), "buffer_pos")],
    ids=["MT19937", "Philox"],
)
@pytest.mark.parametrize("place", [-1, 10**9])
def test_positions_of_random_generators_are_checked(generator, name, place, path):
    """Compiled code would read wherever they point."""
    save(generator, path)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("structure.json").decode()
    before, after = text.split(f'["{name}", ')
    forged = f'{before}["{name}", {place}{after[after.index("]") :]}'
    rewritten(path, lambda members: members.update({"structure.json": json.loads(forged)}))
    with pytest.raises(ModelError, match="an invalid state of the random generator"):
        load(path)


def test_lengths_that_types_claim_are_not_taken_up(path):
    save(1, path)
    rewritten(path, lambda members: members.update({"structure.json": {"scalar": ["<U500000000", "x"]}}))
    assert load(path) == "x"


@pytest.mark.parametrize(
    ("around", "levels"),
    [
        (lambda x: (x,), 1),
        (lambda x: {"key": x}, 1),
        (lambda x: FunctionTransformer(kw_args={"key": x}), 3),  # the object, its attributes, and one of these
    ],
    ids=["tuple", "dict", "object"],
)
def test_what_is_saved_is_not_too_deep_to_load(around, levels, path):
    model = "leaf"
    for _ in range((DEEPEST - 1) // levels):
        model = around(model)
    save(model, path)
    assert type(load(path)) is type(model)


def test_nesting_without_end(path):
    save(1, path)
    rewritten(path, lambda members: None, b"[" * 10**6 + b"]" * 10**6)
    with pytest.raises(ModelError, match=r"damaged model file .RecursionError"):
        load(path)


def test_what_reading_takes_is_bounded_by_the_file(path):
    save(np.ones(2), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        assert all(entry.compress_type == zipfile.ZIP_STORED for entry in archive.infolist())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (members | {"header.json": members["header.json"] + b" " * 10**7}).items():
            archive.writestr(name, content)
    with pytest.raises(ModelError, match="compressed, or larger than the file"):
        load(path)
    with pytest.raises(ModelError, match="compressed, or larger than the file"):
        describe(path)
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    save(np.ones(2), path)
    rewritten(path, lambda members: members.update({"arrays/0.npy": buffer.getvalue() + b"\0" * 100}))
    with pytest.raises(ModelError, match="damaged model file"):
        load(path)


def test_members_given_twice(path):
    for name in ("header.json", "structure.json"):
        save(1, path)
        with zipfile.ZipFile(path) as archive:
            content = archive.read(name)
        with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(name, content)
        with pytest.raises(ModelError, match="members are not those listed in its header"):
            load(path)


def test_pickled_arrays_are_refused(path):
    save(np.ones(2), path)
    buffer = io.BytesIO()
    np.save(buffer, np.array([print], dtype=object), allow_pickle=True)
    rewritten(path, lambda members: members.update({"arrays/0.npy": buffer.getvalue()}))
    with pytest.raises(ModelError, match="damaged model file"):
        load(path)


def test_newer_foreign_and_tampered_files(path):
    save(mercer.KernelRidge(), path)
    good = path.read_bytes()
    rewritten(path, lambda members: members["header.json"].update(version=99))
    with pytest.raises(ModelError, match=r"its format 99 is not 1; it was written by mercer .*; update"):
        load(path)
    path.write_bytes(good)
    rewritten(path, lambda members: members["header.json"].update(format="other"))
    with pytest.raises(ModelError, match="not a model file of this library"):
        load(path)
    path.write_bytes(good)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["structure.json"] = members["structure.json"].replace(b'"alpha"', b'"gamma"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelError, match=r"structure\.json was modified after it was written"):
        load(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.json", "{}")
    with pytest.raises(ModelError, match="members are not those listed in its header"):
        load(path)


def test_fuzzed_files_never_get_through(path):
    """Cut off anywhere, or one byte changed anywhere: the same model comes back, or a ModelError."""
    model = mercer.KernelRidge(kernel="rbf").fit(X[:6], TARGETS[:6])
    save(model, path)
    expected, good = model.predict(X), path.read_bytes()
    draw = np.random.default_rng(5)
    damaged = [good[:cut] for cut in draw.integers(0, len(good), 60)]
    for place, value in zip(draw.integers(0, len(good), 400), draw.integers(1, 256, 400), strict=True):
        content = bytearray(good)
        content[place] ^= int(value)
        damaged.append(bytes(content))
    refused = 0
    for content in damaged:
        path.write_bytes(content)
        try:
            copy = load(path)
        except ModelError:
            refused += 1
            continue
        np.testing.assert_array_equal(copy.predict(X), expected)  # the byte belongs to the archive, not to the model
    assert refused > 300


def test_fuzzed_structures_make_no_other_error(path):
    """Any change of the JSON, with the digest made to fit, gives an object or a ModelError."""
    save(mercer.SVC().fit(X, LABELS), path)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("structure.json").decode()
    draw, tried = np.random.default_rng(6), 0
    for _ in range(300):
        i, j = sorted(draw.integers(0, len(text), 2))
        changed = text[:i] + text[j : j + 3] + text[i + 3 :]
        try:
            structure = json.loads(changed)
        except json.JSONDecodeError:
            continue
        tried += 1
        rewritten(path, lambda members, structure=structure: members.update({"structure.json": structure}))
        with contextlib.suppress(ModelError):
            load(path)
    assert tried > 20


def test_fuzzed_arrays_make_no_other_error(path):
    """An array cut off, with another header or in the place of another, with the digest made to fit."""
    save(mercer.SVC().fit(csr_array(X), LABELS), path)
    good = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.startswith("arrays/")]
        arrays = {name: archive.read(name) for name in names}
    draw, refused = np.random.default_rng(8), 0
    for _ in range(150):
        name, other = draw.choice(names, 2)
        content, place = bytearray(arrays[name]), draw.integers(len(arrays[name]))
        content[draw.integers(min(130, len(content)))] = draw.integers(256)
        changed = [bytes(content), arrays[name][:place], arrays[other]][draw.integers(3)]
        path.write_bytes(good)
        rewritten(path, lambda members, name=name, changed=changed: members.update({name: changed}))
        try:
            load(path)
        except ModelError:
            refused += 1
    assert refused > 50


def test_the_codec_alone():
    encoder = Encoder()
    text = json.dumps(encoder.encode({"x": [np.ones(2), (1, 2)]}))
    decoded = Decoder(lambda k: encoder.arrays[k], {}).decode(json.loads(text))
    np.testing.assert_array_equal(decoded["x"][0], np.ones(2))
    assert decoded["x"][1] == (1, 2)


def test_describe(path):
    save(mercer.KernelRidge(), path)
    header = describe(path)
    assert header["class"] == "KernelRidge" and header["versions"]["mercer"] == mercer.__version__
    assert Path(path).stat().st_size < 5000


@pytest.mark.parametrize("kernel", ["gaussian(lengthscale='median')", "matern(lengthscale='scale')", "mismatch"])
def test_kernels_that_wait_for_data(kernel, tmp_path):
    path = tmp_path / "kernel"
    made = as_kernel(kernel)
    save(methods.KernelRidge(kernel=made), path)
    assert load(path).kernel == made


@pytest.mark.parametrize("shape", [(2,), (2, 1), (1, 2)], ids=str)
@pytest.mark.parametrize(
    "members", [([1, 2], [3, 4]), ((1, 2), (3, 4)), (np.ones(2), np.zeros(2)), ([], []), ([[1], [2]], 3)], ids=str
)
def test_arrays_of_lists_come_back(members, shape, tmp_path):
    """Lists of one length are not the rows of a matrix."""
    A = np.empty(2, dtype=object)
    for i, member in enumerate(members):
        A[i] = member
    A = A.reshape(shape)
    mercer.save(A, tmp_path / "a.mercer")
    copy = mercer.load(tmp_path / "a.mercer")
    assert copy.shape == shape and copy.dtype == object
    for mine, theirs in zip(copy.flat, A.flat, strict=True):
        assert type(mine) is type(theirs) and np.array_equal(mine, theirs)
    matrix = np.array([[1, 2], [3, 4]], dtype=object)
    mercer.save(matrix, tmp_path / "a.mercer")
    copy = mercer.load(tmp_path / "a.mercer")
    assert copy.shape == (2, 2) and copy.tolist() == matrix.tolist()


@pytest.mark.parametrize("dtype", [[("a", object), ("b", float)], "T"], ids=["records", "text"])
def test_arrays_that_would_come_back_as_others_are_refused(dtype, tmp_path):
    if dtype == "T" and not hasattr(np.dtypes, "StringDType"):
        pytest.skip("NumPy 1 has no such text")
    with pytest.raises(ModelError, match="values cannot be saved; use objects"):
        mercer.save(np.zeros(2, dtype=dtype), tmp_path / "a.mercer")
    assert not (tmp_path / "a.mercer").exists()
