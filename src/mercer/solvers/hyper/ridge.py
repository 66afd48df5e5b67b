r"""Criteria of kernel ridge regression, with their derivatives in the kernel matrix and in alpha.

With the resolvent G = Q₂(M + αI)⁻¹Q₂ᵀ of `mercer.solvers.design` and ã = GDb, all criteria are functions of ã and G,
and dG = −G(D dK D + dα)G. So if dT = Σ p·dã − Σ qᵢ dGᵢᵢ,

.. math:: \frac{\partial T}{\partial K} = D\big(G \,\mathrm{diag}(q)\, G - G p\, \tilde a^\top\big) D, \qquad
          \frac{\partial T}{\partial \alpha} = \sum_i q_i (G^2)_{ii} - \sum (Gp) \cdot \tilde a.

The leave-one-out lemma is :math:`y_i - f^{(-i)}(x_i) = \tilde a_i / (D_i G_{ii})`.

Craven, Wahba, *Smoothing noisy data with spline functions* (1979); Rasmussen, Williams, *Gaussian Processes for Machine
Learning* (2006), for the likelihood; Sundararajan, Keerthi, *Predictive approaches for choosing hyperparameters in
Gaussian processes* (2001), for gradients of the leave-one-out error.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.linalg import get_lapack_funcs

from ..._array import eye, host, is_array, is_numpy, namespace, solve_triangular
from ..._errors import IndefiniteError
from ...gram import Dense
from ...kernels import Kernel
from ...kernels.derivatives import Names, contract
from ...types import Array, Checked
from ..design import Design
from ..leave_one_out import refuse_determined
from ..linear.cholesky import factorize, lower_factor

RIDGE = ("loo", "gcv", "marginal_likelihood")


class RidgeCriterion:
    """A criterion of kernel ridge regression, as a function of the kernel and alpha; smaller is better.

    "loo" is the mean squared leave-one-out error, "gcv" its generalised form, and "marginal_likelihood" the negative
    log marginal likelihood. All targets, the columns of b, share the kernel and alpha: errors are averaged over them,
    and log-likelihoods summed. Numerical X must be float64, and H has the values of the free functions. With `jitter` a
    matrix that is singular up to rounding gets a jitter on its diagonal, with a warning, instead of an error.

    Costs O(n³) and a few (n, n) matrices; the derivatives of d lengthscales add O(n²d).

    Examples
    --------
    >>> from mercer.kernels import Gaussian
    >>> X = np.linspace(0, 3, 20)[:, None]
    >>> criterion = RidgeCriterion("loo", X, np.sin(X))
    >>> value, gradient = criterion(Gaussian(1.0), 0.1)
    >>> near = criterion(Gaussian(1.0), 0.1 + 1e-6)[0]
    >>> bool(np.isclose((near - value) / 1e-6, gradient["alpha"], rtol=1e-4)), sorted(gradient)
    (True, ['alpha', 'lengthscale'])
    """

    strength: ClassVar[str] = "alpha"

    def __init__(self, name: str, X: Checked, b: Array, H: Array = None, weight: Array = None, jitter: bool = False):
        self.name, self.X, self.b, self.H, self.weight, self.jitter = name, X, b, H, weight, jitter
        self.positive = name != "marginal_likelihood"

    def __call__(self, kernel: Kernel, alpha: float, wanted: Names = None) -> tuple[float, dict[str, Any]]:
        """The value, and its derivatives in alpha and in all or the `wanted` kernel parameters."""
        design = Design(Dense().build(kernel, self.X), self.H, self.weight)
        if design.effective <= design.p:
            raise ValueError(
                f"free: its {design.p} functions leave nothing to fit for {design.effective} samples; add samples."
            )
        G, logs = _resolvent(design, alpha, self.jitter)
        target = host(design.scaled(self.b))
        a = G @ target
        used = np.ones(design.n, bool) if design.weight is None else host(design.weight) > 0
        if self.name == "marginal_likelihood":
            value, E, slope = self._likelihood(design, alpha, G, logs, target, a, used)
        else:
            judge = self._leave_one_out if self.name == "loo" else self._gcv
            value, p, q = judge(design, alpha, np.diagonal(G), a, used)
            Gp, root = G @ p, G * np.sqrt(q)
            slope = float(np.sum(root**2) - np.sum(Gp * a))
            E = root @ root.T - Gp @ a.T
        gradient: dict[str, Any] = {"alpha": slope}
        if wanted is None or wanted:
            if design.scale is not None:
                scale = host(design.scale)
                E *= scale[:, None] * scale
            X = host(design.gram.X) if is_array(design.gram.X) else design.gram.X
            gradient |= contract(kernel, X, E, wanted, host(design.gram.dense()))
        return value, gradient

    def _leave_one_out(self, design: Design, alpha: float, g: np.ndarray, a: np.ndarray, used: np.ndarray) -> Any:
        refuse_determined(alpha * g[used])
        total = self.b.shape[1] * float(design.n if design.weight is None else np.sum(host(design.weight)))
        e = np.where(used[:, None], a / g[:, None], 0.0)
        return float(np.sum(e**2)) / total, 2 * e / (total * g[:, None]), 2 * np.sum(e**2, axis=1) / (total * g)

    def _gcv(self, design: Design, alpha: float, g: np.ndarray, a: np.ndarray, used: np.ndarray) -> Any:
        """Σ w r² / n (1 − df/n)² with r = αD⁻¹ã and n − df = α tr G, so that alpha cancels."""
        trace = float(np.sum(g[used]))
        squares, factor = float(np.sum(a**2)), design.effective / (self.b.shape[1] * trace**2)
        return factor * squares, 2 * factor * a, np.where(used, 2 * factor * squares / trace, 0.0)

    def _likelihood(
        self,
        design: Design,
        alpha: float,
        G: np.ndarray,
        logs: float,
        target: np.ndarray,
        a: np.ndarray,
        used: np.ndarray,
    ) -> tuple[float, np.ndarray, float]:
        """The negative log-likelihood, restricted if there is a free part."""
        t, idle = self.b.shape[1], design.n - design.effective
        constant = (design.effective - design.p) * float(np.log(2 * np.pi)) + design.log_volume
        value = (float(np.sum(target * a)) + t * (logs - idle * float(np.log(alpha)) + constant)) / 2
        trace = float(np.sum(np.diagonal(G)[used]))
        G *= t / 2
        return value, np.subtract(G, (a / 2) @ a.T, out=G), (t * trace - float(np.sum(a**2))) / 2


def _resolvent(design: Design, alpha: float, jitter: bool) -> tuple[np.ndarray, float]:
    """G on the host, and log|M + αI|."""
    M = design.matrix()
    xp = namespace(M)
    try:
        L = factorize(M, alpha)[0] if jitter else lower_factor(M, xp.linalg.diagonal(M) + alpha)
    except (np.linalg.LinAlgError, RuntimeError):
        raise IndefiniteError(
            f"The matrix K + alpha with alpha = {alpha:.3g} and the kernel {design.gram.kernel} is not positive "
            "definite in double precision; start from a larger alpha."
        ) from None
    logs = 2 * float(xp.sum(xp.log(xp.linalg.diagonal(L))))
    if is_numpy(xp):
        (potri,) = get_lapack_funcs(("potri",), (L,))
        lower = potri(L, lower=1, overwrite_c=1)[0]  # zero above the diagonal, as L
        inverse = lower + lower.T
        inverse[np.diag_indices_from(inverse)] /= 2
    else:
        root = solve_triangular(L, eye(L.shape[0], L))
        inverse = xp.matrix_transpose(root) @ root
    return host(inverse if design.H is None else design.embed(xp.matrix_transpose(design.embed(inverse)))), logs
