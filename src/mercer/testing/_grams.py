"""Laws that a representation of the Gram matrix must satisfy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from .._array import host, like
from ..gram import Centered, Gram, Representation, as_representation
from ..kernels import Gaussian, Kernel
from ..types import Data
from ._arrays import close, move


def check_gram(
    representation: Representation | str,
    kernel: Kernel | None = None,
    X: Data = None,
    *,
    namespaces: Any = (),
    seed: int = 0,
) -> None:
    """Assert the laws of a representation of the Gram matrix on a sample.

    All operations of the Gram agree with the matrix K̂ that it represents: products, diagonal, blocks, factor, and for
    new points `cross` and `expansion`. K̂ is symmetric, positive semi-definite for a PD kernel, and equals the kernel
    matrix unless it has a factor; its trace error is as reported. It pickles. All this also holds once centred.

    Parameters
    ----------
    representation : Representation or name
    kernel : Kernel, optional
        Gaussian by default.
    X : collection, optional
        At least six members; by default, drawn from the kernel's domain.
    namespaces : sequence of array namespaces
        Further array libraries to test, in float32 and float64.
    seed : int
        Seed of the sample and of the representation's random choices.

    Examples
    --------
    >>> from mercer.gram import Nystrom
    >>> check_gram(Nystrom(rank=5))
    """
    representation = as_representation(representation)
    kernel = Gaussian() if kernel is None else kernel
    domain, rng = kernel.domain, np.random.default_rng(seed)
    fresh = X is None and not domain.precomputed
    X = domain.check(domain.sample(rng, 12) if X is None else X, kernel)
    X_new = domain.check(domain.sample(rng, 5), kernel) if fresh else domain.take(X, slice(2, 5))
    _check_gram_on(representation, kernel, X, X_new, 1e-8, seed)
    for xp in namespaces:
        for dtype, tol in (("float64", 1e-8), ("float32", 2e-3)):
            _check_gram_on(representation, kernel, move(X, xp, dtype), move(X_new, xp, dtype), tol, seed)


def _check_gram_on(representation: Representation, kernel: Kernel, X: Data, X_new: Data, tol: float, seed: int) -> None:
    gram = representation.build(kernel, X, np.random.default_rng(seed))
    K = _check_operator(representation, gram, X_new, tol)
    exact = host(kernel.evaluate(X, gram.centres)).astype(float)
    if "factor" not in gram.provides:
        close(K, exact, tol, "an exact representation", representation)
    lost = float(np.trace(exact - K))
    rounding = tol * max(1.0, float(np.abs(np.diagonal(exact)).sum()))
    assert abs(gram.trace_error - lost) <= rounding, f"{representation!r}: trace_error {gram.trace_error}, not {lost}"
    assert gram.trace_error >= -rounding, f"{representation!r}: trace_error {gram.trace_error:g} < 0"

    centred = Centered(representation).build(kernel, X, np.random.default_rng(seed))
    w = np.full(len(K), 1 / len(K))
    HKH = K - K @ w - (K @ w)[:, None] + w @ K @ w
    close(_check_operator(representation, centred, X_new, tol), HKH, tol, "centring", representation)
    C = host(gram.cross(X_new).dense()).astype(float)
    close(centred.cross(X_new).dense(), C - (C @ w)[:, None] - K @ w + w @ K @ w, tol, "centred cross", representation)


def _check_operator(representation: Representation, gram: Gram, X_new: Data, tol: float) -> np.ndarray:
    """Assert that all operations agree with one matrix, and return it."""
    domain, n = gram.kernel.domain, gram.n
    rng = np.random.default_rng(0)
    K = host(gram.dense()).astype(float)
    assert gram.shape == K.shape == (n, n), f"{representation!r}: shape {gram.shape}, dense() of {K.shape}"
    close(K, K.T, tol, "symmetry", representation)
    if gram.kernel.definiteness_in(domain.dimension(gram.X)).is_pd:
        smallest = float(np.linalg.eigvalsh((K + K.T) / 2)[0])
        assert smallest >= -tol * n * max(1.0, np.abs(K).max()), f"{representation!r}: smallest eigenvalue {smallest:g}"

    index = np.array([n - 1, 0, 1])
    for v in (rng.normal(size=n), rng.normal(size=(n, 3))):
        V = like(v, gram.like)
        close(gram @ V, K @ v, tol * n, "product", representation)
        cross = gram.cross(X_new)
        close(cross @ V, host(cross.dense()).astype(float) @ v, tol * n, "cross product", representation)
        kernel, points, coefficients = gram.expansion(V)
        values = host(kernel.evaluate(X_new, points) @ coefficients).astype(float)
        if hasattr(gram, "weights"):
            values = values - host(gram.weights) @ host(kernel.evaluate(gram.X, points) @ coefficients)
        close(cross @ V, values, tol * n, "expansion", representation)
        for result in (gram @ V, cross @ V, gram.diagonal(), gram.block(index, index)):
            assert isinstance(result, type(V)) and result.dtype == gram.dtype, f"{representation!r}: {type(result)}"
    close(gram.diagonal(), np.diagonal(K), tol, "diagonal", representation)
    close(gram.block(slice(1, 4), index), K[1:4][:, index], tol, "block", representation)
    close(gram.block(index, slice(2, None)), K[index, 2:], tol, "block", representation)
    close(gram.cross(domain.take(gram.X, index)).dense(), K[index], tol * n, "cross at the sample", representation)
    if "factor" in gram.provides:
        Z = host(gram.factor()).astype(float)
        close(Z @ Z.T, K, tol, "factor", representation)
    close(pickle.loads(pickle.dumps(gram)).dense(), K, 0.0, "pickled copy", representation)
    return K
