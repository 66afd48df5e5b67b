"""The TU format, written by hand and from real collections."""

import os
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZipFile

import numpy as np
import pytest

from mercer import _files
from mercer.datasets import load_tu
from mercer.domains import Graph

TOY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n3\n",
    "graph_labels": "1\n-1\n1\n",
    "node_labels": "0\n1\n0\n2\n2\n7\n",
    "edge_labels": "5\n5\n6\n6\n5\n5\n",
    "node_attributes": "0.5, 1\n0, 2\n0, 3\n1, 1\n2, 2\n3, 3\n",
}
GRAPHS = [
    Graph(3, [(0, 1), (1, 2)], [0, 1, 0], [5, 6], [[0.5, 1], [0, 2], [0, 3]]),
    Graph(2, [(0, 1)], [2, 2], [5], [[1, 1], [2, 2]]),
    Graph(1, [], [7], [], [[3, 3]]),
]


def write(folder, files):
    for part, text in files.items():
        (folder / f"TOY_{part}.txt").write_text(text)
    return folder


def test_folder_and_zip(tmp_path) -> None:
    data = load_tu(write(tmp_path, TOY))
    assert data.graphs == GRAPHS and data.name == "TOY"
    assert data.y.tolist() == [1, -1, 1]
    with ZipFile(tmp_path / "TOY.zip", "w") as archive:
        for part, text in TOY.items():
            archive.writestr(f"TOY/TOY_{part}.txt", text)
    assert load_tu(str(tmp_path / "TOY.zip")).graphs == GRAPHS


def test_without_labels_and_attributes(tmp_path) -> None:
    files = {part: TOY[part] for part in ("A", "graph_indicator", "graph_labels")}
    bare = load_tu(write(tmp_path, files)).graphs
    assert bare == [Graph(3, [(0, 1), (1, 2)]), Graph(2, [(0, 1)]), Graph(1, [])]


def test_arcs_without_their_reverse_are_directed(tmp_path) -> None:
    one_way = load_tu(write(tmp_path, TOY | {"A": "1, 2\n2, 3\n4, 5\n", "edge_labels": "5\n6\n5\n"})).graphs
    assert one_way[0] == Graph(3, [(0, 1), (1, 2)], [0, 1, 0], [5, 6], [[0.5, 1], [0, 2], [0, 3]], directed=True)
    unlike = load_tu(write(tmp_path, TOY | {"edge_labels": "5\n4\n6\n6\n5\n5\n"})).graphs
    assert all(g.directed for g in unlike) and unlike[0].edge_labels == (5, 4, 6, 6)


def test_repeated_arcs_loops_and_several_labels(tmp_path) -> None:
    files = TOY | {
        "A": "2, 1\n1, 2\n1, 2\n6, 6\n",
        "edge_labels": "5, 1\n5, 1\n5, 1\n9, 9\n",
        "node_labels": "0, 0\n1, 0\n0, 0\n2, 1\n2, 1\n7, 1\n",
    }
    first, _, last = load_tu(write(tmp_path, files)).graphs
    assert first.n_edges == 1 and first.labels == ((0, 0), (1, 0), (0, 0)) and first.edge_labels == ((5, 1), (5, 1))
    assert last.n_edges == 1 and last.edge_labels == ((9, 9),)


def test_no_edges_at_all(tmp_path) -> None:
    files = {"A": "", "graph_indicator": "1\n2\n", "graph_labels": "0\n1\n"}
    assert load_tu(write(tmp_path, files)).graphs == [Graph(1, []), Graph(1, [])]


def test_targets_for_regression(tmp_path) -> None:
    files = {part: text for part, text in TOY.items() if part != "graph_labels"}
    data = load_tu(write(tmp_path, files | {"graph_attributes": "0.5\n1.5\n-2\n"}))
    assert data.y.tolist() == [0.5, 1.5, -2.0]


