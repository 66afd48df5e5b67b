import dataclasses
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelRidge
from mercer.cli import _guess, _sample, _tune
from mercer.cli._columns import DataError
from mercer.cli._data import Data
from mercer.cli._guess import plan
from mercer.cli._sample import prepare
from mercer.gram import Nystrom

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "command_line.md"


def table(**columns):
    return Data(pandas.DataFrame(columns).astype(object), None, "")


def rows(n, values):
    return [values[i % len(values)] for i in range(n)]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (rows(40, ["a", "b"]), "classification"),
        (rows(40, ["true", "false"]), "classification"),
        (rows(40, ["0", "1", "2"]), "classification"),
        (rows(100, [str(k) for k in range(20)]), "classification"),
        (rows(105, [str(k) for k in range(21)]), "regression"),
        (rows(99, [str(k) for k in range(20)]), "regression"),
        (rows(6, ["0", "1"]), "classification"),
        (rows(6, ["0", "1", "2"]), "regression"),
        (rows(40, ["0.5", "1"]), "regression"),
        ([str(k) for k in range(40)], "regression"),
    ],
)
def test_task(y, task):
    x = [str(v) for v in np.random.default_rng(0).normal(size=len(y))]
    assert prepare(table(x=x, y=y), "t.csv", "y").task == task


def test_task_can_be_said():
    x = [str(0.5 * i * i) for i in range(40)]
    assert prepare(table(x=x, y=rows(40, ["0", "1"])), "t.csv", "y", "regression").task == "regression"
    with pytest.raises(DataError, match=r"is 40 numbers such as 0\.0, not classes"):
        prepare(table(x=rows(40, ["0", "1"]), y=x), "t.csv", "y", "classification")
    with pytest.raises(DataError, match="is text, such as a;"):
        prepare(table(x=x, y=rows(40, ["a", "b"])), "t.csv", "y", "regression")


def test_columns():
    n = 40
    data = table(
        number=[str(0.1 * i * i) for i in range(n)],
        whole=rows(n, ["1", "2", "5"]),
        label=rows(n, ["x", "y"]),
        date=[f"2020-01-{1 + i % 28:02d}" for i in range(n)],
        name=[f"n{i}" for i in range(n)],
        row=[str(i + 1) for i in range(n)],
        row_id=[str(i + 892) for i in range(n)],
        year=[str(i + 1980) for i in range(n)],
        same=["1"] * n,
        nothing=[None] * n,
        unwanted=rows(n, ["1", "9"]),
        y=rows(n, ["a", "b"]),
    )
    sample = prepare(data, "t.csv", "y", drop=("unwanted",), categories=("whole",))
    assert sample.columns == {
        "number": "number",
        "whole": "category",
        "label": "category",
        "date": "date",
        "year": "number",
    }
    assert sample.notes == [
        "year increases by one from row to row; use --drop if it numbers the rows",
        "'date' contains dates; random folds test between the training dates, not after them",
    ]
    assert sample.left_out == {
        "name": "is text that differs from row to row, such as 'n0'",
        "row": "counts the rows",
        "row_id": "counts the rows",
        "same": "is constant",
        "nothing": "has no values",
        "unwanted": "by --drop",
    }


def test_the_number_of_the_row_is_used_where_there_is_nothing_else():
    counted = [str(i) for i in range(40)]
    sample = prepare(table(t=counted, y=[str(0.5 * i * i) for i in range(40)]), "t.csv", "y")
    assert sample.columns == {"t": "number"} and sample.left_out == {}
    assert sample.notes == ["t counts the rows, but is kept because there is no other column"]


@pytest.mark.parametrize(
    ("name", "remarked"), [("id", True), ("user_id", True), ("userId", True), ("Kunde ID", True), ("paid", False)]
)
def test_numbers_that_may_be_identifiers_are_remarked(name, remarked):
    numbers = [str(i * i) for i in range(40)]
    sample = prepare(table(**{name: numbers}, y=rows(40, ["a", "b"])), "t.csv", "y")
    assert sample.columns == {name: "number"} and len(sample.notes) == remarked
    few = prepare(table(**{name: rows(40, ["1", "2", "4"])}, y=rows(40, ["a", "b"])), "t.csv", "y")
    assert few.notes == []


def test_constant_with_gaps_is_kept():
    sample = prepare(table(x=rows(40, ["1", None]), y=rows(40, ["a", "b"])), "t.csv", "y")
    assert sample.columns == {"x": "number"}


