"""Probabilities: coupling and slopes against kernlab and other optimisers, held-out values against real refits."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit, xlogy
from sklearn.datasets import load_iris, make_classification
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import brier_score_loss, log_loss

from mercer import SVC, NuSVC
from mercer.kernels import Gaussian
from mercer.methods._calibration import couple, folds, probability, quality, slopes
from mercer.solvers.fit._rows import Block

X, y = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
NOISY = X + 0.5 * rng.normal(size=X.shape)
WEIGHT = rng.uniform(0.1, 2, len(X))
TWO = y > 0
EXACT = 1e-9
KERNEL = Gaussian(1.5)


def fold_of(labels, seed=0):
    """The folds that a fit with this random_state draws."""
    drawn = np.random.RandomState(seed).randint(2**31 - 1)
    members = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    return folds(members, len(labels), np.random.default_rng(drawn))


# ---- from pairs to classes


def pairwise(P, k):
    r, pairs = np.full((len(P), k, k), 0.5), [(i, j) for i in range(k) for j in range(i + 1, k)]
    for column, (i, j) in enumerate(pairs):
        r[:, i, j], r[:, j, i] = P[:, column], 1 - P[:, column]
    return r


def test_coupling_equals_kernlab(oracle) -> None:
    data = oracle("couple_A")
    assert np.allclose(couple(pairwise(data["inputs"]["P"], 3)), data["outputs"]["minpair"], atol=1e-12)


@pytest.mark.parametrize("r", ["a", [[1.0, 2.0], [3.0]]])
def test_coupling_asks_for_numbers(r) -> None:
    with pytest.raises(ValueError, match=r"couple: r must hold numbers, a \(k, k\) matrix for each sample"):
        couple(r)


@pytest.mark.parametrize("k", [2, 4, 7])
def test_coupling_is_the_least_of_its_sum_of_squares(k) -> None:
    r = pairwise(rng.uniform(0.01, 0.99, (5, k * (k - 1) // 2)), k)
    p = couple(r)
    assert np.all(p >= 0) and np.allclose(p.sum(axis=1), 1.0)
    for one, mine in zip(r, p, strict=True):

        def total(q, one=one):
            return sum((one[j, i] * q[i] - one[i, j] * q[j]) ** 2 for i in range(k) for j in range(k) if i != j)

        least = minimize(
            total,
            np.full(k, 1 / k),
            bounds=[(0, 1)] * k,
            constraints={"type": "eq", "fun": lambda q: q.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-16, "maxiter": 500},
        )
        assert np.allclose(mine, least.x, atol=1e-5) and total(mine) <= least.fun + 1e-12


def test_coupling_gives_back_probabilities_that_are_consistent() -> None:
    p = rng.dirichlet(np.ones(5), 20)
    assert np.allclose(couple(p[:, :, None] / (p[:, :, None] + p[:, None, :])), p, atol=1e-12)


def test_coupling_does_not_read_the_diagonal() -> None:
    r = np.array([[[np.nan, 0.7], [0.3, np.nan]]])
    assert np.allclose(couple(r), [[0.7, 0.3]]) and np.isnan(r[0, 0, 0])


def test_coupling_of_pairs_that_are_certain() -> None:
    chain, ring = np.triu(np.ones((3, 3)), 1), np.roll(np.eye(3), 1, axis=1)
    assert np.allclose(couple([chain, ring]), [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    assert np.allclose(couple([[[0, 1, 0.5], [0, 0, 0.5], [0.5, 0.5, 0]]]).sum(), 1)


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ((0.9, 0.9), r"r\[1, 0, 2\] = 0.9 and r\[1, 2, 0\] = 0.9 must be probabilities that sum to 1"),
        ((1.5, -0.5), r"r\[1, 0, 2\] = 1.5 and r\[1, 2, 0\] = -0.5 must be"),
        ((np.nan, 0.5), r"r\[1, 0, 2\] = nan and"),
    ],
)
def test_coupling_names_the_pair_that_is_wrong(pair, words) -> None:
    r = np.full((2, 3, 3), 0.5)
    r[1, 0, 2], r[1, 2, 0] = pair
    with pytest.raises(ValueError, match=f"couple: {words}"):
        couple(r)


# ---- from values to probabilities


def values_and_labels(n=300, seed=0):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=n) + 0.3
    return f, np.where(rng.random(n) < expit(np.where(f < 0, 0.7, 2.5) * f), 1.0, -1.0)


def softened(a, f, labels):
    """Platt's likelihood, written out."""
    positive, negative = (labels > 0).sum(), (labels < 0).sum()
    t = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    p = expit(np.where(f < 0, a[0], a[1]) * f)
    return -(xlogy(t, p) + xlogy(1 - t, 1 - p)).sum()


