"""The loss of the proportional hazards model."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import namespace
from .._errors import where
from ..types import Array, Namespace
from ._base import LINK, register
from ._scalar import LogLink, logarithm

NONE = -1e30  # the logarithm of 0 in sums; finite so that differences are defined
FORM = "two columns, time and event, or be a structured array with a boolean and a numeric field"


@register
class Cox(LogLink):
    r"""Cox's negative log partial likelihood for censored times, with Breslow's rule for ties; couples the samples.

    .. math::

        L(f) = \sum_{i : \text{event}} w_i \Big( \log \sum_{j : t_j \ge t_i} w_j e^{f_j} - f_i \Big)

    Targets are two columns, time and event (1: the event occurred at this time; 0: censored at this time), or a
    structured array with a boolean and a numeric field. :math:`e^f` is the hazard relative to f = 0: f is defined up to
    a constant, and a free offset is not identifiable.

    Notes
    -----
    Weights also enter the risk sets: an integer weight counts identical samples. With
    :math:`\pi_j = w_j e^{f_j} \sum_{i : t_i \le t_j} w_i \delta_i / S_i`, the expected number of events of sample j,
    where S is the sum over a risk set, the gradient is π − wδ. The Hessian is diag(π) minus a positive semi-definite
    matrix, so `majorizer` is π; `hessian_product` takes one pass over the risk sets and another over their events. All
    sums are prefix sums of logarithms, accurate for any range of f, in O(n log n).

    References
    ----------
    Cox, *Regression models and life-tables* (1972). Breslow, *Covariance analysis of censored survival data*
    (1974), for ties. Therneau, Grambsch, *Modeling Survival Data* (2000), for weights and ties.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([[1.0, 1], [2.0, 0], [3.0, 1]])
    >>> Cox().total(y, np.zeros(3)).round(4)
    np.float64(1.0986)
    >>> Cox().gradient(y, np.zeros(3)).round(4)
    array([-0.6667,  0.3333,  0.3333])
    """

    abilities = ("gradient", "hessian_product", "majorizer", *LINK)
    task = "survival"
    coupled = True

    def prepare(self, y: Array) -> Any:
        """Convert a structured array to two columns."""
        names = getattr(getattr(y, "dtype", None), "names", None)
        if names is None:
            return y
        if sorted(y.dtype[name].kind for name in names) not in (["b", "f"], ["b", "i"], ["b", "u"]):
            raise ValueError(f"{where(self)}: y with fields {', '.join(names)} must have {FORM}.")
        event, time = sorted(names, key=lambda name: y.dtype[name].kind != "b")
        return np.column_stack([y[time], y[event]]).astype(np.float64)

    def check(self, y: Array) -> None:
        super().check(y)
        if y.ndim != 2 or y.shape[1] != 2:
            raise ValueError(f"{where(self)}: y of shape {tuple(y.shape)} must have {FORM}.")
        xp = namespace(y)
        if not bool(xp.all((y[:, 1] == 0) | (y[:, 1] == 1))):
            raise ValueError(f"{where(self)}: events, the second column of y, must be 0 or 1; times come first.")

    def total(self, y: Array, f: Array, weight: Array = None) -> Any:
        events, sums, _, _ = _risk(y, f, f[:, None][:, :0], weight)
        return namespace(f).sum(events * (sums - f))

    def gradient(self, y: Array, f: Array, weight: Array = None) -> Any:
        events, _, expected, _ = _risk(y, f, f[:, None][:, :0], weight)
        return expected - events

    def hessian_product(self, y: Array, f: Array, V: Array, weight: Array = None) -> Any:
        xp = namespace(f)
        _, _, expected, means = _risk(y, f, xp.reshape(V, (f.shape[0], -1)), weight)
        return xp.reshape(expected, (-1, *(1,) * (V.ndim - 1))) * (V - xp.reshape(means, V.shape))

    def majorizer(self, y: Array, f: Array, weight: Array = None) -> Any:
        return _risk(y, f, f[:, None][:, :0], weight)[2]

    def targets(self, rng: np.random.Generator, n: int) -> np.ndarray:
        return np.column_stack([np.ceil(8 * rng.uniform(size=n)), rng.uniform(size=n) < 0.7]).astype(float)


def _risk(y: Array, f: Array, V: Array, weight: Array) -> tuple[Any, Any, Any, Any]:
    """Weighted events wδ, logarithms of the risk sums S, expected events π, and the means of the columns of V."""
    # For sample j, the last is the mean, over the events i up to t_j and weighted by their contributions to π_j, of the
    # means of V over the risk set of i.
    xp = namespace(f)
    time, event = y[:, 0], y[:, 1]
    weight = xp.ones_like(f) if weight is None else weight
    events = weight * event
    order = xp.argsort(time)
    time, back = xp.take(time, order), xp.argsort(order)
    first, last = xp.searchsorted(time, time), xp.searchsorted(time, time, side="right") - 1

    logs = xp.take(logarithm(weight, xp, NONE) + f, order)
    sums, means = _prefix(xp.flip(logs), xp.flip(xp.take(V, order, axis=0), axis=0), xp)
    sums, means = xp.take(xp.flip(sums), first), xp.take(xp.flip(means, axis=0), first, axis=0)

    terms = logarithm(xp.take(events, order), xp, NONE)
    terms = xp.where(terms > NONE, terms - sums, NONE)
    hazard, means = _prefix(terms, means, xp)
    hazard, means = xp.take(hazard, last), xp.take(means, last, axis=0)
    expected = xp.exp(logs + hazard)
    return events, xp.take(sums, back), xp.take(expected, back), xp.take(means, back, axis=0)


def _prefix(logs: Any, values: Array, xp: Namespace) -> tuple[Any, Any]:
    """log Σ exp(logs) over each prefix, and the means of the rows of `values` with these weights: a doubling scan."""
    shift = 1
    while shift < logs.shape[0]:
        total = xp.logaddexp(logs[shift:], logs[:-shift])
        share = xp.exp(logs[:-shift] - total)[:, None]
        later = values[shift:, :]
        values = xp.concat([values[:shift, :], later + share * (values[:-shift, :] - later)])
        logs = xp.concat([logs[:shift], total])
        shift *= 2
    return logs, values
