from __future__ import annotations

import copy
import ctypes
import json
import logging
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_federation import LiveFederation
from numpy.typing import NDArray

import tacet

D = 40
SITES = ["north", "south", "west", "east", "coast"]

Array = NDArray[np.float32]

# A training program in the program's form: parameters + 0.1, clipped afterwards.
PROGRAM = """
import sys
import numpy as np
model = np.fromfile(sys.argv[1], dtype="<f4")
(model + np.float32(0.1)).astype("<f4").tofile(sys.argv[2])
"""


def direction(model: Array, client: int, round_: int) -> Array:
    return np.full(model.size, 0.1, dtype=np.float32)


class Background:
    """A call in a thread that no failed test waits for."""

    def __init__(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        self._outcome: list[tuple[Any, BaseException | None]] = []
        self._work = lambda: call(*arguments, **options)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._outcome.append((self._work(), None))
        except BaseException as error:
            self._outcome.append((None, error))

    def result(self) -> Any:
        self._thread.join(timeout=120)
        assert self._outcome, "it has not ended after two minutes"
        value, error = self._outcome[0]
        if error is not None:
            raise error
        return value


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., LiveFederation]]:
    made: list[LiveFederation] = []

    def create(sites: list[str], **options: Any) -> LiveFederation:
        initial = options.pop("initial", np.linspace(-1, 1, D, dtype=np.float32))
        made.append(LiveFederation(tmp_path, sites, initial, **options))
        made[-1].start_server()
        return made[-1]

    yield create
    for federation in made:
        federation.close()


def member(federation: LiveFederation, name: str, **changed: Any) -> tacet.Member:
    return tacet.Member(**{**federation.options(name), **changed})


def node_log(federation: LiveFederation, name: str) -> str:
    return (federation.path / name / "node-log.jsonl").read_text()


