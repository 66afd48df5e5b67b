"""Small random graphs of every kind, on which kernels are compared with their definitions."""

import numpy as np
import pytest

from mercer.domains import Graph


def draw(rng, n, directed=False, labelled=True, weighted=False, density=0.4):
    i, j = np.nonzero(~np.eye(n, dtype=bool)) if directed else np.triu_indices(n, 1)
    kept = rng.random(len(i)) < density
    m = int(kept.sum())
    return Graph(
        n,
        np.stack([i[kept], j[kept]], axis=1),
        rng.choice(["C", "N"], n).tolist() if labelled else None,
        rng.integers(1, 3, m).tolist() if labelled else None,
        rng.normal(size=(n, 2)),
        rng.choice([0.5, 1.0, 1.7], m) if weighted else None,
        directed,
    )


@pytest.fixture(params=["plain", "labelled", "weighted", "directed"])
def graphs(request):
    rng = np.random.default_rng(7)
    kind = {
        "plain": {"labelled": False},
        "labelled": {},
        "weighted": {"weighted": True},
        "directed": {"directed": True, "weighted": True, "density": 0.25},
    }[request.param]
    return [draw(rng, n, **kind) for n in (1, 2, 3, 5, 6, 7, 8)]
