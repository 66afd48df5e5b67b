"""KernelFisher against the generalised eigenproblem written out, scikit-learn's LDA, explicit features, and refits."""

import pickle

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import log_softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import log_loss

from mercer import KernelMeanClassifier
from mercer.gram import IncompleteCholesky, Nystrom
from mercer.kernels import Gaussian, Linear, Polynomial, Power, Sigmoid
from mercer.methods.fisher import KernelFisher
from mercer.selection import expected_loss
from mercer.solvers.linear import ConjugateGradient

rng = np.random.default_rng(3)
X, SPECIES = load_iris(return_X_y=True)
X = (X + 0.02 * rng.normal(size=X.shape))[::2]
y = np.array(["setosa", "versicolor", "virginica"])[SPECIES][::2]
n = len(X)
X_new = X[rng.permutation(n)[:20]] + 0.3 * rng.normal(size=(20, 4))
TWO = np.flatnonzero(y != "setosa")
WEIGHT = rng.uniform(0.2, 2, n)
KERNEL = Gaussian(1.5)


def scatters(F, labels, w):
    """The scatter between and within classes of rows F."""
    mean = w @ F / w.sum()
    between, within = 0.0, 0.0
    for c in np.unique(labels):
        some, v = F[labels == c], w[labels == c]
        centre = v @ some / v.sum()
        between = between + v.sum() * np.outer(centre - mean, centre - mean)
        within = within + (some - centre).T @ ((some - centre) * v[:, None])
    return between, within


def monomials(X):
    """The features of (xᵀy + 1)²."""
    i, j = np.triu_indices(X.shape[1], 1)
    return np.hstack([np.ones((len(X), 1)), 2**0.5 * X, X**2, 2**0.5 * X[:, i] * X[:, j]])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_generalised_eigenproblem_written_out(classes, weight) -> None:
    use = TWO if classes == 2 else np.arange(n)
    A, labels = X[use], y[use]
    w = np.ones(len(use)) if weight is None else weight[use]
    model = KernelFisher(KERNEL, alpha=0.3).fit(A, labels, None if weight is None else w)
    K = KERNEL(A)
    H = np.eye(len(A)) - np.outer(np.ones(len(A)), w / w.sum())
    centred = H @ K @ H.T
    between, within = scatters(centred, labels, w)  # rows of the matrix are the values that coefficients act on
    ridge = 1e-11 * np.trace(K) * np.eye(len(A))  # the problem is singular, as centring is
    values, V = eigh(between, within + 0.3 * centred + ridge)
    values, V = values[::-1][: classes - 1], V[:, ::-1][:, : classes - 1]
    np.testing.assert_allclose(model.eigenvalues_, values, rtol=1e-6)
    Z = model.transform(X_new)
    cross = (KERNEL(X_new, A) - w @ K / w.sum()) @ H.T
    reference = cross @ V * np.sqrt(w.sum())
    reference *= np.sign(np.sum(reference * Z, axis=0))
    np.testing.assert_allclose(Z, reference, atol=1e-5 * np.abs(Z).max())


def test_mikas_direction_for_two_classes() -> None:
    """a ∝ (N + αK)⁻¹(M₁ − M₂), with N the scatter of the rows of K within classes."""
    A, labels = X[TWO], y[TWO]
    model = KernelFisher(KERNEL, alpha=0.3).fit(A, labels)
    K = KERNEL(A)
    _, within = scatters(K, labels, np.ones(len(A)))
    difference = K[labels == "virginica"].mean(axis=0) - K[labels == "versicolor"].mean(axis=0)
    values = KERNEL(X_new, A) @ np.linalg.lstsq(within + 0.3 * K, difference, rcond=1e-14)[0]
    Z = model.transform(X_new)[:, 0]
    assert np.corrcoef(Z, values)[0, 1] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", ["linear", "polynomial"])
