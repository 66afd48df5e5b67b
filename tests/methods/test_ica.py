"""Kernel ICA: contrasts by their definition, gradients by differences, sources that FastICA does not see."""

import pickle
from itertools import permutations

import numpy as np
import pytest
from scipy.optimize import brentq
from sklearn.base import clone
from sklearn.decomposition import FastICA
from sklearn.exceptions import ConvergenceWarning

from mercer.kernels import Gaussian, Laplace, Multiquadric
from mercer.methods.ica import Contrast, KernelICA, amari_error
from mercer.solvers.orthogonal import random_frame

RNG = np.random.default_rng(0)
S = np.stack([RNG.uniform(-1, 1, 200), RNG.choice([-1, 1], 200) + 0.3 * RNG.normal(size=200)], axis=1)
A = np.array([[1.0, 2.0], [1.0, -0.5]])
X = S @ A.T + [3.0, -1.0]


def by_definition(Y, kernel, kappa, kind):
    """The contrast from dense matrices of size nm."""
    n, m = Y.shape
    H = np.eye(n) - 1 / n
    K = [H @ kernel(Y[:, [j]]) @ H for j in range(m)]
    r = [k @ np.linalg.inv(k + n * kappa / 2 * np.eye(n)) for k in K]
    R = np.block([[np.eye(n) if i == j else r[i] @ r[j] for j in range(m)] for i in range(m)])
    return -0.5 * (np.linalg.slogdet(R)[1] if kind == "kgv" else np.log(np.linalg.eigvalsh(R)[0]))


@pytest.mark.parametrize("kind", ["kgv", "kcca"])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(0.4)], ids=str)
def test_contrast(kind, kernel):
    Y = RNG.uniform(-1.7, 1.7, size=(60, 3))
    contrast = Contrast(Y, kernel, 0.02, kind)
    contrast.tol = 1e-12
    B = random_frame(3, 3, RNG)
    value = contrast(B)[0]
    assert value == pytest.approx(by_definition(Y @ B, kernel, 0.02, kind), rel=1e-9)
    assert contrast.value(B) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("kind", ["kgv", "kcca"])
def test_gradient(kind):
    Y = RNG.uniform(-1.7, 1.7, size=(80, 3))
    contrast, step = Contrast(Y, Gaussian(1.0), 0.02, kind), 1e-5
    B = random_frame(3, 3, RNG)
    G = contrast(B)[1]
    for i in range(3):
        for j in range(3):
            E = np.zeros((3, 3))
            E[i, j] = step
            slope = (contrast(B + E)[0] - contrast(B - E)[0]) / (2 * step)
            assert G[i, j] == pytest.approx(slope, abs=1e-6 * np.abs(G).max())


def test_contrast_is_that_of_unordered_components():
    """Order and signs do not matter."""
    Y = RNG.uniform(-1.7, 1.7, size=(80, 3))
    contrast = Contrast(Y, Gaussian(1.0), 0.02, "kgv")
    B = random_frame(3, 3, RNG)
    contrast.tol = 1e-12
    assert contrast.value(B[:, [2, 0, 1]] * [1, -1, 1]) == pytest.approx(contrast.value(B), rel=1e-8)


@pytest.mark.parametrize("kind", ["kgv", "kcca"])
def test_separates(kind):
    ica = KernelICA(contrast=kind, random_state=0).fit(X)
    assert amari_error(ica.components_ @ A) < 0.06
    assert amari_error(np.eye(2) @ A) > 0.3
    assert np.all(np.diff(ica.solution_.history) < 0)
    Z = ica.transform(X)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(Z.T @ Z / len(Z), np.eye(2), atol=1e-10)
    np.testing.assert_allclose(ica.inverse_transform(Z), X, atol=1e-10)
    np.testing.assert_allclose(ica.components_, ica.rotation_ @ ica.whitening_)
    np.testing.assert_allclose(ica.components_ @ ica.mixing_, np.eye(2), atol=1e-10)


def test_is_a_minimum():
    """No small rotation of the pair has a lower contrast."""
    ica = KernelICA(random_state=0, tol=1e-7).fit(X)
    white = (X - ica.mean_) @ ica.whitening_.T
    own = by_definition(white @ ica.rotation_.T, ica.kernel_, ica.kappa_, "kgv")
    for angle in (-0.05, 0.05):
        c, s = np.cos(angle), np.sin(angle)
        turned = white @ ica.rotation_.T @ np.array([[c, -s], [s, c]])
        assert by_definition(turned, ica.kernel_, ica.kappa_, "kgv") > own


def test_names_of_fast_ica():
    theirs = FastICA(random_state=0).fit(X)
    ours = KernelICA(random_state=0).fit(X)
    for name in ("components_", "mixing_", "mean_", "whitening_"):
        assert getattr(ours, name).shape == getattr(theirs, name).shape
    assert ours.get_feature_names_out().tolist() == ["kernelica0", "kernelica1"]
    assert ours.set_output(transform="pandas").transform(X).shape == X.shape


