r"""Sparse Bayesian learning: precisions of the columns of a kernel matrix that maximise the evidence.

The evidence is maximised over one precision at a time, in closed form; columns enter or leave if this raises it.

Tipping, *Sparse Bayesian learning and the relevance vector machine*, Journal of Machine Learning Research 1 (2001).
Tipping, Faul, *Fast marginal likelihood maximisation for sparse Bayesian models*, AISTATS (2003).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ... import _threads
from ..._array import host, like
from ...context import Status, current
from ...gram import Gram
from ...losses import Logistic

ALIGNED = 1e-10  # relative to φᵀBφ: a column with less of it outside the model is a combination of the model's columns
SAME = 1e-3  # relative gain of a new column over one of the model that is required, to keep out copies of a column
NOISELESS = 1e-10  # relative to the variance of y: the smallest noise variance estimated
REFRESH = 100  # steps over which rounding may accumulate
SAFE = 1e-4  # pivot relative to its column below which Σ⁻¹ is factorised without being formed
SINGULAR = 1e-6  # pivot below which no accuracy would be left
NEWTON = 100  # maximum number of steps towards the mode of a classifier's posterior


class Dictionary:
    """The columns k(·, xⱼ) on the sample and, last, the constant; none is stored."""

    def __init__(self, gram: Gram, intercept: bool):
        self.gram, self.intercept, self.n = gram, intercept, gram.n

    def column(self, j: int) -> np.ndarray:
        """The values of one column on the sample."""
        if j == self.n:
            return np.ones(self.n)
        return np.asarray(self.gram.block(slice(j, j + 1), slice(None)))[0]  # a row, which is contiguous

    def products(self, V: np.ndarray) -> np.ndarray:
        """ΦᵀV for all columns."""
        P = np.asarray(self.gram @ V)
        return np.concatenate([P, V.sum(axis=0)[None]]) if self.intercept else P

    def squares(self, weight: np.ndarray) -> np.ndarray:
        """Σᵢ bᵢ φⱼ(xᵢ)² for all columns."""
        gram, total = self.gram.native, np.zeros(self.n)
        for rows in _threads.slices(self.n, max(1, (1 << 22) // self.n)):
            B = gram.block(rows, slice(None))
            total += host(like(weight[rows], B) @ (B * B))
        return np.append(total, weight.sum()) if self.intercept else total


class Evidence:
    """The evidence as a function of the precisions α of a few columns, with all others infinite.

    With Σ⁻¹ = diag(α) + ΦᵀBΦ, B the curvature of the negative log-likelihood at the posterior mode μ and g its negative
    gradient there, column j enters only through S = φᵀBφ − φᵀBΦΣΦᵀBφ and Q = φᵀg. Excluding the column itself, these
    are s and q, and the evidence is a constant plus ½(q²/(α + s) − log(1 + s/α)) in its precision α.
    """

    exact = True  # whether this is exact; it is not if B depends on α

    def __init__(self, dictionary: Dictionary):
        self.dictionary = dictionary
        self.active: list[int] = []
        self.alpha = np.empty(0)
        self.columns = np.empty((dictionary.n, 0))
        self.mean = np.empty(0)
        self.root = np.empty((0, 0))  # Σ = rootᵀ root
        self.value = -np.inf
        self.refused: set[int] = set()  # columns whose gain was rounding

    # ---- defined by the likelihood

    def update(self) -> None:
        """Compute mode, covariance and evidence for the current precisions."""
        raise NotImplementedError

    def influences(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """φᵀBφ, S and Q of all columns; S and Q need not be valid for active ones."""
        raise NotImplementedError

    def improve_likelihood(self, gain: float) -> None:
        """Improve the likelihood's own parameter, if any; `gain` is the gain of the last step, 0 if there was none."""

    # ---- the ascent

    def maximise(self, tol: float, max_iter: int) -> tuple[list[float], Status]:
        """Change the precision with the largest gain, step by step; return the history, and why it ended.

        Every step considers all columns: cheaper steps on active columns only end at lower maxima.
        """
        self.update()
        history, context = [self.value], current()
        for k in range(max_iter):
            if status := context({"value": self.value, "round": k}):
                return history, status
            j, alpha, gain = self.best_step()
            if gain > tol:
                self.step(j, alpha)
            before = self.value
            self.improve_likelihood(gain if gain > tol else 0.0)
            history.append(self.value)
            if self.value - before > tol:
                self.refused.clear()
            elif gain <= tol:
                return history, Status.CONVERGED
        return history, Status.MAX_ITER

    def best_step(self) -> tuple[int, float, float]:
        """The column whose best precision raises the evidence most, that precision (∞: removed), and the gain."""
        own, outside, q = self.influences()
        independent, s = own * ALIGNED < outside, outside.copy()
        variance = (self.root**2).sum(axis=0)
        s[self.active] = (1 - self.alpha * variance) / variance
        q[self.active] = self.mean / variance
        independent[self.active] = True
        old, new = np.full(len(s), np.inf), np.full(len(s), np.inf)
        old[self.active] = self.alpha
        relevant = independent & (q**2 > s)
        new[relevant] = s[relevant] ** 2 / (q[relevant] ** 2 - s[relevant])
        gains = _gain(new, s, q) - _gain(old, s, q)
        gains[list(self.refused)] = 0.0
        j = int(np.where(np.isinf(old), (1 - SAME) * gains, gains).argmax())
        return j, float(new[j]), float(gains[j])

    def step(self, j: int, alpha: float) -> bool:
        """Set the precision of column j, unless the gain was only rounding; return whether it was set."""
        before, old = self.value if self.exact else -np.inf, self.precision(j)
        self.set_precision(j, alpha)
        self.update()
        if self.value > before:
            self.refused.clear()
            return True
        self.refused.add(j)
        self.set_precision(j, old)
        self.update()
        return False

    def precision(self, j: int) -> float:
        """α of column j."""
        return float(self.alpha[self.active.index(j)]) if j in self.active else np.inf

    def outside(self, own: np.ndarray, shared: np.ndarray) -> np.ndarray:
        """S of all columns from φᵀBφ and ΦᵀBφ."""
        return own - ((self.root @ shared) ** 2).sum(axis=0)

    def set_precision(self, j: int, alpha: float) -> None:
        """Add or remove column j, or change its precision."""
        if j not in self.active:
            self.active.append(j)
            self.alpha = np.append(self.alpha, alpha)
            self.mean = np.append(self.mean, 0.0)
            self.columns = np.column_stack([self.columns, self.dictionary.column(j)])
            return
        place = self.active.index(j)
        self.alpha[place] = alpha
        if np.isinf(alpha):
            self.keep(np.delete(np.arange(len(self.active)), place))

    def keep(self, places: np.ndarray) -> None:
        """Keep only these active columns, in this order."""
        self.active = [self.active[p] for p in places]
        self.alpha, self.mean, self.columns = self.alpha[places], self.mean[places], self.columns[:, places]

    def factorise(self, inner: np.ndarray, curvature: np.ndarray) -> float:
        """Set `root` from Σ⁻¹ = diag(α) + `inner`, with inner = ΦᵀBΦ; return log det Σ⁻¹, ∞ if it is singular."""
        precision = np.diag(self.alpha) + (inner + inner.T) / 2
        scale = np.sqrt(np.diag(precision))
        try:
            R = np.linalg.cholesky(precision / np.outer(scale, scale)).T * scale
        except np.linalg.LinAlgError:
            R = np.zeros_like(precision)
        if (np.diag(R) < SAFE * scale).any():
            half = np.sqrt(curvature)[:, None] * self.columns
            R = np.asarray(np.linalg.qr(np.concatenate([half, np.diag(np.sqrt(self.alpha))]), mode="r"))
        self.root = solve_triangular(R, np.eye(len(R)), trans="T") if len(R) else R
        pivots = np.abs(np.diag(R))
        return np.inf if (pivots < SINGULAR * scale).any() else 2 * float(np.log(pivots).sum())


