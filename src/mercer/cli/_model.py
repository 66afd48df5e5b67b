"""The model that the command line saves: an estimator, and how to read its rows from a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import get_tags

import mercer

from .._errors import is_one_of
from ._columns import DataError, conform

BOUNDARY = 1e-5  # relative to the threshold; the solver is accurate to a tenth of this


def loaded(path: str) -> Any:
    """The content of a model file; a `FileModel` is validated."""
    model = mercer.load(path)
    if isinstance(model, FileModel) and (name := model.fault()) is not None:
        raise DataError(f"{path}: the {name} of this model is not as `mercer fit` writes it; fit it again.")
    return model


def _are_scores(value: Any) -> bool:
    """Whether it is a dictionary of means and standard deviations."""
    rows = value.values() if type(value) is dict else [None]
    return all(type(row) is dict and all(isinstance(row.get(name), float) for name in ("mean", "std")) for row in rows)


@dataclass
class FileModel:
    """A fitted estimator with the columns of its training table, or the width of its training matrix.

    Attributes
    ----------
    estimator : estimator
        Fitted.
    task : {"classification", "regression", "outliers"}
    target : str
    columns : dict or None
        Maps the name of each column to "number", "date" or "category"; None for a matrix.
    n_features : int or None
        The number of columns of a matrix.
    named : bool
        Whether the estimator accepts tables; otherwise it receives their columns as a numeric matrix.
    result : dict
        The cross-validated scores, as ``mercer fit --json`` prints them.

    Examples
    --------
    >>> from mercer import SVC
    >>> machine = SVC().fit([[0.0], [1.0]], ["no", "yes"])
    >>> model = FileModel(machine, "classification", "bought", columns={"age": "number"})
    >>> model.predict({"age": [0.9, 0.2], "name": ["Ann", "Bob"]}).tolist()
    ['yes', 'no']
    """

    estimator: Any
    task: str
    target: str
    columns: dict[str, str] | None = None
    n_features: int | None = None
    named: bool = False
    result: dict[str, Any] = field(default_factory=dict)

    def fault(self) -> str | None:
        """The first attribute that `mercer fit` cannot have written; None if all are valid."""
        own, columns = vars(self), vars(self).get("columns")
        result, kinds = own.get("result"), ("number", "date", "category")
        sane = {
            "estimator": callable(getattr(own.get("estimator"), "predict", None)),
            "task": isinstance(own.get("task"), str),
            "target": isinstance(own.get("target"), str),
            "columns": columns is None
            or (type(columns) is dict and all(isinstance(k, str) and is_one_of(v, kinds) for k, v in columns.items())),
            "n_features": own.get("n_features") is None or type(own["n_features"]) is int,
            "named": type(own.get("named")) is bool,
            "result": result == {}
            or (type(result) is dict and "scoring" in result and _are_scores(result.get("scores"))),
        }
        return next((name for name, good in sane.items() if not good), None)

    def samples(self, rows: Any) -> Any:
        """Convert a DataFrame (or dictionary of columns) or matrix to the estimator's samples."""
        if self.columns is None:
            return rows.toarray() if hasattr(rows, "nnz") and self._takes_dense else rows
        import pandas

        frame = conform(pandas.DataFrame(rows), self.columns, "the table")
        return frame if self.named else frame.to_numpy(dtype=np.float64)

    def predict(self, rows: Any) -> np.ndarray:
        """The predictions for a DataFrame or matrix."""
        return np.asarray(self.estimator.predict(self.samples(rows)))

    def predict_proba(self, rows: Any) -> np.ndarray:
        """The probabilities of the classes for a DataFrame or matrix."""
        return np.asarray(self.estimator.predict_proba(self.samples(rows)))

    def mark(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Scores of an outlier detector, larger for usual samples, and labels: −1 outside, 1 inside."""
        scores = np.asarray(self.estimator.score_samples(X), dtype=np.float64)
        offset = float(np.ravel(self.machine.offset_)[0])
        # samples on the boundary, such as many support vectors, count as inside, regardless of rounding
        return scores, np.where(scores < offset - BOUNDARY * abs(offset), -1, 1)

    @property
    def _takes_dense(self) -> bool:
        """Whether the first step needs dense input, such as a scaler that centres columns."""
        first = self.estimator[0] if hasattr(self.estimator, "steps") else None
        return first is not None and not get_tags(first).input_tags.sparse

    @property
    def machine(self) -> Any:
        """The estimator at the end of a pipeline."""
        return self.estimator[-1] if hasattr(self.estimator, "steps") else self.estimator
