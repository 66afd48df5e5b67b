"""Drawn histories against what the solvers promise: they end at the solution."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_iris, make_moons
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    SVR,
    KernelKMeans,
    KernelLogisticRegression,
    KernelMachine,
    KernelQuantileRegression,
    KernelRidge,
    OneClassSVM,
    RelevanceVectorMachine,
    RobustKernelDensity,
)
from mercer.methods.multiple import MultipleKernel
from mercer.plot import HistoryDisplay


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def moons():
    return make_moons(2500, noise=0.25, random_state=0)


def test_support_vector_machine(moons, ax):
    X, y = moons
    model = SVC(C=50.0, gamma=2.0).fit(X, y)
    display = HistoryDisplay.from_estimator(model, ax=ax)
    objective, gap = (display.lines_[name][0].get_ydata() for name in ("objective", "gap"))
    assert len(objective) > 3
    # the dual objective at the end, from the coefficients alone
    K = np.exp(-2.0 * ((X[model.support_][:, None] - X[model.support_][None]) ** 2).sum(axis=2))
    beta = model.dual_coef_[0]
    assert objective[-1] == pytest.approx(beta @ K @ beta / 2 - np.abs(beta).sum(), rel=1e-6)
    assert gap[-1] <= model.tol < gap[0]
    violators = display.lines_["violators"][0].get_ydata()
    assert ((violators == 0) == (gap <= model.tol)).all()
    assert violators[0] == len(X)  # with two classes and no coefficient, every sample has one of the other to move with
    assert [panel.get_title(loc="left") for panel in display.axes_] == [
        "Objective",
        "Gap",
        "Violators",
        "Working set",
    ]
    assert display.axes_[1].get_yscale() == "log"


def test_against_seconds_and_single_quantities(moons, ax):
    model = SVC().fit(*moons)
    display = HistoryDisplay.from_estimator(model, ax=ax, x="seconds", quantities=["gap"], line_kw={"color": "red"})
    assert list(display.lines_) == ["gap"]
    seconds = display.lines_["gap"][0].get_xdata()
    assert (np.diff(seconds) >= 0).all()
    assert seconds.tolist() == [step["seconds"] for step in model.solutions_[0].history]
    assert display.lines_["gap"][0].get_color() == "red"


def test_a_line_for_each_machine():
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), {"svc__C": [1]}, cv=2).fit(X, names)
    display = HistoryDisplay.from_estimator(search, ax=Figure().subplots(1, 4))
    texts = [t.get_text() for t in display.axes_[-1].get_legend().get_texts()]
    assert texts == ["setosa | versicolor", "setosa | virginica", "versicolor | virginica"]
    assert len(display.lines_["gap"]) == 3


def test_other_solvers(moons, ax):
    X, y = moons[0][:120], moons[1][:120]
    model = KernelLogisticRegression().fit(X, y)
    display = HistoryDisplay.from_estimator(model, ax=ax)
    assert display.lines_["objective"][0].get_ydata()[-1] == pytest.approx(model.solution_.objective, rel=1e-3)
    means = KernelKMeans(2, random_state=0).fit(X)
    assert HistoryDisplay.from_estimator(means, ax=ax).lines_["objective"][0].get_ydata()[-1] == means.inertia_
    relevant = RelevanceVectorMachine().fit(X, X[:, 0])
    evidence = HistoryDisplay.from_estimator(relevant, ax=ax).lines_["evidence"][0].get_ydata()
    assert evidence[-1] == pytest.approx(relevant.log_evidence_)
    density = RobustKernelDensity(bandwidth=0.3).fit(X)
    assert (np.diff(HistoryDisplay.from_estimator(density, ax=ax).lines_["objective"][0].get_ydata()) <= 1e-12).all()
    levels = KernelQuantileRegression(quantiles=[0.2, 0.8], solver="working_set").fit(X, X[:, 0])
    display = HistoryDisplay.from_estimator(levels, ax=ax)
    assert [line.get_label() for line in display.lines_["gap"]] == ["τ = 0.2", "τ = 0.8"]
    for machine in (SVR().fit(X, X[:, 0]), OneClassSVM(nu=0.3).fit(X)):
        assert HistoryDisplay.from_estimator(machine, ax=ax).lines_["gap"][0].get_ydata()[-1] <= 1e-3
    kernels = [("gaussian", [0]), ("gaussian", [1])]
    multiple = MultipleKernel(SVC(), kernels, method="simplemkl").fit(X, y)
    assert HistoryDisplay.from_estimator(multiple, ax=ax).lines_["gap"][0].get_ydata()[-1] <= multiple.tol


def test_violators_where_they_are_recorded(ax):
    display = HistoryDisplay(histories={"fit": {"violators": [5, 2, 0]}}).plot(ax=ax)
    assert display.lines_["violators"][0].get_ydata().tolist() == [5, 2, 0]


def test_refuses(moons, ax):
    X, y = moons[0][:60], moons[1][:60]
    with pytest.raises(TypeError, match="KernelRidge has no history; pass a fitted estimator with an iterative solver"):
        HistoryDisplay.from_estimator(KernelRidge().fit(X, y), ax=ax)
    with pytest.raises(TypeError, match="the solver of this KernelMachine records no history"):
        HistoryDisplay.from_estimator(KernelMachine(loss="squared").fit(X, X[:, 0]), ax=ax)
    model = SVC().fit(X, y)
    with pytest.raises(ValueError, match="quantities = 'evidence' is unknown; choose one of 'objective', 'gap'"):
        HistoryDisplay.from_estimator(model, quantities=["evidence"], ax=ax)
    with pytest.raises(ValueError, match="recorded no times"):
        HistoryDisplay.from_estimator(KernelLogisticRegression().fit(X, y), x="seconds", ax=ax)


def test_more_runs_than_names_have_one_colour():
    X, y = load_digits(return_X_y=True)
    display = HistoryDisplay.from_estimator(SVC().fit(X[:200], y[:200]), ax=Figure().subplots(2, 2))
    assert len({line.get_color() for line in display.lines_["gap"]}) == 1
    assert all(panel.get_legend() is None for panel in display.axes_)
