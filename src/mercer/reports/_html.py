"""HTML fragments; everything from the user passes through `text`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape
from numbers import Integral, Real
from typing import Any

import numpy as np

from ._math import mathml

SIGNS = {"serious": "●", "caution": "▲", "note": "○"}
STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --soft: #f5f6f8; --line: #dadde2; --grey: #666b73;
  --blue: #1f6fb2; --orange: #b9500f; --green: #2f7d4f; --red: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e6ea; --paper: #15181c; --soft: #1e2228; --line: #353b44;
  --grey: #a2a9b4; --blue: #6cb0ea; --orange: #f0965a; --green: #6cc492; --red: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, header, footer { max-width: 62rem; margin: 0 auto; padding: 0 1.5rem; }
header { padding-top: 2.2rem; } footer { padding-bottom: 3rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .7rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .5rem 0; max-width: 46rem; } .quiet { color: var(--grey); } a { color: var(--blue); }
nav ul { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding: 0; margin: .8rem 0 0; }
code { font: .88em/1.4 ui-monospace, Consolas, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
pre { background: var(--soft); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .6rem 0; }
table { border-collapse: collapse; font-size: .9rem; min-width: min(100%, 26rem); }
caption { text-align: left; color: var(--grey); padding-bottom: .3rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid var(--line); }
thead th { font-weight: 600; color: var(--grey); } tbody th { font-weight: 500; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.number { white-space: normal; }
.scroll td:last-child:not(.number) { min-width: 11rem; }
td code { display: inline-block; max-width: 22rem; overflow-wrap: break-word; }
th code { white-space: nowrap; } sup { line-height: 0; font-size: .75em; }
details { margin: .4rem 0; } summary { cursor: pointer; color: var(--blue); font-size: .9rem; }
td small { display: block; color: var(--grey); font-weight: 400; }
.ours th, .ours td { font-weight: 700; }
.tiles { display: flex; flex-wrap: wrap; gap: .7rem; margin: .8rem 0; padding: 0; list-style: none; }
.tiles li { background: var(--soft); border: 1px solid var(--line); border-radius: 8px; padding: .5rem .9rem; }
.tiles b { display: block; font-size: 1.3rem; font-variant-numeric: tabular-nums; line-height: 1.3; }
.tiles span { color: var(--grey); font-size: .84rem; }
.equation { background: var(--soft); border-left: 3px solid var(--blue); padding: .8rem 1rem; overflow-x: auto;
  margin: .8rem 0; }
math { font-family: "STIX Two Math", "Latin Modern Math", "Cambria Math", "DejaVu Math TeX Gyre", math; }
math[display="block"] { font-size: 1.1em; }
.equation > div { display: flex; flex-wrap: wrap; justify-content: safe center; align-items: center;
  gap: .5rem 2.4rem; }
.equation > div + div { margin-top: .8rem; } .equation math { width: auto; margin: 0; flex: none; }
.figures { display: flex; flex-wrap: wrap; gap: 1.2rem 1.6rem; margin: .9rem 0; align-items: flex-start; }
figure { margin: 0; max-width: 100%; break-inside: avoid; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; display: block; } figure svg.wide { min-width: 36rem; }
figure svg.surface { background: #fff; color: #222; border-radius: 6px; }
figcaption { color: var(--grey); font-size: .84rem; max-width: 26rem; margin-top: .2rem; }
.warnings { list-style: none; padding: 0; margin: .8rem 0; }
.warnings li { border: 1px solid var(--line); border-left: 4px solid var(--grey); border-radius: 6px;
  padding: .55rem .9rem; margin: .55rem 0; break-inside: avoid; }
.warnings li.serious { border-left-color: var(--red); } .warnings li.caution { border-left-color: var(--orange); }
.warnings .level { font-size: .78rem; letter-spacing: .04em; text-transform: uppercase; color: var(--grey); }
.serious .level { color: var(--red); } .caution .level { color: var(--orange); }
.warnings p { margin: .15rem 0; } .good { color: var(--green); }
@page { margin: 15mm; }
@media print { :root { color-scheme: light; --ink: #000; --paper: #fff; --soft: #fff; --grey: #444; --line: #bbb;
  --blue: #14508a; --orange: #9a4208; --green: #24613d; --red: #8f1d17; }
  body { font-size: 10pt; } nav { display: none; } main, header, footer { padding: 0; max-width: none; }
  h2, h3, caption, .quiet { break-after: avoid; } .tiles li, .equation, pre, tr { break-inside: avoid; }
  .scroll, .equation, figure { overflow: visible; } math[display="block"] { font-size: .85em; }
  table { font-size: 8.5pt; } th, td { padding-right: .55rem; }
  td svg { width: 60px; height: 15px; } .figures { gap: .8rem 2%; } .figures > figure { max-width: 49%; }
  .figures > figure:has(.wide) { max-width: 100%; } figure svg.wide { min-width: 0; }
  a { color: inherit; text-decoration: none; }
  details::details-content { content-visibility: visible; height: auto; } }
"""


