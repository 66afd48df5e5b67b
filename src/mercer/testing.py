"""The laws that every kernel, Gram operator and loss obeys, as functions to call on one's own."""

from __future__ import annotations

import pickle
from typing import Any, get_args

import numpy as np
from scipy.linalg import block_diag
from scipy.stats import multivariate_t
from sklearn.base import clone

from ._array import host, is_array, like
from .gram import Centered, Gram, Representation, as_representation
from .kernels import Gaussian, Kernel
from .losses import ABILITIES, Loss, Task
from .types import Array, Data, Namespace

__all__ = ["check_gram", "check_kernel", "check_loss", "move"]


def move(X: Data, xp: Namespace, dtype: str | None = None) -> Any:
    """A collection in another array namespace (tuples and arrays; other sequences are returned as they are)."""
    if isinstance(X, tuple):
        return tuple(move(x, xp, dtype) for x in X)
    if not is_array(X):
        return X
    A = host(X)
    if dtype is not None and A.dtype.kind == "f":
        A = A.astype(dtype)
    return xp.asarray(A)


def _close(a: Array, b: Array, tol: float, what: str, kernel: Any) -> None:
    a, b = host(a).astype(float), host(b).astype(float)
    assert a.shape == b.shape, f"{kernel!r}: {what}: shapes {a.shape} and {b.shape} differ"
    scale = max(1.0, float(np.abs(b).max(initial=0.0)))
    error = float(np.abs(a - b).max(initial=0.0))
    assert error <= tol * scale, f"{kernel!r}: {what}: differs by {error:g} (scale {scale:g})"


