"""Long work: time budgets, Ctrl-C, callbacks, and checkpoints that survive a kill, in processes of their own."""

import json
import pickle
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from mercer import SVC, SVR, NuSVC, NuSVR, OneClassSVM, _checkpoint
from mercer.solvers.fit import boxes, multiclass, working_set

A, b = make_classification(900, 8, n_informative=8, n_redundant=0, n_classes=3, flip_y=0.1, random_state=4)
TWO, TARGET = b < 2, A[:, 0] * np.sin(A[:, 1])

MACHINES = {
    "binary": (SVC(C=50.0, gamma=0.1), TWO),
    "pairs": (SVC(C=50.0, gamma=0.1), None),
    "against the rest": (SVC(C=50.0, gamma=0.1, multi_class="ovr"), None),
    "calibrated": (SVC(C=5.0, gamma=0.1, calibration="cv"), TWO),
    "calibrated pairs": (SVC(C=5.0, gamma=0.1, calibration="cv"), None),
    "hard": (SVC(C=np.inf, gamma=1.0), TWO),
    "squared": (SVC(C=50.0, gamma=0.1, loss="squared_hinge"), TWO),
    "crammer_singer": (SVC(C=5.0, gamma=0.1, multi_class="crammer_singer"), None),
    "nu": (NuSVC(nu=0.2, gamma=0.1), None),
    "regression": (SVR(C=50.0, gamma=0.1), None),
    "nu regression": (NuSVR(C=50.0, gamma=0.1), None),
    "one class": (OneClassSVM(nu=0.3, gamma=0.1), None),
    "calibrated one class": (OneClassSVM(nu=0.3, gamma=0.1, calibration="cv"), None),
    "one class, hinge": (OneClassSVM(C=0.5, gamma=0.1), None),
}


@pytest.fixture(autouse=True)
def many_rounds(monkeypatch) -> None:
    """Problems of this size are solved in one round otherwise, on a matrix that is held."""
    monkeypatch.setattr(working_set, "SMALL", 0)
    monkeypatch.setattr(boxes, "SMALL", 0)
    monkeypatch.setattr(boxes, "HELD", 0)


def task(name):
    """A fresh machine and the data to fit it to."""
    model, few = MACHINES[name]
    few = slice(None) if few is None else few
    if isinstance(model, OneClassSVM):
        return clone(model), (A,)
    return clone(model), (A[few], (TARGET if isinstance(model, (SVR, NuSVR)) else b)[few])


def usable(model) -> bool:
    values = np.asarray(model.predict(A))
    if hasattr(model, "predict_proba"):
        assert np.all(np.isfinite(model.predict_proba(A)))
    return values.shape == (900,) and (values.dtype.kind != "f" or bool(np.all(np.isfinite(values))))


def objectives(model) -> np.ndarray:
    return np.array([s.objective for s in model.solutions_])


# ---- a time budget


@pytest.mark.parametrize("name", list(MACHINES))
def test_a_time_budget_ends_with_a_usable_machine(name) -> None:
    model, data = task(name)
    model.set_params(time_budget=1e-9)
    with pytest.warns(ConvergenceWarning, match=r"time budget is spent"):
        model.fit(*data)
    assert model.fit_status_ == 1 and usable(model)


# ---- callbacks


class Recorder:
    """Remembers what it is told; may stop, signal or fail after some rounds."""

    max_propagation_depth = None

    def __init__(self, after=None, action=None):
        self.events, self.rounds, self.after, self.action = [], 0, after, action

    def setup(self, estimator, context):
        self.events.append(("setup", ""))

    def teardown(self, estimator, context):
        self.events.append(("teardown", ""))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.events.append(("end", context.task_name))
        self.rounds += context.task_name == "round"
        if self.action is None or context.task_name != "round" or self.rounds != self.after:
            return False
        return self.action()


