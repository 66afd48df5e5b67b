"""Devices: methods on NumPy arrays computed there, and models moved between them."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib.util import find_spec
from typing import Any

import numpy as np

from ._array import host, is_array, on_host
from ._errors import HERE, check_choice, warn, where

NUMPY, TWIN = "numpy", "_on_device"  # TWIN: the attribute with a device and the state of the model there
_chosen: ContextVar[Any] = ContextVar("device", default=None)


@contextmanager
def device(name: Any) -> Iterator[None]:
    """Compute on a device in this block, for NumPy arrays.

    Arrays of numbers given to a method move to the device, and its results come back as NumPy arrays. A model fitted
    here is an ordinary model of NumPy arrays afterwards; it also keeps its tensors, for predictions in such a block.
    Methods and data that cannot be there are computed on the host: text, graphs, frames, sparse matrices.

    Parameters
    ----------
    name : str or torch.device
        Such as "cuda" or "cuda:1".

    Examples
    --------
    >>> import mercer
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> with mercer.device("cuda"):  # doctest: +SKIP
    ...     model = mercer.KernelRidge(kernel="rbf").fit(X, X[:, 0])
    """
    found = _device(name)
    token = _chosen.set(found)
    try:
        yield
    finally:
        _chosen.reset(token)


def moved(model: Any, to: Any) -> Any:
    """A copy of a model with its tensors on another device, or as NumPy arrays.

    Parameters
    ----------
    model : estimator, Function, or any object of them
    to : str or torch.device
        A device, such as "cpu" or "cuda", or "numpy".

    Examples
    --------
    >>> import mercer
    >>> model = mercer.KernelRidge(kernel="rbf").fit([[0.0], [1.0]], [0.0, 1.0])
    >>> moved(model, "numpy").predict([[0.0]]).shape
    (1,)
    """
    there = None if isinstance(to, str) and to == NUMPY else _device(to)
    stream = io.BytesIO()
    try:
        _Mover(stream, there).dump(model)
    except (AttributeError, TypeError, pickle.PicklingError) as error:
        raise TypeError(f"{where(model)} cannot be moved, as it cannot be pickled: {error}.") from error
    stream.seek(0)
    return pickle.load(stream)  # what was written just before


class _Mover(pickle.Pickler):
    """Writes tensors as they are to be on the device, or as arrays."""

    def __init__(self, stream: io.BytesIO, there: Any):
        super().__init__(stream, protocol=pickle.HIGHEST_PROTOCOL)
        self.there = there

    def reducer_override(self, value: Any) -> Any:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        if kind == "torch.Tensor":
            return (_array, (host(value),)) if self.there is None else (_tensor, (host(value), str(self.there)))
        if kind == "torch.dtype" and self.there is None:
            return np.dtype, (str(value).removeprefix("torch."),)
        return NotImplemented


def _array(values: np.ndarray) -> np.ndarray:
    return values


def _tensor(values: np.ndarray, there: str) -> Any:
    import torch

    return torch.asarray(values, device=there)


def _device(name: Any) -> Any:
    """The torch device of a name; raises where there is none, and tells what is slower without Triton."""
    try:
        import torch
    except ImportError:
        raise ImportError(f"device: {str(name)!r} needs torch: pip install torch.") from None
    try:
        found = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device: {name!r} is no device of torch; use 'cuda' or 'cpu'.") from error
    check_choice("device", "name", found.type, ("cpu", "cuda"))
    if found.type == "cuda":
        if not torch.cuda.is_available():
            raise ValueError(f"device: torch {torch.__version__} finds no CUDA device; {_remedy(torch)}.")
        if find_spec("triton") is None:
            warn("device: Triton is missing, so operations of torch do the work, more slowly: pip install triton.")
    return found


def _remedy(torch: Any) -> str:
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return "this build of torch is for the host only, so install one for CUDA"
    return "install or update the NVIDIA driver, or use 'cpu'"


def there(method: Callable[..., Any], fits: bool) -> Callable[..., Any]:
    """Let a method of an estimator compute on the device of the enclosing `device` block, if any."""

    @wraps(method)
    def of_estimator(self: Any, *args: Any, **options: Any) -> Any:
        found = _chosen.get()
        if found is None:
            if fits:
                vars(self).pop(TWIN, None)
            return method(self, *args, **options)
        token = _chosen.set(None)  # what the method calls is there already
        try:
            return _computed(found, method, fits, self, args, options)
        finally:
            _chosen.reset(token)

    return of_estimator


def _computed(found: Any, method: Callable[..., Any], fits: bool, self: Any, args: Any, options: Any) -> Any:
    """The result of a method, from arrays moved to the device; a fitted model and its answers are moved back."""
    sent = [_sent(value, found) for value in args]
    named = {name: _sent(value, found) for name, value in options.items()}
    place, twin = vars(self).get(TWIN, (None, None))
    twin = twin if place == found else None  # that of another device is of no use here
    able = self.takes_tensors and any(is_array(value) and not on_host(value) for value in (*sent, *named.values()))
    goes_on = not fits or (method.__name__.startswith("partial") and self.__sklearn_is_fitted__())
    if not able or (goes_on and twin is None):  # without tensors, or with a model of NumPy arrays
        if fits:
            vars(self).pop(TWIN, None)
        return method(self, *args, **options)
    own = {name: vars(self)[name] for name in self._get_param_names()}
    model = object.__new__(type(self))
    vars(model).update(vars(self) if twin is None else twin, **own)
    answer = method(model, *sent, **named)
    if fits:
        self.__dict__ = vars(moved(model, NUMPY)) | own | {TWIN: (found, vars(model))}
    return self if answer is model else _received(answer)


def _sent(value: Any, found: Any) -> Any:
    """An array of numbers on the device; other values as they are."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiub":
        return value
    import torch

    return torch.asarray(np.ascontiguousarray(value), device=found)


def _received(answer: Any) -> Any:
    """An answer as NumPy arrays."""
    if isinstance(answer, tuple) and hasattr(answer, "_fields"):
        return type(answer)(*map(_received, answer))
    if isinstance(answer, (tuple, list)):
        return type(answer)(map(_received, answer))
    if is_array(answer):
        return host(answer)
    return moved(answer, NUMPY) if type(answer).__module__.startswith(HERE) else answer
