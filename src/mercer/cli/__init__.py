"""The ``mercer`` command: from a data file to a tuned, explained and saved model.

It needs click, rich and pandas (``pip install "mercer[cli]"``), which are imported when a command runs.
"""

from __future__ import annotations

import os

from .._errors import optional
from ._model import FileModel

__all__ = ["FileModel", "main"]


def main() -> None:
    """Run the command line."""
    try:
        for library in ("click", "rich", "pandas"):
            optional(library, "cli", "The command line")
    except ImportError as error:
        raise SystemExit(f"mercer: {error}") from None
    from .app import app

    try:
        app(prog_name="mercer")
    except OSError as error:  # help and completion write to a full disk; no command guards them
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        raise SystemExit(f"mercer: {error.strerror}.") from None
