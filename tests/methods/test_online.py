"""OnlineKernelMachine: the recursion of the paper, its bounds, and the batch solution that it approaches."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

from mercer.kernels import Gaussian, Linear
from mercer.losses import as_loss
from mercer.methods.machine import KernelMachine
from mercer.methods.online import OnlineKernelMachine

rng = np.random.default_rng(5)
X = rng.uniform(-2, 2, size=(150, 2))
KERNEL = Gaussian(0.8)
K = KERNEL(X, X)
NUMBERS = np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=150)
SIGNS = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=150) > 0, 1.0, -1.0)
COUNTS = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
THREE = (X[:, 0] > 0.3).astype(int) + (X[:, 1] > 0)


def slope(loss, y, f):
    """Derivatives in f, written from the definitions."""
    r = y - f
    return {
        "hinge": -y * (y * f < 1),
        "logistic": -y / (1 + np.exp(y * f)),
        "squared": -r,
        "huber(delta=1.0)": -np.clip(r, -1, 1),
        "pinball(quantile=0.8)": -0.8 if r > 0 else 0.2,
        "epsilon_insensitive": -np.sign(r) * (abs(r) > 0.1),
        "poisson": np.exp(f) - y,
    }[loss]


def recursion(loss, y, alpha, eta0, power, budget=None, intercept=False):
    """NORMA over the whole sample: coefficients, offset, and the norm of the function of all that was dropped."""
    n = len(y)
    a, dropped, b = np.zeros(n), np.zeros(n), 0.0
    for t in range(n):
        eta = eta0 / (t + 1) ** power
        g = slope(loss, y[t], a @ K[:, t] + b)
        a, dropped = (1 - eta * alpha) * a, (1 - eta * alpha) * dropped
        a[t] = -eta * g
        b -= eta * g * intercept
        terms = np.flatnonzero(a)
        if budget is not None and len(terms) > budget:
            a[terms[0]], dropped[terms[0]] = 0.0, a[terms[0]]
    return a, b, dropped


CASES = [
    ("hinge", SIGNS),
    ("logistic", SIGNS),
    ("squared", NUMBERS),
    ("huber(delta=1.0)", NUMBERS),
    ("pinball(quantile=0.8)", NUMBERS),
    ("epsilon_insensitive", NUMBERS),
    ("poisson", COUNTS),
]


@pytest.mark.parametrize("budget", [None, 25])
@pytest.mark.parametrize("intercept", [False, True], ids=["none", "intercept"])
@pytest.mark.parametrize("power", [0, 0.5, 1])
@pytest.mark.parametrize(("loss", "y"), CASES, ids=[name for name, _ in CASES])
def test_coefficients_are_those_of_the_recursion(loss, y, power, intercept, budget) -> None:
    model = OnlineKernelMachine(
        loss, kernel=KERNEL, alpha=0.05, eta0=0.4, power_t=power, budget=budget, fit_intercept=intercept
    ).fit(X, y)
    a, b, dropped = recursion(loss, y, 0.05, 0.4, power, budget, intercept)
    kept = np.flatnonzero(a)
    assert np.array_equal(model.points_, X[kept])
    assert np.allclose(model.dual_coef_, a[kept], rtol=1e-9, atol=1e-12)
    assert model.intercept_ == pytest.approx(b, abs=1e-10)
    assert np.allclose(model.function_(X), K @ a + b, rtol=0, atol=1e-9)
    assert model.truncation_error_ == pytest.approx(np.abs(dropped).sum(), abs=1e-10)  # k(x, x) = 1
    assert np.sqrt(dropped @ K @ dropped) <= model.truncation_error_ + 1e-12


def test_multinomial_recursion() -> None:
    model = OnlineKernelMachine("multinomial", kernel=KERNEL, alpha=0.05, eta0=0.8).fit(X, THREE)
    A = np.zeros((150, 3))
    for t in range(150):
        f = K[t] @ A
        p = np.exp(f) / np.exp(f).sum()
        A *= 1 - 0.05 * 0.8 / np.sqrt(t + 1)
        A[t] = -0.8 / np.sqrt(t + 1) * (p - np.eye(3)[THREE[t]])
    assert np.allclose(model.dual_coef_, A, rtol=1e-9, atol=1e-12)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert np.array_equal(model.predict(X), np.argmax(K @ A, axis=1))


def test_two_classes_have_one_decision_whatever_the_loss() -> None:
    labels = np.where(SIGNS > 0, "yes", "no")
    for loss in ("logistic", "multinomial"):
        model = OnlineKernelMachine(loss, kernel=KERNEL, alpha=0.05, eta0=0.8).fit(X, labels)
        decision, p = model.decision_function(X), model.predict_proba(X)
        assert decision.shape == (150,)
        assert np.allclose(p[:, 1], 1 / (1 + np.exp(-decision)), rtol=1e-9)
        assert np.array_equal(model.predict(X), np.where(decision > 0, "yes", "no"))


@pytest.mark.parametrize("budget", [None, 7, 200])
@pytest.mark.parametrize("sizes", [[1] * 150, [3, 40, 1, 106]], ids=["single", "unequal"])
def test_a_batch_is_a_sequence(sizes, budget) -> None:
    """150 samples in any parts, and with more steps than one block of kernel values holds."""
    parameters = {"kernel": KERNEL, "alpha": 0.02, "eta0": 0.5, "power_t": 0.0, "budget": budget, "fit_intercept": True}
    labels = np.where(SIGNS > 0, "yes", "no")
    whole = OnlineKernelMachine("hinge", **parameters).fit(X, labels)
    parts = OnlineKernelMachine("hinge", **parameters)
    for start, stop in zip(np.cumsum([0, *sizes[:-1]]), np.cumsum(sizes), strict=True):
        parts.partial_fit(X[start:stop], labels[start:stop], classes=["yes", "no"] if start == 0 else None)
        assert len(parts.dual_coef_) <= (budget or 150)
        assert parts.t_ == stop
    assert np.array_equal(parts.points_, whole.points_)
    assert np.allclose(parts.dual_coef_, whole.dual_coef_, rtol=1e-12)
    assert parts.truncation_error_ == pytest.approx(whole.truncation_error_, rel=1e-12)
    assert parts.intercept_ == pytest.approx(whole.intercept_, rel=1e-12)


def objectives(model, loss, sample, y, alpha):
    """ℓ(y_t, f_t(x_t)) + (α/2)‖f_t‖² of each f_t before its own step, the first being 0."""
    values, loss = [], as_loss(loss)
    for t in range(len(y)):
        f, norm = np.zeros(1), 0.0
        if t:
            f, norm = model.function_(sample[t : t + 1]), model.function_.norm()
        values.append(float(loss.value(y[t : t + 1], f)[0]) + alpha / 2 * norm**2)
        model.partial_fit(sample[t : t + 1], y[t : t + 1], classes=[-1.0, 1.0] if loss.task == "binary" else None)
    return np.array(values)


CLASSIFIERS = ("hinge", "logistic")


def streams():
    generator = np.random.default_rng(8)
    points = generator.normal(size=(300, 1))
    return {
        "random": (points, np.where(points[:, 0] > 0, 1.0, -1.0)),
        "contradictory": (np.zeros((300, 1)), np.where(np.arange(300) % 2, 1.0, -1.0)),
        "sorted": (np.sort(points, axis=0), np.where(np.sin(4 * np.sort(points[:, 0])) > 0, 1.0, -1.0)),
    }


@pytest.mark.long
@pytest.mark.parametrize("loss", ["hinge", "logistic", "huber(delta=1.0)", "absolute"])
@pytest.mark.parametrize("stream", ["random", "contradictory", "sorted", "adversarial"])
def test_regret_is_within_the_bound(loss, stream) -> None:
    """Slopes ≤ 1 and k(x, x) = 1, so that U = 1/α; the best fixed function is KernelMachine's."""
    alpha, eta0, m = 1.0, 0.7, 300
    model = OnlineKernelMachine(loss, kernel=Gaussian(0.7), alpha=alpha, eta0=eta0, power_t=0.5)
    if stream == "adversarial":  # each label is the one that the present function gets wrong
        sample, y = streams()["random"][0], np.ones(m)
        twin = clone(model)
        for t in range(m):
            y[t] = -1.0 if t and twin.function_(sample[t : t + 1])[0] > 0 else 1.0
            twin.partial_fit(sample[t : t + 1], y[t : t + 1], classes=[-1.0, 1.0] if loss in CLASSIFIERS else None)
    else:
        sample, y = streams()[stream]
    mean = objectives(model, loss, sample, y, alpha).mean()
    best = KernelMachine(loss, kernel=Gaussian(0.7), alpha=alpha * m).fit(sample, y)
    lowest = best.solution_.objective / m
    bound = (2 / (alpha**2 * eta0) + 4 * eta0) / np.sqrt(m)
    assert mean <= lowest + bound
    assert model.function_.norm() <= 1 / alpha + 1e-12


