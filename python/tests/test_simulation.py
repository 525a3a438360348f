from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tacet

D = 50
WEAK = tacet.Privacy(noise_multiplier=2.0, delta=1e-3)

Array = NDArray[np.float32]


def nothing(model: Array, client: int, round_: int) -> Array:
    return np.zeros_like(model)


def simulate(out: Path, train: Any = nothing, **changed: Any) -> tacet.Run:
    options: dict[str, Any] = {
        "clients": 6,
        "initial": np.zeros(D, dtype=np.float32),
        "privacy": WEAK,
        "rounds": 2,
        "out": out,
        **changed,
    }
    return tacet.simulate(train, **options)


@pytest.mark.skipif(
    "TACET_ALLOCATION_COUNTER" not in os.environ, reason="needs tacet_allocation_counter"
)
def test_an_update_is_copied_once_into_what_is_sealed() -> None:
    size = 30_011  # no other memory is as long
    script = f"""
import ctypes
import numpy as np
import tacet
counter = ctypes.CDLL(None)
counter.tacet_counted_allocations.restype = ctypes.c_size_t
counted = []
def train(model, client, round_):
    counter.tacet_count_allocations(ctypes.c_size_t(0))
    if client > 0:
        counted.append(counter.tacet_counted_allocations())
    update = np.full({size}, 0.001, dtype=np.float64 if round_ else np.float32)
    counter.tacet_count_allocations(ctypes.c_size_t(4 * {size}))
    return update
tacet.simulate(train, clients=3, rounds=2, privacy=tacet.Privacy(noise_multiplier=2.0),
               initial=np.zeros({size}, dtype=np.float32))
print(counted)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "LD_PRELOAD": os.environ["TACET_ALLOCATION_COUNTER"]},
    )  # fmt: skip
    # From the end of one client's function to the next client's only the next array of the model
    # is made: the update goes straight to what is sealed.
    assert (done.stdout, done.stderr) == ("[1, 1, 1, 1]\n", "")


def test_a_model_moves_by_the_average_and_noise(tmp_path: Path) -> None:
    # Six updates of norm 1 in one direction: their average has length 1 a round. Seven deviations
    # of the noise in the sum of six, over six, are passed once in 4e11 runs.
    seen: list[tuple[int, int]] = []

    def train(model: Array, client: int, round_: int) -> Array:
        assert model.dtype == np.float32
        assert model.shape == (D,)
        seen.append((round_, client))
        return np.full(D, 10.0, dtype=np.float32)

    run = simulate(tmp_path / "run", train)
    assert sorted(seen) == [(r, c) for r in range(2) for c in range(6)]
    length = float(run.model.sum() / np.sqrt(D))
    assert abs(length - 2) < 7 * np.sqrt(2) * 2.1 / 6
    assert run.epsilon is not None
    assert run.summary["model"] == "external"
    assert run.summary["labels"] == []
    assert [line["round"] for line in run.rounds] == [0, 1]
    assert run.rounds[0]["accuracy"] is None
    np.testing.assert_array_equal(tacet.open_run(run.path).model, run.model)


def test_a_changed_model_is_refused(tmp_path: Path) -> None:
    run = simulate(tmp_path / "run")
    (run.path / "model.f32").write_bytes(bytes(4 * D))
    with pytest.raises(tacet.DataLossError, match="is not the model"):
        tacet.open_run(run.path)


def test_an_evaluation_and_a_listener(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    run = simulate(
        tmp_path / "run",
        evaluate=lambda model: {"accuracy": 0.5, "loss": float(abs(model).max()), "samples": 7},
        on_round=told.append,
    )
    assert told == run.rounds
    assert run.summary["accuracy"] == 0.5
    assert run.rounds[1]["loss"] > 0


@pytest.mark.parametrize(
    "figures", [{"accuracy": 0.9}, {"loss": 2.5}, {"accuracy": 0.9, "loss": 2.5, "auc": 0.7}, {}]
)
def test_a_figure_that_was_not_measured_is_absent(
    tmp_path: Path, figures: dict[str, float]
) -> None:
    run = simulate(tmp_path / "run", evaluate=lambda model: {**figures, "samples": 100})
    for found in (run.summary, *run.rounds):
        assert {name: found.get(name) for name in ("accuracy", "loss", "auc")} == {
            "accuracy": None, "loss": None, "auc": None, **figures,
        }  # fmt: skip
    assert run.summary["accuracy_before"] == figures.get("accuracy")
    assert run.summary["most_frequent_class"] is None
    program("report", run.path, "--out", tmp_path / "page.html")
    program("audit", "write", run.path, "--out", tmp_path / "audit.json")
    program("audit", "verify", tmp_path / "audit.json")


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    run = simulate(
        tmp_path / "run",
        clients=np.int64(6),
        cohort=np.int8(5),
        rounds=np.uint16(1),
        spare_attempts=np.int64(2),
        threads=np.int64(1),
        evaluate_every=np.int64(1),
        seed=np.int64(3),
        learning_rate=np.float32(0.5),
        privacy=tacet.Privacy(noise_multiplier=np.float32(2), delta=1e-3, colluders=np.int64(1)),
    )
    assert (run.summary["clients"], run.summary["cohort"], len(run.rounds)) == (6, 5, 1)


def test_an_interrupted_round_needs_a_spare_attempt(tmp_path: Path) -> None:
    def fails(model: Array, client: int, round_: int) -> Array:
        raise FailedError

    with pytest.raises(FailedError):
        simulate(tmp_path / "run", fails)
    with pytest.raises(tacet.BudgetError, match="all 2 attempts that the agreement allows"):
        simulate(tmp_path / "run", resume=True)


def program(*words: str | Path) -> str:
    done = subprocess.run(
        [os.environ["TACET_PROGRAM"], *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_program_reads_the_run(tmp_path: Path) -> None:
    run = simulate(tmp_path / "run", architecture="a line of 50 numbers")
    page = tmp_path / "page.html"
    program("report", run.path, "--out", page)
    assert "external" in page.read_text(encoding="utf-8")
    program("audit", "write", run.path, "--out", tmp_path / "audit.json")
    program("audit", "verify", tmp_path / "audit.json")
    assert "a line of 50 numbers" in (run.path / "config.toml").read_text(encoding="utf-8")


def test_the_same_bits_as_the_program(tmp_path: Path) -> None:
    """The program trains at a rate at which no parameter moves; so does the function here.

    Cohorts and noise depend on the agreement, so the model has the same name in both.
    """
    initial = np.random.default_rng(1).normal(1, 0.1, 3 * 4 + 4 + 4 * 2 + 2).astype("<f4")
    initial.tofile(tmp_path / "start.f32")
    rows = ["client,label,a,b,c"]
    rows += [f"{client},{i % 2},0.{i},0.5,1" for client in range(6) for i in range(4)]
    (tmp_path / "data.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "config.toml").write_text(
        f"""
