"""Every representation obeys the contract, for kernels of every kind, on every array library."""

import numpy as np
import pytest

from mercer.gram import Auto, Centered, Dense, IncompleteCholesky, Lazy, LowRank, Nystrom, RandomFeatures
from mercer.gram._base import Gram
from mercer.kernels import PD, Affine, Gaussian, Linear, White
from mercer.kernels.features import Features
from mercer.kernels.finite import Callable, FiniteDomain, Precomputed
from mercer.kernels.laplace import Laplace
from mercer.kernels.matern import Matern
from mercer.testing import check_gram

Y = np.sin(np.arange(12.0))
REPRESENTATIONS = {
    "dense": Dense(),
    "lazy": Lazy(memory=2**16),
    "auto": Auto(memory=100),
    "low-rank": LowRank(),
    "cholesky": IncompleteCholesky(),
    "cholesky-rank": IncompleteCholesky(rank=4),
    "cholesky-y": IncompleteCholesky(rank=4, y=Y, delta=3),
    "nystrom": Nystrom(rank=5),
    "nystrom-all": Nystrom(),
    "nystrom-uniform": Nystrom(rank=5, landmarks="uniform"),
    "nystrom-kmeans": Nystrom(rank=5, landmarks="kmeans"),
    "nystrom-leverage": Nystrom(rank=5, landmarks="leverage"),
    "nystrom-indices": Nystrom(landmarks=[0, 3, 7]),
    "random": RandomFeatures(rank=20),
    "random-orthogonal": RandomFeatures(rank=20, orthogonal=True),
}


def squares(X):
    return X**2


def overlap(x, y):
    """The number of common letters: a kernel on words."""
    return len(set(x) & set(y))


WORDS = [
    "kernel",
    "gram",
    "matrix",
    "mercer",
    "hilbert",
    "space",
    "trace",
    "factor",
    "pivot",
    "tile",
    "ridge",
    "landmark",
]
KERNELS = {
    "gaussian": Gaussian(1.5),
    "anisotropic": Gaussian(np.array([0.5, 1.0, 2.0])),
    "laplace": Laplace(),
    "matern": Matern(2.5),
    "linear": Linear(),
    "affine": Affine(2.0),
    "sum": Gaussian() * Linear() + 0.5 * White(),
    "features": Features(squares),
    "pairs": Gaussian() @ Linear(),
    "finite": FiniteDomain(np.exp(-np.abs(np.subtract.outer(np.arange(15.0), np.arange(15.0))))),
    "precomputed": Precomputed(definiteness=PD),
    "words": Callable(overlap, definiteness=PD),
}


def has_right(name, kernel):
    if name.startswith("random"):
        return "spectral_sample" in kernel.provides
    if name == "low-rank":
        return "feature_map" in kernel.provides
    return name != "nystrom-kmeans" or type(kernel.domain).__name__ == "Vectors"


PAIRS = [(r, k) for r in REPRESENTATIONS for k in KERNELS if has_right(r, KERNELS[k])]
QUICK = [(r, k) for r, k in PAIRS if k in ("gaussian", "precomputed") or r in ("nystrom", "low-rank", "dense")]


def check(representation, kernel, xp):
    check_gram(
        REPRESENTATIONS[representation],
        KERNELS[kernel],
        X=WORDS if kernel == "words" else None,
        namespaces=[] if kernel == "words" else [xp],
    )


@pytest.mark.parametrize(("representation", "kernel"), QUICK)
def test_contract(representation, kernel, xp):
    check(representation, kernel, xp)


@pytest.mark.long
@pytest.mark.parametrize(("representation", "kernel"), [pair for pair in PAIRS if pair not in QUICK])
def test_contract_of_every_pair(representation, kernel, xp):
    check(representation, kernel, xp)


@pytest.mark.parametrize("representation", ["dense", "lazy", "cholesky", "cholesky-rank", "nystrom-all", "random"])
def test_one_sample(representation):
    gram = REPRESENTATIONS[representation].build(Gaussian(), np.zeros((1, 2)), np.random.default_rng(0))
    np.testing.assert_allclose(gram @ np.ones(1), [1.0])


class Lying(Gram):
    """A product that does not belong to the matrix."""

    def __matmul__(self, V):
        return 2 * (self.block(slice(None), slice(None)) @ V)


class Liar(Dense):
    def build(self, kernel, X, rng):
        return Lying(kernel, X)


def test_checker_finds_a_wrong_product():
    with pytest.raises(AssertionError, match="product"):
        check_gram(Liar())


def test_checker_finds_a_wrong_trace():
    class Boaster(Nystrom):
        def build(self, kernel, X, rng):
            gram = super().build(kernel, X, rng)
            gram.trace_error = 0.0
            return gram

    with pytest.raises(AssertionError, match="trace_error"):
        check_gram(Boaster(rank=3))


def test_checker_finds_an_approximation_that_poses_as_exact():
    class Rough(Dense):
        def build(self, kernel, X, rng):
            return Dense().build(Gaussian(1.01), X, rng)

    with pytest.raises(AssertionError, match="exact"):
        check_gram(Rough())


def test_no_factor_is_one_clear_sentence():
    gram = Dense().build(Gaussian(), np.zeros((2, 1)), np.random.default_rng(0))
    with pytest.raises(TypeError, match="DenseGram has no factor; use"):
        gram.factor()


def test_description():
    gram = Centered(Dense()).build(Linear(), np.eye(3), np.random.default_rng(0))
    assert gram.shape == (3, 3)
    assert gram.n == 3


@pytest.mark.parametrize("name", [name for name in REPRESENTATIONS if not name.startswith("random")])
def test_build_takes_text_and_lists_and_checks_them(name):
    representation, points = REPRESENTATIONS[name], [[float(i), 1.0] for i in range(12)]
    expected = representation.build(Linear(), np.array(points), np.random.default_rng(0)).dense()
    np.testing.assert_array_equal(representation.build("linear", points, np.random.default_rng(0)).dense(), expected)
    with pytest.raises(ValueError, match="Linear: X contains NaN at row 0, column 1"):
        representation.build("linear", [[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"depends on the data; call kernel\.resolve"):
        representation.build("gaussian(lengthscale='median')", points)
