"""Reports: `mercer.report` produces one HTML file about an estimator and its data."""

from ._cautions import Caution
from ._report import Report, report

__all__ = ["Caution", "Report", "report"]
