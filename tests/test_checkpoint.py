"""Checkpoints: what is put comes back, only to the same work, and never from a broken file."""

import os

import numpy as np
import pytest

from mercer import _checkpoint, _files
from mercer._checkpoint import Checkpoint

STATE = {"beta": np.arange(3.0), "values": np.eye(2)}


def written(path, computed_from):
    checkpoint = Checkpoint(path, "X", {"it": computed_from})
    checkpoint.put("a", STATE, done=True)
    checkpoint.write()
    return checkpoint


def test_states_come_back(tmp_path) -> None:
    path = tmp_path / "file"
    first = Checkpoint(path, "X", {"it": [1]})
    assert first.get("a against b") is None
    first.put("a against b", STATE, done=True)
    first.put("a/b against ../c", {"beta": np.zeros(2)}, done=True)
    first.write()
    again = Checkpoint(str(path), "X", {"it": [1]})
    assert again.get("c") is None
    for name, value in STATE.items():
        assert np.array_equal(again.get("a against b")[name], value)
    assert np.array_equal(again.get("a/b against ../c")["beta"], np.zeros(2))
    assert os.listdir(tmp_path) == ["file"]


def test_a_state_is_a_copy(tmp_path) -> None:
    beta = np.zeros(3)
    checkpoint = Checkpoint(tmp_path / "file", "X", {"it": [1]})
    checkpoint.put("a", {"beta": beta}, done=True)
    beta[:] = 7
    checkpoint.write()
    assert np.array_equal(Checkpoint(tmp_path / "file", "X", {"it": [1]}).get("a")["beta"], np.zeros(3))


def test_it_is_written_only_every_few_seconds(tmp_path, monkeypatch) -> None:
    now = 100.0
    monkeypatch.setattr(_checkpoint.time, "monotonic", lambda: now)
    checkpoint = Checkpoint(tmp_path / "file", "X", {"it": [1]})
    checkpoint.put("a", STATE)
    checkpoint.put("b", STATE, done=True)
    assert not (tmp_path / "file").exists()
    now += 1.01 * _checkpoint.SECONDS
    checkpoint.put("c", STATE)
    found = Checkpoint(tmp_path / "file", "X", {"it": [1]})
    assert [found.get(name) is None for name in "abc"] == [True, False, False]


@pytest.mark.parametrize("other", [[2], [1, np.zeros(1)], [{"a": 1}]], ids=str)
def test_other_work_is_refused(tmp_path, other) -> None:
    written(tmp_path / "file", [1, np.ones(1)])
    refused = r"SVC: checkpoint = .*file' was written by a different run: it differ. Delete it"
    with pytest.raises(ValueError, match=refused):
        Checkpoint(tmp_path / "file", "SVC", {"it": other})
    assert Checkpoint(tmp_path / "file", "SVC", {"it": [1, np.ones(1)]}).get("a") is not None


def broken(path):
    whole = path.read_bytes()
    middle = len(whole) // 2
    yield "empty", b""
    yield "text", b"alpha beta gamma"
    yield "half", whole[:middle]
    yield "no beginning", whole[middle:]
    for at in range(0, len(whole), 3):
        yield f"flipped at {at}", whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1 :]


def test_a_broken_file_is_refused(tmp_path) -> None:
    path = tmp_path / "file"
    written(path, [1])
    for what, content in list(broken(path)):
        path.write_bytes(content)
        try:
            found = Checkpoint(path, "SVC", {"it": [1]}).get("a")
        except ValueError as error:
            assert "SVC: checkpoint" in str(error), what
        else:  # a byte that no one reads
            assert what.startswith("flipped"), what
            assert all(np.array_equal(found[name], STATE[name]) for name in STATE), what
    np.save(tmp_path / "array.npy", np.ones(3))
    np.savez(tmp_path / "others.npz", a=np.ones(3))
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(10**6))
    (tmp_path / "notes.txt").write_text("what I did on Monday")
    for name in ("array.npy", "others.npz", "bomb.npz", "notes.txt"):
        with pytest.raises(ValueError, match=r"is not a checkpoint: .*\. Delete it, or choose another file") as caught:
            Checkpoint(tmp_path / name, "SVC", {"it": [1]})
        assert "pickle" not in str(caught.value)


