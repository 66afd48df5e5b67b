"""The other commands, each against the library called from Python."""

import csv
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

import mercer as library
from mercer.io import libsvm

PNG = b"\x89PNG"


def column(path, name, kind=float):
    with open(path, newline="") as stream:
        return np.array([kind(row[name]) for row in csv.DictReader(stream)])


@pytest.fixture
def blobs(folder):
    X, y = make_blobs(90, centers=3, cluster_std=0.7, random_state=1)
    libsvm.save_data(X, y, folder / "blobs.libsvm")
    return X, y


def test_json_tells_the_rows_and_kernel_of_the_text(blobs, folder, mercer):
    for command in (["cluster", "blobs.libsvm", "--clusters", 3], ["outliers", "blobs.libsvm"]):
        told = mercer(*command, "--json").json
        assert told["rows"] == 90 and told["kernel"].startswith("gaussian")
    worst = [column("blobs.outliers.csv", "score")[row - 1] for row in told["worst"]]
    assert told["worst_scores"] == worst
    assert mercer("two-sample", "blobs.libsvm", "blobs.libsvm", "--json").json["rows"] == [90, 90]
    rows = len(column("shop.csv", "income"))
    assert mercer("independence", "shop.csv", "--x", "income", "--y", "city", "--json").json["rows"] == rows


def test_notes_begin_where_warnings_say_something(folder, mercer, monkeypatch):
    """Those of scikit-learn about fits that failed begin with an empty line."""
    import warnings

    from mercer.cli import _tune

    judge = _tune.judge

    def failing(*arguments):
        warnings.warn("\n3 fits failed\nand why", stacklevel=1)
        return judge(*arguments)

    monkeypatch.setattr(_tune, "judge", failing)
    done = mercer("fit", "shop.csv", "-t", "bought", "--drop", "price", "--no-tune")
    assert "note: 3 fits failed\n" in done.err and "note: \n" not in done.err


# ---- choose


def test_compare(folder, mercer):
    arguments = ["compare", "shop.csv", "-t", "bought", "--drop", "price", "--no-tune", "--repeats", 1]
    done = mercer(*arguments, "-m", "means,trivial", "--json")
    assert done.code == 0, done.err
    assert done.json["scores"]["means"]["mean"] > done.json["scores"]["trivial"]["mean"]
    assert len(done.json["differences"]) == 1
    assert "name at least two" in mercer(*arguments, "-m", "svc,svc").err
    assert "--methods: no is not available" in mercer(*arguments, "-m", "no,svc").err
    assert done.json["task"] == "classification" and done.json["target"] == "bought"
    assert done.json["data"] == {"path": "shop.csv", "rows": done.json["rows"]}


@pytest.mark.long
def test_grid_is_resumable_and_right(blobs, mercer, folder):
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    X, y = blobs
    arguments = ["grid", "blobs.libsvm", "--log2c", "-5,3,4", "--log2g", "-9,-1,4", "--resume", "kept", "--json"]
    first = mercer(*arguments)
    assert first.code == 0, first.err
    grid = {"C": [2.0**-5, 0.5, 8.0], "gamma": [2.0**-9, 2.0**-5, 0.5]}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(library.SVC(), grid, cv=folds).fit(StandardScaler().fit_transform(X), y)
    assert first.json["accuracy"] == pytest.approx(search.best_score_)
    assert (folder / "blobs.grid.png").read_bytes().startswith(PNG)
    assert mercer(*arguments).json == first.json
    other = mercer("grid", "blobs.libsvm", "--log2c", "-5,3,2", "--log2g", "-9,-1,4", "--resume", "kept")
    assert other.code == 1 and "was written by a different run: the settings differ" in other.err


def test_grid_says_what_it_searches_on(folder, mercer):
    arguments = ["grid", "shop.csv", "-t", "bought", "--log2c", "0,0,1", "--log2g", "-4,-4,1", "--folds", 2]
    done, told = mercer(*arguments), mercer(*arguments, "--json").json
    labels = column("shop.csv", "bought", str)
    assert done.code == 0 and f"{len(labels)} rows, 2 classes of 'bought'" in done.out
    assert told["rows"] == len(labels) and told["classes"] == ["no", "yes"]
    assert "dropped    const: is constant" in done.out and told["left_out"]["const"] == "is constant"


