"""``mercer reproduce`` and ``mercer demo``: published experiments, and an example."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from .._errors import optional
from ._columns import DataError
from ._output import Finite, Output, command, sentence
from .fit import fit_file

HELD_OUT = 97


@command(examples=["mercer reproduce", "mercer reproduce wine", "mercer reproduce --all --quick -o figures"])
@click.argument("name", required=False)
@click.option("--all", "everything", is_flag=True, help="Run every experiment.")
@click.option("--quick", is_flag=True, help="Use less data; takes minutes.")
@click.option(
    "--out", "-o", type=click.Path(file_okay=False), default="reproduced", show_default=True, help="Folder for figures."
)
def reproduce(output: Output, name: str | None, everything: bool, quick: bool, out: str) -> int:
    """Reproduce experiments from the literature.

    Prints reported and reproduced numbers side by side, with figures.

    Without a name, lists them.
    """
    if everything and name:
        raise click.UsageError("NAME and --all are mutually exclusive.")
    experiments = _experiments()
    if not everything and name is None:
        return _list(output, experiments)
    if name is not None and name not in experiments:
        near = get_close_matches(name, experiments, n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"there is no experiment {name!r}; `mercer reproduce` lists them.{meant}")
    optional("matplotlib", "plot", "An experiment")
    folder = _writable_folder(out)
    if name is not None:
        _run(output, name, experiments[name], quick, folder)
        return 0
    return _run_all(output, experiments, quick, folder)


@command()
@click.option("--out", "-o", type=click.Path(file_okay=False), default="mercer-demo", show_default=True)
@click.option("--seconds", type=Finite(0, min_open=True), default=30.0, show_default=True, help="For tuning.")
def demo(output: Output, out: str, seconds: float) -> int:
    """Learn to read digits in a minute.

    Runs `mercer fit` on scikit-learn's digits, writes a report, and suggests what to try next.
    """
    folder = _writable_folder(out)
    _write_digits(folder)
    output.say(f"$ mercer fit {folder}/digits.csv --target digit --out {folder}/digits.mercer\n")
    code = fit_file(output, f"{folder}/digits.csv", "digit", f"{folder}/digits.mercer", seconds=seconds)
    report = output.result.get("report")
    output.say(f"\nOpen {report} in a browser. Next:" if report else "\nNext:")
    for line in (
        f"mercer predict {folder}/digits.mercer {folder}/new.csv   # {HELD_OUT} unseen digits",
        f"mercer info {folder}/digits.mercer",
        f"mercer kpca {folder}/digits.csv --colour digit",
        f"mercer compare {folder}/digits.csv --target digit --methods svc,means,linear",
        "mercer reproduce",
    ):
        output.say(f"  {line}")
    return code


def _experiments() -> dict[str, Any]:
    """The experiments by name, in alphabetical order."""
    try:
        from mercer.experiments import EXPERIMENTS
    except ImportError as error:
        raise ImportError(f"there are no experiments to reproduce: {error}") from error
    return dict(sorted(EXPERIMENTS.items()))


def _list(output: Output, experiments: dict[str, Any]) -> int:
    output.result["experiments"] = {key: {"title": e.title, "minutes": e.minutes} for key, e in experiments.items()}
    rows = [[key, experiment.title, f"{experiment.minutes:g} min"] for key, experiment in experiments.items()]
    output.table(["name", "shows", "takes"], rows)
    total = sum(experiment.minutes for experiment in experiments.values())
    output.say(f"`mercer reproduce NAME` runs one, `--all` runs all in about {total:.0f} min, `--quick` on less data.")
    return 0


def _writable_folder(out: str) -> Path:
    """The output folder, created if missing and checked before a long run."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DataError(f"--out {out}: the folder is read-only; choose another one.")
    return folder


def _run_all(output: Output, experiments: dict[str, Any], quick: bool, folder: Path) -> int:
    """Run all experiments in turn; a failure is reported and does not stop the others."""
    failed = output.result["failed"] = dict[str, str]()
    for key, experiment in experiments.items():
        try:
            _run(output, key, experiment, quick, folder)
        except BrokenPipeError:  # the reader has closed the pipe
            raise
        except Exception as error:
            failed[key] = sentence(error)
            output.note(f"{key}: {failed[key]}")
    if not failed:
        return 0
    output.note(f"{len(failed)} of {len(experiments)} experiments did not run: {', '.join(failed)}.")
    return 1


def _run(output: Output, name: str, experiment: Any, quick: bool, folder: Path) -> None:
    takes = "" if quick else f" (about {experiment.minutes:g} min)"
    output.say(f"\n{name}: {experiment.title}{takes}")
    result = experiment.run(quick=quick, out=folder)
    rows = [[row.quantity, row.reported, row.ours, row.remark] for row in result.rows]
    output.table(["quantity", "reported", "ours", "remark"], rows)
    for note in result.notes:
        output.say(f"  {note}")
    for figure in result.figures:
        output.say(f"  figure: {figure}")
    output.result.setdefault("experiments", {})[name] = {
        "rows": [vars(row) for row in result.rows],
        "figures": [str(figure) for figure in result.figures],
        "notes": result.notes,
        "seconds": result.seconds,
    }


def _write_digits(folder: Path) -> None:
    """Write scikit-learn's digits as two files: training data, and new digits without labels."""
    import numpy as np
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    names = [f"pixel {r}.{c}" for r in range(8) for c in range(8)]
    old = np.column_stack([X, y])[:-HELD_OUT]
    np.savetxt(folder / "digits.csv", old, "%g", ",", header=",".join([*names, "digit"]), comments="")
    np.savetxt(folder / "new.csv", X[-HELD_OUT:], "%g", ",", header=",".join(names), comments="")
