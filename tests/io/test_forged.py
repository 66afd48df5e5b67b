"""Model files made by an enemy: what they hold must not run, write, read, crash or hang, at loading or later."""

import contextlib
import io
import json
import os
import pickle
import zipfile
from functools import partial
from hashlib import sha256
from itertools import count

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, normalize
from sklearn.svm import SVC as LibSVC

import mercer
from mercer.domains import Graph
from mercer.io import _allowed
from mercer.io._encoder import Encoder
from mercer.io.model import ModelError, describe, load, save
from mercer.kernels import Callable, registry
from mercer.kernels.algebra import ALGEBRA
from mercer.losses._base import Box
from mercer.selection import KernelSearchCV

X = np.random.default_rng(0).normal(size=(8, 3))
LABELS = [0, 1] * 4
numbers = count()


def forged(path, structure, *arrays):
    """A file of this content, with digests that fit."""
    members = {"structure.json": json.dumps(structure).encode()}
    for k, A in enumerate(arrays):
        buffer = io.BytesIO()
        if isinstance(A, dict):  # the header of an array without bytes
            np.lib.format.write_array_header_1_0(buffer, A)
        else:
            np.save(buffer, A)
        members[f"arrays/{k}.npy"] = buffer.getvalue()
    header = {"format": "mercer model", "version": 1, "sha256": {n: sha256(c).hexdigest() for n, c in members.items()}}
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def thing(address, state):
    state = {"_sklearn_version": sklearn.__version__} | state if address.startswith("sklearn") else state
    return {"shared": next(numbers), "object": address, "state": {"dict": [[k, v] for k, v in state.items()]}}


def like(model, **changes):
    """The structure of an estimator with some attributes changed, which may be structures themselves."""
    structure = Encoder().encode(model)
    structure["shared"] = next(numbers)
    state = dict(structure["state"]["dict"]) | changes
    structure["state"]["dict"] = [[k, v] for k, v in state.items()]
    return structure


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path / "model.mercer"


# ---- places to write to


@pytest.mark.parametrize("name", ["memory", {"scalar": ["<U6", "memory"]}], ids=["text", "text of NumPy"])
def test_a_pipeline_has_no_cache(name, path):
    """It would unpickle what lies beside the file."""
    structure = like(make_pipeline(FunctionTransformer(), mercer.SVC()))
    pairs = [[k, v] for k, v in structure["state"]["dict"] if k != "memory"]
    structure["state"]["dict"] = [*pairs, [name, "cache"]]
    with pytest.warns(UserWarning, match="model.mercer: sets memory, which are paths to write to.* are ignored"):
        model = load(forged(path, structure))
    assert model.memory is None
    model.fit(X, LABELS).predict(X)
    assert os.listdir() == ["model.mercer"]


@pytest.mark.parametrize("model", [mercer.SVC(), mercer.SVR(), mercer.OneClassSVM(), mercer.NuSVC(nu=0.3)], ids=repr)
def test_a_machine_has_no_checkpoint(model, path):
    for place in ("elsewhere", {"path": "elsewhere"}, {"bytes": "41"}, ["elsewhere"]):
        with pytest.warns(UserWarning, match="sets checkpoint"):
            copy = load(forged(path, like(model, checkpoint=place)))
        copy.fit(X, LABELS)
    assert os.listdir() == ["model.mercer"]


def test_a_search_sets_no_places(path):
    inner = like(make_pipeline(FunctionTransformer(), mercer.SVC()))
    for grid in (
        {"dict": [["memory", ["cache"]], ["svc__C", [1.0]]]},
        [{"dict": [["svc__checkpoint", ["elsewhere"]], ["svc__C", [1.0]]]}],
        [{"ordered": [["functiontransformer__input", ["filename"]], ["svc__C", [1.0]]]}],
    ):
        for kind in (GridSearchCV, KernelSearchCV):
            search = kind(mercer.SVC(), {"C": [1]}, cv=2)
            with pytest.warns(UserWarning, match=r"sets (memory|checkpoint|input)"):
                model = load(forged(path, like(search, estimator=inner, param_grid=grid)))
            model.fit(X, LABELS)
            assert os.listdir() == ["model.mercer"]
    strange = like(GridSearchCV(mercer.SVC(), {"C": [1]}), param_grid={"shared": 900, "objects": [[0], []]})
    with pytest.raises(ModelError, match="a search has the settings"):
        load(forged(path, strange))


@pytest.mark.parametrize("place", ["memory", "checkpoint", "v__input"])
def test_searches_of_searches_set_no_places(place, path):
    inner = GridSearchCV(Pipeline([("v", FunctionTransformer()), ("m", mercer.SVC())]), {"m__C": [1]}, cv=2)
    evil, once = {"dict": [[place, ["elsewhere"]], ["m__C", [1.0]]]}, {"dict": [["m__C", [1.0]]]}
    for name, values in (
        ("param_grid", [[evil]]),
        ("param_grid", {"tuple": [evil, once]}),
        ("estimator__param_grid", [evil]),
        ("estimator", [{"dict": [["deep", {"tuple": [1, evil]}]]}]),
        ("param_grid", [{"dict": [["param_distributions", [evil]]]}]),
        ("x", thing("mercer.losses._base:Box", {}) | {"arguments": [evil, 1, 1, 1], "state": None}),
    ):
        with pytest.warns(UserWarning, match=f"sets {place.removeprefix('v__')}"):
            model = load(forged(path, like(GridSearchCV(inner, {}), param_grid={"dict": [[name, values]]})))
        assert "elsewhere" not in str(model.param_grid)
    save(GridSearchCV(inner, {"param_grid": [{place: ["elsewhere"], "m__C": [1, 2]}]}, cv=2), path)
    copy = load(path)  # without a warning
    assert copy.param_grid == {"param_grid": [{"m__C": [1, 2]}]}
    copy.fit(X, LABELS)
    assert os.listdir() == ["model.mercer"]