@pytest.mark.parametrize("loss", ["logistic", "huber(delta=1.0)"])
def test_approaches_the_batch_minimum(loss) -> None:
    """Draws from a sample, with steps 1/(αt): the expected ‖f_t − f*‖² is at most 4G²/(α²t), with gradients G ≤ 2.

    Rakhlin, Shamir, Sridharan, *Making gradient descent optimal for strongly convex stochastic optimization* (2012).
    The curvature of the objective is at most 1 + α, so that its excess is at most (1 + α)/2 times as much.
    """
    generator = np.random.default_rng(2)
    sample = generator.uniform(-2, 2, size=(300, 1))
    y = np.sin(2 * sample[:, 0]) + 0.2 * generator.normal(size=300)
    y = np.where(y > 0, 1.0, -1.0) if loss == "logistic" else y
    alpha, kernel, drawn = 0.5, Gaussian(0.7), generator.integers(0, 300, 2000)
    best = KernelMachine(loss, kernel=kernel, alpha=alpha * 300).fit(sample, y).solution_.objective / 300
    excess = {}
    for t in (20, 2000):
        stream = drawn[:t]
        f = OnlineKernelMachine(loss, kernel=kernel, alpha=alpha, eta0=1 / alpha, power_t=1)
        f = f.fit(sample[stream], y[stream]).function_
        excess[t] = np.mean(as_loss(loss).value(y, f(sample))) + alpha / 2 * f.norm() ** 2 - best
        assert -1e-9 <= excess[t] <= (1 + alpha) / 2 * 16 / (alpha**2 * t)
    assert excess[2000] < 0.1 * excess[20]


