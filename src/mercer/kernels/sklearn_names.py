"""scikit-learn's kernels, by its names and parameters."""

from __future__ import annotations

import re
from difflib import get_close_matches
from functools import partial
from typing import Any

from .._errors import KindError, check_number, defaults, where
from .._same import same
from ._base import Kernel, is_kernel, registry
from .constant import Constant
from .expression import CONSTANTS, MAKERS, OPERATIONS, KernelLike, as_kernel

SKLEARN = (
    "linear",
    "poly",
    "polynomial",
    "rbf",
    "laplacian",
    "sigmoid",
    "cosine",
    "chi2",
    "additive_chi2",
    "precomputed",
)
OURS = {  # for estimators without the parameters that scikit-learn's name would need
    "laplacian": "laplace(lengthscale=2, norm=1)",
    "chi2": "chi_squared(gamma=1)",
    "additive_chi2": "additive_chi_squared(negative=True)",
}


def from_sklearn(
    kernel: KernelLike,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    kernel_params: dict[str, Any] | None = None,
    n_features: int,
    owner: object = "from_sklearn",
    name: str = "kernel",
) -> Kernel:
    """The kernel that scikit-learn's `KernelRidge` would use, with identical values, or one of Mercer's own.

    scikit-learn's names (including ``"polynomial"`` and ``"sigmoid"``) take its parameters; other text goes to `parse`.
    A function of two rows is called with `kernel_params`; a `sklearn.gaussian_process` kernel gets whole matrices.
    ``gamma=None`` means 1/n_features, or 1 for ``"chi2"``. Parameters that a name does not use are ignored, as in
    scikit-learn; with a Kernel or an expression they raise an error. Messages name the `owner` and its parameter.

    Examples
    --------
    >>> from_sklearn("rbf", gamma=0.125, n_features=3)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    """
    check_number(owner, "gamma", gamma, at_least=0, besides=(None,))
    check_number(owner, "degree", degree, at_least=0)
    check_number(owner, "coef0", coef0)
    if not isinstance(kernel_params, dict | None):
        raise KindError(f"{where(owner)}: kernel_params = {kernel_params!r} must be a dict or None.")
    if isinstance(kernel, str) and kernel in SKLEARN:
        return _sklearn_kernel(kernel, gamma, degree, coef0, n_features)
    refuse_mixtures(kernel, owner, name)
    if is_kernel(kernel) or isinstance(kernel, str):
        given = {"gamma": gamma, "degree": degree, "coef0": coef0, "kernel_params": kernel_params}
        for parameter, value in given.items():
            default = defaults(from_sklearn)[parameter]
            if not same(value, default):
                raise ValueError(
                    f"{where(owner)}: {parameter} = {value!r} does not apply to {name} = {str(kernel)!r}, which "
                    f"has its own parameters; leave {parameter} at {default}."
                )
        return as_kernel(kernel, name)
    if callable(kernel) and not isinstance(kernel, type):
        from sklearn.gaussian_process.kernels import Kernel as GaussianProcessKernel

        if isinstance(kernel, GaussianProcessKernel):
            return registry["callable"](kernel, pairwise=False)
        return as_kernel(partial(kernel, **kernel_params) if kernel_params else kernel, name)
    return as_kernel(kernel, name)


def refuse_mixtures(kernel: KernelLike, owner: object, name: str = "kernel", taken: tuple[str, ...] = SKLEARN) -> None:
    """Raise for an unknown name, and for scikit-learn's names in capitals, within expressions, or not in `taken`."""
    if not isinstance(kernel, str):
        return
    word = re.split(r"\W", kernel.strip())[0]
    if word.lower() in OURS and word.lower() not in taken:
        raise ValueError(
            f"{where(owner)}: {name} = {kernel!r} is unknown; use Mercer's expression, such as {OURS[word.lower()]!r}."
        )
    if word.lower() in SKLEARN and word not in registry:
        raise ValueError(
            f"{where(owner)}: {name} = {kernel!r} is unknown; use {word.lower()!r} alone, with gamma, degree and "
            "coef0 as parameters of the estimator, or an expression of Mercer's kernels, such as "
            '"gaussian(lengthscale=2)".'
        )
    if word and word == kernel.strip() and word not in registry and word not in (*OPERATIONS, *MAKERS, *CONSTANTS):
        near = get_close_matches(word.lower(), [*taken, *registry], n=1)
        listed = f"choose one of {', '.join(map(repr, taken))}, or an expression such as 'gaussian(lengthscale=2)'."
        remedy = f"did you mean {near[0]!r}?" if near else listed
        if not near or near[0] not in registry:  # for a name close to one of Mercer's, the parser gives the hint
            raise ValueError(f"{where(owner)}: {name} = {kernel!r}: unknown name {word!r}; {remedy}")


def _sklearn_kernel(name: str, gamma: float | None, degree: float, coef0: float, n_features: int) -> Kernel:
    if name in ("linear", "cosine", "precomputed"):
        return registry[name]()
    if name == "additive_chi2":
        return registry["additive_chi_squared"](negative=True)
    if name == "chi2":
        return registry["chi_squared"](gamma=1.0 if gamma is None else gamma)
    gamma = 1.0 / n_features if gamma is None else gamma
    if name == "sigmoid":
        return registry["sigmoid"](scale=gamma, offset=coef0)
    if name in ("poly", "polynomial"):
        return registry["polynomial"](degree=degree, scale=gamma, offset=coef0)
    if gamma == 0:
        return Constant(1.0)
    return registry["gaussian" if name == "rbf" else "laplace"].from_gamma(gamma)