def test_shrunk_covariances_of_explicit_features(kernel, classes) -> None:
    """Gaussian classes with covariance (S_W + αI)/n: with the shrinkage s of LDA the same direction, and a factor."""
    use, s = (TWO if classes == 2 else np.arange(n)), 0.1
    A, labels = X[use] - X.mean(axis=0), y[use]
    F, F_new = (M if kernel == "linear" else monomials(M) for M in (A, X_new - X.mean(axis=0)))
    _, within = scatters(F, labels, np.ones(len(A)))
    alpha = s * np.trace(within) / F.shape[1] / (1 - s)
    k = Linear() if kernel == "linear" else Polynomial(degree=2, scale=1.0, offset=1.0)
    model = KernelFisher(k, alpha=alpha).fit(A, labels)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=s).fit(F, labels)
    values, mine = theirs.decision_function(F_new), model.decision_function(X_new - X.mean(axis=0))
    bonus = np.log(model.priors_)
    if classes == 2:
        bonus = bonus[1] - bonus[0]
    else:
        values, mine = values - values[:, :1] + bonus[0], mine - mine[:, :1] + bonus[0]
    np.testing.assert_allclose(mine - bonus, (1 - s) * (values - bonus), atol=1e-8)


def test_the_classical_analysis_is_the_limit() -> None:
    model = KernelFisher("linear", alpha=1e-6).fit(X, y)  # what is left of it is alpha over the least scatter, near 1
    theirs = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    Z = theirs.transform(X_new) - theirs.transform(X).mean(axis=0)
    mine = model.transform(X_new)
    np.testing.assert_allclose(mine, Z * np.sign(np.sum(Z * mine, axis=0)), rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X_new), theirs.predict_proba(X_new), atol=1e-5)
    np.testing.assert_allclose(model.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-6)
    svd = LinearDiscriminantAnalysis().fit(X, y)
    direction = model.function_.weights()
    cosine = np.sum(direction * svd.scalings_, axis=0)
    cosine /= np.linalg.norm(direction, axis=0) * np.linalg.norm(svd.scalings_, axis=0)
    np.testing.assert_allclose(np.abs(cosine), 1, atol=1e-10)


def test_the_linear_kernel_does_not_depend_on_the_origin() -> None:
    one, other = (KernelFisher("linear", alpha=1e-3).fit(X + far, y) for far in (0.0, 1e5))
    np.testing.assert_allclose(other.transform(X_new + 1e5), one.transform(X_new), atol=1e-4)


@pytest.mark.parametrize("gram", ["dense", "low_rank"])
@pytest.mark.parametrize("alpha", [1e-13, 1e-300])
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid", "ignore:KernelFisher. The matrix K")
def test_a_penalty_below_rounding_is_refused(alpha, gram) -> None:
    with pytest.raises(ValueError, match=r"KernelFisher: alpha = 1e-.* is so small .* raise (it|alpha)"):
        KernelFisher("linear", alpha=alpha, gram=gram).fit(X, y)


def test_a_strong_penalty_leaves_the_nearest_mean() -> None:
    model = KernelFisher(KERNEL, alpha=1e7, priors=np.ones(3)).fit(X, y)
    np.testing.assert_array_equal(model.predict(X_new), KernelMeanClassifier(KERNEL).fit(X, y).predict(X_new))


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_discriminants_have_unit_variance_within_classes(weight) -> None:
    model = KernelFisher(KERNEL, alpha=0.3).fit(X, y, weight)
    w = np.ones(n) if weight is None else weight
    Z = model.transform(X)
    between, within = scatters(Z, y, w)
    f = model.function_
    gram = np.array([[f[i].inner(f[j]) for j in range(2)] for i in range(2)])
    np.testing.assert_allclose(within + 0.3 * gram, w.sum() * np.eye(2), atol=1e-8 * w.sum())
    np.testing.assert_allclose(between, w.sum() * np.diag(model.eigenvalues_), atol=1e-8 * np.trace(between))
    np.testing.assert_allclose(w @ Z, 0, atol=1e-9)
    for c, mean in zip(model.classes_, model.means_, strict=True):
        np.testing.assert_allclose(mean, w[y == c] @ Z[y == c] / w[y == c].sum(), atol=1e-9)
    assert (model.means_[-1] >= 0).all()