def text(value: Any, most: int = 300) -> str:
    """Escaped text; the middle of long text is omitted."""
    words = str(value)
    if len(words) > most:
        words = f"{words[: most * 2 // 3]} … {words[-most // 4 :]}"
    return escape(words)


def nameless(words: str) -> str:
    """The text of an object without its memory address."""
    return re.sub(r" at 0x[0-9a-fA-F]+(?=>)", "", words)


def number(value: Any) -> str:
    """A readable number with four significant digits."""
    if value is None:
        return "–"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{int(value):,}".replace(",", "\u202f") if abs(int(value)) >= 10_000 else str(int(value))
    if not isinstance(value, Real):
        return text(value)
    v = float(value)
    if math.isnan(v):
        return "–"
    if math.isinf(v):
        return "∞" if v > 0 else "−∞"
    size = abs(v)
    if size and (size >= 1e6 or size < 1e-4):
        mantissa, exponent = f"{v:.2e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}·10<sup>{int(exponent)}</sup>".replace("-", "−")
    shown = f"{v:.4g}" if size < 1000 else f"{v:.0f}"
    return shown.replace("-", "−")


def table(
    head: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "", ours: int | None = None, plain: Any = ()
) -> str:
    """A table of numbers and safe HTML; the row `ours` is bold, the columns `plain` are left-aligned words."""
    body = []
    for i, (name, *cells) in enumerate(rows):
        row = "".join(
            f"<td>{c}</td>" if j in plain else f'<td class="number">{c if isinstance(c, str) else number(c)}</td>'
            for j, c in enumerate(cells, 1)
        )
        emphasis = ' class="ours"' if i == ours else ""
        body.append(f'<tr{emphasis}><th scope="row">{name}</th>{row}</tr>')
    titles = "".join(
        f'<th scope="col"{"" if j == 0 or j in plain else " class=number"}>{h}</th>' for j, h in enumerate(head)
    )
    named = f"<caption>{caption}</caption>" if caption else ""
    inner = f"{named}<thead><tr>{titles}</tr></thead><tbody>{''.join(body)}</tbody>"
    return f'<div class="scroll"><table>{inner}</table></div>'


def tiles(items: Iterable[tuple[str, Any]]) -> str:
    """A few headline numbers."""
    return (
        '<ul class="tiles">'
        + "".join(f"<li><b>{v if isinstance(v, str) else number(v)}</b><span>{name}</span></li>" for name, v in items)
        + "</ul>"
    )


def figures(*found: str) -> str:
    """Pictures side by side, if they fit."""
    shown = "".join(f for f in found if f)
    return f'<div class="figures">{shown}</div>' if shown else ""


def paragraph(words: str, kind: str = "") -> str:
    """One paragraph of safe HTML."""
    return f"<p class={kind}>{words}</p>" if kind else f"<p>{words}</p>"


def bars(counts: Any, label: str) -> str:
    """A word-sized histogram."""
    heights = np.asarray(counts, dtype=np.float64)
    heights = heights / (heights.max(initial=0) or 1.0) * 22
    step = 96 / max(len(heights), 1)
    drawn = "".join(
        f'<rect x="{k * step:.1f}" y="{24 - h:.1f}" width="{max(step - 1, 0.5):.1f}" height="{max(h, 0.6):.1f}"/>'
        for k, h in enumerate(heights)
    )
    frame = 'width="96" height="24" viewBox="0 0 96 24" fill="var(--blue)"'
    return f'<svg {frame} role="img" aria-label="{text(label)}">{drawn}</svg>'


def prose(words: str) -> str:
    """A sentence of a docstring: mathematics, code and emphasis in reST become HTML."""
    parts = re.split(r"(:math:`[^`]+`|``[^`]+``|:\w+:`[^`]+`|`[^`]+`_?|\*\w[^*\s]*\*)", " ".join(words.split()))
    return "".join(_marked(part) if k % 2 else text(part, 2000) for k, part in enumerate(parts))


def _marked(part: str) -> str:
    inner = part.removesuffix("`_").strip("`") if part.startswith("`") else part.strip("`*")
    if part.startswith(":math:"):
        return mathml(part[7:-1])
    if part.startswith("*"):
        return f"<em>{text(inner)}</em>"
    return f"<code>{text(re.sub(r'^:[a-z]+:`|<.*>$', '', inner).lstrip('~').strip())}</code>"


def page(title: str, subtitle: str, sections: dict[str, tuple[str, str]], foot: str) -> str:
    """The whole file. `sections` maps anchors to (heading, body)."""
    links = "".join(f'<li><a href="#{key}">{name}</a></li>' for key, (name, _) in sections.items())
    body = "".join(
        f'<section id="{key}" aria-labelledby="{key}-title"><h2 id="{key}-title">{name}</h2>{inner}</section>'
        for key, (name, inner) in sections.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{text(title)}</title><style>{STYLE}</style></head>\n"
        f'<body><header><h1>{text(title)}</h1><p class="quiet">{subtitle}</p>'
        f'<nav aria-label="Sections"><ul>{links}</ul></nav></header>\n'
        f"<main>{body}</main>\n<footer>{foot}</footer></body></html>\n"
    )
