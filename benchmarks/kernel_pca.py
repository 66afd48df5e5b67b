"""The ten leading kernel principal components of 10,000 digits: time, memory and accuracy against scikit-learn.

Gaussian kernel, 784 pixels in float32 (MNIST from the folder in MERCER_DATA, otherwise random clusters). Each contender
runs in its own process with an address space of 8 GB; memory is the peak beyond the data. For each eigenpair (λ, v)
found, in double precision, the residual is ‖K̃v − λv‖/λ₁ and the error |λ − vᵀK̃v|/λ₁. --large runs Mercer alone on
60,000 digits, whose matrix would take 14 GB, which takes minutes. scikit-learn's "auto" is its dense solver here and
also takes minutes: --auto.
Run: python benchmarks/kernel_pca.py [--n 10000] [--large] [--auto]
"""

import argparse
import gzip
import os
import pickle
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np

K = 10
GAMMA = 0.02
LIMIT = 8 * 10**9
UNIT = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes there, in kB on Linux


def data(n):
    """Digits with pixels on [0, 1], or points in ten clusters of the same shape."""
    folder = os.environ.get("MERCER_DATA")
    if folder:
        with gzip.open(Path(folder) / "mnist" / "train-images-idx3-ubyte.gz") as file:
            file.read(16)
            return np.frombuffer(file.read(784 * n), np.uint8).reshape(n, 784).astype(np.float32) / np.float32(255)
    rng = np.random.default_rng(0)
    shapes = rng.normal(size=(10, 8, 784)).astype(np.float32) / 20
    X = rng.uniform(0, 0.02, size=(n, 784)).astype(np.float32)
    for row, digit in zip(X, rng.integers(10, size=n), strict=True):
        row += rng.normal(0.5, 0.4, size=8).astype(np.float32) @ shapes[digit]
    return X


def contender(name):
    """An unfitted estimator, with all the code that it needs loaded."""
    if name == "mercer":
        from mercer.methods.pca import KernelPCA

        return KernelPCA(K, kernel="rbf", gamma=GAMMA, copy_X=False, random_state=0)
    from sklearn.decomposition import KernelPCA

    return KernelPCA(K, kernel="rbf", gamma=GAMMA, eigen_solver=name, copy_X=False, random_state=0)


def peak():
    """The peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT


def child(name, n, file):
    """Fit in this process, and write the result to a file."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    X = data(n)
    contender(name).fit(X[:4000])  # enough to take the same path, so that compiled code is loaded
    before, start, cpu = peak(), perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_utime
    try:
        model = contender(name).fit(X)
    except MemoryError:
        Path(file).write_bytes(pickle.dumps(None))
        return
    seconds, cpu = perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_utime - cpu
    found = (seconds, cpu, peak() - before, model.eigenvalues_, model.eigenvectors_)
    Path(file).write_bytes(pickle.dumps(found))


def measure(name, n):
    """The time, memory and result of a contender; None if memory was insufficient."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found"
        subprocess.run([sys.executable, __file__, "--child", name, str(file), "--n", str(n)], check=True)
        return pickle.loads(file.read_bytes())


def errors(X, found):
    """Residual and error of each contender's eigenpairs, in double precision, from one pass over the matrix."""
    from mercer.gram import Centered, Lazy
    from mercer.kernels import Gaussian

    vectors = np.concatenate([f[4] for f in found], axis=1).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=0)
    images = Centered(Lazy()).build(Gaussian.from_gamma(GAMMA), X.astype(np.float64)) @ vectors
    for j, f in enumerate(found):
        V, KV, values = vectors[:, j * K : (j + 1) * K], images[:, j * K : (j + 1) * K], f[3].astype(np.float64)
        residual = np.linalg.norm(KV - V * values, axis=0).max() / values[0]
        yield residual, np.abs(values - np.sum(V * KV, axis=0)).max() / values[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--large", action="store_true", help="60,000 samples, ours and the peer's refusal")
    parser.add_argument("--auto", action="store_true", help="scikit-learn's auto, too")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    n = 60_000 if args.large else args.n
    if args.child:
        child(args.child[0], args.n, args.child[1])
        return
    names = ["mercer", "arpack"] if args.large else ["mercer", "arpack", "randomized", *["auto"] * args.auto]
    found = {name: measure(name, n) for name in names}
    print(f"{K} components, n = {n}, d = 784, float32; the matrix takes {4 * n * n / 1e9:.2f} GB")
    done = {name: f for name, f in found.items() if f is not None}
    judged = dict(zip(done, errors(data(n), list(done.values())), strict=True)) if not args.large else {}
    for name, f in found.items():
        label = name if name == "mercer" else f"scikit-learn, {name}"
        if f is None:
            print(f"{label:>25}: does not fit into {LIMIT / 1e9:.0f} GB")
            continue
        line = f"{label:>25}: {f[0]:6.1f} s ({f[1]:6.1f} s of processor time), {f[2] / 1e9:.2f} GB beyond the data"
        if name in judged:
            line += f", residual {judged[name][0]:.1e}, eigenvalue error {judged[name][1]:.1e}"
        ours = found["mercer"]
        line += f"; ratios {f[0] / ours[0]:.1f} in time and {f[2] / ours[2]:.1f} in memory" if name != "mercer" else ""
        print(line)


if __name__ == "__main__":
    main()
