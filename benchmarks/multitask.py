"""Vowels of fifteen speakers: what do speakers gain by learning from each other?

`classic/vowel` has 15 speakers (the tasks), eleven vowels (the classes) and six utterances of each. Some of the six are
drawn for training, the others are for testing. Contenders: separate fits (share 0), one fit to all (share 1), a share
of ½, a share by cross-validation, and a learned matrix over the speakers, all with the same lengthscale and C, which in
each draw minimise the error of scikit-learn's SVC on five folds of the training set, all speakers pooled. Then the same
with the vowels renamed at random for each speaker, so that there is nothing to gain: what is lost? Errors are in
percent, as means over the draws with standard errors.

With --simulated: regression on smooth random functions of ten tasks with 15 samples each and correlation 0, ½ and 0.9;
the mean squared error relative to separate fits. Correlation 0 shows what "auto" and "learned" lose if there is nothing
to gain.
Run: python benchmarks/multitask.py [--draws 5] [--utterances 1 2] (the data come from the folder in MERCER_DATA)
     python benchmarks/multitask.py --simulated [--draws 25]
"""

import argparse
import gzip
import os
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC as Peer

from mercer import MultitaskKernelRidge, MultitaskSVC
from mercer.kernels import Gaussian

COUPLINGS = {"separate": 0.0, "pooled": 1.0, "share 0.5": 0.5, "cross-validated": "auto", "learned": "learned"}


def load(folder):
    with gzip.open(Path(folder) / "classic" / "vowel.csv.gz", "rt") as file:
        rows = [line.strip().split(",") for line in file][1:]
    X = np.array([row[:10] for row in rows], dtype=float)
    X[:, 1:] = (X[:, 1:] - X[:, 1:].mean(axis=0)) / X[:, 1:].std(axis=0)
    return X, np.unique([row[10] for row in rows], return_inverse=True)[1]


def draw(X, y, utterances, rng):
    """Indices of the training set, with equally many utterances per vowel and speaker."""
    cells = [np.flatnonzero((X[:, 0] == s) & (y == v)) for s in np.unique(X[:, 0]) for v in np.unique(y)]
    return np.concatenate([rng.permutation(cell)[:utterances] for cell in cells])


def chosen(X, y):
    """C and gamma by cross-validation, all speakers pooled."""
    grid = {"C": [1.0, 10.0, 100.0], "gamma": [1 / (2 * length**2) for length in (0.5, 1.0, 2.0, 4.0)]}
    return GridSearchCV(Peer(), grid).fit(X[:, 1:], y).best_params_


def simulated(draws, tasks=10, samples=15):
    """Mean squared errors relative to separate fits."""
    for related in (0.0, 0.5, 0.9):
        errors = {name: [] for name in ("separate", "the true share", "auto", "learned")}
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            own, common = rng.normal(size=(tasks, 20)), rng.normal(size=20)
            weights = np.sqrt(related) * common + np.sqrt(1 - related) * own
            speed, phase = 1.5 * rng.normal(size=20), rng.uniform(0, 2 * np.pi, 20)

            def truth(x, t, speed=speed, phase=phase, weights=weights):
                return np.sum(np.sqrt(0.1) * np.cos(x[:, None] * speed + phase) * weights[t], axis=1)

            t, x = np.repeat(np.arange(tasks), samples), rng.uniform(0, 6, tasks * samples)
            y = truth(x, t) + 0.2 * rng.normal(size=len(x))
            new_t, new_x = np.repeat(np.arange(tasks), 100), np.tile(np.linspace(0, 6, 100), tasks)
            for name, coupling in zip(errors, (0.0, related, "auto", "learned"), strict=True):
                model = MultitaskKernelRidge(kernel=Gaussian(1.0), task=1, coupling=coupling)
                found = model.fit(np.stack([x, t], axis=1), y).predict(np.stack([new_x, new_t], axis=1))
                errors[name].append(np.mean((found - truth(new_x, new_t)) ** 2))
        ratios = {name: np.mean(e) / np.mean(errors["separate"]) for name, e in errors.items()}
        print(f"correlation {related}: " + ", ".join(f"{name} {r:.2f}" for name, r in ratios.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--utterances", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--simulated", action="store_true")
    args = parser.parse_args()
    if args.simulated:
        return simulated(args.draws)
    X, y = load(os.environ["MERCER_DATA"])
    warnings.filterwarnings("ignore", "MultitaskSVC: coupling = 'auto' cross-validates, but")  # with one utterance
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
                best = chosen(X[train], y[train])
                for name in names:
                    model = Peer(**best)  # the same kernel, and an offset
                    columns = slice(1, None)
                    if name in COUPLINGS:
                        kernel = Gaussian.from_gamma(best["gamma"])
                        model = MultitaskSVC(C=best["C"], kernel=kernel, task=0, coupling=COUPLINGS[name])
                        columns = slice(None)
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
