"""The values of GraKeL on twelve molecules, where they follow the definition; the file says where they do not."""

import numpy as np
import pytest

from mercer.domains import Graph
from mercer.kernels.graphs import (
    EdgeHistogram,
    Graphlet,
    OptimalAssignment,
    RandomWalk,
    ShortestPath,
    VertexHistogram,
    WeisfeilerLehman,
)

SAME = {
    "vertex_histogram": VertexHistogram(),
    "weisfeiler_lehman_3": WeisfeilerLehman(3),
    "weisfeiler_lehman_3_normalized": WeisfeilerLehman(3).normalized(),
    "optimal_assignment_3": OptimalAssignment(3),
    "shortest_path": ShortestPath(),
}
UNLABELLED = {
    "shortest_path_unlabelled": ShortestPath(),
    "random_walk_baseline": RandomWalk(0.05),
    "random_walk_fast": RandomWalk(0.05),
}


@pytest.fixture(scope="module")
def frozen(oracle):
    return oracle("grakel_mutag")


@pytest.fixture(scope="module")
def molecules(frozen):
    return [Graph(g["n"], g["edges"], g["labels"], g["edge_labels"]) for g in frozen["graphs"]]


@pytest.mark.parametrize("name", SAME)
def test_labelled(frozen, molecules, name) -> None:
    assert np.allclose(SAME[name](molecules), frozen["values"][name]["K"], rtol=1e-14, atol=0)


@pytest.mark.parametrize("name", UNLABELLED)
def test_unlabelled(frozen, name) -> None:
    bare = [Graph(g["n"], g["edges"]) for g in frozen["graphs"]]
    # its fast walks end after a residual of 1e-6
    assert np.allclose(UNLABELLED[name](bare), frozen["values"][name]["K"], rtol=1e-11, atol=0)


def test_edges_count_in_both_directions_there(frozen, molecules) -> None:
    assert np.array_equal(4 * EdgeHistogram()(molecules), frozen["values"]["edge_histogram"]["K"])


def test_labelled_walks_of_length_zero_start_at_any_pair_there(frozen, molecules) -> None:
    unlike = [[sum(a != b for a in g.labels for b in h.labels) for h in molecules] for g in molecules]
    K = frozen["values"]["random_walk_labelled_baseline"]["K"]
    assert np.allclose(RandomWalk(0.05)(molecules) + unlike, K, rtol=1e-12, atol=0)


def test_where_it_is_wrong(frozen, molecules) -> None:
    """Should a later file be right there, these can become comparisons."""
    walks, exact = (frozen["values"][f"random_walk_labelled_{how}"]["K"] for how in ("fast", "baseline"))
    assert np.abs(walks - exact).max() > 1
    first = frozen["values"]["graphlet_3"]["K"]
    paths = np.array([sum(d * (d - 1) // 2 for d in np.diff(g.indptr).tolist()) for g in molecules])  # no triangles
    assert np.array_equal(Graphlet(3, connected=True)(molecules), np.outer(paths, paths))
    assert not np.array_equal(first, np.outer(paths, paths))
