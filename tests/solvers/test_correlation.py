"""The eigenproblem of canonical correlation on ranges: against the generalised problem as it is written in papers."""

import numpy as np
import pytest
from scipy import linalg

from mercer.gram import Dense, IncompleteCholesky, LowRank
from mercer.gram.centered import CenteredGram
from mercer.kernels import Gaussian, Linear, Precomputed
from mercer.solvers.correlation import Canonical, Pairing, Range, mean_correlations, p_values, range_of

rng = np.random.default_rng(3)
N = 30
SOURCE = rng.normal(size=(N, 1))
VIEWS = [np.hstack([SOURCE + 0.3 * rng.normal(size=(N, 1)), rng.normal(size=(N, d))]) for d in (1, 2, 1)]
KERNELS = [Gaussian(1.0), Gaussian(2.0), Gaussian(0.7)]
EPSILON = [0.3, 2.0, 1.0]
GRAMS = [CenteredGram(Dense().build(k, X)) for k, X in zip(KERNELS, VIEWS, strict=True)]
RANGES = [range_of(gram) for gram in GRAMS]
SHRINKAGE = [view.shrinkage(e) for view, e in zip(RANGES, EPSILON, strict=True)]


def brute_force(m):
    """Correlations and coefficients by the generalised eigenproblem, on what is orthogonal to 1, where K̃ is regular."""
    H = np.eye(N) - 1 / N
    Q = linalg.null_space(np.ones((1, N)))
    K = [H @ k(X) @ H for k, X in zip(KERNELS[:m], VIEWS, strict=False)]
    zero = np.zeros((N - 1, N - 1))
    A = np.block([[zero if i == j else Q.T @ K[i] @ K[j] @ Q for j in range(m)] for i in range(m)])
    B = linalg.block_diag(*(Q.T @ (Ki @ Ki + e * Ki) @ Q for Ki, e in zip(K, EPSILON, strict=False)))
    values, vectors = linalg.eigh(A, B)
    return values[::-1] / (m - 1), [Q @ part for part in np.split(vectors[:, ::-1], m)]


@pytest.mark.parametrize("m", [2, 3])
def test_equals_the_generalised_eigenproblem(m) -> None:
    pairing = Pairing([view.vectors for view in RANGES[:m]])
    found = pairing.solve(SHRINKAGE[:m], 4)
    values, parts = brute_force(m)
    assert np.allclose(found.values, values[:4], atol=1e-9)
    for gram, view, t, epsilon, part in zip(GRAMS, RANGES, found.coordinates, EPSILON, parts, strict=False):
        a, K = view.coefficients(view.shrinkage(epsilon)[:, None] * t), gram.dense()
        f, g = K @ a, K @ part[:, :4]  # values on the sample
        cosines = np.sum(f * g, axis=0) / np.linalg.norm(f, axis=0) / np.linalg.norm(g, axis=0)
        assert np.allclose(np.abs(cosines), 1, atol=1e-8)
        penalised = np.sum(a * ((K @ K + epsilon * K) @ a), axis=0)
        assert np.allclose(penalised, np.sum(t**2, axis=0), rtol=1e-8)


@pytest.mark.parametrize("m", [2, 3])
def test_values_alone_are_those_of_the_solution(m) -> None:
    pairing = Pairing([view.vectors for view in RANGES[:m]])
    every = pairing.values(SHRINKAGE[:m])
    assert len(every) == pairing.most
    assert np.allclose(every, pairing.solve(SHRINKAGE[:m], pairing.most).values, atol=1e-7)
    assert np.allclose(pairing.values(SHRINKAGE[:m], 3), every[:3], atol=1e-12)


@pytest.mark.parametrize("shape", [(40, 60), (60, 40)])
def test_a_few_components_equal_those_of_all(shape) -> None:
    U, V = (linalg.orth(rng.normal(size=(80, r))) for r in shape)
    D = [np.linspace(1, 0.1, r) for r in shape]
    few, every = (Pairing([U, V]).solve(D, k) for k in (3, 40))
    assert np.allclose(few.values, every.values[:3], atol=1e-12)
    for a, b in zip(few.coordinates, every.coordinates, strict=True):
        assert np.allclose(np.abs(np.sum(a * b[:, :3], axis=0)), 1, atol=1e-9)


def test_vanishing_correlations_have_orthonormal_coordinates() -> None:
    Q = linalg.qr(rng.normal(size=(80, 80)))[0]
    U, V = Q[:, :30], np.hstack([Q[:, :2], Q[:, 30:58]])  # two common directions, the others orthogonal
    found = Pairing([U, V]).solve([np.ones(30), np.ones(30)], 5)
    assert np.allclose(found.values, [1, 1, 0, 0, 0], atol=1e-12)
    for t in found.coordinates:
        assert np.allclose(t.T @ t, np.eye(5), atol=1e-10)


