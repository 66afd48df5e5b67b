"""LIBSVM's model files."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from mercer.basis import Polynomials
from mercer.domains import Rows, Vectors
from mercer.kernels import Affine, Constant, Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from mercer.space import Function

from ... import _tiles
from ..._array import host, is_sparse
from ..._errors import check_number, where
from .._text import Lines, number, reading, writing
from .data import features, row_texts

# LIBSVM's name of a machine by the class that fits it, in Mercer and in scikit-learn.
MACHINES = {"SVC": "c_svc", "NuSVC": "nu_svc", "OneClassSVM": "one_class", "SVR": "epsilon_svr", "NuSVR": "nu_svr"}
CLASSIFIERS = ("c_svc", "nu_svc")
KERNELS = ("linear", "polynomial", "rbf", "sigmoid", "precomputed")
# Lines that only LIBSVM's own probability estimates use; kept from file to file.
PROBABILITIES = ("probA", "probB", "prob_density_marks")


@dataclass(eq=False, repr=False)
class LibsvmModel:
    """A machine as LIBSVM's model file holds it, which predicts as LIBSVM does. `load_model` makes it.

    Attributes
    ----------
    svm_type : {"c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"}
    kernel_ : Kernel
    dual_coef_, intercept_, n_support_, support_vectors_
        Shapes and signs as in scikit-learn: for two classes, a positive decision means ``classes_[1]``.
    classes_ : array of int
        In the order of the file, which decides between classes with equally many votes: in LIBSVM's own models, the
        order of first appearance in the training data. None for regression and one-class.
    support_ : array of int
        Positions of the support vectors in the training data; known for the precomputed kernel only, else None.
    n_features_in_ : int or None
        What was given to `load_model`, since the file does not tell.
    probabilities_ : dict
        LIBSVM's ``probA``, ``probB`` and ``prob_density_marks``, as far as the file has them. Not used here.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.svm import SVC
    >>> model = SVC(kernel="linear").fit([[-1.0], [1.0]], [3, 7])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.txt"
    ...     save_model(model, path)
    ...     print(path.read_text())
    ...     copy = load_model(path)
    svm_type c_svc
    kernel_type linear
    nr_class 2
    total_sv 2
    rho 0
    label 3 7
    nr_sv 1 1
    SV
    0.5 1:-1
    -0.5 1:1
    >>> copy
    <LibsvmModel: c_svc, linear, 2 support vectors>
    >>> copy.predict([[-2.0], [0.5]]), copy.decision_function([[-2.0], [0.5]])
    (array([3, 7]), array([-2. ,  0.5]))
    """

    svm_type: str
    kernel_: Kernel
    dual_coef_: np.ndarray
    intercept_: np.ndarray
    support_vectors_: Any = None
    support_: Any = None
    classes_: Any = None
    n_support_: Any = None
    n_features_in_: int | None = None
    probabilities_: dict[str, np.ndarray] = field(default_factory=dict)

    def decision_function(self, X: Any) -> np.ndarray:
        """One value per sample; for more than two classes one per pair (i, j), i < j, positive for class i.

        Parameters
        ----------
        X : array or CSR matrix of shape (n_samples, n_features)
            Columns beyond the largest index of the file are zero in the support vectors, unless `n_features` was given
            to `load_model`. For the precomputed kernel: values against all training samples. Computed in double
            precision on the host, as LIBSVM does.
        """
        precomputed = self.support_vectors_ is None
        X = (Rows() if precomputed else Vectors(sparse=True)).check(X, self)
        width = X.shape[1]
        least = (self.support_.max(initial=-1) + 1) if precomputed else self.support_vectors_.shape[1]
        if width != self.n_features_in_ if self.n_features_in_ else width < least:
            expected = self.n_features_in_ or f"at least {least}"
            raise ValueError(f"LibsvmModel: X has {width} columns, but the model asks for {expected}.")
        X = X.astype(np.float64) if is_sparse(X) else host(X).astype(np.float64, copy=False)
        if precomputed:
            centres = self.support_
        else:
            SV = self.support_vectors_
            centres = csr_array((SV.data, SV.indices, SV.indptr), shape=(SV.shape[0], width))
            centres = centres if is_sparse(X) else centres.toarray()
        V = self._coefficients()
        values = _tiles.product(self.kernel_, X, centres, V) if len(V) else np.zeros((X.shape[0], V.shape[1]))
        values = values + self.intercept_
        return values[:, 0] if self.classes_ is None or len(self.classes_) == 2 else values

    @property
    def function_(self) -> Function:
        """The machine, or with more than two classes all pairs as one vector-valued function: norm, margin 2/‖f‖."""
        points = self.support_ if self.support_vectors_ is None else self.support_vectors_
        V, b = self._coefficients(), self.intercept_[None, :]
        if V.shape[1] == 1:
            V, b = V[:, 0], b[0]
        return Function(self.kernel_, points, V, Polynomials(0), b)

    def _coefficients(self) -> np.ndarray:
        """One column per pair of classes: row j − 1 of `dual_coef_` for class i < j, row i for class j."""
        if self.classes_ is None or len(self.classes_) == 2:
            return self.dual_coef_.T
        group = np.repeat(np.arange(len(self.classes_)), self.n_support_)
        columns = [
            np.where(group == i, self.dual_coef_[j - 1], 0.0) + np.where(group == j, self.dual_coef_[i], 0.0)
            for i, j in combinations(range(len(self.classes_)), 2)
        ]
        return np.stack(columns, axis=1) if columns else np.zeros((len(group), 0))

    def predict(self, X: Any) -> np.ndarray:
        """The class with most votes, the first in the file among equals; ±1 for one-class; the value for regression."""
        f = self.decision_function(X)
        if self.svm_type == "one_class":
            return np.where(f > 0, 1, -1)
        if self.classes_ is None:
            return f
        if f.ndim == 1:
            return self.classes_[(f >= 0).astype(int)]
        votes = np.zeros((len(f), len(self.classes_)), dtype=int)
        for column, (i, j) in zip(f.T, combinations(range(len(self.classes_)), 2), strict=True):
            votes[:, i] += column > 0
            votes[:, j] += column <= 0
        return self.classes_[votes.argmax(axis=1)]

    def __repr__(self) -> str:
        return f"<LibsvmModel: {self.svm_type}, {self.kernel_}, {self.dual_coef_.shape[1]} support vectors>"


def save_model(model: Any, path: Any) -> None:
    """Write a fitted support vector machine as a model file of LIBSVM.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM of Mercer or of scikit-learn, or a LibsvmModel
        Fitted. With more than two classes it must be one-vs-one; labels must be integers; the kernel linear,
        polynomial (of integer degree), Gaussian with one lengthscale, sigmoid or precomputed.
    path : str or path
        Replaced only when the new file is complete.

    Notes
    -----
    The file holds what predictions need: C, class weights and the like are lost. LIBSVM's files have no place for the
    number of features; `load_model` can be told. scikit-learn's probability estimates are not written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mercer import SVC
    >>> model = SVC(kernel="linear").fit([[-1.0], [1.0]], [3, 7])
    >>> with TemporaryDirectory() as folder:
    ...     save_model(model, Path(folder) / "model.txt")
    ...     load_model(Path(folder) / "model.txt").predict([[0.5]])
    array([7])
    """
    kind = _machine(model)
    kernel = _kernel_header(model)
    dual = model.dual_coef_
    dual = np.atleast_2d(dual.toarray() if is_sparse(dual) else host(dual)).astype(np.float64)
    rho = -np.atleast_1d(host(model.intercept_)).astype(np.float64)
    header = {"svm_type": [kind], **kernel, "nr_class": ["2"], "total_sv": [str(dual.shape[1])], "rho": []}
    if kind in CLASSIFIERS:
        labels, count = _labels(model), host(model.n_support_)
        k = len(labels)
        if dual.shape[0] != k - 1 or len(rho) != k * (k - 1) // 2 or len(count) != k or count.sum() != dual.shape[1]:
            raise ValueError(
                f"save_model: {where(model)} is not one-vs-one (dual_coef_ has shape {dual.shape} for {k} classes); "
                "LIBSVM has no other form for several classes."
            )
        if k == 2:  # LIBSVM's decision is positive for the first label
            dual, rho = -dual, -rho
        header["nr_class"] = [str(k)]
        header["label"] = [str(label) for label in labels]
    header["rho"] = [number(value + 0.0) for value in rho]
    for name, values in getattr(model, "probabilities_", {}).items():
        header[name] = [number(value) for value in values]
    if kind in CLASSIFIERS:
        header["nr_sv"] = [str(int(c)) for c in count]
    precomputed = kernel["kernel_type"] == ["precomputed"]
    rows = (f"0:{i + 1}" for i in host(model.support_).tolist()) if precomputed else row_texts(model.support_vectors_)
    with writing(path) as text:
        text.writelines(f"{name} {' '.join(words)}".rstrip() + "\n" for name, words in header.items())
        text.write("SV\n")
        for coefficients, row in zip(dual.T.tolist(), rows, strict=True):
            text.write(f"{' '.join(map(number, coefficients))} {row}\n")


def _machine(model: Any) -> str:
    """LIBSVM's name for what `model` is."""
    named = getattr(model, "svm_type", None)
    kind = named or next((MACHINES[c.__name__] for c in type(model).__mro__ if c.__name__ in MACHINES), None)
    if kind is None:
        raise TypeError(
            f"save_model: a {where(model)} has no place in LIBSVM's format; it takes {', '.join(MACHINES)}."
        )
    if not hasattr(model, "dual_coef_"):
        raise ValueError(f"save_model: this {where(model)} is not fitted; call fit first.")
    return kind


