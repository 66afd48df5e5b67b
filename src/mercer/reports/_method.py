"""The sections on the method, from its documentation and its fit, and on how its parameters were chosen."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np

from ..types import EstimatorLike
from ._case import Case
from ._cautions import edges, solutions, tried_values
from ._displays import history, landscape
from ._estimate import Estimate
from ._html import figures, nameless, number, paragraph, prose, table, text
from ._math import mathml

DEFINITE = {"CPD": "positive definite", "INDEFINITE": "not positive definite", "UNKNOWN": "of unknown definiteness"}
PENALTIES = {
    "squared": r"\Psi(\|f\|_H) = \tfrac12 \|f\|_H^2",
    "norm": r"\Psi(\|f\|_H) = \|f\|_H",
    "l1": r"\Psi = \sum_i |a_i|, \qquad f = \sum_i a_i k(\cdot, x_i)",
}
MANY = 10  # maximum number of rows in a table of candidates
RESULTS = (
    *("method", "converged", "n_iter", "inner_iter", "objective", "gap", "duality_gap", "gradient_norm", "residual"),
    "jitter",
)
TITLES = {"n_iter": "iterations", "inner_iter": "inner steps"}


def method(case: Case, estimate: Estimate) -> str:
    """The section."""
    summary = (inspect.getdoc(type(case.model)) or "").split("\n\n")[0]
    parts = [paragraph(f"<strong>{text(case.name)}</strong>. {prose(summary)}")]
    shown = "".join(_displayed(equation) for equation in equations(case.model))
    if shown:
        parts.append(f'<div class="equation">{shown}</div>')
    problems = len(solutions(case.model))
    if case.kind == "classifier" and problems > 1:
        parts.append(paragraph(f"The classifier combines {problems} such two-class problems."))
    parts += [_kernel(case), _solver(case), _parameters(case)]
    return "".join(parts)


def equations(model: EstimatorLike) -> list[str]:
    """The problem of a fitted model, with the loss and the penalty that its docstring leaves generic."""
    own = documented(type(model))
    which = getattr(model, "documented_problem", 0)
    found = own[which : which + 1]
    if found and r"\ell" in found[0] and hasattr(model, "loss_"):
        found += documented(type(model.loss_))[:1]
    if found and r"\Psi" in found[0]:
        penalty = model.penalty
        ball = isinstance(penalty, tuple)
        found += [rf"\|f\|_H \le {penalty[1]:g}"] if ball else [PENALTIES[penalty]] if penalty in PENALTIES else []
    return found


def _displayed(equation: str) -> str:
    """One equation; parts separated by wide spaces wrap if there is no room."""
    parts = [mathml(part, block=True) for part in equation.split(r"\qquad")]
    broken = any(part.startswith("<code>") for part in parts)  # the space is within a group or a matrix
    return f"<div>{mathml(equation, block=True) if broken else ''.join(parts)}</div>"


def documented(cls: type) -> list[str]:
    """The equations in the docstring of a class, or of its nearest parent with equations."""
    for owner in cls.__mro__:
        own = inspect.cleandoc(owner.__dict__.get("__doc__") or "") if owner.__module__.startswith("mercer.") else ""
        found = re.findall(r"^\.\. math::[ ]?(.*(?:\n(?:[ ]+.*|[ ]*$))*)", own, flags=re.M)
        if found:
            return [" ".join(equation.split()).rstrip(" .,;") for equation in found]
    return []


def meanings(cls: type) -> dict[str, str]:
    """The description of each parameter in the docstring."""
    doc = inspect.getdoc(cls) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-{3,}|\Z)", doc, flags=re.M | re.S)
    found: dict[str, str] = {}
    names: list[str] = []
    kinds: dict[str, str] = {}
    for line in section[1].splitlines() if section else []:
        if line and not line[0].isspace():
            head, _, kind = line.partition(" : ")
            names = [name.strip().lstrip("*") for name in head.split(",")]
            kinds.update(dict.fromkeys(names, f"{kind}." if kind else ""))
        elif names:
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return {name: found.get(name) or kind for name, kind in kinds.items()}


def _parameters(case: Case) -> str:
    said = meanings(type(case.model))
    values = case.model.get_params(deep=False)
    defaults = {name: p.default for name, p in inspect.signature(type(case.model)).parameters.items()}
    chosen: list[list[str]] = []
    usual: list[list[str]] = []
    for name, value in values.items():
        plain = value.item() if isinstance(value, np.generic) else value
        same = repr(plain) == repr(defaults.get(name, inspect.Parameter.empty))
        shown = f"<code>{text(nameless(plain if isinstance(plain, str) else repr(plain)), 120)}</code>"
        row = [f"<code>{text(name)}</code>", shown, prose(_short(said.get(name, "")))]
        (usual if same else chosen).append(row)
    head = ["parameter", "value", "meaning"]
    first = table(head, chosen, "Parameters that were set", plain=(1, 2)) if chosen else ""
    rest = table(head, usual, plain=(1, 2)) if usual else ""
    count = f"{len(usual)} parameter{'' if len(usual) == 1 else 's'} with default values"
    return first + (f"<details><summary>{count}</summary>{rest}</details>" if rest else "")


def _short(words: str) -> str:
    """The first sentences, up to about two lines."""
    kept = ""
    for sentence in re.split(r"(?<=[.;]) (?=[A-Z])", words.split(" .. ")[0]):
        if kept and len(kept) + len(sentence) > 220:
            break
        kept = f"{kept} {sentence}".strip()
    return kept


def _kernel(case: Case) -> str:
    kernel = getattr(case.model, "kernel_", None)
    choice = getattr(case.model, "gram_choice_", None)
    rows: list[list[Any]] = [["preceding step", f"<code>{text(step)}</code>"] for _, step in case.steps]
    if kernel is not None:
        claim = kernel.definiteness_in(case.dimension)
        proven = DEFINITE[claim.kind]
        if claim.is_cpd:
            proven = ("strictly " if claim.strict else "") + ("conditionally " if claim.order else "") + proven
            proven += f" of order {claim.order}" if claim.order else ""
        rows += [["kernel", f"<code>{text(_rounded(kernel), 600)}</code>"], ["definiteness", proven]]
    if choice:
        rows.append(["kernel matrix", text(choice)])
    return table(["", "as fitted"], rows, plain=(1,)) if rows else ""


def _rounded(kernel: Any) -> str:
    """The text of a kernel with six significant digits."""
    said = re.sub(r", observed=<.*ndarray>", "", str(kernel))  # the rows stored in a table kernel
    return re.sub(r"\d+\.\d{6,}(?:e-?\d+)?", lambda digits: f"{float(digits[0]):.6g}", said)


def _solver(case: Case) -> str:
    found = solutions(case.model)
    if not found:
        return ""
    kept = [name for name in RESULTS if any(_said(getattr(s, name, None)) for s in found)]
    head = ["problem", *(TITLES.get(name, name.replace("_", " ")) for name in kept)]
    rows = [[str(k), *(_cell(getattr(s, name, None)) for name in kept)] for k, s in enumerate(found[:MANY], 1)]
    more = paragraph(f"{len(found) - MANY} more problems are not listed.", "quiet") if len(found) > MANY else ""
    return table(head, rows, "Solver results") + more + figures(*history(case))


def _said(value: Any) -> bool:
    return value is not None and np.ndim(value) == 0 and value != ""


def _cell(value: Any) -> str:
    return text(value) if isinstance(value, str) else number(value) if _said(value) else "–"


# ---- tuning


def tuning(case: Case, estimate: Estimate) -> str:
    """The section; empty if nothing was searched."""
    tried, pictures = tried_values(case), landscape(case)
    search = case.search
    if search is None and not tried and not pictures:
        return ""
    at_edge = {name for name, _, _ in edges(case)}
    parts = []
    if search is not None:
        parts.append(_outcome(case, not estimate.failure))
    if tried:
        rows = []
        for name, value, values in tried:
            place = _place(value, values, name in at_edge)
            rows.append([f"<code>{text(name)}</code>", value, len(values), min(values), max(values), place])
        head = ["parameter", "chosen", "values tried", "minimum", "maximum", "steps from the nearer edge"]
        parts.append(table(head, rows))
    results = getattr(search, "cv_results_", None)
    best = _candidates(results) if isinstance(results, dict) and "mean_test_score" in results else ""
    return "".join(parts) + figures(*pictures, best)


def _outcome(case: Case, judged: bool) -> str:
    search = case.search
    most = getattr(search, "max_samples", None)
    chosen = ", ".join(f"<code>{text(k)} = {text(_shown(v), 80)}</code>" for k, v in search.best_params_.items())
    count = len(getattr(search, "cv_results_", {}).get("params", ())) or getattr(search, "n_evaluations_", None)
    looked = f" from {count} candidates" if count else ""
    score = getattr(search, "best_score_", None)
    drawn = f", tried on {most} samples drawn at random" if most is not None and most < case.n else ""
    words = f"<strong>{text(type(search).__name__)}</strong> chose {chosen}{looked}{drawn}."
    if score is not None and np.ndim(score) == 0:
        words += f" Its score is {number(float(score))}, which is optimistic because it is the best of many"
        words += "; the error estimate below repeats the whole search in every fold." if judged else "."
    return paragraph(words)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _place(value: float, values: list[float], at_edge: bool) -> str:
    if value not in values:
        return "–"
    k = values.index(value)
    return "0: at the edge" if at_edge else str(min(k, len(values) - 1 - k))


def _candidates(results: dict[str, Any]) -> str:
    scores = np.asarray(results["mean_test_score"], dtype=np.float64)
    order = np.argsort(-np.where(np.isfinite(scores), scores, -np.inf), kind="stable")[:MANY]
    names = list(results["params"][0])
    spread = results.get("std_test_score", np.full(len(scores), np.nan))
    rows = []
    for rank, k in enumerate(order, 1):
        setting = (_shown(results["params"][k].get(name, "")) for name in names)
        rows.append([str(rank), *(f"<code>{text(v, 60)}</code>" for v in setting), float(scores[k]), float(spread[k])])
    head = ["rank", *map(text, names), "mean score", "standard deviation"]
    return table(head, rows, f"The best {len(order)} of {len(scores)} candidates", ours=0)
