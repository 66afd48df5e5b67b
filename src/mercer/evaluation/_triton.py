"""Programs for K V on a device, written for one expression: a block of K is computed, used and forgotten.

In single precision, s = ‖x − y‖² and xᵀy come from half-precision products with sums in single precision, the fastest
that matrix units offer, without their rounding errors. In units of 2⁻¹¹ max‖x‖, a centred x = h + l with integers h;
‖h − h′‖² is a sum of integers below 2²⁴, hence exact, and what remains,

    −2(hᵀl′ + lᵀh′ + lᵀl′) + c + c′,    c = 2hᵀl + lᵀl,

is 2¹¹ times smaller, and so is its rounding error, which is all that close pairs see. The norms are further columns,
split into parts of eleven bits. K and V are likewise sums of two halves each, K V of three products.

In double precision, for very few columns and for points many lengthscales apart, s is a sum of squared differences.
"""

from __future__ import annotations

import linecache
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from math import ceil
from subprocess import SubprocessError
from typing import Any, NamedTuple

from ._trace import Printed, Symbol

PIECE = 11  # bits of a half-precision number
PAD = 256  # rows and columns are padded to multiples of this, with points at zero and weights of zero
WIDTH = 64  # columns of one product
SHORT, CHAINED = 320, 1024  # half-precision columns up to which points stay in fast memory, and one sum is enough


Kinds = list[tuple[bool, int]]


class Tiling(NamedTuple):
    """The shape of a block of K, the columns of V that share it, and how it is computed."""

    rows: int
    columns: int
    weights: int
    warps: int
    stages: int
    resident: bool = True  # whether the rows' points stay in fast memory

    def bytes(self, width: int) -> int:
        """Fast memory for resident points of `width` half-precision columns and two halves of V."""
        return 2 * (width * self.rows + self.stages * self.columns * (width + 2 * self.weights))


# Tuned on one H200; the first that fits the fast memory of a device.
RESIDENT = (
    Tiling(128, 64, 64, 4, 3),
    Tiling(128, 64, 32, 4, 3),
    Tiling(128, 64, 32, 4, 2),
    Tiling(64, 64, 32, 4, 2),
    Tiling(64, 32, 32, 4, 2),
)
STREAMED = Tiling(256, 128, 16, 8, 3, False), Tiling(128, 128, 32, 8, 4, False)
SMALL = Tiling(64, 64, 16, 4, 2, False)  # for devices with little fast memory
DIFFERENCES, DOUBLE = Tiling(128, 64, 64, 4, 2, False), Tiling(64, 64, 16, 4, 1, False)


@cache
def available(device: Any) -> bool:
    """Whether programs can be compiled for a torch device: NVIDIA's, from Ampere on."""
    import torch

    nvidia = device.type == "cuda" and torch.version.hip is None
    return nvidia and torch.cuda.get_device_capability(device) >= (8, 0) and find_spec("triton") is not None


def failures() -> tuple[type[Exception], ...]:
    """What compiling or starting a program raises on a machine without a compiler, or with too little memory."""
    from triton.errors import TritonError

    return TritonError, RuntimeError, OSError, SubprocessError


def tiling(widths: list[int], r: int, memory: int, halves: bool) -> Tiling:
    """The tiling for points of these half-precision columns, r columns of V and a device's bytes of fast memory."""
    width = sum(widths)
    memory -= 0 if halves else 3 << 15  # for a block of K and its two parts
    for tile in RESIDENT if width <= SHORT else ():
        tile = narrowed(tile, r)
        if tile.bytes(width) <= memory:
            return tile
    if len(widths) > 1 or memory < 1 << 17:
        return SMALL
    return STREAMED[0] if width <= CHAINED and r <= 16 and halves else narrowed(STREAMED[1], r)


def narrowed(tile: Tiling, r: int) -> Tiling:
    """A tiling with no more columns of V than there are, as a power of two from 16."""
    return tile._replace(weights=min(tile.weights, max(16, 1 << (r - 1).bit_length())))


def unit(d: int) -> int:
    """The multiple to which the half-precision columns of d coordinates are padded."""
    return 16 if d <= WIDTH else WIDTH


def parts(d: int) -> tuple[int, int]:
    """The half-precision columns of points with d coordinates: for the leading sum, and for what remains."""
    return ceil((d + 4) / unit(d)) * unit(d), ceil((3 * d + 6) / unit(d)) * unit(d)


def text(value: Symbol, kinds: Kinds, tile: Tiling, pieces: bool, weights: str, rough: bool) -> tuple[str, list[float]]:
    """The program for the values of an expression in geometries (distances, coordinates), and its constants."""
    out = Printed([f"s{g}" for g in range(len(kinds))])
    result = out(value)
    before = [f"c{i} = tl.load(C + {i + 1})" for i in range(len(out.constants))]
    sums: list[str] = []
    start = 0
    for g, (distances, d) in enumerate(kinds):
        if pieces:
            total = sum(sum(parts(d)) for _, d in kinds)
            load, products = (_resident if tile.resident else _streamed)(f"s{g}", start, d, total)
            before += load
            sums += products
            start += sum(parts(d))
        else:
            sums += _differences(f"s{g}", start, d, distances, weights == "double")
            start += d
    clips = [f"s{g} = {_clipped(f's{g}', d, value, rough)}" for g, (distances, d) in enumerate(kinds) if distances]
    inside = ["j = j0 + tl.arange(0, BN)", "v = j[:, None] * r + k[None, :]"]
    lines = [*inside, *sums, *(clips if pieces else ()), *out.lines, f"p = {result}", *WEIGHTED[weights]]
    before.append(f"sum = tl.zeros((BM, BR), {'tl.float64' if weights == 'double' else 'tl.float32'})")
    lines = [
        *HEAD,
        *before,
        "unit = tl.load(C)",
        "for j0 in range(first, last, BN):",
        *("    " + line for line in lines),
    ]
    return "\n    ".join([f"def product({ARGUMENTS}):", *lines, "tl.store(out, sum)"]) + "\n", out.constants


