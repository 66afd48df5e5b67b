"""Does kernel canonical correlation find the other half? Images and texts, halves of documents, views of digits.

Queries of one view rank all test samples of the other. `pair` is the mean reciprocal rank of the query's other half,
`class` the mean average precision for samples of its class, in both directions. The peer is linear canonical
correlation (scikit-learn's CCA) on the same split; for documents, which have more words than samples, on their 100
leading components. The linear kernel with our penalty shows how much of the difference is due to the penalty. ε is the
default. For documents the kernel is linear; a Gaussian one did about as well.

Run: MERCER_DATA=folder python benchmarks/retrieval.py [--n 1500]
"""

import argparse
import csv
import gzip
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from mercer.kernels import ChiSquared, Gaussian, Linear
from mercer.methods.cca import KernelCCA
from mercer.selection.retrieval import mean_average_precision, mean_reciprocal_rank


def crossmodal(folder, n):
    """Histograms of image features, and topics of texts (Wikipedia)."""
    data = np.load(folder / "crossmodal" / "wikipedia_rasiwasia.npz")
    fit, test = ((data[f"I_{part}"], data[f"T_{part}"], data[f"y_{part}"]) for part in ("train", "test"))
    return [a[:n] for a in fit], test


def mfeat(folder, n):
    """Fourier coefficients and pixel averages of handwritten digits."""
    data = np.load(folder / "mfeat" / "mfeat.npz")
    order = np.random.default_rng(0).permutation(2000)
    fit, test = order[: min(n, 1300)], order[1300:]
    views = []
    for name in ("fou", "pix"):
        X = data[name].astype(float)
        views.append((X - X[fit].mean(axis=0)) / X[fit].std())
    y = data["y"]
    return [*(X[fit] for X in views), y[fit]], [*(X[test] for X in views), y[test]]


def halves(folder, n):
    """First and second halves of Reuters documents, as words."""
    with gzip.open(folder / "text" / "r8_train.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [row for row in list(csv.reader(file, delimiter="\t"))[1:] if len(row[1].split()) >= 40]
    order = np.random.default_rng(0).permutation(len(rows))[: n + 500]
    y = np.array([rows[i][0] for i in order])
    views = []
    for part in (0, 1):
        texts = []
        for i in order:
            words = rows[i][1].split()
            texts.append(" ".join(words[: len(words) // 2] if part == 0 else words[len(words) // 2 :]))
        vectoriser = TfidfVectorizer(min_df=3, sublinear_tf=True)
        views.append((vectoriser.fit_transform(texts[:n]), vectoriser.transform(texts[n:])))
    return [*(a for a, _ in views), y[:n]], [*(b for _, b in views), y[n:]]


KERNELS = {
    "images and texts": (crossmodal, ChiSquared(1.0), 9),
    "views of digits": (mfeat, Gaussian("median"), 20),
    "halves of documents": (halves, Linear(), 100),
}


def quality(S, labels):
    """MRR of the pair and MAP of the class, for queries of either view."""
    same = labels[:, None] == labels
    return [
        f(T, *more) for T in (S, S.T) for f, more in ((mean_reciprocal_rank, ()), (mean_average_precision, (same,)))
    ]


def ours(kernel, k, fit, test):
    model = KernelCCA(k, kernel=kernel).fit(fit[0], fit[1])
    return quality(model.similarity(test[0], test[1]), test[2])


def theirs(k, fit, test):
    """Linear correlation, with features of variance one and weights ρ, like ours."""
    if not isinstance(fit[0], np.ndarray):
        maps = [TruncatedSVD(100, random_state=0).fit(A) for A in fit[:2]]
        fit, test = ([m.transform(A) for m, A in zip(maps, part[:2], strict=True)] + [part[2]] for part in (fit, test))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about power iterations that have not converged
        model = CCA(min(k, fit[0].shape[1], fit[1].shape[1] - 1), max_iter=500).fit(fit[0], fit[1])
    known, new = (model.transform(*part[:2]) for part in (fit, test))
    rho = [np.corrcoef(a, b)[0, 1] for a, b in zip(*(Z.T for Z in known), strict=True)]
    F, G = (Z / K.std(axis=0) for Z, K in zip(new, known, strict=True))
    return quality((F * rho) @ G.T, test[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=2200, help="maximum number of training samples")
    args = parser.parse_args()
    if "MERCER_DATA" not in os.environ:
        raise SystemExit("set MERCER_DATA to the folder of the data sets")
    folder = Path(os.environ["MERCER_DATA"])
    for name, (load, kernel, k) in KERNELS.items():
        fit, test = load(folder, args.n)
        chance = np.mean(1 / np.arange(1, len(test[2]) + 1)), np.mean(test[2][:, None] == test[2])
        print(f"{name}: {len(fit[2])} for training, {len(test[2])} to rank; chance {chance[0]:.4f}, {chance[1]:.3f}")
        rows = {"scikit-learn": (theirs, k), "linear": (ours, Linear(), k), str(kernel): (ours, kernel, k)}
        for who, (work, *more) in rows.items():
            start = perf_counter()
            a, b, c, d = work(*more, fit, test)
            print(f"  {who}: pair {a:.4f} and {c:.4f}, class {b:.3f} and {d:.3f} ({perf_counter() - start:.1f} s)")


if __name__ == "__main__":
    main()
