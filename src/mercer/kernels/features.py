"""Kernels with explicit features, k(x, y) = ⟨φ(x), φ(y)⟩: a user's φ, eigenfunctions, Fourier modes, wavelets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, reduce
from math import pi, sqrt
from operator import mul
from typing import Any, ClassVar

import numpy as np

from .._array import apply_host, host, is_array, is_sparse, like, namespace, product_transposed, row_products
from .._errors import FROM_ZERO, NOT_NEGATIVE, POSITIVE, check_number, optional, where
from ..domains import Anything, Domain, Vectors
from ..types import Array, Checked
from ._base import Kernel, register
from ._definiteness import PD
from ._parts import column_products

HAAR = ("haar", "db1")
DEPTH = 10  # wavelets are tabulated at multiples of 2**-DEPTH and interpolated linearly


def _checked(values: Array, n: int, owner: object, function: Any) -> Any:
    """Check the output of a user's function and return it as an (n, p) array of finite floating-point numbers."""
    name = getattr(function, "__name__", repr(function))
    if not is_array(values) and not is_sparse(values):
        raise TypeError(
            f"{where(owner)}: {name} returned type {type(values).__name__}; it must return an array of shape (n, p)."
        )
    if len(values.shape) != 2 or values.shape[0] != n or values.shape[1] == 0:
        raise ValueError(
            f"{where(owner)}: {name} returned shape {tuple(values.shape)} for {n} samples; expected ({n}, p), p >= 1."
        )
    xp = namespace(values)
    if xp.isdtype(values.dtype, "complex floating"):
        raise ValueError(f"{where(owner)}: {name} returned complex values; return real and imaginary parts as columns.")
    if not xp.isdtype(values.dtype, "real floating"):
        values = values.astype(np.float64) if is_sparse(values) else xp.astype(values, xp.float64)
    entries = values.data if is_sparse(values) else values
    if not bool(xp.all(xp.isfinite(entries))):
        raise ValueError(f"{where(owner)}: {name} returned NaN or infinity; restrict it to samples where it is finite.")
    return values


def _square(X: Checked) -> Any:
    return X * X


def _bump(X: Checked) -> Any:
    return namespace(X).exp(-(X**2))


def _first(X: Checked) -> Any:
    return X[:, 0]


def _product(X: Checked) -> Any:
    return X[:, 0] * X[:, 1]


class Explicit(Kernel):
    """Base class of kernels defined by their features."""

    proven = PD
    abilities: ClassVar[tuple[str, ...]] = ("feature_map",)

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        Z = self.features(X)
        return product_transposed(Z, Z if Y is None else self.features(Y))

    def evaluate_diag(self, X: Checked) -> Any:
        Z = self.features(X)
        return row_products(Z, Z)


class _Coordinatewise(Explicit):
    """A product over coordinates of one kernel, with features `modes` of a single coordinate."""

    def modes(self, x: Array) -> Any:
        """The (n, p) features of one column."""
        raise NotImplementedError

    def _columns(self, X: Checked) -> list[Any]:
        return [self.modes(X[:, j]) for j in range(X.shape[1])]

    def features(self, X: Checked) -> Any:
        return column_products(self._columns(X))

    def feature_count(self, X: Checked) -> int:
        return int(self.modes(X[:1, 0]).shape[1]) ** int(X.shape[1])

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        Z = self._columns(X)
        W = Z if Y is None else self._columns(Y)
        return reduce(mul, (product_transposed(a, b) for a, b in zip(Z, W, strict=True)))

    def evaluate_diag(self, X: Checked) -> Any:
        return reduce(mul, (row_products(Z, Z) for Z in self._columns(X)))