def test_truncation_bound_of_the_paper() -> None:
    """With a constant step, dropping all but the last τ terms loses at most (1 − ηα)^τ L/α."""
    for budget in (5, 20, 60):
        model = OnlineKernelMachine("logistic", kernel=KERNEL, alpha=0.1, eta0=0.8, power_t=0, budget=budget)
        model.fit(X, SIGNS)
        assert len(model.function_) == budget
        assert 0 < model.truncation_error_ <= (1 - 0.08) ** budget / 0.1


def test_follows_a_drift_that_the_batch_fit_averages() -> None:
    """The sign of the target turns halfway; after the turn the stream's errors are fewer than those of all data."""
    generator = np.random.default_rng(4)
    sample = generator.normal(size=(800, 2))
    y = np.where(sample[:, 0] > 0, 1, -1) * np.where(np.arange(800) < 400, 1, -1)
    online = OnlineKernelMachine("hinge", kernel=Gaussian(1.5), alpha=0.02, eta0=0.5, power_t=0, budget=300)
    online.fit(sample, y)
    batch = KernelMachine("hinge", kernel=Gaussian(1.5), alpha=0.02 * 800).fit(sample, y)
    new = generator.normal(size=(500, 2))
    truth = np.where(new[:, 0] > 0, -1, 1)
    assert online.score(new, truth) > 0.9 > 0.75 > batch.score(new, truth)


def test_sparse_and_precomputed_input() -> None:
    parameters = {"alpha": 0.02, "budget": 40, "power_t": 0.0, "eta0": 0.5}
    dense = OnlineKernelMachine("huber", kernel=KERNEL, **parameters).fit(X, NUMBERS)
    sparse = OnlineKernelMachine("huber", kernel=KERNEL, **parameters)
    for rows in np.split(np.arange(150), 3):
        sparse.partial_fit(csr_array(X[rows]), NUMBERS[rows])
    matrix = OnlineKernelMachine("huber", kernel="precomputed", **parameters).fit(K, NUMBERS)
    assert np.allclose(sparse.predict(csr_array(X)), dense.predict(X), rtol=0, atol=1e-10)
    assert np.allclose(matrix.predict(K), dense.predict(X), rtol=0, atol=1e-10)
    assert matrix.truncation_error_ == pytest.approx(dense.truncation_error_, rel=1e-10)
    with pytest.raises(TypeError, match="partial_fit does not accept a precomputed matrix"):
        matrix.partial_fit(K, NUMBERS)


