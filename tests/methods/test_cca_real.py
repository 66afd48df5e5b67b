"""KernelCCA on real data: retrieval across views against linear correlation, and large samples by low rank."""

import gzip
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold

from mercer.gram import Nystrom
from mercer.kernels import ChiSquared, Gaussian, Linear
from mercer.methods.cca import KernelCCA

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def retrieval():
    """benchmarks/retrieval.py, with its splits and measures."""
    path = Path(__file__).parents[2] / "benchmarks" / "retrieval.py"
    spec = spec_from_file_location("retrieval", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_images_and_texts(data_dir, retrieval) -> None:
    fit, test = retrieval.crossmodal(data_dir, 1000)
    assert [len(a) for a in test] == [693] * 3 and fit[0].shape == (1000, 128) and fit[1].shape == (1000, 10)
    linear, ours = retrieval.theirs(9, fit, test), retrieval.ours(ChiSquared(1.0), 9, fit, test)
    chance = np.mean(test[2][:, None] == test[2])
    assert ours[1] > linear[1] > 1.5 * chance  # texts of an image's class
    assert ours[3] > linear[3] > 1.5 * chance  # images of a text's class


def test_views_of_digits(data_dir, retrieval) -> None:
    fit, test = retrieval.mfeat(data_dir, 1000)
    linear, ours = retrieval.theirs(20, fit, test), retrieval.ours(Gaussian("median"), 20, fit, test)
    assert all(a > b for a, b in zip(ours, linear, strict=True))
    assert min(ours[0], ours[2]) > 10 * np.mean(1 / np.arange(1, 701))  # of the pair, by chance


def test_halves_of_documents(data_dir, retrieval) -> None:
    fit, test = retrieval.halves(data_dir, 1000)
    linear, ours = retrieval.theirs(100, fit, test), retrieval.ours(Linear(), 100, fit, test)
    assert all(a > b for a, b in zip(ours, linear, strict=True))
    assert min(ours[0], ours[2]) > 10 * np.mean(1 / np.arange(1, 501))


def test_three_views_of_digits_by_low_rank(data_dir) -> None:
    data = np.load(data_dir / "mfeat" / "mfeat.npz")
    order = np.random.default_rng(0).permutation(2000)
    views = [data[name][order].astype(float) for name in ("fou", "kar", "zer")]
    views = [(X - X[:1500].mean(axis=0)) / X[:1500].std(axis=0) for X in views]
    models = [KernelCCA(5, gram=gram, random_state=0).fit([X[:600] for X in views]) for gram in ("dense", "nystrom")]
    held_out = [model.correlations([X[1500:] for X in views]) for model in models]
    assert held_out[0].min() > 0.7
    assert np.abs(held_out[0] - held_out[1]).max() < 0.03


def test_cross_validation_chooses_nearly_the_best_penalty_for_new_samples(data_dir, retrieval) -> None:
    fit, test = retrieval.mfeat(data_dir, 400)
    parameters = {"kernel": Gaussian("median"), "n_components": 5}
    chosen = KernelCCA(epsilon="cv", cv=KFold(4), **parameters).fit(*fit[:2])
    scores = [KernelCCA(epsilon=e, **parameters).fit(*fit[:2]).score(*test[:2]) for e in chosen.epsilons_]
    assert max(scores) - min(scores) > 0.1
    assert chosen.score(*test[:2]) > max(scores) - 0.02


def test_fifty_thousand_digits_by_low_rank(data_dir) -> None:
    """Left and right halves of digits: components of a large sample hold on as well for digits that were left out."""
    with gzip.open(data_dir / "mnist" / "train-images-idx3-ubyte.gz", "rb") as file:
        X = np.frombuffer(file.read(), np.uint8, offset=16).reshape(-1, 28, 28)
    left, right = (X[:, :, half].reshape(len(X), -1).astype(np.float32) / 255 for half in (slice(0, 14), slice(14, 28)))
    model = KernelCCA(10, kernel=Gaussian(5.0), gram=Nystrom(rank=200), random_state=0).fit(
        left[:50_000], right[:50_000]
    )
    known, new = (model.correlations(left[part], right[part]) for part in (slice(0, 50_000), slice(50_000, None)))
    assert new.min() > 0.4
    assert np.abs(known - new).max() < 0.05