def test_changed_content_is_refused(tmp_path) -> None:
    """Also where the archive itself is whole."""
    path = tmp_path / "file"
    written(path, [1])
    with np.load(path) as file:
        content = dict(file)
    for name in content:
        if content[name].dtype.kind == "f":
            changed = content | {name: content[name] + 1e-9}
            with open(path, "wb") as stream:
                np.savez(stream, **changed)
            with pytest.raises(ValueError, match="changed or damaged after it was written"):
                Checkpoint(path, "SVC", {"it": [1]})


@pytest.mark.parametrize("forged", [{"marks": np.array("[1]")}, {"noname": np.ones(2)}], ids=["marks", "name"])
def test_other_content_of_the_right_digest_is_refused(tmp_path, forged) -> None:
    path = tmp_path / "file"
    written(path, [1])
    with np.load(path) as file:
        content = {name: file[name] for name in file if name != "digest"} | forged
    with open(path, "wb") as stream:
        np.savez(stream, digest=_checkpoint._digest(content), **content)
    with pytest.raises(ValueError, match=r"SVC: checkpoint = .*file' is not a checkpoint: "):
        Checkpoint(path, "SVC", {"it": [1]})


def test_memory_that_does_not_suffice_ends_no_work(tmp_path, monkeypatch) -> None:
    def full(*_, **__):
        raise MemoryError("no room")

    checkpoint = written(tmp_path / "file", [1])
    monkeypatch.setattr(_checkpoint.np, "savez", full)
    with pytest.warns(UserWarning, match=r"could not be written \(no room\); the work continues"):
        checkpoint.write()


def test_a_write_that_fails_leaves_the_last_one(tmp_path, monkeypatch) -> None:
    path = tmp_path / "file"
    checkpoint = written(path, [1])
    monkeypatch.setattr(_files.os, "replace", lambda *paths: (_ for _ in ()).throw(OSError("no power")))
    checkpoint.put("a", {"beta": np.ones(3)}, done=True)
    with pytest.warns(
        UserWarning, match=r"X: checkpoint = .*file' could not be written \(no power\); the work continues"
    ):
        checkpoint.write()
    checkpoint.write()  # said once
    assert list(tmp_path.iterdir()) == [path]
    assert np.array_equal(Checkpoint(path, "X", {"it": [1]}).get("a")["beta"], STATE["beta"])


def test_writes_go_on_when_they_can_again(tmp_path) -> None:
    (tmp_path / "folder").mkdir()
    path = tmp_path / "folder" / "file"
    checkpoint = written(path, [1])
    (tmp_path / "folder").rename(tmp_path / "away")
    with pytest.warns(UserWarning, match="its folder does not exist"):
        checkpoint.write()
    (tmp_path / "away").rename(tmp_path / "folder")
    checkpoint.put("b", STATE, done=True)
    checkpoint.write()
    assert Checkpoint(path, "X", {"it": [1]}).get("b") is not None


def test_a_folder_that_takes_no_files_is_said_at_once(tmp_path, monkeypatch) -> None:
    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_files, "_begin", denied)
    with pytest.raises(ValueError, match=r"SVC: checkpoint = .* cannot be written .*Permission denied.*choose another"):
        Checkpoint(tmp_path / "file", "SVC", {"it": [1]})


def test_what_is_no_file_is_not_read(tmp_path) -> None:
    """A pipe would never answer, and a device never end."""
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path / "pipe", tmp_path, "/dev/null", "/dev/zero"):
        with pytest.raises(ValueError, match=r"cannot be written .*is a folder or a device.*choose another file"):
            Checkpoint(place, "SVC", {"it": [1]})


def test_names_that_no_file_has(tmp_path) -> None:
    for name in ("a\0b", 300 * "a"):
        with pytest.raises(ValueError, match=r"SVC: checkpoint = .* cannot be written .*choose another file"):
            Checkpoint(tmp_path / name, "SVC", {"it": [1]})


def test_what_cannot_work_is_said_at_once(tmp_path) -> None:
    with pytest.raises(ValueError, match="is in a folder that does not exist"):
        Checkpoint(tmp_path / "missing" / "file", "SVC", {"it": [1]})
    with pytest.raises(ValueError, match="must recognise it, which cannot be pickled"):
        Checkpoint(tmp_path / "file", "SVC", {"it": [lambda: 0]})