def test_what_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"must contain exactly one file NAME_A\.txt; it contains 0"):
        load_tu(tmp_path)
    write(tmp_path, {"A": TOY["A"]})
    with pytest.raises(ValueError, match="lacks TOY_A, TOY_graph_indicator or TOY_graph_labels"):
        load_tu(tmp_path)
    for part in ({"node_labels": "0\n"}, {"graph_labels": "1\n-1\n"}):
        write(tmp_path, TOY | part)
        with pytest.raises(ValueError, match="the files of TOY do not match"):
            load_tu(tmp_path)
    write(tmp_path, TOY | {"graph_labels": "1\n0.5\n1\n"})
    with pytest.raises(ValueError, match=r"TOY_graph_labels\.txt contains 0\.5; expected integers"):
        load_tu(tmp_path)
    write(tmp_path, TOY | {"A": TOY["A"].replace("5, 4", "7, 4")})
    with pytest.raises(ValueError, match=r"TOY_A\.txt names a node that is not one of the 6"):
        load_tu(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"none\.zip does not exist; pass the zip file or the folder"):
        load_tu(tmp_path / "none.zip")


@pytest.mark.parametrize(
    ("part", "text", "message"),
    [
        ("graph_labels", "1\n1e30\n1\n", r"graph_labels\.txt contains 1e\+30; expected integers"),
        ("node_labels", "0\n1\n0\n2\ninf\n7\n", r"node_labels\.txt contains inf; expected integers"),
        ("node_labels", "0\n1\n0\n2\nnan\n7\n", r"node_labels\.txt contains nan; expected integers"),
        ("node_attributes", TOY["node_attributes"].replace("0.5", "nan"), r"contains nan; expected finite numbers"),
        ("A", "1\n2\n", r"TOY_A\.txt has 1 numbers per line; expected the ends of an edge"),
        ("A", "1, 2, 3\n", r"TOY_A\.txt has 3 numbers per line"),
        ("A", "one, two\n", r"TOY_A\.txt is not a table of numbers: could not convert"),
        ("A", "1, 2\n2\n", r"TOY_A\.txt is not a table of numbers: "),
        ("graph_indicator", "", "do not match: their numbers of lines differ"),
        (
            "graph_indicator",
            "0\n1\n1\n2\n2\n3\n",
            r"graph_indicator\.txt names the graph 0; graphs are numbered",
        ),
        ("graph_indicator", "-4\n1\n1\n2\n2\n3\n", r"graph_indicator\.txt names the graph -4"),
        ("graph_indicator", "1,1\n1,1\n1,1\n2,2\n2,2\n3,3\n", r"graph_indicator\.txt has 2 numbers per line"),
    ],
)
def test_faults_in_one_file(tmp_path, part, text, message) -> None:
    with pytest.raises(ValueError, match=f"load_tu: .*{message}"):
        load_tu(write(tmp_path, TOY | {part: text}))


def test_broken_archives(tmp_path) -> None:
    write(tmp_path, TOY)
    with ZipFile(tmp_path / "toy.zip", "w", ZIP_DEFLATED) as archive:
        for part in TOY:
            archive.write(tmp_path / f"TOY_{part}.txt", f"TOY/TOY_{part}.txt")
    whole = (tmp_path / "toy.zip").read_bytes()
    for content in (b"", b"some text", whole[:-30], whole[:40] + b"????" + whole[44:]):
        (tmp_path / "broken.zip").write_bytes(content)
        with pytest.raises(ValueError, match=r"load_tu: .*broken\.zip is not a zip file, or is damaged"):
            load_tu(tmp_path / "broken.zip")


@pytest.mark.parametrize("method", [ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA])
def test_damaged_members(tmp_path, method) -> None:
    with ZipFile(tmp_path / "toy.zip", "w", method) as archive:
        for part, text in TOY.items():
            archive.writestr(f"TOY_{part}.txt", text)
    content = bytearray((tmp_path / "toy.zip").read_bytes())
    start = content.index(b"TOY_A.txt") + len("TOY_A.txt")
    content[start + 9 : start + 25] = b"?" * 16
    (tmp_path / "toy.zip").write_bytes(content)
    with pytest.raises(ValueError, match=r"load_tu: .*toy\.zip is not a zip file, or is damaged"):
        load_tu(tmp_path / "toy.zip")


