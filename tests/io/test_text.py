"""Files appear whole or not at all; numbers come back exactly."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.io._text import number, reading, writing


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.bz2"])
def test_round_trip(tmp_path, name):
    path = tmp_path / name
    with writing(path) as text:
        text.write("first\nsecond ±\n")
    with reading(path) as lines:
        assert list(lines) == ["first\n", "second ±\n"]
        assert lines.number == 2
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.bz2"])
def test_an_error_leaves_the_old_file(tmp_path, name):
    path = tmp_path / name
    with writing(path) as text:
        text.write("old")
    before = path.read_bytes()
    with pytest.raises(KeyError), writing(path) as text:
        text.write("new, but not to the end" * 1000)
        raise KeyError
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_text_gives_the_same_compressed_file(tmp_path):
    for name in ["a.gz", "b.gz"]:
        with writing(tmp_path / name) as text:
            text.write("x" * 100)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


def test_a_link_keeps_pointing_to_its_file(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to(target)
    with writing(link) as text:
        text.write("here")
    assert link.is_symlink()
    assert target.read_text() == "here"


def test_lines_continue_to_count(tmp_path):
    path = tmp_path / "a"
    path.write_text("1\n2\n3\n")
    with reading(path) as lines:
        next(iter(lines))
        assert list(lines) == ["2\n", "3\n"]
        assert str(lines.error("no.")) == f"{path}, line 3: no."


@given(st.floats(allow_nan=False))
def test_numbers_come_back(value):
    assert float(number(value)) == value
    assert math.copysign(1, float(number(value))) == math.copysign(1, value)


def test_integers_have_no_point():
    assert number(3.0) == "3"
    assert number(-1) == "-1"
