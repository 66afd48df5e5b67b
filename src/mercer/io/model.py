"""Model files: zip archives of JSON and arrays, without pickles.

A file contains only three kinds of members:

``header.json``
    The format and its version, the class, the package versions, the names of the functions that `load` needs, and the
    SHA-256 digests of all other members.
``structure.json``
    The object, as written by `mercer.io._encoder`.
``arrays/0.npy``, ``arrays/1.npy``, …
    Its arrays, in NumPy's format, without pickled objects.

No member is compressed, so the file size bounds the memory needed to read it.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
import sklearn
from numpy.lib import format as npy

import mercer

from .._files import replacing
from ..types import EstimatorLike, FilePath
from ._checks import ModelError, check_room
from ._decoder import Decoder
from ._encoder import Encoder
from ._text import brief

__all__ = ["ModelError", "describe", "load", "save"]

FORMAT, VERSION = "mercer model", 1
HEADER, STRUCTURE = "header.json", "structure.json"
EARLIEST = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that the same model gives the same bytes


def _file_error(path: FilePath, message: str) -> ModelError:
    return ModelError(f"{path}: {brief(message, 500)}")


def save(model: EstimatorLike, path: FilePath) -> None:
    r"""Save an estimator, kernel or function to a model file, which `load` reads.

    The file is a zip archive of JSON and NumPy arrays. It contains no pickle, and nothing in it is ever executed. It
    replaces an existing file only once it is complete.

    Parameters
    ----------
    model : object
        Any object of this library, fitted or not, and scikit-learn's pipelines and estimators. User-defined functions
        and classes (in `Callable`, `Features`, ``warp``, `Custom`, free functions) are saved by name. ``memory`` and
        ``checkpoint``, which are local paths, are not saved.
    path : str or Path
        The usual suffix is ``.mercer``.

    Raises
    ------
    ModelError
        If the model contains an object that the format cannot represent.

    Examples
    --------
    >>> import tempfile, os, mercer
    >>> model = mercer.KernelRidge(kernel="rbf").fit([[0.0], [1.0]], [0.0, 1.0])
    >>> path = os.path.join(tempfile.mkdtemp(), "ridge.mercer")
    >>> mercer.save(model, path)
    >>> mercer.load(path).predict([[0.5]]) == model.predict([[0.5]])
    array([ True])
    """
    encoder = Encoder()
    try:
        structure = json.dumps(encoder.encode(model), allow_nan=False).encode()
    except RecursionError:
        raise ModelError("save: the model is nested too deeply, or contains itself.") from None
    except ValueError as error:  # ours, or an integer of thousands of digits
        raise ModelError(f"save: {error}") from None
    with replacing(path) as raw, zipfile.ZipFile(raw, "w") as archive:
        _write(archive, structure, encoder, type(model).__name__)


class _Digested:
    """A stream that updates a digest as it goes, so that no array is copied."""

    def __init__(self, stream: Any):
        self.stream, self.digest = stream, sha256()

    def write(self, content: Any) -> None:
        self.stream.write(content)
        self.digest.update(content)

    def read(self, size: int = -1) -> bytes:
        content: bytes = self.stream.read(size)
        self.digest.update(content)
        return content


def _write_array(A: np.ndarray, stream: Any) -> None:
    """Write NumPy's format; padding between record fields becomes zeros, not leftover memory."""
    if A.dtype.names is None:
        npy.write_array(stream, A, allow_pickle=False)
        return
    clean = np.zeros(A.shape, A.dtype)
    for name in A.dtype.names:
        clean[name] = A[name]
    npy.write_array_header_2_0(stream, npy.header_data_from_array_1_0(clean))
    stream.write(clean.tobytes())


def _write(archive: zipfile.ZipFile, structure: bytes, encoder: Encoder, kind: str) -> None:
    digests = {}

    def member(name: str, write: Callable[[Any], Any]) -> None:
        with archive.open(zipfile.ZipInfo(name, EARLIEST), "w", force_zip64=True) as stream:
            write(tee := _Digested(stream))
        digests[name] = tee.digest.hexdigest()

    member(STRUCTURE, lambda stream: stream.write(structure))
    for k, A in enumerate(encoder.arrays):
        member(f"arrays/{k}.npy", partial(_write_array, A))
    header = {
        "format": FORMAT,
        "version": VERSION,
        "class": kind,
        "needs": sorted(encoder.yours),
        "versions": {"mercer": mercer.__version__, "scikit-learn": sklearn.__version__, "numpy": np.__version__},
        "sha256": digests,
    }
    content = json.dumps(header, indent=1).encode()
    member(HEADER, lambda stream: stream.write(content))


