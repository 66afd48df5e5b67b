"""Model files: everything comes back, nothing runs, and no damaged file gets through."""

import contextlib
import json
import os
import warnings
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from tests.methods.test_sklearn import ESTIMATORS

import mercer
from mercer.domains import Graph
from mercer.io._objects import Decoder, Encoder
from mercer.io.model import ModelError, describe, load, save
from mercer.kernels import Callable, Features, Gaussian, Linear, Table, registry
from mercer.kernels._algebra import ALGEBRA
from mercer.kernels.text import TfIdf

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
    table = {"age": [30.0, None, 50.0, 60.0], "city": ["a", "b", None, "a"]}
    ridge = mercer.KernelRidge(kernel=Table()).fit(table, [1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(again(ridge, path).predict(table), ridge.predict(table))


def test_pipelines_of_scikit_learn(path):
    model = make_pipeline(StandardScaler(), mercer.KernelRidge(kernel="rbf"))
    model = TransformedTargetRegressor(model, transformer=StandardScaler()).fit(X, TARGETS)
    np.testing.assert_array_equal(again(model, path).predict(X), model.predict(X))


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
    *(np.float64, int, partial(np.add, 1)),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
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


@pytest.mark.parametrize("generator", [np.random.default_rng(3), np.random.RandomState(3)], ids=repr)
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


def test_the_same_model_gives_the_same_bytes(tmp_path):
    one, two = tmp_path / "1.mercer", tmp_path / "2.mercer"
    model = mercer.KernelPCA(2, kernel="rbf").fit(X)
    save(model, one)
    save(load(one), two)
    assert one.read_bytes() == two.read_bytes()


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


def test_what_has_no_name_is_refused(path):
    with pytest.raises(ModelError, match="save: a lambda has no name"):
        save(Callable(lambda x, y: 1.0), path)
    with pytest.raises(ModelError, match="cannot be saved"):
        save([zip([1], [2], strict=True)], path)
    assert not path.exists()


def test_a_pipeline_with_a_function(path):
    model = make_pipeline(FunctionTransformer(double), mercer.KernelRidge(kernel="rbf")).fit(X, TARGETS)
    copy = again(model, path, functions={"double": double})
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))


# ---- files


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    save(1, path)
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(2, path)
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]


def test_missing_places(tmp_path):
    with pytest.raises(ModelError, match="its folder does not exist"):
        save(1, tmp_path / "none" / "m.mercer")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m.mercer")


def rewritten(path, change):
    """The archive with its header or structure changed, and the digest made to fit."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members = {name: json.loads(c) if name.endswith("json") else c for name, c in members.items()}
    change(members)
    members = {name: json.dumps(c).encode() if name.endswith("json") else c for name, c in members.items()}
    from hashlib import sha256

    header = json.loads(members["header.json"])
    if isinstance(header.get("sha256"), dict):
        header["sha256"] = {n: sha256(c).hexdigest() for n, c in members.items() if n != "header.json"}
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    ("structure", "message"),
    [
        ({"object": "os:system", "shared": 0, "new": False, "arguments": ["true"]}, "not part of mercer or sklearn"),
        ({"function": "os:system"}, "not part of mercer"),
        ({"function": "subprocess:run"}, "not part of mercer"),
        ({"function": "mercer.io.model:os.system"}, "no function|does not have"),
        ({"class": "mercer.io.model:zipfile.ZipFile"}, "no type"),
        ({"ufunc": "load"}, "no function of NumPy"),
        ({"builtin": "eval"}, "builtin 'eval'"),
        ({"shared": 0, "object": "mercer.none:X"}, "this installation does not have"),
        ({"shared": 0, "sparse": ["eval", [1, 1], 0, 0, 0]}, "unknown kind 'eval'"),
        ({"shared": 0, "random": ["seed", "PCG64", {}]}, "unknown random generator"),
        ({"same": 7}, "refers to the object 7"),
        ({"magic": 1}, "unknown entry 'magic'"),
        ({"a": 1, "b": 2}, "unknown entry"),
        ({"shared": 0, "array": 12}, "damaged model file"),
        ({"tuple": 3}, "damaged model file"),
        ({"float": "1.0"}, "damaged model file"),
    ],
)
def test_nothing_of_a_forged_file_runs(structure, message, path):
    save(np.ones(2), path)
    rewritten(path, lambda members: members.update({"structure.json": structure}))
    with pytest.raises(ModelError, match=message):
        load(path)


def test_pickled_arrays_are_refused(path):
    save(np.ones(2), path)
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.array([print], dtype=object), allow_pickle=True)
    rewritten(path, lambda members: members.update({"arrays/0.npy": buffer.getvalue()}))
    with pytest.raises(ModelError, match="damaged model file"):
        load(path)


def test_newer_foreign_and_tampered_files(path):
    save(mercer.KernelRidge(), path)
    good = path.read_bytes()
    rewritten(path, lambda members: members["header.json"].update(version=99))
    with pytest.raises(ModelError, match=r"its format 99 is not 1; mercer .* wrote it, update"):
        load(path)
    path.write_bytes(good)
    rewritten(path, lambda members: members["header.json"].update(format="other"))
    with pytest.raises(ModelError, match="no model file of this library"):
        load(path)
    path.write_bytes(good)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["structure.json"] = members["structure.json"].replace(b'"alpha"', b'"gamma"')
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(ModelError, match=r"structure\.json was changed after it was written"):
        load(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("more.json", "{}")
    with pytest.raises(ModelError, match="members are not those that its header lists"):
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
