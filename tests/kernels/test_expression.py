"""Text ⇄ kernel: what parses, what is written, and what errors point at."""

import numpy as np
import pytest

from mercer.kernels import CPD, PD, Affine, Constant, Gaussian, Linear, registry
from mercer.kernels.algebra import ALGEBRA, CenteredAt, Exp, PowerOf, Product, Restricted, Scaled, Series, Sum, Tensor
from mercer.kernels.expression import as_kernel, parse, to_text
from mercer.kernels.features import Features
from mercer.kernels.finite import Callable, FiniteDomain, Precomputed

a, b, c = Gaussian(0.5), Linear(), Affine(2.0)


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("gaussian", Gaussian()),
        ("  gaussian ( ) ", Gaussian()),
        ("gaussian(2)", Gaussian(2)),
        ("gaussian(lengthscale=2.5e-1,)", Gaussian(0.25)),
        ("gaussian('median')", Gaussian("median")),
        ("gaussian([1, .5])", Gaussian([1, 0.5])),
        ("gaussian(array([[1, 0], [0, 2.]]))", Gaussian(np.array([[1.0, 0.0], [0.0, 2.0]]))),
        ("0.5*gaussian(lengthscale=2) + linear", Sum([Scaled(Gaussian(2), 0.5), Linear()])),
        ("linear*2", Scaled(Linear(), 2.0)),
        ("2*3*linear", Scaled(Linear(), 6.0)),
        ("2*(3*linear)", Scaled(Scaled(Linear(), 3.0), 2.0)),
        ("-2*linear", Scaled(Linear(), -2.0)),
        ("--2*linear", Scaled(Linear(), 2.0)),
        ("linear + 1", Sum([Linear(), Constant(1.0)])),
        ("1 + linear", Sum([Linear(), Constant(1.0)])),
        ("linear + 0", Linear()),
        ("linear + affine*gaussian", Sum([Linear(), Product([Affine(), Gaussian()])])),
        ("(linear + affine)*gaussian", Product([Sum([Linear(), Affine()]), Gaussian()])),
        ("linear + (affine + gaussian)", Sum([Linear(), Affine(), Gaussian()])),
        ("linear*(affine*gaussian)", Product([Linear(), Affine(), Gaussian()])),
        ("2*linear*affine", Product([Scaled(Linear(), 2.0), Affine()])),
        ("linear**2", PowerOf(Linear(), 2)),
        ("2*linear**2", Scaled(PowerOf(Linear(), 2), 2.0)),
        ("linear**(1 + 1)", PowerOf(Linear(), 2)),
        ("linear @ affine", Tensor([Linear(), Affine()])),
        ("linear @ affine @ gaussian", Tensor([Linear(), Affine(), Gaussian()])),
        ("linear.exp()", Linear().exp()),
        ("linear.normalized().exp()**2", PowerOf(Linear().normalized().exp(), 2)),
        ("(linear + affine).exp()", Sum([Linear(), Affine()]).exp()),
        ("linear.on(0)", Restricted(Linear(), 0)),
        ("linear.on(-1)", Restricted(Linear(), -1)),
        ("linear.on([0, 2])", Restricted(Linear(), [0, 2])),
        ("linear.on(0:3)", Restricted(Linear(), slice(0, 3))),
        ("linear.on(:3)", Restricted(Linear(), slice(3))),
        ("linear.on(1::2)", Restricted(Linear(), slice(1, None, 2))),
        ("linear.on(columns=:)", Restricted(Linear(), slice(None))),
        ("linear.series([1, 0.5])", Series(Linear(), [1, 0.5])),
        ("linear.series([1, 0.5], radius=2)", Series(Linear(), [1, 0.5], 2)),
        ("sum([sum([linear, affine]), gaussian])", Sum([Sum([Linear(), Affine()]), Gaussian()])),
        ("precomputed(definiteness=PD)", Precomputed(PD)),
        ("precomputed(definiteness=CPD(1))", Precomputed(CPD(1))),
        ("finite_domain([[1, 0], [0, 1]])", FiniteDomain([[1, 0], [0, 1]])),
        ("\n linear\n +\t affine\n", Sum([Linear(), Affine()])),
    ],
)
def test_parse(text, kernel):
    assert parse(text) == kernel
    assert parse(str(kernel)) == kernel


