"""Normalisers against quadrature and closed forms; logarithms where the kernel underflows; draws and dilations."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gamma as gamma_function

from mercer.kernels import (
    Cauchy,
    CosineBump,
    Epanechnikov,
    Gaussian,
    Laplace,
    Linear,
    Matern,
    OfNorm,
    RationalQuadratic,
    Tophat,
    Triangular,
    Wendland,
)
from mercer.testing import check_kernel

ISOTROPIC = [
    Gaussian(0.7),
    Laplace(1.3),
    *(Matern(nu, 0.8) for nu in (0.3, 0.5, 1.0, 1.5, 2.7, 40.0, np.inf)),
    *(Wendland(k, 1.7) for k in range(4)),
    RationalQuadratic(0.6, 4.0),
    Tophat(2.0),
    Epanechnikov(2.0),
    Triangular(0.4),
    CosineBump(3.0),
    2.5 * Gaussian(0.3) + Laplace(2.0),
]
SUPPORT = {"Wendland": 1.7, "Tophat": 2.0, "Epanechnikov": 2.0, "Triangular": 0.4, "CosineBump": 3.0}


@pytest.mark.parametrize("d", [1, 2, 3, 7])
@pytest.mark.parametrize("kernel", ISOTROPIC, ids=str)
def test_normaliser_is_the_integral_over_spheres(kernel, d) -> None:
    area = 2 * np.pi ** (d / 2) / gamma_function(d / 2)

    def shell(r) -> float:
        return area * r ** (d - 1) * kernel(np.full((1, d), r / np.sqrt(d)), np.zeros((1, d)))[0, 0]

    end = SUPPORT.get(type(kernel).__name__)
    pieces = [(0, end)] if end else [(0, 1), (1, 10), (10, np.inf)]
    integral = sum(quad(shell, *piece, epsabs=0, epsrel=1e-10, limit=200)[0] for piece in pieces)
    assert np.exp(kernel.log_normalizer(d)) == pytest.approx(integral, rel=1e-7)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("kernel", [*ISOTROPIC[::3], Laplace(2.0, norm=1), RationalQuadratic(1.0, 0.9)], ids=str)
def test_laws_in_other_dimensions(kernel, d) -> None:
    check_kernel(kernel, np.random.default_rng(d).normal(size=(9, d)))


class WrongMass(Gaussian):
    def unit_log_mass(self, dimension: int) -> float:
        return super().unit_log_mass(dimension) + 0.1


class WrongDraws(Gaussian):
    def unit_sample(self, n: int, dimension: int, rng: np.random.Generator) -> np.ndarray:
        return 1.1 * super().unit_sample(n, dimension, rng)


class WrongConvolution(Gaussian):
    def self_convolution(self, dimension: int) -> Gaussian:
        return self.dilated(1.5)


@pytest.mark.parametrize(
    ("cls", "finding"),
    [(WrongMass, "log_normalizer"), (WrongDraws, "density_sample"), (WrongConvolution, "self_convolution")],
)
def test_the_law_finds_mistakes(cls, finding) -> None:
    with pytest.raises(AssertionError, match=finding):
        check_kernel(cls())


def test_not_integrable() -> None:
    assert Cauchy(2.0).log_normalizer(1) == pytest.approx(np.log(2 * np.pi))
    assert Cauchy().log_normalizer(2) == np.inf
    assert RationalQuadratic(alpha=1.0).log_normalizer(2) == np.inf
    with pytest.raises(ValueError, match="infinite in dimension 2"):
        Cauchy().density_sample(3, 2, np.random.default_rng(0))
    for kernel in (Linear(), Gaussian().on(0), Gaussian() * Laplace(), -1 * Gaussian(), Gaussian() + Linear()):
        assert "log_normalizer" not in kernel.provides
    with pytest.raises(AttributeError, match="does not provide log_normalizer"):
        Linear().log_normalizer(2)
    with pytest.raises(ValueError, match="lengthscale has 2 entries"):
        Gaussian(np.ones(2)).log_normalizer(3)


@pytest.mark.parametrize(
    "kernel", [Gaussian(), Laplace(), Matern(1.5), Matern(0.7), Matern(60.0), Laplace(norm=1)], ids=str
)
def test_logarithms_where_the_kernel_underflows(kernel) -> None:
    """On a ray the logarithm falls on: its slope beyond the underflow is known in closed form."""
    t = np.array([[3000.0], [3001.0]])
    (values,) = kernel.log_dilated(t, np.zeros((1, 1)), [1.0])
    assert np.all(kernel(t, np.zeros((1, 1))) == 0)
    rate = {"Gaussian": 3000.5, "Laplace": 1.0}.get(type(kernel).__name__) or np.sqrt(2 * kernel.nu)
    # a Matérn kernel falls like z^{ν − ½} e^{−z}
    power = kernel.nu - 0.5 if isinstance(kernel, Matern) else 0.0
    assert values[0, 0] - values[1, 0] == pytest.approx(rate - power * np.log(3001 / 3000), rel=2e-3)


def test_convolution_on_a_line() -> None:
    """∫ k(x, z) k(z, y) dz by quadrature."""
    for kernel in (Gaussian(0.6), Laplace(0.8), Matern(1.5, 1.2), Matern(0.8, 0.7)):
        twice = kernel.self_convolution(1)
        for x in (0.0, 0.9, 2.5):

            def both(z, kernel=kernel, x=x) -> float:
                return float(kernel([[z]], [[0.0]])[0, 0] * kernel([[x]], [[z]])[0, 0])

            integral = sum(quad(both, a, b, epsrel=1e-9)[0] for a, b in ((-30, 0), (0, max(x, 1)), (max(x, 1), 30)))
            scale = np.exp(2 * kernel.log_normalizer(1) - twice.log_normalizer(1))
            assert scale * twice([[x]], [[0.0]])[0, 0] == pytest.approx(integral, rel=1e-5)
    assert "self_convolution" not in Laplace(norm=1).provides


def test_definiteness_of_the_smoothing_kernels() -> None:
    """A negative eigenvalue on an even grid, where positive definiteness is denied."""
    grid = np.linspace(0, 6, 40)[:, None]
    for kernel in (Tophat(), Epanechnikov(), CosineBump()):
        assert not kernel.definiteness_in(1).is_pd
        assert np.linalg.eigvalsh(kernel(grid))[0] < -1e-3
    assert Triangular().definiteness_in(1).strict
    assert np.allclose(Triangular(1.3)(grid), Wendland(0, 1.3)(grid))
    plane = np.stack(np.meshgrid(np.linspace(0, 4, 17), np.linspace(0, 4, 17)), axis=-1).reshape(-1, 2)
    assert not Triangular().definiteness_in(2).is_pd
    assert np.linalg.eigvalsh(Triangular()(plane))[0] < -1e-3


@pytest.mark.parametrize("kernel", [None, "gaussian", Linear()])
def test_a_norm_needs_an_integrable_kernel(kernel):
    with pytest.raises(TypeError, match=r"^OfNorm: kernel = .* must be an Integrable kernel, such as Gaussian\(\)"):
        OfNorm(kernel)(np.eye(2))