TASKS = {
    "binary": {"0 against 1"},
    "pairs": {"0 against 1", "0 against 2", "1 against 2"},
    "against the rest": {"0 against the rest", "1 against the rest", "2 against the rest"},
    "calibrated": {"0 against 1", *(f"0 against 1, fold {k}" for k in range(1, 6))},
    "crammer_singer": {"machine"},
    "regression": {"machine"},
    "nu regression": {"machine"},
    "one class": {"machine"},
    "calibrated one class": {"machine", *(f"fold {k}" for k in range(1, 6))},
}


@pytest.mark.parametrize("name", list(MACHINES))
def test_callbacks_are_told_of_every_machine_once(name) -> None:
    model, data = task(name)
    model.set_params(n_jobs=1)
    plain = clone(model).fit(*data)
    recorder = Recorder()
    model.set_callbacks(recorder).fit(*data)
    events = [e for e in recorder.events if e[1] != "round"]
    assert events[:2] == [("setup", ""), ("begin", "fit")]
    assert events[-2:] == [("end", "fit"), ("teardown", "")]
    begun, ended = ([e[1] for e in events[2:-2] if e[0] == what] for what in ("begin", "end"))
    assert sorted(begun) == sorted(ended) and len(set(begun)) == len(begun)
    if name in TASKS:
        assert set(begun) == TASKS[name]
    folds = sum("fold" in e for e in begun)
    assert folds == {"calibrated": 5, "calibrated pairs": 15, "calibrated one class": 5}.get(name, 0)
    if not folds and name != "hard":
        assert recorder.rounds == sum(s.n_iter for s in model.solutions_)
    assert np.array_equal(objectives(model), objectives(plain))
    assert not hasattr(model, "_callback_fit_ctx") and not hasattr(plain, "_callback_fit_ctx")


@pytest.mark.parametrize("name", list(MACHINES))
def test_a_callback_can_stop(name) -> None:
    model, data = task(name)
    model.set_callbacks(Recorder(1, lambda: True))
    with pytest.warns(ConvergenceWarning, match="a callback asked to stop"):
        model.fit(*data)
    assert model.fit_status_ == 1 and usable(model)


@pytest.mark.parametrize("name", ["binary", "pairs"])
def test_a_callback_that_fails_ends_the_fit(name) -> None:
    def fails():
        raise ZeroDivisionError("of the callback")

    model, data = task(name)
    recorder = Recorder(2, fails)
    with pytest.raises(ZeroDivisionError, match="of the callback"):
        model.set_callbacks(recorder).fit(*data)
    assert recorder.events[-1] == ("teardown", "") and not hasattr(model, "_callback_fit_ctx")


def test_a_model_with_callbacks_can_be_copied_and_pickled() -> None:
    model, data = task("pairs")
    model.set_callbacks(Recorder()).fit(*data)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(A), model.predict(A))
    assert np.array_equal(clone(model).fit(*data).predict(A), model.predict(A))


def test_a_search_passes_its_callbacks_on() -> None:
    recorder = Recorder()
    search = GridSearchCV(SVC(gamma=0.1), {"C": [1.0, 10.0]}, cv=2).set_callbacks(recorder)
    search.fit(A[:200], b[:200])
    assert sum(e == ("begin", "0 against 1") for e in recorder.events) == 5  # two settings, two folds, and the refit
    assert recorder.events[-1] == ("teardown", "") and recorder.events.count(("teardown", "")) == 1


@pytest.mark.parametrize("name", ["binary", "pairs", "calibrated", "hard", "one class", "search"])
def test_the_progress_bar_of_scikit_learn(name, capsys) -> None:
    pytest.importorskip("rich", reason="scikit-learn's progress bar needs rich")
    model, data = task("pairs" if name == "search" else name)
    if name == "search":
        model = GridSearchCV(model, {"C": [1.0, 2.0]}, cv=2)
    model.set_callbacks(ProgressBar()).fit(*data)
    assert usable(model) and type(model).__name__ in capsys.readouterr().out


