"""Conversion of the TeX subset in this package's equations to MathML, which needs no script or network."""

from __future__ import annotations

import re
from html import escape

LETTERS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ",
    "tau": "τ", "phi": "ϕ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ",
    "Theta": "Θ", "Lambda": "Λ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "ell": "ℓ",
    "infty": "∞", "partial": "∂", "nabla": "∇", "top": "⊤", "emptyset": "∅",
}  # fmt: skip
SIGNS = {
    "cdot": "⋅", "times": "×", "otimes": "⊗", "oplus": "⊕", "pm": "±", "mp": "∓", "circ": "∘", "in": "∈", "notin": "∉",
    "subset": "⊂", "subseteq": "⊆", "cup": "∪", "cap": "∩", "setminus": "∖", "le": "≤", "leq": "≤", "ge": "≥",
    "geq": "≥", "ne": "≠", "neq": "≠", "approx": "≈", "sim": "∼", "propto": "∝", "equiv": "≡", "ll": "≪", "gg": "≫",
    "perp": "⊥", "mid": "∣", "to": "→", "mapsto": "↦", "Rightarrow": "⇒", "iff": "⇔", "dots": "…", "ldots": "…",
    "cdots": "⋯", "prime": "′", "colon": ":", "succeq": "⪰", "preceq": "⪯", "forall": "∀", "exists": "∃",
}  # fmt: skip
FENCES = {"langle": "⟨", "rangle": "⟩", "|": "‖", "{": "{", "}": "}", "lfloor": "⌊", "rfloor": "⌋", "lVert": "‖",
          "rVert": "‖", "lvert": "|", "rvert": "|"}  # fmt: skip
LARGE = {"sum": "∑", "prod": "∏", "int": "∫", "bigcup": "⋃", "bigoplus": "⨁"}
BELOW = {"min", "max", "inf", "sup", "lim"}  # functions with the subscript below
NAMES = {"log", "exp", "det", "tr", "arg", "sin", "cos", "cosh", "tanh", "dim", "Pr", *BELOW}
SPACES = {",": 0.17, ":": 0.22, ";": 0.28, "!": -0.17, " ": 0.25, "quad": 1.0, "qquad": 2.0}
ACCENTS = {"tilde": "~", "hat": "^", "bar": "¯", "dot": "˙", "vec": "→", "widetilde": "~", "widehat": "^",
           "overline": "¯"}  # fmt: skip
SIZES = {"big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr", "left", "right", "bigm"}
GROWN = {"Big": 1.35, "bigg": 1.7, "Bigg": 2.0}  # by font size: browsers do not stretch fences with a subscript
FONTS = {"mathbb": {"R": "ℝ", "N": "ℕ", "Z": "ℤ", "C": "ℂ", "E": "𝔼", "P": "ℙ"},
         "mathcal": {"H": "ℋ", "K": "𝒦", "X": "𝒳", "Y": "𝒴", "L": "ℒ", "N": "𝒩", "F": "ℱ", "Z": "𝒵"}}  # fmt: skip
TOKEN = re.compile(r"\\[A-Za-z]+\*?|\\.|\d+(?:\.\d+)?|\S")


class UnknownError(ValueError):
    """An unknown TeX command."""


def mathml(tex: str, *, block: bool = False) -> str:
    r"""An equation as a ``<math>`` element; unreadable TeX is kept as code.

    >>> mathml(r"\frac12 x_i")
    '<math><mfrac><mn>1</mn><mn>2</mn></mfrac><msub><mi>x</mi><mi>i</mi></msub></math>'
    """
    reader = Reader(tex)
    try:
        inner = reader.row()
        if reader.peek():
            raise UnknownError(reader.peek())
    except UnknownError:
        return f"<code>{escape(' '.join(tex.split()))}</code>"
    return f'<math display="block">{inner}</math>' if block else f"<math>{inner}</math>"


