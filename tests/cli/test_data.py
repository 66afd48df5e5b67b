import bz2
import gc
import gzip
import os
import tracemalloc
from contextlib import suppress

import numpy as np
import pandas
import pytest

from mercer import _files
from mercer.cli._columns import DataError, conform, kind_of
from mercer.cli._data import read, read_blocks
from mercer.cli._text import sniff


def write(folder, name, content, encoding="utf-8"):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("commas.csv", "a,b\n1.5,x\n2.5,y\n", "utf-8"),
        ("semicolons.csv", "a;b\n1,5;x\n2,5;y\n", "utf-8"),
        ("tabs.tsv", "a\tb\n1.5\tx\n2.5\ty\n", "utf-8"),
        ("bars.txt", "a|b\n1.5|x\n2.5|y\n", "utf-8"),
        ("mark.csv", "a,b\n1.5,x\n2.5,y\n", "utf-8-sig"),
        ("wide.csv", "a,b\n1.5,x\n2.5,y\n", "utf-16"),
        ("windows.csv", "a,b\r\n1.5,x\r\n2.5,y\r\n", "utf-8"),
        ("blank.csv", "\na,b\n1.5,x\n\n2.5,y\n\n", "utf-8"),
        ("spaces.csv", "a, b\n1.5, x\n2.5, y\n", "utf-8"),
    ],
)
def test_text_tables_of_many_hands_are_one_table(tmp_path, name, text, encoding):
    frame = read(write(tmp_path, name, text, encoding)).X
    assert list(frame.columns) == ["a", "b"]
    made = conform(frame, {"a": kind_of(frame["a"]), "b": kind_of(frame["b"])}, name)
    assert made["a"].tolist() == [1.5, 2.5] and made["b"].tolist() == ["x", "y"]


def test_compressed_text(tmp_path):
    path = write(tmp_path, "a.csv.gz", gzip.compress(b"a,b\n1,2\n"))
    assert read(path).X.to_numpy().tolist() == [["1", "2"]]


def test_quoted_cells_hold_commas_and_lines(tmp_path):
    path = write(tmp_path, "a.csv", 'a,b\n"x, y","1\n2"\n"say ""no""",3\n')
    assert read(path).X.to_numpy().tolist() == [["x, y", "1\n2"], ['say "no"', "3"]]
    blocks = list(read_blocks(path, rows=1, columns={"a": "category", "b": "category"}))
    assert [block.to_numpy().tolist() for block in blocks] == [[["x, y", "1\n2"]], [['say "no"', "3"]]]


def test_a_first_line_of_numbers_is_no_header(tmp_path):
    path = write(tmp_path, "a.csv", "1,2\n3,4\n")
    assert list(read(path).X.columns) == ["1", "2"] and len(read(path).X) == 2
    assert "no header" in read(path).note


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("5.1,setosa\n4.9,setosa\n7.0,versicolor\n", ["1", "2"]),  # as the UCI repository has it
        ("e,x\np,y\ne,y\np,x\n", ["1", "2"]),
        ("?,x\n1,y\n2,x\n", ["1", "2"]),
        ("id,2019\n1,5\n2,6\n", ["id", "2019"]),
        (",a\n0,5\n1,6\n", ["column 1", "a"]),
        ("colour,size\nred,5\nblue,6\n", ["colour", "size"]),
    ],
)
def test_a_first_line_that_occurs_again_is_no_header(tmp_path, text, names):
    assert list(read(write(tmp_path, "a.csv", text)).X.columns) == names


def test_the_columns_of_a_model_tell_a_header(tmp_path):
    """One row without a header is a row to a model that learnt without one, and an error to others."""
    path = write(tmp_path, "a.csv", "5.1,setosa\n")
    columns = {"1": "number", "2": "category"}
    assert next(read_blocks(path, columns=columns)).to_numpy().tolist() == [[5.1, "setosa"]]
    with pytest.raises(DataError, match="does not have the column 'length'; it has '1', '2'"):
        next(read_blocks(path, columns={"length": "number"}))


def test_marks_within_cells_quote_nothing(tmp_path):
    """Inches; the lines after them are rows of their own, in blocks of their own."""
    path = write(tmp_path, "a.csv", 'a,b\n5" pipe,1\n"6"" pipe, long",2\nplain,3\n' + "x,4\n" * 6)
    blocks = list(read_blocks(path, 2, {"a": "category", "b": "number"}))
    assert [len(block) for block in blocks] == [2, 2, 2, 2, 1]
    assert [v for block in blocks for v in block["a"]] == ['5" pipe', '6" pipe, long', "plain", *["x"] * 6]


