"""Vowels of fifteen speakers: what do speakers gain by learning from each other?

`classic/vowel` has 15 speakers (the tasks), eleven vowels (the classes) and six utterances of each. Some of the six are
drawn for training, the others are the test. Separate fits (share 0), one fit to all (share 1), a half share, a share by
cross-validation and a learned matrix over the speakers, all with the same kernel and C. Then the same for speakers
whose vowels are renamed at random, each in a way of its own, so that nothing is to be gained: what is lost? Errors in
percent, the mean over the draws and its standard error.
Run: python benchmarks/multitask.py [--draws 5] [--utterances 1 2] (the data come from the folder in MERCER_DATA)
"""

import argparse
import gzip
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.svm import SVC as Peer

from mercer import MultitaskSVC

COUPLINGS = {"separate": 0.0, "pooled": 1.0, "share 0.5": 0.5, "cross-validated": "auto", "learned": "learned"}


def load(folder):
    with gzip.open(Path(folder) / "classic" / "vowel.csv.gz", "rt") as file:
        rows = [line.strip().split(",") for line in file][1:]
    X = np.array([row[:10] for row in rows], dtype=float)
    X[:, 1:] = (X[:, 1:] - X[:, 1:].mean(axis=0)) / X[:, 1:].std(axis=0)
    return X, np.unique([row[10] for row in rows], return_inverse=True)[1]


def draw(X, y, utterances, rng):
    """Indices of the training set: so many of each vowel of each speaker."""
    cells = [np.flatnonzero((X[:, 0] == s) & (y == v)) for s in np.unique(X[:, 0]) for v in np.unique(y)]
    return np.concatenate([rng.permutation(cell)[:utterances] for cell in cells])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--utterances", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    X, y = load(os.environ["MERCER_DATA"])
    warnings.filterwarnings("ignore", "MultitaskSVC: coupling = 'auto' holds samples out")  # of one utterance
    for title, renamed in (("vowels as they are", False), ("vowels renamed for each speaker", True)):
        for utterances in args.utterances:
            names = [*COUPLINGS, "scikit-learn, pooled"]
            errors, times, shares = {name: [] for name in names}, dict.fromkeys(names, 0.0), []
            for seed in range(args.draws):
                rng = np.random.default_rng(seed)
                target = y
                if renamed:
                    names_of = np.stack([rng.permutation(11) for _ in range(15)])
                    target = names_of[X[:, 0].astype(int), y]
                train = draw(X, y, utterances, rng)
                test = np.setdiff1d(np.arange(len(y)), train)
                for name in names:
                    model = Peer(C=10, gamma=1 / 8)  # the same kernel, and an offset
                    columns = slice(1, None)
                    if name in COUPLINGS:
                        kernel = "gaussian(lengthscale=2.0)"
                        model, columns = (
                            MultitaskSVC(C=10, kernel=kernel, task=0, coupling=COUPLINGS[name]),
                            slice(None),
                        )
                    start = perf_counter()
                    model.fit(X[train][:, columns], target[train])
                    times[name] += (perf_counter() - start) / args.draws
                    errors[name].append(100 * (1 - model.score(X[test][:, columns], target[test])))
                    shares += [model.share_] if name == "cross-validated" else []
            print(f"{title}, {utterances} of 6 utterances; shares {shares}")
            for name in names:
                spread = np.std(errors[name], ddof=1) / np.sqrt(args.draws) if args.draws > 1 else np.nan
                print(f"  {name:22s} {np.mean(errors[name]):5.2f} ± {spread:.2f} %   {times[name]:6.2f} s", flush=True)


if __name__ == "__main__":
    main()