@pytest.mark.long
def test_grid_beside_the_most_frequent_class(folder, mercer):
    done = mercer("grid", "shop.csv", "-t", "bought", "--log2c", "0,1,1", "--log2g", "-4,-2,1", "--json", "--folds", 3)
    assert done.code == 0, done.err
    labels = column("shop.csv", "bought", str)
    assert done.json["most_frequent_class"] == max(np.mean(labels == "yes"), np.mean(labels == "no"))
    assert done.json["std"] > 0 and any("edge of the grid" in note for note in done.json["notes"])
    late = mercer("grid", "shop.csv", "-t", "bought", "--seconds", "1e-9")
    assert late.code == 1 and "was not enough for any setting" in late.err and "nan" not in late.err
    line = mercer("grid", "shop.csv", "-t", "bought", "--log2c", "0,0,1", "--log2g", "-4,-2,1", "--json")
    assert line.code == 0 and "picture" not in line.json and "needs at least two values" in line.json["notes"][-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["grid", "shop.csv", "-t", "bought", "--picture", "shop.csv"],
        ["grid", "shop.csv", "-t", "bought", "--resume", "shop.csv"],
        ["kpca", "shop.csv", "--picture", "linked.csv"],
        ["two-sample", "blobs.libsvm", "shop.csv", "--picture", "shop.csv"],
        ["outliers", "shop.csv", "--model", "shop.csv"],
        ["convert", "blobs.libsvm", "x.csv", "--range", "shop.csv", "--rest", "blobs.libsvm"],
        ["convert", "blobs.libsvm", "shop.csv", "--range", "shop.csv"],
    ],
)
def test_no_command_replaces_what_it_reads(blobs, folder, mercer, arguments):
    (folder / "linked.csv").symlink_to("shop.csv")
    before = {name: (folder / name).read_bytes() for name in ("shop.csv", "blobs.libsvm")}
    done = mercer(*arguments)
    assert done.code == 1 and "would be replaced; choose another output file" in done.err
    assert before == {name: (folder / name).read_bytes() for name in before}


@pytest.mark.parametrize(
    "arguments",
    [
        ["grid", "shop.csv", "-t", "bought", "--resume", "a.png", "--picture", "a.png"],
        ["kpca", "shop.csv", "-o", "a.png", "--picture", "./a.png"],
        ["outliers", "shop.csv", "-o", "a", "--model", "a"],
        ["convert", "shop.csv", "a.csv", "--subset", "9", "--rest", "a.csv"],
    ],
)
def test_one_place_for_one_thing(folder, mercer, arguments):
    done = mercer(*arguments)
    assert done.code == 1 and "is given for two outputs" in done.err


def test_pictures_have_known_endings(folder, mercer):
    done = mercer("kpca", "shop.csv", "--picture", "a.docx")
    assert done.code == 1 and "must end in .png" in done.err and not (folder / "shop.kpca.csv").exists()
    done = mercer("kpca", "shop.csv", "--picture", "a.SVG")
    assert done.code == 0 and "<svg" in (folder / "a.SVG").read_text()


@pytest.mark.parametrize("powers", ["five", "0,4,-1", "0,0,0", "0,4000,1000"])
def test_grids_that_cannot_be(blobs, mercer, powers):
    done = mercer("grid", "blobs.libsvm", "--log2c", powers)
    assert done.code == 2 and "must be start,end,step" in done.err


# ---- explore


