"""The sections on the method, as its documentation and its fit tell, and on how its parameters were chosen."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np

from ._case import Case
from ._cautions import edges, solutions, tried_values
from ._estimate import Estimate
from ._html import figures, number, paragraph, prose, table, text
from ._math import mathml
from ._pictures import BLUE, ORANGE, plain_ticks

DEFINITE = {
    "CPD": "positive definite",
    "INDEFINITE": "not positive definite",
    "UNKNOWN": "of unknown definiteness",
}
MANY = 10  # rows of a table of candidates


def method(case: Case, estimate: Estimate) -> str:
    """The section."""
    summary = (inspect.getdoc(type(case.model)) or "").split("\n\n")[0]
    parts = [paragraph(f"<strong>{text(case.name)}</strong>. {prose(summary)}")]
    equation = equation_of(type(case.model))
    if equation:
        parts.append(f'<div class="equation">{mathml(equation, block=True)}</div>')
    parts += [_kernel(case), _solver(case), _parameters(case)]
    return "".join(parts)


def equation_of(cls: type) -> str:
    """The first equation of the docstring of a class, or of the nearest parent that has one."""
    for owner in cls.__mro__:
        found = re.search(r"^\.\. math::[ ]?(.*(?:\n(?:[ ]+.*|[ ]*$))*)", _own_doc(owner), flags=re.M)
        if found:
            return " ".join(found[1].split())
    return ""


def _own_doc(owner: type) -> str:
    return inspect.cleandoc(owner.__dict__.get("__doc__") or "") if owner.__module__.startswith("mercer.") else ""


def meanings(cls: type) -> dict[str, str]:
    """What the docstring says of each parameter."""
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
    defaults = {
        name: p.default for name, p in inspect.signature(type(case.model).__init__).parameters.items() if name != "self"
    }
    chosen: list[list[str]] = []
    usual: list[list[str]] = []
    for name, value in values.items():
        same = repr(value) == repr(defaults.get(name, inspect.Parameter.empty))
        shown = f"<code>{text(value if isinstance(value, str) else repr(value), 120)}</code>"
        row = [f"<code>{text(name)}</code>", shown, prose(_short(said.get(name, "")))]
        (usual if same else chosen).append(row)
    head = ["parameter", "value", "meaning"]
    first = table(head, chosen, "Parameters that were set", plain=(1, 2)) if chosen else ""
    rest = table(head, usual, plain=(1, 2)) if usual else ""
    count = f"{len(usual)} parameter{'' if len(usual) == 1 else 's'} at the default"
    return first + (f"<details><summary>{count}</summary>{rest}</details>" if rest else "")


def _short(words: str) -> str:
    """The first sentences, up to some two lines."""
    kept = ""
    for sentence in re.split(r"(?<=[.;]) (?=[A-Z])", words.split(" .. ")[0]):
        if kept and len(kept) + len(sentence) > 220:
            break
        kept = f"{kept} {sentence}".strip()
    return kept


def _kernel(case: Case) -> str:
    kernel = getattr(case.model, "kernel_", None)
    choice = getattr(case.model, "gram_choice_", None)
    rows: list[list[Any]] = [["before it", f"<code>{text(step)}</code>"] for _, step in case.steps]
    if kernel is not None:
        claim = kernel.definiteness_in(case.dimension)
        proven = DEFINITE[claim.kind]
        if claim.is_cpd:
            proven = ("strictly " if claim.strict else "") + ("conditionally " if claim.order else "") + proven
            proven += f" of order {claim.order}" if claim.order else ""
        rows += [
            ["kernel", f"<code>{text(_rounded(kernel), 600)}</code>"],
            ["it is", f"{proven}{'' if claim.is_cpd else ', as far as is proven'}"],
        ]
    if choice:
        rows.append(["kernel matrix", text(choice)])
    return table(["", "as fitted"], rows, plain=(1,)) if rows else ""


def _rounded(kernel: Any) -> str:
    """The text of a kernel with six digits that count."""
    said = re.sub(r", observed=<.*ndarray>", "", str(kernel))  # the rows that a table remembers
    return re.sub(r"\d+\.\d{6,}(?:e-?\d+)?", lambda digits: f"{float(digits[0]):.6g}", said)


def _solver(case: Case) -> str:
    found = solutions(case.model)
    if not found:
        return ""
    names = (
        "method",
        "converged",
        "n_iter",
        "inner_iter",
        "objective",
        "gap",
        "duality_gap",
        "gradient_norm",
        "residual",
        "jitter",
    )
    kept = [name for name in names if any(_said(getattr(s, name, None)) for s in found)]
    head = [
        "problem",
        *(name.replace("n_iter", "iterations").replace("inner_iter", "inner steps").replace("_", " ") for name in kept),
    ]
    rows = [[str(k), *(_cell(getattr(s, name, None)) for name in kept)] for k, s in enumerate(found[:MANY], 1)]
    more = paragraph(f"{len(found) - MANY} more problems are not listed.", "quiet") if len(found) > MANY else ""
    return table(head, rows, "What the solver reported") + more + figures(_history(case, found))


def _said(value: Any) -> bool:
    return value is not None and np.ndim(value) == 0 and value != ""


def _cell(value: Any) -> str:
    return text(value) if isinstance(value, str) else number(value) if _said(value) else "–"


def _history(case: Case, found: list[Any]) -> str:
    """The gap over the iterations of the longest run, or the gradient where there is no gap."""
    course = max((list(getattr(s, "history", None) or []) for s in found), key=len)
    for name in ("gap", "gradient_norm", "gradient", "objective"):
        values = np.array([row.get(name, np.nan) for row in course if isinstance(row, dict)], dtype=np.float64)
        if len(values) > 2 and np.isfinite(values).sum() > 2:
            positive = bool(np.all(values[np.isfinite(values)] > 0))
            scale = {"yscale": "log"} if positive and name != "objective" else {}
            alt = (
                f"The {name.replace('_', ' ')} over {len(values)} iterations, from {values[0]:.3g} to {values[-1]:.3g}."
            )
            return case.pictures.curve(
                values, "Course of the solver", ("iteration", name.replace("_", " ")), alt, **scale
            )
    return ""


# ---- tuning


def tuning(case: Case, estimate: Estimate) -> str:
    """The section; empty where nothing was searched."""
    tried = tried_values(case)
    search = case.search
    if search is None and not tried:
        return ""
    at_edge = {name for name, _, _ in edges(case)}
    parts = []
    if search is not None:
        parts.append(_outcome(case))
    if tried:
        rows = [
            [
                f"<code>{text(name)}</code>",
                value,
                len(values),
                min(values),
                max(values),
                _place(value, values, name in at_edge),
            ]
            for name, value, values in tried
        ]
        head = ["parameter", "chosen", "values tried", "least", "largest", "steps from the nearer end"]
        parts.append(table(head, rows))
    results = getattr(search, "cv_results_", None)
    best = _candidates(results) if isinstance(results, dict) and "mean_test_score" in results else ""
    return "".join(parts) + figures(*_landscape(case), best)


def _outcome(case: Case) -> str:
    search = case.search
    chosen = ", ".join(f"<code>{text(k)} = {text(_shown(v), 80)}</code>" for k, v in search.best_params_.items())
    count = len(getattr(search, "cv_results_", {}).get("params", ())) or getattr(search, "n_evaluations_", None)
    looked = f" of {count} candidates" if count else ""
    score = getattr(search, "best_score_", None)
    words = f"<strong>{text(type(search).__name__)}</strong> chose {chosen}{looked}."
    if score is not None and np.ndim(score) == 0:
        words += (
            f" Its score there is {number(float(score))}, which is optimistic, being the best of what was tried; the "
            "error estimate below repeats the whole search in every fold."
        )
    return paragraph(words)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _place(value: float, values: list[float], at_edge: bool) -> str:
    if value not in values:
        return "–"
    k = values.index(value)
    return "0: at the end" if at_edge else str(min(k, len(values) - 1 - k))


def _candidates(results: dict[str, Any]) -> str:
    scores = np.asarray(results["mean_test_score"], dtype=np.float64)
    order = np.argsort(-np.where(np.isfinite(scores), scores, -np.inf), kind="stable")[:MANY]
    names = list(results["params"][0])
    spread = results.get("std_test_score", np.full(len(scores), np.nan))
    rows = [
        [
            str(rank),
            *(f"<code>{text(_shown(results['params'][k].get(n, '')), 60)}</code>" for n in names),
            float(scores[k]),
            float(spread[k]),
        ]
        for rank, k in enumerate(order, 1)
    ]
    head = ["rank", *map(text, names), "mean score", "standard deviation"]
    return table(head, rows, f"The best {len(order)} of {len(scores)} candidates", ours=0)


def _landscape(case: Case) -> list[str]:
    """The score over one parameter, or over the two that were tried most; else the numbers that the model kept."""
    results = getattr(case.search, "cv_results_", None)
    if not isinstance(results, dict) or "mean_test_score" not in results:
        return _own_curve(case)
    scores = np.asarray(results["mean_test_score"], dtype=np.float64)
    names = sorted(
        (n for n in results["params"][0] if len(_levels(results, n)) > 1), key=lambda n: -len(_levels(results, n))
    )
    if not names or not np.isfinite(scores).any():
        return []
    levels = [_levels(results, n) for n in names[:2]]
    places = [[_key(p.get(n)) for p in results["params"]] for n in names[:2]]
    best = np.full([len(v) for v in levels], np.nan)
    for k, score in enumerate(scores):
        where = tuple([_key(v) for v in level].index(place[k]) for level, place in zip(levels, places, strict=True))
        best[where] = np.fmax(best[where], score)
    return [_line(case, names[0], levels[0], best) if len(levels) == 1 else _map(case, names, levels, best)]


def _levels(results: dict[str, Any], name: str) -> list[Any]:
    distinct = {_key(p.get(name)): p.get(name) for p in results["params"]}
    values = list(distinct.values())
    return sorted(values) if all(isinstance(v, (int, float, np.number)) for v in values) else values


def _key(value: Any) -> str:
    return repr(float(value)) if isinstance(value, (int, float, np.number)) else str(value)


def _line(case: Case, name: str, values: list[Any], scores: np.ndarray) -> str:
    numeric = all(isinstance(v, (int, float, np.number)) for v in values)
    x = np.array(values, dtype=np.float64) if numeric else np.arange(len(values))
    with case.pictures.axes() as (figure, ax):
        ax.plot(x, scores, ".-" if numeric else ".", color=BLUE, markersize=6)
        k = int(np.nanargmax(scores))
        ax.plot(x[k], scores[k], "o", color=ORANGE, markersize=8)
        if numeric and x.min() > 0 and x.max() > 20 * x.min():
            ax.set_xscale("log")
            plain_ticks(ax.xaxis)
        if not numeric:
            ax.set_xticks(x, [str(v)[:18].replace("$", r"\$") for v in values], rotation=30)
        ax.set(xlabel=name.replace("$", r"\$"), ylabel="score")
        alt = f"Score over {name}: best {scores[k]:.4g} at {_shown(values[k])}."
        return case.pictures.svg(figure, "Score over what was tried", alt)


def _map(case: Case, names: list[str], levels: list[list[Any]], scores: np.ndarray) -> str:
    rows, columns = scores.shape
    with case.pictures.axes(min(6.5, 2.2 + 0.42 * columns), min(5.5, 1.5 + 0.3 * rows)) as (figure, ax):
        shown = ax.imshow(
            scores, aspect="auto", origin="lower", cmap="viridis", vmin=float(np.nanquantile(scores, 0.3))
        )
        i, j = np.unravel_index(np.nanargmax(scores), scores.shape)
        ax.plot(j, i, "*", color="#fefefe", markeredgecolor="#101010", markersize=14)
        for axis, values, stride in (
            (ax.set_xticks, levels[1], 1 + columns // 12),
            (ax.set_yticks, levels[0], 1 + rows // 14),
        ):
            chosen = range(0, len(values), stride)
            axis(list(chosen), [_shown(values[k])[:14].replace("$", r"\$") for k in chosen])
        ax.tick_params(axis="x", rotation=45)
        ax.set(xlabel=names[1].replace("$", r"\$"), ylabel=names[0].replace("$", r"\$"))
        figure.colorbar(shown, ax=ax, label="score").outline.set_visible(False)
        best = f"{scores[i, j]:.4g} at {_shown(levels[1][j])} and {_shown(levels[0][i])}"
        alt = f"Score over {names[1]} and {names[0]}: best {best}."
        more = "For each pair, the best score over the other parameters. " if len(names) > 2 else ""
        return case.pictures.svg(figure, "Score over what was tried", alt, f"{more}The star marks the best.")


def _own_curve(case: Case) -> list[str]:
    """Of methods that choose a parameter themselves: the criterion that they kept for each value."""
    for name, value, _ in tried_values(case):
        grid = next(
            (getattr(case.model, a) for a in (f"{name}s_", f"cv_{name}s_", f"{name}s") if hasattr(case.model, a)), ()
        )
        kept = (getattr(case.model, a, None) for a in ("loo_losses_", "cv_scores_", "scores_"))
        scores = next((np.squeeze(s) for s in kept if s is not None and np.squeeze(s).shape == np.shape(grid)), None)
        if scores is not None:
            order = np.argsort(np.asarray(grid, dtype=np.float64))
            return [_kept(case, name, value, np.asarray(grid)[order], np.asarray(scores)[order])]
    return []


def _kept(case: Case, name: str, value: float, grid: np.ndarray, scores: np.ndarray) -> str:
    with case.pictures.axes() as (figure, ax):
        ax.plot(grid, scores, ".-", color=BLUE)
        ax.axvline(value, color=ORANGE, linewidth=1.2)
        ax.set_xscale("log")
        plain_ticks(ax.xaxis)
        ax.set(xlabel=name, ylabel="criterion")
        return case.pictures.svg(
            figure, "Criterion over what was tried", f"Criterion over {name}; {value:.4g} was chosen."
        )
