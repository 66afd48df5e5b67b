"""What does a cubic smoothing spline cost at a given penalty? Time, memory and accuracy against SciPy, in one run.

SciPy solves normal equations in B-splines, whose condition number grows with n and λ. For both, the output therefore
shows the optimality conditions Σ rᵢ = Σ xᵢ rᵢ = 0 of the residuals r, which tell whose error causes a difference. Even
spacing suits SciPy best.

Run: python benchmarks/spline.py [--n 1000000] [--lam 1e-17 1e-9] [--uneven]
"""

import argparse
import re
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np
from scipy.interpolate import make_smoothing_spline

from mercer import SmoothingSpline


def best_of(function, repeats):
    times = []
    for _ in range(repeats):
        start = perf_counter()
        result = function()
        times.append(perf_counter() - start)
    return min(times), result


def sample(n, uneven):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(size=n)) if uneven else np.linspace(0, 1, n)
    return x, np.sin(12 * x) + 0.3 * rng.normal(size=n)


def peak():
    """The peak memory of this process, in bytes (Linux)."""
    return 1024 * int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])


def memory(ours, n, uneven, lam):
    """The increase in peak memory due to a fit, in bytes per sample."""
    x, y = sample(n, uneven)
    SmoothingSpline(alpha=1.0).fit(x[:10], y[:10])
    before = peak()
    SmoothingSpline(alpha=lam).fit(x, y) if ours else make_smoothing_spline(x, y, lam=lam)
    return (peak() - before) / n


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=1_000_000)
    parser.add_argument("--lam", type=float, nargs="+", default=[1e-17, 1e-9, 1e-3])
    parser.add_argument("--uneven", action="store_true", help="random points")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()

    x, y = sample(args.n, args.uneven)
    SmoothingSpline(alpha=1.0).fit(x[:10], y[:10])  # compiles, or loads what was compiled

    for lam in args.lam:
        ours, model = best_of(lambda lam=lam: SmoothingSpline(alpha=lam).fit(x, y), args.repeats)
        theirs, spline = best_of(lambda lam=lam: make_smoothing_spline(x, y, lam=lam), args.repeats)
        f, g = model.predict(x), spline(x)
        print(f"n = {args.n}, lambda = {lam:g}, {model.edf_:.1f} degrees of freedom")
        print(f"  mercer {ours:.2f} s (with leverages and criteria), SciPy {theirs:.2f} s: ratio {theirs / ours:.1f}")
        print(f"  largest difference {np.max(np.abs(f - g)):.1e}")
        for name, values in (("mercer", f), ("SciPy", g)):
            r = y - values
            print(f"  {name}: |Σr| / Σ|r| = {abs(r.sum()) / np.abs(r).sum():.1e}, |Σxr| / Σ|r| = "
                  f"{abs(r @ x) / np.abs(r).sum():.1e}")  # fmt: skip
    for name, ours in (("mercer", True), ("SciPy", False)):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            used = pool.submit(memory, ours, args.n, args.uneven, args.lam[0]).result()
        print(f"memory of {name}: {used:.0f} bytes per sample")
    start = perf_counter()
    model = SmoothingSpline().fit(x, y)
    print(f"by generalised cross-validation: {perf_counter() - start:.1f} s, {model.edf_:.1f} degrees of freedom")


if __name__ == "__main__":
    main()
