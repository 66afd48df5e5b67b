"""Equations as MathML: well-formed, and of the right structure."""

import inspect
from xml.etree import ElementTree

import numpy as np
import pytest

import mercer
import mercer.losses
import mercer.methods
import mercer.selection
from mercer import KernelLogisticRegression, KernelMachine
from mercer.reports._math import mathml
from mercer.reports._method import documented, equations

CLASSES = {
    name: thing
    for module in (mercer, mercer.methods, mercer.selection)
    for name, thing in vars(module).items()
    if inspect.isclass(thing) and hasattr(thing, "fit")
}


@pytest.mark.parametrize("name", sorted(n for n, c in CLASSES.items() if documented(c)))
def test_every_equation_of_the_library_is_read(name):
    for equation in documented(CLASSES[name]):
        tree = ElementTree.fromstring(mathml(equation, block=True).replace("&#160;", " "))
        assert tree.tag == "math"
        assert len(list(tree.iter())) > 5


def test_most_methods_have_an_equation():
    assert {n for n, c in CLASSES.items() if not documented(c)} <= {"KernelSearchCV"}  # it shows its estimator's


@pytest.mark.parametrize("name", sorted(n for n, c in vars(mercer.losses).items() if inspect.isclass(c)))
def test_every_loss_is_read(name):
    for equation in documented(getattr(mercer.losses, name)):
        assert ElementTree.fromstring(mathml(equation).replace("&#160;", " ")).tag == "math"


X = np.linspace(0, 1, 30)[:, None]


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"loss": "huber"}, [r"\ell", r"\delta", r"\tfrac12 \|f\|_H^2"]),
        ({"loss": "squared", "penalty": "norm"}, [r"\ell", r"(y - f)^2", r"= \|f\|_H"]),
        ({"loss": "absolute", "penalty": ("ball", 2.5)}, [r"\ell", "|y - f|", r"\|f\|_H \le 2.5"]),
    ],
)
def test_equations_name_the_loss_and_the_penalty_that_were_chosen(options, parts):
    found = equations(KernelMachine(**options).fit(X, np.sin(6 * X[:, 0])))
    assert [part in equation for part, equation in zip(parts, found, strict=True)] == [True] * 3


def test_several_classes_have_their_own_equation():
    y = np.arange(30) % 3
    (two,) = equations(KernelLogisticRegression().fit(X, y > 0))
    (three,) = equations(KernelLogisticRegression().fit(X, y))
    assert r"y_i = \pm 1" in two
    assert r"\log \sum_j" in three


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
