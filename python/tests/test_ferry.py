"""The app's end of a member's socket: frames, what a training may return, and what never leaves."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time

import numpy as np
import pytest
from fake_member import (
    ENDED,
    EXCHANGE,
    REQUESTS,
    TRAIN,
    FakeMember,
    frame,
    train_frame,
)

import tacet
from tacet.dispatch import Dispatch
from tacet.ferry import Ferry, Reply, Task, agreed_tensors

MODEL = np.arange(8, dtype=np.float32)
AGREED = {
    "tensors": [{"name": "w", "shape": [3, 2]}, {"name": "b", "shape": [2]}],
    "config": {"lr": 0.5},
}


def step(task):
    """One training: adds 0.25 to everything."""
    return task.update({name: array + 0.25 for name, array in task.arrays().items()})


def test_bytes_go_both_ways_unread(tmp_path):
    answers = bytes(range(256)) * 5000
    script = [frame(REQUESTS, answers[::-1])]
    with FakeMember(tmp_path / "app.sock", script) as member, Ferry(member.path) as ferry:
        assert ferry.carry(answers, step) == Reply(answers[::-1])
        assert ferry.carry(b"", step) == Reply(b"", ended=True)
    assert member.got == [(EXCHANGE, answers), (EXCHANGE, b"")]


def test_a_training_has_what_was_agreed(tmp_path):
    script = [train_frame(MODEL, number=3, attempt=1, agreed=AGREED), frame(REQUESTS, b"sealed")]
    seen = []

    def train(task):
        seen.append(task)
        return step(task)

    with FakeMember(tmp_path / "app.sock", script) as member, Ferry(member.path) as ferry:
        assert ferry.carry(b"", train).bundle == b"sealed"
    (task,) = seen
    assert (task.round, task.attempt, task.config) == (3, 1, {"lr": 0.5})
    np.testing.assert_array_equal(task.arrays()["w"], MODEL[:6].reshape(3, 2))
    np.testing.assert_array_equal(task.arrays()["b"], MODEL[6:])
    np.testing.assert_array_equal(member.updates()[0], np.full(8, 0.25))
    assert member.got[1][1][:8] == struct.pack("<II", 3, 1)


@pytest.mark.parametrize("units", [[], [3], [0, 5, 4_000_000_000]])
def test_a_training_of_units_has_the_draw_and_the_norm(tmp_path, units):
    script = [train_frame(MODEL, agreed=AGREED, units=units), frame(REQUESTS)]
    seen = []

    def train(task):
        seen.append((task.units, task.clip_norm, task.config))
        return task.vector(task.arrays())

    with FakeMember(tmp_path / "app.sock", script) as member, Ferry(member.path) as ferry:
        ferry.carry(b"", train)
    assert seen == [(units, 1.0, AGREED["config"])]
    np.testing.assert_array_equal(member.updates()[0], MODEL)  # nothing is taken from a sum


def test_two_trainings_in_one_message(tmp_path):
    """An attempt that failed elsewhere is followed by the next one at once."""
    script = [
        train_frame(MODEL, attempt=0, agreed=AGREED),
        train_frame(MODEL, attempt=1, agreed=AGREED),
        frame(REQUESTS),
    ]
    with FakeMember(tmp_path / "app.sock", script) as member, Ferry(member.path) as ferry:
        assert ferry.carry(b"", step) == Reply(b"")
    assert len(member.updates()) == 2


def raises(error):
    def train(task):
        raise error

    return train


WRONG = {
    "an exception with a text": raises(ValueError("patient 17 has HIV")),
    "sys.exit with a text": raises(SystemExit("patient 17 has HIV")),
    "other names": lambda task: task.update({"w": MODEL[:6].reshape(3, 2), "patient": MODEL[6:]}),
    "fewer tensors": lambda task: task.update({"w": MODEL[:6].reshape(3, 2)}),
    "wrong shapes": lambda task: task.update({"w": MODEL[:6].reshape(2, 3), "b": MODEL[6:]}),
    "integers": lambda task: task.update({"w": np.zeros((3, 2), np.int64), "b": MODEL[6:]}),
    "a longer vector": lambda task: np.zeros(9, np.float32),
    "a text": lambda task: "patient 17 has HIV",
    "None": lambda task: None,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_failure_is_a_frame_without_a_text(tmp_path, caplog, name):
    script = [
        train_frame(MODEL, number=2, attempt=1, agreed=AGREED),
        frame(REQUESTS, b"zeros, sealed"),
    ]
    with FakeMember(tmp_path / "app.sock", script) as member, Ferry(member.path) as ferry:
        # The server gets the member's bytes, as after any training.
        assert ferry.carry(b"", WRONG[name]) == Reply(b"zeros, sealed")
    assert member.failures() == [struct.pack("<II", 2, 1)]
    assert "the training failed" in caplog.text  # the site's own log has the reason


def test_a_nan_is_the_members_affair(tmp_path):
    """It seals zeros, and charges; the app's end does not tell it from another update."""
    script = [train_frame(MODEL, agreed=AGREED), frame(REQUESTS, b"sealed")]
    with FakeMember(tmp_path / "app.sock", script) as member, Ferry(member.path) as ferry:
        ferry.carry(b"", lambda task: np.full(8, np.nan, np.float32))
    assert np.isnan(member.updates()[0]).all()


