"""What a command prints: text for people, JSON for programs, one sentence for an error."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click
import numpy as np

from .. import _files
from .._errors import optional
from ._data import DataError

__all__ = ["Finite", "Output", "can_draw", "command", "replacing", "say_error", "sentence", "visible", "writable"]

INTERRUPTED = 130
WIDTH = 140  # of tables that go to a file or another program
# all but tabs and ends of lines, and what turns the direction of text around: terminals obey them, whoever wrote them
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Text from a file as a terminal may show it.

    Examples
    --------
    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _Visible:
    """A terminal that is shown only what is safe to show."""

    def __init__(self, stream: Any):
        self.stream = stream

    def write(self, text: str) -> int:
        return int(self.stream.write(visible(text)))


def _console(**options: Any) -> Any:
    from rich.console import Console

    class Patient(Console):
        """Where the reader, such as `head`, has enough, the work goes on and says no more."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            _drain(self.file)

    return Patient(highlight=False, soft_wrap=True, emoji=False, markup=False, **options)


def _drain(stream: Any) -> None:
    """Let what is still to be written go nowhere, which Python would complain of at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Finite(click.FloatRange):
    """Numbers within bounds, of which "nan" and "inf" are none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is no finite number.", param, ctx)
        return number


class Output:
    """Collects a command's result, and says it in the way that was asked for."""

    def __init__(self, as_json: bool, quiet: bool):
        self.as_json, self.quiet = as_json, quiet
        self.silent = as_json or quiet
        self.result: dict[str, Any] = {}
        for stream in (sys.stdout, sys.stderr):  # a terminal without an accent or a line still gets the rest
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        on_screen = sys.stdout is not None and sys.stdout.isatty()
        self.console = _console(width=None if on_screen else WIDTH)
        self.errors = _console(stderr=True)

    def say(self, text: str = "") -> None:
        """A line for people."""
        if not self.silent:
            self.console.print(visible(text))

    def note(self, text: str) -> None:
        """A remark beside the result, on the stream for errors."""
        self.result.setdefault("notes", []).append(text)
        if not self.silent:
            self.errors.print(visible(f"note: {text}"), style="yellow")

    def table(self, head: list[str], rows: list[list[Any]], title: str | None = None) -> None:
        """A table for people; numbers are aligned right."""
        if self.silent:
            return
        from rich import box
        from rich.table import Table

        head = list(map(visible, head))
        table = Table(
            *head,
            title=title and visible(title),
            title_justify="left",
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            title_style="bold",
        )
        for k in range(len(head)):
            if rows and all(isinstance(row[k], (int, float)) for row in rows):
                table.columns[k].justify = "right"
        for row in rows:
            table.add_row(*(f"{v:.4g}" if isinstance(v, float) else visible(str(v)) for v in row))
        self.console.print(table)

    def finish(self) -> None:
        """The result for programs."""
        if self.as_json:
            click.echo(_json(_plain(self.result), indent=2))

    @contextmanager
    def progress(self, text: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """A bar on a terminal, with the time left if the number of steps is known; yields what to call after each."""
        if self.silent or not self.errors.is_terminal:
            yield lambda: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.progress import TimeRemainingColumn as Remaining

        columns = [TextColumn(text), BarColumn(), TimeElapsedColumn()]
        if total is not None:
            columns[2:2] = [MofNCompleteColumn()]
            columns += [TextColumn("left"), Remaining()]
        with Progress(*columns, console=self.errors, transient=True) as bar:
            task = bar.add_task(text, total=total)
            yield lambda: bar.advance(task)


def _json(value: Any, **options: Any) -> str:
    text = json.dumps(value, ensure_ascii="utf" not in (sys.stdout.encoding or "").lower(), **options)
    # between the values there are ends of lines only
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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
                for message in dict.fromkeys(
                    str(w.message).strip().split("\n")[0] for w in caught or [] if _concerns(w)
                ):
                    output.note(message)
                output.finish()
                _flush()
            except (click.ClickException, click.exceptions.Exit):
                raise
            except KeyboardInterrupt:
                _fail(output, "interrupted.", debug)
                code = INTERRUPTED
            except BrokenPipeError:  # a reader such as `head` has enough
                code = 0
            except Exception as error:
                _fail(output, sentence(error), debug)
                code = 1
            with suppress(OSError):
                _flush()
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


def _flush() -> None:
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        _drain(sys.stdout)
        raise


def _fail(output: Output, message: str, debug: bool) -> None:
    if debug:
        output.errors.print(visible(traceback.format_exc()))
    if output.as_json:
        with suppress(OSError):  # nobody reads it, or the disk is full
            say_error(message)
    output.errors.print(visible(f"mercer: {message}"), style="red")


def say_error(message: str) -> None:
    """An error for programs."""
    click.echo(_json({"error": message}))


def sentence(error: Exception) -> str:
    if isinstance(error, DataError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'writing failed'}: {error.strerror}."
    if isinstance(error, MemoryError):
        return "there is not enough memory; take fewer rows, for example by `mercer convert --subset`."
    text = str(error).strip().split("\n")[0]
    return text or f"{type(error).__name__} without a message; --debug shows where."


def can_draw(output: Output, what: str, asked: bool) -> bool:
    """Whether there is matplotlib; without it a note, or an error where the picture or report was asked for."""
    try:
        optional("matplotlib", "plot", what)
    except ImportError as error:
        if asked:
            raise
        output.note(str(error))
        return False
    return True


def writable(path: Any, reads: Sequence[Any] = (), writes: Sequence[Any] = ()) -> Path | None:
    """A path to write to, checked before the work and not after it: no other file of this command, and a plain one."""
    if path is None:
        return None
    path = Path(path)
    if any(_same(path, other) for other in reads if other is not None):
        raise DataError(f"{path} is read by this command, and would be replaced; name another place.")
    if any(_same(path, other) for other in writes if other is not None):
        raise DataError(f"{path} is to hold two things; name another place for one of them.")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it.")
    if str(path) == "-" or (path.exists() and not path.is_file()):
        raise DataError(f"{path} is no file; name one.")
    if not path.parent.is_dir():
        raise DataError(f"{path}: its folder does not exist; make it first.")
    try:
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise DataError(f"{path}: its folder is not writable ({error.strerror}); name another place.") from error
    return path


def _same(path: Path, other: Any) -> bool:
    """Whether two names are of one file, which need not exist yet."""
    other = Path(other)
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


@contextmanager
def replacing(path: Path | None) -> Iterator[Any]:
    """A text stream to a file that appears when it is complete; without a path, standard output."""
    try:
        with _stream(path) as stream:
            yield stream
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        raise DataError(
            f"{half!r} in a label or a name is half a character, which no text in UTF-8 holds; rename it and fit again."
        ) from error


@contextmanager
def _stream(path: Path | None) -> Iterator[Any]:
    if path is None:
        if sys.stdout is None:
            raise DataError("standard output is closed; name a file.")
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")  # as in a file, whatever the terminal's
        yield _Visible(sys.stdout) if sys.stdout.isatty() else sys.stdout
        return
    with _files.replacing(path) as raw:
        text = TextIOWrapper(raw, encoding="utf-8", newline="")
        yield text
        text.detach()
