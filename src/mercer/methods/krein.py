"""Learning with kernels that are not positive: ridge regression and support vector machines in Kreĭn spaces."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .. import _threads
from .._array import host, like
from .._errors import POSITIVE, IndefiniteKernelWarning, check_number, check_parameters, warn, where
from ..basis import Polynomials
from ..context import current
from ..evaluation import bind
from ..gram import Dense
from ..gram.dense import DenseGram
from ..kernels import Kernel, KernelLike
from ..solvers.design import Design
from ..solvers.linear import Symmetric, System
from ..types import Array, ClassWeight, Data
from ._base import KernelEstimator
from ._classifier import Classifier
from ._svm import Sample
from .svc import SVC

NEAR = 0.01  # of alpha: eigenvalues that are so close to −alpha decide the solution alone


class Inertia(NamedTuple):
    """How many eigenvalues are positive, negative and, up to rounding, zero."""

    positive: int
    negative: int
    zero: int

    @classmethod
    def of(cls, values: np.ndarray, precision: float) -> Inertia:
        floor = len(values) * precision * np.abs(values).max(initial=0.0)
        positive, negative = int(np.sum(values > floor)), int(np.sum(values < -floor))
        return cls(positive, negative, len(values) - positive - negative)


@dataclass(eq=False, repr=False)
class KreinRidge(MultiOutputMixin, RegressorMixin, KernelEstimator):
    r"""Ridge regression with a kernel that need not be positive: the stationary point of the penalised squares.

    .. math:: \operatorname*{stab}_{f \in \mathcal K,\, b}\; \tfrac12 \sum_i w_i (y_i - f(x_i) - b)^2
              + \tfrac{\alpha}{2} \langle f, f \rangle_{\mathcal K}

    The space of a kernel that is a difference of two positive ones, :math:`k = k_+ - k_-`, is a Kreĭn space, in which
    :math:`\langle f, f\rangle = \|f_+\|^2 - \|f_-\|^2`. There is nothing to minimise, but the representer theorem holds
    for stationary points: :math:`f = \sum_i a_i k(\cdot, x_i)` with :math:`(K + \alpha W^{-1})a + b = y`, and
    :math:`\sum_i a_i = 0` where b is free.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Any symmetric one. For a positive definite one this is `KernelRidge`.
    alpha : float >= 0
        Weight of the penalty. Raising it smooths what has positive eigenvalues. A direction with an eigenvalue λ < 0 of
        the kernel matrix has the coefficient 1/(λ + α): −α must keep its distance from the eigenvalues.
    fit_intercept : bool
        Whether to add an unpenalised constant b.
    time_budget : float > 0, optional
        Seconds after which the fit ends: with the best so far and a warning, or, if there is none yet, with an error.

    Attributes
    ----------
    dual_coef_ : array of shape (n_samples,) or (n_samples, n_targets)
        a.
    intercept_ : float or array of shape (n_targets,)
        b, 0 without an intercept.
    function_ : Function
        f + b. ``function_.inner(function_)`` is ⟨f, f⟩, which may be negative.
    eigenvalues_ : array
        Of :math:`W^{1/2} K W^{1/2}`, where b is free those on the complement of the constant; in descending order.
    inertia_ : Inertia
        How many of them are positive, negative and zero.
    n_maximised_ : int
        Directions with −alpha < λ < 0, in which the objective has a maximum and not a minimum; 0 means that the
        solution is a minimum over all functions of the sample.
    condition_ : float
        The largest \|λ + alpha\| over the smallest.
    X_fit_, kernel_
        The training samples, and the kernel with data-driven parameters filled in.

    See Also
    --------
    mercer.kernels.Flipped : ``KernelRidge(kernel=Flipped(k))`` minimises instead, with ‖f₊‖² + ‖f₋‖² for the penalty.

    Notes
    -----
    The whole matrix is held: O(n²) memory, O(n³) once for the solution (LDLᵀ) and the spectrum, O(n) a prediction.
    Where −alpha is an eigenvalue there is no solution, which is an error; within 1 % of alpha the direction of that
    eigenvalue outweighs all others, which is an `IndefiniteKernelWarning`.

    References
    ----------
    Ong, Mary, Canu, Smola, *Learning with non-positive kernels* (2004); Oglic, Gärtner, *Learning in reproducing kernel
    Kreĭn spaces* (2018), for the minimum with both norms in the penalty.

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
        """Report the spectrum, and refuse a system that is singular."""
        alpha, M = float(self.alpha), host(design.matrix())
        precision = float(np.finfo(M.dtype).eps)
        values = np.linalg.eigvalsh(M.astype(np.float64))[::-1]
        if design.weight is not None:  # samples of weight 0 are not there
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
            return  # nothing is left beside the constant
        nearest = values[distance.argmin()]
        if least <= len(values) * precision * largest:
            raise ValueError(
                f"{where(self)}: the kernel matrix has the eigenvalue {nearest:.6g}, so that with alpha = {alpha:g} "
                "there is no stationary point; give another alpha, or use KernelRidge(kernel=Flipped(…))."
            )
        if least < NEAR * alpha:
            warn(
                f"{where(self)}: the kernel matrix has the eigenvalue {nearest:.6g}, so near to -alpha = {-alpha:g} "
                "that its direction outweighs all others; give another alpha, or use KernelRidge(kernel=Flipped(…)).",
                IndefiniteKernelWarning,
            )

    def predict(self, X: Data) -> Any:
        """The values of `function_` at X, of shape (n,) or (n, n_targets)."""
        X = self._check_new(X)
        return self.function_.values(X)

    def leave_one_out(self) -> Any:
        r"""For each training sample the value at it of the fit without it, in closed form.

        .. math:: f^{(-i)}(x_i) = y_i - \tilde a_i / (\sqrt{w_i}\, G_{ii}), \qquad \tilde a = G W^{1/2} y

        Equal to n refits with the same kernel and alpha, intercept and weights included: the identity is one of linear
        systems, and asks for no positive kernel. A sample of weight 0 gets the value of the fit itself. O(n³).
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
    """U|Λ|Uᵀ of a kernel matrix UΛUᵀ, whose functions are written in the space of the kernel itself."""

    def __init__(self, kernel: Kernel, X: Data):
        kernel.domain.centres(X)  # which refuses a matrix that is not one of the sample with itself
        K = np.asarray(bind(kernel, X).dense())
        with _threads.one_blas_thread:  # the steps of the solver, and so its end within tol, depend on the last digits
            values, self.vectors = np.linalg.eigh((K + K.T).astype(np.float64) / 2)
            flipped = (self.vectors * np.abs(values)) @ self.vectors.T
        self.values, self.precision = values, float(np.finfo(K.dtype).eps)
        self.signs = np.sign(values) * (np.abs(values) > len(K) * self.precision * np.abs(values).max())
        super().__init__(kernel, X, flipped)

    def expansion(self, coefficients: Array) -> tuple[Kernel, Any, Any]:
        A = coefficients.reshape(self.n, -1)
        if (self.signs >= 0).all():  # |K| = K, and coefficients that are zero stay so
            kept = np.flatnonzero(A.any(axis=1)) if A.any() else np.zeros(1, dtype=np.int64)
            return self.kernel, self.kernel.domain.take(self.centres, kept), coefficients[kept]
        a = self.vectors @ (self.signs[:, None] * (self.vectors.T @ A))
        return self.kernel, self.centres, a.reshape(coefficients.shape).astype(coefficients.dtype)


@dataclass(eq=False, repr=False)
class KreinSVC(Classifier):
    r"""Support vector classification with a kernel that need not be positive.

    .. math:: \min_{f \in \mathcal K,\, b}\; \tfrac12 \big(\|f_+\|^2 + \|f_-\|^2\big)
              + C \sum_i w_i \big(1 - y_i (f(x_i) + b)\big)_+

    in the Kreĭn space of :math:`k = k_+ - k_-`, of which :math:`f_+` and :math:`f_-` are the parts. With
    :math:`K = U \Lambda U^\top` this is the support vector machine of the matrix :math:`U |\Lambda| U^\top`; its
    coefficients β become :math:`a = U \operatorname{sign}(\Lambda) U^\top \beta`, and :math:`f = \sum_i a_i k(\cdot,
    x_i)` takes the same values on the sample.

    Parameters
    ----------
    kernel : str, Kernel or callable
        Any symmetric one. For a positive definite one this is `SVC`.
    C : float > 0
        Weight of the errors; larger fits the training data more closely.
    multi_class : {"ovo", "ovr"}
        With more than two classes: a machine for each pair, or for each class against the rest; all of them on the
        spectrum of the whole sample.
    fit_intercept : bool
        Whether there is an offset b.
    tol : float > 0
        LIBSVM's criterion, max{f : β can grow} − min{f : β can fall} ≤ tol.
    max_iter : int >= 1, optional
        Steps of two variables at most in each problem; None for LIBSVM's limit, 10⁷ or 100 a sample.
    class_weight, decision_function_shape, break_ties, n_jobs
        As in `SVC`.
    time_budget : float, optional
        Seconds after which the best machine so far is returned, with a warning.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, classes_, class_weight_, n_iter_
        As in `SVC`, of the problem with |K|: `dual_coef_` holds β.
    function_ : Function
        The machines, in the space of k: values and coefficients a.
    solutions_ : list of BoxSolution
        For each machine gap, duality gap and objective: the certificate that f is the minimum.
    eigenvalues_ : array of shape (n_samples,)
        Λ, in descending order.
    inertia_ : Inertia
        How many of them are positive, negative and zero.
    kernel_ : Kernel

    See Also
    --------
    SVC : takes an indefinite kernel as well, with a warning, and finds a stationary point of the problem with K.
    mercer.kernels.Flipped : ``SVC(kernel=Flipped(k))`` decides in the same way, with k̃ for its kernel.

    Notes
    -----
    Unlike β, the coefficients a are zero nowhere, unless k is positive definite: prediction needs all n samples. The
    spectrum is that of the samples as they are: those of weight 0 belong to it, and one that is there twice is not the
    same as one of weight 2, unless k is positive definite. The whole matrix is held and decomposed: O(n²) memory and
    O(n³) once. For more samples, correct the kernel on some of them, ``SVC(kernel=Flipped(k, X[:1000]))``.

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
        self._require_numpy(X)
        gram = FlippedGram(self.kernel_, X)
        self.eigenvalues_ = gram.values[::-1]
        self.inertia_ = Inertia.of(gram.values, gram.precision)
        return Sample(X, gram, self.cache_size)

    _kernel = KernelEstimator._kernel
    _keeps_sample = KernelEstimator._keeps_sample  # functions of an indefinite kernel are written with all samples
    _resolved_kernel = KernelEstimator._resolved_kernel
    _task_problem = SVC._task_problem
    _task_problems = SVC._task_problems
    _scale_and_offset = SVC._scale_and_offset