def test_one_column_with_decimal_commas(tmp_path):
    frame = read(write(tmp_path, "a.csv", "x\n1,5\n2,5\n")).X
    assert conform(frame, {"x": "number"}, "a.csv")["x"].tolist() == [1.5, 2.5]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "no rows below its header"),
        ("a,b\n1,2\n3\n", "line 3: 1 cells, but there are 2 columns"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 cells, but there are 2 columns"),
        ('a,b\n"x,y",2\n"p,q"\n', "line 3: 1 cells"),
        ("a,a\n1,2\n", "the column 'a' more than once"),
        ("a;b\n1,5;2.5\n1,5;2.5\n", "decimal points and with decimal commas"),
        ("a,b\n1,é\n".encode("latin-1"), r"is not utf-8 \(byte 0xe9\); name its encoding"),
        (b"a,b\n1,\x00\n", "zero bytes"),
        ("a,\x1b[2Jb\n1,2\n", r"control characters in the name of the column '\\x1b\[2Jb'; rename it"),
        ("a,b\x9b31m\n1,2\n", r"control characters in the name of the column 'b\\x9b31m'; rename it"),
        ('a,b\n1,2\n"3,4\n5,6\n', "line 3: a quoted cell is not closed"),
        ("a b c\n1 2 3\n", "only spaces between its columns"),
        (gzip.compress(b"a,b\n1,2\n", mtime=0), "is compressed; rename it to end in .gz"),
        (b"PK\x03\x04 and more", "a zip archive, like recent Excel files; export it as CSV"),
        (b"\xd0\xcf\x11\xe0 and more", "is a file of Excel; export it as CSV"),
    ],
)
def test_broken_text_is_named(tmp_path, content, says):
    with pytest.raises(DataError, match=says):
        read(write(tmp_path, "bad.csv", content))


@pytest.mark.parametrize("name", ["zeros.csv", "zeros.txt", "zeros.libsvm"])
def test_a_large_file_of_zeros_is_not_read_into_memory(tmp_path, name):
    path = write(tmp_path, name, "1 1:1\n" if name.endswith("libsvm") else "a,b\n1,2\n")
    os.truncate(path, 1 << 26)
    tracemalloc.start()
    try:
        for way in (
            read,
            lambda path: list(read_blocks(path, columns={"a": "number"})),
            lambda p: list(read_blocks(p)),
        ):
            with pytest.raises(ValueError, match=r"zero bytes|the model was fitted to"):
                way(path)
        assert tracemalloc.get_traced_memory()[1] < 3 << 24  # of which most are libraries
    finally:
        tracemalloc.stop()


def test_long_lines(tmp_path, monkeypatch):
    """They are read in pieces, which do not show."""
    rows = [f"{k},{'x' * k}" for k in range(1, 40)]
    for end in ("\n", "\r\n"):
        path = write(tmp_path, "a.csv", end.join(["n,text", *rows, ""]).encode())
        expected = read(path).X
        for piece in (7, 8, 9, 10):
            with monkeypatch.context() as patch:
                patch.setattr(_files, "PIECE", piece)
                assert read(path).X.equals(expected)


def test_indices_beyond_the_format(tmp_path):
    path = write(tmp_path, "a.libsvm", "1 99999999999:1\n")
    with pytest.raises(DataError, match=r"line 1: index 99999999999 is larger than .*a line is a label"):
        list(read_blocks(path, n_features=3))


def test_encoding_can_be_given(tmp_path):
    path = write(tmp_path, "a.csv", "a,b\n1,é\n", "latin-1")
    assert read(path, "latin-1").X["b"].tolist() == ["é"]
    for none in ("nonsense", "hex"):
        with pytest.raises(DataError, match=f"no encoding '{none}'"):
            read(path, none)
    with pytest.raises(DataError, match="is not utf-16"):
        read(path, "utf-16")
    path = write(tmp_path, "a.txt", "a,b\né,1\n", "latin-1")  # the format is guessed by the first line
    assert read(path, "latin-1").X["a"].tolist() == ["é"]
    with pytest.raises(DataError, match="is not utf-8"):
        read(path)


def test_truncated_compression_is_named(tmp_path):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    with pytest.raises(DataError, match="not a complete compressed file"):
        read(write(tmp_path, "a.csv.gz", whole[:-12]))
    with pytest.raises(DataError, match="not a complete compressed file"):
        read(write(tmp_path, "b.csv.gz", b"a,b\n1,2\n"))


