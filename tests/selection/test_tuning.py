"""Tuning by gradients: optima, what it does with estimators of every kind, and what it refuses."""

import _thread
import pickle
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mercer import SVC, KernelLogisticRegression, KernelRidge, LeastSquaresSVC
from mercer.context import Context
from mercer.gram import Dense, Nystrom
from mercer.kernels import Callable, Delta, Gaussian, Kernel, Linear, Polynomial, Table
from mercer.kernels.algebra import Exp
from mercer.selection import expected_loss
from mercer.selection._descent import Coordinates, Search
from mercer.selection.tuning import KernelTuner
from mercer.solvers.hyper import MarginCriterion, Objective
from mercer.solvers.hyper.margin import Machine


@pytest.fixture(scope="module")
def waves():
    """Two of five inputs matter."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(120, 5))
    f = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 / 2
    return X, f + 0.15 * rng.normal(size=120), np.where(f > 0.7, "high", "low")


@pytest.fixture(scope="module")
def rings():
    """A disc in two of four inputs, and three rings."""
    X = np.random.default_rng(0).uniform(-2, 2, size=(420, 4))
    r = X[:, 0] ** 2 + X[:, 1] ** 2
    return X, np.where(r > 2.2, "out", "in"), np.array(["a", "b", "c"])[np.digitize(r, [1.2, 2.8])]


def ridge(kernel=None, **options):
    return KernelRidge(0.1, kernel=Gaussian(np.ones(5)) if kernel is None else kernel, **options)


TUNERS = [
    KernelTuner(KernelRidge(kernel="rbf"), max_iter=5),
    KernelTuner(KernelRidge(kernel="gaussian", fit_intercept=True), criterion="marginal_likelihood", max_iter=5),
    KernelTuner(LeastSquaresSVC("gaussian"), criterion="gcv", max_iter=5),
    KernelTuner(SVC(), max_iter=5),
]


REPEATED = "two equal samples are not one of weight two: leaving one out leaves the other, and two have two likelihoods"
WEIGHTS = ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.long
@parametrize_with_checks(TUNERS, expected_failed_checks=lambda tuner: dict.fromkeys(WEIGHTS, REPEATED))
def test_sklearn(estimator, check):
    check(estimator)


# ---- optima


def of_summary(summary, criterion):
    """The score that the criterion stands for, larger is better."""
    return {
        "loo": -summary.leave_one_out,
        "gcv": -summary.gcv,
        "marginal_likelihood": summary.log_marginal_likelihood,
    }[criterion]


@pytest.mark.parametrize("criterion", ["loo", "gcv", "marginal_likelihood"])
def test_lengthscales_tell_which_inputs_matter(waves, criterion):
    X, y, _ = waves
    tuner = KernelTuner(ridge(fit_intercept=True), criterion=criterion).fit(X, y)
    length = tuner.best_params_["kernel__lengthscale"]
    assert length[:2].max() < length[2:].min() / 2
    assert (
        tuner.best_score_
        > KernelTuner(ridge(Gaussian(1.0), fit_intercept=True), criterion=criterion).fit(X, y).best_score_
    )


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("criterion", ["span", "radius_margin"])
def test_machines_find_the_inputs_that_matter(rings, loss, criterion):
    X, y, _ = rings
    start = SVC(kernel=Gaussian(np.full(4, 2.0)), loss=loss)
    tuner = KernelTuner(start, criterion=criterion).fit(X[:120], y[:120])
    length = tuner.best_params_["kernel__lengthscale"]
    assert length[:2].max() < length[2:].min() / 5
    assert tuner.score(X[120:], y[120:]) > start.fit(X[:120], y[:120]).score(X[120:], y[120:])


@pytest.mark.parametrize(("multi_class", "loss"), [("ovo", "hinge"), ("ovr", "squared_hinge")])
def test_several_classes(rings, multi_class, loss):
    X, _, y = rings
    start = SVC(kernel=Gaussian(np.full(4, 2.0)), multi_class=multi_class, loss=loss, class_weight="balanced")
    tuner = KernelTuner(start, tol=1e-2).fit(X[:120], y[:120])
    assert tuner.score(X[120:], y[120:]) > 0.1 + start.fit(X[:120], y[:120]).score(X[120:], y[120:])
    assert tuner.decision_function(X).shape == (420, 3)


def test_the_optimum_is_that_of_gaussian_processes(waves):
    X, y, _ = waves
    X, y = X[:60, :2], y[:60]
    tuner = KernelTuner(ridge(1.0 * Gaussian(np.ones(2))), criterion="marginal_likelihood").fit(X, y)
    process = GaussianProcessRegressor(ConstantKernel(1.0) * RBF([1.0, 1.0]) + WhiteKernel(0.1), alpha=0.0).fit(X, y)
    assert tuner.best_score_ == pytest.approx(process.log_marginal_likelihood_value_, abs=1e-4)
    found = process.kernel_
    assert tuner.best_params_["alpha"] == pytest.approx(found.k2.noise_level, rel=1e-2)
    np.testing.assert_allclose(tuner.best_params_["kernel__kernel__lengthscale"], found.k1.k2.length_scale, rtol=1e-2)
    np.testing.assert_allclose(tuner.predict(X[:5]), process.predict(X[:5]), atol=1e-3)


@pytest.mark.parametrize("criterion", ["loo", "gcv", "marginal_likelihood"])
def test_no_point_of_a_grid_is_better(waves, criterion):
    X, y, _ = waves
    tuner = KernelTuner(ridge(Gaussian(1.0)), criterion=criterion).fit(X, y)
    best = tuner.best_params_
    assert tuner.converged_
    for factors in np.exp(np.random.default_rng(0).normal(0, 0.1, size=(12, 2))):
        moved = ridge(Gaussian(best["kernel__lengthscale"] * factors[0])).set_params(alpha=best["alpha"] * factors[1])
        summary = moved.fit(X, y).summary()
        assert of_summary(summary, criterion) <= tuner.best_score_


@pytest.mark.parametrize("criterion", ["loo", "gcv", "marginal_likelihood"])
def test_scores_are_those_of_the_best_estimator(waves, criterion):
    X, y, labels = waves
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    for start, target in ((ridge(free=1), y), (LeastSquaresSVC(Gaussian(2.0), class_weight="balanced"), labels)):
        tuner = KernelTuner(start, criterion=criterion, tol=1e-2).fit(X, target, weight)
        summary = tuner.best_estimator_.summary()
        assert tuner.best_score_ == pytest.approx(of_summary(summary, criterion), rel=1e-6)
        assert tuner.criterion_ == criterion


def test_span_is_near_the_error_of_leaving_one_out(rings):
    X, y, _ = rings
    start = SVC(kernel=Gaussian(np.full(4, 2.0)), tol=1e-6)
    tuner = KernelTuner(start).fit(X[:120], y[:120])
    before, after = (expected_loss(m, X[:120], y[:120]).estimate for m in (start, tuner.best_estimator_))
    assert abs(-tuner.best_score_ - after) < 0.05
    assert after < before / 2


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_best_place_is_never_above_the_start_and_converged_is_about_it(loss):
    """Overlapping classes, where the search for the hinge used to end above its start."""
    X, y = make_moons(120, noise=0.25, random_state=0)
    start = SVC(kernel=Gaussian(1.0), loss=loss)
    tuner = KernelTuner(start).fit(X, y)
    machines = [Machine(np.arange(120), np.where(y == 0, 1.0, -1.0), np.ones(120))]
    criterion = MarginCriterion("span", X, machines, loss == "squared_hinge")
    best, C = tuner.best_estimator_.kernel, tuner.best_params_["C"]
    value, gradient = criterion(best, C)
    assert value == pytest.approx(-tuner.best_score_, rel=1e-6)
    assert value < criterion(Gaussian(1.0), 1.0)[0]
    largest = max(abs(gradient["C"] * C), abs(gradient["lengthscale"] * best.lengthscale)) / value
    assert tuner.slope_ == pytest.approx(largest, rel=1e-2, abs=1e-6)
    assert tuner.converged_ == (largest <= 1e-3)


class _Corner:
    """|log alpha − 0.3|."""

    name, strength, positive = "corner", "alpha", False

    def __call__(self, kernel, alpha, wanted=None):
        d = np.log(alpha) - 0.3
        return abs(d), {"alpha": np.sign(d) / alpha}


def test_a_corner_is_no_stationary_point(waves):
    form = Objective(_Corner(), Gaussian(), 1.0, waves[0])
    tuner = KernelTuner(KernelRidge(), parameters=["alpha"])
    search = Search(form, Coordinates(tuner, form), Context(), 100, 1e-5)
    search.run(1, np.random.default_rng(0))
    tuner._keep(search)
    assert tuner.best_params_["alpha"] == pytest.approx(np.exp(0.3), rel=1e-2)
    assert tuner.slope_ == pytest.approx(1.0) and not tuner.converged_


FAR = [KernelRidge(0.1, kernel=Gaussian(1.0)), SVC(kernel=Gaussian(1.0), loss="squared_hinge")]


@pytest.mark.parametrize("start", FAR, ids=["ridge", "SVC"])
def test_a_start_from_which_nothing_is_seen_is_told(waves, start):
    X, y, labels = waves
    with pytest.warns(ConvergenceWarning, match="where no parameter changes the criterion"):
        KernelTuner(start).fit(1e6 * X, labels if isinstance(start, SVC) else y)


def test_a_table():
    """As the product of kernels on pairs of a number and a label."""
    rng = np.random.default_rng(0)
    x, label = rng.uniform(-2, 2, size=80), rng.choice(["u", "v"], 80)
    y = np.sin(2 * x) + (label == "u") + 0.1 * rng.normal(size=80)
    parts = Gaussian(1.0), Exp(1.0 * Delta())
    table = Table({"x": parts[0], "label": parts[1]}, combine="product")
    tuner = KernelTuner(KernelRidge(0.1, kernel=table)).fit({"x": x, "label": label}, y)
    other = KernelTuner(KernelRidge(0.1, kernel=parts[0] @ parts[1])).fit((x[:, None], label), y)
    assert set(tuner.best_params_) == {"alpha", "kernel__x__lengthscale", "kernel__label__kernel__scale"}
    np.testing.assert_allclose(sorted(tuner.best_params_.values()), sorted(other.best_params_.values()), rtol=1e-3)


def test_targets_are_averaged(waves):
    X, y, _ = waves
    Y = np.stack([y, X[:, 2] ** 2], axis=1)
    tuner = KernelTuner(ridge()).fit(X, Y)
    assert tuner.predict(X).shape == Y.shape
    left = tuner.best_estimator_.leave_one_out()
    assert tuner.best_score_ == pytest.approx(-np.mean((Y - left) ** 2), rel=1e-6)
    assert tuner.best_params_["kernel__lengthscale"][:3].max() < tuner.best_params_["kernel__lengthscale"][3:].min()


def test_restarts_are_drawn_and_help(waves):
    X, y, _ = waves
    far = ridge(Gaussian(np.full(5, 0.05)))  # where all samples are alone
    one = KernelTuner(far, max_iter=50).fit(X, y)
    several = KernelTuner(far, n_init=5, random_state=3).fit(X, y)
    assert len(several.history_) == 5 and len(one.history_) == 1
    assert several.best_score_ >= one.best_score_
    again = KernelTuner(far, n_init=5, random_state=3).fit(X, y)
    assert again.best_score_ == several.best_score_
    assert max(h.max() for h in several.history_ if len(h)) == pytest.approx(several.best_score_, rel=1e-9)


# ---- parameters and bounds


def test_some_parameters(waves):
    X, y, _ = waves
    kernel = 1.0 * Gaussian(1.0) + 0.5 * Linear() + Polynomial(2, scale=0.1, offset=0.0)
    everything = KernelTuner(ridge(kernel)).fit(X, y)
    names = {"alpha", "kernel__0__scale", "kernel__0__kernel__lengthscale", "kernel__1__scale"}
    assert everything.best_params_.keys() == names | {"kernel__2__scale", "kernel__2__offset"}
    some = KernelTuner(ridge(kernel), parameters=["alpha", "kernel__1__scale"]).fit(X, y)
    assert some.best_params_.keys() == {"alpha", "kernel__1__scale"}
    assert some.best_estimator_.kernel.kernels[0] == kernel.kernels[0]
    fixed = KernelTuner(ridge(kernel), parameters=["kernel__1__scale"]).fit(X, y)
    assert fixed.best_estimator_.alpha == 0.1
    assert fixed.best_score_ <= some.best_score_ <= everything.best_score_


def test_bounds_are_kept_and_stored(waves):
    X, y, _ = waves
    bounds = {"kernel__lengthscale": (0.5, 5.0), "alpha": (0.2, 1.0)}
    tuner = KernelTuner(ridge(), bounds=bounds).fit(X, y)
    length = tuner.best_params_["kernel__lengthscale"]
    assert length.min() >= 0.5 and length.max() == 5.0 and tuner.best_params_["alpha"] == 0.2
    assert tuner.bounds_["alpha"] == (0.2, 1.0)
    np.testing.assert_array_equal(tuner.bounds_["kernel__lengthscale"][1], np.full(5, 5.0))
    assert KernelTuner(ridge(), max_iter=1000).fit(X, y).bounds_["alpha"] == pytest.approx((1e-6, 1e4))


def test_names_of_scikit_learn_are_a_start(waves):
    X, y, labels = waves
    tuner = KernelTuner(KernelRidge(0.1, kernel="rbf", gamma=0.5)).fit(X, y)
    assert isinstance(tuner.best_estimator_.kernel, Gaussian) and tuner.best_estimator_.gamma is None
    machine = KernelTuner(SVC(gamma="scale")).fit(X, labels)
    assert set(machine.best_params_) == {"C", "kernel__lengthscale"}
    np.testing.assert_array_equal(machine.classes_, ["high", "low"])
    assert set(machine.predict(X)) == {"high", "low"}


# ---- any data


def test_weights_of_kernels_without_derivatives():
    rng = np.random.default_rng(2)
    words = ["".join(rng.choice(list("ab"), size=rng.integers(3, 9))) for _ in range(60)]
    y = np.array([word.count("a") for word in words]) + 0.1 * rng.normal(size=60)
    kernel = 1.0 * Callable(_shared_letters) + 1.0 * Callable(_same_end)
    tuner = KernelTuner(KernelRidge(1.0, kernel=kernel), criterion="marginal_likelihood").fit(words, y)
    assert tuner.best_params_.keys() == {"alpha", "kernel__0__scale", "kernel__1__scale"}
    assert tuner.best_params_["kernel__0__scale"] > 10 * tuner.best_params_["kernel__1__scale"]
    assert tuner.predict(words[:3]).shape == (3,)


def _shared_letters(x, y):
    return float(x.count("a") * y.count("a"))


def _same_end(x, y):
    return float(x[-1] == y[-1])


def test_mixed_pairs():
    rng = np.random.default_rng(3)
    pairs = [(rng.normal(size=2), str(rng.choice(["u", "v"]))) for _ in range(50)]
    y = np.array([np.sin(x[0]) * (1 if label == "u" else -1) for x, label in pairs])
    tuner = KernelTuner(KernelRidge(0.1, kernel=Gaussian(np.ones(2)) @ Delta())).fit(pairs, y)
    (name,) = tuner.best_params_.keys() - {"alpha"}
    assert tuner.best_params_[name][0] < tuner.best_params_[name][1] / 2


def test_single_precision_and_sparse_samples(waves):
    from scipy.sparse import csr_array

    X, y, _ = waves
    tuner = KernelTuner(ridge(Gaussian(1.0)), bounds={"alpha": (0.01, 1.0)})
    double = clone(tuner).fit(X, y)
    single = clone(tuner).fit(X.astype(np.float32), y)
    assert single.predict(X[:2].astype(np.float32)).dtype == np.float32
    assert single.best_score_ == pytest.approx(double.best_score_, rel=1e-5)
    sparse = clone(tuner).fit(csr_array(X), y)
    assert sparse.best_score_ == pytest.approx(double.best_score_, rel=1e-6)


# ---- as an estimator


def test_in_pipelines_and_cross_validation(waves):
    X, y, labels = waves
    pipeline = make_pipeline(StandardScaler(), KernelTuner(ridge(), criterion="marginal_likelihood", tol=1e-2))
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.8
    grid = GridSearchCV(KernelTuner(SVC(), tol=1e-2), {"estimator__C": [1.0, 10.0]}, cv=2).fit(X, labels)
    assert grid.best_estimator_.best_params_.keys() == {"C", "kernel__lengthscale"}


def test_clones_and_pickles(waves):
    X, y, _ = waves
    tuner = KernelTuner(ridge(), criterion="gcv", bounds={"alpha": (1e-3, 1.0)}).fit(X, y)
    copy = pickle.loads(pickle.dumps(tuner))
    np.testing.assert_array_equal(copy.predict(X), tuner.predict(X))
    fresh = clone(tuner)
    assert fresh.criterion == "gcv" and not hasattr(fresh, "best_params_")
    mean, std = tuner.predict(X[:3], return_std=True)
    assert mean.shape == std.shape == (3,)
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    assert not hasattr(tuner, "predict_proba") and not hasattr(tuner, "classes_")


def test_time_budget(waves):
    X, y, _ = waves
    with pytest.warns(ConvergenceWarning, match="the time budget is spent"):
        tuner = KernelTuner(ridge(), time_budget=1e-9).fit(X, y)
    assert not tuner.converged_ and tuner.predict(X).shape == y.shape
    with pytest.warns(ConvergenceWarning, match="max_iter is reached"):
        tuner = KernelTuner(ridge(), max_iter=2).fit(X, y)
    assert len(tuner.history_[0]) == 2


class _Interrupting(Gaussian):
    """Presses Ctrl-C when it is evaluated for the tenth time."""

    calls, seen = 0, threading.Event()

    def evaluate(self, X, Y=None):
        _Interrupting.calls += 1
        if _Interrupting.calls == 10:
            _thread.interrupt_main()
            self.seen.wait(30)  # the search is on another thread, and might end before Ctrl-C is seen
        return super().evaluate(X, Y)


def test_an_interrupt_keeps_the_best_so_far(waves, monkeypatch):
    X, y, _ = waves
    _Interrupting.calls, interrupt = 0, Context.interrupt

    def seen(context):
        interrupt(context)
        _Interrupting.seen.set()

    monkeypatch.setattr(Context, "interrupt", seen)
    start = ridge(_Interrupting(np.full(5, 3.0)))
    tuner = KernelTuner(start, tol=1e-12, max_iter=10_000)
    with pytest.warns(ConvergenceWarning, match="interrupted"), pytest.raises(KeyboardInterrupt):
        tuner.fit(X, y)
    assert tuner.best_score_ > -clone(start).fit(X, y).summary().leave_one_out


# ---- refusals


class _Damped(Kernel):
    """A kernel with a number that it has no derivative for."""

    def __init__(self, rate: float = 0.5):
        self.rate = rate

    def evaluate(self, X, Y=None):
        return np.exp(-self.rate * np.abs(X[:, :1] - (X if Y is None else Y)[:, :1].T))


def test_what_has_no_gradient_is_named(waves):
    X, y, _ = waves
    with pytest.raises(ValueError, match=r"_Damped does not provide gradient_theta.*parameters=\['alpha'\]"):
        KernelTuner(ridge(_Damped() + Gaussian(1.0))).fit(X, y)
    tuner = KernelTuner(ridge(_Damped() + Gaussian(1.0)), parameters=["alpha", "kernel__1__lengthscale"]).fit(X, y)
    assert tuner.best_estimator_.kernel.kernels[0].rate == 0.5
    with pytest.raises(ValueError, match="'kernel__lengthscal' has no derivative"):
        KernelTuner(ridge(), parameters=["kernel__lengthscal"]).fit(X, y)
    for parameters in ("alpha", 3, [1], np.ones(2)):
        with pytest.raises(TypeError, match=r"^KernelTuner: parameters = .* must be a list of names"):
            KernelTuner(ridge(), parameters=parameters).fit(X, y)
    with pytest.raises(ValueError, match="names nothing to tune"):
        KernelTuner(ridge(), parameters=[]).fit(X, y)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: KernelTuner(KernelLogisticRegression()), TypeError, "has no criterion with a gradient"),
        (lambda: KernelTuner(ridge(gram=Nystrom())), ValueError, "use 'auto' or 'dense'"),
        (lambda: KernelTuner(ridge(), criterion="span"), ValueError, "criterion = 'span' is unknown"),
        (lambda: KernelTuner(SVC(), criterion="gcv"), ValueError, "criterion = 'gcv' is unknown"),
        (lambda: KernelTuner(SVC(C=np.inf)), ValueError, "finite starting value of C"),
        (lambda: KernelTuner(SVC(multi_class="kbb")), ValueError, "multi_class='ovo'"),
        (lambda: KernelTuner(SVC(fit_intercept=False), criterion="radius_margin"), ValueError, "needs an offset"),
        (lambda: KernelTuner(KernelRidge(0.0, kernel="rbf")), ValueError, "must be a single starting value > 0"),
        (lambda: KernelTuner(ridge(), bounds={"alpha": (1.0, 0.1)}), ValueError, "0 < low < high"),
        (lambda: KernelTuner(ridge(), bounds={"C": (0.1, 1.0)}), ValueError, "'C' is not tuned"),
        (lambda: KernelTuner(ridge(), bounds=[(0.1, 1.0)]), TypeError, "bounds = .* must be a dict of pairs, such as"),
        (lambda: KernelTuner(None), TypeError, "KernelTuner: estimator = None has no criterion with a gradient"),
        (lambda: KernelTuner(ridge(), n_init=0), ValueError, "n_init = 0 must be >= 1"),
        (lambda: KernelTuner(ridge(), time_budget=0), ValueError, "time_budget = 0 must be > 0"),
        (lambda: KernelTuner(ridge(Gaussian(1.0), gram="lazy")), ValueError, "use 'auto' or 'dense'"),
    ],
)
def test_refusals(waves, make, error, message):
    X, y, labels = waves
    tuner = make()
    with pytest.raises(error, match=message):
        tuner.fit(X, labels if isinstance(tuner.estimator, (SVC, KernelLogisticRegression)) else y)


def test_a_span_that_is_not_defined_names_the_tuner():
    with pytest.raises(ValueError, match="KernelTuner: nearly all coefficients are 0 or at their bound"):
        KernelTuner(SVC(kernel=Gaussian(1.0))).fit([[0.0], [1.0]], [0, 1])


def test_torch_is_refused(waves):
    torch = pytest.importorskip("torch")
    X, y, _ = waves
    with pytest.raises(TypeError, match="give NumPy arrays"):
        KernelTuner(ridge(gram=Dense())).fit(torch.as_tensor(X), torch.as_tensor(y))


def test_states_of_earlier_versions():
    state = KernelTuner(KernelRidge()).__getstate__()
    del state["n_init"]
    found = KernelTuner.__new__(KernelTuner)
    found.__setstate__(state | {"criterion": "leave_one_out", "n_restarts": 2})
    assert found.get_params(deep=False)["criterion"] == "loo" and found.n_init == 3 and not hasattr(found, "n_restarts")
