"""``gram="auto"``, and names for representations."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from .. import _memory
from .._array import is_array, is_sparse, namespace
from .._errors import check_parameters, where
from ..kernels import Kernel
from ..types import Checked
from ._base import Gram, Representation
from .dense import Dense
from .given import Given
from .incomplete_cholesky import IncompleteCholesky
from .lazy import Lazy
from .low_rank import LowRank
from .nystrom import Nystrom
from .packed import Packed, suits
from .random_features import RandomFeatures

NEEDS = ("matrix", "factor", "products", "rows")
MANY = 500  # samples above which tiles of half the matrix pay off
GramLike: TypeAlias = Representation | Gram | str  # anything that specifies a representation


class Auto(Representation):
    """Choose an exact representation from the needs of a method and a memory budget.

    ============  =================================================================================  ==========
    `needs`       first condition that holds                                                         choice
    ============  =================================================================================  ==========
    rows          the kernel must be called on the whole sample                                      `Dense`
    rows          otherwise                                                                          `Lazy`
    factor        the kernel has few explicit features: at most n/4, and they fit into `memory`      `LowRank`
    products      it does not, and there are more than 500 samples, on the host                      `Packed`
    any           the n × n matrix fits into `memory`                                                `Dense`
    any           the kernel has few explicit features                                               `LowRank`
    any           otherwise                                                                          `Lazy`
    ============  =================================================================================  ==========

    All are exact. For approximations choose `Nystrom`, `IncompleteCholesky` or `RandomFeatures`. The choice and its
    reason are stored in `Gram.choice`.

    Parameters
    ----------
    memory : int, optional
        Memory budget in bytes for the matrix or the factor. None: 2 GiB on the host, and a third of the memory of a
        CUDA device.
    needs : {"matrix", "factor", "products", "rows"}
        How the method uses the operator. "factor": it decomposes the matrix, and a thin factor saves O(n³); "products":
        it needs a few leading eigenvectors; "rows": it reads a few rows repeatedly, and the solver caches them.
    n_jobs : int, optional
        Threads for `Lazy` and `Packed`; None uses all cores.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> Auto(memory=1000).build(Linear(), np.ones((50, 2)), np.random.default_rng(0)).choice
    'LowRank: the 50 × 50 matrix needs 20.0 kB, over the budget of 1.0 kB; the kernel has 2 explicit features'
    """

    draws = False

    def __init__(self, memory: int | None = None, needs: str = "matrix", n_jobs: int | None = None):
        self.memory = memory
        self.needs = needs
        self.n_jobs = n_jobs

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Also accept the state of an earlier version, with `factor` for ``needs="factor"``."""
        needs = "factor" if state.get("factor") else "matrix"
        super().__setstate__({"needs": needs, "n_jobs": None} | {k: v for k, v in state.items() if k != "factor"})

    def shared(self, count: int, X: Checked) -> Auto:
        return Auto(max(1, self._budget(X) // count), self.needs, self.n_jobs)

    def _budget(self, X: Checked) -> int:
        return self.memory or _memory.of_device(X) // 3 or 2 << 30

    def _build(self, kernel: Kernel, X: Checked, rng: np.random.Generator) -> Gram:
        check_parameters(self, {"memory": {"above": 0, "besides": (None,)}, "needs": NEEDS})
        recipe, reason = self._choice(kernel, X)
        gram = recipe._build(kernel, X, rng)
        gram.choice = f"{where(recipe)}: {reason}"
        return gram

    def _choice(self, kernel: Kernel, X: Checked) -> tuple[Representation, str]:
        if self.needs == "rows":
            if kernel.whole:
                return Dense(), "the kernel must be called on the whole sample"
            return Lazy(n_jobs=self.n_jobs), "the solver computes rows and keeps some of them"
        n = kernel.domain.size(X)
        single = (is_array(X) or is_sparse(X)) and X.dtype == namespace(X).float32
        number = 4 if single else 8
        need, budget = n * n * number, self._budget(X)
        fits = need <= budget
        size = f"the {n} × {n} matrix needs {_bytes(need)}, {'within' if fits else 'over'} the budget of "
        size += _bytes(budget)
        width = kernel.feature_count(X) if "feature_map" in kernel.provides else n
        thin = 4 * width <= n and n * width * number <= budget
        if thin and (self.needs == "factor" or not fits):
            return LowRank(), f"{size}; the kernel has {width} explicit features"
        if self.needs == "products" and n > MANY and not thin and suits(kernel, X):
            return Packed(n_jobs=self.n_jobs), f"the {n} × {n} matrix is only multiplied"
        return (Dense(), size) if fits else (Lazy(n_jobs=self.n_jobs), size)


def _bytes(n: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n < 1000 or unit == "TB":
            return f"{n:.1f} {unit}"
        n /= 1000
    raise AssertionError


NAMES: dict[str, type[Representation]] = {
    "auto": Auto,
    "dense": Dense,
    "lazy": Lazy,
    "low_rank": LowRank,
    "incomplete_cholesky": IncompleteCholesky,
    "nystrom": Nystrom,
    "packed": Packed,
    "random_features": RandomFeatures,
}


def as_representation(gram: GramLike, needs: str = "matrix", n_jobs: int | None = None) -> Representation:
    """The representation given by an object, a name or an existing operator; the rest applies to `Auto`."""
    if isinstance(gram, Representation):
        return gram
    if isinstance(gram, Gram):
        return Given(gram)
    if isinstance(gram, str) and gram == "auto":
        return Auto(needs=needs, n_jobs=n_jobs)
    if isinstance(gram, str) and gram in NAMES:
        return NAMES[gram]()
    raise ValueError(
        f"gram = {gram!r} is unknown; give a representation, a Gram operator or one of {', '.join(map(repr, NAMES))}."
    )
