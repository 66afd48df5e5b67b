import gzip
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import mercer as library
from mercer.cli._columns import conform, kind_of
from mercer.cli._data import read
from mercer.cli._model import FileModel

CHOSEN = ["--no-tune", "--drop", "price"]


def test_fit_says_what_it_guesses_and_saves(folder, mercer):
    done = mercer("fit", "shop.csv", "--target", "bought", "--drop", "price", "--seconds", 20)
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    for part in ("classification, 2 classes", "dropped id: is text", "numbers age, income", "dates since"):
        assert part in said
    model = library.load(folder / "shop.mercer")
    assert isinstance(model, FileModel) and model.target == "bought"
    assert model.columns == {"age": "number", "income": "number", "city": "category", "since": "date"}
    rows = read("shop.csv").X
    assert np.mean(model.predict(rows) == rows["bought"].to_numpy()) > 0.9
    assert model.result["scores"]["svc"]["mean"] > model.result["scores"]["most frequent class"]["mean"]


def test_json_is_one_object(folder, mercer):
    done = mercer("fit", "shop.csv", "-t", "price", "--drop", "bought", "--no-tune", "--json", "-o", "p.mercer")
    assert done.code == 0
    assert done.json["task"] == "regression" and done.json["model"] == "p.mercer"
    assert done.json["scores"]["ridge"]["mean"] > done.json["scores"]["mean"]["mean"]
    assert done.json["scoring"] == "r2"


def test_a_device_is_named(folder, mercer):
    """The work is done with tensors; the model on disk is one of arrays."""
    pytest.importorskip("torch")
    done = mercer("fit", "shop.csv", "-t", "bought", *CHOSEN, "--no-report", "--device", "cpu", "-o", "there.mercer")
    assert done.code == 0, done.err
    assert mercer("fit", "shop.csv", "-t", "bought", *CHOSEN, "--no-report", "-o", "here.mercer").code == 0
    rows = read("shop.csv").X
    there, here = (library.load(folder / name) for name in ("there.mercer", "here.mercer"))
    assert np.mean(there.predict(rows) == here.predict(rows)) > 0.98
    failed = mercer("fit", "shop.csv", "-t", "bought", *CHOSEN, "--device", "gpu")
    assert failed.code == 1 and "'gpu' is no device of torch" in failed.err


