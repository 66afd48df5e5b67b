"""Choose the number of kernel principal components, and the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.utils import check_random_state

from .._array import doubles, host
from .._errors import check_choice, check_instance, check_number, speaking
from .._folds import folds
from ..context import complete, current
from ..kernels import Kernel, KernelLike
from ..types import Array, Data, EstimatorLike, RandomState, Splitter

WHO = "choose_components"
CRITERIA = ("reconstruction", "stability", "downstream")
FLOOR = 1e-6  # fraction of the variance that counts as noise


@dataclass(frozen=True)
class ComponentChoice:
    """Result of `choose_components`: print it, or pass `to_dict` to pandas.

    Attributes
    ----------
    criterion : str
    kernels : list of Kernel
        With data-driven parameters resolved.
    n_components : list of int
    scores : array of shape (n_kernels, n_counts, n_splits)
        `values` minus `null` if there is a null; larger is better.
    values, null : arrays of the same shape
        The criterion on the data, and on independently shuffled columns (None for "downstream").
    """

    criterion: str
    kernels: list[Kernel]
    n_components: list[int]
    scores: np.ndarray
    values: np.ndarray
    null: np.ndarray | None

    @property
    def best_kernel(self) -> Kernel:
        """The kernel with the largest mean score, each at its own number of components."""
        return self.kernels[self._best]

    @property
    def best_n_components(self) -> int:
        """The number of components for that kernel."""
        return self.n_components[self._numbers[self._best]]

    @property
    def _numbers(self) -> np.ndarray:
        """For each kernel the index of its number of components; the smallest in case of ties."""
        if self.criterion != "reconstruction":
            return self.scores.mean(axis=2).argmax(axis=1)
        return self.left.argmin(axis=1)

    @property
    def left(self) -> np.ndarray:
        """For "reconstruction", the held-out error divided by that of the null, of shape (n_kernels, n_counts)."""
        if self.criterion != "reconstruction" or self.null is None:
            raise AttributeError(f"left is available only for criterion = 'reconstruction', not {self.criterion!r}.")
        return (1 + FLOOR - self.values.mean(axis=2)) / (1 + FLOOR - self.null.mean(axis=2))

    @property
    def _best(self) -> int:
        return int(np.argmax(self.scores.mean(axis=2)[np.arange(len(self.kernels)), self._numbers]))

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns for ``pandas.DataFrame``, with a row for each kernel and number of components."""
        count = len(self.n_components)
        columns: dict[str, list[Any]] = {
            "kernel": [str(k) for k in self.kernels for _ in range(count)],
            "n_components": self.n_components * len(self.kernels),
            "score": self.scores.mean(axis=2).ravel().tolist(),
            "std": self.scores.std(axis=2, ddof=1).ravel().tolist(),
            "value": self.values.mean(axis=2).ravel().tolist(),
        }
        return columns if self.null is None else {**columns, "null": self.null.mean(axis=2).ravel().tolist()}

    def __str__(self) -> str:
        lines = [
            f"{self.criterion}, {self.scores.shape[2]} splits: mean score of each kernel at its number of components"
        ]
        for i, kernel in enumerate(self.kernels):
            j = int(self._numbers[i])
            mark = "  <- chosen" if i == self._best else ""
            lines.append(f"  {self.scores[i, j].mean():7.4f}  {self.n_components[j]:3d} of {kernel}{mark}")
        return "\n".join(lines)


