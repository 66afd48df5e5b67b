import csv
import os
import subprocess
import sys
from shutil import copy

import numpy as np
import pytest

import mercer as library
from mercer import _files
from mercer.cli import _text
from mercer.cli._data import read_blocks
from mercer.cli._output import Output, replacing

COLUMNS = {"age": "number", "income": "number", "city": "category", "since": "date"}


@pytest.fixture(scope="module")
def model(tmp_path_factory, shop_file, mercer):
    path = tmp_path_factory.mktemp("model") / "shop.mercer"
    options = ["-t", "bought", "--no-tune", "--drop", "price", "--probability", "-o", path]
    assert mercer("fit", shop_file, *options).code == 0
    return path


@pytest.fixture
def fitted(folder, model):
    copy(model, folder)
    return folder


def answers(path):
    with open(path, newline="") as stream:
        return list(csv.reader(stream))


def test_predictions_are_those_of_the_estimator(fitted, shop, mercer):
    (fitted / "new.csv").write_text(shop(50, seed=1))
    done = mercer("predict", "shop.mercer", "new.csv", "--out", "p.csv", "--probability")
    assert done.code == 0 and "50 predictions" in done.out
    head, *rows = answers("p.csv")
    assert head == ["prediction", "p(no)", "p(yes)"] and len(rows) == 50
    from mercer.cli._data import read

    model = library.load("shop.mercer")
    assert [row[0] for row in rows] == model.predict(read("new.csv").X).tolist()
    P = np.array([row[1:] for row in rows], dtype=float)
    np.testing.assert_array_equal(P, model.predict_proba(read("new.csv").X))


def test_predictions_to_standard_output(fitted, mercer):
    done = mercer("predict", "shop.mercer", "shop.csv", "-q")
    assert done.code == 0 and len(done.out.splitlines()) == 121 and done.err == ""