@contextmanager
def _opened(path: FilePath) -> Iterator[tuple[zipfile.ZipFile, dict[str, Any]]]:
    """Open the archive and check its header."""
    if os.path.exists(path) and not os.path.isfile(path):  # reading a pipe could block, and a device never ends
        raise _file_error(path, "not a model file, but a folder, a device or a pipe.")
    with open(path, "rb") as raw:
        try:
            archive = zipfile.ZipFile(raw)
            members = archive.infolist()
            sizes = sum(member.file_size for member in members)
            if any(member.compress_type for member in members) or sizes > os.fstat(raw.fileno()).st_size:
                raise ValueError("its members are compressed, or larger than the file")
            header = json.loads(archive.read(HEADER))
        except Exception as error:  # a broken archive can fail in any way
            raise _file_error(path, f"not a model file, or a damaged one ({brief(error)}).") from error
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise _file_error(path, "not a model file of this library.")
        if header.get("version") != VERSION:
            wrote = header.get("versions", {}).get("mercer", "?") if isinstance(header.get("versions"), dict) else "?"
            raise _file_error(
                path,
                f"its format {header.get('version')!r} is not {VERSION}; it was written by mercer {wrote}; update "
                "mercer to read it.",
            )
        yield archive, header


def describe(path: FilePath) -> dict[str, Any]:
    """The header of a model file, without loading the model: its class, versions and the names it needs.

    Examples
    --------
    >>> import tempfile, os, mercer
    >>> path = os.path.join(tempfile.mkdtemp(), "kernel.mercer")
    >>> mercer.save(mercer.kernels.Gaussian(2.0), path)
    >>> describe(path)["class"], describe(path)["needs"]
    ('Gaussian', [])
    """
    with _opened(path) as (_, header):
        return header


def load(path: FilePath, functions: dict[str, Any] | None = None) -> Any:
    r"""Load an object from a model file.

    Neither loading nor using the model runs code from the file: it creates only classes of this library and of
    scikit-learn that are safe with any state, from JSON and arrays with verified digests. But a forged model may
    predict anything, and take any amount of time. ``memory`` and ``checkpoint`` are dropped with a warning.

    Parameters
    ----------
    path : str or Path
        A file written by `save`.
    functions : dict, optional
        User-defined functions and classes by their saved names, which `describe` lists. They include classes of
        scikit-learn that pass their state to compiled code, since a forged state could crash the program.

    Raises
    ------
    ModelError
        If the file is damaged, newer than this library, or needs a name that `functions` lacks.

    Examples
    --------
    >>> import tempfile, os, mercer
    >>> def twice(X):
    ...     return 2 * X
    >>> path = os.path.join(tempfile.mkdtemp(), "kernel.mercer")
    >>> mercer.save(mercer.kernels.Linear().warp(twice), path)
    >>> mercer.load(path, functions={"twice": twice})([[1.0]], [[3.0]])
    array([[12.]])
    """
    if not isinstance(functions, dict | None):
        raise ModelError(f"load: functions = {functions!r:.80} must be a dict from names to functions and classes.")
    with _opened(path) as (archive, header):
        digests = header.get("sha256")
        names = archive.namelist()
        names.remove(HEADER)  # only the first: a header does not list a second one
        if not isinstance(digests, dict) or sorted(digests) != sorted(names) or STRUCTURE not in digests:
            raise _file_error(path, "a damaged model file: its members are not those listed in its header.")

        def member(name: str, read: Callable[[Any], Any]) -> Any:
            digest = digests.pop(name)  # each array may be used once; a second use would double the memory
            with archive.open(name) as stream:
                made = read(tee := _Digested(stream))
                tee.read()  # the digest includes bytes after the array
            if tee.digest.hexdigest() != digest:
                raise ModelError(f"{name} was modified after it was written.")
            return made

        def array(k: Any) -> np.ndarray:
            A: np.ndarray = member(f"arrays/{k}.npy", partial(npy.read_array, allow_pickle=False))
            check_room(A)
            return A

        try:
            structure = json.loads(member(STRUCTURE, _Digested.read))
            decoder = Decoder(array, functions or {})
            made = decoder.model(structure)
        except ModelError as error:
            raise _file_error(path, str(error)) from error.__cause__
        except Exception as error:  # an invalid structure with a valid digest
            raise _file_error(path, f"a damaged model file ({type(error).__name__}: {brief(error)}).") from error
    if decoder.places:
        warnings.warn(
            f"{path}: sets {' and '.join(sorted(decoder.places))}, which are paths to write to or files to open; model "
            "files may not set them, so they are ignored.",
            stacklevel=2,
        )
    return made
