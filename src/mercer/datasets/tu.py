"""Graphs in the text format of the TU Dortmund collection."""

from __future__ import annotations

from io import BytesIO
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from sklearn.utils import Bunch

from .._errors import speaking
from .._files import require_file, require_room
from ..domains import Graph

PARTS = ("A", "graph_indicator", "graph_labels", "graph_attributes", "node_labels", "edge_labels", "node_attributes")


@speaking
def load_tu(path: str | PathLike[str]) -> Bunch:
    r"""Read a collection of graphs in the TU format, from a zip file or a folder.

    Parameters
    ----------
    path : path
        A zip file or a folder that contains ``NAME_A.txt``, ``NAME_graph_indicator.txt``, ``NAME_graph_labels.txt`` (or
        ``NAME_graph_attributes.txt``, for regression) and possibly ``NAME_node_labels.txt``, ``NAME_edge_labels.txt``
        and ``NAME_node_attributes.txt``.

    Returns
    -------
    Bunch
        ``graphs``, a list of `mercer.domains.Graph`; ``y``, an array with one entry per graph; ``name``.

    Notes
    -----
    Labels are integers, or tuples of integers if a line has several. The format lists an undirected edge in both
    directions: if every arc has its reverse, with the same label, the graphs are undirected. Duplicate arcs are kept
    once. Edge attributes are not read.

    References
    ----------
    Morris, Kriege, Bause, Kersting, Mutzel, Neumann, *TUDataset: a collection of benchmark datasets for learning with
    graphs* (2020).

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> files = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "1\n-1\n"}
    >>> with TemporaryDirectory() as folder:
    ...     for part, text in files.items():
    ...         _ = Path(folder, f"TOY_{part}.txt").write_text(text)
    ...     data = load_tu(folder)
    >>> data.graphs, data.y
    ([Graph(2 nodes, 1 edges), Graph(1 nodes, 0 edges)], array([ 1, -1]))
    """
    name, files = _files(Path(path))

    def table(part: str, kind: type = np.int64) -> np.ndarray | None:
        text = files.get(part)
        if text is None:
            return None
        try:
            rows = np.loadtxt(BytesIO(text), delimiter=",", ndmin=2) if text.strip() else np.empty((0, 2))
        except ValueError as error:
            raise ValueError(f"load_tu: {name}_{part}.txt is not a table of numbers: {error}") from error
        wrong = (rows != np.rint(rows)) | (np.abs(rows) > 2**53) if kind is np.int64 else ~np.isfinite(rows)
        if np.any(wrong):
            expected = "integers" if kind is np.int64 else "finite numbers"
            raise ValueError(f"load_tu: {name}_{part}.txt contains {rows[wrong][0]:g}; expected {expected}.")
        return rows.astype(kind)

    arcs, owner = table("A"), table("graph_indicator")
    y = table("graph_labels")
    y = table("graph_attributes", np.float64) if y is None else y
    if arcs is None or owner is None or y is None:
        raise ValueError(f"load_tu: {path} lacks {name}_A, {name}_graph_indicator or {name}_graph_labels (.txt).")
    if arcs.shape[1] != 2:
        raise ValueError(f"load_tu: {name}_A.txt has {arcs.shape[1]} numbers per line; expected the ends of an edge.")
    if len(owner) and owner.shape[1] != 1:
        raise ValueError(
            f"load_tu: {name}_graph_indicator.txt has {owner.shape[1]} numbers per line; expected the graph of a node."
        )
    if np.any(owner < 1):
        raise ValueError(
            f"load_tu: {name}_graph_indicator.txt names the graph {owner.min()}; graphs are numbered from 1."
        )
    if not len(y):
        raise ValueError(f"load_tu: {path} contains no graphs: the file of graph labels or attributes is empty.")
    nodes, edges, attributes = table("node_labels"), table("edge_labels"), table("node_attributes", np.float64)
    first = np.searchsorted(owner[:, 0], np.arange(1, len(y) + 2))
    lengths = (nodes, len(owner)), (attributes, len(owner)), (edges, len(arcs)), (owner, first[-1])
    if np.any(np.diff(owner[:, 0]) < 0) or any(part is not None and len(part) != n for part, n in lengths):
        raise ValueError(f"load_tu: the files of {name} do not match: their numbers of lines differ.")
    if np.any((arcs < 1) | (arcs > len(owner))):
        raise ValueError(f"load_tu: {name}_A.txt names a node that is not one of the {len(owner)} of the indicator.")
    ends, edges, directed = _edges(arcs - 1, edges)
    begin = np.searchsorted(ends[:, 0], first)
    graphs = [
        Graph(
            b - a,
            ends[p:q] - a,
            None if nodes is None else _labels(nodes[a:b]),
            None if edges is None else _labels(edges[p:q]),
            None if attributes is None else attributes[a:b],
            directed=directed,
        )
        for (a, b), (p, q) in zip(pairwise(first), pairwise(begin), strict=True)
    ]
    return Bunch(graphs=graphs, y=y[:, 0] if y.shape[1] == 1 else y, name=name)


def _files(path: Path) -> tuple[str, dict[str, bytes]]:
    """The name of the collection, and its text files by part; other files are ignored."""
    if path.is_dir():
        name, found = _named(path, [file.name for file in path.iterdir()])
        for file in found.values():
            require_file(path / file)
        return name, {part: (path / file).read_bytes() for part, file in found.items()}
    if not path.exists():
        raise FileNotFoundError(f"load_tu: {path} does not exist; pass the zip file or the folder of a collection.")
    require_file(path)
    with open(path, "rb") as raw:
        try:
            archive = ZipFile(raw)
        except Exception as error:  # a broken archive can fail in any way
            raise _damaged(path, error) from error
        name, found = _named(path, archive.namelist())
        held = sum(archive.getinfo(file).file_size for file in found.values())
        require_room(path, held, "unpack it, and pass the folder", text=True)
        try:
            return name, {part: archive.read(file) for part, file in found.items()}
        except Exception as error:
            raise _damaged(path, error) from error


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(f"load_tu: {path} is not a zip file, or is damaged ({error}).")


def _named(path: Path, places: list[str]) -> tuple[str, dict[str, str]]:
    """The name of the collection, and the paths of its parts."""
    names = [Path(place).name.removesuffix("_A.txt") for place in places if place.endswith("_A.txt")]
    if len(names) != 1:
        raise ValueError(f"load_tu: {path} must contain exactly one file NAME_A.txt; it contains {len(names)}.")
    found: dict[str, str] = {}
    for place in places:
        part = Path(place).name.removeprefix(f"{names[0]}_").removesuffix(".txt")
        if part in PARTS and Path(place).name == f"{names[0]}_{part}.txt":
            if part in found:
                raise ValueError(f"load_tu: {path} contains both {found[part]} and {place}; remove one.")
            found[part] = place
    return names[0], found


def _edges(ends: np.ndarray, labels: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None, bool]:
    """Sorted arcs without duplicates, or edges if every arc has its reverse; and whether they are arcs."""
    ends, kept = np.unique(ends, axis=0, return_index=True)
    labels = None if labels is None else labels[kept]
    back = np.lexsort((ends[:, 0], ends[:, 1]))
    same = np.array_equal(ends, ends[back][:, ::-1]) and (labels is None or np.array_equal(labels, labels[back]))
    once = (ends[:, 0] <= ends[:, 1]) | (not same)
    return ends[once], None if labels is None else labels[once], not same


def _labels(rows: np.ndarray) -> list[Any]:
    return rows[:, 0].tolist() if rows.shape[1] == 1 else [tuple(row) for row in rows.tolist()]
