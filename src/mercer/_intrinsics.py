"""Processor operations that Python cannot express, for compiled code; imported with numba, on first use."""

from __future__ import annotations

from itertools import chain
from typing import Any

from llvmlite import binding, ir
from numba import carray, types
from numba.extending import intrinsic

__all__ = [
    "LINE",
    "PANEL",
    "ROWS",
    "as_float",
    "as_integer",
    "as_pointer",
    "carray",
    "dot_panel",
    "maximum",
    "minimum",
    "prepare",
]


def _extremum(name: str) -> Any:
    """LLVM's maxnum or minnum: reductions with these vectorise, whereas Python's max() and min() do not."""

    @intrinsic
    def operation(typing: Any, x: Any, y: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = arguments[0].type
            function = builder.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind, kind]))
            return builder.call(function, arguments, fastmath=("nnan", "ninf", "nsz"))

        return x(x, y), codegen

    return operation


maximum, minimum = _extremum("maxnum"), _extremum("minnum")


@intrinsic
def as_integer(typing: Any, x: Any) -> Any:
    """The bits of a float32 or float64 as an integer of its size."""
    kind = types.int32 if x == types.float32 else types.int64
    return kind(x), lambda c, b, s, a: b.bitcast(a[0], c.get_value_type(kind))


@intrinsic
def as_float(typing: Any, x: Any) -> Any:
    """The bits of an int32 or int64 as a number of its size."""
    kind = types.float32 if x == types.int32 else types.float64
    return kind(x), lambda c, b, s, a: b.bitcast(a[0], c.get_value_type(kind))


@intrinsic
def as_pointer(typing: Any, address: Any) -> Any:
    """An address as a pointer to float32, for `carray`."""
    return types.CPointer(types.float32)(types.int64), lambda c, b, s, a: b.inttoptr(a[0], ir.PointerType())


def _prefetch(builder: Any, pointer: Any, write: int, level: int) -> None:
    """Ask for a line of memory in the cache, to read or to write; a higher level is nearer."""
    kind = ir.FunctionType(ir.VoidType(), [ir.PointerType(), *3 * [ir.IntType(32)]])
    function = builder.module.declare_intrinsic("llvm.prefetch.p0", fnty=kind)
    builder.call(function, [pointer, *map(ir.IntType(32), (write, level, 1))])


@intrinsic
def prepare(typing: Any, address: Any) -> Any:
    """Fetch a line of memory that will be written."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _prefetch(builder, builder.inttoptr(arguments[0], ir.PointerType()), 1, 3)
        return context.get_dummy_value()

    return types.void(types.int64), codegen


LANES = 16 if binding.get_host_cpu_features().get("avx512f") else 8  # float32 numbers per register
PANEL = 2 * LANES  # columns of a packed panel
LINE = 16  # float32 numbers in a line of the cache
ROWS = (12, 8, 4, 2, 1) if LANES == 16 else (6, 4, 3, 2, 1)  # numbers of rows whose sums fit in the registers


def dot_panel(rows: int) -> Any:
    """A function that computes C = AB from the addresses of A (rows, d), B (d, PANEL) and C; float32 and row-major.

    Meanwhile it fetches d lines of memory from each of two more addresses into the cache, for the next call.

    The sums stay in registers over the whole loop, which compilers do not achieve for loops in Python syntax. Unlike
    BLAS it packs nothing, so few rows are as fast per row as many.
    """

    @intrinsic
    def product(typing: Any, a: Any, b: Any, d: Any, c: Any, soon: Any, later: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            index, number, vector = ir.IntType(64), ir.FloatType(), ir.VectorType(ir.FloatType(), LANES)
            depth, pointer = arguments[2], ir.PointerType()
            A, B, C, *soon = (builder.inttoptr(arguments[k], pointer) for k in (0, 1, 3, 4, 5))
            none = ir.Constant(vector, ir.Undefined)
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)

            def at(pointer: Any, offset: Any) -> Any:
                return builder.gep(pointer, [offset], source_etype=number)

            starts = [at(A, builder.mul(depth, index(r))) for r in range(rows)]
            before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
            builder.branch(loop)
            builder.position_at_end(loop)
            k = builder.phi(index)
            sums = [[builder.phi(vector) for _ in range(0, PANEL, LANES)] for _ in range(rows)]
            line = at(B, builder.mul(k, index(PANEL)))
            for start in soon:
                _prefetch(builder, at(start, builder.mul(k, index(LINE))), 0, 2)
            columns = [builder.load(at(line, index(v)), align=4, typ=vector) for v in range(0, PANEL, LANES)]
            results = []
            for start in starts:
                x = builder.load(at(start, k), align=4, typ=number)
                x = builder.shuffle_vector(builder.insert_element(none, x, ir.IntType(32)(0)), none, zeros)
                results.append([builder.fmul(x, y, ("contract",)) for y in columns])
            results = [
                [builder.fadd(s, p, ("contract",)) for s, p in zip(*pair, strict=True)]
                for pair in zip(sums, results, strict=True)
            ]
            following = builder.add(k, index(1))
            k.add_incoming(index(0), before)
            k.add_incoming(following, loop)
            for old, new in zip(chain(*sums), chain(*results), strict=True):
                old.add_incoming(ir.Constant(vector, [0.0] * LANES), before)
                old.add_incoming(new, loop)
            builder.cbranch(builder.icmp_signed("<", following, depth), loop, after)
            builder.position_at_end(after)
            for r, result in enumerate(results):
                for v, value in enumerate(result):
                    builder.store(value, at(C, index(r * PANEL + v * LANES)), align=4)
            return context.get_dummy_value()

        return types.void(*6 * [types.int64]), codegen

    return product
