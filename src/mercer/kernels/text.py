"""Kernels on raw documents: words and word sequences, counted in sparse vectors.

Documents are split by scikit-learn's `CountVectorizer`, so parameters with the same name have the same meaning.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from hashlib import blake2b
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer

from .._errors import check_choice, where
from ..domains import Strings
from ..types import Checked
from ._base import register
from ._definiteness import PD
from ._structured import Counted, Counts, Store, _store

__all__ = ["BagOfWords", "Corpus", "NGram", "TfIdf"]

ANALYZERS = ("word", "char", "char_wb")


class _Text(Counted):
    """Documents as counts of the terms that an analyser finds in them."""

    proven = PD
    domain = Strings()
    analyzer: str = "word"
    ngram_range: tuple[int, int] = (1, 1)
    lowercase: bool
    stop_words: Any = None
    sublinear_tf: bool
    form_parameters = ("analyzer", "ngram_range", "lowercase", "stop_words")

    def validate(self) -> None:
        check_choice(self, "analyzer", self.analyzer, ANALYZERS)
        for name in ("lowercase", "sublinear_tf"):
            check_choice(self, name, getattr(self, name), (True, False))
        words, n = self.stop_words, self.ngram_range
        if isinstance(words, str):
            check_choice(self, "stop_words", words, ("english",))
        elif words is not None and not (isinstance(words, Collection) and all(isinstance(w, str) for w in words)):
            raise TypeError(f"{where(self)}: stop_words = {words!r} must be None, 'english' or a list of words.")
        pair = isinstance(n, (list, tuple)) and len(n) == 2 and all(isinstance(i, (int, np.integer)) for i in n)
        if not pair or not 1 <= n[0] <= n[1]:
            raise ValueError(f"{where(self)}: ngram_range = {n!r} must be two integers 1 <= shortest <= longest.")

    def _analyser(self) -> Any:
        words = self.stop_words if self.stop_words is None or isinstance(self.stop_words, str) else [*self.stop_words]
        return CountVectorizer(
            analyzer=self.analyzer,
            ngram_range=tuple(self.ngram_range),
            lowercase=self.lowercase,
            stop_words=words,
        ).build_analyzer()

    def forms(self, members: list[str], store: Store) -> list[Counts]:
        analyse = self._analyser()
        return [Counts.of([store.number(term) for term in analyse(x)]) for x in members]

    def weigh(self, forms: list[Counts], store: Store) -> list[Counts]:
        return [Counts(f, 1 + np.log(v)) for f, v in forms] if self.sublinear_tf else forms


@register
class BagOfWords(_Text):
    r"""The words that two documents share, in any order.

    .. math:: k(x, y) = \sum_w \operatorname{tf}_w(x) \, \operatorname{tf}_w(y)

    where :math:`\operatorname{tf}_w(x)` is the number of occurrences of the word w in x.

    Parameters
    ----------
    lowercase : bool
        Whether to ignore case.
    stop_words : None, "english" or sequence of str
        Words to ignore.
    sublinear_tf : bool
        Replace tf by 1 + log tf, so that words repeated many times count less.

    Notes
    -----
    Words are sequences of two or more letters or digits. Longer documents have larger values; ``.normalized()`` is the
    cosine of the angle between the vectors, and is the right choice for most methods. The cost of a matrix is the
    number of common words, summed over all pairs.

    References
    ----------
    Salton, Wong, Yang, *A vector space model for automatic indexing* (1975); Joachims, *Text categorization with
    support vector machines* (1998).

    Examples
    --------
    >>> BagOfWords()(["the cat sat on the mat"], ["The dog and the cat", "nothing"])
    array([[5., 0.]])
    """

    trials = [(), (False, "english", True)]

    def __init__(self, lowercase: bool = True, stop_words: Any = None, sublinear_tf: bool = False):
        self.lowercase, self.stop_words, self.sublinear_tf = lowercase, stop_words, sublinear_tf


@register
class NGram(_Text):
    r"""The sequences of n words or n letters that two documents share.

    .. math:: k(x, y) = \sum_g \operatorname{tf}_g(x) \, \operatorname{tf}_g(y)

    over all n-grams g with n in a range, where :math:`\operatorname{tf}_g(x)` is the number of occurrences of g in x.

    Parameters
    ----------
    ngram_range : (int, int)
        The smallest and the largest n. Raising the largest makes word order count more.
    analyzer : "word", "char" or "char_wb"
        The items: words, letters, or letters within words (padded with a space at each end).
    lowercase, sublinear_tf
        As in `BagOfWords`.

    Notes
    -----
    On letters, runs of white space count as one space; `mercer.kernels.strings.Spectrum` uses strings as they are.
    Use ``.normalized()`` if documents differ in length.

    References
    ----------
    Damashek, *Gauging similarity with n-grams: language-independent categorization of text* (1995); Cavnar, Trenkle,
    *N-gram-based text categorization* (1994).

    Examples
    --------
    >>> NGram((2, 2))(["new york is large"], ["they left New York", "york is new"])
    array([[1., 1.]])
    """

    trials = [(), ((2, 3), "char"), ((1, 3), "char_wb", False, True)]

    def __init__(
        self,
        ngram_range: tuple[int, int] = (1, 2),
        analyzer: str = "word",
        lowercase: bool = True,
        sublinear_tf: bool = False,
    ):
        self.ngram_range, self.analyzer = ngram_range, analyzer
        self.lowercase, self.sublinear_tf = lowercase, sublinear_tf


class Corpus:
    """The document frequency of each term in a collection of documents; immutable.

    Parameters
    ----------
    documents : int
        The number of documents.
    frequencies : dict
        Maps each term to the number of documents that contain it.

    Examples
    --------
    >>> Corpus(3, {"cat": 2, "the": 3})
    Corpus(3 documents, 2 terms)
    """

    def __init__(self, documents: int, frequencies: dict[str, int]):
        self.documents, self.frequencies = int(documents), dict(frequencies)

    @classmethod
    def of(cls, documents: Iterable[Iterable[str]]) -> Self:
        """The corpus of documents given by their terms."""
        frequencies: dict[str, int] = {}
        n = 0
        for terms in documents:
            n += 1
            for term in set(terms):
                frequencies[term] = frequencies.get(term, 0) + 1
        return cls(n, frequencies)

    @cached_property
    def _digest(self) -> bytes:
        return blake2b(repr((self.documents, sorted(self.frequencies.items()))).encode(), digest_size=16).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Corpus) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __repr__(self) -> str:
        return f"Corpus({self.documents} documents, {len(self.frequencies)} terms)"


@register
class TfIdf(_Text):
    r"""The words that two documents share, with more weight on rare words.

    .. math:: k(x, y) = \sum_w \operatorname{idf}_w^2 \operatorname{tf}_w(x) \, \operatorname{tf}_w(y),
        \qquad \operatorname{idf}_w = 1 + \log \frac{1 + N}{1 + N_w},

    where :math:`\operatorname{tf}_w(x)` is the number of occurrences of the word w in x, and :math:`N_w` the number of
    the N documents of the corpus that contain it.

    Parameters
    ----------
    corpus : Corpus, optional
        The documents that define which words are rare; by default the training sample (filled in by `resolve`, which
        estimators call in fit).
    ngram_range : (int, int)
        The shortest and the longest sequence of words counted as one term.
    lowercase, stop_words, sublinear_tf
        As in `BagOfWords`.

    Notes
    -----
    Words that are not in the corpus are ignored, so ``TfIdf().normalized()`` is the inner product of the vectors of
    scikit-learn's `TfidfVectorizer`.

    References
    ----------
    Spärck Jones, *A statistical interpretation of term specificity and its application in retrieval* (1972); Salton,
    Buckley, *Term-weighting approaches in automatic text retrieval* (1988).

    Examples
    --------
    >>> documents = ["the cat", "the dog", "the cat sat"]
    >>> TfIdf().resolve(documents)(["a cat"], documents).round(3)
    array([[1.658, 0.   , 1.658]])
    """

    def __init__(
        self,
        corpus: Corpus | None = None,
        ngram_range: tuple[int, int] = (1, 1),
        lowercase: bool = True,
        stop_words: Any = None,
        sublinear_tf: bool = False,
    ):
        self.corpus, self.ngram_range = corpus, ngram_range
        self.lowercase, self.stop_words, self.sublinear_tf = lowercase, stop_words, sublinear_tf

    def resolve(self, X: Checked) -> Self:
        copy = clone(self)
        if self.corpus is None:
            self.validate()
            store = _store(self._kept())
            _, forms = self._forms(self.domain.check(X, self), store)
            with store.lock:
                terms = [str(term) for term in store.numbers]
            documents = np.bincount(np.concatenate([form.features for form in forms]), minlength=len(terms))
            copy.corpus = Corpus(len(forms), {terms[i]: int(documents[i]) for i in np.flatnonzero(documents)})
        return copy

    def weigh(self, forms: list[Counts], store: Store) -> list[Counts]:
        idf = self._weights(store)
        return [Counts(f, v * idf[f]) for f, v in super().weigh(forms, store)]

    def _weights(self, store: Store) -> np.ndarray:
        """idf by term number; cached for all tiles of a matrix."""
        if self.corpus is None:
            raise ValueError(f"{where(self)}: corpus is None; call resolve(documents) first, as estimators do in fit.")
        known: Any = getattr(self, "_known", (None, None, ()))
        with store.lock:
            if known[0] is not store or known[1] is not self.corpus or len(known[2]) < len(store.numbers):
                frequency = np.array([self.corpus.frequencies.get(str(term), 0) for term in store.numbers])
                idf = 1 + np.log((1 + self.corpus.documents) / (1 + frequency))
                known = self._known = store, self.corpus, np.where(frequency > 0, idf, 0.0)
        return known[2]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_known"}

    @classmethod
    def examples(cls) -> list[Any]:
        corpus = Corpus.of([["aa", "bb"], ["aa"], ["ab", "ab"], ["abcab"]])
        return [cls(corpus), cls(corpus, (1, 2), stop_words=["bb"], sublinear_tf=True)]