@pytest.mark.parametrize(
    ("kernel", "text"),
    [
        (Gaussian(), "gaussian"),
        (Gaussian(2.0), "gaussian(lengthscale=2.0)"),
        (Gaussian(np.float32(0.5)), "gaussian(lengthscale=0.5)"),
        (0.1 * a + b, "0.1*gaussian(lengthscale=0.5) + linear"),
        ((a + b) * c, "(gaussian(lengthscale=0.5) + linear)*affine(offset=2.0)"),
        (a + b * c, "gaussian(lengthscale=0.5) + linear*affine(offset=2.0)"),
        (2 * b * c, "2.0*linear*affine(offset=2.0)"),
        (b * (2 * c), "linear*(2.0*affine(offset=2.0))"),
        (2 * (b * c), "2.0*(linear*affine(offset=2.0))"),
        (2 * (3 * b), "2.0*(3.0*linear)"),
        (b + 1, "linear + 1.0"),
        (Constant(1.0) + b, "constant + linear"),
        (Constant(0.0) + b, "constant(value=0.0) + linear"),
        ((b**2) ** 3, "(linear**2)**3"),
        ((2 * b) ** 2, "(2.0*linear)**2"),
        ((b + c).exp(), "(linear + affine(offset=2.0)).exp()"),
        ((b @ c) * a, "(linear @ affine(offset=2.0))*gaussian(lengthscale=0.5)"),
        (b @ (c * a), "linear @ (affine(offset=2.0)*gaussian(lengthscale=0.5))"),
        (b.on(slice(0, 3)), "linear.on(0:3)"),
        (b.series((1, 2), radius=5), "linear.series([1, 2], radius=5)"),
        (Sum([b]), "sum([linear])"),
        (Sum([b + c, a]), "sum([linear + affine(offset=2.0), gaussian(lengthscale=0.5)])"),
        (Series(b), "series(linear)"),
        (Series(b, (1.0,)), "series(linear, coefficients=(1.0,))"),
        (a.warp(np.tanh), "warped(gaussian(lengthscale=0.5), <tanh>)"),
        (CenteredAt(b, np.ones((4, 1))), "centered(linear, <4 samples>)"),
        (Features(np.sin), "features(<sin>)"),
        (Callable(max, PD), "callable(<max>, definiteness=PD)"),
        (Gaussian('"a\\\n'), r'gaussian(lengthscale="\"a\\\n")'),
    ],
)
def test_to_text(kernel, text):
    assert to_text(kernel) == str(kernel) == text
    if "<" in text:
        with pytest.raises(ValueError, match="is a Python object, which text cannot express"):
            parse(text)
    else:
        assert parse(text) == kernel


