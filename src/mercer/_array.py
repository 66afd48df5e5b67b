"""Array namespaces (array-api-compat) and a few operations that the array API standard lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj, is_numpy_namespace, is_torch_namespace
from array_api_compat import device as device_of
from array_api_compat import numpy as numpy_namespace
from scipy import linalg, sparse

from .types import Array, Checked, DType, Namespace

__all__ = [
    "apply_host",
    "asymmetry",
    "beside",
    "decided",
    "compact",
    "dense_enough",
    "detached",
    "doubles",
    "device_of",
    "eigh_part",
    "eigh_small",
    "eps",
    "eye",
    "host",
    "is_array",
    "is_numpy",
    "is_sparse",
    "is_torch",
    "labels_like",
    "like",
    "namespace",
    "on_host",
    "precise",
    "product_transposed",
    "row_products",
    "set_diagonal",
    "solve_triangular",
]

SINGLE = 32 * float(np.finfo(np.float32).eps)  # rounding of a matrix computed in single precision, stored in double
DENSE = 20  # entries per non-zero up to which dense blocks are faster than sparse ones
COMPACT = 1 << 20  # sparse matrices with up to this many entries are converted to arrays


def is_sparse(X: Checked) -> TypeGuard[Any]:
    """Whether X is a SciPy sparse matrix or array."""
    return type(X) is not np.ndarray and bool(sparse.issparse(X))


def is_array(X: Checked) -> bool:
    """Whether X is a dense array of an array API library."""
    return type(X) is np.ndarray or (not is_sparse(X) and bool(is_array_api_obj(X)))


def namespace(*arrays: Any) -> Any:
    """The array namespace shared by `arrays`; NumPy's for sparse input or no arrays."""
    if len(arrays) == 1 and type(arrays[0]) is np.ndarray:
        return numpy_namespace
    dense = [a for a in arrays if is_array(a)]
    return array_namespace(*dense) if dense else numpy_namespace


def is_numpy(xp: Namespace) -> bool:
    """Whether `xp` is NumPy's namespace."""
    return bool(is_numpy_namespace(xp))


def is_torch(xp: Namespace) -> bool:
    """Whether `xp` is torch's namespace."""
    return bool(is_torch_namespace(xp))


def on_host(X: Checked) -> bool:
    """Whether a collection is stored in NumPy arrays, CSR matrices or Python sequences."""
    if type(X) is np.ndarray:
        return True
    if isinstance(X, tuple):
        return all(on_host(x) for x in X)
    return not is_array(X) or is_numpy(namespace(X))


def host(X: Checked) -> np.ndarray:
    """X as a NumPy array on the host."""
    if hasattr(X, "detach"):
        X = X.detach().cpu()
    return np.asarray(X)


def doubles(values: Checked) -> np.ndarray:
    """An array on the host, in double precision."""
    return np.asarray(host(values), dtype=np.float64)


def precise(X: Array) -> Any:
    """X in double precision, in its own library and on its device."""
    xp = namespace(X)
    return xp.astype(X, xp.float64, copy=False)


def like(values: Array, X: Checked, dtype: DType = None) -> Any:
    """`values` as an array of X's namespace, device and floating type (or `dtype`)."""
    if is_sparse(X):
        return np.asarray(values, dtype=dtype or X.dtype)
    xp = namespace(X)
    if is_array(values) and namespace(values) is xp:
        return xp.astype(values, dtype or X.dtype)
    values = host(values)
    if any(step < 0 for step in values.strides):  # which torch does not take
        values = values.copy()
    return xp.asarray(values, dtype=dtype or X.dtype, device=device_of(X))


def beside(values: np.ndarray, X: Array) -> Any:
    """Values computed on the host, in the library and on the device of X; unchanged for NumPy."""
    return values if on_host(X) else like(values, X)


def labels_like(labels: np.ndarray, values: Array) -> Any:
    """Labels in the library and on the device of the values that they follow from; text stays in NumPy."""
    xp = namespace(values)
    known = not is_numpy(xp) and labels.dtype.kind in "biuf"
    return like(labels, values, dtype=getattr(xp, labels.dtype.name)) if known else labels


def apply_host(function: Callable[..., Any], X: Checked, *args: Any) -> Any:
    """Apply a NumPy/SciPy function on the host and return the result in X's namespace and device."""
    if getattr(X, "requires_grad", False):
        raise TypeError("This kernel is computed on the host, without torch's autograd; call it with X.detach().")
    return like(function(host(X), *args), X)


def detached(X: Checked, given: Any) -> Any:
    """X in its own memory: a copy if it shares memory with `given`, from which it was created."""
    if is_sparse(X):
        shared = any(
            np.may_share_memory(getattr(X, part), np.asarray(getattr(given, part, None)))
            for part in ("data", "indices", "indptr")
        )
        return X.copy() if shared else X
    if not is_array(X):
        return list(X) if isinstance(X, list) else X
    if not isinstance(X, np.ndarray):
        return namespace(X).astype(X, X.dtype, copy=True)
    fresh = isinstance(given, (list, tuple)) or not np.may_share_memory(X, np.asarray(given))
    return X if fresh else X.copy()


