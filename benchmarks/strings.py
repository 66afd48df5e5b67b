"""What do all pairs of 3,190 DNA strings of 60 letters cost?

The strings are the splice data from the folder in MERCER_DATA, or random ones. Peers: scikit-learn's CountVectorizer
with a sparse product for the spectrum kernels, rapidfuzz, if installed, for the edit distance, and the textbook
recursion in NumPy for subsequences, timed on a few pairs and extrapolated. `threads` is the total time of all threads,
which does not depend on other load.
Run: python benchmarks/strings.py [--quick]
"""

import argparse
import csv
import gzip
import os
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer

from mercer.kernels.strings import (
    BoundedRange,
    ConstantWeight,
    Levenshtein,
    LocalAlignment,
    Mismatch,
    Spectrum,
    Subsequence,
    WeightedDegree,
)


def strings(n):
    """n strings of 60 letters."""
    folder = os.environ.get("MERCER_DATA")
    if folder is None:
        rng = np.random.default_rng(0)
        return ["".join(row) for row in rng.choice(list("ACGT"), (n, 60))]
    with gzip.open(Path(folder) / "strings" / "splice.csv.gz", "rt") as file:
        return [row["sequence"] for row in csv.DictReader(file)][:n]


def counted(X, shortest, longest):
    """The spectrum kernels by scikit-learn."""
    vectorizer = CountVectorizer(analyzer="char", ngram_range=(shortest, longest), lowercase=False, dtype=float)
    F = vectorizer.fit_transform(X)
    return (F @ F.T).toarray()


def recursion(x, y, length, decay):
    """The gap-weighted kernel of two strings, a table for each length."""
    equal = np.array(list(x))[:, None] == np.array(list(y))
    ends = equal * decay**2
    for _ in range(length - 1):
        near = np.zeros((len(x) + 1, len(y) + 1))
        for i in range(len(x)):
            for j in range(len(y)):
                near[i + 1, j + 1] = ends[i, j] + decay * (near[i, j + 1] + near[i + 1, j] - decay * near[i, j])
        ends = equal * decay**2 * near[:-1, :-1]
    return ends.sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 strings instead of 3,190")
    X = strings(1000 if parser.parse_args().quick else 3190)
    n = len(X)

    def few(length, decay):
        pairs = [(X[i], X[-i - 1]) for i in range(5)]
        start = perf_counter()
        values = np.array([recursion(x, y, length, decay) for x, y in pairs])
        seconds = (perf_counter() - start) * n * (n + 1) / 2 / len(pairs)
        return seconds, lambda K: np.abs(np.array([K[i, n - i - 1] for i in range(5)]) / values - 1).max()

    def by_counts(shortest, longest):
        start = perf_counter()
        theirs = counted(X, shortest, longest)
        return perf_counter() - start, lambda K: np.abs(K - theirs).max()

    def by_rapidfuzz():
        from rapidfuzz.distance import Levenshtein as peer
        from rapidfuzz.process import cdist

        start = perf_counter()
        theirs = cdist(X, X, scorer=peer.distance, workers=-1)
        return perf_counter() - start, lambda K: np.abs(K + theirs).max()

    cases = [
        (Spectrum(3), lambda: by_counts(3, 3)),
        (Spectrum(6), lambda: by_counts(6, 6)),
        (BoundedRange(6), lambda: by_counts(1, 6)),
        (Mismatch(5, 1, "ACGT"), None),
        (Mismatch(6, 2, "ACGT"), None),
        (Mismatch(6, 2, "ACDGNRST"), None),
        (ConstantWeight(), lambda: by_counts(1, 60)),
        (WeightedDegree(8), None),
        (Levenshtein(), by_rapidfuzz),
        (Subsequence(3, 0.5), lambda: few(3, 0.5)),
        (LocalAlignment(), None),
    ]
    print(f"{n} strings, {n * (n + 1) // 2:,} pairs")
    for kernel, peer in cases:
        kernel(X[:200])  # compiles, on threads
        start, threads = perf_counter(), process_time()
        K = kernel(X)
        seconds, threads = perf_counter() - start, process_time() - threads
        line = f"{kernel!s:50} {seconds:7.2f} s, threads {threads:7.2f} s"
        if peer is not None:
            try:
                theirs, error = peer()
                line += f", peer {theirs:9.1f} s, ratio {theirs / seconds:7.1f}, largest difference {error(K):.0e}"
            except ImportError as missing:
                line += f", no peer: {missing}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