@pytest.mark.parametrize("priors", [None, (0.2, 0.5, 0.3)], ids=["shares", "given"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
@pytest.mark.parametrize("gram", ["dense", "lazy", Nystrom(rank=20)], ids=["dense", "lazy", "low rank"])
@pytest.mark.parametrize("classes", [2, 3])
def test_leave_one_out_equals_refits(classes, gram, weight, priors) -> None:
    use = TWO if classes == 2 else np.arange(n)
    A, labels = X[use], y[use]
    w = np.ones(len(use)) if weight is None else weight[use]
    priors = None if priors is None else priors[:classes]
    solver = ConjugateGradient(tol=1e-10) if gram == "lazy" else "auto"
    model = KernelFisher(KERNEL, alpha=0.3, gram=gram, priors=priors, random_state=0, solver=solver)
    values = model.fit(A, labels, None if weight is None else w).leave_one_out()
    assert values.shape == ((len(A),) if classes == 2 else (len(A), 3))
    for i in range(0, len(A), 24 if gram == "lazy" else 7):
        without = np.where(np.arange(len(A)) == i, 0.0, w)
        refit = clone(model).fit(A, labels, without).decision_function(A[[i]])[0]
        assert np.max(np.abs(values[i] - refit)) <= 1e-8 * max(1.0, np.max(np.abs(refit)))


def test_a_sample_without_weight_gets_the_value_of_the_fit() -> None:
    weight = WEIGHT.copy()
    weight[4] = 0
    model = KernelFisher(KERNEL).fit(X, y, weight)
    np.testing.assert_allclose(model.leave_one_out()[4], model.decision_function(X[[4]])[0], atol=1e-8)


def test_expected_loss_knows_the_closed_form() -> None:
    model = KernelFisher(KERNEL, alpha=0.3)
    closed = expected_loss(model, X, y)
    assert closed.method == "closed_form"
    np.testing.assert_array_equal(closed.values, expected_loss(model, X, y, method="refit").values)
    wrong = [clone(model).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[[i]])[0] != y[i] for i in range(n)]
    assert closed.estimate == pytest.approx(np.mean(wrong))
    assert 0 < closed.estimate < 0.1


def test_a_class_of_one_sample_is_not_known_without_it() -> None:
    labels = y.copy()
    labels[7] = "alone"
    model = KernelFisher(KERNEL).fit(X, labels)
    values = model.leave_one_out()
    assert np.isnan(values[7]).all() and not np.isnan(np.delete(values, 7, axis=0)).any()
    without = clone(model).fit(X, labels, np.where(np.arange(n) == 30, 0.0, 1.0))
    np.testing.assert_allclose(values[30], without.decision_function(X[[30]])[0], atol=1e-8)
    assert expected_loss(KernelFisher(KERNEL), X, labels).values[7] == 1


def test_one_sample_a_class_is_the_nearest_neighbour() -> None:
    centres, labels = rng.normal(size=(6, 3)), np.arange(6)
    points = rng.normal(size=(40, 3))
    model = KernelFisher(Gaussian(1.0), alpha=0.5).fit(centres, labels)
    np.testing.assert_array_equal(model.predict(points), Gaussian(1.0)(points, centres).argmax(axis=1))
    assert model.transform(points).shape == (40, 5)
    assert np.isnan(model.leave_one_out()).all()
    with pytest.raises(ValueError, match="'loo' needs two samples in some class, but every class has only"):
        KernelFisher(Gaussian(1.0), calibration="loo").fit(centres, labels)


def test_classes_on_a_line_have_one_discriminant() -> None:
    line = X[:, :1]
    model = KernelFisher("linear", alpha=1e-6).fit(line, y)
    assert model.transform(line).shape == (n, 1) and model.eigenvalues_.shape == (1,)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(line, y)
    np.testing.assert_allclose(model.predict_proba(line), theirs.predict_proba(line), atol=1e-6)
    firm = KernelFisher("linear", alpha=1e-2)  # for smaller ones the condition of K + αI blurs the eighth digit
    np.testing.assert_allclose(
        clone(firm).fit(line, y).leave_one_out()[3],
        firm.fit(np.delete(line, 3, 0), np.delete(y, 3)).decision_function(line[[3]])[0],
        atol=1e-8,
    )


def test_fewer_samples_than_features() -> None:
    wide = rng.normal(size=(12, 40))
    labels = np.repeat([0, 1, 2], 4)
    model = KernelFisher("linear", alpha=2.0).fit(wide, labels)
    _, within = scatters(wide, labels, np.ones(12))
    means = np.array([wide[labels == c].mean(axis=0) for c in range(3)])
    inverse = np.linalg.inv((within + 2.0 * np.eye(40)) / 12)
    new = rng.normal(size=(5, 40))
    expected = new @ inverse @ means.T - np.sum(means @ inverse * means, axis=1) / 2
    np.testing.assert_allclose(model.predict_log_proba(new), log_softmax(expected, axis=1), atol=1e-9)


@pytest.mark.parametrize("gram", ["lazy", Nystrom(rank=n), IncompleteCholesky(tol=1e-13)], ids=str)
def test_every_representation(gram) -> None:
    exact = KernelFisher(KERNEL, alpha=0.3).fit(X, y)
    model = KernelFisher(KERNEL, alpha=0.3, gram=gram, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.transform(X_new), exact.transform(X_new), atol=1e-5)
    np.testing.assert_allclose(model.decision_function(X_new), exact.decision_function(X_new), atol=1e-4)


def test_weights_are_repetitions() -> None:
    times = rng.integers(0, 3, n)
    weighted = KernelFisher(KERNEL, alpha=0.3).fit(X, y, times)
    repeated = KernelFisher(KERNEL, alpha=0.3).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.decision_function(X_new), repeated.decision_function(X_new), atol=1e-7)


