"""Members whose app is Python and whose server is Python: a federation without a framework."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from app_federation import AppFederation

from tacet import RelayServer
from tacet.dispatch import Dispatch
from tacet.errors import UnavailableError
from tacet.ferry import Ferry

SITES = ["site-0", "site-1", "site-2"]
MODEL = {"w": np.zeros((3, 2)), "b": np.full(5, 0.25)}
CONFIG = {"lr": 0.5}
OPTIONS = {"collecting_seconds": 20, "grace_seconds": 1, "retry_seconds": 1}


class Node:
    """A node of a framework that runs a process for each message."""

    def __init__(self, federation, name, train):
        self.federation = federation
        self.name = name
        self.train = train
        self.carried = []

    def answer(self, bundle):
        self.carried.append(bundle)
        with Ferry(self.federation.socket(self.name)) as ferry:
            reply = ferry.carry(bundle, self.train)
        self.carried.append(reply.bundle)
        return reply


def serve(federation, nodes):
    """Carry bundles until the training is done; returns its rounds."""
    with (
        RelayServer(federation.path / "hub", **OPTIONS) as server,
        ThreadPoolExecutor(len(nodes)) as pool,
    ):
        dispatch = Dispatch(server, retry_seconds=0.2, linger_seconds=10)
        flying = {}
        while not dispatch.over:
            for name in [name for name, future in flying.items() if future.done()]:
                try:
                    dispatch.replied(name, flying.pop(name).result())
                except UnavailableError:
                    dispatch.lost(name)
            for name, bundle in dispatch.due(nodes, 0.1).items():
                flying[name] = pool.submit(nodes[name].answer, bundle)
        return server.round


@pytest.fixture
def federation(tmp_path):
    made = AppFederation(tmp_path / "sites", SITES, MODEL, CONFIG, rounds=2)
    yield made
    made.close()


def step_of(number):
    return np.float32(0.25 - 0.01 * number)


def trained(number, seen):
    def train(task):
        assert task.config == CONFIG
        arrays = {name: array + step_of(number) for name, array in task.arrays().items()}
        update = task.update(arrays)
        seen.append((task.round, task.attempt, update.tobytes()))
        return update

    return train


def test_a_training_over_bundles(federation):
    seen = {name: [] for name in SITES}
    nodes = {
        name: Node(federation, name, trained(number, seen[name]))
        for number, name in enumerate(SITES)
    }
    federation.start_members()
    assert serve(federation, nodes) == 2
    federation.wait_for_members()
    models = federation.models()
    for model in models:
        np.testing.assert_array_equal(model, models[0])
    assert np.abs(models[0] - federation.initial).max() > 0
    carried = b"".join(bundle for node in nodes.values() for bundle in node.carried)
    for attempts in seen.values():
        assert len({attempt[:2] for attempt in attempts}) == len(attempts)  # each trains once
        assert not any(update in carried for *_, update in attempts)
    assert models[0].tobytes() not in carried
    messages = max(len(node.carried) // 2 for node in nodes.values())
    print(f"{messages} messages a node for two rounds")


def test_an_app_that_raises_is_sealed_as_zeros(federation):
    """Its member continues, so no absence shows it; the reason reaches its own log only."""
    rounds = []

    def raising(task):
        rounds.append(task.round)
        raise ValueError("patient 17 has HIV")

    seen = []
    nodes = {name: Node(federation, name, trained(n, seen)) for n, name in enumerate(SITES)}
    nodes["site-1"].train = raising
    federation.start_members()
    assert serve(federation, nodes) == 2
    assert federation.members.pop("site-1").wait(120) == 1
    federation.wait_for_members()
    assert set(rounds) == {0, 1}
    assert federation.charges("site-1") == federation.charges("site-0")
    assert "Only this site is told" in (federation.path / "site-1.log").read_text()
    models = federation.models()
    for model in models:
        np.testing.assert_array_equal(model, models[0])
    assert b"HIV" not in b"".join(bundle for node in nodes.values() for bundle in node.carried)


DRAWN_OF_UNITS = """
unit = "{unit}"
record_rate = 0.5
expected_batch = {batch}
clip_norm = 1.0
coordinate_bound = 400
noise_multiplier = 2
scale = 1e-2
"""
UNITS = 200  # of each site


@pytest.fixture(params=["record", "person"])
def federation_of_units(request, tmp_path):
    made = AppFederation(
        tmp_path / "sites",
        SITES,
        MODEL,
        CONFIG,
        rounds=1,
        privacy=DRAWN_OF_UNITS.format(unit=request.param, batch=UNITS * len(SITES) // 2),
        member_words=(f"--{request.param}s", UNITS),
    )
    yield made
    made.close()


class Counting:
    """An app whose units all have the same update: the clip norm, in the model's last value."""

    def __init__(self):
        self.drawn = {}  # by round and attempt

    def __call__(self, task):
        assert task.clip_norm == 1 - 2**-8  # the rest is for rounding
        assert len(task.units) == len(set(task.units))
        assert all(0 <= unit < UNITS for unit in task.units)
        self.drawn[task.round, task.attempt] = len(task.units)
        return task.vector(
            {"w": np.zeros((3, 2)), "b": len(task.units) * np.eye(5)[4] * task.clip_norm}
        )