@pytest.mark.parametrize("size", [1.0, 1e-4, 1e5])
def test_slopes_are_the_most_likely(size) -> None:
    f, labels = values_and_labels()
    a = slopes(size * f, labels)
    least = minimize(softened, [1.0, 1.0], args=(f, labels), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 0})
    assert np.allclose(size * a, least.x, rtol=1e-4)


def test_slopes_are_found_again() -> None:
    assert np.allclose(slopes(*values_and_labels(20_000)), [0.7, 2.5], rtol=0.1)


def test_slopes_stay_finite_and_positive() -> None:
    f, labels = np.r_[np.linspace(0.5, 2, 30), -np.linspace(0.5, 2, 30)], np.repeat([1.0, -1.0], 30)
    separable, reversed_ = slopes(f, labels), slopes(f, -labels)
    assert np.all(np.isfinite(separable)) and np.all(separable > 1)
    assert np.all(reversed_ > 0) and np.all(reversed_ < 1e-3)  # a machine that is always wrong knows nothing
    assert np.all(slopes(np.zeros(4), np.array([1.0, 1, -1, -1])) > 0)
    assert np.all(slopes(np.ones(4), np.array([1.0, 1, -1, -1])) > 0)


def test_the_map_is_monotone_and_one_half_at_zero() -> None:
    grid = np.linspace(-5, 5, 1001)
    p = probability(grid, np.array([0.2, 3.0]))
    assert np.all(np.diff(p) > 0) and p[500] == 0.5
    assert np.all((p > 0.5) == (grid > 0))


def test_quality_is_that_of_scikit_learn() -> None:
    p, labels = rng.dirichlet(np.ones(4), 50), np.arange(50) % 4
    brier, loss = quality(p, labels)
    assert brier == pytest.approx(brier_score_loss(labels, p, scale_by_half=False, labels=np.arange(4)))
    assert loss == pytest.approx(log_loss(labels, p))


def test_folds_have_their_share_of_each_class() -> None:
    members = [np.arange(0, 23), np.arange(23, 33), np.arange(33, 40)]
    fold = folds(members, 40, np.random.default_rng(0))
    for mine in members:
        counts = np.bincount(fold[mine], minlength=5)
        assert len(counts) == 5 and counts.max() - counts.min() <= 1
    assert folds([np.arange(20), np.arange(20, 22)], 22, np.random.default_rng(0)).max() == 1


# ---- held-out values


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("settings", [{}, {"loss": "squared_hinge"}, {"fit_intercept": False}, {"C": 30.0}], ids=str)
def test_held_out_values_are_those_of_machines_without_the_fold(settings, weight) -> None:
    A, b, w = NOISY[TWO], y[TWO], None if weight is None else weight[TWO]
    model = SVC(kernel=KERNEL, calibration="cv", tol=EXACT, **settings).fit(A, b, w)
    fold, held_out = fold_of(b), np.empty(100)
    for k in range(5):
        out = fold == k
        part = SVC(kernel=KERNEL, tol=EXACT, **settings).fit(A[~out], b[~out], None if w is None else w[~out])
        held_out[out] = part.decision_function(A[out])
    a = slopes(held_out, np.where(b == 2, 1.0, -1.0))
    assert np.allclose(model.calibration_.slopes, a, rtol=1e-4)
    p = np.stack([1 - probability(held_out, a), probability(held_out, a)], axis=1)
    assert model.calibration_.brier == pytest.approx(2 * brier_score_loss(b == 2, p[:, 1]), rel=1e-5)
    assert model.calibration_.log_loss == pytest.approx(log_loss(b, p), rel=1e-5)
    assert model.calibration_.n_samples == 100


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(SVC, {}), (NuSVC, {"nu": 0.3}), (SVC, {"multi_class": "ovr"})],
    ids=["pairs", "nu", "against the rest"],
)
def test_held_out_values_of_three_classes(kind, settings) -> None:
    labels = np.array(["b", "a", "c"])[y]
    model = kind(kernel=KERNEL, calibration="cv", tol=EXACT, random_state=5, **settings).fit(NOISY, labels)
    fold = fold_of(labels, 5)
    versus = "multi_class" in settings
    machines = [("a", "bc"), ("b", "ac"), ("c", "ab")] if versus else [("a", "b"), ("a", "c"), ("b", "c")]
    alone = kind(kernel=KERNEL, tol=EXACT, **{k: v for k, v in settings.items() if k != "multi_class"})
    p = np.empty((150, 3))
    for m, ((first, second), found) in enumerate(zip(machines, model.calibration_.slopes, strict=True)):
        mine = np.isin(labels, [first, *second])
        sign, values = np.where(labels == first, 1.0, -1.0), np.empty(150)
        for k in range(5):
            out = mine & (fold == k)
            alone.fit(NOISY[mine & (fold != k)], sign[mine & (fold != k)])
            values[out] = alone.decision_function(NOISY[out])
        assert np.allclose(found, slopes(values[mine], sign[mine]), rtol=1e-3)
        if not mine.all():  # the machine had not seen the others anyway
            values[~mine] = alone.fit(NOISY[mine], sign[mine]).decision_function(NOISY[~mine])
        p[:, m] = probability(values, found)
    p = p / p.sum(axis=1, keepdims=True) if versus else couple(pairwise(p, 3))
    assert model.calibration_.brier == pytest.approx(brier_score_loss(labels, p, scale_by_half=False), rel=1e-3)
    assert model.calibration_.log_loss == pytest.approx(log_loss(labels, p), rel=1e-3)


