"""Independent components: how close do KernelICA and scikit-learn's FastICA come to the sources, and at what cost?

Mixtures of two and four sources, with new sources and a random mixing matrix for every seed. "seen" sources are
uniform, Laplace, exponential and bimodal, which suit FastICA; "unseen" sources have three modes, placed so that
E[g'(s) − s g(s)] = 0 for its g = tanh. The output shows the median and the worst Amari error over the seeds (0: the
sources in some order and scale; 1: the worst), the ratio of medians, and the time of a fit, all in one process. FastICA
runs for at most 1000 iterations, with its default nonlinearity and with "cube".
Run: python benchmarks/ica.py [--n 1000] [--seeds 8]
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
from scipy.optimize import brentq
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from mercer.methods.ica import KernelICA, amari_error

SHARE, NARROW = 0.15, 0.2
NODE, WEIGHT = np.polynomial.hermite_e.hermegauss(80)


def modes(a):
    wide = np.sqrt((1 - 2 * SHARE * (a**2 + NARROW**2)) / (1 - 2 * SHARE))
    return np.array([SHARE, SHARE, 1 - 2 * SHARE]), np.array([-a, a, 0]), np.array([NARROW, NARROW, wide])


def sight(a):
    p, centre, width = modes(a)
    s = centre[:, None] + width[:, None] * NODE
    return p @ (1 / np.cosh(s) ** 2 - s * np.tanh(s)) @ WEIGHT


def unseen(n, m, rng):
    p, centre, width = modes(brentq(sight, 1.2, 1.78))
    mode = rng.choice(3, (n, m), p=p)
    return centre[mode] + width[mode] * rng.normal(size=(n, m))


def seen(n, m, rng):
    kinds = (
        rng.uniform(-1, 1, n) * 3**0.5,
        rng.laplace(size=n) / 2**0.5,
        rng.exponential(size=n) - 1,
        (rng.choice([-1, 1], n) + 0.4 * rng.normal(size=n)) / 1.16**0.5,
    )
    return np.stack(kinds[:m], axis=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=8)
    args = parser.parse_args()
    models = {
        "FastICA logcosh": FastICA(max_iter=1000, random_state=0),
        "FastICA cube": FastICA(fun="cube", max_iter=1000, random_state=0),
        "mercer kcca": KernelICA(contrast="kcca", random_state=0),
        "mercer kgv": KernelICA(random_state=0),
    }
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{args.n} samples, {args.seeds} seeds; Amari error")
    with threadpool_limits(1):
        for draw in (seen, unseen):
            for m in (2, 4):
                errors, times = {name: [] for name in models}, dict.fromkeys(models, 0.0)
                for seed in range(args.seeds):
                    rng = np.random.default_rng(seed)
                    S, A = draw(args.n, m, rng), rng.normal(size=(m, m))
                    for name, model in models.items():
                        start = perf_counter()
                        model.fit(S @ A.T)
                        times[name] += (perf_counter() - start) / args.seeds
                        errors[name].append(amari_error(model.components_ @ A))
                first = np.median(errors["FastICA logcosh"])
                for name in models:
                    middle, worst = np.median(errors[name]), max(errors[name])
                    print(
                        f"{draw.__name__:6s} m = {m}  {name:15s}  median {middle:.3f}  worst {worst:.3f}  "
                        f"FastICA's is {first / middle:5.1f} times as large   fit {times[name]:6.3f} s",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
