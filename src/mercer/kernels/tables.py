"""A kernel on the rows of a table, built from kernels on its columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from operator import mul
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from .._errors import POSITIVE, check_choice, check_parameters, is_one_of, where
from ..domains.tables import Frame, Tables, is_missing
from ..types import Array, Checked, Index
from ._abilities import Matrix, Names
from ._base import Kernel, register
from ._definiteness import PD, UNKNOWN, Definiteness, of_product, of_sum
from ._parts import require_kernels
from .categories import Delta
from .derivatives import renamed
from .gaussian import Gaussian

OBSERVED = 200  # maximum number of rows kept to represent the observed values


@register
class Table(Kernel):
    r"""Kernel on the rows of a table, built from one kernel for each column or group of columns.

    .. math:: k(x, y) = \prod_j \frac{1 + k_j(x_j, y_j)}{2} \quad\text{or}\quad \sum_j k_j(x_j, y_j)
        \quad\text{or}\quad \prod_j k_j(x_j, y_j)

    Parameters
    ----------
    kernels : dict or "auto"
        Maps the name of a column, or a tuple of names, to a kernel on vectors (for numbers and dates), on categories,
        or (for one column) on strings. "auto" chooses kernels for all columns by type; see Notes. `resolve` fills it
        in; estimators do so in fit.
    combine : {"auto", "interactions", "sum", "product"}
        "sum" gives additive functions of the groups, "product" only functions of all groups jointly, and
        "interactions" main effects and interactions of every order, so that no two rows are unrelated. "auto" is
        "product" for automatic kernels and "interactions" for given ones.
    missing : {"mean", "match", "error"}
        Treatment of missing values. "mean" gives them the mean feature vector of the values seen by `resolve`, so they
        are as similar to a value as the observed ones are on average; "match" makes them similar only to each other;
        "error" raises. A row is missing in a group if any of the group's columns is missing.
    width : float > 0
        Multiplies the lengthscales of the automatic kernels. Raising it makes functions smoother.
    observed : dict, optional
        For each group, rows that represent the observed values; filled in by `resolve`.

    Notes
    -----
    The automatic choice, with d numeric or date columns, p other columns, and w the width:

    ============================  =====================================================================
    column                        kernel
    ============================  =====================================================================
    numbers, dates                Gaussian, its lengthscale :math:`w\sqrt{d/2}` standard deviations
    text, categories, bool        :math:`\exp((\delta(x, y) - 1)/(pw^2))`
    constant, or all missing      none
    ============================  =====================================================================

    so numbers enter as with scikit-learn's ``gamma="scale"`` after standardisation, and labels by the fraction
    that agrees. Dates are measured in days. Parameters are named after columns: ``kernel__age__lengthscale``. The names
    in a group are joined by commas; a column named like a parameter of Table gets an underscore: ``kernel__width_``.

    References
    ----------
    Gower, *A general coefficient of similarity and some of its properties* (1971); Wahba, *Spline Models for
    Observational Data* (1990), for spaces of main effects and interactions; Smola, Gretton, Song, Schölkopf, *A Hilbert
    space embedding for distributions* (2007), for the mean.

    Examples
    --------
    >>> rows = {"age": [20.0, 40.0, None], "city": ["Bern", "Oslo", "Bern"]}
    >>> k = Table({"age": Gaussian(20.0), "city": Delta()}, missing="match")
    >>> k(rows).round(3)
    array([[1.   , 0.402, 0.5  ],
           [0.402, 1.   , 0.25 ],
           [0.5  , 0.25 , 1.   ]])
    >>> sorted(Table().resolve(rows).kernels)
    ['age', 'city']
    """

    domain = Tables()

    def __init__(
        self,
        kernels: dict[Any, Any] | Any = "auto",
        combine: str = "auto",
        missing: str = "mean",
        width: float = 1.0,
        observed: dict[Any, Any] | None = None,
    ):
        self.kernels, self.combine, self.missing = kernels, combine, missing
        self.width, self.observed = width, observed

    def validate(self) -> None:
        check_choice(self, "combine", self.combine, ("auto", "interactions", "sum", "product"))
        check_parameters(self, {"missing": ("mean", "match", "error"), "width": POSITIVE})
        if is_one_of(self.kernels, ("auto",)):
            return
        if not isinstance(self.kernels, dict) or not self.kernels:
            raise TypeError(f"{where(self)}: kernels = {self.kernels!r} must be 'auto' or a non-empty dictionary.")
        require_kernels(self, "kernels", list(self.kernels.values()))
        for k in self.kernels.values():
            k.validate()

    # ---- parameters, named after columns

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        params = super().get_params(deep=False)
        if deep and isinstance(self.kernels, dict):
            for name, group in self._names(self.kernels).items():
                k = params[name] = self.kernels[group]
                params |= {f"{name}__{parameter}": value for parameter, value in k.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        kernels = params.get("kernels", self.kernels)
        if isinstance(kernels, dict):
            params["kernels"] = kernels = dict(kernels)
            names = self._names(kernels)
            inside: dict[Any, dict[str, Any]] = {}
            for p in sorted(params, key=len):  # set a kernel before its parameters
                column = max((c for c in names if p == c or p.startswith(f"{c}__")), key=len, default=None)
                if column == p:
                    kernels[names[column]] = params.pop(p)
                elif column is not None:
                    inside.setdefault(names[column], {})[p.removeprefix(f"{column}__")] = params.pop(p)
            for group, values in inside.items():
                kernels[group].set_params(**values)
        return super().set_params(**params)

    def _names(self, groups: Iterable[Any]) -> dict[str, Any]:
        """The groups keyed by parameter name, distinct from the names of the table's own parameters."""
        own = self._get_param_names()
        joined = {",".join(map(str, group)) if isinstance(group, tuple) else str(group): group for group in groups}
        return {f"{name}_" if name in own else name: group for name, group in joined.items()}

    # ---- the data

    def _groups(self) -> dict[Any, Kernel]:
        if self.kernels == "auto":
            raise ValueError(f"{where(self)}: kernels is 'auto'; call resolve(table) first, as estimators do in fit.")
        return self.kernels

    def _part(self, X: Frame, group: Any) -> tuple[Any, np.ndarray]:
        """The complete rows of a group, in the form its kernel expects, and a mask that selects them."""
        names = group if isinstance(group, tuple) and group not in X else (group,)
        for c in names:
            if c not in X:
                known = ", ".join(map(repr, list(X.columns)[:20]))
                raise ValueError(f"{where(self)}: X has no column {c!r}; its columns are {known}.")
        missing = np.any([is_missing(X[c]) for c in names], axis=0)
        if self.missing == "error" and missing.any():
            row = int(np.argmax(missing))
            raise ValueError(
                f"{where(self)}: column {group!r} has a missing value in row {row}; impute it, or use missing='mean'."
            )
        columns, k = [X[c][~missing] for c in names], self._groups()[group]
        if not len(columns[0]):
            return None, ~missing
        if k.domain.vectors or k.domain.labels:
            rows: Any = np.column_stack(columns)
            rows = rows if k.domain.labels or rows.dtype.kind == "f" else rows.tolist()
        elif len(columns) == 1:
            rows = list(columns[0])
        else:
            raise TypeError(f"{where(self)}: {group!r} has {len(columns)} columns, but {k} takes one.")
        return k.domain.check(rows, k, f"X[{group!r}]"), ~missing

    def resolve(self, X: Checked) -> Self:
        X = self.domain.check(X, self)
        copy = clone(self)
        if self.kernels == "auto":
            copy.kernels = _automatic(X, self)
        if self.combine == "auto":
            copy.combine = "product" if self.kernels == "auto" else "interactions"
        parts = {group: copy._part(X, group)[0] for group in copy._groups()}
        for group, rows in parts.items():
            if rows is None:
                raise ValueError(f"{where(self)}: column {group!r} is missing in every row; omit it.")
        copy.kernels = {group: k.resolve(parts[group]) for group, k in copy._groups().items()}
        if self.missing == "mean" and self.observed is None:
            copy.observed = {group: _thinned(copy.kernels[group], rows) for group, rows in parts.items()}
        return copy

    # ---- values

    def _mean(self, group: Any) -> Any:
        if self.observed is None:
            raise ValueError(
                f"{where(self)}: column {group!r} has missing values, but observed is None; call resolve(table), as "
                "estimators do in fit, or use missing='match'."
            )
        return self.observed[group]

    def _value(self, group: Any, k: Kernel, X: Any, Y: Any) -> np.ndarray:
        """k_j, with missing values handled."""
        A, a = self._part(X, group)
        B, b = (A, a) if Y is None else self._part(Y, group)
        if a.all() and b.all():
            return k.evaluate(A, None if Y is None else B)
        K = np.zeros((len(a), len(b)))
        if A is not None and B is not None:
            K[np.ix_(a, b)] = k.evaluate(A, None if Y is None else B)
        if self.missing == "match":
            K[np.ix_(~a, ~b)] = 1.0
            return K
        M = self._mean(group)
        if B is not None:
            K[np.ix_(~a, b)] = k.evaluate(M, B).mean(axis=0)
        if A is not None:
            K[np.ix_(a, ~b)] = k.evaluate(M, A).mean(axis=0)[:, None]
        K[np.ix_(~a, ~b)] = k.evaluate(M).mean()
        return K

    def _square(self, group: Any, k: Kernel, X: Any) -> np.ndarray:
        A, a = self._part(X, group)
        v = np.ones(len(a))
        if A is not None:
            v[a] = k.evaluate_diag(A)
        if not a.all() and self.missing == "mean":
            v[~a] = k.evaluate(self._mean(group)).mean()
        return v

    def _combined(self, values: Iterator[np.ndarray]) -> Any:
        if self.combine == "sum":
            return reduce(np.add, values)
        return reduce(mul, values if self.combine == "product" else ((1 + v) / 2 for v in values))

    def evaluate(self, X: Checked, Y: Checked = None) -> Any:
        return self._combined(self._value(group, k, X, Y) for group, k in self._groups().items())

    def evaluate_diag(self, X: Checked) -> Any:
        return self._combined(self._square(group, k, X) for group, k in self._groups().items())

    def adjoint(self, X: Checked, Y: Checked, E: Array, wanted: Names = None, K: Matrix = None) -> dict[str, Any]:
        groups, inside = self._groups(), self.combine not in ("sum", "product")
        values = [self._value(group, k, X, Y) for group, k in groups.items()]
        factors = [(1 + value) / 2 if inside else value for value in values]
        found: dict[str, Any] = {}
        for i, (name, group) in enumerate(self._names(groups).items()):
            others = [] if self.combine == "sum" else factors[:i] + factors[i + 1 :]
            of_group = reduce(mul, others, E / 2 if inside else E)
            for A, B, F in self._pieces(group, X, Y, of_group):
                part = renamed(f"{name}__", groups[group], A, B, F, wanted)
                found |= {key: found.get(key, 0.0) + value for key, value in part.items()}
        return found

    def _pieces(self, group: Any, X: Any, Y: Any, E: np.ndarray) -> list[tuple[Any, Any, np.ndarray]]:
        """The rows of a group with their part of E; for "mean", missing values spread theirs over the observed rows."""
        (A, a), (B, b) = self._part(X, group), self._part(Y, group)
        pieces = [(A, B, E[np.ix_(a, b)])]
        if self.missing == "mean" and not (a.all() and b.all()):
            M = self._mean(group)
            m = self._groups()[group].domain.size(M)
            pieces += [(M, B, np.tile(E[np.ix_(~a, b)].sum(axis=0) / m, (m, 1)))]
            pieces += [(M, A, np.tile(E[np.ix_(a, ~b)].sum(axis=1) / m, (m, 1)))]
            pieces += [(M, M, np.full((m, m), E[np.ix_(~a, ~b)].sum() / m**2))]
        return [(P, Q, F) for P, Q, F in pieces if P is not None and Q is not None]

    def definiteness_in(self, dimension: int | None) -> Definiteness:
        if self.kernels == "auto":
            return PD
        parts = [
            k.definiteness_in(None if k.domain.labels else len(group) if isinstance(group, tuple) else 1)
            for group, k in self.kernels.items()
        ]
        if not all(part.is_pd for part in parts):
            return UNKNOWN
        return (of_sum(parts) if self.combine == "sum" else of_product(parts)).not_strict()

    @classmethod
    def examples(cls) -> list[Any]:
        seen = {"age": np.array([[0.0], [1.0]]), ("city", "member"): np.array([["Bern", True]], dtype=object)}
        parts = {"age": Gaussian(0.8), ("city", "member"): Delta()}
        return [
            *(cls(parts, combine, "mean", 1.0, seen) for combine in ("interactions", "sum", "product")),
            cls(parts, "interactions", "match"),
        ]


def _thinned(k: Kernel, rows: Index) -> Any:
    """At most `OBSERVED` rows, evenly spaced."""
    n = k.domain.size(rows)
    return rows if n <= OBSERVED else k.domain.take(rows, np.linspace(0, n - 1, OBSERVED).astype(int))


def _automatic(X: Frame, owner: Table) -> dict[Any, Kernel]:
    """A kernel for each non-constant column, by its type."""
    varying = {c: v for c, v in X.columns.items() if len(set(v[~is_missing(v)].tolist())) > 1}
    if not varying:
        raise ValueError(f"{where(owner)}: all columns of X are constant or missing; name columns and their kernels.")
    numbers = [c for c, v in varying.items() if v.dtype.kind == "f"]
    p = max(len(varying) - len(numbers), 1)
    lengthscale = owner.width * np.sqrt(len(numbers) / 2)
    return {
        c: Gaussian(float(np.nanstd(v) * lengthscale)) if v.dtype.kind == "f" else _agreement(p * owner.width**2)
        for c, v in varying.items()
    }


def _agreement(p: float) -> Kernel:
    """exp((δ − 1)/p)."""
    return (Delta() * (1 / p)).exp() * float(np.exp(-1 / p))
