"""Where files come from, and what is said if they do not."""

import re
from hashlib import sha256

import numpy as np
import pytest

from mercer.datasets._source import File, Part, arrays, locate, reading

TEXT = b"what was published"
RIGHT = sha256(TEXT).hexdigest()
PAGE = "https://example.org/data"


@pytest.fixture
def published(tmp_path):
    """A file with a URL of its own."""
    path = tmp_path / "published.txt"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    return tmp_path / "home"


def url(path):
    return f"file://localhost{path}"


def remote(path, digest=RIGHT, **more):
    return File("folder/name.txt", PAGE, parts=(Part(url(path), digest),), **more)


def test_the_folder_comes_before_the_cache_and_the_cache_before_the_publisher(home, published, monkeypatch):
    file = remote(published)
    first = locate("load_x", file, home)
    assert first == home / "mercer" / "folder" / "name.txt"
    assert first.read_bytes() == TEXT
    assert [p.name for p in first.parent.iterdir()] == ["name.txt"]  # nothing temporary is left
    published.unlink()
    assert locate("load_x", file, home) == first
    own = home / "own"
    (own / "folder").mkdir(parents=True)
    monkeypatch.setenv("MERCER_DATA", str(own))
    assert locate("load_x", file, home) == first
    (own / "folder" / "name.txt").write_text("mine")
    assert locate("load_x", file, home) == own / "folder" / "name.txt"


def test_another_content_than_the_checksum_s_is_not_kept(home, published):
    published.write_bytes(b"something else")
    with pytest.raises(OSError, match=re.escape(RIGHT)) as error:
        locate("load_x", remote(published), home)
    assert PAGE in str(error.value)
    assert not list((home / "mercer" / "folder").iterdir())


def test_a_builder_makes_the_file_of_all_parts(home, published):
    def build(parts, path):
        path.write_bytes(b"+".join(part.read_bytes() for part in parts))

    part = Part(url(published), RIGHT)
    file = File("folder/name.txt", PAGE, parts=(part, part), build=build)
    assert locate("load_x", file, home).read_bytes() == TEXT + b"+" + TEXT


def test_a_builder_that_fails_leaves_nothing(home, published):
    def build(parts, path):
        path.write_text("half")
        raise ValueError("the content is another")

    with pytest.raises(OSError, match="the content is another"):
        locate("load_x", remote(published, build=build), home)
    assert not list((home / "mercer" / "folder").iterdir())


@pytest.mark.filterwarnings("ignore:Retry downloading")
def test_an_address_that_does_not_answer_says_what_to_do(home, tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(OSError, match=r"load_x: folder/name\.txt is neither.*download failed.*published at https"):
        locate("load_x", remote(tmp_path / "absent.txt"), home)


def test_what_is_missing_where_it_was_looked_for_and_what_to_do(home, published, monkeypatch):
    with pytest.raises(FileNotFoundError) as error:
        locate("load_x", File("folder/name.npz", PAGE, "an npz file of X and y"), home)
    message = str(error.value)
    assert message == (
        f"load_x: folder/name.npz is neither in the folder in MERCER_DATA (which is not set) nor in {home / 'mercer'}. "
        f"It has no download. Put it into either as an npz file of X and y; the data are published at {PAGE}."
    )
    monkeypatch.setenv("MERCER_DATA", "/nowhere")
    with pytest.raises(FileNotFoundError, match=r"MERCER_DATA = /nowhere .*download_if_missing = False"):
        locate("load_x", remote(published), home, download_if_missing=False)


def test_the_folder_may_be_below_one_s_home(home, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MERCER_DATA", "~/own")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "name.txt").write_text("mine")
    assert locate("load_x", File("name.txt", PAGE), home) == tmp_path / "own" / "name.txt"


def test_a_file_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    path = tmp_path / "name.npz"
    with pytest.raises(PermissionError), reading("load_x", path):
        arrays(path)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 cut off"])
def test_a_damaged_archive_is_named(tmp_path, content):
    path = tmp_path / "name.npz"
    path.write_bytes(content)
    damaged = r"load_x: .*name\.npz is damaged.*Delete or replace it"
    with pytest.raises(ValueError, match=damaged), reading("load_x", path):
        arrays(path)


def test_archives_are_not_unpickled(tmp_path):
    path = tmp_path / "name.npz"
    np.savez(path, X=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="damaged"), reading("load_x", path):
        arrays(path)


def test_a_place_for_downloads_that_cannot_be_made(published, home):
    with pytest.raises(OSError, match=r"no folder for downloads .*pass data_home, or put folder/name\.txt into"):
        locate("load_x", remote(published), published)