def test_kpca(folder, mercer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) * [1, 5, 25]
    with open("x.csv", "w") as stream:
        stream.write("a,b,c,kind\n")
        stream.writelines(f"{p!r},{q!r},{r!r},{'uv'[i % 2]}\n" for i, (p, q, r) in enumerate(X.tolist()))
    done = mercer("kpca", "x.csv", "--colour", "kind", "-k", "linear", "--json")
    assert done.code == 0, done.err
    from sklearn.decomposition import PCA

    pca = PCA(2).fit(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(done.json["explained_variance_ratio"], pca.explained_variance_ratio_, rtol=1e-6)
    scores = pca.transform(StandardScaler().fit_transform(X))
    np.testing.assert_allclose(np.abs(column("x.kpca.csv", "component 1")), np.abs(scores[:, 0]), atol=1e-8)
    assert (folder / "x.kpca.png").read_bytes().startswith(PNG)
    assert "more than the 40 rows" in mercer("kpca", "x.csv", "-n", 41).err
    np.save("x.npy", X)
    assert "needs a table" in mercer("kpca", "x.npy", "--colour", "kind").err


def test_kpca_writes_a_row_for_each_row(folder, mercer):
    done = mercer("kpca", "shop.csv", "--colour", "age", "--json")
    assert done.code == 0, done.err
    assert done.json["rows"] == len(column("shop.kpca.csv", "component 1")) == 120
    assert done.json["left_out"]["const"] == "is constant"


def test_colours_of_kpca(folder, mercer, monkeypatch):
    """Numbers are a scale, few kinds of text a legend; many kinds are refused."""
    from mercer.cli import explore

    seen = []
    monkeypatch.setattr(explore, "save_picture", lambda output, display, place: seen.append(display))
    assert mercer("kpca", "shop.csv", "--colour", "income").code == 0
    assert mercer("kpca", "shop.csv", "--colour", "city").code == 0
    gaps = mercer("kpca", "shop.csv", "--colour", "age")
    assert seen[0].colorbar_.ax.get_ylabel() == "income" and len(seen[0].y) == 120
    assert seen[1].colorbar_ is None and seen[1].labels == ["Bern", "Oslo", "Rome, It"]
    missing = (column("shop.csv", "age", str) == "").sum()
    assert f"{missing} rows without" in gaps.err and len(seen[2].y) == 120 - missing
    assert "120 distinct texts" in mercer("kpca", "shop.csv", "--colour", "id").err


@pytest.mark.parametrize(
    "command",
    [
        ["kpca", "blobs.libsvm"],
        ["two-sample", "blobs.libsvm", "blobs.libsvm"],
        ["grid", "blobs.libsvm", "--log2c", "0,1,1", "--log2g", "0,1,1"],
    ],
)
def test_pictures_need_matplotlib(blobs, mercer, monkeypatch, command):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = mercer(*command, "--json")
    assert done.code == 0 and "picture" not in done.json
    assert any('pip install "mercer[plot]"' in note for note in done.json["notes"])
    asked = mercer(*command, "--picture", "p.png")
    assert asked.code == 1 and asked.out == "" and "A picture needs matplotlib" in asked.err


@pytest.mark.parametrize("method", ["kmeans", "spectral"])
def test_cluster_finds_blobs(blobs, mercer, method):
    from sklearn.metrics import adjusted_rand_score

    done = mercer("cluster", "blobs.libsvm", "--method", method, "--json")
    assert done.code == 0, done.err
    assert done.json["clusters"] == 3 and sum(done.json["sizes"]) == 90
    assert adjusted_rand_score(blobs[1], column("blobs.clusters.csv", "cluster", int)) > 0.95


def test_cluster_with_a_number(folder, mercer):
    assert mercer("cluster", "shop.csv", "--clusters", 4, "--json").json["clusters"] == 4
    assert set(column("shop.clusters.csv", "cluster", int)) == {0, 1, 2, 3}
    assert "more than the 120 rows" in mercer("cluster", "shop.csv", "--clusters", 121).err
    np.save("two.npy", np.eye(2))
    assert "too few to choose" in mercer("cluster", "two.npy").err


@pytest.mark.parametrize("method", ["machine", "density"])
def test_outliers(folder, mercer, method):
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(97, 2)), [[9, 9], [-9, 9], [9, -9]]]
    np.savetxt("x.csv", X, delimiter=",", header="a,b", comments="")
    done = mercer("outliers", "x.csv", "--fraction", 0.05, "--method", method, "--json")
    assert done.code == 0, done.err
    labels = column("x.outliers.csv", "label", int)
    assert (labels[-3:] == -1).all() and (labels == -1).sum() <= 5
    assert set(done.json["worst"][:3]) == {98, 99, 100}


