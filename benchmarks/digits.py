"""The digits of the lectures: what do the machines of the literature reach on MNIST's 10,000 test digits?

    Gaussian kernel, pixels on [−1, 1], C = 2, γ = 0.0039       98.35 %
    linear machine                                               93.16 %
    polynomial of degree 4, digits deskewed by their moments     98.9 % or more; also on raw pixels

For the polynomial, the mean digit is subtracted and digits are scaled to length 1; C and the kernel's offset are chosen
on training digits alone: fitted to 20,000 of them, evaluated on 10,000 others.
Run: python benchmarks/digits.py (MNIST comes from the folder in MERCER_DATA)
"""

import gzip
import os
from pathlib import Path
from time import perf_counter

import numpy as np

from mercer import SVC
from mercer.kernels import Polynomial

GRID = [(C, offset) for offset in (0.1, 0.25, 0.5, 1.0) for C in (1.0, 5.0, 25.0)]


def load(folder):
    """Training and test digits as bytes, images of 28 × 28 in rows, and their labels."""
    parts = []
    for part in ("train", "t10k"):
        for kind, skip in (("images-idx3", 16), ("labels-idx1", 8)):
            with gzip.open(Path(folder) / "mnist" / f"{part}-{kind}-ubyte.gz") as file:
                parts.append(np.frombuffer(file.read(), np.uint8)[skip:])
    return parts[0].reshape(-1, 784), parts[1], parts[2].reshape(-1, 784), parts[3]


def deskew(images):
    """Images on [0, 1], sheared and shifted so that the ink is centred and its row and column are uncorrelated.

    Each row shifts a pixel by μ₁₁/μ₂₀ columns, from the moments of the ink, with linear interpolation between pixels.
    """
    side = int(np.sqrt(images.shape[1]))
    row, column = np.mgrid[:side, :side].astype(np.float32)
    out = np.empty((len(images), side * side), np.float32)
    for start in range(0, len(images), 2000):
        V = images[start : start + 2000].reshape(-1, side, side).astype(np.float32) / 255
        mass = V.sum(axis=(1, 2))
        middle = [(V * grid).sum(axis=(1, 2)) / mass for grid in (row, column)]
        dr, dc = row - middle[0][:, None, None], column - middle[1][:, None, None]
        shear = (V * dr * dc).sum(axis=(1, 2)) / (V * dr**2).sum(axis=(1, 2))
        centre = (side - 1) / 2
        r = row[None] - centre + middle[0][:, None, None]
        c = column[None] - centre + middle[1][:, None, None] + shear[:, None, None] * (row[None] - centre)
        out[start : start + 2000] = _interpolate(V, r, c).reshape(len(V), -1)
    return out


def _interpolate(V, r, c):
    """V at fractional rows and columns, 0 outside."""
    padded = np.pad(V, ((0, 0), (1, 2), (1, 2)))
    n, side = len(V), V.shape[1]
    r, c = np.clip(r + 1, 0, side + 1), np.clip(c + 1, 0, side + 1)
    r0, c0 = r.astype(int), c.astype(int)
    fr, fc = r - r0, c - c0
    image = np.arange(n)[:, None, None]
    top = (1 - fc) * padded[image, r0, c0] + fc * padded[image, r0, c0 + 1]
    bottom = (1 - fc) * padded[image, r0 + 1, c0] + fc * padded[image, r0 + 1, c0 + 1]
    return (1 - fr) * top + fr * bottom


def directions(X, mean):
    """Digits minus the mean digit, scaled to length 1, so that products are between −1 and 1."""
    X = X - mean
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)


def choose(X, y):
    """C and offset with the smallest error on held-out training digits."""
    order = np.random.default_rng(0).permutation(len(X))
    fit, judge = order[:20_000], order[-10_000:]
    errors = {}
    for C, offset in GRID:
        model = SVC(C=C, kernel=Polynomial(4, offset=offset), cache_size=4000).fit(X[fit], y[fit])
        errors[C, offset] = float(np.mean(model.predict(X[judge]) != y[judge]))
    return min(errors, key=errors.get), errors


def report(name, model, X, y, X_new, y_new):
    start = perf_counter()
    model.fit(X, y)
    middle = perf_counter()
    right = 100 * np.mean(model.predict(X_new) == y_new)
    print(f"{name:56s} {right:.2f} %   fit {middle - start:.1f} s, predict {perf_counter() - middle:.1f} s", flush=True)


def main():
    X, y, X_new, y_new = load(os.environ["MERCER_DATA"])
    signed = [Z.astype(np.float32) / 127.5 - 1 for Z in (X, X_new)]
    report("Gaussian, C = 2, gamma = 0.0039", SVC(C=2, gamma=0.0039, cache_size=4000), signed[0], y, signed[1], y_new)
    report("linear, C = 1", SVC(C=1, kernel="linear", cache_size=4000), signed[0], y, signed[1], y_new)
    for name, Z, Z_new in (
        ("raw", X.astype(np.float32) / 255, X_new.astype(np.float32) / 255),
        ("deskewed", deskew(X), deskew(X_new)),
    ):
        mean = Z.mean(axis=0)
        Z, Z_new = directions(Z, mean), directions(Z_new, mean)
        (C, offset), errors = choose(Z, y)
        print(f"  {name}: held-out error {100 * errors[C, offset]:.2f} % at C = {C:g}, offset = {offset:g}")
        model = SVC(C=C, kernel=Polynomial(4, offset=offset), cache_size=4000)
        report(f"polynomial of degree 4, {name}, C = {C:g}, offset = {offset:g}", model, Z, y, Z_new, y_new)


if __name__ == "__main__":
    main()
