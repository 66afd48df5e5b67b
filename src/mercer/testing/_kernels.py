"""Laws that a kernel must satisfy."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from scipy.stats import multivariate_t
from sklearn.base import clone

from .._array import host
from ..kernels import Kernel
from ..types import Array, Data
from ._arrays import close, move


def check_kernel(kernel: Kernel, X: Data = None, *, namespaces: Any = (), seed: int = 0) -> None:
    """Assert the laws of a kernel on a sample: symmetry, consistency, value semantics, claimed definiteness, abilities.

    Parameters
    ----------
    kernel : Kernel
    X : collection, optional
        At least four distinct members; by default, drawn from the kernel's domain.
    namespaces : sequence of array namespaces
        Further array libraries to compare with NumPy, in float32 and float64.
    seed : int
        Seed of the sample.

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

    # the matrix, its diagonal, its blocks and its single values agree
    K = kernel(X)
    assert K.shape == (n, n), f"{kernel!r}: k(X) has shape {K.shape}"
    close(K, host(K).T, 1e-12, "symmetry", kernel)
    close(kernel.diag(X), np.diagonal(host(K)), 1e-9, "diag", kernel)
    if Y is not None:
        close(kernel(X, X), K, 1e-9, "k(X, X) against k(X)", kernel)
        close(kernel(domain.take(X, rows), Y), host(K)[rows, n // 2 :], 1e-9, "k(X, Y)", kernel)
        one, two = domain.take(X, slice(0, 1)), domain.take(X, slice(2, 3))
        close(kernel(one, two), host(K)[:1, 2:3], 1e-9, "a single value", kernel)
        held = kernel.points(X)
        first, last = held.take(np.arange(n // 2)), held.take(np.arange(n // 2, n))
        close(first.matrix(last), host(K)[: n // 2, n // 2 :], 1e-9, "points", kernel)
        close(kernel.points(Y, held).matrix(first), host(K)[n // 2 :, : n // 2], 1e-9, "points beside", kernel)
        order = rng.permutation(n)
        close(kernel(domain.take(X, order)), host(K)[np.ix_(order, order)], 1e-9, "permutation of the sample", kernel)

    report = kernel.check(X)
    assert report.ok, f"{kernel!r}: {report!r}"

    # value semantics
    assert clone(kernel) == kernel and clone(kernel) is not kernel, f"{kernel!r}: clone"
    copy = pickle.loads(pickle.dumps(kernel))
    assert copy == kernel, f"{kernel!r}: pickle"
    close(copy(X), K, 0.0, "pickled copy", kernel)
    assert clone(kernel).set_params(**kernel.get_params(deep=False)) == kernel, f"{kernel!r}: set_params(get_params)"
    assert kernel.resolve(X) == kernel, f"{kernel!r}: resolve of a kernel without data-driven parameters"

    _check_types(kernel, X, Y, K, namespaces)
    _check_abilities(kernel, X, rng)


def _check_types(kernel: Kernel, X: Data, Y: Data, K: Array, namespaces: Any) -> None:
    """float32, CSR and other array libraries give the same values, in their own type."""
    domain = kernel.domain
    if domain.vectors:
        single = kernel(host(X).astype("float32"))
        assert single.dtype == np.float32, f"{kernel!r}: float32 input gave {single.dtype}"
        close(single, K, 2e-4, "float32", kernel)
        held = kernel.points(host(X).astype("float32"))
        filled, places = np.full((2, len(held)), np.nan, dtype="float32"), np.array([1, 0])
        held.take(places).fill(filled, places, held, 0, len(held))
        close(filled[:, 2:], host(K)[:2, 2:], 2e-4, "rows filled in float32", kernel)
        assert kernel.diag(host(X).astype("float32")).dtype == np.float32, f"{kernel!r}: diag of float32"
        numpy_scalar = {float: np.float64, int: np.int64}  # unlike Python's numbers, these can change the dtype
        values = {name: numpy_scalar[type(v)](v) for name, v in kernel.get_params().items() if type(v) in numpy_scalar}
        typed = clone(kernel).set_params(**values)(host(X).astype("float32"))
        assert typed.dtype == np.float32, f"{kernel!r}: float32 input gave {typed.dtype} with NumPy scalars"
        if domain.sparse:
            from scipy.sparse import csr_array

            S = csr_array(np.where(np.abs(host(X)) > 0.3, host(X), 0.0))
            close(kernel(S), kernel(S.toarray()), 1e-9, "CSR", kernel)
            close(kernel.diag(S), kernel.diag(S.toarray()), 1e-9, "CSR diag", kernel)
            close(kernel(S, S[:3]), kernel(S.toarray(), S.toarray()[:3]), 1e-9, "CSR cross", kernel)
    if not domain.arrays and not isinstance(X, tuple):
        return
    for xp in namespaces:
        for dtype, tol in (("float64", 1e-8), ("float32", 2e-4)):
            A = move(X, xp, dtype)
            for value in (kernel(A), kernel.diag(A)):
                assert isinstance(value, type(A[0] if isinstance(A, tuple) else A)), (
                    f"{kernel!r}: {xp.__name__} became {type(value)}"
                )
            close(kernel(A), K, tol, f"{xp.__name__} {dtype}", kernel)
            close(kernel.diag(A), np.diagonal(host(K)), tol, f"diag on {xp.__name__} {dtype}", kernel)
            if Y is not None:
                close(
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
        close(G, numeric, 1e-5, "gradient_x", kernel)
        assert np.all(np.isfinite(kernel.gradient_x(A))), f"{kernel!r}: gradient_x at x = y is not finite"
    if "mixed_xy" in provides:
        M = kernel.mixed_xy(A, B)
        numeric = np.stack(
            [(kernel.gradient_x(A, B + e) - kernel.gradient_x(A, B - e)) / (2 * h) for e in steps], axis=-1
        )
        close(M, numeric, 1e-4, "mixed_xy", kernel)
        assert np.all(np.isfinite(kernel.mixed_xy(A))), f"{kernel!r}: mixed_xy at x = y is not finite"
    if "gradient_theta" in provides:
        gradients = kernel.gradient_theta(X)
        for name, G in gradients.items():
            value = kernel.get_params()[name]
            for index in np.ndindex(np.shape(value)):  # for a scalar, the empty index
                bump = np.zeros(np.shape(value))
                bump[index] = h
                up, down = (clone(kernel).set_params(**{name: value + s * bump}) for s in (1, -1))
                close(G[(..., *index)], (up(X) - down(X)) / (2 * h), 1e-5, f"gradient in {name}{index or ''}", kernel)
    if "feature_map" in provides:
        Z = host(kernel.feature_map(X))
        close(Z @ Z.T, kernel(X), 1e-9, "feature_map", kernel)
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
    """Check that k ≥ 0 has the integral exp(`log_normalizer`), and that draws, dilations and convolution match it."""
    h = 1.7
    wide, zero = kernel.dilated(h), np.zeros((1, d))
    A, B = rng.normal(size=(5, d)), rng.normal(size=(4, d))
    close(wide(A, B), kernel(A / h, B / h), 1e-9, "dilated", kernel)
    one, other = kernel.log_dilated(A, B, [1.0, h])
    close(np.exp(one), kernel(A, B), 1e-9, "log_dilated", kernel)
    close(np.exp(other), wide(A, B), 1e-9, "log_dilated", kernel)
    at = np.geomspace(1e-3, 1e3, 25)
    beyond = kernel.reach(np.array([-0.1, -5.0, -300.0]))
    for level, s in zip((-0.1, -5.0, -300.0), beyond, strict=True):
        if s < np.inf:
            far = kernel.in_dimension_of(A).log_profile(s * (1 + 1e-9) + at, np)
            assert np.all(far <= level + 1e-9 * abs(level)), f"{kernel!r}: reach({level:g}) is too short"
    mass = kernel.log_normalizer(d)
    if mass == np.inf:
        return
    assert abs(wide.log_normalizer(d) - mass - d * np.log(h)) < 1e-10, f"{kernel!r}: log_normalizer of the dilation"

    # integrals by importance sampling from Student's t, whose tails are heavier than those of integrable kernels
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
        inside = host(kernel(draws, zero))[:, 0] / np.exp(mass)  # the mean is the convolution's density at 0
        _agree(inside, float(twice.diag(zero)[0]) / np.exp(twice.log_normalizer(d)), 0.0, "self_convolution", kernel)
        again = twice.density_sample(n // 2, d, rng)
        wave = np.cos(again @ (1 / scale))
        error = np.std(wave) / np.sqrt(n // 2)
        _agree(np.cos(pairs @ (1 / scale)), np.mean(wave), error, "self_convolution", kernel)


def _agree(draws: np.ndarray, value: float, error: float, what: str, kernel: Any) -> None:
    """Assert that the mean of draws is `value`, which has the standard error `error`."""
    spread = float(np.hypot(np.std(draws) / np.sqrt(len(draws)), error))
    found = float(np.mean(draws))
    assert abs(found - value) <= 6 * spread + 1e-12, f"{kernel!r}: {what}: {found:g} for {value:g} ± {spread:g}"
