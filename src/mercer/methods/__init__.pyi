"""The kernel methods, one per file."""

from ._calibration import Calibration, couple
from .anova_spline import AnovaSpline
from .cca import KernelCCA
from .density import KernelDensity
from .dimension_reduction import KernelDimensionReduction
from .feature_analysis import KernelFeatureAnalysis
from .fisher import KernelFisher
from .ica import KernelICA, amari_error
from .interpolator import KernelInterpolator
from .kmeans import KernelKMeans
from .krein import KreinRidge, KreinSVC
from .linear_svm import LinearSVC, LinearSVR
from .logistic import ImportVectorMachine, KernelLogisticRegression
from .lssvc import LeastSquaresSVC
from .machine import KernelMachine
from .mean_classifier import KernelMeanClassifier
from .multiple import MultipleKernel
from .multitask import MultitaskKernelRidge, MultitaskSVC
from .online import OnlineKernelMachine
from .pca import KernelPCA
from .pls import KernelPLS, KernelPLSClassifier
from .quantile import KernelExpectileRegression, KernelQuantileRegression
from .ranking import ManifoldRanking
from .relevance import RelevanceVectorClassifier, RelevanceVectorMachine
from .ridge import KernelRidge
from .ridge_cv import KernelRidgeClassifierCV, KernelRidgeCV
from .robust import RobustKernelRegression
from .robust_density import RobustKernelDensity
from .semi_supervised import SemiSupervised
from .spectral_clustering import SpectralClustering
from .spline import SmoothingSpline
from .svc import SVC, NuSVC
from .svr import SVR, NuSVR, OneClassSVM
from .thin_plate import ThinPlateSpline
from .transfer import MarginalTransfer

__all__ = [
    "SVC",
    "SVR",
    "AnovaSpline",
    "Calibration",
    "ImportVectorMachine",
    "KernelCCA",
    "KernelDensity",
    "KernelDimensionReduction",
    "KernelExpectileRegression",
    "KernelFeatureAnalysis",
    "KernelFisher",
    "KernelICA",
    "KernelInterpolator",
    "KernelKMeans",
    "KernelLogisticRegression",
    "KernelMachine",
    "KernelMeanClassifier",
    "KernelPCA",
    "KernelPLS",
    "KernelPLSClassifier",
    "KernelQuantileRegression",
    "KernelRidge",
    "KernelRidgeCV",
    "KernelRidgeClassifierCV",
    "KreinRidge",
    "KreinSVC",
    "LeastSquaresSVC",
    "LinearSVC",
    "LinearSVR",
    "ManifoldRanking",
    "MarginalTransfer",
    "MultipleKernel",
    "MultitaskKernelRidge",
    "MultitaskSVC",
    "NuSVC",
    "NuSVR",
    "OneClassSVM",
    "OnlineKernelMachine",
    "RelevanceVectorClassifier",
    "RelevanceVectorMachine",
    "RobustKernelDensity",
    "RobustKernelRegression",
    "SemiSupervised",
    "SmoothingSpline",
    "SpectralClustering",
    "ThinPlateSpline",
    "amari_error",
    "couple",
]