@register
class Features(Explicit):
    r"""Kernel of a user-defined feature map.

    .. math:: k(x, y) = \langle f(x), f(y) \rangle

    Parameters
    ----------
    function : callable
        f. Maps a collection of n samples, passed as given, to an (n, p) array or CSR matrix of finite numbers. A
        named function (not a lambda) keeps the kernel picklable.

    Notes
    -----
    Positive definite for any f. Its space consists of the functions wᵀf(x), with the smallest such ‖w‖ as norm; a Gram
    matrix has rank at most p and costs O(nmp).

    References
    ----------
    Schölkopf, Smola, *Learning with Kernels* (2002), section 2.2.

    Examples
    --------
    >>> def lengths(words):
    ...     return np.array([[1.0, len(word)] for word in words])
    >>> Features(lengths)(["a", "kernel"])
    array([[ 2.,  7.],
           [ 7., 37.]])
    """

    trials = [(_square,), (_bump,)]
    domain: Domain = Anything()

    def __init__(self, function: Callable[[Any], Any]):
        self.function = function

    def validate(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Features: function = {self.function!r} must be callable and return an (n, p) array.")

    def features(self, X: Checked) -> Any:
        return _checked(self.function(X), self.domain.size(X), self, self.function)


@register
class MercerSeries(Explicit):
    r"""Kernel with a prescribed Mercer expansion.

    .. math:: k(x, y) = \sum_j \lambda_j \psi_j(x) \psi_j(y)

    Parameters
    ----------
    eigenvalues : sequence of float >= 0
        λ. Raising λⱼ penalises the component along ψⱼ less: ‖Σ cⱼψⱼ‖² = Σ cⱼ²/λⱼ for linearly independent ψⱼ.
    eigenfunctions : callable or list of callables
        One function from a collection of n samples to the (n, p) array of ψⱼ(xᵢ), or p functions that return n values.

    Notes
    -----
    Positive definite for any functions; they are the eigenfunctions of the kernel's integral operator if they are
    orthonormal with respect to its measure. The feature map is √λⱼ ψⱼ.

    References
    ----------
    Steinwart, Christmann, *Support Vector Machines* (2008), theorems 4.49 and 4.51.

    Examples
    --------
    >>> k = MercerSeries([1.0, 0.25], [np.ones_like, np.sin])
    >>> k(np.array([0.0, np.pi / 2]))
    array([[1.  , 1.  ],
           [1.  , 1.25]])
    """

    trials = [([1.0, 0.5, 0.0], _square), (np.array([2.0, 0.1]), [_first, _product])]
    domain: Domain = Anything()

    def __init__(self, eigenvalues: Any, eigenfunctions: Callable[[Any], Any] | Sequence[Callable[[Any], Any]]):
        self.eigenvalues, self.eigenfunctions = eigenvalues, eigenfunctions

    def validate(self) -> None:
        if np.ndim(host(self.eigenvalues)) != 1:
            raise ValueError(f"MercerSeries: eigenvalues = {self.eigenvalues!r} must be a sequence of numbers >= 0.")
        if len(self.eigenvalues) == 0:
            raise ValueError("MercerSeries: eigenvalues is empty; pass at least one.")
        for j, value in enumerate(host(self.eigenvalues).tolist()):
            check_number(self, f"eigenvalues[{j}]", value, at_least=0)
        functions: Any = self.eigenfunctions
        if callable(functions):
            return
        if not isinstance(functions, (list, tuple)) or not all(callable(psi) for psi in functions):
            raise TypeError(f"MercerSeries: eigenfunctions = {functions!r} must be a function or a list of functions.")
        if len(functions) != len(self.eigenvalues):
            raise ValueError(
                f"MercerSeries: {len(self.eigenvalues)} eigenvalues and {len(functions)} eigenfunctions; "
                "pass one eigenvalue per function."
            )

    def features(self, X: Checked) -> Any:
        n, p = self.domain.size(X), len(self.eigenvalues)
        if callable(self.eigenfunctions):
            values = _checked(self.eigenfunctions(X), n, self, self.eigenfunctions)
            if values.shape[1] != p:
                raise ValueError(
                    f"MercerSeries: {p} eigenvalues, but eigenfunctions returned {values.shape[1]} columns."
                )
        else:
            columns = []
            for psi in self.eigenfunctions:
                column = psi(X)
                column = column[:, None] if is_array(column) and column.ndim == 1 else column
                if is_array(column) and tuple(column.shape) != (n, 1):
                    name = getattr(psi, "__name__", repr(psi))
                    raise ValueError(f"MercerSeries: {name} returned shape {tuple(column.shape)}; expected {n} values.")
                columns.append(_checked(column, n, self, psi))
            values = namespace(*columns).concat(columns, axis=1)
        root = np.sqrt(host(self.eigenvalues).astype(np.float64))
        return values.multiply(root[None, :]).tocsr() if is_sparse(values) else values * like(root, values)


@register
class Fourier(_Coordinatewise):
    r"""Truncated Fourier series with weights that decay like those of a Sobolev space of periodic functions.

    .. math:: k(x, y) = \prod_i \sum_{j=0}^{n} (1 + j)^{-2s} \cos\frac{2\pi j (x_i - y_i)}{p}

    Parameters
    ----------
    period : float > 0
        p.
    decay : float >= 0
        s. Raising it damps high frequencies and makes functions smoother. 0 gives all frequencies the same weight: the
        Dirichlet kernel.
    n : int >= 0
        Highest frequency; each coordinate has 2n + 1 features.

    Notes
    -----
    Positive definite. In one dimension its space consists of the trigonometric polynomials of degree n with
    ‖f‖² = Σⱼ (1 + j)²ˢ (aⱼ² + bⱼ²), where aⱼ and bⱼ are the coefficients of cos and sin; for n → ∞ it is the Sobolev
    space of order s. The kernel is a product over coordinates, as in `Periodic`; for a sum write ``k.on(0) + k.on(1)``.
    A matrix costs O(nmd) times 2n + 1; the explicit feature map has (2n + 1)**d columns.

    References
    ----------
    Wahba, *Spline Models for Observational Data* (1990), section 2.1.

    Examples
    --------
    >>> Fourier(period=1.0, decay=0.0, n=2)([[0.0]], [[0.5]])
    array([[1.]])
    """

    trials = [(3.0, 1.0, 3), (0.7, 0.0, 2)]
    domain = Vectors()
    rules = {"period": POSITIVE, "decay": NOT_NEGATIVE, "n": FROM_ZERO}

    def __init__(self, period: float = 1.0, decay: float = 1.0, n: int = 10):
        self.period, self.decay, self.n = period, decay, n

    def modes(self, x: Array) -> Any:
        xp = namespace(x)
        j = np.arange(self.n + 1)
        weights = like((1.0 + j) ** -self.decay, x)
        turns = x / float(self.period)
        # subtract whole periods first: the sine of a large angle is lost to rounding
        angles = (2 * pi) * (turns - xp.floor(turns))[:, None] * like(j, x)
        return xp.concat([weights * xp.cos(angles), weights[1:] * xp.sin(angles[:, 1:])], axis=1)


@register
class Wavelet(_Coordinatewise):
    r"""Kernel with wavelet features on the unit cube.

    .. math:: k(x, y) = \prod_i \Big( \sum_k \varphi_k(x_i) \varphi_k(y_i)
              + \sum_{j=0}^{J-1} 2^{-2js} \sum_k \psi_{jk}(x_i) \psi_{jk}(y_i) \Big)

    with :math:`\varphi_k(x) = \varphi(x - k)` and :math:`\psi_{jk}(x) = 2^{j/2} \psi(2^j x - k)`, over all shifts k
    whose support meets [0, 1].

    Parameters
    ----------
    family : str
        "haar" (also called "db1"), or another orthogonal family of PyWavelets ("db2", "sym4", "coif1", …; needs the
        extra `wavelets`). Longer filters are smoother.
    levels : int >= 0
        J, the number of scales; the finest wavelets have a width of the order of 2**(1 − J).
    smoothness : float >= 0
        s. Raising it damps fine scales; for sufficiently regular ψ and J → ∞ the space is the Sobolev space of order s.

    Notes
    -----
    Positive definite; a product over coordinates, all in [0, 1]. Haar is computed in closed form, on intervals closed
    on the left (the last one on both sides), and has 2**levels features per coordinate. The other families are exact at
    multiples of 2⁻¹⁰, by the refinement equation, and linear in between; they are computed on the host. The restriction
    to [0, 1] makes functions that cross its ends non-orthogonal.

    References
    ----------
    Daubechies, *Ten Lectures on Wavelets* (1992), sections 6.5 and 9.2; Amato, Antoniadis, Pensky, *Wavelet kernel
    penalized estimation for non-equispaced design regression* (2006).

    Examples
    --------
    >>> Wavelet("haar", levels=1)([[0.1], [0.3], [0.8]])
    array([[2., 2., 0.],
           [2., 2., 0.],
           [0., 0., 2.]])
    """

    trials = [("haar", 3), ("haar", 2, 0.25)]
    domain = Vectors(lower=0.0, upper=1.0)

    def __init__(self, family: str = "haar", levels: int = 4, smoothness: float = 1.0):
        self.family, self.levels, self.smoothness = family, levels, smoothness

    def validate(self) -> None:
        check_number(self, "levels", self.levels, at_least=0, integer=True)
        check_number(self, "smoothness", self.smoothness, at_least=0)
        if not isinstance(self.family, str):
            raise TypeError(f"Wavelet: family = {self.family!r} must be a name, for example 'haar' or 'db2'.")
        if self.family not in HAAR:
            _filter(self.family)

    def modes(self, x: Array) -> Any:
        scales = [2.0 ** (j * (0.5 - float(self.smoothness))) for j in range(self.levels)]
        xp = namespace(x)
        if self.family in HAAR:
            parts = [xp.ones_like(x)[:, None], *(_haar(x, j) * c for j, c in enumerate(scales))]
        else:
            support = len(_filter(self.family)) - 1
            parts = [_shifted(self.family, 0, x, 1 - support, 1)]
            parts += [_shifted(self.family, 1, 2**j * x, 1 - support, 2**j) * c for j, c in enumerate(scales)]
        return xp.concat(parts, axis=1)


def _haar(x: Array, level: int) -> Any:
    """ψ(2ʲx − k) for k = 0 … 2ʲ − 1: 1 on the left half of each cell, −1 on the right."""
    xp = namespace(x)
    t = 2**level * x
    cell = xp.clip(xp.floor(t), 0, 2**level - 1)
    sign = xp.where(t - cell < 0.5, xp.ones_like(t), -xp.ones_like(t))
    return xp.where(cell[:, None] == like(np.arange(2**level), x), sign[:, None], 0.0)


def _shifted(family: str, which: int, t: Array, first: int, stop: int) -> Any:
    """φ (which = 0) or ψ (1) at t − k for the shifts k = first … stop − 1."""
    table = _tabulated(family)
    grid = np.arange(len(table[0])) * 2.0**-DEPTH
    shifts = like(np.arange(first, stop), t)
    return apply_host(lambda u: np.interp(u, grid, table[which], left=0.0, right=0.0), t[:, None] - shifts)


@cache
def _filter(family: str) -> np.ndarray:
    """The low-pass filter h of an orthogonal family, with Σ h = √2."""
    pywt = optional("pywt", "wavelets", f"Wavelet(family={family!r})")
    # "dmey" is a truncated filter, for which the refinement equation has no solution
    discrete = [name for name in pywt.wavelist(kind="discrete") if name != "dmey" and name not in HAAR]
    known = [name for name in discrete if pywt.Wavelet(name).orthogonal]
    if family not in known:
        raise ValueError(
            f"Wavelet: family = {family!r} is unknown; choose haar, db2 … db38, sym2 … sym20 or coif1 … coif17."
        )
    return np.asarray(pywt.Wavelet(family).rec_lo)


@cache
def _tabulated(family: str) -> tuple[np.ndarray, np.ndarray]:
    """φ and ψ at multiples of 2**-DEPTH in their support [0, N]."""
    # φ(x) = √2 Σ_k h_k φ(2x − k): at the integers φ is the eigenvector of the matrix (√2 h_{2i−k})ᵢₖ for the eigenvalue
    # 1 with sum 1, and each finer level follows from the one before (Daubechies, section 6.5).
    h = _filter(family)
    N = len(h) - 1
    lag = 2 * np.arange(N + 1)[:, None] - np.arange(N + 1)[None, :]
    A = sqrt(2) * np.where((lag >= 0) & (lag <= N), h[np.clip(lag, 0, N)], 0.0)
    system = np.vstack([A - np.eye(N + 1), np.ones(N + 1)])
    phi = np.linalg.lstsq(system, np.eye(N + 2)[-1], rcond=None)[0]
    for level in range(DEPTH):
        phi = _refined(h, phi, 2**level)
    mirrored = h[::-1] * (-1.0) ** np.arange(N + 1)
    return phi, _refined(mirrored, phi, 2**DEPTH)[::2]


def _refined(h: np.ndarray, phi: np.ndarray, per_unit: int) -> np.ndarray:
    """√2 Σ_k h_k φ(2x − k) on a grid twice as fine, from φ on a grid with `per_unit` points per unit."""
    fine = np.zeros(2 * len(phi) - 1)
    for k, weight in enumerate(h):
        start = k * per_unit
        fine[start : start + len(phi)] += sqrt(2) * weight * phi
    return fine