def test_settings_in_disguise(path):
    """What is no dictionary, but gives them to a search that asks for one after the other."""
    evil = {"dict": [["memory", ["elsewhere"]]]}
    members = thing("sklearn.ensemble._bagging:BaggingClassifier", {"estimators_": [evil]})
    for name, values in (
        ("param_grid", members),
        ("param_grid", [members]),
        ("other", {"shared": 930, "objects": [[1], [evil]]}),
        ("other", {"shared": 931, "objects": [[1001], [0] * 1001]}),
        ("other", [{"shared": 932, "object": "sklearn.utils._bunch:Bunch", "pairs": [["a", 1]]}]),
    ):
        with pytest.raises(ModelError, match=r"a search has (the )?settings"):
            load(forged(path, like(GridSearchCV(mercer.SVC(), {}), param_grid={"dict": [[name, values]]})))


def test_save_writes_no_places(path):
    model = Pipeline([("a", FunctionTransformer()), ("b", mercer.SVC(checkpoint="here"))], memory="cache")
    save(model, path)
    copy = load(path)  # without a warning
    assert copy.memory is None and copy[-1].checkpoint is None
    assert model.memory == "cache" and model[-1].checkpoint == "here"
    search = KernelSearchCV(mercer.SVC(), {"C": [1]}, memory=12345)  # a number of bytes
    save(search, path)
    assert load(path).memory == 12345


def masquerade(state):
    """An object in the place of attributes, which shows their names to one reader and not to another."""
    listed = {"partial": [{"builtin": "list"}, [list(state)], {"dict": []}]}
    none = {"partial": [{"builtin": "list"}, [[]], {"dict": []}]}
    members = {"dict": [[k, v] for k, v in state.items()]}
    attributes = {"estimators_": members, "keys": listed, "items": none, "pop": {"ufunc": "equal"}}
    attributes["_sklearn_version"] = sklearn.__version__
    return thing("sklearn.ensemble._bagging:BaggingClassifier", attributes)


@pytest.mark.parametrize(
    ("model", "place"),
    [(mercer.SVC(), {"checkpoint": "here"}), (make_pipeline(FunctionTransformer(), mercer.SVC()), {"memory": "here"})],
    ids=["checkpoint", "memory"],
)
def test_a_state_is_a_dictionary(model, place, path):
    """From anything else, attributes could be taken that no check has seen."""
    structure = like(model)
    state = dict(structure["state"]["dict"]) | place
    for disguise in (masquerade(state), {"tuple": [masquerade(state), None]}):
        structure["state"] = disguise
        with pytest.raises(ModelError, match="a state that is not a dictionary"):
            load(forged(path, structure))


def test_ensembles_set_no_reader(path):
    """They would set it for the estimators that they make."""
    forest = like(BaggingClassifier(), estimator_params=["words__input"], words__input="filename")
    with pytest.raises(ModelError, match="words__input = 'filename' opens the files"):
        load(forged(path, forest))


def test_ensembles_set_no_places_by_a_grid(path):
    grid = {"dict": [["memory", ["elsewhere"]]]}
    with pytest.warns(UserWarning, match="sets memory"):
        model = load(forged(path, like(BaggingClassifier(), estimator_params=["g__param_grid"], g__param_grid=grid)))
    assert model.g__param_grid == {}
    with pytest.raises(ModelError, match=r"f__kw_args = {'out': 1} writes into an array"):
        load(forged(path, like(BaggingClassifier(), f__kw_args={"dict": [["out", 1]]})))


# ---- code


@pytest.mark.parametrize("name", ["fit_transform", "transform", "__init__", "__reduce_ex__", "_check_new"])
def test_methods_are_no_functions(name, path):
    owner = like(make_pipeline(FunctionTransformer(), FunctionTransformer()), memory="cache")
    with pytest.raises(ModelError, match=f"it names '{name}', which is not a method of Pipeline that files may name"):
        load(forged(path, like(FunctionTransformer(), func={"method": [owner, name]})))
    with pytest.raises(ModelError, match="not a method of SVC"):
        load(forged(path, {"method": [like(mercer.SVC()), "fit"]}))