def test_members_that_are_not_needed_are_not_unpacked(tmp_path, monkeypatch) -> None:
    with ZipFile(tmp_path / "toy.zip", "w", ZIP_DEFLATED) as archive:
        for part, text in (TOY | {"readme": "0" * 10_000_000}).items():
            archive.writestr(f"TOY_{part}.txt", text)
    opened = []
    read = ZipFile.read
    monkeypatch.setattr(ZipFile, "read", lambda self, name: opened.append(name) or read(self, name))
    assert load_tu(tmp_path / "toy.zip").graphs == GRAPHS
    assert sorted(opened) == sorted(f"TOY_{part}.txt" for part in TOY)


def test_archives_that_unpack_to_more_than_they_are(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(_files, "ROOM", 1 << 20)
    with ZipFile(tmp_path / "toy.zip", "w", ZIP_DEFLATED) as archive:
        for part, text in (TOY | {"node_labels": "0\n" * 500_000}).items():
            archive.writestr(f"TOY_{part}.txt", text)
    monkeypatch.setattr(ZipFile, "read", None)
    with pytest.raises(ValueError, match=r"load_tu: .*toy\.zip has .* MB but would unpack to 0\.001 GB .* the folder"):
        load_tu(tmp_path / "toy.zip")


def test_two_files_of_one_name(tmp_path) -> None:
    with ZipFile(tmp_path / "toy.zip", "w") as archive:
        for part, text in TOY.items():
            archive.writestr(f"TOY_{part}.txt", text)
        archive.writestr("other/TOY_node_labels.txt", "1\n" * 6)
    with pytest.raises(ValueError, match=r"toy\.zip contains both TOY_node_labels\.txt and other/TOY_node_labels\.txt"):
        load_tu(tmp_path / "toy.zip")


def test_collections_of_nothing(tmp_path) -> None:
    with pytest.raises(ValueError, match=r"load_tu: .* contains no graphs"):
        load_tu(write(tmp_path, dict.fromkeys(TOY, "")))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("part", ["A", "node_labels"])
def test_what_is_no_file(tmp_path, part) -> None:
    """A pipe would make the reader wait."""
    write(tmp_path, TOY)
    place = tmp_path / f"TOY_{part}.txt"
    for make in (os.mkfifo, os.mkdir, lambda path: os.symlink("nowhere", path)):
        place.rmdir() if place.is_dir() else place.unlink()
        make(place)
        with pytest.raises(ValueError, match=rf"load_tu: .*TOY_{part}\.txt is a folder, a pipe, a device"):
            load_tu(tmp_path)
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(ValueError, match=r"load_tu: .*pipe\.zip is a folder, a pipe"):
        load_tu(tmp_path / "pipe.zip")


def test_what_else_lies_there_is_not_read(tmp_path) -> None:
    write(tmp_path, TOY)
    (tmp_path / "notes.txt").mkdir()
    assert load_tu(tmp_path).graphs == GRAPHS


@pytest.mark.parametrize(
    ("name", "graphs", "classes", "nodes", "edges"),
    [
        ("MUTAG", 188, [63, 125], 17.93, 19.79),  # the figures that the collection publishes
        ("PROTEINS", 1113, [663, 450], 39.06, 72.82),
    ],
)
def test_published_figures(data_dir, name, graphs, classes, nodes, edges) -> None:
    data = load_tu(data_dir / "graphs" / f"{name}.zip")
    assert len(data.graphs) == graphs
    assert np.unique(data.y, return_counts=True)[1].tolist() == classes
    assert round(float(np.mean([g.n for g in data.graphs])), 2) == nodes
    assert round(float(np.mean([g.n_edges for g in data.graphs])), 2) == edges
    assert not any(g.directed for g in data.graphs)
