"""Collections of graphs by name."""

from zipfile import ZipFile

import numpy as np
import pytest

from mercer.datasets import load_graphs, load_tu
from mercer.domains import Graph


def test_a_collection_is_what_its_file_holds(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "graphs").mkdir()
    path = tmp_path / "graphs" / "MUTAG.zip"
    with ZipFile(path, "w") as file:
        for part, text in {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "1\n-1\n"}.items():
            file.writestr(f"MUTAG/MUTAG_{part}.txt", text)
    graphs, y = load_graphs("MUTAG", return_X_y=True)
    assert graphs == load_tu(path).graphs == [Graph(2, [(0, 1)]), Graph(1, [])] and y.tolist() == [1, -1]
    path.write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"load_graphs: .*MUTAG\.zip is damaged"):
        load_graphs("MUTAG")


def test_unknown_and_missing_collections(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    with pytest.raises(ValueError, match=r"name = 'mutag' is unknown; choose one of 'MUTAG'"):
        load_graphs("mutag")
    with pytest.raises(FileNotFoundError, match=r"graphs/NCI1\.zip is neither"):
        load_graphs("NCI1", data_home=tmp_path)


def test_mutag(data_dir):
    mutag = load_graphs("MUTAG")
    assert len(mutag.data) == 188 and sorted(np.unique(mutag.target, return_counts=True)[1]) == [63, 125]
    assert "Licence" in mutag.DESCR