@speaking
@complete
def choose_components(
    estimator: EstimatorLike,
    X: Data,
    y: Array = None,
    *,
    kernels: Iterable[KernelLike] | None = None,
    n_components: int | Iterable[int] = 10,
    criterion: str = "reconstruction",
    downstream: EstimatorLike = None,
    scoring: str | Callable[..., Any] | None = None,
    cv: Splitter = 5,
    random_state: RandomState = 0,
    time_budget: float | None = None,
) -> ComponentChoice:
    r"""Choose the kernel, or its bandwidth, and the number of components for kernel PCA.

    Parameters
    ----------
    estimator : KernelPCA
        A template; its kernel and number of components are varied.
    X, y : samples, and targets for "downstream"
    kernels : list of kernels, names or expressions, optional
        None: only the kernel of the estimator.
    n_components : int or list of int
        An int stands for 1, …, n_components.
    criterion : {"reconstruction", "stability", "downstream"}
        - "reconstruction": the fraction of the held-out variance, in the space, that the components explain,
          :math:`1 - \sum_x \|\varphi(x) - P\varphi(x)\|^2 / \sum_x \|\varphi(x) - \mu\|^2`, compared with a null: the
          columns of X shuffled independently. For each kernel, the number of components minimises the error relative to
          the null; the difference of the fractions decides between kernels;
        - "stability": the mean squared cosine of the principal angles, in the space, between the components of two
          disjoint halves, minus its value for the null;
        - "downstream": the score of another estimator on the features, cross-validated including the components.
    downstream : estimator, optional
        A classifier or regressor for "downstream".
    scoring : str, callable or None
        Score of `downstream`; None is its own.
    cv : int or splitter
        Folds; for "stability" an int is the number of random splits into halves.
    random_state : int, RandomState or None
        For splits and shuffles.
    time_budget : float > 0, optional
        Time limit in seconds. When it expires, a TimeoutError is raised.

    Returns
    -------
    ComponentChoice

    Notes
    -----
    The held-out error alone cannot decide: subspaces are nested, so it decreases with each component, and a wide kernel
    has a small error because all images are close together. Dividing by the variance corrects the second effect, the
    null the first: as in parallel analysis, a component counts while it explains more of the rest than it would if
    columns were independent. Criteria with a null thus detect only dependence between columns, and need at least two.
    Standardise columns first if their units differ.

    Each kernel and split needs one decomposition, plus one for the null, for all numbers of components.

    References
    ----------
    Horn, *A rationale and test for the number of factors in factor analysis* (1965). Björck, Golub, *Numerical methods
    for computing angles between linear subspaces* (1973).

    Examples
    --------
    >>> from mercer.methods.pca import KernelPCA
    >>> t = np.random.default_rng(0).uniform(0, 6.28, 120)
    >>> X = np.stack([np.cos(t), np.sin(t)], axis=1) + 0.05 * np.random.default_rng(1).normal(size=(120, 2))
    >>> widths = [f"gaussian(lengthscale={s})" for s in (0.02, 0.5, 50.0)]
    >>> choose_components(KernelPCA(), X, kernels=widths).best_kernel
    Gaussian(lengthscale=0.5)
    """
    check_choice(WHO, "criterion", criterion, CRITERIA)
    counts = _counts(n_components)
    rng = check_random_state(random_state)
    models = _models(estimator, X, kernels, max(counts), rng)
    X = models[0].kernel.domain.check(X, WHO)
    n = models[0].kernel.domain.size(X)
    if criterion == "downstream":
        if downstream is None or y is None:
            raise ValueError(f"{WHO}: criterion = 'downstream' needs y and downstream, an estimator that predicts y.")
        splits = folds(WHO, cv, n, y, is_classifier(downstream))
        score = check_scoring(downstream, scoring=scoring)

        def judged(model: EstimatorLike, s: int) -> list[float]:
            """The score of another estimator on the first k features, for each k."""
            pca = _fitted(model, X, splits[s][0])
            A, B = (_features(pca, model.kernel.domain.take(X, index)) for index in splits[s])
            y_train, y_test = (np.asarray(y)[index] for index in splits[s])
            return [score(clone(downstream).fit(A[:, :k], y_train), B[:, :k], y_test) for k in counts]

        values = _table(models, counts, splits, judged)
        return ComponentChoice(criterion, [m.kernel for m in models], counts, values, values, None)
    _require_columns(models, X, criterion)
    halves = criterion == "stability"
    seed = int(rng.randint(2**31 - 1))
    splitter: Any = cv
    if isinstance(cv, Integral):
        check_number(WHO, "cv", cv, at_least=2, integer=True)
        halved = {"test_size": 0.5} if halves else {"shuffle": True}
        splitter = (ShuffleSplit if halves else KFold)(cv, **halved, random_state=seed)
    splits = list(splitter.split(np.zeros(n)))
    measure = _stability if halves else _explained
    shuffled = [np.stack([column[rng.permutation(n)] for column in X.T], axis=1) for _ in splits]
    values = _table(models, counts, splits, lambda m, s: measure(m, X, *splits[s])[np.array(counts) - 1])
    null = _table(models, counts, splits, lambda m, s: measure(m, shuffled[s], *splits[s])[np.array(counts) - 1])
    return ComponentChoice(criterion, [m.kernel for m in models], counts, values - null, values, null)