def _labels(model: Any) -> list[int]:
    classes = host(model.classes_)
    labels = classes.astype(np.int64) if classes.dtype.kind in "iuf" else None
    if labels is None or (labels != classes).any() or (np.abs(labels) >= 2**31).any():
        raise ValueError(
            f"save_model: classes_ = {classes.tolist()} must be integers of 32 bits; encode them with sklearn's "
            "LabelEncoder before the fit."
        )
    return labels.tolist()


def _kernel_header(model: Any) -> dict[str, list[str]]:
    """The lines on the kernel, of one of Mercer's in `kernel_`, or of scikit-learn's parameters."""
    if hasattr(model, "kernel_"):
        kernel = model.kernel_
        write = WRITERS.get(type(kernel))
        values = None if write is None else write(kernel)
    else:
        kernel, gamma = model.kernel, getattr(model, "_gamma", None)
        values = {
            "linear": {"kernel_type": "linear"},
            "poly": {"kernel_type": "polynomial", "degree": model.degree, "gamma": gamma, "coef0": model.coef0},
            "rbf": {"kernel_type": "rbf", "gamma": gamma},
            "sigmoid": {"kernel_type": "sigmoid", "gamma": gamma, "coef0": model.coef0},
            "precomputed": {"kernel_type": "precomputed"},
        }.get(kernel if isinstance(kernel, str) else "")
    if values is None or values.get("degree", 0) % 1:
        raise ValueError(
            f"save_model: the kernel {kernel} has no place in LIBSVM's format, which knows {', '.join(KERNELS)} "
            "(rbf with one lengthscale, polynomial with an integer degree)."
        )
    return {name: [v if isinstance(v, str) else number(v)] for name, v in values.items()}