def test_priors() -> None:
    plain, other = KernelFisher(KERNEL).fit(X, y), KernelFisher(KERNEL, priors=[2, 6, 2]).fit(X, y)
    np.testing.assert_allclose(other.priors_, [0.2, 0.6, 0.2])
    gap = np.log(other.priors_) - np.log(plain.priors_)
    np.testing.assert_allclose(other.decision_function(X), plain.decision_function(X) + gap, atol=1e-9)


@pytest.mark.parametrize("data", ["moons", "tumours"])
def test_calibration_by_leave_one_out(data) -> None:
    A, labels = make_moons(300, noise=0.3, random_state=0) if data == "moons" else load_breast_cancer(return_X_y=True)
    A = (A - A.mean(axis=0)) / A.std(axis=0)
    plain = KernelFisher(alpha=0.01).fit(A[::2], labels[::2])
    model = KernelFisher(alpha=0.01, calibration="loo").fit(A[::2], labels[::2])
    np.testing.assert_array_equal(model.predict(A), plain.predict(A))
    losses = [log_loss(labels[1::2], m.predict_proba(A[1::2])) for m in (plain, model)]
    assert losses[1] < losses[0]
    left = model.leave_one_out()
    sign = np.where(labels[::2] == 1, 1, -1)

    def loss(t):
        return np.mean(np.logaddexp(0, -sign * left / t))

    t = model.temperature_
    assert t > 1 and plain.temperature_ == 1
    assert loss(t) <= min(loss(t * 1.01), loss(t / 1.01))


@pytest.mark.parametrize("gram", ["dense", Nystrom(rank=20)], ids=["dense", "low rank"])
@pytest.mark.parametrize("classes", [2, 3])
def test_alpha_by_leave_one_out(classes, gram) -> None:
    use = TWO if classes == 2 else np.arange(n)
    model = KernelFisher(KERNEL, alpha="loo", gram=gram, random_state=0).fit(X[use], y[use], WEIGHT[use])
    assert model.alpha_ == model.alphas_[model.loo_losses_.argmin()]
    assert model.alphas_[0] < model.alpha_ < model.alphas_[-1]
    own = y[use][:, None] == model.classes_
    for alpha, loss in list(zip(model.alphas_, model.loo_losses_, strict=True))[4::5]:
        one = clone(model).set_params(alpha=alpha, calibration="loo").fit(X[use], y[use], WEIGHT[use])
        values = one.leave_one_out() / one.temperature_
        values = np.stack([0 * values, values], axis=1) if classes == 2 else values
        assert loss == pytest.approx(-np.average(log_softmax(values, axis=1)[own], weights=WEIGHT[use]), rel=1e-6)
    same = KernelFisher(KERNEL, alpha=model.alpha_, gram=gram, random_state=0).fit(X[use], y[use], WEIGHT[use])
    np.testing.assert_array_equal(model.decision_function(X_new), same.decision_function(X_new))


def test_a_second_fit_forgets_the_first() -> None:
    model = KernelFisher(KERNEL, alpha="loo").fit(X, y)
    assert not hasattr(model.set_params(alpha=1.0).fit(X, y), "loo_losses_")


