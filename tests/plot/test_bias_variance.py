"""Bias and variance of linear smoothers, where both are known in closed form."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.kernel_ridge import KernelRidge as TheirRidge
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor

from mercer import KernelRidge
from mercer.kernels import Gaussian
from mercer.kernels.strings import Spectrum
from mercer.plot import BiasVarianceDisplay

X = np.linspace(0, 1, 12)[:, None]
NEW = np.linspace(0.05, 0.95, 7)[:, None]
SIGMA = 0.3


def truth(X):
    return np.sin(6 * X[:, 0])


def draw(rng):
    """Noise on a fixed design, so that ridge regression is a linear map of it."""
    return X, truth(X) + SIGMA * rng.normal(size=12)


def closed_form(lengthscale, alpha):
    """bias² = mean (S f − f)², variance = σ² mean Σ S², S = k(new, X)(K + αI)⁻¹."""

    def k(A, B):
        return np.exp(-((A - B.T) ** 2) / (2 * lengthscale**2))

    S = k(NEW, X) @ np.linalg.inv(k(X, X) + alpha * np.eye(12))
    return np.mean((S @ truth(X) - truth(NEW)) ** 2), SIGMA**2 * np.mean((S**2).sum(axis=1))


@pytest.fixture(scope="module")
def ridge():
    return KernelRidge(kernel=Gaussian(0.2))


def test_simulation_agrees_with_the_closed_form():
    ax = Figure().subplots()
    model = TheirRidge(kernel="rbf", gamma=1 / (2 * 0.2**2))
    alphas = [10.0, 0.1, 0.001]
    display = BiasVarianceDisplay.from_simulation(
        model, draw, NEW, truth(NEW), values={"alpha": alphas}, n_repeats=400, noise=SIGMA**2, random_state=0, ax=ax
    )
    expected = np.array([closed_form(0.2, a) for a in alphas])
    # a variance of 400 draws has the relative standard error √(2/400) = 0.07 at one point, bias² that of a mean
    np.testing.assert_allclose(display.lines_["variance"].get_ydata(), expected[:, 1], rtol=0.2)
    spread = 3 * (2 * np.sqrt(expected[:, 0] * expected[:, 1] / 400) + expected[:, 1] / 400)
    assert (np.abs(display.lines_["bias"].get_ydata() - expected[:, 0]) < spread).all()
    np.testing.assert_allclose(display.lines_["error"].get_ydata(), display.bias + display.variance + SIGMA**2)
    assert display.best_[0].get_xdata()[0] == alphas[int(np.argmin(display.error))]
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "alpha"


def test_two_parameters(ridge):
    values = {"kernel__lengthscale": [0.05, 0.2, 1.0], "alpha": [0.001, 10.0]}
    display = BiasVarianceDisplay.from_simulation(
        ridge, draw, NEW, truth(NEW), values=values, n_repeats=12, random_state=0, ax=Figure().subplots(1, 3)
    )
    assert display.error.shape == (3, 2)
    one = BiasVarianceDisplay.from_simulation(
        KernelRidge(kernel=Gaussian(1.0), alpha=10.0),
        draw,
        NEW,
        truth(NEW),
        values={"alpha": [10.0]},
        n_repeats=12,
        random_state=0,
        ax=Figure().subplots(),
    )
    assert display.variance[2, 1] == pytest.approx(one.variance[0])  # the same samples for all values
    shown = display.images_["variance"].get_array()
    kept = display.variance > display.images_["variance"].norm.vmin
    np.testing.assert_allclose(shown[kept], display.variance[kept])
    row, column = np.unravel_index(display.error.argmin(), (3, 2))
    x, y = display.best_[0].get_xydata()[0]
    assert (y, x) == (values["kernel__lengthscale"][row], values["alpha"][column])
    assert display.axes_[0].get_ylabel() == "lengthscale"
    assert display.axes_[0].get_yscale() == "log"
    assert len({id(image.norm) for image in display.images_.values()}) == 1
    corners = display.images_["error"].get_coordinates()[:, :, 0]
    np.testing.assert_allclose(corners[0], [1e-5, 0.1, 1000])  # halfway on the logarithmic axis


def test_bootstrap_by_hand():
    rng = np.random.default_rng(0)
    A, b = rng.normal(size=(15, 1)), rng.normal(size=15)
    display = BiasVarianceDisplay.from_bootstrap(
        KNeighborsRegressor(),
        A,
        b,
        values={"n_neighbors": [1, 3]},
        n_repeats=8,
        ax=Figure().subplots(),
        random_state=np.random.default_rng(5),
    )
    rng = np.random.default_rng(5)
    draws = [rng.integers(15, size=15) for _ in range(8)]
    for j, k in enumerate((1, 3)):
        predicted = {i: [] for i in range(15)}
        for drawn in draws:
            model = KNeighborsRegressor(k).fit(A[np.sort(drawn)], b[np.sort(drawn)])
            for i in set(range(15)) - set(drawn.tolist()):
                predicted[i].append(model.predict(A[[i]])[0])
        kept = [i for i in range(15) if len(predicted[i]) >= 2]
        errors = [np.mean((np.array(predicted[i]) - b[i]) ** 2) for i in kept]
        assert display.error[j] == pytest.approx(np.mean(errors))
        assert display.variance[j] == pytest.approx(np.mean([np.var(predicted[i]) for i in kept]))
    assert display.lines_["bias"].get_label() == "Bias² + noise"


def test_strings_and_values_that_are_no_numbers():
    words = ["ab" * (1 + k % 4) + "b" * (k % 3) for k in range(16)]
    lengths = np.array([float(len(w)) for w in words])
    model = KernelRidge(kernel=Spectrum(1))
    display = BiasVarianceDisplay.from_bootstrap(
        model,
        words,
        lengths,
        values={"kernel": [Spectrum(1), Spectrum(2)]},
        n_repeats=6,
        random_state=0,
        ax=Figure().subplots(),
    )
    assert display.lines_["error"].get_xdata().tolist() == [0, 1]
    assert np.isfinite(display.error).all()


def test_refuses(ridge):
    ax = Figure().subplots()
    b = truth(X)
    with pytest.raises(ValueError, match="one or two parameters"):
        BiasVarianceDisplay.from_bootstrap(ridge, X, b, values={}, ax=ax)
    with pytest.raises(ValueError, match="n_repeats = 1 must be >= 2"):
        BiasVarianceDisplay.from_bootstrap(ridge, X, b, values={"alpha": [1.0]}, n_repeats=1, ax=ax)
    with pytest.raises(ValueError, match="pass a regressor with one target"):
        BiasVarianceDisplay.from_simulation(
            LogisticRegression(), lambda rng: (X, (b > 0).astype(str)), NEW, truth(NEW), values={"C": [1.0]}, ax=ax
        )
