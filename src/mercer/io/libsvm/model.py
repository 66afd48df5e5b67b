"""LIBSVM's model files."""

from __future__ import annotations

from itertools import combinations
from math import frexp, ldexp
from typing import Any

import numpy as np
from scipy.sparse import csr_array, csr_matrix

from mercer.basis import Polynomials
from mercer.gram import Dense, Lazy
from mercer.kernels import Affine, Constant, Gaussian, Kernel, Linear, Polynomial, Precomputed, Sigmoid
from mercer.methods import SVC, SVR, NuSVC, NuSVR, OneClassSVM
from mercer.space import Function

from ..._array import host, is_sparse
from ..._errors import check_number, where
from ...types import EstimatorLike, FilePath
from .._text import Lines, number, reading, writing
from .data import LARGEST, features, row_texts

# LIBSVM's name for a machine, by the class name in Mercer and scikit-learn.
MACHINES = {"SVC": "c_svc", "NuSVC": "nu_svc", "OneClassSVM": "one_class", "SVR": "epsilon_svr", "NuSVR": "nu_svr"}
ESTIMATORS = {MACHINES[made.__name__]: made for made in (SVC, NuSVC, OneClassSVM, SVR, NuSVR)}
CLASSIFIERS = ("c_svc", "nu_svc")
# scikit-learn's name for a kernel, by LIBSVM's name.
KERNELS = {"linear": "linear", "polynomial": "poly", "rbf": "rbf", "sigmoid": "sigmoid", "precomputed": "precomputed"}
# Lines used only by LIBSVM's probability estimates, and the attributes that store them, named as in scikit-learn.
PROBABILITIES = {"probA": "probA_", "probB": "probB_", "prob_density_marks": "prob_density_marks_"}


def save_model(model: EstimatorLike, path: FilePath) -> None:
    """Write a fitted support vector machine as a LIBSVM model file.

    Parameters
    ----------
    model : SVC, NuSVC, SVR, NuSVR or OneClassSVM of Mercer or of scikit-learn
        Fitted; with more than two classes, one-vs-one. Labels must be integers, and the kernel linear, polynomial (of
        integer degree), Gaussian with one lengthscale, sigmoid or precomputed.
    path : str or path
        An existing file is replaced once the new one is complete.

    Notes
    -----
    The file contains what predictions need, without C, class weights and similar parameters. LIBSVM's format cannot
    store the number of features, which `load_model` takes as a parameter, nor the calibration of Mercer's machines.
    LIBSVM's own probability estimates are written if they came from `load_model`; scikit-learn's are deprecated.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from mercer import SVC
    >>> model = SVC(kernel="linear").fit([[-1.0], [1.0]], [3, 7])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.txt"
    ...     save_model(model, path)
    ...     print(path.read_text())
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
    """
    kind = _machine(model)
    gram = getattr(model, "gram", "auto")
    if not (isinstance(gram, (Dense, Lazy)) or gram in ("auto", "dense", "lazy")):
        raise ValueError(
            f"save_model: gram = {gram!r} approximates the kernel of this {where(model)}, which LIBSVM's format "
            "cannot store; fit with gram='auto'."
        )
    kernel = _kernel_header(model)
    dual = model.dual_coef_
    dual = np.atleast_2d(dual.toarray() if is_sparse(dual) else host(dual)).astype(np.float64)
    rho = -np.atleast_1d(host(model.intercept_)).astype(np.float64)
    order = np.arange(dual.shape[1])
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
        first = vars(model).get("_label_order", np.arange(k))  # as in the file from which the machine was loaded
        order, dual, pairs, sign = _rearranged(first, count, dual)
        rho, count = sign * rho[pairs], count[first]
        header["nr_class"] = [str(k)]
        header["label"] = [str(labels[i]) for i in first]
    header["rho"] = [number(value + 0.0) for value in rho]
    for name, attribute in PROBABILITIES.items():
        if attribute in vars(model):  # scikit-learn has deprecated properties of these names
            values = vars(model)[attribute]
            if kind in CLASSIFIERS:
                values = (sign if name == "probB" else 1.0) * values[pairs]
            header[name] = [number(value) for value in values.tolist()]
    if kind in CLASSIFIERS:
        header["nr_sv"] = [str(int(c)) for c in count]
    precomputed = kernel["kernel_type"] == ["precomputed"]
    vectors = model.support_ if precomputed else model.support_vectors_
    rows = (f"0:{i + 1}" for i in vectors[order]) if precomputed else row_texts(vectors[order])
    with writing(path) as text:
        text.writelines(f"{name} {' '.join(words)}".rstrip() + "\n" for name, words in header.items())
        text.write("SV\n")
        for coefficients, row in zip(dual.T.tolist(), rows, strict=True):
            text.write(f"{' '.join(map(number, coefficients))} {row}\n")


