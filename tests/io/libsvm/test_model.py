"""Models move both ways: LIBSVM's files (tests/oracles), scikit-learn's machines, LIBSVM itself where installed."""

import pickle
import re
from ctypes import c_double
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from sklearn import svm
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression

import mercer
from mercer.gram import Nystrom
from mercer.io.libsvm import load_model, save_model
from mercer.kernels import Affine, Constant, Gaussian, Laplace, Linear, Polynomial, Sigmoid

KERNELS = {
    "linear": {"kernel": "linear"},
    "poly": {"kernel": "poly", "degree": 3, "gamma": 0.2, "coef0": 1.0},
    "rbf": {"kernel": "rbf"},
    "sigmoid": {"kernel": "sigmoid", "gamma": 0.01, "coef0": -0.2},
}
MACHINES = {
    "c_svc": ("SVC", {"C": 5, "decision_function_shape": "ovo"}),
    "nu_svc": ("NuSVC", {"nu": 0.2, "decision_function_shape": "ovo"}),
    "one_class": ("OneClassSVM", {"nu": 0.2}),
    "epsilon_svr": ("SVR", {"C": 2, "epsilon": 0.05}),
    "nu_svr": ("NuSVR", {"nu": 0.4}),
}


def make(library, machine, **parameters):
    name, chosen = MACHINES[machine]
    return getattr(library, name)(**chosen, **parameters)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).round(2)  # few digits: LIBSVM's own files keep 8
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    return X[:90], y[:90], X[90:]