def assert_moved_by(federation, drawn):
    """The sites hold one model, moved by the clipped parts of so many units.

    Its noise has at most the deviation 2 sqrt(3 / 2) units: K_min is 2 of 3. False alarm 1e-15 for
    a value; a site's claim of all units in place of the drawn ones moves it by 40 deviations.
    """
    models = federation.models()
    for model in models:
        np.testing.assert_array_equal(model, models[0])
    batch = UNITS * len(SITES) / 2
    moved = (models[0].astype(float) - federation.initial) * batch
    expected = np.zeros(11)
    expected[-1] = drawn * (1 - 2**-8)
    np.testing.assert_allclose(moved, expected, atol=8 * 2 * (3 / 2) ** 0.5)


def test_units_are_drawn_and_their_parts_are_added(federation_of_units):
    federation = federation_of_units
    apps = {name: Counting() for name in SITES}
    nodes = {name: Node(federation, name, apps[name]) for name in SITES}
    federation.start_members()
    assert serve(federation, nodes) == 1
    federation.wait_for_members()
    last = max(apps["site-0"].drawn)
    drawn = [app.drawn[last] for app in apps.values()]
    assert all(50 < count < 150 for count in drawn)  # 7 deviations
    assert_moved_by(federation, sum(drawn))
    for name, app in apps.items():
        assert federation.charges(name) == len(app.drawn)


def test_a_sum_beyond_its_bound_is_sealed_as_zeros(federation_of_units):
    """An app claims one unit more than was drawn, in the first round. Its member sends zeros."""
    federation = federation_of_units
    apps = {name: Counting() for name in SITES}
    nodes = {name: Node(federation, name, apps[name]) for name in SITES}
    claims = []

    def claiming(task):
        claims.append((task.round, task.attempt))
        update = np.zeros_like(task.model)
        if task.round == 0:
            update[-1] = len(task.units) + 1
        return update

    nodes["site-1"].train = claiming
    federation.start_members()
    serve(federation, nodes)
    assert federation.members.pop("site-1").wait(120) == 1
    federation.wait_for_members()
    assert "clip each unit's part" in (federation.path / "site-1.log").read_text()
    assert len(set(claims)) == len(claims)  # each trains once
    last = max(apps["site-0"].drawn)
    assert_moved_by(federation, apps["site-0"].drawn[last] + apps["site-2"].drawn[last])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs another user")
def test_the_apps_user_cannot_read_a_key(federation):
    """It can use the socket, by the group of its folder."""
    for parent in [federation.path, *federation.path.parents[:3]]:
        parent.chmod(parent.stat().st_mode | 0o055)
    group = user = 65534
    folder = federation.socket("site-0").parent
    folder.mkdir()
    os.chown(folder, -1, group)
    folder.chmod(0o2750)
    federation.start_member("site-0")
    program = (
        "import pathlib, socket, sys\n"
        "opened = []\n"
        "for path in map(pathlib.Path, sys.argv[2:]):\n"
        "    try:\n"
        "        path.read_bytes()\n"
        "        if path.parent.name != 'run' or path.suffix == '.key':\n"
        "            opened.append(path.name)\n"
        "    except (PermissionError, FileNotFoundError):\n"
        "        pass\n"
        "assert set(opened) <= {'site-0.request', 'lock', 'config.toml'}, opened\n"
        "connection = socket.socket(socket.AF_UNIX)\n"
        "connection.settimeout(20)\n"
        "connection.connect(sys.argv[1])\n"
        "connection.sendall(b'\\x01\\0\\0\\0\\x01')\n"
        "print(len(connection.recv(5)))\n"
    )
    with Ferry(federation.socket("site-0")):
        pass  # the member listens
    home = federation.path / "site-0"
    # All but the invitation, which the coordinator made. Request and options are public, and so is
    # the run, whose model the app trains, but for its keys.
    secrets = [path for path in home.rglob("*") if path.is_file() and path.name != "invitation"]
    secrets += [federation.path / "site-0.key", federation.path / "site-0-ledger" / "main.ledger"]
    names = {path.name for path in secrets}
    assert {"identity.key", "exchange.key", "site-0.key", "main.ledger"} < names
    done = subprocess.run(
        ["/usr/bin/python3", "-c", program, federation.socket("site-0"), *secrets],
        user=user, group=group, extra_groups=[], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr
