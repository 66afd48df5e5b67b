"""The page is well-formed and needs nothing else; its numbers are those of independent computation."""

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_blobs
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, d2_pinball_score, silhouette_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from mercer import (
    SVC,
    AnovaSpline,
    KernelCCA,
    KernelDensity,
    KernelKMeans,
    KernelMachine,
    KernelPCA,
    KernelQuantileRegression,
    KernelRidge,
    KernelRidgeCV,
    MultipleKernel,
    OneClassSVM,
)
from mercer.domains import Graph
from mercer.kernels import Gaussian, Table
from mercer.kernels.graphs import WeisfeilerLehman
from mercer.kernels.strings import Spectrum
from mercer.losses import Custom
from mercer.reports import Report, report
from mercer.reports._case import kind_of
from mercer.reports._method import _displayed as method_equation
from mercer.selection import KernelSearchCV

style = pytest.importorskip("matplotlib.style")

VOID = {"meta", "br", "img", "input", "hr", "link"}
IRIS, WINE, DIABETES = (f(return_X_y=True, as_frame=True) for f in (load_iris, load_wine, load_diabetes))


class Page(HTMLParser):
    """Walks a page, and keeps its elements; closing tags must match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.elements, self.rows, self.texts = [], [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data

    def row(self, name):
        """The cells of the first row of this name."""
        return next(row[1:] for row in self.rows if row and row[0] == name)

    @property
    def text(self):
        return " ".join("".join(self.texts).split())


def check_page(found):
    """What every page must be; returns it parsed."""
    assert isinstance(found, Report)
    page = Page(found.html)
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for tag, attributes in page.elements:
        assert tag not in ("script", "link", "iframe", "object", "embed")
        assert not [name for name in attributes if name.startswith("on")]
        assert "src" not in attributes
        for name in ("href", "xlink:href"):
            target = attributes.get(name, "#")
            assert target.startswith(("#", "data:image/png;base64,"))
            assert len(target) == 1 or not target.startswith("#") or target[1:] in ids
        for used in re.findall(r"url\(([^)]*)\)", " ".join(v or "" for v in attributes.values())):
            assert used[1:] in ids
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
        if tag == "th":
            assert attributes["scope"] in ("row", "col")
    assert not re.search(r"https?://", found.html)
    assert "@import" not in found.html
    assert len(found.html) < 2_000_000
    return page


def shown(value):
    """A number between 10⁻⁴ and 10³ as the page writes it."""
    return f"{value:.4g}".replace("-", "−")


# ---- numbers


def test_classifier_has_the_scores_of_its_folds():
    X, y = IRIS
    model = SVC(C=2.0, kernel=Gaussian(1.5))
    page = check_page(report(model, X, y, cv=4, random_state=3))
    folds = StratifiedKFold(4, shuffle=True, random_state=3)
    rivals = {
        "this model": model,
        "majority class": DummyClassifier(),
        "linear model": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    for name, rival in rivals.items():
        for place, metric in enumerate(("accuracy", "balanced_accuracy")):
            scores = cross_val_score(rival, X, y, cv=folds, scoring=metric)
            cell = page.row(name)[place]
            assert cell.startswith(shown(scores.mean()))
            assert cell.endswith(f"{shown(scores.min())} to {shown(scores.max())}")
            assert f"± {scores.std(ddof=1):.2g}" in cell
    wrong = int((cross_val_predict(model, X, y, cv=folds) != y).sum())
    assert f"Held-out samples; {wrong} of 150 are misclassified." in page.text
    fitted = clone(model).fit(X, y)
    assert page.row("this model, on the training samples")[0] == shown(fitted.score(X, y))
    assert f"{len(fitted.support_)} of 150" in page.text


def test_regressor_has_leave_one_out_by_refits():
    X, y = (A[:60] for A in DIABETES)
    model = KernelRidge(0.5, kernel=Gaussian(0.3))
    page = check_page(report(model, X, y))
    errors = y - cross_val_predict(model, X, y, cv=KFold(60))
    assert f"squared loss is {np.mean(errors**2):.0f}, with standard error" in page.text
    worst = int(np.argmax(errors.to_numpy() ** 2))
    assert next(row for row in page.rows if row[-1].startswith("leave-one-out loss"))  # the head of the list
    assert page.rows[[row[0] for row in page.rows].index("sample") + 1][0] == str(worst)


@pytest.mark.long
def test_leave_one_out_in_a_pipeline_keeps_the_scaling():
    X, y = (A[:60] for A in DIABETES)
    model = KernelRidge(0.5, kernel=Gaussian(4.0))
    page = check_page(report(make_pipeline(StandardScaler(), model), X, y))
    errors = y - cross_val_predict(model, StandardScaler().fit_transform(X), y, cv=KFold(60))
    assert f"squared loss is {np.mean(errors**2):.0f}, with standard error" in page.text


def test_spectrum_is_that_of_the_matrix_that_is_solved():
    X, y = (A[:80].to_numpy() for A in DIABETES)
    alpha, scale = 0.05, 0.2
    page = check_page(report(KernelRidge(alpha, kernel=Gaussian(scale)), X, y))
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    K = np.exp(-squares / (2 * scale**2))
    values = np.linalg.eigvalsh(K)
    assert (
        f"{(values.max() + alpha) / (values.min() + alpha):.0f} condition number of K + αI".replace(" c", "c")
        in page.text
    )
    assert f"{shown(np.trace(np.linalg.solve(K + alpha * np.eye(80), K)))}effective dimension" in page.text
    assert f"{shown((K.sum() - 80) / (80 * 79))}mean similarity" in page.text
    assert f"{shown(80**2 / (K**2).sum())}participation ratio" in page.text


def test_data_summary():
    X = pd.DataFrame({"a": [1.0, 2.0, 2.5, np.nan] * 10, "b": ["u", "v", "v", None] * 10})
    X["c"] = np.arange(40) ** 2 / 3
    page = check_page(report(KernelRidge(kernel=Table()), X, np.arange(40.0) % 7, cv=None))
    assert page.row("a")[2:] == ["1", "2", "2.5", shown(np.nanstd(X["a"])), "25.0%"]
    assert page.row("b")[0] == "2 labels: v (20), u (10)"
    assert page.row("b")[-1] == "25.0%"
    assert page.row("c")[-1] == "0"
    assert f"{20 / 120:.1%}missing values" in page.text


def test_lists_of_numbers_have_columns():
    X, y = (A.to_numpy()[::3] for A in IRIS)
    page = check_page(report(SVC(), X.tolist(), y.tolist(), cv=2))
    assert page.row("x0")[2:5] == [shown(v) for v in (X[:, 0].min(), np.median(X[:, 0]), X[:, 0].max())]
    assert page.row("linear model")


def test_repeated_samples_are_counted():
    X, y = (A.to_numpy() for A in IRIS)
    assert len(np.unique(X, axis=0)) == 149
    page = check_page(report(SVC(), X, y, cv=None))
    assert "1duplicate sample" in page.text


def test_clusters_have_silhouettes_in_the_space():
    X, c = make_blobs(90, centers=3, random_state=2)
    model = KernelKMeans(3, kernel=Gaussian(2.0), random_state=0)
    page = check_page(report(model, X, c))
    labels = clone(model).fit(X).labels_
    squares = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
    distance = np.sqrt(2 - 2 * np.exp(-squares / 8))
    np.fill_diagonal(distance, 0)
    assert f"mean {silhouette_score(distance, labels, metric='precomputed'):.3f}" in page.text
    assert f"labels is {adjusted_rand_score(c, labels):.4g}" in page.text


def test_components_have_their_share():
    X = StandardScaler().fit_transform(WINE[0])
    page = check_page(report(KernelPCA(3, kernel="linear"), X, WINE[1]))
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2
    assert f"together {values[:3].sum() / values.sum():.1%}" in page.text
    assert "predicts no target" in page.text


@pytest.mark.long
def test_density_is_judged_beside_one_gaussian():
    X = IRIS[0].to_numpy()
    page = check_page(report(KernelDensity(bandwidth=0.4), X))
    folds = KFold(5, shuffle=True, random_state=0)
    ours = [KernelDensity(bandwidth=0.4).fit(X[a]).score_samples(X[b]).mean() for a, b in folds.split(X)]
    assert page.row("this model")[0].startswith(shown(np.mean(ours)))
    assert page.row("one Gaussian")


@pytest.mark.long
def test_outliers_held_out_are_counted():
    X = IRIS[0].to_numpy()
    page = check_page(report(OneClassSVM(nu=0.2), X))
    folds = KFold(5, shuffle=True, random_state=0)
    shares = [np.mean(OneClassSVM(nu=0.2).fit(X[a]).predict(X[b]) == -1) for a, b in folds.split(X)]
    assert page.row("this model")[0].startswith(shown(np.mean(shares)))


# ---- searches, pipelines, fits


@pytest.mark.long
@pytest.mark.parametrize("search", [KernelSearchCV, GridSearchCV])
def test_search_shows_its_grid(search):
    X, y = (A[40:110] for A in IRIS)
    grid = {"svc__C": [0.1, 1.0, 10.0], "svc__gamma": [0.01, 0.1, 1.0]}
    folds = StratifiedKFold(2, shuffle=True, random_state=1)
    found = report(search(make_pipeline(StandardScaler(), SVC()), grid, cv=folds), X, y, cv=2)
    page = check_page(found)
    assert list(found.sections)[3] == "tuning"
    peer = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=folds).fit(X, y)
    assert f"Its score is {shown(peer.best_score_)}" in page.text
    assert page.row("svc__C")[:4] == [f"{peer.best_params_['svc__C']:g}", "3", "0.1", "10"]
    assert "StandardScaler()" in page.row("preceding step")[0]
    nested = cross_val_score(peer, X, y, cv=StratifiedKFold(2, shuffle=True, random_state=0))
    assert page.row("this model")[0].startswith(shown(nested.mean()))


@pytest.mark.long
def test_groups_are_held_out_together():
    X, y = (A.to_numpy() for A in DIABETES)
    groups = np.arange(len(y)) // 20
    model = KernelRidge(kernel=Gaussian(0.2))
    page = check_page(report(model, X, y, groups=groups))
    folds = GroupKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(model, X, y, cv=folds, groups=groups)
    assert page.row("this model")[0].startswith(shown(scores.mean()))


def test_groups_reach_a_search_that_asks_for_them():
    X, y = (A.to_numpy() for A in IRIS)
    groups = np.arange(150) % 10
    search = GridSearchCV(SVC(), {"C": [0.1, 1.0, 10.0]}, cv=GroupKFold(3))
    page = check_page(report(search, X, y, groups=groups, cv=2))
    scores = []
    for train, test in StratifiedGroupKFold(2, shuffle=True, random_state=0).split(X, y, groups):
        scores.append(clone(search).fit(X[train], y[train], groups=groups[train]).score(X[test], y[test]))
    assert page.row("this model")[0].startswith(shown(np.mean(scores)))


def test_the_estimator_is_left_as_it_was():
    X, y = (A[::3] for A in IRIS)
    model = SVC()
    report(model, X, y, cv=None)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.fit(X, y)
    machine = model.dual_coef_
    page = check_page(report(model, X, y, cv=None))
    assert model.dual_coef_ is machine
    assert page.row("described fit") == ["the fitted estimator that was passed"]
    assert "cv=None: no error estimate was requested." in page.text


def test_sections_and_order():
    found = report(SVC(), *IRIS, cv=2)
    assert list(found.sections) == ["warnings", "data", "method", "error", "diagnostics", "making"]
    assert all(body in found.html for body in found.sections.values())
    assert "mercer.report(\n    SVC(),\n    X, y, cv=2, random_state=0,\n).save(" in found.sections["making"]


@pytest.mark.long
def test_same_input_gives_the_same_page():
    pages = [report(KernelRidge(kernel=Gaussian(0.2)), *(A[:50] for A in DIABETES), cv=2).html for _ in range(2)]
    plain = [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC|[\d.]+ s(?=<)", "", page) for page in pages]
    assert plain[0] == plain[1]


# ---- pictures


def titles(found):
    return re.findall(r"<figure><h3>(.*?)</h3>", found.html)


def line(n=60):
    x = np.linspace(0, 3, n)[:, None]
    return x, np.sin(2 * x[:, 0]) + 0.1 * np.cos(40 * x[:, 0])


@pytest.mark.parametrize(
    ("estimator", "data", "expected"),
    [
        (SVC(), make_blobs(40, centers=2, random_state=0), ["In the plane", "Margins", "Kernel matrix", "Spectrum"]),
        (KernelRidge(0.1, kernel="rbf"), line(), ["The curve", "Effective dimension over the penalty"]),
        (KernelMachine("huber"), line(), ["The curve"]),
        (KernelQuantileRegression(quantiles=[0.1, 0.9]), line(), ["Levels of y"]),
        (AnovaSpline(1e-3), (np.random.default_rng(0).uniform(size=(40, 2)), np.arange(40.0)), ["Main effect of x1"]),
        (
            KernelDensity(bandwidth="loo"),
            (line()[0], None),
            ["The density", "Cross-validation, likelihood, over the values tried"],
        ),
        (KernelPCA(2), IRIS, ["Components", "Explained variance"]),
        (KernelCCA(1), (line()[0], line()[0] ** 2), ["Canonical variables"]),
        (MultipleKernel(SVC(), ["gaussian", "linear"]), (IRIS[0], IRIS[1] > 0), ["Weights of the kernels"]),
        (KernelMachine("logistic"), (IRIS[0], IRIS[1] > 0), ["Solver history: objective"]),
    ],
    ids=lambda thing: type(thing).__name__ if hasattr(thing, "fit") else "",
)
def test_displays_of_the_method(estimator, data, expected):
    found = report(estimator, *data, cv=None)
    check_page(found)
    assert set(expected) <= set(titles(found))


def test_what_is_left_out_is_said():
    X, y = make_blobs(120, centers=40, random_state=0)
    found = report(SVC(), X, y, cv=None)
    assert "10 more classes are not listed." in found.sections["data"]


def test_levels_are_no_predictions_of_y():
    rng = np.random.default_rng(0)
    found = report(KernelQuantileRegression(quantiles=0.9), rng.normal(size=(40, 2)), rng.normal(size=40), cv=2)
    assert "Residuals" not in titles(found)
    assert "Below the line, y is below its level." in found.sections["error"]


def test_functions_have_no_place_in_memory():
    loss = Custom(lambda y, f, weight=None: np.sum((y - f) ** 2) / 2, lambda y, f, weight=None: f - y, convex=True)
    assert " at 0x" not in report(KernelMachine(loss), *line(20), cv=None).html


def test_parts_of_an_equation_stand_apart():
    html = method_equation(r"a = b, \qquad c = d")
    assert html.count("<math") == 2
    assert method_equation(r"\begin{cases} a & \qquad b \end{cases}").count("<math") == 1


def test_both_views_are_summarised():
    x, _ = line()
    page = report(
        KernelCCA(1, kernel=["gaussian", Table()]), x, {"height": 7 * x[:, 0], "kind": ["a", "b", "c"] * 20}, cv=None
    ).html
    assert "The second view" in page and "height" in page and "3 labels: a (20)" in page
    assert "The second view" not in report(KernelPCA(1), x, cv=None).html


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0, 10.0]}, "Contours of the score over C and gamma"),
        ({"C": [0.1, 1.0, 10.0], "kernel": ["rbf", "linear"]}, "The score over C."),
        ([{"C": [0.1, 1.0, 10.0]}, {"C": [1.0], "gamma": [0.5, 2.0]}], "The score over C."),
    ],
)
def test_landscape_of_a_search(grid, words):
    X, y = (A[::3] for A in IRIS)
    found = report(GridSearchCV(SVC(), grid, cv=2), X, y, cv=None)
    check_page(found)
    assert words in found.html
    assert "np.float64" not in found.html


def test_surfaces_keep_their_colours_on_dark_paper():
    found = report(SVC(), *make_blobs(40, centers=2, random_state=0), cv=None)
    (plane,) = re.findall(r"<h3>In the plane</h3>(<svg.*?</svg>)", found.html, flags=re.S)
    (margins,) = re.findall(r"<h3>Margins</h3>(<svg.*?</svg>)", found.html, flags=re.S)
    assert 'class="surface' in plane
    assert "currentColor" not in plane
    assert 'class="surface' not in margins
    assert "currentColor" in margins


def test_the_style_of_the_session_does_not_matter():
    data = [A[:50] for A in DIABETES]
    model = KernelRidge(kernel=Gaussian(0.2))
    expected = report(model, *data, cv=None).sections["diagnostics"]
    with style.context(["ggplot", "dark_background"]):
        assert report(model, *data, cv=None).sections["diagnostics"] == expected


def test_classes_that_begin_alike_stay_apart():
    X, y = make_blobs(40, centers=2, n_features=3, random_state=0)
    names = np.where(y, "adenocarcinoma of the colon", "adenocarcinoma of the lung")
    found = report(SVC(), X, names, cv=None)
    (matrix,) = re.findall(r"<h3>Kernel matrix</h3>(<svg.*?</svg>)", found.html, flags=re.S)
    assert "of the colon" in matrix
    assert "of the lung" in matrix


# ---- data of any kind


def test_strings():
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc" if i % 2 else "bcd"), 4 + i % 5)) for i in range(40)]
    page = check_page(report(SVC(kernel=Spectrum(2)), words, np.arange(40) % 2, cv=2))
    assert page.row("length")[1:] == ["4", "6", "8"]
    assert "str (40)" in page.text


@pytest.mark.long
def test_graphs():
    graphs = [
        Graph(3 + i % 4, [(k, k + 1) for k in range(2 + i % 4)], labels="CNOCNOC"[: 3 + i % 4]) for i in range(30)
    ]
    page = check_page(report(KernelRidge(kernel=WeisfeilerLehman()), graphs, np.arange(30.0) % 4))
    assert page.row("nodes")[1::2] == ["3", "6"]
    assert page.row("edges")[1::2] == ["2", "5"]


@pytest.mark.long
def test_sparse_matrix():
    X = csr_matrix(np.where(IRIS[0] > 3, IRIS[0], 0))
    page = check_page(report(SVC(), X, IRIS[1]))
    assert f"{X.nnz / (150 * 4):.3%}" in page.text
    assert page.row("linear model")


@pytest.mark.long
def test_kernel_matrix():
    X, y = (A.to_numpy() for A in IRIS)
    K = Gaussian(1.5)(X)
    first = check_page(report(SVC(kernel="precomputed"), K, y))
    second = check_page(report(SVC(kernel=Gaussian(1.5)), X, y))
    assert first.row("this model") == second.row("this model")
    assert "150 × 150" in first.text


@pytest.mark.long
def test_mapping_of_columns():
    X = {"a": np.linspace(0, 1, 40), "b": ["u", "v"] * 20}
    page = check_page(report(KernelRidge(kernel=Table()), X, np.linspace(0, 1, 40) ** 2))
    assert page.row("b")[0] == "2 labels: u (20), v (20)"


def test_a_column_of_targets_is_as_good_as_a_row():
    X, y = (A[:60] for A in DIABETES)
    model = KernelRidge(kernel=Gaussian(0.2))
    row, column = (check_page(report(model, X, target, cv=2)) for target in (y, y.to_frame()))
    assert column.row("this model") == row.row("this model")
    assert column.row("linear model") == row.row("linear model")


def test_several_targets():
    X, y = (A[:60] for A in DIABETES)
    page = check_page(report(KernelRidge(kernel=Gaussian(0.2)), X, np.column_stack([y, y**2]), cv=2))
    assert "Each sample has 2 targets" in page.text


@pytest.mark.long
def test_torch():
    torch = pytest.importorskip("torch")
    X, y = (torch.tensor(A.to_numpy(dtype=float)[:60]) for A in DIABETES)
    page = check_page(report(KernelRidge(kernel=Gaussian(0.2)), X, y, cv=3))
    assert page.row("x0")


@pytest.mark.long
def test_large_samples_are_drawn_from():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    page = check_page(report(KernelRidge(kernel=Gaussian(1.0)), X, X[:, 0] + rng.normal(size=1200), cv=2))
    assert "500 of 1200 samples, at random" in page.text


# ---- text of the user


def test_text_is_escaped():
    evil = "<script>alert('x')</script>\"&"
    rng = np.random.default_rng(0)
    X = pd.DataFrame({evil: rng.normal(size=60), "$b_": rng.normal(size=60), "c": [evil, "$x$"] * 30, "d": 1.0})
    X[f"{evil}2"] = evil
    y = np.where(rng.random(60) < 0.5, evil, "<b>other</b>")
    model = KernelSearchCV(SVC(kernel=Table()), {"C": [0.1, 1.0, 10.0]}, cv=2)
    found = report(model, X, y, title=evil, cv=2)
    page = check_page(found)
    assert "<script" not in found.html
    assert "<b>other" not in found.html
    assert page.row(evil)
    assert evil in page.text
    check_page(Report(evil, found.html, [], {}))
    assert "<script" not in found._repr_html_()


# ---- the file


def test_save_is_all_or_nothing(tmp_path, monkeypatch):
    found = Report("title", "<!DOCTYPE html>é", [], {})
    path = found.save(tmp_path / "page.html")
    assert path.read_text(encoding="utf-8") == found.html
    with pytest.raises(FileNotFoundError, match=r"report: the folder of .* does not exist; create it first"):
        found.save(tmp_path / "none" / "page.html")
    broken = Report("broken", "\ud800", [], {})  # cannot be encoded
    with pytest.raises(UnicodeEncodeError):
        broken.save(path)
    assert path.read_text(encoding="utf-8") == found.html
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_notebook_shows_a_frame():
    html = '<!DOCTYPE html>\n<html lang="en"><body>a & b</body></html>'
    ((tag, attributes),) = Page(Report('"quoted" <b>', html, [], {})._repr_html_()).elements
    assert tag == "iframe"
    assert attributes["srcdoc"] == html
    assert attributes["title"] == '"quoted" <b>'


def test_import_leaves_matplotlib_alone():
    code = "import mercer.reports, sys; print(sorted({'matplotlib', 'torch', 'click'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


# ---- errors


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="random_state = -1"):
        report(SVC(), *IRIS, random_state=-1)
    with pytest.raises(ValueError, match="y is None"):
        report(SVC().fit(*IRIS), IRIS[0])
    search = GridSearchCV(SVC(), {"C": [1.0, 2.0]}, refit=False).fit(*IRIS)
    with pytest.raises(ValueError, match="refit=True"):
        report(search, *IRIS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cv": 1}, "report: cv = 1"),
        ({"cv": "five"}, "Expected `cv`"),
        ({"groups": [1, 2]}, "groups has 2 entries for 150 samples"),
        ({"groups": np.zeros(150)}, "groups has only one group"),
        ({"groups": 3}, "report: groups = 3 must be a sequence; pass one group per sample"),
    ],
)
def test_folds_that_there_are_not(options, message):
    with pytest.raises(ValueError, match=message):
        report(SVC(), *IRIS, **options)


@pytest.mark.parametrize("X", [None, 3, "text", {}, np.array(1.0), ()], ids=lambda X: type(X).__name__)
def test_samples_that_are_no_collection(X):
    with pytest.raises(ValueError, match=r"^report: X = .* must be a collection; pass one row, string or graph per"):
        report(SVC(), X, IRIS[1])


@pytest.mark.parametrize("thing", [SVC, "SVC", Gaussian()], ids=["class", "text", "kernel"])
def test_things_that_are_no_estimators(thing):
    with pytest.raises(TypeError, match=r"report: estimator = .* must be an estimator"):
        report(thing, *IRIS)


def test_five_samples():
    page = check_page(report(KernelRidge(kernel="rbf"), np.arange(10.0).reshape(5, 2) ** 2, np.arange(5.0) % 3))
    assert "2 folds of 2 to 3 samples" in page.text  # R² is of two samples or more


@pytest.mark.parametrize("quantiles", [0.9, [0.1, 0.9]])
def test_levels_are_judged_by_their_own_loss(quantiles):
    x, y = line(120)
    model = KernelQuantileRegression(quantiles=quantiles, alpha=0.1)
    found = report(model, x, y, cv=3)
    page = check_page(found)
    folds = KFold(3, shuffle=True, random_state=0)
    curves = cross_val_predict(model, x, y, cv=folds).reshape(120, -1)
    tests = [test for _, test in folds.split(x)]
    below = np.mean([np.mean(y[t] <= curves[t, -1]) for t in tests])
    assert page.row("this model")[-1].startswith(shown(below))
    if np.ndim(quantiles) == 0:
        saved = np.mean([d2_pinball_score(y[t], curves[t, -1], alpha=0.9) for t in tests])
        assert page.row("this model")[0].startswith(shown(saved))
    assert "useless" not in {c.name for c in found.warnings}


def test_outliers_are_not_judged_by_their_share():
    page = check_page(report(OneClassSVM(nu=0.2), IRIS[0], cv=2))
    head = next(row for row in page.rows if row[0] == "model")
    assert head == ["model", "fraction of outliers"]


@pytest.mark.long
def test_many_classes_have_a_list_of_confusions():
    X, y = make_blobs(250, centers=25, cluster_std=3.0, random_state=0)
    page = check_page(report(SVC(), X, y, cv=2))
    predicted = cross_val_predict(SVC(), X, y, cv=StratifiedKFold(2, shuffle=True, random_state=0))
    pairs = [(str(a), str(b)) for a, b in zip(y, predicted, strict=True) if a != b]
    start = [row[0] for row in page.rows].index("true class")
    for true, other, count in page.rows[start + 1 : start + 4]:
        assert pairs.count((true, other)) == int(count)
    assert int(page.rows[start + 1][2]) == max(map(pairs.count, set(pairs)))


def test_one_sample():
    assert "A single sample cannot be held out." in report(KernelRidge(), [[1.0]], [2.0]).sections["error"]


# ---- every estimator


def _estimators():
    path = Path(__file__).resolve().parents[1] / "methods" / "test_sklearn.py"
    spec = importlib.util.spec_from_file_location("estimators_of_test_sklearn", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.ESTIMATORS


SAMPLE = [
    KernelRidgeCV(),
    KernelPCA(2, kernel="rbf", gram="nystrom", random_state=0),
    KernelDensity(kernel="matern", bandwidth=0.5),
]


def _try(estimator):
    X, classes = make_blobs(45, centers=3, n_features=3, random_state=0)
    values = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=45)
    tags, kind = get_tags(estimator), kind_of(estimator)
    y = values if kind == "regressor" else None
    if kind == "classifier":
        y = classes if tags.classifier_tags.multi_class else classes % 2
    if type(estimator).__name__ in ("KernelCCA", "KernelDimensionReduction"):
        y = np.column_stack([values, X[:, 1]])
    X = np.abs(X) if tags.input_tags.positive_only else X
    if tags.input_tags.pairwise:
        X = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / 20)
    found = report(estimator, X, y, cv=2)
    page = check_page(found)
    assert type(estimator).__name__ in page.text
    assert "in a fit with one fold left out" not in page.text
    if kind in ("classifier", "regressor", "density", "outliers"):
        assert page.row("this model")


@pytest.mark.parametrize("estimator", SAMPLE, ids=lambda e: type(e).__name__)
def test_report_on(estimator):
    _try(estimator)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::mercer.IndefiniteKernelWarning")
@pytest.mark.parametrize("estimator", _estimators(), ids=lambda e: type(e).__name__)
def test_report_on_every(estimator):
    _try(estimator)


@pytest.mark.long
def test_thirty_columns_and_probabilities():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    page = check_page(report(make_pipeline(StandardScaler(), SVC(calibration="cv")), X, y))
    assert "Calibration" in page.text
    assert page.row("worst radius")