def test_fewer_components():
    """A mixture of two sources in four features, exactly, has rank two."""
    wide = S @ RNG.normal(size=(2, 4))
    with pytest.raises(ValueError, match=r"rank 2 .* n_components <= 2"):
        KernelICA().fit(wide)
    ica = KernelICA(2, random_state=0).fit(wide)
    assert ica.components_.shape == (2, 4)
    np.testing.assert_allclose(ica.inverse_transform(ica.transform(wide)), wide, atol=1e-10)
    match = np.abs(np.corrcoef(ica.transform(wide).T, S.T)[:2, 2:])
    assert np.all(match.max(axis=1) > 0.99)


def test_invariance_and_reproducibility():
    """Scaling or mixing the features changes nothing: whitening undoes it, up to a rotation and rounding."""
    ica = KernelICA(random_state=0, tol=1e-6).fit(X)
    assert np.array_equal(ica.components_, clone(ica).fit(X).components_)
    M = np.array([[2.0, 1.0], [0.0, 0.5]])
    mixed = KernelICA(random_state=0, tol=1e-6).fit(X @ M.T)
    assert amari_error(mixed.components_ @ M @ ica.mixing_) < 1e-3
    again = pickle.loads(pickle.dumps(ica))
    np.testing.assert_array_equal(again.transform(X), ica.transform(X))


def test_what_auto_chose():
    ica = KernelICA(random_state=0).fit(X)
    assert ica.kernel_ == Gaussian(1.0)
    assert ica.kappa_ == 0.02
    own = KernelICA(kernel="gaussian(lengthscale=0.7)", kappa=0.05, n_init=1, random_state=0).fit(X)
    assert own.kernel_ == Gaussian(0.7)
    assert amari_error(own.components_ @ A) < 0.06


def test_budget():
    with pytest.warns(ConvergenceWarning, match="time budget"):
        KernelICA(time_budget=1e-9, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"contrast": "hsic"}, ValueError, "contrast = 'hsic' is unknown"),
        ({"kappa": 0}, ValueError, "kappa = 0 must be > 0"),
        ({"n_components": 3}, ValueError, "n_components = 3 must be <= min"),
        ({"n_init": 0}, ValueError, "n_init = 0"),
        ({"tol": -1.0}, ValueError, "tol = -1.0"),
        ({"kernel": Laplace(1.0)}, ValueError, "has no derivatives"),
        ({"kernel": Multiquadric(1.0)}, ValueError, r"kernel = multiquadric.* positive definite"),
    ],
)
def test_bad_parameters(settings, error, match):
    with pytest.raises(error, match=match):
        KernelICA(**settings).fit(X)


@pytest.mark.parametrize("value", [0.1, 1e5 + 0.1, 1e10 + 0.1])
def test_constant_columns(value):
    """The mean of equal numbers is off by rounding, which is no component."""
    with pytest.raises(ValueError, match=r"rank 2 .* n_components <= 2"):
        KernelICA().fit(np.column_stack([X, np.full(len(X), value)]))
    with pytest.raises(ValueError, match="all samples are equal"):
        KernelICA(1).fit(np.full((10, 2), value))
    with_constant = np.column_stack([X, np.full(len(X), value)])
    assert amari_error(KernelICA(2, random_state=0).fit(with_constant).components_[:, :2] @ A) < 0.06


def test_one_component_and_few_samples():
    """A single component has nothing to depend on; the smallest sample for two is three points."""
    one = KernelICA(1, random_state=0).fit(X)
    assert one.contrast_ == 0
    direction = np.linalg.eigh(np.cov(X.T))[1][:, -1]
    assert abs(one.components_[0] @ direction) == pytest.approx(np.linalg.norm(one.components_))
    few = KernelICA(random_state=0).fit(X[:3])
    own = by_definition(few.transform(X[:3]), few.kernel_, few.kappa_, "kgv")
    assert few.contrast_ == pytest.approx(own, rel=1e-4)


def test_strong_penalty():
    """For κ → ∞ the first correlation is ‖K̃₁K̃₂‖/(nκ/2)², and the contrast half of it, however large κ is."""
    Y, kappa = RNG.uniform(-1.7, 1.7, size=(60, 2)), 2e3
    H = np.eye(60) - 1 / 60
    first, second = (H @ Gaussian(1.0)(Y[:, [j]]) @ H for j in range(2))
    expected = 0.5 * np.linalg.norm(first @ second, 2) / (60 * kappa / 2) ** 2
    assert Contrast(Y, Gaussian(1.0), kappa, "kcca").value(np.eye(2)) == pytest.approx(expected, rel=1e-2)