def test_outliers_of_new_rows(folder, mercer):
    done = mercer("outliers", "shop.csv", "--model", "o.mercer", "--fraction", 0.1)
    assert done.code == 0, done.err
    mercer("predict", "o.mercer", "shop.csv", "-o", "p.csv")
    np.testing.assert_allclose(column("p.csv", "score"), column("shop.outliers.csv", "score"))
    assert (column("p.csv", "label") == -1).sum() <= 12
    for option in (["--model", "o.mercer"], ["--kernel", "linear"]):
        done = mercer("outliers", "shop.csv", *option, "--method", "density")
        assert done.code == 1 and f"{option[0]} needs --method machine" in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "shop.csv", "-t", "bought", "--seconds", "nan"],
        ["fit", "shop.csv", "-t", "bought", "--seconds", "inf"],
        ["outliers", "shop.csv", "--fraction", "nan"],
        ["two-sample", "shop.csv", "shop.csv", "--level", "nan"],
    ],
)
def test_numbers_are_finite(folder, mercer, arguments):
    done = mercer(*arguments)
    assert done.code == 2 and "is not a finite number" in done.err


def test_density_of_many_columns_is_refused(folder, mercer):
    np.save("wide.npy", np.random.default_rng(0).normal(size=(60, 80)))
    assert "a density is not informative" in mercer("outliers", "wide.npy", "--method", "density").err


# ---- tests


def test_two_samples(folder, mercer):
    rng = np.random.default_rng(0)
    for name, shift in (("a", 0), ("b", 0), ("c", 1.5)):
        np.savetxt(f"{name}.csv", rng.normal(shift, size=(60, 1)), header="x", comments="")
    same, different = mercer("two-sample", "a.csv", "b.csv", "--json"), mercer("two-sample", "a.csv", "c.csv", "--json")
    assert same.code == different.code == 0
    assert not same.json["rejected"] and different.json["rejected"]
    X, Y = (np.loadtxt(f"{name}.csv", skiprows=1)[:, None] for name in "ac")
    expected = library.inference.mmd_test(X, Y, random_state=0)
    assert different.json["p_value"] == expected.p_value
    assert different.json["statistic"] == pytest.approx(expected.statistic)
    assert (folder / "a.witness.png").read_bytes().startswith(PNG)
    (folder / "d.csv").write_text("z\n1\n2\n")
    assert "do not both have 'x', 'z'" in mercer("two-sample", "a.csv", "d.csv").err
    (folder / "wide.csv").write_text(",".join(f"z{j}" for j in range(3000)) + "\n" + "1" + 2999 * ",1" + "\n")
    assert ", … (3001 in total)." in mercer("two-sample", "a.csv", "wide.csv").err


def test_two_samples_of_tables(folder, shop, mercer):
    (folder / "other.csv").write_text(shop(100, seed=5).replace("Oslo", "Paris"))
    done = mercer("two-sample", "shop.csv", "other.csv", "--rows", 60, "--json")
    assert done.json["rejected"] and any("60 random rows of the 120" in note for note in done.json["notes"])


@pytest.mark.parametrize("rows", [40, 5000])
def test_row_numbers_are_no_difference(folder, mercer, rows):
    """Files of unlike length count to unlike numbers; also where only some rows are taken."""
    rng = np.random.default_rng(0)
    for name, n in (("a", 200), ("b", 50)):
        (folder / f"{name}.csv").write_text(
            "id,x\n" + "".join(f"{i},{v:.4f}\n" for i, v in enumerate(rng.normal(size=n)))
        )
    done = mercer("two-sample", "a.csv", "b.csv", "--rows", rows, "--json")
    assert done.code == 0 and not done.json["rejected"]
    assert done.json["left_out"] == {"id": "counts the rows of each file"}


