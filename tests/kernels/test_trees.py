"""Tree kernels against the enumeration of all subtrees and fragments."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import mercer
from mercer.domains import Trees
from mercer.kernels.trees import SubsetTree, Subtree

TREES = Trees().sample(np.random.default_rng(8), 14)
SHARED = ("N", "x")
TREES += [("A", SHARED, ("B", ("B", SHARED)), SHARED), ("A",), ("A", ("B",), ("B",)), ("A", "B")]


def nodes(tree):
    if isinstance(tree, tuple):
        yield tree
        for child in tree[1:]:
            yield from nodes(child)


def size(tree):
    return sum(1 for _ in nodes(tree))


def fragments(node):
    """Every fragment with this node at its top, and its productions: children that are nodes are cut or grown."""
    choices = [
        [(child, 0)] if not isinstance(child, tuple) else [((child[0], "cut"), 0), *fragments(child)]
        for child in node[1:]
    ]
    for picked in product(*choices):
        yield (node[0], *(p for p, _ in picked), "grown"), 1 + sum(m for _, m in picked)


def counted(trees, features):
    counts = [Counter(f for node in nodes(tree) for f in features(node)) for tree in trees]
    return lambda decay: np.array(
        [[sum(decay ** f[1] * a[f] * b[f] for f in a) for b in counts] for a in counts], dtype=float
    )


@pytest.mark.parametrize("decay", [1.0, 0.3])
def test_complete_subtrees(decay):
    expected = counted(TREES, lambda node: [(node, size(node))])(decay)
    np.testing.assert_allclose(Subtree(decay)(TREES), expected, rtol=1e-13)


@pytest.mark.parametrize("decay", [1.0, 0.3])
def test_fragments(decay):
    expected = counted(TREES, fragments)(decay)
    np.testing.assert_allclose(SubsetTree(decay)(TREES), expected, rtol=1e-13)
    np.testing.assert_allclose(SubsetTree(decay)(TREES[3:], TREES[:5]), expected[3:, :5], rtol=1e-13)
    np.testing.assert_allclose(SubsetTree(decay).diag(TREES), np.diagonal(expected), rtol=1e-13)


def test_the_example_of_collins_and_duffy():
    """NP → D N over "the apple": six fragments."""
    tree = ("NP", ("D", "the"), ("N", "apple"))
    assert SubsetTree(1.0)([tree]).item() == 6.0


def test_one_tuple_in_several_places():
    """Python may keep equal constants as one object, at different depths."""
    apart = ("A", ("N", "x"), ("B", ("B", ("N", "x"))), ("N", "x"))
    for k in (Subtree(0.5), SubsetTree(0.5)):
        np.testing.assert_array_equal(k([TREES[14]], TREES), k([apart], TREES))


def test_a_leaf_shares_nothing():
    assert SubsetTree()(["x"], ["x"]).item() == Subtree()(["x"], ["x"]).item() == 0.0
    np.testing.assert_allclose(SubsetTree().normalized()(["x", ("A", "x")]), [[0.0, 0.0], [0.0, 1.0]], rtol=1e-15)


def test_a_node_without_children_is_no_leaf():
    assert SubsetTree(1.0)([("S", ("x",))], [("S", "x"), ("S", ("x",))]).tolist() == [[0.0, 3.0]]


def test_deep_trees():
    deep = "x"
    for _ in range(300):
        deep = ("A", deep)
    assert Subtree()([deep]).item() == 300.0
    # nodes with a node below: C = λ(1 + C of the pair below), 0 at the lowest of either
    C = np.zeros((300, 300))
    C[0, 0] = 0.5
    for i in range(1, 300):
        C[i, 1:] = 0.5 * (1 + C[i - 1, :-1])
    assert SubsetTree(0.5)([deep]).item() == pytest.approx(C.sum(), rel=1e-12)


def test_refusals():
    with pytest.raises(TypeError, match=r"Subtree: X\[0\] has the node \['A', 'x'\]; a node is a tuple"):
        Subtree()([["A", "x"]])
    with pytest.raises(ValueError, match=r"has the node \(\(.*; a node is a tuple \(label"):
        Subtree()([(("A", "x"), "y")])
    with pytest.raises(ValueError, match="decay = 2"):
        SubsetTree(2)(["x"])


def test_an_estimator_on_trees():
    X = [("S", ("NP", noun), ("VP", ("V", verb))) for noun in ("cat", "dog") for verb in ("runs", "sits", "eats")]
    y = [x[1][1] == "cat" for x in X]
    model = mercer.SVC(kernel=SubsetTree().normalized(), C=10).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.predict([("S", ("NP", "cat"), ("VP", ("V", "barks")))]).tolist() == [True]


def test_trees_deeper_than_recursion():
    one, other = "x", "y"
    for _ in range(3000):
        one, other = ("A", one), ("A", other)
    np.testing.assert_array_equal(Subtree()([one, other]), [[3000.0, 0.0], [0.0, 3000.0]])
    # only the lowest nodes have other productions, so that C = 1 + C of the pair below ends at the lower of the two
    nodes = np.arange(1, 3001)
    above = np.minimum.outer(nodes - 1, nodes - 1).sum()
    assert SubsetTree(1.0)([one], [other])[0, 0] == above


def test_what_overflows_is_refused():
    tree = ("A",)
    for _ in range(11):
        tree = ("A", tree, tree)
    with pytest.raises(ValueError, match="SubsetTree: decay = 1 overflows on trees of this size; lower it"):
        SubsetTree(1.0)([tree])
