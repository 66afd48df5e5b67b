import numpy as np
import pytest

from mercer.kernels import Delta, Gaussian, parse
from mercer.kernels.tasks import Shared, Tasks
from mercer.testing import check_kernel


@pytest.mark.parametrize("kernel", [*Shared.examples(), *Tasks.examples()], ids=str)
def test_laws(kernel, xp):
    check_kernel(kernel, namespaces=[xp])


def test_shared_is_a_constant_and_delta():
    s, t = ["a", "b", "a", "c"], ["c", "a"]
    np.testing.assert_allclose(Shared(0.3)(s, t), 0.3 + 0.7 * Delta()(s, t), rtol=1e-15)
    np.testing.assert_array_equal(Shared(0.0)(s), Delta()(s))
    np.testing.assert_array_equal(Shared(1.0)(s), np.ones((4, 4)))
    assert Shared(0.3).definiteness.strict and not Shared(1.0).definiteness.strict


def test_norm_of_the_shared_part():
    # the squared norm is the least of ‖g₀‖²/σ + Σ‖g_t‖²/(1 − σ) over f_t = g₀ + g_t: minimised here by least squares
    f, share = np.array([1.0, -2.0, 0.5]), 0.3
    A = np.vstack([np.r_[1 / np.sqrt(share)], np.ones((3, 1)) / np.sqrt(1 - share)])
    b = np.r_[0.0, f / np.sqrt(1 - share)]
    least = np.linalg.lstsq(A, b)[1][0]
    assert f @ np.linalg.solve(Shared(share)(["a", "b", "c"]), f) == pytest.approx(least, rel=1e-12)


def test_a_new_task_is_the_mean_of_the_others():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(4, 3))
    B, labels = features @ features.T, ["a", "b", "c", "d"]
    mean = features.mean(axis=0)
    k = Tasks(B, labels)
    np.testing.assert_allclose(k(["new", "b"], labels), np.stack([mean, features[1]]) @ features.T, atol=1e-12)
    np.testing.assert_allclose(k(["new"], ["newer"]), [[mean @ mean]], rtol=1e-12)
    np.testing.assert_array_equal(Tasks(B)([2, 0]), B[np.ix_([2, 0], [2, 0])])


def test_graph_penalises_differences():
    A = np.array([[0, 2.0, 0], [2, 0, 1], [0, 1, 0]])
    f = np.array([1.0, 3.0, -1.0])
    penalty = 2 * (1 - 3) ** 2 + 1 * (3 + 1) ** 2 + 0.5 * (f @ f)
    B = Tasks.from_graph(A + np.eye(3), own=0.5)([0, 1, 2])
    assert f @ np.linalg.solve(B, f) == pytest.approx(penalty, rel=1e-12)


def test_text():
    for kernel in (Gaussian() @ Shared(0.25), Gaussian() @ Tasks([[2.0, 1.0], [1.0, 2.0]], ["a", "b"])):
        assert parse(str(kernel)) == kernel


def test_refusals():
    with pytest.raises(ValueError, match=r"Shared: share = 2 must be >= 0 and <= 1"):
        Shared(2)(["a"])
    with pytest.raises(ValueError, match="Tasks: not symmetric"):
        Tasks([[1.0, 2.0], [0.0, 1.0]])([0])
    with pytest.raises(ValueError, match=r"Tasks: labels = \['a'\] must be 2 distinct labels"):
        Tasks(np.eye(2), ["a"])(["a"])
    with pytest.raises(ValueError, match="Tasks: X has 2 columns; pass one label for each sample"):
        Tasks(np.eye(2))([[0, 1]])
    with pytest.raises(ValueError, match="adjacency of shape"):
        Tasks.from_graph([[0, -1], [-1, 0]])
    with pytest.raises(ValueError, match="own = 0 must be > 0"):
        Tasks.from_graph(np.zeros((2, 2)), own=0)