def test_rows_without_target_are_left_out():
    x = [str(i * i) for i in range(40)]
    sample = prepare(table(x=x, y=[None, *rows(39, ["a", "b"])]), "t.csv", "y")
    assert sample.n == 39 and sample.X[0, 0] == 1.0 and "1 row without a target was" in sample.notes[0]


@pytest.mark.parametrize(
    ("y", "says"),
    [
        (["a"] * 40, "is a in every row"),
        (["2.5"] * 40, "2.5 in every row"),
        ([None] * 40, "no value in any row"),
        (["a"] * 39 + ["b"], "class b of 'y' has one row"),
    ],
)
def test_targets_that_teach_nothing(y, says):
    with pytest.raises(DataError, match=says):
        prepare(table(x=[str(i * i) for i in range(40)], y=y), "t.csv", "y")


def test_numbers_with_units_are_named():
    n = 40
    prices = [f"€{i}.50" for i in range(n)]
    with pytest.raises(DataError, match=r"such as '€0\.50'; write numbers without units"):
        prepare(table(x=[str(i * i) for i in range(n)], y=prices), "t.csv", "y")
    mixed = ["12", "broken", *map(str, range(100, 138))]
    sample = prepare(
        table(mixed=mixed, few=["old", *rows(n - 1, ["1", "2", "9"])], y=rows(n, ["a", "b"])), "t.csv", "y"
    )
    assert "such as 'broken'" in sample.left_out["mixed"]
    assert sample.columns == {"few": "category"} and "because of 'old'" in sample.notes[0]


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (["31.12.2025", "01.02.2026"], "write dates as 2026-01-31"),
        (["12/31/2025", "2/1/2026 10:00"], "write dates as 2026-01-31"),
        (["12%", "5%"], "write numbers without"),
        (["€1.5", "€2"], "write numbers without"),
        (["1,234", "2,000"], "write numbers without"),
        (["1st", "2nd"], None),
        (["5+", "a-b"], None),
    ],
)
def test_other_notations_are_remarked(cells, says):
    n = 40
    sample = prepare(table(a=rows(n, cells), b=[f"{cells[0]} {i}" for i in range(n)], y=rows(n, "pq")), "t.csv", "y")
    assert sample.columns == {"a": "category"}
    assert [says in note for note in sample.notes] == ([True] if says else [])


def test_integers_that_no_float_holds_are_classes():
    n = 40
    labels = [str(10**17 + k % 3) for k in range(n)]
    data = table(x=[str(i * i) for i in range(n)], y=labels)
    assert len({float(label) for label in labels}) == 1
    sample = prepare(data, "t.csv", "y")
    assert sample.task == "classification" and sample.y.tolist() == labels


def test_r_squared_has_one_variance_for_all_folds():
    """The mean over equal folds is that of the predictions held out; folds of two rows have variances near 0."""
    from sklearn.metrics import r2_score
    from sklearn.model_selection import cross_val_predict

    from mercer.cli._output import Output

    rng = np.random.default_rng(0)
    x = rng.normal(size=20)
    y = x + 0.1 * rng.normal(size=20)
    sample = prepare(table(x=list(map(str, x)), y=list(map(str, y))), "t.csv", "y")
    made = plan(sample)
    found = _tune.judge(made, {}, Output(as_json=True, quiet=True))
    folds = _tune.folds(sample, sample.y, seed=1, most=10)
    for name, model in (("ridge", made.whole(made.estimator)), ("mean", _guess.trivial_baseline(sample))):
        assert len(found.scores[name]) == 10
        held_out = cross_val_predict(model, sample.X, sample.y, cv=folds)
        assert found.scores[name].mean() == pytest.approx(r2_score(sample.y, held_out))
    assert -0.5 < found.scores["mean"].mean() < 0


def test_labels_keep_their_spelling():
    labels = rows(40, ["TRUE", "FALSE"])
    assert prepare(table(x=[str(i * i) for i in range(40)], y=labels), "t.csv", "y").y.tolist() == labels


def test_codes_as_targets():
    data = table(x=[str(i * i) for i in range(40)], y=rows(40, [str(0.5 * k) for k in range(8)]))
    assert prepare(data, "t.csv", "y").task == "regression"
    for sample in (
        prepare(data, "t.csv", "y", categories=("y",)),
        prepare(data, "t.csv", "y", "classification"),
    ):
        assert sample.task == "classification" and {*sample.y.tolist()} == {str(0.5 * k) for k in range(8)}


