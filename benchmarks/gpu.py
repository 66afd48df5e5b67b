"""What does K @ V cost on one GPU when K is never stored? Ours next to a loop over blocks of rows in plain torch.

Run: python benchmarks/gpu.py [--peer 200000]

Times are the best after a warm-up, with 16 columns in V; the loop runs up to --peer points, and above for the
Gaussian kernel in 16 columns only. Errors are relative to float64, on 512 rows.
"""

import argparse
import sys
from time import perf_counter

import torch

from mercer.kernels import Gaussian, Matern, RationalQuadratic

BLOCK = 1 << 28  # entries of the loop's blocks
PROFILES = {
    Gaussian: lambda s: s.mul_(-0.5).exp_(),
    Matern: lambda s: (z := s.mul_(3).sqrt_(), z.neg().exp_().mul_(z.add_(1)))[1],
    RationalQuadratic: lambda s: s.mul_(0.5).add_(1).reciprocal_(),
}


def loop(kernel, X, V):
    """K @ V with K = φ(s), s = ‖x‖² + ‖y‖² − 2xᵀy, for lengthscale 1."""
    squares, step = (X * X).sum(dim=1), max(1, BLOCK // len(X))
    profile = PROFILES[type(kernel)]
    out = torch.empty_like(V)
    for r in (slice(i, i + step) for i in range(0, len(X), step)):
        s = torch.addmm(squares, X[r], X.T, alpha=-2).add_(squares[r, None]).clamp_(min=0)
        out[r] = profile(s) @ V
    return out


def timed(f, repeats):
    """The result of f and its best time after the first, if there are several."""
    best = float("inf")
    for i in range(repeats):
        torch.cuda.synchronize()
        start = perf_counter()
        out = f()
        torch.cuda.synchronize()
        best = perf_counter() - start if i < 2 else min(best, perf_counter() - start)
    return out, best


def error(kernel, X, V, out):
    rows = torch.randperm(len(X), device=X.device)[:512]
    exact = torch.zeros((len(rows), V.shape[1]), dtype=torch.float64, device=X.device)
    for start in range(0, len(X), 1 << 16):
        part = X[start : start + (1 << 16)].double()
        s = torch.cdist(X[rows].double(), part, compute_mode="donot_use_mm_for_euclid_dist") ** 2
        exact += PROFILES[type(kernel)](s) @ V[start : start + (1 << 16)].double()
    return float((out[rows].double() - exact).norm() / exact.norm())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peer", type=int, default=200_000, help="the most points for the loop in every setting")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("This benchmark needs a CUDA device.")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, float32, 16 columns in V")
    torch.manual_seed(0)
    for n in (200_000, 1_000_000):
        for d in (16, 64, 128):
            X = torch.randn(n, d, device="cuda") / d**0.5
            V = torch.randn(n, 16, device="cuda")
            for kernel in (Gaussian(), Matern(1.5), RationalQuadratic()):
                values = kernel.bind(X)
                out, seconds = timed(lambda values=values, V=V: values.product(V), 4 if n < 500_000 else 2)
                line = f"n = {n:8,} d = {d:3} {kernel!s:34} {seconds:7.3f} s, error {error(kernel, X, V, out):.0e}"
                if n <= args.peer or (d == 16 and type(kernel) is Gaussian):
                    out, peer = timed(lambda kernel=kernel, X=X, V=V: loop(kernel, X, V), 2 if n < 500_000 else 1)
                    line += f"; loop {peer:7.3f} s, error {error(kernel, X, V, out):.0e}: {peer / seconds:.1f} times"
                print(line, flush=True)


if __name__ == "__main__":
    main()
