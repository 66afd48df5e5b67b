"""What the command line saves: an estimator, and how to make its rows from a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.utils import get_tags

from ._data import conform

__all__ = ["FileModel"]

BOUNDARY = 1e-5  # of the threshold; the machine is solved to a tenth of it


@dataclass
class FileModel:
    """A fitted estimator with the columns of the table, or the width of the matrix, that it was fitted to.

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
        Whether the estimator accepts tables; otherwise it gets their columns as a matrix of numbers.
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
        """Scores of an outlier detector, larger for usual samples, and labels: −1 outside, 1 inside.

        Samples on the boundary, such as many support vectors, count as inside, regardless of rounding.
        """
        scores = np.asarray(self.estimator.score_samples(X), dtype=np.float64)
        offset = float(np.ravel(self.machine.offset_)[0])
        return scores, np.where(scores < offset - BOUNDARY * abs(offset), -1, 1)

    @property
    def _takes_dense(self) -> bool:
        """Whether columns are centred first, which would make a sparse matrix dense."""
        first = self.estimator[0] if hasattr(self.estimator, "steps") else None
        return first is not None and not get_tags(first).input_tags.sparse

    @property
    def machine(self) -> Any:
        """The estimator at the end of a pipeline."""
        return self.estimator[-1] if hasattr(self.estimator, "steps") else self.estimator
