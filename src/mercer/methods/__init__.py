"""The kernel methods, one a file."""

from ._calibration import Calibration
from .anova_spline import AnovaSpline
from .interpolator import KernelInterpolator
from .linear_svm import LinearSVC, LinearSVR
from .logistic import ImportVectorMachine, KernelLogisticRegression
from .lssvc import LeastSquaresSVC
from .machine import KernelMachine
from .mean_classifier import KernelMeanClassifier
from .online import OnlineKernelMachine
from .quantile import KernelExpectileRegression, KernelQuantileRegression
from .relevance import RelevanceVectorClassifier, RelevanceVectorMachine
from .ridge import KernelRidge
from .ridge_cv import KernelRidgeClassifierCV, KernelRidgeCV
from .robust import RobustKernelRegression
from .spline import SmoothingSpline
from .svc import SVC, NuSVC
from .svr import SVR, NuSVR, OneClassSVM
from .thin_plate import ThinPlateSpline

__all__ = [
    "RobustKernelRegression",
    "KernelQuantileRegression",
    "KernelExpectileRegression",
    "KernelLogisticRegression",
    "ImportVectorMachine",
    "RelevanceVectorMachine",
    "RelevanceVectorClassifier",
    "OnlineKernelMachine",
    "AnovaSpline",
    "ThinPlateSpline",
    "SmoothingSpline",
    "LeastSquaresSVC",
    "KernelRidgeClassifierCV",
    "KernelRidgeCV",
    "SVC",
    "SVR",
    "Calibration",
    "KernelInterpolator",
    "KernelMachine",
    "KernelMeanClassifier",
    "KernelRidge",
    "LinearSVC",
    "LinearSVR",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
]