@pytest.mark.parametrize("name", ["kcca_rbf_synth25", "kcca_rbf_synth25_gam1"])
def test_uncentred_form_equals_kernlab(oracle, name) -> None:
    """kernlab does not centre, and adds 1e-6 to K² + γK; both enter through U and D alone."""
    record = oracle(name)
    kernel, gamma = Gaussian.from_kernlab(record["parameters"]["sigma"]), record["parameters"]["gamma"]
    views = [range_of(Dense().build(kernel, record["inputs"][key])) for key in ("X", "Y")]
    penalised = [view.values**2 + gamma * view.values + 1e-6 for view in views]
    theirs = record["outputs"]["canonical_correlations"]
    found = Pairing([view.vectors for view in views]).solve(
        [view.values / np.sqrt(p) for view, p in zip(views, penalised, strict=True)], len(theirs)
    )
    assert np.allclose(found.values, theirs, atol=1e-9)
    for key, view, p, t in zip(("xcoef", "ycoef"), views, penalised, found.coordinates, strict=True):
        ours = view.vectors @ (t / np.sqrt(2 * p)[:, None])  # theirs have aᵀBa + bᵀBb = 1
        signed = record["outputs"][key][:, ::2]
        K = view.vectors * view.values @ view.vectors.T  # coefficients in the near null space of K are arbitrary
        signs = np.sign(np.sum((K @ ours) * (K @ signed), axis=0))
        assert np.allclose(K @ ours * signs, K @ signed, atol=1e-7)


def test_range_leaves_out_what_is_rounding() -> None:
    X = rng.normal(size=(N, 3)) + 100.0
    dense, thin = (range_of(CenteredGram(r.build(Linear(), X))) for r in (Dense(), LowRank()))
    scatter = np.linalg.eigvalsh(np.cov(X.T, bias=True) * N)[::-1]
    assert dense.rank == thin.rank == 3
    assert np.allclose(dense.values, scatter) and np.allclose(thin.values, scatter)
    assert range_of(CenteredGram(Dense().build(Linear(), np.full((5, 2), 0.1)))).rank == 0


def test_range_through_a_factor_and_of_an_indefinite_matrix() -> None:
    gram = CenteredGram(IncompleteCholesky(rank=N).build(KERNELS[0], VIEWS[0]))
    view = range_of(gram)
    assert np.allclose(view.vectors * view.values @ view.vectors.T, GRAMS[0].dense(), atol=1e-8)
    S = rng.normal(size=(8, 8))
    with pytest.raises(ValueError, match="indefinite"):
        range_of(CenteredGram(Dense().build(Precomputed(), S + S.T)))


@pytest.mark.parametrize("kernel", [KERNELS[0], Linear()], ids=["wide", "thin"])
def test_split_equals_the_decomposition_of_the_part(kernel) -> None:
    X, train, test = VIEWS[0], np.arange(0, 20), np.arange(20, N)
    part, E = range_of(CenteredGram(Dense().build(kernel, X))).split(train, test)
    gram = CenteredGram(Dense().build(kernel, X[train]))
    assert np.allclose(part.vectors.T @ part.vectors, np.eye(part.rank), atol=1e-6)
    assert np.allclose(part.vectors * part.values @ part.vectors.T, gram.dense(), atol=1e-10)
    # functions that have the values U s on the sample, for smooth s
    s = part.values / (part.values + 0.1)
    a = part.vectors @ (s / part.values)
    assert np.allclose(E @ s, gram.cross(X[test]) @ a, atol=1e-7)


def test_mean_correlations() -> None:
    A, B, C = rng.normal(size=(3, 20, 2))
    pairs = [np.corrcoef(P[:, 1], Q[:, 1])[0, 1] for P, Q in ((A, B), (A, C), (B, C))]
    assert mean_correlations([A, B, C])[1] == pytest.approx(np.mean(pairs), abs=1e-12)
    assert mean_correlations([A, np.ones((20, 2))]).tolist() == [0, 0]


def orthonormal(*columns):
    return np.linalg.qr(np.column_stack(columns) - np.mean(columns, axis=1))[0]


@pytest.mark.long
def test_p_values_have_their_level_and_power_component_by_component() -> None:
    """Without any dependence p ≤ α has probability α; with one common direction only the first is small."""
    draw = np.random.default_rng(0)
    null, first, second = [], [], []
    for _ in range(150):
        common = draw.normal(size=25)
        noise = draw.normal(size=(6, 25))
        for related, out in ((False, null), (True, first)):
            U = orthonormal(common if related else noise[4], noise[0], noise[1])
            V = orthonormal(common + 0.2 * noise[5] if related else noise[5], noise[2], noise[3])
            pairing, D = Pairing([U, V]), [np.ones(3), np.ones(3)]
            p = p_values(pairing, D, pairing.solve(D, 2), 39, draw)
            out.append(p[0])
            if related:
                second.append(p[1])
            assert p[1] >= p[0]
    assert np.max(first) <= 0.05
    for p in (null, second):  # binomial(150, 0.05) exceeds 17 with probability 1e-3, and (150, 0.5) lies in 54…96
        assert np.mean(np.array(p) <= 0.05) <= 17 / 150
        assert np.sum(np.array(p) <= 0.5) <= 96
    assert np.sum(np.array(null) <= 0.5) >= 54


def test_p_values_of_correlations_that_are_all_one() -> None:
    view = Range(linalg.null_space(np.ones((1, 6))), np.ones(5))
    pairing, D = Pairing([view.vectors, view.vectors[::-1]]), [np.ones(5), np.ones(5)]
    found = pairing.solve(D, 2)
    assert isinstance(found, Canonical) and np.allclose(found.values, 1)
    assert p_values(pairing, D, found, 9, np.random.default_rng(0)).tolist() == [1, 1]
