"""What the displays share."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import KernelPCA, KernelRidge
from mercer._palette import COLOURS, MARKERS
from mercer.kernels import Gaussian
from mercer.plot import ComponentsDisplay, DigitsDisplay, GramDisplay, SpectrumDisplay
from mercer.plot._base import Display, about_zero, colours, style


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, mercer.plot; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_each_colour_has_a_marker():
    assert len(set(COLOURS)) == len(COLOURS) == len(set(MARKERS)) == len(MARKERS)


def test_colours_beyond_the_palette():
    assert colours(3) == list(COLOURS[:3])
    assert [len({tuple(c) for c in colours(n)}) for n in (10, 20)] == [10, 20]


class Panels(Display):
    """Three of them."""

    def plot(self, ax=None, columns=None):
        self._panels(ax, 3, (2.0, 1.5), columns)
        return self


def test_panels_of_a_new_figure():
    plt.switch_backend("agg")
    display = Panels().plot(columns=2)
    assert display.figure_.get_size_inches().tolist() == [4, 3]
    assert len(display.axes_) == 3
    assert display.ax_ is display.axes_[0]
    plt.close(display.figure_)


def test_one_axes_is_divided():
    figure = Figure(layout="constrained")
    left, right = figure.subplots(1, 2)
    display = Panels().plot(ax=right)
    figure.draw_without_rendering()
    assert not right.axison
    assert left.axison
    place = [panel.get_position() for panel in display.axes_]
    assert all(p.x0 > left.get_position().x1 for p in place)
    assert all(a.x1 < b.x0 for a, b in pairwise(place))


def test_given_axes_are_taken():
    axes = Figure().subplots(1, 3)
    assert all(a is b for a, b in zip(Panels().plot(ax=axes).axes_, axes, strict=True))
    with pytest.raises(ValueError, match="Panels: 2 axes for 3 panels"):
        Panels().plot(ax=axes[:2])


def test_keywords_of_the_user_come_first_however_they_are_spelt():
    assert style({"c": "red", "lw": 2}, color="blue", linewidth=1, alpha=0.5) == {
        "color": "red",
        "linewidth": 2,
        "alpha": 0.5,
    }
    assert style({"edgecolors": "k"}, edgecolor="white") == {"edgecolor": "k"}
    assert style(None, s=3) == {"s": 3}


def test_values_of_both_signs_share_a_middle():
    look = about_zero(np.array([-1.0, 3.0]))
    assert (look["vmin"], look["vmax"]) == (-3, 3)
    assert np.allclose(look["cmap"](0.5), (0.98, 0.98, 0.98, 1), atol=0.01)
    assert about_zero(np.zeros(3))["vmax"] == 1


@pytest.mark.parametrize(
    "draw",
    [
        lambda X, y: ComponentsDisplay.from_estimator(KernelPCA(2).fit(X), X, y),
        lambda X, y: ComponentsDisplay.from_estimator(KernelPCA(1).fit(X), X, y),
        lambda X, y: GramDisplay.from_kernel("linear", X, y),
        lambda X, y: DigitsDisplay.from_images(X, captions=y, shape=(1, 2)),
        lambda X, y: DigitsDisplay.from_rows({y[0]: X}, shape=(1, 2)),
    ],
    ids=["components", "histograms", "gram", "captions", "rows"],
)
def test_names_from_the_data_are_no_mathematics(draw):
    X = np.arange(8.0).reshape(4, 2) ** 2
    display = draw(X, np.array([r"$\frac$", "_b"] * 2))  # as mathematics, this is an error
    display.figure_.draw_without_rendering()
    plt.close(display.figure_)


def test_legends_stay_within_figures_that_make_no_room():
    X, y = np.arange(16.0).reshape(8, 2) ** 2, list("abababab")
    figure = plt.figure()
    axes = figure.subplots(1, 2)
    display = ComponentsDisplay.from_estimator(KernelPCA(2).fit(X), X, y, ax=axes[0])
    figure.draw_without_rendering()
    frame, inside = display.ax_.get_legend().get_window_extent(), axes[0].get_window_extent()
    assert inside.x0 <= frame.x0 < frame.x1 <= inside.x1
    assert inside.y0 <= frame.y0 < frame.y1 <= inside.y1
    plt.close(figure)


@pytest.mark.parametrize("kind", [GramDisplay, SpectrumDisplay])
def test_pipelines_show_the_matrix_that_the_kernel_sees(kind):
    X = np.random.default_rng(0).normal(size=(12, 2)) * [1, 1000]
    Z = StandardScaler().fit_transform(X)
    ridge = KernelRidge(kernel=Gaussian(1.5))
    search = GridSearchCV(make_pipeline(StandardScaler(), ridge), {"kernelridge__alpha": [0.1]}, cv=2).fit(X, Z[:, 0])
    display = kind.from_estimator(search, X, ax=Figure().subplots())
    K = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2) / (2 * 1.5**2))
    if kind is GramDisplay:
        np.testing.assert_allclose(display.matrix, K, atol=1e-12)
    else:
        np.testing.assert_allclose(display.eigenvalues, np.linalg.eigvalsh(K)[::-1], atol=1e-12)
        assert display.line_.get_ydata()[0] == 0.1
