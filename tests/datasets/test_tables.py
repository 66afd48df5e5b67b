"""Tables by name, and vowels."""

import csv
import gzip
from hashlib import sha256

import numpy as np
import pytest
import sklearn.datasets

from mercer.datasets import load_anomaly, load_r_data, load_uci_regression, load_vowel, load_wine, tables


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    return tmp_path / "home"


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def test_wine_is_scikit_learn_s():
    wine = load_wine()
    X, y = sklearn.datasets.load_wine(return_X_y=True)
    assert np.array_equal(wine.data, X) and np.array_equal(wine.target, y)
    assert all(np.array_equal(a, b) for a, b in zip(load_wine(return_X_y=True), (X, y), strict=True))
    assert "Licence" in wine.DESCR


def test_numbers_words_and_missing_values(home):
    write(home / "mercer", "classic/cats.csv.gz", "Sex,Bwt,Hwt\nM,2,7\nF,NA,7.5\nM,3.5,\n")
    cats = load_r_data("cats", data_home=home)
    assert np.array_equal(cats.data, [[1, 2], [0, np.nan], [1, 3.5]], equal_nan=True)
    assert np.array_equal(cats.target, [7, 7.5, np.nan], equal_nan=True)
    assert cats.categories == {"Sex": ["F", "M"]} and cats.feature_names == ["Sex", "Bwt"]
    assert cats.target_names.tolist() == ["Hwt"]


def test_classes_several_targets_and_none(home):
    write(home / "mercer", "classic/crabs.csv.gz", "sp,FL\nO,1\nB,2\nO,3\n")
    crabs = load_r_data("crabs", data_home=home)
    assert crabs.target.tolist() == [1, 0, 1] and crabs.target.dtype.kind == "i"
    assert crabs.target_names.tolist() == ["B", "O"]
    write(home / "mercer", "splines/rat_diet.csv.gz", "t,con,trt\n0,20.5,21.3\n1,21,22\n")
    X, Y = load_r_data("rat_diet", data_home=home, return_X_y=True)
    assert X.tolist() == [[0], [1]] and Y.tolist() == [[20.5, 21.3], [21, 22]]
    write(home / "mercer", "splines/galaxies.csv.gz", "velocity\n9172\n")
    assert load_r_data("galaxies", data_home=home).target is None


def test_a_table_from_its_publisher_loses_the_names_of_rows(home, tmp_path, monkeypatch):
    (tmp_path / "Nile.csv").write_text('rownames,time,value\n"a, b",1871,1120\n2,1872,1160\n')
    monkeypatch.setattr(tables, "_RDATASETS", f"file://localhost{tmp_path}/Nile.csv")
    monkeypatch.setitem(tables._R_SHA256, "nile", None)
    assert not tables._r_file("nile").parts  # what has no checksum is not downloaded
    digest = sha256((tmp_path / "Nile.csv").read_bytes()).hexdigest()
    monkeypatch.setitem(tables._R_SHA256, "nile", digest)
    nile = load_r_data("nile", data_home=home)
    assert nile.data.tolist() == [[1871], [1872]] and nile.target.tolist() == [1120, 1160]
    assert nile.feature_names == ["year"] and nile.target_names.tolist() == ["flow"]
    with gzip.open(nile.filename, "rt", newline="") as file:
        assert next(csv.reader(file)) == ["year", "flow"]


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match=r"load_r_data: name = 'motor' is unknown.*'mcycle'"):
        load_r_data("motor")
    with pytest.raises(ValueError, match=r"load_uci_regression: name = 'x' is unknown.*'kin8nm'"):
        load_uci_regression("x")
    with pytest.raises(ValueError, match=r"load_anomaly: name = 'x' is unknown.*'cardio'"):
        load_anomaly("x")


@pytest.mark.parametrize("text", ["", "Hwt\n1,2\n", "Sex,Bwt\nF,1\n"])
def test_a_damaged_table_is_named(home, text):
    write(home / "mercer", "classic/cats.csv.gz", text)
    with pytest.raises(ValueError, match=r"load_r_data: .*cats\.csv\.gz is damaged"):
        load_r_data("cats", data_home=home)


