"""Names that a model file may use: classes that are safe with any state, functions that are safe with any arguments.

A file controls the state and the arguments. Compiled code reads and writes wherever its arguments point, so it is not
on these lists; nor is code that opens files or calls functions by name. Everything else is saved by name, and a user
who trusts it must supply it to `load`.
"""

from __future__ import annotations

import importlib
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ..evaluation import Points

PACKAGES = ("mercer", "sklearn")  # files refer to their members by full address
# modules of Mercer whose classes are models or parts of models
MODELS = {"basis", "domains", "expansion", "gram", "inference", "kernels", "losses", "measures", "methods", "preimage"}
MODELS |= {"selection", "solvers", "space"}
SAVED = "mercer.cli._model"  # the models of the command line
# excluded, because compiled code trusts them: all classes in modules with these names, and some single classes
BETWEEN = {"_compiled", "_letters", "_rows", "_sample", "_sparse", "_trees", "_union"}
PREPARED = {"kernels._structured:Counts", "kernels.graphs.random_walk:Walker", "kernels.sequences._base:Series"}
PREPARED |= {"kernels.trees:Productions", "solvers.banded:Sweep"}
CALLED = "mercer.domains.graphs:Graph"  # made by its constructor, which checks the arguments

# scikit-learn's estimators before or around a Mercer model. Each uses only NumPy, or checks what it passes to compiled
# code. The list is short because a file controls every attribute
ESTIMATORS = {
    "sklearn.calibration": {"CalibratedClassifierCV", "_CalibratedClassifier", "_SigmoidCalibration"},
    "sklearn.compose": {"ColumnTransformer", "TransformedTargetRegressor", "make_column_selector"},
    "sklearn.decomposition": {"IncrementalPCA", "PCA", "TruncatedSVD"},
    "sklearn.dummy": {"DummyClassifier", "DummyRegressor"},
    "sklearn.ensemble": {"BaggingClassifier", "BaggingRegressor", "VotingClassifier", "VotingRegressor"},
    "sklearn.feature_extraction.text": {"CountVectorizer", "TfidfTransformer", "TfidfVectorizer"},
    "sklearn.feature_selection": {"RFE", "SelectFromModel", "SelectKBest", "SelectPercentile", "VarianceThreshold"},
    "sklearn.frozen": {"FrozenEstimator"},
    "sklearn.impute": {"MissingIndicator", "SimpleImputer"},
    "sklearn.isotonic": {"IsotonicRegression"},
    "sklearn.kernel_approximation": {"Nystroem", "RBFSampler"},
    "sklearn.linear_model": {
        *("LinearRegression", "LogisticRegression", "LogisticRegressionCV", "Ridge", "RidgeCV", "RidgeClassifier"),
        "RidgeClassifierCV",
    },
    "sklearn.metrics": {"_MultimetricScorer", "_PassthroughScorer", "_Scorer"},
    "sklearn.model_selection": {
        *("GridSearchCV", "GroupKFold", "KFold", "LeaveOneOut", "PredefinedSplit", "RandomizedSearchCV"),
        *("RepeatedKFold", "RepeatedStratifiedKFold", "ShuffleSplit", "StratifiedGroupKFold", "StratifiedKFold"),
        *("StratifiedShuffleSplit", "TimeSeriesSplit", "_CVIterableWrapper"),
    },
    "sklearn.multiclass": {"OneVsOneClassifier", "OneVsRestClassifier", "_ConstantPredictor"},
    "sklearn.multioutput": {"MultiOutputClassifier", "MultiOutputRegressor"},
    "sklearn.pipeline": {"FeatureUnion", "Pipeline"},
    "sklearn.preprocessing": {
        *("Binarizer", "FunctionTransformer", "KBinsDiscretizer", "KernelCenterer", "LabelBinarizer", "LabelEncoder"),
        *("MaxAbsScaler", "MinMaxScaler", "Normalizer", "OneHotEncoder", "OrdinalEncoder", "PolynomialFeatures"),
        *("PowerTransformer", "QuantileTransformer", "RobustScaler", "StandardScaler"),
    },
    "sklearn.utils": {"Bunch"},
}
# attributes that name a method to call with samples, and the methods that they may name
CALLERS = {"_response_method"}
RESPONSES = {"auto", "decision_function", "predict", "predict_log_proba", "predict_proba", "score_samples"}
# plain functions that kernels, losses, scorers and selectors hold
FUNCTIONS = {
    "mercer.basis": {"_ones"},
    "mercer.kernels": {"_tanh"},
    "mercer.kernels.features": {"_bump", "_first", "_product", "_square"},
    "mercer.kernels.finite": {"_bump", "_inner", "_inner_all"},
    "mercer.losses.custom": {"_spread", "_spread_gradient", "_spread_hessian"},
    "sklearn.feature_selection": {"chi2", "f_classif", "f_regression", "r_regression"},
    "sklearn.metrics": {
        *("accuracy_score", "average_precision_score", "balanced_accuracy_score", "brier_score_loss", "d2_brier_score"),
        *("d2_absolute_error_score", "d2_log_loss_score", "explained_variance_score", "f1_score", "fbeta_score"),
        *("jaccard_score", "log_loss", "matthews_corrcoef", "max_error", "mean_absolute_error"),
        *("mean_absolute_percentage_error", "mean_gamma_deviance", "mean_pinball_loss", "mean_poisson_deviance"),
        *("mean_squared_error", "mean_squared_log_error", "median_absolute_error", "precision_score", "r2_score"),
        *("recall_score", "roc_auc_score", "root_mean_squared_error", "root_mean_squared_log_error"),
        "top_k_accuracy_score",
    },
    "sklearn.metrics.pairwise": {
        *("additive_chi2_kernel", "chi2_kernel", "cosine_similarity", "euclidean_distances", "laplacian_kernel"),
        *("linear_kernel", "manhattan_distances", "polynomial_kernel", "rbf_kernel", "sigmoid_kernel"),
    },
}
METHODS = {"_check_new", "_check_points"}  # bound methods of Mercer's estimators that some results store
HEAP = 1 << 9  # the flag of classes created by a Python class statement


def address(thing: Any) -> str:
    """``module:name`` of a class or function."""
    return f"{thing.__module__}:{thing.__qualname__}"


def find(module: str, name: str) -> Any:
    """The object of that name in a module."""
    return getattr(importlib.import_module(module), name)


def is_class(thing: Any) -> bool:
    return isinstance(thing, type)


def _public(module: str) -> str:
    """The public module of a private one."""
    return module.partition("._")[0]


def may_be_class(module: str, name: str) -> bool:
    """Whether files may name a class by this address."""
    package, _, inner = module.partition(".")
    if package != "mercer":
        return name in ESTIMATORS.get(_public(module), ())
    parts = inner.split(".")
    return module == SAVED or (parts[0] in MODELS and not BETWEEN & {*parts} and f"{inner}:{name}" not in PREPARED)


def may_be_function(module: str, name: str) -> bool:
    """Whether files may name a function by this address."""
    return name in FUNCTIONS.get(_public(module), ())


def is_compiled(cls: type) -> bool:
    """Whether a class is compiled, such as scikit-learn's trees, which trust their state."""
    return any(c.__module__ != "builtins" and not c.__flags__ & HEAP for c in cls.__mro__)


def is_safe_class(cls: Any) -> bool:
    """Whether a listed class is neither compiled nor a data format that compiled code trusts."""
    return is_class(cls) and not is_compiled(cls) and not issubclass(cls, Points)


def is_plain_function(function: object) -> bool:
    """Whether it was defined by def; compiled functions, including numba's, trust their arguments."""
    return type(function) is FunctionType


def may_be_named(thing: Any) -> bool:
    """Whether a class or function is on the lists and is found at its address."""
    may, safe = (may_be_class, is_safe_class) if is_class(thing) else (may_be_function, is_plain_function)
    module, name = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or not may(module, name) or not safe(thing):
        return False
    try:
        return find(module, name) is thing
    except (AttributeError, ImportError):
        return False


def is_own_method(method: MethodType) -> bool:
    """Whether it is one of `METHODS` of a Mercer estimator."""
    owner = type(method.__self__)
    named = method.__name__ in METHODS and owner.__module__.startswith("mercer.methods.") and may_be_named(owner)
    return named and getattr(owner, method.__name__, None) is method.__func__


def is_ufunc(function: object) -> bool:
    """Whether it is an elementwise NumPy function of one or two arrays."""
    return isinstance(function, np.ufunc) and function.nin <= 2 and getattr(np, function.__name__, None) is function