def test_quiet_is_quiet(folder, mercer):
    done = mercer("fit", "shop.csv", "-t", "bought", *CHOSEN, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.long
def test_tuning_finds_the_best_of_the_grid(folder, mercer):
    """The choice is that of scikit-learn's own search over the same folds."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    np.savez("xor.npz", X=X, y=y)
    done = mercer("fit", "xor.npz", "--json")
    assert done.code == 0
    kernel = "gaussian(lengthscale={})"
    grid = {"kernel": [kernel.format(w) for w in (1.0, 0.5, 2.0, 0.25, 4.0)], "C": [1.0, 10.0, 100.0, 0.1, 1000.0]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(library.SVC(), grid, cv=folds).fit(StandardScaler().fit_transform(X), y)
    params = done.json["params"]
    scores = dict(zip(map(str, search.cv_results_["params"]), search.cv_results_["mean_test_score"], strict=True))
    mine = str({"C": params["C"], "kernel": kernel.format(round(params["lengthscale"], 9))})
    assert scores[mine] == pytest.approx(search.best_score_)


def test_user_kernel_on_a_table(folder, mercer):
    done = mercer(
        "fit", "shop.csv", "-t", "bought", *CHOSEN, "-k", "gaussian + 0.1*linear", "--probability", "-o", "k.mercer"
    )
    assert done.code == 0, done.err
    model = library.load("k.mercer")
    rows = read("shop.csv").X
    P = model.predict_proba(rows)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert P.shape == (120, 2)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nowhere.csv", "-t", "y"], 1, "nowhere.csv does not exist"),
        (["shop.csv", "--target", ""], 1, "shop.csv has no column ''"),
        (["shop.csv"], 1, "--target is missing; the columns of shop.csv are 'id', 'age'"),
        (["shop.csv", "-t", "prize"], 1, "no column 'prize'; did you mean 'price'?"),
        (["shop.csv", "-t", "PRICE"], 1, "no column 'PRICE'; did you mean 'price'?"),
        (["shop.csv", "-t", "zzz"], 1, "no column 'zzz'; its columns are 'id', 'age'"),
        (["shop.csv", "-t", "price", "--drop", "price"], 1, "--drop price is the target"),
        (["shop.csv", "-t", "price", "-o", "shop.csv"], 1, "is an input of this command"),
        (["-", "-t", "price"], 1, "is a pipe"),
        (["shop.csv", "-t", "const"], 1, "is 1 in every row"),
        (["shop.csv", "-t", "empty"], 1, "has no value in any row"),
        (["shop.csv", "-t", "bought", "-m", "svr"], 1, "--method svr is not available for classification"),
        (["shop.csv", "-t", "bought", "-o", "/dev/null"], 1, "/dev/null is not a file"),
        (["shop.csv", "-t", "bought", "-o", "-"], 1, "- is not a file"),
        (["shop.csv", "-t", "bought", "--report", "shop.csv"], 1, "is an input of this command"),
        (["shop.csv", "-t", "bought", "-o", "a", "--report", "./a"], 1, "is given for two outputs"),
        (["shop.mercer", "-t", "bought"], 1, "shop.mercer is a model, not data"),
        (["shop.csv", "-t", "bought", "-o", "no/such/m.mercer"], 1, "folder does not exist"),
        (["shop.csv", "-t", "bought", "-o", "."], 1, "is a folder"),
        (["shop.csv", "-t", "bought", "--seconds", "-3"], 2, "not in the range"),
        (["shop.csv", "-t", "bought", "--nonsense"], 2, "No such option"),
        ([], 2, "Missing argument"),
    ],
)
def test_errors_are_one_sentence(folder, mercer, arguments, code, says):
    (folder / "shop.mercer").write_bytes(b"PK")
    done = mercer("fit", *arguments)
    assert done.code == code and says in done.err
    assert "Traceback" not in done.err + done.out
    if code == 1:
        assert len(done.err.strip().splitlines()) == 1 and done.err.startswith("mercer: ")


def test_kernels_that_cannot_be_read(folder, mercer):
    """The place in the text; without a near name all of them, in lines that can be read."""
    done = mercer("fit", "shop.csv", "-t", "bought", "-k", "linear + gausian")
    message, text, caret = done.err.splitlines()
    assert done.code == 1 and message == "mercer: --kernel: unknown name 'gausian'; did you mean 'gaussian'?"
    assert caret.index("^") == text.index("gausian")
    done = mercer("fit", "shop.csv", "-t", "bought", "-k", "xyzzy", "--json")
    assert done.code == 1 and "polynomial" in done.json["error"]
    assert max(map(len, done.err.splitlines())) <= 100


def test_why_all_fits_failed(folder, mercer):
    for kernel, says in (("matern(nu=-1)", "nu = -1 must be > 0"), ("spectrum", "expected a string")):
        done = mercer("fit", "shop.csv", "-t", "bought", "--drop", "price", "-k", kernel)
        assert done.code == 1 and says in done.err and "fits failed" not in done.err


@pytest.mark.parametrize(
    "arguments", [["fit"], ["fit", "shop.csv", "--nonsense"], ["fitt"], ["grid", "shop.csv", "--log2c", "x"]]
)
def test_calls_that_cannot_be_are_told_in_json(folder, mercer, arguments):
    done = mercer(*arguments, "--json")
    assert done.code == 2 and set(done.json) == {"error"}
    assert mercer(*arguments).out == ""


def test_many_columns_left_out_are_counted(folder, mercer):
    values = np.random.default_rng(0).normal(size=20)
    head = ",".join([*(f"c{j}" for j in range(30)), "x", "y"])
    (folder / "w.csv").write_text(head + "\n" + "".join("1," * 30 + f"{v:.3f},{v * v:.3f}\n" for v in values))
    done = mercer("fit", "w.csv", "-t", "y", "--no-tune")
    assert done.code == 0 and done.out.count("dropped") == 9 and "22 more" in done.out
    assert len(mercer("fit", "w.csv", "-t", "y", "--no-tune", "--json").json["left_out"]) == 30


def test_a_better_linear_model_is_told(folder, mercer):
    X = np.random.default_rng(0).normal(size=(60, 12))
    np.savez("line.npz", X=X, y=X.sum(axis=1))
    done = mercer("fit", "line.npz", "--no-tune", "-k", "laplace(lengthscale=0.1)")
    assert done.code == 0 and "a linear model is better" in done.err


def test_errors_in_json_and_debug(folder, mercer):
    done = mercer("fit", "nowhere.csv", "-t", "y", "--json")
    assert done.code == 1 and "does not exist" in done.json["error"]
    assert "Traceback" in mercer("fit", "nowhere.csv", "-t", "y", "--debug").err


def test_report_without_matplotlib_is_refused_before_the_work(folder, mercer, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = mercer("fit", "shop.csv", "-t", "bought", "--report", "r.html")
    assert done.code == 1 and "A report needs matplotlib" in done.err and not (folder / "shop.mercer").exists()


@pytest.mark.long
@pytest.mark.parametrize("tuned", [True, False])
def test_report(folder, mercer, tuned):
    how = ["--drop", "price"] if tuned else CHOSEN
    done = mercer("fit", "shop.csv", "-t", "bought", *how, "--report", "r.html", "--json")
    assert done.code == 0, done.err
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html") and "bought of shop.csv" in page
    assert ("KernelSearchCV" in page) == tuned
    assert all(name in page for name in ("income", "since")) and "feature names" not in str(done.json.get("notes"))
    assert done.json["report"] == "r.html"


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="names of files are text here")
def test_report_of_a_name_that_is_no_text(folder, mercer):
    path = os.fsdecode(b"gr\xf6sse.csv")
    (folder / path).write_text("x,y\n" + "".join(f"{i % 7},{i % 5 + 0.5}\n" for i in range(30)))
    done = mercer("fit", path, "-t", "y", "--no-tune", "--report", "r.html", "-o", "m.mercer")
    assert done.code == 0, done.err
    assert "y of gr\ufffdsse.csv" in (folder / "r.html").read_text(encoding="utf-8")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_read_only_folder(folder, mercer):
    (folder / "locked").mkdir(mode=0o500)
    done = mercer("fit", "shop.csv", "-t", "bought", *CHOSEN, "-o", "locked/m.mercer")
    assert done.code == 1 and "its folder is not writable" in done.err


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="no folder that nobody can write to")
def test_folders_that_cannot_be_written_to_are_noticed_before_the_work(folder, mercer):
    done = mercer("fit", "shop.csv", "-t", "bought", "-o", "/proc/m.mercer")
    assert done.code == 1 and "its folder is not writable" in done.err and done.out == ""


def test_a_time_limit_keeps_the_default_where_nothing_was_tried(folder, mercer):
    done = mercer("fit", "shop.csv", "-t", "bought", "--drop", "price", "--seconds", "1e-9", "--json")
    assert done.code == 0 and done.json["settings_tried"] == 0
    assert any("default" in note for note in done.json["notes"])
    assert (folder / "shop.mercer").exists()


@pytest.mark.long
def test_as_a_process(folder, process):
    done = process("fit", "shop.csv", "-t", "bought", "--drop", "price", "--json")
    assert done.code == 0 and json.loads(done.out)["settings_tried"] == 25
    assert json.loads(done.out)["report"] == "shop.report.html" and (folder / "shop.report.html").exists()
    assert process("fit", "nowhere.csv", "-t", "y").code == 1
    assert process("fit").code == 2
    assert process("--version").out.startswith("mercer, version")


@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.2, 1.0])
def test_ctrl_c_keeps_the_best_so_far(tmp_path, shop, seconds):
    """Also where nothing was tried yet; the exit code tells."""
    import time

    (tmp_path / "big.csv").write_text(shop(2400))
    command = [sys.executable, "-m", "mercer.cli", "fit", "big.csv", "-t", "price", "-m", "svr"]
    child = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for line in child.stdout:
        if "method" in line:
            break
    time.sleep(seconds)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=200)
    assert child.returncode == 130 and "Traceback" not in out + err
    assert "the best setting so far is kept" in err
    model = library.load(tmp_path / "big.mercer")
    rows = read(tmp_path / "big.csv").X
    assert np.isfinite(model.predict(rows.head())).all()


def test_interrupted_search_keeps_what_was_tried(folder, mercer, monkeypatch):
    """The same within a process: Ctrl-C comes with the fortieth score."""
    from mercer.cli import _tune

    class Stopping(_tune.Counted):
        calls = 0

        def __call__(self, y, prediction):
            Stopping.calls += 1
            if Stopping.calls == 40:
                raise KeyboardInterrupt
            return super().__call__(y, prediction)

    monkeypatch.setattr(_tune, "Counted", Stopping)
    monkeypatch.setattr(Stopping, "__module__", __name__)
    globals()["Stopping"] = Stopping
    Stopping.__qualname__ = "Stopping"
    done = mercer("fit", "shop.csv", "-t", "bought", "--drop", "price", "-m", "logistic")
    assert done.code == 130 and "best so far" in done.out
    assert library.load("shop.mercer").result["scores"]["logistic"]["mean"] > 0.5


def test_interrupted_judging_keeps_the_model(folder, mercer, monkeypatch):
    from mercer.cli import _tune

    def stop(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(_tune, "judge", stop)
    done = mercer("fit", "shop.csv", "-t", "bought", *CHOSEN)
    assert done.code == 130 and "not evaluated" in done.err and (folder / "shop.mercer").exists()


def test_report_or_none(folder, mercer, monkeypatch):
    both = mercer("fit", "shop.csv", "-t", "bought", "--report", "r.html", "--no-report")
    assert both.code == 2 and "--report and --no-report are mutually exclusive" in both.err
    assert not (folder / "shop.mercer").exists()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    from click.testing import CliRunner

    from mercer.cli.app import app

    done = CliRunner().invoke(app, ["fit", "shop.csv", "-t", "bought", *CHOSEN])
    assert done.exit_code == 0 and "A report needs matplotlib" in done.stderr
    assert (folder / "shop.mercer").exists() and not (folder / "shop.report.html").exists()


def test_interrupted_report_keeps_the_model(folder, mercer, monkeypatch):
    pytest.importorskip("matplotlib")
    from mercer import reports

    def stop(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(reports, "report", stop)
    done = mercer("fit", "shop.csv", "-t", "bought", *CHOSEN, "--report", "r.html", "--json")
    assert done.code == 130 and done.json["interrupted"] and "no report was written" in done.json["notes"][-1]
    assert (folder / "shop.mercer").exists() and not (folder / "r.html").exists()


def test_one_row_of_python(folder, mercer):
    """A model file is also an object of Python."""
    mercer("fit", "shop.csv", "-t", "bought", *CHOSEN)
    model = library.load("shop.mercer")
    row = {"age": ["41"], "income": [3000.0], "city": ["Bern"], "since": ["2020-05-05"]}
    assert model.predict(row)[0] in ("yes", "no")
    frame = read("shop.csv").X
    kinds = {c: kind_of(frame[c]) for c in model.columns}
    assert kinds == model.columns
    assert model.samples(frame).equals(conform(frame, kinds, ""))


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "target", "method", "least"),
    [("iris", "Species", "svc", 0.9), ("boston", "medv", "ridge", 0.8), ("ozone_mlbench", "V4", "ridge", 0.6)],
)
def test_real_tables(data_dir, folder, process, name, target, method, least):
    """Fisher's irises, houses of Boston, and ozone in Los Angeles, which has gaps."""
    path = data_dir / "classic" / f"{name}.csv.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    done = process("fit", path, "--target", target, "--json")
    assert done.code == 0, done.err
    scores = done.json["scores"]
    assert scores[method]["mean"] > max(least, scores["linear model"]["mean"] - 0.02)
    assert process("predict", f"{name}.mercer", path, "-o", "p.csv").code == 0
    with gzip.open(path, "rt") as stream:
        assert len((folder / "p.csv").read_text().splitlines()) == len(stream.readlines())


@pytest.mark.parametrize("n", [4, 5, 12])
def test_few_rows(folder, mercer, n):
    rng = np.random.default_rng(0)
    np.savetxt("few.csv", rng.normal(size=(n, 2)), delimiter=",", header="x,y", comments="")
    done = mercer("fit", "few.csv", "-t", "y", "--no-tune", "--json")
    assert done.code == 0, done.err
    assert np.isfinite(done.json["scores"]["ridge"]["mean"]) and (folder / "few.mercer").exists()


def test_too_few_rows_are_refused(folder, mercer):
    (folder / "few.csv").write_text("x,y\n1,1.5\n2,2.5\n3,4.5\n")
    assert "3 rows with a target; regression needs 4" in mercer("fit", "few.csv", "-t", "y").err


def test_targets_of_matrices(folder, mercer):
    X = np.random.default_rng(0).normal(size=(30, 2))
    np.savez("own.npz", X=X, y=np.where(np.arange(30) % 3 == 0, np.nan, X[:, 0]))
    done = mercer("fit", "own.npz", "--no-tune", "--json")
    assert done.json["data"]["rows"] == 20 and "10 rows without a target" in done.json["notes"][0]
    assert "omit --target other" in mercer("fit", "own.npz", "-t", "other").err
    np.save("bare.npy", X)
    for command in (["fit", "bare.npy"], ["convert", "bare.npy", "x.csv"]):
        for target in ("2", "name"):
            assert f"--target {target} must be a column of bare.npy: 0 to 1" in mercer(*command, "-t", target).err


@pytest.mark.long
def test_a_terminal_without_accents(folder, process):
    (folder / "größe.csv").write_text("größe,y\n" + "".join(f"{i * i % 7},{i % 5 + 0.5}\n" for i in range(12)))
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = process("fit", "größe.csv", "-t", "y", "--no-tune", "--json", env=env)
    assert done.code == 0 and done.out.isascii() and done.json["data"]["columns"] == {"größe": "number"}


def test_names_with_commas_and_lines(folder, mercer):
    rows = "".join(f"{i % 7},{i * i % 11},{i % 5 + 0.5}\n" for i in range(12))
    (folder / "odd.csv").write_text(f'"a, x","b\nc",y\n{rows}')
    done = mercer("fit", "odd.csv", "-t", "y", "--no-tune", "--drop", '"a, x"', "--json")
    assert done.code == 0, done.err
    assert done.json["data"]["columns"] == {"b\nc": "number"} and done.json["data"]["rows"] == 12


def test_a_time_limit_holds_for_the_whole_command(folder, mercer):
    done = mercer("fit", "shop.csv", "-t", "bought", *CHOSEN, "--seconds", "1e-9", "--json", "--report", "r.html")
    notes = " ".join(done.json["notes"])
    assert done.code == 0 and not done.json["interrupted"] and done.json["scores"] == {}
    assert "no time to evaluate" in notes and "no time for a report" in notes
    assert (folder / "shop.mercer").exists() and not (folder / "r.html").exists()


def test_a_report_leaves_out_what_there_is_no_time_for(folder, mercer, monkeypatch):
    pytest.importorskip("matplotlib")
    from mercer.cli import _tune

    monkeypatch.setattr(_tune, "REPORTED", 10**9)
    done = mercer("fit", "shop.csv", "-t", "bought", *CHOSEN, "--seconds", "60", "--report", "r.html", "--json")
    assert "no time for the error estimate" in " ".join(done.json["notes"]) and done.json["scores"]
    assert "without an error estimate for lack of time" in (folder / "r.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("target", "method"), [("bought", "svc"), ("price", "ridge")])
def test_many_rows_are_tuned_on_a_few(folder, mercer, monkeypatch, target, method):
    """The report repeats that search in its folds, from the results of the first."""
    pytest.importorskip("matplotlib")
    from mercer.cli import _guess

    monkeypatch.setattr(_guess, "TUNED_ROWS", {})
    monkeypatch.setattr(_guess, "TUNED_OTHERS", 60)
    done = mercer("fit", "shop.csv", "-t", target, "-m", method, "--json", "--report", "r.html")
    assert done.code == 0, done.err
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "tried on 60 samples drawn at random" in page and "repeats the whole search in every fold" in page
    estimator = library.load("shop.mercer").estimator
    assert type(getattr(estimator, "steps", [[estimator]])[-1][-1]).__name__ == done.json["estimator"]
    assert done.json["estimator"] in ("SVC", "KernelRidge")