@pytest.mark.parametrize("name", tables.R_TABLES)
def test_tables_of_r(data_dir, name):
    table = load_r_data(name)
    rows = {"mcycle": 133, "faithful": 272, "quakes": 1000, "boston": 506, "crabs": 200, "nile": 100, "trees": 31}
    n, p = table.data.shape
    assert n == rows.get(name, n) and p == len(table.feature_names) and n >= 20
    assert table.target is None or len(table.target) == n
    assert np.isnan(table.data).any() == (name == "airquality")
    assert name in table.DESCR and "Licence" in table.DESCR


def test_known_means_of_r_s_tables(data_dir):
    """As R's documentation and `summary` give them."""
    assert load_r_data("cars").target.mean() == pytest.approx(42.98)
    assert load_r_data("nile").target.mean() == pytest.approx(919.35)
    assert load_r_data("boston").target.mean() == pytest.approx(22.53, abs=0.005)
    assert np.isnan(load_r_data("airquality").target).sum() == 37
    assert np.bincount(load_r_data("crabs").target).tolist() == [100, 100]


@pytest.mark.parametrize("name", tables.REGRESSION)
def test_regression_problems(data_dir, name):
    problem = load_uci_regression(name)
    n, p = problem.data.shape
    assert problem.target.shape == (n,) and len(problem.feature_names) == p
    assert f"{n:,}" in problem.DESCR and "Licence" in problem.DESCR
    assert np.isfinite(problem.data).all() and np.isfinite(problem.target).all()
    if problem.test_mask is not None:
        assert problem.test_mask.shape == (n, 10) and 0 < problem.test_mask.mean() < 0.5


@pytest.mark.parametrize("name", tables.ANOMALY)
def test_problems_of_outliers(data_dir, name):
    problem = load_anomaly(name)
    assert set(problem.target) == {0, 1} and problem.target.mean() < 0.5
    assert len(problem.data) == len(problem.target) and "Licence" in problem.DESCR


def test_vowels(data_dir):
    everything, train, test = (load_vowel(subset=subset) for subset in ("all", "train", "test"))
    assert everything.data.shape == (990, 9) and len(train.data) == 528 and len(test.data) == 462
    assert np.bincount(everything.target).tolist() == [90] * 11
    assert np.bincount(everything.groups).tolist() == [66] * 15
    assert set(train.groups) == set(range(8)) and set(test.groups) == set(range(8, 15))
    assert everything.target_names[:2].tolist() == ["hid", "hId"]


def test_tables_of_pandas(home):
    pandas = pytest.importorskip("pandas")
    write(home / "mercer", "classic/cats.csv.gz", "Sex,Bwt,Hwt\nM,2,7\nF,NA,7.5\n")
    cats = load_r_data("cats", data_home=home, as_frame=True)
    assert cats.data.Sex.tolist() == ["M", "F"] and cats.data.Bwt.isna().tolist() == [False, True]
    assert isinstance(cats.target, pandas.Series) and cats.target.tolist() == [7, 7.5]
    assert cats.frame.columns.tolist() == ["Sex", "Bwt", "target"]
    write(home / "mercer", "splines/rat_diet.csv.gz", "t,con,trt\n0,20.5,21.3\n1,21,22\n")
    X, Y = load_r_data("rat_diet", data_home=home, return_X_y=True, as_frame=True)
    assert X.columns.tolist() == ["t"] and Y.columns.tolist() == ["con", "trt"]
    write(home / "mercer", "splines/galaxies.csv.gz", "velocity\n9172\n")
    galaxies = load_r_data("galaxies", data_home=home, as_frame=True)
    assert galaxies.target is None and galaxies.frame.equals(galaxies.data)
    assert load_wine(as_frame=True).frame.equals(sklearn.datasets.load_wine(as_frame=True).frame)


def test_every_table_as_a_frame(data_dir):
    pandas = pytest.importorskip("pandas")
    for load in (
        load_vowel,
        lambda **how: load_uci_regression("yacht", **how),
        lambda **how: load_anomaly("glass", **how),
    ):
        X, y = load(return_X_y=True, as_frame=True)
        plain = load()
        assert isinstance(X, pandas.DataFrame) and X.columns.tolist() == plain.feature_names and plain.frame is None
        assert np.array_equal(X, plain.data) and np.array_equal(y, plain.target)