@pytest.mark.parametrize("name", ["calibrated", "calibrated one class"])
def test_a_calibration_that_is_ended_is_reported(name) -> None:
    """The machine itself is whole, and its probabilities are not."""
    model, data = task(name)
    whole = clone(model).fit(*data)
    ending = Recorder(sum(s.n_iter for s in whole.solutions_) + 1, lambda: True)
    with pytest.warns(
        ConvergenceWarning, match="asked to stop.* in the calibration, so that probabilities are inaccurate"
    ):
        model.set_params(n_jobs=1).set_callbacks(ending).fit(*data)
    assert model.fit_status_ == 1 and all(s.converged for s in model.solutions_)
    assert np.array_equal(model.decision_function(A), whole.decision_function(A))


# ---- checkpoints


def steps(monkeypatch):
    """A list that takes the inner steps of every problem solved from here on."""
    taken = []

    def counted(solve):
        def counting(*args):
            solution = solve(*args)
            taken.append(solution.inner_iter)
            return solution

        return counting

    for problem in (working_set.BoxProblem, multiclass.MulticlassProblem):
        monkeypatch.setattr(problem, "minimise", counted(problem.minimise))
    return taken


@pytest.mark.parametrize("name", list(MACHINES))
def test_a_finished_checkpoint_leaves_nothing_to_do(name, tmp_path, monkeypatch) -> None:
    model, data = task(name)
    model.set_params(checkpoint=tmp_path / "file").fit(*data)
    taken = steps(monkeypatch)
    again = clone(model).fit(*data)
    assert len(taken) > 0 and not any(taken)
    assert np.array_equal(again.support_, model.support_)
    assert np.allclose(again.dual_coef_, model.dual_coef_, rtol=1e-12, atol=0)
    assert np.allclose(again.intercept_, model.intercept_, rtol=1e-6, atol=1e-9)


def test_many_short_machines_are_written_once(tmp_path, monkeypatch) -> None:
    writes = []
    write = _checkpoint.Checkpoint.write
    monkeypatch.setattr(_checkpoint.Checkpoint, "write", lambda self: (writes.append(len(self.states)), write(self)))
    monkeypatch.setattr(_checkpoint, "SECONDS", 1e6)
    model, data = task("calibrated pairs")
    model.set_params(checkpoint=tmp_path / "file").fit(*data)
    assert writes == [18]  # three machines with five folds each


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_was_stopped_goes_on(tmp_path) -> None:
    model, data = task("pairs")
    model.set_params(checkpoint=str(tmp_path / "file"), tol=1e-5)
    cold = clone(model).set_params(checkpoint=None).fit(*data)
    model.set_params(max_iter=500).fit(*data)
    assert model.fit_status_ == 1 and model.n_iter_.max() <= 500
    # limits, tolerance, threads and memory may change
    model.set_params(max_iter=-1, n_jobs=1, cache_size=50, tol=2e-5).fit(*data)
    assert model.fit_status_ == 0 and np.all(model.n_iter_ < cold.n_iter_)
    assert np.allclose(objectives(model), objectives(cold), rtol=1e-6)


def forged(path, change):
    """The checkpoint with its states changed, and a digest that fits."""
    with np.load(path) as file:
        content = {name: file[name] for name in file.files if name != "digest"}
    for name in content:
        if name != "marks":
            state, _, part = name.rpartition("/")
            content[name] = change(part, content[name], content.get(f"{state}/values"))
    with open(path, "wb") as stream:
        np.savez(stream, digest=_checkpoint._digest(content), **content)


def beta_only(change):
    return lambda part, value, values: change(value) if part == "beta" else value


def moved(beta):
    """A feasible point of each equality no longer: one coefficient is halved."""
    out = beta.copy()
    largest = np.unravel_index(np.abs(beta).argmax(), beta.shape)
    out[largest] /= 2
    return out


def with_nan(beta):
    out = beta.copy()
    out.flat[3] = np.nan
    return out