@pytest.mark.parametrize(
    ("name", "says"), [("a.xlsx", "a file of Excel"), ("a.sav", "of SPSS"), ("a.mercer", "is a model, not data")]
)
def test_files_of_other_programs_are_named(tmp_path, name, says):
    with pytest.raises(DataError, match=says):
        read(write(tmp_path, name, "whatever"))


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)


def test_kinds():
    import pandas

    kinds = {
        "number": ["1", None, "2.5e3"],
        "date": ["2020-01-01", "2021-12-31T10:00", None],
        "category": ["1", "x", None],
        "empty": [None, None, None],
    }
    for kind, values in kinds.items():
        assert kind_of(pandas.Series(values, dtype="object")) == kind
    assert kind_of(pandas.Series([True, False])) == "category"


def test_dates_are_days_since_1970(tmp_path):
    frame = read(write(tmp_path, "a.csv", "d,e\n1970-01-02,1\n1971-01-01T12:00,2\n")).X
    assert conform(frame, {"d": "date"}, "a.csv")["d"].tolist() == [1.0, 365.5]


def test_missing_values_have_many_spellings(tmp_path):
    frame = read(write(tmp_path, "a.csv", "a,b\n1,x\nNA,?\n,\nNaN,null\n")).X
    made = conform(frame, {"a": "number", "b": "category"}, "a.csv")
    assert np.isnan(made["a"].to_numpy()).tolist() == [False, True, True, True]
    assert made["b"].tolist() == ["x", None, None, None]


def test_infinity_is_refused(tmp_path):
    frame = read(write(tmp_path, "a.csv", "a,b\n1,x\ninf,y\n")).X
    with pytest.raises(DataError, match="'a' contains infinity"):
        conform(frame, {"a": "number"}, "a.csv")


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
def test_blocks_are_the_whole(tmp_path, rows):
    path = write(tmp_path, "a.csv", "a;b;c\n" + "".join(f"{i},5;x{i};y\n" for i in range(7)))
    blocks = list(read_blocks(path, rows, {"b": "category", "a": "number"}))
    assert all(len(block) <= rows for block in blocks)
    assert [v for block in blocks for v in block["a"]] == [i + 0.5 for i in range(7)]
    assert list(blocks[0].columns) == ["b", "a"]


def test_blocks_name_what_is_wrong(tmp_path):
    path = write(tmp_path, "a.csv", "a,b\n1,2\n3,4\nfive,6\n")
    with pytest.raises(DataError, match="near line 4: 'five' in the column 'a'"):
        list(read_blocks(path, 2, {"a": "number"}))
    with pytest.raises(DataError, match="does not have the columns 'c', 'd'; it has 'a', 'b'"):
        list(read_blocks(path, 2, {"a": "number", "c": "number", "d": "number"}))
    with pytest.raises(DataError, match="fitted to a matrix"):
        list(read_blocks(path, 2, None, 2))


def test_what_is_no_date_or_number_is_quoted(tmp_path):
    frame = read(write(tmp_path, "a.csv", "a,b\n2020-12-31,1\n2020-13-31,1_000\n")).X
    with pytest.raises(DataError, match="'2020-13-31' in the column 'a' is not a date"):
        conform(frame, {"a": "date"}, "a.csv")
    assert kind_of(frame["b"]) == "category"
    with pytest.raises(DataError, match="'1_000' in the column 'b' is not a number"):
        conform(frame, {"b": "number"}, "a.csv")


def test_libsvm_lines_without_labels_are_explained(tmp_path):
    for text in ("1:2 2:3\n", "0 1:x\n"):
        with pytest.raises(DataError, match=r"a line is a label .* followed by pairs index:value"):
            list(read_blocks(write(tmp_path, "a.libsvm", text), 1, None, 3))


@pytest.mark.parametrize("word", ["1:1_0", "1:nan", "1:inf", "1:1e999", "2:1 1:1", "1_0:1", "1:0x1", "1"])
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=repr)
def test_blocks_are_read_by_the_rules_of_all_rows(tmp_path, word, ends):
    """Of numbers that only Python, or no one, means: 1_0 was 10, and NaN a value to predict from."""
    path = write(tmp_path, "a.libsvm", "".join(f"1 1:2{ends}" for _ in range(5)) + f"1 {word}{ends}")
    with pytest.raises(ValueError, match=r"a\.libsvm, line 6: ") as whole:
        read(path)
    with pytest.raises(DataError, match=r"a\.libsvm, line 6: .*; a line is a label") as blocks:
        list(read_blocks(path, 2, None, 3))
    assert str(blocks.value).startswith(str(whole.value).rstrip("."))


