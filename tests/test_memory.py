"""Memory of the machine and of control groups, from files as the system writes them."""

import subprocess
import sys

import pytest

from mercer import _memory
from mercer.gram import Dense
from mercer.kernels import Linear
from mercer.solvers.fit.boxes import Samples

TABLE = "MemTotal:       8000000 kB\nMemFree:        1000000 kB\nMemAvailable:   6000000 kB\n"


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with 8 GB, 6 of them free; returns a function that puts the process into a control group."""
    (tmp_path / "meminfo").write_text(TABLE)
    monkeypatch.setattr(_memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(_memory, "GROUPS", {tmp_path / "max": tmp_path / "current"})

    def group(most, used):
        (tmp_path / "max").write_text(f"{most}\n")
        (tmp_path / "current").write_text(f"{used}\n")

    return group


def test_the_machine_alone(system):
    assert _memory.limit() == 8_000_000 * 1024 and _memory.free() == 6_000_000 * 1024
    system("max", 5)  # a group without a limit
    assert _memory.limit() == 8_000_000 * 1024


def test_a_control_group_is_respected(system):
    system(2 << 30, 1 << 29)
    assert _memory.limit() == 2 << 30 and _memory.free() == 3 << 29
    system(2 << 30, 3 << 30)
    assert _memory.free() == 0


def test_a_system_that_does_not_tell(tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "MEMINFO", tmp_path / "missing")
    monkeypatch.setattr(_memory, "GROUPS", {})
    assert _memory.limit() == _memory.UNKNOWN and 0 < _memory.free() < _memory.UNKNOWN


@pytest.mark.skipif(_memory.resource is None, reason="this system has no limits of its own")
def test_the_limit_of_the_process():
    code = "import resource; resource.setrlimit(resource.RLIMIT_AS, (3 << 30, -1)); from mercer import _memory; "
    code += "assert _memory.limit() <= 3 << 30"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rows_of_a_machine_take_their_share(system):
    system(4 << 30, 0)
    gram = Dense().build(Linear(), [[0.0], [1.0], [2.0], [3.0]])
    assert Samples(gram, cache_size="auto").cache == 1 << 30
    system(4 << 30, 3 << 30)
    assert Samples(gram, cache_size="auto").cache == 1 << 29
    assert Samples(gram, cache_size=3).cache == 3 << 20
