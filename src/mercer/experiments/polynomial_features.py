"""A polynomial kernel sees the moments of a distribution up to its degree."""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from numpy.polynomial.laguerre import laggauss
from numpy.polynomial.legendre import leggauss

from mercer import RKHS, Function
from mercer.kernels import Gaussian, Kernel, Polynomial

from .._palette import BLUE, GREY, ORANGE
from ._base import SLIDES, Draw, Result, experiment

NODES = 20  # quadrature nodes: exact for moments up to 39, and to five digits for the Gaussian kernel


def distributions() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Distributions with mean 0 and variance 1, as quadrature nodes and weights."""
    (x, v), (e, w), (u, q) = hermegauss(NODES), laggauss(NODES), leggauss(NODES)
    return {"normal": (x, v / v.sum()), "exponential": (e - 1, w), "uniform": (np.sqrt(3) * u, q / 2)}


def mean(kernel: Kernel, name: str) -> Function:
    """The kernel mean E k(·, X) of a distribution."""
    nodes, weights = distributions()[name]
    return RKHS(kernel).function(nodes[:, None], weights)


@experiment("higher-order", "Polynomial kernels see moments up to their degree", f"{SLIDES}, 1", minutes=0.1)
def higher_order(result: Result, quick: bool, draw: Draw) -> None:
    """k(y, X) = (yX + 1)ᵈ as a polynomial in y, and the distances of means in the RKHS."""
    degree, x = 4, 1.7
    section = RKHS(Polynomial(degree)).evaluation([x])
    y = np.linspace(-1, 1, 9)
    found = np.polynomial.polynomial.polyfit(y, section(y[:, None]), degree)
    for j in range(degree, -1, -1):
        remark = f"a = {found[j] / x**j:.4g} = ({degree} choose {j})"
        result.add(f"d = {degree}, X = {x}: coefficient of y^{j}", f"a X^{j}, a ≠ 0", f"{found[j]:.4f}", remark)
    degrees = range(1, 7)
    moments = {name: np.array([w @ z**j for j in range(7)]) for name, (z, w) in distributions().items()}
    curves = {}
    for other in ("exponential", "uniform"):
        gap = (moments["normal"] - moments[other]) ** 2
        curves[other] = [mean(Polynomial(d), "normal").distance(mean(Polynomial(d), other)) for d in degrees]
        first = next(d for d, distance in zip(degrees, curves[other], strict=True) if distance > 1e-6)
        closed = np.sqrt(sum(comb(first, j) * gap[j] for j in range(first + 1)))
        remark = f"distance {curves[other][first - 1]:.4f}; from moments {closed:.4f}"
        result.add(f"normal and {other}: first degree that differs", "moments up to d", first, remark)
        gaussian = mean(Gaussian(1.0), "normal").distance(mean(Gaussian(1.0), other))
        result.add("  Gaussian kernel: distance", "similar statistics", f"{gaussian:.4f}", "all moments at once")
    result.note(
        "All three distributions have mean 0 and variance 1. The distance of their means in the space of (yx + 1)ᵈ is "
        "√Σⱼ (d choose j)(mⱼ − m′ⱼ)², with m their moments. Means are computed by quadrature, which is exact here."
    )
    with draw("moments", ncols=2, figsize=(9.4, 3.9)) as (_, (left, right)):
        grid = np.linspace(-2, 2, 300)
        for d, shade in ((1, 0.35), (2, 0.55), (3, 0.75), (4, 1.0)):
            k = Polynomial(d)(grid[:, None], [[x]])[:, 0]
            left.plot(grid, k / np.abs(k).max(), color=BLUE, alpha=shade, label=f"d = {d}")
        left.axhline(0, color=GREY, linewidth=0.6)
        left.set(title=f"$k(y, X) = (yX + 1)^d$ for X = {x}, scaled", xlabel="y")
        left.legend(frameon=False)
        for (other, values), tint, marker in zip(curves.items(), (ORANGE, BLUE), "so", strict=True):
            right.plot(degrees, values, color=tint, marker=marker, markersize=5, label=f"normal and {other}")
        right.set_yscale("symlog", linthresh=1.0)
        right.legend(frameon=False)
        right.set(title="Distance of means in the space", xlabel="degree d", ylim=(-0.06, None))