[data]
path = "{tmp_path / "data.csv"}"
[model]
name = "mlp"
hidden = [4]
start = "{tmp_path / "start.f32"}"
[training]
learning_rate = 1e-30
learning_rate_final = 1e-30
[federation]
rounds = 2
cohort = 4
spare_attempts = 0
[privacy]
noise_multiplier = 2
delta = 1e-3
[run]
insecure_seed = 7
""",
        encoding="utf-8",
    )
    program("simulate", "--config", tmp_path / "config.toml", "--out", tmp_path / "theirs")
    theirs = tacet.open_run(tmp_path / "theirs")
    ours = simulate(tmp_path / "ours", initial=initial, cohort=4, insecure_seed=7, model="mlp")
    assert not np.array_equal(ours.model, initial)
    np.testing.assert_array_equal(ours.model, theirs.model)
    assert [r["model"] for r in ours.rounds] == [r["model"] for r in theirs.rounds]
    assert ours.epsilon == theirs.epsilon
    assert ours.summary["labels"] == ["insecure-seed"]


def test_threads_give_the_same_bits_and_work_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(2, timeout=60)

    def meeting(model: Array, client: int, round_: int) -> Array:
        if client < 2:
            together.wait()
        return np.full(D, client, dtype=np.float32)

    def alone(model: Array, client: int, round_: int) -> Array:
        return np.full(D, client, dtype=np.float32)

    one = simulate(tmp_path / "one", alone, insecure_seed=3, clients=2, rounds=1)
    two = simulate(tmp_path / "two", meeting, insecure_seed=3, clients=2, rounds=1, threads=2)
    np.testing.assert_array_equal(one.model, two.model)


def test_records_and_persons_are_drawn_and_must_be_clipped(tmp_path: Path) -> None:
    privacy = tacet.Privacy(
        noise_multiplier=4.0,
        delta=1e-3,
        unit="person",
        record_rate=0.5,
        coordinate_bound=5.0,
    )
    drawn: list[int] = []

    def train(model: Array, client: int, units: list[int], clip_norm: float) -> Array:
        assert clip_norm == 1 - 2**-8  # the rest is for rounding
        assert units == sorted(set(units))
        assert all(0 <= unit < 20 + client for unit in units)
        drawn.append(len(units))
        part = np.zeros_like(model)
        part[0] = len(units) * clip_norm
        return part

    run = simulate(
        tmp_path / "run", train, privacy=privacy, units=[20, 21, 22], clients=3, rounds=4
    )
    # 12 draws of about 10: fewer than 60 or more than 190 of 252 once in 1e12 runs.
    assert 60 < sum(drawn) < 190
    assert run.summary["unit"] == "person"

    def unclipped(model: Array, client: int, units: list[int], clip_norm: float) -> Array:
        return 2 * train(model, client, units, clip_norm)

    with pytest.raises(tacet.TacetError, match="clip each unit's part"):
        simulate(tmp_path / "bad", unclipped, privacy=privacy, units=[20] * 3, clients=3)
    with pytest.raises(ValueError, match="coordinate_bound is missing"):
        simulate(
            tmp_path / "bound",
            train,
            privacy=tacet.Privacy(noise_multiplier=4, unit="record", record_rate=0.5),
            units=[20] * 3,
            clients=3,
        )
    with pytest.raises(tacet.InvalidArgumentError, match="must be given for 3"):
        simulate(tmp_path / "units", train, privacy=privacy, units=[20] * 2, clients=3)


class FailedError(Exception):
    pass


def fails(model: Array, client: int, round_: int) -> Array:
    raise FailedError


@pytest.mark.parametrize(
    ("changed", "kind", "text"),
    [
        ({"train": fails}, FailedError, "^$"),
        ({"train": lambda m, c, r: m[:-1]}, ValueError, "has 49 values, the model has 50"),
        ({"train": lambda m, c, r: np.ones(D, dtype=np.int64)}, TypeError, "not float32"),
        ({"train": lambda m, c, r: m.reshape(5, 10)}, ValueError, "2 dimensions"),
        ({"train": lambda m, c, r: None}, TypeError, "got NoneType"),
        ({"train": lambda m, c, r: m * np.float32(np.nan)}, ValueError, "not a finite"),
        ({"train": lambda m, c, r: m / np.float32(0)}, ValueError, "not a finite"),
        ({"train": lambda m: m}, TypeError, "train takes other arguments"),
        ({"train": None}, TypeError, "wanted a function"),
        ({"evaluate": lambda m: 0.5}, TypeError, "must return a dict"),
        ({"evaluate": lambda m: {"f1": 0.5}}, ValueError, "f1"),
        ({"evaluate": lambda m: {"accuracy": 50.0}}, ValueError, "accuracy = 50: wanted a share"),
        ({"evaluate": lambda m: {"auc": 1.5, "samples": 3}}, ValueError, "auc = 1.5: wanted a sh"),
        ({"evaluate": lambda m: {"auc": np.nan, "samples": 3}}, ValueError, "auc = nan: wanted"),
        ({"evaluate": lambda m: {"loss": np.nan, "samples": 3}}, ValueError, "loss = nan: wanted"),
        ({"evaluate": lambda m: {"loss": 1.0}}, ValueError, "loss without samples: add the numb"),
        ({"evaluate": lambda m: {"auc": 0.5, "samples": 0}}, ValueError, "auc without samples"),
        ({"evaluate": fails}, TypeError, "evaluate takes other arguments"),
        ({"on_round": lambda: None}, TypeError, "on_round takes other arguments"),
        ({"clients": 0}, tacet.InvalidArgumentError, "clients is 0"),
        ({"clients": 1}, tacet.InvalidArgumentError, "member|client|min_participants"),
        ({"rounds": 0}, tacet.InvalidArgumentError, "rounds"),
        ({"rounds": 1.5}, TypeError, "rounds = 1.5: wanted a whole number"),
        ({"rounds": "two"}, TypeError, "rounds = 'two': wanted a whole number"),
        ({"cohort": [1]}, TypeError, "wanted a whole number"),
        ({"cohort": 7}, tacet.InvalidArgumentError, "7"),
        (
            {"cohort": 1, "privacy": tacet.Privacy(noise_multiplier=2, sampling="fixed-size")},
            tacet.InvalidArgumentError,
            "2",
        ),
        ({"initial": np.zeros(0, dtype=np.float32)}, tacet.InvalidArgumentError, "no parameters"),
        ({"initial": np.zeros((5, 10))}, ValueError, "2 dimensions"),
        ({"initial": np.full(D, np.nan)}, tacet.InvalidArgumentError, "parameter 0 is not"),
        ({"initial": [0.0]}, TypeError, "got list"),
        ({"privacy": tacet.Privacy(noise_multiplier=0.0)}, tacet.InvalidArgumentError, "noise"),
        ({"privacy": tacet.Privacy(noise_stddev=-1.0)}, tacet.InvalidArgumentError, "noise_stddev"),
        ({"privacy": tacet.Privacy(noise_multiplier=1e-3)}, tacet.InvalidArgumentError, "noise"),
        ({"privacy": tacet.Privacy(target_epsilon=-1)}, tacet.InvalidArgumentError, "epsilon"),
        ({"momentum": 1.5}, tacet.InvalidArgumentError, "momentum"),
        ({"budget_epsilon": 1e-6}, tacet.BudgetError, "does not reach for a single attempt"),
        ({"units": [5] * 6}, tacet.InvalidArgumentError, "units are given for 6"),
        ({"threads": -1}, TypeError, "threads = -1: wanted a whole number"),
    ],
)
def test_misuse_is_an_error_that_says_what_to_do(
    tmp_path: Path, changed: dict[str, Any], kind: type[Exception], text: str
) -> None:
    with np.errstate(all="ignore"), pytest.raises(kind, match=text):
        simulate(tmp_path / "run", **changed)


def test_the_model_cannot_be_changed_but_kept(tmp_path: Path) -> None:
    kept: list[Array] = []

    def train(model: Array, client: int, round_: int) -> Array:
        with pytest.raises(ValueError, match="read-only"):
            model += 1
        kept.append(model)
        return np.zeros_like(model)

    run = simulate(tmp_path / "run", train, rounds=3)
    gc.collect()
    for model in kept[:6]:
        np.testing.assert_array_equal(model, 0)
    assert np.isfinite(np.concatenate(kept)).all()
    assert len(run.rounds) == 3


def test_a_run_that_was_ended_goes_on(tmp_path: Path) -> None:
    def stop_in_round_two(model: Array, client: int, round_: int) -> Array:
        if round_ == 2:
            raise FailedError
        return np.zeros_like(model)

    out = tmp_path / "run"
    with pytest.raises(FailedError):
        simulate(out, stop_in_round_two, rounds=4, spare_attempts=1)
    with pytest.raises(tacet.AlreadyExistsError):
        simulate(out, rounds=4, spare_attempts=1)
    with pytest.raises(tacet.FailedPreconditionError, match=r"federation\.rounds"):
        simulate(out, rounds=5, spare_attempts=1, resume=True)
    run = simulate(out, rounds=4, spare_attempts=1, resume=True)
    assert len(run.rounds) == 4
    # The attempt that failed is charged.
    assert run.summary["charged_attempts"] == 5


INTERRUPTED = """
import os, signal, sys
import numpy as np
import tacet

