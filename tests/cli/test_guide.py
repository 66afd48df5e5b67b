"""The transcripts of the guide are what the commands print."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "command_line.md"
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def transcript():
    """Commands with what they print; the demo's own echo of a command is output."""
    text = "".join(re.findall(r"```console\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S))
    parts = re.split(r"^\$ (mercer (?!fit).*)\n", text, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.long
def test_transcripts(tmp_path, monkeypatch):
    from click.testing import CliRunner

    from mercer.cli.app import app

    monkeypatch.chdir(tmp_path)
    assert len(transcript()) == 4
    for command, expected in transcript():
        done = CliRunner().invoke(app, shlex.split(command)[1:], prog_name="mercer")
        assert done.exit_code == 0, done.output
        assert doctest.OutputChecker().check_output(expected, done.stdout, FLAGS), f"{command}\n{done.stdout}"


def test_guide_has_every_command():
    from mercer.cli.app import app

    text = GUIDE.read_text(encoding="utf-8")
    assert [name for name in app.commands if f"`mercer {name}" not in text] == []