def _clipped(s: str, d: int, value: Symbol, rough: bool) -> str:
    """A squared distance without the rounding errors that would upset the expression."""
    if rough:
        return f"tl.where({s} < {origin(d)!r}, 0.0, {s})"
    return f"tl.maximum({s}, 0.0)" if value.operations & BRANCHING else s


def origin(d: int) -> float:
    """Squared distances below this, in the square of the unit, are rounding errors: four times those seen."""
    return 2.0**-12 * max(d, 4)


BRANCHING = frozenset({"sqrt", "rsqrt", "log2", "where", "abs", "maximum", "minimum"})  # what negative values upset
ARGUMENTS = "A, B, V, C, O, n, m, r, span, BM: tl.constexpr, BN: tl.constexpr, BR: tl.constexpr"
HEAD = [
    "i = tl.program_id(0) * BM + tl.arange(0, BM)",
    "k = tl.program_id(2) * BR + tl.arange(0, BR)",
    "first = tl.program_id(1) * span",
    "last = tl.minimum(first + span, m)",
    "out = O + tl.program_id(1).to(tl.int64) * n * r + i[:, None].to(tl.int64) * r + k[None, :]",
]
WEIGHTED = {
    # sums are rounded; those of matrix units are truncated, which adds up over many columns
    "halves": [
        "p0 = p.to(tl.float16)",
        "p1 = (p - p0.to(tl.float32)).to(tl.float16)",
        "v0, v1 = tl.load(V + v), tl.load(V + m * r + v)",
        "sum += unit * tl.dot(p1, v0, tl.dot(p0, v1, tl.dot(p0, v0)))",
    ],
    "single": ['sum += unit * tl.dot(p, tl.load(V + v), input_precision="tf32x3")'],
    "double": ["sum = tl.dot(p, tl.load(V + v), sum, out_dtype=tl.float64)"],
}


def _differences(s: str, start: int, d: int, distances: bool, double: bool) -> list[str]:
    """Lines for a sum over coordinates."""
    return [
        f"{s} = tl.zeros((BM, BN), {'tl.float64' if double else 'tl.float32'})",
        f"for q in range({start}, {start + d}):",
        "    x = tl.load(A + q * n + i)[:, None]",
        "    y = tl.load(B + q * m + j)[None, :]",
        f"    {s} += (x - y) * (x - y)" if distances else f"    {s} += x * y",
    ]


def _resident(s: str, start: int, d: int, total: int) -> tuple[list[str], list[str]]:
    """Lines that load the rows' points, and lines for the sum of products s."""
    load, products, left = [], [], start
    for width in parts(d):
        for w in [WIDTH] * (width // WIDTH) + [w for w in (32, 16) if width & w]:
            at = f"* {total} + ({left} + tl.arange(0, {w}))[None, :])"
            load.append(f"x{left} = tl.load(A + i[:, None] {at}")
            products.append(f"y = tl.load(B + j[:, None] {at}")
            products.append(f"{s} = tl.dot(x{left}, tl.trans(y){'' if left == start else ', ' + s})")
            left += w
    return load, products


def _streamed(s: str, start: int, d: int, total: int) -> tuple[list[str], list[str]]:
    """Lines for the sum of products s of points in many columns; of very many, its two parts are added last."""
    (leading, rest), w = parts(d), unit(d)
    chained = leading + rest <= CHAINED
    spans = [(s, start, leading + rest)] if chained else [(s, start, leading), ("rest", start + leading, rest)]
    products = []
    for name, left, width in spans:
        products += [
            f"{name} = tl.zeros((BM, BN), tl.float32)",
            f"for q0 in range({left}, {left + width}, {w}):",
            f"    q = q0 + tl.arange(0, {w})",
            f"    x = tl.load(A + i[:, None] * {total} + q[None, :])",
            f"    y = tl.load(B + j[:, None] * {total} + q[None, :])",
            f"    {name} = tl.dot(x, tl.trans(y), {name})",
        ]
    return [], products if chained else [*products, f"{s} += rest"]


def program(value: Symbol, kinds: Kinds, tile: Tiling, pieces: bool, weights: str, rough: bool) -> tuple[Any, Any]:
    """The compiled program of an expression, and the constants that it takes."""
    source, constants = text(value, kinds, tile, pieces, weights, rough)
    return compiled(source), constants


@cache
def compiled(source: str) -> Any:
    """The program of a source, compiled at its first call."""
    import triton
    import triton.language as tl

    name = f"<mercer.evaluation {sha256(source.encode()).hexdigest()[:16]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space: dict[str, Any] = {"tl": tl, "__name__": "mercer.evaluation.generated"}
    exec(compile(source, name, "exec"), space)
    return triton.jit(space["product"])