def test_truncation_bound_uses_the_lengths_of_the_points() -> None:
    model = OnlineKernelMachine("absolute", kernel=Linear(), alpha=0.1, eta0=0.5, power_t=0, budget=1)
    model.fit(np.array([[3.0], [0.5]]), np.array([1.0, 9.0]))
    assert model.truncation_error_ == pytest.approx(0.95 * 0.5 * 3.0)


def test_no_term_and_vanishing_terms() -> None:
    still = OnlineKernelMachine("squared", kernel=KERNEL).fit(X, np.zeros(150))
    assert len(still.dual_coef_) == 0
    assert np.array_equal(still.predict(X[:2]), np.zeros(2))
    still.partial_fit(X[:1], [1.0])
    assert still.t_ == 151 and len(still.dual_coef_) == 1
    # eta0 · alpha = 1 forgets all but the last sample
    last = OnlineKernelMachine("absolute", kernel=KERNEL, alpha=2.0, eta0=0.5, power_t=0, budget=3).fit(X, NUMBERS)
    assert np.allclose(last.predict(X), K[:, -1] * 0.5 * np.sign(NUMBERS[-1]), rtol=0, atol=1e-12)


def test_a_stream_that_diverges_is_an_error() -> None:
    """k(x, x) is up to 9³ here, where a step of 1 multiplies the residual by −728; one of 10⁻³ is short enough."""
    for loss in ("squared", "poisson"):
        with pytest.raises(ValueError, match=r"the steps diverge.*Lower eta0 = 1\.0"):
            OnlineKernelMachine(loss, kernel="polynomial(degree=3)").fit(X, COUNTS)
    assert OnlineKernelMachine(kernel="polynomial(degree=3)", eta0=1e-3).fit(X, NUMBERS).score(X, NUMBERS) > 0
    # a target of 0 is no yardstick: f is not 0 there
    model = OnlineKernelMachine(kernel=KERNEL).fit(X, NUMBERS)
    assert model.partial_fit(X[:1], [0.0]).t_ == 151
    lost = OnlineKernelMachine(kernel="polynomial(degree=3)").partial_fit(X[:1], [1.0])
    with pytest.raises(ValueError, match="the last samples are ignored"):
        lost.partial_fit(X, COUNTS)
    assert lost.t_ == 1 and np.isfinite(lost.predict(X)).all()


def test_parameters_may_change_between_calls_where_f_stays_of_its_kind() -> None:
    model = OnlineKernelMachine("squared", kernel=KERNEL, fit_intercept=True).partial_fit(X[:100], NUMBERS[:100])
    model.set_params(budget=10, eta0=0.1).partial_fit(X[100:101], NUMBERS[100:101])
    assert len(model.dual_coef_) == len(model.function_) == 10
    for changed in ({"loss": "hinge"}, {"kernel": Gaussian(1.0)}, {"fit_intercept": False}):
        with pytest.raises(ValueError, match="differ from those of the first call"):
            clone(model).partial_fit(X, NUMBERS).set_params(**changed).partial_fit(X, SIGNS)
    nested = OnlineKernelMachine(kernel=Gaussian(0.8)).partial_fit(X, NUMBERS).set_params(kernel__lengthscale=2.0)
    with pytest.raises(ValueError, match="differ from those of the first call"):
        nested.partial_fit(X, NUMBERS)


def test_messages() -> None:
    with pytest.raises(ValueError, match=r"eta0 = 1\.0 must be at most 1/alpha = 0\.5"):
        OnlineKernelMachine(alpha=2.0).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        OnlineKernelMachine("hinge").partial_fit(X, SIGNS)
    with pytest.raises(ValueError, match=r"y holds .*5.*, which is not among classes"):
        OnlineKernelMachine("hinge").partial_fit(X, SIGNS * 5, classes=[-1, 1])
    with pytest.raises(ValueError, match="differ from those of the first call"):
        OnlineKernelMachine("hinge").fit(X, SIGNS).partial_fit(X, SIGNS, classes=[0, 1])
    with pytest.raises(ValueError, match="classes does not apply to loss = 'squared'"):
        OnlineKernelMachine().partial_fit(X, NUMBERS, classes=[0, 1])
    with pytest.raises(ValueError, match="Use loss='multinomial'"):
        OnlineKernelMachine("hinge").fit(X, THREE)
    with pytest.raises(ValueError, match="no gradient for a single sample"):
        OnlineKernelMachine("cox").fit(X, NUMBERS)
    with pytest.raises(ValueError, match="use a positive definite one"):
        OnlineKernelMachine(kernel="thin_plate").fit(X, NUMBERS)
