"""Positive definite and related kernels, and their algebra.

Kernels on vectors, histograms, categories, tables, finite sets and explicit features; on structured data in `strings`,
`text`, `trees`, `graphs`, `sets` and `sequences`. ``c*k``, ``k1 + k2``, ``k1 * k2``, ``k**n``, ``k1 @ k2`` and the
methods `exp`, `series`, `on`, `warp`, `normalized` and `centered` build new ones.
"""

from . import algebra, graphs, sequences, sets, strings, text, trees
from ._base import Kernel, is_kernel, register, registry
from ._definiteness import CPD, INDEFINITE, PD, STRICTLY_PD, UNKNOWN, Definiteness
from ._dot import DotProduct
from ._integrable import Integrable
from ._metric import OfNorm, OnSphere
from ._radial import Radial
from ._structured import Counted, Counts, Structured, clear_cache
from .anova import ANOVA
from .arc import ArcCosine, ArcSine
from .bandwidth import sigest
from .bernoulli import Bernoulli
from .bessel import Bessel
from .brownian import Brownian
from .categories import Delta, Hamming, Ordinal
from .cauchy import Cauchy
from .constant import Constant, White
from .corrected import Clipped, Flipped, Shifted, Squared
from .cosine import Cosine
from .deformed import Deformed, deformed
from .expression import KernelLike, as_kernel, parse
from .features import Features, Fourier, MercerSeries, Wavelet
from .finite import Callable, FiniteDomain, Precomputed
from .gaussian import Gaussian
from .histograms import AdditiveChiSquared, ChiSquared, Hellinger, Intersection, JensenShannon
from .laplace import Laplace
from .linear import Affine, Linear
from .log import Log
from .matern import Matern
from .multiquadric import InverseMultiquadric, Multiquadric
from .periodic import Periodic
from .polyharmonic import Polyharmonic, duchon
from .polynomial import Polynomial
from .power import Power
from .rational_quadratic import RationalQuadratic
from .sigmoid import Sigmoid
from .smoothing import CosineBump, Epanechnikov, Tophat, Triangular
from .sobolev import Sobolev
from .spline import Spline
from .tables import Table
from .tasks import Shared, Tasks
from .thin_plate import ThinPlate
from .wendland import Wendland

__all__ = [
    "ANOVA",
    "CPD",
    "INDEFINITE",
    "PD",
    "STRICTLY_PD",
    "UNKNOWN",
    "AdditiveChiSquared",
    "Affine",
    "ArcCosine",
    "ArcSine",
    "Bessel",
    "Bernoulli",
    "Brownian",
    "Callable",
    "Cauchy",
    "ChiSquared",
    "Clipped",
    "Constant",
    "Cosine",
    "CosineBump",
    "Counted",
    "Counts",
    "Definiteness",
    "Deformed",
    "Delta",
    "DotProduct",
    "Epanechnikov",
    "Features",
    "FiniteDomain",
    "Flipped",
    "Fourier",
    "Gaussian",
    "Hamming",
    "Hellinger",
    "Integrable",
    "Intersection",
    "InverseMultiquadric",
    "JensenShannon",
    "Kernel",
    "KernelLike",
    "Laplace",
    "Linear",
    "Log",
    "Matern",
    "MercerSeries",
    "Multiquadric",
    "OfNorm",
    "OnSphere",
    "Ordinal",
    "Periodic",
    "Polyharmonic",
    "Polynomial",
    "deformed",
    "duchon",
    "graphs",
    "Power",
    "Precomputed",
    "Radial",
    "RationalQuadratic",
    "Shared",
    "Shifted",
    "Sigmoid",
    "Sobolev",
    "Spline",
    "Squared",
    "Structured",
    "Table",
    "Tasks",
    "ThinPlate",
    "Tophat",
    "Triangular",
    "Wavelet",
    "Wendland",
    "White",
    "algebra",
    "as_kernel",
    "clear_cache",
    "is_kernel",
    "parse",
    "register",
    "registry",
    "sequences",
    "sets",
    "sigest",
    "strings",
    "text",
    "trees",
]
