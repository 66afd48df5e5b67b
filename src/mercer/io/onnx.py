"""ONNX export: fitted models as graphs of standard operations, for runtimes without Python.

Kernels, bases and losses work with any array library. ndonnx arrays record the operations on them, so the prediction
code also builds the graph, and kernels need no extra code here.
"""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from .._array import host, is_sparse
from .._errors import KindError, optional, speaking, where
from .._files import replacing
from .._steps import chain
from ..domains import take
from ..evaluation import RadialPoints
from ..kernels import Linear, Radial
from ..losses import Logistic
from ..methods.base import is_kernel_estimator
from ..types import Array, EstimatorLike, FilePath, Namespace

__all__ = ["save_onnx", "to_onnx"]

LARGEST = 2**31 - 1  # bytes of an ONNX file
PROBES = 64  # points at which graph and model are compared
BETWEEN = 0.382  # their position between two support vectors; not halfway, where classes often tie
NEAR = 1e3  # the largest squared norm of points, in lengthscales, for computing distances by products
METHODS = {"scores": "decision_function", "probabilities": "predict_proba", "features": "transform"}


def save_onnx(model: EstimatorLike, path: FilePath) -> None:
    """Export a model to an ONNX file, replacing an existing one only once it is complete; see `to_onnx`.

    Examples
    --------
    >>> import tempfile, os
    >>> from mercer import KernelRidge
    >>> model = KernelRidge(kernel="gaussian").fit([[0.0], [1.0]], [0.0, 1.0])
    >>> path = os.path.join(tempfile.mkdtemp(), "ridge.onnx")
    >>> save_onnx(model, path)
    >>> os.path.getsize(path) > 0
    True
    """
    content = to_onnx(model).SerializeToString()
    with replacing(path) as stream:
        stream.write(content)


@speaking
def to_onnx(model: EstimatorLike) -> Any:
    r"""Export a fitted estimator as an ONNX model with the same predictions, in the same precision.

    Parameters
    ----------
    model : estimator
        Fitted to dense or sparse NumPy vectors: ridge, support vector machines, `KernelMachine` and its relatives,
        interpolation, `KernelPCA` and other transformers. It may be the last step of a pipeline of scikit-learn's
        scalers (standard, min-max, max-abs, robust) and `SimpleImputer`. A search exports its best estimator, and
        `MultipleKernel` the estimator with the learned kernel.

    Returns
    -------
    onnx.ModelProto
        The input ``X`` has shape (samples, n_features) and the type of the training data. A regressor has the output
        ``variable``; a classifier ``label``, ``scores`` (its `decision_function`) and, for `KernelMachine` and its
        relatives and for calibrated machines of two classes, ``probabilities``; an outlier detector ``label`` and
        ``scores``; a transformer ``features``.

    Raises
    ------
    ValueError
        If the model has no exact form in ONNX: its kernel does not take vectors, its operations are missing from
        runtimes or available only in single precision (the sine of `Periodic` and of random features), or it has
        outputs other than those above.

    Notes
    -----
    Before it is returned, the graph is compared with the model at points between the support vectors. The graph does
    not check its input: NaN gives NaN, and an arbitrary label.

    A graph computes the kernel between all rows and all support vectors at once, so split large requests. Requires
    ``pip install "mercer[onnx]"``.

    Examples
    --------
    >>> from mercer import SVC
    >>> model = SVC(kernel="rbf", gamma=0.5).fit([[0.0, 0.0], [1.0, 0.0], [2.0, 2.0]], ["near", "near", "far"])
    >>> graph = to_onnx(model)
    >>> [output.name for output in graph.graph.output]
    ['label', 'scores']
    >>> from onnx.reference import ReferenceEvaluator
    >>> ReferenceEvaluator(graph).run(["label"], {"X": np.array([[0.2, 0.1], [3.0, 2.0]])})[0].tolist()
    ['near', 'far']
    """
    ndonnx: Any = optional("ndonnx", "onnx", "to_onnx")
    check_is_fitted(model)
    *before, last = chain(model)
    last = last.fitted_form() if hasattr(last, "fitted_form") else last
    try:
        _require_vectors(last)
        return _graph(model, [*before, last], ndonnx)
    except (ValueError, KindError, MemoryError):
        raise
    except Exception as error:  # any part can be missing in a model that was changed after its fit
        raise ValueError(
            f"to_onnx: the parts of this {where(last)} are inconsistent ({type(error).__name__}: {error}); refit it."
        ) from error


def _graph(model: EstimatorLike, steps: list[Any], ndonnx: Any) -> Any:
    *before, last = steps
    _require_size(last)
    z = x = ndonnx.argument(shape=("samples", steps[0].n_features_in_), dtype=getattr(ndonnx, last.dtype_.name))
    for step in before:
        z = _before(step, z, ndonnx)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*lossy cast.*")
        outputs = _answers(last, z, ndonnx)
    graph = ndonnx.build({"X": x}, outputs)
    _compare(graph, model, steps)
    return graph


