"""Each warning is given on data made for it, with the right number, and not on data without the fault."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris, load_wine, make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import (
    SVC,
    KernelDensity,
    KernelInterpolator,
    KernelKMeans,
    KernelMachine,
    KernelMeanClassifier,
    KernelPCA,
    KernelRidge,
    KernelRidgeCV,
)
from mercer.kernels import Gaussian, Linear, Sigmoid, Table
from mercer.kernels.strings import Spectrum
from mercer.reports import report
from mercer.reports._case import Case
from mercer.reports._cautions import _alone, cautions, target_outliers
from mercer.reports._estimate import estimated

pytest.importorskip("matplotlib")

IRIS, WINE, DIABETES = (f(return_X_y=True, as_frame=True) for f in (load_iris, load_wine, load_diabetes))


def noise(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def classes(n=120, seed=1):
    """Two overlapping classes in three columns, of the same scale; nothing is wrong with them."""
    X, y = make_blobs(n, centers=[[0, 0, 0], [2.0, 2.0, 2.0]], cluster_std=1.5, random_state=seed)
    return pd.DataFrame(X, columns=list("abc")), y


def curve(n=120, seed=1):
    """A function of two columns with noise; nothing is wrong with it either."""
    X = noise(n, 2, seed=seed)
    return pd.DataFrame(X, columns=list("ab")), np.sin(X[:, 0]) + X[:, 1] + 0.3 * noise(n, seed=seed + 1)


def given(estimator, X, y=None, cv=3, groups=None):
    """The warnings of a report, without its pictures."""
    case = Case(estimator, X, y, 0, groups)
    return {c.name: c for c in cautions(case, estimated(case, cv))}


RIDGE = KernelRidge(1.0, kernel=Gaussian(1.5), fit_intercept=True)


@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        pytest.param(SVC(), IRIS, id="iris", marks=pytest.mark.long),
        pytest.param(make_pipeline(StandardScaler(), SVC()), IRIS, id="iris, scaled", marks=pytest.mark.long),
        pytest.param(make_pipeline(StandardScaler(), SVC()), WINE, id="wine", marks=pytest.mark.long),
        pytest.param(make_pipeline(StandardScaler(), KernelPCA(2, kernel=Gaussian(4.0))), WINE, id="components"),
        pytest.param(make_pipeline(StandardScaler(), KernelKMeans(3, random_state=0)), WINE, id="clusters"),
        pytest.param(KernelRidge(0.1, kernel=Gaussian(0.2), fit_intercept=True), DIABETES, id="ridge"),
        pytest.param(KernelRidgeCV(np.geomspace(1e-5, 10, 7), kernel=Gaussian(0.3)), DIABETES, id="chosen ridge"),
        pytest.param(SVC(), classes(), id="two classes"),
        pytest.param(RIDGE, curve(), id="a curve"),
    ],
)
def test_no_alarm_where_nothing_is_wrong(estimator, data):
    assert given(estimator, *data, cv=5) == {}


# ---- leakage


def test_column_made_from_the_classes():
    X, y = classes()
    found = given(SVC(kernel=Table()), X.assign(paid=np.where(y == 1, "yes", "no")), y)
    assert found["leakage"].level == "serious"
    assert "“paid”" in found["leakage"].title
    assert "1.000" in found["leakage"].text


def test_column_made_from_the_target():
    X, y = curve()
    found = given(RIDGE, X.assign(log=np.exp(y / 3)), y)
    assert "“log”" in found["leakage"].title
    assert "rank correlation is 1.000" in found["leakage"].text


def test_easy_classes_are_no_more_than_a_caution():
    X, y = make_blobs(90, centers=[[0, 0], [9, 9]], random_state=0)
    assert given(SVC(), X, y)["leakage"].level == "caution"


def test_the_only_column_may_tell_all():
    x = np.linspace(0, 3, 80)[:, None]
    assert "leakage" not in given(RIDGE, x, x[:, 0] ** 3)


def test_copies_on_both_sides():
    X, y = classes(60)
    X, y = pd.concat([X, X[:30]]), np.r_[y, y[:30]]
    found = given(SVC(), X, y, cv=KFold(2))  # the copies are the last third, and stand alone in the second half
    keys = [tuple(row) for row in X.to_numpy()]
    share = np.mean([keys[i] in set(keys[45:] if i < 45 else keys[:45]) for i in range(90)])
    assert f"{share:.1%}" in found["duplicates"].text
    groups = np.r_[np.arange(60), np.arange(30)]
    assert "duplicates" not in given(SVC(), X, y, groups=groups)


def test_equal_samples_of_different_classes():
    X, y = classes()
    X.iloc[:3] = X.iloc[3].to_numpy()
    y[:4] = 0, 1, 0, 1
    assert given(SVC(), X, y)["contradictions"].text.startswith("4 samples")


def test_columns_standardised_before():
    X, y = curve()
    Z = StandardScaler().fit_transform(X)
    assert given(RIDGE, Z, y)["prepared"].level == "note"
    assert "prepared" not in given(make_pipeline(StandardScaler(), RIDGE), X, y)


@pytest.mark.long
def test_leak_among_hundreds_of_columns():
    y = np.arange(80) % 2
    X = noise(80, 400)
    X[:, 317] = y
    assert "“x317”" in given(SVC(), X, y, cv=2)["leakage"].title
    X[:, 317] = noise(80, seed=4)
    assert "leakage" not in given(SVC(), X, y, cv=2)
    target = noise(80, seed=5)
    X[:, 209] = -(target**3)
    assert "“x209”" in given(RIDGE, X, target, cv=2)["leakage"].title


def test_leak_of_a_rare_class_among_many_samples():
    X = noise(4000, 2)
    y = np.zeros(4000, dtype=int)
    y[:8] = 1
    case = Case(KernelMeanClassifier(), np.column_stack([X, y]), y, 0)
    assert _alone(case)["x2"] == 1.0
    assert max(_alone(case)["x0"], _alone(case)["x1"]) < 0.99


# ---- columns


def test_the_only_column_may_count_the_samples():
    x = np.arange(80.0)[:, None]
    assert "identifier" not in given(RIDGE, x, np.sin(x[:, 0]))


def test_rare_values_are_no_matter_of_scale():
    X, y = classes()
    rare = np.zeros(120)
    rare[3] = 0.012
    assert X.std().max() / rare.std() > 1000 > np.ptp(X, axis=0).max() / np.ptp(rare)
    assert "scales" not in given(SVC(), X.assign(rare=rare), y)


def test_kernels_of_single_columns_have_no_common_scale():
    X, y = classes()
    X["c"] *= 1e6
    assert "scales" in given(SVC(), X, y)
    assert "scales" not in given(SVC(kernel=Gaussian(1.0).on([0]) + Gaussian(1e6).on([2])), X, y)


def test_constant_missing_and_identifying_columns():
    X, y = classes()
    X = X.assign(one=1.0, gaps=np.where(np.arange(120) % 3, np.nan, X["a"]), row=np.arange(120) + 7)
    found = given(SVC(kernel=Table()), X.assign(name=[f"n{i}" for i in range(120)]), y)
    assert "“one” has" in found["constant"].text
    assert "“gaps”" in found["missing"].text
    assert "“row”, “name”" in found["identifier"].text


def test_columns_of_different_scales():
    X, y = (A[::3] for A in WINE)
    ratio = np.ptp(X, axis=0).max() / np.ptp(X, axis=0).min()
    assert f"{ratio:.3g}" in given(SVC(), X, y)["scales"].text
    each = SVC(kernel=Gaussian(X.std().to_numpy() * 3))
    assert "scales" not in given(each, X, y)
    assert "scales" not in given(SVC(kernel=Table()), X, y)


# ---- target and sizes


def test_unequal_classes():
    X, y = make_blobs([200, 20], centers=[[0, 0], [2, 2]], random_state=0)
    found = given(SVC(), X, y)
    assert "10 to 1" in found["imbalance"].text
    assert f"{200 / 220:.1%}" in found["imbalance"].text
    X, y = make_blobs([180, 20], centers=[[0, 0], [2, 2]], random_state=0)
    assert "imbalance" not in given(SVC(), X, y)


def test_few_samples_of_a_class():
    X, y = make_blobs([40, 40, 8], centers=[[0, 0], [4, 0], [0, 4]], random_state=0)
    found = given(SVC(), X, y)["few"]
    assert (found.level, "“2”: 8 samples" in found.text) == ("caution", True)
    assert given(SVC(), X[:84], y[:84])["few"].level in ("serious", "caution")


def test_few_samples():
    X, y = curve(25)
    assert "There are 25" in given(RIDGE, X, y)["few"].text


def test_far_targets():
    X, y = curve()
    y[[3, 5]] = 80.0, -70.0
    found = given(RIDGE, X, y)["outliers"]
    assert found.text.startswith("2 of 120")
    assert found.text.endswith("the farthest is 80.")


def test_far_targets_where_most_are_equal():
    y = np.zeros(100)
    y[:30] = 1.0
    assert target_outliers(y).size == 0
    y[7] = 1e4
    assert target_outliers(y).tolist() == [7]


@pytest.mark.parametrize("level", [1.0, 1e6])
def test_a_target_that_does_not_vary(level):
    X, y = curve(40)
    found = given(RIDGE, X, np.full_like(y, level))["constant"]
    assert found.level == "serious"
    assert found.text.startswith(f"All 40 targets are {level:.4g};")


def test_five_samples_are_too_few_for_anything_else():
    found = given(KernelRidge(kernel=Gaussian(0.1)), noise(5, 2), [0.0, 0.1, -0.1, 9.0, -8.0], cv=5)
    assert "few" in found
    assert not {"bandwidth", "outliers"} & set(found)


# ---- scores


def test_nothing_to_learn():
    y = (np.arange(120) % 3 == 0).astype(int)
    found = given(SVC(C=1e-3), noise(120, 3), y)  # so small a C gives the larger class everywhere
    assert found["useless"].level == "serious"
    assert "accuracy is 0.667; the largest class gives 0.667" in found["useless"].text
    found = given(RIDGE, noise(120, 3), noise(120, seed=5))
    assert found["useless"].title == "No better than the mean of y"


def test_noise_that_is_lucky():
    X, y = np.random.default_rng(0).normal(size=(200, 5)), np.arange(200) % 2
    found = estimated(case := Case(SVC(), X, y, 0), 5)
    for score, title in ((0.56, "Hardly"), (0.5, "No"), (0.58, None)):  # the standard error is √(0.25 / 200) = 0.0354
        found.scores["accuracy"]["this model"][:] = score
        said = [c.title for c in cautions(case, found) if c.name == "useless"]
        assert said == ([f"{title} better than always predicting the largest class"] if title else [])


def test_below_zero_and_yet_ahead_of_the_mean():
    """R² of folds of two samples is below zero for everybody."""
    X = noise(8, 2)
    case = Case(RIDGE, X, X[:, 0], 0)
    found = estimated(case, 4)
    found.scores["R²"]["this model"][:], found.scores["R²"]["mean of y"][:] = -1.0, -3.0
    assert "useless" not in {c.name for c in cautions(case, found)}
    found.scores["R²"]["this model"][0] = -4.0
    said = next(c for c in cautions(case, found) if c.name == "useless")
    assert said.text == "On held-out samples R² is -1.750; the mean of y has -3."


def test_a_bad_fit_is_no_overfit():
    X = noise(40, 2)
    case = Case(RIDGE, X, X[:, 0], 0)
    found = estimated(case, 4)
    found.scores["R²"]["this model"][:] = -1.0
    for score, expected in ((0.1, False), (0.3, True)):
        found.training["R²"] = score
        assert ("overfitting" in {c.name for c in cautions(case, found)}) is expected


def test_one_gaussian_ahead():
    X = noise(200, 4)
    assert "normal" in given(KernelDensity(bandwidth=3.0), X)
    assert "normal" not in given(KernelDensity(bandwidth=0.3), np.vstack([X[:, :1], X[:, 1:2] + 8]))


def test_interpolation_has_no_alpha_to_raise():
    found = given(
        KernelInterpolator(kernel=Gaussian(5.0)), np.linspace(0, 1, 40)[:, None], np.zeros(40) + np.arange(40)
    )
    assert found["conditioning"].text.startswith("The condition number of K is ")
    assert found["conditioning"].remedy.startswith("Shorten the lengthscale")


def test_balanced_answers_are_worth_more_than_their_accuracy():
    X, y = make_blobs([190, 20], centers=[[0, 0], [2, 2]], cluster_std=1.2, random_state=0)
    found = given(SVC(kernel=Gaussian(2.0), class_weight="balanced"), X, y)["useless"]
    assert found.level == "caution"


def test_rough_estimate():
    X, y = classes(24)
    found = given(SVC(), X, y, cv=8)
    assert "8 folds accuracy" in found["spread"].text


def test_linear_model_ahead():
    X = noise(150, 6)
    y = X.sum(axis=1) + 0.1 * noise(150, seed=3)
    assert "linear" in given(KernelRidge(1.0, kernel=Gaussian(1.0)), X, y)
    assert "linear" not in given(KernelRidge(1.0, kernel=Linear()), X, y)


def test_training_score_far_above():
    X, y = curve()
    y = y + noise(120, seed=9)
    found = given(KernelInterpolator(Gaussian(0.3)), X, y)
    assert "On them R² is 1.000" in found["overfitting"].text


def test_folds_that_cannot_be_fitted():
    X, y = classes()
    y = y.copy()
    y[:] = 0
    y[0] = 1
    found = given(SVC(), X, y, cv=KFold(4))  # a training part without the second class
    assert found["estimate"].level == "serious"
    assert found["few"].level == "serious"


# ---- kernel


@pytest.mark.parametrize(("lengthscale", "words"), [(100.0, "nearly constant"), (0.05, "only to itself")])
def test_lengthscale_out_of_place(lengthscale, words):
    X, y = classes(60)
    found = given(SVC(kernel=Gaussian(lengthscale)), X, y)["bandwidth"]
    assert words in found.title
    squares = ((X.to_numpy()[:, None] - X.to_numpy()[None]) ** 2).sum(axis=-1)
    K = np.exp(-squares / (2 * lengthscale**2))
    mean = (K.sum() - 60) / (60 * 59)
    assert (f"{mean:.4f}" if lengthscale > 1 else f"{mean:.2g}") in found.text


def test_orthogonal_samples_of_a_linear_kernel_are_no_matter_of_lengthscale():
    X = noise(60, 2000)
    assert "bandwidth" not in given(SVC(kernel=Linear()), X, np.arange(60) % 2)


def test_a_mean_far_from_zero_is_no_matter_of_lengthscale():
    X, y = classes(60)
    assert "bandwidth" not in given(SVC(kernel="linear"), X + 1000, y)
    K = np.exp(-((X.to_numpy()[:, None] - X.to_numpy()[None]) ** 2).sum(axis=-1) / 2e5)
    found = given(SVC(kernel="precomputed"), K, y)["bandwidth"]
    assert "lengthscale" not in found.remedy


def test_remedies_name_the_parameter_that_there_is():
    found = given(KernelDensity(bandwidth=0.05), noise(60, 3))["bandwidth"]
    assert found.remedy == "Use a longer bandwidth."
    words = ["".join(np.random.default_rng(i).choice(list("abcdefgh"), 12)) for i in range(40)]
    found = given(SVC(kernel=Spectrum(6)), words, np.arange(40) % 2)["bandwidth"]
    assert "substrings" in found.remedy


@pytest.mark.parametrize("loss", ["absolute", "squared"])
def test_conditioning_is_that_of_linear_systems(loss):
    X, y = curve()
    found = given(KernelMachine(loss, kernel=Gaussian(3.0), alpha=1e-13), X, y)
    assert ("conditioning" in found) == (loss == "squared")


def test_ill_conditioned_system():
    X, y = curve()
    found = given(KernelRidge(1e-14, kernel=Gaussian(3.0)), X, y)
    assert "1e-14" in found["conditioning"].text
    assert "conditioning" not in given(KernelRidge(1e-3, kernel=Gaussian(3.0)), X, y)


def test_indefinite_kernel():
    X, y = classes(60)
    found = given(SVC(kernel=Sigmoid(1.0, -1.0)), X, y)["indefinite"]
    K = np.tanh(X.to_numpy() @ X.to_numpy().T - 1.0)
    values = np.linalg.eigvalsh(K)
    assert f"the smallest is {values[0]:.3g}" in found.text
    assert f"{-values[values < 0].sum() / np.abs(values).sum():.2%}" in found.text


# ---- search and solver


def test_best_value_at_the_end():
    X, y = curve()
    search = GridSearchCV(KernelRidge(kernel=Gaussian(1.5)), {"alpha": [50.0, 100.0, 1000.0]}, cv=3)
    found = given(search, X, y, cv=2)["edge"]
    assert found.text == "50 was chosen from values between 50 and 1000."
    search = GridSearchCV(KernelRidge(kernel=Gaussian(1.5)), {"alpha": [1e-5, 0.3, 1000.0]}, cv=3)
    assert "edge" not in given(search, X, y, cv=2)
    assert "edge" in given(KernelRidgeCV([50.0, 100.0, 1000.0], kernel=Gaussian(1.5)), X, y)


def test_no_edge_where_others_are_as_good():
    X, y = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=3)
    assert search.fit(X, y).best_params_ == {"C": 0.1}
    assert "edge" not in given(search, X, y, cv=2)


def test_solver_that_stopped_early():
    X, y = classes()
    found = given(SVC(max_iter=2), X, y)["convergence"]
    assert found.level == "serious"
    assert found.text.startswith("1 of 1 problems")


# ---- others


def test_estimators_of_other_libraries():
    X, y = classes()
    found = report(RandomForestClassifier(3, random_state=0), X, y, cv=2)
    assert "method" in found.sections


def test_text_of_a_report_lists_the_warnings():
    X, y = (A[::3] for A in WINE)
    found = report(SVC(), X, y, cv=None)
    lines = str(found).splitlines()
    assert lines[0] == "SVC: a report"
    assert lines[1:] == [str(c) for c in found.warnings]
    levels = [c.level for c in found.warnings]
    assert levels == sorted(levels, key=["serious", "caution", "note"].index)