@pytest.mark.parametrize(
    "name", ["__reduce_ex__", "__sklearn_clone__", "__deepcopy__", "__class__", "__module__", "transform", "fit"]
)
def test_attributes_do_not_hide_methods(name, path):
    """Copying, pickling and predicting would call them."""
    with pytest.raises(ModelError, match=f"the attribute '{name}' of a FunctionTransformer would hide"):
        load(forged(path, like(FunctionTransformer(), **{name: {"builtin": "list"}})))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (registry["shortest_path"](), "domain"),  # graphs that no one has checked
        (registry["mismatch"](alphabet="ab"), "form_parameters"),  # forms under the name of other kernels' forms
        (mercer.kernels.Gaussian(), "tile"),
        (LogisticRegression(), "_parameter_constraints"),
    ],
    ids=str,
)
def test_attributes_do_not_hide_what_a_class_is(model, name, path):
    anything = {"shared": 902, "object": "mercer.domains._base:Anything", "state": None}
    with pytest.raises(ModelError, match=f"the attribute '{name}' of a .* would hide"):
        load(forged(path, like(model, **{name: anything if name == "domain" else {"dict": []}})))


@pytest.mark.parametrize("name", ["__array_interface__", "__sklearn_clone__"])
def test_items_do_not_stand_for_attributes(name, path):
    """Those of a Bunch do: NumPy would read memory wherever the first one says."""
    bunch = {"shared": 0, "object": "sklearn.utils._bunch:Bunch", "pairs": [[name, {"dict": []}]]}
    with pytest.raises(ModelError, match=f"the attribute '{name}' of a Bunch would hide"):
        load(forged(path, bunch))
    bunch["pairs"] = [["checkpoint", "here"]]
    with pytest.warns(UserWarning, match="sets checkpoint"):
        assert load(forged(path, bunch)).checkpoint is None


def test_no_class_is_a_value(path):
    """Called, it would make objects with places to write to."""
    for kind in ("class", "function"):
        with pytest.raises(ModelError, match=r"unknown entry|is not among those"):
            load(forged(path, {kind: "sklearn.pipeline:Pipeline"}))
    save(FunctionTransformer(mercer.SVC), path)
    assert describe(path)["needs"] == ["mercer.methods.svc:SVC"]


def test_samples_are_no_names_of_files(path):
    for kind in (CountVectorizer, TfidfVectorizer):
        with pytest.raises(ModelError, match=r"input = 'filename' opens the files named by its samples; read them"):
            load(forged(path, like(kind(), input="filename")))
        with pytest.raises(ModelError, match=r"save: a .* with input = 'filename' opens"):
            save(kind(input="filename"), path)


@pytest.mark.parametrize("name", ["write_bytes", "unlink", "__setstate__", {"scalar": ["<U6", "unlink"]}], ids=str)
def test_methods_that_a_state_names_only_predict(name, path):
    """With samples, a path would write them to its file, and an estimator take them for its attributes."""
    for structure in (
        like(get_scorer("accuracy"), _response_method=name),
        like(get_scorer("accuracy"), _response_method={"tuple": ["predict", name]}),
    ):
        with pytest.raises(ModelError, match="would call that method; name a prediction method"):
            load(forged(path, structure))
    assert os.listdir() == ["model.mercer"]


@pytest.mark.parametrize(
    "place", ["sklearn.ensemble._stacking:StackingClassifier", "sklearn.multioutput:ClassifierChain"]
)
def test_what_calls_methods_by_name_is_no_part_of_the_list(place, path):
    """With `stack_method_` a path wrote its samples to a file."""
    state = {"estimators_": [{"path": "elsewhere"}], "stack_method_": ["write_bytes"], "final_estimator_": None}
    with pytest.raises(ModelError, match="which is not among those that are safe with any content"):
        load(forged(path, thing(f"sklearn.{place}", state)))


def test_functions_of_numpy_do_not_write_into_samples(path):
    with pytest.raises(ModelError, match="save: a partial of 'sqrt' writes into an array"):
        save(FunctionTransformer(partial(np.sqrt, out=np.ones(3))), path)
    with pytest.raises(ModelError, match="a partial of 'add' writes into an array"):
        load(forged(path, {"partial": [{"ufunc": "add"}, [1, 2], {"dict": []}]}))
    inner = {"partial": [{"ufunc": "add"}, [1], {"dict": []}]}
    with pytest.raises(ModelError, match="a partial of 'add' writes into an array"):
        load(forged(path, {"partial": [inner, [2], {"dict": []}]}))


# ---- arrays in the place of plain values, and functions that write into them


def test_a_forged_model_opens_no_files(path):
    """An array of the text that is wanted passes for it, until another step writes a second text into it."""
    secret = path.parent / "secret.txt"
    secret.write_text("topsecret words")
    setting, sample = np.array(["content"], "<U8"), np.array([""], f"<U{len(str(secret))}")
    steps = [
        FunctionTransformer(partial(np.add, np.array([text])), kw_args={"out": out, "casting": "unsafe"})
        for text, out in (("filename", setting), (str(secret), sample))
    ]
    words = CountVectorizer().fit(["topsecret words other"])
    with pytest.raises(ModelError, match=r"save: a FunctionTransformer with kw_args = .* writes into an array"):
        save(make_pipeline(*steps, words), path)
    place = {"shared": 700, "array": 0}
    added = {"partial": [{"ufunc": "add"}, [1], {"dict": []}]}
    with pytest.raises(ModelError, match=r"a FunctionTransformer with kw_args = .* writes into an array"):
        load(forged(path, like(FunctionTransformer(), func=added, kw_args={"dict": [["out", place]]}), setting))
    for value in (place, {"shared": 704, "objects": [[1], ["content"]]}, ["content"]):
        with pytest.raises(ModelError, match="opens the files named by its samples"):
            load(forged(path, like(words, input=value), setting))


