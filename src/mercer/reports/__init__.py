"""Reports: `mercer.report` makes one HTML file about an estimator on data."""

from ._cautions import Caution
from ._report import Report, report

__all__ = ["Caution", "Report", "report"]