def test_independence(folder, mercer):
    found = mercer("independence", "shop.csv", "--x", "city", "--y", "bought", "--json")
    assert found.code == 0 and found.json["rejected"]
    assert not mercer("independence", "shop.csv", "--x", "since", "--y", "city", "--json").json["rejected"]
    assert "'city' is on both sides" in mercer("independence", "shop.csv", "--x", "city", "--y", "age,city").err
    assert "no column 'town'" in mercer("independence", "shop.csv", "--x", "town", "--y", "city").err
    assert mercer("independence", "shop.csv", "--x", "city").code == 2
    assert "each need at least one column" in mercer("independence", "shop.csv", "--x", "", "--y", "city").err


# ---- convert


def test_data_there_and_back(blobs, mercer):
    X, y = blobs
    for step in (("blobs.libsvm", "b.csv"), ("b.csv", "b.npz"), ("b.npz", "b.tsv"), ("b.tsv", "back.libsvm.gz")):
        assert mercer("convert", *step).code == 0
    A, b = libsvm.load_data("back.libsvm.gz")
    np.testing.assert_array_equal(A.toarray(), X)
    np.testing.assert_array_equal(b, y)


def test_scaling_and_subsets(blobs, mercer):
    X, _ = blobs
    done = mercer("convert", "blobs.libsvm", "s.npz", "--scale", "-1,1", "--save-range", "r", "--subset", 30,
                  "--rest", "rest.npz")  # fmt: skip
    assert done.code == 0, done.err
    with np.load("s.npz") as part, np.load("rest.npz") as rest:
        assert len(part["y"]) == 30 and len(rest["y"]) == 60
        assert np.bincount(part["y"].astype(int)).tolist() == [10, 10, 10]
        both = np.concatenate([part["X"], rest["X"]])
    assert both.min() == -1 and both.max() == 1
    assert mercer("convert", "blobs.libsvm", "t.npz", "--range", "r").code == 0
    with np.load("t.npz") as scaled:
        np.testing.assert_allclose(scaled["X"], libsvm.scale(X)[0])


def test_tables_stay_tables(folder, mercer):
    """Text, gaps and dates go from table to table as they are; the parts are the whole, classes in proportion."""
    arguments = ["shop.csv", "part.csv", "--subset", 40, "--rest", "rest.tsv", "--target", "city"]
    done = mercer("convert", *arguments)
    assert done.code == 0, done.err
    with open("shop.csv", newline="") as a, open("part.csv", newline="") as b, open("rest.tsv", newline="") as c:
        whole, part, rest = list(csv.reader(a)), list(csv.reader(b)), list(csv.reader(c, delimiter="\t"))
    assert part[0] == rest[0] == whole[0] and len(part) == 41
    assert sorted(part[1:] + rest[1:]) == sorted(whole[1:])
    cities = [np.unique([row[3] for row in rows[1:]], return_counts=True)[1] for rows in (part, whole)]
    assert np.abs(cities[0] - cities[1] / 3).max() < 1


def test_subsets_are_stratified_by_classes_only(folder, mercer):
    """Of numbers that are no classes, equal ones may all be drawn or none."""
    values = [0.5, 1.25] * 10
    (folder / "r.csv").write_text("x,y\n" + "".join(f"{i},{v}\n" for i, v in enumerate(values)))
    counts = set()
    for seed in range(12):
        assert mercer("convert", "r.csv", "s.csv", "--subset", 8, "--seed", seed).code == 0
        counts.add(int((column("s.csv", "y") == 0.5).sum()))
    assert len(counts) > 1
    for seed in (-1, 2**32):
        done = mercer("convert", "r.csv", "s.csv", "--subset", 8, "--seed", seed)
        assert done.code == 2 and f"{seed} is not in the range 0<=x<=4294967295" in " ".join(done.err.split())
    assert "has no column ''" in mercer("convert", "r.csv", "t.libsvm", "--target", "").err