def _machine(model: EstimatorLike) -> str:
    """LIBSVM's name for the type of `model`."""
    kind = next((MACHINES[c.__name__] for c in type(model).__mro__ if c.__name__ in MACHINES), None)
    if kind is None:
        raise TypeError(f"save_model: LIBSVM's format cannot store a {where(model)}; it takes {', '.join(MACHINES)}.")
    if not hasattr(model, "dual_coef_"):
        raise ValueError(f"save_model: this {where(model)} is not fitted; call fit first.")
    return kind


def _labels(model: EstimatorLike) -> list[int]:
    classes = host(model.classes_)
    labels = classes.astype(np.int64) if classes.dtype.kind in "iuf" else None
    if labels is None or (labels != classes).any() or (np.abs(labels) >= 2**31).any():
        raise ValueError(
            f"save_model: classes_ = {classes.tolist()} must be 32-bit integers; encode them with sklearn's "
            "LabelEncoder before the fit."
        )
    return labels.tolist()


def _kernel_header(model: EstimatorLike) -> dict[str, list[str]]:
    """The header lines for the kernel, from Mercer's `kernel_` or scikit-learn's parameters."""
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
            f"save_model: LIBSVM's format cannot store the kernel {kernel}; it takes {', '.join(KERNELS)} "
            "(rbf with one lengthscale, polynomial with an integer degree)."
        )
    return {name: [v if isinstance(v, str) else number(v)] for name, v in values.items()}


def _rbf(kernel: Gaussian) -> dict[str, Any] | None:
    if np.ndim(kernel.lengthscale):
        return None
    mantissa, exponent = frexp(float(kernel.lengthscale))  # its square may overflow or underflow
    return {"kernel_type": "rbf", "gamma": ldexp(0.5 / mantissa**2, -2 * exponent)}


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


def load_model(path: FilePath, *, n_features: int | None = None) -> SVC | NuSVC | SVR | NuSVR | OneClassSVM:
    r"""Read a LIBSVM model file as a fitted machine.

    Parameters
    ----------
    path : str or path
    n_features : int > 0, optional
        Number of columns of the data, which the file does not contain; for a precomputed kernel, the number of
        training samples. The default is the largest index of the support vectors; for a precomputed kernel, no check.

    Returns
    -------
    SVC, NuSVC, SVR, NuSVR or OneClassSVM
        A Mercer machine that can predict and be saved. ``kernel``, ``gamma``, ``degree`` and ``coef0`` are from the
        file. C, ν, ε, weights and tolerances are not in it and have their defaults, which matters only for fitting a
        clone. Support vectors are dense, or CSR if that needs less memory. ``support_`` exists only for precomputed
        kernels, and results of a fit, such as ``solutions_`` and ``n_iter_``, are missing. LIBSVM's ``probA``,
        ``probB`` and ``prob_density_marks`` are kept for `save_model`, in attributes with an underscore, but not used.

    Notes
    -----
    LIBSVM stores labels in the order of their first appearance in the training data; `classes_`, the pairs and their
    signs are sorted. Predictions are the same as LIBSVM's: among classes with equal votes the first in the file wins,
    and a decision of exactly 0 is a vote for the second class of the pair. `save_model` restores the label order of the
    file. One-class machines are an exception: a decision of exactly 0 is an inlier, as in scikit-learn, but an outlier
    in LIBSVM.

    A file with a single class, which LIBSVM writes for data of one class, is rejected.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.txt"
    ...     text = "svm_type nu_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho -1\nSV\n2 1:1.5\n"
    ...     _ = path.write_text(text)
    ...     model = load_model(path)
    >>> model
    NuSVR(kernel='linear')
    >>> model.predict([[0.0], [1.0]])
    array([1., 4.])
    """
    check_number("load_model", "n_features", n_features, at_least=1, integer=True, besides=(None,))
    with reading(path) as lines:
        header = _read_header(lines)
        precomputed = header["kernel_type"] == "precomputed"
        dual, indices, values, ends = _read_vectors(lines, header, precomputed)
    width = max(indices, default=1)
    if n_features is not None and width > n_features:
        raise ValueError(f"load_model: {path} has a feature with index {width}, beyond n_features = {n_features}.")
    places = np.array(indices, dtype=np.int64) - 1
    given = {"degree": int, "gamma": float, "coef0": float}
    model = ESTIMATORS[header["svm_type"]](
        kernel=KERNELS[header["kernel_type"]],
        **{name: made(header[name]) for name, made in given.items() if name in header},
    )
    try:
        model.kernel_, model.dtype_ = _kernel(header), np.dtype(np.float64)
    except ValueError as error:  # a parameter out of range
        raise ValueError(f"{path}: {error}") from error
    if not precomputed or n_features is not None:
        model.n_features_in_ = n_features or width
    order, coefficients = _set_machine(model, header, dual)
    if precomputed:
        model.support_, model.support_vectors_ = places[order].astype(np.int32), np.empty((0, 0))
        points: Any = model.support_
    else:
        shape = (len(order), model.n_features_in_)
        points = csr_array((values, places, ends), shape=shape)[order]
        if 3 * points.nnz >= 2 * shape[0] * shape[1]:  # a CSR entry takes 12 bytes instead of 8
            points = points.toarray()
        model.support_vectors_ = points
    if is_sparse(points):
        model.dual_coef_ = csr_matrix(model.dual_coef_)
    if not len(order) and not precomputed:  # a zero function still needs one point
        points, coefficients = np.zeros((1, model.n_features_in_)), np.zeros((1, coefficients.shape[1]))
    flat = coefficients.shape[1] == 1
    free = model.intercept_ if flat else model.intercept_[None, :]
    model.function_ = Function(
        model.kernel_, points, coefficients[:, 0] if flat else coefficients, Polynomials(0), free
    )
    return model


