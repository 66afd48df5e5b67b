"""Learning with indefinite kernels: ridge regression and support vector machines in Kreĭn spaces."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _threads
from .._array import eps, eye, host, like, namespace
from .._errors import POSITIVE, IndefiniteKernelWarning, check_number, check_parameters, warn, where
from ..basis import Polynomials
from ..context import current
from ..evaluation import bind
from ..gram import Cross, Dense
from ..gram.dense import DenseGram
from ..kernels import Kernel, KernelLike
from ..solvers.design import Design
from ..solvers.linear import Symmetric, System
from ..types import Array, Checked, ClassWeight, Data
from ._base import KernelEstimator
from ._classifier import Classifier
from ._predictors import FunctionRegressor
from ._svm import Sample
from .svc import SVC

NEAR = 0.01  # fraction of alpha: eigenvalues this close to −alpha dominate the solution


class Inertia(NamedTuple):
    """Numbers of eigenvalues that are positive, negative and, up to rounding, zero."""

    positive: int
    negative: int
    zero: int

    @classmethod
    def of(cls, values: np.ndarray, precision: float) -> Inertia:
        floor = len(values) * precision * np.abs(values).max(initial=0.0)
        positive, negative = int(np.sum(values > floor)), int(np.sum(values < -floor))
        return cls(positive, negative, len(values) - positive - negative)


@dataclass(eq=False, repr=False)
class KreinRidge(FunctionRegressor):
    r"""Ridge regression with an indefinite kernel: the stationary point of the penalised squares.

    .. math:: \operatorname*{stab}_{f \in \mathcal K,\, b}\; \tfrac12 \sum_i w_i (y_i - f(x_i) - b)^2
              + \tfrac{\alpha}{2} \langle f, f \rangle_{\mathcal K}

    The space of a difference of two positive definite kernels, :math:`k = k_+ - k_-`, is a Kreĭn space, in which
    :math:`\langle f, f\rangle = \|f_+\|^2 - \|f_-\|^2`. The objective need not have a minimum, but the representer
    theorem holds for stationary points: :math:`f = \sum_i a_i k(\cdot, x_i)` with
    :math:`(K + \alpha W^{-1})a + b = y`, and :math:`\sum_i a_i = 0` if b is free.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Any symmetric kernel. For a positive definite one this is `KernelRidge`.
    alpha : float >= 0
        Regularisation parameter. Larger values smooth the directions with positive eigenvalues. An eigenvector of the
        kernel matrix with λ < 0 has coefficient 1/(λ + α), so −α must not be close to an eigenvalue.
    fit_intercept : bool
        Whether to add an unpenalised constant b.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_targets)
        a.
    intercept_ : float or array of shape (n_targets,)
        b, 0 without an intercept.
    function_ : Function
        f + b. ``function_.inner(function_)`` is ⟨f, f⟩, which may be negative.
    eigenvalues_ : array
        Eigenvalues λ of :math:`W^{1/2} K W^{1/2}` (on the complement of the constant if b is free), descending.
    inertia_ : Inertia
        Numbers of positive, negative and zero eigenvalues.
    n_maximised_ : int
        Number of directions with −alpha < λ < 0, in which the objective has a maximum instead of a minimum; 0 means
        that the solution is a minimum over all functions of the sample.
    condition_ : float
        The largest \|λ + alpha\| divided by the smallest.
    X_fit_, kernel_
        The training samples, and the kernel with data-driven parameters filled in.

    See Also
    --------
    mercer.kernels.Flipped : ``KernelRidge(kernel=Flipped(k))`` minimises with penalty ‖f₊‖² + ‖f₋‖² instead.

    Notes
    -----
    The full matrix is stored: O(n²) memory, O(n³) once for the solution (LDLᵀ) and the spectrum, O(n) per prediction.
    If −alpha is an eigenvalue, there is no solution and the fit fails. An eigenvalue within 1 % of alpha from −alpha
    dominates the fit, which gives an `IndefiniteKernelWarning`.

    References
    ----------
    Ong, Mary, Canu, Smola, *Learning with non-positive kernels* (2004); Oglic, Gärtner, *Learning in reproducing kernel
    Kreĭn spaces* (2018), for the minimum with both norms as penalty.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 25)[:, None]
    >>> k = Gaussian(1.0) + -0.5 * Gaussian(3.0)
    >>> model = KreinRidge(k, alpha=0.01).fit(X, np.sin(X[:, 0]))
    >>> model.inertia_.negative > 0, bool(abs(model.predict([[2.0]])[0] - np.sin(2.0)) < 0.01)
    (True, True)
    """

    takes_indefinite = True
    _solves_system = True

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    alpha: float = 1.0
    fit_intercept: bool = False
    time_budget: float | None = None

    def fit(self, X: Data, y: Array, sample_weight: Array = None) -> Self:
        """Fit to samples X and targets y of shape (n,) or (n, n_targets)."""
        check_number(self, "alpha", self.alpha, at_least=0)
        X, y = self._check_fit(X, y, multi_output=True, y_numeric=True)
        weight = self._check_weight(sample_weight, X)
        gram = Dense().build(self.kernel_.about(X) if self.fit_intercept else self.kernel_, X)
        b = like(y, gram.like)
        weight = None if weight is None else like(weight, gram.like)
        basis = Polynomials(0) if self.fit_intercept else None
        H = None if basis is None else like(basis(X), gram.like)
        current().check()
        self._judge(Design(gram, H, weight))
        current().check()
        solution = Symmetric().solve(System(gram, b, float(self.alpha), H, weight))
        self.X_fit_, self._target, self._weight, self._strength = gram.X, b, weight, float(self.alpha)
        self.dual_coef_ = a = solution.coefficients
        self.function_ = self._function(gram, a, basis, solution.free)
        c = self._at_zero(gram, a, solution.free)
        self.intercept_ = 0.0 if c is None else float(c[0]) if c.ndim == 1 else c[0, :]
        return self

    def _judge(self, design: Design) -> None:
        """Store the spectrum, and reject a singular system."""
        alpha, M = float(self.alpha), host(design.matrix())
        precision = float(np.finfo(M.dtype).eps)
        values = np.linalg.eigvalsh(M.astype(np.float64))[::-1]
        if design.weight is not None:  # leave out samples of weight 0
            absent = design.n - design.effective
            values = np.delete(values, np.argsort(np.abs(values))[:absent])
        self.eigenvalues_ = values
        self.inertia_ = Inertia.of(values, precision)
        floor = len(values) * precision * np.abs(values).max(initial=0.0)
        self.n_maximised_ = int(np.sum((values < -floor) & (values > -alpha)))
        distance = np.abs(values + alpha)
        least, largest = distance.min(initial=np.inf), distance.max(initial=0.0)
        self.condition_ = float(largest / least) if least > 0 else np.inf
        if not len(values):
            return  # only the constant is left
        nearest = values[distance.argmin()]
        if least <= len(values) * precision * largest:
            raise ValueError(
                f"{where(self)}: the kernel matrix has the eigenvalue {nearest:.6g}, so with alpha = {alpha:g} "
                "there is no stationary point; change alpha, or use KernelRidge(kernel=Flipped(…))."
            )
        if least < NEAR * alpha:
            warn(
                f"{where(self)}: the kernel matrix has the eigenvalue {nearest:.6g}, so close to -alpha = {-alpha:g} "
                "that its direction dominates the fit; change alpha, or use KernelRidge(kernel=Flipped(…)).",
                IndefiniteKernelWarning,
            )

    def leave_one_out(self) -> Any:
        r"""Leave-one-out predictions at the training samples, in closed form.

        .. math:: f^{(-i)}(x_i) = y_i - \tilde a_i / (\sqrt{w_i}\, G_{ii}), \qquad \tilde a = G W^{1/2} y

        Equal to n refits with the same kernel and alpha, including intercept and weights: the identity holds for linear
        systems and needs no definite kernel. A sample of weight 0 gets the value of the fit itself. O(n³).
        """
        check_is_fitted(self)
        gram = Dense().build(self.function_.kernel, self.X_fit_)
        basis = self.function_.basis
        design = Design(gram, None if basis is None else like(basis(gram.X), gram.like), self._weight)
        values, vectors = np.linalg.eigh(host(design.matrix()).astype(np.float64))
        V = host(design.embed(like(vectors, gram.like)))
        scale = np.ones(gram.n) if design.scale is None else host(design.scale)
        y = host(self._target).reshape(gram.n, -1)
        fitted = host(self.function_(self.X_fit_)).reshape(y.shape)
        inverse = 1 / (values + self._strength)
        present = scale > 0
        own = np.where(present, scale * ((V * V) @ inverse), 1.0)[:, None]
        left = np.where(present[:, None], y - (V @ (inverse[:, None] * (V.T @ (scale[:, None] * y)))) / own, fitted)
        return like(left.reshape(tuple(self._target.shape)), self._target)


class FlippedGram(DenseGram):
    """U|Λ|Uᵀ for a kernel matrix UΛUᵀ; its functions are expanded in the kernel itself."""

    def __init__(self, kernel: Kernel, X: Data):
        kernel.domain.centres(X)  # rejects a precomputed matrix that is not square and symmetric
        K = bind(kernel, X).dense()
        xp = namespace(K)
        with _threads.one_blas_thread:  # the last digits affect the solver's steps, and so the result within tol
            values, self.vectors = xp.linalg.eigh(xp.astype(K + K.T, xp.float64) / 2)
            flipped = (self.vectors * xp.abs(values)) @ self.vectors.T
        self.values, self.precision = host(values), eps(K)
        self.signs = np.sign(self.values) * (np.abs(self.values) > len(K) * self.precision * np.abs(self.values).max())
        super().__init__(kernel, X, flipped)

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        A = coefficients.reshape(self.n, -1)
        if (self.signs >= 0).all():  # |K| = K, and zero coefficients stay zero
            moving = host(A != 0).any(axis=1)
            kept = np.flatnonzero(moving) if moving.any() else np.zeros(1, dtype=np.int64)
            return self.kernel, self.kernel.domain.take(self.centres, kept), coefficients[kept]
        V = self.vectors
        a = V @ (like(self.signs, V)[:, None] * (V.T @ like(A, V)))
        return self.kernel, self.centres, like(a.reshape(coefficients.shape), coefficients)

    def cross(self, X_new: Checked) -> FlippedCross:
        return FlippedCross(self, X_new)


class FlippedCross(Cross):
    """k(X_new, X) U sign(Λ) Uᵀ as an operator."""

    def __init__(self, gram: FlippedGram, X_new: Checked):
        super().__init__(gram.kernel, X_new, gram.centres)
        self.gram = gram

    def __matmul__(self, V: Array) -> Any:
        kernel, points, coefficients = self.gram.expansion(V)
        return bind(kernel, self.X_new, points).product(coefficients)

    def dense(self) -> Any:
        return self @ eye(self.gram.n, self.gram.like)


@dataclass(eq=False, repr=False)
class KreinSVC(Classifier):
    r"""Support vector classification with an indefinite kernel.

    .. math:: \min_{f \in \mathcal K,\, b}\; \tfrac12 \big(\|f_+\|^2 + \|f_-\|^2\big)
              + C \sum_i w_i \big(1 - y_i (f(x_i) + b)\big)_+

    in the Kreĭn space of :math:`k = k_+ - k_-`, with :math:`f = f_+ + f_-`. For :math:`K = U \Lambda U^\top` this is
    the support vector machine with matrix :math:`U |\Lambda| U^\top`; its coefficients β are mapped to
    :math:`a = U \operatorname{sign}(\Lambda) U^\top \beta`, and :math:`f = \sum_i a_i k(\cdot, x_i)` takes the same
    values on the sample.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Any symmetric kernel. For a positive definite one this is `SVC`.
    C : float > 0
        Weight of the errors; larger fits the training data more closely.
    multi_class : {"ovo", "ovr"}
        With more than two classes: a machine for each pair, or for each class against the rest; all use the spectrum of
        the whole sample.
    fit_intercept : bool
        Whether to fit an offset b.
    tol : float > 0
        LIBSVM's criterion, max{f : β can grow} − min{f : β can fall} ≤ tol.
    max_iter : int >= 1, optional
        Maximum number of two-variable steps per problem; None for LIBSVM's limit, 10⁷ or 100 per sample.
    class_weight, decision_function_shape, break_ties, n_jobs
        As in `SVC`.
    time_budget : float, optional
        Time limit in seconds. The best machine so far is then kept, with a warning.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, class_weight_, n_iter_
        As in `SVC`, for the problem with |K|: `dual_coef_` holds β.
    function_ : Function
        The machines in the space of k, with coefficients a.
    solutions_ : list of BoxSolution
        The gap, duality gap and objective of each machine, which certify the minimum.
    eigenvalues_ : array of shape (n_samples,)
        Λ, in descending order.
    inertia_ : Inertia
        Numbers of positive, negative and zero eigenvalues.
    kernel_ : Kernel

    See Also
    --------
    SVC : also accepts indefinite kernels, with a warning, and finds a stationary point of the problem with K.
    mercer.kernels.Flipped : ``SVC(kernel=Flipped(k))`` makes the same decisions, with k̃ as its kernel.

    Notes
    -----
    Unlike β, the coefficients a are not sparse unless k is positive definite: prediction needs all n samples. The
    spectrum ignores weights: it includes samples of weight 0, and a repeated sample differs from one of weight 2 unless
    k is positive definite. The full matrix is stored and decomposed: O(n²) memory and O(n³) once. For more samples,
    correct the kernel on a subset, ``SVC(kernel=Flipped(k, X[:1000]))``.

    References
    ----------
    Loosli, Canu, Ong, *Learning SVM in Kreĭn spaces* (2016).

    Examples
    --------
    >>> X, y = np.array([[-1.0], [-2.0], [1.0], [2.0]]), ["a", "a", "b", "b"]
    >>> model = KreinSVC("sigmoid(scale=1.0, offset=-1.0)").fit(X, y)
    >>> model.predict([[0.5]]), model.inertia_.negative > 0
    (array(['b'], dtype='<U1'), True)
    """

    degree, gamma, coef0 = 3, "scale", 0.0
    takes_indefinite = True
    calibration, probability, checkpoint, random_state = None, False, None, None
    cache_size, loss = "auto", "hinge"

    kernel: KernelLike = "gaussian(lengthscale='median')"
    _: KW_ONLY
    C: float = 1.0
    class_weight: ClassWeight = None
    multi_class: str = "ovo"
    fit_intercept: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    decision_function_shape: str = "ovr"
    break_ties: bool = False
    n_jobs: int | None = None
    time_budget: float | None = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_parameters(self, {"C": POSITIVE, "multi_class": ("ovo", "ovr")})

    def _prepare(self, X: Data) -> Sample:
        gram = FlippedGram(self.kernel_, X)
        self.eigenvalues_ = gram.values[::-1]
        self.inertia_ = Inertia.of(gram.values, gram.precision)
        return Sample(X, gram)

    _kernel = KernelEstimator._kernel
    _keeps_sample = KernelEstimator._keeps_sample  # expansions of indefinite kernels need all samples
    _resolved_kernel = KernelEstimator._resolved_kernel
    _task_problem = SVC._task_problem
    _task_problems = SVC._task_problems
    _scale_and_offset = SVC._scale_and_offset
