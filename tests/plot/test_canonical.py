"""Variables and correlations against the fitted ones, and against refits to permuted pairs."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from mercer import KernelCCA, KernelPCA
from mercer.kernels.strings import Spectrum
from mercer.plot import CanonicalDisplay


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 2 * np.pi, 60)
    return (np.cos(t) + 0.1 * rng.normal(size=60))[:, None], (np.sin(t) + 0.1 * rng.normal(size=60))[:, None]


@pytest.fixture(scope="module")
def model(views):
    return KernelCCA(3, kernel="gaussian(lengthscale=0.5)", epsilon="cv", cv=3).fit(*views)


def test_variables_of_the_fit(model):
    display = CanonicalDisplay.from_estimator(model, components=(0, 2), ax=Figure().subplots(1, 3))
    for j, points in zip((0, 2), display.points_, strict=True):
        expected = np.column_stack([model.scores_[0][:, j], model.scores_[1][:, j]])
        np.testing.assert_allclose(points.get_offsets(), expected)
        r = np.corrcoef(expected.T)[0, 1]
        assert display.axes_[(0, 2).index(j)].get_title(loc="left") == f"Component {j + 1}: correlation {r:.2f}"
    np.testing.assert_allclose(display.correlations_.get_ydata(), model.correlations_)
    assert display.permuted_ is None


def test_permuted_pairings_are_fits_with_the_same_strength(views, model):
    rng = np.random.default_rng(3)
    display = CanonicalDisplay.from_estimator(model, *views, n_permutations=4, random_state=rng, ax=Figure().subplots())
    rng = np.random.default_rng(3)
    again = KernelCCA(3, kernel="gaussian(lengthscale=0.5)", epsilon=model.epsilon_.tolist())
    expected = [again.fit(views[0], views[1][rng.permutation(60)]).correlations_ for _ in range(4)]
    np.testing.assert_allclose(display.permuted, expected)
    np.testing.assert_allclose(display.permuted_.get_ydata(), np.mean(expected, axis=0))
    band = display.band_.get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(np.min(expected))
    assert band[:, 1].max() == pytest.approx(np.max(expected))
    assert display.correlations[0] > display.permuted[:, 0].max()


def test_random_pairings_of_the_choice_of_epsilon(views):
    model = KernelCCA(2, epsilon="spectrum", random_state=0, n_pairings=3).fit(*views)
    display = CanonicalDisplay.from_estimator(model, ax=Figure().subplots(1, 2))
    chosen = int(np.flatnonzero((model.epsilons_ == model.epsilon_).all(axis=1))[0])
    np.testing.assert_allclose(display.permuted, model.random_spectra_[:, chosen, :2])


def test_new_pairs_and_strings(views, model):
    new = views[0][:7] + 0.05, views[1][:7]
    display = CanonicalDisplay.from_estimator(
        model, *new, colour=np.arange(7), ax=Figure().subplots(1, 2), scatter_kw={"s": 3}
    )
    expected = np.column_stack([z[:, 0] for z in model.transform(*new)])
    np.testing.assert_allclose(display.points_[0].get_offsets(), expected)
    assert display.points_[0].get_array().tolist() == list(range(7))
    words = ["ab" * k + "b" * (k % 3) for k in range(1, 13)]
    numbers = np.arange(1.0, 13)[:, None]
    strings = KernelCCA(1, kernel=[Spectrum(1), "gaussian"]).fit(words, numbers)
    display = CanonicalDisplay.from_estimator(strings, words, numbers, n_permutations=2, ax=Figure().subplots(1, 2))
    assert display.permuted.shape == (2, 1)


def test_refuses(views, model):
    ax = Figure().subplots()
    with pytest.raises(TypeError, match="KernelPCA has no canonical variables; pass a fitted KernelCCA"):
        CanonicalDisplay.from_estimator(KernelPCA(), ax=ax)
    with pytest.raises(TypeError, match="pass a fitted KernelCCA"):
        CanonicalDisplay.from_estimator(KernelCCA(), ax=ax)
    with pytest.raises(ValueError, match="needs the training sample"):
        CanonicalDisplay.from_estimator(model, n_permutations=3, ax=ax)
    with pytest.raises(ValueError, match="pass both views"):
        CanonicalDisplay.from_estimator(model, views[0], ax=ax)
    with pytest.raises(ValueError, match="components = 3 must be >= 0 and <= 2"):
        CanonicalDisplay.from_estimator(model, components=(3,), ax=ax)
    with pytest.raises(ValueError, match=r"colour has shape \(60,\) and type <U1; pass a number for each of 60"):
        CanonicalDisplay.from_estimator(model, colour=["a"] * 60, ax=ax)
    three = KernelCCA(1).fit([views[0], views[1], views[0] ** 2])
    with pytest.raises(ValueError, match="the model has 3 views"):
        CanonicalDisplay.from_estimator(three, ax=ax)
