"""Text kernels against scikit-learn's vectorisers."""

import gzip
import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC as ReferenceSVC

import mercer
from mercer.kernels import Table, clear_cache, parse
from mercer.kernels.text import BagOfWords, Corpus, NGram, TfIdf
from mercer.selection import KernelSearchCV

DOCUMENTS = [
    "The cat sat on the mat; the cat purred.",
    "A dog sat on the cat!",
    "Übergrößen und Straßen, und noch mehr Straßen",
    "",
    "stop the the of and",
    "Dogs bark. Cats purr. Cats sleep.",
]
NEW = ["the unseen zebra sat", "cat", "zebra"]


def product(vectoriser, X, Y):
    return (vectoriser.transform(X) @ vectoriser.transform(Y).T).toarray()


@pytest.mark.parametrize("stop_words", [None, "english", ["the", "cat"]])
@pytest.mark.parametrize("lowercase", [True, False])
def test_bag_of_words(stop_words, lowercase):
    v = CountVectorizer(stop_words=stop_words, lowercase=lowercase).fit(DOCUMENTS + NEW)
    k = BagOfWords(lowercase, stop_words)
    np.testing.assert_array_equal(k(DOCUMENTS), product(v, DOCUMENTS, DOCUMENTS))
    np.testing.assert_array_equal(k(NEW, DOCUMENTS), product(v, NEW, DOCUMENTS))


@pytest.mark.parametrize("analyzer", ["word", "char", "char_wb"])
@pytest.mark.parametrize("lengths", [(1, 1), (2, 2), (1, 3)])
def test_ngrams(analyzer, lengths):
    v = CountVectorizer(analyzer=analyzer, ngram_range=lengths).fit(DOCUMENTS + NEW)
    np.testing.assert_array_equal(NGram(lengths, analyzer)(NEW, DOCUMENTS), product(v, NEW, DOCUMENTS))


@pytest.mark.parametrize("sublinear", [False, True])
@pytest.mark.parametrize("lengths", [(1, 1), (1, 2)])
def test_tf_idf(sublinear, lengths):
    v = TfidfVectorizer(sublinear_tf=sublinear, ngram_range=lengths).fit(DOCUMENTS)
    k = TfIdf(sublinear_tf=sublinear, ngram_range=lengths).resolve(DOCUMENTS)
    np.testing.assert_allclose(k.normalized()(DOCUMENTS), product(v, DOCUMENTS, DOCUMENTS), atol=1e-14)
    np.testing.assert_allclose(k.normalized()(NEW, DOCUMENTS), product(v, NEW, DOCUMENTS), atol=1e-14)
    raw = TfidfVectorizer(sublinear_tf=sublinear, ngram_range=lengths, norm=None).fit(DOCUMENTS)
    np.testing.assert_allclose(k(NEW, DOCUMENTS), product(raw, NEW, DOCUMENTS), atol=1e-12)


def test_the_weights_follow_the_corpus_and_the_words():
    k = TfIdf().resolve(["cat dog", "cat"])
    before = k(["dog"], ["dog"]).item()
    k(["many new words here"], ["which the store has not seen"])
    assert k(["dog"], ["dog"]).item() == before == pytest.approx((1 + np.log(3 / 2)) ** 2)
    clear_cache()
    assert k(["dog"], ["dog"]).item() == before
    k.corpus = Corpus(8, {"dog": 1})
    assert k(["dog"], ["dog"]).item() == pytest.approx((1 + np.log(9 / 2)) ** 2)
    assert k(["cat"], ["cat"]).item() == 0.0


def test_a_corpus_is_a_value():
    a, b = (Corpus.of([["x", "x", "y"], ["y"]]) for _ in range(2))
    assert a == b and hash(a) == hash(b) and a != Corpus(3, {"x": 1, "y": 2})
    assert a.frequencies == {"x": 1, "y": 2}
    assert pickle.loads(pickle.dumps(TfIdf(a))) == TfIdf(b)


def test_refusals():
    with pytest.raises(ValueError, match=r"TfIdf: corpus is None; call resolve\(documents\) first"):
        TfIdf()(DOCUMENTS)
    with pytest.raises(TypeError, match=r"BagOfWords: X\[1\] is nan, expected a string; fill in missing values"):
        BagOfWords()(["a", float("nan")])
    with pytest.raises(TypeError, match="X is a str; give a sequence with one string per sample"):
        BagOfWords()("a document")
    with pytest.raises(ValueError, match="ngram_range = \\(2, 1\\) must be two integers"):
        NGram((2, 1))(DOCUMENTS)
    with pytest.raises(ValueError, match="ngram_range = 3 must be two integers"):
        NGram(3)(DOCUMENTS)
    with pytest.raises(TypeError, match="stop_words = 3 must be None, 'english' or a list of words"):
        BagOfWords(stop_words=3)(DOCUMENTS)
    with pytest.raises(ValueError, match="analyzer"):
        NGram(analyzer="letters")(DOCUMENTS)
    with pytest.raises(ValueError, match="stop_words"):
        BagOfWords(stop_words="latin")(DOCUMENTS)


