"""Collections of graphs by name."""

from dataclasses import replace
from hashlib import sha256
from zipfile import ZipFile

import numpy as np
import pytest

from mercer.datasets import graphs, load_graphs, load_tu
from mercer.datasets._source import Part
from mercer.domains import Graph


def test_a_collection_is_what_its_file_holds(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "graphs").mkdir()
    path = tmp_path / "graphs" / "MUTAG.zip"
    with ZipFile(path, "w") as file:
        for part, text in {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "1\n-1\n"}.items():
            file.writestr(f"MUTAG/MUTAG_{part}.txt", text)
    data, y = load_graphs("MUTAG", return_X_y=True)
    assert data == load_tu(path).graphs == [Graph(2, [(0, 1)]), Graph(1, [])] and y.tolist() == [1, 0]
    assert load_graphs("MUTAG").target_names.tolist() == [-1, 1]
    path.write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"load_graphs: .*MUTAG\.zip is damaged"):
        load_graphs("MUTAG")


def test_unknown_and_missing_collections(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    with pytest.raises(ValueError, match=r"name = 'mutag' is unknown; choose one of 'MUTAG'"):
        load_graphs("mutag")
    with pytest.raises(FileNotFoundError, match=r"graphs/NCI1\.zip is neither .*download_if_missing = False\. Put it"):
        load_graphs("NCI1", data_home=tmp_path, download_if_missing=False)
    with pytest.raises(FileNotFoundError, match=r"graphs/Cuneiform\.zip .*It has no download\. Put it"):
        load_graphs("Cuneiform", data_home=tmp_path)


def test_a_collection_from_its_copy(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    path = tmp_path / "ENZYMES.zip"
    with ZipFile(path, "w") as file:
        for part, text in {"A": "", "graph_indicator": "1\n2\n3\n", "graph_labels": "6\n2\n6\n"}.items():
            file.writestr(f"ENZYMES/ENZYMES_{part}.txt", text)
    copy = Part(f"file://localhost{path}", sha256(path.read_bytes()).hexdigest())
    monkeypatch.setitem(graphs.GRAPHS, "ENZYMES", replace(graphs.GRAPHS["ENZYMES"], parts=(copy,)))
    enzymes = load_graphs("ENZYMES", data_home=tmp_path)
    assert enzymes.target.tolist() == [1, 0, 1] and enzymes.target_names.tolist() == [2, 6]
    assert enzymes.filename == tmp_path / "mercer" / "graphs" / "ENZYMES.zip"


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("MUTAG", [63, 125]), ("PROTEINS", [663, 450]), ("NCI1", [2053, 2057]), ("IMDB-BINARY", [500, 500])],
)
def test_classes_of_real_collections(data_dir, name, sizes):
    """As TUDataset publishes them."""
    found = load_graphs(name)
    assert np.bincount(found.target).tolist() == sizes and len(found.data) == sum(sizes)
    assert f"{sum(sizes):,}" in found.DESCR and "Licence" in found.DESCR