def _gain(alpha: np.ndarray, s: np.ndarray, q: np.ndarray) -> np.ndarray:
    """The part of the evidence that depends on a single precision; 0 at infinity."""
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = (q**2 / (alpha + s) - np.log1p(s / alpha)) / 2
    return np.where(np.isinf(alpha), 0.0, gain)


class GaussianEvidence(Evidence):
    """y = Φw + noise: log N(y; 0, σ²I + Φ diag(α)⁻¹ Φᵀ), exactly; columns are multiplied once, when they are added.

    σ² is given, or starts as the fraction `first` of the variance of y. It first changes when columns gain at most
    `patience`, and then whenever they gain at most as much as its own last change.
    """

    def __init__(
        self, dictionary: Dictionary, y: np.ndarray, noise: float | None, first: float = 0.1, patience: float = np.inf
    ):
        super().__init__(dictionary)
        self.y, self.estimated, self.patience = y, noise is None, patience
        square = float(np.mean(y**2))
        spread = float(np.var(y)) if dictionary.intercept else square
        self.least = NOISELESS * (spread + NOISELESS * square) or float(np.finfo(float).eps)
        self.noise = max(first * spread, self.least) if noise is None else float(noise)
        self.own = dictionary.squares(np.ones(dictionary.n))
        self.targets = dictionary.products(y)
        self.shared = np.empty((len(self.own), 0))
        self.unexplained = self.own / self.noise  # S
        self.age = 0  # steps since it was recomputed

    def step(self, j: int, alpha: float) -> bool:
        """Like the base class, also updating S."""
        unexplained, age, is_new = self.unexplained, self.age, j not in self.active
        if not is_new:
            reach, variance = self.reach(j)
            unexplained = unexplained + reach**2 / (variance + 1 / (alpha - self.precision(j)))
        if not super().step(j, alpha):
            return False
        if is_new:
            reach, variance = self.reach(j)
            unexplained = unexplained - reach**2 / variance
        self.unexplained, self.age = unexplained, age + 1
        return True

    def reach(self, j: int) -> tuple[np.ndarray, float]:
        """Row j of ΣΦᵀBφ for all columns φ, and Σⱼⱼ: changing one precision changes S by a multiple of its square."""
        root = self.root[:, self.active.index(j)]
        return self.shared @ (self.root.T @ root) / self.noise, float(root @ root)

    def set_precision(self, j: int, alpha: float) -> None:
        is_new = j not in self.active
        super().set_precision(j, alpha)
        if is_new:
            self.shared = np.column_stack([self.shared, self.dictionary.products(self.columns[:, -1])])
        self.age = REFRESH

    def keep(self, places: np.ndarray) -> None:
        super().keep(places)
        self.shared = self.shared[:, places]

    def update(self) -> None:
        n = len(self.y)
        determinant = self.factorise(self.shared[self.active] / self.noise, np.full(n, 1 / self.noise))
        self.mean = self.root.T @ (self.root @ self.targets[self.active]) / self.noise
        # Σ has the squared condition number of its root; one correction step restores the accuracy
        slope = self.columns.T @ (self.y - self.columns @ self.mean) / self.noise - self.alpha * self.mean
        self.mean += self.root.T @ (self.root @ slope)
        self.residual = float(np.sum((self.y - self.columns @ self.mean) ** 2))
        determinant += n * np.log(2 * np.pi * self.noise) - np.log(self.alpha).sum()
        self.value = -float(determinant + self.residual / self.noise + self.alpha @ self.mean**2) / 2

    def influences(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.age >= REFRESH:
            self.unexplained, self.age = self.outside(self.own / self.noise, self.shared.T / self.noise), 0
        q = (self.targets - self.shared @ self.mean) / self.noise
        return self.own / self.noise, self.unexplained, q

    def improve_likelihood(self, gain: float) -> None:
        """MacKay's update of σ², or the EM update, which never lowers the evidence."""
        if not self.estimated or gain > self.patience:
            return
        before, old = self.value, self.noise
        n, determined = len(self.y), float(np.sum(1 - self.alpha * (self.root**2).sum(axis=0)))
        undetermined = max(n - determined, np.finfo(float).eps)
        for noise in (self.residual / undetermined, (self.residual + old * determined) / n, old):
            self.noise = max(noise, self.least)
            self.update()
            if self.value >= before:
                break
        self.age, self.patience = REFRESH, max(self.value - before, 0.0)

    def hold(self, noise: float) -> None:
        """Fix σ², keeping the current columns."""
        self.noise, self.estimated, self.age = noise, False, REFRESH
        self.refused.clear()


class BernoulliEvidence(Evidence):
    """P(y = ±1 | w) = 1/(1 + exp(−yΦw)): Laplace's approximation of log ∫ P(y | w) N(w; 0, diag(α)⁻¹) dw."""

    exact = False

    def __init__(self, dictionary: Dictionary, y: np.ndarray):
        super().__init__(dictionary)
        self.y, self.loss = y, Logistic()

    def update(self) -> None:
        w, height = self.mean, self.energy(self.mean)
        for _ in range(NEWTON):
            f = self.columns @ w
            self.slope, self.curvature = -self.loss.gradient(self.y, f), self.loss.hessian(self.y, f)
            determinant = self.factorise((self.columns.T * self.curvature) @ self.columns, self.curvature)
            half = self.root @ (self.columns.T @ self.slope - self.alpha * w)
            direction, decrement, length = self.root.T @ half, float(half @ half), 1.0
            if decrement <= 1e-14 * (1 + abs(height)):
                break
            while (lower := self.energy(w + length * direction)) > height - 0.1 * length * decrement and length > 1e-8:
                length /= 2
            w, height = w + length * direction, lower
        self.mean = w
        self.value = -height + (float(np.log(self.alpha).sum()) - determinant) / 2

    def energy(self, w: np.ndarray) -> float:
        """−log P(y | w) + ½wᵀAw."""
        return float(self.loss.total(self.y, self.columns @ w) + self.alpha @ w**2 / 2)

    def influences(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        shared = self.dictionary.products(self.columns * self.curvature[:, None]).T
        own = self.dictionary.squares(self.curvature)
        return own, self.outside(own, shared), self.dictionary.products(self.slope)


def maximise_gaussian(
    dictionary: Dictionary, y: np.ndarray, noise: float | None, tol: float, max_iter: int
) -> tuple[GaussianEvidence, list[float], Status]:
    """The highest maximum of the evidence found, its history, and why it ended.

    If σ² is estimated from the beginning, it absorbs all that single columns do not explain, and with wide kernels only
    several columns together explain anything; if σ² is held low until the columns have settled, too many may remain. So
    both are tried. If the columns then found under the estimate are better, the ascent continues from them.
    """
    if noise is not None:
        return _maximise_held(dictionary, y, noise, tol, max_iter)
    starts = [GaussianEvidence(dictionary, y, None, 0.1), GaussianEvidence(dictionary, y, None, 0.01, patience=0.01)]
    best = _highest(starts, tol, max_iter)
    while True:
        evidence, history, status = _maximise_held(dictionary, y, best[0].noise, tol, max_iter)
        if status.external:
            return best[0], best[1], status
        if status is not Status.CONVERGED or evidence.value <= best[0].value + tol:
            return best
        evidence.estimated = True
        further, status = evidence.maximise(tol, max_iter)
        best = evidence, history + further[1:], status


def _maximise_held(
    dictionary: Dictionary, y: np.ndarray, noise: float, tol: float, max_iter: int
) -> tuple[GaussianEvidence, list[float], Status]:
    """The highest maximum for a fixed σ², starting from no columns and from those that settle under low noise."""
    starts = [GaussianEvidence(dictionary, y, noise)]
    settled = GaussianEvidence(dictionary, y, None, 0.01)
    if settled.noise < noise:
        settled.hold(settled.noise)
        settled.maximise(0.01, max_iter)
        settled.hold(noise)
        starts.append(settled)
    return _highest(starts, tol, max_iter)


def _highest(starts: list[Any], tol: float, max_iter: int) -> Any:
    """The run with the highest evidence, its history, and why it ended; a run that was cut short prevails."""
    runs = [(evidence, *evidence.maximise(tol, max_iter)) for evidence in starts]
    evidence, history, status = max(runs, key=lambda run: run[0].value)
    return evidence, history, next((run[2] for run in runs if run[2].external), status)


def maximise_bernoulli(
    dictionary: Dictionary, y: np.ndarray, tol: float, max_iter: int
) -> tuple[BernoulliEvidence, list[float], Status]:
    """The highest maximum for labels ±1, from no columns and from those of a low-noise regression on the labels."""
    regression = GaussianEvidence(dictionary, y, 0.1)
    regression.maximise(0.01, max_iter)
    starts = [BernoulliEvidence(dictionary, y), BernoulliEvidence(dictionary, y)]
    for j, alpha in zip(regression.active, regression.alpha, strict=True):
        starts[1].set_precision(j, alpha)
    return _highest(starts, tol, max_iter)