@pytest.mark.parametrize("cls", [*registry.values(), *ALGEBRA], ids=lambda cls: cls.__name__)
def test_every_example_returns_from_its_text(cls):
    for kernel in cls.examples():
        if "<" in str(kernel):
            with pytest.raises(ValueError, match="is a Python object, which text cannot express"):
                parse(str(kernel))
        else:
            assert parse(str(kernel)) == kernel


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("gausian", 0, "unknown name 'gausian'; did you mean 'gaussian'?"),
        ("Linear", 0, "unknown name 'Linear'; did you mean 'linear'?"),
        (
            "linear + gaussian(lenghtscale=2)",
            18,
            "gaussian has no parameter 'lenghtscale'; did you mean 'lengthscale'?",
        ),
        ("linear(3)", 7, "linear takes no arguments"),
        ("linear(", 7, "expected an argument or ')', found the end"),
        ("gaussian(1, 2)", 12, "gaussian takes 1 argument"),
        ("gaussian(1, lengthscale=2)", 12, "lengthscale is given twice"),
        ("polynomial(degree=1, 2)", 21, "positional arguments must come before named ones"),
        ("linear + finite_domain", 9, "finite_domain needs matrix"),
        ("", 0, "expected a kernel or a number, found the end"),
        ("linear +", 8, "expected a kernel or a number, found the end"),
        ("linear + * affine", 9, "expected a kernel or a number, found '*'"),
        ("(linear", 7, "expected ',' or ')', found the end"),
        ("linear)", 6, "expected an operator or the end, found ')'"),
        ("linear affine", 7, "expected an operator or the end, found 'affine'"),
        ("2gaussian", 1, "expected an operator or the end, found 'gaussian'"),
        ("linear + $", 9, "unexpected character '$'"),
        ("linear; import os", 6, "unexpected character ';'"),
        ("gaussian(lengthscale='median)", 21, "unterminated string"),
        (
            "linear - affine",
            7,
            "a difference of kernels is generally not a kernel; write + -1*… for a negative multiple",
        ),
        ("-linear", 0, "a minus sign applies to numbers only; write -1*… for a negative multiple"),
        ("linear**affine", 8, "the exponent must be a number"),
        ("2**3*linear", 1, "** raises kernels to a power, not numbers"),
        ("linear @ 2", 7, "@ joins two kernels; use * for a number"),
        ("linear + None", 7, "+ joins kernels and numbers, not None"),
        ("True*linear", 4, "* joins kernels and numbers, not True"),
        ("linear.exq()", 7, "expected one of exp, normalized, on, series after '.'; did you mean 'exp'?"),
        ("linear.__class__", 7, "expected one of exp, normalized, on, series after '.'"),
        ("linear.exp", 10, "expected '(' after .exp, found the end"),
        ("linear.exp(2)", 11, "exp takes no arguments"),
        ("linear.warp(f)", 7, ".warp() needs a Python object, which text cannot express; call it in Python"),
        ("(2).exp()", 0, "only a kernel has methods"),
        ("linear.on('a':2)", 7, "the bounds of a slice must be integers"),
        ("()", 0, "expected a kernel between the parentheses"),
        ("2", 0, "a number or value alone is not a kernel"),
        ("[linear]", 0, "a number or value alone is not a kernel"),
        ("1e999*linear", 0, "this number is too large"),
        ("9" * 5000 + "*linear", 0, "this number is too large"),
        ("9" * 300 + "*" + "9" * 300 + "*linear", 300, "this number is too large"),
        ("linear\n + affne", 10, "unknown name 'affne'; did you mean 'affine'?"),
    ],
)
def test_errors_point_at_the_character(text, place, message):
    with pytest.raises(ValueError) as caught:
        parse(text)
    first, line, caret = str(caught.value).split("\n")
    assert first.startswith(f"kernel expression: {message}")
    line_start = text.rfind("\n", 0, place) + 1
    assert line == "    " + text[line_start:].split("\n")[0]
    assert caret == " " * (4 + place - line_start) + "^"


def test_an_unknown_name_lists_the_kernels_in_readable_lines():
    with pytest.raises(ValueError) as caught:
        parse("linear + xyzzy")
    first, line, caret, head, *listed = str(caught.value).split("\n")
    assert first == "kernel expression: unknown name 'xyzzy'; choose one of the kernels below"
    assert caret.index("^") == line.index("xyzzy") and head == "The kernels are"
    assert max(map(len, listed)) <= 100
    assert [name.strip() for name in " ".join(listed).split(",")] == sorted(registry)


def test_deep_nesting_is_an_error_not_a_crash():
    with pytest.raises(ValueError, match="nested too deeply"):
        parse("(" * 5000 + "linear" + ")" * 5000)


def test_parse_needs_text():
    with pytest.raises(TypeError, match="text is of type int; expected a string"):
        parse(3)


# ---- as_kernel


def test_as_kernel():
    k = Gaussian()
    assert as_kernel(k) is k
    assert as_kernel("linear") == Linear()
    assert as_kernel(max) == Callable(max)
    with pytest.raises(TypeError, match=r"kernel = Gaussian is a class; pass an instance, Gaussian\(\)"):
        as_kernel(Gaussian)
    with pytest.raises(TypeError, match="kernel = 3 must be a Kernel, an expression"):
        as_kernel(3)


@pytest.mark.parametrize("text", ["sum([])", "sum([1, 2])", "exp(2)", "scaled('x')", "product([linear, 2])"])
def test_operations_take_kernels(text):
    with pytest.raises(ValueError, match=r"needs kernels, not .*\n.*\n    \^"):
        parse(text)


@pytest.mark.parametrize("kernel", [Exp(2), Scaled("linear"), Sum([Linear(), 3]), Restricted(None)], ids=repr)
def test_operations_of_something_else_say_so(kernel):
    with pytest.raises(TypeError, match=r"(Exp|Scaled|Sum|Restricted): kernels? holds .*; give Kernel objects"):
        kernel([[1.0]])
