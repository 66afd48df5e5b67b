"""Texts and sequences."""

import gzip
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from mercer.datasets import load_promoters, load_r8, load_reuters40, load_splice, text
from mercer.datasets._source import Part

# documents of each topic in alphabetical order, as Cardoso-Cachopo gives them
R8_TRAIN = [1596, 253, 2840, 41, 190, 206, 108, 251]
R8_TEST = [696, 121, 1083, 10, 81, 87, 36, 75]


def test_r8(data_dir):
    train, test, everything = (load_r8(subset=subset) for subset in ("train", "test", "all"))
    assert np.bincount(train.target).tolist() == R8_TRAIN and np.bincount(test.target).tolist() == R8_TEST
    assert everything.data == train.data + test.data and len(everything.filename) == 2
    assert np.array_equal(everything.target, np.concatenate([train.target, test.target]))
    assert train.target_names[train.target[0]] == "earn" and train.data[0].startswith("champion products")


def test_forty_reports(data_dir):
    X, y = load_reuters40(return_X_y=True)
    assert len(X) == 40 and np.bincount(y).tolist() == [20, 20]
    assert all(isinstance(text, str) for text in X)


def test_splice_junctions(data_dir):
    splice = load_splice()
    assert np.bincount(splice.target).tolist() == [767, 768, 1655]
    assert {len(x) for x in splice.data} == {60} and set("".join(splice.data)) == set("ACGTDNRS")
    # an intron starts with GT and ends with AG
    donors = [x[30:32] for x, y in zip(splice.data, splice.target, strict=True) if y == 0]
    acceptors = [x[28:30] for x, y in zip(splice.data, splice.target, strict=True) if y == 1]
    assert donors.count("GT") > 0.95 * len(donors) and acceptors.count("AG") > 0.95 * len(acceptors)


def test_promoters(data_dir):
    promoters = load_promoters()
    assert np.bincount(promoters.target).tolist() == [53, 53] and {len(x) for x in promoters.data} == {57}
    assert promoters.target_names[1] == "+" and "Licence" in promoters.DESCR


@pytest.mark.parametrize("content", ["Class\tExample\nweather\train\n", "Class\tExample\nno tab\n", ""])
def test_a_damaged_list_of_reports_is_named(tmp_path, monkeypatch, content):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "r8_train.tsv.gz").write_bytes(gzip.compress(content.encode()))
    with pytest.raises(ValueError, match=r"load_r8: .*r8_train\.tsv\.gz is damaged"):
        load_r8()


def test_missing_texts_say_where_they_are_published(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    for load in (load_r8, load_reuters40, load_splice, load_promoters):
        with pytest.raises(FileNotFoundError, match=rf"{load.__name__}: .* published at"):
            load(data_home=tmp_path, download_if_missing=False)


def test_texts_from_their_copies(tmp_path, monkeypatch):
    """The forms in which they are published, and what becomes of them."""
    monkeypatch.delenv("MERCER_DATA", raising=False)

    def published(file, content):
        path = tmp_path / "published"
        path.write_text(content)
        return replace(file, parts=(Part(f"file://localhost{path}", sha256(content.encode()).hexdigest()),))

    monkeypatch.setitem(text.R8, "train", published(text.R8["train"], "Class\tExample\nship\tto sea\n"))
    r8 = load_r8(data_home=tmp_path)
    assert r8.data == ["to sea"] and r8.target_names[r8.target].tolist() == ["ship"]
    splice = "label,instance_name,sequence\nIE,  A-1,     ACGT\nN,B-2,  GGGG\n"
    monkeypatch.setattr(text, "SPLICE", published(text.SPLICE, splice))
    X, y = load_splice(data_home=tmp_path, return_X_y=True)
    assert X == ["ACGT", "GGGG"] and y.tolist() == [1, 2]
    monkeypatch.setattr(text, "PROMOTERS", published(text.PROMOTERS, "0,t,a,c,+\n1,g,g,t,-\n"))
    X, y = load_promoters(data_home=tmp_path, return_X_y=True)
    assert X == ["tac", "ggt"] and y.tolist() == [1, 0]
