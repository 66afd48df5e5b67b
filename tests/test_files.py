"""Files that are written all or not at all, and what is left of writes that were killed."""

import gzip
import os
import signal
import subprocess
import sys

import pytest

from mercer import _files
from mercer._files import replacing

fcntl = pytest.importorskip("fcntl")

KILLED = """
import os, runpy, signal, sys
replacing = runpy.run_path(sys.argv[3])["replacing"]
with replacing(sys.argv[1]) as raw:
    raw.write(b"half of it")
    raw.flush()
    if sys.argv[2] == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    print("writing", flush=True)
    sys.stdin.read()
"""


def writer(path, what):
    return subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), what, _files.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_the_next_write_removes_what_a_killed_one_left(tmp_path) -> None:
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with writer(path, "kill") as killed:
        assert killed.wait(60) == -signal.SIGKILL
    (left,) = set(tmp_path.iterdir()) - {path}
    assert left.read_bytes() == b"half of it" and path.read_bytes() == b"old"
    with replacing(tmp_path / "another") as raw:
        raw.write(b"of another name")
    assert left.exists()
    with replacing(path) as raw:
        raw.write(b"new")
    assert sorted(os.listdir(tmp_path)) == ["another", "model"] and path.read_bytes() == b"new"


def test_a_write_that_goes_on_is_left_alone(tmp_path) -> None:
    path = tmp_path / "model"
    with writer(path, "wait") as other:
        assert other.stdout.readline() == "writing\n"
        (theirs,) = tmp_path.iterdir()
        with replacing(path) as raw:
            raw.write(b"mine")
        assert theirs.exists() and path.read_bytes() == b"mine"
        other.stdin.close()
        assert other.wait(60) == 0
    assert os.listdir(tmp_path) == ["model"] and path.read_bytes() == b"half of it"


def test_other_files_are_left_alone(tmp_path) -> None:
    path = tmp_path / "model"
    prefix = _files._prefix(path)
    strange = [prefix, f"{prefix}notes.tmp", f"{prefix}{32 * 'a'}.txt", f".mercer-{32 * 'a'}.tmp", ".model.tmp"]
    for name in strange:
        (tmp_path / name).write_text("mine")
    (tmp_path / f"{prefix}{32 * 'b'}.tmp").mkdir()
    (tmp_path / f"{prefix}{32 * 'c'}.tmp").symlink_to(tmp_path / strange[0])
    before = set(os.listdir(tmp_path))
    with replacing(path) as raw:
        raw.write(b"new")
    assert set(os.listdir(tmp_path)) == before | {"model"}


def test_a_file_that_was_cleaned_before_it_was_locked_is_made_again(tmp_path, monkeypatch) -> None:
    lock, taken = fcntl.flock, []

    def late(raw, how):
        if not taken:
            taken.append(raw.name)
            os.unlink(raw.name)
        return lock(raw, how)

    monkeypatch.setattr(_files.fcntl, "flock", late)
    with replacing(tmp_path / "model") as raw:
        raw.write(b"new")
    assert taken and (tmp_path / "model").read_bytes() == b"new"


def test_text_unpacks_to_what_fits_into_memory_as_words(tmp_path) -> None:
    """A letter may take forty times its room: a file of 100 kB took 5 GB before it was refused."""
    path = tmp_path / "a.txt.gz"
    few, many = b"00 " * 10**7, b"00 " * 12 * 10**6
    path.write_bytes(gzip.compress(few))
    with _files.unpacked(path) as stream:
        assert stream.read() == few
    path.write_bytes(gzip.compress(many))
    with _files.unpacked(path) as stream, pytest.raises(_files.RoomError, match=r"would unpack to .* unpack it first"):
        stream.read()
    noise = os.urandom(1 << 20).hex().encode()  # large, and not packed by more than any text
    path.write_bytes(gzip.compress(noise * 20, 1))
    with _files.unpacked(path) as stream:
        assert len(stream.read()) == 20 * len(noise) > _files.ROOM // _files.LETTER
