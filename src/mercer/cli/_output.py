"""Output of a command: text for people, JSON for programs, and one-sentence errors."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import wraps
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import click
import numpy as np

from .. import _files
from .._errors import optional
from ._columns import DataError

INTERRUPTED = 130
OF_LIBRARIES = (DeprecationWarning, FutureWarning, PendingDeprecationWarning, ImportWarning)  # irrelevant to users
WIDTH = 140  # of tables written to a file or a pipe
# control characters except tabs and line ends, and marks that change the text direction; terminals act on them
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Text from a file, made safe for a terminal.

    Examples
    --------
    >>> print(visible("\x1b[31mred"))
    \x1b[31mred
    """
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class _Visible:
    """A terminal stream that receives only safe text."""

    def __init__(self, stream: Any):
        self.stream = stream

    def write(self, text: str) -> int:
        return int(self.stream.write(visible(text)))


def _console(**options: Any) -> Any:
    from rich.console import Console

    class Patient(Console):
        """If the reader, such as `head`, closes the pipe, the command continues silently."""

        def on_broken_pipe(self) -> None:
            self.quiet = True
            _drain(self.file)

    return Patient(highlight=False, soft_wrap=True, emoji=False, markup=False, **options)


def _drain(stream: Any) -> None:
    """Discard pending output, which would raise an error at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Finite(click.FloatRange):
    """Finite numbers within bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


class Output:
    """Collects a command's result and prints it as text or JSON."""

    def __init__(self, as_json: bool, quiet: bool):
        self.as_json, self.quiet = as_json, quiet
        self.silent = as_json or quiet
        self.result: dict[str, Any] = {}
        for stream in (sys.stdout, sys.stderr):  # escape characters that the terminal cannot show
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        on_screen = sys.stdout is not None and sys.stdout.isatty()
        self.console = _console(width=None if on_screen else WIDTH)
        self.errors = _console(stderr=True)

    def say(self, text: str = "") -> None:
        """Print a line for people."""
        if not self.silent:
            self.console.print(visible(text))

    def note(self, text: str) -> None:
        """Print a remark on the result, to standard error."""
        self.result.setdefault("notes", []).append(text)
        if not self.silent:
            self.errors.print(visible(f"note: {text}"), style="yellow")

    def table(self, head: list[str], rows: list[list[Any]], title: str | None = None) -> None:
        """Print a table for people; numbers are right-aligned."""
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
        """Print the result for programs."""
        if self.as_json:
            click.echo(_json(_plain(self.result), indent=2))

    @contextmanager
    def progress(self, text: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """A progress bar on a terminal, with the remaining time if `total` is known; yields its `advance`."""
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
    # outside strings, only line ends can match
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(value: Any) -> Any:
    """A JSON value; non-finite numbers become null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int, bool, type(None))) else str(value)


def command(name: str | None = None, examples: Sequence[str] = ()) -> Callable[[Any], click.Command]:
    """Make a function of (output, …) a command with --json, --quiet and --debug, and one-sentence errors."""

    def make(function: Callable[..., Any]) -> click.Command:
        @wraps(function)
        def run(as_json: bool, quiet: bool, debug: bool, **arguments: Any) -> None:
            output = Output(as_json, quiet)
            try:
                with warnings.catch_warnings(record=not debug) as caught:
                    if not debug:
                        warnings.simplefilter("always")
                    with _on(arguments.pop("device", None)):
                        code = function(output, **arguments)
                told = [w.message for w in caught or [] if not issubclass(w.category, OF_LIBRARIES)]
                for message in dict.fromkeys(str(message).strip().split("\n")[0] for message in told):
                    output.note(message)
                output.finish()
                _flush()
            except (click.ClickException, click.exceptions.Exit):
                raise
            except KeyboardInterrupt:
                _fail(output, "interrupted.", debug)
                code = INTERRUPTED
            except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
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
        return click.command(name, epilog=epilog)(run)

    return make


def _on(device: str | None) -> AbstractContextManager[None]:
    """Compute on the device of the option --device, if it is given."""
    if device is None:
        return nullcontext()
    from .._device import device as on

    return on(device)


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
        with suppress(OSError):  # the pipe is closed, or the disk is full
            say_error(message)
    output.errors.print(visible(f"mercer: {message}"), style="red")


def say_error(message: str) -> None:
    """Print an error for programs."""
    click.echo(_json({"error": message}))


def sentence(error: Exception) -> str:
    if isinstance(error, DataError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'writing failed'}: {error.strerror}."
    if isinstance(error, MemoryError):
        return "not enough memory; use fewer rows, for example with `mercer convert --subset`."
    text = str(error).strip().split("\n")[0]
    return text or f"{type(error).__name__} without a message; --debug shows the traceback."


def can_draw(output: Output, what: str, asked: bool) -> bool:
    """Whether matplotlib is installed; if not, a note, or an error if the picture or report was requested."""
    try:
        optional("matplotlib", "plot", what)
    except ImportError as error:
        if asked:
            raise
        output.note(str(error))
        return False
    return True


def writable(path: Any, reads: Sequence[Any] = (), writes: Sequence[Any] = ()) -> Path | None:
    """An output path, checked before any work: a plain file, distinct from the other files of this command."""
    if path is None:
        return None
    path = Path(path)
    if any(_same(path, other) for other in reads if other is not None):
        raise DataError(f"{path} is an input of this command and would be replaced; choose another output file.")
    if any(_same(path, other) for other in writes if other is not None):
        raise DataError(f"{path} is given for two outputs; choose another file for one of them.")
    if path.is_dir():
        raise DataError(f"{path} is a folder; name a file in it.")
    if str(path) == "-" or (path.exists() and not path.is_file()):
        raise DataError(f"{path} is not a file; name one.")
    if not path.parent.is_dir():
        raise DataError(f"{path}: its folder does not exist; create it first.")
    try:
        TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise DataError(f"{path}: its folder is not writable ({error.strerror}); choose another one.") from error
    return path


def _same(path: Path, other: Any) -> bool:
    """Whether two paths name the same file, which need not exist yet."""
    other = Path(other)
    if path.exists() and other.exists():
        return path.samefile(other)
    return os.path.realpath(path) == os.path.realpath(other)


@contextmanager
def replacing(path: Path | None) -> Iterator[Any]:
    """A text stream to a file that appears only when it is complete; without a path, standard output."""
    if path is None and sys.stdout is None:
        raise DataError("standard output is closed; name a file.")
    try:
        if path is not None:
            with _files.replacing(path) as raw:
                text = TextIOWrapper(raw, encoding="utf-8", newline="")
                yield text
                text.detach()
            return
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")  # as in a file
        yield _Visible(sys.stdout) if sys.stdout.isatty() else sys.stdout
    except UnicodeEncodeError as error:
        half = error.object[error.start : error.end]
        raise DataError(
            f"{half!r} in a label or a name is half a character, which UTF-8 cannot encode; rename it and fit again."
        ) from error
