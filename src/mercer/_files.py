"""Files that are written all or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4


@contextmanager
def replacing(path: Any) -> Iterator[BinaryIO]:
    """A stream whose content appears under `path` when it is complete; until then, or after an error, the old stays.

    A link keeps pointing to its file, and the new file has the permissions of the old one.
    """
    path = Path(os.fsdecode(os.path.realpath(path)))
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: its folder does not exist; make it first.")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is a folder or a device, which no file can replace; choose another name.")
    temporary = path.with_name(f".{uuid4().hex}")
    try:
        with open(temporary, "xb") as raw:
            if path.exists():
                shutil.copymode(path, temporary)
            yield raw
            raw.flush()
            os.fsync(raw.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
