"""Model selection and assessment: cross-validation with shared work, paths, expected losses, comparisons."""

from .alignment import alignment, class_separability, dependence
from .clusters import ClusterChoice, choose_clusters, silhouette
from .comparison import Comparison, Difference, compare, subspace_agreement
from .components import ComponentChoice, choose_components
from .expected_loss import ExpectedLoss, expected_loss
from .one_class_path import OneClassMachine, OneClassPath, one_class_path
from .path import SVMPath, svm_path
from .retrieval import mean_average_precision, mean_reciprocal_rank
from .search import KernelSearchCV
from .tuning import KernelTuner

__all__ = [
    "ClusterChoice",
    "Comparison",
    "ComponentChoice",
    "Difference",
    "ExpectedLoss",
    "KernelSearchCV",
    "KernelTuner",
    "OneClassMachine",
    "OneClassPath",
    "SVMPath",
    "alignment",
    "choose_clusters",
    "choose_components",
    "class_separability",
    "compare",
    "dependence",
    "expected_loss",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "one_class_path",
    "silhouette",
    "subspace_agreement",
    "svm_path",
]
