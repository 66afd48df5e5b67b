"""Where do the ten most common calls on small data spend their time?

Fits to 300 digits of 64 pixels, and predictions for one row. The first figure is the minimum time of a plain call.
The shares come from a profile: time counts for the innermost frame of Mercer on the stack, and so for its package, with
NumPy, SciPy and scikit-learn counted for their callers. "checks" are the domains and validation.
Run: python benchmarks/calls.py [--n 300] [--repeat 200]
"""

import argparse
import sys
import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits

import mercer
from mercer import SVC, SVR, KernelPCA, KernelRidge, KernelRidgeCV, LinearSVC, OneClassSVM

ROOT = str(Path(mercer.__file__).parent)
PARTS = {
    "domains": "checks",
    "_errors.py": "checks",
    "_targets.py": "checks",
    "kernels": "kernel",
    "evaluation": "kernel",
    "gram": "kernel",
    "solvers": "solver",
    "space.py": "function",
    "methods": "method",
}
SHOWN = ("kernel", "solver", "function", "method", "checks", "rest")


def calls(X, y):
    """Name and call."""
    target, one = y.astype(float), X[:1]
    svc, ridge, pca = SVC().fit(X, y), KernelRidge(kernel="rbf").fit(X, target), KernelPCA(5, kernel="rbf").fit(X)
    return {
        "SVC.fit": lambda: SVC().fit(X, y),
        "SVC.predict, one row": lambda: svc.predict(one),
        "SVR.fit": lambda: SVR().fit(X, target),
        "OneClassSVM.fit": lambda: OneClassSVM(nu=0.1).fit(X),
        "LinearSVC.fit": lambda: LinearSVC().fit(X, y),
        "KernelRidge.fit": lambda: KernelRidge(kernel="rbf").fit(X, target),
        "KernelRidge.predict, one row": lambda: ridge.predict(one),
        "KernelRidgeCV.fit": lambda: KernelRidgeCV().fit(X, target),
        "KernelPCA.fit": lambda: KernelPCA(5, kernel="rbf").fit(X),
        "KernelPCA.transform, one row": lambda: pca.transform(one),
    }


def part_of(filename):
    """The part of Mercer that a file belongs to, or None."""
    if not filename.startswith(ROOT):
        return None
    name = filename[len(ROOT) + 1 :].replace("\\", "/").split("/")[0]
    return PARTS.get(name, "rest")


def shares(call, repeat):
    """The fraction of time in each part."""
    spent, stack, known, last = Counter(), ["rest"], {}, 0.0

    def listen(frame, event, argument):
        nonlocal last
        now = perf_counter()
        spent[stack[-1]] += now - last
        if event == "call":
            name = frame.f_code.co_filename
            if name not in known:
                known[name] = part_of(name)
            stack.append(known[name] or stack[-1])
        elif event == "return" and len(stack) > 1:
            stack.pop()
        last = perf_counter()

    last = perf_counter()
    sys.setprofile(listen)
    try:
        for _ in range(repeat):
            call()
    finally:
        sys.setprofile(None)
    total = sum(spent.values())
    return [spent[name] / total for name in SHOWN]


def least(call, repeat):
    times = []
    for _ in range(repeat):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=200)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    X = np.ascontiguousarray(X[: args.n] / 16)
    print(f"{'':30s}{'ms':>8s}" + "".join(f"{name:>10s}" for name in SHOWN))
    for name, call in calls(X, y[: args.n]).items():
        call()
        row = "".join(f"{100 * share:8.0f} %" for share in shares(call, args.repeat // 4))
        print(f"{name:30s}{1e3 * least(call, args.repeat):8.3f}{row}", flush=True)


if __name__ == "__main__":
    main()