UNFIT = {
    "more units than bytes": frame(TRAIN, struct.pack("<IIdI", 0, 0, 1.0, 0xFFFFFFFE)),
    "no JSON": train_frame(MODEL, agreed=b"{"),
    "no object": train_frame(MODEL, agreed=b"[]"),
    "shapes of another model": train_frame(MODEL[:7], agreed=AGREED),
    "two tensors of one name": train_frame(MODEL, agreed={"tensors": AGREED["tensors"][:1] * 2}),
    "a short frame": frame(TRAIN, b"\0" * 8),
}


@pytest.mark.parametrize("name", UNFIT)
def test_an_unfit_task_fails_without_a_call(tmp_path, name):
    script = [UNFIT[name], frame(REQUESTS)]
    with FakeMember(tmp_path / "app.sock", script) as member, Ferry(member.path) as ferry:
        ferry.carry(b"", lambda task: task.update(task.arrays()))
    assert len(member.failures()) == 1
    assert member.updates() == []


BROKEN = {
    "the line breaks": [None],
    "an unknown kind": [frame(99)],
    "a frame without a kind": [struct.pack("<IB", 0, REQUESTS)],
    "a frame beyond the limit": [struct.pack("<IB", 0xFFFFFFFF, REQUESTS)],
    "the member ended by an error": [frame(ENDED, json.dumps({"error": "policy"}).encode())],
    "the member ended without a reason": [frame(ENDED, b"")],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_line_is_unavailable(tmp_path, name):
    with (
        FakeMember(tmp_path / "app.sock", BROKEN[name]) as member,
        Ferry(member.path) as ferry,
        pytest.raises(tacet.UnavailableError, match="member"),
    ):
        ferry.carry(b"", step)


def test_no_member_names_the_command(tmp_path):
    with pytest.raises(tacet.UnavailableError, match="tacet client run --app"):
        Ferry(tmp_path / "app.sock", wait_seconds=0)


def test_a_member_that_starts_late_is_waited_for(tmp_path):
    path = tmp_path / "app.sock"
    program = (
        "import socket, time, sys; time.sleep(0.5); s = socket.socket(socket.AF_UNIX);"
        "s.bind(sys.argv[1]); s.listen(); s.accept(); time.sleep(5)"
    )
    late = subprocess.Popen([sys.executable, "-c", program, str(path)])
    try:
        Ferry(path).close()
    finally:
        late.kill()
        late.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_another_users_process_gets_no_update(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    folder.chmod(0o777)
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    path = folder / "app.sock"
    program = (
        "import socket, sys, time; s = socket.socket(socket.AF_UNIX);"
        "s.bind(sys.argv[1]); s.listen(); s.accept(); time.sleep(20)"
    )
    thief = subprocess.Popen(
        ["/usr/bin/python3", "-c", program, str(path)], user=65534, group=65534, extra_groups=[]
    )
    try:
        while not path.exists():
            assert thief.poll() is None
            time.sleep(0.05)
        with pytest.raises(tacet.FailedPreconditionError, match="user 65534 listens"):
            Ferry(path)
    finally:
        thief.kill()
        thief.wait()


def test_agreed_tensors_describe_a_model():
    tensors, initial = agreed_tensors({"w": MODEL[:6].reshape(3, 2), "b": MODEL[6:]})
    assert tensors == [each | {"dtype": "float32"} for each in AGREED["tensors"]]
    np.testing.assert_array_equal(initial, MODEL)
    task = Task(0, 0, initial, {"tensors": tensors})
    np.testing.assert_array_equal(task.update(task.arrays()), np.zeros(8))
    tensors, initial = agreed_tensors({"w": np.ones(3)})  # scikit-learn trains with no other type
    task = Task(0, 0, initial, {"tensors": tensors})
    assert task.arrays()["w"].dtype == np.float64
    with pytest.raises(tacet.InvalidArgumentError, match="int64"):
        agreed_tensors({"counter": np.zeros(1, np.int64)})


class FakeServer:
    """Answers of a server by node, given once."""

    def __init__(self, rounds=2):
        self.rounds = rounds
        self.done = False
        self.got = []
        self.answers = {}

    def exchange(self, bundles, wait_seconds):
        self.got += sorted(bundles.items())
        answers, self.answers = self.answers, {}
        return answers


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def dispatch():
    server, clock = FakeServer(), Clock()
    return server, clock, Dispatch(server, clock=clock, retry_seconds=2, silence_seconds=60)


def test_each_node_has_one_message_on_its_way(dispatch):
    server, _, hub = dispatch
    assert hub.due(["a", "b"], 0) == {"a": b"", "b": b""}
    assert hub.due(["a", "b"], 0) == {}
    hub.replied("a", Reply(b"request of a"))
    server.answers = {"a": b"1"}
    assert hub.due(["a", "b"], 0) == {"a": b"1"}
    assert server.got == [("a", b"request of a")]
    server.answers = {"a": b"2"}
    assert hub.due(["a", "b"], 0) == {}  # kept until the node is free
    hub.replied("a", Reply(b""))
    assert hub.due(["a", "b"], 0) == {"a": b"2"}


def test_a_lost_message_is_followed_by_an_empty_one(dispatch):
    """The empty bundle makes the member give again what is unanswered."""
    _, clock, hub = dispatch
    hub.due(["a"], 0)
    hub.lost("a")
    assert hub.due(["a"], 0) == {}
    clock.now += 2
    assert hub.due(["a"], 0) == {"a": b""}
    assert hub.due([], 0) == {}  # the node is gone, and with it the message
    clock.now += 2
    assert hub.due(["a"], 0) == {"a": b""}
    hub.replied("a", Reply(b"r"))
    assert hub.due(["a"], 0) == {}
    clock.now += 60  # no answer for it came
    assert hub.due(["a"], 0) == {"a": b""}


def test_the_end_waits_for_the_nodes(dispatch):
    server, _, hub = dispatch
    hub.due(["a", "b"], 0)
    hub.replied("a", Reply(b"", ended=True))
    assert hub.due(["a", "b"], 0) == {}
    server.done = True
    hub.due(["a", "b"], 0)
    assert not hub.over
    hub.replied("b", Reply(b"last", ended=False))
    server.answers = {"b": b"answer"}
    assert hub.due(["a", "b"], 0) == {"b": b"answer"}
    hub.replied("b", Reply(b"", ended=True))
    assert hub.due(["a", "b"], 0) == {}
    assert hub.over


def test_a_member_that_is_started_again_is_asked_again(dispatch):
    _, clock, hub = dispatch
    hub.due(["a"], 0)
    hub.replied("a", Reply(b"", ended=True))
    assert hub.due(["a"], 0) == {}
    clock.now += 60
    assert hub.due(["a"], 0) == {"a": b""}


def test_a_node_that_does_not_reply_is_left(dispatch):
    server, clock, hub = dispatch
    server.done = True
    hub.due(["a"], 0)
    for _ in range(10):  # slow, as long as it replies
        clock.now += 50
        hub.replied("a", Reply(b"request"))
        assert not hub.over
    hub.lost("a")
    clock.now += 61
    assert not hub.over
    assert "a" in hub.due(["a"], 0)  # asked once more
    clock.now += 120
    assert hub.over


def test_a_server_that_was_done_waits_for_nodes(dispatch):
    """A job that is submitted again brings a late site the rounds that it lacks."""
    server, _, hub = dispatch
    server.done = True
    assert not hub.over
    hub.due([], 0)
    assert not hub.over
    assert hub.due(["a"], 0) == {"a": b""}
    hub.replied("a", Reply(b"", ended=True))
    assert hub.over


def test_a_framework_cannot_change_the_number_of_rounds():
    with pytest.raises(tacet.InvalidArgumentError, match="num_rounds is 3"):
        Dispatch(FakeServer(rounds=2), rounds=3)
