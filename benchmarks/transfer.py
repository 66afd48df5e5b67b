"""Marginal transfer: what does it gain over pooling, and what does it cost?

"vowel": each of 15 speakers in turn is a new unlabelled sample (eleven vowels, 66 recordings each); the others are
pooled or transferred, with LIBSVM on the pooled data as peer. "shift": samples on the line with the class boundary in
their middle, each of 24 left out in turn, where pooling cannot win. "many": the same with many points, by random
features. Both use the same settings; for the vowels, the whole grid is shown, because a setting chosen on these
speakers would be chosen after the fact.
Run: MERCER_DATA=… python benchmarks/transfer.py
"""

import csv
import gzip
import os
from itertools import product
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.base import clone
from sklearn.svm import SVC as ReferenceSVC

from mercer import SVC, LeastSquaresSVC, MarginalTransfer
from mercer.kernels import Gaussian
from mercer.kernels.sets import DistributionGaussian

MEDIAN = DistributionGaussian(Gaussian("median"), "median")


def vowel():
    folder = os.environ.get("MERCER_DATA")
    if not folder:
        return None
    with gzip.open(Path(folder) / "classic" / "vowel.csv.gz", "rt") as file:
        rows = list(csv.reader(file))[1:]
    X = np.array([row[1:-1] for row in rows], dtype=float)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.array([row[-1] for row in rows]), np.array([row[0] for row in rows])


def shift(samples, size, seed):
    rng = np.random.default_rng(seed)
    middle, groups = rng.uniform(-4, 4, samples), np.repeat(np.arange(samples), size)
    X = rng.normal(size=(len(groups), 1)) + middle[groups][:, None]
    return X, (X[:, 0] > middle[groups]).astype(int), groups


def left_out(model, X, y, groups):
    """The errors, leaving out each sample in turn, and seconds."""
    start, errors = perf_counter(), []
    for g in np.unique(groups):
        fit = groups != g
        own = {"groups": groups[fit]} if isinstance(model, MarginalTransfer) else {}
        errors.append(1 - clone(model).fit(X[fit], y[fit], **own).score(X[~fit], y[~fit]))
    return np.array(errors), perf_counter() - start


def mean(values):
    return f"{values.mean():6.3f} ± {values.std(ddof=1) / np.sqrt(len(values)):.3f}"


def compare(models, data):
    """Mean errors with standard errors; the last line is the paired difference of the last two."""
    found = []
    for name, model in models.items():
        errors, seconds = left_out(model, *data)
        found.append(errors)
        print(f"  {name:16s} {mean(errors)}  {seconds:6.1f} s")
    print(f"  {'gain':16s} {mean(found[-2] - found[-1])}")


def main():
    data = vowel()
    if data is None:
        print("vowel: set MERCER_DATA to the folder of the data sets")
    for C, lengthscale in product((1, 10), (1.0, 1.5, 3.0)) if data is not None else ():
        machine = SVC(kernel=Gaussian(lengthscale), C=C)
        models = {
            "LIBSVM, pooled": ReferenceSVC(gamma=0.5 / lengthscale**2, C=C),
            "SVC, pooled": machine,
            "SVC, transfer": MarginalTransfer(machine, MEDIAN),
        }
        print(f"vowel, C = {C}, lengthscale = {lengthscale}: mean error over 15 new speakers")
        compare(models, data)

    machine = SVC(kernel=Gaussian(2.0), C=10.0)
    print("shift: mean error over 24 new samples")
    compare({"SVC, pooled": machine, "SVC, transfer": MarginalTransfer(machine, MEDIAN)}, shift(24, 40, 0))

    X, y, groups = shift(40, 150, 0)
    X_new, y_new, groups_new = shift(20, 150, 1)
    exact = MarginalTransfer(LeastSquaresSVC(Gaussian(2.0), alpha=0.1), MEDIAN)
    features = MarginalTransfer(
        LeastSquaresSVC(Gaussian(2.0), alpha=0.1, gram="low_rank"), MEDIAN, n_features=400, random_state=0
    )
    print(f"many: {len(X)} points in 40 samples; error on 20 new samples, seconds")
    times = {}
    for name, model in (("exact", exact), ("400 features", features)):
        start = perf_counter()
        error = 1 - model.fit(X, y, groups=groups).score(X_new, y_new, groups=groups_new)
        times[name] = perf_counter() - start
        print(f"  {name:16s} {error:.3f}  {times[name]:6.1f}")
    print(f"  exact / features {times['exact'] / times['400 features']:.1f} times the seconds")


if __name__ == "__main__":
    main()