def test_probabilities_are_those_of_the_decisions() -> None:
    for labels in (y, y == "setosa"):
        model = KernelFisher(KERNEL).fit(X, labels)
        p = model.predict_proba(X_new)
        np.testing.assert_allclose(p.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X_new))
        values = model.decision_function(X_new)
        odds = np.log(p[:, 1] / p[:, 0])
        np.testing.assert_allclose(values if values.ndim == 1 else values[:, 1] - values[:, 0], odds, atol=1e-8)


def test_features_and_their_names() -> None:
    model = KernelFisher(KERNEL, n_components=1).fit(X, y)
    everything = KernelFisher(KERNEL).fit(X, y)
    np.testing.assert_array_equal(model.transform(X), everything.transform(X)[:, :1])
    np.testing.assert_array_equal(model.decision_function(X), everything.decision_function(X))
    assert list(model.get_feature_names_out()) == ["kernelfisher0"]
    np.testing.assert_allclose(pickle.loads(pickle.dumps(model)).leave_one_out(), model.leave_one_out())


def test_precomputed_matrices() -> None:
    exact = KernelFisher(KERNEL).fit(X, y)
    model = KernelFisher("precomputed").fit(KERNEL(X), y)
    np.testing.assert_allclose(model.decision_function(KERNEL(X_new, X)), exact.decision_function(X_new), atol=1e-8)
    np.testing.assert_allclose(model.leave_one_out(), exact.leave_one_out(), atol=1e-8)


def test_every_array_library(xp) -> None:
    labels = (y == "setosa").astype(int) + 2 * (y == "virginica")
    model = KernelFisher(KERNEL).fit(xp.asarray(X), xp.asarray(labels))
    expected = KernelFisher(KERNEL).fit(X, labels)
    Z, values = (np.asarray(f(xp.asarray(X_new))) for f in (model.transform, model.decision_function))
    np.testing.assert_allclose(Z, expected.transform(X_new), atol=1e-8)
    np.testing.assert_allclose(values, expected.decision_function(X_new), atol=1e-8)
    np.testing.assert_array_equal(np.asarray(model.predict(xp.asarray(X_new))), expected.predict(X_new))
    np.testing.assert_allclose(model.predict_proba(xp.asarray(X_new)), expected.predict_proba(X_new), atol=1e-8)
    np.testing.assert_allclose(model.leave_one_out(), expected.leave_one_out(), atol=1e-8)


def test_conditionally_definite_kernels_of_order_one() -> None:
    assert KernelFisher(Power(1.0), alpha=0.1).fit(X, y).score(X, y) > 0.9
    with pytest.raises(ValueError, match=r"KernelFisher: the kernel .* INDEFINITE in dimension 4.* or a CPD\(1\) one"):
        KernelFisher(Sigmoid()).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0}, "alpha = 0 must be > 0"),
        ({"n_components": 3}, "n_components = 3 must be >= 1 and <= 2"),
        ({"priors": [0.5, 0.5]}, r"priors = \[0.5, 0.5\] must be 3 numbers > 0"),
        ({"priors": [0.5, 0.5, 0.0]}, "must be 3 numbers > 0"),
        ({"priors": "uniform"}, "priors = 'uniform' must be 3 numbers > 0"),
        ({"alpha": "cv"}, "alpha = 'cv' must be a finite number > 0, or 'loo'"),
        ({"alpha": np.ones(2)}, "alpha = .* must be a finite number > 0"),
        ({"alpha": "loo", "alphas": [1.0, 0.0]}, r"alphas = \[1.0, 0.0\] must be numbers > 0"),
        ({"calibration": "cv"}, "calibration = 'cv' is unknown"),
    ],
)
def test_bad_parameters(parameters, message) -> None:
    with pytest.raises((ValueError, TypeError), match=f"KernelFisher: .*{message}"):
        KernelFisher(KERNEL, **parameters).fit(X, y)


def test_bad_data() -> None:
    with pytest.raises(ValueError, match="y holds one class, 'setosa'"):
        KernelFisher(KERNEL).fit(X[:5], y[:5])
    for alpha in (1.0, "loo"):
        with pytest.raises(
            ValueError, match=r"all classes have the same mean under the kernel .* all samples are equal"
        ):
            KernelFisher(KERNEL, alpha=alpha).fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])
