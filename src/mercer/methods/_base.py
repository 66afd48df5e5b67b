"""Common to all estimators: check the data, resolve the kernel, build the Gram operator."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from math import isfinite
from types import FunctionType
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from .._array import beside, detached, device_of, host, is_array, is_sparse, namespace
from .._device import TWIN, there
from .._errors import (
    HERE,
    INSTEAD,
    IndefiniteKernelWarning,
    KindError,
    check_number,
    check_switches,
    named,
    remedies,
    require_target,
    warn,
    where,
)
from .._random import check_random, generator_of
from .._targets import check_labels, check_targets, check_weight
from .._threads import blas_beside, check_jobs
from .._units import squarable
from ..basis import Functions, Polynomials, annihilated, as_basis
from ..context import Context, StoppedError, current, is_fit_of
from ..domains import plain, refuse_masked
from ..gram import Gram, Representation, as_representation
from ..kernels import Kernel
from ..kernels.expression import as_kernel
from ..kernels.sklearn_names import from_sklearn
from ..space import Function
from ..types import Array, Data, EstimatorLike
from ._forms import Forms, require_fitted

# the estimator whose data scikit-learn is checking, and their domain: it asks for tags repeatedly
IN_CHECK: ContextVar[tuple[Any, Any] | None] = ContextVar("in_check", default=None)
CSR = (csr_array, csr_matrix)
SINGLE = np.empty(0, np.float32)
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
UNUSED = np.random.default_rng(0)  # for deterministic representations: creating a generator takes time
UNFOUNDED = "the linear system is solved, but its solution minimises no objective"


def validated(estimator: EstimatorLike, *data: Any, **settings: Any) -> Any:
    """scikit-learn's `validate_data`, silent if the sum in its NaN check overflows.

    Reject masked entries, text and times, which it would silently convert to numbers.
    """
    if not is_sparse(data[0]):
        plain(data[0], where(estimator), "X")
    if is_array(data[0]) and data[0].ndim == 1:
        raise ValueError(
            f"{where(estimator)}: X has shape {tuple(data[0].shape)}; expected two dimensions, one row per sample. "
            "Reshape your data: X.reshape(-1, 1) for samples of one feature, X.reshape(1, -1) for a single sample."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return validate_data(estimator, *data, **settings)


def classes_of(estimator: EstimatorLike, y: Array) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes of checked labels, and the class index of each label."""
    labels = host(y)
    try:
        # numbers beyond 2⁵³ are all whole, and no labels
        whole = labels.dtype.kind == "f" and bool(np.all((labels == np.rint(labels)) & (np.abs(labels) <= 2.0**53)))
        if not (whole or labels.dtype.kind in "biuU") or labels.ndim != 1:  # integers and text are always labels
            with np.errstate(invalid="ignore"):  # it casts to integers, which some numbers overflow
                check_classification_targets(labels)
        return np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = {type(label): label for label in labels.ravel()[::-1]}
        some = " and ".join(repr(label) for label in list(kinds.values())[:2])
        raise KindError(
            f"{where(estimator)}: y holds labels that are neither all text nor all numbers, {some}; give text or "
            "integers."
        ) from None


