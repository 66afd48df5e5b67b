"""The lectures' experiments, quickly: what they find against what is known otherwise."""

import json
import os
import re
import signal
import subprocess
import sys
from math import comb
from pathlib import Path
from threading import Timer
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_wine, make_moons
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import SVC, KernelPCA
from mercer.datasets import load_usps, load_wikipedia, make_toy_cca
from mercer.experiments import (
    EXPERIMENTS,
    Result,
    functions,
    many_tasks,
    mnist_table,
    one_class,
    polynomial_features,
    robust_density,
    spline,
)
from mercer.kernels import Gaussian
from mercer.preimage import FixedPoint

FREE = [
    "higher-order", "wine", "toy-cca", "kmeans", "validation", "mean-classifier", "functions", "interpolation",
    "robust-density", "expansions",
]  # fmt: skip
REAL = ["denoising", "retrieval", "mnist-table", "low-rank", "one-class", "spline", "multitask", "transfer"]
FIGURES = {"denoising": 3, "mnist-table": 2}


def numbers(text):
    return [float(word) for word in re.findall(r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?", text)]


class Table:
    """The rows of a quick run whose name contains a text, and the numbers in them."""

    def __init__(self, result):
        self.result = result

    def rows(self, text):
        found = [row for row in self.result.rows if text in row.quantity]
        assert found, text
        return found

    def __call__(self, text, column="ours"):
        """The first number of each such row."""
        return [numbers(getattr(row, column))[0] for row in self.rows(text)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Every experiment is run once."""
    folder, found = tmp_path_factory.mktemp("figures"), {}

    def run(name):
        if name not in found:
            found[name] = Table(EXPERIMENTS[name].run(quick=True, out=folder))
        return found[name]

    return run


def complete(name, result):
    assert len(result.figures) == FIGURES.get(name, 1)
    assert all(path.stat().st_size > 10_000 for path in result.figures)
    assert result.notes and all(row.quantity and row.reported and row.ours for row in result.rows)


@pytest.mark.long
@pytest.mark.parametrize("name", FREE)
def test_every_experiment_has_a_table_and_figures(table, name):
    complete(name, table(name).result)


@pytest.mark.long
@pytest.mark.parametrize("name", REAL)
def test_so_do_those_on_real_data(data_dir, table, name):
    complete(name, table(name).result)


def test_experiments_without_their_data_say_what_is_missing(monkeypatch, tmp_path):
    def nowhere(**options):
        raise FileNotFoundError("load_mnist: not there")

    monkeypatch.setattr(mnist_table, "load_mnist", nowhere)
    with pytest.raises(FileNotFoundError, match="load_mnist"):
        EXPERIMENTS["mnist-table"].run(quick=True, out=tmp_path)


def test_quadrature_has_the_moments_of_its_distributions():
    truth = {"normal": (0, 1, 0, 3), "exponential": (0, 1, 2, 9), "uniform": (0, 1, 0, 1.8)}
    for name, (nodes, weights) in polynomial_features.distributions().items():
        assert np.allclose([weights @ nodes**j for j in (1, 2, 3, 4)], truth[name], atol=1e-12)


@pytest.mark.long
def test_polynomial_kernels_see_moments(table):
    found = table("higher-order")
    assert np.allclose(found("coefficient of"), [comb(4, j) * 1.7**j for j in (4, 3, 2, 1, 0)], atol=1e-4)
    assert found("first degree that differs") == [3, 4]
    # only the last moment differs: 2 − 0 of degree three, and 3 − 9/5 of degree four
    assert np.allclose(found("first degree that differs", "remark"), [2, 1.2], atol=1e-4)


@pytest.mark.long
def test_variance_of_the_wines_components(table):
    found = table("wine")
    X = StandardScaler().fit_transform(load_wine().data)
    for sigma, share in ((1, found("σ = 1:", "remark")), (5, found("σ = 5:", "remark"))):
        K = np.exp(-np.sum((X[:, None] - X) ** 2, axis=2) / sigma**2)
        H = np.eye(len(X)) - 1 / len(X)
        values = np.linalg.eigvalsh(H @ K @ H)
        assert share[0] == pytest.approx(100 * values[-2:].sum() / values.sum(), abs=0.51)
    assert found("σ = 1:")[0] < 75 < 95 < min(found("σ = 3:") + found("linear PCA: growers"))
    assert found("correlation with linear PCA")[0] > 0.999


@pytest.mark.long
def test_digits_are_freed_of_noise(data_dir, table):
    found = table("denoising")
    assert found.rows("digits")[0].ours == "7,291"
    assert found("Gaussian noise")[0] == pytest.approx(0.25, abs=0.005)  # its variance
    linear, kernel = found("fitted to noisy digits")
    assert kernel < 0.95 * linear < 0.95 * 0.5 * found("Gaussian noise")[0]
    rows = found("fitted to clean digits")
    for noise, (linear, distances, nearest) in (("Gaussian noise", rows[:3]), ("Speckle noise", rows[3:])):
        assert distances < 0.9 * linear and distances < nearest <= linear < 0.5 * found(noise)[0]
    assert rows[2] < 0.9 * rows[0]  # with enough lengthscales and numbers to choose from, the nearest image also gains


@pytest.mark.long
def test_why_clean_digits_do_not_hold_the_image_of_a_noisy_one(data_dir):
    """What the notes of the experiment say: scores shrink, narrow kernels give the mean digit, wide ones linear PCA."""
    rng = np.random.default_rng(0)
    X = load_usps().data[rng.permutation(7291)[:300]].astype(float)
    clean = load_usps(subset="test").data[:60].astype(float)
    noisy = clean + 0.5 * rng.normal(size=clean.shape)
    pca = KernelPCA(16, kernel=Gaussian(8.0)).fit(X)
    before, after = pca.transform(clean), pca.transform(noisy)
    assert np.sum(before * after) / np.sum(before**2) == pytest.approx(np.exp(-256 * 0.25 / (2 * 8**2)), abs=0.06)
    narrow = KernelPCA(16, kernel=Gaussian(2.0)).fit(X).denoise(noisy, FixedPoint(tol=1e-3))
    wide = KernelPCA(64, kernel=Gaussian(200.0), eigen_solver="dense").fit(X).denoise(noisy, FixedPoint(tol=1e-6))
    linear = PCA(64).fit(X)
    assert np.mean((narrow - clean) ** 2) == pytest.approx(np.mean((X.mean(axis=0) - clean) ** 2), rel=0.1)
    assert np.allclose(wide, linear.inverse_transform(linear.transform(noisy)), atol=0.05)


@pytest.mark.long
def test_the_correlation_of_functions_is_the_maximal_one(table):
    """Which is the second singular value of the joint distribution, here that of a large sample in cells."""
    X, Y = make_toy_cca(400_000, random_state=3)
    joint = np.histogram2d(X[:, 0], Y[:, 0], bins=60)[0] / len(X)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    keep, also = rows > 1e-4, columns > 1e-4
    joint = joint[np.ix_(keep, also)] / np.sqrt(np.outer(rows[keep], columns[also]))
    best = np.linalg.svd(joint, compute_uv=False)[1]
    found = table("toy-cca")
    assert found("first canonical correlation on new points")[0] == pytest.approx(best, abs=0.03)
    assert found("correlation of x and y")[0] < 0.15
    assert found("random pairs, ε = 0")[0] == 1
    assert abs(found("random pairs, ε = 0", "remark")[0]) < 0.1


@pytest.mark.long
def test_texts_find_images(data_dir, table):
    found = table("retrieval")
    y = load_wikipedia(subset="test").target
    assert found("chance")[0] == pytest.approx(np.mean(np.bincount(y)[y] / len(y)), abs=5e-4)
    for kernel in ("linear kernel", "χ² kernel"):
        by_class, by_pair = numbers(found.rows(kernel)[0].ours)
        assert by_class > 1.4 * found("chance")[0]
        assert by_pair > 1.4 * numbers(found.rows("chance")[0].ours)[1]


@pytest.mark.long
def test_the_table_of_mnist(data_dir, table):
    found = table("mnist-table")
    reported = {row.quantity: row.reported for row in found.result.rows}
    assert reported["k-NN, Euclidean"] == "5 %" and reported["RBF + linear"] == "3.6 %"
    assert reported["SVM, polynomial of degree 4"] == "1.1 %" and reported["LeNet-5"] == "0.95 %"
    not_run = [row.quantity for row in found.result.rows if row.ours == "not run"]
    assert not_run == ["LeNet-4", "LeNet-5", "RS-SVM, polynomial of degree 5"]
    polynomial, raw = found("SVM, polynomial of degree 4")[0], found("not deskewed")[0]
    many, ten = found("PCA + quadratic")
    assert polynomial < raw < min(many, found("RBF + linear")[0]) < found("k-NN")[0] < ten


@pytest.mark.long
def test_kernel_k_means_finds_the_ring(table):
    found = table("kmeans")
    linear, gaussian = (numbers(row.ours)[0] for row in found.rows("ring,"))
    assert abs(linear) < 0.05 and gaussian > 0.9
    stable = dict(zip(found("  ℓ =", "quantity"), found("  ℓ =", "remark"), strict=True))
    assert numbers(found.rows("ring, Gaussian")[0].quantity)[0] == max(stable, key=stable.get)
    assert found("the objective rises") == [0]
    objective = found.rows("Σ_k")[0]
    assert numbers(objective.ours)[0] == pytest.approx(numbers(objective.remark)[0], abs=1e-6)


@pytest.mark.long
def test_cross_validation_estimates_the_expected_loss(table):
    found = table("validation")
    assert found("empirical loss")[0] < 0.09 < found("expected loss")[0]  # 0.09 is the variance of the noise
    for row in found.rows("mean of the estimates"):
        _, off = numbers(row.remark)
        assert abs(off) < 3
    expected = found("mean of the estimates", "remark")
    assert expected[0] > expected[-1]  # fewer samples are worse
    closed, refitted = numbers(found.rows("closed form")[0].ours)
    assert closed == pytest.approx(refitted, abs=1e-9)


@pytest.mark.long
def test_low_rank_approaches_the_whole_matrix(data_dir, table):
    found = table("low-rank")
    whole = found("the whole K")[0]
    for name in ("incomplete Cholesky", "Nyström"):
        errors = found(name, "remark")
        assert errors == sorted(errors, reverse=True) and whole < errors[-1] < 1.25 * whole
    assert found("both forms")[0] < 1e-11


@pytest.mark.long
def test_the_mean_classifier_is_that_of_the_plane(table):
    found = table("mean-classifier")
    assert max(found("against") + found("g(C)")) < 1e-12
    wine = load_wine()
    mine = wine.target < 2
    theirs = make_pipeline(StandardScaler(), PCA(2), NearestCentroid())
    right = cross_val_score(theirs, wine.data[mine], wine.target[mine], cv=10).mean()
    assert found("wine, linear")[0] == pytest.approx(100 * right, abs=0.06)
    linear, gaussian = (numbers(row.ours)[0] for row in found.rows("moons"))
    assert linear < 85 < 95 < gaussian


@pytest.mark.long
def test_functions_have_the_inner_product_of_the_notes(table):
    found = table("functions")
    for row in found.result.rows:
        if row.reported in ("equal", "check it"):
            assert float(row.ours) < 1e-10
    assert found("|f(x)|")[0] <= 1


@pytest.mark.long
def test_interpolants_have_least_norm(table):
    found = table("interpolation")
    for row in found.rows("‖f‖²"):
        assert numbers(row.ours)[0] == pytest.approx(numbers(row.remark)[0], rel=1e-5)
    assert max(found("f(xⱼ)")) < 1e-9
    least = found("σ = 0.1: ‖f‖²")[0]
    assert found("another function")[0] > least
    assert found("another function", "remark")[0] < 1e-12


def test_the_box_of_the_one_class_machine():
    """The value of the dual, by another solver, is that of the objective with the smaller box."""
    X, _ = make_moons(60, noise=0.13, random_state=2)
    kernel, lam = Gaussian(0.3), 0.03
    K = kernel(X)
    box = [(0, 1 / (2 * lam * len(X)))] * len(X)
    dual = minimize(
        lambda a: (0.5 * a @ K @ a - a.sum(), K @ a - 1), np.full(len(X), 0.01), jac=True, bounds=box,
        method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9, "maxiter": 5000},
    )  # fmt: skip
    result = Result()
    one_class.boxes(result, X, kernel, lam)
    too_large, right = (float(row.ours) for row in result.rows)
    assert right == pytest.approx(-2 * lam * dual.fun, abs=2e-6)
    assert too_large > 1.01 * right
    assert numbers(result.rows[1].remark)[-1] > right


@pytest.mark.long
def test_one_class_and_its_thresholds(data_dir, table):
    found = table("one-class")
    assert found("on the path, and by the solver")[0] < 1e-7
    inside = found("new points inside")
    assert inside == sorted(inside, reverse=True)
    assert min(found("breastw") + found("ionosphere") + found("wbc")) > 0.9  # where outliers are known to lie apart


@pytest.mark.long
@pytest.mark.parametrize("name", ["multitask", "transfer", "one-class"])
def test_what_needs_no_data_runs_without_them(monkeypatch, tmp_path, name):
    def nowhere(*names, **options):
        raise FileNotFoundError("load_it: it is not there")

    monkeypatch.setattr(many_tasks, "load_vowel", nowhere)
    monkeypatch.setattr(one_class, "load_anomaly", nowhere)
    result = EXPERIMENTS[name].run(quick=True, out=tmp_path)
    assert result.rows and "Skipped: load_it: it is not there" in result.notes


@pytest.mark.long
def test_splines_from_the_data_to_the_line(data_dir, table):
    found = table("spline")
    freedom = found("degrees of freedom")
    assert freedom == sorted(freedom, reverse=True) and freedom[-1] == 2
    for row in found.rows("degrees of freedom"):
        assert numbers(row.remark)[-1] < 1e-4  # from SciPy's, of values between −134 and 75
    assert found("straight line")[0] < 0.1 and found("means at each x")[0] < 0.5
    assert found("knots") == [94] and found("knots", "remark") == [0]  # R: length(unique(mcycle$times))


def test_bending_is_that_of_a_cubic():
    from mercer import SmoothingSpline

    x = np.linspace(0, 2, 60)
    model = SmoothingSpline(alpha=1e-12).fit(x, x**3)
    # f″ = 6x, whose square has the integral 12 · 2³; natural splines are straight at the ends
    assert spline.bending(model) == pytest.approx(96, rel=0.05)
    t = np.linspace(0, 2, 200_001)
    assert spline.bending(model) == pytest.approx(np.trapezoid(model.derivative(t, 2) ** 2, t), rel=1e-6)


def test_a_bystander_vanishes_at_the_points():
    x = np.array([[0.0], [0.1], [0.5], [0.7]])
    h = functions.bystander(x, Gaussian(0.1))
    assert np.abs(h(x)).max() < 1e-12 and h([[0.3]])[0] > 0.9


def test_densities_are_compared_at_the_same_bandwidth():
    X = np.random.default_rng(0).normal(size=(60, 1))
    models = robust_density.fits(X)
    assert list(models) == ["plain", "huber", "hampel"] and len({m.bandwidth_ for m in models.values()}) == 1
    assert all(
        robust_density.integral(robust_density.density(m)) == pytest.approx(1, abs=1e-6) for m in models.values()
    )


@pytest.mark.long
def test_robust_densities_mind_outliers_less(table):
    found = table("robust-density")
    for share in (10, 20, 30):
        plain, huber, _ = numbers(found.rows(f"{share}% noise")[0].ours)
        assert huber < plain
    huber, hampel = found("weight of the outliers")
    assert hampel < huber < 20
    huber, hampel = found("influence")
    assert hampel < huber < 1


@pytest.mark.long
def test_tasks_help_each_other_as_far_as_they_are_related(data_dir, table):
    found = table("multitask")
    errors = {rho: numbers(found.rows(f"ρ = {rho}:")[0].ours) for rho in ("0", "0.5", "0.8", "0.95")}
    assert all(together <= 1.05 * min(alone, pooled) for alone, pooled, together in errors.values())
    assert errors["0"][1] > 2 * errors["0"][0]
    assert errors["0.95"][2] < 0.6 * errors["0.95"][0]
    shares = [numbers(found.rows(f"ρ = {rho}:")[0].remark)[-1] for rho in ("0", "0.8", "0.95")]
    assert shares == sorted(shares)
    alone, pooled, together = numbers(found.rows("vowels")[0].ours)
    assert together > max(alone, pooled)


@pytest.mark.long
def test_new_samples_without_labels(data_dir, table):
    found = table("transfer")
    for row in found.rows("samples to learn from"):
        assert numbers(row.ours)[0] > numbers(row.remark)[0] + 8
    assert found("vowels")[0] > 100 / 11 * 4


@pytest.mark.long
def test_expansions_are_one(table):
    found = table("expansions")
    for row in found.result.rows:
        if row.reported == "equal":
            assert float(row.ours) < 1e-12
    # ‖f‖² = Σ (1 + j)² (aⱼ² + bⱼ²)
    norm = 4 * 1 + 9 * 0.3**2 + 16 * 0.5**2 + 36 * 0.35**2
    assert numbers(found.rows("‖f‖² and Σ cⱼ²")[0].remark)[0] == pytest.approx(norm, abs=1e-4)


def test_the_guide_lists_every_experiment():
    guide = Path(__file__).parents[2] / "docs" / "guide" / "reproduce.md"
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (.+?) \| (.+?) \| (.+?) \|$", guide.read_text(encoding="utf-8"), re.M)
    told = {name: (title, source, minutes) for name, title, source, minutes in rows}
    assert list(told) == sorted(EXPERIMENTS)
    for name, experiment in EXPERIMENTS.items():
        assert told[name] == (experiment.title, experiment.source, f"{experiment.minutes:g}")


# ---- the command


@pytest.fixture
def reproduce(monkeypatch, tmp_path):
    """`reproduce({"name": run}, …)` gives the command these experiments."""
    testing = pytest.importorskip("click.testing")
    pytest.importorskip("rich")
    from mercer.cli.app import app

    def command(runs, *arguments):
        known = {name: SimpleNamespace(title=name, minutes=0.1, run=run) for name, run in runs.items()}
        monkeypatch.setitem(sys.modules, "mercer.experiments", SimpleNamespace(EXPERIMENTS=known))
        return testing.CliRunner().invoke(app, ["reproduce", *arguments, "-o", str(tmp_path / "out")])

    return command


def fine(quick, out):
    result = Result()
    result.add("error", "1.4 %", "1.5 %")
    return result


def broken(quick, out):
    raise ValueError("there is no file")


def test_all_keeps_the_results_of_those_that_ran(reproduce):
    done = reproduce({"fine": fine, "broken": broken}, "--all", "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 1 and list(found["experiments"]) == ["fine"]
    assert found["failed"] == {"broken": "there is no file"}
    done = reproduce({"fine": fine, "broken": broken}, "--all")
    assert "1.5 %" in done.stdout and "1 of 2 experiments did not run: broken" in done.stderr
    assert reproduce({"fine": fine}, "--all").exit_code == 0


@pytest.mark.long
def test_all_experiments_by_the_command(data_dir, tmp_path):
    command = [sys.executable, "-m", "mercer.cli", "reproduce", "--all", "--quick", "--json", "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200)
    found = json.loads(done.stdout)
    assert done.returncode == 0 and not found["failed"] and set(found["experiments"]) == set(EXPERIMENTS)
    assert all(Path(figure).is_file() for each in found["experiments"].values() for figure in each["figures"])


def test_a_name_is_nearly_right(reproduce):
    done = reproduce({"wine": fine, "spline": fine}, "wines")
    assert done.exit_code == 1 and "Did you mean 'wine'?" in done.stderr


def test_a_reader_who_leaves_ends_all(reproduce):
    ran = []

    def unread(quick, out):
        ran.append(out)
        raise BrokenPipeError

    reproduce({"one": unread, "two": unread}, "--all")
    assert len(ran) == 1


def test_no_work_without_a_place_for_figures(reproduce, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    done = reproduce({"fine": fine}, "fine")
    assert done.exit_code == 1 and "read-only" in done.stderr and "1.5 %" not in done.stdout


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="signals are others")
def test_ctrl_c_within_a_fit_leaves_no_half_table(reproduce):
    """A machine that is interrupted keeps what it has; a table must not report that."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1500, 20)), rng.integers(0, 2, 1500)

    def fits(quick, out):
        SVC().fit(X[:50], y[:50])  # the first fit compiles
        Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        for _ in range(2):
            SVC(C=1e4, gamma=0.01, tol=1e-10).fit(X, y)
        return fine(quick, out)

    before = signal.getsignal(signal.SIGINT)
    done = reproduce({"fits": fits}, "fits")
    assert done.exit_code == 130 and "interrupted" in done.stderr and "1.5 %" not in done.stdout
    assert signal.getsignal(signal.SIGINT) is before