def values(model, X):
    """Decision values, also of regression; of several classes those of the pairs."""
    if not hasattr(model, "decision_function"):
        return model.predict(X)
    if hasattr(model, "decision_function_shape"):
        model = model.set_params(decision_function_shape="ovo")
    return model.decision_function(X)


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("library", [svm, mercer], ids=["scikit-learn", "mercer"])
@pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
def test_machines_there_and_back(tmp_path, iris, library, machine, kernel, classes):
    X, y, new = iris
    X, y = X[y < classes], y[y < classes]
    model = make(library, machine, **KERNELS[kernel]).fit(X, y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model", n_features=4)
    assert type(loaded) is getattr(mercer, MACHINES[machine][0])
    close(values(loaded, new), values(model, new))
    close(loaded.predict(new), model.predict(new))
    close(values(loaded, csr_array(new)), values(model, new))
    for name in ("dual_coef_", "intercept_", "support_vectors_", "n_support_", "classes_", "offset_", "n_features_in_"):
        if name != "n_support_" or library is mercer or "svc" in machine:
            assert hasattr(loaded, name) == hasattr(model, name)
            close(getattr(loaded, name, 0), getattr(model, name, 0))
    if kernel == "linear":
        close(loaded.coef_, model.coef_)
    save_model(loaded, tmp_path / "again")
    text, again = ((tmp_path / name).read_text() for name in ("model", "again"))
    assert re.sub("gamma .*", "", again) == re.sub("gamma .*", "", text)  # √(1/2γ) may round


@pytest.mark.parametrize("name", ["c_svc_rbf", "c_svc_linear_two", "nu_svc_polynomial"])
def test_classifiers_of_libsvm(tmp_path, oracle, name):
    data = oracle("libsvm_iris30")
    theirs = data["models"][name]
    (tmp_path / "model").write_text(theirs["model"])
    model = load_model(tmp_path / "model")
    labels = [int(word) for word in re.search("label (.*)", theirs["model"])[1].split()]
    assert model.classes_.tolist() == sorted(labels)
    close(in_order_of(labels, model, values(model, data["test"])), theirs["decision"])
    assert (model.predict(data["test"]) == theirs["predicted"]).all()
    save_model(model, tmp_path / "again")
    again = load_model(tmp_path / "again")
    close(values(again, data["test"]), values(model, data["test"]))


def in_order_of(labels, model, decisions):
    """Decisions of a machine as LIBSVM gives them with labels in this order: positive for the first of each pair."""
    k, decisions = len(labels), decisions.reshape(len(decisions), -1) * (-1 if len(labels) == 2 else 1)
    number = {pair: c for c, pair in enumerate(combinations(model.classes_.tolist(), 2))}
    columns = []
    for i, j in combinations(range(k), 2):
        pair = labels[i], labels[j]
        columns.append(decisions[:, number[pair]] if pair in number else -decisions[:, number[pair[::-1]]])
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("name", ["one_class_sigmoid", "epsilon_svr_linear", "nu_svr_rbf"])
def test_other_machines_of_libsvm(tmp_path, oracle, name):
    data = oracle("libsvm_iris30")
    theirs = data["models"][name]
    (tmp_path / "model").write_text(theirs["model"])
    model = load_model(tmp_path / "model")
    close(values(model, data["test"]), theirs["decision"][:, 0])
    close(model.predict(data["test"]), theirs["predicted"])
    save_model(model, tmp_path / "again")
    assert numbers((tmp_path / "again").read_text()) == pytest.approx(numbers(theirs["model"]), rel=1e-15)


def numbers(text):
    """All numbers of a file, in order; the words agree too where these do, for `load_model` knows all words."""
    return [float(word) for word in re.split(r"[\s:]+", text) if re.fullmatch(r"[-+.\de]+", word)]


@pytest.mark.parametrize("library", [svm, mercer], ids=["scikit-learn", "mercer"])
def test_precomputed(tmp_path, iris, library):
    X, y, new = iris
    model = library.SVC(kernel="precomputed", decision_function_shape="ovo").fit(X @ X.T, y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model", n_features=len(X))
    assert (loaded.support_ == model.support_).all()
    close(values(loaded, new @ X.T), model.decision_function(new @ X.T))
    assert (loaded.predict(new @ X.T) == model.predict(new @ X.T)).all()
    with pytest.raises(ValueError, match="X has 4 features, but SVC is expecting 90"):
        loaded.predict(new)
    open_width = load_model(tmp_path / "model")
    close(values(open_width, new @ X.T), model.decision_function(new @ X.T))
    assert not hasattr(open_width, "n_features_in_")


@pytest.mark.parametrize("library", [svm, mercer], ids=["scikit-learn", "mercer"])
def test_sparse_machine(tmp_path, iris, library):
    X, y, new = iris
    model = library.SVC(decision_function_shape="ovo").fit(csr_array(X), y)
    save_model(model, tmp_path / "model")
    close(values(load_model(tmp_path / "model"), new), model.decision_function(new))


def test_support_vectors_are_sparse_where_that_is_smaller(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40)) * (rng.uniform(size=(60, 40)) < 0.1)
    y = X.sum(axis=1) > 0
    model = mercer.SVC(kernel="linear").fit(csr_array(X), y.astype(int))
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model", n_features=40)
    assert issparse(loaded.support_vectors_)
    assert issparse(loaded.dual_coef_)
    for new in (X, csr_array(X)):
        close(loaded.decision_function(new), model.decision_function(X))
    close(loaded.coef_.toarray(), model.coef_.toarray())
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_text() == (tmp_path / "model").read_text()


@pytest.mark.parametrize(
    "model",
    [mercer.OneClassSVM(C=0.5, delta=0.9), mercer.SVC(fit_intercept=False), mercer.SVC(loss="squared_hinge")],
    ids=["hinge form", "no offset", "squared hinge"],
)
def test_forms_that_libsvm_does_not_fit(tmp_path, iris, model):
    X, y, new = iris
    model.fit(X, y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    close(values(loaded, new), values(model, new))
    assert (loaded.predict(new) == model.predict(new)).all()


def test_many_classes(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = svm.SVC(gamma=0.002, decision_function_shape="ovo").fit(X[:500], y[:500])
    save_model(model, tmp_path / "model.gz")
    loaded = load_model(tmp_path / "model.gz")
    close(values(loaded, X), model.decision_function(X))
    assert (loaded.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
def test_loaded_machines_are_estimators(tmp_path, iris, machine, kernel):
    X, y, new = iris
    model = make(mercer, machine, **KERNELS[kernel]).fit(X, y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    again = pickle.loads(pickle.dumps(loaded))
    close(again.predict(new), loaded.predict(new))
    expected = type(loaded)(**{"gamma": model._gamma, **KERNELS[kernel]} if kernel != "linear" else KERNELS[kernel])
    assert loaded.get_params() == {**expected.get_params(), "gamma": pytest.approx(expected.gamma)}
    fresh = clone(loaded)
    assert not hasattr(fresh, "dual_coef_")
    assert fresh.fit(X, y).kernel_ == loaded.kernel_


@pytest.mark.parametrize("labels", [*permutations([5, -2, 9]), (1, -1), (-1, 1)], ids=str)
def test_labels_in_any_order_of_the_file(tmp_path, labels):
    rng = np.random.default_rng(0)
    k, counts = len(labels), rng.integers(1, 4, size=len(labels))
    n, pairs = counts.sum(), list(combinations(range(k), 2))
    dual, points, rho = rng.normal(size=(k - 1, n)), rng.normal(size=(n, 3)), rng.normal(size=len(pairs))
    A, B = rng.normal(size=(2, len(pairs)))
    text = [f"svm_type c_svc\nkernel_type rbf\ngamma 0.5\nnr_class {k}\ntotal_sv {n}"]
    for name, entries in {"rho": rho, "label": labels, "probA": A, "probB": B, "nr_sv": counts}.items():
        text.append(f"{name} {' '.join(repr(v) for v in np.asarray(entries).tolist())}")
    text.append("SV")
    for a, x in zip(dual.T.tolist(), points.tolist(), strict=True):
        text.append(f"{' '.join(map(repr, a))} {' '.join(f'{i}:{v!r}' for i, v in enumerate(x, 1))}")
    (tmp_path / "model").write_text("\n".join(text) + "\n")

    new = rng.normal(size=(200, 3))
    K = np.exp(-0.5 * ((new[:, None] - points[None]) ** 2).sum(axis=2))
    start = np.concatenate([[0], np.cumsum(counts)])
    part = [slice(start[c], start[c + 1]) for c in range(k)]
    # LIBSVM's README: coefficients of class i against j in row j − 1, of j against i in row i
    theirs = np.stack(
        [
            K[:, part[i]] @ dual[j - 1, part[i]] + K[:, part[j]] @ dual[i, part[j]] - r
            for (i, j), r in zip(pairs, rho, strict=True)
        ],
        1,
    )
    votes = np.zeros((200, k))
    for f, (i, j) in zip(theirs.T, pairs, strict=True):
        votes[:, i] += f > 0
        votes[:, j] += f <= 0
    model = load_model(tmp_path / "model")
    assert model.classes_.tolist() == sorted(labels)
    close(in_order_of(list(labels), model, values(model, new)), theirs)
    assert (model.predict(new) == np.array(labels)[votes.argmax(axis=1)]).all()
    # P(first of the pair) = 1/(1 + exp(A f + B)), whichever is the first
    sign = -1 if k == 2 else 1
    ours = np.reshape(sign * values(model, new), (200, -1)) * model.probA_ + model.probB_
    close(in_order_of(list(labels), model, sign * ours), theirs * A + B)
    save_model(model, tmp_path / "again")
    again = load_model(tmp_path / "again")
    close(values(again, new), values(model, new))
    close(again.probB_, model.probB_)
    assert numbers((tmp_path / "again").read_text()) == pytest.approx(numbers((tmp_path / "model").read_text()))


def predicted_by(text, X):
    """What LIBSVM's svm_predict_values does with a file of an rbf machine, line by line."""
    head, body = text.split("SV\n")
    head = {name: rest for name, _, rest in (line.partition(" ") for line in head.splitlines())}
    labels, counts, rho = ([float(w) for w in head[name].split()] for name in ("label", "nr_sv", "rho"))
    k, gamma = len(labels), float(head["gamma"])
    lines = [line.split() for line in body.splitlines()]
    coefficients = [[float(w) for w in line[: k - 1]] for line in lines]
    vectors = [{int(i): float(v) for i, v in (w.split(":") for w in line[k - 1 :])} for line in lines]
    start = [int(sum(counts[:i])) for i in range(k)]
    answers = []
    for x in X.tolist():
        kvalue = []
        for vector in vectors:
            kvalue.append(np.exp(-gamma * sum((v - vector.get(i, 0.0)) ** 2 for i, v in enumerate(x, 1))))
        votes, p = [0] * k, 0
        for i in range(k):
            for j in range(i + 1, k):
                total = sum(coefficients[start[i] + m][j - 1] * kvalue[start[i] + m] for m in range(int(counts[i])))
                total += sum(coefficients[start[j] + m][i] * kvalue[start[j] + m] for m in range(int(counts[j])))
                votes[i if total - rho[p] > 0 else j] += 1
                p += 1
        best = 0
        for i in range(1, k):
            if votes[i] > votes[best]:
                best = i
        answers.append((int(labels[best]), sorted(votes)[-1] == sorted(votes)[-2]))
    return np.array(answers).T


def test_labels_are_those_of_libsvm_where_votes_tie(tmp_path):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(90, 3)), rng.integers(5, size=90)  # noise, so that no class is far from winning
    model = mercer.SVC(gamma=0.8, C=3.0).fit(X, y)
    save_model(model, tmp_path / "sorted")
    new = rng.normal(size=(300, 3))
    text = (tmp_path / "sorted").read_text()
    labels, tied = predicted_by(text, new)
    assert tied.sum() > 5
    assert (model.predict(new) == labels).all()
    # the same machine with its classes in another order is another one where votes tie
    loaded = load_model(tmp_path / "sorted")
    loaded._label_order = np.array([3, 0, 4, 2, 1])
    save_model(loaded, tmp_path / "turned")
    turned = load_model(tmp_path / "turned")
    others, tied = predicted_by((tmp_path / "turned").read_text(), new)
    assert (turned.predict(new) == others).all() and (labels != others)[tied == 1].any()
    assert (labels == others)[tied == 0].all()
    save_model(turned, tmp_path / "again")
    assert (predicted_by((tmp_path / "again").read_text(), new)[0] == others).all()
    mercer.save(turned, tmp_path / "turned.mercer")
    assert (mercer.load(tmp_path / "turned.mercer").predict(new) == others).all()
    refitted = turned.set_params(C=3.0, gamma=0.8).fit(X, y)  # knows no file
    assert (refitted.predict(new) == model.predict(new)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_function(tmp_path, iris, classes):
    X, y, new = iris
    X, y = X[y < classes], y[y < classes]
    model = svm.SVC(kernel="linear").fit(X, y)
    save_model(model, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    f = loaded.function_
    close(f(new), values(loaded, new))
    close(f.norm(), np.linalg.norm(model.coef_, axis=1) if classes == 3 else np.linalg.norm(model.coef_))


CYCLE = """svm_type c_svc
kernel_type linear
nr_class 3
total_sv 3
rho -1 1 -1
label 7 5 6
nr_sv 1 1 1
SV
0 0 1:1
0 0 1:2
0 0 2:3
"""


def test_votes_that_tie_go_to_the_first_label_of_the_file(tmp_path):
    # decisions are 1, −1, 1: 7 beats 5, 6 beats 7, 5 beats 6, one vote each; LIBSVM takes 7, the first in the file
    (tmp_path / "model").write_text(CYCLE)
    model = load_model(tmp_path / "model")
    assert values(model, [[1.0, 1.0]]).tolist() == [[1, -1, 1]]  # of 5 and 6, 5 and 7, 6 and 7
    assert model.predict([[1.0, 1.0]]) == [7]


def test_a_decision_of_zero(tmp_path):
    text = "svm_type {}\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0\n{}SV\n1 1:1\n"
    (tmp_path / "two").write_text(text.format("c_svc", "label 4 2\nnr_sv 1 0\n"))
    (tmp_path / "one").write_text(text.format("one_class", ""))
    # of two classes as in LIBSVM; of one as in scikit-learn, where LIBSVM's answer for 0 is −1
    assert load_model(tmp_path / "two").predict([[-1.0], [0.0], [1.0]]).tolist() == [2, 2, 4]
    (tmp_path / "two").write_text(text.format("c_svc", "label 2 4\nnr_sv 1 0\n"))
    assert load_model(tmp_path / "two").predict([[-1.0], [0.0], [1.0]]).tolist() == [4, 4, 2]
    assert load_model(tmp_path / "one").predict([[-1.0], [0.0], [1.0]]).tolist() == [-1, 1, 1]


def test_machines_without_support_vectors(tmp_path):
    (tmp_path / "flat").write_text(
        "svm_type epsilon_svr\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 0\nrho -3\nSV\n"
    )
    assert load_model(tmp_path / "flat").predict([[1.0], [2.0]]).tolist() == [3, 3]


def test_width_of_new_data(tmp_path):
    (tmp_path / "model").write_text(CYCLE.replace("2:3", "3:3"))
    model = load_model(tmp_path / "model")
    assert model.n_features_in_ == 3
    with pytest.raises(ValueError, match="X has 7 features, but SVC is expecting 3"):
        model.predict(np.zeros((1, 7)))
    wide = load_model(tmp_path / "model", n_features=7)
    new = np.random.default_rng(0).normal(size=(4, 7))
    close(values(wide, new), values(model, new[:, :3]))
    with pytest.raises(ValueError, match="feature with index 3, beyond n_features = 2"):
        load_model(tmp_path / "model", n_features=2)


@pytest.mark.parametrize(
    "kernel",
    [Linear(), Affine(2.0), Constant(3.0), Polynomial(2, 0.5, 1.0), Gaussian(0.7), Sigmoid(0.3, -0.1)],
    ids=lambda k: type(k).__name__,
)
def test_kernels_of_mercer(tmp_path, kernel):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    machine = SVR(kernel, X, rng.normal(size=(1, 6)), 0.25)
    save_model(machine, tmp_path / "model")
    expected = kernel(new, X) @ machine.dual_coef_[0] + 0.25
    np.testing.assert_allclose(load_model(tmp_path / "model").predict(new), expected, rtol=1e-13, atol=1e-13)


class SVR:
    """The attributes that `save_model` reads."""

    def __init__(self, kernel, points, coefficients, intercept):
        self.kernel_, self.support_vectors_ = kernel, points
        self.dual_coef_, self.intercept_ = coefficients, intercept


@pytest.mark.parametrize("kernel", [Laplace(1.0), Gaussian(np.array([1.0, 2.0])), Polynomial(1.5), 2 * Gaussian(1.0)])
def test_kernels_that_libsvm_lacks(tmp_path, kernel):
    with pytest.raises(ValueError, match="LIBSVM's format cannot store the kernel"):
        save_model(SVR(kernel, np.ones((1, 2)), np.ones((1, 1)), 0.0), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_save_refuses(tmp_path, iris):
    X, y, _ = iris
    with pytest.raises(TypeError, match=r"LIBSVM.s format cannot store a LogisticRegression; it takes SVC, NuSVC"):
        save_model(LogisticRegression(), tmp_path / "model")
    with pytest.raises(ValueError, match="this SVC is not fitted"):
        save_model(svm.SVC(), tmp_path / "model")
    with pytest.raises(ValueError, match="must be 32-bit integers"):
        save_model(svm.SVC().fit(X, np.array(["a", "b", "c"])[y]), tmp_path / "model")
    with pytest.raises(ValueError, match="must be 32-bit integers"):
        save_model(svm.SVC().fit(X, y == 1), tmp_path / "model")
    with pytest.raises(ValueError, match="LIBSVM's format cannot store the kernel"):
        save_model(svm.SVC(kernel=np.inner).fit(X, y), tmp_path / "model")
    with pytest.raises(ValueError, match=r"gram = Nystrom\(rank=5\) approximates the kernel of this SVC"):
        save_model(mercer.SVC(gram=Nystrom(rank=5), random_state=0).fit(X, y), tmp_path / "model")
    model = svm.SVC().fit(X, y)
    model.dual_coef_ = np.ones((3, model.dual_coef_.shape[1]))
    with pytest.raises(ValueError, match="is not one-vs-one"):
        save_model(model, tmp_path / "model")


FAULTS = {
    "not a model": ("1 1:0.5\n", r"line 1: '1' does not belong in a LIBSVM model file"),
    "blank": ("svm_type c_svc\n\n", r"line 2: '' does not belong"),
    "type": (CYCLE.replace("c_svc", "svc"), r"line 1: svm_type svc is unknown; LIBSVM has c_svc"),
    "kernel": (CYCLE.replace("linear", "laplace"), r"line 2: kernel_type laplace is unknown"),
    "escape": (CYCLE.replace("c_svc", "\x1b[31m"), r"line 1: svm_type \\x1b\[31m is unknown"),
    "long": (CYCLE.replace("linear", "l" * 10**6), r"line 2: kernel_type l{100,500}$"),
    "range": (CYCLE.replace("linear", "rbf\ngamma -1"), r"model: Gaussian: gamma = -1\.0 must be > 0"),
    "number": (CYCLE.replace("rho -1", "rho x"), r"line 5: rho = 'x' must be a finite number"),
    "infinite": (CYCLE.replace("rho -1", "rho inf"), r"line 5: rho = 'inf'"),
    "one class": (
        "svm_type c_svc\nkernel_type linear\nnr_class 1\ntotal_sv 0\nrho\nlabel 8\nnr_sv 0\nSV\n",
        r"line 8: nr_class = 1 is not a classifier",
    ),
    "same label": (CYCLE.replace("label 7 5 6", "label 7 5 7"), r"line 8: label 7 5 7 contains a class twice"),
    "count": (CYCLE.replace("nr_class 3", "nr_class 0"), r"line 3: nr_class = 0 is too small"),
    "twice": (CYCLE.replace("label 7 5 6", "rho 1 2 3"), r"line 6: rho occurs twice"),
    "pairs": (CYCLE.replace("rho -1", "rho"), r"line 8: rho has 2 entries, but nr_class = 3 requires 3"),
    "missing": (CYCLE.replace("label 7 5 6\n", ""), r"line 7: label missing before"),
    "parameter": (CYCLE.replace("linear", "polynomial\ndegree 2"), r"line 9: gamma, coef0 missing"),
    "sum": (CYCLE.replace("nr_sv 1", "nr_sv 2"), r"line 8: nr_sv sums to 4, but total_sv = 3"),
    "regression": (CYCLE.replace("c_svc", "nu_svr"), r"line 8: nr_class = 3 must be 2 for nu_svr"),
    "no vectors": (CYCLE.partition("SV\n")[0], r"line 7: the file ends before its support vectors"),
    "few": (CYCLE.replace("0 0 2:3\n", ""), r"line 10: the file ends after 2 of total_sv = 3"),
    "many": (CYCLE + "0 0 1:1\n", r"line 12: more support vectors than total_sv = 3"),
    "coefficients": (CYCLE.replace("0 0 2:3", "0 2:3"), r"line 11: expected 2 coefficients"),
    "feature": (CYCLE.replace("0 0 2:3", "0 0 2"), r"line 11: '2' must have the form index:value"),
    "huge label": (CYCLE.replace("label 7", f"label {10**30}"), r"line 6: label 10+ 5 6 must be 32-bit integers"),
    "huge count": (CYCLE.replace("total_sv 3", "total_sv 99999999999"), r"line 4: total_sv = 99999999999 is too large"),
    "claimed count": (
        CYCLE.replace("total_sv 3", "total_sv 2147483647").replace("nr_sv 1", "nr_sv 2147483645"),
        r"line 11: the file ends after 3 of total_sv = 2147483647",
    ),
    "negative count": (CYCLE.replace("nr_sv 1 1 1", "nr_sv 3 1 -1"), r"line 8: nr_sv 3 1 -1 contains negative counts"),
    "huge serial": (
        CYCLE.replace("linear", "precomputed").replace("1:1", f"0:{10**30}"),
        r"line 9: expected 0:i with the number i >= 1 .* found '0:10+'",
    ),
    "huge index": (CYCLE.replace("2:3", "2147483648:3"), r"line 11: index 2147483648 is larger"),
    "serial": (CYCLE.replace("linear", "precomputed"), r"line 9: expected 0:i with the number i >= 1 .* found '1:1'"),
}


@pytest.mark.parametrize(("text", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_faults_are_placed(tmp_path, text, message):
    (tmp_path / "model").write_text(text)
    with pytest.raises(ValueError, match=message):
        load_model(tmp_path / "model")


@pytest.mark.parametrize("gamma", ["1.7e+308", "1e+308", "1e-320", "5e-324", "1e-300", "0.3"])
def test_any_gamma_that_is_a_number(tmp_path, gamma):
    """Twice the largest, and the squares of lengthscales, are none."""
    head = f"svm_type nu_svr\nkernel_type rbf\ngamma {gamma}\n"
    (tmp_path / "model").write_text(f"{head}nr_class 2\ntotal_sv 1\nrho 0\nSV\n2 1:1\n")
    model = load_model(tmp_path / "model")
    near = 1.0 + min(1.0, 1e-8 / float(gamma)) ** 0.5  # of the largest gamma, the support vector itself
    expected = [2.0, 2.0 * np.exp(-float(gamma) * (near - 1.0) ** 2)]
    np.testing.assert_allclose(model.predict([[1.0], [near]]), expected, rtol=1e-13)
    save_model(model, tmp_path / "again")
    written = float((tmp_path / "again").read_text().splitlines()[2].removeprefix("gamma "))
    assert written == pytest.approx(float(gamma), rel=4e-16, abs=0)


def test_numbers_of_samples_beyond_the_columns(tmp_path):
    text = "svm_type nu_svr\nkernel_type precomputed\nnr_class 2\ntotal_sv 1\nrho 0\nSV\n2 0:2147483647\n"
    (tmp_path / "model").write_text(text)
    with pytest.raises(ValueError, match=r"NuSVR.* X has 3 columns, but needs one for training sample 2147483647"):
        load_model(tmp_path / "model").predict(np.eye(3))


def test_a_binary_file_is_refused(tmp_path):
    (tmp_path / "model").write_bytes(bytes(range(256)))
    with pytest.raises(ValueError, match=r"line 1: contains zero bytes; it is not text"):
        load_model(tmp_path / "model")
    (tmp_path / "model").write_bytes(bytes(range(14, 256)))
    with pytest.raises(ValueError, match=r"line 1: .* does not belong in a LIBSVM model file"):
        load_model(tmp_path / "model")


# ---- LIBSVM itself

OPTIONS = {
    "c_svc": "-s 0 -c 5",
    "nu_svc": "-s 1 -n 0.2",
    "one_class": "-s 2 -n 0.2",
    "epsilon_svr": "-s 3 -c 2 -p 0.05",
    "nu_svr": "-s 4 -n 0.4",
    "linear": "-t 0",
    "poly": "-t 1 -d 3 -g 0.2 -r 1",
    "rbf": "-t 2 -g 0.3",
    "sigmoid": "-t 3 -g 0.01 -r -0.2",
    "precomputed": "-t 4",
}


@pytest.fixture(scope="module")
def libsvm():
    pytest.importorskip("libsvm.svm", reason="libsvm-official is not installed")
    from libsvm import svm, svmutil

    def decide(model, X):
        # svmutil.svm_predict of 3.37 takes nu_svc for nu_svr, and gives its values a buffer of one number
        k = model.get_nr_class()
        buffer = (c_double * max(1, k * (k - 1) // 2))()
        labels, decisions = [], []
        for row in X:
            nodes, _ = svm.gen_svm_nodearray(row)
            labels.append(svm.libsvm.svm_predict_values(model, nodes, buffer))
            decisions.append(list(buffer))
        return np.array(labels), np.array(decisions)

    return svmutil, decide


def nodes(X, precomputed):
    """Rows as LIBSVM's Python interface takes them."""
    rows = [dict(enumerate(row, 1)) for row in X.tolist()]
    return [{0: i, **row} for i, row in enumerate(rows, 1)] if precomputed else rows


@pytest.mark.long
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf", "sigmoid", "precomputed"])
@pytest.mark.parametrize("machine", MACHINES)
def test_from_libsvm_and_back(tmp_path, iris, libsvm, machine, kernel):
    svmutil, decide = libsvm
    X, y, new = iris
    precomputed = kernel == "precomputed"
    if precomputed:
        X, new = X @ X.T, new @ X.T
    y = np.array([4, 7, -3])[y]
    theirs = svmutil.svm_train(y.tolist(), nodes(X, precomputed), f"-q {OPTIONS[machine]} {OPTIONS[kernel]}")
    labels, decisions = decide(theirs, nodes(new, precomputed))
    path = str(tmp_path / "theirs")
    svmutil.svm_save_model(path, theirs)
    ours = load_model(path)
    found = values(ours, new)
    if machine in ("c_svc", "nu_svc"):
        order = list(dict.fromkeys(y.tolist()))  # of appearance
        assert order != sorted(order)
        found = in_order_of(order, ours, found)
    close(found.reshape(len(new), -1), decisions)
    close(ours.predict(new), labels)
    save_model(ours, tmp_path / "ours")
    again = svmutil.svm_load_model(str(tmp_path / "ours"))
    back_labels, back = decide(again, nodes(new, precomputed))
    close(back, decisions)
    close(back_labels, labels)


@pytest.mark.long
@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("library", [svm, mercer], ids=["scikit-learn", "mercer"])
def test_to_libsvm(tmp_path, iris, libsvm, library, machine):
    svmutil, decide = libsvm
    X, y, new = iris
    y = np.array([4, 7, -3])[y]
    rng = np.random.default_rng(0)  # values with all digits, which LIBSVM's own files would round
    X, new = X + rng.normal(size=X.shape), new + rng.normal(size=new.shape)
    model = make(library, machine, kernel="rbf", gamma=0.1).fit(X, y)
    save_model(model, tmp_path / "model")
    labels, decisions = decide(svmutil.svm_load_model(str(tmp_path / "model")), nodes(new, False))
    close(decisions, values(model, new).reshape(len(new), -1))
    close(labels, model.predict(new))


def probabilities(model, X):
    """LIBSVM's own, a column for each label, sorted."""
    from libsvm import svm

    buffer, rows = (c_double * model.get_nr_class())(), []
    for row in nodes(X, False):
        svm.libsvm.svm_predict_probability(model, svm.gen_svm_nodearray(row)[0], buffer)
        rows.append(list(buffer))
    return np.array(rows)[:, np.argsort(model.get_labels())]


@pytest.mark.long
@pytest.mark.parametrize("classes", [2, 3])
def test_probabilities_travel(tmp_path, iris, libsvm, classes):
    svmutil, _ = libsvm
    X, y, new = iris
    X, y = (
        X[y < classes] + np.random.default_rng(0).normal(size=(np.sum(y < classes), 4)),
        np.array([4, 7, -3])[y[y < classes]],
    )
    X = X.round(2)
    theirs = svmutil.svm_train(y.tolist(), nodes(X, False), "-q -b 1 -g 0.25")
    svmutil.svm_save_model(str(tmp_path / "theirs"), theirs)
    assert theirs.get_labels() != sorted(theirs.get_labels())
    save_model(load_model(tmp_path / "theirs"), tmp_path / "ours")
    again = svmutil.svm_load_model(str(tmp_path / "ours"))
    theirs = svmutil.svm_load_model(str(tmp_path / "theirs"))
    assert again.get_labels() == sorted(theirs.get_labels())
    # pairwise coupling is iterated to a tolerance of 0.005 / classes
    tolerance = 1e-6 if classes == 2 else 0.01
    np.testing.assert_allclose(probabilities(again, new), probabilities(theirs, new), atol=tolerance)


def test_probabilities_of_one_class_travel(tmp_path):
    text = "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\n"
    text += "prob_density_marks -1 0.25 3\nSV\n1 1:1\n"
    (tmp_path / "theirs").write_text(text)
    save_model(load_model(tmp_path / "theirs"), tmp_path / "ours")
    assert (tmp_path / "ours").read_text() == text