FORGERIES = {
    "nan": (beta_only(with_nan), "finite numbers"),
    "infinite values": (lambda part, value, _: value if part == "beta" else value * np.inf, "values are not finite"),
    "outside": (beta_only(lambda beta: 1e3 * beta), "exceed their bounds"),
    "signs": (beta_only(lambda beta: -beta), "exceed their bounds"),
    "swapped": (lambda part, value, values: values if part == "beta" else value, "(exceed their bounds|required sum)"),
    "sum": (beta_only(moved), "do not have the required sum"),
    "short": (beta_only(lambda beta: beta[:-1]), "finite numbers"),
    "single": (beta_only(lambda beta: beta.astype(np.float32)), "finite numbers"),
}


@pytest.mark.filterwarnings("ignore:invalid value encountered in multiply")
@pytest.mark.parametrize("name", ["binary", "nu", "crammer_singer", "one class"])
@pytest.mark.parametrize("forgery", list(FORGERIES))
def test_states_of_no_problem_are_refused(name, forgery, tmp_path) -> None:
    model, data = task(name)
    model.set_params(checkpoint=tmp_path / "file").fit(*data)
    change, message = FORGERIES[forgery]
    forged(tmp_path / "file", change)
    with pytest.raises(ValueError, match=rf"checkpoint = .*file' holds a state of .*{message}.* Delete it, or choose"):
        clone(model).fit(*data)


@pytest.mark.parametrize("name", ["binary", "nu", "squared", "crammer_singer", "regression", "one class"])
@pytest.mark.parametrize(
    "change",
    [
        lambda part, value, _: value if part == "beta" else np.zeros_like(value),
        lambda part, value, _: value if part == "beta" else value[::-1].copy(),
        lambda part, value, _: value if part == "beta" else np.where(np.arange(len(value)) == 7, 1e3, value.T).T,
    ],
    ids=["zero", "reversed", "one"],
)
@pytest.mark.parametrize("tol", [1e-3, 1e-6])  # kernel rows in single and in double precision
def test_values_of_another_beta_are_computed_anew(name, change, tol, tmp_path) -> None:
    model, data = task(name)
    model.set_params(checkpoint=tmp_path / "file", tol=tol).fit(*data)
    forged(tmp_path / "file", change)
    again = clone(model).fit(*data)
    assert again.fit_status_ == 0
    assert np.allclose(objectives(again), objectives(model), rtol=10 * tol)
    assert np.allclose(again.dual_coef_, model.dual_coef_, atol=20 * tol * np.abs(model.dual_coef_).max())


@pytest.mark.parametrize("name", ["pairs", "crammer_singer", "regression"])
def test_a_disk_that_fills_up_does_not_end_the_fit(name, tmp_path, monkeypatch) -> None:
    model, data = task(name)
    expected = clone(model).fit(*data)
    monkeypatch.setattr(_checkpoint, "SECONDS", 0.0)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_checkpoint.np, "savez", full)
    with pytest.warns(UserWarning, match=r"could not be written .*No space left on device.* continues") as caught:
        model.set_params(checkpoint=tmp_path / "file", n_jobs=1).fit(*data)
    assert len(caught) == 1 and model.fit_status_ == 0 and not list(tmp_path.iterdir())
    assert np.array_equal(objectives(model), objectives(expected))


def test_a_folder_that_vanishes_does_not_end_the_fit(tmp_path, monkeypatch) -> None:
    (tmp_path / "folder").mkdir()
    model, data = task("regression")
    model.set_callbacks(Recorder(1, lambda: (tmp_path / "folder").rmdir()))
    monkeypatch.setattr(_checkpoint, "SECONDS", 1e6)
    with pytest.warns(UserWarning, match="could not be written .*folder does not exist"):
        model.set_params(checkpoint=tmp_path / "folder" / "file").fit(*data)
    assert model.fit_status_ == 0 and usable(model)


