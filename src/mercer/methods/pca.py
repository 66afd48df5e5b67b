"""Kernel principal component analysis."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .._array import asymmetry, doubles, host, is_array, is_sparse, like, namespace
from .._errors import NOT_NEGATIVE, ONE_OR_NONE, REMEDIES, check_number, check_parameters, is_one_of, where
from .._random import generator
from ..context import current
from ..domains import Vectors
from ..gram import GramLike, as_representation
from ..gram.centered import CenteredGram
from ..kernels import Kernel, KernelLike
from ..preimage import as_preimage
from ..solvers.eigen import Eigenproblem, Spectrum, check_eigen_solver, eigen_solver
from ..solvers.linear import System, solve
from ..space import Function
from ..types import Array, Data, RandomState
from ._transformer import KernelTransformer

SOLVERS = ("auto", "dense", "arpack", "randomized", "krylov", "factor")
BY_PRODUCTS = ("auto", "arpack", "randomized", "krylov")
MANY = 2600  # samples above which block products with half the matrix are faster than Lanczos iteration on all of it


def _streams(estimator: KernelPCA) -> bool:
    """Whether landmarks fix the features of the representation, so that batches can be merged."""
    if as_representation(estimator.gram).streams:
        return True
    raise AttributeError(
        f"{where(estimator)}: partial_fit needs features fixed by the first batch, which gram = {estimator.gram!r} "
        "does not provide. Use Nystrom or IncompleteCholesky."
    )


@dataclass(eq=False, repr=False)
class KernelPCA(KernelTransformer):
    r"""Kernel PCA: the directions of largest variance of the sample in the feature space.

    .. math:: \max_{\|f_j\| = 1,\; f_j \perp f_1, \dots, f_{j-1}}\; \sum_i \langle f_j, \varphi(x_i) - \mu \rangle^2,
              \qquad \tilde K v_j = \lambda_j v_j, \quad
              f_j = \lambda_j^{-1/2} \sum_i v_{ij} \big(k(\cdot, x_i) - \mu\big)

    Parameters
    ----------
    n_components : int >= 1, optional
        None keeps all directions of positive variance (none if all samples are equal).
    kernel : str, Kernel or callable
        scikit-learn's names, any registered name or expression, a Kernel, or a function of two samples.
    gamma, degree, coef0, kernel_params
        As in scikit-learn, for its names and callables; with a Kernel they are an error.
    alpha : float >= 0
        Ridge parameter of the learned inverse map (`fit_inverse_transform`); larger is smoother.
    fit_inverse_transform : bool
        Whether to learn `inverse_transform`, as in scikit-learn. `denoise` does not need it.
    eigen_solver : {"auto", "dense", "arpack", "randomized", "krylov", "factor"} or EigenSolver
        scikit-learn's names "arpack" and "randomized" mean "krylov", which is exact to `tol`.
    tol : float >= 0
        Tolerance of the Krylov solver, relative to the largest eigenvalue; 0 means close to machine precision.
    max_iter : int, optional
        Maximum number of its block products.
    iterated_power, n_jobs
        Accepted for compatibility, and ignored.
    remove_zero_eig : bool
        Whether to drop directions of zero variance even if n_components is given.
    copy_X : bool
        Whether to keep a copy of X if it is a float array. With False, changing X changes the components.
    random_state : int, RandomState, Generator or None
        Seed of the Krylov solver's start and of randomised representations.
    gram : str or Representation
        How the kernel matrix is stored or approximated. For few components of more than 3,000 samples, "auto" stores
        its upper half if that fits in 768 MiB; otherwise it chooses as usual.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    eigenvalues_ : array of shape (n_components,)
        λ, of the centred kernel matrix, in descending order.
    eigenvectors_ : array of shape (n_samples, n_components)
        v, orthonormal; not available after `partial_fit`.
    explained_variance_, explained_variance_ratio_ : arrays
        λ/(n − 1), and λ divided by the trace of the centred matrix.
    total_variance_ : float
        That trace, divided by n − 1.
    function_ : Function
        The components f, of unit norm, one per column.
    mean_ : Function
        μ, the mean of the sample in feature space.
    offset_ : array
        ⟨f, μ⟩.
    dual_coef_, X_transformed_fit_ : arrays
        The learned inverse map, with `fit_inverse_transform`.
    n_samples_seen_ : int
        Samples in `fit`, or in all calls of `partial_fit`.
    gamma_ : float
        The value of gamma for scikit-learn's kernel names.
    X_fit_, kernel_, gram_choice_, spectrum_

    Notes
    -----
    Features of new points are ⟨f, φ(x) − μ⟩, centred by the training sample. They do not involve k(x, x), so distances
    suffice: ``kernel="precomputed"`` with −d²/2 is classical scaling, and places new points by their distances to the
    training samples. For conversion to other software see the guide; kernlab's eigenvalues are λ/n.

    As centring removes constants, the kernel need only be conditionally positive definite of order one. A kernel known
    to be indefinite raises a warning; a direction of negative variance raises an error.

    Cost: dense O(n³); Krylov O(n²) per product, with or without a stored matrix (`gram="lazy"`); rank r O(nr²).

    References
    ----------
    Schölkopf, Smola, Müller, *Nonlinear component analysis as a kernel eigenvalue problem* (1998). Gower, *Adding a
    point to vector diagrams in multivariate analysis* (1968): new points from distances. Chan, Golub, LeVeque,
    *Updating formulae and a pairwise algorithm for computing sample variances* (1979): merging batches.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> X, y = make_circles(200, factor=0.3, noise=0.05, random_state=0)
    >>> pca = KernelPCA(2, kernel="gaussian(lengthscale=0.5)").fit(X)
    >>> inner, outer = pca.transform(X)[y == 1, 0], pca.transform(X)[y == 0, 0]
    >>> bool(inner.min() > outer.max() or inner.max() < outer.min())
    True
    >>> bool(np.allclose(pca.function_.norm(), 1))
    True
    """

    n_components: int | None = None
    _: KW_ONLY
    kernel: KernelLike = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    alpha: float = 1.0
    fit_inverse_transform: bool = False
    eigen_solver: Any = "auto"
    tol: float = 0
    max_iter: int | None = None
    iterated_power: Any = "auto"
    remove_zero_eig: bool = False
    random_state: RandomState = None
    copy_X: bool = True
    n_jobs: int | None = None
    gram: GramLike = "auto"
    time_budget: float | None = None

    def _keeps_sample(self) -> bool:
        return self.copy_X

    def _kernel(self, n_features: int) -> Kernel:
        return self._sklearn_kernel(n_features)

    # ---- fitting

    def fit(self, X: Data, y: Array = None) -> Self:
        """Compute the components of the sample X; y is ignored."""
        self._check_parameters()
        X, shift = self._without_skew(self._start(X))
        if self.fit_inverse_transform:
            self._require_vectors(X)
        gram = CenteredGram(self._build(X, constants=True))
        self.spectrum_ = self._spectrum(gram)
        self._keep_spectrum(gram, self.spectrum_)
        if shift is not None:
            self.offset_ = self.offset_ - shift @ self.function_.coefficients
        self.X_fit_, self.n_samples_seen_ = X, gram.n
        self.mean_, self._mean_square = Function(*gram.base.expansion(gram.weights)), float(gram.total)
        self._computed, self._features = gram.kernel, getattr(gram.base, "features", None)  # type: Kernel, Any
        if self.fit_inverse_transform:
            self._learn_inverse(X)
        return self

    def fit_transform(self, X: Data, y: Array = None) -> Any:
        """Fit, and return the features √λ v of the training sample."""
        return self.fit(X)._own_features()

    def _own_features(self) -> Any:
        return self.eigenvectors_ * namespace(self.eigenvectors_).sqrt(self.eigenvalues_)[None, :]

    def _start(self, X: Data) -> Any:
        """Check X, resolve the kernel on it, and delete the attributes of an earlier fit."""
        self._forget("eigenvectors_", "spectrum_", "X_fit_", "X_transformed_fit_", "dual_coef_", "_moments")
        X = self._check_sample(X)
        dimension = self.kernel_.domain.dimension(X)
        self.gamma_ = 1.0 / (dimension or 1) if self.gamma is None else self.gamma
        claim = self.kernel_.definiteness_in(dimension)
        if claim.kind != "UNKNOWN" and not (claim.is_cpd and claim.order <= 1):
            self._warn_indefinite(f"{claim}: its leading components are computed, but do not lie in a feature space")
        return X

    def _without_skew(self, K: Array) -> tuple[Any, Any]:
        """Remove an asymmetry of a precomputed matrix that is due only to row and column constants.

        K = S + d1ᵀ − 1dᵀ has the same centred matrix as the symmetric S; rows of new points do not include d.
        """
        if not self.kernel_.domain.precomputed or K.shape[0] != K.shape[1] or asymmetry(K) != "large":
            return K, None
        xp = namespace(K)
        skew = (K - K.T) / 2
        d = xp.mean(skew, axis=1)
        left = xp.max(xp.abs(skew - d[:, None] + d[None, :]))
        if float(left) > 1e3 * float(xp.finfo(K.dtype).eps) * float(xp.max(xp.abs(K))):
            return K, None  # and K is refused later
        return K - skew, d

    def _needs(self, n: int) -> str:
        few = self.n_components is not None and 10 * self.n_components <= n
        many = n > MANY or not is_one_of(self.eigen_solver, ("auto",))
        return "products" if few and many and is_one_of(self.eigen_solver, BY_PRODUCTS) else "matrix"

    def _check_parameters(self) -> None:
        check_parameters(self, {"n_components": ONE_OR_NONE, "max_iter": ONE_OR_NONE})
        check_parameters(self, {"alpha": NOT_NEGATIVE, "tol": NOT_NEGATIVE})
        check_number(self, "iterated_power", self.iterated_power, at_least=0, integer=True, besides=("auto",))
        check_eigen_solver(self, self.eigen_solver, SOLVERS)

    def _spectrum(self, gram: CenteredGram) -> Spectrum:
        """The leading eigenpairs."""
        limit = gram.factor().shape[1] if "factor" in gram.provides else gram.n
        if limit == 0:
            raise ValueError(
                f"{where(self)}: the kernel {self.kernel_} is zero on all samples, so there is no component; choose "
                "another."
            )
        count = limit if self.n_components is None else min(self.n_components, limit)
        name = {"arpack": "krylov", "randomized": "krylov"}.get(self.eigen_solver, self.eigen_solver)
        name = "dense" if name == "auto" and count == gram.n else name
        current().check()
        problem = Eigenproblem(gram, count, generator(self.random_state))
        return eigen_solver(name, problem, tol=self.tol or 1e-10, max_iter=self.max_iter or 200).solve(problem)

    def _keep_spectrum(self, gram: CenteredGram, spectrum: Spectrum) -> None:
        trace, shift, rounding = _trace(gram)
        self._refuse_negative(host(spectrum.values), trace, shift)
        values, V = self._positive(spectrum.values, spectrum.vectors, rounding)
        V = V * _signs(V)
        self.eigenvalues_, self.eigenvectors_ = values, V
        self._keep(gram, V * _inverse_root(values)[None, :])
        self._keep_variance(gram.n, trace)

    def _positive(self, values: Array, V: Array, rounding: float) -> tuple[Any, Any]:
        """Set eigenvalues of rounding size to 0, and drop them on request.

        Besides scikit-learn's thresholds, relative to the largest, `rounding` is what centring leaves of equal samples.
        """
        xp = namespace(values)
        least = max((1e-12 if values.dtype == xp.float64 else 2e-7) * float(xp.max(values)), rounding)
        values = xp.where(values > least, values, xp.zeros_like(values))
        if self.n_components is None or self.remove_zero_eig:
            count = int(np.sum(host(values) > 0))
            values, V = values[:count], V[:, :count]
        return values, V

    def _keep_variance(self, n: int, trace: float) -> None:
        freedom, trace = max(n - 1, 1), max(trace, float(np.sum(host(self.eigenvalues_), dtype=np.float64)))
        self.explained_variance_ = self.eigenvalues_ / freedom
        self.explained_variance_ratio_ = self.eigenvalues_ / (trace or 1.0)
        self.total_variance_ = trace / freedom

    def _refuse_negative(self, values: np.ndarray, trace: float, rounding: float) -> None:
        """Refuse directions of negative variance, except for rounding."""
        size, tol = np.abs(values), 1e-5 if values.dtype == np.float64 else 5e-3
        if values.min() < -max(tol * size.max(), rounding) or trace < -max(tol * size.sum(), rounding):
            raise ValueError(
                f"{where(self)}: the centred kernel matrix of {self.kernel_} has eigenvalues from {values.min():.3g} "
                f"to {values.max():.3g}, and trace {trace:.3g}: it is indefinite. Use a kernel that is (conditionally) "
                f"positive definite. {REMEDIES}"
            )

    # ---- streams

    @available_if(_streams)
    def partial_fit(self, X: Data, y: Array = None) -> Self:
        r"""Update with another batch; y is ignored.

        The first batch (or `fit`) chooses the landmarks, which define the features of all samples. Count, mean and
        scatter of the features are merged exactly: however a sample is split into batches, the result is that of `fit`
        on all of it with these landmarks. Memory is O(r²) for r landmarks, whatever the number of samples. The largest
        coefficient of each component is positive.
        """
        self._check_parameters()
        if self.fit_inverse_transform:
            raise ValueError(
                f"{where(self)}: fit_inverse_transform = True needs all samples at once; use denoise after partial_fit."
            )
        if getattr(self, "_features", None) is None:
            X = self._start(X)
            gram = self._build(X, constants=True)
            self._computed, self._features = gram.kernel, gram.features  # type: ignore[attr-defined]
            Z = gram.factor()
        else:
            Z = self._features(self._check_new(X))
            if not hasattr(self, "_moments"):
                self._moments = _Moments.of(self._features(self.X_fit_))
                self._forget("eigenvectors_", "spectrum_", "X_fit_")
        batch = _Moments.of(Z)
        self._moments = self._moments + batch if hasattr(self, "_moments") else batch
        self._keep_moments(self._features, self._moments)
        return self

    def _keep_moments(self, features: Any, moments: _Moments) -> None:
        unit = float(namespace(features.T).finfo(features.T.dtype).eps)
        trace = float(np.trace(moments.scatter))
        rounding = moments.n * unit**2 * (trace + moments.n * float(moments.mean @ moments.mean))
        values, U = np.linalg.eigh(moments.scatter)
        count = len(values) if self.n_components is None else min(self.n_components, len(values))
        values, U = self._positive(values[::-1][:count], U[:, ::-1][:, :count], rounding)
        T = doubles(features.T)
        U = U * _signs(T @ U) * (values > 0)
        self.function_ = Function(features.kernel, features.centres, like(T @ U, features.T))
        self.mean_ = Function(features.kernel, features.centres, like(T @ moments.mean, features.T))
        self._mean_square = float(moments.mean @ moments.mean)
        self.offset_ = like(moments.mean @ U, features.T)
        self.eigenvalues_ = like(values, features.T)
        self._n_features_out, self.n_samples_seen_ = len(values), moments.n
        self._keep_variance(moments.n, trace)

    # ---- inverse transform

    def _require_vectors(self, X: Data) -> None:
        if self.kernel_.domain.precomputed or not (is_array(X) or is_sparse(X)):
            raise ValueError(
                f"{where(self)}: fit_inverse_transform = True needs samples that are vectors; those of {self.kernel_} "
                "are not."
            )
        if is_sparse(X):
            raise NotImplementedError(
                f"{where(self)}: fit_inverse_transform = True is not available for sparse X; call X.toarray() first."
            )

    def _learn_inverse(self, X: Data) -> None:
        """Ridge regression of the samples on their features, with the same kernel."""
        Z = self._own_features()
        if Z.shape[1] == 0:
            raise ValueError(
                f"{where(self)}: fit_inverse_transform = True needs a component, but the samples are all equal in "
                "feature space; give samples that differ."
            )
        gram = as_representation("auto").build(self.kernel_, Z)
        definite = self.kernel_.definiteness_in(int(Z.shape[1])).is_pd
        self.X_transformed_fit_ = Z
        self.dual_coef_ = solve(System(gram, X, float(self.alpha), definite=definite)).coefficients

    def inverse_transform(self, X: Data) -> Any:
        """Points of the input space for features X of shape (n, n_components), by the learned map."""
        check_is_fitted(self)
        if not hasattr(self, "dual_coef_"):
            raise NotFittedError(
                f"{where(self)}: inverse_transform was not learned; set fit_inverse_transform=True and fit, or use "
                "denoise, which does not need it."
            )
        Z, known = Vectors().check(X, self), self.X_transformed_fit_
        if Z.shape[1] != known.shape[1]:
            raise ValueError(f"{where(self)}: X has {Z.shape[1]} features, but {known.shape[1]} components were found.")
        return Function(self.kernel_, known, self.dual_coef_)(like(Z, known))

    def project(self, X: Data) -> Function:
        r"""The projections :math:`\mu + \sum_j \langle f_j, \varphi(x) - \mu \rangle f_j`, one per column."""
        X = self._check_new(X)
        return self._projection(self.function_.values(X) - self.offset_)

    def _projection(self, Z: Array) -> Function:
        f, xp = self.function_, namespace(Z)
        coefficients = self.mean_.coefficients[:, None] + f.coefficients @ xp.matrix_transpose(Z)
        return Function(f.kernel, f.points, coefficients)

    def denoise(self, X: Data, preimage: Any = "auto") -> Any:
        """Pre-images of the projections of X onto the components.

        Parameters
        ----------
        X : array of shape (n, n_features)
        preimage : str or PreImage
            A method of `mercer.preimage`: "auto", "fixed_point", "distance_based", "learned", "gradient", or an object;
            its `find` on ``pca.project(X)`` also reports the distances in feature space, and any fallbacks.
        """
        X = self._check_new(X)
        Z = self.function_.values(X) - self.offset_
        square = self._mean_square + np.sum(host(Z) * (2 * host(self.offset_) + host(Z)), axis=1)
        target = self._projection(Z)
        return as_preimage(preimage).find(target, X, norm=np.sqrt(np.maximum(square, 0.0))).points

    # ---- reconstruction error

    def reconstruction_error(self, X: Data, diagonal: Array = None) -> Any:
        r"""Squared reconstruction error of each point in feature space: ‖φ(x) − μ‖² minus its squared features.

        `diagonal` holds the values k(x, x), needed for precomputed kernels, whose rows do not contain them.
        """
        X = self._check_new(X)
        if diagonal is None and self.kernel_.domain.precomputed:
            raise ValueError(
                f"{where(self)}: diagonal = None, but a precomputed kernel needs it; give k(x, x) for each x."
            )
        mean = self.mean_(X)
        xp = namespace(mean)
        own = self._computed.evaluate_diag(X) if diagonal is None else like(diagonal, mean)
        left = own - 2 * mean + self._mean_square - xp.sum((self.function_.values(X) - self.offset_) ** 2, axis=1)
        return xp.where(left > 0, left, xp.zeros_like(left))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


@dataclass(frozen=True)
class _Moments:
    """Count, mean and scatter Σ (z − z̄)(z − z̄)ᵀ of vectors in double precision; adding two merges their samples."""

    n: int
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, Z: Array) -> _Moments:
        Z = doubles(Z)
        mean = Z.mean(axis=0)
        return cls(len(Z), mean, (Z - mean).T @ (Z - mean))

    def __add__(self, other: _Moments) -> _Moments:
        n, step = self.n + other.n, other.mean - self.mean
        between = self.n * other.n / n * np.outer(step, step)
        return _Moments(n, self.mean + other.n / n * step, self.scatter + other.scatter + between)


def _trace(gram: CenteredGram) -> tuple[float, float, float]:
    """The trace of K̃, and bounds on the rounding errors of the trace and of an eigenvalue.

    Means of n numbers err by about √n units, equally for all samples: this adds n times to the trace, and nothing to
    directions other than the constant one. A factor rounds its entries, hence ZZᵀ by the square.
    """
    xp, n = gram.xp, gram.n
    unit = float(xp.finfo(gram.dtype).eps)
    if "factor" in gram.provides:
        rounding = n * unit**2 * _squares(gram.base.factor())
        return _squares(gram.factor()), rounding, rounding
    largest = max(float(xp.max(xp.abs(v))) for v in (gram.base.diagonal(), gram.means))
    entry = 4 * n * unit * largest
    return float(xp.sum(gram.diagonal(), dtype=xp.float64)), n**0.5 * entry, entry


def _squares(Z: Array) -> float:
    return float(namespace(Z).sum(Z * Z, dtype=namespace(Z).float64))


def _signs(V: Array) -> Any:
    """For each column the sign of its largest entry, by which scikit-learn makes eigenvectors unique."""
    values = host(V)
    largest = values[np.abs(values).argmax(axis=0), np.arange(values.shape[1])]
    return like(np.where(largest < 0, -1.0, 1.0), V)[None, :]


def _inverse_root(values: Array) -> Any:
    """λ^(−1/2), and 0 for 0."""
    xp = namespace(values)
    positive = values > 0
    return xp.where(positive, 1.0 / xp.sqrt(xp.where(positive, values, xp.ones_like(values))), xp.zeros_like(values))