def test_columns_in_any_order_extra_ones_noted(fitted, mercer):
    (fitted / "new.csv").write_text("zip,city,since,income,age\n9,Bern,2020-05-05,3000,41\n")
    (fitted / "same.csv").write_text("age,income,city,since\n41,3000,Bern,2020-05-05\n")
    one, two = mercer("predict", "shop.mercer", "new.csv"), mercer("predict", "shop.mercer", "same.csv")
    assert one.code == two.code == 0 and one.out == two.out
    assert "does not use: zip" in one.err and "does not use" not in two.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age,income,since\n41,3000,2020-05-05\n", "does not have the column 'city'; it has 'age', 'income', 'since'"),
        ("age,income,city,since\nold,3000,Bern,2020-05-05\n", "'old' in the column 'age'"),
        ("age,income,city,since\n41,3000,Bern,yesterday\n", "'yesterday' in the column 'since' is not a date"),
        ("age,income,city,since\n41,3000,Bern\n", "line 2: 3 cells"),
        ("age,income,city,since\n", "no rows"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_is_named(fitted, mercer, text, says):
    (fitted / "new.csv").write_text(text)
    done = mercer("predict", "shop.mercer", "new.csv", "-o", "p.csv")
    assert done.code == 1 and says in done.err and "Traceback" not in done.err
    assert not (fitted / "p.csv").exists() and not list(fitted.glob(".p.csv*"))


def test_unknown_categories_and_gaps_are_predicted(fitted, mercer):
    (fitted / "new.csv").write_text("age,income,city,since\n41,3000,Atlantis,2020-05-05\n,,,\n")
    done = mercer("predict", "shop.mercer", "new.csv")
    assert done.code == 0 and set(done.out.splitlines()[1:]) <= {"yes", "no"} and len(done.out.splitlines()) == 3


def test_spaces_around_cells_are_no_other_category(fitted, mercer):
    for name, gap in (("tight", ""), ("wide", " ")):
        cells = (["age", "income", "city", "since"], ["41", "3000", "Bern", "2020-05-05"])
        (fitted / f"{name}.csv").write_text("".join(f"{gap},{gap}".join(row) + f"{gap}\n" for row in cells))
    frames = [next(read_blocks(f"{name}.csv", columns=COLUMNS)) for name in ("tight", "wide")]
    assert frames[0].equals(frames[1]) and frames[1]["city"].tolist() == ["Bern"]
    assert mercer("predict", "shop.mercer", "wide.csv").out == mercer("predict", "shop.mercer", "tight.csv").out


def test_what_is_read_is_not_replaced(fitted, mercer):
    before = (fitted / "shop.csv").read_bytes()
    for place in ("shop.csv", "./shop.csv", "shop.mercer"):
        assert "would be replaced" in mercer("predict", "shop.mercer", "shop.csv", "-o", place).err
    assert (fitted / "shop.csv").read_bytes() == before


def test_a_bar_is_standard_output(fitted, mercer):
    done = mercer("predict", "shop.mercer", "shop.csv", "-o", "-")
    assert done.code == 0 and len(done.out.splitlines()) == 121 and not (fitted / "-").exists()


@pytest.mark.parametrize("filled", [0.1, 0.9])
def test_matrices_of_libsvm_there_and_back(folder, mercer, filled):
    """Dense data are centred and sparse ones are not; prediction reads both from one format, and from NumPy's."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8)) * (rng.uniform(size=(60, 8)) < filled)
    X[:, -1] = 1
    library.io.libsvm.save_data(X, (X[:, 0] + X[:, 1] > 0).astype(int), "X.libsvm")
    assert ("sparse" in mercer("fit", "X.libsvm", "--no-tune").out) == (filled < 0.5)
    expected = library.load("X.mercer").predict(X)
    np.save("X.npy", X)
    for name in ("X.libsvm", "X.npy"):
        done = mercer("predict", "X.mercer", name)
        assert done.code == 0, done.err
        assert done.out.split()[1:] == list(map(str, expected))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_are_refused(fitted, mercer):
    os.mkfifo("pipe")
    for path in ("pipe", "-"):
        done = mercer("predict", "shop.mercer", path)
        assert done.code == 1 and f"{path} is a pipe" in done.err
    assert "pipe is a pipe" in mercer("convert", "pipe", "new.csv").err
    np.save("X.npy", np.eye(3))
    done = mercer("convert", "X.npy", "new.csv", "--range", "pipe")
    assert done.code == 1 and "pipe is a folder, a pipe, a device or a broken link; pass a file." in done.err


def test_gaps_in_a_model_of_numbers_are_means(folder, mercer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    text = "".join(f"{a:.6f},{b:.6f},{a + b * b:.6f}\n" for a, b in X)
    (folder / "n.csv").write_text("a,b,y\n" + text)
    assert mercer("fit", "n.csv", "-t", "y", "--no-tune").code == 0
    mean = np.mean([float(f"{a:.6f}") for a, _ in X])
    (folder / "new.csv").write_text(f"a,b\n,0.5\n{float(mean)!r},0.5\n")
    gap, filled = map(float, mercer("predict", "n.mercer", "new.csv").out.splitlines()[1:])
    assert gap == pytest.approx(filled, rel=1e-9)


def test_other_layout_same_answers(fitted, mercer):
    """A model of commas and points reads semicolons and decimal commas."""
    (fitted / "a.csv").write_text("age,income,city,since\n41.5,3000.25,Bern,2020-05-05\n30.5,100.5,Oslo,2021-05-05\n")
    (fitted / "b.csv").write_text("age;income;city;since\n41,5;3000,25;Bern;2020-05-05\n30,5;100,5;Oslo;2021-05-05\n")
    first, second = (mercer("predict", "shop.mercer", name, "--probability").out for name in ("a.csv", "b.csv"))
    assert first == second and len(first.splitlines()) == 3


def test_no_probabilities(folder, mercer):
    mercer("fit", "shop.csv", "-t", "price", "--no-tune")
    done = mercer("predict", "shop.mercer", "shop.csv", "--probability")
    assert done.code == 1 and "has no probabilities" in done.err


def test_json_needs_a_file(fitted, mercer):
    assert "--out" in mercer("predict", "shop.mercer", "shop.csv", "--json").json["error"]
    done = mercer("predict", "shop.mercer", "shop.csv", "--json", "--out", "p.csv")
    assert done.json["rows"] == 120 and done.json["predictions"] == "p.csv"


def test_broken_model_files(folder, mercer):
    (folder / "bad.mercer").write_bytes(b"PK nonsense")
    for path, says in (("bad.mercer", "not a model file"), ("none.mercer", "No such file")):
        for arguments in (["predict", path, "shop.csv"], ["info", path]):
            done = mercer(*arguments)
            assert done.code == 1 and says in done.err
    library.save(library.kernels.Gaussian(2.0), "kernel.mercer")
    assert "cannot predict" in mercer("predict", "kernel.mercer", "shop.csv").err


def test_models_of_python_predict_matrices(folder, mercer):
    X = np.random.default_rng(0).normal(size=(30, 2))
    library.save(library.SVC().fit(X, X[:, 0] > 0), "svc.mercer")
    np.save("X.npy", X)
    library.io.libsvm.save_data(X, np.zeros(30), "X.libsvm")
    expected = [str(v) for v in X[:, 0] > 0]
    found = mercer("predict", "svc.mercer", "X.npy").out.splitlines()[1:]
    assert np.mean(np.array(found) == expected) > 0.9
    assert mercer("predict", "svc.mercer", "X.libsvm").out.splitlines()[1:] == found
    assert "is a table" in mercer("predict", "svc.mercer", "shop.csv").err


def test_labels_that_are_no_text(folder, mercer):
    X = np.random.default_rng(0).normal(size=(20, 2))
    library.save(library.SVC().fit(X, np.where(X[:, 0] > 0, "\ud800", "b")), folder / "half.mercer")
    np.save(folder / "X.npy", X)
    for where in ("-", "out.csv"):
        result = mercer("predict", "half.mercer", "X.npy", "-o", where)
        assert result.code == 1 and "codec" not in result.err
        assert "'\\ud800' in a label or a name is half a character, which UTF-8 cannot encode" in " ".join(
            result.err.split()
        )
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_matrices_with_gaps_are_refused_as_in_training(folder, mercer, value):
    X = np.random.default_rng(0).normal(size=(30, 2))
    np.savez(folder / "train.npz", X=X, y=X[:, 0] > 0)
    assert mercer("fit", "train.npz", "--no-tune").code == 0
    X[3, 1] = value
    np.savez(folder / "new.npz", X=X)
    result = mercer("predict", "train.mercer", "new.npz", "-o", "out.csv")
    assert result.code == 1 and "new.npz has non-finite values; fit and predict with CSV" in " ".join(
        result.err.split()
    )
    assert not (folder / "out.csv").exists()


def test_archives_that_unpack_to_more_than_they_are(folder, mercer, monkeypatch):
    X = np.random.default_rng(0).normal(size=(20, 2))
    library.save(library.KernelRidge().fit(X, X[:, 0]), folder / "ridge.mercer")
    monkeypatch.setattr(_files, "ROOM", 1 << 20)
    np.savez_compressed(folder / "zeros.npz", X=np.zeros((200_000, 2)))
    opened = []
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", lambda self, name: opened.append(name))
    result = mercer("predict", "ridge.mercer", "zeros.npz")
    assert result.code == 1 and "would unpack to 0.0032 GB" in " ".join(result.err.split())
    assert not opened


@pytest.mark.parametrize("thing", [None, 3, "text", [1.0]], ids=str)
def test_info_of_what_is_no_model(folder, mercer, thing):
    library.save(thing, folder / "thing.mercer")
    done = mercer("info", "thing.mercer", "--json")
    assert done.code == 0 and done.json["estimator"] == type(thing).__name__ and done.json["parameters"] == {}


def test_python_runs_the_package():
    done = subprocess.run([sys.executable, "-m", "mercer", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"mercer, version {library.__version__}\n"


def test_info(fitted, mercer):
    done = mercer("info", "shop.mercer")
    machine = library.load("shop.mercer").machine
    assert done.code == 0
    for part in ("SVC", "bought", "number: age, income", "category: city", "no, yes", "linear model"):
        assert part in done.out
    found = mercer("info", "shop.mercer", "--json").json
    assert found["accuracy"] == library.load("shop.mercer").result["scores"]
    assert found["support vectors"] == int(np.sum(machine.n_support_)) and found["classes"] == ["no", "yes"]
    library.save(library.kernels.Gaussian(2.0), "kernel.mercer")
    assert mercer("info", "kernel.mercer", "--json").json["estimator"] == "Gaussian"


def test_two_hundred_thousand_rows_are_streamed(folder, mercer, monkeypatch):
    """No more than a block is held at once."""

    seen = []
    parse = _text._parse
    monkeypatch.setattr(_text, "_parse", lambda *given: seen.append(len(given[2])) or parse(*given))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 1))
    (folder / "s.csv").write_text("a,y\n" + "".join(f"{x:.5f},{2 * x:.5f}\n" for x in X[:, 0]))
    assert mercer("fit", "s.csv", "-t", "y", "--no-tune", "-q").code == 0
    seen.clear()
    values = rng.normal(size=200_000).round(3)
    with open("big.csv", "w") as stream:
        stream.write("a,b\n")
        stream.writelines(f"{v},x\n" for v in values)
    assert mercer("predict", "s.mercer", "big.csv", "-o", "p.csv").code == 0
    assert max(seen) == _text.BLOCK and sum(seen) == 200_000
    found = np.loadtxt("p.csv", skiprows=1)
    np.testing.assert_allclose(found[::9999], library.load("s.mercer").predict({"a": values[::9999]}), rtol=1e-6)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="other systems count memory in other units")
def test_ten_million_rows_are_streamed(folder, mercer):
    """As a process of its own, whose memory does not grow with the file of 200 MB; libraries alone take 200 to 300."""
    x = np.linspace(-1, 1, 8)
    (folder / "s.csv").write_text("a,c,y\n" + "".join(f"{v:.5f},{'uv'[i % 2]},{2 * v:.5f}\n" for i, v in enumerate(x)))
    assert mercer("fit", "s.csv", "-t", "y", "--no-tune", "-q").code == 0
    block = "".join(f"{v:.4f},{'uvw'[i % 3]},unused\n" for i, v in enumerate(np.linspace(-1, 1, 10_000)))
    with open("big.csv", "w") as stream:
        stream.write("a,c,b\n")
        stream.writelines(block for _ in range(1000))
    # its own peak: what the system tells of a child counts the memory of the process that it was forked from
    peak = "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    code = f"import atexit; atexit.register(lambda: {peak}); from mercer.cli import main; main()"
    command = [sys.executable, "-c", code, "predict", "s.mercer", "big.csv", "-o", "p.csv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    said, used = done.stdout.splitlines()
    assert done.returncode == 0 and said.startswith("10000000 predictions"), done.stderr
    assert int(used) < 600_000
    with open("p.csv") as stream:
        assert sum(1 for _ in stream) == 10_000_001


@pytest.mark.long
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no disk that is always full")
def test_where_output_cannot_go(fitted):
    """Nobody reads, the disk is full, or standard output is closed: one line at most, and the work is done."""
    mercer = f"{sys.executable} -m mercer.cli"

    def shell(command):
        options = {"shell": True, "executable": "/bin/bash", "capture_output": True, "text": True, "timeout": 120}
        return subprocess.run(f"set -o pipefail; {command}", cwd=fitted, **options)

    for command in ("info shop.mercer", "info shop.mercer --json", "predict shop.mercer shop.csv -q"):
        full, unread = shell(f"{mercer} {command} > /dev/full"), shell(f"{mercer} {command} | true")
        assert full.returncode == 1 and full.stderr == "mercer: writing failed: No space left on device.\n"
        assert (unread.returncode, unread.stderr) == (0, "")
    full = shell(f"{mercer} --help > /dev/full")
    assert full.returncode == 1 and full.stderr == "mercer: No space left on device.\n"
    assert shell(f"{mercer} info shop.mercer >&-").returncode == 0
    fit = shell(f"{mercer} fit shop.csv -t bought --drop price --no-tune -o again.mercer | head -1")
    assert fit.returncode == 0 and fit.stdout.startswith("shop.csv: 120 rows") and "Traceback" not in fit.stderr
    assert (fitted / "again.mercer").exists()


@pytest.mark.long
def test_as_processes_in_a_pipe(fitted, process):
    (fitted / "new.csv").write_text("age,income,city,since\n" + "41,3000,Bern,2020-05-05\n" * 60_000)
    done = process("predict", "shop.mercer", "new.csv")
    assert done.code == 0 and len(done.out.splitlines()) == 60_001
    command = f"{sys.executable} -m mercer.cli predict shop.mercer new.csv | head -2"
    piped = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=fitted, timeout=120)
    assert len(piped.stdout.splitlines()) == 2 and "Traceback" not in piped.stderr


SAFE = "\\x1b]0;x\\x07"
LABELS = ["\x1b]0;x\x07", "\x9b31m[/b]"]


@pytest.fixture
def sequences(folder):
    """A model whose labels are commands to a terminal, or look like the markup of the library that prints tables."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    library.save(library.SVC().fit(X, np.array(LABELS * 10)), "labels.mercer")
    np.save("X.npy", X)
    np.savez("X.npz", X=X, y=np.array(LABELS * 10))
    np.savez("names.npz", **{LABELS[0]: X})
    return folder


@pytest.mark.parametrize(
    "call",
    [
        ("info", "labels.mercer"),
        ("info", "labels.mercer", "--json"),
        ("fit", "X.npz", "--no-tune"),
        ("fit", "X.npz", "--no-tune", "--json"),
        ("fit", "names.npz"),
        ("fit", "names.npz", "--debug"),
    ],
    ids=" ".join,
)
def test_what_is_printed_commands_no_terminal(sequences, mercer, call):
    done = mercer(*call)
    assert not {"\x1b", "\x07", "\x9b"} & {*done.out, *done.err}
    if call[0] == "info":
        assert (done.json["classes"] == sorted(LABELS)) if done.json else (SAFE in done.out)


def test_tables_have_no_markup(capsys):
    Output(False, False).table(["[/a]", "\x9b"], [["[/b]", "[bold]c[/bold]"], ["\x1b", 1]], title="[/d]\x1b")
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("[/a]", "[/b]", "[bold]c[/bold]", "[/d]\\x1b", "\\x9b"))