def test_other_work_is_refused(tmp_path) -> None:
    model, data = task("pairs")
    model.set_params(checkpoint=tmp_path / "file").fit(*data)
    refused = pytest.raises(ValueError, match=r"SVC: checkpoint = .* was written by a different run")
    for change in ({"C": 51.0}, {"gamma": 0.2}, {"kernel": "linear"}, {"calibration": "cv"}, {"class_weight": {0: 2}}):
        with refused:
            clone(model).set_params(**change).fit(*data)
    moved = data[0].copy()
    moved[-1, -1] += 1e-9
    for other in ((moved, data[1]), (data[0], data[1][::-1]), (*data, np.linspace(1, 2, 900))):
        with refused:
            clone(model).fit(*other)
    with pytest.raises(ValueError, match="NuSVC: checkpoint"):
        NuSVC(checkpoint=tmp_path / "file").fit(*data)
    (tmp_path / "file").write_bytes(b"nothing of use")
    with pytest.raises(ValueError, match="is not a checkpoint"):
        clone(model).fit(*data)


# ---- in processes of their own

HEAD = """
import json, os, signal, sys, warnings
import numpy as np
sys.path.insert(0, {folder!r})
import test_long_work as work
from mercer.solvers.fit import boxes
from mercer.solvers.fit import multiclass, working_set
working_set.SMALL = boxes.SMALL = boxes.HELD = 0
"""


def child(code, *arguments):
    text = HEAD.format(folder=str(Path(__file__).parent)) + code
    return subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)], capture_output=True, text=True, timeout=280, check=False
    )


INTERRUPTED = """
import threading
arrived = threading.Event()

def handler(*signal_and_frame):
    arrived.set()
    raise KeyboardInterrupt

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)
    assert arrived.wait(60)

signal.signal(signal.SIGINT, handler)
model, data = work.task(sys.argv[1])
model.set_params(C=1e7, tol=1e-9).set_callbacks(work.Recorder(2, interrupt))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        model.fit(*data)
    except KeyboardInterrupt:
        print(json.dumps([work.usable(model), model.fit_status_, [str(w.message) for w in caught]]))
"""


@pytest.mark.long
@pytest.mark.parametrize("name", ["binary", "pairs", "against the rest", "calibrated", "crammer_singer", "regression"])
def test_an_interrupt_ends_with_a_usable_machine(name) -> None:
    result = child(INTERRUPTED, name)
    assert result.returncode == 0, result.stderr
    fine, status, messages = json.loads(result.stdout.splitlines()[-1])
    assert fine and status == 1 and any("interrupted" in m for m in messages)


KILLED = """
from mercer import _checkpoint
put, count = _checkpoint.Checkpoint.put, 0
_checkpoint.SECONDS = 0.0

def killing(self, *state, **how):
    global count
    put(self, *state, **how)
    count += 1
    if count == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

_checkpoint.Checkpoint.put = killing
model, data = work.task(sys.argv[1])
model.set_params(checkpoint=sys.argv[2], tol=1e-5).fit(*data)
print(count)
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["binary", "pairs", "calibrated", "hard", "squared", "crammer_singer", "regression", "one class"]
)
def test_work_that_was_killed_goes_on(name, tmp_path, monkeypatch) -> None:
    model, data = task(name)
    taken = steps(monkeypatch)
    model.set_params(tol=1e-5).fit(*data)
    cold = sum(taken)
    writes = int(child(KILLED, name, tmp_path / "whole", -1).stdout)
    assert writes > 3
    result = child(KILLED, name, tmp_path / "file", writes // 2)
    assert result.returncode == -signal.SIGKILL, result.stderr
    taken.clear()
    again = clone(model).set_params(checkpoint=str(tmp_path / "file")).fit(*data)
    assert again.fit_status_ == 0 and 0 < sum(taken) < cold
    assert np.allclose(objectives(again), objectives(model), rtol=1e-6)
    if hasattr(model, "predict_proba"):
        assert np.allclose(again.predict_proba(A), model.predict_proba(A), atol=1e-3)