def test_plain_values_are_no_arrays(path):
    """What was checked could be changed later, and compiled code believes it."""
    kinds = {"shared": 705, "array": 0}
    model = OneVsRestClassifier(LogisticRegression()).fit(X, np.arange(8) % 3)
    with pytest.raises(ModelError, match="does not check its parts' predictions"):
        binarizer = like(model.label_binarizer_, y_type_=kinds, classes_=[0, 1], sparse_input_=False)
        structure = thing("sklearn.multiclass:OneVsRestClassifier", {"label_binarizer_": binarizer, "estimators_": []})
        load(forged(path, structure, np.array(["multiclass"])))
    with pytest.raises(ModelError, match="not numbered 0, 1"):
        numbered = {"dict": [["one", kinds], ["two", 1]]}
        load(forged(path, like(CountVectorizer().fit(["one two"]), vocabulary_=numbered), np.array([0])))


@pytest.mark.parametrize("name", ["sqrt", "add"])
def test_functions_of_numpy_write_nowhere(name, path):
    """Called with more arguments than they take, they write into the last."""
    inner = {"ufunc": name} if name == "sqrt" else {"partial": [{"ufunc": name}, [1.0], {"dict": []}]}
    function = load(forged(path, inner))
    A, B = np.array([4.0]), np.array([1.0])
    np.testing.assert_array_equal(function(A), [2.0] if name == "sqrt" else [5.0])
    for options in ({"out": B}, {"where": np.array([False])}):
        with pytest.raises(ModelError, match=f"'{name}' would write into an array"):
            function(A, **options)
    with pytest.raises(ModelError, match=f"'{name}' would write into an array"):
        function(A, B)
    with pytest.raises(ValueError, match="would write into an array"):
        load(forged(path, like(Callable(np.minimum), function=inner)))(A[None], B[None])
    np.testing.assert_array_equal(B, [1.0])


def test_functions_of_numpy_come_back(path):
    save(FunctionTransformer(np.log1p, np.expm1), path)
    copy = load(path)
    assert copy.func == np.log1p and hash(copy.func) == hash(np.log1p) and repr(copy.func) == "<ufunc 'log1p'>"
    assert copy.func != copy.inverse_func and pickle.loads(pickle.dumps(copy)).func == copy.func
    np.testing.assert_array_equal(clone(copy).fit_transform(X**2), np.log1p(X**2))
    before = path.read_bytes()
    save(copy, path)
    assert path.read_bytes() == before


# ---- compiled code


@pytest.mark.parametrize("table", [_allowed.ESTIMATORS, _allowed.FUNCTIONS], ids=["classes", "functions"])
def test_what_the_lists_name_is_there_and_plain(table):
    for module, names in table.items():
        for name in names:
            if not name.startswith("_") and not name.endswith("Optimizer"):  # these are in private modules
                assert _allowed.may_be_named(_allowed.find(module, name)), name


def test_scorers_and_selectors_need_no_help(path):
    for name in get_scorer_names():
        scorer = get_scorer(name)
        if ".cluster." not in scorer._score_func.__module__ and "likelihood" not in name:
            save(scorer, path)
            assert describe(path)["needs"] == [], name


@pytest.mark.parametrize(
    "model",
    [
        LibSVC().fit(X, LABELS),
        HistGradientBoostingClassifier(max_iter=2).fit(X, LABELS),
        HashingVectorizer(),  # n_features = 0 would end the process
        FunctionTransformer(normalize),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_trusts_its_state_is_supplied(model, path):
    save(model, path)
    needs = describe(path)["needs"]
    assert needs
    with pytest.raises(ModelError, match="it needs"):
        load(path)


TABLE = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["b", "x"]], dtype=object)
NUMBERS = np.array([[1.0], [2.0], [3.0], [2.0]])


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (OneHotEncoder().fit(TABLE), {"_n_features_outs": [1, 2]}),
        (OneHotEncoder().fit(TABLE), {"_n_features_outs": [3, 10**9]}),
        (OneHotEncoder(drop="first").fit(TABLE), {"drop_idx_": None, "_drop_idx_after_grouping": [7, 0]}),
        (OneHotEncoder(drop="first").fit(TABLE), {"drop_idx_": None, "_drop_idx_after_grouping": [0, -1]}),
        (OneHotEncoder().fit(NUMBERS), {"categories_": [{"shared": 901, "array": 0}]}),
        (OneHotEncoder(min_frequency=2).fit(TABLE), {"_n_features_outs": [3, 2]}),
        (OneHotEncoder(min_frequency=2).fit(TABLE), {"_default_to_infrequent_mappings": [[0, 10**6, 1], None]}),
        (OneHotEncoder(min_frequency=2).fit(TABLE), {"_infrequent_indices": [None, None]}),
        (CountVectorizer().fit(["one two"]), {"vocabulary_": {"dict": [["one", 0], ["two", 10**6]]}}),
        (CountVectorizer().fit(["one two"]), {"vocabulary_": {"dict": [["one", -5], ["two", 1]]}}),
        (TfidfVectorizer().fit(["one two"]), {"vocabulary_": {"dict": [["one", 0], ["two", 2]]}}),
    ],
    ids=str,
)
def test_indices_that_follow_from_a_state_are_checked(model, changes, path):
    """They become those of a sparse matrix, which compiled code follows."""
    with pytest.raises(ModelError, match=r"are not those of its categories|not numbered 0, 1|damaged"):
        load(forged(path, like(model, **changes), np.array([3.0, 1.0, 2.0])))


@pytest.mark.parametrize("options", [{}, {"drop": "first"}, {"drop": "if_binary"}, {"min_frequency": 2}], ids=str)
def test_encoders_come_back(options, path):
    for data in (TABLE, NUMBERS):
        model = OneHotEncoder(handle_unknown="ignore", **options).fit(data)
        save(model, path)
        np.testing.assert_array_equal(load(path).transform(data).toarray(), model.transform(data).toarray())
    texts = ["one two", "two three"]
    vectors = TfidfVectorizer().fit(texts)
    save(vectors, path)
    np.testing.assert_array_equal(load(path).transform(texts).toarray(), vectors.transform(texts).toarray())


def test_words_are_a_dictionary(path):
    """An ensemble can pass for one, which shows the check other numbers than it gives to compiled code."""
    numbered = {"partial": [{"builtin": "list"}, [[0, 1]], {"dict": []}]}
    members = {"estimators_": {"dict": [["one", 0], ["two", 10**8]]}, "values": numbered}
    words = thing("sklearn.ensemble._bagging:BaggingClassifier", members)
    with pytest.raises(ModelError, match="not numbered 0, 1"):
        load(forged(path, like(CountVectorizer().fit(["one two"]), vocabulary_=words)))


@pytest.mark.parametrize("kind", ["csr_matrix", "csc_array"])
@pytest.mark.parametrize("ends", [[0, 10**9, 0], [0, 2, -1], [0, 2**63 - 1, -(2**63), -1, 1]], ids=str)
def test_rows_of_sparse_matrices_are_in_order(kind, ends, path):
    """SciPy does not look where the last one is not positive, and its differences overflow."""
    rows = len(ends) - 1
    shape = [rows, 3] if kind == "csr_matrix" else [3, rows]
    with pytest.raises(ModelError, match="a sparse matrix whose rows are out of order"):
        load(
            forged(path, {"shared": 0, "sparse": [kind, shape, 0, 1, 2]}, np.ones(1), np.zeros(1, int), np.array(ends))
        )