def test_predictions_are_as_they_are_but_on_a_terminal(monkeypatch, capsys):
    def printed():
        with replacing(None) as stream:
            stream.write("\x1b[31mred\n")
        return capsys.readouterr().out

    assert printed() == "\x1b[31mred\n"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert printed() == "\\x1b[31mred\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("estimator", None), ("estimator", [1]), ("task", 3), ("target", None), ("columns", 5), ("named", "no")),
        *(("columns", {"age": "colour"}), ("columns", {1: "number"}), ("n_features", "two"), ("result", {"a": 1})),
        *(
            ("result", {"scoring": "r2", "scores": v})
            for v in (None, [1], {"svc": {"mean": 1.0}}, {"svc": {"mean": "", "std": 0.0}})
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize("arguments", [["predict", "m.mercer", "shop.csv"], ["info", "m.mercer"]], ids=lambda a: a[0])
def test_models_that_no_fit_wrote_are_refused(name, value, arguments, fitted, mercer):
    forged = library.load("shop.mercer")
    setattr(forged, name, value)
    library.save(forged, "m.mercer")
    done = mercer(*arguments)
    assert done.code == 1 and f"m.mercer: the {name} of this model is not as `mercer fit` writes it" in done.err


@pytest.mark.parametrize("grid", ["0,99999999999,1", "0,1,1e-9", "0,inf,1", "0,-1e300,-1"])
def test_grids_that_no_memory_holds_are_refused(grid, folder, mercer):
    done = mercer("grid", "shop.csv", "-t", "bought", "--log2c", grid)
    assert done.code == 2 and f"--log2c '{grid}' has more than 1000 values; use a larger step." in done.err


@pytest.mark.skipif(not os.path.isfile("/proc/kmsg"), reason="a file of Linux, which makes its reader wait")
def test_files_of_the_system_are_not_read():
    """They say that they are empty; in a process of its own, which can be ended."""
    for command in (["fit", "/proc/kmsg"], ["convert", "/proc/kmsg", "a.libsvm"]):
        done = subprocess.run(
            [sys.executable, "-m", "mercer.cli", *command], capture_output=True, timeout=60, text=True
        )
        assert done.returncode == 1 and "/proc/kmsg is empty." in done.stderr