def _rbf(kernel: Gaussian) -> dict[str, Any] | None:
    if np.ndim(kernel.lengthscale):
        return None
    return {"kernel_type": "rbf", "gamma": 0.5 / float(kernel.lengthscale) ** 2}


def _polynomial(degree: float, gamma: float, coef0: float) -> dict[str, Any]:
    return {"kernel_type": "polynomial", "degree": degree, "gamma": gamma, "coef0": coef0}


WRITERS: dict[type, Any] = {
    Linear: lambda k: {"kernel_type": "linear"},
    Affine: lambda k: _polynomial(1, 1.0, k.offset),
    Constant: lambda k: _polynomial(1, 0.0, k.value),
    Polynomial: lambda k: _polynomial(k.degree, k.scale, k.offset),
    Gaussian: _rbf,
    Sigmoid: lambda k: {"kernel_type": "sigmoid", "gamma": k.scale, "coef0": k.offset},
    Precomputed: lambda k: {"kernel_type": "precomputed"},
}


def load_model(path: Any, *, n_features: int | None = None) -> LibsvmModel:
    r"""Read a model file of LIBSVM, whoever wrote it.

    Parameters
    ----------
    path : str or path
    n_features : int > 0, optional
        The number of columns of the data, which the file does not tell. With it, data of any other width are refused;
        without it, columns beyond the largest index of the support vectors count as zero there.

    Returns
    -------
    LibsvmModel
        With `predict`, `decision_function` and `function_`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.txt"
    ...     text = "svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho -1\nSV\n2 1:1.5\n"
    ...     _ = path.write_text(text)
    ...     load_model(path).predict([[0.0], [1.0]])
    array([1., 4.])
    """
    if n_features is not None:
        check_number("load_model", "n_features", n_features, at_least=1, integer=True)
    with reading(path) as lines:
        header = _read_header(lines)
        precomputed = header["kernel_type"] == "precomputed"
        dual, indices, values, ends = _read_vectors(lines, header, precomputed)
    width = max(indices, default=0)
    if n_features is not None and width > n_features:
        raise ValueError(f"load_model: {path} has a feature of index {width}, beyond n_features = {n_features}.")
    places = np.array(indices, dtype=np.int64) - 1
    intercept = -header["rho"]
    if header["svm_type"] in CLASSIFIERS and header["nr_class"] == 2:  # LIBSVM: positive for the first label
        dual, intercept = -dual, -intercept
    return LibsvmModel(
        svm_type=header["svm_type"],
        kernel_=_kernel(header),
        dual_coef_=dual,
        intercept_=intercept,
        support_vectors_=None if precomputed else csr_array((values, places, ends), shape=(dual.shape[1], width)),
        support_=places if precomputed else None,
        classes_=header.get("label"),
        n_support_=header.get("nr_sv"),
        n_features_in_=n_features,
        probabilities_={name: header[name] for name in PROBABILITIES if name in header},
    )


