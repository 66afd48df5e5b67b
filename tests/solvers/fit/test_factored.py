"""Machines on thin factors: the working-set solver on the product, and optimality by definition."""

import numpy as np
import pytest

from mercer import SVC, SVR, NuSVC
from mercer.context import Context, Status
from mercer.gram import Nystrom
from mercer.solvers.fit import boxes, factored, held
from mercer.solvers.fit.working_set import BoxProblem

rng = np.random.default_rng(0)
Z = rng.normal(size=(90, 4))
y = np.where(Z[:, 0] + 0.6 * rng.normal(size=90) > 0, 1.0, -1.0)
target = Z[:, 1] + 0.3 * rng.normal(size=90)
C = rng.uniform(0.5, 2.0, size=90)
NONE, FREE = np.zeros(90), np.zeros(90, dtype=np.int64)

PROBLEMS = {
    "hinge": (BoxProblem(y, np.minimum(0, C * y), np.maximum(0, C * y), FREE), 1),
    "no offset": (BoxProblem(y, np.minimum(0, C * y), np.maximum(0, C * y)), 1),
    "left out": (BoxProblem(y, np.minimum(0, C * y) * (C > 1), np.maximum(0, C * y) * (C > 1), FREE), 1),
    "squared": (BoxProblem(y, np.where(y < 0, -1e300, 0), np.where(y > 0, 1e300, 0), FREE, ridge=0.5 / C), 1),
    "tube": (
        BoxProblem(
            np.concatenate([target - 0.1, target + 0.1]),
            np.concatenate([NONE, -C]),
            np.concatenate([C, NONE]),
            np.zeros(180, dtype=np.int64),
        ),
        2,
    ),
}


@pytest.mark.parametrize(("problem", "copies"), PROBLEMS.values(), ids=PROBLEMS)
def test_equals_the_solver_on_the_matrix(problem, copies) -> None:
    assert factored.suits(problem)
    found = factored.minimise(Z, problem, copies, 1e-5, Context())
    index = np.tile(np.arange(90), copies)
    truth = held.minimise(Z @ Z.T, index, np.array([0, len(index)]), problem, 1e-9)[0]
    assert found.converged and found.gap <= 1e-3
    np.testing.assert_allclose(found.objective, truth.objective, rtol=1e-6)
    np.testing.assert_allclose(found.values, truth.values, atol=1e-4)
    np.testing.assert_allclose(found.offsets, truth.offsets, atol=1e-4)
    assert np.all((found.beta >= problem.lower) & (found.beta <= problem.upper))
    np.testing.assert_allclose(problem.sums(found.beta), 0.0, atol=1e-6)


def test_what_is_no_linear_machine() -> None:
    box = NONE, NONE + 1
    assert not factored.suits(BoxProblem(NONE, *box, FREE, np.repeat([1.0, 0.0], 45)))  # Σβ is fixed at 45
    assert not factored.suits(BoxProblem(y, np.minimum(0, y), np.maximum(0, y), (y < 0).astype(np.int64)))
    assert not factored.suits(BoxProblem(y, NONE + 0.1, NONE + 1))


def test_a_spent_budget_says_so() -> None:
    problem, copies = PROBLEMS["hinge"]
    found = factored.minimise(Z, problem, copies, 1e-5, lambda state: Status.TIME_BUDGET)
    assert found.status is Status.TIME_BUDGET and np.isfinite(found.gap)


@pytest.mark.parametrize(
    "model",
    [
        SVC(C=3.0),
        SVC(C=3.0, loss="squared_hinge"),
        SVC(fit_intercept=False),
        SVR(),
        SVC(calibration="cv"),
        NuSVC(nu=0.1),
    ],
    ids=str,
)
def test_estimators_take_it_for_many_samples(model, monkeypatch) -> None:
    """Also of several classes; what is no linear machine stays with rows."""
    X = rng.normal(size=(240, 2))
    labels = X[:, 0] if isinstance(model, SVR) else np.digitize(X[:, 0] + 0.1 * X[:, 1], [-0.5, 0.5])
    model.set_params(gram=Nystrom(12), gamma=0.5, tol=1e-5)
    if hasattr(model, "random_state"):
        model.set_params(random_state=0)
    for name in ("SMALL", "HELD"):
        monkeypatch.setattr(boxes, name, 0)
    rows = model.fit(X, labels).function_(X)
    assert model.solutions_[0].method == "working_set"
    monkeypatch.setattr(boxes, "MANY", 100)
    thin = model.fit(X, labels)
    assert thin.solutions_[0].method == ("working_set" if isinstance(model, NuSVC) else "primal")
    np.testing.assert_allclose(thin.function_(X), rows, atol=2e-3)


@pytest.mark.parametrize(("unit", "away"), [(2.0**-20, 0.0), (2.0**20, 0.0), (1.0, 1e6)])
def test_targets_in_any_unit_and_far_from_zero(unit, away) -> None:
    """`tol` is in units of f, as on rows, and the offset takes what all targets share."""
    problem, copies = PROBLEMS["tube"]
    truth = factored.minimise(Z, problem, copies, 1e-4, Context())
    moved = BoxProblem(
        unit * problem.linear + away, unit * problem.lower, unit * problem.upper, problem.group, start=None
    )
    found = factored.minimise(Z, moved, copies, unit * 1e-4, Context())
    assert found.converged and found.inner_iter > 0
    np.testing.assert_allclose(found.values / unit, truth.values, atol=1e-6)
    np.testing.assert_allclose((found.offsets - away) / unit, truth.offsets, atol=1e-6)


def test_offset_where_no_variable_is_free() -> None:
    """The middle of those that are optimal, as LIBSVM and the other solvers have it; the gap is theirs as well."""
    tube, copies = PROBLEMS["tube"]
    wide = BoxProblem(tube.linear + np.repeat([-50.0, 50.0], 90), tube.lower, tube.upper, tube.group)
    found = factored.minimise(Z, wide, copies, 1e-3, Context())
    assert not found.beta.any() and found.gap == 0
    np.testing.assert_allclose(found.offsets, (target.min() + target.max()) / 2, atol=1e-9)
    hinge, copies = PROBLEMS["hinge"]
    assert factored.minimise(Z, hinge, copies, 1e-5, Context(), max_iter=0).gap == 2.0
