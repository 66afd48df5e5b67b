"""What a command prints: text for people, JSON for programs, one sentence for an error."""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any
from uuid import uuid4

import click
import numpy as np

from ._data import DataError

__all__ = ["Output", "command", "replacing", "writable"]

INTERRUPTED = 130
WIDTH = 140  # of tables that go to a file or another program


class Output:
    """Collects a command's result, and says it in the way that was asked for."""

    def __init__(self, as_json: bool, quiet: bool):
        from rich.console import Console

        self.as_json, self.quiet = as_json, quiet
        self.silent = as_json or quiet
        self.result: dict[str, Any] = {}
        for stream in (sys.stdout, sys.stderr):  # a terminal without an accent or a line still gets the rest
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        options: dict[str, Any] = {"highlight": False, "soft_wrap": True, "emoji": False}
        self.console = Console(width=None if sys.stdout.isatty() else WIDTH, **options)
        self.errors = Console(stderr=True, **options)

    def say(self, text: str = "") -> None:
        """A line for people."""
        if not self.silent:
            self.console.print(text, markup=False)

    def note(self, text: str) -> None:
        """A remark beside the result, on the stream for errors."""
        self.result.setdefault("notes", []).append(text)
        if not self.silent:
            self.errors.print(f"note: {text}", markup=False, style="yellow")

    def table(self, head: list[str], rows: list[list[Any]], title: str | None = None) -> None:
        """A table for people; numbers are aligned right."""
        if self.silent:
            return
        from rich import box
        from rich.table import Table

        table = Table(*head, title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, title_style="bold")
        for k in range(len(head)):
            if rows and all(isinstance(row[k], (int, float)) for row in rows):
                table.columns[k].justify = "right"
        for row in rows:
            table.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row))
        self.console.print(table)

    def finish(self) -> None:
        """The result for programs."""
        if self.as_json:
            click.echo(json.dumps(_plain(self.result), indent=2, ensure_ascii=_only_ascii()))

    @contextmanager
    def progress(self, text: str, total: int) -> Iterator[Callable[[], None]]:
        """A bar with the time left, on a terminal; yields what to call after each step."""
        if self.silent or not self.errors.is_terminal:
            yield lambda: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = (
            TextColumn(text),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            Remaining(),
        )
        with Progress(*columns, console=self.errors, transient=True) as bar:
            task = bar.add_task(text, total=total)
            yield lambda: bar.advance(task)


def _only_ascii() -> bool:
    return "utf" not in (sys.stdout.encoding or "").lower()


def _plain(value: Any) -> Any:
    """A value of JSON; what is not finite is null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def command(group: click.Group, name: str | None = None, examples: Any = ()) -> Callable[[Any], click.Command]:
    """Register a function of (output, …) as a command with --json, --quiet and --debug, and errors in one sentence."""

    def register(function: Any) -> click.Command:
        @wraps(function)
        def run(as_json: bool, quiet: bool, debug: bool, **arguments: Any) -> None:
            output = Output(as_json, quiet)
            try:
                with warnings.catch_warnings(record=not debug) as caught:
                    if not debug:
                        warnings.simplefilter("always")
                    code = function(output, **arguments)
                for message in dict.fromkeys(str(w.message).split("\n")[0] for w in caught or [] if _concerns(w)):
                    output.note(message)
                output.finish()
            except (click.ClickException, click.exceptions.Exit):
                raise
            except KeyboardInterrupt:
                _fail(output, "interrupted.", debug)
                code = INTERRUPTED
            except BrokenPipeError:  # a reader such as `head` has enough
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                code = 0
            except Exception as error:
                _fail(output, _sentence(error), debug)
                code = 1
            if code:
                raise click.exceptions.Exit(code)

        own, run.__click_params__ = getattr(function, "__click_params__", []), []  # type: ignore[attr-defined]
        for flag in (
            click.option("--debug", is_flag=True, help="Show the traceback of an error."),
            click.option("--quiet", "-q", is_flag=True, help="Print errors only."),
            click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        ):
            run = flag(run)
        run.__click_params__ += own  # type: ignore[attr-defined]
        epilog = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in examples) if examples else None
        return group.command(name, epilog=epilog)(run)

    return register


def _concerns(warning: Any) -> bool:
    """Whether a warning is about the user's data, not about the libraries' code."""
    return not issubclass(
        warning.category, (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ImportWarning)
    )


def _fail(output: Output, message: str, debug: bool) -> None:
    if debug:
        traceback.print_exc()
    if output.as_json:
        click.echo(json.dumps({"error": message}, ensure_ascii=_only_ascii()))
    output.errors.print(f"mercer: {message}", markup=False, style="red")


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    if isinstance(error, MemoryError):
        return "there is not enough memory; take fewer rows, for example by `mercer convert --subset`."
    text = str(error).strip().split("\n")[0]
    return text or f"{type(error).__name__} without a message; --debug shows where."


def writable(path: Any, *sources: Any) -> Path | None:
    """A path to write to, checked before the work and not after it; none of the files that are read."""
    if path is None:
        return None
    path = Path(path)
    if any(path.exists() and Path(source).exists() and path.samefile(source) for source in sources):
        raise DataError(f"{path} is read by this command, and would be replaced; name another place.")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it.")
    if not path.parent.is_dir():
        raise DataError(f"{path}: its folder does not exist; make it first.")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{path}: its folder is read-only; name another place.")
    return path


@contextmanager
def replacing(path: Path | None) -> Iterator[Any]:
    """A text stream to a file that appears when it is complete; without a path, standard output."""
    if path is None:
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")  # as in a file, whatever the terminal's
        yield sys.stdout
        return
    draft = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with open(draft, "x", encoding="utf-8", newline="") as stream:
            yield stream
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
