"""Samples from known distributions, for examples and tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import check_number, speaking
from .._random import generator
from ..types import Data, RandomState


@speaking
def make_circles(
    n_samples: int | tuple[int, int] = 400,
    *,
    shuffle: bool = True,
    noise: float | None = 0.1,
    random_state: RandomState = None,
    factor: float = 0.3,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Two concentric clouds of points in the plane,

    .. math:: x = R_y\,(\cos\varphi, \sin\varphi) + \sigma\varepsilon, \qquad R_0 = 1, \quad R_1 = \text{factor},

    with :math:`\varphi` uniform on :math:`[0, 2\pi)` and :math:`\varepsilon` standard normal. The optimal
    boundary is a circle, which is a line in the features :math:`x_1^2, x_2^2`.

    The parameters are those of `sklearn.datasets.make_circles`, whose points are evenly spaced on the circles. Here
    they are a random sample; by default, the clouds are separate.

    Parameters
    ----------
    n_samples : int or (int, int), default=400
        The total number of points (an odd one goes to the inner circle), or the numbers for outer and inner circle.
    shuffle : bool, default=True
        Whether to shuffle the points. Otherwise, the outer circle comes first.
    noise : float >= 0 or None, default=0.1
        The standard deviation σ in each direction; None means 0. The clouds overlap for large values.
    random_state : None, int, RandomState or Generator
    factor : float in [0, 1), default=0.3
        The radius of the inner circle. 0 gives a cloud in the middle of a ring.

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)
        0 for the outer circle, 1 for the inner one.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = make_circles(4, noise=None, factor=0.5, shuffle=False, random_state=0)
    >>> np.hypot(*X.T), y
    (array([1. , 1. , 0.5, 0.5]), array([0, 0, 1, 1]))
    """
    outer, inner = _two("make_circles", n_samples)
    check_number("make_circles", "factor", factor, at_least=0, at_most=1 - 1e-12)
    sigma = 0.0 if noise is None else noise
    check_number("make_circles", "noise", sigma, at_least=0)
    rng = generator(random_state)
    y = np.repeat([0, 1], [outer, inner])
    angle = rng.uniform(0, 2 * np.pi, len(y))
    X = np.where(y == 1, factor, 1.0)[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X += sigma * rng.normal(size=X.shape)
    order = rng.permutation(len(y)) if shuffle else slice(None)
    return X[order], y[order]


def _two(owner: str, n_samples: Any) -> tuple[int, int]:
    pair = isinstance(n_samples, tuple)
    counts = n_samples if pair else (n_samples,)
    for count in counts:
        check_number(owner, "n_samples", count, at_least=1, integer=True)
    if pair and len(counts) != 2:
        raise ValueError(f"{owner}: n_samples = {n_samples!r} must be an integer or a pair of integers.")
    return n_samples if pair else (n_samples // 2, n_samples - n_samples // 2)


def complex_boundary(X: Data) -> np.ndarray:
    r"""The function whose zero set is the boundary of `make_complex`: :math:`g(x) = x_2 + \sin(3x_1 + 2\sin 3x_2)`.

    Parameters
    ----------
    X : array of shape (n, 2)

    Returns
    -------
    array of shape (n,)

    Examples
    --------
    >>> complex_boundary([[0.0, 0.0], [0.5, 0.0]]).round(3)
    array([0.   , 0.997])
    """
    x1, x2 = np.asarray(X, dtype=np.float64).T
    return x2 + np.sin(3 * x1 + 2 * np.sin(3 * x2))


@speaking
def make_complex(
    n_samples: int = 400, *, margin: float = 0.0, flip: float = 0.0, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Two classes in the square :math:`[-1, 1]^2` with a boundary that needs many polynomial features,

    .. math:: y = \bigl[g(x) > 0\bigr], \qquad g(x) = x_2 + \sin(3x_1 + 2\sin 3x_2).

    The boundary winds through the square and cuts off pieces at its sides. As g is odd, the classes are equally likely.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points, uniform on the part of the square where :math:`|g(x)| \ge` `margin`.
    margin : float in [0, 1], default=0
        Half-width of an empty strip along the boundary, in units of g. Larger margins make the problem easier.
    flip : float in [0, 0.5], default=0
        The probability of a wrong label, which is the Bayes error.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    X : array of shape (n_samples, 2)
    y : array of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> X, y = make_complex(100, margin=0.2, random_state=0)
    >>> bool(((complex_boundary(X) > 0.2) == (y == 1)).all())
    True
    """
    check_number("make_complex", "n_samples", n_samples, at_least=1, integer=True)
    check_number("make_complex", "margin", margin, at_least=0, at_most=1)
    check_number("make_complex", "flip", flip, at_least=0, at_most=0.5)
    rng = generator(random_state)
    X = np.empty((0, 2))
    while len(X) < n_samples:
        new = rng.uniform(-1, 1, (2 * n_samples, 2))
        X = np.concatenate([X, new[np.abs(complex_boundary(new)) >= margin]])
    X = X[:n_samples]
    wrong = rng.uniform(size=n_samples) < flip
    return X, ((complex_boundary(X) > 0) ^ wrong).astype(np.int64)


@speaking
def make_toy_cca(
    n_samples: int = 200, *, noise: float = 0.1, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Two dependent but uncorrelated variables, the coordinates of a circle,

    .. math:: x = \cos\varphi + \sigma\varepsilon_1, \qquad y = \sin\varphi + \sigma\varepsilon_2,

    with :math:`\varphi` uniform and :math:`\varepsilon` standard normal. Functions of them can be correlated: without
    noise, the Chebyshev polynomials of even degree :math:`f = T_{2k}(x)` and :math:`g = (-1)^k T_{2k}(y)` are equal,
    for example :math:`2x^2 - 1 = 1 - 2y^2`.

    Parameters
    ----------
    n_samples : int, default=200
        Number of pairs.
    noise : float >= 0, default=0.1
        The standard deviation σ. Larger values lower the canonical correlations.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    X, Y : arrays of shape (n_samples, 1)

    Examples
    --------
    >>> import numpy as np
    >>> X, Y = make_toy_cca(5, noise=0, random_state=0)
    >>> np.allclose(2 * X**2 - 1, 1 - 2 * Y**2)
    True
    """
    check_number("make_toy_cca", "n_samples", n_samples, at_least=1, integer=True)
    check_number("make_toy_cca", "noise", noise, at_least=0)
    rng = generator(random_state)
    angle = rng.uniform(0, 2 * np.pi, n_samples)
    X, Y = (np.stack([np.cos(angle), np.sin(angle)]) + noise * rng.normal(size=(2, n_samples)))[:, :, None]
    return X, Y


@speaking
def make_contaminated(
    n_samples: int = 200,
    n_features: int = 1,
    *,
    contamination: float = 0.1,
    spread: float = 10.0,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""A normal sample with a fraction of outliers that are uniform on a cube,

    .. math:: p = (1 - \epsilon)\,\mathcal N(0, I) + \epsilon\,\mathcal U\bigl([-s, s]^d\bigr).

    Parameters
    ----------
    n_samples : int, default=200
        Total number of points.
    n_features : int, default=1
        The dimension d.
    contamination : float in [0, 1], default=0.1
        The fraction ε. Exactly round(ε n) points are outliers.
    spread : float > 0, default=10
        Half the side s of the cube.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    X : array of shape (n_samples, n_features)
    y : array of shape (n_samples,)
        1 for an outlier, 0 otherwise.

    Examples
    --------
    >>> X, y = make_contaminated(50, contamination=0.2, random_state=0)
    >>> X.shape, int(y.sum())
    ((50, 1), 10)
    """
    check_number("make_contaminated", "n_samples", n_samples, at_least=1, integer=True)
    check_number("make_contaminated", "n_features", n_features, at_least=1, integer=True)
    check_number("make_contaminated", "contamination", contamination, at_least=0, at_most=1)
    check_number("make_contaminated", "spread", spread, above=0)
    rng = generator(random_state)
    y = rng.permutation(np.arange(n_samples) < round(contamination * n_samples)).astype(np.int64)
    shape = n_samples, n_features
    return np.where(y[:, None] == 1, rng.uniform(-spread, spread, shape), rng.normal(size=shape)), y


@speaking
def make_tasks(
    n_samples: int = 20,
    n_tasks: int = 5,
    *,
    relatedness: float = 0.8,
    noise: float = 0.1,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Regression tasks with a common component,

    .. math:: y = \sqrt{\rho}\,g_0(x) + \sqrt{1 - \rho}\,g_t(x) + \sigma\varepsilon, \qquad
              g_j(x) = \sum_{m=1}^{5} \sqrt{w_m}\,(a_{jm}\cos mx + b_{jm}\sin mx), \quad w_m \propto m^{-2},

    with x uniform on :math:`[0, 2\pi)` and all a, b and :math:`\varepsilon` standard normal. The functions are a sample
    of the Gaussian process with covariance

    .. math:: \bigl(\rho + (1 - \rho)[s = t]\bigr)\,k(x, x'), \qquad k(x, x') = \sum_m w_m \cos m(x - x'),
              \quad \sum_m w_m = 1,

    so that ρ is the coupling that `mercer.MultitaskKernelRidge` estimates.

    Parameters
    ----------
    n_samples : int, default=20
        Number of points per task.
    n_tasks : int, default=5
        Number of tasks.
    relatedness : float in [0, 1], default=0.8
        The correlation ρ between the functions of two tasks: 0 for unrelated tasks, 1 for one common function.
    noise : float >= 0, default=0.1
        The standard deviation σ. With the same `random_state`, ``noise=0`` gives the functions at the same points.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    X : array of shape (n_samples * n_tasks, 2)
        x and the task number, sorted by task.
    y : array of shape (n_samples * n_tasks,)

    References
    ----------
    Evgeniou, Micchelli, Pontil, *Learning multiple tasks with kernel methods* (2005).

    Examples
    --------
    >>> from mercer import MultitaskKernelRidge
    >>> X, y = make_tasks(random_state=0)
    >>> model = MultitaskKernelRidge(kernel="gaussian(lengthscale=1.0)", task=1).fit(X, y)
    >>> bool(model.share_ > 0)
    True
    """
    check_number("make_tasks", "n_samples", n_samples, at_least=1, integer=True)
    check_number("make_tasks", "n_tasks", n_tasks, at_least=1, integer=True)
    check_number("make_tasks", "relatedness", relatedness, at_least=0, at_most=1)
    check_number("make_tasks", "noise", noise, at_least=0)
    rng = generator(random_state)
    order = np.arange(1, 6)
    weight = order**-2.0 / np.sum(order**-2.0)
    common = rng.normal(size=10)
    own = rng.normal(size=(n_tasks, 10))
    task = np.repeat(np.arange(n_tasks), n_samples)
    x = rng.uniform(0, 2 * np.pi, len(task))
    features = np.concatenate([np.cos(np.outer(x, order)), np.sin(np.outer(x, order))], axis=1)
    features *= np.sqrt(np.tile(weight, 2))
    coefficients = np.sqrt(relatedness) * common + np.sqrt(1 - relatedness) * own[task]
    y = np.sum(features * coefficients, axis=1) + noise * rng.normal(size=len(x))
    return np.stack([x, task], axis=1), y


@speaking
def make_shifted(
    n_samples: int = 30, n_groups: int = 20, *, shift: float = 2.5, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Groups of points in the plane, each with its own location, direction and boundary,

    .. math:: x = c + s\,u + t\,v, \qquad y = [s > 0], \qquad s \sim \mathcal N(0, 1.2^2), \quad
              t \sim \mathcal N(0, 0.35^2),

    where a group has a centre c, uniform on :math:`[-r, r]^2`, and a direction :math:`u = (\cos\varphi, \sin\varphi)`
    with :math:`\varphi` uniform on :math:`[0, \pi/2)`; v is orthogonal to u. The boundary passes through the centre,
    across the long axis: a group reveals its own boundary even without labels, and the others' boundaries are wrong.

    Parameters
    ----------
    n_samples : int, default=30
        Number of points per group.
    n_groups : int, default=20
        Number of groups.
    shift : float >= 0, default=2.5
        The range r of the centres. Larger values make a common boundary worse; with 0, groups differ only in direction.
    random_state : None, int, RandomState or Generator

    Returns
    -------
    X : array of shape (n_samples * n_groups, 2)
    y : array of shape (n_samples * n_groups,)
        0 or 1.
    groups : array of shape (n_samples * n_groups,)
        The group number, in ascending order.

    References
    ----------
    Blanchard, Lee, Scott, *Generalizing from several related classification tasks to a new unlabeled sample* (2011).

    Examples
    --------
    >>> X, y, groups = make_shifted(10, 3, random_state=0)
    >>> X.shape, groups[[0, 10, 29]]
    ((30, 2), array([0, 1, 2]))
    """
    check_number("make_shifted", "n_samples", n_samples, at_least=1, integer=True)
    check_number("make_shifted", "n_groups", n_groups, at_least=1, integer=True)
    check_number("make_shifted", "shift", shift, at_least=0)
    rng = generator(random_state)
    angle = rng.uniform(0, np.pi / 2, n_groups)
    centre = rng.uniform(-shift, shift, (n_groups, 2))
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([-np.sin(angle), np.cos(angle)], axis=1)
    groups = np.repeat(np.arange(n_groups), n_samples)
    s, t = rng.normal(size=(2, len(groups), 1)) * np.array([1.2, 0.35])[:, None, None]
    X = centre[groups] + s * along[groups] + t * across[groups]
    return X, (s[:, 0] > 0).astype(np.int64), groups