def test_one_against_the_rest_of_several_classes(path):
    """Of two classes or of several labels it makes a sparse matrix, of as many rows as its parts say."""
    classes = np.arange(8) % 3
    model = OneVsRestClassifier(mercer.SVC()).fit(X, classes)
    save(model, path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
    for y in (LABELS, np.eye(3, dtype=int)[classes]):
        model = OneVsRestClassifier(LogisticRegression()).fit(X, y)
        save(model, path)
        name = "sklearn.multiclass:OneVsRestClassifier"
        assert describe(path)["needs"] == [name]
        copy = load(path, functions={name: OneVsRestClassifier})
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        binarizer = like(model.label_binarizer_, classes_=[0, 1])
        state = {"label_binarizer_": binarizer, "estimators_": []}
        with pytest.raises(ModelError, match="does not check its parts' predictions"):
            load(forged(path, thing(name, state)))


def function(points, coefficients, kernel):
    state = {"kernel": like(kernel), "points": points, "coefficients": coefficients, "basis": None, "free": None}
    return thing("mercer.space:Function", state | {"_weights": None})


def test_points_are_checked(path):
    A, B = ({"shared": 910 + k, "array": k} for k in range(2))
    gaussian, spectrum = mercer.kernels.Gaussian(), registry["spectrum"](length=2)
    for structure, arrays in (
        (function(A, B, gaussian), (np.ones((3, 2)), np.ones(5))),
        (function(A, B, gaussian), (np.ones(3), np.ones(3))),
        (function(A, B, gaussian), (np.full((3, 2), np.nan), np.ones(3))),
        (function([1, 2], B, spectrum), (np.ones(2), np.ones(2))),
    ):
        with pytest.raises(ModelError, match=r"model.mercer: "):
            load(forged(path, structure, *arrays))


@pytest.mark.parametrize("columns", [1, 2])
def test_points_of_another_width_than_the_samples(columns, path):
    """The rows of single precision are computed by code that trusts both to have the same."""
    A = X.astype(np.float32)
    model = mercer.SVC(gamma=0.5).fit(A, LABELS)
    model.function_.points = np.ascontiguousarray(model.function_.points[:, :columns])
    save(model, path)
    copy = load(path)
    with pytest.raises(ValueError, match=f"X has 3 features, but the points of f have {columns}"):
        copy.decision_function(A)


def test_graphs_are_not_changed_after_they_are_checked(path):
    encoder = Encoder()
    graph = encoder.encode(Graph(3, [(0, 1)]))
    slots = {"dict": [["indices", {"shared": 960, "array": len(encoder.arrays)}]]}
    for state in ({"tuple": [None, slots]}, slots):
        with pytest.raises(ModelError, match="after its constructor checked it"):
            load(forged(path, graph | {"state": state}, *encoder.arrays, np.array([10**6, 10**6], np.int32)))


def test_graphs_whose_nodes_are_compared_in_other_numbers(path):
    """The walks on two graphs are computed by code that trusts the matrix between their nodes."""
    g = Graph(4, [(0, 1), (1, 2), (2, 3)], attributes=np.ones((4, 1)))
    first = partial(np.matmul, np.ones((1, 4)))  # of four nodes one is left
    save(registry["random_walk"](node_kernel=mercer.kernels.Gaussian().warp(first)), path)
    with pytest.raises(ValueError, match="Warped: function returned 1 samples for 4; it must return one for each"):
        load(path)([g])


# ---- memory and time


def test_what_takes_no_room_is_not_long(path):
    long = {"range": [0, 10**12, 1]}
    for structure in (
        {"shared": 0, "masked": [long, False, None]},
        {"scalar": ["<f8", long]},
        {"partial": [{"builtin": "list"}, long, {"dict": []}]},
        like(mercer.kernels.Gaussian(), lengthscale=long),
    ):
        with pytest.raises(ModelError, match=r"range\(0, 1000000000000\) has more than 1048576 numbers"):
            load(forged(path, structure))
    with pytest.raises(ModelError, match="save: range"):
        save(range(2**70), path)
    save(range(100), path)
    assert load(path) == range(100)
    with pytest.raises(ModelError, match=r"an array of shape \(1000000000000000, 0\) is larger than its content"):
        load(forged(path, {"shared": 0, "array": 0}, np.empty((10**15, 0))))
    with pytest.raises(ModelError, match=r"an array of shape \(1000000000000000, 0\) is larger than its content"):
        load(forged(path, {"shared": 0, "objects": [[10**15, 0], []]}))


@pytest.mark.parametrize(
    ("items", "shape"),
    [("<U0", (2048, 1 << 20)), ([("a", "<U0")], (2048, 1 << 20)), ([("a", "<U0"), ("b", "<U0")], (1 << 20,))],
    ids=str,
)
def test_items_without_bytes_are_few(items, shape, path):
    """A mask, or a list of them, would take memory for each."""
    A = {"shared": 0, "array": 0}
    for structure in (A, {"shared": 1, "masked": [A, {"scalar": ["|b1", False]}, None]}):
        with pytest.raises(ModelError, match=r"an array of shape \(.*\) is larger than its content"):
            load(forged(path, structure, {"descr": items, "fortran_order": False, "shape": shape}))
    few = {"descr": items, "fortran_order": False, "shape": (10,)}
    assert load(forged(path, A, few)).shape == (10,)


def test_members_are_not_multiplied(path):
    """What stands for many members would take their memory again wherever it is used."""
    few = {"range": [0, 5, 1]}
    for structure in (
        {"shared": 0, "masked": [few, False, None]},
        {"scalar": ["<f8", few]},
        {"partial": [{"builtin": "list"}, few, {"dict": []}]},
    ):
        with pytest.raises(
            ModelError, match=r"model.mercer: it contains a (masked array without|number that is|partial)"
        ):
            load(forged(path, structure))


def test_arrays_are_copied_once(path):
    """However many encoders share one: else a file of a few megabytes would take hundreds of gigabytes."""
    values = {"shared": 980, "array": 0}
    first = like(OneHotEncoder().fit(NUMBERS), categories_=[values])
    second = like(OneHotEncoder().fit(NUMBERS), categories_=[{"same": 980}])
    array, one, other = load(forged(path, [values, first | {"state": second["state"]}, second], NUMBERS[:3, 0]))
    assert one.categories_[0] is other.categories_[0] and one.categories_[0] is not array
    with pytest.raises(ModelError, match="it contains a range instead of an array"):
        load(forged(path, like(OneHotEncoder().fit(NUMBERS), categories_=[{"range": [1, 4, 1]}])))


LARGE = {"shared": 985, "array": 0}
LISTS = {
    "arrays": [LARGE, *[{"same": 985}] * 10],
    "texts": ["a" * 10**5, *[""] * 1000],
    "bytes": {"tuple": [{"bytes": "41" * 10**5}, *[{"bytes": ""}] * 1000]},
    "in lists": [[[LARGE]], [[{"same": 985}]] * 10],
}


@pytest.mark.parametrize("name", LISTS)
def test_lists_are_not_spread(name, path):
    """NumPy would make one array of them, with each array again and each text as long as the longest."""
    for structure in (
        like(mercer.kernels.Gaussian(), lengthscale=LISTS[name]),
        like(mercer.kernels.algebra.Sum([mercer.kernels.Gaussian()]), kernels={"dict": [[1, LISTS[name]]]}),
        like(OneHotEncoder().fit(NUMBERS), categories_=[LISTS[name]]),
    ):
        with pytest.raises(ModelError, match=r"takes much more memory as an array than|a tuple instead of an array"):
            load(forged(path, structure, np.zeros(10**6, np.int8)))


def test_points_are_not_spread(path):
    """Categories become one array, and each bag an array of its own; strings stay what they are."""
    texts, weights = ["a" * 10**5, *[""] * 1000], {"shared": 987, "array": 0}
    for points, kernel in (
        (texts, registry["delta"]()),
        ([texts, *[[""]] * 1000], registry["mean_map"](mercer.kernels.Gaussian())),
    ):
        with pytest.raises(ModelError, match="takes much more memory as an array than in the file"):
            load(forged(path, function(points, weights, kernel), np.ones(1001)))
    assert load(forged(path, function(texts, weights, registry["spectrum"](length=2)), np.ones(1001))).points == texts


def test_many_ranges_are_not_long(path):
    """One of the longest takes 8 MB as an array, and 25 bytes in the file."""
    ranges = [{"range": [0, 1 << 19, 1]}] * 3
    for structure in (ranges, like(mercer.kernels.Gaussian(), lengthscale=ranges)):
        with pytest.raises(ModelError, match="ranges with more than 1048576 members in total"):
            load(forged(path, structure))
    assert load(forged(path, ranges[:2])) == [range(1 << 19)] * 2
    with pytest.raises(ModelError, match="save: ranges in the model have over 1048576 numbers in total; use arrays"):
        save([range(1 << 19)] * 3, path)


@pytest.mark.parametrize("levels", [1, 2])
def test_lists_in_disguise(levels, path):
    """NumPy takes ensembles, pipelines and functions for lists of their parts."""
    for part in (
        thing("sklearn.ensemble._bagging:BaggingClassifier", {"estimators_": [{"range": [0, 3, 1]}]}),
        thing("sklearn.pipeline:Pipeline", {"steps": [{"tuple": ["a", {"range": [0, 3, 1]}]}]}),
    ):
        value = part if levels == 1 else [[part]]
        for structure in (
            like(mercer.kernels.Gaussian(), lengthscale=value),
            function([value] * 2, {"shared": 986, "array": 0}, registry["mean_map"](mercer.kernels.Gaussian())),
        ):
            with pytest.raises(ModelError, match="where NumPy would treat it as a list"):
                load(forged(path, structure, np.ones(2)))


def test_refusals_are_short(path):
    deep = []
    for _ in range(200):
        deep = [deep, deep] if _ < 8 else [deep]
    with pytest.raises(ModelError) as caught:
        load(forged(path, {"shared": 0, "array": deep}))
    assert len(str(caught.value)) < 400 + len(str(path))


@pytest.mark.parametrize("content", [{"yours": "y" * 10**6}, {"shared": 0, "object": "x" * 10**6}])
def test_refusals_of_long_names_are_short(content, path):
    with pytest.raises(ModelError) as caught:
        load(forged(path, content))
    assert len(str(caught.value)) < 600 + len(str(path))


def test_refusals_show_no_control_characters(path):
    """A terminal would act on them."""
    header = {"format": "mercer model", "version": 9, "versions": {"mercer": "\x1b[31m\n" * 10**4}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header))
    with pytest.raises(ModelError, match=r"written by mercer \\x1b\[31m") as caught:
        load(path)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600 + len(str(path))