def test_matrices_as_wide_as_a_line_says(folder, mercer):
    """Thirty bytes claim two thousand million columns, of which neither names nor zeros are made."""
    (folder / "wide.libsvm").write_text("1 1:1\n2 2000000000:1\n1 3:1\n2 4:1\n")
    for name in ("wide.csv", "wide.npz"):
        done = mercer("convert", "wide.libsvm", name)
        assert done.code == 1 and "4 × 2000000000 cells" in done.err and "write .libsvm" in done.err
    assert mercer("convert", "wide.libsvm", "same.libsvm").code == 0
    A, b = libsvm.load_data("same.libsvm")
    assert (
        A.shape == (4, 2_000_000_000) and A.indices.tolist() == [0, 1_999_999_999, 2, 3] and b.tolist() == [1, 2, 1, 2]
    )


def test_dates_in_a_matrix_are_days(folder, mercer):
    (folder / "d.csv").write_text("when,y\n1970-01-03,1\n1970-01-04,2\n")
    done = mercer("convert", "d.csv", "d.npz", "--json")
    assert "days since 1970: when" in done.json["notes"][0]
    with np.load("d.npz") as content:
        assert content["X"].tolist() == [[2], [3]]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["shop.csv", "x.libsvm"], 1, "'id' is text"),
        (["shop.csv", "x.csv", "--target", "town"], 1, "no column 'town'"),
        (["model.mercer", "copy.mercer"], 1, "the suffix must be .model or .onnx"),
        (["model.mercer", "x.csv"], 1, "the suffix must be .model or .onnx"),
        (["book.xlsx", "x.csv"], 1, "is a file of Excel"),
        (["text.npz", "x.csv"], 1, "y is text, such as yes"),
        (["blobs.libsvm", "blobs.libsvm"], 1, "would be replaced"),
        (["blobs.libsvm", "x.docx"], 1, "suffix must be"),
        (["blobs.libsvm", "x.csv", "--scale", "1"], 2, "two numbers"),
        (["blobs.libsvm", "x.csv", "--rest", "y.csv"], 2, "needs --subset"),
        (["blobs.libsvm", "x.csv", "--subset", "91"], 1, "more than the 90 rows"),
        (["blobs.libsvm", "x.csv", "--scale", "0,1", "--range", "r"], 2, "--scale and --range are mutually exclusive"),
    ],
)
def test_conversions_that_cannot_be(blobs, mercer, arguments, code, says):
    np.savez("text.npz", X=np.eye(2), y=["yes", "no"])
    library.save(library.SVC().fit([[0.0], [1.0]], [0, 1]), "model.mercer")
    np.savez("book.xlsx.npz", X=np.eye(2))
    os.rename("book.xlsx.npz", "book.xlsx")
    done = mercer("convert", *arguments)
    assert done.code == code and says in done.err


def test_models_there_and_back(blobs, mercer):
    X, y = blobs
    machine = library.SVC(gamma=0.1).fit(X, y)
    library.save(machine, "m.mercer")
    assert mercer("convert", "m.mercer", "m.model").code == 0
    assert mercer("convert", "m.model", "again.mercer", "--json").json["estimator"] == "SVC"
    again = library.load("again.mercer")
    np.testing.assert_allclose(again.decision_function(X), machine.decision_function(X), atol=1e-9)
    assert "is a model, but --subset applies to data" in mercer("convert", "m.model", "x.csv", "--subset", 3).err


@pytest.mark.long
def test_models_for_onnx(blobs, mercer):
    pytest.importorskip("ndonnx", reason="needs the extra onnx")
    X, y = blobs
    machine = library.SVC(gamma=0.1).fit(X, y)
    library.save(machine, "m.mercer")
    assert mercer("convert", "m.mercer", "m.onnx").code == 0
    from onnx.reference import ReferenceEvaluator

    scores = ReferenceEvaluator("m.onnx").run(["scores"], {"X": np.asarray(X)})[0]
    np.testing.assert_allclose(scores, machine.decision_function(X), atol=1e-9)


