"""The value of a kernel as an expression in squared distances and inner products, recorded from its own formula.

`Kernel.formula` is written in terms of `Pairs`. Called with symbols instead of arrays, it returns the `Symbol` of an
expression tree; called with numbers, the value. What does anything else than arithmetic with a symbol cannot be traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, log2
from types import SimpleNamespace
from typing import Any, NoReturn

import numpy as np

from ..types import Array, Checked, DType, Evaluable, Namespace

LOG2E = 1 / log(2)
STEEP = 8.0  # powers up to which rounding 1 + x costs no more than a few digits of (1 + x)ᵖ
DEEP = 100  # operations one after the other, up to which a program is compiled in seconds
HALVES = 64  # powers of p/2 up to this p are products of roots


class Untraceable(AttributeError):
    """A formula asks more of a symbol than arithmetic."""


class Symbol:
    """An operation on symbols; a constant has its value as `value`, a geometry its number.

    Attributes
    ----------
    leaves, operations : frozenset
        The numbers of the geometries, and the operations, in the expression.
    depth : int
        The length of the longest chain of operations.
    """

    __array_ufunc__ = None  # so that NumPy's numbers leave arithmetic to symbols

    def __init__(self, op: str, *parts: Symbol, value: Any = None, dtype: DType = None):
        self.op, self.parts, self.value = op, parts, value
        self.dtype: Any = parts[-1].dtype if parts else dtype
        own = frozenset({value} if op == "geometry" else ())
        self.leaves: frozenset[int] = own.union(*(part.leaves for part in parts))
        self.operations: frozenset[str] = frozenset({op}).union(*(part.operations for part in parts))
        self.depth: int = 1 + max((part.depth for part in parts), default=0)

    def __add__(self, other: Any) -> Symbol:
        other = self.like(other)
        if 0.0 in (self.number, other.number):
            return other if self.number == 0 else self
        return Symbol("+", self, other)

    __radd__ = __add__

    def __mul__(self, other: Any) -> Symbol:
        a, b = (self, self.like(other)) if self.number is not None else (self.like(other), self)
        return Symbol("*", a, b) if a.number is None else b._times(a.number)

    def _times(self, c: float) -> Symbol:
        """c · self, with c joined to other constants or moved into an exponent."""
        if self.number is not None:
            return self.like(c * self.number)
        if self.op == "*" and self.parts[0].number is not None:
            return self.parts[1]._times(c * self.parts[0].number)
        if self.op == "exp2" and c > 0:
            return Symbol("exp2", self.parts[0] + log2(c))
        if self.op == "*" and self.parts[1].op == "exp2" and c > 0:
            return Symbol("*", self.parts[0], self.parts[1]._times(c))
        return self if c == 1 else Symbol("*", self.like(c), self)

    __rmul__ = __mul__

    def __neg__(self) -> Symbol:
        return self * -1.0

    def __sub__(self, other: Any) -> Symbol:
        other = self.like(other)
        return Symbol("-", self, other) if other.number is None else self + -other.number

    def __rsub__(self, other: Any) -> Symbol:
        return Symbol("-", self.like(other), self)

    def __truediv__(self, other: Any) -> Symbol:
        other = self.like(other)
        if other.number is not None:
            return self * (1 / other.number)
        if other.op == "sqrt":
            return self * Symbol("rsqrt", *other.parts)
        return Symbol("/", self, other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self.like(other) / self

    def __pow__(self, power: float) -> Symbol:
        p = float(power)
        if p < 0:
            return 1.0 / self**-p
        if not (2 * p).is_integer() or p > HALVES:
            return Symbol("exp2", p * Symbol("log2", self))
        product, base, n = self.like(1.0), self, int(p)
        while n:
            product, base, n = (product * base if n & 1 else product), (base * base if n > 1 else base), n >> 1
        return product if p.is_integer() else product * Symbol("sqrt", self)

    def __abs__(self) -> Symbol:
        return Symbol("abs", self)

    def __lt__(self, other: Any) -> Symbol:
        return Symbol("<", self, self.like(other))

    def __le__(self, other: Any) -> Symbol:
        return Symbol("<=", self, self.like(other))

    def __gt__(self, other: Any) -> Symbol:
        return Symbol(">", self, self.like(other))

    def __ge__(self, other: Any) -> Symbol:
        return Symbol(">=", self, self.like(other))

    def _refuse(self, *_: Any) -> NoReturn:
        raise Untraceable("A symbol has no value.")

    __bool__ = __float__ = __int__ = __index__ = __array__ = __len__ = __iter__ = __getitem__ = _refuse

    def like(self, value: Any) -> Symbol:
        """A number as a symbol."""
        return value if type(value) is Symbol else Symbol("constant", value=float(value), dtype=self.dtype)

    @property
    def number(self) -> float | None:
        """The value of a constant."""
        return self.value if self.op == "constant" else None


def _exp(x: Symbol) -> Symbol:
    power, inner = (x.parts[0].number, x.parts[1]) if x.op == "*" else (1.0, x)
    if inner.op == "log1p" and power is not None and abs(power) <= STEEP:
        base = 1 + inner.parts[0]  # positive, so that a root of its reciprocal exists
        return Symbol("rsqrt", base) ** (-2 * power) if power < 0 and (2 * power).is_integer() else base**power
    return Symbol("exp2", x * LOG2E)


def _where(condition: Symbol, a: Any, b: Any) -> Symbol:
    return Symbol("where", condition, condition.like(a), condition.like(b))


def _clip(x: Symbol, min: float | None = None, max: float | None = None) -> Symbol:
    x = x if min is None else Symbol("maximum", x, x.like(min))
    return x if max is None else Symbol("minimum", x, x.like(max))


# The part of an array namespace in which formulas are written.
SYMBOLS: Any = SimpleNamespace(
    exp=_exp,
    log=lambda x: Symbol("log2", x) * log(2),
    log1p=lambda x: Symbol("log1p", x),
    sqrt=lambda x: Symbol("sqrt", x),
    tanh=lambda x: Symbol("tanh", x),
    abs=abs,
    pow=lambda x, p: x**p,
    where=_where,
    clip=_clip,
    maximum=lambda x, y: Symbol("maximum", x, x.like(y)),
    minimum=lambda x, y: Symbol("minimum", x, x.like(y)),
    astype=lambda x, dtype: _where(x, 1.0, 0.0),
    full_like=lambda x, value: x.like(value),
    zeros_like=lambda x: x.like(0.0),
    ones_like=lambda x: x.like(1.0),
    finfo=np.finfo,
)


class Geometry:
    """‖z(x) − z(y)‖² or z(x)ᵀz(y): z applies `maps` one after the other, and `scale` to differences from the mean."""

    def __init__(self, distances: bool, maps: tuple[Any, ...], scale: Any):
        self.distances, self.maps, self.scale, self.factor = distances, maps, scale, 0.0

    def image(self, X: Checked) -> Any:
        """The collection of the z(x), before `scale`."""
        for step in self.maps:
            X = step(X)
        return X


class Pairs:
    """All pairs of members of two collections: the argument of `Kernel.formula`.

    Attributes
    ----------
    X : collection
        A few members, from which a formula may read the number of columns.
    xp : namespace
        Of the values.
    """

    def __init__(self, X: Checked, values: Callable[[int], Any], xp: Namespace = SYMBOLS):
        self.X, self.xp, self._values = X, xp, values
        self._maps: tuple[Any, ...] = ()
        self.geometries: list[Geometry] = []

    def __call__(self, kernel: Evaluable) -> Any:
        """The values of a kernel."""
        order = type(kernel).__mro__
        if _place(order, "evaluate") < _place(order, "formula"):
            raise Untraceable(f"{type(kernel).__name__} has no formula for what it evaluates.")
        return kernel.formula(self)

    def distances(self, scale: Callable[[Any], Any] | None = None, factor: float = 1.0) -> Any:
        """factor · ‖A(x − y)‖² for the linear map A given by `scale`."""
        return factor * self._geometry(True, scale, factor)

    def products(self) -> Any:
        """xᵀy."""
        return self._geometry(False, None, 1.0)

    def mapped(self, image: Callable[[Any], Any]) -> Pairs:
        """The pairs of the images of the members."""
        pairs = Pairs(image(self.X), self._values, self.xp)
        pairs._maps, pairs.geometries = (*self._maps, image), self.geometries
        return pairs

    def _geometry(self, distances: bool, scale: Any, factor: float) -> Any:
        key = distances, self._maps, scale
        keys = [(known.distances, known.maps, known.scale) for known in self.geometries]
        if key not in keys:
            keys.append(key)
            self.geometries.append(Geometry(*key))
        i = keys.index(key)
        self.geometries[i].factor = max(self.geometries[i].factor, factor)
        return self._values(i)


def _place(order: tuple[type, ...], name: str) -> int:
    return next(i for i, cls in enumerate(order) if name in vars(cls))


def trace(kernel: Evaluable, X: Checked, dtype: DType, units: Sequence[float] = ()) -> Traced:
    """The expression of a kernel, with its geometries in the given units, and these geometries; None without one."""
    pairs = Pairs(X, lambda i: Symbol("geometry", value=i, dtype=dtype) * (units[i] if units else 1.0))
    try:
        value = pairs(kernel)
        whole = value.leaves == frozenset(range(len(pairs.geometries)))
        return (value, pairs.geometries) if whole and value.depth <= DEEP else None
    except Exception:  # whatever a formula raises when it meets a symbol
        return None


def sampled(kernel: Evaluable, X: Checked, values: list[Array]) -> np.ndarray:
    """The values of a kernel at the given values of its geometries."""
    with np.errstate(all="ignore"):
        return np.asarray(Pairs(X, values.__getitem__, np)(kernel))


Traced = tuple[Symbol, list[Geometry]] | None


class Printed:
    """An expression as assignments in a program over `tl`, with its constants as c0, c1, …"""

    def __init__(self, leaves: list[str]):
        self.lines: list[str] = []
        self.constants: list[float] = []
        self._leaves, self._names, self._known = leaves, dict[str, str](), dict[int, str]()

    def __call__(self, x: Symbol) -> str:
        """The name of the value of an expression."""
        if id(x) not in self._known:
            self._known[id(x)] = self._written(x)
        return self._known[id(x)]

    def _written(self, x: Symbol) -> str:
        if x.number is not None:
            return self._constant(x.number)
        if x.op == "geometry":
            return self._leaves[x.value]
        # tl.where would take the type of two plain numbers for single precision
        parts = [self._constant(p.number, x.op == "where") if p.number is not None else self(p) for p in x.parts]
        if x.op in ("log1p", "tanh"):
            return self._log1p(*parts) if x.op == "log1p" else self._tanh(*parts)
        return self._let(f"{parts[0]} {x.op} {parts[1]}" if x.op in OPERATORS else f"tl.{x.op}({', '.join(parts)})")

    def _let(self, text: str) -> str:
        if text not in self._names:
            self._names[text] = f"t{len(self._names)}"
            self.lines.append(f"{self._names[text]} = {text}")
        return self._names[text]

    def _constant(self, value: float, loaded: bool = False) -> str:
        if value in (0.0, 1.0) and not loaded:
            return repr(abs(value))
        if value not in self.constants:
            self.constants.append(value)
        return f"c{self.constants.index(value)}"

    def _log1p(self, x: str) -> str:
        """log(1 + x) with the rounding of 1 + x put back where it matters."""
        one = self._let(f"1.0 + {x}")
        return self._let(f"tl.log({one}) + tl.where({x} < 1.0, {x} - ({one} - 1.0), 0.0)")

    def _tanh(self, x: str) -> str:
        """1 − 2/(e²ˣ + 1), and near 0 the odd Taylor polynomial."""
        q, square = f"tl.abs({x})", self._let(f"{x} * {x}")
        far = self._let(f"1.0 - 2.0 / (tl.exp(2.0 * {q}) + 1.0)")
        series = "".join(f"({c!r} + {square} * " for c in TANH[:-1]) + repr(TANH[-1]) + ")" * (len(TANH) - 1)
        return self._let(f"tl.where({square} < 0.04, {x} * {series}, tl.where({x} < 0.0, -{far}, {far}))")


OPERATORS = frozenset({"+", "-", "*", "/", "<", "<=", ">", ">="})
TANH = (1.0, -1 / 3, 2 / 15, -17 / 315, 62 / 2835, -1382 / 155925, 21844 / 6081075, -929569 / 638512875)