def test_a_refused_file_is_closed(tmp_path):
    """At once, not when the cycle of an error and its frame is collected."""
    path = write(tmp_path, "a.libsvm", "1 1:x\n" * 5)
    gc.collect()
    gc.disable()
    try:
        with suppress(DataError):
            list(read_blocks(path, 2, None, 3))
        assert gc.collect() == 0
    finally:
        gc.enable()


def test_indices_of_libsvm_beyond_those_of_training_are_ignored(tmp_path):
    """As in a1a and a1a.t, whose test file has features that no row of training has."""
    path = write(tmp_path, "a.t", "1 1:5 4:7\n-1 2:6\n")
    with pytest.warns(UserWarning, match="uses indices up to 3; larger ones are ignored"):
        (block,) = read_blocks(path, n_features=3)
    assert block.toarray().tolist() == [[5.0, 0.0, 0.0], [0.0, 6.0, 0.0]]
    (block,) = read_blocks(path, n_features=5)  # without a warning
    assert block.toarray()[0].tolist() == [5.0, 0.0, 0.0, 7.0, 0.0]


def test_a_row_of_gaps_is_a_row(tmp_path):
    """Whatever the separator; a prediction belongs to each."""
    for separator in (",", ";", "\t", "|"):
        text = f"a{separator}b\n1{separator}2\n{separator}\n\n3{separator}4\n"
        path = write(tmp_path, "a.csv", text)
        (block,) = read_blocks(path, columns={"a": "number", "b": "number"})
        assert block.fillna(-1).to_numpy().tolist() == [[1, 2], [-1, -1], [3, 4]]
        assert len(read(path).X) == 3


def test_cells_may_be_long(tmp_path):
    long = "word " * 60_000
    frame = read(write(tmp_path, "a.csv", f'a,text\n1,"{long}"\n2,short\n')).X
    assert frame["text"].tolist() == [long.strip(), "short"]


def test_truth_is_written_in_many_ways():
    made = [conform(pandas.DataFrame({"a": a}), {"a": "category"}, "t") for a in (["TRUE", "False"], [True, False])]
    assert made[0].equals(made[1])


def test_codes_with_gaps_in_parquet_are_those_of_text(tmp_path):
    polars = pytest.importorskip("polars")
    polars.DataFrame({"code": [7, None, 8]}).write_parquet(tmp_path / "a.parquet")
    write(tmp_path, "a.csv", "code,b\n7,1\n,1\n8,1\n")
    found = [next(read_blocks(tmp_path / f"a.{e}", 5, {"code": "category"})) for e in ("parquet", "csv")]
    assert found[0].equals(found[1]) and found[0]["code"].tolist() == ["7", None, "8"]
    assert kind_of(read(tmp_path / "a.parquet").X["code"]) == "number"


def test_libsvm_by_ending_and_by_content(tmp_path):
    text = "1 1:0.5 3:2\n-1 2:1\n"
    for name in ("a.libsvm", "a.txt", "heart"):
        found = read(write(tmp_path, name, text))
        assert found.y.tolist() == [1, -1]
        dense = found.X.toarray() if hasattr(found.X, "nnz") else found.X
        assert dense.tolist() == [[0.5, 0, 2], [0, 1, 0]]
        blocks = list(read_blocks(tmp_path / name, 1, None, 3))
        assert [block.toarray().tolist() for block in blocks] == [[[0.5, 0, 2]], [[0, 1, 0]]]


def test_blocks_of_blank_lines_and_comments_are_none(tmp_path):
    path = write(tmp_path, "a.libsvm", "1 1:2\n-1 1:3\n\n# the end\n")
    assert [block.shape for block in read_blocks(path, 2, None, 1)] == [(2, 1)]