def test_a_fold_too_small_for_nu_takes_what_there_is() -> None:
    A, b = rng.normal(size=(204, 2)), np.repeat([0, 1], [51, 153])  # ν = 0.5 needs all 51, and 40.5 of 40 in a fold
    model = NuSVC(nu=0.5, calibration="cv").fit(A, b)
    assert np.all(np.isfinite(model.predict_proba(A)))


# ---- probabilities of machines

MACHINES = [
    SVC(calibration="cv"),
    SVC(probability=True),
    SVC(calibration="cv", multi_class="ovr"),
    SVC(calibration="cv", loss="squared_hinge"),
    SVC(calibration="cv", budget=20.0),
    SVC(calibration="cv", C=np.inf, kernel=Gaussian(0.3)),
    NuSVC(calibration="cv", nu=0.3),
]


@pytest.mark.parametrize("model", MACHINES, ids=str)
def test_probabilities_and_predictions_agree(model) -> None:
    for few in (TWO, y >= 0):
        model.fit(NOISY[few], y[few])
        p = model.predict_proba(NOISY)
        assert p.shape == (150, len(model.classes_)) and np.all(p >= 0)
        assert np.allclose(p.sum(axis=1), 1.0)
        assert np.array_equal(model.predict(NOISY), model.classes_[p.argmax(axis=1)])
        assert np.allclose(model.predict_log_proba(NOISY), np.log(p))
        assert 0 < model.calibration_.brier < 1 and 0 < model.calibration_.log_loss < 1.5
    model.fit(NOISY[TWO], y[TWO])
    assert np.array_equal(model.predict_proba(NOISY)[:, 1] > 0.5, model.decision_function(NOISY) > 0)


def test_the_name_of_scikit_learn_is_the_same() -> None:
    ours, theirs = SVC(calibration="cv").fit(NOISY, y), SVC(probability=True).fit(NOISY, y)
    assert np.array_equal(ours.predict_proba(NOISY), theirs.predict_proba(NOISY))


@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_without_calibration_there_are_no_probabilities(kind) -> None:
    model = kind().fit(NOISY, y) if kind is SVC else kind(nu=0.3).fit(NOISY, y)
    assert not hasattr(model, "predict_proba") and not hasattr(model, "predict_log_proba")
    assert not hasattr(model, "calibration_")
    with pytest.raises(AttributeError, match="predict_proba"):
        model.predict_proba(NOISY)


@pytest.mark.parametrize("model", [SVC(calibration="cv"), NuSVC(nu=0.01, calibration="cv")], ids=str)
def test_a_class_of_one_sample(model) -> None:
    # as in LIBSVM, a machine that has seen one class only says ±1 of the held-out sample
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ν must be small here
        p = model.fit(NOISY[:101], y[:101]).predict_proba(NOISY)
    assert p.shape == (150, 3) and np.allclose(p.sum(axis=1), 1) and np.isfinite(model.calibration_.slopes).all()
    slope = model.fit(NOISY[50:101], y[50:101]).calibration_.slopes
    assert slope.shape == (1, 2) and np.isfinite(slope).all()


