"""How often a fit makes its kernel and checks its samples: the costs of small problems."""

from collections import Counter

import numpy as np
import pytest

from mercer import (
    SVC,
    SVR,
    KernelFisher,
    KernelKMeans,
    KernelLogisticRegression,
    KernelMachine,
    KernelPCA,
    KernelPLS,
    KernelRidge,
    OneClassSVM,
)
from mercer.methods import _base

X = np.random.default_rng(0).normal(size=(30, 3))
MODELS = [
    *(SVC(), SVC(gamma=0.5), SVR(), OneClassSVM(), KernelRidge(kernel="rbf"), KernelRidge(kernel="gaussian + 1")),
    *(KernelMachine(), KernelLogisticRegression(), KernelFisher(), KernelPLS(2), KernelPCA(2), KernelKMeans(2)),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_fit_makes_its_kernel_once_and_checks_its_samples_once(model, monkeypatch):
    counts = Counter()
    kernel, check = type(model)._kernel, _base.validate_data

    def counted_kernel(self, n_features):
        counts["kernel"] += 1
        return kernel(self, n_features)

    def counted_check(*args, **options):
        counts["check"] += 1
        return check(*args, **options)

    monkeypatch.setattr(type(model), "_kernel", counted_kernel)
    monkeypatch.setattr(_base, "validate_data", counted_check)
    answer = model.transform if isinstance(model, KernelPCA) else model.predict
    model.fit(np.asfortranarray(X), X[:, 0] > 0)
    assert counts == {"kernel": 1, "check": 1}
    counts.clear()
    answer(np.asfortranarray(X))
    assert counts == {"check": 1}
    counts.clear()
    model.fit(X, X[:, 0] > 0)  # of plain arrays, all that scikit-learn would look at is seen at once
    answer(X)
    assert counts == {"kernel": 1}


@pytest.mark.parametrize("model", [SVC(gamma="auto"), KernelRidge(kernel="rbf")], ids=str)
def test_samples_without_features_are_refused(model):
    with pytest.raises(ValueError, match="0 feature"):
        model.fit(np.empty((30, 0)), X[:, 0] > 0)