def test_numpy(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
    np.savez(tmp_path / "a.npz", X=X, y=y)
    np.save(tmp_path / "a.npy", X)
    assert (read(tmp_path / "a.npz").X == X).all() and (read(tmp_path / "a.npz").y == y).all()
    for name in ("a.npz", "a.npy"):
        assert np.concatenate(list(read_blocks(tmp_path / name, 2, None, 2))).tolist() == X.tolist()
        with pytest.raises(DataError, match="expects 5 columns"):
            list(read_blocks(tmp_path / name, 2, None, 5))
    np.savez(tmp_path / "b.npz", Z=X)
    with pytest.raises(DataError, match="it must have X"):
        read(tmp_path / "b.npz")
    write(tmp_path, "c.npy", "nothing of the kind")
    with pytest.raises(DataError, match="not a NumPy file; its first bytes are wrong"):  # and nothing about pickles
        read(tmp_path / "c.npy")
    np.save(tmp_path / "d.npy", np.array([["a", "b"]]))
    for reading in (read, lambda path: next(read_blocks(path, 2, None, 2))):
        with pytest.raises(DataError, match="type <U1; a matrix of numbers is expected"):
            reading(tmp_path / "d.npy")


def test_labels_of_bytes_are_text(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.ones((2, 2)), y=np.array([b"a", b"\xff"]))
    assert read(tmp_path / "a.npz").y.tolist() == ["a", "\\xff"]


@pytest.mark.parametrize("kind", [[("a", int)], complex, "m8[s]"], ids=str)
def test_targets_of_other_types(tmp_path, kind):
    np.savez(tmp_path / "a.npz", X=np.ones((3, 2)), y=np.zeros(3, kind))
    with pytest.raises(DataError, match=r"a\.npz: y has type .*; numbers, text or dates are expected"):
        read(tmp_path / "a.npz")


def test_parquet(tmp_path):
    polars = pytest.importorskip("polars")
    from datetime import date

    rows = {"a": [1.5, None, 3.0], "b": ["x", None, "y"], "d": [date(1970, 1, 2)] * 3, "t": [True, False, True]}
    polars.DataFrame(rows).write_parquet(tmp_path / "a.parquet")
    kinds = {"l": [[1, 2], None, []], "s": [{"x": 1}, {"x": 2}, None], "c": ["u", "v", None]}
    nested = polars.DataFrame(kinds, schema_overrides={"c": polars.Categorical})
    nested.write_parquet(tmp_path / "nested.parquet")
    found = read(tmp_path / "nested.parquet").X
    assert found.fillna("").to_numpy().T.tolist() == [
        ["[1, 2]", "", "[]"],
        ["{'x': 1}", "{'x': 2}", ""],
        ["u", "v", ""],
    ]
    frame = read(tmp_path / "a.parquet").X
    kinds = {c: kind_of(frame[c]) for c in frame.columns}
    assert kinds == {"a": "number", "b": "category", "d": "date", "t": "category"}
    blocks = list(read_blocks(tmp_path / "a.parquet", 2, kinds))
    assert [len(block) for block in blocks] == [2, 1]
    assert blocks[0]["b"].tolist() == ["x", None] and blocks[0]["t"].tolist() == ["true", "false"]
    assert blocks[1]["d"].tolist() == [1.0] and np.isnan(blocks[0]["a"][1])
    write(tmp_path, "b.parquet", "nothing of the kind")
    with pytest.raises(DataError, match="not a Parquet file"):
        read(tmp_path / "b.parquet")


@pytest.mark.parametrize("error", ["ComputeError", "PanicException"])
def test_damaged_parquet_is_said_in_one_sentence(tmp_path, monkeypatch, error):
    """Behind a sound footer; polars panics on some damage, and a panic is no Exception."""
    polars = pytest.importorskip("polars")
    polars.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "a.parquet")

    def collect(*_, **__):
        raise getattr(polars.exceptions, error)("page header\nand more")

    monkeypatch.setattr(polars.LazyFrame, "collect", collect)
    with pytest.raises(DataError, match=r"a\.parquet is not a Parquet file, or is damaged \(page header\)\."):
        read(tmp_path / "a.parquet")


def test_bytes_and_durations_of_parquet(tmp_path):
    polars = pytest.importorskip("polars")
    from datetime import timedelta

    columns = {"bytes": [b"a", b"\xff", None], "took": [timedelta(hours=36), None, timedelta(days=-2)]}
    polars.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
    frame = read(tmp_path / "a.parquet").X
    assert frame["bytes"].fillna("").tolist() == ["a", "\\xff", ""]
    assert kind_of(frame["took"]) == "number" and frame["took"].fillna(0).tolist() == [1.5, 0.0, -2.0]