def test_five_members_of_whom_four_train_in_python(
    make: Callable[..., LiveFederation], tmp_path: Path
) -> None:
    # Updates have length 0.1 sqrt(40) = 0.63 < 1, so nothing is clipped: three rounds move the
    # model by 0.3 in all coordinates, with noise of deviation 2 sqrt(3) / 5 in each, and of
    # 0.11 in their mean. Seven deviations are passed once in 4e11 runs.
    federation = make(SITES)
    told: list[dict[str, Any]] = []
    threads: set[int] = set()

    def train(model: Array, client: int, round_: int) -> Array:
        assert model.dtype == np.float32
        assert model.shape == (D,)
        assert not model.flags.writeable
        threads.add(threading.get_ident())
        return direction(model, client, round_)

    def by_loop() -> tacet.Member:
        site = member(federation, "east")
        for task in site:
            update = np.full(task.model.shape, 0.1)
            task.submit(update)
            update[:] = np.nan  # too late: it was copied
        return site

    script = tmp_path / "train.py"
    script.write_text(PROGRAM)
    program = federation.start_program("coast", sys.executable, script)
    sites = [member(federation, name) for name in SITES[:3]]
    runs = [Background(sites[0].run, train, on_round=told.append, progress=True)]
    runs += [Background(site.run, train) for site in sites[1:]]
    loop = Background(by_loop)
    first = runs[0].result()
    for run in runs:
        np.testing.assert_array_equal(run.result().model, first.model)
    east = loop.result()
    out, _ = program.communicate()
    assert program.returncode == 0
    assert json.loads(out)["complete"] is True
    for name in SITES:
        model = np.fromfile(federation.path / name / "run" / "model.f32", dtype="<f4")
        np.testing.assert_array_equal(model, first.model)
    assert len(threads) == 3  # each site's own
    assert abs(float((first.model - sites[0].initial_model).mean()) - 0.3) < 7 * 0.11
    assert not np.allclose(first.model - sites[0].initial_model, 0.3, atol=0.05)  # noise is there
    assert [line["round"] for line in told] == [0, 1, 2]
    assert sites[0].outcome is not None
    assert sites[0].outcome["complete"] is True
    assert sites[0].outcome["charged_attempts"] == 3
    assert sites[0].outcome["violations"] == []
    assert east.outcome == {**sites[0].outcome, "member": "east", "run": str(east.home / "run")}
    assert first.summary["model"] == "external"
    assert (sites[1].name, sites[1].federation, sites[1].unit, sites[1].rounds) == (
        "south", "trial", "client", 3,
    )  # fmt: skip
    assert sites[1].learning_rate == 1
    # The other commands read the run; a second run of a finished member ends at once.
    audited = subprocess.run(
        [os.environ["TACET_PROGRAM"], "audit", "write", first.path, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert audited.returncode == 0, audited.stderr
    for words, text in (
        (["attack", first.path], "the run of an external model"),
        (["simulate", "--config", first.path / "config.toml", "--out", tmp_path / "x"],
         "only its users' own code trains it"),
    ):  # fmt: skip
        refused = subprocess.run(
            [os.environ["TACET_PROGRAM"], *words], capture_output=True, text=True, check=False
        )
        assert refused.returncode == 1
        assert text in refused.stderr
    again = sites[0].run(train)
    np.testing.assert_array_equal(again.model, first.model)


class UnluckyError(Exception):
    pass


def raise_unlucky(model: Array) -> Array:
    raise UnluckyError("out of memory")


WRONG: list[tuple[Callable[[Array], object], type[Exception], str]] = [
    (lambda model: model[1:], ValueError, "the update has 39 values, the model has 40"),
    (lambda model: model[:, None], ValueError, "update"),
    (lambda model: model * np.nan, tacet.InvalidArgumentError, "value 0 is nan, not a finite"),
    (lambda model: model.astype(np.int64), TypeError, "update"),
    (lambda model: None, TypeError, "update"),
    (raise_unlucky, UnluckyError, "out of memory"),
]


def test_a_wrong_answer_seals_zeros_and_is_told_at_its_site_only(
    make: Callable[..., LiveFederation], caplog: pytest.LogCaptureFixture
) -> None:
    """A site that was absent after an error told the server of a record that made it fail."""
    federation = make(SITES[:2], rounds=len(WRONG) + 1)
    site = member(federation, "north")
    asked: list[int] = []

    def train(model: Array, client: int, round_: int) -> object:
        asked.append(round_)
        return WRONG[round_][0](model) if round_ < len(WRONG) else direction(model, client, round_)

    other = Background(member(federation, "south").run, direction)
    with pytest.raises(WRONG[0][1], match=WRONG[0][2]) as raised:
        site.run(train)  # type: ignore[arg-type]
    assert raised.value.__notes__ == ["Zeros were sealed in round 0 in place of the update."]
    assert asked == list(range(len(WRONG) + 1))
    for round_, (_, _, text) in enumerate(WRONG):
        assert re.search(f"round {round_}: .*{text}", caplog.text, re.DOTALL), caplog.text
    told = "zeros are sealed in its place, and only this site is told"
    assert caplog.text.count(told) == len(WRONG)
    model = tacet.open_run(site.home / "run").model
    np.testing.assert_array_equal(other.result().model, model)
    assert node_log(federation, "north").count("update-failed") == len(WRONG)
    assert site.outcome is not None
    assert site.outcome["complete"] is True
    assert site.outcome["charged_attempts"] == len(WRONG) + 1
    assert site.run(direction).summary["model"] == "external"  # nothing is left of the errors


def test_a_training_that_exits_seals_zeros(make: Callable[..., LiveFederation]) -> None:
    """Whether something is sent must not depend on data, also where training calls sys.exit."""
    federation = make(SITES[:2], rounds=1)
    options = {key: str(value) for key, value in federation.options("north").items()}
    script = f"""
import sys, tacet
def train(model, client, round_):
    sys.exit(3)
try:
    tacet.Member(**{options!r}).run(train)
except SystemExit as error:
    print(error.__notes__[0])
    raise
"""
    other = Background(member(federation, "south").run, direction)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 3, done.stderr
    assert "zeros are sealed in its place" in done.stderr
    assert done.stdout.startswith("Zeros were sealed in round 0 in place of the update.")
    assert node_log(federation, "north").count("update-failed") == 1
    model = tacet.open_run(federation.path / "north" / "run").model
    np.testing.assert_array_equal(other.result().model, model)


def test_a_loop_that_answers_wrongly(make: Callable[..., LiveFederation]) -> None:
    federation = make(SITES[:2], rounds=2)
    site = member(federation, "north")
    other = Background(member(federation, "south").run, direction)
    for task in site:  # leaving the loop seals nothing
        assert task.units is None
        assert task.clip_norm is None
        assert task.round == 0
        break
    with pytest.raises(tacet.FailedPreconditionError, match="of round 0 was not answered"):
        for _ in site:
            pass
    assert '"event":"sent","what":"upload"' not in node_log(federation, "north")

    def answer_twice() -> None:
        for task in site:
            update = direction(task.model, 0, 0)
            if task.round == 1:
                update[3] = np.nan
            task.submit(update)
            with pytest.raises(tacet.FailedPreconditionError, match="answered already"):
                task.submit(direction(task.model, 0, 0))
            task.fail(ValueError("too late"))  # changes nothing

    with pytest.raises(tacet.InvalidArgumentError, match="value 3 is nan"):
        answer_twice()
    np.testing.assert_array_equal(other.result().model, tacet.open_run(site.home / "run").model)
    assert node_log(federation, "north").count("update-failed") == 1


def test_an_interrupt_ends_it_and_another_process_goes_on(
    make: Callable[..., LiveFederation],
) -> None:
    federation = make(SITES[:2], rounds=2)
    options = {key: str(value) for key, value in federation.options("north").items()}
    script = f"""
import sys, time
import tacet
def train(model, client, round_):
    print("training", flush=True)
    time.sleep(600)
tacet.Member(**{options!r}).run(train)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    other = Background(member(federation, "south").run, direction)
    assert process.stdout is not None
    assert process.stdout.readline() == "training\n"
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert "KeyboardInterrupt" in err
    assert time.monotonic() - began < 60  # and not 600
    assert '"event":"sent","what":"upload"' not in node_log(federation, "north")
    run = member(federation, "north").run(direction)
    np.testing.assert_array_equal(other.result().model, run.model)


@pytest.mark.skipif(
    "TACET_ALLOCATION_COUNTER" not in os.environ, reason="needs tacet_allocation_counter"
)
def test_an_update_is_copied_once_into_what_is_sealed(
    make: Callable[..., LiveFederation],
) -> None:
    size = 30_011  # no other memory is as long
    federation = make(SITES[:2], rounds=2, initial=np.zeros(size, dtype=np.float32))
    options = {key: str(value) for key, value in federation.options("north").items()}
    script = f"""
import ctypes
import numpy as np
import tacet
counter = ctypes.CDLL(None)
counter.tacet_counted_allocations.restype = ctypes.c_size_t
def counted(call):
    counter.tacet_count_allocations(ctypes.c_size_t(4 * {size}))
    call()
    counter.tacet_count_allocations(ctypes.c_size_t(0))
    return counter.tacet_counted_allocations()
for task in tacet.Member(**{options!r}):
    update = np.full(task.model.size, 0.001, dtype=np.float64 if task.round else np.float32)
    submitted = counted(lambda: task.submit(update))
    print(submitted, counted(lambda: task.model.copy()))
"""
    other = Background(member(federation, "south").run, lambda m, *_: np.zeros_like(m))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "LD_PRELOAD": os.environ["TACET_ALLOCATION_COUNTER"]},
    )  # fmt: skip
    # No memory is made for a copy, so the array goes straight to what is sealed.
    assert (done.stdout, done.stderr) == ("0 1\n0 1\n", "")
    other.result()


def test_a_program_may_end_while_its_member_waits(make: Callable[..., LiveFederation]) -> None:
    federation = make(SITES[:2], rounds=2)
    options = {key: str(value) for key, value in federation.options("north").items()}
    # The generator lives on in a global when the interpreter exits.
    script = f"""
import threading, time, tacet
site = tacet.Member(**{options!r})
tasks = iter(site)
threading.Thread(target=next, args=(tasks,), daemon=True).start()
time.sleep(1.5)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_server_that_is_away_is_waited_for(
    make: Callable[..., LiveFederation], caplog: pytest.LogCaptureFixture
) -> None:
    federation = make(SITES[:2], rounds=1)
    federation.stop_server()
    with caplog.at_level(logging.WARNING, "tacet"):
        runs = [Background(member(federation, name).run, direction) for name in SITES[:2]]
        while "trying again" not in caplog.text:
            time.sleep(0.05)
        federation.start_server()
        np.testing.assert_array_equal(runs[0].result().model, runs[1].result().model)


def test_homes_and_keys_that_do_not_fit(
    make: Callable[..., LiveFederation], tmp_path: Path
) -> None:
    federation = make(SITES[:2], rounds=1)
    with pytest.raises(tacet.NotFoundError, match="nowhere"):
        member(federation, "north", home=tmp_path / "nowhere")
    with pytest.raises(tacet.FailedPreconditionError, match="the server's folder"):
        member(federation, "hub")
    made = subprocess.run(
        [os.environ["TACET_PROGRAM"], "client", "request", "--home", tmp_path / "late",
         "--name", "late", "--key-file", tmp_path / "late.key"],
        capture_output=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0
    with pytest.raises(tacet.NotFoundError, match="has not joined a federation"):
        member(federation, "north", home=tmp_path / "late", key_file=tmp_path / "late.key")
    with pytest.raises(tacet.TacetError, match=r"key file|passphrase"):
        member(federation, "north", key_file=tmp_path / "south.key")
    wrong = tmp_path / "passphrase"
    wrong.write_text("four unrelated plain words\n")
    wrong.chmod(0o600)
    with pytest.raises(tacet.TacetError, match="locked with a key file"):
        member(federation, "north", key_file=None, passphrase_file=wrong)
    right = tmp_path / "right"
    right.write_text("another four plain words\n")
    right.chmod(0o600)
    changed = subprocess.run(
        [os.environ["TACET_PROGRAM"], "keys", "change", tmp_path / "south",
         "--key-file", tmp_path / "south.key", "--new-passphrase-file", right],
        capture_output=True, check=False,
    )  # fmt: skip
    assert changed.returncode == 0, changed.stderr
    assert member(federation, "south", key_file=None, passphrase_file=right).name == "south"
    with pytest.raises(tacet.PermissionDeniedError, match="passphrase"):
        member(federation, "south", key_file=None, passphrase_file=wrong)
    with pytest.raises(tacet.InvalidArgumentError, match="exclude each other"):
        member(federation, "north", passphrase_file=wrong)
    with pytest.raises(tacet.InvalidArgumentError, match=r"ledger\.rule"):
        member(federation, "north", ledger_rule="none")
    with pytest.raises(tacet.TacetError, match="nowhere"):
        member(federation, "north", data=tmp_path / "nowhere.csv").run(direction)
    with pytest.raises(tacet.InvalidArgumentError, match="not HOST:PORT"):
        member(federation, "north", server="no port").run(direction)
    site = member(federation, "north")
    with pytest.raises(TypeError, match="train = None: wanted a function"):
        site.run(None)  # type: ignore[arg-type]
    for spread in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled or copied"):
            spread(site)
    assert repr(site) == f"<Member north of trial, {tmp_path / 'north'}>"


def test_a_member_keeps_its_keys_to_itself(make: Callable[..., LiveFederation]) -> None:
    federation = make(SITES[:2], rounds=1)
    member(federation, "north")
    pr_get_dumpable = 3  # <linux/prctl.h>
    assert ctypes.CDLL(None).prctl(pr_get_dumpable, 0, 0, 0, 0) == 0
    assert resource.getrlimit(resource.RLIMIT_CORE)[0] == 0
    home = federation.path / "north"
    home.chmod(0o750)
    with pytest.raises(tacet.PermissionDeniedError, match=r"mode 0750.*run `chmod 700"):
        member(federation, "north")


def test_one_home_has_one_member_at_a_time(make: Callable[..., LiveFederation]) -> None:
    federation = make(SITES[:2], rounds=1)
    begun, go_on = threading.Event(), threading.Event()

    def train(model: Array, client: int, round_: int) -> Array:
        begun.set()
        go_on.wait()
        return direction(model, client, round_)

    site = member(federation, "north")
    runs = [
        Background(site.run, train),
        Background(member(federation, "south").run, direction),
    ]
    begun.wait()
    with pytest.raises(tacet.TacetError):
        member(federation, "north").run(direction)
    with pytest.raises(tacet.FailedPreconditionError, match="runs in another thread already"):
        site.run(direction)
    go_on.set()
    np.testing.assert_array_equal(runs[0].result().model, runs[1].result().model)


POLICY = """
[policy]
sites = ["north"]
serial = 1
[privacy]
epsilon_per_year = 1000.0
delta = 1e-5
units = ["client"]
[federation]
min_participants = 2
committee_seats = 2
committee_corrupt = 0
[data]
records = 100
columns = ["*"]
[training]
kinds = ["training"]
[ledger]
folder = "LEDGER"
"""


def test_a_policy_refuses_what_exceeds_its_limits(
    make: Callable[..., LiveFederation], tmp_path: Path
) -> None:
    federation = make(SITES[:2], rounds=1)
    home = tmp_path / "north"

    def client_policy(*words: object) -> str:
        done = subprocess.run(
            [os.environ["TACET_PROGRAM"], "client", "policy", *map(str, words)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    policy = POLICY.replace("LEDGER", str(tmp_path / "north-ledger"))
    (home / "policy.toml").write_text(policy)
    officer, lock = tmp_path / "officer", tmp_path / "officer.key"
    made = client_policy("key", officer, "--key-file", lock)
    client_policy("sign", home / "policy.toml", "--officer", officer, "--key-file", lock)
    fingerprint = next(
        line.removeprefix("officer").strip()
        for line in made.splitlines()
        if line.startswith("officer")
    )
    client_policy("pin", fingerprint, "--home", home, "--key-file", tmp_path / "north.key")
    with pytest.raises(tacet.PermissionDeniedError, match=r"data\.records"):
        member(federation, "north", records=99).run(direction)
    assert not (tmp_path / "north-ledger").exists()  # nothing was charged
    runs = [
        Background(member(federation, "north", records=100).run, direction),
        Background(member(federation, "south").run, direction),
    ]
    np.testing.assert_array_equal(runs[0].result().model, runs[1].result().model)


PERSONS = """
unit = "person"
record_rate = 0.5
expected_batch = 6
clip_norm = 1.0
coordinate_bound = 4.0
noise_multiplier = 2
scale = 1e-3
"""


def test_persons_are_drawn_and_their_parts_are_bounded(
    make: Callable[..., LiveFederation],
) -> None:
    federation = make(SITES[:2], rounds=2, privacy=PERSONS, initial=np.zeros(4, np.float32))
    drawn: list[list[int]] = []

    def train(model: Array, client: int, units: list[int], clip_norm: float) -> Array:
        assert client == 0
        drawn.append(units)
        assert clip_norm == 1 - 2**-8  # the rest is for rounding
        total = np.zeros_like(model)
        for unit in units:
            total[unit % 4] += 1
        return total

    def too_long(model: Array, client: int, units: list[int], clip_norm: float) -> Array:
        return np.full_like(model, len(units) + 1.0)

    with pytest.raises(tacet.InvalidArgumentError, match="persons is missing: with unit person"):
        member(federation, "north").run(train)
    north = Background(member(federation, "north", persons=10).run, train)
    with pytest.raises(tacet.InvalidArgumentError, match="clip each unit's part"):
        member(federation, "south", persons=3).run(too_long)
    south = Background(
        member(federation, "south", persons=3).run,
        lambda model, client, units, clip_norm: np.zeros_like(model),
    )
    np.testing.assert_array_equal(north.result().model, south.result().model)
    assert len(drawn) == 2
    assert all(0 <= unit < 10 for units in drawn for unit in units)


QUERY = """
[privacy]
target_epsilon = 2.0
max_units = 100
[[question]]
kind = "count"
"""


def test_a_query_needs_no_training(make: Callable[..., LiveFederation]) -> None:
    federation = make(SITES[:2], query=QUERY)
    with pytest.raises(tacet.InvalidArgumentError, match="about a query, which needs no training"):
        member(federation, "north").run(lambda model, client, units, clip_norm: model)
