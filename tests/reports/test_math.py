"""Equations as MathML: well-formed, and of the right structure."""

import inspect
from xml.etree import ElementTree

import pytest

import mercer
import mercer.methods
import mercer.selection
from mercer.reports._math import mathml
from mercer.reports._method import equation_of

CLASSES = {
    name: thing
    for module in (mercer, mercer.methods, mercer.selection)
    for name, thing in vars(module).items()
    if inspect.isclass(thing) and hasattr(thing, "fit")
}


@pytest.mark.parametrize("name", sorted(n for n, c in CLASSES.items() if equation_of(c)))
def test_every_equation_of_the_library_is_read(name):
    found = mathml(equation_of(CLASSES[name]), block=True)
    tree = ElementTree.fromstring(found.replace("&#160;", " "))
    assert tree.tag == "math"
    assert len(list(tree.iter())) > 5


def test_most_methods_have_an_equation():
    without = {n for n, c in CLASSES.items() if not equation_of(c)}
    assert without <= {"KernelSearchCV", "KernelPLSClassifier"}  # the search shows its estimator's; the other has none


def structure(tex):
    def walk(node):
        inner = [walk(child) for child in node]
        return (node.tag, *inner) if inner else (node.text or "")

    return [walk(child) for child in ElementTree.fromstring(mathml(tex))]


@pytest.mark.parametrize(
    ("tex", "expected"),
    [
        (r"x_i^2", [("msubsup", "x", "i", "2")]),
        (r"a^{-1}b", [("msup", "a", ("mrow", "−", "1")), "b"]),
        (r"\frac12", [("mfrac", "1", "2")]),
        (r"\tfrac{\alpha}{2}", [("mstyle", ("mfrac", ("mrow", "α"), ("mrow", "2")))]),
        (r"\sum_i x", [("munder", "∑", "i"), "x"]),
        (r"\int_0^1", [("msubsup", "∫", "0", "1")]),
        (r"\|f\|_H", ["‖", "f", ("msub", "‖", "H")]),
        (r"\rho'(r)", [("msup", "ρ", ("mrow", "′")), "(", "r", ")"]),
        (r"\tilde K_x", [("msub", ("mover", "K", "~"), "x")]),
        (r"\operatorname{tr} A", ["tr", "A"]),
        (r"\text{a <b}", ["a\xa0<b"]),
        (r"10^{-3}", [("msup", "10", ("mrow", "−", "3"))]),
        (r"x^12", [("msup", "x", "1"), "2"]),
        (r"\sqrt{d}", [("msqrt", ("mrow", "d"))]),
        (
            r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
            [
                (
                    "mrow",
                    "(",
                    ("mtable", ("mtr", ("mtd", "a"), ("mtd", "b")), ("mtr", ("mtd", "c"), ("mtd", "d"))),
                    ")",
                )
            ],
        ),
    ],
)
def test_structure(tex, expected):
    assert structure(tex) == expected


@pytest.mark.parametrize("tex", [r"\unknown x <y>", r"x^", r"\frac{a}", r"{a", r"a}", r"\begin{pmatrix} a"])
def test_what_cannot_be_read_stays_tex(tex):
    found = mathml(tex)
    assert found.startswith("<code>")
    assert "<y>" not in found