def whole(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Run the fit in its own context, on a copy whose attributes move to the object at its end.

    An exception thus leaves an earlier fit intact, and fits of one object on several threads do not interfere. BLAS
    has one thread if the samples are few. After Ctrl-C the object holds the best result so far, if any, and the
    interrupt is passed on to the caller.
    """

    def closed(self: Any, *args: Any, **options: Any) -> None:
        context, self._unfinished = current(), True
        if not self._begins:
            given = {**dict(zip(("X", "y"), args, strict=False)), **options}
            context.begin(None, X=given.get("X"), y=given.get("y"))
        fit(self, *args, **options)
        vars(self).pop("_unfinished", None)
        context.close()

    watched = with_callbacks(closed)

    @wraps(fit)
    def apart(self: Any, *args: Any, **options: Any) -> Any:
        if is_fit_of(self):  # called by the fit of a subclass, which already works on a copy
            return fit(self, *args, **options)
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        X = args[0] if args else options.get("X")
        with blas_beside(X), Context(self.time_budget, copied).active() as context:
            try:
                (watched if "_skl_callbacks" in vars(self) else closed)(copied, *args, **options)
            except StoppedError as stopped:
                raise context.unfinished(stopped.status) from None
        self.__dict__ = vars(copied)
        if context.interrupted:
            raise KeyboardInterrupt
        return self

    return apart


class Estimator(Forms, CallbackSupportMixin, BaseEstimator):
    """Base of all methods: a fit succeeds as a whole or changes nothing, and every error names the estimator.

    Methods that override one of ours outside this library are not wrapped.
    """

    time_budget: float | None = None
    or_points: ClassVar[tuple[str, ...]] = ()  # switches that may also be a collection
    takes_tensors: ClassVar[bool] = True  # whether it computes on the device of tensors
    _former: ClassVar[dict[str, str]] = {}  # attribute names of earlier versions, and their current names
    _begins: ClassVar[bool] = False  # whether the fit itself reports its tasks to the callbacks

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        ours = cls.__module__.startswith(HERE)
        for name, own in tuple(vars(cls).items()):
            function = getattr(own, "fn", own)  # unwrap available_if
            overrides = any(name in vars(base) for base in cls.__mro__[1:])
            if name.startswith("_") or not isinstance(function, FunctionType) or (overrides and not ours):
                continue
            before = Estimator._check_common if name.endswith("fit") else None
            method = named(whole(function) if name == "fit" else function, before)
            method = there(method, name.startswith(("fit", "partial_fit")))
            place, key = (cls, name) if function is own else (own, "fn")
            setattr(place, key, method)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``kernel__lengthscale`` sets one of a nested object."""
        for key in params:
            name, _, rest = key.partition("__")
            part = params.get(name, getattr(self, name, None))
            if rest and name in self._get_param_names() and not hasattr(part, "set_params"):
                raise ValueError(
                    f"{where(self)}: cannot set {key}, since {name} = {part!r} is not an object with parameters; use "
                    "one, such as mercer.kernels.Gaussian() for a kernel."
                )
        return super().set_params(**params)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the estimator is fitted; an unfinished fit is visible only to itself."""
        if "_unfinished" in vars(self) and not current().fits(self):
            return False
        return any(name.endswith("_") and not name.startswith("__") for name in vars(self))

    def _check_common(self) -> None:
        """Reject invalid switches, seeds, thread counts and time budgets."""
        check_switches(self)
        check_jobs(self, getattr(self, "n_jobs", None))
        check_random(self, getattr(self, "random_state", None))
        check_number(self, "time_budget", self.time_budget, above=0, besides=(None,))

    def _require_numpy(self, X: Data, name: str = "X", remedy: str = "give NumPy arrays or CSR matrices") -> None:
        """Reject arrays of other libraries."""
        if is_array(X) and not isinstance(X, np.ndarray):
            raise TypeError(f"{where(self)}: {name} is a {type(X).__module__} array; {remedy}.")

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != TWIN}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a state, also of an earlier version: rename attributes and add missing parameters."""
        given = signature(type(self)).parameters.values()
        defaults = {p.name: p.default for p in given if p.default is not p.empty}
        super().__setstate__(defaults | {self._former.get(name, name): value for name, value in state.items()})


def is_kernel_estimator(value: Any) -> bool:
    """Whether a value is a kernel estimator of this library."""
    return isinstance(value, KernelEstimator)


class KernelEstimator(Estimator):
    """Base of the estimators: parameters `kernel` and `gram`, attributes `kernel_`, `function_`, `gram_choice_`."""

    kernel: Any
    gram: Any = "auto"

    # ---- data

    def _kernel(self, n_features: int) -> Kernel:
        """The kernel object given by the parameters."""
        return as_kernel(self.kernel)

    def _sklearn_kernel(self, n_features: int) -> Kernel:
        """The kernel given by scikit-learn's parameters kernel, gamma, degree, coef0 and kernel_params."""
        names = ("gamma", "degree", "coef0", "kernel_params")
        return from_sklearn(
            self.kernel, **{name: getattr(self, name) for name in names}, n_features=n_features, owner=self
        )

    def _resolved_kernel(self, kernel: Kernel, X: Data, n_features: int) -> Kernel:
        """The kernel with data-driven parameters filled in."""
        return kernel.resolve(X)

    def _check_fit(self, X: Data, y: Array, **options: Any) -> tuple[Any, Any]:
        """Check X and y, and resolve `kernel_` on X."""
        require_target(self, y)
        return self._check_training(X, y, **options)

    def _check_sample(self, X: Data) -> Any:
        """Check X, and resolve `kernel_` on it."""
        return self._check_training(X, None)[0]

    def _check_training(self, X: Data, y: Array, **options: Any) -> tuple[Any, Any]:
        given_X, given_y = X, y
        columns = max(1, X.shape[1]) if len(getattr(X, "shape", ())) == 2 else 1
        kernel = self._kernel(columns)  # its domain does not depend on the number of columns
        X, y = self._check_data(kernel, X, y, reset=True, **options)
        found = kernel.domain.dimension(X)
        kernel = kernel if found in (None, columns) else self._kernel(found)
        self.kernel_ = self._resolved_kernel(kernel, X, found or 1)
        self.kernel_.validate()
        domain = self.kernel_.domain
        if X is not given_X or not domain.takes(X):  # otherwise nothing is left to check or convert
            X = self._check_samples(X)
        X = domain.training(X)
        self._check_values(X)
        if options.get("y_numeric") and (isinstance(X, np.ndarray) or is_sparse(X)) and X.dtype == np.float32:
            self._check_single(y)
        if self._keeps_sample():
            X, y = domain.keep(X, given_X), detached(y, given_y)
        self.dtype_ = X.dtype if is_array(X) or is_sparse(X) else None
        return X, y

    def _check_values(self, X: Data) -> None:
        """Reject samples on which the kernel overflows or underflows."""
        self.kernel_.check_values(X, self)

    def _keeps_sample(self) -> bool:
        """Whether X and y are kept after the fit and must therefore be copies."""
        return True

    def _check_new(self, X: Data) -> Any:
        """Check new points and convert them to the floating type of the training data."""
        require_fitted(self)
        domain, given = self.kernel_.domain, X
        X, _ = self._check_data(self.kernel_, X, None, reset=False)
        if X is given and domain.takes(X) and X.dtype == self.dtype_:
            return X  # nothing left to check or convert
        if self.dtype_ is not None and not is_array(X) and not is_sparse(X):
            X = np.asarray(X, dtype=self.dtype_)  # a list of rows, where the kernel accepts any data
        if self.dtype_ is not None and isinstance(X.dtype, np.dtype) != isinstance(self.dtype_, np.dtype):
            raise TypeError(
                f"{where(self)}: X and the training data belong to different array libraries; convert one of them."
            )
        if self.dtype_ is not None and X.dtype != self.dtype_:
            floats = [namespace(X).isdtype(dtype, "real floating") for dtype in (X.dtype, self.dtype_)]
            if domain.numbers or all(floats):  # labels of different types may compare equal as they are
                X = X.astype(self.dtype_) if is_sparse(X) else namespace(X).astype(X, self.dtype_)
        return self._check_samples(X)

    def _check_samples(self, X: Data) -> Any:
        """Check samples or new points as the kernel requires."""
        return self.kernel_.domain.check(X, self.kernel_, "X")

    def _check_data(self, kernel: Kernel, X: Data, y: Array, reset: bool, **options: Any) -> tuple[Any, Any]:
        domain = kernel.domain
        if domain.numbers and (domain.sparse or not is_sparse(X)) and self._is_checked(X, y, reset):
            if reset:
                self._forget("feature_names_in_")
                self.n_features_in_ = X.shape[1]
            return X, y
        native = is_array(X) and not isinstance(X, np.ndarray)
        if domain.numbers and not native:
            refuse_masked(y, where(self), "y")
            if y is not None:
                y = check_targets(self, y) if options.get("y_numeric") else check_labels(self, y)
            accept = "csr" if domain.sparse else False
            # a fixed memory order, since rounding in sums over columns depends on it
            settings: dict[str, Any] = {"accept_sparse": accept, "dtype": [np.float64, np.float32], "order": "C"}
            settings["reset"] = reset
            before = IN_CHECK.set((self, domain))
            try:
                if y is None:
                    return validated(self, X, **settings), None
                return validated(self, X, y, **settings, **options)
            finally:
                IN_CHECK.reset(before)
        X = domain.check(X, self, "X")
        if reset:
            self._forget("n_features_in_", "feature_names_in_")
        shape: tuple[int, ...] = getattr(X, "shape", ())
        if len(shape) == 2:
            if reset:
                self.n_features_in_ = int(shape[1])
            elif (known := getattr(self, "n_features_in_", None)) not in (None, shape[1]):  # None after a list
                raise ValueError(f"{where(self)}: X has {shape[1]} features, but was fitted with {known}.")
        if y is not None:
            y = self._check_targets(y, X, domain.size(X), native, options.get("y_numeric", False))
            y = y if len(y.shape) == 1 or options.get("multi_output") else self._column(y)
        return X, y

    def _column(self, y: Array) -> Any:
        """The entries of a y of shape (n, 1); raise for more columns."""
        if y.shape[1] != 1:
            raise ValueError(f"{where(self)}: y has shape {tuple(y.shape)}; expected one target per sample.")
        return column_or_1d(y, warn=True) if isinstance(y, np.ndarray) else y[:, 0]

    def _is_checked(self, X: Data, y: Array, reset: bool) -> bool:
        """Whether scikit-learn's checks, which take longer than a small fit, can be skipped."""
        known, values = vars(self), X.data if type(X) in CSR else X
        if type(values) is not np.ndarray or X.ndim != 2 or X.dtype not in FLOATS or not values.flags.c_contiguous:
            return False
        if 0 in X.shape:
            return False
        if not reset and ("feature_names_in_" in known or known.get("n_features_in_") != X.shape[1]):
            return False
        if y is not None and (type(y) is not np.ndarray or y.shape != X.shape[:1] or y.dtype.kind not in "biuf"):
            return False
        with np.errstate(over="ignore", invalid="ignore"):  # if the sum overflows, scikit-learn checks again
            total = values.sum() + (y.sum() if y is not None and y.dtype.kind == "f" else 0.0)
        return isfinite(total) and (y is None or y.dtype.kind != "f" or y.dtype in FLOATS)

    def _check_targets(self, y: Array, X: Data, n: int, native: bool, numeric: bool) -> Any:
        if native and isinstance(y, np.ndarray) and y.dtype.kind in "OU" and not numeric:
            native = False  # text, which no tensor holds
        if native and not is_array(y):
            raise TypeError(
                f"{where(self)}: X is a {type(X).__module__} array but y is a {type(y).__name__}; convert y too."
            )
        if native and (namespace(y) is not namespace(X) or device_of(y) != device_of(X)):
            raise TypeError(f"{where(self)}: X and y belong to different array libraries or devices; convert one.")
        refuse_masked(y, where(self), "y")
        if not native:
            y = np.asarray(check_targets(self, y) if numeric else check_labels(self, y))
        xp = namespace(y)
        if len(y.shape) not in (1, 2):
            raise ValueError(f"{where(self)}: y has shape {tuple(y.shape)}; expected ({n},) or ({n}, n_targets).")
        if y.shape[0] != n:
            raise ValueError(f"{where(self)}: X has {n} samples and y has {y.shape[0]}; they must agree.")
        if numeric and not xp.isdtype(y.dtype, ("bool", "integral", "real floating")):
            raise TypeError(f"{where(self)}: y holds {y.dtype} values; give real numbers.")
        if xp.isdtype(y.dtype, "real floating") and not bool(xp.all(xp.isfinite(y))):
            raise ValueError(f"{where(self)}: y contains NaN or infinity; drop those samples.")
        return y

    def _check_single(self, y: Array) -> None:
        """Reject targets beyond the largest single-precision number, the type of the samples and of the results."""
        largest = max(float(np.max(y)), -float(np.min(y)))
        if largest > float(np.finfo(np.float32).max):
            raise ValueError(
                f"{where(self)}: y goes up to {largest:.0e}, which overflows float32, the type of X; convert X to "
                "float64, or divide y."
            )

    def _check_weight(self, sample_weight: Array, X: Data) -> Any:
        """Non-negative weights, not all zero, or None."""
        if sample_weight is None:
            return None
        weight = check_weight(self, sample_weight, self.kernel_.domain.size(X))
        largest = float(weight.max())
        single = (isinstance(X, np.ndarray) or is_sparse(X)) and X.dtype == np.float32
        if single and not 2.0 ** -squarable(SINGLE) <= largest <= 2.0 ** squarable(SINGLE):
            raise ValueError(
                f"{where(self)}: sample_weight goes up to {largest:.0e}, whose square overflows or underflows in "
                f"float32, the type of X; give float64, or divide the weights, and any penalty, by {largest:.0e}."
            )
        return detached(weight, sample_weight)

    def _weights(self, sample_weight: Array, X: Data) -> np.ndarray:
        """The weight of each sample in double precision, 1 by default."""
        weight = self._check_weight(sample_weight, X)
        return np.ones(self.kernel_.domain.size(X)) if weight is None else weight.astype(np.float64)

    # ---- the model

    def _forget(self, *names: str) -> None:
        """Delete attributes left by an earlier fit with other parameters."""
        for name in names:
            self.__dict__.pop(name, None)

    def _needs(self, n: int) -> str:
        """Operations that a fit to n samples needs from the matrix, for `mercer.gram.Auto`."""
        return "matrix"

    def _representation(self, n: int) -> Representation:
        """The representation of the kernel matrix of n samples."""
        return as_representation(self.gram, self._needs(n))

    def _build(self, X: Data, constants: bool = False) -> Gram:
        """The Gram operator of X; if the model has a free constant, of the kernel `about` X."""
        representation = self._representation(self.kernel_.domain.size(X))
        rng = generator_of(self) if representation.draws else UNUSED
        gram = representation._build(self.kernel_.about(X) if constants else self.kernel_, X, rng)
        self.gram_choice_ = gram.choice or f"{type(representation).__name__} as given"
        return gram

    def _at_zero(self, gram: Gram, coefficients: Array, free: Any) -> Any:
        """Convert the free part fitted with the kernel about the sample to that of the kernel itself."""
        if free is None or gram.kernel is self.kernel_:
            return free
        moved = namespace(free).asarray(free, copy=True)
        moved[0, ...] -= gram.missing_constant(coefficients)
        return moved

    def _free_basis(self, X: Data, free: Any, fit_intercept: bool = False) -> Polynomials | Functions | None:
        """The free functions on the checked X; polynomials are rejected if samples have no coordinates."""
        if fit_intercept:
            if free is not None:
                raise ValueError(
                    f"{where(self)}: fit_intercept=True and free={free!r} are mutually exclusive; free >= 0 includes "
                    "the intercept."
                )
            return Polynomials(0)
        basis = as_basis(free)
        if annihilated(basis) > 1:
            coordinates = not self.kernel_.domain.precomputed and len(getattr(X, "shape", ())) == 2
            if not coordinates or getattr(X.dtype, "kind", "f") not in "fiub":
                raise ValueError(
                    f"{where(self)}: free = {free!r} means polynomials in the coordinates, but samples of the kernel "
                    f"{self.kernel_} have none; use free=0, the constant, or a list of functions of X."
                )
        return basis

    def _require_definite(self, X: Data, order: int) -> None:
        """Reject a kernel proven not to be conditionally positive definite of this order; 0 means PD."""
        dimension = self.kernel_.domain.dimension(X)
        claim = self.kernel_.definiteness_in(dimension)
        if claim.kind != "INDEFINITE" and not (claim.is_cpd and claim.order > order):
            return
        place = "" if dimension is None else f" in dimension {dimension}"
        weaker = f", or a CPD({order}) one" if order else ""
        remedy = f", or free={claim.order - 1}" if claim.is_cpd and hasattr(self, "free") else ""
        raise ValueError(
            f"{where(self)}: the kernel {self.kernel_} is {claim}{place}, so norms under it may be negative; "
            f"choose a positive definite one{weaker}{remedy}.{remedies(claim)}"
        )

    def _is_definite(self, X: Data, basis: Any) -> bool | None:
        """Whether the kernel is proven definite on coefficients orthogonal to the free part; None if unknown."""
        claim = self.kernel_.definiteness_in(self.kernel_.domain.dimension(X))
        if claim.is_cpd and claim.order <= annihilated(basis):
            return True
        if claim.kind == "UNKNOWN":
            return None
        needed = (
            {1: "fit_intercept=True", 2: "free=1"}.get(claim.order, f"free={claim.order - 1}") if claim.is_cpd else ""
        )
        remedy = f"; with {needed} it is valid" if needed else ""
        self._warn_indefinite(f"{claim}, not positive definite{remedy}; {UNFOUNDED}")
        return False

    def _warn_indefinite(self, finding: str) -> None:
        warn(
            f"{where(self)}: the kernel {self.kernel_} is {finding}. Instead, {INSTEAD}.",
            IndefiniteKernelWarning,
        )

    def _function(self, gram: Gram, coefficients: Array, basis: Any = None, free: Any = None) -> Function:
        kernel, points, coefficients = gram.expansion(coefficients)
        return Function(kernel, points, coefficients, basis, None if free is None else beside(free, coefficients))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = IN_CHECK.get()
        try:
            domain = known[1] if known is not None and known[0] is self else self._kernel(1).domain
        except (TypeError, ValueError):
            return tags
        tags.input_tags.sparse = domain.sparse
        tags.input_tags.pairwise = domain.precomputed
        tags.input_tags.positive_only = getattr(domain, "lower", None) == 0
        tags.input_tags.two_d_array = domain.numbers
        return tags