def test_arrays_without_end_in_each_other(path):
    """What one holds would be freed by recursion, without a limit."""
    arrays = [{"shared": k, "objects": [[2], [{"same": k - 1} if k else 0, None]]} for k in range(100_000)]
    with pytest.raises(ModelError, match="it nests 251 arrays of objects"):
        load(forged(path, arrays))
    for end in ({"shared": 1, "array": 0}, {"slice": [None, 1, None]}):
        with pytest.raises(ModelError, match="a slice with arrays as bounds"):
            load(forged(path, {"slice": [None, end, None]}, np.ones(1)))


def box(number, *members):
    return {"shared": number, "object": "mercer.losses._base:Box", "arguments": [*members, 1, 1, 1][:4]}


@pytest.mark.parametrize("kind", ["tuple", "frozenset", "dict", "list"])
def test_tuples_that_multiply(kind, path):
    """Sixty of four members each, all of them the one before, would be hashed or shown without end."""
    tuples = [box(0, 1)]
    for k in range(1, 60):
        before = {"same": k - 1}
        inner = {"list": [before], "dict": {"dict": [[0, before]]}}.get(kind, {kind: [before]})
        tuples.append(box(k, *[inner] * 4))
    with pytest.raises(ModelError, match="it uses tuples, arrays or ranges with more than 1048576 members in total"):
        load(forged(path, [*tuples, {"dict": [[{"same": 59}, 1]]}]))


@pytest.mark.parametrize(
    "inner", [lambda x: x, lambda x: [x], lambda x: box(900, x)], ids=["arrays", "lists", "tuples"]
)
def test_arrays_that_multiply(inner, path):
    """The refusal of a degree would show all of them."""
    arrays = [
        {"shared": k, "objects": [[3], [inner({"same": k - 1}), {"same": k - 1}, 0] if k else [0] * 3]}
        for k in range(60)
    ]
    kernel = like(mercer.kernels.Polynomial(), degree={"same": 59}) | {"shared": 901}
    with pytest.raises(ModelError, match="it uses tuples, arrays or ranges with more than 1048576 members in total"):
        load(forged(path, [arrays, kernel]))