def _set_machine(model: EstimatorLike, header: dict[str, Any], dual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Set scikit-learn's attributes; return the order of the support vectors, and a column for each machine."""
    model.fit_status_ = 0
    if header["svm_type"] in CLASSIFIERS:
        return _set_classifier(model, header, dual)
    for name, attribute in PROBABILITIES.items():
        if name in header:
            setattr(model, attribute, header[name])
    model.intercept_, model.dual_coef_ = 0.0 - header["rho"], dual
    model._n_support = np.array([dual.shape[1]], dtype=np.int32)
    if header["svm_type"] == "one_class":
        model.offset_ = header["rho"]
    return np.arange(dual.shape[1]), dual.T


def _set_classifier(model: EstimatorLike, header: dict[str, Any], dual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reorder from the file's labels to sorted ones; where f flips, so does the sign of B in 1/(1 + exp(A f + B))."""
    labels, k = header["label"], header["nr_class"]
    sort = np.argsort(labels)
    order, turned, pairs, sign = _rearranged(sort, header["nr_sv"], dual)
    model.classes_, model._n_support = labels[sort], header["nr_sv"][sort].astype(np.int32)
    model._label_order = np.argsort(sort)
    ends = np.concatenate([[0], np.cumsum(model._n_support)])
    coefficients = np.zeros((dual.shape[1], len(pairs)))
    for pair, (a, b) in enumerate(combinations(range(k), 2)):
        for mine, row in ((a, b - 1), (b, a)):
            part = slice(ends[mine], ends[mine + 1])
            coefficients[part, pair] = turned[row, part]
    second = -1.0 if k == 2 else 1.0  # with two classes, positive means the second here and the first in LIBSVM
    model.dual_coef_, model.intercept_ = second * turned, 0.0 - second * sign * header["rho"][pairs]
    if "probA" in header:
        model.probA_ = header["probA"][pairs]
    if "probB" in header:
        model.probB_ = sign * header["probB"][pairs]
    return order, second * coefficients


def _rearranged(
    sort: np.ndarray, count: np.ndarray, dual: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Reorder the classes: return the order of support vectors, their coefficients, the pairs, and the pairs' signs.

    For a support vector of class i, row r of `dual` has the coefficient against class r if r < i, otherwise against
    r + 1. A positive decision of a pair (i, j) means i; if the new order swaps a pair, its sign flips.
    """
    k = len(sort)
    ends = np.concatenate([[0], np.cumsum(count)])
    groups = [np.arange(ends[i], ends[i + 1]) for i in sort]
    ends = np.cumsum([0] + [len(group) for group in groups])
    places = {pair: place for place, pair in enumerate(combinations(range(k), 2))}
    old = np.array([places[min(sort[a], sort[b]), max(sort[a], sort[b])] for a, b in places])
    sign = np.array([1.0 if sort[a] < sort[b] else -1.0 for a, b in places])
    turned = np.zeros_like(dual)
    for (a, b), pair in places.items():
        for mine, other, row in ((a, b, b - 1), (b, a, a)):
            part = slice(ends[mine], ends[mine + 1])
            turned[row, part] = sign[pair] * dual[sort[other] - (sort[other] > sort[mine]), groups[mine]]
    return np.concatenate(groups), turned, old, sign


def _read_vectors(
    lines: Lines, header: dict[str, Any], precomputed: bool
) -> tuple[np.ndarray, list[int], list[float], list[int]]:
    """Coefficients, and support vectors as CSR indices, values and row ends, or as sample numbers."""
    rows, total = header["nr_class"] - 1, header["total_sv"]
    dual, indices, values, ends = list[list[float]](), list[int](), list[float](), [0]
    for line in lines:
        words = line.split()
        if not words:
            continue
        if len(ends) > total:
            raise lines.error(f"more support vectors than total_sv = {total}.")
        if len(words) < rows or any(":" in word for word in words[:rows]):
            raise lines.error(f"expected {rows} coefficients before the first index:value.")
        dual.append([lines.parse(word, float, "the coefficient") for word in words[:rows]])
        if precomputed:
            indices.append(_serial(lines, words[rows:]))
        else:
            for index, value in features(lines, words[rows:]):
                indices.append(index)
                values.append(value)
        ends.append(len(indices))
    if len(ends) <= total:
        raise lines.error(f"the file ends after {len(ends) - 1} of total_sv = {total} support vectors.")
    return np.array(dual).reshape(total, rows).T.copy(), indices, values, ends


def _serial(lines: Lines, words: list[str]) -> int:
    """The number of a training sample, ``0:i`` with i >= 1."""
    serial = words[0].removeprefix("0:") if len(words) == 1 and words[0].startswith("0:") else ""
    if not serial.isascii() or not serial.isdigit() or len(serial) > 10 or not 1 <= int(serial) <= LARGEST:
        raise lines.error(f"expected 0:i with the number i >= 1 of a training sample, found {' '.join(words)!r}.")
    return int(serial)


def _read_header(lines: Lines) -> dict[str, Any]:
    """The lines before the support vectors: names as words, scalars as numbers, lists as arrays."""
    header: dict[str, Any] = {}
    for line in lines:
        name, *words = line.split() or [""]
        if name == "SV":
            break
        if name in header:
            raise lines.error(f"{name} occurs twice.")
        if name in ("svm_type", "kernel_type"):
            known = tuple(MACHINES.values()) if name == "svm_type" else KERNELS
            if len(words) != 1 or words[0] not in known:
                raise lines.error(f"{name} {' '.join(words)} is unknown; LIBSVM has {', '.join(known)}.")
            header[name] = words[0]
        elif name in ("degree", "gamma", "coef0", "nr_class", "total_sv"):
            kind = float if name in ("gamma", "coef0") else int
            header[name] = lines.parse(" ".join(words), kind, name)
            if kind is int and not (name == "nr_class") <= header[name] <= LARGEST:
                raise lines.error(f"{name} = {header[name]} is too {'large' if header[name] > 0 else 'small'}.")
        elif name in ("rho", "label", "nr_sv", *PROBABILITIES):
            kind = int if name in ("label", "nr_sv") else float
            numbers = [lines.parse(word, kind, name) for word in words]
            if kind is int and any(abs(value) > LARGEST for value in numbers):
                raise lines.error(f"{name} {' '.join(words)} must be 32-bit integers.")
            header[name] = np.array(numbers, dtype=kind)
        else:
            raise lines.error(f"{name!r} does not belong in a LIBSVM model file.")
    else:
        raise lines.error("the file ends before its support vectors.")
    _check_header(lines, header)
    return header


def _check_header(lines: Lines, header: dict[str, Any]) -> None:
    """Raise if a part is missing, or its length does not match the number of classes or pairs."""
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
            raise lines.error(f"{name} has {len(header[name])} entries, but nr_class = {k} requires {count}.")
    if header["svm_type"] in CLASSIFIERS and k < 2:
        raise lines.error("nr_class = 1 is not a classifier; train on two classes or more.")
    if header["svm_type"] not in CLASSIFIERS and k != 2:
        raise lines.error(f"nr_class = {k} must be 2 for {header['svm_type']}.")
    if "label" in header and len(set(header["label"])) < k:
        raise lines.error(f"label {' '.join(map(str, header['label']))} contains a class twice.")
    if "nr_sv" in header and header["nr_sv"].min() < 0:
        raise lines.error(f"nr_sv {' '.join(map(str, header['nr_sv']))} contains negative counts.")
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
