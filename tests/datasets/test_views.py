"""Numerals in six views, and images with texts."""

from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest

from mercer.datasets import load_mfeat, load_wikipedia, views
from mercer.datasets._source import Part

SIZES = {"fou": 76, "fac": 216, "kar": 64, "pix": 240, "zer": 47, "mor": 6}


def test_six_views(data_dir):
    mfeat = load_mfeat()
    assert {name: view.shape for name, view in mfeat.data.items()} == {n: (2000, p) for n, p in SIZES.items()}
    assert np.bincount(mfeat.target).tolist() == [200] * 10
    X, y = load_mfeat(view="zer", return_X_y=True)
    assert np.array_equal(X, mfeat.data["zer"]) and np.array_equal(y, mfeat.target)
    assert load_mfeat(view="mor").feature_names == ["mor_0", "mor_1", "mor_2", "mor_3", "mor_4", "mor_5"]


def test_numerals_from_their_publisher(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    rng = np.random.default_rng(0)
    expected, parts = {}, []
    for view, p in SIZES.items():
        expected[view] = rng.integers(0, 100, (4, p)).astype(float)
        path = tmp_path / f"{view}.csv"
        head = ",".join(map(str, range(p))) + ",0"
        np.savetxt(path, np.column_stack([expected[view], [0, 0, 1, 1]]), "%g", ",", header=head, comments="")
        parts.append(Part(f"file://localhost{path}", sha256(path.read_bytes()).hexdigest()))
    assert [part.url.rsplit("mfeat-")[1] for part in views.MFEAT.parts] == [f"{view}.csv" for view in SIZES]
    monkeypatch.setattr(views, "MFEAT", replace(views.MFEAT, parts=tuple(parts)))
    mfeat = load_mfeat(data_home=tmp_path)
    assert all(np.array_equal(mfeat.data[view], expected[view]) for view in SIZES)
    assert mfeat.target.tolist() == [0, 0, 1, 1]


def test_an_archive_that_lacks_a_view(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "mfeat").mkdir()
    np.savez(tmp_path / "mfeat" / "mfeat.npz", fou=np.ones((2, 76)), y=[0, 1])
    with pytest.raises(ValueError, match=r"load_mfeat: .*mfeat\.npz is damaged.*'fac'"):
        load_mfeat()
    with pytest.raises(ValueError, match="load_mfeat: view = 'six' is unknown"):
        load_mfeat(view="six")


def test_images_and_texts(data_dir):
    train, test, everything = (load_wikipedia(subset=subset) for subset in ("train", "test", "all"))
    assert train.data["image"].shape == (2173, 128) and test.data["text"].shape == (693, 10)
    assert np.allclose(everything.data["text"].sum(axis=1), 1, atol=0.01)  # proportions of topics
    assert set(everything.target) == set(range(10)) and len(everything.target_names) == 10
    assert np.array_equal(everything.target, np.concatenate([train.target, test.target]))
