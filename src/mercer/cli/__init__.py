"""The command ``mercer``: from a file to a tuned, explained and saved model.

It needs click, rich and pandas (``pip install "mercer[cli]"``), which are imported when a command runs.
"""

from __future__ import annotations

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

    app(prog_name="mercer")
