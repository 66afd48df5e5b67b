"""Kernel canonical correlation analysis of two or more views."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._array import host, is_array, is_sparse, like
from .._errors import FROM_ONE, FROM_ZERO, check_choice, check_number, check_parameters, where
from .._folds import folds
from .._random import generator
from .._units import power_of_two
from ..context import current
from ..domains import plain
from ..gram import GramLike
from ..gram.centered import CenteredGram
from ..kernels import KernelLike
from ..kernels.expression import as_kernel
from ..solvers.clustering import largest
from ..solvers.correlation import Pairing, Range, mean_correlations, p_values, range_of
from ..space import Function
from ..types import Array, Data, RandomState, Splitter
from ._base import Estimator
from ._transformer import KernelTransformer

CHOICES = ("auto", "cv", "spectrum")
PAIR = ("X", "y")  # names of the views in messages, unless given as a list
GRID = np.logspace(-5, 1, 7)  # of epsilon, relative to the trace of the centred matrix


@dataclass(eq=False, repr=False)
class View(KernelTransformer):
    """One view: its kernel and Gram operator, and the functions found in its space."""

    kernel: KernelLike
    gram: GramLike = "auto"
    random_state: RandomState = None

    def _needs(self, n: int) -> str:
        return "factor"

    def fit(self, X: Data, y: Array = None) -> Self:
        """Build the centred Gram operator of a sample; `decompose` and `keep` follow."""
        X = self._check_sample(X)
        domain = self.kernel_.domain
        self._require_definite(X, 1)
        if domain.size(X) < 2:
            raise ValueError(f"n_samples = {domain.size(X)}: a correlation needs two samples, preferably many.")
        self._gram = CenteredGram(self._build(X, constants=True))
        return self

    def decompose(self) -> Range:
        """Compute the range of the centred matrix."""
        found = range_of(self._gram)
        if not found.rank:
            raise ValueError(
                f"the view is constant: under {self.kernel_} all its {self._gram.n} samples are equal, so no "
                "correlation is defined; leave it out."
            )
        return found

    def keep(self, found: Range, z: np.ndarray) -> None:
        """Store the functions with values Uz on the sample, and drop the matrix."""
        with np.errstate(over="ignore", invalid="ignore"):
            self._keep(self._gram, like(found.coefficients(z), self._gram.like))
        if not all(np.isfinite(host(values)).all() for values in (self.function_.coefficients, self.offset_)):
            raise ValueError(
                f"the kernel {self.kernel_} has values of {found.values.max():.0e}, and the coefficients of functions "
                f"of variance 1 overflow in {self._gram.dtype}; scale the kernel or the data."
            )
        del self._gram


@dataclass(eq=False, repr=False)
class KernelCCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Estimator):
    r"""Kernel canonical correlation analysis: maximally correlated functions of two or more views of the same samples.

    .. math:: \max_{f, g} \frac{\sum_i \tilde f(x_i)\, \tilde g(y_i)}
              {\sqrt{\sum_i \tilde f(x_i)^2 + \varepsilon \|f\|^2} \sqrt{\sum_i \tilde g(y_i)^2 + \varepsilon\|g\|^2}},
              \qquad
              \begin{pmatrix} 0 & \tilde K_x \tilde K_y \\ \tilde K_y \tilde K_x & 0 \end{pmatrix}
              \begin{pmatrix} a \\ b \end{pmatrix} = \rho
              \begin{pmatrix} \tilde K_x^2 + \varepsilon \tilde K_x & 0 \\ 0 & \tilde K_y^2 + \varepsilon \tilde K_y
              \end{pmatrix} \begin{pmatrix} a \\ b \end{pmatrix}

    with f̃ = f − f̄, the function minus its sample mean. For m > 2 views the sum of the numerators over all pairs is
    maximised over functions whose terms under the roots sum to m, and ρ is the eigenvalue divided by m − 1
    (Kettenring's MAXVAR if ε = 0).

    Parameters
    ----------
    n_components : int >= 1
        Number of functions per view; fewer if the centred matrix of a view has a lower rank.
    kernel : Kernel, name or expression, or a list with one for each view
        Positive definite, or conditionally positive definite of order 1.
    epsilon : float >= 0, a list with one for each view, "auto", "cv" or "spectrum"
        Regularisation parameter, in the units of the sum over samples; larger makes functions smoother and sample
        correlations lower. A kernel c·k with c·ε has the same solution as k with ε. "auto" is 0.1 n^(−1/4) tr K̃ for
        each view: ε/n decreases with n, more slowly than n^(−1/3), as consistency requires. "cv" maximises the mean
        correlation on held-out folds, "spectrum" the distance ‖ρ(ε) − ρ_R(ε)‖ between the spectrum of all correlations
        and that of random pairings. With ε = 0 and strictly definite kernels every correlation is 1 and meaningless.
    epsilons : array of shape (A,) or (A, n_views), optional
        Candidate values of epsilon for "cv" and "spectrum"; default: 7 values from 10⁻⁵ to 10 times tr K̃ of each view.
    cv : int or splitter
        The folds of "cv".
    n_pairings : int >= 1
        Number of random pairings for the mean spectrum in "spectrum".
    n_permutations : int >= 0
        Random pairings for p-values; 0 computes none. The smallest possible p-value is 1/(n_permutations + 1).
    gram : str or Representation
        How each view's kernel matrix is held or approximated; "nystrom" or "incomplete_cholesky" for large samples.
    random_state : int, RandomState, Generator or None
        For random pairings and random representations.
    time_budget : float > 0, optional
        Time limit in seconds. The fit then keeps the best result so far, with a warning, or raises if there is none.

    Attributes
    ----------
    correlations_ : array of shape (n_components,)
        Penalised correlations ρ, in descending order; `correlations` gives those of the functions themselves.
    functions_ : list of Function
        The components of each view, one per column, with variance 1 on the sample. Divide features by `function.norm()`
        for components of norm 1, or by √n for variance 1/n as in R's cancor.
    scores_ : tuple of arrays of shape (n_samples, n_components)
        The features of the sample, for each view.
    epsilon_ : array of shape (n_views,)
        The values of ε used.
    epsilons_, criterion_ : arrays of shapes (A, n_views) and (A,)
        For "cv" and "spectrum": the candidates, and the criterion that is maximised.
    spectra_, random_spectra_ : arrays of shapes (A, r) and (n_pairings, A, r)
        For "spectrum": ρ(ε) and ρ_R(ε).
    p_values_ : array of shape (n_components,)
        If n_permutations > 0. The null hypothesis is that the views are unrelated apart from the preceding components.
        Valid for a fixed epsilon; too small if epsilon was chosen on the same pairs.
    views_ : list of fitted transformers, one per view
    n_features_in_, feature_names_in_
        Of the first view.

    Notes
    -----
    Computations use the ranges of the centred matrices, K̃ = UΛUᵀ, where the problem is a singular value decomposition
    (`mercer.solvers.correlation`); nothing singular is inverted, and every ε and every random pairing uses the same
    decompositions. Dense O(n³) for each view and again for each ε; low rank r O(nr²), which "auto" uses if a kernel
    has few explicit features. A matrix-free representation is made dense for the decomposition.

    References
    ----------
    Akaho, *A kernel method for canonical correlation analysis* (2001); Bach, Jordan, *Kernel independent component
    analysis* (2002); Hardoon, Szedmak, Shawe-Taylor, *Canonical correlation analysis: an overview with application to
    learning methods* (2004), whose choice of ε is "spectrum"; Fukumizu, Bach, Gretton, *Statistical consistency of
    kernel canonical correlation analysis* (2007).

    Examples
    --------
    The two coordinates of a circle are uncorrelated, but functions of them are not:

    >>> rng = np.random.default_rng(0)
    >>> angle = rng.uniform(0, 2 * np.pi, 200)
    >>> X, Y = np.cos(angle)[:, None], np.sin(angle)[:, None]
    >>> bool(abs(np.corrcoef(X[:, 0], Y[:, 0])[0, 1]) < 0.1)
    True
    >>> model = KernelCCA(1).fit(X[:100], Y[:100])
    >>> bool(model.score(X[100:], Y[100:]) > 0.9)
    True
    """

    kernel_compares = (
        "samples of each of its views. Learn a kernel for each, as in MultipleKernel(KernelPCA(), kernels)"
        ".fit(view).kernel_, and pass the list"
    )

    n_components: int = 2
    _: KW_ONLY
    kernel: KernelLike = "gaussian(lengthscale='median')"
    epsilon: Any = "auto"
    epsilons: Any = None
    cv: Splitter = 5
    n_pairings: int = 3
    n_permutations: int = 0
    gram: GramLike = "auto"
    random_state: RandomState = None
    time_budget: float | None = None

    # ---- fitting

    def fit(self, X: Data, y: Array = None) -> Self:
        """Find the components of the views X and y, or of a list of two or more views X."""
        for name in ("epsilons_", "criterion_", "spectra_", "random_spectra_", "p_values_"):
            self.__dict__.pop(name, None)  # left by an earlier fit
        samples = self._training(X, y)
        self._check_parameters(len(samples))
        rng = generator(self.random_state)
        views = [View(kernel, self.gram, rng) for kernel in self._kernels(len(samples))]
        for view, name, sample in zip(views, self._names, samples, strict=True):
            with self._speaking_of(name):
                view.fit(sample)
        self._check_lengths([view._gram.n for view in views])
        ranges = []
        for view, name in zip(views, self._names, strict=True):
            with self._speaking_of(name):
                current().check()
                ranges.append(view.decompose())
        pairing = Pairing([view.vectors for view in ranges])
        self.epsilon_ = self._strengths(ranges, pairing, rng)
        shrinkage = _shrinkage(ranges, self.epsilon_)
        current().check()
        found = pairing.solve(shrinkage, min(self.n_components, pairing.most))
        self.correlations_ = found.values
        if self.n_permutations:
            self.p_values_ = p_values(pairing, shrinkage, found, self.n_permutations, rng)
        self._keep(views, ranges, found.coordinates)
        return self

    def _check_parameters(self, m: int) -> None:
        """Reject invalid parameters before the decompositions."""
        check_parameters(self, {"n_components": FROM_ONE, "n_pairings": FROM_ONE, "n_permutations": FROM_ZERO})
        if isinstance(self.epsilon, str):
            check_choice(self, "epsilon", self.epsilon, CHOICES)
        else:
            self._numbers("epsilon", m)
        if self.epsilons is not None:
            self._numbers("epsilons", m)

    def _keep(self, views: list[View], ranges: list[Range], coordinates: list[np.ndarray]) -> None:
        """Store the functions, with variance 1 and the largest score of the first view positive."""
        sign = np.ones(1)
        scores: list[Any] = []
        for view, name, found, t, epsilon in zip(views, self._names, ranges, coordinates, self.epsilon_, strict=True):
            D = found.shrinkage(epsilon)
            z = (D / power_of_two(D))[:, None] * t
            Z = found.vectors @ z
            if not scores:
                sign = np.sign(Z[np.abs(Z).argmax(axis=0), np.arange(Z.shape[1])])
            size = np.sqrt((Z**2).mean(axis=0))
            scale = sign / np.where(size > 0, size, 1.0)
            scores.append(like(Z * scale, view._gram.like))
            with self._speaking_of(name):
                view.keep(found, z * scale)
        self.views_, self.scores_ = views, tuple(scores)
        self._n_features_out = len(self.correlations_)

    # ---- the strength of the penalty

    def _strengths(self, ranges: list[Range], pairing: Pairing, rng: np.random.Generator) -> np.ndarray:
        traces = np.array([view.values.sum() for view in ranges])
        if not isinstance(self.epsilon, str):
            return self._numbers("epsilon", len(ranges))
        if self.epsilon == "auto":
            return 0.1 * len(pairing.bases[0]) ** -0.25 * traces
        self.epsilons_ = GRID[:, None] * traces if self.epsilons is None else self._numbers("epsilons", len(ranges))
        if self.epsilon == "cv":
            self.criterion_ = self._held_out(ranges, len(pairing.bases[0]))
        else:
            self.criterion_ = self._against_random(ranges, pairing, rng)
        return self.epsilons_[largest(self.criterion_)]

    def _numbers(self, name: str, m: int) -> np.ndarray:
        """A parameter as an array with one value per view in the last axis."""
        given = getattr(self, name)
        values = host(given)
        if values.dtype.kind not in "fiu":
            raise TypeError(f"{where(self)}: {name} = {given!r} must be numbers >= 0.")
        if name == "epsilons" and values.ndim == 1:
            values = values[:, None]
        shape = (m,) if name == "epsilon" else (len(values) if values.ndim else 1, m)
        fits = values.ndim <= len(shape) and values.size and values.shape[-1:] in ((), (1,), (m,))
        if not fits or not np.all(np.isfinite(values)) or (values < 0).any():
            raise ValueError(f"{where(self)}: {name} = {given!r} must be numbers >= 0, one or {m} for {m} views.")
        return np.broadcast_to(values, shape).astype(np.float64)

    def _held_out(self, ranges: list[Range], n: int) -> np.ndarray:
        """The mean correlation of the components on held-out folds."""
        if isinstance(self.cv, Integral):
            check_number(self, "cv", self.cv, at_least=2, at_most=n, integer=True)
        splits = folds(self, self.cv, n)
        if min(min(len(train), len(test)) for train, test in splits) < 2:
            raise ValueError(
                f"{where(self)}: cv = {self.cv!r} gives a fold with only one of the {n} samples; use fewer folds."
            )
        total = np.zeros(len(self.epsilons_))
        for train, test in splits:
            current().check()
            parts, held = zip(*(view.split(train, test) for view in ranges), strict=True)
            part = Pairing([view.vectors for view in parts])
            count = min(self.n_components, part.most)
            for place, epsilon in enumerate(self.epsilons_ if count else ()):
                shrinkage = _shrinkage(parts, epsilon)
                found = part.solve(shrinkage, count)
                values = [E @ (D[:, None] * t) for E, D, t in zip(held, shrinkage, found.coordinates, strict=True)]
                total[place] += mean_correlations(values).mean() / len(splits)
        return total

    def _against_random(self, ranges: list[Range], pairing: Pairing, rng: np.random.Generator) -> np.ndarray:
        """The distance between the spectrum and that of randomly paired views."""

        def spectra(pairs: Pairing) -> np.ndarray:
            current().check()
            return np.stack([pairs.values(_shrinkage(ranges, epsilon)) for epsilon in self.epsilons_])

        self.spectra_ = spectra(pairing)
        self.random_spectra_ = np.stack([spectra(pairing.permuted(rng)) for _ in range(self.n_pairings)])
        return np.linalg.norm(self.spectra_ - self.random_spectra_.mean(axis=0), axis=1)

    # ---- new samples

    @property
    def functions_(self) -> list[Function]:
        """The components of each view."""
        return [view.function_ for view in self.views_]

    @property
    def n_features_in_(self) -> int:
        """Number of features of the first view."""
        return self.views_[0].n_features_in_

    @property
    def feature_names_in_(self) -> Any:
        """Feature names of the first view."""
        return self.views_[0].feature_names_in_

    def transform(self, X: Data, y: Array = None, *, view: int | None = None) -> Any:
        """The features of new samples, of shape (n, n_components).

        After ``fit(X, y)``: those of X, or with y a tuple of both. After a fit to a list of views: a tuple, for a list
        of as many views. ``transform(X, view=j)`` transforms a sample of view j alone.
        """
        check_is_fitted(self)
        if view is not None:
            return self._features(X, self._place("view", view))
        if y is None and self._names == PAIR:
            return self._features(X, 0)
        return tuple(self._features(sample, j) for j, sample in enumerate(self._samples(X, y)))

    def fit_transform(self, X: Data, y: Array = None) -> Any:
        """Fit, and return the features of X (only of X even with y, as pipelines expect) or of a list of views."""
        return self.fit(X, y).transform(X)

    def correlations(self, X: Data, y: Array = None) -> np.ndarray:
        """The correlation of each component on these samples, averaged over pairs for m > 2 views.

        Of shape (n_components,). Use held-out samples to assess the components.
        """
        check_is_fitted(self)
        scores = [host(self._features(sample, j)) for j, sample in enumerate(self._samples(X, y))]
        self._check_lengths([len(Z) for Z in scores])
        return mean_correlations(scores)

    def score(self, X: Data, y: Array = None) -> float:
        """The mean of `correlations`."""
        return float(self.correlations(X, y).mean())

    # ---- retrieval

    def similarity(self, queries: Any, candidates: Any = None, *, view: int = 0, target: int | None = None) -> Any:
        r"""Σ_j ρ_j f_j(x) g_j(y) for queries x and candidates y, of shape (n_queries, n_candidates).

        The inner product of the projections, weighted by the correlations.

        Parameters
        ----------
        queries : sample of view `view`
        candidates : sample of view `target`, optional
            Default: the training sample.
        view : int
            View of the queries.
        target : int, optional
            View of the candidates; default: the first other view.
        """
        check_is_fitted(self)
        view = self._place("view", view)
        target = int(view == 0) if target is None else self._place("target", target)
        known = host(self.scores_[target] if candidates is None else self._features(candidates, target))
        return (host(self._features(queries, view)) * self.correlations_) @ known.T

    def retrieve(
        self, queries: Any, k: int = 10, *, candidates: Any = None, view: int = 0, target: int | None = None
    ) -> np.ndarray:
        """Indices of the k best candidates in another view for each query, best first, of shape (n_queries, k).

        Ranked by `similarity`, which has the same parameters; all candidates if there are fewer than k.
        """
        check_number(self, "k", k, at_least=1, integer=True)
        S = self.similarity(queries, candidates, view=view, target=target)
        return np.argsort(-S, axis=1, kind="stable")[:, :k]

    # ---- the views

    def _training(self, X: Data, y: Array) -> list[Any]:
        """The samples of the views, and their names in messages."""
        if y is None:
            if not isinstance(X, (list, tuple)):
                raise ValueError(
                    f"{where(self)} requires y to be passed, but the target y is None; pass the second view as y, "
                    "or a list of views: fit([X1, X2])."
                )
            if len(X) < 2:
                raise ValueError(f"{where(self)}: the list holds {len(X)} view{'s' * (len(X) != 1)}; give two or more.")
            self._names = tuple(f"views[{j}]" for j in range(len(X)))
            return list(X)
        self._names = PAIR
        return [X, self._column(y, self._kernels(2)[1])]

    def _samples(self, X: Data, y: Array) -> list[Any]:
        """The samples of all views, in the same form as in fit."""
        if self._names == PAIR and y is not None:
            return [X, self._column(y, self.views_[1].kernel)]
        if self._names == PAIR:
            raise ValueError(f"{where(self)}: y is None; give both views, as in fit.")
        m = len(self.views_)
        if y is not None or not isinstance(X, (list, tuple)) or len(X) != m:
            raise ValueError(f"{where(self)} was fitted with a list of {m} views; give such a list, or view=j for one.")
        return list(X)

    def _column(self, y: Array, kernel: KernelLike) -> Any:
        """Reshape one number per sample to vectors of one coordinate."""
        if is_sparse(y) or not as_kernel(kernel).domain.vectors:
            return y
        A = y if is_array(y) else plain(y, where(self), "y")
        return A.reshape(-1, 1) if A.ndim == 1 else y

    def _features(self, X: Data, j: int) -> Any:
        with self._speaking_of(self._names[j]):
            return self.views_[j].transform(X)

    def _kernels(self, m: int) -> list[Any]:
        if not isinstance(self.kernel, (list, tuple)):
            return [self.kernel] * m
        if len(self.kernel) != m:
            raise ValueError(
                f"{where(self)}: kernel lists {len(self.kernel)} kernels for {m} views; give one for each."
            )
        return list(self.kernel)

    def _place(self, name: str, j: Any) -> int:
        check_number(self, name, j, at_least=0, at_most=len(self.views_) - 1, integer=True)
        return int(j)

    def _check_lengths(self, lengths: Sequence[int]) -> None:
        if len(set(lengths)) > 1:
            listed = ", ".join(f"{name} has {n}" for name, n in zip(self._names, lengths, strict=True))
            raise ValueError(f"{where(self)}: the views must have one row for each sample, but {listed} samples.")

    @contextmanager
    def _speaking_of(self, name: str) -> Iterator[None]:
        """Prefix errors with this estimator and the view concerned."""
        try:
            yield
        except (TypeError, ValueError) as error:
            text = re.sub(r"\bView\b", where(self), str(error).removeprefix("View: "))
            error.args = (f"{where(self)}, {name}: {text}",)
            raise

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel[0] if isinstance(self.kernel, (list, tuple)) and self.kernel else self.kernel
        tags.input_tags = View(kernel, None, None).__sklearn_tags__().input_tags
        tags.target_tags.required = True
        return tags


def _shrinkage(ranges: Sequence[Range], epsilon: Sequence[float] | np.ndarray) -> list[np.ndarray]:
    return [view.shrinkage(float(e)) for view, e in zip(ranges, epsilon, strict=True)]