def decided(condition: Any) -> bool:
    """A condition on data as a bool; True for lazy arrays, which have no values yet."""
    try:
        return bool(condition)
    except ValueError:
        return True


def all_finite(values: Array) -> bool:
    """Whether no value is NaN or infinite; a finite sum shows it without a temporary. True for lazy arrays."""
    with np.errstate(over="ignore", invalid="ignore"):  # the sum of finite values may overflow
        if type(values) is np.ndarray:
            return bool(np.isfinite(values.sum()) or np.isfinite(values).all())
        xp = namespace(values)
        total = xp.sum(values)
    return decided(xp.isfinite(total)) or decided(xp.all(xp.isfinite(values)))


def eps(X: Checked) -> float:
    """The unit round-off of X's floating type."""
    finfo = np.finfo if type(X) is np.ndarray or is_sparse(X) else namespace(X).finfo
    return float(finfo(X.dtype).eps)


def asymmetry(K: Array) -> str:
    """The asymmetry of a square matrix: "none" (up to rounding), "single" (single-precision rounding) or "large"."""
    gap, size = (abs(M).max() if is_sparse(M) else namespace(M).max(namespace(M).abs(M)) for M in (K - K.T, K))
    unit = max(float(size), 1e-300)
    if float(gap) <= 1e3 * eps(K) * unit:
        return "none"
    return "single" if float(gap) <= SINGLE * unit else "large"


def eye(n: int, X: Checked) -> Any:
    """The identity matrix in X's namespace, type and device."""
    return namespace(X).eye(n, dtype=X.dtype, device=device_of(X))


def set_diagonal(K: Any, value: Any) -> Any:
    """K with its diagonal set to `value`, in place where the library allows it."""
    xp = namespace(K)
    if is_numpy(xp):
        np.fill_diagonal(K, value)
        return K
    if is_torch(xp):
        K.diagonal().copy_(value if is_array(value) else xp.full((K.shape[0],), value, dtype=K.dtype, device=K.device))
        return K
    n = K.shape[0]
    column = value if is_array(value) else xp.full((n,), value, dtype=K.dtype)
    return xp.where(xp.eye(n, dtype=xp.bool), column[:, None], K)


def product_transposed(X: Checked, Y: Checked) -> Any:
    """The dense matrix X Yᵀ for dense or CSR arguments; sparse arguments are never made dense."""
    if is_sparse(X) or is_sparse(Y):
        P = X @ Y.T if is_sparse(X) else (Y @ X.T).T
        return np.ascontiguousarray(P.toarray() if is_sparse(P) else P)
    return X @ (Y.T if type(Y) is np.ndarray else namespace(X).matrix_transpose(Y))


def dense_enough(X: Any) -> bool:
    """Whether blocks of products with a CSR matrix are faster if it is made dense."""
    return bool(X.shape[0] * X.shape[1] <= DENSE * X.nnz)


def compact(X: Any) -> Any:
    """A sparse matrix as an array if it is small or faster dense, so dense and sparse data give the same digits."""
    return X.toarray() if is_sparse(X) and (X.shape[0] * X.shape[1] <= COMPACT or dense_enough(X)) else X


def row_products(X: Any, Y: Any) -> Any:
    """Σ_k x_ik y_ik for each row i, dense or CSR."""
    if is_sparse(X) or is_sparse(Y):
        P = X.multiply(Y) if is_sparse(X) else Y.multiply(X)
        return np.asarray(P.sum(axis=1)).ravel()
    P = X * Y
    return P.sum(axis=1) if type(P) is np.ndarray else namespace(P).sum(P, axis=1)


def eigh_part(M: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues `first` to `last`, in ascending order, of a symmetric NumPy matrix, with their eigenvectors."""
    if 4 * (last + 1 - first) < len(M):  # bisection for many is slower than computing all
        try:
            values, vectors = linalg.eigh(M, subset_by_index=[first, last], check_finite=False)
            if len(values) > last - first:
                return values, vectors
        except linalg.LinAlgError:
            pass
    # LAPACK's bisection fails if nearly all eigenvalues are equal, as for a centred identity
    values, vectors = linalg.eigh(M, driver="evd", check_finite=False)
    return values[first : last + 1], vectors[:, first : last + 1]


def eigh_small(M: Array) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a small symmetric matrix, on the host, which is faster than to start a device."""
    if type(M) is np.ndarray:
        return np.linalg.eigh(M)
    values, vectors = np.linalg.eigh(host(M))
    return like(values, M), like(vectors, M)


def solve_triangular(L: Array, B: Array, *, transpose: bool = False) -> Any:
    """L⁻¹B, or L⁻ᵀB with `transpose`, for a lower triangular L."""
    xp = namespace(L, B)
    if is_numpy(xp):
        return linalg.solve_triangular(L, B, lower=True, trans="T" if transpose else "N", check_finite=False)
    vector = B.ndim == 1
    if is_torch(xp):
        B = B[:, None] if vector else B
        X = xp.linalg.solve_triangular(L.mT if transpose else L, B, upper=transpose)
        return X[:, 0] if vector else X
    return xp.linalg.solve(xp.matrix_transpose(L) if transpose else L, B)
