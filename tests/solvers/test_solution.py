"""Solutions: why a solver ended, how good the answer is, and files from before there was a status."""

import json
import pickle

import numpy as np
import pytest

import mercer
from mercer import SVC, KernelRidge
from mercer.context import Status
from mercer.solvers.linear import LinearSolution
from mercer.solvers.solution import Certificate, Solution, upgraded

X = np.random.default_rng(0).normal(size=(30, 2))


def test_what_a_solution_says() -> None:
    whole, early = Solution(), Solution(status=Status.MAX_ITER, n_iter=3, method="m")
    assert whole.converged and whole.message == "" and whole.certificate is None
    assert not early.converged and early.message == "max_iter is reached"
    assert str(Certificate("residual", 0.125)) == "a residual of 0.12"


def test_certificates_of_fits() -> None:
    y = X[:, 0] > 0
    machine = SVC().fit(X, y).solutions_[0]
    assert machine.certificate == Certificate("violation", machine.gap) and machine.gap <= 1e-3
    ridge = KernelRidge(kernel="rbf").fit(X, X[:, 0]).solution_
    assert ridge.certificate is not None and ridge.certificate.kind == "residual" and ridge.certificate.value < 1e-12


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ({"converged": True, "message": ""}, Status.CONVERGED),
        ({"converged": True}, Status.CONVERGED),
        ({"converged": False, "message": "max_iter = 3 steps were taken"}, Status.MAX_ITER),
        ({"converged": False, "message": "the time budget of 2 s is spent"}, Status.TIME_BUDGET),
        ({"converged": False, "message": "interrupted"}, Status.INTERRUPTED),
        ({"converged": False, "message": "a callback asked to stop"}, Status.STOPPED),
        ({"converged": False, "message": "no step lowers the objective"}, Status.NO_DESCENT),
    ],
)
def test_states_of_before(state, status) -> None:
    made = LinearSolution.__new__(LinearSolution)
    made.__setstate__({"coefficients": 1.0, **state})
    assert (
        made.status is status
        and made.converged == state["converged"]
        and vars(made).keys()
        == {
            "coefficients",
            "status",
        }
    )
    assert upgraded(vars(made)) == vars(made)
    assert pickle.loads(pickle.dumps(made)).status is status


def test_a_file_of_before_is_read(tmp_path) -> None:
    """The entry of a status in a file, replaced by what stood there before."""
    from mercer.io._decoder import Decoder
    from mercer.io._encoder import Encoder

    model = SVC().fit(X, X[:, 0] > 0)
    model.solutions_ = list(model.solutions_)  # which files of that time have
    encoder = Encoder()
    text = json.dumps(encoder.encode(model))
    new = '["status", {"status": "CONVERGED"}]'
    assert new in text
    old = json.loads(text.replace(new, '["converged", true], ["message", ""]'))
    again = Decoder(encoder.arrays.__getitem__, {}).model(old)
    assert again.solutions_[0].status is Status.CONVERGED and np.array_equal(again.predict(X), model.predict(X))
    mercer.save(model, tmp_path / "new")
    assert mercer.load(tmp_path / "new").solutions_[0].status is Status.CONVERGED
