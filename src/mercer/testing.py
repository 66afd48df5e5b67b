"""The laws that every kernel, Gram operator and loss obeys, as functions to call on one's own."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from ._array import host, is_array, like
from .domains import Anything, Categories, Indices, Rows, Vectors
from .gram import Centered, Gram, Representation, as_representation
from .kernels import Gaussian, Kernel
from .losses import Loss

__all__ = ["check_gram", "check_kernel", "check_loss", "move"]


def move(X: Any, xp: Any, dtype: str | None = None) -> Any:
    """A collection in another array namespace (tuples and arrays; other sequences are returned as they are)."""
    if isinstance(X, tuple):
        return tuple(move(x, xp, dtype) for x in X)
    if not is_array(X):
        return X
    A = host(X)
    if dtype is not None and A.dtype.kind == "f":
        A = A.astype(dtype)
    return xp.asarray(A)


def _close(a: Any, b: Any, tol: float, what: str, kernel: Any) -> None:
    a, b = host(a).astype(float), host(b).astype(float)
    assert a.shape == b.shape, f"{kernel!r}: {what}: shapes {a.shape} and {b.shape} differ"
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))
    error = float(np.abs(a - b).max(initial=0.0))
    assert error <= tol * scale, f"{kernel!r}: {what}: differs by {error:g} (scale {scale:g})"


def check_kernel(kernel: Kernel, X: Any = None, *, namespaces: Any = (), seed: int = 0) -> None:
    """Assert the laws of a kernel on a sample: symmetry, consistency, value semantics, claimed definiteness, abilities.

    Parameters
    ----------
    kernel : Kernel
    X : collection, optional
        At least four distinct members; drawn from the kernel's domain otherwise.
    namespaces : sequence of array namespaces
        Further array libraries on which to compare with NumPy, in float32 and float64.
    seed : int
        Of the sample.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> check_kernel(Gaussian())
    """
    rng = np.random.default_rng(seed)
    domain = kernel.domain
    X = domain.check(domain.sample(rng, 9) if X is None else X, kernel)
    n = domain.size(X)
    if isinstance(domain, Rows):
        Y, rows = None, slice(0, n)
    else:
        Y, rows = domain.take(X, slice(n // 2, n)), slice(0, n // 2 + 1)

    # the matrix, its diagonal, its blocks and its single values are one function
    K = kernel(X)
    assert K.shape == (n, n), f"{kernel!r}: k(X) has shape {K.shape}"
    _close(K, host(K).T, 1e-12, "symmetry", kernel)
    _close(kernel.diag(X), np.diagonal(host(K)), 1e-9, "diag", kernel)
    if Y is not None:
        _close(kernel(X, X), K, 1e-9, "k(X, X) against k(X)", kernel)
        _close(kernel(domain.take(X, rows), Y), host(K)[rows, n // 2 :], 1e-9, "k(X, Y)", kernel)
        one, two = domain.take(X, slice(0, 1)), domain.take(X, slice(2, 3))
        _close(kernel(one, two), host(K)[:1, 2:3], 1e-9, "a single value", kernel)
        held = kernel.prepare(X)
        first, last = held.take(np.arange(n // 2)), held.take(np.arange(n // 2, n))
        _close(first.matrix(last), host(K)[: n // 2, n // 2 :], 1e-9, "prepare", kernel)
        _close(kernel.prepare(Y, held).matrix(first), host(K)[n // 2 :, : n // 2], 1e-9, "prepare beside", kernel)
        order = rng.permutation(n)
        _close(kernel(domain.take(X, order)), host(K)[np.ix_(order, order)], 1e-9, "permutation of the sample", kernel)

    report = kernel.check(X)
    assert report.ok, f"{kernel!r}: {report!r}"

    # value semantics
    assert clone(kernel) == kernel and clone(kernel) is not kernel, f"{kernel!r}: clone"
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel, f"{kernel!r}: pickle"
    _close(copy(X), K, 0.0, "pickled copy", kernel)
    assert clone(kernel).set_params(**kernel.get_params(deep=False)) == kernel, f"{kernel!r}: set_params(get_params)"
    assert kernel.resolve(X) == kernel, f"{kernel!r}: resolve of a kernel without data-driven parameters"

    _check_types(kernel, X, Y, K, namespaces)
    _check_abilities(kernel, X, rng)


def _check_types(kernel: Kernel, X: Any, Y: Any, K: Any, namespaces: Any) -> None:
    """float32, CSR and other array libraries give the same numbers, in their own type."""
    domain = kernel.domain
    if isinstance(domain, Vectors):
        single = kernel(host(X).astype("float32"))
        assert single.dtype == np.float32, f"{kernel!r}: float32 input gave {single.dtype}"
        _close(single, K, 2e-4, "float32", kernel)
        held = kernel.prepare(host(X).astype("float32"))
        filled, places = np.full((2, len(held)), np.nan, dtype="float32"), np.array([1, 0])
        held.take(places).fill(filled, places, held, 0, len(held))
        _close(filled[:, 2:], host(K)[:2, 2:], 2e-4, "rows filled in float32", kernel)
        assert kernel.diag(host(X).astype("float32")).dtype == np.float32, f"{kernel!r}: diag of float32"
        numpy_scalar = {float: np.float64, int: np.int64}  # which, unlike Python's numbers, have a type to impose
        values = {name: numpy_scalar[type(v)](v) for name, v in kernel.get_params().items() if type(v) in numpy_scalar}
        typed = clone(kernel).set_params(**values)(host(X).astype("float32"))
        assert typed.dtype == np.float32, f"{kernel!r}: float32 input gave {typed.dtype} with NumPy scalars"
        if domain.sparse:
            from scipy.sparse import csr_array

            S = csr_array(np.where(np.abs(host(X)) > 0.3, host(X), 0.0))
            _close(kernel(S), kernel(S.toarray()), 1e-9, "CSR", kernel)
            _close(kernel.diag(S), kernel.diag(S.toarray()), 1e-9, "CSR diag", kernel)
            _close(kernel(S, S[:3]), kernel(S.toarray(), S.toarray()[:3]), 1e-9, "CSR cross", kernel)
    if not isinstance(domain, (Vectors, Indices, Rows, Anything, Categories)) and not isinstance(X, tuple):
        return
    for xp in namespaces:
        for dtype, tol in (("float64", 1e-8), ("float32", 2e-4)):
            A = move(X, xp, dtype)
            for value in (kernel(A), kernel.diag(A)):
                assert isinstance(value, type(A[0] if isinstance(A, tuple) else A)), (
                    f"{kernel!r}: {xp.__name__} became {type(value)}"
                )
            _close(kernel(A), K, tol, f"{xp.__name__} {dtype}", kernel)
            _close(kernel.diag(A), np.diagonal(host(K)), tol, f"diag on {xp.__name__} {dtype}", kernel)
            if Y is not None:
                _close(
                    kernel(A, move(Y, xp, dtype)), host(K)[:, -domain.size(Y) :], tol, f"cross on {xp.__name__}", kernel
                )


def _check_abilities(kernel: Kernel, X: Any, rng: np.random.Generator) -> None:
    provides, domain = kernel.provides, kernel.domain
    h = 1e-5
    if provides & {"gradient_x", "mixed_xy"}:
        A, B = domain.take(X, slice(0, 3)), domain.take(X, slice(3, 6))
        d = A.shape[1]
        steps = h * np.eye(d)
    if "gradient_x" in provides:
        G = kernel.gradient_x(A, B)
        numeric = np.stack([(kernel(A + e, B) - kernel(A - e, B)) / (2 * h) for e in steps], axis=-1)
        _close(G, numeric, 1e-5, "gradient_x", kernel)
        assert np.all(np.isfinite(kernel.gradient_x(A))), f"{kernel!r}: gradient_x at x = y is not finite"
    if "mixed_xy" in provides:
        M = kernel.mixed_xy(A, B)
        numeric = np.stack(
            [(kernel.gradient_x(A, B + e) - kernel.gradient_x(A, B - e)) / (2 * h) for e in steps], axis=-1
        )
        _close(M, numeric, 1e-4, "mixed_xy", kernel)
        assert np.all(np.isfinite(kernel.mixed_xy(A))), f"{kernel!r}: mixed_xy at x = y is not finite"
    if "gradient_theta" in provides:
        gradients = kernel.gradient_theta(X)
        for name, G in gradients.items():
            value = kernel.get_params()[name]
            if np.ndim(value) == 0:
                up, down = (clone(kernel).set_params(**{name: value + s * h}) for s in (1, -1))
                _close(G, (up(X) - down(X)) / (2 * h), 1e-5, f"gradient in {name}", kernel)
                continue
            for index in np.ndindex(np.shape(value)):
                bump = np.zeros(np.shape(value))
                bump[index] = h
                up, down = (clone(kernel).set_params(**{name: value + s * bump}) for s in (1, -1))
                _close(G[(..., *index)], (up(X) - down(X)) / (2 * h), 1e-5, f"gradient in {name}{index}", kernel)
    if "feature_map" in provides:
        Z = host(kernel.feature_map(X))
        _close(Z @ Z.T, kernel(X), 1e-9, "feature_map", kernel)
    if "spectral_sample" in provides:
        W = kernel.spectral_sample(40_000, X.shape[1], rng)
        D = host(X)[:4, None, :] - host(X)[None, :4, :]
        C = np.cos(D.reshape(-1, X.shape[1]) @ W.T)
        error = np.abs(C.mean(axis=1).reshape(4, 4) * float(kernel.diag(X)[0]) - host(kernel(X))[:4, :4])
        bound = 6 * C.std(axis=1).reshape(4, 4) / np.sqrt(len(W)) + 1e-12
        assert np.all(error <= bound), f"{kernel!r}: spectral_sample is off by {error.max():g}"


def check_gram(
    representation: Representation | str,
    kernel: Kernel | None = None,
    X: Any = None,
    *,
    namespaces: Any = (),
    seed: int = 0,
) -> None:
    """Assert the laws of a representation of the Gram matrix on a sample.

    All operations of the Gram agree with the matrix K̂ that it stands for: products, diagonal, blocks, factor, and for
    new points `cross` and `expansion`. K̂ is symmetric, positive semi-definite for a PD kernel, misses the trace that it
    reports, and is the kernel's matrix where no factor stands for it. It pickles. The same for its centred version.

    Parameters
    ----------
    representation : Representation or name
    kernel : Kernel, optional
        Gaussian by default.
    X : collection, optional
        At least six members; drawn from the kernel's domain otherwise.
    namespaces : sequence of array namespaces
        Further array libraries on which to assert the same, in float32 and float64.
    seed : int
        Of the sample and of the representation's random choices.

    Examples
    --------
    >>> from mercer.gram import Nystrom
    >>> check_gram(Nystrom(rank=5))
    """
    representation = as_representation(representation)
    kernel = Gaussian() if kernel is None else kernel
    domain, rng = kernel.domain, np.random.default_rng(seed)
    fresh = X is None and not isinstance(domain, Rows)
    X = domain.check(domain.sample(rng, 12) if X is None else X, kernel)
    X_new = domain.check(domain.sample(rng, 5), kernel) if fresh else domain.take(X, slice(2, 5))
    _check_gram_on(representation, kernel, X, X_new, 1e-8, seed)
    for xp in namespaces:
        for dtype, tol in (("float64", 1e-8), ("float32", 2e-3)):
            _check_gram_on(representation, kernel, move(X, xp, dtype), move(X_new, xp, dtype), tol, seed)


def _check_gram_on(representation: Representation, kernel: Kernel, X: Any, X_new: Any, tol: float, seed: int) -> None:
    gram = representation.build(kernel, X, np.random.default_rng(seed))
    K = _check_operator(representation, gram, X_new, tol)
    exact = host(kernel.evaluate(X, gram.centres)).astype(float)
    if "factor" not in gram.provides:
        _close(K, exact, tol, "an exact representation", representation)
    lost = float(np.trace(exact - K))
    rounding = tol * max(1.0, float(np.abs(np.diagonal(exact)).sum()))
    assert abs(gram.trace_error - lost) <= rounding, f"{representation!r}: trace_error {gram.trace_error}, not {lost}"
    assert gram.trace_error >= -rounding, f"{representation!r}: trace_error {gram.trace_error:g} < 0"

    centred = Centered(representation).build(kernel, X, np.random.default_rng(seed))
    w = np.full(len(K), 1 / len(K))
    HKH = K - K @ w - (K @ w)[:, None] + w @ K @ w
    _close(_check_operator(representation, centred, X_new, tol), HKH, tol, "centring", representation)
    C = host(gram.cross(X_new).dense()).astype(float)
    _close(centred.cross(X_new).dense(), C - (C @ w)[:, None] - K @ w + w @ K @ w, tol, "centred cross", representation)


def _check_operator(representation: Representation, gram: Gram, X_new: Any, tol: float) -> np.ndarray:
    """Assert that all operations belong to one matrix, and return it."""
    domain, n = gram.kernel.domain, gram.n
    rng = np.random.default_rng(0)
    K = host(gram.dense()).astype(float)
    assert gram.shape == K.shape == (n, n), f"{representation!r}: shape {gram.shape}, dense() of {K.shape}"
    _close(K, K.T, tol, "symmetry", representation)
    if gram.kernel.definiteness_in(domain.dimension(gram.X)).is_pd:
        smallest = float(np.linalg.eigvalsh((K + K.T) / 2)[0])
        assert smallest >= -tol * n * max(1.0, np.abs(K).max()), f"{representation!r}: smallest eigenvalue {smallest:g}"

    index = np.array([n - 1, 0, 1])
    for v in (rng.normal(size=n), rng.normal(size=(n, 3))):
        V = like(v, gram.like)
        _close(gram @ V, K @ v, tol * n, "product", representation)
        cross = gram.cross(X_new)
        _close(cross @ V, host(cross.dense()).astype(float) @ v, tol * n, "cross product", representation)
        kernel, points, coefficients = gram.expansion(V)
        values = host(kernel.evaluate(X_new, points) @ coefficients).astype(float)
        if hasattr(gram, "weights"):
            values = values - host(gram.weights) @ host(kernel.evaluate(gram.X, points) @ coefficients)
        _close(cross @ V, values, tol * n, "expansion", representation)
        for result in (gram @ V, cross @ V, gram.diagonal(), gram.block(index, index)):
            assert isinstance(result, type(V)) and result.dtype == gram.dtype, f"{representation!r}: {type(result)}"
    _close(gram.diagonal(), np.diagonal(K), tol, "diagonal", representation)
    _close(gram.block(slice(1, 4), index), K[1:4][:, index], tol, "block", representation)
    _close(gram.block(index, slice(2, None)), K[index, 2:], tol, "block", representation)
    _close(gram.cross(domain.take(gram.X, index)).dense(), K[index], tol * n, "cross at the sample", representation)
    if "factor" in gram.provides:
        Z = host(gram.factor()).astype(float)
        _close(Z @ Z.T, K, tol, "factor", representation)
    _close(pickle.loads(pickle.dumps(gram)).dense(), K, 0.0, "pickled copy", representation)
    return K


def check_loss(loss: Loss, *, namespaces: Any = (), seed: int = 0) -> None:
    """Assert the laws of a loss: derivatives by finite differences, convexity, the proximal map by its definition.

    Examples
    --------
    >>> from mercer.losses import Logistic
    >>> check_loss(Logistic())
    """
    rng = np.random.default_rng(seed)
    n, h = 40, 1e-5
    y, f = loss.targets(rng, n), 2 * rng.normal(size=n)
    value = loss.value(y, f)
    assert value.shape == (n,) and np.all(np.isfinite(value)), f"{loss!r}: value"
    assert np.all(value >= 0), f"{loss!r}: a loss is not negative"
    if "gradient" in loss.provides:
        numeric = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
        _close(loss.gradient(y, f), numeric, 1e-7, "gradient", loss)
    if "hessian" in loss.provides:
        numeric = (loss.gradient(y, f + h) - loss.gradient(y, f - h)) / (2 * h)
        _close(loss.hessian(y, f), numeric, 1e-7, "hessian", loss)
    if loss.convex:
        g = 2 * rng.normal(size=n)
        chord = 0.3 * value + 0.7 * loss.value(y, g)
        assert np.all(loss.value(y, 0.3 * f + 0.7 * g) <= chord + 1e-12), f"{loss!r}: not convex"
    if "prox" in loss.provides:
        for step in (0.1, 1.0, 10.0):
            p = loss.prox(y, f, step)
            best = loss.value(y, p) + (p - f) ** 2 / (2 * step)
            for other in p + rng.normal(size=(50, n)) * np.logspace(-6, 1, 50)[:, None]:
                assert np.all(best <= loss.value(y, other) + (other - f) ** 2 / (2 * step) + 1e-9), f"{loss!r}: prox"
    if "link_inverse" in loss.provides:
        assert np.all(np.diff(loss.link_inverse(np.linspace(-30, 30, 200))) >= 0), f"{loss!r}: the link is not monotone"
    for xp in namespaces:
        for dtype, tol in (("float64", 1e-10), ("float32", 1e-4)):
            a, b = move(y, xp, dtype), move(f, xp, dtype)
            for name in {"value"} | (loss.provides & {"gradient", "hessian"}):
                moved = getattr(loss, name)(a, b)
                assert moved.dtype == b.dtype, f"{loss!r}: {name} of {dtype} gave {moved.dtype}"
                _close(moved, getattr(loss, name)(y, f), tol, f"{name} on {xp.__name__}", loss)
            if "prox" in loss.provides:
                _close(loss.prox(a, b, 0.5), loss.prox(y, f, 0.5), tol, f"prox on {xp.__name__}", loss)