def _read_vectors(
    lines: Lines, header: dict[str, Any], precomputed: bool
) -> tuple[np.ndarray, list[int], list[float], list[int]]:
    """Coefficients, and the support vectors as indices and values with their ends, or as numbers of samples."""
    rows, total = header["nr_class"] - 1, header["total_sv"]
    dual, indices, values, ends = np.zeros((rows, total)), [], [], [0]
    for line in lines:
        words = line.split()
        if not words:
            continue
        if len(ends) > total:
            raise lines.error(f"more support vectors than total_sv = {total}.")
        if len(words) < rows or any(":" in word for word in words[:rows]):
            raise lines.error(f"{rows} coefficients expected before the first index:value.")
        dual[:, len(ends) - 1] = [lines.parse(word, float, "the coefficient") for word in words[:rows]]
        if precomputed:
            indices.append(_serial(lines, words[rows:]))
        else:
            for index, value in features(lines, words[rows:]):
                indices.append(index)
                values.append(value)
        ends.append(len(indices))
    if len(ends) <= total:
        raise lines.error(f"the file ends after {len(ends) - 1} of total_sv = {total} support vectors.")
    return dual, indices, values, ends


def _serial(lines: Lines, words: list[str]) -> int:
    """The number of a training sample, ``0:i`` with i >= 1."""
    serial = words[0].removeprefix("0:") if len(words) == 1 and words[0].startswith("0:") else ""
    if not serial.isascii() or not serial.isdigit() or int(serial) < 1:
        raise lines.error(f"0:i with the number i >= 1 of a training sample expected, found {' '.join(words)!r}.")
    return int(serial)


