"""Compiled code outlives the process, wherever it can be kept, and only whole files of it are believed."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

MODULE = """
from helper import twice
from mercer._jit import njit

@njit
def f(x):
    return twice(x) + 1
"""
HELPER = """
from mercer._jit import njit

FACTOR = 2

@njit
def twice(x):
    return FACTOR * x
"""
CALL = """
from module import f
import sys
import numpy
values = [f(eval(x)) for x in sys.argv[1:]]
print(*values, sum(f.stats.cache_hits.values()), f.stats.cache_path)
"""


posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes as POSIX has them")


@pytest.fixture
def place(tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "module.py").write_text(MODULE)
    (tmp_path / "code" / "helper.py").write_text(HELPER)
    return tmp_path


def start(place, *arguments, umask=-1, **environment):
    known = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    known |= {"XDG_CACHE_HOME": str(place / "user"), "PYTHONPATH": os.pathsep.join([str(place / "code"), *sys.path])}
    command = [sys.executable, "-B", "-W", "error", "-c", CALL, *(arguments or ["1"])]
    return subprocess.Popen(
        command,
        env=known | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
        umask=umask,
    )


def finish(process):
    """The values, how many came from the cache, and its folder."""
    out, errors = process.communicate()
    assert process.returncode == 0 and errors == "", errors
    *values, hits, folder = out.split()
    return [float(v) for v in values], int(hits), folder


def call(place, *arguments, **environment):
    return finish(start(place, *arguments, **environment))


def files(folder):
    return sorted(Path(folder).glob("module.f-*.nbc"))


def make_read_only(folder):
    """For every user, also for root: a file stands where the folder of compiled code would be."""
    (folder / "__pycache__").write_text("")


def test_next_to_the_source_and_there_again(place):
    values, hits, folder = call(place)
    assert (values, hits, folder) == ([3], 0, str(place / "code" / "__pycache__"))
    assert call(place, PYTHONHASHSEED="5") == ([3], 1, folder)


def test_user_folder_for_a_read_only_install_and_nothing_where_there_is_none(place):
    make_read_only(place / "code")
    _, hits, folder = call(place)
    assert hits == 0 and Path(folder).is_relative_to(place / "user")
    assert call(place)[1:] == (1, folder)
    (place / "file").write_text("")
    assert call(place, XDG_CACHE_HOME=str(place / "file" / "below")) == ([3], 0, "None")


def test_numba_cache_dir_comes_first(place):
    folder = call(place, NUMBA_CACHE_DIR=str(place / "numba"))[2]
    assert Path(folder).is_relative_to(place / "numba") and files(folder)


def test_code_next_to_a_source_that_became_read_only_is_still_found(place):
    if os.geteuid() == 0:
        pytest.skip("root writes anywhere")
    call(place)
    (place / "code" / "__pycache__").chmod(0o500)
    assert call(place)[1] == 1


def test_damaged_files_are_replaced(place):
    calls = ["1", "1.0", "True", "numpy.float32(1)", "numpy.int32(1)", "numpy.int8(1)"]
    folder = call(place, *calls)[2]
    found = files(folder)
    whole = [file.read_bytes() for file in found]
    damaged = [
        whole[0][: len(whole[0]) // 2],
        b"",
        b"\x80garbage" * 99,
        whole[3][:-9] + bytes([whole[3][-9] ^ 1]) + whole[3][-8:],
        whole[5],  # of another signature
    ]
    for file, content in zip(found, damaged, strict=False):
        file.write_bytes(content)
    assert call(place, *calls)[:2] == ([3] * 6, 1)
    assert call(place, *calls)[:2] == ([3] * 6, 6)


def make_a_pipe(file):
    file.unlink()
    os.mkfifo(file)


def make_it_open_to_all(file):
    file.chmod(0o666)


def make_it_open_to_the_group(file):
    file.chmod(0o664)


def give_it_to_another_user(file):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    os.chown(file, 12345, -1)


@posix
@pytest.mark.parametrize(
    "change", [make_a_pipe, make_it_open_to_all, make_it_open_to_the_group, give_it_to_another_user]
)
def test_files_that_others_could_have_written_are_replaced(place, change):
    (file,) = files(call(place)[2])
    change(file)
    assert call(place)[:2] == ([3], 0)
    assert call(place)[:2] == ([3], 1) and file.is_file() and file.stat().st_uid == os.geteuid()


@posix
def test_files_are_open_to_nobody_else_even_without_a_mask(place):
    folder = finish(start(place, umask=0))[2]
    assert [file.stat().st_mode & 0o777 for file in files(folder)] == [0o644]


def test_a_change_of_the_flags_of_a_called_function_is_noticed(place):
    call(place)
    (place / "code" / "helper.py").write_text(HELPER.replace("njit", "njit_reordered"))
    assert call(place)[:2] == ([3], 0)


def test_a_change_of_a_called_function_or_constant_is_noticed(place):
    folder = call(place)[2]
    (place / "code" / "helper.py").write_text(HELPER.replace("FACTOR = 2", "FACTOR = 5"))
    assert call(place)[:2] == ([6], 0)
    (place / "code" / "helper.py").write_text(HELPER.replace("FACTOR * x", "FACTOR - x"))
    assert call(place)[:2] == ([2], 0)
    assert len(files(folder)) == 1  # the earlier ones are removed
    (place / "code" / "module.py").write_text("# a remark\n" + MODULE)
    assert call(place)[:2] == ([2], 1)


def test_processes_that_start_together_believe_only_whole_files(place):
    arguments = [("1",), ("1.0",), ("1", "1.0"), ("1.0", "1")]
    processes = [start(place, *some) for some in arguments]
    for some, process in zip(arguments, processes, strict=True):
        values, _, folder = finish(process)
        assert values == [3] * len(some)
    assert len(files(folder)) == 2 and len(list(Path(folder).glob("*.tmp"))) == 0
    assert call(place, "1", "1.0")[:2] == ([3, 3], 2)


def test_a_full_disk_or_a_folder_that_vanished_costs_only_time(place):
    import mercer._cache as kept

    made = kept.Cache(lambda x: x)
    made.folders = [place / "gone"]
    kept.writable.cache_clear()
    assert made.cache_path is not None
    (place / "gone").rmdir()

    compiled = SimpleNamespace(
        lifted=(),
        library=SimpleNamespace(has_dynamic_globals=False),
        codegen=SimpleNamespace(magic_tuple=tuple),
        _reduce=tuple,
    )
    made.save_overload((), compiled)
    assert not (place / "gone").exists()
