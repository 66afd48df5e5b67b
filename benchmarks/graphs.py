"""How fast are kernel matrices of graphs against GraKeL, and what does Weisfeiler–Lehman reach on MUTAG?

Collections in the TU format from the folder in MERCER_DATA. Both start from graphs in memory (Mercer's `Graph` objects
without cached features, GraKeL's pairs of arcs and labels) and produce the same matrix; `again` is a second call, with
cached features. Values are compared. Walks are on unlabelled graphs, where GraKeL's values are correct.
With --accuracy: ten times tenfold nested cross-validation of depth and C on MUTAG, about half a minute.
Run: python benchmarks/graphs.py [--accuracy] [--quick]
"""

import argparse
import os
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.model_selection import StratifiedKFold

from mercer import SVC
from mercer.datasets import load_tu
from mercer.domains import Graph
from mercer.kernels._structured import clear_cache
from mercer.kernels.graphs import RandomWalk, ShortestPath, WeisfeilerLehman
from mercer.selection import KernelSearchCV

try:
    import grakel
except ImportError:
    grakel = None


def given(g):
    """A graph for GraKeL: arcs with weight 1, and node labels."""
    source = np.repeat(np.arange(g.n), np.diff(g.indptr)).tolist()
    arcs = {v: {} for v in range(g.n)}
    for u, v in zip(source, g.indices.tolist(), strict=True):
        arcs[u][v] = 1.0
    return [arcs, dict(enumerate(g.labels or [0] * g.n))]


def timed(work):
    start = perf_counter()
    value = work()
    return perf_counter() - start, value


def race(title, kernel, peer, graphs):
    """Both matrices, their times, and the largest relative difference."""
    kernel(graphs[:60])  # compiles
    clear_cache()
    ours, K = timed(lambda: kernel(graphs))
    again, _ = timed(lambda: kernel(graphs))
    line = f"{title:<44} mercer {ours:7.2f} s, again {again:6.2f} s"
    if peer is not None:
        data = [given(g) for g in graphs]
        theirs, L = timed(lambda: peer.fit_transform(data))
        error = np.abs(K - L).max() / np.abs(L).max()
        line += f"; GraKeL {theirs:7.2f} s, ratio {theirs / ours:6.1f}, difference {error:.0e}"
    print(line, flush=True)


def accuracy(data):
    """The mean accuracy of ten times ten folds, with nested parameter selection."""
    X, y = data.graphs, data.y
    grid = {"kernel__kernel__iterations": range(6), "C": [0.1, 1, 10, 100, 1000]}
    shares = []
    for seed in range(10):
        right = 0
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(y, y):
            inside = StratifiedKFold(5, shuffle=True, random_state=0)
            search = KernelSearchCV(SVC(kernel=WeisfeilerLehman().normalized()), grid, cv=inside)
            search.fit([X[i] for i in train], y[train])
            right += np.sum(search.predict([X[i] for i in test]) == y[test])
        shares.append(right / len(y))
    return np.mean(shares), np.std(shares)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--accuracy", action="store_true", help="nested cross-validation on MUTAG")
    parser.add_argument("--quick", action="store_true", help="without NCI1")
    args = parser.parse_args()
    folder = os.environ.get("MERCER_DATA")
    if not folder:
        raise SystemExit("Set MERCER_DATA to the folder of the data sets.")
    names = ["MUTAG", "PROTEINS"] + ["NCI1"] * (not args.quick)
    data = {name: load_tu(Path(folder) / "graphs" / f"{name}.zip") for name in names}
    if grakel is None:
        print("GraKeL is not installed; times are for Mercer alone.")
    else:
        print(f"GraKeL {grakel.__version__}")

    def peer(name, **options):
        return None if grakel is None else getattr(grakel, name)(**options)

    for name, d in data.items():
        title = f"Weisfeiler–Lehman, 5 iterations, {name} ({len(d.y)})"
        race(title, WeisfeilerLehman(5), peer("WeisfeilerLehman", n_iter=5), d.graphs)
    race("shortest paths, MUTAG (188)", ShortestPath(), peer("ShortestPath"), data["MUTAG"].graphs)
    race("shortest paths, PROTEINS (first 200)", ShortestPath(), peer("ShortestPath"), data["PROTEINS"].graphs[:200])
    bare = [Graph(g.n, g.edges) for g in data["MUTAG"].graphs[:60]]
    race("random walks, MUTAG (first 60)", RandomWalk(0.05), peer("RandomWalk", lamda=0.05), bare)
    if args.accuracy:
        seconds, (mean, spread) = timed(lambda: accuracy(data["MUTAG"]))
        print(
            f"MUTAG, 10 × 10 nested folds: {100 * mean:.1f} % ± {100 * spread:.1f} between repetitions, {seconds:.0f} s"
        )


if __name__ == "__main__":
    main()