def _read_header(lines: Lines) -> dict[str, Any]:
    """The lines before the support vectors: words for names, numbers, arrays for what there is several of."""
    header: dict[str, Any] = {}
    for line in lines:
        name, *words = line.split() or [""]
        if name == "SV":
            break
        if name in header:
            raise lines.error(f"{name} for the second time.")
        if name in ("svm_type", "kernel_type"):
            known = tuple(MACHINES.values()) if name == "svm_type" else KERNELS
            if len(words) != 1 or words[0] not in known:
                raise lines.error(f"{name} {' '.join(words)} is unknown; LIBSVM has {', '.join(known)}.")
            header[name] = words[0]
        elif name in ("degree", "gamma", "coef0", "nr_class", "total_sv"):
            kind = float if name in ("gamma", "coef0") else int
            header[name] = lines.parse(" ".join(words), kind, name)
            if kind is int and header[name] < (name == "nr_class"):
                raise lines.error(f"{name} = {header[name]} is too small.")
        elif name in ("rho", "label", "nr_sv", *PROBABILITIES):
            kind = int if name in ("label", "nr_sv") else float
            header[name] = np.array([lines.parse(word, kind, name) for word in words], dtype=kind)
        else:
            raise lines.error(f"{name!r} is no part of a model file of LIBSVM.")
    else:
        raise lines.error("the file ends before its support vectors.")
    _check_header(lines, header)
    return header


def _check_header(lines: Lines, header: dict[str, Any]) -> None:
    """Raise where a part is missing, or does not have as many entries as there are classes or pairs."""
    needed = ["svm_type", "kernel_type", "nr_class", "total_sv", "rho"]
    needed += {"polynomial": ["degree", "gamma", "coef0"], "rbf": ["gamma"], "sigmoid": ["gamma", "coef0"]}.get(
        header.get("kernel_type", ""), []
    )
    if header.get("svm_type") in CLASSIFIERS:
        needed += ["label", "nr_sv"]
    missing = [name for name in needed if name not in header]
    if missing:
        raise lines.error(f"{', '.join(missing)} missing before the support vectors.")
    k = header["nr_class"]
    pairs = k * (k - 1) // 2
    for name, count in {"rho": pairs, "probA": pairs, "probB": pairs, "label": k, "nr_sv": k}.items():
        if name in header and len(header[name]) != count:
            raise lines.error(f"{name} has {len(header[name])} entries, but nr_class = {k} asks for {count}.")
    if header["svm_type"] not in CLASSIFIERS and k != 2:
        raise lines.error(f"nr_class = {k} must be 2 for {header['svm_type']}.")
    if "nr_sv" in header and header["nr_sv"].sum() != header["total_sv"]:
        raise lines.error(f"nr_sv sums to {header['nr_sv'].sum()}, but total_sv = {header['total_sv']}.")


def _kernel(header: dict[str, Any]) -> Kernel:
    degree, gamma, coef0 = (header.get(name, 0) for name in ("degree", "gamma", "coef0"))
    match header["kernel_type"]:
        case "linear":
            return Linear()
        case "polynomial":
            return Polynomial(degree, gamma, coef0) if degree else Constant()
        case "rbf":
            return Gaussian.from_gamma(gamma) if gamma else Constant()
        case "sigmoid":
            return Sigmoid(gamma, coef0)
        case _:
            return Precomputed()