def test_expressions():
    k = parse('ngram(ngram_range=(1, 2), analyzer="char").normalized()')
    assert k == NGram((1, 2), "char").normalized() and parse(str(k)) == k


def test_an_estimator_fits_the_corpus_in_each_fold():
    X = ["cats purr", "dogs bark", "cat purrs", "dog barks", "cats sleep", "dogs run"] * 5
    y = [0, 1] * 15
    scores = cross_val_score(mercer.SVC(kernel=TfIdf().normalized()), X, y, cv=3)
    assert scores.shape == (3,) and scores.min() == 1.0
    k = TfIdf().normalized()
    reference = make_pipeline(TfidfVectorizer(), ReferenceSVC(kernel="linear", tol=1e-9))
    rng = np.random.default_rng(0)
    X = [" ".join(rng.choice([f"w{i}" for i in range(40)], 5)) for _ in range(40)]
    y = rng.integers(0, 2, 40)
    pd = pytest.importorskip("pandas")
    for kernel, data in ((k, X), (0.5 * k + 0.5 * k, X), (Table({"text": k}, "sum"), pd.DataFrame({"text": X}))):
        ours, theirs = (
            cross_val_predict(model, Z, y, cv=KFold(4), method="decision_function")
            for model, Z in ((mercer.SVC(kernel=kernel, tol=1e-9), data), (reference, X))
        )
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


def test_folds_read_each_document_once(monkeypatch):
    seen = []
    forms = TfIdf.forms
    monkeypatch.setattr(TfIdf, "forms", lambda self, X, store: (seen.extend(X), forms(self, X, store))[1])
    monkeypatch.setattr(Corpus, "of", None)
    clear_cache()
    X = [f"word{i} word{i % 3}" for i in range(20)]
    cross_val_score(mercer.SVC(kernel=TfIdf().normalized()), X, np.arange(20) % 2, cv=4)
    assert sorted(seen) == sorted(X)


def test_the_fitted_kernel_has_the_corpus():
    X, y = ["cats purr", "dogs bark", "cat purrs", "dog barks", "cats sleep", "dogs run"], [0, 1] * 3
    model = mercer.SVC(kernel=TfIdf().normalized()).fit(X[:6], y[:6])
    assert model.kernel_.kernel.corpus == Corpus.of([x.split() for x in X[:6]])


# ---- R8: eight classes of news agency reports

needs_data = pytest.mark.skipif("MERCER_DATA" not in os.environ, reason="MERCER_DATA names no folder of real data")


def r8(part, n):
    path = Path(os.environ["MERCER_DATA"]) / "text" / f"r8_{part}.tsv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in list(lines)[1:]]
    chosen = np.random.default_rng(0).permutation(len(rows))[:n]
    label = 0 if len({row[0] for row in rows}) == 8 else 1
    return [rows[i][1 - label] for i in chosen], np.array([rows[i][label] for i in chosen])


@pytest.mark.long
@needs_data
def test_r8_through_every_door():
    X, y = r8("train", 900)
    Z, z = r8("test", 400)
    kernel = TfIdf(sublinear_tf=True).normalized()
    model = mercer.SVC(kernel=kernel, C=10).fit(X, y)
    v = TfidfVectorizer(sublinear_tf=True).fit(X)
    reference = ReferenceSVC(kernel="linear", C=10).fit(v.transform(X), y)
    assert model.score(Z, z) == pytest.approx(reference.score(v.transform(Z), z), abs=0.003)
    assert model.score(Z, z) > 0.94
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(Z), model.predict(Z))

    search = GridSearchCV(mercer.SVC(kernel=kernel), {"C": [1, 10]}, cv=3).fit(X[:300], y[:300])
    ours = KernelSearchCV(mercer.SVC(kernel=kernel), {"C": [1, 10]}, cv=KFold(3, shuffle=True, random_state=0))
    assert ours.fit(X[:300], y[:300]).best_score_ > 0.85 and search.best_score_ > 0.85

    scores = mercer.KernelPCA(5, kernel=kernel).fit_transform(X)
    centred = v.transform(X).toarray()
    centred -= centred.mean(axis=0)
    values = np.linalg.svd(centred, compute_uv=False)[:5]
    np.testing.assert_allclose(np.linalg.norm(scores, axis=0), values, rtol=1e-6)

    clusters = mercer.KernelKMeans(8, kernel=kernel, random_state=0).fit_predict(X)
    together = (clusters[:, None] == clusters) & ~np.eye(len(X), dtype=bool)
    assert (y[:, None] == y)[together].mean() > (y[:, None] == y).mean() + 0.2

    halves = [(" ".join(w[::2]), " ".join(w[1::2])) for w in map(str.split, X[:300])]
    views = [list(view) for view in zip(*halves, strict=True)]
    cca = mercer.KernelCCA(3, kernel=BagOfWords().normalized(), epsilon=0.1).fit(*views)
    assert cca.transform(views[0]).shape == (300, 3)
