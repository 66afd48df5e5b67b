"""Text ⇄ kernel: ``"0.5*gaussian(lengthscale=2) + linear"``. A tokenizer and a recursive-descent parser, never `eval`.

The grammar, lowest precedence first; operators mean the same as in Python::

    sum       product ("+" product)*
    product   signed (("*" | "@") signed)*
    signed    "-" signed | power
    power     postfix ["**" signed]
    postfix   primary ("." method "(" arguments ")")*          method: exp normalized on series
    primary   number | string | name ["(" arguments ")"] | "(" sum ("," sum)* ")" | "[" sum ("," sum)* "]"

A name is a kernel of the registry, an operation of the algebra (``sum([linear, gaussian])``), ``array``, or a constant:
``True False None inf PD STRICTLY_PD INDEFINITE UNKNOWN`` and ``CPD(q)``. The argument of ``on`` may be a slice ``0:3``.
"""

from __future__ import annotations

import re
from collections.abc import Callable as Function
from difflib import get_close_matches
from inspect import Parameter, signature
from math import inf
from numbers import Integral
from textwrap import fill
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from .._errors import attribute
from ._base import Kernel, is_kernel, registry
from ._definiteness import CPD, INDEFINITE, PD, STRICTLY_PD, UNKNOWN
from ._to_text import ESCAPES, OPERATIONS, is_number, to_text, value_text
from .algebra import add, multiply, tensor

__all__ = ["as_kernel", "parse", "to_text"]

KernelLike: TypeAlias = Kernel | str | Function[..., Any] | dict[str, Any]  # anything that specifies a kernel
CLAIMS = {"PD": PD, "STRICTLY_PD": STRICTLY_PD, "INDEFINITE": INDEFINITE, "UNKNOWN": UNKNOWN}
CONSTANTS = {"True": True, "False": False, "None": None, "inf": inf, **CLAIMS}
MAKERS: dict[str, Function[..., Any]] = {"array": np.asarray, "CPD": CPD}
METHODS = ("exp", "normalized", "on", "series")
LARGEST = float(np.finfo(np.float64).max)
INDENT: dict[str, Any] = {"initial_indent": "    ", "subsequent_indent": "    ", "break_long_words": False}


def parse(text: str) -> Kernel:
    """Parse a kernel expression.

    Parameters
    ----------
    text : str
        Kernel names in snake case with their parameters, ``+ * ** @``, numbers, ``.exp()``, ``.normalized()``,
        ``.on(columns)``, ``.series(coefficients, radius=…)``. The module docstring gives the grammar.

    Raises
    ------
    ValueError
        If the text is not a valid expression; the message shows the position and what was expected there.

    Examples
    --------
    >>> parse("0.5*gaussian(lengthscale=2) + linear")([[0.0]], [[2.0]]).round(4)
    array([[0.3033]])
    >>> parse("gausian")
    Traceback (most recent call last):
        ...
    ValueError: kernel expression: unknown name 'gausian'; did you mean 'gaussian'?
        gausian
        ^
    """
    if not isinstance(text, str):
        raise TypeError(f"parse: text is of type {type(text).__name__}; expected a string.")
    parser = _Parser(text)
    try:
        kernel = parser.sum()
    except RecursionError:
        parser.fail("the expression is nested too deeply")
    if parser.token.kind != "end":
        parser.fail(f"expected an operator or the end, found {parser.found()}")
    if not is_kernel(kernel):
        parser.fail(
            "a number or value alone is not a kernel; for a constant kernel write constant(value=2)", parser.tokens[0]
        )
    return kernel


class _Token(NamedTuple):
    kind: str
    text: str
    start: int


TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<name>[^\W\d]\w*)
    | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<object><[^>]*>)
    | (?P<operator>\*\*|[-+*@()\[\],=.:])
    | (?P<end>$)
    )""",
    re.VERBOSE | re.DOTALL,
)


# scikit-learn's names for some of our kernels, which there have different parameters
OTHERS = {
    "rbf": "gaussian",
    "poly": "polynomial",
    "laplacian": "laplace",
    "chi2": "chi_squared",
    "additive_chi2": "additive_chi_squared",
}


class _Parser:
    """One text, its tokens, and the current position."""

    def __init__(self, text: str):
        self.text, self.at = text, 0
        self.tokens: list[_Token] = []
        position = 0
        while not self.tokens or self.tokens[-1].kind != "end":
            match = TOKEN.match(text, position)
            if match is None:
                start = position + len(text[position:]) - len(text[position:].lstrip())
                stray = _Token("stray", text[start], start)
                quote = stray.text in "\"'"
                self.fail("unterminated string" if quote else f"unexpected character {stray.text!r}", stray)
            kind = str(match.lastgroup)
            self.tokens.append(_Token(kind, match[kind], match.start(kind)))
            position = match.end()

    # ---- positions and errors

    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def found(self) -> str:
        return "the end" if self.token.kind == "end" else repr(self.token.text)

    def fail(self, message: str, token: _Token | None = None, below: str = "") -> NoReturn:
        """Raise an error that shows the line of the text, a caret under the token, and a note below."""
        start = (token or self.token).start
        first = self.text.rfind("\n", 0, start) + 1
        line = self.text[first:].split("\n", 1)[0].replace("\t", " ")
        raise ValueError(f"kernel expression: {message}\n    {line}\n    {' ' * (start - first)}^{below}")

    def take(self, *texts: str) -> _Token | None:
        """Consume and return the next token if it is one of these operators."""
        token = self.token
        if token.kind != "operator" or token.text not in texts:
            return None
        self.at += 1
        return token

    def need(self, text: str, after: str) -> None:
        if self.take(text) is None:
            self.fail(f"expected {text!r} {after}, found {self.found()}")

    # ---- the grammar

    def sum(self) -> Any:
        left = self.product()
        while (token := self.take("+", "-")) is not None:
            if token.text == "-":
                self.fail(
                    "a difference of kernels is generally not a kernel; write + -1*… for a negative multiple", token
                )
            left = self.combine(left, self.product(), token)
        return left

    def product(self) -> Any:
        left = self.signed()
        while (token := self.take("*", "@")) is not None:
            left = self.combine(left, self.signed(), token)
        return left

    def combine(self, left: Any, right: Any, token: _Token) -> Any:
        """left + right, left * right or left @ right, with Python's meaning."""
        for value in (left, right):
            if not is_kernel(value) and not is_number(value):
                self.fail(f"{token.text} joins kernels and numbers, not {value_text(value)}", token)
        kernel, other = (left, right) if is_kernel(left) else (right, left)
        if token.text == "@" and not is_kernel(other):
            self.fail("@ joins two kernels; use * for a number", token)
        if is_kernel(kernel):
            return {"+": add, "*": multiply, "@": tensor}[token.text](kernel, other)
        number = left + right if token.text == "+" else left * right
        if isinstance(number, int) and abs(number) > LARGEST:
            self.fail("this number is too large", token)
        return number

    def signed(self) -> Any:
        minus = self.take("-")
        if minus is None:
            return self.power()
        value = self.signed()
        if not is_number(value):
            self.fail("a minus sign applies to numbers only; write -1*… for a negative multiple", minus)
        return -value

    def power(self) -> Any:
        base = self.postfix()
        token = self.take("**")
        if token is None:
            return base
        if not is_kernel(base):
            self.fail("** raises kernels to a power, not numbers", token)
        place = self.token
        exponent = self.signed()
        if not is_number(exponent):
            self.fail("the exponent must be a number", place)
        return base**exponent

    def postfix(self) -> Any:
        place = self.token
        value = self.primary()
        while self.take(".") is not None:
            if not is_kernel(value):
                self.fail("only a kernel has methods", place)
            method = self.token
            if method.text in ("warp", "centered"):
                self.fail(
                    f".{method.text}() needs a Python object, which text cannot express; call it in Python", method
                )
            if method.text not in METHODS:
                self.fail(f"expected one of {', '.join(METHODS)} after '.'{_hint(method.text, METHODS)}", method)
            self.at += 1
            if self.token.text != "(":
                self.fail(f"expected '(' after .{method.text}, found {self.found()}")
            value = self.call(getattr(value, method.text), method)
        return value

    def primary(self) -> Any:
        token = self.token
        if token.kind in ("number", "string", "name"):
            self.at += 1
        if token.kind == "number":
            return self.number(token)
        if token.kind == "string":
            return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[0]), token.text[1:-1], flags=re.DOTALL)
        if token.kind == "name":
            return self.named(token)
        if token.kind == "object":
            self.fail(f"{token.text} is a Python object, which text cannot express; build this kernel in Python")
        if self.take("[") is not None:
            return self.items("]")[0]
        if self.take("(") is not None:
            values, commas = self.items(")")
            if not values:
                self.fail("expected a kernel between the parentheses", token)
            return values[0] if not commas else tuple(values)
        self.fail(f"expected a kernel or a number, found {self.found()}")

    def number(self, token: _Token) -> int | float:
        if abs(float(token.text)) > LARGEST:
            self.fail("this number is too large", token)
        return int(token.text) if token.text.isdecimal() else float(token.text)

    def items(self, close: str) -> tuple[list[Any], int]:
        """The values up to the closing bracket, and the number of commas between and after them."""
        values: list[Any] = []
        commas = 0
        while self.take(close) is None:
            if len(values) > commas:
                self.need(",", f"or {close!r}")
                commas += 1
                continue
            values.append(self.sum())
        return values, commas

    def named(self, token: _Token) -> Any:
        if token.text in CONSTANTS:
            return CONSTANTS[token.text]
        maker = registry.get(token.text) or OPERATIONS.get(token.text) or MAKERS.get(token.text)
        if maker is None:
            near = _near(token.text, [*registry, *OPERATIONS, *MAKERS, *CONSTANTS])
            if token.text.lower() in OTHERS:
                near = f", from scikit-learn; here it is {OTHERS[token.text.lower()]!r}"
            listed = "" if near else f"\nThe kernels are\n{fill(', '.join(sorted(registry)), 100, **INDENT)}"
            self.fail(f"unknown name {token.text!r}{near or '; choose one of the kernels below'}", token, listed)
        return self.call(maker, token)

    def call(self, function: Function[..., Any], owner: _Token) -> Any:
        """Read the arguments, if any, check them against the signature, and call the function."""
        parameters = signature(function).parameters if function is not np.asarray else {"values": None}
        positional: list[Any] = []
        named: dict[str, Any] = {}
        if self.take("(") is not None:
            while self.take(")") is None:
                if self.token.kind == "end":
                    self.fail("expected an argument or ')', found the end")
                if positional or named:
                    self.need(",", "or ')'")
                    if self.take(")") is not None:
                        break
                start, after = self.token, self.tokens[min(self.at + 1, len(self.tokens) - 1)]
                if start.kind == "name" and after.text == "=":
                    if start.text not in parameters:
                        self.fail(f"{owner.text} has no parameter {start.text!r}{_hint(start.text, parameters)}", start)
                    if start.text in named or start.text in list(parameters)[: len(positional)]:
                        self.fail(f"{start.text} is given twice", start)
                    self.at += 2
                    named[start.text] = self.argument(owner)
                    continue
                if named:
                    self.fail("positional arguments must come before named ones", start)
                if len(positional) == len(parameters):
                    self.fail(
                        f"{owner.text} takes {len(parameters) or 'no'} argument{'s' * (len(parameters) != 1)}", start
                    )
                positional.append(self.argument(owner))
        required = [name for name, p in parameters.items() if p is None or p.default is Parameter.empty]
        missing = [name for name in required[len(positional) :] if name not in named]
        if missing:
            self.fail(f"{owner.text} needs {', '.join(missing)}", owner)
        given = dict(zip(parameters, positional, strict=False)) | named
        parts = given.get("kernels", [given["kernel"]] if "kernel" in given else None)
        if parts is not None and (not parts or not all(is_kernel(part) for part in parts)):
            self.fail(f"{owner.text} needs kernels, not {value_text(parts)}", owner)
        try:
            return function(*positional, **named)
        except (TypeError, ValueError) as error:
            self.fail(f"{owner.text}: {error}", owner)

    def argument(self, owner: _Token) -> Any:
        """A value or, within ``on``, a slice."""
        if owner.text != "on":
            return self.sum()
        ends = [None if self.token.text == ":" else self.sum()]
        while len(ends) < 3 and self.take(":") is not None:
            ends.append(None if self.token.text in (":", ")", ",") else self.sum())
        if len(ends) == 1:
            return ends[0]
        if not all(v is None or isinstance(v, Integral) for v in ends):
            self.fail("the bounds of a slice must be integers", owner)
        return slice(*ends)


def _near(word: str, known: Any) -> str:
    close = get_close_matches(word.lower(), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _hint(word: str, known: Any) -> str:
    return _near(word, known) or (f"; known: {', '.join(known)}" if known else "")


# ---- what estimators accept


def as_kernel(kernel: KernelLike, name: str = "kernel") -> Kernel:
    """Convert an expression or a function k(x, y) to a kernel; kernels pass through. `name` labels it in errors.

    Examples
    --------
    >>> as_kernel("gaussian(lengthscale=2)")
    Gaussian(lengthscale=2)
    """
    if is_kernel(kernel):
        return kernel
    if isinstance(kernel, str):
        try:
            return parse(kernel)
        except ValueError as error:
            attribute(error, name)  # the message already contains "kernel"
            raise
    if isinstance(kernel, type):
        raise TypeError(f"{name} = {kernel.__name__} is a class; pass an instance, {kernel.__name__}().")
    if callable(kernel):
        return registry["callable"](kernel)
    raise TypeError(
        f'{name} = {kernel!r} must be a Kernel, an expression such as "gaussian(lengthscale=2)", or a function k(x, y).'
    )