def check_kernel(kernel: Kernel, X: Data = None, *, namespaces: Any = (), seed: int = 0) -> None:
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
    if domain.precomputed:
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
        held = kernel.points(X)
        first, last = held.take(np.arange(n // 2)), held.take(np.arange(n // 2, n))
        _close(first.matrix(last), host(K)[: n // 2, n // 2 :], 1e-9, "points", kernel)
        _close(kernel.points(Y, held).matrix(first), host(K)[n // 2 :, : n // 2], 1e-9, "points beside", kernel)
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


def _check_types(kernel: Kernel, X: Data, Y: Data, K: Array, namespaces: Any) -> None:
    """float32, CSR and other array libraries give the same numbers, in their own type."""
    domain = kernel.domain
    if domain.vectors:
        single = kernel(host(X).astype("float32"))
        assert single.dtype == np.float32, f"{kernel!r}: float32 input gave {single.dtype}"
        _close(single, K, 2e-4, "float32", kernel)
        held = kernel.points(host(X).astype("float32"))
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
    if not domain.arrays and not isinstance(X, tuple):
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


def _check_abilities(kernel: Kernel, X: Data, rng: np.random.Generator) -> None:
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
    if "log_normalizer" in provides:
        _check_density(kernel, X.shape[1], rng)


def _check_density(kernel: Any, d: int, rng: np.random.Generator) -> None:
    """Assert that k ≥ 0 has the integral exp(`log_normalizer`), and that draws, dilations and convolution belong to it.

    Integrals are means over draws from Student's distribution with half a degree of freedom, of heavier tail than all
    that is integrable with some room to spare.
    """
    h = 1.7
    wide, zero = kernel.dilated(h), np.zeros((1, d))
    A, B = rng.normal(size=(5, d)), rng.normal(size=(4, d))
    _close(wide(A, B), kernel(A / h, B / h), 1e-9, "dilated", kernel)
    one, other = kernel.log_dilated(A, B, [1.0, h])
    _close(np.exp(one), kernel(A, B), 1e-9, "log_dilated", kernel)
    _close(np.exp(other), wide(A, B), 1e-9, "log_dilated", kernel)
    mass = kernel.log_normalizer(d)
    if mass == np.inf:
        return
    assert abs(wide.log_normalizer(d) - mass - d * np.log(h)) < 1e-10, f"{kernel!r}: log_normalizer of the dilation"

    n, dof = 100_000, 0.5
    draws = kernel.density_sample(n, d, rng)
    assert draws.shape == (n, d), f"{kernel!r}: density_sample has shape {draws.shape}"
    scale = np.median(np.abs(draws), axis=0)
    student = multivariate_t(np.zeros(d), np.diag(scale**2), df=dof, seed=rng)
    U = np.reshape(student.rvs(n), (n, d))
    with np.errstate(over="ignore"):
        values = host(kernel(U, zero))[:, 0]
    ratio = values / np.exp(mass) / student.pdf(U)
    assert np.all(values >= 0), f"{kernel!r}: a density cannot be negative"
    _agree(ratio, 1.0, 0.0, "log_normalizer", kernel)
    for j in range(d):
        near, drawn = (np.exp(-((x[:, j] / scale[j]) ** 2)) for x in (U, draws))
        _agree(ratio * near, np.mean(drawn), np.std(drawn) / np.sqrt(n), "density_sample", kernel)
    if "self_convolution" in kernel.provides:
        twice = kernel.self_convolution(d)
        pairs = draws[: n // 2] + draws[n // 2 :]
        inside = host(kernel(draws, zero))[:, 0] / np.exp(mass)  # whose mean is the convolution's density at 0
        _agree(inside, float(twice.diag(zero)[0]) / np.exp(twice.log_normalizer(d)), 0.0, "self_convolution", kernel)
        again = twice.density_sample(n // 2, d, rng)
        wave = np.cos(again @ (1 / scale))
        error = np.std(wave) / np.sqrt(n // 2)
        _agree(np.cos(pairs @ (1 / scale)), np.mean(wave), error, "self_convolution", kernel)


def _agree(draws: np.ndarray, value: float, error: float, what: str, kernel: Any) -> None:
    """Assert that the mean of draws is `value`, itself known to a standard error."""
    spread = float(np.hypot(np.std(draws) / np.sqrt(len(draws)), error))
    found = float(np.mean(draws))
    assert abs(found - value) <= 6 * spread + 1e-12, f"{kernel!r}: {what}: {found:g} for {value:g} ± {spread:g}"


def check_gram(
    representation: Representation | str,
    kernel: Kernel | None = None,
    X: Data = None,
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


def _check_operator(representation: Representation, gram: Gram, X_new: Data, tol: float) -> np.ndarray:
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
    """Assert the laws of a loss.

    Totals are sums; derivatives agree with finite differences, block by block and as products with matrices; `convex`,
    `majorizer` and the link are what they claim; the proximal map is a minimum, for one step and for one per sample;
    the conjugate obeys Fenchel's inequality, with equality at the gradient; the dual box is the conjugate's. What a
    loss does not announce in `provides`, it refuses.

    Parameters
    ----------
    loss : Loss
    namespaces : sequence of array namespaces
        Further array libraries on which to compare with NumPy, in float32 and float64.
    seed : int
        Of the targets, which the loss itself draws, and of the values.

    Examples
    --------
    >>> from mercer.losses import Logistic
    >>> check_loss(Logistic())
    """
    rng = np.random.default_rng(seed)
    n = 24
    y = loss.targets(rng, n)
    loss.check(y)
    f, g = 2 * rng.normal(size=(2, n, *loss.outputs(y)))
    weight = rng.uniform(0.5, 2.0, n)
    assert loss.task in get_args(Task), f"{loss!r}: task {loss.task!r}"

    total = float(loss.total(y, f))
    assert np.isfinite(total), f"{loss!r}: total is {total}"
    if not loss.coupled:
        value = loss.value(y, f)
        assert value.shape == (n,), f"{loss!r}: value has shape {value.shape}"
        assert np.all(value >= 0), f"{loss!r}: a loss is not negative"
        _close(total, np.sum(value), 1e-12, "total", loss)
        _close(loss.total(y, f, weight), weight @ value, 1e-12, "weighted total", loss)
    _close(loss.total(y, f, np.ones(n)), total, 1e-12, "weights of one", loss)
    if loss.convex:
        measure = loss.total if loss.coupled else loss.value
        for a, b in ((f, g), (5 * f, 5 * g)):
            chord = 0.3 * measure(y, a) + 0.7 * measure(y, b)
            above = chord - measure(y, 0.3 * a + 0.7 * b)
            assert np.all(above >= -1e-12 * (1 + np.abs(chord))), f"{loss!r}: not convex"

    copy, same = pickle.loads(pickle.dumps(loss)), clone(loss)
    assert repr(copy) == repr(same) == repr(loss), f"{loss!r}: pickle or clone"
    _close(copy.total(y, f), total, 0.0, "pickled copy", loss)

    _check_derivatives(loss, y, f, weight, rng)
    _check_dual(loss, y, f, rng)
    if "link_inverse" in loss.provides:
        _check_link(loss, y)
    arguments: dict[str, Any] = {"prox": (y, f, 1.0), "box": (y, weight), "hessian_product": (y, f, f)}
    for name in set(ABILITIES) - loss.provides:
        try:
            getattr(type(loss), name)(loss, *arguments.get(name, (f,) if "link" in name else (y, f)))
        except NotImplementedError:
            continue
        raise AssertionError(f"{loss!r}: {name} is not announced, and does not raise NotImplementedError")
    _check_arrays(loss, y, f, weight, namespaces)


def _check_derivatives(loss: Loss, y: Array, f: np.ndarray, weight: np.ndarray, rng: np.random.Generator) -> None:
    provides, h, size = loss.provides, 1e-5, f.size
    bumps = h * np.eye(size).reshape(size, *f.shape)
    if "gradient" not in provides:
        return
    numeric = [float(loss.total(y, f + e, weight) - loss.total(y, f - e, weight)) / (2 * h) for e in bumps]
    _close(loss.gradient(y, f, weight), np.reshape(numeric, f.shape), 1e-7, "gradient", loss)
    _close(loss.gradient(y, f, np.ones(len(f))), loss.gradient(y, f), 1e-12, "gradient with weights of one", loss)
    if not provides & {"hessian", "hessian_product", "majorizer"}:
        return
    columns = [(loss.gradient(y, f + e, weight) - loss.gradient(y, f - e, weight)) / (2 * h) for e in bumps]
    H = np.stack([c.ravel() for c in columns], axis=1)
    if "hessian" in provides:
        _close(_matrix(loss.hessian(y, f, weight), f), H, 1e-7, "hessian", loss)
    if "hessian_product" in provides:
        V = rng.normal(size=(*f.shape, 3))
        expected = (H @ V.reshape(size, 3)).reshape(V.shape)
        _close(loss.hessian_product(y, f, V, weight), expected, 1e-6, "hessian_product", loss)
        _close(loss.hessian_product(y, f, V[..., 0], weight), expected[..., 0], 1e-6, "hessian_product", loss)
        one = loss.hessian_product(y, f, V[..., 0], np.ones(len(f)))
        _close(loss.hessian_product(y, f, V[..., 0]), one, 1e-12, "hessian_product with weights of one", loss)
    if "majorizer" in provides:
        M = _matrix(loss.majorizer(y, f, weight), f)
        scale = max(1.0, np.abs(M).max())
        for name, A in (("the Hessian", M - (H + H.T) / 2), ("0", M)):
            assert np.linalg.eigvalsh(A)[0] >= -1e-6 * scale, f"{loss!r}: majorizer is less than {name}"


def _matrix(blocks: Any, f: np.ndarray) -> np.ndarray:
    """The matrix that has these blocks, or numbers, on its diagonal."""
    if blocks.shape == f.shape:
        return np.diag(blocks.ravel())
    assert blocks.shape == (*f.shape, f.shape[-1]), f"blocks of shape {blocks.shape} for f of shape {f.shape}"
    return block_diag(*blocks)


def _check_dual(loss: Loss, y: Array, f: np.ndarray, rng: np.random.Generator) -> None:
    """Assert what is said of the proximal map, the conjugate and the box of a convex separable loss."""
    provides, n = loss.provides, len(f)

    def dot(a: Array, b: Array) -> Any:
        return np.reshape(a * b, (n, -1)).sum(axis=1)

    def moreau(p: Array, step: Array) -> Any:
        return loss.value(y, p) + dot(p - f, p - f) / (2 * step)

    if "prox" in provides:
        for step in (0.1, 1.0, 10.0, 10 ** rng.uniform(-2, 2, n)):
            p = loss.prox(y, f, step)
            assert p.shape == f.shape, f"{loss!r}: prox has shape {p.shape}"
            u = (f - p) / np.reshape(step, (-1, *(1,) * (f.ndim - 1)))
            for size in np.logspace(-6, 1, 50):
                d = size * rng.normal(size=f.shape)
                rise = moreau(p + d, step) - moreau(p, step)
                assert np.all(rise >= -1e-10 * (1 + moreau(p, step))), f"{loss!r}: prox is no minimum"
                # of convex losses, where the minimum is flat to rounding: (f − p)/step is a subgradient at p
                above = loss.value(y, p + d) - loss.value(y, p) - dot(u, d)
                rounding = 1e-10 * (1 + loss.value(y, p) + np.abs(dot(u, d)))
                assert np.all(above >= -rounding), f"{loss!r}: prox is off, {above.min():g}"
    if "conjugate" in provides:
        u = loss.gradient(y, f)
        _close(loss.value(y, f) + loss.conjugate(y, u), dot(u, f), 1e-10, "Fenchel's equality at the gradient", loss)
        for _ in range(20):
            other, at = loss.gradient(y, 3 * rng.normal(size=f.shape)), 3 * rng.normal(size=f.shape)
            for candidate in (other, rng.normal(size=f.shape)):
                gap = loss.value(y, at) + loss.conjugate(y, candidate) - dot(candidate, at)
                assert np.all(gap >= -1e-10), f"{loss!r}: Fenchel's inequality fails by {gap.min():g}"
    if "box" in provides:
        bound = rng.uniform(0.3, 3.0, n)
        boxes = loss.box(y, bound)
        for k, box in enumerate(boxes):
            assert np.all((box.lower <= 0) & (box.upper >= 0)), f"{loss!r}: box {k} does not contain 0"
            near, far = np.clip(box.lower, -5, 0), np.clip(box.upper, 0, 5)
            ridge = 0.0 if box.ridge is None else box.ridge
            for share in (0.0, 0.25, 0.8, 1.0):
                beta = near + share * (far - near)
                term = 0.5 * ridge * beta**2 - box.linear * beta
                _close(bound * loss.conjugate(y, -beta / bound), term, 1e-10, f"box {k} against the conjugate", loss)
        ends = {"lower": sum(box.lower for box in boxes), "upper": sum(box.upper for box in boxes)}
        for name, end in ends.items():
            beyond = np.clip(end, -1e99, 1e99) + (1e-6 if name == "upper" else -1e-6)
            outside = loss.conjugate(y, -beyond / bound) == np.inf
            assert np.all(outside == (np.abs(end) < 1e299)), (
                f"{loss!r}: the {name} bound of the box is not the domain's"
            )
        idle = loss.box(y, np.zeros(n))
        assert all(np.all(box.lower == 0) and np.all(box.upper == 0) for box in idle), f"{loss!r}: a box of weight zero"


def _check_link(loss: Loss, y: Array) -> None:
    """Assert that the link rises, entry by entry, and that it and its inverse are inverse."""
    t = np.linspace(-30, 30, 200)
    for j in range(loss.outputs(y)[0] if loss.outputs(y) else 1):
        f = t
        if loss.outputs(y):
            f = np.zeros((len(t), *loss.outputs(y)))
            f[:, j] = t
        mean = loss.link_inverse(f)
        assert mean.shape == f.shape, f"{loss!r}: link_inverse has shape {mean.shape}"
        assert np.all(np.diff(mean if f.ndim == 1 else mean[:, j]) >= 0), f"{loss!r}: the link is not monotone"
        inner = loss.link_inverse(f[80:120])
        _close(loss.link_inverse(loss.link(inner)), inner, 1e-12, "link of link_inverse", loss)


def _check_arrays(loss: Loss, y: Array, f: np.ndarray, weight: np.ndarray, namespaces: Any) -> None:
    """Other array libraries, float32 and NumPy's numbers as parameters give the same, in the type of f."""
    step, provides = weight, loss.provides
    arguments: dict[str, Any] = dict.fromkeys(("total", "gradient", "hessian", "majorizer"), (y, f, weight))
    arguments |= {"value": (y, f), "hessian_product": (y, f, f, weight), "prox": (y, f, step), "link_inverse": (f,)}
    if "conjugate" in provides:
        arguments["conjugate"] = (y, loss.gradient(y, f))
    names = {"total"} | (set() if loss.coupled else {"value"}) | (provides & set(arguments))
    imposing = {k: np.float64(v) for k, v in loss.get_params(deep=False).items() if type(v) is float}
    typed = clone(loss).set_params(**imposing)
    for xp in namespaces:
        for dtype, tol in (("float64", 1e-10), ("float32", 1e-4)):
            kind = move(f, xp, dtype)
            for name in names:
                moved = getattr(typed, name)(*(move(a, xp, dtype) for a in arguments[name]))
                assert moved.dtype == kind.dtype, f"{loss!r}: {name} of {dtype} gave {moved.dtype}"
                assert name == "total" or isinstance(moved, type(kind)), f"{loss!r}: {name} gave {type(moved)}"
                expected = getattr(loss, name)(*arguments[name])
                _close(moved, expected, tol, f"{name} on {xp.__name__} {dtype}", loss)