class Reader:
    """Reads tokens from left to right, one construct at a time."""

    def __init__(self, tex: str):
        self.texts = re.findall(r"\\text\{([^{}]*)\}", tex)
        self.tokens = TOKEN.findall(re.sub(r"\\text\{[^{}]*\}", r"\\text", tex))
        self.place = 0

    def peek(self) -> str:
        """The next token, or an empty string."""
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def next(self) -> str:
        """Consume and return the next token."""
        token = self.peek()
        if not token:
            raise UnknownError("the end")
        self.place += 1
        return token

    def row(self, *ends: str) -> str:
        """Everything up to one of the tokens `ends`, which is not consumed."""
        found = ""
        while self.peek() and self.peek() not in ends:
            found += self._scripted()
        return found

    def _scripted(self) -> str:
        token = self.peek()
        base, scripts = self.atom(), {}
        primes = ""
        while self.peek() in ("_", "^", "'"):
            mark = self.next()
            if mark == "'":
                primes += "′"
            else:
                scripts[mark] = self.argument()
        if primes:
            scripts["^"] = f"<mo>{primes}</mo>" + scripts.get("^", "")
        if not scripts:
            return base
        name = token.lstrip("\\").rstrip("*")
        stacked = name in BELOW or token.endswith("*") or (name in LARGE and name != "int")
        kind = ("munder", "mover", "munderover") if stacked else ("msub", "msup", "msubsup")
        parts = [scripts[mark] for mark in "_^" if mark in scripts]
        element = kind[2] if len(parts) == 2 else kind["^" in scripts]
        single = (f"<mrow>{part}</mrow>" if part.startswith("<mo>′") else part for part in parts)
        return f"<{element}>{base}{''.join(single)}</{element}>"

    def argument(self) -> str:
        """A group or a single character; for a number, its first digit."""
        token = self.peek()
        if token[:1].isdigit() and len(token) > 1:
            self.tokens[self.place : self.place + 1] = [token[0], token[1:]]
        return self.atom()

    def atom(self) -> str:
        """A symbol, a group, or a command with its arguments, as one element."""
        token = self.next()
        if token == "{":
            inner = self.row("}")
            self.next()
            return f"<mrow>{inner}</mrow>"
        if token == "}":
            raise UnknownError(token)
        if not token.startswith("\\"):
            return _symbol(token)
        name = token[1:].rstrip("*")
        if name in LETTERS:
            return f"<mi>{LETTERS[name]}</mi>"
        if name in SIGNS:
            return f"<mo>{SIGNS[name]}</mo>"
        if name in FENCES:
            return _fence(FENCES[name])
        if name in LARGE:
            return f'<mo largeop="true" movablelimits="false">{LARGE[name]}</mo>'
        if name in NAMES:
            return f"<mi>{name}</mi>{'' if name in BELOW else _space(0.12)}".join(("<mrow>", "</mrow>"))
        if name in SPACES:
            return _space(SPACES[name])
        if name in SIZES:
            return self._sized(name)
        return self._command(name)

    def _command(self, name: str) -> str:
        if name == "text":
            words = self.texts.pop(0)
            return f"<mtext>{escape(words).replace(' ', '&#160;')}</mtext>"
        if name in ("frac", "tfrac", "dfrac"):
            fraction = f"<mfrac>{self.argument()}{self.argument()}</mfrac>"
            return f'<mstyle displaystyle="false">{fraction}</mstyle>' if name == "tfrac" else fraction
        if name == "sqrt":
            return f"<msqrt>{self.argument()}</msqrt>"
        if name in ACCENTS:
            return f'<mover accent="true">{self.argument()}<mo stretchy="false">{ACCENTS[name]}</mo></mover>'
        if name in ("operatorname", "mathrm"):
            return f'<mi mathvariant="normal">{escape("".join(self._letters()))}</mi>'
        if name in ("mathbf", "boldsymbol"):
            return f'<mi style="font-weight: bold">{escape("".join(self._letters()))}</mi>'
        if name in FONTS:
            return "".join(f"<mi>{FONTS[name].get(c, c)}</mi>" for c in self._letters())
        if name == "begin":
            return self._matrix()
        raise UnknownError(name)

    def _letters(self) -> list[str]:
        token = self.next()
        if token != "{":
            return [token]
        found = []
        while (token := self.next()) != "}":
            found.append(token)
        return found

    def _sized(self, size: str) -> str:
        token = self.next()
        sign = "" if token == "." else FENCES.get(token.lstrip("\\"), token)
        if size in ("left", "right"):
            return f'<mo stretchy="true" symmetric="true">{escape(sign)}</mo>'
        return _fence(sign, GROWN.get(size.rstrip("lrm"), 1.0))

    def _matrix(self) -> str:
        kind = "".join(self._letters())
        if kind not in ("pmatrix", "cases"):
            raise UnknownError(kind)
        rows = [[""]]
        while self.peek() != "\\end":
            rows[-1][-1] += self.row("&", "\\\\", "\\end")
            if self.peek() == "&":
                self.next()
                rows[-1].append("")
            elif self.peek() == "\\\\":
                self.next()
                rows.append([""])
            elif not self.peek():
                raise UnknownError(kind)
        self.next()
        self._letters()
        body = "".join(f"<mtr>{''.join(f'<mtd>{cell}</mtd>' for cell in row)}</mtr>" for row in rows)
        left, right = ("(", ")") if kind == "pmatrix" else ("{", "")
        return f"<mrow><mo>{left}</mo><mtable>{body}</mtable><mo>{right}</mo></mrow>"


def _symbol(token: str) -> str:
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    if token.isalpha():
        return f"<mi>{token}</mi>"
    if token in "()[]|":
        return _fence(token)
    return f"<mo>{escape('−' if token == '-' else token)}</mo>"


def _fence(sign: str, size: float = 1.0) -> str:
    close = ' lspace="0.05em" rspace="0.05em"' if sign in "|‖" else ""  # a norm, not a relation
    large = f' style="font-size: {size}em"' if size != 1 else ""
    return f'<mo stretchy="false"{close}{large}>{sign}</mo>'


def _space(width: float) -> str:
    return f'<mspace width="{width}em"></mspace>'