def test_dates_as_classes():
    days = rows(40, ["2020-01-01", "2020-01-02"])
    sample = prepare(table(x=[str(i * i) for i in range(40)], y=days), "t.csv", "y", "classification")
    assert sample.y.tolist() == days


def test_a_column_that_colours_keeps_its_rows():
    data = table(x=[str(i * i) for i in range(40)], c=rows(40, ["a", None]))
    assert prepare(data, "t.csv", "c", supervised=False).n == 40


def test_the_only_column_is_the_target():
    with pytest.raises(DataError, match="'y' is the only one"):
        prepare(table(y=rows(40, ["a", "b"])), "t.csv", "y")


def test_no_columns_left():
    with pytest.raises(DataError, match="no column to learn from: x is constant"):
        prepare(table(x=["1"] * 40, y=rows(40, ["a", "b"])), "t.csv", "y")


def test_numbers_without_gaps_are_a_standardised_matrix():
    rng = np.random.default_rng(0)
    X = rng.normal(3, [1, 100], size=(50, 2))
    sample = prepare(table(a=X[:, 0], b=X[:, 1], y=rows(50, ["p", "q"])), "t.csv", "y")
    made = plan(sample)
    assert made.method == "svc" and made.kernel.startswith("gaussian")
    np.testing.assert_allclose(made.scaler.fit_transform(sample.X), StandardScaler().fit_transform(X))
    # scikit-learn's gamma="scale" is 1/(d·variance), which is 1/(2·lengthscale²) here: d = 2, variance 1
    np.testing.assert_allclose(made.estimator.kernel.lengthscale, 1.0)
    drop_in = SVC(gamma="scale").fit(StandardScaler().fit_transform(X), sample.y).kernel_
    np.testing.assert_allclose(drop_in.lengthscale, 1.0)


@pytest.mark.parametrize("columns", [{"a": ["x", "y"]}, {"a": ["1", "2", None, "7"]}])
def test_labels_or_gaps_ask_for_the_table_kernel(columns):
    columns = {c: rows(40, v) for c, v in columns.items()}
    made = plan(prepare(table(**columns, y=rows(40, ["p", "p", "q"])), "t.csv", "y"))
    assert made.scaler is None and made.kernel == "table"
    assert {tuple(part["kernel__width"]) for part in made.grid} == {(w,) for w in _guess.WIDTHS}


def test_kernels_keep_what_they_write():
    sample = prepare(table(a=[str(i * i) for i in range(40)], y=rows(40, ["p", "q"])), "t.csv", "y")
    free = plan(sample, kernel="gaussian + 0.1*linear").grid
    assert all("kernel__0__lengthscale" in part for part in free) and len(free) == len(_guess.WIDTHS)
    written = plan(sample, kernel="gaussian(lengthscale=3.5)")
    assert [set(part) for part in written.grid] == [{"C"}] and written.estimator.kernel.lengthscale == 3.5


def test_methods_by_task():
    sample = prepare(table(a=[str(i * i) for i in range(40)], y=rows(40, ["p", "q"])), "t.csv", "y")
    for method, kind in _guess.METHODS["classification"].items():
        assert isinstance(plan(sample, method).estimator, kind)
    with pytest.raises(DataError, match="--method svr is not available for classification; choose one of svc"):
        plan(sample, "svr")


def test_large_samples_are_approximated(monkeypatch):
    monkeypatch.setattr(_guess, "TUNED_OTHERS", 20)
    y = [str(0.3 * i * i) for i in range(40)]
    sample = prepare(table(a=[str(np.sin(i)) for i in range(40)], y=y), "t.csv", "y")
    made = plan(sample)
    tuned_on = clone(made.estimator).fit(made.scaled, made.part[1])  # it chooses alpha on twenty rows
    exact = made.for_all_rows(made.chosen({}))
    assert type(exact) is KernelRidge and exact.alpha == tuned_on.alpha and exact.gram == "auto"
    monkeypatch.setattr(_guess, "EXACT_RIDGE", 30)
    rough = plan(sample).for_all_rows(made.chosen({}))
    assert isinstance(rough.gram, Nystrom) and rough.gram.rank == _guess.RANK


