"""Tables against their columns, one by one; what is missing against the mean embedding by hand."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import mercer
from mercer.kernels import PD, UNKNOWN, Delta, Gaussian, Hamming, Linear, Power, parse
from mercer.kernels.tables import OBSERVED, Table
from mercer.kernels.text import BagOfWords

rng = np.random.default_rng(4)
N = 30
TABLE = {
    "age": rng.normal(40, 10, N),
    "size": rng.normal(size=N),
    "city": rng.choice(["Bern", "Oslo", "Rome"], N),
    "job": rng.choice(["cook", "smith"], N),
    "note": [" ".join(rng.choice(["red", "blue", "green"], 3)) for _ in range(N)],
}
PARTS = {"age": Gaussian(9.0), ("city", "job"): Delta(), "note": BagOfWords()}
BLOCKS = [
    Gaussian(9.0)(TABLE["age"][:, None]),
    Delta()(np.column_stack([TABLE["city"], TABLE["job"]])),
    BagOfWords()(TABLE["note"]),
]


def hollow(**places):
    """The table with some values missing."""
    table = {c: np.array(values, dtype=object) for c, values in TABLE.items()}
    for column, rows in places.items():
        table[column][rows] = None
    return table


def test_the_three_ways_to_combine():
    a, b, c = BLOCKS
    np.testing.assert_allclose(Table(PARTS, "sum")(TABLE), a + b + c, rtol=1e-13)
    np.testing.assert_allclose(Table(PARTS, "product")(TABLE), a * b * c, rtol=1e-13)
    expected = (1 + a + b + c + a * b + a * c + b * c + a * b * c) / 8
    np.testing.assert_allclose(Table(PARTS, "interactions")(TABLE), expected, rtol=1e-13)
    np.testing.assert_allclose(Table(PARTS)(TABLE), expected, rtol=1e-13)
    np.testing.assert_allclose(Table(PARTS).diag(TABLE), np.diagonal(expected), rtol=1e-13)


def test_several_numbers_in_one_group():
    k = Table({("age", "size"): Gaussian(np.array([9.0, 2.0]))}, "product")
    X = np.column_stack([TABLE["age"], TABLE["size"]])
    np.testing.assert_allclose(k(TABLE), Gaussian(np.array([9.0, 2.0]))(X), rtol=1e-12)


def test_a_missing_value_is_the_mean_of_the_observed():
    table = hollow(age=[3, 7], city=[7])
    k = Table({"age": Gaussian(9.0), "city": Delta()}, "sum").resolve(table)
    age, city = TABLE["age"], TABLE["city"]
    seen = np.delete(np.arange(N), [3, 7])
    G, D = Gaussian(9.0)(age[:, None]), Delta()(city)
    G[[3, 7], :] = Gaussian(9.0)(age[seen][:, None], age[:, None]).mean(axis=0)
    G[:, [3, 7]] = G[[3, 7], :].T
    G[np.ix_([3, 7], [3, 7])] = Gaussian(9.0)(age[seen][:, None]).mean()
    known = np.delete(np.arange(N), 7)
    frequency = {c: np.mean(city[known] == c) for c in set(city)}
    D[7, :] = D[:, 7] = [frequency[c] for c in city]
    D[7, 7] = sum(f**2 for f in frequency.values())
    np.testing.assert_allclose(k(table), G + D, rtol=1e-12)
    np.testing.assert_allclose(k.diag(table), np.diagonal(G + D), rtol=1e-12)
    against_oslo = np.where(np.arange(N) == 7, frequency["Oslo"], city == "Oslo")
    np.testing.assert_allclose(k({"age": [None], "city": ["Oslo"]}, table), [G[3] + against_oslo], rtol=1e-12)


def test_a_missing_value_that_matches_itself_alone():
    table = hollow(age=[3, 7])
    K = Table({"age": Gaussian(9.0)}, "sum", "match")(table)
    assert K[3, 7] == K[7, 7] == 1.0 and not K[3, [0, 1, 2]].any()
    np.testing.assert_array_equal(K[:3, :3], BLOCKS[0][:3, :3])


@pytest.mark.parametrize("missing", ["mean", "match"])
@pytest.mark.parametrize("combine", ["sum", "product", "interactions"])
def test_it_stays_positive_definite_with_missing_values(missing, combine):
    table = hollow(age=[0, 1, 2, 3], city=[2, 3, 4, 5], note=[9])
    k = Table(PARTS, combine, missing).resolve(table)
    assert k.definiteness == PD
    report = k.check(table)
    assert report.ok


def test_a_column_of_nothing_but_missing_values_at_prediction():
    k = Table({"age": Gaussian(9.0)}, "sum").resolve(TABLE)
    expected = Gaussian(9.0)(TABLE["age"][:, None]).mean(axis=0)
    np.testing.assert_allclose(k({"age": [None, np.nan]}, TABLE), [expected, expected], rtol=1e-12)


def test_large_samples_are_thinned():
    x = rng.normal(size=5 * OBSERVED)
    k = Table({"x": Gaussian()}).resolve({"x": x})
    assert len(k.observed["x"]) == OBSERVED


def test_the_automatic_choice():
    table = TABLE | {"when": np.datetime64("2020-01-01") + np.arange(N), "same": ["x"] * N, "none": [None] * N}
    k = Table().resolve(table)
    assert list(k.kernels) == ["age", "size", "city", "job", "note", "when"] and k.combine == "product"
    assert k.kernels["age"] == Gaussian(float(np.std(TABLE["age"]) * np.sqrt(1.5)))
    numbers = np.column_stack([TABLE["age"], TABLE["size"], np.arange(N)])
    d2 = (((numbers[:, None] - numbers) / numbers.std(axis=0)) ** 2).sum(axis=2)
    labels = np.column_stack([TABLE["city"], TABLE["job"], TABLE["note"]])
    np.testing.assert_allclose(k(table), np.exp(-d2 / 3) * np.exp(Hamming()(labels) - 1), rtol=1e-10)
    wide = Table(width=3.0).resolve(table)
    np.testing.assert_allclose(wide(table), np.exp(-d2 / 27) * np.exp((Hamming()(labels) - 1) / 9), rtol=1e-10)
    assert Table().definiteness == PD


def test_integers_as_column_names():
    X = rng.normal(size=(8, 3))
    np.testing.assert_allclose(Table({0: Linear(), 2: Linear()}, "sum")(X), X[:, [0, 2]] @ X[:, [0, 2]].T, atol=1e-12)


def test_parameters_are_named_by_columns():
    k = Table(PARTS)
    assert k.get_params()["age__lengthscale"] == 9.0 and k.get_params()["city,job"] == Delta()
    k.set_params(age__lengthscale=2.0, note=BagOfWords(lowercase=False))
    assert k.kernels["age"] == Gaussian(2.0) and not k.kernels["note"].lowercase
    assert "age: gaussian" in str(k)
    with pytest.raises(ValueError, match="is a Python object, which text cannot express"):
        parse(str(k))


def test_columns_whose_names_are_like_parameters():
    k = Table({"width": Gaussian(1.0), "a__b": Gaussian(2.0)})
    k.set_params(width=3.0, width___lengthscale=4.0, a__b__lengthscale=5.0)
    assert k.width == 3.0 and k.kernels == {"width": Gaussian(4.0), "a__b": Gaussian(5.0)}
    assert k.get_params()["width_"] == Gaussian(4.0) and clone(k) == k
    k.set_params(kernels={"age": Linear()}, age=Gaussian(), age__lengthscale=6.0)
    assert k.kernels == {"age": Gaussian(6.0)}
    with pytest.raises(ValueError, match="Invalid parameter 'agee'"):
        k.set_params(agee__lengthscale=1.0)


def test_claims():
    assert Table({"age": Power(1.0)}, "sum").definiteness == UNKNOWN


def test_refusals():
    with pytest.raises(ValueError, match=r"X has no column 'agee'; its columns are 'age', 'size'"):
        Table({"agee": Gaussian()})(TABLE)
    with pytest.raises(ValueError, match=r"kernels is 'auto'; call resolve\(table\) first"):
        Table()(TABLE)
    with pytest.raises(ValueError, match="column 'age' has a missing value in row 3; impute it"):
        Table({"age": Gaussian()}, missing="error")(hollow(age=[3]))
    with pytest.raises(ValueError, match="column 'age' has missing values, but observed is None"):
        Table({"age": Gaussian()})(hollow(age=[3]))
    with pytest.raises(TypeError, match=r"X\['city'\]|Gaussian: X\['city'\] holds"):
        Table({"city": Gaussian()})(TABLE)
    with pytest.raises(TypeError, match="has 2 columns, but bag_of_words takes one"):
        Table({("city", "note"): BagOfWords()})(TABLE)
    with pytest.raises(TypeError, match="must be 'auto' or a non-empty dictionary"):
        Table(np.ones(3))(TABLE)
    with pytest.raises(TypeError, match="must be 'auto' or a non-empty dictionary"):
        Table([Gaussian()])(TABLE)
    with pytest.raises(ValueError, match="all columns of X are constant or missing"):
        Table().resolve({"x": [1.0, 1.0]})
    with pytest.raises(ValueError, match="column 'x' is missing in every row"):
        Table({"x": Gaussian()}).resolve({"x": [None, None]})


# ---- data frames, through scikit-learn


def frame(n=240):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "sex": pd.Categorical(rng.choice(["m", "f"], n)),
            "visits": pd.array(rng.integers(0, 5, n), dtype="Int64"),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "name": pd.array([f"n{i}" for i in range(n)], dtype="string"),
            "member": rng.random(n) < 0.5,
        }
    )
    y = np.where((table["sex"] == "f") & (table["age"] > 38) | table["member"] & (table["age"] < 35), "yes", "no")
    for column, value in (("age", np.nan), ("sex", np.nan), ("visits", pd.NA), ("since", pd.NaT), ("name", pd.NA)):
        table.loc[rng.random(n) < 0.05, column] = value
    return table, y


def test_pandas_columns_become_numbers_and_labels():
    table, _ = frame(20)
    checked = Table().domain.check(table, "test")
    assert [checked[c].dtype.kind for c in table] == ["f", "O", "f", "f", "O", "O"]
    days = (table["since"] - np.datetime64("1970-01-01")).dt.days
    np.testing.assert_array_equal(checked["since"], days)
    for c in table:
        missing = [v is None or v != v for v in checked[c]]
        np.testing.assert_array_equal(missing, table[c].isna())


def test_a_frame_through_cross_validation_search_and_pickle():
    table, y = frame()
    model = mercer.SVC(kernel=Table(), C=10)
    assert cross_val_score(model, table, y, cv=4).mean() > 0.8
    fitted = model.fit(table, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(table), fitted.predict(table))
    named = mercer.SVC(kernel=Table({"age": Gaussian(10.0), ("sex", "member"): Delta()}))
    search = GridSearchCV(named, {"kernel__age__lengthscale": [2.0, 10.0], "C": [1, 10]}, cv=3).fit(table, y)
    assert search.best_score_ > 0.85 and search.predict(table.iloc[:3]).shape == (3,)
    pipeline = make_pipeline(FunctionTransformer(), mercer.KernelLogisticRegression(kernel=Table()))
    assert pipeline.fit(table, y).score(table, y) > 0.85


def test_polars():
    pl = pytest.importorskip("polars")
    table = pl.DataFrame({"age": [1.0, None, 3.0], "city": ["a", "b", None]})
    checked = Table().domain.check(table, "test")
    np.testing.assert_array_equal(checked["age"], [1.0, np.nan, 3.0])
    assert checked["city"].tolist() == ["a", "b", None]


@pytest.mark.long
@pytest.mark.skipif("MERCER_DATA" not in os.environ, reason="MERCER_DATA names no folder of real data")
def test_means_of_features_lose_less_than_means_of_values():
    """Ozone with its own gaps and as many again: better than to impute means, whatever the penalty."""
    pd = pytest.importorskip("pandas")
    table = pd.read_csv(Path(os.environ["MERCER_DATA"]) / "classic" / "ozone_mlbench.csv.gz").dropna(subset="V4")
    y = table.pop("V4").to_numpy(dtype=float)
    holes = table.astype(float).mask(np.random.default_rng(0).random(table.shape) < 0.2)
    cv = KFold(5, shuffle=True, random_state=0)
    for alpha in (0.03, 0.1, 0.3):
        ours = mercer.KernelRidge(kernel=Table(), alpha=alpha, fit_intercept=True)
        filled = make_pipeline(
            SimpleImputer(), StandardScaler(), mercer.KernelRidge(kernel="rbf", alpha=alpha, fit_intercept=True)
        )
        score, other = (cross_val_score(model, holes, y, cv=cv).mean() for model in (ours, filled))
        assert score > other + 0.01 and score > 0.5
