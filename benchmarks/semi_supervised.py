"""How much do unlabelled digits help, against scikit-learn's label spreading and the same machine without them?

For 1, 2, 5, 10 and 20 labels per digit: accuracy on all unlabelled digits, as means over draws of the labelled ones.
Nothing is tuned to a draw or a number of labels, but our defaults (graph, weight, normalised kernel) were chosen with
such digits in view, while scikit-learn's are unchanged. LabelSpreading is therefore also shown with the alpha of
ManifoldRanking, from which it then differs in how the graph is symmetrised and weighted, and with two widths of its
Gaussian. USPS is read from the folder in MERCER_DATA, if set.
Run: python benchmarks/semi_supervised.py [--quick] [--draws 5]
"""

import argparse
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.semi_supervised import LabelSpreading

from mercer import SVC, ManifoldRanking, SemiSupervised, deformed
from mercer.kernels import Gaussian

COUNTS = (1, 2, 5, 10, 20)


def spreading(**options):
    return lambda X, marked: LabelSpreading(max_iter=200, **options).fit(X, marked).transduction_


def compare(name, X, y, draws):
    median = Gaussian("median").resolve(X)
    bent = deformed(median, X)
    ranking = ManifoldRanking(median).fit(X)

    def machine(kernel):
        def labels(X, marked):
            known = marked >= 0
            return SVC(kernel=kernel, C=100).fit(X[known], marked[known]).predict(X)

        return labels

    def ranked(X, marked):
        queries = (marked[:, None] == np.arange(10)).astype(float)
        return np.argmax(ranking.scores(queries / queries.sum(axis=0)), axis=1)

    gamma = 0.5 / median.lengthscale**2
    methods = {
        "SVC, labelled digits alone": machine(median),
        "SVC, deformed kernel": machine(bent),
        "SVC, deformed and normalised": machine(bent.normalized()),
        "ManifoldRanking, digits as queries": ranked,
        "LabelSpreading, 7 neighbours": spreading(kernel="knn"),
        "LabelSpreading, 7, alpha = 0.99": spreading(kernel="knn", alpha=0.99),
        **{f"LabelSpreading, rbf, gamma × {f}": spreading(kernel="rbf", gamma=f * gamma) for f in (16, 64)},
    }
    right = {method: np.empty((draws, len(COUNTS))) for method in methods}
    for draw in range(draws):
        rng = np.random.default_rng(draw)
        order = [rng.permutation(np.flatnonzero(y == c)) for c in range(10)]
        for j, count in enumerate(COUNTS):
            marked = np.full(len(y), -1)
            known = np.concatenate([members[:count] for members in order])
            marked[known] = y[known]
            rest = marked < 0
            for method, labels in methods.items():
                right[method][draw, j] = np.mean(labels(X, marked)[rest] == y[rest])
    print(f"{name}, n = {len(y)}, {draws} draws; accuracy in % for {', '.join(map(str, COUNTS))} labels of each digit")
    for method, values in right.items():
        means = "".join(f"{100 * v:8.1f}" for v in values.mean(axis=0))
        print(f"  {method:<36}{means}   ± {100 * values.std(axis=0).max():.1f} at most")
    start = perf_counter()
    SemiSupervised(SVC(kernel=median, C=100)).fit(X, marked)
    ours = perf_counter() - start
    start = perf_counter()
    spreading(kernel="knn")(X, marked)
    print(f"  one fit: SemiSupervised(SVC) {ours:.2f} s, LabelSpreading {perf_counter() - start:.2f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer digits")
    parser.add_argument("--draws", type=int, default=5)
    args = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = load_digits(return_X_y=True)
    n = 500 if args.quick else 1000
    compare("scikit-learn's digits", X[:n] / 16, y[:n], args.draws)
    folder = os.environ.get("MERCER_DATA")
    if folder:
        usps = np.load(Path(folder) / "usps" / "usps.npz")
        n = 500 if args.quick else 1000
        compare("USPS", usps["X_train"][:n].astype(float), usps["y_train"][:n].astype(int), args.draws)


if __name__ == "__main__":
    main()