@pytest.mark.parametrize(("task", "method"), [(t, m) for t, methods in _guess.METHODS.items() for m in methods])
def test_every_method_has_an_approximation_that_fits(monkeypatch, task, method):
    monkeypatch.setattr(_guess, "RANK", 15)
    y = rows(40, ["p", "q", "r"]) if task == "classification" else [str(np.cos(i)) for i in range(40)]
    sample = prepare(table(a=[str(np.sin(i)) for i in range(40)], y=y), "t.csv", "y")
    made = dataclasses.replace(plan(sample, method), exact=30)
    whole = made.whole(made.for_all_rows(made.estimator)).fit(sample.X, sample.y)
    assert whole[-1].gram.rank == 15 and len(whole.predict(sample.X)) == 40


@pytest.mark.parametrize(("task", "method"), [(t, m) for t, methods in _guess.METHODS.items() for m in methods])
def test_every_method_fits_with_what_is_tried(task, method):
    """The alpha of some names a criterion, and a number in its place would end the search."""
    y = rows(40, ["p", "q"]) if task == "classification" else [str(np.cos(i)) for i in range(40)]
    sample = prepare(table(a=[str(np.sin(i)) for i in range(40)], y=y), "t.csv", "y")
    made = plan(sample, method)
    for params in made.grid[:2]:
        chosen = made.chosen({name: values[0] for name, values in params.items()})
        assert len(made.whole(chosen).fit(sample.X, sample.y).predict(sample.X)) == 40


def test_some_rows_keep_the_shares_of_classes():
    sample = prepare(table(a=[str(i * i) for i in range(80)], y=rows(80, ["p", "p", "p", "q"])), "t.csv", "y")
    X, y = sample.some(20)
    assert len(X) == 20 and (y == "q").sum() == 5
    assert len(sample.some(79)[1]) == 79  # where fewer rows are left than there are classes


def test_some_rows_hold_two_of_each_class():
    """Which folds need, also of a class whose share is less than one row."""
    y = ["rare", "rare", *rows(198, ["p", "q"])]
    sample = prepare(table(a=[str(i * i) for i in range(200)], y=y), "t.csv", "y")
    _, labels = sample.some(20)
    assert {name: (labels == name).sum() for name in ("rare", "p", "q")} == {"rare": 2, "p": 9, "q": 9}


@pytest.mark.parametrize("method", ["svr", "median"])
def test_the_unit_of_the_target_does_not_matter(method):
    """Powers of two change no digit: what is learnt is the same function, in the other unit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    found = []
    for unit in (1.0, 2.0**-30):
        sample = prepare(Data(X, y * unit, ""), "t.npz", None)
        made = plan(sample, method)
        tenfold = {name: values[1] for name, values in made.grid[0].items() if name in ("C", "alpha")}
        found.append([made.whole(made.chosen(p)).fit(sample.X, sample.y).predict(X) / unit for p in ({}, tenfold)])
    assert np.abs(np.subtract(*found)).max() < 0.02 * y.std()
    assert np.mean(np.square(y - found[0][1])) < 0.2 * y.var()


def test_dates_are_judged_among_themselves():
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(40)]
    data = table(since=days, a=[str(i * i) for i in range(40)], y=rows(40, ["p", "q"]))
    assert any("'since' contains dates" in note for note in prepare(data, "t.csv", "y").notes)
    assert prepare(data, "t.csv", "y", drop=("since",)).notes == []
    assert prepare(data, "t.csv", "y", supervised=False).notes == []


PHRASES = {
    "CLASSES": "at most {:,} with at least",
    "REPEATS": "at least {:,} rows for each",
    "FEW": "from {:,} rows on",
    "EXACT_OTHERS": "beyond {:,} rows",
    "EXACT_RIDGE": "beyond {:,} rows",
    "TUNED_OTHERS": "| {:,} and",
    "JUDGED_OTHERS": "and {:,} rows |",
    "RANK": "{:,} landmarks",
}


@pytest.mark.parametrize("constant", PHRASES)
def test_the_guide_tells_the_numbers_of_the_rules(constant):
    text = " ".join(GUIDE.read_text(encoding="utf-8").split())
    assert PHRASES[constant].format(getattr(_guess, constant, None) or getattr(_sample, constant)) in text
    for method in ("svc", "svr"):
        assert f"beyond {_guess.EXACT[method]:,} rows" in text
        tuned = _guess.TUNED_ROWS.get(method, _guess.TUNED_OTHERS)
        assert f"{tuned:,} and {_guess.JUDGED_ROWS[method]:,} rows" in text
