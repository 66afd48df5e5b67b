"""Thin-plate smoothing splines in several variables."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from math import comb, log2
from typing import Any, Self

from sklearn.base import RegressorMixin

from .._array import like, namespace
from .._errors import check_number, where
from .._units import SQUARED, power_of_two, unit_of_squares
from ..basis import Polynomials
from ..context import current
from ..gram import GramLike
from ..kernels import Kernel
from ..kernels.polyharmonic import Polyharmonic, Reduced, anchors_of, duchon
from ..solvers.regularisation import alpha_with_edf, best_alpha
from ..solvers.spectral import Spectral
from ..space import Function
from ..types import Array, Data, RandomState
from ._base import KernelEstimator
from ._spline import Smoother


@dataclass(eq=False, repr=False)
class ThinPlateSpline(Smoother, RegressorMixin, KernelEstimator):
    r"""Thin-plate smoothing spline: the rotation-invariant spline in d dimensions.

    .. math:: \min_f\; \tfrac12 \sum_i w_i \big(y_i - f(x_i)\big)^2 + \tfrac{\alpha}{2} \sum_{|\nu| = m}
              \frac{m!}{\nu!} \int_{\mathbb R^d} \big(\partial^\nu f\big)^2

    In the plane with m = 2 the penalty is the bending energy :math:`\int f_{xx}^2 + 2 f_{xy}^2 + f_{yy}^2`. Polynomials
    of degree < m are unpenalised.

    Parameters
    ----------
    alpha : float > 0, or {"gcv", "loo", "reml"}
        Regularisation parameter; larger is smoother, up to a polynomial of degree m − 1. A name selects it by
        generalised cross-validation, leave-one-out, or restricted maximum likelihood. lambda in R's ``fields::Tps``.
    order : int > d/2, optional
        m. A higher order makes the function smoother, and enlarges the free part to (d + m − 1 choose d) polynomials,
        which the samples must determine. None means 2, in any dimension; see the notes for d > 3.
    df : float, optional
        Instead of `alpha`: the effective degrees of freedom.
    gram : str or Representation
        "auto" or "dense": exact, O(n³) once for all alphas. ``Nystrom(rank=r)`` and other low-rank representations: a
        spline with r landmarks, O(nr²).
    random_state, time_budget
        As in `KernelRidge`.

    Attributes
    ----------
    alpha_, edf_, noise_variance_, criteria_, leverage_, leave_one_out_
        As for `SmoothingSpline`.
    order_ : int
        m.
    function_ : Function
        f in the space of the polyharmonic kernel, with its polynomial: values, gradients, bending energy ‖f‖².
    kernel_ : Kernel
        Its positive definite form, used for the matrix.
    gram_choice_ : str
        How the matrix was stored, and why.

    Notes
    -----
    One eigendecomposition serves all alphas (Demmler–Reinsch). The columns of X should have the same unit: the penalty
    is invariant under rotations, but not under rescaling a single coordinate.

    The penalty requires 2m > d, so the free part grows quickly with d. With ``order=None`` the free part stays affine:
    for d > 3 the second derivatives are measured in Duchon's larger family of norms,
    :math:`\int |\omega|^{2s} |\widehat{\partial^\nu f}|^2` with s = (d − 3)/2, whose kernel is −‖x − y‖ up to a factor,
    taken as 1.

    With landmarks, posterior standard deviations include the prior variance that these do not explain. All computations
    use double precision.

    References
    ----------
    Duchon, *Splines minimizing rotation-invariant semi-norms in Sobolev spaces* (1977). Wahba, *Spline Models for
    Observational Data* (1990). Wood, *Thin plate regression splines* (2003): low rank.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(80, 2))
    >>> y = np.sin(4 * X[:, 0]) * X[:, 1] + 0.05 * rng.normal(size=80)
    >>> model = ThinPlateSpline().fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.order_
    (True, 2)
    """

    substitutes = ("df",)

    alpha: float | str = "gcv"
    _: KW_ONLY
    order: int | None = None
    df: float | None = None
    gram: GramLike = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    def _kernel(self, n_features: int) -> Kernel:
        return Reduced(Polyharmonic(), None, 0)  # for its domain; the anchors come from the data

    def _resolved_kernel(self, kernel: Kernel, X: Data, n_features: int) -> Kernel:
        d, smallest = n_features, n_features // 2 + 1
        check_number(self, "order", self.order, at_least=smallest, integer=True, besides=(None,))
        self.order_ = m = 2 if self.order is None else int(self.order)
        n, p = int(X.shape[0]), comb(d + m - 1, d)
        if n <= p:
            raise ValueError(
                f"{where(self)}: n_samples = {n}; order = {m} on {d} column(s) leaves {p} polynomials free and needs "
                f"at least {p + 1} samples. Use fewer columns, or AnovaSpline."
            )
        self._check_size(X, max(2 * m - d, m - 1))
        return Reduced(duchon(m, d) if 2 * m > d else Polyharmonic(1), anchors_of(X, m - 1), m - 1)

    def _check_size(self, X: Data, power: int) -> None:
        """Refuse an X whose powers in kernel and polynomials have squares that overflow or underflow."""
        xp = namespace(X)
        for values in (X, xp.max(X, axis=0) / 2 - xp.min(X, axis=0) / 2):  # halves, so that the difference is finite
            size = power_of_two(values)
            if power * abs(log2(size)) > SQUARED:
                raise ValueError(
                    f"{where(self)}: X is of size {size:.0e}, and its powers up to {2 * power} overflow or underflow; "
                    f"divide X by {size:.0e}."
                )

    def _points(self, X: Data) -> Any:
        return self._check_new(X)

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X of shape (n, d) and values y of shape (n,)."""
        self._check_penalty()
        check_number(self, "df", self.df, above=0, besides=(None,))
        X, y = self._check_fit(X, y, y_numeric=True)
        X = self._in_double(X)
        weight = self._check_weight(sample_weight, X)
        gram = self._build(X)
        sample = gram.like
        self._basis = Polynomials(self.order_ - 1)
        current().check()
        path = Spectral(gram, like(self._basis(X), sample), None if weight is None else like(weight, sample))
        y = like(y, sample)
        unit = unit_of_squares(self, "y", y)
        b = (y / unit)[:, None]
        n, p = path.design.effective, path.design.p
        if self.df is not None:
            if not p < self.df < n:
                raise ValueError(
                    f"{where(self)}: df = {self.df!r} must lie between the {p} free polynomials and the {n} samples."
                )
            alpha = alpha_with_edf(path, float(self.df))
        elif isinstance(self.alpha, str):
            alpha = best_alpha(path, b, self.alpha)
        else:
            alpha = float(self.alpha)
        self._path, solution = path, path.solve(b, alpha)
        a, c = unit * solution.coefficients[:, 0], unit * solution.free[:, 0]
        _, points, coefficients = gram.expansion(a)
        points, coefficients, polynomial = self.kernel_.expand(points, coefficients)
        self.function_ = Function(self.kernel_.kernel, points, coefficients, self._basis, c + polynomial)
        self._record(path, alpha, b[:, 0], unit)
        return self

    def predict(self, X: Data, return_std: bool = False) -> Any:
        """The values f(x); with `return_std`, also their posterior standard deviations, excluding noise."""
        X = self._check_new(X)
        values = self.function_(X)
        if not return_std:
            return values
        cross = self._path.design.gram.cross(X).dense()
        variance = self._path.variance(self.alpha_, cross, self.kernel_.evaluate_diag(X), self._basis(X))
        return values, (self.noise_variance_ / self.alpha_) ** 0.5 * namespace(X).sqrt(variance)
