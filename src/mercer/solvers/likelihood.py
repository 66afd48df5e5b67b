r"""The marginal likelihood of the Gaussian process behind kernel ridge regression, its gradient and its maximum.

Rasmussen, Williams, *Gaussian Processes for Machine Learning* (2006); Patterson, Thompson, *Recovery of inter-block
information when block sizes are unequal* (1971), for the restricted likelihood.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import host
from ..context import Status, current
from ..kernels import Kernel
from ..types import Array, Checked
from .hyper import Descent, Objective, Parameters, RidgeCriterion, descend


def log_marginal_likelihood(
    kernel: Kernel, X: Checked, b: Array, alpha: float, H: Array = None, weight: Array = None
) -> tuple[float, dict[str, Any]]:
    r"""log p(b), summed over the targets, and its derivatives in "alpha" and all kernel parameters.

    .. math:: \log p = -\tfrac12 \big(b^\top P b + \log|\Sigma| + \log|H^\top\Sigma^{-1}H| + (n - p)\log 2\pi\big),
              \qquad \Sigma = K_\theta + \alpha W^{-1}, \qquad
              \frac{\partial \log p}{\partial \theta} = \tfrac12\, a^\top \frac{\partial K}{\partial \theta}\, a
              - \tfrac12\, \mathrm{tr}\Big(P\, \frac{\partial K}{\partial \theta}\Big)

    with :math:`P = \Sigma^{-1} - \Sigma^{-1}H(H^\top\Sigma^{-1}H)^{-1}H^\top\Sigma^{-1}` and a = Pb. With free
    functions it is the restricted likelihood, which gives them a flat prior. The kernel must provide gradient_theta.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> value, gradient = log_marginal_likelihood(Gaussian(), np.zeros((1, 1)), np.array([[2.0]]), 1.0)
    >>> bool(np.isclose(value, -(4 / 2 + np.log(2) + np.log(2 * np.pi)) / 2)), sorted(gradient)
    (True, ['alpha', 'lengthscale'])
    """
    criterion = RidgeCriterion("marginal_likelihood", X, b, H, weight, jitter=True)
    value, gradient = criterion(kernel, alpha)
    return -value, {name: -g for name, g in gradient.items()}


def maximise_likelihood(
    kernel: Kernel, X: Checked, b: Array, alpha: float, H: Array = None, weight: Array = None
) -> tuple[Kernel, float, float, Status]:
    """The kernel and alpha of maximum likelihood, its value, and why the search ended.

    L-BFGS-B from the given start, in the logarithms of alpha and of every parameter that is positive there (entry by
    entry for arrays), each within a factor of 10⁵ of its start. It finds a local maximum.

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 6, 30)[:, None]
    >>> kernel, alpha, value, status = maximise_likelihood(Gaussian(0.3), X, np.sin(X), 0.1)
    >>> bool(1 < kernel.lengthscale < 4), alpha < 1e-3
    (True, True)
    """
    criterion = RidgeCriterion("marginal_likelihood", X, b, H, weight, jitter=True)
    objective = Objective(criterion, kernel, alpha, X)
    first, given = kernel.domain.take(X, slice(0, 1)), kernel.get_params()
    names = kernel.gradient_theta(first, first)
    start = {"alpha": np.asarray(alpha, dtype=np.float64)} | {
        f"kernel__{name}": host(given[name]).astype(np.float64) for name in names
    }
    parameters = Parameters(start)

    def loss(u: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = objective(criterion, parameters.values(u))
        return value, parameters.slope(u, gradient)

    with current().sheltered():
        origin = Descent(parameters.origin, *loss(parameters.origin))
    found = descend(loss, parameters.origin, parameters.bounds)
    values = parameters.values(min(origin, found, key=lambda each: each.value).place)
    strength = values.pop("alpha")
    best = {name.removeprefix("kernel__"): v for name, v in values.items()}
    return objective.kernel_with(best), strength, -min(origin.value, found.value), found.status