def _counts(n_components: Any) -> list[int]:
    counts = list(n_components) if isinstance(n_components, Iterable) and not isinstance(n_components, str) else None
    for value in [n_components] if counts is None else counts:
        check_number(WHO, "n_components", value, at_least=1, integer=True)
    if counts == []:
        raise ValueError(f"{WHO}: n_components = [] is empty; pass at least one number.")
    return list(range(1, n_components + 1)) if counts is None else sorted({int(c) for c in counts})


def _models(estimator: EstimatorLike, X: Data, kernels: Any, count: int, rng: Any) -> list[Any]:
    """A template for each kernel, with data-driven parameters estimated once, on all samples."""
    check_instance(WHO, "estimator", estimator)
    if isinstance(kernels, str):
        raise TypeError(f"{WHO}: kernels = {kernels!r} must be a list of kernels, such as [{kernels!r}].")
    if not hasattr(estimator, "reconstruction_error"):
        raise TypeError(f"{WHO}: estimator = {estimator!r} must be a KernelPCA.")
    models = []
    for kernel in [estimator.kernel] if kernels is None else list(kernels):
        model = clone(estimator)
        if kernels is not None:
            model.set_params(kernel=kernel)
        domain = model._kernel(1).domain
        if domain.precomputed:
            raise ValueError(f"{WHO}: kernel = {kernel!r} has no samples; pass samples X and a kernel on them.")
        checked = domain.check(X, WHO)
        resolved = model._kernel(domain.dimension(checked) or 1).resolve(checked)
        plain = {"gamma": None, "degree": 3, "coef0": 1, "kernel_params": None}
        model.set_params(kernel=resolved, n_components=count, random_state=int(rng.randint(2**31 - 1)), **plain)
        models.append(model)
    if not models:
        raise ValueError(f"{WHO}: kernels = [] is empty; pass at least one.")
    return models


def _require_columns(models: list[Any], X: Data, criterion: str) -> None:
    vectors = all(m.kernel.domain.vectors for m in models)
    if not (vectors and isinstance(X, np.ndarray) and X.shape[1] > 1):
        raise ValueError(
            f"{WHO}: criterion = {criterion!r} shuffles columns and needs a NumPy array with at least two; use "
            "'downstream'."
        )


def _table(models: list[Any], counts: list[int], splits: list[Any], measure: Any) -> np.ndarray:
    """Values of shape (n_kernels, n_counts, n_splits)."""
    out = np.empty((len(models), len(counts), len(splits)))
    for i, model in enumerate(models):
        for s in range(len(splits)):
            current().insist()
            out[i, :, s] = measure(model, s)
    return out


def _fitted(model: EstimatorLike, X: Data, part: np.ndarray) -> Any:
    """A clone fitted to a part of the samples."""
    return clone(model).fit(model.kernel.domain.take(X, part))


def _padded(values: np.ndarray, count: int) -> np.ndarray:
    """Cumulative values, repeating the last beyond the available components."""
    return np.concatenate([values, np.full(count - len(values), values[-1])])


def _explained(model: EstimatorLike, X: Data, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """For 1, 2, … components, the fraction of the held-out variance that they explain."""
    pca = _fitted(model, X, train)
    new = model.kernel.domain.take(X, test)
    squares = np.sum(_features(pca, new) ** 2, axis=0)
    whole = squares.sum() + np.sum(host(pca.reconstruction_error(new)), dtype=np.float64)
    return _padded(np.cumsum(squares) / (whole or 1.0), model.n_components)


def _stability(model: EstimatorLike, X: Data, train: np.ndarray, test: np.ndarray) -> np.ndarray:
    """For 1, 2, … components, ‖M‖²/k with M = (⟨fᵢ, gⱼ⟩): the mean squared cosine of the principal angles."""
    f, g = (_fitted(model, X, part).function_ for part in (train, test))
    if f.kernel != g.kernel:
        raise ValueError(
            f"{WHO}: gram = {model.gram!r} draws a different space for each half; use Nystrom or an exact one."
        )
    M = np.asarray(host(f(g.points)).T @ host(g.coefficients), dtype=np.float64)
    size = min(M.shape)
    inside = np.cumsum(np.cumsum(M[:size, :size] ** 2, axis=0), axis=1).diagonal() / np.arange(1, size + 1)
    return _padded(inside, model.n_components)


def _features(pca: Any, X: Data) -> np.ndarray:
    return doubles(pca.transform(X))
