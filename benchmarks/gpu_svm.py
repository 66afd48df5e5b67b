"""Support vector machines on a CUDA device: MNIST, all digits, one against one.

Pixels on [0, 1], C = 2. Fits and predictions of 10,000 new digits are timed after one fit that compiles, synchronised;
the objective is the sum of the duals of all pairs, computed in double precision. The data come from the folder in
MERCER_DATA.
Run: python benchmarks/gpu_svm.py [--n 60000] [--runs 3]
"""

import argparse
from functools import partial
from time import perf_counter

import numpy as np
import torch
from svm import mnist

from mercer import SVC


def timed(work):
    torch.cuda.synchronize()
    start = perf_counter()
    out = work()
    torch.cuda.synchronize()
    return perf_counter() - start, out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="*", default=[10_000, 60_000])
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    print(torch.cuda.get_device_name())
    for n in args.n:
        ((_, X, y, X_new, y_new, *_),) = mnist(n)
        X, X_new = (torch.tensor(Z, device="cuda") for Z in (X, X_new))
        y, y_new = (torch.tensor(labels.astype(np.int64), device="cuda") for labels in (y, y_new))
        for gamma in (0.0156, 0.0039):
            model = SVC(C=2.0, gamma=gamma)
            model.fit(X[:3000], y[:3000])
            fits, answers = [], []
            for _ in range(args.runs):
                fits.append(timed(partial(model.fit, X, y))[0])
                seconds, labels = timed(partial(model.predict, X_new))
                answers.append(seconds)
            solutions = model.solutions_
            print(
                f"n = {n:,}, gamma = {gamma}: fit {min(fits):.3f} s, predict {min(answers):.3f} s, objective "
                f"{sum(s.objective for s in solutions):.4f}, largest gap {max(s.gap for s in solutions):.1e}, "
                f"error {100 * float((labels != y_new).float().mean()):.2f} %",
                flush=True,
            )


if __name__ == "__main__":
    main()