# ---- things to try


def test_reproduce(folder, mercer, monkeypatch):
    class Toy:
        title, minutes = "what it shows", 0.1

        def run(self, quick, out):
            (out / "toy.png").write_bytes(PNG)
            row = SimpleNamespace(quantity="error", reported="1.4 %", ours="1.5 %", remark="another split")
            return SimpleNamespace(rows=[row], figures=[out / "toy.png"], notes=[f"quick: {quick}"], seconds=0.1)

    class Broken(Toy):
        def run(self, quick, out):
            raise ValueError("MERCER_DATA is not set")

    module = SimpleNamespace(EXPERIMENTS={"toy": Toy(), "broken": Broken()})
    monkeypatch.setitem(sys.modules, "mercer.experiments", module)
    assert "what it shows" in mercer("reproduce").out
    done = mercer("reproduce", "toy", "--quick")
    assert done.code == 0 and all(part in done.out for part in ("1.4 %", "1.5 %", "another split", "quick: True"))
    assert mercer("reproduce", "toy", "--json").json["experiments"]["toy"]["rows"][0]["ours"] == "1.5 %"
    everything = mercer("reproduce", "--all")
    assert everything.code == 1 and "1.5 %" in everything.out and "MERCER_DATA is not set" in everything.err
    assert "no experiment 'nothing'" in mercer("reproduce", "nothing").err
    assert mercer("reproduce", "toy", "--all").code == 2
    monkeypatch.setitem(sys.modules, "mercer.experiments", None)
    assert "no experiments" in mercer("reproduce").err


@pytest.mark.long
def test_demo_reads_digits(folder, process):
    done = process("demo", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["scores"]["svc"]["mean"] > 0.97
    predicted = process("predict", "mercer-demo/digits.mercer", "mercer-demo/new.csv", "-q")
    from sklearn.datasets import load_digits

    assert np.mean(np.array(predicted.out.split()[1:], dtype=int) == load_digits().target[-97:]) > 0.9


# ---- all of them


def test_every_command_helps_itself(mercer):
    from mercer.cli.app import app

    listed = mercer("--help").out
    for name, command in app.commands.items():
        done = mercer(name, "--help")
        assert done.code == 0 and name in listed and "..." not in command.get_short_help_str(60)
        assert all(flag in done.out for flag in ("--json", "--quiet", "--debug"))


@pytest.mark.long
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shell_completion(shell, process):
    from shutil import which

    script = process(env={**os.environ, "_MERCER_COMPLETE": f"{shell}_source"})
    assert script.code == 0 and f"{shell}_complete" in script.out
    if which(shell) and shell != "fish":
        import subprocess

        assert subprocess.run([shell, "-n"], input=script.out, text=True, timeout=30).returncode == 0
    words = {"COMP_WORDS": "mercer fit --met", "COMP_CWORD": "2" if shell != "fish" else "--met"}
    found = process(env={**os.environ, **words, "_MERCER_COMPLETE": f"{shell}_complete"})
    assert found.code == 0 and "--method" in found.out and "--target" not in found.out


@pytest.mark.long
def test_loading_a_model_needs_no_command_line():
    import subprocess

    code = "import sys, mercer.cli._model; print('click' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr


def test_missing_libraries_are_named(monkeypatch):
    from mercer.cli import main

    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit, match=r'mercer: The command line needs click: pip install "mercer\[cli\]"'):
        main()


def test_warmup_compiles_everything_and_says_where(mercer):
    done = mercer("warmup", "--json")
    assert done.code == 0 and done.json["functions"] > 30 and done.json["seconds"] > 0
    assert done.json["compiled"] + done.json["loaded"] >= done.json["functions"]
    assert all(Path(folder).is_dir() for folder in done.json["folders"]) and done.json["folders"]
    said = mercer("warmup").out
    assert "functions in" in said and f"compiled code: {done.json['folders'][0]}" in said