def test_probabilities_asked_for_after_the_fit() -> None:
    model = SVC().fit(NOISY, y)
    model.probability = True
    assert hasattr(model, "predict_proba") and model.predict(NOISY).shape == (150,)
    with pytest.raises(NotFittedError, match="not available when fitted with probability=False"):
        model.predict_proba(NOISY)
    model.fit(NOISY, y)
    model.probability = False
    assert not hasattr(model.fit(NOISY, y), "calibration_")


def test_sparse_and_precomputed_equal_dense() -> None:
    S = np.where(np.abs(NOISY) > 1.5, NOISY, 0.0)
    dense = SVC(kernel=KERNEL, calibration="cv", tol=EXACT).fit(S, y)
    sparse = SVC(kernel=KERNEL, calibration="cv", tol=EXACT).fit(csr_array(S), y)
    matrix = SVC(kernel="precomputed", calibration="cv", tol=EXACT).fit(KERNEL(S), y)
    for other, data in ((sparse, csr_array(S)), (matrix, KERNEL(S))):
        assert np.allclose(other.predict_proba(data), dense.predict_proba(S), atol=1e-5)
        assert other.calibration_.brier == pytest.approx(dense.calibration_.brier, rel=1e-4)


def test_random_state_chooses_the_folds() -> None:
    first, again, other = (SVC(calibration="cv", random_state=s).fit(NOISY, y).calibration_ for s in (1, 1, 2))
    default, zero = (SVC(calibration="cv", random_state=s).fit(NOISY, y).calibration_ for s in (None, 0))
    assert np.array_equal(first.slopes, again.slopes) and not np.array_equal(first.slopes, other.slopes)
    assert np.array_equal(default.slopes, zero.slopes)


def test_values_far_away_leave_probabilities_defined() -> None:
    for form in ("ovo", "ovr"):
        model = SVC(kernel="poly", degree=2, coef0=1.0, calibration="cv", multi_class=form).fit(
            NOISY - NOISY.mean(0), y
        )
        for direction in np.r_[np.eye(4), -np.eye(4)]:
            p = model.predict_proba(1e8 * direction[None, :])
            assert np.all(np.isfinite(p)) and p.sum() == pytest.approx(1.0)


def test_probabilities_are_right_where_they_are_known() -> None:
    """P(y = 1 | x) = 1/(1 + e^{−2x₁}): the mean error is small, and beats that of saying one half."""
    rng = np.random.default_rng(7)
    A, new = rng.normal(size=(800, 2)), rng.normal(size=(2000, 2))
    true = expit(2 * new[:, 0])
    model = SVC(kernel="linear", calibration="cv").fit(A, rng.random(800) < expit(2 * A[:, 0]))
    assert np.abs(model.predict_proba(new)[:, 1] - true).mean() < 0.03
    # three classes with logits x₁, x₂ and 0
    logits = [np.exp(np.c_[2 * B, np.zeros(len(B))]) for B in (A, new)]
    P, true = (e / e.sum(axis=1, keepdims=True) for e in logits)
    b = (P.cumsum(axis=1) < rng.random(800)[:, None]).sum(axis=1)
    for form in ("ovo", "ovr"):
        model = SVC(kernel="linear", calibration="cv", multi_class=form).fit(A, b)
        assert np.abs(model.predict_proba(new) - true).mean() < 0.06
        labels = (true.cumsum(axis=1) < rng.random(2000)[:, None]).sum(axis=1)
        # of 800 and of 2,000 samples: the standard deviations of the means are about 0.015
        assert model.calibration_.log_loss == pytest.approx(log_loss(labels, model.predict_proba(new)), abs=0.08)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [SVC, NuSVC])
def test_folds_compute_few_rows_that_the_fit_has_not(monkeypatch, kind, classes) -> None:
    """Beyond those of the fit, less than half of what fits without the folds compute."""
    entries = 0
    keep = Block.keep

    def counting(self, rows, places):
        nonlocal entries
        entries += len(rows) * self.T.n
        keep(self, rows, places)

    monkeypatch.setattr(Block, "keep", counting)
    A, b = make_classification(
        4000, 10, n_informative=8, n_redundant=0, n_classes=classes, flip_y=0.01, class_sep=3.0, random_state=1
    )
    settings = {"gamma": 0.02} | ({"nu": 0.05} if kind is NuSVC else {})
    kind(**settings).fit(A, b)
    alone, entries = entries, 0
    kind(calibration="cv", **settings).fit(A, b)
    calibrated, entries = entries, 0
    for k in range(5):
        rest = fold_of(b) != k
        kind(**settings).fit(A[rest], b[rest])
    assert alone < calibrated < alone + 0.5 * entries
