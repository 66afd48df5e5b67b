"""Compiled code on disk. Each file holds one function for one signature and processor; imported with numba.

Numba's own cache has an index of numbered files: processes that start together can assign the same number to two
signatures, a damaged file is an error, and changes to a called function in another source file go unnoticed, although
compiled code contains it. Here the file name encodes everything the code depends on, and a digest detects damage. A
file is code, so it is read only if nobody wrote it who could not write the source.
"""

from __future__ import annotations

import os
import pickle
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryFile
from types import CodeType
from typing import Any

import numba
import numpy as np
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from numba.misc.appdirs import AppDirs

from . import _intrinsics, _jit
from ._files import replacing

DIGEST = 32  # bytes
OTHERS = stat.S_IWGRP | stat.S_IWOTH  # modes that let others write
PLAIN = (bool, int, float, complex, str, bytes, tuple, np.generic, np.ndarray, np.dtype, type(None))


class Cache:
    """The files of one function, in place of numba's cache; if a file is unusable, the function is compiled."""

    def __init__(self, function: Callable[..., Any], flags: frozenset[str] = frozenset()):
        source = Path(function.__code__.co_filename)
        self.source, self.folders = source, folders(source) if source.is_absolute() else []
        self.used: set[Path] = set()  # folders that files were read from or written to
        name = function.__qualname__.replace("<", "").replace(">", "")
        self.prefix = f"{source.stem}.{name}-"
        self.stamp = _digest(_meaning(function, flags), *map(_text, (_jit, _intrinsics)))[:16]

    @property
    def cache_path(self) -> str | None:
        """The folder to write to, or None."""
        found = writable(*self.folders)
        return None if found is None else str(found)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The code for a signature from the first folder with an intact file, or None."""
        context.refresh()
        name = self._name(signature, context.codegen())
        for folder in self.folders:
            with suppress(Exception):  # unpickling damaged or foreign data may raise anything
                content = _read(folder / name, self.source)
                if content[:DIGEST] == _sum(name, content[DIGEST:]):
                    compiled = CompileResult._rebuild(context, *pickle.loads(content[DIGEST:]))
                    self.used.add(folder)
                    return compiled
        return None

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Write a file atomically, and remove those of earlier versions of the function."""
        folder = writable(*self.folders)
        if folder is None or compiled.lifted or compiled.library.has_dynamic_globals:
            return
        name, content = self._name(signature, compiled.codegen), dumps(compiled._reduce())
        with suppress(OSError):  # a full disk
            (folder / name).unlink(missing_ok=True)  # a file that could not be read, and its mode
            with replacing(folder / name) as stream:
                if os.name == "posix":
                    os.fchmod(stream.fileno(), os.fstat(stream.fileno()).st_mode & ~OTHERS)
                stream.write(_sum(name, content) + content)
            self.used.add(folder)
            for old in folder.glob(f"{self.prefix}*.nbc"):
                if not old.name.startswith(self.prefix + self.stamp):
                    old.unlink(missing_ok=True)

    def _name(self, signature: Any, codegen: Any) -> str:
        known = (numba.__version__, sys.version_info[:2], signature, codegen.magic_tuple())
        return f"{self.prefix}{self.stamp}-{_digest(repr(known).encode())[:20]}.nbc"


def folders(source: Path) -> list[Path]:
    """Candidate folders for a source file's compiled code: numba's, if set, or next to it; then the user's cache."""
    own = f"{source.parent.name}_{_digest(str(source.parent).encode())[:16]}"
    user = Path(AppDirs("mercer", appauthor=False).user_cache_dir)
    given = getattr(config, "CACHE_DIR", "")  # NUMBA_CACHE_DIR
    first = Path(given).absolute() / own if given else source.parent / "__pycache__"
    return [first, *([user / own] if user.is_absolute() else [])]


@cache
def writable(*candidates: Path) -> Path | None:
    """The first folder in which a file can be created."""
    for folder in candidates:
        with suppress(OSError):
            if folder.name == "__pycache__":
                folder.mkdir(exist_ok=True)
            else:
                os.makedirs(folder, exist_ok=True)
            TemporaryFile(dir=folder).close()
            return folder
    return None


def _read(path: Path, source: Path) -> bytes:
    """The content of a file that belongs to this user, the system or the owner of the source."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as stream:
        found = os.fstat(stream.fileno())
        if not stat.S_ISREG(found.st_mode):  # a pipe would block
            raise OSError(f"{path} is not a file.")
        if os.name == "posix":
            owners = {0, os.geteuid(), source.stat().st_uid if source.exists() else 0}
            if found.st_uid not in owners or found.st_mode & OTHERS:
                raise PermissionError(f"Others could have written {path}.")
        return stream.read()


def _meaning(function: Callable[..., Any], flags: frozenset[str]) -> bytes:
    """The bytecode of a function and of all compiled functions that it calls, with their flags and constants."""
    seen: dict[int, bytes] = {}

    def visit(current: Any, flags: frozenset[str]) -> None:
        if id(current) in seen:
            return
        code, known = current.__code__, current.__globals__
        cells = [cell.cell_contents for cell in current.__closure__ or ()]
        used = [known[name] for part in _parts(code) for name in part.co_names if name in known]
        called = [v for v in [*used, *cells] if isinstance(v, _jit.Deferred) and "__wrapped__" in vars(v)]
        plain = [_plain(value) for value in [*used, *cells] if isinstance(value, PLAIN)]
        seen[id(current)] = repr(([_described(part) for part in _parts(code)], plain, sorted(flags))).encode()
        for other in called:
            visit(other.__wrapped__, other.flags)

    visit(function, flags)
    return b"\n".join(seen.values())


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def _described(code: CodeType) -> tuple[Any, ...]:
    constants = [constant for constant in code.co_consts if not isinstance(constant, CodeType)]
    return code.co_name, code.co_code, constants, code.co_names, code.co_varnames, code.co_freevars


def _plain(value: Any) -> Any:
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


@cache
def _text(module: Any) -> bytes:
    return bytes(module.__loader__.get_data(module.__file__))


def _digest(*parts: bytes) -> str:
    return sha256(b"\0".join(parts)).hexdigest()


def _sum(name: str, content: bytes) -> bytes:
    return sha256(name.encode() + content).digest()