def test_long_durations_and_wide_integers_of_parquet(tmp_path):
    polars = pytest.importorskip("polars")
    for unit, ticks in (("ms", 10**3), ("us", 10**6), ("ns", 10**9)):
        took = polars.Series([2**62, None, 86_400 * ticks], dtype=polars.Int64).cast(polars.Duration(unit))
        polars.DataFrame({"took": took}).write_parquet(tmp_path / "a.parquet")
        assert read(tmp_path / "a.parquet").X["took"].fillna(0).tolist() == [2**62 / (86_400 * ticks), 0.0, 1.0]
    wide = polars.Series([2**100], dtype=polars.Int128) if hasattr(polars, "Int128") else None
    if wide is not None:
        polars.DataFrame({"wide": wide}).write_parquet(tmp_path / "a.parquet")
        with pytest.raises(DataError, match=r"a\.parquet: the column 'wide' of type Int128 cannot be read"):
            read(tmp_path / "a.parquet")


def test_names_are_no_patterns(tmp_path):
    polars = pytest.importorskip("polars")
    for name, value in (("d1", 1), ("d[1]", 2), ("d?", 3)):
        polars.DataFrame({"a": [value]}).write_parquet(tmp_path / f"{name}.parquet")
    for name, value in (("d1", 1), ("d[1]", 2), ("d?", 3)):
        assert read(tmp_path / f"{name}.parquet").X["a"].tolist() == [value]
        (block,) = read_blocks(tmp_path / f"{name}.parquet", 5, {"a": "number"})
        assert block["a"].tolist() == [value]


@pytest.mark.parametrize("kind", ["numbers", "text", "categories", "lists"])
def test_parquet_that_unpacks_to_more_than_it_is(tmp_path, monkeypatch, kind):
    """Equal values take no room in a file, more or less of it by the version of polars; in memory each is counted."""
    polars = pytest.importorskip("polars")
    monkeypatch.setattr(_files, "ROOM", 1 << 20)
    monkeypatch.setattr(_files, "PACKED", 10)
    columns = {
        "numbers": polars.repeat(1.0, 300_000, eager=True),
        "text": polars.Series(["x" * 10_000] * 200),
        "categories": polars.Series(["x" * 10_000] * 200, dtype=polars.Categorical),
        "lists": polars.Series([[1.0] * 10_000] * 20),
    }
    polars.DataFrame({"a": columns[kind]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet has .* MB but would unpack to 0\.00.* GB .* export it as CSV"):
        read(tmp_path / "a.parquet")
    if kind == "numbers":  # of which a block is held at once
        assert sum(len(block) for block in read_blocks(tmp_path / "a.parquet", columns={"a": "number"})) == 300_000


@pytest.mark.parametrize("name", ["a.csv.gz", "a.libsvm.gz", "a.libsvm.bz2"])
def test_compressed_text_that_unpacks_to_more_than_it_is(tmp_path, monkeypatch, name):
    monkeypatch.setattr(_files, "ROOM", 1 << 20)
    compress = bz2.compress if name.endswith("bz2") else gzip.compress
    path = write(tmp_path, name, compress(b"1,2\n" * 500_000 if "csv" in name else b"1 1:1\n" * 500_000))
    with pytest.raises(ValueError, match=r"has .* MB but would unpack to .* GB or more; .* unpack it first"):
        read(path)
    monkeypatch.undo()
    assert read(path).X.shape[0] == 500_000


@pytest.mark.parametrize(
    "command",
    [
        ("fit", "w.libsvm"),
        ("outliers", "w.libsvm"),
        ("cluster", "w.libsvm"),
        ("kpca", "w.libsvm"),
        ("compare", "w.libsvm"),
        ("grid", "w.libsvm"),
        ("two-sample", "w.libsvm", "w.libsvm"),
        ("convert", "w.libsvm", "o.libsvm", "--scale", "0,1"),
        ("convert", "w.libsvm", "o.libsvm", "--range", "w.range"),
    ],
    ids=" ".join,
)
def test_a_few_rows_of_endless_columns(folder, mercer, command):
    """Their largest index is the number of columns, for each of which a scaler keeps numbers."""
    write(folder, "w.libsvm", "1 1:1 2147483647:1\n0 2:1\n" * 6)
    write(folder, "w.range", "x\n0 1\n1 0 1\n")
    done = mercer(*command)
    assert done.code == 1
    assert "2147483647" in done.err and "number only the features that occur" in " ".join(done.err.split())
    assert mercer("convert", "w.libsvm", "half.libsvm", "--subset", "6").code == 0


def test_sniffing_prefers_the_separator_on_which_lines_agree(tmp_path):
    path = write(tmp_path, "a.csv", "a;b;c\nx, y;1;2\nz;3;4\n")
    assert sniff(path).separator == ";" and sniff(path).names == ["a", "b", "c"]