@pytest.mark.parametrize("kind", ["kernel", "estimator"])
def test_parts_that_multiply(kind, path):
    """Forty sums of the sum before and itself: to validate, clone or show the last is to go through 2⁴⁰ kernels."""
    part = mercer.kernels.Gaussian() if kind == "kernel" else FunctionTransformer()
    parts = [like(part) | {"shared": 0}]
    for k in range(1, 40):
        before = {"same": k - 1}
        if kind == "kernel":
            outer = like(mercer.kernels.algebra.Sum([part, part]), kernels=[before, before])
        else:
            steps = [{"tuple": [name, before]} for name in "ab"]
            outer = like(Pipeline([("a", part), ("b", part)]), steps=steps)
        parts.append(outer | {"shared": k})
    with pytest.raises(ModelError, match=r"reuses the parts of a (Sum|Pipeline) too many times"):
        load(forged(path, parts))
    assert len(load(forged(path, parts[:8]))) == 8


@pytest.mark.parametrize(
    "hold", [lambda x: {"slice": [x, x, None]}, lambda x: {"dict": [[x, x]]}], ids=["slice", "key"]
)
def test_parts_that_multiply_in_slices_and_keys(hold, path):
    """The refusal of a degree would show all of them."""
    parts = [like(mercer.SVC()) | {"shared": 0}]
    parts += [like(mercer.SVC(), C=hold({"same": k - 1})) | {"shared": k} for k in range(1, 40)]
    kernel = like(mercer.kernels.Polynomial(), degree={"same": 39}) | {"shared": 999}
    with pytest.raises(ModelError, match="reuses the parts of a SVC too many times"):
        load(forged(path, [parts, kernel]))


def test_tuples_without_end_in_each_other(path):
    for inner in (lambda x: x, lambda x: {"tuple": [x]}, lambda x: {"slice": [None, x, None]}):
        tuples = [box(0, 1), *(box(k, inner({"same": k - 1})) for k in range(1, 1000))]
        with pytest.raises(ModelError, match=r"it nests 25[12] tuples"):
            load(forged(path, [*tuples, {"dict": [[{"same": 999}, 1]]}]))


def test_tuples_that_are_used_again_come_back(path):
    one = Box(np.ones(2), 0.0, 1.0)
    save([one] * 1000, path)
    copy = load(path)
    assert len(copy) == 1000 and all(part is copy[0] for part in copy)
    words = np.array([["a", "b"], ["c"]] * 50, dtype=object)
    save([words] * 1000, path)
    assert load(path)[-1][1] == ["c"]
    long = tuple(range((1 << 20) + 1))  # each member is in the file
    save(long, path)
    assert load(path) == long


def test_degrees_have_an_end(path):
    for degree in (2**63, 10**400, -1, "3"):
        with pytest.raises(ModelError, match="degree"):
            load(forged(path, like(mercer.kernels.Polynomial(), degree=degree)))
    machine = mercer.SVC(kernel="polynomial(degree=3)").fit(X, LABELS)
    machine.function_.basis.degree = 2**62
    save(machine, path)
    with pytest.raises(ValueError, match="has too many monomials of 3 coordinates to compute; lower it"):
        load(path).predict(X)


def test_objects_that_hold_themselves(path):
    inner = {"tuple": ["a", {"same": 950}]}
    structure = like(make_pipeline(FunctionTransformer(), FunctionTransformer()), steps=[inner, inner])
    structure["shared"] = 950
    model = load(forged(path, structure))
    for use in (repr, clone, pickle.dumps, lambda m: m.fit(X), lambda m: m.transform(X)):
        with contextlib.suppress(RecursionError, AttributeError, ValueError):
            use(model)
    scaled = {"shared": 951, "object": "mercer.kernels._outer:Scaled", "state": {"dict": [["kernel", {"same": 951}]]}}
    with pytest.raises(ModelError, match="damaged"):
        load(forged(path, scaled))


# ---- what save writes, load reads


@pytest.mark.parametrize("kernel", [k for cls in [*registry.values(), *ALGEBRA] for k in cls.examples()[:1]], ids=str)
def test_kernels_need_no_help(kernel, path):
    save(kernel, path)
    assert describe(path)["needs"] == []


def test_bound_methods_are_supplied(path):
    owner = FunctionTransformer(np.sqrt)
    save(Callable(owner.transform), path)
    assert describe(path)["needs"] == ["transform"]
    assert load(path, functions={"transform": owner.transform}).function == owner.transform


def test_what_a_class_remembers_of_itself_is_not_believed(path):
    """A forged digest of a corpus would mix up the features of two models in one process."""
    kernel = registry["tf_idf"]().resolve(["one two", "two three"])
    other = registry["tf_idf"]().resolve(["one one", "one"])
    assert kernel.corpus != other.corpus
    kernel.corpus.__dict__["_digest"] = other.corpus._digest
    save(kernel, path)
    assert load(path).corpus != other.corpus
    structure, digest = like(kernel.corpus), {"bytes": other.corpus._digest.hex()}
    structure["state"] = {"tuple": [structure["state"], None]}
    structure["state"]["tuple"][0]["dict"].append(["_digest", digest])
    assert load(forged(path, structure)) == registry["tf_idf"]().resolve(["one two", "two three"]).corpus
