"""``mercer reproduce`` and ``mercer demo``: things to try."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .._errors import optional
from ._data import DataError
from ._output import Output, command
from .fit import fit_file

__all__ = ["register"]

HELD_OUT = 97


def register(app: click.Group) -> None:
    """Add the commands."""

    @command(app)
    @click.argument("name", required=False)
    @click.option("--all", "everything", is_flag=True, help="Every experiment.")
    @click.option("--quick", is_flag=True, help="On fewer data, in minutes.")
    @click.option("--out", "-o", type=click.Path(file_okay=False), default="reproduced", show_default=True)
    def reproduce(output: Output, name: str | None, everything: bool, quick: bool, out: str) -> None:
        """Run experiments of the literature again.

        Reported numbers beside ours, with figures.

        Without a name, list them.
        """
        experiments = _experiments()
        if everything and name:
            raise click.UsageError("give a name or --all, not both.")
        if not everything and name is None:
            output.result["experiments"] = list(experiments)
            rows = [[key, experiment.title, f"{experiment.minutes:g} min"] for key, experiment in experiments.items()]
            output.table(["name", "shows", "takes"], rows)
            return
        if name is not None and name not in experiments:
            raise DataError(f"there is no experiment {name!r}; `mercer reproduce` lists them.")
        optional("matplotlib", "plot", "An experiment")
        chosen = list(experiments) if everything else [str(name)]
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        failed = []
        for key in chosen:
            try:
                _run(output, key, experiments[key], quick, folder)
            except Exception as error:
                if not everything:
                    raise
                failed.append(key)
                output.note(f"{key}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
        if failed:
            raise DataError(f"{len(failed)} of {len(chosen)} experiments did not run: {', '.join(failed)}.")

    @command(app)
    @click.option("--out", "-o", type=click.Path(file_okay=False), default="mercer-demo", show_default=True)
    @click.option("--seconds", type=click.FloatRange(0, min_open=True), default=30.0, show_default=True)
    def demo(output: Output, out: str, seconds: float) -> int:
        """Learn to read digits, in a minute.

        `mercer fit` with a report on the digits of scikit-learn, and what to try next.
        """
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        _write_digits(folder)
        report = f"{folder}/digits.html"
        output.say(f"$ mercer fit {folder}/digits.csv --target digit --report {report}\n")
        code = fit_file(
            output, f"{folder}/digits.csv", "digit", f"{folder}/digits.mercer", seconds=seconds, report=report
        )
        output.say("\nNext:")
        for line in (
            f"mercer predict {folder}/digits.mercer {folder}/new.csv   # {HELD_OUT} digits that it has not seen",
            f"mercer info {folder}/digits.mercer",
            f"mercer kpca {folder}/digits.csv --colour digit",
            f"mercer compare {folder}/digits.csv --target digit --methods svc,means,linear",
            "mercer reproduce",
        ):
            output.say(f"  {line}")
        return code


def _experiments() -> Any:
    try:
        from mercer.experiments import EXPERIMENTS
    except ImportError as error:
        raise ImportError("this version of mercer has no experiments to reproduce.") from error
    return EXPERIMENTS


def _run(output: Output, name: str, experiment: Any, quick: bool, folder: Path) -> None:
    result = experiment.run(quick=quick, out=folder)
    rows = [[row.quantity, row.reported, row.ours, row.remark] for row in result.rows]
    output.table(["quantity", "reported", "ours", ""], rows, title=f"{name}: {experiment.title}")
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
    """The digits of scikit-learn as two files: to learn from, and new ones without labels."""
    import numpy as np
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    names = [f"pixel {r}.{c}" for r in range(8) for c in range(8)]
    old = np.column_stack([X, y])[:-HELD_OUT]
    np.savetxt(folder / "digits.csv", old, "%g", ",", header=",".join([*names, "digit"]), comments="")
    np.savetxt(folder / "new.csv", X[-HELD_OUT:], "%g", ",", header=",".join(names), comments="")
