import numpy as np
import pytest

from mercer.gram import Auto, Centered, Dense, Nystrom, as_representation
from mercer.gram.auto import NAMES, NEEDS
from mercer.kernels import Gaussian, Linear


def choice(memory, kernel, X):
    return Auto(memory).build(kernel, X, np.random.default_rng(0))


X = np.ones((50, 2))


def test_dense_where_it_fits():
    gram = choice(8 * 50 * 50, Gaussian(), X)
    assert type(gram).__name__ == "DenseGram"
    assert gram.choice == "Dense: the 50 × 50 matrix needs 20.0 kB, within the budget of 20.0 kB"


def test_single_precision_needs_half():
    assert choice(4 * 50 * 50, Gaussian(), X.astype("float32")).choice.startswith("Dense")
    assert choice(4 * 50 * 50, Gaussian(), X).choice.startswith("Lazy")


def test_few_features_give_an_exact_factor():
    assert choice(1000, Linear(), X).choice.endswith("the kernel has 2 explicit features")
    assert choice(1000, Linear(), np.ones((50, 13))).choice.startswith("Lazy")


def test_centring_keeps_the_choice():
    gram = Centered(Auto(1000)).build(Gaussian(), X, np.random.default_rng(0))
    assert gram.choice.startswith("Lazy: the 50 × 50 matrix needs")


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    assert type(as_representation(name)) is NAMES[name]


def test_objects_pass():
    representation = Nystrom(rank=3)
    assert as_representation(representation) is representation


@pytest.mark.parametrize("bad", ["nystroem", None, Dense])
def test_unknown(bad):
    with pytest.raises(ValueError, match="give a representation, a Gram operator or one of 'auto', 'dense'"):
        as_representation(bad)


def test_budget():
    with pytest.raises(ValueError, match="Auto: memory = 0 must be > 0"):
        choice(0, Gaussian(), X)


def test_a_factor_beyond_the_budget_is_not_made():
    assert choice(8 * 50 * 2, Linear(), X).choice.startswith("LowRank")
    assert choice(8 * 50 * 2 - 1, Linear(), X).choice.startswith("Lazy")


def test_a_factor_may_be_preferred_to_a_matrix_that_fits():
    gram = as_representation("auto", "factor").build(Linear(), X, np.random.default_rng(0))
    assert gram.rank == 2
    assert gram.choice == (
        "LowRank: the 50 × 50 matrix needs 20.0 kB, within the budget of 2.1 GB; the kernel has 2 explicit features"
    )
    for kernel, sample in ((Gaussian(), X), (Linear(), np.ones((50, 13)))):
        assert Auto(needs="factor").build(kernel, sample, np.random.default_rng(0)).choice.startswith("Dense")


def test_what_a_method_needs_decides():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(520, 3))
    found = {needs: Auto(needs=needs).build(Gaussian(), X).choice.split(":")[0] for needs in NEEDS}
    assert found == {"matrix": "Dense", "factor": "Dense", "products": "Packed", "rows": "Lazy"}
    found = {needs: Auto(needs=needs).build(Linear(), X).choice.split(":")[0] for needs in NEEDS}
    assert found == {"matrix": "Dense", "factor": "LowRank", "products": "Dense", "rows": "Lazy"}
    with pytest.raises(ValueError, match="Auto: needs = 'columns'"):
        Auto(needs="columns").build(Linear(), X)


@pytest.mark.parametrize(("factor", "needs"), [(False, "matrix"), (True, "factor")])
def test_states_of_earlier_versions(factor, needs):
    old = Auto.__new__(Auto)
    old.__setstate__({"memory": 5, "factor": factor})
    assert old.get_params() == {"memory": 5, "needs": needs, "n_jobs": None}