def _require_size(model: EstimatorLike) -> None:
    """Raise if the constants of the graph, or the points for the comparison, exceed ONNX's limit."""
    f = model.function_
    n, d = f.points.shape
    rows = max(PROBES, f.coefficients.size // n if isinstance(f.kernel, Linear) else n)
    if model.dtype_.itemsize * rows * d > LARGEST:
        raise ValueError(
            f"to_onnx: a graph of this {where(model)} needs a dense ({rows}, {d}) array, "
            f"{model.dtype_.itemsize * rows * d / 1e9:.3g} GB, but ONNX allows 2 GB; fit to fewer columns (those with "
            "nonzero values) or to fewer samples. mercer.save can store any model."
        )


def _inexact(model: EstimatorLike, reason: str) -> ValueError:
    return ValueError(
        f"to_onnx: this {where(model)} has no exact form in ONNX: {reason}; mercer.save stores any model."
    )


def _require_vectors(model: EstimatorLike) -> None:
    if not is_kernel_estimator(model):
        raise KindError(f"to_onnx: {where(model)} is not an estimator of this library with one kernel.")
    if not hasattr(model, "function_"):
        raise _inexact(model, "it has no function_")
    if not model.kernel_.domain.vectors or not isinstance(model.dtype_, np.dtype):
        raise _inexact(model, f"its kernel {model.kernel_} was not fitted to vectors in NumPy arrays")
    if hasattr(model, "calibration_") and len(model.classes_) > 2:
        raise _inexact(model, "calibrated probabilities for several classes need a linear solver; fit without them")


def _before(step: Array, z: Array, xp: Namespace) -> Any:
    """Apply a scaler or imputer to z."""

    def constant(values: Array) -> Any:
        return xp.astype(xp.asarray(values), z.dtype)  # scikit-learn computes in this type too

    if isinstance(step, SimpleImputer) and isinstance(step.missing_values, float) and not step.add_indicator:
        if np.isnan(step.missing_values) and not np.isnan(step.statistics_).any():  # otherwise it drops empty columns
            return xp.where(xp.isnan(z), constant(step.statistics_), z)
    if isinstance(step, MinMaxScaler) and not step.clip:
        return z * constant(step.scale_) + constant(step.min_)
    if isinstance(step, (StandardScaler, RobustScaler, MaxAbsScaler)) and not getattr(step, "clip", False):
        centre = getattr(step, "mean_" if isinstance(step, StandardScaler) else "center_", None)
        scaled = getattr(step, "with_scaling", True)
        z = z if centre is None or not getattr(step, "with_mean", True) else z - constant(centre)
        return z if step.scale_ is None or not scaled else z / constant(step.scale_)
    raise _inexact(step, "only simple scalers and imputers of numbers can precede a machine")


def _values(model: Any, f: Any, z: Any, xp: Any) -> Any:
    """A function of the space at z."""

    def constant(values: Array) -> Any:
        return xp.asarray(np.ascontiguousarray(host(values)))

    try:
        if isinstance(f.kernel, Linear):
            values = z @ constant(f.weights())
        else:
            points = f.points.toarray() if is_sparse(f.points) else f.points
            values = _matrix(f.kernel.in_dimension_of(points), z, points, constant) @ constant(f.coefficients)
        return values if f.basis is None else values + f.basis(z) @ constant(f.free)
    except UserWarning as warning:
        raise _inexact(model, f"for the kernel {f.kernel}, {warning}") from None
    except Exception as error:  # unsupported operations raise all kinds of errors
        raise _inexact(model, f"ONNX lacks an operation of the kernel {f.kernel}") from error


def _matrix(kernel: Any, z: Array, points: np.ndarray, constant: Any) -> Any:
    """k(z, points), by a matrix product if ‖x‖² + ‖y‖² − 2xᵀy of centred points is accurate enough.

    Near x = y its error is about 4ε times the largest ‖y‖², and so is that of k if its slope is finite.
    """
    if type(kernel).evaluate is Radial.evaluate and "gradient_x" in kernel.provides:
        held = Radial.points(kernel, points.astype(np.float64))  # in single precision they might be packed
        if isinstance(held, RadialPoints) and held.lengths.max() <= NEAR:
            parts = (part.astype(points.dtype) for part in (held.A, held.lengths, held.centre))
            right = RadialPoints(kernel, *map(constant, parts))
            return Radial.points(kernel, z, right).matrix(right)
    return kernel.evaluate(z, constant(points))


def _answers(model: EstimatorLike, z: Array, xp: Namespace) -> dict[str, Any]:
    """The outputs by name."""
    outputs = {}
    if hasattr(model, "transform") and hasattr(model, "offset_"):
        features = _values(model, model.function_, z, xp) - xp.asarray(host(model.offset_))
        outputs["features"] = features[:, : model._n_features_out]
        if not (is_regressor(model) or is_classifier(model)):
            return outputs
    values = _values(model, model.decision, z, xp)
    if is_outlier_detector(model):
        return {"label": 2 * xp.astype(values >= 0, xp.int64) - 1, "scores": values}
    if is_classifier(model):
        return outputs | _decided(model, values, xp)
    if not is_regressor(model):
        raise _inexact(model, "its function_ alone gives neither predictions nor features")
    link = _link(model)
    return outputs | {"variable": values if link is None else link(values)}


def _link(model: EstimatorLike) -> Any:
    """The inverse link, from values to means or probabilities, if the loss defines one."""
    loss: Any = getattr(model, "loss_", None)
    return loss.link_inverse if "link_inverse" in getattr(loss, "provides", ()) else None


def _decided(model: EstimatorLike, values: Array, xp: Namespace) -> dict[str, Any]:
    """Labels, scores and probabilities."""
    outputs, link = {}, _link(model)
    if link is None and hasattr(model, "calibration_"):
        below, above = model.calibration_.slopes[0].tolist()

        def link(f: Any) -> Any:
            return Logistic().link_inverse(xp.where(f < 0, below * f, above * f))

    if link is not None:
        p = link(values)
        outputs["probabilities"] = p if p.ndim == 2 else xp.stack([1 - p, p], axis=1)
    if values.ndim == 2 and len(model.classes_) == 2:
        values = values[:, 1] - values[:, 0]
    if values.ndim == 1:
        zero = model.decide(np.zeros(1))[0] == model.classes_[1]
        winner = xp.astype(values >= 0 if zero else values > 0, xp.int64)
    elif getattr(model, "multi_class", None) == "ovo":
        winner, values = _elected(model, values, xp)
    else:
        winner = xp.argmax(values, axis=1)
    return {"label": xp.take(_labels(model, xp), winner), "scores": values} | outputs


def _labels(model: EstimatorLike, xp: Namespace) -> Any:
    """The classes, in a type that ONNX supports."""
    classes = model.classes_
    if classes.dtype.kind == "O" and all(isinstance(label, str) for label in classes):
        classes = classes.astype(str)
    if classes.dtype.kind not in "biufU":
        raise _inexact(model, f"labels of type {classes.dtype} are neither numbers nor text")
    return xp.asarray(classes)


def _elected(model: EstimatorLike, values: Array, xp: Namespace) -> tuple[Any, Any]:
    """The class with the most pairwise votes, and the votes refined by confidence."""
    k = len(model.classes_)
    first, second = (np.eye(k)[list(members)] for members in zip(*combinations(range(k), 2), strict=True))
    dtype = values.dtype
    exchange, lost = (xp.astype(xp.asarray(part), dtype) for part in (first - second, second.sum(axis=0)))

    def votes(won: Any) -> Any:
        return xp.astype(won, dtype) @ exchange + lost

    confidence = values @ exchange
    scores = votes(values >= 0) + confidence / (3 * (xp.abs(confidence) + 1))
    # predict counts votes as LIBSVM: a tied pair votes for its second class
    winner = xp.argmax(scores if model.break_ties else votes(values > 0), axis=1)
    return winner, values if model.decision_function_shape == "ovo" else scores


def _compare(graph: Any, model: EstimatorLike, steps: list[Any]) -> None:
    """Raise unless graph and model agree at points between the support vectors."""
    from onnx.reference import ReferenceEvaluator

    names = [output.name for output in graph.graph.output]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")  # nor has the graph
        X = _probes(steps)
        wanted = {name: np.asarray(getattr(model, METHODS.get(name, "predict"))(X)) for name in names}
    found = dict(zip(names, ReferenceEvaluator(graph).run(names, {"X": X}), strict=True))
    precision = np.sqrt(np.finfo(steps[-1].dtype_).eps)
    for name in names:
        if name == "label":  # except near ties
            scores = np.column_stack([wanted["scores"], np.zeros(len(X))])
            clear = np.diff(np.sort(scores), axis=1).min(axis=1) > precision * np.abs(scores).max(initial=0)
            same = np.array_equal(found[name][clear], wanted[name][clear])
        else:
            error = np.abs(found[name] - wanted[name]) if found[name].shape == wanted[name].shape else np.inf
            same = bool(np.all(error <= precision * np.abs(wanted[name]).max(initial=0)))
        if not same:
            raise _inexact(steps[-1], f"{METHODS.get(name, 'predict')} differs from its function_")


def _probes(steps: list[Any]) -> np.ndarray:
    """Points between the support vectors, as inputs of the first step."""
    *before, last = steps
    points = last.function_.points
    i, j = np.random.default_rng(0).integers(points.shape[0], size=(2, PROBES))
    P, Q = (rows.toarray() if is_sparse(rows) else rows for rows in (take(points, i), take(points, j)))
    X = P + BETWEEN * (Q - P)
    for step in reversed(before):
        if isinstance(step, SimpleImputer):
            X[0, 0] = np.nan
        else:
            X = step.inverse_transform(X)
    return np.asarray(X, dtype=last.dtype_)