def test_bad_input():
    with pytest.raises(ValueError, match="rank 1"):
        KernelICA().fit(np.stack([X[:, 0], 2 * X[:, 0]], axis=1))
    with pytest.raises(ValueError, match=r"expected \(n, 2\)"):
        KernelICA(random_state=0).fit(X).inverse_transform(np.ones((2, 3)))
    torch = pytest.importorskip("torch")
    with pytest.raises(ValueError, match=r"X has shape \(1, 2\); give at least 2 rows of 2 features"):
        KernelICA().fit(torch.ones((1, 2)))


def test_amari_error():
    assert amari_error(np.eye(4)[[2, 0, 3, 1]] * [1, -2, 3, 0.1]) == 0
    assert amari_error(np.ones((5, 5))) == 1
    V = RNG.normal(size=(3, 3))
    rows = sum(np.abs(v).sum() / np.abs(v).max() - 1 for v in V)
    columns = sum(np.abs(v).sum() / np.abs(v).max() - 1 for v in V.T)
    assert amari_error(V) == pytest.approx((rows + columns) / 12)
    for order in permutations(range(3)):
        assert amari_error(V[list(order)] * [1, -1, 1]) == pytest.approx(amari_error(V))
    for bad in (np.ones((2, 3)), np.zeros((2, 2)), np.ones((1, 1))):
        with pytest.raises(ValueError, match="amari_error"):
            amari_error(bad)


def unseen(n, rng, share=0.15, narrow=0.2):
    """A source of three modes for which E[g'(s) − s g(s)] = 0 with g = tanh: FastICA's contrast does not see it."""
    node, weight = np.polynomial.hermite_e.hermegauss(80)

    def modes(a):
        wide = np.sqrt((1 - 2 * share * (a**2 + narrow**2)) / (1 - 2 * share))
        return np.array([share, share, 1 - 2 * share]), np.array([-a, a, 0]), np.array([narrow, narrow, wide])

    def sight(a):
        p, centre, width = modes(a)
        s = centre[:, None] + width[:, None] * node
        return p @ (1 / np.cosh(s) ** 2 - s * np.tanh(s)) @ weight

    p, centre, width = modes(brentq(sight, 1.2, 1.78))
    mode = rng.choice(3, n, p=p)
    return centre[mode] + width[mode] * rng.normal(size=n)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", ["kgv", "kcca"])
def test_sources_that_fast_ica_does_not_see(kind):
    """Over eight seeds the worst error is below the median of FastICA's, and the median below a third of it."""
    ours, theirs = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        sources = np.stack([unseen(500, rng) for _ in range(2)], axis=1)
        mixing = rng.normal(size=(2, 2))
        ica = KernelICA(contrast=kind, random_state=0).fit(sources @ mixing.T)
        ours.append(amari_error(ica.components_ @ mixing))
        fast = FastICA(random_state=0, max_iter=1000).fit(sources @ mixing.T)
        theirs.append(amari_error(fast.components_ @ mixing))
    assert max(ours) < np.median(theirs)
    assert np.median(ours) < np.median(theirs) / 3


@pytest.mark.long
def test_many_sources():
    """Six sources of different kinds, from two starts."""
    rng = np.random.default_rng(3)
    n = 1500
    sources = np.stack(
        [
            rng.uniform(size=n),
            rng.laplace(size=n),
            rng.exponential(size=n),
            rng.choice([-1, 1], n) + 0.4 * rng.normal(size=n),
            unseen(n, rng),
            rng.standard_t(5, size=n),
        ],
        axis=1,
    )
    mixing = rng.normal(size=(6, 6))
    ica = KernelICA(random_state=0).fit(sources @ mixing.T)
    assert amari_error(ica.components_ @ mixing * sources.std(axis=0)) < 0.05


@pytest.mark.parametrize("e", [-950, 900])
def test_mixtures_in_any_unit(e):
    near = KernelICA(n_init=1, random_state=0).fit(X)
    far = KernelICA(n_init=1, random_state=0).fit(np.ldexp(X, e))
    np.testing.assert_allclose(far.transform(np.ldexp(X, e)), near.transform(X), atol=1e-9)
    np.testing.assert_allclose(np.ldexp(far.inverse_transform(near.transform(X)), -e), X, atol=1e-9)
    np.testing.assert_allclose(np.ldexp(far.components_, e), near.components_, atol=1e-9)


def test_mixtures_and_sources_that_are_no_numbers():
    for size in (1.7e308, 1e-312):
        with pytest.raises(ValueError, match=r"KernelICA: X is of size .*; divide X by"):
            KernelICA(n_init=1).fit(X / np.abs(X).max() * size)
    with pytest.raises(ValueError, match="KernelICA: the sources of X overflow; use samples"):
        KernelICA(n_init=1, max_iter=1, tol=1e9).fit(1e-200 * X).transform(1e200 * X)


@pytest.mark.parametrize("contrast", ["kgv", "kcca"])
def test_hardly_a_penalty(contrast):
    with pytest.raises(ValueError, match="KernelICA: kappa = 1e-300 is so small"):
        KernelICA(contrast=contrast, kappa=1e-300, n_init=1).fit(X[:8])