def train(model, client, round_):
    if round_ == 1 and client == 0:
        os.kill(os.getpid(), signal.SIGINT)
    return np.zeros_like(model)

try:
    tacet.simulate(train, clients=6, initial=np.zeros(50, dtype=np.float32), rounds=500,
                   privacy=tacet.Privacy(noise_multiplier=20, delta=1e-3), out=sys.argv[1],
                   threads=int(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("threads", ["1", "2"])
def test_control_c_ends_a_run_and_it_goes_on(tmp_path: Path, threads: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "run"), threads],
        capture_output=True, text=True, check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert 1 <= len(lines) <= 3
    assert json.loads(lines[0])["round"] == 0


EXIT_DURING_A_RUN = """
import sys, threading, time
import numpy as np
import tacet

def train(model, client, round_):
    time.sleep(0.001)
    return np.zeros_like(model)

threading.Thread(target=lambda: tacet.simulate(
    train, clients=6, initial=np.zeros(50, dtype=np.float32), rounds=5000, out=sys.argv[1],
    privacy=tacet.Privacy(noise_multiplier=60, delta=1e-3), threads=2), daemon=True).start()
time.sleep(0.3)
"""


def test_the_interpreter_exits_during_a_run(tmp_path: Path) -> None:
    for attempt in range(4):
        done = subprocess.run(
            [sys.executable, "-c", EXIT_DURING_A_RUN, str(tmp_path / str(attempt))],
            capture_output=True, text=True, check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


FORK_DURING_A_RUN = """
import os, sys, threading, time
import numpy as np
import tacet

training, ended = threading.Event(), threading.Event()

def train(model, client, round_):
    training.set()
    ended.wait()
    return np.zeros_like(model)

run = threading.Thread(target=lambda: tacet.simulate(
    train, clients=6, initial=np.zeros(50, dtype=np.float32), rounds=1, out=sys.argv[1],
    privacy=tacet.Privacy(noise_multiplier=60, delta=1e-3)))
run.start()
training.wait()
child = os.fork()
if child == 0:
    tacet.guarantee(clients=100, rounds=1, noise_multiplier=6)
    sys.exit(3)
begin = time.monotonic()
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(status, "late" if time.monotonic() - begin > 8 else "at once")
ended.set()
run.join()
"""


def test_a_process_forked_during_a_run_computes_and_exits_at_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK_DURING_A_RUN, str(tmp_path / "run")],
        capture_output=True, text=True, check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 at once\n", "")
    assert len(tacet.open_run(tmp_path / "run").rounds) == 1


def test_a_run_goes_on_while_a_process_that_its_training_forked_lives(tmp_path: Path) -> None:
    workers: list[int] = []

    def train(model: Array, client: int, round_: int) -> Array:
        if not workers:  # as a PyTorch DataLoader with persistent workers does
            workers.append(os.fork())
            if workers[0] == 0:
                time.sleep(60)
                os._exit(0)
            raise ZeroDivisionError
        return nothing(model, client, round_)

    try:
        with pytest.raises(ZeroDivisionError):
            simulate(tmp_path / "run", train, spare_attempts=1)
        assert simulate(tmp_path / "run", train, spare_attempts=1, resume=True).rounds
    finally:
        os.kill(workers[0], signal.SIGKILL)
        os.waitpid(workers[0], 0)


def test_other_threads_run_during_a_simulation(tmp_path: Path) -> None:
    thread = threading.Thread(
        target=lambda: simulate(tmp_path / "run", initial=np.zeros(200_000, dtype=np.float32))
    )
    turns = 0
    thread.start()
    while thread.is_alive():
        turns += 1
        time.sleep(0.001)
    thread.join()
    assert turns > 20


def test_a_plot_has_the_figures(tmp_path: Path) -> None:
    run = simulate(
        tmp_path / "run", evaluate=lambda model: {"accuracy": 0.5, "loss": 1.0, "samples": 7}
    )
    drawn: dict[str, list[float]] = {}

    class Axes:
        def plot(self, x: list[float], y: list[float], *_: str, label: str) -> None:
            assert len(x) == len(y) == 2
            drawn[label] = list(y)

        def set_xlabel(self, text: str) -> None:
            assert text == "round"

        def legend(self) -> None:
            pass

    axes = Axes()
    assert run.plot(axes) is axes
    assert drawn.keys() == {"accuracy", "loss", "charged epsilon"}
    assert drawn["charged epsilon"] == [line["charged_epsilon"] for line in run.rounds]


def test_a_bar_shows_rounds_and_epsilon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[dict[str, Any]] = []
    simulate(tmp_path / "shown", progress=True, on_round=lines.append)
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert f"charged_epsilon={lines[-1]['charged_epsilon']:.3g}" in shown
    # Nobody watches a test.
    simulate(tmp_path / "quiet")
    assert capsys.readouterr().err == ""
    # A run that continues begins where it was.
    simulate(tmp_path / "shown", progress=True, resume=True)
    assert "0/2" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ModuleNotFoundError, match="pip install tqdm"):
        simulate(tmp_path / "none", progress=True)
    assert not (tmp_path / "none").exists()
    simulate(tmp_path / "none")
